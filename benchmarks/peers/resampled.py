"""The bootstrap, as calls."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from peers.classes import probabilities
from peers.row import Call
from peers.tasks import numbers

#: Measures of two classes that ydf resamples together.
RESAMPLED = (
    *("AUC", "PR-AUC", "AP", "KS", "max-F1", "max-accuracy"),
    *("precision@recall=0.8", "precision@volume=0.2", "recall@precision=0.7"),
    *("recall@FPR=0.1", "FPR@recall=0.9"),
)
#: Replicates of each row's bootstrap, and how many of them a slow loop makes.
REPLICATES, FEW_REPLICATES = 500, 5


def scores_here(truth: Any, score: Any) -> None:
    import calipers as cal

    cal.classification(
        truth, score=score, measures=RESAMPLED, interval="bootstrap", n_resamples=REPLICATES,
        curves=False,
    )  # fmt: skip


def scores_in_ydf(truth: Any, score: Any) -> None:
    ydf = importlib.import_module("ydf")
    ydf.evaluate_predictions(score, truth, ydf.Task.CLASSIFICATION, bootstrapping=REPLICATES)


def scores_in_a_loop(truth: Any, score: Any) -> None:
    """Rows drawn with replacement, and everything read off scikit-learn's two curves."""
    import numpy as np
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
            recall[precision >= 0.7].max(initial=0),
            tpr[fpr <= 0.1].max(),
            fpr[tpr >= 0.9].min(),
        )


def mean_here(truth: Any, predicted: Any) -> None:
    import calipers as cal

    cal.regression(
        truth, predicted, measures=["MAE"], interval="percentile", n_resamples=REPLICATES,
        curves=False,
    )  # fmt: skip


def mean_in_scipy(truth: Any, predicted: Any) -> None:
    import numpy as np
    from scipy.stats import bootstrap

    error = np.abs(truth - predicted)
    # Batches of ten: all replicates at once would be drawn into a matrix of 400 MB.
    bootstrap((error,), np.mean, n_resamples=REPLICATES, batch=10, method="percentile")


LOOP = "scikit-learn in a loop"

CALLS: Mapping[str, Call] = {
    "bootstrap": Call(
        f"{REPLICATES} bootstrap replicates of {len(RESAMPLED)} measures of scores, {{n:,}} rows "
        "(ydf computes them for both classes)",
        *(200_000, probabilities),
        {"Calipers": scores_here, "ydf": scores_in_ydf, LOOP: scores_in_a_loop},
        part={LOOP: FEW_REPLICATES / REPLICATES},
    ),
    "bootstrap-mean": Call(
        f"{REPLICATES} bootstrap replicates of MAE, {{n:,}} rows",
        *(100_000, numbers, {"Calipers": mean_here, "scipy.stats.bootstrap": mean_in_scipy}),
    ),
}
