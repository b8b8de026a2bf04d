"""Sparse confusion matrices of many classes, most of whose cells are empty."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from calipers.caching import cached_property
from calipers.lazy_imports import numpy as np
from calipers.statistics.base import FloatArray, IntArray, cell_sums
from calipers.statistics.confusion import ConfusionMatrix

if TYPE_CHECKING:
    import numpy.typing as npt
    from typing_extensions import Self

#: Number of classes above which a matrix stores only its non-empty cells, not all K².
MAX_DENSE_CLASSES = 100


class SparseConfusionMatrix(ConfusionMatrix):
    """Confusion matrix that stores only its C non-empty cells, not all K².

    Everything that measures use is computed from these, in time and memory of K + C. ``counts`` and
    ``squares`` are the full arrays, created on first access: with ten thousand classes they take
    800 MB each.

    Parameters
    ----------
    cell_counts : ndarray of shape (..., C)
        Counts (sums of weights) of the cells. Leading axes are replicates.
    cell_squares : ndarray of shape (..., C)
        Sums of squared weights of the cells.
    cell_index : ndarray of shape (C,)
        Flat index i·K + j of each cell of true class i and predicted class j, ascending.
    labels : tuple of str
        Names of the K classes.
    rows : int, default=0
        Number of rows.

    Examples
    --------
    >>> matrix = SparseConfusionMatrix.from_codes([0, 0, 1, 2], [0, 1, 1, 1], ("a", "b", "c"))
    >>> matrix.cell_counts.tolist(), matrix.cell_index.tolist(), matrix.prediction_margin.tolist()
    ([1.0, 1.0, 1.0, 1.0], [0, 1, 4, 7], [1.0, 3.0, 0.0])
    """

    cell_counts: FloatArray
    cell_squares: FloatArray
    cell_index: IntArray

    def __init__(
        self,
        cell_counts: FloatArray,
        cell_squares: FloatArray,
        cell_index: IntArray,
        labels: tuple[str, ...],
        rows: int = 0,
    ) -> None:
        values = {
            "cell_counts": cell_counts,
            "cell_squares": cell_squares,
            "cell_index": cell_index,
        }
        self.__dict__.update(values, labels=labels, rows=rows)

    @classmethod
    def from_codes(
        cls,
        truth: npt.NDArray[np.integer[Any]] | npt.NDArray[np.bool_],
        predicted: npt.NDArray[np.integer[Any]] | npt.NDArray[np.bool_],
        labels: Sequence[str] = ("negative", "positive"),
        weight: FloatArray | None = None,
    ) -> Self:
        """Count rows by true and predicted class.

        Parameters
        ----------
        truth, predicted : ndarray of shape (n,)
            Classes of the rows, as indices into ``labels``.
        labels : sequence of str, default=("negative", "positive")
            Names of the K classes.
        weight : ndarray of shape (n,), optional
            Weights of the rows. By default all are 1.

        Returns
        -------
        SparseConfusionMatrix
            Matrix of the rows.
        """
        cell = np.asarray(truth, np.int64) * len(labels) + np.asarray(predicted, np.int64)
        cell_index, inverse = np.unique(cell, return_inverse=True)
        return cls(
            *cell_sums(inverse, weight, len(cell_index)), cell_index, tuple(labels), len(cell)
        )

    def __repr__(self) -> str:
        n_cells = len(self.cell_index)
        return f"{type(self).__name__}({self.n_classes} classes, {n_cells} occupied cells)"

    def _field_values(self) -> dict[str, Any]:
        names = ("cell_counts", "cell_squares", "cell_index", "labels", "rows")
        return {name: getattr(self, name) for name in names}

    def divide_weights(self, common_weight: float) -> Self:
        """Return the matrix with every weight divided by ``common_weight``.

        Each row then has weight 1.

        Parameters
        ----------
        common_weight : float
            Weight that every row has.

        Returns
        -------
        SparseConfusionMatrix
            Matrix of the same rows with weight 1.
        """
        cell_counts = np.rint(self.cell_counts / common_weight)
        return type(self)(
            **{**self._field_values(), "cell_counts": cell_counts, "cell_squares": cell_counts}
        )

    def __add__(self, other: Self) -> Self:
        if self.labels != other.labels:
            raise ValueError(f"{len(self.labels)} labels and {len(other.labels)} do not match")
        cell_index, inverse = np.unique(
            np.append(self.cell_index, other.cell_index), return_inverse=True
        )
        cell_counts, squares = (
            np.bincount(inverse, np.append(*arrays), len(cell_index)).astype(np.float64)
            for arrays in (
                (self.cell_counts, other.cell_counts),
                (self.cell_squares, other.cell_squares),
            )
        )
        return type(self)(cell_counts, squares, cell_index, self.labels, self.rows + other.rows)

    def with_cell_counts(self, cell_counts: FloatArray) -> Self:
        """Return the matrix with other counts in the same cells.

        Parameters
        ----------
        cell_counts : ndarray of shape (..., C)
            Counts of the cells. Leading axes are replicates.

        Returns
        -------
        SparseConfusionMatrix
            Matrix with these counts.
        """
        return type(self)(cell_counts, cell_counts, self.cell_index, self.labels, self.rows)

    @cached_property
    def counts(self) -> FloatArray:
        """Full array of counts, shape ``(..., K, K)``."""
        return self._to_dense(self.cell_counts)

    @cached_property
    def squares(self) -> FloatArray:
        """Full array of the sums of squared weights."""
        return (
            self.counts
            if self.cell_squares is self.cell_counts
            else self._to_dense(self.cell_squares)
        )

    def _to_dense(self, values: FloatArray) -> FloatArray:
        k = self.n_classes
        out = np.zeros((*values.shape[:-1], k * k))
        out[..., self.cell_index] = values
        return out.reshape(*values.shape[:-1], k, k)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.labels)

    @cached_property
    def truth_margin(self) -> FloatArray:
        """Margin of the truth, shape ``(..., K)``."""
        return self._margin(self.cell_index // self.n_classes)

    @cached_property
    def prediction_margin(self) -> FloatArray:
        """Margin of the prediction, shape ``(..., K)``."""
        return self._margin(self.cell_index % self.n_classes)

    def _margin(self, code: IntArray) -> FloatArray:
        cell_counts = self.cell_counts
        if (code[1:] < code[:-1]).any():
            order = np.argsort(code, kind="stable")
            code, cell_counts = code[order], np.take(cell_counts, order, axis=-1)
        distinct_codes, start = np.unique(code, return_index=True)
        out = np.zeros((*cell_counts.shape[:-1], self.n_classes))
        if len(distinct_codes):
            out[..., distinct_codes] = np.add.reduceat(cell_counts, start, axis=-1)
        return out

    @cached_property
    def _diagonal_mask(self) -> npt.NDArray[np.bool_]:
        return np.asarray(self.cell_index // self.n_classes == self.cell_index % self.n_classes)

    @cached_property
    def hits(self) -> FloatArray:
        """Diagonal: weight of the correctly classified rows of each class, shape ``(..., K)``."""
        out = np.zeros((*self.cell_counts.shape[:-1], self.n_classes))
        out[..., self.cell_index[self._diagonal_mask] % self.n_classes] = self.cell_counts[
            ..., self._diagonal_mask
        ]
        return out

    @cached_property
    def total(self) -> FloatArray:
        """Total weight of the rows."""
        return np.asarray(self.cell_counts.sum(axis=-1))

    @cached_property
    def correct(self) -> FloatArray:
        """Weight of the correctly classified rows, which does not exceed the total."""
        return np.asarray(
            np.minimum(self.cell_counts[..., self._diagonal_mask].sum(axis=-1), self.total)
        )

    @property
    def has_weights(self) -> bool:
        """Whether the rows have weights other than 1."""
        return self.cell_squares is not self.cell_counts and not np.array_equal(
            self.cell_squares, self.cell_counts
        )

    @property
    def squared_weight_matrix(self) -> Self:
        """Matrix of the sums of squared weights."""
        return self if self.cell_squares is self.cell_counts else self._squared_weight_matrix

    @cached_property
    def _squared_weight_matrix(self) -> Self:
        return self.with_cell_counts(self.cell_squares)

    def cell(self, truth: int, predicted: int) -> FloatArray:
        """Return the weight of one cell, with leading axes.

        Parameters
        ----------
        truth, predicted : int
            Indices of the true and of the predicted class.

        Returns
        -------
        ndarray
            Weight of the cell, with the leading axes of ``cell_counts``; 0 if it is not stored.
        """
        flat_index = truth * self.n_classes + predicted
        position = int(np.searchsorted(self.cell_index, flat_index))
        if position == len(self.cell_index) or self.cell_index[position] != flat_index:
            return np.zeros(self.cell_counts.shape[:-1])
        return np.asarray(self.cell_counts[..., position])

    def distance_sum(self, power: int) -> FloatArray:
        """Sum a power of the distance of true and predicted class over the rows, Σ|i − j|^power.

        Parameters
        ----------
        power : int
            Exponent of the distance, such as 1 or 2.

        Returns
        -------
        ndarray
            Sum over the rows, with the leading axes of ``cell_counts``.
        """
        truth, predicted = np.divmod(self.cell_index, self.n_classes)
        return np.asarray(
            self.cell_counts @ (np.abs(truth - predicted) ** power).astype(np.float64)
        )

    def cell_sum(
        self, values: Callable[[FloatArray, IntArray, IntArray], FloatArray]
    ) -> FloatArray:
        """Sum a function of the cells.

        Parameters
        ----------
        values : callable
            Function of the counts of cells, shape (..., C), and of the indices of their true and
            predicted classes, shape (C,), that is 0 for empty cells.

        Returns
        -------
        ndarray
            Sum of the values, with leading axes.
        """
        truth, predicted = np.divmod(self.cell_index, self.n_classes)
        return np.asarray(values(self.cell_counts, truth, predicted).sum(axis=-1))

    def nonempty_cells(self) -> tuple[IntArray, IntArray, FloatArray]:
        """List the non-empty cells of a single matrix, in the order of the cells.

        Returns
        -------
        truth, predicted : ndarray of shape (C,)
            Class indices of each cell.
        weight : ndarray of shape (C,)
            Weight of the rows in each cell.
        """
        occupied_mask = self.cell_counts != 0
        return *np.divmod(self.cell_index[occupied_mask], self.n_classes), self.cell_counts[
            occupied_mask
        ]

    @cached_property
    def _has_integer_counts(self) -> bool:
        return np.array_equal(self.cell_counts, np.rint(self.cell_counts))

    def _nonempty_indicator(self) -> Self:
        return self.with_cell_counts((self.cell_counts > 0).astype(np.float64))

    def constant_predictions(self) -> Self:
        """Return the matrix of always predicting the most frequent class, as a leading axis.

        With this number of classes, not every constant prediction is evaluated.

        Returns
        -------
        SparseConfusionMatrix
            Matrix with a leading axis of length 1.
        """
        class_indices = np.flatnonzero(self.truth_margin)
        cell_index = class_indices * self.n_classes + int(self.truth_margin.argmax())
        cell_counts = self.truth_margin[class_indices][None]
        return type(self)(cell_counts, cell_counts, cell_index, self.labels, self.rows)

    def resample(self, n_replicates: int, seed: int) -> Self:
        """Draw bootstrap replicates, as multinomial samples of the cells.

        Parameters
        ----------
        n_replicates : int
            Number of replicates.
        seed : int
            Seed of the random generator.

        Returns
        -------
        SparseConfusionMatrix
            Matrix with the replicates as a leading axis.

        Raises
        ------
        ValueError
            If the rows have weights.
        """
        return self.with_cell_counts(self._sample_cells(self.cell_counts, n_replicates, seed))


class ConfusionReplicates(ConfusionMatrix):
    """Replicates of a matrix of many classes, by their margins and diagonals (..., K).

    Most measures need only these. ``make_matrix`` creates the matrices themselves, and
    ``make_indicator`` the margins of the numbers of non-empty cells, each on first access.
    """

    def __init__(
        self,
        margins: tuple[FloatArray, FloatArray, FloatArray],
        labels: tuple[str, ...],
        make_matrix: Callable[[], ConfusionMatrix],
        make_indicator: Callable[[], ConfusionReplicates],
    ) -> None:
        truth_margin, prediction_margin, hits = margins
        values = {
            "truth_margin": truth_margin,
            "prediction_margin": prediction_margin,
            "hits": hits,
        }
        self.__dict__.update(values, labels=labels, rows=0, _make=make_matrix, _fill=make_indicator)

    @cached_property
    def _matrix(self) -> ConfusionMatrix:
        matrix: ConfusionMatrix = self.__dict__["_make"]()
        return matrix

    @cached_property
    def counts(self) -> FloatArray:
        """Full arrays of counts."""
        return self._matrix.counts

    @property
    def squares(self) -> FloatArray:
        """Counts in place of sums of squared weights, which are unknown for replicates."""
        return self.counts

    @property
    def squared_weight_matrix(self) -> Self:
        """Matrices themselves, as squared weights are unknown for replicates."""
        return self

    @property
    def has_weights(self) -> bool:
        """Whether the rows have weights other than 1, which is unknown for replicates: False."""
        return False

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.labels)

    @cached_property
    def total(self) -> FloatArray:
        """Total weight of the rows."""
        return np.asarray(self.truth_margin.sum(axis=-1))

    @cached_property
    def correct(self) -> FloatArray:
        """Weight of the correctly classified rows, which does not exceed the total."""
        return np.asarray(np.minimum(self.hits.sum(axis=-1), self.total))

    def cell(self, truth: int, predicted: int) -> FloatArray:
        """Return the weight of one cell, with leading axes."""
        return self._matrix.cell(truth, predicted)

    def distance_sum(self, power: int) -> FloatArray:
        """Sum a power of the distance of true and predicted class over the rows, Σ|i − j|^power."""
        return self._matrix.distance_sum(power)

    def cell_sum(
        self, values: Callable[[FloatArray, IntArray, IntArray], FloatArray]
    ) -> FloatArray:
        """Sum a function of the counts of cells and of the indices of their classes."""
        return self._matrix.cell_sum(values)

    @cached_property
    def _has_integer_counts(self) -> bool:
        return all(
            np.array_equal(margin, np.rint(margin))
            for margin in (self.truth_margin, self.prediction_margin)
        )

    def _nonempty_indicator(self) -> ConfusionReplicates:
        replicates: ConfusionReplicates = self.__dict__["_fill"]()
        return replicates


def confusion_matrix(
    truth: npt.NDArray[np.integer[Any]],
    predicted: npt.NDArray[np.integer[Any]],
    labels: Sequence[str],
    weight: FloatArray | None = None,
) -> ConfusionMatrix:
    """Count rows in a confusion matrix of the form that suits the number of classes.

    Parameters
    ----------
    truth, predicted : ndarray of shape (n,)
        Classes of the rows, as indices into ``labels``.
    labels : sequence of str
        Names of the K classes.
    weight : ndarray of shape (n,), optional
        Weights of the rows. By default all are 1.

    Returns
    -------
    ConfusionMatrix
        Dense matrix of up to :data:`MAX_DENSE_CLASSES` classes, else a
        :class:`SparseConfusionMatrix`.
    """
    matrix_class = ConfusionMatrix if len(labels) <= MAX_DENSE_CLASSES else SparseConfusionMatrix
    return matrix_class.from_codes(truth, predicted, labels, weight)
