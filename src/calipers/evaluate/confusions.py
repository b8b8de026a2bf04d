"""The confusion matrix as a result: its cells, their intervals, and a row for each class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from calipers.inference.proportions import wilson_limits
from calipers.inference.settings import Settings
from calipers.measures import parse
from calipers.results import AnyConfusion, Confusion, OccupiedConfusion
from calipers.statistics import ConfusionMatrix, FloatArray, OccupiedMatrix

#: What the table of classes holds of each.
OF_CLASS = ("precision", "recall", "F1")


def confusions(systems: Mapping[str, Any], settings: Settings) -> tuple[AnyConfusion, ...]:
    """The matrices of the systems that predict labels."""
    there = {name: s for name, s in systems.items() if s.predicted is not None}
    return tuple(confusion(name, s.counts.matrix, settings) for name, s in there.items())


def confusion(system: str, matrix: ConfusionMatrix, settings: Settings) -> AnyConfusion:
    """The matrix of one system. The share that each cell has of its true class gets Wilson's
    interval, of Kish's effective number of rows where rows have weights."""
    each = matrix.one_vs_rest()
    per_class = {name: parse(name, "counts").apply(each) for name in OF_CLASS}
    sizes = matrix.effective_size("truth")

    def limits(shares: FloatArray, sizes: FloatArray) -> tuple[FloatArray, FloatArray]:
        if settings.interval != "none":
            return wilson_limits(shares, sizes, settings.level)
        return np.full(shares.shape, np.nan), np.full(shares.shape, np.nan)

    if isinstance(matrix, OccupiedMatrix):
        truth, predicted, cells = matrix.occupied()
        low, high = limits(cells / matrix.truth[truth], sizes[truth])
        _, of_empty = limits(np.where(matrix.truth > 0, 0.0, np.nan), sizes)
        codes = (truth, predicted)
        return OccupiedConfusion(
            system, matrix.labels, *codes, cells, low, high, of_empty, settings.level, per_class
        )
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = matrix.counts / matrix.truth[:, None]
    low, high = limits(shares, sizes[:, None])
    return Confusion(
        system=system,
        labels=matrix.labels,
        counts=matrix.counts,
        low=low,
        high=high,
        level=settings.level,
        per_class=per_class,
    )
