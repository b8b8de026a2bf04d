"""True and predicted numbers of rows: their joint moments, and the rows themselves."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from calipers.caching import cached, cached_property
from calipers.lazy_dataclasses import dataclass
from calipers.lazy_imports import numpy as np
from calipers.statistics.base import (
    FloatArray,
    IntArray,
    Statistic,
    WeightedRows,
    effective_size,
)
from calipers.statistics.moments import Moments

if TYPE_CHECKING:
    import numpy.typing as npt
    from typing_extensions import Self

_MEANS = ("truth", "predicted", "residual")
_SUMS = ("of_truth", "of_predicted", "of_residual", "of_both")


@dataclass(frozen=True, eq=False)
class NumericMoments(Statistic):
    """Joint moments of truth y, prediction p and residual r = p − y.

    Leading axes are replicates. With several outputs the last axis is that of the outputs
    (``weight`` and ``squares`` have one entry there). Residuals have moments of their own, as those
    of a good prediction would be lost in the difference of two large sums. Statistics are merged as
    by Chan, Golub and LeVeque (1983).

    Parameters
    ----------
    rows : int
        Number of rows.
    weight, squares : ndarray
        Sums of the weights and of the squared weights, Σw and Σw².
    truth, predicted, residual : ndarray
        Weighted means of y, p and r.
    of_truth, of_predicted, of_residual : ndarray
        Σw(y − ȳ)², Σw(p − p̄)² and Σw(r − r̄)².
    of_both : ndarray
        Σw(y − ȳ)(p − p̄).
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
        """Compute the moments of rows.

        Parameters
        ----------
        truth, predicted : ndarray of shape (n,) or (n, outputs)
            True and predicted numbers.
        weight : ndarray of shape (n,), optional
            Weights of the rows; a row of weight 0 is ignored. By default all are 1.

        Returns
        -------
        NumericMoments
            Statistic of the rows.
        """
        if truth.ndim == 2:
            output_moments = [
                cls.from_rows(*pair, weight) for pair in zip(truth.T, predicted.T, strict=True)
            ]
            names = (*_MEANS, *_SUMS)
            columns = {
                name: np.stack([getattr(moments, name) for moments in output_moments])
                for name in names
            }
            return cls(
                output_moments[0].rows,
                output_moments[0].weight[None],
                output_moments[0].squares[None],
                **columns,
            )
        from calipers import _core

        truth, predicted = (np.asarray(column, np.float64) for column in (truth, predicted))
        total, squares, means, sums = _core.number_moments(truth, predicted, weight)
        return cls(
            rows=len(truth) if weight is None else int((weight > 0).sum()),
            weight=np.asarray(total),
            squares=np.asarray(squares),
            **{name: np.asarray(column) for name, column in zip(_MEANS, means, strict=True)},
            **{name: np.asarray(column) for name, column in zip(_SUMS, sums, strict=True)},
        )

    @classmethod
    def from_single_rows(
        cls, truth: FloatArray, predicted: FloatArray, weight: FloatArray | None
    ) -> Self:
        """Create the moments of each single row, along a leading axis.

        Parameters
        ----------
        truth, predicted : ndarray of shape (n,) or (n, outputs)
            True and predicted numbers.
        weight : ndarray of shape (n,) or None
            Weights of the rows; None if all are 1.

        Returns
        -------
        NumericMoments
            Statistic of each row.
        """
        # What is the same for all rows is one number, which saves most of the arithmetic.
        w, zeros = np.asarray(1.0) if weight is None else weight, np.asarray(0.0)
        w, residual = np.atleast_1d(w)[:, None] if truth.ndim == 2 else w, predicted - truth
        return cls(1, w, np.square(w), truth, predicted, residual, zeros, zeros, zeros, zeros)

    @classmethod
    def from_means(cls, means: FloatArray, reference: Self) -> Self:
        """Create moments from means of powers, as those of bootstrap replicates.

        Parameters
        ----------
        means : ndarray of shape (..., 7)
            Means of y, p, r, y², p², r² and yp about the means of ``reference``.
        reference : NumericMoments
            Moments of as many rows, with means near those of the replicates.

        Returns
        -------
        NumericMoments
            Moments with the leading axes of ``means``.
        """
        y, p, r, yy, pp, rr, yp = np.moveaxis(means, -1, 0)
        weight_shape = y.shape if reference.truth.ndim == 0 else (*y.shape[:-1], 1)
        n = np.broadcast_to(reference.weight, weight_shape)
        return replace(
            reference,
            weight=n,
            squares=np.broadcast_to(reference.squares, weight_shape),
            truth=reference.truth + y,
            predicted=reference.predicted + p,
            residual=reference.residual + r,
            of_truth=n * np.maximum(yy - y * y, 0.0),
            of_predicted=n * np.maximum(pp - p * p, 0.0),
            of_residual=n * np.maximum(rr - r * r, 0.0),
            of_both=n * (yp - y * p),
        )

    def mean_columns(self, truth: FloatArray, predicted: FloatArray) -> FloatArray:
        """Return the columns of rows whose means :meth:`from_means` takes.

        Parameters
        ----------
        truth, predicted : ndarray of shape (n,) or (n, outputs)
            True and predicted numbers.

        Returns
        -------
        ndarray of shape (n, 7) or (n, outputs, 7)
            Values of y, p, r, y², p², r² and yp about the means of these moments.
        """
        y, p = truth - self.truth, predicted - self.predicted
        r = predicted - truth - self.residual
        return np.stack([y, p, r, y * y, p * p, r * r, y * p], axis=-1)

    def divide_weights(self, common_weight: float) -> Self:
        """Return the moments with every weight divided by ``common_weight``.

        Each row then has weight 1.

        Parameters
        ----------
        common_weight : float
            Weight that every row has.

        Returns
        -------
        NumericMoments
            Moments of the same rows with weight 1.
        """
        n = np.rint(self.weight / common_weight)
        sums: Any = {name: np.asarray(getattr(self, name) / common_weight) for name in _SUMS}
        return replace(self, weight=n, squares=n, **sums)

    def __add__(self, other: Self) -> Self:
        return self._combine(other, 1.0)

    def leave_out(self, subset: Self) -> Self:
        """Return the moments without a subset of the rows.

        Parameters
        ----------
        subset : NumericMoments
            Moments of the rows to remove; with a leading axis, each is removed separately.

        Returns
        -------
        NumericMoments
            Moments of all other rows.
        """
        return self._combine(subset, -1.0)

    def _combine(self, second: NumericMoments, sign: float) -> Self:
        weight = self.weight + sign * second.weight
        with np.errstate(divide="ignore", invalid="ignore"):
            proportion = np.where(weight > 0, sign * second.weight / weight, 0.0)
        y, p, r = (
            getattr(second, name) - getattr(self, name)
            for name in ("truth", "predicted", "residual")
        )
        between_weight = self.weight * proportion

        def combine_sums(name: str, product: FloatArray, floor: float = 0.0) -> FloatArray:
            total = getattr(self, name) + sign * getattr(second, name) + between_weight * product
            return np.asarray(np.maximum(total, floor))

        return replace(
            self,
            rows=self.rows + int(sign) * second.rows,
            weight=np.asarray(weight),
            squares=np.asarray(self.squares + sign * second.squares),
            truth=np.asarray(self.truth + proportion * y),
            predicted=np.asarray(self.predicted + proportion * p),
            residual=np.asarray(self.residual + proportion * r),
            of_truth=combine_sums("of_truth", y * y),
            of_predicted=combine_sums("of_predicted", p * p),
            of_residual=combine_sums("of_residual", r * r),
            of_both=combine_sums("of_both", y * p, -np.inf),
        )

    @property
    def effective_size(self) -> float:
        """Kish's effective number of rows, (Σw)²/Σw²."""
        return effective_size(self.weight.item(), self.squares.item())

    def constant_mask(self, name: str) -> npt.NDArray[np.bool_]:
        """Return whether truth, predictions or residuals are constant apart from rounding.

        Parameters
        ----------
        name : {"truth", "predicted", "residual"}
            Which of them.

        Returns
        -------
        ndarray of bool
            Whether it is constant, with leading axes.
        """
        mean, sum_squares = getattr(self, name), getattr(self, f"of_{name}")
        return np.asarray(sum_squares <= self.weight * np.square(1e-15 * mean))

    @property
    def residual_sum_squares(self) -> FloatArray:
        """Residual sum of squares, Σwr²."""
        return np.asarray(self.of_residual + self.weight * np.square(self.residual))


class LeaveOneOutMoments(NumericMoments):
    """Moments of all rows but one, for each of some rows, along a leading axis.

    They are those of :meth:`NumericMoments.leave_out`, but each is computed when a measure asks for
    it, as most measures take few of them.

    Parameters
    ----------
    moments : NumericMoments
        Moments of all rows, of one output.
    truth, predicted : ndarray of shape (n,)
        True and predicted numbers of the rows to leave out.
    weight : ndarray of shape (n,) or None
        Weights of these rows; None if all are 1.
    """

    def __init__(
        self,
        moments: NumericMoments,
        truth: FloatArray,
        predicted: FloatArray,
        weight: FloatArray | None,
    ) -> None:
        row_weight = np.asarray(1.0) if weight is None else weight
        remaining = np.asarray(moments.weight - row_weight)
        with np.errstate(divide="ignore", invalid="ignore"):
            proportion = np.where(remaining > 0, -row_weight / remaining, 0.0)
        self.__dict__ |= {
            "_moments": moments,
            "_row": (truth, predicted),
            "_proportion": proportion,
            "rows": moments.rows - 1,
            "weight": remaining,
            "squares": np.asarray(moments.squares - np.square(row_weight)),
        }

    if not TYPE_CHECKING:
        # mypy: these replace the fields of the class
        truth = cached_property(lambda self: self._mean("truth"))
        predicted = cached_property(lambda self: self._mean("predicted"))
        residual = cached_property(lambda self: self._mean("residual"))
        of_truth = cached_property(lambda self: self._sum("truth"))
        of_predicted = cached_property(lambda self: self._sum("predicted"))
        of_residual = cached_property(lambda self: self._sum("residual"))
        of_both = cached_property(
            lambda self: self._remaining_sum(
                "both", self._deviations("truth") * self._deviations("predicted")
            )
        )

    def _deviations(self, name: str) -> FloatArray:
        """Return the deviations of the rows from the mean of all."""

        def compute() -> FloatArray:
            truth, predicted = self.__dict__["_row"]
            column = {"truth": truth, "predicted": predicted}.get(name)
            column = predicted - truth if column is None else column
            return np.asarray(column - getattr(self.__dict__["_moments"], name))

        return cached(self, name, compute)

    def _mean(self, name: str) -> FloatArray:
        mean = getattr(self.__dict__["_moments"], name)
        return np.asarray(mean + self.__dict__["_proportion"] * self._deviations(name))

    def _sum(self, name: str) -> FloatArray:
        return np.maximum(self._remaining_sum(name, np.square(self._deviations(name))), 0.0)

    def _remaining_sum(self, name: str, product: FloatArray) -> FloatArray:
        moments = self.__dict__["_moments"]
        between_weight = moments.weight * self.__dict__["_proportion"]
        return np.asarray(getattr(moments, f"of_{name}") + between_weight * product)


@dataclass(frozen=True, eq=False)
class FitMoments(NumericMoments):
    """Joint moments of one output, with those that give the kurtosis of residuals and truth.

    The sum with moments that lack them has none either.

    Parameters
    ----------
    rows : int
        Number of rows.
    weight, squares : ndarray
        Sums of the weights and of the squared weights, Σw and Σw².
    truth, predicted, residual : ndarray
        Weighted means of y, p and r.
    of_truth, of_predicted, of_residual : ndarray
        Σw(y − ȳ)², Σw(p − p̄)² and Σw(r − r̄)².
    of_both : ndarray
        Σw(y − ȳ)(p − p̄).
    squared : Moments, optional
        Moments of the squared residuals.
    truth_powers : ndarray of shape (2,), optional
        Σw(y − ȳ)³ and Σw(y − ȳ)⁴.
    """

    squared: Moments | None = None
    truth_powers: FloatArray | None = None

    @classmethod
    def from_rows(
        cls, truth: FloatArray, predicted: FloatArray, weight: FloatArray | None = None
    ) -> Self:
        """Compute the moments of rows.

        Parameters
        ----------
        truth, predicted : ndarray of shape (n,)
            True and predicted numbers.
        weight : ndarray of shape (n,), optional
            Weights of the rows; a row of weight 0 is ignored. By default all are 1.

        Returns
        -------
        FitMoments
            Statistic of the rows.
        """
        moments = super().from_rows(truth, predicted, weight)
        deviations = np.asarray(truth, np.float64) - moments.truth
        squares = np.square(deviations)
        weighted = squares if weight is None else squares * weight
        return replace(
            moments,
            squared=Moments.from_rows(np.square(predicted - truth), weight),
            truth_powers=np.array([weighted @ deviations, weighted @ squares]),
        )

    def __add__(self, other: NumericMoments) -> Self:
        total = self._combine(other, 1.0)
        squared = powers = None
        if isinstance(other, FitMoments):
            if self.squared is not None and other.squared is not None:
                squared = self.squared + other.squared
            if self.truth_powers is not None and other.truth_powers is not None:
                powers = self._powers_about(total.truth) + other._powers_about(total.truth)
        return replace(total, squared=squared, truth_powers=powers)

    def _powers_about(self, center: FloatArray) -> FloatArray:
        """Return Σw(y − c)³ and Σw(y − c)⁴ for a center c."""
        assert self.truth_powers is not None
        step, (cubes, fourths) = self.truth - center, self.truth_powers
        return np.array(
            [
                cubes + 3 * step * self.of_truth + step**3 * self.weight,
                fourths + 4 * step * cubes + 6 * step**2 * self.of_truth + step**4 * self.weight,
            ]
        )

    @property
    def squared_truth(self) -> Moments | None:
        """Moments of (y − ȳ)², or None if they are not known."""
        if self.truth_powers is None:
            return None
        weight, squares = float(self.weight), float(self.squares)
        mean = float(self.of_truth) / weight if weight > 0 else math.nan
        return Moments(
            self.rows, weight, mean, float(self.truth_powers[1]) - weight * mean**2,
            squares, math.nan, math.nan,
        )  # fmt: skip

    def leave_out(self, subset: Self) -> Self:
        """Return the moments without a subset of the rows, and without those of the kurtosis.

        Parameters
        ----------
        subset : FitMoments
            Moments of the rows to remove; with a leading axis, each is removed separately.

        Returns
        -------
        FitMoments
            Moments of all other rows.
        """
        return replace(super().leave_out(subset), squared=None, truth_powers=None)

    def divide_weights(self, common_weight: float) -> Self:
        """Return the moments with every weight divided by ``common_weight``.

        Each row then has weight 1.

        Parameters
        ----------
        common_weight : float
            Weight that every row has.

        Returns
        -------
        FitMoments
            Moments of the same rows with weight 1.
        """
        squared = None if self.squared is None else self.squared.divide_weights(common_weight)
        powers = None if self.truth_powers is None else self.truth_powers / common_weight
        moments = super().divide_weights(common_weight)
        return replace(moments, squared=squared, truth_powers=powers)


@dataclass(frozen=True, eq=False)
class ColumnProducts(Statistic):
    """Inner products of columns of rows, such as of their influence on several numbers.

    Parameters
    ----------
    products : ndarray of shape (k, k)
        Inner products of each two of the k columns.

    Examples
    --------
    >>> columns = np.array([[1.0, 2.0], [3.0, -1.0]])
    >>> (ColumnProducts(columns @ columns.T) + ColumnProducts(np.eye(2))).products.tolist()
    [[6.0, 1.0], [1.0, 11.0]]
    """

    products: FloatArray

    def __add__(self, other: Self) -> Self:
        return type(self)(self.products + other.products)


@dataclass(frozen=True, eq=False)
class NumericRows(WeightedRows):
    """True and predicted numbers of rows, for measures that need them sorted.

    Parameters
    ----------
    truth, predicted : ndarray of shape (n,)
        True and predicted numbers.
    weight : ndarray of shape (..., n)
        Weights of the rows. Leading axes are replicates.
    """

    truth: FloatArray
    predicted: FloatArray
    weight: FloatArray

    sort_orders: ClassVar[tuple[str, ...]] = ("sorted_truth", "sorted_predictions", "sorted_errors")

    @classmethod
    def from_rows(
        cls, truth: FloatArray, predicted: FloatArray, weight: FloatArray | None = None
    ) -> Self:
        """Create the statistic of rows, without those of weight 0.

        Parameters
        ----------
        truth, predicted : ndarray of shape (n,)
            True and predicted numbers.
        weight : ndarray of shape (n,), optional
            Weights of the rows. By default all are 1.

        Returns
        -------
        NumericRows
            Statistic of the rows.
        """
        if weight is None:
            return cls(truth, predicted, np.ones(len(truth)))
        used_mask = weight > 0
        return cls(truth[used_mask], predicted[used_mask], weight[used_mask])

    def __add__(self, other: Self) -> Self:
        columns = zip(self._columns, other._columns, strict=True)
        return type(self)(*(np.concatenate(pair, axis=-1) for pair in columns))

    @property
    def _columns(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        return self.truth, self.predicted, self.weight

    @cached_property
    def sorted_truth(self) -> SortedValues:
        """Rows sorted by truth."""
        return SortedValues.from_column(self.truth)

    @cached_property
    def sorted_predictions(self) -> SortedValues:
        """Rows sorted by prediction."""
        return SortedValues.from_column(self.predicted)

    @cached_property
    def sorted_errors(self) -> SortedValues:
        """Rows sorted by the absolute residual."""
        return SortedValues.from_column(np.abs(self.predicted - self.truth))


def concordance_sums(rows: NumericRows) -> FloatArray:
    """Compute Σⱼ wⱼ sgn(yᵢ − yⱼ) sgn(pᵢ − pⱼ) for each row i, of truth y and prediction p.

    The rows with a lower truth are found bit by bit of its rank: of the bits in which two ranks
    differ, the highest one decides. All rows are sorted by prediction once for each bit.

    Examples
    --------
    >>> y, p = np.array([1.0, 2.0, 2.0, 4.0]), np.array([1.0, 3.0, 2.0, 2.0])
    >>> concordance_sums(NumericRows.from_rows(y, p)).tolist()
    [3.0, 0.0, 1.0, 0.0]
    """
    truth, predicted = rows.sorted_truth.value_index, rows.sorted_predictions.value_index
    by_prediction = np.argsort(predicted, kind="stable")

    def sign_sums(group: IntArray, weight: FloatArray) -> FloatArray:
        """Sum the weights of lower less those of higher predictions in the group of each row."""
        order = by_prediction[np.argsort(group[by_prediction], kind="stable")]
        changes = np.diff(group[order]) != 0
        group_stops = np.append(np.flatnonzero(changes), len(order) - 1) + 1
        run_stops = np.flatnonzero(changes | (np.diff(predicted[order]) != 0))
        run_stops = np.append(run_stops, len(order) - 1) + 1
        sums = np.zeros((*weight.shape[:-1], len(order) + 1))
        np.cumsum(weight[..., order], axis=-1, out=sums[..., 1:])
        index = np.arange(len(order))
        borders = []
        for stops in (group_stops, run_stops):
            position = np.searchsorted(stops, index, side="right")
            borders.append((np.append(0, stops)[position], stops[position]))
        (group_start, group_end), (run_start, run_end) = borders
        signs = sums[..., run_start] + sums[..., run_end]
        out = np.empty(weight.shape)
        out[..., order] = signs - sums[..., group_start] - sums[..., group_end]
        return out

    if not rows.n_rows:
        return np.zeros(rows.weight.shape)
    # With D over lower, E over equal and T over all truths, higher ones have T − D − E.
    one_group = np.zeros(rows.n_rows, np.int64)
    total = sign_sums(truth, rows.weight) - sign_sums(one_group, rows.weight)
    for bit in range(int(truth.max()).bit_length()):
        is_upper = (truth >> bit) & 1 == 1
        lower_weight = np.where(is_upper, 0.0, rows.weight)
        total += np.where(is_upper, 2 * sign_sums(truth >> (bit + 1), lower_weight), 0.0)
    return total


def sort_rows(values: FloatArray) -> npt.NDArray[np.integer[Any]]:
    """Return the indices that sort the rows by ascending value.

    Examples
    --------
    >>> sort_rows(np.array([3.0, 1.0, 2.0])).tolist()
    [1, 2, 0]
    """
    if not len(values) or not np.isfinite(values).all():
        return np.argsort(values)
    from calipers import _core

    return _core.order_descending(values)[::-1]  # of many rows in a fifth of the time


def quantile(values: FloatArray, q: float, weight: FloatArray | None = None) -> float:
    """Compute a quantile of a column, as :meth:`SortedValues.quantile` does.

    It is found by selection, so that nothing is sorted.

    Examples
    --------
    >>> quantile(np.array([3.0, 1.0, 2.0, 8.0]), 0.5)
    2.5
    >>> quantile(np.array([3.0, 1.0, 2.0, 8.0]), 0.5, np.array([1.0, 1.0, 1.0, 4.0]))
    8.0
    """
    n = len(values)
    if not n:
        return float("nan")
    if weight is not None:
        from calipers import _core

        return _core.weighted_quantile(values, weight, q)
    target, tolerance = q * n, 1e-12 * n
    indices = math.ceil(target - tolerance) - 1, math.floor(target + tolerance)
    low, high = (min(max(index, 0), n - 1) for index in indices)
    partitioned = np.partition(values, high)
    lower = partitioned[high] if low == high else partitioned[:high].max()
    return float((lower + partitioned[high]) / 2)


def midranks(values: FloatArray, weight: FloatArray | None = None) -> FloatArray:
    """Compute the midranks of rows, as :meth:`SortedValues.midranks` does.

    Examples
    --------
    >>> midranks(np.array([3.0, 1.0, 2.0, 3.0]))
    array([0.75 , 0.125, 0.375, 0.75 ])
    >>> midranks(np.array([3.0, 1.0, 2.0]), np.array([1.0, 2.0, 1.0]))
    array([0.875, 0.25 , 0.625])
    """
    if not len(values) or not np.isfinite(values).all():
        weight = np.ones(len(values)) if weight is None else weight
        return SortedValues.from_column(values).midranks(weight)
    from calipers import _core

    return _core.midranks(values, weight)


def _run_start_mask(values: FloatArray) -> npt.NDArray[np.bool_]:
    """Return which values of a sorted sequence differ from the preceding one."""
    return np.append(True, values[1:] != values[:-1])[: len(values)]


@dataclass(frozen=True, eq=False)
class SortedValues:
    """Rows sorted by a value.

    ``values`` are the distinct values, ascending, and ``value_index`` is the index of the value of
    each row among them.
    """

    values: FloatArray
    value_index: npt.NDArray[np.intp]

    @classmethod
    def from_column(cls, column: FloatArray) -> SortedValues:
        """Sort the rows of a column."""
        if np.isnan(column).any():
            return cls(*np.unique(column, return_inverse=True))
        order, value_index = sort_rows(column), np.empty(len(column), np.intp)
        values = column[order]
        begins = _run_start_mask(values)
        value_index[order] = begins.cumsum() - 1
        return cls(values[begins], value_index)

    @cached_property
    def example_rows(self) -> npt.NDArray[np.intp]:
        """Index of a row (the last) with each distinct value."""
        row_index = np.empty(len(self.values), np.intp)
        row_index[self.value_index] = np.arange(len(self.value_index))
        return row_index

    def value_indices(self, column: FloatArray) -> npt.NDArray[np.intp]:
        """Return the index of each value among the distinct ones.

        The index of any other value is arbitrary, so these must have weight 0.
        """
        return np.minimum(np.searchsorted(self.values, column), len(self.values) - 1)

    def weight_sums(self, weight: FloatArray) -> FloatArray:
        """Sum the weights of the rows at each distinct value, (..., distinct)."""
        if weight.ndim == 1:
            return np.bincount(self.value_index, weight, len(self.values)).astype(np.float64)
        return np.stack([self.weight_sums(row) for row in weight])

    def quantile(self, weight: FloatArray, q: float) -> FloatArray:
        """Compute the quantile of the weighted values at this proportion.

        It is the smallest value at or below which this proportion of the weight is. If a value and
        the next one both qualify, as the two middle ones of an even number, it is their mean.
        """
        if not len(self.values):
            return np.full(weight.shape[:-1], np.nan)
        running = self.weight_sums(weight).cumsum(axis=-1)
        target = q * running[..., -1:]
        tolerance = 1e-12 * running[..., -1:]
        last = len(self.values) - 1
        low = np.minimum((running < target - tolerance).sum(axis=-1), last)
        high = np.minimum((running <= target + tolerance).sum(axis=-1), last)
        return np.asarray((self.values[low] + self.values[high]) / 2)

    def interpolated_quantile(self, weight: FloatArray, q: FloatArray) -> FloatArray:
        """Interpolate the values at these proportions of the weight.

        Lines connect the values at the middles of their weights.
        """
        value_weights = self.weight_sums(weight)
        return np.interp(
            q, (value_weights.cumsum() - value_weights / 2) / value_weights.sum(), self.values
        )

    def mean_above(self, weight: FloatArray, values: FloatArray) -> FloatArray:
        """Compute at each distinct value the mean of ``values`` over the rows above it.

        Rows at the value count half, and rows below it 0; the mean is over all rows.
        """
        weighted_sums = self.weight_sums(weight * values)
        return np.asarray((weighted_sums[::-1].cumsum()[::-1] - weighted_sums / 2) / weight.sum())

    def midranks(self, weight: FloatArray) -> FloatArray:
        """Compute the midrank of each row.

        It is the proportion of the weight below its value, plus half of that at the value.
        """
        value_weights = self.weight_sums(weight)
        middle = (value_weights.cumsum(axis=-1) - value_weights / 2) / value_weights.sum(
            axis=-1, keepdims=True
        )
        return np.asarray(middle[..., self.value_index])
