"""``calipers learn check-split``."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from calipers.cli.group import cli


@pytest.fixture
def table(tmp_path: Path) -> str:
    random = np.random.default_rng(0)
    rows = random.normal(size=(200, 2))
    truth = (rows[:, 0] + random.normal(size=200) > 0).astype(int)
    lines = [
        f"{a},{b},{y},{2 * y - 1},{k // 4}"
        for k, ((a, b), y) in enumerate(zip(rows, truth, strict=True))
    ]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["a,b,y,leak,user", *lines]))
    return str(path)


@pytest.mark.slow
def test_nothing_and_something_is_found(table: str) -> None:
    honest = CliRunner().invoke(
        cli, ["learn", "check-split", table, "--truth", "y", "--features", "a,b"]
    )
    assert (honest.exit_code, honest.output.splitlines()[0]) == (0, "No problem was found.")
    found = CliRunner().invoke(
        cli, ["learn", "check-split", table, "--truth", "y", "--group", "user", "--format", "json"]
    )
    assert found.exit_code == 1
    told = json.loads(found.output)
    assert [one["kind"] for one in told["findings"]] == ["gives-away"]
    assert told["checked"][1] == "shared-groups"


def test_a_column_that_names_the_parts(table: str) -> None:
    said = CliRunner().invoke(cli, ["learn", "check-split", table, "--split", "y"])
    assert "expected 'train', 'validation' or 'test'" in str(said.exception or said.output)
