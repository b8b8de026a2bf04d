"""Tables of results by column, independent of the output format."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from operator import attrgetter
from typing import Any, NamedTuple

from calipers.lazy_dataclasses import dataclass
from calipers.report import numbers
from calipers.report.grouping import group_by
from calipers.report.safe_names import method_text, shorten_name, unique_labels
from calipers.report.table_rows import (
    OMNIBUS_HEADINGS,
    DifferenceRow,
    EstimateRow,
    definitions_by_measure,
    difference_row,
    difference_rows,
    direction_arrow,
    estimate_row,
    estimate_rows,
    no_skill_explanation,
    omnibus_rows,
    remarks_text,
    unit_label,
)
from calipers.report.verdict import Outcome, outcome, p_heading
from calipers.results import (
    Comparison,
    Definition,
    Estimate,
    Evaluation,
    Fairness,
    SliceEstimate,
    Slices,
    ThresholdTable,
    ThresholdTables,
)


class CellKind(Enum):
    """Kind of the cells of a column."""

    #: What a row is about: a narrow terminal shows it before all else.
    KEY = "key"
    WORDS = "words"
    NUMBER = "number"
    #: An interval or several counts, which line up at the right where letters are of one width.
    NUMBERS = "numbers"
    #: Several things in each cell, already lined up.
    LINED = "lined"
    #: Intervals drawn on the scale that rows have in common, for formats that draw.
    DRAWING = "drawn"


KEY, WORDS, NUMBER, NUMBERS, LINED, DRAWING = CellKind


class ColumnRole(Enum):
    """Role of a column in its row, for formats that show it."""

    #: The number that the row is about, its interval, its p-value, and what these come to.
    VALUE = "value"
    INTERVAL = "interval"
    P = "p"
    VERDICT = "verdict"
    #: How a number was made, and what is missing.
    METHOD = "method"
    REMARKS = "remarks"


VALUE, INTERVAL, P, VERDICT, METHOD, REMARKS = ColumnRole


class Column(NamedTuple):
    """Column of a table, whose cells are safe to display.

    The optional fields are for formats that have a place for them: ``explanation`` is the meaning
    of the heading, ``units`` are appended to the cells, ``titles`` are additional information on
    them, and ``whiskers`` the drawings of a column that is ``DRAWING``. A heading that
    ``is_worded`` is a word of this package rather than a name from the data.
    """

    name: str
    kind: CellKind
    cells: Sequence[str]
    role: ColumnRole | None = None
    explanation: str = ""
    units: Sequence[str] = ()
    titles: Sequence[str] = ()
    whiskers: Sequence[Whisker | None] = ()
    is_worded: bool = False


BETTER, WORSE = "†", "‡"
#: Marks of significant outcomes: of systems against the baseline, of differences, and of slices.
OUTCOME_MARKS = {
    Outcome.BETTER: BETTER,
    Outcome.HIGHER: BETTER,
    Outcome.WORSE: WORSE,
    Outcome.LOWER: WORSE,
}


def drop_empty_columns(columns: Iterable[Column]) -> list[Column]:
    """Return the columns that are not empty."""
    return [column for column in columns if any(column.cells) or any(column.whiskers)]


def select_rows(columns: Iterable[Column], indices: Sequence[int]) -> list[Column]:
    """Return the columns with some of their rows."""

    def pick(items: Sequence[Any]) -> Sequence[Any]:
        return [items[i] for i in indices] if items else items

    return [
        c._replace(
            cells=pick(c.cells),
            units=pick(c.units),
            titles=pick(c.titles),
            whiskers=pick(c.whiskers),
        )
        for c in columns
    ]


#: Explanations of headings.
EXPLANATIONS = {
    "judgments": "Bounds for incomplete judgments: the range of the value over all grades of "
    "unjudged documents; pale in the plot",
    "if scored": "Bounds for cases without a score: the value if all of them had the lowest "
    "score, and the highest; pale in the plot",
    "bounds": "Bounds of the exact value, as not all scores fitted into memory",
    "pooled": "Measure of the pooled out-of-fold predictions of all rows; the value is "
    "the mean over folds",
    "optimism": "Optimism: the value minus that on rows that were not used to choose the threshold",
    "human only": "Value by the human labels alone",
    "judge only": "Value by the judge alone, which ignores its errors",
    "worth labels": "Number of human labels that would estimate the value as precisely without the "
    "judge, of those that there are",
    "effect": "Hedges' g for paired data",
    "wins/ties/losses": "Units on which the first system is better, equal and worse",
    "MDD (80% power)": "Minimum detectable difference: the smallest true difference that a test of "
    "this pair, at the level that it is adjusted to, detects with 80% power",
    "margin": "Margin of the non-inferiority and equivalence tests",
    "p (non-inferiority)": "One-sided test, adjusted: the first system is not worse by the margin "
    "or more",
    "p (equivalence)": "Two one-sided tests, adjusted: the systems differ by less than the margin",
}


def _attribute_columns(
    rows: Sequence[Any], *columns: tuple[str, CellKind, str] | tuple[str, CellKind, str, ColumnRole]
) -> list[Column]:
    """Return columns of attributes of the rows."""
    return [
        Column(
            name,
            kind,
            list(map(attrgetter(attribute), rows)),
            next(iter(role), None),
            explanation=EXPLANATIONS.get(name, ""),
            is_worded=True,
        )
        for name, kind, attribute, *role in columns
    ]


def estimate_columns(
    evaluation: Evaluation, *, arrows: bool = False, drawings: bool = False
) -> list[Column]:
    """Return the columns of a table with a row per estimate.

    With ``arrows`` measures have their direction, and with ``drawings`` intervals are drawn.
    """
    rows = estimate_rows(evaluation)
    columns = _attribute_columns(
        rows,
        ("measure", KEY, "measure"),
        ("system", KEY, "system"),
        ("value", NUMBER, "value", VALUE),
        (f"{numbers.format_percent(evaluation.level)} CI", NUMBERS, "interval", INTERVAL),
        ("judgments", NUMBERS, "judgments"),
        ("if scored", NUMBERS, "unscored"),
        ("bounds", NUMBERS, "bounds"),
        ("method", WORDS, "method", METHOD),
        (unit_label(evaluation), NUMBER, "n"),
        ("pooled", NUMBER, "pooled"),
        ("no skill", NUMBER, "no_skill"),
        ("optimism", NUMBERS, "optimism"),
        ("human only", NUMBERS, "human_only"),
        ("judge only", NUMBER, "judge_only"),
        ("worth labels", NUMBERS, "worth"),
        ("remarks", WORDS, "remarks", REMARKS),
    )
    reference_units = {r.estimate.unit for r in rows if r.no_skill}
    if len(reference_units) == 1:
        explanation = no_skill_explanation(reference_units.pop())
        columns = [
            c._replace(explanation=explanation) if c.name == "no skill" else c for c in columns
        ]
    definitions = definitions_by_measure(evaluation)
    if arrows:
        cells = [
            f"{r.measure} {direction_arrow(definitions.get(r.estimate.measure))}".rstrip()
            for r in rows
        ]
        titles = [
            definitions[m].title if (m := r.estimate.measure) in definitions else "" for r in rows
        ]
        columns[0] = columns[0]._replace(cells=cells, titles=titles)
    if drawings:
        groups = group_by((r.estimate for r in rows), lambda e: e.measure)
        scales = [
            whiskers(group, definitions.get(m), evaluation.systems) for m, group in groups.items()
        ]
        columns.insert(6, _drawn_column([whisker for group in scales for whisker in group]))
        if unit_label(evaluation) == "n":
            units = [shorten_name(row.estimate.unit) for row in rows]
            columns = [c._replace(units=units) if c.name == "n" else c for c in columns]
    return _drop_single_system(columns, evaluation.systems)


def _drawn_column(whiskers: Sequence[Whisker | None]) -> Column:
    return Column("plot", DRAWING, [""] * len(whiskers), whiskers=whiskers, is_worded=True)


def _drop_single_system(columns: list[Column], systems: Sequence[str]) -> list[Column]:
    return [c for c in columns if len(systems) != 1 or (c.name, c.kind) != ("system", KEY)]


def difference_columns(
    comparison: Comparison, *, verdict: bool = False, tests: bool = True
) -> list[Column]:
    """Return the columns of a table with a row per difference.

    With ``verdict`` there is a column for the outcome, for documents without sentences; ``tests``
    are the names of the tests, and what else describes a difference.
    """
    details = (
        ("test", WORDS, "test", METHOD),
        ("effect", NUMBER, "effect_size"),
        ("wins/ties/losses", NUMBERS, "counts"),
        ("MDD (80% power)", NUMBER, "min_detectable"),
    )
    return _attribute_columns(
        difference_rows(comparison),
        ("measure", KEY, "measure"),
        ("systems", KEY, "systems"),
        ("difference", NUMBER, "value", VALUE),
        (f"{numbers.format_percent(comparison.level)} CI", NUMBERS, "interval", INTERVAL),
        (p_heading(comparison), NUMBER, "p", P),
        *(details if tests else ()),
        ("margin", NUMBER, "margin"),
        ("p (non-inferiority)", NUMBER, "p_noninferiority"),
        ("p (equivalence)", NUMBER, "p_equivalence"),
        ("human only", NUMBERS, "human_only"),
        ("judge only", NUMBER, "judge_only"),
        ("worth labels", NUMBERS, "worth"),
        *([("verdict", WORDS, "outcome.value", VERDICT)] if verdict else []),
        ("remarks", WORDS, "remarks", REMARKS),
    )


def omnibus_columns(comparison: Comparison) -> list[Column]:
    """Return the columns of omnibus tests with a row per measure; empty if there are none."""
    column_types = (KEY, KEY, *[NUMBER] * (len(OMNIBUS_HEADINGS) - 3), WORDS)
    columns = zip(*omnibus_rows(comparison), strict=True)
    return [
        Column(
            *column_fields, is_worded=column_fields[0] in ("measure", "units", "homogeneous groups")
        )
        for column_fields in zip(OMNIBUS_HEADINGS, column_types, columns, strict=False)
    ]


def within_slice_tables(slices: Slices) -> tuple[dict[str, list[Column]], str]:
    """Return tables of systems compared within slices, by column, and a note on omitted rows.

    There is a row per slice and pair of systems, on the primary measure.
    """
    tables, n_shown = {}, 0
    for column, label in unique_labels(slices.columns).items():
        for rows in within_rows(slices, column).values():
            if n_shown + len(rows) <= MAX_ROWS_IN_TEXT:
                n_shown += len(rows)
                tables[label] = within_columns(slices, rows)
    return tables, omitted_pairs_in_slices_note(len(slices.differences) - n_shown)


def within_columns(slices: Slices, rows: Sequence[WithinRow]) -> list[Column]:
    """Return the columns of a table with a row per slice and pair of systems."""
    columns = _attribute_columns(
        rows,
        ("measure", KEY, "difference_cells.measure"),
        ("slice", KEY, "slice"),
        ("systems", KEY, "difference_cells.systems"),
        ("difference", NUMBER, "difference_cells.value", VALUE),
        (
            f"{numbers.format_percent(slices.level)} CI",
            NUMBERS,
            "difference_cells.interval",
            INTERVAL,
        ),
        (slices.unit, NUMBER, "n"),
        (WITHIN_P_HEADING, NUMBER, "difference_cells.p", P),
        ("verdict", WORDS, "difference_cells.outcome.value", VERDICT),
        ("remarks", WORDS, "difference_cells.remarks", REMARKS),
    )
    columns[6] = columns[6]._replace(titles=[row.difference_cells.test for row in rows])
    return columns


def slice_tables(slices: Slices) -> tuple[dict[str, list[Column]], str]:
    """Return tables of slices, by column, and a note on omitted rows.

    They have a row per measure and slice; of several systems, with a column for each.
    """
    systems = tuple(dict.fromkeys(s.estimate.system for s in slices))
    groups, n_omitted = slice_groups(slices, MAX_ROWS_IN_TEXT)
    tables = {}
    for column in unique_labels(slices.columns).values():
        rows = [row for group in groups if group.column == column for row in group.rows]
        tables[column] = (
            slice_grid(slices, rows, systems) if len(systems) > 1 else slice_columns(slices, rows)
        )
    return tables, omitted_slices_note(n_omitted) if n_omitted else ""


def slice_columns(
    slices: Slices,
    rows: Sequence[SliceRow],
    whiskers: Sequence[Whisker | None] | None = None,
) -> list[Column]:
    """Return the columns of a table with a row per slice and measure.

    Intervals are drawn if ``whiskers`` are given.
    """
    level = numbers.format_percent(slices.level)
    columns = _attribute_columns(
        rows,
        ("measure", KEY, "estimate_cells.measure"),
        ("slice", KEY, "slice"),
        ("system", KEY, "estimate_cells.system"),
        ("value", NUMBER, "estimate_cells.value"),
        (f"{level} CI", NUMBER, "estimate_cells.interval", INTERVAL),
        (slices.unit, NUMBER, "estimate_cells.n"),
        ("difference", NUMBER, "difference_cells.value", VALUE),
        (f"{level} CI of the difference", NUMBER, "difference_cells.interval", INTERVAL),
        (slices_p_heading(slices), NUMBER, "difference_cells.p", P),
        # Tables with drawings show the verdict in every row.
        (
            "verdict",
            WORDS,
            "verdict" if whiskers is None else "difference_cells.outcome.value",
            VERDICT,
        ),
        ("remarks", WORDS, "remarks", REMARKS),
    )
    columns[6] = columns[6]._replace(explanation=f"The slice minus all other {slices.unit}")
    columns[8] = columns[8]._replace(titles=[row.difference_cells.test for row in rows])
    if whiskers is not None:
        columns.insert(5, _drawn_column(whiskers))
    return _drop_single_system(columns, list(dict.fromkeys(s.estimate.system for s in slices)))


def slice_grid(slices: Slices, rows: Sequence[SliceRow], systems: Sequence[str]) -> list[Column]:
    """Return the columns of a table with a row per measure and slice, and a column per system.

    Cells have values with intervals, and a mark if the slice differs significantly from all other
    rows.
    """
    labels = unique_labels(systems)
    by_key = group_by(rows, lambda row: (row.estimate_cells.measure, row.slice))
    cells = [
        {row.estimate_cells.estimate.system: row for row in group} for group in by_key.values()
    ]
    n_by_row = [dict.fromkeys(row.estimate_cells.n for row in group) for group in by_key.values()]
    remarks = list(map(_common_remarks, by_key.values()))
    return [
        Column("measure", KEY, [measure for measure, _ in by_key], is_worded=True),
        Column("slice", KEY, [name for _, name in by_key], is_worded=True),
        Column(shorten_name(slices.unit), NUMBER, list(map(" / ".join, n_by_row)), is_worded=True),
        *(
            Column(labels[s], NUMBERS, _slice_cells([row.get(s) for row in cells]))
            for s in systems
        ),
        Column("remarks", WORDS, remarks, REMARKS, is_worded=True),
    ]  # fmt: skip


def _common_remarks(rows: Sequence[SliceRow]) -> str:
    """Return the remarks on the cells of a row, with the systems of those that are not on all."""
    by_text = group_by((row for row in rows if row.remarks), lambda row: row.remarks)
    return "; ".join(
        text if len(group) == len(rows)
        else f"{', '.join(row.estimate_cells.system for row in group)}: {text}"
        for text, group in by_text.items()
    )  # fmt: skip


def _slice_cells(rows: Sequence[SliceRow | None]) -> list[str]:
    """Return the cells of a system, with its numbers aligned whether or not they have a mark."""
    marks = [
        "" if row is None else OUTCOME_MARKS.get(row.difference_cells.outcome, "") for row in rows
    ]
    blank = " " * any(marks)
    return [
        ""
        if row is None
        else f"{row.estimate_cells.value} {row.estimate_cells.interval}".rstrip() + (mark or blank)
        for row, mark in zip(rows, marks, strict=True)
    ]


def slice_marks(slices: Slices) -> str:
    """Return the explanation of the marks in a table of slices and systems; empty if none is."""
    if len({s.estimate.system for s in slices}) < 2:
        return ""
    outcomes = {outcome(s.vs_rest) for s in slices}
    words = {
        BETTER: [o.value for o in (Outcome.BETTER, Outcome.HIGHER) if o in outcomes],
        WORSE: [o.value for o in (Outcome.WORSE, Outcome.LOWER) if o in outcomes],
    }
    marks = [f"{mark}: {' or '.join(names)}" for mark, names in words.items() if names]
    if not marks:
        return ""
    method = (
        "" if slices.adjustment == "none" else f", adjusted by {shorten_name(slices.adjustment)}"
    )
    return (
        f"{'; '.join(marks)} than on all other {shorten_name(slices.unit)} (significantly{method})."
    )


# --- Slices ---------------------------------------------------------------------------------------


#: The largest numbers of rows that are shown; all rows are in the data.
MAX_ROWS_IN_TEXT = 150
MAX_ROWS_ON_PAGE = 600

#: Heading of the p-values of systems compared within slices.
WITHIN_P_HEADING = "p (max-t)"


@dataclass(frozen=True, slots=True)
class SliceRow:
    """Cells of one measure of one system on one slice, and its difference from all other rows."""

    slice: str
    estimate_cells: EstimateRow
    difference_cells: DifferenceRow
    remarks: str

    @property
    def verdict(self) -> str:
        """Outcome of the difference if it is significant or was not tested, otherwise empty."""
        row_outcome = self.difference_cells.outcome
        return (
            row_outcome.value
            if row_outcome.is_significant or row_outcome is Outcome.NOT_TESTED
            else ""
        )


@dataclass(frozen=True, slots=True)
class SliceGroup:
    """All slices of one column on one measure."""

    column: str
    canonical_name: str
    label: str
    rows: tuple[SliceRow, ...]

    @property
    def significant_slices(self) -> list[str]:
        """Names of the slices that differ significantly from all other rows."""
        has_multiple_systems = len({r.estimate_cells.system for r in self.rows}) > 1
        return [
            f"{r.slice} ({r.estimate_cells.system})" if has_multiple_systems else r.slice
            for r in self.rows
            if r.difference_cells.outcome.is_significant
        ]

    @property
    def has_tests(self) -> bool:
        """Whether any slice was tested against all other rows."""
        return any(row.difference_cells.outcome.is_tested for row in self.rows)


def slice_groups(slices: Slices, max_rows: int) -> tuple[list[SliceGroup], int]:
    """Return groups of slices in order, and the number of omitted rows.

    At most ``max_rows`` rows are included, divided equally between columns. The first measure has
    priority, then those by which a slice differs significantly from all other rows, then all
    others.
    """
    systems = unique_labels(s.estimate.system for s in slices)
    columns = unique_labels(slices.columns)
    by_column: dict[str, dict[str, list[SliceEstimate]]] = {}
    for s in slices:
        by_column.setdefault(s.column, {}).setdefault(s.estimate.measure, []).append(s)
    max_per_column = max_rows // max(1, len(by_column))
    groups: list[SliceGroup] = []
    n_omitted = 0
    for column, estimates_by_measure in by_column.items():
        n_remaining, selected = max_per_column, set()
        first = next(iter(estimates_by_measure))
        has_significant = {
            m: any(outcome(s.vs_rest).is_significant for s in estimates)
            for m, estimates in estimates_by_measure.items()
        }
        by_priority = sorted(
            estimates_by_measure, key=lambda m: (m != first, not has_significant[m])
        )
        for measure in by_priority:
            size = len(estimates_by_measure[measure])
            # The first measure of a column is shown however many slices it has.
            if size <= n_remaining or measure == first:
                n_remaining -= size
                selected.add(measure)
            else:
                n_omitted += size
        groups += [
            _slice_group(columns[column], rows, systems)
            for m, rows in estimates_by_measure.items()
            if m in selected
        ]
    return groups, n_omitted


@dataclass(frozen=True, slots=True)
class WithinRow:
    """Cells of the comparison of two systems on one slice."""

    slice: str
    difference_cells: DifferenceRow

    @property
    def n(self) -> str:
        """Number of rows."""
        return f"{self.difference_cells.difference.n:,}"


def within_rows(slices: Slices, column: str, max_rows: int = 0) -> dict[str, list[WithinRow]]:
    """Return the comparisons of systems on the slices of a column, by measure.

    The primary measure is always included, others if there are at most ``max_rows`` rows in total.
    """
    rows = [d for d in slices.differences if d.column == column]
    systems = unique_labels(
        name for d in rows for name in (d.difference.system, d.difference.baseline)
    )
    names = unique_labels(d.slice for d in rows)
    rows_by_measure: dict[str, list[WithinRow]] = {}
    n_rows = 0
    for measure, measure_rows in group_by(rows, lambda d: d.difference.measure).items():
        n_rows += len(measure_rows)
        if rows_by_measure and n_rows > max_rows:
            break
        digits = numbers.rounding(
            ((d.difference.value, d.difference.low, d.difference.high) for d in measure_rows),
            keep_sign=True,
        )
        for d in measure_rows:
            pair = f"{systems[d.difference.system]} - {systems[d.difference.baseline]}"
            row = WithinRow(names[d.slice], difference_row(d.difference, digits, pair))
            rows_by_measure.setdefault(measure, []).append(row)
    return rows_by_measure


def _slice_group(
    column: str, rows: Sequence[SliceEstimate], systems: Mapping[str, str]
) -> SliceGroup:
    slices = unique_labels(s.slice for s in rows)
    digits = numbers.rounding((s.estimate.value, s.estimate.low, s.estimate.high) for s in rows)
    difference_digits = numbers.rounding(
        ((s.vs_rest.value, s.vs_rest.low, s.vs_rest.high) for s in rows), keep_sign=True
    )
    first = rows[0]
    return SliceGroup(
        column=column,
        canonical_name=first.estimate.measure,
        label=shorten_name(first.estimate.measure),
        rows=tuple(
            SliceRow(
                slices[s.slice],
                estimate_row(s.estimate, digits, systems[s.estimate.system]),
                difference_row(s.vs_rest, difference_digits),
                _slice_remarks(s),
            )
            for s in rows
        ),
    )


def _slice_remarks(s: SliceEstimate) -> str:
    estimate_remarks = remarks_text(s.estimate)
    # The remarks on an undefined estimate explain an undefined difference as well.
    if s.estimate.undefined or s.vs_rest.interval_reason is None:
        return estimate_remarks
    difference_remarks = f"difference: {remarks_text(s.vs_rest)}"
    return f"{estimate_remarks}; {difference_remarks}" if estimate_remarks else difference_remarks


def slices_p_heading(slices: Slices) -> str:
    """Return the heading of the p-values."""
    return f"p ({shorten_name(slices.adjustment)})"


def omitted_pairs_in_slices_note(rows: int) -> str:
    """Return a note on omitted comparisons within slices; empty if all are shown."""
    note = f"{rows:,} more comparisons within slices are not shown; the JSON lists them."
    return note if rows else ""


def omitted_slices_note(rows: int) -> str:
    """Return a note on omitted rows of slices."""
    return (
        f"{rows:,} more rows of slices are not shown; the JSON and slices.rows() list all of them."
    )


# --- Fairness -------------------------------------------------------------------------------------


FAIRNESS_CAPTION = (
    "Largest difference and smallest ratio of two groups, or the value of one. Intervals are "
    "joint: they allow for the selection of these groups among all."
)


def fairness_columns(fairness: Fairness) -> list[Column]:
    """Return the columns of a table with a row per disparity between groups."""
    estimates = [d.estimate for d in fairness]
    systems = unique_labels(e.system for e in estimates)
    rows = [
        estimate_row(e, numbers.rounding([(e.value, e.low, e.high)]), systems[e.system])
        for e in estimates
    ]
    columns = _attribute_columns(
        rows,
        ("disparity", KEY, "measure"),
        ("system", KEY, "system"),
        ("value", NUMBER, "value", VALUE),
        (f"{numbers.format_percent(fairness.level)} CI", NUMBERS, "interval", INTERVAL),
        (next((shorten_name(e.unit) for e in estimates), "rows"), NUMBER, "n"),
        ("remarks", WORDS, "remarks", REMARKS),
    )
    for name in ("highest", "lowest"):
        cells = [shorten_name(getattr(d, name)) for d in fairness]
        columns.insert(4, Column(name, WORDS, cells, is_worded=True))
    names = unique_labels(d.column for d in fairness)
    cells = [names[d.column] for d in fairness]
    columns.insert(0, Column("groups by", KEY, cells, is_worded=True))
    return _drop_single_system(columns, list(systems))


# --- Threshold tables -----------------------------------------------------------------------------


def threshold_columns(threshold_tables: ThresholdTables, table: ThresholdTable) -> list[Column]:
    """Return the columns of a threshold table: rows above, and measures with intervals."""
    sizes = numbers.rounding_of_counts(table.above)
    out = [
        Column("threshold", KEY, [f"{x:.6g}" for x in table.thresholds.tolist()], VALUE),
        Column("rows above", NUMBER, list(map(sizes, table.above.tolist()))),
    ]
    for name, values in table.values.items():
        triples = list(
            zip(values.tolist(), table.low[name].tolist(), table.high[name].tolist(), strict=True)
        )
        # Each row with its own digits: likelihood ratios go from hundreds to thousandths.
        cells = [
            numbers.UNDEFINED
            if math.isnan(t[0])
            else numbers.common_rounding(*t).value_with_interval(*t)
            for t in triples
        ]
        out.append(Column(shorten_name(threshold_tables.display_name(name)), NUMBERS, cells))
    return out


def threshold_caption(threshold_tables: ThresholdTables) -> str:
    """Return the caption of a threshold table."""
    methods: dict[str, list[str]] = {}
    for name, method in (pair for table in threshold_tables for pair in table.methods.items()):
        methods.setdefault(method, []).append(shorten_name(threshold_tables.display_name(name)))
    methods_text = "; ".join(
        f"{method_text(method)}: {', '.join(dict.fromkeys(names))}"
        for method, names in methods.items()
    )
    level = numbers.format_percent(threshold_tables.level)
    subject = f"{level} CIs ({methods_text}) hold" if methods_text else "Measures are computed"
    return (
        f"Scores at or above the threshold are predicted positive. {subject} for each threshold "
        "separately, as if it had been fixed in advance."
    )


# --- Drawings -------------------------------------------------------------------------------------


_SCALE_WIDTH = 150  # in the units of the view box
_SCALE_MARGIN = 6

#: Limits of a drawn scale.
Domain = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Whisker:
    """Interval drawn on the scale of its measure, with positions in units of the view box.

    The last of those on a common scale has the ``scale_limits`` of the scale.
    """

    value: str
    low: str
    high: str
    no_skill: str
    bounds: tuple[str, str] | None
    color: str
    scale_limits: tuple[str, str] | None = None


def whiskers(
    estimates: Sequence[Estimate], definition: Definition | None, systems: Sequence[str]
) -> list[Whisker | None]:
    """Return the intervals of estimates on one scale; None for those that cannot be drawn."""
    domain = scale_domain(estimates, definition)
    if domain is None:
        return [None] * len(estimates)
    # Two digits of the range label the ends of the scale; the exact numbers are in the table.
    decimals = max(0, min(6, 1 - math.floor(math.log10(domain[1] - domain[0]))))
    if all(float(x).is_integer() for x in domain):
        decimals = 0
    low, high = map(numbers.Rounding(decimals), domain)
    drawn_intervals = [_whisker(e, domain, systems) for e in estimates]
    last = max(
        (i for i, whisker in enumerate(drawn_intervals) if whisker is not None), default=None
    )
    return [
        replace(whisker, scale_limits=(low, high)) if whisker is not None and i == last else whisker
        for i, whisker in enumerate(drawn_intervals)
    ]


def scale_domain(estimates: Sequence[Estimate], definition: Definition | None) -> Domain | None:
    """Return the range of a drawn scale.

    For a single system it includes the range of the measure; for several systems it is the range of
    their intervals, so that differences are visible.
    """
    values = [x for e in estimates for x in (e.value, e.low, e.high, e.lower_bound, e.upper_bound)]
    if len(estimates) == 1:
        if definition is not None and None not in definition.range:
            values += [x for x in definition.range if x is not None]
        values.append(estimates[0].no_skill)
    finite = [x for x in values if math.isfinite(x)]
    if not finite or min(finite) == max(finite):
        return None
    return min(finite), max(finite)


def _whisker(e: Estimate, domain: Domain, systems: Sequence[str]) -> Whisker | None:
    from calipers.report.figures.vega import color

    if not math.isfinite(e.value):
        return None

    def position(x: float) -> str:
        proportion = (min(max(x, domain[0]), domain[1]) - domain[0]) / (domain[1] - domain[0])
        return f"{_SCALE_MARGIN + proportion * (_SCALE_WIDTH - 2 * _SCALE_MARGIN):.1f}"

    low, high = (e.low, e.high) if e.has_interval else (e.value, e.value)
    return Whisker(
        value=position(e.value),
        low=position(low),
        high=position(high),
        no_skill=position(e.no_skill) if domain[0] <= e.no_skill <= domain[1] else "",
        bounds=(position(e.lower_bound), position(e.upper_bound)) if e.bounds_kind else None,
        color=color(systems.index(e.system)),
    )
