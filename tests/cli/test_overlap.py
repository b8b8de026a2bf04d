"""``calipers overlap``, as a user calls it."""

from __future__ import annotations

import csv
import io
import json
import subprocess
from pathlib import Path

import pytest
from forked import command

RUNS = {
    "a": "1 Q0 x 1 3 t\n1 Q0 y 2 2 t\n1 Q0 z 3 1 t\n2 Q0 x 1 1 t\n",
    "b": "1 Q0 y 1 3 t\n1 Q0 x 2 2 t\n1 Q0 w 3 1 t\n2 Q0 x 1 1 t\n",
    "c": "1 Q0 z 1 3 t\n2 Q0 v 1 1 t\n",
}


def overlap(folder: Path, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    for name, text in RUNS.items():
        (folder / f"{name}.run").write_text(text)
    done = command(folder, "overlap", *arguments)
    assert done.returncode == code, done.stderr
    return done


def test_pairs_of_all_runs_as_a_table(tmp_path: Path) -> None:
    done = overlap(tmp_path, "a.run", "b.run", "c.run", "-k", "2")
    assert done.stderr == ""
    for shown in (
        "Overlap: 3 pairs of runs",
        "Most similar by RBO: a ~ b",
        "a ~ b",
        "a ~ c",
        "b ~ c",
        "RBO-min",
        "overlap@2",
    ):
        assert shown in done.stdout


def test_the_formats_hold_the_same_numbers(tmp_path: Path) -> None:
    options = ("a.run", "b.run", "-p", "0.8", "-k", "1", "-k", "2", "--depth", "2")
    data = json.loads(overlap(tmp_path, *options, "--format", "json").stdout)
    (system,) = data["systems"]
    values = {e["measure"]: e["value"] for e in system["estimates"]}
    # Topic 1: x y against y x; topic 2: the same document.
    assert values["overlap@1"] == 0.5
    assert values["overlap@2"] == 1.0
    assert values["RBO(p=0.8)"] == pytest.approx((0.2 * 0.8 + 0.64 + 1) / 2)
    assert data["provenance"]["conventions"]["depth"] == 2
    assert len(data["provenance"]["inputs"][0]["sha256"]) == 64
    rows = list(csv.DictReader(io.StringIO(overlap(tmp_path, *options, "--format", "csv").stdout)))
    assert {row["measure"]: float(row["value"]) for row in rows} == values


def test_a_report_is_written(tmp_path: Path) -> None:
    overlap(tmp_path, "a.run", "b.run", "--report", "out.html")
    assert "Rank-biased overlap" in (tmp_path / "out.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("a.run",), 3, "there is one run only ('a'); overlap takes two"),
        (("a.run", "none.run"), 3, "none.run: no such file"),
        (("a.run", "b.run", "-p", "1"), 2, "1.0 is not in the range 0<x<1"),
        (("a.run", "b.run", "-k", "0"), 2, "0 is not in the range 1<=x<="),
    ],
)
def test_what_is_wrong_is_said(
    tmp_path: Path, arguments: tuple[str, ...], code: int, message: str
) -> None:
    assert message in overlap(tmp_path, *arguments, code=code).stderr
