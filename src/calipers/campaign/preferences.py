"""Which two documents an assessor compares next: as few as it takes to order all of them.

A merge sort whose comparisons are questions. Every merge that waits for an answer asks its own, so
that there are many questions at first, n·log₂(n) − n + 1 at most in the end, and none twice.
Documents that are equally good stay together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from calipers.campaign.judging import Past, Settings, Task, draw, in_order

#: Documents that are equally good.
Tied = list[str]


class Sorted(NamedTuple):
    """How far a list is sorted: ``groups`` from best to worst where it is; else the comparisons
    that are waited for, and how many there are still at most."""

    groups: list[Tied] | None
    asked: list[tuple[str, str]]
    left: int


def merge_sort(documents: Sequence[str], compare: Callable[[str, str], int | None]) -> Sorted:
    """Sort as far as comparisons are known; ``compare`` gives 1 where the first document is better,
    −1 where the second is, 0 where neither, None where nobody knows.

    >>> merge_sort(["a", "b", "c", "d"], lambda a, b: None)
    Sorted(groups=None, asked=[('a', 'b'), ('c', 'd')], left=5)
    >>> known = {("a", "b"): -1, ("c", "d"): 0}
    >>> merge_sort(["a", "b", "c", "d"], lambda a, b: known.get((a, b)))
    Sorted(groups=None, asked=[('b', 'c')], left=2)
    """
    if len(documents) <= 1:
        return Sorted([[d] for d in documents], [], 0)
    half = len(documents) // 2
    first, second = merge_sort(documents[:half], compare), merge_sort(documents[half:], compare)
    if first.groups is None or second.groups is None:
        # Of halves that are not sorted nobody knows how many groups they will be.
        sizes = [
            half if first.groups is None else len(first.groups),
            len(documents) - half if second.groups is None else len(second.groups),
        ]
        return Sorted(None, first.asked + second.asked, first.left + second.left + sum(sizes) - 1)
    return _merged(first.groups, second.groups, compare)


def _merged(
    first: Sequence[Tied], second: Sequence[Tied], compare: Callable[[str, str], int | None]
) -> Sorted:
    groups: list[Tied] = []
    i = j = 0
    while i < len(first) and j < len(second):
        a, b = first[i], second[j]
        better = compare(a[0], b[0])
        if better is None:
            return Sorted(None, [(a[0], b[0])], len(first) - i + len(second) - j - 1)
        groups.append([*(a if better >= 0 else ()), *(b if better <= 0 else ())])
        i, j = i + (better >= 0), j + (better <= 0)
    return Sorted([*groups, *first[i:], *second[j:]], [], 0)


class Preferring:
    """Documents two by two: a plan as :class:`~calipers.campaign.judging.Desk` takes it."""

    pairs = True

    def __init__(
        self, documents: Mapping[str, Sequence[str]], assessor: str, settings: Settings
    ) -> None:
        self._orders = {t: in_order(of, t, assessor, settings) for t, of in documents.items()}
        self._assessor, self._settings = assessor, settings

    def _task(self, topic: str, a: str, b: str, *, again: bool = False) -> Task:
        """The pair with its left document first: a coin decides, and turns the second time."""
        a, b = sorted((a, b))
        turned = draw(self._settings.seed, "side", self._assessor, topic, a, b) % 2 == 1
        return Task(topic, b, a, again) if turned != again else Task(topic, a, b, again)

    def sorted(self, topic: str, past: Past) -> Sorted:
        """How far a topic is."""
        documents = self._orders.get(topic, [])
        if self._settings.least is not None:
            grades = past.grades(topic)
            documents = [d for d in documents if grades.get(d, -1) >= self._settings.least]

        def compare(a: str, b: str) -> int | None:
            event = past.current(Task(topic, a, b))
            if event is None or event.grade is None:
                return None
            return event.grade if event.document == a else -event.grade

        return merge_sort(documents, compare)

    def _seconds(self, topic: str, past: Past) -> Iterator[Task]:
        """The pairs that are to come a second time, once others have come in between."""
        pairs = [task for task in past.of(topic) if task.other is not None]
        share = self._settings.repeats * 2**64
        for later, task in enumerate(pairs):
            if task.again or draw(self._settings.seed, "twice", self._assessor, *task[:3]) >= share:
                continue
            assert task.other is not None
            second = self._task(topic, task.document, task.other, again=True)
            if past.is_open(second) and len(pairs) - later > self._settings.gap // 2:
                yield second

    def upcoming(self, topic: str, past: Past) -> Iterator[Task]:
        """The pairs that can be asked now."""
        yield from self._seconds(topic, past)
        for a, b in self.sorted(topic, past).asked:
            task = self._task(topic, a, b)
            if past.is_open(task):
                yield task

    def left(self, topic: str, past: Past) -> int:
        """How many pairs there are at most; what waits behind one that was put aside counts."""
        mine = self.sorted(topic, past)
        put_aside = sum(past.is_skipped(self._task(topic, *pair)) for pair in mine.asked)
        return mine.left - put_aside + sum(1 for _ in self._seconds(topic, past))
