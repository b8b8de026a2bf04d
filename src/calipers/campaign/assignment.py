"""Who judges which topic, as INEX did it: every participant judges some topics, about as many
documents each, and none mostly documents that only its own systems found.

An integer program with x_pt = 1 where p judges t. So many judge a topic as are wanted (two or more
on topics whose agreement is to be measured), none whose own systems alone found half of its pool,
and none who declared a conflict. What is made small is the largest load L, with the documents that
somebody judges of those that only its own systems found, less 5 for each topic that is judged by
whoever wrote it (who knows best what was meant):

    L + Σ x_pt · own_pt · size_t − 5 · [p wrote t],  Σ_t x_pt · size_t ≤ L.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from calipers.campaign.runs import check_min_int
from calipers.data.errors import InputError, format_first_names
from calipers.statistics import FloatArray

#: What it is worth in documents that the author of a topic judges it.
AUTHOR = 5.0

#: From this share of the pool on that nobody else found, one does not judge the topic.
MOST_OWN = 0.5

#: Up to so many variables (judges times topics) the best assignment is found for sure, and of equal
#: ones the first.
EXACT = 100

#: Branch and bound ends after so many nodes, of exact and of larger programs. (By the clock the
#: result would depend on the machine.) The best assignment so far is taken then, with how much
#: better another one could be.
MOST_NODES = (20_000, 200)


@dataclass(frozen=True)
class Assignment:
    """Who judges which topics.

    ``objective`` is what was made small, ``gap`` how much smaller it might be made (0: nobody can
    do better), ``loads`` how many documents each judges, and ``own`` how many of these only its own
    systems found. ``unique`` says that of equal assignments this is the first; of more than 100
    variables it is the one that the solver of this version of SciPy finds.
    """

    topics: Mapping[str, tuple[str, ...]]
    loads: Mapping[str, int]
    own: Mapping[str, float]
    objective: float
    gap: float
    unique: bool

    @property
    def judges(self) -> dict[str, list[str]]:
        """The topics of each judge."""
        return {j: [t for t, of in self.topics.items() if j in of] for j in self.loads}


def assign(
    sizes: Mapping[str, int],
    judges: Collection[str],
    *,
    times: int | Mapping[str, int] = 1,
    own: Mapping[str, Mapping[str, float]] | None = None,
    authors: Mapping[str, str] | None = None,
    conflicts: Mapping[str, Collection[str]] | None = None,
    participants: Mapping[str, str] | None = None,
) -> Assignment:
    """Assign topics to judges; the same arguments, in any order, give the same assignment.

    Of several best assignments it is the one in which the first topic is judged by the first judges
    by name that any best one has, then the second topic, and so on. With more than 100 variables
    (judges times topics) the search ends before it has proved that there is no better one.

    Parameters
    ----------
    sizes
        How many documents of each topic are judged.
    judges
        Who judges.
    times
        By how many a topic is judged, of all or by topic (1 where it is not named).
    own
        By topic and participant, the share of its documents that no other participant found
        (:func:`~calipers.campaign.pooling.unique_proportions`).
    authors
        The participant that wrote a topic.
    conflicts
        By topic, judges or participants that do not judge it.
    participants
        The participant that a judge belongs to; its own name where it is not there. Topics that are
        judged several times are judged by several participants where there are so many.

    Raises
    ------
    InputError
        Where a topic cannot be assigned, saying which and why.

    Examples
    --------
    >>> made = assign({"1": 40, "2": 30, "3": 30}, ["ann", "ben"], own={"1": {"ann": 0.6}})
    >>> made.topics, made.loads
    ({'1': ('ben',), '2': ('ann',), '3': ('ann',)}, {'ann': 60, 'ben': 40})
    """
    names, topics = sorted(set(judges)), sorted(sizes)
    if not names:
        raise InputError("there is nobody to judge")
    for topic in topics:
        check_min_int(sizes[topic], f"the size of topic {topic!r}", 0)
    of = {name: (participants or {}).get(name, name) for name in names}
    wanted = {
        t: check_min_int(
            times if isinstance(times, int) else times.get(t, 1), f"times of topic {t!r}"
        )
        for t in topics
    }
    share = np.array([[(own or {}).get(t, {}).get(of[j], 0.0) for t in topics] for j in names])
    wrote = np.array([[(authors or {}).get(t) == of[j] for t in topics] for j in names])
    apart = [{j for j in names if {j, of[j]} & set((conflicts or {}).get(t, ()))} for t in topics]
    allowed = np.array([[j not in apart[k] for k in range(len(topics))] for j in names], bool)
    allowed &= share < MOST_OWN
    for k, topic in enumerate(topics):
        _check(topic, wanted[topic], names, share[:, k], apart[k], allowed[:, k])
    size = np.array([sizes[t] for t in topics], np.float64)
    program = _IntegerProgram(
        size, share * size, wrote, allowed, np.array([wanted[t] for t in topics]),
        _group_constraints(names, of, allowed, wanted, topics),
    )  # fmt: skip
    chosen, objective, gap = program.best()
    unique = gap == 0 and chosen.size <= EXACT
    if unique:
        chosen = program.first(chosen, objective)
    loads = (chosen * size).sum(axis=1)
    return Assignment(
        {t: tuple(np.array(names)[chosen[:, k]].tolist()) for k, t in enumerate(topics)},
        {j: int(loads[i]) for i, j in enumerate(names)},
        {j: float((chosen * share * size)[i].sum()) for i, j in enumerate(names)},
        objective,
        gap,
        unique,
    )


def _check(
    topic: str,
    wanted: int,
    names: list[str],
    share: FloatArray,
    apart: Collection[str],
    allowed: Any,
) -> None:
    """That there are enough who may judge a topic."""
    able = int(allowed.sum())
    if able >= wanted:
        return
    why = []
    mostly = [n for n, of in zip(names, share.tolist(), strict=True) if of >= MOST_OWN]
    if mostly:
        why.append(f"half of its pool or more only systems of {format_first_names(mostly)} found")
    if apart:
        why.append(f"conflicts: {format_first_names(sorted(apart))}")
    raise InputError(
        f"topic {topic!r} is to be judged by {wanted}, and {able} of {len(names)} may"
        + (f" ({'; '.join(why)})" if why else "")
        + ("; add an assessor who is of none of these participants" if mostly else "")
    )


def _group_constraints(
    names: list[str],
    of: Mapping[str, str],
    allowed: Any,
    wanted: Mapping[str, int],
    topics: list[str],
) -> list[tuple[list[int], int]]:
    """Judges of one participant, and the topic of which one of them at most judges."""
    groups: dict[str, list[int]] = {}
    for i, name in enumerate(names):
        groups.setdefault(of[name], []).append(i)
    made = []
    for k, topic in enumerate(topics):
        able = [[i for i in group if allowed[i, k]] for group in groups.values()]
        if wanted[topic] > 1 and sum(map(bool, able)) >= wanted[topic]:
            made += [(group, k) for group in able if len(group) > 1]
    return made


@dataclass(frozen=True, eq=False)
class _IntegerProgram:
    """The integer program; variables are x by judge and topic, and the largest load."""

    size: FloatArray
    own: FloatArray
    wrote: Any
    allowed: Any
    wanted: Any
    together: list[tuple[list[int], int]]

    @property
    def cost(self) -> FloatArray:
        """What each variable costs."""
        return np.append((self.own - AUTHOR * self.wrote).reshape(-1), 1.0)

    def _solved(self, cost: FloatArray, fixed: Mapping[int, int], most: float | None = None) -> Any:
        """The solution with some variables fixed, of no more than an objective."""
        from scipy.optimize import Bounds, LinearConstraint, milp

        judges, topics = self.allowed.shape
        number = judges * topics
        rows, low, high = [], list[float](), list[float]()
        for k in range(topics):
            row = np.zeros(number + 1)
            row[k:number:topics] = 1
            rows.append(row)
            low.append(self.wanted[k])
            high.append(self.wanted[k])
        for i in range(judges):
            row = np.zeros(number + 1)
            row[i * topics : (i + 1) * topics] = self.size
            row[number] = -1
            rows.append(row)
            low.append(-np.inf)
            high.append(0)
        for group, k in self.together:
            row = np.zeros(number + 1)
            row[[i * topics + k for i in group]] = 1
            rows.append(row)
            low.append(0)
            high.append(1)
        if most is not None:
            rows.append(self.cost)
            low.append(-np.inf)
            high.append(most)
        least, top = np.zeros(number + 1), np.append(self.allowed.reshape(-1), np.inf)
        for place, value in fixed.items():
            least[place] = top[place] = value
        return milp(
            cost,
            integrality=np.append(np.ones(number), 0),
            bounds=Bounds(least, top),
            constraints=LinearConstraint(np.array(rows), low, high),
            options={"node_limit": MOST_NODES[number > EXACT], "mip_rel_gap": 0.0},
        )

    def best(self) -> tuple[Any, float, float]:
        """The best assignment, its objective, and how much smaller that might be."""
        found = self._solved(self.cost, {})
        if found.x is None:  # every topic can be assigned, so that only the nodes can have ended
            raise InputError("no assignment was found; give fewer topics or judges at a time")
        chosen = self._chosen(found)
        objective = self._objective(chosen)
        bound = found.mip_dual_bound
        gap = max(0.0, objective - bound) if found.status != 0 and bound is not None else 0.0
        return chosen, objective, gap

    def first(self, chosen: Any, objective: float) -> Any:
        """Of all that are as good the first: topic by topic the first judges by name."""
        judges, topics = self.allowed.shape
        fixed: dict[int, int] = {}
        for k in range(topics):
            left = int(self.wanted[k])
            for i in range(judges):
                place = i * topics + k
                if left and self.allowed[i, k] and not chosen[i, k]:
                    found = self._solved(
                        np.zeros(judges * topics + 1), {**fixed, place: 1}, objective + 1e-6
                    )
                    if found.status == 0:
                        chosen = self._chosen(found)
                fixed[place] = int(chosen[i, k])
                left -= fixed[place]
        return chosen

    def _chosen(self, found: Any) -> Any:
        return np.rint(found.x[:-1]).astype(bool).reshape(self.allowed.shape)

    def _objective(self, chosen: Any) -> float:
        loads = (chosen * self.size).sum(axis=1)
        return float(loads.max(initial=0.0) + (chosen * (self.own - AUTHOR * self.wrote)).sum())
