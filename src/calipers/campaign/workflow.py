"""Workflow of an assessor: the next tasks and the progress, without files or pages.

An :class:`AssessorSession` is the state of one assessor: their events, replayed over the order in
which their documents are presented. The next task depends on nothing else, so that a server that
was killed continues from the same state.

Documents are graded one by one, or compared in pairs by a merge sort whose comparisons are
judgments. All merges that wait for a comparison request it at the same time, so that there are
many pairs at first, at most n·log₂(n) − n + 1 in total, and none is repeated. Equivalent documents
stay together.

A pool may have hundreds of thousands of documents, so that what an event changes is updated, and
nothing is counted again: each topic has a :class:`TopicQueue`.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import chain, islice
from json.encoder import encode_basestring_ascii
from statistics import median
from typing import Literal, NamedTuple, Protocol, TypeAlias

import numpy as np

from calipers.campaign.events import MAX_SECONDS
from calipers.campaign.records import LoggedEvent, Topic
from calipers.data.errors import InputError, format_value
from calipers.lazy_dataclasses import dataclass

#: Orders of presentation of the documents of a topic.
ORDERS = ("random", "pool")

#: Number of last judgments whose durations are used, and the minimum number for an estimate.
_MAX_RECENT, _MIN_TIMES = 50, 3

#: Adaptive order of a topic (move-to-front, a bandit): from the topic, the grades so far and the
#: documents to exclude, it yields the documents to display next, one after the other, until the
#: topic ends.
AdaptiveOrder: TypeAlias = Callable[[str, Mapping[str, int], frozenset[str]], Iterable[str]]


@dataclass(frozen=True)
class DisplaySettings:
    """Settings of the presentation of documents.

    ``mode`` is one by one, for grades, or two next to each other, for preferences. ``order`` is
    "random", a different order for each assessor, which depends on ``seed``, or "pool", that of
    the pooling method. ``repeats`` is the proportion of documents that are repeated, for
    intra-assessor agreement, after at least ``repeat_distance`` others of the topic (half of
    the topic if it is short). With ``min_grade``, preferences are requested only among documents
    that the assessor graded this or higher.
    """

    mode: Literal["grades", "preferences"] = "grades"
    order: Literal["random", "pool"] = "random"
    seed: int = 0
    repeats: float = 0.05
    repeat_distance: int = 10
    min_grade: int | None = None

    def __post_init__(self) -> None:
        if self.mode not in ("grades", "preferences"):
            raise InputError(f"mode {format_value(self.mode)}, expected grades or preferences")
        if self.order not in ORDERS:
            raise InputError(f"order {format_value(self.order)}, expected {' or '.join(ORDERS)}")
        if not 0 <= self.repeats <= 1:
            raise InputError(
                f"repeats {format_value(self.repeats)}, expected a proportion from 0 to 1"
            )
        if self.repeat_distance < 1:
            raise InputError(
                f"repeat_distance {format_value(self.repeat_distance)}, expected 1 or more"
            )


class JudgingTask(NamedTuple):
    """Unit of judgment: a document of a topic, or a pair; a planted repeat if ``is_repeat``."""

    topic: str
    document: str
    other_document: str | None = None
    is_repeat: bool = False

    @property
    def is_pair(self) -> bool:
        """Whether two documents are compared."""
        return self.other_document is not None

    @property
    def canonical(self) -> JudgingTask:
        """Canonical form of the task, which is the same for either order of a pair."""
        if self.other_document is None or self.document <= self.other_document:
            return self
        return self._replace(document=self.other_document, other_document=self.document)


def event_task(event: LoggedEvent) -> JudgingTask:
    """Return the task of an event."""
    return JudgingTask(event.topic, event.document, event.other_document, event.is_repeat)


def hash_draw(seed: int, *keys: str | int | None) -> int:
    """Return a 64-bit pseudo-random number that depends only on the arguments.

    >>> hash_draw(0, "ann", "t1", "d1") == hash_draw(0, "ann", "t1", "d1")
    True
    >>> hash_draw(0, "ann", "t1", "d1") == hash_draw(1, "ann", "t1", "d1")
    False
    """
    encoded = json.dumps([seed, *keys]).encode()  # unlike a join, this separates the keys
    return int.from_bytes(hashlib.sha256(encoded).digest()[:8], "big")


def hash_draws(seed: int, *keys: str, documents: Iterable[str]) -> Iterator[int]:
    """Yield :func:`hash_draw` of the keys and each document; common keys are hashed once.

    >>> next(hash_draws(0, "ann", "t1", documents=["d1"])) == hash_draw(0, "ann", "t1", "d1")
    True
    """
    start = hashlib.sha256(f"{json.dumps([seed, *keys])[:-1]}, ".encode())
    for document in documents:
        state = start.copy()
        state.update(f"{encode_basestring_ascii(document)}]".encode())
        yield int.from_bytes(state.digest()[:8], "big")


def presentation_order(
    documents: Collection[str], topic: str, assessor: str, settings: DisplaySettings
) -> list[str]:
    """Return the documents of a topic in the order of an assessor; ``documents`` are in pool order.

    A random order sorts by a number drawn for each document, so that a document that is pooled
    later does not move any other.

    >>> presentation_order(["a", "b", "c"], "t", "ann", DisplaySettings())
    ['a', 'c', 'b']
    >>> presentation_order(["a", "b"], "t", "ann", DisplaySettings())
    ['a', 'b']
    >>> presentation_order(["a", "b", "c"], "t", "ann", DisplaySettings(order="pool"))
    ['a', 'b', 'c']
    """
    if settings.order == "pool":
        return list(documents)
    draws = hash_draws(settings.seed, "order", assessor, topic, documents=documents)
    return [document for _, document in sorted(zip(draws, documents, strict=True))]


def effective_gap(documents: int, settings: DisplaySettings) -> int:
    """Return the minimum number of other documents of a topic between a document and its repeat."""
    return min(settings.repeat_distance, documents // 2)


def plant_repeats(
    orders: Mapping[str, Sequence[str]], assessor: str, settings: DisplaySettings
) -> set[JudgingTask]:
    """Return the tasks that are repeated.

    They are the requested proportion of all documents of an assessor, rounded up, among those that
    leave enough documents for the gap.
    """
    n_repeats = math.ceil(settings.repeats * sum(map(len, orders.values())))
    candidates = {
        topic: documents[: len(documents) - effective_gap(len(documents), settings)]
        for topic, documents in orders.items()
        if n_repeats and len(documents) > 3
    }
    keys = [(topic, document) for topic, documents in candidates.items() for document in documents]
    draws = np.fromiter(
        chain.from_iterable(
            hash_draws(settings.seed, "again", assessor, topic, documents=documents)
            for topic, documents in candidates.items()
        ),
        np.uint64,
        len(keys),
    )
    if n_repeats < len(keys):  # not all have to be sorted
        smallest = np.flatnonzero(draws <= np.partition(draws, n_repeats - 1)[n_repeats - 1])
    else:
        smallest = np.arange(len(keys))
    first = sorted((int(draws[i]), *keys[i]) for i in smallest.tolist())
    return {
        JudgingTask(topic, document, is_repeat=True) for _, topic, document in first[:n_repeats]
    }


# ------------------------------------------------------------------------------------- past events


#: State of a task: neither judged nor skipped, skipped and not judged since, or judged.
TaskState: TypeAlias = Literal["open", "skipped", "judged"]

#: Kinds of events that assessors do not undo with the last action.
_NOT_ACTIONS = ("note", "import")


@dataclass
class AssessorHistory:
    """Events of an assessor that are not undone.

    Judgments, skips and notes are by task, the latest last. ``actions`` are those that the assessor
    can undo, in order; ``others`` are notes and imported judgments.
    """

    judged: dict[JudgingTask, list[LoggedEvent]] = field(default_factory=dict)
    skips: dict[JudgingTask, list[LoggedEvent]] = field(default_factory=dict)
    notes: dict[JudgingTask, list[LoggedEvent]] = field(default_factory=dict)
    actions: dict[int, LoggedEvent] = field(default_factory=dict)
    others: dict[int, LoggedEvent] = field(default_factory=dict)
    _tasks: dict[tuple[str, bool], dict[JudgingTask, None]] = field(default_factory=dict)

    def subject(self, event: LoggedEvent) -> JudgingTask:
        """Return the task whose state the event may change: for an undo, that of the undone one."""
        if event.kind == "undo":
            number = event.replaces or 0
            event = self.actions.get(number) or self.others.get(number) or event
        return event_task(event).canonical

    def apply(self, event: LoggedEvent) -> None:
        """Apply the next event."""
        task = self.subject(event)
        if event.kind == "undo":
            number = event.replaces or 0
            undone = self.actions.pop(number, None) or self.others.pop(number, None)
            if undone is not None:
                events_by_task = self._events_by_task(undone.kind)
                assert events_by_task is not None
                events_by_task[task] = [e for e in events_by_task[task] if e.event != undone.event]
                if not events_by_task[task]:
                    del events_by_task[task]
                    if events_by_task is self.judged:
                        del self._tasks[task.topic, task.is_pair][task]
            return
        events_by_task = self._events_by_task(event.kind)
        if events_by_task is not None:
            events_by_task.setdefault(task, []).append(event)
            if events_by_task is self.judged:
                self._tasks.setdefault((task.topic, task.is_pair), {})[task] = None
            (self.others if event.kind in _NOT_ACTIONS else self.actions)[event.event] = event

    def _events_by_task(self, kind: str) -> dict[JudgingTask, list[LoggedEvent]] | None:
        events_by_kind = {
            "skip": self.skips,
            "note": self.notes,
            "undo": None,
        }
        return events_by_kind.get(kind, self.judged)

    def judged_tasks(self, topic: str, *, pairs: bool = False) -> Collection[JudgingTask]:
        """Return the judged documents or pairs of a topic, in the order of their first judgment."""
        return self._tasks.get((topic, pairs), {})

    def current(self, task: JudgingTask) -> LoggedEvent | None:
        """Return the current judgment."""
        return self.judged.get(task.canonical, [None])[-1]

    def note(self, task: JudgingTask) -> str:
        """Return the current note; a repeat has its own."""
        notes = self.notes.get(task.canonical)
        return (notes[-1].note or "") if notes else ""

    def state(self, task: JudgingTask) -> TaskState:
        """Return the state of a task."""
        task = task.canonical
        return "judged" if task in self.judged else "skipped" if task in self.skips else "open"

    def is_skipped(self, task: JudgingTask) -> bool:
        """Return whether the task was skipped and not judged since."""
        return self.state(task) == "skipped"

    def is_open(self, task: JudgingTask) -> bool:
        """Return whether the task was neither judged nor skipped."""
        return self.state(task) == "open"

    def grades(self, topic: str) -> dict[str, int]:
        """Return the current grades of a topic without repeats, in the order first given."""
        return {
            task.document: grade
            for task in self.judged_tasks(topic)
            if not task.is_repeat and (grade := self.judged[task][-1].grade) is not None
        }


class TopicQueue(Protocol):
    """Open tasks of a topic, which follow the events of one assessor."""

    def upcoming(self) -> Iterator[JudgingTask]:
        """Yield the open tasks in presentation order, as far as it is known.

        Later tasks may depend on current judgments.
        """

    def n_open(self) -> int:
        """Return the number of open tasks; an upper bound if it depends on judgments."""

    def update(self, task: JudgingTask, before: TaskState, after: TaskState) -> None:
        """Follow an event, which the history has applied: the state of its task has changed."""


class JudgingPlan(Protocol):
    """Plan of the tasks of an assessor: documents, or ``has_pairs`` of them."""

    has_pairs: bool

    def queue(self, topic: str, past: AssessorHistory) -> TopicQueue:
        """Return the queue of a topic after the events of an assessor so far."""


class GradingWorkflow:
    """Plan of documents graded one by one."""

    has_pairs = False

    def __init__(
        self,
        documents: Mapping[str, Collection[str]],
        assessor: str,
        settings: DisplaySettings,
        adaptive: AdaptiveOrder | None = None,
    ) -> None:
        self.documents, self.adaptive, self.settings = documents, adaptive, settings
        self.orders = {
            topic: list(topic_documents)
            if adaptive
            else presentation_order(topic_documents, topic, assessor, settings)
            for topic, topic_documents in documents.items()
        }
        self.repeats: dict[str, set[str]] = {}
        for task in plant_repeats(self.orders, assessor, settings):
            self.repeats.setdefault(task.topic, set()).add(task.document)

    def queue(self, topic: str, past: AssessorHistory) -> TopicQueue:
        """Return the queue of a topic after the events of an assessor so far."""
        return _GradingQueue(self, topic, past)


class _GradingQueue:
    """Documents in order, and a repeat as soon as enough others have come in between."""

    def __init__(self, plan: GradingWorkflow, topic: str, past: AssessorHistory) -> None:
        self._plan, self._topic, self._past = plan, topic, past
        self._documents, self._order = plan.documents.get(topic, ()), plan.orders.get(topic, [])
        self._planted = plan.repeats.get(topic, set())
        self._min_gap = effective_gap(len(self._order), plan.settings)
        # All before this position are judged or skipped.
        self._start = 0
        self._n_documents = sum(1 for d in self._order if past.is_open(JudgingTask(topic, d)))
        self._open_repeats = set[str]()
        for document in self._planted:
            self._count_repeat(document)
        self._n_open: int | None = None
        self._adaptive_order: list[str] | None = None
        self._replay()

    def _repeat(self, document: str) -> JudgingTask:
        return JudgingTask(self._topic, document, is_repeat=True)

    def _count_repeat(self, document: str) -> None:
        """Count the repeat of a document if it is planted and open, unless it waits for a skip."""
        if document in self._planted:
            is_waiting = self._past.is_skipped(JudgingTask(self._topic, document))
            if self._past.is_open(self._repeat(document)) and not is_waiting:
                self._open_repeats.add(document)
            else:
                self._open_repeats.discard(document)

    def _replay(self) -> None:
        """Count the judgments in their order, and find from which count a repeat may come."""
        self._n_done, self._last = 0, ""
        self._ready_at = dict[str, int]()
        for task in self._past.judged_tasks(self._topic):
            self._append(task)

    def _append(self, task: JudgingTask) -> None:
        self._n_done, self._last = self._n_done + 1, task.document
        if task.is_repeat:
            self._ready_at.pop(task.document, None)
        elif (
            task.document in self._planted and self._repeat(task.document) not in self._past.judged
        ):
            self._ready_at[task.document] = self._n_done + self._min_gap

    def update(self, task: JudgingTask, before: TaskState, after: TaskState) -> None:
        """Follow an event, which the history has applied."""
        self._n_open = self._adaptive_order = None
        if task.is_pair or before == after:
            return
        self._count_repeat(task.document)
        if not task.is_repeat and task.document in self._documents:
            self._n_documents += (after == "open") - (before == "open")
            if after == "open":
                self._start = min(self._start, self._order.index(task.document))
        if after == "judged":
            self._append(task)
        elif before == "judged":
            self._replay()

    def _open_documents(self) -> Iterator[str]:
        """Yield the open documents in order."""
        past, topic = self._past, self._topic
        if self._plan.adaptive is not None:
            if self._adaptive_order is None:
                skipped = frozenset(
                    d for d in self._order if past.is_skipped(JudgingTask(topic, d))
                )
                self._adaptive_order = [
                    document
                    for document in self._plan.adaptive(topic, past.grades(topic), skipped)
                    if past.is_open(JudgingTask(topic, document))
                ]
            yield from self._adaptive_order
            return
        while self._start < len(self._order):
            if past.is_open(JudgingTask(topic, self._order[self._start])):
                break
            self._start += 1
        for document in islice(self._order, self._start, None):
            if past.is_open(JudgingTask(topic, document)):
                yield document

    def upcoming(self) -> Iterator[JudgingTask]:
        """Yield documents in order, and a repeat as soon as enough others have come in between."""
        n_done, last = self._n_done, self._last
        # By ascending count.
        ready = deque(
            (document, count)
            for document, count in self._ready_at.items()
            if self._past.is_open(self._repeat(document))
        )
        documents = self._open_documents()
        while True:
            if not ready or ready[0][1] > n_done:
                first = next(documents, None)
                if first is not None:
                    yield JudgingTask(self._topic, first)
                    n_done, last = n_done + 1, first
                    if first in self._planted and self._past.is_open(self._repeat(first)):
                        ready.append((first, n_done + self._min_gap))
                    continue
            if not ready:
                return
            second, _ = ready.popleft()
            if second != last:  # an immediate repeat would be uninformative
                yield self._repeat(second)
                n_done, last = n_done + 1, second

    def n_open(self) -> int:
        """Return the number of open tasks."""
        if self._n_open is None:
            # A repeat is dropped if it would follow immediately, which is impossible before the
            # last documents: they have none.
            ends_with_document = self._plan.adaptive is None and any(
                self._past.is_open(JudgingTask(self._topic, document))
                for document in self._order[len(self._order) - self._min_gap :]
            )
            self._n_open = (
                self._n_documents + len(self._open_repeats)
                if ends_with_document
                else sum(1 for _ in self.upcoming())
            )
        return self._n_open


class Progress(NamedTuple):
    """Progress of an assessor; ``seconds`` is the time left, None until it can be estimated."""

    done: int
    remaining: int
    skipped: int
    seconds: float | None


class AssessorSession:
    """State of one assessor; events of another mode are not displayed."""

    def __init__(
        self, topics: Iterable[str], plan: JudgingPlan, events: Iterable[LoggedEvent] = ()
    ) -> None:
        self.topics, self._plan, self.history = list(topics), plan, AssessorHistory()
        for event in events:
            self.history.apply(event)
        self._queues = {topic: plan.queue(topic, self.history) for topic in self.topics}
        self._n_skipped = Counter(task.topic for task in self.skipped())
        self._time: tuple[float | None] | None = None

    def apply(self, event: LoggedEvent) -> None:
        """Apply a recorded event."""
        task = self.history.subject(event)
        before = self.history.state(task)
        self.history.apply(event)
        if task.topic in self._queues:
            after = self.history.state(task)
            self._queues[task.topic].update(task, before, after)
            if self._is_included(task):
                self._n_skipped[task.topic] += (after == "skipped") - (before == "skipped")
        self._time = None

    def _is_included(self, task: JudgingTask) -> bool:
        return task.topic in self._queues and task.is_pair == self._plan.has_pairs

    def upcoming(self, count: int, topic: str | None = None) -> list[JudgingTask]:
        """Return the next tasks: of ``topic``, of the topics after it, then of those before."""
        start = self.topics.index(topic) if topic in self._queues else 0
        queues = (self._queues[each] for each in self.topics[start:] + self.topics[:start])
        tasks = (task for queue in queues if queue.n_open() for task in queue.upcoming())
        return list(islice(tasks, count))

    def skipped(self) -> list[JudgingTask]:
        """Return the skipped tasks, the earliest first."""
        return [
            event_task(skips[-1])
            for task, skips in self.history.skips.items()
            if self._is_included(task) and self.history.is_skipped(task)
        ]

    def judged(self) -> list[LoggedEvent]:
        """Return the current judgments, the latest last."""
        current = [
            judgments[-1]
            for task, judgments in self.history.judged.items()
            if self._is_included(task)
        ]
        return sorted(current, key=lambda event: event.event)

    def last_actions(self, count: int) -> list[LoggedEvent]:
        """Return the last events that the assessor can undo, the latest last, without notes."""
        events = (
            event
            for event in reversed(self.history.actions.values())
            if self._is_included(event_task(event))
        )
        return list(islice(events, count))[::-1]

    def position(self, task: JudgingTask) -> int:
        """Return the position of a task in the assessor's own order, from 1."""
        first = self.history.judged.get(task.canonical)
        if first and first[0].display_position is not None:
            return first[0].display_position
        return sum(map(self._n_judged, self.topics)) + 1

    def _n_judged(self, topic: str) -> int:
        return len(self.history.judged_tasks(topic, pairs=self._plan.has_pairs))

    def progress(self, topic: str | None = None) -> Progress:
        """Return the progress of the assessor, on all topics or on one.

        The time left is the median of the last 50 times, multiplied by the number of tasks left.
        """
        topics = self.topics if topic is None else [topic] if topic in self._queues else []
        done = sum(map(self._n_judged, topics))
        remaining = sum(self._queues[each].n_open() for each in topics)
        skipped = sum(self._n_skipped[each] for each in topics)
        seconds = self._median_seconds()
        return Progress(
            done,
            remaining,
            skipped,
            None if seconds is None else seconds * (remaining + skipped),
        )

    def _median_seconds(self) -> float | None:
        """Return the median of the last times, which an event changes; None for too few."""
        if self._time is None:
            times = [
                min(e.seconds, MAX_SECONDS)  # files of earlier versions may have more
                for e in self.last_actions(_MAX_RECENT)
                if e.kind != "skip" and e.seconds is not None
            ]
            self._time = (median(times) if len(times) >= _MIN_TIMES else None,)
        return self._time[0]


# ---------------------------------------------------------------------------------- query terms


#: Stop words, which do not describe an information need.
_STOP_WORDS = frozenset(
    """
    a an and are as at be been but by can could do does did for from had has have how i in into
    is it its me my no nor not of on or our shall should so such than that the their them then there
    these they this those to up was we were what when where which who whom why will with would you
    your about any all also between find documents document relevant
    """.split()  # noqa: SIM905 (nobody reads a list of a hundred literals)
)
_WORD = re.compile(r"(-?)([^\W_]+)")


def topic_terms(topic: Topic) -> list[str]:
    """Return the words of title and keywords to be highlighted in documents, in lower case.

    Words that a title excludes (``-term``) and stop words are omitted.

    >>> topic_terms(Topic("1", title="the cost of silicon chips -potato", keywords="wafers, chips"))
    ['cost', 'silicon', 'chips', 'wafers']
    """
    words = dict.fromkeys(
        word.lower()
        for text in (topic.title, topic.keywords)
        for minus, word in _split_excluded(text)
        if not minus
    )
    return [
        word for word in words if word not in _STOP_WORDS and (len(word) > 1 or not word.isascii())
    ]


def _split_excluded(text: str) -> Iterator[tuple[bool, str]]:
    """Yield words, and whether they are excluded by a preceding minus that is not a hyphen."""
    for match in _WORD.finditer(text):
        before = text[match.start() - 1 : match.start()] if match.start() else " "
        yield bool(match[1]) and before.isspace(), match[2]


def parse_structure(topic: Topic) -> list[str]:
    """Return the structural parts of a content-and-structure topic as text.

    They are the target element, and words with the element that should contain them.

    >>> clauses = [{"te": "article"}, {"cw": "belief revision", "ce": "bdy/sec"}, {"cw": "-tax"}]
    >>> parse_structure(Topic("9", kind="CAS", details={"parts": clauses}))
    ['article', 'belief revision in bdy/sec', '-tax']
    """
    raw_parts = topic.details.get("parts")
    components = (
        [component for component in raw_parts if isinstance(component, dict)]
        if isinstance(raw_parts, list)
        else []
    )
    descriptions = []
    for component in components:
        words, element = component.get("cw"), component.get("ce")
        description = " in ".join(str(each) for each in (words, element) if each)
        descriptions.append(str(component.get("te") or description))
    return [description for description in descriptions if description]


#: Documents that are equally good.
TiedDocuments = list[str]


class SortState(NamedTuple):
    """State of a merge sort.

    ``groups`` are from best to worst if the list is sorted, else None. ``pending`` are the
    comparisons to be made next, and ``max_remaining`` is an upper bound on their total number.
    """

    groups: list[TiedDocuments] | None
    pending: list[tuple[str, str]]
    max_remaining: int


def merge_sort(documents: Sequence[str], compare: Callable[[str, str], int | None]) -> SortState:
    """Sort as far as comparisons are known.

    ``compare`` returns 1 if the first document is better, −1 if the second is, 0 if neither is,
    and None if it is unknown.

    >>> merge_sort(["a", "b", "c", "d"], lambda a, b: None)
    SortState(groups=None, pending=[('a', 'b'), ('c', 'd')], max_remaining=5)
    >>> preferences = {("a", "b"): -1, ("c", "d"): 0}
    >>> merge_sort(["a", "b", "c", "d"], lambda a, b: preferences.get((a, b)))
    SortState(groups=None, pending=[('b', 'c')], max_remaining=2)
    """
    if len(documents) <= 1:
        return SortState([[d] for d in documents], [], 0)
    half = len(documents) // 2
    first, second = merge_sort(documents[:half], compare), merge_sort(documents[half:], compare)
    if first.groups is None or second.groups is None:
        # The number of groups of an unsorted half is unknown.
        sizes = [
            half if first.groups is None else len(first.groups),
            len(documents) - half if second.groups is None else len(second.groups),
        ]
        return SortState(
            None,
            first.pending + second.pending,
            first.max_remaining + second.max_remaining + sum(sizes) - 1,
        )
    return _merge_step(first.groups, second.groups, compare)


def _merge_step(
    first: Sequence[TiedDocuments],
    second: Sequence[TiedDocuments],
    compare: Callable[[str, str], int | None],
) -> SortState:
    groups: list[TiedDocuments] = []
    i = j = 0
    while i < len(first) and j < len(second):
        a, b = first[i], second[j]
        better = compare(a[0], b[0])
        if better is None:
            return SortState(None, [(a[0], b[0])], len(first) - i + len(second) - j - 1)
        groups.append([*(a if better >= 0 else ()), *(b if better <= 0 else ())])
        i, j = i + (better >= 0), j + (better <= 0)
    return SortState([*groups, *first[i:], *second[j:]], [], 0)


class PreferenceWorkflow:
    """Plan of documents compared in pairs, for an :class:`AssessorSession`."""

    has_pairs = True

    def __init__(
        self, documents: Mapping[str, Collection[str]], assessor: str, settings: DisplaySettings
    ) -> None:
        self._orders = {
            t: presentation_order(topic_documents, t, assessor, settings)
            for t, topic_documents in documents.items()
        }
        self._assessor, self.settings = assessor, settings

    def queue(self, topic: str, past: AssessorHistory) -> TopicQueue:
        """Return the queue of a topic after the events of an assessor so far."""
        return _PreferenceQueue(self, topic, past)

    def task(self, topic: str, a: str, b: str, *, is_repeat: bool = False) -> JudgingTask:
        """Return the pair, left document first; sides are random, and reversed in a repeat."""
        a, b = sorted((a, b))
        is_reversed = hash_draw(self.settings.seed, "side", self._assessor, topic, a, b) % 2 == 1
        return (
            JudgingTask(topic, b, a, is_repeat)
            if is_reversed != is_repeat
            else JudgingTask(topic, a, b, is_repeat)
        )

    def sort_state(self, topic: str, past: AssessorHistory) -> SortState:
        """Return the state of the merge sort of a topic."""
        documents = self._orders.get(topic, [])
        if self.settings.min_grade is not None:
            grades = past.grades(topic)
            documents = [d for d in documents if grades.get(d, -1) >= self.settings.min_grade]

        def compare(a: str, b: str) -> int | None:
            event = past.current(JudgingTask(topic, a, b))
            if event is None or event.grade is None:
                return None
            return event.grade if event.document == a else -event.grade

        return merge_sort(documents, compare)

    def repeat(self, task: JudgingTask) -> JudgingTask | None:
        """Return the repeat of a pair, if it is planted."""
        draw = hash_draw(self.settings.seed, "twice", self._assessor, *task[:3])
        if task.is_repeat or draw >= self.settings.repeats * 2**64:
            return None
        assert task.other_document is not None
        return self.task(task.topic, task.document, task.other_document, is_repeat=True)


class _PreferenceQueue:
    """Pairs that can be judged now, first those to be repeated."""

    def __init__(self, plan: PreferenceWorkflow, topic: str, past: AssessorHistory) -> None:
        self._plan, self._topic, self._past = plan, topic, past
        self._sort_state: SortState | None = None
        self._replay()

    def _replay(self) -> None:
        """Find the planted repeats of the judged pairs, with the positions of these."""
        self._n_judged, self._planted = 0, list[tuple[int, JudgingTask]]()
        for task in self._past.judged_tasks(self._topic, pairs=True):
            self._append(task)

    def _append(self, task: JudgingTask) -> None:
        if (second := self._plan.repeat(task)) is not None:
            self._planted.append((self._n_judged, second))
        self._n_judged += 1

    def update(self, task: JudgingTask, before: TaskState, after: TaskState) -> None:
        """Follow an event, which the history has applied."""
        self._sort_state = None
        if task.is_pair and before != after:
            if after == "judged":
                self._append(task)
            elif before == "judged":
                self._replay()

    def _sorted(self) -> SortState:
        if self._sort_state is None:
            self._sort_state = self._plan.sort_state(self._topic, self._past)
        return self._sort_state

    def _repeats(self) -> Iterator[JudgingTask]:
        """Yield the pairs to be repeated, once others have come in between."""
        min_gap = self._plan.settings.repeat_distance // 2
        for position, second in self._planted:
            if self._past.is_open(second) and self._n_judged - position > min_gap:
                yield second

    def _pending(self) -> Iterator[JudgingTask]:
        return (self._plan.task(self._topic, *pair) for pair in self._sorted().pending)

    def upcoming(self) -> Iterator[JudgingTask]:
        """Yield the pairs that can be judged now."""
        yield from self._repeats()
        yield from filter(self._past.is_open, self._pending())

    def n_open(self) -> int:
        """Return an upper bound on the number of open pairs.

        Pairs that wait for a skipped one are included.
        """
        n_skipped = sum(map(self._past.is_skipped, self._pending()))
        return self._sorted().max_remaining - n_skipped + sum(1 for _ in self._repeats())
