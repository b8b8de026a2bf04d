"""Intervals and tests that are available for a point estimate, by its sampling distribution."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.inference import bayesian_bootstrap, intervals, paired_tests, proportions
from calipers.inference.intervals import ROUNDING_TOLERANCE, Interval
from calipers.inference.method_limits import (
    MAX_LOG_ERROR,
    MIN_ROWS_FOR_MAX_LOG_ERROR,
    MIN_ROWS_FOR_NORMAL,
    n_randomizations,
)
from calipers.inference.point_estimate import (
    IntervalFunction,
    PointEstimate,
    UnitGroups,
    UnitValues,
)
from calipers.inference.procedures import (
    BayesianProcedure,
    BcaProcedure,
    McNemarProcedure,
    Procedure,
    PValueProcedure,
    RandomizationProcedure,
    ReplicateProcedure,
    SignedRankProcedure,
    SignProcedure,
    WaldProcedure,
    no_procedure,
)
from calipers.inference.transformations import TRANSFORMATIONS
from calipers.inference.variance_estimators import NAN, GroupedInfluence, Influence, StandardError
from calipers.lazy_dataclasses import dataclass, replace
from calipers.statistics import (
    Histogram,
    UnitDifferences,
    effective_size,
    effective_size_from_weights,
)

if TYPE_CHECKING:
    from calipers.inference.paired_tests import TestResult
    from calipers.statistics import FloatArray

#: Names of the default interval and test of a difference between units.
UNIT_METHOD, UNIT_TEST = "t or Bayesian bootstrap, paired", "paired t or Bayesian bootstrap"

#: Names of the tests by the proportion of replicates, for rows and for clusters.
BOOTSTRAP_TEST_NAMES = ("paired bootstrap", "paired cluster bootstrap")


def available_intervals(estimate: PointEstimate) -> dict[str, IntervalFunction]:
    """Return the intervals that a point estimate can have, by method.

    Each is a function of the level; it returns None if the method does not apply after all.
    """
    interval_functions: dict[str, IntervalFunction] = {}
    if estimate.has_replicates and not estimate.is_biased:
        interval_functions["percentile"] = lambda level: _percentile(estimate, level)
        interval_functions["bca"] = lambda level: _bca_interval(estimate, level)
    if estimate.studentized_replicates is not None:
        interval_functions["studentized"] = lambda level: _studentized_interval(estimate, level)
    if estimate.stratified_replicates is not None:
        interval_functions["stratified"] = lambda level: _stratified_percentile(estimate, level)
    if estimate.compute_error is not None or estimate.influence is not None:
        interval_functions["by error"] = interval_functions["delta"] = lambda level: error_interval(
            estimate, level
        )
        if estimate.clusters is not None:
            interval_functions["by cluster"] = lambda level: cluster_interval(estimate, level)
    return {**interval_functions, **estimate.methods}


def effective_rows(estimate: PointEstimate) -> float:
    """Return Kish's effective number of rows."""
    weight = estimate.weight
    return estimate.n if weight is None else effective_size_from_weights(weight)


def error_interval(estimate: PointEstimate, level: float) -> Interval | None:
    """Return the interval based on the standard error, or None if this is not known.

    The interval is normal, on the transformed scale if the point estimate has one. For clustered
    rows it uses Student's t. An exact interval for normal units is widened to the standard error.
    """
    error, value, clusters = estimate.standard_error, estimate.value, estimate.clusters
    if error is None:
        return None
    if isinstance(error, Interval):
        return error if estimate.is_reduced else None
    if clusters is not None and clusters.n_clusters < 2:
        return intervals.no_interval("none", "too_few_clusters")
    if estimate.transform is not None:
        return _transformed_interval(estimate, error, level)
    if np.isfinite(error.se) and not error.se > 0:
        return intervals.no_interval(error.name, "no_spread")
    if clusters is not None:
        return clusters.student_interval(value, error.se, error.df, level, error.name)
    if estimate.normal_units_interval is not None:
        exact = estimate.normal_units_interval(level)
        return None if exact is None else exact.widen(value, error.se, error.name)
    return replace(intervals.normal_interval(value, error.se, level), method=error.name)


def _transformed_interval(estimate: PointEstimate, error: StandardError, level: float) -> Interval:
    """Return the interval on the scale on which the point estimate is closer to normal."""
    assert estimate.transform is not None
    scale, value, se = TRANSFORMATIONS[estimate.transform], estimate.value, error.se
    name = f"{error.name}, {scale.name}"
    if not (0 < se < np.inf and scale.is_defined(value)):
        is_area_at_end = estimate.transform == "logit" and not scale.is_defined(value)
        reason = "area_at_its_limit" if is_area_at_end else "no_spread"
        return intervals.no_interval(name, reason if se >= 0 else "too_few_rows")
    se_factor = 1.0
    rows = (estimate.effective_sizes() or (effective_rows(estimate),))[0]
    if estimate.transform == "rest" and rows >= MIN_ROWS_FOR_MAX_LOG_ERROR:
        se_factor = min(se_factor, MAX_LOG_ERROR / (se * scale.derivative(value)))
    if estimate.clusters is not None:
        name = estimate.clusters.annotate_method(name)
    if error.df is not None:
        se = intervals.student_se(se, error.df, level)
    low = intervals.transformed_interval(scale, value, se_factor * se, level, name).low
    return replace(
        intervals.transformed_interval(scale, value, se, level, name), low=low, se=error.se
    )


# --- Rows in clusters ----------------------------------------------------------------------------

#: Kinds of point estimates: proportions of rows, areas with two bounds, and means.
_PROPORTION_KINDS = ("proportion of rows", "top-k proportion", "proportion of topics")
_AREA_KINDS = (
    "AUC",
    "Gini",
    "precision-recall area",
    "interpolated precision-recall area",
    "interpolated precision",
    "measure of scores",
    "average of scores",
)
_MEAN_KINDS = (
    "mean of a value per row",
    "average over outputs",
    "mean over topics",
    "topics pooled",
)


def cluster_interval(estimate: PointEstimate, level: float) -> Interval | None:
    """Return the interval of a point estimate on clustered rows, by Student's t of its CR2 error.

    The scale depends on the kind of the point estimate: a proportion, or a mean with finite bounds,
    has Wilson's interval with the effective number of rows; an area uses the logit scale; a mean
    that is never negative the log scale; a coefficient of agreement, which is 1 minus a ratio of
    two sums, the log scale of this ratio.
    """
    error, clusters, value = estimate.standard_error, estimate.clusters, estimate.value
    if clusters is None or not isinstance(error, StandardError):
        return error if isinstance(error, Interval) and estimate.is_reduced else None
    if not (error.df is not None and error.df > 0 and np.isfinite(error.se)):
        return intervals.no_interval("none", "too_few_clusters")
    low, high = estimate.bounds
    is_mean = estimate.kind in _MEAN_KINDS
    if np.isfinite(low) and np.isfinite(high):
        if is_mean or estimate.kind in _PROPORTION_KINDS:
            return _cluster_wilson_interval(estimate, error, level)
        if estimate.kind == "Gini" or (
            estimate.kind in _AREA_KINDS and estimate.transform is not None
        ):
            length = high - low
            proportion, se = (value - low) / length, error.se / length
            influence = None if estimate.influence is None else estimate.influence()
            name = clusters.annotate_method(
                f"{error.name if influence is None else influence.name}, logit"
            )
            if not (se > 0 and 0 < proportion < 1):
                reason = "no_spread" if 0 < proportion < 1 else "area_at_its_limit"
                return intervals.no_interval(name, reason)
            student_se = intervals.student_se(se, error.df, level)
            interval = intervals.logit_interval(proportion, student_se, level, name)
            return replace(
                interval,
                low=low + length * interval.low,
                high=low + length * interval.high,
                se=error.se,
            )
    if estimate.kind == "agreement of raters" and value < high and error.se > 0:
        name = clusters.annotate_method(f"Student t, {TRANSFORMATIONS['rest'].name}")
        half_width = intervals.t_quantile(level, error.df) * error.se
        return Interval(
            *TRANSFORMATIONS["rest"].symmetric_limits(value, half_width), name, se=error.se
        )
    if is_mean and np.isfinite(low) and value > low and error.se > 0:
        name = clusters.annotate_method("Student t, log")
        half_width = intervals.t_quantile(level, error.df) * error.se
        limits = TRANSFORMATIONS["log"].symmetric_limits(value - low, half_width)
        return Interval(low + limits[0], low + limits[1], name, se=error.se)
    return error_interval(estimate, level)


def _cluster_wilson_interval(
    estimate: PointEstimate, error: StandardError, level: float
) -> Interval:
    """Return Wilson's interval of the value as a proportion of the range of values."""
    assert estimate.clusters is not None
    low, high = estimate.bounds
    length = high - low
    proportion = min(max((estimate.value - low) / length, 0.0), 1.0)
    denominator = _cluster_denominator(estimate)
    scaled = error.se / length, error.df or 0.0
    rows = (estimate.effective_sizes() or (effective_rows(estimate),))[0]
    is_proportion = estimate.kind in _PROPORTION_KINDS
    size = estimate.clusters.proportion_size(
        proportion, scaled, denominator, rows if is_proportion else np.inf, level
    )
    interval = proportions.wilson(proportion, size, level)
    name = estimate.clusters.annotate_method(f"{interval.method}, cluster-robust")
    limits = low + length * interval.low, low + length * interval.high
    return Interval(*limits, name, se=error.se)


def _cluster_denominator(estimate: PointEstimate) -> FloatArray:
    """Return the contribution of each cluster to the denominator of an estimate."""
    assert estimate.clusters is not None
    if isinstance(estimate.influence, GroupedInfluence):
        sums = estimate.influence.cluster_sums()
        if sums is not None:
            return sums[1]
    influence = None if estimate.influence is None else estimate.influence()
    if influence is None:
        return estimate.clusters.cluster_weights
    return influence.variance_estimator.cluster_sums(influence.column)[1]


def _bootstrap_name(estimate: PointEstimate) -> str:
    """Return the name of the bootstrap of a point estimate."""
    name = "bootstrap [B]" if estimate.clusters is None else estimate.clusters.bootstrap_name
    name = estimate.resampling_name or name
    if estimate.operands is None:
        return name
    return f"{'basic ' * estimate.is_biased}paired {name}"


def _percentile(estimate: PointEstimate, level: float) -> Interval:
    if estimate.clusters is not None and estimate.clusters.n_clusters < 2:
        return intervals.no_interval(_bootstrap_name(estimate), "too_few_clusters")
    return intervals.percentile(estimate.test_replicates, level, _bootstrap_name(estimate))


def _bca_interval(estimate: PointEstimate, level: float) -> Interval | None:
    influence = _jackknife(estimate)
    if influence is None:
        return None
    if estimate.clusters is not None and estimate.clusters.n_clusters < 2:
        return intervals.no_interval(_bootstrap_name(estimate), "too_few_clusters")
    acceleration = intervals.acceleration(*influence)
    return intervals.bca(
        estimate.value, estimate.test_replicates, acceleration, level, _bootstrap_name(estimate)
    )


def _jackknife(estimate: PointEstimate) -> tuple[FloatArray, FloatArray | None] | None:
    """Return the influence of units on the value, and the number of rows that each represents."""
    if estimate.jackknife is not None:
        return estimate.jackknife()
    if estimate.group_jackknife is not None and not estimate.is_biased:
        return estimate.group_jackknife(), None
    if isinstance(estimate.units, UnitValues):
        return estimate.units.influence_values, None
    influence = None if estimate.influence is None else estimate.influence()
    if influence is None:
        return None
    if estimate.clusters is None:
        return influence.influence_values, None
    return np.bincount(estimate.clusters.codes, influence.influence_values).astype(np.float64), None


def _studentized_interval(estimate: PointEstimate, level: float) -> Interval | None:
    assert estimate.studentized_replicates is not None
    studentized = estimate.studentized_replicates()
    return (
        None if studentized is None else intervals.bootstrap_t(estimate.value, *studentized, level)
    )


def _stratified_percentile(estimate: PointEstimate, level: float) -> Interval | None:
    assert estimate.stratified_replicates is not None
    replicates = estimate.stratified_replicates()
    return (
        None
        if replicates is None
        else intervals.percentile(replicates, level, "stratified bootstrap [B]")
    )


# --- Differences ----------------------------------------------------------------------------------

#: Method of each test that can be requested by name.
METHOD_BY_TEST: Mapping[str, str] = {
    "t": "t",
    "wilcoxon": "wilcoxon",
    "sign": "sign",
    "randomization": "randomization",
    "bootstrap": "percentile",
    "normal": "delta",
    "delong": "delong",
    "mcnemar": "mcnemar",
    "mid-p": "mid-p",
}

ProcedureFactory = Callable[[PointEstimate], "Procedure | None"]


def procedure_by_name(estimate: PointEstimate, name: str) -> Procedure | None:
    """Return the procedure of a difference by its name, or None if it does not apply."""
    if estimate.procedure_by_method is not None:
        return estimate.procedure_by_method(name)
    return _PROCEDURES[name](estimate) if name in _PROCEDURES else None


def _shared_fields(estimate: PointEstimate) -> dict[str, Any]:
    return {"value": estimate.value, "bounds": estimate.bounds}


@dataclass(frozen=True)
class _Differences:
    """Differences on units whose mean, exactly or to first order, is a given difference.

    Attributes
    ----------
    values : ndarray or Histogram
        Distinct or single differences, or their distribution.
    n_differing : int
        Number of units on which the two systems differ at all.
    weight : ndarray or None
        Weight of each unit, or of the units with each value.
    counts : ndarray or None
        Number of units with each value.
    is_exact : bool
        Whether ``values`` are values of units, so that the range of the measure bounds them.
    """

    values: FloatArray | Histogram
    n_differing: int
    weight: FloatArray | None = None
    counts: FloatArray | None = None
    #: Whether they are values of units, so that none is beyond the largest difference there can be.
    is_exact: bool = True
    #: Smallest and largest value, if they are known.
    extremes: tuple[float, float] | None = None

    @property
    def n(self) -> int:
        """Number of values."""
        values = self.values
        return values.rows if isinstance(values, Histogram) else len(values)

    def compute_extremes(self) -> tuple[float, float]:
        """Return the smallest and the largest value."""
        values = self.values
        if self.extremes is not None:
            return self.extremes
        if isinstance(values, Histogram):
            return values.min_value, values.max_value
        used = values if self.counts is None else values[self.counts > 0]
        return float(used.min(initial=math.inf)), float(used.max(initial=-math.inf))

    @property
    def zeroed(self) -> _Differences:
        """The same differences with all values set to 0."""
        values = self.values
        zero = (
            values.transform(0.0, factor=0.0)
            if isinstance(values, Histogram)
            else np.zeros(len(values))
        )
        return replace(self, values=zero, extremes=None)


def unit_differences(estimate: PointEstimate) -> _Differences | None:
    """Return the differences on independent units, or their distribution; None if unavailable."""
    if estimate.clusters is not None:
        return None
    if estimate.discordant_proportions is not None:
        up, down = estimate.discordant_proportions()
        counts = np.array([up, down, estimate.n - up - down])
        return _Differences(np.array([1.0, -1.0, 0.0]), round(up + down), counts=counts)
    unit_values = estimate.units if isinstance(estimate.units, UnitValues) else None
    units = unit_values if estimate.is_unit_mean else None
    exact = units is not None
    if units is None and estimate.linear_units is not None:
        units = estimate.linear_units()
    if units is not None:
        if units.clusters is not None:
            return None
        values = units.values
        if exact and estimate.factor != 1:
            values = values * estimate.factor
        if estimate.n_changed is not None:
            differing = estimate.n_changed()
        elif exact:  # differences of equal values are 0
            differing = len(values) - units.signs[1]
        else:
            differing = bayesian_bootstrap.n_nonzero(values)
        is_known = exact and estimate.factor == 1 and len(values) > 0
        extremes = units.extremes if is_known else None
        return _Differences(values, differing, units.weight, is_exact=exact, extremes=extremes)
    if estimate.unit_groups is not None:
        return _differences_from_groups(estimate, estimate.unit_groups())
    if estimate.unit_spread is not None:
        return _differences_from_spread(estimate, estimate.unit_spread())
    if estimate.is_reduced or estimate.influence is None:
        return None
    influence = estimate.difference_influence
    return None if influence is None else _differences_from_influence(estimate, influence)


def _differences_from_influence(
    estimate: PointEstimate, influence: Influence
) -> _Differences | None:
    """Return differences from influence values: for each row, the difference plus n times these.

    Rows of weight 0 are excluded.
    """
    weight, space = estimate.weight, influence.variance_estimator
    if len(influence.column) != estimate.n:
        return None
    try:
        values = influence.unit_values(float(estimate.n if weight is None else weight.sum()))
    except NotImplementedError:  # the rows are gone
        return None
    positive = getattr(space, "positive", None)
    if weight is not None:
        used_mask = weight > 0
        weight, positive = weight[used_mask], None if positive is None else positive[used_mask]
    return _differences_from_spread(
        estimate, UnitDifferences.from_influence_values(values, weight, positive, is_whole=True)
    )


def _differences_from_spread(
    estimate: PointEstimate, differences: UnitDifferences | None
) -> _Differences | None:
    """Return differences from the distribution of values of units or of influence values.

    Influence values are shifted so that their mean is the difference.
    """
    if differences is None or not differences.spread.is_bounded:
        return None
    spread, exact = differences.spread, differences.exact
    if differences.nonzero is None:
        spread = spread.transform(estimate.value - differences.mean)
    differing = differences.n_differing if estimate.n_changed is None else estimate.n_changed()
    return _Differences(spread, differing, is_exact=exact)


def _differences_from_groups(estimate: PointEstimate, groups: UnitGroups) -> _Differences | None:
    """Return differences from groups of rows with equal influence, by Kish's number of each."""
    values, weight = groups.values, groups.weight
    if not np.isfinite(values).all():
        return None
    differing_mask = np.abs(values - groups.median) > 1e-9 * float(np.abs(values).max(initial=0.0))
    values = estimate.value + values - float(np.average(values, weights=weight))
    unit_weight, group_sizes = (
        groups.squared_weights / weight,
        np.square(weight) / groups.squared_weights,
    )
    differing, units = float(groups.n_units[differing_mask].sum()), float(groups.n_units.sum())
    differing = round(differing if 2 * differing < units else units)
    return _Differences(values, differing, unit_weight, group_sizes, is_exact=False)


def _unit_procedure(estimate: PointEstimate) -> Procedure | None:
    """Return the wider of Student's t and the Bayesian bootstrap about the mean.

    Clusters, and point estimates without values of units, use Student's t alone.
    """
    error = t_error(estimate)
    units = unit_differences(estimate)
    if units is None:
        return _t_procedure(estimate)
    if not isinstance(error, StandardError):
        error = _differences_error(units, estimate)
    elif units.is_exact and not isinstance(units.values, Histogram):
        error = StandardError(_differences_error(units, estimate).se, error.name, error.df)
    if 0 < error.se <= estimate.tolerance:  # what rounding left
        error = replace(error, se=0.0)
    n, max_difference = estimate.n, estimate.bounds[1]
    if not units.n_differing and not units.is_exact:
        if abs(estimate.value) > estimate.tolerance:  # all rows differ alike
            units = replace(units, n_differing=units.n if units.counts is None else n)
        else:
            units = units.zeroed
    endpoints = bayesian_bootstrap.endpoints_about_mean(
        units.compute_extremes(),
        estimate.value,
        units.n_differing,
        max_difference if units.is_exact or not units.n_differing else math.inf,
    )
    shared = {**_shared_fields(estimate), "method": UNIT_METHOD, "name": UNIT_TEST}
    if endpoints is None:
        return WaldProcedure(**shared, t_error=error, reason="nothing_differs", n_differing=0)
    bayes = bayesian_bootstrap.AugmentedMean.from_values(
        units.values, endpoints, weight=units.weight, counts=units.counts
    )
    has_no_t = not math.isfinite(error.se) or not (error.df or 0) > 0
    reason = "too_few_units" if has_no_t and not math.isfinite(max_difference) else None
    if estimate.unit == "rows" and reason:
        reason = "too_few_rows"
    if n and units.n_differing == 0 and has_no_t and math.isfinite(max_difference):
        # If no unit differs, the Bayesian bootstrap alone gives the interval.
        error = StandardError(0.0, error.name, 1.0)
    se = error.se
    if bayes is not None and (2 * units.n_differing < n or not se > 0):
        se = float(np.nanmax([se, bayes.standard_deviation]))
    return WaldProcedure(
        **shared,
        t_error=error,
        standard_error=error if se == error.se else replace(error, se=se),
        augmented_mean=bayes,
        n_differing=units.n_differing,
        reason=reason,
    )


def _differences_error(units: _Differences, estimate: PointEstimate) -> StandardError:
    """Return the standard error of the mean of the differences."""
    values = units.values
    if isinstance(values, Histogram):
        total, size = (
            float(values.sums.sum()),
            effective_size(float(values.sums.sum()), float(values.squares.sum())),
        )
        spread = float(values.squares @ np.square(values.mean - estimate.value))
        se = math.sqrt(spread * size / (size - 1)) / total if size > 1 else NAN
        return StandardError(se, "paired t", round(size) - 1)
    if units.counts is not None:
        n, mean = float(units.counts.sum()), estimate.value
        spread = float(units.counts @ np.square(values - mean))
        return StandardError(math.sqrt(spread / n / (n - 1)) if n > 1 else NAN, "paired t", n - 1)
    of_estimate = estimate.units if estimate.factor == 1 and units.is_exact else None
    if isinstance(of_estimate, UnitValues) and of_estimate.values is values:
        return of_estimate.standard_error  # computed already
    return UnitValues(values, units.weight).standard_error


def t_error(estimate: PointEstimate) -> StandardError | Interval | None:
    """Return the standard error with the degrees of freedom of its t distribution.

    If the error does not have any, they are the number of rows minus one, or the size of the
    smaller class minus one if this is small.
    """
    error = estimate.standard_error
    if not isinstance(error, StandardError) or error.df is not None:
        return error
    sizes = estimate.effective_sizes() or (effective_rows(estimate),)
    rows = min(sizes) if min(sizes) < MIN_ROWS_FOR_NORMAL else sum(sizes)
    return StandardError(error.se, error.name, max(rows - 1, 1.0) if rows > 1 else 0.0)


def _t_procedure(estimate: PointEstimate) -> Procedure | None:
    """Return the procedure by the standard error and Student's t.

    If the standard error is 0 because nothing differs, it is the Bayesian bootstrap of as many
    zeros as there are units or clusters.
    """
    return _wald_procedure(estimate, t_error(estimate))


def _delta_procedure(estimate: PointEstimate) -> Procedure | None:
    """Return the procedure by the standard error: normal, or t for clusters and the jackknife."""
    error = estimate.standard_error
    return _wald_procedure(estimate, error) if isinstance(error, StandardError) else None


def _delong_procedure(estimate: PointEstimate) -> Procedure | None:
    """Return DeLong's test of the difference between two AUCs, or None if it does not apply."""
    error = estimate.standard_error
    is_delong = isinstance(error, StandardError) and error.name.startswith(("DeLong", "Obuchowski"))
    return _wald_procedure(estimate, error) if is_delong else None


def _wald_procedure(
    estimate: PointEstimate, standard_error: StandardError | Interval | None
) -> Procedure | None:
    if isinstance(standard_error, Interval) and standard_error.reason:
        return no_procedure(standard_error.reason, estimate.value, standard_error.method)
    if not isinstance(standard_error, StandardError):
        return None
    name, method, clusters = standard_error.name, standard_error.name, estimate.clusters
    if standard_error.df is not None:
        name = name.replace("normal", "Student t")
        if " t" not in f" {name}".replace("Student t", " t"):
            name = name.replace(", paired", ", Student t, paired")
    method = name
    reason = "too_few_rows" if estimate.unit == "rows" else "too_few_units"
    n_units = float(estimate.n)
    if clusters is not None:
        method, reason, n_units = (
            clusters.annotate_method(name),
            "too_few_clusters",
            float(clusters.n_clusters),
        )
    shared = {
        **_shared_fields(estimate),
        "method": method,
        "name": name,
        "t_error": standard_error,
        "standard_error": standard_error,
    }
    if not math.isfinite(standard_error.se) or (
        standard_error.df is not None and not standard_error.df > 0
    ):
        return WaldProcedure(**shared, reason=reason)
    if standard_error.se > 0:
        return WaldProcedure(**shared)
    if abs(estimate.value) > estimate.tolerance:
        return WaldProcedure(**shared, reason="no_spread")
    max_difference = estimate.bounds[1]
    bayes = None
    if math.isfinite(max_difference):
        counts = np.array([n_units])
        bayes = bayesian_bootstrap.AugmentedMean.from_values(
            np.zeros(1), (-max_difference, max_difference), counts=counts
        )
    if bayes is None:
        return WaldProcedure(**shared, reason="nothing_differs", n_differing=0)
    error = replace(standard_error, se=bayes.standard_deviation)
    shared |= {
        "method": UNIT_METHOD,
        "name": UNIT_TEST,
        "standard_error": error,
        "t_error": replace(standard_error, df=None),
    }
    return WaldProcedure(**shared, augmented_mean=bayes, n_differing=0)


def _student_procedure(estimate: PointEstimate) -> Procedure | None:
    """Return Student's t procedure of differences on units, or of their influence values."""
    if estimate.is_unit_mean and estimate.units is not None:
        unit_error = estimate.units.standard_error
        error: StandardError | Interval | None = replace(
            unit_error, se=unit_error.se * estimate.factor
        )
    elif estimate.units is None and estimate.linear_units is None:
        return None
    else:
        error = t_error(estimate)
    if not isinstance(error, StandardError):
        return None
    error = replace(error, se=0.0 if error.se <= estimate.tolerance else error.se)
    name = "paired t" if estimate.clusters is None else "paired t, cluster-robust"
    method = "Student t, paired"
    method = method if estimate.clusters is None else estimate.clusters.annotate_method(method)
    shared = {
        **_shared_fields(estimate),
        "method": method,
        "name": name,
        "t_error": error,
        "standard_error": error,
    }
    if not math.isfinite(error.se) or not (error.df or 0) > 0:
        reason = "too_few_units" if estimate.clusters is None else "too_few_clusters"
        return WaldProcedure(**shared, reason=reason)
    return WaldProcedure(**shared, reason=None if error.se > 0 else "no_spread")


def _bayesian_procedure(estimate: PointEstimate) -> Procedure | None:
    """Return the procedure by the Bayesian bootstrap about the mean."""
    procedure = _unit_procedure(estimate)
    if not isinstance(procedure, WaldProcedure) or procedure.augmented_mean is None:
        return None
    error = StandardError(procedure.augmented_mean.standard_deviation, bayesian_bootstrap.METHOD)
    return BayesianProcedure(
        **_shared_fields(estimate),
        method=f"{bayesian_bootstrap.METHOD}, paired",
        name=f"{bayesian_bootstrap.METHOD}, paired",
        standard_error=error,
        t_error=error,
        augmented_mean=procedure.augmented_mean,
        n_differing=procedure.n_differing,
    )


def _replicate_procedure(
    estimate: PointEstimate, replicates: FloatArray, method: str, name: str, **bca_fields: Any
) -> Procedure:
    """Return the procedure by replicates, or one with a reason if too few of them are usable."""
    shared = {**_shared_fields(estimate), "method": method, "name": name}
    usable = intervals.usable_replicates(replicates, method)
    if isinstance(usable, Interval):
        return ReplicateProcedure(**shared, replicates=replicates[:0], reason=usable.reason)
    if estimate.is_unit_mean and estimate.units is not None:
        unit_error = estimate.units.standard_error
        error = replace(unit_error, se=unit_error.se * estimate.factor)
    else:
        error = StandardError(intervals.standard_deviation(usable), name, _replicate_df(estimate))
    procedure_class = BcaProcedure if bca_fields else ReplicateProcedure
    return procedure_class(**shared, replicates=np.sort(usable), standard_error=error, **bca_fields)


def _replicate_df(estimate: PointEstimate) -> float | None:
    """Return the degrees of freedom of replicates, for comparison with other differences."""
    if estimate.clusters is not None:
        return max(estimate.clusters.df, 1.0)
    sizes = estimate.effective_sizes() or (effective_rows(estimate),)
    return max(min(sizes) - 1.0, 1.0)


def _bootstrap_procedure(estimate: PointEstimate) -> Procedure | None:
    if not estimate.has_replicates:
        return _bootstrap_t_procedure(estimate)
    return _replicate_procedure(
        estimate,
        estimate.test_replicates,
        _bootstrap_name(estimate),
        _bootstrap_test_name(estimate),
    )


def _bootstrap_test_name(estimate: PointEstimate) -> str:
    """Return the name of the bootstrap test."""
    return BOOTSTRAP_TEST_NAMES[estimate.clusters is not None]


def _stratified_procedure(estimate: PointEstimate) -> Procedure | None:
    replicates = (
        None if estimate.stratified_replicates is None else estimate.stratified_replicates()
    )
    if replicates is None:
        return None
    name = "paired stratified bootstrap"
    return _replicate_procedure(estimate, replicates, f"{name} [B]", name)


def _bca_procedure(estimate: PointEstimate) -> Procedure | None:
    influence = _jackknife(estimate) if estimate.has_replicates else None
    if influence is None:
        return None
    from statistics import NormalDist

    method = f"BCa {_bootstrap_name(estimate)}"
    usable = intervals.usable_replicates(estimate.test_replicates, method)
    bias = NAN
    if not isinstance(usable, Interval):
        deviations = usable - estimate.value
        deviations[np.abs(deviations) <= ROUNDING_TOLERANCE * max(1.0, abs(estimate.value))] = 0.0
        below = float(np.mean(deviations < 0) + np.mean(deviations <= 0)) / 2
        if not 0 < below < 1:
            return no_procedure("replicates_on_one_side", estimate.value, method)
        bias = NormalDist().inv_cdf(below)
    bca_fields = {"bias": bias, "acceleration": intervals.acceleration(*influence)}
    name = f"BCa {_bootstrap_test_name(estimate)}"
    procedure = _replicate_procedure(estimate, estimate.test_replicates, method, name, **bca_fields)
    # With very skewed replicates, the quantiles it needs may be beyond the most extreme one.
    is_beyond_replicates = (
        procedure.interval(estimate.settings.level).reason == "too_few_replicates"
    )
    return None if is_beyond_replicates else procedure


def _bootstrap_t_procedure(estimate: PointEstimate) -> Procedure | None:
    """Return the bootstrap-t procedure.

    Quantiles of the studentized replicates replace those of Student's t: the limits are quantiles
    of value − t·se.
    """
    studentized = (
        None if estimate.studentized_replicates is None else estimate.studentized_replicates()
    )
    if studentized is None:
        return None
    method, name = "bootstrap-t", "paired bootstrap-t"
    shared = {**_shared_fields(estimate), "method": method, "name": name}
    if estimate.n < 2:
        return ReplicateProcedure(**shared, replicates=np.zeros(0), reason="too_few_units")
    se, replicates, errors = studentized
    value = estimate.value / estimate.factor
    t = intervals.studentize(value, replicates, errors)
    if t is None or not se > 0:
        reason = "degenerate_replicates" if se > 0 else "no_spread"
        return ReplicateProcedure(**shared, replicates=np.zeros(0), reason=reason)
    se *= estimate.factor
    difference_replicates = np.sort(estimate.value - t * se)
    return ReplicateProcedure(
        **shared,
        replicates=difference_replicates,
        standard_error=StandardError(se, name, _replicate_df(estimate)),
    )


def _posterior_procedure(estimate: PointEstimate) -> Procedure | None:
    """Return the procedure by draws of the cells from their posterior distribution."""
    if estimate.posterior_draws is None or "Jeffreys, Dirichlet posterior" not in estimate.methods:
        return None
    draws = estimate.posterior_draws()
    if has_no_differences(estimate):  # a difference is equally likely in either direction
        draws = np.concatenate([draws, -draws])
    interval = estimate.methods["Jeffreys, Dirichlet posterior"](0.95)
    method = interval.method if interval is not None else "Jeffreys, Dirichlet posterior"
    if interval is not None and interval.reason:
        return no_procedure(interval.reason, estimate.value, interval.method)
    return _replicate_procedure(estimate, draws, method, method)


def has_no_differences(estimate: PointEstimate) -> bool:
    """Check that no row has more influence on one of two values than on the other."""
    error, is_zero = estimate.standard_error, abs(estimate.value) <= estimate.tolerance
    if isinstance(error, StandardError) and np.isfinite(error.se):
        return is_zero and error.se == 0
    if estimate.has_replicates or estimate.unit_spread is None:
        return (
            estimate.has_replicates
            and not (np.abs(estimate.test_replicates) > estimate.tolerance).any()
        )
    # A single row of a class has no error; of rows in batches their differences are known.
    spread = estimate.unit_spread()
    return is_zero and spread is not None and bool(spread.classes) and spread.n_differing == 0


def _unweighted_differences(estimate: PointEstimate) -> FloatArray | None:
    """Return the differences on independent units of equal weight, or None."""
    units = estimate.units
    if (
        not isinstance(units, UnitValues)
        or not units.is_unweighted
        or not np.isfinite(units.values).all()
    ):
        return None
    return units.values * estimate.factor


def _signed_rank_procedure(estimate: PointEstimate) -> Procedure | None:
    values = _unweighted_differences(estimate)
    if values is None:
        return None
    n_differing = int(np.count_nonzero(paired_tests.defined_differences(values)))
    method = "exact" if n_differing <= paired_tests.MAX_EXACT_RANKS else "normal"
    name = f"Wilcoxon signed rank, {method}"
    return _location_procedure(
        estimate,
        SignedRankProcedure,
        values,
        name,
        "of the pseudomedian",
        partial(paired_tests.wilcoxon, values),
    )


def _sign_procedure(estimate: PointEstimate) -> Procedure | None:
    values = _unweighted_differences(estimate)
    if values is None:
        return None
    name = "sign test, exact"
    return _location_procedure(
        estimate,
        SignProcedure,
        values,
        name,
        "of the median",
        partial(paired_tests.sign_test, values),
    )


def _location_procedure(
    estimate: PointEstimate,
    procedure_class: type[SignedRankProcedure | SignProcedure],
    values: FloatArray,
    name: str,
    location: str,
    test: Callable[[str], TestResult],
) -> Procedure:
    """Return a test of the location of the differences, which may differ from that of their mean.

    If the mean of the units is not the value, as for squares and RMSE, only the hypothesis of no
    difference can be tested.
    """
    n_differing = int(np.count_nonzero(paired_tests.defined_differences(values)))
    method = f"{name}, {location} of units that differ"
    shared = {**_shared_fields(estimate), "method": method, "name": name}
    if not n_differing:
        return procedure_class(**{**shared, "value": 0.0}, units=values, reason="nothing_differs")
    if not estimate.is_unit_mean:
        return PValueProcedure(**shared, compute_test=test, reason="no_interval_of_test")
    return procedure_class(**shared, units=values)


def _randomization_procedure(estimate: PointEstimate) -> Procedure | None:
    units, settings = estimate.units, estimate.settings
    has_no_unit_values = not isinstance(units, UnitValues) or units.clusters is not None
    if has_no_unit_values or not estimate.is_unit_mean:
        compute_test = _permutation_test(estimate)
        if compute_test is None:
            return None
        name = compute_test("two-sided").name
        reason = "no_interval_of_test"
        return PValueProcedure(
            **_shared_fields(estimate),
            method=name,
            name=name,
            compute_test=compute_test,
            reason=reason,
        )
    assert isinstance(units, UnitValues)
    if not np.isfinite(units.values).all():
        return None
    values, n_resamples = units.values * estimate.factor, n_randomizations(settings)
    weight = units.weight
    weighted_values = values if weight is None else values * weight
    [test] = paired_tests.randomization_test(weighted_values[:, None], n_resamples, settings.seed)
    n_differing = bayesian_bootstrap.n_nonzero(values)
    return RandomizationProcedure(
        **_shared_fields(estimate),
        method=f"{test.name}, means of subsets",
        name=test.name,
        standard_error=StandardError(
            units.standard_error.se * estimate.factor, test.name, units.standard_error.df
        ),
        units=values,
        weight=weight,
        n_resamples=n_resamples,
        seed=settings.seed,
        reason=None if n_differing else "nothing_differs",
    )


def _permutation_test(estimate: PointEstimate) -> Callable[[str], TestResult] | None:
    """Return the randomization test of an estimate that is not a mean over units.

    Such estimates are ratios of sums, and functions of means that are equal if and only if the
    means are, as RMSE.
    """
    values, settings = _unweighted_differences(estimate), estimate.settings
    if estimate.permutation_test is not None or values is None:
        return estimate.permutation_test
    tries = n_randomizations(settings)
    return lambda towards: paired_tests.randomization_test(
        values[:, None], tries, settings.seed, towards
    )[0]


def _mcnemar_procedure(estimate: PointEstimate, *, is_mid_p: bool = False) -> Procedure | None:
    if estimate.discordant_proportions is None:
        return None
    first, second = (round(count) for count in estimate.discordant_proportions())
    name = f"McNemar, {'mid-p' if is_mid_p else 'exact'}"
    return McNemarProcedure(
        **_shared_fields(estimate),
        method=f"{name}, given the discordant rows",
        name=name,
        standard_error=_differences_error(unit_differences(estimate), estimate),  # type: ignore[arg-type]
        n_first=first,
        n_second=second,
        n_rows=estimate.n,
        is_mid_p=is_mid_p,
        reason=None if first + second else "nothing_differs",
    )


def _paired_proportions_procedure(estimate: PointEstimate) -> Procedure | None:
    """Return the procedure for a difference between paired proportions, or None."""
    return None if estimate.discordant_proportions is None else _unit_procedure(estimate)


_PROCEDURES: Mapping[str, ProcedureFactory] = {
    "units": _unit_procedure,
    "paired proportions": _paired_proportions_procedure,
    "by error": _t_procedure,
    "delta": _delta_procedure,
    "delong": _delong_procedure,
    "t": _student_procedure,
    "bayesian-bootstrap": _bayesian_procedure,
    "percentile": _bootstrap_procedure,
    "stratified": _stratified_procedure,
    "bca": _bca_procedure,
    "studentized": _bootstrap_t_procedure,
    "Jeffreys, Dirichlet posterior": _posterior_procedure,
    "wilcoxon": _signed_rank_procedure,
    "sign": _sign_procedure,
    "randomization": _randomization_procedure,
    "mcnemar": _mcnemar_procedure,
    "mid-p": partial(_mcnemar_procedure, is_mid_p=True),
}
