"""Points of precision and recall that are given as such, without the rows behind them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from calipers.lazy_imports import numpy as np
from calipers.statistics.base import FloatArray, Statistic

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(frozen=True, eq=False)
class PrecisionRecallPoints(Statistic):
    """Points of a precision-recall curve in the order of a ranking: by recall and, where that is
    the same, by falling precision, as more of what is not relevant comes in.

    >>> precision, recall = np.array([0.5, 1.0, 0.8]), np.array([1.0, 0.2, 0.2])
    >>> points = PrecisionRecallPoints.from_lists(precision, recall)
    >>> points.recall.tolist(), points.precision.tolist()
    ([0.2, 0.2, 1.0], [1.0, 0.8, 0.5])
    """

    precision: FloatArray
    recall: FloatArray

    @classmethod
    def from_lists(cls, precision: FloatArray, recall: FloatArray) -> Self:
        """The points in whatever order."""
        order = np.lexsort((-precision, recall))
        return cls(precision[order].astype(np.float64), recall[order].astype(np.float64))

    def __len__(self) -> int:
        return len(self.recall)

    @property
    def largest_recall(self) -> float:
        """The recall that the points reach."""
        return float(self.recall[-1])

    def down_to_zero(self) -> Self:
        """The points, and precision 0 at each recall beyond them, as of a ranking that ends."""
        if self.largest_recall >= 1:
            return self
        beyond = [self.largest_recall, 1.0]
        return type(self)(np.append(self.precision, [0.0, 0.0]), np.append(self.recall, beyond))

    def from_start(self) -> tuple[FloatArray, FloatArray]:
        """Precision and recall from recall 0 on, where precision is that of the first point unless
        one is given there."""
        if self.recall[0] == 0:
            return self.precision, self.recall
        return np.append(self.precision[0], self.precision), np.append(0.0, self.recall)

    def false_positives(self) -> FloatArray:
        """False positives for each relevant item, R(1 − P)/P; infinite where precision is 0."""
        return false_positives(self.precision, self.recall)


def false_positives(precision: FloatArray, recall: FloatArray) -> FloatArray:
    """Retrieved and not relevant, for each relevant item; of nothing retrieved none."""
    found = np.full(precision.shape, np.inf)
    np.divide(recall * (1 - precision), precision, out=found, where=precision > 0)
    return np.where(recall == 0, 0.0, found)
