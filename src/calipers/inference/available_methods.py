"""Intervals and tests that are available for a point estimate, by its sampling distribution."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.inference import bayesian_bootstrap, intervals, paired_tests, proportions
from calipers.inference.intervals import ROUNDING, Interval
from calipers.inference.method_limits import (
    ERROR_OF_ONE_ROW,
    FEW_BESIDE_ONE_ROW,
    FEW_FOR_NORMAL,
    n_randomizations,
)
from calipers.inference.point_estimate import Limits, PointEstimate, UnitGroups, UnitValues
from calipers.inference.procedures import (
    BayesianProcedure,
    BcaProcedure,
    McNemarProcedure,
    Procedure,
    PValueProcedure,
    Randomization,
    ReplicateProcedure,
    SignedRankProcedure,
    SignProcedure,
    Wald,
    no_procedure,
)
from calipers.inference.transformations import SCALES
from calipers.inference.variance_estimators import NAN, Influence, StandardError
from calipers.statistics import Histogram, UnitDifferences, effective_size, effective_size_of

if TYPE_CHECKING:
    from calipers.inference.paired_tests import TestResult
    from calipers.statistics import FloatArray

#: What differences of units go by, as an interval and as a test.
METHOD, TEST = "t or Bayesian bootstrap, paired", "paired t or Bayesian bootstrap"

#: What tests by the share of replicates are called, of rows and of clusters.
BY_REPLICATES = ("paired bootstrap", "paired cluster bootstrap")


def available_intervals(reading: PointEstimate) -> dict[str, Limits]:
    """Return the intervals that a point estimate can have, by method.

    Each is a function of the level; it returns None if the method does not apply after all.
    """
    made: dict[str, Limits] = {}
    if reading.has_replicates and not reading.is_biased:
        made["percentile"] = lambda level: _percentile(reading, level)
        made["bca"] = lambda level: _bca_interval(reading, level)
    if reading.studentized_replicates is not None:
        made["studentised"] = lambda level: _studentized_interval(reading, level)
    if reading.stratified_replicates is not None:
        made["stratified"] = lambda level: _stratified_percentile(reading, level)
    if reading.error is not None or reading.influence is not None:
        made["by error"] = made["delta"] = lambda level: error_interval(reading, level)
        if reading.clusters is not None:
            made["by cluster"] = lambda level: cluster_interval(reading, level)
    return {**made, **reading.methods}


def effective_number(reading: PointEstimate) -> float:
    """Return Kish's effective number of rows."""
    own = reading.weight
    return reading.n if own is None else effective_size_of(own)


def error_interval(reading: PointEstimate, level: float) -> Interval | None:
    """Return the interval based on the standard error, or None if this is not known.

    The interval is normal, on the transformed scale if the point estimate has one. For clustered
    rows it uses Student's t.
    """
    found, value, clusters = reading.standard_error, reading.value, reading.clusters
    if found is None:
        return None
    if isinstance(found, Interval):
        return found if reading.is_reduced else None
    if clusters is not None and clusters.n_clusters < 2:
        return intervals.no_interval("none", "too_few_clusters")
    if reading.transform is not None:
        return _transformed_interval(reading, found, level)
    if np.isfinite(found.se) and not found.se > 0:
        return intervals.no_interval(found.name, "no_spread")
    if clusters is not None:
        return clusters.normal(value, found.se, found.degrees, level, found.name)
    return replace(intervals.normal_mean(value, found.se, level), method=found.name)


def _transformed_interval(reading: PointEstimate, found: StandardError, level: float) -> Interval:
    """Return the interval on the scale on which the point estimate is closer to normal."""
    assert reading.transform is not None
    scale, value, se = SCALES[reading.transform], reading.value, found.se
    name = f"{found.name}, {scale.name}"
    if not (0 < se < np.inf and scale.is_defined(value)):
        at_end = "area_at_its_limit" if reading.transform == "logit" else "no_spread"
        return intervals.no_interval(name, at_end if se >= 0 else "too_few_rows")
    most = 1.0
    rows = (reading.sizes() or (effective_number(reading),))[0]
    if reading.transform == "rest" and rows >= FEW_BESIDE_ONE_ROW:
        most = min(most, ERROR_OF_ONE_ROW / (se * scale.slope(value)))
    if reading.clusters is not None:
        name = reading.clusters.annotate_method(name)
    if found.degrees is not None:
        se = intervals.to_student(se, found.degrees, level)
    low = intervals.transformed_normal(scale, value, most * se, level, name).low
    return replace(
        intervals.transformed_normal(scale, value, se, level, name), low=low, se=found.se
    )


# --- Rows in clusters ----------------------------------------------------------------------------

#: Kinds of readings that are shares of rows, areas between two ends, and means.
_SHARES = ("share of rows", "share by rank", "share of topics")
_AREAS = (
    "AUC",
    "Gini",
    "precision area",
    "interpolated precision area",
    "interpolated precision",
    "measure of scores",
    "average of scores",
)
_MEANS = (
    "mean of a value per row",
    "average over outputs",
    "mean over topics",
    "topics pooled",
)


def cluster_interval(reading: PointEstimate, level: float) -> Interval | None:
    """Return the interval of a point estimate on clustered rows, by Student's t of its CR2 error.

    The scale depends on the kind of the point estimate: a proportion, or a mean with finite bounds,
    has Wilson's interval with the effective number of rows; an area uses the logit scale; a mean
    that is never negative the log scale; a coefficient of agreement, which is 1 minus a ratio of
    two sums, the log scale of this ratio.
    """
    found, clusters, value = reading.standard_error, reading.clusters, reading.value
    if clusters is None or not isinstance(found, StandardError):
        return found if isinstance(found, Interval) and reading.is_reduced else None
    if not (found.degrees is not None and found.degrees > 0 and np.isfinite(found.se)):
        return intervals.no_interval("none", "too_few_clusters")
    low, high = reading.bounds
    mean = reading.kind in _MEANS
    if np.isfinite(low) and np.isfinite(high):
        if mean or reading.kind in _SHARES:
            return _wilson_of_clusters(reading, found, level)
        if reading.kind == "Gini" or (reading.kind in _AREAS and reading.transform is not None):
            length = high - low
            share, se = (value - low) / length, found.se / length
            own = None if reading.influence is None else reading.influence()
            name = clusters.annotate_method(f"{found.name if own is None else own.name}, logit")
            if not (se > 0 and 0 < share < 1):
                return intervals.no_interval(name, "area_at_its_limit")
            wide = intervals.to_student(se, found.degrees, level)
            made = intervals.logit_normal(share, wide, level, name)
            return replace(
                made, low=low + length * made.low, high=low + length * made.high, se=found.se
            )
    if reading.kind == "agreement of raters" and value < high and found.se > 0:
        name = clusters.annotate_method(f"Student t, {SCALES['rest'].name}")
        half = intervals.t_quantile(level, found.degrees) * found.se
        return Interval(*SCALES["rest"].symmetric_limits(value, half), name, se=found.se)
    if mean and np.isfinite(low) and value > low and found.se > 0:
        name = clusters.annotate_method("Student t, log")
        half = intervals.t_quantile(level, found.degrees) * found.se
        ends = SCALES["log"].symmetric_limits(value - low, half)
        return Interval(low + ends[0], low + ends[1], name, se=found.se)
    return error_interval(reading, level)


def _wilson_of_clusters(reading: PointEstimate, found: StandardError, level: float) -> Interval:
    """Return Wilson's interval of the value as a proportion of the range of values."""
    assert reading.clusters is not None
    (low, high), own = reading.bounds, None if reading.influence is None else reading.influence()
    length = high - low
    share = min(max((reading.value - low) / length, 0.0), 1.0)
    held = (
        reading.clusters.cluster_weights if own is None else own.space.cluster_sums(own.column)[1]
    )
    scaled = found.se / length, found.degrees or 0.0
    rows = (reading.sizes() or (effective_number(reading),))[0]
    whole = reading.kind in _SHARES
    size = reading.clusters.share_size(share, scaled, held, rows if whole else np.inf, level)
    made = proportions.wilson(share, size, level)
    name = reading.clusters.annotate_method(f"{made.method}, clustered")
    ends = low + length * made.low, low + length * made.high
    return Interval(*ends, name, se=found.se)


def _bootstrap_name(reading: PointEstimate) -> str:
    """Return the name of the bootstrap of a point estimate."""
    name = "bootstrap [B]" if reading.clusters is None else reading.clusters.bootstrap
    name = reading.resampling_name or name
    if reading.operands is None:
        return name
    return f"{'pivotal ' * reading.is_biased}paired {name}"


def _percentile(reading: PointEstimate, level: float) -> Interval:
    if reading.clusters is not None and reading.clusters.n_clusters < 2:
        return intervals.no_interval(_bootstrap_name(reading), "too_few_clusters")
    return intervals.percentile(reading.cached_replicates, level, _bootstrap_name(reading))


def _bca_interval(reading: PointEstimate, level: float) -> Interval | None:
    moved = _jackknife(reading)
    if moved is None:
        return None
    if reading.clusters is not None and reading.clusters.n_clusters < 2:
        return intervals.no_interval(_bootstrap_name(reading), "too_few_clusters")
    accelerated = intervals.acceleration(*moved)
    return intervals.bca(
        reading.value, reading.cached_replicates, accelerated, level, _bootstrap_name(reading)
    )


def _jackknife(reading: PointEstimate) -> tuple[FloatArray, FloatArray | None] | None:
    """Return the influence of units on the value, and the number of rows that each represents."""
    if reading.jackknife is not None:
        return reading.jackknife()
    if reading.group_jackknife is not None and not reading.is_biased:
        return reading.group_jackknife(), None
    if isinstance(reading.units, UnitValues):
        return reading.units.influence_values, None
    moved = None if reading.influence is None else reading.influence()
    if moved is None:
        return None
    if reading.clusters is None:
        return moved.influence_values, None
    return np.bincount(reading.clusters.code, moved.influence_values).astype(np.float64), None


def _studentized_interval(reading: PointEstimate, level: float) -> Interval | None:
    assert reading.studentized_replicates is not None
    found = reading.studentized_replicates()
    return None if found is None else intervals.bootstrap_t(reading.value, *found, level)


def _stratified_percentile(reading: PointEstimate, level: float) -> Interval | None:
    assert reading.stratified_replicates is not None
    drawn = reading.stratified_replicates()
    return None if drawn is None else intervals.percentile(drawn, level, "stratified bootstrap [B]")


# --- Differences ----------------------------------------------------------------------------------

#: What a test that is asked for by name goes by.
OF_TESTS: Mapping[str, str] = {
    "t": "student",
    "wilcoxon": "wilcoxon",
    "sign": "sign",
    "randomisation": "randomisation",
    "bootstrap": "percentile",
    "normal": "delta",
    "delong": "delong",
    "mcnemar": "mcnemar",
    "mid-p": "mid-p",
}

Makes = Callable[[PointEstimate], "Procedure | None"]


def procedure_by_name(reading: PointEstimate, name: str) -> Procedure | None:
    """Return the procedure of a difference by its name, or None if it does not apply."""
    if reading.procedure_by_method is not None:
        return reading.procedure_by_method(name)
    return _PROCEDURES[name](reading) if name in _PROCEDURES else None


def _shared_fields(reading: PointEstimate) -> dict[str, Any]:
    return {"value": reading.value, "bounds": reading.bounds}


@dataclass(frozen=True)
class _Differences:
    """Differences on units whose mean, exactly or to first order, is a given difference.

    Attributes
    ----------
    values : ndarray or Histogram
        Distinct or single differences, or their distribution.
    differing : int
        Number of units on which the two systems differ at all.
    weight : ndarray or None
        Weight of each unit, or of the units with each value.
    counts : ndarray or None
        Number of units with each value.
    exact : bool
        Whether ``values`` are values of units, so that the range of the measure bounds them.
    """

    values: FloatArray | Histogram
    differing: int
    weight: FloatArray | None = None
    counts: FloatArray | None = None
    #: Whether they are values of units, so that none is beyond the largest difference there can be.
    exact: bool = True

    @property
    def n(self) -> int:
        """Number of values."""
        of = self.values
        return of.rows if isinstance(of, Histogram) else len(of)

    @property
    def ends(self) -> FloatArray:
        """Smallest and largest value."""
        of = self.values
        if isinstance(of, Histogram):
            return np.array([of.least, of.most])
        return of if self.counts is None else of[self.counts > 0]

    @property
    def zero(self) -> _Differences:
        """The same differences with all values set to 0."""
        of = self.values
        zero = of.transform(0.0, times=0.0) if isinstance(of, Histogram) else np.zeros(len(of))
        return replace(self, values=zero)


def unit_differences(reading: PointEstimate) -> _Differences | None:
    """Return the differences on independent units, or their distribution; None if unavailable."""
    if reading.clusters is not None:
        return None
    if reading.discordant_proportions is not None:
        up, down = reading.discordant_proportions()
        counts = np.array([up, down, reading.n - up - down])
        return _Differences(np.array([1.0, -1.0, 0.0]), round(up + down), counts=counts)
    known = reading.units if isinstance(reading.units, UnitValues) else None
    units = known if reading.is_unit_mean else None
    exact = units is not None
    if units is None and reading.linear_units is not None:
        units = reading.linear_units()
    if units is not None:
        if units.clusters is not None:
            return None
        values = units.values * reading.factor if exact else units.values
        differing = (
            bayesian_bootstrap.n_nonzero(values)
            if reading.n_changed is None
            else reading.n_changed()
        )
        return _Differences(values, differing, units.weight, exact=exact)
    if reading.unit_groups is not None:
        return _differences_from_groups(reading, reading.unit_groups())
    if reading.unit_spread is not None:
        return _differences_from_spread(reading, reading.unit_spread())
    if reading.is_reduced or reading.influence is None:
        return None
    influence = reading.influence()
    return None if influence is None else _differences_from_influence(reading, influence)


def _differences_from_influence(
    reading: PointEstimate, influence: Influence
) -> _Differences | None:
    """Return differences from influence values: for each row, the difference plus n times these.

    Rows of weight 0 are excluded.
    """
    weight, space = reading.weight, influence.space
    if len(influence.column) != reading.n:
        return None
    try:
        values = influence.unit_values(float(reading.n if weight is None else weight.sum()))
    except NotImplementedError:  # the rows are gone
        return None
    positive = getattr(space, "positive", None)
    if weight is not None:
        there = weight > 0
        weight, positive = weight[there], None if positive is None else positive[there]
    return _differences_from_spread(reading, UnitDifferences.from_rows(values, weight, positive))


def _differences_from_spread(
    reading: PointEstimate, found: UnitDifferences | None
) -> _Differences | None:
    """Return differences from the distribution of values of units or of influence values.

    Influence values are shifted so that their mean is the difference.
    """
    if found is None or not found.spread.is_bounded:
        return None
    spread, exact = found.spread, found.exact
    if found.nonzero is None:
        spread = spread.transform(reading.value - found.mean)
    differing = found.differing if reading.n_changed is None else reading.n_changed()
    return _Differences(spread, differing, exact=exact)


def _differences_from_groups(reading: PointEstimate, groups: UnitGroups) -> _Differences | None:
    """Return differences from groups of rows with equal influence, by Kish's number of each."""
    values, weight = groups.values, groups.weight
    if not np.isfinite(values).all():
        return None
    apart = np.abs(values - groups.median) > 1e-9 * float(np.abs(values).max(initial=0.0))
    values = reading.value + values - float(np.average(values, weights=weight))
    own, number = groups.squares / weight, np.square(weight) / groups.squares
    differing, units = float(groups.units[apart].sum()), float(groups.units.sum())
    differing = round(differing if 2 * differing < units else units)
    return _Differences(values, differing, own, number, exact=False)


def _unit_procedure(reading: PointEstimate) -> Procedure | None:
    """Return the wider of Student's t and the Bayesian bootstrap about the mean.

    Clusters, and point estimates without values of units, use Student's t alone.
    """
    found = t_error(reading)
    units = unit_differences(reading)
    if units is None:
        return _t_procedure(reading)
    if not isinstance(found, StandardError):
        found = _error_of_values(units, reading)
    elif units.exact and not isinstance(units.values, Histogram):
        found = replace(found, se=_error_of_values(units, reading).se)
    n, most = reading.n, reading.bounds[1]
    if not units.differing and not units.exact:
        if abs(reading.value) > reading.tolerance:  # all rows differ alike
            units = replace(units, differing=units.n if units.counts is None else n)
        else:
            units = units.zero
    ends = bayesian_bootstrap.ends_about(
        units.ends,
        reading.value,
        units.differing,
        most if units.exact or not units.differing else math.inf,
    )
    shared = {**_shared_fields(reading), "method": METHOD, "name": TEST}
    if ends is None:
        return Wald(**shared, t=found, reason="nothing_differs", differing=0)
    bayes = bayesian_bootstrap.AugmentedMean.from_values(
        units.values, ends, weight=units.weight, counts=units.counts
    )
    silent = not math.isfinite(found.se) or not (found.degrees or 0) > 0
    reason = "too_few_units" if silent and not math.isfinite(most) else None
    if reading.unit == "rows" and reason:
        reason = "too_few_rows"
    if n and units.differing == 0 and silent and math.isfinite(most):
        found = StandardError(
            0.0, found.name, 1.0
        )  # of units that do not differ the bootstrap says all
    se = found.se
    if bayes is not None and (2 * units.differing < n or not se > 0):
        se = float(np.nanmax([se, bayes.standard_deviation]))
    return Wald(
        **shared,
        t=found,
        error=replace(found, se=se),
        bayes=bayes,
        differing=units.differing,
        reason=reason,
    )


def _error_of_values(units: _Differences, reading: PointEstimate) -> StandardError:
    """Return the standard error of the mean of the differences."""
    of = units.values
    if isinstance(of, Histogram):
        total, size = (
            float(of.sums.sum()),
            effective_size(float(of.sums.sum()), float(of.squares.sum())),
        )
        spread = float(of.squares @ np.square(of.mean - reading.value))
        se = math.sqrt(spread * size / (size - 1)) / total if size > 1 else NAN
        return StandardError(se, "paired t", round(size) - 1)
    if units.counts is not None:
        n, mean = float(units.counts.sum()), reading.value
        spread = float(units.counts @ np.square(of - mean))
        return StandardError(math.sqrt(spread / n / (n - 1)) if n > 1 else NAN, "paired t", n - 1)
    own = UnitValues(of, units.weight).error
    return StandardError(own.se, own.name, own.degrees)


def t_error(reading: PointEstimate) -> StandardError | Interval | None:
    """Return the standard error with the degrees of freedom of its t distribution.

    If the error does not have any, they are the number of rows minus one, or the size of the
    smaller class minus one if this is small.
    """
    found = reading.standard_error
    if not isinstance(found, StandardError) or found.degrees is not None:
        return found
    sizes = reading.sizes() or (effective_number(reading),)
    rows = min(sizes) if min(sizes) < FEW_FOR_NORMAL else sum(sizes)
    return replace(found, degrees=max(rows - 1, 1.0) if rows > 1 else 0.0)


def _t_procedure(reading: PointEstimate) -> Procedure | None:
    """Return the procedure by the standard error and Student's t.

    If no independent unit or cluster differs, it is the Bayesian bootstrap of this number of zeros.
    """
    return _wald_procedure(reading, t_error(reading))


def _delta(reading: PointEstimate) -> Procedure | None:
    """Return the procedure by the standard error: normal, or t for clusters and the jackknife."""
    found = reading.standard_error
    return _wald_procedure(reading, found) if isinstance(found, StandardError) else None


def _delong(reading: PointEstimate) -> Procedure | None:
    """Return DeLong's test of the difference between two AUCs, or None if it does not apply."""
    found = reading.standard_error
    named = isinstance(found, StandardError) and found.name.startswith(("DeLong", "Obuchowski"))
    return _wald_procedure(reading, found) if named else None


def _wald_procedure(
    reading: PointEstimate, found: StandardError | Interval | None
) -> Procedure | None:
    if isinstance(found, Interval) and found.reason:
        return no_procedure(found.reason, reading.value, found.method)
    if not isinstance(found, StandardError):
        return None
    name, method, clusters = found.name, found.name, reading.clusters
    if found.degrees is not None:
        name = name.replace("normal", "Student t")
        if " t" not in f" {name}".replace("Student t", " t"):
            name = name.replace(", paired", ", Student t, paired")
    method = name
    few = "too_few_rows" if reading.unit == "rows" else "too_few_units"
    number = float(reading.n)
    if clusters is not None:
        method, few, number = (
            clusters.annotate_method(name),
            "too_few_clusters",
            float(clusters.n_clusters),
        )
    shared = {**_shared_fields(reading), "method": method, "name": name, "t": found, "error": found}
    if not math.isfinite(found.se) or (found.degrees is not None and not found.degrees > 0):
        return Wald(**shared, reason=few)
    if found.se > 0:
        return Wald(**shared)
    if abs(reading.value) > reading.tolerance:
        return Wald(**shared, reason="no_spread")
    most = reading.bounds[1]
    bayes = None
    if math.isfinite(most):
        counts = np.array([number])
        bayes = bayesian_bootstrap.AugmentedMean.from_values(
            np.zeros(1), (-most, most), counts=counts
        )
    if bayes is None:
        return Wald(**shared, reason="nothing_differs", differing=0)
    error = replace(found, se=bayes.standard_deviation)
    shared |= {"method": METHOD, "name": TEST, "error": error, "t": replace(found, degrees=None)}
    return Wald(**shared, bayes=bayes, differing=0)


def _student(reading: PointEstimate) -> Procedure | None:
    """Return Student's t procedure of differences on units, or of their influence values."""
    if reading.is_unit_mean and reading.units is not None:
        own = reading.units.error
        found: StandardError | Interval | None = replace(own, se=own.se * reading.factor)
    elif reading.units is None and reading.linear_units is None:
        return None
    else:
        found = t_error(reading)
    if not isinstance(found, StandardError):
        return None
    found = replace(found, se=0.0 if found.se <= reading.tolerance else found.se)
    name = "paired t" if reading.clusters is None else "paired t, clustered"
    method = "Student t, paired"
    method = method if reading.clusters is None else reading.clusters.annotate_method(method)
    shared = {**_shared_fields(reading), "method": method, "name": name, "t": found, "error": found}
    if not math.isfinite(found.se) or not (found.degrees or 0) > 0:
        few = "too_few_units" if reading.clusters is None else "too_few_clusters"
        return Wald(**shared, reason=few)
    return Wald(**shared, reason=None if found.se > 0 else "no_spread")


def _bayesian_bootstrap(reading: PointEstimate) -> Procedure | None:
    """Return the procedure by the Bayesian bootstrap about the mean."""
    made = _unit_procedure(reading)
    if not isinstance(made, Wald) or made.bayes is None:
        return None
    error = StandardError(made.bayes.standard_deviation, bayesian_bootstrap.METHOD)
    return BayesianProcedure(
        **_shared_fields(reading),
        method=f"{bayesian_bootstrap.METHOD}, paired",
        name=f"{bayesian_bootstrap.METHOD}, paired",
        error=error,
        t=error,
        bayes=made.bayes,
        differing=made.differing,
    )


def _replicate_procedure(
    reading: PointEstimate, drawn: FloatArray, method: str, name: str, **parts: Any
) -> Procedure:
    """Return the procedure by replicates, or one with a reason if too few of them are usable."""
    shared = {**_shared_fields(reading), "method": method, "name": name}
    usable = intervals.usable_replicates(drawn, method)
    if isinstance(usable, Interval):
        return ReplicateProcedure(**shared, replicates=drawn[:0], reason=usable.reason)
    if reading.is_unit_mean and reading.units is not None:
        own = reading.units.error
        error = replace(own, se=own.se * reading.factor)
    else:
        error = StandardError(intervals.standard_deviation(usable), name, _replicate_df(reading))
    made = BcaProcedure if parts else ReplicateProcedure
    return made(**shared, replicates=np.sort(usable), error=error, **parts)


def _replicate_df(reading: PointEstimate) -> float | None:
    """Return the degrees of freedom of replicates, for comparison with other differences."""
    if reading.clusters is not None:
        return max(reading.clusters.degrees, 1.0)
    sizes = reading.sizes() or (effective_number(reading),)
    return max(min(sizes) - 1.0, 1.0)


def _bootstrap_procedure(reading: PointEstimate) -> Procedure | None:
    if not reading.has_replicates:
        return _studentised_difference(reading)
    return _replicate_procedure(
        reading, reading.cached_replicates, _bootstrap_name(reading), _bootstrap_test_name(reading)
    )


def _bootstrap_test_name(reading: PointEstimate) -> str:
    """Return the name of the bootstrap test."""
    return BY_REPLICATES[reading.clusters is not None]


def _stratified_difference(reading: PointEstimate) -> Procedure | None:
    drawn = None if reading.stratified_replicates is None else reading.stratified_replicates()
    if drawn is None:
        return None
    name = "paired stratified bootstrap"
    return _replicate_procedure(reading, drawn, f"{name} [B]", name)


def _accelerated_difference(reading: PointEstimate) -> Procedure | None:
    moved = _jackknife(reading) if reading.has_replicates else None
    if moved is None:
        return None
    from statistics import NormalDist

    method = f"BCa {_bootstrap_name(reading)}"
    usable = intervals.usable_replicates(reading.cached_replicates, method)
    bias = NAN
    if not isinstance(usable, Interval):
        apart = usable - reading.value
        apart[np.abs(apart) <= ROUNDING * max(1.0, abs(reading.value))] = 0.0
        below = float(np.mean(apart < 0) + np.mean(apart <= 0)) / 2
        if not 0 < below < 1:
            return no_procedure("replicates_on_one_side", reading.value, method)
        bias = NormalDist().inv_cdf(below)
    accelerated = {"bias": bias, "acceleration": intervals.acceleration(*moved)}
    name = f"BCa {_bootstrap_test_name(reading)}"
    made = _replicate_procedure(reading, reading.cached_replicates, method, name, **accelerated)
    # Of very skewed replicates, the shares it takes may be beyond the last of them.
    beyond = made.interval(reading.settings.level).reason == "too_few_replicates"
    return None if beyond else made


def _studentised_difference(reading: PointEstimate) -> Procedure | None:
    """Return the bootstrap-t procedure.

    Quantiles of the studentized replicates replace those of Student's t: the limits are quantiles
    of value − t·se.
    """
    found = None if reading.studentized_replicates is None else reading.studentized_replicates()
    if found is None:
        return None
    method, name = "bootstrap-t", "paired bootstrap-t"
    shared = {**_shared_fields(reading), "method": method, "name": name}
    if reading.n < 2:
        return ReplicateProcedure(**shared, replicates=np.zeros(0), reason="too_few_units")
    se, replicates, errors = found
    value = reading.value / reading.factor
    t = intervals.studentize(value, replicates, errors)
    if t is None or not se > 0:
        reason = "degenerate_replicates" if se > 0 else "no_spread"
        return ReplicateProcedure(**shared, replicates=np.zeros(0), reason=reason)
    se *= reading.factor
    drawn = np.sort(reading.value - t * se)
    return ReplicateProcedure(
        **shared, replicates=drawn, error=StandardError(se, name, _replicate_df(reading))
    )


def _posterior_procedure(reading: PointEstimate) -> Procedure | None:
    """Return the procedure by draws of the cells from their posterior distribution."""
    if reading.posterior_draws is None or "Jeffreys of the cells" not in reading.methods:
        return None
    likely = reading.posterior_draws()
    if nothing_differs(reading):  # what they may differ by is as likely either way
        likely = np.concatenate([likely, -likely])
    made = reading.methods["Jeffreys of the cells"](0.95)
    method = made.method if made is not None else "Jeffreys of the cells"
    if made is not None and made.reason:
        return no_procedure(made.reason, reading.value, made.method)
    return _replicate_procedure(reading, likely, method, method)


def nothing_differs(reading: PointEstimate) -> bool:
    """Check that no row has more influence on one of two values than on the other."""
    found = reading.standard_error
    if isinstance(found, StandardError) and np.isfinite(found.se):
        return abs(reading.value) <= reading.tolerance and found.se == 0
    return (
        reading.has_replicates and not (np.abs(reading.cached_replicates) > reading.tolerance).any()
    )


def _unit_differences(reading: PointEstimate) -> FloatArray | None:
    """Return the differences on independent units of equal weight, or None."""
    units = reading.units
    if (
        not isinstance(units, UnitValues)
        or not units.is_unweighted
        or not np.isfinite(units.values).all()
    ):
        return None
    return units.values * reading.factor


def _signed_rank_procedure(reading: PointEstimate) -> Procedure | None:
    values = _unit_differences(reading)
    if values is None:
        return None
    number = int(np.count_nonzero(paired_tests.defined_differences(values)))
    how = "exact" if number <= paired_tests.EXACT_RANKS else "normal"
    name = f"Wilcoxon signed rank, {how}"
    return _location_procedure(
        reading,
        SignedRankProcedure,
        values,
        name,
        "of the pseudomedian",
        partial(paired_tests.wilcoxon, values),
    )


def _sign_procedure(reading: PointEstimate) -> Procedure | None:
    values = _unit_differences(reading)
    if values is None:
        return None
    name = "sign test, exact"
    return _location_procedure(
        reading,
        SignProcedure,
        values,
        name,
        "of the median",
        partial(paired_tests.sign_test, values),
    )


def _location_procedure(
    reading: PointEstimate,
    kind: type[SignedRankProcedure | SignProcedure],
    values: FloatArray,
    name: str,
    of: str,
    test: Callable[[str], TestResult],
) -> Procedure:
    """Return a test of the location of the differences, which may differ from that of their mean.

    If the mean of the units is not the value, as for squares and RMSE, only the hypothesis of no
    difference can be tested.
    """
    number = int(np.count_nonzero(paired_tests.defined_differences(values)))
    method = f"{name}, {of} of units that differ"
    shared = {**_shared_fields(reading), "method": method, "name": name}
    if not number:
        return kind(**{**shared, "value": 0.0}, units=values, reason="nothing_differs")
    if not reading.is_unit_mean:
        return PValueProcedure(**shared, made=test, reason="no_interval_of_test")
    return kind(**shared, units=values)


def _randomization_procedure(reading: PointEstimate) -> Procedure | None:
    units, settings = reading.units, reading.settings
    gone = not isinstance(units, UnitValues) or units.clusters is not None
    if gone or not reading.is_unit_mean:
        made = _swap_test(reading)
        if made is None:
            return None
        name = made("two-sided").name
        reason = "no_interval_of_test"
        return PValueProcedure(
            **_shared_fields(reading), method=name, name=name, made=made, reason=reason
        )
    assert isinstance(units, UnitValues)
    if not np.isfinite(units.values).all():
        return None
    values, tries = units.values * reading.factor, n_randomizations(settings)
    weight = units.weight
    own = values if weight is None else values * weight
    [test] = paired_tests.randomization(own[:, None], tries, settings.seed)
    number = bayesian_bootstrap.n_nonzero(values)
    return Randomization(
        **_shared_fields(reading),
        method=f"{test.name}, means of subsets",
        name=test.name,
        error=StandardError(units.error.se * reading.factor, test.name, units.error.degrees),
        units=values,
        weight=weight,
        n_resamples=tries,
        seed=settings.seed,
        reason=None if number else "nothing_differs",
    )


def _swap_test(reading: PointEstimate) -> Callable[[str], TestResult] | None:
    """Return the randomization test of an estimate that is not a mean over units.

    Such estimates are ratios of sums, and functions of means that are equal if and only if the
    means are, as RMSE.
    """
    values, settings = _unit_differences(reading), reading.settings
    if reading.permutation_test is not None or values is None:
        return reading.permutation_test
    tries = n_randomizations(settings)
    return lambda towards: paired_tests.randomization(
        values[:, None], tries, settings.seed, towards
    )[0]


def _mcnemar(reading: PointEstimate, *, mid: bool = False) -> Procedure | None:
    if reading.discordant_proportions is None:
        return None
    first, second = (round(of) for of in reading.discordant_proportions())
    name = f"McNemar, {'mid-p' if mid else 'exact'}"
    return McNemarProcedure(
        **_shared_fields(reading),
        method=f"{name}, given the discordant rows",
        name=name,
        error=_error_of_values(unit_differences(reading), reading),  # type: ignore[arg-type]
        n_first=first,
        second=second,
        rows=reading.n,
        is_mid_p=mid,
        reason=None if first + second else "nothing_differs",
    )


def _paired_proportions(reading: PointEstimate) -> Procedure | None:
    """Return the procedure for a difference between paired proportions, or None."""
    return None if reading.discordant_proportions is None else _unit_procedure(reading)


_PROCEDURES: Mapping[str, Makes] = {
    "units": _unit_procedure,
    "paired shares": _paired_proportions,
    "by error": _t_procedure,
    "delta": _delta,
    "delong": _delong,
    "student": _student,
    "bayesian": _bayesian_bootstrap,
    "percentile": _bootstrap_procedure,
    "stratified": _stratified_difference,
    "bca": _accelerated_difference,
    "studentised": _studentised_difference,
    "Jeffreys of the cells": _posterior_procedure,
    "wilcoxon": _signed_rank_procedure,
    "sign": _sign_procedure,
    "randomisation": _randomization_procedure,
    "mcnemar": _mcnemar,
    "mid-p": partial(_mcnemar, mid=True),
}
