"""Differences between two independent samples, such as a slice and all other rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from calipers.inference import intervals, paired_tests, policy, proportions
from calipers.inference.clusters import two_parts_error
from calipers.inference.intervals import Interval
from calipers.inference.method_limits import (
    FEW_DEALT,
    FEW_DEGREES,
    FEW_POSITIVES_OF_PARTS,
    max_permuted,
)
from calipers.inference.paired_tests import TestResult
from calipers.inference.point_estimate import PointEstimate, lazy_difference
from calipers.inference.procedures import LimitsProcedure, Procedure, Wald
from calipers.inference.variance_estimators import NAN, Influence, StandardError, VarianceEstimator

if TYPE_CHECKING:
    from calipers.statistics import FloatArray


def proportions_ztest(first: float, n: float, second: float, m: float) -> TestResult:
    """Compute the score test that two independent proportions are equal.

    They are proportions of ``n`` and ``m`` (effective) trials. The test is normal, with the
    variance of the pooled proportion, p(1 − p)(1/n + 1/m).

    Examples
    --------
    >>> round(proportions_ztest(56 / 70, 70, 48 / 80, 80).p, 5)
    0.00805
    """
    name = "score, two proportions"
    if not (n > 0 and m > 0):
        return TestResult(NAN, name)
    pooled = min(1.0, (first * n + second * m) / (n + m))  # of weights, whose sums are rounded
    se = math.sqrt(pooled * (1 - pooled) * (1 / n + 1 / m))
    if se == 0:  # both are 0, or both 1
        return TestResult(1.0, name)
    return TestResult(math.erfc(abs(first - second) / se / math.sqrt(2)), name)


def fisher(first: float, n: float, second: float, m: float) -> TestResult | None:
    """Compute Fisher's exact test that two proportions of ``n`` and ``m`` trials are equal.

    The p-value is the probability, given the total number of successes, of all tables that are no
    more probable than the observed one. Return None if trials or successes are not integers, as
    with weighted rows.

    Examples
    --------
    >>> fisher(3 / 4, 4, 1 / 4, 4).p.__round__(4)  # Fisher's lady tasting tea
    0.4857
    """
    from scipy.special import gammaln

    name = "Fisher, exact"
    sizes = np.array([n, m], np.float64)
    hits = np.array([first * n, second * m], np.float64)
    if not (sizes.min() > 0 and _are_whole(sizes) and _are_whole(hits)):
        return None
    (n, m), (own, other) = np.rint(sizes), np.rint(hits)
    together = own + other
    k = np.arange(max(0.0, together - m), min(n, together) + 1)
    ways = -(
        gammaln(k + 1) + gammaln(n - k + 1) + gammaln(together - k + 1)
        + gammaln(m - together + k + 1)
    )  # fmt: skip
    chance = np.exp(ways - ways.max())
    # Equally probable ones differ by rounding.
    seen = chance[k == own][0] * (1 + 1e-7)
    return TestResult(min(1.0, float(chance[chance <= seen].sum() / chance.sum())), name)


def _are_whole(x: FloatArray) -> bool:
    return bool(np.allclose(x, np.rint(x), rtol=1e-9, atol=1e-6))


def align_with_test(
    made: Interval, test: TestResult, value: float, level: float
) -> tuple[Interval, TestResult]:
    """Return an interval and a two-sided test that agree about 0.

    The interval is extended to 0 if the test does not exclude it, and the p-value is that of the
    interval, as if it were normal, if the interval does not. So both err no more often than either
    alone.
    """
    most = round(1 - level, 12)
    if made.reason is not None or math.isnan(test.p) or math.isnan(made.low):
        return made, test
    inside, small = made.low <= 0 <= made.high, test.p <= most
    if small and inside:
        half = value - made.low if value > 0 else made.high - value
        z = intervals.normal_quantile(level) * abs(value) / half if half > 0 else 0.0
        return made, replace(test, p=max(math.erfc(z / math.sqrt(2)), most * (1 + 1e-9)))
    if not small and not inside:
        low, high, method = extend_to_zero(made.low, made.high, made.method, "the test")
        return replace(made, low=low, high=high, method=method), test
    return made, test


def extend_to_zero(low: float, high: float, method: str, by: str) -> tuple[float, float, str]:
    """Return limits extended to 0, and the method, which names what does not exclude 0.

    Examples
    --------
    >>> extend_to_zero(0.1, 0.3, "Welch, but few clusters", "Holm")
    (0.0, 0.3, 'Welch, to 0 by Holm, but few clusters')
    """
    name, but, cautions = method.partition(", but ")
    return min(low, 0.0), max(high, 0.0), f"{name}, to 0 by {by}{but}{cautions}"


def welch(
    value: float, errors: tuple[float, float], sizes: tuple[float, float], level: float
) -> tuple[Interval, TestResult]:
    """Compute the interval and test of a difference between two means (Welch 1947).

    They use Student's t with (s₁² + s₂²)²/(s₁⁴/(n₁ − 1) + s₂⁴/(n₂ − 1)) degrees of freedom, where s
    are the standard errors.
    """
    a, b = (error**2 for error in errors)
    if not (math.isfinite(a + b) and min(sizes) > 1):
        return intervals.no_interval("Welch", "too_few_rows"), TestResult(NAN, "Welch t")
    if a + b == 0:
        p = 1.0 if value == 0 else NAN
        return intervals.no_interval("Welch", "no_spread"), TestResult(p, "Welch t")
    share = a / (a + b)
    degrees = 1 / (share**2 / (sizes[0] - 1) + (1 - share) ** 2 / (sizes[1] - 1))
    made, test = student_from_error(value, math.sqrt(a + b), degrees, level, "Welch")
    return made, replace(test, name="Welch t")


def student_from_error(
    value: float, se: float, degrees: float, level: float, name: str
) -> tuple[Interval, TestResult]:
    """Compute Student's interval and test of a difference from its standard error."""
    from scipy.special import stdtr, stdtrit

    if not math.isfinite(se):
        return intervals.no_interval(name, "too_few_clusters"), TestResult(NAN, name)
    if se == 0:
        return intervals.no_interval(name, "no_spread"), TestResult(
            1.0 if value == 0 else NAN, name
        )
    half = float(stdtrit(degrees, (1 + level) / 2)) * se
    p = 2 * float(stdtr(degrees, -abs(value) / se))
    return Interval(value - half, value + half, name, se=se), TestResult(p, name)


def invert_interval(
    interval: Callable[[float], Interval], name: str, at: float = 0.0
) -> TestResult:
    """Return the test that inverts an interval.

    Its p-value is 1 − level of the interval that just reaches 0, or ``at``; ``interval`` returns
    that of a difference at a level.
    """
    from scipy.optimize import brentq

    def distance(log_alpha: float) -> float:
        """Return the distance of ``at`` outside the interval; negative inside or without one."""
        made = interval(1 - math.exp(log_alpha))
        outside = max(made.low - at, at - made.high)
        return outside if outside == outside else -1.0

    # On the logarithm of p, down to where 1 − p is still told from 1. Brent's method takes some ten
    # intervals where halving took fifty.
    least, most = math.log(1e-12), -1e-12
    if distance(least) > 0:
        return TestResult(math.exp(least), name)
    if distance(most) <= 0:
        return TestResult(1.0, name)
    return TestResult(math.exp(brentq(distance, least, most, xtol=1e-13)), name)


#: Of which what chance makes of a small part is all that is asked.
_MEANS = ("mean of a value per row", "mean over topics", "topics pooled")

_NO_TEST = TestResult(float("nan"), "none")


class PermutedDifference(Protocol):
    """Permutation distribution of the difference between two subsets."""

    def compare(self, level: float) -> tuple[Interval, TestResult]:
        """Return the interval and the test from the permutation distribution."""


def compare_samples(
    first: PointEstimate,
    second: PointEstimate,
    of_second: Callable[[], PointEstimate],
    dealt: Callable[[int], PermutedDifference | None] = lambda most: None,
) -> tuple[Interval, TestResult]:
    """Compute the interval and test of first minus second, which agree about 0.

    They are based on the joint distribution of the estimates if it is known, else on the bootstrap
    of both, else on the two intervals; ``of_second`` returns the estimate of the second sample by
    itself, for its own interval.

    Notes
    -----
    If ``dealt``, given the number of units that counts as small, returns a permutation
    distribution, this replaces Welch's test, bootstraps, and errors if a label is rare. With other
    tests the larger p-value is used: theirs may be too small with few rows, and that of
    permutations if the two samples have different variances. If the permutation p-value is the
    larger one and not significant although the interval excludes 0, the interval is the hull of
    both. Proportions of small counts use Fisher's exact test.
    """
    if first.kind in policy.WITHOUT:
        return policy.WITHOUT[first.kind], _NO_TEST
    made, test = _two_sample_result(first, second, of_second, dealt)
    return align_with_test(made, test, first.value - second.value, first.settings.level)


def _two_sample_result(
    first: PointEstimate,
    second: PointEstimate,
    of_second: Callable[[], PointEstimate],
    dealt: Callable[[int], PermutedDifference | None],
) -> tuple[Interval, TestResult]:
    exact = _exact_shares(first, second)
    if exact is not None:
        return exact
    anew = dealt(max_permuted(first, second))
    if anew is None:
        return _compare_independent(first, second, of_second)
    made, test = anew.compare(first.settings.level)
    if made.reason is None and (
        first.kind in _MEANS or first.has_few_units() or second.has_few_units()
    ):
        return _clip_to_range(made, first), test
    own, of_own = _compare_independent(first, second, of_second)
    drawn = "[B]" in own.method and not first.settings.prefers_bootstrap
    if own.reason is not None or (drawn and made.reason is None):
        own = _clip_to_range(made, first)
    # Of draws the smallest p-value there can be says no more than that it is small.
    floor = 2 / (first.settings.n_resamples + 1)
    if not drawn and of_own.p > max(test.p, floor):
        return own, of_own
    differs = made.reason is None and own.method != made.method and not own.low <= 0 <= own.high
    if differs and test.p >= 1 - first.settings.level:
        low, high = min(own.low, made.low), max(own.high, made.high)
        name = f"{own.method} or {made.method}: the wider"
        own = _clip_to_range(replace(own, low=low, high=high, method=name), first)
    return own, test


def _exact_shares(
    first: PointEstimate, second: PointEstimate
) -> tuple[Interval, TestResult] | None:
    """Return Newcombe's interval and Fisher's exact test of two proportions, one of them small.

    Return None if the estimates are of another kind, or both samples are large.
    """
    if first.kind not in ("share of rows", "share of topics") or first.clusters is not None:
        return None
    if first.settings.prefers_bootstrap:
        return None
    (n,), (m,) = first.sizes(), second.sizes()
    test = fisher(first.value, n, second.value, m) if min(n, m) <= FEW_DEALT else None
    found = None if test is None else _analytic_result(first, second)
    return None if found is None or test is None else (found[0], test)


def _clip_to_range(made: Interval, reading: PointEstimate) -> Interval:
    """Return the interval of a difference, clipped to the range of the measure."""
    low, high = reading.bounds
    return made.clip(low - high, high - low)


def _compare_independent(
    first: PointEstimate, second: PointEstimate, of_second: Callable[[], PointEstimate]
) -> tuple[Interval, TestResult]:
    settings, clusters = first.settings, first.clusters
    value = first.value - second.value
    if not settings.prefers_bootstrap:
        found = (
            _analytic_result(first, second)
            if clusters is None
            else _cluster_robust_result(first, second)
        )
        if found is not None:
            return found
    drawn: Interval | None = None
    if settings.interval != "analytic":
        apart, name = _draw_differences(first, second)
        if apart is not None:
            if first.is_biased:
                # The value is biased, by more in the smaller part; turning the replicates about
                # the difference takes that off as it does for each part.
                apart = 2 * value - apart
            drawn = intervals.percentile(apart, settings.level, f"{name} of both")
            if drawn.reason is None:
                return drawn, replace(paired_tests.bootstrap(apart), name=name.removesuffix(" [B]"))
    if drawn is not None and settings.prefers_bootstrap:
        return drawn, _NO_TEST
    limits, test = _result_from_limits(first, second, of_second())
    return limits if limits.reason is None or drawn is None else drawn, test


def _draw_differences(first: PointEstimate, second: PointEstimate) -> tuple[FloatArray | None, str]:
    """Return replicates of first minus second, and their name.

    They are posterior draws of the counts, which vary even if the counts do not, or else bootstrap
    replicates.
    """
    name = first.resampling_name or "bootstrap [B]"
    name = name if first.clusters is None else "cluster bootstrap [B]"
    found = lazy_difference(lambda: first.interval_replicates, lambda: second.interval_replicates)
    if first.posterior_draws and second.posterior_draws and not first.settings.prefers_bootstrap:
        found, name = (
            lazy_difference(first.posterior_draws, second.posterior_draws),
            "Jeffreys, of the cells",
        )
    return (None if found is None else found()), name


def _analytic_result(
    first: PointEstimate, second: PointEstimate
) -> tuple[Interval, TestResult] | None:
    """Return the interval and test of the kind that need no bootstrap, or None."""
    level, value = first.settings.level, first.value - second.value
    match first.kind:
        case "share of rows" | "share of topics":
            (n,), (m,) = first.sizes(), second.sizes()
            limits = (proportions.wilson(r.value, k, level) for r, k in ((first, n), (second, m)))
            made = intervals.difference(first.value, next(limits), second.value, next(limits))
            test = proportions_ztest(first.value, n, second.value, m)
            return replace(made, method="Newcombe"), test
        case "recalibration":
            errors = _errors(first, second)
            if errors is None:
                return None
            return _normal_result(value, math.hypot(*errors), "Wald, two samples", level)
        case "share of variance" | "correlation":
            found = _result_from_limits(first, second, second)
            return None if found[0].reason else found
        case "average over labels" if first.has_few_units() or second.has_few_units():
            # Replicates may be without a label that is scarce in one part; errors are not.
            errors = _errors(first, second)
            if errors is None or not math.hypot(*errors) > 0:
                return None
            made, test = _normal_result(value, math.hypot(*errors), "delta, two samples", level)
            return made.add_caution("a rare label"), test
        case "mean of a value per row" | "mean over topics" | "topics pooled":
            (n,), (m,) = first.sizes(), second.sizes()
            errors = _errors(first, second) or (math.nan, math.nan)
            return welch(value, errors, (n, m), level)
    return _area_result(first, second, level)


def _result_from_limits(
    first: PointEstimate, second: PointEstimate, alone: PointEstimate
) -> tuple[Interval, TestResult]:
    """Return the interval from the limits of both, and the test that inverts it.

    There is no test if either has no interval. ``alone`` is the estimate of the second sample by
    itself.
    """

    def at(level: float) -> Interval:
        return _combine_intervals(first, second, alone, level)

    made = at(first.settings.level)
    return made, _NO_TEST if made.reason else invert_interval(at, made.method)


def _errors(first: PointEstimate, second: PointEstimate) -> tuple[float, float] | None:
    found = first.standard_error, second.standard_error
    if not all(isinstance(error, StandardError) for error in found):
        return None
    a, b = (error.se for error in found if isinstance(error, StandardError))
    return None if math.isnan(a + b) else (a, b)


def _normal_result(value: float, se: float, name: str, level: float) -> tuple[Interval, TestResult]:
    """Return the interval and test of a normal difference with this standard error."""
    made = replace(intervals.normal_mean(value, se, level), method=name)
    return made, paired_tests.normal(value, se, name)


def _cluster_robust_result(
    first: PointEstimate, second: PointEstimate
) -> tuple[Interval, TestResult] | None:
    """Return the cluster-robust interval and test of two subsets of clustered rows.

    A cluster may have rows in both subsets. Return None if the influence of clusters is not known,
    or if it is 0 because a subset does not vary.

    Notes
    -----
    With 15, 40 and 100 clusters of unequal size, intervals covered the true difference in means of
    a skewed loss 93, 95 and 96 times in 100 if all clusters have rows in both subsets, and 94, 93
    and 94 times if none has (±1); the bootstrap of clusters 92, 93 and 94 times, and 92, 92 and 91
    times. For proportions and macro-F1 they did 91 to 96 times, the bootstrap 91 to 95 times.
    """
    if first.influence is None or second.influence is None:
        return None
    ours, theirs = first.influence(), second.influence()
    if ours is None or theirs is None or ours.space.clusters is None:
        return None
    if theirs.space.clusters is None or not (
        ours.influence_values.any() and theirs.influence_values.any()
    ):
        return None
    parts = (of.space.cluster_sums(of.column) for of in (ours, theirs))
    se, degrees = two_parts_error(*parts)
    value, level, name = first.value - second.value, first.settings.level, "clustered, two samples"
    made, test = student_from_error(value, se, degrees, level, name)
    return (made.add_caution("few clusters") if degrees < FEW_DEGREES else made), test


def _area_result(
    first: PointEstimate, second: PointEstimate, level: float
) -> tuple[Interval, TestResult] | None:
    """Return the interval and test of two areas of scores, or None if they need a bootstrap.

    For AUCs they use the sum of DeLong's two variances; for other areas, and if an AUC is too close
    to 0 or 1, the limits of both.
    """
    if "area" not in first.methods or "area" not in second.methods:
        return None
    own, other = _limits(first), _limits(second)
    if own is None or other is None:
        return None
    value = first.value - second.value
    if first.kind in ("AUC", "Gini") and min(own.se, other.se) > 0:
        return _normal_result(value, math.hypot(own.se, other.se), "DeLong, two samples", level)
    limits = own.interval_function, other.interval_function

    def at(confidence: float) -> Interval:
        ends = limits[0](confidence), limits[1](confidence)
        return intervals.difference(first.value, ends[0], second.value, ends[1])

    return at(level), invert_interval(at, "MOVER")


@dataclass(frozen=True)
class _AreaLimits:
    """Limits of an area at any level, and its standard error (0 if limits do not use it)."""

    interval_function: Callable[[float], Interval]
    se: float = 0.0


def _limits(reading: PointEstimate) -> _AreaLimits | None:
    """Return the limits of an area that needs no bootstrap.

    They follow from the influence of the rows on the logit scale, or from the default interval of
    the measure if there are too few rows for that.
    """

    def usual(level: float) -> Interval:
        made = reading.methods["area"](level)
        assert made is not None
        return made.clip(*reading.bounds)

    made = usual(0.95)
    if made.reason is not None:
        return None
    if reading.kind in ("AUC", "Gini"):
        enough = made.method == "DeLong, logit"
    else:
        enough = reading.sizes()[1] >= FEW_POSITIVES_OF_PARTS
    found = reading.standard_error if enough else None
    se = found.se if isinstance(found, StandardError) else 0.0
    if not se > 0:
        return _AreaLimits(usual)
    if reading.kind == "Gini":
        return _AreaLimits(usual, se)
    value = reading.value
    return _AreaLimits(lambda level: intervals.logit_normal(value, se, level, "logit"), se)


def _combine_intervals(
    first: PointEstimate, second: PointEstimate, alone: PointEstimate, level: float
) -> Interval:
    """Return the interval of the difference from those of two independent subsets."""
    own = policy.interval(first, level)
    if np.isnan(own.low):
        return intervals.no_interval("none", own.reason or "no_analytic_interval")
    other = policy.interval(alone, level)
    if np.isnan(other.low):
        return intervals.no_interval("none", other.reason or "no_analytic_interval")
    if _share_clusters(first, second):
        return intervals.no_interval("none", "no_analytic_interval")
    return intervals.difference(first.value, own, second.value, other)


# --- Systems that were measured on other units ----------------------------------------------------

#: What the procedures of such differences are called by.
INDEPENDENT = "independent samples"


def independent_difference(
    first: PointEstimate,
    second: PointEstimate,
    sizes: Sequence[int] = (),
    places: tuple[int, int] = (0, 1),
) -> PointEstimate:
    """Return first minus second of two systems that share no units.

    An example is two confusion matrices. With the ``sizes`` of the samples of all systems, in which
    these two have the indices ``places``, differences have a joint distribution.
    """

    def error() -> StandardError:
        found = _errors(first, second)
        return StandardError(NAN if found is None else math.hypot(*found), f"delta, {INDEPENDENT}")

    return first.difference(
        second,
        kind=INDEPENDENT,
        n=first.n + second.n,
        weight=None,
        clusters=None,
        sizes=lambda: (),
        error=error,
        influence=lambda: _side_by_side(first, second, sizes, places),
        procedure_by_method=lambda name: _two_sample_procedure(first, second, name),
    )


def _side_by_side(
    first: PointEstimate, second: PointEstimate, sizes: Sequence[int], places: tuple[int, int]
) -> Influence | None:
    """Return the influence of both, with the units of all systems one after the other.

    Return None if either is not known.
    """
    if not sizes or first.influence is None or second.influence is None:
        return None
    made = [np.zeros(size) for size in sizes]
    for sign, place, influence in zip((1, -1), places, (first, second), strict=True):
        found = influence.influence() if influence.influence is not None else None
        if found is None:
            return None
        made[place] = sign * found.space.vector(found.column)
    if any(len(own) != size for own, size in zip(made, sizes, strict=True)):
        return None
    return Influence(np.concatenate(made), VarianceEstimator())


def _two_sample_procedure(
    first: PointEstimate, second: PointEstimate, name: str
) -> Procedure | None:
    """Return the procedure of a method for two samples; None if it does not apply."""
    value, (low, high), (least, most) = first.value - second.value, first.bounds, second.bounds
    shared: dict[str, Any] = {"value": value, "bounds": (low - most, high - least)}
    errors = _errors(first, second)
    error = StandardError(NAN if errors is None else math.hypot(*errors), f"delta, {INDEPENDENT}")
    if name == "delta":
        if errors is None or not error.se > 0:
            return None
        return Wald(
            **shared, method=error.name, name=f"normal, {INDEPENDENT}", t=error, error=error
        )
    if name == "percentile":
        drawn = replace(first.settings, interval="bootstrap")
        first, second = replace(first, settings=drawn), replace(second, settings=drawn)
    elif name != "two samples":
        return None

    @cache
    def at(level: float) -> tuple[Interval, TestResult]:
        own, other = (
            replace(r, settings=replace(r.settings, level=level)) for r in (first, second)
        )
        made, test = compare_samples(own, other, lambda: other)
        return made.extend_to_value(value), test

    made, test = at(first.settings.level)
    return TwoSampleProcedure(
        **shared,
        method=f"{made.method}, {INDEPENDENT}",
        name=f"{test.name}, {INDEPENDENT}",
        error=error,
        reason=made.reason,
        limits=lambda level: at(level)[0],
        p_of_none=test.p,
        is_resampled=any(word in made.method for word in ("[B]", "of the cells")),
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class TwoSampleProcedure(LimitsProcedure):
    """Procedure of two samples: limits at any level, and a separate test of no difference.

    The test agrees with the limits about 0; tests of other differences use the limits.
    """

    p_of_none: float
    #: Whether limits and test are of draws, which say nothing of small levels.
    is_resampled: bool = False

    @property
    def family_procedure(self) -> Procedure:
        """Wald procedure if it uses draws, else the procedure itself."""
        if not self.is_resampled or not self.error.se > 0:
            return self
        return Wald(
            value=self.value,
            bounds=self.bounds,
            method=self.method,
            name=self.name,
            error=self.error,
            reason=self.reason,
            t=self.error,
        )

    def p(self, at: float = 0.0, alternative: str = "two-sided") -> float:
        """Return the p-value of a true difference ``at``, against the alternative.

        Without variability it is that of the separate test.
        """
        of_none = at == 0 and math.isfinite(self.p_of_none)
        if of_none and (alternative == "two-sided" or self.reason is not None):
            return self.p_of_none
        return super().p(at, alternative)

    def _beyond(self, at: float, side: int) -> float:
        if at != 0 or not math.isfinite(self.p_of_none):
            return super()._beyond(at, side)
        half = self.p_of_none / 2
        return half if self.value * side > 0 else 1 - half


def _share_clusters(first: PointEstimate, second: PointEstimate) -> bool:
    """Check whether a cluster has rows in both subsets."""
    if first.clusters is None or second.clusters is None:
        return False
    return bool(np.intersect1d(first.clusters.code, second.clusters.code).size)
