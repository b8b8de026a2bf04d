"""Scores of cases without a truth, one for each case and system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from math import inf, isfinite, sqrt
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from calipers.data.arrays import check_length
from calipers.data.case_scores import (
    NO_SCORE,
    ScoreColumn,
    check_range,
    read_label_weights,
    read_scores,
)
from calipers.data.errors import InputError, did_you_mean
from calipers.estimation.case_scores import VarianceComponents
from calipers.evaluation.batch import constant_batch
from calipers.evaluation.problems.labeled_rows import (
    OWN_MULTIPLE_NOTE,
    all_labeled_notes,
    label_sampling_note,
)
from calipers.evaluation.sample import Problem
from calipers.evaluation.shared import column_name, named_systems
from calipers.lazy_dataclasses import dataclass
from calipers.report.numbers import format_count
from calipers.results.estimate import DEFAULT_SYSTEM_NAME
from calipers.statistics import LengthRows, ScoreSummary
from calipers.systems.case_scores import CaseScores, FixedCaseScores, LabeledCaseScores

if TYPE_CHECKING:
    from calipers.evaluation.batch import Batch
    from calipers.evaluation.options import Options
    from calipers.evaluation.sample import EvaluationResults, Sample
    from calipers.evaluation.stream_columns import StreamColumns
    from calipers.inference.settings import Settings
    from calipers.measures import Measure
    from calipers.results import Finding
    from calipers.statistics import FloatArray

#: With fewer cases, components of the variance are mostly noise.
FEW_CASES = 10

#: Range of scores that may be any number.
ANY_SCORE = (-inf, inf)


@dataclass(frozen=True, eq=False)
class CaseScoresProblem(Problem):
    """A score for each case and system, in place of a truth and predictions.

    ``is_binary`` tells whether all scores are 0 or 1; ``reference`` is the system that win rates
    are against, and ``is_range_stated`` whether somebody stated the range of the scores.
    """

    task = "scores"
    kind: ClassVar[str] = "case-scores"

    is_binary: bool = False
    score_range: tuple[float, float] = ANY_SCORE
    reference: str | None = None
    is_range_stated: bool = field(default=False, kw_only=True)
    #: Whether values with human labels are those of cases like these, or of these cases.
    target: str = field(default="like", kw_only=True)
    #: What is to be given for the lengths of outputs, if there are none.
    missing_lengths: str = field(default=CaseScores.missing_lengths, kw_only=True)

    @classmethod
    def from_summary(
        cls, summary: ScoreSummary | None, stated: tuple[float, float] | None, reference: str | None
    ) -> CaseScoresProblem:
        """Return the problem of scores of this kind.

        Scores between 0 and 1 are taken to have that range, and others to have none, unless it is
        stated. ``summary`` is None if the scores are not known beforehand.
        """
        is_binary = summary is not None and summary.is_binary
        if stated is not None:
            return cls(is_binary, stated, reference, is_range_stated=True)
        is_proportion = summary is not None and summary.is_proportion
        score_range = (0.0, 1.0) if is_proportion else ANY_SCORE
        return cls(is_binary, score_range, reference)

    @property
    def is_range_assumed(self) -> bool:
        """Whether scores other than 0 and 1 are taken to have the range of those that are there."""
        return not (self.is_range_stated or self.is_binary)

    def systems(self, batch: Batch, settings: Settings) -> dict[str, CaseScores]:
        """Return the systems on a batch of cases."""
        columns = read_columns(batch["score"])
        if self.score_range != ANY_SCORE:
            for name, column in columns.items():
                check_range(column, self.score_range, column_name("score", name))
        repeats, reference = batch.frequencies, None
        if self.reference is not None:
            column = columns[self.reference]
            reference = repeats(np.where(column.status == 0, column.scores, np.nan))
        lengths = {name: repeats(length) for name, length in (batch["length"] or {}).items()}
        make_system, labels = self._system_factory(batch, columns)
        return {
            name: make_system(
                name=name,
                scores=repeats(column.scores),
                status=repeats(column.status),
                reference=reference,
                score_range=self.score_range,
                is_reference=name == self.reference,
                length=lengths.get(name),
                reference_length=lengths.get(self.reference),
                missing_lengths=self.missing_lengths,
                **labels.get(name, {}),
                **batch.shared_columns(settings),
            )
            for name, column in columns.items()
        }

    def _system_factory(
        self, batch: Batch, columns: Mapping[str, ScoreColumn]
    ) -> tuple[type[CaseScores], Mapping[str, Mapping[str, Any]]]:
        """Return the kind of the systems, and the fields of each that are about human labels."""
        labels: Mapping[str, ScoreColumn] | None = batch["human"]
        if labels is None:
            return (FixedCaseScores if self.target == "these" else CaseScores), {}
        values, repeats = {}, batch.frequencies
        for name in columns:
            column = labels[name]
            display_name = column_name("human", name)
            check_length(column.scores, len(columns[name]), display_name, "score has")
            if self.score_range != ANY_SCORE:
                check_range(column, self.score_range, display_name)
            values[name] = np.where(column.status == 0, column.scores, np.nan)
        weight = batch["human_weight"]
        if weight is not None:
            labeled_mask = np.asarray(~np.isnan(list(values.values())).all(axis=0))
            weight = repeats(read_label_weights(weight, labeled_mask, "score has"))
        reference = None if self.reference is None else repeats(values[self.reference])
        shared = {"human_reference": reference, "human_weight": weight, "target": self.target}
        return LabeledCaseScores, {
            name: {"human": repeats(human), **shared} for name, human in values.items()
        }

    def default_measures(self, systems: Mapping[str, Any]) -> Sequence[str]:
        """Return the pass rate if all scores are 0 or 1, else the mean."""
        return ("pass-rate",) if self.is_binary else ("mean-score",)

    @staticmethod
    def summary(systems: Mapping[str, Any]) -> ScoreSummary:
        """Return the number of cases without a score, by system and reason."""
        columns = [(system.scores, system.status) for system in systems.values()]
        return ScoreSummary.from_columns(columns, len(NO_SCORE))

    def template(
        self, columns: StreamColumns, settings: Settings, sizes: FloatArray | None = None
    ) -> dict[str, CaseScores]:
        """Return systems on artificial cases, with a score in the range."""
        low = self.score_range[0]
        return self.systems(
            constant_batch(columns, np.full(2, low if isfinite(low) else 0.0)), settings
        )

    def conventions(self, sample: Sample) -> Mapping[str, Any]:
        """Return the range of the scores, and the reference of win rates."""
        has_range = all(map(isfinite, self.score_range))
        return {
            **({"score_range": list(self.score_range)} if has_range else {}),
            **({} if self.reference is None else {"reference": self.reference}),
            **({} if self.target == "like" else {"target": self.target}),
        }

    def notes(self, sample: Sample, options: Options) -> Sequence[str]:
        """Return notes on the cases without a score, and on the range of the scores."""
        systems: Any = sample.in_memory_systems
        streamed: Any = sample
        summary: ScoreSummary = (
            streamed.passes.first_pass_result.auxiliary
            if systems is None
            else self.summary(systems)
        )
        n_samples = self._n_samples(systems)
        unit = "cases" if n_samples is None else "samples"
        notes = [
            _unscored_note(name, counts, format_count(summary.total, unit))
            for name, counts in zip(sample.systems, summary.unscored.tolist(), strict=True)
            if any(counts)
        ]
        has_range, needs_range = self.score_range != ANY_SCORE, _needs_range(sample.measures)
        if notes:
            notes.append(
                f"{unit.capitalize()} without a score are left out; bounds are the values if all "
                "of them had the lowest score, or the highest."
            )
            if needs_range and not has_range:
                notes.append(
                    "Bounds of means need the range of the scores, as in score_range=(1, 5)."
                )
        notes += _label_notes(systems)
        if needs_range and has_range and self.is_range_assumed:
            notes.append(
                "All scores are between 0 and 1, which is taken as their range; use score_range= "
                "to state another."
            )
        notes += _separation_notes(sample.measures, systems)
        if n_samples is not None:
            n_cases = sample.n_rows
            if self.target == "these":
                notes.append(
                    f"Values are those of these {format_count(n_cases, 'cases')}: intervals and "
                    "tests are about other samples of them, and not about other cases."
                )
            else:
                notes.append(
                    f"Intervals and tests are over {format_count(n_cases, 'cases')}, not "
                    f"{n_cases * n_samples:,} samples of them."
                )
                notes += _sampling_notes(systems)
        return notes

    def findings(self, sample: Sample, results: EvaluationResults) -> tuple[Finding, ...] | None:
        """Return the findings, with those on human labels if there are any."""
        systems: Any = sample.in_memory_systems or {}
        if not any(isinstance(system, LabeledCaseScores) for system in systems.values()):
            return None
        from calipers.evaluation.finding_inputs import from_labeled_scores

        return from_labeled_scores(sample, results)

    @staticmethod
    def _n_samples(systems: Any) -> int | None:
        """Return the number of samples of each case, or None if each has one score."""
        first = None if systems is None else next(iter(systems.values()))
        return int(first.scores.shape[1]) if first is not None and first.is_sampled else None

    @property
    def plan(self) -> dict[str, Any]:
        """Range and reference that were stated, as stored in a state file.

        What follows from the scores depends on those of all states together.
        """
        limits = [end if isfinite(end) else None for end in self.score_range]
        return {
            "score_range": limits if self.is_range_stated else None,
            "reference": self.reference,
        }

    @classmethod
    def from_plan(cls, plan: Mapping[str, Any], summary: ScoreSummary) -> CaseScoresProblem:
        """Restore the problem from the plan in a state file, and what the scores of all are."""
        stated = plan["score_range"]
        if stated is not None:
            low, high = stated
            stated = (-inf if low is None else low, inf if high is None else high)
        return cls.from_summary(summary, stated, plan["reference"])


def read_columns(scores: Any) -> dict[str, ScoreColumn]:
    """Read the scores of each system by name, and check that all have the same cases."""
    columns: dict[str, ScoreColumn] = {}
    for name, values in named_systems(scores, "score").items():
        display_name = column_name("score", name)
        columns[name] = read_scores(values, display_name)
        first = next(iter(columns))
        reference = f"{column_name('score', first)} has"
        check_length(columns[name].scores, len(columns[first]), display_name, reference)
    return columns


def read_labels(human: Any, columns: Mapping[str, ScoreColumn]) -> dict[str, ScoreColumn]:
    """Read the human labels of each system by name.

    Parameters
    ----------
    human : column, or dict of columns
        Labels of the only system, or of each system by name.
    columns : mapping of str to ScoreColumn
        Scores of the systems by the judge.

    Returns
    -------
    dict of str to ScoreColumn
        Labels of each system.

    Raises
    ------
    InputError
        If a system has no labels, or labels have no system.
    """
    labels = read_by_system(human, columns, "human", "labels")
    for name, column in labels.items():
        if column.status.all():
            display_name = column_name("human", name)
            raise InputError(f"{display_name}: has no label, expected some for each system")
    return labels


def check_common_scale(
    scores: Mapping[str, ScoreColumn], labels: Mapping[str, ScoreColumn], hint: str = ""
) -> None:
    """Check that human labels can be on the scale of the scores, as far as these show it.

    Labels of scores between 0 and 1 lie there, too; and where all scores are 1 or more, labels are
    not all 0 or 1.

    Parameters
    ----------
    scores, labels : mapping of str to ScoreColumn
        Scores and labels by system.
    hint : str, optional
        What else can be done, in the message.

    Raises
    ------
    InputError
        If they cannot; the message names the first label.
    """
    score_values, label_values = (
        np.concatenate([column.scores[column.status == 0] for column in columns.values()])
        for columns in (scores, labels)
    )
    if not len(score_values) or not len(label_values):
        return
    low, high = float(score_values.min()), float(score_values.max())
    if low >= 0 and high <= 1:
        is_binary = bool(np.isin(score_values, (0.0, 1.0)).all())
        scale = "0 or 1" if is_binary else "between 0 and 1"
        is_other = [(column.scores < 0) | (column.scores > 1) for column in labels.values()]
    elif low >= 1 and np.isin(label_values, (0.0, 1.0)).all():
        scale = f"between {low:g} and {high:g}, and all labels 0 or 1"
        is_other = [column.scores == 0 for column in labels.values()]
    else:
        return
    for (name, column), other_mask in zip(labels.items(), is_other, strict=True):
        rows = np.flatnonzero(other_mask & (column.status == 0))
        if len(rows):
            label = f"{column_name('human', name)}: is {column.scores[rows[0]]:g} in row {rows[0]}"
            raise InputError(
                f"{label}, but all scores are {scale}; expected labels on the scale of the scores"
                f"{hint}"
            )


def read_by_system(
    values: Any, columns: Mapping[str, ScoreColumn], role: str, noun: str
) -> dict[str, ScoreColumn]:
    """Read a column of numbers of each system, of the same cases as the scores.

    Parameters
    ----------
    values : column, or dict of columns
        Column of the only system, or of each system by name.
    columns : mapping of str to ScoreColumn
        Scores of the systems.
    role : str
        Name of the argument.
    noun : str
        What the columns hold, in messages.

    Returns
    -------
    dict of str to ScoreColumn
        Column of each system.

    Raises
    ------
    InputError
        If a system has no column, or a column has no system.
    """
    if not isinstance(values, Mapping):
        if len(columns) > 1:
            raise InputError(
                f"{role}: is one column, expected a dict with the column of each of the "
                f"{len(columns)} systems (--{role.replace('_', '-')} NAME=COLUMN)"
            )
        values = {next(iter(columns)): values}
    values = {str(name): column for name, column in values.items()}
    for name in values:
        if name not in columns:
            raise InputError(
                f"{role}: there is no system {name!r}; {did_you_mean(name, list(columns))}"
            )
    by_system = {}
    for name in columns:
        if name not in values:
            expected = "some for each system"
            raise InputError(f"{role}: has no {noun} of {name!r}, expected {expected}")
        by_system[name] = read_scores(values[name], column_name(role, name))
    return by_system


def find_reference(reference: str | None, baseline: Any, systems: Sequence[str]) -> str | None:
    """Return the system that win rates are against, by default the baseline, or None.

    Raises
    ------
    InputError
        If the reference is not one of the systems.
    """
    if reference is None:
        return baseline if isinstance(baseline, str) and baseline in systems else None
    if reference not in systems:
        hint = did_you_mean(reference, systems)
        raise InputError(f"reference_system: there is no system {reference!r}; {hint}")
    return reference


def _label_notes(systems: Any) -> list[str]:
    """Return notes on the human labels behind the values."""
    labeled = {
        name: system
        for name, system in (systems or {}).items()
        if isinstance(system, LabeledCaseScores)
    }
    if not labeled:
        return []
    masks = {name: ~np.isnan(system.human) for name, system in labeled.items()}
    counts = {
        name: int(np.count_nonzero(masks[name] & (system.status == 0)))
        for name, system in labeled.items()
    }
    is_complete = all((masks[name] | (system.status > 0)).all() for name, system in labeled.items())
    if is_complete:
        has_weights = next(iter(labeled.values())).human_weight is not None
        notes = all_labeled_notes("cases", has_weights=has_weights)
    else:
        notes = _sampling_of_labels(labeled, counts)
    for name, mask in masks.items():
        n_labels = int(mask.sum())
        if n_left_out := n_labels - counts[name]:
            prefix = "" if name == DEFAULT_SYSTEM_NAME else f"{name}: "
            notes.append(
                f"{prefix}{n_left_out:,} of {format_count(n_labels, 'human labels')} are left out, "
                "as their cases have no score of the judge."
            )
    if len(labeled) > 1:
        notes += [] if is_complete else [OWN_MULTIPLE_NOTE]
        used = [masks[name] & (system.status == 0) for name, system in labeled.items()]
        if any(not np.array_equal(mask, used[0]) for mask in used):
            notes.append(
                "Of systems with labels of different cases the difference is that of the values, "
                "and its limits are those of both (MOVER)."
            )
    return notes


def _sampling_of_labels(
    labeled: Mapping[str, LabeledCaseScores], counts: Mapping[str, int]
) -> list[str]:
    """Return notes on values from labels of some cases, and on how these were selected."""
    first = next(iter(labeled.values()))
    numbers = sorted(set(counts.values()))
    count = f"{numbers[0]:,}" if len(numbers) == 1 else f"{numbers[0]:,} to {numbers[-1]:,}"
    target = "these cases" if first.target == "these" else "cases like these"
    explanation = (
        f"Values are those of {target}, from {count} human labels and the scores of a judge on "
        f"{format_count(first.n_rows, 'cases')}: the value by the labels, plus a multiple of the "
        "difference between the judge's values of the other cases and of the labeled ones. They "
        "are unbiased whatever the errors of the judge, which the value by the judge alone is not."
    )
    return [explanation, label_sampling_note("case", has_weights=first.human_weight is not None)]


def _needs_range(measures: Sequence[Measure]) -> bool:
    """Return whether the range of some value is that of the scores."""
    return any(not np.isfinite(measure.definition.range).all() for measure in measures)


def _separation_notes(measures: Sequence[Measure], systems: Any) -> list[str]:
    """Return notes on systems whose win rate at equal length has no maximum likelihood."""
    controlled = [m for m in measures if m.definition.statistic is LengthRows]
    return [
        f"{name}: the length determines who wins, or one side always wins. {measure} is that of "
        "Firth's penalized likelihood."
        for measure in controlled
        for name, system in systems.items()
        if not system.is_reference and _is_separated(system.sample_for(measure).statistic)
    ]


def _is_separated(rows: LengthRows) -> bool:
    return bool(rows.is_separated and not rows.is_uncontrolled)


def _sampling_notes(systems: Mapping[str, CaseScores]) -> list[str]:
    """Return notes on the proportions of the variances of means that are from sampling.

    Of two systems this is also that of their difference, to which the samples of both add.
    """
    compared: dict[str, tuple[CaseScores, FloatArray | None]] = {
        "" if name == DEFAULT_SYSTEM_NAME else f"{name}: ": (system, None)
        for name, system in systems.items()
    }
    if len(systems) == 2:
        (first, minus), (second, system) = systems.items()
        compared[f"{second} - {first}: "] = system, minus.values
    notes = [_sampling_note(prefix, *pair) for prefix, pair in compared.items()]
    return [note for note in notes if note]


def _sampling_note(prefix: str, system: CaseScores, minus: FloatArray | None) -> str:
    clusters = system.clusters
    unit, n_units = "cases", len(system.values)
    if clusters is not None:
        unit, n_units = "clusters", clusters.n_clusters
    if n_units < FEW_CASES:
        return ""
    components = VarianceComponents.from_samples(system.values, minus, system.weight, clusters)
    if components is None:
        return ""
    mean = "mean over cases" if minus is None else "mean difference over cases"
    return (
        f"{prefix}{_percent(components.sampling)} of the variance of the {mean} is from sampling: "
        "more samples of each case can shorten its interval by at most "
        f"{_percent(1 - sqrt(1 - components.sampling))}, twice as many {unit} by "
        f"{_percent(1 - sqrt(0.5))}."
    )


def _percent(proportion: float) -> str:
    return f"{100 * proportion:.0f}%"


def _unscored_note(name: str, counts: Sequence[int], total: str) -> str:
    reasons = [
        f"{count:,} {'errors' if reason == 'error' and count > 1 else reason}"
        for reason, count in zip(NO_SCORE, counts, strict=True)
        if count
    ]
    prefix = "" if name == DEFAULT_SYSTEM_NAME else f"{name}: "
    return f"{prefix}{sum(counts):,} of {total} have no score ({', '.join(reasons)})."
