"""Ways of learning whose errors are known: least squares on features, polynomials through points of a
wave, and classes by bins."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

import calipers as cal
from calipers.learning.bias_variance import decompose_zero_one_loss
from calipers.results import Estimate
from worlds.world import Evaluate, Floats, Random, Trial, World

#: The noise of the wave, as a standard deviation.
NOISE = 0.3
GRID: Floats = (np.arange(400) + 0.5) / 400


def wave(x: Floats) -> Floats:
    """What polynomials are to follow, from 0 to 1."""
    return np.asarray(np.cos(1.5 * np.pi * x))


def points(random: Random, rows: int, sets: int = 1) -> tuple[Floats, Floats]:
    """Points of the wave, shape (sets, rows): one in each of as many equal parts."""
    x = (np.arange(rows) + random.random((sets, rows))) / rows
    return x, wave(x) + random.normal(0, NOISE, (sets, rows))


def _powers(x: Floats, degree: int) -> Floats:
    return np.asarray(np.polynomial.chebyshev.chebvander(2 * x - 1, degree), np.float64)


class Polynomial(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Least squares of a polynomial."""

    def __init__(self, degree: int = 1) -> None:
        self.degree = degree

    def fit(self, X: Floats, y: Floats) -> Polynomial:  # noqa: N803
        """By one feature."""
        self.found_ = np.linalg.lstsq(_powers(X[:, 0], self.degree), y, rcond=None)[0]
        return self

    def predict(self, X: Floats) -> Floats:  # noqa: N803
        """The polynomial at the feature."""
        return np.asarray(_powers(X[:, 0], self.degree) @ self.found_)


def said(x: Floats, y: Floats, degree: int, at: Floats) -> Floats:
    """What polynomials through each set say, shape (sets, places of ``at``)."""
    q, r = np.linalg.qr(_powers(x, degree))
    found = np.linalg.solve(r, np.einsum("bnk,bn->bk", q, y)[..., None])[..., 0]
    return np.asarray(found @ _powers(at, degree).T)


# --- Least squares, whose errors are known exactly ------------------------------------------------

#: Features, and how many of them tell anything.
FEATURES, TELLING, SLOPE = 12, 5, 0.5


class First(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Least squares on the first so many features."""

    def __init__(self, number: int = FEATURES) -> None:
        self.number = number

    def fit(self, X: Floats, y: Floats) -> First:  # noqa: N803
        """Without an intercept."""
        self.slopes_ = np.linalg.lstsq(X[:, : self.number], y, rcond=None)[0]
        return self

    def predict(self, X: Floats) -> Floats:  # noqa: N803
        """The sum of the features by their slopes."""
        return np.asarray(X[:, : self.number] @ self.slopes_)


def errors(rows: int, number: int = FEATURES) -> tuple[float, float]:
    """Expected error in training, and in validation, of the first so many features, by so many rows:
    what the other features tell is noise, and of Gaussian features the rest is known."""
    noise = 1 + SLOPE**2 * max(TELLING - number, 0)
    return noise * (1 - number / rows), noise * (1 + number / (rows - number - 1))


def features(random: Random, rows: int) -> tuple[Floats, Floats]:
    """Gaussian features, and noise of variance 1."""
    x = random.normal(size=(rows, FEATURES))
    return x, SLOPE * x[:, :TELLING].sum(axis=1) + random.normal(size=rows)


def capacity(rows: int, folds: int, repeats: int, dear: int) -> World:
    """A validation curve over the number of features."""
    numbers = (2, TELLING, FEATURES)

    def found() -> Mapping[str, float]:
        made: dict[str, float] = {}
        for number in numbers:
            training, validation = errors(rows - rows // folds, number)
            made |= {f"training, {number}": training, f"validation, {number}": validation}
        return made

    def draw(random: Random) -> Evaluate:
        x, y = features(random, rows)

        def evaluate(*, seed: int, **_: Any) -> Mapping[str, Estimate]:
            made = cal.validation_curve(
                First(), x, y, param_name="number", param_range=numbers, cv=folds, n_repeats=repeats,
                seed=seed,
            )  # fmt: skip
            parts = ("training", "validation")
            return {f"{of}, {row.value}": getattr(row, of) for row in made for of in parts}

        return evaluate

    design = f"capacity, {repeats} × {folds} folds"
    return World("learning", design, f"{rows} rows", found, draw, rows >= 100, dear=dear)


def sizes(rows: int, dear: int) -> World:
    """A learning curve: its ends, and what twice as many rows would bring."""
    folds = 5
    most = rows - rows // folds
    number = [round(n) for n in np.geomspace(max(25, most / 8), most, 5)]

    def found() -> Mapping[str, float]:
        ends = {"smallest": number[0], "all": number[-1], "twice": 2 * number[-1]}
        made = {f"validation, {of}": errors(n)[1] for of, n in ends.items()}
        return {**made, "training, smallest": errors(number[0])[0]}

    def draw(random: Random) -> Evaluate:
        x, y = features(random, rows)

        def evaluate(*, seed: int, **_: Any) -> Mapping[str, Estimate]:
            made = cal.learning_curve(
                First(), x, y, train_sizes=number, cv=folds, n_repeats=3, seed=seed
            )
            first, *_rest, last = made
            more = made.extrapolation
            told = Estimate("MSE", more.value, more.low, more.high, method="of all forms")
            if more.reason is not None:
                told = Estimate("MSE", more.value, interval_reason=more.reason)
            return {
                "training, smallest": first.training,
                "validation, smallest": first.validation,
                "validation, all": last.validation,
                "validation, twice": told,
            }

        return evaluate

    design = "size, 3 × 5 folds"
    return World("learning", design, f"{rows} rows", found, draw, rows >= 100, dear=dear)


# --- Bias and variance ----------------------------------------------------------------------------

PARTS = ("error", "bias²", "variance")


@cache
def parts(rows: int, degree: int) -> Mapping[str, float]:
    """The true parts of the error of a polynomial through one point in each of as many parts."""
    random = np.random.default_rng(degree)
    says = np.concatenate([said(*points(random, rows, 4000), degree, GRID) for _ in range(10)])
    bias = float(np.square(says.mean(axis=0) - wave(GRID)).mean())
    variance = float(says.var(axis=0).mean())
    return {"bias²": bias, "variance": variance, "error": bias + variance + NOISE**2}


def decomposed(sets: int, tested: int, dear: int) -> World:
    """Bias and variance of polynomials, from training sets that a function draws; tested on a grid,
    or on so many rows."""
    rows, degrees = 30, (1, 3, 6)

    def found() -> Mapping[str, float]:
        return {f"{p}, {d}": parts(rows, d)[p] for d in degrees for p in PARTS}

    def drawn(random: Random) -> tuple[Floats, Floats]:
        x, y = points(random, rows)
        return x[0][:, None], y[0]

    def draw(random: Random) -> Evaluate:
        at = random.random(tested) if tested else GRID
        y = wave(at) + (random.normal(0, NOISE, tested) if tested else 0)

        def evaluate(*, seed: int, **_: Any) -> Mapping[str, Estimate]:
            made = cal.bias_variance(
                Polynomial(), generate=drawn, test=(at[:, None], y), training_sets=sets,
                param_name="degree", param_range=degrees, noise=NOISE**2, exact=not tested,
                sampled=bool(tested), seed=seed,
            )  # fmt: skip
            return {f"{p}, {row.value}": row.components[p] for row in made for p in PARTS}

        return evaluate

    where = f"tested on {tested} rows" if tested else "tested on a grid"
    design = f"squared loss, {where}"
    return World("learning", design, f"{sets} training sets", found, draw, sets >= 25, dear=dear)


# --- Classes --------------------------------------------------------------------------------------

OF_LABELS = ("error", "bias", "variance", "unbiased variance", "biased variance")
Labels = npt.NDArray[np.intp]


class Bins(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """The class that is more frequent in a bin of the feature, class 0 where both are."""

    def __init__(self, number: int = 8) -> None:
        self.number = number

    def fit(self, X: Floats, y: Labels) -> Bins:  # noqa: N803
        """By one feature between 0 and 1."""
        self.classes_ = np.array([0, 1])
        place = (X[:, 0] * self.number).astype(np.intp)
        self.votes_ = np.bincount(place, 2.0 * y - 1, self.number)
        return self

    def predict(self, X: Floats) -> Labels:  # noqa: N803
        """The class of the bin."""
        votes = self.votes_[(X[:, 0] * self.number).astype(np.intp)]
        return np.asarray((votes > 0).astype(np.intp))


def chance(x: Floats) -> Floats:
    """Of class 1, at a feature between 0 and 1."""
    return np.where(x % 0.5 < 0.25, 0.85, 0.15)


def labelled(random: Random, rows: int) -> tuple[Floats, Labels]:
    """Rows of two classes."""
    x = random.random(rows)
    return x, (random.random(rows) < chance(x)).astype(np.intp)


def classes(sets: int, rows: int, bins: int, dear: int) -> World:
    """Bias and variance of 0–1 loss, from disjoint training sets of 40 rows."""
    each = 40

    def found() -> Mapping[str, float]:
        random = np.random.default_rng(bins)
        drawn = (labelled(random, each) for _ in range(20_000))
        says = np.array([Bins(bins).fit(x[:, None], y).predict(GRID[:, None]) for x, y in drawn])
        made: dict[str, float] = dict.fromkeys(OF_LABELS, 0.0)
        for label, weight in ((1, chance(GRID)), (0, 1 - chance(GRID))):
            for place in range(len(GRID)):
                own = decompose_zero_one_loss(says[:, [place]], np.array([label]), 2, n_resamples=1)
                for name in OF_LABELS:
                    made[name] += weight[place] * own[name].value / len(GRID)
        return made

    def draw(random: Random) -> Evaluate:
        x, y = labelled(random, sets * each)
        at, truth = labelled(random, rows)

        def evaluate(*, seed: int, n_resamples: int, **_: Any) -> Mapping[str, Estimate]:
            made = cal.bias_variance(
                Bins(bins), x[:, None], y, test=(at[:, None], truth), training_sets=sets,
                n_resamples=n_resamples, seed=seed,
            )  # fmt: skip
            return {name: made.rows_by_value[0].components[name] for name in OF_LABELS}

        return evaluate

    design = f"0–1 loss, {bins} bins, {rows} rows"
    return World("learning", design, f"{sets} training sets", found, draw, sets >= 25, dear=dear)


# --- Capacities that are alike --------------------------------------------------------------------


class OneOf(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A line through one of the features."""

    def __init__(self, feature: int = 0) -> None:
        self.feature = feature

    def fit(self, X: Floats, y: Floats) -> OneOf:  # noqa: N803
        """By the feature."""
        self.line_ = np.polyfit(X[:, self.feature], y, 1)
        return self

    def predict(self, X: Floats) -> Floats:  # noqa: N803
        """The line."""
        return np.asarray(np.polyval(self.line_, X[:, self.feature]))


def alike(rows: int, folds: int, repeats: int) -> Trial:
    """Values of a parameter that are all as good: marking any of them errs."""

    def draw(random: Random, seed: int) -> dict[str, float]:
        y = random.normal(size=rows)
        x = y[:, None] + random.normal(size=(rows, 5))
        made = cal.validation_curve(
            OneOf(), x, y, param_name="feature", param_range=range(5), cv=folds, n_repeats=repeats,
            seed=seed,
        )  # fmt: skip
        return {"any marked": min(row.difference.p_adjusted for row in made if row.difference)}

    design = f"five alike, {repeats} × {folds} folds"
    return Trial("capacity", design, f"{rows} rows", draw, rows >= 100, dear=4)


def worlds() -> list[World]:
    """Those whose coverage is measured."""
    return [
        capacity(30, 10, 1, 4),
        capacity(100, 10, 1, 4),
        capacity(100, 5, 5, 8),
        *(sizes(rows, 8) for rows in (60, 200)),
        *(decomposed(sets, 0, 8) for sets in (10, 50)),
        *(decomposed(sets, 200, 8) for sets in (10, 50)),
        *(classes(sets, 200, 8, 4) for sets in (10, 50)),
    ]


def trials() -> list[Trial]:
    """Those whose false marks are counted."""
    return [alike(30, 10, 1), alike(100, 10, 1), alike(100, 5, 5)]
