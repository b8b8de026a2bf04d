"""Ratings of items: how many raters assigned each category."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from calipers.caching import cached_property
from calipers.lazy_dataclasses import dataclass
from calipers.lazy_imports import numpy as np
from calipers.statistics.base import FloatArray, IntArray, Statistic, effective_size

if TYPE_CHECKING:
    import numpy.typing as npt
    from typing_extensions import Self


@dataclass(frozen=True, eq=False)
class Ratings(Statistic):
    """Number of raters that put each item into each category.

    Only the non-zero counts are stored, as measurements have nearly as many categories as ratings.
    Items with fewer than two ratings do not contribute to agreement; those with one rating
    contribute to the category proportions, from which some coefficients take the expected
    agreement.

    Parameters
    ----------
    categories : tuple of str
        Names of the K categories.
    values : ndarray of shape (K,)
        Numeric values of the categories.
    starts : ndarray of shape (n + 1,)
        Offsets of the entries in ``category`` and ``count``.
    category : ndarray of shape (C,)
        Category of each count, ascending within an entry.
    count : ndarray of shape (C,)
        Number of raters that put the item into the category.
    item_counts : ndarray of shape (n,)
        Number of items with equal ratings that each entry stands for.
    weight : ndarray of shape (..., n)
        Sum of the weights of these items. Leading axes are those of subsets of the items, for which
        entries without an item have weight 0.
    weight_squares : ndarray of shape (..., n)
        Sum of their squared weights.
    """

    categories: tuple[str, ...]
    values: FloatArray
    starts: IntArray
    category: IntArray
    count: IntArray
    item_counts: FloatArray
    weight: FloatArray
    weight_squares: FloatArray

    @classmethod
    def from_codes(
        cls,
        codes: IntArray,
        categories: Sequence[str],
        values: FloatArray,
        weight: FloatArray | None = None,
    ) -> Self:
        """Count the ratings of items by raters.

        Parameters
        ----------
        codes : ndarray of shape (n, raters)
            Category of each rating, as an index; −1 if there is no rating.
        categories : sequence of str
            Names of the K categories.
        values : ndarray of shape (K,)
            Numeric values of the categories.
        weight : ndarray of shape (n,), optional
            Weights of the items. By default all are 1.

        Returns
        -------
        Ratings
            Statistic of the items.
        """
        return cls.from_grouped_rows(codes, _weight_sums(len(codes), weight), categories, values)

    @classmethod
    def from_grouped_rows(
        cls,
        codes: IntArray,
        sums: tuple[FloatArray, ...],
        categories: Sequence[str],
        values: FloatArray,
    ) -> Self:
        """Count the ratings of rows that stand for several items each.

        Parameters
        ----------
        codes : ndarray of shape (n, raters)
            Category of each rating, as an index; −1 if there is no rating.
        sums : tuple of ndarray of shape (n,)
            Number of items of each row, the sum of their weights, and that of their squared
            weights.
        categories : sequence of str
            Names of the K categories.
        values : ndarray of shape (K,)
            Numeric values of the categories.

        Returns
        -------
        Ratings
            Statistic of the items.
        """
        # Sorted, so that equal ratings of an item are adjacent.
        return cls._from_sorted(np.sort(codes, axis=1), sums, categories, values)

    @classmethod
    def _from_sorted(
        cls,
        codes: IntArray,
        sums: tuple[FloatArray, ...],
        categories: Sequence[str],
        values: FloatArray,
    ) -> Self:
        item, rater = np.nonzero(codes >= 0)
        flat = item * len(categories) + codes[item, rater]
        first = np.flatnonzero(np.append(np.ones(min(1, len(flat)), bool), np.diff(flat) != 0))
        count = np.diff(np.append(first, len(flat)))
        return cls._from_cells(flat[first], count, len(codes), categories, values, sums)

    @classmethod
    def from_counts(cls, counts: IntArray, categories: Sequence[str], values: FloatArray) -> Self:
        """Create the statistic from counts of items by categories.

        Parameters
        ----------
        counts : ndarray of shape (n, K)
            Number of raters that put each item into each category.
        categories : sequence of str
            Names of the K categories.
        values : ndarray of shape (K,)
            Numeric values of the categories.

        Returns
        -------
        Ratings
            Statistic of the items.
        """
        flat, sums = np.flatnonzero(counts), (np.ones(len(counts)),) * 3
        return cls._from_cells(flat, np.ravel(counts)[flat], len(counts), categories, values, sums)

    @classmethod
    def _from_cells(
        cls,
        flat: IntArray,
        count: IntArray,
        n_items: int,
        names: Sequence[str],
        values: FloatArray,
        sums: tuple[FloatArray, ...],
    ) -> Self:
        item, category = np.divmod(flat, max(len(names), 1))
        starts = np.append(0, np.cumsum(np.bincount(item, minlength=n_items)))
        offsets, category_codes, counts = (
            np.asarray(column, np.int64) for column in (starts, category, count)
        )
        item_counts, weight, squares = sums
        return cls(
            tuple(names), values, offsets, category_codes, counts, item_counts, weight, squares
        )

    def __len__(self) -> int:
        """Return the number of entries, each of items with equal ratings."""
        return len(self.starts) - 1

    @property
    def n_items(self) -> int:
        """Number of items."""
        return round(float(self.item_counts.sum()))

    def __add__(self, other: Self) -> Self:
        """Return the items of both, which must have the same categories.

        Items with equal ratings become one entry, so that the memory is bounded by the number of
        distinct ways to rate an item.
        """
        if self.categories != other.categories:
            raise ValueError("the categories of both statistics differ")
        width = max(ratings.max_ratings for ratings in (self, other))
        codes = np.concatenate([ratings._padded_codes(width) for ratings in (self, other)])
        sums = [np.concatenate([a, b]) for a, b in zip(self._sums, other._sums, strict=True)]
        row_index, rows = _distinct_rows(codes, len(self.categories))
        summed_columns = tuple(
            np.bincount(row_index, column, len(rows)).astype(np.float64) for column in sums
        )
        return self._from_sorted(codes[rows], summed_columns, self.categories, self.values)

    @cached_property
    def grouped_items(self) -> Self:
        """The same statistic with one entry for all items of equal ratings."""
        no_codes = np.zeros((0, 0), np.int64)
        return self + self._from_sorted(no_codes, (np.zeros(0),) * 3, self.categories, self.values)

    @cached_property
    def group_index(self) -> IntArray:
        """Index in ``grouped_items`` of the entry that each entry is grouped into."""
        return _distinct_rows(self._padded_codes(self.max_ratings), len(self.categories))[0]

    def with_items(
        self, item_counts: FloatArray, weight: FloatArray, weight_squares: FloatArray
    ) -> Self:
        """Return the same ways to rate an item with other numbers of items.

        Parameters
        ----------
        item_counts : ndarray of shape (..., n)
            Number of items of each entry.
        weight : ndarray of shape (..., n)
            Sum of their weights.
        weight_squares : ndarray of shape (..., n)
            Sum of their squared weights.

        Returns
        -------
        Ratings
            Statistic of these items, with the leading axes.
        """
        return replace(self, item_counts=item_counts, weight=weight, weight_squares=weight_squares)

    def divide_weights(self, common_weight: float) -> Self:
        """Return the statistic with every weight divided by ``common_weight``.

        Each item then has weight 1.

        Parameters
        ----------
        common_weight : float
            Weight that every item has.

        Returns
        -------
        Ratings
            Statistic of the same items with weight 1.
        """
        squares = self.weight_squares / common_weight**2
        return replace(self, weight=self.weight / common_weight, weight_squares=squares)

    @property
    def max_ratings(self) -> int:
        """Largest number of ratings of an item."""
        return int(self.n_ratings.max(initial=0))

    @property
    def _sums(self) -> tuple[FloatArray, ...]:
        return self.item_counts, self.weight, self.weight_squares

    def _padded_codes(self, width: int) -> IntArray:
        """Return the sorted categories of each entry, padded with −1 on the left to this width."""
        codes = np.full((len(self), width), -1, np.int64)
        n_rated = self.n_ratings.astype(np.int64)
        codes[np.arange(width) >= width - n_rated[:, None]] = np.repeat(self.category, self.count)
        return codes

    @cached_property
    def entry_index(self) -> IntArray:
        """Index of the entry of each count."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    @cached_property
    def n_ratings(self) -> FloatArray:
        """Total number of ratings of each item."""
        return self._item_values(self.count)

    @cached_property
    def category_weights(self) -> FloatArray:
        """Weight of the ratings of each category, each with the weight of its item."""
        return self.category_sums(np.ones(len(self)))

    @cached_property
    def total(self) -> Any:
        """Total weight of the ratings."""
        return self.weight @ self.n_ratings

    @cached_property
    def total_squares(self) -> Any:
        """Sum of the squared weights of the ratings."""
        return self.weight_squares @ self.n_ratings

    @property
    def n_minority(self) -> float:
        """Kish's effective number of ratings outside the most frequent category."""
        if not len(self.category_weights):
            return 0.0
        minority_mask = self.category != self.category_weights.argmax()
        item, count = self.entry_index[minority_mask], self.count[minority_mask]
        return effective_size(
            float(count @ self.weight[item]), float(count @ self.weight_squares[item])
        )

    @property
    def item_weight(self) -> FloatArray:
        """Weight of one item of each entry, Σw²/Σw, which is exact if their weights are equal."""
        has_weight = self.weight > 0
        return np.divide(self.weight_squares, self.weight, np.zeros(len(self)), where=has_weight)

    @cached_property
    def multiply_rated_mask(self) -> npt.NDArray[np.bool_]:
        """Mask of the items with two ratings or more."""
        return np.asarray(self.n_ratings >= 2)

    @cached_property
    def rated_mask(self) -> npt.NDArray[np.bool_]:
        """Mask of the items with a rating."""
        return np.asarray(self.n_ratings >= 1)

    @cached_property
    def count_squares(self) -> FloatArray:
        """Sum of the squared counts of each item."""
        return self._item_values(np.square(self.count))

    @cached_property
    def pair_agreement(self) -> FloatArray:
        """Proportion of agreeing pairs among the ratings of each item; NaN with fewer than two."""
        m = self.n_ratings
        pairs = np.where(m > 1, m * (m - 1), np.nan)
        return np.asarray((self.count_squares - m) / pairs)

    @cached_property
    def multiply_rated_items(self) -> Self:
        """Statistic of the items with two ratings or more."""
        count_mask = self.multiply_rated_mask[self.entry_index]
        starts = np.append(0, np.cumsum(np.diff(self.starts)[self.multiply_rated_mask]))
        sums = (column[..., self.multiply_rated_mask] for column in self._sums)
        return type(self)(
            self.categories,
            self.values,
            starts,
            self.category[count_mask],
            self.count[count_mask],
            *sums,
        )

    @cached_property
    def mean_category_proportions(self) -> FloatArray:
        """Mean proportion of each category among the ratings of an item with any."""
        reciprocal_counts = 1 / np.maximum(self.n_ratings, 1)
        rated_weight = self.weight[..., self.rated_mask].sum(axis=-1, keepdims=True)
        return np.asarray(self.category_sums(reciprocal_counts) / rated_weight)

    @cached_property
    def category_midranks(self) -> FloatArray:
        """Midrank of the ratings of each category: all below it, and half of its own."""
        return np.cumsum(self.category_weights, axis=-1) - self.category_weights / 2

    def item_sums(self, category_values: FloatArray) -> FloatArray:
        """Sum a value of each category over the ratings of each item.

        Parameters
        ----------
        category_values : ndarray of shape (..., K)
            Value of each category.

        Returns
        -------
        ndarray of shape (..., n)
            Sum over the ratings of each item.
        """
        return self._item_values(self.count * category_values[..., self.category])

    def category_sums(self, item_values: FloatArray) -> FloatArray:
        """Sum a value of each item over the ratings of each category, weighted by the item.

        Parameters
        ----------
        item_values : ndarray of shape (n,)
            Value of each item.

        Returns
        -------
        ndarray of shape (..., K)
            Sum over the ratings of each category, in which an item has its weight.
        """
        weights = self.count * (item_values * self.weight)[..., self.entry_index]
        return _sums_by_code(self.category, weights, len(self.categories))

    def _item_values(self, count_values: FloatArray | IntArray) -> FloatArray:
        return _sums_by_code(self.entry_index, count_values, len(self))


@dataclass(frozen=True, eq=False)
class RaterMoments(Statistic):
    """Moments of the numbers that the same raters gave to items.

    Only items that all raters rated count. A rating is the sum of the mean of all, a deviation of
    the rater, one of the item, and a residual; the statistic has the sums of squares of the latter
    two. Leading axes are replicates.

    Parameters
    ----------
    rows : int
        Number of items.
    weight, squares : ndarray of shape (...)
        Sums of the weights and of the squared weights of the items.
    mean : ndarray of shape (...)
        Mean rating.
    deviations : ndarray of shape (..., raters)
        Mean rating of each rater, less that of all.
    of_items : ndarray of shape (...)
        Sum of squares of the mean ratings of the items, about their mean.
    of_residual : ndarray of shape (...)
        Sum of squares of the residuals.

    Examples
    --------
    >>> ratings = RaterMoments.from_rows(np.array([[1.0, 2.0], [4.0, 7.0], [2.0, np.nan]]))
    >>> ratings.rows, float(ratings.mean), ratings.deviations.tolist(), float(ratings.of_residual)
    (2, 3.5, [-1.0, 1.0], 1.0)
    """

    rows: int
    weight: FloatArray
    squares: FloatArray
    mean: FloatArray
    deviations: FloatArray
    of_items: FloatArray
    of_residual: FloatArray

    @classmethod
    def from_rows(
        cls,
        ratings: FloatArray,
        sums: tuple[FloatArray, ...] | None = None,
        complete_mask: npt.NDArray[np.bool_] | None = None,
    ) -> Self:
        """Compute the moments of items.

        Parameters
        ----------
        ratings : ndarray of shape (n, raters)
            Number that each rater gave to each item; NaN if there is none.
        sums : tuple of ndarray of shape (n,), optional
            Number of items of each row, the sum of their weights, and that of their squared
            weights. By default each is one item of weight 1.
        complete_mask : ndarray of bool of shape (n,), optional
            Items that all raters rated; by default those whose ratings are numbers.

        Returns
        -------
        RaterMoments
            Statistic of the items.
        """
        item_counts, weight, squares = _weight_sums(len(ratings), None) if sums is None else sums
        is_number = np.asarray(~np.isnan(ratings).any(axis=1))
        counted_mask = (is_number if complete_mask is None else complete_mask) & (weight > 0)
        ratings, weight = ratings[counted_mask], weight[counted_mask]
        total = weight.sum()
        item_means = ratings.mean(axis=1)
        residuals = ratings - item_means[:, None]
        proportions = weight / max(total, 1e-300)
        mean, deviations = proportions @ item_means, proportions @ residuals
        return cls(
            rows=round(float(item_counts[counted_mask].sum())),
            weight=np.asarray(total),
            squares=np.asarray(squares[counted_mask].sum()),
            mean=np.asarray(mean),
            deviations=deviations,
            of_items=np.asarray(weight @ np.square(item_means - mean)),
            of_residual=np.asarray(weight @ np.square(residuals - deviations).sum(axis=1)),
        )

    def mean_columns(self, ratings: FloatArray) -> FloatArray:
        """Return the columns of items whose means :meth:`from_means` takes.

        Parameters
        ----------
        ratings : ndarray of shape (n, raters)
            Number that each rater gave to each item.

        Returns
        -------
        ndarray of shape (n, raters + 3)
            Mean rating and deviations of the raters about those of this statistic, the square of
            the former, and the sum of squares of the latter.
        """
        item_means = ratings.mean(axis=1)
        residuals = ratings - item_means[:, None] - self.deviations
        centered = item_means - self.mean
        squares = np.square(centered), np.square(residuals).sum(axis=1)
        return np.column_stack([centered, residuals, *squares])

    def from_means(
        self,
        means: FloatArray,
        weight: FloatArray | None = None,
        squares: FloatArray | None = None,
    ) -> Self:
        """Create moments from means of columns, as those of bootstrap replicates.

        Parameters
        ----------
        means : ndarray of shape (..., raters + 3)
            Means of the columns of :meth:`mean_columns`.
        weight, squares : ndarray of shape (...), optional
            Sums of the weights and of the squared weights; by default those of this statistic.

        Returns
        -------
        RaterMoments
            Moments with the leading axes of ``means``.
        """
        centered, residuals = means[..., 0], means[..., 1:-2]
        axes = means.shape[:-1]
        weight = np.broadcast_to(self.weight if weight is None else weight, axes)
        squares = np.broadcast_to(self.squares if squares is None else squares, axes)
        of_items = np.maximum(means[..., -2] - np.square(centered), 0.0)
        of_residual = np.maximum(means[..., -1] - np.square(residuals).sum(axis=-1), 0.0)
        return replace(
            self,
            weight=weight,
            squares=squares,
            mean=self.mean + centered,
            deviations=self.deviations + residuals,
            of_items=weight * of_items,
            of_residual=weight * of_residual,
        )

    def leave_out_each(self, ratings: FloatArray, weight: FloatArray) -> Self:
        """Return the moments without each of some items, along a leading axis.

        Parameters
        ----------
        ratings : ndarray of shape (n, raters)
            Number that each rater gave to each item.
        weight : ndarray of shape (n,)
            Weight of each item.

        Returns
        -------
        RaterMoments
            Moments of all other items.
        """
        columns = self.mean_columns(ratings)
        sums = np.zeros(columns.shape[1])
        sums[-2:] = self.of_items, self.of_residual
        remaining = self.weight - weight
        with np.errstate(divide="ignore", invalid="ignore"):
            means = (sums - weight[:, None] * columns) / remaining[:, None]
        return self.from_means(means, remaining, self.squares - np.square(weight))

    def __add__(self, other: Self) -> Self:
        """Return the moments of the items of both."""
        weight = self.weight + other.weight
        proportion = other.weight / np.maximum(weight, 1e-300)
        between = self.weight * proportion
        item_shift, rater_shift = other.mean - self.mean, other.deviations - self.deviations
        return replace(
            self,
            rows=self.rows + other.rows,
            weight=np.asarray(weight),
            squares=np.asarray(self.squares + other.squares),
            mean=np.asarray(self.mean + proportion * item_shift),
            deviations=np.asarray(self.deviations + proportion[..., None] * rater_shift),
            of_items=np.asarray(self.of_items + other.of_items + between * np.square(item_shift)),
            of_residual=np.asarray(
                self.of_residual + other.of_residual + between * np.square(rater_shift).sum(axis=-1)
            ),
        )

    def divide_weights(self, common_weight: float) -> Self:
        """Return the moments with every weight divided by ``common_weight``.

        Each item then has weight 1.

        Parameters
        ----------
        common_weight : float
            Weight that every item has.

        Returns
        -------
        RaterMoments
            Moments of the same items with weight 1.
        """
        n = np.asarray(float(self.rows))
        of_items, of_residual = self.of_items / common_weight, self.of_residual / common_weight
        return replace(self, weight=n, squares=n, of_items=of_items, of_residual=of_residual)

    @property
    def n_raters(self) -> int:
        """Number of raters."""
        return int(self.deviations.shape[-1])

    @property
    def effective_items(self) -> FloatArray:
        """Kish's effective number of items, (Σw)²/Σw²."""
        return np.square(self.weight) / np.maximum(self.squares, 1e-300)

    @property
    def _degrees(self) -> FloatArray:
        """Σw − Σw²/Σw, which is n − 1 for unit weights."""
        return np.asarray(self.weight - self.weight / self.effective_items)

    @property
    def item_mean_square(self) -> FloatArray:
        """Mean square of the items."""
        return np.asarray(self.n_raters * self.of_items / self._degrees)

    @property
    def residual_mean_square(self) -> FloatArray:
        """Mean square of the residuals of items and raters."""
        return np.asarray(self.of_residual / self._degrees / (self.n_raters - 1))

    @property
    def rater_variance(self) -> FloatArray:
        """Variance of the mean ratings of the raters: their mean square over n items."""
        return np.asarray(np.square(self.deviations).sum(axis=-1) / (self.n_raters - 1))


def _sums_by_code(codes: IntArray, values: FloatArray | IntArray, n_codes: int) -> FloatArray:
    """Return the sums of values (..., C) over equal codes (C,)."""
    axes = values.shape[:-1]
    offsets = np.arange(int(np.prod(axes)))[:, None] * n_codes
    sums = np.bincount((codes + offsets).ravel(), values.ravel(), len(offsets) * n_codes)
    return sums.reshape(*axes, n_codes).astype(np.float64)


def _weight_sums(rows: int, weight: FloatArray | None) -> tuple[FloatArray, ...]:
    """Return the number of items of each row, their weight, and its square."""
    ones = np.ones(rows)
    weights = ones if weight is None else weight
    return ones, weights, np.square(weights)


#: Number of distinct rows above which the ratings of each rater are not stored.
MAX_DISTINCT_ITEMS = 50_000


@dataclass(frozen=True, eq=False)
class RatingRows(Statistic):
    """Ratings of each rater; items with the same rating from every rater are merged into a row.

    If items come in clusters, those of a row have the same cluster. They have the same weight while
    there are at most :data:`MAX_DISTINCT_ITEMS` rows.

    Parameters
    ----------
    categories : int
        Number of categories.
    codes : ndarray of shape (n, raters)
        Category that each rater assigned, as an index; −1 if there is no rating.
    item_counts : ndarray of shape (n,)
        Number of items of each row.
    weight : ndarray of shape (n,)
        Sum of the weights of these items.
    weight_squares : ndarray of shape (n,)
        Sum of their squared weights.
    has_too_many_rows : bool, default=False
        Whether there were more distinct rows than :data:`MAX_DISTINCT_ITEMS`, so that none is
        stored.
    cluster : ndarray of shape (n,), optional
        Cluster of each row, as an index.

    Examples
    --------
    >>> ratings = RatingRows.from_rows(np.array([[0, 1], [0, 1], [1, -1]]), 2)
    >>> (ratings + ratings).codes.tolist(), (ratings + ratings).item_counts.tolist()
    ([[0, 1], [1, -1]], [4.0, 2.0])
    """

    categories: int
    codes: IntArray
    item_counts: FloatArray
    weight: FloatArray
    weight_squares: FloatArray
    has_too_many_rows: bool = False
    cluster: IntArray | None = None

    @classmethod
    def from_rows(
        cls,
        codes: IntArray,
        n_categories: int,
        weight: FloatArray | None = None,
        cluster: IntArray | None = None,
    ) -> Self:
        """Create the statistic from ratings of items by raters.

        Parameters
        ----------
        codes : ndarray of shape (n, raters)
            Category of each rating, as an index; −1 if there is no rating.
        n_categories : int
            Number of categories.
        weight : ndarray of shape (n,), optional
            Weights of the items. By default all are 1.
        cluster : ndarray of shape (n,), optional
            Cluster of each item, as an index.

        Returns
        -------
        RatingRows
            Statistic of the items.
        """
        return cls._from_grouped_rows(
            codes, _weight_sums(len(codes), weight), n_categories, cluster
        )

    @classmethod
    def _from_grouped_rows(
        cls,
        codes: IntArray,
        sums: Sequence[FloatArray],
        categories: int,
        cluster: IntArray | None,
    ) -> Self:
        row_index, rows = _distinct_rows(codes, categories)
        if cluster is not None:
            row_index, rows = _split_rows(row_index, cluster)
        # (Single precision, as the means of equal weights may differ by rounding.)
        mean_weights = np.divide(sums[2], sums[1], np.zeros(len(codes)), where=sums[1] > 0)
        weight_index = np.unique(mean_weights.astype(np.float32), return_inverse=True)[1]
        if weight_index.any():
            by_weight = _split_rows(row_index, weight_index.reshape(-1))
            if len(by_weight[1]) <= MAX_DISTINCT_ITEMS:
                row_index, rows = by_weight
        if len(rows) > MAX_DISTINCT_ITEMS:
            empty = np.zeros(0)
            return cls(categories, codes[:0], empty, empty, empty, has_too_many_rows=True)
        item_counts, weight, squares = (
            np.bincount(row_index, column, len(rows)).astype(np.float64) for column in sums
        )
        row_cluster = None if cluster is None else np.asarray(cluster[rows], np.int64)
        return cls(
            categories,
            np.asarray(codes[rows], np.int64),
            item_counts,
            weight,
            squares,
            cluster=row_cluster,
        )

    def __add__(self, other: Self) -> Self:
        """Return the items of both."""
        if self.has_too_many_rows or other.has_too_many_rows:
            return self if self.has_too_many_rows else other
        codes = np.concatenate([self.codes, other.codes])
        names = ("item_counts", "weight", "weight_squares")
        sums = [np.concatenate([getattr(self, name), getattr(other, name)]) for name in names]
        has_clusters = self.cluster is not None and other.cluster is not None
        cluster = np.append(self.cluster, other.cluster) if has_clusters else None  # type: ignore[arg-type]
        return self._from_grouped_rows(codes, sums, self.categories, cluster)

    def divide_weights(self, common_weight: float) -> Self:
        """Return the statistic with every weight divided by ``common_weight``.

        Each item then has weight 1.

        Parameters
        ----------
        common_weight : float
            Weight that every item has.

        Returns
        -------
        RatingRows
            Statistic of the same items with weight 1.
        """
        squares = self.weight_squares / common_weight**2
        return replace(self, weight=self.weight / common_weight, weight_squares=squares)


def _distinct_rows(codes: IntArray, n_categories: int) -> tuple[IntArray, IntArray]:
    """Return the index of each row among the distinct rows, and where these first occur."""
    if (n_categories + 1.0) ** codes.shape[1] < 2**62:  # as one number, which is sorted faster
        powers = (n_categories + 1) ** np.arange(codes.shape[1])[::-1]
        keys: dict[str, Any] = {"ar": (codes + 1) @ powers}
    else:
        keys = {"ar": codes, "axis": 0}
    _, first, row_index = np.unique(**keys, return_index=True, return_inverse=True)
    return row_index.reshape(-1), first


def _split_rows(row_index: IntArray, second: IntArray) -> tuple[IntArray, IntArray]:
    """Return the index of each row among the distinct pairs, and where these first occur."""
    keys = row_index.astype(np.int64) * (int(second.max(initial=0)) + 1) + second
    _, first, pair_index = np.unique(keys, return_index=True, return_inverse=True)
    return pair_index.reshape(-1), first
