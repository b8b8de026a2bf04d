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
sys.path.append(str(Path(__file__).parents[1] / "cli"))
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
            "site": np.array(["x", "y", "z"])[random.integers(0, 3, 900)],
            "age": random.integers(20, 80, 900),
            "holes": pa.array([None if k % 97 == 5 else k % 3 for k in range(900)]),
            "gaps": pa.array([None if k % 131 == 7 else float(k % 7) for k in range(900)]),
        }
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"noise": "drop"},
        {"count": "often", "baseline": "near"},
        {"features": None, "measures": AGAINST_TRUTH},
        {"truth": None, "labels": "near", "measures": OF_POINTS},
        {"labels": {"a": "near"}, "features": ["x_0", "x_2"]},
        {"slices": ["site", "age"], "measures": AGAINST_TRUTH},
        {"slices": ["age*site"], "slice_bins": {"age": [40]}, "measures": ["ARI"], "noise": "drop"},
        {"slices": "site", "count": "often", "measures": ["purity"], "interval": "auto"},
        {"missing": "drop", "labels": ["near", "holes"], "features": ["x_0", "gaps"]},
        {
            "missing": "drop",
            "labels": "holes",
            "slices": "gaps",
            "features": None,
            "measures": ["ARI"],
        },
    ],
    ids=[
        "both",
        "noise",
        "counts",
        "truth alone",
        "points alone",
        "named",
        "slices",
        "crossed",
        "slices of counts",
        "missing",
        "missing in slices",
    ],
)
def test_batches_have_the_numbers_of_memory(
    more: dict[str, Any], table: pa.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Values, intervals, defaults, notes and differences of clusterings."""
    monkeypatch.setattr(streams, "BATCH_ROWS", 130)
    asked: dict[str, Any] = {
        "features": "x_*", "labels": ["near", "noisy"], "truth": "kind", "data": table,
        "measures": [*AGAINST_TRUTH, *OF_POINTS], "curves": False, "interval": "analytic", **more,
    }  # fmt: skip
    ours, theirs = (cal.clustering(engine=of, **asked) for of in ("stream", "memory"))
    same(ours, theirs)
    left = "rows are left out because values are missing"
    assert [n.partition(left)[0] for n in ours.notes] == [
        n.partition(left)[0] for n in theirs.notes
    ]
    assert (ours.slices is None) == (theirs.slices is None) == ("slices" not in more)
    for one, other in zip(ours.slices or (), theirs.slices or (), strict=True):
        assert (one.column, one.slice, one.estimate.n) == (
            other.column, other.slice, other.estimate.n)  # fmt: skip
        for a, b in ((one.estimate, other.estimate), (one.vs_rest, other.vs_rest)):
            assert (a.value, a.low, a.high) == pytest.approx(
                (b.value, b.low, b.high), rel=1e-9, abs=1e-12, nan_ok=True
            )
    of = [[] if ev.slices is None else ev.slices.differences for ev in (ours, theirs)]
    for one, other in zip(*of, strict=True):
        assert (one.column, one.slice) == (other.column, other.slice)
        assert (one.difference.value, one.difference.p) == pytest.approx(
            (other.difference.value, other.difference.p), rel=1e-7, nan_ok=True
        )
    of_points = {
        "bimodal-cluster",
        "negative-silhouettes",
        "singleton-clusters",
        "negative-mean-silhouette",
    }
    said = [(f.kind, f.systems) for f in theirs.findings if f.kind not in of_points]
    assert [(f.kind, f.systems) for f in ours.findings] == said  # (points are dealt as they come)
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
        ({"metric": "cosine"}, "centers are Euclidean"),
        ({"slices": "kind", "measures": ["WCSS"]}, "slices= applies to measures against truth="),
        ({"memory": "much"}, "memory"),
        ({"sample": 100}, "sample= takes all rows in memory"),
        ({"per_point": True}, "per_point= takes all rows in memory"),
        ({"labels": "nearly"}, "no column 'nearly'; did you mean 'near'"),
        ({"features": None, "measures": ["WCSS"]}, "needs the points"),
        ({"truth": None, "measures": ["ARI"]}, "needs the true class"),
        ({"labels": "holes"}, "labels: 10 of 900 values are missing, the first in rows 5, 102"),
        ({"features": "gaps"}, "features 'gaps'"),
        ({"baseline": "other.json"}, "other"),
    ],
)
def test_what_batches_do_not_have(more: dict[str, Any], words: str, table: pa.Table) -> None:
    asked = {"features": "x_*", "labels": "near", "truth": "kind", "data": table, **more}
    with pytest.raises(InputError, match=words):
        cal.clustering(engine="stream", **asked)


@pytest.mark.slow
@pytest.mark.parametrize("more", [{}, {"count": "often"}, {"slices": "site"}], ids=str)
def test_costs_are_those_of_memory(more: dict[str, Any], table: pa.Table) -> None:
    random = np.random.default_rng(8)
    wide = table.append_column("ms", pa.array(random.gamma(2.0, size=len(table))))
    asked: dict[str, Any] = {
        "labels": {"a": "near", "b": "noisy"}, "truth": "kind", "data": wide, "measures": ["ARI"],
        "cost": {"ms": {"a": "ms", "b": "age"}, "usd": {"a": 2.0, "b": 1.0}}, **more,
    }  # fmt: skip
    memory, stream = (cal.clustering(None, engine=e, **asked) for e in ("memory", "stream"))
    for one, other in zip(memory.costs, stream.costs, strict=True):
        assert (one.system, one.measure, one.method) == (other.system, other.measure, other.method)
        limits = [(of.value, of.low, of.high) for of in (one, other)]
        assert limits[0] == pytest.approx(limits[1], rel=1e-9, nan_ok=True)
    assert [[*front] for front in memory.pareto_fronts] == [
        [*front] for front in stream.pareto_fronts
    ]
    assert len(memory.costs.slices or ()) == len(stream.costs.slices or ())


def test_costs_take_a_second_look(table: pa.Table) -> None:
    with pytest.raises(InputError, match="cost= requires a second pass"):
        cal.clustering(
            None, "near", "kind", data=table.to_reader(), measures=["ARI"], cost={"ms": "age"}
        )


def test_prices_take_no_look(table: pa.Table) -> None:
    """One number of each system is no column of the rows."""
    once = cal.clustering(
        None, {"a": "near", "b": "noisy"}, "kind", data=table.to_reader(), measures=["ARI"],
        cost={"usd": {"a": 2.0, "b": 1.0}}, noise="drop",
    )  # fmt: skip
    assert [c.value for c in once.costs] == [2.0, 1.0]


def test_costs_of_points_without_noise_take_the_rows(table: pa.Table) -> None:
    """In memory they are those of the points that are left."""
    asked: dict[str, Any] = {"noise": "drop", "measures": ["ARI"], "cost": {"ms": "age"}}
    left = cal.clustering(None, "noisy", "kind", data=table, **asked)
    there = np.asarray(table["noisy"]) >= 0
    assert left.costs["mean-cost[ms]"].value == pytest.approx(
        np.asarray(table["age"])[there].mean()
    )
    with pytest.raises(InputError, match="costs of the remaining points require"):
        cal.clustering(None, "noisy", "kind", data=table, engine="stream", **asked)


def test_what_can_be_read_once_is_set_against_the_truth(table: pa.Table) -> None:
    reader = table.to_reader
    ours = cal.clustering(None, "near", "kind", data=reader(), measures=["ARI"])
    assert ours["ARI"].low == cal.clustering(None, "near", "kind", data=table)["ARI"].low
    with pytest.raises(InputError, match="can be read only once"):
        cal.clustering("x_*", "near", "kind", data=reader(), measures=["WCSS"])


def test_a_batch_without_a_complete_row(table: pa.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "BATCH_ROWS", 90)
    none = pa.array([None if k < 180 else k % 4 for k in range(900)])
    rows = table.append_column("late", none)
    asked: dict[str, Any] = {"labels": "late", "truth": "kind", "data": rows, "missing": "drop"}
    ours, theirs = (
        cal.clustering("x_*", engine=of, measures=["ARI", "WCSS"], **asked)
        for of in ("stream", "memory")
    )
    same(ours, theirs)
    nothing = rows.append_column("nothing", pa.nulls(900, pa.int64()))
    with pytest.raises(InputError, match="no row is complete"):
        cal.clustering("x_*", engine="stream", **{**asked, "data": nothing, "labels": "nothing"})


@pytest.mark.slow
def test_more_ways_to_meet_than_memory_holds(table: pa.Table) -> None:
    rows = table.append_column("each", pa.array(range(900)))
    asked: dict[str, Any] = {"truth": "each", "data": rows, "measures": ["purity"]}
    with pytest.raises(InputError, match="exceeds the memory limit"):
        cal.clustering(None, "near", engine="stream", memory=8_000, **asked)
    assert cal.clustering(None, "near", engine="stream", memory="1MB", **asked)["purity"].n == 900


def test_what_is_found_of_clusters_of_a_stream(table: pa.Table) -> None:
    """Labels by chance, which are dealt anew by the number of points of each combination."""
    random = np.random.default_rng(1)
    by_chance = table.append_column("chance", pa.array(random.integers(0, 3, 900)))
    asked: dict[str, Any] = {"labels": ["near", "chance"], "truth": "kind", "data": by_chance}
    asked |= {"measures": ["ARI", "CH"], "engine": "stream"}
    found = {f.kind: f for f in cal.clustering("x_*", **asked).findings}
    assert found["clusters-not-above-chance"].systems == ("chance",)


def test_the_p_value_of_chance_is_that_of_memory_whatever_the_order_of_points() -> None:
    random = np.random.default_rng(2)
    data = {"kind": np.array([*"xyxyzzxyxz"] * 4), "said": random.integers(0, 3, 40)}
    assert len({p_of_chance(data, engine) for engine in ("memory", "stream")}) == 1
    order = random.permutation(40)
    turned = {name: column[order] for name, column in data.items()}
    assert p_of_chance(turned, "memory") == p_of_chance(data, "memory")


def p_of_chance(data: dict[str, Any], engine: str) -> float:
    evaluation = cal.clustering(None, "said", "kind", data=data, engine=engine, n_resamples=200)
    [p] = [f.values["p"] for f in evaluation.findings if f.kind == "clusters-not-above-chance"]
    assert 0.1 < p < 0.99
    return p
