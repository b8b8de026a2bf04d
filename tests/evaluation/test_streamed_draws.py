"""Measures without influence: drawn from the table of scores, as near the bootstrap of rows as two
sets of draws are."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import calipers as cal
from calipers.estimation import poisson_bootstrap

ROWS = 1500
MEASURES = ["KS", "max-F1", "EER", "recall@FPR=0.1", "PR-11pt", "Brier-skill", "ECE", "reliability"]

#: Points of curves, of which only some are left where scores are put together.
POINTS = ("EER", "recall@FPR=0.1", "PR-11pt")


@pytest.fixture(scope="module")
def table() -> pa.Table:
    random = np.random.default_rng(0)
    latent = random.normal(size=ROWS)
    return pa.table(
        {
            "y": (random.random(ROWS) < 1 / (1 + np.exp(-latent))).astype(np.int8),
            "p": 1 / (1 + np.exp(-1.5 * latent - random.normal(size=ROWS) / 2)),
            "w": random.integers(1, 5, ROWS) / 2,
            "user": random.integers(0, 100, ROWS),
            "arm": random.integers(0, 2, ROWS),
        }
    )


@pytest.mark.slow
@pytest.mark.parametrize(("weight", "cells"), [(None, 4096), ("w", 400)])
def test_intervals_are_those_of_drawn_rows(
    table: pa.Table, weight: str | None, cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where scores are put together before they are drawn."""
    monkeypatch.setattr(poisson_bootstrap, "MAX_TABLE_CELLS", cells)
    asked = {"data": table, "weight": weight, "measures": MEASURES, "curves": False}
    ours = cal.classification("y", probability="p", engine="stream", **asked)
    theirs = cal.classification("y", probability="p", engine="memory", **asked)
    for a, b in zip(ours, theirs, strict=True):
        if cells == 400 and a.measure in POINTS:
            assert a.interval_reason == "no_analytic_interval"
            continue
        assert a.method == b.method.replace("bootstrap", "Poisson bootstrap")
        length = b.high - b.low
        assert (a.low, a.high) == pytest.approx((b.low, b.high), abs=0.12 * length), a.measure


def test_any_number_of_replicates_at_a_time_is_the_same(
    table: pa.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for at_once in (10_000, 10_000, 300_000):
        monkeypatch.setattr(poisson_bootstrap, "MAX_BATCH_ELEMENTS", at_once)
        asked = {"data": table, "measures": ["KS"], "n_resamples": 300, "engine": "stream"}
        found.append(cal.classification("y", probability="p", **asked)["KS"])
    assert (found[0].low, found[0].high) == (found[1].low, found[1].high)
    assert found[0].low == pytest.approx(found[2].low, abs=0.01)


def test_slices_and_states_are_drawn_too(table: pa.Table) -> None:
    asked = {"measures": ["KS"], "data": table, "slices": ["arm"], "n_resamples": 500}
    ours, theirs = (
        cal.classification("y", probability="p", engine=engine, **asked)
        for engine in ("stream", "memory")
    )
    assert ours.slices is not None
    assert theirs.slices is not None
    for a, b in zip(ours.slices, theirs.slices, strict=True):
        assert a.estimate.method == b.estimate.method.replace("boot", "Poisson boot")
        assert "Poisson bootstrap [B] of both" in a.vs_rest.method
        length = b.vs_rest.high - b.vs_rest.low
        limits = pytest.approx((b.vs_rest.low, b.vs_rest.high), abs=0.15 * length)
        assert (a.vs_rest.low, a.vs_rest.high) == limits
    merged = cal.merge_states([ours])["KS"]
    assert "Poisson" in merged.method


def test_few_rows_are_drawn_as_well(table: pa.Table) -> None:
    """Of few scores there is an error by differences, which says too little."""
    few = table.slice(0, 300)
    for measure in ("KS", "EER"):
        ours, theirs = (
            cal.classification("y", probability="p", data=few, engine=engine, measures=[measure])
            for engine in ("stream", "memory")
        )
        a, b = ours[measure], theirs[measure]
        assert a.method == b.method.replace("bootstrap", "Poisson bootstrap")
        assert (a.low, a.high) == pytest.approx((b.low, b.high), abs=0.12 * (b.high - b.low))


@pytest.mark.parametrize("how", [{"cluster": "user"}, {"interval": "analytic"}])
def test_what_is_not_drawn(table: pa.Table, how: dict[str, str]) -> None:
    found = cal.classification(
        "y", probability="p", data=table, engine="stream", measures=["KS", "EER"], **how
    )
    assert found["EER"].interval_reason == "no_analytic_interval"
    assert found["KS"].method.startswith("delta, logit")


@pytest.mark.slow
def test_squares_of_weights_are_drawn_with_them(table: pa.Table) -> None:
    """Spiegelhalter's z has them in its denominator: drawn as if all weights were one, its
    interval began at the value itself, and went on with the scale of the weights."""
    asked = {"data": table, "measures": ["Spiegelhalter-z"], "curves": False}
    [theirs] = cal.classification("y", probability="p", weight="w", **asked)
    asked["data"] = table.append_column("double", pa.array(2 * table["w"].to_numpy()))
    for weight in ("w", "double"):
        [ours] = cal.classification("y", probability="p", weight=weight, engine="stream", **asked)
        assert ours.value == pytest.approx(theirs.value)
        length = theirs.high - theirs.low
        assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=length / 10)
