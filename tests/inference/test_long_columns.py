"""What is computed in a shorter way of many rows is what the plain way says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import calipers as cal
from calipers.data.class_labels import group_codes
from calipers.estimation.counts import ClassCounts
from calipers.inference.clusters import ClusterIndex
from calipers.inference.settings import Settings
from calipers.measures import parse
from calipers.statistics import Moments, ScoreTable, calibration
from calipers.statistics.calibration import ProbabilityLevels
from calipers.statistics.regression import SortedValues, midranks, quantile, sort_rows

random = np.random.default_rng(3)


@pytest.mark.parametrize(
    "names",
    [
        random.integers(-128, 128, 300).astype(np.int8),
        random.integers(250, 256, 20).astype(np.uint8),
        random.integers(0, 50, 300) - 25,
        random.integers(0, 2**40, 30),
        np.array([2**64 - 1, 2**64 - 3, 2**64 - 1], np.uint64),
        np.array([1.5, -2.0, 1.5]),
        np.array([True, False, True]),
    ],
)
def test_clusters_are_numbered_in_the_order_of_their_names(names: Any) -> None:
    distinct, place = np.unique(names, return_inverse=True)
    made = ClusterIndex.from_names(group_codes(names, "cluster"))
    assert made.codes.dtype == np.uint32
    assert (made.codes == place).all()
    assert made.n_codes == len(distinct)


@pytest.mark.parametrize("kind", ["arrow", "dictionary", "numpy", "object"])
def test_so_are_those_of_text(kind: str) -> None:
    texts = np.array(["u10", "u9", "é", "u10", "Z"])
    given = {
        "arrow": pa.array(texts),
        "dictionary": pa.array(texts).dictionary_encode(),
        "numpy": texts,
        "object": texts.astype(object),
    }[kind]
    place = np.unique(texts, return_inverse=True)[1]
    assert (ClusterIndex.from_names(group_codes(given, "cluster")).codes == place).all()


@pytest.mark.parametrize("share", [0.0, 0.25, 0.5, 0.9, 1.0])
def test_a_weighted_quantile_is_that_of_the_distinct_values(share: float) -> None:
    for n in (1, 2, 7, 60):
        values = random.integers(0, 8, n) / 4
        weight = random.integers(1, 4, n) / 2.0
        whole = np.repeat(values, (2 * weight).astype(int))
        own = SortedValues.from_column(values)
        assert quantile(values, share, weight) == float(own.quantile(weight, share))
        assert quantile(values, share, weight) == quantile(whole, share)


@pytest.mark.parametrize("n", [1, 2, 50, 70_000])
def test_midranks_and_quantiles_of_many_rows_are_those_of_the_sorted_ones(n: int) -> None:
    values = np.round(random.normal(size=n), 3)
    weight = random.integers(0, 3, n) / 2.0
    weight[0] = 1.0
    own = SortedValues.from_column(values)
    assert midranks(values, weight) == pytest.approx(own.midranks(weight), rel=1e-11)
    assert midranks(values) == pytest.approx(own.midranks(np.ones(n)), rel=1e-13)
    order = np.argsort(values[weight > 0])
    ascending, running = values[weight > 0][order], weight[weight > 0][order].cumsum()
    for share in (0.0, 0.1, 0.5, 0.999, 1.0):
        below, upto = running < share * running[-1], running <= share * running[-1]
        wanted = [ascending[min(of.sum(), len(running) - 1)] for of in (below, upto)]
        assert quantile(values[weight > 0], share, weight[weight > 0]) == sum(wanted) / 2


def test_infinite_values_have_midranks_and_quantiles() -> None:
    values, weight = np.array([np.inf, 1.0, -np.inf, np.inf]), np.array([1.0, 2.0, 1.0, 1.0])
    assert midranks(values, weight).tolist() == [0.8, 0.4, 0.1, 0.8]
    assert quantile(values, 0.5, weight) == 1.0
    assert quantile(values, 0.9, weight) == np.inf
    assert np.isnan(quantile(np.zeros(0), 0.5, np.zeros(0)))


def test_distinct_values_are_those_of_numpy() -> None:
    values = np.array([0.0, 3.0, -0.0, np.inf, -2.5, 3.0])
    own, (distinct, place) = (
        SortedValues.from_column(values),
        np.unique(values, return_inverse=True),
    )
    assert (own.values == distinct).all()
    assert (own.value_index == place).all()
    assert (values[sort_rows(values)] == np.sort(values)).all()
    assert midranks(values) == pytest.approx(own.midranks(np.ones(len(values))), rel=1e-15)
    assert len(SortedValues.from_column(np.zeros(0)).values) == 0
    assert np.isnan(SortedValues.from_column(np.array([1.0, np.nan])).values[-1])


def test_weighted_moments_are_those_of_the_definition() -> None:
    value, weight = random.normal(size=50), random.integers(0, 3, 50) / 1.7
    made = Moments.from_rows(value, weight)
    mean = np.average(value, weights=weight)
    assert made.mean == pytest.approx(mean)
    assert made.m2 == pytest.approx((weight * (value - mean) ** 2).sum())
    assert made.squares == pytest.approx((weight**2).sum())
    assert made.v2 == pytest.approx((weight**2 * (value - mean) ** 2).sum())
    assert made.cross == pytest.approx((weight**2 * (value - mean)).sum())


def test_a_line_looked_for_from_groups_is_the_most_likely(monkeypatch: pytest.MonkeyPatch) -> None:
    latent = random.normal(size=3000)
    positive = random.random(3000) < 1 / (1 + np.exp(-0.6 * latent - 0.3))
    p, weight = 1 / (1 + np.exp(-latent)), random.random(3000)
    plain = ProbabilityLevels.from_table(
        ScoreTable.from_rows(positive, p, weight)
    ).recalibration_line
    monkeypatch.setattr(calibration, "_MAX_DIRECT_LEVELS", 100)
    monkeypatch.setattr(calibration, "_N_GROUPS", 20)
    monkeypatch.setattr("calipers.statistics.base.BLOCK_ROWS", 64)
    found = ProbabilityLevels.from_table(
        ScoreTable.from_rows(positive, p, weight)
    ).recalibration_line
    assert found == pytest.approx(plain, rel=1e-9)
    # The gradient of the likelihood is 0 there.
    fitted = 1 / (1 + np.exp(-found[0] - found[1] * latent))
    assert (weight * (positive - fitted)).sum() == pytest.approx(0, abs=1e-8)
    assert (weight * (positive - fitted) * latent).sum() == pytest.approx(0, abs=1e-8)


@pytest.mark.parametrize("weight", [None, random.random(400) + 0.1])
@pytest.mark.parametrize("name", ["accuracy", "F1", "MCC", "precision", "LR+"])
def test_cells_by_cluster_have_the_error_of_the_rows(name: str, weight: Any) -> None:
    truth, code = random.integers(0, 2, 400), random.integers(0, 60, 400)
    said = np.where(random.random(400) < 0.8, truth, 1 - truth)
    clusters = ClusterIndex.from_names(code, weight)
    own = ClassCounts.from_codes(truth, said, ("no", "yes"), Settings(), weight, clusters)
    measure = parse(name)
    assert own._cluster_counts is not None
    found, by_row = (
        own.point_estimate(measure).standard_error,
        own.influence(measure).standard_error,
    )
    assert found.se == pytest.approx(by_row.se, rel=1e-12)
    assert found.df == pytest.approx(by_row.df, rel=1e-12)
    assert found.name == by_row.name


def test_cells_of_small_codes_are_counted_without_overflow() -> None:
    rows, k = 70_000, 11  # 121 cells fit into one byte, those of two systems do not
    truth, first, second = random.integers(0, k, (3, rows))
    labels = tuple(f"c{i:02}" for i in range(k))
    counts = [ClassCounts.from_codes(truth, x, labels, Settings()) for x in (first, second)]
    expected = np.zeros((k, k, k))
    np.add.at(expected, (truth, first, second), 1)
    assert (counts[0].matrix.counts == expected.sum(axis=2)).all()
    flat = counts[0].cells.cross(counts[1].cells, k)
    assert (np.bincount(flat, minlength=k**3) == expected.ravel()).all()


def test_losses_of_many_rows_are_those_of_the_formula() -> None:
    truth, p = random.random(70_000) < 0.3, random.random(70_000)
    evaluation = cal.classification(truth, probability=p, measures=["log-loss", "Brier"])
    expected = -np.log(np.where(truth, p, 1 - p)).mean(), np.square(p - truth).mean()
    assert [estimate.value for estimate in evaluation] == pytest.approx(expected, rel=1e-12)
