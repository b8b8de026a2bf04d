"""Bias and variance against sums by hand, against what is known of least squares, and against the
table that a simulation of its own gave."""

from __future__ import annotations

import numpy as np
import pytest

from calipers.learning.bias_variance import decompose_squared_error, decompose_zero_one_loss

GRID = np.linspace(0.05, 0.95, 181)


def wave(x: np.ndarray) -> np.ndarray:
    return np.asarray(np.cos(1.5 * np.pi * x))


def polynomials(x: np.ndarray, y: np.ndarray, degree: int, at: np.ndarray) -> np.ndarray:
    """What least squares on each row of x and y says, by QR: shape (sets, places)."""
    q, r = np.linalg.qr(np.stack([x**k for k in range(degree + 1)], axis=-1))
    found = np.linalg.solve(r, np.einsum("bnk,bn->bk", q, y)[..., None])[..., 0]
    return np.asarray(found @ np.stack([at**k for k in range(degree + 1)]))


def values(parts: dict) -> dict[str, float]:
    return {name: part.value for name, part in parts.items()}


#: bias² and variance of polynomials through 30 fresh points, 2,000 training sets: worked out
#: elsewhere. The fifth draws are not used.
FRESH = {
    1: (0.141928, 0.0153234),
    2: (0.0221098, 0.00585088),
    3: (0.0019188, 0.00209491),
    4: (0.0000997, 0.00192094),
    5: None,
    8: (-0.0000598, 0.265691),
}
#: The same of 2,000 bootstraps of one training set; there the bias² is that of the mean of them.
BOOTSTRAPPED = {
    1: (0.182830, 0.0164986),
    2: (0.0225753, 0.00799366),
    3: (0.0023980, 0.00384237),
    4: (0.00183606, 0.00487785),
}


def test_fresh_training_sets() -> None:
    random = np.random.default_rng(0)
    for degree, expected in FRESH.items():
        drawn = [(random.random(30), random.normal(0, 0.1, 30)) for _ in range(2000)]
        x, noise = (np.array(of) for of in zip(*drawn, strict=True))
        if expected is None:
            continue
        said = polynomials(x, wave(x) + noise, degree, GRID)
        found = values(decompose_squared_error(said, wave(GRID), exact=True, sampled=False))
        bias, variance = expected
        assert found["bias²"] == pytest.approx(bias, rel=1e-3, abs=1e-7)
        assert found["variance"] == pytest.approx(variance, rel=1e-5)
        assert found["error"] == pytest.approx(found["bias²"] + found["variance"], rel=1e-12)


def test_bootstraps_of_one_training_set_are_another_thing() -> None:
    for degree, (bias, variance) in BOOTSTRAPPED.items():
        random = np.random.default_rng(1)
        x = random.random(30)
        y = wave(x) + random.normal(0, 0.1, 30)
        drawn = random.integers(0, 30, (2000, 30))
        said = polynomials(x[drawn], y[drawn], degree, GRID)
        found = values(decompose_squared_error(said, wave(GRID), exact=True))
        assert found["variance"] == pytest.approx(variance, rel=1e-5)
        assert found["bias²"] + found["variance"] / 2000 == pytest.approx(bias, rel=1e-5)
    assert bias / FRESH[4][0] > 18  # of the same degree


def test_least_squares_has_no_bias_and_a_known_variance() -> None:
    """OLS, well specified, Gaussian features: bias 0, variance σ²d/(n − d − 1)."""
    random = np.random.default_rng(2)
    n, d, sets = 30, 5, 600
    x = random.normal(size=(sets, n, d))
    y = random.normal(size=(sets, n))
    found = np.linalg.solve(x.swapaxes(1, 2) @ x, (x.swapaxes(1, 2) @ y[..., None]))[..., 0]
    at = random.normal(size=(1000, d))
    truth = random.normal(size=1000)  # 0 and noise of variance 1
    parts = decompose_squared_error(found @ at.T, truth, noise=1.0)
    for name, known in (
        ("bias²", 0.0),
        ("variance", d / (n - d - 1)),
        ("error", 1 + d / (n - d - 1)),
    ):
        interval = parts[name].interval
        assert interval.low < known < interval.high
        assert interval.high - interval.low < 0.3
    assert parts["noise"].interval.reason == "known_constant"
    together = decompose_squared_error(found @ at.T, truth)
    assert list(together) == ["error", "bias² + noise", "variance"]
    assert together["bias² + noise"].value == pytest.approx(parts["bias²"].value + 1)


@pytest.mark.parametrize("sampled", [False, True])
def test_the_jackknife_by_leaving_each_out(sampled: bool) -> None:
    random = np.random.default_rng(3)
    said, truth = random.normal(size=(6, 9)), random.normal(size=9)
    parts = decompose_squared_error(said, truth, sampled=sampled)
    for name in parts:
        left = np.array(
            [
                decompose_squared_error(np.delete(said, i, axis=0), truth)[name].value
                for i in range(len(said))
            ]
        )
        variance = 5 / 6 * np.square(left - left.mean()).sum()
        if sampled:
            mean, own = said.mean(axis=0), said.var(axis=0, ddof=1)
            bias = np.square(mean - truth) - own / 6
            rows = {"error": bias + own, "bias² + noise": bias, "variance": own}[name]
            variance += rows.var(ddof=1) / 9
        assert parts[name].interval.se == pytest.approx(np.sqrt(variance))


@pytest.mark.parametrize(("sets", "few"), [(49, True), (50, False)])
def test_the_bias_of_few_training_sets_is_cautioned(sets: int, few: bool) -> None:
    said = np.random.default_rng(2).normal(size=(sets, 30))
    parts = decompose_squared_error(said, np.zeros(30), exact=True)
    cautioned = {name for name, of in parts.items() if "few training sets" in of.interval.method}
    assert cautioned == ({"bias²"} if few else set())


def test_two_training_sets_have_values_and_no_intervals() -> None:
    parts = decompose_squared_error(np.array([[1.0, 2.0], [3.0, 2.0]]), np.array([2.0, 2.0]))
    assert values(parts) == {"error": 0.5, "bias² + noise": -0.5, "variance": 1.0}
    assert {part.interval.reason for part in parts.values()} == {"too_few_units"}
    with pytest.raises(ValueError, match="two sets"):
        decompose_squared_error(np.zeros((1, 3)), np.zeros(3))


def test_no_variance_is_no_interval() -> None:
    parts = decompose_squared_error(np.ones((5, 3)), np.zeros(3), sampled=False)
    assert values(parts) == {"error": 1.0, "bias² + noise": 1.0, "variance": 0.0}
    assert {part.interval.reason for part in parts.values()} == {"no_spread"}


def test_domingos_three_points() -> None:
    """Right mostly; wrong mostly; three classes, where ties go to the smallest."""
    said = np.array([[0, 1, 0], [0, 1, 1], [1, 1, 1], [0, 0, 2], [0, 1, 2]])
    truth = np.array([0, 0, 1])
    by_row = [values(decompose_zero_one_loss(said[:, [i]], truth[[i]], 3)) for i in range(3)]
    assert [row["error"] for row in by_row] == pytest.approx([0.2, 0.8, 0.6])
    assert [row["bias"] for row in by_row] == [0, 1, 0]
    assert [row["variance"] for row in by_row] == pytest.approx([0.2, -0.2, 0.6])
    # A tie of 0, 1 and 2 with two 1s and two 2s: the main prediction is 1.
    assert [row["unbiased variance"] for row in by_row] == pytest.approx([0.2, 0, 0.6])
    assert [row["biased variance"] for row in by_row] == pytest.approx([0, 0.2, 0])


def test_the_parts_of_0_1_loss_add_up() -> None:
    random = np.random.default_rng(4)
    said, truth = random.integers(0, 4, (9, 40)), random.integers(0, 4, 40)
    parts = decompose_zero_one_loss(said, truth, 4, n_resamples=200)
    v = values(parts)
    assert v["error"] == pytest.approx(np.mean(said != truth))
    assert v["error"] == pytest.approx(v["bias"] + v["unbiased variance"] - v["biased variance"])
    assert v["variance"] == pytest.approx(v["unbiased variance"] - v["biased variance"])
    counts = np.stack([(said == k).sum(axis=0) for k in range(4)])
    assert v["bias"] == pytest.approx(np.mean(counts.argmax(axis=0) != truth))
    for part in parts.values():
        assert part.interval.low <= part.value <= part.interval.high
    fixed = decompose_zero_one_loss(said, truth, 4, sampled=False, n_resamples=200)
    assert values(fixed) == v
    assert fixed["error"].interval.se < parts["error"].interval.se


def test_a_heavy_tail_says_so() -> None:
    random = np.random.default_rng(5)
    said = random.normal(size=(30, 5))
    assert "heavy" not in decompose_squared_error(said, np.zeros(5))["variance"].interval.method
    said[7] *= 50
    assert decompose_squared_error(said, np.zeros(5))["variance"].interval.method.endswith(
        "a heavy tail"
    )
