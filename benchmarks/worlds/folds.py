"""Cross-validation of one model: intervals of its error, from folds that share training rows."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np
import numpy.typing as npt
from scipy import special, stats

from calipers.inference import resampled_tests
from calipers.learning.nested_cv import OuterFold, nested_interval
from worlds.world import Floats, Random, Trial

#: Of nested cross-validation.
REPETITIONS = 10
SHORT = ("plain t over folds", "z over pooled rows")

Fold = npt.NDArray[np.intp]


def _p(value: float, truth: float, se: float, folds: int | None = None) -> float:
    """Below 0.05 where the interval at 95% leaves out the truth."""
    t = abs(value - truth) / se
    return float(2 * (special.ndtr(-t) if folds is None else stats.t.sf(t, folds - 1)))


def _without(x: Floats, y: Floats, fold: Fold, out: tuple[int, ...]) -> Floats:
    """Coefficients of least squares on the rows of all other folds."""
    kept = ~np.isin(fold, out)
    own = x[kept]
    return np.linalg.solve(own.T @ own, own.T @ y[kept])


def _outer(x: Floats, y: Floats, fold: Fold, folds: int) -> list[OuterFold]:
    """The losses of nested cross-validation, each pair of folds fitted once."""
    rows = [fold == k for k in range(folds)]
    within: list[list[Floats]] = [[] for _ in range(folds)]
    for a, b in combinations(range(folds), 2):
        w = _without(x, y, fold, (a, b))
        for held_out, asked in ((b, a), (a, b)):
            within[held_out].append((y[rows[asked]] - x[rows[asked]] @ w) ** 2)
    out = [(y[of] - x[of] @ _without(x, y, fold, (k,))) ** 2 for k, of in enumerate(rows)]
    return [OuterFold(o, np.concatenate(w)) for o, w in zip(out, within, strict=True)]


def least_squares(rows: int, features: int, folds: int, *, expected: bool) -> Trial:
    """The squared error of linear regression, whose features and noise are standard normal: that of
    the model fitted on all rows, or ``expected`` of models fitted on so many."""

    def draw(random: Random, seed: int) -> dict[str, float]:
        x, y = random.normal(size=(rows, features)), random.normal(size=rows)
        fold = random.permutation(rows) % folds
        w = _without(x, y, fold, ())
        truth = 1 + (features / (rows - features - 1) if expected else float(w @ w))
        repeated = [
            _outer(x, y, random.permutation(rows) % folds, folds) for _ in range(REPETITIONS)
        ]
        first = [one.losses for one in _outer(x, y, fold, folds)]
        means, losses = np.array([one.mean() for one in first]), np.concatenate(first)
        made = nested_interval([one for again in repeated for one in again], rows, folds).interval
        corrected = resampled_tests.corrected_t(means, folds - 1, 1)
        plain = resampled_tests.uncorrected_t(means)
        se = float(losses.std(ddof=1)) / np.sqrt(rows)
        lengthened = np.sqrt(1 + folds / (folds - 1))
        return {
            "corrected t over folds": _p(corrected.mean, truth, corrected.interval.se, folds),
            "nested cross-validation, 10 times": _p((made.low + made.high) / 2, truth, made.se),
            "z over pooled rows, lengthened": _p(float(losses.mean()), truth, lengthened * se),
            "plain t over folds": _p(plain.mean, truth, plain.interval.se, folds),
            "z over pooled rows": _p(float(losses.mean()), truth, se),
        }

    of = "models fitted on as many rows" if expected else "the model fitted on all rows"
    design = f"squared error of {of}"
    size = f"{rows} rows, {features} features, {folds} folds"
    return Trial("folds", design, size, draw, rows >= 100, known_bad=SHORT)


def areas(rows: int, features: int, folds: int) -> Trial:
    """The AUC of a linear classifier (least squares) of two normal classes, fitted on all rows."""
    apart = np.full(features, 1.5 / np.sqrt(features))

    def area(w: Floats) -> float:
        return float(special.ndtr(w @ apart / np.sqrt(2 * w @ w)))

    def draw(random: Random, seed: int) -> dict[str, float]:
        y = (np.arange(rows) % 2).astype(np.float64)
        x = random.normal(size=(rows, features)) + np.outer(y, apart)
        # Folds have as many rows of each class.
        fold = np.empty(rows, np.intp)
        for own in (0, 1):
            fold[y == own] = random.permutation(rows // 2) % folds
        z = np.column_stack([x, np.ones(rows)])
        truth = area(_without(z, y, fold, ())[:-1])
        values = np.array(
            [_area_on(z, y, fold, k, _without(z, y, fold, (k,))) for k in range(folds)]
        )
        corrected, plain = (
            resampled_tests.corrected_t(values, folds - 1, 1),
            resampled_tests.uncorrected_t(values),
        )
        return {
            "corrected t over folds": _p(corrected.mean, truth, corrected.interval.se, folds),
            "plain t over folds": _p(plain.mean, truth, plain.interval.se, folds),
        }

    size = f"{rows} rows, {features} features, {folds} folds"
    design = "AUC of the model fitted on all rows"
    return Trial("folds", design, size, draw, rows >= 100, known_bad=SHORT)


def _area_on(z: Floats, y: Floats, fold: Fold, k: int, w: Floats) -> float:
    score, positive = z[fold == k] @ w, y[fold == k] == 1
    return float(np.mean(score[positive][:, None] > score[~positive]))


#: Rows, features, folds.
SIZES = ((100, 10, 10), (100, 30, 10), (40, 10, 10), (100, 10, 5), (100, 30, 5), (400, 10, 10))


def trials() -> list[Trial]:
    """All of them."""
    make: Callable[..., Trial] = least_squares
    squared = [make(*size, expected=expected) for size in SIZES for expected in (False, True)]
    return [*squared, areas(100, 5, 5), areas(400, 5, 10)]
