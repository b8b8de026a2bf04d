"""Slices of a stream: their definition, and every measure on each slice."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.caching import cached_property
from calipers.data.arrays import from_arrow, missing_mask
from calipers.data.class_labels import encode_labels
from calipers.data.errors import InputError, did_you_mean
from calipers.engines.accumulators import DistinctValues
from calipers.engines.base import Engine, Mergeable, identity
from calipers.engines.pass_tasks import (
    BatchSystems,
    BoundStatistics,
    FirstPass,
    FirstPassResult,
    SecondPass,
)
from calipers.engines.passes import TwoPassEvaluation
from calipers.evaluation.slice_definitions import (
    MOST_SLICES,
    MOST_VALUES,
    NO_VALUE,
    check_edges,
    format_numbers,
    interval_label,
    interval_names,
    too_many,
)
from calipers.evaluation.stream_columns import MemoryLimit
from calipers.statistics import ScoreTable
from calipers.statistics.scores import ScoreBuffer

if TYPE_CHECKING:
    import numpy.typing as npt

    from calipers.data.streams import Batch
    from calipers.evaluation.stream_columns import StreamColumns
    from calipers.evaluation.stream_rows import BuildSystems
    from calipers.inference.point_estimate import PointEstimate
    from calipers.inference.settings import Settings
    from calipers.inference.two_samples import PermutedDifference
    from calipers.measures import Measure


#: Combinations of crossed columns, of which some may hold no row.
MOST_CROSSED = 1_000


@dataclass(frozen=True, eq=False)
class CategoricalSlices:
    """Slices by the values of a column; rows without one of these values come last."""

    names: tuple[str, ...]
    #: In the order of the names, as Arrow has them.
    values: Any

    def codes(self, column: Any) -> npt.NDArray[np.intp]:
        """Return the slice of each row."""
        import pyarrow.compute as pc

        found = pc.index_in(
            _decode_dictionary(column).cast(self.values.type), value_set=self.values
        )
        return np.asarray(from_arrow(found.fill_null(len(self.values))), np.intp)


@dataclass(frozen=True, eq=False)
class BinnedSlices:
    """Slices by bins of a numeric column.

    A ``common_value`` number is a slice of its own, the first; rows without a number come last.
    """

    names: tuple[str, ...]
    edges: tuple[float, ...]
    common_value: float | None = None

    def codes(self, column: Any) -> npt.NDArray[np.intp]:
        """Return the slice of each row."""
        numbers = from_arrow(column).astype(np.float64, copy=False)  # null is NaN
        place = np.searchsorted(np.array(self.edges), numbers, side="right")
        if self.common_value is not None:
            place = np.where(numbers == self.common_value, 0, place + 1)
        return np.where(np.isnan(numbers), len(self.names), place)


@dataclass(frozen=True, eq=False)
class StreamSliceDefinition:
    """Definition of slices by one column, or by several crossed columns."""

    name: str
    columns: Mapping[str, CategoricalSlices | BinnedSlices]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all slices, including those that may have no rows."""
        made = [""]
        for of in self.columns.values():
            own = (*of.names, NO_VALUE)
            made = [f"{before}, {name}" if before else name for before in made for name in own]
        return tuple(made)

    def codes(self, columns: Mapping[str, Any]) -> npt.NDArray[np.intp]:
        """Return the slice of each row of a batch."""
        place = np.zeros(len(next(iter(columns.values()))), np.intp)
        for name, of in self.columns.items():
            place = place * (len(of.names) + 1) + of.codes(columns[name])
        return place


def _decode_dictionary(column: Any) -> Any:
    import pyarrow as pa

    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


# --- The first look ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _ColumnSummary(Mergeable):
    """Distinct values of each column, or the frequency of each number of a numeric column."""

    columns: Mapping[str, Any]

    def __add__(self, other: _ColumnSummary) -> _ColumnSummary:
        return _ColumnSummary({name: of + other.columns[name] for name, of in self.columns.items()})


@dataclass(frozen=True, eq=False)
class _SummaryTask:
    """Task that summarizes the columns of a batch."""

    numbers: tuple[str, ...]
    other_columns: tuple[str, ...]
    weight: str | None
    #: Columns whose rows are left out where they have no value.
    required_columns: tuple[str, ...]

    def __call__(self, batch: Batch) -> _ColumnSummary:
        columns = self._counted_rows(batch.columns)
        found: dict[str, Any] = {
            name: DistinctValues.from_array(columns[name]) for name in self.other_columns
        }
        for name in self.numbers:
            values = from_arrow(columns[name])
            values = values if values.dtype == np.float32 else values.astype(np.float64, copy=False)
            values = values[~np.isnan(values)]
            none = np.zeros(len(values), bool)
            found[name] = ScoreBuffer((none,), (values,), None, len(values))
        return _ColumnSummary(found)

    def _counted_rows(self, columns: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the columns of the rows that are evaluated."""
        import pyarrow as pa

        there = np.ones(len(next(iter(columns.values()))), bool)
        for name in self.required_columns:
            there &= ~missing_mask(columns[name], name)
        if self.weight is not None:
            there &= from_arrow(columns[self.weight]) != 0
        if there.all():
            return columns
        kept = pa.array(there)
        return {name: columns[name].filter(kept) for name in (*self.numbers, *self.other_columns)}


@dataclass(frozen=True, eq=False)
class _SummaryLimit:
    """Limit of the number of slices and of the memory of a summary."""

    memory_limit: MemoryLimit

    def __call__(self, looked: _ColumnSummary) -> _ColumnSummary:
        for name, of in looked.columns.items():
            if isinstance(of, DistinctValues) and len(of.values) > MOST_SLICES + 1:
                raise InputError(too_many(name, len(of.values), "more than "))
        kept = {
            name: of if isinstance(of, DistinctValues) else self.memory_limit(of)
            for name, of in looked.columns.items()
        }
        return _ColumnSummary(kept)


def define_slices(c: StreamColumns, memory: int) -> tuple[list[StreamSliceDefinition], list[str]]:
    """Return the definitions of the requested slices, and notes on them."""
    bins = {str(name): edges for name, edges in (c.bins or {}).items()}
    rows, slices = c.stream, c.slices
    parts = {part: column for of in slices.values() for part, column in of.items()}
    known = list(dict.fromkeys(parts.values()))
    for name in bins:
        if name not in parts:
            hint = did_you_mean(name, list(parts))
            raise InputError(f"bins for {name!r}, which is no slice; {hint}")
    asked = {parts[name]: check_edges(name, edges) for name, edges in bins.items()}
    wanted = [name for name in known if name not in asked]
    found, told = _summarize_columns(c, wanted, memory) if wanted else ({}, [])
    for name, edges in asked.items():
        if _numeric_type(rows, name) is None:
            raise InputError(f"slice {name!r}: bins need a column of numbers")
        found[name] = BinnedSlices(tuple(interval_label(edges)), tuple(edges))
        told.append(f"{name} is cut as asked: {format_numbers(edges)}.")
    made = [
        StreamSliceDefinition(name, {c: found[c] for c in of.values()})
        for name, of in slices.items()
    ]
    for cut in made:
        if len(cut.names) > (MOST_SLICES + 1 if len(cut.columns) == 1 else MOST_CROSSED):
            raise InputError(too_many(cut.name, len(cut.names) - 1, "up to "))
    return made, told


def _summarize_columns(
    c: StreamColumns, columns: Sequence[str], memory: int
) -> tuple[dict[str, CategoricalSlices | BinnedSlices], list[str]]:
    rows = c.stream
    if not rows.is_rereadable:
        raise InputError(
            f"{rows.name}: can be read only once: slices take a look at their columns before, but "
            "for those with slice_bins="
        )
    numbers = tuple(name for name in columns if _numeric_type(rows, name) is not None)
    others = tuple(name for name in columns if name not in numbers)
    share = MemoryLimit(memory // (2 * len(columns)))
    needed = tuple(c.required_columns) if c.missing == "drop" else ()
    counted = [name for name in (c.weight, c.count) if name is not None]
    read = list(dict.fromkeys([*columns, *needed, *counted]))
    look = _SummaryTask(numbers, others, c.weight, needed)
    looked = rows.reduce(look, read, _SummaryLimit(share), "finding slices")
    found: dict[str, CategoricalSlices | BinnedSlices] = {}
    notes = []
    for name in columns:
        of = looked.columns[name]
        if name in others:
            found[name] = _labels(of.values.drop_null(), name)
            continue
        table = share(of.finalize())
        if table.shift:
            raise InputError(
                f"slice {name!r}: has more distinct numbers than the memory holds; give bins, or "
                "allow more with memory="
            )
        found[name], note = _bin_numbers(name, table, _numeric_type(rows, name))
        notes += note
    return found, notes


def _numeric_type(rows: Engine, name: str) -> Any:
    """Return the type of a numeric column, or None for other columns."""
    import pyarrow as pa

    kind = rows.schema.field(name).type
    return kind if pa.types.is_integer(kind) or pa.types.is_floating(kind) else None


def _labels(values: Any, name: str) -> CategoricalSlices:
    """Return the slices by the distinct labels of a column, in their order."""
    import pyarrow as pa

    if not len(values):
        return CategoricalSlices((), values)
    column = encode_labels(values, f"slice {name!r}")
    order = np.argsort(column.codes, kind="stable")
    if NO_VALUE in column.names and values.null_count:
        raise InputError(f"slice {name!r}: {NO_VALUE!r} is a value; expected another name")
    return CategoricalSlices(column.names, values.take(pa.array(order)))


def _bin_numbers(
    name: str, table: ScoreTable, kind: Any
) -> tuple[CategoricalSlices | BinnedSlices, list[str]]:
    """Return the bins of a numeric column, given the frequency of each number, and notes."""
    import pyarrow as pa

    values, counts = table.scores[::-1], table.negative[::-1]
    if len(values) <= MOST_VALUES:
        labels = pa.array(values).cast(kind)
        return CategoricalSlices(
            encode_labels(labels, f"slice {name!r}").names if len(values) else (), labels
        ), []
    usual = int(counts.argmax())
    if counts[usual] <= counts.sum() / 2:
        edges = _quartiles(values, counts)
        note = f"{name} is cut at its quartiles: {format_numbers(edges)}."
        return BinnedSlices(tuple(interval_label(edges)), tuple(edges)), [note]
    number, others = float(values[usual]), np.arange(len(values)) != usual
    share = counts[usual] / counts.sum()
    told = f"{name} is {format_numbers([number])} in {share:.0%} of the rows, which are a slice"
    if len(values) - 1 <= MOST_VALUES:
        labels = pa.array([number, *values[others]]).cast(kind)
        rest = encode_labels(labels[1:], f"slice {name!r}").names
        return CategoricalSlices((format_numbers([number]), *rest), labels), [f"{told}."]
    edges = _quartiles(values[others], counts[others])
    note = f"{told}; the others are cut at their quartiles: {format_numbers(edges)}."
    return BinnedSlices(
        (format_numbers([number]), *interval_names(edges, number)), tuple(edges), number
    ), [note]


def _quartiles(values: npt.NDArray[Any], counts: npt.NDArray[Any]) -> list[float]:
    """Return the quartiles of all rows, interpolated as in :func:`numpy.quantile`.

    They are rounded as they are written.
    """
    upto = np.cumsum(counts)
    at = (upto[-1] - 1) * np.array([0.25, 0.5, 0.75])
    ends = np.floor(at), np.ceil(at)
    low, high = (values[np.searchsorted(upto, end, side="right")] for end in ends)
    found = low + (high - low) * (at - np.floor(at))
    return list(dict.fromkeys(float(f"{x:.6g}") for x in found))


# --- Several pieces of a batch at once -----------------------------------------------------------


@dataclass(frozen=True, eq=False)
class PerSubset(Mergeable):
    """Results on several subsets."""

    values: tuple[Any, ...]

    def __add__(self, other: PerSubset) -> PerSubset:
        return PerSubset(tuple(a + b for a, b in zip(self.values, other.values, strict=True)))


@dataclass(frozen=True, eq=False)
class SubsetSystems:
    """Systems on all rows of a batch, on each slice and, if requested, on each complement."""

    builds: BuildSystems
    cuts: Sequence[StreamSliceDefinition]
    has_complements: bool = False

    def __call__(self, batch: Batch) -> list[BatchSystems]:
        """Return the systems on each subset of a batch."""
        rows, whole = self.builds.both(batch)
        codes = [cut.codes(rows.slices)[rows.counted_rows] for cut in self.cuts]
        insides = [
            code == k
            for cut, code in zip(self.cuts, codes, strict=True)
            for k in range(len(cut.names))
        ]
        pieces = [*insides, *(~inside for inside in insides)] if self.has_complements else insides
        return [whole, *(self._take_rows(whole, np.flatnonzero(of)) for of in pieces)]

    @staticmethod
    def _take_rows(whole: BatchSystems, rows: Any) -> BatchSystems:
        return BatchSystems(
            {name: system.take_rows(rows) for name, system in whole.systems.items()}
        )


@dataclass(frozen=True)
class SubsetView:
    """Selector of one of the subsets."""

    which: int

    def __call__(self, pieces: Sequence[BatchSystems]) -> BatchSystems:
        """Return the systems on this subset."""
        return pieces[self.which]


@dataclass(frozen=True, eq=False)
class CombinedTask:
    """Tasks on the subsets of a batch, which are made once."""

    subset_systems: SubsetSystems
    works: Sequence[Callable[[Sequence[BatchSystems]], Mergeable]]

    def __call__(self, batch: Batch) -> PerSubset:
        """Return the result of each task on a batch."""
        made = self.subset_systems(batch)
        return PerSubset(tuple(work(made) for work in self.works))


@dataclass(frozen=True, eq=False)
class _MemoryLimit:
    """Limit of the memory: half of it for all rows, half for all slices."""

    memory: int

    def __call__(self, each: PerSubset) -> PerSubset:
        share = self.memory // 2
        sizes = share, share // max(len(each.values) - 1, 1)
        kept = [BoundStatistics(MemoryLimit(size)) for size in sizes]
        return PerSubset(tuple(kept[k > 0](part) for k, part in enumerate(each.values)))


# --- Passes over slices --------------------------------------------------------------------------


class _SharedPass(Engine):
    """Engine of rows whose pass is shared with other subsets."""

    def __init__(
        self, rows: Engine, first: Callable[[], Any], second: Callable[..., Any] | None = None
    ) -> None:
        self.kind, self.name, self.rows, self.is_rereadable = (
            rows.kind,
            rows.name,
            rows.rows,
            rows.is_rereadable,
        )
        self._rows, self._first, self._second = rows, first, second

    def reduce(
        self,
        work: Callable[[Any], Any],
        columns: Sequence[str] = (),
        kept: Callable[[Any], Any] = identity,
        what: str = "reading",
    ) -> Any:
        """Return the result of the shared pass, or read the rows."""
        if isinstance(work, FirstPass):
            return self._first()
        if self._second is None:
            return self._rows.reduce(work, columns, kept, what)
        return self._second(work)


def single_use_engine(rows: Engine) -> Engine:
    """Return an engine of rows that have been read and cannot be read again."""
    gone = _SharedPass(rows, lambda: None)
    gone.is_rereadable = False
    return gone


@dataclass(frozen=True, eq=False)
class SlicePasses:
    """Passes over all rows and over their slices."""

    builds: BuildSystems
    passes: TwoPassEvaluation
    cuts: Sequence[StreamSliceDefinition]
    memory: int

    @cached_property
    def all_rows(self) -> TwoPassEvaluation:
        """Two-pass evaluation of all rows."""
        return replace(
            self.passes, engine=_SharedPass(self.passes.engine, lambda: self._first_results[0])
        )

    @cached_property
    def _first_results(self) -> Sequence[FirstPassResult]:
        p = self.passes
        number = 1 + sum(len(cut.names) for cut in self.cuts)
        asked = [p.all_numbers, *[p.numbers] * (number - 1)]
        works = [
            FirstPass(SubsetView(k), of, p.auxiliary_values, p.looks) for k, of in enumerate(asked)
        ]
        work, kept = (
            CombinedTask(SubsetSystems(self.builds, self.cuts), works),
            _MemoryLimit(self.memory),
        )
        found: PerSubset = p.engine.reduce(work, p.columns, kept, "pass 1")
        return found.values

    @cached_property
    def nonempty_slices(self) -> list[list[int]]:
        """Non-empty slices of each slicing column, by index."""
        out, first = [], 1
        for cut in self.cuts:
            own = [k for k in range(first, first + len(cut.names)) if self._first_results[k].rows]
            if len(own) > MOST_SLICES:
                raise InputError(too_many(cut.name, len(own)))
            first += len(cut.names)
            out.append(own)
        return out

    def iterate_definitions(self) -> Iterator[tuple[StreamSliceDefinition, int, list[int]]]:
        """Yield each definition, the index of its first slice, and the non-empty slices."""
        first = 1
        for cut, places in zip(self.cuts, self.nonempty_slices, strict=True):
            yield cut, first, places
            first += len(cut.names)

    def subset(self, at: int) -> TwoPassEvaluation:
        """Return the passes over a slice."""
        return self._subsets[at]

    @cached_property
    def _subsets(self) -> dict[int, TwoPassEvaluation]:
        places = [at for of in self.nonempty_slices for at in of]
        return {at: self._passes(at, lambda at=at: self._first_results[at]) for at in places}  # type: ignore[misc]

    def complement(self, at: int) -> TwoPassEvaluation:
        """Return the passes over the complement of a slice."""
        return self._rests[at] if self.needs_second_pass else self._make_complement(at)

    @cached_property
    def _rests(self) -> dict[int, TwoPassEvaluation]:
        return {
            at: self._make_complement(at) for of in self.nonempty_slices if len(of) > 1 for at in of
        }

    def _make_complement(self, at: int) -> TwoPassEvaluation:
        others = next([k for k in of if k != at] for of in self.nonempty_slices if at in of)
        return self._passes(
            at + len(self._first_results) - 1,
            lambda: reduce(add, (self._first_results[k].settled(identity) for k in others)),
        )

    def _passes(self, at: int, first: Callable[[], FirstPassResult]) -> TwoPassEvaluation:
        p = self.passes

        def second(work: Any) -> Any:
            if isinstance(work, SecondPass):
                return self._second[at]
            found: PerSubset = p.engine.reduce(CombinedTask(self._all, (work,)), p.columns)
            return found.values[0]

        rows = _SharedPass(p.engine, first, second)
        return replace(
            p,
            engine=rows,
            build=SubsetView(at),
            compared_pairs=p.compared_pairs if at < len(self._first_results) else (),
            unit_of_all=lambda: self.all_rows.unit,
            _computed=[],
            _pairs={},
            _cubes={},
            _cells={},
        )

    @property
    def _all(self) -> SubsetSystems:
        return SubsetSystems(self.builds, self.cuts, has_complements=True)

    @cached_property
    def needs_second_pass(self) -> bool:
        """Whether some interval of a slice may need a second pass."""
        p, again = self.all_rows, self.passes.engine.is_rereadable
        return again and (
            p.first_result.clustered or any(p.needs_second_pass(*asked) for asked in p.numbers)
        )

    @cached_property
    def _second(self) -> dict[int, Any]:
        """Influence of rows on the values of slices and complements, from one pass."""
        p = self.passes
        over = {of.build.which: of for of in (*self._subsets.values(), *self._rests.values())}  # type: ignore[attr-defined]
        work = CombinedTask(self._all, [of.second for of in over.values()])
        found: PerSubset = p.engine.reduce(work, p.columns, what="pass over slices")
        return dict(zip(over, found.values, strict=True))


# --- What comes of it ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ComplementSystem:
    """System on the complement of a slice, by its passes."""

    passes: TwoPassEvaluation
    system: str
    settings: Settings

    @property
    def rows(self) -> ComplementSystem:
        """Source of its point estimates, with intervals."""
        return self

    def point_estimate(self, measure: Measure) -> PointEstimate:
        """Return the point estimate of a measure."""
        made = self.passes.point_estimate(self.system, measure, self.settings)
        assert made is not None
        return made

    def permute(self, measure: Measure, value: float, most: int) -> PermutedDifference | None:
        """Return None, because rows are not in memory."""
        return None
