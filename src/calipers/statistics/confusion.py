"""The confusion matrix: weighted counts of truth against prediction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from calipers.statistics.base import FloatArray, Statistic

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(frozen=True, eq=False)
class ConfusionMatrix(Statistic):
    """Counts (sums of weights) of each true class (row) predicted as each class (column).

    ``counts`` has shape ``(..., K, K)``; leading axes are replicates, thresholds or classes.
    ``squares`` holds the sums of squared weights in the same cells, from which the effective sizes
    of weighted samples come; it equals ``counts`` when all weights are one. With two classes the
    second is the positive one.
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
        counts = np.bincount(cell, weight, minlength=k * k).astype(np.float64).reshape(k, k)
        squares = counts
        if weight is not None:
            summed = np.bincount(cell, np.square(weight), minlength=k * k)
            squares = summed.astype(np.float64).reshape(k, k)
        return cls(counts, squares, tuple(labels), len(cell))

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
        return replace(
            self,
            counts=self.counts + other.counts,
            squares=self.squares + other.squares,
            rows=self.rows + other.rows,
        )

    @property
    def tp(self) -> FloatArray:
        """Positives predicted positive (two classes)."""
        return self.counts[..., 1, 1]

    @property
    def fp(self) -> FloatArray:
        """Negatives predicted positive (two classes)."""
        return self.counts[..., 0, 1]

    @property
    def fn(self) -> FloatArray:
        """Positives predicted negative (two classes)."""
        return self.counts[..., 1, 0]

    @property
    def tn(self) -> FloatArray:
        """Negatives predicted negative (two classes)."""
        return self.counts[..., 0, 0]

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
    def truth(self) -> FloatArray:
        """Margin of the truth, shape ``(..., K)``."""
        return np.asarray(self.counts.sum(axis=-1))

    @property
    def prediction(self) -> FloatArray:
        """Margin of the prediction, shape ``(..., K)``."""
        return np.asarray(self.counts.sum(axis=-2))

    @property
    def total(self) -> FloatArray:
        """Everything."""
        return np.asarray(self.counts.sum(axis=(-1, -2)))

    @property
    def correct(self) -> FloatArray:
        """Everything predicted as what it is: the diagonal."""
        return np.asarray(np.trace(self.counts, axis1=-2, axis2=-1))

    @property
    def weighted(self) -> bool:
        """Whether weights other than one went in."""
        return self.squares is not self.counts and not np.array_equal(self.squares, self.counts)

    def effective_size(self, margin: str) -> FloatArray:
        """Kish's effective number of rows of a margin, (Σw)²/Σw²; its count without weights."""
        weight = getattr(self, margin)
        with np.errstate(invalid="ignore"):
            size = weight**2 / getattr(replace(self, counts=self.squares), margin)
        return np.where(weight > 0, size, 0.0)

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
        if self.weighted:
            raise ValueError("cells of weighted rows cannot be redrawn; resample the rows")
        n = round(float(self.total))
        generator = np.random.Generator(np.random.Philox(seed))
        draws = generator.multinomial(n, (self.counts / self.counts.sum()).ravel(), size=replicates)
        counts = draws.astype(np.float64).reshape(replicates, *self.counts.shape)
        return replace(self, counts=counts, squares=counts)
