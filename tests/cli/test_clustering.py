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
