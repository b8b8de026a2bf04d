"""How far probabilities can be taken at their word: estimates and differences.

The measures are formulas over the table of distinct probabilities, and so are bootstrapped as
those of scores are. Most are biased, and replicates of them are biased once more; their intervals
are pivotal: replicates are turned about the value, which takes that second bias off.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from calipers.evaluate.shared import estimate
from calipers.inference import intervals
from calipers.inference.clusters import Clusters
from calipers.inference.estimate import Settings
from calipers.inference.intervals import Interval
from calipers.inference.of_scores import Scores
from calipers.measures import Measure, parse
from calipers.once import cached_property
from calipers.results import Estimate
from calipers.statistics import FloatArray, ScoreTable
from calipers.statistics.base import dot
from calipers.statistics.calibration import Levels, expit, information

if TYPE_CHECKING:
    from calipers.inference.scores import Drawn

#: What is measured of the confidence in the label that is given, where there are more than two
#: classes.
OF_LABELS = (
    "ECE",
    "MCE",
    "calibration-slope",
    "calibration-intercept",
    "Spiegelhalter-z",
    "Spiegelhalter-p",
)


@dataclass(frozen=True, eq=False)
class Calibrated:
    """One system's probabilities of the positive class, their table and its replicates."""

    system: str
    positive: npt.NDArray[np.bool_]
    probability: FloatArray
    weight: FloatArray | None
    table: ScoreTable
    settings: Settings
    drawn: Drawn
    clusters: Clusters | None = None

    def estimate(self, measure: Measure) -> Estimate:
        """One measure with its interval, and what the best constant probability would get."""
        default = float("nan")
        if measure.definition.higher_is_better is not None:
            positive, negative = self.table.total_positive, self.table.total_negative
            with np.errstate(invalid="ignore"):  # a slice may be without weight
                share = np.array([positive / (positive + negative)])
            default = float(measure.apply(replace(self.table.constant(), scores=share)))
        return estimate(
            measure,
            self.table,
            self.interval,
            system=self.system,
            level=self.settings.level,
            n=len(self.positive),
            default=default,
        )

    def interval(self, measure: Measure, value: float) -> Interval:
        """For the coefficients of a recalibration that asked for by name, or normal; else the
        bootstrap. (Of a biased measure replicates have to be turned, which no method asked for by
        name does.)"""
        named = measure.definition.interval
        if named == "recalibration":
            scores = Scores(
                self.table, self.settings, self.drawn.of, self.clusters, drawn=self.drawn
            )
            wald = {"delta": lambda: self._of_coefficient(measure, value)}
            asked = scores.asked(measure, value, wald)
            if asked is not None:
                return asked
        coefficient = named == "recalibration" and not self.settings.prefers_bootstrap
        refused = self.settings.refuses(value, bootstrap=not coefficient and named != "none")
        if refused is not None:
            return refused
        if named == "none":
            return intervals.missing("none", "p_value")
        if coefficient:
            return self._of_coefficient(measure, value)
        name = "bootstrap [B]"
        if self.clusters is not None:
            name = self.clusters.bootstrap
            if self.clusters.number < 2:
                return intervals.missing(name, "too_few_clusters")
        drawn = turned(measure, value, self.drawn.of(measure))
        name = f"{'pivotal ' * is_pivotal(measure)}{name}"
        made = intervals.percentile(drawn, self.settings.level, name)
        low, high = np.clip([made.low, made.high], *measure.definition.range)
        error = made.reason is None and is_pivotal(measure) and measure.definition.perfect == 0
        made = replace(made, low=float(low), high=float(high))
        if error and self._may_be_calibrated:
            # Of what is calibrated even turned replicates are above 0 six times of ten.
            return replace(made, low=0.0, method=f"{name}, and 0 by Spiegelhalter's test")
        # Of what is not, the interval of an ECE held the truth 88 to 92 times of 100.
        return made.but("a biased measure") if error else made

    @cached_property
    def _may_be_calibrated(self) -> bool:
        """Whether a test at this level leaves it possible; it knows no clusters."""
        if self.clusters is not None:
            return False
        p = parse("Spiegelhalter-p", ("calibration",)).apply(self.table)
        return bool(p > 1 - self.settings.level)

    def _of_coefficient(self, measure: Measure, value: float) -> Interval:
        """Wald's interval of a coefficient of the recalibration.

        The variance is the inverse of the Fisher information H. It is H⁻¹·Σgg′·H⁻¹ with the
        gradients g of rows or clusters where there are weights, which need not be counts, or
        clusters; and of the intercept with slope 1, whose model is wrong where the slope is not.
        """
        if self.clusters is not None:
            se = self.clusters.sum_error(self.influence(measure))
            return self.clusters.normal(value, se, self.settings.level, "Wald, sandwich")
        fit = self._fit(measure)
        if self.weight is None and fit.both:
            se, name = math.sqrt(fit.variance[fit.place, fit.place]), "Wald, Fisher information"
        else:
            se, name = fit.error(self.table), "Wald, sandwich"
        return replace(intervals.normal_mean(value, se, self.settings.level), method=name)

    def influence(self, measure: Measure) -> FloatArray:
        """How much each row moves a coefficient of the recalibration, times the row's weight: its
        part of H⁻¹g, shape ``(n,)``."""
        fit, delta = self._fit(measure), measure.parameters["delta"]
        p = np.clip(self.probability, delta, 1 - delta)
        weight = np.ones(len(p)) if self.weight is None else self.weight
        p = np.where(weight > 0, p, 0.5)  # a row of weight 0 is no row, whatever its logit
        logit = np.log(p) - np.log1p(-p)
        residual = weight * (self.positive - expit(fit.intercept + fit.slope * logit))
        return np.asarray(residual * fit.to(logit))

    def _fit(self, measure: Measure) -> _Fit:
        """The recalibration whose coefficient the measure is."""
        both = measure.parameters.get("slope") != "one"
        x = Levels.of(self.table).clipped(measure.parameters["delta"])
        intercept, slope = x.line if both else (x.offset, 1.0)
        fitted = expit(intercept + slope * x.logit)
        of_fit = information(x.logit, x.total * fitted * (1 - fitted))
        return _Fit(
            both,
            1 if measure.definition.name == "calibration-slope" else 0,
            intercept,
            slope,
            x.logit,
            fitted,
            np.linalg.inv(of_fit[: 1 + both, : 1 + both]).astype(np.float64),
        )


class _Fit(NamedTuple):
    """A recalibration, logit P(y) = a + b·logit(p): whether b was fitted too, which coefficient is
    asked for, logit(p) and the fitted probability at each level, and the inverse information."""

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
        kept = (table.positive + table.negative)[::-1] > 0
        to = np.square(self.to(self.logit))
        of_positive = dot(table.positive_squares[::-1][kept], np.square(1 - self.fitted) * to)
        of_negative = dot(table.negative_squares[::-1][kept], np.square(self.fitted) * to)
        return math.sqrt(of_positive + of_negative)


def is_pivotal(measure: Measure) -> bool:
    """Whether bootstrap intervals of the measure are pivotal."""
    return bool(measure.definition.interval == "pivotal")


def turned(measure: Measure, value: float, replicates: FloatArray) -> FloatArray:
    """Replicates turned about the value, 2·value − replicate, where the interval is pivotal."""
    return 2 * value - replicates if is_pivotal(measure) else replicates


def top_label(
    truth: npt.NDArray[np.integer],
    probability: npt.NDArray[np.floating[Any]],
    highest: npt.NDArray[np.integer] | None = None,
) -> tuple[npt.NDArray[np.bool_], FloatArray]:
    """Whether the most probable class of each row is the true one, and its probability.

    ``truth`` holds class numbers from 0, ``probability`` a column a class. With these two, every
    measure of calibration becomes that of the confidence in the label that is given (Guo and others
    2017). Of equally probable classes the first is the one given; ``highest`` says which, where
    that is known.

    >>> top_label(np.array([2, 0]), np.array([[0.1, 0.3, 0.6], [0.2, 0.5, 0.3]]))
    (array([ True, False]), array([0.6, 0.5]))
    """
    given = probability.argmax(axis=1) if highest is None else highest
    own = probability[np.arange(len(truth)), given]
    return given == truth, own.astype(np.float64, copy=False)
