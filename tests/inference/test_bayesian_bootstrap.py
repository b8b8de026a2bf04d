"""The Bayesian bootstrap with end points against distributions that other programs know."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate, optimize, special, stats

import calipers as cal
from calipers import _core
from calipers.inference.bayesian_bootstrap import (
    AugmentedMean,
    endpoint_distance,
    endpoints_about_mean,
    mean_interval,
    standard_deviation,
)
from calipers.statistics import FloatArray


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.999])
@pytest.mark.parametrize(("hits", "n"), [(1, 2), (1, 3), (13, 25), (1, 100), (97, 100), (9, 5000)])
def test_shares_have_half_a_unit_at_the_end_of_each_limit(hits: int, n: int, level: float) -> None:
    values, tail = np.repeat([1.0, 0.0], [hits, n - hits]), (1 - level) / 2
    made = mean_interval(values, (0.0, 1.0), level)
    low = stats.beta(hits, n - hits + 0.5).ppf(tail)
    high = stats.beta(hits + 0.5, n - hits).isf(tail)
    share = hits / n
    assert made.low == pytest.approx(min(low, share), rel=1e-8)
    assert made.high == pytest.approx(max(high, share), rel=1e-8)
    both = stats.beta(hits + 0.5, n - hits + 0.5)
    assert made.se == pytest.approx(both.std(), rel=1e-12)
    # Between Jeffreys' limits and Clopper and Pearson's.
    assert stats.beta(hits, n - hits + 1).ppf(tail) < low < both.ppf(tail)
    assert both.isf(tail) < high < stats.beta(hits + 1, n - hits).isf(tail)
    # The same in percent, and turned round.
    percent = mean_interval(-100 * values, (-100.0, 0.0), level)
    assert (percent.low, percent.high) == pytest.approx((-100 * made.high, -100 * made.low))


@pytest.mark.parametrize("n", [1, 2, 25, 1000, 20_000])
def test_all_alike_ends_at_the_value(n: int) -> None:
    made = mean_interval(np.ones(n), (0.0, 1.0), 0.95)
    assert made.high == 1
    assert made.low == pytest.approx(stats.beta(n, 0.5).ppf(0.025), rel=1e-8)


def of_three(at: float, zeros: float, halves: float, ones: float) -> float:
    """P(½w + v ≤ at) where (u, w, v) are Dirichlet with these numbers, by integration over w."""
    rest = zeros + ones

    def below(w: float) -> float:
        log = (halves - 1) * np.log(w) + (rest - 1) * np.log1p(-w) - special.betaln(halves, rest)
        return float(np.exp(log) * special.betainc(ones, zeros, min(1.0, (at - w / 2) / (1 - w))))

    return float(integrate.quad(below, 0, min(1.0, 2 * at), epsabs=1e-12, limit=400)[0])


@pytest.mark.parametrize(
    ("zeros", "halves", "ones"), [(0, 1, 99), (7, 5, 3), (40, 8, 2), (1, 1, 0)]
)
def test_three_values_are_integrals(zeros: int, halves: int, ones: int) -> None:
    made = mean_interval(np.repeat([0.0, 0.5, 1.0], [zeros, halves, ones]), (0.0, 1.0), 0.95)
    for end, share, at in ((made.low, 0.025, 0.0), (made.high, 0.975, 1.0)):
        own = zeros + (at == 0) / 2, halves, ones + (at == 1) / 2
        if not own[0]:  # ones and halves alone: from ½ to 1
            found = 0.5 + stats.beta(own[2], halves).ppf(share) / 2
        elif not own[2]:
            found = stats.beta(halves, own[0]).ppf(share) / 2
        else:
            found = optimize.brentq(
                lambda x, share=share, own=own: of_three(x, *own) - share, 1e-6, 1
            )
        assert end == pytest.approx(found, abs=2e-7)


@pytest.mark.parametrize("weighs", [False, True])
def test_many_values_are_what_draws_say(weighs: bool) -> None:
    random = np.random.default_rng(3)
    values, weight = random.beta(0.5, 1, 30), random.lognormal(0, 1, 30)
    end = float(np.square(weight).sum() / weight.sum())  # a unit, of Kish's number of them
    own: FloatArray = np.append(weight / end if weighs else np.ones(30), 1.0)
    drawn = random.standard_gamma(np.append(np.ones(30), 0.5), (200_000, 31)) * own
    made = mean_interval(values, (0.0, 1.0), 0.95, weight if weighs else None)
    for limit, at, share in ((made.low, 0.0, 0.025), (made.high, 1.0, 0.975)):
        means = drawn @ np.append(values, at) / drawn.sum(axis=1)
        assert np.mean(means <= limit) == pytest.approx(share, abs=5 * 0.00035)


def test_where_nothing_is_known_there_is_nothing() -> None:
    assert mean_interval(np.full(5, 0.3), (-np.inf, np.inf), 0.95).reason == "no_spread"
    assert mean_interval(np.full(2, 0.3), (-np.inf, np.inf), 0.95).reason == "no_spread"
    assert mean_interval(np.array([0.3]), (-np.inf, np.inf), 0.95).reason == "too_few_units"
    assert mean_interval(np.full(5, 0.3), (0.3, 0.3), 0.95).reason == "no_spread"
    assert standard_deviation(np.full(5, 0.3), (0.3, 0.3)) == 0


def test_how_far_halves_are_put() -> None:
    assert endpoint_distance(np.array([0.1, 0.0, 0.0, -0.2])) == pytest.approx(0.4)
    assert endpoint_distance(np.array([0.1, 0.0, 0.0, -0.2]), 0.3) == 0.3
    assert endpoint_distance(np.array([0.1, 1e-17, 0.0, -0.2])) == pytest.approx(
        0.4
    )  # rounding is no difference
    assert endpoint_distance(np.zeros(4), 1.0) == 1
    assert endpoint_distance(np.array([0.1]), 1.0) == 1
    assert endpoint_distance(np.zeros(4)) == np.inf


# --- What users see -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("measure", "values"),
    [
        ("RR", [1.0] * 100),
        ("RR", [1.0] * 99 + [0.5]),
        ("recall@1000", [1.0] * 24 + [0.6]),
        ("AP", [0.0] * 25),
        ("nDCG", [0.3]),
        ("Success@1", [1.0]),
    ],
)
def test_a_bounded_mean_always_has_a_sane_interval(measure: str, values: list[float]) -> None:
    e = cal.from_values({"a": values}, measure=measure)["a", measure]
    assert e.interval_reason is None
    assert 0 <= e.low <= e.value <= e.high <= 1
    assert e.low < e.high


def test_what_has_no_ends_goes_by_bootstrap_t() -> None:
    random = np.random.default_rng(0)
    for values in (0.5 + 0.05 * random.uniform(-1, 1, 40), random.beta(0.5, 1, 40)):
        made = cal.from_values({"a": values}, measure="AP")["a", "AP"]
        assert made.method == "Bayesian bootstrap"
        assert cal.from_values({"a": values}, measure="x")["a", "x"].method == "bootstrap-t"


@pytest.mark.parametrize("side", [1, -1])
def test_values_near_one_end_are_not_moved_by_the_other(side: int) -> None:
    """Of topics about .01 both halves lifted the lower limit above the truth 10 to 15 times of 100;
    now 2.5 at the most, which the binomial distribution passes with 15 of 250 once in 700."""
    random, missed = np.random.default_rng(4), 0
    for _ in range(250):
        values = np.minimum(1.0, random.exponential(0.01, 20))
        made = mean_interval(values if side > 0 else 1 - values, (0.0, 1.0), 0.95)
        low, high = (made.low, made.high) if side > 0 else (1 - made.high, 1 - made.low)
        missed += not low <= 0.01 <= high
    assert missed <= 15


@pytest.mark.slow
def test_smape_is_not_held_to_an_end_of_2() -> None:
    """Hall's t as of MAPE: of errors of 2% half a row at 2 makes it ten times as long."""
    random, held = np.random.default_rng(5), 0
    truth = random.uniform(50, 100, (200, 60))
    said = truth * np.exp(0.02 * random.normal(size=truth.shape))
    for row, own in zip(truth, said, strict=True):
        e = cal.regression(row, own, measures=["sMAPE"], curves=False)["sMAPE"]
        assert e.method == "t, skewness-corrected"
        assert e.high - e.low < 0.02
        held += e.low <= 0.02 * np.sqrt(2 / np.pi) <= e.high
    assert held >= stats.binom.ppf(5e-4, 200, 0.94)
    # It can be asked for by name.
    named = cal.regression(truth[0], said[0], measures=["sMAPE"], interval="bayesian-bootstrap")[
        "sMAPE"
    ]
    assert named.method == "Bayesian bootstrap"
    assert named.high > 0.05


def test_pooled_topics_at_their_end_have_an_interval() -> None:
    qrels = {f"q{t}": {"a": 1, "b": 1} for t in range(30)}
    run = {f"q{t}": {"a": 2.0, "b": 1.0} for t in range(30)}
    for e in cal.retrieval(qrels, run, measures=["micro-SetP", "gm-AP"]):
        assert e.value == e.high == 1
        assert 0 < e.low < 1, e.measure
    # Topics of equal size pool as if they were units.
    pooled = cal.retrieval(qrels, run, measures=["micro-SetP"])["micro-SetP"]
    assert pooled.low == pytest.approx(stats.beta(30, 0.5).ppf(0.025), rel=1e-8)


def pairs(measure: str, up: int, down: int, n: int) -> cal.Difference:
    apart = np.repeat([0.25, -0.25, 0.0], [up, down, n - up - down])
    evaluation = cal.from_values({"a": np.full(n, 0.5), "b": 0.5 + apart}, measure=measure)
    assert evaluation.comparison is not None
    return evaluation.comparison.differences[0]


def test_differences_with_many_ties() -> None:
    # Three values once more: −¼, 0 and ¼ in four topics and halves about the mean of 1/80: the
    # farthest is 21/80 from it, times 1 + 2/4. Student's t, 0.0125 ± 2.0227·0.0123, is shorter.
    d = pairs("RR", 3, 1, 40)
    random = np.random.default_rng(1)
    drawn = random.standard_gamma([3, 1, 36, 0.5, 0.5], (400_000, 5))
    ends = 1 / 80 + 63 / 160, 1 / 80 - 63 / 160
    means = drawn @ np.array([0.25, -0.25, 0, *ends]) / drawn.sum(axis=1)
    for end, share in ((d.low, 0.025), (d.high, 0.975)):
        assert np.mean(means <= end) == pytest.approx(share, abs=5 * 0.00025)
    assert d.low < 0 < d.value < d.high


@pytest.mark.parametrize("measure", ["RR", "x"])
def test_interval_and_test_of_ties_agree(measure: str) -> None:
    for up in range(1, 12):
        d = pairs(measure, up, 0, 40)
        assert (d.low > 0) == (d.p <= 0.05), up
        assert d.p >= 2.0 ** (1 - up), up


def test_what_ties_altogether_could_have_differed() -> None:
    d = pairs("RR", 0, 0, 40)
    assert -d.low == pytest.approx(d.high)
    assert 0.04 < d.high < 0.06  # half of 41 topics may be 1 apart
    assert d.p == 1
    assert 0.05 < d.min_detectable < 0.08
    assert pairs("x", 0, 0, 40).interval_reason == "nothing_differs"
    assert pairs("RR", 1, 0, 1).interval_reason is None
    assert pairs("x", 1, 0, 1).interval_reason == "too_few_units"


# --- About the mean -------------------------------------------------------------------------------


def test_tails_are_those_of_beta_and_of_draws() -> None:
    """Of units that are 0 or 1 with halves there it is a Beta distribution; of others, draws."""
    for ones, zeros in ((3, 7), (0, 12), (40, 2)):
        counts = np.array([ones, zeros], float)
        of = AugmentedMean.from_values(np.array([1.0, 0.0]), (0.0, 1.0), counts=counts)
        same = AugmentedMean.from_values(np.repeat([1.0, 0.0], [ones, zeros]), (0.0, 1.0))
        assert of is not None
        assert same is not None
        beta = stats.beta(ones + 0.5, zeros + 0.5)
        for at in (1e-4, 0.01, 0.2, 0.5, 0.9, 0.999):
            expected = beta.cdf(at), beta.sf(at)
            assert of.tails(at) == pytest.approx(expected, rel=1e-8, abs=1e-300)
            assert same.tails(at) == pytest.approx(expected, rel=1e-8, abs=1e-300)
    random = np.random.default_rng(2)
    x, w = random.normal(0.1, 0.3, 7), random.exponential(size=7)
    for weight in (None, w):
        made = AugmentedMean.from_values(x, (-0.9, 1.2), weight=weight)
        assert made is not None
        # An end weighs as one of Kish's number of units does.
        end = 1.0 if weight is None else (w @ w) / w.sum()
        mass = np.r_[np.ones(7) if weight is None else w, end, end]
        drawn = random.standard_gamma(np.r_[np.ones(7), 0.5, 0.5], (200_000, 9)) * mass
        means = drawn @ np.r_[x, -0.9, 1.2] / drawn.sum(axis=1)
        for at in (-0.2, 0.0, 0.15, 0.5):
            below = np.mean(means < at)
            slack = 5 * np.sqrt(below * (1 - below) / len(means))
            assert made.tails(at)[0] == pytest.approx(below, abs=slack)
    # Quantiles and tails are one distribution, far out and of many units.
    for n in (5, 300, 30_000):
        x = random.standard_t(3, n)
        made = AugmentedMean.from_values(x, (float(x.min()) - 1, float(x.max()) + 1))
        assert made is not None
        for share in (1e-6, 0.025, 0.4, 0.975, 1 - 1e-6):
            below, above = made.tails(float(made.quantiles(np.array([share]))[0]))
            assert below == pytest.approx(share, rel=1e-7)
            assert above == pytest.approx(1 - share, rel=1e-7)


def test_tails_of_many_numbers_are_those_of_exact_arithmetic() -> None:
    """A mean of distinct numbers under Dirichlet(1, …, 1) weights has a spline as its density."""
    numbers = sorted({round(20 * float(stats.expon.ppf(p))) + j for j, p in
                      enumerate(np.linspace(0.01, 0.99, 90))})  # fmt: skip
    top = numbers[-1]
    x = np.array(numbers) / top
    ones = np.ones(len(x))
    differences = [math.prod(a - b for b in numbers if b != a) for a in numbers]
    for part in (0.75, 0.9, 1.0, 1.1, 1.3, 1.7):
        t = Fraction(part * float(x.mean()) * top)
        above = sum(
            (a - t) ** (len(numbers) - 1) / d
            for a, d in zip(numbers, differences, strict=True)
            if a > t
        )
        found = _core.dirichlet_tails(x, ones, ones, float(t) / top)
        smaller = min(above, 1 - above)
        assert min(found) == pytest.approx(float(smaller), rel=1e-9)
        assert found[1] == pytest.approx(float(above), rel=1e-9)
    # Outside the numbers there is nothing.
    assert _core.dirichlet_tails(x, ones, ones, -0.1) == (0.0, 1.0)
    assert _core.dirichlet_tails(x, ones, ones, 1.1) == (1.0, 0.0)


def test_groups_of_units_have_the_tails_of_their_units() -> None:
    """Shapes of groups are whole, large or broken; a few groups are far out."""
    random = np.random.default_rng(8)
    x = np.sort(np.append(random.random(150) / 4, [0.0, 0.6, 0.8, 1.0]))
    counts = random.integers(1, 40, len(x)).astype(float)
    units = np.repeat(x, counts.astype(int))
    for t in np.array([0.85, 1.0, 1.2, 1.4]) * units.mean():
        grouped = _core.dirichlet_tails(x, np.ones(len(x)), counts, float(t))
        single = _core.dirichlet_tails(units, np.ones(len(units)), np.ones(len(units)), float(t))
        assert grouped == pytest.approx(single, rel=1e-10)


def test_a_limit_is_the_outer_one_of_two() -> None:
    x = np.random.default_rng(9).exponential(size=200)
    made = AugmentedMean.from_values(x, (-1.0, float(x.max()) + 1))
    assert made is not None
    low, high = (float(q) for q in made.quantiles(np.array([0.025, 0.975])))
    for first, last in itertools.product(
        (low - 0.1, low + 0.1, -np.inf), (high - 0.1, high + 0.1, np.inf)
    ):
        expected = min(low, first), max(high, last)
        assert made.outer_limits(0.025, first, last) == pytest.approx(expected)


@pytest.mark.parametrize("n", [4, 50, 252, 1500])
def test_limits_are_roots_of_the_tails(n: int) -> None:
    """From far and near, and the number itself where its tail is smaller; of ties and weights."""
    random = np.random.default_rng(n)
    for values in (random.normal(size=n), np.round(random.standard_t(3, n)), random.random(n) ** 4):
        for weight in (None, random.uniform(0.5, 2, n)):
            mass = np.append(np.ones(n - 1), 0.5)
            components = values, weight, mass
            low, high = float(values.min()), float(values.max())
            for tail, side in itertools.product((0.025, 1e-5), (0, 1)):
                root = optimize.brentq(
                    lambda t: _core.dirichlet_tails(*components, t)[side] - tail,  # noqa: B023
                    low + 1e-9,
                    high - 1e-9,
                    xtol=1e-14,
                )
                out = 1 if side else -1
                for near in (root - 0.2 * out, root - 1e-3 * out, float(np.median(values))):
                    ends = (None, near) if side else (near, None)
                    limits = _core.dirichlet_limits(*components, tail, *ends)
                    assert np.isnan(limits[1 - side])
                    limit = limits[side]
                    outer = max(root, near) if side else min(root, near)
                    assert limit == pytest.approx(outer, abs=1e-10 * (high - low))
                for distance in (1e-3, 0.3):
                    near = root + distance * out
                    limits = _core.dirichlet_limits(*components, tail, near, near)
                    assert limits[side] == near
                [quantile] = _core.dirichlet_quantiles(
                    *components, np.array([1 - tail if side else tail])
                )
                assert quantile == pytest.approx(root, abs=1e-10 * (high - low))


def test_equal_values_without_weights_are_one() -> None:
    values, mass = np.array([0.5, 2.0, 0.5, 0.5, 1.0]), np.array([1.0, 1.0, 0.5, 2.0, 1.0])
    together = np.array([0.5, 1.0, 2.0]), None, np.array([3.5, 1.0, 1.0])
    for t in (0.6, 0.9, 1.5):
        expected = _core.dirichlet_tails(*together, t)
        assert _core.dirichlet_tails(values, None, mass, t) == pytest.approx(expected, rel=1e-12)
        ones = np.ones(len(values))
        assert _core.dirichlet_tails(values, ones, mass, t) == pytest.approx(expected, rel=1e-12)
    assert np.isnan(_core.dirichlet_tails(np.ones(3), None, np.ones(3), 0.5)).all()
    assert _core.dirichlet_limits(np.ones(3), None, np.ones(3), 0.1, 7.0, 8.0) == (7.0, 8.0)


def test_where_half_units_are_put() -> None:
    x = np.array([0.0, 0.0, 0.5, -0.1])  # mean 0.1
    extremes = float(x.min()), float(x.max())
    assert endpoints_about_mean(extremes, 0.1, 2) == pytest.approx((0.1 - 0.4 * 2, 0.1 + 0.4 * 2))
    assert endpoints_about_mean(extremes, 0.1, 2, 0.7) == pytest.approx((-0.6, 0.7))
    assert endpoints_about_mean((0.2, 0.2), 0.2, 5) == pytest.approx((-0.08, 0.48))
    assert endpoints_about_mean((0.0, 0.0), 0.0, 0, 1.0) == (-1.0, 1.0)
    assert endpoints_about_mean((0.0, 0.0), 0.0, 0) is None
