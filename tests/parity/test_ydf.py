"""ydf 0.16.1: the same numbers where it is right; where it is not, ours, with its own beside them.

Its C++ layer computes more than its Python classes show; that is read from the message behind an
evaluation. Scores are 32 bits wide there.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from certificate import Certificate
from scipy import stats

import calipers as cal
from calipers.inference import intervals, proportions
from calipers.measures import parse
from calipers.statistics import FloatArray, ScoreTable

ydf = pytest.importorskip("ydf")


def evaluated(
    truth: Any, probability: Any, weight: FloatArray | None = None, **options: Any
) -> tuple[Any, Any]:
    """ydf's evaluation of two classes, and its curve of the second."""
    made = ydf.evaluate_predictions(
        np.asarray(probability, np.float32),
        np.asarray(truth, int),
        ydf.Task.CLASSIFICATION,
        weights=weight,
        **options,
    )
    return made, made._evaluation_proto.classification.rocs[2]


def ours(name: str, truth: Any, score: Any, weight: FloatArray | None = None) -> float:
    table = ScoreTable.from_rows(np.asarray(truth, bool), np.asarray(score, float), weight)
    return float(parse(name, "scores").apply(table))


def random_rows(case: int) -> tuple[FloatArray, FloatArray, FloatArray | None]:
    """Both classes, probabilities of 32 bits, tied in every second case, weights in every third."""
    generator = np.random.default_rng([30, case])
    n = int(generator.integers(4, 80))
    truth = np.r_[0, 1, generator.integers(0, 2, n - 2)]
    levels = 8 if case % 2 else 2**20
    score = (generator.integers(1, levels, n) / levels).astype(np.float32).astype(float)
    if not case % 2:
        score = (generator.permutation(n) + 1) / (n + 1)
        score = score.astype(np.float32).astype(float)
    weight = generator.uniform(0.5, 3.0, n).astype(np.float32) if case % 3 == 0 else None
    return truth, score, None if weight is None else weight.astype(float)


@pytest.mark.slow
def test_what_both_define_alike(certificate: Certificate) -> None:
    """120 random cases: accuracy, log loss, AUC and the confusion matrix."""
    for case in range(120):
        truth, score, weight = random_rows(case)
        theirs, curve = evaluated(truth, score, weight)
        names = ["accuracy", "log-loss", "AUC", "TP", "FP", "FN", "TN"]
        ev = cal.classification(
            truth, probability=score, weight=weight, measures=names, curves=False, interval="none"
        )
        matrix = theirs.confusion_matrix.matrix
        values = {name: ev[name].value for name in names}
        certificate.compare("ydf", "accuracy", values["accuracy"], theirs.accuracy)
        certificate.compare("ydf", "loss", values["log-loss"], theirs.loss, rtol=1e-6, atol=0.0)
        certificate.compare("ydf", "auc", values["AUC"], curve.auc, rtol=1e-9)
        counts = [values[name] for name in ("TN", "FP", "FN", "TP")]
        certificate.compare("ydf", "confusion_matrix", counts, matrix.ravel(), rtol=1e-9)


def test_the_area_below_precision_and_recall(certificate: Certificate) -> None:
    """Without ties its trapezoid is ours; with ties it goes straight where the area does not."""
    apart = 0
    for case in range(120):
        truth, score, weight = random_rows(case)
        _, curve = evaluated(truth, score, weight)
        value = ours("PR-AUC", truth, score, weight)
        because = {"straight across ties": case % 2 == 1}
        certificate.compare("ydf", "pr_auc", value, curve.pr_auc, rtol=1e-9, because=because)
        apart += case % 2 == 1 and abs(value - curve.pr_auc) > 1e-3
    assert apart > 40


def test_its_average_precision_takes_the_precision_before_each_score(
    certificate: Certificate,
) -> None:
    """So that it and the average precision of everybody else have its PR AUC as their mean."""
    for case in range(120):
        truth, score, weight = random_rows(case)
        _, curve = evaluated(truth, score, weight)
        value = ours("AP", truth, score, weight)
        certificate.compare(
            "ydf", "ap", value, curve.ap, because={"precision before the score": True}
        )
        assert (curve.ap + value) / 2 == pytest.approx(curve.pr_auc, rel=1e-9), case


@pytest.mark.parametrize(
    ("truth", "score", "ap", "theirs"),
    [
        ([0, 0, 1, 0, 1, 1], [0.1, 0.3, 0.35, 0.6, 0.6, 0.9], 29 / 36, 8 / 9),
        ([1, 0, 0, 0, 0], [0.5] * 5, 1 / 5, 1.0),  # a constant answer
    ],
)
def test_average_precision_with_ties(
    truth: list[int], score: list[float], ap: float, theirs: float, certificate: Certificate
) -> None:
    found, value = evaluated(truth, score)[1].ap, ours("AP", truth, score)
    assert found == pytest.approx(theirs, rel=1e-6)
    assert value == pytest.approx(ap, rel=1e-12)
    certificate.compare("ydf", "ap", value, found, because={"precision before the score": True})
    metrics = pytest.importorskip("sklearn.metrics")
    assert value == pytest.approx(metrics.average_precision_score(truth, score), rel=1e-12)


def test_a_constant_answer_has_the_area_of_the_prevalence(certificate: Certificate) -> None:
    truth, score = [1, 0, 0, 0, 0], [0.5] * 5
    theirs, value = evaluated(truth, score)[1].pr_auc, ours("PR-AUC", truth, score)
    assert (theirs, value) == pytest.approx((0.6, 0.2))
    certificate.compare("ydf", "pr_auc", value, theirs, because={"straight across ties": True})


def test_eleven_scores(certificate: Certificate) -> None:
    truth = [int(row in (3, 6, 7, 9, 10)) for row in range(11)]
    score = np.arange(11) / 10
    _, curve = evaluated(truth, score)
    certificate.compare("ydf", "auc", ours("AUC", truth, score), curve.auc, rtol=1e-9)
    certificate.compare("ydf", "pr_auc", ours("PR-AUC", truth, score), curve.pr_auc, rtol=1e-9)
    assert ours("AUC", truth, score) == pytest.approx(5 / 6)
    assert ours("AP", truth, score) == pytest.approx(0.835)
    assert ours("PR-AUC", truth, score) == pytest.approx(0.8163095, abs=5e-8)


def test_its_thresholds_are_strict(certificate: Certificate) -> None:
    """A point of its curve with threshold t counts the scores above t; ours the scores from t on."""
    truth, score = [0, 0, 1, 0, 1, 1], [0.1, 0.3, 0.35, 0.6, 0.6, 0.9]
    _, curve = evaluated(truth, score)
    [point] = [point for point in curve.curve if abs(point.threshold - 0.6) < 1e-6]
    assert (point.tp, point.fp) == (1, 0)
    ev = cal.classification(truth, score=score, threshold=0.6, measures=["TP", "FP"])
    values = [ev["TP"].value, ev["FP"].value]
    assert values == [2, 1]
    because = {"strict threshold": True}
    certificate.compare(
        "ydf", "counts at a threshold", values, [point.tp, point.fp], because=because
    )
    # Its last threshold, with nothing above it, is below the highest score.
    assert curve.curve[-1].threshold == pytest.approx(0.7)


def test_log_loss_of_a_certain_mistake(certificate: Certificate) -> None:
    """It puts ln of the smallest step of float64 in; the loss is infinite, and we say so."""
    theirs, _ = evaluated([1, 0], [0.0, 1.0])
    assert theirs.loss == pytest.approx(-math.log(np.finfo(float).eps))
    value = cal.classification([1, 0], probability=[0.0, 1.0], measures=["log-loss"])["log-loss"]
    assert "zero_probability" in value.undefined
    because = {"zero_probability": True}
    certificate.compare("ydf", "loss", value.value, theirs.loss, because=because)
    assert math.isnan(value.value)


def test_where_it_has_0_and_we_have_no_value(certificate: Certificate) -> None:
    theirs, _ = evaluated([0, 1], [0.2, 0.6])
    precision = theirs.characteristics[0].precisions[-1]
    assert precision == 0
    ev = cal.classification([0, 1], score=[0.2, 0.6], threshold=1, measures=["precision"])
    because = {"nothing_predicted_positive": math.isnan(ev["precision"].value)}
    certificate.compare("ydf", "precision", ev["precision"].value, precision, because=because)
    theirs, _ = evaluated([1, 1], [0.2, 0.6])
    area = theirs.characteristics[0].roc_auc
    assert area == 0
    ev = cal.classification([1, 1], score=[0.2, 0.6], measures=["AUC"])
    because = {"no_negative": math.isnan(ev["AUC"].value)}
    certificate.compare("ydf", "auc", ev["AUC"].value, area, because=because)


def test_resamples_without_a_positive_do_not_count_as_area_0() -> None:
    """Three positives of a hundred, perfectly told apart."""
    truth = np.r_[np.ones(3), np.zeros(97)].astype(int)
    score = (np.arange(100)[::-1] + 1) / 101
    _, curve = evaluated(truth, score, bootstrapping=True)
    assert curve.auc == pytest.approx(1.0)
    assert curve.bootstrap_lower_bounds_95p.auc == 0
    ev = cal.classification(truth, score=score, measures=["AUC"], interval="bootstrap")
    assert ev["AUC"].value == 1
    assert not ev["AUC"].low < 0.5


def test_the_seed_matters() -> None:
    truth, score, _ = random_rows(1)
    bounds = [
        evaluated(truth, score, bootstrapping=500, random_seed=seed)[1]
        .bootstrap_lower_bounds_95p.SerializeToString()
        for seed in (1, 2)
    ]  # fmt: skip
    assert bounds[0] == bounds[1]  # its seed has no effect
    low = [
        cal.classification(
            truth, score=score, measures=["AUC"], interval="bootstrap", n_resamples=500, seed=seed
        )["AUC"].low
        for seed in (1, 1, 2)
    ]
    assert low[0] == low[1] != low[2]


# ------------------------------------------------------- what only its report in C++ has: its page
# and its own tests give the numbers


def test_the_interval_of_hanley() -> None:
    for area, positives, negatives, low, high in (
        (0.75, 100, 100, 0.682515, 0.817485),
        (0.929207, 2357, 7412, 0.921865, 0.936549),
        (0.929207, 7412, 2357, 0.924358, 0.934056),
    ):
        half = intervals.normal_quantile(0.95) * intervals.hanley_mcneil_se(
            area, positives, negatives
        )
        assert area - half == pytest.approx(low, abs=1e-6)
        assert area + half == pytest.approx(high, abs=1e-6)


def test_the_logit_interval_of_the_area_below_precision_and_recall() -> None:
    for area, positives, low, high in (
        (0.75, 100, 0.656104, 0.825094),
        (0.830708, 2357, 0.815025, 0.845313),
        (0.975657, 7412, 0.971891, 0.978930),
    ):
        made = intervals.precision_recall_logit(area, positives, 0.95)
        assert (made.low, made.high) == pytest.approx((low, high), abs=1e-6)


@pytest.mark.parametrize(
    ("right", "n", "theirs", "wilson"),
    [
        (150, 200, (0.694533, 0.799827), (0.685659, 0.804918)),
        (8542, 9769, (0.86875, 0.879882), (0.867679, 0.880823)),
    ],
)
def test_its_wilson_is_another_interval(
    right: int, n: int, theirs: tuple[float, float], wilson: tuple[float, float]
) -> None:
    """What it prints as CI95[W] is Clopper and Pearson's interval at 90%."""
    exact = stats.binomtest(right, n).proportion_ci(0.90, "exact")
    assert (exact.low, exact.high) == pytest.approx(theirs, abs=1e-6)
    made = proportions.wilson(right / n, n, 0.95)
    assert (made.low, made.high) == pytest.approx(wilson, abs=1e-6)


@pytest.mark.parametrize(
    ("first", "second", "theirs", "exact"),
    [
        (9, 3, 0.019287, 0.072998),
        (12, 3, 0.003693, 0.017578),
        (18, 6, 0.003305, 0.011328),
        (4, 0, 0.0, 0.0625),
    ],
)
def test_its_mcnemar_leaves_out_what_was_observed(
    first: int, second: int, theirs: float, exact: float
) -> None:
    """P(X > n) where the one-sided p is P(X ≥ n); ours has two sides."""
    assert stats.binom.sf(first, first + second, 0.5) == pytest.approx(theirs, abs=1e-6)
    assert stats.binom.sf(first - 1, first + second, 0.5) == pytest.approx(exact, abs=1e-6)
    truth = np.ones(first + second + 5, int)
    a, b = truth.copy(), truth.copy()
    b[:first], a[first : first + second] = 0, 0
    ev = cal.classification(
        np.r_[truth, 0], {"a": np.r_[a, 0], "b": np.r_[b, 0]}, measures=["accuracy"]
    )
    for alternative, p in (("two-sided", 2 * exact), ("better", exact)):
        found = ev.compare(baseline="b", test="mcnemar", alternative=alternative)["accuracy"]
        assert found.p == pytest.approx(p, abs=2e-6)


def test_constant_answers() -> None:
    truth = np.r_[np.ones(3), np.zeros(7)].astype(int)
    ev = cal.classification(truth, probability=np.full(10, 0.4), measures=["accuracy", "log-loss"])
    assert ev["accuracy"].no_skill == pytest.approx(0.7)
    assert ev["log-loss"].no_skill == pytest.approx(-0.7 * math.log(0.7) - 0.3 * math.log(0.3))


# ----------------------------------------------------------------------------------------- rankers


def both(group: Any, truth: Any, score: Any) -> tuple[Any, cal.Evaluation]:
    """What ydf makes of rows in groups, and what we do."""
    made = ydf.evaluate_predictions(
        np.asarray(score, np.float32),
        np.asarray(truth, np.float32),
        ydf.Task.RANKING,
        ranking_groups=np.asarray(group),
    )
    return made._evaluation_proto.ranking, cal.ranking(group, truth, score, interval="none")


def compare_gains(certificate: Certificate, theirs: Any, ev: cal.Evaluation) -> None:
    estimate = ev["NDCG@5"]
    certificate.compare("ydf", "ndcg", estimate.value, theirs.ndcg.value, rtol=1e-6)
    certificate.compare("ydf", "default_ndcg", estimate.no_skill, theirs.default_ndcg, rtol=1e-6)


@pytest.mark.parametrize(
    ("labels", "scores", "value"),
    [
        ([3, 2, 3, 0, 1, 2], [6, 5, 4, 3, 2, 1], 0.8755944),
        ([3, 2, 3, 0, 1, 2], [1] * 6, 0.7070456),
        ([3, 2, 3, 0, 1, 2, 4], [3, 3, 2, 1, 1, 1, 0], 0.5023706),
    ],
)
def test_gains_at_five(
    labels: list[int], scores: list[float], value: float, certificate: Certificate
) -> None:
    theirs, ev = both(np.repeat([1, 2], len(labels)), labels * 2, scores * 2)
    assert ev["NDCG@5"].value == pytest.approx(value, abs=5e-8)
    compare_gains(certificate, theirs, ev)


def test_rankings_of_many_groups(certificate: Certificate) -> None:
    """nDCG with ties; the first relevant row without."""
    generator = np.random.default_rng(6)
    group = np.sort(generator.integers(0, 40, 500))
    truth = generator.choice(5, 500, p=[0.4, 0.2, 0.2, 0.1, 0.1])
    tied, ev = both(group, truth, generator.integers(0, 6, 500))
    assert ev["NDCG@5"].n == 40
    compare_gains(certificate, tied, ev)
    plain, ev = both(group, truth, generator.permutation(500))
    compare_gains(certificate, plain, ev)
    certificate.compare("ydf", "mrr", ev["MRR@5"].value, plain.mrr.value, rtol=1e-6)


def test_its_rankings_where_they_are_wrong(certificate: Certificate) -> None:
    """One found of two relevant rows is a precision of 1 of it; a group with nothing relevant, a
    hit, and its gain 0; and of equal scores the relevant row comes first."""
    sevenths = [1] * 7 + [2] * 7, [1, 0, 0, 0, 0, 0, 1] * 2, [7, 6, 5, 4, 3, 2, 1] * 2
    thirds = [1] * 3 + [2] * 3, [1, 0, 0, 0, 0, 0], [3, 2, 1] * 2
    tied = [1] * 4 + [2] * 4, [1, 0, 0, 0] * 2, [1] * 8
    for rows, name, measure, expected, reason in (
        (sevenths, "map", "MAP@5", (1.0, 0.5), "relevant among the first"),
        (thirds, "precision_at_1", "P@1", (1.0, 0.5), "highest grade is a hit"),
        (thirds, "ndcg", "NDCG@5", (0.5, 1.0), "group without gain"),
        (tied, "mrr", "MRR@5", (1.0, (1 + 1 / 2 + 1 / 3 + 1 / 4) / 4), "order of tied rows"),
    ):
        theirs, ev = both(*rows)
        there = getattr(theirs, name)
        there = getattr(there, "value", there)
        assert (there, ev[measure].value) == pytest.approx(expected)
        certificate.compare("ydf", name, ev[measure].value, there, because={reason: True})


@pytest.mark.parametrize(
    ("labels", "scores", "ours", "theirs"),
    [
        # Three of five relevant rows at the top, the fourth at the fifth place: 3.8/5, and of ydf
        # 3.8/4, as if only those found were relevant.
        ([3, 2, 3, 0, 1, 2], [6, 5, 4, 3, 2, 1], (1.0, 0.76, 1.0), (1.0, 0.95, 1.0)),
        ([0, 1, 0], [3, 2, 1], (0.5, 0.5, 0.0), (0.5, 0.5, 0.0)),
        # In a random order the first relevant row is the first or, one time in five, the second.
        ([0, 1, 2, 3, 4], [1] * 5, (0.9, 0.864166666666667, 0.8), (1.0, 1.0, 1.0)),
    ],
)
def test_relevant_rows_within_five(
    labels: list[int], scores: list[int], ours: Any, theirs: Any, certificate: Certificate
) -> None:
    made, ev = both(np.repeat([1, 2], len(labels)), labels * 2, scores * 2)
    own = [ev[name].value for name in ("MRR@5", "MAP@5", "P@1")]
    assert own == pytest.approx(ours, rel=1e-12)
    there = made.mrr.value, made.map.value, made.precision_at_1.value
    assert there == pytest.approx(theirs)
    compare_gains(certificate, made, ev)
    tied = len(set(scores)) == 1
    reasons = ("relevant among the first", "relevant among the first", "highest grade is a hit")
    for name, value, other, reason in zip(
        ("mrr", "map", "precision_at_1"), own, there, reasons, strict=True
    ):
        because = {"order of tied rows": tied, reason: not tied and name != "mrr"}
        certificate.compare("ydf", name, value, other, rtol=1e-6, because=because)


# ------------------------------------------------------------------------ what its own tests assert

THREE = np.array([[0.1, 0.8, 0.1], [0.3, 0.5, 0.2], [0.05, 0.05, 0.9], [0.6, 0.2, 0.2]])


@pytest.mark.parametrize("weight", [[1, 1, 1, 1], [2.5, 1, 2, 4]])
def test_three_classes(weight: list[float], certificate: Certificate) -> None:
    truth, w = np.array([1, 2, 2, 1]), np.array(weight)
    made = ydf.evaluate_predictions(
        THREE.astype(np.float32), truth, ydf.Task.CLASSIFICATION,
        weights=w.astype(np.float32), label_classes=["0", "1", "2"],
    )  # fmt: skip
    ev = cal.classification(
        truth, probability=THREE, weight=w, labels=[0, 1, 2], measures=["accuracy", "log-loss"]
    )
    right = w[[0, 2]].sum() / w.sum()
    assert ev["accuracy"].value == pytest.approx(right)
    certificate.compare("ydf", "accuracy", ev["accuracy"].value, made.accuracy)
    loss = -(w * np.log([0.8, 0.2, 0.9, 0.2])).sum() / w.sum()
    assert ev["log-loss"].value == pytest.approx(loss)
    certificate.compare("ydf", "loss", ev["log-loss"].value, made.loss, rtol=1e-6, atol=0.0)
    ones = w[[0, 3]].sum() / w.sum()
    assert ev["accuracy"].no_skill == pytest.approx(max(ones, 1 - ones))
    assert ev["log-loss"].no_skill == pytest.approx(stats.entropy([ones, 1 - ones]))


@pytest.mark.parametrize(
    ("truth", "said", "weight", "rmse", "mae", "default"),
    [
        ([1, 2, 2, 1], [1, 1, 2, 0], [1] * 4, math.sqrt(0.5), 0.5, 0.5),
        ([1, 2, 3], [1, 3, 4], [1] * 3, 0.816496580927726, 2 / 3, 0.816496580927726),
        ([1, 2, 3], [1, 3, 4], [1, 2, 3], 0.9128709291752769, 5 / 6, 0.7453559924999299),
        ([1, 2, 3, 4], [1, 2, 3, 4.5], [1] * 4, 0.25, 0.125, 1.118033988749895),
    ],
)
def test_numbers(
    truth: Any,
    said: Any,
    weight: Any,
    rmse: float,
    mae: float,
    default: float,
    certificate: Certificate,
) -> None:
    columns = [np.array(x, np.float32) for x in (said, truth, weight)]
    made = ydf.evaluate_predictions(*columns[:2], ydf.Task.REGRESSION, weights=columns[2])
    ev = cal.regression(truth, said, weight=weight, measures=["RMSE", "MAE"])
    assert ev["RMSE"].value == pytest.approx(rmse)
    assert ev["MAE"].value == pytest.approx(mae)
    certificate.compare("ydf", "rmse", ev["RMSE"].value, made.rmse, rtol=1e-6)
    absolute = made._evaluation_proto.regression.sum_abs_error / sum(weight)
    certificate.compare("ydf", "sum_abs_error", ev["MAE"].value, absolute, rtol=1e-6)
    assert ev["RMSE"].no_skill == pytest.approx(default)


def test_squared_logarithms_of_two_rows_in_three() -> None:
    logs = np.square(np.log([1, 3 / 4, 4 / 5]))
    for weight in (np.ones(3), np.array([1.0, 2, 3])):
        ev = cal.regression([1, 2, 3], [1, 3, 4], weight=weight, measures=["MSLE"])
        assert ev["MSLE"].value == pytest.approx((weight * logs).sum() / weight.sum())


#: By what it expects of a curve of the two points (TP 160, FP 160) and (TP 100, FP 25), of 200
#: rows of either class. Where it has no value we have the point with every row above it.
AT = {
    "precision@recall=0.9": (math.nan, 0.5),
    "precision@recall=0.7": (0.5, 0.5),
    "precision@recall=0.5": (0.8, 0.8),
    "precision@recall=0.3": (0.8, 0.8),
    "recall@precision=0.9": (math.nan, math.nan),
    "recall@precision=0.6": (0.5, 0.5),
    "recall@precision=0.4": (0.8, 1.0),
    "recall@FPR=0.5": (0.5, 0.5),
    "recall@FPR=0.9": (0.8, 0.8),
    "FPR@recall=0.5": (0.125, 0.125),
    "FPR@recall=0.2": (0.125, 0.125),
}


def test_values_at_a_constraint() -> None:
    truth = np.repeat([1, 0, 1, 0, 1, 0], [100, 25, 60, 135, 40, 40])
    score = np.repeat([2, 1, 0], [125, 195, 80])
    ev = cal.classification(truth, score=score, measures=list(AT), interval="none")
    assert [e.value for e in ev] == pytest.approx([own for _, own in AT.values()], nan_ok=True)
    apart = [name for name, (theirs, own) in AT.items() if theirs != own and own == own]
    assert apart == ["precision@recall=0.9", "recall@precision=0.4"]
