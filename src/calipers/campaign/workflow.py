"""Workflow of an assessor: the next tasks and the progress, without files or pages.

An :class:`AssessorSession` is the state of one assessor: their events, replayed over the order in
which their documents are presented. The next task depends on nothing else, so that a server that
was killed continues from the same state.

Documents are graded one by one, or compared in pairs by a merge sort whose comparisons are
judgments. All merges that wait for a comparison request it at the same time, so that there are
many pairs at first, at most n·log₂(n) − n + 1 in total, and none is repeated. Equivalent documents
stay together.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import islice
from statistics import median
from typing import Literal, NamedTuple, Protocol, TypeAlias

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


def presentation_order(
    documents: Sequence[str], topic: str, assessor: str, settings: DisplaySettings
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
    return sorted(
        documents, key=lambda d: (hash_draw(settings.seed, "order", assessor, topic, d), d)
    )


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
    candidates = [
        JudgingTask(topic, document, is_repeat=True)
        for topic, documents in orders.items()
        if len(documents) > 3
        for document in documents[: len(documents) - effective_gap(len(documents), settings)]
    ]
    candidates.sort(
        key=lambda t: (hash_draw(settings.seed, "again", assessor, t.topic, t.document), t)
    )
    return set(candidates[:n_repeats])


# ------------------------------------------------------------------------------------- past events


@dataclass
class AssessorHistory:
    """Events of an assessor that are not undone.

    Judgments, skips and notes are by task, the latest last; ``actions`` are all of them in order.
    """

    judged: dict[JudgingTask, list[LoggedEvent]] = field(default_factory=dict)
    skips: dict[JudgingTask, list[LoggedEvent]] = field(default_factory=dict)
    notes: dict[JudgingTask, list[LoggedEvent]] = field(default_factory=dict)
    actions: dict[int, LoggedEvent] = field(default_factory=dict)
    _topics: dict[str, dict[JudgingTask, None]] = field(default_factory=dict)

    def apply(self, event: LoggedEvent) -> None:
        """Apply the next event."""
        if event.kind == "undo":
            undone = self.actions.pop(event.replaces or 0, None)
            if undone is not None:
                events_by_task = self._events_by_task(undone.kind)
                assert events_by_task is not None
                task = event_task(undone).canonical
                events_by_task[task] = [e for e in events_by_task[task] if e.event != undone.event]
                if not events_by_task[task]:
                    del events_by_task[task]
                    if events_by_task is self.judged:
                        del self._topics[task.topic][task]
            return
        events_by_task = self._events_by_task(event.kind)
        if events_by_task is not None:
            task = event_task(event).canonical
            events_by_task.setdefault(task, []).append(event)
            if events_by_task is self.judged:
                self._topics.setdefault(task.topic, {})[task] = None
            self.actions[event.event] = event

    def _events_by_task(self, kind: str) -> dict[JudgingTask, list[LoggedEvent]] | None:
        events_by_kind = {
            "skip": self.skips,
            "note": self.notes,
            "adjudication": None,
            "undo": None,
        }
        return events_by_kind.get(kind, self.judged)

    def judged_tasks(self, topic: str) -> Iterable[JudgingTask]:
        """Return the judged tasks of a topic, in the order of their first judgment."""
        return self._topics.get(topic, ())

    def current(self, task: JudgingTask) -> LoggedEvent | None:
        """Return the current judgment."""
        return self.judged.get(task.canonical, [None])[-1]

    def note(self, task: JudgingTask) -> str:
        """Return the current note; a repeat has its own."""
        notes = self.notes.get(task.canonical)
        return (notes[-1].note or "") if notes else ""

    def is_skipped(self, task: JudgingTask) -> bool:
        """Return whether the task was skipped and not judged since."""
        return task.canonical in self.skips and task.canonical not in self.judged

    def is_open(self, task: JudgingTask) -> bool:
        """Return whether the task was neither judged nor skipped."""
        return task.canonical not in self.judged and task.canonical not in self.skips

    def grades(self, topic: str) -> dict[str, int]:
        """Return the current grades of a topic without repeats, in the order first given."""
        return {
            task.document: grade
            for task in self.judged_tasks(topic)
            if task.other_document is None and not task.is_repeat
            if (grade := self.judged[task][-1].grade) is not None
        }


class JudgingPlan(Protocol):
    """Plan of the tasks of an assessor: documents, or ``has_pairs`` of them."""

    has_pairs: bool

    def upcoming(self, topic: str, past: AssessorHistory) -> Iterator[JudgingTask]:
        """Yield the open tasks of a topic in presentation order, as far as it is known.

        Later tasks may depend on current judgments.
        """

    def n_open(self, topic: str, past: AssessorHistory) -> int:
        """Return the number of open tasks of a topic; an upper bound if it depends on judgments."""


class GradingWorkflow:
    """Plan of documents graded one by one."""

    has_pairs = False

    def __init__(
        self,
        documents: Mapping[str, Sequence[str]],
        assessor: str,
        settings: DisplaySettings,
        adaptive: AdaptiveOrder | None = None,
    ) -> None:
        self._orders = {
            topic: list(topic_documents)
            if adaptive
            else presentation_order(topic_documents, topic, assessor, settings)
            for topic, topic_documents in documents.items()
        }
        self._adaptive, self._settings = adaptive, settings
        self._repeats = plant_repeats(self._orders, assessor, settings)

    def _open_tasks(self, topic: str, past: AssessorHistory) -> Iterator[JudgingTask]:
        """Yield the open tasks other than repeats."""
        tasks = (JudgingTask(topic, document) for document in self._orders.get(topic, ()))
        if self._adaptive is None:
            return filter(past.is_open, tasks)
        skipped = frozenset(task.document for task in tasks if past.is_skipped(task))
        document_ids = self._adaptive(topic, past.grades(topic), skipped)
        return filter(past.is_open, (JudgingTask(topic, document) for document in document_ids))

    def upcoming(self, topic: str, past: AssessorHistory) -> Iterator[JudgingTask]:
        """Yield documents in order, and a repeat as soon as enough others have come in between."""
        min_gap = effective_gap(len(self._orders.get(topic, ())), self._settings)
        ready_at: dict[JudgingTask, int] = {}
        last, n_done = None, 0
        for task in past.judged_tasks(topic):
            if task.other_document is None:
                n_done, last = n_done + 1, task.document
                second = task._replace(is_repeat=True)
                if not task.is_repeat and second in self._repeats and past.is_open(second):
                    ready_at[second] = n_done + min_gap
        open_tasks = self._open_tasks(topic, past)
        while True:
            next_repeat = min(ready_at, key=lambda t: ready_at[t], default=None)
            if next_repeat is None or ready_at[next_repeat] > n_done:
                first = next(open_tasks, None)
                if first is not None:
                    yield first
                    n_done, last = n_done + 1, first.document
                    second = first._replace(is_repeat=True)
                    if second in self._repeats and past.is_open(second):
                        ready_at[second] = n_done + min_gap
                    continue
            if next_repeat is None:
                return
            del ready_at[next_repeat]
            if next_repeat.document != last:  # an immediate repeat would be uninformative
                yield next_repeat
                n_done, last = n_done + 1, next_repeat.document

    def n_open(self, topic: str, past: AssessorHistory) -> int:
        """Return the number of open tasks."""
        return sum(1 for _ in self.upcoming(topic, past))


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
        self._topic_set = frozenset(self.topics)
        self._counts: dict[str, tuple[int, int, int]] = {}
        for event in events:
            self.history.apply(event)

    def apply(self, event: LoggedEvent) -> None:
        """Apply a recorded event."""
        self.history.apply(event)
        self._counts.pop(event.topic, None)

    def _is_included(self, task: JudgingTask) -> bool:
        return (
            task.topic in self._topic_set
            and (task.other_document is not None) == self._plan.has_pairs
        )

    def upcoming(self, count: int, topic: str | None = None) -> list[JudgingTask]:
        """Return the next tasks: of ``topic``, of the topics after it, then of those before."""
        start = self.topics.index(topic) if topic in self.topics else 0
        topics = self.topics[start:] + self.topics[:start]
        tasks = (task for each in topics for task in self._plan.upcoming(each, self.history))
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
            if event.kind not in ("note", "import") and self._is_included(event_task(event))
        )
        return list(islice(events, count))[::-1]

    def position(self, task: JudgingTask) -> int:
        """Return the position of a task in the assessor's own order, from 1."""
        first = self.history.judged.get(task.canonical)
        if first and first[0].display_position is not None:
            return first[0].display_position
        return self.progress().done + 1

    def progress(self, topic: str | None = None) -> Progress:
        """Return the progress of the assessor, on all topics or on one.

        The time left is the median of the last 50 times, multiplied by the number of tasks left.
        """
        if missing := self._topic_set - self._counts.keys():
            self._count(missing)
        requested_topics = (
            self.topics if topic is None else [topic] if topic in self._topic_set else []
        )
        done, remaining, skipped = (
            sum(self._counts[each][i] for each in requested_topics) for i in range(3)
        )
        times = [
            min(e.seconds, MAX_SECONDS)  # files of earlier versions may have more
            for e in self.last_actions(_MAX_RECENT)
            if e.kind != "skip" and e.seconds is not None
        ]
        median_seconds = median(times) if len(times) >= _MIN_TIMES else None
        return Progress(
            done,
            remaining,
            skipped,
            None if median_seconds is None else median_seconds * (remaining + skipped),
        )

    def _count(self, topics: frozenset[str]) -> None:
        """Count the judged, open and skipped tasks of topics that have changed."""
        skipped = Counter(task.topic for task in self.skipped())
        for topic in topics:
            self._counts[topic] = (
                sum(map(self._is_included, self.history.judged_tasks(topic))),
                self._plan.n_open(topic, self.history),
                skipped[topic],
            )


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
        self, documents: Mapping[str, Sequence[str]], assessor: str, settings: DisplaySettings
    ) -> None:
        self._orders = {
            t: presentation_order(topic_documents, t, assessor, settings)
            for t, topic_documents in documents.items()
        }
        self._assessor, self._settings = assessor, settings

    def _task(self, topic: str, a: str, b: str, *, is_repeat: bool = False) -> JudgingTask:
        """Return the pair, left document first; sides are random, and reversed in a repeat."""
        a, b = sorted((a, b))
        is_reversed = hash_draw(self._settings.seed, "side", self._assessor, topic, a, b) % 2 == 1
        return (
            JudgingTask(topic, b, a, is_repeat)
            if is_reversed != is_repeat
            else JudgingTask(topic, a, b, is_repeat)
        )

    def sort_state(self, topic: str, past: AssessorHistory) -> SortState:
        """Return the state of the merge sort of a topic."""
        documents = self._orders.get(topic, [])
        if self._settings.min_grade is not None:
            grades = past.grades(topic)
            documents = [d for d in documents if grades.get(d, -1) >= self._settings.min_grade]

        def compare(a: str, b: str) -> int | None:
            event = past.current(JudgingTask(topic, a, b))
            if event is None or event.grade is None:
                return None
            return event.grade if event.document == a else -event.grade

        return merge_sort(documents, compare)

    def _repeat_pairs(self, topic: str, past: AssessorHistory) -> Iterator[JudgingTask]:
        """Yield the pairs to be repeated, once others have come in between."""
        pairs = [task for task in past.judged_tasks(topic) if task.other_document is not None]
        threshold = self._settings.repeats * 2**64
        for position, task in enumerate(pairs):
            if (
                task.is_repeat
                or hash_draw(self._settings.seed, "twice", self._assessor, *task[:3]) >= threshold
            ):
                continue
            assert task.other_document is not None
            second = self._task(topic, task.document, task.other_document, is_repeat=True)
            if past.is_open(second) and len(pairs) - position > self._settings.repeat_distance // 2:
                yield second

    def upcoming(self, topic: str, past: AssessorHistory) -> Iterator[JudgingTask]:
        """Yield the pairs that can be judged now."""
        yield from self._repeat_pairs(topic, past)
        for a, b in self.sort_state(topic, past).pending:
            task = self._task(topic, a, b)
            if past.is_open(task):
                yield task

    def n_open(self, topic: str, past: AssessorHistory) -> int:
        """Return an upper bound on the number of open pairs.

        Pairs that wait for a skipped one are included.
        """
        state = self.sort_state(topic, past)
        n_skipped = sum(past.is_skipped(self._task(topic, *pair)) for pair in state.pending)
        return state.max_remaining - n_skipped + sum(1 for _ in self._repeat_pairs(topic, past))
