"""Inter-rater agreement: point estimates from the ratings of items by category."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.caching import cached, cached_property
from calipers.estimation.losses import excess_kurtosis_z
from calipers.estimation.undefined import undefined_reasons
from calipers.inference import bayesian_bootstrap
from calipers.inference.intervals import (
    ROUNDING_TOLERANCE,
    Interval,
    no_interval,
    normal_limit_interval,
    scaled_skewness,
)
from calipers.inference.method_limits import MAX_KURTOSIS_Z, MIN_MINORITY_RATINGS
from calipers.inference.point_estimate import (
    JointDistribution,
    PointEstimate,
    UnitGroups,
    UnitSummary,
    UnitValues,
    lazy_difference,
)
from calipers.inference.resampling import bootstrap_means
from calipers.inference.transformations import TRANSFORMATIONS
from calipers.inference.variance_estimators import (
    Influence,
    JackknifeVariance,
    VarianceEstimator,
)
from calipers.lazy_dataclasses import dataclass
from calipers.measures.rater_agreement import (
    counted_item_mask,
    item_influence,
    lowest_value,
    weight_of_items,
)
from calipers.statistics import (
    FloatArray,
    Histogram,
    Moments,
    RaterMoments,
    Ratings,
    Signs,
    UnitDifferences,
    count_signs,
    subtract_values,
)
from calipers.statistics.base import effective_size, effective_size_from_weights

if TYPE_CHECKING:
    import numpy.typing as npt

    from calipers.inference.clusters import ClusterIndex
    from calipers.inference.settings import Settings

#: Maximum number of items that are evaluated one by one. Of more items, those with equal ratings
#: are grouped, which gives the same numbers in less time.
MAX_UNGROUPED_ITEMS = 10_000


@dataclass(frozen=True, eq=False)
class RatingSample:
    """Items that several raters put into categories, with their weights and clusters."""

    statistic: Ratings
    settings: Settings
    weight: FloatArray | None = None
    clusters: ClusterIndex | None = None

    def batch_statistic(self, measure: Any) -> Ratings:
        """Return the statistic that is merged over batches.

        Items with equal ratings are one entry.
        """
        return self.statistic.grouped_items

    def row_values(self, measure: Any) -> None:
        """Return None, as no item has a value of its own."""

    def influence(self, measure: Any, total: Ratings | None = None) -> Influence | None:
        """Return the influence values of the items; that of items that do not count is 0."""
        ratings = self.statistic
        all_ratings = ratings if total is None else total
        influence_values = item_influence(measure, ratings, all_ratings)
        if influence_values is None:
            return None
        counted_mask = counted_item_mask(measure, ratings)
        column = np.zeros(len(ratings))
        total_weight = max(
            float(all_ratings.weight[counted_item_mask(measure, all_ratings)].sum()), 1e-300
        )
        # Of a group of items, the root of the sum of squares; of one cluster they are added.
        item_weights = np.sqrt(ratings.weight_squares) if self.clusters is None else ratings.weight
        column[counted_mask] = item_weights[counted_mask] * influence_values / total_weight
        denominator = None if self.clusters is None else weight_of_items(measure, ratings)
        return Influence(
            column, VarianceEstimator(self.weight, self.clusters, denominator=denominator), "delta"
        )

    def signs(self, second_sample: RatingSample) -> Signs:
        """Count the items with more, equal and less pairwise agreement than in another sample.

        Only items that have two or more ratings in both samples count.
        """
        shared_mask = (
            self.statistic.multiply_rated_mask & second_sample.statistic.multiply_rated_mask
        )
        first, second = (
            sample.statistic.pair_agreement[shared_mask] for sample in (self, second_sample)
        )
        differences = subtract_values(first, second)
        return count_signs(differences, self.statistic.item_counts[shared_mask])

    def point_estimate(self, measure: Any) -> PointEstimate:
        """Return the point estimate of a measure of agreement."""
        fields: dict[str, Any] = {
            "weight": self._counted_weight(measure),
            "clusters": self.clusters,
        }
        estimate = estimate_agreement(
            measure,
            self.statistic.grouped_items
            if len(self.statistic) > MAX_UNGROUPED_ITEMS
            else self.statistic,
            self.settings,
            joint_distribution=_RaterJointDistribution(measure, self),
            influence=lambda: self.influence(measure),
            **fields,
        )
        return estimate if self.clusters is None else add_cluster_method(estimate)

    def _counted_weight(self, measure: Any) -> FloatArray | None:
        """Return the weights of the items that count, or None without weights.

        An item counts if it has the two ratings that agreement needs, or, for measures that are
        means over ratings, any rating (:func:`counted_item_mask`).
        """
        if self.weight is None:
            return None
        return self.weight[counted_item_mask(measure, self.statistic)]


def estimate_agreement(
    measure: Any, ratings: Ratings, settings: Settings, **estimate_fields: Any
) -> PointEstimate:
    """Estimate a measure of agreement from the ratings, apart from the clusters of items."""
    value = float(measure.apply(ratings))
    bounds = (lowest_value(measure, ratings), measure.definition.range[1])
    item_mask = counted_item_mask(measure, ratings)
    methods = {}
    if item_influence(measure, ratings) is not None:
        # With unequal weights, the groups are the same as when batches are accumulated.
        grouped = ratings.grouped_items if np.ptp(ratings.item_weight) > 0 else ratings

        def bayesian_interval(level: float) -> Interval:
            counted_mask = counted_item_mask(measure, grouped)
            influence_values = item_influence(measure, grouped)
            assert influence_values is not None
            sums = grouped.weight[counted_mask], grouped.weight_squares[counted_mask]
            units = Histogram.from_groups(
                _merge_rounding(value + influence_values),
                *sums,
                int(grouped.item_counts[counted_mask].sum()),
            )
            return bayesian_bootstrap.mean_interval(units, bounds, level)

        methods = {"bayesian-bootstrap": bayesian_interval}
    is_rare = ratings.multiply_rated_items.n_minority < MIN_MINORITY_RATINGS
    fields: dict[str, Any] = {
        "value": value,
        "kind": "agreement of raters",
        "settings": settings,
        "n": round(float(ratings.item_counts[item_mask].sum())),
        "n_total": ratings.n_items,
        "unit": "items",
        "bounds": bounds,
        "higher_is_better": measure.definition.higher_is_better,
        "undefined": undefined_reasons(measure, ratings, ratings.n_items),
        "effective_sizes": lambda: (
            effective_size(
                ratings.weight[item_mask].sum(), ratings.weight_squares[item_mask].sum()
            ),
        ),
        "caution": "few ratings outside the most frequent category" if is_rare else "",
        "methods": methods,
    }
    return PointEstimate(**{**fields, **estimate_fields})


def _merge_rounding(values: FloatArray) -> FloatArray:
    """Return values, those that differ by rounding replaced by the smallest of them.

    Kinds of items may have the same value, but for the order in which terms were added.

    >>> _merge_rounding(np.array([0.3, 1.0, 0.1 + 0.2])).tolist()
    [0.3, 1.0, 0.3]
    """
    distinct, index = np.unique(values, return_inverse=True)
    if not len(distinct):
        return values
    tolerance = ROUNDING_TOLERANCE * max(abs(distinct[0]), abs(distinct[-1]))
    is_first = np.append(True, np.diff(distinct) > tolerance)
    firsts = np.maximum.accumulate(np.where(is_first, np.arange(len(distinct)), 0))
    return np.asarray(distinct[firsts][index.reshape(-1)])


def add_cluster_method(estimate: PointEstimate) -> PointEstimate:
    """Return agreement on items in clusters with the interval from the influence of the clusters.

    The influence has items, or the sums of clusters that are streamed.
    """

    def bayesian(level: float) -> Interval | None:
        influence = None if estimate.influence is None else estimate.influence()
        if influence is None or influence.variance_estimator.clusters is None:
            return None
        clusters = influence.variance_estimator.clusters
        influence_sums, weight_sums = influence.variance_estimator.cluster_sums(influence.column)
        weighted_mask = weight_sums > 0
        if weighted_mask.sum() < 2:
            return no_interval("none", "too_few_clusters")
        units = estimate.value + influence_sums[weighted_mask] * weighted_mask.sum()
        interval = bayesian_bootstrap.mean_interval(units, estimate.bounds, level)
        return replace(interval, method=clusters.annotate_method(interval.method))

    return replace(estimate, methods={"bayesian-bootstrap": bayesian})


def _count_changed_items(values: FloatArray) -> int:
    """Count the items whose influence on a difference is not the most frequent one.

    That one belongs to the items that both sets of raters rated alike.
    """
    return UnitDifferences.from_influence_values(values).n_differing


def _correct_influence(
    influence: Callable[[], Influence | None] | None, size: float, clusters: ClusterIndex | None
) -> Callable[[], Influence | None] | None:
    """Return the influence of items on a difference times √(n/(n − 1)), as of a paired mean.

    ``size`` is the effective number n of items; clusters have a correction of their own.
    """
    if influence is None or clusters is not None or not size > 1:
        return influence

    def corrected() -> Influence | None:
        uncorrected = influence()
        return None if uncorrected is None else math.sqrt(size / (size - 1)) * uncorrected

    return corrected


def complete_streamed_difference(
    difference: PointEstimate, unit_differences: UnitDifferences, total: float
) -> PointEstimate:
    """Add what the differences of single items show to the difference of two sets of raters.

    The items are streamed, and are those that count for either set. They give the number of items,
    its correction of the influence values, and the distribution of their differences. ``total`` is
    the total weight by which these were divided.
    """
    weight = float(unit_differences.spread.sums.sum())
    size = effective_size(weight, float(unit_differences.spread.squares.sum()))
    if difference.influence is None:
        return difference
    influence = _correct_influence(difference.influence, size, difference.clusters)
    assert influence is not None
    spread = unit_differences.spread.transform(0.0, weight / total)
    return replace(
        difference,
        n=unit_differences.spread.rows,
        effective_sizes=lambda: (size,),
        influence=influence,
        units=UnitSummary(
            difference.value, size, influence, has_weights=difference.has_unequal_weights
        ),
        unit_spread=lambda: replace(unit_differences, spread=spread),
    )


def complete_clustered_difference(
    difference: PointEstimate, unit_differences: UnitDifferences, rows: int
) -> PointEstimate:
    """Add the items that count for either set of raters to their difference on streamed clusters.

    ``unit_differences`` has the moments of the influence of these items on the difference, times
    the number of all items, which are ``rows``.
    """
    moments, influence = unit_differences.moments, difference.influence
    assert moments is not None
    if influence is None:
        return replace(difference, n=moments.rows)
    scaled = replace(moments, m2=moments.m2 * (moments.rows / max(rows, 1)) ** 2)
    units = UnitSummary(
        difference.value,
        float(moments.rows),
        influence,
        has_weights=difference.has_unequal_weights,
        moments=lambda: scaled,
    )
    return replace(difference, n=moments.rows, units=units)


#: Kind and transformation of measures of moments, by ``definition.interval``.
_MOMENT_KINDS = {
    "correlation": ("correlation", "fisher"),
    "fit": ("proportion of variance", "rest"),
    "limit": ("limit of agreement", None),
    "bias": ("limit of agreement", None),
}


def estimate_from_moments(
    measure: Any, moments: RaterMoments, settings: Settings, n_items: int
) -> PointEstimate:
    """Estimate a measure from the moments of ratings, without its sampling distribution."""
    kind, transform = _MOMENT_KINDS[measure.definition.interval]
    return PointEstimate(
        value=float(measure.apply(moments)),
        kind=kind,
        settings=settings,
        n=moments.rows,
        n_total=n_items,
        unit="items",
        bounds=measure.definition.range,
        higher_is_better=measure.definition.higher_is_better,
        undefined=undefined_reasons(measure, moments, n_items),
        effective_sizes=lambda: (float(moments.effective_items),),
        transform=transform,
        normal_units_interval=partial(_limit_interval, measure, moments)
        if kind == "limit of agreement"
        else None,
    )


def _limit_interval(measure: Any, moments: RaterMoments, level: float) -> Interval:
    """Return the interval of a limit of agreement, or of the bias, of normal differences."""
    mean = float(moments.deviations[0] - moments.deviations[-1])
    sd = math.sqrt(2 * float(moments.residual_mean_square))
    n_deviations = (float(measure.apply(moments)) - mean) / sd if sd > 0 else 0.0
    n_deviations = 0.0 if abs(n_deviations) <= ROUNDING_TOLERANCE else n_deviations
    return normal_limit_interval(mean, sd, n_deviations, float(moments.effective_items), level)


def _has_heavy_tail(measure: Any, numbers: FloatArray, weight: FloatArray) -> bool:
    """Return whether the item means, or the differences of two raters, have a heavy tail.

    The excess kurtosis of a sample shows it, whether or not one of its items is very large.
    """
    if not len(numbers) or measure.definition.interval == "bias":
        return False
    values = numbers.mean(axis=1)
    if measure.definition.interval == "limit":
        values = numbers[:, 0] - numbers[:, -1]
    squares = np.square(values - np.average(values, weights=weight))
    return excess_kurtosis_z(Moments.from_rows(squares, weight)) > MAX_KURTOSIS_Z


@dataclass(frozen=True, eq=False)
class RatingNumbers:
    """Numbers that the same raters gave to items, for measures of their moments.

    ``ratings`` has a column for each rater, with NaN for missing ratings; ``complete_mask`` are the
    items that all raters rated. If a row stands for several items, ``item_counts`` is their number
    and ``weight_squares`` the sum of their squared weights.
    """

    ratings: FloatArray
    complete_mask: npt.NDArray[np.bool_]
    settings: Settings
    weight: FloatArray | None = None
    clusters: ClusterIndex | None = None
    item_counts: FloatArray | None = None
    weight_squares: FloatArray | None = None

    @cached_property
    def statistic(self) -> RaterMoments:
        """Moments of the items that all raters rated."""
        ones = np.ones(len(self.ratings))
        weight = ones if self.weight is None else self.weight
        squares = np.square(weight) if self.weight_squares is None else self.weight_squares
        item_counts = ones if self.item_counts is None else self.item_counts
        return RaterMoments.from_rows(
            self.ratings, (item_counts, weight, squares), self.complete_mask
        )

    def row_values(self, measure: Any) -> None:
        """Return None, as no item has a value of its own."""

    def influence(self, measure: Any, total: RaterMoments | None = None) -> Influence:
        """Return the jackknife influence: the change of the value if each item is left out.

        It is that of a transformed coefficient, on the scale of the coefficient.
        """
        moments, mask = self.statistic if total is None else total, self.complete_mask
        column, value = np.zeros(len(self.ratings)), float(measure.apply(moments))
        counts = np.ones(len(column)) if self.item_counts is None else self.item_counts
        weights = np.ones(len(column)) if self.weight is None else self.weight
        _, transform = _MOMENT_KINDS[measure.definition.interval]
        remaining = moments.leave_out_each(
            self.ratings[mask], weights[mask] / np.maximum(counts[mask], 1)
        )
        if transform is None:
            column[mask] = value - measure.apply(remaining)
        elif (scale := TRANSFORMATIONS[transform]).is_defined(value):
            with np.errstate(divide="ignore", invalid="ignore"):
                changes = scale.forward(value) - scale.forward(measure.apply(remaining))
            column[mask] = changes / scale.derivative(value)
        # Of rows of several items, the root of the sum of squares; of a cluster they are added.
        column *= np.sqrt(counts) if self.clusters is None else counts
        estimator = JackknifeVariance(
            self.weight, self.clusters, effective_size=float(moments.effective_items)
        )
        return Influence(column, estimator, "jackknife")

    def moment_columns(self) -> FloatArray:
        """Return the columns of items whose sums give moments.

        The last is 1 for items that count; all are 0 for the others.
        """
        columns = self.statistic.mean_columns(self.ratings)
        with_ones = np.column_stack([columns, np.ones(len(columns))])
        return np.where(self.complete_mask[:, None], with_ones, 0.0)

    def moments(self, sums: FloatArray) -> RaterMoments:
        """Return moments from sums or means of :meth:`moment_columns`, with their leading axes."""
        with np.errstate(divide="ignore", invalid="ignore"):  # there may be no item that counts
            return self.statistic.from_means(sums[..., :-1] / sums[..., -1:])

    def point_estimate(self, measure: Any) -> PointEstimate:
        """Return the point estimate of a measure of moments."""
        n_items = len(self.ratings) if self.item_counts is None else self.item_counts.sum()
        estimate = estimate_from_moments(measure, self.statistic, self.settings, round(n_items))

        def influence() -> Influence:
            return cached(self, ("influence", measure), lambda: self.influence(measure))

        def replicates() -> FloatArray:
            values: FloatArray = cached(
                self, ("replicates", measure), lambda: self._replicates(measure)
            )
            return values

        mask = self.complete_mask
        weight = np.ones(len(mask)) if self.weight is None else self.weight
        is_heavy = _has_heavy_tail(measure, self.ratings[mask], weight[mask])
        return replace(
            estimate,
            weight=self.weight,
            clusters=self.clusters,
            influence=influence,
            caution="a heavy tail" if is_heavy else "",
            compute_scaled_skewness=lambda: abs(scaled_skewness(influence().influence_values)),
            replicates=None if self.item_counts is not None else replicates,
        )

    def _replicates(self, measure: Any) -> FloatArray:
        columns = self.moment_columns()
        means = bootstrap_means(columns, self.weight, self.settings, self.clusters)
        return np.asarray(measure.apply(self.moments(means)))


@dataclass(frozen=True, eq=False)
class _RaterJointDistribution(JointDistribution):
    """Joint distribution of a measure of two sets of raters on the same items.

    An item counts if it counts for either set.
    """

    measure: Any
    sample: RatingSample

    def difference(self, first: PointEstimate, second: PointEstimate) -> PointEstimate:
        """Return the difference of two point estimates, from the influence values of items."""
        assert isinstance(second.joint_distribution, _RaterJointDistribution)
        either_mask = counted_item_mask(self.measure, self.sample.statistic) | counted_item_mask(
            second.joint_distribution.measure, second.joint_distribution.sample.statistic
        )
        if len(self.sample.statistic) < self.sample.statistic.n_items:
            return self._grouped_difference(
                first, second, either_mask, second.joint_distribution.sample
            )
        n = int(either_mask.sum())
        weight, clusters = self.sample.weight, self.sample.clusters
        influence = lazy_difference(first.influence, second.influence)
        difference_influence = None if influence is None else influence()
        units, n_changed = None, None
        weights = np.ones(n) if weight is None else weight[either_mask]
        if difference_influence is not None:
            values = difference_influence.column[either_mask] * weights.sum() / weights
            units = UnitValues(
                first.value - second.value + values,
                None if weight is None else weights,
                None if clusters is None else clusters.take_rows(either_mask),
            )
            # To first order an item that is rated alike moves it too, as most do.
            n_changed = partial(_count_changed_items, values)
        size = effective_size_from_weights(weights)
        difference_fields: dict[str, Any] = {
            "units": units,
            "influence": _correct_influence(influence, size, clusters),
            "n_changed": n_changed,
            "signs": self._signs(second.joint_distribution.sample),
            "effective_sizes": lambda: (size,),
        }
        return first.difference(
            second, n=n, weight=None if weight is None else weights, **difference_fields
        )

    def _signs(self, second_sample: RatingSample) -> Callable[[], Signs]:
        return lambda: self.sample.signs(second_sample)

    def _grouped_difference(
        self,
        first: PointEstimate,
        second: PointEstimate,
        either_mask: npt.NDArray[np.bool_],
        second_sample: RatingSample,
    ) -> PointEstimate:
        """Return the difference on items that are grouped by equal ratings."""
        ratings = self.sample.statistic
        influence = lazy_difference(first.influence, second.influence)
        item_counts, weight, squares = (
            values[either_mask]
            for values in (ratings.item_counts, ratings.weight, ratings.weight_squares)
        )

        def groups() -> UnitGroups:
            assert influence is not None
            column = influence().column[either_mask] / np.sqrt(squares)
            return UnitGroups(column * weight.sum(), item_counts, weight, squares)

        size, clusters = effective_size(weight.sum(), squares.sum()), self.sample.clusters
        difference_fields: dict[str, Any] = {
            "influence": _correct_influence(influence, size, clusters),
            "unit_groups": groups if clusters is None else None,
            "signs": self._signs(second_sample),
            "effective_sizes": lambda: (size,),
        }
        return first.difference(second, n=round(float(item_counts.sum())), **difference_fields)
