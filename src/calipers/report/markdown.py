"""Evaluations and comparisons as Markdown pages, for pull requests, issues and job summaries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from calipers.report import confusion, cutoffs, fronts, labels, markup, numbers, rows, tables
from calipers.report.asked import in_names_asked
from calipers.report.glossary import glossary
from calipers.report.grid import is_wide, markdown_table, signs_key
from calipers.report.headlines import (
    comparison_headlines,
    headlines,
    of_primary,
    other_measures,
    others,
)
from calipers.report.markup import escape, matrix, table
from calipers.report.names import labels as told_apart
from calipers.report.names import short
from calipers.report.tables import KEY, NUMBER, Column
from calipers.report.verdict import (
    adjustment_text,
    pairs,
    sentences,
)
from calipers.report.wide import Wide, is_of_many, of_comparison, of_evaluation, of_many, primary_of
from calipers.results import (
    ORIENTATIONS,
    AnyConfusion,
    Comparison,
    Evaluation,
    Finding,
    LabelTable,
    Slices,
)

#: Each split is written out where there are no more than these.
MOST_SPLITS = 30
#: More differences than these are folded beside a wide table.
FEW_DIFFERENCES = 12
#: More sentences than these are left to the table.
MOST_SENTENCES = 60


@in_names_asked
def markdown(
    evaluation: Evaluation, orientation: str = ORIENTATIONS[0], layout: str | None = None
) -> str:
    """Verdict, tables, notes and provenance as GitHub-flavoured Markdown."""
    return "\n".join(_lines(evaluation, orientation, wide=is_wide(evaluation, layout)))


def _lines(evaluation: Evaluation, orientation: str, *, wide: bool) -> Iterator[str]:
    yield from markup.heading(rows.heading(evaluation))
    rest = others(evaluation, markup.name)
    yield from markup.bullets([*headlines(evaluation, markup.name), *([rest] if rest else [])])
    if evaluation.findings:
        yield from ("### Findings", "")
        told = rows.told_once(evaluation.findings)
        yield from (f"- {_finding(found, alike)}" for found, alike in told)
        yield ""
    yield from markup.notes(evaluation.notes)
    if evaluation.estimates and wide:
        yield from _wide(of_evaluation(evaluation), primary_of(evaluation))
    elif evaluation.estimates:
        yield from (*table(tables.of_estimates(evaluation, arrows=True)), "")
    if evaluation.comparison is not None and len(evaluation.comparison):
        yield from _differences(evaluation.comparison, folded=wide)
    by_class = any(table.of == "class" for table in evaluation.label_tables)
    if evaluation.costs is not None:
        yield from _costs(evaluation, evaluation.costs)
    yield from _confusions(evaluation.confusions, orientation, told=by_class)
    yield from _labels(evaluation.label_tables)
    if evaluation.cutoffs is not None:
        yield from cutoffs.markdown(evaluation.cutoffs)
    if evaluation.slices is not None:
        yield from _slices(evaluation.slices)
    yield from markup.provenance(evaluation.provenance)


def _costs(evaluation: Evaluation, costs: Evaluation) -> Iterator[str]:
    """What the systems cost, and the fronts."""
    yield from ("### Costs", "")
    if is_wide(costs, None):
        yield from _wide(of_evaluation(costs), primary_of(costs))
    else:
        yield from (*table(tables.of_estimates(costs, arrows=True)), "")
    for front in evaluation.fronts:
        yield from markup.bullets(fronts.sentences(front, markup.name))
        yield from (*table(fronts.table(front)), "")
    if evaluation.fronts:
        yield from (escape(fronts.said_of(evaluation.fronts)), "")
    compared = costs.comparison
    if compared is not None and len(compared):
        yield from markup.details(
            f"The {len(compared):,} differences of costs", [*_differences(compared), ""]
        )


def _finding(found: Finding, alike: Sequence[Finding]) -> str:
    """The sentence; how grave it is stands before it."""
    call = rows.call_of(found).strip()
    return (f"**{call}** " if call else "") + escape(rows.finding_text(found, alike))


def _wide(made: Wide, measure: str) -> Iterator[str]:
    """A wide table, and what its numbers and marks mean."""
    yield from (*markdown_table(made), "")
    key = [signs_key(short(measure))] * bool(made.signs)
    yield from (escape(" ".join([*made.said("The best values are bold."), *key])), "")
    yield from markup.bullets([escape(text) for text in made.remarks])


def _differences(comparison: Comparison, *, folded: bool = False) -> Iterator[str]:
    """The table of differences, folded where they are many, and that of tests of all systems
    together."""
    rows_of = table(tables.of_differences(comparison, verdict=True))
    if folded and len(comparison) > FEW_DIFFERENCES:
        yield from markup.details(f"The {len(comparison):,} differences", [*rows_of, ""])
    else:
        yield from rows_of
    if not folded and (text := adjustment_text(comparison)):
        yield from ("", escape(text, punctuation=False))
    yield ""
    if comparison.overall:
        yield from ("### All systems together", "", *table(tables.of_all_systems(comparison)), "")


def _confusions(
    confusions: Sequence[AnyConfusion], orientation: str, *, told: bool
) -> Iterator[str]:
    """The matrix of each system, and a table of its classes where there are more than two, unless
    another is told."""
    for own in confusions:
        if len(own.labels) > confusion.MOST_CLASSES:
            continue
        of = f" of {markup.name(own.system)}" if len(confusions) > 1 else ""
        yield from (f"### Confusion matrix{of}", "", own.to_markdown(orientation), "")
        if len(own.labels) > 2 and not told:
            yield from (*matrix(*confusion.class_table(own)), "")


def _labels(found: Sequence[LabelTable]) -> Iterator[str]:
    """The table of labels or clusters of each system."""
    for own in found:
        if len(own.labels) <= labels.MOST_LABELS:
            of = f" of {markup.name(own.system)}" if len(found) > 1 else ""
            yield from (
                f"### {labels.plural(own).capitalize()}{of}",
                "",
                *matrix(*labels.grid(own)),
                "",
            )


def _slices(slices: Slices) -> Iterator[str]:
    by_column, left_out = tables.of_slices(slices)
    for column, columns in by_column.items():
        yield from (f"### Slices by {escape(column)}", "", *table(columns), "")
    if left_out:
        yield from (left_out, "")
    within, left_out = tables.of_systems_within(slices)
    for column, columns in within.items():
        title = f"### Systems compared within slices by {escape(column)}"
        yield from (title, "", *table(columns), "")
    if left_out:
        yield from (left_out, "")


# --- Comparisons ----------------------------------------------------------------------------------


@in_names_asked
def comparison_markdown(comparison: Comparison, layout: str | None = None) -> str:
    """Verdicts, table, notes, methods and provenance as GitHub-flavoured Markdown."""
    return "\n".join(_comparison_lines(comparison, wide=is_wide(comparison, layout)))


def _comparison_lines(comparison: Comparison, *, wide: bool) -> Iterator[str]:
    yield from markup.heading(rows.comparison_heading(comparison))
    rest = other_measures(comparison, markup.name)
    said = [*comparison_headlines(comparison, markup.name), *([rest] if rest else [])]
    every = sentences(comparison, markup.name)
    yield from markup.bullets(said)
    if said != every and len(every) <= MOST_SENTENCES:
        summary = f"Each of the {len(every):,} differences"
        yield from markup.details(summary, markup.bullets(every))
    yield from markup.notes(comparison.notes)
    if wide:
        made = of_many(comparison) if is_of_many(comparison) else of_comparison(comparison)
        yield from _wide(made, of_primary(comparison)[0].measure)
    if len(comparison):
        yield from ("### Differences", "", *_differences(comparison, folded=wide))
    yield from _splits(comparison)
    found = [[escape(part, punctuation=False) for part in of] for of in glossary(comparison)]
    if found:
        yield from ("### Tests and methods", "")
        yield from (f"- **{name}**: {text} {source}." for name, text, source in found)
        yield ""
    yield from markup.provenance(comparison.provenance)


def _splits(comparison: Comparison) -> Iterator[str]:
    """The difference on each test split, a column a pair and measure."""
    per_unit = comparison.per_unit
    if per_unit is None or per_unit.unit != "splits" or len(per_unit.ids) > MOST_SPLITS:
        return
    names = told_apart(name for d in comparison for name in (d.system, d.baseline))
    columns = [Column("split", KEY, list(map(short, per_unit.ids)))]
    for d in comparison:
        ours, theirs = (per_unit.values[name][d.measure] for name in (d.system, d.baseline))
        apart = (ours - theirs).tolist()
        digits = numbers.rounding(((x, numbers.NAN, numbers.NAN) for x in apart), keep_sign=True)
        of = f" ({names[d.system]} - {names[d.baseline]})" if len(pairs(comparison)) > 1 else ""
        columns.append(Column(f"{short(d.measure)}{of}", NUMBER, list(map(digits, apart))))
    yield from ("### Differences by split", "", *table(columns), "")
