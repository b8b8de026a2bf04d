"""Every kind of reading of rows: random rows, systems that say something of them, and measures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest

from calipers.data.binary_labels import BinaryLabels
from calipers.data.class_labels import ClassLabels
from calipers.inference.clusters import ClusterIndex
from calipers.inference.settings import Settings
from calipers.measures import parse
from calipers.statistics import ClassScoreRows, FloatArray
from calipers.systems.binary import BinaryOutput as Binary
from calipers.systems.multiclass import MulticlassOutput, MulticlassRows
from calipers.systems.multilabel import MultilabelOutput
from calipers.systems.multioutput import MultioutputRegression
from calipers.systems.quantiles import EnsembleOutput, QuantileOutput
from calipers.systems.regression import RegressionOutput

FEW = Settings(n_resamples=200)
NAMES = ("a", "b", "c")


@dataclass(frozen=True, eq=False)
class Data:
    """Rows, and what two systems that often agree say of them."""

    code: Any
    said: FloatArray  # (2, n, 3), probabilities
    sets: Any  # (n, 3)
    number: FloatArray
    weight: FloatArray | None
    cluster: Any | None

    @classmethod
    def drawn(cls, seed: int, n: int, *, weights: bool = False, clusters: int = 0) -> Data:
        generator = np.random.default_rng(seed)
        code = np.concatenate([np.tile(np.arange(3), 5), generator.integers(0, 3, n)])[:n]
        own = generator.normal(size=(n, 3)) + 1.2 * np.eye(3)[code]
        logits = own + generator.normal(scale=0.6, size=(2, n, 3))
        said = np.round(np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True), 2) * 0.98
        said = (said + 0.01) / (said + 0.01).sum(axis=-1, keepdims=True)
        return cls(
            code,
            said,
            (np.eye(3)[code] > 0) | (generator.random((n, 3)) < 0.3),
            generator.normal(size=n),
            generator.uniform(0.3, 3, n) if weights else None,
            generator.integers(0, clusters, n).astype(np.uint32) if clusters else None,
        )

    def taken(self, rows: Any) -> Data:
        """Some of the rows."""
        weight, cluster = (c if c is None else c[rows] for c in (self.weight, self.cluster))
        return Data(
            self.code[rows], self.said[:, rows], self.sets[rows], self.number[rows], weight, cluster
        )

    @property
    def clusters(self) -> ClusterIndex | None:
        if self.cluster is None:
            return None
        return ClusterIndex(self.cluster, int(self.cluster.max()) + 1, self.weight)


def two_classes(d: Data, system: int) -> Any:
    p = d.said[system, :, 1]
    labels = BinaryLabels(("not b", "b"), d.code == 1)
    return Binary("s", labels, d.weight, FEW, p > 0.4, p, p, clusters=d.clusters)


def classes(d: Data, system: int) -> Any:
    problem = MulticlassRows(ClassLabels(NAMES, d.code), d.weight, d.clusters, FEW)
    said = d.said[system]
    rows = ClassScoreRows.from_scores(d.code, said)
    return MulticlassOutput("s", problem, said.argmax(axis=1), rows, is_probability=True)


def label_sets(d: Data, system: int) -> Any:
    p = d.said[system]
    return MultilabelOutput("s", NAMES, d.sets, d.weight, d.clusters, FEW, p > 0.25, p, True)


def numbers(d: Data, system: int) -> Any:
    return RegressionOutput("s", d.number, d.said[system, :, 0], d.weight, FEW, d.clusters)


def quantiles(d: Data, system: int) -> Any:
    said = d.number[:, None] + d.said[system] - 0.5
    return QuantileOutput(
        "s", d.number, (0.25, 0.5, 0.75), np.sort(said), d.weight, FEW, d.clusters
    )


def outputs(d: Data, system: int) -> Any:
    truth = d.number[:, None] + d.sets
    said = 0.5 * truth + d.said[system]
    return MultioutputRegression("s", NAMES, truth, said, d.weight, FEW, d.clusters)


def ensembles(d: Data, system: int) -> Any:
    members = np.sort(d.number[:, None] + d.said[system] - 0.5)
    levels = (1 / 6, 1 / 2, 5 / 6)
    return EnsembleOutput("s", d.number, levels, members, d.weight, FEW, d.clusters)


Build = Callable[[Data, int], Any]
_OF: dict[Build, dict[str, tuple[str, ...]]] = {
    two_classes: {
        "counts": ("accuracy", "precision", "F1", "MCC"),
        "scores": ("AUC", "Gini", "AP", "PR-AUC", "PR-AUC-DG", "pAUC(max_fpr=0.5)"),
        "probabilities": ("log-loss", "perplexity"),
        "calibration": ("calibration-slope", "calibration-intercept"),
    },
    classes: {
        "counts": (
            *("accuracy", "F1[b]", "macro-F1", "weighted-F1", "micro-precision", "kappa"),
            *("micro-F1(without=['a'])", "weighted-F1(labels=['a','c'])"),
        ),
        "ranks": ("top-2-accuracy",),
        "scores": ("AUC[b]", "macro-AUC", "macro-AP", "weighted-ovo-AUC", "micro-AUC"),
        "probabilities": ("Brier",),
        "calibration": ("log-loss-skill", "Brier-skill"),
    },
    label_sets: {
        "counts": ("macro-F1", "micro-precision", "F1[c]", "micro-F1(without=['a'])"),
        "scores": ("macro-AUC", "micro-AUC", "micro-AUC(without=['a'])"),
        "multilabel": ("example-F1", "Hamming-loss"),
    },
    quantiles: {
        "quantiles": ("mean-pinball", "interval-coverage@0.5", "mean-width@0.5"),
        "quantile-ratios": ("WQL",),
    },
    ensembles: {"ensembles": ("CRPS", "CRPS(fair=True)"), "regression": ("MAE",)},
    numbers: {
        "regression": ("RMSE", "MSE", "MAE"),
        "fit": ("R2", "Pearson", "WAPE"),
        "order": ("Spearman", "D2-absolute-error"),
    },
    outputs: {
        "regression": ("macro-RMSE", "macro-MAE", "macro-MAE(without=['a'])", "RMSE[b]"),
        "fit": ("macro-R2", "variance-weighted-R2", "macro-Pearson", "macro-WAPE"),
        "order": ("macro-Spearman", "macro-D2-absolute-error"),
    },
}
#: Every kind of reading of rows.
KINDS = [
    (build, parse(name, family))
    for build, families in _OF.items()
    for family, names in families.items()
    for name in names
]


designs = pytest.mark.parametrize("design", ["plain", "weighted", "clustered", "both"])


@cache
def data(design: str, n: int, seed: int) -> Data:
    weights, clusters = design in ("weighted", "both"), design in ("clustered", "both")
    return Data.drawn(seed, n, weights=weights, clusters=n // 4 if clusters else 0)
