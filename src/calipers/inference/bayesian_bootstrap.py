"""Bayesian bootstrap of a mean with added end points, computed without simulation.

Units have Dirichlet(1, …, 1, ½) weights instead of equal ones (Rubin 1981), after half a unit at
one end of the range has been added: at the lower end for the lower limit, at the upper end for the
upper limit. Half a unit at the far end would shift the near limit of values that are close to the
other end by more than their variability. For units that are 0 or 1 the limits are between those of
Jeffreys and of Clopper and Pearson. The distribution of the (weighted) mean over all such weights
is computed to numerical precision, so that results do not depend on a seed or a number of
replicates.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from calipers.inference.intervals import Interval, no_interval
from calipers.lazy_dataclasses import dataclass
from calipers.statistics import FloatArray, Histogram
from calipers.statistics.histogram import MAX_GROUPS

METHOD = "Bayesian bootstrap"


def mean_interval(
    values: FloatArray | Histogram,
    endpoints: tuple[float, float],
    level: float,
    weight: FloatArray | None = None,
) -> Interval:
    """Return the interval of a mean by the Bayesian bootstrap with half a unit at the near end.

    The lower limit is the lower tail of the mean of ``values`` and half a unit at the lower of the
    ``endpoints``, the upper limit the upper tail with half a unit at the upper end; the interval is
    extended to the mean itself if this is outside. ``weight`` is the weight of each value.

    Examples
    --------
    >>> values = np.repeat([1.0, 0.0], [20, 180])
    >>> interval = mean_interval(values, (0.0, 1.0), 0.95)
    >>> round(interval.low, 4), round(interval.high, 4)  # of Beta(20, 180½), Beta(20½, 180)
    (0.0623, 0.1477)
    """
    added = _AugmentedValues.from_values(values, weight)
    distribution = added.mean_distribution(endpoints)
    if distribution is None:
        rows = values.rows if isinstance(values, Histogram) else len(values)
        return no_interval(METHOD, "no_spread" if rows > 1 else "too_few_units")
    if isinstance(values, Histogram):
        mean = float(np.average(values.mean, weights=values.sums))
    else:
        mean = float(np.average(values, weights=weight))
    limits = []
    for end, probability in zip(endpoints, ((1 - level) / 2, (1 + level) / 2), strict=True):
        end_distribution = added.mean_distribution((end,))  # None where all values are at that end
        limit = (
            end
            if end_distribution is None
            else end_distribution.quantiles(np.array([probability]))[0]
        )
        limits.append(float(limit))
    return Interval(
        limits[0], limits[1], METHOD, se=distribution.standard_deviation
    ).extend_to_value(mean)


def upper_limit(
    values: FloatArray | Histogram, end: float, level: float, weight: FloatArray | None = None
) -> float:
    """Return the upper equal-tailed limit of the mean of ``values`` and half a unit at one ``end``.

    It is NaN if all of these are equal, or if the end is not finite.
    """
    distribution = _DirichletMean.from_values(values, (end,), weight)
    return (
        math.nan
        if distribution is None
        else float(distribution.quantiles(np.array([(1 + level) / 2]))[0])
    )


def standard_deviation(
    values: FloatArray, endpoints: tuple[float, float], weight: FloatArray | None = None
) -> float:
    """Return the standard deviation of the mean with half a unit at each end.

    It is positive whenever the ends differ.
    """
    distribution = _DirichletMean.from_values(values, endpoints, weight)
    return 0.0 if distribution is None else distribution.standard_deviation


def n_nonzero(values: FloatArray) -> int:
    """Return the number of values that differ from 0 by more than rounding error."""
    sizes = np.abs(values)
    return int(np.count_nonzero(sizes > 1e-9 * sizes.max(initial=0.0)))


def endpoint_distance(
    values: FloatArray, max_distance: float = math.inf, n_different: int | None = None
) -> float:
    """Return the distance at which half units are placed if the range has no natural end.

    This holds for differences between two systems, whose theoretical ends no unit comes near. The
    distance is max|x|·(1 + 2/m), where m is ``n_different``, by default the number of values other
    than 0, and at most ``max_distance``. It is ``max_distance`` if the values carry no information.

    Examples
    --------
    >>> endpoint_distance(np.array([0.0, 0.5, 0.0, -0.25]))
    1.0
    """
    if n_different is None:
        n_different = n_nonzero(values)
    if len(values) < 2 or not n_different:
        return max_distance
    return min(max_distance, float(np.abs(values).max()) * (1 + 2 / n_different))


class _DirichletMean:
    """Distribution of Σgwx/Σgw for numbers x with weights w and independent Gamma variables g.

    ``mass`` has the shape parameters of the g; ``weight`` is None if all weights are 1.
    """

    def __init__(self, x: FloatArray, weight: FloatArray | None, mass: FloatArray) -> None:
        self.components = x, weight, mass

    @classmethod
    def from_values(
        cls,
        values: FloatArray | Histogram,
        endpoints: tuple[float, ...],
        weight: FloatArray | None = None,
    ) -> _DirichletMean | None:
        """Create it from values and half a unit at each of the ends.

        Return None if all of these are equal, or if an end is not finite.
        """
        if weight is None and not isinstance(values, Histogram) and len(values) <= MAX_GROUPS:
            x = np.concatenate([values, endpoints])
            if not 0 < float(x.max() - x.min()) < math.inf:
                return None
            return cls(x, None, _unit_mass(len(values), len(endpoints)))
        return _AugmentedValues.from_values(values, weight).mean_distribution(endpoints)

    @property
    def standard_deviation(self) -> float:
        """Standard deviation of the mean; for unequal weights that of its linear part."""
        x, weight, mass = self.components
        weights = np.ones(len(x)) if weight is None else weight
        total, heavy = float(mass.sum()), float(mass @ weights)
        deviations = weights * (x - float((mass * weights) @ x) / heavy)
        sum_of_squares = float(mass @ np.square(deviations))
        return math.sqrt(sum_of_squares * total / (total + 1)) / heavy

    def quantiles(self, q: FloatArray) -> FloatArray:
        """Return the quantiles at the given proportions, by the inversion of Daniels 1987."""
        from calipers import _core

        return _core.dirichlet_quantiles(*self.components, q)

    def tails(self, value: float) -> tuple[float, float]:
        """Return the probabilities below and above a number, by the same inversion."""
        from calipers import _core

        return _core.dirichlet_tails(*self.components, value)

    def outer_limits(
        self, tail: float, low: float | None, high: float | None
    ) -> tuple[float, float]:
        """Return the quantiles at a tail below and above, or ``low`` and ``high`` if farther out.

        These are farther out where the tail is smaller. For None the result is NaN.
        """
        from calipers import _core

        return _core.dirichlet_limits(*self.components, tail, low, high)


@lru_cache(maxsize=8)
def _unit_mass(n_units: int, n_ends: int) -> FloatArray:
    """Return the shape parameters of units and of half units at the ends."""
    return np.append(np.ones(n_units), np.full(n_ends, 0.5))


@dataclass(frozen=True, eq=False)
class _AugmentedValues:
    """Values to which half units at the ends of the range are added.

    ``x`` are the values, ``weight`` their weights relative to an end, ``mass`` the number of units
    of each, ``lower`` and ``upper`` their range.
    """

    x: FloatArray
    weight: FloatArray
    mass: FloatArray
    lower: float
    upper: float

    @classmethod
    def from_values(
        cls, values: FloatArray | Histogram, weight: FloatArray | None = None
    ) -> _AugmentedValues:
        """Create it from values, without rows of weight 0.

        Equal values are combined, and so are neighboring ones if there are many. A group has its
        mean, the weight of one unit, and the number of units by Kish's formula, which is the shape
        parameter of the sum of their Gamma variables.
        """
        histogram = values if isinstance(values, Histogram) else Histogram.from_rows(values, weight)
        # Each end has the weight of a unit, by Kish's number of units.
        endpoint_weight = (
            float(histogram.squares.sum() / histogram.sums.sum()) if len(histogram.sums) else 1.0
        )
        unit_weight = histogram.squares / histogram.sums
        return cls(
            histogram.mean,
            unit_weight / endpoint_weight,
            histogram.sums / unit_weight,
            histogram.min_value,
            histogram.max_value,
        )

    def mean_distribution(self, endpoints: tuple[float, ...]) -> _DirichletMean | None:
        """Return the distribution of the mean with half a unit at each of the ends.

        Return None if all values are equal, or if an end is not finite.
        """
        high, low = max(self.upper, *endpoints), min(self.lower, *endpoints)
        if not (np.isfinite(endpoints).all() and 0 < high - low < math.inf):
            return None
        added = np.ones(len(endpoints))
        return _DirichletMean(
            np.append(self.x, endpoints),
            np.append(self.weight, added),
            np.append(self.mass, added / 2),
        )


# --- About the mean -------------------------------------------------------------------------------


class AugmentedMean:
    """Distribution of the mean of differences on units and half a unit at either of two ends.

    Units have Dirichlet weights. The half units are placed about the mean difference, not about 0,
    so that they widen the distribution without shifting it (:func:`endpoints_about_mean`).
    ``counts`` is the number of units with each value, ``weight`` the weight of each unit, or of the
    units with each value.

    Examples
    --------
    >>> augmented = AugmentedMean.from_values(np.array([0.2, 0.1, 0.3]), (-0.3, 0.7))
    >>> [round(float(q), 3) for q in augmented.quantiles(np.array([0.05, 0.95]))]
    [0.002, 0.398]
    >>> round(augmented.tails(float(augmented.quantiles(np.array([0.05]))[0]))[0], 6)
    0.05
    """

    def __init__(self, distribution: _DirichletMean) -> None:
        self._distribution = distribution
        # Either side of a test asks for the same tails, and tables for the same limits once more.
        self._quantiles: dict[bytes, FloatArray] = {}
        self._tails: dict[float, tuple[float, float]] = {}

    @classmethod
    def from_values(
        cls,
        values: FloatArray | Histogram,
        endpoints: tuple[float, float],
        *,
        weight: FloatArray | None = None,
        counts: FloatArray | None = None,
    ) -> AugmentedMean | None:
        """Create it, or return None if all values are equal or an end is not finite."""
        if counts is None or isinstance(values, Histogram):
            distribution = _DirichletMean.from_values(values, endpoints, weight)
            return None if distribution is None else cls(distribution)
        if not 0 < max(*values, *endpoints) - min(*values, *endpoints) < math.inf:
            return None
        used_mask = counts > 0
        x, mass = np.append(values[used_mask], endpoints), np.append(counts[used_mask], [0.5, 0.5])
        relative_weight = None if weight is None else np.ones(len(x))
        if relative_weight is not None and weight is not None:  # by Kish's number of units
            total = counts * weight
            relative_weight[:-2] = weight[used_mask] * total.sum() / (total @ weight)
        return cls(_DirichletMean(x, relative_weight, mass))

    @classmethod
    def from_rows(cls, table: FloatArray, endpoints: FloatArray) -> list[AugmentedMean]:
        """Create that of each row of a table of unequal values, with finite ends of its own.

        ``endpoints`` has shape (n_rows, 2).
        """
        mass = _unit_mass(table.shape[1], 2)
        return [cls(_DirichletMean(x, None, mass)) for x in np.hstack([table, endpoints])]

    @property
    def standard_deviation(self) -> float:
        """Standard deviation of the mean."""
        return self._distribution.standard_deviation

    def quantiles(self, q: FloatArray) -> FloatArray:
        """Return the quantiles at the given proportions."""
        key = q.tobytes()
        if key not in self._quantiles:
            self._quantiles[key] = self._distribution.quantiles(q)
        return self._quantiles[key]

    def tails(self, value: float) -> tuple[float, float]:
        """Return the probabilities below and above a number, the smaller to full precision."""
        if value not in self._tails:
            self._tails[value] = self._distribution.tails(value)
        return self._tails[value]

    def outer_limits(self, tail: float, low: float, high: float) -> tuple[float, float]:
        """Return the quantiles at a tail, or the numbers ``low`` and ``high`` if farther out.

        The quantile is the root of the distribution function, and whether it is farther out than a
        number is seen from the distribution function there, a fraction of the work. Numbers may be
        infinite.
        """
        finite = (end if math.isfinite(end) else None for end in (low, high))
        first, last = self._distribution.outer_limits(tail, *finite)
        return (first if math.isfinite(low) else low), (last if math.isfinite(high) else high)


def endpoints_about_mean(
    extremes: tuple[float, float], mean: float, n_differing: int, max_difference: float = math.inf
) -> tuple[float, float] | None:
    """Return the positions of the half units about the mean of differences, or None.

    They are mean ± R, where R is the largest distance from the mean times 1 + 2/``n_differing``.
    ``extremes`` are the smallest and the largest difference, and ``n_differing`` is the number of
    differences other than 0. R and both positions are at most
    ``max_difference`` in size if this is finite. If all differences are 0, the positions are
    ±``max_difference``. None is returned if these are not finite either.

    Examples
    --------
    >>> endpoints_about_mean((0.0, 2.0), 0.5, 1, 4.5)  # 1.5 · 3 from the mean of 0, 0, 2, 0
    (-4.0, 4.5)
    """
    if not n_differing:
        return (-max_difference, max_difference) if math.isfinite(max_difference) else None
    distance = max(abs(value - mean) for value in extremes)
    if not distance > 1e-12 * abs(mean):  # all differ alike
        distance = abs(mean)
    distance = min(max_difference, distance * (1 + 2 / n_differing))
    return max(-max_difference, mean - distance), min(max_difference, mean + distance)
