"""Permutation test of the independence of two partitions of the same points."""

from __future__ import annotations

import numpy as np

from calipers.statistics import FloatArray, IntArray

#: Maximum number of points that are permuted in total.
MAX_PERMUTED_POINTS = 100_000_000

#: With more points than the first, and at most as many cells as the second, tables are drawn with
#: their margins fixed instead of permuting points. This takes no longer for more points, so all
#: replicates are made.
MIN_POINTS_FOR_TABLES, MAX_CELLS_FOR_TABLES = 20_000, 2_500

#: Sums of pairs with a smaller relative difference than this count as equal.
_TIE_TOLERANCE = 1e-9


def independence_test(
    truth: IntArray,
    cluster: IntArray,
    n_replicates: int,
    seed: int,
    counts: FloatArray | None = None,
) -> float:
    """Return the p-value of the permutation test of independence of classes and clusters.

    The statistic is the number of pairs of points that share both their class and their cluster, of
    which the permutation distribution has the same cluster sizes. For given sizes the Rand index,
    adjusted or not, and the other pair-counting measures increase with this number, so that the
    test is valid for each of them. It depends on the table of counts alone: the order of the points
    does not matter, nor whether each entry is a point or ``counts`` has its number of points.
    """
    random = np.random.Generator(np.random.Philox(seed))
    shape = int(truth.max()) + 1, int(cluster.max()) + 1

    def cells(flat: IntArray, weights: FloatArray | None) -> tuple[IntArray, IntArray]:
        """Return the non-empty cells in order, with their numbers of points."""
        indices: IntArray | None = None
        if shape[0] * shape[1] > 4 * len(flat) + 10_000:
            indices, flat = np.unique(flat, return_inverse=True)
        sizes = np.bincount(flat.reshape(-1), weights)
        nonempty = np.flatnonzero(sizes)
        return nonempty if indices is None else indices[nonempty], sizes[nonempty].astype(np.int64)

    cell, sizes = cells(truth * shape[1] + cluster, counts)
    row, column = np.divmod(cell, shape[1])
    n_points = int(sizes.sum())
    min_extreme = float(np.square(sizes.astype(np.float64)).sum()) * (1 - _TIE_TOLERANCE)
    if n_points > MIN_POINTS_FOR_TABLES and shape[0] * shape[1] <= MAX_CELLS_FOR_TABLES:
        margins = (np.bincount(codes, sizes).astype(np.int64) for codes in (row, column))
        rows, columns = (margin[margin > 0] for margin in margins)
        squares = sums_of_squares(rows, columns, max(99, n_replicates), random)
        return (int(np.count_nonzero(squares >= min_extreme)) + 1) / (len(squares) + 1)
    permuted, row_of_points = np.repeat(column, sizes), np.repeat(row * shape[1], sizes)
    number = max(99, min(n_replicates, MAX_PERMUTED_POINTS // max(n_points, 1)))
    n_extreme = 0
    for _ in range(number):
        random.shuffle(permuted)
        sizes = cells(row_of_points + permuted, None)[1]
        n_extreme += float(np.square(sizes.astype(np.float64)).sum()) >= min_extreme
    return (n_extreme + 1) / (number + 1)


def sums_of_squares(
    rows: IntArray, columns: IntArray, n_replicates: int, random: np.random.Generator
) -> FloatArray:
    """Return sums of squared cells of random tables with the given margins.

    A table has the probability that it has if points with their columns are assigned to the rows at
    random; its cells are drawn one by one from hypergeometric distributions.
    """
    squares = np.zeros(n_replicates)
    remaining = np.tile(columns, (n_replicates, 1))
    for size in rows[:-1].tolist():
        to_draw = np.full(n_replicates, size)
        remaining_total = remaining.sum(axis=1)
        for column in range(len(columns)):
            remaining_total -= remaining[:, column]
            cell_counts = random.hypergeometric(remaining[:, column], remaining_total, to_draw)
            remaining[:, column] -= cell_counts
            to_draw -= cell_counts
            squares += np.square(cell_counts.astype(np.float64))
    return np.asarray(squares + np.square(remaining.astype(np.float64)).sum(axis=1))
