"""Differences and sums of estimates know whether both are of the same rows and of the same truth."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import calipers as cal
from calipers.estimation.counts import ClassCounts
from calipers.estimation.losses import estimate_mean_loss
from calipers.estimation.partitions import PartitionRows
from calipers.estimation.scores import ScoredRows
from calipers.inference import method_selection
from calipers.inference.clusters import ClusterIndex, subset_difference_error
from calipers.inference.point_estimate import PointEstimate, weighted_sum
from calipers.inference.settings import Settings
from calipers.inference.variance_estimators import (
    DisjointRowsVariance,
    Influence,
    NestedRowsVariance,
    VarianceEstimator,
)
from calipers.measures import list_measures

SETTINGS = Settings()
NAMES = ("no", "yes")
N = 40

random = np.random.default_rng(11)
HUMAN = random.random(N) < 0.6
JUDGE = np.where(random.random(N) < 0.85, HUMAN, ~HUMAN)
PREDICTED = np.where(random.random(N) < 0.75, HUMAN, ~HUMAN)
SCORE = HUMAN + random.normal(size=N)
WEIGHT = random.integers(0, 4, N).astype(np.float64)


def counts(
    truth: np.ndarray[Any, Any], measure: str, weight: Any = None, clusters: Any = None
) -> PointEstimate:
    codes = truth.astype(np.int64), PREDICTED.astype(np.int64)
    rows = ClassCounts.from_codes(*codes, NAMES, SETTINGS, weight, clusters)
    return rows.point_estimate(cal.measure(measure))


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
def test_accuracies_of_two_truths_are_compared_row_by_row(weight: Any) -> None:
    """As a paired t test of the rows' hits: before, the truth of the first served for both, so that
    no row seemed to differ."""
    found = counts(HUMAN, "accuracy", weight) - counts(JUDGE, "accuracy", weight)
    hits = (HUMAN == PREDICTED) * 1.0 - (JUDGE == PREDICTED)
    weights = np.ones(N) if weight is None else weight
    mean = np.average(hits, weights=weights)
    assert found.value == pytest.approx(mean, abs=1e-15)
    assert found.units is not None
    effective = weights.sum() ** 2 / np.square(weights).sum()
    spread = np.square(weights * (hits - mean)).sum() / weights.sum() ** 2
    expected = np.sqrt(spread * effective / (effective - 1))
    assert found.units.standard_error.se == pytest.approx(expected, rel=1e-9)
    interval = method_selection.interval(found)
    assert interval.low < mean - expected < mean + expected < interval.high


@pytest.mark.parametrize("measure", [str(d.example()) for d in list_measures("counts")])
def test_two_truths_have_an_influence_for_each_row(measure: str) -> None:
    """The derivatives of the difference by the weight of each row, by finite differences."""
    found = counts(HUMAN, measure) - counts(JUDGE, measure)
    apply, step, slopes = cal.measure(measure), 1e-5, []
    for row in range(N):
        ends = []
        for sign in (1, -1):
            weight = np.ones(N)
            weight[row] += sign * step
            ends.append(
                apply(HUMAN, PREDICTED, weight=weight) - apply(JUDGE, PREDICTED, weight=weight)
            )
        slopes.append((ends[0] - ends[1]) / (2 * step))
    if measure in ("TP", "FP", "FN", "TN"):  # numbers of rows, of a fixed number in all
        slopes = (np.array(slopes) - np.mean(slopes)).tolist()
    expected = np.sqrt(np.square(slopes).sum() * N / (N - 1))
    assert found.units is not None
    assert found.units.standard_error.se == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_the_same_truth_in_another_array_is_the_same() -> None:
    codes = HUMAN.astype(np.int64), PREDICTED.astype(np.int64)
    first, second = (
        ClassCounts.from_codes(codes[0].copy(), code, NAMES, SETTINGS) for code in codes
    )
    accuracy = cal.measure("accuracy")
    found = first.point_estimate(accuracy) - second.point_estimate(accuracy)
    assert found.discordant_proportions is not None
    assert found.discordant_proportions() == (float((HUMAN != PREDICTED).sum()), 0.0)


def test_areas_of_two_truths() -> None:
    first, second = (
        ScoredRows(truth, SCORE, None, None, SETTINGS).point_estimate(cal.measure("AUC"))
        for truth in (HUMAN, JUDGE)
    )
    assert (first.influence, second.influence) != (None, None)
    a, b = (r.influence().corrected.column for r in (first, second))  # type: ignore[misc,union-attr]
    error = (first - second).standard_error
    assert error is not None
    assert error.se == pytest.approx(np.sqrt(np.square(a - b).sum()), rel=1e-12)


def test_clusterings_of_two_truths() -> None:
    """The rows of either truth are not cells of the other."""
    cluster = PREDICTED.astype(np.int64)
    first, second = (
        PartitionRows(truth.astype(np.int64), cluster, NAMES, ("a", "b"), SETTINGS)
        for truth in (HUMAN, JUDGE)
    )
    ari = cal.measure("ARI")
    found = first.point_estimate(ari) - second.point_estimate(ari)
    expected = first.influence(ari).column - second.influence(ari).column
    assert found.units is not None
    assert found.units.standard_error.se == pytest.approx(
        np.sqrt(np.square(expected).sum() * N / (N - 1)), rel=1e-9
    )


def mean(values: Any, weight: Any = None, clusters: Any = None) -> PointEstimate:
    return estimate_mean_loss(cal.measure("MSE"), values, weight, clusters, SETTINGS)


def test_other_rows_are_refused() -> None:
    losses = random.random(50)
    first, second = mean(losses).with_rows("labeled"), mean(losses[::-1]).with_rows("judged")
    with pytest.raises(ValueError, match="of different rows"):
        first - second
    with pytest.raises(ValueError, match="of different rows"):
        weighted_sum([(1.0, first), (-0.5, second)]).standard_error  # noqa: B018
    same = first - mean(losses[::-1]).with_rows(first.row_key)
    assert same.value == pytest.approx(0.0, abs=1e-15)


@pytest.mark.parametrize("other", ["weights", "clusters"])
def test_other_weights_and_clusters_are_refused(other: str) -> None:
    losses = random.random(50)
    clusters = ClusterIndex.from_names(np.arange(50) // 5)
    second = mean(losses, np.arange(50.0)) if other == "weights" else mean(losses, None, clusters)
    with pytest.raises(ValueError, match="different weights or clusters"):
        weighted_sum([(1.0, mean(losses)), (-0.5, second)]).standard_error  # noqa: B018


def influence_of(estimate: PointEstimate) -> Influence:
    assert estimate.influence is not None
    found = estimate.influence()
    assert found is not None
    return found


def test_disjoint_rows_are_independent() -> None:
    """The variance of a sum is the sum of the variances, whatever the measures."""
    few, many = random.random(30), random.random(200) ** 2
    auc = ScoredRows(HUMAN, SCORE, None, None, SETTINGS).point_estimate(cal.measure("AUC"))
    estimates = [mean(few), mean(many), auc]
    influences = [influence_of(estimate) for estimate in estimates]
    space = DisjointRowsVariance.from_subsets(
        [i.variance_estimator for i in influences], [30, 200, N]
    )
    total = space.embed(0, influences[0]) + 0.5 * space.embed(1, influences[1])
    total = total - 2.0 * space.embed(2, influences[2])
    errors = np.array([estimate.standard_error.se for estimate in estimates])  # type: ignore[union-attr]
    assert total.standard_error.se == pytest.approx(
        np.sqrt(np.square([1, 0.5, 2] * errors).sum()), rel=1e-12
    )
    assert len(total.column) == 30 + 200 + N


def test_clusters_with_rows_in_two_sets_are_summed_over_both() -> None:
    values, names = random.random(120), random.integers(0, 12, 120)
    index = ClusterIndex.from_names(names)
    rows = [np.arange(120) < 40, np.arange(120) >= 40]
    subsets = [mean(values[mask], None, index.take_rows(mask)) for mask in rows]
    influences = [influence_of(subset) for subset in subsets]
    space = DisjointRowsVariance.from_subsets([i.variance_estimator for i in influences], [40, 80])
    found = (space.embed(0, influences[0]) - space.embed(1, influences[1])).standard_error
    expected = subset_difference_error(
        *(i.variance_estimator.cluster_sums(i.column) for i in influences)
    )
    assert (found.se, found.df) == pytest.approx(tuple(expected), rel=1e-12)
    independent = np.hypot(*(influence.standard_error.se for influence in influences))
    assert found.se != pytest.approx(independent, rel=1e-3)


def test_sets_of_rows_are_distinguished() -> None:
    few, many = mean(random.random(30)), mean(random.random(200))
    first, second = influence_of(few.with_rows("few")), influence_of(many.with_rows("many"))
    space = DisjointRowsVariance.from_subsets(
        [first.variance_estimator, second.variance_estimator], [30, 200]
    )
    with pytest.raises(ValueError, match="other rows than those of set 1"):
        space.embed(1, first)
    other = DisjointRowsVariance.from_subsets(
        [second.variance_estimator, first.variance_estimator], [200, 30]
    )
    with pytest.raises(ValueError, match="of different rows"):
        space.embed(0, first) + other.embed(0, second)
    clusters = influence_of(mean(random.random(30), None, ClusterIndex.from_names(np.arange(30))))
    with pytest.raises(ValueError, match="expected all or none"):
        DisjointRowsVariance.from_subsets(
            [clusters.variance_estimator, second.variance_estimator], [30, 200]
        )


def test_rows_of_a_part_count_once() -> None:
    """Rows 3 and 1 of four are also in the first set: (1 + 7, 2 + 5) and 4, 6 are their sums."""
    space = NestedRowsVariance(
        subsets=(VarianceEstimator(), VarianceEstimator()),
        sizes=(2, 4),
        positions=np.array([3, 1]),
    )
    column = np.array([1.0, 2.0, 4.0, 5.0, 6.0, 7.0])
    assert space.row_sums(column).tolist() == [4.0, 7.0, 6.0, 8.0]
    assert space.covariance_vector(column).tolist() == [4.0, 7.0, 6.0, 8.0]
    assert space.standard_error(column) == pytest.approx(np.sqrt(165))
