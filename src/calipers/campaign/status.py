"""Status of a campaign: its contents, and the progress of each assessor and topic."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any, NamedTuple

from calipers.campaign.adjudication import adjudicated_grades
from calipers.campaign.records import Judgment, Preference
from calipers.campaign.store import Campaign
from calipers.lazy_dataclasses import dataclass
from calipers.report.numbers import format_count


class AssessorStatus(NamedTuple):
    """Progress of an assessor.

    It has the numbers of documents to judge in the assigned topics, of those that are judged
    (graded, or compared with another), and of those that were skipped, and the time of the last
    judgment. Programs have all topics unless some are assigned to them.
    """

    assessor: str
    kind: str
    role: str
    topics: int
    to_judge: int
    judged: int
    skipped: int
    minutes: float
    last: str | None


class TopicStatus(NamedTuple):
    """Progress of a topic.

    It has the numbers of documents that are pooled, of those to judge (sampled, if the pool is
    sampled), and of those of them that a person has judged (graded, or compared with another).
    Further numbers are of all graded documents, whether pooled or not: those graded by two or more
    persons, those that are relevant
    by their final grades (decided by an adjudicator, else by the majority of persons, as in
    exported judgments), and those on which two persons disagree without an adjudication.
    """

    topic: str
    title: str
    assessors: int
    pooled: int
    to_judge: int
    judged: int
    twice: int
    relevant: int
    disputed: int


@dataclass(frozen=True)
class CampaignStatus:
    """Contents and progress of a campaign.

    ``judged`` is the number of the documents ``to_judge`` that persons have judged, and
    ``additional_judged`` the number of other documents that they have judged, such as those of an
    imported file. ``chain`` is the digest of the last event, the head of the chain of events (None
    in files of earlier versions).
    """

    name: str
    goal: str
    participants: int
    topics: int
    runs: int
    documents: int
    pooled: int
    to_judge: int
    judged: int
    additional_judged: int
    events: int
    chain: str | None
    by_assessor: tuple[AssessorStatus, ...]
    by_topic: tuple[TopicStatus, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return all values in a form that can be serialized as JSON."""
        return asdict(self) | {
            "by_assessor": [row._asdict() for row in self.by_assessor],
            "by_topic": [row._asdict() for row in self.by_topic],
        }


def format_chain(campaign: Campaign) -> str:
    """Return a line with the head of the chain of events, to be published with what it proves."""
    head = campaign.chain_head()
    if head is None:
        return "events are not chained: the file is of an earlier version of Calipers"
    return f"{format_count(head.events, 'events')}, head of their chain: {head.digest or 'none'}"


def campaign_status(campaign: Campaign) -> CampaignStatus:
    """Return the status of a campaign.

    If no topic is assigned to anybody, all topics belong to every assessor.
    """
    info, pool, topics = campaign.info, campaign.pool(), campaign.topics()
    sampled = {(entry.topic, entry.document) for entry in pool if entry.sampled}
    by_topic = _topic_statuses(campaign, {topic.topic: topic.title for topic in topics}, sampled)
    persons = {name for name, entry in campaign.assessors().items() if entry.kind == "person"}
    judged = {
        (entry.topic, document)
        for entry, documents in _judged_documents(campaign)
        if entry.assessor in persons
        for document in documents
    }
    counts = {
        table: campaign.read(f"SELECT count(*) FROM {table}")[0][0]
        for table in ("participants", "topics", "runs", "documents", "events")
    }
    head = campaign.chain_head()
    return CampaignStatus(
        info.name,
        info.goal,
        pooled=len(pool),
        to_judge=len(sampled),
        judged=len(sampled & judged),
        additional_judged=len(judged - sampled),
        by_assessor=_assessor_statuses(
            campaign, {row.topic: row.to_judge for row in by_topic}, sampled
        ),
        by_topic=by_topic,
        chain=None if head is None else head.digest,
        **counts,
    )


def _judged_documents(
    campaign: Campaign,
) -> Iterator[tuple[Judgment | Preference, tuple[str, ...]]]:
    """Yield current grades and preferences, and the documents of each, without planted repeats."""
    for judgment in campaign.judgments(is_repeat=False):
        yield judgment, (judgment.document,)
    for preference in campaign.preferences(is_repeat=False):
        yield preference, (preference.document, preference.other_document)


def _topic_statuses(
    campaign: Campaign, titles: dict[str, str], sampled: set[tuple[str, str]]
) -> tuple[TopicStatus, ...]:
    persons = {name for name, entry in campaign.assessors().items() if entry.kind == "person"}
    pooled, to_judge = Counter[str](), Counter[str]()
    for entry in campaign.pool():
        pooled[entry.topic] += 1
        to_judge[entry.topic] += entry.sampled
    grades: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for judgment in campaign.judgments(is_repeat=False):
        if judgment.assessor in persons:
            grades[judgment.topic][judgment.document].append(judgment.grade)
    judged: dict[str, set[str]] = defaultdict(set)
    for record, documents in _judged_documents(campaign):
        if record.assessor in persons:
            judged[record.topic].update(documents)
    adjudicated = {(entry.topic, entry.document) for entry in campaign.adjudications()}
    final = adjudicated_grades(campaign, rule="majority-lowest").grades
    assigned = Counter(topic for topics in campaign.assignments().values() for topic in topics)
    return tuple(
        TopicStatus(
            topic,
            title,
            assigned[topic],
            pooled[topic],
            to_judge[topic],
            sum((topic, document) in sampled for document in judged[topic]),
            sum(len(document_grades) > 1 for document_grades in grades[topic].values()),
            sum(grade > 0 for grade in final.get(topic, {}).values()),
            sum(
                len(set(document_grades)) > 1 and (topic, document) not in adjudicated
                for document, document_grades in grades[topic].items()
            ),
        )
        for topic, title in titles.items()
    )


def _assessor_statuses(
    campaign: Campaign, to_judge: dict[str, int], sampled: set[tuple[str, str]]
) -> tuple[AssessorStatus, ...]:
    assigned, assessors = campaign.assignments(), campaign.assessors()
    topics_by_assessor = {
        name: assigned.get(name, [] if assigned and entry.kind == "person" else list(to_judge))
        for name, entry in assessors.items()
    }
    skips = {
        (assessor, topic, document): event
        for assessor, topic, document, event in campaign.read(
            "SELECT assessor, topic, document, max(event) FROM standing WHERE kind = 'skip' "
            "GROUP BY assessor, topic, document"
        )
    }
    judged: dict[str, set[tuple[str, str]]] = defaultdict(set)
    seconds = defaultdict[str, float](float)
    last_times: dict[str, str] = {}
    for judgment, documents in _judged_documents(campaign):
        assessor, topic = judgment.assessor, judgment.topic
        judged_documents = {(topic, document) for document in documents}
        if topic in topics_by_assessor[assessor]:
            judged[assessor] |= judged_documents & sampled
        seconds[assessor] += judgment.seconds or 0
        last_times[assessor] = max(judgment.time, last_times.get(assessor, ""))
        for document in documents:
            skips.pop((assessor, topic, document), None)
    n_skipped = Counter(assessor for assessor, _, _ in skips)
    return tuple(
        AssessorStatus(
            name,
            entry.kind,
            entry.role,
            len(topics_by_assessor[name]),
            sum(to_judge[topic] for topic in topics_by_assessor[name])
            if entry.role == "assessor"
            else 0,
            len(judged[name]),
            n_skipped[name],
            round(seconds[name] / 60, 1),
            last_times.get(name),
        )
        for name, entry in assessors.items()
    )
