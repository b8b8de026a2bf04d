"""Report of a campaign: a self-contained HTML page, text, Markdown and other formats."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from calipers.campaign import assessor_agreement, operations, pooling
from calipers.campaign.quality import QualityReport, assess_quality, quality_warnings
from calipers.campaign.runs import Judgments
from calipers.campaign.status import CampaignStatus, campaign_status, format_chain
from calipers.campaign.store import Campaign
from calipers.campaign.system_scores import score_systems
from calipers.evaluate.curves import averaged_curves
from calipers.evaluate.retrieval import retrieval
from calipers.report.blocks import (
    Block,
    Figures,
    Heading,
    Lines,
    Provenance,
    Table,
    Verdict,
    mark_literal,
)
from calipers.report.figures.basic_charts import bar_chart, line_chart, range_chart
from calipers.report.figures.curves import MAX_CURVES, get_chart
from calipers.report.figures.figure import Figure
from calipers.report.figures.significance_levels import significance_figure
from calipers.report.grouping import group_by
from calipers.report.numbers import format_count, rounding
from calipers.report.safe_names import escape_unprintable, shorten_name
from calipers.report.tables import KEY, NUMBER, WORDS, Column
from calipers.report.writers import get_writer
from calipers.results import Curve, Evaluation

#: Depths in the graph of the pool.
_DEPTHS = (1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 40, 50, 75, 100)


#: Maximum number of participants with graphs of their own.
_MAX_PARTICIPANT_GRAPHS = 24


def page(campaign: Campaign, **options: Any) -> str:
    """Return the HTML page of a campaign, with the contents of :func:`document`.

    The same campaign gives the same bytes.
    """
    return get_writer("html").write(document(campaign, **options))


def document(
    campaign: Campaign,
    *,
    measures: Iterable[str] = (),
    level: float = 0.95,
    draws: int = 20,
    seed: int = 0,
    rule: str = "majority",
) -> Iterator[Block]:
    """Yield the blocks of the report of a campaign.

    They are the scores of participants and systems with recall-precision graphs, the topics, the
    growth of the pool and the contributions to it, the progress of judging, inter-assessor
    agreement, and the reliability of the collection. Sections without data so far are omitted.

    ``measures`` of participants are by default those of the campaign
    (:func:`~calipers.campaign.operations.select_measures`), and ``rule`` is that of
    :func:`~calipers.campaign.adjudication.adjudicated_grades`.
    """
    status, info, requested = campaign_status(campaign), campaign.info, tuple(measures)
    final = operations.final_grades(campaign, rule)
    has_ranking = len(campaign.runs()) > 1 and bool(final)
    ordering = operations.ordering_measures(campaign, requested)
    quality = (
        assess_quality(
            campaign, measures=ordering.names, level=level, draws=draws, seed=seed, rule=rule
        )
        if has_ranking
        else None
    )
    sections = [
        *(_scores(campaign, final, requested, level) if campaign.runs() and final else ()),
        _topics(campaign, status, quality),
        _pool(campaign, final) if campaign.runs() and status.topics else None,
        _progress(status) if status.by_assessor else None,
        _agreement(campaign, ordering.names, level, final),
        None if quality is None else _reliability(quality, ordering.omitted),
        None if quality is None else _separation(campaign, quality, ordering.names[0], final),
    ]
    messages = quality_warnings(campaign, rule) if status.topics and campaign.runs() else []
    if messages:
        sections.insert(0, _section("notes", "Warnings", lines=messages))
    yield Heading(mark_literal(f"{info.name}, a test collection (goal: {info.goal})"), 1)
    yield Verdict(list(map(mark_literal, _headlines(status, quality))))
    for section in sections:
        yield from section or ()
    yield Provenance(_provenance(campaign))


def _section(
    anchor: str,
    title: str,
    *,
    lines: Sequence[str] = (),
    tables: Sequence[Sequence[Block]] = (),
    figures: Sequence[Figure] = (),
) -> list[Block]:
    blocks: list[Block] = [Heading(title, anchor=anchor)]
    blocks += (Lines([mark_literal(line)]) for line in lines)
    for block in (block for table in tables for block in table):
        if isinstance(block, Table) and not block.title:
            block = replace(block, title=f"{title}, table")  # noqa: PLW2901
        blocks.append(block)
    return [*blocks, Figures(figures, is_interactive=False)] if figures else blocks


def _table(
    head: Sequence[str], rows: Sequence[Sequence[Any]], title: str = "", note: str = ""
) -> list[Block]:
    """Return a table with a title and a note; columns of numbers are right-aligned."""
    cells = [[escape_unprintable(_cell(row[k])) for row in rows] for k in range(len(head))]
    column_types = [
        NUMBER if any(isinstance(row[k], int | float) for row in rows) else WORDS
        for k in range(len(head))
    ]
    columns = list(map(Column, map(escape_unprintable, head), [KEY, *column_types[1:]], cells))
    blocks: list[Block] = [Heading(title, 3)] if title else []
    blocks.append(Table(columns, title=title))
    return [*blocks, Lines([mark_literal(note)], aside=True)] if note else blocks


def _cell(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def _headlines(status: CampaignStatus, check: QualityReport | None) -> list[str]:
    first = (
        f"{format_count(status.topics, 'topics')}, {format_count(status.runs, 'runs')} of "
        f"{format_count(status.participants, 'participants')}; {status.judged} of "
        f"{format_count(status.to_judge, 'documents')} judged."
    )
    if check is None or not check.leave_one_group_out:
        return [first]
    changed = [
        result.group
        for result in check.leave_one_group_out
        if any(
            c.reversed or c.no_longer_significant or max(_rank_shifts(c, result.runs)) > 0
            for c in result.changes[:1]
        )
    ]
    measure = check.leave_one_group_out[0].changes[0].measure
    if not changed:
        sentence = (
            f"Every run keeps its rank by {measure} without the documents that only its "
            "participant found."
        )
        return [first, sentence]
    return [
        first,
        (
            "Without the documents that only the participant found, the ranking by "
            f"{measure} changes for {', '.join(changed)}."
        ),
    ]


def _rank_shifts(change: Any, runs: Sequence[str]) -> list[float]:
    return [abs(change.ranks[run][1] - change.ranks[run][0]) for run in runs]


def _scores(
    campaign: Campaign, final: Mapping[str, Any], requested: Sequence[str], level: float
) -> Iterator[list[Block]]:
    """Yield the scores of participants and of their systems by the measures of the campaign."""
    runs, sampled = campaign.runs(), operations.sampled_judgments(campaign, final)
    measures = operations.select_measures(campaign, requested, sampled=sampled is not None)
    # (One by one, as they are not compared here, and pairs of many runs take time.)
    evaluations = {
        name: retrieval(
            sampled or final,
            {name: {t: dict(d) for t, d in entry.scores.items()}},
            measures=list(measures.names),
            level=level,
        )
        for name, entry in runs.items()
    }
    first_evaluation = next(iter(evaluations.values()))
    names = first_evaluation.measures
    directions = zip(names, (d.higher_is_better for d in first_evaluation.definitions), strict=True)
    ranking_measure, higher_is_better = next(
        (entry for entry in directions if entry[1] is not None), (names[0], None)
    )
    ranked = sorted(runs, key=partial(_sort_key, evaluations, ranking_measure, higher_is_better))
    runs_by_participant = group_by(ranked, lambda run: runs[run].participant)
    best_word = "highest" if higher_is_better is None else "best"
    note = (
        f"Sorted by {ranking_measure}, {best_word} first; the {level:.0%} confidence intervals "
        "generalize to "
        "other topics."
    )
    if sampled is not None:
        note += " Estimates from a sample of the pool are ratios, and not unbiased."
    values = _format_estimates(evaluations, names)
    best = [
        [participant, len(participant_runs), participant_runs[0], *values[participant_runs[0]]]
        for participant, participant_runs in runs_by_participant.items()
    ]
    has_multiple_runs = any(
        len(participant_runs) > 1 for participant_runs in runs_by_participant.values()
    )
    best_note = (
        f" The run of each participant has the {best_word} {ranking_measure} of its runs; the "
        "best of several "
        "is optimistically biased."
    )
    yield _section(
        "participants",
        "Participants",
        lines=measures.omitted,
        tables=[
            _table(
                ("participant", "runs", "best run" if has_multiple_runs else "run", *names),
                best,
                note=note + best_note * has_multiple_runs,
            )
        ],
        figures=[] if sampled is not None else list(_graphs(evaluations, runs_by_participant)),
    )
    rows = [[run, runs[run].participant, *values[run]] for run in ranked]
    table = _table(("run", "participant", *names), rows, note=note)
    yield _section("systems", "Systems", tables=[table])


def _sort_key(
    evaluations: Mapping[str, Evaluation], measure: str, higher: bool | None, run: str
) -> tuple[bool, float, str]:
    """Return the sort key of a run: best first, undefined values last."""
    value = evaluations[run][run, measure].value
    return math.isnan(value), value if higher is False else -value, run


def _format_estimates(
    evaluations: Mapping[str, Evaluation], measures: Iterable[str]
) -> dict[str, list[str]]:
    """Format value and interval of each run by each measure, rounded alike within a measure."""
    cells_by_run: dict[str, list[str]] = {run: [] for run in evaluations}
    for name in measures:
        estimates = [evaluation[run, name] for run, evaluation in evaluations.items()]
        triples = [(e.value, e.low, e.high) for e in estimates]
        rounded = rounding(triples)
        for run, triple in zip(evaluations, triples, strict=True):
            # (Lines are not broken within an interval.)
            text = rounded.value_with_interval(*triple).replace(", ", ",\N{NO-BREAK SPACE}")
            cells_by_run[run].append("–" if math.isnan(triple[0]) else text)
    return cells_by_run


def _graphs(
    evaluations: Mapping[str, Evaluation], runs_by_participant: Mapping[str, Sequence[str]]
) -> Iterator[Figure]:
    """Yield recall-precision graphs.

    They are those of the best run of each participant, at recall levels and at ranks, and those of
    all runs of each participant.
    """

    def curves(positions: str, runs: Iterable[str]) -> list[Curve]:
        return [curve for run in runs for curve in averaged_curves(evaluations[run], positions)]

    best = [participant_runs[0] for participant_runs in runs_by_participant.values()][:MAX_CURVES]
    first = (
        f"The first {MAX_CURVES} of {len(runs_by_participant)} participants. "
        if len(runs_by_participant) > len(best)
        else ""
    )
    if len(runs_by_participant) > 1:
        caption = f"{first}The best run of each participant. "
        yield from _graph("Recall and precision", caption, curves("recalls", best))
        title = "Recall and precision of the first documents"
        yield from _graph(title, caption, curves("ranks", best))
    selected = {
        participant: participant_runs
        for participant, participant_runs in runs_by_participant.items()
        if len(participant_runs) > 1 or len(runs_by_participant) == 1
    }
    for participant, participant_runs in list(selected.items())[:_MAX_PARTICIPANT_GRAPHS]:
        prefix = (
            f"The first {MAX_CURVES} of {len(participant_runs)} runs. "
            if len(participant_runs) > MAX_CURVES
            else ""
        )
        run_curves = curves("recalls", participant_runs[:MAX_CURVES])
        yield from _graph(f"Recall and precision: {shorten_name(participant)}", prefix, run_curves)


def _graph(title: str, prefix: str, curves: Sequence[Curve]) -> Iterator[Figure]:
    """Yield a graph, unless no topic has a relevant document."""
    defined = [curve for curve in curves if not all(map(math.isnan, curve.y))]
    if defined:
        figure = get_chart(defined[0].kind).figure(defined, [curve.system for curve in defined])
        yield replace(figure, title=title, caption=f"{prefix}{figure.caption}")


def _topics(campaign: Campaign, status: CampaignStatus, check: QualityReport | None) -> list[Block]:
    separation_by_topic = (
        {} if check is None else {entry.topic: entry for entry in check.topic_separations}
    )
    topics = {entry.topic: entry for entry in campaign.topics()}
    rows = [
        [
            entry.topic,
            entry.title,
            topics[entry.topic].author or "",
            topics[entry.topic].kind or "",
            entry.to_judge,
            entry.judged,
            entry.twice,
            entry.relevant,
            entry.disputed,
            separation_by_topic[entry.topic].kind if entry.topic in separation_by_topic else "",
        ]
        for entry in status.by_topic
    ]
    head = ("topic", "title", "author", "kind", "to judge", "judged", "twice", "relevant",
            "disputed", "systems")  # fmt: skip
    note = (
        "Systems: whether the topic separates them, or is easy (all do well), hard (all fail), or "
        "all have the same value (alike). Disputed: documents on which assessors disagree, without "
        "an adjudication."
    )
    return _section("topics", "Topics", tables=[_table(head, rows, note=note)])


def _pool(campaign: Campaign, final: Mapping[str, Any]) -> list[Block]:
    rankings, groups = operations.read_rankings(campaign)
    depth = operations.pooled_depth(campaign)
    longest = max(
        (len(documents) for ranking in rankings.values() for documents in ranking.values()),
        default=1,
    )
    depths = [d for d in _DEPTHS if d <= longest]
    grown = pooling.pool_growth(rankings, depths, final or None)
    points = [("documents", step.depth, float(step.n_documents)) for step in grown]
    if final:
        points += [("known relevant", step.depth, float(step.n_relevant or 0)) for step in grown]
    with_groups = pooling.expected_pool_sizes(rankings, depth, groups)
    contributions = pooling.contributions(rankings, depth, groups, final or None)
    figures = [
        Figure(
            "Pool by depth", f"The pool grows to {grown[-1].n_documents} documents.",
            "Number of documents of all topics down to this depth of any run, and of those known "
            "to be relevant."
            + _pooling_sentence(campaign, depth),
            line_chart(points, "depth", "documents"),
            ("depth", "documents", "relevant"),
            tuple((str(s.depth), str(s.n_documents), _cell(s.n_relevant)) for s in grown),
        ),
        Figure(
            "Pool by participants", f"The pool of all has {with_groups[-1]:.0f} documents.",
            "Mean size of the pool by number of participants, over all subsets of them. If the "
            "curve still rises at its end, further participants would add unjudged documents.",
            line_chart([("", m, n) for m, n in enumerate(with_groups, 1)], "participants",
                       "documents"),
            ("participants", "documents"),
            tuple((str(m), f"{n:.1f}") for m, n in enumerate(with_groups, 1)),
        ),
        Figure(
            "Unique contributions", "Documents that only one participant found.",
            "Pale: documents that no other participant found. Dark: those known to be relevant.",
            bar_chart([(o.group, o.n_unique, float(o.unique_relevant or 0)) for o in contributions],
                      "documents"),
            ("participant", "documents", "unique", "relevant", "unique relevant"),
            tuple((o.group, str(o.n_documents), str(o.n_unique), _cell(o.relevant),
                   _cell(o.unique_relevant)) for o in contributions),
        ),
    ]  # fmt: skip
    return _section("pool", "Pool", figures=figures)


def _pooling_sentence(campaign: Campaign, depth: int | None) -> str:
    if any(settings.get("depth") == "all" for settings in operations.pool_settings(campaign)):
        return " All retrieved documents were pooled."
    return f" The pool has depth {depth}." if depth else ""


def _progress(status: CampaignStatus) -> list[Block]:
    head = "assessor", "kind", "topics", "to judge", "judged", "skipped", "minutes", "last"
    rows = [
        [a.assessor, a.kind if a.role == "assessor" else a.role, a.topics, a.to_judge, a.judged,
         a.skipped, round(a.minutes), (a.last or "–")[:16].replace("T", " ")]
        for a in status.by_assessor
    ]  # fmt: skip
    return _section("progress", "Progress", tables=[_table(head, rows)])


def _agreement(
    campaign: Campaign, measures: Sequence[str], level: float, final: Judgments
) -> list[Block] | None:
    grades = operations.read_grades(campaign)
    if len(grades) < 2:
        return None
    evaluation = assessor_agreement.agreement(grades, level=level)
    topic_level = assessor_agreement.topic_level_agreement(grades, level=level)
    rows = [
        [e.measure, e.value, f"[{_cell(e.low)}, {_cell(e.high)}]", e.n,
         ", ".join(definition.undefined.get(reason, reason) for reason in e.undefined)]
        for e, definition in zip(evaluation, evaluation.definitions, strict=True)
    ]  # fmt: skip
    tables = [
        _table(
            ("measure", "value", f"{level:.0%} CI", "documents", "undefined"), rows,
            note="Confidence intervals generalize to other documents. The one of α that "
            f"generalizes to other topics is [{_cell(topic_level.low)}, "
            f"{_cell(topic_level.high)}], "
            f"from {format_count(topic_level.n_topics, 'topics')} with two judgments of a document"
            + (f" ({topic_level.caution})." if topic_level.caution else ".")
            + " Values depend on the depth of the pool.",
        )
    ]  # fmt: skip
    pairs = next((t for t in evaluation.label_tables if t.row_kind == "pair"), None)
    if pairs is not None:
        names = list(pairs.values)
        tables.append(
            _table(
                ("pair", "documents", *names),
                [[label, int(pairs.truth[k]), *(float(pairs.values[n][k]) for n in names)]
                 for k, label in enumerate(pairs.labels)],
                "Pairs of assessors",
            )
        )  # fmt: skip
    all_grades = operations.read_grades(campaign, include_programs=True)
    repeat_agreement = assessor_agreement.intra_assessor_agreement(
        all_grades, operations.read_grades(campaign, include_programs=True, only_repeats=True)
    )
    if repeat_agreement:
        repeat_rows = [[name, *values] for name, values in repeat_agreement.items()]
        head = "assessor", "identical grades", "low", "high", "documents"
        tables.append(_table(head, repeat_rows, "Intra-assessor agreement"))
    tables += _stability_tables(campaign, grades, measures, level, final)
    decided = len(campaign.adjudications())
    n_disputed = len(
        assessor_agreement.disagreements(grades, operations.adjudicated_decisions(campaign))
    )
    lines = [f"{n_disputed} documents are disputed, and {decided} adjudicated."]
    return _section("agreement", "Agreement", lines=lines, tables=tables)


def _stability_tables(
    campaign: Campaign, grades: Any, measures: Sequence[str], level: float, final: Judgments
) -> list[list[Block]]:
    """Return the tables of ranking stability under the choice of assessors."""
    if len(campaign.runs()) < 2:
        return []
    rankings, _ = operations.read_rankings(campaign)
    swapped = assessor_agreement.ranking_stability(
        grades, final, rankings, measures=measures, level=level
    )  # fmt: skip
    if not swapped:
        return []
    rows = [
        [o.measure, o.n_topics, o.tau, f"[{_cell(o.tau_low)}, {_cell(o.tau_high)}]", o.tau_ap,
         o.n_rankings, f"{len(o.reversed_pairs)} of {o.n_significant_pairs}"]
        for o in swapped
    ]  # fmt: skip
    head = ("measure", "topics judged twice", "τ", "middle 95%", "τ_AP", "rankings",
            "significant pairs reversed")  # fmt: skip
    note = "Each topic with several assessors is assigned to one of them at random, 1,000 times."
    return [_table(head, rows, "Ranking stability under the choice of assessors", note)]


def _limits(interval: tuple[float, float]) -> str:
    return f"[{_cell(interval[0])}, {_cell(interval[1])}]"


def _reliability(check: QualityReport, omitted: Sequence[str]) -> list[Block]:
    rows = []
    for result in check.leave_one_group_out:
        for c in result.changes:
            for run in result.runs:
                (value, value_after), (rank, rank_after) = c.values[run], c.ranks[run]
                rows.append(
                    [
                        result.group,
                        run,
                        c.measure,
                        result.documents,
                        result.relevant,
                        value,
                        value_after,
                        f"{rank:g} → {rank_after:g}",
                        c.tau,
                        c.tau_ap,
                        len(c.no_longer_significant),
                        len(c.reversed),
                    ]
                )
    head = ("without", "run", "measure", "documents", "relevant", "value", "value without", "rank",
            "τ", "τ_AP", "no longer significant", "reversed")  # fmt: skip
    note = (
        "Judgments without the documents that only this participant found. No longer significant, "
        "reversed: the number of pairs of runs that lose their significant difference, or have one "
        "in the other direction."
    )
    tables = [_table(head, rows, "Leave-one-group-out", note)] if rows else []
    effects = [
        [result.group, e.measure, e.tau, _limits(e.tau_interval), f"{e.max_drop:g}",
         _limits(e.max_drop_interval)]
        for result in check.leave_one_group_out
        for e in result.effects
    ]  # fmt: skip
    if effects:
        effect_head = ("without", "measure", "τ", "interval", "largest drop in rank", "interval")
        effect_note = (
            "Intervals are over samples of as many topics (bootstrap, percentiles). The largest "
            "drop is that of a run of the participant."
        )
        title = "Leave-one-group-out, over topics"
        tables.append(_table(effect_head, effects, title, effect_note))
    points = [(s.measure, s.relevant, s.tau) for s in check.sparse]
    drawable = [point for point in points if not math.isnan(point[2])]
    figures = []
    if drawable:
        figures.append(
            Figure(
                "Few relevant documents known",
                "Rank correlation with the ranking by all judgments.",
                "Kendall's τ between the ranking of systems by all judgments and the ranking with "
                "this number of relevant documents per topic, averaged over random subsets. "
                "With one relevant document, AP equals RR.",
                line_chart(drawable, "known relevant documents per topic", "τ"),
                ("measure", "known", "τ", "τ_AP", "pairs", "lost", "reversed"),
                tuple((s.measure, str(s.relevant), _cell(s.tau), _cell(s.tau_ap), str(s.pairs),
                       f"{s.no_longer_significant:.1f}", f"{s.reversed:.1f}")
                      for s in check.sparse),
            )
        )  # fmt: skip
    return _section("reliability", "Reliability", lines=omitted, tables=tables, figures=figures)


def _separation(
    campaign: Campaign, check: QualityReport, measure: str, final: Mapping[str, Any]
) -> list[Block]:
    head = ("measure", "topics", "pairs", "significant", "difference needed", "MDD (80% power)",
            "topics (1/2 of pairs)", "topics (4/5 of pairs)", "swap rate",
            "difference needed (5% swaps)")  # fmt: skip
    rows = [
        [s.measure, s.topics, s.pairs, s.separated, s.difference_needed, s.detectable, *s.needed,
         *((math.nan, math.nan) if s.swaps is None else (s.swaps.rate, s.swaps.difference_needed))]
        for s in check.separation
    ]  # fmt: skip
    rankings, _ = operations.read_rankings(campaign)
    [scores] = score_systems(final, rankings, [measure]).values()
    sign = 1 if scores.higher_is_better else -1
    ranges = sorted(
        (
            (topic, float(row.min()), float(row.mean()), float(row.max()))
            for topic, row in zip(scores.topics, scores.values, strict=True)
            if row.min() == row.min()
        ),
        key=lambda entry: -sign * entry[2],
    )
    figures = []
    if ranges:
        figures.append(
            Figure(
                "Topics", f"{scores.measure} of the systems on each topic.",
                f"{scores.measure} of the worst and the best system on each topic, and the mean. "
                "If all are equal, the topic does not separate any systems.",
                range_chart(ranges, scores.measure),
                ("topic", "worst", "mean", "best"),
                tuple((t, *(_cell(x) for x in values[::sign])) for t, *values in ranges),
            )
        )  # fmt: skip
    points = [
        (s.measure, n, proportion) for s in check.separation for n, proportion, _ in s.by_topics
    ]
    points += [(s.measure, s.topics, s.separated / s.pairs) for s in check.separation if s.pairs]
    if any(s.by_topics for s in check.separation):
        figures.append(
            Figure(
                "Discriminative power by number of topics",
                "The proportion of significantly different pairs by number of topics.",
                "Proportion of pairs of systems that differ significantly with this number of "
                "topics (randomized Tukey HSD), averaged over random subsets of the topics.",
                line_chart(points, "topics", "proportion of pairs", is_proportion=True),
                ("measure", "topics", "proportion"),
                tuple((m, str(n), _cell(x)) for m, n, x in points),
            )
        )  # fmt: skip
    levels = {s.measure: s.p_values for s in check.separation if len(s.p_values) > 1}
    if levels:
        figures.append(significance_figure(levels, "randomized Tukey HSD"))
    swap_points = [
        (s.measure, low, rate)
        for s in check.separation
        if s.swaps is not None and len(s.swaps.bins) > 1
        for low, _, rate in s.swaps.bins
    ]
    if swap_points:
        figures.append(
            Figure(
                "Swap rates",
                "How often pairs of systems are in another order on the other half of the topics.",
                "Proportion of pairs of systems in another order on the other half of the topics, "
                "by their difference on the first half (Voorhees and Buckley 2002).",
                line_chart(swap_points, "difference of at least", "swap rate", is_proportion=True),
                ("measure", "difference", "swap rate"),
                tuple((m, _cell(low), _cell(rate)) for m, low, rate in swap_points),
            )
        )
    note = (
        "Numbers of topics with which paired t-tests detect the observed differences of half and "
        "of four fifths of the pairs with 80% power. The difference needed is the smallest "
        "significant one; that for 5% swaps is the one from which at most 5% of pairs are in "
        "another order on the other half of the topics."
    )
    table = _table(head, rows, note=note)
    return _section("separation", "Discriminative power", tables=[table], figures=figures)


def _provenance(campaign: Campaign) -> list[tuple[str, str]]:
    info = campaign.info
    grades = "; ".join(f"{grade} {meaning}" for grade, meaning in info.grades.items())
    pools = [
        json.dumps(settings, ensure_ascii=False) for settings in operations.pool_settings(campaign)
    ]
    last = campaign.read("SELECT max(time), count(*) FROM events")[0]
    return [
        ("Collection", info.name),
        ("Created", info.created),
        ("Goal", info.goal),
        ("Grades", grades),
        ("Measures", ", ".join(info.measures) or "those of the goal"),
        *((f"Pool {number}", settings) for number, settings in enumerate(pools, 1)),
        ("Events", f"{last[1]}" + (f", the last at {last[0]}" if last[0] else "")),
        ("Chain of events", format_chain(campaign)),
        ("Final grades", "adjudicated, else the majority of persons; ties: the lower grade"),
        ("Calipers", info.version),
    ]
