"""Measures of calibration: readings over the table of distinct probabilities.

Errors of bins (ECE, RMSCE, MCE) have an interval from their bins. The others are bootstrapped as
measures of scores are. Most are biased, and replicates of them are biased once more; their
intervals are pivotal: replicates are turned about the value, which takes that second bias off. The
coefficients of a recalibration have Wald's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from calipers.inference import intervals
from calipers.inference.calibration_errors import Bins
from calipers.inference.influence import jackknife
from calipers.inference.intervals import Interval
from calipers.inference.reading import Limits, Reading
from calipers.inference.spaces import Error, Influence, OfMeans, Space
from calipers.measures import parse
from calipers.readings.undefined import reasons
from calipers.statistics import FloatArray, Moments, ScoreTable, kish
from calipers.statistics.base import BLOCK, dot
from calipers.statistics.calibration import Levels, expit, information
from calipers.statistics.logits import Line, SummedLogits

NAN = float("nan")

if TYPE_CHECKING:
    from calipers.inference.settings import MeasureLike, Settings
    from calipers.readings.scores import ScoredRows


def of_table(measure: MeasureLike, table: ScoreTable, settings: Settings, rows: int) -> Reading:
    """What a table of probabilities says of a measure of calibration."""
    definition = measure.definition
    kinds = {"recalibration": "recalibration", "none": "p-value"}
    return Reading(
        value=float(measure.apply(table)),
        kind=kinds.get(definition.interval, "calibration"),
        settings=settings,
        n=rows,
        bounds=definition.range,
        undefined=reasons(measure, table, rows),
        higher_is_better=definition.higher_is_better,
        sizes=lambda: intervals.class_sizes(table)[::-1],
        pivotal=definition.interval == "pivotal" or definition.binned is not None,
        methods={} if definition.binned is None else {"of bins": partial(_by_bins, measure, table)},
        error=None
        if definition.coefficient is None
        else lambda: _wald(measure, table, weighted=table.weighted),
    )


def of_sums(measure: MeasureLike, sums: SummedLogits, settings: Settings, rows: int) -> Reading:
    """What sums over logits say of a coefficient of the recalibration: of rows in batches."""
    definition = measure.definition
    both, place = measure.parameters.get("slope") != "one", definition.coefficient
    assert place is not None
    why = sums.undefined or ("separated" if both and sums.separated else None)
    line = None if why is not None else sums.line(both=both)
    value = NAN if line is None else (line.slope if place else line.intercept)
    # Weights that are all alike say as little as none.
    total, squares = float(sums.sums[:, :, 0].sum()), float(sums.squares[:, :, 0].sum())
    plain = both and kish(total, squares) >= rows * (1 - 1e-9)
    name = "Wald, Fisher information" if plain else "Wald, sandwich"
    error = None
    if line is not None:
        se = line.error(place, sandwich=not plain)
        error = Error(se * math.sqrt(squares / total) if plain else se, name)
    return Reading(
        value=value,
        kind="recalibration",
        settings=settings,
        n=rows,
        bounds=definition.range,
        undefined={} if line is not None else {why or "too_steep": rows},
        higher_is_better=definition.higher_is_better,
        sizes=lambda: sums.sizes[::-1],
        error=lambda: error,
    )


@dataclass(frozen=True, eq=False)
class ProbableRows:
    """Rows whose scores are probabilities."""

    rows: ScoredRows

    @property
    def statistic(self) -> ScoreTable:
        """The table of distinct probabilities."""
        return self.rows.table

    def per_row(self, measure: MeasureLike) -> None:
        """No measure of calibration is a mean over rows."""

    def influence(
        self, measure: MeasureLike, whole: ScoreTable | SummedLogits | None = None
    ) -> Influence | None:
        """By how much each row moves a coefficient of the recalibration; ``whole`` is the table of
        all rows, or the sums of their logits, where these are a batch of them; of a skill only
        there, as rows that are here are drawn anew."""
        if measure.definition.skill_of is not None and isinstance(whole, ScoreTable):
            return _of_skill(self.rows, measure, whole)
        if measure.definition.coefficient is None:
            return None
        return influence_of_line(self.rows, measure, whole)

    def reading(self, measure: MeasureLike) -> Reading:
        """The reading of a measure of calibration."""
        rows = self.rows
        made = replace(
            of_table(measure, rows.table, rows.settings, len(rows.positive)),
            weight=rows.weight,
            clusters=rows.clusters,
            alone=lambda: rows.drawn.of(measure),
            replicates=lambda: rows.drawn_by_row.of(measure),
            left_out=lambda: jackknife(measure, rows.table, rows.drawn_by_row.ranked),
        )
        methods: dict[str, Limits] = {
            **made.methods,
            "turned": partial(_turned, rows, measure, made),
        }
        if rows.clusters is not None and measure.definition.binned is not None:
            methods["of bins"] = partial(_by_bins_of_clusters, rows, measure)
        made = replace(made, methods=methods)
        return made if measure.definition.coefficient is None else _of_line(rows, measure, made)


# --- Errors of bins -------------------------------------------------------------------------------

#: The interval of each norm of gaps.
_NORMS = {
    "mean_gap": Bins.mean_size,
    "root_mean_gap": Bins.root_mean_square,
    "largest_gap": Bins.largest,
}


def _by_bins(
    measure: MeasureLike, table: ScoreTable, level: float, counts_as: float = 1.0
) -> Interval:
    """From the bins alone; ``counts_as`` is for how many rows each counts."""
    definition = measure.definition
    levels = Levels.of(table)
    assert definition.binned is not None
    assert definition.interval is not None
    binned = levels.gathered(definition.binned(levels, **measure.parameters))
    rows = binned.effective * counts_as
    bins = Bins(binned.total / binned.weight, rows, binned.probability, binned.share)
    return _NORMS[definition.interval](bins, level).within(*definition.range)


def _by_bins_of_clusters(rows: ScoredRows, measure: MeasureLike, level: float) -> Interval:
    """The same of rows in clusters, each of which counts for as many as it does in the sum of all
    residuals about the gaps of their bins: the design effect, with Student's t of the clusters."""
    clusters, definition = rows.clusters, measure.definition
    assert clusters is not None
    assert definition.binned is not None
    if clusters.number < 2:
        return intervals.missing("none", "too_few_clusters")
    levels = Levels.of(rows.table)
    first = definition.binned(levels, **measure.parameters)
    binned = levels.gathered(first)
    level_of = len(levels) - 1 - rows.order.place.astype(np.intp)
    place = np.searchsorted(first, level_of, side="right") - 1
    apart = rows.positive - rows.score - (binned.share - binned.probability)[place]
    apart = apart if rows.weight is None else apart * rows.weight
    alone = float(np.square(apart).sum())
    effect = 1.0
    if alone > 0:
        number = clusters.number
        together = np.bincount(clusters.code, apart, clusters.size)
        wider = intervals.t_of(level, number - 1) / intervals.z_of(level)
        of_clusters = float(np.square(together).sum()) * number / (number - 1) * wider**2
        effect = max(1.0, of_clusters / alone)
    made = _by_bins(measure, rows.table, level, 1 / effect)
    return replace(made, method=clusters.named(made.method))


def _turned(
    rows: ScoredRows, measure: MeasureLike, reading: Reading, level: float
) -> Interval | None:
    if rows.clusters is None:
        return turned(measure, reading, rows.table, "bootstrap [B]", level)
    name = rows.clusters.bootstrap
    if rows.clusters.number < 2:
        return intervals.missing(name, "too_few_clusters")
    return turned(measure, reading, None, name, level)


def turned(
    measure: MeasureLike, reading: Reading, table: ScoreTable | None, name: str, level: float
) -> Interval:
    """By replicates that are turned about the value; ``table`` has the probabilities of rows that
    are independent, of which a test may find that they are calibrated."""
    name = f"{'pivotal ' * reading.pivotal}{name}"
    made = intervals.percentile(reading.drawn, level, name).within(*reading.bounds)
    error = made.reason is None and reading.pivotal and measure.definition.perfect == 0
    if error and table is not None and _may_be_calibrated(table, level):
        # Of what is calibrated even turned replicates are above 0 six times of ten.
        return replace(made, low=0.0, method=f"{name}, and 0 by Spiegelhalter's test")
    return made


def _may_be_calibrated(table: ScoreTable, level: float) -> bool:
    """Whether a test at this level leaves it possible; it knows no clusters."""
    p = parse("Spiegelhalter-p", ("calibration",)).apply(table)
    return bool(p > 1 - level)


def _of_skill(rows: ScoredRows, measure: MeasureLike, whole: ScoreTable) -> Influence | None:
    """By how much each row moves the share 1 − L/D of the loss of the prevalence that is saved: by
    what it loses, and what it would lose under the prevalence, for which D is least."""
    positive, negative = float(whole.total_positive), float(whole.total_negative)
    total, value = positive + negative, float(measure.apply(whole))
    if not (positive > 0 and negative > 0 and math.isfinite(value)):
        return None
    loss = _LOSSES[measure.definition.skill_of]
    shares = np.array([negative / total, positive / total])
    of_class = loss(shares)  # what a row of each class loses under the prevalence
    least = float(shares @ of_class)
    with np.errstate(divide="ignore"):  # of a row of weight 0 whose class was called impossible
        own = loss(np.where(rows.positive, rows.score, 1 - rows.score))
    column = ((1 - value) * of_class[rows.positive.astype(np.intp)] - own) / least
    squares = float(whole.positive_squares.sum() + whole.negative_squares.sum())
    of_all = Moments(len(column), total, 0.0, 0.0, squares, 0.0, 0.0)
    return Influence(column, OfMeans(rows.weight, rows.clusters, whole=of_all), "delta")


#: What a row loses whose class was given a probability.
_LOSSES: Mapping[str | None, Callable[[FloatArray], FloatArray]] = {
    "Brier": lambda likely: np.square(1 - likely),
    "log-loss": lambda likely: -np.log(likely),
}


# --- Recalibration --------------------------------------------------------------------------------


def _of_line(rows: ScoredRows, measure: MeasureLike, reading: Reading) -> Reading:
    """The reading of a coefficient of the recalibration."""

    def error() -> Error | None:
        if rows.clusters is None:
            return _wald(measure, rows.table, weighted=rows.weight is not None)
        found = influence_of_line(rows, measure)
        if found is None:
            return None
        return found.error

    return replace(
        reading,
        influence=lambda: influence_of_line(rows, measure),
        error=error,
        jackknife=lambda: (jackknife(measure, rows.table, rows.drawn.ranked), None),
    )


def _wald(measure: MeasureLike, table: ScoreTable, *, weighted: bool) -> Error:
    """The standard error of a coefficient of the recalibration.

    Its variance is the inverse of the Fisher information H. It is H⁻¹·Σgg′·H⁻¹ with the gradients g
    of rows or clusters where there are weights, which need not be counts, or clusters; and of the
    intercept with slope 1, whose model is wrong where the slope is not.
    """
    fit = fitted(table, measure)
    if fit.both and not weighted:
        return Error(math.sqrt(fit.variance[fit.place, fit.place]), "Wald, Fisher information")
    return Error(fit.error(table), "Wald, sandwich")


def influence_of_line(
    rows: ScoredRows, measure: MeasureLike, whole: ScoreTable | SummedLogits | None = None
) -> Influence | None:
    """By how much each row moves a coefficient; ``whole`` is the table of all rows, or the sums of
    their logits, where these are a batch of them."""
    fit: Fit | Line | None
    if isinstance(whole, SummedLogits):
        defined = whole.undefined is None and not whole.separated
        fit = whole.line(both=measure.parameters.get("slope") != "one") if defined else None
        if fit is None:
            return None
        to, sizes = fit.variance[measure.definition.coefficient or 0], whole.sizes
    else:
        fit, sizes = fitted(rows.table if whole is None else whole, measure), None
        to = fit.variance[fit.place]
    delta = measure.parameters["delta"]
    p = np.clip(rows.score, delta, 1 - delta)
    weight = np.ones(len(p)) if rows.weight is None else rows.weight
    p = np.where(weight > 0, p, 0.5)  # a row of weight 0 is no row, whatever its logit
    logit = np.log(p) - np.log1p(-p)
    residual = weight * (rows.positive - expit(fit.intercept + fit.slope * logit))
    moved = residual * (to[0] + to[1] * logit if len(to) > 1 else to[0])
    if rows.clusters is not None:
        space = Space(rows.weight, rows.clusters)
        return Influence(np.asarray(moved), space, "Wald, sandwich")
    of_class = rows.space(None if isinstance(whole, SummedLogits) else whole)
    of_class = of_class if sizes is None else replace(of_class, sizes=sizes)
    return Influence(np.asarray(moved), of_class, "Wald, sandwich")


def fitted(table: ScoreTable, measure: MeasureLike) -> Fit:
    """The recalibration whose coefficient a measure is."""
    both = measure.parameters.get("slope") != "one"
    x = Levels.of(table).clipped(measure.parameters["delta"])
    intercept, slope = x.line if both else (x.offset, 1.0)
    p = expit(intercept + slope * x.logit)
    of_fit = information(x.logit, x.total * p * (1 - p))
    return Fit(
        both,
        measure.definition.coefficient,
        intercept,
        slope,
        x.logit,
        p,
        np.linalg.inv(of_fit[: 1 + both, : 1 + both]).astype(np.float64),
    )


class Fit(NamedTuple):
    """A recalibration, logit P(y) = a + b·logit(p): whether b was fitted too, which coefficient is
    asked for (0 for a), logit(p) and the fitted probability at each level, and the inverse
    information."""

    both: bool
    place: int
    intercept: float
    slope: float
    logit: FloatArray
    fitted: FloatArray
    variance: FloatArray

    def to(self, logit: FloatArray) -> FloatArray | float:
        """By how much a residual at a logit moves the coefficient."""
        to = self.variance[self.place]
        return np.asarray(to[0] + to[1] * logit) if self.both else float(to[0])

    def error(self, table: ScoreTable) -> float:
        """Of the coefficient, from the residuals of the rows of the table: √Σ(w·residual·to)²."""
        squares = [of[::-1] for of in (table.positive_squares, table.negative_squares)]
        if len(self.logit) < len(squares[0]):  # levels without weight are left out
            held = (table.positive + table.negative)[::-1] > 0
            squares = [of[held] for of in squares]
        variance = 0.0
        for begin in range(0, len(self.logit), BLOCK):
            some = slice(begin, begin + BLOCK)
            to, p = np.square(self.to(self.logit[some])), self.fitted[some]
            variance += dot(squares[0][some], np.square(1 - p) * to)
            variance += dot(squares[1][some], np.square(p) * to)
        return math.sqrt(variance)
