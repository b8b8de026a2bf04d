"""What systems cost is the same of rows in batches as of rows in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import calipers as cal


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    random, n = np.random.default_rng(3), 400
    truth, ms = random.integers(0, 2, n), random.lognormal(size=n)
    late = np.where(random.random(n) < 0.02, None, ms * random.lognormal(0.1, 0.2, size=n))
    return pa.table(
        {
            "y": truth,
            "a": np.where(random.random(n) < 0.8, truth, 1 - truth),
            "b": np.where(random.random(n) < 0.9, truth, 1 - truth),
            "ms": ms,
            "late": pa.array(late, pa.float64()),
            "w": random.gamma(2, size=n),
            "often": random.integers(0, 3, n),
            "user": random.integers(0, 30, n),
            "site": random.choice(list("xyz"), n),
        }
    )


DESIGNS: dict[str, dict[str, Any]] = {
    "plain": {},
    "weighted": {"weight": "w"},
    "counted": {"count": "often"},
    "clustered": {"cluster": "user"},
    "sliced": {"slices": ["site"]},
}


def limits(of: Any) -> list[float]:
    return [of.value, of.low, of.high]


@pytest.mark.parametrize("design", DESIGNS)
def test_costs_in_batches(rows: pa.Table, design: str) -> None:
    cost = {"ms": {"a": "ms", "b": "late"}, "size": {"a": 3, "b": 5}}
    asked = {"truth": "y", "predicted": ["a", "b"], "measures": ["accuracy"], "cost": cost}
    memory, stream = (
        cal.classification(data=rows, engine=engine, missing="drop", **asked, **DESIGNS[design])
        for engine in ("memory", "stream")
    )
    assert memory.estimates[0].n == stream.estimates[0].n
    assert len(memory.costs.estimates) == 8
    near = {"rel": 1e-9, "nan_ok": True}
    for one, other in zip(memory.costs.estimates, stream.costs.estimates, strict=True):
        assert (one.system, one.measure, one.n) == (other.system, other.measure, other.n)
        assert other.value == pytest.approx(one.value, **near)
        if design != "clustered" or "median-cost" not in one.measure:
            assert limits(other) == pytest.approx(limits(one), **near)
    mean, same = (next(iter(of.costs.comparison)) for of in (memory, stream))
    assert [*limits(same), same.p] == pytest.approx([*limits(mean), mean.p], rel=1e-6)
    assert [[row.on_front for row in front] for front in memory.pareto_fronts] == [
        [row.on_front for row in front] for front in stream.pareto_fronts
    ]
    if design == "sliced":
        ours, theirs = ([one.estimate.value for one in of.costs.slices] for of in (memory, stream))
        assert theirs == pytest.approx(ours)


def test_one_system_without_a_name(rows: pa.Table) -> None:
    found = cal.classification(
        "y", "a", data=rows, engine="stream", measures=["accuracy"], cost="ms"
    )
    assert found.costs["mean-cost[ms]"].value == pytest.approx(np.mean(rows["ms"]))


def test_a_cost_below_0_is_told_with_its_row(rows: pa.Table) -> None:
    wrong = rows.set_column(3, "ms", pa.array(np.where(np.arange(400) == 7, -1.0, 1.0)))
    with pytest.raises(cal.InputError, match=r"cost 'ms'.*-1 in row 7, expected 0 or more"):
        cal.classification("y", "a", data=wrong, engine="stream", measures=["accuracy"], cost="ms")


def test_columns_that_are_not_there(rows: pa.Table) -> None:
    with pytest.raises(cal.InputError, match="no column 'msec'"):
        cal.classification("y", "a", data=rows, engine="stream", cost={"ms": "msec"})


@pytest.mark.parametrize(
    ("verb", "asked"),
    [
        ("regression", {"truth": ["ms", "w"], "predicted": {"a": ["w", "ms"]}}),
        ("multilabel", {"truth": {"one": "y", "two": "a"}, "predicted": {"a": {"one": "b", "two": "y"}}}),
        ("agreement", {"raters": {"a": ["y", "b"]}}),
    ],
)  # fmt: skip
def test_costs_of_other_tasks_in_batches(rows: pa.Table, verb: str, asked: Any) -> None:
    table = rows.select(["y", "a", "b", "ms", "w"])
    memory, stream = (
        getattr(cal, verb)(data=table, engine=engine, cost={"spent": {"a": "ms"}}, **asked)
        for engine in ("memory", "stream")
    )
    mean = table["ms"].to_numpy().mean()
    assert memory.costs["a", "mean-cost[spent]"].value == pytest.approx(mean)
    for one, other in zip(memory.costs, stream.costs, strict=True):
        assert limits(other) == pytest.approx(limits(one), rel=1e-9, nan_ok=True)
