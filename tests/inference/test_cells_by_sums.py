"""Cells of rows that weigh differently are drawn from sums, whoever has the rows."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import calipers as cal
from calipers.estimation.counts import ClassCounts, _CountsDistribution
from calipers.inference import available_methods, bayesian_bootstrap
from calipers.inference.multinomial_cells import MultinomialCells
from calipers.inference.point_estimate import PointEstimate, UnitGroups
from calipers.inference.settings import Settings
from calipers.statistics import ConfusionMatrix

#: More than are compared one by one, without those that weigh nothing.
ROWS = 26_000
COUNTED = ("balanced-accuracy", "F1", "MCC", "LR+", "LR-")


def _rows(seed: int = 4) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    truth = (rng.random(ROWS) < 0.1).astype(int)
    first, second = (np.where(rng.random(ROWS) < wrong, 1 - truth, truth) for wrong in (0.1, 0.12))
    return truth, first, second, np.exp(rng.normal(size=ROWS))


def _drawn(rows: int, settings: Settings) -> np.ndarray:
    truth, predicted, _, weight = (x[:rows] for x in _rows())
    of = MultinomialCells.from_codes([truth, predicted], (2, 2), weight)
    return np.concatenate(list(of.draw_replicates(settings)))


def test_replicates_have_the_mean_and_the_variance_of_weights_drawn_row_by_row():
    settings = Settings(n_resamples=20_000)
    truth, predicted, _, weight = _rows()
    drawn = _drawn(ROWS, settings)
    for cell in range(4):
        own = weight[truth * 2 + predicted == cell]
        # Of a Poisson number of each row the weight has the mean Σw and the variance Σw².
        error = np.sqrt(np.square(own).sum() / settings.n_resamples)
        assert drawn[:, cell].mean() == pytest.approx(own.sum(), abs=4 * error)
        assert drawn[:, cell].var() == pytest.approx(np.square(own).sum(), rel=0.06)
    assert abs(np.corrcoef(drawn.T) - np.eye(4)).max() < 0.03


@pytest.mark.parametrize("rows", [50, ROWS])
def test_rows_are_not_looked_at(rows: int, monkeypatch: pytest.MonkeyPatch):
    touched: list[int] = []
    row = MultinomialCells.row_cell_index
    monkeypatch.setattr(
        MultinomialCells,
        "row_cell_index",
        lambda of: (touched.append(len(of.row_cells)), row(of))[1],
    )
    _drawn(rows, Settings(n_resamples=50))
    assert not touched


@pytest.mark.slow
@pytest.mark.parametrize("rows", [300, ROWS])
def test_intervals_by_sums_are_those_by_rows(rows: int):
    """Rows drawn one by one, as many times as a Poisson number says."""
    truth, first, _, weight = (x[:rows] for x in _rows())
    ev = cal.classification(truth, first, weight=weight, measures=COUNTED, n_resamples=4000)
    random = np.random.default_rng(1)
    cell, cells = truth * 2 + first, np.zeros((4000, 4))
    for drawn in cells:
        drawn[:] = np.bincount(cell, weight * random.poisson(1.0, rows), 4)
    with np.errstate(divide="ignore", invalid="ignore"):
        counts = cells.reshape(-1, 2, 2)
        matrix = ConfusionMatrix(counts, counts, ("0", "1"))
        values = [cal.measure(name).apply(matrix) for name in COUNTED]
    for one, replicates in zip(ev.estimates, values, strict=True):
        if not np.isfinite(replicates).all():
            continue
        low, high = np.quantile(replicates, [0.025, 0.975])
        assert one.method == "Poisson bootstrap [B]"
        near = (0.07 if rows == ROWS else 0.12) * (high - low)
        assert (one.low, one.high) == pytest.approx((low, high), abs=near)


@pytest.mark.parametrize("rows", [300, ROWS])
@pytest.mark.parametrize("classes", [2, 3])
def test_a_stream_has_the_intervals_of_memory(classes: int, rows: int):
    *columns, weight = (x[:rows] for x in _rows())
    truth, first, second = (x + (np.arange(rows) % 3 == 2) * (classes - 2) for x in columns)
    measures = COUNTED if classes == 2 else ("MCC", "kappa")
    data = {"y": truth, "a": first, "b": second, "w": weight}
    here, there = (
        cal.classification("y", ["a", "b"], weight="w", data=data, measures=measures, engine=engine)
        for engine in ("memory", "stream")
    )
    for one, other in zip(here.estimates, there.estimates, strict=True):
        assert (one.measure, one.method) == (other.measure, other.method)
        assert one.method == "Poisson bootstrap [B]"
        for at in ("value", "low", "high"):
            assert getattr(one, at) == pytest.approx(getattr(other, at), rel=1e-9)


@pytest.mark.parametrize("classes", [2, 3])
def test_differences_by_cells_are_those_by_rows(classes: int, monkeypatch: pytest.MonkeyPatch):
    truth, first, second, weight = _rows()
    truth, first, second = (
        x + (np.arange(ROWS) % 3 == 2) * (classes - 2) for x in (truth, first, second)
    )
    weight[::7] = 0.0
    of_two = ("precision", "recall", "specificity", "NPV")
    measures = (
        "accuracy",
        "error-rate",
        *(of_two if classes == 2 else ("recall[1]", "precision[2]")),
    )

    def differences() -> list[cal.Difference]:
        made = cal.classification(
            truth, {"a": first, "b": second}, weight=weight, measures=measures, n_resamples=100
        )
        return list(made.compare(adjust="none", margin=0.01))

    by_cell = differences()
    monkeypatch.setattr(_CountsDistribution, "difference", _by_rows)
    for one, other in zip(by_cell, differences(), strict=True):
        assert (one.measure, one.method) == (other.measure, other.method)
        assert one.differing == other.differing
        assert one.method == "t or Bayesian bootstrap, paired"
        assert one.value == other.value
        limits, width = (other.low, other.high), other.high - other.low
        assert (one.low, one.high) == pytest.approx(limits, abs=5e-4 * width)
        for at in ("p", "p_noninferiority", "standard_error"):
            near: dict[str, Any] = {"rel": 1e-2, "abs": 1e-9, "nan_ok": True}
            assert getattr(one, at) == pytest.approx(getattr(other, at), **near)


def test_cells_stand_for_their_rows_in_the_bayesian_bootstrap():
    truth, first, second, weight = _rows()
    weight[::7] = 0.0
    settings, measure = Settings(), cal.measure("precision")
    a, b = (
        ClassCounts.from_codes(truth, said, ("no", "yes"), settings, weight).point_estimate(measure)
        for said in (first, second)
    )
    by_cell, by_row = (
        available_methods.unit_differences(of) for of in (a - b, replace(a - b, unit_groups=None))
    )
    assert by_cell is not None
    assert by_row is not None
    assert by_cell.n_differing == by_row.n_differing > 0
    assert by_cell.n <= 8 < by_row.n
    of_cells, of_rows = (
        bayesian_bootstrap.AugmentedMean.from_values(
            of.values, (-0.5, 0.9), weight=of.weight, counts=of.counts
        )
        for of in (by_cell, by_row)
    )
    assert of_cells is not None
    assert of_rows is not None
    # Rounding makes some groups of the rows of a cell, so that Kish's number is of fewer of them.
    shares = np.array([0.025, 0.4, 0.975])
    quantiles = of_rows.quantiles(shares)
    width = quantiles[2] - quantiles[0]
    assert of_cells.quantiles(shares) == pytest.approx(quantiles, abs=1e-4 * width)
    assert of_cells.standard_deviation == pytest.approx(of_rows.standard_deviation, rel=1e-5)


_minus = _CountsDistribution.difference


def _by_rows(
    law: _CountsDistribution, first: PointEstimate, second: PointEstimate
) -> PointEstimate:
    return replace(_minus(law, first, second), unit_groups=None)


def test_the_median_of_groups_is_that_of_their_units():
    rng = np.random.default_rng(0)
    for units in ([1, 1], [2, 1, 3], [5, 1, 1, 1], [1, 2, 3, 6]):
        values = rng.normal(size=len(units))
        groups = UnitGroups(
            values, np.array(units, float), np.ones(len(units)), np.ones(len(units))
        )
        assert groups.median == np.median(np.repeat(values, units))
