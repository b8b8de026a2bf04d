"""scikit-learn on random data, to 1e-12.

Its conventions for undefined values differ (0, 1, or a warning); so values are compared where ours
are defined, and where they are not, the margin has to be empty.
"""

from __future__ import annotations

import functools
import warnings
from typing import Any

import numpy as np
import pytest
from certificate import Certificate

import calipers as cal
from calipers.measures import Measure, parse
from calipers.statistics import (
    ConfusionMatrix,
    ContingencyTable,
    FloatArray,
    Moments,
    ScoreTable,
    SparseConfusionMatrix,
    Statistic,
)

sklearn = pytest.importorskip("sklearn")
metrics = pytest.importorskip("sklearn.metrics")

CLOSE = {"rel": 1e-12, "abs": 1e-12}


@pytest.fixture(autouse=True)
def quick() -> Any:
    """Thousands of calls: its checks of parameters are not what is tested here."""
    with sklearn.config_context(assume_finite=True, skip_parameter_validation=True):
        yield


def compare(
    certificate: Certificate, name: str, measure: Measure, statistic: Statistic, theirs: float
) -> float:
    """Compare a value, which may be undefined here for its reason, and return it."""
    value = float(measure.apply(statistic))
    because = {reason: True for reason, at in measure.reasons(statistic).items() if np.any(at)}
    certificate.compare("scikit-learn", name, value, theirs, because=because)
    return value


#: What values of counts are taken from.
FUNCTIONS = {
    **dict.fromkeys(("TP", "FP", "FN", "TN"), "confusion_matrix"),
    "accuracy": "accuracy_score",
    "error-rate": "zero_one_loss",
    **dict.fromkeys(
        (
            "precision",
            "FDR",
            "recall",
            "FNR",
            "NPV",
            "FOR",
            "specificity",
            "FPR",
            "markedness",
            "J",
        ),
        "precision_recall_fscore_support",
    ),
    "G-mean": "precision_recall_fscore_support",
    "F1": "f1_score",
    "F2": "fbeta_score",
    "F0.5": "fbeta_score",
    "Jaccard": "jaccard_score",
    "balanced-accuracy": "balanced_accuracy_score",
    "adjusted-balanced-accuracy": "balanced_accuracy_score(adjusted=True)",
    "MCC": "matthews_corrcoef",
    "LR+": "class_likelihood_ratios",
    "LR-": "class_likelihood_ratios",
    "kappa": "cohen_kappa_score",
}


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


@pytest.mark.slow
def test_measures_of_counts(certificate: Certificate) -> None:
    """100 random cases, a third each without weights, with real and with whole ones."""
    generator = np.random.default_rng(20)
    compared = undefined = 0
    for case in range(100):
        truth, predicted, _, weight = random_binary(generator, case)
        matrix = ConfusionMatrix.from_codes(truth, predicted, weight=weight)
        for name, (expected, defined) in of_matrix(truth, predicted, weight).items():
            measure = parse(name, "counts")
            value = compare(certificate, FUNCTIONS[name], measure, matrix, expected)
            assert np.isnan(value) != defined, (case, name)
            compared += defined
            undefined += not defined
        prevalence = float(parse("prevalence").apply(matrix))
        assert prevalence == pytest.approx(np.average(truth, weights=weight), **CLOSE)
    assert compared > 1_580
    assert undefined > 288


@pytest.mark.parametrize(
    "name",
    [
        *("MCC", "kappa", "kappa(weights='linear')", "balanced-accuracy"),
        *("adjusted-balanced-accuracy", "J", "LR+", "LR-", "G-mean"),
    ],
)
def test_an_empty_margin_is_undefined_where_scikit_learn_has_a_number(name: str) -> None:
    one_class = ConfusionMatrix.from_codes(np.array([1, 1, 1]), np.array([1, 1, 1]))
    assert np.isnan(parse(name, "counts").apply(one_class))


@pytest.mark.slow
def test_areas(certificate: Certificate) -> None:
    """400 random cases: AUC and AP, half of them with tied scores, two thirds with weights."""
    generator = np.random.default_rng(21)
    compared = undefined = 0
    for case in range(400):
        truth, _, score, weight = random_binary(generator, case)
        table = ScoreTable.from_rows(truth.astype(bool), score, weight)
        for name, ours, defined in (
            ("roc_auc_score", "AUC", len(set(truth)) == 2),
            ("average_precision_score", "AP", truth.any()),
        ):
            measure = parse(ours, "scores")
            if defined:
                theirs = getattr(metrics, name)(truth, score, sample_weight=weight)
                compare(certificate, name, measure, table, theirs)
                compared += 1
            else:
                assert np.isnan(measure.apply(table))
                undefined += 1
    assert compared > 384
    assert undefined > 144


def test_curves(certificate: Certificate) -> None:
    """150 random cases: every point of the ROC curve and of the precision-recall curve."""
    generator = np.random.default_rng(22)
    compared = 0
    for case in range(150):
        truth, _, score, weight = random_binary(generator, case)
        if len(set(truth)) < 2:
            continue
        steps = ScoreTable.from_rows(truth.astype(bool), score, weight).confusion()
        fpr, tpr, _ = metrics.roc_curve(truth, score, sample_weight=weight, drop_intermediate=False)
        ours = {name: parse(name, "counts").apply(steps) for name in ("FPR", "recall", "precision")}
        certificate.compare("scikit-learn", "roc_curve", ours["FPR"], fpr)
        certificate.compare("scikit-learn", "roc_curve", ours["recall"], tpr)
        # Nothing is predicted positive at its last point; scikit-learn puts 1 there.
        precision, recall, _ = metrics.precision_recall_curve(truth, score, sample_weight=weight)
        first = np.arange(len(precision)) == 0
        assert np.isnan(ours["precision"][0])
        because = {"nothing_predicted_positive": first}
        certificate.compare(
            "scikit-learn", "precision_recall_curve", ours["precision"], precision[::-1],
            because=because,
        )  # fmt: skip
        certificate.compare("scikit-learn", "precision_recall_curve", ours["recall"], recall[::-1])
        compared += 1
    assert compared > 63


def test_the_lower_trapezoid() -> None:
    """200 random cases without ties: scikit-learn's curve, integrated by trapezoids from the
    lower precision of each vertical drop (Boyd, Eng and Page 2013)."""
    generator = np.random.default_rng(23)
    for case in range(200):
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


@pytest.mark.slow
def test_losses_of_probabilities(certificate: Certificate) -> None:
    """200 random cases: log loss and Brier score."""
    generator = np.random.default_rng(24)
    for case in range(200):
        n = int(generator.integers(1, 40))
        truth = generator.integers(0, 2, n)
        probability = generator.uniform(1e-6, 1 - 1e-6, n)
        weight = generator.uniform(0.1, 5.0, n) if case % 2 else None
        options: dict[str, Any] = {"sample_weight": weight, "labels": [0, 1]}
        for function, name, more in (
            ("log_loss", "log-loss", {}),
            ("brier_score_loss", "Brier", {"pos_label": 1}),
        ):
            theirs = getattr(metrics, function)(truth, probability, **options, **more)
            definition = parse(name).definition
            assert definition.row_formula is not None
            losses = definition.row_formula(truth.astype(float), probability)
            value = float(parse(name).apply(Moments.from_rows(losses, weight)))
            certificate.compare("scikit-learn", function, value, theirs, rtol=1e-11)


@pytest.mark.slow
def test_errors_of_numbers(certificate: Certificate) -> None:
    """3,000 columns of predictions: RMSE, MSE and MAE, half of them weighted."""
    generator = np.random.default_rng(25)
    for case in range(30):
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
            assert definition.row_formula is not None
            values = [
                float(
                    parse(name).apply(
                        Moments.from_rows(
                            definition.row_formula(truth[:, j], predicted[:, j]), weight
                        )
                    )
                )
                for j in range(50)
            ]
            certificate.compare("scikit-learn", function.__name__, values, expected, atol=0.0)


@pytest.mark.parametrize("name", ["mean_poisson_deviance", "mean_gamma_deviance"])
def test_deviances(name: str, certificate: Certificate) -> None:
    """40 random columns, half of them weighted; a count of 0 in every second one of Poisson's."""
    generator = np.random.default_rng(34)
    for case in range(40):
        n = int(generator.integers(1, 50))
        predicted = generator.gamma(2.0, 10.0 ** generator.integers(-3, 4), n)
        truth = predicted * generator.gamma(3.0, 1 / 3, n)
        if "poisson" in name and case % 2:
            truth[0] = 0
        weight = generator.uniform(0.1, 5.0, n) if case % 4 > 1 else None
        theirs = getattr(metrics, name)(truth, predicted, sample_weight=weight)
        value = parse(name)(truth, predicted, weight=weight)
        certificate.compare("scikit-learn", name, value, theirs, rtol=1e-11)


def test_calling_a_measure_with_arrays(certificate: Certificate) -> None:
    """The same numbers straight from arrays: 100 cases."""
    generator = np.random.default_rng(26)
    for _ in range(50):
        n = int(generator.integers(4, 30))
        truth = np.r_[0, 1, generator.integers(0, 2, n - 2)]
        probability = generator.uniform(0.01, 0.99, n)
        predicted = (probability >= 0.5).astype(int)
        weight = generator.uniform(0.1, 2.0, n)
        for function, name, prediction in (
            ("roc_auc_score", "roc_auc", probability),
            ("log_loss", "log_loss", probability),
            ("accuracy_score", "accuracy", predicted),
            ("mean_squared_error", "mean_squared_error", probability),
        ):
            theirs = getattr(metrics, function)(truth, prediction, sample_weight=weight)
            value = parse(name)(truth, prediction, weight=weight)
            certificate.compare("scikit-learn", function, value, theirs)


def random_classes(
    generator: np.random.Generator, case: int
) -> tuple[FloatArray, FloatArray, FloatArray | None, int]:
    """Truth and prediction of three to six classes, weights in two of three cases."""
    k = int(generator.integers(3, 7))
    n = int(generator.integers(2, 60))
    truth = generator.choice(k, n, p=generator.dirichlet(np.ones(k)))
    wrong = generator.integers(0, k, n)
    predicted = np.where(generator.random(n) < generator.choice([0.1, 0.5, 0.9]), wrong, truth)
    weight = [None, generator.uniform(0.1, 5.0, n), generator.integers(1, 4, n).astype(float)]
    return truth, predicted, weight[case % 3], k


@pytest.mark.slow
def test_averages_over_classes(certificate: Certificate) -> None:
    """75 random cases: macro, micro and weighted averages, and every class against the rest.

    A class that occurs without a value is 0 there and makes the mean undefined here; a class that
    does not occur counts for neither, unless it is named there.
    """
    generator = np.random.default_rng(27)
    compared = undefined = 0
    for case in range(75):
        truth, predicted, weight, k = random_classes(generator, case)
        matrix = ConfusionMatrix.from_codes(truth, predicted, [f"c{i}" for i in range(k)], weight)
        options: dict[str, Any] = {"sample_weight": weight, "zero_division": np.nan}
        by_class = metrics.precision_recall_fscore_support(
            truth, predicted, labels=range(k), **options
        )
        # nan where it divides by zero, but F1 is 0 where one of the two is.
        for name, values in zip(("precision", "recall", "F1"), by_class, strict=False):
            ours = [float(parse(f"{name}[c{i}]", "counts").apply(matrix)) for i in range(k)]
            certificate.compare("scikit-learn", "precision_recall_fscore_support", ours, values)
        zero = options | {"zero_division": 0.0}
        for average in ("macro", "micro", "weighted"):
            theirs = metrics.precision_recall_fscore_support(
                truth, predicted, average=average, **zero
            )
            occurs = np.union1d(truth, predicted) if average == "macro" else np.unique(truth)
            for at, name in enumerate(("precision", "recall", "F1")):
                label = f"precision_recall_fscore_support(average={average!r})"
                measure = parse(f"{average}-{name}", "counts")
                value = compare(certificate, label, measure, matrix, theirs[at])
                defined = average == "micro" or not np.isnan(by_class[at][occurs]).any()
                assert np.isnan(value) != defined, (case, average, name)
                compared += defined
                undefined += not defined
        some = generator.choice(np.union1d(truth, predicted), 2)
        options |= {"labels": np.unique(some), "zero_division": 0.0}
        for average in ("macro", "micro", "weighted"):
            theirs = metrics.precision_recall_fscore_support(
                truth, predicted, average=average, **options
            )
            for at, name in enumerate(("precision", "recall", "F1")):
                named = [f"c{i}" for i in np.unique(some)]
                label = f"precision_recall_fscore_support(average={average!r}, labels=…)"
                measure = parse(f"{average}-{name}(labels={named})")
                value = compare(certificate, label, measure, matrix, theirs[at])
                compared += not np.isnan(value)
    assert compared > 600
    assert undefined > 24


@pytest.mark.slow
def test_measures_of_several_classes(certificate: Certificate) -> None:
    """100 random cases: accuracy, balanced accuracy, Matthews correlation, κ."""
    generator = np.random.default_rng(28)
    compared = 0
    for case in range(100):
        truth, predicted, weight, k = random_classes(generator, case)
        if len(set(truth)) == 1:
            continue
        matrix = ConfusionMatrix.from_codes(truth, predicted, [f"c{i}" for i in range(k)], weight)
        options = {"sample_weight": weight}
        theirs = {
            ("accuracy_score", "accuracy"): metrics.accuracy_score(truth, predicted, **options),
            ("matthews_corrcoef", "MCC"): metrics.matthews_corrcoef(truth, predicted, **options),
        }
        for weights in (None, "linear", "quadratic"):
            of_kappa = {**options, "labels": range(k), "weights": weights}
            name = f"(weights={weights!r})" if weights else ""
            kappa = metrics.cohen_kappa_score(truth, predicted, **of_kappa)
            theirs[f"cohen_kappa_score{name}", f"kappa{name}"] = kappa
        for name, adjusted in (("", False), ("(adjusted=True)", True)):
            options["adjusted"] = adjusted
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a class is predicted that no row has
                value = metrics.balanced_accuracy_score(truth, predicted, **options)
            key = f"balanced_accuracy_score{name}", "adjusted-" * adjusted + "balanced-accuracy"
            theirs[key] = value
        defined = {
            "MCC": len(set(predicted)) > 1,
            "balanced-accuracy": set(predicted) <= set(truth),
            "adjusted-balanced-accuracy": set(predicted) <= set(truth),
        }
        many = SparseConfusionMatrix.from_codes(truth, predicted, matrix.labels, weight)
        for (label, name), value in theirs.items():
            for held in (matrix, many):
                own = compare(certificate, label, parse(name, "counts"), held, value)
                assert np.isnan(own) != defined.get(name, True), (case, name)
            compared += defined.get(name, True)
    assert compared > 480


@pytest.mark.slow
@pytest.mark.parametrize(("undefined", "value"), [("zero", 0.0), ("one", 1.0)])
def test_values_by_agreement(undefined: str, value: float, certificate: Certificate) -> None:
    """25 random cases, small enough that classes lack a value: zero_division. Of classes that do
    not occur scikit-learn is not told."""
    generator = np.random.default_rng(31)
    stood = 0
    for case in range(25):
        truth, predicted, weight, _ = random_classes(generator, case)
        predicted = np.where(predicted == truth[0], truth[-1], predicted)  # one is never predicted
        occurring = np.union1d(truth, predicted)
        if len(set(truth)) < 3:
            continue
        averages = [(a, f) for a in ("macro", "weighted", "micro") for f in range(3)]
        named = [f"{a}-{('precision', 'recall', 'F1')[f]}" for a, f in averages]
        each = [f"precision[{k}]" for k in occurring]
        ev = cal.classification(
            truth, predicted, weight=weight, measures=[*named, *each], undefined=undefined,
            interval="none", curves=False,
        )  # fmt: skip
        options = {"sample_weight": weight, "zero_division": value, "labels": occurring}
        for (average, at), name in zip(averages, named, strict=True):
            theirs = metrics.precision_recall_fscore_support(
                truth, predicted, average=average, **options
            )[at]
            label = f"precision_recall_fscore_support(average={average!r}, zero_division={value:g})"
            certificate.compare("scikit-learn", label, ev[name].value, theirs)
        theirs = metrics.precision_score(truth, predicted, average=None, **options)
        label = f"precision_score(average=None, zero_division={value:g})"
        certificate.compare("scikit-learn", label, [ev[name].value for name in each], theirs)
        stood += sum(bool(ev[name].undefined) for name in each)
    assert stood > 7


@pytest.mark.slow
def test_averages_of_areas_over_classes(certificate: Certificate) -> None:
    """30 random cases: one against the rest, one against one, and all pooled; with whole weights
    scikit-learn, which takes none for pairs, is given the rows as often."""
    generator = np.random.default_rng(30)
    compared = 0
    for case in range(30):
        truth, _, weight, k = random_classes(generator, case)
        score = generator.dirichlet(np.ones(k), len(truth)) + np.eye(k)[truth] * (case % 2)
        score = np.round(score / score.sum(axis=1, keepdims=True) * 16) / 16
        score[:, -1] = 1 - score[:, :-1].sum(axis=1)
        if len(set(truth)) < k or (score < 0).any():
            continue
        often = np.ones(len(truth), int) if weight is None else np.ceil(weight).astype(int)
        names = ("roc_auc_ovr", "roc_auc_ovr_weighted", "roc_auc_ovo", "roc_auc_ovo_weighted")
        ev = cal.classification(
            truth, probability=score, labels=range(k), measures=[*names, "micro-AUC"],
            weight=often, interval="none", curves=False,
        )  # fmt: skip
        rows = np.repeat(truth, often), np.repeat(score, often, axis=0)
        for name in names:
            average = "weighted" if "weighted" in name else "macro"
            options = {"multi_class": name[8:11], "average": average, "labels": range(k)}
            theirs = metrics.roc_auc_score(*rows, **options)
            certificate.compare("scikit-learn", name, ev[str(parse(name))].value, theirs)
        one_hot = np.eye(k)[truth].ravel()
        theirs = metrics.roc_auc_score(one_hot, score.ravel(), sample_weight=np.repeat(often, k))
        certificate.compare(
            "scikit-learn", "roc_auc_score(average='micro')", ev["micro-AUC"].value, theirs
        )
        compared += 1
    assert compared > 10


@pytest.mark.slow
def test_tables_of_confusion(certificate: Certificate) -> None:
    """50 random cases: counts and all normalisations; a share of nothing is 0 there, none here."""
    generator = np.random.default_rng(29)
    for case in range(50):
        truth, predicted, weight, k = random_classes(generator, case)
        ev = cal.classification(
            truth, predicted, labels=range(k), weight=weight, measures="accuracy", interval="none"
        )
        assert ev.confusion is not None
        for ours, theirs in (
            (None, None), ("truth", "true"), ("prediction", "pred"), ("all", "all"),
        ):  # fmt: skip
            expected = metrics.confusion_matrix(
                truth, predicted, labels=range(k), sample_weight=weight, normalize=theirs
            )
            table = ev.confusion.table(normalize=ours)
            label = f"confusion_matrix(normalize={theirs!r})" if theirs else "confusion_matrix"
            certificate.compare(
                "scikit-learn", label, table.ravel(), expected.ravel(), atol=0.0,
                because={"share of nothing": np.isnan(table.ravel())},
            )  # fmt: skip
            assert (expected[np.isnan(table)] == 0).all()
            turned = ev.confusion.table("predicted-rows", normalize=ours)
            np.testing.assert_array_equal(turned, table.T)


def test_the_report_of_classes(certificate: Certificate) -> None:
    """Every number of ``classification_report``, from labels that are text."""
    generator = np.random.default_rng(31)
    names = np.array(["child", "man", "woman"])
    truth = names[generator.integers(0, 3, 200)]
    predicted = np.where(generator.random(200) < 0.3, names[generator.integers(0, 3, 200)], truth)
    report = metrics.classification_report(truth, predicted, output_dict=True)
    ev = cal.classification(
        truth, predicted, interval="none",
        measures=["accuracy", *(
            f"{average}-{name}" for average in ("macro", "weighted")
            for name in ("precision", "recall", "F1")
        ), *(f"{name}[{label}]" for label in names for name in ("precision", "recall", "F1"))],
    )  # fmt: skip
    assert ev.confusion is not None
    theirs = {"accuracy": report["accuracy"]}
    for ours, name in (("precision", "precision"), ("recall", "recall"), ("F1", "f1-score")):
        theirs |= {f"{how}-{ours}": report[f"{how} avg"][name] for how in ("macro", "weighted")}
        theirs |= {f"{ours}[{label}]": report[label][name] for label in names}
    values = [ev[name].value for name in theirs]
    certificate.compare("scikit-learn", "classification_report", values, [*theirs.values()])
    for row in ev.confusion.class_rows():
        assert row["truth"] == report[row["class"]]["support"]


@pytest.mark.slow
def test_probabilities_of_several_classes(certificate: Certificate) -> None:
    """50 random cases: log loss, Brier score, and accuracy among the best k without ties."""
    generator = np.random.default_rng(32)
    for case in range(50):
        truth, _, weight, k = random_classes(generator, case)
        probability = generator.dirichlet(np.ones(k), len(truth))
        ev = cal.classification(
            truth, probability=probability, labels=range(k), weight=weight, interval="none",
            measures=["log-loss", "Brier", "top-1-accuracy", "top-2-accuracy"],
        )  # fmt: skip
        options: dict[str, Any] = {"sample_weight": weight, "labels": range(k)}
        top = metrics.top_k_accuracy_score
        for label, name, theirs in (
            ("log_loss", "log-loss", metrics.log_loss(truth, probability, **options)),
            (
                "brier_score_loss(scale_by_half=False)",
                "Brier",
                metrics.brier_score_loss(truth, probability, scale_by_half=False, **options),
            ),
            ("top_k_accuracy_score", "top-1-accuracy", top(truth, probability, k=1, **options)),
            ("top_k_accuracy_score", "top-2-accuracy", top(truth, probability, k=2, **options)),
        ):
            certificate.compare("scikit-learn", label, ev[name].value, theirs, rtol=1e-11)


def test_the_place_of_tied_classes_does_not_depend_on_their_names() -> None:
    """Three classes tied for two places: each row's is among them in two of three orders."""
    truth, probability = [0, 1, 2], np.full((3, 3), 1 / 3)
    ev = cal.classification(truth, probability=probability, measures=["top-1-accuracy"])
    assert ev["top-1-accuracy"].value == pytest.approx(1 / 3)
    one = [0, 0, 0]
    ev = cal.classification(
        one, probability=probability, labels=range(3), measures=["top-2-accuracy"]
    )
    assert ev["top-2-accuracy"].value == pytest.approx(2 / 3)
    assert metrics.top_k_accuracy_score(one, probability, k=1, labels=range(3)) == 0
    assert metrics.top_k_accuracy_score(one, probability, k=2, labels=range(3)) == 0
    assert metrics.top_k_accuracy_score([2, 2, 2], probability, k=2, labels=range(3)) == 1


def test_where_it_has_a_number_and_we_have_none() -> None:
    """What docs/classification.md says of it."""
    undefined = sklearn.exceptions.UndefinedMetricWarning
    ev = cal.classification([1, 0], [0, 0], measures=["precision", "MCC"])
    with pytest.warns(undefined):
        assert metrics.precision_score([1, 0], [0, 0]) == 0
    assert metrics.matthews_corrcoef([1, 0], [0, 0]) == 0
    assert np.isnan(ev["precision"].value)
    assert np.isnan(ev["MCC"].value)

    with pytest.warns(undefined):
        assert np.isnan(metrics.roc_auc_score([1, 1], [0.1, 0.2]))
    ev = cal.classification([1, 1], score=[0.1, 0.2], measures=["AUC"])
    assert ev["AUC"].undefined == {"no_negative": 2}

    certain = [[0.0, 1.0], [1.0, 0.0]]
    ev = cal.classification([1, 0], probability=[0.0, 1.0], measures=["log-loss"])
    assert metrics.log_loss([1, 0], certain[::-1]) == pytest.approx(36.04, abs=0.005)
    assert ev["log-loss"].undefined == {"zero_probability": 2}


def test_a_class_that_does_not_occur() -> None:
    truth, names = ["a", "a", "b"], ["a", "b", "c"]
    ev = cal.classification(truth, truth, labels=names, measures=["macro-F1"])
    assert ev["macro-F1"].value == 1
    theirs = metrics.f1_score(truth, truth, labels=names, average="macro", zero_division=0)
    assert theirs == pytest.approx(2 / 3)
    ev = cal.classification(
        truth, truth, labels=names, measures=["macro-F1"], undefined="zero", interval="none"
    )
    assert ev["macro-F1"].value == pytest.approx(2 / 3)

    truth, predicted = ["a", "b", "c"], ["a", "b", "b"]
    ev = cal.classification(truth, predicted, measures=["macro-precision"])
    assert ev["macro-precision"].undefined == {"class_without_value": 3}
    with pytest.warns(sklearn.exceptions.UndefinedMetricWarning):
        theirs = metrics.precision_score(truth, predicted, average="macro")
    assert theirs == pytest.approx((1 + 1 / 2 + 0) / 3)


def test_a_constant_answer_has_the_area_of_the_prevalence() -> None:
    truth, score = [1, 0, 0, 0, 0], [0.5] * 5
    precision, recall, _ = metrics.precision_recall_curve(truth, score)
    assert metrics.auc(recall, precision) == pytest.approx(0.6)
    ev = cal.classification(truth, score=score, measures=["PR-AUC", "AP"])
    assert [estimate.value for estimate in ev] == pytest.approx([0.2, 0.2])
    assert metrics.average_precision_score(truth, score) == pytest.approx(0.2)


@pytest.mark.slow
def test_several_labels_in_a_row(certificate: Certificate) -> None:
    """100 random tables of labels; a row without any is left out here where it has no value."""
    generator = np.random.default_rng(33)
    for case in range(50):
        n, k = int(generator.integers(3, 40)), int(generator.integers(2, 6))
        truth = generator.integers(0, 2, (n, k))
        predicted = np.where(generator.random((n, k)) < 0.3, 1 - truth, truth)
        truth[0] = predicted[0] = 1  # every label occurs
        weight = generator.uniform(0.1, 3.0, n) if case % 2 else None
        any_label = (truth + predicted).any(axis=1)
        options: dict[str, Any] = {"sample_weight": weight, "zero_division": 0.0}
        some = {"sample_weight": None if weight is None else weight[any_label]}
        pairs = truth[any_label], predicted[any_label]
        expected = {
            "subset-accuracy": metrics.accuracy_score(truth, predicted, sample_weight=weight),
            "Hamming-loss": metrics.hamming_loss(truth, predicted, sample_weight=weight),
            "example-F1": metrics.f1_score(*pairs, average="samples", **some),
            "example-Jaccard": metrics.jaccard_score(*pairs, average="samples", **some),
            **{
                f"{average}-F1": metrics.f1_score(truth, predicted, average=average, **options)
                for average in ("macro", "micro", "weighted")
            },
        }
        ev = cal.multilabel(
            truth, predicted, weight=weight, interval="none", measures=list(expected)
        )
        for name, theirs in expected.items():
            certificate.compare("scikit-learn", f"multilabel {name}", ev[name].value, theirs)


# ---------------------------------------------------------------------------------------- clusters


def contingency(truth: Any, cluster: Any) -> ContingencyTable:
    names, codes = zip(
        *(np.unique(of, return_inverse=True) for of in (truth, cluster)), strict=True
    )
    return ContingencyTable.from_codes(*codes, *(tuple(map(str, of)) for of in names))


OF_PARTITIONS = [
    *((f"{name}_score", {}) for name in (
        "rand", "adjusted_rand", "mutual_info", "normalized_mutual_info", "adjusted_mutual_info",
        "homogeneity", "completeness", "v_measure", "fowlkes_mallows",
    )),
    *((f"{name}_mutual_info_score", {"average": how})
      for name in ("normalized", "adjusted") for how in ("geometric", "min", "max")),
    *(("v_measure_score", {"beta": beta}) for beta in (0.5, 3.0)),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("name", "parameters"), OF_PARTITIONS)
def test_clusters_against_classes(
    name: str, parameters: dict[str, Any], certificate: Certificate
) -> None:
    """Also of trivial partitions; where pairs are missing or chance says all, it has 0 or 1 and we
    have nothing."""
    generator = np.random.default_rng(8)
    measure = parse(name, "partitions", parameters)
    theirs = {{"average": "average_method"}.get(k, k): v for k, v in parameters.items()}
    trivial = [np.zeros(7, int), np.arange(7), np.array([0, 0, 0, 1, 1, 2, 2])]
    cases = [(a, b) for a in trivial for b in trivial]
    for n in (2, 5, 30, 300, 4000):
        for _ in range(12):
            k, noise = generator.integers(1, 9), generator.choice([0.0, 0.2, 1.0])
            truth = generator.integers(0, k, n)
            other = generator.integers(0, generator.integers(1, 9), n)
            cases.append((truth, np.where(generator.random(n) < noise, other, truth)))
    for truth, cluster in cases:
        table = contingency(truth, cluster)
        options = ", ".join(f"{key}={value!r}" for key, value in theirs.items())
        label = f"{name}({options})" if options else name
        value = compare(
            certificate, label, measure, table, getattr(metrics, name)(truth, cluster, **theirs)
        )
        if np.isnan(value):
            assert any(bool(where) for where in measure.reasons(table).values())
            assert max(table.n_nonempty) == len(truth)  # each point is alone


@pytest.mark.parametrize(
    ("name", "options"),
    [
        *(("silhouette_score", {"metric": m}) for m in ("sqeuclidean", "manhattan", "cosine")),
        *((f"{name}_score", {}) for name in ("silhouette", "davies_bouldin", "calinski_harabasz")),
    ],
)
def test_clusters_of_points(name: str, options: dict[str, str], certificate: Certificate) -> None:
    generator = np.random.default_rng(4)
    for n, d, k in ((6, 1, 2), (40, 3, 3), (300, 8, 7), (300, 2, 40)):
        points = generator.normal(size=(n, d)) * 3 + 100
        cluster = generator.integers(0, k, n)
        found = cal.clustering(points, cluster, measures=[name], interval="none", **options)
        expected = getattr(metrics, name)(points, cluster, **options)
        label = f"{name}(metric={options['metric']!r})" if options else name
        value = found.estimates[0].value
        certificate.compare("scikit-learn", label, value, expected, rtol=1e-10, atol=1e-10)


def test_some_of_the_classes_beside_labels_of_scikit_learn(certificate: Certificate) -> None:
    """Rows of all classes stay, weights and cells with them; only what is averaged is chosen."""
    truth, predicted = list("aabbccddaabbccabcd"), list("abbbccdcaababcabdd")
    of = {"precision": metrics.precision_score, "recall": metrics.recall_score}
    of["F1"], of["Jaccard"] = metrics.f1_score, metrics.jaccard_score
    names = [(how, name) for how in ("macro", "micro", "weighted") for name in of]
    for weight in (None, np.tile([1.0, 2.0, 3.0], 6)):
        asked = [f"{how}-{name}(labels=[a, c])" for how, name in names]
        ev = cal.classification(truth, predicted, weight=weight, measures=asked)
        for (how, name), made in zip(names, ev, strict=True):
            assert made.measure == f"{how}-{name}(labels=['a','c'])"
            theirs = of[name](
                truth, predicted, labels=["a", "c"], average=how, sample_weight=weight
            )
            label = f"{of[name].__name__}(average={how!r}, labels=…)"
            certificate.compare("scikit-learn", label, made.value, theirs)
            assert made.low < made.value < made.high


@pytest.mark.slow
@pytest.mark.parametrize(
    ("undefined", "value"), [("zero", 0.0), ("one", 1.0), ("omit", float("nan"))]
)
def test_zero_division_of_classes_that_are_absent(
    undefined: str, value: float, certificate: Certificate
) -> None:
    """30 tables of a few rows, of classes that labels names though no row has them, or that are
    never predicted; averages of all, and of some."""
    generator, compared = np.random.default_rng(27), 0
    names = ["a", "b", "c", "d"]
    scores = {
        "precision": metrics.precision_score,
        "recall": metrics.recall_score,
        "F1": metrics.f1_score,
        "F2": functools.partial(metrics.fbeta_score, beta=2),
    }
    if value == value:  # it has no NaN
        scores["Jaccard"] = metrics.jaccard_score
    functions = {
        "precision": "precision_score",
        "recall": "recall_score",
        "F1": "f1_score",
        "F2": "fbeta_score",
        "Jaccard": "jaccard_score",
    }
    for case in range(30):
        n = int(generator.integers(1, 7))
        there = names[: int(generator.integers(2, 5))]
        truth, said = (generator.choice(there[i:], n) for i in (0, case % 2))
        weight = generator.uniform(0.1, 3, n) if case % 3 == 0 else None
        some = sorted(generator.choice(names, 2, replace=False).tolist())
        asked = [
            (f"{how}-{name}" + (f"(labels={some})" if part else ""), how, name, part)
            for how in ("macro", "weighted", "micro")
            for name in scores
            for part in (False, True)
        ]
        options: dict[str, Any] = {"weight": weight, "undefined": undefined, "interval": "none"}
        measures = [parse(text, "counts") for text, *_ in asked]
        found = cal.classification(truth, said, labels=names, measures=measures, **options)
        for (_, how, name, part), estimate in zip(asked, found.estimates, strict=True):
            theirs = scores[name](
                truth, said, labels=some if part else names, average=how, zero_division=value,
                sample_weight=weight,
            )  # fmt: skip
            label = f"{functions[name]}(average={how!r}, zero_division={value:g})"
            certificate.compare("scikit-learn", label, estimate.value, theirs)
            compared += 1
        if len(set(truth)) > 2:  # none is named: those that occur
            found = cal.classification(truth, said, measures=["macro-F1"], **options)
            theirs = metrics.f1_score(
                truth, said, average="macro", zero_division=value, sample_weight=weight
            )
            label = f"f1_score(average='macro', zero_division={value:g})"
            certificate.compare("scikit-learn", label, found.estimates[0].value, theirs)
    assert compared > 288


@pytest.mark.slow
def test_zero_division_of_labels(certificate: Certificate) -> None:
    """Of rows with several labels each column counts, also one that no row has."""
    generator = np.random.default_rng(28)
    kinds = {
        "precision": metrics.precision_score,
        "recall": metrics.recall_score,
        "F1": metrics.f1_score,
    }
    for _ in range(8):
        shape = int(generator.integers(1, 5)), 4
        truth, said = ((generator.random(shape) < 0.25).astype(int) for _ in range(2))
        for undefined, value in (("zero", 0.0), ("one", 1.0), ("omit", np.nan)):
            names = [f"{how}-{kind}" for how in ("macro", "weighted", "micro") for kind in kinds]
            ev = cal.multilabel(
                truth, said, labels=["a", "b", "c", "d"], measures=names, undefined=undefined,
                interval="none",
            )  # fmt: skip
            for name in names:
                how, _, kind = name.partition("-")
                theirs = kinds[kind](truth, said, average=how, zero_division=value)
                label = f"multilabel {name} (zero_division={value:g})"
                certificate.compare("scikit-learn", label, ev[name].value, theirs)
