"""Runs whose topics do not stand together, pipes, Ctrl-C, and several reads at once."""

from __future__ import annotations

import errno
import functools
import gzip
import hashlib
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from calipers._core import JudgedRun, Judgments, read_rows

TOPICS, DEPTH = 60, 4000

needs_pipes = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")


@pytest.fixture(scope="module")
def judgments(tmp_path_factory: pytest.TempPathFactory) -> Judgments:
    """Of every other topic, and of documents that are retrieved or not."""
    path = tmp_path_factory.mktemp("qrels") / "qrels.txt"
    rng = random.Random(0)
    path.write_text(
        "".join(
            f"q{topic} 0 d{doc} {rng.randrange(-1, 4)}\n"
            for topic in range(0, TOPICS, 2)
            for doc in rng.sample(range(2 * DEPTH), 40)
        )
    )
    return Judgments.from_file(path)


def lines_of_a_run() -> list[bytes]:
    rng = random.Random(1)
    return [
        b"q%d Q0 d%d 0 %d.5 tag\n" % (topic, doc, rng.randrange(DEPTH))
        for topic in range(TOPICS)
        for doc in range(DEPTH)
    ]


@pytest.fixture(scope="module")
def together() -> bytes:
    return b"".join(lines_of_a_run())


@pytest.fixture(scope="module")
def scattered() -> bytes:
    lines = lines_of_a_run()
    random.Random(2).shuffle(lines)
    return b"".join(lines[:-1]) + b"q1 Q0 last 0 0 last\n" + lines[-1]


def write(folder: Path, content: bytes) -> str:
    path = folder / "run.txt"
    path.write_bytes(content)
    return str(path)


def arrays(run: JudgedRun) -> dict[str, Any]:
    names = ("retrieved", "offsets", "rank", "grade", "tied_from", "tied_to")
    told = {name: getattr(run, name).tolist() for name in names}
    return told | {"unjudged": run.unjudged_topic_names}


@functools.cache
def plainly(judgments: Judgments, text: bytes) -> dict[str, Any]:
    """The same run as a dict, which is always in the order of its topics."""
    scores: dict[bytes, dict[bytes, float]] = {}
    for line in text.splitlines():
        topic, _, doc, _, score, _ = line.split()
        scores.setdefault(topic, {})[doc] = float(score)
    return arrays(judgments.rank_dict(scores))


@functools.cache
def zipped(text: bytes) -> bytes:
    return gzip.compress(text, 1)


# --- topics that do not stand together ---


@pytest.mark.parametrize("budget", [0, 100_000, 1 << 40])
@pytest.mark.parametrize("threads", [1, 3])
def test_scattered_topics(
    judgments: Judgments, tmp_path: Path, scattered: bytes, budget: int, threads: int
) -> None:
    path = write(tmp_path, scattered)
    run = judgments.read_run(path, budget=budget, threads=threads)
    assert arrays(run) == plainly(judgments, scattered)
    assert run.tag == b"tag"
    assert run.source == {
        "lines": TOPICS * DEPTH + 1,
        "bytes": len(scattered),
        "sha256": hashlib.sha256(scattered).hexdigest(),
    }


@pytest.mark.parametrize(
    "compress", [zipped, lambda text: pa.compress(text, codec="zstd", asbytes=True)]
)
def test_scattered_topics_compressed(
    judgments: Judgments, tmp_path: Path, scattered: bytes, compress: Callable[[bytes], bytes]
) -> None:
    run = judgments.read_run(write(tmp_path, compress(scattered)), budget=100_000)
    assert arrays(run) == plainly(judgments, scattered)


@pytest.mark.parametrize("budget", [0, 1 << 40])
def test_errors_tell_the_lines(
    judgments: Judgments, tmp_path: Path, scattered: bytes, budget: int
) -> None:
    lines = scattered.splitlines(keepends=True)
    lines[70_000:70_000] = [b"q3 Q0 d5 0 x tag\n"]
    lines += [lines[3], lines[200_000], lines[1]]
    path = write(tmp_path, b"".join(lines))
    with pytest.raises(ValueError) as caught:
        judgments.read_run(path, budget=budget)

    def twice(line: bytes, at: int, first: int) -> str:
        topic, _, doc, *_ = line.decode().split()
        what = f"document {doc} retrieved twice for topic {topic} (first at line {first})"
        return f"{path}:{at}: {what}"

    end = len(lines)
    assert str(caught.value).split("\n") == [
        f'{path}:70001: score "x" is not a number',
        twice(lines[3], end - 2, 4),
        twice(lines[200_000], end - 1, 200_001),
        twice(lines[1], end, 2),
    ]


def test_scattered_rows_in_memory(judgments: Judgments, scattered: bytes) -> None:
    fields = [line.split() for line in scattered.splitlines()]

    def column(at: int) -> tuple[np.ndarray, np.ndarray]:
        ends = np.cumsum([0] + [len(row[at]) for row in fields])
        return ends, np.frombuffer(b"".join(row[at] for row in fields), np.uint8)

    scores = np.array([float(row[4]) for row in fields])
    run = judgments.rank_columns(column(0), column(2), scores)
    assert arrays(run) == plainly(judgments, scattered)


def test_no_folder_for_temporary_files(
    judgments: Judgments,
    tmp_path: Path,
    scattered: bytes,
    together: bytes,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    missing = str(tmp_path / "missing")
    monkeypatch.setenv("TMPDIR" if os.name == "posix" else "TMP", missing)
    path = write(tmp_path, scattered)
    what = f"cannot keep rows in a temporary file in {re.escape(missing)}: "
    with pytest.raises(OSError, match=what) as caught:
        judgments.read_run(path, budget=0)
    assert caught.value.filename == path
    # Where none is needed, none is missed.
    assert arrays(judgments.read_run(path)) == plainly(judgments, scattered)
    judgments.read_run(write(tmp_path, together), budget=0)


@pytest.mark.skipif(sys.platform != "linux", reason="the limit of a file's size is tested on Linux")
def test_no_space_left(tmp_path: Path, scattered: bytes) -> None:
    write(tmp_path, scattered)
    code = f"""
import resource, signal
from calipers._core import Judgments
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
judgments = Judgments.from_dict({{"q1": {{"d1": 1}}}})
try:
    judgments.read_run({str(tmp_path / "run.txt")!r}, budget=100_000)
except OSError as error:
    print(error.strerror, error.filename, sep="|")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    folder = tempfile.gettempdir()
    what = f"cannot keep rows in a temporary file in {folder}: {os.strerror(errno.EFBIG)}"
    assert done.stdout.strip().split("|") == [what, str(tmp_path / "run.txt")]


# --- pipes ---


@contextmanager
def piped(folder: Path, content: bytes | None) -> Iterator[str]:
    """A named pipe that gives the content, or nothing for as long as it stays open."""
    path = folder / "pipe"
    os.mkfifo(path)
    over = threading.Event()

    def give() -> None:
        with path.open("wb") as pipe:
            if content is None:
                over.wait()
            else:
                pipe.write(content)

    giver = threading.Thread(target=give)
    giver.start()
    try:
        yield str(path)
    finally:
        over.set()
        giver.join()


@needs_pipes
@pytest.mark.parametrize("stored", [bytes, zipped])
@pytest.mark.parametrize("budget", [0, 1 << 40])
@pytest.mark.parametrize("order", ["together", "scattered"])
def test_pipes(
    judgments: Judgments,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    order: str,
    budget: int,
    stored: Callable[[bytes], bytes],
) -> None:
    text = request.getfixturevalue(order)
    content = stored(text)
    with piped(tmp_path, content) as path:
        run = judgments.read_run(path, budget=budget)
    assert arrays(run) == plainly(judgments, text)
    assert run.source == {
        "lines": text.count(b"\n"),
        "bytes": len(content),
        "sha256": hashlib.sha256(content).hexdigest(),
    }


@needs_pipes
def test_a_pipe_that_cannot_be_kept(
    judgments: Judgments,
    tmp_path: Path,
    together: bytes,
    scattered: bytes,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path / "missing"))
    # More than is kept in memory, and the topic that comes again comes late.
    late = together + b"q1 Q0 late 0 0 t\n"
    assert len(late) > 1 << 22
    with piped(tmp_path, late) as path, pytest.raises(OSError, match="in a temporary file in "):
        judgments.read_run(path)
    (tmp_path / "pipe").unlink()
    with piped(tmp_path, together) as path:
        assert arrays(judgments.read_run(path)) == plainly(judgments, together)


def test_standard_input(tmp_path: Path, scattered: bytes) -> None:
    code = """
from calipers._core import Judgments
judgments = Judgments.from_dict({"q1": {"d1": 1}})
run = judgments.read_run("-")
print(run.retrieved.tolist(), run.tag, run.unjudged_topics, run.source["bytes"])
"""
    command = [sys.executable, "-c", code]
    piped = subprocess.run(command, input=scattered, capture_output=True, check=True)
    assert piped.stdout.decode().strip() == f"[{DEPTH + 1}] b'tag' {TOPICS - 1} {len(scattered)}"
    # A file is read again from where standard input stood.
    with Path(write(tmp_path, b"a title\n" + scattered)).open("rb", buffering=0) as file:
        file.seek(8)
        redirected = subprocess.run(command, stdin=file, capture_output=True, check=True)
    assert redirected.stdout == piped.stdout
    wrong = subprocess.run(command, input=b"q1 Q0\n", capture_output=True, check=False)
    assert b"ValueError: <stdin>:1: 2 fields, expected 6" in wrong.stderr


# --- Ctrl-C ---


class InterruptError(Exception):
    """What the handler of a signal raises."""


@contextmanager
def interrupted_after(seconds: float) -> Iterator[None]:
    def handle(*_: object) -> None:
        raise InterruptError

    before = signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


needs_alarms = pytest.mark.skipif(
    not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread(),
    reason="only the main thread of a POSIX system handles alarms",
)


@needs_alarms
@needs_pipes
def test_waiting_for_a_pipe_is_interrupted(judgments: Judgments, tmp_path: Path) -> None:
    with piped(tmp_path, None) as path:
        for read in (
            judgments.read_run,
            Judgments.from_file,
            lambda path: read_rows(path, "run"),
        ):
            start = time.monotonic()
            with interrupted_after(0.2), pytest.raises(InterruptError):
                read(path)
            assert time.monotonic() - start < 5


@pytest.mark.slow
@needs_alarms
@pytest.mark.parametrize("topics", ["ab", "aba"], ids=["together", "scattered"])
def test_a_long_read_is_interrupted(judgments: Judgments, tmp_path: Path, topics: str) -> None:
    """44 GB of comments in a small file, which nobody reads in a few seconds."""
    rows = "".join(f"{topic} Q0 d{at} 1 1 t\n" for at, topic in enumerate(topics))
    comments = gzip.compress(b"# nothing to see here\n" * 200_000)
    path = write(tmp_path, gzip.compress(rows.encode()) + comments * 10_000)
    begin = time.monotonic()
    with interrupted_after(0.3), pytest.raises(InterruptError):
        judgments.read_run(path)
    with interrupted_after(0.3), pytest.raises(InterruptError):
        read_rows(path, "run")
    assert time.monotonic() - begin < 10


# --- several at once ---


@needs_pipes
def test_reads_do_not_wait_for_each_other(
    judgments: Judgments, tmp_path: Path, together: bytes
) -> None:
    """One waits for its pipe, while others, and Python itself, go on."""
    path = write(tmp_path, together)
    with ThreadPoolExecutor(1) as pool:
        with piped(tmp_path, None) as pipe:
            waiting = pool.submit(judgments.read_run, pipe)
            run = judgments.read_run(path)
            assert not waiting.done()
        with pytest.raises(ValueError, match="no lines"):
            waiting.result()
    assert arrays(run) == plainly(judgments, together)


@pytest.mark.slow
def test_many_reads_at_once(judgments: Judgments, tmp_path: Path, scattered: bytes) -> None:
    path = write(tmp_path, scattered)
    expected = plainly(judgments, scattered)
    with ThreadPoolExecutor(6) as pool:
        reads = [
            pool.submit(judgments.read_run, path, threads=1, budget=100_000) for _ in range(12)
        ]
        assert all(arrays(read.result()) == expected for read in reads)


@needs_pipes
@pytest.mark.skipif(sys.platform != "linux", reason="Linux tells how many threads there are")
def test_threads_are_as_many_as_asked(judgments: Judgments, tmp_path: Path) -> None:
    def running() -> int:
        return len(list(Path("/proc/self/task").iterdir()))

    with ThreadPoolExecutor(1) as pool:
        pool.submit(int).result()
        for threads in (1, 5):
            with piped(tmp_path, None) as pipe:
                before = running()
                read = pool.submit(judgments.read_run, pipe, threads=threads)
                deadline = time.monotonic() + 0.5  # of one thread none comes
                while running() < before + 1 and time.monotonic() < deadline:
                    time.sleep(0.01)
                time.sleep(0.1)
                assert running() - before <= threads
            with pytest.raises(ValueError, match="no lines"):
                read.result()
            Path(pipe).unlink()


def test_no_threads(judgments: Judgments, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="threads is 0, expected at least 1"):
        judgments.read_run(write(tmp_path, b""), threads=0)
