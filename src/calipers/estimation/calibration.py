"""Measures of calibration: estimates from the table of distinct probabilities."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from calipers.caching import cached
from calipers.estimation.undefined import undefined_reasons
from calipers.inference import intervals
from calipers.inference.influence import group_jackknife
from calipers.inference.intervals import Interval
from calipers.inference.noncentral_chi_square import chi_square_median, noncentrality
from calipers.inference.point_estimate import IntervalFunction, PointEstimate
from calipers.inference.variance_estimators import (
    Influence,
    MeanVariance,
    StandardError,
    VarianceEstimator,
)
from calipers.lazy_dataclasses import dataclass, replace
from calipers.measures import parse
from calipers.statistics import FloatArray, Moments, ScoreTable, effective_size
from calipers.statistics.base import dot, row_blocks
from calipers.statistics.calibration import ProbabilityLevels, expit, fit_information_matrix
from calipers.statistics.logits import LogitSummary, RecalibrationFit

if TYPE_CHECKING:
    from calipers.estimation.scores import ScoredRows
    from calipers.inference.settings import MeasureLike, Settings


#: The mean absolute deviation is at most the root mean square of deviations, and close to it if
#: they are similar; the upper limit assumes at least this ratio.
MIN_MEAN_TO_RMS_RATIO = 0.9


@dataclass(frozen=True, eq=False)
class Bins:
    """Bins of predicted probabilities.

    For each bin: the proportion of the weight, the effective number of rows, the mean probability
    and the proportion of positives.
    """

    weight: FloatArray
    effective_rows: FloatArray
    probability: FloatArray
    proportion: FloatArray

    @property
    def calibration_error(self) -> FloatArray:
        """Calibration error of each bin: the proportion of positives minus the mean probability."""
        return self.proportion - self.probability

    def rms_error_interval(self, level: float) -> Interval:
        """Return the interval of √Σwg² by the noncentral χ² distribution.

        With the variance v of the calibration errors g, Σwĝ²/c is about χ² with ν degrees of
        freedom and the noncentrality Σwg²/c, for c = Σw²v²/Σwv and ν = Σwv/c (Patnaik 1949). The
        upper limit is no less than that of the median of calibrated probabilities (Cowan and others
        2011), so that no interval is [0, 0]. The lower limit is the lower of two: with the observed
        variance (with half a row added to either class), and with the variance of calibrated
        probabilities.

        >>> half = np.full(2, 0.5)
        >>> bins = Bins(half, np.full(2, 100.0), np.array([0.3, 0.6]), np.array([0.4, 0.4]))
        >>> result = bins.rms_error_interval(0.95)
        >>> round(result.low, 3), round(result.high, 3)
        (0.085, 0.223)
        """
        smoothed = (self.proportion * self.effective_rows + 0.5) / (self.effective_rows + 1)
        tail = (1 - level) / 2
        lows, high = [], 0.0
        for proportion, is_upper in ((smoothed, True), (self.probability, False)):
            variance = proportion * (1 - proportion) / self.effective_rows
            expected = float(self.weight @ variance)
            squares = float(np.square(self.weight * variance).sum())
            if not squares > 0:  # of probabilities as small as numbers can be they are 0
                lows.append(float(np.sqrt(self._mean_square)))
                continue
            scale = squares / expected
            degrees, statistic = expected / scale, self._mean_square / scale
            lows.append(math.sqrt(scale * noncentrality(statistic, degrees, 1 - tail)))
            if is_upper:
                upper_statistic = max(statistic, chi_square_median(degrees))
                high = math.sqrt(scale * noncentrality(upper_statistic, degrees, tail))
        return Interval(min(lows), high, "noncentral chi-square of the bins")

    def mean_error_interval(self, level: float) -> Interval:
        """Return the interval of Σw|g|.

        It has the limits of the root mean square, multiplied by the observed ratio of the two; for
        the upper limit the ratio is no less than :data:`MIN_MEAN_TO_RMS_RATIO`.
        """
        interval = self.rms_error_interval(level)
        root = math.sqrt(self._mean_square)
        ratio = float(self.weight @ np.abs(self.calibration_error)) / root if root > 0 else 1.0
        return Interval(
            interval.low * ratio, interval.high * max(ratio, MIN_MEAN_TO_RMS_RATIO), interval.method
        )

    def max_error_interval(self, level: float) -> Interval:
        """Return the interval of max|g|, from the Clopper-Pearson limits of |g| of each bin.

        Each limit is the largest of the limits of the bins. The lower ones are adjusted for the
        number of bins; the upper ones need no adjustment, as the worst bin is one of them.
        """
        tail = (1 - level) / 2
        low, high = self._clopper_pearson_limits(tail)
        upper_limits = np.maximum(np.abs(low - self.probability), np.abs(high - self.probability))
        low, high = self._clopper_pearson_limits(tail / len(self.effective_rows))
        lower_limits = np.maximum(low - self.probability, self.probability - high)
        name = "Clopper-Pearson of the bins"
        return Interval(max(float(lower_limits.max()), 0.0), float(upper_limits.max()), name)

    @property
    def _mean_square(self) -> float:
        return float(self.weight @ np.square(self.calibration_error))

    def _clopper_pearson_limits(self, tail: float) -> tuple[FloatArray, FloatArray]:
        """Return the Clopper-Pearson limits of the proportions of positives."""
        from scipy.special import betaincinv

        hits = np.clip(self.proportion, 0.0, 1.0) * self.effective_rows
        misses = self.effective_rows - hits
        no_hits_mask, no_misses_mask = hits <= 1e-9, misses <= 1e-9
        low = betaincinv(np.where(no_hits_mask, 1.0, hits), misses + 1, tail)
        high = betaincinv(hits + 1, np.where(no_misses_mask, 1.0, misses), 1 - tail)
        return np.where(no_hits_mask, 0.0, low), np.where(no_misses_mask, 1.0, high)


NAN = float("nan")


def estimate_from_table(
    measure: MeasureLike, table: ScoreTable, settings: Settings, n_rows: int
) -> PointEstimate:
    """Estimate a measure of calibration from a table of probabilities."""
    definition = measure.definition
    kind_by_interval = {"recalibration": "recalibration", "none": "p-value"}
    return PointEstimate(
        value=float(measure.apply(table)),
        kind=kind_by_interval.get(definition.interval, "calibration"),
        settings=settings,
        n=n_rows,
        bounds=definition.range,
        undefined=undefined_reasons(measure, table, n_rows),
        higher_is_better=definition.higher_is_better,
        effective_sizes=lambda: intervals.class_sizes(table)[::-1],
        is_biased=definition.interval == "basic" or definition.binned is not None,
        methods={}
        if definition.binned is None
        else {"of bins": partial(_bins_interval, measure, table)},
        compute_error=None
        if definition.coefficient is None
        else lambda: _wald_error(measure, table, weighted=table.has_weights),
    )


def estimate_from_sums(
    measure: MeasureLike, sums: LogitSummary, settings: Settings, n_rows: int
) -> PointEstimate:
    """Estimate a recalibration coefficient of streamed rows, from sums over their logits."""
    definition = measure.definition
    has_slope, coefficient_index = measure.parameters.get("slope") != "one", definition.coefficient
    assert coefficient_index is not None
    reason, fit = _fit_sums(sums, fit_slope=has_slope)
    value = NAN if fit is None else (fit.slope if coefficient_index else fit.intercept)
    # Weights that are all alike say as little as none.
    total, squares = float(sums.sums[:, :, 0].sum()), float(sums.squares[:, :, 0].sum())
    uses_information = has_slope and effective_size(total, squares) >= n_rows * (1 - 1e-9)
    name = "Wald, Fisher information" if uses_information else "Wald, sandwich"
    error = None
    if fit is not None:
        se = fit.standard_error(coefficient_index, sandwich=not uses_information)
        error = StandardError(se * math.sqrt(squares / total) if uses_information else se, name)
    return PointEstimate(
        value=value,
        kind="recalibration",
        settings=settings,
        n=n_rows,
        bounds=definition.range,
        undefined={} if fit is not None else {reason or "too_steep": n_rows},
        higher_is_better=definition.higher_is_better,
        effective_sizes=lambda: sums.effective_sizes[::-1],
        compute_error=lambda: error,
    )


def _fit_sums(sums: LogitSummary, *, fit_slope: bool) -> tuple[str | None, RecalibrationFit | None]:
    """Return the reason why there is no line of recalibration, if that is known, and the line."""
    reason = sums.undefined_reason or ("separated" if fit_slope and sums.is_separated else None)
    return reason, None if reason is not None else sums.fit_line(fit_slope=fit_slope)


@dataclass(frozen=True, eq=False)
class ProbabilityRows:
    """Rows whose scores are probabilities."""

    rows: ScoredRows

    @property
    def statistic(self) -> ScoreTable:
        """Table of distinct probabilities."""
        return self.rows.table

    def row_values(self, measure: MeasureLike) -> None:
        """Return None, as no measure of calibration is a mean over rows."""

    def influence(
        self, measure: MeasureLike, total: ScoreTable | LogitSummary | None = None
    ) -> Influence | None:
        """Return the influence values of a recalibration coefficient, or of a skill score.

        ``total`` is the table of all rows, or the sums of their logits, if these are a batch of
        them.
        """
        if measure.definition.skill_of is not None:
            table = total if isinstance(total, ScoreTable) else self.rows.table
            return _skill_influence(self.rows, measure, table)
        if measure.definition.coefficient is None:
            return None
        return recalibration_influence(self.rows, measure, total)

    def point_estimate(self, measure: MeasureLike) -> PointEstimate:
        """Return the point estimate of a measure of calibration."""
        rows = self.rows
        estimate = replace(
            estimate_from_table(measure, rows.table, rows.settings, len(rows.positive)),
            weight=rows.weight,
            clusters=rows.clusters,
            standalone_replicates=lambda: rows.standalone_replicates.evaluate(measure),
            replicates=lambda: rows.paired_replicates.evaluate(measure),
            group_jackknife=lambda: group_jackknife(
                measure, rows.table, rows.paired_replicates.ranked_rows
            ),
        )
        methods: dict[str, IntervalFunction] = {
            **estimate.methods,
            "basic bootstrap": partial(_basic_interval, rows, measure, estimate),
        }
        if rows.clusters is not None and measure.definition.binned is not None:
            methods["of bins"] = partial(_cluster_bins_interval, rows, measure)
        estimate = replace(estimate, methods=methods)
        if measure.definition.coefficient is not None:
            return _estimate_coefficient(rows, measure, estimate)
        if measure.definition.skill_of is not None:
            return replace(estimate, influence=lambda: self.influence(measure))
        return estimate


# --- Errors of bins -------------------------------------------------------------------------------

#: The interval of each norm of gaps.
_INTERVAL_BY_NORM = {
    "mean_gap": Bins.mean_error_interval,
    "root_mean_gap": Bins.rms_error_interval,
    "largest_gap": Bins.max_error_interval,
}


def _bins_interval(
    measure: MeasureLike, table: ScoreTable, level: float, row_weight: float = 1.0
) -> Interval:
    """Return an interval from the bins alone; each row counts as ``row_weight`` rows."""
    definition = measure.definition
    levels = ProbabilityLevels.from_table(table)
    assert definition.binned is not None
    assert definition.interval is not None
    binned = levels.merge_levels(definition.binned(levels, **measure.parameters))
    rows = binned.effective_sizes * row_weight
    bins = Bins(binned.total / binned.weight, rows, binned.probability, binned.proportion)
    return _INTERVAL_BY_NORM[definition.interval](bins, level).clip(*definition.range)


def _cluster_bins_interval(rows: ScoredRows, measure: MeasureLike, level: float) -> Interval:
    """Return an interval from the bins, for rows in clusters.

    The effective number of rows of each bin is divided by the design effect of the sum of all
    residuals about the calibration errors of their bins, with Student's t of the clusters.
    """
    clusters, definition = rows.clusters, measure.definition
    assert clusters is not None
    assert definition.binned is not None
    if clusters.n_clusters < 2:
        return intervals.no_interval("none", "too_few_clusters")
    levels = ProbabilityLevels.from_table(rows.table)
    bin_starts = definition.binned(levels, **measure.parameters)
    binned = levels.merge_levels(bin_starts)
    # By probability, since scores of weight 0 alone are no levels; their residuals do not count.
    bin_index = np.searchsorted(levels.probability[bin_starts], rows.score, side="right") - 1
    residuals = rows.positive - rows.score - (binned.proportion - binned.probability)[bin_index]
    residuals = residuals if rows.weight is None else residuals * rows.weight
    row_squares = float(np.square(residuals).sum())
    design_effect = 1.0
    if row_squares > 0:
        n_clusters = clusters.n_clusters
        cluster_sums = np.bincount(clusters.codes, residuals, clusters.n_codes)
        t_ratio = intervals.t_quantile(level, n_clusters - 1) / intervals.normal_quantile(level)
        cluster_squares = (
            float(np.square(cluster_sums).sum()) * n_clusters / (n_clusters - 1) * t_ratio**2
        )
        design_effect = max(1.0, cluster_squares / row_squares)
    interval = _bins_interval(measure, rows.table, level, 1 / design_effect)
    return replace(interval, method=clusters.annotate_method(interval.method))


def _basic_interval(
    rows: ScoredRows, measure: MeasureLike, estimate: PointEstimate, level: float
) -> Interval | None:
    if rows.clusters is None:
        return basic_bootstrap(measure, estimate, rows.table, "bootstrap [B]", level)
    name = rows.clusters.bootstrap_name
    if rows.clusters.n_clusters < 2:
        return intervals.no_interval(name, "too_few_clusters")
    return basic_bootstrap(measure, estimate, None, name, level)


def basic_bootstrap(
    measure: MeasureLike, estimate: PointEstimate, table: ScoreTable | None, name: str, level: float
) -> Interval:
    """Return a basic or percentile bootstrap interval.

    ``table`` has the probabilities of rows that are independent; if a test does not reject their
    calibration, the interval of a calibration error starts at 0.
    """
    name = f"{'basic ' * estimate.is_biased}{name}"
    interval = intervals.percentile(estimate.test_replicates, level, name).clip(*estimate.bounds)
    is_calibration_error = (
        interval.reason is None and estimate.is_biased and measure.definition.perfect == 0
    )
    if is_calibration_error and table is not None and _is_calibration_plausible(table, level):
        # For calibrated probabilities even reflected replicates exclude 0 in 6 of 10 cases.
        return replace(interval, low=0.0, method=f"{name}, and 0 by Spiegelhalter's test")
    return interval


def _is_calibration_plausible(table: ScoreTable, level: float) -> bool:
    """Check whether Spiegelhalter's test at this level does not reject calibration.

    The test does not account for clusters.
    """
    p = parse("Spiegelhalter-p", ("calibration",)).apply(table)
    return bool(p > 1 - level)


def _skill_influence(rows: ScoredRows, measure: MeasureLike, table: ScoreTable) -> Influence | None:
    """Return the influence values of a skill score 1 − L/D over the prevalence forecast.

    They combine the loss of each row with its loss under the prevalence, for which D is minimal.
    Of 15 clusters of lognormal size the delta method with Student's t held the skill 96 to 97 times
    of 100, the bootstrap of clusters 92 to 93 times (±1).
    """
    positive, negative = float(table.total_positive), float(table.total_negative)
    total_weight, value = positive + negative, float(measure.apply(table))
    if not (positive > 0 and negative > 0 and math.isfinite(value)):
        return None
    loss = _LOSS_BY_MEASURE[measure.definition.skill_of]
    proportions = np.array([negative / total_weight, positive / total_weight])
    class_losses = loss(proportions)  # what a row of each class loses under the prevalence
    reference_loss = float(proportions @ class_losses)
    with np.errstate(divide="ignore"):  # of a row of weight 0 whose class was called impossible
        row_losses = loss(np.where(rows.positive, rows.score, 1 - rows.score))
    column = (
        (1 - value) * class_losses[rows.positive.astype(np.intp)] - row_losses
    ) / reference_loss
    squares = float(table.total_positive_squares + table.total_negative_squares)
    total_moments = Moments(len(column), total_weight, 0.0, 0.0, squares, 0.0, 0.0)
    return Influence(
        column, MeanVariance(rows.weight, rows.clusters, total_moments=total_moments), "delta"
    )


#: What a row loses whose class was given a probability.
_LOSS_BY_MEASURE: Mapping[str | None, Callable[[FloatArray], FloatArray]] = {
    "Brier": lambda likely: np.square(1 - likely),
    "log-loss": lambda likely: -np.log(likely),
}


# --- Recalibration --------------------------------------------------------------------------------


def _estimate_coefficient(
    rows: ScoredRows, measure: MeasureLike, estimate: PointEstimate
) -> PointEstimate:
    """Return the point estimate of a recalibration coefficient."""

    def error() -> StandardError | None:
        if rows.clusters is None:
            return _wald_error(measure, rows.table, weighted=rows.weight is not None)
        influence = recalibration_influence(rows, measure)
        if influence is None:
            return None
        return influence.standard_error

    return replace(
        estimate,
        influence=lambda: recalibration_influence(rows, measure),
        compute_error=error,
        jackknife=lambda: (
            group_jackknife(measure, rows.table, rows.standalone_replicates.ranked_rows),
            None,
        ),
    )


def _wald_error(measure: MeasureLike, table: ScoreTable, *, weighted: bool) -> StandardError:
    """Compute the standard error of a recalibration coefficient.

    Its variance is the inverse of the Fisher information H. It is the sandwich H⁻¹·Σgg′·H⁻¹ with
    the gradients g of rows or clusters if there are clusters, or weights, which need not be counts;
    and for the intercept with slope 1, whose model is misspecified if the slope is not 1.
    """
    fit = fit_recalibration(table, measure)
    if fit.fits_slope and not weighted:
        return StandardError(
            math.sqrt(fit.covariance[fit.coefficient_index, fit.coefficient_index]),
            "Wald, Fisher information",
        )
    return StandardError(fit.standard_error(table), "Wald, sandwich")


def recalibration_influence(
    rows: ScoredRows, measure: MeasureLike, total: ScoreTable | LogitSummary | None = None
) -> Influence | None:
    """Return the influence values of a recalibration coefficient.

    ``total`` is the table of all rows, or the sums of their logits, if these are a batch of them.
    """
    fit: Recalibration | RecalibrationFit | None
    if isinstance(total, LogitSummary):
        _, fit = _fit_sums(total, fit_slope=measure.parameters.get("slope") != "one")
        if fit is None:
            return None
        variance_row, sizes = (
            fit.variance[measure.definition.coefficient or 0],
            total.effective_sizes,
        )
    else:
        fit, sizes = fit_recalibration(rows.table if total is None else total, measure), None
        variance_row = fit.covariance[fit.coefficient_index]
    delta = measure.parameters["delta"]
    p = np.clip(rows.score, delta, 1 - delta)
    weight = np.ones(len(p)) if rows.weight is None else rows.weight
    p = np.where(weight > 0, p, 0.5)  # weight 0 removes a row, whatever its logit
    logit = np.log(p) - np.log1p(-p)
    residual = weight * (rows.positive - expit(fit.intercept + fit.slope * logit))
    influence_values = residual * (
        variance_row[0] + variance_row[1] * logit if len(variance_row) > 1 else variance_row[0]
    )
    if rows.clusters is not None:
        variance_estimator = VarianceEstimator(rows.weight, rows.clusters)
        return Influence(np.asarray(influence_values), variance_estimator, "Wald, sandwich")
    class_estimator = rows.variance_estimator(None if isinstance(total, LogitSummary) else total)
    class_estimator = (
        class_estimator if sizes is None else replace(class_estimator, effective_class_sizes=sizes)
    )
    return Influence(np.asarray(influence_values), class_estimator, "Wald, sandwich")


def fit_recalibration(table: ScoreTable, measure: MeasureLike) -> Recalibration:
    """Fit the recalibration of which a measure is a coefficient."""
    has_slope = measure.parameters.get("slope") != "one"
    x = ProbabilityLevels.from_table(table).clip(measure.parameters["delta"])
    intercept, slope = x.recalibration_line if has_slope else (x.recalibration_intercept, 1.0)
    information: FloatArray = cached(
        x,
        ("information", has_slope),
        lambda: fit_information_matrix(x.logit, x.total, intercept, slope),
    )
    return Recalibration(
        has_slope,
        measure.definition.coefficient,
        intercept,
        slope,
        x.logit,
        np.linalg.inv(information[: 1 + has_slope, : 1 + has_slope]).astype(np.float64),
    )


class Recalibration(NamedTuple):
    """Logistic recalibration, logit P(y) = a + b·logit(p).

    It holds whether b was fitted too (``fits_slope``), which coefficient is requested (0 for a),
    logit(p) at each level, and the inverse of the information matrix.
    """

    fits_slope: bool
    coefficient_index: int
    intercept: float
    slope: float
    logit: FloatArray
    covariance: FloatArray

    def coefficient_influence(self, logit: FloatArray) -> FloatArray | float:
        """Return the influence of a unit residual at a logit on the coefficient."""
        variance_row = self.covariance[self.coefficient_index]
        return (
            np.asarray(variance_row[0] + variance_row[1] * logit)
            if self.fits_slope
            else float(variance_row[0])
        )

    def standard_error(self, table: ScoreTable) -> float:
        """Return the standard error of the coefficient: √Σ(w·residual·influence)²."""
        squares = [column[::-1] for column in (table.positive_squares, table.negative_squares)]
        if len(self.logit) < len(squares[0]):  # levels without weight are left out
            occupied_mask = (table.positive + table.negative)[::-1] > 0
            squares = [column[occupied_mask] for column in squares]
        variance = 0.0
        for block in row_blocks(len(self.logit), 1):
            squared_influence = np.square(self.coefficient_influence(self.logit[block]))
            p = expit(self.intercept + self.slope * self.logit[block])
            variance += dot(squares[0][block], np.square(1 - p) * squared_influence)
            variance += dot(squares[1][block], np.square(p) * squared_influence)
        return math.sqrt(variance)
