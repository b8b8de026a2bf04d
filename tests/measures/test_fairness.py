"""Fairness to groups of documents, against SciPy and the definition of the track written out."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.special import rel_entr

import calipers as cal
from calipers.measures.errors import UnknownMeasureError
from calipers.statistics import GroupedRankings

GROUPS = ("Africa", "Asia", "Europe")


def some_topics(number: int, seed: int) -> list[Any]:
    """Rankings, and the groups and grade of each document."""
    random = np.random.default_rng(seed)
    topics = []
    for _ in range(number):
        documents = {
            f"d{k}": (
                [g for g in GROUPS if random.random() < 0.4] or [GROUPS[k % 3]],
                int(random.integers(0, 3)),
            )
            for k in range(10)
        }
        pool = [*documents, "x", "y"]
        ranking = [pool[k] for k in random.permutation(12)[: random.integers(1, 12)]]
        topics.append((ranking, documents))
    return topics


def values(name: str, topics: list[Any]) -> Any:
    judgments = [
        {
            group: {d: grade for d, (groups, grade) in documents.items() if group in groups}
            for group in sorted({g for groups, _ in documents.values() for g in groups})
        }
        for _, documents in topics
    ]
    statistic = GroupedRankings.from_rankings([ranking for ranking, _ in topics], judgments)
    return cal.measure(name).apply(statistic)


def fairness(ranking: list[str], documents: Any, k: int, rel: int, target: str) -> float:
    """The mean alignment of the known documents by their discounts, against the target."""
    present = [g for g in GROUPS if any(g in groups for groups, _ in documents.values())]

    def row(document: str) -> Any:
        groups, _ = documents[document]
        return np.array([(g in groups) / len(groups) for g in present])

    places = [(rank, d) for rank, d in enumerate(ranking[:k], 1) if d in documents]
    goals = [row(d) for d, (_, grade) in documents.items() if target == "judged" or grade >= rel]
    goal: Any = np.ones(len(present)) if target == "uniform" else sum(goals, np.zeros(len(present)))
    attention: Any = sum(row(d) / math.log2(max(rank, 2)) for rank, d in places)
    if not places or not goal.sum():
        return math.nan
    p, q = attention / attention.sum(), goal / goal.sum()
    return float(1 - sum(rel_entr(of, (p + q) / 2).sum() for of in (p, q)) / 2)


@pytest.mark.parametrize("target", ["relevant", "judged", "uniform"])
@pytest.mark.parametrize(("k", "rel"), [(3, 1), (20, 1), (5, 2)])
def test_attention_of_groups(k: int, rel: int, target: str) -> None:
    topics = some_topics(60, seed=k)
    expected = [fairness(ranking, of, k, rel, target) for ranking, of in topics]
    measured = values(f"AWRF(rel={rel},target='{target}')@{k}", topics)
    np.testing.assert_allclose(measured, expected, rtol=1e-9)

    def ndcg(ranking: list[str], documents: Any) -> float:
        discount = [1 / math.log2(max(rank, 2)) for rank in range(1, k + 1)]
        hits = [documents.get(d, (0, 0))[1] >= rel for d in ranking[:k]]
        n_relevant = min(k, sum(grade >= rel for _, grade in documents.values()))
        return sum(d for d, hit in zip(discount, hits, strict=False) if hit) / sum(
            discount[:n_relevant]
        )

    product = [
        ndcg(*topic) and ndcg(*topic) * value
        for topic, value in zip(topics, expected, strict=True)
        if any(grade >= rel for _, grade in topic[1].values())
    ]
    scores = values(f"AWRF-nDCG(rel={rel},target='{target}')@{k}", topics)
    np.testing.assert_allclose(scores[~np.isnan(scores)], product, rtol=1e-9)


@pytest.mark.parametrize("target", ["relevant", "judged", "uniform"])
@pytest.mark.parametrize(("k", "patience"), [(3, None), (20, None), (20, 0.7), (2, 0.5)])
def test_attention_to_a_group(k: int, patience: float | None, target: str) -> None:
    topics = some_topics(60, seed=k)
    option = "" if patience is None else f",patience={patience}"
    shares, ratios = [], []
    for ranking, documents in topics:
        names = sorted({name for names, _ in documents.values() for name in names})
        attention, goal = dict.fromkeys(names, 0.0), dict.fromkeys(names, 0.0)
        for rank, document in enumerate(ranking[:k], 1):
            weight = 1 / math.log2(max(rank, 2)) if patience is None else patience ** (rank - 1)
            for name in documents.get(document, ((), 0))[0]:
                attention[name] += weight / len(documents[document][0])
        for of, grade in documents.values():
            for name in of:
                goal[name] += (target == "judged" or grade >= 1) / len(of)
        if target == "uniform":
            goal = dict.fromkeys(names, 1.0)
        total, total_goal = sum(attention.values()), sum(goal.values())
        share = attention.get("Asia", 0.0) / total if total else math.nan
        wanted = goal.get("Asia", 0.0) / total_goal if total_goal else 0.0
        shares.append(share)
        ratios.append(share / wanted if wanted else math.nan)
    measured = values(f"group-attention(group='Asia'{option})@{k}", topics)
    np.testing.assert_allclose(measured, shares, rtol=1e-9)
    measured = values(f"attention-ratio(group='Asia',target='{target}'{option})@{k}", topics)
    np.testing.assert_allclose(measured, ratios, rtol=1e-9)
    assert np.isfinite(measured).sum() > 20


def test_names_of_groups() -> None:
    qrels = {"q": {"Asia, (East)": {"a": 1}, "B@2's": {"b": 1}}}
    for name, value in (("Asia, (East)", 1.0), ("B@2's", 0.0), ("Nowhere", 0.0)):
        measure = cal.measure(f"group-attention(group={name!r})@1")
        assert cal.measure(str(measure)) == measure
        assert measure(qrels, {"q": {"a": 2.0, "b": 1.0}}) == value
    with pytest.raises(UnknownMeasureError, match="group is 3, expected a name, in quotes"):
        cal.retrieval(qrels, {"q": {"a": 1.0}}, measures=["group-attention(group=3)"])


def test_by_hand() -> None:
    """Rank 1 and rank 2 have the same attention: two groups, one document of each, is fair."""
    qrels = {"q": {"A": {"a": 1}, "B": {"b": 1}}}
    fair, unfair = {"q": {"a": 2.0, "b": 1.0}}, {"q": {"a": 2.0, "x": 1.0}}
    measure = cal.measure("AWRF")
    assert measure(qrels, fair) == pytest.approx(1, abs=1e-12)
    # (1, 0) against (½, ½), with (¾, ¼) between them.
    half = (math.log(4 / 3) + 0.5 * math.log(2 / 3) + 0.5 * math.log(2)) / 2
    assert measure(qrels, unfair) == pytest.approx(1 - half, abs=1e-12)
    apart = {"q": {"A": {"a": 1}, "B": {"b": 0}}}
    lowest = 1 - math.log(2)
    assert measure(apart, {"q": {"b": 1.0}}) == pytest.approx(lowest, abs=1e-12)
    assert measure.definition.range[0] == lowest
    assert cal.measure("AWRF-nDCG")(apart, {"q": {"b": 1.0}}) == 0


def test_where_it_is_undefined() -> None:
    qrels = {"q": {"A": {"a": 0}, "B": {"b": 0}}}
    estimate = cal.retrieval(qrels, {"q": {"a": 1.0}}, measures=["AWRF"])["AWRF"]
    assert dict(estimate.undefined) == {"no_target": 1}
    judged = {"q": {"A": {"a": 1}}}
    estimate = cal.retrieval(judged, {"q": {"x": 1.0}}, measures=["AWRF"])["AWRF"]
    assert dict(estimate.undefined) == {"no_group_retrieved": 1}
