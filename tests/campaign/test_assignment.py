"""Who judges what: the integer program beside its best solution, which was found by trying."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

import calipers as cal
from calipers.campaign.assignment import AUTHOR_WEIGHT, MAX_UNIQUE_PROPORTION, Assignment, assign

SIZES = dict(zip("123456", [40, 30, 50, 20, 60, 40], strict=True))
TIMES = dict(zip("123456", [1, 1, 2, 1, 1, 2], strict=True))
AUTHORS = {t: f"p{a}" for t, a in zip("123456", [1, 2, 3, 4, 1, 2], strict=True)}
SHARES = [[0.6, 0.1, 0, 0.2, 0.1, 0.3], [0.1, 0, 0.55, 0.1, 0.2, 0], [0, 0.3, 0.1, 0, 0.4, 0.2],
          [0.2, 0.1, 0.1, 0.5, 0, 0.1]]  # fmt: skip
OWN = {t: {f"p{p}": SHARES[p - 1][k] for p in range(1, 5)} for k, t in enumerate("123456")}
JUDGES = ["p1", "p2", "p3", "p4"]


def test_the_best_assignment() -> None:
    made = assign(SIZES, JUDGES, n_judges=TIMES, unique_proportions=OWN, authors=AUTHORS)
    assert made.objective == pytest.approx(92)
    assert made.loads == {"p1": 60, "p2": 90, "p3": 90, "p4": 90}
    assert made.topics_by_judge == {
        "p1": ["5"],
        "p2": ["2", "4", "6"],
        "p3": ["1", "3"],
        "p4": ["3", "6"],
    }
    assert sum(made.own_loads.values()) == pytest.approx(22)
    assert (made.optimality_gap, made.unique) == (0, True)
    backwards = assign(
        dict(reversed(SIZES.items())),
        JUDGES[::-1],
        n_judges=TIMES,
        unique_proportions=OWN,
        authors=AUTHORS,
    )
    assert backwards == made


def by_trying(
    sizes: dict[str, int], judges: list[str], times: dict[str, int], own: Any, authors: Any
) -> tuple[float, dict[str, tuple[str, ...]]]:
    """The least objective and the first assignment that has it, of all that there are."""
    best: tuple[float, tuple[Any, ...]] | None = None
    choices = [
        [
            of
            for of in combinations(judges, times[t])
            if all(own[t][j] < MAX_UNIQUE_PROPORTION for j in of)
        ]
        for t in sizes
    ]
    for made in product(*choices):
        loads = dict.fromkeys(judges, 0)
        cost = 0.0
        for t, of in zip(sizes, made, strict=True):
            for j in of:
                loads[j] += sizes[t]
                cost += own[t][j] * sizes[t] - AUTHOR_WEIGHT * (authors.get(t) == j)
        value = max(loads.values()) + cost
        if best is None or value < best[0] - 1e-9:
            best = value, made
    assert best is not None
    return best[0], dict(zip(sizes, best[1], strict=True))


@pytest.mark.parametrize("seed", range(5))
def test_beside_trying_all(seed: int) -> None:
    """With many that are equally good: of these the first."""
    random = np.random.default_rng(seed)
    judges = ["a", "b", "c"]
    sizes = {f"t{k}": int(random.integers(1, 4)) * 10 for k in range(5)}
    times = {t: int(random.integers(1, 3)) for t in sizes}
    own = {t: {j: float(random.choice([0, 0.1, 0.2])) for j in judges} for t in sizes}
    authors = {"t0": "b", "t3": "c"}
    made = assign(sizes, judges, n_judges=times, unique_proportions=own, authors=authors)
    objective, first = by_trying(sizes, judges, times, own, authors)
    assert made.objective == pytest.approx(objective)
    assert made.topics == first


def test_judges_of_one_participant() -> None:
    """A topic that two judge is judged by two participants; of one participant where there is
    one; conflicts are of a judge or of all of a participant."""
    of = {"ann": "x", "abe": "x", "ben": "y"}
    made = assign({"1": 10, "2": 10}, list(of), n_judges=2, participants=of)
    assert all("ben" in judges for judges in made.topics.values())
    alone = assign({"1": 10}, ["ann", "abe"], n_judges=2, participants=of)
    assert alone.topics == {"1": ("abe", "ann")}
    apart = assign({"1": 10}, list(of), participants=of, conflicts={"1": ["x"]})
    assert apart.topics == {"1": ("ben",)}
    own = assign(
        {"1": 10},
        list(of),
        participants=of,
        unique_proportions={"1": {"y": 0.9}},
        conflicts={"1": ["abe"]},
    )
    assert own.topics == {"1": ("ann",)}


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"n_judges": 3}, "topic '1' requires 3 judges, but 2 of 2 are eligible$"),
        ({"unique_proportions": {"2": {"a": 0.7, "b": 0.5}}},
         r"topic '2' requires 1 judges, but 0 of 2 are eligible \(at least half of its pool "
         r"was found only by systems of 'a', 'b'\); add an assessor of another participant$"),
        ({"conflicts": {"2": ["a"]}, "n_judges": {"2": 2}},
         r"topic '2' requires 2 judges, but 1 of 2 are eligible \(conflicts: 'a'\)"),
        ({"n_judges": 0}, "times of topic '1' is 0"),
    ],
)  # fmt: skip
def test_a_topic_that_cannot_be_assigned_is_named(how: dict[str, Any], message: str) -> None:
    with pytest.raises(cal.InputError, match=message):
        assign({"1": 10, "2": 5}, ["a", "b"], **how)


def test_nobody() -> None:
    with pytest.raises(cal.InputError, match="judges: empty"):
        assign({"1": 10}, [])
    assert assign({}, ["a"]) == Assignment({}, {"a": 0}, {"a": 0.0}, 0.0, 0.0, unique=True)
