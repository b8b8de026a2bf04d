"""Adjusted p-values against statsmodels, hand and definition."""

from __future__ import annotations

import math

import numpy as np
import pytest

import calipers as cal
from calipers.inference import multiplicity
from calipers.statistics import FloatArray


def by_definition(p: FloatArray) -> FloatArray:
    """Holm 1979: the j-th smallest of m times (m − j + 1), never below the one before."""
    out = np.full(len(p), np.nan)
    ranked = sorted((value, i) for i, value in enumerate(p) if not math.isnan(value))
    highest = 0.0
    for j, (value, i) in enumerate(ranked, start=1):
        highest = max(highest, (len(ranked) - j + 1) * value)
        out[i] = min(1.0, highest)
    return out


def test_holm_by_hand_and_by_definition() -> None:
    """Holm's own kind of table, and 500 random ones with ties and undefined values."""
    np.testing.assert_allclose(
        multiplicity.holm(np.array([0.01, 0.02, 0.03, 0.005])), [0.03, 0.04, 0.04, 0.02]
    )
    generator = np.random.default_rng(11)
    for _ in range(500):
        p = np.round(generator.random(int(generator.integers(0, 8))) ** 2, 2)
        p[generator.random(len(p)) < 0.1] = np.nan
        np.testing.assert_allclose(multiplicity.holm(p), by_definition(p), rtol=1e-12)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [("holm", "holm"), ("bonferroni", "bonferroni"), ("benjamini-hochberg", "fdr_bh")],
)
def test_adjustments_are_those_of_statsmodels(
    ours: str, theirs: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from statsmodels.stats.multitest import multipletests

    monkeypatch.setattr("gc.collect", lambda: 0)  # which it calls each time, most of its work
    generator = np.random.default_rng(1)
    for size in (1, 2, 7, 40):
        for _ in range(20):
            p = np.round(generator.random(size) ** 3, int(generator.integers(1, 6)))
            expected = multipletests(p, method=theirs)[1]
            adjustment = multiplicity.ADJUSTMENTS[ours]
            np.testing.assert_allclose(adjustment.adjust(p), expected, rtol=1e-12)


@pytest.mark.parametrize("name", multiplicity.ADJUSTMENTS)
def test_undefined_p_values_do_not_count(name: str) -> None:
    adjust = multiplicity.ADJUSTMENTS[name].adjust
    p = np.array([0.01, np.nan, 0.2, 0.02, np.nan])
    adjusted = adjust(p)
    assert np.isnan(adjusted).tolist() == [False, True, False, False, True]
    np.testing.assert_array_equal(adjusted[[0, 2, 3]], adjust(p[[0, 2, 3]]))
    assert adjust(np.array([])).shape == (0,)
    assert np.isnan(adjust(np.full(3, np.nan))).all()


@pytest.mark.parametrize("name", multiplicity.ADJUSTMENTS)
def test_adjusting_keeps_the_order_and_lowers_nothing(name: str) -> None:
    generator = np.random.default_rng(2)
    for _ in range(50):
        p = np.sort(generator.random(9) ** 2)
        adjusted = multiplicity.ADJUSTMENTS[name].adjust(p)
        assert (np.diff(adjusted) >= 0).all()
        assert (adjusted >= p).all()
        assert adjusted.max() <= 1


def test_no_adjustment_leaves_p_values_as_they_are() -> None:
    p = np.array([0.3, 0.01])
    adjustment = multiplicity.ADJUSTMENTS["none"]
    np.testing.assert_array_equal(adjustment.adjust(p), p)
    assert adjustment.controlled_rate == "nothing"
    assert multiplicity.ADJUSTMENTS["benjamini-hochberg"].controlled_rate == "false discovery rate"


def test_what_is_controlled() -> None:
    """15 true and 5 false hypotheses, 2,000 times: the family's error, and the share that is false."""
    generator = np.random.default_rng(3)
    true = np.arange(20) < 15
    family, shares = [], []
    for _ in range(2000):
        z = generator.normal(size=20) + np.where(true, 0.0, 3.0)
        p = np.array([math.erfc(x / math.sqrt(2)) / 2 for x in z])
        family.append((multiplicity.holm(p) <= 0.05)[true].any())
        found = multiplicity.benjamini_hochberg(p) <= 0.05
        shares.append(found[true].sum() / max(found.sum(), 1))
    assert np.mean(family) < 0.06
    assert np.mean(shares) < 0.045


def test_a_comparison_is_adjusted_over_its_pairs() -> None:
    generator = np.random.default_rng(12)
    truth = generator.normal(size=120)
    predicted = {str(s): truth + generator.normal(0, s, 120) for s in (1.0, 1.1, 1.3, 2.0)}
    comparison = cal.regression(truth, predicted, measures=["MAE", "RMSE"]).compare(adjust="holm")
    for name in ("MAE", "RMSE"):
        rows = [d for d in comparison if d.measure == name]
        assert len(rows) == 6
        expected = by_definition(np.array([d.p for d in rows]))
        np.testing.assert_allclose([d.p_adjusted for d in rows], expected, rtol=1e-12)
