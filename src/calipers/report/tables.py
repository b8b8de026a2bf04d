"""The tables of results, by column: text and Markdown lay them out, each in its way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from operator import attrgetter
from typing import Any, NamedTuple

from calipers.report import numbers
from calipers.report.names import short
from calipers.report.rows import (
    OVERALL_HEAD,
    arrow,
    definitions_of,
    difference_rows,
    estimate_rows,
    overall_rows,
    unit_label,
)
from calipers.report.slices import (
    MOST_IN_TEXT,
    WITHIN_P,
    left_out_text,
    p_label,
    slice_groups,
    within_left_out_text,
    within_rows,
)
from calipers.report.verdict import p_heading
from calipers.results import Comparison, Evaluation, Slices


class Kind(Enum):
    """What the cells of a column are."""

    #: What a row is about: a narrow terminal shows it before all else.
    KEY = "key"
    WORDS = "words"
    NUMBER = "number"
    #: An interval or several counts, which line up at the right where letters are of one width.
    NUMBERS = "numbers"
    #: Several things in each cell, already lined up.
    LINED = "lined"


KEY, WORDS, NUMBER, NUMBERS, LINED = Kind


class Column(NamedTuple):
    """A column, whose cells are safe to show."""

    name: str
    kind: Kind
    cells: Sequence[str]


def filled(columns: Iterable[Column]) -> list[Column]:
    """The columns that hold anything."""
    return [column for column in columns if any(column.cells)]


def _columns(rows: Sequence[Any], *columns: tuple[str, Kind, str]) -> list[Column]:
    """Columns of attributes of the rows."""
    return [Column(name, kind, list(map(attrgetter(of), rows))) for name, kind, of in columns]


def of_estimates(evaluation: Evaluation, *, arrows: bool = False) -> list[Column]:
    """A row an estimate; with ``arrows``, measures say which way is better."""
    rows = estimate_rows(evaluation)
    made = _columns(
        rows,
        ("measure", KEY, "measure"),
        ("system", KEY, "system"),
        ("value", NUMBER, "value"),
        (f"{numbers.percent(evaluation.level)} interval", NUMBERS, "interval"),
        ("judgments", NUMBERS, "judgments"),
        ("bounds", NUMBERS, "bounds"),
        ("method", WORDS, "method"),
        (unit_label(evaluation), NUMBER, "n"),
        ("pooled over rows", NUMBER, "pooled"),
        ("constant answer", NUMBER, "default"),
        ("optimism", NUMBERS, "optimism"),
        ("remarks", WORDS, "remarks"),
    )
    if arrows:
        of = definitions_of(evaluation)
        cells = [f"{r.measure} {arrow(of.get(r.estimate.measure))}".rstrip() for r in rows]
        made[0] = Column("measure", KEY, cells)
    return _without_lone_system(made, evaluation.systems)


def _without_lone_system(made: list[Column], systems: Sequence[str]) -> list[Column]:
    return [c for c in made if len(systems) != 1 or (c.name, c.kind) != ("system", KEY)]


def of_differences(comparison: Comparison, *, verdict: bool = False) -> list[Column]:
    """A row a difference, with its verdict in a word where no sentence says it."""
    return _columns(
        difference_rows(comparison),
        ("measure", KEY, "measure"),
        ("systems", KEY, "systems"),
        ("difference", NUMBER, "value"),
        (f"{numbers.percent(comparison.level)} interval", NUMBERS, "interval"),
        (p_heading(comparison), NUMBER, "p"),
        ("test", WORDS, "test"),
        ("effect", NUMBER, "effect"),
        ("wins/ties/losses", NUMBERS, "counts"),
        ("detectable", NUMBER, "detectable"),
        ("margin", NUMBER, "margin"),
        ("p not worse", NUMBER, "not_inferior"),
        ("p within", NUMBER, "equivalent"),
        *([("verdict", WORDS, "outcome.value")] if verdict else []),
        ("remarks", WORDS, "remarks"),
    )


def of_all_systems(comparison: Comparison) -> list[Column]:
    """A row a measure, on which all systems are tested together; empty where they are not."""
    kinds = (KEY, KEY, *[NUMBER] * (len(OVERALL_HEAD) - 3), WORDS)
    columns = zip(*overall_rows(comparison), strict=True)
    return list(map(Column, OVERALL_HEAD, kinds, columns))


def of_systems_within(slices: Slices) -> tuple[dict[str, list[Column]], str]:
    """By the column that cuts them a row a slice and pair of systems, of the primary measure, and
    what is said of rows that there is no room for."""
    made, number, left_out = {}, 0, 0
    for column in slices.columns:
        for rows in within_rows(slices, column).values():
            number += len(rows)
            if number > MOST_IN_TEXT:
                left_out += len(rows)
                continue
            made[short(column)] = _columns(
                rows,
                ("measure", KEY, "of.measure"),
                ("slice", KEY, "slice"),
                ("systems", KEY, "of.systems"),
                ("difference", NUMBER, "of.value"),
                (f"{numbers.percent(slices.level)} interval", NUMBERS, "of.interval"),
                (slices.unit, NUMBER, "n"),
                (WITHIN_P, NUMBER, "of.p"),
                ("verdict", WORDS, "of.outcome.value"),
                ("remarks", WORDS, "of.remarks"),
            )
    return made, within_left_out_text(left_out)


def of_slices(slices: Slices) -> tuple[dict[str, list[Column]], str]:
    """By the column that cuts them a row a slice and measure, and what is said of rows that there
    is no room for."""
    groups, left_out = slice_groups(slices, MOST_IN_TEXT)
    level = numbers.percent(slices.level)
    systems = list(dict.fromkeys(s.estimate.system for s in slices))
    made = {}
    for column in map(short, slices.columns):
        rows = [row for group in groups if group.column == column for row in group.rows]
        columns = _columns(
            rows,
            ("measure", KEY, "of.measure"),
            ("slice", KEY, "slice"),
            ("system", KEY, "of.system"),
            ("value", NUMBER, "of.value"),
            (f"{level} interval", NUMBER, "of.interval"),
            (slices.unit, NUMBER, "of.n"),
            ("less the rest", NUMBER, "rest.value"),
            (f"{level} interval of it", NUMBER, "rest.interval"),
            (p_label(slices), NUMBER, "rest.p"),
            ("verdict", WORDS, "verdict"),
            ("remarks", WORDS, "remarks"),
        )
        made[column] = _without_lone_system(columns, systems)
    return made, left_out_text(left_out) if left_out else ""
