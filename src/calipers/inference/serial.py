"""Serial dependence of rows that are ordered in time, and its effect on inference.

Errors of rows that follow each other in time are often similar, so that n rows have less
information than n independent ones. What matters is not the autocorrelation of residuals but that
of the influence values of an estimate, which determine its standard error; so it is examined for
each estimate and each difference. Rows of the same time are summed first (Driscoll and Kraay 1998),
which leaves a series of sums by time, whatever dependence there is between the rows of one time.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from calipers.caching import cached
from calipers.inference import paired_tests, proportions
from calipers.inference.intervals import Interval, normal_quantile, t_quantile
from calipers.inference.method_limits import MAX_SERIAL_LAGS, MIN_EFFECTIVE_PERIODS, MIN_PERIODS
from calipers.inference.procedures import Procedure, WaldProcedure, WiderProcedure
from calipers.inference.time_order import TimeOrder
from calipers.inference.transformations import TRANSFORMATIONS
from calipers.inference.variance_estimators import StandardError
from calipers.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from calipers.inference.paired_tests import TestResult
    from calipers.inference.point_estimate import PointEstimate
    from calipers.statistics import FloatArray

#: Name of intervals and tests with a HAC standard error.
HAC_NAME = "HAC, serially dependent"

#: Upper 5% and 2.5% points of the normal distribution, for one lag and for the sum of several.
_Z_95, _Z_975 = 1.6448536269514722, 1.959963984540054

#: No upper limit is more than e⁵⁰ times the value.
_MAX_LOG_RATIO = 50.0

#: Kinds of readings whose limits are based on an effective number of rows, and on the logarithm
#: upward.
_PROPORTION_KINDS = ("proportion of rows", "top-k proportion", "proportion of topics")
_MEAN_KINDS = ("mean of a value per row", "mean over topics")

#: Range of the autoregressive coefficient by which values are prewhitened.
_RHO_RANGE = (-0.5, 0.95)


@dataclass(frozen=True)
class SerialDependence:
    """Serial dependence of a series, and the HAC standard error of its sum."""

    #: The autocorrelation of neighbours, and the coefficient ρ that is taken out.
    lag1_autocorrelation: float
    rho: float
    error: StandardError
    n_periods: int

    @property
    def effective_periods(self) -> float:
        """Effective number of independent times, n(1 − ρ)/(1 + ρ)."""
        return self.n_periods * min(1.0, (1 - self.rho) / (1 + self.rho))


def autocorrelations(series: FloatArray, n_lags: int) -> FloatArray:
    """Return the sample autocorrelations r₁ … r_lags; 0 for a constant series.

    Examples
    --------
    >>> autocorrelations(np.array([1.0, 2.0, 3.0, 4.0]), 2)
    array([ 0.25, -0.3 ])
    """
    deviations = series - series.mean()
    total = float(deviations @ deviations)
    if not total > 0:
        return np.zeros(n_lags)
    products = (float(deviations[lag:] @ deviations[:-lag]) for lag in range(1, n_lags + 1))
    return np.fromiter(products, np.float64, n_lags) / total


def dependence_statistics(series: FloatArray) -> tuple[float, float]:
    """Return two statistics of positive serial dependence, standard normal under independence.

    They are (r₁ + 1/n)√n, and Σ(r_k + 1/n)√(n/K) over the first K lags, 10 or a fifth of the
    series. (1/n corrects the bias of a sample autocorrelation.)
    """
    n = len(series)
    lags = max(1, min(MAX_SERIAL_LAGS, n // 5))
    r = autocorrelations(series, lags)
    return (
        float((r[0] + 1 / n) * math.sqrt(n)),
        float((r.sum() + lags / n) * math.sqrt(n / lags)),
    )


def is_dependent(series: FloatArray) -> bool:
    """Check whether a series is taken to be serially dependent."""
    if len(series) < MIN_PERIODS or not np.isfinite(series).all():
        return False
    lag_one, lag_sum = dependence_statistics(series)
    return lag_one > _Z_95 or lag_sum > _Z_975


def has_simultaneous_dependence(order: TimeOrder, influence: FloatArray) -> bool:
    """Check whether rows of one time are taken to be similar.

    They are if the products of all pairs of rows of one time sum to more than under independence:
    (Σs² − Σx²)/√(2(Σq² − Σx⁴)) > 1.645, where s and q are the sums of x and of x² by time.
    """
    squares = np.square(influence)
    time_sums = (
        np.bincount(order.time_index, values, order.n_times) for values in (influence, squares)
    )
    sums, sizes = (float(values @ values) for values in time_sums)
    variance = 2 * (sizes - float(squares @ squares))
    return variance > 0 and sums - float(squares.sum()) > _Z_95 * math.sqrt(variance)


def dependence_p_value(series: FloatArray) -> float:
    """Return the p-value of no serial dependence, against positive dependence.

    It is twice the smaller of the tails of the two statistics.
    """
    from scipy.special import ndtr

    return min(1.0, 2 * float(ndtr(-max(dependence_statistics(series)))))


def estimate_dependence(series: FloatArray) -> SerialDependence:
    """Return the HAC standard error of the sum of a series, prewhitened and by cosine transforms.

    Notes
    -----
    With ρ = r₁ + (1 + 3r₁)/n, restricted to [−0.5, 0.95], the long-run variance is that of u_t =
    x_t − ρx_{t−1} divided by (1 − ρ)². That of u is the mean of its first B = ⌊0.4·n^⅔⌋ squared
    cosine transforms, which has about B degrees of freedom.

    References
    ----------
    Andrews and Monahan 1992; Lazarus, Lewis, Stock and Watson 2018.
    """
    n = len(series)
    r = float(autocorrelations(series, 1)[0])
    rho = min(max(r + (1 + 3 * r) / n, _RHO_RANGE[0]), _RHO_RANGE[1])
    deviations = series - series.mean()
    u = deviations[1:] - rho * deviations[:-1]
    u = u - u.mean()
    degrees = max(2, int(0.4 * n ** (2 / 3)))
    from scipy.fft import dct

    # The orthonormal transform has √(2/m)·Σ u_t cos(πj(t − ½)/m) at place j.
    transforms = dct(u, type=2, norm="ortho")[1 : degrees + 1]
    variance = float(transforms @ transforms) / degrees / (1 - rho) ** 2
    return SerialDependence(r, rho, StandardError(math.sqrt(n * variance), HAC_NAME, degrees), n)


# --- Readings -------------------------------------------------------------------------------------


def row_influence(estimate: PointEstimate) -> FloatArray | None:
    """Return the influence of each row, if rows are ordered in time; None if it is not known."""
    if estimate.order is None:
        return None
    rows = len(estimate.order.time_index)
    influence = None if estimate.influence is None else estimate.influence()
    values = None if influence is None else influence.influence_values
    if estimate.time_influence is not None and (values is None or len(values) != rows):
        values = estimate.time_influence()
    if values is None or len(values) != rows:
        return None
    return values if np.isfinite(values).all() else None


def find_row_dependence(order: TimeOrder, influence: FloatArray) -> SerialDependence | None:
    """Return the serial dependence of rows with these influence values, or None."""
    series = order.sum_by_time(influence)
    if len(series) < MIN_PERIODS or not (
        is_dependent(series) or has_simultaneous_dependence(order, influence)
    ):
        return None
    return estimate_dependence(series)


def find_dependence(estimate: PointEstimate) -> SerialDependence | None:
    """Return the serial dependence of a point estimate whose rows are ordered in time, or None."""
    order = estimate.order
    if order is None:
        return None

    def compute() -> SerialDependence | None:
        influence = row_influence(estimate)
        return None if influence is None else find_row_dependence(order, influence)

    return cached(estimate, "serial dependence", compute)


def widen_interval(estimate: PointEstimate, interval: Interval, level: float) -> Interval:
    """Return the interval, extended to that of the HAC error if there is serial dependence."""
    if estimate.order is None or interval.reason is not None:
        return interval
    serial = find_dependence(estimate)
    if serial is None:
        return add_caution(estimate, interval)
    limits = _hac_limits(estimate, serial, level)
    return add_caution(estimate, _wider_interval(interval, limits, serial).clip(*estimate.bounds))


def add_caution(estimate: PointEstimate, interval: Interval) -> Interval:
    """Return the interval with a caution about serial dependence in its method, if needed."""
    if estimate.order is None or interval.reason is not None:
        return interval
    serial = find_dependence(estimate)
    if serial is None:
        unknown = row_influence(estimate) is None
        return interval.add_caution("serial dependence is not allowed for") if unknown else interval
    has_few_periods = serial.effective_periods < MIN_EFFECTIVE_PERIODS
    return (
        interval.add_caution(f"{estimate.unit} count as {serial.effective_periods:.0f}")
        if has_few_periods
        else interval
    )


def _hac_limits(
    estimate: PointEstimate, serial: SerialDependence, level: float
) -> tuple[float, float]:
    """Return the limits by the HAC error and Student's t, on the scale of the estimate.

    Notes
    -----
    With 50, 200 and 365 rows of AR(1) errors, ρ = 0.8, Wilson's interval with the effective number
    of rows covered proportions of 0.8 in 88, 93 and 94 of 100 cases (±0.8), value ± t·se in 86, 92
    and 92; with ρ = 0.6 proportions of 0.95 in 97, 93 and 94 cases, and 99, 87 and 92. For mean
    squares, ρ = 0.8, an upper limit on the log scale led to coverage in 88, 94 and 94 cases, value
    + t·se in 84, 90 and 92.
    """
    value, error = estimate.value, serial.error
    assert error.df is not None
    half_width = t_quantile(level, error.df) * error.se
    if estimate.operands is None and half_width > 0:
        scale = None if estimate.transform is None else TRANSFORMATIONS[estimate.transform]
        if scale is not None and scale.is_defined(value):
            return scale.symmetric_limits(value, half_width)
        if estimate.kind in _PROPORTION_KINDS and 0 < value < 1:
            size = value * (1 - value) * (normal_quantile(level) / half_width) ** 2
            interval = proportions.wilson(value, size, level)
            return interval.low, interval.high
        if estimate.kind in _MEAN_KINDS and estimate.bounds[0] == 0 < value:
            return value - half_width, value * math.exp(min(half_width / value, _MAX_LOG_RATIO))
    return value - half_width, value + half_width


def _wider_interval(
    interval: Interval, limits: tuple[float, float], serial: SerialDependence
) -> Interval:
    """Return the wider of an interval and that of the HAC error, limit by limit."""
    low, high = limits
    method, but, caution = interval.method.partition(
        ", but "
    )  # which holds of the wider one as well
    if low <= interval.low and interval.high <= high:
        interval = Interval(low, high, f"{HAC_NAME}{but}{caution}", se=serial.error.se)
    elif low < interval.low or interval.high < high:
        name = f"{method} or {HAC_NAME}: the wider{but}{caution}"
        interval = replace(
            interval, low=min(low, interval.low), high=max(high, interval.high), method=name
        )
    return interval


def caution_dependence(estimate: PointEstimate, interval: Interval) -> Interval:
    """Return a requested interval with a caution if rows are serially dependent."""
    return (
        interval
        if find_dependence(estimate) is None
        else interval.add_caution(f"{estimate.unit} are taken as independent")
    )


def widen_procedure(estimate: PointEstimate, procedure: Procedure) -> Procedure:
    """Return the procedure of a difference, allowing for serial dependence if there is any.

    It is then the wider of the procedure and that of the HAC error.
    """
    serial = find_dependence(estimate)
    if serial is None or procedure.reason is not None or not np.isfinite(procedure.value):
        return procedure
    hac_procedure = WaldProcedure(
        value=procedure.value,
        method=HAC_NAME,
        name="HAC, paired",
        bounds=procedure.bounds,
        t_error=serial.error,
        standard_error=serial.error,
    )
    return WiderProcedure.from_pair(procedure, hac_procedure, estimate.settings.level)


def _larger_p_value(test: TestResult, serial: SerialDependence, value: float) -> TestResult:
    error = serial.error
    if math.isnan(test.p) or error.df is None:
        return test
    serial_test = paired_tests.t_test_from_stats(
        value, error.se, error.df + 1, "HAC, paired", test.alternative
    )
    return serial_test if serial_test.p > test.p else test


def widen_subset_difference(
    first: PointEstimate, second: PointEstimate, interval: Interval, test: TestResult
) -> tuple[Interval, TestResult]:
    """Return interval and test of a difference between two subsets of rows ordered in time.

    Neighbors in time may be in the other subset: the series is the influence of the rows of both
    on the difference.
    """
    if first.order is None or second.order is None or interval.reason is not None:
        return interval, test
    influences = [row_influence(reading) for reading in (first, second)]
    if influences[0] is None or influences[1] is None:
        return interval.add_caution("serial dependence is not allowed for"), test
    order = TimeOrder(
        np.append(first.order.time_index, second.order.time_index), first.order.n_times
    )
    serial, value = (
        find_row_dependence(order, np.append(influences[0], -influences[1])),
        first.value - second.value,
    )
    if serial is None:
        return interval, test
    (low, high), (second_low, second_high) = first.bounds, second.bounds
    assert serial.error.df is not None
    half_width = t_quantile(first.settings.level, serial.error.df) * serial.error.se
    wider_interval = _wider_interval(
        interval, (value - half_width, value + half_width), serial
    ).clip(low - second_high, high - second_low)
    if serial.effective_periods < MIN_EFFECTIVE_PERIODS:
        wider_interval = wider_interval.add_caution(
            f"{first.unit} count as {serial.effective_periods:.0f}"
        )
    return wider_interval, _larger_p_value(test, serial, value)


@dataclass(frozen=True)
class DependenceResult:
    """Serial dependence of an estimate whose rows are ordered in time.

    ``is_known`` says whether its influence values are known.
    """

    system: str
    measure: str
    dependence: SerialDependence | None
    is_known: bool

    @classmethod
    def from_estimate(cls, system: str, measure: str, estimate: PointEstimate) -> DependenceResult:
        """Create it from a point estimate."""
        return cls(system, measure, find_dependence(estimate), row_influence(estimate) is not None)


def dependence_notes(results: Sequence[DependenceResult], unit: str = "rows") -> tuple[str, ...]:
    """Return the notes about estimates whose rows are ordered in time."""
    unknown = list(dict.fromkeys(result.measure for result in results if not result.is_known))
    sentences = _dependence_notes([result for result in results if result.is_known], unit)
    if unknown:
        measures = ", ".join(unknown)
        assumption = f"take {unit} as independent, whatever their order."
        sentences += (f"Intervals and tests of {measures} {assumption}",)
    return sentences


def _dependence_notes(results: Sequence[DependenceResult], unit: str) -> tuple[str, ...]:
    dependent = [
        (entry.system, entry.measure, entry.dependence)
        for entry in results
        if entry.dependence is not None
    ]
    if not dependent:
        return ()
    name, measure, worst = min(dependent, key=lambda entry: entry[2].effective_periods)
    estimate_name = (
        f"{name}, {measure}" if len({entry.system for entry in results}) > 1 else measure
    )
    how_many = f"{len(dependent)} of {len(results)} estimates"
    if len(dependent) == len(results):
        how_many = "all estimates" if len(results) > 1 else "the estimate"
    text = (
        f"{unit.capitalize()} are serially dependent in {how_many}: most in {estimate_name} (lag-1 "
        f"autocorrelation {worst.lag1_autocorrelation:.2f}), where {worst.n_periods:,} times "
        "count as about "
        f"{worst.effective_periods:,.0f} independent ones. Their intervals and tests are the "
        "wider of the "
        "default and one with a HAC standard error (prewhitened, cosine transforms)."
    )
    return (text,)
