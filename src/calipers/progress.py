"""How far long work is, for whoever watches: the command does, on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sized
from dataclasses import dataclass
from time import monotonic
from typing import TypeVar

T = TypeVar("T")


@dataclass
class Stage:
    """Work in steps, some of which are done."""

    what: str
    total: int
    begun: float
    done: int = 0


#: What is at work, each stage in a step of the one before.
_stages: list[Stage] = []


def over(items: Iterable[T], what: str, total: int | None = None) -> Iterator[T]:
    """The items, each of which is a step of this work."""
    if total is None:
        total = len(items) if isinstance(items, Sized) else 0
    if total < 2:
        yield from items
        return
    stage = Stage(what, total, monotonic())
    _stages.append(stage)
    try:
        for item in items:
            yield item
            stage.done += 1
    finally:
        if stage in _stages:
            _stages.remove(stage)


def told() -> str | None:
    """How far the work is, and how long it may take still; None where nobody says."""
    stages = list(_stages)
    done, steps = _loop()
    if not stages and not steps:
        return None
    words = [f"{stage.what} {stage.done + 1:,} of {stage.total:,}" for stage in stages]
    if steps:
        words.append(f"{done / steps:.0%}")
    left = _left(stages, done / steps if steps else 0.0)
    return " · ".join([*words, *left])


def _left(stages: list[Stage], inner: float) -> list[str]:
    """How long the outermost stage may take still, by how long it took so far."""
    if not stages:
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


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h"


def _loop() -> tuple[int, int]:
    """How far the loop of the core is, if the core is there."""
    core = sys.modules.get("calipers._core")
    return (0, 0) if core is None else core.progress()
