"""How much each row moves a measure of scores: influence functions.

The influence of a row is the derivative of the measure by the row's weight. All rows of one class
and one score share it, so that it is computed on the table: a number for the positives and one for
the negatives at each score. From it follow, without a bootstrap,

    the standard error of a measure            √Σ(wI)²
    that of a difference of two systems        √Σ(w(I − J))², paired row by row
    that of clustered rows                     √Σ(Σ wI)², the inner sum over a cluster
    the acceleration of BCa intervals          ΣI³/(6·(ΣI²)^1.5)

For the AUC the first two are DeLong's, the third is Obuchowski's.

AP, PR-AUC and AP-DG are sums over the blocks of tied scores, divided by all positives: (1/P)·Σ g(T,
F, t, f), with T positives and F negatives above a block, which has t and f of its own. So a row's
influence is what it does to its own block, plus what it does to all blocks below as one more above
them, less its share of P. Those are running sums, and ties and weights need no case of their own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from calipers.inference.intervals import left_out
from calipers.statistics import FloatArray, ScoreOrder, ScoreTable
from calipers.statistics.base import dot

if TYPE_CHECKING:
    from calipers.inference.clusters import Clusters
    from calipers.inference.estimate import MeasureLike

#: Tables of more distinct scores than this are not differentiated numerically.
MOST_BLOCKS = 500

#: Measures that change smoothly with the weights of rows, so that a derivative says how they vary;
#: those of them that have no formula here are differentiated numerically. (Of a maximum over
#: thresholds the derivative is that at the best threshold.)
SMOOTH = ("pAUC", "PRG-AUC", "KS", "max-F", "max-accuracy")

#: The step of a numerical derivative, as a share of the weight.
_STEP = 1e-5

#: So many numbers are computed at a time.
_AT_ONCE = 4_000_000


class Influence(NamedTuple):
    """Of each positive and of each negative row, by score; shapes as in the table."""

    positive: FloatArray
    negative: FloatArray

    def __sub__(self, other: Influence) -> Influence:
        """Of a difference of two measures of the same table."""
        return Influence(self.positive - other.positive, self.negative - other.negative)

    def of_rows(
        self,
        positive: npt.NDArray[np.bool_],
        score: npt.NDArray[np.floating[Any]] | ScoreOrder,
    ) -> FloatArray:
        """The influence of each row of the table, from its class and its score, both shape
        ``(n,)``."""
        place = ScoreOrder.of(score).place
        return np.where(positive, self.positive[place], self.negative[place])

    def error(self, table: ScoreTable) -> FloatArray:
        """The standard error of the measure, shape ``(...)``: √Σ(wI)² of independent rows, with
        n/(n − 1) for the effective number n of rows of each class, as DeLong's has it. NaN where a
        class has one row or none."""
        total = np.zeros(self.positive.shape[:-1])
        for of_class, weight, squares in (
            (self.positive, table.positive, table.positive_squares),
            (self.negative, table.negative, table.negative_squares),
        ):
            with np.errstate(divide="ignore", invalid="ignore"):
                n = weight.sum(axis=-1) ** 2 / squares.sum(axis=-1)
                correction = np.where(n > 1, n / (n - 1), np.nan)
            total = total + (squares * np.square(of_class)).sum(axis=-1) * correction
        return np.asarray(np.sqrt(total))


def influence(measure: MeasureLike, table: ScoreTable) -> Influence | None:
    """The influence of rows on a measure of scores; None where it is not known.

    It is known of AUC, Gini, AP, PR-AUC and AP-DG, in O(D) for D distinct scores and along any
    leading axes of the table; of the other measures in :data:`SMOOTH`, for a single table of at
    most :data:`MOST_BLOCKS` distinct scores, in O(D²). Where a score has no row of a class, that
    class's number there means nothing.

    >>> from calipers import measure
    >>> truth, score = np.array([True, True, False]), np.array([0.9, 0.4, 0.6])
    >>> table = ScoreTable.from_rows(truth, score)
    >>> influence(measure("AUC"), table).of_rows(truth, score).tolist()
    [0.25, -0.25, 0.0]
    """
    name = measure.definition.name
    if name in ("AUC", "Gini"):
        return _of_auc(table, 2.0 if name == "Gini" else 1.0)
    if name in _BLOCKS:
        return _of_blocks(table, _BLOCKS[name])
    if name in SMOOTH and table.positive.ndim == 1 and len(table.scores) <= MOST_BLOCKS:
        return numerical(measure, table)
    return None


def row_error(
    influence: FloatArray, weight: FloatArray | None = None, clusters: Clusters | None = None
) -> float:
    """The standard error of what rows move by ``influence`` (n,): √Σ(wI)², or of clusters
    √(C/(C − 1)·Σ(Σ wI)²), the inner sum over the rows of a cluster; NaN of fewer than two.

    That of a difference of two systems comes from the difference of their influences.
    """
    moved = influence if weight is None else influence * weight
    return math.sqrt(dot(moved, moved)) if clusters is None else clusters.sum_error(moved)


def class_error(
    moved: FloatArray, positive: npt.NDArray[np.bool_], weight: FloatArray | None = None
) -> float:
    """The standard error of what independent rows move by ``moved`` (n,), influence times weight,
    with n/(n − 1) for the effective number of rows of each class, as :meth:`Influence.error` has
    it; NaN where a class has one row or none."""
    total = 0.0
    for of_class in (positive, ~positive):
        own = of_class.astype(np.float64) if weight is None else weight[of_class]
        squares = float(np.square(own).sum())
        n = float(own.sum()) ** 2 / squares if squares > 0 else 0.0
        correction = n / (n - 1) if n > 1 else math.nan
        total += float(np.square(moved[of_class]).sum()) * correction
    return math.sqrt(total)


#: The jackknife leaves out a group of rows at a time, of at most so many groups.
MOST_GROUPS = 200


def grouped(units: int) -> npt.NDArray[np.int64]:
    """The group that each unit is left out with: every unit its own, or groups of equal size by a
    shuffling that is always the same."""
    if units <= MOST_GROUPS:
        return np.arange(units)
    return np.random.Generator(np.random.Philox(0)).permutation(units) % MOST_GROUPS


def jackknife(measure: MeasureLike, table: ScoreTable, ranked: Any) -> FloatArray:
    """How far each group of rows (of what rows are drawn by, where that is given) moves a measure:
    the delete-a-group jackknife of any formula over a table of scores.

    ``ranked`` are the rows by descending score, as the bootstrap draws them.
    """
    weight = np.ones(len(ranked.positive)) if ranked.weight is None else ranked.weight
    used = weight > 0
    if ranked.unit is None:
        group = np.full(len(used), -1)
        group[used] = grouped(int(np.count_nonzero(used)))
    else:
        found, unit = np.unique(ranked.unit[used], return_inverse=True)
        group = np.full(len(used), -1)
        group[used] = grouped(len(found))[unit]
    d = len(table.scores)
    block = np.append(0, np.cumsum(ranked.last)[:-1])
    cell = np.where(ranked.positive, block, block + d)
    order = np.argsort(group, kind="stable")
    groups = int(group.max()) + 1
    ends = np.searchsorted(group[order], np.arange(groups + 1))
    whole, values = np.concatenate([table.positive, table.negative]), []
    step = max(1, _AT_ONCE // (2 * d))
    for begin in range(0, groups, step):
        end = min(begin + step, groups)
        rows = order[ends[begin] : ends[end]]
        place = (group[rows] - begin) * 2 * d + cell[rows]
        out = np.bincount(place, weight[rows], (end - begin) * 2 * d).reshape(-1, 2 * d)
        # Of weights, rounding may leave a hair where no row is left.
        rest = np.where(out >= whole * (1 - 1e-12), 0.0, whole - out)
        values.append(measure.apply(_with(table, rest[:, :d], rest[:, d:])))
    return left_out(np.concatenate(values))


def _with(table: ScoreTable, positive: FloatArray, negative: FloatArray) -> ScoreTable:
    return replace(
        table,
        positive=positive,
        negative=negative,
        positive_squares=positive,
        negative_squares=negative,
    )


def numerical(measure: MeasureLike, table: ScoreTable) -> Influence:
    """The derivative of any measure of a table by the weight at each score, by central differences;
    0 where there is none."""
    both = np.concatenate([table.positive, table.negative])
    d, cells, out = len(table.scores), np.flatnonzero(both), np.zeros(len(both))
    at_once = max(1, _AT_ONCE // len(both))
    for begin in range(0, len(cells), at_once):
        some = cells[begin : begin + at_once]
        steps, ends = both[some] * _STEP, []
        for sign in (1, -1):
            moved = np.repeat(both[None], len(some), axis=0)
            moved[np.arange(len(some)), some] += sign * steps
            ends.append(measure.apply(_with(table, moved[:, :d], moved[:, d:])))
        out[some] = (ends[0] - ends[1]) / (2 * steps)
    return Influence(out[:d], out[d:])


def _of_auc(table: ScoreTable, scale: float) -> Influence:
    """(Placement − AUC) over the weight of the row's class."""
    of_positive, of_negative = table.placements()
    positives, negatives = table.total_positive[..., None], table.total_negative[..., None]
    area = (of_positive * table.positive).sum(axis=-1, keepdims=True) / positives
    return Influence(
        scale * (of_positive - area) / positives, scale * (of_negative - area) / negatives
    )


class _Block(NamedTuple):
    """What blocks of tied scores add, and its derivatives by the positives and negatives above the
    block and within it."""

    value: FloatArray
    above_positive: FloatArray
    above_negative: FloatArray
    own_positive: FloatArray
    own_negative: FloatArray


def _of_blocks(table: ScoreTable, block: Callable[..., _Block]) -> Influence:
    t, f = table.positive, table.negative
    above = np.cumsum(t, axis=-1) - t, np.cumsum(f, axis=-1) - f
    with np.errstate(divide="ignore", invalid="ignore"):
        made = block(*above, t, f)
    total = table.total_positive[..., None]
    value = made.value.sum(axis=-1, keepdims=True) / total
    return Influence(
        (made.own_positive + _below(made.above_positive) - value) / total,
        (made.own_negative + _below(made.above_negative)) / total,
    )


def _below(column: FloatArray) -> FloatArray:
    """Sums over all blocks below each."""
    return np.asarray(np.cumsum(column[..., ::-1], axis=-1)[..., ::-1] - column)


def _step(up: FloatArray, uf: FloatArray, t: FloatArray, f: FloatArray) -> _Block:
    """AP: t times the precision below the block, (T + t)/(T + F + t + f)."""
    tp, fp = up + t, uf + f
    taken = np.where(tp + fp > 0, tp + fp, 1.0)
    precision, slope = tp / taken, fp / taken**2
    fall = -t * tp / taken**2
    return _Block(t * precision, t * slope, fall, precision + t * slope, fall)


def _crossing(up: FloatArray, uf: FloatArray, t: FloatArray, f: FloatArray) -> _Block:
    """Davis and Goadrich: t/a − b/a²·L, where a = 1 + f/t, b = F − T·f/t and L = ln(1 + (t + f)/(T
    + F)); t/a in the first block. Blocks without positives add nothing."""
    some, before = t > 0, up + uf
    later = before > 0
    t, before = np.where(some, t, 1.0), np.where(later, before, 1.0)
    a, b = 1 + f / t, np.where(later, uf - up * f / t, 0.0)
    grown = np.log1p((t + f) / before)
    after = before + t + f
    by_size = (t + f) / (before * after)  # −∂L/∂(T + F)
    part = b / a**2

    def total(da: FloatArray, db: FloatArray, rest: FloatArray) -> FloatArray:
        """The derivative of the value, from those of a and b and what comes through t and L."""
        through_a = (-t / a**2 + 2 * b * grown / a**3) * da
        return np.where(some, rest + through_a - np.where(later, grown / a**2 * db, 0.0), 0.0)

    nothing = np.zeros_like(a)
    moved = np.where(later, part * by_size, 0.0)
    in_block = np.where(later, part / after, 0.0)
    return _Block(
        np.where(some, t / a - part * grown, 0.0),
        np.where(later, total(nothing, -f / t, moved), 0.0),
        np.where(later, total(nothing, nothing + 1, moved), 0.0),
        total(-f / t**2, up * f / t**2, 1 / a - in_block),
        total(1 / t, -up / t, -in_block),
    )


def _trapezoid(up: FloatArray, uf: FloatArray, t: FloatArray, f: FloatArray) -> _Block:
    """PR-AUC: t·(precision above + precision below)/2 in blocks of positives only, and Davis and
    Goadrich's crossing where both classes are tied."""
    before = up + uf
    later = before > 0
    after = np.where(before + t > 0, before + t, 1.0)
    before = np.where(later, before, 1.0)
    below = (up + t) / after
    above = np.where(later, up / before, below)
    up_by = np.where(later, t / 2 * (uf / before**2 + uf / after**2), 0.0)
    uf_by = np.where(later, -t / 2 * (up / before**2 + (up + t) / after**2), 0.0)
    own = np.where(later, (above + below) / 2 + t / 2 * uf / after**2, 1.0)
    pure = _Block(t * (above + below) / 2, up_by, uf_by, own, np.zeros_like(t))
    mixed = (t > 0) & (f > 0)
    tied = _crossing(up, uf, t, f)
    return _Block(*(np.where(mixed, *parts) for parts in zip(tied, pure, strict=True)))


_BLOCKS: dict[str, Callable[..., _Block]] = {
    "AP": _step,
    "PR-AUC": _trapezoid,
    "AP-DG": _crossing,
}
