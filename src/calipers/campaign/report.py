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
from calipers.campaign.status import CampaignStatus, campaign_status
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
from calipers.report.figures.curves import MOST_CURVES, get_chart
from calipers.report.figures.figure import Figure
from calipers.report.figures.lines import bar_chart, line_chart, range_chart
from calipers.report.grouping import group_by
from calipers.report.numbers import format_count, rounding
from calipers.report.safe_names import escape_unprintable, shorten_name
from calipers.report.tables import KEY, NUMBER, WORDS, Column
from calipers.report.writers import get_writer
from calipers.results import Curve, Evaluation

#: Depths whose pools are drawn.
_DEPTHS = (1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 40, 50, 75, 100)


#: So many participants have graphs of their own.
_GRAPHS = 24


def page(campaign: Campaign, **asked: Any) -> str:
    """Return the HTML page of a campaign, with the contents of :func:`document`.

    The same campaign gives the same bytes.
    """
    return get_writer("html").write(document(campaign, **asked))


def document(
    campaign: Campaign,
    *,
    measures: Iterable[str] = (),
    level: float = 0.95,
    draws: int = 20,
    seed: int = 0,
) -> Iterator[Block]:
    """Yield the blocks of the report of a campaign.

    They are the scores of participants and systems with recall-precision graphs, the topics, the
    growth of the pool and the contributions to it, the progress of judging, inter-assessor
    agreement, and the reliability of the collection. Sections without data so far are omitted.

    ``measures`` of participants are by default those of the campaign
    (:func:`~calipers.campaign.operations.select_measures`).
    """
    found, about, asked = campaign_status(campaign), campaign.about, tuple(measures)
    final = operations.final_grades(campaign)
    enough = len(campaign.runs()) > 1 and bool(final)
    order = operations.ordering_measures(campaign, asked)
    check = (
        assess_quality(campaign, measures=order.names, level=level, draws=draws, seed=seed)
        if enough
        else None
    )
    parts = [
        *(_scores(campaign, final, asked, level) if campaign.runs() and final else ()),
        _topics(campaign, found, check),
        _pool(campaign, final) if campaign.runs() and found.topics else None,
        _progress(found) if found.by_assessor else None,
        _agreement(campaign, order.names, level),
        None if check is None else _reliability(check, order.left_out),
        None if check is None else _separation(campaign, check, order.names[0], final),
    ]
    told = quality_warnings(campaign) if found.topics and campaign.runs() else []
    if told:
        parts.insert(0, _section("notes", "Warnings", lines=told))
    yield Heading(mark_literal(f"{about.name}, a test collection (goal: {about.goal})"), 1)
    yield Verdict(list(map(mark_literal, _headlines(found, check))))
    for part in parts:
        yield from part or ()
    yield Provenance(_provenance(campaign))


def _section(
    anchor: str,
    title: str,
    *,
    lines: Sequence[str] = (),
    tables: Sequence[Sequence[Block]] = (),
    figures: Sequence[Figure] = (),
) -> list[Block]:
    made: list[Block] = [Heading(title, anchor=anchor)]
    made += (Lines([mark_literal(line)]) for line in lines)
    for block in (block for table in tables for block in table):
        if isinstance(block, Table) and not block.title:
            block = replace(block, title=f"{title}, table")  # noqa: PLW2901
        made.append(block)
    return [*made, Figures(figures, live=False)] if figures else made


def _table(
    head: Sequence[str], rows: Sequence[Sequence[Any]], title: str = "", said: str = ""
) -> list[Block]:
    """Return a table with a title and a note; columns of numbers are right-aligned."""
    cells = [[escape_unprintable(_cell(row[k])) for row in rows] for k in range(len(head))]
    kinds = [
        NUMBER if any(isinstance(row[k], int | float) for row in rows) else WORDS
        for k in range(len(head))
    ]
    columns = list(map(Column, map(escape_unprintable, head), [KEY, *kinds[1:]], cells))
    made: list[Block] = [Heading(title, 3)] if title else []
    made.append(Table(columns, title=title))
    return [*made, Lines([mark_literal(said)], aside=True)] if said else made


def _cell(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def _headlines(found: CampaignStatus, check: QualityReport | None) -> list[str]:
    first = (
        f"{format_count(found.topics, 'topics')}, {format_count(found.runs, 'runs')} of "
        f"{format_count(found.participants, 'participants')}; {found.judged} of "
        f"{format_count(found.to_judge, 'documents')} judged."
    )
    if check is None or not check.left_out:
        return [first]
    changed = [
        one.group
        for one in check.left_out
        if any(c.reversed or c.lost or max(_rank_shifts(c, one.runs)) > 0 for c in one.changes[:1])
    ]
    measure = check.left_out[0].changes[0].measure
    if not changed:
        kept = f"Every run keeps its rank by {measure} without what only its participant found."
        return [first, kept]
    return [
        first,
        f"Without their own documents, {', '.join(changed)} would stand otherwise by {measure}.",
    ]


def _rank_shifts(change: Any, runs: Sequence[str]) -> list[float]:
    return [abs(change.ranks[run][1] - change.ranks[run][0]) for run in runs]


def _scores(
    campaign: Campaign, final: Mapping[str, Any], asked: Sequence[str], level: float
) -> Iterator[list[Block]]:
    """Yield the scores of participants and of their systems by the measures of the campaign."""
    runs, sampled = campaign.runs(), operations.sampled_judgments(campaign, final)
    measures = operations.select_measures(campaign, asked, sampled=sampled is not None)
    # (Each by itself: nothing here compares them, and pairs of many runs take their time.)
    found = {
        name: retrieval(
            sampled or final,
            {name: {t: dict(d) for t, d in one.scores.items()}},
            measures=list(measures.names),
            level=level,
        )
        for name, one in runs.items()
    }
    first_of = next(iter(found.values()))
    names = first_of.measures
    sides = zip(names, (d.higher_is_better for d in first_of.definitions), strict=True)
    main, higher = next((one for one in sides if one[1] is not None), (names[0], None))
    ranked = sorted(runs, key=partial(_sort_key, found, main, higher))
    own = group_by(ranked, lambda run: runs[run].participant)
    first = "highest" if higher is None else "best"
    said = f"By {main}, {first} first, with intervals at {level:.0%} for topics like these."
    if sampled is not None:
        said += " Estimates from a sample of the pool: ratios, none of which is unbiased."
    values = _values(found, names)
    best = [[who, len(of), of[0], *values[of[0]]] for who, of in own.items()]
    many = any(len(of) > 1 for of in own.values())
    of_best = (
        f" Of each participant the run with the {first} {main}: of several, the best looks a "
        "little better than it is."
    )
    yield _section(
        "participants",
        "Participants",
        lines=measures.left_out,
        tables=[
            _table(
                ("participant", "runs", "best run" if many else "run", *names),
                best,
                said=said + of_best * many,
            )
        ],
        figures=[] if sampled is not None else list(_graphs(found, own)),
    )
    rows = [[run, runs[run].participant, *values[run]] for run in ranked]
    table = _table(("run", "participant", *names), rows, said=said)
    yield _section("systems", "Systems", tables=[table])


def _sort_key(
    found: Mapping[str, Evaluation], measure: str, higher: bool | None, run: str
) -> tuple[bool, float, str]:
    """Return the sort key of a run: best first, undefined values last."""
    value = found[run][run, measure].value
    return math.isnan(value), value if higher is False else -value, run


def _values(found: Mapping[str, Evaluation], measures: Iterable[str]) -> dict[str, list[str]]:
    """Format value and interval of each run by each measure, rounded alike within a measure."""
    made: dict[str, list[str]] = {run: [] for run in found}
    for name in measures:
        estimates = [evaluation[run, name] for run, evaluation in found.items()]
        triples = [(e.value, e.low, e.high) for e in estimates]
        rounded = rounding(triples)
        for run, triple in zip(found, triples, strict=True):
            # (Lines are not broken within an interval.)
            said = rounded.triple(*triple).replace(", ", ",\N{NO-BREAK SPACE}")
            made[run].append("–" if math.isnan(triple[0]) else said)
    return made


def _graphs(found: Mapping[str, Evaluation], own: Mapping[str, Sequence[str]]) -> Iterator[Figure]:
    """Yield recall-precision graphs.

    They are those of the best run of each participant, at recall levels and at ranks, and those of
    all runs of each participant.
    """

    def curves(at: str, runs: Iterable[str]) -> list[Curve]:
        return [curve for run in runs for curve in averaged_curves(found[run], at)]

    best = [of[0] for of in own.values()][:MOST_CURVES]
    first = f"The first {MOST_CURVES} of {len(own)} participants. " if len(own) > len(best) else ""
    if len(own) > 1:
        each = f"{first}The best run of each participant. "
        yield from _graph("Recall and precision", each, curves("recalls", best))
        title = "Recall and precision of the first documents"
        yield from _graph(title, each, curves("ranks", best))
    several = {who: of for who, of in own.items() if len(of) > 1 or len(own) == 1}
    for who, of in list(several.items())[:_GRAPHS]:
        told = f"The first {MOST_CURVES} of {len(of)} runs. " if len(of) > MOST_CURVES else ""
        shown = curves("recalls", of[:MOST_CURVES])
        yield from _graph(f"Recall and precision: {shorten_name(who)}", told, shown)


def _graph(title: str, said: str, curves: Sequence[Curve]) -> Iterator[Figure]:
    """Yield a graph, unless no topic has a relevant document."""
    drawn = [curve for curve in curves if not all(map(math.isnan, curve.y))]
    if drawn:
        figure = get_chart(drawn[0].kind).figure(drawn, [curve.system for curve in drawn])
        yield replace(figure, title=title, caption=f"{said}{figure.caption}")


def _topics(campaign: Campaign, found: CampaignStatus, check: QualityReport | None) -> list[Block]:
    told = {} if check is None else {one.topic: one for one in check.told}
    topics = {one.topic: one for one in campaign.topics()}
    rows = [
        [
            one.topic,
            one.title,
            topics[one.topic].author or "",
            topics[one.topic].kind or "",
            one.to_judge,
            one.judged,
            one.twice,
            one.relevant,
            one.disputed,
            told[one.topic].kind if one.topic in told else "",
        ]
        for one in found.by_topic
    ]
    head = ("topic", "title", "author", "kind", "to judge", "judged", "twice", "relevant",
            "disputed", "systems")  # fmt: skip
    said = (
        "Systems: whether the topic separates them, or is easy (all do well), hard (all fail), or "
        "all do alike. Disputed: assessors differ, and nobody has decided."
    )
    return _section("topics", "Topics", tables=[_table(head, rows, said=said)])


def _pool(campaign: Campaign, final: Mapping[str, Any]) -> list[Block]:
    rankings, groups = operations.read_rankings(campaign)
    depth = operations.pooled_depth(campaign)
    longest = max((len(of) for one in rankings.values() for of in one.values()), default=1)
    depths = [d for d in _DEPTHS if d <= longest]
    grown = pooling.growth(rankings, depths, final or None)
    points = [("documents", step.depth, float(step.documents)) for step in grown]
    if final:
        points += [("known relevant", step.depth, float(step.relevant or 0)) for step in grown]
    with_groups = pooling.growth_with_groups(rankings, depth, groups)
    own = pooling.contributions(rankings, depth, groups, final or None)
    figures = [
        Figure(
            "Pool by depth", f"The pool grows to {grown[-1].documents} documents.",
            "Documents of all topics among the first of any run, and those known to be relevant."
            + _pooling_sentence(campaign, depth),
            line_chart(points, "depth", "documents"),
            ("depth", "documents", "relevant"),
            tuple((str(s.depth), str(s.documents), _cell(s.relevant)) for s in grown),
        ),
        Figure(
            "Pool by participants", f"The pool has {with_groups[-1]:.0f} documents of all.",
            "Mean size of the pool by number of participants, over all subsets of them. If the "
            "curve still rises at its end, further participants would add unjudged documents.",
            line_chart([("", m, n) for m, n in enumerate(with_groups, 1)], "participants",
                       "documents"),
            ("participants", "documents"),
            tuple((str(m), f"{n:.1f}") for m, n in enumerate(with_groups, 1)),
        ),
        Figure(
            "What one participant alone has", "Documents that one participant alone has found.",
            "Pale: documents that nobody else has. Dark: those known to be relevant.",
            bar_chart([(o.group, o.unique, float(o.unique_relevant or 0)) for o in own],
                      "documents"),
            ("participant", "documents", "unique", "relevant", "unique relevant"),
            tuple((o.group, str(o.documents), str(o.unique), _cell(o.relevant),
                   _cell(o.unique_relevant)) for o in own),
        ),
    ]  # fmt: skip
    return _section("pool", "Pool", figures=figures)


def _pooling_sentence(campaign: Campaign, depth: int | None) -> str:
    if any(of.get("depth") == "all" for of in operations.pool_settings(campaign)):
        return " Pooled was all that runs retrieved."
    return f" Pooled were the first {depth}." if depth else ""


def _progress(found: CampaignStatus) -> list[Block]:
    head = "assessor", "kind", "topics", "to judge", "judged", "put aside", "minutes", "last"
    rows = [
        [a.assessor, a.kind if a.role == "assessor" else a.role, a.topics, a.to_judge, a.judged,
         a.skipped, round(a.minutes), (a.last or "–")[:16].replace("T", " ")]
        for a in found.by_assessor
    ]  # fmt: skip
    return _section("progress", "Progress", tables=[_table(head, rows)])


def _agreement(campaign: Campaign, measures: Sequence[str], level: float) -> list[Block] | None:
    grades = operations.read_grades(campaign)
    if len(grades) < 2:
        return None
    found = assessor_agreement.agreement(grades, level=level)
    over = assessor_agreement.topic_level_agreement(grades, level=level)
    rows = [
        [e.measure, e.value, f"[{_cell(e.low)}, {_cell(e.high)}]", e.n,
         ", ".join(found.definitions[k].undefined.get(why, why) for why in e.undefined)]
        for k, e in enumerate(found)
    ]  # fmt: skip
    tables = [
        _table(
            ("measure", "value", f"{level:.0%} interval", "documents", "undefined"), rows,
            said=f"Intervals are for documents like these. For topics like these, {over.topics} of "
            f"which two judged, α is in [{_cell(over.low)}, {_cell(over.high)}]"
            + (f" ({over.caution})." if over.caution else ".")
            + " Values depend on the depth of the pool.",
        )
    ]  # fmt: skip
    pairs = next((t for t in found.label_tables if t.of == "pair"), None)
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
    every = operations.read_grades(campaign, programs=True)
    again = assessor_agreement.self_agreement(
        every, operations.read_grades(campaign, programs=True, again=True)
    )
    if again:
        rows_again = [[name, *of] for name, of in again.items()]
        head = "assessor", "graded alike", "low", "high", "documents"
        tables.append(_table(head, rows_again, "Documents judged twice by one assessor"))
    tables += _orders(campaign, grades, measures, level)
    decided = len(campaign.adjudications())
    left = len(assessor_agreement.disagreements(grades, operations.adjudicated_decisions(campaign)))
    lines = [f"{left} documents are disputed, and {decided} decided."]
    return _section("agreement", "Agreement", lines=lines, tables=tables)


def _orders(
    campaign: Campaign, grades: Any, measures: Sequence[str], level: float
) -> list[list[Block]]:
    """Return the tables of ranking stability under the choice of assessors."""
    if len(campaign.runs()) < 2:
        return []
    rankings, _ = operations.read_rankings(campaign)
    swapped = assessor_agreement.swapped_orders(
        grades, operations.final_grades(campaign), rankings, measures=measures, level=level
    )  # fmt: skip
    if not swapped:
        return []
    rows = [
        [o.measure, o.topics, o.tau, f"[{_cell(o.tau_low)}, {_cell(o.tau_high)}]", o.tau_ap,
         o.distinct, f"{len(o.reversed)} of {o.pairs}"]
        for o in swapped
    ]  # fmt: skip
    head = ("measure", "topics judged twice", "τ", "middle 95%", "τ_AP", "orders",
            "significant pairs turned")  # fmt: skip
    said = "Each topic that several judged is given to one of them at random, 1,000 times."
    return [_table(head, rows, "Order of systems with another assessor", said)]


def _reliability(check: QualityReport, left_out: Sequence[str]) -> list[Block]:
    rows = []
    for one in check.left_out:
        for c in one.changes:
            for run in one.runs:
                (value, after), (rank, then) = c.values[run], c.ranks[run]
                rows.append(
                    [one.group, run, c.measure, one.documents, one.relevant, value, after,
                     f"{rank:g} → {then:g}", c.tau, c.tau_ap, len(c.lost), len(c.reversed)]
                )  # fmt: skip
    head = ("without", "run", "measure", "documents", "relevant", "value", "then", "rank", "τ",
            "τ_AP", "pairs lost", "reversed")  # fmt: skip
    said = (
        "Judgments without the documents that only this participant found. Pairs lost: no longer "
        "significantly different; reversed: significantly different in the other direction."
    )
    tables = [_table(head, rows, "If a participant had not taken part", said)] if rows else []
    points = [(s.measure, s.relevant, s.tau) for s in check.sparse]
    known = [point for point in points if not math.isnan(point[2])]
    figures = []
    if known:
        figures.append(
            Figure(
                "Few relevant documents known",
                "Rank correlation with the order by all judgments.",
                "Kendall's τ between the ranking of systems by all judgments and the ranking with "
                "this number of relevant documents per topic, averaged over random subsets. "
                "With one relevant document, AP equals RR.",
                line_chart(known, "relevant documents known of a topic", "τ"),
                ("measure", "known", "τ", "τ_AP", "pairs", "lost", "reversed"),
                tuple((s.measure, str(s.relevant), _cell(s.tau), _cell(s.tau_ap), str(s.pairs),
                       f"{s.lost:.1f}", f"{s.reversed:.1f}") for s in check.sparse),
            )
        )  # fmt: skip
    return _section("reliability", "Reliability", lines=left_out, tables=tables, figures=figures)


def _separation(
    campaign: Campaign, check: QualityReport, measure: str, final: Mapping[str, Any]
) -> list[Block]:
    head = ("measure", "topics", "pairs", "significant", "MDD (80% power)",
            "half of the pairs need", "four fifths need")  # fmt: skip
    rows = [
        [s.measure, s.topics, s.pairs, s.separated, s.detectable, *s.needed]
        for s in check.separation
    ]
    rankings, _ = operations.read_rankings(campaign)
    [first] = score_systems(final, rankings, [measure]).values()
    ranges = sorted(
        (
            (topic, float(row.min()), float(row.mean()), float(row.max()))
            for topic, row in zip(first.topics, first.values, strict=True)
            if row.min() == row.min()
        ),
        key=lambda one: -one[2],
    )
    figures = []
    if ranges:
        figures.append(
            Figure(
                "Topics", f"{first.measure} of the systems on each topic.",
                f"{first.measure} of the worst and the best system on each topic, and the mean. "
                "If all are equal, the topic does not separate any systems.",
                range_chart(ranges, first.measure),
                ("topic", "worst", "mean", "best"),
                tuple((t, *(_cell(x) for x in of)) for t, *of in ranges),
            )
        )  # fmt: skip
    steps_of = [(s.measure, n, share) for s in check.separation for n, share, _ in s.by_topics]
    steps_of += [(s.measure, s.topics, s.separated / s.pairs) for s in check.separation if s.pairs]
    if any(s.by_topics for s in check.separation):
        figures.append(
            Figure(
                "Discriminative power by number of topics",
                "The proportion of significantly different pairs increases with topics.",
                "Proportion of pairs of systems that differ significantly with this number of "
                "topics (randomised Tukey HSD), averaged over random subsets of the topics.",
                line_chart(steps_of, "topics", "proportion of pairs", share=True),
                ("measure", "topics", "share"),
                tuple((m, str(n), _cell(x)) for m, n, x in steps_of),
            )
        )  # fmt: skip
    table = _table(head, rows, said="Paired t tests of the observed differences.")
    return _section("separation", "Discriminative power", tables=[table], figures=figures)


def _provenance(campaign: Campaign) -> list[tuple[str, str]]:
    about = campaign.about
    grades = "; ".join(f"{grade} {said}" for grade, said in about.grades.items())
    pools = [json.dumps(of, ensure_ascii=False) for of in operations.pool_settings(campaign)]
    last = campaign.read("SELECT max(time), count(*) FROM events")[0]
    return [
        ("Collection", about.name),
        ("Created", about.created),
        ("Goal", about.goal),
        ("Grades", grades),
        ("Measures", ", ".join(about.measures) or "those of the goal"),
        *((f"Pool {number}", of) for number, of in enumerate(pools, 1)),
        ("Events", f"{last[1]}" + (f", the last at {last[0]}" if last[0] else "")),
        ("Final grades", "adjudicated, else what most people said, of equally many the lower"),
        ("Calipers", about.version),
    ]
