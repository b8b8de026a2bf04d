"""Differences between two independent samples, such as a slice and all other rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from calipers.inference import (
    fixed_cases,
    human_labels,
    intervals,
    method_selection,
    paired_tests,
    proportions,
)
from calipers.inference.clusters import cr2, subset_difference_error
from calipers.inference.intervals import Interval
from calipers.inference.method_limits import (
    MAX_PERMUTED_ROWS,
    MIN_CLUSTER_DF,
    MIN_POSITIVES_OF_SUBSET,
    max_permuted_rows,
)
from calipers.inference.paired_tests import TestResult
from calipers.inference.point_estimate import NO_SPREAD, PointEstimate, lazy_difference
from calipers.inference.procedures import LimitsProcedure, Procedure, WaldProcedure
from calipers.inference.roots import bracketed_root
from calipers.inference.variance_estimators import (
    NAN,
    GroupedInfluence,
    Influence,
    StandardError,
    VarianceEstimator,
)
from calipers.lazy_dataclasses import dataclass, replace
from calipers.statistics.differences import subtract_values

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


def fisher_exact(first: float, n: float, second: float, m: float) -> TestResult | None:
    """Compute Fisher's exact test that two proportions of ``n`` and ``m`` trials are equal.

    The p-value is the probability, given the total number of successes, of all tables that are no
    more probable than the observed one. Return None if trials or successes are not integers, as
    with weighted rows.

    Examples
    --------
    >>> fisher_exact(3 / 4, 4, 1 / 4, 4).p.__round__(4)  # Fisher's lady tasting tea
    0.4857
    """
    from scipy.special import gammaln

    name = "Fisher, exact"
    sizes = np.array([n, m], np.float64)
    hits = np.array([first * n, second * m], np.float64)
    if not (sizes.min() > 0 and _is_integer_valued(sizes) and _is_integer_valued(hits)):
        return None
    (n, m), (first_hits, second_hits) = np.rint(sizes), np.rint(hits)
    n_successes = first_hits + second_hits
    k = np.arange(max(0.0, n_successes - m), min(n, n_successes) + 1)
    log_weights = -(
        gammaln(k + 1) + gammaln(n - k + 1) + gammaln(n_successes - k + 1)
        + gammaln(m - n_successes + k + 1)
    )  # fmt: skip
    chance = np.exp(log_weights - log_weights.max())
    # Equally probable ones differ by rounding.
    max_chance = chance[k == first_hits][0] * (1 + 1e-7)
    return TestResult(min(1.0, float(chance[chance <= max_chance].sum() / chance.sum())), name)


def _is_integer_valued(x: FloatArray) -> bool:
    return bool(np.allclose(x, np.rint(x), rtol=1e-9, atol=1e-6))


def align_with_test(
    interval: Interval, test: TestResult, value: float, level: float
) -> tuple[Interval, TestResult]:
    """Return an interval and a two-sided test that agree about 0.

    The interval is extended to 0 if the test does not exclude it, and the p-value is that of the
    interval, as if it were normal, if the interval does not. So both err no more often than either
    alone.
    """
    alpha = round(1 - level, 12)
    if interval.reason is not None or math.isnan(test.p) or math.isnan(interval.low):
        return interval, test
    contains_zero, is_significant = interval.low <= 0 <= interval.high, test.p <= alpha
    if is_significant and contains_zero:
        half = value - interval.low if value > 0 else interval.high - value
        z = intervals.normal_quantile(level) * abs(value) / half if half > 0 else 0.0
        return interval, replace(test, p=max(math.erfc(z / math.sqrt(2)), alpha * (1 + 1e-9)))
    if not is_significant and not contains_zero:
        low, high, method = extend_to_zero(interval.low, interval.high, interval.method, "the test")
        return replace(interval, low=low, high=high, method=method), test
    return interval, test


def extend_to_zero(low: float, high: float, method: str, source: str) -> tuple[float, float, str]:
    """Return limits extended to 0, and the method, which names what does not exclude 0.

    Examples
    --------
    >>> extend_to_zero(0.1, 0.3, "Welch, but few clusters", "Holm")
    (0.0, 0.3, 'Welch, to 0 by Holm, but few clusters')
    """
    name, but, cautions = method.partition(", but ")
    return min(low, 0.0), max(high, 0.0), f"{name}, to 0 by {source}{but}{cautions}"


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
    variance_proportion = a / (a + b)
    degrees = 1 / (
        variance_proportion**2 / (sizes[0] - 1) + (1 - variance_proportion) ** 2 / (sizes[1] - 1)
    )
    interval, test = student_result(value, math.sqrt(a + b), degrees, level, "Welch")
    return interval, replace(test, name="Welch t")


def student_result(
    value: float, se: float, df: float, level: float, name: str
) -> tuple[Interval, TestResult]:
    """Compute Student's interval and test of a difference from its standard error."""
    from scipy.special import stdtr, stdtrit

    if not math.isfinite(se):
        return intervals.no_interval(name, "too_few_clusters"), TestResult(NAN, name)
    if se == 0:
        return intervals.no_interval(name, "no_spread"), TestResult(
            1.0 if value == 0 else NAN, name
        )
    half = float(stdtrit(df, (1 + level) / 2)) * se
    p = 2 * float(stdtr(df, -abs(value) / se))
    return Interval(value - half, value + half, name, se=se), TestResult(p, name)


def inversion_test(
    interval: Callable[[float], Interval], name: str, null_value: float = 0.0
) -> TestResult:
    """Return the test that inverts an interval.

    Its p-value is 1 − level of the interval that just reaches 0, or ``null_value``. ``interval``
    returns the interval of a difference at a level.
    """

    def distance(log_alpha: float) -> float:
        """Return how far the null value is outside the interval; negative inside or without it."""
        result = interval(1 - math.exp(log_alpha))
        outside = max(result.low - null_value, null_value - result.high)
        return outside if outside == outside else -1.0

    # On the logarithm of p, down to where 1 − p is still told from 1, and up to where an interval
    # is wider than its rounding errors: one that has no width is replaced by that of another
    # method. Brent's method takes some ten intervals where halving took fifty.
    log_low, log_high = math.log(1e-12), -1e-6
    if distance(log_low) > 0:
        return TestResult(math.exp(log_low), name)
    if distance(log_high) <= 0:
        return TestResult(1.0, name)
    return TestResult(math.exp(bracketed_root(distance, log_low, log_high, xtol=1e-13)), name)


#: Kinds for which the permutation result of a small subset is used unchanged.
_MEAN_KINDS = ("mean of a value per row", "mean over topics", "topics pooled")

_NO_TEST = TestResult(float("nan"), "none")


class PermutedDifference(Protocol):
    """Permutation distribution of the difference between two subsets."""

    def compare(self, level: float) -> tuple[Interval, TestResult]:
        """Return the interval and the test from the permutation distribution."""


def compare_samples(
    first: PointEstimate,
    second: PointEstimate,
    estimate_second: Callable[[], PointEstimate],
    permuted_difference: Callable[[int], PermutedDifference | None] = lambda max_units: None,
) -> tuple[Interval, TestResult]:
    """Compute the interval and test of first minus second, which agree about 0.

    They are based on the joint distribution of the estimates if it is known, else on the bootstrap
    of both, else on the two intervals; ``estimate_second`` returns the estimate of the second
    sample by itself, for its own interval.

    Notes
    -----
    If ``permuted_difference``, given the number of units that counts as small, returns a
    permutation distribution, this replaces Welch's test, bootstraps, and errors if a label is rare.
    With other tests the larger p-value is used: theirs may be too small with few rows, and that of
    permutations if the two samples have different variances. If the permutation p-value is the
    larger one and not significant although the interval excludes 0, the interval is the hull of
    both. Proportions of small counts use Fisher's exact test.
    """
    if first.kind in method_selection.ABSENT_INTERVALS:
        return method_selection.ABSENT_INTERVALS[first.kind], _NO_TEST
    interval, test = _two_sample_result(first, second, estimate_second, permuted_difference)
    return align_with_test(interval, test, first.value - second.value, first.settings.level)


def _two_sample_result(
    first: PointEstimate,
    second: PointEstimate,
    estimate_second: Callable[[], PointEstimate],
    permuted_difference: Callable[[int], PermutedDifference | None],
) -> tuple[Interval, TestResult]:
    kinds = {first.kind, second.kind}
    if (human_labels.KIND in kinds and len(kinds) > 1) or fixed_cases.KIND in kinds:
        # Labels of every row of one part, and a judge beside those of the other one; or cases that
        # are no sample, so that none can be permuted.
        return _result_from_limits(first, second, estimate_second())
    exact = _exact_proportions(first, second)
    if exact is not None:
        return exact
    permuted = permuted_difference(max_permuted_rows(first, second))
    if permuted is None:
        return _compare_independent(first, second, estimate_second)
    permuted_interval, test = permuted.compare(first.settings.level)
    if permuted_interval.reason is None and (
        first.kind in _MEAN_KINDS or first.has_few_units() or second.has_few_units()
    ):
        return _clip_to_range(permuted_interval, first), test
    independent_interval, independent_test = _compare_independent(first, second, estimate_second)
    is_resampled = (
        "[B]" in independent_interval.method and not first.settings.is_bootstrap_requested
    )
    if independent_interval.reason is not None or (
        is_resampled and permuted_interval.reason is None
    ):
        independent_interval = _clip_to_range(permuted_interval, first)
    # From draws, the smallest possible p-value is only an upper bound.
    floor = 2 / (first.settings.n_resamples + 1)
    if not is_resampled and independent_test.p > max(test.p, floor):
        return independent_interval, independent_test
    differs = (
        permuted_interval.reason is None
        and independent_interval.method != permuted_interval.method
        and not independent_interval.low <= 0 <= independent_interval.high
    )
    if differs and test.p >= 1 - first.settings.level:
        low, high = (
            min(independent_interval.low, permuted_interval.low),
            max(independent_interval.high, permuted_interval.high),
        )
        name = f"{independent_interval.method} or {permuted_interval.method}: the wider"
        independent_interval = _clip_to_range(
            replace(independent_interval, low=low, high=high, method=name), first
        )
    return independent_interval, test


def _exact_proportions(
    first: PointEstimate, second: PointEstimate
) -> tuple[Interval, TestResult] | None:
    """Return Newcombe's interval and Fisher's exact test of two proportions, one of them small.

    Return None if the estimates are of another kind, or both samples are large.
    """
    if (
        first.kind not in ("proportion of rows", "proportion of topics")
        or first.clusters is not None
    ):
        return None
    if first.settings.is_bootstrap_requested:
        return None
    (n,), (m,) = first.effective_sizes(), second.effective_sizes()
    test = fisher_exact(first.value, n, second.value, m) if min(n, m) <= MAX_PERMUTED_ROWS else None
    result = None if test is None else _analytic_result(first, second)
    return None if result is None or test is None else (result[0], test)


def _clip_to_range(interval: Interval, estimate: PointEstimate) -> Interval:
    """Return the interval of a difference, clipped to the range of the measure."""
    low, high = estimate.bounds
    return interval.clip(low - high, high - low)


def _compare_independent(
    first: PointEstimate, second: PointEstimate, estimate_second: Callable[[], PointEstimate]
) -> tuple[Interval, TestResult]:
    settings, clusters = first.settings, first.clusters
    value = first.value - second.value
    if not settings.is_bootstrap_requested:
        result = (
            _analytic_result(first, second)
            if clusters is None
            else _cluster_robust_result(first, second)
        )
        if result is not None:
            return result
    interval: Interval | None = None
    if settings.interval != "analytic":
        differences, name = _draw_differences(first, second)
        if differences is not None:
            if first.is_biased:
                # The value is biased, by more in the smaller part; turning the replicates about
                # the difference takes that off as it does for each part.
                differences = 2 * value - differences
            interval = intervals.percentile(differences, settings.level, f"{name} of both")
            if interval.reason is None:
                return interval, replace(
                    paired_tests.bootstrap_test(differences), name=name.removesuffix(" [B]")
                )
    if interval is not None and settings.is_bootstrap_requested:
        return interval, _NO_TEST
    limits, test = _result_from_limits(first, second, estimate_second())
    return limits if limits.reason is None or interval is None else interval, test


def _draw_differences(first: PointEstimate, second: PointEstimate) -> tuple[FloatArray | None, str]:
    """Return replicates of first minus second, and their name.

    They are posterior draws of the counts, which vary even if the counts do not, or else bootstrap
    replicates.
    """
    name = first.resampling_name or "bootstrap [B]"
    name = name if first.clusters is None else "cluster bootstrap [B]"
    draw_difference = lazy_difference(
        lambda: first.interval_replicates, lambda: second.interval_replicates
    )
    if (
        first.posterior_draws
        and second.posterior_draws
        and not first.settings.is_bootstrap_requested
    ):
        draw_difference, name = (
            lazy_difference(first.posterior_draws, second.posterior_draws),
            "Jeffreys, Dirichlet posterior",
        )
    return (None if draw_difference is None else draw_difference()), name


def _analytic_result(
    first: PointEstimate, second: PointEstimate
) -> tuple[Interval, TestResult] | None:
    """Return the interval and test of the kind that need no bootstrap, or None."""
    level, value = first.settings.level, first.value - second.value
    match first.kind:
        case "proportion of rows" | "proportion of topics":
            (n,), (m,) = first.effective_sizes(), second.effective_sizes()
            limits = (proportions.wilson(r.value, k, level) for r, k in ((first, n), (second, m)))
            interval = intervals.mover_interval(
                first.value, next(limits), second.value, next(limits)
            )
            test = proportions_ztest(first.value, n, second.value, m)
            return replace(interval, method="Newcombe"), test
        case "recalibration":
            errors = _standard_errors(first, second)
            if errors is None:
                return None
            return _normal_result(value, math.hypot(*errors), "Wald, two samples", level)
        case "proportion of variance" | "correlation" | "relative error":
            result = _result_from_limits(first, second, second)
            return None if result[0].reason else result
        case "average over labels" if first.has_few_units() or second.has_few_units():
            # Replicates may be without a label that is scarce in one part; errors are not.
            errors = _standard_errors(first, second)
            if errors is None or not math.hypot(*errors) > 0:
                return None
            interval, test = _normal_result(value, math.hypot(*errors), "delta, two samples", level)
            return interval.add_caution("a rare label"), test
        case "mean of a value per row" | "mean over topics" | "topics pooled":
            (n,), (m,) = first.effective_sizes(), second.effective_sizes()
            errors = _standard_errors(first, second) or (math.nan, math.nan)
            return welch(value, errors, (n, m), level)
    return _area_result(first, second, level)


def _result_from_limits(
    first: PointEstimate, second: PointEstimate, standalone_second: PointEstimate
) -> tuple[Interval, TestResult]:
    """Return the interval from the limits of both, and the test that inverts it.

    There is no test if either has no interval. ``standalone_second`` is the estimate of the second
    sample by itself.
    """

    def combined_interval(level: float) -> Interval:
        return _combine_intervals(first, second, standalone_second, level)

    interval = combined_interval(first.settings.level)
    return interval, _NO_TEST if interval.reason else inversion_test(
        combined_interval, interval.method
    )


def _standard_errors(first: PointEstimate, second: PointEstimate) -> tuple[float, float] | None:
    errors = first.standard_error, second.standard_error
    if not all(isinstance(error, StandardError) for error in errors):
        return None
    a, b = (error.se for error in errors if isinstance(error, StandardError))
    return None if math.isnan(a + b) else (a, b)


def _normal_result(value: float, se: float, name: str, level: float) -> tuple[Interval, TestResult]:
    """Return the interval and test of a normal difference with this standard error."""
    interval = replace(intervals.normal_interval(value, se, level), method=name)
    return interval, paired_tests.z_test_from_stats(value, se, name)


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

    The variance of a subset of effectively fewer than five clusters may be small by chance, and the
    degrees of freedom are then those of the other subset. They are therefore at most those of
    clusters that vary alike in both. Without that, a mean over 2 of 40 clusters was found to differ
    from the others 17 times of 100 where it does not.
    """
    first_sums, second_sums = _cluster_sums(first), _cluster_sums(second)
    if first_sums is None or second_sums is None:
        return None
    se, degrees = subset_difference_error(first_sums, second_sums)
    errors = [cr2(*sums) for sums in (first_sums, second_sums)]
    if se <= NO_SPREAD * max(error.se for error in errors):
        se = 0.0  # the sums of equal parts of all clusters differ by rounding
    subset_df = [error.df for error in errors]
    if min(subset_df) < MIN_CLUSTER_DF:
        degrees = min(degrees, _df_of_equal_clusters(subset_df))
    value, level, name = (
        float(subtract_values(np.float64(first.value), np.float64(second.value))),
        first.settings.level,
        "cluster-robust, two samples",
    )
    interval, test = student_result(value, se, degrees, level, name)
    return (interval.add_caution("few clusters") if degrees < MIN_CLUSTER_DF else interval), test


def _df_of_equal_clusters(subset_df: Sequence[float]) -> float:
    """Return the degrees of freedom of a difference if the clusters of both subsets vary alike.

    >>> round(_df_of_equal_clusters([1.0, 37.0]), 2)
    1.11
    """
    variances = [1 / (df + 1) for df in subset_df]
    return sum(variances) ** 2 / sum(v**2 / df for v, df in zip(variances, subset_df, strict=True))


def _cluster_sums(estimate: PointEstimate) -> tuple[FloatArray, FloatArray] | None:
    """Return the influence of each cluster and its contribution to the denominator.

    The result is None if rows are not clustered, or if their influence is not known or 0.
    """
    if isinstance(estimate.influence, GroupedInfluence):
        sums = estimate.influence.cluster_sums()
        if sums is not None:
            return sums
    influence = None if estimate.influence is None else estimate.influence()
    if influence is None or influence.variance_estimator.clusters is None:
        return None
    if not influence.influence_values.any():
        return None
    return influence.variance_estimator.cluster_sums(influence.column)


def _area_result(
    first: PointEstimate, second: PointEstimate, level: float
) -> tuple[Interval, TestResult] | None:
    """Return the interval and test of two areas of scores, or None if they need a bootstrap.

    For AUCs they use the sum of DeLong's two variances; for other areas, and if an AUC is too close
    to 0 or 1, the limits of both.
    """
    if "area" not in first.methods or "area" not in second.methods:
        return None
    first_limits, second_limits = _area_limits(first), _area_limits(second)
    if first_limits is None or second_limits is None:
        return None
    value = first.value - second.value
    if first.kind in ("AUC", "Gini") and min(first_limits.se, second_limits.se) > 0:
        return _normal_result(
            value, math.hypot(first_limits.se, second_limits.se), "DeLong, two samples", level
        )
    limits = first_limits.interval_function, second_limits.interval_function

    def difference_interval(confidence: float) -> Interval:
        area_intervals = limits[0](confidence), limits[1](confidence)
        return intervals.mover_interval(
            first.value, area_intervals[0], second.value, area_intervals[1]
        )

    return difference_interval(level), inversion_test(difference_interval, "MOVER")


@dataclass(frozen=True)
class _AreaLimits:
    """Limits of an area at any level, and its standard error (0 if limits do not use it)."""

    interval_function: Callable[[float], Interval]
    se: float = 0.0


def _area_limits(estimate: PointEstimate) -> _AreaLimits | None:
    """Return the limits of an area that needs no bootstrap.

    They follow from the influence of the rows on the logit scale, or from the default interval of
    the measure if there are too few rows for that.
    """

    def default_interval(level: float) -> Interval:
        interval = estimate.methods["area"](level)
        assert interval is not None
        return interval.clip(*estimate.bounds)

    interval = default_interval(0.95)
    if interval.reason is not None:
        return None
    if estimate.kind in ("AUC", "Gini"):
        has_enough_rows = interval.method == "DeLong, logit"
    else:
        has_enough_rows = estimate.effective_sizes()[1] >= MIN_POSITIVES_OF_SUBSET
    error = estimate.standard_error if has_enough_rows else None
    se = error.se if isinstance(error, StandardError) else 0.0
    if not se > 0:
        return _AreaLimits(default_interval)
    if estimate.kind == "Gini":
        return _AreaLimits(default_interval, se)
    value = estimate.value
    return _AreaLimits(lambda level: intervals.logit_interval(value, se, level, "logit"), se)


def _combine_intervals(
    first: PointEstimate, second: PointEstimate, standalone_second: PointEstimate, level: float
) -> Interval:
    """Return the interval of the difference from those of two independent subsets."""
    first_interval = method_selection.interval(first, level)
    if np.isnan(first_interval.low):
        return intervals.no_interval("none", first_interval.reason or "no_analytic_interval")
    second_interval = method_selection.interval(standalone_second, level)
    if np.isnan(second_interval.low):
        return intervals.no_interval("none", second_interval.reason or "no_analytic_interval")
    if _has_common_clusters(first, second):
        return intervals.no_interval("none", "no_analytic_interval")
    return intervals.mover_interval(first.value, first_interval, second.value, second_interval)


# --- Systems that were measured on other units ----------------------------------------------------

#: Kind and name suffix of differences between independent samples.
INDEPENDENT_SAMPLES = "independent samples"


def independent_difference(
    first: PointEstimate,
    second: PointEstimate,
    sizes: Sequence[int] = (),
    system_indices: tuple[int, int] = (0, 1),
) -> PointEstimate:
    """Return first minus second of two systems that share no units.

    An example is two confusion matrices. With the ``sizes`` of the samples of all systems, in which
    these two have the indices ``system_indices``, differences have a joint distribution.
    """

    def error() -> StandardError:
        errors = _standard_errors(first, second)
        return StandardError(
            NAN if errors is None else math.hypot(*errors), f"delta, {INDEPENDENT_SAMPLES}"
        )

    return first.difference(
        second,
        kind=INDEPENDENT_SAMPLES,
        n=first.n + second.n,
        weight=None,
        clusters=None,
        effective_sizes=lambda: (),
        compute_error=error,
        influence=lambda: _stack_influence(first, second, sizes, system_indices),
        procedure_by_method=lambda name: _two_sample_procedure(first, second, name),
    )


def _stack_influence(
    first: PointEstimate,
    second: PointEstimate,
    sizes: Sequence[int],
    system_indices: tuple[int, int],
) -> Influence | None:
    """Return the influence of both, with the units of all systems one after the other.

    Return None if either is not known.
    """
    if not sizes or first.influence is None or second.influence is None:
        return None
    columns = [np.zeros(size) for size in sizes]
    for sign, index, estimate in zip((1, -1), system_indices, (first, second), strict=True):
        influence = estimate.influence() if estimate.influence is not None else None
        if influence is None:
            return None
        columns[index] = sign * influence.variance_estimator.covariance_vector(influence.column)
    if any(len(column) != size for column, size in zip(columns, sizes, strict=True)):
        return None
    return Influence(np.concatenate(columns), VarianceEstimator())


def _two_sample_procedure(
    first: PointEstimate, second: PointEstimate, name: str
) -> Procedure | None:
    """Return the procedure of a method for two samples; None if it does not apply."""
    value, (low, high), (second_low, second_high) = (
        first.value - second.value,
        first.bounds,
        second.bounds,
    )
    shared: dict[str, Any] = {"value": value, "bounds": (low - second_high, high - second_low)}
    errors = _standard_errors(first, second)
    error = StandardError(
        NAN if errors is None else math.hypot(*errors), f"delta, {INDEPENDENT_SAMPLES}"
    )
    if name == "delta":
        if errors is None or not error.se > 0:
            return None
        return WaldProcedure(
            **shared,
            method=error.name,
            name=f"normal, {INDEPENDENT_SAMPLES}",
            t_error=error,
            standard_error=error,
        )
    if name == "percentile":
        bootstrap_settings = replace(first.settings, interval="bootstrap")
        first, second = (
            replace(first, settings=bootstrap_settings),
            replace(second, settings=bootstrap_settings),
        )
    elif name != "two samples":
        return None

    @cache
    def compare_at_level(level: float) -> tuple[Interval, TestResult]:
        first_sample, second_sample = (
            replace(r, settings=replace(r.settings, level=level)) for r in (first, second)
        )
        interval, test = compare_samples(first_sample, second_sample, lambda: second_sample)
        return interval.extend_to_value(value), test

    interval, test = compare_at_level(first.settings.level)
    return TwoSampleProcedure(
        **shared,
        method=f"{interval.method}, {INDEPENDENT_SAMPLES}",
        name=f"{test.name}, {INDEPENDENT_SAMPLES}",
        standard_error=error,
        reason=interval.reason,
        limits=lambda level: compare_at_level(level)[0],
        no_difference_p=test.p,
        is_resampled=any(word in interval.method for word in ("[B]", "Dirichlet posterior")),
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class TwoSampleProcedure(LimitsProcedure):
    """Procedure of two samples: limits at any level, and a separate test of no difference.

    The test agrees with the limits about 0; tests of other differences use the limits.
    """

    no_difference_p: float
    #: Whether limits and test are from draws, which do not resolve small levels.
    is_resampled: bool = False

    @property
    def family_procedure(self) -> Procedure:
        """Wald procedure if it uses draws, else the procedure itself."""
        if not self.is_resampled or not self.standard_error.se > 0:
            return self
        return WaldProcedure(
            value=self.value,
            bounds=self.bounds,
            method=self.method,
            name=self.name,
            standard_error=self.standard_error,
            reason=self.reason,
            t_error=self.standard_error,
        )

    def p(self, null_value: float = 0.0, alternative: str = "two-sided") -> float:
        """Return the p-value of a true difference ``null_value``, against the alternative.

        Without variability it is that of the separate test.
        """
        uses_separate_test = null_value == 0 and math.isfinite(self.no_difference_p)
        if uses_separate_test and (alternative == "two-sided" or self.reason is not None):
            return self.no_difference_p
        return super().p(null_value, alternative)

    def _one_sided_p(self, null_value: float, side: int) -> float:
        if null_value != 0 or not math.isfinite(self.no_difference_p):
            return super()._one_sided_p(null_value, side)
        half = self.no_difference_p / 2
        return half if self.value * side > 0 else 1 - half


def _has_common_clusters(first: PointEstimate, second: PointEstimate) -> bool:
    """Check whether a cluster has rows in both subsets."""
    if first.clusters is None or second.clusters is None:
        return False
    return bool(np.intersect1d(first.clusters.codes, second.clusters.codes).size)
