"""``calipers clustering``: what it shows of each cluster and of each point."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from in_process import invoke

import calipers as cal


@pytest.fixture
def table(tmp_path: Path) -> str:
    random = np.random.default_rng(2)
    kind = random.integers(0, 3, 60)
    points = random.normal(size=(60, 2)) + 3 * kind[:, None]
    lines = [f"{x},{y},{k},{min(k, 1)}" for (x, y), k in zip(points, kind, strict=True)]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["x_1,x_2,three,two", *lines]), encoding="utf-8")
    return str(path)


def test_the_silhouette_of_each_point_goes_to_a_file(table: str, tmp_path: Path) -> None:
    asked = ["--labels", "three", "--labels", "two", "--features", "x_*"]
    out = tmp_path / "each.csv"
    invoke(["clustering", table, *asked, "--truth", "three", "--per-point", "-o", str(out)])
    with out.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["point"] for row in rows[:2]] == ["0", "1"]
    assert {row["system"] for row in rows} == {"three", "two"}
    assert {row["measure"] for row in rows} == {"silhouette"}
    given = np.loadtxt(table, delimiter=",", skiprows=1)
    ev = cal.clustering(given[:, :2], given[:, 2].astype(int), measures=["silhouette"])
    own = [float(row["value"]) for row in rows if row["system"] == "three"]
    assert np.mean(own) == pytest.approx(ev["silhouette"].value)


def test_clusters_and_samples_are_shown(table: str) -> None:
    asked = ["--labels", "three", "--features", "x_*", "-m", "silhouette", "-m", "silhouette[2]"]
    done = invoke(["clustering", table, *asked, "--by-cluster", "--sample", "30"])
    assert "of 30 sampled points" in done.stdout
    assert done.stdout.splitlines()[-4].split() == ["cluster", "points", "silhouette"]
    wrong = invoke(["clustering", table, *asked, "--by-cluster", "--per-point"])
    assert wrong.exit_code == 2
    assert "give one" in wrong.stderr


def test_clusterings_in_tables_of_their_own_and_what_they_cost(table: str, tmp_path: Path) -> None:
    """Joined by ids, with the costs of each; and a clustering may have a name."""
    given = np.loadtxt(table, delimiter=",", skiprows=1)
    known, said = tmp_path / "known.csv", tmp_path / "said.csv"
    ids = np.arange(60)
    known.write_text(
        "p,kind\n" + "".join(f"{i},{k:.0f}\n" for i, k in zip(ids, given[:, 2], strict=True)),
        "utf-8",
    )
    rows = reversed([f"{i},{k:.0f},{i / 10}\n" for i, k in zip(ids[1:], given[1:, 3], strict=True)])
    said.write_text("p,own,ms\n" + "".join(rows), "utf-8")
    line = ["clustering", str(known), "--truth", "kind", "--labels", "own", "--id", "p"]
    line += ["--system", f"new={said}", "--cost", "latency=ms", "-m", "ARI"]
    refused = invoke(line)
    assert "labels 'new': the id 0 is missing" in str(refused.exception)
    out = tmp_path / "out.json"
    assert invoke([*line, "--missing", "drop", "-o", str(out)]).exit_code == 0
    ev = cal.from_json(out.read_text("utf-8"))
    alone = cal.clustering(None, given[1:, 3], given[1:, 2], measures=["ARI"])
    assert (ev.systems, ev["ARI"].value) == (("new",), alone["ARI"].value)
    assert ev.costs[0].value == pytest.approx(np.arange(1, 60).mean() / 10)
    assert "1 of 60 rows are left out because of their ids" in ev.notes[0]
    named = invoke(
        [
            "clustering",
            table,
            "--labels",
            "old=two",
            "--labels",
            "three",
            "--truth",
            "three",
            "--cost",
            "ms=old:two,three:three",
        ]
    )
    assert named.exit_code == 0, named.output
    assert "old" in named.stdout


def test_distances_keep_all_points() -> None:
    with pytest.raises(cal.InputError, match="distances= has all points"):
        cal.clustering(None, [0, 1], distances=np.zeros((2, 2)), missing="drop")
