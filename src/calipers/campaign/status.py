"""Status of a campaign: its contents, and the progress of each assessor and topic."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from calipers.campaign.adjudication import adjudicated_grades
from calipers.campaign.store import Campaign


class AssessorStatus(NamedTuple):
    """Progress of an assessor.

    It has the numbers of documents to judge in the assigned topics, of those that are judged, and
    of those that were skipped, and the time of the last judgment. Programs have all topics unless
    some are assigned to them.
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
    sampled), and of those of them that a person has judged. Further numbers are of all judged
    documents, whether pooled or not: those judged by two or more persons, those that are relevant
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

    ``judged`` is the number of the documents ``to_judge`` that persons have judged, and ``beside``
    the number of other documents that they have judged, such as those of an imported file.
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
    beside: int
    events: int
    by_assessor: tuple[AssessorStatus, ...]
    by_topic: tuple[TopicStatus, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return all values in a form that can be serialized as JSON."""
        return asdict(self) | {
            "by_assessor": [row._asdict() for row in self.by_assessor],
            "by_topic": [row._asdict() for row in self.by_topic],
        }


def campaign_status(campaign: Campaign) -> CampaignStatus:
    """Return the status of a campaign.

    If no topic is assigned to anybody, all topics belong to every assessor.
    """
    about, pool, topics = campaign.about, campaign.pool(), campaign.topics()
    drawn = {(one.topic, one.document) for one in pool if one.sampled}
    by_topic = _topic_statuses(campaign, {topic.topic: topic.title for topic in topics}, drawn)
    persons = {name for name, one in campaign.assessors().items() if one.kind == "person"}
    judged = {
        (one.topic, one.document)
        for one in campaign.judgments(again=False)
        if one.assessor in persons
    }
    counts = {
        table: campaign.read(f"SELECT count(*) FROM {table}")[0][0]
        for table in ("participants", "topics", "runs", "documents", "events")
    }
    return CampaignStatus(
        about.name,
        about.goal,
        pooled=len(pool),
        to_judge=len(drawn),
        judged=len(drawn & judged),
        beside=len(judged - drawn),
        by_assessor=_assessor_statuses(
            campaign, {row.topic: row.to_judge for row in by_topic}, drawn
        ),
        by_topic=by_topic,
        **counts,
    )


def _topic_statuses(
    campaign: Campaign, titles: dict[str, str], drawn: set[tuple[str, str]]
) -> tuple[TopicStatus, ...]:
    persons = {name for name, one in campaign.assessors().items() if one.kind == "person"}
    pooled, to_judge = Counter[str](), Counter[str]()
    for one in campaign.pool():
        pooled[one.topic] += 1
        to_judge[one.topic] += one.sampled
    grades: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for judgment in campaign.judgments(again=False):
        if judgment.assessor in persons:
            grades[judgment.topic][judgment.document].append(judgment.grade)
    decided = {(one.topic, one.document) for one in campaign.adjudications()}
    final = adjudicated_grades(campaign).grades
    assigned = Counter(topic for topics in campaign.assignments().values() for topic in topics)
    return tuple(
        TopicStatus(
            topic,
            title,
            assigned[topic],
            pooled[topic],
            to_judge[topic],
            sum((topic, document) in drawn for document in grades[topic]),
            sum(len(given) > 1 for given in grades[topic].values()),
            sum(grade > 0 for grade in final.get(topic, {}).values()),
            sum(
                len(set(given)) > 1 and (topic, document) not in decided
                for document, given in grades[topic].items()
            ),
        )
        for topic, title in titles.items()
    )


def _assessor_statuses(
    campaign: Campaign, to_judge: dict[str, int], drawn: set[tuple[str, str]]
) -> tuple[AssessorStatus, ...]:
    assigned, known = campaign.assignments(), campaign.assessors()
    own = {
        name: assigned.get(name, [] if assigned and one.kind == "person" else list(to_judge))
        for name, one in known.items()
    }
    skips = {
        (assessor, topic, document): event
        for assessor, topic, document, event in campaign.read(
            "SELECT assessor, topic, document, max(event) FROM standing WHERE kind = 'skip' "
            "GROUP BY assessor, topic, document"
        )
    }
    judged, seconds = Counter[str](), defaultdict[str, float](float)
    last: dict[str, str] = {}
    for one in campaign.judgments(again=False):
        judged[one.assessor] += (
            one.topic in own[one.assessor] and (one.topic, one.document) in drawn
        )
        seconds[one.assessor] += one.seconds or 0
        last[one.assessor] = max(one.time, last.get(one.assessor, ""))
        skips.pop((one.assessor, one.topic, one.document), None)
    put_off = Counter(assessor for assessor, _, _ in skips)
    return tuple(
        AssessorStatus(
            name,
            one.kind,
            one.role,
            len(own[name]),
            sum(to_judge[topic] for topic in own[name]) if one.role == "assessor" else 0,
            judged[name],
            put_off[name],
            round(seconds[name] / 60, 1),
            last.get(name),
        )
        for name, one in known.items()
    )
