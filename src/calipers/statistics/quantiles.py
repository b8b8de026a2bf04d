"""Predicted quantiles of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from calipers.statistics.base import FloatArray

#: Levels that are no further apart are one, as 0.05 and (1 − 0.9)/2.
_HAIR = 1e-9


class NoLevelError(ValueError):
    """There is no quantile of a level that is asked for."""


@dataclass(frozen=True, eq=False)
class QuantileRows:
    """What is predicted of each row, shape (rows, levels): its quantiles at these levels, which
    ascend."""

    levels: tuple[float, ...]
    values: FloatArray

    def quantile(self, level: float) -> FloatArray:
        """The quantile of one level."""
        for place, own in enumerate(self.levels):
            if abs(own - level) <= _HAIR:
                return self.values[:, place]
        there = ", ".join(f"{own:.10g}" for own in self.levels)
        raise NoLevelError(f"the quantile {level:.10g}; there are {there}")

    def interval_limits(self, coverage: float) -> tuple[FloatArray, FloatArray]:
        """The ends of the central interval that is to hold this share."""
        return self.quantile((1 - coverage) / 2), self.quantile((1 + coverage) / 2)


def interval_levels(levels: tuple[float, ...]) -> tuple[float, ...]:
    """What the central intervals between these levels are to hold, the widest first."""
    found = ((low, 1 - low) for low in levels if low < 0.5)
    return tuple(
        round(1 - 2 * low, 10)
        for low, high in found
        if any(abs(own - high) <= _HAIR for own in levels)
    )
