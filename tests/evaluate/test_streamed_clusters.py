"""Clusters in batches: the numbers of points in memory, from sums."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import calipers as cal
from calipers.data import streams
from calipers.data.errors import InputError

sys.path.insert(0, str(Path(__file__).parents[1] / "engines"))
sys.path.insert(0, str(Path(__file__).parents[1] / "cli"))
from in_process import invoke
from same import same

AGAINST_TRUTH = ["ARI", "AMI", "V-measure", "purity"]
OF_POINTS = ["simplified-silhouette", "DB", "CH", "WCSS"]


@pytest.fixture(scope="module")
def table() -> pa.Table:
    """Four classes; a clustering that is near them, and one with noise and a point alone."""
    random = np.random.default_rng(0)
    kind = random.integers(0, 4, 900)
    points = random.normal(size=(900, 3)) + 1.2 * kind[:, None]
    noisy = np.where(random.random(900) < 0.3, random.integers(-1, 4, 900), kind)
    noisy[17] = 9
    return pa.table(
        {
            "kind": np.array(["a", "b", "c", "d"])[kind],
            "near": np.where(random.random(900) < 0.15, random.integers(0, 4, 900), kind),
            "noisy": noisy,
            **{f"x_{k}": points[:, k] for k in range(3)},
            "often": random.integers(0, 3, 900),
        }
    )


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"noise": "drop"},
        {"count": "often", "baseline": "near"},
        {"features": None, "measures": AGAINST_TRUTH},
        {"truth": None, "labels": "near", "measures": OF_POINTS},
        {"labels": {"a": "near"}, "features": ["x_0", "x_2"]},
    ],
    ids=["both", "noise", "counts", "truth alone", "points alone", "named"],
)
def test_batches_have_the_numbers_of_memory(
    more: dict[str, Any], table: pa.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Values, intervals, defaults, notes and differences of clusterings."""
    monkeypatch.setattr(streams, "ROWS", 130)
    asked: dict[str, Any] = {
        "features": "x_*", "labels": ["near", "noisy"], "truth": "kind", "data": table,
        "measures": [*AGAINST_TRUTH, *OF_POINTS], "curves": False, "interval": "analytic", **more,
    }  # fmt: skip
    ours, theirs = (cal.clustering(engine=of, **asked) for of in ("stream", "memory"))
    same(ours, theirs)
    assert ours.notes == theirs.notes
    for one, other in zip(ours.label_tables, theirs.label_tables, strict=True):
        assert one.labels == other.labels
        np.testing.assert_array_equal(one.truth, other.truth)


def test_points_far_from_0_keep_their_digits(table: pa.Table) -> None:
    """Sums of squares are about means, and not about 0."""
    far = table.set_column(
        table.column_names.index("x_0"), "x_0", pa.array(table["x_0"].to_numpy() + 1e8)
    )
    asked: dict[str, Any] = {"features": "x_0", "labels": "near", "measures": ["WCSS", "DB"]}
    ours, theirs = (cal.clustering(engine=of, data=far, **asked) for of in ("stream", "memory"))
    for a, b in zip(ours, theirs, strict=True):
        assert (a.value, a.standard_error) == pytest.approx((b.value, b.standard_error), rel=1e-9)


def test_the_command_and_usual_measures(table: pa.Table, tmp_path: Path) -> None:
    path = str(tmp_path / "points.parquet")
    parquet.write_table(table, path)
    line = ["clustering", path, "--labels", "near", "--features", "x_*", "--truth", "kind"]
    measures = ["-mARI", "-mWCSS", "--format", "csv"]
    made = [invoke([*line, *measures, *more]) for more in ((), ("--engine", "stream"))]
    assert made[1].exit_code == 0, made[1].stderr
    assert made[0].stdout == made[1].stdout
    usual = invoke([*line, "--engine", "stream", "--by-cluster"])
    assert usual.exit_code == 0, usual.stderr
    for name in ("ARI", "simplified-silhouette", "Davies-Bouldin"):
        assert name in usual.stdout


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"measures": ["silhouette"]}, "silhouette takes all points in memory"),
        ({"measures": ["Dunn"]}, "Dunn takes all points in memory"),
        ({"metric": "cosine"}, "centres are Euclidean"),
        ({"slices": "kind"}, "slices= takes all rows in memory"),
        ({"sample": 100}, "sample= takes all rows in memory"),
        ({"per_point": True}, "per_point= takes all rows in memory"),
        ({"labels": "nearly"}, "no column 'nearly'; did you mean 'near'"),
        ({"features": None, "measures": ["WCSS"]}, "needs the points"),
        ({"truth": None, "measures": ["ARI"]}, "needs the true class"),
        ({"labels": "holes"}, "labels: 1 of 900 values are missing, the first in row 5"),
        ({"features": "gaps"}, "features 'gaps'"),
        ({"baseline": "other.json"}, "other"),
    ],
)
def test_what_batches_do_not_have(more: dict[str, Any], words: str, table: pa.Table) -> None:
    holes = pa.array([None if k == 5 else k % 3 for k in range(900)])
    gaps = pa.array([None if k == 7 else 0.5 for k in range(900)])
    rows = table.append_column("holes", holes).append_column("gaps", gaps)
    asked = {"features": "x_*", "labels": "near", "truth": "kind", "data": rows, **more}
    with pytest.raises(InputError, match=words):
        cal.clustering(engine="stream", **asked)


def test_what_can_be_read_once_is_set_against_the_truth(table: pa.Table) -> None:
    reader = table.to_reader
    ours = cal.clustering(None, "near", "kind", data=reader(), measures=["ARI"])
    assert ours["ARI"].low == cal.clustering(None, "near", "kind", data=table)["ARI"].low
    with pytest.raises(InputError, match="can be read only once"):
        cal.clustering("x_*", "near", "kind", data=reader(), measures=["WCSS"])
