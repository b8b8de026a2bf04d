"""The confusion matrix as a result: its cells, their intervals, and a row for each class."""

from __future__ import annotations

import numpy as np

from calipers.inference.estimate import Settings
from calipers.inference.intervals import wilson_limits
from calipers.measures import parse
from calipers.results import Confusion
from calipers.statistics import ConfusionMatrix

#: What the table of classes holds of each.
OF_CLASS = ("precision", "recall", "F1")


def confusion(system: str, matrix: ConfusionMatrix, settings: Settings) -> Confusion:
    """The matrix of one system. The share that each cell has of its true class gets Wilson's
    interval, of Kish's effective number of rows where rows have weights."""
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = matrix.counts / matrix.truth[:, None]
    low = high = np.full(shares.shape, np.nan)
    if settings.interval != "none":
        sizes = matrix.effective_size("truth")[:, None]
        low, high = wilson_limits(shares, sizes, settings.level)
    each = matrix.one_vs_rest()
    return Confusion(
        system=system,
        labels=matrix.labels,
        counts=matrix.counts,
        low=low,
        high=high,
        level=settings.level,
        per_class={name: parse(name, "counts").apply(each) for name in OF_CLASS},
    )
