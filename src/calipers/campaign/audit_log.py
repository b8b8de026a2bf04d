"""Audit log: who did what, when, and what the value was before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from calipers.campaign.records import LoggedEvent
from calipers.campaign.store import Campaign


class AuditEntry(NamedTuple):
    """Event, with the values before and after it, and its digest in the chain of events.

    The value is the grade, or for a preference 1, 0 or −1 relative to ``document``; it is None if
    there is none.
    """

    event: int
    time: str
    assessor: str
    topic: str
    document: str
    other_document: str | None
    action: str
    before: int | None
    after: int | None
    is_repeat: bool
    seconds: float | None
    display_position: int | None
    note: str | None
    replaces: int | None
    digest: str | None


def audit_log(
    campaign: Campaign,
    *,
    assessor: str | None = None,
    topic: str | None = None,
    document: str | None = None,
) -> list[AuditEntry]:
    """Return all events in order, or those of an assessor, a topic or a document."""
    return [
        entry
        for entry in _replay(campaign)
        if assessor in (None, entry.assessor)
        and topic in (None, entry.topic)
        and document in (None, entry.document, entry.other_document)
    ]


def _replay(campaign: Campaign) -> Iterator[AuditEntry]:
    stacks: dict[tuple[Any, ...], list[LoggedEvent]] = {}
    event_by_number: dict[int, LoggedEvent] = {}
    digests = campaign.event_digests()
    for event in campaign.events():
        event_by_number[event.event] = event
        target = event if event.kind != "undo" else event_by_number[event.replaces or 0]
        has_grade = target.kind in ("grade", "preference", "adjudication", "import")
        before = after = None
        if has_grade:
            stack = stacks.setdefault(_key(target), [])
            before = _top_grade(stack, target)
            if event.kind == "undo":
                stack[:] = [entry for entry in stack if entry.event != target.event]
            else:
                stack.append(event)
            after = _top_grade(stack, target)
        action = f"undo of {target.kind} {target.event}" if event.kind == "undo" else event.kind
        yield AuditEntry(
            event.event, event.time, event.assessor, event.topic, event.document,
            target.other_document, action, before, after, target.is_repeat, event.seconds,
            event.display_position, event.note, event.replaces, digests.get(event.event),
        )  # fmt: skip


def _key(event: LoggedEvent) -> tuple[Any, ...]:
    if event.kind == "adjudication":
        return event.kind, event.topic, event.document
    documents = frozenset({event.document, event.other_document} - {None})
    return event.assessor, event.topic, documents, event.is_repeat


def _top_grade(stack: list[LoggedEvent], event: LoggedEvent) -> int | None:
    """Return the current grade, for a preference relative to the document of an event."""
    if not stack:
        return None
    top = stack[-1]
    assert top.grade is not None
    return top.grade if top.document == event.document else -top.grade
