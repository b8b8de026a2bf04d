"""Weight, mean, variance and skewness of a value per row."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from calipers.lazy_dataclasses import dataclass
from calipers.lazy_imports import numpy as np
from calipers.statistics.base import FloatArray, Statistic, effective_size

if TYPE_CHECKING:
    from typing_extensions import Self

    from calipers.statistics.histogram import Histogram


@dataclass(frozen=True)
class Moments(Statistic):
    """Weight, mean and variance of a value per row.

    They are merged as by Chan, Golub and LeVeque (1983), without loss to cancellation.

    Parameters
    ----------
    rows : int
        Number of rows.
    weight : float
        Sum of the weights, Σw.
    mean : float
        Weighted mean.
    m2 : float
        Σw(x − mean)².
    squares : float
        Sum of the squared weights, Σw².
    v2 : float
        Σw²(x − mean)².
    cross : float
        Σw²(x − mean).
    infinite : int, default=0
        Number of infinite or missing values, if the mean is not finite.
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
        """Compute the moments of a value per row.

        Parameters
        ----------
        value : ndarray of shape (n,)
            Value of each row.
        weight : ndarray of shape (n,), optional
            Weights of the rows. By default all are 1.

        Returns
        -------
        Moments
            Statistic of the rows.
        """
        from calipers import _core

        value = np.asarray(value, np.float64)
        if weight is None:
            n, (mean, m2, cross, _) = len(value), _core.value_moments(value)
            return cls(n, float(n), mean, m2, float(n), m2, cross, _n_infinite(mean, value))
        # A row of weight 0 is ignored, even if its value is infinite.
        rows, total, squares, mean, m2, v2, cross = _core.weighted_moments(value, weight)
        return cls(rows, total, mean, m2, squares, v2, cross, _n_infinite(mean, value, weight))

    @classmethod
    def from_errors(cls, truth: FloatArray, predicted: FloatArray, *, squared: bool) -> Self:
        """Compute the moments of the errors of rows, without a column of them.

        Parameters
        ----------
        truth, predicted : ndarray of shape (n,)
            True and predicted numbers; a single prediction is that of all rows.
        squared : bool
            Whether they are squared errors, or absolute ones.

        Returns
        -------
        Moments
            Statistic of the rows.
        """
        from calipers import _core

        truth, predicted = (np.asarray(column, np.float64) for column in (truth, predicted))
        n, (mean, m2, cross) = len(truth), _core.error_moments(truth, predicted, squared)
        return cls(n, float(n), mean, m2, float(n), m2, cross)

    @classmethod
    def from_error_differences(
        cls, truth: FloatArray, predicted: FloatArray, constant: float, *, squared: bool
    ) -> list[Self]:
        """Compute the moments of errors, of those of a constant, and of the differences of both.

        Parameters
        ----------
        truth, predicted : ndarray of shape (n,)
            True and predicted numbers.
        constant : float
            Prediction of all rows that the others are compared with.
        squared : bool
            Whether errors are squared, or absolute.

        Returns
        -------
        list of Moments
            Statistics of the errors, of those of the constant, and of the differences by row.
        """
        from calipers import _core

        n = len(truth)
        moments = _core.error_differences(truth, predicted, constant, squared)
        return [cls(n, float(n), mean, m2, float(n), m2, cross) for mean, m2, cross in moments]

    def __add__(self, other: Moments) -> Moments:
        weight = self.weight + other.weight
        proportion = other.weight / weight if weight > 0 else 0.0
        mean = self.mean + proportion * (other.mean - self.mean)
        recentered, b = self._recenter(mean), other._recenter(mean)
        return Moments(
            self.rows + other.rows,
            weight,
            mean,
            recentered[0] + b[0],
            self.squares + other.squares,
            recentered[1] + b[1],
            recentered[2] + b[2],
            self.infinite + other.infinite,
        )

    def divide_weights(self, common_weight: float) -> Self:
        """Return the moments with every weight divided by ``common_weight``.

        Each row then has weight 1.

        Parameters
        ----------
        common_weight : float
            Weight that every row has.

        Returns
        -------
        Moments
            Moments of the same rows with weight 1.
        """
        n, m2 = float(np.rint(self.weight / common_weight)), self.m2 / common_weight
        cross = self.cross / common_weight**2
        return replace(self, weight=n, m2=m2, squares=n, v2=self.v2 / common_weight**2, cross=cross)

    def _recenter(self, center: float) -> tuple[float, float, float]:
        """Return M2, V2 and Σw²(x − centre) about another centre."""
        step = self.mean - center
        return (
            self.m2 + self.weight * step * step,  # a power of a large one would be an error
            self.v2 + 2 * step * self.cross + self.squares * step * step,
            self.cross + self.squares * step,
        )

    @property
    def effective_size(self) -> float:
        """Kish's effective number of rows, (Σw)²/Σw²."""
        return effective_size(self.weight, self.squares)

    @property
    def standard_error(self) -> float:
        """Standard error of the weighted mean.

        It is √(Σw²(x − mean)²)/Σw, multiplied by √(n/(n − 1)) for the effective number n of rows;
        NaN if n is not above 1.
        """
        n = self.effective_size
        if n <= 1:
            return float("nan")
        return float(np.sqrt(max(self.v2, 0.0) * n / (n - 1)) / self.weight)


@dataclass(frozen=True)
class SkewMoments(Moments):
    """Moments with the third ones, for the skewness of a weighted mean.

    The sum of these and plain :class:`Moments` is plain :class:`Moments`.

    Parameters
    ----------
    rows : int
        Number of rows.
    weight : float
        Sum of the weights, Σw.
    mean : float
        Weighted mean.
    m2 : float
        Σw(x − mean)².
    squares : float
        Sum of the squared weights, Σw².
    v2 : float
        Σw²(x − mean)².
    cross : float
        Σw²(x − mean).
    infinite : int, default=0
        Number of infinite or missing values, if the mean is not finite.
    cubes : tuple of float
        Σw³(x − mean)^k for k = 0 … 3.
    spread : Histogram, optional
        Histogram of the values, if an interval needs it.

    Examples
    --------
    >>> values = np.array([1.0, 2.0, 2.0, 9.0])
    >>> moments = SkewMoments.from_rows(values)
    >>> merged = SkewMoments.from_rows(values[:1]) + SkewMoments.from_rows(values[1:])
    >>> round(moments.skewness, 6), round(merged.skewness, 6)  # 144/41^1.5
    (0.548513, 0.548513)
    """

    cubes: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)
    spread: Histogram | None = None

    @classmethod
    def from_rows(cls, value: FloatArray, weight: FloatArray | None = None) -> Self:
        """Compute the moments of a value per row.

        Parameters
        ----------
        value : ndarray of shape (n,)
            Value of each row.
        weight : ndarray of shape (n,), optional
            Weights of the rows. By default all are 1.

        Returns
        -------
        SkewMoments
            Statistic of the rows.
        """
        from calipers import _core

        column = np.asarray(value, np.float64)
        if weight is None:
            n, (mean, m2, cross, cubes) = len(column), _core.value_moments(column)
            size, infinite = float(n), _n_infinite(mean, column)
            return cls(n, size, mean, m2, size, m2, cross, infinite, cubes=(size, cross, m2, cubes))
        moments = super().from_rows(column, weight)
        weighted_cubes: Any = tuple(_core.cube_sums(column, moments.mean, weight=weight))
        return replace(moments, cubes=weighted_cubes)

    def __add__(self, other: Moments) -> Moments:  # type: ignore[override]
        moments = super().__add__(other)
        if not isinstance(other, SkewMoments):
            return moments
        pairs = zip(self._cubes_about(moments.mean), other._cubes_about(moments.mean), strict=True)
        cubes: Any = tuple(first + second for first, second in pairs)
        has_spread = self.spread is not None and other.spread is not None
        histogram = self.spread + other.spread if has_spread else None  # type: ignore[operator]
        return SkewMoments(**moments._field_values(), cubes=cubes, spread=histogram)

    def _cubes_about(self, center: float) -> tuple[float, float, float, float]:
        step, (order_zero, order_one, order_two, order_three) = self.mean - center, self.cubes
        return (
            order_zero,
            order_one + order_zero * step,
            order_two + 2 * order_one * step + order_zero * step * step,
            order_three
            + 3 * order_two * step
            + 3 * order_one * step * step
            + order_zero * step * step * step,
        )

    def divide_weights(self, common_weight: float) -> Self:
        """Return the moments with every weight divided by ``common_weight``.

        Each row then has weight 1.

        Parameters
        ----------
        common_weight : float
            Weight that every row has.

        Returns
        -------
        SkewMoments
            Moments of the same rows with weight 1.
        """
        cubes: Any = (
            self.weight / common_weight,
            *(cube / common_weight**3 for cube in self.cubes[1:]),
        )
        histogram = None if self.spread is None else self.spread.divide_weights(common_weight)
        return replace(super().divide_weights(common_weight), cubes=cubes, spread=histogram)

    @property
    def skewness(self) -> float:
        """Skewness, over √n, of the influence of rows on the mean; 0 if nothing varies."""
        # The power of a small variance may be too small for a number.
        return float(self.cubes[3] / self.v2 / math.sqrt(self.v2)) if self.v2 > 0 else 0.0


def _n_infinite(mean: float, value: FloatArray, weight: FloatArray | None = None) -> int:
    """Count the values of rows with weight that are not finite; 0 if the mean is finite."""
    if np.isfinite(mean):
        return 0
    return int(np.count_nonzero(~np.isfinite(value if weight is None else value[weight > 0])))
