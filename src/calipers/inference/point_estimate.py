"""Point estimates that know their sampling distribution, and operations on them.

A point estimate has those of the following components that exist for it:

    influence           influence of every unit on the value; its norm is the standard error
    units               a value for each unit, of whose mean the value is a multiple (topics,
                        losses)
    replicates          the value in each bootstrap replicate; common to estimates on the same units
    joint_distribution  an exact one with other estimates: binomial proportions, cells of a table,
                        topics
    methods             intervals from this joint distribution, by the names used in the policy

Point estimates on the same rows can be subtracted (``a - b``), added (:func:`weighted_sum`) and
transformed by functions (:func:`apply_function`); their uncertainty is propagated. The choice of
interval and test is in :mod:`calipers.inference.method_selection`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from calipers.caching import cached_property
from calipers.inference import intervals, paired_tests
from calipers.inference.intervals import ROUNDING_TOLERANCE, Interval
from calipers.inference.variance_estimators import NAN, Influence, StandardError
from calipers.lazy_dataclasses import dataclass, replace
from calipers.statistics import Moments, count_signs, subtract_values

if TYPE_CHECKING:
    from calipers.inference.clusters import ClusterIndex
    from calipers.inference.paired_tests import TestResult
    from calipers.inference.procedures import Procedure
    from calipers.inference.settings import Settings
    from calipers.inference.time_order import TimeOrder
    from calipers.statistics import FloatArray, Signs, UnitDifferences

#: A standard error of at most this proportion of the size of the value is 0: numerical derivatives
#: of equal clusters do not cancel to the last digit.
NO_SPREAD = 1e-10

#: Function of the confidence level that returns the interval, or None if the method does not apply.
IntervalFunction = Callable[[float], "Interval | None"]


# --- Units ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class UnitValues:
    """Value of each unit, or difference of two values; there are no missing values."""

    values: FloatArray
    weight: FloatArray | None = None
    clusters: ClusterIndex | None = None

    def __sub__(self, other: UnitValues) -> UnitValues:
        return replace(self, values=subtract_values(self.values, other.values))

    @classmethod
    def from_table(cls, table: FloatArray) -> list[UnitValues]:
        """Return the units of each row of a table, of independent units of equal weight.

        The properties of many rows of few units take a fraction of the time at once.
        """
        n_above, n_below = (np.count_nonzero(side, axis=1) for side in (table > 0, table < 0))
        n_equal = np.count_nonzero(table == 0, axis=1)
        columns = n_above, n_equal, n_below, table.min(axis=1), table.max(axis=1)
        out = []
        for values, *signs, low, high in zip(table, *map(np.ndarray.tolist, columns), strict=True):
            units = cls(values)
            units.__dict__.update(signs=tuple(signs), extremes=(low, high))
            out.append(units)
        return out

    @cached_property
    def moments(self) -> Moments:
        """Weight, mean and variance."""
        return Moments.from_rows(self.values, self.weight)

    @cached_property
    def signs(self) -> Signs:
        """Numbers of values above 0, equal to 0 and below 0."""
        return count_signs(self.values)

    @cached_property
    def extremes(self) -> tuple[float, float]:
        """Smallest and largest value."""
        return float(self.values.min()), float(self.values.max())

    @property
    def mean(self) -> float:
        """Mean, weighted if units have weights."""
        return float(self.moments.mean)

    @cached_property
    def standard_error(self) -> StandardError:
        """Uncertainty of the mean: the standard error, with the name and the df of its t test."""
        if self.clusters is not None:
            se, degrees = self.clusters.mean_error(self.values)
            return StandardError(se, "paired t, cluster-robust", degrees)
        moments = self.moments
        return StandardError(moments.standard_error, "paired t", round(moments.effective_size) - 1)

    @property
    def is_unweighted(self) -> bool:
        """Whether units are independent and unweighted, as required by rank and sign tests."""
        return self.weight is None and self.clusters is None

    @property
    def influence_values(self) -> FloatArray:
        """Influence of units, or of their clusters, on the mean, up to a factor."""
        deviations = self.values - self.mean
        deviations = deviations if self.weight is None else deviations * self.weight
        if self.clusters is None:
            return deviations
        return np.bincount(self.clusters.codes, deviations).astype(np.float64)

    @property
    def effect_size(self) -> float:
        """Hedges' g for paired data; NaN for rows of unequal weight."""
        if self.weight is not None and bool(np.ptp(self.weight) > 0):
            return NAN
        if self.weight is not None or not math.isfinite(self.moments.m2):
            return paired_tests.hedges_g(self.values)
        n, moments = len(self.values), self.moments
        sd = math.sqrt(moments.m2 / (n - 1)) if n > 1 else NAN
        return paired_tests.hedges_g_from_stats(moments.mean, sd, n)


@dataclass(frozen=True, eq=False)
class UnitSummary:
    """Summary of units whose values are not available.

    Attributes
    ----------
    mean : float
        Mean of the values.
    effective_size : float
        Number of units by Kish's formula.
    influence : callable
        Function that returns their influence on the mean, which determines the standard error.
    has_weights : bool
        Whether the units have unequal weights.
    moments : callable, optional
        For a difference of clustered units: function that returns the moments of their values, up
        to a constant, which the influence of clusters does not determine.
    """

    mean: float
    effective_size: float
    influence: Callable[[], Influence | None]
    has_weights: bool = False
    moments: Callable[[], Moments | None] | None = None

    #: Whether tests of ranks and signs can have them.
    is_unweighted: ClassVar[bool] = False

    def __sub__(self, other: UnitSummary) -> UnitSummary:
        influence = lazy_difference(self.influence, other.influence)
        assert influence is not None
        return replace(self, mean=self.mean - other.mean, influence=influence)

    @cached_property
    def standard_error(self) -> StandardError:
        """Uncertainty of the mean: the standard error, with the name and the df of its t test."""
        influence = self.influence()
        if influence is None:
            return StandardError(NAN, "paired t", 0.0)
        if influence.variance_estimator.clusters is not None:
            return replace(influence.standard_error, name="paired t, cluster-robust")
        return StandardError(
            influence.standard_error.se, "paired t", round(self.effective_size) - 1
        )

    @property
    def effect_size(self) -> float:
        """Hedges' g for paired data; NaN for rows of unequal weight.

        It is NaN for clusters without moments too, as these do not determine the standard deviation
        of rows.
        """
        influence = self.influence()
        if self.has_weights or influence is None:
            return NAN
        n, sd = round(self.effective_size), self.standard_error.se * math.sqrt(self.effective_size)
        if influence.variance_estimator.clusters is not None:
            moments = None if self.moments is None else self.moments()
            if moments is None or moments.rows < 2:
                return NAN
            n, sd = moments.rows, math.sqrt(moments.m2 / (moments.rows - 1))
        return paired_tests.hedges_g_from_stats(self.mean, sd, n)


@dataclass(frozen=True, eq=False)
class UnitGroups:
    """Groups of independent units with the same influence per weight within a group.

    Attributes
    ----------
    values : ndarray
        Influence of a unit of weight 1 times the total weight of all units.
    n_units : ndarray
        Number of units in each group.
    weight, squared_weights : ndarray
        Sums of their weights and of their squared weights.
    """

    values: FloatArray
    n_units: FloatArray
    weight: FloatArray
    squared_weights: FloatArray

    @property
    def median(self) -> float:
        """Median over units."""
        order = np.argsort(self.values)
        below, half = np.cumsum(self.n_units[order]), self.n_units.sum() / 2
        indices = [int(np.searchsorted(below, half, side)) for side in ("left", "right")]
        return float(self.values[order][indices].mean())


# --- Readings -------------------------------------------------------------------------------------


class JointDistribution:
    """Exact joint distribution of point estimates."""

    def is_joint_with(self, second: JointDistribution) -> bool:
        """Check whether there is a joint distribution with the second one, of the same rows.

        It does not exist if rows that share a cell of truth and prediction may differ in the truth
        of the second.
        """
        return type(self) is type(second)

    def difference(self, first: PointEstimate, second: PointEstimate) -> PointEstimate:
        """Return the first minus the second estimate, on the same units."""
        raise NotImplementedError

    def all_rows_influence(self) -> Influence | None:
        """Return the influence of all rows, if that of an estimate is of some of them, or None."""
        return None


@dataclass(frozen=True, eq=False, kw_only=True)
class PointEstimate:
    """Value of a measure with what is known about its sampling distribution.

    ``kind`` is the row of the policy that applies to it. If ``value_is_unit_mean``, the value is
    ``factor`` times the mean of the ``units``; otherwise the units only serve tests, as squares do
    for RMSE. ``signs`` are the numbers of units above 0, at 0 and below, for a difference whose
    wins and losses are not those of the units.
    """

    value: float
    kind: str
    settings: Settings
    n: int
    unit: str = "rows"
    bounds: tuple[float, float] = (-math.inf, math.inf)
    higher_is_better: bool | None = None
    #: Numbers of undefined units by reason; ``n_total`` is the number of all units if it is not
    #: ``n``.
    undefined: Mapping[str, int] = field(default_factory=dict)
    n_total: int | None = None
    weight: FloatArray | None = None
    clusters: ClusterIndex | None = None
    #: Object that identifies its rows, if an evaluation has several sets of rows
    #: (:meth:`with_rows`).
    row_key: object = None
    #: The order of its rows in time, where that is known.
    order: TimeOrder | None = None
    #: Whether weights were unequal, if rows and weights were not kept; and whether they were not.
    has_unequal_weights: bool = False
    is_reduced: bool = False
    #: Effective number of units; (negatives, positives) if there are two classes.
    effective_sizes: Callable[[], tuple[float, ...]] = lambda: ()
    #: Whether the measure is undefined and its value was set by the option ``undefined``.
    is_conventional: bool = False
    #: Whether there are too few units for influence values.
    has_few_units: Callable[[], bool] = lambda: False
    #: The size of the skewness over √n of the values that it is a mean of.
    compute_scaled_skewness: Callable[[], float] = lambda: 0.0
    #: For a mean of squares, the excess kurtosis of the values that are squared, divided by its
    #: standard error √(24/n).
    kurtosis_z: Callable[[], float] | None = None
    #: Whether one end of the range is farther than any row is expected to be.
    has_far_bound: bool = False
    #: Whether the measure is biased, so that replicates are reflected about the value.
    is_biased: bool = False
    #: Caution that applies to any interval of it.
    caution: str = ""
    #: Its exact interval if units are normal, with the standard error that it then has.
    normal_units_interval: IntervalFunction | None = None
    #: The scale on which it is more nearly normal, a key of ``transformations.TRANSFORMATIONS``.
    transform: str | None = None
    methods: Mapping[str, IntervalFunction] = field(default_factory=dict)
    joint_distribution: JointDistribution | None = None
    influence: Callable[[], Influence | None] | None = None
    #: Values of the units that have an order in time, whose norm is about the standard error, if
    #: there is no influence or it is that of more units. Serial dependence is estimated from them.
    time_influence: Callable[[], FloatArray | None] | None = None
    #: The standard error, if it is known without the influence of every row.
    compute_error: Callable[[], StandardError | Interval | None] | None = None
    units: UnitValues | UnitSummary | None = None
    value_is_unit_mean: bool = True
    factor: float = 1.0
    signs: Callable[[], Signs | None] | None = None
    #: The value in each replicate; estimates on the same units share the resamples.
    replicates: Callable[[], FloatArray] | None = None
    #: Replicates for its own interval, if they are drawn in another way: scores are drawn by their
    #: index in the table, as drawing a million rows one by one takes 1.4 to 1.5 times as long.
    standalone_replicates: Callable[[], FloatArray] | None = None
    #: Name of the resampling, if it is not the bootstrap.
    resampling_name: str = ""
    #: The value in draws from the posterior of the data, if it is known.
    posterior_draws: Callable[[], FloatArray] | None = None
    #: Replicates in which every true class keeps its number of rows.
    stratified_replicates: Callable[[], FloatArray | None] | None = None
    #: The value's error, replicates and their errors; for a difference of units their means.
    studentized_replicates: Callable[[], tuple[float, FloatArray, FloatArray] | None] | None = None
    #: Influence of units on the value, and the number of rows that each of them represents.
    jackknife: Callable[[], tuple[FloatArray, FloatArray | None] | None] | None = None
    #: Change of the value if a group of rows is omitted; groups are the same for all readings.
    group_jackknife: Callable[[], FloatArray] | None = None
    discordant_proportions: Callable[[], tuple[float, float]] | None = None
    #: Rows of a difference grouped by their influence on it, if many have the same.
    unit_groups: Callable[[], UnitGroups] | None = None
    #: Spread of the differences of units, if the units were not kept.
    unit_spread: Callable[[], UnitDifferences | None] | None = None
    #: For a difference that is not a mean over units: values whose mean it is to first order.
    linear_units: Callable[[], UnitValues] | None = None
    #: Number of units on which the outputs of the two systems differ, if the differences of the
    #: units do not show it.
    n_changed: Callable[[], int] | None = None
    permutation_test: Callable[[str], TestResult] | None = None
    #: Whether every unit counts 0 or 1.
    is_binary: bool = False
    #: The first and the second operand of a difference.
    operands: tuple[PointEstimate, PointEstimate] | None = None
    #: Procedure of each method for a difference of independent samples; None if the method does not
    #: apply.
    procedure_by_method: Callable[[str], Procedure | None] | None = None

    def with_rows(self, rows: object) -> PointEstimate:
        """Return the estimate with an object that stands for its rows.

        Only estimates with the same object are subtracted or added as those of the same rows.
        """
        influence = self.influence

        def influence_of_rows() -> Influence | None:
            result = None if influence is None else influence()
            if result is None:
                return None
            return replace(
                result, variance_estimator=replace(result.variance_estimator, row_key=rows)
            )

        return replace(
            self, row_key=rows, influence=None if influence is None else influence_of_rows
        )

    def __sub__(self, other: PointEstimate) -> PointEstimate:
        """Return the difference on the same units."""
        if self.is_constant or other.is_constant:
            return self._difference_from_constant(other)
        if self.row_key is not other.row_key:
            raise ValueError(
                "the estimates are of different rows; expected the same, or two_samples."
                "independent_difference"
            )
        joint, second_joint = self.joint_distribution, other.joint_distribution
        if joint is not None and second_joint is not None:
            if joint.is_joint_with(second_joint):
                return joint.difference(self, other)
            return self._difference_by_influence(other)
        has_units = self.units is not None and other.units is not None
        return self.difference(
            other,
            influence=lazy_difference(self.influence, other.influence),
            units=self.units - other.units if has_units else None,  # type: ignore[operator]
            value_is_unit_mean=self.value_is_unit_mean,
            factor=self.factor,
            time_influence=lazy_difference(self.time_influence, other.time_influence),
            replicates=lazy_difference(self.replicates, other.replicates),
            group_jackknife=lazy_difference(self.group_jackknife, other.group_jackknife),
            has_few_units=lambda: self.has_few_units() or other.has_few_units(),
            is_biased=self.is_biased,
        )

    def _difference_from_constant(self, second: PointEstimate) -> PointEstimate:
        """Return the difference of two values of which one or both are known beforehand.

        It varies as the other one does, whatever rows that is of.
        """
        varying, constant = (self, second) if second.is_constant else (second, self)
        sign = 1.0 if varying is self else -1.0

        def oriented(compute: Callable[[], Any] | None, shift: float = 0.0) -> Any:
            """Return a function of what the difference has in place of the varying value."""
            if compute is None:
                return None

            def of_difference() -> Any:
                result = compute()
                return None if result is None else sign * (result - shift if shift else result)

            return of_difference

        def influence() -> Influence | None:
            joint = varying.joint_distribution
            of_all = None if joint is None else joint.all_rows_influence()
            return varying.influence() if of_all is None and varying.influence else of_all

        limits = sorted(sign * (end - constant.value) for end in varying.bounds)
        units = varying.units
        if isinstance(units, UnitValues) and varying.is_unit_mean:
            values = np.full(len(units.values), constant.value / varying.factor)
            units = replace(units, values=sign * subtract_values(units.values, values))
        elif isinstance(units, UnitSummary) and varying.is_unit_mean:
            mean = sign * (units.mean - constant.value / varying.factor)
            units = replace(units, mean=mean, influence=oriented(units.influence))
        else:
            units = None
        shared = {name: getattr(varying, name) for name in _SHARED_FIELDS}
        components = {
            **shared,
            "kind": "less a constant",
            "value": self.value - second.value,
            "bounds": (limits[0], limits[1]),
            "undefined": varying.undefined,
            "influence": oriented(influence),
            "compute_error": varying.compute_error or (lambda: varying._influence_error),
            "units": units,
            "factor": varying.factor,
            "replicates": oriented(varying.replicates, constant.value),
            "has_few_units": varying.has_few_units,
        }
        return PointEstimate(**components, operands=(self, second))

    def _difference_by_influence(self, second: PointEstimate) -> PointEstimate:
        """Return the difference on the same rows, of which each estimate has a truth of its own.

        There are no common cells, nor replicates of them, but each row has an influence on both.
        """
        influence = lazy_difference(self.influence, second.influence)
        row_influence: Influence | None = None if influence is None else influence()
        units = None
        if row_influence is not None:
            weight, clusters = (
                row_influence.variance_estimator.weight,
                row_influence.variance_estimator.clusters,
            )
            total = float(len(row_influence.column)) if weight is None else float(weight.sum())
            values = row_influence.unit_values(total)
            if weight is not None:
                clusters = None if clusters is None else clusters.take_rows(weight > 0)
                weight = weight[weight > 0]
            mean = Moments.from_rows(values, weight).mean
            units = UnitValues(values - mean + (self.value - second.value), weight, clusters)
        return self.difference(
            second,
            kind="difference of truths",
            influence=influence,
            units=units,
            has_few_units=lambda: self.has_few_units() or second.has_few_units(),
        )

    def difference(self, second: PointEstimate, **overrides: Any) -> PointEstimate:
        """Return the first minus the second estimate, with the given components."""
        (low, high), (second_low, second_high) = self.bounds, second.bounds
        components = dict(zip(_SHARED_FIELDS, _get_shared_fields(self), strict=True))
        components["bounds"] = low - second_high, high - second_low
        components |= overrides
        if "value" not in overrides:
            values = np.float64(self.value), np.float64(second.value)
            components["value"] = float(subtract_values(*values))
        return PointEstimate(**components, operands=(self, second))

    # --- What it offers --------------------------------------------------------------------------

    @cached_property
    def standard_error(self) -> StandardError | Interval | None:
        """Uncertainty of the value: the standard error, or an absent interval with the reason.

        The name of the error of a difference is that of its operands with “paired”.
        """
        error = self._influence_error if self.compute_error is None else self.compute_error()
        if not isinstance(error, StandardError):
            return error
        if 0 < error.se <= NO_SPREAD * self._size:
            error = replace(error, se=0.0)
        if self.operands is not None and self.procedure_by_method is None:
            return StandardError(error.se, f"{error.name}, paired", error.df)
        return error

    @property
    def tolerance(self) -> float:
        """Tolerance for rounding error in values of this kind."""
        return ROUNDING_TOLERANCE * self._size

    @property
    def _size(self) -> float:
        """Length of the range of the value, or its absolute value if that is infinite."""
        size = self.bounds[1] - self.bounds[0]
        if math.isfinite(size):
            return size
        return max(abs(estimate.value) for estimate in self.operands or (self,))

    @cached_property
    def difference_influence(self) -> Influence | None:
        """Influence of the units on a difference, which several methods take."""
        return None if self.influence is None else self.influence()

    @property
    def _influence_error(self) -> StandardError | Interval | None:
        if self.influence is None:
            return None
        is_difference = self.operands is not None
        influence = self.difference_influence if is_difference else self.influence()
        return (
            intervals.no_interval("none", "no_analytic_interval")
            if influence is None
            else influence.standard_error
        )

    @cached_property
    def scaled_skewness(self) -> float:
        """Size of the skewness over √n."""
        return self.compute_scaled_skewness()

    @property
    def interval_replicates(self) -> FloatArray | None:
        """Replicates for the estimate alone, or None.

        There are none if the influence of the units is known to be inadequate (``has_few_units``).
        """
        compute_replicates = self.standalone_replicates or self.replicates
        return None if compute_replicates is None or self.has_few_units() else compute_replicates()

    @cached_property
    def test_replicates(self) -> FloatArray:
        """Replicates for the interval and test of the estimate itself.

        For a biased measure (``is_biased``) they are those of the basic bootstrap, 2·value −
        replicate.
        """
        compute_replicates = self.standalone_replicates or self.replicates
        assert compute_replicates is not None
        return 2 * self.value - compute_replicates() if self.is_biased else compute_replicates()

    @property
    def has_replicates(self) -> bool:
        """Whether there are replicates."""
        return self.standalone_replicates is not None or self.replicates is not None

    @property
    def is_constant(self) -> bool:
        """Whether the value is known beforehand."""
        return self.kind == "known constant"

    @property
    def is_unit_mean(self) -> bool:
        """Whether the value is the mean of the units, up to ``factor``."""
        return self.units is not None and self.value_is_unit_mean


#: What a difference takes over from the first of its operands.
_SHARED_FIELDS = (
    "kind",
    "settings",
    "n",
    "unit",
    "higher_is_better",
    "weight",
    "clusters",
    "row_key",
    "order",
    "has_unequal_weights",
    "is_reduced",
    "effective_sizes",
    "caution",
)
_get_shared_fields = attrgetter(*_SHARED_FIELDS)


def lazy_difference(
    first: Callable[[], Any] | None, second: Callable[[], Any] | None
) -> Callable[[], Any] | None:
    """Return a function for the difference between the results of two functions.

    It is None if either function is None, and returns None if either result is None.
    """
    if first is None or second is None:
        return None

    def difference() -> Any:
        a, b = first(), second()
        with np.errstate(invalid="ignore"):  # of two infinite ones
            return None if a is None or b is None else a - b

    return difference


def apply_function(
    f: Callable[..., Any],
    estimates: Sequence[PointEstimate],
    derivatives: Sequence[float],
    **overrides: Any,
) -> PointEstimate:
    """Apply a function to point estimates on the same units, with its derivative by each.

    Influence follows from the derivatives (delta method), replicates from the function itself; a
    component that one of the estimates lacks is missing in the result. All other components are
    dropped unless they are passed, because a joint distribution or a scale does not carry over to a
    function.

    Parameters
    ----------
    f : callable
        Function of as many values as there are estimates; it is applied to arrays of replicates as
        well.
    estimates : sequence of PointEstimate
        Point estimates on the same units.
    derivatives : sequence of float
        Derivative of the function by each of them.
    **parts
        Components of the result, such as ``kind`` or ``bounds``, that replace those derived.

    Returns
    -------
    PointEstimate
        The value of the function, with its uncertainty.

    Examples
    --------
    >>> from calipers.estimation.losses import estimate_mean_loss
    >>> from calipers import measure
    >>> from calipers.inference.settings import Settings
    >>> losses = np.array([1.0, 4.0, 9.0, 2.0])
    >>> squares = estimate_mean_loss(measure("MSE"), losses, None, None, Settings())
    >>> root = apply_function(np.sqrt, [squares], [0.5 / np.sqrt(squares.value)])
    >>> root.value
    2.0
    """

    def influence() -> Influence | None:
        total: Influence | None = None
        for reading, slope in zip(estimates, derivatives, strict=True):
            reading_influence = None if reading.influence is None else reading.influence()
            if reading_influence is None:
                return None
            total = (
                slope * reading_influence if total is None else total + slope * reading_influence
            )
        return total

    def replicates() -> FloatArray:
        operand_replicates = [
            reading.replicates() for reading in estimates if reading.replicates is not None
        ]
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(f(*operand_replicates))

    first, has_replicates = (
        estimates[0],
        all(reading.replicates is not None for reading in estimates),
    )
    components: dict[str, Any] = {
        **{name: getattr(first, name) for name in _SHARED_FIELDS},
        "value": overrides["value"]
        if "value" in overrides
        else float(f(*(reading.value for reading in estimates))),
        "influence": influence,
        "replicates": replicates if has_replicates else None,
    }
    return PointEstimate(**{**components, **overrides})


def weighted_sum(terms: Sequence[tuple[float, PointEstimate]], **overrides: Any) -> PointEstimate:
    """Return Σ w·a over point estimates on the same units, with fixed weights.

    Parameters
    ----------
    terms : sequence of tuple of float and PointEstimate
        Weights and point estimates.
    **parts
        Components of the result, as for :func:`apply_function`.

    Returns
    -------
    PointEstimate
        The sum, with its uncertainty.
    """
    weights = [w for w, _ in terms]

    def total(*values: Any) -> Any:
        return sum(w * value for w, value in zip(weights, values, strict=True))

    return apply_function(total, [reading for _, reading in terms], weights, **overrides)
