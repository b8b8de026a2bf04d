"""Selection of cases for human labels: stratified by the judge, with Neyman's allocation.

The estimate is that of :mod:`calipers.inference.human_labels`, h + λ(J − j), with labels weighted
by 1 over the probability of their case, except those of a random pilot alone. Within strata, which
the scores of the judge define, cases are drawn with equal probability and without replacement.

Cases in clusters are drawn one by one as well. Given the cases, drawing them is then as precise as
without clusters; clusters only add to the variance of the cases themselves, by the covariances of
their pairs. Whole clusters would need more labels for the same precision.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from calipers.caching import cached_property
from calipers.inference import intervals
from calipers.inference.bayesian_bootstrap import endpoint_distance, n_nonzero
from calipers.inference.human_labels import JudgeMoments
from calipers.inference.roots import bracketed_root
from calipers.lazy_dataclasses import dataclass
from calipers.statistics import FloatArray, IntArray

#: Weight of the pooled moments in those of a stratum, in labels. Few labels tell little of it: with
#: 1 in place of 10, plans from 40 labels of a pass rate promised .77 of the standard error within
#: strata, and estimates had a bias of .18 of it, as a stratum without errors in the pilot has few
#: more labels.
PRIOR_LABELS = 10.0
#: Weight of the judge's intraclass correlation in that of labels, in pairs of labels of a cluster.
PRIOR_PAIRS = 10.0


def neyman_allocation(
    n: int, sizes: IntArray, spreads: FloatArray, min_counts: IntArray
) -> npt.NDArray[np.int64]:
    """Allocate labels to strata in proportion to their size times their standard deviation.

    Parameters
    ----------
    n : int
        Number of labels.
    sizes : ndarray of int, shape (n_strata,)
        Number of cases of each stratum, the most labels that it can have.
    spreads : ndarray of shape (n_strata,)
        Standard deviation of each stratum.
    min_counts : ndarray of int, shape (n_strata,)
        Least number of labels of each.

    Returns
    -------
    ndarray of int, shape (n_strata,)
        Number of labels of each stratum. They add up to ``n``, within what the bounds allow.

    Examples
    --------
    >>> sizes, min_counts = np.array([100, 100, 20]), np.array([10, 10, 10])
    >>> neyman_allocation(60, sizes, np.array([0.4, 0.1, 0.3]), min_counts).tolist()
    [40, 10, 10]
    """
    need = sizes * np.maximum(spreads, 0.0)
    counts = np.minimum(min_counts, sizes).astype(np.float64)
    free = np.ones(len(sizes), bool)
    for _ in range(2 * len(sizes) + 1):
        budget = n - counts[~free].sum()
        total = need[free].sum()
        if not (free.any() and budget > 0 and total > 0):
            break
        proposed = budget * need / total
        low, high = free & (proposed < min_counts), free & (proposed > sizes)
        if not (low.any() or high.any()):
            counts[free] = proposed[free]
            break
        # The bound that takes the most labels, or saves the most, is fixed first.
        is_low = (min_counts - proposed)[low].sum() >= (proposed - sizes)[high].sum()
        fixed = low if is_low else high
        counts[fixed] = (np.minimum(min_counts, sizes) if is_low else sizes)[fixed]
        free &= ~fixed
    counts_drawn = np.floor(counts + 1e-9).astype(np.int64)
    order = np.argsort(-(counts - counts_drawn), kind="stable")
    while counts_drawn.sum() < min(n, int(sizes.sum())):
        open_strata = [k for k in order if counts_drawn[k] < sizes[k]]
        missing = min(n, int(sizes.sum())) - int(counts_drawn.sum())
        counts_drawn[open_strata[:missing]] += 1
    return counts_drawn


@dataclass(frozen=True, eq=False)
class LabelDesign:
    """What labels of a pilot tell of the precision of more of them.

    Attributes
    ----------
    human : array of shape (n,)
        Value of each case by its human label, NaN if it has none: of one system, or the difference
        of two.
    judged : array of shape (n,)
        Value of each case by the judge.
    strata : array of int of shape (n,)
        Index of the stratum of each case.
    n_strata : int
        Number of strata.
    value_range : tuple of float
        Lowest and highest value of a case; infinite if there is none.
    is_difference : bool
        Whether values are differences of two systems.
    weight : array of shape (n,), optional
        Weight of each case.
    cluster_codes : array of int of shape (n,), optional
        Cluster of each case, from 0.
    has_label_weights : bool, default=False
        Whether the present labels have unequal weights.
    """

    human: FloatArray
    judged: FloatArray
    strata: IntArray
    n_strata: int
    value_range: tuple[float, float]
    is_difference: bool
    weight: FloatArray | None = None
    cluster_codes: IntArray | None = None
    has_label_weights: bool = False

    @property
    def n_cases(self) -> int:
        """Number of cases."""
        return len(self.judged)

    @cached_property
    def sizes(self) -> IntArray:
        """Number of cases of each stratum."""
        return np.bincount(self.strata, minlength=self.n_strata).astype(np.int64)

    @cached_property
    def labeled_mask(self) -> npt.NDArray[np.bool_]:
        """Mask of the labeled cases."""
        return np.asarray(~np.isnan(self.human))

    @cached_property
    def labeled(self) -> IntArray:
        """Number of labeled cases of each stratum."""
        counts = np.bincount(self.strata[self.labeled_mask], minlength=self.n_strata)
        return counts.astype(np.int64)

    @cached_property
    def _proportions(self) -> FloatArray:
        return self.sizes / self.n_cases

    @cached_property
    def _labeled_columns(self) -> tuple[FloatArray, FloatArray, IntArray]:
        """Labels, scores and strata of the labeled cases."""
        mask = self.labeled_mask
        return self.human[mask], self.judged[mask], self.strata[mask]

    @cached_property
    def _case_weights(self) -> FloatArray:
        """Number of cases that each labeled case stands for."""
        strata = self._labeled_columns[2]
        return np.asarray((self.sizes / np.maximum(self.labeled, 1))[strata])

    @cached_property
    def _relative_weights(self) -> FloatArray:
        """Weight of each case, relative to the mean of all."""
        if self.weight is None:
            return np.ones(self.n_cases)
        return np.asarray(self.weight / self.weight.mean())

    @cached_property
    def means(self) -> tuple[float, float]:
        """Mean by the labels, weighted to all strata, and mean of their scores."""
        human, judged, _ = self._labeled_columns
        weights = self._case_weights * self._relative_weights[self.labeled_mask]
        return float(np.average(human, weights=weights)), float(np.average(judged, weights=weights))

    @cached_property
    def _deviations(self) -> FloatArray:
        """Deviations of the labels and of their scores from the means, times relative weights."""
        human, judged, _ = self._labeled_columns
        deviations = np.column_stack([human, judged]) - np.array(self.means)
        return np.asarray(deviations * self._relative_weights[self.labeled_mask][:, None])

    @cached_property
    def _judge_deviations(self) -> FloatArray:
        """The same of the scores of all cases, about their own mean."""
        weights = self._relative_weights
        return np.asarray(weights * (self.judged - np.average(self.judged, weights=weights)))

    @cached_property
    def total_moments(self) -> FloatArray:
        """Second moments of labels and scores about their means, of all cases."""
        return self._moments(self._deviations, degrees=1)[1]

    @cached_property
    def _moments_by_stratum(self) -> FloatArray:
        """Second moments about the means of all cases, shape (n_strata, 2, 2)."""
        return self._moments(self._deviations)[0]

    @cached_property
    def _moments_within(self) -> FloatArray:
        """Covariance of labels and scores within each stratum, shape (n_strata, 2, 2)."""
        strata, counts = self._labeled_columns[2], np.maximum(self.labeled, 1)
        columns = [np.bincount(strata, x, self.n_strata) / counts for x in self._deviations.T]
        centers = np.column_stack(columns)
        return self._moments(self._deviations - centers[strata], degrees=1)[0]

    def _moments(self, deviations: FloatArray, degrees: int = 0) -> tuple[FloatArray, FloatArray]:
        """Return second moments of each stratum, shrunk to the pooled ones, and the pooled ones.

        Each stratum has lost this number of ``degrees`` of freedom, or all strata together if there
        is one center.
        """
        strata = self._labeled_columns[2]
        products = deviations[:, :, None] * deviations[:, None, :]
        sums = np.zeros((self.n_strata, 2, 2))
        np.add.at(sums, strata, products)
        has_one_center = deviations is self._deviations
        used = np.maximum(self.labeled - (0 if has_one_center else degrees), 0)
        n_used = len(strata) - degrees if has_one_center else used.sum()
        scale = len(strata) / max(float(n_used), 1.0) if degrees else 1.0
        weights = self._case_weights
        pooled = np.einsum("i,ijk->jk", weights, products) / weights.sum() * scale
        prior = PRIOR_LABELS * pooled
        by_stratum = (sums + prior) / (used + PRIOR_LABELS)[:, None, None]
        return by_stratum, pooled

    @cached_property
    def _judge_variance(self) -> float:
        if self.n_cases < 2:
            return 0.0
        return float(np.square(self._judge_deviations).sum()) / (self.n_cases - 1)

    # --- Clusters ----------------------------------------------------------------------------

    def _pair_sums(self, columns: FloatArray, rows: npt.NDArray[np.bool_] | None) -> FloatArray:
        """Return the products of columns summed over ordered pairs of cases of a cluster."""
        assert self.cluster_codes is not None
        codes = self.cluster_codes if rows is None else self.cluster_codes[rows]
        n = int(self.cluster_codes.max()) + 1
        sums = np.column_stack([np.bincount(codes, column, n) for column in columns.T])
        return np.asarray(sums.T @ sums - columns.T @ columns)

    @cached_property
    def pair_moments(self) -> FloatArray:
        """Covariances of labels and scores of two cases of a cluster, 0 without clusters.

        Those of labels are from pairs of labels, and from the intraclass correlation of the judge
        if there are few.
        """
        if self.cluster_codes is None:
            return np.zeros((2, 2))
        judge = np.column_stack([np.ones(self.n_cases), self._judge_deviations])
        pairs, judge_pairs = np.diag(self._pair_sums(judge, None))
        if not pairs > 0:  # each cluster has one case
            return np.zeros((2, 2))
        covariance, variance = judge_pairs / pairs, self._judge_variance
        correlation = covariance / variance if variance > 0 else 0.0
        weights = self._case_weights / self._case_weights.mean()
        columns = np.column_stack([np.ones(len(weights)), self._deviations]) * weights[:, None]
        sums = self._pair_sums(columns, self.labeled_mask)
        moments = (sums[1:, 1:] + PRIOR_PAIRS * correlation * self.total_moments) / (
            sums[0, 0] + PRIOR_PAIRS
        )
        moments[1, 1] = covariance
        return np.asarray(moments)

    def _selection_probabilities(self, counts: IntArray) -> FloatArray:
        """Probability of each case to have a label, given those that there are."""
        proportions = (counts - self.labeled) / np.maximum(self.sizes - self.labeled, 1)
        return np.where(self.labeled_mask, 1.0, proportions[self.strata])

    def _cluster_variance(self, counts: IntArray, coefficient: float) -> float:
        """Return what pairs of cases of a cluster add to the variance of the estimate."""
        if self.cluster_codes is None:
            return 0.0
        # A label counts 1/π times, and is there with its probability given the pilot.
        weights = self._selection_probabilities(counts) / (counts / self.sizes)[self.strata]
        pairs = self._pair_sums(np.column_stack([weights, np.ones(self.n_cases)]), None)
        moments, vector = self.pair_moments, np.array([1.0, -coefficient])
        residual = vector @ moments @ vector
        cross = coefficient * (moments[0, 1] - coefficient * moments[1, 1])
        judge = coefficient**2 * moments[1, 1]
        total = pairs[0, 0] * residual + 2 * pairs[0, 1] * cross + pairs[1, 1] * judge
        return max(float(total), 0.0) / self.n_cases**2

    def design_effect(self) -> float:
        """Return the variance of the mean label of all cases, relative to independent cases."""
        independent = float(self.total_moments[0, 0]) / self.n_cases
        if not independent > 0:
            return 1.0
        return 1.0 + self._cluster_variance(self.sizes, 0.0) / independent

    def degrees(self, counts: IntArray) -> float:
        """Return the expected number of labels, or of clusters with labels, minus 1."""
        if self.cluster_codes is None:
            return max(float(counts.sum()) - 1.0, 1.0)
        with np.errstate(divide="ignore"):
            logs = np.log1p(-self._selection_probabilities(counts))
        n = int(self.cluster_codes.max()) + 1
        unlabeled_logs = np.bincount(self.cluster_codes, np.maximum(logs, -1e3), n)
        occurs = np.bincount(self.cluster_codes, minlength=n) > 0
        return max(float((1 - np.exp(unlabeled_logs[occurs])).sum()) - 1.0, 1.0)

    def probabilities(self, counts: IntArray) -> FloatArray:
        """Return the probability of each case to be selected, with these labels by stratum.

        That of the cases of a random pilot is the same in all strata, of which some may have no
        label.
        """
        if not self.is_weighted(counts):
            return np.full(self.n_cases, counts.sum() / self.n_cases)
        return np.asarray((counts / self.sizes)[self.strata])

    # --- Precision ---------------------------------------------------------------------------

    def is_weighted(self, counts: IntArray) -> bool:
        """Return whether labels have weights with these numbers of labels by stratum.

        The random labels of a pilot have none.
        """
        return self.has_label_weights or not (counts == self.labeled).all()

    def judge_moments(self, counts: IntArray) -> JudgeMoments:
        """Return the moments of h, j and J with these numbers of labels by stratum."""
        strata, n_cases = self._moments_by_stratum, self.n_cases
        factors = np.square(self._proportions) / np.maximum(counts, 1)

        def combine(weights: FloatArray) -> tuple[float, float, float]:
            return tuple(float(weights @ strata[:, i, k]) for i, k in ((0, 0), (0, 1), (1, 1)))  # type: ignore[return-value]

        human, human_judged, judged = combine(factors)
        if self.is_weighted(counts):  # J is that of all cases, labeled ones included
            others = self._judge_variance / n_cases
            _, human_contrast, contrast = combine(factors - self._proportions / n_cases)
            proportion = 1.0
        else:
            n_others = max(n_cases - int(counts.sum()), 1)
            others = self._judge_variance / n_others
            human_contrast, contrast = human_judged, judged + others
            proportion = n_others / n_cases
        return JudgeMoments(
            human, judged, others, human_judged, human_contrast, contrast, proportion
        )

    def coefficient(self, counts: IntArray) -> float:
        """Return λ with these numbers of labels by stratum."""
        return self.judge_moments(counts).coefficient

    @cached_property
    def _limit_coefficient(self) -> float:
        """λ of few labels of very many cases, whose J is known."""
        (human, cross), (_, judged) = self.total_moments.tolist()
        return JudgeMoments(human, judged, 0.0, cross, cross, judged).coefficient

    @cached_property
    def spreads(self) -> FloatArray:
        """Root mean square of what the judge leaves unexplained, by stratum."""
        return np.sqrt(self._residual_moments(self._moments_by_stratum, self._limit_coefficient))

    @staticmethod
    def _residual_moments(moments: FloatArray, coefficient: float) -> FloatArray:
        vector = np.array([1.0, -coefficient])
        return np.asarray(np.maximum(moments @ vector @ vector, 0.0))

    def allocate(self, n: int, min_labels: int) -> IntArray:
        """Return how many labels each stratum has of ``n``, the present ones included.

        None has no label, as such cases would have no part in the estimate.
        """
        min_counts = np.maximum(self.labeled, np.minimum(max(min_labels, 1), self.sizes))
        if min_counts.sum() > n:
            min_counts = np.maximum(self.labeled, np.minimum(1, self.sizes))
        return neyman_allocation(
            max(n, int(min_counts.sum())), self.sizes, self.spreads, min_counts
        )

    def errors(self, counts: IntArray) -> tuple[float, float]:
        """Return the standard error of the estimate, and that of its test.

        The test does not know of the strata: it takes labels as drawn independently, each with its
        probability. Its interval also has half a label at either end of the range.
        """
        n = int(counts.sum())
        variance_of_all = float(self.total_moments[0, 0]) / self.n_cases
        if n >= self.n_cases:
            variance_of_all += self._cluster_variance(counts, 0.0)
            return math.sqrt(variance_of_all), self._augmented(variance_of_all, n, 0.0)
        moments = self.judge_moments(counts)
        coefficient = moments.coefficient
        factors = np.square(self._proportions) / np.maximum(counts, 1)
        # J − j of the other cases alone is that of all, divided by the proportion of the others.
        slope = coefficient / moments.proportion_of_others
        within = self._residual_moments(self._moments_within, slope)
        unsampled = within * (1 / np.maximum(counts, 1) - 1 / np.maximum(self.sizes, 1))
        of_clusters = self._cluster_variance(counts, slope)
        actual = float(np.square(self._proportions) @ unsampled) + variance_of_all + of_clusters
        reported = of_clusters + float(
            factors @ self._residual_moments(self._moments_by_stratum, coefficient)
        )
        added = coefficient**2 * moments.others
        if self.is_weighted(counts):  # labeled cases are among those of J
            cross = float(self.total_moments[0, 1] - coefficient * self.total_moments[1, 1])
            added = max(added + 2 * coefficient * cross / self.n_cases, 0.0)
        reported += added
        return math.sqrt(actual), self._augmented(reported, n, coefficient)

    def _augmented(self, variance: float, n: int, coefficient: float) -> float:
        """Return the standard error with half a label at either end of the range.

        Student's t of clusters has none.
        """
        if self.cluster_codes is not None:
            return math.sqrt(variance)
        human, judged, _ = self._labeled_columns
        residuals = human - coefficient * judged
        low, high = self.value_range
        if self.is_difference:
            largest = (high - low) * (1 + coefficient)
            n_wrong = n_nonzero(human - judged)
            distance = endpoint_distance(residuals - residuals.mean(), largest, n_wrong)
            added = distance**2
        elif math.isfinite(low) and math.isfinite(high):
            mean = float(residuals.mean())
            limits = low - coefficient * high, high - coefficient * low
            added = sum((end - mean) ** 2 for end in limits) / 2
        else:
            added = 0.0
        return math.sqrt(variance + added / (n + 1) ** 2)

    def half_width(self, counts: IntArray, level: float) -> float:
        """Return the expected half-width of the interval."""
        return intervals.t_quantile(level, self.degrees(counts)) * self.errors(counts)[1]

    def power(self, difference: float, counts: IntArray, level: float) -> float:
        """Return the probability that a true difference is significant."""
        from scipy.special import ndtr

        actual, reported = self.errors(counts)
        if not actual > 0:
            return math.nan
        limit = intervals.t_quantile(level, self.degrees(counts)) * reported / actual
        shift = abs(difference) / actual
        return float(ndtr(shift - limit) + ndtr(-shift - limit))

    def min_detectable(self, counts: IntArray, level: float, power: float) -> float:
        """Return the smallest true difference that is significant with this power."""
        actual, reported = self.errors(counts)
        if not actual > 0:
            return math.nan

        def excess(difference: float) -> float:
            return self.power(difference, counts, level) - power

        return bracketed_root(excess, 0.0, 20 * max(actual, reported), xtol=1e-10)
