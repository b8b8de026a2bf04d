"""Thresholds that a rule chooses: which one to use, and what it will be worth on other rows.

A rule is written

    youden   F2   closest   cost(cost_fp=1,cost_fn=5)   any measure of counts: its best value
    recall@precision=0.9                                a measure of scores that has a threshold
    specificity>=0.9                                    the best recall, that being so
    F1 where recall>=0.8 & precision>=0.5               the best value under bounds
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calipers.caching import cached_property
from calipers.data.errors import InputError
from calipers.inference.intervals import percentile
from calipers.inference.point_estimate import PointEstimate
from calipers.inference.score_bootstrap import RefinedCurves, ScoreReplicates
from calipers.measures import Measure, UnknownMeasureError, parse
from calipers.measures.scores import ROUNDING, candidate_blocks, first_argmax
from calipers.statistics import ConfusionMatrix, FloatArray, ScoreTable
from calipers.statistics.scores import to_confusion_counts
from calipers.systems.base import NAN

#: A bound on one of these leaves recall to be maximised, on one of those specificity.
_GUARDS = {
    "recall": ("specificity", "FPR", "precision", "FDR"),
    "specificity": ("recall", "FNR", "NPV", "FOR"),
}

_BOUND = re.compile(r"(?P<measure>.+?)(?P<sign>>=|<=|≥|≤)(?P<value>[^<>=]+)$")


@dataclass(frozen=True)
class MeasureBound:
    """A measure of counts that has to be at least, or at most, a value."""

    measure: Measure
    value: float
    is_lower: bool

    def holds(self, matrices: ConfusionMatrix) -> npt.NDArray[np.bool_]:
        """Where it does; a measure without a value keeps to no bound."""
        return self._reach(matrices) >= -ROUNDING

    def may_hold(self, table: ScoreTable) -> npt.NDArray[np.bool_]:
        """In which blocks of scores it may: where it does at the corner, if that is the best."""
        if self.measure.definition.higher_is_better is not self.is_lower:
            return np.ones(table.positive.shape, bool)
        return ~(self._reach(table.corners()) < -ROUNDING)

    def _reach(self, matrices: ConfusionMatrix) -> FloatArray:
        sign = 1 if self.is_lower else -1
        return np.asarray(sign * (self.measure.apply(matrices) - self.value))

    def __str__(self) -> str:
        return f"{self.measure}{'>=' if self.is_lower else '<='}{self.value:g}"


@dataclass(frozen=True)
class ThresholdRule:
    """What makes a threshold the best one: a measure, and bounds that others have to keep to."""

    measure: Measure
    bounds: tuple[MeasureBound, ...] = ()

    @classmethod
    def parse(cls, text: str, defaults: Mapping[str, Any] | None = None) -> ThresholdRule:
        """The rule that a text means; ``defaults`` are parameters that it does not mention."""
        if not isinstance(text, str):
            raise InputError(f"a rule is {text!r}, expected one such as 'youden'")
        head, where, tail = text.strip().partition(" where ")
        if not where and _BOUND.match(head):
            head, tail = "", head
        bounds = tuple(
            _parse_bound(part) for part in re.split(r"[&,](?![^()]*\))", tail) if part.strip()
        )
        try:
            measure = parse(head or _left_to_maximise(bounds, text), ("counts", "scores"), defaults)
        except UnknownMeasureError as error:
            raise InputError(f"rule {text!r}: {error}") from None
        definition = measure.definition
        if definition.statistic is ScoreTable and (definition.threshold_index is None or bounds):
            raise InputError(f"rule {text!r}: {measure} is not read off one threshold")
        if definition.higher_is_better is None:
            raise InputError(f"rule {text!r}: neither high nor low {measure} is better")
        return cls(measure, bounds)

    def best_index(self, table: ScoreTable) -> npt.NDArray[np.intp]:
        """Where among the thresholds it is best, the highest of several; −1 where none will do."""
        if self.measure.definition.statistic is ScoreTable:
            assert self.measure.definition.threshold_index is not None
            with np.errstate(divide="ignore", invalid="ignore"):
                place = self.measure.definition.threshold_index(table, **self.measure.parameters)
            return np.where(np.isnan(self.measure.apply(table)), -1, place)
        values = self._values(table)
        return np.where((values > -np.inf).any(axis=-1), first_argmax(values), -1)

    def opens(self, table: ScoreTable) -> npt.NDArray[np.bool_]:
        """Which blocks of a table whose neighbouring scores were put together have to be taken
        apart to find the place: those that may hold a better threshold than all that are known."""
        definition = self.measure.definition
        if definition.statistic is ScoreTable:
            assert definition.needs_refinement is not None
            return definition.needs_refinement(table, **self.measure.parameters)
        opened = candidate_blocks(
            self._values(table), self._sign * self.measure.apply(table.corners())
        )
        for bound in self.bounds:
            opened &= bound.may_hold(table)
        return opened

    def _values(self, table: ScoreTable) -> FloatArray:
        """How good every threshold is; −∞ where it has no value or keeps not to a bound."""
        matrices = table.confusion()
        values = self._sign * self.measure.apply(matrices)
        usable = ~np.isnan(values)
        for bound in self.bounds:
            usable &= bound.holds(matrices)
        return np.where(usable, values, -np.inf)

    @property
    def _sign(self) -> int:
        return 1 if self.measure.definition.higher_is_better else -1

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The measure that is to be best, and those that are bounded."""
        return (self.measure, *(bound.measure for bound in self.bounds))

    def threshold(self, table: ScoreTable) -> FloatArray:
        """The threshold there; +∞ predicts nothing positive, NaN where none will do."""
        place = self.best_index(table)
        return np.where(place < 0, np.nan, table.thresholds[place])

    def __str__(self) -> str:
        return " where ".join([str(self.measure), *([self._bounds] if self.bounds else [])])

    @property
    def _bounds(self) -> str:
        return " & ".join(map(str, self.bounds))


def _parse_bound(text: str) -> MeasureBound:
    match = _BOUND.match(text.strip())
    try:
        if match is None:
            raise ValueError
        measure, value = parse(match["measure"].strip(), "counts"), float(match["value"])
    except UnknownMeasureError as error:
        raise InputError(f"bound {text.strip()!r}: {error}") from None
    except ValueError:
        raise InputError(f"bound {text.strip()!r}: expected one such as recall>=0.9") from None
    return MeasureBound(measure, value, match["sign"] in (">=", "≥"))


def _left_to_maximise(bounds: Sequence[MeasureBound], text: str) -> str:
    """What a bound is set against."""
    named = {bound.measure.definition.name for bound in bounds}
    for measure, guards in _GUARDS.items():
        if bounds and named <= set(guards):
            return measure
    raise InputError(f"rule {text!r}: say what to maximise, as in 'F1 where recall>=0.8'")


def replicated_choices(
    rule: ThresholdRule, drawn: ScoreReplicates
) -> tuple[npt.NDArray[np.int64], FloatArray]:
    """Where among the thresholds of the table each of its replicates puts the best, −1 where none
    will do; and the true and false positives that the replicate itself has there, shape (B, 2)."""

    def choose(part: RefinedCurves) -> tuple[npt.NDArray[np.int64], FloatArray]:
        place = rule.best_index(part.table)
        own = np.maximum(place, 0)[:, None]
        chosen = np.take_along_axis(part.block_index, own, axis=-1)[:, 0]
        there = [np.take_along_axis(of, own, axis=-1) for of in part.table.running]
        return np.where(place < 0, -1, chosen), np.concatenate(there, axis=-1)

    places, there = zip(*drawn.refine(rule.opens, choose), strict=True)
    return np.concatenate(places), np.concatenate(there)


@dataclass(frozen=True, eq=False)
class ChosenThreshold:
    """A threshold that a rule chose on the rows it is used on, and what that does to the numbers.

    The choice is repeated on bootstrap replicates of the rows, and each threshold tried on the rows
    that its replicate left out, about 37%. The confusion matrices of these, added up, are what the
    out-of-bag value of a measure comes from, once scaled to as many rows as there are.

    By how much a replicate's value at its own threshold exceeds the value of all rows there shows
    how far a value on the rows of the choice may lie from that on all others (Efron 1983, where its
    mean is the bootstrap estimate of optimism).
    """

    system: str
    rule: ThresholdRule
    threshold: float
    replicates: ScoreReplicates

    @cached_property
    def _choices(self) -> tuple[npt.NDArray[np.int64], FloatArray]:
        return replicated_choices(self.rule, self.replicates)

    @cached_property
    def _resampled(self) -> tuple[FloatArray, ConfusionMatrix]:
        """The thresholds that replicates choose, and the out-of-bag matrix."""
        place, _ = self._choices
        found, table = place >= 0, self.replicates.table
        counts = self.replicates.left_out(np.maximum(place, 0))[found].sum(axis=0).reshape(2, 2)
        with np.errstate(divide="ignore", invalid="ignore"):
            counts *= (table.total_positive + table.total_negative) / counts.sum()
        thresholds = np.where(found, table.thresholds[place], np.nan)
        return thresholds, ConfusionMatrix(counts, counts)

    @property
    def _is_needed(self) -> bool:
        return self.replicates.settings.interval in ("auto", "bootstrap")

    def out_of_bag(self, measure: Measure) -> float:
        """The value of a measure of counts on rows that the threshold was not chosen on."""
        return float(measure.apply(self._resampled[1])) if self._is_needed else float("nan")

    @cached_property
    def _both(self) -> tuple[ConfusionMatrix, ConfusionMatrix]:
        """At the threshold of each replicate its own matrix, and that of all rows."""
        (place, own), table = self._choices, self.replicates.table
        place, own = place[place >= 0], own[place >= 0]
        drawn = self.replicates.totals[self._choices[0] >= 0]
        tp, fp = table.running
        here = np.stack([tp[place], fp[place]], axis=-1)
        whole = np.array([table.total_positive, table.total_negative])
        matrices = (to_confusion_counts(*own.T, *drawn.T), to_confusion_counts(*here.T, *whole))
        mine, all_rows = (ConfusionMatrix(cells, cells) for cells in matrices)
        return mine, all_rows

    def optimism(self, measure: Measure) -> tuple[float, float]:
        """Between which limits the optimism of a measure of counts lies: percentiles of what
        replicates have at their own thresholds less what all rows have there. NaN where more than
        5% of them have no such value, or all have one."""
        if not self._is_needed:
            return NAN, NAN
        mine, whole = (measure.apply(of) for of in self._both)
        missed = np.full(len(self._choices[0]) - len(mine), NAN)
        made = percentile(np.append(mine - whole, missed), self.replicates.settings.level)
        return made.low, made.high

    def point_estimate(self, n: int) -> PointEstimate:
        """The threshold itself, which replicates of the rows choose anew."""
        return PointEstimate(
            value=self.threshold,
            kind="threshold",
            settings=self.replicates.settings,
            n=n,
            standalone_replicates=lambda: self._resampled[0],
        )

    def note(self, table: ScoreTable) -> str:
        """The note on the optimism of the threshold."""
        at = "+∞" if np.isinf(self.threshold) else f"{self.threshold:.6g}"
        text = (
            f"{self.system}: the threshold {at} was chosen on the rows that it is evaluated on, "
            f"for the best {self.rule}, so measures there are optimistic"
        )
        if not self._is_needed or self.rule.measure.definition.statistic is ScoreTable:
            return f"{text}."
        here = table.to_confusion_matrix(self.threshold)
        both = " and ".join(
            f"{measure} is {float(measure.apply(here)):.3f} on these rows, "
            f"{self.out_of_bag(measure):.3f} out of bag"
            for measure in self.rule.measures
        )
        return (
            f"{text}: {both} (the choice is repeated on {self.replicates.settings.n_resamples:,} "
            "bootstrap replicates)."
        )


class NoThresholdError(InputError):
    """No threshold satisfies a rule."""
