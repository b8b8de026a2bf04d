"""Recording of the events of assessors: once, in order, and without lost updates."""

from __future__ import annotations

import sqlite3
import unicodedata
from collections.abc import Mapping
from dataclasses import astuple, fields, replace
from datetime import datetime, timezone

from calipers.campaign import chain
from calipers.campaign.records import EditConflict, Event, RecordResult
from calipers.campaign.storage import KINDS, column_name, has_chain, list_columns
from calipers.data.errors import InputError, format_value

#: Kinds of events with a grade, and the view that has their current values.
_VIEWS = {"grade": "grades", "preference": "preferences", "adjudication": "adjudications"}

#: Maximum numbers of characters of a name and of a note.
_MAX_NAME_LENGTH, _MAX_NOTE_LENGTH = 1000, 100_000

#: Longest duration of a judgment: some 100 days.
MAX_SECONDS = 1e7

_FIELDS = tuple(field.name for field in fields(Event))


def now() -> str:
    """Return the current time in UTC."""
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds")


def record_event(
    connection: sqlite3.Connection, event: Event, grades: Mapping[int, str]
) -> RecordResult:
    """Record an event within a transaction; an event with a known id is not recorded again.

    Raises
    ------
    EditConflict
        If the event refers to a value that has changed in the meantime.
    """
    check_event(event, grades)
    before = connection.execute(
        "SELECT event, assessor, topic, document, other, kind, grade, again FROM events "
        "WHERE id = ?",
        (event.id,),
    ).fetchone()
    if before is not None:
        identity = (event.assessor, event.topic, event.document, event.other_document, event.kind)
        if before[1:] != (*identity, event.grade, event.is_repeat):
            raise InputError(f"the id {format_value(event.id)} belongs to another event")
        return RecordResult(before[0], new=False)
    _check_known(connection, event)
    if event.kind == "undo":
        _check_undo(connection, event)
    else:
        _check_current(connection, event)
    return RecordResult(insert_event(connection, event), new=True)


def insert_event(connection: sqlite3.Connection, event: Event) -> int:
    """Record an event that has been checked, and return its number."""
    stored = replace(
        event,
        time=event.time or now(),
        # As SQLite returns them, so that their digest is that of what is stored.
        grade=None if event.grade is None else int(event.grade),
        seconds=None if event.seconds is None else float(event.seconds),
    )
    if has_chain(connection):
        value_by_column = dict(zip(map(column_name, _FIELDS), astuple(stored), strict=True))
        value_by_column["again"] = int(stored.is_repeat)
        return chain.append(connection, [value_by_column[name] for name in chain.COLUMNS[1:]])
    cursor = connection.execute(
        f"INSERT INTO events ({list_columns(_FIELDS)}) VALUES ({', '.join('?' * len(_FIELDS))})",
        astuple(stored),
    )
    assert cursor.lastrowid is not None
    return cursor.lastrowid


def check_event(event: Event, grades: Mapping[int, str]) -> None:
    """Check that an event is valid by itself."""
    for name in ("id", "assessor", "topic", "document"):
        check_name(getattr(event, name), name)
    if event.kind not in KINDS:
        raise InputError(f"kind {format_value(event.kind)}, expected one of {', '.join(KINDS)}")
    if event.other_document is not None:
        check_name(event.other_document, "other_document")
    if event.kind == "preference" or (event.kind == "import" and event.other_document is not None):
        if event.other_document is None or event.other_document == event.document:
            raise InputError("a preference is between two documents")
        allowed = {-1: "", 0: "", 1: ""}
    else:
        allowed = dict(grades) if event.kind in ("grade", "adjudication", "import") else {}
        if event.other_document is not None and event.kind not in ("skip", "note"):
            raise InputError(f"{event.kind}: has no other document, unlike a preference")
    if (event.grade is not None or allowed) and event.grade not in allowed:
        expected = ", ".join(map(str, sorted(allowed))) or "none"
        raise InputError(f"grade {format_value(event.grade)}, expected {expected}")
    if event.note is not None and not is_text(event.note):
        raise InputError("the note contains an invalid character")
    if event.note is not None and len(event.note) > _MAX_NOTE_LENGTH:
        raise InputError(f"the note has more than {_MAX_NOTE_LENGTH} characters")
    seconds = event.seconds
    if seconds is not None and not 0 <= seconds <= MAX_SECONDS:
        raise InputError(
            f"seconds {format_value(seconds)}, expected a number from 0 to {MAX_SECONDS:.0f}"
        )
    for number in (event.display_position, event.replaces):
        if number is not None and not 0 <= number < 2**63:
            raise InputError(f"{format_value(number)} is not the number of an event or a position")


def check_name(name: object, label: str) -> str:
    """Check that an id or a name is text that can be stored, and return it."""
    if not isinstance(name, str) or not name.strip():
        raise InputError(f"{label} {format_value(name)}, expected a name")
    if len(name) > _MAX_NAME_LENGTH:
        raise InputError(
            f"{label} {format_value(name)} has more than {_MAX_NAME_LENGTH} characters"
        )
    if not is_text(name):
        raise InputError(f"{label} {format_value(name)} contains an invalid character")
    if any(unicodedata.category(sign) in ("Cc", "Zl", "Zp") for sign in name):
        raise InputError(
            f"{label} {format_value(name)} contains a line break or a control character"
        )
    return name


def is_text(text: str) -> bool:
    """Return whether SQLite can store the text unchanged."""
    return "\0" not in text and not any("\ud800" <= c <= "\udfff" for c in text)


def _check_known(connection: sqlite3.Connection, event: Event) -> None:
    for table, column, value in (
        ("assessors", "assessor", event.assessor),
        ("topics", "topic", event.topic),
    ):
        cursor = connection.execute(f"SELECT 1 FROM {table} WHERE {column} = ?", (value,))
        if cursor.fetchone() is None:
            raise InputError(f"{column} {format_value(value)} is not of this campaign")
    if event.kind == "adjudication":
        role = connection.execute(
            "SELECT role FROM assessors WHERE assessor = ?", (event.assessor,)
        ).fetchone()[0]
        if role != "adjudicator":
            raise InputError(f"assessor {format_value(event.assessor)} is not an adjudicator")


def _check_current(connection: sqlite3.Connection, event: Event) -> None:
    """Check that the value that an event replaces is the current one."""
    view = _VIEWS.get(_effective_kind(event.kind, event.other_document))
    if view is None:
        return
    event_number, grade = _current_event(connection, event, view)
    if event_number != event.replaces:
        current_text = "there is no grade" if event_number is None else f"the grade is {grade}"
        raise EditConflict(
            f"topic {format_value(event.topic)}, document {format_value(event.document)}: changed "
            f"since it was displayed; {current_text} now",
            event_number,
            grade,
        )


def _effective_kind(kind: str, other_document: str | None) -> str:
    if kind == "import":
        return "grade" if other_document is None else "preference"
    return kind


def _current_event(
    connection: sqlite3.Connection, event: Event, view: str
) -> tuple[int | None, int | None]:
    """Return the current event in the place of this one, and its grade."""
    condition, values = "topic = ? AND document = ?", [event.topic, event.document]
    if view == "preferences":
        assert event.other_document is not None
        condition = "topic = ? AND min(document, other) = ? AND max(document, other) = ?"
        values = [event.topic, *sorted((event.document, event.other_document), key=str.encode)]
    if view != "adjudications":
        condition += f" AND assessor = ? AND again = {int(event.is_repeat)}"
        values.append(event.assessor)
    row = connection.execute(
        f"SELECT event, grade FROM {view} WHERE {condition}", values
    ).fetchone()
    return (None, None) if row is None else row


def _check_undo(connection: sqlite3.Connection, event: Event) -> None:
    """Check that the event to undo belongs to the assessor and is current."""
    if event.replaces is None:
        raise InputError("replaces: missing for an undo; expected the event to undo")
    undone = connection.execute(
        "SELECT assessor, topic, document, other, kind, again FROM events WHERE event = ?",
        (event.replaces,),
    ).fetchone()
    if undone is None or undone[:3] != (event.assessor, event.topic, event.document):
        raise InputError(f"event {event.replaces} does not belong to this assessor and document")
    kind = undone[4]
    if kind == "undo":
        raise InputError("an undo cannot be undone; judge again")
    is_current = connection.execute("SELECT 1 FROM standing WHERE event = ?", (event.replaces,))
    view = _VIEWS.get(_effective_kind(kind, undone[3]))
    current: tuple[int | None, int | None] = (event.replaces, None)
    if view is not None:
        current = _current_event(
            connection, replace(event, other_document=undone[3], is_repeat=bool(undone[5])), view
        )
    if is_current.fetchone() is None or current[0] != event.replaces:
        raise EditConflict(
            f"topic {format_value(event.topic)}, document {format_value(event.document)}: event "
            f"{event.replaces} is no longer current",
            *current,
        )
