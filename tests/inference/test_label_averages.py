"""Averages over labels where a label has few rows, or nothing is wrong: they have an interval, which
knows that the few might have come out otherwise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import calipers as cal
from calipers.inference.settings import Settings
from calipers.measures import parse
from calipers.readings.sets import LabelCounts

ROWS = 40
TRUTH = np.zeros((ROWS, 3), bool)
TRUTH[:20, 0] = TRUTH[:2, 1] = True  # the third never occurs
CALLED = TRUTH.copy()
CALLED[15:23, 0] = [False] * 5 + [True] * 3


def counts(weight: np.ndarray | None = None) -> LabelCounts:
    settings = replace(Settings(), resamples=20_000)
    return LabelCounts(TRUTH, CALLED, ("a", "b", "c"), weight, None, settings)


@pytest.mark.parametrize("share", [1.0, 0.5])
def test_half_a_right_row_and_a_quarter_of_either_error_are_added(share: float) -> None:
    """Mean n + c and variance n(1 − n/N) + c, as of a gamma number of shape c beside rows drawn."""
    drawn = counts()._likely(share).counts
    held = np.array([[[17, 3], [5, 15]], [[38, 0], [0, 2]]], float)
    added = share * np.array([[0.5, 0.25], [0.25, 0.5]])
    mean, variance = held + added, held * (1 - held / ROWS) + added
    assert np.abs(drawn[:, :2].mean(axis=0) - mean).max() < 5 * np.sqrt(variance.max() / 20_000)
    assert drawn[:, :2].var(axis=0) == pytest.approx(variance, rel=0.15)
    assert (drawn[:, 2] == [[ROWS, 0], [0, 0]]).all()


def test_rows_that_weigh_add_their_effective_weight() -> None:
    weight = np.repeat([1.0, 3.0], ROWS // 2)
    drawn = counts(weight)._likely(1.0).counts
    unit = (1 + 9) / (1 + 3)
    assert drawn[:, 1, 0, 1].mean() == pytest.approx(0.25 * unit, rel=0.1)


def test_micro_averages_share_what_is_added() -> None:
    """So that of all labels together half a row is right."""
    own = counts()
    both = own._likely(0.5).counts.sum(axis=1)
    plain = own.drawn.counts.sum(axis=1)
    assert (both - plain)[:, 1, 1].mean() == pytest.approx(0.5, rel=0.05)
    measure = parse("micro-recall", "counts")
    hit, missed = both[:, 1, 1], both[:, 1, 0]
    assert own.likely(measure) == pytest.approx(hit / (hit + missed))


@pytest.mark.parametrize("name", ["macro-F1", "micro-F1", "macro-recall", "weighted-precision"])
def test_perfect_labels_have_an_interval(name: str) -> None:
    truth = np.random.default_rng(0).random((200, 4)) < [0.5, 0.3, 0.2, 0.02]
    own = cal.multilabel(truth, truth, measures=[name])[name]
    assert own.high == own.value == 1
    assert 0.8 < own.low < 1


def test_areas_at_their_limit_have_the_limits_of_their_labels() -> None:
    truth = np.random.default_rng(0).random((300, 3)) < [0.5, 0.3, 0.1]
    score = np.where(truth, 0.9, 0.1)
    for name in ("AUC", "AP"):
        each = [
            cal.classification(truth[:, j], score=score[:, j], measures=[name])[name].low
            for j in range(3)
        ]
        own = cal.multilabel(truth, score=score, measures=[f"macro-{name}"])[f"macro-{name}"]
        assert (own.low, own.high) == (pytest.approx(np.mean(each)), 1)


def test_a_slice_without_a_rare_label_is_compared() -> None:
    """Rows of a label that only the other slice has say nothing of either."""
    random = np.random.default_rng(3)
    truth = random.random((600, 4)) < [0.5, 0.3, 0.4, 0.0]
    truth[[0, 2], 3] = True
    called = truth ^ (random.random((600, 4)) < [0.1, 0.1, 0.1, 0.0])
    sides = {"side": ["left" if k % 2 else "right" for k in range(600)]}
    of = cal.multilabel(truth, called, measures=["macro-F1"], slices=sides).slices
    for row in of:
        assert row.to_rest.test == "rows dealt anew"
        assert row.to_rest.p > 0.05
        assert row.to_rest.low <= 0 <= row.to_rest.high


def test_the_difference_of_a_slice_holds_its_value() -> None:
    """Also where chance alone makes differences of one side."""
    truth = np.arange(100)[:, None] < 7
    said = truth.copy()
    said[[7, 52]] = True
    sides = {"side": ["left"] * 52 + ["right"] * 48}
    ev = cal.multilabel(truth, said, measures=["macro-F1"], slices=sides)
    for row in ev.slices:
        assert -1 <= row.to_rest.low <= row.to_rest.value <= row.to_rest.high <= 1
    assert str(cal.from_json(ev.to_json())) == str(ev)


def test_weights_have_no_scale() -> None:
    """What is rare is so by rows, not by what they weigh."""
    random = np.random.default_rng(0)
    truth = np.column_stack([random.random((200, 2)) < 0.5, np.arange(200) < 8])
    a, b = (truth ^ (random.random(truth.shape) < [0.1, 0.1, 0]) for _ in "ab")
    found = [
        cal.multilabel(
            truth, {"a": a, "b": b}, weight=np.full(200, weight), measures=["macro-F1"]
        ).comparison["macro-F1"]
        for weight in (1.0, 1 / 256, 1024.0)
    ]
    assert len({(d.method, d.low, d.high, d.p) for d in found}) == 1
