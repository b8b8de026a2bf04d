"""Slices of a stream: their definition, and every measure on each slice."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.caching import cached_property
from calipers.data.arrays import format_other_rows, from_arrow, missing_mask, unsigned_zeros
from calipers.data.arrow_types import decode_dictionary
from calipers.data.class_labels import encode_labels
from calipers.data.errors import InputError
from calipers.engines.accumulators import DistinctValues
from calipers.engines.base import Engine, Mergeable, identity
from calipers.engines.pass_tasks import (
    BatchSystems,
    FirstPass,
    FirstPassResult,
    LimitStatistics,
    MissingCounts,
    SecondPass,
)
from calipers.engines.passes import TwoPassEvaluation
from calipers.evaluation.slice_definitions import (
    MAX_SLICES,
    MAX_UNBINNED_VALUES,
    MISSING_SLICE,
    bin_names,
    bin_names_without,
    check_edges,
    format_numbers,
    period_names,
    too_many_slices_message,
)
from calipers.evaluation.stream_columns import MemoryLimit
from calipers.lazy_dataclasses import dataclass
from calipers.statistics import ScoreTable
from calipers.statistics.scores import ScoreBuffer

if TYPE_CHECKING:
    import numpy.typing as npt

    from calipers.data.streams import Batch
    from calipers.evaluation.stream_columns import StreamColumns
    from calipers.evaluation.stream_rows import SystemBuilder
    from calipers.inference.point_estimate import PointEstimate
    from calipers.inference.settings import Settings
    from calipers.inference.two_samples import PermutedDifference
    from calipers.measures import Measure


#: Combinations of crossed columns, of which some may hold no row.
MAX_CROSSED_SLICES = 1_000


#: The largest integer up to which all are different as numbers with decimals.
MAX_INTEGER = 1 << 53


@dataclass(frozen=True, eq=False)
class CategoricalSlices:
    """Slices by the values of a column; rows without one of these values come last."""

    names: tuple[str, ...]
    #: In the order of the names, as Arrow has them.
    values: Any
    #: Period of a column of dates, and its name.
    period: tuple[str, str] | None = None

    def encode(self, column: Any) -> npt.NDArray[np.intp]:
        """Return the slice of each row."""
        import pyarrow.compute as pc

        if self.period is not None:
            column = _to_periods(*self.period, column)
        values = unsigned_zeros(decode_dictionary(column).cast(self.values.type))
        indices = pc.index_in(values, value_set=self.values)
        return np.asarray(from_arrow(indices.fill_null(len(self.values))), np.intp)


def _to_periods(name: str, period: str, column: Any) -> Any:
    """Return the period of each date of an Arrow array, as text."""
    import pyarrow as pa

    encoded = decode_dictionary(column).dictionary_encode()
    periods = pa.array(period_names(name, encoded.dictionary.to_pylist(), period), pa.string())
    return periods.take(encoded.indices)


@dataclass(frozen=True, eq=False)
class BinnedSlices:
    """Slices by bins of a numeric column.

    ``common_value`` is a slice of its own, the first; rows without a number are the last slice.
    """

    names: tuple[str, ...]
    edges: tuple[float, ...]
    common_value: float | None = None

    def encode(self, column: Any) -> npt.NDArray[np.intp]:
        """Return the slice of each row."""
        numbers = from_arrow(column).astype(np.float64, copy=False)  # null is NaN
        bin_indices = np.searchsorted(np.array(self.edges), numbers, side="right")
        if self.common_value is not None:
            bin_indices = np.where(numbers == self.common_value, 0, bin_indices + 1)
        return np.where(np.isnan(numbers), len(self.names), bin_indices)


@dataclass(frozen=True, eq=False)
class StreamSliceDefinition:
    """Definition of slices by one column, or by several crossed columns."""

    name: str
    columns: Mapping[str, CategoricalSlices | BinnedSlices]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all slices, including those that may have no rows."""
        combinations = [""]
        for slices in self.columns.values():
            part_names = (*slices.names, MISSING_SLICE)
            combinations = [
                f"{before}, {name}" if before else name
                for before in combinations
                for name in part_names
            ]
        return tuple(combinations)

    def check(self, columns: Mapping[str, Any], row_mask: npt.NDArray[np.bool_]) -> None:
        """Check that the numbers of the rows of a batch that count are finite."""
        for name, slices in self.columns.items():
            if isinstance(slices, BinnedSlices):
                _check_finite(name, columns[name], row_mask)

    def encode(self, columns: Mapping[str, Any]) -> npt.NDArray[np.intp]:
        """Return the slice of each row of a batch."""
        codes = np.zeros(len(next(iter(columns.values()))), np.intp)
        for name, slices in self.columns.items():
            codes = codes * (len(slices.names) + 1) + slices.encode(columns[name])
        return codes


def _check_finite(name: str, column: Any, row_mask: npt.NDArray[np.bool_]) -> None:
    """Check that no number of a slicing column is infinite in the rows that count."""
    infinite_rows = np.flatnonzero(np.isinf(from_arrow(column).astype(np.float64)) & row_mask)
    if len(infinite_rows):
        raise InputError(
            f"slice {name!r}: is infinite in row {infinite_rows[0]}"
            f"{format_other_rows(len(infinite_rows))}, expected finite numbers"
        )


# --- The first pass ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _ColumnSummary(Mergeable):
    """Distinct values of each column, or the frequency of each number of a numeric column."""

    columns: Mapping[str, Any]
    #: Number of all rows, with those that have no value.
    n_rows: int

    def __add__(self, other: _ColumnSummary) -> _ColumnSummary:
        return _ColumnSummary(
            {name: summary + other.columns[name] for name, summary in self.columns.items()},
            self.n_rows + other.n_rows,
        )


@dataclass(frozen=True, eq=False)
class _SummaryTask:
    """Task that summarizes the columns of a batch."""

    numeric_columns: tuple[str, ...]
    other_columns: tuple[str, ...]
    weight: str | None
    #: Periods of columns of dates.
    periods: Mapping[str, str]
    #: Columns whose rows are left out where they have no value.
    required_columns: tuple[str, ...]

    def __call__(self, batch: Batch) -> _ColumnSummary:
        with batch.located_errors():
            columns = self._select_rows(batch.columns)
        summaries: dict[str, Any] = {
            name: DistinctValues.from_array(
                _to_periods(name, self.periods[name], columns[name])
                if name in self.periods
                else columns[name]
            )
            for name in self.other_columns
        }
        for name in self.numeric_columns:
            values = from_arrow(columns[name])
            if values.dtype.kind in "iu" and (
                values.max(initial=0) > MAX_INTEGER or values.min(initial=0) < -MAX_INTEGER
            ):
                raise InputError(
                    f"slice {name!r}: has integers above 2^53, which batches do not distinguish as "
                    "numbers; convert them to text, or use engine='memory'"
                )
            values = values if values.dtype == np.float32 else values.astype(np.float64, copy=False)
            values = values[~np.isnan(values)] + 0.0  # -0.0 is 0.0
            none = np.zeros(len(values), bool)
            summaries[name] = ScoreBuffer((none,), (values,), None, len(values))
        return _ColumnSummary(summaries, len(next(iter(columns.values()))))

    def _select_rows(self, columns: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the columns of the rows that are evaluated."""
        import pyarrow as pa

        row_mask = np.ones(len(next(iter(columns.values()))), bool)
        for name in self.required_columns:
            row_mask &= ~missing_mask(columns[name], name)
        if self.weight is not None:
            row_mask &= from_arrow(columns[self.weight]) != 0
        for name in self.numeric_columns:
            _check_finite(name, columns[name], row_mask)
        if row_mask.all():
            return columns
        arrow_mask = pa.array(row_mask)
        return {
            name: columns[name].filter(arrow_mask)
            for name in (*self.numeric_columns, *self.other_columns)
        }


@dataclass(frozen=True, eq=False)
class _SummaryLimit:
    """Limit of the number of slices and of the memory of a summary."""

    memory_limit: MemoryLimit

    def __call__(self, summary: _ColumnSummary) -> _ColumnSummary:
        for name, column_summary in summary.columns.items():
            if (
                isinstance(column_summary, DistinctValues)
                and len(column_summary.values) > MAX_SLICES + 1
            ):
                raise InputError(
                    too_many_slices_message(name, len(column_summary.values), "more than ")
                )
        limited = {
            name: column_summary
            if isinstance(column_summary, DistinctValues)
            else self.memory_limit(column_summary)
            for name, column_summary in summary.columns.items()
        }
        return _ColumnSummary(limited, summary.n_rows)


def define_stream_slices(
    columns: StreamColumns, memory: int
) -> tuple[list[StreamSliceDefinition], list[str]]:
    """Return the definitions of the requested slices, and notes on them."""
    bins, rows, slices = columns.bins or {}, columns.engine, columns.slices
    columns_by_factor = {
        factor: column
        for slice_columns in slices.values()
        for factor, column in slice_columns.items()
    }
    distinct_columns = list(dict.fromkeys(columns_by_factor.values()))
    edges_by_column = {
        columns_by_factor[name]: check_edges(name, edges)
        for name, edges in bins.items()
        if not isinstance(edges, str)
    }
    periods = {
        columns_by_factor[name]: period for name, period in bins.items() if isinstance(period, str)
    }
    unbinned_columns = [name for name in distinct_columns if name not in edges_by_column]
    slices_by_column, notes = (
        _summarize_columns(columns, unbinned_columns, periods, memory)
        if unbinned_columns
        else ({}, [])
    )
    for name, edges in edges_by_column.items():
        if _numeric_type(rows, name) is None:
            raise InputError(f"slice {name!r}: bins need a column of numbers")
        slices_by_column[name] = BinnedSlices(tuple(bin_names(edges)), tuple(edges))
        notes.append(f"{name} is cut at the requested edges: {format_numbers(edges)}.")
    definitions = [
        StreamSliceDefinition(name, {c: slices_by_column[c] for c in slice_columns.values()})
        for name, slice_columns in slices.items()
    ]
    for definition in definitions:
        if len(definition.names) > (
            MAX_SLICES + 1 if len(definition.columns) == 1 else MAX_CROSSED_SLICES
        ):
            raise InputError(
                too_many_slices_message(definition.name, len(definition.names) - 1, "up to ")
            )
    return definitions, notes


def _summarize_columns(
    stream_columns: StreamColumns,
    columns: Sequence[str],
    periods: Mapping[str, str],
    memory: int,
) -> tuple[dict[str, CategoricalSlices | BinnedSlices], list[str]]:
    rows = stream_columns.engine
    if not rows.is_rereadable:
        raise InputError(
            f"{rows.name}: can be read only once, but slices require a first pass over their "
            "columns, except with slice_bins="
        )
    numeric_names = tuple(
        name for name in columns if _numeric_type(rows, name) is not None and name not in periods
    )
    others = tuple(name for name in columns if name not in numeric_names)
    limit = MemoryLimit(memory // (2 * len(columns)))
    required_names = (
        tuple(stream_columns.required_columns) if stream_columns.missing == "drop" else ()
    )
    weight_names = [
        name for name in (stream_columns.weight, stream_columns.count) if name is not None
    ]
    read_names = list(dict.fromkeys([*columns, *required_names, *weight_names]))
    task = _SummaryTask(numeric_names, others, stream_columns.weight, periods, required_names)
    summary = rows.reduce(task, read_names, _SummaryLimit(limit), "finding slices")
    slices_by_column: dict[str, CategoricalSlices | BinnedSlices] = {}
    notes = []
    for name in columns:
        column_summary = summary.columns[name]
        if name in others:
            categorical = _categorical_slices(column_summary.values, name)
            if name in periods:
                categorical = replace(categorical, period=(name, periods[name]))
                notes.append(f"{name} is cut by {periods[name]}.")
            slices_by_column[name] = categorical
            continue
        table = limit(column_summary.finalize())
        if table.shift:
            raise InputError(
                f"slice {name!r}: has more distinct numbers than the memory holds; give bins, or "
                "allow more with memory="
            )
        slices_by_column[name], note = _bin_numbers(
            name, table, summary.n_rows, _numeric_type(rows, name)
        )
        notes += note
    return slices_by_column, notes


def _numeric_type(rows: Engine, name: str) -> Any:
    """Return the type of a numeric column, or None for other columns."""
    import pyarrow as pa

    kind = rows.schema.field(name).type
    return kind if pa.types.is_integer(kind) or pa.types.is_floating(kind) else None


def _categorical_slices(values: Any, name: str) -> CategoricalSlices:
    """Return the slices by the distinct labels of a column, which may be missing, in order."""
    import pyarrow as pa

    has_missing, values = bool(values.null_count), values.drop_null()
    if not len(values):
        return CategoricalSlices((), values)
    column = encode_labels(values, f"slice {name!r}")
    order = np.argsort(column.codes, kind="stable")
    if has_missing and MISSING_SLICE in column.names:
        raise InputError(
            f"slice {name!r}: some rows have no value and some have {MISSING_SLICE!r}; expected "
            "another "
            "name of the latter"
        )
    return CategoricalSlices(column.names, decode_dictionary(values).take(pa.array(order)))


def _bin_numbers(
    name: str, table: ScoreTable, n_rows: int, kind: Any
) -> tuple[CategoricalSlices | BinnedSlices, list[str]]:
    """Return the bins of a numeric column, given the frequency of each number, and notes.

    ``n_rows`` is the number of all rows, with those that have no number.
    """
    import pyarrow as pa

    values, counts = table.scores[::-1], table.negative[::-1]
    if len(values) <= MAX_UNBINNED_VALUES:
        labels = pa.array(values).cast(kind)
        return CategoricalSlices(
            encode_labels(labels, f"slice {name!r}").names if len(values) else (), labels
        ), []
    mode_index = int(counts.argmax())
    if counts[mode_index] <= counts.sum() / 2:
        edges = _weighted_quartiles(values, counts)
        note = f"{name} is cut at its quartiles: {format_numbers(edges)}."
        return BinnedSlices(tuple(bin_names(edges)), tuple(edges)), [note]
    number, others = float(values[mode_index]), np.arange(len(values)) != mode_index
    proportion = counts[mode_index] / n_rows
    description = (
        f"{name} is {format_numbers([number])} in {proportion:.0%} of the rows, which form a slice"
    )
    if len(values) - 1 <= MAX_UNBINNED_VALUES:
        labels = pa.array([number, *values[others]]).cast(kind)
        other_names = encode_labels(labels[1:], f"slice {name!r}").names
        return CategoricalSlices((format_numbers([number]), *other_names), labels), [
            f"{description}."
        ]
    edges = _weighted_quartiles(values[others], counts[others])
    note = f"{description}; the others are cut at their quartiles: {format_numbers(edges)}."
    return BinnedSlices(
        (format_numbers([number]), *bin_names_without(edges, number)), tuple(edges), number
    ), [note]


def _weighted_quartiles(values: npt.NDArray[Any], counts: npt.NDArray[Any]) -> list[float]:
    """Return the quartiles of all rows, interpolated as in :func:`numpy.quantile`.

    They are rounded as they are written.
    """
    cumulative = np.cumsum(counts)
    positions = (cumulative[-1] - 1) * np.array([0.25, 0.5, 0.75])
    bounds = np.floor(positions), np.ceil(positions)
    low, high = (values[np.searchsorted(cumulative, bound, side="right")] for bound in bounds)
    quartiles = low + (high - low) * (positions - np.floor(positions))
    return list(dict.fromkeys(float(f"{x:.6g}") for x in quartiles))


# --- Tasks on all subsets of a batch -------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SubsetResults(Mergeable):
    """Results on several subsets."""

    values: tuple[Any, ...]

    def __add__(self, other: SubsetResults) -> SubsetResults:
        return SubsetResults(tuple(a + b for a, b in zip(self.values, other.values, strict=True)))

    def with_dropped(self, missing: MissingCounts) -> SubsetResults:
        """Return the results with the counts of dropped rows, which are in no slice."""
        all_rows, *slices = self.values
        return SubsetResults((all_rows.with_dropped(missing), *slices))


@dataclass(frozen=True, eq=False)
class SubsetSystems:
    """Systems on all rows of a batch, on each slice and, if requested, on each complement."""

    build_systems: SystemBuilder
    slice_definitions: Sequence[StreamSliceDefinition]
    has_complements: bool = False

    def __call__(self, batch: Batch) -> list[BatchSystems]:
        """Return the systems on each subset of a batch."""
        rows, all_systems = self.build_systems.rows_and_systems(batch)
        counts = np.zeros(rows.frequencies.n_rows, bool)
        counts[rows.counted_rows] = True
        try:
            for definition in self.slice_definitions:
                definition.check(rows.slices, counts)
        except InputError as error:
            raise batch.locate_error(error) from None
        codes = [
            definition.encode(rows.slices)[rows.counted_rows]
            for definition in self.slice_definitions
        ]
        slice_masks = [
            code == k
            for definition, code in zip(self.slice_definitions, codes, strict=True)
            for k in range(len(definition.names))
        ]
        subset_masks = (
            [*slice_masks, *(~inside for inside in slice_masks)]
            if self.has_complements
            else slice_masks
        )
        return [
            all_systems,
            *(self._take_rows(all_systems, np.flatnonzero(mask)) for mask in subset_masks),
        ]

    @staticmethod
    def _take_rows(batch_systems: BatchSystems, rows: Any) -> BatchSystems:
        return BatchSystems(
            {name: system.take_rows(rows) for name, system in batch_systems.systems.items()}
        )


@dataclass(frozen=True)
class SubsetSelector:
    """Selector of one of the subsets."""

    subset_index: int

    def __call__(self, subsets: Sequence[BatchSystems]) -> BatchSystems:
        """Return the systems on this subset."""
        return subsets[self.subset_index]


@dataclass(frozen=True, eq=False)
class CombinedTask:
    """Tasks on the subsets of a batch, which are made once."""

    subset_systems: SubsetSystems
    tasks: Sequence[Callable[[Sequence[BatchSystems]], Mergeable]]

    def __call__(self, batch: Batch) -> SubsetResults:
        """Return the result of each task on a batch."""
        subsets = self.subset_systems(batch)
        return SubsetResults(tuple(work(subsets) for work in self.tasks))

    def check(self, batch: Batch) -> None:
        """Check the cells of a batch, of which some rows have a count of 0."""
        self.subset_systems.build_systems(batch)


@dataclass(frozen=True, eq=False)
class _SubsetMemoryLimit:
    """Limit of the memory: half of it for all rows, half for all slices."""

    memory: int

    def __call__(self, results: SubsetResults) -> SubsetResults:
        half = self.memory // 2
        sizes = half, half // max(len(results.values) - 1, 1)
        limits = [LimitStatistics(MemoryLimit(size)) for size in sizes]
        return SubsetResults(
            tuple(limits[k > 0](statistic) for k, statistic in enumerate(results.values))
        )


# --- Passes over slices --------------------------------------------------------------------------


class _SharedPassEngine(Engine):
    """Engine of rows whose pass is shared with other subsets."""

    def __init__(
        self, rows: Engine, first: Callable[[], Any], second: Callable[..., Any] | None = None
    ) -> None:
        self.kind, self.name, self.n_rows, self.is_rereadable = (
            rows.kind,
            rows.name,
            rows.n_rows,
            rows.is_rereadable,
        )
        self._rows, self._first, self._second = rows, first, second

    def reduce(
        self,
        map_batch: Callable[[Any], Any],
        columns: Sequence[str] = (),
        limit_size: Callable[[Any], Any] = identity,
        description: str = "reading",
    ) -> Any:
        """Return the result of the shared pass, or read the rows."""
        if isinstance(map_batch, FirstPass):
            return self._first()
        if self._second is None:
            return self._rows.reduce(map_batch, columns, limit_size, description)
        return self._second(map_batch)


def single_use_engine(rows: Engine) -> Engine:
    """Return an engine of rows that have been read and cannot be read again."""
    engine = _SharedPassEngine(rows, lambda: None)
    engine.is_rereadable = False
    return engine


@dataclass(frozen=True, eq=False)
class SlicePasses:
    """Passes over all rows and over their slices."""

    build_systems: SystemBuilder
    row_passes: TwoPassEvaluation
    slice_definitions: Sequence[StreamSliceDefinition]
    memory: int

    @cached_property
    def all_rows(self) -> TwoPassEvaluation:
        """Two-pass evaluation of all rows."""
        return replace(
            self.row_passes,
            engine=_SharedPassEngine(self.row_passes.engine, lambda: self._first_results[0]),
        )

    @cached_property
    def _first_results(self) -> Sequence[FirstPassResult]:
        p = self.row_passes
        number = 1 + sum(len(definition.names) for definition in self.slice_definitions)
        request_numbers = [p.all_statistic_numbers, *[p.statistic_numbers] * (number - 1)]
        works = [
            FirstPass(SubsetSelector(k), numbers, p.auxiliary_values, p.inspect_rows)
            for k, numbers in enumerate(request_numbers)
        ]
        work, limit = (
            CombinedTask(SubsetSystems(self.build_systems, self.slice_definitions), works),
            _SubsetMemoryLimit(self.memory),
        )
        result: SubsetResults = p.engine.reduce(work, p.columns, limit, "pass 1")
        return result.values

    @cached_property
    def nonempty_slices(self) -> list[list[int]]:
        """Non-empty slices of each slicing column, by index."""
        out, first = [], 1
        for definition in self.slice_definitions:
            indices = [
                k
                for k in range(first, first + len(definition.names))
                if self._first_results[k].rows
            ]
            if len(indices) > MAX_SLICES:
                raise InputError(too_many_slices_message(definition.name, len(indices)))
            first += len(definition.names)
            out.append(indices)
        return out

    def iterate_definitions(self) -> Iterator[tuple[StreamSliceDefinition, int, list[int]]]:
        """Yield each definition, the index of its first slice, and the non-empty slices."""
        first = 1
        for definition, indices in zip(self.slice_definitions, self.nonempty_slices, strict=True):
            yield definition, first, indices
            first += len(definition.names)

    def subset(self, index: int) -> TwoPassEvaluation:
        """Return the passes over a slice."""
        return self._subsets[index]

    @cached_property
    def _subsets(self) -> dict[int, TwoPassEvaluation]:
        indices = [index for column_indices in self.nonempty_slices for index in column_indices]
        return {
            index: self._make_passes(index, lambda index=index: self._first_results[index])  # type: ignore[misc]
            for index in indices
        }

    def complement(self, index: int) -> TwoPassEvaluation:
        """Return the passes over the complement of a slice."""
        return self._complements[index] if self.needs_second_pass else self._make_complement(index)

    @cached_property
    def _complements(self) -> dict[int, TwoPassEvaluation]:
        return {
            index: self._make_complement(index)
            for column_indices in self.nonempty_slices
            if len(column_indices) > 1
            for index in column_indices
        }

    def _make_complement(self, index: int) -> TwoPassEvaluation:
        others = next(
            [k for k in column_indices if k != index]
            for column_indices in self.nonempty_slices
            if index in column_indices
        )
        return self._make_passes(
            index + len(self._first_results) - 1,
            lambda: reduce(add, (self._first_results[k].finalize(identity) for k in others)),
        )

    def _make_passes(self, index: int, first: Callable[[], FirstPassResult]) -> TwoPassEvaluation:
        p = self.row_passes

        def second(work: Any) -> Any:
            if isinstance(work, SecondPass):
                return self._second_results[index]
            result: SubsetResults = p.engine.reduce(
                CombinedTask(self._subset_systems, (work,)), p.columns
            )
            return result.values[0]

        rows = _SharedPassEngine(p.engine, first, second)
        return replace(
            p,
            engine=rows,
            build=SubsetSelector(index),
            compared_pairs=p.compared_pairs if index < len(self._first_results) else (),
            common_weight_of_all=lambda: self.all_rows.common_weight,
            _completed_passes=[],
            _differences_by_pair={},
            _cube_sums={},
            _cluster_cell_weights={},
        )

    @property
    def _subset_systems(self) -> SubsetSystems:
        return SubsetSystems(self.build_systems, self.slice_definitions, has_complements=True)

    @cached_property
    def needs_second_pass(self) -> bool:
        """Whether some interval of a slice may need a second pass."""
        p, is_rereadable = self.all_rows, self.row_passes.engine.is_rereadable
        return is_rereadable and (
            p.first_pass_result.clustered
            or any(p.needs_second_pass(*request) for request in p.statistic_numbers)
        )

    @cached_property
    def _second_results(self) -> dict[int, Any]:
        """Influence of rows on the values of slices and complements, from one pass."""
        p = self.row_passes
        passes_by_index = {
            passes.build.subset_index: passes  # type: ignore[attr-defined]
            for passes in (*self._subsets.values(), *self._complements.values())
        }
        work = CombinedTask(
            self._subset_systems, [passes.second_pass for passes in passes_by_index.values()]
        )
        result: SubsetResults = p.engine.reduce(work, p.columns, description="pass over slices")
        return dict(zip(passes_by_index, result.values, strict=True))


# --- What comes of it ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ComplementSystem:
    """System on the complement of a slice, by its passes."""

    passes: TwoPassEvaluation
    system: str
    settings: Settings

    @property
    def estimate_source(self) -> ComplementSystem:
        """Source of its point estimates, with intervals."""
        return self

    def point_estimate(self, measure: Measure) -> PointEstimate:
        """Return the point estimate of a measure."""
        estimate = self.passes.point_estimate(self.system, measure, self.settings)
        assert estimate is not None
        return estimate

    def permute(self, measure: Measure, value: float, max_size: int) -> PermutedDifference | None:
        """Return None, because rows are not in memory."""
        return None
