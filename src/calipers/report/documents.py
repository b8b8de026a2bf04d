"""Documents of results: the blocks of each kind of result, in order.

Differences between terminals, pages, browsers and papers are defined only here; see
:class:`~calipers.report.blocks.Medium`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from calipers.lazy_dataclasses import dataclass
from calipers.report import (
    class_tables,
    numbers,
    page_top,
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
    Provenance,
    Subsection,
    Table,
    Term,
    Terms,
    Verdict,
    WideTable,
    mark_literal,
    mark_name,
    shorten,
)
from calipers.report.display_names import use_display_names
from calipers.report.glossary import glossary, letters_text
from calipers.report.grouping import group_by
from calipers.report.headlines import (
    MAX_SHOWN_PAIRS,
    comparison_headlines,
    format_names,
    headlines,
    omitted_pairs_note,
    other_measures_sentence,
    primary_differences,
    secondary_headline,
)
from calipers.report.safe_names import escape_unprintable, join_words, shorten_name, unique_labels
from calipers.report.tables import (
    KEY,
    MAX_ROWS_ON_PAGE,
    NUMBER,
    Column,
    SliceGroup,
    drop_empty_columns,
    omitted_pairs_in_slices_note,
    omitted_slices_note,
    slice_groups,
    within_rows,
)
from calipers.report.verdict import (
    adjustment_text,
    difference_sentences,
    group_by_pair,
    outcome,
    p_heading,
)
from calipers.report.wide import in_rank_order, is_wide
from calipers.report.writers import get_writer, known_formats, list_formats
from calipers.results import (
    ORIENTATIONS,
    Comparison,
    ConfusionBase,
    Definition,
    Evaluation,
    Fairness,
    Finding,
    LabelTable,
    ParetoFront,
    PerUnit,
    Slices,
    ThresholdTable,
    ThresholdTables,
)
from calipers.results.estimate import RATER_SET_NAME
from calipers.results.name_lookup import NO_CHARTS_MESSAGE, lookup_error, match_name
from calipers.results.serialization import dump_json

if TYPE_CHECKING:
    from calipers.report.charts import Chart
    from calipers.report.figures.figure import Figure
    from calipers.results import MonitorResult, Plan
    from calipers.results.leaderboard import Leaderboard
    from calipers.results.learning import LearningResult, Selection

#: The largest number of splits that are all listed.
MAX_SPLITS = 30
#: The largest number of differences that are not folded below a wide table.
MAX_UNFOLDED_DIFFERENCES = 12
#: Severities of the findings that a brief document shows.
SERIOUS_SEVERITIES = ("warning", "caution")
#: The largest number of sentences on differences; more are in the table only.
MAX_SENTENCES = 60
#: The largest number of findings at the top of a page, and the kind that its verdict states.
MAX_CARDS = 3
#: The largest number of systems that a card lists.
MAX_LISTED_ON_CARD = 2
_IN_VERDICT = "no-significant-difference"
#: The largest number of measures in a table that are not folded, and of those that a brief document
#: shows: the primary one and six others.
MAX_UNFOLDED_MEASURES = 7
#: The largest number of measures in the columns of a summary.
MAX_WIDE_MEASURES = {Medium.NOTEBOOK: 5, Medium.CONSOLE: 3}
#: The largest number of slices and measures that a brief document shows.
MAX_BRIEF_SLICE_ROWS = 12
# Blank line on a terminal, before notes.
_LINE = Lines([])
# Additional blank line after folded differences.
_BLANK = Lines([""])


class ReportableResult(Protocol):
    """Result that can be saved as JSON and as CSV."""

    def to_dict(self, *, details: bool = False) -> dict[str, Any]:
        """Return the result as data for JSON."""

    def to_csv(self) -> str:
        """Return the result as CSV."""


@dataclass(frozen=True)
class DisplayOptions:
    """Options of a document: its medium and layout, the orientation of matrices, and intervals.

    ``intervals`` says whether tables for papers have intervals. With ``is_brief`` a terminal shows
    the first measures only, and ``appendix`` are blocks before its verdict.
    """

    medium: Medium = Medium.PAGE
    layout: str | None = None
    orientation: str = ORIENTATIONS[0]
    intervals: bool = True
    is_brief: bool = False
    appendix: Sequence[Block] = ()

    @property
    def is_on_screen(self) -> bool:
        """Whether the document is read on a terminal."""
        return self.medium is Medium.SCREEN

    @property
    def is_in_browser(self) -> bool:
        """Whether the document is a page with charts and parts that can be unfolded."""
        return self.medium is Medium.BROWSER

    @property
    def has_drawings(self) -> bool:
        """Whether tables have drawings."""
        return self.medium in (Medium.BROWSER, Medium.NOTEBOOK)


def render(result: Any, format: str, **options: Any) -> str:  # noqa: A002
    """Return a result in a format."""
    # Formats of other packages are looked up only if it is not a built-in one.
    writer = get_writer(
        match_name(
            "format", format, known_formats() if format in known_formats() else list_formats()
        )
    )
    return writer.write(document(result, DisplayOptions(writer.medium, **options)))


def console_text(result: Any) -> str:
    """Return a result in a few lines of text, as Python shows it."""
    from calipers.report.writers.text import Text

    return Text().write(document(result, DisplayOptions(Medium.CONSOLE)))


def notebook_cell(result: Any) -> str:
    """Return a result as HTML for the output of a notebook cell."""
    from calipers.report.writers.html import NotebookHTML

    return NotebookHTML().write(document(result, DisplayOptions(Medium.NOTEBOOK)))


def learning_chart(result: LearningResult) -> Chart:
    """Return the chart of a learning result."""
    from calipers.report.charts import Chart
    from calipers.report.figures.learning_curves import figure

    chart_figure = figure(result)
    return Chart(chart_figure.kind, (chart_figure,))


def leaderboard_chart(board: Leaderboard) -> Chart:
    """Return the chart of the ratings of a leaderboard."""
    from calipers.report.charts import Chart
    from calipers.report.figures.leaderboard import figure

    if not board.rated:
        raise lookup_error(f"leaderboard: {NO_CHARTS_MESSAGE}")
    return Chart("leaderboard", (figure(board),))


def monitor_chart(result: MonitorResult) -> Chart:
    """Return the chart of the looks of a sequential evaluation."""
    from calipers.report.charts import Chart
    from calipers.report.figures.monitor import figure

    return Chart("confidence sequence", (figure(result),))


def plan_chart(plan: Plan) -> Chart:
    """Return the chart of a sample size plan."""
    from calipers.report.charts import Chart
    from calipers.report.figures.plan import figure

    return Chart("plan", (figure(plan),))


def document(result: Any, options: DisplayOptions) -> Iterable[Block]:
    """Return the blocks of a result."""
    blocks, medium = _document(result, options), options.medium
    return shorten(blocks, medium.max_rows) if medium.is_summary else blocks


def _document(result: Any, options: DisplayOptions) -> Iterable[Block]:
    match result:
        case Evaluation():
            return evaluation_document(use_display_names(result), options, result)
        case Comparison():
            return comparison_document(use_display_names(result), options, result)
    # The modules of these results are imported only for one of them.
    from calipers.results import MonitorResult, Plan
    from calipers.results.leaderboard import Leaderboard
    from calipers.results.learning import LearningResult, Selection

    match result:
        case Plan():
            return plan_document(result, options)
        case LearningResult():
            return learning_document(result, options)
        case Selection():
            return selection_document(result, options)
        case Leaderboard():
            return leaderboard_document(result, options)
        case MonitorResult():
            return monitor_document(result, options)
        case ThresholdTables():
            return threshold_document(result, options)
        case Slices():
            return slices_document(result)
        case Fairness():
            return fairness_document(result)
        case ParetoFront():
            return front_document(result)
        case PerUnit():
            return units_document(result, options.medium.max_rows)
    raise TypeError(f"there is no document of a {type(result).__name__}")


# --- Evaluations ----------------------------------------------------------------------------------


def evaluation_document(
    result: Evaluation, look: DisplayOptions, original: Evaluation | None = None
) -> Iterator[Block]:
    """Yield the blocks of an evaluation.

    The verdict comes first, but last on a terminal, where the end is read first. The ``original``
    is the evaluation that can be downloaded.
    """
    if look.medium is Medium.PAPER:
        yield from _paper_tables(result, intervals=look.intervals)
        return
    if look.medium.is_summary:
        yield from _evaluation_summary(result, look)
        return
    if look.is_in_browser:
        result = in_rank_order(result)
    secondary = secondary_headline(result, mark_name)
    verdict = Verdict(headlines(result, mark_name), [secondary] if secondary else [])
    notes = Notes(list(map(mark_literal, result.notes)))
    yield Heading(table_rows.report_heading(result), 1)
    if look.is_in_browser:
        sentence, facts = page_top.evaluation_verdict(result, mark_name)
        yield Verdict([sentence], [*facts, *verdict.others])
        yield from filter(None, [page_top.evaluation_plot(result)])
    elif not look.is_on_screen:
        yield verdict
    cards = _cards(result.findings) if look.is_in_browser else []
    if cards:
        items = _finding_items(result, cards, look, MAX_LISTED_ON_CARD)
        yield Findings(items, are_cards=True)
    if look.is_in_browser:
        yield _downloads(original or result)
    hidden = _hidden_measures(result) if look.is_brief else ()
    if hidden:
        yield from _brief_numbers(result, hidden, look)
    else:
        yield from _findings(result, cards, look)
        if not look.is_on_screen:
            yield from _notes(notes, look)
        yield from _numbers(result, look)
    if result.judge_biases:
        yield from _judge_biases(result, look)
    if result.costs is not None:
        yield from _costs(result, result.costs, look)
    if look.medium.has_sections:
        by_class = any(table.row_kind == "class" for table in result.label_tables)
        if not look.is_in_browser:  # where they are drawn
            yield from _confusions(
                result.confusions,
                look.orientation,
                has_class_table=by_class,
                sides=class_tables.matrix_sides(result),
            )
        yield from _labels(result.label_tables, look)
    sections = [
        () if result.slices is None else slices_document(result.slices, look, result),
        () if result.fairness is None else fairness_document(result.fairness),
        () if result.thresholds is None else threshold_document(result.thresholds, look),
    ]
    for section in sections if look.is_on_screen else reversed(sections):
        yield from section
    if look.is_in_browser:
        yield from _chart_blocks(result, look.orientation)
        yield from _definitions(_all_definitions(result), _letters(result))
    if look.is_on_screen:
        separator = [_LINE] if notes.items else []
        yield from (*look.appendix, *separator, notes, verdict)
    elif look.medium.has_sections:
        yield from _provenance(result.provenance, look)


def _evaluation_summary(result: Evaluation, look: DisplayOptions) -> Iterator[Block]:
    """Yield the verdict, the plot, the serious findings and the first measures of an evaluation."""
    result = in_rank_order(result)
    sentence, facts = page_top.evaluation_verdict(result, mark_name)
    secondary = secondary_headline(result, mark_name)
    yield Heading(table_rows.report_heading(result), 1)
    yield Verdict([sentence], [*facts, *([secondary] if secondary else [])])
    yield from filter(None, [page_top.evaluation_plot(result)])
    cards = _cards([f for f in result.findings if f.severity in SERIOUS_SEVERITIES])
    if cards:
        yield Findings(_finding_items(result, cards, look, MAX_LISTED_ON_CARD))
    yield Notes(list(map(mark_literal, result.notes)))
    hidden = set[str]()
    if result.estimates:
        uses_wide_table, primary = _is_wide(result, look), wide.primary_measure(result)
        limit = MAX_WIDE_MEASURES[look.medium] if uses_wide_table else MAX_UNFOLDED_MEASURES
        hidden = set(result.measures) - unfolded_measures(result.measures, primary, limit)
        # Marks of significance are those of the whole comparison.
        estimates = tuple(e for e in result.estimates if e.measure not in hidden)
        leading = replace(result, estimates=estimates)
        if uses_wide_table:
            yield WideTable(wide.from_evaluation(leading), primary, shows_tests=False)
        else:
            yield _estimates(leading, look)
    if result.judge_biases:
        yield from _judge_biases(result, look)
    if result.costs is not None:
        yield from _costs(result, result.costs, look)
    n_findings = len(table_rows.deduplicate_findings(result.findings)) - len(cards)
    hidden_content = {
        numbers.format_count(len(hidden), "measures"): hidden,
        "differences with their tests": result.comparison,
        numbers.format_count(n_findings, "findings"): n_findings,
        "slices": result.slices,
        "fairness between groups": result.fairness,
        "thresholds": result.thresholds,
    }
    yield from _not_shown([name for name, has_any in hidden_content.items() if has_any])


def _not_shown(names: Sequence[str]) -> Iterator[Block]:
    """Yield what a summary leaves out, and how to see all."""
    also = f"Not shown: {join_words(names)}. " if names else ""
    all_of_it = 'print() shows all; to_html("page.html") writes a page with all charts.'
    yield Lines([f"{also}{all_of_it}"], aside=True)


def _differences_in_words(comparison: Comparison) -> Iterator[Block]:
    """Yield a sentence per difference, folded."""
    if 0 < len(comparison) <= MAX_SENTENCES:
        all_sentences = difference_sentences(comparison, mark_name)
        summary = f"The {len(all_sentences):,} differences in words"
        yield Fold(
            summary if len(all_sentences) > 1 else "In words", [Lines(all_sentences, is_list=True)]
        )


def _downloads(result: ReportableResult) -> Downloads:
    """Return the result for download: in full precision, as a table, and for a paper."""
    files = {"result.json": dump_json(result.to_dict(), indent=None), "result.csv": result.to_csv()}
    if isinstance(result, Evaluation | Comparison):
        files["result.tex"] = result.to_latex()
    return Downloads(files)


#: A finding, and similar ones of other systems.
_FindingGroup = tuple[Finding, list[Finding]]


def _cards(findings: Sequence[Finding]) -> list[_FindingGroup]:
    """Return the most important findings of different kinds, except those in the verdict."""
    first_by_kind: dict[str, _FindingGroup] = {}
    for group in table_rows.deduplicate_findings(findings):
        first_by_kind.setdefault(group[0].kind, group)
    first_by_kind.pop(_IN_VERDICT, None)
    return list(first_by_kind.values())[:MAX_CARDS]


def _findings(
    result: Evaluation, cards: Sequence[_FindingGroup], look: DisplayOptions
) -> Iterator[Block]:
    """Yield the findings that are not on cards."""
    groups = table_rows.deduplicate_findings(result.findings)
    groups = [group for group in groups if group not in cards]
    if groups:
        yield Heading("Other findings" if cards else "Findings", anchor="findings")
        yield Findings(_finding_items(result, groups, look))


def _finding_items(
    result: Evaluation,
    groups: Sequence[_FindingGroup],
    look: DisplayOptions,
    max_listed: int = table_rows.MAX_LISTED_SYSTEMS,
) -> list[FindingText]:
    """Return findings with, in a browser, links from their measures to the definitions."""
    definitions = result.definitions if look.is_in_browser else ()
    anchors = {d.measure: f"definition-{i}" for i, d in enumerate(definitions)}
    return [finding_item(finding, similar, anchors, max_listed) for finding, similar in groups]


def finding_item(
    finding: Finding,
    similar: Sequence[Finding] = (),
    anchors: Mapping[str, str] | None = None,
    max_listed: int = table_rows.MAX_LISTED_SYSTEMS,
) -> FindingText:
    """Return a finding of a document, with similar ones of other systems."""
    anchor_by_measure = anchors or {}
    return FindingText(
        table_rows.severity_prefix(finding).strip(),
        mark_literal(table_rows.finding_text(finding, similar, max_listed)),
        finding.severity,
        escape_unprintable(finding.criterion),
        f"{100 * finding.level:.4g}%",
        table_rows.finding_values(finding),
        [
            (shorten_name(measure), anchor_by_measure.get(measure, ""))
            for measure in finding.measures
        ],
    )


def _notes(notes: Notes, look: DisplayOptions) -> Iterator[Block]:
    if notes.items and look.is_in_browser:
        yield Heading("Notes", anchor="notes")
    yield notes


def _paper_tables(result: Evaluation, *, intervals: bool) -> Iterator[Block]:
    """Yield tables of systems by measures, and by costs with the Pareto fronts."""
    yield WideTable(wide.from_evaluation(result, intervals=intervals))
    if result.judge_biases:
        from calipers.report import judge

        sentences = *judge.sentences(result), judge.undetected_sentence(result)
        caption = [*filter(None, sentences), judge.caption(result.judge_biases)]
        yield Table(judge.columns(result.judge_biases), caption=caption)
    if result.costs is not None:
        from calipers.report import pareto_fronts

        cost_layout = wide.from_evaluation(result.costs, intervals=intervals)
        front_lines = (
            line for front in result.pareto_fronts for line in pareto_fronts.front_sentences(front)
        )
        yield WideTable(replace(cost_layout, tests=(*cost_layout.tests, *front_lines)))


def _numbers(result: Evaluation, look: DisplayOptions) -> Iterator[Block]:
    """Yield the estimates and the differences.

    On a terminal the differences of many pairs are omitted.
    """
    comparison, uses_wide_table = result.comparison or None, _is_wide(result, look)
    omits_pairs = (
        look.is_on_screen
        and comparison is not None
        and len(group_by_pair(comparison)) > MAX_SHOWN_PAIRS
    )
    pair_notes = [omitted_pairs_note(comparison)] if comparison is not None and omits_pairs else []
    if result.estimates and uses_wide_table:
        # The differences below say how they were tested.
        tests = not look.is_on_screen or comparison is None or omits_pairs
        layout = wide.from_evaluation(result)
        if look.is_in_browser:
            primary = mark_name(wide.primary_measure(result))
            heading = f"Ranking by {primary}" if layout.is_ranked else "Estimates"
            yield Heading(heading, anchor="ranking" if layout.is_ranked else "estimates")
        layout = replace(layout, remarks=(*layout.remarks, *pair_notes))
        yield from _wide_tables(result, look, layout, shows_tests=tests)
        pair_notes = []
    elif result.estimates:
        if look.is_in_browser:
            yield Heading("Estimates", anchor="estimates")
        yield from _estimate_tables(result, look)
    if pair_notes:
        yield Lines(pair_notes)
    if comparison is None or omits_pairs:
        return
    if look.is_in_browser:
        yield Heading("Comparison", anchor="comparison")
        yield from _differences_in_words(comparison)
    if look.is_on_screen and uses_wide_table and len(comparison) > MAX_UNFOLDED_DIFFERENCES:
        yield WideTable(wide.from_comparison(comparison))
    else:
        yield from difference_blocks(comparison, look, folded=uses_wide_table)


def _hidden_measures(result: Evaluation) -> list[str]:
    """Return the measures that a brief document leaves out; one more than it shows is shown."""
    unfolded = unfolded_measures(result.measures, wide.primary_measure(result))
    hidden = [measure for measure in result.measures if measure not in unfolded]
    return hidden if len(hidden) > 1 else []


def _brief_numbers(
    result: Evaluation, hidden: Sequence[str], look: DisplayOptions
) -> Iterator[Block]:
    """Yield the estimates of the first measures, what else there is, and cautions."""
    primary = wide.primary_measure(result)
    estimates = [e for e in result.estimates if e.measure not in hidden]
    # Marks of significance are those of the whole comparison.
    shortened = replace(
        result, estimates=tuple(sorted(estimates, key=lambda e: e.measure != primary))
    )
    if is_wide(shortened, None):
        yield WideTable(wide.from_evaluation(shortened), primary, shows_tests=False)
    else:
        yield Table(drop_empty_columns(tables.estimate_columns(shortened)), is_grouped=True)
    serious = tuple(f for f in result.findings if f.severity in SERIOUS_SEVERITIES)
    hidden_items = [*map(shorten_name, hidden)]
    hidden_items += ["the differences and their tests"] if result.comparison else []
    hidden_items += ["all findings"] if len(serious) < len(result.findings) else []
    yield Lines([f"--all also shows {join_words(hidden_items)}."])
    yield from _findings(replace(result, findings=serious), [], look)


def values_document(result: Evaluation, look: DisplayOptions) -> Iterator[Block]:
    """Yield the values of the systems of an evaluation, without a comparison of them."""
    if not look.is_on_screen:
        yield Heading("Values", 1)
    yield from _numbers(use_display_names(replace(result, comparison=None)), look)


def _is_wide(result: Evaluation, look: DisplayOptions) -> bool:
    """Return whether an evaluation has a wide table, with a row per system.

    Wide tables have no room for drawings of all measures, so that a browser has long tables by
    default, unless many systems are ranked. Outputs that a judge scored are not ranked.
    """
    if result.judge_biases and look.layout is None:
        return False
    if look.is_in_browser and look.layout is None:
        return wide.is_ranked(result)
    return is_wide(result, look.layout)


def _estimates(result: Evaluation, look: DisplayOptions) -> Table:
    """Return a table with a row per estimate."""
    columns = tables.estimate_columns(
        result, arrows=not look.is_on_screen, drawings=look.has_drawings
    )
    rows_are = "every measure of every system"
    return Table(
        drop_empty_columns(columns), title="Estimates", row_description=rows_are, is_grouped=True
    )


def _estimate_tables(result: Evaluation, look: DisplayOptions) -> Iterator[Block]:
    """Yield the table of estimates; with drawings, that of more than a few measures is folded."""
    table = _estimates(result, look)
    measures = [
        e.measure for group in group_by(result, lambda e: e.measure).values() for e in group
    ]
    primary = wide.primary_measure(result)
    yield from _fold_measures(table, measures, primary, folds=look.is_in_browser)


def unfolded_measures(
    measures: Iterable[str], primary: str | None, limit: int = MAX_UNFOLDED_MEASURES
) -> set[str]:
    """Return the measures of a table that are not folded: the primary one and the first others."""
    others = [m for m in dict.fromkeys(measures) if m != primary]
    has_primary = len(others) < len(set(measures))
    return {*others[: limit - has_primary], *([primary] if has_primary else ())}


def _fold_measures(
    table: Table, measures: Sequence[str], primary: str | None, *, folds: bool
) -> Iterator[Block]:
    """Yield a table whose rows are of these measures, with those of more than a few folded."""
    unfolded = unfolded_measures(measures, primary)
    n_folded = len(set(measures)) - len(unfolded)
    if not folds or not n_folded:
        yield table
        return
    for is_unfolded in (True, False):
        indices = [i for i, measure in enumerate(measures) if (measure in unfolded) is is_unfolded]
        columns = drop_empty_columns(tables.select_rows(table.columns, indices))
        if is_unfolded:
            yield replace(table, columns=columns)
        else:  # Regions have distinct names.
            block = replace(table, columns=columns, title=f"{table.title}: other measures")
            yield Fold(_n_other_measures(n_folded), [block])


def _n_other_measures(n: int) -> str:
    return f"{n:,} other measures" if n > 1 else "The other measure"


def _wide_tables(
    result: Evaluation, look: DisplayOptions, layout: wide.WideLayout, *, shows_tests: bool
) -> Iterator[Block]:
    """Yield the wide table of an evaluation; in a browser, columns of many measures are folded."""
    primary = wide.primary_measure(result)
    whiskers = _whiskers(result, primary) if look.is_in_browser else ()
    unfolded = unfolded_measures(result.measures, primary)
    if not look.is_in_browser or len(unfolded) == len(result.measures):
        yield WideTable(layout, primary, shows_tests=shows_tests, whiskers=whiskers)
        return
    indices: dict[bool, list[int]] = group_by(
        range(len(result.measures)), lambda i: result.measures[i] in unfolded
    )
    layout_of = {is_unfolded: layout.select(indices[is_unfolded]) for is_unfolded in indices}
    yield WideTable(layout_of[True], primary, shows_tests=shows_tests, whiskers=whiskers)
    others = replace(layout_of[False], remarks=(), values=(), key=(), tests=())
    # Tables of more columns would be cut in print and on narrow screens.
    n_others, titles = len(others.measures), "Other measures"
    starts = range(0, n_others, MAX_UNFOLDED_MEASURES)
    others_tables = [
        WideTable(
            others.select(range(start, min(start + MAX_UNFOLDED_MEASURES, n_others))),
            primary,
            title=f"{titles}, from {others.measures[start]}" if len(starts) > 1 else titles,
        )
        for start in starts
    ]
    yield Fold(_n_other_measures(n_others), others_tables)


def _whiskers(result: Evaluation, measure: str) -> list[Any]:
    """Return the drawn interval of each system, in the order of the rows of a wide table."""
    from calipers.report.figures.vega import PALETTE

    estimate_by_system = {e.system: e for e in result if e.measure == measure}
    estimates = [
        estimate_by_system[system]
        for system in wide.order_systems(result)
        if system in estimate_by_system
    ]
    whiskers = tables.whiskers(
        estimates, table_rows.definitions_by_measure(result).get(measure), result.systems
    )
    if len(whiskers) > len(PALETTE):  # of more systems than colors only the leader has one
        gray = [w and replace(w, color="currentColor") for w in whiskers[1:]]
        whiskers = [*whiskers[:1], *gray]
    whisker_by_system = {e.system: whisker for e, whisker in zip(estimates, whiskers, strict=True)}
    return [whisker_by_system.get(system) for system in wide.order_systems(result)]


def difference_blocks(
    result: Comparison, look: DisplayOptions, *, folded: bool = False
) -> Iterator[Block]:
    """Yield the table of differences and that of omnibus tests.

    On a page, tables of many differences may be ``folded``.
    """
    text = adjustment_text(result)
    if look.is_in_browser and len(group_by_pair(result)) > MAX_SHOWN_PAIRS:
        yield from _every_pair(result)
        folded = False
    else:
        columns = drop_empty_columns(
            tables.difference_columns(result, verdict=not look.is_on_screen)
        )
        table = Table(columns, title="Comparison", row_description="every difference")
        if look.is_on_screen:
            yield from (table, Lines([text] if text else []))
            return
        is_long = folded and len(result) > MAX_UNFOLDED_DIFFERENCES
        if is_long:
            yield from (Fold(f"The {len(result):,} differences", [table]), _BLANK)
        else:
            measures = [d.measure for d in result]
            primary = next((d.measure for d in primary_differences(result)), None)
            yield from _fold_measures(table, measures, primary, folds=look.is_in_browser)
    if text and (not folded or look.is_in_browser):
        yield Lines([text], aside=True)
    if result.omnibus:
        yield from _omnibus_tables(result, look)


def _every_pair(result: Comparison) -> Iterator[Block]:
    """Yield a selector of pairs that are too many for a table."""
    from calipers.report import page_data

    count, level = f"{len(group_by_pair(result)):,}", numbers.format_percent(result.level)
    yield Pairs(count, page_data.all_pairs_data(result), level, p_heading(result))


#: Explanation of the columns of the omnibus tests.
_OMNIBUS_NOTE = (
    "Friedman's test compares ranks within units, the analysis of variance (ANOVA) means; ω² is "
    "the proportion of the variance that is due to systems."
)
_HOMOGENEOUS_GROUPS = (
    " Homogeneous groups: the largest sets of systems without a significant pair in Nemenyi's test."
)
_NOT_ADJUSTED = " These p-values are not adjusted for the number of measures."


def _omnibus_tables(
    result: Comparison, look: DisplayOptions, *, shows_groups: bool = True
) -> Iterator[Block]:
    """Yield the omnibus tests of all systems, and the homogeneous groups if not shown already."""
    columns = tables.omnibus_columns(result)
    title = "Omnibus tests"
    if look.is_in_browser and len(group_by_pair(result)) > MAX_SHOWN_PAIRS:
        shows_groups = False  # long lists, which the matrix of pairs shows better
    yield Heading(title, 3 if look.is_in_browser else 2)
    yield Table(drop_empty_columns(columns if shows_groups else columns[:-1]), title=title)
    if look.is_in_browser:
        adjustment_note = _NOT_ADJUSTED if len(result.omnibus) > 1 else ""
        yield Lines(
            [f"{_OMNIBUS_NOTE}{_HOMOGENEOUS_GROUPS if shows_groups else ''}{adjustment_note}"],
            aside=True,
        )


def _judge_biases(result: Evaluation, look: DisplayOptions) -> Iterator[Block]:
    """Yield the tables of a judge on a terminal, and the table of its biases."""
    if look.is_on_screen:  # elsewhere they are among the other tables of classes
        yield from _confusions(
            result.confusions,
            look.orientation,
            has_class_table=True,
            sides=class_tables.JUDGE_SIDES,
        )
    yield Heading("Biases of the judge", anchor="biases")
    from calipers.report import judge

    yield Table(judge.columns(result.judge_biases), title="Biases")
    yield Lines([judge.caption(result.judge_biases)], aside=True)


def _costs(result: Evaluation, costs: Evaluation, look: DisplayOptions) -> Iterator[Block]:
    """Yield the costs of the systems, and the Pareto fronts."""
    from calipers.report import pareto_fronts

    yield Heading("Costs", anchor="costs")
    if not look.has_drawings and is_wide(costs, look.layout if look.is_on_screen else None):
        yield WideTable(wide.from_evaluation(costs), wide.primary_measure(costs))
    else:
        yield replace(_estimates(costs, look), title="Costs")
    for front in result.pareto_fronts:
        if look.is_on_screen:
            yield Heading(
                f"{shorten_name(front.measure)} against {shorten_name(front.cost_measure)}"
            )
        else:
            yield Lines(pareto_fronts.front_sentences(front, mark_name))
        yield Table(pareto_fronts.front_columns(front), title="Pareto front")
    if result.pareto_fronts:
        yield Lines([pareto_fronts.front_caption(result.pareto_fronts)], aside=True)
    if costs.comparison and look.medium.has_sections:
        summary = f"The {len(costs.comparison):,} differences of costs"
        yield Fold(summary, [*difference_blocks(costs.comparison, look), _BLANK])


def _confusions(
    confusions: Sequence[ConfusionBase],
    orientation: str,
    *,
    has_class_table: bool,
    sides: tuple[str, str],
) -> Iterator[Block]:
    """Yield the confusion matrix of each system, and a table of its classes.

    There is no table of two classes, nor if a table of classes is ``has_class_table`` elsewhere.
    """
    for confusion in confusions:
        if len(confusion.labels) <= class_tables.MAX_TABLE_CLASSES:
            yield Heading(f"Confusion matrix{_system_suffix(confusion, confusions)}")
            yield class_tables.matrix_block(confusion, orientation, sides=sides)
            if len(confusion.labels) > 2 and not has_class_table:
                yield Table.from_rows(*class_tables.class_table(confusion))


def _labels(label_tables: Sequence[LabelTable], look: DisplayOptions) -> Iterator[Block]:
    """Yield the table of labels or clusters of each system."""
    shown_tables = [
        label_table
        for label_table in label_tables
        if look.is_in_browser or len(label_table.labels) <= class_tables.MAX_TABLE_LABELS
    ]
    if look.is_in_browser and len(label_tables) > 1:
        kinds = " and ".join(dict.fromkeys(map(class_tables.row_kind_plural, label_tables)))
        yield Heading(kinds.capitalize(), anchor="labels")
    captioned_kinds = set[str]()
    for label_table in shown_tables:
        kind = class_tables.row_kind_plural(label_table).capitalize()
        title = f"{kind}{_system_suffix(label_table, label_tables)}"
        table = Table.from_rows(*class_tables.label_grid(label_table), title)
        if len(label_tables) > 1:
            yield Subsection(title, [table], open=label_table is shown_tables[0])
        else:
            yield from (Heading(title, anchor="labels"), table)
    if look.is_in_browser:
        for label_table in shown_tables:
            if label_table.row_kind not in captioned_kinds:
                yield Lines([class_tables.label_caption(label_table)])
            captioned_kinds.add(label_table.row_kind)


def _system_suffix(
    item: ConfusionBase | LabelTable | ThresholdTable, items: Sequence[Any] | ThresholdTables
) -> str:
    """Return the name of the system as a suffix of a title, if there are several."""
    return (
        f" of {mark_name(item.system)}" if len(items) > 1 and item.system != RATER_SET_NAME else ""
    )


def slices_document(
    all_slices: Slices, look: DisplayOptions | None = None, evaluation: Evaluation | None = None
) -> Iterator[Block]:
    """Yield a table of slices for each column that defines them.

    In a browser there is a table per measure, folded if no slice differs significantly from all
    other rows.
    """
    if look is not None and look.is_in_browser and evaluation is not None:
        yield Heading("Slices", anchor="slices")
        yield from _slices_by_measure(all_slices, evaluation)
        yield from _systems_within_by_measure(all_slices)
        return
    hidden_note = ""
    if look is not None and look.is_brief and evaluation is not None:
        all_slices, hidden_note = _brief_slices(all_slices, wide.primary_measure(evaluation))
    for title, (by_column, omission_note) in (
        ("Slices by", tables.slice_tables(all_slices)),
        ("Comparisons within slices of", tables.within_slice_tables(all_slices)),
    ):
        for column, columns in by_column.items():
            yield Heading(f"{title} {mark_name(column)}")
            yield Table(drop_empty_columns(columns), is_wrapped=True)
        if omission_note:
            yield Lines([omission_note])
    yield from filter(None, [_slice_marks(all_slices)])
    if hidden_note:
        yield Lines([hidden_note])


def _brief_slices(all_slices: Slices, primary: str) -> tuple[Slices, str]:
    """Return the slices by the primary measure if there are many, and a note on the others."""
    rows = {(s.column, s.slice, s.estimate.measure) for s in all_slices}
    hidden = {measure for _, _, measure in rows} - {primary}
    if len(rows) <= MAX_BRIEF_SLICE_ROWS or len(hidden) < 2:
        return all_slices, ""
    significant = {
        measure for s in all_slices
        if (measure := s.estimate.measure) in hidden and outcome(s.vs_rest).is_significant
    }  # fmt: skip
    selected = replace(
        all_slices,
        all=tuple(s for s in all_slices if s.estimate.measure == primary),
        differences=tuple(d for d in all_slices.differences if d.difference.measure == primary),
    )
    note = f"--all also shows slices by {len(hidden)} other measures."
    if significant:
        names = format_names(list(map(shorten_name, sorted(significant))))
        note += f" A slice differs significantly from all other rows by {names}."
    return selected, note


def _slices_by_measure(all_slices: Slices, evaluation: Evaluation) -> Iterator[Block]:
    """Yield the primary measure, those with significant differences, then all others."""
    groups, folded = slice_groups(all_slices, MAX_ROWS_ON_PAGE)
    for column, (first, *other_groups) in group_by(groups, lambda group: group.column).items():
        yield Heading(f"By {mark_name(column)}", 3)
        yield _slice_part(all_slices, first, evaluation, is_open=True)
        yield from (
            _slice_part(all_slices, group, evaluation)
            for group in other_groups
            if group.significant_slices
        )
        for tested, words in ((True, "differs significantly from"), (False, "was tested against")):
            nonsignificant = [
                g for g in other_groups if not g.significant_slices and g.has_tests is tested
            ]
            if nonsignificant:
                measures = ", ".join(mark_name(group.label) for group in nonsignificant)
                yield Subsection(
                    f"No slice {words} all other rows by {measures}",
                    [_slice_part(all_slices, group, evaluation) for group in nonsignificant],
                )
    if folded:
        yield Lines([omitted_slices_note(folded)])


def _slice_part(
    all_slices: Slices, group: SliceGroup, evaluation: Evaluation, *, is_open: bool = False
) -> Subsection:
    definition = table_rows.definitions_by_measure(evaluation).get(group.canonical_name)
    slice_whiskers = tables.whiskers(
        [row.estimate_cells.estimate for row in group.rows], definition, evaluation.systems
    )
    columns = _without_measure(tables.slice_columns(all_slices, group.rows, slice_whiskers))
    table = Table(columns, title=f"{group.label} by {group.column}")
    blocks: list[Block] = [table]
    if len(evaluation.systems) > 1:
        grid = _without_measure(tables.slice_grid(all_slices, group.rows, evaluation.systems))
        details = Fold("Differences from all other rows", [table])
        grid_table = Table(grid, title=f"{group.label} of systems by {group.column}")
        blocks = [grid_table, *filter(None, [_slice_marks(all_slices)]), details]
    significant_slices = ", ".join(map(mark_name, group.significant_slices))
    return Subsection(
        f"{mark_name(group.label)} {table_rows.direction_arrow(definition)}".rstrip(),
        blocks,
        level=4,
        open=is_open,
        remark=f"differs significantly from all other rows: {significant_slices}"
        if significant_slices
        else "",
    )


def _slice_marks(all_slices: Slices) -> Lines | None:
    """Return the explanation of the marks in a table of slices and systems, if there are any."""
    marks = tables.slice_marks(all_slices)
    return Lines([marks], aside=True) if marks else None


def _systems_within_by_measure(all_slices: Slices) -> Iterator[Block]:
    """Yield the comparisons within slices, a table per measure."""
    max_rows, n_shown = MAX_ROWS_ON_PAGE // max(1, len(all_slices.columns)), 0
    for column in all_slices.columns:
        by_measure = within_rows(all_slices, column, max_rows)
        if by_measure:
            yield Heading(f"Comparisons within slices of {mark_name(column)}", 3)
        for index, (measure, measure_rows) in enumerate(by_measure.items()):
            title = f"{shorten_name(measure)} of systems within {shorten_name(column)}"
            table = Table(
                _without_measure(tables.within_columns(all_slices, measure_rows)), title=title
            )
            yield Subsection(mark_name(measure), [table], level=4, open=not index)
            n_shown += len(measure_rows)
    if omission_note := omitted_pairs_in_slices_note(len(all_slices.differences) - n_shown):
        yield Lines([omission_note])


def _without_measure(columns: Sequence[Column]) -> list[Column]:
    return [column for column in drop_empty_columns(columns) if column.name != "measure"]


def fairness_document(fairness: Fairness) -> Iterator[Block]:
    """Yield a table of the disparities between groups, and its caption."""
    yield Heading("Fairness between groups", anchor="fairness")
    yield Table(drop_empty_columns(tables.fairness_columns(fairness)), title="Fairness")
    yield Lines([tables.FAIRNESS_CAPTION], aside=True)


def front_document(front: ParetoFront) -> Iterator[Block]:
    """Yield the sentences and the table of a Pareto front."""
    from calipers.report import pareto_fronts

    yield Lines(pareto_fronts.front_sentences(front, mark_name))
    yield Table(pareto_fronts.front_columns(front), title="Pareto front")
    yield Lines([pareto_fronts.front_caption([front])], aside=True)


def units_document(values: PerUnit, max_rows: int) -> Iterator[Block]:
    """Yield the first values of each system and measure, in a row for each unit."""
    names, unit = unique_labels(values.values), shorten_name(values.unit)
    columns = [Column(unit, KEY, list(map(shorten_name, values.ids[:max_rows])))]
    for system, entries in values.values.items():
        for measure, array in entries.items():
            first = array[:max_rows].tolist()
            digits = numbers.rounding((x, numbers.NAN, numbers.NAN) for x in first)
            label = f"{names[system]} {shorten_name(measure)}".strip()
            columns.append(Column(label, NUMBER, list(map(digits, first))))
    yield Lines([f"Values on {numbers.format_count(len(values.ids), unit)}."])
    yield Table(columns[: MAX_UNFOLDED_MEASURES + 1], title="Values")
    n_columns, n_rows = len(columns) - 1 - MAX_UNFOLDED_MEASURES, len(values.ids) - max_rows
    omitted_counts = [f"{n_rows:,} {unit}"] * (n_rows > 0) + [f"{n_columns:,} columns"] * (
        n_columns > 0
    )
    if omitted_counts:
        yield Lines([f"Not shown: {join_words(omitted_counts)}; to_frame() has all."])


def threshold_document(threshold_tables: ThresholdTables, look: DisplayOptions) -> Iterator[Block]:
    """Yield a table of thresholds per system, and its caption."""
    caption = tables.threshold_caption(threshold_tables)
    if look.is_in_browser and len(threshold_tables) > 1:
        yield Heading("Thresholds", anchor="cutoffs")
    for index, threshold_table in enumerate(threshold_tables):
        title, columns = (
            f"Thresholds{_system_suffix(threshold_table, threshold_tables)}",
            tables.threshold_columns(threshold_tables, threshold_table),
        )
        if look.medium is Medium.PAPER:
            # The thresholds are typeset as the other numbers are.
            columns = [column._replace(kind=NUMBER) for column in columns]
            yield Table(columns, [f"{title}.", caption] if len(threshold_tables) > 1 else [caption])
            continue
        table = Table(drop_empty_columns(columns), title=title)
        if len(threshold_tables) > 1:
            yield Subsection(title, [table], open=not index)
        else:
            yield from [] if look.is_on_screen else [Heading(title, anchor="cutoffs")]
            yield table
    if look.medium is not Medium.PAPER:
        yield Lines([caption])
        yield Notes(list(map(mark_literal, threshold_tables.notes)))


def _provenance(provenance: Mapping[str, Any], look: DisplayOptions) -> Iterator[Block]:
    """Yield the provenance of a result, where there is room for it."""
    if provenance and not look.is_on_screen and not look.medium.is_summary:
        yield Provenance(table_rows.provenance_rows(provenance))


# --- Charts in a browser --------------------------------------------------------------------------


def _chart_blocks(result: Evaluation, orientation: str) -> Iterator[Block]:
    """Yield the threshold explorer and the charts.

    Images are rendered in the background while the next curves are computed.
    """
    from calipers.report import page_data
    from calipers.report.charts import figures
    from calipers.report.figures.rendering import start_background_renderer

    explorer = page_data.explorer_block(result)
    if explorer is not None:
        yield from (Heading("Threshold explorer", anchor="threshold"), explorer)
    with start_background_renderer() as start_rendering:
        yield from _charts(figures(result, orientation, start_rendering))


def _charts(
    figures: Sequence[Any], note: str = "", *, is_interactive: bool = True
) -> Iterator[Block]:
    if figures:
        yield from [Heading("Charts", anchor="charts")] if is_interactive else []
        yield Figures(figures, is_interactive)
        yield from [Lines([note], aside=True)] if note else []


def _chart(figure: Figure, look: DisplayOptions) -> Iterator[Block]:
    """Yield the only chart of a result, where charts are drawn."""
    from calipers.report.figures.figure import assign_ids

    yield from _charts(assign_ids([figure]), is_interactive=look.is_in_browser)


def _all_definitions(result: Evaluation) -> list[Definition]:
    """Return the definitions of measures of quality and of cost."""
    return [*result.definitions, *(() if result.costs is None else result.costs.definitions)]


def _letters(result: Evaluation) -> str:
    """Return what letters in the names of the interval methods of a page stand for."""
    methods = {e.method for e in result if e.has_interval}
    # Curves that no chart has drawn are not computed for this.
    curves = getattr(result.curves, "computed", result.curves)
    return letters_text(methods.union(c.method for c in curves))


def _definitions(definitions: Sequence[Definition], letters: str) -> Iterator[Block]:
    """Yield the definitions of the measures, and of letters in names of methods."""
    if definitions:
        yield Heading("Definitions", anchor="definitions")
        terms = [_definition(d, f"definition-{i}") for i, d in enumerate(definitions)]
        yield Terms([*terms, *([Term("Letters of methods", f"{letters}.")] if letters else [])])


def _definition(definition: Definition, anchor: str) -> Term:
    direction = table_rows.direction_text(definition)
    traits = f"{table_rows.range_text(definition)}; {direction}. {definition.reference}".rstrip()
    reasons = "; ".join(
        f"``{reason}``, {meaning}" for reason, meaning in definition.undefined.items()
    )
    details = [traits, *([f"Undefined: {reasons}."] if reasons else [])]
    description = " ".join(definition.description.split())  # in lines of the source
    return Term(shorten_name(definition.measure), description, details, anchor)


# --- Comparisons ----------------------------------------------------------------------------------


def comparison_document(
    result: Comparison, look: DisplayOptions, original: Comparison | None = None
) -> Iterator[Block]:
    """Yield the blocks of a comparison.

    It has a table of differences, and a sentence per difference, or per pair of many.
    """
    if look.medium is Medium.PAPER:
        layout = wide.from_comparison(result)
        if not look.intervals:
            cells = (
                tuple(cell and replace(cell, interval="") for cell in row) for row in layout.cells
            )
            layout = replace(layout, cells=tuple(cells))
        yield WideTable(layout)
        return
    if look.medium.is_summary:
        yield from _comparison_summary(result, look)
        return
    uses_wide_table, all_sentences = (
        len(result) > 0 and is_wide(result, look.layout),
        difference_sentences(result, mark_name),
    )
    secondary = other_measures_sentence(result, mark_name)
    main_sentences, other_sentences = (
        comparison_headlines(result, mark_name),
        [secondary] if secondary else [],
    )
    if not look.is_on_screen:
        yield Heading(table_rows.comparison_heading(result), 1)
        if look.is_in_browser:
            sentence, facts = page_top.comparison_verdict(result, mark_name)
            yield Verdict([sentence], [*facts, *other_sentences])
            yield from filter(
                None, [page_top.comparison_plot(result), _downloads(original or result)]
            )
        else:
            yield Verdict(main_sentences, other_sentences)
            if [*main_sentences, *other_sentences] != all_sentences and len(
                all_sentences
            ) <= MAX_SENTENCES:
                summary = f"Each of the {len(all_sentences):,} differences"
                yield Fold(summary, [Lines(all_sentences)])
        yield from _notes(Notes(list(map(mark_literal, result.notes))), look)
    if uses_wide_table:
        ranked, primary = wide.has_many_systems(result), primary_differences(result)[0].measure
        layout = wide.from_many_systems(result) if ranked else wide.from_comparison(result)
        if look.is_in_browser and ranked:
            yield Heading(f"Ranking by {mark_name(primary)}", anchor="ranking")
        yield WideTable(layout, primary)
    if look.is_on_screen:
        if not uses_wide_table:
            yield Table(drop_empty_columns(tables.difference_columns(result)))
        if result.omnibus:
            yield from _omnibus_tables(
                result, look, shows_groups=not (uses_wide_table and wide.has_many_systems(result))
            )
        adjusted = "" if uses_wide_table else adjustment_text(result)
        is_short = len(result) <= MAX_UNFOLDED_DIFFERENCES
        if adjusted:
            yield Lines([adjusted])
        if result.notes:
            yield Notes(list(map(mark_literal, result.notes)))
        yield Lines(all_sentences if is_short else [*main_sentences, *other_sentences])
        return
    if len(result):
        yield Heading("Differences", anchor="comparison")
        yield from _differences_in_words(result) if look.is_in_browser else ()
        yield from difference_blocks(result, look, folded=uses_wide_table)
    yield from _splits(result)
    if look.is_in_browser:
        yield from _comparison_charts(result)
    entries = glossary(result)
    if entries:
        yield Heading("Tests and methods", anchor="methods")
        yield Terms([Term(term, text, [f"{source}."]) for term, text, source in entries])
    yield from _provenance(result.provenance, look)


def _comparison_summary(result: Comparison, look: DisplayOptions) -> Iterator[Block]:
    """Yield the verdict, the plot, and the first differences of a comparison."""
    sentence, facts = page_top.comparison_verdict(result, mark_name)
    secondary = other_measures_sentence(result, mark_name)
    yield Heading(table_rows.comparison_heading(result), 1)
    yield Verdict([sentence], [*facts, *([secondary] if secondary else [])])
    yield from filter(None, [page_top.comparison_plot(result)])
    yield Notes(list(map(mark_literal, result.notes)))
    measures = dict.fromkeys(d.measure for d in result)
    primary = next((d.measure for d in primary_differences(result)), None)
    hidden = set(measures) - unfolded_measures(measures, primary)
    if len(result) and wide.has_many_systems(result):
        yield WideTable(wide.from_many_systems(result), primary or "")
        n_pairs = len(group_by_pair(result))
        yield from _not_shown([f"the {numbers.format_count(n_pairs, 'pairs')} of systems"])
        return
    leading = replace(result, differences=tuple(d for d in result if d.measure not in hidden))
    columns = tables.difference_columns(leading, verdict=True, tests=False)
    yield Table(drop_empty_columns(columns), title="Differences", is_grouped=True)
    yield Lines([adjustment_text(result)], aside=True)
    hidden_content = {
        numbers.format_count(len(hidden), "measures"): hidden,
        "tests, effects and detectable differences": len(result),
        "omnibus tests": result.omnibus,
    }
    yield from _not_shown([name for name, has_any in hidden_content.items() if has_any])


def _comparison_charts(result: Comparison) -> Iterator[Block]:
    """Yield the charts of a comparison, with a note on those that were omitted."""
    from calipers.report.charts import comparison_figures
    from calipers.report.figures.differences import select_drawn
    from calipers.report.figures.figure import assign_ids
    from calipers.report.figures.per_unit import all_unit_figures

    unit_figures, n_omitted = all_unit_figures(result)
    notes = []
    combined, by_measure = select_drawn(result)
    n_undrawn = (
        sum(math.isfinite(d.value) for d in result)
        - len(combined)
        - sum(len(group) for _, group in by_measure)
    )
    if n_undrawn:
        notes.append(
            f"{numbers.format_count(n_undrawn)} of {len(result):,} differences have no chart of "
            "intervals; the table has all of them."
        )
    if n_omitted and result.per_unit is not None:
        unit = shorten_name(result.per_unit.unit.removesuffix("s"))
        notes.append(
            f"{numbers.format_count(n_omitted)} of {len(result):,} differences are not drawn "
            f"{unit} "
            f"by {unit}; comparison.per_unit has the values."
        )
    yield from _charts(assign_ids([*comparison_figures(result), *unit_figures]), " ".join(notes))


def _splits(result: Comparison) -> Iterator[Block]:
    """Yield a table of the differences on each test split, a column per pair and measure."""
    per_unit = result.per_unit
    if per_unit is None or per_unit.unit != "splits" or len(per_unit.ids) > MAX_SPLITS:
        return
    names = unique_labels(system for d in result for system in (d.system, d.baseline))
    columns = [Column("split", KEY, list(map(shorten_name, per_unit.ids)))]
    for d in result:
        system_values, baseline_values = (
            per_unit.values[system][d.measure] for system in (d.system, d.baseline)
        )
        split_differences = (system_values - baseline_values).tolist()
        digits = numbers.rounding(
            ((x, numbers.NAN, numbers.NAN) for x in split_differences), keep_sign=True
        )
        pair = (
            f" ({names[d.system]} - {names[d.baseline]})" if len(group_by_pair(result)) > 1 else ""
        )
        columns.append(
            Column(f"{shorten_name(d.measure)}{pair}", NUMBER, list(map(digits, split_differences)))
        )
    yield Heading("Differences by split")
    yield Table(drop_empty_columns(columns))


# --- Learning, plans, changes ---------------------------------------------------------------------


def learning_document(result: LearningResult, look: DisplayOptions) -> Iterator[Block]:
    """Yield the blocks of a learning result."""
    from calipers.report import learning

    table = Table(learning.columns(result), is_plain=True, title="Values")
    yield from _table_document(
        learning.heading(result),
        learning.sentences(result),
        table,
        learning.notes(result),
        look,
        result,
    )
    if look.has_drawings:
        from calipers.report.figures.learning_curves import figure

        yield from _chart(figure(result), look)
    yield from _provenance(result.provenance, look)


def selection_document(selection: Selection, look: DisplayOptions) -> Iterator[Block]:
    """Yield the blocks of a model selection."""
    from calipers.report import learning

    table = Table(learning.selection_columns(selection), is_plain=True, title="Candidates")
    yield from _table_document(
        learning.SELECTION_HEADING,
        [learning.selection_sentence(selection)],
        table,
        learning.selection_notes(selection),
        look,
        selection,
    )
    yield from _provenance(selection.provenance, look)


def leaderboard_document(board: Leaderboard, look: DisplayOptions) -> Iterator[Block]:
    """Yield the blocks of a leaderboard."""
    from calipers.report import leaderboard

    main_sentences, notes = leaderboard.sentences(board), leaderboard.notes(board)
    if look.medium is Medium.PAPER:
        yield Table(leaderboard.columns(board), caption=[*main_sentences, *notes])
        return
    table = Table(leaderboard.columns(board), title="Ratings")
    yield from _table_document(
        leaderboard.heading(board), main_sentences, table, notes, look, board
    )
    if look.is_in_browser and board.rated:
        from calipers.report.figures.leaderboard import figure

        yield from _chart(figure(board), look)
    yield from _provenance(board.provenance, look)


def monitor_document(result: MonitorResult, look: DisplayOptions) -> Iterator[Block]:
    """Yield the blocks of a sequential evaluation."""
    from calipers.report import monitor

    table = Table(monitor.columns(result), is_plain=True, title="Looks")
    n_earlier = len(result) - look.medium.max_rows
    if n_earlier > 0:  # the latest looks matter most
        indices = range(n_earlier, len(result))
        table = replace(table, columns=tables.select_rows(table.columns, indices))
    if look.medium is Medium.PAPER:
        yield Table(table.columns, [f"{monitor.heading(result)}.", *monitor.sentences(result)])
        return
    yield from _table_document(
        monitor.heading(result),
        monitor.sentences(result),
        table,
        result.notes,
        look,
        result,
    )
    if n_earlier > 0:
        looks = numbers.format_count(n_earlier, "earlier looks")
        yield Lines([f"{looks}: print() shows all."], aside=True)
    if look.has_drawings and len(result) > 1:
        from calipers.report.figures.monitor import figure

        yield from _chart(figure(result), look)
    yield from _provenance(result.provenance, look)


def monitor_summary(result: MonitorResult) -> Iterator[Block]:
    """Yield the sentences and notes of a sequential evaluation whose looks were printed before."""
    from calipers.report import monitor

    yield Lines(["", *monitor.sentences(result)])
    yield Lines([f"note: {note}" for note in result.notes])


def _table_document(
    heading: str,
    main_sentences: Sequence[str],
    table: Table,
    notes: Sequence[str],
    look: DisplayOptions,
    result: ReportableResult,
) -> Iterator[Block]:
    """Yield the blocks of a document with sentences, a table and notes."""
    yield Heading(heading, 1)
    if look.is_on_screen:
        yield from (table, Lines(main_sentences), Lines([f"note: {note}" for note in notes]))
        return
    n_main = 1 if look.medium.is_summary else len(main_sentences)
    yield Verdict(main_sentences[:n_main], main_sentences[n_main:])
    if look.is_in_browser:
        yield from (_downloads(result), Heading(table.title, anchor="values"))
    yield table
    yield from _notes(Notes(list(map(mark_literal, notes))), look)


def plan_document(result: Plan, look: DisplayOptions) -> Iterator[Block]:
    """Yield the sentences and the table of a plan."""
    from calipers.report import plan

    first, *other_lines = plan.plan_sentences(result)
    if look.is_on_screen:
        yield Lines([first, *other_lines])
    else:
        yield Lines([first])
        yield Lines(other_lines, is_list=True)
    yield Table(plan.columns(result), is_plain=True)
    if result.selection is not None:
        yield Table(plan.stratum_columns(result.selection), is_plain=True)


def changes_document(columns: Sequence[Column], notes: Sequence[str]) -> Iterator[Block]:
    """Yield the changes between two evaluations as a table, and notes."""
    if columns[0].cells:
        yield from (Lines([]), Table(drop_empty_columns(columns)))  # a terminal has a line between
    yield Lines(list(map(mark_literal, notes)))
