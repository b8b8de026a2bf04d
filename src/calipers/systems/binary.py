"""Binary classifiers: systems with labels, scores or probabilities of two classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from calipers.caching import cached_property
from calipers.data.errors import InputError
from calipers.estimation.calibration import ProbabilityRows
from calipers.estimation.counts import ClassCounts
from calipers.estimation.losses import RowLosses
from calipers.estimation.scores import ScoredRows
from calipers.lazy_dataclasses import dataclass
from calipers.statistics import ConfusionMatrix, FloatArray, ScoreTable
from calipers.statistics.base import row_blocks
from calipers.statistics.logits import LogitSummary
from calipers.statistics.scores import ScoreBuffer
from calipers.systems import base
from calipers.systems.base import NAN, MeasureSample, best_constant_value
from calipers.systems.regression import constant_loss
from calipers.systems.thresholds import ChosenThreshold, ThresholdRule

if TYPE_CHECKING:
    import numpy.typing as npt
    from typing_extensions import Self

    from calipers.data.binary_labels import BinaryLabels
    from calipers.inference.clusters import ClusterIndex
    from calipers.inference.point_estimate import PointEstimate
    from calipers.inference.settings import Settings
    from calipers.inference.time_order import TimeOrder
    from calipers.measures import Measure
    from calipers.statistics import Statistic


@dataclass(frozen=True, eq=False)
class BinaryOutput(base.SystemOutput):
    """Output of one binary classifier, with the rows and the statistics of both.

    Attributes
    ----------
    name : str
        Name of the system.
    labels : BinaryLabels
        True class of each row, and the names of the classes.
    weight : array of shape (n,) or None
        Weight of each row.
    settings : Settings
        Settings of inference.
    predicted : array of bool of shape (n,), optional
        Whether each row is predicted positive.
    score : array of shape (n,), optional
        Score of each row, higher for the positive class.
    probability : array of shape (n,), optional
        Probability of the positive class.
    threshold : float, optional
        Threshold of the scores.
    clusters : ClusterIndex, optional
        Clusters of the rows.
    rule : ThresholdRule, optional
        Rule that chose the threshold on these rows.
    measures : tuple of Measure, optional
        Requested measures, which are bootstrapped together.
    order : TimeOrder, optional
        Time order of the rows.
    """

    name: str
    labels: BinaryLabels
    weight: FloatArray | None
    settings: Settings
    predicted: npt.NDArray[np.bool_] | None = None
    score: npt.NDArray[np.floating[Any]] | None = None
    probability: FloatArray | None = None
    threshold: float | None = None
    clusters: ClusterIndex | None = None
    #: Rule that chose the threshold on these rows.
    rule: ThresholdRule | None = None
    #: Requested measures, which are bootstrapped together.
    measures: tuple[Measure, ...] = ()
    order: TimeOrder | None = None

    columns: ClassVar = ("weight", "predicted", "score", "probability")
    output_fields: ClassVar = {
        "predicted": bool,
        "score": float,
        "probability": float,
        "threshold": None,
    }
    needs: ClassVar = {
        "labels": ("predicted", "predicted labels, probabilities, or scores with a threshold"),
        "ranks": ("", "more than two classes"),
        "distributions": ("", "a distribution over the classes as the truth of each row"),
        "scores": ("score", "scores or probabilities"),
        "probabilities": ("probability", "probabilities"),
    }

    def shared_inputs(self) -> tuple[Any, dict[str, Any]]:
        """Return which rows are positive, and the names of the classes."""
        return self.labels.positive, {"classes": list(self.labels.names)}

    def with_outputs(self, name: str, outputs: Mapping[str, Any]) -> Self:
        """Return a system of another name; its threshold, if any, was chosen on other rows."""
        return self._with(name=name, rule=None, **outputs)

    def check_measure(self, measure: Measure) -> None:
        """Check that the data suffice for a measure of the positive class or of labels."""
        is_label_measure = measure.definition.reads == "labels"
        if measure.has_view and not (
            is_label_measure and measure.label in (None, *self.labels.names)
        ):
            negative, positive = self.labels.names
            raise InputError(
                f"{measure}: there are two classes, {negative!r} and {positive!r}, of which "
                f"{positive!r} is the positive one; ask for {measure.plain}"
            )
        base.check_named_classes(measure, self.labels.names)
        super().check_measure(measure)

    def from_predictions(
        self, name: str, truth: npt.NDArray[np.intp], predicted: npt.NDArray[np.intp]
    ) -> BinaryOutput:
        """Return a system of another name that predicts labels of other rows (1 for positive)."""
        labels, positive_mask = replace(self.labels, positive=truth == 1), predicted == 1
        rows: dict[str, Any] = {"weight": None, "clusters": None, "order": None}
        scores: dict[str, Any] = {"score": None, "probability": None, "threshold": None}
        return replace(
            self, name=name, labels=labels, predicted=positive_mask, rule=None, **rows, **scores
        )

    def take_columns(self, rows: npt.NDArray[np.bool_ | np.intp]) -> dict[str, Any]:
        """Return some of the rows, without the rule, which chose the threshold on all rows."""
        labels = replace(self.labels, positive=self.labels.positive[rows])
        return {**super().take_columns(rows), "labels": labels, "rule": None}

    # --- Statistics of measures ------------------------------------------------------------------

    @cached_property
    def counts(self) -> ClassCounts:
        """Confusion matrix, with its resampling."""
        assert self.predicted is not None
        return ClassCounts.from_codes(
            self.labels.positive,
            self.predicted,
            self.labels.names,
            self.settings,
            self.weight,
            self.clusters,
            tuple(m for m in self.measures if m.definition.statistic is ConfusionMatrix),
        )

    @cached_property
    def score_rows(self) -> ScoredRows:
        """Table of scores, with its resampling."""
        assert self.score is not None
        return ScoredRows(
            self.labels.positive,
            self.score,
            self.weight,
            self.clusters,
            self.settings,
            self.measures,
        )

    @property
    def score_table(self) -> ScoreTable:
        """Table of distinct scores."""
        return self.score_rows.table

    @cached_property
    def chosen_threshold(self) -> ChosenThreshold | None:
        """Threshold, if a rule chose it on these rows."""
        if self.rule is None or self.threshold is None:
            return None
        return ChosenThreshold(
            self.name, self.rule, self.threshold, self.score_rows.standalone_replicates
        )

    def binary_problem(self, measure: Measure) -> BinaryOutput:
        """Return the system itself, which is a binary problem."""
        return self

    def sample_for(self, measure: Measure) -> MeasureSample:
        """Return the counts, the scores, or the losses of the probabilities."""
        if measure.definition.statistic is ConfusionMatrix:
            return self.counts
        if measure.definition.statistic is ScoreTable:
            uses_probabilities = measure.definition.reads == "probabilities"
            return ProbabilityRows(self.score_rows) if uses_probabilities else self.score_rows
        assert self.probability is not None
        losses = self._losses(measure)
        value_range = measure.definition.range_of_two
        return RowLosses(losses, self.weight, self.clusters, self.settings, value_range)

    def batch_statistic(self, measure: Measure) -> Statistic | None:
        """Return the statistic that batches accumulate for a measure.

        For scores these are the rows themselves, until they are many; for a recalibration
        coefficient, sums over logits.
        """
        if measure.definition.statistic is ScoreTable and measure.definition.coefficient is None:
            return self._score_buffer
        if measure.definition.coefficient is None or self.probability is None:
            return super().batch_statistic(measure)
        columns, delta = (self.probability, self.labels.positive), measure.parameters["delta"]
        make = partial(LogitSummary.from_rows, *columns, self.weight, delta)
        return self.cached(("logits", delta), make)

    @cached_property
    def _score_buffer(self) -> ScoreBuffer:
        assert self.score is not None
        weight = None if self.weight is None else (self.weight,)
        rows = len(self.labels.positive)
        return ScoreBuffer((self.labels.positive,), (self.score,), weight, rows)

    def point_estimate(self, measure: Measure) -> PointEstimate:
        """Return the point estimate, with a caution if the threshold was chosen on these rows.

        Counts at such a threshold are optimistic.
        """
        estimate = super().point_estimate(measure)
        if self.rule is None or measure.definition.statistic is not ConfusionMatrix:
            return estimate
        return replace(estimate, caution="the threshold was chosen on these rows")

    def constant_value(self, measure: Measure) -> float:
        """Return the value of the best constant prediction."""
        if measure.definition.statistic is ConfusionMatrix:
            return best_constant_value(measure, self.counts.matrix.constant_predictions())
        if measure.definition.statistic is not ScoreTable:
            # All rows of a class have the same loss.
            present_classes = np.flatnonzero(self._class_sizes)
            return constant_loss(
                measure, present_classes.astype(np.float64), self._class_sizes[present_classes]
            )
        table = self.score_table.with_constant_score()
        if measure.definition.reads == "probabilities":
            if measure.definition.higher_is_better is None:
                return NAN
            positive, negative = self.score_table.total_positive, self.score_table.total_negative
            with np.errstate(invalid="ignore"):  # a slice may have no weight
                prevalence = np.array([positive / (positive + negative)])
            table = replace(table, scores=prevalence)
        return float(measure.apply(table))

    def auxiliary_values(self, measure: Measure) -> Mapping[str, float]:
        """Return the threshold of a measure that is taken at one, or out-of-bag values.

        Out of bag are the rows on which the threshold was not chosen.
        """
        if measure.definition.statistic is ScoreTable and measure.definition.reads == "scores":
            return {"threshold": float(measure.threshold(self.score_table))}
        if measure.definition.statistic is ConfusionMatrix and self.chosen_threshold is not None:
            low, high = self.chosen_threshold.optimism_limits(measure)
            out_of_bag = self.chosen_threshold.out_of_bag(measure)
            return {"out_of_bag": out_of_bag, "optimism_low": low, "optimism_high": high}
        return {}

    @cached_property
    def has_certain_probability(self) -> bool:
        """Whether a probability is 0 or 1."""
        p = self.probability
        return p is not None and len(p) > 0 and bool(p.min() <= 0 or p.max() >= 1)

    def _losses(self, measure: Measure) -> FloatArray:
        """Compute the loss of each row, in blocks, as a formula needs several temporary columns."""
        positive, probability = self.labels.positive, self.probability
        assert probability is not None
        losses = np.empty(len(probability))
        for rows in row_blocks(len(losses), 1):
            losses[rows] = measure.losses(positive[rows].astype(np.float64), probability[rows])
        return losses

    @cached_property
    def _class_sizes(self) -> FloatArray:
        """Total weights of the negative and the positive rows."""
        positive, weight = self.labels.positive, self.weight
        if weight is not None:
            return np.bincount(positive, weight, 2).astype(np.float64)
        count = np.count_nonzero(positive)
        return np.array([len(positive) - count, count], np.float64)
