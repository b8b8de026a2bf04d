"""Contingency table of two partitions of the same points: true classes and clusters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from calipers.caching import cached_property
from calipers.lazy_dataclasses import dataclass
from calipers.lazy_imports import numpy as np
from calipers.statistics.base import FloatArray, IntArray, Statistic

if TYPE_CHECKING:
    import numpy.typing as npt
    from typing_extensions import Self

#: The expected information is summed over counts within this number of standard deviations of their
#: mean, plus a number of counts; all others together are less than rounding errors.
_MAX_DEVIATIONS, _EXTRA_COUNTS = 12, 40

#: Number of values that are computed at a time.
_MAX_BATCH_VALUES = 2_000_000


@dataclass(frozen=True, eq=False)
class ContingencyTable(Statistic):
    """Contingency table of classes and clusters, by its C non-empty cells.

    Parameters
    ----------
    cell_counts : ndarray of shape (..., C)
        Number of points in each cell. Leading axes are replicates.
    class_of, cluster_of : ndarray of shape (C,)
        Class and cluster of each cell, as indices into ``classes`` and ``clusters``.
    classes : tuple of str
        Names of the K classes.
    clusters : tuple of str
        Names of the L clusters.
    rows : int, default=0
        Number of points.

    Examples
    --------
    >>> table = ContingencyTable.from_codes(np.array([0, 0, 1]), np.array([1, 1, 0]), "ab", "xy")
    >>> table.cell_counts.tolist(), table.class_sizes.tolist(), table.cluster_sizes.tolist()
    ([2.0, 1.0], [2.0, 1.0], [1.0, 2.0])
    """

    cell_counts: FloatArray
    class_of: IntArray
    cluster_of: IntArray
    classes: tuple[str, ...]
    clusters: tuple[str, ...]
    rows: int = 0

    @classmethod
    def from_codes(
        cls,
        truth: npt.NDArray[np.integer[Any]],
        cluster: npt.NDArray[np.integer[Any]],
        classes: Sequence[str],
        clusters: Sequence[str],
        point_counts: FloatArray | None = None,
    ) -> Self:
        """Count points by class and cluster.

        Parameters
        ----------
        truth, cluster : ndarray of shape (n,)
            Class and cluster of each point, as indices.
        classes, clusters : sequence of str
            Names of the classes and of the clusters.
        point_counts : ndarray of shape (n,), optional
            Number of identical points that each entry stands for. By default it is 1.

        Returns
        -------
        ContingencyTable
            Table of the points.
        """
        flat_index = np.asarray(truth, np.int64) * len(clusters) + cluster
        if point_counts is None:
            cell_index, cell_counts = np.unique(flat_index, return_counts=True)
        else:
            cell_index, inverse = np.unique(flat_index, return_inverse=True)
            cell_counts = np.bincount(inverse, point_counts, len(cell_index))
        codes = (
            np.divmod(cell_index, len(clusters)) if len(cell_index) else (cell_index, cell_index)
        )
        rows = len(flat_index) if point_counts is None else int(point_counts.sum())
        return cls(cell_counts.astype(np.float64), *codes, tuple(classes), tuple(clusters), rows)

    def __add__(self, other: Self) -> Self:
        if (self.classes, self.clusters) != (other.classes, other.clusters):
            raise ValueError("the tables have different classes or clusters")
        flat = [table.class_of * len(table.clusters) + table.cluster_of for table in (self, other)]
        cell_index, inverse = np.unique(np.concatenate(flat), return_inverse=True)
        cell_counts = np.bincount(
            inverse, np.append(self.cell_counts, other.cell_counts), len(cell_index)
        )
        codes = (
            np.divmod(cell_index, len(self.clusters))
            if len(cell_index)
            else (cell_index, cell_index)
        )
        code_fields: Any = dict(zip(("class_of", "cluster_of"), codes, strict=True))
        return replace(
            self,
            cell_counts=cell_counts.astype(np.float64),
            rows=self.rows + other.rows,
            **code_fields,
        )

    @classmethod
    def from_cells(
        cls,
        cell_counts: FloatArray,
        cell_class: IntArray,
        cell_cluster: IntArray,
        reference: ContingencyTable,
        information_factor: float = 1.0,
    ) -> Self:
        """Create a table from the counts of cells, of which several may be the same.

        Parameters
        ----------
        cell_counts : ndarray of shape (..., C)
            Number of points in each cell.
        cell_class, cell_cluster : ndarray of shape (C,)
            Class and cluster of each cell, as indices.
        reference : ContingencyTable
            Table whose names are used, and whose expected mutual information: it hardly changes
            between draws, and takes long to compute.
        information_factor : float, default=1.0
            Factor of that expected information.

        Returns
        -------
        ContingencyTable
            Table with equal cells merged.
        """
        n_clusters = len(reference.clusters)
        cell_index, inverse = np.unique(cell_class * n_clusters + cell_cluster, return_inverse=True)
        merged = (
            cell_counts
            if len(cell_index) == len(inverse)
            else _reduce_cells(cell_counts, inverse, len(cell_index))
        )
        if merged is not cell_counts:
            cell_class, cell_cluster = np.divmod(cell_index, n_clusters)
        table = cls(merged, cell_class, cell_cluster, reference.classes, reference.clusters)
        table.__dict__["_chance"] = reference, information_factor
        return table

    @cached_property
    def total(self) -> FloatArray:
        """Total number of points."""
        return np.asarray(self.cell_counts.sum(axis=-1))

    @cached_property
    def class_sizes(self) -> FloatArray:
        """Size of each class, in points (..., K)."""
        return _reduce_cells(self.cell_counts, self.class_of, len(self.classes))

    @cached_property
    def cluster_sizes(self) -> FloatArray:
        """Size of each cluster, in points (..., L)."""
        return _reduce_cells(self.cell_counts, self.cluster_of, len(self.clusters))

    @cached_property
    def majority_counts(self) -> FloatArray:
        """Points of the most frequent class in each cluster (..., L)."""
        return _reduce_cells(self.cell_counts, self.cluster_of, len(self.clusters), "maximum")

    @cached_property
    def matched_cells(self) -> npt.NDArray[np.bool_]:
        """Cells of the one-to-one assignment of clusters to classes with most points (..., C).

        It is found by the Hungarian method (Kuhn 1955).
        """
        # No other statistic needs SciPy, which is imported only here.
        from scipy.optimize import linear_sum_assignment

        flat_counts = self.cell_counts.reshape(-1, self.cell_counts.shape[-1])
        counts = np.zeros((len(self.classes), len(self.clusters)))
        out = np.zeros(flat_counts.shape, bool)
        for matched, cells in zip(out, flat_counts, strict=True):
            counts[self.class_of, self.cluster_of] = cells
            is_matched = np.zeros(counts.shape, bool)
            is_matched[linear_sum_assignment(counts, maximize=True)] = True
            matched[:] = is_matched[self.class_of, self.cluster_of]
        return out.reshape(self.cell_counts.shape)

    @cached_property
    def pair_counts(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Pair counts of points: together in both partitions, in classes, in clusters, and all."""
        joint, classes, clusters = (
            (sizes * (sizes - 1) / 2).sum(axis=-1)
            for sizes in (self.cell_counts, self.class_sizes, self.cluster_sizes)
        )
        return joint, classes, clusters, self.total * (self.total - 1) / 2

    @cached_property
    def entropies_and_information(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Entropies of classes and of clusters, and their mutual information, in nats."""
        # Proportions rather than counts in the logarithm, to reduce cancellation.
        total = np.maximum(self.total, 1e-300)[..., None]
        class_proportions, cluster_proportions = (
            self.class_sizes / total,
            self.cluster_sizes / total,
        )
        joint_proportions = self.cell_counts / total
        expected_proportions = (
            class_proportions[..., self.class_of] * cluster_proportions[..., self.cluster_of]
        )
        information = (
            joint_proportions
            * _log(
                joint_proportions / np.where(expected_proportions > 0, expected_proportions, 1.0)
            )
        ).sum(axis=-1)
        marginal_entropies = (
            np.abs((proportions * _log(proportions)).sum(axis=-1))
            for proportions in (class_proportions, cluster_proportions)
        )
        return *marginal_entropies, np.maximum(information, 0.0)

    @cached_property
    def expected_information(self) -> FloatArray:
        """Mean mutual information of random partitions with these class and cluster sizes.

        The expectation is over all permutations of the points (Vinh, Epps and Bailey 2010).
        """
        if "_chance" in self.__dict__:
            reference, factor = self.__dict__["_chance"]
            return np.asarray(reference.expected_information * factor)
        sizes = (self.class_sizes, self.cluster_sizes)
        flat = [margin.reshape(-1, margin.shape[-1]) for margin in sizes]
        values = [_expected_information(a[a > 0], b[b > 0]) for a, b in zip(*flat, strict=True)]
        return np.array(values).reshape(self.cell_counts.shape[:-1])

    @cached_property
    def n_nonempty(self) -> tuple[Any, Any]:
        """Pair of the numbers of non-empty classes and clusters."""
        sizes = self.class_sizes, self.cluster_sizes
        return tuple(np.count_nonzero(margin > 0, axis=-1) for margin in sizes)

    def leave_one_out(
        self, *, separates_matched: bool = False
    ) -> Iterator[tuple[Self, FloatArray]]:
        """Iterate over the tables with one point of a cell left out.

        Parameters
        ----------
        separates_matched : bool, default=False
            Whether there is a measure of the assignment of clusters to classes, whose cells then
            have a table each.

        Yields
        ------
        table : ContingencyTable
            Batch of b tables, (b, C). Cells from which removing a point has the same effect on all
            measures are represented by one table.
        points : ndarray of shape (b,)
            Number of points that each table stands for.
        """
        is_majority = self.cell_counts == self.majority_counts[self.cluster_of]
        ties = np.bincount(self.cluster_of, is_majority, len(self.clusters))[self.cluster_of]
        sizes = self.class_sizes[self.class_of], self.cluster_sizes[self.cluster_of]
        # Contributions of a cell to the sums that measures are computed from.
        signature = np.stack(
            [self.cell_counts, *sizes, is_majority * ties, self.majority_counts[self.cluster_of]]
        )
        if separates_matched:
            matched_number = np.where(self.matched_cells, np.arange(1, signature.shape[1] + 1), 0)
            signature = np.concatenate([signature, matched_number[None]])
        _, cell, signature_index = np.unique(
            signature, axis=1, return_index=True, return_inverse=True
        )
        points = np.bincount(signature_index.ravel(), self.cell_counts).astype(np.float64)
        n = float(self.total)
        batch_size = max(1, _MAX_BATCH_VALUES // max(1, len(self.cell_counts)))
        for begin in range(0, len(cell), batch_size):
            cells = cell[begin : begin + batch_size]
            cell_counts = np.tile(self.cell_counts, (len(cells), 1))
            cell_counts[np.arange(len(cells)), cells] -= 1
            table = replace(self, cell_counts=cell_counts)
            # The expected information is proportional to 1/n, up to terms of order 1/n².
            table.__dict__["_chance"] = self, n / max(n - 1, 1.0)
            yield table, points[begin : begin + batch_size]

    def single_cluster(self) -> Self:
        """Return the table with all points in one cluster, as a leading axis.

        Returns
        -------
        ContingencyTable
            Table with a leading axis of length 1 and a single cluster.
        """
        class_indices = np.flatnonzero(self.class_sizes)
        zero_codes = np.zeros(len(class_indices), np.int64)
        cell_counts = self.class_sizes[class_indices][None]
        return replace(self, cell_counts=cell_counts, class_of=class_indices, cluster_of=zero_codes)


def _reduce_cells(
    values: FloatArray, code: IntArray, size: int, operation: str = "add"
) -> FloatArray:
    """Sum the cells of each code, or take their maximum."""
    out = np.zeros((*values.shape[:-1], size))
    if len(code):
        order = np.argsort(code, kind="stable")
        distinct_codes, start = np.unique(code[order], return_index=True)
        out[..., distinct_codes] = getattr(np, operation).reduceat(
            np.take(values, order, axis=-1), start, axis=-1
        )
    return out


def _log(values: FloatArray) -> FloatArray:
    return np.log(np.where(values > 0, values, 1.0))


def _expected_information(a: FloatArray, b: FloatArray) -> float:
    """Compute the expected mutual information of partitions of sizes ``a`` and ``b``.

    The number of points that a class and a cluster share is hypergeometric.
    """
    n, total = float(a.sum()), 0.0
    if len(a) < 2 or len(b) < 2:
        return 0.0
    first, first_counts = np.unique(a, return_counts=True)
    second, second_counts = np.unique(b, return_counts=True)
    for size, n_equal in zip(first, first_counts, strict=True):
        mean = size * second / n
        sd = np.sqrt(mean * (1 - size / n) * (n - second) / max(n - 1, 1.0))
        low = np.maximum(
            np.maximum(1, size + second - n), mean - _MAX_DEVIATIONS * sd - _EXTRA_COUNTS
        )
        high = np.minimum(np.minimum(size, second), mean + _MAX_DEVIATIONS * sd + _EXTRA_COUNTS)
        low, width = np.floor(low), int((np.floor(high) - np.floor(low)).max()) + 1
        step = max(1, _MAX_BATCH_VALUES // width)
        for begin in range(0, len(second), step):
            batch = slice(begin, begin + step)
            second_size = second[batch, None]
            k = low[batch, None] + np.arange(width)
            valid_mask = (k <= np.floor(high[batch, None])) & (k >= 1)
            k = np.where(valid_mask, k, 1.0)
            log_probability = (
                _log_factorial(size)
                + _log_factorial(second_size)
                + _log_factorial(n - size)
                + _log_factorial(n - second_size)
                - _log_factorial(n)
                - _log_factorial(k)
                - _log_factorial(size - k)
                - _log_factorial(second_size - k)
                - _log_factorial(np.maximum(n - size - second_size + k, 0))
            )
            term = np.where(
                valid_mask,
                k / n * np.log(n * k / (size * second_size)) * np.exp(log_probability),
                0.0,
            )
            total += n_equal * float((term.sum(axis=1) * second_counts[batch]).sum())
    return total


#: log n! of the numbers below 32; Stirling's series has all digits of the others.
_N_TABULATED = 32


def _log_factorial(n: Any) -> FloatArray:
    x = np.asarray(n, np.float64)
    small = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, _N_TABULATED)))])
    z = np.maximum(x, 1.0)
    series = (1 - (1 / 30 - (1 / 105 - 1 / (140 * z**2)) / z**2) / z**2) / (12 * z)
    large = (z + 0.5) * np.log(z) - z + 0.5 * np.log(2 * np.pi) + series
    return np.where(x < _N_TABULATED, small[np.minimum(x, _N_TABULATED - 1).astype(np.intp)], large)
