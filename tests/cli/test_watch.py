"""What a terminal shows of work that takes long."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest

from calipers import _core, progress
from calipers.cli.progress_line import ProgressLine

posix = pytest.mark.skipif(os.name != "posix", reason="needs a pseudo-terminal")


def test_steps_are_counted_in_one_another(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(progress, "monotonic", lambda: now)
    monkeypatch.setattr(progress, "_core_progress", lambda: (0, 0))
    assert progress.progress_text() is None
    told = []
    outer = progress.track("abcd", "measuring")
    for _ in outer:
        for _ in progress.track(iter("xy"), "slicing", 2):
            now += 10
            told.append(progress.progress_text())
    assert progress.progress_text() is None
    assert told[0] == "measuring 1 of 4 · slicing 1 of 2"
    # After 3 of 8 steps of ten seconds each, and ten seconds in the fourth: 40 for 3, so 5 take 67.
    assert told[3] == "measuring 2 of 4 · slicing 2 of 2 · about 67 s left"
    monkeypatch.setattr(progress, "_core_progress", lambda: (1, 4))
    assert progress.progress_text() == "25%"


def test_rows_have_a_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    """And how long they take still, where their number is known."""
    now = 100.0
    monkeypatch.setattr(progress, "monotonic", lambda: now)
    monkeypatch.setattr(progress, "_core_progress", lambda: (0, 0))
    for total, end in ((8_000_000, " of 8,000,000"), (None, "")):
        told = []
        for _ in progress.track_rows([3_000_000] * 2, "pass 1", total, int):
            told.append(progress.progress_text())
            now += 2
        left = " · about 3 s left" if total else ""
        assert told == [
            f"pass 1: 0{end} rows",
            f"pass 1: 3,000,000{end} rows · 1.5 million rows/s{left}",
        ]
    assert progress.progress_text() is None


def test_one_step_and_what_is_left_in_the_middle_are_not_told() -> None:
    assert list(progress.track("a", "measuring")) == ["a"]
    steps = progress.track("abc", "measuring")
    next(steps)
    assert progress.progress_text() is not None
    assert isinstance(steps, Iterator)
    steps.close()  # type: ignore[attr-defined]
    assert progress.progress_text() is None


def test_loops_of_the_core_say_how_far_they_are() -> None:
    rng = np.random.default_rng(1)
    points = rng.normal(size=(4000, 16))
    labels = np.sort(rng.integers(0, 3, 4000)).astype(np.uint32)
    seen = set()
    import calipers as cal

    cal.clustering(points[:9], labels[[0, -1] * 4 + [0]], measures="silhouette", interval="none")
    work = threading.Thread(
        target=lambda: cal.clustering(points, labels, measures="silhouette", interval="none")
    )
    work.start()
    while work.is_alive():
        seen.add(_core.progress())
        time.sleep(1e-4)
    work.join()
    assert _core.progress() == (0, 0)
    assert all(0 <= done <= steps for done, steps in seen)
    assert max(steps for _, steps in seen) > 1
    assert len({done for done, _ in seen}) > 1


@posix
def test_the_line_goes_before_anything_else_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    import pty

    monkeypatch.setattr("calipers.cli.progress_line._DELAY_SECONDS", 0.01)
    monkeypatch.setattr("calipers.cli.progress_line._INTERVAL_SECONDS", 0.01)
    ours, theirs = pty.openpty()
    watched = ProgressLine(theirs)
    steps = progress.track(range(3), "measuring")
    next(steps)
    watched.start()
    deadline = time.monotonic() + 20
    text = b""
    while b"measuring 1 of 3" not in text and time.monotonic() < deadline:
        text += os.read(ours, 100)
    watched.stop()
    watched.join()
    os.write(theirs, b"result")
    while b"result" not in text:
        text += os.read(ours, 100)
    for end in (ours, theirs):
        os.close(end)
    assert text.endswith(b"\r\x1b[Kresult")
    assert list(steps) == [1, 2]


@posix
def test_nothing_is_shown_where_nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    from calipers.cli.progress_line import start_progress_line

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("os.isatty", lambda descriptor: False)
    assert start_progress_line() is None
    monkeypatch.setattr("os.isatty", lambda descriptor: True)
    monkeypatch.setenv("TERM", "dumb")
    assert start_progress_line() is None
