"""Thresholds chosen by a rule, and their performance on other rows.

A rule is written as one of

    youden   F2   closest   cost(FP=1,FN=5)   any measure of counts: its best value
    recall@precision=0.9                                a measure of scores that has a threshold
    specificity>=0.9                                    the best recall under this bound
    F1 where recall>=0.8 & precision>=0.5               the best value under bounds
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from calipers.caching import cached_property
from calipers.data.errors import InputError
from calipers.inference.intervals import percentile
from calipers.inference.point_estimate import PointEstimate
from calipers.inference.score_bootstrap import RefinedCurves, ScoreReplicates
from calipers.lazy_dataclasses import dataclass
from calipers.measures import Measure, UnknownMeasureError, parse
from calipers.measures.scores import PROPORTION_TOLERANCE, candidate_block_mask, first_argmax
from calipers.statistics import ConfusionMatrix, FloatArray, ScoreTable
from calipers.statistics.scores import to_confusion_counts
from calipers.systems.base import NAN

#: Measure to be maximised, by the measures on which a bound determines it.
_OBJECTIVE_BOUNDS = {
    "recall": ("specificity", "FPR", "precision", "FDR"),
    "specificity": ("recall", "FNR", "NPV", "FOR"),
}

_BOUND_PATTERN = re.compile(r"(?P<measure>.+?)(?P<sign>>=|<=|≥|≤)(?P<value>[^<>=]+)$")


@dataclass(frozen=True)
class MeasureBound:
    """Lower or upper bound on a measure of the confusion matrix.

    Attributes
    ----------
    measure : Measure
        Bounded measure.
    value : float
        Bound.
    is_lower : bool
        Whether it is a lower bound.
    """

    measure: Measure
    value: float
    is_lower: bool

    def met_mask(self, matrices: ConfusionMatrix) -> npt.NDArray[np.bool_]:
        """Return which matrices meet the bound; an undefined measure does not."""
        return self._slack(matrices) >= -PROPORTION_TOLERANCE

    def possible_mask(self, table: ScoreTable) -> npt.NDArray[np.bool_]:
        """Return which blocks of scores may meet the bound.

        A block may if its corner does, provided that the corner has the block's best value.
        """
        if self.measure.definition.higher_is_better is not self.is_lower:
            return np.ones(table.positive.shape, bool)
        return ~(self._slack(table.corner_confusion()) < -PROPORTION_TOLERANCE)

    def _slack(self, matrices: ConfusionMatrix) -> FloatArray:
        sign = 1 if self.is_lower else -1
        return np.asarray(sign * (self.measure.apply(matrices) - self.value))

    def __str__(self) -> str:
        return f"{self.measure}{'>=' if self.is_lower else '<='}{self.value:g}"


@dataclass(frozen=True)
class ThresholdRule:
    """Rule that defines the optimal threshold.

    Attributes
    ----------
    measure : Measure
        Measure to be optimised.
    bounds : tuple of MeasureBound
        Bounds on other measures.
    """

    measure: Measure
    bounds: tuple[MeasureBound, ...] = ()

    @classmethod
    def parse(cls, text: str, defaults: Mapping[str, Any] | None = None) -> ThresholdRule:
        """Parse a rule.

        Parameters
        ----------
        text : str
            Rule, such as ``"youden"`` or ``"F1 where recall>=0.8"``.
        defaults : dict, optional
            Parameters of measures that the text does not set.

        Returns
        -------
        ThresholdRule
            Parsed rule.

        Raises
        ------
        InputError
            If the text is not a rule, or the measure cannot be optimised.
        """
        if not isinstance(text, str):
            raise InputError(f"a rule is {text!r}, expected one such as 'youden'")
        head, separator, tail = text.strip().partition(" where ")
        if not separator and _BOUND_PATTERN.match(head):
            head, tail = "", head
        bounds = tuple(
            _parse_bound(bound_text)
            for bound_text in re.split(r"[&,](?![^()]*\))", tail)
            if bound_text.strip()
        )
        try:
            measure = parse(
                head or _default_objective(bounds, text), ("counts", "scores"), defaults
            )
        except UnknownMeasureError as error:
            raise InputError(f"rule {text!r}: {error}") from None
        definition = measure.definition
        if definition.statistic is ScoreTable and (definition.threshold_index is None or bounds):
            raise InputError(f"rule {text!r}: {measure} is not read off one threshold")
        if definition.higher_is_better is None:
            raise InputError(f"rule {text!r}: neither high nor low {measure} is better")
        return cls(measure, bounds)

    def best_index(self, table: ScoreTable) -> npt.NDArray[np.intp]:
        """Return the index of the optimal threshold, the highest of several; −1 if none."""
        if self.measure.definition.statistic is ScoreTable:
            assert self.measure.definition.threshold_index is not None
            with np.errstate(divide="ignore", invalid="ignore"):
                index = self.measure.definition.threshold_index(table, **self.measure.parameters)
            return np.where(np.isnan(self.measure.apply(table)), -1, index)
        values = self._values(table)
        return np.where((values > -np.inf).any(axis=-1), first_argmax(values), -1)

    def needs_refinement(self, table: ScoreTable) -> npt.NDArray[np.bool_]:
        """Return which blocks of merged neighbouring scores have to be split to find the optimum.

        These are the blocks that may contain a better threshold than all known ones.
        """
        definition = self.measure.definition
        if definition.statistic is ScoreTable:
            assert definition.needs_refinement is not None
            return definition.needs_refinement(table, **self.measure.parameters)
        refinement_mask = candidate_block_mask(
            self._values(table), self._sign * self.measure.apply(table.corner_confusion())
        )
        for bound in self.bounds:
            refinement_mask &= bound.possible_mask(table)
        return refinement_mask

    @property
    def is_at_corner(self) -> bool:
        """Whether the optimum is at a corner of the convex hull of a curve."""
        definition = self.measure.definition
        return not self.bounds and (
            definition.has_straight_levels or definition.maximum_of is not None
        )

    def _values(self, table: ScoreTable) -> FloatArray:
        """Return the signed value at every threshold; −∞ if undefined or a bound is not met."""
        matrices = table.confusion()
        values = self._sign * self.measure.apply(matrices)
        usable_mask = ~np.isnan(values)
        for bound in self.bounds:
            usable_mask &= bound.met_mask(matrices)
        return np.where(usable_mask, values, -np.inf)

    @property
    def _sign(self) -> int:
        return 1 if self.measure.definition.higher_is_better else -1

    @property
    def measures(self) -> tuple[Measure, ...]:
        """Measure to be optimised, and the bounded measures."""
        return (self.measure, *(bound.measure for bound in self.bounds))

    def threshold(self, table: ScoreTable) -> FloatArray:
        """Return the optimal threshold.

        +∞ predicts no row positive; NaN means that no threshold meets the bounds.
        """
        index = self.best_index(table)
        return np.where(index < 0, np.nan, table.thresholds[index])

    def __str__(self) -> str:
        return " where ".join([str(self.measure), *([self._bounds_text] if self.bounds else [])])

    @property
    def _bounds_text(self) -> str:
        return " & ".join(map(str, self.bounds))


def _parse_bound(text: str) -> MeasureBound:
    match = _BOUND_PATTERN.match(text.strip())
    try:
        if match is None:
            raise ValueError
        measure, value = parse(match["measure"].strip(), "counts"), float(match["value"])
    except UnknownMeasureError as error:
        raise InputError(f"bound {text.strip()!r}: {error}") from None
    except ValueError:
        raise InputError(f"bound {text.strip()!r}: expected one such as recall>=0.9") from None
    return MeasureBound(measure, value, match["sign"] in (">=", "≥"))


def _default_objective(bounds: Sequence[MeasureBound], text: str) -> str:
    """Return the measure to be maximised under bounds that do not name one."""
    bounded_names = {bound.measure.definition.name for bound in bounds}
    for measure, guards in _OBJECTIVE_BOUNDS.items():
        if bounds and bounded_names <= set(guards):
            return measure
    raise InputError(f"rule {text!r}: say what to maximise, as in 'F1 where recall>=0.8'")


class ReplicateChoices(NamedTuple):
    """Thresholds that a rule chooses on bootstrap replicates.

    ``threshold_index`` is that of the threshold in the table, −1 if there is none; ``counts`` are
    the true and false positives of the replicate there, shape (B, 2); ``refined_mask`` marks the
    blocks of the coarse curves in which it was searched.
    """

    threshold_index: npt.NDArray[np.int64]
    counts: FloatArray
    refined_mask: npt.NDArray[np.bool_]


def choose_on_replicates(rule: ThresholdRule, replicates: ScoreReplicates) -> ReplicateChoices:
    """Choose the threshold on each bootstrap replicate."""

    def choose(curves: RefinedCurves) -> ReplicateChoices:
        index = rule.best_index(curves.table)
        index_column = np.maximum(index, 0)[:, None]
        chosen = np.take_along_axis(curves.block_index, index_column, axis=-1)[:, 0]
        counts = [
            np.take_along_axis(running, index_column, axis=-1)
            for running in curves.table.cumulative_counts
        ]
        return ReplicateChoices(
            np.where(index < 0, -1, chosen), np.concatenate(counts, axis=-1), curves.refined_mask
        )

    batches = replicates.refine(rule.needs_refinement, choose, at_corner=rule.is_at_corner)
    return ReplicateChoices(*map(np.concatenate, zip(*batches, strict=True)))


@dataclass(frozen=True, eq=False)
class ChosenThreshold:
    """Threshold that a rule chose on the evaluated rows, with estimates of its optimism.

    The choice is repeated on bootstrap replicates of the rows, and each threshold is evaluated on
    the rows that are out of bag, about 37%. The sum of these confusion matrices, scaled to the
    number of rows, gives the out-of-bag value of a measure.

    The optimism of a replicate is its own value at its threshold minus the value of all rows at
    this threshold. Its mean is the bootstrap estimate of optimism (Efron 1983), and its
    distribution shows how far a value on the rows of the choice may deviate from that on other
    rows.
    """

    system: str
    rule: ThresholdRule
    threshold: float
    replicates: ScoreReplicates

    @cached_property
    def _choices(self) -> ReplicateChoices:
        return choose_on_replicates(self.rule, self.replicates)

    @cached_property
    def _out_of_bag_results(self) -> tuple[FloatArray, ConfusionMatrix]:
        """Thresholds of the replicates, and the out-of-bag confusion matrix."""
        index, _, refined_mask = self._choices
        chosen_mask, table = index >= 0, self.replicates.table
        cells = self.replicates.out_of_bag_counts(np.maximum(index, 0), refined_mask)
        counts = cells[chosen_mask].sum(axis=0).reshape(2, 2)
        with np.errstate(divide="ignore", invalid="ignore"):
            counts *= (table.total_positive + table.total_negative) / counts.sum()
        thresholds = np.where(chosen_mask, table.thresholds[index], np.nan)
        return thresholds, ConfusionMatrix(counts, counts)

    @property
    def _is_bootstrapped(self) -> bool:
        return self.replicates.settings.interval in ("auto", "bootstrap")

    def out_of_bag(self, measure: Measure) -> float:
        """Return the value of a measure on rows on which the threshold was not chosen."""
        return (
            float(measure.apply(self._out_of_bag_results[1]))
            if self._is_bootstrapped
            else float("nan")
        )

    @cached_property
    def _matrix_pair(self) -> tuple[ConfusionMatrix, ConfusionMatrix]:
        """Confusion matrices of each replicate and of all rows, at the replicate's threshold."""
        (index, counts, _), table = self._choices, self.replicates.table
        chosen_mask = index >= 0
        index, counts = index[chosen_mask], counts[chosen_mask]
        totals = self.replicates.totals[chosen_mask]
        tp, fp = table.cumulative_counts
        full_counts = np.stack([tp[index], fp[index]], axis=-1)
        full_totals = np.array([table.total_positive, table.total_negative])
        matrices = (
            to_confusion_counts(*counts.T, *totals.T),
            to_confusion_counts(*full_counts.T, *full_totals),
        )
        replicate_matrices, all_rows = (ConfusionMatrix(cells, cells) for cells in matrices)
        return replicate_matrices, all_rows

    def optimism_limits(self, measure: Measure) -> tuple[float, float]:
        """Return the limits of the optimism of a measure of the confusion matrix.

        They are percentiles of the value of a replicate minus that of all rows, both at the
        replicate's threshold. They are NaN if more than 5% of the replicates are undefined, or all
        values are equal.
        """
        if not self._is_bootstrapped:
            return NAN, NAN
        replicate_values, full_values = (measure.apply(matrix) for matrix in self._matrix_pair)
        undefined_values = np.full(len(self._choices.threshold_index) - len(replicate_values), NAN)
        limits = percentile(
            np.append(replicate_values - full_values, undefined_values),
            self.replicates.settings.level,
        )
        return limits.low, limits.high

    def point_estimate(self, n: int) -> PointEstimate:
        """Return the threshold as a point estimate, with the thresholds of the replicates."""
        return PointEstimate(
            value=self.threshold,
            kind="threshold",
            settings=self.replicates.settings,
            n=n,
            standalone_replicates=lambda: self._out_of_bag_results[0],
        )

    def note(self, table: ScoreTable) -> str:
        """Return the note on the optimism of the threshold."""
        threshold = "+∞" if np.isinf(self.threshold) else f"{self.threshold:.6g}"
        text = (
            f"{self.system}: the threshold {threshold} was chosen on the rows that it is evaluated "
            f"on, for the best {self.rule}, so measures there are optimistic"
        )
        if not self._is_bootstrapped or self.rule.measure.definition.statistic is ScoreTable:
            return f"{text}."
        matrix = table.confusion_at(self.threshold)
        comparisons = " and ".join(
            f"{measure} is {float(measure.apply(matrix)):.3f} on these rows, "
            f"{self.out_of_bag(measure):.3f} out of bag"
            for measure in self.rule.measures
        )
        n_resamples = self.replicates.settings.n_resamples
        return (
            f"{text}: {comparisons} (the choice is repeated on {n_resamples:,} bootstrap "
            "replicates)."
        )


class NoThresholdError(InputError):
    """Error raised if no threshold satisfies a rule."""
