"""Judges that help little or not at all, and cases or topics without what labels need."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import calipers as cal


def triple(e: Any) -> tuple[float, float, float]:
    """Value and limits."""
    return e.value, e.low, e.high


def test_an_adverse_judge_leaves_limits_and_test_of_the_labels() -> None:
    random = np.random.default_rng(0)
    y = random.normal(size=(2, 200)) + [[0.0], [0.8]]
    human = np.where(np.arange(200) < 60, y, np.nan)
    both = cal.scores({"a": -y[0], "b": -y[1]}, human={"a": human[0], "b": human[1]})
    alone = cal.scores({"a": y[0, :60], "b": y[1, :60]})
    for e, expected in zip(both, alone, strict=True):
        assert e.judged is not None
        assert e.judged.coefficient == 0
        assert triple(e) == pytest.approx(triple(expected))
    assert both.comparison is not None
    assert alone.comparison is not None
    (d,), (expected_difference,) = both.comparison, alone.comparison
    assert triple(d) == pytest.approx(triple(expected_difference))
    assert d.p == pytest.approx(expected_difference.p)
    difference = human[1, :60] - human[0, :60]
    error = difference.std(ddof=1) / np.sqrt(60)
    assert d.low < difference.mean() - 1.9 * error


def test_errors_without_an_upper_end_have_limits_by_an_adverse_judge() -> None:
    random = np.random.default_rng(1)
    truth = random.normal(size=150)
    human = np.where(np.arange(150) < 50, truth, np.nan)
    systems = {"a": truth + random.normal(size=150), "b": truth + 2 * random.normal(size=150)}
    found = cal.regression(
        random.permutation(-truth), systems, human=human, measures=["MAE"], target="these"
    )
    assert found.comparison is not None
    (d,) = found.comparison
    assert d.high - d.low > 0.1
    assert d.low < d.value < d.high


def test_weights_of_labels_where_no_case_has_a_label() -> None:
    scores, labels = [1, 0, 1, 1] * 10, [1, 0, 0, 1] * 4 + [None] * 24
    weights, half = [1, 2] * 20, ["u"] * 20 + ["v"] * 20
    found = cal.scores(scores, human=labels, human_weight=weights, slices={"half": half})
    assert found.slices is not None
    second = next(s for s in found.slices if s.slice == "v")
    assert second.estimate.undefined == {"no_label": 20}
    without = cal.scores([None] * 16 + scores[16:], human=labels, human_weight=weights)
    assert np.isnan(without.estimates[0].value)
    assert without.estimates[0].undefined == {"no_label": 24}


def test_no_judge_makes_labels_worth_less() -> None:
    for seed in range(12):
        random = np.random.default_rng(seed)
        clusters = np.arange(60) // 5
        y = random.integers(1, 6, 60) * 1.0
        judged = np.clip(y + random.integers(-2, 3, 60), 1, 5)
        human = np.where(random.permutation(60) < 30, y, np.nan)
        (e,) = cal.scores(judged, human=human, cluster=clusters)
        assert e.judged is not None
        assert 30 <= e.judged.worth <= 60
