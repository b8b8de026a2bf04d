"""Scores of cases: proportions, means and medians of the cases that have a score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.caching import cached_property
from calipers.estimation.multilabel import RowValues
from calipers.estimation.proportions import proportion_intervals
from calipers.estimation.regression import SortedRows
from calipers.inference.human_labels import LabeledSample
from calipers.inference.intervals import ROUNDING_TOLERANCE
from calipers.statistics import FloatArray, Moments, ScoreRows

if TYPE_CHECKING:
    import numpy.typing as npt

    from calipers.inference.clusters import ClusterIndex
    from calipers.inference.point_estimate import JointDistribution, PointEstimate
    from calipers.inference.settings import MeasureLike, Settings
    from calipers.inference.variance_estimators import Influence


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
        """Whether every case counts 0 or 1, with the same weight and independently."""
        return bool(
            self.weight is None and self.clusters is None and np.isin(self.values, (0.0, 1.0)).all()
        )

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
        if not (self.is_binary and second_cases.is_binary):
            return difference

        def discordant() -> tuple[float, float]:
            sign = self.values - second_cases.values
            return float(np.count_nonzero(sign > 0)), float(np.count_nonzero(sign < 0))

        return replace(difference, discordant_proportions=discordant)


@dataclass(frozen=True, eq=False)
class SortedScores(SortedRows):
    """Sample of sorted scores. Cases without a score have weight 0, and are not counted.

    Attributes
    ----------
    n_scored : int
        Number of cases with a score.
    """

    n_scored: int

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
        return add_unscored(measure, super().point_estimate(measure), self.n_scored)


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
    def from_samples(cls, values: FloatArray) -> VarianceComponents | None:
        """Estimate the components, or return None if too few cases have two samples.

        Parameters
        ----------
        values : array of shape (n_cases, n_samples)
            Scores, NaN if there is none.

        Returns
        -------
        VarianceComponents or None
            The components, by the method of moments (analysis of variance).

        Examples
        --------
        >>> samples = np.array([[1.0, 1, 0, 1], [0, 0, 1, 0], [1, 1, 1, 1]])
        >>> components = VarianceComponents.from_samples(samples)
        >>> round(components.case, 7), round(components.sample, 7), round(components.mean, 7)
        (0.1041667, 0.1666667, 0.0486111)
        """
        counts = (~np.isnan(values)).sum(axis=1)
        values, counts = values[counts > 1], counts[counts > 1]
        if len(values) < 2:
            return None
        means = mean_of_samples(values)
        squares = np.nansum(np.square(values - means[:, None]), axis=1)
        variances = squares / (counts - 1)
        sample, between = float(variances.mean()), float(means.var(ddof=1))
        noise = float((variances / counts).mean())
        if not between > 0:
            return None
        return cls(between - noise, sample, between / len(means), min(noise / between, 1.0))


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
        return self._sample(measure).point_estimate()

    def _sample(self, measure: MeasureLike) -> LabeledSample:
        def subtract(second: LabeledSample) -> LabeledSample:
            return self._difference_sample(measure, second.source)

        sample = self._make_sample(measure, (self,))
        return replace(sample, source=self, subtract=subtract)

    def _difference_sample(self, measure: MeasureLike, second: LabeledCaseValues) -> LabeledSample:
        """Return the sample of a difference, from the cases that both systems have."""
        return self._make_sample(measure, (self, second))

    @staticmethod
    def _make_sample(measure: MeasureLike, systems: Sequence[LabeledCaseValues]) -> LabeledSample:
        first = systems[0]
        judged_mask = np.logical_and.reduce([s.judged_mask for s in systems])
        labeled_mask = np.logical_and.reduce([s.labeled_mask for s in systems])
        label_weight = first.label_weight
        if label_weight is not None and not np.ptp(label_weight[labeled_mask]):
            label_weight = None
        # Labels with weights stand for all cases, others for the cases that were labeled.
        others_mask = judged_mask if label_weight is not None else judged_mask & ~labeled_mask
        if labeled_mask.sum() == judged_mask.sum():
            others_mask = np.zeros_like(judged_mask)

        def estimate(
            name: str, mask: Any, weight: FloatArray | None, rows: object
        ) -> PointEstimate:
            estimates = [
                CaseValues(
                    getattr(system, name)[mask],
                    None if weight is None else weight[mask],
                    None
                    if system.clusters is None
                    else replace(
                        system.clusters.take_rows(mask),
                        weight=None if weight is None else weight[mask],
                    ),
                    system.settings,
                    system.value_range,
                )
                .point_estimate(measure)
                .with_rows(rows)
                for system in systems
            ]
            return estimates[0] if len(estimates) == 1 else estimates[0] - estimates[1]

        weight, labels, others, cases = first.weight, object(), object(), object()
        combined = weight
        if label_weight is not None:
            combined = label_weight if weight is None else label_weight * weight
            combined = np.where(labeled_mask, combined, 1.0)
        return LabeledSample(
            human=estimate("human", labeled_mask, combined, labels),
            judged=estimate("judged", labeled_mask, combined, labels),
            others=estimate("judged", others_mask, weight, others) if others_mask.any() else None,
            judge=replace(
                estimate("judged", judged_mask, weight, cases), n_total=len(first.judged)
            ),
            target=first.target,
        )
