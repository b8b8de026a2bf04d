"""Multilabel classification, in which each row may have several labels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from calipers.caching import cached
from calipers.curves.score_curves import ScoreCurves, series_name
from calipers.curves.score_data import ScoreData, make_score_data
from calipers.data.arrays import check_length, column_names, take_rows
from calipers.data.errors import InputError, did_you_mean, format_value, row_numbers
from calipers.data.frequency_weights import RowRepeats
from calipers.data.multilabel import (
    LabelMatrix,
    LabelRows,
    check_forms,
    is_label_columns,
    label_names,
    labeled_rows_mask,
    read_label_rows,
    to_indicators,
    to_scores,
)
from calipers.evaluation.arguments import check_finite
from calipers.evaluation.finding_inputs import from_multilabel
from calipers.evaluation.per_class import LazyClassTables
from calipers.evaluation.sample import Problem
from calipers.evaluation.score_curves import label_points, stream_curves
from calipers.evaluation.shared import (
    check_undefined,
    column_name,
    expand_defaults,
    named_systems,
    undefined_conventions,
)
from calipers.evaluation.stream_labels import find_stream_labels, indicator_columns
from calipers.evaluation.visible_rows import row_sample_notes
from calipers.lazy_dataclasses import dataclass
from calipers.measures import Measure, parse
from calipers.measures.averages import PAIRWISE_AVERAGES
from calipers.measures.multilabel import modal_set_accuracy
from calipers.measures.name_parsing import deduplicate
from calipers.results.estimate import DEFAULT_SYSTEM_NAME
from calipers.statistics import ClassRanks, ConfusionMatrix, LabelMatrices, LabelSets, Moments
from calipers.systems.base import check_named_classes
from calipers.systems.multilabel import MultilabelOutput

if TYPE_CHECKING:
    import numpy.typing as npt

    from calipers.data.multilabel import Indicators
    from calipers.evaluation.batch import Batch
    from calipers.evaluation.options import Options
    from calipers.evaluation.problems.labeled_rows import HumanTruth
    from calipers.evaluation.sample import EvaluationResults, Sample
    from calipers.evaluation.stream_columns import StreamColumns
    from calipers.inference.settings import Settings
    from calipers.results import Finding
    from calipers.statistics import FloatArray

SET_MEASURES = (
    "subset-accuracy",
    "Hamming-loss",
    "example-F1",
    "example-Jaccard",
    "macro-F1",
    "micro-F1",
    "weighted-F1",
)
SCORE_MEASURES = ("macro-AUC", "macro-AP", "LRAP", "coverage-error", "ranking-loss")
PROBABILITY_MEASURES = ("macro-log-loss", "macro-Brier")

FAMILIES = ("multilabel", "label-ranks", "counts", "scores", "probabilities", "calibration")

#: Maximum number of labels with curves.
MAX_CURVE_LABELS = 20

#: A number, one for each label (by name or in their order), or either for each system.
Threshold = float | Sequence[float] | Mapping[str, Any] | None


@dataclass(frozen=True, eq=False)
class MultilabelProblem(Problem):
    """Prediction of the set of labels of each row."""

    task = "multilabel"

    kind: ClassVar[str] = "several labels"

    names: tuple[str, ...]
    separator: str | None = None
    threshold: Threshold = None
    undefined: str = "nan"
    #: Of a stream the columns whose cells hold 0 and 1 for each label; None of rows in memory, of
    #: which each column tells that itself.
    indicator_columns: tuple[str, ...] | None = None

    @classmethod
    def read(
        cls,
        columns: Mapping[str, Any],
        labels: Sequence[Any] | None,
        separator: str | None,
        threshold: Threshold,
        undefined: str,
    ) -> tuple[MultilabelProblem, dict[str, Any]]:
        """Build the problem from the named labels, or all that occur, and parse the columns."""
        truth = read_label_rows(columns["truth"], "truth", separator)
        roles = ("predicted", "score", "probability")
        read = partial(read_label_rows, separator=separator)
        outputs = _outputs_by_key(read, **{kind: columns[kind] for kind in roles})
        by_people = _read_people(read, columns.get("human"))
        labeled = {} if by_people is None else {"human": by_people[0]}
        named_rows = {column_name(*key): rows for key, rows in outputs.items()}
        check_forms({"truth": truth, **named_rows, **labeled})
        names = label_names([truth, *outputs.values(), *labeled.values()], labels)
        parsed: dict[str, Any] = {
            kind: {
                name: rows for (output_kind, name), rows in outputs.items() if output_kind == kind
            }
            or None
            for kind in roles
        }
        sets = to_indicators(truth, names, "truth")
        parsed["truth"] = LabelMatrix(sets, None, len(names))
        if by_people is not None:
            parsed["human"] = _human_truth(*by_people, sets, names)
        return cls(names, separator, threshold, undefined), {**columns, **parsed}

    @classmethod
    def from_stream(
        cls,
        columns: StreamColumns,
        labels: Sequence[Any] | None,
        separator: str | None,
        threshold: Threshold,
        undefined: str,
    ) -> MultilabelProblem:
        """Build the problem of a stream.

        The labels are those that are named, the names of the columns, or those that occur in a
        pass over all rows.
        """
        if not any(columns.output_columns.values()):
            raise InputError(_NO_OUTPUTS_MESSAGE)
        label_rows = find_stream_labels(columns, separator, has_stated_labels=labels is not None)
        check_forms(label_rows)
        names = label_names(list(label_rows.values()), labels)
        return cls(names, separator, threshold, undefined, indicator_columns(label_rows))

    def systems(self, batch: Batch, settings: Settings) -> dict[str, MultilabelOutput]:
        """Return the systems on a batch of rows."""
        sets = to_indicators(self._read_rows(batch["truth"], "truth"), self.names, "truth")
        roles = ("predicted", "score", "probability")
        outputs = _outputs_by_key(self._read_rows, **{kind: batch[kind] for kind in roles})
        make_system = partial(
            MultilabelOutput,
            labels=self.names,
            truth=batch.frequencies(sets),
            weight=batch.weights,
            clusters=batch.clusters,
            settings=settings,
        )
        return _make_systems(make_system, outputs, self.threshold, batch.frequencies)

    def _read_rows(self, values: Any, display_name: str) -> LabelRows:
        """Return the labels, scores or probabilities of each row, parsed once."""
        if isinstance(values, LabelRows):
            return values
        has_indicators = (
            None if self.indicator_columns is None else display_name in self.indicator_columns
        )
        return read_label_rows(values, display_name, self.separator, has_indicators)

    def statistic(self, system: MultilabelOutput, kind: type) -> Any:
        """Return the 2 × 2 counts of each label, if that is the requested statistic."""
        return system.matrices if kind is LabelMatrices and system.predicted is not None else None

    # --- Measures --------------------------------------------------------------------------------

    def default_measures(self, systems: Mapping[str, MultilabelOutput]) -> Sequence[str]:
        """Return the default measures that all systems serve."""
        defaults = (
            ("sets", SET_MEASURES),
            ("scores", SCORE_MEASURES),
            ("probabilities", PROBABILITY_MEASURES),
        )
        return [
            name
            for reads, names in defaults
            for name in names
            if all(system.supports(reads) for system in systems.values())
        ]

    def measures(self, systems: Mapping[str, MultilabelOutput], options: Options) -> list[Measure]:
        """Return the requested measures without duplicates."""
        check_undefined(self.undefined)
        measures = [
            name if isinstance(name, Measure) else parse(name, FAMILIES)
            for name in expand_defaults(options.measures, self.default_measures(systems))
        ]
        for measure in measures:
            _check_measure(measure, self.names)
        # There is a column for each label, whether a row has it or not.
        return [m.where_undefined(self.undefined, stated=True) for m in deduplicate(measures)]

    def auxiliary_measures(
        self, systems: Mapping[str, MultilabelOutput]
    ) -> Sequence[tuple[str, Measure]]:
        """Return the pairs (system, macro-F1) whose counts of each label are accumulated."""
        counts = parse("macro-F1", "counts")
        return [(name, counts) for name, system in systems.items() if system.predicted is not None]

    # --- What an evaluation has in addition to estimates ------------------------------------------

    def conventions(self, sample: Sample) -> Mapping[str, Any]:
        """Return the labels, the thresholds at which rows have them, and undefined values."""
        systems = sample.template_systems.items()
        return {
            "labels": list(self.names),
            "threshold": {n: s.thresholds for n, s in systems if s.thresholds is not None},
            "at_the_threshold": "has the label",
            "equal_scores": "the lowest rank",
            **undefined_conventions(self.undefined),
        }

    def notes(self, sample: Sample, options: Options) -> Sequence[str]:
        """Return a note on the number of rows that findings are based on."""
        return row_sample_notes(sample)

    def findings(self, sample: Sample, results: EvaluationResults) -> tuple[Finding, ...]:
        """Return the findings of multilabel classifiers."""
        return from_multilabel(sample, results)

    def details(self, sample: Sample, options: Options) -> Mapping[str, Any]:
        """Return tables of labels, and curves of scores."""
        curves: Any = ()
        if options.curves and len(self.names) <= MAX_CURVE_LABELS:
            systems = (sample.in_memory_systems or {}).values()
            curves = (
                _curves(systems) if sample.in_memory_systems else stream_curves(sample, self.names)
            )
        table_functions = partial(self._label_sizes, sample), partial(_label_counts, sample)
        return {
            "curves": curves,
            "label_tables": LazyClassTables(sample, self.names, *table_functions, row_kind="label"),
        }

    def _label_sizes(self, sample: Any) -> FloatArray:
        """Return the weight of the rows with each label."""
        if not sample.in_memory_systems:
            passes = sample.passes
            return np.asarray(passes.first_pass_result.auxiliary.sizes[:-1] / passes.common_weight)
        system = sample.first_system
        total = len(system.truth) if system.weight is None else float(system.weight.sum())
        return np.asarray(system.label_proportions * total)

    # --- Streams ---------------------------------------------------------------------------------

    looks_at_rows = True

    def template(
        self, columns: StreamColumns, settings: Settings, sizes: FloatArray | None = None
    ) -> dict[str, MultilabelOutput]:
        """Return systems on rows of which each has one label more than the one before.

        The first row has no label. ``sizes`` holds the number of rows with each label, and as the
        last entry that of all rows; the weights of the rows are chosen to match them.
        """
        n_labels = len(self.names)
        uniform_sizes = np.append(np.arange(n_labels, 0.0, -1.0), n_labels + 1.0)
        row_counts = uniform_sizes if sizes is None else sizes
        order = np.argsort(-row_counts[:n_labels], kind="stable")
        truth = np.zeros((n_labels + 1, n_labels), bool)
        truth[:, order] = np.arange(n_labels + 1)[:, None] > np.arange(n_labels)
        counts = np.append(row_counts[n_labels], row_counts[:n_labels][order])
        make_system = partial(
            MultilabelOutput,
            labels=self.names,
            truth=truth,
            weight=np.maximum(counts - np.append(counts[1:], 0.0), 0.0),
            clusters=None,
            settings=settings,
        )
        table = LabelMatrix(truth.astype(np.float64), None, n_labels)
        outputs = {
            (kind, name): table
            for kind, by_system in columns.output_columns.items()
            for name in by_system
        }
        return _make_systems(make_system, outputs, self.threshold, RowRepeats(n_labels + 1))

    @staticmethod
    def summary(systems: Mapping[str, MultilabelOutput]) -> LabelSets:
        """Return the weight of the rows with each label, and of all rows.

        The weights of the sets of labels are included if a measure uses them.
        """
        system = next(iter(systems.values()))
        needs_sets = any(m.definition.constant_value is modal_set_accuracy for m in system.measures)
        return LabelSets.from_rows(system.truth, system.weight, count_sets=needs_sets)

    def constant(self, sample: Any, system: str, measure: Measure) -> float:
        """Return the value of the best constant prediction.

        It depends on the frequencies of labels, or of sets of labels.
        """
        passes = sample.passes
        if measure.definition.constant_value is modal_set_accuracy:
            return float(passes.first_pass_result.auxiliary.max_proportion)

        def build_template() -> Mapping[str, Any]:
            return self.template(
                sample.columns, sample.settings, passes.first_pass_result.auxiliary.sizes
            )

        value: float = cached(passes, "constant", build_template)[system].constant_value(measure)
        return value

    @property
    def plan(self) -> dict[str, Any]:
        """Labels, separator and threshold of the problem."""
        return {
            "classes": self.names,
            "separator": self.separator,
            "threshold": self.threshold,
            "undefined": self.undefined,
        }


def _label_counts(sample: Sample, name: str) -> FloatArray | None:
    """Return the 2 × 2 counts of each label."""
    matrices: LabelMatrices | None = sample.statistic(name, LabelMatrices)
    return None if matrices is None else matrices.counts


def _curves(systems: Iterable[MultilabelOutput]) -> ScoreCurves:
    """Return the curves of each label, and the points of systems that predict only label sets."""
    system_outputs = tuple(systems)
    label_only_systems = (
        (system, system.labels) for system in system_outputs if system.score is None
    )
    return ScoreCurves(partial(_score_data, system_outputs), label_points(label_only_systems))


def _score_data(systems: Sequence[MultilabelOutput]) -> list[ScoreData]:
    return [
        replace(make_score_data(system.label_output(label)), series=series_name(label))
        for system in systems
        if system.score is not None
        for label in system.labels
    ]


_NO_OUTPUTS_MESSAGE = "nothing to evaluate: give predicted=, score= or probability="


def _outputs_by_key(
    read: Callable[[Any, str], LabelRows], **columns: Any
) -> dict[tuple[str, str], LabelRows]:
    """Return the predictions by kind and system."""
    if all(column is None for column in columns.values()):
        raise InputError(_NO_OUTPUTS_MESSAGE)
    return {
        (kind, name): read(values, column_name(kind, name))
        for kind, column in columns.items()
        for name, values in _systems_by_name(column, kind).items()
    }


def _read_people(
    read: Callable[[Any, str], LabelRows], human: Any
) -> tuple[LabelRows, npt.NDArray[np.bool_]] | None:
    """Return the labels by people of the rows that have any, and the mask of these rows."""
    if human is None:
        return None
    if isinstance(human, Mapping) and not is_label_columns(human):
        raise InputError(
            "human: has several columns that are not of 0 and 1, expected the labels by people, in "
            "the form of truth"
        )
    mask = labeled_rows_mask(human, "human")
    if not mask.any():
        raise InputError("human: has no label, expected some")
    rows = np.flatnonzero(mask)
    with row_numbers(rows):
        is_table = bool(column_names(human)) and not isinstance(human, Mapping)
        subset = (
            {name: take_rows(human[name], rows) for name in column_names(human)}
            if is_table
            else take_rows(human, rows)
        )
        return read(subset, "human"), mask


def _human_truth(
    labels: LabelRows,
    mask: npt.NDArray[np.bool_],
    judged: Indicators,
    names: tuple[str, ...],
) -> HumanTruth:
    """Return the labels by people, with those of the judge where people gave none."""
    from calipers.evaluation.problems.labeled_rows import HumanTruth

    check_length(mask, len(judged), "human")
    filled = judged.copy()
    with row_numbers(np.flatnonzero(mask)):
        filled[mask] = to_indicators(labels, names, "human")
    return HumanTruth(LabelMatrix(filled, None, len(names)), mask)


def _systems_by_name(outputs: Any, kind: str) -> dict[str, Any]:
    """Return systems by name; a dict with a numeric column for each label is one system."""
    if outputs is None:
        return {}
    return (
        {DEFAULT_SYSTEM_NAME: outputs}
        if is_label_columns(outputs)
        else named_systems(outputs, kind)
    )


def _make_systems(
    make_system: Callable[[str], MultilabelOutput],
    outputs: Mapping[tuple[str, str], LabelRows],
    threshold: Threshold,
    repeats: RowRepeats,
) -> dict[str, MultilabelOutput]:
    """Build the systems by name, with every table checked."""
    systems: dict[str, MultilabelOutput] = {}
    for (kind, name), rows in outputs.items():
        if kind == "predicted":
            continue
        if name in systems:
            raise InputError(f"{name}: give its scores or its probabilities, not both")
        system, display_name = make_system(name), column_name(kind, name)
        score = to_scores(rows, system.labels, display_name, probability=kind == "probability")
        check_length(score, repeats.n_rows, display_name)
        score = repeats(score)
        default = 0.5 if kind == "probability" else None
        names = {system_name for output_kind, system_name in outputs if output_kind != "predicted"}
        system_threshold = _resolve_threshold(threshold, name, names, system.labels, default)
        systems[name] = replace(
            system,
            score=score,
            is_probability=kind == "probability",
            thresholds=system_threshold,
            predicted=None
            if system_threshold is None
            else score
            >= (
                list(system_threshold.values())
                if isinstance(system_threshold, dict)
                else system_threshold
            ),
        )
    for (kind, name), rows in outputs.items():
        if kind == "predicted":
            system, display_name = systems.get(name, make_system(name)), column_name(kind, name)
            indicators = to_indicators(rows, system.labels, display_name)
            check_length(indicators, repeats.n_rows, display_name)
            systems[name] = replace(system, predicted=repeats(indicators), thresholds=None)
    if threshold is not None and not any(kind != "predicted" for kind, _ in outputs):
        raise InputError("threshold= requires scores or probabilities, and there are none")
    return systems


def _resolve_threshold(
    threshold: Any, name: str, systems: set[str], labels: tuple[str, ...], default: float | None
) -> float | dict[str, float] | None:
    """Return the checked threshold of a system: one number, or one for each label."""
    if isinstance(threshold, Mapping) and {str(key) for key in threshold} <= systems:
        threshold = threshold.get(name)
    if threshold is None:
        return default
    if isinstance(threshold, Real):
        return check_finite(threshold, "threshold", "a finite number, or one for each label")
    if isinstance(threshold, Mapping):
        by_label = {str(key): value for key, value in threshold.items()}
        for key in by_label:
            if key not in labels:
                hint = did_you_mean(key, (*labels, *sorted(systems)))
                raise InputError(
                    f"threshold for {key!r}, which is neither a label nor a system; {hint}"
                )
        if default is not None:
            by_label = dict.fromkeys(labels, default) | by_label
    elif (
        isinstance(threshold, str)
        or not hasattr(threshold, "__len__")
        or getattr(threshold, "ndim", 1) != 1
    ):
        raise InputError(
            f"threshold is {format_value(threshold)}, expected a finite number, or one for each "
            "label"
        )
    else:
        if len(threshold) != len(labels):
            raise InputError(f"threshold: has {len(threshold)} numbers for {len(labels)} labels")
        by_label = dict(zip(labels, threshold, strict=True))
    return {
        label: check_finite(by_label.get(label), f"threshold of {label!r}", "a finite number")
        for label in labels
    }


def _check_measure(measure: Measure, labels: tuple[str, ...]) -> None:
    """Check that a measure applies to rows with several labels."""
    d = measure.definition
    is_label_measure = d.task == "classification" and d.statistic is not ClassRanks
    if not is_label_measure and d.task != "multilabel":
        raise InputError(f"{measure} is not a measure of multilabel predictions")
    check_named_classes(measure, labels, "label")
    if measure.label is not None:
        return
    if not is_label_measure:
        return
    label_measure = replace(measure.plain, label=labels[0])
    macro_measure = replace(measure.plain, average="macro")
    is_mean = d.statistic is Moments and d.interval is None
    has_average = is_mean or d.statistic is ConfusionMatrix or d.reads == "scores"
    if not measure.has_view:
        alternative = f", or for {macro_measure}" if has_average else ""
        raise InputError(f"{measure} is about one label: ask for {label_measure}{alternative}")
    if not has_average:
        raise InputError(f"{measure}: {measure.plain} has no average; ask for {label_measure}")
    if measure.average in PAIRWISE_AVERAGES:
        raise InputError(
            f"{measure}: labels do not exclude each other, so there are no pairs to average"
        )
    if is_mean and measure.average != "macro":
        raise InputError(f"{measure}: all labels have the same rows; ask for {macro_measure}")
