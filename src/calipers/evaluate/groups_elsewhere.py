"""Groups whose rows lie elsewhere: each is measured whole where it is, and its values come back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.data.arrays import as_numbers, taken
from calipers.data.columns import MISSING, incomplete, left_out
from calipers.data.errors import InputError
from calipers.data.ranking_rows import RankingRows
from calipers.data.trec import Origin
from calipers.data.unit_weights import unit_weights
from calipers.engines.adding import Rows
from calipers.engines.base import Partial
from calipers.engines.partitions import Remote
from calipers.evaluate.cuts import cuts, slice_columns
from calipers.evaluate.groups import notes_of, scores_of
from calipers.evaluate.several import comparison_if_several
from calipers.evaluate.shared import column_name
from calipers.evaluate.stream_columns import Columns
from calipers.evaluate.topic_slices import sliced_topics
from calipers.evaluate.topics import TopicScores
from calipers.measures import Measure
from calipers.once import cached_property
from calipers.results.estimate import UNNAMED
from calipers.statistics import FloatArray, JudgedRankings

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa

    from calipers.data.streams import Batch
    from calipers.evaluate.cuts import Bins
    from calipers.evaluate.kept import Baseline
    from calipers.inference.settings import Settings
    from calipers.results import Evaluation


@dataclass(frozen=True)
class Missing(Partial):
    """Rows, how many of them are left out, and how many values are missing in which column."""

    rows: int
    lost: int
    by: Mapping[str, int]

    def __add__(self, other: Missing) -> Missing:
        by = {name: number + other.by[name] for name, number in self.by.items()}
        return Missing(self.rows + other.rows, self.lost + other.lost, by)

    @property
    def notes(self) -> list[str]:
        """What is said of that."""
        return [left_out(self.lost, self.rows, self.by)] if self.lost else []


@dataclass(frozen=True, eq=False)
class _Measured(Partial):
    """The values of some groups, as :class:`TopicScores` has them, and what else is to be known of
    them."""

    groups: tuple[str, ...]
    values: Mapping[str, FloatArray]
    #: Of each measure the groups that have no value, by the reason.
    reasons: Mapping[str, tuple[Mapping[str, npt.NDArray[Any]], ...]]
    weights: Mapping[str, Mapping[int, FloatArray]]
    constant: FloatArray
    #: How many documents are relevant in each.
    relevant: FloatArray
    #: What else is known of each: its weight, and what it is cut by.
    beside: Rows
    missing: Missing

    def __add__(self, other: _Measured) -> _Measured:
        size = len(self.groups)
        reasons = {
            name: tuple(
                _reasons(one, two, size) for one, two in zip(of, other.reasons[name], strict=True)
            )
            for name, of in self.reasons.items()
        }
        weights = {
            name: {j: np.concatenate([w, other.weights[name][j]]) for j, w in of.items()}
            for name, of in self.weights.items()
        }
        return _Measured(
            self.groups + other.groups,
            {name: np.vstack([of, other.values[name]]) for name, of in self.values.items()},
            reasons,
            weights,
            np.vstack([self.constant, other.constant]),
            np.concatenate([self.relevant, other.relevant]),
            self.beside + other.beside,
            self.missing + other.missing,
        )

    @cached_property
    def order(self) -> npt.NDArray[np.intp]:
        """The places of the groups in bytewise order, as everywhere."""
        encoded = [name.encode("utf-8", "surrogatepass") for name in self.groups]
        return np.array(sorted(range(len(encoded)), key=encoded.__getitem__), np.intp)

    def scores(self, measures: list[Measure], settings: Settings) -> TopicScores:
        """The values, groups in order."""
        order = self.order
        place = np.empty(len(order), np.intp)
        place[order] = np.arange(len(order))
        reasons = {
            name: [
                {why: np.sort(place[groups]).tolist() for why, groups in one.items()} for one in of
            ]
            for name, of in self.reasons.items()
        }
        return TopicScores(
            tuple(self.groups[k] for k in order),
            measures,
            {name: of[order] for name, of in self.values.items()},
            reasons,
            {name: {j: w[order] for j, w in of.items()} for name, of in self.weights.items()},
            settings,
            "groups",
            constant=self.constant[order],
        )


def _reasons(one: Mapping[str, Any], two: Mapping[str, Any], size: int) -> dict[str, Any]:
    found = dict(one)
    for why, groups in two.items():
        found[why] = np.concatenate([found.get(why, groups[:0]), groups + size])
    return found


@dataclass(frozen=True, eq=False)
class _Measuring:
    """Measures the groups of a batch."""

    group: str
    truth: str
    score: Mapping[str, str]
    weight: str | None
    #: The columns that groups are cut by.
    slices: tuple[str, ...]
    measures: tuple[Measure, ...]
    settings: Settings
    rel: int
    drop: bool
    zero: bool

    def __call__(self, batch: Batch) -> _Measured:
        """Of a batch."""
        try:
            return self._measured(batch)
        except InputError as error:
            raise InputError(f"{batch.where}: {error}") from None

    def _measured(self, batch: Batch) -> _Measured:
        named, missing = self._complete(batch)
        score, weight = named["score"], named["weight"]
        rows = RankingRows.read(named["group"], named["truth"])
        ranked = {}
        for name, column in (score if isinstance(score, dict) else {UNNAMED: score}).items():
            own = as_numbers(column, column_name("score", name)).astype(np.float64)
            ranked[name] = JudgedRankings(**rows.arrays(own), averaged=True)
        made = scores_of(rows.groups, ranked, list(self.measures), self.settings, zero=self.zero)
        assert made.constant is not None
        reasons = {
            name: tuple({why: np.array(of) for why, of in one.items()} for one in by)
            for name, by in made.reasons.items()
        }
        beside = {
            f"slice {name}": rows.of_groups(column, f"slice {name!r}")
            for name, column in named["slices"].items()
        }
        if weight is not None:
            beside["weight"] = rows.of_groups(as_numbers(weight, "weight"), "weight")
        relevant = next(iter(ranked.values())).relevant(self.rel).astype(np.float64)
        known = Rows.of({"group": rows.groups, **beside})
        return _Measured(
            made.topics, made.values, reasons, made.weights, made.constant, relevant, known, missing
        )

    def _complete(self, batch: Batch) -> tuple[dict[str, Any], Missing]:
        """The columns by what they are, without rows of which a value is missing."""
        columns = {name: _plain(of) for name, of in batch.columns.items()}
        of_systems = {name: columns[column] for name, column in self.score.items()}
        named = {
            "group": columns[self.group],
            "truth": columns[self.truth],
            "score": of_systems[UNNAMED] if list(of_systems) == [UNNAMED] else of_systems,
            "weight": None if self.weight is None else columns[self.weight],
            "slices": {name: columns[name] for name in self.slices},
        }
        if not self.drop:
            return named, Missing(batch.rows, 0, {})
        lost, by = incomplete(named)
        assert lost is not None
        left = np.flatnonzero(~lost)
        made = {what: taken(values, left) for what, values in named.items()}
        return made, Missing(batch.rows, batch.rows - len(left), by)


def _plain(column: pa.Array) -> pa.Array:
    """Without a dictionary, which other batches have not."""
    import pyarrow.types as of_type

    return column.dictionary_decode() if of_type.is_dictionary(column.type) else column


def ranking_elsewhere(
    data: Any,
    engine: str | None,
    named: Mapping[str, Any],
    refused: Mapping[str, Any],
    measures: list[Measure],
    settings: Settings,
    conventions: Mapping[str, Any],
    baseline: Baseline,
    primary: str | None,
    missing: str,
    bins: Bins | None,
    *,
    rel: int,
    zero: bool,
) -> Evaluation:
    """How well systems order the documents of each group, of rows that lie elsewhere."""
    if missing not in MISSING:
        raise InputError(f"missing is {missing!r}, expected one of {', '.join(MISSING)}")
    if not (baseline is None or isinstance(baseline, str)):
        raise InputError(
            "baseline: a system of another day is compared group by group in memory; name one of "
            "the systems"
        )
    if named["group"] is None:
        raise InputError("group: names no column of data=")
    slices = slice_columns(named["slices"])
    said = {"group": named["group"], "score": named["score"]}
    columns = Columns.of(
        data, named["truth"], said, named["weight"], None, missing, refused, engine, slices, bins
    )
    group = _one(columns, "group").get(UNNAMED)
    score = _one(columns, "score")
    if group is None or not score:
        raise InputError(f"{'group' if group is None else 'score'}: names no column of data=")
    if not isinstance(columns.truth, str):
        raise InputError(f"truth: takes one column, and {named['truth']!r} stands for several")
    assert isinstance(columns.stream, Remote)
    rows = columns.stream.whole(group)
    work = _Measuring(
        group, columns.truth, score, columns.weight, tuple(columns.of_slices), tuple(measures),
        settings, rel, missing == "drop", zero)  # fmt: skip
    found = rows.reduce(work, columns.names)
    source = found.scores(measures, settings).weighted(_weights(found))
    kept = np.arange(len(found.groups)) if source.kept is None else source.kept
    beside = found.beside.table.take(found.order[kept])
    parts = {
        name: {part: beside[f"slice {column}"] for part, column in of.items()}
        for name, of in columns.slices.items()
    }
    made, how = cuts(parts, bins, len(source.topics), "groups")
    none = int(np.count_nonzero(found.relevant[found.order[kept]] == 0))
    return source.evaluation(
        "ranking",
        {**conventions, "engine": rows.kind},
        [Origin("table", path) for path in rows.files] or [Origin("table", rows.name)],
        comparison=comparison_if_several(source, baseline, settings, primary),
        notes=(*found.missing.notes, *notes_of(none, len(source.topics), rel, zero=zero), *how),
        slices=sliced_topics(source, made),
        cut_by=made,
    )


def _one(columns: Columns, kind: str) -> dict[str, str]:
    """The column of each system, of which there is one."""
    found = {}
    for name, column in columns.said.get(kind, {}).items():
        if not isinstance(column, str):
            raise InputError(f"{column_name(kind, name)}: has several columns, expected one")
        found[name] = column
    return found


def _weights(found: _Measured) -> FloatArray | None:
    """What each group counts for."""
    table = found.beside.table.take(found.order)
    if "weight" not in table.column_names:
        return None
    groups = table["group"].to_pylist()
    weights = dict(zip(groups, table["weight"].to_pylist(), strict=True))
    return unit_weights(weights, groups, unit="group")
