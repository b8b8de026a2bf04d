"""Scores of cases: proportions, means and medians of the cases that have a score."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.caching import cached_property
from calipers.estimation.multilabel import RowValues
from calipers.estimation.proportions import proportion_intervals
from calipers.estimation.regression import SortedRows
from calipers.inference.human_labels import CaseIndices, LabeledSample, SeparateLabels
from calipers.inference.intervals import ROUNDING_TOLERANCE
from calipers.inference.variance_estimators import Influence, MeanVariance, VarianceEstimator
from calipers.lazy_dataclasses import dataclass
from calipers.statistics import (
    FloatArray,
    LengthRows,
    Moments,
    NumericRows,
    ScoreRows,
    count_signs,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    from calipers.inference.clusters import ClusterIndex
    from calipers.inference.point_estimate import JointDistribution, PointEstimate
    from calipers.inference.settings import MeasureLike, Settings
    from calipers.statistics import Signs

#: Coefficients of the model of the win rate at equal length: that of so few cases has no residuals.
N_LENGTH_COEFFICIENTS = 2


@dataclass(frozen=True, eq=False)
class CaseValues(RowValues):
    """Sample of cases with a value each, NaN if a case has no score.

    Attributes
    ----------
    is_constant : bool, default=False
        Whether the values are known beforehand, as the win rate of the reference against itself.
    """

    is_constant: bool = False

    def point_estimate(self, measure: MeasureLike) -> PointEstimate:
        """Return the point estimate from the cases with a score.

        Intervals of proportions are those of cases that count 0 or 1, and not of proportions of
        their samples.
        """
        estimate = self.complete(super().point_estimate(measure))
        if np.isin(self.defined_rows.values, (0.0, 1.0)).all():
            return estimate
        of_proportions = proportion_intervals(estimate.value, 1.0)
        methods = {n: m for n, m in estimate.methods.items() if n not in of_proportions}
        return replace(estimate, methods=methods)

    def complete(self, estimate: PointEstimate) -> PointEstimate:
        """Return an estimate of all cases without what does not apply to it.

        A constant has no interval; a value that is undefined has no distribution.
        """
        if self.is_constant:
            return replace(estimate, kind="known constant")
        if np.isfinite(estimate.value):
            return estimate
        return replace(estimate, influence=None, units=None, replicates=None)

    @cached_property
    def is_binary(self) -> bool:
        """Whether every case with a score counts 0 or 1, of the same weight and independently."""
        is_independent = self.weight is None and self.clusters is None
        return is_independent and bool(np.isin(self.defined_rows.values, (0.0, 1.0)).all())

    def influence(self, measure: MeasureLike, total: Moments | None = None) -> Influence | None:
        """Return the influence of every case; None if the value of all of them is undefined."""
        if total is not None and not np.isfinite(total.mean):
            return None
        return super().influence(measure, total)

    def is_joint_with(self, second: JointDistribution) -> bool:
        """Return whether the second one is of values of cases, too."""
        return isinstance(second, CaseValues)

    def difference(self, first: PointEstimate, second: PointEstimate) -> PointEstimate:
        """Return the difference of two estimates on the same cases.

        If every case counts 0 or 1 for both systems, it follows from the cases on which they
        differ.
        """
        second_cases = second.joint_distribution
        assert isinstance(second_cases, CaseValues)
        if not np.isfinite(first.value - second.value):
            return first.difference(second, n=len(self.values))
        difference = super().difference(first, second)
        is_paired = difference.kind == first.kind
        if not (is_paired and self.is_binary and second_cases.is_binary):
            return difference

        return _add_discordant(difference, lambda: count_signs(self.values - second_cases.values))

    def complete_difference(
        self,
        measure: MeasureLike,
        difference: PointEstimate,
        estimates: tuple[PointEstimate, PointEstimate],
        signs: Callable[[], Signs | None],
    ) -> PointEstimate:
        """Add the cases on which two systems differ to a difference of streamed cases.

        As in memory, they are added if every case counts 0 or 1 for both systems, unweighted.
        """
        is_binary = measure.definition.counts_hits is not None and np.isfinite(difference.value)
        is_paired = difference.kind == estimates[0].kind and not difference.has_unequal_weights
        return _add_discordant(difference, signs) if is_binary and is_paired else difference


def _add_discordant(difference: PointEstimate, signs: Callable[[], Signs | None]) -> PointEstimate:
    """Add the numbers of cases that only one of two systems passes, from the signs."""

    def discordant() -> tuple[float, float]:
        counts = signs()
        assert counts is not None
        return float(counts[0]), float(counts[2])

    return replace(difference, discordant_proportions=discordant)


@dataclass(frozen=True, eq=False)
class SortedScores(SortedRows):
    """Sample of sorted scores. Cases without a score have weight 0, and are not counted.

    Attributes
    ----------
    n_scored : int
        Number of cases with a score.
    value_range : tuple of float
        Lowest and highest possible score.
    """

    n_scored: int
    value_range: tuple[float, float] = (-math.inf, math.inf)

    @cached_property
    def statistic(self) -> ScoreRows:
        """Sorted scores."""
        return ScoreRows.from_rows(self.truth, self.predicted, self.weight)

    @property
    def ordered_values(self) -> FloatArray:
        """Score of each case."""
        return self.predicted

    def point_estimate(self, measure: MeasureLike) -> PointEstimate:
        """Return the point estimate of a quantile of the scores."""
        estimate = replace(super().point_estimate(measure), bounds=self.value_range)
        return add_unscored(measure, estimate, self.n_scored)


@dataclass(frozen=True, eq=False)
class ControlledScores(SortedRows):
    """Comparisons with a reference, controlled for the difference in length.

    Attributes
    ----------
    row_weight : ndarray of shape (n,) or None
        Weight of each case; ``weight`` is 0 where one of the two has no score.
    n_scored : int
        Number of cases with both scores.
    is_constant : bool, default=False
        Whether this is the reference itself.
    """

    row_weight: FloatArray | None
    n_scored: int
    is_constant: bool = False

    @cached_property
    def statistic(self) -> LengthRows:
        """Cases with both scores."""
        return LengthRows.from_rows(self.truth, self.predicted, self.weight)

    def _influence(
        self, measure: MeasureLike, total: NumericRows | None = None
    ) -> Influence | None:
        """Return the influence of every case, 0 if it lacks a score."""
        rows = self.statistic if total is None else total
        influence_function = measure.definition.moves
        if influence_function is None or not rows.n_rows:
            return None
        if not self.is_constant and self._has_no_error(measure, rows):
            return None
        weight = np.ones(len(self.truth)) if self.weight is None else self.weight
        scored_mask, column = weight > 0, np.zeros(len(self.truth))
        if not self.is_constant:
            scored = LengthRows(self.truth[scored_mask], self.predicted[scored_mask], weight)
            clusters = None if self.clusters is None else self.clusters.take_rows(scored_mask)
            weights = None if self.weight is None else weight[scored_mask]
            space = MeanVariance(weights, clusters)
            column[scored_mask] = Influence(
                influence_function(scored, rows), space
            ).corrected.column
            if isinstance(rows, LengthRows):
                # Residuals of separated outcomes are small whatever the slope, and those of ties
                # alone are 0; the information is not.
                error, norm = float(rows.fit.standard_error), float(np.linalg.norm(column))
                has_residuals = norm > ROUNDING_TOLERANCE * error
                if not has_residuals:
                    column[scored_mask] = rows.fit.expected_influence(scored.truth)
                    norm = float(np.linalg.norm(column))
                if rows.is_separated or not has_residuals:
                    column *= error / norm
        estimator = VarianceEstimator(self.row_weight, self.clusters, denominator=weight)
        return Influence(column, estimator)

    def point_estimate(self, measure: MeasureLike) -> PointEstimate:
        """Return the point estimate at equal length."""
        estimate = add_unscored(measure, super().point_estimate(measure), self.n_scored)
        if self.is_constant:
            return replace(estimate, kind="known constant", undefined={})
        if self._has_no_error(measure, self.statistic):
            return replace(estimate, influence=None, replicates=None)
        return estimate

    def _has_no_error(self, measure: MeasureLike, rows: NumericRows) -> bool:
        """Return whether the value is undefined, or of as many cases as there are coefficients."""
        return self.n_scored <= N_LENGTH_COEFFICIENTS or not np.isfinite(measure.apply(rows))

    def _methods(self, measure: MeasureLike, estimate: PointEstimate) -> dict[str, Any]:
        """Return none: at equal length there is no number of cases that the value is a part of."""
        return {}


def add_unscored(measure: MeasureLike, estimate: PointEstimate, n_scored: int) -> PointEstimate:
    """Return an estimate from sorted scores with the number of cases that have none."""
    n_cases, undefined = estimate.n, dict(estimate.undefined)
    if n_scored < n_cases:
        undefined[next(iter(measure.definition.undefined))] = n_cases - n_scored
    return replace(estimate, n=n_scored, n_total=n_cases, undefined=undefined)


def mean_of_samples(values: FloatArray) -> FloatArray:
    """Return the mean of each row of a table over its values; NaN if all of them are NaN.

    >>> mean_of_samples(np.array([[1.0, np.nan, 0.0], [np.nan, np.nan, np.nan]])).tolist()
    [0.5, nan]
    """
    given_mask = ~np.isnan(values)
    counts = given_mask.sum(axis=1)
    sums = np.where(given_mask, values, 0.0).sum(axis=1)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


@dataclass(frozen=True)
class VarianceComponents:
    """Components of the variance of scores of cases with several samples.

    Attributes
    ----------
    case : float
        Variance between cases of their expected scores; negative if samples vary more than cases.
    sample : float
        Mean variance of the samples of a case.
    mean : float
        Variance of the mean over cases, of both.
    sampling : float
        Proportion of ``mean`` that is from sampling: what more samples of each case could save.
    """

    case: float
    sample: float
    mean: float
    sampling: float

    @classmethod
    def from_samples(
        cls,
        values: FloatArray,
        minus: FloatArray | None = None,
        weight: FloatArray | None = None,
        clusters: ClusterIndex | None = None,
    ) -> VarianceComponents | None:
        """Estimate the components, or return None if too few cases have two samples.

        Parameters
        ----------
        values : array of shape (n_cases, n_samples)
            Scores, NaN if there is none.
        minus : array of the same shape, optional
            Scores of a system from whose mean the difference is, with samples of their own.
        weight : array of shape (n_cases,), optional
            Weight of each case.
        clusters : ClusterIndex, optional
            Clusters of the cases, of which ``mean`` is the variance between them.

        Returns
        -------
        VarianceComponents or None
            The components, by the method of moments (analysis of variance). The variance of the
            sample of a case that has only one is taken as the mean of those of the other cases.

        Examples
        --------
        >>> samples = np.array([[1.0, 1, 0, 1], [0, 0, 1, 0], [1, 1, 1, 1]])
        >>> components = VarianceComponents.from_samples(samples)
        >>> round(components.case, 7), round(components.sample, 7), round(components.mean, 7)
        (0.1041667, 0.1666667, 0.0486111)
        """
        systems = (values,) if minus is None else (values, minus)
        weight = np.ones(len(values)) if weight is None else weight
        counts = [(~np.isnan(scores)).sum(axis=1) for scores in systems]
        used_mask = (np.min(counts, axis=0) > 0) & (weight > 0)
        repeated_masks = [(n[used_mask] > 1) for n in counts]
        if min(map(np.count_nonzero, repeated_masks)) < 2:
            return None
        n_units = int(np.count_nonzero(used_mask))
        if clusters is not None:
            clusters = clusters.take_rows(used_mask)
            n_units = clusters.n_clusters
        if n_units < 2:
            return None
        w = weight[used_mask]
        means, sample, noise = np.zeros(len(w)), 0.0, 0.0
        rows = zip(systems, counts, repeated_masks, (1, -1), strict=False)
        for scores, n, is_repeated, sign in rows:
            system_means = mean_of_samples(scores[used_mask])
            squares = np.nansum(np.square(scores[used_mask] - system_means[:, None]), axis=1)
            variances = squares / np.maximum(n[used_mask] - 1, 1)
            mean_variance = np.average(variances[is_repeated], weights=w[is_repeated])
            variances[~is_repeated] = mean_variance
            means = means + sign * system_means
            sample += float(mean_variance)
            noise += float(np.square(w) @ (variances / n[used_mask]))
        deviations = w * (means - w @ means / w.sum())
        squares = (
            deviations @ deviations
            if clusters is None
            else clusters.corrected_sum_of_squares(deviations)
        )
        total = float(squares) * n_units / (n_units - 1)
        if not total > 0:
            return None
        return cls(
            (total - noise) / float(w @ w),
            sample,
            total / float(w.sum()) ** 2,
            min(noise / total, 1.0),
        )


def value_bounds(
    measure: MeasureLike, statistic: Moments | ScoreRows, total: float, limits: tuple[float, float]
) -> Mapping[str, Any]:
    """Return the bounds of a value if cases without a score had the worst, or the best one.

    Parameters
    ----------
    measure : Measure
        Measure of scores.
    statistic : Moments or ScoreRows
        Statistic of the cases with a score.
    total : float
        Weight of all cases, also of those without one.
    limits : tuple of float
        Lowest and highest value of a case.

    Returns
    -------
    dict
        Fields of an estimate; empty if no case lacks a score, or there are no such bounds.

    Examples
    --------
    >>> from calipers import measure
    >>> three_of_four = Moments.from_rows(np.array([1.0, 1.0, 1.0, 0.0]))
    >>> value_bounds(measure("pass-rate"), three_of_four, 5.0, (0.0, 1.0))["lower_bound"]
    0.6
    """
    scored = float(statistic.weight if isinstance(statistic, Moments) else statistic.total)
    weight = total - scored
    if not weight > ROUNDING_TOLERANCE * total:
        return {}
    bounds = []
    for end in limits:
        value, weights = np.array([end]), np.array([weight])
        added: Any = (
            Moments.from_rows(value, weights)
            if isinstance(statistic, Moments)
            else ScoreRows.from_rows(np.zeros(1), value, weights)
        )
        with np.errstate(invalid="ignore"):
            completed: Any = statistic + added
            bounds.append(float(measure.apply(completed)))
    if not np.isfinite(bounds).all():
        return {}
    return {"lower_bound": bounds[0], "upper_bound": bounds[1], "bounds_kind": "sharp"}


@dataclass(frozen=True, eq=False, kw_only=True)
class LabeledCaseValues:
    """Values of cases by a judge, and by human labels of some of them.

    Attributes
    ----------
    human, judged : array of shape (n,)
        Value of each case by its label and by the judge, NaN if it has none.
    weight : array of shape (n,), optional
        Weight of each case.
    label_weight : array of shape (n,), optional
        Weight of each label: 1 over the probability with which the case was selected for it.
    clusters : ClusterIndex, optional
        Clusters of the cases.
    settings : Settings
        Settings of inference.
    value_range : tuple of float
        Lowest and highest value of a case.
    target : {"like", "these"}
        What is estimated: the value of cases like these, or of these cases.
    """

    human: FloatArray
    judged: FloatArray
    weight: FloatArray | None
    label_weight: FloatArray | None
    clusters: ClusterIndex | None
    settings: Settings
    value_range: tuple[float, float]
    target: str = "like"

    @cached_property
    def judged_mask(self) -> npt.NDArray[np.bool_]:
        """Mask of the cases with a score of the judge."""
        return ~np.isnan(self.judged)

    @cached_property
    def labeled_mask(self) -> npt.NDArray[np.bool_]:
        """Mask of the cases with a score of the judge and a label."""
        return self.judged_mask & ~np.isnan(self.human)

    def point_estimate(self, measure: MeasureLike) -> PointEstimate:
        """Return the point estimate of a measure of cases."""
        return self.sample(measure).point_estimate()

    def sample(self, measure: MeasureLike) -> LabeledSample:
        """Return the estimates from the labels and from the judge."""

        def subtract(second: LabeledSample) -> LabeledSample:
            return self._difference_sample(measure, second.source)

        sample = self._make_sample(measure, (self,))
        return replace(sample, source=self, subtract=subtract)

    def _difference_sample(self, measure: MeasureLike, second: LabeledCaseValues) -> LabeledSample:
        """Return the sample of a difference.

        If the same cases are labeled, it is that of paired differences. Otherwise it is that of the
        two values, whose labels are all used.
        """
        if np.array_equal(self.labeled_mask, second.labeled_mask):
            return self._make_sample(measure, (self, second))
        return SeparateLabels.from_samples(
            (self.sample(measure), second.sample(measure)),
            human=self._estimate_all(measure, "human") - second._estimate_all(measure, "human"),
            judge=self._estimate_all(measure, "judged") - second._estimate_all(measure, "judged"),
        )

    def _estimate_all(self, measure: MeasureLike, name: str) -> PointEstimate:
        """Return the estimate by people or by the judge alone, over all cases."""
        mask = self.labeled_mask if name == "human" else self.judged_mask
        weight = self.weight
        if name == "human" and self.label_weight is not None:
            weight = self.label_weight if weight is None else self.label_weight * weight
        return self._estimate_cases(
            measure, np.where(mask, getattr(self, name), np.nan), weight, self.clusters
        )

    def _estimate_cases(
        self,
        measure: MeasureLike,
        values: FloatArray,
        weight: FloatArray | None,
        clusters: ClusterIndex | None,
    ) -> PointEstimate:
        """Return the estimate from values of some cases, with their weights and clusters."""
        if clusters is not None:
            clusters = replace(clusters, weight=weight)
        cases = CaseValues(values, weight, clusters, self.settings, self.value_range)
        return cases.point_estimate(measure)

    @staticmethod
    def _make_sample(measure: MeasureLike, systems: Sequence[LabeledCaseValues]) -> LabeledSample:
        first = systems[0]
        judged_mask = np.logical_and.reduce([s.judged_mask for s in systems])
        labeled_mask = np.logical_and.reduce([s.labeled_mask for s in systems])
        label_weight = first.label_weight
        if label_weight is not None:
            used_weights = label_weight[labeled_mask]
            label_weight = label_weight if used_weights.size and np.ptp(used_weights) else None
        # Labels with weights stand for all cases, others for the cases that were labeled.
        others_mask = judged_mask if label_weight is not None else judged_mask & ~labeled_mask
        labeled_cases, all_labeled = labeled_mask, labeled_mask.sum() == judged_mask.sum()
        if all_labeled:
            # Differences of systems may be of different cases, so that they are over all of them.
            others_mask, labeled_cases = np.zeros_like(judged_mask), np.ones_like(judged_mask)

        def estimate(
            name: str, mask: Any, weight: FloatArray | None, rows: object
        ) -> PointEstimate:
            used_mask = labeled_mask if rows is labels else judged_mask
            estimates = [
                system._estimate_cases(
                    measure,
                    np.where(used_mask, getattr(system, name), np.nan)[mask],
                    None if weight is None else weight[mask],
                    None if system.clusters is None else system.clusters.take_rows(mask),
                ).with_rows(rows)
                for system in systems
            ]
            return estimates[0] if len(estimates) == 1 else estimates[0] - estimates[1]

        weight, labels, others, cases = first.weight, object(), object(), object()
        combined = weight
        if label_weight is not None:
            combined = label_weight if weight is None else label_weight * weight
            combined = np.where(labeled_mask, combined, 1.0)
        return LabeledSample(
            human=estimate("human", labeled_cases, combined, labels),
            judged=estimate("judged", labeled_cases, combined, labels),
            others=estimate("judged", others_mask, weight, others) if others_mask.any() else None,
            judge=replace(
                estimate("judged", judged_mask, weight, cases), n_total=len(first.judged)
            ),
            positions=(None if label_weight is None else np.flatnonzero(labeled_mask[judged_mask])),
            target=first.target,
            rows=CaseIndices(
                np.flatnonzero(labeled_cases),
                np.flatnonzero(others_mask),
                len(first.judged),
                first.clusters,
            ),
        )
