"""Losses of multiclass predictions, with the class frequencies."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from calipers.lazy_imports import numpy as np
from calipers.statistics.base import FloatArray, Statistic
from calipers.statistics.moments import Moments

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(frozen=True, eq=False)
class ClassLosses(Statistic):
    """Moments of a loss per row, with the class frequencies.

    They determine the mean loss of a system and that of the best constant prediction, the class
    proportions.

    Parameters
    ----------
    losses : Moments
        Moments of the losses.
    sizes : ndarray of shape (K,)
        Weight of the rows of each class.
    """

    losses: Moments
    sizes: FloatArray

    def __add__(self, other: Self) -> Self:
        return replace(self, losses=self.losses + other.losses, sizes=self.sizes + other.sizes)

    def with_unit_weights(self, weight: float) -> Self:
        """Return the statistic of rows of weight 1, where every row has this weight.

        Parameters
        ----------
        weight : float
            Weight that every row has.

        Returns
        -------
        ClassLosses
            Statistic of the same rows with weight 1.
        """
        return replace(
            self, losses=self.losses.with_unit_weights(weight), sizes=np.rint(self.sizes / weight)
        )

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.losses.rows

    @property
    def proportions(self) -> FloatArray:
        """Proportion of each class."""
        with np.errstate(invalid="ignore"):  # there may be no weight
            return np.asarray(self.sizes / self.sizes.sum())
