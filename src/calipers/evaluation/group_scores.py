"""Values of measures in groups of rows that are ordered by scores, in memory or in batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.caching import cached_property
from calipers.curves.ranking_curves import CutoffCurves, measures_by_rank
from calipers.data.arrays import take_rows, to_numbers
from calipers.data.columns import MISSING, drop_incomplete, incomplete_rows
from calipers.data.costs import Costs, cost_column_name, to_costs
from calipers.data.errors import InputError
from calipers.data.ranking_rows import RankingRows, known_of_groups
from calipers.engines.accumulators import RowTable
from calipers.engines.base import Mergeable
from calipers.evaluation.default_comparison import default_comparison
from calipers.evaluation.shared import Statistics, column_name
from calipers.evaluation.slice_definitions import define_slices
from calipers.evaluation.stored_predictions import Common
from calipers.evaluation.stream_columns import StreamColumns, file_origins
from calipers.evaluation.topic_scores import TopicScores
from calipers.evaluation.topic_slices import slice_topics
from calipers.measures import Measure
from calipers.report.numbers import format_count
from calipers.results.estimate import UNNAMED
from calipers.statistics import FloatArray, JudgedRankings

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa

    from calipers.data.streams import Batch
    from calipers.evaluation.options import Options
    from calipers.inference.settings import Settings
    from calipers.results import Curve, Evaluation


def has_tie_formula(measure: Measure) -> bool:
    """Return whether the value under all scores tied is cheap to compute and has a direction."""
    d, ties = measure.definition, measure.parameters.get("ties")
    exact = d.ties is not None if ties in ("id", "average") else d.monotone
    return exact and d.higher_is_better is not None and d.weight is None


def score_groups(
    groups: tuple[str, ...],
    systems: Mapping[str, JudgedRankings],
    chosen: list[Measure],
    settings: Settings,
    common: Common = dict,
    *,
    zero: bool,
) -> TopicScores:
    """Compute the values of each group, and those of a system that scores all rows equally."""
    statistics: dict[str, Statistics] = {n: {JudgedRankings: of} for n, of in systems.items()}
    made = TopicScores.from_systems(
        groups, statistics, chosen, settings, zero=zero, unit="groups", common=common
    )
    same: dict[str, Statistics] = {"": {JudgedRankings: next(iter(systems.values())).tie_all()}}
    known = [j for j, m in enumerate(chosen) if has_tie_formula(m)]
    constant = np.full((len(groups), len(chosen)), np.nan)
    if known:
        own = TopicScores.from_systems(
            groups, same, [chosen[j] for j in known], settings, zero=zero
        )
        constant[:, known] = own.values[""]
    return replace(made, constant=constant)


def select_curve_measure(measures: Sequence[Measure]) -> Measure | None:
    """Return the measure to draw at each rank.

    It is the first measure with a cutoff that is summarized by the mean and has a formula for
    ties.
    """
    for measure in measures:
        cut = measure.parameters.get("cutoff") is not None
        if cut and measure.definition.summary == "mean" and has_tie_formula(measure):
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
    of = source.curve_options(zero=zero)
    return CutoffCurves(**of, measure=measure, systems=source.systems, values=values)


def group_notes(none: int, number: int, rel: int, *, zero: bool) -> list[str]:
    """Return a note on the number of groups without a relevant row."""
    if not none:
        return []
    groups = format_count(number, "groups")
    them = f"{none} of {groups} {'have' if none > 1 else 'has'} no row of grade {rel} or more."
    what = "score 0" if zero else "have no value"
    return [f"{them} Measures of what is relevant {what} there."]


@dataclass(frozen=True)
class MissingCounts(Mergeable):
    """Number of rows, of dropped rows, and of missing values in each column."""

    rows: int
    lost: int
    counts_by_system: Mapping[str, int]

    def __add__(self, other: MissingCounts) -> MissingCounts:
        by = {
            name: number + other.counts_by_system[name]
            for name, number in self.counts_by_system.items()
        }
        return MissingCounts(self.rows + other.rows, self.lost + other.lost, by)

    @property
    def notes(self) -> list[str]:
        """Note on dropped rows, if there are any."""
        return [drop_incomplete(self.lost, self.rows, self.counts_by_system)] if self.lost else []


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
    constant: FloatArray
    #: How many documents are relevant in each.
    relevant: FloatArray
    #: What else is known of each: its weight, and what it is cut by.
    auxiliary_table: RowTable
    missing: MissingCounts

    def __add__(self, other: _GroupScores) -> _GroupScores:
        size, missing = len(self.groups), self.missing + other.missing
        if not (self.groups and other.groups):
            return replace(self if self.groups else other, missing=missing)
        reasons = {
            name: tuple(
                _merge_reasons(one, two, size)
                for one, two in zip(of, other.reasons[name], strict=True)
            )
            for name, of in self.reasons.items()
        }
        weights = {
            name: {j: np.concatenate([w, other.weights[name][j]]) for j, w in of.items()}
            for name, of in self.weights.items()
        }
        return _GroupScores(
            self.groups + other.groups,
            {name: np.vstack([of, other.values[name]]) for name, of in self.values.items()},
            reasons,
            weights,
            np.vstack([self.constant, other.constant]),
            np.concatenate([self.relevant, other.relevant]),
            self.auxiliary_table + other.auxiliary_table,
            missing,
        )

    @cached_property
    def order(self) -> npt.NDArray[np.intp]:
        """Sorting permutation of the groups, by the bytes of their names."""
        encoded = [name.encode("utf-8", "surrogatepass") for name in self.groups]
        return np.array(sorted(range(len(encoded)), key=encoded.__getitem__), np.intp)

    def scores(self, measures: list[Measure], settings: Settings) -> TopicScores:
        """Return the values of the first measures, with the groups in order."""
        order, number = self.order, len(measures)
        place = np.empty(len(order), np.intp)
        place[order] = np.arange(len(order))
        reasons = {
            name: [
                {why: np.sort(place[groups]).tolist() for why, groups in one.items()}
                for one in of[:number]
            ]
            for name, of in self.reasons.items()
        }
        return TopicScores(
            tuple(self.groups[k] for k in order),
            measures,
            {name: of[order, :number] for name, of in self.values.items()},
            reasons,
            {
                name: {j: w[order] for j, w in of.items() if j < number}
                for name, of in self.weights.items()
            },
            settings,
            "groups",
            constant=self.constant[order, :number],
        )


def _merge_reasons(one: Mapping[str, Any], two: Mapping[str, Any], size: int) -> dict[str, Any]:
    found = dict(one)
    for why, groups in two.items():
        found[why] = np.concatenate([found.get(why, groups[:0]), groups + size])
    return found


@dataclass(frozen=True, eq=False)
class _MeasureGroups:
    """Task that evaluates the groups of a batch."""

    group: str
    truth: str
    score: Mapping[str, str]
    #: What else is known of a group, by what it is, and of what each system costs.
    known: Mapping[str, str]
    costs: Mapping[str, Mapping[str, str]]
    #: The columns that groups are cut by.
    slices: tuple[str, ...]
    measures: tuple[Measure, ...]
    settings: Settings
    rel: int
    drops_undefined: bool
    zero_undefined: bool

    def __call__(self, batch: Batch) -> _GroupScores:
        """Return the values of the groups of a batch."""
        try:
            return self._measure_groups(batch)
        except InputError as error:
            raise batch.told(error) from None

    def _measure_groups(self, batch: Batch) -> _GroupScores:
        named, missing = self._complete(batch)
        if missing.lost == batch.rows:
            none = np.zeros(0)
            return _GroupScores(
                (), {}, {}, {}, none, none, RowTable.from_columns({"group": []}), missing
            )
        score = named["score"]
        rows = RankingRows.read(named["group"], named["truth"])
        ranked = {}
        for name, column in (score if isinstance(score, dict) else {UNNAMED: score}).items():
            own = to_numbers(column, column_name("score", name)).astype(np.float64)
            ranked[name] = JudgedRankings(**rows.arrays(own), averaged=True)
        made = score_groups(
            rows.groups, ranked, list(self.measures), self.settings, zero=self.zero_undefined
        )
        assert made.constant is not None
        reasons = {
            name: tuple({why: np.array(of) for why, of in one.items()} for one in by)
            for name, by in made.reasons.items()
        }
        beside = {
            **{f"slice {name}": (of, f"slice {name!r}") for name, of in named["slices"].items()},
            **{
                what: (to_numbers(named[what], what) if what == "weight" else named[what], what)
                for what in self.known
            },
            **{
                cost_column_name(cost, name): (to_costs(of, what, len(rows.group)), what)
                for cost, by in named["cost"].items()
                for name, of in by.items()
                for what in (cost_column_name(cost, name),)
            },
        }
        of_groups = {key: rows.of_groups(column, what) for key, (column, what) in beside.items()}
        relevant = next(iter(ranked.values())).relevant(self.rel).astype(np.float64)
        known = RowTable.from_columns({"group": rows.groups, **of_groups})
        return _GroupScores(
            made.topics, made.values, reasons, made.weights, made.constant, relevant, known, missing
        )

    def _complete(self, batch: Batch) -> tuple[dict[str, Any], MissingCounts]:
        """Return the columns by role without incomplete rows, and the counts of missing values."""
        columns = {name: _decode_dictionary(of) for name, of in batch.columns.items()}
        of_systems = {name: columns[column] for name, column in self.score.items()}
        named = {
            "group": columns[self.group],
            "truth": columns[self.truth],
            "score": of_systems[UNNAMED] if list(of_systems) == [UNNAMED] else of_systems,
            **{what: columns[name] for what, name in self.known.items()},
            "slices": {name: columns[name] for name in self.slices},
            "cost": {
                cost: {name: columns[column] for name, column in by.items()}
                for cost, by in self.costs.items()
            },
        }
        if not self.drops_undefined:
            return named, MissingCounts(batch.rows, 0, {})
        lost, by = incomplete_rows(named)
        assert lost is not None
        left = np.flatnonzero(~lost)
        made = {what: take_rows(values, left) for what, values in named.items()}
        return made, MissingCounts(batch.rows, batch.rows - len(left), by)


def _decode_dictionary(column: pa.Array) -> pa.Array:
    """Return a column without dictionary encoding, which may differ between batches."""
    import pyarrow.types as of_type

    return column.dictionary_decode() if of_type.is_dictionary(column.type) else column


#: What may be known of a group besides.
_KNOWN = ("weight", "count", "cluster", "time")


def rank_distributed(
    data: Any,
    named: Mapping[str, Any],
    options: Options,
    measures: list[Measure],
    conventions: Mapping[str, Any],
) -> Evaluation:
    """Evaluate how systems order the rows of each group, for distributed rows."""
    baseline, settings, zero = options.baseline, options.settings, options.undefined == "zero"
    if not (baseline is None or isinstance(baseline, str)):
        raise InputError(
            "baseline: a stream cannot be compared with a saved evaluation; expected the name of a "
            "system, or engine='memory'"
        )
    columns, one, costs = _columns(data, named, options)
    assert isinstance(columns.truth, str)
    group, score = one["group"][UNNAMED], one["score"]
    at, number = select_curve_measure(measures) if options.curves else None, len(measures)
    rel = conventions["rel"]
    work = _MeasureGroups(
        group,
        columns.truth,
        score,
        {what: one[what][UNNAMED] for what in _KNOWN if one[what]},
        costs.columns,
        tuple(columns.slice_columns),
        (*measures, *(() if at is None else measures_by_rank(at))),
        settings,
        rel,
        options.missing == "drop",
        zero,
    )
    rows = columns.stream.group_batches(group)
    found = rows.reduce(work, columns.names)
    lost, table = found.missing.notes, found.auxiliary_table.table.take(found.order)
    known = {what: table[what] for what in work.known}
    source = found.scores(measures, settings).with_columns(
        known_of_groups(table["group"].to_pylist(), known)
    )
    kept = np.arange(len(found.groups)) if source.topic_indices is None else source.topic_indices
    parts = {
        name: {part: table[f"slice {column}"].take(kept) for part, column in of.items()}
        for name, of in columns.slices.items()
    }
    made, how = define_slices(parts, options.slice_bins, len(source.topics), "groups")
    none = int(np.count_nonzero(found.relevant[found.order[kept]] == 0))
    spent = {
        cost: {name: np.asarray(table[cost_column_name(cost, name)]) for name in by}
        for cost, by in costs.columns.items()
    }
    return source.evaluation(
        "ranking",
        {**conventions, "engine": rows.kind},
        file_origins(rows),
        comparison=default_comparison(
            source, baseline, settings, options.primary, compare=options.compare
        ),
        notes=(*lost, *group_notes(none, len(source.topics), rel, zero=zero), *how),
        slices=slice_topics(source, made),
        costs=Costs(spent, costs.numbers),
        cut_by=made,
        curves=make_curves(source, at, partial(_rank_values, found, number), zero=zero),
    )


def _columns(
    data: Any, named: Mapping[str, Any], options: Options
) -> tuple[StreamColumns, dict[str, dict[str, str]], Costs]:
    """Return the columns of the stream, the column of each role by system, and the costs."""
    missing, costs = options.missing, Costs.of(options.cost)
    if missing not in MISSING:
        raise InputError(f"missing is {missing!r}, expected one of {', '.join(MISSING)}")
    if named["group"] is None:
        raise InputError("group: names no column of data=")
    said = {what: named[what] for what in ("group", "score", *_KNOWN)}
    said |= {cost_column_name(cost): by for cost, by in costs.columns.items()}
    others = {"id": options.id, "slices": named["slices"]}
    columns = StreamColumns.from_arguments(
        data, {"truth": named["truth"], **said}, others, replace(options, cost=None)
    )
    if not isinstance(columns.truth, str):
        raise InputError(f"truth: takes one column, and {named['truth']!r} stands for several")
    one = {what: _single_columns(columns, what) for what in said}
    for what in ("group", *_KNOWN):
        if one[what] and UNNAMED not in one[what]:
            raise InputError(f"{what}: has a value for each group, expected the name of one column")
    for what in ("group", "score"):
        if not one[what]:
            raise InputError(f"{what}: names no column of data=")
    costs = replace(costs, columns={cost: one[cost_column_name(cost)] for cost in costs.columns})
    return columns, one, costs.by_system(tuple(one["score"]))


def _rank_values(found: _GroupScores, number: int, system: str | None) -> FloatArray:
    """Return the value of each group at each rank.

    These columns follow those of the first ``number`` measures.
    """
    of = found.constant if system is None else found.values[system]
    return of[found.order, number:]


def _single_columns(columns: StreamColumns, kind: str) -> dict[str, str]:
    """Return the column of each system for a role that takes a single column."""
    found = {}
    for name, column in columns.output_columns.get(kind, {}).items():
        if not isinstance(column, str):
            raise InputError(f"{column_name(kind, name)}: has several columns, expected one")
        found[name] = column
    return found
