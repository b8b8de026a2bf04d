"""Points of a precision-recall curve that are given without the rows behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calipers.lazy_dataclasses import dataclass
from calipers.lazy_imports import numpy as np
from calipers.statistics.base import FloatArray, Statistic

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(frozen=True, eq=False)
class PrecisionRecallPoints(Statistic):
    """Points of a precision-recall curve, in the order of a ranking.

    They are sorted by recall and, for equal recall, by descending precision, as more irrelevant
    items are retrieved.

    Parameters
    ----------
    precision, recall : ndarray of shape (n,)
        Precision and recall of each point.

    Examples
    --------
    >>> precision, recall = np.array([0.5, 1.0, 0.8]), np.array([1.0, 0.2, 0.2])
    >>> points = PrecisionRecallPoints.from_lists(precision, recall)
    >>> points.recall.tolist(), points.precision.tolist()
    ([0.2, 0.2, 1.0], [1.0, 0.8, 0.5])
    """

    precision: FloatArray
    recall: FloatArray

    @classmethod
    def from_lists(cls, precision: FloatArray, recall: FloatArray) -> Self:
        """Sort points that are given in any order.

        Parameters
        ----------
        precision, recall : ndarray of shape (n,)
            Precision and recall of each point.

        Returns
        -------
        PrecisionRecallPoints
            Sorted points.
        """
        order = np.lexsort((-precision, recall))
        return cls(precision[order].astype(np.float64), recall[order].astype(np.float64))

    def __len__(self) -> int:
        return len(self.recall)

    @property
    def max_recall(self) -> float:
        """Largest recall of the points."""
        return float(self.recall[-1])

    def extend_to_zero(self) -> Self:
        """Return the points with precision 0 at each recall beyond them.

        This is the curve of a ranking that ends there.
        """
        if self.max_recall >= 1:
            return self
        added_recalls = [self.max_recall, 1.0]
        return type(self)(
            np.append(self.precision, [0.0, 0.0]), np.append(self.recall, added_recalls)
        )

    def arrays_from_zero(self) -> tuple[FloatArray, FloatArray]:
        """Return precision and recall from recall 0 on.

        Precision at 0 is that of the first point unless one is given there.
        """
        if self.recall[0] == 0:
            return self.precision, self.recall
        return np.append(self.precision[0], self.precision), np.append(0.0, self.recall)

    def false_positives_per_relevant(self) -> FloatArray:
        """Return the false positives per relevant item, R(1 − P)/P; infinite if precision is 0."""
        return false_positives_per_relevant(self.precision, self.recall)


def false_positives_per_relevant(precision: FloatArray, recall: FloatArray) -> FloatArray:
    """Compute the false positives per relevant item, R(1 − P)/P; 0 if nothing is retrieved."""
    ratio = np.full(precision.shape, np.inf)
    np.divide(recall * (1 - precision), precision, out=ratio, where=precision > 0)
    return np.where(recall == 0, 0.0, ratio)
