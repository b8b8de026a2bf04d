"""How Hypothesis, linear algebra and the collector of garbage run, for all tests."""

from __future__ import annotations

import gc
import os
import re
import signal
import sys
from collections.abc import Generator
from types import FrameType

# Where Python is told to leave no bytecode, as in many containers, each worker and each command that
# tests run would compile the package anew, which takes a command longer than its work.
if sys.dont_write_bytecode:
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Before NumPy is imported, here and in the commands that tests run: there is a worker for each core,
# and further threads of OpenBLAS and OpenMP would wait beside it without sleeping, a fifth of all
# time on matrices of a few rows. tests/core/test_threads.py takes this away again.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
from hypothesis import HealthCheck, settings

# The same examples in every run: a red build is red for everybody.
settings.register_profile(
    "calipers",
    database=None,
    deadline=None,
    derandomize=True,
    max_examples=32,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("calipers")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is collected stays to the end: to look for garbage among thousands of tests took a third
    of the time in which they are collected, in every worker, and a tenth of that in which they run;
    seldom looked for, a fortieth."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()
        gc.set_threshold(10_000)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options of these tests."""
    parser.addoption(
        "--shard", metavar="I/N", help="run every Nth of the selected tests, from the I-th on"
    )
    parser.addoption(
        "--certificate",
        metavar="FOLDER",
        help="write what tests of parity compared, for tools/certificate.py",
    )


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests of the shard. Cases of one test are neighbors, so that shards cost the same."""
    shard = config.getoption("--shard")
    if shard is None:
        return
    match = re.fullmatch(r"(\d+)/(\d+)", shard)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise pytest.UsageError(
            f"--shard is {shard!r}; expected I/N with I from 1 to N, such as 2/3"
        )
    first, step = int(match[1]) - 1, int(match[2])
    selected = items[first::step]
    config.hook.pytest_deselected(
        items=[item for place, item in enumerate(items) if place % step != first]
    )
    items[:] = selected


#: Seconds after which a test fails. The slowest takes less than a minute on one core.
LONGEST = 300


def _time_out(number: int, frame: FrameType | None) -> None:
    raise TimeoutError(f"the test takes longer than {LONGEST} s")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, object, object]:
    """A test that waits for a process which has ended would otherwise hold up all others."""
    if not hasattr(signal, "SIGALRM"):
        return (yield)
    previous = signal.signal(signal.SIGALRM, _time_out)
    signal.alarm(LONGEST)
    try:
        return (yield)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous)
