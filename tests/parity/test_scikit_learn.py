"""scikit-learn on random data, to 1e-12.

Its conventions for undefined values differ (0, 1, or a warning); so values are compared where ours
are defined, and where they are not, the margin has to be empty.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from calipers.measures import parse
from calipers.statistics import ConfusionMatrix, FloatArray, Moments, ScoreTable

sklearn = pytest.importorskip("sklearn")
metrics = pytest.importorskip("sklearn.metrics")

CLOSE = {"rel": 1e-12, "abs": 1e-12}


@pytest.fixture(autouse=True)
def quick() -> Any:
    """Thousands of calls: its checks of parameters are not what is tested here."""
    with sklearn.config_context(assume_finite=True, skip_parameter_validation=True):
        yield


def random_binary(
    generator: np.random.Generator, case: int
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray | None]:
    """Truth, prediction, tied or distinct scores in [0, 1], weights; margins are often empty."""
    n = int(generator.integers(1, 40))
    truth = (generator.random(n) < generator.choice([0.0, 0.1, 0.5, 0.9, 1.0])).astype(int)
    score = generator.random(n)
    if case % 2:
        score = np.round(score * generator.integers(1, 9)) / 9
    predicted = (score >= generator.choice([0.05, 0.5, 0.9, 2.0])).astype(int)
    weights = [
        None,
        generator.uniform(0.1, 5.0, n),
        generator.integers(1, 4, n).astype(float),
    ]
    return truth, predicted, score, weights[case % 3]


def of_matrix(
    truth: FloatArray, predicted: FloatArray, weight: FloatArray | None
) -> dict[str, tuple[float, bool]]:
    """scikit-learn's value of each measure, and whether we have one: no margin it needs is empty."""
    tn, fp, fn, tp = metrics.confusion_matrix(
        truth, predicted, labels=[0, 1], sample_weight=weight
    ).ravel()
    positive, negative = tp + fn > 0, tn + fp > 0
    called, passed = tp + fp > 0, tn + fn > 0
    options = {"sample_weight": weight, "zero_division": 0.0}
    (npv, precision), (specificity, recall), *_ = metrics.precision_recall_fscore_support(
        truth, predicted, labels=[0, 1], **options
    )
    any_positive = bool(positive or called)
    out: dict[str, tuple[float, bool]] = {
        "TP": (tp, True),
        "FP": (fp, True),
        "FN": (fn, True),
        "TN": (tn, True),
        "accuracy": (metrics.accuracy_score(truth, predicted, sample_weight=weight), True),
        "error-rate": (metrics.zero_one_loss(truth, predicted, sample_weight=weight), True),
        "precision": (precision, called),
        "FDR": (1 - precision, called),
        "recall": (recall, positive),
        "FNR": (1 - recall, positive),
        "NPV": (npv, passed),
        "FOR": (1 - npv, passed),
        "specificity": (specificity, negative),
        "FPR": (1 - specificity, negative),
        "F1": (metrics.f1_score(truth, predicted, **options), any_positive),
        "F2": (metrics.fbeta_score(truth, predicted, beta=2, **options), any_positive),
        "F0.5": (metrics.fbeta_score(truth, predicted, beta=0.5, **options), any_positive),
        "Jaccard": (metrics.jaccard_score(truth, predicted, **options), any_positive),
        "markedness": (precision + npv - 1, called and passed),
        "J": (recall + specificity - 1, positive and negative),
        "G-mean": ((recall * specificity) ** 0.5, positive and negative),
        "prevalence": (np.average(truth, weights=weight), True),
    }
    if positive and negative:
        out["balanced-accuracy"] = (
            metrics.balanced_accuracy_score(truth, predicted, sample_weight=weight),
            True,
        )
        if called and passed:
            out["MCC"] = (
                metrics.matthews_corrcoef(truth, predicted, sample_weight=weight),
                True,
            )
        if weight is None and fp > 0 and tn > 0:
            plus, minus = metrics.class_likelihood_ratios(truth, predicted, labels=[0, 1])
            out["LR+"], out["LR-"] = (plus, True), (minus, True)
    if (positive or called) and (negative or passed):
        out["kappa"] = (
            metrics.cohen_kappa_score(truth, predicted, labels=[0, 1], sample_weight=weight),
            True,
        )
    return out


def test_measures_of_counts() -> None:
    """1,500 random cases, a third each without weights, with real and with whole ones."""
    generator = np.random.default_rng(20)
    compared = undefined = 0
    for case in range(1500):
        truth, predicted, _, weight = random_binary(generator, case)
        matrix = ConfusionMatrix.from_codes(truth, predicted, weight=weight)
        for name, (expected, defined) in of_matrix(truth, predicted, weight).items():
            value = float(parse(name, "counts").apply(matrix))
            if defined:
                assert value == pytest.approx(expected, **CLOSE), (case, name)
                compared += 1
            else:
                assert np.isnan(value), (case, name)
                undefined += 1
    assert compared > 28_000
    assert undefined > 5_000


@pytest.mark.parametrize("name", ["MCC", "kappa", "balanced-accuracy", "J", "LR+", "LR-", "G-mean"])
def test_an_empty_margin_is_undefined_where_scikit_learn_has_a_number(name: str) -> None:
    one_class = ConfusionMatrix.from_codes(np.array([1, 1, 1]), np.array([1, 1, 1]))
    assert np.isnan(parse(name, "counts").apply(one_class))


def test_areas() -> None:
    """2,400 random cases: AUC and AP, half of them with tied scores, two thirds with weights."""
    generator = np.random.default_rng(21)
    compared = undefined = 0
    for case in range(2400):
        truth, _, score, weight = random_binary(generator, case)
        table = ScoreTable.from_rows(truth.astype(bool), score, weight)
        auc, ap = (float(parse(name, "scores").apply(table)) for name in ("AUC", "AP"))
        if len(set(truth)) == 2:
            expected = metrics.roc_auc_score(truth, score, sample_weight=weight)
            assert auc == pytest.approx(expected, **CLOSE), case
            compared += 1
        else:
            assert np.isnan(auc)
            undefined += 1
        if truth.any():
            expected = metrics.average_precision_score(truth, score, sample_weight=weight)
            assert ap == pytest.approx(expected, **CLOSE), case
            compared += 1
        else:
            assert np.isnan(ap)
            undefined += 1
    assert compared > 2_500
    assert undefined > 1_000


def test_curves() -> None:
    """300 random cases: every point of the ROC curve and of the precision-recall curve."""
    generator = np.random.default_rng(22)
    compared = 0
    for case in range(300):
        truth, _, score, weight = random_binary(generator, case)
        if len(set(truth)) < 2:
            continue
        steps = ScoreTable.from_rows(truth.astype(bool), score, weight).confusion()
        fpr, tpr, _ = metrics.roc_curve(truth, score, sample_weight=weight, drop_intermediate=False)
        np.testing.assert_allclose(parse("FPR").apply(steps), fpr, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(
            parse("recall", "counts").apply(steps), tpr, rtol=1e-12, atol=1e-12
        )
        precision, recall, _ = metrics.precision_recall_curve(truth, score, sample_weight=weight)
        ours = parse("precision", "counts").apply(steps)
        assert np.isnan(ours[0])  # nothing is predicted positive; scikit-learn puts 1 there
        np.testing.assert_allclose(ours[1:], precision[:-1][::-1], rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(
            parse("recall", "counts").apply(steps)[1:], recall[:-1][::-1], rtol=1e-12, atol=1e-12
        )
        compared += 1
    assert compared > 130


def test_the_lower_trapezoid() -> None:
    """1,000 random cases without ties: scikit-learn's curve, integrated by trapezoids from the
    lower precision of each vertical drop (Boyd, Eng and Page 2013)."""
    generator = np.random.default_rng(23)
    for case in range(1000):
        n = int(generator.integers(2, 40))
        truth = generator.random(n) < 0.4
        truth[0] = True
        score = generator.permutation(n).astype(float)
        weight = generator.uniform(0.1, 3.0, n) if case % 2 else None
        precision, recall, _ = metrics.precision_recall_curve(truth, score, sample_weight=weight)
        precision, recall = precision[:-1][::-1], recall[:-1][::-1]  # by falling threshold
        area, before = 0.0, precision[0]
        for k in range(n):
            width = recall[k] - (recall[k - 1] if k else 0.0)
            area += width * (before + precision[k]) / 2
            before = precision[k]
        table = ScoreTable.from_rows(truth, score, weight)
        assert float(parse("PR-AUC").apply(table)) == pytest.approx(area, **CLOSE), case


def test_losses_of_probabilities() -> None:
    """1,500 random cases: log loss and Brier score."""
    generator = np.random.default_rng(24)
    for case in range(1500):
        n = int(generator.integers(1, 40))
        truth = generator.integers(0, 2, n)
        probability = generator.uniform(1e-6, 1 - 1e-6, n)
        weight = generator.uniform(0.1, 5.0, n) if case % 2 else None
        for name, expected in (
            (
                "log-loss",
                metrics.log_loss(truth, probability, sample_weight=weight, labels=[0, 1]),
            ),
            (
                "Brier",
                metrics.brier_score_loss(
                    truth, probability, sample_weight=weight, pos_label=1, labels=[0, 1]
                ),
            ),
        ):
            definition = parse(name).definition
            assert definition.rows is not None
            losses = definition.rows(truth.astype(float), probability)
            value = float(parse(name).apply(Moments.from_rows(losses, weight)))
            assert value == pytest.approx(expected, rel=1e-11, abs=1e-12), (case, name)


def test_errors_of_numbers() -> None:
    """3,000 columns of predictions: RMSE, MSE and MAE, half of them weighted."""
    generator = np.random.default_rng(25)
    for case in range(60):
        n = int(generator.integers(1, 60))
        truth = generator.normal(0, 10.0 ** generator.integers(-3, 6), (n, 50))
        predicted = truth + generator.standard_cauchy((n, 50))
        weight = generator.uniform(0.0, 5.0, n) if case % 2 else None
        for name, function in (
            ("MSE", metrics.mean_squared_error),
            ("RMSE", metrics.root_mean_squared_error),
            ("MAE", metrics.mean_absolute_error),
        ):
            expected = function(truth, predicted, sample_weight=weight, multioutput="raw_values")
            definition = parse(name).definition
            assert definition.rows is not None
            values = [
                float(
                    parse(name).apply(
                        Moments.from_rows(definition.rows(truth[:, j], predicted[:, j]), weight)
                    )
                )
                for j in range(50)
            ]
            np.testing.assert_allclose(values, expected, rtol=1e-12)


def test_calling_a_measure_with_arrays() -> None:
    """The same numbers straight from arrays: 100 cases."""
    generator = np.random.default_rng(26)
    for _ in range(100):
        n = int(generator.integers(4, 30))
        truth = np.r_[0, 1, generator.integers(0, 2, n - 2)]
        probability = generator.uniform(0.01, 0.99, n)
        predicted = (probability >= 0.5).astype(int)
        weight = generator.uniform(0.1, 2.0, n)
        options = {"sample_weight": weight}
        pairs = [
            ("roc_auc", probability, metrics.roc_auc_score(truth, probability, **options)),
            ("log_loss", probability, metrics.log_loss(truth, probability, **options)),
            ("accuracy", predicted, metrics.accuracy_score(truth, predicted, **options)),
            (
                "mean_squared_error",
                probability,
                metrics.mean_squared_error(truth, probability, **options),
            ),
        ]
        for name, prediction, expected in pairs:
            assert parse(name)(truth, prediction, weight=weight) == pytest.approx(expected, **CLOSE)
