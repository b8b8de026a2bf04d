"""Work that is called as a function, by Calipers and by its peers: rows of `suite.py`.

A process of its own takes each: data are made, the work is done once on few rows, which imports what
is needed, once on all, which says by how much memory rises, and then as often as fits into a second.
"""

from __future__ import annotations

import importlib
import json
import resource
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

Data = tuple[Any, ...]
Work = Callable[..., list[float] | None]

#: A first call on so many rows imports what is needed.
FEW = 500

#: Measures of two classes that ydf resamples together.
RESAMPLED = (
    *("AUC", "PR-AUC", "AP", "KS", "max-F1", "max-accuracy"),
    *("precision@recall=0.8", "precision@volume=0.2", "recall@precision=0.7"),
    *("recall@FPR=0.1", "FPR@recall=0.9"),
)
#: Replicates of each row's bootstrap, and how many of them a slow loop makes.
REPLICATES, FEW_REPLICATES = 500, 5


@dataclass(frozen=True)
class Call:
    """A row: what, of how many rows, their data, and who does it how."""

    what: str
    size: int
    data: Callable[[int], Data]
    tools: Mapping[str, Work]
    close: float = 1e-9  # to which the values agree; those of a bootstrap are not compared
    part: Mapping[str, float] | None = None  # does only this share of it, and is scaled


def clouds(rows: int) -> Data:
    """Points of ten clusters that overlap, in sixteen dimensions."""
    random = np.random.default_rng(0)
    labels = np.arange(rows) % 10
    centres = random.normal(size=(10, 16))
    return centres[labels] + random.normal(size=(rows, 16)), labels


def silhouette_here(points: Any, labels: Any) -> list[float]:
    import calipers as cal

    return [cal.measure("silhouette")(points, labels)]


def silhouette_there(points: Any, labels: Any) -> list[float]:
    from sklearn.metrics import silhouette_score

    return [silhouette_score(points, labels)]


def graded(rows: int) -> Data:
    """A hundred rows of each query with grades from 0 to 4, one of them at least above 0, and scores
    of which some are equal."""
    random = np.random.default_rng(1)
    queries = max(rows // 100, 1)
    grade = random.choice(5, (queries, 100), p=[0.6, 0.2, 0.1, 0.06, 0.04])
    grade[:, 0] = 4
    return grade, np.round(0.5 * grade + random.normal(size=grade.shape), 2)


def ndcg_here(grade: Any, score: Any) -> list[float]:
    import calipers as cal

    group = np.repeat(np.arange(len(grade)), grade.shape[1])
    made = cal.ranking(
        group, grade.ravel(), score.ravel(), measures=["nDCG(dcg='log2')@10"], interval="none",
        curves=False,
    )  # fmt: skip
    return [made.estimates[0].value]


def ndcg_there(grade: Any, score: Any) -> list[float]:
    from sklearn.metrics import ndcg_score

    return [ndcg_score(grade, score, k=10)]


def numbers(rows: int) -> Data:
    """What is true and what is predicted."""
    random = np.random.default_rng(2)
    truth = random.normal(size=rows)
    return truth, truth + random.normal(size=rows)


def regression_here(truth: Any, predicted: Any) -> list[float]:
    import calipers as cal

    return [cal.measure(name)(truth, predicted) for name in ("MSE", "MAE", "R2")]


def regression_there(truth: Any, predicted: Any) -> list[float]:
    from sklearn import metrics

    of = (metrics.mean_squared_error, metrics.mean_absolute_error, metrics.r2_score)
    return [each(truth, predicted) for each in of]


def mean_here(truth: Any, predicted: Any) -> None:
    import calipers as cal

    cal.regression(
        truth, predicted, measures=["MAE"], interval="percentile", resamples=REPLICATES,
        curves=False,
    )  # fmt: skip


def mean_there(truth: Any, predicted: Any) -> None:
    from scipy.stats import bootstrap

    error = np.abs(truth - predicted)
    # Batches of ten: all replicates at once would be drawn into a matrix of 400 MB.
    bootstrap((error,), np.mean, n_resamples=REPLICATES, batch=10, method="percentile")


def two_clusterings(rows: int) -> Data:
    """Fifty classes, and sixty clusters that keep most of each together."""
    random = np.random.default_rng(3)
    truth = random.integers(0, 50, rows)
    return truth, np.where(random.random(rows) < 0.7, truth, random.integers(0, 60, rows))


def clusterings_here(truth: Any, found: Any) -> list[float]:
    import calipers as cal

    measures = ["ARI", "AMI", "NMI", "V-measure"]
    made = cal.clustering(None, found, truth, measures=measures, interval="none", curves=False)
    return [made[name].value for name in measures]


def clusterings_there(truth: Any, found: Any) -> list[float]:
    from sklearn import metrics

    of = (
        *(metrics.adjusted_rand_score, metrics.adjusted_mutual_info_score),
        *(metrics.normalized_mutual_info_score, metrics.v_measure_score),
    )
    return [each(truth, found) for each in of]


def probabilities(rows: int) -> Data:
    """Two classes, and probabilities of 32 bits, which is what ydf takes."""
    random = np.random.default_rng(0)
    truth = (random.random(rows) < 0.3).astype(np.int64)
    logit = random.normal(1.5 * truth - 1.2, 1)
    return truth, (1 / (1 + np.exp(-logit))).astype(np.float32)


def auc_here(truth: Any, score: Any) -> list[float]:
    import calipers as cal

    return [cal.measure("AUC")(truth, score)]


def auc_there(truth: Any, score: Any) -> list[float]:
    from sklearn.metrics import roc_auc_score

    return [roc_auc_score(truth, score)]


def ap_here(truth: Any, score: Any) -> list[float]:
    import calipers as cal

    return [cal.classification(truth, score=score, measures=["AP"], interval="none", curves=False)["AP"].value]


def ap_there(truth: Any, score: Any) -> list[float]:
    from sklearn.metrics import average_precision_score

    return [average_precision_score(truth, score)]


def bootstrap_here(truth: Any, score: Any) -> None:
    import calipers as cal

    cal.classification(
        truth, score=score, measures=RESAMPLED, interval="bootstrap", resamples=REPLICATES,
        curves=False,
    )  # fmt: skip


def bootstrap_ydf(truth: Any, score: Any) -> None:
    ydf = importlib.import_module("ydf")
    ydf.evaluate_predictions(score, truth, ydf.Task.CLASSIFICATION, bootstrapping=REPLICATES)


def bootstrap_there(truth: Any, score: Any) -> None:
    """Rows drawn with replacement, and everything read off scikit-learn's two curves."""
    from sklearn import metrics

    random = np.random.default_rng(0)
    for _ in range(FEW_REPLICATES):
        drawn = random.integers(0, len(truth), len(truth))
        y, s = truth[drawn], score[drawn]
        fpr, tpr, _ = metrics.roc_curve(y, s, drop_intermediate=False)
        precision, recall, _ = metrics.precision_recall_curve(y, s)
        positive = y.mean()
        volume = tpr * positive + fpr * (1 - positive)
        called = np.maximum(volume, 1e-300)
        _ = (
            metrics.roc_auc_score(y, s),
            metrics.auc(recall, precision),
            metrics.average_precision_score(y, s),
            (tpr - fpr).max(),
            (2 * tpr * positive / (volume + positive)).max(),
            (tpr * positive + (1 - fpr) * (1 - positive)).max(),
            precision[np.flatnonzero(recall >= 0.8)[-1]],
            (tpr * positive / called)[np.argmax(volume >= 0.2)],
            recall[precision >= 0.7].max(),
            tpr[fpr <= 0.1].max(),
            fpr[tpr >= 0.9].min(),
        )


def ten_classes(rows: int) -> Data:
    """Labels of ten classes, what is predicted, and the probabilities that say so."""
    random = np.random.default_rng(0)
    truth = random.integers(0, 10, rows)
    probability = random.random((rows, 10))
    probability[np.arange(rows), truth] += 1
    probability /= probability.sum(axis=1, keepdims=True)
    return truth, probability.argmax(axis=1), probability


def ten_names(rows: int) -> Data:
    """The same with labels that are text."""
    truth, predicted, probability = ten_classes(rows)
    names = np.array([f"class {place}" for place in range(10)])
    return names[truth], names[predicted], probability


def report_here(truth: Any, predicted: Any, _: Any) -> list[float]:
    import calipers as cal

    made = cal.classification(truth, predicted, interval="none", curves=False)
    return [made["accuracy"].value, made["macro-F1"].value]


def report_there(truth: Any, predicted: Any, _: Any) -> list[float]:
    from sklearn.metrics import classification_report

    made = classification_report(truth, predicted, output_dict=True)
    return [made["accuracy"], made["macro avg"]["f1-score"]]


def loss_here(truth: Any, _: Any, probability: Any) -> list[float]:
    import calipers as cal

    made = cal.classification(
        truth, probability=probability, measures=["log-loss"], interval="none", curves=False
    )
    return [made["log-loss"].value]


def loss_there(truth: Any, _: Any, probability: Any) -> list[float]:
    from sklearn.metrics import log_loss

    return [log_loss(truth, probability)]


def everything_here(truth: Any, predicted: Any, probability: Any) -> list[float]:
    import calipers as cal

    made = cal.classification(
        truth, predicted, probability=probability, interval="analytic", curves=False
    )
    return [made["accuracy"].value, made["log-loss"].value]


def everything_there(truth: Any, predicted: Any, probability: Any) -> list[float]:
    from sklearn.metrics import classification_report, confusion_matrix, log_loss

    confusion_matrix(truth, predicted)
    made = classification_report(truth, predicted, output_dict=True)
    return [made["accuracy"], log_loss(truth, probability)]


def dictionaries(lines: int) -> Data:
    """Judgments and a run as dictionaries: a hundred documents of each topic, ten of them judged."""
    random = np.random.default_rng(4)
    run, qrels = {}, {}
    for topic in range(max(lines // 100, 1)):
        scores = random.random(100).tolist()
        run[f"q{topic}"] = {f"d{place}": score for place, score in enumerate(scores)}
        grades = random.integers(0, 3, 10).tolist()
        judged = random.choice(100, 10, replace=False).tolist()
        qrels[f"q{topic}"] = {f"d{at}": grade for at, grade in zip(judged, grades, strict=True)}
    return qrels, run


def topics_here(qrels: Any, run: Any) -> list[float]:
    import calipers as cal

    made = cal.retrieval(
        qrels, run, measures=["AP", "nDCG@10", "RR", "R@100"], undefined="zero", interval="none"
    )
    return [each.value for each in made]


def topics_there(qrels: Any, run: Any) -> list[float]:
    import pytrec_eval

    names = ["map", "ndcg_cut_10", "recip_rank", "recall_100"]
    made = pytrec_eval.RelevanceEvaluator(
        qrels, {"map", "ndcg_cut.10", "recip_rank", "recall.100"}
    ).evaluate(run)
    return [sum(each[name] for each in made.values()) / len(made) for name in names]


def topics_ranx(qrels: Any, run: Any) -> list[float]:
    from ranx import Qrels, Run, evaluate

    names = ["map", "ndcg@10", "mrr", "recall@100"]
    made = evaluate(Qrels(qrels), Run(run), names, make_comparable=True)
    return [float(made[name]) for name in names]


SKLEARN, LOOP = "scikit-learn", "scikit-learn in a loop"
CALLS: Mapping[str, Call] = {
    "topics": Call(
        "AP, nDCG@10, RR and R@100 of dictionaries with {n:,} documents, 100 a topic",
        *(100_000, dictionaries),
        {"Calipers": topics_here, "pytrec_eval-terrier": topics_there, "ranx": topics_ranx},
    ),
    "auc": Call(
        "AUC of {n:,} rows",
        *(1_000_000, probabilities, {"Calipers": auc_here, SKLEARN: auc_there}),
    ),
    "ap": Call(
        "average precision of {n:,} rows",
        *(1_000_000, probabilities, {"Calipers": ap_here, SKLEARN: ap_there}),
    ),
    "report": Call(
        "report of {n:,} rows, ten classes",
        *(1_000_000, ten_classes, {"Calipers": report_here, SKLEARN: report_there}),
    ),
    "loss": Call(
        "log loss of {n:,} rows, ten classes",
        *(1_000_000, ten_classes, {"Calipers": loss_here, SKLEARN: loss_there}),
    ),
    "everything": Call(
        "confusion matrix, report and log loss of {n:,} rows, ten classes; Calipers with every "
        "default measure and its interval",
        *(1_000_000, ten_classes, {"Calipers": everything_here, SKLEARN: everything_there}),
    ),
    "everything-text": Call(
        "the same of labels that are text",
        *(1_000_000, ten_names, {"Calipers": everything_here, SKLEARN: everything_there}),
    ),
    "silhouette": Call(
        "silhouette of {n:,} points, 16 dimensions, 10 clusters",
        *(30_000, clouds, {"Calipers": silhouette_here, SKLEARN: silhouette_there}),
    ),
    "ndcg": Call(
        "nDCG@10 over ties of {n:,} rows, 100 of each query",
        *(1_000_000, graded, {"Calipers": ndcg_here, SKLEARN: ndcg_there}),
    ),
    "regression": Call(
        "MSE, MAE and R² of {n:,} rows",
        *(1_000_000, numbers, {"Calipers": regression_here, SKLEARN: regression_there}),
    ),
    "clusterings": Call(
        "ARI, AMI, NMI and V-measure of {n:,} points",
        *(1_000_000, two_clusterings, {"Calipers": clusterings_here, SKLEARN: clusterings_there}),
    ),
    "bootstrap": Call(
        f"{REPLICATES} bootstrap replicates of {len(RESAMPLED)} measures of scores, {{n:,}} rows "
        "(ydf: of both classes)",
        *(200_000, probabilities),
        {"Calipers": bootstrap_here, "ydf": bootstrap_ydf, LOOP: bootstrap_there},
        part={LOOP: FEW_REPLICATES / REPLICATES},
    ),
    "bootstrap-mean": Call(
        f"{REPLICATES} bootstrap replicates of MAE, {{n:,}} rows",
        *(100_000, numbers, {"Calipers": mean_here, "scipy.stats.bootstrap": mean_there}),
    ),
}


def peak() -> float:
    """Of this process, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measured(name: str, tool: str, rows: int) -> dict[str, Any]:
    """What a call takes, in this process."""
    call = CALLS[name]
    work, data = call.tools[tool], call.data(rows)
    work(*call.data(FEW))
    before = peak()
    value = work(*data)
    memory, taken = peak() - before, list[tuple[float, float]]()
    end = time.perf_counter() + 1
    while not taken or time.perf_counter() < end:
        began = time.perf_counter(), time.process_time()
        work(*data)
        taken.append((time.perf_counter() - began[0], time.process_time() - began[1]))
    part = (call.part or {}).get(tool, 1)
    wall, cpu = (statistics.median(of) / part for of in zip(*taken, strict=True))
    return {"value": value, "wall": wall, "cpu": cpu, "memory": memory}


def described() -> dict[str, Any]:
    """What `suite.py` has to know, which does not import this module, nor NumPy with it."""
    return {
        name: {
            "what": call.what,
            "size": call.size,
            "tools": list(call.tools),
            "close": call.close,
            "part": list(call.part or ()),
        }
        for name, call in CALLS.items()
    }


if __name__ == "__main__":
    sys.path.pop(0)  # this folder, whose coverage.py is not the one that numba looks for
    given = sys.argv[1:]
    print(json.dumps(measured(given[0], given[1], int(given[2])) if given else described()))
