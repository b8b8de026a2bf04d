"""Curves of residuals, beside other programs and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import calipers as cal
from calipers.curves.residuals import CONDITIONAL_LABELS, MAX_BINS
from calipers.results import Curve

RANDOM = np.random.default_rng(7)


def curves(truth: object, said: object, **given: object) -> dict[str, list[Curve]]:
    """By kind."""
    found: dict[str, list[Curve]] = {}
    for curve in cal.regression(truth, said, measures=["RMSE"], **given).curves:  # type: ignore[arg-type]
        found.setdefault(curve.kind, []).append(curve)
    return found


def test_quantiles_are_those_of_the_normal_distribution() -> None:
    """At (i − ½)/n, as SciPy's percentiles of them; residuals over their standard deviation, with
    the mean left in."""
    residual = RANDOM.normal(3, 2, 50)
    (drawn,) = curves(np.zeros(50), residual)["normal quantiles"]
    assert drawn.x == pytest.approx(stats.norm.ppf((np.arange(50) + 0.5) / 50))
    assert drawn.y == pytest.approx(np.sort(residual) / residual.std())
    assert drawn.y.mean() == pytest.approx(residual.mean() / residual.std())
    twice = curves(np.zeros(50), residual, weight=np.full(50, 2.0))["normal quantiles"][0]
    assert twice.y == pytest.approx(drawn.y)
    assert twice.simultaneous_low == pytest.approx(drawn.simultaneous_low)  # equal weights are none
    weight = np.tile([1.0, 3.0], 25)
    uneven = curves(np.zeros(50), residual, weight=weight)["normal quantiles"][0]
    assert not len(uneven.simultaneous_low)  # rows that weigh more are not more rows


def test_the_band_holds_all_quantiles_of_normal_residuals_at_once() -> None:
    """19 of 20 times, of samples around 0 other than those that set it; a bias leaves it, as do
    heavy tails."""
    (drawn,) = curves(np.zeros(40), RANDOM.normal(size=40))["normal quantiles"]

    def inside(samples: np.ndarray) -> float:
        z = np.sort(samples, axis=1) / samples.std(axis=1, keepdims=True)
        return float(
            ((z >= drawn.simultaneous_low) & (z <= drawn.simultaneous_high)).all(axis=1).mean()
        )

    normal = RANDOM.normal(size=(4000, 40))
    assert inside(normal) == pytest.approx(0.95, abs=0.02)
    assert inside(normal + 1) < 0.05
    assert inside(RANDOM.standard_t(2, size=(200, 40))) < 0.6


def test_means_of_bins_by_hand() -> None:
    """40 rows in four bins of ten; Student's limits of the mean."""
    truth = np.arange(40.0)
    said = truth + np.tile([1.0, -1.0, 2.0, 0.0], 10)
    found = curves(RANDOM.permutation(truth), truth)  # any order of rows is looked through
    assert set(CONDITIONAL_LABELS) < set(found)
    order = RANDOM.permutation(40)
    (drawn,) = curves(truth[order], said[order])["residual given truth"]
    assert drawn.x.tolist() == [4.5, 14.5, 24.5, 34.5]
    for k in range(4):
        own = (said - truth)[10 * k : 10 * k + 10]
        made = stats.ttest_1samp(own, 0).confidence_interval(0.95)
        assert (drawn.y[k], drawn.low[k], drawn.high[k]) == pytest.approx((own.mean(), *made))


def test_the_truth_given_the_prediction_by_hand() -> None:
    """What the predictions of each bin of ten rows turned out to be; right is the diagonal."""
    said = np.arange(40.0)
    truth = 2 * said + np.tile([1.0, -1.0], 20)
    order = RANDOM.permutation(40)
    (drawn,) = curves(truth[order], said[order])["truth given prediction"]
    assert (drawn.x_label, drawn.y_label) == ("Prediction", "Mean truth")
    assert drawn.x.tolist() == [4.5, 14.5, 24.5, 34.5]
    assert drawn.y == pytest.approx([9.0, 29.0, 49.0, 69.0])
    for k in range(4):
        made = stats.ttest_1samp(truth[10 * k : 10 * k + 10], 0).confidence_interval(0.95)
        assert (drawn.low[k], drawn.high[k]) == pytest.approx((made.low, made.high))
    assert drawn.references == {"no error": [[4.5, 4.5], [34.5, 34.5]]}
    residual = curves(truth, said)["residual given prediction"][0]
    assert residual.y == pytest.approx(drawn.x - drawn.y)  # bin by bin, prediction less truth


def test_rows_of_one_number_stay_in_one_bin() -> None:
    truth = np.repeat([1.0, 2.0, 3.0], [90, 5, 5])
    said = truth + RANDOM.normal(size=100)
    (drawn,) = curves(truth, said)["prediction given truth"]
    assert drawn.x[0] == 1.0
    assert drawn.y[0] == pytest.approx(said[:90].mean())
    assert len(drawn.x) <= MAX_BINS


def test_histograms_share_their_bars() -> None:
    truth, said = RANDOM.normal(size=200), {k: RANDOM.normal(size=200) for k in "ab"}
    weight = RANDOM.random(200)
    found = curves(truth, said, weight=weight)
    assert [c.series for c in found["values"]] == ["a", "b", "truth"]
    for kind, columns in (
        ("values", [*said.values(), truth]),
        ("residuals", [x - truth for x in said.values()]),
    ):
        for curve, column in zip(found[kind], columns, strict=True):
            expected, edges = np.histogram(column, curve.x, weights=weight)
            assert curve.y[:-1] == pytest.approx(expected / weight.sum())
            assert curve.x.tolist() == found[kind][0].x.tolist() == edges.tolist()
            assert curve.y.sum() == pytest.approx(1)


@pytest.mark.parametrize("rows", [1, 2, 3, 12])
def test_few_rows_and_perfect_ones(rows: int) -> None:
    """As much as there is to draw; nothing fails."""
    line = np.arange(float(rows))
    for said in (line, line + 1, -line):
        for kind, drawn in curves(line, said, cluster=np.arange(rows) // 2).items():
            assert all(np.isfinite(c.x).all() for c in drawn), kind
