"""How much memory is free."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

#: Where nothing tells.
_UNKNOWN = 4 << 30

#: Where the limits of a container stand, what is taken, and what of it can be had back.
_LIMITS = (
    ("memory.max", "memory.current", "inactive_file"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)


def free_memory(root: str = "/") -> int:
    """Bytes that can be taken: of the machine, or of a container that may have less.

    ``root`` is where the files of the system are.
    """
    base = Path(root)
    return max(min([_of_machine(base), *_of_containers(base)]), 1)


def _of_machine(root: Path) -> int:
    with suppress(OSError, ValueError, StopIteration):
        lines = (root / "proc/meminfo").read_text("utf-8").splitlines()
        line = next(line for line in lines if line.startswith("MemAvailable:"))
        return int(line.split()[1]) << 10
    with suppress(OSError, ValueError, AttributeError):  # no Linux: all there is
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return _UNKNOWN


def _of_containers(root: Path) -> Iterator[int]:
    """What each group of processes, within which this one is, has left."""
    groups = root / "sys/fs/cgroup"
    own = {""}
    with suppress(OSError, ValueError):
        for line in (root / "proc/self/cgroup").read_text("utf-8").splitlines():
            _, kinds, path = line.split(":", 2)
            if kinds in ("", "memory"):
                inner = Path(path.strip("/"))
                own.update(str(at) for at in (inner, *inner.parents))
    for base in (groups, groups / "memory"):
        for at in sorted(own):
            for limit, taken, cached in _LIMITS:
                with suppress(OSError, ValueError):  # "max" is no number
                    most = _number(base / at / limit)
                    yield most - _number(base / at / taken) + _cached(base / at, cached)


def _number(path: Path) -> int:
    return int(path.read_text("utf-8"))


def _cached(folder: Path, name: str) -> int:
    """What of the memory that is taken holds files, which are given up first."""
    with suppress(OSError, ValueError):
        lines = (folder / "memory.stat").read_text("utf-8").splitlines()
        return next((int(line.split()[1]) for line in lines if line.split()[0] == name), 0)
    return 0
