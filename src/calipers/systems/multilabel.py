"""Multilabel classifiers: systems for rows with any number of labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from calipers.caching import cached_property
from calipers.data.binary_labels import BinaryLabels
from calipers.estimation.averages import LabelAreas, average_of_scores, class_weights
from calipers.estimation.multilabel import MultilabelSample, RowValues
from calipers.lazy_dataclasses import dataclass
from calipers.measures.multilabel import row_values
from calipers.statistics import (
    ConfusionMatrix,
    FloatArray,
    LabelMatrices,
    ScoreTable,
    Statistic,
)
from calipers.statistics.base import BLOCK_ROWS, column_sums, row_blocks
from calipers.systems import base, binary
from calipers.systems.base import NAN, MeasureSample
from calipers.systems.micro_average import micro_average, pool_classes
from calipers.systems.terms import AveragedScores

if TYPE_CHECKING:
    import numpy.typing as npt

    from calipers.data.multilabel import Indicators
    from calipers.inference.clusters import ClusterIndex
    from calipers.inference.point_estimate import PointEstimate
    from calipers.inference.settings import Settings
    from calipers.inference.time_order import TimeOrder
    from calipers.measures import Measure

_SET_OUTPUT = "predicted labels, probabilities, or scores with a threshold"


@dataclass(frozen=True, eq=False)
class MultilabelOutput(base.SystemOutput):
    """Output of one multilabel classifier.

    Attributes
    ----------
    name : str
        Name of the system.
    labels : tuple of str
        Names of the labels.
    truth : array of bool of shape (n, n_labels)
        Which labels each row has.
    weight : array of shape (n,) or None
        Weight of each row.
    clusters : ClusterIndex or None
        Clusters of the rows.
    settings : Settings
        Settings of inference.
    predicted : array of bool of shape (n, n_labels), optional
        Which labels are predicted.
    score : array of shape (n, n_labels), optional
        Score of each label.
    is_probability : bool, default=False
        Whether the scores are probabilities.
    thresholds : float or dict of float, optional
        Threshold of the scores, for all labels or for each.
    measures : tuple of Measure, optional
        Requested measures.
    order : TimeOrder, optional
        Time order of the rows.
    """

    name: str
    labels: tuple[str, ...]
    truth: Indicators
    weight: FloatArray | None
    clusters: ClusterIndex | None
    settings: Settings
    predicted: Indicators | None = None
    score: FloatArray | None = None
    is_probability: bool = False
    thresholds: float | dict[str, float] | None = None
    measures: tuple[Measure, ...] = ()
    order: TimeOrder | None = None

    columns: ClassVar = ("truth", "weight", "predicted", "score")
    output_fields: ClassVar = {
        "predicted": bool, "score": float, "is_probability": None, "thresholds": None,
    }  # fmt: skip
    needs: ClassVar = {
        "sets": ("predicted", _SET_OUTPUT),
        "labels": ("predicted", _SET_OUTPUT),
        "scores": ("score", "a score or a probability for each label"),
        "probabilities": ("is_probability", "a probability for each label"),
    }

    def shared_inputs(self) -> tuple[Any, dict[str, Any]]:
        """Return the labels of each row, and the names of the labels."""
        return self.truth, {"labels": list(self.labels)}

    # --- Statistics of measures ------------------------------------------------------------------

    def label_output(self, label: str) -> binary.BinaryOutput:
        """Return one label as a binary problem."""
        return self.cached(label, lambda: self._make_label_output(label))

    def _make_label_output(self, label: str) -> binary.BinaryOutput:
        index = self.labels.index(label)

        score, predicted = (
            None if columns is None else columns[index]
            for columns in (self._score_columns, self._predicted_columns)
        )
        return binary.BinaryOutput(
            self.name,
            BinaryLabels((f"not {label}", label), self._truth_columns[index]),
            self.weight,
            self.settings,
            predicted=predicted,
            score=score,
            probability=score if self.is_probability else None,
            threshold=self.label_threshold(label),
            clusters=self.clusters,
            measures=tuple(dict.fromkeys(m.plain for m in self.measures if m.label == label)),
        )

    @cached_property
    def _truth_columns(self) -> Any:
        return _transposed(self.truth)

    @cached_property
    def _predicted_columns(self) -> Any:
        return None if self.predicted is None else _transposed(self.predicted)

    @cached_property
    def _score_columns(self) -> Any:
        return None if self.score is None else _transposed(self.score)

    def label_threshold(self, label: str) -> float | None:
        """Return the threshold of a label; scores at or above it are predicted positive."""
        if isinstance(self.thresholds, dict):
            return self.thresholds[label]
        return self.thresholds

    def binary_problem(self, measure: Measure) -> binary.BinaryOutput | None:
        """Return the binary problem of a measure of one label."""
        return None if measure.label is None else self.label_output(measure.label)

    @cached_property
    def counts(self) -> MultilabelSample:
        """Confusion counts of each label, with their resampling."""
        assert self.predicted is not None
        return MultilabelSample(
            self.truth, self.predicted, self.labels, self.weight, self.clusters, self.settings
        )

    @property
    def matrices(self) -> LabelMatrices:
        """Confusion counts of each label."""
        return self.counts.statistic

    def _pooled_output(self, measure: Measure) -> binary.BinaryOutput:
        """Return all, or the selected, labels of all rows as one binary problem."""
        picked, score = measure.picked(self.labels), self.score
        assert score is not None
        return self.cached(
            ("pooled", measure.among),
            lambda: pool_classes(self, self.truth[:, picked], score[:, picked]),
        )

    def measure_values(self, measure: Measure) -> FloatArray:
        """Return the value of each row; NaN if it is undefined."""
        if measure.definition.reads == "scores":
            return self._label_order_values(measure)[measure]
        return self.cached(measure, lambda: self._compute_values(measure))

    def _label_order_values(self, measure: Measure) -> Mapping[Measure, FloatArray]:
        """Return the values of rows of all requested measures of the order of labels."""
        requested = [
            m for m in self.measures
            if m.definition.reads == "scores" and m.definition.row_formula is not None
        ]  # fmt: skip
        measures = tuple(requested) if measure in requested else (measure,)

        def compute() -> dict[Measure, FloatArray]:
            truth: Any = self.truth
            assert self.score is not None
            return dict(zip(measures, row_values(measures, truth, self.score), strict=True))

        return self.cached(("label order", measures), compute)

    def _compute_values(self, measure: Measure) -> FloatArray:
        truth: Any = self.truth
        if measure.definition.reads == "sets":
            predicted: Any = self.predicted
            return measure.losses(truth, predicted)
        assert self.score is not None
        picked = measure.picked(self.labels)
        values = np.empty(len(self.truth))
        for rows in row_blocks(len(self.truth), len(self.labels)):
            truth, score = self.truth[rows][:, picked], self.score[rows][:, picked]
            losses = measure.losses(truth.ravel().astype(np.float64), score.ravel())
            values[rows] = losses.reshape(truth.shape).mean(axis=1)
        return values

    def sample_for(self, measure: Measure) -> MeasureSample | None:
        """Return the counts of each label, or a value per row."""
        if measure.definition.statistic is ConfusionMatrix:
            return self.counts
        if measure.definition.statistic is ScoreTable:
            return None
        design = self.weight, self.clusters, self.settings, measure.definition.range_of_two
        return RowValues(self.measure_values(measure), *design)

    def terms(self, measure: Measure) -> AveragedScores | None:
        """Return the tables of scores of the labels that are averaged."""
        if measure.definition.statistic is not ScoreTable:
            return None
        picked = measure.picked(self.labels)
        labels = tuple(name for name, used in zip(self.labels, picked, strict=True) if used)
        if measure.average == "micro":
            return AveragedScores(self, labels, [self._pooled_output(measure)], is_pooled=True)
        return AveragedScores(self, labels, [self.label_output(label) for label in labels])

    def batch_statistic(self, measure: Measure) -> Statistic | None:
        """Return the statistic that batches accumulate for a measure.

        Tables of scores are shared by all averages over the same labels.
        """
        terms = self.terms(measure) if measure.label is None else None
        if terms is None:
            return super().batch_statistic(measure)
        return self.cached(
            ("tables", terms.is_pooled, terms.labels), lambda: terms.batch_statistic(measure)
        )

    def composite_estimate(self, measure: Measure) -> PointEstimate:
        """Return the point estimate of a measure of scores, averaged over labels."""
        return self.cached(("average", measure), lambda: self._average(measure))

    def _average(self, measure: Measure) -> PointEstimate:
        """Compute a measure of scores averaged over labels.

        The micro average pools all rows and labels.
        """
        if measure.average == "micro":
            return micro_average(self, self._pooled_output(measure), measure)
        weights = class_weights(measure, self.labels, self.label_proportions)

        @cache
        def complete_terms() -> Sequence[tuple[float, PointEstimate]]:
            return [
                (weight, self.label_output(label).point_estimate(measure.plain))
                for label, weight in weights.items()
            ]

        n_rows, settings = len(self.truth), self.settings
        index_weights = {self.labels.index(label): w for label, w in weights.items()}
        # Other measures of scores, as of bins, are of other samples of these rows; and of labels
        # with the same rows the corrections are those of the sum.
        if (
            measure.definition.area is None
            or self.clusters is not None
            or not self._have_different_rows(list(index_weights))
        ):
            return average_of_scores(measure, complete_terms(), n_rows, settings)
        # The sums of a table that is not kept are of another order, so that equal halves of few
        # rows could differ by rounding.
        if n_rows <= BLOCK_ROWS:
            terms = complete_terms()
        else:
            terms = self._label_areas(measure).terms(
                measure,
                index_weights,
                complete_terms,
                settings=settings,
                n=n_rows,
                weight=self.weight,
            )
        return average_of_scores(
            measure,
            terms,
            n_rows,
            settings,
            influence=lambda: self._label_areas(measure).influence(measure, self.weight),
            complete_terms=complete_terms,
        )

    def _have_different_rows(self, indices: list[int]) -> bool:
        """Return whether the rows with a label are not the same for all of these labels."""
        return any(
            bool((self.truth[rows][:, indices] != self.truth[rows][:, indices[:1]]).any())
            for rows in row_blocks(*self.truth.shape)
        )

    def _label_areas(self, measure: Measure) -> LabelAreas:
        """Return the areas of all labels, for all requested averages of areas."""
        requested = [
            m for m in self.measures
            if m.definition.area is not None and m.average in ("macro", "weighted")
        ]  # fmt: skip
        measures = tuple(dict.fromkeys(requested)) if measure in requested else (measure,)
        return self.cached(("areas", measures), lambda: self._compute_label_areas(measures))

    def _compute_label_areas(self, measures: Sequence[Measure]) -> LabelAreas:
        label_weights = {}
        for measure in measures:
            weights = class_weights(measure, self.labels, self.label_proportions)
            label_weights[measure] = np.array([weights.get(label, 0.0) for label in self.labels])
        truth: Any = self.truth
        assert self.score is not None
        return LabelAreas.from_rows(label_weights, truth, self.score, self.weight)

    # --- The best constant prediction ------------------------------------------------------------

    @cached_property
    def label_proportions(self) -> FloatArray:
        """Proportion of rows with each label."""
        total = len(self.truth) if self.weight is None else self.weight.sum()
        return np.asarray(column_sums(self.truth, self.weight) / total)

    @cached_property
    def most_frequent_set(self) -> npt.NDArray[np.bool_]:
        """Labels of the most frequent label set."""
        return self._set_summary[0]

    @property
    def n_sets(self) -> int:
        """Number of distinct label sets of the rows."""
        return self._set_summary[1]

    @cached_property
    def _set_summary(self) -> tuple[npt.NDArray[np.bool_], int]:
        """Most frequent label set, and the number of distinct sets.

        Ties are resolved by the order of the sets. Sets are packed into integers, which sort faster
        than bytes and in the same order.
        """
        packed = np.packbits(self.truth, axis=1)
        width = packed.shape[1]
        if width > 8:
            packed_rows = np.ascontiguousarray(packed).view(f"V{width}").ravel()
            _, first, row_set_index = np.unique(packed_rows, return_index=True, return_inverse=True)
            mode_index = first[np.bincount(row_set_index.ravel(), self.weight).argmax()]
            return np.asarray(self.truth[mode_index]), len(first)
        padded = np.zeros((len(packed), 8), np.uint8)
        padded[:, 8 - width :] = packed
        codes = padded.view(">u8").ravel().astype(np.int64)
        if width <= 2:
            distinct, set_index = np.arange(1 << 8 * width), codes
        else:
            distinct, set_index = np.unique(codes.view(np.uint64), return_inverse=True)
        mode_index = int(np.bincount(set_index.ravel(), self.weight).argmax())
        bits = np.unpackbits(np.array([distinct[mode_index]], ">u8").view(np.uint8)[8 - width :])
        n_distinct = int(np.count_nonzero(np.bincount(set_index.ravel())))
        return bits[: self.truth.shape[1]].astype(bool), n_distinct

    def constant_value(self, measure: Measure) -> float:
        """Return the value of the best constant prediction, if that prediction is known."""
        d, p = measure.definition, self.label_proportions[measure.picked(self.labels)]
        if measure.label is not None:
            return super().constant_value(measure)
        if d.statistic is ScoreTable:
            return self._constant_score(measure)
        if d.constant_value is not None:
            return d.constant_value(self.truth, self.weight)
        if d.reads != "probabilities":
            return NAN
        outcome_losses = (measure.losses(np.full(len(p), y), p) for y in (1.0, 0.0))
        positive_losses, negative_losses = (
            np.nan_to_num(losses, posinf=0.0) for losses in outcome_losses
        )
        return float((p * positive_losses + (1 - p) * negative_losses).mean())

    def _constant_score(self, measure: Measure) -> float:
        if measure.average == "micro":
            return float(
                measure.plain.apply(self._pooled_output(measure).score_table.with_constant_score())
            )
        weights = class_weights(measure, self.labels, self.label_proportions)
        values = [
            weight
            * float(measure.plain.apply(self._constant_score_tables[self.labels.index(label)]))
            for label, weight in weights.items()
        ]
        return sum(values) if values else NAN

    @cached_property
    def _constant_score_tables(self) -> list[ScoreTable]:
        """Table of each label in which every row has the same score."""
        classes = self.truth, ~self.truth
        totals = squares = [column_sums(rows, self.weight)[:, None] for rows in classes]
        if self.weight is not None:
            squared_weight = np.square(self.weight)
            squares = [column_sums(rows, squared_weight)[:, None] for rows in classes]
        return [
            ScoreTable(
                np.zeros(1), positive, negative, positive_squares, negative_squares, len(self.truth)
            )
            for positive, negative, positive_squares, negative_squares in zip(
                *totals, *squares, strict=True
            )
        ]


def _transposed(table: Any) -> Any:
    """Return a table with a contiguous row for each column, copied in blocks that fit in caches."""
    out = np.empty(table.shape[::-1], table.dtype)
    for rows in row_blocks(*table.shape):
        out[:, rows] = table[rows].T
    return out
