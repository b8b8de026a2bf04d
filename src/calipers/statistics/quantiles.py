"""Predicted quantiles of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calipers.lazy_dataclasses import dataclass
from calipers.lazy_imports import numpy as np

if TYPE_CHECKING:
    from calipers.statistics.base import FloatArray

#: Largest difference of equal levels, such as 0.05 and (1 − 0.9)/2.
_TOLERANCE = 1e-9


class NoLevelError(ValueError):
    """Exception for a requested quantile level that was not predicted."""


@dataclass(frozen=True, eq=False)
class QuantileRows:
    """Predicted quantiles of rows.

    Parameters
    ----------
    levels : tuple of float
        Levels of the quantiles, ascending.
    values : ndarray of shape (n, levels)
        Quantiles of each row.
    """

    levels: tuple[float, ...]
    values: FloatArray

    def quantile(self, level: float) -> FloatArray:
        """Return the quantiles of one level.

        Parameters
        ----------
        level : float
            Level of the quantile.

        Returns
        -------
        ndarray of shape (n,)
            Quantile of each row.

        Raises
        ------
        NoLevelError
            If there is no quantile of this level.
        """
        for index, predicted_level in enumerate(self.levels):
            if abs(predicted_level - level) <= _TOLERANCE:
                return self.values[:, index]
        available = ", ".join(f"{predicted_level:.10g}" for predicted_level in self.levels)
        raise NoLevelError(f"the quantile {level:.10g}; there are {available}")

    @property
    def nominal_coverages(self) -> tuple[float, ...]:
        """Nominal coverages of the central intervals between two levels, widest first."""
        pairs = ((low, 1 - low) for low in self.levels if low < 0.5)
        return tuple(
            round(1 - 2 * low, 10)
            for low, high in pairs
            if any(abs(level - high) <= _TOLERANCE for level in self.levels)
        )

    @property
    def main_levels(self) -> tuple[float, ...]:
        """Levels whose coverage is shown."""
        return self.levels

    def interval_limits(self, coverage: float) -> tuple[FloatArray, FloatArray]:
        """Return the limits of the central prediction interval of this nominal coverage.

        Parameters
        ----------
        coverage : float
            Nominal coverage.

        Returns
        -------
        low : ndarray of shape (n,)
            Lower limit of each row: its quantile at the level (1 − coverage)/2.
        high : ndarray of shape (n,)
            Upper limit of each row: its quantile at the level (1 + coverage)/2.

        Raises
        ------
        NoLevelError
            If either quantile is not there.
        """
        return self.quantile((1 - coverage) / 2), self.quantile((1 + coverage) / 2)


@dataclass(frozen=True, eq=False)
class EnsembleRows(QuantileRows):
    """Members of an ensemble, or samples of a distribution, by rows.

    The k-th smallest of m members is the quantile at the level (k − ½)/m. Quantiles between two of
    these levels are interpolated (Hazen's definition); beyond them there are none.

    Parameters
    ----------
    levels : tuple of float
        Levels of the members, ascending.
    values : ndarray of shape (n, m)
        Members of each row, ascending.
    """

    @classmethod
    def from_members(cls, members: FloatArray) -> EnsembleRows:
        """Create the rows from members in any order.

        Parameters
        ----------
        members : ndarray of shape (n, m)
            Members of each row.

        Returns
        -------
        EnsembleRows
            Sorted members.
        """
        size = members.shape[1]
        levels = tuple((k + 0.5) / size for k in range(size))
        return cls(levels, np.sort(members, axis=1))

    def quantile(self, level: float) -> FloatArray:
        """Return the quantiles of one level, interpolated between the nearest two members.

        Parameters
        ----------
        level : float
            Level of the quantile.

        Returns
        -------
        ndarray of shape (n,)
            Quantile of each row.

        Raises
        ------
        NoLevelError
            If the members do not reach the level.
        """
        lowest, highest = self.levels[0], self.levels[-1]
        if not lowest - _TOLERANCE <= level <= highest + _TOLERANCE:
            raise NoLevelError(
                f"the quantile {level:.10g}; {len(self.levels)} members reach from {lowest:.4g} to "
                f"{highest:.4g}"
            )
        position = min(max(level * len(self.levels) - 0.5, 0.0), len(self.levels) - 1.0)
        below = int(position)
        above = min(below + 1, len(self.levels) - 1)
        low, high = self.values[:, below], self.values[:, above]
        return np.asarray(low + (position - below) * (high - low))

    @property
    def nominal_coverages(self) -> tuple[float, ...]:
        """Nominal coverages that are shown, of those that the members reach."""
        return tuple(c for c in (0.9, 0.5) if (1 - c) / 2 >= self.levels[0] - _TOLERANCE)

    @property
    def main_levels(self) -> tuple[float, ...]:
        """Levels whose coverage is shown, of those that the members reach."""
        levels = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95)
        return tuple(a for a in levels if min(a, 1 - a) >= self.levels[0] - _TOLERANCE)

    def mean_distance(self) -> FloatArray:
        """Return the sum of |x − x′| over all ordered pairs of members, over m².

        Returns
        -------
        ndarray of shape (n,)
            Mean distance of two members of each row that are drawn with replacement.
        """
        size = len(self.levels)
        coefficients = 2.0 * (2 * np.arange(size) - size + 1) / size**2
        return np.asarray(self.values @ coefficients)
