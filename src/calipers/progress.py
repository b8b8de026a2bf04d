"""Progress of long computations, as the command shows it on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Sized
from contextlib import contextmanager
from time import monotonic
from typing import TypeVar

from calipers.lazy_dataclasses import dataclass

T = TypeVar("T")


@dataclass
class Stage:
    """Stage of a computation: steps, rows or other units, of which some are done.

    ``total`` is 0 if it is unknown.
    """

    label: str
    total: int
    start_time: float
    done: int = 0
    #: Unit of the count; empty for steps.
    unit: str = ""

    @property
    def description(self) -> str:
        """Progress of the stage, as text."""
        if not self.unit:
            return f"{self.label} {self.done + 1:,} of {self.total:,}"
        total_text = f" of {self.total:,}" if self.total else ""
        if self.unit != "rows":
            return f"{self.label}: {self.done:,}{total_text} {self.unit}"
        elapsed = monotonic() - self.start_time
        rate = (
            f" · {_format_rounded(self.done / elapsed)} rows/s" if self.done and elapsed > 0 else ""
        )
        return f"{self.label}: {self.done:,}{total_text} rows{rate}"


#: Active stages, each nested in a step of the previous one.
_stages: list[Stage] = []
#: Functions that are told of each step of the outermost stage: steps done, and all of them.
_listeners: list[Callable[[int, int], None]] = []


@contextmanager
def listen(listener: Callable[[int, int], None]) -> Iterator[None]:
    """Call a function after each step of the outermost stage, within a ``with`` statement.

    Parameters
    ----------
    listener : callable
        Function of the number of finished steps and of the number of all steps.
    """
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def track(items: Iterable[T], label: str, total: int | None = None) -> Iterator[T]:
    """Yield the items, and count each of them as a step of a computation.

    Parameters
    ----------
    items : iterable
        Items to yield.
    label : str
        Name of the computation, such as ``"measuring"``.
    total : int, optional
        Number of items. By default their length, if they have one.

    Yields
    ------
    object
        The items.
    """
    if total is None:
        total = len(items) if isinstance(items, Sized) else 0
    if total < 2:
        yield from items
        return
    yield from _iterate_stage(items, Stage(label, total, monotonic()), lambda item: 1)


def track_rows(
    batches: Iterable[T], label: str, total: int | None, rows: Callable[[T], int]
) -> Generator[T, None, None]:
    """Yield batches, and count their rows.

    Parameters
    ----------
    batches : iterable
        Batches to yield.
    label : str
        Name of the computation.
    total : int or None
        Number of rows of all batches, or None if it is unknown.
    rows : callable
        Function that returns the number of rows of a batch.

    Yields
    ------
    object
        The batches.
    """
    yield from _iterate_stage(batches, Stage(label, total or 0, monotonic(), unit="rows"), rows)


@contextmanager
def track_counter(label: str, unit: str) -> Iterator[Stage]:
    """Provide a stage whose progress is set by the caller, in a ``with`` statement.

    Parameters
    ----------
    label : str
        Name of the computation.
    unit : str
        Name of what is counted, in the plural.

    Yields
    ------
    Stage
        The stage, whose ``done`` and ``total`` may be set.
    """
    stage = Stage(label, 0, monotonic(), unit=unit)
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
            if _listeners and _stages[0] is stage:
                _listeners[-1](stage.done, stage.total)
            del item  # while the next one is made
    finally:
        if stage in _stages:
            _stages.remove(stage)


def progress_text() -> str | None:
    """Return the progress of the computation and its remaining time, or None if it is unknown."""
    stages = list(_stages)
    # If rows are counted, ignore the loops of the compiled core, which cover single batches.
    done, total = (0, 0) if any(stage.unit for stage in stages) else _core_progress()
    if not stages and not total:
        return None
    words = [stage.description for stage in stages]
    if total:
        words.append(f"{done / total:.0%}")
    remaining = _remaining_time_texts(stages, done / total if total else 0.0)
    return " · ".join([*words, *remaining])


def _remaining_time_texts(stages: list[Stage], inner_fraction: float) -> list[str]:
    """Return the remaining time of the outermost stage, estimated from the elapsed time."""
    if not stages or not all(stage.total for stage in stages):
        return []
    proportion_done, step = 0.0, 1.0
    for stage in stages:
        step /= stage.total
        proportion_done += step * stage.done
    proportion_done += step * inner_fraction
    elapsed = monotonic() - stages[0].start_time
    if proportion_done < 0.01 or elapsed < 1:
        return []
    seconds = elapsed * (1 - proportion_done) / proportion_done
    return [f"about {_format_duration(seconds)} left"]


def _format_rounded(number: float) -> str:
    """Format a number to about two digits, with a unit.

    >>> _format_rounded(9_123_456), _format_rounded(41_700), _format_rounded(12)
    ('9.1 million', '42 thousand', '12')
    """
    for size, unit in ((1e6, " million"), (1e3, " thousand")):
        if number >= size:
            return f"{number / size:.{number < 10 * size:d}f}{unit}"
    return f"{number:.0f}"


def _format_duration(seconds: float) -> str:
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h"


def _core_progress() -> tuple[int, int]:
    """Return the progress of the loop in the compiled core, if it is loaded."""
    core = sys.modules.get("calipers._core")
    return (0, 0) if core is None else core.progress()
