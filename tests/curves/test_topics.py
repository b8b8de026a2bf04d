"""Curves of single topics, against what the definitions say of a ranking."""

from __future__ import annotations

import numpy as np
import pytest

import calipers as cal
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
        QRELS, RUNS, measures="AP", interval="none", topic_curves=["a"], collection=COLLECTION
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
    full, _ = cal.topic_curves(evaluation, "a", "ROC", collection=COLLECTION)
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


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"topic_curves": "x"}, "no topic 'x'"),
        ({"topic_curves": ["a", "none"]}, "topic 'none' has no relevant document"),
        ({"topic_curves": "a", "collection": 4}, "collection is 4, fewer documents than run"),
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
        cal.topic_curves(evaluation, "a", kind, collection=size)
