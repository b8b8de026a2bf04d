"""Two small data sets, and measures of weighted rows written out anew, for numbers by hand.

Every formula takes a weight of each row along the last axis of ``w`` and any leading axes: all that
a bootstrap draws, a jackknife leaves out or a derivative moves are weights.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy import stats

from calipers import _core

Z = stats.norm.ppf(0.975)
Formula = Callable[[Any], Any]


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of two classes, what two systems say of them, weights and clusters."""

    truth: Any
    a: Any
    b: Any
    weight: Any
    cluster: Any

    @property
    def n(self) -> int:
        return len(self.truth)


SMALL = Rows(
    np.repeat([1, 0], [9, 15]),
    np.array([.91, .83, .42, .77, .64, .35, .58, .96, .71, .12, .33, .61, .08, .27, .44, .52, .19,
              .05, .38, .66, .23, .14, .47, .31]),
    np.array([.62, .71, .38, .44, .81, .29, .47, .88, .33, .22, .53, .57, .18, .41, .36, .67, .25,
              .11, .58, .49, .15, .35, .28, .09]),
    np.array([1, 2, .5, 1, 3, 1, .5, 2, 1, 1, 1, 2, .5, .5, 1, 4, 1, 1, 2, 1, .5, 1, 1, 3]),
    np.array([0, 0, 1, 1, 1, 2, 2, 3, 3, 3, 0, 4, 4, 4, 5, 5, 5, 5, 6, 6, 7, 7, 7, 2]),
)  # fmt: skip


def _larger(n: int) -> Rows:
    k = np.arange(n)
    truth = ((k * k + k // 7) % 11 < 4).astype(int)
    first, second = k * 0.6180339887 % 1 - 0.5, k * 0.7548776662 % 1 - 0.5
    a = 1 / (1 + np.exp(-(2.2 * truth - 1.1 + 3 * first)))
    b = 1 / (1 + np.exp(-(1.4 * truth - 0.7 + 2 * first + 2 * second)))
    weight = np.array([1, 0.5, 2, 1, 3, 0.25, 1])[k % 7]
    return Rows(truth, np.round(a, 2), np.round(b, 2), weight, k * k // 5 % 19)


#: With ties, more than 100 rows and more than 30 positives.
LARGER = _larger(130)
BOTH = {"small": SMALL, "larger": LARGER}


# --- What tests by hand share ---------------------------------------------------------------------

DRAWS = 300
DESIGNS = ("plain", "weighted", "clustered", "both")
data = pytest.mark.parametrize("rows", BOTH.values(), ids=BOTH)
designs = pytest.mark.parametrize("design", DESIGNS)


def near(*expected: float, rel: float = 1e-7) -> Any:
    return pytest.approx(expected, rel=rel, abs=1e-9)


def limits(found: Any) -> tuple[float, float]:
    return found.low, found.high


def options(rows: Rows, design: str) -> dict[str, Any]:
    return {
        "weight": rows.weight if design in ("weighted", "both") else None,
        "cluster": rows.cluster if design in ("clustered", "both") else None,
    }


def weight_of(rows: Rows, design: str) -> Any:
    return rows.weight if design in ("weighted", "both") else np.ones(rows.n)


def two_labels(rows: Rows) -> tuple[Any, dict[str, Any]]:
    """Rows of two labels, and what two systems say of them."""
    k = np.arange(rows.n)
    truth = np.column_stack([rows.truth, (k * k) % 7 < 3]).astype(bool)
    return truth, {
        "a": np.column_stack([rows.a > 0.5, (k * k + (k % 5 == 0)) % 7 < 3]),
        "b": np.column_stack([rows.b > 0.5, (k * k + (k % 4 == 0)) % 7 < 3]),
    }


@cache
def poisson(units: int) -> Any:
    """How often each unit comes in each replicate."""
    return np.array([_core.poisson_counts(0, b, units) for b in range(DRAWS)], float)


@cache
def drawn_means(rows: int) -> Any:
    """The same where means of so many rows are drawn."""
    return _core.bootstrap_means(np.eye(rows), 0, DRAWS)[0] * rows


def weights(rows: Rows, design: str, order: Any = None) -> Any:
    """What each row weighs in each replicate; rows are drawn in this order, or by cluster."""
    if design in ("clustered", "both"):
        times = poisson(int(rows.cluster.max()) + 1)[:, rows.cluster]
    else:
        times = np.zeros((DRAWS, rows.n))
        times[:, np.arange(rows.n) if order is None else order] = poisson(rows.n)
    return times * weight_of(rows, design)


def ends(drawn: Any) -> tuple[float, float]:
    low, high = np.quantile(drawn[np.isfinite(drawn)], [0.025, 0.975])
    return float(low), float(high)


# --- Measures -------------------------------------------------------------------------------------


# --- Measures -------------------------------------------------------------------------------------


def auc(truth: Any, score: Any) -> Formula:
    """Pair by pair."""
    y = truth == 1
    x, z = score[y][:, None], score[~y][None]
    wins = (x > z) + 0.5 * (x == z)

    def of(w: Any) -> Any:
        won = np.einsum("...i,ij,...j->...", w[..., y], wins, w[..., ~y])
        return won / (w[..., y].sum(axis=-1) * w[..., ~y].sum(axis=-1))

    return of


def precision_area(truth: Any, score: Any, name: str) -> Formula:
    """AP, PR-AUC (trapezoids, but along Davis and Goadrich's curve where classes are tied) and
    AP-DG (along it everywhere), from the highest score down."""
    levels = np.unique(score)[::-1]
    at = score[:, None] == levels
    node, part = np.polynomial.legendre.leggauss(14)
    node, part = (node + 1) / 2, part / 2

    def of(w: Any) -> Any:
        t, f = w * (truth == 1) @ at, w * (truth == 0) @ at
        above_t, above_f = np.cumsum(t, axis=-1) - t, np.cumsum(f, axis=-1) - f
        with np.errstate(divide="ignore", invalid="ignore"):
            after = (above_t + t) / (above_t + t + above_f + f)
            before = np.where(above_t + above_f > 0, above_t / (above_t + above_f), after)
            some = [np.asarray(share) * np.stack([t, f]) for share in node]
            crossed = [(above_t + x) / (above_t + x + above_f + y) for x, y in some]
        curve = sum(p * c for p, c in zip(part, crossed, strict=True))
        straight = np.where(f > 0, curve, (before + after) / 2)
        height = {"AP": after, "PR-AUC": straight, "AP-DG": curve}[name]
        return np.where(t > 0, t * height, 0).sum(axis=-1) / t.sum(axis=-1)

    return of


def youden(truth: Any, score: Any) -> Formula:
    """The largest recall + specificity − 1 of all thresholds."""
    said = score[:, None] >= np.append(np.unique(score), np.inf)
    y = truth == 1

    def of(w: Any) -> Any:
        up, down = (w * side @ said / (w * side).sum(axis=-1)[..., None] for side in (y, ~y))
        return (up - down).max(axis=-1)

    return of


def table(truth: Any, said: Any, w: Any) -> tuple[Any, Any, Any, Any]:
    """tp, fp, fn, tn."""
    y, s = truth == 1, np.asarray(said, bool)
    return tuple(w @ (side * 1.0) for side in (y & s, ~y & s, y & ~s, ~y & ~s))  # type: ignore[return-value]


def f1(truth: Any, said: Any) -> Formula:
    def of(w: Any) -> Any:
        tp, fp, fn, _ = table(truth, said, w)
        return 2 * tp / (2 * tp + fp + fn)

    return of


def precision(truth: Any, said: Any) -> Formula:
    def of(w: Any) -> Any:
        tp, fp, _, _ = table(truth, said, w)
        return tp / (tp + fp)

    return of


def mcc(truth: Any, said: Any) -> Formula:
    def of(w: Any) -> Any:
        tp, fp, fn, tn = table(truth, said, w)
        margins = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
        return (tp * tn - fp * fn) / np.sqrt(margins)

    return of


def accuracy(truth: Any, said: Any) -> Formula:
    return lambda w: w @ (truth == said) / w.sum(axis=-1)


def mean(values: Any) -> Formula:
    return lambda w: w @ values / w.sum(axis=-1)


def calibration_error(truth: Any, p: Any, bins: int = 15) -> Formula:
    """Bins (0, 1/B], …: Σ|Σwp − Σwy|/Σw."""
    at = np.maximum(np.ceil(p * bins - 1e-9), 1)[:, None] == np.arange(1, bins + 1)
    return lambda w: np.abs((w * (p - truth)) @ at).sum(axis=-1) / w.sum(axis=-1)


def line(truth: Any, p: Any, place: int) -> Formula:
    """a or b in logit P(y) = a + b·logit(p), by Newton's steps; place 2 is a with b = 1."""
    x = np.log(p / (1 - p))
    columns = np.ones((len(x), 1)) if place == 2 else np.column_stack([np.ones(len(x)), x])
    fixed = x if place == 2 else 0 * x

    squares = np.einsum("ni,nj->nij", columns, columns)

    def of(w: Any) -> Any:
        beta = np.zeros((*w.shape[:-1], columns.shape[1]))
        for _ in range(12):
            fitted = 1 / (1 + np.exp(-(fixed + beta @ columns.T)))
            slope = (w * (truth - fitted)) @ columns
            curve = np.tensordot(w * fitted * (1 - fitted), squares, 1)
            beta = beta + np.linalg.solve(curve, slope[..., None])[..., 0]
        return beta[..., place % 2]

    return of


# --- How they vary --------------------------------------------------------------------------------


def moved(of: Formula, weight: Any) -> Any:
    """By how much each row moves a measure: its weight times the derivative by it."""
    step = 1e-5 * np.diag(np.asarray(weight, float))
    return np.asarray((of(weight + step) - of(weight - step)) / 2e-5)


def kish(w: Any) -> float:
    return float(w.sum() ** 2 / (w**2).sum())


def by_class(influence: Any, truth: Any, weight: Any) -> float:
    """√Σ n/(n − 1)·ΣI² over the classes."""
    total = 0.0
    for side in (truth == 1, truth == 0):
        n = kish(weight[side])
        total += n / (n - 1) * (influence[side] ** 2).sum()
    return float(np.sqrt(total))


def cr2(moved: Any, held: Any) -> tuple[float, float]:
    """The error of a sum over clusters and its degrees of freedom, by the matrix of what sums of
    independent rows would vary by together; of several such parts a row each."""
    f, n = np.atleast_2d(moved), np.atleast_2d(held)
    h = n / n.sum(axis=1, keepdims=True)
    weight = (f**2 / (1 - h)).sum(axis=1)
    both = sum(w * (np.diag(own) - np.outer(own, own)) for w, own in zip(weight, h, strict=True))
    left = np.diag(both)
    d = np.where(left > 0, (weight @ h) / np.where(left > 0, left, 1), 1)
    se = np.sqrt((d * f.sum(axis=0) ** 2).sum())
    return float(se), float((d * left).sum() ** 2 / (np.outer(d, d) * both**2).sum())


def sums(values: Any, cluster: Any) -> Any:
    return np.array([values[cluster == c].sum() for c in range(int(cluster.max()) + 1)])


def by_cluster(influence: Any, cluster: Any, held: Any) -> tuple[float, float]:
    """By what each row adds to the denominator."""
    return cr2(sums(influence, cluster), sums(held, cluster))


def of_classes_by_cluster(influence: Any, truth: Any, cluster: Any, w: Any) -> tuple[float, float]:
    """Where either class is half of the denominator."""
    held = sum(w * (truth == c) / w[truth == c].sum() for c in (0, 1))
    return by_cluster(influence, cluster, held)


def of_pairs_by_cluster(influence: Any, truth: Any, cluster: Any, w: Any) -> tuple[float, float]:
    """Each class with clusters of its own, as after Obuchowski."""
    parts = [sums(influence * (truth == c), cluster) for c in (1, 0)]
    return cr2(np.array(parts), np.array([sums(w * (truth == c), cluster) for c in (1, 0)]))


def on_logit(value: float, se: float, quantile: float = Z) -> tuple[float, float]:
    eta, half = np.log(value / (1 - value)), quantile * se / (value * (1 - value))
    low, high = 1 / (1 + np.exp(-(eta + np.array([-half, half]))))
    return float(low), float(high)


def wilson(share: float, n: float, quantile: float = Z) -> tuple[float, float]:
    """Where (share − p)² = z²·p(1 − p)/n."""
    z = quantile**2 / n
    low, high = sorted(np.roots([1 + z, -(2 * share + z), share**2]).real)
    return float(low), float(high)
