"""Multiclass classification, evaluated by labels, scores or probabilities."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from calipers.curves.score_curves import ScoreCurves, series_name
from calipers.curves.score_data import ScoreData, make_score_data
from calipers.data.class_labels import (
    ClassLabels,
    check_predicted,
    encode_classes,
    encode_labels,
    find_label,
    label_index,
    label_name,
)
from calipers.data.class_probabilities import (
    check_columns,
    probability_columns,
    probability_matrix,
)
from calipers.data.errors import InputError
from calipers.data.frequency_weights import RowRepeats
from calipers.evaluation.finding_inputs import from_multiclass
from calipers.evaluation.per_class import MAX_TABLE_CLASSES, LazyClassTables
from calipers.evaluation.problems.classification import ClassificationProblem
from calipers.evaluation.score_curves import label_points, stream_curves
from calipers.evaluation.shared import (
    class_order_notes,
    column_name,
    named_class_systems,
    named_systems,
    undefined_conventions,
    unwrap_unnamed,
)
from calipers.lazy_dataclasses import dataclass
from calipers.statistics import ClassScoreRows, ConfusionMatrix
from calipers.systems.multiclass import MulticlassOutput, MulticlassRows, absent_class_notes

if TYPE_CHECKING:
    from calipers.data.class_labels import EncodedLabels
    from calipers.evaluation.batch import Batch
    from calipers.evaluation.options import Options
    from calipers.evaluation.sample import EvaluationResults, Sample
    from calipers.evaluation.stream_columns import StreamColumns
    from calipers.inference.settings import Settings
    from calipers.results import Finding
    from calipers.statistics import FloatArray

COUNT_MEASURES = ("accuracy", "balanced-accuracy", "macro-F1", "weighted-F1", "MCC", "kappa")
PROBABILITY_MEASURES = ("log-loss", "Brier")
RANK_MEASURES = ("top-5-accuracy",)

#: With more classes than this, top-5 measures are shown as well.
MAX_CLASSES_WITHOUT_RANKS = 10


@dataclass(frozen=True, eq=False)
class MulticlassProblem(ClassificationProblem):
    """Classification into K classes.

    ``has_ordered_classes`` states whether the order of the classes was given, ``is_stated`` whether
    the user named the classes.
    """

    kind: ClassVar[str] = "several classes"

    names: tuple[str, ...]
    has_ordered_classes: bool = False
    is_stated: bool = False
    undefined: str = "nan"

    @classmethod
    def from_columns(
        cls,
        truth: EncodedLabels,
        predicted: Any,
        score: Any,
        probability: Any,
        labels: Sequence[Any] | None,
        undefined: str,
        *,
        ordered: bool,
    ) -> MulticlassProblem:
        """Build the problem from the named classes, or from all classes that occur anywhere."""
        predictions = encode_predictions(predicted)
        for name, column in predictions.items():
            check_predicted(column, truth.names, column_name("predicted", name))
        if labels is not None:
            return cls(
                encode_classes(truth, labels).names, ordered, is_stated=True, undefined=undefined
            )
        class_names = [
            name
            for kind, outputs in (("score", score), ("probability", probability))
            for table in _tables_by_system(outputs, kind).values()
            for name in probability_columns(table)
        ]
        predicted_labels = {
            column_name("predicted", name): values for name, values in predictions.items()
        }
        classes = encode_classes(
            truth, other_columns=predicted_labels, extra_names=dict.fromkeys(class_names)
        )
        return cls(classes.names, ordered, undefined=undefined)

    def systems(self, batch: Batch, settings: Settings) -> dict[str, MulticlassOutput]:
        """Return the systems on a batch of rows."""
        classes, repeats = encode_classes(batch["truth"], self.names), batch.frequencies
        rows = replace(classes, codes=repeats(classes.codes))
        class_rows = MulticlassRows(rows, batch.weights, batch.clusters, settings)
        outputs = encode_predictions(batch["predicted"]), batch["score"], batch["probability"]
        return _make_systems(class_rows, classes, *outputs, repeats)

    def statistic(self, system: MulticlassOutput, kind: type) -> Any:
        """Return the confusion matrix of a system, if that is the requested statistic."""
        has_counts = kind is ConfusionMatrix and system.predicted is not None
        return system.counts.matrix if has_counts else None

    def default_measures(self, systems: Mapping[str, MulticlassOutput]) -> Sequence[str]:
        """Return the default measures that all systems serve."""
        has_many_classes = len(self.names) > MAX_CLASSES_WITHOUT_RANKS
        defaults = (
            ("labels", COUNT_MEASURES),
            ("ranks", RANK_MEASURES if has_many_classes else ()),
            ("probabilities", PROBABILITY_MEASURES),
        )
        return [
            name
            for reads, names in defaults
            for name in names
            if all(system.supports(reads) for system in systems.values())
        ]

    # --- What an evaluation has in addition to estimates ------------------------------------------

    def conventions(self, sample: Sample) -> Mapping[str, Any]:
        """Return the classes, the rule for ties of the highest score, and undefined values."""
        return {
            "classes": list(self.names),
            "several_highest": "the first class",
            **undefined_conventions(self.undefined),
        }

    def notes(self, sample: Sample, options: Options) -> Sequence[str]:
        """Return notes on the classes and their order."""
        includes_absent = self.is_stated and self.undefined in ("zero", "one")
        absent = absent_class_notes(
            self.names, self._class_sizes(sample), includes_absent=includes_absent
        )
        order = class_order_notes(sample.measures, self.names, stated=self.has_ordered_classes)
        return (*absent, *order)

    def findings(self, sample: Sample, results: EvaluationResults) -> tuple[Finding, ...]:
        """Return the findings of multiclass classifiers."""
        return from_multiclass(sample, results)

    def details(self, sample: Sample, options: Options) -> Mapping[str, Any]:
        """Return confusion matrices, tables of classes, and curves of scores."""
        sizes = partial(self._class_sizes, sample)
        has_few_classes = len(self.names) <= MAX_TABLE_CLASSES
        curves: Any = ()
        if options.curves and sample.in_memory_systems:
            curves = _curves(list(sample.in_memory_systems.values()))
        elif options.curves:
            curves = stream_curves(sample, self.names, sizes() / sizes().sum())
        return {
            "confusions": self.confusions(sample),
            "label_tables": LazyClassTables(
                sample, self.names, sizes, partial(_class_counts, sample)
            )
            if has_few_classes
            else (),
            "curves": curves,
        }

    def _class_sizes(self, sample: Any) -> FloatArray:
        """Return the weight of the rows of each class."""
        sizes = (
            sample.first_system.class_rows.class_sizes
            if sample.in_memory_systems
            else sample.passes.first_pass_result.auxiliary / sample.passes.common_weight
        )
        return np.asarray(sizes)

    # --- Streams ---------------------------------------------------------------------------------

    @staticmethod
    def named_outputs(outputs: Any, kind: str) -> dict[str, Any]:
        """Return predictions of one kind, or the names of their columns, by system."""
        return (
            named_systems(outputs, kind)
            if kind == "predicted"
            else _tables_by_system(outputs, kind)
        )

    def template(
        self, columns: StreamColumns, settings: Settings, sizes: FloatArray | None = None
    ) -> dict[str, MulticlassOutput]:
        """Return systems on one row of each class."""
        k = len(self.names)
        classes = ClassLabels(self.names, np.arange(k))
        class_rows = MulticlassRows(classes, np.ones(k) if sizes is None else sizes, None, settings)
        index_by_label, indicators = label_index(self.names), np.eye(k)

        def fill(names: str | Mapping[str, str]) -> Any:
            """Return columns in place of their names, so that those are checked as in memory."""
            if isinstance(names, str):
                return np.zeros(k)
            if not self.is_stated:  # without rows, columns of other names are classes as well
                return indicators
            indices = {name: find_label(index_by_label, label_name(name)) for name in names}
            return {n: np.zeros(k) if i is None else indicators[i] for n, i in indices.items()}

        outputs: dict[str, Any] = {
            kind: unwrap_unnamed({name: fill(names) for name, names in by_system.items()})
            for kind, by_system in columns.output_columns.items()
        }
        names = columns.output_columns.get("predicted", ())
        predicted = {name: encode_labels(list(self.names), "predicted") for name in names}
        return _make_systems(
            class_rows,
            classes,
            predicted,
            outputs.get("score"),
            outputs.get("probability"),
            RowRepeats(k),
        )

    @staticmethod
    def summary(systems: Mapping[str, MulticlassOutput]) -> FloatArray:
        """Return the weight of the rows of each class."""
        return next(iter(systems.values())).class_rows.class_sizes

    @property
    def plan(self) -> dict[str, Any]:
        """Parameters of the problem: its classes and conventions."""
        return {
            "classes": self.names,
            "undefined": self.undefined,
            "stated": self.is_stated,
            "ordered": self.has_ordered_classes,
        }


def encode_predictions(predicted: Any) -> dict[str, EncodedLabels]:
    """Return the predicted classes of systems by name, encoded."""
    columns = {} if predicted is None else named_systems(predicted, "predicted")
    return {
        name: encode_labels(column, column_name("predicted", name))
        for name, column in columns.items()
    }


def _class_counts(sample: Sample, name: str) -> FloatArray | None:
    """Return the 2 × 2 counts of each class against all others."""
    matrix: ConfusionMatrix | None = sample.statistic(name, ConfusionMatrix)
    return None if matrix is None else matrix.one_vs_rest().counts


def _curves(systems: Iterable[MulticlassOutput]) -> ScoreCurves:
    """Return the one-vs-rest curves, and the points of systems that predict only labels."""
    system_outputs = tuple(systems)
    problem = system_outputs[0].class_rows
    proportions = dict(
        zip(map(series_name, problem.names), map(float, problem.class_proportions), strict=True)
    )
    label_only_systems = (
        (system, problem.names) for system in system_outputs if system.score is None
    )
    return ScoreCurves(
        partial(_score_data, system_outputs), label_points(label_only_systems), proportions
    )


def _score_data(systems: Sequence[MulticlassOutput]) -> list[ScoreData]:
    return [
        replace(
            make_score_data(system.one_vs_rest(label)),
            series=series_name(label),
            proportion=float(proportion),
        )
        for system in systems
        if system.score is not None
        for label, proportion in zip(
            system.class_rows.names, system.class_rows.class_proportions, strict=True
        )
    ]


def _tables_by_system(outputs: Any, kind: str) -> dict[str, Any]:
    """Return systems by name, each with one column per class.

    A dict of plain columns is one system.
    """
    return {} if outputs is None else named_class_systems(outputs, kind)


def _make_systems(
    class_rows: MulticlassRows,
    classes: ClassLabels,
    predicted: Mapping[str, EncodedLabels],
    score: Any,
    probability: Any,
    repeats: RowRepeats,
) -> dict[str, MulticlassOutput]:
    """Build the systems by name, with every column checked."""
    if not predicted and score is None and probability is None:
        raise InputError("nothing to evaluate: give predicted=, probability= or score=")
    systems: dict[str, MulticlassOutput] = {}
    for kind, outputs in (("score", score), ("probability", probability)):
        for name, table in _tables_by_system(outputs, kind).items():
            if name in systems:
                raise InputError(f"{name}: give its scores or its probabilities, not both")
            display_name = column_name(kind, name)
            check_columns(table, classes, display_name)
            rows = ClassScoreRows(
                *map(
                    repeats,
                    probability_matrix(
                        table, classes, display_name, distribution=kind == "probability"
                    ),
                )
            )
            systems[name] = MulticlassOutput(
                name,
                class_rows,
                predicted=None if name in predicted else rows.top_class,
                class_scores=rows,
                is_probability=kind == "probability",
            )
    for name, column in predicted.items():
        predicted_codes = repeats(classes.encode(column, column_name("predicted", name)))
        system = systems.get(name, MulticlassOutput(name, class_rows))
        systems[name] = replace(system, predicted=predicted_codes)
    return systems
