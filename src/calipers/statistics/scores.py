"""Score table: the distinct scores with the weight of both classes at each."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

from calipers.caching import cached_property
from calipers.lazy_dataclasses import dataclass
from calipers.lazy_imports import numpy as np
from calipers.statistics.base import FloatArray, Statistic, leave_one_out_sums
from calipers.statistics.confusion import ConfusionMatrix

if TYPE_CHECKING:
    import numpy.typing as npt
    from typing_extensions import Self


ScoreArray: TypeAlias = "npt.NDArray[np.floating[Any]]"

DEFAULT_AREAS = ("AUC", "PR-AUC", "AP")


@dataclass(frozen=True, eq=False)
class ScoreOrder:
    """Column of scores with its sort order, which is computed once, on first access.

    Parameters
    ----------
    score : ndarray of shape (n,)
        Score of each row.

    Examples
    --------
    >>> order = ScoreOrder.from_scores(np.array([0.2, 0.9, 0.2]))
    >>> order.row_order.tolist(), order.score_index.tolist()
    ([1, 0, 2], [1, 0, 1])
    """

    score: ScoreArray

    @classmethod
    def from_scores(cls, score: ScoreArray | Self) -> Self:
        """Return the order of a column; an instance is returned as it is, with its cache.

        Parameters
        ----------
        score : ndarray of shape (n,) or ScoreOrder
            Score of each row.

        Returns
        -------
        ScoreOrder
            Order of the scores.
        """
        return score if isinstance(score, cls) else cls(score)  # type: ignore[arg-type]

    @cached_property
    def row_order(self) -> npt.NDArray[np.uint32]:
        """Rows by descending score, as indices; ties are in their original order."""
        from calipers import _core

        return _core.order_descending(self.score)

    @cached_property
    def is_last_of_score(self) -> npt.NDArray[np.bool_]:
        """Whether each of :attr:`rows` is the last one of its score."""
        ordered = self.score[self.row_order]
        return np.append(ordered[1:] != ordered[:-1], [True] * (len(ordered) > 0))

    @cached_property
    def score_index(self) -> npt.NDArray[np.uint32]:
        """Index of the score of each row among the distinct scores, descending."""
        first = np.zeros(len(self.row_order), np.uint32)
        first[1:] = self.is_last_of_score[:-1]
        index = np.empty(len(self.row_order), np.uint32)
        index[self.row_order] = np.cumsum(first, dtype=np.uint32)
        return index


@dataclass(frozen=True, eq=False)
class SubsetScores:
    """Rows sorted by descending score, divided into subsets.

    Parameters
    ----------
    scores : ndarray of shape (D,)
        Distinct scores, descending.
    positive : ndarray of bool of shape (n,)
        Whether each row is positive.
    is_last_of_score : ndarray of bool of shape (n,)
        Whether it is the last one of its score.
    subset_codes : ndarray of uint8 of shape (n,)
        Subset of each row, as an index.
    weight : ndarray of shape (n,) or None
        Weights of the rows; None if all are 1.
    subset_sizes : list of int
        Number of rows of each subset.
    """

    scores: FloatArray
    positive: npt.NDArray[np.bool_]
    is_last_of_score: npt.NDArray[np.bool_]
    subset_codes: npt.NDArray[np.uint8]
    weight: FloatArray | None
    subset_sizes: list[int]

    @classmethod
    def from_rows(
        cls,
        order: ScoreOrder,
        scores: FloatArray,
        positive: npt.NDArray[np.bool_],
        weight: FloatArray | None,
        subset_codes: npt.NDArray[np.uint8],
    ) -> Self:
        """Sort rows that are given in any order.

        Parameters
        ----------
        order : ScoreOrder
            Order of the scores of the rows.
        scores : ndarray of shape (D,)
            Distinct scores, descending.
        positive : ndarray of bool of shape (n,)
            Whether each row is positive.
        weight : ndarray of shape (n,) or None
            Weights of the rows; None if all are 1.
        subset_codes : ndarray of uint8 of shape (n,)
            Subset of each row, as an index.

        Returns
        -------
        SubsetScores
            Sorted rows.
        """
        rows = order.row_order
        return cls(
            scores,
            positive[rows],
            order.is_last_of_score,
            subset_codes[rows],
            None if weight is None else weight[rows],
            np.bincount(subset_codes).tolist(),
        )

    def complement_areas(self, name: str) -> list[AreaSummary]:
        """Compute an area of the rows of all subsets but each one, in one pass over the rows.

        Parameters
        ----------
        name : {"AUC", "PR-AUC", "AP", "AP-DG"}
            Name of the area.

        Returns
        -------
        list of AreaSummary
            Areas without each subset, with the standard errors of :meth:`ScoreTable.area`.
        """
        from calipers import _core

        n_subsets = len(self.subset_sizes)
        values, squared_influence = _core.areas_without(
            name,
            self.positive,
            self.is_last_of_score,
            self.subset_codes,
            self.weight,
            None,
            n_subsets,
            1,
        )
        weights, squares = self._complement_weights
        with np.errstate(divide="ignore", invalid="ignore"):  # classes without rows
            n = np.square(weights) / squares
            corrections = np.where(n > 1, n / (n - 1), np.nan)
            variances = (squared_influence.reshape(n_subsets, 2) * corrections).sum(axis=1)
        errors = np.sqrt(variances)
        sums = np.hstack([weights, squares]).tolist()
        terms = zip(values.tolist(), errors.tolist(), strict=True)
        return [
            AreaSummary(positive, negative, positive_squares, negative_squares, {name: term})
            for (positive, negative, positive_squares, negative_squares), term in zip(
                sums, terms, strict=True
            )
        ]

    @cached_property
    def _complement_weights(self) -> tuple[FloatArray, FloatArray]:
        """Weights, and squared weights, of either class without each subset, shape ``(S, 2)``."""
        shape = len(self.subset_sizes), 2
        index = 2 * self.subset_codes.astype(np.intp) + ~self.positive
        powers = (None,) if self.weight is None else (self.weight, np.square(self.weight))
        sums = [
            np.stack(
                leave_one_out_sums(
                    list(np.bincount(index, power, 2 * shape[0]).astype(np.float64).reshape(shape))
                )
            )
            for power in powers
        ]
        return sums[0], sums[-1]


@dataclass(frozen=True, eq=False)
class AreaSummary:
    """Areas of a table of scores, and the weights of its classes, without the scores.

    Parameters
    ----------
    total_positive, total_negative : float
        Weight of the positives and of the negatives.
    total_positive_squares, total_negative_squares : float
        Sums of their squared weights.
    areas : dict of str to (float, float)
        Areas by name, each with its standard error.
    """

    total_positive: float
    total_negative: float
    total_positive_squares: float
    total_negative_squares: float
    areas: dict[str, tuple[float, float]]

    def area(self, name: str) -> tuple[float, float]:
        """Return an area and its standard error, as :meth:`ScoreTable.area` does.

        Parameters
        ----------
        name : {"AUC", "PR-AUC", "AP", "AP-DG"}
            Name of the area.

        Returns
        -------
        value : float
            The area.
        standard_error : float
            Its standard error.
        """
        return self.areas[name]


@dataclass(frozen=True, eq=False)
class ScoreTable(Statistic):
    """Distinct scores, descending, with the weight of both classes at each.

    Everything that depends on thresholds, the ROC curve and the precision-recall curve is a formula
    of this table.

    Parameters
    ----------
    scores : ndarray of shape (D,)
        Distinct scores, descending.
    positive, negative : ndarray of shape (..., D)
        Weight of the positives and of the negatives at each score. Leading axes are replicates.
    positive_squares, negative_squares : ndarray of shape (..., D)
        Sums of squared weights, from which variances of weighted samples are computed; without
        weights they are the counts themselves.
    rows : int
        Number of rows.
    highest : ndarray of shape (D,), optional
        Highest score of each cell of a compressed table (:meth:`compress`), whose ``scores`` are
        the lowest ones; None if no scores are merged.
    shift : int, default=0
        Number of trailing bits that are ignored when scores are merged into cells.
    heavy : float, default=0.0
        Proportion of the weight from which a score is not merged with others.
    """

    scores: FloatArray
    positive: FloatArray
    negative: FloatArray
    positive_squares: FloatArray
    negative_squares: FloatArray
    rows: int
    highest: FloatArray | None = None
    shift: int = 0
    heavy: float = 0.0

    @classmethod
    def from_rows(
        cls,
        positive: npt.NDArray[np.bool_],
        score: npt.NDArray[np.floating],
        weight: FloatArray | None = None,
    ) -> Self:
        """Create the table of rows.

        Parameters
        ----------
        positive : ndarray of bool of shape (n,)
            Whether each row is positive.
        score : ndarray of shape (n,)
            Score of each row.
        weight : ndarray of shape (n,), optional
            Weights of the rows. By default all are 1.

        Returns
        -------
        ScoreTable
            Table of the rows.
        """
        from calipers import _core

        return cls._from_core(_core.score_table(positive, score, weight), len(positive))

    @classmethod
    def from_cumulative_counts(cls, scores: FloatArray, tp: FloatArray, fp: FloatArray) -> Self:
        """Create the table without weights that has these cumulative sums, to the last digit.

        Parameters
        ----------
        scores : ndarray of shape (D,)
            Distinct scores, descending.
        tp, fp : ndarray of shape (D + 1,)
            True and false positives at every threshold, as in :attr:`cumulative_counts`.

        Returns
        -------
        ScoreTable
            Table with these sums.
        """
        positive, negative = np.diff(tp), np.diff(fp)
        table = cls(scores, positive, negative, positive, negative, 0)
        table.__dict__["cumulative_counts"] = tp, fp
        return table

    @classmethod
    def leave_out_subset(cls, rows: SubsetScores, subset_index: int) -> Self:
        """Create the table of the rows of all subsets but one.

        Parameters
        ----------
        rows : SubsetScores
            Rows of all subsets.
        subset_index : int
            Index of the subset to leave out.

        Returns
        -------
        ScoreTable
            Table of all other rows.
        """
        from calipers import _core

        columns = _core.score_table_without(
            rows.scores,
            rows.positive,
            rows.is_last_of_score,
            rows.subset_codes,
            rows.weight,
            subset_index,
        )
        return cls._from_core(columns, len(rows.is_last_of_score) - rows.subset_sizes[subset_index])

    @classmethod
    def _from_core(cls, columns: tuple[Any, ...], rows: int) -> Self:
        """Create the table from columns of the core, which has no squares without weights."""
        scores, positive, negative, *squares = columns
        pairs = zip((positive, negative), squares, strict=True)
        positive_squares, negative_squares = (
            weights if square is None else square for weights, square in pairs
        )
        return cls(scores, positive, negative, positive_squares, negative_squares, rows)

    def __add__(self, other: Self) -> Self:
        if not isinstance(other, ScoreTable):
            return NotImplemented
        if self.shift or other.shift:
            shift, heavy = max(self.shift, other.shift), max(self.heavy, other.heavy)
            return self._merge_cells(shift, heavy, other)
        from calipers import _core

        # Without weights the counts are their own squares.
        n_columns = 4 if self.has_weights or other.has_weights else 2
        scores, positive, negative, *squares = _core.merge_score_tables(
            [self.scores, *self._columns[:n_columns]], [other.scores, *other._columns[:n_columns]]
        )
        positive_squares, negative_squares = squares or (positive, negative)
        rows = self.rows + other.rows
        return type(self)(scores, positive, negative, positive_squares, negative_squares, rows)

    def _merge_cells(self, shift: int, heavy: float, *other_tables: Self) -> Self:
        """Merge this table, and others, into cells of scores that differ in the last bits only."""
        from calipers import _core

        tables = self, *other_tables
        has_weights = any(table.has_weights for table in tables)
        n_columns = 2 + 2 * has_weights
        cells = [
            [t.scores, t.scores if t.highest is None else t.highest, *t._columns[:n_columns]]
            for t in tables
        ]
        min_weight = heavy * sum(float(t.total_positive + t.total_negative) for t in tables)
        low, high, positive, negative, *squares = _core.score_cells(cells, shift, min_weight)
        positive_squares, negative_squares = squares or (positive, negative)
        rows = sum(table.rows for table in tables)
        highest = None if np.array_equal(low, high) else high
        columns = low, positive, negative, positive_squares, negative_squares, rows
        return type(self)(*columns, highest, shift, heavy)

    def compress(self, max_cells: int) -> Self:
        """Merge neighbouring scores into at most this number of cells, to bound the memory.

        The order of the rows within a merged cell is lost; :meth:`bounds` gives the range of areas.
        The scores of a cell agree in their first bits, as many as leave few enough cells. Cells of
        more bits are contained in those of fewer, so that compressed tables can be added. A score
        that carries much of the weight is not merged.

        Parameters
        ----------
        max_cells : int
            Largest number of cells.

        Returns
        -------
        ScoreTable
            Compressed table, or this one if it is small enough.

        Raises
        ------
        ValueError
            If ``max_cells`` is not positive.

        Examples
        --------
        >>> scores = np.arange(8, 16.0)
        >>> small = ScoreTable.from_rows(scores % 3 == 0, scores).compress(6)
        >>> small.scores.tolist(), [round(x, 3) for x in small.area_bounds("AUC")]
        ([12.0, 8.0], [0.4, 0.867])
        """
        if max_cells < 1:
            raise ValueError(f"a table has at least 1 cell, not {max_cells}")
        if len(self.scores) <= max_cells:
            return self
        from calipers import _core

        # Half of them for scores that are not merged, and for the cells that these separate.
        max_merged_cells = max(max_cells // 2, 1)
        shift = max(self.shift, _core.score_shift(self.scores, max_merged_cells))
        return self._merge_cells(shift, max(self.heavy, 4 / max_cells))

    @property
    def merged_mask(self) -> npt.NDArray[np.bool_]:
        """Mask of the cells that hold several scores."""
        if self.highest is None:
            return np.zeros(len(self.scores), bool)
        return self.highest > self.scores

    def area_bounds(self, name: str) -> tuple[float, float]:
        """Compute the bounds of an area over all orders of the rows within merged cells.

        Parameters
        ----------
        name : {"AUC", "PR-AUC", "AP", "AP-DG"}
            Name of the area.

        Returns
        -------
        low : float
            Smallest value over these orders; the value itself if no scores are merged.
        high : float
            Largest value over these orders. The bounds of the AUC are sharp; the others are wider
            by at most the proportion of a cell that one row is.
        """
        if self.highest is None:
            value, _ = self.area(name)
            return value, value
        from calipers import _core

        return _core.area_bounds(name, self.positive, self.negative, self.merged_mask)

    @property
    def _columns(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        return self.positive, self.negative, self.positive_squares, self.negative_squares

    def divide_weights(self, common_weight: float) -> Self:
        """Return the table with every weight divided by ``common_weight``.

        Each row then has weight 1.

        Parameters
        ----------
        common_weight : float
            Weight that every row has.

        Returns
        -------
        ScoreTable
            Table of the same rows with weight 1.
        """
        positive, negative = (
            np.rint(self.positive / common_weight),
            np.rint(self.negative / common_weight),
        )
        return replace(
            self,
            positive=positive,
            negative=negative,
            positive_squares=positive,
            negative_squares=negative,
        )

    @cached_property
    def has_weights(self) -> bool:
        """Whether the rows have weights other than 1."""
        return any(
            squares is not weights and not np.array_equal(squares, weights)
            for weights, squares in zip(self._columns[:2], self._columns[2:], strict=True)
        )

    @cached_property
    def total_positive(self) -> FloatArray:
        """Total weight of the positives."""
        return np.asarray(self.positive.sum(axis=-1))

    @cached_property
    def total_negative(self) -> FloatArray:
        """Total weight of the negatives."""
        return np.asarray(self.negative.sum(axis=-1))

    @cached_property
    def total_positive_squares(self) -> FloatArray:
        """Sum of the squared weights of the positives."""
        squares = self.positive_squares
        return self.total_positive if squares is self.positive else np.asarray(squares.sum(axis=-1))

    @cached_property
    def total_negative_squares(self) -> FloatArray:
        """Sum of the squared weights of the negatives."""
        squares = self.negative_squares
        return self.total_negative if squares is self.negative else np.asarray(squares.sum(axis=-1))

    def score_index(self, order: ScoreOrder) -> npt.NDArray[np.intp]:
        """Find the cells of scores in the table.

        Parameters
        ----------
        order : ScoreOrder
            Scores of rows that are in the table, or in one of its cells.

        Returns
        -------
        ndarray of shape (n,)
            Index of the cell of each row.
        """
        # Sorted, because then most of the table that is read is in the cache.
        ascending_index = np.searchsorted(
            self._ascending, order.score[order.row_order], side="right"
        )
        index = np.empty(len(order.row_order), np.intp)
        index[order.row_order] = len(self.scores) - ascending_index
        return index

    @cached_property
    def _ascending(self) -> FloatArray:
        return np.ascontiguousarray(self.scores[::-1])

    @property
    def thresholds(self) -> FloatArray:
        """Thresholds: +∞ (no row is positive), then every distinct score, descending."""
        return np.concatenate([[np.inf], self.scores])

    @cached_property
    def cumulative_counts(self) -> tuple[FloatArray, FloatArray]:
        """Cumulative true and false positives at every threshold, shape ``(..., D + 1)``."""
        return _cumulative_sums(self.positive), _cumulative_sums(self.negative)

    def area(self, name: str) -> tuple[float, float]:
        """Compute an area of a single table, and its standard error.

        Parameters
        ----------
        name : {"AUC", "PR-AUC", "AP", "AP-DG"}
            Name of the area.

        Returns
        -------
        value : float
            The area.
        standard_error : float
            √Σ(wI)² over rows with influence I, with n/(n − 1) for the effective number n of rows of
            each class; for the AUC it is DeLong's. It is NaN if a class has fewer than two rows.
        """
        return self._area_terms(name)[:2]

    def acceleration(self, name: str) -> float | None:
        """Compute the acceleration of an area, ΣI³/(6·(ΣI²)^1.5), from the influence I of each row.

        Parameters
        ----------
        name : {"AUC", "PR-AUC", "AP", "AP-DG"}
            Name of the area.

        Returns
        -------
        float or None
            Acceleration; None for weighted rows, for which a table does not determine it.
        """
        if self.has_weights:
            return None
        value = self._area_terms(name)[2]
        return value if math.isfinite(value) else 0.0

    def _area_terms(self, name: str) -> tuple[float, float, float]:
        if name not in self._area_cache:
            from calipers import _core

            self._area_cache[name] = _core.area_errors([name], *self._columns)[0]
        return self._area_cache[name]

    @cached_property
    def _area_cache(self) -> dict[str, tuple[float, float, float]]:
        return {}

    def confusion(self) -> ConfusionMatrix:
        """Compute the confusion matrix at every threshold: a score at or above it is positive.

        Returns
        -------
        ConfusionMatrix
            Matrices with the thresholds as the last leading axis.
        """
        tp, fp = self.cumulative_counts
        counts = squares = to_confusion_counts(tp, fp, tp[..., -1:], fp[..., -1:])
        if self.has_weights:
            tp2, fp2 = (
                _cumulative_sums(self.positive_squares),
                _cumulative_sums(self.negative_squares),
            )
            squares = to_confusion_counts(tp2, fp2, tp2[..., -1:], fp2[..., -1:])
        return ConfusionMatrix(counts, squares, rows=self.rows)

    def corner_confusion(self) -> ConfusionMatrix:
        """Compute the confusion matrix between the positives and the negatives of each score.

        It is that of an order in which the positives of a score come first. No order of its rows
        has a better one: none has more true positives, or fewer false positives.

        Returns
        -------
        ConfusionMatrix
            Matrices with the scores as the last leading axis.
        """
        tp, fp = self.cumulative_counts
        counts = to_confusion_counts(tp[..., 1:], fp[..., :-1], tp[..., -1:], fp[..., -1:])
        return ConfusionMatrix(counts, counts, rows=self.rows)

    def confusion_at(self, threshold: float) -> ConfusionMatrix:
        """Compute the confusion matrix at one threshold: a score at or above it is positive.

        Parameters
        ----------
        threshold : float
            Threshold of the scores.

        Returns
        -------
        ConfusionMatrix
            Matrix, with leading axes.
        """
        # Scores descend.
        n_predicted = len(self.scores) - int(np.searchsorted(self.scores[::-1], threshold))

        def sum_cells(positive: FloatArray, negative: FloatArray) -> FloatArray:
            rows = [
                [w[..., n_predicted:].sum(axis=-1), w[..., :n_predicted].sum(axis=-1)]
                for w in (negative, positive)
            ]
            return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)

        counts = sum_cells(self.positive, self.negative)
        squares = (
            sum_cells(self.positive_squares, self.negative_squares) if self.has_weights else counts
        )
        return ConfusionMatrix(counts, squares, rows=self.rows)

    def with_constant_score(self) -> Self:
        """Return the table in which every row has the same score.

        Returns
        -------
        ScoreTable
            Table with a single distinct score, and the same leading axes.
        """
        positive, negative, positive_squares, negative_squares = (
            total[..., None]
            for total in (
                self.total_positive,
                self.total_negative,
                self.total_positive_squares,
                self.total_negative_squares,
            )
        )
        return type(self)(
            np.zeros(1), positive, negative, positive_squares, negative_squares, self.rows
        )

    def placements(self) -> tuple[FloatArray, FloatArray]:
        """Compute DeLong's structural components (placement values) at each score.

        Returns
        -------
        of_positive : ndarray of shape (..., D)
            Proportion of the negatives that score lower than a positive there; ties count one half.
            NaN if there are no negatives.
        of_negative : ndarray of shape (..., D)
            Proportion of the positives that score higher than a negative there; ties count one
            half. NaN if there are no positives.
        """
        positives, negatives = self.total_positive[..., None], self.total_negative[..., None]
        negative_below = negatives - np.cumsum(self.negative, axis=-1) + self.negative / 2
        positive_above = np.cumsum(self.positive, axis=-1) - self.positive / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            return negative_below / negatives, positive_above / positives


def to_confusion_counts(
    tp: FloatArray, fp: FloatArray, positive: FloatArray, negative: FloatArray
) -> FloatArray:
    """Create confusion matrices from true and false positives, given the totals of both classes."""
    # Each cell is contiguous in memory, since formulas use one at a time.
    cells = np.empty((2, 2, *tp.shape))
    cells[0] = negative - fp, fp
    cells[1] = positive - tp, tp
    return np.moveaxis(cells, (0, 1), (-2, -1))


def _cumulative_sums(weight: FloatArray) -> FloatArray:
    """Compute cumulative sums that begin at 0 and end exactly at the sum.

    Sequential addition may differ from the sum by rounding; with the sum at the end no proportion
    of it is above 1. Entries after the last weight are set to the end: a small remainder would be a
    false negative, with enormous odds.
    """
    out = np.zeros((*weight.shape[:-1], weight.shape[-1] + 1))
    np.cumsum(weight, axis=-1, out=out[..., 1:])
    total = weight.sum(axis=-1)[..., None]
    np.copyto(out, total, where=out >= np.minimum(out[..., -1:], total))
    return out


#: Number of rows that are sorted at a time.
MAX_BUFFERED_ROWS = 1 << 22


@dataclass(frozen=True, eq=False)
class ScoreBuffer(Statistic):
    """Buffer of rows from several batches that becomes a :class:`ScoreTable`.

    ``positive``, ``score`` and ``weight`` have a column of each batch.
    """

    positive: tuple[npt.NDArray[np.bool_], ...]
    score: tuple[npt.NDArray[np.floating[Any]], ...]
    weight: tuple[FloatArray, ...] | None
    rows: int

    def __add__(self, other: ScoreBuffer | ScoreTable) -> ScoreBuffer | ScoreTable:  # type: ignore[override]
        if isinstance(other, ScoreTable):
            return self.finalize() + other
        weight = None
        if self.weight is not None or other.weight is not None:
            weight = self._weights + other._weights
        columns = self.positive + other.positive, self.score + other.score
        rows = self.rows + other.rows
        buffer = ScoreBuffer(*columns, weight, rows)
        return buffer.finalize() if rows >= MAX_BUFFERED_ROWS else buffer

    @property
    def _weights(self) -> tuple[FloatArray, ...]:
        """Weights of each batch, 1 if none are given."""
        return self.weight or tuple(np.ones(len(column)) for column in self.positive)

    def __radd__(self, other: ScoreTable) -> ScoreTable:
        return other + self.finalize()

    def finalize(self) -> ScoreTable:
        """Return the score table of the rows."""
        weight = None if self.weight is None else np.concatenate(self.weight)
        positive, score = np.concatenate(self.positive), np.concatenate(self.score)
        return ScoreTable.from_rows(positive, score, weight)
