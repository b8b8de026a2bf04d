"""Calibration against scikit-learn, SciPy and the definitions written out row by row."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy import optimize, stats
from sklearn import calibration, isotonic, linear_model, metrics

import calipers as cal
from calipers.statistics import ScoreTable
from calipers.statistics.calibration import ProbabilityLevels

Rows = tuple[np.ndarray, np.ndarray, np.ndarray | None]


def rows(seed: int, n: int, *, ties: bool = False, weighted: bool = False) -> Rows:
    """Overconfident probabilities."""
    random = np.random.default_rng(seed)
    x = random.normal(size=n)
    truth = random.random(n) < 1 / (1 + np.exp(-x))
    p = 1 / (1 + np.exp(-(1.7 * x + 0.3)))
    p = np.round(p, 1).clip(0.02, 0.98) if ties else p
    return truth, p, random.uniform(0.1, 3.0, n) if weighted else None


CASES = [rows(1, 150), rows(2, 300, ties=True), rows(3, 200, weighted=True),
         rows(4, 250, ties=True, weighted=True)]  # fmt: skip
every_case = pytest.mark.parametrize("case", CASES, ids=["plain", "ties", "weights", "both"])


def value(name: str, case: Rows) -> float:
    return float(cal.measure(name, family="calibration").apply(ScoreTable.from_rows(*case)))


# --- Isotonic regression --------------------------------------------------------------------------


@every_case
def test_the_fit_is_that_of_scikit_learn(case: Rows) -> None:
    truth, p, weight = case
    levels = ProbabilityLevels.from_table(ScoreTable.from_rows(*case))
    expected = isotonic.IsotonicRegression().fit(p, truth, sample_weight=weight)
    np.testing.assert_allclose(
        levels.isotonic_fit, expected.predict(levels.probability), atol=1e-12
    )


@pytest.mark.parametrize("n", [1, 2, 5, 300])
def test_shares_that_fall_ever_slower_are_one_block(n: int) -> None:
    """Each merger makes the next one necessary."""
    total = np.ones(n)
    positive = np.append(np.linspace(0.5, 0.9, n - 1), 0.0) if n > 1 else np.ones(1)
    total[-1] = 1e6
    levels = ProbabilityLevels(np.arange(n) / n, positive * total, total, total)
    expected = isotonic.isotonic_regression(positive, sample_weight=total)
    np.testing.assert_allclose(levels.isotonic_fit, expected, atol=1e-12)


# --- Losses and their parts -----------------------------------------------------------------------


@every_case
def test_skills_are_those_of_scikit_learn(case: Rows) -> None:
    truth, p, weight = case
    assert value("log-loss-skill", case) == pytest.approx(
        metrics.d2_log_loss_score(truth, p, sample_weight=weight), rel=1e-12
    )
    brier = metrics.brier_score_loss(truth, p, sample_weight=weight)
    share = np.average(truth, weights=weight)
    assert value("Brier-skill", case) == pytest.approx(1 - brier / (share * (1 - share)))


@every_case
@pytest.mark.parametrize("loss", ["Brier", "log-loss"])
def test_miscalibration_discrimination_and_uncertainty_add_up(case: Rows, loss: str) -> None:
    """And each is what it is said to be, with the recalibration of scikit-learn."""
    truth, p, weight = case
    score = metrics.brier_score_loss if loss == "Brier" else metrics.log_loss

    def loss_of(answer: np.ndarray) -> float:
        return float(score(truth, answer, sample_weight=weight))

    fit = isotonic.IsotonicRegression().fit(p, truth, sample_weight=weight).predict(p)
    constant = np.full(len(p), np.average(truth, weights=weight))
    parts = [
        value(f"{name}(loss='{loss}')", case)
        for name in ("miscalibration", "discrimination", "uncertainty")
    ]
    expected = [loss_of(p) - loss_of(fit), loss_of(constant) - loss_of(fit), loss_of(constant)]
    assert parts == pytest.approx(expected, abs=1e-9)
    assert parts[0] - parts[1] + parts[2] == pytest.approx(loss_of(p), abs=1e-12)


@every_case
def test_murphys_parts_add_up_over_distinct_probabilities(case: Rows) -> None:
    truth, p, weight = case
    brier = metrics.brier_score_loss(truth, p, sample_weight=weight)
    made = (
        value("reliability(binning='distinct')", case)
        - value("resolution(binning='distinct')", case)
        + value("uncertainty", case)
    )
    assert made == pytest.approx(brier, abs=1e-12)


# --- Bins -----------------------------------------------------------------------------------------


def in_bins(case: Rows, bins: int, binning: str) -> list[tuple[float, float, float]]:
    """Weight, mean probability and share of positives of each bin, row by row."""
    truth, p, weight = case
    weight = np.ones(len(p)) if weight is None else weight
    if binning == "equal-width":
        place = [max(math.ceil(round(x * bins, 9)), 1) for x in p]
    else:
        below = [weight[p < x].sum() for x in p]
        place = [
            math.floor(bins * (b + weight[p == x].sum() / 2) / weight.sum() + 1e-9)
            for b, x in zip(below, p, strict=True)
        ]
    out = []
    for b in sorted(set(place)):
        own = np.array(place) == b
        w = weight[own]
        out.append((w.sum(), np.average(p[own], weights=w), np.average(truth[own], weights=w)))
    return out


@every_case
@pytest.mark.parametrize("binning", ["equal-width", "equal-mass"])
@pytest.mark.parametrize("bins", [1, 4, 15])
def test_errors_by_bins_are_their_definitions(case: Rows, binning: str, bins: int) -> None:
    found = in_bins(case, bins, binning)
    total = sum(w for w, _, _ in found)
    share = sum(w * y for w, _, y in found) / total
    gaps = [abs(p - y) for _, p, y in found]
    expected = {
        f"ECE(bins={bins},estimator='{binning}')": sum(
            w * g for (w, _, _), g in zip(found, gaps, strict=True)
        ) / total,
        f"MCE(bins={bins},binning='{binning}')": max(gaps),
        f"reliability(bins={bins},binning='{binning}')": sum(
            w * (p - y) ** 2 for w, p, y in found
        ) / total,
        f"resolution(bins={bins},binning='{binning}')": sum(
            w * (y - share) ** 2 for w, _, y in found
        ) / total,
    }  # fmt: skip
    for name, number in expected.items():
        assert value(name, case) == pytest.approx(number, abs=1e-12), name


@pytest.mark.parametrize(("strategy", "binning"), [("uniform", "equal-width"),
                                                   ("quantile", "equal-mass")])  # fmt: skip
def test_bins_are_those_of_scikit_learn(strategy: str, binning: str) -> None:
    truth, p, _ = CASES[0]
    share, mean = calibration.calibration_curve(truth, p, n_bins=5, strategy=strategy)
    found = in_bins(CASES[0], 5, binning)
    np.testing.assert_allclose([y for _, _, y in found], share)
    np.testing.assert_allclose([x for _, x, _ in found], mean)


@pytest.mark.parametrize("case", CASES[:2], ids=["plain", "ties"])
def test_the_debiased_error_is_its_definition(case: Rows) -> None:
    bins = in_bins(case, 6, "equal-mass")
    squares = sum(w * ((p - y) ** 2 - y * (1 - y) / (w - 1)) for w, p, y in bins)
    expected = math.sqrt(max(squares / len(case[1]), 0))
    assert value("RMSCE(bins=6)", case) == pytest.approx(expected)
    assert str(cal.measure("ECE(bins=6,estimator='debiased')")) == "RMSCE(bins=6)"


def test_the_debiased_error_is_less_biased() -> None:
    """Of calibrated probabilities its square is near 0 on average, that of the others is not."""
    random = np.random.default_rng(5)
    plain, debiased = [], []
    for _ in range(200):
        p = random.random(150)
        case = (random.random(150) < p, p, None)
        plain.append(value("reliability(binning='equal-mass',bins=15)", case))
        debiased.append(value("RMSCE", case) ** 2)
    # Half of the debiased squares are cut off at 0.
    assert np.mean(debiased) < 0.4 * np.mean(plain)
    assert np.mean(debiased) < 0.006


def test_the_sweep_stops_before_shares_fall() -> None:
    truth, p, _ = CASES[0]
    order = np.argsort(p)
    best = 1
    for bins in range(2, len(p) + 1):
        parts = np.array_split(truth[order], bins)
        found = in_bins(CASES[0], bins, "equal-mass")
        if bins in (2, 3, 5):  # which divide 150
            assert [y for _, _, y in found] == pytest.approx([part.mean() for part in parts])
        if any(a[2] > b[2] + 1e-9 for a, b in pairwise(found)):
            break
        best = bins
    assert best > 1
    expected = value(f"ECE(bins={best},estimator='equal-mass')", CASES[0])
    assert value("ECE(estimator='sweep')", CASES[0]) == pytest.approx(expected)
    assert value("ECE(estimator='sweep',bins=3)", CASES[0]) == pytest.approx(expected)


def test_a_bin_of_one_row_has_no_debiased_error() -> None:
    measure = cal.measure("RMSCE")
    table = ScoreTable.from_rows(np.array([True, False]), np.array([0.1, 0.9]))
    assert math.isnan(measure.apply(table))
    assert measure.reasons(table)["too_few_rows_in_bin"]


# --- Recalibration --------------------------------------------------------------------------------


@every_case
def test_the_line_is_that_of_scikit_learn(case: Rows) -> None:
    truth, p, weight = case
    logit = np.log(p / (1 - p))
    model = linear_model.LogisticRegression(C=np.inf, tol=1e-12, max_iter=10_000)
    model.fit(logit[:, None], truth, sample_weight=weight)
    assert value("calibration-slope", case) == pytest.approx(model.coef_[0, 0], rel=1e-5)
    assert value("calibration-intercept(slope='fitted')", case) == pytest.approx(
        model.intercept_[0], rel=1e-4, abs=1e-5
    )


@every_case
def test_the_intercept_makes_the_mean_right(case: Rows) -> None:
    truth, p, weight = case
    logit = np.log(p / (1 - p))

    def excess(a: float) -> float:
        return float(np.average(1 / (1 + np.exp(-(a + logit))) - truth, weights=weight))

    expected = optimize.brentq(excess, -20, 20, xtol=1e-14)
    assert value("calibration-intercept", case) == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("delta", [1e-300, 1e-15, 1e-3])
def test_extreme_probabilities_have_a_line(delta: float) -> None:
    p = np.array([delta, delta, 0.3, 0.5, 0.9, 1 - max(delta, 1e-15)])
    truth = np.array([False, True, False, True, False, True])
    levels = ProbabilityLevels.from_table(ScoreTable.from_rows(truth, p))
    a, b = levels.recalibration_line
    fitted = 1 / (1 + np.exp(-(a + b * levels.logit)))
    gradient = levels.positive - levels.total * fitted
    assert gradient.sum() == pytest.approx(0, abs=1e-9)
    assert np.dot(gradient, levels.logit) == pytest.approx(0, abs=1e-6)
    moved = 1 / (1 + np.exp(-(levels.recalibration_intercept + levels.logit)))
    assert np.dot(levels.total, moved) == pytest.approx(3)


@pytest.mark.parametrize(
    ("truth", "p", "reason"),
    [
        ([0, 0, 1, 1], [0.1, 0.2, 0.3, 0.4], "separated"),
        ([1, 1, 0, 0], [0.1, 0.2, 0.3, 0.4], "separated"),
        ([0, 1, 1, 1], [0.1, 0.1, 0.3, 0.4], "separated"),
        ([0, 1, 0, 1], [0.3, 0.3, 0.3, 0.3], "separated"),
        ([0, 1, 0, 1], [0.0, 0.3, 0.5, 0.6], "certain_probability"),
        ([0, 1, 0, 1], [0.1, 0.3, 0.5, 1.0], "certain_probability"),
    ],
)
def test_why_there_is_no_slope(truth: list[int], p: list[float], reason: str) -> None:
    ev = cal.classification(truth, probability=p, measures=["calibration-slope"])
    estimate = ev["calibration-slope"]
    assert math.isnan(estimate.value)
    assert reason in estimate.undefined
    assert estimate.interval_reason == "undefined_value"


def test_certain_probabilities_can_be_moved_away() -> None:
    truth, p, weight = CASES[0]
    certain = np.where(p > 0.9, 1.0, p)
    moved = (truth, np.minimum(certain, 1 - 0.01), weight)
    assert value("calibration-slope(delta=0.01)", (truth, certain, weight)) == pytest.approx(
        value("calibration-slope", (truth, np.maximum(moved[1], 0.01), weight))
    )


# --- Spiegelhalter's test -------------------------------------------------------------------------


def test_spiegelhalters_z_is_its_definition() -> None:
    truth, p, _ = CASES[0]
    z = ((truth - p) * (1 - 2 * p)).sum() / math.sqrt(((1 - 2 * p) ** 2 * p * (1 - p)).sum())
    assert value("Spiegelhalter-z", CASES[0]) == pytest.approx(z)
    assert value("Spiegelhalter-p", CASES[0]) == pytest.approx(2 * stats.norm.sf(abs(z)))


def test_spiegelhalters_p_is_uniform_if_calibrated() -> None:
    random = np.random.default_rng(8)
    found = []
    for _ in range(400):
        p = random.beta(2, 3, 200)
        found.append(value("Spiegelhalter-p", (random.random(200) < p, p, None)))
    assert stats.kstest(found, "uniform").pvalue > 0.01


def test_the_test_has_nothing_to_take_from_even_odds() -> None:
    even = cal.classification([0, 1], probability=[0.5, 0.5], measures=["Spiegelhalter-z"])
    assert even["Spiegelhalter-z"].undefined == {"nothing_to_test": 2}


@pytest.mark.parametrize("groups", [2, 5, 10, 13])
def test_hosmer_and_lemeshow_by_hand(groups: int) -> None:
    random = np.random.default_rng(groups)
    p = np.sort(random.random(13 * 10))
    y = random.random(130) < p**1.3
    given = f"groups={groups}"
    chi = 0.0
    for part in np.array_split(np.arange(130), groups):  # of equal sizes
        for seen, expected in (
            (y[part].sum(), p[part].sum()),
            ((~y[part]).sum(), (1 - p[part]).sum()),
        ):
            chi += (seen - expected) ** 2 / expected
    names = [f"Hosmer-Lemeshow{part}({given})" for part in ("", "-df", "-p")]
    values = [cal.measure(name)(y, p) for name in names]
    assert values == pytest.approx([chi, groups, stats.chi2.sf(chi, groups)], rel=1e-10)
    if groups > 2:
        fitted = cal.measure(f"Hosmer-Lemeshow-p({given},fitted=True)")(y, p)
        assert fitted == pytest.approx(stats.chi2.sf(chi, groups - 2), rel=1e-10)


def test_hosmer_and_lemeshow_without_a_value() -> None:
    names = [f"Hosmer-Lemeshow{part}" for part in ("", "-df", "-p")]
    certain = cal.classification([0, 1] * 20, probability=[0.0, 0.7] * 20, measures=names)
    assert [set(e.undefined) for e in certain] == [{"certain_group"}] * 3
    tied = cal.classification([0, 1] * 20, probability=[0.4, 0.7] * 20, measures=names)
    assert tied["Hosmer-Lemeshow-df"].value == 2  # equal probabilities stay together
    assert [e.interval_reason for e in tied] == ["p_value"] * 3
    few = [f"{name}(fitted=True)" for name in names[1:]]
    none = cal.classification([0, 1] * 20, probability=[0.4, 0.7] * 20, measures=few)
    assert [set(e.undefined) for e in none] == [{"too_few_groups"}] * 2


@pytest.mark.slow
def test_hosmer_and_lemeshow_err_as_often_as_they_say() -> None:
    """2,000 calibrated samples of 300 rows: below 0.05 in 5% of them (standard error 0.5)."""
    random = np.random.default_rng(12)
    measure = cal.measure("Hosmer-Lemeshow-p")
    p = 1 / (1 + np.exp(-random.normal(size=(2000, 300))))
    y = random.random(p.shape) < p
    found = [float(measure.apply(ScoreTable.from_rows(*row))) for row in zip(y, p, strict=True)]
    assert np.mean(np.array(found) < 0.05) == pytest.approx(0.05, abs=0.02)
