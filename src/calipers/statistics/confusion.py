"""Confusion matrix: weighted counts of true against predicted classes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from calipers.caching import cached_property
from calipers.lazy_dataclasses import dataclass, replace
from calipers.lazy_imports import numpy as np
from calipers.statistics.base import (
    FloatArray,
    IntArray,
    Statistic,
    cell_sums,
    column_sums,
    row_blocks,
)

if TYPE_CHECKING:
    import numpy.typing as npt
    from typing_extensions import Self


@dataclass(frozen=True, eq=False)
class ConfusionMatrix(Statistic):
    """Confusion matrix: weight of the rows of each true class predicted as each class.

    Measures of any number of classes use the margins (``truth_margin``, ``prediction_margin``), the
    diagonal (``hits``) and the sums (``total``, ``correct``). Matrices of many classes have these
    too, although they hold only the non-empty cells (:class:`SparseConfusionMatrix`).

    Parameters
    ----------
    counts : ndarray of shape (..., K, K)
        Counts (sums of weights) of each true class (row) predicted as each class (column). Leading
        axes are replicates, thresholds or classes. With two classes the second is the positive one.
    squares : ndarray of shape (..., K, K)
        Sums of squared weights in the same cells, from which the effective sizes of weighted
        samples are computed; equal to ``counts`` if all weights are 1.
    labels : tuple of str, default=("negative", "positive")
        Names of the K classes.
    rows : int, default=0
        Number of rows.
    """

    counts: FloatArray
    squares: FloatArray
    labels: tuple[str, ...] = ("negative", "positive")
    rows: int = 0

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
        ConfusionMatrix
            Matrix of the rows.
        """
        k = len(labels)
        cell = np.asarray(truth, dtype=np.int64) * k + np.asarray(predicted, dtype=np.int64)
        return cls(*cell_sums(cell, weight, k, k), tuple(labels), len(cell))

    @classmethod
    def from_counts(
        cls,
        tp: npt.ArrayLike,
        fp: npt.ArrayLike,
        fn: npt.ArrayLike,
        tn: npt.ArrayLike,
    ) -> Self:
        """Create a binary matrix (or matrices, elementwise) from four counts of rows of weight 1.

        Parameters
        ----------
        tp, fp, fn, tn : array-like
            True positives, false positives, false negatives and true negatives, broadcast against
            each other.

        Returns
        -------
        ConfusionMatrix
            Matrix of shape ``(..., 2, 2)``.
        """
        tp, fp, fn, tn = np.broadcast_arrays(*(np.asarray(c, np.float64) for c in (tp, fp, fn, tn)))
        counts = np.stack([np.stack([tn, fp], axis=-1), np.stack([fn, tp], axis=-1)], axis=-2)
        return cls(counts, counts, rows=int(counts.sum()) if counts.ndim == 2 else 0)

    def __add__(self, other: Self) -> Self:
        if self.labels != other.labels:
            raise ValueError(f"labels {self.labels} and {other.labels} do not match")
        return self._add_fields(other, "counts", "squares", "rows")

    def divide_weights(self, common_weight: float) -> Self:
        """Return the matrix with every weight divided by ``common_weight``.

        Each row then has weight 1.

        Parameters
        ----------
        common_weight : float
            Weight that every row has.

        Returns
        -------
        ConfusionMatrix
            Matrix of the same rows with weight 1.
        """
        counts = np.rint(self.counts / common_weight)
        return replace(self, counts=counts, squares=counts)

    @property
    def tp(self) -> FloatArray:
        """True positives (two classes)."""
        return self.cell(1, 1)

    @property
    def fp(self) -> FloatArray:
        """False positives (two classes)."""
        return self.cell(0, 1)

    @property
    def fn(self) -> FloatArray:
        """False negatives (two classes)."""
        return self.cell(1, 0)

    @property
    def tn(self) -> FloatArray:
        """True negatives (two classes)."""
        return self.cell(0, 0)

    @property
    def positive(self) -> FloatArray:
        """Condition positives: weight of the rows that are positive, TP + FN."""
        return self.tp + self.fn

    @property
    def negative(self) -> FloatArray:
        """Condition negatives: weight of the rows that are negative, FP + TN."""
        return self.fp + self.tn

    @property
    def predicted_positive(self) -> FloatArray:
        """Predicted positives: weight of the rows that are predicted positive, TP + FP."""
        return self.tp + self.fp

    @property
    def predicted_negative(self) -> FloatArray:
        """Predicted negatives: weight of the rows that are predicted negative, FN + TN."""
        return self.fn + self.tn

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.counts.shape[-1])

    # Sums and one-vs-rest matrices are computed once, however many measures use them.

    @cached_property
    def truth_margin(self) -> FloatArray:
        """Margin of the truth, shape ``(..., K)``."""
        return np.asarray(self.counts.sum(axis=-1))

    @cached_property
    def prediction_margin(self) -> FloatArray:
        """Margin of the prediction, shape ``(..., K)``."""
        return np.asarray(self.counts.sum(axis=-2))

    @cached_property
    def hits(self) -> FloatArray:
        """Diagonal: weight of the correctly classified rows of each class, shape ``(..., K)``."""
        return np.diagonal(self.counts, axis1=-2, axis2=-1)

    @cached_property
    def total(self) -> FloatArray:
        """Total weight of the rows."""
        return np.asarray(self.counts.sum(axis=(-1, -2)))

    @cached_property
    def correct(self) -> FloatArray:
        """Weight of the correctly classified rows.

        It does not exceed the total, as weights that are summed in another order might.
        """
        return np.asarray(np.minimum(np.trace(self.counts, axis1=-2, axis2=-1), self.total))

    @property
    def has_weights(self) -> bool:
        """Whether the rows have weights other than 1."""
        return self.squares is not self.counts and not np.array_equal(self.squares, self.counts)

    @property
    def squared_weight_matrix(self) -> Self:
        """Matrix of the sums of squared weights."""
        # Not cached if it is the matrix itself, which would then refer to itself.
        return self if self.squares is self.counts else self._squared_weight_matrix

    @cached_property
    def _squared_weight_matrix(self) -> Self:
        return replace(self, counts=self.squares)

    def effective_size(self, margin: str) -> FloatArray:
        """Compute Kish's effective number of rows of a margin.

        Parameters
        ----------
        margin : str
            Name of the property that has the weight of the margin, such as ``"positive"``.

        Returns
        -------
        ndarray
            Effective number of rows, (Σw)²/Σw², which is the count without weights; 0 without rows.
        """
        weight = getattr(self, margin)
        with np.errstate(invalid="ignore"):
            size = weight**2 / getattr(self.squared_weight_matrix, margin)
        return np.where(weight > 0, size, 0.0)

    def cell(self, truth: int, predicted: int) -> FloatArray:
        """Return the weight of one cell, with leading axes.

        Parameters
        ----------
        truth, predicted : int
            Indices of the true and of the predicted class.

        Returns
        -------
        ndarray
            Weight of the cell, with the leading axes of ``counts``.
        """
        return np.asarray(self.counts[..., truth, predicted])

    def distance_sum(self, power: int) -> FloatArray:
        """Sum a power of the distance of true and predicted class over the rows, Σ|i − j|^power.

        Parameters
        ----------
        power : int
            Exponent of the distance of the true class i and the predicted class j, by their indices
            in ``labels``.

        Returns
        -------
        ndarray
            Weighted sum, with leading axes.
        """
        index = np.arange(self.n_classes)
        return np.asarray(
            (self.counts * np.abs(index[:, None] - index) ** power).sum(axis=(-1, -2))
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
        k = self.n_classes
        truth, predicted = np.divmod(np.arange(k * k), k)
        counts = self.counts.reshape(*self.counts.shape[:-2], k * k)
        return np.asarray(values(counts, truth, predicted).sum(axis=-1))

    def nonempty_cells(self) -> tuple[IntArray, IntArray, FloatArray]:
        """List the non-empty cells of a single matrix, in the order of the cells.

        Returns
        -------
        truth, predicted : ndarray of shape (C,)
            Class indices of each cell.
        weight : ndarray of shape (C,)
            Weight of the rows in each cell.
        """
        truth, predicted = np.nonzero(self.counts)
        return truth, predicted, self.counts[truth, predicted]

    def one_vs_rest(self) -> Any:
        """Return the binary matrices of each class against all others, shape ``(..., K, 2, 2)``.

        Returns
        -------
        ConfusionMatrix
            Matrices whose positive class is each class in turn.

        Examples
        --------
        >>> matrix = ConfusionMatrix.from_codes([0, 0, 1, 2], [0, 1, 1, 1], ("a", "b", "c"))
        >>> matrix.one_vs_rest().tp.tolist(), matrix.one_vs_rest().fp.tolist()
        ([1.0, 1.0, 0.0], [0.0, 2.0, 0.0])
        """
        return self._class_matrices

    @cached_property
    def _class_matrices(self) -> ConfusionMatrix:
        counts = _one_vs_rest_counts(self)
        squares = (
            counts
            if self.squared_weight_matrix is self
            else _one_vs_rest_counts(self.squared_weight_matrix)
        )
        return ConfusionMatrix(counts, squares, ("rest", "class"), self.rows)

    def mark_integer_counts(self) -> Self:
        """Mark the matrix as one whose cells are all integers.

        Returns
        -------
        ConfusionMatrix
            The matrix itself.
        """
        self.__dict__["_has_integer_counts"] = True
        return self

    @cached_property
    def _has_integer_counts(self) -> bool:
        """Whether all cells are integers, whose sums are exact."""
        return np.array_equal(self.counts, np.rint(self.counts))

    def _nonempty_indicator(self) -> ConfusionMatrix:
        """Return the matrix with 1 in each non-empty cell."""
        indicator = (self.counts > 0).astype(np.float64)
        return replace(self, counts=indicator, squares=indicator)

    def class_matrix(self, label: str) -> Any:
        """Return the binary matrix of one class against all others, shape ``(..., 2, 2)``.

        Parameters
        ----------
        label : str
            Name of the class.

        Returns
        -------
        ConfusionMatrix
            Matrix whose positive class is this one.

        Raises
        ------
        ValueError
            If there is no such class.
        """
        index = self._label_index.get(label)
        if index is None:
            raise ValueError(f"{label!r} is not a class of {', '.join(self.labels)}")
        class_matrices = self.one_vs_rest()
        counts = class_matrices.counts[..., index, :, :]
        squares = (
            counts
            if class_matrices.squares is class_matrices.counts
            else class_matrices.squares[..., index, :, :]
        )
        return replace(class_matrices, counts=counts, squares=squares, labels=("rest", label))

    @cached_property
    def _label_index(self) -> dict[str, int]:
        return {label: index for index, label in enumerate(self.labels)}

    def pool(self, class_mask: npt.NDArray[np.bool_] | None = None) -> Any:
        """Sum the matrices of :meth:`one_vs_rest`, for micro averages.

        Parameters
        ----------
        class_mask : ndarray of bool of shape (K,), optional
            Classes to sum over. By default all are.

        Returns
        -------
        ConfusionMatrix
            Pooled matrix of two classes.
        """
        class_matrices = self.one_vs_rest()

        def sum_classes(cells: FloatArray) -> FloatArray:
            has_all_classes = class_mask is None or class_mask.all()
            return np.asarray(
                (cells if has_all_classes else cells[..., class_mask, :, :]).sum(axis=-3)
            )

        counts = sum_classes(class_matrices.counts)
        squares = (
            counts
            if class_matrices.squares is class_matrices.counts
            else sum_classes(class_matrices.squares)
        )
        return replace(class_matrices, counts=counts, squares=squares)

    def average_weights(self, average: str | None) -> FloatArray:
        """Return the weight of each matrix of :meth:`one_vs_rest` in a mean over classes.

        Parameters
        ----------
        average : str or None
            Kind of average.

        Returns
        -------
        ndarray of shape (..., K)
            Weight of the true rows of each class for ``"weighted"``, otherwise 1 if the class
            occurs in truth or prediction, else 0.
        """
        if average == "weighted":
            return self.positive
        return (self.positive + self.predicted_positive > 0).astype(np.float64)

    def constant_predictions(self) -> Self:
        """Return the K matrices of always predicting one class, as a leading axis.

        Returns
        -------
        ConfusionMatrix
            Matrices of shape (K, K, K); the first axis is the class that is predicted.
        """
        k = len(self.labels)
        out = np.zeros((k, k, k))
        for j in range(k):
            out[j, :, j] = self.truth_margin
        return replace(self, counts=out, squares=out)

    def resample(self, n_replicates: int, seed: int) -> Self:
        """Draw bootstrap replicates, as multinomial samples of the cells.

        This is exactly the bootstrap of the rows, at a much lower cost, if every row has weight 1.

        Parameters
        ----------
        n_replicates : int
            Number of replicates.
        seed : int
            Seed of the random generator.

        Returns
        -------
        ConfusionMatrix
            Matrices with the replicates as a leading axis.

        Raises
        ------
        ValueError
            If the rows have weights.
        """
        sampled = self._sample_cells(self.counts.ravel(), n_replicates, seed)
        counts = sampled.reshape(n_replicates, *self.counts.shape)
        return replace(self, counts=counts, squares=counts)

    def _sample_cells(self, cells: FloatArray, n_replicates: int, seed: int) -> FloatArray:
        if self.has_weights:
            raise ValueError("cells of weighted rows cannot be resampled; resample the rows")
        generator = np.random.Generator(np.random.Philox(seed))
        sampled = generator.multinomial(round(float(self.total)), cells / cells.sum(), n_replicates)
        return sampled.astype(np.float64)


@dataclass(frozen=True, eq=False)
class LabelMatrices(ConfusionMatrix):
    """Binary confusion matrices of L labels, of which a row may have several.

    Parameters
    ----------
    counts : ndarray of shape (..., L, 2, 2)
        Counts (sums of weights) of each label. Leading axes are replicates.
    squares : ndarray of shape (..., L, 2, 2)
        Sums of squared weights in the same cells.
    labels : tuple of str
        Names of the L labels.
    rows : int, default=0
        Number of rows.
    """

    @classmethod
    def from_sets(
        cls,
        truth: npt.NDArray[np.bool_],
        predicted: npt.NDArray[np.bool_],
        labels: Sequence[str],
        weight: FloatArray | None = None,
    ) -> Self:
        """Count rows by their true and predicted labels.

        Parameters
        ----------
        truth, predicted : ndarray of bool of shape (n, L)
            Whether each row has, and is predicted to have, each label.
        labels : sequence of str
            Names of the L labels.
        weight : ndarray of shape (n,), optional
            Weights of the rows. By default all are 1.

        Returns
        -------
        LabelMatrices
            Matrices of the labels.
        """
        n_rows, n_labels = len(truth), len(labels)
        if weight is None:
            positive, n_predicted = column_sums(truth), column_sums(predicted)
            hits = np.zeros(n_labels)
            for rows in row_blocks(n_rows, n_labels):
                hits += (truth[rows] & predicted[rows]).sum(axis=0)
            cells = [
                n_rows - positive - n_predicted + hits,
                n_predicted - hits,
                positive - hits,
                hits,
            ]
            counts = np.stack(cells, axis=-1).reshape(n_labels, 2, 2)
            return cls(counts, counts, tuple(labels), n_rows)
        sums = np.zeros((2, n_labels, 2, 2))
        for rows in row_blocks(n_rows, n_labels):
            cell = (np.arange(n_labels) * 4 + 2 * truth[rows] + predicted[rows]).ravel()
            repeated_weights = np.repeat(weight[rows], n_labels)
            sums += np.stack(cell_sums(cell, repeated_weights, n_labels, 2, 2))
        counts, squares = sums
        return cls(counts, squares, tuple(labels), n_rows)

    def one_vs_rest(self) -> Any:
        """Return the matrices of the labels, which are those of each label against its absence.

        Returns
        -------
        ConfusionMatrix
            Matrices of shape (L, 2, 2), one for each label.
        """
        return ConfusionMatrix(self.counts, self.squares, ("rest", "class"), self.rows)


def _one_vs_rest_counts(matrix: ConfusionMatrix) -> FloatArray:
    """Count each class against all others, shape ``(..., K, 2, 2)``.

    The remaining cells are computed from the margins by subtraction. That is exact for counts; with
    weights, rounding may leave a small value in a cell without rows, so that empty cells are found
    by counting and set to 0.
    """

    def binary_cells(cells: ConfusionMatrix) -> tuple[FloatArray, ...]:
        tp = cells.hits
        fn, fp = cells.truth_margin - tp, cells.prediction_margin - tp
        tn = cells.total[..., None] - fn - fp - tp
        return tn, fp, fn, tp

    if matrix._has_integer_counts:
        # Measures use one of the four at a time, so each is contiguous in memory.
        stacked = np.stack(binary_cells(matrix))
        return np.moveaxis(stacked.reshape(2, 2, *stacked.shape[1:]), (0, 1), (-2, -1))
    nonempty_mask = np.stack(binary_cells(matrix._nonempty_indicator()), axis=-1) > 0
    out = np.where(nonempty_mask, np.maximum(np.stack(binary_cells(matrix), axis=-1), 0.0), 0.0)
    return out.reshape(*out.shape[:-1], 2, 2)
