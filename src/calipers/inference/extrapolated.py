"""How an error goes on as the training set grows, and whether that can be told at all.

Learning curves have no form that is known to be true: a power law fitted to five exact points of
1 + 10/(n − 11) misses what the curve does next. So several forms are fitted, with and without the
smallest training set, to draws of the splits, and the band is wide enough for all of them; and they
have to foretell the largest training set from the smaller ones, or nothing is said.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from calipers.inference.intervals import as_student
from calipers.statistics import FloatArray

#: Fewer sizes, or fewer splits of each, do not show a form.
FEWEST_SIZES, FEWEST_SPLITS = 5, 5
#: So many times the largest training set is as far as anything is said.
FARTHEST = 2.0
_RATES: FloatArray = np.geomspace(0.02, 8.0, 32)
_GOLDEN = (math.sqrt(5) - 1) / 2
_STEPS = 22

#: What an error is at a size, 1 the largest, beside a constant; ``rate`` above 0.
_DECAYS: Mapping[str, Callable[[FloatArray, FloatArray], FloatArray]] = {
    "power": lambda size, rate: size**-rate,
    "exponential": lambda size, rate: np.exp(-rate * size),
}
#: The forms: which decay, and whether it goes to a constant above 0 rather than to 0.
FORMS: Mapping[str, tuple[str, bool]] = {
    "power": ("power", True),
    "exponential": ("exponential", True),
    "power to 0": ("power", False),
}


@dataclass(frozen=True, slots=True)
class Fitted:
    """Curves a + b·decay(size, rate), one an entry; sizes are in units of ``unit``."""

    form: str
    unit: float
    a: FloatArray
    b: FloatArray
    rate: FloatArray

    def at(self, size: float) -> FloatArray:
        """The error at a size."""
        decay = _DECAYS[FORMS[self.form][0]]
        return np.asarray(self.a + self.b * decay(np.array(size / self.unit), self.rate))


def fit(sizes: FloatArray, errors: FloatArray, weights: FloatArray, form: str) -> Fitted:
    """Weighted least squares of one form, a and b ≥ 0, to curves of shape (curves, sizes).

    ``"power"``: a + b·n^−c; ``"exponential"``: a + b·e^−cn; ``"power to 0"``: b·n^−c.

    >>> n = np.array([20.0, 30.0, 45.0, 68.0, 100.0])
    >>> made = fit(n, (1 + 10 / (n - 11))[None], np.ones(5), "power")
    >>> round(float(made.at(200)[0]), 6), round(1 + 10 / 189, 6)  # exact points, and what is true
    (1.091187, 1.05291)
    """
    decay, offset = FORMS[form]
    unit = float(sizes.max())
    of = _DECAYS[decay]
    scaled = sizes / unit

    def solved(rate: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        # Decays are 1 at the smallest size, so that fast ones do not vanish.
        start = of(scaled.min(), rate)[..., None]
        x = of(scaled, rate[..., None]) / start
        a, b, loss = _line(x, errors, weights, offset=offset)
        return a, b / start[..., 0], loss

    tried = np.stack([solved(np.full(len(errors), rate))[2] for rate in _RATES])
    best = tried.argmin(axis=0)
    low = np.log(_RATES[np.maximum(best - 1, 0)])
    high = np.log(_RATES[np.minimum(best + 1, len(_RATES) - 1)])
    for _ in range(_STEPS):  # the golden section
        left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        lower = solved(np.exp(left))[2] <= solved(np.exp(right))[2]
        high, low = np.where(lower, right, high), np.where(lower, low, left)
    rate = np.exp((low + high) / 2)
    a, b, _ = solved(rate)
    return Fitted(form, unit, a, b, rate)


def _line(
    x: FloatArray, y: FloatArray, weights: FloatArray, *, offset: bool
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """A and b ≥ 0 of least squares of y on a + b·x, row by row, and the sum of squares."""

    def loss(a: FloatArray, b: FloatArray) -> FloatArray:
        return np.asarray((weights * np.square(y - a[:, None] - b[:, None] * x)).sum(axis=1))

    none = np.zeros(len(y))
    through = np.maximum((weights * x * y).sum(axis=1) / (weights * x * x).sum(axis=1), 0.0)
    if not offset:
        return none, through, loss(none, through)
    total = weights.sum()
    mean_x, mean_y = ((weights * of).sum(axis=1) / total for of in (x, y))
    spread = (weights * np.square(x - mean_x[:, None])).sum(axis=1)
    both = (weights * (x - mean_x[:, None]) * (y - mean_y[:, None])).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        b = np.where(spread > 0, both / spread, 0.0)
    a = mean_y - b * mean_x
    level = np.maximum(mean_y, 0.0)
    # Where either is below 0, the best has it at 0.
    free = (a >= 0) & (b >= 0)
    flat = loss(level, none) <= loss(none, through)
    a = np.where(free, a, np.where(flat, level, 0.0))
    b = np.where(free, b, np.where(flat, 0.0, through))
    return a, b, loss(a, b)


@dataclass(frozen=True, slots=True)
class Extrapolation:
    """The error at ``size`` rows: ``value`` by the form that fits best, the band of all forms from
    ``low`` to ``high``; and by how much it is below that of the largest size, ``saved``, likewise.
    ``forms`` have foretold the largest size. Where nothing can be told all are NaN and ``reason``
    says why."""

    size: float
    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    saved: float = math.nan
    saved_low: float = math.nan
    saved_high: float = math.nan
    forms: tuple[str, ...] = ()
    reason: str | None = None


def extrapolated(
    sizes: FloatArray,
    errors: FloatArray,
    size: float,
    *,
    overlap: float = 0.0,
    level: float = 0.95,
    resamples: int = 300,
    seed: int = 0,
) -> Extrapolation:
    """What the mean error would be of models trained on ``size`` rows.

    Parameters
    ----------
    sizes, errors
        Sizes of training sets, ascending, and errors, shape (splits, sizes).
    size
        At most twice the largest size.
    overlap
        n_test/n_train of the splits of one data set: draws then vary √(1 + splits · overlap) times
        as much as those of independent splits, as in the corrected resampled t.
    level, resamples, seed
        Of the band: from the lowest to the highest limit of percentile intervals over draws of
        splits, of each form fitted to all sizes and to all but the smallest.

    Raises
    ------
    ValueError
        For a size beyond twice the largest.
    """
    if size > FARTHEST * float(sizes.max()) * (1 + 1e-12):
        raise ValueError(f"size is {size:g}, expected {FARTHEST * float(sizes.max()):g} or less")
    if len(sizes) < FEWEST_SIZES:
        return Extrapolation(size, reason=f"fewer than {FEWEST_SIZES} sizes of training sets")
    if len(errors) < FEWEST_SPLITS:
        return Extrapolation(size, reason=f"fewer than {FEWEST_SPLITS} splits")
    if not np.isfinite(errors).all():
        return Extrapolation(size, reason="some errors are undefined")
    random = np.random.Generator(np.random.Philox(seed))
    number = len(errors)
    mean = errors.mean(axis=0)
    weight = random.multinomial(number, np.full(number, 1 / number), resamples) / number
    # As Student's t is wider than the normal distribution, for few splits.
    wider = math.sqrt(number / (number - 1) * (1 + number * overlap))
    wider *= as_student(1.0, number - 1, level)
    draws = np.vstack([mean, mean + wider * (weight @ errors - mean)])
    spread = errors.var(axis=0, ddof=1)
    if not (spread > 0).all():
        return Extrapolation(size, reason="errors do not vary from split to split")
    data = sizes.astype(np.float64), draws, 1 / spread
    foretold = [form for form in FORMS if _foretells(*data, form, level)]
    if not foretold:
        return Extrapolation(
            size, reason="no form foretells the largest training sets from the smaller ones"
        )
    band, saved, values = [], [], []
    for form in foretold:
        for made in _fits(*data, form):
            at, now = made.at(size), made.at(float(sizes[-1]))
            band.append(_limits(at[1:], level))
            saved.append(_limits((now - at)[1:], level))
            values.append((_misfit(made, *data), float(at[0]), float((now - at)[0])))
    _, value, less = min(values)
    return Extrapolation(size, value, *_widest(band), less, *_widest(saved), forms=tuple(foretold))


def _fits(sizes: FloatArray, draws: FloatArray, weights: FloatArray, form: str) -> Iterator[Fitted]:
    """Of all sizes, and of all but the smallest."""
    for first in (0, 1):
        yield fit(sizes[first:], draws[:, first:], weights[first:], form)


def _foretells(
    sizes: FloatArray, draws: FloatArray, weights: FloatArray, form: str, level: float
) -> bool:
    """Whether the error at the largest size lies within what the form makes of the others."""
    hidden, at = draws[:, -1], float(sizes[-1])
    made = _fits(sizes[:-1], draws[:, :-1], weights[:-1], form)
    low, high = _widest([_limits((of.at(at) - hidden)[1:], level) for of in made])
    return low <= 0 <= high


def _misfit(made: Fitted, sizes: FloatArray, draws: FloatArray, weights: FloatArray) -> float:
    """How far the curve of the means is off, over all sizes."""
    told = np.array([float(made.at(float(size))[0]) for size in sizes])
    return float((weights * np.square(told - draws[0])).sum())


def _limits(values: FloatArray, level: float) -> tuple[float, float]:
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _widest(bands: list[tuple[float, float]]) -> tuple[float, float]:
    return min(low for low, _ in bands), max(high for _, high in bands)
