"""Curves of single topics, against what the definitions say of a ranking."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import calipers as cal
from calipers.curves.rankings import MAX_POINTS, simplify_line
from calipers.data.errors import InputError

#: Relevant documents at ranks 1, 3, 4 and 8; one more is not retrieved.
RELEVANT = [True, False, True, True, False, False, False, True, False, False]
QRELS = {
    "a": {**{f"d{i}": int(is_one) for i, is_one in enumerate(RELEVANT)}, "missed": 1},
    "b": {"d0": 1},
    "none": {"d0": 0},
}
RUNS = {
    "full": {t: {f"d{i}": 10.0 - i for i in range(10)} for t in QRELS},
    "short": {t: {"d2": 2.0, "d0": 1.0} for t in QRELS},
}
COLLECTION = 25


@pytest.fixture(scope="module")
def evaluation() -> cal.Evaluation:
    return cal.retrieval(
        QRELS, RUNS, measures="AP", interval="none", topic_curves=["a"], collection_size=COLLECTION
    )


def _by_hand() -> tuple[np.ndarray, np.ndarray]:
    found = np.cumsum(RELEVANT)
    return found / 5, found / np.arange(1, 11)


def test_precision_and_recall_at_each_rank(evaluation: cal.Evaluation) -> None:
    full, short = cal.topic_curves(evaluation, "a")
    recall, precision = _by_hand()
    assert full.x == pytest.approx(recall)
    assert full.y == pytest.approx(precision)
    assert full.threshold.tolist() == list(range(1, 11))
    assert short.x.tolist() == [0.2, 0.4]
    assert short.y.tolist() == [1.0, 1.0]


def test_interpolated_precision_is_the_highest_from_there_on(evaluation: cal.Evaluation) -> None:
    full, short = cal.topic_curves(evaluation, "a", "interpolated PR")
    recall, precision = _by_hand()
    levels = [0.0, 0.2, 0.4, 0.6, 0.8]
    assert full.x == pytest.approx(levels)
    assert full.y == pytest.approx([precision[recall >= r - 1e-12].max() for r in levels])
    assert full.y == pytest.approx([1.0, 1.0, 0.75, 0.75, 0.5])
    assert full.threshold.tolist() == [0, 1, 3, 4, 8]
    assert full.shape == "step"
    assert short.x == pytest.approx([0.0, 0.2, 0.4])


def test_recall_against_fall_out(evaluation: cal.Evaluation) -> None:
    full, _ = cal.topic_curves(evaluation, "a", "ROC", collection_size=COLLECTION)
    false = np.cumsum(~np.array(RELEVANT)) / (COLLECTION - 5)
    assert full.x == pytest.approx([0.0, *false, 1.0])
    assert full.y == pytest.approx([0.0, *_by_hand()[0], 1.0])


def test_an_evaluation_has_the_curves_that_were_asked_for(evaluation: cal.Evaluation) -> None:
    kinds = [c.kind for c in evaluation.curves if c.series == "a"]
    assert kinds == [
        *["PR of a topic"] * 2,
        *["interpolated PR of a topic"] * 2,
        *["ROC of a topic"] * 2,
    ]
    assert len(evaluation.curves) == len(list(evaluation.curves)) == 4 + len(kinds)
    every = cal.retrieval(QRELS, RUNS, measures="AP", interval="none", topic_curves="all")
    assert list(dict.fromkeys(c.series for c in every.curves if c.series)) == ["a", "b"]
    page = every.to_html()
    for title in ("Precision and recall on a topic: b", "Interpolated precision on a topic: a"):
        assert title in page


def test_topics_between_commas() -> None:
    found = cal.retrieval(
        {"a": {"d": 1}, "b": {"d": 1}, "a,b": {"d": 1}},
        {topic: {"d": 1.0} for topic in ("a", "b", "a,b")},
        measures="AP", interval="none", topic_curves=["b,a", "a,b"],
    )  # fmt: skip
    assert list(dict.fromkeys(c.series for c in found.curves if c.series)) == ["b", "a", "a,b"]
    with pytest.raises(cal.InputError, match="no topic 'z'; there are 'a'"):
        cal.retrieval(QRELS, RUNS, measures="AP", interval="none", topic_curves=["a,z"])


@pytest.mark.slow
def test_long_curves_are_drawn_at_their_corners() -> None:
    relevant = np.random.default_rng(1).random(1000) < 0.03
    grades = {f"d{i}": int(r) for i, r in enumerate(relevant)}
    run = {"q": {f"d{i}": -float(i) for i in range(1000)}}
    found = cal.retrieval(
        {"q": grades}, run, measures="AP", interval="none", topic_curves="all", collection_size=5000
    )
    for curve in (c for c in found.curves if c.series):
        drawn = simplify_line(curve)
        assert len(drawn) <= min(MAX_POINTS, len(curve), 4 * relevant.sum())
        ends = np.column_stack([drawn.x, drawn.y])
        # Each point that is left out lies on a level or upright line between two that are drawn.
        for x, y in zip(curve.x, curve.y, strict=True):
            low, high = np.minimum(ends[:-1], ends[1:]), np.maximum(ends[:-1], ends[1:])
            inside = ((low <= [x, y]) & ([x, y] <= high)).all(axis=1)
            assert (inside & (low == high).any(axis=1)).any() or (ends == [x, y]).all(axis=1).any()
    svg = found.chart("PR of a topic").to_svg()
    assert svg.count("<path") < 60
    (whole,) = [c for c in found.curves if c.kind == "PR of a topic"]
    assert len(whole) == 1000  # as JSON has it


def test_the_outline_of_a_line_with_very_many_corners() -> None:
    x = np.linspace(0, 1, 5001)
    y = np.random.default_rng(2).random(5001)
    (curve,) = cal.topic_curves(
        cal.retrieval({"q": {"d": 1}}, {"q": {"d": 1.0}}, measures="AP", interval="none"), "q"
    )
    drawn = simplify_line(replace(curve, x=x, y=y, threshold=x))
    assert len(drawn) <= MAX_POINTS
    assert (drawn.y.min(), drawn.y.max()) == (y.min(), y.max())
    assert (drawn.x[0], drawn.x[-1]) == (0.0, 1.0)
    assert drawn.threshold.tolist() == drawn.x.tolist()


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"topic_curves": "x"}, "no topic 'x'"),
        ({"topic_curves": ["a", "none"]}, "topic 'none' has no relevant document"),
        (
            {"topic_curves": "a", "collection_size": 4},
            "collection_size is 4, fewer documents than run",
        ),
    ],
)
def test_topics_without_a_curve_are_told_before_anything_is_drawn(
    asked: dict[str, object], said: str
) -> None:
    with pytest.raises(InputError, match=said):
        cal.retrieval(QRELS, RUNS, measures="AP", interval="none", **asked)  # type: ignore[arg-type]


@pytest.mark.parametrize(("kind", "size"), [("ROC", None), ("PR", 25), ("DET", None)])
def test_kind_and_collection_go_together(
    evaluation: cal.Evaluation, kind: str, size: int | None
) -> None:
    with pytest.raises(InputError, match="expected 'PR', 'interpolated PR', or 'ROC' and"):
        cal.topic_curves(evaluation, "a", kind, collection_size=size)
