"""Procedures of the differences of many pairs of systems whose values are means over units.

What the procedure of a single pair computes is computed here for all pairs at once, since most of
the time for thousands of pairs of a few hundred units would be spent on single numbers. Pairs that
need a closer look, such as those that hardly differ, have none here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from calipers.caching import cached_property
from calipers.inference import intervals, paired_tests
from calipers.inference.available_methods import UNIT_METHOD, UNIT_TEST
from calipers.inference.bayesian_bootstrap import AugmentedMean, endpoints_about_mean
from calipers.inference.intervals import ROUNDING_TOLERANCE
from calipers.inference.point_estimate import NO_SPREAD, PointEstimate
from calipers.inference.procedures import WaldProcedure, tail_probability
from calipers.inference.variance_estimators import StandardError
from calipers.lazy_dataclasses import dataclass
from calipers.statistics import subtract_values

if TYPE_CHECKING:
    from calipers.statistics import FloatArray, IntArray

#: Number of differences of units that are computed at a time.
_MAX_DIFFERENCES = 500_000


@dataclass(frozen=True, eq=False)
class UnitMeans:
    """Values of a measure that are means of values of the same independent units.

    ``estimates`` are those of the systems, and ``values`` those of the units, of shape (n_systems,
    n_units), without a missing one.
    """

    estimates: Mapping[str, PointEstimate]
    values: FloatArray


@dataclass(frozen=True, eq=False)
class UnitProcedures:
    """Wald procedures of the mean differences of pairs of systems on the same units, as arrays.

    They are those of :func:`calipers.inference.available_methods.procedure_by_name` for "units".

    Attributes
    ----------
    table : ndarray of shape (n_systems, n_units)
        Values of the units.
    pairs : ndarray of shape (n_pairs, 2)
        Systems of each pair, of which the second is subtracted.
    bounds : tuple of float
        Smallest and largest possible difference.
    error_name : str
        Name of the standard error.
    value, se : ndarray
        Mean difference of each pair, and its standard error.
    signs : ndarray of shape (n_pairs, 3)
        Numbers of units whose difference is above 0, 0 and below 0.
    endpoints : ndarray of shape (n_pairs, 2)
        Positions of the half units of the Bayesian bootstrap; NaN if there are none.
    standard_error : ndarray
        Standard errors that sample size plans use; if few units differ, the larger of ``se`` and
        that of the Bayesian bootstrap.
    p : ndarray
        Two-sided p-values of no difference.
    """

    table: FloatArray
    pairs: IntArray
    bounds: tuple[float, float]
    error_name: str
    value: FloatArray
    se: FloatArray
    signs: IntArray
    endpoints: FloatArray
    standard_error: FloatArray
    p: FloatArray

    @classmethod
    def from_table(
        cls, table: FloatArray, pairs: IntArray, bounds: tuple[float, float], error_name: str
    ) -> UnitProcedures:
        """Compute them from the values of the units."""
        from scipy.special import stdtr

        n_pairs, n = len(pairs), table.shape[1]
        value, se, p, standard_error = np.empty((4, n_pairs))
        signs, endpoints = np.empty((n_pairs, 3), np.int64), np.empty((n_pairs, 2))
        for batch, differences in _iterate_differences(table, pairs):
            above, below = (np.count_nonzero(x, axis=1) for x in (differences > 0, differences < 0))
            signs[batch] = np.column_stack([above, n - above - below, below])
            mean, extremes = differences.mean(axis=1), (differences.min(1), differences.max(1))
            sum_of_squares = np.square(differences - mean[:, None]).sum(axis=1)
            value[batch], se[batch] = mean, np.sqrt(sum_of_squares / (n - 1) / n)
            endpoints[batch] = [
                endpoints_about_mean((low, high), center, n_differing, bounds[1])
                or (math.nan, math.nan)
                for low, high, center, n_differing in zip(
                    *(x.tolist() for x in (*extremes, mean, above + below)), strict=True
                )
            ]
            augmented_means = AugmentedMean.from_rows(differences, endpoints[batch])
            with np.errstate(divide="ignore", invalid="ignore"):  # of pairs that do not differ
                t_tail = stdtr(n - 1, -np.abs(mean) / se[batch])
            # The p-value of the other side, from which the difference points away, is ½ or more.
            tails = [
                augmented.tails(0.0)[0 if center > 0 else 1]
                for augmented, center in zip(augmented_means, mean.tolist(), strict=True)
            ]
            minimum_p = 2.0 ** -(above + below)
            p[batch] = np.minimum(1.0, 2 * np.maximum(np.maximum(t_tail, tails), minimum_p))
            spread = np.zeros(len(mean))
            for index in np.flatnonzero(2 * (above + below) < n).tolist():
                spread[index] = augmented_means[index].standard_deviation
            standard_error[batch] = np.maximum(se[batch], spread)
        return cls(table, pairs, bounds, error_name, value, se, signs, endpoints, standard_error, p)

    @property
    def df(self) -> float:
        """Degrees of freedom of the standard errors."""
        return float(self.table.shape[1] - 1)

    @cached_property
    def n_differing(self) -> IntArray:
        """Number of units that differ, of each pair."""
        return np.asarray(self.signs[:, 0] + self.signs[:, 2])

    def is_regular(self, level: float) -> npt.NDArray[np.bool_]:
        """Check which pairs differ, and have an interval of more than rounding error at a level."""
        size = np.full(len(self.value), self.bounds[1] - self.bounds[0])
        if not math.isfinite(size[0]):
            size = np.abs(self.table.mean(axis=1))[self.pairs].max(axis=1)
        tolerance = np.maximum(ROUNDING_TOLERANCE * size, NO_SPREAD * size)
        tolerance = np.maximum(tolerance, ROUNDING_TOLERANCE * np.abs(self.value))
        length = np.minimum(self._t_distance(tail_probability(level)), size)
        with np.errstate(invalid="ignore"):
            return np.asarray(
                (np.abs(self.value) > tolerance)
                & (self.se > tolerance)
                & (length > 4 * tolerance)
                & np.isfinite(self.endpoints).all(axis=1)
            )

    @property
    def effect_size(self) -> list[float]:
        """Hedges' g of each pair."""
        n = self.table.shape[1]
        return [
            paired_tests.hedges_g_from_stats(value, se * math.sqrt(n), n)
            for value, se in zip(self.value.tolist(), self.se.tolist(), strict=True)
        ]

    def limits(self, tail: float) -> tuple[FloatArray, FloatArray]:
        """Return the confidence limits of all pairs, with a tail on either side."""
        distance = self._t_distance(tail)
        low, high = self.value - distance, self.value + distance
        for batch, differences in _iterate_differences(self.table, self.pairs):
            means = AugmentedMean.from_rows(differences, self.endpoints[batch])
            t_limits = zip(low[batch].tolist(), high[batch].tolist(), strict=True)
            limits = [mean.outer_limits(tail, *x) for mean, x in zip(means, t_limits, strict=True)]
            low[batch], high[batch] = np.transpose(limits)
        has_wide_sign_test = 2.0**-self.n_differing > tail
        return (
            np.where(has_wide_sign_test, np.minimum(low, 0.0), low),
            np.where(has_wide_sign_test, np.maximum(high, 0.0), high),
        )

    def _t_distance(self, tail: float) -> FloatArray:
        quantile = intervals.t_quantile(1 - 2 * tail, self.df)
        return np.asarray(quantile * self.se)

    def __len__(self) -> int:
        return len(self.pairs)

    def __getitem__(self, index: int) -> WaldProcedure:
        """Return the procedure of one pair."""
        error = StandardError(float(self.se[index]), self.error_name, self.df)
        first, second = self.table[self.pairs[index]]
        differences = subtract_values(first, second)[None]
        [augmented_mean] = AugmentedMean.from_rows(differences, self.endpoints[[index]])
        return WaldProcedure(
            value=float(self.value[index]),
            bounds=self.bounds,
            method=UNIT_METHOD,
            name=UNIT_TEST,
            t_error=error,
            standard_error=replace(error, se=float(self.standard_error[index])),
            augmented_mean=augmented_mean,
            n_differing=int(self.n_differing[index]),
        )


def _iterate_differences(table: FloatArray, pairs: IntArray) -> Iterator[tuple[slice, FloatArray]]:
    """Yield the differences of the units of some of the pairs at a time."""
    step = max(1, _MAX_DIFFERENCES // max(1, table.shape[1]))
    for begin in range(0, len(pairs), step):
        batch = slice(begin, min(begin + step, len(pairs)))
        first, second = pairs[batch].T
        yield batch, subtract_values(table[first], table[second])
