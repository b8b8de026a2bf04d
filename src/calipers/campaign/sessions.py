"""Sessions of assessors: the data sent to and received from the page, and access links.

Everything sent to a page is made here, so that this module shows what is withheld from it: grades
of others, systems, ranks, strata, and which documents are planted repeats. An adjudicator sees the
grades and notes of others, of the documents on which they disagree.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
import sqlite3
import sys
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from json.encoder import encode_basestring_ascii
from typing import Any

import numpy as np

from calipers.caching import cached_property
from calipers.campaign.assessor_agreement import disagreements
from calipers.campaign.documents import parse_tree
from calipers.campaign.operations import (
    adaptive_order,
    adjudicated_decisions,
    has_adaptive_order,
    read_grades,
)
from calipers.campaign.records import MEDIA, EditConflict, Event, LoggedEvent, Topic
from calipers.campaign.storage import SECRET_KEY, list_columns
from calipers.campaign.store import Campaign
from calipers.campaign.workflow import (
    AdaptiveOrder,
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
from calipers.report.numbers import format_count

#: Number of tasks that a page loads in advance, and of events that it can undo after a reload.
N_AHEAD, N_UNDOABLE = 64, 100

#: Maximum number of characters of documents that are sent together.
_MAX_CHARACTERS = 1_000_000

#: Kinds of events that a page may send.
_KINDS = ("grade", "preference", "skip", "note", "undo")
_ID = re.compile(r"[0-9A-Za-z-]{16,64}")

#: Opaque key of a document.
_KEY = re.compile(r"[0-9a-f]{16}")


class BusyError(Exception):
    """Temporary failure to write to the file; the request can be repeated."""


class TaskKeys:
    """Opaque keys of the tasks of an assessor, by a secret of the campaign.

    Without the secret nobody can tell whether the keys of two tasks are those of one document, so
    that a planted repeat looks like any other task.
    """

    def __init__(
        self, secret: bytes, assessor: str, documents: Mapping[str, Mapping[str, None]]
    ) -> None:
        self._secret, self._assessor, self._documents = secret, assessor, documents

    def _digests(self, topic: str, documents: Iterable[str]) -> Iterator[bytes]:
        """Yield the keys of a document and of its repeat, which are halves of one digest."""
        start = hashlib.blake2b(key=self._secret, digest_size=16)
        start.update(f"{json.dumps([self._assessor, topic])[:-1]}, ".encode())
        for document in documents:
            state = start.copy()
            state.update(f"{encode_basestring_ascii(document)}]".encode())
            yield state.digest()

    def key(self, topic: str, document: str, *, is_repeat: bool) -> str:
        """Return the key of a document, which is the same after a restart."""
        (digest,) = self._digests(topic, [document])
        return digest[8:].hex() if is_repeat else digest[:8].hex()

    def find(self, key: str) -> tuple[str, str, bool] | None:
        """Return topic, document and whether it is a repeat; None if the key is not of these."""
        if _KEY.fullmatch(key) is None:
            return None
        keys, order, documents = self._index
        value = np.uint64(int(key, 16))
        index = int(np.searchsorted(keys, value))
        if index == len(keys) or keys[index] != value:
            return None
        position, is_repeat = divmod(int(order[index]), 2)
        topic, document = documents[position]
        return topic, document, bool(is_repeat)

    @cached_property
    def _index(self) -> tuple[Any, Any, list[tuple[str, str]]]:
        """Sorted keys, their tasks (twice the position, and 1 for a repeat), and the documents."""
        keys = np.frombuffer(
            b"".join(d for item in self._documents.items() for d in self._digests(*item)),
            ">u8",
        ).astype(np.uint64)
        order = np.argsort(keys, kind="stable")
        documents = [
            (topic, document)
            for topic, topic_documents in self._documents.items()
            for document in topic_documents
        ]
        return keys[order], order.astype(np.int32), documents


@dataclass
class _Content:
    """What is judged: it changes if topics, runs, pools or assignments do."""

    fingerprint: object
    topics: Mapping[str, Topic]
    assigned: Mapping[str, Sequence[str]]


@dataclass
class _SessionState:
    """Session of an assessor, with the last event and the version of the file that it follows."""

    content: _Content
    session: AssessorSession
    keys: TaskKeys
    documents: Mapping[str, Mapping[str, None]]
    last_event: int = 0
    version: int | None = None


class SessionManager:
    """Sessions of the current assessors; it can be used from any number of threads.

    Each assessor has a lock. What they share is locked for short queries only, and reading has a
    connection of its own, so that nobody waits while another process writes for somebody else.
    """

    def __init__(
        self, campaign: Campaign, assessors: Sequence[str], settings: DisplaySettings
    ) -> None:
        self._campaign, self._settings, self._secret = campaign, settings, get_secret(campaign)
        self._reader = campaign.reopen()
        self._lock, self.n_recorded = threading.RLock(), 0
        self._version: int | None = None
        self.names = {assessor_slug(name): name for name in assessors}
        self._locks = {name: threading.RLock() for name in assessors}
        self._states: dict[str, _SessionState] = {}
        self._adjudicators = frozenset[str]()
        self._content: _Content | None = None
        self._pool_lock = threading.Lock()
        self._pooled: tuple[_Content, dict[str, dict[str, None]], AdaptiveOrder | None] | None
        self._pooled = None
        info = campaign.info
        self._info, self.id = info, opaque_id(info.name, info.created)
        self._refresh()

    # ----------------------------------------------------------------------------------- content

    def _refresh(self) -> tuple[_Content, int]:
        """Return the content and the version of the file; what has changed is read again.

        Only the other connection and other processes change the version.
        """
        with self._lock:
            ((version,),) = self._reader.read("PRAGMA data_version")
            if version != self._version or self._content is None:
                assessor_by_name = self._reader.assessors()
                for name in self.names.values():
                    _check_person(assessor_by_name, name)
                self._adjudicators = frozenset(
                    n for n in self.names.values() if assessor_by_name[n].role == "adjudicator"
                )
                self._hashes = {
                    name: frozenset((assessor_by_name[name].token_hash or "").split())
                    for name in self.names.values()
                }
                fingerprint = [
                    self._reader.read(sql)
                    for sql in (
                        "SELECT pool, made, settings FROM pools",
                        # (Topics, runs and documents of a pool are added, or all replaced with
                        # their pools.)
                        "SELECT max(rowid) FROM pooled",
                        "SELECT max(rowid) FROM topics",
                        "SELECT max(rowid) FROM runs",
                        "SELECT assessor, topic FROM assignments",
                    )
                ]
                if self._content is None or self._content.fingerprint != fingerprint:
                    topics = {topic.topic: topic for topic in self._reader.topics()}
                    self._content = _Content(fingerprint, topics, self._reader.assignments())
                self._version = version
            return self._content, version

    @contextmanager
    def _open_session(self, name: str) -> Iterator[_SessionState]:
        """Lock and yield the session of an assessor, after all events of theirs in the file."""
        with self._locks[name]:
            yield self._follow(name)

    def _follow(self, name: str) -> _SessionState:
        """Apply the events since the last call.

        An adjudicator has the documents that were disputed when the page was opened.
        """
        content, version = self._refresh()
        state = self._states.get(name)
        if state is not None and (state.content, state.version) == (content, version):
            return state
        ((last_event,),) = self._reader.read("SELECT coalesce(max(event), 0) FROM events")
        if state is None or state.content is not content:
            events = self._read_events("assessor = ? AND event <= ?", (name, last_event))
            state = self._states[name] = self._make_state(name, content, events)
        else:
            for event in self._read_events(
                "assessor = ? AND event > ? AND event <= ?", (name, state.last_event, last_event)
            ):
                state.session.apply(event)
        state.last_event, state.version = last_event, version
        return state

    def _make_state(
        self, name: str, content: _Content, events: Iterable[LoggedEvent]
    ) -> _SessionState:
        plan: JudgingPlan
        if name in self._adjudicators:
            events = [
                event for event in events if event.kind not in ("grade", "import", "preference")
            ]
            documents = self._disputed_documents(content, {(e.topic, e.document) for e in events})
            plan = GradingWorkflow(documents, name, DisplaySettings(order="pool", repeats=0))
            keys = TaskKeys(self._secret, name, documents)
            return _SessionState(content, AssessorSession(documents, plan, events), keys, documents)
        with self._pool_lock:
            pool, adaptive = self._pool(content)
        assigned = content.assigned
        documents = {
            topic: pool[topic]
            for topic in content.topics
            if topic in pool and (not assigned or topic in assigned.get(name, ()))
        }
        if self._settings.mode == "preferences":
            plan = PreferenceWorkflow(documents, name, self._settings)
        else:
            plan = GradingWorkflow(documents, name, self._settings, adaptive)
        keys = TaskKeys(self._secret, name, documents)
        return _SessionState(content, AssessorSession(documents, plan, events), keys, documents)

    def _disputed_documents(
        self, content: _Content, earlier: Collection[tuple[str, str]]
    ) -> dict[str, dict[str, None]]:
        """Return the documents on which assessors disagree, unless another adjudicator decided."""
        disputed = disagreements(
            read_grades(self._reader), adjudicated_decisions(self._reader), include_adjudicated=True
        )
        documents: dict[str, dict[str, None]] = {topic: {} for topic in content.topics}
        for entry in disputed:
            if entry.decided is None or (entry.topic, entry.document) in earlier:
                documents[entry.topic][entry.document] = None
        return {
            topic: topic_documents
            for topic, topic_documents in documents.items()
            if topic_documents
        }

    def _pool(self, content: _Content) -> tuple[dict[str, dict[str, None]], AdaptiveOrder | None]:
        """Return the documents to be judged by topic, which sessions share, and their order."""
        if self._pooled is None or self._pooled[0] is not content:
            documents: dict[str, dict[str, None]] = {}
            for topic, document in self._reader.read(
                "SELECT topic, document FROM pooled WHERE sampled ORDER BY position, document"
            ):
                documents.setdefault(topic, {})[sys.intern(document)] = None
            self._pooled = content, documents, adaptive_order(self._reader)
        return self._pooled[1:]

    def summary(self) -> str:
        """Return a sentence about the documents to be judged."""
        grouping = "in pairs" if self._settings.mode == "preferences" else "one by one"
        order = "in random order" if self._settings.order == "random" else "in the pool's order"
        if self._settings.mode == "grades" and has_adaptive_order(self._reader):
            order = "in adaptive order"
        names = [name for name in self.names.values() if name not in self._adjudicators]
        n_documents, n_topics = count_pooled(self._reader, names) if names else (0, 0)
        counts = f"{n_documents} documents of {n_topics} topics"
        sentences = [f"{counts} are pooled; judged {grouping}, {order}"] if names else []
        for name in sorted(self._adjudicators):
            with self._open_session(name) as state:
                n_open = state.session.progress().remaining
            sentences.append(
                f"{name} adjudicates; {format_count(n_open, 'documents')} are disputed"
            )
        return "; ".join(sentences)

    def has_link(self, slug: str, token: str) -> bool:
        """Return whether a token belongs to the assessor, without looking into the file."""
        digest, hashes = token_digest(token), self._hashes.get(self.names.get(slug, ""), ())
        return any(hmac.compare_digest(digest, stored) for stored in hashes)

    def is_valid_link(self, slug: str, token: str) -> bool:
        """Return whether a token belongs to the assessor."""
        self._refresh()
        return self.has_link(slug, token)

    # ------------------------------------------------------------------------------------- keys

    def _key(self, state: _SessionState, task: JudgingTask) -> str:
        """Return the opaque key of a task."""
        documents = [task.document, *([task.other_document] if task.other_document else [])]
        return ".".join(
            state.keys.key(task.topic, document, is_repeat=task.is_repeat) for document in documents
        )

    def _task(self, state: _SessionState, key: object) -> JudgingTask:
        components = (
            [state.keys.find(component) for component in key.split(".")]
            if isinstance(key, str) and key.count(".") <= 1
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

    def _is_known(self, state: _SessionState, event: LoggedEvent) -> bool:
        documents = state.documents.get(event.topic, {})
        return event.document in documents and (
            event.other_document is None or event.other_document in documents
        )

    # ----------------------------------------------------------------------------- data of pages

    def session(self, name: str, topic: str | None = None) -> dict[str, Any]:
        """Return the initial data of the page."""
        if name in self._adjudicators:
            with self._locks[name]:
                self._states.pop(name, None)
        with self._open_session(name) as state:
            session = state.session
            acts = [
                event for event in session.last_actions(N_UNDOABLE) if self._is_known(state, event)
            ]
            return {
                "campaign": self._info.name,
                "id": self.id,
                "assessor": name,
                "mode": "adjudication" if name in self._adjudicators else self._settings.mode,
                "grades": [
                    {"grade": grade, "meaning": meaning}
                    for grade, meaning in self._info.grades.items()
                ],
                "topics": [
                    self._topic(session, state.content.topics[topic_name])
                    for topic_name in session.topics
                ],
                "acts": [self._action_to_json(state, event) for event in acts],
                **self._next_tasks(state, topic),
            }

    def _topic(self, session: AssessorSession, topic: Topic) -> dict[str, Any]:
        return {
            "topic": topic.topic,
            "title": topic.title or topic.topic,
            "description": topic.description,
            "narrative": topic.narrative,
            "keywords": topic.keywords,
            "structure": parse_structure(topic),
            "terms": topic_terms(topic),
            "progress": _progress_to_json(session.progress(topic.topic)),
        }

    def _action_to_json(self, state: _SessionState, event: LoggedEvent) -> dict[str, Any]:
        task = event_task(event)
        judged = state.session.history.judged.get(task.canonical, [])
        before = [each for each in judged if each.event < event.event]
        return {
            "id": event.id,
            "task": self._key(state, task),
            "kind": event.kind,
            "before": _judgment_to_json(before[-1], task)
            if before and event.kind != "skip"
            else None,
        }

    def _next_tasks(self, state: _SessionState, topic: str | None) -> dict[str, Any]:
        session = state.session
        return {
            "queue": [self._key(state, task) for task in session.upcoming(N_AHEAD, topic)],
            "progress": _progress_to_json(session.progress()),
        }

    def next_tasks(self, name: str, topic: str | None = None) -> dict[str, Any]:
        """Return the next tasks, those of a topic first."""
        with self._open_session(name) as state:
            return self._next_tasks(state, topic)

    def tasks(self, name: str, keys: Sequence[str]) -> list[dict[str, Any]]:
        """Return tasks with their documents: at least one, and more while their size permits."""
        task_rows: list[dict[str, Any]] = []
        characters = 0
        with self._open_session(name) as state:
            past = state.session.history
            for key in keys[:N_AHEAD]:
                task = self._task(state, key)
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
                if name in self._adjudicators:
                    task_rows[-1]["given"] = self._grades_of_persons(name, task)
        return task_rows

    def _grades_of_persons(self, adjudicator: str, task: JudgingTask) -> list[dict[str, Any]]:
        """Return the grades and notes of all persons, for an adjudicator."""
        kinds = {name: entry.kind for name, entry in self._reader.assessors().items()}
        notes = dict(
            self._reader.read(
                "SELECT assessor, note FROM standing WHERE kind = 'note' AND other IS NULL "
                "AND again = 0 AND topic = ? AND document = ? ORDER BY event",
                (task.topic, task.document),
            )
        )
        return [
            {"assessor": j.assessor, "grade": j.grade, "note": notes.get(j.assessor) or ""}
            for j in self._reader.judgments(
                topic=task.topic, document=task.document, is_repeat=False
            )
            if kinds[j.assessor] == "person" and j.assessor != adjudicator
        ]

    def _document(self, name: str) -> tuple[dict[str, Any], int]:
        """Return the data of a document for the page, and the number of characters of its text."""
        stored = self._reader.document(name)
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
        with self._open_session(name) as state:
            task = self._task(state, key)
        document = task.other_document if document_index else task.document
        stored = None if document is None else self._reader.document(document)
        if stored is None or stored.media not in MEDIA or not stored.media.startswith("image/"):
            return None
        return stored.media, stored.body

    def list_tasks(self, name: str) -> dict[str, Any]:
        """Return the skipped and the judged tasks, the latest first."""
        with self._open_session(name) as state:
            session = state.session
            judged = [event for event in session.judged() if self._is_known(state, event)]
            return {
                "aside": [self._task_summary(state, task, None) for task in session.skipped()],
                "judged": [self._task_summary(state, event_task(e), e) for e in reversed(judged)],
            }

    def _task_summary(
        self, state: _SessionState, task: JudgingTask, event: LoggedEvent | None
    ) -> dict[str, Any]:
        documents = [d for d in (task.document, task.other_document) if d is not None]
        marks = ", ".join("?" * len(documents))
        title_by_document = dict(
            self._reader.read(
                f"SELECT document, title FROM documents WHERE document IN ({marks})", documents
            )
        )
        return {
            "task": self._key(state, task),
            "topic": task.topic,
            "titles": [title_by_document.get(document) or document for document in documents],
            "grade": None if event is None else event.grade,
            "note": state.session.history.note(task),
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
        with self._open_session(name) as state:
            task, event = self._event(state, name, data)
            try:
                number, new = self._campaign.record(event)
            except EditConflict:
                raise
            except InputError as error:
                if isinstance(error.__context__, sqlite3.Error):
                    raise BusyError(str(error)) from error
                raise
            if new:
                with self._lock:
                    self.n_recorded += 1
            self._follow(name)
            current = state.session.history.current(task)
            return {
                "id": event.id,
                "event": number,
                "current": current and _judgment_to_json(current, task),
                "topic": {
                    "topic": task.topic,
                    "progress": _progress_to_json(state.session.progress(task.topic)),
                },
                **self._next_tasks(state, topic),
            }

    def _event(
        self, state: _SessionState, name: str, data: Mapping[str, Any]
    ) -> tuple[JudgingTask, Event]:
        """Convert the data from a page to an event."""
        kind: Any = data.get("kind")
        event_id, replaces = data.get("id"), data.get("replaces")
        if kind not in _KINDS:
            raise InputError(f"kind {format_value(kind)}, expected one of {', '.join(_KINDS)}")
        if not isinstance(event_id, str) or not _ID.fullmatch(event_id):
            raise InputError(f"id {format_value(event_id)}, expected a UUID")
        task = self._task(state, data.get("task"))
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
        if kind == "grade" and name in self._adjudicators:
            kind = "adjudication"
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
            grade=grade if kind in ("grade", "preference", "adjudication") else None,
            note=note if kind == "note" else None,
            seconds=seconds,
            display_position=state.session.position(task),
            is_repeat=task.is_repeat,
            replaces=None if replaces is None else self._event_number(replaces),
        )

    def _event_number(self, event_id: object) -> int:
        rows = isinstance(event_id, str) and self._reader.read(
            "SELECT event FROM events WHERE id = ?", (event_id,)
        )
        if not rows:
            raise InputError(f"replaces {format_value(event_id)}, which is not an event")
        number: int = rows[0][0]
        return number

    def _read_events(self, condition: str, values: Sequence[object]) -> Iterator[LoggedEvent]:
        columns = list_columns(LoggedEvent._fields)
        for row in self._reader.read(
            f"SELECT {columns} FROM events WHERE {condition} ORDER BY event", values
        ):
            *start, assessor, topic, document, other_document, kind = row[:8]
            names = map(sys.intern, (assessor, topic, document))  # one string for all events
            yield LoggedEvent._make(
                (
                    *start,
                    *names,
                    other_document,
                    sys.intern(kind),
                    *row[8:12],
                    bool(row[12]),
                    row[13],
                )
            )

    def current_judgment(
        self, name: str, key: object, conflict: EditConflict
    ) -> dict[str, Any] | None:
        """Return the current judgment, which the page did not know."""
        if conflict.event is None:
            return None
        with self._open_session(name) as state:
            (event,) = self._read_events("event = ?", (conflict.event,))
            return _judgment_to_json(event, self._task(state, key))


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


def count_pooled(campaign: Campaign, assessors: Iterable[str]) -> tuple[int, int]:
    """Return the numbers of documents to be judged by assessors, and of their topics."""
    assigned = campaign.assignments()
    topics = {topic for assessor in assessors for topic in assigned.get(assessor, ())}
    counts = [
        count
        for topic, count in campaign.read(
            "SELECT topic, count(*) FROM pooled WHERE sampled GROUP BY topic"
        )
        if not assigned or topic in topics
    ]
    return sum(counts), len(counts)


_SLUG = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]{0,40}")

#: Key of the display settings in the table ``about``.
_SETTINGS_KEY = "judging"
#: Settings by the names that they had in earlier files.
_FORMER_SETTINGS = {"gap": "repeat_distance", "least": "min_grade"}


def get_secret(campaign: Campaign) -> bytes:
    """Return the secret of a campaign, which is made when it is first judged."""
    sql = "SELECT value FROM about WHERE key = ?"
    if not campaign.read(sql, (SECRET_KEY,)):
        with campaign.write() as connection:  # (another process may be first)
            connection.execute(
                "INSERT OR IGNORE INTO about VALUES (?, ?)", (SECRET_KEY, secrets.token_hex(32))
            )
    ((secret,),) = campaign.read(sql, (SECRET_KEY,))
    return campaign.decode("the secret", bytes.fromhex, secret)


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
        digests = [] if revoke_others else (earlier_digests or "").split()
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
