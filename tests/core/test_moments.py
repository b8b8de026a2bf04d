"""Sums over rows, against exact sums."""

import math

import numpy as np
import pytest

from calipers import _core
from calipers.data.arrays import to_quantities
from calipers.data.errors import InputError
from calipers.statistics import Moments, NumericMoments

SIZES = (1, 2, 3, 5, 255, 257, 1000, 16_384, 40_001)


@pytest.mark.parametrize("rows", SIZES)
@pytest.mark.parametrize("weighted", [False, True])
def test_moments_of_numbers_are_exact_to_the_last_digits(rows: int, weighted: bool) -> None:
    random = np.random.default_rng(rows)
    truth, predicted = 1e6 + random.normal(size=rows), 1e6 + random.normal(size=rows)
    weight = random.integers(0, 4, rows) / 4 + (np.arange(rows) == 0) if weighted else None
    total, squares, means, sums = _core.number_moments(truth, predicted, weight)
    w = np.ones(rows) if weight is None else weight
    assert (total, squares) == pytest.approx((math.fsum(w), math.fsum(w * w)), rel=1e-15)
    columns = truth, predicted, predicted - truth
    wanted = [math.fsum(w * of) / math.fsum(w) for of in columns]
    assert means == pytest.approx(wanted, rel=1e-15, abs=1e-15)
    y, p, r = (of - mean for of, mean in zip(columns, wanted, strict=True))
    exact = [math.fsum(w * a * b) for a, b in ((y, y), (p, p), (r, r), (y, p))]
    assert sums == pytest.approx(exact, rel=1e-9, abs=1e-9)


def test_a_constant_has_no_spread_and_nothing_no_mean() -> None:
    constant, none = np.full(1001, 0.1), np.zeros(0)
    assert max(_core.number_moments(constant, constant)[3]) < 1e-30
    assert _core.number_moments(none, none) == (0.0, 0.0, [0.0] * 3, [0.0] * 4)
    assert _core.value_moments(none) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("rows", SIZES)
def test_moments_of_values(rows: int) -> None:
    values = np.random.default_rng(rows).lognormal(size=2 * rows)[::2]  # not contiguous
    mean, squares, rest = _core.value_moments(values)
    assert mean == pytest.approx(math.fsum(values) / rows, rel=1e-15)
    assert squares == pytest.approx(math.fsum(np.square(values - mean)), rel=1e-13)
    assert rest == pytest.approx(0, abs=1e-12 * rows)


@pytest.mark.parametrize("rows", SIZES)
def test_weighted_moments_of_values(rows: int) -> None:
    random = np.random.default_rng(rows)
    values, w = 5 + random.lognormal(size=rows), random.integers(0, 4, rows) / 4
    w[0] = 0.5
    values[w == 0] = math.inf  # a row of weight 0 is no row
    used = values[w > 0], w[w > 0]
    mean = math.fsum(used[0] * used[1]) / math.fsum(used[1])
    deviation = used[0] - mean
    sums = [math.fsum(used[1] ** i * deviation**k) for i, k in ((1, 2), (2, 2), (2, 1))]
    n, total, squares, *made = _core.weighted_moments(values, w)
    assert (n, total, squares) == (len(used[1]), w.sum(), np.square(w).sum())
    assert made == pytest.approx([mean, *sums], rel=1e-12, abs=1e-11)
    with pytest.raises(ValueError, match="weight has 1 rows, truth has"):
        _core.weighted_moments(np.zeros(rows + 1), w[:1])


def test_an_infinite_value_makes_an_infinite_mean() -> None:
    mean, squares, _ = _core.value_moments(np.array([1.0, math.inf, 2.0]))
    assert mean == math.inf
    assert math.isnan(squares)


def test_columns_of_other_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="predicted has 2 rows, truth has 3"):
        _core.number_moments(np.zeros(3), np.zeros(2))
    with pytest.raises(ValueError, match="weight has 2 rows, truth has 3"):
        _core.number_moments(np.zeros(3), np.zeros(3), np.zeros(2))


def test_rows_of_other_types_are_numbers_too() -> None:
    right = np.array([True, False, True, True])
    made = Moments.from_rows(right)  # type: ignore[arg-type]
    assert (made.mean, made.m2) == (0.75, 0.75)
    whole = NumericMoments.from_rows(np.array([1, 2, 4]), np.array([1, 2, 3], np.float32))  # type: ignore[arg-type]
    assert float(whole.residual) == pytest.approx(-1 / 3)


@pytest.mark.parametrize("kind", ["f2", "f4", "f8", "g", ">f8", "i1"])
def test_numbers_of_any_width_are_checked_without_overflow(kind: str) -> None:
    truth = np.array([1, 2, 4]).astype(kind)
    assert to_quantities(truth, "truth").tolist() == [1.0, 2.0, 4.0]
    assert to_quantities(truth, "truth", copy=False).dtype == np.float64
    if np.dtype(kind).kind == "f":
        with pytest.raises(InputError, match="truth: is NaN in row 1"):
            to_quantities(np.array([1, np.nan], kind), "truth")


@pytest.mark.parametrize(("wrong", "said"), [(1e46, "1e\\+46"), (-np.inf, "infinite")])
def test_numbers_too_large_are_named(wrong: float, said: str) -> None:
    with pytest.raises(InputError, match=f"truth: is {said} in row 2"):
        to_quantities(np.array([1.0, -1e45, wrong]), "truth")
    given = np.zeros(3)
    assert to_quantities(given, "truth") is not given


@pytest.mark.parametrize("rows", SIZES)
@pytest.mark.parametrize("squared", [False, True])
def test_moments_of_errors(rows: int, squared: bool) -> None:
    random = np.random.default_rng(rows)
    truth = random.normal(size=rows)
    predicted = truth + random.lognormal(sigma=2, size=rows)
    losses = np.square(predicted - truth) if squared else np.abs(predicted - truth)
    mean, squares, rest = _core.error_moments(truth, predicted, squared)
    assert mean == pytest.approx(math.fsum(losses) / rows, rel=1e-14)
    assert squares == pytest.approx(math.fsum(np.square(losses - mean)), rel=1e-13, abs=1e-28)
    assert rest == pytest.approx(0, abs=1e-11 * rows * mean)


def test_values_looked_at_first_that_are_unlike_the_others_cost_no_digits() -> None:
    values = np.where(np.arange(70_000) % 1094 == 0, 0.0, 1e9 + np.arange(70_000) % 7)
    mean, squares, _ = _core.value_moments(values)
    assert mean == pytest.approx(math.fsum(values) / len(values), rel=1e-15)
    assert squares == pytest.approx(math.fsum(np.square(values - mean)), rel=1e-12)
    y = -values
    _, _, means, sums = _core.number_moments(values, y)
    assert means == pytest.approx([mean, -mean, -2 * mean], rel=1e-15)
    assert sums == pytest.approx([squares, squares, 4 * squares, -squares], rel=1e-12)


def test_ends_of_values_and_those_that_are_no_numbers() -> None:
    values = np.random.default_rng(0).normal(size=100_001)
    assert _core.value_ends(values) == (values.min(), values.max())
    values[70_000] = np.nan
    assert all(math.isnan(end) for end in _core.value_ends(values))
    values[70_000] = -np.inf
    assert _core.value_ends(values)[0] == -np.inf
