"""Weight, mean and variance of a value per row."""

from __future__ import annotations

from functools import reduce
from operator import add

import numpy as np
import pytest

from calipers.statistics import Moments, SkewMoments


@pytest.mark.parametrize("shift", [0.0, 1e9])
@pytest.mark.parametrize("parts", [1, 2, 7, 40])
@pytest.mark.parametrize("weighted", [False, True])
def test_merging_loses_nothing_on_shifted_data(shift: float, parts: int, weighted: bool) -> None:
    """Σx² − (Σx)²/n would have no digit of the variance left at a shift of 1e9."""
    generator = np.random.default_rng(5)
    value = generator.normal(size=1000) + shift
    weight = generator.uniform(0.1, 3.0, 1000) if weighted else np.ones(1000)
    pieces = np.array_split(np.arange(1000), parts)
    merged = reduce(
        add, [Moments.from_rows(value[i], weight[i] if weighted else None) for i in pieces]
    )
    exact = value - shift  # exact: both are doubles of the same binade or smaller
    mean = np.average(exact, weights=weight)
    assert merged.rows == 1000
    assert merged.weight == pytest.approx(weight.sum(), rel=1e-12)
    assert merged.mean == pytest.approx(shift + mean, rel=1e-12, abs=1e-12)
    tolerance = 1e-12 if shift == 0 else 1e-6
    assert merged.m2 == pytest.approx(np.dot(weight, (exact - mean) ** 2), rel=tolerance)
    assert merged.squares == pytest.approx(np.square(weight).sum(), rel=1e-12)
    assert merged.v2 == pytest.approx(np.dot(weight**2, (exact - mean) ** 2), rel=tolerance)


def test_the_standard_error_is_numpys_without_weights() -> None:
    value = np.random.default_rng(6).normal(size=57)
    expected = value.std(ddof=1) / np.sqrt(57)
    assert Moments.from_rows(value).standard_error == pytest.approx(expected, rel=1e-12)
    assert Moments.from_rows(np.array([1.0, 3.0])).standard_error == pytest.approx(1.0)
    joined = Moments.from_rows(value[:20]) + Moments.from_rows(value[20:])
    assert joined.standard_error == pytest.approx(expected, rel=1e-12)


def test_the_weighted_standard_error_in_a_simulation() -> None:
    """Weights that have nothing to do with the values: the spread of 4,000 weighted means."""
    generator = np.random.default_rng(7)
    weight = generator.uniform(0.1, 3.0, 80)
    value = generator.exponential(size=(4000, 80))
    means = value @ weight / weight.sum()
    errors = [Moments.from_rows(row, weight).standard_error for row in value]
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(means.std(), rel=0.05)


def test_kishs_effective_size() -> None:
    weight = np.array([1.0, 2.0, 3.0])
    moments = Moments.from_rows(np.array([1.0, 2.0, 4.0]), weight)
    assert moments.effective_size == pytest.approx(36 / 14)
    assert moments.mean == pytest.approx(17 / 6)


@pytest.mark.parametrize("weight", [None, np.zeros(0)])
def test_nothing_is_neutral(weight: np.ndarray | None) -> None:
    nothing = Moments.from_rows(np.zeros(0), weight)
    some = Moments.from_rows(np.array([1.0, 5.0]))
    assert nothing + some == some + nothing == some
    assert np.isnan(nothing.standard_error)
    assert (nothing + nothing).weight == 0


def test_one_row_has_no_standard_error() -> None:
    assert np.isnan(Moments.from_rows(np.array([3.0])).standard_error)


def test_a_row_of_weight_0_is_no_row() -> None:
    """Not even where its value is infinite, as the log loss of a class of probability 0 is."""
    moments = Moments.from_rows(np.array([1.0, np.inf, 2.0]), np.array([1.0, 0.0, 3.0]))
    assert moments.mean == 1.75
    assert moments.m2 == pytest.approx(0.75)


def test_infinite_values_make_no_warning() -> None:
    one = Moments.from_rows(np.array([np.inf, 1.0]))
    assert not np.isfinite(one.mean)
    assert not np.isfinite((one + Moments.from_rows(np.array([1.0]))).mean)
    assert not np.isfinite((one + one).mean)


@pytest.mark.parametrize("shift", [0.0, 1e6])
@pytest.mark.parametrize("weighted", [False, True])
def test_third_moments_merge_and_are_the_skewness_of_what_rows_move(
    shift: float, weighted: bool
) -> None:
    generator = np.random.default_rng(5)
    value = generator.exponential(size=1000) + shift
    weight = generator.uniform(0.1, 3.0, 1000) if weighted else np.ones(1000)
    pieces = np.array_split(np.arange(1000), 7)
    merged = reduce(
        add, [SkewMoments.from_rows(value[i], weight[i] if weighted else None) for i in pieces]
    )
    exact = value - shift  # as above
    moved = weight * (exact - np.average(exact, weights=weight))
    skewness = np.sum(moved**3) / np.sum(moved**2) ** 1.5
    assert isinstance(merged, SkewMoments)
    assert merged.skewness == pytest.approx(skewness, rel=1e-12 if shift == 0 else 1e-7)
    # Of rows that weigh 2 each the same as of those that weigh 1.
    twice = SkewMoments.from_rows(value, np.full(1000, 2.0)).divide_weights(2.0)
    assert twice.skewness == pytest.approx(SkewMoments.from_rows(value).skewness, rel=1e-7)
    assert twice.cubes[0] == 1000


def test_moments_that_lack_third_ones_make_sums_that_lack_them() -> None:
    value = np.array([1.0, 2.0, 4.0, 9.0])
    third, plain = SkewMoments.from_rows(value[:2]), Moments.from_rows(value[2:])
    for both in (third + plain, plain + third):
        assert type(both) is Moments
        assert both.mean == 4.0
        assert both.m2 == pytest.approx(38.0)
