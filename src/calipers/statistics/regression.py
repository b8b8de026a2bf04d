"""Truth and predicted numbers of rows: their moments, and the rows themselves."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from calipers.caching import cached_property
from calipers.lazy_imports import numpy as np
from calipers.statistics.base import FloatArray, Statistic, effective_size
from calipers.statistics.moments import Moments

if TYPE_CHECKING:
    import numpy.typing as npt
    from typing_extensions import Self

_MEANS = ("truth", "predicted", "residual")
_SUMS = ("of_truth", "of_predicted", "of_residual", "of_both")


@dataclass(frozen=True, eq=False)
class NumericMoments(Statistic):
    """Σw, Σw², the weighted means of truth y, prediction p and residual r = p − y, and the central
    sums Σw(y − ȳ)², Σw(p − p̄)², Σw(r − r̄)² and Σw(y − ȳ)(p − p̄); leading axes are replicates, the
    last one those of outputs, where columns have several (then that of Σw and Σw² has one entry).

    Residuals have their own, as those of a good prediction would be lost in the difference of two
    large sums. Merged as Chan, Golub and LeVeque (1983) do.
    """

    rows: int
    weight: FloatArray
    squares: FloatArray
    truth: FloatArray
    predicted: FloatArray
    residual: FloatArray
    of_truth: FloatArray
    of_predicted: FloatArray
    of_residual: FloatArray
    of_both: FloatArray

    @classmethod
    def from_rows(
        cls, truth: FloatArray, predicted: FloatArray, weight: FloatArray | None = None
    ) -> Self:
        """From the columns, or from tables with a column for each output; a row of weight 0 is no
        row."""
        if truth.ndim == 2:
            each = [cls.from_rows(*of, weight) for of in zip(truth.T, predicted.T, strict=True)]
            names = (*_MEANS, *_SUMS)
            made = {name: np.stack([getattr(of, name) for of in each]) for name in names}
            return cls(each[0].rows, each[0].weight[None], each[0].squares[None], **made)
        from calipers import _core

        truth, predicted = (np.asarray(of, np.float64) for of in (truth, predicted))
        total, squares, means, sums = _core.number_moments(truth, predicted, weight)
        return cls(
            rows=len(truth) if weight is None else int((weight > 0).sum()),
            weight=np.asarray(total),
            squares=np.asarray(squares),
            **{name: np.asarray(of) for name, of in zip(_MEANS, means, strict=True)},
            **{name: np.asarray(of) for name, of in zip(_SUMS, sums, strict=True)},
        )

    @classmethod
    def row_moments(
        cls, truth: FloatArray, predicted: FloatArray, weight: FloatArray | None
    ) -> Self:
        """Those of every row by itself, along an axis."""
        w, none = np.ones(len(truth)) if weight is None else weight, np.zeros(truth.shape)
        w, residual = w[:, None] if truth.ndim == 2 else w, predicted - truth
        return cls(1, w, np.square(w), truth, predicted, residual, none, none, none, none)

    @classmethod
    def from_means(cls, means: FloatArray, near: Self) -> Self:
        """From the means of y, p, r, y², p², r² and yp, the last axis, about the means of others
        near by, of as many rows."""
        y, p, r, yy, pp, rr, yp = np.moveaxis(means, -1, 0)
        total = y.shape if near.truth.ndim == 0 else (*y.shape[:-1], 1)
        n = np.broadcast_to(near.weight, total)
        return replace(
            near,
            weight=n,
            squares=np.broadcast_to(near.squares, total),
            truth=near.truth + y,
            predicted=near.predicted + p,
            residual=near.residual + r,
            of_truth=n * np.maximum(yy - y * y, 0.0),
            of_predicted=n * np.maximum(pp - p * p, 0.0),
            of_residual=n * np.maximum(rr - r * r, 0.0),
            of_both=n * (yp - y * p),
        )

    def mean_columns(self, truth: FloatArray, predicted: FloatArray) -> FloatArray:
        """Of rows the columns whose means :meth:`of_means` takes."""
        y, p = truth - self.truth, predicted - self.predicted
        r = predicted - truth - self.residual
        return np.stack([y, p, r, y * y, p * p, r * r, y * p], axis=-1)

    def with_unit_weights(self, weight: float) -> Self:
        """Of rows that weigh 1 each."""
        number = np.rint(self.weight / weight)
        sums: Any = {name: np.asarray(getattr(self, name) / weight) for name in _SUMS}
        return replace(self, weight=number, squares=number, **sums)

    def __add__(self, other: Self) -> Self:
        return self._with(other, 1.0)

    def leave_out(self, part: Self) -> Self:
        """Of the rest; a part may be a whole axis of them, each left out by itself."""
        return self._with(part, -1.0)

    def _with(self, other: NumericMoments, sign: float) -> Self:
        weight = self.weight + sign * other.weight
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(weight > 0, sign * other.weight / weight, 0.0)
        y, p, r = (
            getattr(other, name) - getattr(self, name)
            for name in ("truth", "predicted", "residual")
        )
        between = self.weight * share

        def sums(name: str, apart: FloatArray, floor: float = 0.0) -> FloatArray:
            total = getattr(self, name) + sign * getattr(other, name) + between * apart
            return np.asarray(np.maximum(total, floor))

        return replace(
            self,
            rows=self.rows + int(sign) * other.rows,
            weight=np.asarray(weight),
            squares=np.asarray(self.squares + sign * other.squares),
            truth=np.asarray(self.truth + share * y),
            predicted=np.asarray(self.predicted + share * p),
            residual=np.asarray(self.residual + share * r),
            of_truth=sums("of_truth", y * y),
            of_predicted=sums("of_predicted", p * p),
            of_residual=sums("of_residual", r * r),
            of_both=sums("of_both", y * p, -np.inf),
        )

    @property
    def effective_size(self) -> float:
        """Kish's effective number of rows, (Σw)²/Σw²."""
        return effective_size(self.weight.item(), self.squares.item())

    def constant(self, name: str) -> npt.NDArray[np.bool_]:
        """Whether truth, predictions or residuals are all alike but for rounding."""
        size, spread = getattr(self, name), getattr(self, f"of_{name}")
        return np.asarray(spread <= self.weight * np.square(1e-15 * size))

    @property
    def squared_error(self) -> FloatArray:
        """Σwr²."""
        return np.asarray(self.of_residual + self.weight * np.square(self.residual))


@dataclass(frozen=True, eq=False)
class FitMoments(NumericMoments):
    """The same of one output, with the moments of squared residuals, which say how heavy their tail
    is. Together with moments that lack these they lack them too."""

    squared: Moments | None = None

    @classmethod
    def from_rows(
        cls, truth: FloatArray, predicted: FloatArray, weight: FloatArray | None = None
    ) -> Self:
        """From the columns; a row of weight 0 is no row."""
        made = super().from_rows(truth, predicted, weight)
        return replace(made, squared=Moments.from_rows(np.square(predicted - truth), weight))

    def __add__(self, other: NumericMoments) -> Self:
        theirs, squared = other.squared if isinstance(other, FitMoments) else None, None
        if self.squared is not None and theirs is not None:
            squared = self.squared + theirs
        return replace(self._with(other, 1.0), squared=squared)

    def with_unit_weights(self, weight: float) -> Self:
        """Of rows that weigh 1 each."""
        squared = None if self.squared is None else self.squared.with_unit_weights(weight)
        return replace(super().with_unit_weights(weight), squared=squared)


@dataclass(frozen=True, eq=False)
class NumericRows(Statistic):
    """Truth and prediction of rows and what each weighs, for what needs them by size; the weights
    may have a leading axis of replicates."""

    truth: FloatArray
    predicted: FloatArray
    weight: FloatArray

    @classmethod
    def from_rows(
        cls, truth: FloatArray, predicted: FloatArray, weight: FloatArray | None = None
    ) -> Self:
        """From the columns; a row of weight 0 is no row."""
        if weight is None:
            return cls(truth, predicted, np.ones(len(truth)))
        used = weight > 0
        return cls(truth[used], predicted[used], weight[used])

    def __add__(self, other: Self) -> Self:
        columns = zip(self._columns, other._columns, strict=True)
        return type(self)(*(np.concatenate(both, axis=-1) for both in columns))

    def with_unit_weights(self, weight: float) -> Self:
        """Of rows that weigh 1 each."""
        return self.weighing(np.ones(self.weight.shape))

    @property
    def _columns(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        return self.truth, self.predicted, self.weight

    @property
    def rows(self) -> int:
        """How many."""
        return len(self.truth)

    @property
    def total(self) -> FloatArray:
        """Σw."""
        return np.asarray(self.weight.sum(axis=-1))

    def weighing(self, weight: FloatArray) -> Self:
        """The same rows with other weights, (..., rows); what order they are in is kept."""
        made, of = replace(self, weight=weight), ("by_truth", "by_prediction", "by_error")
        made.__dict__.update({name: self.__dict__[name] for name in of if name in self.__dict__})
        return made

    def mean(self, values: FloatArray) -> FloatArray:
        """The weighted mean of a value per row, or of one per replicate and row."""
        return np.asarray((self.weight * values).sum(axis=-1) / self.total)

    @cached_property
    def by_truth(self) -> SortedValues:
        """The rows by their truth."""
        return SortedValues.from_column(self.truth)

    @cached_property
    def by_prediction(self) -> SortedValues:
        """The rows by their prediction."""
        return SortedValues.from_column(self.predicted)

    @cached_property
    def by_error(self) -> SortedValues:
        """The rows by the size of their residual."""
        return SortedValues.from_column(np.abs(self.predicted - self.truth))


def sort_rows(values: FloatArray) -> npt.NDArray[np.integer[Any]]:
    """The rows by ascending value.

    >>> sort_rows(np.array([3.0, 1.0, 2.0])).tolist()
    [1, 2, 0]
    """
    if not len(values) or not np.isfinite(values).all():
        return np.argsort(values)
    from calipers import _core

    return _core.order_descending(values)[::-1]  # of many rows in a fifth of the time


def quantile(values: FloatArray, share: float, weight: FloatArray | None = None) -> float:
    """:meth:`SortedValues.quantile` of a column; of rows that count alike by selection, so that
    nothing is sorted.

    >>> quantile(np.array([3.0, 1.0, 2.0, 8.0]), 0.5)
    2.5
    >>> quantile(np.array([3.0, 1.0, 2.0, 8.0]), 0.5, np.array([1.0, 1.0, 1.0, 4.0]))
    8.0
    """
    n = len(values)
    if not n:
        return float("nan")
    if weight is not None:
        order = sort_rows(values)
        running = weight[order].cumsum()
        goal, hair = share * running[-1], 1e-12 * running[-1]
        at = running.searchsorted(goal - hair), running.searchsorted(goal + hair, "right")
        low, high = values[order[np.minimum(at, n - 1)]]
        return float((low + high) / 2)
    goal, hair = share * n, 1e-12 * n
    at = math.ceil(goal - hair) - 1, math.floor(goal + hair)
    low, high = (min(max(place, 0), n - 1) for place in at)
    found = np.partition(values, [low, high])
    return float((found[low] + found[high]) / 2)


def midranks(values: FloatArray) -> FloatArray:
    """:meth:`SortedValues.midranks` of rows that count alike.

    >>> midranks(np.array([3.0, 1.0, 2.0, 3.0]))
    array([0.75 , 0.125, 0.375, 0.75 ])
    """
    order, made = sort_rows(values), np.empty(len(values))
    first = np.flatnonzero(_run_starts(values[order]))
    number = np.diff(first, append=len(values))
    middle = (first + number / 2) / len(values)
    made[order] = middle if len(first) == len(values) else np.repeat(middle, number)
    return made


def _run_starts(values: FloatArray) -> npt.NDArray[np.bool_]:
    """Where another value begins than the one before, in a row of them."""
    return np.append(True, values[1:] != values[:-1])[: len(values)]


@dataclass(frozen=True, eq=False)
class SortedValues:
    """Rows in order of a value: the distinct values, ascending, and which of these each row has."""

    values: FloatArray
    place: npt.NDArray[np.intp]

    @classmethod
    def from_column(cls, column: FloatArray) -> SortedValues:
        """Of one column."""
        if np.isnan(column).any():
            return cls(*np.unique(column, return_inverse=True))
        order, place = sort_rows(column), np.empty(len(column), np.intp)
        values = column[order]
        begins = _run_starts(values)
        place[order] = begins.cumsum() - 1
        return cls(values[begins], place)

    @cached_property
    def first_rows(self) -> npt.NDArray[np.intp]:
        """Of each distinct value a row that has it."""
        at = np.empty(len(self.values), np.intp)
        at[self.place] = np.arange(len(self.place))
        return at

    def positions(self, column: FloatArray) -> npt.NDArray[np.intp]:
        """Which of the distinct values each of these is; what is none of them has no weight."""
        return np.minimum(np.searchsorted(self.values, column), len(self.values) - 1)

    def weights(self, weight: FloatArray) -> FloatArray:
        """What each distinct value weighs, (..., distinct), where rows weigh ``weight``."""
        if weight.ndim == 1:
            return np.bincount(self.place, weight, len(self.values)).astype(np.float64)
        return np.stack([self.weights(row) for row in weight])

    def quantile(self, weight: FloatArray, share: float) -> FloatArray:
        """The smallest value below or at which this share of the weight is; where a value and the
        next are both such, as two middle ones of an even number, halfway between them."""
        if not len(self.values):
            return np.full(weight.shape[:-1], np.nan)
        running = self.weights(weight).cumsum(axis=-1)
        goal = share * running[..., -1:]
        hair = 1e-12 * running[..., -1:]
        last = len(self.values) - 1
        low = np.minimum((running < goal - hair).sum(axis=-1), last)
        high = np.minimum((running <= goal + hair).sum(axis=-1), last)
        return np.asarray((self.values[low] + self.values[high]) / 2)

    def interpolated_quantile(self, weight: FloatArray, shares: FloatArray) -> FloatArray:
        """The values at these shares of the weight, on lines between the middles of values."""
        own = self.weights(weight)
        return np.interp(shares, (own.cumsum() - own / 2) / own.sum(), self.values)

    def above(self, weight: FloatArray, values: FloatArray) -> FloatArray:
        """At each distinct value the mean over all rows of a value per row that counts where the
        row is above, and half where it is at it."""
        own = self.weights(weight * values)
        return np.asarray((own[::-1].cumsum()[::-1] - own / 2) / weight.sum())

    def midranks(self, weight: FloatArray) -> FloatArray:
        """Of each row the share of the weight below it, and half of that at its own value."""
        at = self.weights(weight)
        middle = (at.cumsum(axis=-1) - at / 2) / at.sum(axis=-1, keepdims=True)
        return np.asarray(middle[..., self.place])
