"""Predicted quantiles of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calipers.lazy_dataclasses import dataclass

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


def nominal_coverages(levels: tuple[float, ...]) -> tuple[float, ...]:
    """Return the nominal coverages of the central intervals between these levels, widest first."""
    pairs = ((low, 1 - low) for low in levels if low < 0.5)
    return tuple(
        round(1 - 2 * low, 10)
        for low, high in pairs
        if any(abs(level - high) <= _TOLERANCE for level in levels)
    )
