"""Measures of predicted numbers beside other programs, and their limits by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics

import calipers as cal
from calipers.measures.errors import UnknownMeasureError

RANDOM = np.random.default_rng(5)
TRUTH = np.round(np.exp(RANDOM.normal(size=60)), 1) + 0.1  # with ties
SAID = np.round(TRUTH * np.exp(RANDOM.normal(0, 0.4, 60)), 1) + 0.1
WEIGHT = RANDOM.choice([0.0, 0.5, 1.0, 3.0], 60)

#: What scikit-learn calls them.
PEERS = {
    "RMSE": metrics.root_mean_squared_error,
    "MSE": metrics.mean_squared_error,
    "MAE": metrics.mean_absolute_error,
    "MAPE": metrics.mean_absolute_percentage_error,
    "MSLE": metrics.mean_squared_log_error,
    "RMSLE": metrics.root_mean_squared_log_error,
    # Weights as numbers of rows: before 1.8 scikit-learn had another median of weighted rows.
    "MedAE": lambda *of, sample_weight=1: metrics.median_absolute_error(
        *(np.repeat(values, np.multiply(sample_weight, 2).astype(int)) for values in of)
    ),
    "R2": metrics.r2_score,
    "explained-variance": metrics.explained_variance_score,
    "pinball(alpha=0.9)": lambda *of, **kw: metrics.mean_pinball_loss(*of, alpha=0.9, **kw),
    "Poisson-deviance": metrics.mean_poisson_deviance,
    "gamma-deviance": metrics.mean_gamma_deviance,
    **{
        f"Tweedie-deviance(power={power})": lambda *of, power=power, **kw: (
            metrics.mean_tweedie_deviance(*of, power=power, **kw)
        )
        for power in (1, 1.5, 2, 3)
    },
    "D2-absolute-error": metrics.d2_absolute_error_score,
    "D2-Tweedie(power=1.5)": lambda *of, **kw: metrics.d2_tweedie_score(*of, power=1.5, **kw),
}


@pytest.mark.parametrize("name", PEERS)
@pytest.mark.parametrize("weighted", [False, True])
def test_values_are_those_of_scikit_learn(name: str, weighted: bool) -> None:
    given: dict[str, Any] = {"weight": WEIGHT} if weighted else {}
    theirs = PEERS[name](TRUTH, SAID, **({"sample_weight": WEIGHT} if weighted else {}))
    assert cal.measure(name)(TRUTH, SAID, **given) == pytest.approx(theirs, rel=1e-12)


def test_the_largest_error_is_scikit_learns() -> None:
    assert cal.measure("max-error")(TRUTH, SAID) == metrics.max_error(TRUTH, SAID)


def test_correlations_are_those_of_scipy() -> None:
    for name, theirs in (("Pearson", stats.pearsonr), ("Spearman", stats.spearmanr)):
        assert cal.measure(name)(TRUTH, SAID) == pytest.approx(theirs(TRUTH, SAID)[0], rel=1e-12)


def test_concordance_is_lins() -> None:
    """2·cov/(var + var + (difference of means)²), by its formula."""
    cov = np.cov(TRUTH, SAID, bias=True)
    apart = (TRUTH.mean() - SAID.mean()) ** 2
    expected = 2 * cov[0, 1] / (cov[0, 0] + cov[1, 1] + apart)
    assert cal.measure("CCC")(TRUTH, SAID) == pytest.approx(expected, rel=1e-12)


def test_adjusted_r_squared_by_hand() -> None:
    """R² = 1 − 2/10 of five rows and two predictors: 1 − 0.2·4/2."""
    truth, said = [0, 1, 2, 3, 4], [1, 1, 2, 3, 3]
    assert cal.measure("R2")(truth, said) == pytest.approx(0.8)
    assert cal.measure("adjusted-R2(predictors=2)")(truth, said) == pytest.approx(0.6)
    assert math.isnan(cal.measure("adjusted-R2(predictors=4)")(truth, said))


def test_symmetric_percentages_end_at_2_and_count_0_where_both_are_0() -> None:
    assert cal.measure("sMAPE")([0, 0, 1, 3], [0, 5, -1, 1]) == pytest.approx((0 + 2 + 2 + 1) / 4)


@pytest.mark.parametrize(
    ("name", "truth", "said", "reason"),
    [
        ("MAPE", [0, 1], [1, 1], "zero_truth"),
        ("MSLE", [1, 1], [1, -1], "minus_one_or_less"),
        ("Poisson-deviance", [-1, 1], [1, 1], "outside_of_domain"),
        ("Poisson-deviance", [0, 1], [0, 1], "outside_of_domain"),
        ("gamma-deviance", [0, 1], [1, 1], "outside_of_domain"),
        ("D2-Tweedie(power=2)", [0, 1], [1, 1], "outside_of_domain"),
        ("R2", [0.1] * 7, [1, 2, 3, 4, 5, 6, 7], "constant_truth"),
        ("Pearson", [1, 2, 3], [0.1] * 3, "constant_prediction"),
        ("Spearman", [1, 2, 3], [5, 5, 5], "constant_prediction"),
        ("CCC", [2, 2], [2, 2], "constant_and_equal"),
        ("D2-pinball(alpha=1)", [1, 2], [1, 2], "constant_without_loss"),
    ],
)
def test_there_is_no_value(name: str, truth: Any, said: Any, reason: str) -> None:
    e = cal.regression(truth, said, measures=[name])[name]
    assert math.isnan(e.value)
    assert reason in e.undefined


# --- Limits by hand -------------------------------------------------------------------------------


def left_out(name: str, truth: Any, said: Any, to: Any) -> tuple[float, float]:
    """The value on a scale and the jackknife's error there, leaving out one row after another."""
    measure, n = cal.measure(name), len(truth)
    value = to(measure(truth, said))
    others = [to(measure(np.delete(truth, i), np.delete(said, i))) for i in range(n)]
    return value, math.sqrt((n - 1) / n * np.square(np.array(others) - value).sum())


@pytest.mark.parametrize(
    ("name", "to", "back"),
    [
        ("R2", lambda v: -math.log(1 - v), lambda x: 1 - math.exp(-x)),
        ("explained-variance", lambda v: -math.log(1 - v), lambda x: 1 - math.exp(-x)),
        ("Pearson", math.atanh, math.tanh),
        ("CCC", math.atanh, math.tanh),
    ],
)
def test_limits_come_from_leaving_rows_out(name: str, to: Any, back: Any) -> None:
    e = cal.regression(TRUTH, SAID, measures=[name])[name]
    value, se = left_out(name, TRUTH, SAID, to)
    t = stats.t.ppf(0.975, len(TRUTH) - 1)
    assert (e.low, e.high) == pytest.approx((back(value - t * se), back(value + t * se)), rel=1e-9)


def test_one_row_that_holds_all_the_error_counts_as_one_event_below() -> None:
    """Above, the limit is that of leaving it out; of fewer than ten rows, on both sides."""
    random = np.random.default_rng(1)
    for rows in (200, 10, 9):
        truth = random.normal(size=rows)
        said = truth + 0.3 * random.normal(size=rows)
        said[7] += 13
        made = cal.regression(truth, said, measures=["R2"])["R2"]
        rest = [np.delete(x, row) for row in range(rows) for x in (truth, said)]
        without = [metrics.r2_score(*pair) for pair in zip(rest[::2], rest[1::2], strict=True)]
        moved = np.log1p(-made.value) - np.log1p(-np.array(without))
        se = math.sqrt((rows - 1) / rows * np.square(moved).sum())
        t, unexplained = stats.t.ppf(0.975, rows - 1), 1 - made.value
        below = 1.0 if rows >= 10 else se
        assert se > 1.5
        assert made.low == pytest.approx(1 - unexplained * math.exp(t * below), rel=1e-9)
        assert made.high == pytest.approx(1 - unexplained * math.exp(-t * se), rel=1e-9)


def test_limits_of_ranks_come_from_the_slope_by_weights() -> None:
    """Central differences by the weight of each row, n/(n − 1), Fisher's z."""
    measure, n = cal.measure("Spearman"), len(TRUTH)
    slopes = np.empty(n)
    for i in range(n):
        up, down = np.ones(n), np.ones(n)
        up[i], down[i] = 1 + 1e-5, 1 - 1e-5
        slopes[i] = (measure(TRUTH, SAID, weight=up) - measure(TRUTH, SAID, weight=down)) / 2e-5
    value, se = measure(TRUTH, SAID), math.sqrt(np.square(slopes).sum() * n / (n - 1))
    half = 1.959963984540054 * se / (1 - value**2)
    e = cal.regression(TRUTH, SAID, measures=["Spearman"])["Spearman"]
    limits = math.tanh(math.atanh(value) - half), math.tanh(math.atanh(value) + half)
    assert (e.low, e.high) == pytest.approx(limits, rel=1e-6)


def test_limits_of_a_median_are_errors_at_wilsons_limits() -> None:
    """Errors 1, 2, …, 20: the limits of a half are .2993 and .7007, and the k-th error stands at
    (k − ½)/20."""
    e = cal.regression(np.zeros(20), np.arange(1.0, 21), measures=["MedAE"])["MedAE"]
    assert e.value == 10.5
    z = 1.959963984540054
    half = z / (1 + z**2 / 20) * math.sqrt(0.25 / 20 + z**2 / 1600)
    assert (e.low, e.high) == pytest.approx((10.5 - 20 * half, 10.5 + 20 * half))


def test_a_perfect_correlation_is_as_a_share_of_the_rows() -> None:
    """Wilson of 9 of 9: 9/(9 + z²), of (1 + r)/2."""
    line = np.arange(9.0)
    low = 2 * 9 / (9 + 1.959963984540054**2) - 1
    for said, low_high in ((2 * line + 1, (low, 1)), (-line, (-1, -low))):
        for name in ("Pearson", "Spearman"):
            e = cal.regression(line, said, measures=[name])[name]
            assert (e.low, e.high) == pytest.approx(low_high)


def test_good_predictions_of_large_numbers_keep_their_digits() -> None:
    """Residuals of 1e-6 beside numbers of 1e9."""
    truth = 1e9 + np.arange(100.0)
    residual = np.tile([1.0, -1.0], 50) / 2**20
    expected = 1 - 100 / 2.0**40 / np.square(truth - truth.mean()).sum()
    value = cal.measure("R2")(truth, truth + residual)
    assert 1 - value == pytest.approx(1 - expected, rel=1e-3)


@pytest.mark.parametrize(
    ("theirs", "ours"),
    {
        "mean_tweedie_deviance": "MSE",
        "d2_tweedie_score": "R2",
        "d2_tweedie_score(power=1.5)": "D2-Tweedie(power=1.5)",
        "mean_tweedie_deviance(power=2)": "Tweedie-deviance(power=2)",
        "neg_median_absolute_error": "MedAE",
        "neg_max_error": "max-error",
        "pinball(q=0.9)": "pinball(alpha=0.9)",
        "mean_pinball_loss(tau=0.1)": "pinball(alpha=0.1)",
        "adj_r2(predictors=2)": "adjusted-R2(predictors=2)",
        "PICP@0.9": "interval-coverage@0.9",
        "MPIW@0.8": "mean-width@0.8",
        "regression_mwi_score@0.9": "interval-score@0.9",
        "weighted_interval_score": "WIS",
    }.items(),
)
def test_names_of_other_tools_are_read(theirs: str, ours: str) -> None:
    assert str(cal.measure(theirs)) == ours


def test_tweedie_of_power_0_is_what_scikit_learn_makes_of_it() -> None:
    for theirs, of in (
        ("mean_tweedie_deviance", metrics.mean_tweedie_deviance),
        ("d2_tweedie_score", metrics.d2_tweedie_score),
    ):
        assert cal.measure(theirs)(TRUTH, SAID) == pytest.approx(of(TRUTH, SAID))


def test_mase_by_hand() -> None:
    """As sktime and statsforecast have it: mean |y − p| over the mean |y_t − y_{t−m}| in training
    data. Seasons of 2: |5 − 1|, |2 − 3|, |6 − 5|, |4 − 2| have a mean of 2; residuals 1, 2, 3 too."""
    train = np.array([1.0, 3, 5, 2, 6, 4])
    naive = float(np.abs(train[2:] - train[:-2]).mean())
    assert naive == 2.0
    truth, said = [7.0, 3.0, 5.0], [8.0, 1.0, 8.0]
    mase = cal.measure(f"MASE(naive_mae={naive})")
    assert mase(truth, said) == 1.0
    made = cal.regression(truth * 20, said * 20, measures=[str(mase), "MAE"])
    one, mae = made.estimates
    assert (one.low, one.high) == pytest.approx((mae.low / 2, mae.high / 2))
    with pytest.raises(cal.InputError, match="needs naive_mae"):
        cal.regression(truth, said, measures=["MASE"])
    with pytest.raises(UnknownMeasureError, match="more than 0"):
        cal.measure("MASE(naive_mae=0)")
