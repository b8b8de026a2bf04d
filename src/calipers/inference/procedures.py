"""Procedures: the interval of a difference and its tests, which are one object.

A procedure defines a one-sided p-value, in either direction, for every value of the true
difference. Everything else follows. The two-sided p-value is twice the smaller of both, at most 1;
the interval at a level contains the values whose two-sided p-value is above 1 − level;
non-inferiority and equivalence use the one-sided p-value at the margin. So the interval contains a
value if and only if the test of that value is not significant, for every method, level, side and
margin.

Procedures store no more of the rows than they need, so that those of many pairs of systems can be
stored. The choice of procedure is in :mod:`calipers.inference.method_selection`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import field

import numpy as np

from calipers.caching import cached, cached_property
from calipers.inference import intervals, paired_tests
from calipers.inference.bayesian_bootstrap import AugmentedMean
from calipers.inference.intervals import ROUNDING_TOLERANCE, Interval
from calipers.inference.paired_tests import TestResult
from calipers.inference.roots import bracketed_root
from calipers.inference.variance_estimators import NAN, StandardError
from calipers.lazy_dataclasses import dataclass, replace
from calipers.statistics import FloatArray

#: Largest tail probability for which limits are computed.
_MAX_TAIL = 0.5 - 1e-6

#: Smallest p-value that limits at a level give, and what is as far as an infinite limit.
_MIN_TAIL, _FAR = 1e-12, 1e300

#: How near to a value at which a p-value jumps the limits of rank tests come, of their size.
_JUMP_TOLERANCE = 1e-9


def tail_probability(level: float) -> float:
    """Return the probability in each tail at a level.

    It is rounded: 1 − 0.95 is slightly more than 0.05 in binary, so that the decision at a p-value
    of 0.05 would be arbitrary.
    """
    return round(1 - level, 12) / 2


@dataclass(frozen=True, eq=False, kw_only=True)
class Procedure:
    """Interval and tests of one difference, or a ``reason`` why there is no interval.

    Attributes
    ----------
    value : float
        The difference.
    method : str
        Name of the interval.
    name : str
        Name of the test.
    bounds : tuple of float
        Smallest and largest possible difference.
    standard_error : StandardError
        Standard error that sample size plans use.
    reason : str or None
        Why there is no interval.
    n_differing : int or None
        Number of units that differ at all, if it is known.
    """

    value: float
    method: str
    name: str
    bounds: tuple[float, float] = (-math.inf, math.inf)
    standard_error: StandardError = field(default_factory=lambda: StandardError(NAN, "none"))
    reason: str | None = None
    n_differing: int | None = None

    # --- What each procedure computes -------------------------------------------------------------

    def _one_sided_p(self, null_value: float, side: int) -> float:
        """Return the p-value that the true difference is on one side of ``null_value``.

        It is above if ``side`` is 1, below if −1. ``null_value`` is within the bounds.
        """
        raise NotImplementedError

    def limit(self, tail: float, side: int) -> float:
        """Return the end of the set of values whose one-sided p-value is above ``tail``.

        It is the lowest of them (``side`` 1) or the highest (−1), and infinite if there is no
        limit.
        """
        raise NotImplementedError

    # --- What follows -----------------------------------------------------------------------------

    def cached_limit(self, tail: float, side: int) -> float:
        """Return :meth:`limit`, computed once: tables, families and sizes ask for the same."""
        return cached(self, ("limit", tail, side), lambda: self.limit(tail, side))

    def outer_limit(self, tail: float, side: int, end: float) -> float:
        """Return the farther one of a number and :meth:`limit`."""
        return (min if side > 0 else max)(end, self.cached_limit(tail, side))

    def min_length(self, tail: float) -> float:
        """Return a lower bound of the length of the interval that takes little work, or 0."""
        return 0.0

    def p(self, null_value: float = 0.0, alternative: str = "two-sided") -> float:
        """Return the p-value of a true difference ``null_value``, against the alternative."""
        key = "p", null_value, alternative
        return cached(self, key, lambda: self._p(null_value, alternative))

    def _p(self, null_value: float, alternative: str) -> float:
        if not math.isfinite(self.value):
            return NAN
        if self.reason is not None:
            # Where nothing varies and nothing differs, nothing speaks against no difference.
            same = null_value == 0 == self.value and self.reason in ("no_spread", "nothing_differs")
            return 1.0 if same else NAN
        if alternative != "two-sided":
            return self._bounded_one_sided_p(null_value, 1 if alternative == "greater" else -1)
        side = 1 if null_value < self._center else -1
        p = self._bounded_one_sided_p(null_value, side)
        if not (p <= 0.5 and (null_value - self._center) * side < 0):  # else the opposite is larger
            p = min(p, self._bounded_one_sided_p(null_value, -side))
        return min(1.0, 2 * p)

    @property
    def _center(self) -> float:
        """Value that is in every interval: the observed difference.

        It is NaN if the procedure is about another parameter.
        """
        return self.value

    def _bounded_one_sided_p(self, null_value: float, side: int) -> float:
        lower_bound, upper_bound = self.bounds
        if not lower_bound <= null_value <= upper_bound:
            return float((null_value > upper_bound) == (side > 0))
        p = self._one_sided_p(null_value, side)
        return max(p, 0.5) if (null_value - self._center) * side >= 0 else p

    def test(self, null_value: float = 0.0, alternative: str = "two-sided") -> TestResult:
        """Return the p-value with the name of the test."""
        p = self.p(null_value, alternative)
        return TestResult(p, "none" if math.isnan(p) else self.name, alternative)

    def interval(self, level: float) -> Interval:
        """Return the set of values that a two-sided test at 1 − ``level`` does not reject."""
        if self.reason is not None:
            return intervals.no_interval(self.method, self.reason)
        if not math.isfinite(self.value):
            return intervals.no_interval("none", "undefined_value")
        tail = tail_probability(level)
        center = self._center
        low, high = self.cached_limit(tail, 1), self.cached_limit(tail, -1)
        # A center that is NaN, as a limit that is, does not count.
        low = max(center if math.isnan(low) or low > center else low, self.bounds[0])
        high = min(center if math.isnan(high) or high < center else high, self.bounds[1])
        if not (math.isfinite(low) and math.isfinite(high)):
            return intervals.no_interval(self.method, "too_few_replicates")
        return Interval(float(low), float(high), self.method, se=self.standard_error.se)

    def half_width(self, tail: float) -> float:
        """Return half the length of the interval with ``tail`` on either side."""
        if self.reason is not None or not math.isfinite(self.value):
            return NAN
        return abs(self.cached_limit(tail, -1) - self.cached_limit(tail, 1)) / 2

    @property
    def family_procedure(self) -> Procedure:
        """Procedure to use at the small levels of a family of tests.

        It is the procedure itself, except for replicates, which have no information about tails
        with less than one replicate.
        """
        return self


def no_procedure(reason: str, value: float = NAN, method: str = "none") -> Procedure:
    """Return a procedure without interval and test."""
    return Procedure(value=value, method=method, name="none", reason=reason)


# --- Estimate and error, and units ----------------------------------------------------------------


@dataclass(frozen=True, eq=False, kw_only=True)
class WaldProcedure(Procedure):
    """Wald procedure: an estimate and its standard error, normal or with Student's t.

    With ``augmented_mean`` it is the wider of this and the Bayesian bootstrap about the mean of the
    units: the hull of both intervals, the larger of both p-values. Either alone is too narrow: t if
    few units differ and none of them in the other direction, the bootstrap if there are few units.
    If ``n_differing`` units differ, no p-value against 0 is below the minimum of the randomization
    test of their signs, 2^(1 − differing); if this is the larger one, the interval extends to 0.
    """

    t_error: StandardError
    augmented_mean: AugmentedMean | None = None

    @property
    def _se(self) -> float:
        return self.t_error.se

    @property
    def _has_no_t(self) -> bool:
        """Whether the standard error is undefined or has no degrees of freedom."""
        freedom = self.t_error.df
        return not math.isfinite(self.t_error.se) or (freedom is not None and not freedom > 0)

    def _error_p_value(self, null_value: float, side: int) -> float:
        if self._has_no_t:
            return 1.0
        difference = (self.value - null_value) * side
        if not self._se > 0:
            return float(difference <= 0)
        ratio, freedom = difference / self._se, self.t_error.df
        if freedom is None:
            return math.erfc(ratio / math.sqrt(2)) / 2
        from scipy.special import stdtr

        return float(stdtr(freedom, -ratio))

    def _one_sided_p(self, null_value: float, side: int) -> float:
        p = self._error_p_value(null_value, side)
        if self.augmented_mean is not None and p < 1:
            p = max(p, self.augmented_mean.tails(null_value)[0 if side > 0 else 1])
        return max(p, self._minimum_p) if null_value * side >= 0 else p

    @property
    def _minimum_p(self) -> float:
        """Smallest possible one-sided p-value against 0."""
        return 0.0 if self.n_differing is None else 2.0**-self.n_differing

    def limit(self, tail: float, side: int) -> float:
        """Return the confidence limit on one side."""
        low, high = cached(
            self, ("limits", tail), lambda: self._outer_limits(tail, self.value, self.value)
        )
        return low if side > 0 else high

    def outer_limit(self, tail: float, side: int, end: float) -> float:
        """Return the farther one of a number and the limit."""
        if side > 0:
            return self._outer_limits(tail, end, math.inf)[0]
        return self._outer_limits(tail, -math.inf, end)[1]

    def _outer_limits(self, tail: float, low: float, high: float) -> tuple[float, float]:
        """Return the limits, or the given numbers if they are farther out.

        Whether a limit of the Bayesian bootstrap is farther out is seen from its distribution
        function there, so that few limits have to be searched.
        """
        if self._has_no_t:
            return -math.inf, math.inf
        distance = self._t_distance(tail)
        low, high = min(low, self.value - distance), max(high, self.value + distance)
        if self.augmented_mean is not None:
            low, high = self.augmented_mean.outer_limits(tail, low, high)
        return (min(low, 0.0), max(high, 0.0)) if self._minimum_p > tail else (low, high)

    def _t_distance(self, tail: float) -> float:
        """Return how far the limits of the estimate and its error are from the value."""
        freedom, level = self.t_error.df, 1 - 2 * tail
        quantile = (
            intervals.normal_quantile(level)
            if freedom is None
            else intervals.t_quantile(level, freedom)
        )
        return quantile * self._se

    def min_length(self, tail: float) -> float:
        """Return the distance of a limit of the estimate and its error, within the bounds."""
        if self.reason is not None or self._has_no_t:
            return 0.0
        return min(self._t_distance(tail), self.bounds[1] - self.bounds[0])


@dataclass(frozen=True, eq=False, kw_only=True)
class BayesianProcedure(WaldProcedure):
    """Bayesian bootstrap about the mean alone."""

    @property
    def _se(self) -> float:
        return 0.0

    @property
    def _has_no_t(self) -> bool:
        return False


@dataclass(frozen=True, eq=False, kw_only=True)
class WiderProcedure(Procedure):
    """Wider of two procedures: the hull of their intervals and the larger of their p-values."""

    procedures: tuple[Procedure, Procedure]

    @classmethod
    def from_pair(cls, first: Procedure, second: Procedure, level: float) -> Procedure:
        """Create it with the name of the one that is wider at a level, or of both."""
        tail = tail_probability(level)
        is_first_wider = [
            (first.limit(tail, side) - second.limit(tail, side)) * side <= 0 for side in (1, -1)
        ]
        wider = first if all(is_first_wider) else second
        method, name = wider.method, wider.name
        if any(is_first_wider) and not all(is_first_wider):
            method = f"{first.method} or {second.method}: the wider"
            name = f"{first.name} or {second.name}: the larger p"
        error = max(
            (first.standard_error, second.standard_error), key=lambda error: np.nan_to_num(error.se)
        )
        return cls(
            value=first.value,
            method=method,
            name=name,
            bounds=first.bounds,
            standard_error=error,
            n_differing=first.n_differing,
            procedures=(first, second),
        )

    def _one_sided_p(self, null_value: float, side: int) -> float:
        return max(procedure._one_sided_p(null_value, side) for procedure in self.procedures)

    def limit(self, tail: float, side: int) -> float:
        """Return the confidence limit on one side."""
        outer = min if side > 0 else max
        return outer(procedure.limit(tail, side) for procedure in self.procedures)

    @property
    def family_procedure(self) -> Procedure:
        """Wider of both procedures to use in a family of tests."""
        first, second = (procedure.family_procedure for procedure in self.procedures)
        return (
            self
            if (first, second) == self.procedures
            else replace(self, procedures=(first, second))
        )


# --- Replicates -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, kw_only=True)
class ReplicateProcedure(Procedure):
    """Procedure by sorted replicates of the difference.

    The p-value is the proportion of replicates at a value or on its far side, (b + 1)/(B + 1);
    limits are order statistics.
    """

    replicates: FloatArray

    def _count_beyond(self, null_value: float, side: int) -> int:
        if side > 0:
            return int(np.searchsorted(self.replicates, null_value, side="right"))
        return len(self.replicates) - int(np.searchsorted(self.replicates, null_value, side="left"))

    def _one_sided_p(self, null_value: float, side: int) -> float:
        return self._p_from_proportion(
            (self._count_beyond(null_value, side) + 1) / (len(self.replicates) + 1), side
        )

    def _p_from_proportion(self, proportion: float, side: int) -> float:
        """Return the p-value from the proportion of replicates that are reached."""
        return proportion

    def limit(self, tail: float, side: int) -> float:
        """Return the confidence limit on one side."""
        # The first that, with those before it, is more than the tail.
        rank = math.floor(round(tail * (len(self.replicates) + 1), 9))
        if rank < 1:
            return -side * math.inf
        return float(self.replicates[rank - 1 if side > 0 else -rank])

    @property
    def family_procedure(self) -> Procedure:
        """Wald procedure with the standard deviation of the replicates as standard error."""
        return WaldProcedure(
            value=self.value,
            method=self.method,
            name=self.name,
            bounds=self.bounds,
            standard_error=self.standard_error,
            t_error=self.standard_error,
            reason=self.reason,
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class BcaProcedure(ReplicateProcedure):
    """Bias-corrected and accelerated percentiles (Efron 1987); see :func:`intervals.bca`."""

    bias: float
    acceleration: float

    def _p_from_proportion(self, proportion: float, side: int) -> float:
        from statistics import NormalDist

        if not 0 < proportion < 1:
            return float(proportion >= 1)
        bias, a = side * self.bias, side * self.acceleration
        end = NormalDist().inv_cdf(proportion) - bias
        if not 1 + a * end > 0:
            return 1.0 if end > 0 else 1e-12
        return NormalDist().cdf(end / (1 + a * end) - bias)

    def limit(self, tail: float, side: int) -> float:
        """Return the confidence limit on one side."""
        from statistics import NormalDist

        bias, a = side * self.bias, side * self.acceleration
        end = bias + NormalDist().inv_cdf(tail)
        if not 1 - a * end > 0:
            return -side * math.inf
        return super().limit(NormalDist().cdf(bias + end / (1 - a * end)), side)


# --- Limits at any level --------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, kw_only=True)
class LimitsProcedure(Procedure):
    """Procedure by limits at any level.

    The p-value of a value belongs to the level of the interval that just reaches it.
    """

    limits: Callable[[float], Interval]
    _interval_by_tail: dict[float, Interval] = field(default_factory=dict)

    def limit(self, tail: float, side: int) -> float:
        """Return the confidence limit on one side."""
        interval = self._interval_by_tail.get(tail)
        if interval is None:
            interval = self._interval_by_tail[tail] = self.limits(1 - 2 * tail)
        return interval.low if side > 0 else interval.high

    def _one_sided_p(self, null_value: float, side: int) -> float:
        if (null_value - self.value) * side > 0:
            return 1 - self._one_sided_p(null_value, -side)

        from scipy.special import ndtr, ndtri

        def distance(z: float) -> float:
            """Return how far the limit is from the tested value; an absent one reaches it."""
            size = (self.limit(float(ndtr(-z)), side) - null_value) * side
            return -_FAR if math.isnan(size) else min(max(size, -_FAR), _FAR)

        # On the scale of normal deviates limits are nearly straight; down to where 1 − p is still
        # told from 1.
        near, far = (float(-ndtri(tail)) for tail in (_MAX_TAIL, _MIN_TAIL))
        if distance(near) <= 0:
            return 0.5
        z = bracketed_root(distance, near, far, xtol=1e-11) if distance(far) <= 0 else far
        return float(ndtr(-z))


# --- Ranks, signs, randomization ------------------------------------------------------------------


@dataclass(frozen=True, eq=False, kw_only=True)
class RandomizationProcedure(Procedure):
    """Fisher's randomization of the signs of the differences of units minus a value.

    Under the hypothesis that this is the true difference, the mean of a random subset of the units
    is equally likely to be above it as below, and the limits are such means (Hartigan 1969).
    ``weight`` are the weights of the units.
    """

    units: FloatArray
    weight: FloatArray | None = None
    n_resamples: int = 10_000
    seed: int = 0

    def _tests(self, null_values: FloatArray, alternative: str = "two-sided") -> list[TestResult]:
        """Return the tests of several values; with common signs, p-values are monotonic."""
        deviations = self.units[:, None] - null_values
        size = np.maximum(np.abs(self.units).max(), np.abs(null_values))
        deviations[np.abs(deviations) <= ROUNDING_TOLERANCE * size] = 0.0
        if self.weight is not None:
            deviations *= self.weight[:, None]
        return paired_tests.randomization_test(deviations, self.n_resamples, self.seed, alternative)

    def p(self, null_value: float = 0.0, alternative: str = "two-sided") -> float:
        """Return the p-value of a true difference ``null_value``, against the alternative.

        It is two-sided by the absolute difference; one-sided it is half of that on the side of the
        difference.
        """
        has_units = self.reason is None and math.isfinite(self.value)
        if not has_units or not self.bounds[0] <= null_value <= self.bounds[1]:
            return super().p(null_value, alternative)
        two_sided_p = self._tests(np.array([null_value]))[0].p
        if alternative == "two-sided":
            return two_sided_p
        side = 1 if alternative == "greater" else -1
        if (self.value - null_value) * side > 0:
            return two_sided_p / 2
        return max(0.5, self._tests(np.array([null_value]), alternative)[0].p)

    def limit(self, tail: float, side: int) -> float:
        """Return the confidence limit on one side."""
        endpoint = float(self.units.min() if side > 0 else self.units.max())
        endpoint -= side * max(abs(endpoint), abs(self.value)) * _JUMP_TOLERANCE
        outer, inner = endpoint, self.value
        if self._tests(np.array([outer]))[0].p > 2 * tail:
            return -side * math.inf
        size, n = max(abs(outer), abs(inner)), max(3, min(64, 4_000_000 // len(self.units)))
        while abs(inner - outer) > 1e-13 * size:
            candidates = np.linspace(outer, inner, n)[1:-1]
            inside = np.array([test.p > 2 * tail for test in self._tests(candidates)])
            first = int(inside.argmax()) if inside.any() else len(candidates)
            new = (
                (candidates[first - 1] if first else outer),
                (candidates[first] if first < len(candidates) else inner),
            )
            if new == (outer, inner):
                break
            outer, inner = (float(value) for value in new)
        return outer


def _sorted_nonzero(units: FloatArray) -> FloatArray:
    """Return the units that differ by more than rounding error, in ascending order."""
    defined = paired_tests.defined_differences(units)
    return np.sort(defined[defined != 0])


@dataclass(frozen=True, eq=False, kw_only=True)
class SignProcedure(Procedure):
    """Sign test of the median of the units that differ; its limits are order statistics.

    A unit whose difference equals the tested value counts against it.
    """

    units: FloatArray

    @property
    def _center(self) -> float:
        return NAN

    @cached_property
    def _ascending(self) -> FloatArray:
        return _sorted_nonzero(self.units)

    def _one_sided_p(self, null_value: float, side: int) -> float:
        from scipy.special import bdtrc

        oriented = self._ascending * side
        above, n = int(np.count_nonzero(oriented > null_value * side)), len(oriented)
        return float(bdtrc(above - 1, n, 0.5)) if above else 1.0

    def limit(self, tail: float, side: int) -> float:
        """Return the confidence limit on one side."""
        from scipy.special import bdtrc

        n, ascending = len(self._ascending), self._ascending
        # Smallest number of units above a value with a p-value of at most the tail.
        above = next((k for k in range(n // 2, n + 1) if bdtrc(k - 1, n, 0.5) <= tail), None)
        if above is None:
            return -side * math.inf
        # The limit is the value above which this many remain.
        return float(ascending[n - above] if side > 0 else ascending[above - 1])


@dataclass(frozen=True, eq=False, kw_only=True)
class SignedRankProcedure(Procedure):
    """Wilcoxon's signed-rank procedure of the units that differ, about their pseudomedian.

    W⁺ is the number of Walsh averages (means of two units, or of a unit with itself) above 0, plus
    half of those equal to 0; against another value those above it are counted, with the same
    distribution of W⁺. So the limits are Walsh averages (Hodges and Lehmann 1963), and against 0
    the p-value is Wilcoxon's own.
    """

    units: FloatArray

    @property
    def _center(self) -> float:
        return NAN

    @cached_property
    def _nonzero_differences(self) -> FloatArray:
        return _sorted_nonzero(self.units)

    @cached_property
    def _tolerance(self) -> float:
        return _JUMP_TOLERANCE * float(np.abs(self._nonzero_differences).max(initial=0.0))

    @cached_property
    def _ranks(self) -> FloatArray:
        return np.abs(paired_tests.signed_ranks(self._nonzero_differences))

    @cached_property
    def _tails(self) -> FloatArray:
        return paired_tests.signed_rank_tails(self._ranks)

    def _count_walsh_averages(self, null_value: float, side: int) -> float:
        """Return the number of Walsh averages above (1) or below (−1) a value, beyond rounding."""
        oriented = np.sort(self._nonzero_differences * side)
        null_value = null_value * side + self._tolerance
        pairs = len(oriented) ** 2 - int(
            np.searchsorted(oriented, 2 * null_value - oriented, side="right").sum()
        )
        return (pairs + int(np.count_nonzero(oriented > null_value))) / 2

    def _one_sided_p(self, null_value: float, side: int) -> float:
        reached = self._count_walsh_averages(null_value, side)
        if null_value == 0:  # averages within rounding error of 0 count half
            reached = (reached + self._count_walsh_averages(-2 * side * self._tolerance, side)) / 2
        return self._tail(reached)

    def _tail(self, reached: float) -> float:
        if len(self._nonzero_differences) <= paired_tests.MAX_EXACT_RANKS:
            return float(self._tails[round(2 * reached)])
        ranks = self._ranks
        deviation = reached - float(ranks.sum()) / 2 - 0.5
        z = deviation / math.sqrt(float(ranks @ ranks) / 4)
        return math.erfc(z / math.sqrt(2)) / 2

    def limit(self, tail: float, side: int) -> float:
        """Return the confidence limit on one side."""
        oriented = self._nonzero_differences * side
        low, high = float(oriented.min()) - 4 * self._tolerance, float(oriented.max())

        def inside(null_value: float) -> bool:
            return self._tail(self._count_walsh_averages(null_value * side, side)) > tail

        if inside(low):
            return -side * math.inf
        for _ in range(100):
            middle = (low + high) / 2
            if not low < middle < high:
                break
            low, high = (low, middle) if inside(middle) else (middle, high)
        # A mean of two units that is 0 counts for both sides.
        if abs(high) <= 4 * self._tolerance:
            low = 0.0 if self._one_sided_p(0.0, side) > tail else 4 * self._tolerance
        return side * low


@dataclass(frozen=True, eq=False, kw_only=True)
class PValueProcedure(Procedure):
    """Test of no difference that is not defined for other values, hence without an interval."""

    compute_test: Callable[[str], TestResult]

    def p(self, null_value: float = 0.0, alternative: str = "two-sided") -> float:
        """Return the p-value against 0; NaN against any other value."""
        return self.compute_test(alternative).p if null_value == 0 else NAN


@dataclass(frozen=True, eq=False, kw_only=True)
class McNemarProcedure(Procedure):
    """McNemar's exact test of discordant rows, conditional on their number.

    The limits are Clopper and Pearson's of the proportion of them that the first system classifies
    correctly, transformed to the difference. With ``is_mid_p`` the probability of the observed
    count is halved.
    """

    n_first: int
    n_second: int
    n_rows: int
    is_mid_p: bool = False

    def _tail(self, proportion: float, side: int) -> float:
        """Return P(count ≥ observed) for the first system (1), or P(count ≤ observed) (−1)."""
        from scipy.special import bdtr, bdtrc

        n, observed = self.n_first + self.n_second, self.n_first
        if side > 0:
            beyond = float(bdtrc(observed, n, proportion))
            inclusive_tail = float(bdtrc(observed - 1, n, proportion)) if observed else 1.0
        else:
            beyond = float(bdtr(observed - 1, n, proportion)) if observed else 0.0
            inclusive_tail = float(bdtr(observed, n, proportion))
        return (beyond + inclusive_tail) / 2 if self.is_mid_p else inclusive_tail

    def _one_sided_p(self, null_value: float, side: int) -> float:
        n = self.n_first + self.n_second
        proportion = (1 + null_value * self.n_rows / n) / 2
        if not 0 <= proportion <= 1:
            return float((proportion > 1) == (side > 0))
        return self._tail(proportion, side)

    def p(self, null_value: float = 0.0, alternative: str = "two-sided") -> float:
        """Return the p-value of a true difference ``null_value``, against the alternative.

        Without discordant rows it is 1 against 0, and NaN against any other value.
        """
        if self.n_first + self.n_second == 0:
            return 1.0 if null_value == 0 else NAN
        return super().p(null_value, alternative)

    def _bounded_one_sided_p(self, null_value: float, side: int) -> float:
        p = super()._bounded_one_sided_p(null_value, side)
        # The mid-p value is not raised to one half beyond the center.
        return (
            self._one_sided_p(null_value, side)
            if self.is_mid_p and abs(null_value) <= self.bounds[1]
            else p
        )

    def limit(self, tail: float, side: int) -> float:
        """Return the confidence limit on one side."""
        n = self.n_first + self.n_second
        low, high = (0.0, self.n_first / n) if side > 0 else (1.0, self.n_first / n)
        if self._tail(low, side) > tail:
            return (2 * low - 1) * n / self.n_rows
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (low, middle) if self._tail(middle, side) > tail else (middle, high)
        return (2 * high - 1) * n / self.n_rows
