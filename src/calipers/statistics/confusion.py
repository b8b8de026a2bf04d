"""The confusion matrix: weighted counts of truth against prediction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from calipers.caching import cached_property
from calipers.lazy_imports import numpy as np
from calipers.statistics.base import FloatArray, IntArray, Statistic, cell_sums

if TYPE_CHECKING:
    import numpy.typing as npt
    from typing_extensions import Self


@dataclass(frozen=True, eq=False)
class ConfusionMatrix(Statistic):
    """Counts (sums of weights) of each true class (row) predicted as each class (column).

    ``counts`` has shape ``(..., K, K)``; leading axes are replicates, thresholds or classes.
    ``squares`` holds the sums of squared weights in the same cells, from which the effective sizes
    of weighted samples come; it equals ``counts`` when all weights are one. With two classes the
    second is the positive one.

    Measures of any number of classes read the margins (``truth``, ``prediction``), the diagonal
    (``hits``) and the sums (``total``, ``correct``), which matrices of many classes have too that
    hold no more than the cells with rows (:class:`SparseConfusionMatrix`).
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
        """The matrix of rows whose classes are given as positions in ``labels``."""
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
        """The binary matrix (or matrices, elementwise) of four counts of rows of weight one."""
        tp, fp, fn, tn = np.broadcast_arrays(*(np.asarray(c, np.float64) for c in (tp, fp, fn, tn)))
        counts = np.stack([np.stack([tn, fp], axis=-1), np.stack([fn, tp], axis=-1)], axis=-2)
        return cls(counts, counts, rows=int(counts.sum()) if counts.ndim == 2 else 0)

    def __add__(self, other: Self) -> Self:
        if self.labels != other.labels:
            raise ValueError(f"labels {self.labels} and {other.labels} do not match")
        return self._add_parts(other, "counts", "squares", "rows")

    def with_unit_weights(self, weight: float) -> Self:
        """Of rows that weigh 1 each."""
        counts = np.rint(self.counts / weight)
        return replace(self, counts=counts, squares=counts)

    @property
    def tp(self) -> FloatArray:
        """Positives predicted positive (two classes)."""
        return self.cell(1, 1)

    @property
    def fp(self) -> FloatArray:
        """Negatives predicted positive (two classes)."""
        return self.cell(0, 1)

    @property
    def fn(self) -> FloatArray:
        """Positives predicted negative (two classes)."""
        return self.cell(1, 0)

    @property
    def tn(self) -> FloatArray:
        """Negatives predicted negative (two classes)."""
        return self.cell(0, 0)

    @property
    def positive(self) -> FloatArray:
        """Everything truly positive."""
        return self.tp + self.fn

    @property
    def negative(self) -> FloatArray:
        """Everything truly negative."""
        return self.fp + self.tn

    @property
    def predicted_positive(self) -> FloatArray:
        """Everything predicted positive."""
        return self.tp + self.fp

    @property
    def predicted_negative(self) -> FloatArray:
        """Everything predicted negative."""
        return self.fn + self.tn

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return int(self.counts.shape[-1])

    # Sums and each class against the rest are taken once, however many measures read them.

    @cached_property
    def truth(self) -> FloatArray:
        """Margin of the truth, shape ``(..., K)``."""
        return np.asarray(self.counts.sum(axis=-1))

    @cached_property
    def prediction(self) -> FloatArray:
        """Margin of the prediction, shape ``(..., K)``."""
        return np.asarray(self.counts.sum(axis=-2))

    @cached_property
    def hits(self) -> FloatArray:
        """What is predicted as what it is, by class: the diagonal, shape ``(..., K)``."""
        return np.diagonal(self.counts, axis1=-2, axis2=-1)

    @cached_property
    def total(self) -> FloatArray:
        """Everything."""
        return np.asarray(self.counts.sum(axis=(-1, -2)))

    @cached_property
    def correct(self) -> FloatArray:
        """Everything predicted as what it is; no more than everything, as weights that are added up
        in another order may be."""
        return np.asarray(np.minimum(np.trace(self.counts, axis1=-2, axis2=-1), self.total))

    @property
    def has_weights(self) -> bool:
        """Whether weights other than one went in."""
        return self.squares is not self.counts and not np.array_equal(self.squares, self.counts)

    @property
    def squared(self) -> Self:
        """The matrix of the sums of squared weights."""
        # Not kept where it is the matrix itself, which would then hold itself in memory.
        return self if self.squares is self.counts else self._squared

    @cached_property
    def _squared(self) -> Self:
        return replace(self, counts=self.squares)

    def effective_size(self, margin: str) -> FloatArray:
        """Kish's effective number of rows of a margin, (Σw)²/Σw²; its count without weights."""
        weight = getattr(self, margin)
        with np.errstate(invalid="ignore"):
            size = weight**2 / getattr(self.squared, margin)
        return np.where(weight > 0, size, 0.0)

    def cell(self, truth: int, predicted: int) -> FloatArray:
        """What one cell holds, with leading axes."""
        return np.asarray(self.counts[..., truth, predicted])

    def distance_sums(self, power: int) -> FloatArray:
        """Σ |i − j|^power over the rows: how far the predicted classes j stand from the true ones i
        in the order of the labels."""
        place = np.arange(self.classes)
        return np.asarray(
            (self.counts * np.abs(place[:, None] - place) ** power).sum(axis=(-1, -2))
        )

    def occupied_cells(self) -> tuple[IntArray, IntArray, FloatArray]:
        """True class, predicted class and weight of each cell that holds rows, in their order (of
        a single matrix)."""
        truth, predicted = np.nonzero(self.counts)
        return truth, predicted, self.counts[truth, predicted]

    def one_vs_rest(self) -> Any:
        """Every class against all others: matrices of two classes, shape ``(..., K, 2, 2)``.

        >>> matrix = ConfusionMatrix.from_codes([0, 0, 1, 2], [0, 1, 1, 1], ("a", "b", "c"))
        >>> matrix.one_vs_rest().tp.tolist(), matrix.one_vs_rest().fp.tolist()
        ([1.0, 1.0, 0.0], [0.0, 2.0, 0.0])
        """
        return self._class_matrices

    @cached_property
    def _class_matrices(self) -> ConfusionMatrix:
        counts = _one_vs_rest(self)
        squares = counts if self.squared is self else _one_vs_rest(self.squared)
        return ConfusionMatrix(counts, squares, ("rest", "class"), self.rows)

    def mark_whole_counts(self) -> Self:
        """The same, where it is known that all cells hold whole numbers."""
        self.__dict__["_whole"] = True
        return self

    @cached_property
    def _has_whole_counts(self) -> bool:
        """Whether the cells hold whole numbers, whose sums are exact."""
        return np.array_equal(self.counts, np.rint(self.counts))

    def _indicator(self) -> ConfusionMatrix:
        """1 in each cell that holds rows."""
        filled = (self.counts > 0).astype(np.float64)
        return replace(self, counts=filled, squares=filled)

    def class_matrix(self, label: str) -> Any:
        """One class against all others, shape ``(..., 2, 2)``.

        Raises ``ValueError`` when there is no such class.
        """
        place = self._label_index.get(label)
        if place is None:
            raise ValueError(f"{label!r} is no class of {', '.join(self.labels)}")
        each = self.one_vs_rest()
        counts = each.counts[..., place, :, :]
        squares = counts if each.squares is each.counts else each.squares[..., place, :, :]
        return replace(each, counts=counts, squares=squares, labels=("rest", label))

    @cached_property
    def _label_index(self) -> dict[str, int]:
        return {label: place for place, label in enumerate(self.labels)}

    def pool(self, picked: npt.NDArray[np.bool_] | None = None) -> Any:
        """The matrices of :meth:`one_vs_rest`, or some of them, added up, of which micro averages
        are taken."""
        each = self.one_vs_rest()

        def added(cells: FloatArray) -> FloatArray:
            whole = picked is None or picked.all()
            return np.asarray((cells if whole else cells[..., picked, :, :]).sum(axis=-3))

        counts = added(each.counts)
        squares = counts if each.squares is each.counts else added(each.squares)
        return replace(each, counts=counts, squares=squares)

    def averaging(self, average: str | None) -> FloatArray:
        """What each of the matrices of :meth:`one_vs_rest` counts for in a mean over classes, shape
        ``(..., K)``: the weight of its true rows for ``"weighted"``, else 1 where the class occurs
        in truth or prediction."""
        if average == "weighted":
            return self.positive
        return (self.positive + self.predicted_positive > 0).astype(np.float64)

    def constant(self) -> Self:
        """The K matrices of always answering one class, as a leading axis."""
        k = len(self.labels)
        out = np.zeros((k, k, k))
        for j in range(k):
            out[j, :, j] = self.truth
        return replace(self, counts=out, squares=out)

    def resample(self, replicates: int, seed: int) -> Self:
        """Bootstrap replicates as a leading axis: multinomial draws of the cells.

        That is exactly the bootstrap of rows, at none of its cost, when every row weighs one.
        """
        drawn = self._redrawn(self.counts.ravel(), replicates, seed)
        counts = drawn.reshape(replicates, *self.counts.shape)
        return replace(self, counts=counts, squares=counts)

    def _redrawn(self, cells: FloatArray, replicates: int, seed: int) -> FloatArray:
        if self.has_weights:
            raise ValueError("cells of weighted rows cannot be redrawn; resample the rows")
        generator = np.random.Generator(np.random.Philox(seed))
        drawn = generator.multinomial(round(float(self.total)), cells / cells.sum(), replicates)
        return drawn.astype(np.float64)


@dataclass(frozen=True, eq=False)
class LabelMatrices(ConfusionMatrix):
    """One matrix of two classes for each of L labels that a row may have several of: ``counts`` has
    shape ``(..., L, 2, 2)``, and ``labels`` holds their L names."""

    @classmethod
    def from_sets(
        cls,
        truth: npt.NDArray[np.bool_],
        predicted: npt.NDArray[np.bool_],
        labels: Sequence[str],
        weight: FloatArray | None = None,
    ) -> Self:
        """The matrices of rows (n, L) that say which labels each has, and is said to have."""
        number = len(labels)
        cell = (np.arange(number) * 4 + 2 * truth + predicted).ravel()
        each = None if weight is None else np.repeat(weight, number)
        return cls(*cell_sums(cell, each, number, 2, 2), tuple(labels), len(truth))

    def one_vs_rest(self) -> Any:
        """The matrices themselves."""
        return ConfusionMatrix(self.counts, self.squares, ("rest", "class"), self.rows)


def _one_vs_rest(matrix: ConfusionMatrix) -> FloatArray:
    """Each class against the rest, shape ``(..., K, 2, 2)``.

    What is left of a margin comes by subtraction. That is exact for counts; of weights rounding may
    leave a hair where no row is, so that cells without rows are found by counting and set to 0.
    """

    def parts(cells: ConfusionMatrix) -> tuple[FloatArray, ...]:
        hit = cells.hits
        missed, wrong = cells.truth - hit, cells.prediction - hit
        rest = cells.total[..., None] - missed - wrong - hit
        return rest, wrong, missed, hit

    if matrix._has_whole_counts:
        # Measures read one of the four at a time, so each lies by itself.
        apart = np.stack(parts(matrix))
        return np.moveaxis(apart.reshape(2, 2, *apart.shape[1:]), (0, 1), (-2, -1))
    filled = np.stack(parts(matrix._indicator()), axis=-1) > 0
    out = np.where(filled, np.maximum(np.stack(parts(matrix), axis=-1), 0.0), 0.0)
    return out.reshape(*out.shape[:-1], 2, 2)
