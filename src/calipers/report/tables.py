"""The tables of results, by column: every format lays them out in its way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from calipers.report import numbers
from calipers.report.grouping import grouped
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
    SliceRow,
    WithinRow,
    left_out_text,
    p_label,
    slice_groups,
    within_left_out_text,
    within_rows,
)
from calipers.report.verdict import p_heading
from calipers.results import Comparison, Evaluation, Slices

if TYPE_CHECKING:
    from calipers.report.whiskers import Whisker


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
    #: Intervals drawn on the scale that rows have in common, for formats that draw.
    DRAWN = "drawn"


KEY, WORDS, NUMBER, NUMBERS, LINED, DRAWN = Kind


class Role(Enum):
    """What a column is to its row, for formats that show that."""

    #: The number that the row is about, its interval, its p-value, and what these come to.
    VALUE = "value"
    INTERVAL = "interval"
    P = "p"
    VERDICT = "verdict"
    #: How a number was made, and what is missing.
    METHOD = "method"
    REMARKS = "remarks"


VALUE, INTERVAL, P, VERDICT, METHOD, REMARKS = Role


class Column(NamedTuple):
    """A column, whose cells are safe to show.

    The further fields are for formats that have a place for them: ``explanation`` is what the
    heading means, ``units`` stand behind the cells, ``titles`` are what else is to be said of them,
    and ``whiskers`` the drawings of a column that is ``DRAWN``. A heading that ``is_worded`` is a
    word of ours, and no name.
    """

    name: str
    kind: Kind
    cells: Sequence[str]
    role: Role | None = None
    explanation: str = ""
    units: Sequence[str] = ()
    titles: Sequence[str] = ()
    whiskers: Sequence[Whisker | None] = ()
    is_worded: bool = False


def filled(columns: Iterable[Column]) -> list[Column]:
    """The columns that hold anything."""
    return [column for column in columns if any(column.cells) or any(column.whiskers)]


#: What headings mean that do not say it all.
EXPLANATIONS = {
    "judgments": "What judging every document could make of the value; pale where it is drawn",
    "bounds": "The exact value lies between: the memory did not hold every score",
    "pooled over rows": "Of the out-of-fold predictions of all rows together; the value is "
    "averaged over folds",
    "constant answer": "What the best constant answer scores; dashed where it is drawn",
    "optimism": "By how much the value exceeds that on rows that the threshold was not chosen on",
    "effect": "Hedges' g for paired data",
    "wins/ties/losses": "Units on which the first system is better, equal, worse",
    "detectable": "The smallest true difference that a test of this pair alone would find with a "
    "probability of 80%, where none was found",
    "margin": "The difference that still counts as none",
    "p not worse": "One-sided, adjusted: the first system is not worse by the margin or more",
    "p within": "Two one-sided tests, adjusted: the two differ by less than the margin",
}


def _columns(
    rows: Sequence[Any], *columns: tuple[str, Kind, str] | tuple[str, Kind, str, Role]
) -> list[Column]:
    """Columns of attributes of the rows."""
    return [
        Column(
            name,
            kind,
            list(map(attrgetter(of), rows)),
            next(iter(role), None),
            explanation=EXPLANATIONS.get(name, ""),
            is_worded=True,
        )
        for name, kind, of, *role in columns
    ]


def of_estimates(
    evaluation: Evaluation, *, arrows: bool = False, drawn: bool = False
) -> list[Column]:
    """A row an estimate; with ``arrows``, measures say which way is better, and with ``drawn``
    their intervals are drawn."""
    rows = estimate_rows(evaluation)
    made = _columns(
        rows,
        ("measure", KEY, "measure"),
        ("system", KEY, "system"),
        ("value", NUMBER, "value", VALUE),
        (f"{numbers.percent(evaluation.level)} interval", NUMBERS, "interval", INTERVAL),
        ("judgments", NUMBERS, "judgments"),
        ("bounds", NUMBERS, "bounds"),
        ("method", WORDS, "method", METHOD),
        (unit_label(evaluation), NUMBER, "n"),
        ("pooled over rows", NUMBER, "pooled"),
        ("constant answer", NUMBER, "default"),
        ("optimism", NUMBERS, "optimism"),
        ("remarks", WORDS, "remarks", REMARKS),
    )
    of = definitions_of(evaluation)
    if arrows:
        cells = [f"{r.measure} {arrow(of.get(r.estimate.measure))}".rstrip() for r in rows]
        titles = [of[m].title if (m := r.estimate.measure) in of else "" for r in rows]
        made[0] = made[0]._replace(cells=cells, titles=titles)
    if drawn:
        from calipers.report.whiskers import whiskers

        groups = grouped((r.estimate for r in rows), lambda e: e.measure)
        scales = [whiskers(own, of.get(m), evaluation.systems) for m, own in groups.items()]
        made.insert(6, _drawn([one for own in scales for one in own]))
        if unit_label(evaluation) == "n":
            units = [short(row.estimate.unit) for row in rows]
            made = [c._replace(units=units) if c.name == "n" else c for c in made]
    return _without_lone_system(made, evaluation.systems)


def _drawn(whiskers: Sequence[Whisker | None]) -> Column:
    return Column("drawn", DRAWN, [""] * len(whiskers), whiskers=whiskers, is_worded=True)


def _without_lone_system(made: list[Column], systems: Sequence[str]) -> list[Column]:
    return [c for c in made if len(systems) != 1 or (c.name, c.kind) != ("system", KEY)]


def of_differences(comparison: Comparison, *, verdict: bool = False) -> list[Column]:
    """A row a difference, with its verdict in a word where no sentence says it."""
    return _columns(
        difference_rows(comparison),
        ("measure", KEY, "measure"),
        ("systems", KEY, "systems"),
        ("difference", NUMBER, "value", VALUE),
        (f"{numbers.percent(comparison.level)} interval", NUMBERS, "interval", INTERVAL),
        (p_heading(comparison), NUMBER, "p", P),
        ("test", WORDS, "test", METHOD),
        ("effect", NUMBER, "effect"),
        ("wins/ties/losses", NUMBERS, "counts"),
        ("detectable", NUMBER, "detectable"),
        ("margin", NUMBER, "margin"),
        ("p not worse", NUMBER, "not_inferior"),
        ("p within", NUMBER, "equivalent"),
        *([("verdict", WORDS, "outcome.value", VERDICT)] if verdict else []),
        ("remarks", WORDS, "remarks", REMARKS),
    )


def of_all_systems(comparison: Comparison) -> list[Column]:
    """A row a measure, on which all systems are tested together; empty where they are not."""
    kinds = (KEY, KEY, *[NUMBER] * (len(OVERALL_HEAD) - 3), WORDS)
    columns = zip(*overall_rows(comparison), strict=True)
    return [
        Column(*of, is_worded=of[0] in ("measure", "units", "not told apart"))
        for of in zip(OVERALL_HEAD, kinds, columns, strict=False)
    ]


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
            made[short(column)] = within_columns(slices, rows)
    return made, within_left_out_text(left_out)


def within_columns(slices: Slices, rows: Sequence[WithinRow]) -> list[Column]:
    """A row a slice and pair of systems."""
    made = _columns(
        rows,
        ("measure", KEY, "of.measure"),
        ("slice", KEY, "slice"),
        ("systems", KEY, "of.systems"),
        ("difference", NUMBER, "of.value", VALUE),
        (f"{numbers.percent(slices.level)} interval", NUMBERS, "of.interval", INTERVAL),
        (slices.unit, NUMBER, "n"),
        (WITHIN_P, NUMBER, "of.p", P),
        ("verdict", WORDS, "of.outcome.value", VERDICT),
        ("remarks", WORDS, "of.remarks", REMARKS),
    )
    made[6] = made[6]._replace(titles=[row.of.test for row in rows])
    return made


def of_slices(slices: Slices) -> tuple[dict[str, list[Column]], str]:
    """By the column that cuts them a row a slice and measure, and what is said of rows that there
    is no room for."""
    groups, left_out = slice_groups(slices, MOST_IN_TEXT)
    made = {}
    for column in map(short, slices.columns):
        rows = [row for group in groups if group.column == column for row in group.rows]
        made[column] = slice_columns(slices, rows)
    return made, left_out_text(left_out) if left_out else ""


def slice_columns(
    slices: Slices,
    rows: Sequence[SliceRow],
    whiskers: Sequence[Whisker | None] | None = None,
) -> list[Column]:
    """A row a slice and measure, drawn where there are ``whiskers``."""
    level = numbers.percent(slices.level)
    columns = _columns(
        rows,
        ("measure", KEY, "of.measure"),
        ("slice", KEY, "slice"),
        ("system", KEY, "of.system"),
        ("value", NUMBER, "of.value"),
        (f"{level} interval", NUMBER, "of.interval", INTERVAL),
        (slices.unit, NUMBER, "of.n"),
        ("less the rest", NUMBER, "rest.value", VALUE),
        (f"{level} interval of it", NUMBER, "rest.interval", INTERVAL),
        (p_label(slices), NUMBER, "rest.p", P),
        # Where there is room for words, every row has its own.
        ("verdict", WORDS, "verdict" if whiskers is None else "rest.outcome.value", VERDICT),
        ("remarks", WORDS, "remarks", REMARKS),
    )
    columns[6] = columns[6]._replace(explanation=f"The slice minus all other {slices.unit}")
    columns[8] = columns[8]._replace(titles=[row.rest.test for row in rows])
    if whiskers is not None:
        columns.insert(5, _drawn(whiskers))
    return _without_lone_system(columns, list(dict.fromkeys(s.estimate.system for s in slices)))
