"""Which blocks the document of each kind of result consists of, and in which order.

What a terminal, a page and a paper have is told apart here and nowhere else; see
:class:`~calipers.report.blocks.Medium`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from calipers.report import (
    confusion,
    cutoffs,
    fronts,
    labels,
    learning,
    numbers,
    plan,
    rows,
    selection,
    tables,
    wide,
)
from calipers.report.asked import as_asked
from calipers.report.blocks import (
    Block,
    Findings,
    Fold,
    Heading,
    Lines,
    Medium,
    Notes,
    Table,
    Terms,
    Verdict,
    WideTable,
    literal,
    name,
)
from calipers.report.glossary import glossary
from calipers.report.grid import is_wide
from calipers.report.headlines import (
    MOST_PAIRS,
    comparison_headlines,
    headlines,
    left_out,
    of_primary,
    other_measures,
    others,
)
from calipers.report.names import labels as told_apart
from calipers.report.names import short
from calipers.report.tables import KEY, NUMBER, Column, filled
from calipers.report.verdict import adjustment_text, pairs, sentences
from calipers.report.writers import known, named
from calipers.report.writers import own as own_formats
from calipers.results import (
    ORIENTATIONS,
    AnyConfusion,
    Comparison,
    Cutoffs,
    CutoffTable,
    Evaluation,
    LabelTable,
    Plan,
    Slices,
)
from calipers.results.learning import Learned, Selection
from calipers.results.name_lookup import meant

#: Each split is written out where there are no more than these.
MOST_SPLITS = 30
#: More differences than these are folded beside a wide table, or have a row a pair there.
FEW_DIFFERENCES = 12
#: More sentences than these are left to the table.
MOST_SENTENCES = 60
# Pages have one more blank line where differences are folded.
_BLANK = Lines([""])


@dataclass(frozen=True)
class Look:
    """How a result is to be shown: on what, in which layout, with confusion matrices in which
    orientation, and whether a paper has intervals."""

    medium: Medium = Medium.PAGE
    layout: str | None = None
    orientation: str = ORIENTATIONS[0]
    intervals: bool = True

    @property
    def on_screen(self) -> bool:
        """Whether it is read on a terminal."""
        return self.medium is Medium.SCREEN


def written(result: Any, format: str, **look: Any) -> str:  # noqa: A002
    """A result in a format."""
    # Only where it is none of ours are those of other packages looked up.
    writer = named(meant("format", format, own_formats() if format in own_formats() else known()))
    return writer.write(document(result, Look(writer.medium, **look)))


def document(result: Any, look: Look) -> Iterable[Block]:
    """The blocks of a result."""
    match result:
        case Evaluation():
            return evaluation(as_asked(result), look)
        case Comparison():
            return comparison(as_asked(result), look)
        case Plan():
            return of_plan(result, look)
        case Learned():
            return learned(result, look)
        case Selection():
            return selected(result, look)
        case Cutoffs():
            return of_cutoffs(result, look)
        case Slices():
            return slices(result)
    raise TypeError(f"there is no document of a {type(result).__name__}")


# --- Evaluations ----------------------------------------------------------------------------------


def evaluation(of: Evaluation, look: Look) -> Iterator[Block]:
    """An evaluation: the verdict first, but on a terminal last, where it is read first."""
    if look.medium is Medium.PAPER:
        yield from _on_paper(of, intervals=look.intervals)
        return
    rest = others(of, name)
    verdict = Verdict(headlines(of, name), [rest] if rest else [])
    notes = Notes(list(map(literal, of.notes)))
    yield Heading(rows.heading(of), 1)
    if not look.on_screen:
        yield verdict
    if of.findings:
        told = rows.told_once(of.findings)
        yield Heading("Findings")
        yield Findings(
            [(rows.call_of(f).strip(), literal(rows.finding_text(f, alike))) for f, alike in told]
        )
    if not look.on_screen:
        yield notes
    yield from _numbers(of, look)
    if of.costs is not None:
        yield from _costs(of, of.costs, look)
    if not look.on_screen:
        by_class = any(table.of == "class" for table in of.label_tables)
        yield from _confusions(of.confusions, look.orientation, told=by_class)
        yield from _labels(of.label_tables)
    parts = [
        () if of.slices is None else slices(of.slices),
        () if of.cutoffs is None else of_cutoffs(of.cutoffs, look),
    ]
    for part in parts if look.on_screen else reversed(parts):
        yield from part
    yield from (verdict, notes) if look.on_screen else _provenance(of.provenance)


def _on_paper(of: Evaluation, *, intervals: bool) -> Iterator[Block]:
    """Systems by measures; then by costs, with the Pareto fronts of both."""
    yield WideTable(wide.of_evaluation(of, intervals=intervals))
    if of.costs is not None:
        made = wide.of_evaluation(of.costs, intervals=intervals)
        told = (line for front in of.fronts for line in fronts.sentences(front))
        yield WideTable(replace(made, tests=(*made.tests, *told)))


def _numbers(of: Evaluation, look: Look) -> Iterator[Block]:
    """The estimates, and below them the differences; on a terminal those of many pairs are left
    out."""
    found, is_of_rows = of.comparison or None, is_wide(of, look.layout)
    pairs_out = look.on_screen and found is not None and len(pairs(found)) > MOST_PAIRS
    told = [left_out(found)] if found is not None and pairs_out else []
    if of.estimates and is_of_rows:
        # The differences below say how they were tested.
        tests = not look.on_screen or found is None or pairs_out
        made = wide.of_evaluation(of)
        yield WideTable(
            replace(made, remarks=(*made.remarks, *told)), wide.primary_of(of), tests=tests
        )
        told = []
    elif of.estimates:
        yield Table(filled(tables.of_estimates(of, arrows=not look.on_screen)))
    if told:
        yield Lines(told)
    if found is None or pairs_out:
        return
    if look.on_screen and is_of_rows and len(found) > FEW_DIFFERENCES:
        yield WideTable(wide.of_comparison(found))
    else:
        yield from differences(found, look, folded=is_of_rows)


def differences(of: Comparison, look: Look, *, folded: bool = False) -> Iterator[Block]:
    """The table of differences, ``folded`` on a page where they are many, and that of tests of all
    systems together."""
    table = Table(filled(tables.of_differences(of, verdict=not look.on_screen)))
    text = adjustment_text(of)
    if look.on_screen:
        yield from (table, Lines([text] if text else []))
        return
    many = folded and len(of) > FEW_DIFFERENCES
    yield from (Fold(f"The {len(of):,} differences", [table]), _BLANK) if many else [table]
    if text and not folded:
        yield Lines([text])
    if of.overall:
        yield from _together(of)


def _together(of: Comparison, *, groups: bool = True) -> Iterator[Block]:
    """The tests of all systems at once; ``groups`` of those that are not told apart may be shown
    already."""
    columns = tables.of_all_systems(of)
    yield Heading("All systems together")
    yield Table(filled(columns if groups else columns[:-1]))


def _costs(of: Evaluation, costs: Evaluation, look: Look) -> Iterator[Block]:
    """What the systems cost, and the fronts."""
    yield Heading("Costs")
    if is_wide(costs, look.layout if look.on_screen else None):
        yield WideTable(wide.of_evaluation(costs), wide.primary_of(costs))
    else:
        yield Table(filled(tables.of_estimates(costs, arrows=not look.on_screen)))
    for front in of.fronts:
        if look.on_screen:
            yield Heading(f"{short(front.measure)} against {short(front.cost_measure)}")
        else:
            yield Lines(fronts.sentences(front, name))
        yield Table(fronts.table(front))
    if of.fronts:
        yield Lines([fronts.said_of(of.fronts)])
    if costs.comparison and not look.on_screen:
        summary = f"The {len(costs.comparison):,} differences of costs"
        yield Fold(summary, [*differences(costs.comparison, look), _BLANK])


def _confusions(of: Sequence[AnyConfusion], orientation: str, *, told: bool) -> Iterator[Block]:
    """The matrix of each system, and a table of its classes where there are more than two, unless
    another is told."""
    for own in of:
        if len(own.labels) <= confusion.MOST_CLASSES:
            yield Heading(f"Confusion matrix{_of_system(own, of)}")
            yield confusion.table(own, orientation)
            if len(own.labels) > 2 and not told:
                yield Table.of(*confusion.class_table(own))


def _labels(of: Sequence[LabelTable]) -> Iterator[Block]:
    """The table of labels or clusters of each system."""
    for own in of:
        if len(own.labels) <= labels.MOST_LABELS:
            yield Heading(f"{labels.plural(own).capitalize()}{_of_system(own, of)}")
            yield Table.of(*labels.grid(own))


def _of_system(own: AnyConfusion | LabelTable | CutoffTable, of: Sequence[Any] | Cutoffs) -> str:
    """Whose it is, where there are several."""
    return f" of {name(own.system)}" if len(of) > 1 else ""


def slices(of: Slices) -> Iterator[Block]:
    """The slices, a table a column that they are cut by."""
    for title, (by_column, folded) in (
        ("Slices by", tables.of_slices(of)),
        ("Systems compared within slices by", tables.of_systems_within(of)),
    ):
        for column, columns in by_column.items():
            yield Heading(f"{title} {name(column)}")
            yield Table(filled(columns))
        if folded:
            yield Lines([folded])


def of_cutoffs(of: Cutoffs, look: Look) -> Iterator[Block]:
    """A table a system, and what it holds."""
    said = cutoffs.caption(of)
    for own in of:
        title, columns = f"Cut-offs{_of_system(own, of)}", cutoffs.columns(of, own)
        if look.medium is Medium.PAPER:
            # The cut-offs are typeset as the other numbers are.
            columns = [column._replace(kind=NUMBER) for column in columns]
            yield Table(columns, [f"{title}.", said] if len(of) > 1 else [said])
            continue
        if len(of) > 1 or not look.on_screen:
            yield Heading(title)
        yield Table(filled(columns))
    if look.medium is not Medium.PAPER:
        yield Lines([said])
        yield Notes(list(map(literal, of.notes)))


def _provenance(of: Mapping[str, Any]) -> Iterator[Block]:
    """Where a result came from."""
    if of:
        facts = [f"{literal(key)}: {literal(value)}" for key, value in rows.provenance_rows(of)]
        yield Fold("Provenance", [Lines(facts)])


# --- Comparisons ----------------------------------------------------------------------------------


def comparison(of: Comparison, look: Look) -> Iterator[Block]:
    """A comparison: its differences, and a sentence for each, or for each pair of many."""
    if look.medium is Medium.PAPER:
        made = wide.of_comparison(of)
        if not look.intervals:
            cells = (
                tuple(cell and replace(cell, interval="") for cell in row) for row in made.cells
            )
            made = replace(made, cells=tuple(cells))
        yield WideTable(made)
        return
    is_of_rows, every = is_wide(of, look.layout), sentences(of, name)
    rest = other_measures(of, name)
    said, also = comparison_headlines(of, name), [rest] if rest else []
    if not look.on_screen:
        yield Heading(rows.comparison_heading(of), 1)
        yield Verdict(said, also)
        if [*said, *also] != every and len(every) <= MOST_SENTENCES:
            yield Fold(f"Each of the {len(every):,} differences", [Lines(every)])
        yield Notes(list(map(literal, of.notes)))
    if is_of_rows:
        many = wide.is_of_many(of)
        made = wide.of_many(of) if many else wide.of_comparison(of)
        yield WideTable(made, of_primary(of)[0].measure)
    if look.on_screen:
        if not is_of_rows:
            yield Table(filled(tables.of_differences(of)))
        if of.overall:
            yield from _together(of, groups=not (is_of_rows and wide.is_of_many(of)))
        adjusted = "" if is_of_rows else adjustment_text(of)
        few = len(of) <= FEW_DIFFERENCES
        yield Lines([*(every if few else [*said, rest]), *filter(None, [adjusted])])
        yield Notes(list(map(literal, of.notes)))
        return
    if len(of):
        yield Heading("Differences")
        yield from differences(of, look, folded=is_of_rows)
    yield from _splits(of)
    found = glossary(of)
    if found:
        yield Heading("Tests and methods")
        yield Terms([(term, f"{text} {source}.") for term, text, source in found])
    yield from _provenance(of.provenance)


def _splits(of: Comparison) -> Iterator[Block]:
    """The difference on each test split, a column a pair and measure."""
    per_unit = of.per_unit
    if per_unit is None or per_unit.unit != "splits" or len(per_unit.ids) > MOST_SPLITS:
        return
    names = told_apart(system for d in of for system in (d.system, d.baseline))
    columns = [Column("split", KEY, list(map(short, per_unit.ids)))]
    for d in of:
        ours, theirs = (per_unit.values[system][d.measure] for system in (d.system, d.baseline))
        apart = (ours - theirs).tolist()
        digits = numbers.rounding(((x, numbers.NAN, numbers.NAN) for x in apart), keep_sign=True)
        pair = f" ({names[d.system]} - {names[d.baseline]})" if len(pairs(of)) > 1 else ""
        columns.append(Column(f"{short(d.measure)}{pair}", NUMBER, list(map(digits, apart))))
    yield Heading("Differences by split")
    yield Table(filled(columns))


# --- Learning, plans, changes ---------------------------------------------------------------------


def learned(of: Learned, look: Look) -> Iterator[Block]:
    """A result about learning."""
    table = Table(learning.columns(of), plain=True)
    yield from _told(learning.heading(of), learning.sentences(of), table, learning.notes(of), look)
    yield from () if look.on_screen else _provenance(of.provenance)


def selected(of: Selection, look: Look) -> Iterator[Block]:
    """The best of several candidates."""
    table = Table(selection.columns(of), plain=True)
    yield from _told(selection.HEADING, [selection.sentence(of)], table, selection.notes(of), look)
    yield from () if look.on_screen else _provenance(of.provenance)


def _told(
    heading: str, said: Sequence[str], table: Table, notes: Sequence[str], look: Look
) -> Iterator[Block]:
    """A table and what it comes to."""
    yield Heading(heading, 1)
    if look.on_screen:
        yield from (table, Lines(said), Lines([f"note: {note}" for note in notes]))
    else:
        yield from (Lines(said), table, Notes(list(map(literal, notes))))


def of_plan(of: Plan, look: Look) -> Iterator[Block]:
    """The answer, what else is to be said, and the table."""
    first, *more = plan.lines(of)
    if look.on_screen:
        yield Lines([first, *more])
    else:
        yield Lines([first])
        yield Lines(more, listed=True)
    yield Table(plan.columns(of), plain=True)


def changes(columns: Sequence[Column], notes: Sequence[str]) -> Iterator[Block]:
    """What changed between two evaluations: a table, and what else was different."""
    if columns[0].cells:
        yield from (Lines([]), Table(filled(columns)))  # a terminal has a line between
    yield Lines(list(map(literal, notes)))
