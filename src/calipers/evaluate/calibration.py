"""How far probabilities can be taken at their word: estimates, differences, and the curves.

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
from calipers.inference.bands import pointwise, simultaneous
from calipers.inference.clusters import Clusters
from calipers.inference.estimate import Settings
from calipers.inference.intervals import Interval
from calipers.inference.of_scores import Scores
from calipers.measures import Measure, parse
from calipers.once import cached_property
from calipers.results import Curve, Estimate
from calipers.statistics import FloatArray, ScoreTable
from calipers.statistics.base import dot
from calipers.statistics.calibration import Levels, expit, information

if TYPE_CHECKING:
    from calipers.evaluate.curves import Scored
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

#: The consistency band is that of at most so many levels, each the mean of its neighbours.
_MOST_LEVELS = 2_000
#: So many counts are drawn at a time.
_AT_A_TIME = 1_000_000
_GRID = np.linspace(0.0, 1.0, 101)
_BARS = 20


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


# --- Curves ---------------------------------------------------------------------------------------


def calibration_curve(scored: Scored) -> Curve:
    """The share of positives against the probability by isotonic regression (CORP; Dimitriadis,
    Gneiting and Jordan 2021).

    Every block of the regression is level from its first probability to its last; blocks are joined
    by straight lines. The bands are around the diagonal: where the curve of a calibrated system
    would lie, at each probability and as a whole.
    """
    levels, first = scored.levels, scored.levels.isotonic
    blocks = levels.gathered(first)
    last = np.append(first[1:], len(levels)) - 1
    x = np.column_stack([levels.probability[first], levels.probability[last]]).ravel()
    # A block of one level is one point.
    keep = np.column_stack([np.ones(len(first), bool), last > first]).ravel()
    return _curve(
        scored,
        "calibration",
        x=x[keep],
        y=np.repeat(blocks.share, 2)[keep],
        threshold=np.repeat(blocks.total, 2)[keep],
        **_consistency_bands(scored, levels),
    )


def binned_calibration_curve(scored: Scored, bins: int = 10, binning: str = "equal-mass") -> Curve:
    """The share of positives against the mean probability in bins, with Wilson's intervals.

    ``binning`` is ``"equal-mass"`` or ``"equal-width"``; empty bins are left out.
    """
    levels = scored.levels
    binned = levels.gathered(
        levels.equal_mass(bins) if binning == "equal-mass" else levels.equal_width(bins)
    )
    size = _row_size(scored.table)
    limits = [
        intervals.wilson(float(share), float(total) / size, scored.settings.level)
        for share, total in zip(binned.share, binned.total, strict=True)
    ]
    return _curve(
        scored,
        "calibration by bins",
        x=binned.probability,
        y=binned.share,
        threshold=binned.total,
        band_x=binned.probability,
        low=np.array([made.low for made in limits]),
        high=np.array([made.high for made in limits]),
        method=f"Wilson [W], {bins} bins of equal {binning.removeprefix('equal-')}",
    )


def probability_histogram(scored: Scored) -> Curve:
    """How the probabilities are spread: the share of rows in bars of equal width; ``x`` are the
    borders."""
    levels = scored.levels
    place = np.minimum((levels.probability * _BARS).astype(np.int64), _BARS - 1)
    share = np.bincount(place, levels.total, _BARS) / levels.weight
    return replace(
        _curve(
            scored,
            "probabilities",
            x=np.arange(_BARS + 1) / _BARS,
            y=np.append(share, 0.0),
            shape="bars",
            chance=None,
        ),
        y_label="Share of rows",
        at="",
    )


def _curve(scored: Scored, kind: str, **parts: Any) -> Curve:
    nothing = np.zeros(0)
    columns = {"threshold": nothing, "band_x": nothing, "low": nothing, "high": nothing}
    shared: dict[str, Any] = {"method": "none", "chance": ((0.0, 0.0), (1.0, 1.0))}
    return Curve(
        system=scored.system,
        kind=kind,
        x_label="Predicted probability",
        y_label="Share of positives",
        level=scored.settings.level,
        series=scored.series,
        at="weight" if scored.table.weighted else "rows",
        **{**columns, **shared, **parts},
    )


def _consistency_bands(scored: Scored, levels: Levels) -> dict[str, Any]:
    settings = scored.settings
    if settings.interval in ("none", "analytic") or not scored.independent:
        return {}
    ends = levels.probability[[0, -1]]
    grid = np.unique(np.clip(_GRID, *ends))
    fits = calibrated_fits(levels, _row_size(scored.table), grid, settings)
    low, high = pointwise(fits, settings.level)
    wide_low, wide_high = simultaneous(fits, settings.level)
    return {
        "band_x": grid,
        "low": low,
        "high": high,
        "method": "consistency resampling [B]",
        "wide_low": wide_low,
        "wide_high": wide_high,
        "wide_method": "consistency resampling [B]",
    }


def _row_size(table: ScoreTable) -> float:
    """The weight of an effective row, Σw²/Σw."""
    squares = table.positive_squares.sum() + table.negative_squares.sum()
    return float(squares / (table.total_positive + table.total_negative))


def calibrated_fits(
    levels: Levels, row_size: float, grid: FloatArray, settings: Settings
) -> FloatArray:
    """Isotonic fits over a grid, shape (B, G), had all probabilities been right.

    Rows are drawn with replacement, and outcomes by their own probabilities: at a level p with n
    rows, Poisson(np) positives and Poisson(n(1 − p)) negatives. ``row_size`` is the weight of an
    effective row.
    """
    from calipers import _core

    if len(levels) > _MOST_LEVELS:
        levels = levels.gathered(levels.equal_mass(_MOST_LEVELS))
    random = np.random.Generator(np.random.Philox(settings.seed))
    rows = levels.total / row_size
    expected = np.concatenate([rows * levels.probability, rows * (1 - levels.probability)])
    step = max(1, _AT_A_TIME // len(expected))
    parts = [
        _core.isotonic_fits(
            levels.probability,
            random.poisson(expected, (min(step, settings.resamples - start), len(expected))),
            grid,
        )
        for start in range(0, settings.resamples, step)
    ]
    return np.concatenate(parts)


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
