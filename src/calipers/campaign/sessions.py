"""Sessions of assessors: the data sent to and received from the page, and access links.

Everything sent to a page is made here, so that this module shows what is withheld from it: grades
of others, systems, ranks, strata, and which documents are planted repeats.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
import sqlite3
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from calipers.campaign.documents import parse_tree
from calipers.campaign.operations import adaptive_order
from calipers.campaign.records import MEDIA, EditConflict, Event, LoggedEvent
from calipers.campaign.storage import list_columns
from calipers.campaign.store import Campaign
from calipers.campaign.workflow import (
    AssessorSession,
    DisplaySettings,
    GradingWorkflow,
    JudgingPlan,
    JudgingTask,
    PreferenceWorkflow,
    Progress,
    event_task,
    parse_structure,
    topic_terms,
)
from calipers.data.errors import InputError, did_you_mean, format_value
from calipers.lazy_dataclasses import dataclass

#: Number of tasks that a page loads in advance, and of events that it can undo after a reload.
N_AHEAD, N_UNDOABLE = 64, 100

#: Maximum number of characters of documents that are sent together.
_MAX_CHARACTERS = 1_000_000

#: Kinds of events that a page may send.
_KINDS = ("grade", "preference", "skip", "note", "undo")
_ID = re.compile(r"[0-9A-Za-z-]{16,64}")


class BusyError(Exception):
    """Temporary failure to write to the file; the request can be repeated."""


@dataclass
class _SessionState:
    """Session of an assessor, with the task of each key."""

    session: AssessorSession
    tasks: dict[str, tuple[str, str, bool]]
    keys: dict[tuple[str, str, bool], str]


class SessionManager:
    """Sessions of the current assessors; it can be used from any number of threads."""

    def __init__(
        self, campaign: Campaign, assessors: Sequence[str], settings: DisplaySettings
    ) -> None:
        self._campaign, self._settings = campaign, settings
        self._lock, self._version, self.n_recorded = threading.RLock(), -1, 0
        self.names = {assessor_slug(name): name for name in assessors}
        info = campaign.info
        self._info, self.id = info, opaque_id(info.name, info.created)
        self._refresh()

    # ----------------------------------------------------------------------------------- content

    def _refresh(self) -> None:
        """Reload the campaign if another process, such as an import, has written to it."""
        ((version,),) = self._campaign.read("PRAGMA data_version")
        if version == self._version:
            return
        assessor_by_name = self._campaign.assessors()
        for name in self.names.values():
            _check_person(assessor_by_name, name)
        self._hashes = {
            n: (assessor_by_name[n].token_hash or "").split() for n in self.names.values()
        }
        self._topics = {topic.topic: topic for topic in self._campaign.topics()}
        documents: dict[str, list[str]] = {}
        for row in self._campaign.pool():
            if row.sampled:
                documents.setdefault(row.topic, []).append(row.document)
        assigned = self._campaign.assignments()
        self._adaptive = adaptive_order(self._campaign)
        events: dict[str, list[LoggedEvent]] = {}
        for event in self._campaign.events():
            events.setdefault(event.assessor, []).append(event)
        self._states = {
            name: self._make_state(
                name,
                {t: d for t, d in documents.items() if not assigned or t in assigned.get(name, ())},
                events.get(name, []),
            )
            for name in self.names.values()
        }
        self._version = version

    def _make_state(
        self, name: str, documents: Mapping[str, Sequence[str]], events: Sequence[LoggedEvent]
    ) -> _SessionState:
        plan: JudgingPlan
        if self._settings.mode == "preferences":
            plan = PreferenceWorkflow(documents, name, self._settings)
        else:
            plan = GradingWorkflow(documents, name, self._settings, self._adaptive)
        topics = [topic for topic in self._topics if topic in documents]
        tasks = {
            opaque_id(self.id, name, topic, document, is_repeat): (
                topic,
                document,
                is_repeat,
            )
            for topic, topic_documents in documents.items()
            for document in topic_documents
            for is_repeat in (False, True)
        }
        keys = {task: key for key, task in tasks.items()}
        return _SessionState(AssessorSession(topics, plan, events), tasks, keys)

    def reload(self) -> None:
        """Reload the campaign after this process has written data other than judgments."""
        with self._lock:
            self._version = -1
            self._refresh()

    @property
    def documents(self) -> set[tuple[str, str]]:
        """Documents to be judged, each with its topic."""
        return {task[:2] for state in self._states.values() for task in state.tasks.values()}

    def summary(self) -> str:
        """Return a sentence about the documents to be judged."""
        topics = {topic for state in self._states.values() for topic in state.session.topics}
        grouping = "in pairs" if self._settings.mode == "preferences" else "one by one"
        order = "in random order" if self._settings.order == "random" else "in the pool's order"
        if self._adaptive is not None and self._settings.mode == "grades":
            order = "in adaptive order"
        counts = f"{len(self.documents)} documents of {len(topics)} topics"
        return f"{counts} are pooled; judged {grouping}, {order}"

    def is_valid_link(self, slug: str, token: str) -> bool:
        """Return whether a token belongs to the assessor."""
        with self._lock:
            self._refresh()
            digest = token_digest(token)
            hashes = self._hashes.get(self.names.get(slug, ""), [])
            return any(hmac.compare_digest(digest, stored) for stored in hashes)

    # ------------------------------------------------------------------------------------- keys

    def _key(self, name: str, task: JudgingTask) -> str:
        """Return the opaque key of a task, which is the same after a restart."""
        keys = self._states[name].keys
        task_documents = (
            [task.document] if task.other_document is None else [task.document, task.other_document]
        )
        return ".".join(keys[task.topic, document, task.is_repeat] for document in task_documents)

    def _task(self, name: str, key: object) -> JudgingTask:
        tasks = self._states[name].tasks
        components = (
            [tasks.get(component_key) for component_key in key.split(".")]
            if isinstance(key, str)
            else []
        )
        if len(components) == 1 and components[0] is not None:
            topic, document, is_repeat = components[0]
            return JudgingTask(topic, document, None, is_repeat)
        if len(components) == 2 and components[0] is not None and components[1] is not None:
            (topic, document, is_repeat), (other_topic, other_document, is_other_repeat) = (
                components[0],
                components[1],
            )
            if (topic, is_repeat) == (other_topic, is_other_repeat) and document != other_document:
                return JudgingTask(topic, document, other_document, is_repeat)
        raise InputError(f"task {format_value(key)} does not belong to this assessor")

    def _is_known(self, name: str, event: LoggedEvent) -> bool:
        keys = self._states[name].keys
        return all(
            document is None or (event.topic, document, event.is_repeat) in keys
            for document in (event.document, event.other_document)
        )

    # ----------------------------------------------------------------------------- data of pages

    def session(self, name: str, topic: str | None = None) -> dict[str, Any]:
        """Return the initial data of the page."""
        with self._lock:
            self._refresh()
            session = self._states[name].session
            acts = [
                event for event in session.last_actions(N_UNDOABLE) if self._is_known(name, event)
            ]
            return {
                "campaign": self._info.name,
                "id": self.id,
                "assessor": name,
                "mode": self._settings.mode,
                "grades": [
                    {"grade": grade, "meaning": meaning}
                    for grade, meaning in self._info.grades.items()
                ],
                "topics": [self._topic(session, topic_name) for topic_name in session.topics],
                "acts": [self._action_to_json(name, event) for event in acts],
                **self._next_tasks(name, topic),
            }

    def _topic(self, session: AssessorSession, name: str) -> dict[str, Any]:
        topic = self._topics[name]
        return {
            "topic": name,
            "title": topic.title or name,
            "description": topic.description,
            "narrative": topic.narrative,
            "keywords": topic.keywords,
            "structure": parse_structure(topic),
            "terms": topic_terms(topic),
            "progress": _progress_to_json(session.progress(name)),
        }

    def _action_to_json(self, name: str, event: LoggedEvent) -> dict[str, Any]:
        task = event_task(event)
        judged = self._states[name].session.history.judged.get(task.canonical, [])
        before = [each for each in judged if each.event < event.event]
        return {
            "id": event.id,
            "task": self._key(name, task),
            "kind": event.kind,
            "before": _judgment_to_json(before[-1], task)
            if before and event.kind != "skip"
            else None,
        }

    def _next_tasks(self, name: str, topic: str | None) -> dict[str, Any]:
        session = self._states[name].session
        return {
            "queue": [self._key(name, task) for task in session.upcoming(N_AHEAD, topic)],
            "progress": _progress_to_json(session.progress()),
        }

    def next_tasks(self, name: str, topic: str | None = None) -> dict[str, Any]:
        """Return the next tasks, those of a topic first."""
        with self._lock:
            self._refresh()
            return self._next_tasks(name, topic)

    def tasks(self, name: str, keys: Sequence[str]) -> list[dict[str, Any]]:
        """Return tasks with their documents: at least one, and more while their size permits."""
        task_rows: list[dict[str, Any]] = []
        characters = 0
        with self._lock:
            self._refresh()
            for key in keys[:N_AHEAD]:
                task = self._task(name, key)
                past = self._states[name].session.history
                current = past.current(task)
                documents = [
                    self._document(document)
                    for document in (task.document, task.other_document)
                    if document is not None
                ]
                characters += sum(size for _, size in documents)
                if task_rows and characters > _MAX_CHARACTERS:
                    break
                task_rows.append(
                    {
                        "task": key,
                        "topic": task.topic,
                        "documents": [data for data, _ in documents],
                        "current": current and _judgment_to_json(current, task),
                        "note": past.note(task),
                        "skipped": past.is_skipped(task),
                    }
                )
        return task_rows

    def _document(self, name: str) -> tuple[dict[str, Any], int]:
        """Return the data of a document for the page, and the number of characters of its text."""
        stored = self._campaign.document(name)
        if stored is None:
            return {"document": name, "media": None, "title": "", "text": None}, 0
        text = stored.body.decode("utf-8", "replace") if stored.media.startswith("text/") else None
        data: dict[str, Any] = {
            "document": name, "media": stored.media, "title": stored.title, "text": text,
        }  # fmt: skip
        if stored.media == "text/xml":
            # (A document that was added otherwise and is not well-formed is displayed as text.)
            with suppress(InputError):
                data |= {"text": None, "tree": parse_tree(name, stored.body)}
        return data, 0 if text is None else len(text)

    def image(self, name: str, key: str, document_index: int) -> tuple[str, bytes] | None:
        """Return media type and bytes of a document of a task; None unless it is an image."""
        with self._lock:
            task = self._task(name, key)
            document = task.other_document if document_index else task.document
            stored = None if document is None else self._campaign.document(document)
        if stored is None or stored.media not in MEDIA or not stored.media.startswith("image/"):
            return None
        return stored.media, stored.body

    def list_tasks(self, name: str) -> dict[str, Any]:
        """Return the skipped and the judged tasks, the latest first."""
        with self._lock:
            self._refresh()
            session = self._states[name].session
            judged = [event for event in session.judged() if self._is_known(name, event)]
            return {
                "aside": [
                    self._task_summary(name, t, None)
                    for t in session.skipped()
                    if t.topic in session.topics
                ],
                "judged": [self._task_summary(name, event_task(e), e) for e in reversed(judged)],
            }

    def _task_summary(
        self, name: str, task: JudgingTask, event: LoggedEvent | None
    ) -> dict[str, Any]:
        documents = [d for d in (task.document, task.other_document) if d is not None]
        marks = ", ".join("?" * len(documents))
        title_by_document = dict(
            self._campaign.read(
                f"SELECT document, title FROM documents WHERE document IN ({marks})", documents
            )
        )
        return {
            "task": self._key(name, task),
            "topic": task.topic,
            "titles": [title_by_document.get(document) or document for document in documents],
            "grade": None if event is None else event.grade,
            "note": self._states[name].session.history.note(task),
        }

    # --------------------------------------------------------------------------- events of pages

    def record(
        self, name: str, data: Mapping[str, Any], topic: str | None = None
    ) -> dict[str, Any]:
        """Record an event of an assessor; when this returns, it is on disk.

        Raises
        ------
        InputError
            If the event is invalid.
        EditConflict
            If the judgment has changed in the meantime.
        BusyError
            If the file cannot be written at the moment.
        """
        with self._lock:
            self._refresh()
            session = self._states[name].session
            task, event = self._event(name, data)
            try:
                number, new = self._campaign.record(event)
            except EditConflict:
                raise
            except InputError as error:
                if isinstance(error.__context__, sqlite3.Error):
                    raise BusyError(str(error)) from error
                raise
            if new:
                self.n_recorded += 1
                session.apply(self._read_event("event", number))
            current = session.history.current(task)
            return {
                "id": event.id,
                "event": number,
                "current": current and _judgment_to_json(current, task),
                "topic": {
                    "topic": task.topic,
                    "progress": _progress_to_json(session.progress(task.topic)),
                },
                **self._next_tasks(name, topic),
            }

    def _event(self, name: str, data: Mapping[str, Any]) -> tuple[JudgingTask, Event]:
        """Convert the data from a page to an event."""
        kind, event_id, replaces = (data.get(key) for key in ("kind", "id", "replaces"))
        if kind not in _KINDS:
            raise InputError(f"kind {format_value(kind)}, expected one of {', '.join(_KINDS)}")
        if not isinstance(event_id, str) or not _ID.fullmatch(event_id):
            raise InputError(f"id {format_value(event_id)}, expected a UUID")
        task = self._task(name, data.get("task"))
        grade, note, seconds = data.get("grade"), data.get("note"), data.get("seconds")
        if kind in ("grade", "preference") and (type(grade) is not int):
            raise InputError(f"grade {format_value(grade)}, expected a whole number")
        if (kind == "preference") != (task.other_document is not None) and kind in (
            "grade",
            "preference",
        ):
            raise InputError(
                f"{kind}: not of {'one document' if task.other_document is None else 'two'}"
            )
        if seconds is not None and type(seconds) not in (int, float):
            raise InputError(f"seconds {format_value(seconds)}, expected a number")
        if note is not None and not isinstance(note, str):
            raise InputError(f"note {format_value(note)}, expected a text")
        return task, Event(
            id=event_id,
            assessor=name,
            topic=task.topic,
            document=task.document,
            other_document=None if kind == "undo" else task.other_document,
            kind=kind,
            grade=grade if kind in ("grade", "preference") else None,
            note=note if kind == "note" else None,
            seconds=seconds,
            display_position=self._states[name].session.position(task),
            is_repeat=task.is_repeat,
            replaces=None if replaces is None else self._event_number(replaces),
        )

    def _event_number(self, event_id: object) -> int:
        rows = isinstance(event_id, str) and self._campaign.read(
            "SELECT event FROM events WHERE id = ?", (event_id,)
        )
        if not rows:
            raise InputError(f"replaces {format_value(event_id)}, which is not an event")
        number: int = rows[0][0]
        return number

    def _read_event(self, column: str, value: object) -> LoggedEvent:
        (row,) = self._campaign.read(
            f"SELECT {list_columns(LoggedEvent._fields)} FROM events WHERE {column} = ?", (value,)
        )
        return LoggedEvent(*row)._replace(is_repeat=bool(row[12]))

    def current_judgment(
        self, name: str, key: object, conflict: EditConflict
    ) -> dict[str, Any] | None:
        """Return the current judgment, which the page did not know."""
        with self._lock:
            if conflict.event is None:
                return None
            return _judgment_to_json(
                self._read_event("event", conflict.event), self._task(name, key)
            )


def _judgment_to_json(event: LoggedEvent, task: JudgingTask) -> dict[str, Any]:
    """Convert a judgment, relative to the order in which the documents are displayed."""
    is_reversed = task.other_document is not None and event.document != task.document
    grade = -event.grade if is_reversed and event.grade is not None else event.grade
    return {"id": event.id, "grade": grade, "time": event.time}


def _progress_to_json(progress: Progress) -> dict[str, Any]:
    return progress._asdict()


def _check_person(assessor_by_name: Mapping[str, Any], name: str) -> None:
    if name not in assessor_by_name:
        raise InputError(
            f"assessor {format_value(name)} is not of this campaign; "
            f"{did_you_mean(name, assessor_by_name)}"
        )
    if assessor_by_name[name].kind == "program":
        raise InputError(
            f"assessor {format_value(name)} is a program, whose judgments are imported"
        )


_SLUG = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]{0,40}")

#: Key of the display settings in the table ``about``.
_SETTINGS_KEY = "judging"
#: Settings by the names that they had in earlier files.
_FORMER_SETTINGS = {"gap": "repeat_distance", "least": "min_grade"}

#: Maximum number of valid links of an assessor; the oldest one is revoked first.
_MAX_LINKS = 20


def get_settings(campaign: Campaign) -> DisplaySettings:
    """Return the display settings of a campaign, or the defaults if none were set."""
    rows = campaign.read("SELECT value FROM about WHERE key = ?", (_SETTINGS_KEY,))
    if not rows:
        return DisplaySettings()
    return campaign.decode("the display settings", _parse_settings, rows[0][0])


def _parse_settings(text: str) -> DisplaySettings:
    settings = json.loads(text)
    return DisplaySettings(
        **{_FORMER_SETTINGS.get(name, name): settings[name] for name in settings}
    )


def set_settings(campaign: Campaign, settings: DisplaySettings) -> None:
    """Set the display settings of a campaign."""
    if settings == get_settings(campaign):
        return
    with campaign.write() as connection:
        connection.execute(
            "INSERT INTO about VALUES (?, ?) "
            "ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            (_SETTINGS_KEY, json.dumps(asdict(settings))),
        )


def create_token(campaign: Campaign, assessor: str, *, revoke_others: bool = False) -> str:
    """Create a token of 256 random bits for the link of an assessor; only its digest is stored.

    Earlier links stay valid unless this is to be the only one (``revoke_others``).
    """
    token = secrets.token_urlsafe(32)
    with campaign.write() as connection:
        (earlier_digests,) = connection.execute(
            "SELECT token_hash FROM assessors WHERE assessor = ?", (assessor,)
        ).fetchone()
        digests = [] if revoke_others else (earlier_digests or "").split()[1 - _MAX_LINKS :]
        connection.execute(
            "UPDATE assessors SET token_hash = ? WHERE assessor = ?",
            (" ".join([*digests, token_digest(token)]), assessor),
        )
    return token


def token_digest(token: str) -> str:
    """Return the digest of a token, which is what is stored."""
    return hashlib.sha256(token.encode()).hexdigest()


def opaque_id(*values: object) -> str:
    """Return an opaque identifier of an object."""
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()[:16]


def assessor_slug(assessor: str) -> str:
    """Return the identifier of an assessor in addresses."""
    return assessor if _SLUG.fullmatch(assessor) else opaque_id("assessor", assessor)
