"""Errors and default intervals of numbers, from formulas of weighted rows written out anew.

By how much a row moves a measure is its derivative by the weight of the row. Squares of that make
every standard error, with n/(n − 1) where there is one, and by cluster; from those come the limits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import rows_by_hand as by_hand
import statsmodels.api as sm
from rows_by_hand import (
    LARGER,
    Rows,
    Z,
    data,
    designs,
    limits,
    near,
    options,
    weight_of,
)
from scipy import stats
from sklearn.metrics import top_k_accuracy_score

import calipers as cal
from calipers.estimation.counts import ClassCounts
from calipers.inference.settings import Settings
from calipers.inference.variance_estimators import Influence, MeanVariance, VarianceEstimator


def of(rows: Rows, measure: str, design: str = "plain", **others: Any) -> Any:
    given = {**options(rows, design), "curves": False, "n_resamples": 200, **others}
    made = cal.classification(rows.truth, probability=rows.a, measures=[measure], **given)
    return made[measure]


def quantile(degrees: float) -> float:
    """Student's, the normal one of infinitely many degrees of freedom."""
    return float(stats.t.ppf(0.975, degrees))


# --- Areas of scores ------------------------------------------------------------------------------

AREAS = {
    "AUC": by_hand.auc,
    "Gini": lambda y, s: lambda w: 2 * by_hand.auc(y, s)(w) - 1,
    "AP": lambda y, s: by_hand.precision_area(y, s, "AP"),
    "PR-AUC": lambda y, s: by_hand.precision_area(y, s, "PR-AUC"),
    "PR-AUC-DG": lambda y, s: by_hand.precision_area(y, s, "AP-DG"),
}


@data
@designs
@pytest.mark.parametrize("measure", AREAS)
def test_areas(measure: str, rows: Rows, design: str) -> None:
    formula, w = AREAS[measure](rows.truth, rows.a), weight_of(rows, design)
    moved, value = by_hand.moved(formula, w), float(formula(w))
    se, df = by_hand.by_class(moved, rows.truth, w), np.inf
    if design in ("clustered", "both"):
        pairs = measure in ("AUC", "Gini")
        error = by_hand.of_pairs_by_cluster if pairs else by_hand.of_classes_by_cluster
        se, df = error(moved, rows.truth, rows.cluster, w)
    found, t = of(rows, measure, design, interval="delta"), quantile(df)
    assert found.value == pytest.approx(value, rel=1e-10)
    assert found.standard_error == pytest.approx(se, rel=1e-6)
    expected = (value - t * se, min(value + t * se, 1.0))
    if measure != "Gini":
        expected = by_hand.on_logit(value, se, t)
    assert limits(found) == near(*expected, rel=1e-6)


@data
@designs
@pytest.mark.parametrize("measure", ["AP", "PR-AUC"])
def test_areas_of_precision_by_default(measure: str, rows: Rows, design: str) -> None:
    """By influence from 20 positives on, below as a share of them; Boyd's if they weigh."""
    formula, w = AREAS[measure](rows.truth, rows.a), weight_of(rows, design)
    value, positive = float(formula(w)), rows.truth == 1
    n, found = by_hand.kish(w[positive]), of(rows, measure, design)
    if design in ("clustered", "both"):
        assert limits(found) == limits(of(rows, measure, design, interval="delta"))
    elif n < 20:
        assert limits(found) == near(*by_hand.wilson(value, n))
    elif design == "weighted":
        se = np.sqrt(value * (1 - value) / n)
        assert limits(found) == near(*by_hand.on_logit(value, float(se)))
    else:
        assert limits(found) == limits(of(rows, measure, design, interval="delta"))


@data
@pytest.mark.parametrize("design", ["clustered", "both"])
def test_clustered_areas_by_default(rows: Rows, design: str) -> None:
    formula, w = by_hand.auc(rows.truth, rows.a), weight_of(rows, design)
    value, moved = float(formula(w)), by_hand.moved(formula, w)
    se, df = by_hand.of_pairs_by_cluster(moved, rows.truth, rows.cluster, w)
    low, high = by_hand.on_logit(value, se, quantile(df))
    assert limits(of(rows, "AUC", design)) == near(low, high, rel=1e-6)
    assert limits(of(rows, "Gini", design)) == near(2 * low - 1, 2 * high - 1, rel=1e-6)


def test_gini_is_made_of_the_auc() -> None:
    low, high = limits(of(LARGER, "AUC"))
    assert limits(of(LARGER, "Gini")) == near(2 * low - 1, 2 * high - 1)
    for interval in ("hanley", "delong"):
        low, high = limits(of(LARGER, "AUC", interval=interval))
        found = of(LARGER, "Gini", interval=interval)
        assert limits(found) == near(2 * low - 1, 2 * high - 1)
        se = of(LARGER, "AUC", interval=interval).standard_error
        assert found.standard_error == pytest.approx(2 * se, rel=1e-12)


# --- Counts ---------------------------------------------------------------------------------------

COUNTS = {"F1": by_hand.f1, "MCC": by_hand.mcc, "precision": by_hand.precision}


@data
@designs
@pytest.mark.parametrize("measure", COUNTS)
def test_counts(measure: str, rows: Rows, design: str) -> None:
    formula, w = COUNTS[measure](rows.truth, rows.a >= 0.5), weight_of(rows, design)
    moved, value = by_hand.moved(formula, w), float(formula(w))
    clustered = design in ("clustered", "both")
    said, y = rows.a >= 0.5, rows.truth == 1
    held = w * {"F1": said | y, "MCC": np.ones(rows.n), "precision": said}[measure]
    se, df = np.sqrt((moved**2).sum()), np.inf
    if clustered:
        se, df = by_hand.by_cluster(moved, rows.cluster, held)
    found, t = of(rows, measure, design, interval="delta"), quantile(df)
    assert found.value == pytest.approx(value, rel=1e-10)
    assert found.standard_error == pytest.approx(se, rel=1e-6)
    least = -1.0 if measure == "MCC" else 0.0
    expected = near(max(value - t * se, least), min(value + t * se, 1.0), rel=1e-6)
    assert limits(found) == expected
    if clustered and measure != "precision":
        assert limits(of(rows, measure, design)) == expected


@data
@pytest.mark.parametrize("design", ["clustered", "both"])
@pytest.mark.parametrize("measure", ["accuracy", "precision", "recall"])
def test_a_share_of_clustered_rows(measure: str, rows: Rows, design: str) -> None:
    """Wilson's of n/deff rows, deff = s²·(n − 1)/(p(1 − p)) ≥ 1, times (z/t)² (Korn and
    Graubard)."""
    said, w = rows.a >= 0.5, weight_of(rows, design)
    of_margin = {"accuracy": w > 0, "precision": said, "recall": rows.truth == 1}[measure]
    right, own = (said == rows.truth) * of_margin, w * of_margin
    p = float((own * right).sum() / own.sum())
    se, df = by_hand.by_cluster(own * (right - p) / own.sum(), rows.cluster, own)
    n = by_hand.kish(own[of_margin])
    size = min(n, p * (1 - p) / se**2 * n / (n - 1)) * (Z / quantile(df)) ** 2
    assert limits(of(rows, measure, design)) == near(*by_hand.wilson(p, size))


def test_of_clusters_that_agree_each_is_a_row() -> None:
    truth = np.repeat([1, 0], [10, 3])
    cluster = np.array([0, 0, 0, 1, 1, 2, 2, 2, 2, 3, 3, 4, 4])
    found = cal.classification(truth, truth, cluster=cluster, measures=["recall"])["recall"]
    own = np.array([3, 2, 4, 1])
    df = by_hand.cr2(np.ones(4), own)[1]
    n = own.sum() ** 2 / (own**2).sum() * (Z / stats.t.ppf(0.975, df)) ** 2
    assert found.high == 1
    assert found.low == pytest.approx(1 / (1 + Z**2 / n), rel=1e-7)


# --- Means ----------------------------------------------------------------------------------------


@data
@designs
@pytest.mark.parametrize("measure", ["RMSE", "MSE", "MAE", "perplexity"])
def test_functions_of_means(measure: str, rows: Rows, design: str) -> None:
    """√, the mean itself and exp, by the derivative at the mean."""
    w = weight_of(rows, design)
    if measure == "perplexity":
        x = -np.log(np.where(rows.truth == 1, rows.a, 1 - rows.a))
        given = {**options(rows, design), "interval": "delta", "curves": False}
        found = cal.classification(
            rows.truth, probability=rows.a, measures=["perplexity"], **given
        )["perplexity"]
    else:
        x = np.abs(rows.a - rows.b) if measure == "MAE" else (rows.a - rows.b) ** 2
        given = {**options(rows, design), "interval": "delta"}
        found = cal.regression(rows.b, rows.a, measures=[measure], **given)[measure]
    mean = float(np.average(x, weights=w))
    part, n = w * (x - mean) / w.sum(), by_hand.kish(w)
    se = np.sqrt(n / (n - 1) * (part**2).sum())
    df = np.inf
    if design in ("clustered", "both"):
        se, df = by_hand.by_cluster(part, rows.cluster, w)
    t = quantile(df)
    value, rate, ends = {
        "RMSE": (np.sqrt(mean), 0.5 / np.sqrt(mean), np.sqrt(mean) * np.exp(
            np.array([-1, 1]) * t * se / (2 * mean))),
        "perplexity": (np.exp(mean), np.exp(mean), np.exp(mean + np.array([-t, t]) * se)),
    }.get(measure, (mean, 1.0, mean + np.array([-t, t]) * se))  # fmt: skip
    assert found.value == pytest.approx(value, rel=1e-12)
    assert found.standard_error == pytest.approx(rate * se, rel=1e-9)
    assert limits(found) == near(*ends)


@data
@pytest.mark.parametrize("design", ["plain", "weighted"])
def test_a_mean_less_what_is_none(rows: Rows, design: str) -> None:
    """Its rows take their n/(n − 1) along."""
    x, w = (rows.a - rows.b) ** 2, weight_of(rows, design)
    weight = rows.weight if design == "weighted" else None
    n, other = by_hand.kish(w), w * (rows.truth - rows.a) / rows.n
    part = np.sqrt(n / (n - 1)) * w * (x - np.average(x, weights=w)) / w.sum()
    first, second = Influence(x, MeanVariance(weight)), Influence(other, VarianceEstimator(weight))
    for made, expected in ((first - second, part - other), (first + second, part + other)):
        assert made.standard_error.se == pytest.approx(np.sqrt((expected**2).sum()), rel=1e-9)


# --- Recalibration --------------------------------------------------------------------------------

LINES = {
    "calibration-slope": 1,
    "calibration-intercept(slope='fitted')": 0,
    "calibration-intercept": 2,
}


@data
@designs
@pytest.mark.parametrize("measure", LINES)
def test_recalibration(measure: str, rows: Rows, design: str) -> None:
    place = LINES[measure]
    formula, w = by_hand.line(rows.truth, rows.a, place), weight_of(rows, design)
    moved, value = by_hand.moved(formula, w), float(formula(w))
    se, df = np.sqrt((moved**2).sum()), np.inf
    if design in ("clustered", "both"):
        se, df = by_hand.by_cluster(moved, rows.cluster, w)
    elif design == "plain" and place < 2:
        x = sm.add_constant(np.log(rows.a / (1 - rows.a)))
        se = sm.Logit(rows.truth, x).fit(disp=0).bse[place]
    found, t = of(rows, measure, design), quantile(df)
    assert found.value == pytest.approx(value, rel=1e-7)
    assert found.standard_error == pytest.approx(se, rel=1e-5)
    assert limits(found) == near(value - t * se, value + t * se, rel=1e-5)


@pytest.mark.parametrize("measure", LINES)
def test_recalibration_of_certain_probabilities(measure: str) -> None:
    """Moved by Δ; what weighs nothing is not looked at."""
    rows, w = LARGER, LARGER.weight.copy()
    p = np.where(rows.a > 0.9, 1.0, np.where(rows.a < 0.1, 0.0, rows.a))
    w[:3], p[:3] = 0.0, (1.0, 0.0, 1.0)
    moved_by = 0.02
    name = (
        f"{measure[:-1]}, delta={moved_by})" if ")" in measure else f"{measure}(delta={moved_by})"
    )
    some = w > 0
    inside = np.clip(p[some], moved_by, 1 - moved_by)
    formula = by_hand.line(rows.truth[some], inside, LINES[measure])
    moved = by_hand.moved(formula, w[some])
    se, _ = by_hand.by_cluster(moved, rows.cluster[some], w[some])
    made = cal.classification(
        rows.truth, probability=p, weight=w, cluster=rows.cluster, measures=[name], curves=False
    )
    [found] = made
    assert found.value == pytest.approx(float(formula(w[some])), rel=1e-7)
    assert found.standard_error == pytest.approx(se, rel=1e-5)
    plain = cal.classification(
        rows.truth[3:], probability=rows.a[3:], cluster=rows.cluster[3:], measures=[measure]
    )
    p = rows.a.copy()
    p[:3] = 1.0
    [found] = cal.classification(
        rows.truth, probability=p, weight=np.where(w > 0, 1.0, 0.0), cluster=rows.cluster,
        measures=[measure],
    )  # fmt: skip
    assert found.standard_error == pytest.approx(plain[measure].standard_error, rel=1e-9)


# --- Several classes ------------------------------------------------------------------------------


def three(rows: Rows, other: Any = None) -> tuple[Any, Any]:
    """Classes 0, 1, 2, and probabilities of each."""
    k = np.arange(rows.n)
    truth = (rows.truth + (k % 5 == 2)) % 3
    second = rows.b if other is None else other
    p = np.column_stack([1 - rows.a, rows.a * (1 - second) + 0.01, rows.a * second + 0.02])
    return truth, p / p.sum(axis=1, keepdims=True)


def of_three(rows: Rows, measure: str, design: str, **others: Any) -> Any:
    truth, p = three(rows)
    given = {**options(rows, design), "curves": False, "n_resamples": 200, **others}
    made = cal.classification(truth, probability=p, measures=[measure], **given)
    return made[measure]


def macro(formula: Any) -> Any:
    """The mean over classes, each against the rest."""
    return lambda w: np.mean([formula(c)(w) for c in range(3)], axis=0)


@data
@designs
@pytest.mark.parametrize("measure", ["macro-F1", "macro-AUC", "log-loss-skill", "top-2-accuracy"])
def test_several_classes(measure: str, rows: Rows, design: str) -> None:
    truth, p = three(rows)
    w, said, onehot = weight_of(rows, design), p.argmax(axis=1), np.eye(3)[truth]
    loss = -np.log((onehot * p).sum(axis=1))
    credit = ((p > (onehot * p).sum(axis=1)[:, None]).sum(axis=1) < 2) * 1.0

    def skill(w: Any) -> Any:
        share = w @ onehot / w.sum(axis=-1)[..., None]
        return 1 + w @ loss / w.sum(axis=-1) / (share * np.log(share)).sum(axis=-1)

    formula = {
        "macro-F1": macro(lambda c: by_hand.f1(truth == c, said == c)),
        "macro-AUC": macro(lambda c: by_hand.auc(truth == c, p[:, c])),
        "log-loss-skill": skill,
        "top-2-accuracy": by_hand.mean(credit),
    }[measure]
    value, moved = float(formula(w)), by_hand.moved(formula, w)
    n = by_hand.kish(w)
    if measure == "macro-AUC":  # n/(n − 1) of the rows of a class and of the rest, in each term
        moved = 0 * w
        for c in range(3):
            of_class = by_hand.moved(by_hand.auc(truth == c, p[:, c]), w) / 3
            for side in (truth == c, truth != c):
                m = by_hand.kish(w[side])
                factor = np.sqrt(m / (m - 1)) if design in ("plain", "weighted") else 1.0
                moved[side] += factor * of_class[side]
    se = np.sqrt((moved**2).sum() * (n / (n - 1) if measure == "log-loss-skill" else 1))
    df = np.inf
    if design in ("clustered", "both"):
        se, df = by_hand.by_cluster(moved, rows.cluster, w)
    found, t = of_three(rows, measure, design, interval="delta"), quantile(df)
    assert found.value == pytest.approx(value, rel=1e-9)
    assert found.standard_error == pytest.approx(se, rel=1e-6)
    expected = (value - t * se, min(value + t * se, 1.0))
    if measure == "macro-AUC":
        expected = by_hand.on_logit(value, se, t)
    assert limits(found) == near(*expected, rel=1e-6)
    if measure == "macro-AUC" or (n >= 100 and measure == "log-loss-skill"):
        if design in ("plain", "weighted"):
            assert limits(of_three(rows, measure, design)) == near(*expected, rel=1e-6)
    elif measure == "top-2-accuracy" and design in ("plain", "weighted"):
        theirs = top_k_accuracy_score(truth, p, k=2, sample_weight=w)
        assert found.value == pytest.approx(theirs, rel=1e-9)
        assert limits(of_three(rows, measure, design)) == near(*by_hand.wilson(value, n))


@pytest.mark.parametrize(
    "measure", ["macro-F1", "weighted-F1", "macro-MCC", "F1[1]", "kappa", "MCC", "accuracy"]
)
@pytest.mark.parametrize("classes", [4, 120])
def test_what_moves_a_table_of_many_classes(measure: str, classes: int) -> None:
    k = np.arange(2 * classes + 40)
    truth = np.where(k < 2 * classes, k, k * k) % classes
    said = np.where(k % 4 > 0, truth, (truth + 1 + k % 3) % classes)
    said[:classes] = np.arange(classes)
    own, other = np.eye(classes)[truth], np.eye(classes)[said]

    def formula(w: Any) -> Any:
        n = w.sum(axis=-1)
        t, p, h = w @ own, w @ other, w @ (own * other)
        each, right, chance = 2 * h / (t + p), h.sum(axis=-1), (t * p).sum(axis=-1)
        if measure == "macro-F1":
            return each.mean(axis=-1)
        if measure == "macro-MCC":
            n = n[..., None]
            return ((n * h - t * p) / np.sqrt(t * p * (n - t) * (n - p))).mean(axis=-1)
        if measure == "F1[1]":
            return each[..., 1]
        if measure == "weighted-F1":
            return (t * each).sum(axis=-1) / n
        if measure == "kappa":
            return (right / n - chance / n**2) / (1 - chance / n**2)
        if measure == "accuracy":
            return right / n
        margins = (n**2 - (t**2).sum(axis=-1)) * (n**2 - (p**2).sum(axis=-1))
        return (n * right - chance) / np.sqrt(margins)

    names = tuple(map(str, range(classes)))
    w = np.where(k % 3, 1.0, 2.0)
    reading = ClassCounts.from_codes(truth, said, names, Settings(), w).point_estimate(
        cal.measure(measure)
    )
    assert reading.value == pytest.approx(float(formula(w)), rel=1e-9)
    np.testing.assert_allclose(
        reading.influence().influence_values, by_hand.moved(formula, w), atol=2e-9
    )


# --- Labels ---------------------------------------------------------------------------------------


def labels(rows: Rows) -> tuple[Any, Any]:
    k = np.arange(rows.n)
    truth = np.column_stack([rows.truth, (k * k) % 7 < 3, (k + rows.truth) % 3 == 0])
    said = np.column_stack([rows.a > 0.5, (k * k + (k % 5 == 0)) % 7 < 3, rows.b > 0.4])
    return truth.astype(bool), said


@data
@designs
@pytest.mark.parametrize("measure", ["macro-F1", "micro-precision"])
def test_averages_over_labels(measure: str, rows: Rows, design: str) -> None:
    truth, said = labels(rows)
    w = weight_of(rows, design)

    def macro_f1(w: Any) -> Any:
        return np.mean([by_hand.f1(truth[:, c], said[:, c])(w) for c in range(3)], axis=0)

    def micro(w: Any) -> Any:
        return w @ (truth & said).sum(axis=1) / (w @ said.sum(axis=1))

    formula = {"macro-F1": macro_f1, "micro-precision": micro}[measure]
    value, moved = float(formula(w)), by_hand.moved(formula, w)
    se, df = np.sqrt((moved**2).sum()), np.inf
    if design in ("clustered", "both"):
        se, df = by_hand.by_cluster(moved, rows.cluster, w)
    given = {**options(rows, design), "interval": "delta", "curves": False}
    found = cal.multilabel(truth, said, measures=[measure], **given)[measure]
    t = quantile(df)
    assert found.value == pytest.approx(value, rel=1e-9)
    assert found.standard_error == pytest.approx(se, rel=1e-6)
    assert limits(found) == near(value - t * se, min(value + t * se, 1.0), rel=1e-6)
