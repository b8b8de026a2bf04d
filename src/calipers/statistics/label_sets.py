"""Frequencies of labels, and of sets of labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from calipers.lazy_dataclasses import dataclass
from calipers.lazy_imports import numpy as np
from calipers.statistics.base import FloatArray, Statistic

if TYPE_CHECKING:
    import numpy.typing as npt
    from typing_extensions import Self

#: Number of distinct sets above which their frequencies are not counted.
MAX_SETS = 1 << 18


@dataclass(frozen=True, eq=False)
class LabelSets(Statistic):
    """Frequencies of labels, and of the distinct sets of labels of the rows.

    Parameters
    ----------
    sizes : ndarray of shape (L + 1,)
        Weight of the rows that have each label; the last entry is the weight of all rows.
    sets : ndarray of uint8 of shape (S, B), optional
        Distinct label sets, as packed bits; None if they are not counted, or are too many.
    weight : ndarray of shape (S,), optional
        Weight of the rows with each label set.

    Examples
    --------
    >>> label_sets = LabelSets.from_rows(np.array([[True, False], [True, True], [True, False]]))
    >>> label_sets.sizes, round((label_sets + label_sets).max_proportion, 4)
    (array([3., 1., 3.]), 0.6667)
    """

    sizes: FloatArray
    sets: npt.NDArray[np.uint8] | None = None
    weight: FloatArray | None = None

    @classmethod
    def from_rows(
        cls, truth: npt.NDArray[Any], weight: FloatArray | None = None, *, count_sets: bool = True
    ) -> Self:
        """Count the labels of rows.

        Parameters
        ----------
        truth : ndarray of bool of shape (n, L)
            Whether each row has each label.
        weight : ndarray of shape (n,), optional
            Weights of the rows. By default all are 1.
        count_sets : bool, default=True
            Whether to count the label sets too.

        Returns
        -------
        LabelSets
            Statistic of the rows.
        """
        row_weights = np.ones(len(truth)) if weight is None else weight
        sizes = np.append(row_weights @ truth, row_weights.sum())
        if not count_sets:
            return cls(sizes)
        return cls._limited(sizes, np.packbits(truth, axis=1), row_weights)

    def __add__(self, other: Self) -> Self:
        sizes = self.sizes + other.sizes
        if self.sets is None or other.sets is None:
            return type(self)(sizes)
        assert self.weight is not None
        assert other.weight is not None
        sets = np.concatenate([self.sets, other.sets])
        return self._limited(sizes, sets, np.concatenate([self.weight, other.weight]))

    @classmethod
    def _limited(cls, sizes: FloatArray, sets: npt.NDArray[np.uint8], weight: FloatArray) -> Self:
        """Count distinct sets, unless they are too many."""
        distinct, weight = _count_distinct(sets, weight)
        return cls(sizes, distinct, weight) if len(distinct) <= MAX_SETS else cls(sizes)

    @property
    def max_proportion(self) -> float:
        """Proportion of the rows that have the most frequent set; NaN if it is unknown."""
        if self.weight is None or not self.weight.sum() > 0:
            return float("nan")
        return float(self.weight.max() / self.weight.sum())


def _count_distinct(
    sets: npt.NDArray[np.uint8], weight: FloatArray
) -> tuple[npt.NDArray[np.uint8], FloatArray]:
    """Return the distinct sets, and the weight of each."""
    packed = np.ascontiguousarray(sets).view(f"V{sets.shape[1]}").ravel()
    _, first, set_index = np.unique(packed, return_index=True, return_inverse=True)
    return sets[first], np.bincount(set_index.ravel(), weight, len(first)).astype(np.float64)
