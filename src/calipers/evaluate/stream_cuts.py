"""Where a stream is cut into slices: found in one look at the columns, applied to each batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.data.arrays import missing_rows, of_arrow
from calipers.data.class_labels import coded
from calipers.data.errors import InputError, did_you_mean
from calipers.engines.accumulators import Distinct
from calipers.engines.base import Engine, Partial
from calipers.evaluate.cuts import (
    MOST_SLICES,
    MOST_VALUES,
    NO_VALUE,
    between,
    edges_of,
    listed,
    named_around,
    too_many,
)
from calipers.evaluate.stream_memory import Within
from calipers.statistics import ScoreTable
from calipers.statistics.scores import GatheredScores

if TYPE_CHECKING:
    import numpy.typing as npt

    from calipers.data.streams import Batch
    from calipers.evaluate.stream_columns import Columns

#: Combinations of crossed columns, of which some may hold no row.
MOST_CROSSED = 1_000


@dataclass(frozen=True, eq=False)
class Labels:
    """Slices by the values of a column; rows without one of them come last."""

    names: tuple[str, ...]
    #: In the order of the names, as Arrow has them.
    values: Any

    def codes(self, column: Any) -> npt.NDArray[np.intp]:
        """The slice of each row."""
        import pyarrow.compute as pc

        found = pc.index_in(_plain(column).cast(self.values.type), value_set=self.values)
        return np.asarray(of_arrow(found.fill_null(len(self.values))), np.intp)


@dataclass(frozen=True, eq=False)
class Numbers:
    """Slices of a column of numbers that is cut at edges, but for one ``usual`` number, which is a
    slice of its own, the first; rows without a number come last."""

    names: tuple[str, ...]
    edges: tuple[float, ...]
    usual: float | None = None

    def codes(self, column: Any) -> npt.NDArray[np.intp]:
        """The slice of each row."""
        numbers = of_arrow(column).astype(np.float64, copy=False)  # null is NaN
        place = np.searchsorted(np.array(self.edges), numbers, side="right")
        if self.usual is not None:
            place = np.where(numbers == self.usual, 0, place + 1)
        return np.where(np.isnan(numbers), len(self.names), place)


@dataclass(frozen=True, eq=False)
class Slicing:
    """One way to cut the rows: by a column, or by several that are crossed."""

    name: str
    columns: Mapping[str, Labels | Numbers]

    @property
    def names(self) -> tuple[str, ...]:
        """Those of all slices, also of such as may hold no row."""
        made = [""]
        for of in self.columns.values():
            own = (*of.names, NO_VALUE)
            made = [f"{before}, {name}" if before else name for before in made for name in own]
        return tuple(made)

    def codes(self, columns: Mapping[str, Any]) -> npt.NDArray[np.intp]:
        """The slice of each row of a batch."""
        place = np.zeros(len(next(iter(columns.values()))), np.intp)
        for name, of in self.columns.items():
            place = place * (len(of.names) + 1) + of.codes(columns[name])
        return place


def _plain(column: Any) -> Any:
    import pyarrow as pa

    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


# --- The first look ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Looked(Partial):
    """Of each column its distinct values, or of one of numbers how often each occurs."""

    columns: Mapping[str, Any]

    def __add__(self, other: _Looked) -> _Looked:
        return _Looked({name: of + other.columns[name] for name, of in self.columns.items()})


@dataclass(frozen=True, eq=False)
class _Look:
    """What is looked for in a batch."""

    numbers: tuple[str, ...]
    others: tuple[str, ...]
    weight: str | None
    #: Columns whose rows are left out where they have no value.
    needed: tuple[str, ...]

    def __call__(self, batch: Batch) -> _Looked:
        columns = self._counted(batch.columns)
        found: dict[str, Any] = {name: Distinct.of(columns[name]) for name in self.others}
        for name in self.numbers:
            values = of_arrow(columns[name])
            values = values if values.dtype == np.float32 else values.astype(np.float64, copy=False)
            values = values[~np.isnan(values)]
            none = np.zeros(len(values), bool)
            found[name] = GatheredScores((none,), (values,), None, len(values))
        return _Looked(found)

    def _counted(self, columns: Mapping[str, Any]) -> Mapping[str, Any]:
        """The rows that are evaluated."""
        import pyarrow as pa

        there = np.ones(len(next(iter(columns.values()))), bool)
        for name in self.needed:
            there &= ~missing_rows(columns[name], name)
        if self.weight is not None:
            there &= of_arrow(columns[self.weight]) != 0
        if there.all():
            return columns
        kept = pa.array(there)
        return {name: columns[name].filter(kept) for name in (*self.numbers, *self.others)}


@dataclass(frozen=True, eq=False)
class _Few:
    """Keeps what is looked for within bounds."""

    within: Within

    def __call__(self, looked: _Looked) -> _Looked:
        for name, of in looked.columns.items():
            if isinstance(of, Distinct) and len(of.values) > MOST_SLICES + 1:
                raise InputError(too_many(name, len(of.values), "more than "))
        kept = {
            name: of if isinstance(of, Distinct) else self.within(of)
            for name, of in looked.columns.items()
        }
        return _Looked(kept)


def slicings(c: Columns, memory: int) -> tuple[list[Slicing], list[str]]:
    """The ways to cut that are asked for, and what a reader has to know of them."""
    bins = {str(name): edges for name, edges in (c.bins or {}).items()}
    rows, slices = c.stream, c.slices
    parts = {part: column for of in slices.values() for part, column in of.items()}
    known = list(dict.fromkeys(parts.values()))
    for name in bins:
        if name not in parts:
            hint = did_you_mean(name, list(parts))
            raise InputError(f"bins for {name!r}, which is no slice; {hint}")
    asked = {parts[name]: edges_of(name, edges) for name, edges in bins.items()}
    wanted = [name for name in known if name not in asked]
    found, told = _looked_at(c, wanted, memory) if wanted else ({}, [])
    for name, edges in asked.items():
        if _number(rows, name) is None:
            raise InputError(f"slice {name!r}: bins need a column of numbers")
        found[name] = Numbers(tuple(between(edges)), tuple(edges))
        told.append(f"{name} is cut as asked: {listed(edges)}.")
    made = [Slicing(name, {c: found[c] for c in of.values()}) for name, of in slices.items()]
    for cut in made:
        if len(cut.names) > (MOST_SLICES + 1 if len(cut.columns) == 1 else MOST_CROSSED):
            raise InputError(too_many(cut.name, len(cut.names) - 1, "up to "))
    return made, told


def _looked_at(
    c: Columns, columns: Sequence[str], memory: int
) -> tuple[dict[str, Labels | Numbers], list[str]]:
    rows = c.stream
    if not rows.again:
        raise InputError(
            f"{rows.name}: can be read only once: slices take a look at their columns before, but "
            "for those with slice_bins="
        )
    numbers = tuple(name for name in columns if _number(rows, name) is not None)
    others = tuple(name for name in columns if name not in numbers)
    share = Within(memory // (2 * len(columns)))
    needed = tuple(c.needed) if c.missing == "drop" else ()
    counted = [name for name in (c.weight, c.count) if name is not None]
    read = list(dict.fromkeys([*columns, *needed, *counted]))
    look = _Look(numbers, others, c.weight, needed)
    looked = rows.reduce(look, read, _Few(share), "finding slices")
    found: dict[str, Labels | Numbers] = {}
    notes = []
    for name in columns:
        of = looked.columns[name]
        if name in others:
            found[name] = _labels(of.values.drop_null(), name)
            continue
        table = share(of.settled())
        if table.shift:
            raise InputError(
                f"slice {name!r}: has more distinct numbers than the memory holds; give bins, or "
                "allow more with memory="
            )
        found[name], note = _numbers(name, table, _number(rows, name))
        notes += note
    return found, notes


def _number(rows: Engine, name: str) -> Any:
    """The type of a column of numbers; None of others."""
    import pyarrow as pa

    kind = rows.schema.field(name).type
    return kind if pa.types.is_integer(kind) or pa.types.is_floating(kind) else None


def _labels(values: Any, name: str) -> Labels:
    """The distinct labels of a column in their order."""
    import pyarrow as pa

    if not len(values):
        return Labels((), values)
    column = coded(values, f"slice {name!r}")
    order = np.argsort(column.codes, kind="stable")
    if NO_VALUE in column.names and values.null_count:
        raise InputError(f"slice {name!r}: {NO_VALUE!r} is a value; expected another name")
    return Labels(column.names, values.take(pa.array(order)))


def _numbers(name: str, table: ScoreTable, kind: Any) -> tuple[Labels | Numbers, list[str]]:
    """How a column of numbers is cut, given how often each of them occurs."""
    import pyarrow as pa

    values, counts = table.scores[::-1], table.negative[::-1]
    if len(values) <= MOST_VALUES:
        labels = pa.array(values).cast(kind)
        return Labels(coded(labels, f"slice {name!r}").names if len(values) else (), labels), []
    usual = int(counts.argmax())
    if counts[usual] <= counts.sum() / 2:
        edges = _quartiles(values, counts)
        note = f"{name} is cut at its quartiles: {listed(edges)}."
        return Numbers(tuple(between(edges)), tuple(edges)), [note]
    number, others = float(values[usual]), np.arange(len(values)) != usual
    share = counts[usual] / counts.sum()
    told = f"{name} is {listed([number])} in {share:.0%} of the rows, which are a slice"
    if len(values) - 1 <= MOST_VALUES:
        labels = pa.array([number, *values[others]]).cast(kind)
        rest = coded(labels[1:], f"slice {name!r}").names
        return Labels((listed([number]), *rest), labels), [f"{told}."]
    edges = _quartiles(values[others], counts[others])
    note = f"{told}; the others are cut at their quartiles: {listed(edges)}."
    return Numbers((listed([number]), *named_around(edges, number)), tuple(edges), number), [note]


def _quartiles(values: npt.NDArray[Any], counts: npt.NDArray[Any]) -> list[float]:
    """The quartiles of all rows, on lines between neighbours, as :func:`numpy.quantile` has them;
    rounded as they are written."""
    upto = np.cumsum(counts)
    at = (upto[-1] - 1) * np.array([0.25, 0.5, 0.75])
    ends = np.floor(at), np.ceil(at)
    low, high = (values[np.searchsorted(upto, end, side="right")] for end in ends)
    found = low + (high - low) * (at - np.floor(at))
    return list(dict.fromkeys(float(f"{x:.6g}") for x in found))
