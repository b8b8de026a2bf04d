"""What is found of residuals: against formulas written out, and how often it is said for nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

import calipers as cal
from calipers.findings.linear_trend import fit_line
from calipers.findings.regression import NumericPredictions
from calipers.findings.rules import RULES, Subject
from calipers.inference.clusters import ClusterIndex
from calipers.results import Finding

KINDS = (
    "heavy-tails",
    "skewed-residuals",
    "residual-trend",
    "heteroscedastic-errors",
    "influential-rows",
)
OWN = [one for one in RULES.values() if one.kind in KINDS]
RNG = np.random.Generator


def said(predicted: Any, residual: Any, *weight_and_clusters: Any) -> dict[str, Finding]:
    """What these rules find."""
    weight, clusters = weight_and_clusters or (None, None)
    of = NumericPredictions(predicted - residual, predicted, weight, clusters)
    subject = Subject("a", 0.95, (of,))
    return {found.kind: found for one in OWN for found in one.findings(subject)}


@pytest.fixture
def rng() -> RNG:
    return np.random.default_rng(3)


# ---------------------------------------------------------------------------------------- the line


def by_hand(x: Any, y: Any, w: Any, codes: Any = None) -> tuple[float, float, float]:
    """The slope, its HC3 error and the degrees of freedom, by matrices."""
    table = np.column_stack([np.ones(len(x)), x])
    bread = np.linalg.inv(table.T @ (w[:, None] * table))
    beta = bread @ table.T @ (w * y)
    hat = w * np.einsum("ij,jk,ik->i", table, bread, table)
    rows = ((bread @ table.T) * (w * (y - table @ beta) / (1 - hat)))[1]
    if codes is not None:
        return (float(beta[1]), *jackknifed(x, y, w, codes))
    s = np.square(rows)
    degrees = 2 * s.sum() ** 2 / (np.square(s).sum() - s.sum() ** 2 / len(s))
    return float(beta[1]), float(np.sqrt(s.sum())), float(min(len(x) - 2, degrees))


def jackknifed(x: Any, y: Any, w: Any, codes: Any) -> tuple[float, float]:
    """The error of the slope from lines without each cluster, and Bell and McCaffrey's degrees."""
    names, lines = np.unique(codes), []
    for left_out in (None, *names):
        use = codes != left_out
        lines.append(np.polyfit(x[use], y[use], 1, w=np.sqrt(w[use]))[0])
    changes = np.array(lines[1:]) - lines[0]
    g = len(names)
    squares = w * np.square(x - np.average(x, weights=w))
    h = np.array([squares[codes == c].sum() for c in names]) / squares.sum()
    # As if clusters were independent with variances h: of the residuals (I - h1')e, scaled by d.
    d = 1 / np.sqrt(1 - h)
    covariance = np.outer(d, d) * (np.diag(h) - np.outer(h, h))
    return (
        float(np.sqrt((g - 1) / g * np.square(changes).sum())),
        float(np.trace(covariance) ** 2 / np.square(covariance).sum()),
    )


def test_the_slope_has_no_error_where_x_varies_in_one_cluster_only(rng: RNG) -> None:
    x, codes = np.repeat([1.0, 0.0, 0.0, 0.0], 5), np.repeat(np.arange(4), 5)
    line = fit_line(x, rng.normal(size=20), None, ClusterIndex.from_names(codes))
    assert line is not None
    assert np.isnan([line.se, line.df, line.p]).all()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("clustered", [False, True])
def test_a_line_is_that_of_matrices(rng: RNG, weighted: bool, clustered: bool) -> None:
    x, codes = rng.exponential(size=40), rng.integers(0, 9, 40)
    y = x * rng.normal(size=40)
    w = rng.integers(1, 4, 40).astype(float) if weighted else None
    clusters = ClusterIndex(codes.astype(np.uint32), 9, w) if clustered else None
    found = fit_line(x, y, w, clusters)
    assert found is not None
    own = np.ones(40) if w is None else w
    expected = by_hand(x, y, own, codes if clustered else None)
    assert (found.slope, found.se, found.df) == pytest.approx(expected, rel=1e-10)
    assert found.p == pytest.approx(2 * stats.t.sf(abs(expected[0]) / expected[1], expected[2]))


def test_a_line_needs_three_rows_and_two_numbers() -> None:
    for x in ([1.0, 2.0], [2.0, 2.0, 2.0]):
        assert fit_line(np.array(x), np.arange(float(len(x))), None, None) is None


# ---------------------------------------------------------------------------------- what they say


def test_heavy_tails_say_how_heavy(rng: RNG) -> None:
    e = stats.t(2.5).ppf((np.arange(400) + 0.5) / 400)
    found = said(rng.permutation(400) / 100.0, e)["heavy-tails"]
    ratio = e.std() / np.abs(e - e.mean()).mean()
    assert found.values["standard over mean absolute deviation"] == pytest.approx(ratio)
    assert found.values["ratio of normal residuals"] == pytest.approx(np.sqrt(np.pi / 2))
    light = stats.t(6).ppf((np.arange(400) + 0.5) / 400)
    assert "heavy-tails" not in said(rng.permutation(400) / 100.0, light)


def test_a_share_below_the_mean_knows_that_the_mean_is_estimated(rng: RNG) -> None:
    e = rng.exponential(size=300)
    found = said(rng.normal(size=300), e)["skewed-residuals"]
    share = "proportion below the mean"
    assert found.values[share] == np.mean(e < e.mean())
    # What other samples show, not the binomial error.
    shares = [np.mean(x < x.mean()) for x in rng.exponential(size=(2000, 300))]
    low, high = found.intervals[share]
    assert (high - low) / 2 == pytest.approx(1.97 * np.std(shares), rel=0.15)
    assert "above their mean" in said(rng.normal(size=300), -e)["skewed-residuals"].message


def test_a_trend_has_the_means_of_the_fifths(rng: RNG) -> None:
    p = rng.normal(size=500)
    e = rng.normal(size=500) + 0.5 * p
    found = said(p, e)["residual-trend"]
    order = np.argsort(p)
    for which, rows in (("lowest", order[:100]), ("highest", order[400:])):
        name, own = f"mean residual in the {which} quintile", e[rows]
        t = stats.t.interval(0.95, 99, own.mean(), own.std(ddof=1) / 10)
        assert found.values[name] == pytest.approx(own.mean())
        assert found.intervals[name] == pytest.approx(t)
    rest = np.polyval(np.polyfit(np.argsort(order), e, 1), np.argsort(order))
    assert found.values["RMSE after a linear correction"] == pytest.approx(
        np.sqrt(np.mean((e - rest) ** 2))
    )
    assert "too extreme" in found.message
    assert "too moderate" in said(p, rng.normal(size=500) - 0.5 * p)["residual-trend"].message


def test_errors_that_grow_or_shrink(rng: RNG) -> None:
    p = rng.normal(size=400)
    grow = said(p, rng.normal(size=400) * np.exp(p / 2))
    assert set(grow) >= {"heteroscedastic-errors"}
    assert "Rows with large predictions contribute more" in grow["heteroscedastic-errors"].message
    shrink = said(p, rng.normal(size=400) * np.exp(-p / 2))
    assert "Rows with small predictions contribute more" in shrink["heteroscedastic-errors"].message


def test_rows_that_carry_are_named(rng: RNG) -> None:
    e = rng.normal(size=300)
    e[[7, 100]] = 20, -30
    found = said(np.arange(300.0), e)["influential-rows"]
    assert found.values["influential rows"] == 1
    assert found.values["proportion of the squared error"] == pytest.approx(900 / np.sum(e**2))
    assert found.values["RMSE without them"] == pytest.approx(
        np.sqrt(np.mean(np.delete(e, 100) ** 2))
    )
    assert ": row 100. Without it" in found.message
    e[[8, 101]] = 31, -29
    found = said(np.arange(300.0), e)["influential-rows"]
    assert "2 of 300 rows" in found.message
    assert ": row 8 and row 100. Without them" in found.message


def test_rows_are_called_as_they_were_given(rng: RNG) -> None:
    truth = rng.normal(size=60)
    predicted = truth + rng.normal(size=60)
    predicted[31] += 90
    table = {"y": truth, "p": predicted, "id": [f"p{i}" for i in range(60)]}
    table["y"][4] = np.nan
    ask: Callable[..., Any] = cal.regression

    def sentence(**options: Any) -> str:
        found = ask("y", "p", data=table, missing="drop", measures="RMSE", **options).findings
        return next(f.message for f in found if f.kind == "influential-rows")

    assert ": row 31. Without it" in sentence()
    assert ": 'p31'. Without it" in sentence(id="id")
    times = np.where(np.arange(60) < 10, 3, 1)
    assert "1 of 77 rows" in sentence(count=times)
    assert ": row 31. Without it" in sentence(count=times)
    # Three copies of one row are one.
    assert ": row 31. Without them" in sentence(count=np.where(np.arange(60) == 31, 3, 1))


def test_weights_count_rows_as_often(rng: RNG) -> None:
    p = rng.normal(size=200)
    e = np.exp(p / 2) * rng.standard_t(2, 200) + 0.4 * p
    once, twice = said(p, e), said(p, e, np.full(200, 2.0), None)
    assert len(once) > 2
    assert {k: f.values for k, f in once.items()} == {
        k: pytest.approx(dict(f.values)) for k, f in twice.items()
    }
    w = rng.integers(0, 4, 200).astype(float)
    of_weights = said(p, e, w, None)
    of_rows = said(np.repeat(p, w.astype(int)), np.repeat(e, w.astype(int)))
    for kind in set(of_weights) & set(of_rows) - {"influential-rows"}:
        for name, value in of_weights[kind].values.items():
            if name != "p":
                assert of_rows[kind].values[name] == pytest.approx(value, rel=1e-9), (kind, name)


# --------------------------------------------------------------------------- no fault, no finding


def _rates(repeats: int, rows: int, make: Callable[[], Any]) -> dict[str, float]:
    counts = dict.fromkeys(KINDS, 0)
    for _ in range(repeats):
        for kind in said(*make()):
            counts[kind] += 1
    return {kind: n / repeats for kind, n in counts.items()}


@pytest.mark.parametrize("rows", [3, 10, 19])
def test_nothing_is_said_of_few_rows(rng: RNG, rows: int) -> None:
    for _ in range(30):
        assert said(np.exp(rng.normal(size=rows)), rng.standard_t(1.5, rows)) == {}


def test_normal_residuals_are_let_alone(rng: RNG) -> None:
    rates = _rates(300, 60, lambda: (np.exp(rng.normal(size=60)), rng.normal(size=60)))
    assert max(rates.values()) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 300)


@pytest.mark.slow
def test_uneven_and_skewed_residuals_have_no_trend(rng: RNG) -> None:
    def uneven() -> Any:
        p = rng.normal(size=100)
        return p, np.exp(p / 2) * rng.normal(size=100)

    def skewed() -> Any:
        return rng.normal(size=100), rng.exponential(size=100)

    border = 0.05 + 3 * np.sqrt(0.05 * 0.95 / 300)
    assert _rates(300, 100, uneven)["residual-trend"] <= border
    of_skewed = _rates(300, 100, skewed)
    assert max(of_skewed["residual-trend"], of_skewed["heteroscedastic-errors"]) <= border


def test_clusters_have_no_trend_of_their_own(rng: RNG) -> None:
    """Rows of one cluster have one prediction and one residual: forty numbers, not four hundred."""
    codes = np.repeat(np.arange(40), 10).astype(np.uint32)

    def made() -> Any:
        p, e = rng.normal(size=(2, 40))
        return p[codes], e[codes], None, ClusterIndex(codes, 40)

    rates = _rates(300, 40, made)
    assert max(rates.values()) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 300)


@pytest.mark.parametrize("size", [1e-300, 1e-150, 1e40])
def test_numbers_of_any_size(rng: RNG, size: float) -> None:
    p = rng.normal(size=100)
    e = np.exp(p) * rng.normal(size=100) + p
    assert set(said(p * size, e * size)) == set(said(p, e))


def test_rounding_is_no_residual(rng: RNG) -> None:
    truth = rng.normal(size=100)
    assert said(truth, truth * np.where(np.arange(100) % 9, 0, 1e-15)) == {}
    assert said(np.ones(100), np.zeros(100)) == {}
    assert set(said(np.ones(100), rng.normal(size=100))) == set()


# ----------------------------------------------------------------------------------- many rows


@pytest.mark.slow
def test_many_rows_are_sampled_where_they_are_ranked_as_those_of_a_stream(rng: RNG) -> None:
    n = 130_000
    predicted = rng.normal(size=n)
    truth = 0.7 * predicted + np.exp(predicted) * rng.normal(size=n)
    weight = rng.integers(1, 3, n).astype(float)
    columns = {"y": truth, "p": predicted, "w": weight}
    for options in ({}, {"weight": "w"}):
        here, stream = (
            {
                f.kind: (f.message, f.values)
                for f in cal.regression("y", "p", data=columns, engine=engine, **options).findings
            }
            for engine in (None, "stream")
        )
        for kind in ("residual-trend", "heteroscedastic-errors"):
            assert here[kind][0] == stream[kind][0]
            assert here[kind][0].endswith("of 130,000 rows, spread evenly.")
        assert "spread evenly" not in here["heavy-tails"][0]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("tail", [0.0, 0.5, 1.5, 3.0])
def test_influential_rows_are_those_of_sorted_squares(
    rng: RNG, weighted: bool, tail: float
) -> None:
    for n in (150, 3000):
        residual = rng.normal(size=n) * np.exp(tail * rng.normal(size=n))
        weight = rng.integers(1, 4, n).astype(float) if weighted else None
        w = np.ones(n) if weight is None else weight
        order = np.argsort(-np.square(residual), kind="stable")
        running = np.cumsum((w * np.square(residual))[order])
        k = int(np.searchsorted(running, running[-1] / 2)) + 1
        is_few = k == 1 or w[order[:k]].sum() <= 0.01 * w.sum()
        found = said(rng.normal(size=n), residual, weight, None).get("influential-rows")
        assert (found is not None) == is_few
        assert found is None or found.values["influential rows"] == k
