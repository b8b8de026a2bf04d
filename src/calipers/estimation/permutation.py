"""Permutation tests of a subset of the rows against all others.

Under the null hypothesis, the rows of a subset are a random sample of all rows. Subsets of the same
size are therefore drawn from all rows, and the observed difference is compared with the
differences of these. The test is exact for subsets of any size and measures of any kind; standard
errors and bootstraps are unreliable for a few rows, and undefined for rows that are all equal.

A mean per row is divided by its standard error first (Janssen 1997), so that the variance may
differ between the subset and its complement. The variance of few rows is itself uncertain: that of
either part is averaged with the variance of all rows as if they were :data:`PRIOR_ROWS` more rows;
otherwise three rows with equal values by coincidence would seem certain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from calipers.caching import cached_property
from calipers.estimation.counts import ClassCounts
from calipers.estimation.losses import RowLosses
from calipers.estimation.multilabel import MultilabelSample, RowValues
from calipers.estimation.rater_agreement import RatingNumbers, RatingSample
from calipers.estimation.regression import MomentRows, SortedRows
from calipers.estimation.scores import ScoredRows
from calipers.inference import intervals
from calipers.inference.intervals import Interval
from calipers.inference.paired_tests import TestResult
from calipers.lazy_dataclasses import dataclass
from calipers.statistics import FloatArray, Moments, NumericMoments, ScoreTable
from calipers.statistics.base import sample_quantiles

if TYPE_CHECKING:
    from calipers.inference.settings import Settings

#: Number of rows of prior weight, with the variance of all rows, in a variance.
PRIOR_ROWS = 2.0

#: Number of values in memory at a time.
_MAX_BATCH_ELEMENTS = 4_000_000

RowSubsets = npt.NDArray[np.intp]


def draw_subsets(n_rows: int, size: int, settings: Settings) -> RowSubsets:
    """Draw random subsets of all rows, one for each replicate, (B, size).

    Random permutations are cut into subsets.
    """
    generator = np.random.Generator(np.random.Philox(settings.seed))
    n_per_permutation = n_rows // size
    orders = (
        generator.permutation(n_rows) for _ in range(-(-settings.n_resamples // n_per_permutation))
    )
    subsets = np.concatenate(
        [order[: n_per_permutation * size].reshape(n_per_permutation, size) for order in orders]
    )
    return subsets[: settings.n_resamples]


@dataclass(frozen=True, eq=False)
class PermutationResult:
    """Difference of a subset from its complement, and its distribution under permutation.

    ``observed`` is the observed difference, ``replicates`` those of random subsets;
    ``standard_error`` and ``replicate_errors`` are the standard errors by which they are divided
    for comparison.
    """

    observed: float
    replicates: FloatArray
    standard_error: float = 1.0
    replicate_errors: FloatArray | float = 1.0
    unit: str = "rows"

    @property
    def negated(self) -> PermutationResult:
        """Result of the opposite difference, complement minus subset."""
        return replace(self, observed=-self.observed, replicates=-self.replicates)

    def compare(self, level: float) -> tuple[Interval, TestResult]:
        """Return the interval, and the two-sided test.

        The interval has the width of the null distribution: its quantiles are subtracted from the
        observed difference.
        """
        name = f"{self.unit} permuted"
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.asarray(self.replicates / self.replicate_errors)
        t = t[np.isfinite(t)]
        if len(t) < 2 or not np.ptp(t) > 0 or not self.standard_error > 0:
            p = 1.0 if self.observed == 0 else np.nan
            return intervals.no_interval(name, "no_spread"), TestResult(p, name)
        observed_t = self.observed / self.standard_error
        tolerance = 1e-9 * np.abs(t).max()
        below, above = (1 + np.count_nonzero(s * (t - observed_t) <= tolerance) for s in (1, -1))
        low, high = sample_quantiles(t, [(1 - level) / 2, (1 + level) / 2])
        interval = Interval(
            self.observed - float(high) * self.standard_error,
            self.observed - float(low) * self.standard_error,
            name,
        )
        return interval, TestResult(min(1.0, 2 * min(below, above) / (len(t) + 1)), name)


class PermutationPool(Protocol):
    """All rows, sorted so that the result does not depend on their order, to draw subsets from."""

    def permute(
        self, measure: Any, subset: SubsetRows, random_subsets: RowSubsets
    ) -> PermutationResult | None:
        """Return the permutation result of a subset.

        It is None if values are not finite, or if the subset has no complement.

        It has the difference of the subset from its complement, and those of the subsets in
        ``random_subsets``.
        """


@dataclass(frozen=True)
class SubsetRows:
    """Rows of a subset, as indices, and the value of the measure on them."""

    rows: npt.NDArray[np.intp]
    value: float


@dataclass(frozen=True)
class SmallerSubset:
    """The smaller of a subset and its complement, which is the cheaper one to draw at random.

    ``rows`` are its indices; ``is_complement`` tells which of the two it is.
    """

    rows: npt.NDArray[np.intp]
    is_complement: bool

    @classmethod
    def from_indices(
        cls, rows: npt.NDArray[np.intp], n_rows: int, max_size: int
    ) -> SmallerSubset | None:
        """Select it for a subset of ``n_rows`` rows.

        It is None if it has more rows than ``max_size``, or none.
        """
        is_complement = 2 * len(rows) > n_rows
        size = n_rows - len(rows) if is_complement else len(rows)
        if not 0 < size <= max_size:
            return None
        if is_complement:
            rows = np.delete(np.arange(n_rows), rows)
        return cls(rows, is_complement)

    def permute(
        self,
        pool: PermutationPool,
        measure: Any,
        values: tuple[float, float],
        random_subsets: RowSubsets,
    ) -> PermutationResult | None:
        """Return the permutation result of the subset minus its complement.

        ``values`` are those of the measure on both.
        """
        subset = SubsetRows(self.rows, values[self.is_complement])
        result = pool.permute(measure, subset, random_subsets)
        return result.negated if result is not None and self.is_complement else result


def permutation_pool(sample: Any) -> PermutationPool | None:
    """Return the permutation pool of a sample, or None if its measures need several statistics."""
    match sample:
        case RowLosses() | RowValues():
            return _LossPool.from_sample(sample)
        case ClassCounts():
            row = sample.cells.row_cell_index().astype(np.intp)
            return _StatisticPool(sample, _sort_order(row, sample.cells.weight), _count_subsets)
        case ScoredRows():
            score_index = sample.order.score_index
            return _StatisticPool(
                sample, _sort_order(score_index, sample.positive, sample.weight), _subset_tables
            )
        case MultilabelSample():
            sets = np.hstack([sample.truth, sample.predicted])
            return _StatisticPool(
                sample, _sort_order(*sets.T, sample.weight), _subset_label_matrices
            )
        case RatingSample() if (sample.statistic.item_counts == 1).all():
            order = _sort_order(sample.statistic.group_index, sample.weight)
            return _StatisticPool(sample, order, _subset_ratings)
        case RatingNumbers() if sample.item_counts is None:
            order = _sort_order(*sample.ratings.T, sample.weight)
            return _StatisticPool(sample, order, _subset_rater_moments)
        case MomentRows() | SortedRows():
            columns = np.column_stack([sample.truth, sample.predicted])
            rows = _sort_order(*columns.T, sample.weight)
            return _StatisticPool(
                sample,
                rows,
                _subset_moments if isinstance(sample, MomentRows) else _subset_numeric_rows,
            )
    return None


def _sort_order(*columns: Any) -> RowSubsets:
    """Return the indices that sort the rows by these columns."""
    return np.lexsort([column for column in columns if column is not None][::-1])


@dataclass(frozen=True, eq=False)
class _StatisticPool:
    """Permutation pool of rows whose subsets are summarised by statistics."""

    sample: Any
    order: RowSubsets
    compute_statistics: Callable[[Any, RowSubsets], Iterator[Any]]
    _cache: list[Any] = field(default_factory=list, repr=False)

    def permute(
        self, measure: Any, subset: SubsetRows, random_subsets: RowSubsets
    ) -> PermutationResult | None:
        """Return the permutation result of a subset, or None if it has no complement.

        Its difference from the complement is proportional to that from all rows.
        """
        if len(subset.rows) == len(self.order):
            return None
        if (
            not self._cache or self._cache[0] is not random_subsets
        ):  # once for all measures of a part
            self._cache[:] = [
                random_subsets,
                list(self.compute_statistics(self.sample, self.order[random_subsets])),
            ]
        total_value = float(measure.apply(self.sample.statistic))
        values = np.concatenate([measure.apply(statistic) for statistic in self._cache[1]])
        complement_fraction = 1 - len(subset.rows) / len(self.order)
        return PermutationResult(
            (subset.value - total_value) / complement_fraction,
            (values - total_value) / complement_fraction,
        )


# --- Counts and scores ----------------------------------------------------------------------------


def _chunks(subsets: RowSubsets, n_values: int) -> Iterator[RowSubsets]:
    step = max(1, _MAX_BATCH_ELEMENTS // max(n_values, 1))
    return (subsets[begin : begin + step] for begin in range(0, len(subsets), step))


def _sums_by_code(codes: RowSubsets, weight: FloatArray | None, n_codes: int) -> FloatArray:
    """Return sums of the weights ``weight`` by the codes in each row of ``codes`` (b, n)."""
    flat = codes + np.arange(len(codes))[:, None] * n_codes
    flat_weights = None if weight is None else weight.ravel()
    sums = np.bincount(flat.ravel(), flat_weights, len(codes) * n_codes)
    return sums.reshape(len(codes), n_codes).astype(np.float64)


def _count_subsets(sample: ClassCounts, subsets: RowSubsets) -> Iterator[Any]:
    cells, row = sample.cells, sample.cells.row_cell_index().astype(np.intp)
    for chunk in _chunks(
        subsets, max(subsets.shape[1], len(cells.cell_index), sample.matrix.n_classes**2)
    ):
        weight = None if cells.weight is None else cells.weight[chunk]
        yield cells.matrix(
            _sums_by_code(row[chunk], weight, len(cells.cell_index)), sample.matrix.labels
        )


def _subset_tables(sample: ScoredRows, subsets: RowSubsets) -> Iterator[ScoreTable]:
    scores, size = sample.table.scores, subsets.shape[1]
    for chunk in _chunks(subsets, 4 * size):
        # A row of weight 0 has a level of its own, without weight.
        sorted_index = np.sort(sample.order.score_index[chunk].astype(np.intp), axis=1)
        order = np.argsort(sample.order.score_index[chunk], axis=1, kind="stable")
        rows = np.take_along_axis(chunk, order, axis=1)
        level: RowSubsets = np.cumsum(
            np.diff(sorted_index, axis=1, prepend=sorted_index[:, :1]) > 0, axis=1, dtype=np.intp
        )
        weight = np.ones(rows.shape) if sample.weight is None else sample.weight[rows]
        positive_weight = np.where(sample.positive[rows], weight, 0.0)
        positive, total = (_sums_by_code(level, w, size) for w in (positive_weight, weight))
        distinct = np.full(chunk.shape, scores[-1] if len(scores) else 0.0)
        np.put_along_axis(distinct, level, sample.score[rows], axis=1)
        negative = np.maximum(total - positive, 0.0)
        squares = positive, negative
        if sample.weight is not None:
            class_squares = np.square(positive_weight), np.square(weight - positive_weight)
            squares = (
                _sums_by_code(level, class_squares[0], size),
                _sums_by_code(level, class_squares[1], size),
            )
        yield ScoreTable(distinct, positive, negative, *squares, size)


def _subset_label_matrices(sample: MultilabelSample, subsets: RowSubsets) -> Iterator[Any]:
    columns = np.hstack([sample.truth & sample.predicted, sample.truth, sample.predicted])
    weight = np.ones(len(columns)) if sample.weight is None else sample.weight
    weighted = np.column_stack([columns * weight[:, None], weight])
    for chunk in _chunks(subsets, len(weighted)):
        row_counts = _sums_by_code(
            chunk, None, len(weighted)
        )  # how often each row is in a lot: once or never
        sums = row_counts @ weighted
        (hit, y, z), total = np.split(sums[:, :-1], 3, axis=1), sums[:, -1:]
        counts = np.stack([total - y - z + hit, z - hit, y - hit, hit], axis=-1)
        counts = np.where(counts < 1e-12 * total[..., None], 0.0, counts)
        counts = counts.reshape(*hit.shape, 2, 2)
        yield replace(sample.statistic, counts=counts, squares=counts, rows=subsets.shape[1])


def _subset_ratings(sample: RatingSample, subsets: RowSubsets) -> Iterator[Any]:
    # By the ways to rate an item, of which there are far fewer than items.
    ratings, grouped = sample.statistic, sample.statistic.grouped_items
    item_group, n_groups = ratings.group_index, len(grouped)
    n_values = max(subsets.shape[1], n_groups, len(grouped.count), len(grouped.categories))
    for chunk in _chunks(subsets, n_values):
        item_counts = _sums_by_code(item_group[chunk], None, n_groups)
        weight = squares = item_counts
        if sample.weight is not None:
            weight, squares = (
                _sums_by_code(item_group[chunk], column[chunk], n_groups)
                for column in (ratings.weight, ratings.weight_squares)
            )
        yield grouped.with_items(item_counts, weight, squares)


def _subset_rater_moments(sample: RatingNumbers, subsets: RowSubsets) -> Iterator[Any]:
    columns = sample.moment_columns()
    if sample.weight is not None:
        columns = columns * sample.weight[:, None]
    for chunk in _chunks(subsets, subsets.shape[1] * columns.shape[1]):
        yield sample.moments(columns[chunk].sum(axis=1))


def _subset_moments(sample: MomentRows, subsets: RowSubsets) -> Iterator[Any]:
    moments = sample.statistic
    row_columns = moments.mean_columns(sample.truth, sample.predicted)
    shape, row_columns = row_columns.shape, row_columns.reshape(len(row_columns), -1)
    weight = np.ones(len(row_columns)) if sample.weight is None else sample.weight
    for chunk in _chunks(subsets, subsets.shape[1] * row_columns.shape[1]):
        total = weight[chunk].sum(axis=1)[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):  # a lot may be without weight
            means = np.einsum("bi,bik->bk", weight[chunk], row_columns[chunk]) / total
        yield NumericMoments.from_means(means.reshape(-1, *shape[1:]), moments)


def _subset_numeric_rows(sample: SortedRows, subsets: RowSubsets) -> Iterator[Any]:
    used = slice(None) if sample.weight is None else sample.weight > 0
    for chunk in _chunks(subsets, len(sample.truth)):
        row_weights = _sums_by_code(chunk, None, len(sample.truth))
        row_weights = row_weights if sample.weight is None else row_weights * sample.weight
        yield sample.statistic.with_weights(row_weights[:, used])


# --- Means of a value per row ---------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _LossPool:
    """Permutation pool of rows with a value each: deviations from the mean, and weights."""

    total_moments: Moments
    deviations: FloatArray
    weight: FloatArray
    order: RowSubsets

    @classmethod
    def from_sample(cls, sample: RowLosses | RowValues) -> _LossPool | None:
        """Create the pool of a sample, or None if values are infinite.

        A row without a value has weight 0.
        """
        defined_mask = ~np.isnan(sample.values)
        weight = (
            defined_mask.astype(np.float64)
            if sample.weight is None
            else sample.weight * defined_mask
        )
        if np.isinf(sample.values).any() or np.count_nonzero(weight) < 2:
            return None
        total_moments = Moments.from_rows(sample.values[defined_mask], weight[defined_mask])
        deviations = np.where(defined_mask, sample.values - total_moments.mean, 0.0)
        # Of values that are apart by rounding alone, the mean would leave some equal.
        return cls(
            total_moments,
            deviations,
            weight,
            _sort_order(np.where(defined_mask, sample.values, 0.0), weight),
        )

    @cached_property
    def sums(self) -> FloatArray:
        """Σw, Σw², Σwx and Σwx² over all rows, as from :meth:`_sums`."""
        return self._sums(np.arange(len(self.deviations))[None])

    def _sums(self, subsets: RowSubsets) -> FloatArray:
        """Return Σw, Σw², Σwx and Σwx²."""
        w, x = self.weight[subsets], self.deviations[subsets]
        return np.stack([column.sum(axis=1) for column in (w, w * w, w * x, w * x * x)])

    def permute(
        self, measure: Any, subset: SubsetRows, random_subsets: RowSubsets
    ) -> PermutationResult | None:
        """Return the permutation result of a subset, studentized, or None for a total."""
        if measure.definition.interval == "total":  # which is not of the same size in both
            return None
        chunks = [
            self._sums(self.order[chunk])
            for chunk in _chunks(random_subsets, 4 * random_subsets.shape[1])
        ]
        with np.errstate(divide="ignore", invalid="ignore"):
            observed = self._subset_difference(measure, self._sums(subset.rows[None]))
            replicates, errors = self._subset_difference(measure, np.concatenate(chunks, axis=1))
        return PermutationResult(float(observed[0][0]), replicates, float(observed[1][0]), errors)

    def _subset_difference(self, measure: Any, sums: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the difference of subset and complement, and its standard error."""
        (a, variance_a), (b, variance_b) = (
            self._subset_value(measure, *side_sums) for side_sums in (sums, self.sums - sums)
        )
        return a - b, np.sqrt(variance_a + variance_b)

    def _subset_value(
        self, measure: Any, w: FloatArray, squares: FloatArray, wx: FloatArray, wxx: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the measure of some rows, and the square of its standard error."""
        mean, n = wx / w, w**2 / squares
        total_variance = self.total_moments.m2 / self.total_moments.weight
        row_variance = np.maximum(wxx / w - mean**2, 0.0)
        variance = (n * row_variance + PRIOR_ROWS * total_variance) / (n - 1 + PRIOR_ROWS) / n
        shrunken_mean = self.total_moments.mean + mean * n / (n + PRIOR_ROWS)
        derivative: Any = 1.0
        match measure.definition.interval:
            case "root_mean":
                derivative = 0.5 / self._value_at_mean(measure, shrunken_mean)
            case "exponential":
                derivative = self._value_at_mean(measure, shrunken_mean)
        return self._value_at_mean(
            measure, self.total_moments.mean + mean
        ), variance * derivative**2

    def _value_at_mean(self, measure: Any, means: FloatArray) -> FloatArray:
        """Evaluate the measure at other means; rounding may leave a mean of squares below 0."""
        means = np.maximum(means, 0.0) if measure.definition.interval == "root_mean" else means
        return np.asarray(measure.plain.apply(replace(self.total_moments, mean=means)))  # type: ignore[arg-type]
