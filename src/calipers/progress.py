"""How far long work is, for whoever watches: the command does, on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic
from typing import TypeVar

T = TypeVar("T")


@dataclass
class Stage:
    """Work in steps, or in rows or the like, some of which are done; of how many, where that is
    known."""

    what: str
    total: int
    begun: float
    done: int = 0
    #: What is counted; "" of steps.
    unit: str = ""

    @property
    def told(self) -> str:
        """How far it is."""
        if not self.unit:
            return f"{self.what} {self.done + 1:,} of {self.total:,}"
        of = f" of {self.total:,}" if self.total else ""
        if self.unit != "rows":
            return f"{self.what}: {self.done:,}{of} {self.unit}"
        taken = monotonic() - self.begun
        rate = f" · {_round_number(self.done / taken)} rows/s" if self.done and taken > 0 else ""
        return f"{self.what}: {self.done:,}{of} rows{rate}"


#: What is at work, each stage in a step of the one before.
_stages: list[Stage] = []


def track(items: Iterable[T], what: str, total: int | None = None) -> Iterator[T]:
    """The items, each of which is a step of this work."""
    if total is None:
        total = len(items) if isinstance(items, Sized) else 0
    if total < 2:
        yield from items
        return
    yield from _iterate_stage(items, Stage(what, total, monotonic()), lambda item: 1)


def track_rows(
    batches: Iterable[T], what: str, total: int | None, rows: Callable[[T], int]
) -> Iterator[T]:
    """Batches of rows, so many in each and in all; None where nobody knows how many there are."""
    yield from _iterate_stage(batches, Stage(what, total or 0, monotonic(), unit="rows"), rows)


@contextmanager
def track_counter(what: str, unit: str) -> Iterator[Stage]:
    """Work of which someone else says how far it is, by what is counted."""
    stage = Stage(what, 0, monotonic(), unit=unit)
    _stages.append(stage)
    try:
        yield stage
    finally:
        if stage in _stages:
            _stages.remove(stage)


def _iterate_stage(items: Iterable[T], stage: Stage, size: Callable[[T], int]) -> Iterator[T]:
    _stages.append(stage)
    try:
        for item in items:
            yield item
            stage.done += size(item)
            del item  # while the next one is made
    finally:
        if stage in _stages:
            _stages.remove(stage)


def progress_text() -> str | None:
    """How far the work is, and how long it may take still; None where nobody says."""
    stages = list(_stages)
    # Loops over single batches come and go.
    done, steps = (0, 0) if any(stage.unit for stage in stages) else _loop()
    if not stages and not steps:
        return None
    words = [stage.told for stage in stages]
    if steps:
        words.append(f"{done / steps:.0%}")
    left = _remaining_time(stages, done / steps if steps else 0.0)
    return " · ".join([*words, *left])


def _remaining_time(stages: list[Stage], inner: float) -> list[str]:
    """How long the outermost stage may take still, by how long it took so far."""
    if not stages or not all(stage.total for stage in stages):
        return []
    share, step = 0.0, 1.0
    for stage in stages:
        step /= stage.total
        share += step * stage.done
    share += step * inner
    taken = monotonic() - stages[0].begun
    if share < 0.01 or taken < 1:
        return []
    seconds = taken * (1 - share) / share
    return [f"about {_duration(seconds)} left"]


def _round_number(number: float) -> str:
    """Two digits or so, with a unit.

    >>> _round_number(9_123_456), _round_number(41_700), _round_number(12)
    ('9.1 million', '42 thousand', '12')
    """
    for size, unit in ((1e6, " million"), (1e3, " thousand")):
        if number >= size:
            return f"{number / size:.{number < 10 * size:d}f}{unit}"
    return f"{number:.0f}"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h"


def _loop() -> tuple[int, int]:
    """How far the loop of the core is, if the core is there."""
    core = sys.modules.get("calipers._core")
    return (0, 0) if core is None else core.progress()
