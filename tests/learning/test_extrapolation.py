"""Learning curves that go on as they are known to, and those of which nothing can be told."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import curve_fit

from calipers.learning.learning_curves import extrapolate, fit_curves

SIZES = np.array([20.0, 30.0, 45.0, 68.0, 100.0])
FORMS = {
    "power": lambda n, a, b, c: a + b * n**-c,
    "exponential": lambda n, a, b, c: a + b * np.exp(-c * n),
    "power to 0": lambda n, a, b, c: b * n**-c,
}


@pytest.mark.parametrize("form", FORMS)
def test_a_curve_of_the_form_is_found_again(form: str) -> None:
    a, b, c = (0.2, 3.0, 0.02) if form == "exponential" else (0.2 * (form == "power"), 3.0, 0.7)
    exact = FORMS[form](SIZES, a, b, c)
    made = fit_curves(SIZES, exact[None], np.ones(5), form)
    assert float(made.predict(200)[0]) == pytest.approx(FORMS[form](200, a, b, c), rel=1e-5)


def test_a_power_law_by_another_optimiser() -> None:
    random = np.random.default_rng(0)
    curves = 1 + 10 / (SIZES - 11) * np.exp(random.normal(0, 0.1, (6, 5)))
    weights = random.uniform(0.5, 2, 5)
    made = fit_curves(SIZES, curves, weights, "power").predict(200)
    for own, curve in zip(made, curves, strict=True):
        known, _ = curve_fit(
            FORMS["power"], SIZES, curve, [1, 10, 1], sigma=1 / np.sqrt(weights),
            bounds=(0, [np.inf, np.inf, 8]), maxfev=100_000, ftol=1e-14, xtol=1e-14,
        )  # fmt: skip
        assert own == pytest.approx(FORMS["power"](200, *known), rel=2e-4)


def test_a_form_misses_what_is_not_of_it_even_without_noise() -> None:
    exact = 1 + 10 / (SIZES - 11)
    assert float(
        fit_curves(SIZES, exact[None], np.ones(5), "power").predict(200)[0]
    ) == pytest.approx(1.091187, abs=1e-6)
    assert pytest.approx(1.052910, abs=1e-6) == 1 + 10 / (200 - 11)


def test_nothing_falls_below_0_nor_rises() -> None:
    rising = np.array([[1.0, 2.0, 3.0, 4.0, 5.0]])
    for form in ("power", "exponential"):
        made = fit_curves(SIZES, rising, np.ones(5), form)
        assert float(made.predict(200)[0]) == pytest.approx(3.0, rel=1e-6)
    falling = 1000 * SIZES[None] ** -3
    assert float(fit_curves(SIZES, falling, np.ones(5), "power").a[0]) == pytest.approx(0, abs=1e-4)


def drawn(truth: np.ndarray, splits: int, noise: float = 0.2, seed: int = 0) -> np.ndarray:
    random = np.random.default_rng(seed)
    own = random.normal(size=(splits, len(truth))) * 0.8 + random.normal(size=(splits, 1)) * 0.6
    return np.asarray(truth * np.exp(noise * own - noise**2 / 2))


def test_the_band_holds_what_comes() -> None:
    truth = 1 + 10 / (SIZES - 11)
    found = extrapolate(SIZES, drawn(truth, 20), 200.0)
    assert found.reason is None
    assert found.low < 1 + 10 / 189 < found.high
    assert found.low < found.value < found.high
    assert found.reduction_low <= 10 / 89 - 10 / 189 <= found.reduction_high
    assert found.reduction_low >= 0
    wider = extrapolate(SIZES, drawn(truth, 20), 200.0, overlap=0.25)
    assert wider.high - wider.low > 1.5 * (found.high - found.low)


@pytest.mark.parametrize(
    ("truth", "splits", "why"),
    [
        (1 + 10 / (SIZES[1:] - 11), 20, "sizes"),
        (1 + 10 / (SIZES - 11), 4, "splits"),
        (np.where(SIZES < 80, 1.0, 0.4), 20, "no curve predicts"),  # falls at last
        (np.array([1.0, 0.5, 0.6, 1.2, 0.5]), 20, "no curve predicts"),  # a peak
        (np.full(5, np.nan), 20, "undefined"),
    ],
)
def test_it_cannot_be_told(truth: np.ndarray, splits: int, why: str) -> None:
    sizes = SIZES[-len(truth) :]
    found = extrapolate(sizes, drawn(truth, splits), 200.0)
    assert why in (found.reason or "")
    assert np.isnan([found.value, found.low, found.high, found.reduction]).all()


def test_errors_that_do_not_vary_tell_nothing() -> None:
    found = extrapolate(SIZES, np.tile(1 / SIZES, (6, 1)), 200.0)
    assert found.reason == "errors do not vary from split to split"


def test_no_farther_than_twice() -> None:
    with pytest.raises(ValueError, match="200 or less"):
        extrapolate(SIZES, drawn(1 / SIZES, 9), 201.0)
