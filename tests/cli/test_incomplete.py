"""``calipers retrieval --judgment-bounds``."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from forked import command


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Seven relevant documents, four of them retrieved by each run; one run has others too."""
    (tmp_path / "q.txt").write_text("".join(f"1 0 d{i} 1\n" for i in range(7)))
    for name, ranking in (("few", "d0 d1 d2 d3"), ("more", "d0 u0 d1 d2 u1 d3 u2")):
        lines = [f"1 Q0 {d} {i} {-i} t\n" for i, d in enumerate(ranking.split())]
        (tmp_path / f"{name}.run").write_text("".join(lines))
    return tmp_path


def retrieval(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return command(folder, "retrieval", "q.txt", *arguments)


def test_recall_with_three_unknown_items_lies_between_4_of_10_and_4_of_7(folder: Path) -> None:
    options = ["-m", "SetR", "--judgment-bounds", "--max-unretrieved", "3", "--format", "json"]
    done = retrieval(folder, "few.run", *options)
    (estimate,) = json.loads(done.stdout)["systems"][0]["estimates"]
    assert (estimate["lower_bound"], estimate["upper_bound"]) == (4 / 10, 4 / 7)
    assert estimate["bounds_kind"] == "sharp"


def test_the_table_has_a_column(folder: Path) -> None:
    done = retrieval(folder, "more.run", "-m", "P@5", "--judgment-bounds", "--max-grade", "1")
    assert "judgments" in done.stdout
    assert "[0.6" in done.stdout


def test_its_options_mean_nothing_alone(folder: Path) -> None:
    done = retrieval(folder, "few.run", "--max-unretrieved", "3")
    assert done.returncode == 2
    assert "--max-unretrieved and --max-grade go with --judgment-bounds" in done.stderr
