"""Averaged precision-recall curves of runs, against loops over rankings."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calipers as cal
from calipers.report.charts import figures
from calipers.results import Curve, Evaluation

RANKS = [1, 2, 3, 5, 8]
RECALLS = [0, 0.1, 0.25, 1 / 3, 0.5, 0.7, 1]


def rankings(seed: int, topics: int = 12) -> list[tuple[list[int], int]]:
    """Relevance down a ranking and the number of relevant documents, topic by topic."""
    rng = np.random.default_rng(seed)
    out = []
    for _ in range(topics):
        ranking = [int(x) for x in rng.random(rng.integers(1, 9)) < 0.4]
        out.append((ranking, sum(ranking) + int(rng.integers(0, 3))))
    return [*out, ([0, 0], 0)]  # and a topic with nothing to find


def as_sources(given: list[tuple[list[int], int]]) -> tuple[dict[str, Any], dict[str, Any]]:
    qrels, run = {}, {}
    for t, (ranking, relevant) in enumerate(given):
        names = [f"d{i}" for i in range(len(ranking))]
        missed = [f"m{i}" for i in range(relevant - sum(ranking))]
        qrels[f"t{t}"] = dict(zip(names, ranking, strict=True)) | dict.fromkeys(missed, 1)
        run[f"t{t}"] = {name: -float(i) for i, name in enumerate(names)}
    return qrels, run


def evaluation(seed: int = 0, **options: Any) -> Evaluation:
    return cal.retrieval(*as_sources(rankings(seed)), **options)


def path(ranking: list[int], relevant: int) -> list[tuple[float, float]]:
    """Recall and precision at every rank, 20 of them."""
    shown = ranking + [0] * (20 - len(ranking))
    return [(sum(shown[:k]) / relevant, sum(shown[:k]) / k) for k in range(1, 21)]


def beyond(points: list[tuple[float, float]], recall: float) -> list[float]:
    return [p for r, p in points if r >= recall - 1e-9]


def mean(values: list[float]) -> float:
    return math.fsum(values) / len(values)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("interpolated", [False, True])
def test_precision_at_recall_levels(seed: int, interpolated: bool) -> None:
    paths = [path(*topic) for topic in rankings(seed) if topic[1]]
    pick = max if interpolated else (lambda found: found[0])
    expected = [
        mean([pick(found) if (found := beyond(points, r)) else 0.0 for points in paths])
        for r in RECALLS
    ]
    (curve,) = cal.averaged_curves(
        evaluation(seed), "recalls", interpolated=interpolated, points=RECALLS
    )
    np.testing.assert_allclose(curve.y, expected, atol=1e-12)
    np.testing.assert_array_equal(curve.x, RECALLS)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("interpolated", [False, True])
def test_precision_and_recall_at_ranks(seed: int, interpolated: bool) -> None:
    topics = rankings(seed)
    paths = [path(*topic) for topic in topics if topic[1]]
    empty = 0 if interpolated else len(topics) - len(paths)  # where P@k is 0, and recall undefined
    (curve,) = cal.averaged_curves(
        evaluation(seed), "ranks", interpolated=interpolated, points=RANKS
    )
    for i, k in enumerate(RANKS):
        at = [
            max(beyond(points, points[k - 1][0])) if interpolated else points[k - 1][1]
            for points in paths
        ]
        assert curve.y[i] == pytest.approx(mean(at + [0.0] * empty))
        assert curve.x[i] == pytest.approx(mean([points[k - 1][0] for points in paths]))
    np.testing.assert_array_equal(curve.threshold, RANKS)


@pytest.mark.parametrize("undefined", ["nan", "zero"])
def test_points_and_bands_are_those_of_the_table(undefined: str) -> None:
    names = ["IPrec@0.5", "P@recall=0.5", "P@5", "R@5"]
    ev = evaluation(3, measures=names, undefined=undefined, n_resamples=500)
    smooth, jagged = (
        cal.averaged_curves(ev, interpolated=interpolated, points=[0.5])[0]
        for interpolated in (True, False)
    )
    (ranked,) = cal.averaged_curves(ev, "ranks", points=[5])
    for curve, name in ((smooth, names[0]), (jagged, names[1]), (ranked, names[2])):
        e = ev[name]
        # A recall that a ranking does not reach counts 0 in curves; tables have no value there.
        if curve is not jagged or undefined == "zero":
            assert (curve.y[0], curve.low[0], curve.high[0]) == (e.value, e.low, e.high)
            assert (curve.method, curve.level) == (e.method, e.level)
    assert ranked.x[0] == ev["R@5"].value


def test_the_relevance_level_counts() -> None:
    qrels, run = {"1": {"a": 1, "b": 2}}, {"1": {"a": 2.0, "b": 1.0}}
    first, second = (
        cal.averaged_curves(cal.retrieval(qrels, run, rel=rel), points=[1])[0] for rel in (1, 2)
    )
    assert (first.y[0], second.y[0]) == (1.0, 0.5)


def test_a_seed_example_of_one_topic() -> None:
    examples = json.loads(Path(__file__).parents[1].joinpath("seed_examples.json").read_text())
    (example,) = (e for e in examples if e["id"] == "fourteen-documents")
    given = example["given"]
    ev = cal.retrieval(*as_sources([(given["relevance"], given["num_relevant"])]))
    (curve,) = cal.averaged_curves(ev, "ranks", points=range(1, 15))
    np.testing.assert_allclose(curve.y, example["expect"]["precision_at_k"])
    np.testing.assert_allclose(curve.x, example["expect"]["recall_at_k"])


def test_they_wait_until_somebody_looks() -> None:
    ev = evaluation()
    assert len(ev.curves) == 2
    assert "_curves" not in vars(ev.curves)
    assert [curve.kind for curve in ev.curves] == ["PR at recall levels", "PR at ranks"]
    assert ev.curves[0] is ev.curves[0]


def test_ranks_end_where_the_runs_do() -> None:
    run = {"1": {f"d{i}": float(-i) for i in range(14)}}
    (_, curve) = cal.retrieval({"1": {"d3": 1}}, run).curves
    assert curve.threshold.tolist() == [5, 10, 15]


def test_the_seed_decides() -> None:
    first, again, other = (
        cal.retrieval(
            *as_sources(rankings(0)), n_resamples=300, seed=seed, interval="bootstrap"
        ).curves[0]
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first.low, again.low)
    assert not np.array_equal(first.low, other.low)


def test_without_intervals_there_is_no_band() -> None:
    for curve in evaluation(interval="none").curves:
        assert len(curve.x) > 1
        assert len(curve.band_x) == len(curve.low) == len(curve.high) == 0


def test_they_are_written_and_read() -> None:
    ev = evaluation()
    back = Evaluation.from_json(ev.to_json(details=True))
    for a, b in zip(ev.curves, back.curves, strict=True):
        assert isinstance(b, Curve)
        np.testing.assert_allclose(a.y, b.y)
        np.testing.assert_array_equal(a.threshold, b.threshold)
        assert (a.parameter, a.kind) == (b.parameter, b.kind)


def test_the_page_draws_one_line_a_run() -> None:
    qrels, run = as_sources(rankings(1))
    ev = cal.retrieval(qrels, {"one": run, "two": as_sources(rankings(1, 11))[1]})
    recalls, ranks = figures(ev)[:2]
    assert recalls.title == "Precision at recall levels"
    assert {row[0] for row in recalls.rows} == {row[0] for row in ranks.rows} == {"one", "two"}
    assert recalls.header == ("system", "Recall", "Mean interpolated precision")
    assert ranks.header == ("system", "Mean recall", "Mean precision", "rank")
    assert "first 5, 10 documents" in ranks.caption
    assert "95% pointwise band" in ranks.caption
    assert "rank" in json.dumps(ranks.spec)
    assert ranks.svg.count("<path") > 4


def test_what_has_no_rankings_has_no_averaged_curves() -> None:
    of_scores = cal.classification([0, 1, 1, 0], score=[0.1, 0.9, 0.4, 0.5])
    with pytest.raises(cal.InputError, match="this one has none"):
        cal.averaged_curves(of_scores)
    with pytest.raises(cal.InputError, match="expected 'recalls' or 'ranks'"):
        cal.averaged_curves(evaluation(), "depths")


def test_the_roc_of_a_topic_encloses_its_area() -> None:
    """The trapezoid under the points is rank-ROC-AUC; each rank moves one step up or right."""
    given = [g for g in rankings(5) if g[1] > 0]
    qrels, run = as_sources(given)
    for t, (ranking, relevant) in enumerate(given):
        ev = cal.retrieval(
            {f"t{t}": qrels[f"t{t}"]},
            {f"t{t}": run[f"t{t}"]},
            measures=["rank-ROC-AUC"],
            collection_size=40,
            interval="none",
        )
        (curve,) = cal.topic_curves(ev, f"t{t}", "ROC", collection_size=40)
        found = np.cumsum([0, *ranking])
        np.testing.assert_allclose(curve.y[:-1], found / relevant, rtol=1e-12)
        others = np.arange(len(found)) - found
        np.testing.assert_allclose(curve.x[:-1], others / (40 - relevant), rtol=1e-12)
        area = np.sum(np.diff(curve.x) * (curve.y[1:] + curve.y[:-1]) / 2)
        assert area == pytest.approx(ev["rank-ROC-AUC(collection_size=40)"].value, abs=1e-12)
        (curve,) = cal.topic_curves(ev, f"t{t}")
        np.testing.assert_allclose(curve.y, found[1:] / np.arange(1, len(found)), rtol=1e-12)


def test_curves_of_a_topic_say_what_they_need() -> None:
    ev = cal.retrieval({"1": {"a": 1}, "2": {"a": 0}}, {"1": {"a": 1.0}, "2": {"a": 1.0}})
    for arguments, options, why in (
        (("3",), {}, "no topic '3'"),
        (("2",), {}, "topic '2' has no relevant document"),
        (("1", "ROC"), {}, "the number of documents"),
        (("1", "ROC"), {"collection_size": 1}, "collection_size is 1"),
        (("1", "DET"), {}, "kind is 'DET'"),
    ):
        with pytest.raises(cal.InputError, match=why):
            cal.topic_curves(ev, *arguments, **options)
