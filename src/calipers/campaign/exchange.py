"""Judgments that were made elsewhere: read from files of every kind, and recorded as events."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from calipers.campaign import events
from calipers.campaign.judgment_files import Kind, rows_of
from calipers.campaign.records import Assessor, Event
from calipers.campaign.store import Campaign
from calipers.data.errors import InputError, did_you_mean, listed, shown


@dataclass(frozen=True)
class Imported:
    """What became of the judgments of a file: how many are new, took the place of others, were
    there already, are of documents marked as not judged (a negative grade), are of topics that
    the campaign does not have, and are of what nobody waits for; and the assessors that are new."""

    new: int = 0
    replaced: int = 0
    same: int = 0
    unjudged: int = 0
    unknown: int = 0
    unasked: int = 0
    assessors: tuple[str, ...] = ()


@dataclass
class _Counts:
    counts: dict[str, int] = field(default_factory=lambda: defaultdict(int))

    def add(self, what: str) -> None:
        self.counts[what] += 1


def import_judgments(
    campaign: Campaign,
    source: Any,
    *,
    assessor: str | None = None,
    kind: Kind | None = None,
    program: bool = False,
    participant: str | None = None,
    details: Mapping[str, Any] | None = None,
    only_known: bool = False,
    overwrite: bool = False,
    missing: bool = False,
) -> Imported:
    """Record judgments made elsewhere as events of named assessors: all of a file, or none.

    Parameters
    ----------
    source
        A file of TREC's judgments (four fields) or preferences (five), a table (CSV, Parquet,
        Feather, JSON Lines) with the columns topic, document and grade, and, where they are known,
        assessor, other (of a preference, whose grade is 1, 0 or −1), time, seconds, shown, again
        and note; or a data frame or a dict of such columns.
    assessor
        Who judged, where the rows do not say. In TREC's preferences the second field says.
    kind
        What a file of TREC text holds: ``"qrels"`` or ``"prefs"``, where its fields leave it open.
    program
        Whether the assessors are programs, such as language models, and no persons, where a column
        kind (person or program) does not say. They are assessors like others, but never stand in
        for persons.
    participant, details
        The group that new assessors belong to; and what is known of them, such as
        ``{"model": …, "prompt": …}``.
    only_known
        Leave out topics that the campaign does not have; else they are an error.
    overwrite
        Whether a grade takes the place of another one that the same assessor has given the same
        document; else that is an error. The same grade again is no event.
    missing
        Take only what is still to be judged: documents that are pooled (drawn, where the pool is
        sampled), of topics that are the assessor's, and not judged by the same assessor before.

    Raises
    ------
    InputError
        With file and line or row: for grades that the campaign does not have, documents that stand
        there twice, and all of the above.
    """
    rows = list(rows_of(source, kind, assessor))
    counts = _Counts()
    with campaign.write() as connection:
        known = dict.fromkeys(topic.topic for topic in campaign.topics())
        of = _Assessors(campaign, participant, details)
        standing = _standing(campaign)
        asked = _Asked(campaign) if missing else None
        grades = campaign.about.grades
        seen: dict[tuple[Any, ...], tuple[str, int | None]] = {}
        for row in rows:
            event = row.event
            if event.topic not in known:
                if not only_known:
                    raise InputError(
                        f"{row.where}: topic {shown(event.topic)} is not of this campaign; "
                        f"{did_you_mean(event.topic, known)} (--only-known leaves it out)"
                    )
                counts.add("unknown")
                continue
            if event.other is None and (event.grade or 0) < 0 and event.grade not in grades:
                counts.add("unjudged")
                continue
            try:
                events.check(event, grades)
                of.take(event.assessor, program=program if row.program is None else row.program)
            except InputError as error:
                raise InputError(f"{row.where}: {error}") from None
            key, grade = _key(event)
            if asked is not None and (key in standing or event not in asked):
                counts.add("unasked")
                continue
            if key in seen:
                raise InputError(
                    f"{row.where}: topic {shown(event.topic)}, document {shown(event.document)} of "
                    f"{event.assessor} stands there twice, first in {seen[key][0]}"
                )
            seen[key] = row.where, grade
            number, before = standing.get(key, (None, None))
            if number is not None and before == grade:
                counts.add("same")
                continue
            if number is not None and not overwrite:
                raise InputError(
                    f"{row.where}: topic {shown(event.topic)}, document {shown(event.document)}: "
                    f"{event.assessor} judged {before} (event {number}) and not {grade}; that is "
                    "replaced only where that is asked for (--replace)"
                )
            counts.add("new" if number is None else "replaced")
            events.insert(connection, replace(event, replaces=number))
    return Imported(**counts.counts, assessors=tuple(of.new))


def _key(event: Event) -> tuple[tuple[Any, ...], int | None]:
    """What is judged, and the grade: of a preference the pair in order, as seen from its first."""
    key = event.assessor, event.topic, event.again
    if event.other is None:
        return (*key, event.document), event.grade
    assert event.grade is not None
    if event.document < event.other:
        return (*key, event.document, event.other), event.grade
    return (*key, event.other, event.document), -event.grade


def _standing(campaign: Campaign) -> dict[tuple[Any, ...], tuple[int, int | None]]:
    made: dict[tuple[Any, ...], tuple[int, int | None]] = {}
    for judgment in campaign.judgments():
        key = judgment.assessor, judgment.topic, judgment.again, judgment.document
        made[key] = judgment.event, judgment.grade
    for one in campaign.preferences():
        pair = Event("", one.assessor, one.topic, one.document, grade=one.grade, other=one.other,
                     again=one.again)  # fmt: skip
        key, grade = _key(pair)
        made[key] = one.event, grade
    return made


class _Asked:
    """What is to be judged: drawn documents, of the assessor's topics, or of all topics where none
    is assigned to the assessor."""

    def __init__(self, campaign: Campaign) -> None:
        self._drawn = {(one.topic, one.document) for one in campaign.pool() if one.sampled}
        self._topics = campaign.assignments()

    def __contains__(self, event: Event) -> bool:
        documents = [event.document] if event.other is None else [event.document, event.other]
        own = self._topics.get(event.assessor)
        return (own is None or event.topic in own) and all(
            (event.topic, document) in self._drawn for document in documents
        )


class _Assessors:
    """The assessors of a campaign, to whom those of a file are added."""

    def __init__(
        self, campaign: Campaign, participant: str | None, details: Mapping[str, Any] | None
    ) -> None:
        self._campaign, self._known = campaign, campaign.assessors()
        self._participant, self._details = participant, details or {}
        self.new: list[str] = []

    def take(self, name: str, *, program: bool) -> None:
        """See that somebody is there, and is what the rows are said to be of."""
        kind: Literal["person", "program"] = "program" if program else "person"
        found = self._known.get(name)
        if found is None:
            found = Assessor(name, self._participant, kind, details=self._details)
            self._campaign.add_assessor(found)
            self._known[name] = found
            self.new.append(name)
        if found.kind != kind:
            raise InputError(f"assessor {shown(name)} is a {found.kind}, not a {kind}")


def imported_in_words(of: Imported) -> Iterable[str]:
    """What became of the judgments, in lines."""
    from calipers.report.numbers import count

    yield f"{count(of.new, 'judgments')} added" + (
        f", {of.replaced:,} replaced" if of.replaced else ""
    )
    if of.same:
        yield f"{of.same:,} were there already"
    if of.unjudged:
        yield f"{of.unjudged:,} have a negative grade, which means not judged"
    if of.unknown:
        yield f"{of.unknown:,} are of topics that the campaign does not have, and left out"
    if of.unasked:
        yield f"{of.unasked:,} are of what is not missing, and left out"
    if of.assessors:
        yield f"new: {listed(of.assessors)}"
