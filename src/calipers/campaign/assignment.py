"""Assignment of topics to judges by integer programming, as at INEX.

Every participant judges some topics, with about equal numbers of documents, and nobody judges
mostly documents that only the participant's own systems found.

The binary variable x_pt is 1 if p judges t. Each topic has the required number of judges (two or
more for topics whose agreement is to be measured), none of whom has systems that alone found half
of its pool, and none of whom declared a conflict of interest. The objective to minimize is the
largest load L, plus the number of judged documents that only the judge's own systems found, minus
5 for each topic that is judged by its author (who knows best what was meant):

    L + Σ x_pt · own_pt · size_t − 5 · [p wrote t],  Σ_t x_pt · size_t ≤ L.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from calipers.campaign.runs import check_min_int
from calipers.data.errors import InputError, format_first_names
from calipers.lazy_dataclasses import dataclass
from calipers.statistics import FloatArray

#: Reduction of the objective, in documents, for each topic judged by its author.
AUTHOR_WEIGHT = 5.0

#: Judges do not judge a topic if their own systems alone found at least this proportion of its
#: pool.
MAX_UNIQUE_PROPORTION = 0.5

#: Maximum number of variables (judges times topics) for which the optimal assignment is always
#: found, and of several optimal ones the first.
MAX_EXACT_VARIABLES = 100

#: Maximum numbers of nodes of branch and bound, of exact and of larger programs. (With a time limit
#: the result would depend on the machine.) The result is then the best assignment so far, with a
#: bound on the improvement that is possible.
MAX_NODES = (20_000, 200)


@dataclass(frozen=True)
class Assignment:
    """Assignment of topics to judges.

    ``topics`` are the judges of each topic. ``objective`` is the value of the objective function,
    and ``optimality_gap`` an upper bound on how much smaller it could be (0: the assignment is
    optimal). ``loads`` are the numbers of documents of each judge, and ``own_loads`` the numbers of
    those that only the judge's own systems found. ``unique`` says that this is the first of all
    equivalent assignments; with more than 100 variables the result is that of the solver of the
    installed version of SciPy.
    """

    topics: Mapping[str, tuple[str, ...]]
    loads: Mapping[str, int]
    own_loads: Mapping[str, float]
    objective: float
    optimality_gap: float
    unique: bool

    @property
    def topics_by_judge(self) -> dict[str, list[str]]:
        """Topics of each judge."""
        return {j: [t for t, names in self.topics.items() if j in names] for j in self.loads}


def assign(
    sizes: Mapping[str, int],
    judges: Collection[str],
    *,
    n_judges: int | Mapping[str, int] = 1,
    unique_proportions: Mapping[str, Mapping[str, float]] | None = None,
    authors: Mapping[str, str] | None = None,
    conflicts: Mapping[str, Collection[str]] | None = None,
    participants: Mapping[str, str] | None = None,
) -> Assignment:
    """Assign topics to judges; the same arguments, in any order, give the same assignment.

    Of several optimal assignments the result is the one in which the first topic is judged by the
    first judges by name that any of them has, then the second topic, and so on. With more than 100
    variables (judges times topics) the search may end before optimality is proved.

    Parameters
    ----------
    sizes : mapping of str to int
        Number of documents to judge for each topic.
    judges : collection of str
        Names of the judges.
    n_judges : int or mapping of str to int, default=1
        Number of judges of a topic, for all or by topic (1 for topics that are not in it).
    unique_proportions : mapping, optional
        By topic and participant, the proportion of its documents that no other participant found
        (:func:`~calipers.campaign.pooling.unique_proportions`).
    authors : mapping of str to str, optional
        Participant that wrote a topic.
    conflicts : mapping of str to collection of str, optional
        By topic, judges or participants that do not judge it.
    participants : mapping of str to str, optional
        Participant that a judge belongs to; by default the judge. Topics with several judges are
        judged by different participants if there are enough.

    Returns
    -------
    Assignment
        Judges of each topic.

    Raises
    ------
    InputError
        If a topic cannot be assigned; the message says which and why.

    Examples
    --------
    >>> sizes, found_alone = {"1": 40, "2": 30, "3": 30}, {"1": {"ann": 0.6}}
    >>> assignment = assign(sizes, ["ann", "ben"], unique_proportions=found_alone)
    >>> assignment.topics, assignment.loads
    ({'1': ('ben',), '2': ('ann',), '3': ('ann',)}, {'ann': 60, 'ben': 40})
    """
    names, topics = sorted(set(judges)), sorted(sizes)
    if not names:
        raise InputError("judges: empty; expected one or more names")
    for topic in topics:
        check_min_int(sizes[topic], f"the size of topic {topic!r}", 0)
    participant_by_judge = {name: (participants or {}).get(name, name) for name in names}
    n_judges_by_topic = {
        t: check_min_int(
            n_judges if isinstance(n_judges, int) else n_judges.get(t, 1), f"times of topic {t!r}"
        )
        for t in topics
    }
    proportions = np.array(
        [
            [
                (unique_proportions or {}).get(t, {}).get(participant_by_judge[j], 0.0)
                for t in topics
            ]
            for j in names
        ]
    )
    author_mask = np.array(
        [[(authors or {}).get(t) == participant_by_judge[j] for t in topics] for j in names]
    )
    conflicts_by_topic = [
        {j for j in names if {j, participant_by_judge[j]} & set((conflicts or {}).get(t, ()))}
        for t in topics
    ]
    allowed = np.array(
        [[j not in conflicts_by_topic[k] for k in range(len(topics))] for j in names], bool
    )
    allowed &= proportions < MAX_UNIQUE_PROPORTION
    for k, topic in enumerate(topics):
        _check_eligible(
            topic,
            n_judges_by_topic[topic],
            names,
            proportions[:, k],
            conflicts_by_topic[k],
            allowed[:, k],
        )
    size = np.array([sizes[t] for t in topics], np.float64)
    program = _IntegerProgram(
        size,
        proportions * size,
        author_mask,
        allowed,
        np.array([n_judges_by_topic[t] for t in topics]),
        _group_constraints(names, participant_by_judge, allowed, n_judges_by_topic, topics),
    )
    chosen, objective, optimality_gap = program.solve()
    unique = optimality_gap == 0 and chosen.size <= MAX_EXACT_VARIABLES
    if unique:
        chosen = program.canonical_solution(chosen, objective)
    loads = (chosen * size).sum(axis=1)
    return Assignment(
        {t: tuple(np.array(names)[chosen[:, k]].tolist()) for k, t in enumerate(topics)},
        {j: int(loads[i]) for i, j in enumerate(names)},
        {j: float((chosen * proportions * size)[i].sum()) for i, j in enumerate(names)},
        objective,
        optimality_gap,
        unique,
    )


def _check_eligible(
    topic: str,
    n_judges: int,
    names: list[str],
    proportions: FloatArray,
    conflicted: Collection[str],
    allowed: Any,
) -> None:
    """Check that a topic has enough eligible judges."""
    n_eligible = int(allowed.sum())
    if n_eligible >= n_judges:
        return
    reasons = []
    majority_owners = [
        n
        for n, proportion in zip(names, proportions.tolist(), strict=True)
        if proportion >= MAX_UNIQUE_PROPORTION
    ]
    if majority_owners:
        reasons.append(
            "at least half of its pool was found only by systems of "
            f"{format_first_names(majority_owners)}"
        )
    if conflicted:
        reasons.append(f"conflicts: {format_first_names(sorted(conflicted))}")
    raise InputError(
        f"topic {topic!r} requires {n_judges} judges, but {n_eligible} of {len(names)} are eligible"
        + (f" ({'; '.join(reasons)})" if reasons else "")
        + ("; add an assessor of another participant" if majority_owners else "")
    )


def _group_constraints(
    names: list[str],
    participant_by_judge: Mapping[str, str],
    allowed: Any,
    n_judges_by_topic: Mapping[str, int],
    topics: list[str],
) -> list[tuple[list[int], int]]:
    """Return groups of judges of one participant, at most one of whom judges the topic."""
    groups: dict[str, list[int]] = {}
    for i, name in enumerate(names):
        groups.setdefault(participant_by_judge[name], []).append(i)
    constraints = []
    for k, topic in enumerate(topics):
        eligible = [[i for i in group if allowed[i, k]] for group in groups.values()]
        if n_judges_by_topic[topic] > 1 and sum(map(bool, eligible)) >= n_judges_by_topic[topic]:
            constraints += [(group, k) for group in eligible if len(group) > 1]
    return constraints


@dataclass(frozen=True, eq=False)
class _IntegerProgram:
    """Integer program; the variables are x by judge and topic, and the largest load."""

    size: FloatArray
    n_unique: FloatArray
    author_mask: Any
    allowed: Any
    n_judges: Any
    exclusive_groups: list[tuple[list[int], int]]

    @property
    def cost(self) -> FloatArray:
        """Coefficients of the objective function."""
        return np.append((self.n_unique - AUTHOR_WEIGHT * self.author_mask).reshape(-1), 1.0)

    def _solve(
        self, cost: FloatArray, fixed: Mapping[int, int], max_objective: float | None = None
    ) -> Any:
        """Solve the program with some variables fixed, and an upper bound on the objective."""
        from scipy.optimize import Bounds, LinearConstraint, milp

        n_judges, n_topics = self.allowed.shape
        n_variables = n_judges * n_topics
        rows, low, high = [], list[float](), list[float]()
        for k in range(n_topics):
            row = np.zeros(n_variables + 1)
            row[k:n_variables:n_topics] = 1
            rows.append(row)
            low.append(self.n_judges[k])
            high.append(self.n_judges[k])
        for i in range(n_judges):
            row = np.zeros(n_variables + 1)
            row[i * n_topics : (i + 1) * n_topics] = self.size
            row[n_variables] = -1
            rows.append(row)
            low.append(-np.inf)
            high.append(0)
        for group, k in self.exclusive_groups:
            row = np.zeros(n_variables + 1)
            row[[i * n_topics + k for i in group]] = 1
            rows.append(row)
            low.append(0)
            high.append(1)
        if max_objective is not None:
            rows.append(self.cost)
            low.append(-np.inf)
            high.append(max_objective)
        lower, upper = np.zeros(n_variables + 1), np.append(self.allowed.reshape(-1), np.inf)
        for index, value in fixed.items():
            lower[index] = upper[index] = value
        return milp(
            cost,
            integrality=np.append(np.ones(n_variables), 0),
            bounds=Bounds(lower, upper),
            constraints=LinearConstraint(np.array(rows), low, high),
            options={
                "node_limit": MAX_NODES[n_variables > MAX_EXACT_VARIABLES],
                "mip_rel_gap": 0.0,
            },
        )

    def solve(self) -> tuple[Any, float, float]:
        """Return the best assignment, its objective, and the optimality gap."""
        solution = self._solve(self.cost, {})
        if solution.x is None:  # every topic can be assigned, so that only the nodes can have ended
            raise InputError("no assignment was found; give fewer topics or judges at a time")
        chosen = self._to_assignment(solution)
        objective = self._objective(chosen)
        bound = solution.mip_dual_bound
        optimality_gap = (
            max(0.0, objective - bound) if solution.status != 0 and bound is not None else 0.0
        )
        return chosen, objective, optimality_gap

    def canonical_solution(self, chosen: Any, objective: float) -> Any:
        """Return the first equivalent assignment: topic by topic the first judges by name."""
        n_judges, n_topics = self.allowed.shape
        fixed: dict[int, int] = {}
        for k in range(n_topics):
            n_remaining = int(self.n_judges[k])
            for i in range(n_judges):
                index = i * n_topics + k
                if n_remaining and self.allowed[i, k] and not chosen[i, k]:
                    solution = self._solve(
                        np.zeros(n_judges * n_topics + 1), {**fixed, index: 1}, objective + 1e-6
                    )
                    if solution.status == 0:
                        chosen = self._to_assignment(solution)
                fixed[index] = int(chosen[i, k])
                n_remaining -= fixed[index]
        return chosen

    def _to_assignment(self, solution: Any) -> Any:
        return np.rint(solution.x[:-1]).astype(bool).reshape(self.allowed.shape)

    def _objective(self, chosen: Any) -> float:
        loads = (chosen * self.size).sum(axis=1)
        return float(
            loads.max(initial=0.0)
            + (chosen * (self.n_unique - AUTHOR_WEIGHT * self.author_mask)).sum()
        )
