"""Rows whose truth is that of a judge, and for some of them also that of people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.data.arrays import (
    check_column,
    check_length,
    missing_mask,
    take_rows,
    to_quantities,
)
from calipers.data.case_scores import read_label_weights
from calipers.data.class_labels import (
    EncodedLabels,
    encode_labels,
    find_label,
    label_index,
    label_name,
)
from calipers.data.errors import InputError, did_you_mean, format_value, row_numbers
from calipers.evaluation.sample import Problem
from calipers.evaluation.shared import expand_defaults, has_defaults
from calipers.lazy_dataclasses import dataclass
from calipers.report.numbers import format_count
from calipers.systems.labeled import LabeledOutput

if TYPE_CHECKING:
    import numpy.typing as npt

    from calipers.evaluation.batch import Batch
    from calipers.evaluation.options import Options
    from calipers.evaluation.rows import InMemorySample
    from calipers.evaluation.sample import EvaluationResults, Sample
    from calipers.inference.settings import Settings
    from calipers.measures import Measure
    from calipers.results import Finding


@dataclass(frozen=True, eq=False)
class HumanTruth:
    """Truth of rows by people, with that of the judge where people gave none.

    Attributes
    ----------
    truth : EncodedLabels or ndarray
        Truth of all rows.
    labeled_mask : ndarray of bool
        Mask of the rows with a truth by people.
    """

    truth: Any
    labeled_mask: npt.NDArray[np.bool_]


def read_human_classes(
    human: Any, truth: EncodedLabels, labels: Sequence[Any] | None = None
) -> tuple[EncodedLabels, HumanTruth, EncodedLabels]:
    """Read the classes by people, missing where there is none.

    Parameters
    ----------
    human : column
        Classes by people.
    truth : EncodedLabels
        Classes by the judge.
    labels : sequence, optional
        Names of all classes, if they were given.

    Returns
    -------
    truth : EncodedLabels
        Classes by the judge, as indices of the classes of both.
    human : HumanTruth
        Classes by people.
    all_labels : EncodedLabels
        Classes by the judge, followed by those by people.

    Raises
    ------
    InputError
        If there is no label, the columns differ in length, a label is not one of ``labels``, or it
        is a class of the judge in another spelling.

    Examples
    --------
    >>> truth = encode_labels(["a", "b", "a"], "truth")
    >>> truth, human, all_labels = read_human_classes([None, "c", None], truth)
    >>> all_labels.names, truth.codes.tolist(), human.truth.codes.tolist()
    (('a', 'b', 'c'), [0, 1, 0], [0, 2, 0])
    """
    mask = read_labeled_mask(human, len(truth.codes))
    by_people = encode_labels(take_rows(human, np.flatnonzero(mask)), "human")
    if labels is not None:
        _check_classes(by_people, np.flatnonzero(mask), [label_name(label) for label in labels])
    # A label that the judge uses too is written as the judge does: 1 for True.
    positions = label_index(truth.names)
    indices = [find_label(positions, name) for name in by_people.names]
    new_names = [
        name for name, index in zip(by_people.names, indices, strict=True) if index is None
    ]
    _check_spelling(by_people, np.flatnonzero(mask), new_names, truth.names)
    new_labels = [
        label if index is None else truth.labels[index]
        for label, index in zip(by_people.labels, indices, strict=True)
    ]
    codes = np.concatenate([truth.codes, by_people.codes + len(truth.labels)])
    stacked = EncodedLabels((*truth.labels, *new_labels), codes, truth.ordered)
    all_labels = stacked.take(np.arange(len(codes)))
    judge_codes, human_codes = np.split(all_labels.codes, [len(truth.codes)])
    filled_codes = judge_codes.copy()
    filled_codes[mask] = human_codes
    filled = replace(all_labels, codes=filled_codes)
    return replace(all_labels, codes=judge_codes), HumanTruth(filled, mask), all_labels


def read_human_numbers(human: Any, truth: npt.NDArray[np.float64]) -> HumanTruth:
    """Read the values by people, missing where there is none.

    >>> read_human_numbers([None, 3.0], np.array([1.0, 2.0])).truth.tolist()
    [1.0, 3.0]
    """
    mask = read_labeled_mask(human, len(truth))
    filled, rows = np.array(truth, np.float64), np.flatnonzero(mask)
    with row_numbers(rows):
        filled[mask] = to_quantities(take_rows(human, rows), "human")
    return HumanTruth(filled, mask)


def read_labeled_mask(human: Any, n_rows: int) -> npt.NDArray[np.bool_]:
    """Return the mask of the rows with a label, which are in one column.

    Raises
    ------
    InputError
        If there is no label, or the column has another length than the truth.
    """
    if isinstance(human, Mapping):
        raise InputError(
            "human: has several columns, expected one: the truth by people, in the form of truth"
        )
    check_column(human, "human")
    check_length(human, n_rows, "human", "truth has")
    mask = ~missing_mask(human, "human")
    if not mask.any():
        raise InputError("human: has no label, expected some")
    return mask


def _check_classes(
    by_people: EncodedLabels, rows: npt.NDArray[np.intp], names: Sequence[str]
) -> None:
    positions = label_index(names)
    for code, name in enumerate(by_people.names):
        if find_label(positions, name) is None:
            row = int(rows[np.argmax(by_people.codes == code)])
            raise InputError(
                f"human: {format_value(by_people.labels[code])} in row {row} is not a class; "
                + did_you_mean(name, names)
            )


def _check_spelling(
    by_people: EncodedLabels,
    rows: npt.NDArray[np.intp],
    new_names: Sequence[str],
    judge_names: Sequence[str],
) -> None:
    """Check that no class that only people use is one of the judge in another case or spacing."""
    by_spelling = {name.strip().casefold(): name for name in judge_names}
    for name in new_names:
        if (similar := by_spelling.get(name.strip().casefold())) is not None:
            code = by_people.names.index(name)
            row = int(rows[np.argmax(by_people.codes == code)])
            raise InputError(
                f"human: {format_value(by_people.labels[code])} in row {row} is not a class of "
                f"truth, which has {format_value(similar)}; expected the same spelling"
            )


def check_label_options(arguments: Mapping[str, Any], reasons: Mapping[str, str]) -> None:
    """Check that the other options go with human labels.

    ``reasons`` says of each option that does not why.

    Raises
    ------
    InputError
        If an option does not go with human labels, or labels have weights only.
    """
    if arguments["human"] is None:
        raise InputError("human_weight: is about the labels of human=, which is not given")
    reasons = {"time": "the serial dependence of labels is not estimated", **reasons}
    for name, reason in reasons.items():
        value = arguments.get(name)
        if value is not None and value is not False:
            raise InputError(f"human does not go with {name}: {reason}")
    baseline = arguments["baseline"]
    if not (baseline is None or isinstance(baseline, str)) or (
        isinstance(baseline, str) and ".json" in baseline
    ):
        raise InputError(
            "human: a saved evaluation has no labels to compare with; expected the name of a "
            "system as baseline"
        )
    if arguments["interval"] not in ("auto", "analytic", "none"):
        raise InputError(
            f"human: interval is {format_value(arguments['interval'])}, expected 'auto', "
            "'analytic' or 'none': with human labels an interval has the method for their kind"
        )
    if arguments["target"] == "these" and arguments["human_weight"] is not None:
        raise InputError(
            "target='these' does not go with human_weight: weights stand for rows like these"
        )


@dataclass(frozen=True, eq=False)
class LabeledProblem(Problem):
    """Problem whose truth is that of a judge, and of some rows also that of people.

    Attributes
    ----------
    problem : Problem
        Problem with the truth by the judge.
    task : str
        Name of the task.
    target : {"like", "these"}
        What is estimated: the value of rows like these, or of these rows.
    """

    problem: Problem
    task: str = field(kw_only=True)
    target: str = "like"

    @property
    def is_stated(self) -> bool:  # type: ignore[override]
        """Whether the user named the classes."""
        return self.problem.is_stated

    def systems(self, batch: Batch, settings: Settings) -> dict[str, LabeledOutput]:
        """Return the systems on a batch of rows, with the truth by the judge and by people."""
        human: HumanTruth = batch["human"]
        repeats = batch.frequencies
        mask, weights, clusters = repeats(human.labeled_mask), batch.weights, batch.clusters
        has_label_weights = False
        if batch["human_weight"] is not None:
            label_weights = repeats(read_label_weights(batch["human_weight"], human.labeled_mask))
            has_label_weights = mask.any() and bool(np.ptp(label_weights[mask]))
        labeled_batch = batch
        if has_label_weights:
            combined = label_weights if weights is None else label_weights * weights
            labeled_batch = replace(
                batch,
                weights=combined,
                clusters=None if clusters is None else replace(clusters, weight=combined),
            )
        judges = self.problem.systems(batch, settings)
        judged = self.problem.systems(labeled_batch, settings) if has_label_weights else judges
        columns = {**labeled_batch.columns, "truth": human.truth}
        people = self.problem.systems(replace(labeled_batch, columns=columns), settings)
        self._check_thresholds(judges)
        return {
            name: LabeledOutput(
                name=name,
                judge=judge,
                human=people[name],
                judged=judged[name],
                labeled_mask=mask,
                has_label_weights=has_label_weights,
                target=self.target,
                task=self.task,
                **batch.shared_columns(settings),
            )
            for name, judge in judges.items()
        }

    @staticmethod
    def _check_thresholds(systems: Mapping[str, Any]) -> None:
        """Check that no threshold was chosen on these rows."""
        if any(getattr(system, "rule", None) is not None for system in systems.values()):
            raise InputError(
                "human does not go with a threshold that is chosen on these rows, as most of them "
                "have only the truth by the judge; expected a number as threshold"
            )

    # --- Measures --------------------------------------------------------------------------------

    def default_measures(self, systems: Mapping[str, LabeledOutput]) -> Sequence[str]:
        """Return the default measures of the problem."""
        return self.problem.default_measures(_judges(systems))

    def measures(self, systems: Mapping[str, LabeledOutput], options: Options) -> list[Measure]:
        """Return the requested measures, and the default ones that labels serve."""
        measures = self.problem.measures(_judges(systems), options)
        if not has_defaults(options.measures):
            return measures
        defaults = set(self.default_measures(systems))
        requested = set(map(str, expand_defaults(options.measures, [])))
        optional = defaults - requested
        return [
            measure
            for measure in measures
            if str(measure) not in optional
            or not any(system.unsupported_reason(measure) for system in systems.values())
        ]

    def prepare(
        self, systems: Mapping[str, LabeledOutput], measures: Sequence[Measure]
    ) -> tuple[dict[str, Any], Sequence[str]]:
        """Return the systems, whose thresholds must not be chosen on these rows."""
        prepared, notes = self.problem.prepare(_judges(systems), measures)
        self._check_thresholds(prepared)
        return dict(systems), notes

    # --- What an evaluation has in addition to estimates ------------------------------------------

    def conventions(self, sample: Sample) -> Mapping[str, Any]:
        """Return the conventions of the problem, and what is estimated."""
        return {**self.problem.conventions(self._judge_sample(sample)), "target": self.target}

    def notes(self, sample: Sample, options: Options) -> Sequence[str]:
        """Return the notes of the problem, and on the human labels behind the values."""
        notes = self.problem.notes(self._judge_sample(sample), options)
        systems: Any = sample.in_memory_systems
        return (*notes, *_label_notes(next(iter(systems.values())), len(systems)))

    def findings(self, sample: Sample, results: EvaluationResults) -> tuple[Finding, ...]:
        """Return the findings on human labels and the judge."""
        from calipers.evaluation.finding_inputs import from_labeled_rows

        return from_labeled_rows(sample, results)

    def _judge_sample(self, sample: Any) -> InMemorySample:
        """Return the sample with the truth by the judge."""
        systems = _judges(sample.in_memory_systems)
        result: InMemorySample = replace(sample, systems_by_name=systems, problem=self.problem)
        return result


#: Note on differences of systems with human labels.
OWN_MULTIPLE_NOTE = (
    "A difference has a multiple of its own, so that it may differ from the difference of the "
    "values."
)


def label_sampling_note(unit: str, *, has_weights: bool) -> str:
    """Return the note on how the units with a label were selected; ``unit`` is in the singular."""
    if has_weights:
        return f"Labels are weighted by 1 over the probability of their {unit}."
    return f"The {unit}s with a label are taken as a random sample of all {unit}s."


def all_labeled_notes(unit: str, *, has_weights: bool) -> list[str]:
    """Return the notes on values if all units have a label; ``unit`` is in the plural."""
    note = f"All {unit} have human labels, from which values are; the judge has no part in them."
    weighted = label_sampling_note(unit.removesuffix("s"), has_weights=True)
    return [note, weighted] if has_weights else [note]


def _judges(systems: Mapping[str, LabeledOutput]) -> dict[str, Any]:
    """Return the systems with the truth by the judge."""
    return {name: system.judge for name, system in systems.items()}


def _label_notes(system: LabeledOutput, n_systems: int) -> list[str]:
    """Return notes on the human labels behind the values."""
    unit = system.unit
    target = f"these {unit}" if system.target == "these" else f"{unit} like these"
    n_labels = int(np.count_nonzero(system.labeled_mask))
    if n_labels == system.n_rows:
        return all_labeled_notes(system.unit, has_weights=system.has_label_weights)
    explanation = (
        f"Values are those of {target}, from {n_labels:,} human labels and the truth by a judge "
        f"of {format_count(system.n_rows, unit)}: the value by the labels, plus a multiple of "
        f"the difference between the judge's values of the other {unit} and of the labeled ones. "
        f"Whatever the errors of the judge, means over {unit} are unbiased, and other measures "
        "nearly so; the value by the judge alone is not."
    )
    notes = [
        explanation,
        label_sampling_note(unit.removesuffix("s"), has_weights=system.has_label_weights),
    ]
    return [*notes, OWN_MULTIPLE_NOTE] if n_systems > 1 else notes
