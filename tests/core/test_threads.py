"""Threads, forks and signals. Each test runs `every_verb.py` in a process of its own, so that one
that hangs fails instead of stopping the tests."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import calipers
from calipers import caching

HERE = Path(__file__).parent
LONG = {
    "verbs": ["classification", "multiclass", "regression", "retrieval", "operating_point"],
    "core": [
        "bootstrap_scores", "bootstrap_tables", "bootstrap_coarse", "bootstrap_left_out",
        "bootstrap_runs", "bootstrap_cells", "isotonic_fits", "bootstrap_means", "randomization",
        "randomized_ranges", "one_replicate", "distance_sums", "dunn_distances", "some_distances",
        "matrix_sums",
    ],
    "files": ["judgments", "judgments_of_dict"],
}  # fmt: skip

posix = pytest.mark.skipif(sys.platform == "win32", reason="there is no fork, nor SIGALRM")


def run(*arguments: str, threads: str | None = None) -> str:
    # With as many threads of linear algebra as users have (tests/conftest.py asks for one).
    one_thread = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")
    environment = {k: v for k, v in os.environ.items() if k not in one_thread}
    environment |= {"RAYON_NUM_THREADS": threads} if threads else {}
    # A fork of a process with threads is what is tested; Python 3.12 warns of it.
    warnings = ("-W", "error", "-W", "ignore:This process:DeprecationWarning")
    ran = subprocess.run(
        [sys.executable, *warnings, str(HERE / "every_verb.py"), *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert ran.stdout.endswith("done\n")
    return ran.stdout


@pytest.mark.slow
@pytest.mark.parametrize("threads", [None, "1"])
def test_all_verbs_at_once(threads: str | None) -> None:
    run("at_once", "4" if threads is None else "3", "1", threads=threads)


@pytest.mark.slow
@posix
def test_a_fork_after_work() -> None:
    run("after_fork")


@pytest.mark.slow
@posix
@pytest.mark.skipif(importlib.util.find_spec("joblib") is None, reason="joblib is not installed")
def test_joblib_after_work() -> None:
    run("with_joblib")


@pytest.mark.slow
@posix
@pytest.mark.parametrize("names", LONG.values(), ids=LONG)
def test_a_signal_ends_the_work(names: list[str]) -> None:
    """Promised is a fifth of a second; a busy machine gets many times that."""
    waited = re.findall(r"([\d.]+) s after Ctrl-C", run("until_signal", *names))
    assert len(waited) == len(names)
    assert max(map(float, waited)) < 5


@pytest.mark.slow
@posix
def test_what_a_handler_raises_ends_the_work() -> None:
    run("handler_raises")


@pytest.mark.slow
def test_daemon_threads_do_not_keep_the_process() -> None:
    run("end_with_daemons")


def test_values_computed_once_crosswise() -> None:
    """Two threads that each hold what the other waits for, where a lock is held meanwhile."""
    both = threading.Barrier(2, timeout=20)

    class Pair:
        def __init__(self, other: Pair | None, first: str) -> None:
            self.other, self.first = other, first

        def value(self, name: str) -> int:
            if name != self.first or self.other is None:
                return 1
            both.wait()
            return 1 + (self.other.b if name == "a" else self.other.a)

        @caching.cached_property
        def a(self) -> int:
            """The first."""
            return self.value("a")

        @caching.cached_property
        def b(self) -> int:
            return self.value("b")

    one, other = (Pair(Pair(None, ""), first) for first in "ab")
    threads = [
        threading.Thread(target=getattr, args=(pair, pair.first), daemon=True)
        for pair in (one, other)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert (one.__dict__["a"], other.__dict__["b"]) == (2, 2)
    assert Pair.a.__doc__ == "The first."


def test_nothing_is_computed_once_under_a_lock() -> None:
    sources = Path(calipers.__file__).parent.rglob("*.py")
    taken = re.compile(r"functools[. ].*cached_property|threading\.R?Lock")
    found = [path.name for path in sources if taken.search(path.read_text(encoding="utf-8"))]
    # That of rendering.py orders who writes to a pipe, and a forked process gets another; that of
    # progress_line.py, of the command alone, is held while a line goes to the terminal. sessions.py and
    # storage.py of campaigns take turns at one connection to the file, and no process is forked from
    # them.
    assert sorted(found) == [
        "caching.py", "progress_line.py", "rendering.py", "sessions.py", "storage.py",
    ]  # fmt: skip
