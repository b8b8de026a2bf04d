"""Inter-rater agreement: point estimates from the ratings of items by category."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.estimation.undefined import undefined_reasons
from calipers.inference import bayesian_bootstrap
from calipers.inference.intervals import Interval
from calipers.inference.method_limits import FEW_OF_CATEGORY
from calipers.inference.point_estimate import (
    PointEstimate,
    UnitGroups,
    UnitSummary,
    UnitValues,
    lazy_difference,
)
from calipers.inference.variance_estimators import Influence, VarianceEstimator
from calipers.measures.rater_agreement import counted_items, item_influence, weight_of_items
from calipers.statistics import FloatArray, Histogram, Ratings, Signs, UnitDifferences, count_signs
from calipers.statistics.base import effective_size, effective_size_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from calipers.inference.clusters import ClusterIndex
    from calipers.inference.settings import Settings

#: Of more items those that were rated alike are one entry.
MANY = 10_000


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
        return self.statistic.merge_equal_items

    def row_values(self, measure: Any) -> None:
        """Return None, as no item has a value of its own."""

    def influence(self, measure: Any, whole: Ratings | None = None) -> Influence | None:
        """Return the influence values of the items; that of items that do not count is 0."""
        r = self.statistic
        every = r if whole is None else whole
        moved = item_influence(measure, r, every)
        if moved is None:
            return None
        counted, column = counted_items(measure, r), np.zeros(len(r))
        total = max(float(every.weight[counted_items(measure, every)].sum()), 1e-300)
        column[counted] = np.sqrt(r.weight_squares[counted]) * moved / total
        held = None if self.clusters is None else weight_of_items(measure, r)
        return Influence(column, VarianceEstimator(self.weight, self.clusters, held=held), "delta")

    def signs(self, other: RatingSample) -> Signs:
        """Count the items with more, equal and less pairwise agreement than in another sample.

        Only items that have two or more ratings in both samples count.
        """
        both = self.statistic.twice & other.statistic.twice
        first, second = (of.statistic.agreeing[both] for of in (self, other))
        return count_signs(first - second, self.statistic.held[both])

    def point_estimate(self, measure: Any) -> PointEstimate:
        """Return the point estimate of a measure of agreement."""
        made: dict[str, Any] = {"weight": self._counted_weight(measure), "clusters": self.clusters}
        if self.clusters is not None:
            made["methods"] = {"bayesian": lambda level: self._cluster_interval(measure, level)}
        return estimate_agreement(
            measure,
            self.statistic.merge_equal_items if len(self.statistic) > MANY else self.statistic,
            self.settings,
            joint_distribution=_RaterDistribution(measure, self),
            influence=lambda: self.influence(measure),
            **made,
        )

    def _counted_weight(self, measure: Any) -> FloatArray | None:
        if self.weight is None:
            return None
        return self.weight[counted_items(measure, self.statistic)]

    def _cluster_interval(self, measure: Any, level: float) -> Interval:
        """Return the Bayesian bootstrap interval of the influence values of clusters."""
        found = self.influence(measure)
        assert found is not None
        assert self.clusters is not None
        value = float(measure.apply(self.statistic))
        moved, held = self.clusters.cluster_sums(
            found.column, weight_of_items(measure, self.statistic)
        )
        there = held > 0
        units = value + moved[there] * there.sum()
        made = bayesian_bootstrap.lower_tail(units, _measure_range(measure, self.statistic), level)
        return Interval(
            made.low,
            made.high,
            self.clusters.annotate_method(made.method),
            reason=made.reason,
            se=made.se,
        )


def estimate_agreement(measure: Any, r: Ratings, settings: Settings, **parts: Any) -> PointEstimate:
    """Estimate a measure of agreement from the ratings, apart from the clusters of items."""
    value, bounds = float(measure.apply(r)), _measure_range(measure, r)
    counted = counted_items(measure, r)
    methods = {}
    if item_influence(measure, r) is not None:
        # Where items weigh differently, the same groups as where batches of them are added up.
        own = r.merge_equal_items if np.ptp(r.unit) > 0 else r

        def bayesian(level: float) -> Interval:
            moved, there = item_influence(measure, own), counted_items(measure, own)
            assert moved is not None
            sums = own.weight[there], own.weight_squares[there]
            units = Histogram.from_groups(value + moved, *sums, int(own.held[there].sum()))
            return bayesian_bootstrap.lower_tail(units, bounds, level)

        methods = {"bayesian": bayesian}
    rare = r.shared_items.n_minority < FEW_OF_CATEGORY
    made: dict[str, Any] = {
        "value": value,
        "kind": "agreement of raters",
        "settings": settings,
        "n": round(float(r.held[counted].sum())),
        "n_total": r.n_items,
        "unit": "items",
        "bounds": bounds,
        "higher_is_better": measure.definition.higher_is_better,
        "undefined": undefined_reasons(measure, r, r.n_items),
        "sizes": lambda: (
            effective_size(r.weight[counted].sum(), r.weight_squares[counted].sum()),
        ),
        "caution": "few ratings beside the commonest" if rare else "",
        "methods": methods,
    }
    return PointEstimate(**{**made, **parts})


def _unlike_most(values: FloatArray) -> int:
    """Count the items whose influence on a difference is not the most frequent one."""
    return UnitDifferences.from_rows(values).differing


def difference_from_items(
    made: PointEstimate, found: UnitDifferences, total: float
) -> PointEstimate:
    """Complete the difference of two sets of raters on streamed items.

    The items are those that either set rated; ``total`` is the weight by which their influence is
    divided.
    """
    weight = float(found.spread.sums.sum())
    size = effective_size(weight, float(found.spread.squares.sum()))
    if made.influence is None or not size > 1:
        return made
    influence = made.influence

    def moved() -> Influence | None:
        one = influence()
        return None if one is None else np.sqrt(size / (size - 1)) * one

    spread = found.spread.transform(0.0, weight / total)
    return replace(
        made,
        n=found.spread.rows,
        sizes=lambda: (size,),
        influence=moved,
        units=UnitSummary(made.value, size, moved, has_weights=made.has_unequal_weights),
        unit_spread=lambda: replace(found, spread=spread),
    )


def _measure_range(measure: Any, r: Ratings) -> tuple[float, float]:
    """Return the range of a measure, with a finite lower bound for data like these.

    If the measure has no lower bound, as Fleiss' κ, it is its value for ratings that never agree,
    with the observed category proportions.
    """
    low, high = measure.definition.range
    if np.isfinite(low):
        return low, high
    chance = float(np.square(r.share_of_category).sum())
    alone = bool((r.times == 1).any())
    return (min(-1.0, -chance / (1 - chance)) if alone and chance < 1 else -1.0), high


@dataclass(frozen=True, eq=False)
class _RaterDistribution:
    """Joint distribution of two sets of raters on the same items.

    Either may have two or more ratings of an item.
    """

    measure: Any
    sample: RatingSample

    def difference(self, first: PointEstimate, second: PointEstimate) -> PointEstimate:
        """Return the difference of two point estimates, from the influence values of items."""
        assert isinstance(second.joint_distribution, _RaterDistribution)
        either = counted_items(self.measure, self.sample.statistic) | counted_items(
            second.joint_distribution.measure, second.joint_distribution.sample.statistic
        )
        if len(self.sample.statistic) < self.sample.statistic.n_items:
            return self._grouped_estimate(first, second, either, second.joint_distribution.sample)
        n, weight, clusters = int(either.sum()), self.sample.weight, self.sample.clusters
        units, influence = None, lazy_difference(first.influence, second.influence)
        moved, changed = None if influence is None else influence(), None
        own = np.ones(n) if weight is None else weight[either]
        if moved is not None:
            values = moved.column[either] * own.sum() / own
            units = UnitValues(
                first.value - second.value + values,
                None if weight is None else own,
                None if clusters is None else clusters.take_rows(either),
            )
            # To first order an item that is rated alike moves it too, as most do.
            changed = partial(_unlike_most, values)
        parts: dict[str, Any] = {"units": units, "influence": influence, "n_changed": changed}
        parts |= {
            "signs": self._signs(second.joint_distribution.sample),
            "sizes": lambda: (effective_size_of(own),),
        }
        return first.difference(second, n=n, weight=None if weight is None else own, **parts)

    def _signs(self, other: RatingSample) -> Callable[[], Signs]:
        return lambda: self.sample.signs(other)

    def _grouped_estimate(
        self,
        first: PointEstimate,
        second: PointEstimate,
        either: npt.NDArray[np.bool_],
        other: RatingSample,
    ) -> PointEstimate:
        """Return the difference on items that are grouped by equal ratings."""
        r, influence = self.sample.statistic, lazy_difference(first.influence, second.influence)
        held, weight, squares = (of[either] for of in (r.held, r.weight, r.weight_squares))

        def groups() -> UnitGroups:
            assert influence is not None
            column = influence().column[either] / np.sqrt(squares)
            return UnitGroups(column * weight.sum(), held, weight, squares)

        parts: dict[str, Any] = {"influence": influence, "unit_groups": groups}
        parts |= {
            "signs": self._signs(other),
            "sizes": lambda: (effective_size(weight.sum(), squares.sum()),),
        }
        return first.difference(second, n=round(float(held.sum())), **parts)
