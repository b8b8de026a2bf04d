"""Cells of many rows that weigh differently are drawn from sums, whoever has the rows."""

from dataclasses import replace

import numpy as np
import pytest

import calipers as cal
from calipers.estimation.counts import ClassCounts, _CountsDistribution
from calipers.inference import available_methods, bayesian_bootstrap, multinomial_cells
from calipers.inference.multinomial_cells import MAX_DRAWN_ROWS, MultinomialCells
from calipers.inference.point_estimate import PointEstimate, UnitGroups
from calipers.inference.settings import Settings

ROWS = MAX_DRAWN_ROWS + 2_000
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


def test_rows_are_not_looked_at_where_they_are_many(monkeypatch: pytest.MonkeyPatch):
    touched: list[int] = []
    row = MultinomialCells.row
    monkeypatch.setattr(
        MultinomialCells, "row", lambda of: (touched.append(len(of.flat)), row(of))[1]
    )
    _drawn(ROWS, Settings(n_resamples=50))
    assert not touched
    _drawn(MAX_DRAWN_ROWS, Settings(n_resamples=50))
    assert touched == [MAX_DRAWN_ROWS]


def test_intervals_by_sums_are_those_by_rows(monkeypatch: pytest.MonkeyPatch):
    truth, first, second, weight = _rows()

    def evaluated() -> cal.Evaluation:
        return cal.classification(
            truth, {"a": first, "b": second}, weight=weight, measures=COUNTED, n_resamples=4000
        )

    by_sums = evaluated()
    monkeypatch.setattr(multinomial_cells, "MAX_DRAWN_ROWS", ROWS)
    by_rows = evaluated()
    for one, other in zip(by_sums.estimates, by_rows.estimates, strict=True):
        assert (one.method, other.method) == ("Poisson bootstrap [B]", "bootstrap [B]")
        assert one.value == other.value
        width = other.high - other.low
        assert one.low == pytest.approx(other.low, abs=0.07 * width)
        assert one.high == pytest.approx(other.high, abs=0.07 * width)


@pytest.mark.parametrize("classes", [2, 3])
def test_a_stream_has_the_intervals_of_memory(classes: int):
    *columns, weight = _rows()
    truth, first, second = (x + (np.arange(ROWS) % 3 == 2) * (classes - 2) for x in columns)
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
        for at in ("value", "low", "high", "p", "p_noninferiority", "standard_error"):
            assert getattr(one, at) == pytest.approx(getattr(other, at), rel=1e-8, nan_ok=True)


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
    assert by_cell.differing == by_row.differing > 0
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
