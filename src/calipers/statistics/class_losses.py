"""What rows of several classes lose, and how many there are of each class."""

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
    """The moments of a loss a row, and the weight of the rows of each class: what a system loses
    beside what it loses who always answers the shares of the classes."""

    lost: Moments
    sizes: FloatArray

    def __add__(self, other: Self) -> Self:
        return replace(self, lost=self.lost + other.lost, sizes=self.sizes + other.sizes)

    def with_unit_weights(self, weight: float) -> Self:
        """Of rows that weigh 1 each."""
        return replace(
            self, lost=self.lost.with_unit_weights(weight), sizes=np.rint(self.sizes / weight)
        )

    @property
    def rows(self) -> int:
        """How many."""
        return self.lost.rows

    @property
    def shares(self) -> FloatArray:
        """The share of each class."""
        with np.errstate(invalid="ignore"):  # there may be no weight
            return np.asarray(self.sizes / self.sizes.sum())
