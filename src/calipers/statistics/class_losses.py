"""Losses of multiclass predictions, with the weights of the classes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from calipers.lazy_dataclasses import dataclass
from calipers.lazy_imports import numpy as np
from calipers.statistics.base import FloatArray, Statistic
from calipers.statistics.moments import Moments

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(frozen=True, eq=False)
class ClassLosses(Statistic):
    """Moments of a loss over all rows, with the weight of each class.

    They determine the mean loss of a system and that of the best constant prediction, the class
    proportions.

    Parameters
    ----------
    losses : Moments
        Moments of the losses.
    class_weights : ndarray of shape (K,)
        Total weight of the rows of each class.
    """

    losses: Moments
    class_weights: FloatArray

    def __add__(self, other: Self) -> Self:
        return replace(
            self,
            losses=self.losses + other.losses,
            class_weights=self.class_weights + other.class_weights,
        )

    def divide_weights(self, common_weight: float) -> Self:
        """Return the statistic with every weight divided by ``common_weight``.

        Each row then has weight 1.

        Parameters
        ----------
        common_weight : float
            Weight that every row has.

        Returns
        -------
        ClassLosses
            Statistic of the same rows with weight 1.
        """
        return replace(
            self,
            losses=self.losses.divide_weights(common_weight),
            class_weights=np.rint(self.class_weights / common_weight),
        )

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.losses.rows

    @property
    def proportions(self) -> FloatArray:
        """Proportion of each class."""
        with np.errstate(invalid="ignore"):  # there may be no weight
            return np.asarray(self.class_weights / self.class_weights.sum())
