"""Threads, forks and signals. Each test runs `every_verb.py` in a process of its own, so that one
that hangs fails instead of stopping the tests."""

from __future__ import annotations

import importlib.util
import multiprocessing
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


#: A program that computes in processes that were started, with how they are started.
STARTED = """
import multiprocessing, sys
import calipers as cal

def value(seed):
    truth = [i % 2 for i in range(200)]
    score = [(i * 37 + seed) % 101 + 20 * (i % 2) for i in range(200)]
    return cal.classification(truth, score=score, measures="AUC", seed=seed).estimates[0].low

if __name__ == "__main__":
    expected = [value(seed) for seed in range(3)]
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        assert pool.map(value, range(3)) == expected
"""


@pytest.mark.slow
@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_processes_that_are_started(method: str, tmp_path: Path) -> None:
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"there is no {method} here")
    program = tmp_path / "program.py"
    program.write_text(STARTED, encoding="utf-8")
    subprocess.run([sys.executable, str(program), method], check=True, timeout=150)


#: How many threads the first loop of the core starts.
COUNTED = """
import os
import numpy as np
import calipers as cal
def threads():
    return len(os.listdir("/proc/self/task"))
truth = np.arange(100_000) % 2
score = np.random.default_rng(1).normal(size=100_000)
before = threads()
cal.classification(truth, score=score, measures="AUC", interval="bootstrap", n_resamples=100)
print(threads() - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="threads are counted on Linux")
def test_the_pool_has_as_many_threads_as_the_variable_says() -> None:
    environment = {**os.environ, "RAYON_NUM_THREADS": "3", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "ignore", "-c", COUNTED]
    ran = subprocess.run(command, env=environment, check=True, capture_output=True, timeout=150)
    assert int(ran.stdout) == 3


def test_the_core_asks_for_the_gil() -> None:
    """An interpreter without one enables it, as such interpreters have not been tried."""
    source = (HERE.parents[1] / "core" / "src" / "lib.rs").read_text(encoding="utf-8")
    assert "#[pymodule(gil_used = true)]" in source


#: What connects or listens anywhere is an error, in this process and in those that it starts.
WITHOUT_NETWORK = """
import os, sys
def refuse(event, arguments):
    if event in ("socket.connect", "socket.bind", "socket.getaddrinfo"):
        os.write(2, f"{event} {arguments}".encode())
        os._exit(9)
sys.addaudithook(refuse)
"""


@pytest.mark.slow
def test_nothing_connects(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(WITHOUT_NETWORK, encoding="utf-8")
    path = os.pathsep.join([str(tmp_path), *sys.path[1:]])
    (tmp_path / "t.csv").write_text("y,s\n" + "1,0.5\n0,0.25\n1,0.7\n" * 9, encoding="utf-8")
    for program, code in (
        (["-c", "import socket; socket.create_connection(('127.0.0.1', 9))"], 9),
        (["-m", "calipers", "classification", "t.csv", "--truth", "y", "--score", "s",
          "--report", "t.html"], 0),
    ):  # fmt: skip
        ran = subprocess.run(
            [sys.executable, *program], cwd=tmp_path, env={**os.environ, "PYTHONPATH": path,
            "XDG_CACHE_HOME": str(tmp_path)}, capture_output=True, timeout=150, check=False,
        )  # fmt: skip
        assert ran.returncode == code, ran.stderr
    assert (tmp_path / "t.html").stat().st_size > 10_000
