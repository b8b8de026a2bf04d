"""The bootstrap of values per row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from calipers.inference.clusters import Clusters
    from calipers.inference.settings import Settings
    from calipers.statistics import FloatArray


def row_means(
    values: FloatArray,
    weight: FloatArray | None,
    settings: Settings,
    clusters: Clusters | None = None,
) -> FloatArray:
    """Bootstrap replicates of the (weighted) mean of each column; what is drawn with replacement
    are rows, or clusters of them."""
    from calipers import _core

    if clusters is not None:
        return clusters.means(values, settings)
    if weight is None:
        return np.asarray(_core.bootstrap_means(values, settings.seed, settings.resamples)[0])
    values, weight = values[weight > 0], weight[weight > 0]
    columns = np.column_stack([values * weight[:, None], weight])
    means = np.asarray(_core.bootstrap_means(columns, settings.seed, settings.resamples)[0])
    with np.errstate(divide="ignore", invalid="ignore"):  # a replicate may be without weight
        return means[:, :-1] / means[:, -1:]
