"""Bootstrap of values per row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from calipers.inference.intervals import ROUNDING_TOLERANCE

if TYPE_CHECKING:
    from calipers.inference.clusters import ClusterIndex
    from calipers.inference.settings import Settings
    from calipers.statistics import FloatArray


def bootstrap_weighted_means(
    columns: Sequence[FloatArray], weight: FloatArray, settings: Settings
) -> tuple[FloatArray, FloatArray]:
    """Return bootstrap replicates of weighted means of columns, and their standard errors.

    Both have shape (B, columns). The standard error is √(Σw²(x − m)²·n/(n − 1))/Σw with Kish's n; a
    unit without a value (NaN) has no weight in its column.

    Σw²(x − m)² of a replicate is expanded into means of five terms, with x centered at the mean, so
    that there is no cancellation.
    """
    from calipers import _core

    results = []
    for column in columns:
        defined_mask = ~np.isnan(column)
        center = (
            np.average(column[defined_mask], weights=weight[defined_mask])
            if defined_mask.any()
            else 0.0
        )
        x, w = column - center, np.where(defined_mask, weight, np.nan)
        terms = np.column_stack([w, w * x, w**2, w**2 * x, (w * x) ** 2, defined_mask])
        replicates, _ = _core.bootstrap_means(terms, settings.seed, settings.n_resamples)
        total, sums, squares, cross, product_squares, proportion = replicates.T
        with np.errstate(divide="ignore", invalid="ignore"):  # a replicate may be of one row alone
            deviation, n_drawn = sums / total, proportion * len(column)
            spread = product_squares - 2 * deviation * cross + deviation**2 * squares
            # If all units are equal there is no error, only rounding.
            spread[spread <= ROUNDING_TOLERANCE * (product_squares + deviation**2 * squares)] = 0.0
            n = n_drawn * total**2 / squares  # Kish's size
            errors = np.sqrt(spread / n_drawn * n / np.maximum(n - 1, 1e-12)) / total
        results.append((center + deviation, errors))
    means, errors = (np.column_stack(arrays) for arrays in zip(*results, strict=True))
    return means, errors


def bootstrap_means(
    values: FloatArray,
    weight: FloatArray | None,
    settings: Settings,
    clusters: ClusterIndex | None = None,
) -> FloatArray:
    """Return bootstrap replicates of the (weighted) mean of each column.

    Rows, or clusters of rows, are resampled with replacement.
    """
    from calipers import _core

    if clusters is not None:
        return clusters.bootstrap_means(values, settings)
    if weight is None:
        return np.asarray(_core.bootstrap_means(values, settings.seed, settings.n_resamples)[0])
    values, weight = values[weight > 0], weight[weight > 0]
    columns = np.column_stack([values * weight[:, None], weight])
    means = np.asarray(_core.bootstrap_means(columns, settings.seed, settings.n_resamples)[0])
    with np.errstate(divide="ignore", invalid="ignore"):  # a replicate may be without weight
        return means[:, :-1] / means[:, -1:]


#: Maximum number of elements that are drawn at a time.
_MAX_DRAWN_ELEMENTS = 4_000_000


def poisson_weights(
    n_rows: int, weight: FloatArray | None, settings: Settings, clusters: ClusterIndex | None = None
) -> Iterator[FloatArray]:
    """Yield the weights of rows in replicates of the Poisson bootstrap of rows or clusters.

    Batches have shape (b, rows).
    """
    step = max(1, _MAX_DRAWN_ELEMENTS // max(n_rows, 1))
    for begin in range(0, settings.n_resamples, step):
        batch = range(begin, min(begin + step, settings.n_resamples))
        yield np.stack([replicate_weights(n_rows, weight, settings, b, clusters) for b in batch])


def replicate_weights(
    n_rows: int,
    weight: FloatArray | None,
    settings: Settings,
    replicate: int,
    clusters: ClusterIndex | None = None,
) -> FloatArray:
    """Return the weight of each row in one replicate."""
    from calipers import _core

    units = n_rows if clusters is None else clusters.n_codes
    counts = _core.poisson_counts(settings.seed, replicate, units)
    row_counts = counts if clusters is None else counts[clusters.codes]
    return row_counts.astype(np.float64) if weight is None else row_counts * weight
