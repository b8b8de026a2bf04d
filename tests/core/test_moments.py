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
    assert _core.value_moments(none) == (0.0, 0.0, 0.0, 0.0)


@pytest.mark.parametrize("rows", SIZES)
def test_moments_of_values(rows: int) -> None:
    values = np.random.default_rng(rows).lognormal(size=2 * rows)[::2]  # not contiguous
    mean, squares, rest, cubes = _core.value_moments(values)
    assert mean == pytest.approx(math.fsum(values) / rows, rel=1e-15)
    assert squares == pytest.approx(math.fsum(np.square(values - mean)), rel=1e-13)
    assert rest == pytest.approx(0, abs=1e-12 * rows)
    size = math.fsum(np.abs(values - mean) ** 3)
    assert cubes == pytest.approx(math.fsum((values - mean) ** 3), rel=1e-12, abs=1e-13 * size)


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
    mean, squares, *_ = _core.value_moments(np.array([1.0, math.inf, 2.0]))
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
    mean, squares, _, cubes = _core.value_moments(values)
    assert mean == pytest.approx(math.fsum(values) / len(values), rel=1e-15)
    assert squares == pytest.approx(math.fsum(np.square(values - mean)), rel=1e-12)
    assert cubes == pytest.approx(math.fsum((values - mean) ** 3), rel=1e-9)
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


@pytest.mark.parametrize("rows", SIZES)
def test_moments_of_errors_of_one_prediction_for_all(rows: int) -> None:
    truth = np.random.default_rng(rows).normal(size=rows)
    for squared in (False, True):
        made = _core.error_moments(truth, np.array([0.3]), squared)
        wanted = _core.error_moments(truth, np.full(rows, 0.3), squared)
        assert made == pytest.approx(wanted, rel=1e-14, abs=1e-15 * rows)
    with pytest.raises(ValueError, match="predicted has 2 rows"):
        _core.error_moments(np.zeros(3), np.zeros(2), squared=True)


@pytest.mark.parametrize("rows", SIZES)
@pytest.mark.parametrize("squared", [False, True])
def test_moments_of_differences_from_the_errors_of_a_constant(rows: int, squared: bool) -> None:
    random = np.random.default_rng(rows)
    truth = random.normal(size=rows)
    predicted = truth + random.lognormal(sigma=2, size=rows)
    first, second = (
        np.square(p - truth) if squared else np.abs(p - truth) for p in (predicted, 0.3)
    )
    made = _core.error_differences(truth, predicted, 0.3, squared)
    for column, (mean, squares, rest) in zip((first, second, first - second), made, strict=True):
        size = np.abs(column).max()
        assert mean == pytest.approx(math.fsum(column) / rows, rel=1e-12, abs=1e-15 * size)
        exact = math.fsum(np.square(column - mean))
        assert squares == pytest.approx(exact, rel=1e-12, abs=1e-28 * size)
        assert rest == pytest.approx(0, abs=1e-12 * rows * size)


def test_differences_that_are_looked_at_first_and_unlike_the_others_cost_no_digits() -> None:
    truth = np.where(np.arange(70_000) % 1094 == 0, 0.0, 1e6 + np.arange(70_000) % 7)
    predicted = np.arange(70_000) % 5.0
    made = _core.error_differences(truth, predicted, 2.0, squared=False)
    first, second = np.abs(predicted - truth), np.abs(2.0 - truth)
    for column, (mean, squares, _) in zip((first, second, first - second), made, strict=True):
        assert mean == pytest.approx(math.fsum(column) / len(column), rel=1e-12, abs=1e-12)
        exact = math.fsum(np.square(column - column.mean()))
        assert squares == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize("rows", SIZES)
@pytest.mark.parametrize("weighted", [False, True])
def test_sums_of_powers_of_deviations(rows: int, weighted: bool) -> None:
    random = np.random.default_rng(rows)
    values = 5 + random.lognormal(size=rows)
    weight = random.integers(0, 4, rows) / 4 if weighted else None
    w = np.ones(rows) if weight is None else weight
    d = (values - 6) / 2
    wanted = [math.fsum(w**3 * d**k) for k in range(4)]
    made = _core.cube_sums(values, 6.0, 2.0, weight)
    assert made == pytest.approx(wanted, rel=1e-12, abs=1e-12 * rows)
    d *= 2
    wanted = [math.fsum(w * np.abs(d)), math.fsum(w[d < 0])]
    wanted += [math.fsum(w * values**k) for k in (2, 4)]
    assert _core.shape_sums(values, 6.0, weight) == pytest.approx(wanted, rel=1e-12)
    if weight is not None:
        values[weight == 0] = math.inf  # a row of weight 0 is no row
        assert np.isfinite(_core.cube_sums(values, 6.0, 2.0, weight)).all()


@pytest.mark.parametrize("rows", [*SIZES, 300_000])
@pytest.mark.parametrize("weighted", [False, True])
def test_sums_of_bins(rows: int, weighted: bool) -> None:
    random = np.random.default_rng(rows)
    values = random.normal(size=rows)
    weight = random.random(rows) if weighted else None
    width, w = 0.25, np.ones(rows) if weight is None else weight
    cells = np.floor(values / width).astype(int)
    first, bins = cells.min(), np.ptp(cells) + 1
    made = _core.bin_sums(values, width, first, bins, weight)
    for column, wanted in zip(made, (w, w * w, w * values), strict=True):
        assert column == pytest.approx(np.bincount(cells - first, wanted), rel=1e-12, abs=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("central", [False, True])
@pytest.mark.parametrize("rows", [50, 3001])
def test_changes_of_a_log_of_two_sums_of_squares(rows: int, weighted: bool, central: bool) -> None:
    """Of many rows without an outlier each has a small proportion."""
    random = np.random.default_rng(3)
    truth = 3 + random.uniform(-1, 1, size=rows) + (rows == 50) * random.normal(size=rows)
    errors = random.standard_t(2, size=rows) if rows == 50 else random.uniform(-1, 1, rows)
    predicted = truth + 0.1 + errors
    w = random.integers(0, 4, rows) / 2 if weighted else np.ones(rows)

    def log_ratio(rows: np.ndarray) -> float:
        y, r, v = truth[rows], (predicted - truth)[rows], w[rows]
        about = np.average(r, weights=v) if central else 0.0
        spread = (v * np.square(y - np.average(y, weights=v))).sum()
        return math.log((v * np.square(r - about)).sum() / spread)

    everything = np.arange(rows)
    wanted = [2 * (log_ratio(np.delete(everything, k)) - log_ratio(everything)) for k in everything]
    residual = predicted - truth
    center = np.average(residual, weights=w) if central else 0.0
    about = [np.average(truth, weights=w), center]
    sums = [w.sum(), (w * (truth - about[0]) ** 2).sum(), (w * (residual - center) ** 2).sum()]
    weight = w if weighted else None
    made, largest = _core.left_out_logs(truth, predicted, about, sums, central, 2.0, weight)
    assert made == pytest.approx(wanted, rel=1e-9, abs=1e-12)
    with_weight = w * w.sum() / (w.sum() - w)
    proportions = (
        with_weight * (truth - about[0]) ** 2 / sums[1],
        (with_weight if central else w) * (residual - center) ** 2 / sums[2],
    )
    assert largest == pytest.approx(np.max(proportions))


@pytest.mark.parametrize("rows", [0, 1, 5, 4096, 600_000])
@pytest.mark.parametrize("number", [0, 1, 3, 5000])
def test_largest_values(rows: int, number: int) -> None:
    random = np.random.default_rng(rows)
    for values in (random.normal(size=rows), random.integers(0, 5, rows) / 2, np.arange(rows) / 1):
        wanted = np.sort(values)[max(rows - number, 0) :]
        assert _core.largest_values(values, number).tolist() == wanted.tolist()


def test_rows_are_sampled_by_a_hash_of_their_number_or_value() -> None:
    numbers = np.arange(7, 200_000, 3)
    with np.errstate(over="ignore"):  # SplitMix64
        x = numbers.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        x ^= x >> np.uint64(31)
    for level in (0, 1, 5):
        wanted = np.flatnonzero(x & np.uint64((1 << level) - 1) == 0)
        assert _core.sampled_numbers(numbers, level).tolist() == wanted.tolist()
        assert (
            _core.sampled_numbers(numbers[::2], level).tolist()
            == (wanted[wanted % 2 == 0] // 2).tolist()
        )
        for rows in (0, 1, 70_001):
            wanted = _core.sampled_numbers(np.arange(rows), level)
            assert _core.sampled_range(rows, level).tolist() == wanted.tolist()
    values = np.tile(np.random.default_rng(0).normal(size=70_000).round(3), 2)
    values[::50] = 0.0
    values[1::50] = -0.0
    chosen = _core.sampled_values(values, 0.25)
    assert 0.2 < len(chosen) / len(values) < 0.3
    assert np.isin(values[chosen], np.delete(values, chosen)).sum() == 0
