"""scikit-learn's own tests of its metrics: each call that they make is made here as well."""

from __future__ import annotations

import os
import pickle
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from time import sleep
from typing import Any

import numpy as np
import pytest
from certificate import Certificate

import calipers as cal
from calipers.measures import TASKS, UnknownMeasureError, parse
from calipers.measures.aliases import ALTERNATIVE_HINTS
from calipers.measures.families import FAMILIES
from calipers.measures.registry import find_candidates

pytest.importorskip("sklearn.metrics.tests", reason="scikit-learn has no tests installed")
from sklearn.utils.multiclass import type_of_target, unique_labels

pytestmark = pytest.mark.slow

MODULES = (
    *("tests.test_classification", "tests.test_ranking", "tests.test_regression"),
    *("tests.test_common", "tests.test_score_objects"),
    *(
        "cluster.tests.test_supervised",
        "cluster.tests.test_unsupervised",
        "cluster.tests.test_common",
    ),
)

#: Tests that fit models, or look at the signature of a metric.
LEFT_OUT = "dummy_quantile or division_by_zero_nan_validation or positional_args"

Arguments = Mapping[str, Any]
#: A name, our value with the reasons why it is undefined, and that of scikit-learn.
Compared = tuple[str, tuple[float, list[str]], float]


class OmittedError(Exception):
    """A call that is not compared, for a reason of ``OMISSIONS``."""


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, dict[str, Any], Any]]:
    """Each different call of their tests: function, arguments and result.

    The first worker of a run records them, for a minute, and the others wait for it.
    """
    shared = tmp_path_factory.getbasetemp()
    folder = (shared.parent if "PYTEST_XDIST_WORKER" in os.environ else shared) / "scikit-learn"
    file = folder / "calls"
    try:
        folder.mkdir()
    except FileExistsError:
        for _ in range(600):
            if file.exists():
                break
            sleep(1)
    else:
        record(folder, file)
    made = (pickle.loads(call) for call in pickle.loads(file.read_bytes()))
    return [(name, pickle.loads(arguments), result) for name, arguments, result in made]


def record(folder: Path, file: Path) -> None:
    """Run their tests, and write the calls at once."""
    here, new = str(Path(__file__).parent), file.with_suffix(".new")
    subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-c", os.devnull, f"--rootdir={folder}"),
            *("-p", "no:cacheprovider", "-p", "no:xdist", "-p", "record_calls", "-W", "ignore"),
            *("-k", f"not ({LEFT_OUT})", "--pyargs"),
            *(f"sklearn.metrics.{module}" for module in MODULES),
        ],
        check=False,  # a test that looks at a function itself may fail; its calls are there
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": here,
            "RECORDED_CALLS": str(new),
            "PYTEST_ADDOPTS": "",
            # The same calls in every run, as some tests go through sets.
            "PYTHONHASHSEED": "0",
            "SKLEARN_TESTS_GLOBAL_RANDOM_SEED": "42",
        },
        stdout=subprocess.DEVNULL,
    )
    new.rename(file)


def evaluated(
    function: Callable[..., Any], *columns: Any, **options: Any
) -> tuple[float, list[str]]:
    """The value of the only measure, and why it is undefined."""
    evaluation = function(*columns, interval="none", **options)
    [estimate] = evaluation.estimates
    return estimate.value, list(estimate.undefined)


def dense(table: Any) -> Any:
    """An array, of what else scikit-learn takes."""
    return table.toarray() if hasattr(table, "toarray") else np.asarray(table)


def plain(column: Any) -> Any:
    """A column, also of a table of one, or a table."""
    values = dense(column)
    return values.ravel() if values.ndim == 2 and values.shape[1] == 1 else values


def several(truth: Any) -> bool:
    """Whether rows have several labels."""
    return str(type_of_target(truth)).startswith("multilabel")


def at_least_two(labels: list[Any]) -> list[Any]:
    """The labels, of which a classification has at least two."""
    if len(labels) > 1:
        return labels
    return [*labels, "none" if isinstance(labels[0], str) else labels[0] + 1]


# ------------------------------------------------------------------------------- predicted classes

#: Name of the measure of classes, and of several labels.
OF_LABELS = {
    "accuracy_score": ("accuracy", "subset-accuracy"),
    "zero_one_loss": ("error-rate", "subset-accuracy"),
    "hamming_loss": ("error-rate", "Hamming-loss"),
    "matthews_corrcoef": ("MCC", None),
    "balanced_accuracy_score": ("balanced-accuracy", None),
    "cohen_kappa_score": ("kappa", None),
}


def of_labels(name: str, a: Arguments, result: Any) -> Iterator[Compared]:
    truth, predicted = plain(a.get("y_true", a.get("y1"))), plain(a.get("y_pred", a.get("y2")))
    measure = OF_LABELS[name][several(truth)]
    if measure is None:
        raise OmittedError("not offered")
    if not a.get("normalize", True):  # a sum
        weight = a["sample_weight"]
        result = result / (len(truth) if weight is None else np.sum(weight))
    options = {"weight": a["sample_weight"], "measures": [measure]}
    if several(truth):
        value, reasons = evaluated(cal.multilabel, truth, predicted, **options)
        yield name, (1 - value if name == "zero_one_loss" else value, reasons), result
        return
    if a.get("adjusted"):
        options["measures"] = [f"adjusted-{measure}"]
    if a.get("weights"):
        options["measures"] = [f"{measure}(weights={a['weights']!r})"]
    if a.get("labels") is not None:
        options["labels"] = list(a["labels"])
        if set(options["labels"]) < set(unique_labels(truth, predicted)):
            raise OmittedError("some of the classes")
    else:
        options["labels"] = at_least_two(unique_labels(truth, predicted).tolist())
    if len(options["labels"]) == 2:
        options["positive"] = options["labels"][1]
    yield name, evaluated(cal.classification, truth, predicted, **options), result


CONVENTIONS = {"warn": "zero", 0: "zero", 1: "one"}

F_LIKE = {
    "precision_score": "precision",
    "recall_score": "recall",
    "f1_score": "F1",
    "fbeta_score": "F{beta:g}",
    "jaccard_score": "Jaccard",
}


def f_like(name: str, a: Arguments, result: Any) -> Iterator[Compared]:
    measure = F_LIKE[name].format(**a)
    if measure == "Finf":
        measure = "recall"
    truth, predicted = plain(a["y_true"]), plain(a["y_pred"])
    division = a["zero_division"]
    undefined = CONVENTIONS.get(division, "omit")
    options = {"weight": a["sample_weight"], "undefined": undefined}
    average, chosen = a["average"], a["labels"]
    truth, predicted = (x.astype(int) if x.dtype == float else x for x in (truth, predicted))
    label = f"{name}(average={average!r})"
    if several(truth):
        if chosen is not None:
            truth, predicted, chosen = truth[:, chosen], predicted[:, chosen], None
        function = cal.multilabel
        names = options["labels"] = [str(k) for k in range(truth.shape[1])]
    else:
        function = cal.classification
        present = unique_labels(truth, predicted).tolist()
        every = present if chosen is None else [*chosen, *(k for k in present if k not in chosen)]
        names = present if chosen is None else list(chosen)
        options["labels"] = sorted(every)
    if average is None:
        for k, value in zip(names, result, strict=True):
            of = [f"{measure}[{k}]"]
            yield label, evaluated(function, truth, predicted, measures=of, **options), value
        return
    if average == "binary":
        del options["labels"]
        options["positive"] = a["pos_label"]
        yield label, evaluated(function, truth, predicted, measures=[measure], **options), result
        return
    if average == "samples":
        if measure not in ("F1", "Jaccard", "precision", "recall"):
            raise OmittedError("not offered")
        of = [f"example-{measure}"]
    elif chosen is None:
        of = [f"{average}-{measure}"]
    else:
        of = [f"{average}-{measure}(labels={[str(k) for k in names]})"]
    yield label, evaluated(function, truth, predicted, measures=of, **options), result


def several_f_like(name: str, a: Arguments, result: Any) -> Iterator[Compared]:
    for function, values in zip(
        ("precision_score", "recall_score", "fbeta_score"), result, strict=False
    ):
        for label, *rest in f_like(function, a, values):
            yield f"{name}{label.removeprefix(function)}", *rest


def matrix(name: str, a: Arguments, result: Any) -> Iterator[Compared]:
    truth, predicted = plain(a["y_true"]), plain(a["y_pred"])
    present = unique_labels(truth, predicted).tolist()
    labels = present if a["labels"] is None else list(a["labels"])
    if not set(present) <= set(labels) or len(labels) < 2:
        raise OmittedError("some of the classes")
    evaluation = cal.classification(
        truth, predicted, labels=labels, weight=a["sample_weight"], measures="accuracy",
        interval="none",
    )  # fmt: skip
    how = {None: None, "true": "truth", "pred": "prediction", "all": "all"}[a["normalize"]]
    for own, theirs in zip(
        evaluation.confusion.table(normalize=how).ravel(), result.ravel(), strict=True
    ):
        yield name, (float(own), ["share of nothing"]), theirs


def likelihood_ratios(name: str, a: Arguments, result: Any) -> Iterator[Compared]:
    truth, predicted = plain(a["y_true"]), plain(a["y_pred"])
    labels = unique_labels(truth, predicted).tolist() if a["labels"] is None else a["labels"]
    options = {"weight": a["sample_weight"], "labels": list(labels), "positive": labels[-1]}
    for measure, value in zip(("LR+", "LR-"), result, strict=True):
        own = evaluated(cal.classification, truth, predicted, measures=[measure], **options)
        yield name, own, value


# --------------------------------------------------------------------------- scores, probabilities


def area(name: str, a: Arguments, result: Any) -> Iterator[Compared]:
    measure = {"roc_auc_score": "AUC", "average_precision_score": "AP"}[name]
    truth, score = plain(a["y_true"]), plain(a["y_score"])
    options: dict[str, Any] = {"weight": a["sample_weight"], "score": score}
    average = a["average"]
    if average == "samples":
        raise OmittedError("not offered")
    if a.get("max_fpr") not in (None, 1):
        measure = f"pAUC(max_fpr={a['max_fpr']})"
    if several(truth):
        absent = ["absent label"] * (average == "macro" and not truth.any(axis=0).all())
        for k, value in enumerate(np.atleast_1d(result)):
            one_label = re.sub(r"(?=\(|$)", f"[{k}]", measure, count=1)
            of = [one_label if average is None else f"{average}-{measure}"]
            names = [str(k) for k in range(truth.shape[1])]
            own, reasons = evaluated(cal.multilabel, truth, labels=names, measures=of, **options)
            yield f"{name}(average={average!r})", (own, [*reasons, *absent]), value
        return
    if score.ndim == 1:
        labels = unique_labels(truth).tolist() if a.get("labels") is None else list(a["labels"])
        options |= {"positive": a.get("pos_label", max(labels)), "measures": [measure]}
        yield name, evaluated(cal.classification, truth, **options), result
        return
    labels = unique_labels(truth).tolist() if a.get("labels") is None else list(a["labels"])
    how = {"raise": "", "ovr": "", "ovo": "ovo-"}[a.get("multi_class", "ovr")]
    for k, value in zip(labels, np.atleast_1d(result), strict=False):
        view = {"macro": how or "macro-", "weighted": f"weighted-{how}", "micro": "micro-"}
        of = [f"{measure}[{k}]" if average is None else f"{view[average]}{measure}"]
        own = evaluated(cal.classification, truth, labels=labels, measures=of, **options)
        label = f", multi_class={a['multi_class']!r}" if "multi_class" in a else ""
        yield f"{name}(average={average!r}{label})", own, value


#: Measure of two classes, and of several.
OF_PROBABILITIES = {
    "log_loss": "log-loss",
    "brier_score_loss": "Brier",
    "d2_log_loss_score": "log-loss-skill",
    "d2_brier_score": "Brier-skill",
}


def of_probabilities(name: str, a: Arguments, result: Any) -> Iterator[Compared]:
    truth = plain(a["y_true"])
    probability = plain(a["y_pred"] if a["y_proba"] is None else a["y_proba"])
    if probability.ndim == 2 and not np.allclose(probability.sum(axis=1), 1, atol=1e-3):
        raise OmittedError("sums of probabilities")
    if several(truth):
        raise OmittedError("not offered")
    if not a.get("normalize", True):  # a sum
        weight = a["sample_weight"]
        result = result / (len(truth) if weight is None else np.sum(weight))
    present = unique_labels(truth).tolist()
    default = 1 if set(present) <= {-1, 0, 1} else max(present)
    positive = default if a.get("pos_label") is None else a["pos_label"]
    labels = present if a.get("labels") is None else sorted(a["labels"])
    labels = labels if positive in labels else [*labels, positive]
    labels = at_least_two(labels)
    options = {"weight": a["sample_weight"], "measures": [OF_PROBABILITIES[name]]}
    if len(labels) == 2 and (probability.ndim == 1 or probability.shape[1] <= 2):
        options |= {"positive": labels[1] if a.get("labels") is not None else positive}
        if probability.ndim == 2:
            probability = probability[:, -1]
        if a.get("scale_by_half") is False:
            result = result / 2
    elif a.get("scale_by_half") is True:
        result = 2 * result
    own = evaluated(cal.classification, truth, probability=probability, labels=labels, **options)
    yield name, own, result


def top_k(name: str, a: Arguments, result: Any) -> Iterator[Compared]:
    if not a["normalize"]:
        raise OmittedError("not offered")
    truth, score = plain(a["y_true"]), plain(a["y_score"])
    labels = unique_labels(truth).tolist() if a["labels"] is None else list(a["labels"])
    if score.ndim == 1:
        raise OmittedError("not offered")
    options = {"weight": a["sample_weight"], "measures": [f"top-{a['k']}-accuracy"]}
    own = evaluated(cal.classification, truth, score=score, labels=labels, **options)
    ties = any(len(set(row)) < len(row) for row in score.tolist())
    yield name, (own[0], ["place of tied classes"] if ties else own[1]), result


OF_LABEL_RANKS = {
    "coverage_error": "coverage-error",
    "label_ranking_average_precision_score": "LRAP",
    "label_ranking_loss": "ranking-loss",
}


def of_label_ranks(name: str, a: Arguments, result: Any) -> Iterator[Compared]:
    options = {"weight": a["sample_weight"], "measures": [OF_LABEL_RANKS[name]]}
    truth, score = dense(a["y_true"]), dense(a["y_score"])
    own, reasons = evaluated(cal.multilabel, truth, score=score, **options)
    unordered = (truth == truth[:, :1]).all(axis=1).any() and not np.isnan(own)
    yield name, (own, ["rows without an order"] if unordered else reasons), result


def gains(name: str, a: Arguments, result: Any) -> Iterator[Compared]:
    truth, score = dense(a["y_true"]), dense(a["y_score"])
    if a["sample_weight"] is not None or (truth != np.round(truth)).any():
        raise OmittedError("not offered")
    group = np.repeat(np.arange(len(truth)), truth.shape[1])
    cut = "" if a["k"] is None else f"@{a['k']}"
    options = {"measures": [f"NDCG(dcg='log2'){cut}"], "undefined": "zero"}
    yield name, evaluated(cal.ranking, group, truth.ravel(), score.ravel(), **options), result


def sum_of_gains(name: str, a: Arguments, result: Any) -> Iterator[Compared]:
    if a["sample_weight"] is not None or a["log_base"] != 2:
        raise OmittedError("not offered")
    qrels, run = (
        {str(t): {f"d{j}": of(v) for j, v in enumerate(row)} for t, row in enumerate(table)}
        for of, table in ((int, dense(a["y_true"])), (float, dense(a["y_score"])))
    )
    cut = "" if a["k"] is None else f"@{a['k']}"
    of = [f"DCG(ties='average'){cut}"]
    yield name, evaluated(cal.retrieval, qrels, run, measures=of), result


# ----------------------------------------------------------------------------- numbers, clusters

OF_NUMBERS = {
    "mean_absolute_error": "MAE",
    "mean_squared_error": "MSE",
    "root_mean_squared_error": "RMSE",
    "mean_squared_log_error": "MSLE",
    "root_mean_squared_log_error": "RMSLE",
    "median_absolute_error": "MedAE",
    "max_error": "max-error",
    "mean_absolute_percentage_error": "MAPE",
    "explained_variance_score": "explained-variance",
    "r2_score": "R2",
    "mean_pinball_loss": "pinball(alpha={alpha!r})",
    "mean_tweedie_deviance": "Tweedie-deviance(power={power!r})",
    "mean_poisson_deviance": "Poisson-deviance",
    "mean_gamma_deviance": "gamma-deviance",
    "d2_tweedie_score": "D2-Tweedie(power={power!r})",
    "d2_pinball_score": "D2-pinball(alpha={alpha!r})",
    "d2_absolute_error_score": "D2-absolute-error",
}


def of_numbers(name: str, a: Arguments, result: Any) -> Iterator[Compared]:
    measure = OF_NUMBERS[name].format(**a)
    if a.get("power") == 0:
        measure = {"mean_tweedie_deviance": "MSE", "d2_tweedie_score": "R2"}[name]
    truth, predicted = plain(a["y_true"]), plain(a["y_pred"])
    options = {"weight": a.get("sample_weight")}
    how = a.get("multioutput", "uniform_average")
    if a.get("power", 0) < 0:
        raise OmittedError("not offered")
    base, _, parameters = measure.partition("(")
    if truth.ndim == 1:
        of = [measure]
    elif how == "raw_values":
        for j, value in enumerate(result):
            columns = truth[:, j], predicted[:, j]
            own = evaluated(cal.regression, *columns, measures=[measure], **options)
            yield name, own, value
        return
    elif isinstance(how, str):
        of = [f"{how.replace('uniform_average', 'macro').replace('_', '-')}-{measure}"]
    else:
        weights = f"weights={[float(w) for w in how]}"
        of = [f"macro-{base}({weights}{',' if parameters else ')'}{parameters}"]
    own, reasons = evaluated(cal.regression, truth, predicted, measures=of, **options)
    if how == "variance_weighted" and not a["force_finite"]:
        reasons = [*reasons, "output without variance"]
    yield name, (own, reasons), np.asarray(result).item()


OF_PARTITIONS = {
    "rand_score": "Rand",
    "adjusted_rand_score": "ARI",
    "mutual_info_score": "MI",
    "normalized_mutual_info_score": "NMI(average={average_method!r})",
    "adjusted_mutual_info_score": "AMI(average={average_method!r})",
    "homogeneity_score": "homogeneity",
    "completeness_score": "completeness",
    "v_measure_score": "V-measure(beta={beta!r})",
    "fowlkes_mallows_score": "Fowlkes-Mallows",
}


def of_partitions(name: str, a: Arguments, result: Any) -> Iterator[Compared]:
    if a.get("contingency") is not None:
        raise OmittedError("not offered")
    truth, cluster = np.asarray(a["labels_true"]), np.asarray(a["labels_pred"])
    if len(truth) == 0:
        raise OmittedError("no rows")
    of = [OF_PARTITIONS[name].format(**a)]
    yield name, evaluated(cal.clustering, None, cluster, truth, measures=of), result


def three_of_partitions(name: str, a: Arguments, result: Any) -> Iterator[Compared]:
    for function, value in zip(
        ("homogeneity_score", "completeness_score", "v_measure_score"), result, strict=True
    ):
        for _, own, theirs in of_partitions(function, a, value):
            yield name, own, theirs


OF_POINTS = {
    "silhouette_score": "silhouette",
    "davies_bouldin_score": "Davies-Bouldin",
    "calinski_harabasz_score": "Calinski-Harabasz",
}


def of_points(name: str, a: Arguments, result: Any) -> Iterator[Compared]:
    if a.get("sample_size") is not None or a.get("kwds"):
        raise OmittedError("not offered")
    points, metric = dense(a["X"]), a.get("metric", "euclidean")
    options: dict[str, Any] = {"measures": [OF_POINTS[name]]}
    if metric == "precomputed":
        options["distances"], points = points, None
    elif metric != "euclidean":
        options["metric"] = metric
    yield name, evaluated(cal.clustering, points, np.asarray(a["labels"]), **options), result


def not_a_measure(name: str, a: Arguments, result: Any) -> Iterator[Compared]:
    assert name in ALTERNATIVE_HINTS
    raise OmittedError("curve" if "curve" in name else "no measure")
    yield  # an iterator


Adapter = Callable[[str, Arguments, Any], Iterator[Compared]]

ADAPTERS: dict[str, Adapter] = {
    **dict.fromkeys(OF_LABELS, of_labels),
    **dict.fromkeys(F_LIKE, f_like),
    "precision_recall_fscore_support": several_f_like,
    "confusion_matrix": matrix,
    "class_likelihood_ratios": likelihood_ratios,
    **dict.fromkeys(("roc_auc_score", "average_precision_score"), area),
    **dict.fromkeys(OF_PROBABILITIES, of_probabilities),
    "top_k_accuracy_score": top_k,
    **dict.fromkeys(OF_LABEL_RANKS, of_label_ranks),
    "ndcg_score": gains,
    "dcg_score": sum_of_gains,
    **dict.fromkeys(OF_NUMBERS, of_numbers),
    **dict.fromkeys(OF_PARTITIONS, of_partitions),
    "homogeneity_completeness_v_measure": three_of_partitions,
    **dict.fromkeys(OF_POINTS, of_points),
}


#: Each test takes every so many calls, so that none takes long.
STEP = 6


@pytest.mark.parametrize("first", range(STEP))
def test_each_call(
    first: int, calls: list[tuple[str, dict[str, Any], Any]], certificate: Certificate
) -> None:
    """More than 9,000 values of more than 50 functions. A function without an adapter is one that
    Calipers refuses with what to use instead."""
    n_values = 0
    for name, arguments, result in calls[first::STEP]:
        try:
            for label, (value, reasons), theirs in ADAPTERS.get(name, not_a_measure)(
                name, arguments, result
            ):
                certificate.compare(
                    "scikit-learn", label, value, theirs,
                    because=dict.fromkeys(reasons, True), where=lambda _, call=arguments: call,
                )  # fmt: skip
                n_values += 1
        except OmittedError as omitted:
            certificate.omit("scikit-learn", name, str(omitted))
    assert n_values > 9_000 / STEP
    assert len({name for name, *_ in calls} & ADAPTERS.keys()) > 50


def test_names_are_read_as_what_is_compared() -> None:
    measures = {
        **{name: of for name, (of, _) in OF_LABELS.items()},
        **F_LIKE,
        "f1_score": "F",
        "fbeta_score": "F",
        **OF_PROBABILITIES,
        **OF_LABEL_RANKS,
        **OF_NUMBERS,
        **OF_PARTITIONS,
        **OF_POINTS,
        "roc_auc_score": "AUC",
        "average_precision_score": "AP",
        "dcg_score": "DCG",
    }
    for name, of in measures.items():
        # The default power of these is 0, of which they are other measures.
        asked = f"{name}(power=1.5)" if "tweedie" in name else name
        try:
            read = parse(asked, TASKS["classification"])
        except UnknownMeasureError:
            read = parse(asked, tuple(FAMILIES))
        measure = of.partition("(")[0]
        assert find_candidates(measure, [read.definition.family]) == [read.definition], name
