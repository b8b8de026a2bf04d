"""Binary classification, evaluated by labels, scores or probabilities."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np

from calipers.curves.score_curves import ScoreCurves
from calipers.data.arrays import check_length, to_numbers
from calipers.data.binary_labels import (
    BinaryLabels,
    encode_binary,
    encode_predictions,
    positive_probability,
)
from calipers.data.class_labels import encode_labels, find_label, label_index, label_name
from calipers.data.errors import InputError, format_names, format_value
from calipers.data.frequency_weights import RowRepeats
from calipers.evaluation.arguments import check_finite
from calipers.evaluation.estimates import to_estimate
from calipers.evaluation.finding_inputs import from_binary
from calipers.evaluation.problems.classification import ClassificationProblem
from calipers.evaluation.score_curves import label_points, stream_curves
from calipers.evaluation.shared import (
    column_name,
    has_defaults,
    named_class_systems,
    named_systems,
    select_measures,
    undefined_conventions,
    unwrap_unnamed,
)
from calipers.evaluation.slices import threshold_note
from calipers.lazy_dataclasses import dataclass
from calipers.statistics import ConfusionMatrix, FloatArray, ScoreTable
from calipers.systems.binary import BinaryOutput
from calipers.systems.thresholds import NoThresholdError, ThresholdRule

if TYPE_CHECKING:
    from calipers.curves.score_data import ScoreData
    from calipers.data.class_labels import EncodedLabels
    from calipers.evaluation.batch import Batch
    from calipers.evaluation.options import Options
    from calipers.evaluation.sample import EvaluationResults, Sample
    from calipers.evaluation.stream_columns import StreamColumns
    from calipers.inference.settings import Settings
    from calipers.measures import Measure
    from calipers.results import Estimate, Finding


COUNT_MEASURES = (
    "accuracy",
    "balanced-accuracy",
    "precision",
    "recall",
    "specificity",
    "NPV",
    "LR+",
    "LR-",
    "F1",
    "MCC",
)
SCORE_MEASURES = ("AUC", "PR-AUC", "AP")
PROBABILITY_MEASURES = ("log-loss", "Brier")
CALIBRATION_MEASURES = ("calibration-slope", "calibration-intercept")

#: Default measures, by the input that they read.
_DEFAULT_MEASURES = (
    ("scores", SCORE_MEASURES),
    ("probabilities", PROBABILITY_MEASURES),
    ("probabilities", CALIBRATION_MEASURES),
    ("labels", COUNT_MEASURES),
)


def default_measures(systems: Mapping[str, BinaryOutput]) -> list[str]:
    """Return the default measures that all systems serve."""
    has_certain = any(system.has_certain_probability for system in systems.values())
    return [
        name
        for reads, names in _DEFAULT_MEASURES
        for name in names
        if all(system.supports(reads) for system in systems.values())
        and not (names == CALIBRATION_MEASURES and has_certain)
    ]


def omission_notes(certain_names: Sequence[str]) -> tuple[str, ...]:
    """Return a note on why recalibration is not among the default measures, if it is not.

    ``certain_names`` are the names of the systems with probabilities of 0 or 1.
    """
    if not certain_names:
        return ()
    listed_names = ", ".join(certain_names[:5]) + (", …" if len(certain_names) > 5 else "")
    note = (
        "Calibration slope and intercept are not shown: some probabilities are 0 or 1 "
        f"({listed_names}), which have no logit; 'calibration-slope(delta=1e-6)' clips them."
    )
    return (note,)


#: A number, a rule, or either for each system.
Threshold: TypeAlias = (
    "float | str | ThresholdRule | Mapping[str, float | str | ThresholdRule] | None"
)

#: What has its best value at the threshold of the best accuracy.
_ACCURACY_MEASURES = ("accuracy", "error-rate")

BINARY_ONLY_MESSAGE = (
    "positive= and threshold= apply to two classes: name a positive class and leave out labels= "
    "(or name two there), or leave out both"
)


def make_binary_systems(
    make_system: Callable[[str], BinaryOutput],
    labels: BinaryLabels,
    predicted: Any,
    score: Any,
    probability: Any,
    threshold: Threshold,
    repeats: RowRepeats,
) -> dict[str, BinaryOutput]:
    """Build the systems by name, with every column checked."""
    if predicted is None and score is None and probability is None:
        raise InputError("nothing to evaluate: give predicted=, score= or probability=")
    if threshold is not None and score is None and probability is None:
        raise InputError("threshold= requires scores or probabilities, and there are none")
    systems: dict[str, BinaryOutput] = {}
    rows = len(labels.positive)

    def update(name: str, **columns: Any) -> None:
        systems[name] = replace(systems.get(name, make_system(name)), **columns)

    for kind, outputs in (("score", score), ("probability", probability)):
        if outputs is None:
            continue
        for name, values in _named_outputs(outputs, kind, labels.classes).items():
            display_name = column_name(kind, name)
            if kind == "probability":
                column = positive_probability(values, labels, display_name)
            else:
                column = to_numbers(values, display_name)
            check_length(column, rows, column_name(kind, name))
            if name in systems:
                raise InputError(f"{name}: give its scores or its probabilities, not both")
            column = repeats(column)
            system_threshold = _resolve_threshold(
                threshold, name, 0.5 if kind == "probability" else None
            )
            probability_column = np.asarray(column, np.float64) if kind == "probability" else None
            update(name, score=column, probability=probability_column)
            if isinstance(system_threshold, ThresholdRule):
                systems[name] = _tune_threshold(systems[name], system_threshold, display_name)
            elif system_threshold is not None:
                update(name, threshold=system_threshold, predicted=column >= system_threshold)
    if predicted is not None:
        for name, values in named_systems(predicted, "predicted").items():
            predicted_labels = repeats(
                encode_predictions(values, labels, column_name("predicted", name))
            )
            update(name, predicted=predicted_labels, threshold=None, rule=None)
    _check_thresholds(threshold, systems)
    return systems


def _named_outputs(outputs: Any, kind: str, classes: Sequence[str]) -> dict[str, Any]:
    """Return systems by name; only probabilities may have a column for each class."""
    return (
        named_class_systems(outputs, kind, classes)
        if kind == "probability"
        else named_systems(outputs, kind)
    )


def _tune_threshold(system: BinaryOutput, rule: ThresholdRule, display_name: str) -> BinaryOutput:
    """Return the system at the threshold that a rule chooses on its own rows."""
    assert system.score is not None
    table = ScoreTable.from_rows(system.labels.positive, system.score, system.weight)
    threshold = float(rule.threshold(table))
    if np.isnan(threshold):
        raise NoThresholdError(f"{display_name}: no threshold satisfies the rule {rule}")
    return replace(system, threshold=threshold, rule=rule, predicted=system.score >= threshold)


def select_unthresholded(
    systems: Mapping[str, BinaryOutput], measures: Sequence[Measure]
) -> tuple[list[BinaryOutput], list[Measure]]:
    """Return the systems with scores but no threshold, and the requested accuracies.

    If accuracy or error rate is requested, it is computed at the best threshold for these systems.
    Any other measure of counts raises an error, as it has no threshold of its own.
    """
    label_measures = [m for m in measures if m.definition.reads == "labels"]
    accuracies = [
        m for m in label_measures if m.definition.name in _ACCURACY_MEASURES and not m.has_view
    ]
    unthresholded = [s for s in systems.values() if s.predicted is None and s.score is not None]
    if not (accuracies and unthresholded):
        return [], []
    for measure in label_measures:
        if measure not in accuracies:
            unthresholded[0].check_measure(measure)
    return unthresholded, accuracies


def tune_for_accuracy(
    systems: Mapping[str, BinaryOutput], measures: Sequence[Measure]
) -> tuple[dict[str, BinaryOutput], tuple[str, ...]]:
    """Return the systems with missing thresholds set to that of the best accuracy, and a note.

    These are the systems of :func:`select_unthresholded`.
    """
    unthresholded, accuracies = select_unthresholded(systems, measures)
    if not unthresholded:
        return dict(systems), ()
    rule = ThresholdRule.parse("accuracy")
    tuned = {s.name: _tune_threshold(s, rule, column_name("score", s.name)) for s in unthresholded}
    measure_names = " and ".join(measure.display_name for measure in accuracies)
    suffix = "" if len(systems) == 1 else f" of {format_names(list(tuned))}"
    note = (
        f"No threshold was given, so {measure_names}{suffix} "
        f"{'is' if len(accuracies) == 1 else 'are'} at the threshold of the best accuracy on these "
        "same rows, which is optimistic for other rows; threshold= takes one that was chosen "
        "before."
    )
    return {**systems, **tuned}, (note,)


def _resolve_threshold(
    threshold: Threshold, name: str, default: float | None
) -> float | ThresholdRule | None:
    value: Any = threshold.get(name, default) if isinstance(threshold, Mapping) else threshold
    if value is None:
        return default
    if isinstance(value, str):
        return ThresholdRule.parse(value)
    if isinstance(value, ThresholdRule):
        return value
    return check_finite(value, "threshold", "a finite number or a rule")


def _check_thresholds(threshold: Any, systems: Mapping[str, BinaryOutput]) -> None:
    unknown = sorted(set(threshold) - set(systems)) if isinstance(threshold, Mapping) else []
    if unknown:
        raise InputError(
            f"threshold for {unknown[0]!r}, which is not a system; expected {', '.join(systems)}"
        )


@dataclass(frozen=True, eq=False)
class BinaryProblem(ClassificationProblem):
    """Classification into a positive and a negative class.

    ``names`` are the negative and the positive class. ``is_positive_by_class`` states for each
    class whether it is the positive one; several classes may form the negative one.
    """

    kind: ClassVar[str] = "two classes"

    names: tuple[str, str]
    is_positive_by_class: Mapping[str, bool]
    threshold: Threshold = None
    is_stated: bool = False
    undefined: str = "nan"

    @classmethod
    def from_columns(
        cls,
        truth: EncodedLabels,
        positive: Any,
        labels: Sequence[Any] | None,
        threshold: Threshold,
        undefined: str,
        predicted: Any = None,
    ) -> BinaryProblem:
        """Build the problem from the labels that occur or are named.

        If only one label occurs in the truth, the predicted labels are used as well.
        """
        predicted_classes = (
            _predicted_classes(predicted) if labels is None and len(truth.labels) == 1 else ()
        )
        encoded = encode_binary(
            truth, positive, predicted_classes=predicted_classes, class_pair=labels
        )
        is_positive_by_class = {name: name == encoded.names[1] for name in encoded.classes}
        return cls(encoded.names, is_positive_by_class, threshold, labels is not None, undefined)

    @property
    def other_classes(self) -> tuple[str, ...]:
        """Classes that are collapsed into the negative class, if there are more than two."""
        negative = tuple(
            name for name, is_positive in self.is_positive_by_class.items() if not is_positive
        )
        return negative if self.names[0] not in negative else ()

    def encode_truth(self, truth: Any) -> BinaryLabels:
        """Return the binary labels of a column of truth."""
        column = encode_labels(truth, "truth")
        index_by_label, positive_flags = (
            label_index(self.is_positive_by_class),
            list(self.is_positive_by_class.values()),
        )
        is_positive = np.zeros(len(column.labels), bool)
        for code, name in enumerate(column.names):
            index = find_label(index_by_label, name)
            if index is None:
                row = int(np.argmax(column.codes == code))
                raise InputError(
                    f"truth: has the class {format_value(column.labels[code])} in row {row}, "
                    "expected " + " or ".join(self.is_positive_by_class)
                )
            is_positive[code] = positive_flags[index]
        return self._make_labels(is_positive[column.codes])

    def _make_labels(self, positive: Any) -> BinaryLabels:
        return BinaryLabels(
            self.names, positive, self.other_classes, tuple(self.is_positive_by_class)
        )

    def systems(self, batch: Batch, settings: Settings) -> dict[str, BinaryOutput]:
        """Return the systems on a batch of rows."""
        labels, repeats = self.encode_truth(batch["truth"]), batch.frequencies
        rows = replace(labels, positive=repeats(labels.positive))
        make_system = partial(
            BinaryOutput,
            labels=rows,
            weight=batch.weights,
            settings=settings,
            clusters=batch.clusters,
        )
        outputs = batch["predicted"], batch["score"], batch["probability"]
        return make_binary_systems(make_system, labels, *outputs, self.threshold, repeats)

    def named_outputs(self, outputs: Any, kind: str) -> dict[str, Any]:
        """Return predictions of one kind, or the names of their columns, by system."""
        return _named_outputs(outputs, kind, tuple(self.is_positive_by_class))

    def statistic(self, system: BinaryOutput, kind: type) -> Any:
        """Return the confusion matrix or the table of scores of a system."""
        if kind is ConfusionMatrix and system.predicted is not None:
            return system.counts.matrix
        return system.score_table if kind is ScoreTable and system.score is not None else None

    # --- Measures --------------------------------------------------------------------------------

    def default_measures(self, systems: Mapping[str, BinaryOutput]) -> Sequence[str]:
        """Return the default measures that all systems serve."""
        return default_measures(systems)

    def prepare(
        self, systems: Mapping[str, BinaryOutput], measures: Sequence[Measure]
    ) -> tuple[dict[str, BinaryOutput], Sequence[str]]:
        """Return the systems, at the threshold of the best accuracy if they need one."""
        return tune_for_accuracy(systems, measures)

    # --- What an evaluation has in addition to estimates ------------------------------------------

    def shown_measures(
        self, sample: Sample, options: Options
    ) -> tuple[Sequence[Measure], Sequence[str]]:
        """Return the measures, without recalibration by default if probabilities are 0 or 1."""
        if sample.in_memory_systems is not None:
            systems = sample.in_memory_systems.items()
            certain = [
                n
                for n, s in systems
                if s.has_certain_probability and has_defaults(options.measures)
            ]
            return sample.measures, omission_notes(certain)
        optional = sample.optional_measures
        certain = [
            name
            for name in sample.systems
            if any(
                "certain_probability" in sample.point_estimate(name, m).undefined for m in optional
            )
        ]
        if not certain:
            return sample.measures, ()
        if has_defaults(options.measures):  # in the order of memory
            remaining = self._without_recalibration(sample.template_systems, options)
        else:  # those of states
            remaining = [measure for measure in sample.measures if measure not in optional]
        return remaining, omission_notes(certain)

    def optional_measures(
        self, systems: Mapping[str, BinaryOutput], options: Options
    ) -> Sequence[Measure]:
        """Return the measures of recalibration that are requested by default only."""
        if not has_defaults(options.measures):
            return ()
        remaining = self._without_recalibration(systems, options)
        return [m for m in self.measures(systems, options) if m not in remaining]

    def _without_recalibration(
        self, systems: Mapping[str, BinaryOutput], options: Options
    ) -> Sequence[Measure]:
        """Return the measures, without those of recalibration that are requested by default."""
        names = [
            name for name in self.default_measures(systems) if name not in CALIBRATION_MEASURES
        ]
        return select_measures(
            options.measures,
            names,
            self.task,
            undefined=options.undefined,
            has_stated_classes=self.is_stated,
        )

    def leading(self, sample: Sample) -> Sequence[Estimate]:
        """Return the thresholds that a rule chose on the rows, as estimates."""
        systems = (sample.in_memory_systems or {}).values()
        chosen_thresholds = [
            (s.chosen_threshold, s.n_rows) for s in systems if s.chosen_threshold is not None
        ]
        return [
            to_estimate(c.point_estimate(rows), "threshold", c.system)
            for c, rows in chosen_thresholds
        ]

    def conventions(self, sample: Sample) -> Mapping[str, Any]:
        """Return the positive class, the thresholds, and undefined values."""
        systems = sample.template_systems.items()
        return {
            "positive": self.names[1],
            "negative": self.names[0],
            "threshold": {n: s.threshold for n, s in systems if s.threshold is not None},
            "at_the_threshold": "positive",
            **undefined_conventions(self.undefined),
        }

    def notes(self, sample: Sample, options: Options) -> Sequence[str]:
        """Return notes on collapsed classes, and on rows of only one class."""
        if sample.in_memory_systems:
            positive = next(iter(sample.in_memory_systems.values())).labels.positive
            has_class = not positive.all(), positive.any()
        else:
            streamed: Any = sample
            has_class = tuple(weight > 0 for weight in streamed.passes.first_pass_result.auxiliary)
        if all(has_class):
            return _collapse_note(self.names[1], self.other_classes)
        present_class, absent_class = self.names[:: -1 if has_class[1] else 1]
        reason = f"All rows are of class {present_class}, none of {absent_class}"
        return (f"{reason}: measures that need both are undefined.",)

    def slice_notes(self, sample: Sample) -> Sequence[str]:
        """Return notes that a threshold chosen on all rows is not tuned for each slice."""
        tuned = (s.chosen_threshold for s in (sample.in_memory_systems or {}).values())
        return [threshold_note(c.system, c.threshold, c.rule) for c in tuned if c is not None]

    def findings(self, sample: Sample, results: EvaluationResults) -> tuple[Finding, ...]:
        """Return the findings of binary classifiers."""
        return from_binary(sample, results)

    def details(self, sample: Sample, options: Options) -> Mapping[str, Any]:
        """Return confusion matrices, and curves of scores."""
        return {
            "confusions": self.confusions(sample),
            "curves": self._curves(sample) if options.curves else (),
        }

    def _curves(self, sample: Sample) -> ScoreCurves | tuple[()]:
        if not sample.in_memory_systems:
            return stream_curves(sample)
        systems = tuple(sample.in_memory_systems.values())
        label_only_systems = [(s, (None,)) for s in systems if s.score is None]
        return ScoreCurves(partial(_score_data, systems), label_points(label_only_systems))

    # --- Streams ---------------------------------------------------------------------------------

    def template(
        self, columns: StreamColumns, settings: Settings, sizes: FloatArray | None = None
    ) -> dict[str, BinaryOutput]:
        """Return systems on one row of each class."""
        thresholds = (
            self.threshold.values() if isinstance(self.threshold, Mapping) else [self.threshold]
        )
        if any(isinstance(cut, str | ThresholdRule) for cut in thresholds):
            raise InputError(
                "threshold: a rule chooses it among all rows, which requires engine='memory'; a "
                "stream takes a number"
            )
        output_columns, values = columns.output_columns, np.array([0.25, 0.75])
        labels = self._make_labels(np.array([False, True]))
        weight = np.ones(2) if sizes is None else sizes
        make_system = partial(BinaryOutput, labels=labels, weight=weight, settings=settings)
        index_by_label, positive = (
            label_index(self.is_positive_by_class),
            list(self.is_positive_by_class.values()),
        )

        def fill(names: str | Mapping[str, str], kind: str) -> Any:
            """Return the column of the positive class, or a column for each class."""
            if isinstance(names, str) or kind == "score":
                return values
            indices = {name: find_label(index_by_label, label_name(name)) for name in names}
            return {
                name: values
                if index is not None and positive[index]
                else (1 - values) / max(len(names) - 1, 1)
                for name, index in indices.items()
            }

        outputs = {
            kind: unwrap_unnamed({name: fill(names, kind) for name, names in by_system.items()})
            for kind, by_system in output_columns.items()
            if kind != "predicted"
        }
        negative = next(
            (n for n, is_positive in self.is_positive_by_class.items() if not is_positive),
            self.names[0],
        )
        predicted = {
            n: [negative, self.names[1]] for n in output_columns.get("predicted", ())
        } or None
        return make_binary_systems(
            make_system,
            labels,
            predicted,
            outputs.get("score"),
            outputs.get("probability"),
            self.threshold,
            RowRepeats(2),
        )

    def check_stream(
        self, systems: Mapping[str, BinaryOutput], measures: Sequence[Measure]
    ) -> None:
        """Check that the systems serve the measures without a threshold chosen on all rows."""
        unthresholded, accuracies = select_unthresholded(systems, measures)
        if unthresholded:
            raise InputError(
                f"{accuracies[0]} of scores without a threshold is at the best one, which is "
                "chosen among all rows and requires engine='memory'; a stream takes a number as "
                "threshold=, and has max-accuracy"
            )
        super().check_stream(systems, measures)

    @staticmethod
    def summary(systems: Mapping[str, BinaryOutput]) -> FloatArray:
        """Return the weight of the negatives and of the positives."""
        system = next(iter(systems.values()))
        return np.bincount(system.labels.positive, system.weight, 2).astype(np.float64)

    @property
    def plan(self) -> dict[str, Any]:
        """Classes, threshold and conventions of the problem."""
        return {
            "classes": self.names,
            "known": dict(self.is_positive_by_class),
            "threshold": self.threshold,
            "undefined": self.undefined,
            "stated": self.is_stated,
        }


def _predicted_classes(predicted: Any) -> list[str]:
    """Return the classes that systems predict."""
    if predicted is None:
        return []
    return [
        name
        for system, column in named_systems(predicted, "predicted").items()
        for name in encode_labels(column, column_name("predicted", system)).names
    ]


def _collapse_note(positive: str, others: tuple[str, ...]) -> tuple[str, ...]:
    """Return a note that several classes were collapsed into the negative one."""
    if not others:
        return ()
    listed_names = ", ".join(others[:5]) + (", …" if len(others) > 5 else "")
    return (f"{positive} is evaluated against all other classes: {listed_names}.",)


def _score_data(systems: Sequence[BinaryOutput]) -> list[ScoreData]:
    from calipers.curves.score_data import make_score_data

    return [make_score_data(s) for s in systems if s.score is not None]
