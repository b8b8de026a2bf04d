"""Bias, variance and noise: where the errors of a way of learning come from, over training sets.

What goes in are predictions, shape (training sets, rows): what models fitted on each training set
say of the same rows. What comes out adds up to the error.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from calipers.inference import intervals
from calipers.inference.intervals import ROUNDING, Interval, missing
from calipers.inference.limits import FEW_SETS, FEWEST_SETS, HEAVY_TAIL
from calipers.inference.scales import SCALES
from calipers.statistics import FloatArray

ERROR, BIAS, BIAS_AND_NOISE, VARIANCE, NOISE = (
    "error",
    "bias²",
    "bias² + noise",
    "variance",
    "noise",
)
#: Of 0–1 loss. The biased variance is what the error is less for it.
MAIN_BIAS, UNBIASED, BIASED = "bias", "unbiased variance", "biased variance"
_WAY = "jackknife over training sets"
_DRAWN = "bootstrap over training sets"
_ROWS = " and rows"
#: So many numbers of replicates by rows are held at a time.
_AT_A_TIME = 2_000_000


@dataclass(frozen=True, slots=True)
class Term:
    """One part of the error, and its interval."""

    value: float
    interval: Interval


def squared(
    said: FloatArray,
    truth: FloatArray,
    *,
    noise: float | None = None,
    exact: bool = False,
    sampled: bool = True,
    level: float = 0.95,
) -> dict[str, Term]:
    """The parts of the mean squared error: error = noise + bias² + variance.

    Of B training sets, with the mean prediction m of a row: variance = mean Σ(said − m)²/(B − 1),
    and bias² = mean (m − truth)² − variance/B, as m is a mean of B predictions only. Both are
    without bias, so that bias² may come out below 0 where it is next to nothing.

    Parameters
    ----------
    said, truth
        Predictions, shape (training sets, rows), and the truth of rows.
    noise
        The variance of the truth about its expected value. Where it is not known, bias² and noise
        cannot be told apart and stand together.
    exact
        Whether ``truth`` is the expected value itself, without noise; the noise is then added.
    sampled
        Whether rows are a sample too, and not the only ones that there are.
    level
        Of the intervals, Student's by the jackknife over training sets; of what is positive they
        are made on the log scale. Where rows are a sample their variance is added.

    Raises
    ------
    ValueError
        Below two training sets.

    Examples
    --------
    >>> said = np.array([[1.0, 2.0], [3.0, 2.0], [2.0, 5.0]])
    >>> parts = squared(said, np.array([2.0, 2.0]))  # means 2 and 3, variances 1 and 3
    >>> {name: round(part.value, 4) for name, part in parts.items()}
    {'error': 1.8333, 'bias² + noise': -0.1667, 'variance': 2.0}

    Source: Geman, Bienenstock and Doursat 1992, Neural Computation 4.
    """
    sets = _sets(said)
    apart = np.asarray(said, np.float64) - truth
    own = np.square(apart).mean(axis=1)
    # The error is the mean of the diagonal of apart·apartᵀ, bias² the mean of the rest of it.
    across = apart @ apart.mean(axis=0) * sets / apart.shape[1] if apart.size else own
    total, diagonal = float(across.sum()), float(own.sum())
    bias = (total - diagonal) / (sets * (sets - 1))
    left = np.full(sets, math.nan)
    if sets > 2:
        left = (total - 2 * across + own - (diagonal - own)) / ((sets - 1) * (sets - 2))
    error, left_error = diagonal / sets, (diagonal - own) / (sets - 1)
    rows = apart.var(axis=0, ddof=1)
    rows_bias = np.square(apart.mean(axis=0)) - rows / sets
    made = _Squared(sets, sampled, level)
    known = 0.0 if noise is None else noise
    more, less = (known, 0.0) if exact else (0.0, known)
    found = {
        ERROR: made.positive(error + more, left_error, rows + rows_bias),
        BIAS_AND_NOISE: made.bias(bias - less, left, rows_bias),
        VARIANCE: made.positive(error - bias, left_error - left, rows),
    }
    if noise is None and not exact:
        return found
    together = found.pop(BIAS_AND_NOISE)
    parts = {ERROR: found[ERROR], BIAS: together, VARIANCE: found[VARIANCE]}
    if noise is not None:
        parts[NOISE] = Term(noise, missing("none", "known"))
    return parts


def _sets(said: npt.NDArray[Any]) -> int:
    if np.ndim(said) != 2 or len(said) < 2:
        raise ValueError(f"predictions have shape {np.shape(said)}, expected two sets or more")
    return len(said)


@dataclass(frozen=True, slots=True)
class _Squared:
    """Intervals of means over rows from what leaving out each training set makes of them."""

    sets: int
    sampled: bool
    level: float

    def any(self, value: float, left_out: FloatArray, rows: FloatArray) -> Term:
        """Of what may be of any sign."""
        if self.sets < FEWEST_SETS or np.isnan(left_out).any():
            return Term(value, missing(_WAY, "too_few_units"))
        apart = left_out - left_out.mean()
        of_sets = (self.sets - 1) / self.sets * float(np.square(apart).sum())
        of_rows = float(rows.var(ddof=1)) / len(rows) if self.sampled and len(rows) > 1 else 0.0
        name = _WAY + _ROWS * self.sampled
        se = math.sqrt(of_sets + of_rows)
        if se <= ROUNDING * max(abs(value), 1e-300):
            return Term(value, missing(name, "no_spread"))
        # Satterthwaite's degrees of freedom of a sum of two variances.
        degrees = (of_sets + of_rows) ** 2 / (
            of_sets**2 / (self.sets - 1) + of_rows**2 / max(len(rows) - 1, 1)
        )
        made = intervals.student(value, se, degrees + 1, self.level)
        return Term(value, replace(made, method=name))

    def bias(self, value: float, left_out: FloatArray, rows: FloatArray) -> Term:
        """Of a squared bias, which is next to 0 as a rule."""
        term = self.any(value, left_out, rows)
        if term.interval.reason or self.sets >= FEW_SETS:
            return term
        return replace(term, interval=term.interval.but("few training sets"))

    def positive(self, value: float, left_out: FloatArray, rows: FloatArray) -> Term:
        """Of what is above 0."""
        term = self.any(value, left_out, rows)
        if term.interval.reason or not value > 0:
            return term
        half = term.interval.high - value
        low, high = SCALES["log"].around(value, half)
        made = replace(term.interval, low=low, high=high, method=f"{term.interval.method}, log")
        heavy = intervals.skewness(left_out.mean() - left_out) > HEAVY_TAIL
        return Term(value, made.but("a heavy tail") if heavy else made)


# --- 0–1 loss -------------------------------------------------------------------------------------


def zero_one(
    said: npt.NDArray[np.intp],
    truth: npt.NDArray[np.intp],
    classes: int,
    *,
    sampled: bool = True,
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> dict[str, Term]:
    """Domingos' parts of the error rate: error = bias + unbiased variance − biased variance.

    The main prediction of a row is its most frequent one (of equals the smallest class). Bias: the
    share of rows on which it is wrong. Variance: how often predictions are not the main one. Where
    the main prediction is right that makes errors, the unbiased variance; where it is wrong some of
    it undoes errors, and the biased variance is how often predictions are right there. ``variance``
    is the unbiased less the biased one. The noise of the truth is in all of them.

    Parameters
    ----------
    said, truth
        Predicted classes, shape (training sets, rows), and the class of rows: 0 … ``classes`` − 1.
    sampled
        Whether rows are a sample too, and not the only ones that there are.
    level, resamples, seed
        Of the intervals, by the bootstrap over training sets, and over rows where these are a
        sample.

    Raises
    ------
    ValueError
        Below two training sets.

    Examples
    --------
    >>> said = np.array([[0, 1, 0], [0, 1, 1], [1, 1, 1], [0, 0, 2], [0, 1, 2]])
    >>> parts = zero_one(said, np.array([0, 0, 1]), 3)
    >>> [round(parts[name].value, 4) for name in ("error", "bias", "variance")]
    [0.5333, 0.3333, 0.2]
    >>> [round(parts[f"{name} variance"].value, 4) for name in ("unbiased", "biased")]
    [0.2667, 0.0667]

    Source: Domingos 2000, ICML.
    """
    sets = _sets(said)
    of_class = said[:, :, None] == np.arange(classes)
    even = np.full((1, sets), 1 / sets)
    values = {name: float(rows.mean()) for name, rows in _main(even, of_class, truth).items()}
    if sets < FEWEST_SETS:
        return {n: Term(v, missing(_DRAWN, "too_few_units")) for n, v in values.items()}
    replicates = _redrawn(of_class, truth, sampled=sampled, resamples=resamples, seed=seed)
    name = _DRAWN + _ROWS * sampled
    made = {}
    for part, value in values.items():
        # As of a sample: n draws of n spread √((n − 1)/n) as much as it does.
        se = intervals.spread(replicates[part]) * math.sqrt(sets / (sets - 1))
        interval = missing(name, "no_spread")
        if se > 0:
            interval = replace(intervals.student(value, se, sets, level), method=name)
            interval = interval.within(-1.0 if part == VARIANCE else 0.0, 1.0)
        made[part] = Term(value, interval)
    return made


def _main(
    weight: FloatArray, of_class: npt.NDArray[np.bool_], truth: npt.NDArray[np.intp]
) -> Mapping[str, FloatArray]:
    """The parts on each row, shape (replicates, rows), of training sets that count ``weight``."""
    sets, rows, classes = of_class.shape
    shares = (weight @ of_class.reshape(sets, -1).astype(np.float64)).reshape(-1, rows, classes)
    main = shares.argmax(axis=2)
    right = np.take_along_axis(
        shares, np.broadcast_to(truth[:, None], (len(shares), rows, 1)), axis=2
    )[..., 0]
    wrong = main != truth
    elsewhere = 1 - shares.max(axis=2)
    unbiased, biased = np.where(wrong, 0.0, elsewhere), np.where(wrong, right, 0.0)
    return {
        ERROR: 1 - right,
        MAIN_BIAS: wrong.astype(np.float64),
        VARIANCE: unbiased - biased,
        UNBIASED: unbiased,
        BIASED: biased,
    }


def _redrawn(
    of_class: npt.NDArray[np.bool_],
    truth: npt.NDArray[np.intp],
    *,
    sampled: bool,
    resamples: int,
    seed: int,
) -> dict[str, FloatArray]:
    """Each part in each replicate."""
    sets, rows, classes = of_class.shape
    random = np.random.Generator(np.random.Philox(seed))
    step = max(1, _AT_A_TIME // max(rows * classes, 1))
    made: dict[str, list[FloatArray]] = {}
    for start in range(0, resamples, step):
        number = min(step, resamples - start)
        weight = random.multinomial(sets, np.full(sets, 1 / sets), number) / sets
        of_rows = np.full((number, rows), 1 / rows)
        if sampled:
            of_rows = random.multinomial(rows, of_rows[0], number) / rows
        for name, parts in _main(weight, of_class, truth).items():
            made.setdefault(name, []).append((parts * of_rows).sum(axis=1))
    return {name: np.concatenate(parts) for name, parts in made.items()}
