"""Q-measure and compatibility, by their definitions, document by document."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

import calipers as cal

Judged = dict[str, int]


def random_case(seed: int) -> tuple[Judged, list[str]]:
    """Judgments of one topic, and a ranking of other documents among judged ones."""
    random = np.random.default_rng(seed)
    judged = {f"d{i}": int(g) for i, g in enumerate(random.choice([-1, 0, 1, 1, 2, 3], 8))}
    judged["best"] = 3
    documents = [*judged, "x", "y", "z"]
    return judged, list(random.permutation(documents)[: random.integers(1, len(documents) + 1)])


def value(name: str, judged: Judged, ranking: list[str]) -> float:
    run = {"q": {d: float(-i) for i, d in enumerate(ranking)}}
    return cal.measure(name, family="retrieval")({"q": judged}, run)  # type: ignore[no-any-return]


def q(judged: Judged, ranking: list[str], beta: float, cutoff: int | None = None) -> float:
    ideal = sorted((g for g in judged.values() if g > 0), reverse=True)
    total, count, gained = 0.0, 0, 0
    for i, document in enumerate(ranking[:cutoff], 1):
        gain = max(judged.get(document, 0), 0)
        count, gained = count + (gain > 0), gained + gain
        if gain:
            total += (count + beta * gained) / (i + beta * sum(ideal[:i]))
    return total / (len(ideal) if cutoff is None else min(cutoff, len(ideal)))


@pytest.mark.parametrize("seed", range(20))
def test_q_measure(seed: int) -> None:
    judged, ranking = random_case(seed)
    assert value("Q", judged, ranking) == pytest.approx(q(judged, ranking, 1))
    assert value("Q(beta=10)@4", judged, ranking) == pytest.approx(q(judged, ranking, 10, 4))
    assert value("Q-measure(beta=0)", judged, ranking) == pytest.approx(
        value("AP", judged, ranking)
    )
    assert value("Q(beta=inf)", judged, ranking) == pytest.approx(q(judged, ranking, 1e12))


def overlap(ranking: list[str], ideal: list[str], p: float, depth: int) -> float:
    """Σ p^(i−1) |the first i of both| / i."""
    return sum(p ** (i - 1) * len({*ranking[:i]} & {*ideal[:i]}) / i for i in range(1, depth + 1))


def ideals(judged: Judged) -> list[list[str]]:
    """Every order of the relevant documents by descending grade."""
    out: list[list[str]] = [[]]
    for grade in sorted({g for g in judged.values() if g > 0}, reverse=True):
        same = [d for d, g in judged.items() if g == grade]
        out = [[*before, *order] for before in out for order in permutations(same)]
    return out


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(("p", "depth"), [(0.95, 1000), (0.8, 3), (0.5, 20)])
def test_compatibility_is_the_largest_overlap_of_all_ideal_rankings(
    seed: int, p: float, depth: int
) -> None:
    judged, ranking = random_case(seed)
    reach = min(depth, 60)  # what follows is the same for all of them, but for its sum
    tail = sum(p ** (i - 1) / i for i in range(reach + 1, depth + 1))
    every = ideals(judged)
    both = len({*ranking} & {*every[0]})
    best = max(overlap(ranking, ideal, p, reach) for ideal in every) + both * tail
    own = overlap(every[0], every[0], p, reach) + len(every[0]) * tail
    name = f"compatibility(p={p})@{depth}"
    assert value(name, judged, ranking) == pytest.approx(best / own, rel=1e-12)


def test_a_topic_without_a_relevant_document_has_none() -> None:
    for name, why in (("Q", "no_gain"), ("compatibility@1000", "no_relevant")):
        found = cal.retrieval({"q": {"a": 0}}, {"q": {"a": 1.0}}, measures=[name])[name]
        assert np.isnan(found.value)
        assert dict(found.undefined) == {why: 1}
