"""Values of measures in groups of rows that are ordered by scores, in memory or in batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.caching import cached_property
from calipers.curves.ranking_curves import CutoffCurves, measures_at_ranks
from calipers.data.arrays import take_rows, to_numbers
from calipers.data.arrow_types import decode_dictionary
from calipers.data.columns import incomplete_rows
from calipers.data.costs import ONLY_SYSTEM, Costs, cost_column_name, to_costs
from calipers.data.errors import InputError, set_input_rows
from calipers.data.ranking_rows import RankingRows, group_unit_columns
from calipers.engines.accumulators import RowTable
from calipers.engines.base import Mergeable
from calipers.engines.pass_tasks import MissingCounts
from calipers.evaluation.default_comparison import default_comparison
from calipers.evaluation.finding_inputs import from_group_values
from calipers.evaluation.shared import StatisticsByType, column_name
from calipers.evaluation.slice_definitions import define_slices
from calipers.evaluation.stored_predictions import CommonProperties
from calipers.evaluation.stream_columns import StreamColumns, file_origins, systems_by_name
from calipers.evaluation.topic_scores import TopicScores
from calipers.evaluation.topic_slices import slice_topics
from calipers.lazy_dataclasses import dataclass
from calipers.measures import Measure
from calipers.report.numbers import format_count
from calipers.results.estimate import DEFAULT_SYSTEM_NAME
from calipers.statistics import FloatArray, IntArray, JudgedRankings

if TYPE_CHECKING:
    import numpy.typing as npt

    from calipers.data.streams import Batch
    from calipers.evaluation.options import Options
    from calipers.inference.settings import Settings
    from calipers.results import Curve, Evaluation


def has_tie_formula(measure: Measure) -> bool:
    """Return whether the value under all scores tied is cheap to compute and has a direction."""
    d, ties = measure.definition, measure.parameters.get("ties")
    has_formula = d.ties is not None if ties in ("id", "average") else d.monotone
    return has_formula and d.higher_is_better is not None and d.weight is None


def score_groups(
    groups: tuple[str, ...],
    systems: Mapping[str, JudgedRankings],
    measures: list[Measure],
    settings: Settings,
    common: CommonProperties = dict,
    *,
    zero_undefined: bool,
) -> TopicScores:
    """Compute the values of each group, and those of a system that scores all rows equally."""
    statistics: dict[str, StatisticsByType] = {
        n: {JudgedRankings: rankings} for n, rankings in systems.items()
    }
    scores = TopicScores.from_systems(
        groups, statistics, measures, settings, zero=zero_undefined, unit="groups", common=common
    )
    tied_statistics: dict[str, StatisticsByType] = {
        "": {JudgedRankings: next(iter(systems.values())).tie_all()}
    }
    measure_indices = [j for j, m in enumerate(measures) if has_tie_formula(m)]
    no_skill_values = np.full((len(groups), len(measures)), np.nan)
    if measure_indices:
        tied_scores = TopicScores.from_systems(
            groups,
            tied_statistics,
            [measures[j] for j in measure_indices],
            settings,
            zero=zero_undefined,
        )
        no_skill_values[:, measure_indices] = tied_scores.values[""]
    return replace(scores, no_skill_values=no_skill_values)


def select_curve_measure(measures: Sequence[Measure]) -> Measure | None:
    """Return the measure to draw at each rank.

    It is the first measure with a cutoff that is summarized by the mean and has a formula for
    ties.
    """
    for measure in measures:
        has_cutoff = measure.parameters.get("cutoff") is not None
        if has_cutoff and measure.definition.summary == "mean" and has_tie_formula(measure):
            return measure
    return None


def make_curves(
    source: TopicScores,
    measure: Measure | None,
    values: Callable[[str | None], FloatArray],
    *,
    zero: bool,
) -> Sequence[Curve]:
    """Return the curves of a measure at each rank.

    ``values`` returns the values of each group for a system, or for tied scores if it is None.
    """
    if measure is None:
        return ()
    options = source.curve_options(zero=zero)
    return CutoffCurves(**options, measure=measure, systems=source.systems, compute_values=values)


def group_notes(n_without_relevant: int, n_groups: int, rel: int, *, zero: bool) -> list[str]:
    """Return a note on the number of groups without a relevant row."""
    if not n_without_relevant:
        return []
    groups = format_count(n_groups, "groups")
    verb = "have" if n_without_relevant > 1 else "has"
    subject = f"{n_without_relevant} of {groups} {verb} no row of grade {rel} or more."
    treatment = "score 0" if zero else "are undefined"
    return [f"{subject} Measures of relevance {treatment} there."]


@dataclass(frozen=True, eq=False)
class _GroupScores(Mergeable):
    """Values of a subset of the groups, with the metadata of the groups.

    The values are laid out as in :class:`TopicScores`.
    """

    groups: tuple[str, ...]
    values: Mapping[str, FloatArray]
    #: Of each measure the groups that have no value, by the reason.
    reasons: Mapping[str, tuple[Mapping[str, npt.NDArray[Any]], ...]]
    weights: Mapping[str, Mapping[int, FloatArray]]
    no_skill_values: FloatArray
    #: How many documents are relevant in each, and how many distinct grades there are.
    n_relevant: FloatArray
    n_grades: IntArray
    #: Other columns of each group: its weight, and the columns that define slices.
    auxiliary_table: RowTable
    missing: MissingCounts

    def __add__(self, other: _GroupScores) -> _GroupScores:
        size, missing = len(self.groups), self.missing + other.missing
        if not (self.groups and other.groups):
            return replace(self if self.groups else other, missing=missing)
        reasons = {
            name: tuple(
                _merge_reasons(first, second, size)
                for first, second in zip(per_measure, other.reasons[name], strict=True)
            )
            for name, per_measure in self.reasons.items()
        }
        weights = {
            name: {j: np.concatenate([w, other.weights[name][j]]) for j, w in per_measure.items()}
            for name, per_measure in self.weights.items()
        }
        return _GroupScores(
            self.groups + other.groups,
            {
                name: np.vstack([per_measure, other.values[name]])
                for name, per_measure in self.values.items()
            },
            reasons,
            weights,
            np.vstack([self.no_skill_values, other.no_skill_values]),
            np.concatenate([self.n_relevant, other.n_relevant]),
            np.concatenate([self.n_grades, other.n_grades]),
            self.auxiliary_table + other.auxiliary_table,
            missing,
        )

    @cached_property
    def sorting_indices(self) -> npt.NDArray[np.intp]:
        """Sorting permutation of the groups, by the bytes of their names."""
        encoded = [name.encode("utf-8", "surrogatepass") for name in self.groups]
        return np.array(sorted(range(len(encoded)), key=encoded.__getitem__), np.intp)

    def to_topic_scores(self, measures: list[Measure], settings: Settings) -> TopicScores:
        """Return the values of the first measures, with the groups in order."""
        order, n_measures = self.sorting_indices, len(measures)
        sorted_indices = np.empty(len(order), np.intp)
        sorted_indices[order] = np.arange(len(order))
        reasons = {
            name: [
                {
                    reason: np.sort(sorted_indices[groups]).tolist()
                    for reason, groups in groups_by_reason.items()
                }
                for groups_by_reason in per_measure[:n_measures]
            ]
            for name, per_measure in self.reasons.items()
        }
        return TopicScores(
            tuple(self.groups[k] for k in order),
            measures,
            {name: per_measure[order, :n_measures] for name, per_measure in self.values.items()},
            reasons,
            {
                name: {j: w[order] for j, w in per_measure.items() if j < n_measures}
                for name, per_measure in self.weights.items()
            },
            settings,
            "groups",
            no_skill_values=self.no_skill_values[order, :n_measures],
        )


def _merge_reasons(
    first: Mapping[str, Any], second: Mapping[str, Any], size: int
) -> dict[str, Any]:
    merged = dict(first)
    for reason, groups in second.items():
        merged[reason] = np.concatenate([merged.get(reason, groups[:0]), groups + size])
    return merged


@dataclass(frozen=True, eq=False)
class _GroupTask:
    """Task that evaluates the groups of a batch."""

    group: str
    truth: str
    score: Mapping[str, str]
    #: Auxiliary columns of the groups by role, and the costs of each system.
    column_by_role: Mapping[str, str]
    costs: Mapping[str, Mapping[str, str]]
    #: The columns that define slices.
    slices: tuple[str, ...]
    measures: tuple[Measure, ...]
    settings: Settings
    rel: int
    drops_missing: bool
    zero_undefined: bool

    def __call__(self, batch: Batch) -> _GroupScores:
        """Return the values of the groups of a batch."""
        with batch.located_errors():
            return self._measure_groups(batch)

    def _measure_groups(self, batch: Batch) -> _GroupScores:
        by_role, missing = self._drop_incomplete(batch)
        if missing.n_dropped == batch.n_rows:
            none = np.zeros(0)
            return _GroupScores(
                (),
                {},
                {},
                {},
                none,
                none,
                none.astype(np.int64),
                RowTable.from_columns({"group": []}),
                missing,
            )
        score = by_role["score"]
        rows = RankingRows.read(by_role["group"], by_role["truth"])
        ranked = {}
        for name, column in (
            score if isinstance(score, dict) else {DEFAULT_SYSTEM_NAME: score}
        ).items():
            scores = to_numbers(column, column_name("score", name)).astype(np.float64, copy=False)
            ranked[name] = JudgedRankings(**rows.rank_scores(scores), averaged=True)
        scored = score_groups(
            rows.group_names,
            ranked,
            list(self.measures),
            self.settings,
            zero_undefined=self.zero_undefined,
        )
        assert scored.no_skill_values is not None
        reasons = {
            name: tuple(
                {reason: np.array(values) for reason, values in by_reason.items()}
                for by_reason in entries
            )
            for name, entries in scored.reasons.items()
        }
        auxiliary = {
            **{
                f"slice {name}": (values, f"slice {name!r}")
                for name, values in by_role["slices"].items()
            },
            **{
                label: (
                    to_numbers(by_role[label], label) if label == "weight" else by_role[label],
                    label,
                )
                for label in self.column_by_role
            },
            **{
                cost_column_name(cost, name): (to_costs(values, label, len(rows.group)), label)
                for cost, entries in by_role["cost"].items()
                for name, values in entries.items()
                for label in (cost_column_name(cost, name),)
            },
        }
        group_columns = {
            key: rows.reduce_to_groups(column, label) for key, (column, label) in auxiliary.items()
        }
        first_ranking = next(iter(ranked.values()))
        relevant = first_ranking.n_relevant(self.rel).astype(np.float64)
        auxiliary_table = RowTable.from_columns({"group": rows.group_names, **group_columns})
        return _GroupScores(
            scored.topics,
            scored.values,
            reasons,
            scored.measure_weights,
            scored.no_skill_values,
            relevant,
            first_ranking.n_grades,
            auxiliary_table,
            missing,
        )

    def _drop_incomplete(self, batch: Batch) -> tuple[dict[str, Any], MissingCounts]:
        """Return the columns by role without incomplete rows, and the counts of missing values."""
        columns = {name: decode_dictionary(column) for name, column in batch.columns.items()}
        score_columns = {name: columns[column] for name, column in self.score.items()}
        by_role = {
            "group": columns[self.group],
            "truth": columns[self.truth],
            "score": score_columns[DEFAULT_SYSTEM_NAME]
            if list(score_columns) == [DEFAULT_SYSTEM_NAME]
            else score_columns,
            **{role: columns[name] for role, name in self.column_by_role.items()},
            "slices": {name: columns[name] for name in self.slices},
            "cost": {
                cost: {name: columns[column] for name, column in missing_by_column.items()}
                for cost, missing_by_column in self.costs.items()
            },
        }
        if not self.drops_missing:
            return by_role, MissingCounts(batch.n_rows, 0, {})
        incomplete_mask, missing_by_column = incomplete_rows(by_role)
        assert incomplete_mask is not None
        complete_indices = np.flatnonzero(~incomplete_mask)
        set_input_rows(complete_indices)
        complete_columns = {
            role: take_rows(values, complete_indices) for role, values in by_role.items()
        }
        return complete_columns, MissingCounts(
            batch.n_rows, batch.n_rows - len(complete_indices), missing_by_column
        )


#: Other roles that a group may have.
_AUXILIARY_ROLES = ("weight", "count", "cluster", "time")


def evaluate_group_batches(
    data: Any,
    column_names: Mapping[str, Any],
    options: Options,
    measures: list[Measure],
    conventions: Mapping[str, Any],
) -> Evaluation:
    """Evaluate how systems order the rows of each group, for rows in batches."""
    baseline, settings, zero = options.baseline, options.settings, options.undefined == "zero"
    if not (baseline is None or isinstance(baseline, str)):
        raise InputError(
            "baseline: a stream cannot be compared with a saved evaluation; expected the name of a "
            "system, or engine='memory'"
        )
    columns, columns_by_role, costs = _find_columns(data, column_names, options)
    assert isinstance(columns.truth, str)
    group, score = columns_by_role["group"][DEFAULT_SYSTEM_NAME], columns_by_role["score"]
    curve_measure, n_measures = (
        select_curve_measure(measures) if options.curves else None,
        len(measures),
    )
    rel = conventions["rel"]
    work = _GroupTask(
        group,
        columns.truth,
        score,
        {
            role: columns_by_role[role][DEFAULT_SYSTEM_NAME]
            for role in _AUXILIARY_ROLES
            if columns_by_role[role]
        },
        costs.columns,
        tuple(columns.slice_columns),
        (*measures, *(() if curve_measure is None else measures_at_ranks(curve_measure))),
        settings,
        rel,
        options.missing == "drop",
        zero,
    )
    rows = columns.engine.group_batches(group)
    result = rows.reduce(work, columns.column_names)
    drop_notes, table = (
        result.missing.notes,
        result.auxiliary_table.table.take(result.sorting_indices),
    )
    auxiliary_columns = {role: table[role] for role in work.column_by_role}
    source = result.to_topic_scores(measures, settings).with_columns(
        group_unit_columns(table["group"].to_pylist(), auxiliary_columns)
    )
    topic_indices = (
        np.arange(len(result.groups)) if source.topic_indices is None else source.topic_indices
    )
    factors_by_slice = {
        name: {
            factor: table[f"slice {column}"].take(topic_indices)
            for factor, column in slice_columns.items()
        }
        for name, slice_columns in columns.slices.items()
    }
    slice_definitions, slice_notes = define_slices(
        factors_by_slice, options.slice_bins, len(source.topics), "groups"
    )
    n_without_relevant = int(
        np.count_nonzero(result.n_relevant[result.sorting_indices[topic_indices]] == 0)
    )
    cost_values = {
        cost: {name: np.asarray(table[cost_column_name(cost, name)]) for name in by_system}
        for cost, by_system in costs.columns.items()
    }
    by_slice = slice_topics(source, slice_definitions)
    evaluation = source.to_evaluation(
        "ranking",
        {**conventions, "engine": rows.kind},
        file_origins(rows),
        comparison=default_comparison(
            source, baseline, settings, options.primary, compare=options.compare
        ),
        notes=(
            *drop_notes,
            *group_notes(n_without_relevant, len(source.topics), rel, zero=zero),
            *slice_notes,
        ),
        slices=by_slice,
        costs=Costs(cost_values, costs.numbers),
        slice_definitions=slice_definitions,
        curves=make_curves(
            source, curve_measure, partial(_rank_values, result, n_measures), zero=zero
        ),
    )
    results = tuple(evaluation.estimates), evaluation.comparison, by_slice
    return replace(
        evaluation,
        findings=from_group_values(source, results, result.n_grades[result.sorting_indices]),
    )


def _find_columns(
    data: Any, column_names: Mapping[str, Any], options: Options
) -> tuple[StreamColumns, dict[str, dict[str, str]], Costs]:
    """Return the columns of the stream, the column of each role by system, and the costs."""
    costs = Costs.from_argument(options.cost)
    if column_names["group"] is None:
        raise InputError("group: does not name a column of data=")
    roles = {role: column_names[role] for role in ("group", "score", *_AUXILIARY_ROLES)}
    # One column without the name of a system is that of the only system, whatever its name.
    unnamed_costs = {
        c for c, by_system in costs.columns.items() if list(by_system) == [ONLY_SYSTEM]
    }
    roles |= {
        cost_column_name(cost): by_system[ONLY_SYSTEM] if cost in unnamed_costs else by_system
        for cost, by_system in costs.columns.items()
    }
    others = {"id": options.id, "slices": column_names["slices"]}
    columns = StreamColumns.from_arguments(
        data, {"truth": column_names["truth"], **roles}, others, replace(options, cost=None)
    )
    if not isinstance(columns.truth, str):
        raise InputError(
            f"truth: takes one column, and {column_names['truth']!r} stands for several"
        )
    columns_by_role = {role: _single_columns(columns, role) for role in roles}
    for role in ("group", *_AUXILIARY_ROLES):
        if columns_by_role[role] and DEFAULT_SYSTEM_NAME not in columns_by_role[role]:
            raise InputError(f"{role}: has a value for each group, expected the name of one column")
    for role in ("group", "score"):
        if not columns_by_role[role]:
            raise InputError(f"{role}: does not name a column of data=")
    cost_columns = {cost: columns_by_role[cost_column_name(cost)] for cost in costs.columns}
    for cost in unnamed_costs:
        cost_columns[cost] = {ONLY_SYSTEM: cost_columns[cost][DEFAULT_SYSTEM_NAME]}
    costs = replace(costs, columns=cost_columns)
    return columns, columns_by_role, costs.by_system(tuple(columns_by_role["score"]))


def _rank_values(scores: _GroupScores, n_measures: int, system: str | None) -> FloatArray:
    """Return the value of each group at each rank.

    These columns follow those of the first ``n_measures`` measures.
    """
    values = scores.no_skill_values if system is None else scores.values[system]
    return values[scores.sorting_indices, n_measures:]


def _single_columns(columns: StreamColumns, kind: str) -> dict[str, str]:
    """Return the column of each system for a role that takes a single column."""
    by_system = {}
    for name, column in systems_by_name(columns.output_columns.get(kind, {})).items():
        if not isinstance(column, str):
            raise InputError(f"{column_name(kind, name)}: has several columns, expected one")
        by_system[name] = column
    return by_system
