"""The rows of the slices, by column and measure; text, Markdown and HTML lay them out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from calipers.report import numbers
from calipers.report.grouping import grouped
from calipers.report.names import labels, short
from calipers.report.rows import (
    DifferenceRow,
    EstimateRow,
    difference_row,
    estimate_row,
    remarks,
)
from calipers.report.verdict import Outcome, outcome
from calipers.results import Slice, Slices

#: So many rows are shown; what is beyond them is in the data.
MOST_IN_TEXT = 150
MOST_ON_A_PAGE = 600

#: What stands above the p-values of systems compared within slices.
WITHIN_P = "p (joint)"


@dataclass(frozen=True, slots=True)
class SliceRow:
    """One measure of one system on one slice, and its difference to the rest, as their cells."""

    slice: str
    of: EstimateRow
    rest: DifferenceRow
    remarks: str

    @property
    def verdict(self) -> str:
        """What is told of it and the rest, where they are told apart, or were not tested."""
        of = self.rest.outcome
        return of.value if of.decided or of is Outcome.NOT_TESTED else ""


@dataclass(frozen=True, slots=True)
class SliceGroup:
    """All slices of one column on one measure."""

    column: str
    name: str
    measure: str
    rows: tuple[SliceRow, ...]

    @property
    def told_apart(self) -> list[str]:
        """The slices that differ from the rest, by name."""
        several = len({r.of.system for r in self.rows}) > 1
        return [
            f"{r.slice} ({r.of.system})" if several else r.slice
            for r in self.rows
            if r.rest.outcome.decided
        ]

    @property
    def tested(self) -> bool:
        """Whether any slice was tested against the rest."""
        return any(row.rest.outcome.tested for row in self.rows)


def slice_groups(slices: Slices, most: int) -> tuple[list[SliceGroup], int]:
    """The groups in order, as many as have no more than ``most`` rows, and how many rows are left
    out; each column has its share of the rows. What there is room for is the first measure, then
    those by which a slice differs from the rest, then the others."""
    systems = labels(s.estimate.system for s in slices)
    by_column: dict[str, dict[str, list[Slice]]] = {}
    for s in slices:
        by_column.setdefault(s.column, {}).setdefault(s.estimate.measure, []).append(s)
    share = most // max(1, len(by_column))
    shown: list[SliceGroup] = []
    left_out = 0
    for of_column in by_column.values():
        room, kept = share, set()
        first = next(iter(of_column))
        tells = {m: any(outcome(s.to_rest).decided for s in of) for m, of in of_column.items()}
        by_rank = sorted(of_column, key=lambda m: (m != first, not tells[m]))
        for measure in by_rank:
            size = len(of_column[measure])
            # The first measure of a column is shown however many slices it has.
            if size <= room or measure == first:
                room -= size
                kept.add(measure)
            else:
                left_out += size
        shown += [_group(rows, systems) for m, rows in of_column.items() if m in kept]
    return shown, left_out


@dataclass(frozen=True, slots=True)
class WithinRow:
    """Two systems on one slice, as their cells."""

    slice: str
    of: DifferenceRow

    @property
    def n(self) -> str:
        """How many rows."""
        return f"{self.of.difference.n:,}"


def within_rows(slices: Slices, column: str, most: int = 0) -> dict[str, list[WithinRow]]:
    """The pairs of systems on the slices of a column by measure: the primary one, then others as
    far as all are no more than ``most`` rows."""
    rows = [d for d in slices.differences if d.column == column]
    systems = labels(name for d in rows for name in (d.difference.system, d.difference.baseline))
    names = labels(d.slice for d in rows)
    made: dict[str, list[WithinRow]] = {}
    number = 0
    for measure, own in grouped(rows, lambda d: d.difference.measure).items():
        number += len(own)
        if made and number > most:
            break
        digits = numbers.rounding(
            ((d.difference.value, d.difference.low, d.difference.high) for d in own),
            keep_sign=True,
        )
        for d in own:
            pair = f"{systems[d.difference.system]} - {systems[d.difference.baseline]}"
            row = WithinRow(names[d.slice], difference_row(d.difference, digits, pair))
            made.setdefault(measure, []).append(row)
    return made


def _group(rows: Sequence[Slice], systems: Mapping[str, str]) -> SliceGroup:
    slices = labels(s.slice for s in rows)
    digits = numbers.rounding((s.estimate.value, s.estimate.low, s.estimate.high) for s in rows)
    apart = numbers.rounding(
        ((s.to_rest.value, s.to_rest.low, s.to_rest.high) for s in rows), keep_sign=True
    )
    first = rows[0]
    return SliceGroup(
        column=short(first.column),
        name=first.estimate.measure,
        measure=short(first.estimate.measure),
        rows=tuple(
            SliceRow(
                slices[s.slice],
                estimate_row(s.estimate, digits, systems[s.estimate.system]),
                difference_row(s.to_rest, apart),
                _remarks(s),
            )
            for s in rows
        ),
    )


def _remarks(s: Slice) -> str:
    own = remarks(s.estimate)
    # An undefined slice has said why; a slice that has no difference has to.
    if s.estimate.undefined or s.to_rest.no_interval is None:
        return own
    rest = f"difference: {remarks(s.to_rest)}"
    return f"{own}; {rest}" if own else rest


def p_label(slices: Slices) -> str:
    """What stands above the p-values."""
    return f"p ({short(slices.adjustment)})"


def within_left_out_text(rows: int) -> str:
    """The same of systems within slices; empty where all are shown."""
    more = f"{rows:,} more differences of systems within slices are not shown; the JSON has them."
    return more if rows else ""


def left_out_text(rows: int) -> str:
    """What is said of the rows that are not shown."""
    return f"{rows:,} more rows of slices are not shown; the JSON and slices.rows() have them all."
