"""What a process takes: by the clock, of the processors and of memory."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]

#: Ticks of `/proc` in a second, and MiB of a page.
_TICKS = os.sysconf("SC_CLK_TCK")


#: Tells the peak of a process at its end. What Linux tells who waits for it is at least as much as
#: that one has.
_PEAK = """import atexit, os
def tell(to=os.environ.pop("TELL_PEAK_TO")):
    with open("/proc/self/status", "rb") as status, open(to, "wb") as out: out.write(status.read())
atexit.register(tell)
"""


def python(code: str, *arguments: str, family: bool = False) -> dict[str, Any]:
    """What a process of this Python takes; see `process`."""
    with tempfile.NamedTemporaryFile() as told:
        environment = {**os.environ, "TELL_PEAK_TO": told.name}
        ran = process([sys.executable, "-c", _PEAK + code, *arguments], environment, family=family)
        found = re.search(rb"^VmHWM:\s+(\d+)", told.read(), re.MULTILINE)
    if found and not family:
        ran["memory"] = int(found[1]) / 1024
    return ran


def process(
    arguments: Sequence[str], environment: Mapping[str, str] | None = None, *, family: bool = False
) -> dict[str, Any]:
    """Seconds by the clock (`wall`) and of the processors (`cpu`), MiB at the peak (`memory`), what
    the process prints, and which share of the processors others had meanwhile (`others`).

    With ``family`` the peak is that of the process and all that it starts, at one time, which is
    looked for ten times a second; memory that they share is counted once.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        busy, began = _busy(), time.perf_counter()
        started = subprocess.Popen(arguments, stdout=out, stderr=err, cwd=ROOT, env=environment)
        watch = _Watch(started.pid) if family else None
        _, status, used = os.wait4(started.pid, 0)
        wall = time.perf_counter() - began
        others = _busy() - busy
        started.returncode = os.waitstatus_to_exitcode(status)
        cpu, memory = used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
        if watch is not None:
            cpu, memory = watch.ended(cpu, memory)
        out.seek(0)
        err.seek(0)
        if started.returncode:
            raise RuntimeError(f"{' '.join(arguments)[:300]}\n{err.read().decode()}")
        printed = out.read().decode().strip()
    share = max(others - cpu, 0) / (wall * (os.cpu_count() or 1))
    return {"wall": wall, "cpu": cpu, "memory": memory, "printed": printed, "others": share}


def last_line(printed: str) -> Any:
    """The value that a process prints as JSON at its end."""
    return json.loads(printed.splitlines()[-1])


def machine() -> dict[str, Any]:
    """Cores, memory and the kind of processor."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9
    return {"cores": os.cpu_count(), "memory": round(memory), "kind": platform.machine()}


def written(kept: Any) -> str:
    """As JSON, with the figures of a tool on one line."""
    text = json.dumps(kept, indent=1, ensure_ascii=False)
    return re.sub(r"\[[^\[\]{}]*\]", lambda found: re.sub(r"\s+", " ", found[0]), text) + "\n"


def digits(value: float) -> float:
    """Four of them."""
    return float(f"{value:.4g}")


def _busy() -> float:
    """Seconds that the processors have worked so far."""
    of = [int(n) for n in Path("/proc/stat").read_text("ascii").split("\n", 1)[0].split()[1:]]
    idle, stolen = of[3] + of[4], sum(of[8:])  # guests are counted to user as well
    return (sum(of) - idle - stolen) / _TICKS


class _Watch:
    """The peak of a process and its descendants, and what each of them had of the processors."""

    def __init__(self, pid: int) -> None:
        self.pid, self.peak, self.cpu, self.over = pid, 0.0, dict[int, float](), threading.Event()
        self.thread = threading.Thread(target=self._look, daemon=True)
        self.thread.start()

    def ended(self, cpu: float, memory: float) -> tuple[float, float]:
        """Seconds and MiB, at least those that the system tells."""
        self.over.set()
        self.thread.join()
        return max(cpu, sum(self.cpu.values())), max(memory, self.peak)

    def _look(self) -> None:
        while not self.over.wait(0.1):
            now = 0.0
            for pid in _family(self.pid):
                try:
                    shares = Path(f"/proc/{pid}/smaps_rollup").read_text("ascii")
                    fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
                except (OSError, UnicodeDecodeError):
                    continue  # it has ended
                found = re.search(r"^Pss:\s+(\d+)", shares, re.MULTILINE)
                now += int(found[1]) / 1024 if found else 0.0
                self.cpu[pid] = (int(fields[11]) + int(fields[12])) / _TICKS
            self.peak = max(self.peak, now)


def _family(pid: int) -> list[int]:
    """A process and its descendants."""
    found = [pid]
    for each in found:
        for task in Path(f"/proc/{each}/task").glob("*/children"):
            try:
                found += map(int, task.read_text("ascii").split())
            except OSError:
                continue
    return found
