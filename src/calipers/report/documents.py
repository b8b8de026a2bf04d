"""Documents of results: the blocks of each kind of result, in order.

Differences between terminals, pages, browsers and papers are defined only here; see
:class:`~calipers.report.blocks.Medium`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from calipers.report import (
    class_tables,
    learning,
    numbers,
    page_data,
    pareto_fronts,
    plan,
    table_rows,
    tables,
    wide,
)
from calipers.report.blocks import (
    Block,
    Downloads,
    Figures,
    Findings,
    FindingText,
    Fold,
    Heading,
    Lines,
    Medium,
    Notes,
    Pairs,
    Part,
    Provenance,
    Table,
    Term,
    Terms,
    Verdict,
    WideTable,
    mark_literal,
    name,
)
from calipers.report.display_names import use_display_names
from calipers.report.glossary import glossary
from calipers.report.grouping import group_by
from calipers.report.headlines import (
    MOST_PAIRS,
    comparison_headlines,
    headlines,
    omitted_pairs_note,
    other_measures,
    primary_differences,
    secondary_headline,
)
from calipers.report.safe_names import escape_unprintable, shorten_name, unique_labels
from calipers.report.tables import (
    KEY,
    MOST_ON_A_PAGE,
    NUMBER,
    Column,
    SliceGroup,
    drop_empty_columns,
    left_out_text,
    slice_groups,
    within_left_out_text,
    within_rows,
)
from calipers.report.verdict import adjustment_text, group_by_pair, p_heading, sentences
from calipers.report.wide import is_wide
from calipers.report.writers import get_writer, list_formats, own_formats
from calipers.results import (
    ORIENTATIONS,
    Comparison,
    ConfusionBase,
    Definition,
    Evaluation,
    Finding,
    LabelTable,
    Plan,
    Slices,
    ThresholdTable,
    ThresholdTables,
)
from calipers.results.estimate import ALL_RATERS
from calipers.results.learning import LearningResult, Selection
from calipers.results.name_lookup import match_name

if TYPE_CHECKING:
    from calipers.report.charts import Chart

#: Each split is written out where there are no more than these.
MOST_SPLITS = 30
#: More differences than these are folded beside a wide table, or have a row a pair there.
FEW_DIFFERENCES = 12
#: More sentences than these are left to the table.
MOST_SENTENCES = 60
#: No more sentences than these are folded away in a browser.
FEW_SENTENCES = 8
# Pages have one more blank line where differences are folded.
_BLANK = Lines([""])


class ReportableResult(Protocol):
    """Result that can be saved as JSON and as CSV."""

    def to_json(self, *, details: bool = False) -> str:
        """Return the result as JSON."""

    def to_csv(self) -> str:
        """Return the result as CSV."""


@dataclass(frozen=True)
class DisplayOptions:
    """Options of a document: its medium and layout, the orientation of matrices, and intervals.

    ``intervals`` says whether tables for papers have intervals.
    """

    medium: Medium = Medium.PAGE
    layout: str | None = None
    orientation: str = ORIENTATIONS[0]
    intervals: bool = True

    @property
    def on_screen(self) -> bool:
        """Whether the document is read on a terminal."""
        return self.medium is Medium.SCREEN

    @property
    def in_browser(self) -> bool:
        """Whether the document is a page with charts and parts that can be unfolded."""
        return self.medium is Medium.BROWSER

    @property
    def is_drawn(self) -> bool:
        """Whether tables have drawings."""
        return self.medium in (Medium.BROWSER, Medium.NOTEBOOK)


def render(result: Any, format: str, **look: Any) -> str:  # noqa: A002
    """Return a result in a format."""
    # Only where it is none of ours are those of other packages looked up.
    writer = get_writer(
        match_name("format", format, own_formats() if format in own_formats() else list_formats())
    )
    return writer.write(document(result, DisplayOptions(writer.medium, **look)))


def notebook_cell(result: Evaluation | Comparison | LearningResult) -> str:
    """Return a result as HTML for the output of a notebook cell."""
    from calipers.report.writers.html import Cell

    if isinstance(result, LearningResult):
        from calipers.report.figures.learning import figure
        from calipers.report.notebook_fragments import compact_fragment

        first, *more = learning.sentences(result)
        return compact_fragment(
            [("", first), *(("soft", line) for line in more)],
            tables=[learning.grid(result)],
            figures=[figure(result)],
            more=("How", learning.notes(result)),
        )
    return Cell().write(document(result, DisplayOptions(Medium.NOTEBOOK)))


def learning_chart(of: LearningResult) -> Chart:
    """Return the chart of a learning result."""
    from calipers.report.charts import Chart
    from calipers.report.figures.learning import figure

    made = figure(of)
    return Chart(made.kind, (made,))


def document(result: Any, look: DisplayOptions) -> Iterable[Block]:
    """Return the blocks of a result."""
    match result:
        case Evaluation():
            return evaluation(use_display_names(result), look, result)
        case Comparison():
            return comparison(use_display_names(result), look, result)
        case Plan():
            return plan_document(result, look)
        case LearningResult():
            return learning_document(result, look)
        case Selection():
            return selection_document(result, look)
        case ThresholdTables():
            return threshold_document(result, look)
        case Slices():
            return slices(result)
    raise TypeError(f"there is no document of a {type(result).__name__}")


# --- Evaluations ----------------------------------------------------------------------------------


def evaluation(
    of: Evaluation, look: DisplayOptions, original: Evaluation | None = None
) -> Iterator[Block]:
    """Yield the blocks of an evaluation.

    The verdict comes first, but last on a terminal, where the end is read first. The ``original``
    is the evaluation that can be downloaded.
    """
    if look.medium is Medium.PAPER:
        yield from _paper_tables(of, intervals=look.intervals)
        return
    rest = secondary_headline(of, name)
    verdict = Verdict(headlines(of, name), [rest] if rest else [])
    notes = Notes(list(map(mark_literal, of.notes)))
    yield Heading(table_rows.report_heading(of), 1)
    if not look.on_screen:
        yield verdict
    if look.in_browser:
        yield from _differences_in_words(of, verdict)
        yield _downloads(original or of)
    yield from _findings(of, linked=look.in_browser)
    if not look.on_screen:
        yield from _notes(notes, look)
    yield from _numbers(of, look)
    if of.costs is not None:
        yield from _costs(of, of.costs, look)
    if look.medium.has_sections:
        by_class = any(table.of == "class" for table in of.label_tables)
        if not look.in_browser:  # where they are drawn
            yield from _confusions(of.confusions, look.orientation, told=by_class)
        yield from _labels(of.label_tables, look)
    parts = [
        () if of.slices is None else slices(of.slices, look, of),
        () if of.thresholds is None else threshold_document(of.thresholds, look),
    ]
    if look.medium is not Medium.NOTEBOOK:
        for part in parts if look.on_screen else reversed(parts):
            yield from part
    if look.in_browser:
        yield from _chart_blocks(of, look.orientation)
        yield from _definitions(_all_definitions(of))
    if look.on_screen:
        yield from (verdict, notes)
    elif look.medium.has_sections:
        yield from _provenance(of.provenance)


def _differences_in_words(of: Evaluation, verdict: Verdict) -> Iterator[Block]:
    """Yield a sentence per difference, unless the verdict says the same."""
    if of.comparison is not None and len(of.comparison) <= MOST_SENTENCES:
        every = sentences(of.comparison, name)
        if every and every != verdict.items:
            few = len(every) <= FEW_SENTENCES
            yield Fold("Measure by measure", [Lines(every, listed=True)], open=few)


def _downloads(of: ReportableResult) -> Downloads:
    """Return the result for download: in full precision, as a table, and for a paper."""
    files = {"result.json": of.to_json(), "result.csv": of.to_csv()}
    if isinstance(of, Evaluation | Comparison):
        files["result.tex"] = of.to_latex()
    return Downloads(files)


def _findings(of: Evaluation, *, linked: bool) -> Iterator[Block]:
    """Yield the findings, with links from their measures to the definitions."""
    if not of.findings:
        return
    known = of.definitions if linked else ()
    anchors = {d.measure: f"definition-{i}" for i, d in enumerate(known)}
    yield Heading("Findings", anchor="findings")
    yield Findings(
        [
            finding_item(found, alike, anchors)
            for found, alike in table_rows.deduplicate_findings(of.findings)
        ]
    )


def finding_item(
    found: Finding, alike: Sequence[Finding] = (), anchors: Mapping[str, str] | None = None
) -> FindingText:
    """Return a finding of a document, with similar ones of other systems."""
    at = anchors or {}
    return FindingText(
        table_rows.severity_prefix(found).strip(),
        mark_literal(table_rows.finding_text(found, alike)),
        found.severity,
        escape_unprintable(found.criterion),
        f"{100 * found.level:.4g}%",
        table_rows.finding_numbers(found),
        [(shorten_name(measure), at.get(measure, "")) for measure in found.measures],
    )


def _notes(notes: Notes, look: DisplayOptions) -> Iterator[Block]:
    if notes.items and look.in_browser:
        yield Heading("Notes", anchor="notes")
    yield notes


def _paper_tables(of: Evaluation, *, intervals: bool) -> Iterator[Block]:
    """Yield tables of systems by measures, and by costs with the Pareto fronts."""
    yield WideTable(wide.from_evaluation(of, intervals=intervals))
    if of.costs is not None:
        made = wide.from_evaluation(of.costs, intervals=intervals)
        told = (line for front in of.pareto_fronts for line in pareto_fronts.front_sentences(front))
        yield WideTable(replace(made, tests=(*made.tests, *told)))


def _numbers(of: Evaluation, look: DisplayOptions) -> Iterator[Block]:
    """Yield the estimates and the differences.

    On a terminal the differences of many pairs are omitted.
    """
    found, is_of_rows = of.comparison or None, _is_wide(of, look)
    pairs_out = look.on_screen and found is not None and len(group_by_pair(found)) > MOST_PAIRS
    told = [omitted_pairs_note(found)] if found is not None and pairs_out else []
    if of.estimates and is_of_rows:
        # The differences below say how they were tested.
        tests = not look.on_screen or found is None or pairs_out
        made, primary = wide.from_evaluation(of), wide.primary_measure(of)
        if look.in_browser:
            ranked = f"Ranking by {name(primary)}" if made.ranked else "Estimates"
            yield Heading(ranked, anchor="ranking" if made.ranked else "estimates")
        yield WideTable(
            replace(made, remarks=(*made.remarks, *told)),
            primary,
            tests=tests,
            whiskers=_whiskers(of, primary) if look.is_drawn else (),
        )
        told = []
    elif of.estimates:
        if look.in_browser:
            yield Heading("Estimates", anchor="estimates")
        yield _estimates(of, look)
    if told:
        yield Lines(told)
    if found is None or pairs_out:
        return
    if look.in_browser:
        yield Heading("Comparison", anchor="comparison")
    if look.on_screen and is_of_rows and len(found) > FEW_DIFFERENCES:
        yield WideTable(wide.from_comparison(found))
    else:
        yield from differences(found, look, folded=is_of_rows)


def _is_wide(of: Evaluation, look: DisplayOptions) -> bool:
    """Return whether an evaluation has a wide table, with a row per system.

    Wide tables have no room for drawings of all measures, so that media with drawings have long
    tables by default, unless many systems are ranked.
    """
    if look.is_drawn and look.layout is None:
        return wide.is_ranked(of)
    return is_wide(of, look.layout)


def _estimates(of: Evaluation, look: DisplayOptions) -> Table:
    """Return a table with a row per estimate."""
    made = tables.estimate_columns(of, arrows=not look.on_screen, drawn=look.is_drawn)
    rows_are = "every measure of every system"
    return Table(drop_empty_columns(made), title="Estimates", rows_are=rows_are, grouped=True)


def _whiskers(of: Evaluation, measure: str) -> list[Any]:
    """Return the drawn interval of each system, in the order of the rows of a wide table."""
    found = {e.system: e for e in of if e.measure == measure}
    own = [found[system] for system in wide.order_systems(of) if system in found]
    drawn = tables.whiskers(own, table_rows.definitions_by_measure(of).get(measure), of.systems)
    by_system = {e.system: one for e, one in zip(own, drawn, strict=True)}
    return [by_system.get(system) for system in wide.order_systems(of)]


def differences(of: Comparison, look: DisplayOptions, *, folded: bool = False) -> Iterator[Block]:
    """Yield the table of differences and that of omnibus tests.

    On a page, tables of many differences may be ``folded``.
    """
    text = adjustment_text(of)
    if look.is_drawn and len(group_by_pair(of)) > MOST_PAIRS:
        yield from _every_pair(of, look)
        folded = False
    else:
        columns = drop_empty_columns(tables.difference_columns(of, verdict=not look.on_screen))
        table = Table(columns, title="Comparison", rows_are="every difference")
        if look.on_screen:
            yield from (table, Lines([text] if text else []))
            return
        many = folded and len(of) > FEW_DIFFERENCES
        yield from (Fold(f"The {len(of):,} differences", [table]), _BLANK) if many else [table]
    if text and (not folded or look.is_drawn):
        yield Lines([text], aside=True)
    if of.omnibus and look.medium is not Medium.NOTEBOOK:
        yield from _omnibus_tables(of, look)


def _every_pair(of: Comparison, look: DisplayOptions) -> Iterator[Block]:
    """Yield a selector of pairs that are too many for a table."""
    count = f"{len(group_by_pair(of)):,}"
    if look.in_browser:
        level = numbers.format_percent(of.level)
        yield Pairs(count, page_data.all_pairs_data(of), level, p_heading(of))
    else:
        yield Lines([f"{count} pairs of systems: see the page that to_html() writes."], aside=True)


#: What the columns of the tests of all systems together mean.
_OF_ALL = (
    "Friedman's test compares ranks within units, the analysis of variance (ANOVA) means; ω² is "
    "the proportion of the variance that is due to systems."
)
_ALIKE = (
    " Homogeneous groups: the largest sets of systems without a significant pair in Nemenyi's test."
)
_NOT_ADJUSTED = " These p-values are not adjusted for the number of measures."


def _omnibus_tables(
    of: Comparison, look: DisplayOptions, *, groups: bool = True
) -> Iterator[Block]:
    """Yield the omnibus tests of all systems, with homogeneous ``groups`` unless shown already."""
    columns = tables.omnibus_columns(of)
    title = "Omnibus tests"
    if look.in_browser and len(group_by_pair(of)) > MOST_PAIRS:
        groups = False  # long lists, which the matrix of pairs shows better
    yield Heading(title, 3 if look.in_browser else 2)
    yield Table(drop_empty_columns(columns if groups else columns[:-1]), title=title)
    if look.in_browser:
        several = _NOT_ADJUSTED if len(of.omnibus) > 1 else ""
        yield Lines([f"{_OF_ALL}{_ALIKE if groups else ''}{several}"], aside=True)


def _costs(of: Evaluation, costs: Evaluation, look: DisplayOptions) -> Iterator[Block]:
    """Yield the costs of the systems, and the Pareto fronts."""
    yield Heading("Costs", anchor="costs")
    if not look.is_drawn and is_wide(costs, look.layout if look.on_screen else None):
        yield WideTable(wide.from_evaluation(costs), wide.primary_measure(costs))
    else:
        yield replace(_estimates(costs, look), title="Costs")
    for front in of.pareto_fronts:
        if look.on_screen:
            yield Heading(
                f"{shorten_name(front.measure)} against {shorten_name(front.cost_measure)}"
            )
        else:
            yield Lines(pareto_fronts.front_sentences(front, name))
        yield Table(pareto_fronts.table(front), title="Pareto front")
    if of.pareto_fronts:
        yield Lines([pareto_fronts.front_caption(of.pareto_fronts)], aside=True)
    if costs.comparison and look.medium.has_sections:
        summary = f"The {len(costs.comparison):,} differences of costs"
        yield Fold(summary, [*differences(costs.comparison, look), _BLANK])


def _confusions(of: Sequence[ConfusionBase], orientation: str, *, told: bool) -> Iterator[Block]:
    """Yield the confusion matrix of each system, and a table of its classes.

    There is no table of two classes, nor if a table of classes is ``told`` elsewhere.
    """
    for own in of:
        if len(own.labels) <= class_tables.MOST_CLASSES:
            yield Heading(f"Confusion matrix{_system_suffix(own, of)}")
            yield class_tables.table(own, orientation)
            if len(own.labels) > 2 and not told:
                yield Table.of(*class_tables.class_table(own))


def _labels(of: Sequence[LabelTable], look: DisplayOptions) -> Iterator[Block]:
    """Yield the table of labels or clusters of each system."""
    shown = [own for own in of if look.in_browser or len(own.labels) <= class_tables.MOST_LABELS]
    if look.in_browser and len(of) > 1:
        kinds = " and ".join(dict.fromkeys(map(class_tables.axis_names, of)))
        yield Heading(kinds.capitalize(), anchor="labels")
    said = set[str]()
    for own in shown:
        title = f"{class_tables.axis_names(own).capitalize()}{_system_suffix(own, of)}"
        table = Table.of(*class_tables.label_grid(own), title)
        if len(of) > 1:
            yield Part(title, [table], open=own is shown[0])
        else:
            yield from (Heading(title, anchor="labels"), table)
    if look.in_browser:
        for own in shown:
            if own.of not in said:
                yield Lines([class_tables.label_caption(own)])
            said.add(own.of)


def _system_suffix(
    own: ConfusionBase | LabelTable | ThresholdTable, of: Sequence[Any] | ThresholdTables
) -> str:
    """Return the name of the system as a suffix of a title, if there are several."""
    return f" of {name(own.system)}" if len(of) > 1 and own.system != ALL_RATERS else ""


def slices(
    of: Slices, look: DisplayOptions | None = None, whole: Evaluation | None = None
) -> Iterator[Block]:
    """Yield a table of slices for each column that defines them.

    In a browser there is a table per measure, folded if no slice differs significantly from all
    other rows.
    """
    if look is not None and look.in_browser and whole is not None:
        yield Heading("Slices", anchor="slices")
        yield from _slices_by_measure(of, whole)
        yield from _systems_within_by_measure(of)
        return
    for title, (by_column, folded) in (
        ("Slices by", tables.slice_tables(of)),
        ("Comparisons within slices of", tables.within_slice_tables(of)),
    ):
        for column, columns in by_column.items():
            yield Heading(f"{title} {name(column)}")
            yield Table(drop_empty_columns(columns))
        if folded:
            yield Lines([folded])


def _slices_by_measure(of: Slices, whole: Evaluation) -> Iterator[Block]:
    """Yield the primary measure, those with significant differences, then all others."""
    groups, folded = slice_groups(of, MOST_ON_A_PAGE)
    for column, (first, *rest) in group_by(groups, lambda group: group.column).items():
        yield Heading(f"By {name(column)}", 3)
        yield _slice_part(of, first, whole, is_open=True)
        yield from (_slice_part(of, group, whole) for group in rest if group.told_apart)
        for tested, words in ((True, "differs significantly from"), (False, "was tested against")):
            alike = [g for g in rest if not g.told_apart and g.tested is tested]
            if alike:
                measures = ", ".join(name(group.measure) for group in alike)
                yield Part(
                    f"No slice {words} all other rows by {measures}",
                    [_slice_part(of, group, whole) for group in alike],
                )
    if folded:
        yield Lines([left_out_text(folded)])


def _slice_part(of: Slices, group: SliceGroup, whole: Evaluation, *, is_open: bool = False) -> Part:
    definition = table_rows.definitions_by_measure(whole).get(group.name)
    drawn = tables.whiskers([row.of.estimate for row in group.rows], definition, whole.systems)
    columns = _without_measure(tables.slice_columns(of, group.rows, drawn))
    table = Table(columns, title=f"{group.measure} by {group.column}")
    apart = ", ".join(map(name, group.told_apart))
    return Part(
        f"{name(group.measure)} {table_rows.arrow(definition)}".rstrip(),
        [table],
        level=4,
        open=is_open,
        remark=f"differs significantly from all other rows: {apart}" if apart else "",
    )


def _systems_within_by_measure(of: Slices) -> Iterator[Block]:
    """Yield the comparisons within slices, a table per measure."""
    share, shown = MOST_ON_A_PAGE // max(1, len(of.columns)), 0
    for column in of.columns:
        by_measure = within_rows(of, column, share)
        if by_measure:
            yield Heading(f"Systems compared within slices by {name(column)}", 3)
        for place, (measure, own) in enumerate(by_measure.items()):
            title = f"{shorten_name(measure)} of systems within {shorten_name(column)}"
            table = Table(_without_measure(tables.within_columns(of, own)), title=title)
            yield Part(name(measure), [table], level=4, open=not place)
            shown += len(own)
    if more := within_left_out_text(len(of.differences) - shown):
        yield Lines([more])


def _without_measure(columns: Sequence[Column]) -> list[Column]:
    return [column for column in drop_empty_columns(columns) if column.name != "measure"]


def threshold_document(of: ThresholdTables, look: DisplayOptions) -> Iterator[Block]:
    """Yield a table of thresholds per system, and its caption."""
    said = tables.cutoffs_caption(of)
    if look.in_browser and len(of) > 1:
        yield Heading("Thresholds", anchor="cutoffs")
    for place, own in enumerate(of):
        title, columns = f"Thresholds{_system_suffix(own, of)}", tables.cutoff_columns(of, own)
        if look.medium is Medium.PAPER:
            # The thresholds are typeset as the other numbers are.
            columns = [column._replace(kind=NUMBER) for column in columns]
            yield Table(columns, [f"{title}.", said] if len(of) > 1 else [said])
            continue
        table = Table(drop_empty_columns(columns), title=title)
        if len(of) > 1:
            yield Part(title, [table], open=not place)
        else:
            yield from [] if look.on_screen else [Heading(title, anchor="cutoffs")]
            yield table
    if look.medium is not Medium.PAPER:
        yield Lines([said])
        yield Notes(list(map(mark_literal, of.notes)))


def _provenance(of: Mapping[str, Any]) -> Iterator[Block]:
    """Yield the provenance of a result."""
    if of:
        yield Provenance(table_rows.provenance_rows(of))


# --- What a browser has beside --------------------------------------------------------------------


def _chart_blocks(of: Evaluation, orientation: str) -> Iterator[Block]:
    """Yield the threshold explorer and the charts.

    Images are rendered in the background while the next curves are computed.
    """
    from calipers.report.charts import figures
    from calipers.report.figures.rendering import start_background_renderer

    found = page_data.explorer(of)
    if found is not None:
        yield from (Heading("Threshold explorer", anchor="threshold"), found)
    with start_background_renderer() as begin:
        yield from _charts(figures(of, orientation, begin))


def _charts(figures: Sequence[Any], more: str = "") -> Iterator[Block]:
    if figures:
        yield from (Heading("Charts", anchor="charts"), Figures(figures))
        yield from [Lines([more], aside=True)] if more else []


def _all_definitions(of: Evaluation) -> list[Definition]:
    """Return the definitions of measures of quality and of cost."""
    return [*of.definitions, *(() if of.costs is None else of.costs.definitions)]


def _definitions(of: Sequence[Definition]) -> Iterator[Block]:
    """Yield the definitions of the measures."""
    if of:
        yield Heading("Definitions", anchor="definitions")
        yield Terms([_definition(d, f"definition-{i}") for i, d in enumerate(of)])


def _definition(of: Definition, anchor: str) -> Term:
    traits = (
        f"{table_rows.range_text(of)}; {table_rows.direction_text(of)}. {of.reference}".rstrip()
    )
    why = "; ".join(f"``{reason}``, {meaning}" for reason, meaning in of.undefined.items())
    more = [traits, *([f"Undefined: {why}."] if why else [])]
    return Term(shorten_name(of.measure), of.description, more, anchor)


# --- Comparisons ----------------------------------------------------------------------------------


def comparison(
    of: Comparison, look: DisplayOptions, original: Comparison | None = None
) -> Iterator[Block]:
    """Yield the blocks of a comparison.

    It has a table of differences, and a sentence per difference, or per pair of many.
    """
    if look.medium is Medium.PAPER:
        made = wide.from_comparison(of)
        if not look.intervals:
            cells = (
                tuple(cell and replace(cell, interval="") for cell in row) for row in made.cells
            )
            made = replace(made, cells=tuple(cells))
        yield WideTable(made)
        return
    is_of_rows, every = len(of) > 0 and is_wide(of, look.layout), sentences(of, name)
    rest = other_measures(of, name)
    said, also = comparison_headlines(of, name), [rest] if rest else []
    if look.medium is Medium.NOTEBOOK:
        yield from (Heading("Comparison", 1), Verdict(said, also))
        yield from differences(of, look)
        return
    if not look.on_screen:
        yield Heading(table_rows.comparison_heading(of), 1)
        yield Verdict(said, also)
        if [*said, *also] != every and len(every) <= MOST_SENTENCES:
            summary, few = f"Each of the {len(every):,} differences", len(every) <= FEW_SENTENCES
            yield Fold(summary, [Lines(every)], open=few)
        yield from [_downloads(original or of)] if look.in_browser else []
        yield from _notes(Notes(list(map(mark_literal, of.notes))), look)
    if is_of_rows:
        ranked, primary = wide.is_of_many(of), primary_differences(of)[0].measure
        made = wide.from_many_systems(of) if ranked else wide.from_comparison(of)
        if look.in_browser and ranked:
            yield Heading(f"Ranking by {name(primary)}", anchor="ranking")
        yield WideTable(made, primary)
    if look.on_screen:
        if not is_of_rows:
            yield Table(drop_empty_columns(tables.difference_columns(of)))
        if of.omnibus:
            yield from _omnibus_tables(of, look, groups=not (is_of_rows and wide.is_of_many(of)))
        adjusted = "" if is_of_rows else adjustment_text(of)
        few = len(of) <= FEW_DIFFERENCES
        yield Lines([*(every if few else [*said, rest]), *filter(None, [adjusted])])
        yield Notes(list(map(mark_literal, of.notes)))
        return
    if len(of):
        yield Heading("Differences", anchor="comparison")
        yield from differences(of, look, folded=is_of_rows)
    yield from _splits(of)
    if look.in_browser:
        yield from _charts_of_comparison(of)
    found = glossary(of)
    if found:
        yield Heading("Tests and methods", anchor="methods")
        yield Terms([Term(term, text, [f"{source}."]) for term, text, source in found])
    yield from _provenance(of.provenance)


def _charts_of_comparison(of: Comparison) -> Iterator[Block]:
    """Yield the charts of a comparison, with a note on those that were omitted."""
    from calipers.report.charts import comparison_figures
    from calipers.report.figures.differences import MOST_DIFFERENCES
    from calipers.report.figures.figure import assign_ids
    from calipers.report.figures.units import every_unit_figure

    of_units, missing = every_unit_figure(of)
    parts = []
    if len(of) > MOST_DIFFERENCES:
        parts.append("Charts show as many measures as there is room for; the table has them all.")
    if missing and of.per_unit is not None:
        unit = shorten_name(of.per_unit.unit.removesuffix("s"))
        parts.append(
            f"{numbers.format_count(missing)} of {len(of):,} differences are not drawn {unit} by "
            f"{unit}; comparison.per_unit has the values."
        )
    yield from _charts(assign_ids([*comparison_figures(of), *of_units]), " ".join(parts))


def _splits(of: Comparison) -> Iterator[Block]:
    """Yield a table of the differences on each test split, a column per pair and measure."""
    per_unit = of.per_unit
    if per_unit is None or per_unit.unit != "splits" or len(per_unit.ids) > MOST_SPLITS:
        return
    names = unique_labels(system for d in of for system in (d.system, d.baseline))
    columns = [Column("split", KEY, list(map(shorten_name, per_unit.ids)))]
    for d in of:
        ours, theirs = (per_unit.values[system][d.measure] for system in (d.system, d.baseline))
        apart = (ours - theirs).tolist()
        digits = numbers.rounding(((x, numbers.NAN, numbers.NAN) for x in apart), keep_sign=True)
        pair = f" ({names[d.system]} - {names[d.baseline]})" if len(group_by_pair(of)) > 1 else ""
        columns.append(Column(f"{shorten_name(d.measure)}{pair}", NUMBER, list(map(digits, apart))))
    yield Heading("Differences by split")
    yield Table(drop_empty_columns(columns))


# --- Learning, plans, changes ---------------------------------------------------------------------


def learning_document(of: LearningResult, look: DisplayOptions) -> Iterator[Block]:
    """Yield the blocks of a learning result."""
    table = Table(learning.columns(of), plain=True, title="Values")
    yield from _table_document(
        learning.heading(of), learning.sentences(of), table, learning.notes(of), look, of
    )
    if look.in_browser:
        from calipers.report.figures.figure import assign_ids
        from calipers.report.figures.learning import figure

        yield from _charts(assign_ids([figure(of)]))
    yield from () if look.on_screen else _provenance(of.provenance)


def selection_document(of: Selection, look: DisplayOptions) -> Iterator[Block]:
    """Yield the blocks of a model selection."""
    table = Table(learning.selection_columns(of), plain=True, title="Candidates")
    yield from _table_document(
        learning.SELECTION_HEADING,
        [learning.selection_sentence(of)],
        table,
        learning.selection_notes(of),
        look,
        of,
    )
    yield from () if look.on_screen else _provenance(of.provenance)


def _table_document(
    heading: str,
    said: Sequence[str],
    table: Table,
    notes: Sequence[str],
    look: DisplayOptions,
    result: ReportableResult,
) -> Iterator[Block]:
    """Yield the blocks of a document with sentences, a table and notes."""
    yield Heading(heading, 1)
    if look.on_screen:
        yield from (table, Lines(said), Lines([f"note: {note}" for note in notes]))
        return
    yield Verdict(said)
    if look.in_browser:
        yield from (_downloads(result), Heading(table.title, anchor="values"))
    yield table
    yield from _notes(Notes(list(map(mark_literal, notes))), look)


def plan_document(of: Plan, look: DisplayOptions) -> Iterator[Block]:
    """Yield the sentences and the table of a plan."""
    first, *more = plan.lines(of)
    if look.on_screen:
        yield Lines([first, *more])
    else:
        yield Lines([first])
        yield Lines(more, listed=True)
    yield Table(plan.columns(of), plain=True)


def changes(columns: Sequence[Column], notes: Sequence[str]) -> Iterator[Block]:
    """Yield the changes between two evaluations as a table, and notes."""
    if columns[0].cells:
        yield from (Lines([]), Table(drop_empty_columns(columns)))  # a terminal has a line between
    yield Lines(list(map(mark_literal, notes)))
