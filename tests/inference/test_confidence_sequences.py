"""Confidence sequences: against published values, integrals by quadrature, and all sequences."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import pytest
from scipy import integrate, optimize, special

from calipers.inference import confidence_sequences as sequences
from calipers.statistics import FloatArray

TERNARY = np.array([0.0, 0.5, 1.0])


def capital(x: Sequence[float], mean: float, prior: float = 2.0) -> float:
    """K(m) of a sequence, by SciPy's quadrature."""

    def integrand(pi: float) -> float:
        product = math.prod(v * pi / mean + (1 - v) * (1 - pi) / (1 - mean) for v in x)
        return product * (pi * (1 - pi)) ** (prior - 1) / special.beta(prior, prior)

    return float(integrate.quad(integrand, 0, 1, epsabs=0, epsrel=1e-10, limit=200)[0])


def counted(x: Sequence[float]) -> tuple[FloatArray, FloatArray]:
    values, counts = np.unique(np.array(x, float), return_counts=True)
    return values, counts.astype(float)


# ------------------------------------------------------------------------------------ known values


@pytest.mark.parametrize(
    ("won", "lost", "prior", "expected"),
    [(10, 0, 0.5, 180.4258), (15, 5, 0.5, 2.404461), (10, 0, 10, 4.722667)],
)
def test_e_values_of_discordant_pairs(won: int, lost: int, prior: float, expected: float) -> None:
    log_e = sequences.log_rate_e_value(won, lost, prior=prior)
    assert float(np.exp(log_e)) == pytest.approx(expected, rel=1e-6)


def test_asymptotic_widths() -> None:
    assert sequences.tuning(0.95) == pytest.approx(0.162646, abs=5e-7)
    widths = [sequences.asymptotic_half_width(1.0, n, 0.95) for n in (100, 300, 1000)]
    assert widths == pytest.approx([0.316840, 0.175238, 0.098263], abs=5e-7)


def test_the_asymptotic_interval_is_narrowest_where_it_is_tuned() -> None:
    for n in (200, 450):
        rho = sequences.tuning(0.95, n)
        size = n * rho**2
        best = math.sqrt(2 * (size + 1) / (n * size) * math.log(math.sqrt(size + 1) / 0.05))
        assert best < sequences.asymptotic_half_width(1.0, n, 0.95)


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_asymptotic_intervals_have_the_standard_error_of_the_mean(alternative: str) -> None:
    interval = sequences.asymptotic_interval(0.4, 0.5, 400, 0.95, alternative=alternative)
    assert interval.se == pytest.approx(0.5 / 20)


def test_asymptotic_intervals_need_requests() -> None:
    few = sequences.asymptotic_interval(0.5, 0.5, 299, 0.95)
    one_sided = sequences.asymptotic_interval(0.02, 0.14, 1000, 0.95, 20)
    assert few.reason == one_sided.reason == "too_few_for_asymptotics"
    assert sequences.asymptotic_interval(1.0, 0.0, 1000, 0.95).reason == "no_spread"
    interval = sequences.asymptotic_interval(0.5, 0.5, 1000, 0.95, 480)
    assert interval.high - interval.low == pytest.approx(0.098263, abs=1e-6)


@pytest.mark.parametrize("mean", [0.02, 0.1, 0.3])
def test_the_asymptotic_test_and_interval_agree(mean: float) -> None:
    n, sd = 500, 1.3
    log_e = float(sequences.log_asymptotic_e_value(mean * n, sd, n, 0.95))
    is_outside = abs(mean) > sequences.asymptotic_half_width(sd, n, 0.95)
    assert (log_e > math.log(20)) == is_outside


def test_errors_of_repeated_tests_are_those_of_armitage() -> None:
    # Armitage, McPherson and Rowe, table 2: two-sided 5% level, known variance.
    table = {1: 0.05, 2: 0.083, 3: 0.107, 4: 0.126, 5: 0.142, 10: 0.193, 20: 0.248, 50: 0.320}
    for n_looks, error in table.items():
        assert sequences.repeated_test_error(n_looks) == pytest.approx(error, abs=6e-4)
    assert sequences.repeated_test_error(0) != sequences.repeated_test_error(0)
    assert sequences.repeated_test_error(10**6) == sequences.repeated_test_error(500)


# ------------------------------------------------------------------------------------- quadrature


@pytest.mark.parametrize("prior", [1.0, 2.0, 10.0])
@pytest.mark.parametrize("mean", [0.03, 0.5, 0.8])
def test_the_capital_is_its_integral(prior: float, mean: float) -> None:
    random = np.random.default_rng(5)
    for x in (
        [1.0, 0.0, 1.0],
        [0.5, 0.5, 1.0, 0.0],
        [0.3] * 5,
        random.random(30).tolist(),
        random.beta(5, 1, 40).tolist(),
        [0.0] * 20 + [0.25],
        [0.999] * 25,
    ):
        found = sequences.log_capital(*counted(x), mean, prior)
        assert found == pytest.approx(math.log(capital(x, mean, prior)), rel=1e-6, abs=1e-8)
        path = sequences.CapitalPath(mean, prior).update(np.array(x))
        assert path[-1] == pytest.approx(found, rel=1e-5, abs=1e-5)


def test_the_capital_of_rates_is_that_of_likelihood_ratios() -> None:
    x = [1.0] * 7 + [0.0] * 4
    expected = special.beta(9, 6) / special.beta(2, 2) / (0.3**7 * 0.7**4)
    assert capital(x, 0.3) == pytest.approx(expected, rel=1e-9)
    assert sequences.log_capital(*counted(x), 0.3) == pytest.approx(math.log(expected), rel=1e-12)


def test_a_path_is_the_same_whatever_its_batches() -> None:
    random = np.random.default_rng(1)
    x = np.r_[random.integers(0, 3, 20) / 2, random.random(30), 1.0]
    for mean in (0.5, 0.4):
        whole = sequences.CapitalPath(mean, 2.0).update(x)
        path = sequences.CapitalPath(mean, 2.0)
        single = np.concatenate([path.update(x[i : i + 1]) for i in range(len(x))])
        assert single == pytest.approx(whole, rel=1e-9, abs=1e-9)
        assert len(path.update(np.zeros(0))) == 0


def log_capital_by_quad(
    values: FloatArray, counts: FloatArray, mean: float, prior: float, alternative: str
) -> float:
    """The logarithm of K(m), by SciPy's quadrature around the maximum of the integrand."""
    if alternative == "less":
        values, mean = 1 - values, 1 - mean

    def log_integrand(bet: float) -> float:
        if alternative == "two-sided":
            factors = values * bet / mean + (1 - values) * (1 - bet) / (1 - mean)
            density = (prior - 1) * math.log(bet * (1 - bet)) - special.betaln(prior, prior)
        else:
            factors = 1 - bet + bet * values / mean
            density = (prior - 1) * math.log1p(-(bet**2)) - special.betaln(0.5, prior) + math.log(2)
        return float(counts @ np.log(factors) + density)

    mode = optimize.minimize_scalar(
        lambda bet: -log_integrand(bet), bounds=(0, 1), method="bounded", options={"xatol": 1e-12}
    ).x
    top = log_integrand(mode)
    ends = []
    for end in (
        1e-13 if alternative == "two-sided" else 0.0,
        1 - 1e-13,
    ):  # where the integrand is 1e-16 of its maximum
        is_small = log_integrand(end) < top - 37
        ends.append(
            optimize.brentq(lambda bet: log_integrand(bet) - top + 37, mode, end)
            if is_small
            else end
        )
    pieces = [
        integrate.quad(lambda bet: math.exp(log_integrand(bet) - top), *sorted((mode, end)),
                       epsabs=0, epsrel=1e-9, limit=500)[0]
        for end in ends
    ]  # fmt: skip
    return top + math.log(sum(pieces))


@pytest.mark.parametrize("alternative", sequences.ALTERNATIVES)
@pytest.mark.parametrize("prior", [1.0, 2.0, 7.5])
@pytest.mark.parametrize(
    "n",
    [10, 1000, *(pytest.param(n, marks=pytest.mark.slow) for n in (100_000, 1_000_000))],
)
def test_the_capital_is_its_integral_after_any_number_of_values(
    n: int, prior: float, alternative: str
) -> None:
    random = np.random.default_rng(n)
    drift = 2 / math.sqrt(n)
    for values, chances, mean in (
        # Nearly all are 0 and 1, as of tests that give partial credit.
        ((0.0, 0.25, 1.0), (0.5 - drift / 4, 0.01, 0.49 + drift / 4), 0.4925),
        ((0.0, 0.3, 0.5, 1.0), (0.1, 0.4, 0.3, 0.2), 0.47 + drift / 5),
        ((0.49, 0.5, 0.52), (0.5, 0.25, 0.25), 0.5),  # of a narrow range
        ((0.0, 0.9), (0.999, 0.001), 0.001),
    ):
        x = random.choice(values, n, p=chances)
        counts = counted(x.tolist())
        expected = log_capital_by_quad(*counts, mean, prior, alternative)
        found = sequences.log_capital(*counts, mean, prior, alternative)
        assert found == pytest.approx(expected, rel=1e-10, abs=1e-8)
        path = sequences.CapitalPath(mean, prior, alternative).update(x)
        assert path[-1] == pytest.approx(expected, rel=1e-10, abs=1e-7)


@pytest.mark.parametrize("alternative", sequences.ALTERNATIVES)
def test_a_path_follows_values_that_change(alternative: str) -> None:
    """Nodes that were placed for values without information, or of another mean, move on."""
    random = np.random.default_rng(2)
    x = np.r_[
        np.full(4000, 0.4),
        random.choice([0.0, 0.3, 1.0], 4000),
        np.full(3000, 0.9),
        random.choice([0.0, 0.05], 5000),
    ]
    path = sequences.CapitalPath(0.4, 2.0, alternative).update(x)
    for n in (1, 4000, 4001, 4100, 6000, 8001, 11_000, 11_100, len(x)):
        exact = sequences.log_capital(*counted(x[:n].tolist()), 0.4, 2.0, alternative)
        assert path[n - 1] == pytest.approx(exact, rel=1e-9, abs=1e-7)


def test_a_path_ends_where_it_is_to_stop() -> None:
    x = np.array([1.0, 0.25, 1.0, 1.0, 0.75, 1.0, 1.0, 1.0, 0.0])
    for values in (x, np.ones(9)):
        whole = sequences.CapitalPath(0.5, 2.0).update(values)
        stopped = sequences.CapitalPath(0.5, 2.0)
        path = stopped.update(values, stop_at=math.log(2))
        assert path[-1] >= math.log(2) > path[:-1].max()
        assert path == pytest.approx(whole[: len(path)], rel=1e-9)
        assert stopped.past.counts.sum() == len(path)
        assert path[-1] == pytest.approx(
            sequences.log_capital(stopped.past.values, stopped.past.counts, 0.5), abs=1e-9
        )


def test_many_different_values_move_to_a_grid_and_bet_no_more_than_before() -> None:
    random = np.random.default_rng(6)
    x = random.beta(2, 3, 12_000)
    path = sequences.CapitalPath(0.39, 2.0)
    found = np.concatenate([path.update(x[:3000]), path.update(x[3000:])])
    assert len(path.past.values) <= 4097
    assert path.past.counts.sum() == pytest.approx(12_000)
    assert path.past.values @ path.past.counts == pytest.approx(x.sum())
    exact = np.array(
        [sequences.log_capital(*counted(x[:n].tolist()), 0.39) for n in (3000, 12_000)]
    )
    assert found[2999] == pytest.approx(exact[0], abs=1e-8)
    assert exact[1] - 1e-4 < found[-1] <= exact[1] + 1e-8
    on_grid = sequences.log_capital(path.past.values, path.past.counts, 0.39)
    assert found[-1] == pytest.approx(on_grid, abs=1e-8)


# ---------------------------------------------------------------------------------- all sequences


@pytest.mark.parametrize(
    ("values", "chances"),
    [
        ((0.0, 1.0), (0.98, 0.02)),
        ((0.0, 1.0), (0.3, 0.7)),
        ((0.0, 0.5, 1.0), (0.1, 0.8, 0.1)),
        ((0.0, 0.5, 1.0), (0.3, 0.2, 0.5)),
        ((0.0, 0.25, 0.9), (0.6, 0.1, 0.3)),
    ],
)
def test_the_expected_capital_is_one_at_any_stopping_time(
    values: tuple[float, ...], chances: tuple[float, ...]
) -> None:
    """Of a martingale, over all sequences: at the end, and where it first is 1.5 or more."""
    mean, length = float(np.dot(values, chances)), 6
    at_end = stopped = 0.0
    for indices in itertools.product(range(len(values)), repeat=length):
        chance = math.prod(chances[i] for i in indices)
        path = np.exp(
            sequences.CapitalPath(mean, 2.0).update(np.array([values[i] for i in indices]))
        )
        above = np.flatnonzero(path >= 1.5)
        at_end += chance * path[-1]
        stopped += chance * path[above[0] if len(above) else -1]
    assert at_end == pytest.approx(1, abs=1e-9)
    assert stopped == pytest.approx(1, abs=1e-9)


def test_a_fixed_number_of_drifting_rates_has_at_most_the_capital_one() -> None:
    """The mean of the rates so far is covered at any one time, by the inequality of the means."""
    rates = (0.1, 0.9, 0.5, 0.7, 0.2)
    total = 0.0
    for x in itertools.product((0.0, 1.0), repeat=len(rates)):
        chance = math.prod(p if v else 1 - p for p, v in zip(rates, x, strict=True))
        total += chance * math.exp(sequences.log_capital(*counted(x), float(np.mean(rates))))
    assert 0.5 < total <= 1


# ----------------------------------------------------------------------------------- the interval


@pytest.mark.parametrize("seed", range(6))
def test_limits_are_where_the_capital_is_enough(seed: int) -> None:
    random = np.random.default_rng(seed)
    n = int(random.integers(5, 300))
    x = [
        (random.random(n) < 0.04) * 1.0,
        random.choice(TERNARY, n, p=(0.05, 0.85, 0.1)),
        random.beta(6, 1, n),
    ][seed % 3]
    level = (0.95, 0.8)[seed % 2]
    values, counts = counted(x.tolist())
    low, high = sequences.betting_limits(values, counts, level)
    assert 0 <= low <= x.mean() <= high <= 1
    threshold = -math.log(1 - level)
    for limit, inside in ((low, 1), (high, -1)):
        if 0 < limit < 1:
            assert sequences.log_capital(values, counts, limit) == pytest.approx(
                threshold, abs=1e-5
            )
            within = limit + inside * 1e-4 * (high - low)
            assert sequences.log_capital(values, counts, within) < threshold


def test_limits_of_extreme_values() -> None:
    assert sequences.betting_limits(np.zeros(0), np.zeros(0), 0.95) == (0.0, 1.0)
    low, high = sequences.betting_limits(np.zeros(1), np.full(1, 50.0), 0.95)
    assert low == 0
    # B(2, 52)/B(2, 2)/(1 − m)⁵⁰ = 20
    expected = 1 - (special.beta(2, 52) / special.beta(2, 2) / 20) ** (1 / 50)
    assert high == pytest.approx(expected, rel=1e-9)
    reflected = sequences.betting_limits(np.ones(1), np.full(1, 50.0), 0.95)
    assert reflected == pytest.approx((1 - high, 1.0))
    rare = sequences.betting_limits(np.array([0.0, 1.0]), np.array([1e6, 3.0]), 0.95)
    assert 0 < rare[0] < 3e-6 < rare[1] < 5e-5


def test_the_capital_is_convex_in_the_mean() -> None:
    random = np.random.default_rng(3)
    values, counts = counted(random.choice([0.0, 0.2, 0.5, 1.0], 40).tolist())
    means = np.linspace(0.05, 0.95, 61)
    logs = [sequences.log_capital(values, counts, m) for m in means]
    assert (np.diff(logs, 2) > 0).all()


def test_values_on_a_grid_bet_less_and_never_more() -> None:
    random = np.random.default_rng(4)
    x = random.beta(2, 5, 200)
    grid = sequences.ValueGrid()
    grid.add(x[:90])
    grid.add(x[90:])
    assert grid.counts.sum() == pytest.approx(200)
    assert grid.values @ grid.counts == pytest.approx(x.sum())
    for mean in (0.1, 0.25, 0.3, 0.5):
        exact = sequences.log_capital(*counted(x.tolist()), mean)
        on_grid = sequences.log_capital(grid.values, grid.counts, mean)
        assert exact - 1e-3 < on_grid <= exact + 1e-9


# ------------------------------------------------------------------------------------- simulation


@pytest.mark.parametrize("rate", [0.02, 0.5, 0.95])
def test_a_rate_is_rarely_left_at_any_of_a_thousand_looks(rate: float) -> None:
    random = np.random.default_rng(7)
    n = np.arange(1, 1001)
    successes = np.cumsum(random.random((600, 1000)) < rate, axis=1)
    log_e = sequences.log_rate_e_value(successes, n - successes, rate)
    assert (log_e.max(axis=1) >= math.log(20)).mean() <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 600)


# ---------------------------------------------------------------------------------------- one side


@pytest.mark.parametrize("alternative", ["greater", "less"])
@pytest.mark.parametrize("mean", [0.1, 0.5, 0.9])
def test_the_capital_of_one_side_is_its_integral(mean: float, alternative: str) -> None:
    """Bets on 1 - x for the other side, with lambda distributed as |2 pi - 1|."""
    x = np.array([1, 0, 1, 0.3, 1, 0.9, 0.0])
    y, m = (x, mean) if alternative == "greater" else (1 - x, 1 - mean)

    def integrand(bet: float) -> float:
        density = (1 - bet**2) ** 1.5 / (special.beta(0.5, 2.5) / 2)
        return float(np.prod(1 - bet + bet * y / m)) * density

    expected = integrate.quad(integrand, 0, 1, epsabs=0, epsrel=1e-10)[0]
    found = sequences.log_capital(*counted(x.tolist()), mean, 2.5, alternative)
    assert math.exp(found) == pytest.approx(expected, rel=1e-8)
    path = sequences.CapitalPath(mean, 2.5, alternative)
    both = np.r_[path.update(x[:3]), path.update(x[3:])]
    assert math.exp(both[-1]) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("alternative", ["greater", "less"])
@pytest.mark.parametrize("mean", [0.2, 0.5])
def test_the_expected_capital_of_one_side_is_one_at_the_limit_of_the_hypothesis(
    mean: float, alternative: str
) -> None:
    def expectation(rate: float) -> float:
        total = 0.0
        for x in itertools.product([0.0, 1.0], repeat=6):
            capital = math.exp(sequences.log_capital(*counted(x), mean, 2.0, alternative))
            total += capital * rate ** sum(x) * (1 - rate) ** (6 - sum(x))
        return total

    side = 1 if alternative == "greater" else -1
    assert expectation(mean) == pytest.approx(1, abs=1e-9)
    assert expectation(mean - 0.1 * side) < 1 < expectation(mean + 0.1 * side)


def test_a_limit_of_one_side_is_where_the_capital_is_enough() -> None:
    values, counts = np.array([0.0, 0.5, 1.0]), np.array([30.0, 40.0, 130.0])
    low, high = sequences.betting_limits(values, counts, 0.95, 2.0, "greater")
    assert high == 1
    for m in np.linspace(0.02, 0.98, 49):
        is_rejected = sequences.log_capital(values, counts, m, 2.0, "greater") >= math.log(20)
        assert is_rejected == (m < low)
    # The other side is that of the values turned around.
    turned = sequences.betting_limits(1 - values, counts, 0.95, 2.0, "less")
    assert turned == pytest.approx((0, 1 - low), abs=1e-9)
    assert low > sequences.betting_limits(values, counts, 0.95)[0]


def test_the_asymptotic_e_value_of_one_side_is_its_integral() -> None:
    n, mean, sd = 500, 0.09, 1.3
    rho = sequences.tuning(0.95)
    total = n * mean / sd

    def integrand(bet: float) -> float:
        density = 2 * math.exp(-((bet / rho) ** 2) / 2) / (rho * math.sqrt(2 * math.pi))
        return math.exp(bet * total - bet**2 * n / 2) * density

    expected = integrate.quad(integrand, 0, 2, epsrel=1e-10, points=[total / n])[0]
    found = sequences.log_asymptotic_e_value(n * mean, sd, n, 0.95, "greater")
    assert math.exp(found) == pytest.approx(expected, rel=1e-8)
    assert float(sequences.log_asymptotic_e_value(-n * mean, sd, n, 0.95, "less")) == found
    interval = sequences.asymptotic_interval(mean, sd, n, 0.95, alternative="greater")
    assert interval.high == math.inf
    at_limit = sequences.log_asymptotic_e_value(n * (mean - interval.low), sd, n, 0.95, "greater")
    assert math.exp(at_limit) == pytest.approx(20, rel=1e-9)
    other = sequences.asymptotic_interval(-mean, sd, n, 0.95, alternative="less")
    assert (other.low, other.high) == (-math.inf, pytest.approx(-interval.low))


def test_errors_of_repeated_tests_of_one_side() -> None:
    assert sequences.repeated_test_error(1, is_one_sided=True) == pytest.approx(0.05, abs=1e-3)
    # Two looks: a bivariate normal distribution with correlation 1/sqrt(2).
    z = float(special.ndtri(0.95))

    def inside(x: float) -> float:
        return (
            math.exp(-(x**2) / 2)
            / math.sqrt(2 * math.pi)
            * float(special.ndtr(math.sqrt(2) * z - x))
        )

    expected = 1 - integrate.quad(inside, -10, z)[0]
    found = sequences.repeated_test_error(2, is_one_sided=True)
    assert found == pytest.approx(expected, abs=1e-3)


# ------------------------------------------------------------------------------------------ change


def test_the_e_value_of_a_change_is_a_minimum_over_means(monkeypatch: pytest.MonkeyPatch) -> None:
    """Products of integrals before and after each change, on a grid of means: bets of 5 (1 - λ²)⁴
    on either side."""
    monkeypatch.setattr(sequences, "_FIRST_CHANGE", 2)
    monkeypatch.setattr(sequences, "_CHANGE_RATIO", 2.0)
    x = [1, 1, 0.5, 1, 1, 0, 0.25, 0, 0]
    test = sequences.ChangeTest()
    test.add(np.array(x[:3]))
    test.add(np.array(x[3:]))

    def sides(x: Sequence[float], mean: float) -> float:
        def integrand(bet: float) -> float:
            up = math.prod(1 - bet + bet * v / mean for v in x)
            down = math.prod(1 - bet + bet * (1 - v) / (1 - mean) for v in x)
            return (up + down) / 2 * (1 - bet**2) ** 4 / (special.beta(0.5, 5) / 2)

        return float(integrate.quad(integrand, 0, 1, epsrel=1e-9)[0])

    def average(mean: float) -> float:
        parts = [(1 / 2, 2), (1 / 6, 4), (1 / 12, 8)]
        mixed = sum(w * sides(x[:n], mean) * sides(x[n:], mean) for w, n in parts)
        return mixed + sides(x, mean) / 4

    expected = min(average(mean) for mean in np.linspace(0.4, 0.8, 161))
    change = test.change()
    assert math.exp(change.log_e) == pytest.approx(expected, rel=1e-4)
    assert change.n_before in (2, 4)
    mean_before, mean_after = np.mean(x[: change.n_before]), np.mean(x[change.n_before :])
    assert (change.mean_before, change.mean_after) == pytest.approx((mean_before, mean_after))


def test_without_a_change_its_expected_e_value_is_at_most_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sequences, "_FIRST_CHANGE", 2)
    monkeypatch.setattr(sequences, "_CHANGE_RATIO", 1.5)
    n = 7
    e_values = {}
    for x in itertools.product([0.0, 1.0], repeat=n):
        test = sequences.ChangeTest()
        test.add(np.array(x))
        e_values[x] = math.exp(test.change().log_e)
    for rate in (0.1, 0.4, 0.5, 0.9):
        total = sum(e * rate ** sum(x) * (1 - rate) ** (n - sum(x)) for x, e in e_values.items())
        assert total < 1


def test_before_the_first_place_there_is_no_evidence_of_a_change() -> None:
    test = sequences.ChangeTest()
    assert math.isnan(test.change().mean_before)
    test.add(np.ones(15))
    change = test.change()
    assert (change.log_e, change.n_before, change.mean_before) == (0, 15, 1)
    assert math.isnan(change.mean_after)
