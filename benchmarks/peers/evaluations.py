"""Whole evaluations with intervals, tests and findings, as calls.

Peers compute values alone: no other tool gives intervals, tests and findings of all of them.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from peers.row import SKLEARN, Call, Data
from peers.tasks import numbers

_MILLION = 1_000_000


def _scores(rows: int, systems: int) -> tuple[Any, Any, dict[str, Any]]:
    """A generator, two classes, and probabilities of systems that share most of their errors."""
    import numpy as np

    generator = np.random.default_rng(0)
    truth = generator.random(rows) < 0.3
    common = 0.7 * generator.normal(size=rows) - 1.2
    return (
        generator,
        truth.astype(np.int64),
        {
            f"s{index:02}": 1
            / (
                1
                + np.exp(-common - 0.7 * generator.normal(size=rows) - (0.8 + 0.02 * index) * truth)
            )
            for index in range(systems)
        },
    )


def one_classifier(rows: int) -> Data:
    """Two classes and the probabilities of one system."""
    _, truth, systems = _scores(rows, 1)
    return truth, systems


def twenty_classifiers(rows: int) -> Data:
    """Two classes and the probabilities of twenty systems."""
    _, truth, systems = _scores(rows, 20)
    return truth, systems


def classification_here(truth: Any, systems: Any) -> list[float]:
    import calipers as cal

    evaluation = cal.classification(truth, probability=systems)
    return [evaluation[name, "AUC"].value for name in systems]


def classification_there(truth: Any, systems: Any) -> list[float]:
    from sklearn import metrics

    for probability in systems.values():
        predicted = probability >= 0.5
        metrics.average_precision_score(truth, probability)
        metrics.log_loss(truth, probability)
        metrics.brier_score_loss(truth, probability)
        metrics.matthews_corrcoef(truth, predicted)
        metrics.classification_report(truth, predicted, output_dict=True, zero_division=0)
    return [metrics.roc_auc_score(truth, probability) for probability in systems.values()]


def sliced(rows: int) -> Data:
    """One system, and the slice of each row."""
    generator, truth, systems = _scores(rows, 1)
    return truth, systems, _sites(generator.integers(0, 50, rows))


def _sites(number: Any) -> Any:
    """Names, since numbers would be divided into a few intervals."""
    import numpy as np

    return np.array([f"site {index}" for index in range(number.max() + 1)])[number]


def slices_here(truth: Any, systems: Any, slice_of_row: Any) -> list[float]:
    import calipers as cal

    evaluation = cal.classification(truth, probability=systems, slices={"site": slice_of_row})
    return [evaluation[name, "AUC"].value for name in systems]


def slices_there(truth: Any, systems: Any, slice_of_row: Any) -> list[float]:
    import numpy as np

    for label in np.unique(slice_of_row):
        rows = slice_of_row == label
        if truth[rows].all() or not truth[rows].any():
            continue  # areas are undefined
        classification_there(truth[rows], {name: p[rows] for name, p in systems.items()})
    return classification_there(truth, systems)


def designs(rows: int) -> Data:
    """Two systems, and weights, clusters and slices of their rows."""
    generator, truth, systems = _scores(rows, 2)
    weight = generator.uniform(0.5, 1.5, rows)
    cluster = generator.integers(0, max(rows // 200, 10), rows)
    return truth, systems, weight, cluster, _sites(generator.integers(0, 30, rows))


def _design(*names: str, **options: Any) -> Any:
    """An evaluation of two systems with some of the weights, clusters and slices."""

    def evaluate(
        truth: Any, systems: Any, weight: Any, cluster: Any, slice_of_row: Any
    ) -> list[float]:
        import calipers as cal

        columns = {"weight": weight, "cluster": cluster, "slices": {"site": slice_of_row}}
        kept = {name: columns[name] for name in names}
        evaluation = cal.classification(truth, probability=systems, **kept, **options)
        return [] if names or options else [evaluation[name, "AUC"].value for name in systems]

    return evaluate


def regression_here(truth: Any, predicted: Any) -> list[float]:
    import calipers as cal

    evaluation = cal.regression(truth, predicted)
    return [evaluation[name].value for name in ("MAE", "R2")]


def regression_there(truth: Any, predicted: Any) -> list[float]:
    from sklearn import metrics

    metrics.mean_squared_error(truth, predicted)
    return [metrics.mean_absolute_error(truth, predicted), metrics.r2_score(truth, predicted)]


def hundred_labels(rows: int) -> Data:
    """A hundred labels, each of a tenth of the rows, and their probabilities."""
    import numpy as np

    generator = np.random.default_rng(1)
    truth = (generator.random((rows, 100)) < 0.1).astype(np.int8)
    noise = 0.2 * generator.normal(size=truth.shape)
    return truth, np.clip(0.1 + 0.5 * truth + noise, 0.01, 0.99)


def labels_here(truth: Any, probability: Any) -> list[float]:
    import calipers as cal

    evaluation = cal.multilabel(truth, probability=probability)
    return [evaluation["micro-F1"].value, evaluation["subset-accuracy"].value]


def labels_there(truth: Any, probability: Any) -> list[float]:
    from sklearn import metrics

    predicted = (probability >= 0.5).astype(truth.dtype)
    metrics.hamming_loss(truth, predicted)
    metrics.roc_auc_score(truth, probability, average="macro")
    report = metrics.classification_report(truth, predicted, output_dict=True, zero_division=0)
    return [report["micro avg"]["f1-score"], metrics.accuracy_score(truth, predicted)]


def groups(rows: int) -> Data:
    """A hundred and twenty rows of each group with grades from 0 to 4, and scores, some of them equal."""
    import numpy as np

    generator = np.random.default_rng(2)
    grade = generator.choice(5, (max(rows // 120, 1), 120), p=[0.6, 0.2, 0.1, 0.06, 0.04])
    grade[:, 0] = 4
    return grade, np.round(0.5 * grade + generator.normal(size=grade.shape), 2)


def groups_here(grade: Any, score: Any) -> list[float]:
    import numpy as np

    import calipers as cal

    group = np.repeat(np.arange(len(grade)), grade.shape[1])
    evaluation = cal.ranking(group, grade.ravel(), score.ravel())
    return [len(evaluation.estimates) and 0.0]


def groups_there(grade: Any, score: Any) -> list[float]:
    from sklearn import metrics

    metrics.ndcg_score(grade, score, k=10)
    metrics.label_ranking_average_precision_score(grade > 0, score)
    return [0.0]


def hundred_runs(documents: int) -> Data:
    """A hundred documents of each of 250 topics, graded, and the scores of so many runs."""
    import numpy as np

    generator = np.random.default_rng(3)
    runs = max(documents // 25_000, 2)
    grade = (generator.random((250, 100)) < 0.2).astype(int)
    grade[:, 0] = 1
    qrels = {
        f"q{t}": {f"d{d}": g for d, g in enumerate(row)} for t, row in enumerate(grade.tolist())
    }
    shared = generator.normal(size=grade.shape)
    scores = [
        grade * (0.5 + 0.005 * run) + 0.7 * shared + 0.7 * generator.normal(size=grade.shape)
        for run in range(runs)
    ]
    return qrels, {
        f"r{run:03}": {
            f"q{t}": {f"d{d}": s for d, s in enumerate(row)} for t, row in enumerate(table.tolist())
        }
        for run, table in enumerate(scores)
    }


RUN_MEASURES = {
    "AP": "map",
    "nDCG@10": "ndcg_cut_10",
    "P@10": "P_10",
    "RR": "recip_rank",
    "R@50": "recall_50",
}


def runs_here(qrels: Any, runs: Any) -> list[float]:
    import calipers as cal

    evaluation = cal.retrieval(qrels, runs, measures=list(RUN_MEASURES))
    return [evaluation[name, "AP"].value for name in runs]


def runs_there(qrels: Any, runs: Any) -> list[float]:
    """Values by pytrec_eval, and SciPy's t test of every pair."""
    from itertools import combinations

    import numpy as np
    import pytrec_eval
    from scipy import stats

    names = {"map", "ndcg_cut.10", "P.10", "recip_rank", "recall.50"}
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, names)
    values = {}
    for run, scores in runs.items():
        by_topic = evaluator.evaluate(scores)
        values[run] = np.array(
            [[by_topic[topic][name] for name in RUN_MEASURES.values()] for topic in qrels]
        )
    for first, second in combinations(runs, 2):
        stats.ttest_rel(values[first], values[second])
    return [table[:, 0].mean() for table in values.values()]


def values_of_cases(cases: int) -> Data:
    """The scores of so many cases by three systems."""
    import numpy as np

    generator = np.random.default_rng(4)
    shared = generator.normal(size=cases)
    return (
        {
            f"s{index}": shared + 0.5 * generator.normal(size=cases) + 0.01 * index
            for index in range(3)
        },
    )


def values_here(systems: Any) -> list[float]:
    import calipers as cal

    evaluation = cal.scores(systems)
    return [evaluation[name, "mean"].value for name in systems]


def values_there(systems: Any) -> list[float]:
    from itertools import combinations

    from scipy import stats

    for first, second in combinations(systems.values(), 2):
        stats.ttest_rel(first, second).confidence_interval()
    return [scores.mean() for scores in systems.values()]


def page(truth: Any, systems: Any) -> list[float]:
    import calipers as cal

    evaluation = cal.classification(truth, probability=systems)
    with tempfile.TemporaryDirectory() as folder:
        evaluation.to_html(Path(folder) / "page.html")
    return [evaluation[name, "AUC"].value for name in systems]


_TWO = {"Calipers": classification_here, f"{SKLEARN}, values": classification_there}
_DESIGNS = {
    "Calipers": _design(),
    "Calipers, weights": _design("weight"),
    "Calipers, clusters": _design("cluster"),
    "Calipers, clusters and 30 slices": _design("cluster", "slices"),
    "Calipers, weights and 30 slices": _design("weight", "slices"),
    "Calipers, threshold by rule": _design(threshold="F1"),
}

CALLS: Mapping[str, Call] = {
    "two-classes": Call(
        "default evaluation of {n:,} rows, two classes", 10 * _MILLION, one_classifier, _TWO,
        check=200_000,
    ),
    "classifiers": Call(
        "default evaluation of 20 systems with all pairs, {n:,} rows", 10_000, twenty_classifiers,
        _TWO, check=1_000,
    ),
    "slices": Call(
        "default evaluation of 50 slices, {n:,} rows", 100_000, sliced,
        {"Calipers": slices_here, f"{SKLEARN}, values": slices_there}, check=10_000,
    ),
    "designs": Call(
        "default evaluation of two systems with their difference, {n:,} rows", 300_000, designs,
        _DESIGNS, check=30_000,
    ),
    "regression-defaults": Call(
        "default evaluation of {n:,} predicted numbers", _MILLION, numbers,
        {"Calipers": regression_here, f"{SKLEARN}, values": regression_there}, check=100_000,
    ),
    "labels": Call(
        "default evaluation of 100 labels, {n:,} rows", 100_000, hundred_labels,
        {"Calipers": labels_here, f"{SKLEARN}, values": labels_there}, check=3_000,
    ),
    "groups": Call(
        "default evaluation of rankings, {n:,} rows in groups of 120; scikit-learn with nDCG@10 and "
        "average precision alone",
        3_600_000, groups, {"Calipers": groups_here, f"{SKLEARN}, values": groups_there},
        check=36_000,
    ),
    "runs": Call(
        "five measures of runs with all pairs, {n:,} documents of 250 topics",
        2_500_000, hundred_runs,
        {"Calipers": runs_here, "pytrec_eval-terrier, scipy.stats.ttest_rel": runs_there},
        check=200_000,
    ),
    "values": Call(
        "scores of {n:,} cases by three systems with all pairs", 200_000, values_of_cases,
        {"Calipers": values_here, "scipy.stats.ttest_rel": values_there}, check=20_000,
    ),
    "page": Call(
        "default evaluation of {n:,} rows, and with its page", 100_000, one_classifier,
        {"Calipers": classification_here, "Calipers, page": page}, check=10_000,
    ),
}  # fmt: skip
