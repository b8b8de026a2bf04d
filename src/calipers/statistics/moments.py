"""Weight, mean and variance of a value per row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from calipers.lazily import numpy as np
from calipers.statistics.base import FloatArray, Statistic, dot, kish

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(frozen=True)
class Moments(Statistic):
    """Σw, the weighted mean, M2 = Σw(x − mean)², Σw² and V2 = Σw²(x − mean)² of a value per row.

    Merged as Chan, Golub and LeVeque (1983) do, which loses nothing to cancellation. Where the mean
    is not finite, ``infinite`` counts the rows that make it so.
    """

    rows: int
    weight: float
    mean: float
    m2: float
    squares: float
    v2: float
    cross: float
    infinite: int = 0

    @classmethod
    def from_rows(cls, value: FloatArray, weight: FloatArray | None = None) -> Self:
        """The moments of one value per row."""
        n = len(value)
        if weight is None:
            from calipers import _core

            mean, m2, rest = _core.value_moments(np.asarray(value, np.float64))
            return cls(n, float(n), mean, m2, float(n), m2, rest, _infinite(mean, value))
        # A row of weight 0 is no row, even where its value is infinite.
        there = weight > 0
        if not there.all():
            value, weight = value[there], weight[there]
        # Strided columns would be added up in another order.
        value, weight = np.ascontiguousarray(value), np.ascontiguousarray(weight)
        total = float(weight.sum())
        mean = dot(weight, value) / total if total > 0 else 0.0
        square = np.square(weight)
        with np.errstate(invalid="ignore", over="ignore"):
            deviation = value - mean
            cross = dot(square, deviation)
            np.square(deviation, out=deviation)
            m2, v2 = dot(weight, deviation), dot(square, deviation)
            squares = float(square.sum())
            return cls(n, total, mean, m2, squares, v2, cross, _infinite(mean, value))

    def __add__(self, other: Self) -> Self:
        weight = self.weight + other.weight
        share = other.weight / weight if weight > 0 else 0.0
        mean = self.mean + share * (other.mean - self.mean)
        a, b = self._moved(mean), other._moved(mean)
        return type(self)(
            self.rows + other.rows,
            weight,
            mean,
            a[0] + b[0],
            self.squares + other.squares,
            a[1] + b[1],
            a[2] + b[2],
            self.infinite + other.infinite,
        )

    def in_units(self, weight: float) -> Self:
        """Of rows that weigh 1 each."""
        number, m2 = float(np.rint(self.weight / weight)), self.m2 / weight
        cross = self.cross / weight**2
        return replace(
            self, weight=number, m2=m2, squares=number, v2=self.v2 / weight**2, cross=cross
        )

    def _moved(self, centre: float) -> tuple[float, float, float]:
        """M2, V2 and Σw²(x − centre) about another centre."""
        step = self.mean - centre
        return (
            self.m2 + self.weight * step * step,  # a power of a large one would be an error
            self.v2 + 2 * step * self.cross + self.squares * step * step,
            self.cross + self.squares * step,
        )

    @property
    def effective_size(self) -> float:
        """Kish's effective number of rows, (Σw)²/Σw²."""
        return kish(self.weight, self.squares)

    @property
    def standard_error(self) -> float:
        """Of the weighted mean: √(Σw²(x − mean)²)/Σw, with n/(n − 1) for the effective n."""
        n = self.effective_size
        if n <= 1:
            return float("nan")
        return float(np.sqrt(max(self.v2, 0.0) * n / (n - 1)) / self.weight)


def _infinite(mean: float, value: FloatArray) -> int:
    """How many values are not finite; none are looked at where the mean is."""
    return 0 if np.isfinite(mean) else int(np.count_nonzero(~np.isfinite(value)))
