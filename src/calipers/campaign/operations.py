"""Pooling, sampling, assignment and adjudication in the file of a campaign."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, TypeAlias

from calipers.campaign import events
from calipers.campaign.adjudication import adjudicated_grades
from calipers.campaign.assessor_agreement import grades_by_assessor, preference_grades
from calipers.campaign.assignment import Assignment, assign
from calipers.campaign.goals import parse_goal, parse_measures
from calipers.campaign.pooling import (
    JUDGING_METHODS,
    JudgingQueue,
    Pool,
    depth_pool,
    unique_documents,
    unique_proportions,
)
from calipers.campaign.records import Event
from calipers.campaign.runs import Depth, check_min_int
from calipers.campaign.sampling import SAMPLE_MEASURES, SampledJudgments, StratifiedSample
from calipers.campaign.store import Campaign
from calipers.data.errors import InputError, did_you_mean, format_first_names
from calipers.lazy_dataclasses import dataclass
from calipers.measures import Definition, parse
from calipers.measures.families import TASKS
from calipers.statistics import SampledRankings

#: Function that yields the next documents of a topic, given the grades so far and the skipped ones.
AdaptiveOrder: TypeAlias = Callable[[str, Mapping[str, int], frozenset[str]], Iterable[str]]


@dataclass(frozen=True)
class PoolSummary:
    """Summary of an added pool.

    ``pool`` is its number (None if nothing was written), ``documents`` and ``new`` are the numbers
    of documents and of new documents by topic, and ``empty_topics`` are the topics without
    retrieved documents.
    """

    pool: int | None
    documents: Mapping[str, int]
    new: Mapping[str, int]
    empty_topics: tuple[str, ...]


def read_rankings(
    campaign: Campaign, depth: int | None = None
) -> tuple[dict[str, dict[str, list[str]]], dict[str, str]]:
    """Return the rankings of all runs for the campaign's topics, and the participant of each."""
    topics, runs = [topic.topic for topic in campaign.topics()], campaign.runs()
    if not runs:
        raise InputError(f"{campaign.path}: there is no run; calipers campaign runs adds them")
    if not topics:
        raise InputError(f"{campaign.path}: there is no topic; calipers campaign topics adds them")
    rankings = {
        name: {topic: run.ranking(topic)[:depth] for topic in topics if topic in run.scores}
        for name, run in runs.items()
    }
    return rankings, {name: run.participant for name, run in runs.items()}


def default_depth(campaign: Campaign) -> int:
    """Return the default pool depth, which depends on the goal."""
    return parse_goal(campaign.info.goal).depth


@dataclass(frozen=True)
class MeasureSelection:
    """Selected measures, primary measure first, and the requested ones that were omitted."""

    names: tuple[str, ...]
    omitted: tuple[str, ...] = ()


def select_measures(
    campaign: Campaign, requested: Iterable[str] = (), *, sampled: bool = False
) -> MeasureSelection:
    """Select the measures for the runs of participants.

    They are the requested ones, else those named when the campaign was created, else those of its
    goal. Judgments of a sample are evaluated by estimators for samples, and complete judgments by
    all other measures.
    """
    candidates = parse_measures(requested) if requested else campaign.info.measures
    default_measures = SAMPLE_MEASURES if sampled else parse_goal(campaign.info.goal).measures
    suitable = [
        name for name in candidates if (_definition(name).statistic is SampledRankings) == sampled
    ]
    omitted = ", ".join(name for name in candidates if name not in suitable)
    reason = "unsampled documents would count as non-relevant" if sampled else "for samples only"
    return MeasureSelection(
        tuple(suitable) or default_measures, (f"Omitted: {omitted} ({reason}).",) if omitted else ()
    )


def ordering_measures(campaign: Campaign, requested: Iterable[str] = ()) -> MeasureSelection:
    """Select measures by which systems can be ranked and tested.

    These are measures of :func:`select_measures` with values for single topics and a direction, or
    those of the goal if there are none.
    """
    selection = select_measures(campaign, requested)
    suitable = [name for name in selection.names if _is_ordering(name)]
    omitted = ", ".join(name for name in selection.names if name not in suitable)
    reason = "no values of single topics, or no direction"
    notes = (f"Omitted: {omitted} ({reason}).",) if omitted else ()
    default_measures = parse_goal(campaign.info.goal).measures
    return MeasureSelection(tuple(suitable) or default_measures, (*selection.omitted, *notes))


def _is_ordering(name: str) -> bool:
    definition = _definition(name)
    return definition.summary == "mean" and definition.higher_is_better is not None


def _definition(name: str) -> Definition:
    return parse(name, TASKS["retrieval"]).definition


def add_pool(
    campaign: Campaign,
    pool: Pool,
    settings: Mapping[str, Any],
    *,
    sample: StratifiedSample | None = None,
    replace: bool = False,
    write: bool = True,
) -> PoolSummary:
    """Add documents to be judged.

    Documents of an earlier pool keep their positions, and new ones follow them. A sample has to be
    the first pool of a campaign, because with documents that were selected otherwise it is not a
    sample. ``replace`` deletes the earlier pools, which is an error as soon as a document is
    judged.
    """
    pooled: dict[str, set[str]] = {}
    for entry in campaign.pool():
        pooled.setdefault(entry.topic, set()).add(entry.document)
    if replace and _is_judged(campaign):
        raise InputError(
            f"{campaign.path}: documents are judged already, so their pool cannot be replaced; a "
            "further pool adds to it"
        )
    earlier = {} if replace else pooled
    sampled = any(entry.stratum is not None for entry in campaign.pool()) and not replace
    if earlier and (sample is not None or sampled):
        raise InputError(
            f"{campaign.path}: documents are pooled already, but a sample has to be the first "
            "pool; --replace deletes earlier pools as long as nothing is judged"
        )
    new = {
        t: sum(d.document not in earlier.get(t, ()) for d in selection)
        for t, selection in pool.items()
    }
    empty_topics = tuple(t.topic for t in campaign.topics() if not pool.get(t.topic))
    documents = {topic: len(selection) for topic, selection in pool.items()}
    if not write:
        return PoolSummary(None, documents, new, empty_topics)
    with campaign.write() as connection:
        if replace:
            for table in ("pooled", "strata", "pools"):
                connection.execute(f"DELETE FROM {table}")
        cursor = connection.execute(
            "INSERT INTO pools(made, settings) VALUES (?, ?)",
            (events.now(), json.dumps(dict(settings), ensure_ascii=False)),
        )
        for topic, selection in pool.items():
            (last,) = connection.execute(
                "SELECT coalesce(max(position), 0) FROM pooled WHERE topic = ?", (topic,)
            ).fetchone()
            stratum = _strata(sample, topic)
            connection.executemany(
                "INSERT INTO pooled VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                [
                    (topic, d.document, cursor.lastrowid, last + d.position, d.priority,
                     *stratum.get(d.document, (None, 1)))
                    for d in selection
                ],
            )  # fmt: skip
        if sample is not None:
            connection.executemany(
                "INSERT INTO strata VALUES (?, ?, ?, ?)",
                [
                    (topic, name, len(selection.documents), len(selection.sampled))
                    for topic, strata in sample.strata_by_topic.items()
                    for name, selection in strata.items()
                ],
            )
    return PoolSummary(cursor.lastrowid, documents, new, empty_topics)


def check_topics(campaign: Campaign, topics: Iterable[str]) -> None:
    """Check that topics are those of the campaign."""
    known_topics = [topic.topic for topic in campaign.topics()]
    for topic in topics:
        if topic not in known_topics:
            raise InputError(
                f"topic {topic!r} is not of {campaign.path}; {did_you_mean(topic, known_topics)}"
            )


def _strata(sample: StratifiedSample | None, topic: str) -> dict[str, tuple[str, int]]:
    """Return for each document its stratum, and whether it was sampled."""
    if sample is None:
        return {}
    return {
        document: (name, int(document in stratum.sampled))
        for name, stratum in sample.strata_by_topic[topic].items()
        for document in stratum.documents
    }


def _is_judged(campaign: Campaign) -> bool:
    event_kinds = "('grade', 'preference', 'import', 'adjudication')"
    return bool(campaign.read(f"SELECT 1 FROM events WHERE kind IN {event_kinds} LIMIT 1"))


def pool_settings(campaign: Campaign) -> list[dict[str, Any]]:
    """Return the settings of each pool, in order."""
    rows = campaign.read("SELECT settings FROM pools ORDER BY pool")
    return [campaign.decode("the settings of a pool", json.loads, settings) for (settings,) in rows]


def pooled_depth(campaign: Campaign) -> int | None:
    """Return the greatest depth to which runs were pooled.

    The result is None if whole runs were pooled, and if pools were made otherwise.
    """
    depths = [settings["depth"] for settings in pool_settings(campaign) if settings.get("depth")]
    return None if "all" in depths else max(depths, default=None)


def has_adaptive_order(campaign: Campaign) -> bool:
    """Return whether the last pool has an order that depends on the judgments so far."""
    return any(each.get("order") in JUDGING_METHODS for each in pool_settings(campaign)[-1:])


def adaptive_order(campaign: Campaign) -> AdaptiveOrder | None:
    """Return the function that yields the next documents of a topic for an adaptive order.

    The result is None unless the last pool has such an order, which depends on the judgments so
    far.
    """
    if not has_adaptive_order(campaign):
        return None
    settings, pooled = pool_settings(campaign)[-1], dict[str, set[str]]()
    for entry in campaign.pool():
        pooled.setdefault(entry.topic, set()).add(entry.document)
    rankings, _ = read_rankings(
        campaign, None if settings.get("depth") == "all" else settings.get("depth")
    )

    def upcoming(topic: str, grades: Mapping[str, int], skipped: frozenset[str]) -> Iterator[str]:
        topic_rankings = {
            run: [d for d in ranking.get(topic, ()) if d in pooled.get(topic, ())]
            for run, ranking in rankings.items()
        }
        queue = JudgingQueue(
            topic_rankings, settings["order"], topic=topic, seed=settings.get("seed", 0),
            burn_in=settings.get("burn_in", 0), max_documents=settings.get("most"),
            judged=((d, grade >= 1) for d, grade in grades.items()),
        )  # fmt: skip
        max_judged = settings.get("most")
        n_ahead = max(max_judged - len(queue.judged), 0) if max_judged else None
        yield from islice(queue.upcoming(skipped), n_ahead)

    return upcoming


# --- Assignment -----------------------------------------------------------------------------------


def assign_topics(
    campaign: Campaign,
    *,
    n_judges: int = 1,
    extra_judged: Collection[str] = (),
    conflicts: Mapping[str, Collection[str]] | None = None,
    replace: bool = False,
    write: bool = True,
) -> Assignment:
    """Assign the topics of the pool to assessors; ``extra_judged`` get one more assessor."""
    sizes: dict[str, int] = {}
    pooled: dict[str, list[str]] = {}
    for entry in campaign.pool():
        sizes[entry.topic] = sizes.get(entry.topic, 0) + entry.sampled
        pooled.setdefault(entry.topic, []).append(entry.document)
    if not sizes:
        raise InputError(f"{campaign.path}: nothing is pooled, so there is nothing to judge")
    for topic in (*extra_judged, *(conflicts or ())):
        if topic not in sizes:
            raise InputError(f"topic {topic!r} has no pool; {did_you_mean(topic, sizes)}")
    people = {
        name: entry
        for name, entry in campaign.assessors().items()
        if entry.kind == "person" and entry.role == "assessor"
    }
    if not people:
        raise InputError(
            f"{campaign.path}: there are no assessors; calipers campaign assessors adds them"
        )
    known_names = {*people, *(entry.participant for entry in people.values())}
    for names in (conflicts or {}).values():
        for name in names:
            if name not in known_names:
                hint = did_you_mean(name, [value for value in known_names if value])
                raise InputError(f"conflicts: there is no assessor {name!r}; {hint}")
    if campaign.assignments() and not replace and write:
        raise InputError(f"{campaign.path}: topics are assigned already; --replace reassigns them")
    rankings, groups = read_rankings(campaign, pooled_depth(campaign))
    lengths = {topic: len(value) for topic, value in pooled.items()}
    authors = {t.topic: t.author for t in campaign.topics() if t.author is not None}
    assignment = assign(
        sizes,
        list(people),
        n_judges={topic: n_judges + (topic in extra_judged) for topic in sizes},
        unique_proportions=unique_proportions(
            lengths, unique_documents(rankings, groups, pool=pooled)
        ),
        authors=authors,
        conflicts=conflicts,
        participants={n: entry.participant for n, entry in people.items() if entry.participant},
    )
    if write:
        with campaign.write() as connection:
            connection.execute("DELETE FROM assignments")
            rows = [
                (judge, topic) for topic, judges in assignment.topics.items() for judge in judges
            ]
            connection.executemany("INSERT INTO assignments VALUES (?, ?)", rows)
    return assignment


def spread_topics(topics: Sequence[str], n_topics: int) -> list[str]:
    """Return ``n_topics`` of the topics, evenly spread over their order.

    >>> spread_topics("abcdefgh", 3)
    ['b', 'e', 'g']
    """
    if n_topics > len(topics):
        raise InputError(f"{n_topics} topics are to be judged twice, but there are {len(topics)}")
    return [topics[(2 * k + 1) * len(topics) // (2 * n_topics)] for k in range(n_topics)]


# --- Judgments ------------------------------------------------------------------------------------


def read_grades(
    campaign: Campaign,
    *,
    include_programs: bool = False,
    only_repeats: bool = False,
    preferences: bool = False,
) -> dict[str, dict[str, dict[str, int]]]:
    """Return the grades by assessor: of persons, and with ``include_programs`` also of programs.

    With ``preferences``, those between two documents are returned, as
    :func:`~calipers.campaign.assessor_agreement.preference_grades` does.
    """
    persons = {name for name, record in campaign.assessors().items() if record.kind == "person"}
    if preferences:
        return preference_grades(
            record
            for record in campaign.preferences(is_repeat=only_repeats)
            if include_programs or record.assessor in persons
        )
    return grades_by_assessor(
        record
        for record in campaign.judgments(is_repeat=only_repeats)
        if include_programs or record.assessor in persons
    )


def adjudicated_decisions(campaign: Campaign) -> dict[str, dict[str, int]]:
    """Return the decisions of adjudicators."""
    decisions: dict[str, dict[str, int]] = {}
    for judgment in campaign.adjudications():
        decisions.setdefault(judgment.topic, {})[judgment.document] = judgment.grade
    return decisions


def final_grades(campaign: Campaign, rule: str = "majority") -> Mapping[str, Mapping[str, int]]:
    """Return one grade for each document that persons judged.

    See :func:`~calipers.campaign.adjudication.adjudicated_grades`.
    """
    return adjudicated_grades(campaign, rule=rule).grades


def sampled_judgments(
    campaign: Campaign, final: Mapping[str, Mapping[str, int]]
) -> SampledJudgments | None:
    """Return the grades in their strata; None if the pool is not a sample.

    Documents that were not sampled or are not judged yet have the grade −1.
    """
    judgments: SampledJudgments = {}
    for entry in campaign.pool():
        if entry.stratum is None:
            return None
        grade = final.get(entry.topic, {}).get(entry.document, -1) if entry.sampled else -1
        judgments.setdefault(entry.topic, {}).setdefault(entry.stratum, {})[entry.document] = grade
    return judgments or None


def record_decisions(
    campaign: Campaign,
    decisions: Iterable[tuple[str, str, int, str | None]],
    adjudicator: str,
) -> int:
    """Record the decisions of an adjudicator, and return the number of new ones.

    A decision is (topic, document, grade, note). All are recorded, or none.
    """
    assessors = campaign.assessors()
    if adjudicator not in assessors:
        raise InputError(
            f"there is no {adjudicator!r}; calipers campaign assessors {campaign.path} "
            f"{adjudicator} --adjudicator adds them"
        )
    if assessors[adjudicator].role != "adjudicator":
        raise InputError(
            f"{adjudicator!r} is an assessor; expected an adjudicator, who has not judged the "
            "documents"
        )
    current = {(entry.topic, entry.document): entry for entry in campaign.adjudications()}
    pooled = {(entry.topic, entry.document) for entry in campaign.pool()}
    pooled |= {(entry.topic, entry.document) for entry in campaign.judgments()}
    unknown, n_new = [], 0
    with campaign.write():
        for topic, document, grade, note in decisions:
            current_decision = current.get((topic, document))
            if (topic, document) not in pooled:
                unknown.append(f"{topic} {document}")
                continue
            if current_decision is not None and current_decision.grade == grade:
                continue
            check_min_int(grade, f"the grade of {topic} {document}", -(2**31))
            event = Event(
                str(uuid.uuid4()), adjudicator, topic, document, "adjudication", grade, note=note,
                replaces=None if current_decision is None else current_decision.event,
            )  # fmt: skip
            n_new += campaign.record(event).new
        if unknown:
            raise InputError(f"neither in the pool nor judged: {format_first_names(unknown)}")
    return n_new


def current_pool(campaign: Campaign, depth: Depth) -> Pool:
    """Return the pool of a depth from the current runs."""
    return depth_pool(read_rankings(campaign)[0], depth)
