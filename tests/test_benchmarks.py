"""The suite of benchmarks does what it says, and its pages say what it measured."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from calipers.cli.group import cli

HERE = Path(__file__).parents[1]
BENCHMARKS = HERE / "benchmarks"

if not BENCHMARKS.is_dir():
    pytest.skip("only where the repository is", allow_module_level=True)


@pytest.fixture(scope="module")
def made() -> Iterator[SimpleNamespace]:
    """The modules, which are scripts beside each other."""
    sys.path.insert(0, str(BENCHMARKS))
    import growth_page
    import growth_tasks
    import peers
    import suite_page

    yield SimpleNamespace(
        peers=peers, suite_page=suite_page, growth_page=growth_page, tasks=growth_tasks.TASKS
    )
    sys.path.remove(str(BENCHMARKS))


def test_peers_come_to_the_same_values(made: SimpleNamespace) -> None:
    compared = 0
    for name, call in made.peers.CALLS.items():
        (_, ours), *others = call.tools.items()
        value = ours(*call.data(1_000))
        for tool, theirs in others:
            if tool == "scikit-learn":
                assert theirs(*call.data(1_000)) == pytest.approx(value, rel=call.close), name
                compared += 1
    assert compared >= 10


def test_the_commands_that_grow_are_there(made: SimpleNamespace, tmp_path: Path) -> None:
    for name in ("FILE", "qrels.txt", "run.txt"):
        (tmp_path / name).write_text("")
    for task in made.tasks.values():
        path = "qrels.txt run.txt run.txt" if task.data == "systems" else "FILE"
        written = task.command.replace("{path}/", "").replace("{path}", path)
        _, *words = (
            str(tmp_path / w) if (tmp_path / w).exists() else w for w in shlex.split(written)
        )
        group = cli
        while hasattr(group, "get_command"):
            with group.make_context("calipers", [words[0], "--help"], resilient_parsing=True) as c:
                group = group.get_command(c, words.pop(0))
        assert group.make_context("calipers", words).params


def test_ratios_are_those_of_turns(made: SimpleNamespace) -> None:
    page = made.suite_page
    assert page.ratio([2.0, 8.0, 3.0], [1.0, 2.0, 2.0], brackets=True) == "2× (1.5 to 4)"
    assert page.ratio([0.5], [1.0]) == "**0.5×**"
    assert page.ratio([0.97], [1.0]) == "0.97×"


def test_a_row_is_what_one_more_takes(made: SimpleNamespace) -> None:
    def of(wall: float, cpu: float, memory: float) -> dict[str, list[float]]:
        return {"wall": [wall], "cpu": [cpu], "memory": [memory]}

    lines = {"10000": of(1, 1, 50), "100000": of(1, 1.5, 60), "1000000": of(5, 6, 960)}
    each, tasks = made.growth_page.each, made.tasks
    assert each(tasks["classes"], lines, "cpu") == pytest.approx(4.5 / 900_000)
    assert each(tasks["classes"], lines, "memory") == pytest.approx(900 * 2**20 / 900_000)
    pairs = (1e6 * (1e6 - 1) - 1e5 * (1e5 - 1)) / 2
    assert each(tasks["silhouettes"], lines, "cpu") == pytest.approx(4.5 / pairs)
