"""Rows that differ only in which cell they fall into: truth × prediction, or × a second prediction.

The counts of the cells are all there is to such rows, so that redrawing cells is redrawing rows.
Only cells that hold rows are kept, so that hundreds of classes cost no more than they have to.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from calipers.inference import intervals
from calipers.inference.clusters import Clusters
from calipers.inference.estimate import (
    STRATIFIED,
    MeasureLike,
    Settings,
    bootstrap_offers,
    normal_of,
    percentile,
    share_offers,
)
from calipers.inference.influence import MOST_GROUPS, derivatives, grouped
from calipers.inference.intervals import Interval
from calipers.once import cached_property
from calipers.statistics import ConfusionMatrix, FloatArray, IntArray, OccupiedMatrix
from calipers.statistics.occupied import MOST_DENSE, RedrawnMatrix

#: So many numbers are drawn at a time.
_AT_ONCE = 4_000_000

#: The same of many classes, where the work is in passing over what was drawn: it then stays near.
NEAR = 500_000

#: The step of a numerical derivative, as a share of the count.
_STEP = 1e-5

#: Replicates of more cells than this have no standard errors of their own.
_FEW_CELLS = 25

#: Of more cells than this rows are drawn rather than cells, unless each holds many rows.
_MANY_CELLS = 2500
_MANY_ROWS = 8


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells that hold rows: ``place`` are their positions in an array of this ``shape``,
    ascending; ``counts`` and ``squares`` the sums of weights and of squared weights."""

    shape: tuple[int, ...]
    place: IntArray
    counts: FloatArray
    squares: FloatArray
    flat: npt.NDArray[np.int64]
    weight: FloatArray | None = None
    clusters: Clusters | None = None

    @classmethod
    def from_codes(
        cls,
        codes: Sequence[npt.NDArray[np.integer[Any] | np.bool_]],
        shape: tuple[int, ...],
        weight: FloatArray | None = None,
        clusters: Clusters | None = None,
    ) -> Cells:
        """The cells of rows that give a position along each axis of ``shape``."""
        flat = np.asarray(codes[0], np.int64)
        for code, size in zip(codes[1:], shape[1:], strict=True):
            flat = flat * size + code
        if (size := math.prod(shape)) <= 4 * len(flat) + 10_000:
            rows = np.bincount(flat, minlength=size)
            place = np.flatnonzero(rows)
            sums = [rows[place].astype(np.float64)]
            if weight is not None:
                sums = [_sums(flat, w, size)[place] for w in _weights(weight)]
        else:
            place, inverse = np.unique(flat, return_inverse=True)
            sums = [_sums(inverse, w, len(place)) for w in _weights(weight)]
        return cls(shape, place, sums[0], sums[-1], flat, weight, clusters)

    def row(self) -> npt.NDArray[np.uint32]:
        """Which of the cells each row falls into."""
        if (size := math.prod(self.shape)) > 4 * len(self.flat) + 10_000:
            return np.searchsorted(self.place, self.flat).astype(np.uint32)
        at = np.zeros(size, np.uint32)
        at[self.place] = np.arange(len(self.place), dtype=np.uint32)
        return at[self.flat]

    def onto(self, axes: Sequence[int], counts: FloatArray) -> FloatArray:
        """Counts of the cells (..., C) added up along the other axes, an array of these axes."""
        shape = tuple(self.shape[axis] for axis in axes)
        place, sums = self._projected(axes, counts)
        out = np.zeros((*counts.shape[:-1], math.prod(shape)))
        out[..., place] = sums
        return out.reshape(*counts.shape[:-1], *shape)

    def _projected(self, axes: Sequence[int], counts: FloatArray) -> tuple[IntArray, FloatArray]:
        """The same, but only of the places that hold rows, and these places."""
        where = np.unravel_index(self.place, self.shape)
        shape = tuple(self.shape[axis] for axis in axes)
        target = np.ravel_multi_index([where[axis] for axis in axes], shape)
        order = np.argsort(target, kind="stable")
        distinct, start = np.unique(target[order], return_index=True)
        if not len(distinct):
            return distinct, np.zeros((*counts.shape[:-1], 0))
        return distinct, np.add.reduceat(counts[..., order], start, axis=-1)

    def matrix(
        self, counts: FloatArray, labels: tuple[str, ...], axes: Sequence[int] = (0, 1)
    ) -> ConfusionMatrix:
        """The confusion matrix of two of the axes, from counts of the cells (..., C)."""
        if self.dense:
            whole = self.onto(axes, counts)
            return ConfusionMatrix(whole, whole, labels)
        if len(self.shape) == len(axes):
            return OccupiedMatrix(counts, counts, self.place, labels)
        place, held = self._projected(axes, counts)
        return OccupiedMatrix(held, held, place, labels)

    def redrawn(
        self, drawn: FloatArray, labels: tuple[str, ...], axes: Sequence[int] = (0, 1)
    ) -> ConfusionMatrix:
        """The same, of replicates."""
        if not self.dense and (self.weight is None or self.by_row):
            redrawn = self._by_margins(drawn, labels, axes)
            return redrawn.as_whole() if self.weight is None else redrawn
        made = self.matrix(drawn, labels, axes)
        return made.as_whole() if self.weight is None else made

    def _by_margins(
        self, drawn: FloatArray, labels: tuple[str, ...], axes: Sequence[int]
    ) -> RedrawnMatrix:
        where = np.unravel_index(self.place, self.shape)
        truth, predicted = (where[axis] for axis in axes)
        return RedrawnMatrix(
            margins(drawn, truth, predicted, len(labels)),
            labels,
            lambda: self.matrix(drawn, labels, axes),
            lambda: self._by_margins((drawn > 0).astype(np.float64), labels, axes),
        )

    @property
    def dense(self) -> bool:
        """Whether matrices are kept whole."""
        return max(self.shape[:2]) <= MOST_DENSE

    @property
    def at_once(self) -> int:
        """How many replicates are made at a time, for their numbers to fit."""
        if self.dense:
            return max(1, _AT_ONCE // math.prod(self.shape[:2]))
        return max(1, NEAR // max(len(self.place), 4 * max(self.shape[:2])))

    def drawn(self, settings: Settings) -> Iterator[FloatArray]:
        """Bootstrap replicates of the counts, some (b, C) at a time: multinomial draws where every
        row weighs one, else rows (or clusters) drawn one by one."""
        cells = len(self.place)
        if self.by_row:
            yield from self._by_row(settings)
        elif self.weight is not None:
            from calipers import _core

            drawn = _core.bootstrap_cells(
                self.row(), self.weight, cells, settings.seed, settings.resamples
            )
            made = np.asarray(drawn).reshape(settings.resamples, cells)
            step = len(made) if self.dense else self.at_once
            yield from (made[begin : begin + step] for begin in range(0, len(made), step))
        else:
            generator = np.random.Generator(np.random.Philox(settings.seed))
            share = self.counts / self.counts.sum()
            rows = round(float(self.counts.sum()))
            for size in self._steps(settings):
                yield generator.multinomial(rows, share, size=size).astype(np.float64)

    @property
    def by_row(self) -> bool:
        """Whether rows are drawn rather than cells."""
        if self.clusters is not None:
            return True
        many_rows = self.weight is None and self.counts.sum() > _MANY_ROWS * len(self.place)
        return len(self.place) > _MANY_CELLS and not many_rows

    def _steps(self, settings: Settings) -> Iterator[int]:
        """The number of replicates in turns."""
        for begin in range(0, settings.resamples, self.at_once):
            yield min(self.at_once, settings.resamples - begin)

    def _by_row(self, settings: Settings) -> Iterator[FloatArray]:
        """Drawn row by row: as many rows as there are, or each row (each cluster) as often as a
        Poisson number says that depends on the seed, the replicate and it alone."""
        generator = np.random.Generator(np.random.Philox(settings.seed))
        cell, cells, rows = self.row().astype(np.int64), len(self.place), len(self.flat)
        replicate = 0
        for size in self._steps(settings):
            out = np.empty((size, cells))
            for sums in out:
                if self.clusters is None and self.weight is None:
                    taken = generator.integers(0, rows, rows, np.uint32)
                    sums[:] = np.bincount(cell[taken], minlength=cells)
                else:
                    sums[:] = np.bincount(cell, self.times(settings, replicate), cells)
                replicate += 1
            yield out

    def times(self, settings: Settings, replicate: int) -> FloatArray:
        """What each row weighs in a replicate of the Poisson bootstrap of rows or clusters."""
        from calipers import _core

        units = len(self.flat) if self.clusters is None else self.clusters.size
        times = _core.poisson_counts(settings.seed, replicate, units)
        each = times if self.clusters is None else times[self.clusters.code]
        return each.astype(np.float64) if self.weight is None else each * self.weight

    def drawn_by_class(self, settings: Settings) -> Iterator[FloatArray] | None:
        """The same, but that every true class keeps its number of rows; None where rows come in
        clusters or weigh differently."""
        if self.clusters is not None or self.weight is not None:
            return None
        return self._by_class(settings)

    def _by_class(self, settings: Settings) -> Iterator[FloatArray]:
        generator = np.random.Generator(np.random.Philox(settings.seed))
        # Places ascend, so that the cells of a class stand side by side.
        starts = np.unique(np.unravel_index(self.place, self.shape)[0], return_index=True)[1]
        for size in self._steps(settings):
            out = np.empty((size, len(self.place)))
            for begin, end in zip(starts, [*starts[1:], len(self.place)], strict=True):
                counts = self.counts[begin:end]
                rows = round(float(counts.sum()))
                out[:, begin:end] = generator.multinomial(rows, counts / counts.sum(), size)
            yield out

    def error(self, influence: FloatArray) -> float:
        """Standard error of a sum over rows, each of which adds its weight times the ``influence``
        of its cell (an array of ``shape``, or of the cells)."""
        at = influence.ravel()[self.place] if influence.shape == self.shape else influence
        if self.clusters is None:
            return math.sqrt(float(np.dot(self.squares, np.square(at))))
        number = self.clusters.number
        if number < 2:
            return math.nan
        of_row = at[self.row()] if self.weight is None else at[self.row()] * self.weight
        part = np.bincount(self.clusters.code, of_row)
        return math.sqrt(float(np.square(part).sum()) * number / (number - 1))


def margins(
    drawn: FloatArray,
    truth: npt.NDArray[np.integer[Any]],
    predicted: npt.NDArray[np.integer[Any]],
    classes: int,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Of replicates (b, C) of what cells, or rows, of these classes hold: the margins of truth and
    of prediction, and the diagonal, (b, classes) each."""
    from calipers import _core

    right = np.flatnonzero(truth == predicted)
    of_truth, of_prediction, hits = (
        np.asarray(_core.sum_columns(some, code.astype(np.uint32), classes))
        for some, code in (
            (drawn, truth),
            (drawn, predicted),
            (np.take(drawn, right, axis=1), truth[right]),
        )
    )
    return of_truth, of_prediction, hits


def _weights(weight: FloatArray | None) -> tuple[FloatArray | None, ...]:
    return (None,) if weight is None else (weight, np.square(weight))


def _sums(place: npt.NDArray[np.integer[Any]], weight: FloatArray | None, size: int) -> FloatArray:
    return np.bincount(place, weight, minlength=size).astype(np.float64)


def gradient(measure: Any, matrix: ConfusionMatrix) -> FloatArray:
    """:func:`cell_gradient` as an array of shape ``(K, K)``; 0 where no row is."""
    out = np.zeros((matrix.classes, matrix.classes))
    truth, predicted, _ = matrix.occupied()
    out[truth, predicted] = cell_gradient(measure, matrix, truth, predicted)
    return out


def cell_gradient(
    measure: Any,
    matrix: ConfusionMatrix,
    truth: npt.NDArray[np.integer[Any]],
    predicted: npt.NDArray[np.integer[Any]],
) -> FloatArray:
    """The derivative of a measure by some cells of the matrix, each of which holds rows.

    Measures of counts do not change when all counts are doubled, so that Σ n·gradient is 0, and
    the standard error by the delta method is √(Σ n·gradient²). (For macro- and micro-F1 that is
    Takahashi et al. 2022.) Measures of one class, and averages over classes, are differentiated by
    the four counts of each class; a row of class i called j is a false negative of i, a false
    positive of j, and a true negative of all others.
    """
    if not measure.viewed:
        if isinstance(matrix, OccupiedMatrix):
            return margin_gradient(measure, matrix, truth, predicted)
        return np.asarray(_partial(measure.apply, matrix, matrix.counts)[truth, predicted])
    (rest, wrong), (missed, hit) = class_gradient(measure, matrix).transpose(1, 2, 0)
    beside = (missed - rest)[truth] + (wrong - rest)[predicted] + rest.sum()
    return np.asarray(np.where(truth == predicted, (rest.sum() + hit - rest)[truth], beside))


def class_gradient(measure: Any, matrix: ConfusionMatrix) -> FloatArray:
    """The derivative by the four counts of each class (or label), shape ``(K, 2, 2)``, of a measure
    of one class, or averaged over classes."""
    each, plain = matrix.one_vs_rest(), measure.plain
    if measure.average == "micro":
        pooled = matrix.pooled()
        return np.broadcast_to(_partial(plain.apply, pooled, pooled.counts), each.counts.shape)
    if measure.label is not None:
        share = np.array([label == measure.label for label in matrix.labels], np.float64)
    else:
        share = each.averaging(measure.average)
        with np.errstate(invalid="ignore"):  # no class may have rows
            share = share / share.sum()
    out = np.where(share[:, None, None] > 0, _partial_of_each(plain.apply, each), 0.0)
    out *= share[:, None, None]
    if measure.average == "weighted":  # the weights too vary with the rows
        values = np.where(share > 0, plain.apply(each), 0.0)
        out[:, 1, :] += ((values - (share * values).sum()) / each.positive.sum())[:, None]
    return out


def _partial(
    apply: Callable[[Any], FloatArray], matrix: ConfusionMatrix, counts: FloatArray
) -> FloatArray:
    """Central differences by each cell that holds rows."""
    out, cells = np.zeros(counts.size), np.flatnonzero(counts)
    at_once = max(1, _AT_ONCE // counts.size)
    for begin in range(0, len(cells), at_once):
        some = cells[begin : begin + at_once]
        steps = counts.ravel()[some] * _STEP
        ends = []
        for sign in (1, -1):
            moved = np.repeat(counts.reshape(1, -1), len(some), axis=0)
            moved[np.arange(len(some)), some] += sign * steps
            moved = moved.reshape(len(some), *counts.shape)
            ends.append(apply(replace(matrix, counts=moved, squares=moved)))
        out[some] = (ends[0] - ends[1]) / (2 * steps)
    return out.reshape(counts.shape)


def _partial_of_each(apply: Callable[[Any], FloatArray], each: ConfusionMatrix) -> FloatArray:
    """The same of a stack of matrices of two classes, all of them at once."""
    out = np.zeros(each.counts.shape)
    for cell in np.ndindex(2, 2):
        at = (..., *cell)
        ends = []
        for sign in (1, -1):
            moved = each.counts.copy()
            moved[at] += sign * moved[at] * _STEP
            ends.append(apply(replace(each, counts=moved, squares=moved)))
        steps = each.counts[at] * _STEP
        held = steps > 0
        out[at][held] = (ends[0] - ends[1])[held] / (2 * steps[held])
    return out


class _Margins(ConfusionMatrix):
    """Margins that need not be those of one matrix, for derivatives by each of them."""

    def __init__(self, matrix: ConfusionMatrix, **margins: FloatArray) -> None:
        names = ("labels", "truth", "prediction", "hits", "total", "correct")
        self.__dict__.update({name: getattr(matrix, name) for name in names}, **margins)

    @property
    def classes(self) -> int:
        return len(self.labels)


def margin_gradient(
    measure: Any,
    matrix: ConfusionMatrix,
    truth: npt.NDArray[np.integer[Any]],
    predicted: npt.NDArray[np.integer[Any]],
) -> FloatArray:
    """The gradient by cells of a measure of all classes, through the margins: a row more in a cell
    is one more in the margin of its true class, in that of its predicted class, in the total, and
    where these agree on the diagonal. So the work grows with classes, not with cells."""
    by = {name: _by_margin(measure, matrix, name) for name in ("truth", "prediction", "hits")}
    total, correct = (_by_sum(measure, matrix, name) for name in ("total", "correct"))
    right = np.where(truth == predicted, by["hits"][truth] + correct, 0.0)
    return np.asarray(by["truth"][truth] + by["prediction"][predicted] + total + right)


def _by_margin(measure: Any, matrix: ConfusionMatrix, name: str) -> FloatArray:
    """Central differences by the entries of a margin that hold rows."""
    return derivatives(
        lambda moved: measure.apply(_Margins(matrix, **{name: moved})),
        getattr(matrix, name),
        _AT_ONCE // 4,
    )


def _by_sum(measure: Any, matrix: ConfusionMatrix, name: str) -> float:
    """The same by one of the sums."""
    value = getattr(matrix, name)
    if not value > 0:
        return 0.0
    ends = [measure.apply(_Margins(matrix, **{name: value * (1 + s * _STEP)})) for s in (1, -1)]
    return float(ends[0] - ends[1]) / (2 * float(value) * _STEP)


@dataclass(frozen=True, eq=False)
class ClassCounts:
    """A confusion matrix of any number of classes, and how the rows behind it are redrawn."""

    matrix: ConfusionMatrix
    cells: Cells
    settings: Settings
    #: Measures that are bootstrapped in one pass with the first of them.
    together: tuple[Any, ...] = ()
    _spread: dict[Any, FloatArray] = field(default_factory=dict, repr=False)

    def interval(self, measure: Any, value: float) -> Interval:
        """That asked for by name; Wilson for shares of rows; else the bootstrap, or the delta
        method where no bootstrap is wanted."""
        asked = self._asked(measure, value)
        if asked is not None:
            return asked
        seen = self.share_of(measure)
        wilson = seen is not None and not self.settings.prefers_bootstrap
        if self.clusters is not None and self.settings.interval == "auto":
            # Clusters that agree altogether leave the bootstrap nothing to draw.
            wilson = wilson and value in (0.0, 1.0)
        refused = self.settings.refuses(value, bootstrap=False)
        if refused is not None:
            return refused
        if wilson and seen is not None:
            return self._wilson(measure, seen, value)
        if self.settings.interval == "analytic":
            return self._delta(measure, value).within(*measure.definition.range)
        plain = self.cells.weight is None and self.clusters is None
        if self.matrix.classes == 2 and plain and not self.settings.prefers_bootstrap:
            drawn = measure.apply(self._likely)
            return intervals.percentile(drawn, self.settings.level, "Jeffreys, of the cells")
        return percentile(self.replicates([measure])[measure], self.settings, self.clusters)

    @cached_property
    def constant(self) -> ConfusionMatrix:
        """The matrices of always answering one class."""
        return self.matrix.constant()

    @cached_property
    def _likely(self) -> ConfusionMatrix:
        """Matrices as likely as their rows make them, by Jeffreys' prior: Dirichlet(counts + ½).

        Where a cell holds few rows the bootstrap draws too few others, and from an empty one none
        at all, so that its intervals are too short; these hold the truth as often as they say."""
        generator = np.random.Generator(np.random.Philox(self.settings.seed))
        counts = self.matrix.counts
        share = generator.dirichlet(counts.ravel() + 0.5, self.settings.resamples)
        drawn = (share * counts.sum()).reshape(-1, 2, 2)
        return replace(self.matrix, counts=drawn, squares=drawn)

    def _asked(self, measure: Any, value: float) -> Interval | None:
        """By a method asked for by name."""
        if not self.settings.methods:
            return None
        seen = self.share_of(measure)
        offers: dict[str, Callable[[], Interval | None]] = {
            **bootstrap_offers(
                value,
                self.settings,
                lambda: self.replicates([measure])[measure],
                lambda: self._jackknife(measure),
                lambda: self._studentised(measure),
                self.clusters,
            ),
            "delta": lambda: self._delta(measure, value),
            "stratified": lambda: self._stratified(measure),
        }
        if seen is None:
            kind = "measure of counts"
        else:
            kind = "share of rows"
            size = self._trials(measure, seen, value)
            for name, made in share_offers(value, size, self.settings.level).items():
                offers[name] = partial(self._of_share, made)
        return self.settings.named(kind, value, offers, measure.definition.range)

    @classmethod
    def from_codes(
        cls,
        truth: npt.NDArray[np.integer[Any] | np.bool_],
        predicted: npt.NDArray[np.integer[Any] | np.bool_],
        labels: tuple[str, ...],
        settings: Settings,
        weight: FloatArray | None = None,
        clusters: Clusters | None = None,
        together: tuple[Any, ...] = (),
    ) -> ClassCounts:
        """The counts of rows whose classes are given as positions in ``labels``."""
        k = len(labels)
        cells = Cells.from_codes([truth, predicted], (k, k), weight, clusters)
        if not cells.dense:
            squares = cells.counts if weight is None else cells.squares
            matrix: ConfusionMatrix = OccupiedMatrix(
                cells.counts, squares, cells.place, labels, len(truth)
            )
            return cls(matrix, cells, settings, together)
        counts = cells.onto((0, 1), cells.counts)
        squares = counts if weight is None else cells.onto((0, 1), cells.squares)
        return cls(ConfusionMatrix(counts, squares, labels, len(truth)), cells, settings, together)

    @classmethod
    def from_matrix(
        cls, matrix: ConfusionMatrix, settings: Settings, together: tuple[Any, ...] = ()
    ) -> ClassCounts:
        """The same of rows that weigh one each and are independent, of whom the matrix is all (for
        which ``cells.by_row`` must not be)."""
        truth, predicted, counts = matrix.occupied()
        place, nobody = truth * matrix.classes + predicted, np.zeros(0, np.int64)
        shape = (matrix.classes, matrix.classes)
        return cls(matrix, Cells(shape, place, counts, counts, nobody), settings, together)

    @property
    def clusters(self) -> Clusters | None:
        """What the rows come from."""
        return self.cells.clusters

    def share_of(
        self, measure: Any, matrix: ConfusionMatrix | None = None
    ) -> ConfusionMatrix | None:
        """The matrix of whose margin the measure is a share of rows, if it is one; of another
        ``matrix`` in place of these rows', where that is given.

        Of micro averages these are shares of what is, or is called, positive, where every row
        stands once; as a negative it stands K − 1 times.
        """
        margin = measure.definition.share_of
        if margin is None or measure.average in ("macro", "weighted"):
            return None
        whole = self.matrix if matrix is None else matrix
        seen: ConfusionMatrix | None = whole
        if measure.label is not None:
            seen = whole.of_class(measure.label)
        elif measure.average == "micro":
            seen = whole.pooled() if margin in ("positive", "predicted_positive") else None
        return seen

    def _wilson(self, measure: Any, seen: ConfusionMatrix, value: float) -> Interval:
        size = self._trials(measure, seen, value)
        return self._of_share(lambda: intervals.wilson(value, size, self.settings.level))

    def _trials(self, measure: Any, seen: ConfusionMatrix, value: float) -> float:
        """The effective number of rows that a share is of, the design effect of clusters taken off;
        NaN where they are too few."""
        size = float(seen.effective_size(measure.definition.share_of))
        if self.clusters is None:
            return size
        split = self._by_cluster(measure, self.clusters)
        return self.clusters.trials(value, split, measure.plain, size, self.settings.level)

    def _by_cluster(self, measure: Any, clusters: Clusters) -> ConfusionMatrix:
        """The matrix of two classes of each cluster that a share of rows is taken of."""
        truth, predicted = np.divmod(self.cells.flat, self.matrix.classes)
        if measure.label is not None:
            own = self.matrix.labels.index(measure.label)
            truth, predicted = truth == own, predicted == own
        elif self.matrix.classes > 2:
            # Of an average, a row stands once among what is positive and what is called so.
            truth, predicted = np.ones_like(truth), truth == predicted
        counts = clusters.matrices(2 * truth + predicted, (2, 2))
        if measure.average == "micro":
            counts[:, 0, 1] = counts[:, 1, 0]
        return ConfusionMatrix(counts, counts)

    def _of_share(self, made: Callable[[], Interval | None]) -> Interval:
        """An interval of a share, named by the clusters it took into account."""
        interval = made()
        assert interval is not None
        if self.clusters is None:
            return interval
        if self.clusters.number < 2 or not math.isfinite(interval.low):
            return intervals.missing("none", "too_few_clusters")
        return replace(interval, method=self.clusters.named(f"{interval.method}, clustered"))

    def _delta(self, measure: Any, value: float) -> Interval:
        se = self.cells.error(self._gradient(measure))
        return normal_of(value, se, self.settings, self.clusters, "delta")

    def _gradient(self, measure: Any) -> FloatArray:
        """The derivative by each of the cells."""
        truth, predicted = np.unravel_index(self.cells.place, self.cells.shape)
        return cell_gradient(measure, self.matrix, truth, predicted)

    def _applied(self, measure: Any, counts: FloatArray) -> FloatArray:
        """The measure of each of several arrays of counts of the cells (m, C)."""
        step, out = self.cells.at_once, []
        for begin in range(0, len(counts), step):
            some = self.cells.matrix(counts[begin : begin + step], self.matrix.labels)
            out.append(measure.apply(some))
        return np.concatenate(out)

    def _stratified(self, measure: Any) -> Interval | None:
        """Of independent rows that weigh alike."""
        drawn = self.cells.drawn_by_class(self.settings)
        if drawn is None:
            return None
        replicates = np.concatenate([self._applied(measure, counts) for counts in drawn])
        return intervals.percentile(replicates, self.settings.level, STRATIFIED)

    def _jackknife(self, measure: Any) -> tuple[FloatArray, FloatArray | None]:
        """Leaving out a row of each cell in turn, for all of its rows; of clusters and of rows that
        weigh differently, and where the cells are many, one after the other or groups of them."""
        cells = self.cells
        plain = cells.weight is None and self.clusters is None
        if plain and len(cells.place) <= MOST_GROUPS:
            rest = cells.counts - np.eye(len(cells.place))
            return intervals.left_out(self._applied(measure, rest), cells.counts), cells.counts
        if self.clusters is not None:
            _, unit = np.unique(self.clusters.code, return_inverse=True)
        else:
            unit = np.arange(len(cells.flat))
        group = grouped(int(unit.max()) + 1)[unit]
        place = group * len(cells.place) + cells.row()
        size = (int(group.max()) + 1) * len(cells.place)
        out = np.bincount(place, cells.weight, size).reshape(-1, len(cells.place))
        # Of weights, rounding may leave a hair where no row is left.
        rest = np.where(out >= cells.counts * (1 - 1e-12), 0.0, cells.counts - out)
        return intervals.left_out(self._applied(measure, rest)), None

    def _studentised(self, measure: Any) -> tuple[float, FloatArray, FloatArray] | None:
        """Of few cells, whose counts are all there is to the rows: each replicate by the delta
        method."""
        cells = self.cells
        few = len(cells.place) <= _FEW_CELLS
        if not few or cells.weight is not None or self.clusters is not None:
            return None
        drawn = np.concatenate(list(cells.drawn(self.settings)))
        variance = np.zeros(len(drawn))
        for cell in range(drawn.shape[1]):
            steps, ends = drawn[:, cell] * _STEP, []
            for sign in (1, -1):
                moved = drawn.copy()
                moved[:, cell] += sign * steps
                ends.append(self._applied(measure, moved))
            held = steps > 0
            slope = (ends[0][held] - ends[1][held]) / (2 * steps[held])
            variance[held] += drawn[held, cell] * np.square(slope)
        se = cells.error(self._gradient(measure))
        return se, self._applied(measure, drawn), np.sqrt(variance)

    def replicates(self, measures: Iterable[MeasureLike]) -> dict[Any, FloatArray]:
        """Bootstrap replicates of each measure, all from the same draws."""
        todo = [m for m in dict.fromkeys((*measures, *self.together)) if m not in self._spread]
        if todo:
            parts: list[list[FloatArray]] = [[] for _ in todo]
            for drawn in self.cells.drawn(self.settings):
                matrix = self.cells.redrawn(drawn, self.matrix.labels)
                for part, measure in zip(parts, todo, strict=True):
                    part.append(measure.apply(matrix))
            self._spread.update(zip(todo, map(np.concatenate, parts), strict=True))
        return self._spread
