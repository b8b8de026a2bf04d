"""What rows of `suite.py` are: work that is called as a function, and work of whole processes.

Nothing here or beside it imports NumPy or a peer before it is needed.
"""

from __future__ import annotations

import re
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Data = tuple[Any, ...]
Work = Callable[..., "list[float] | None"]

#: A first call on so many rows imports what is needed.
FEW = 500

SKLEARN = "scikit-learn"


@dataclass(frozen=True)
class Call:
    """What, of how many rows, their data, and who does it how."""

    what: str
    size: int
    data: Callable[[int], Data]
    tools: Mapping[str, Work]
    close: float = 1e-9  # to which the values agree; those of a bootstrap are not compared
    part: Mapping[str, float] | None = None  # does only this proportion of it, and is scaled
    check: int = 0  # rows of the small version that CI compares with its record


@dataclass(frozen=True)
class Whole:
    """What, of how much, from which kind of data, and who does it how.

    Each tool is a piece of Python that finds its arguments in ``sys.argv`` and prints its values as
    JSON; one that has none prints nothing.
    """

    what: str
    size: int
    data: str  # "run", "table" or none
    tools: Mapping[str, str]
    close: float = 1e-9
    most: int = 99  # repetitions
    apart: tuple[str, ...] = ()  # whose conventions give other values
    valued: bool = True
    check: int = 0  # size of the small version that CI compares with its record


def measured(call: Call, tool: str, rows: int) -> dict[str, Any]:
    """What a call takes, in this process: once on few rows, which imports what is needed, once on
    all, which says by how much memory rises, and where that is quick as often as fits into a second.
    """
    work, data = call.tools[tool], call.data(rows)
    work(*call.data(FEW))
    before = _memory("RSS", anew=True)
    first = _timed(work, data)
    memory, taken = _memory("HWM") - before, list[tuple[float, float]]()
    end = time.perf_counter() + 1
    while first[1] < 1 and time.perf_counter() < end:
        taken.append(_timed(work, data)[1:])
    part = (call.part or {}).get(tool, 1)
    wall, cpu = (statistics.median(of) / part for of in zip(*(taken or [first[1:]]), strict=True))
    return {"value": first[0], "wall": wall, "cpu": cpu, "memory": max(memory, 0.1)}


def _timed(work: Work, data: Data) -> tuple[list[float] | None, float, float]:
    """The value, and seconds by the clock and of the processors."""
    began = time.perf_counter(), time.process_time()
    value = work(*data)
    return value, time.perf_counter() - began[0], time.process_time() - began[1]


def _memory(what: str, *, anew: bool = False) -> float:
    """MiB of this process now (RSS), or the most (HWM), which may begin anew."""
    if anew:
        Path("/proc/self/clear_refs").write_text("5", "ascii")
    found = re.search(rf"^Vm{what}:\s+(\d+)", Path("/proc/self/status").read_text(), re.MULTILINE)
    return int(found[1]) / 1024 if found else 0.0
