"""Scores of cases: systems that somebody gave a score for each case."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from calipers.caching import cached_property
from calipers.data.errors import InputError
from calipers.estimation.case_scores import (
    CaseValues,
    ControlledScores,
    LabeledCaseValues,
    SortedScores,
    mean_of_samples,
    value_bounds,
)
from calipers.estimation.human_labels import judged_sample
from calipers.inference import fixed_cases
from calipers.inference.fixed_cases import FixedCases, jackknife_variances
from calipers.inference.point_estimate import PointEstimate
from calipers.lazy_dataclasses import dataclass
from calipers.measures import parse
from calipers.statistics import FloatArray, IntArray, LengthRows, Moments
from calipers.systems.base import RowSystem

if TYPE_CHECKING:
    from calipers.measures import Measure


@dataclass(frozen=True, eq=False, kw_only=True)
class CaseScores(RowSystem):
    """Scores that one system was given for some cases.

    Attributes
    ----------
    scores : array of shape (n,) or (n, n_samples)
        Score of each case, or of each sample of it; 0 if there is none.
    status : array of int of the same shape
        0 where there is a score, else the number of the reason why there is none.
    reference : array of the same shape, optional
        Scores of the reference system, NaN if it has none.
    score_range : tuple of float
        Lowest and highest possible score.
    is_reference : bool, default=False
        Whether this is the reference system.
    length, reference_length : array of shape (n,), optional
        Length of each output of this system, and of the reference.
    missing_lengths : str
        What is to be given for lengths, if there are none.
    """

    scores: FloatArray
    status: IntArray
    reference: FloatArray | None = None
    score_range: tuple[float, float] = (-inf, inf)
    is_reference: bool = False
    length: FloatArray | None = None
    reference_length: FloatArray | None = None
    missing_lengths: str = "the lengths of outputs: cost={'length': …}"

    unit: ClassVar = "cases"
    columns: ClassVar[tuple[str, ...]] = (
        *("scores", "status", "reference", "length", "reference_length"),
        "weight",
    )
    output_fields: ClassVar = {"scores": float, "status": np.int64}
    needs: ClassVar = {
        "case scores": ("scores", "scores of the cases"),
        "samples": ("is_sampled", "several samples of each case: samples="),
        "reference scores": (
            "reference",
            "a reference: baseline= or reference_system= names a system of the table",
        ),
        "reference lengths": ("reference_length", "the lengths of outputs, and a reference"),
    }

    @property
    def is_sampled(self) -> bool:
        """Whether cases have several samples."""
        return self.scores.ndim == 2

    @cached_property
    def values(self) -> FloatArray:
        """Score of each case, or of each sample, NaN if it has none."""
        return np.where(self.status == 0, self.scores, np.nan)

    @cached_property
    def case_means(self) -> FloatArray:
        """Mean score of the samples of each case, NaN if it has none."""
        return mean_of_samples(self.values) if self.is_sampled else self.values

    def check_measure(self, measure: Measure) -> None:
        """Check that the data suffice for a measure."""
        if measure.definition.reads == "reference lengths" and self.reference_length is None:
            missing = [] if self.length is not None else [self.missing_lengths]
            if self.reference is None:
                missing.append(self.needs["reference scores"][1])
            raise InputError(f"{self.name}: {measure} needs {', and '.join(missing)}")
        super().check_measure(measure)

    def with_outputs(self, name: str, outputs: Mapping[str, Any]) -> CaseScores:
        """Return a system of another name with other scores of the same cases."""
        return self._with(name=name, is_reference=False, **outputs)

    def sample_for(self, measure: Measure) -> CaseValues | SortedScores | ControlledScores:
        """Return the value of each case, the sorted scores, or comparisons with lengths."""
        if measure.definition.statistic is LengthRows:
            return self.cached("controlled", self._compare_lengths)
        if measure.definition.statistic is not Moments:
            return self.cached("sorted", self._sort)
        values = self.case_values(measure)
        rows = self.weight, self.clusters, self.settings, self._value_limits(measure)
        return CaseValues(values, *rows, is_constant=self._is_constant(measure))

    def case_values(self, measure: Measure) -> FloatArray:
        """Return the value of each case, NaN if it is undefined."""
        reference = self.values if self.reference is None else self.reference
        if self.is_sampled:
            return self._sampled_values(measure, reference)
        return measure.losses(reference, self.values)

    def values_of(self, measure: Measure, scores: FloatArray) -> FloatArray:
        """Return the value of each case with other scores of samples, NaN if there is none."""
        status = np.where(np.isnan(scores), 1, 0)
        system = replace(self, scores=np.nan_to_num(scores), status=status)
        return system.case_values(measure)

    def _sampled_values(self, measure: Measure, reference: FloatArray) -> FloatArray:
        """Return the value of each case, from its samples."""
        if measure.definition.reads == "samples":
            given_mask, is_pass = self.status == 0, self.values == 1
            is_other = given_mask & ~is_pass & (self.values != 0)
            passed = np.where(is_other.any(axis=1), inf, is_pass.sum(axis=1))
            return measure.losses(given_mask.sum(axis=1).astype(np.float64), passed)
        # Each sample against each one of the reference, for measures that compare the two.
        pairs = measure.losses(reference[:, None, :], self.values[:, :, None])
        return mean_of_samples(pairs.reshape(len(pairs), -1))

    def _compare_lengths(self) -> ControlledScores:
        wins = parse("win-rate", ("reference-scores",))
        reference = np.full_like(self.values, np.nan) if self.reference is None else self.reference
        if self.is_sampled:
            outcome = self._sampled_values(wins, reference)
        else:
            outcome = wins.losses(reference, self.values)
        length, reference_length = self.length, self.reference_length
        assert length is not None
        assert reference_length is not None
        scored_mask = ~np.isnan(outcome)
        weight = self.weight
        if not scored_mask.all():
            weight = scored_mask * (1.0 if weight is None else weight)
        columns = length - reference_length, np.where(scored_mask, outcome, 0.5), weight
        return ControlledScores(
            *columns,
            self.clusters,
            self.settings,
            self.weight,
            int(np.count_nonzero(scored_mask)),
            self.is_reference,
        )

    def _sort(self) -> SortedScores:
        scored_mask = ~np.isnan(self.case_means)
        scores = np.where(scored_mask, self.case_means, 0.0)
        weight = self.weight
        if not scored_mask.all():
            weight = scored_mask * (1.0 if weight is None else weight)
        columns = np.zeros(len(scores)), scores, weight, self.clusters
        n_scored = int(np.count_nonzero(scored_mask))
        return SortedScores(*columns, self.settings, n_scored, self.score_range)

    def _value_limits(self, measure: Measure) -> tuple[float, float]:
        """Return the lowest and the highest value that a case can have."""
        limits: tuple[float, float] = measure.definition.range
        return limits if np.isfinite(limits).all() else self.score_range

    def point_estimate(self, measure: Measure) -> PointEstimate:
        """Return the point estimate, with the name of its unit."""
        return replace(super().point_estimate(measure), unit=self.unit)

    def auxiliary_values(self, measure: Measure) -> Mapping[str, Any]:
        """Return the bounds of a value if cases without a score had the worst, or the best one."""
        if measure.definition.statistic is LengthRows:
            return {}
        if self.is_sampled:
            return self._sampled_bounds(measure)
        total = float(len(self.scores) if self.weight is None else self.weight.sum())
        return self.merged_values(measure, self.sample_for(measure).statistic, total)

    def merged_values(self, measure: Measure, statistic: Any, weight: float) -> Mapping[str, Any]:
        """Return these bounds from the statistic of all cases with a score."""
        if self._is_constant(measure):
            return {}
        bounds = value_bounds(measure, statistic, weight, self._value_limits(measure))
        if bounds and measure.definition.reads == "reference scores":
            # A score of one system may leave some results of the comparison impossible.
            return {**bounds, "bounds_kind": "outer"}
        return bounds

    def _sampled_bounds(self, measure: Measure) -> Mapping[str, Any]:
        """Return the bounds of a value if samples without a score had the worst or best one."""
        is_compared = measure.definition.reads == "reference scores"
        is_complete = not self.status.any()
        if is_compared and self.reference is not None:
            is_complete &= not np.isnan(self.reference).any()
        if is_complete or self._is_constant(measure):
            return {}
        bounds = [self._filled_value(measure, *limits)
                  for limits in (self.score_range, self.score_range[::-1])]  # fmt: skip
        if not np.isfinite(bounds).all():
            return {}
        return {"lower_bound": bounds[0], "upper_bound": bounds[1], "bounds_kind": "sharp"}

    def _filled_value(self, measure: Measure, score: float, reference_score: float) -> float:
        """Return the value with scores in place of those that were not given."""
        reference = self.reference
        if reference is not None:
            reference = np.where(np.isnan(reference), reference_score, reference)
        scores = np.where(self.status == 0, self.scores, score)
        status = np.zeros_like(self.status)
        system = replace(self, scores=scores, status=status, reference=reference)
        with np.errstate(invalid="ignore"):
            return float(measure.apply(system.sample_for(measure).statistic))

    def _is_constant(self, measure: Measure) -> bool:
        return self.is_reference and measure.definition.reads == "reference scores"


@dataclass(frozen=True, eq=False, kw_only=True)
class FixedCaseScores(CaseScores):
    """Scores of several samples of fixed cases: means over these cases, whose samples vary."""

    def check_measure(self, measure: Measure) -> None:
        """Check that a measure is a mean over cases of one system."""
        super().check_measure(measure)
        definition = measure.definition
        is_mean = definition.statistic is Moments
        if not is_mean or definition.reads == "reference scores":
            reason = "takes samples of two systems" if is_mean else "is not a mean over cases"
            raise InputError(
                f"target='these': {measure} {reason}; expected measures such as pass-rate, "
                "mean-score or pass@k"
            )

    def sample_for(self, measure: Measure) -> None:  # type: ignore[override]
        """Return None, as cases are not a sample."""
        return

    def composite_estimate(self, measure: Measure) -> PointEstimate:
        """Return the point estimate of the mean over these cases."""
        return self.cached(("fixed", measure), lambda: self._estimate(measure))

    def _estimate(self, measure: Measure) -> PointEstimate:
        estimate = self._as_sample.point_estimate(measure)
        if not np.isfinite(estimate.value):
            return estimate
        values = self._as_sample.case_values(measure)
        defined_mask = ~np.isnan(values)
        weight = None if self.weight is None else self.weight[defined_mask]
        samples = self.values[defined_mask]
        variances = jackknife_variances(samples, partial(self._as_sample.values_of, measure))
        n_samples = (~np.isnan(samples)).sum(axis=1)
        cases = FixedCases.from_variances(
            variances,
            n_samples,
            self._largest_variance(measure, variances, n_samples),
            weight,
            self._expected_variances(measure, samples, variances, n_samples),
        )
        return PointEstimate(
            value=estimate.value,
            kind=fixed_cases.KIND,
            settings=self.settings,
            n=estimate.n,
            n_total=estimate.n_total,
            unit=self.unit,
            bounds=estimate.bounds,
            higher_is_better=estimate.higher_is_better,
            undefined=estimate.undefined,
            weight=self.weight,
            joint_distribution=cases,
            compute_error=lambda: cases.error,
        )

    def _largest_variance(
        self, measure: Measure, variances: FloatArray, n_samples: IntArray
    ) -> float:
        """Return the largest variance of a case with the smallest number of samples.

        With scores that may be any number, it is the largest that there is.
        """
        known_mask = ~np.isnan(variances)
        if not known_mask.any():
            return np.nan
        n, (low, high) = int(n_samples.min()), self._value_limits(measure)
        if measure.definition.reads == "samples":
            if not known_mask.all():
                return 0.25  # of a probability that is estimated by 0 or 1
            passed = np.tri(n + 1, n, -1)
            values_of = partial(self._values_of_passes, measure)
            return float(jackknife_variances(passed, values_of).max())
        if not np.isfinite(high - low):
            return float((variances * n_samples)[known_mask].max()) / n
        if n == 1:
            return float(high - low) ** 2 / 4
        # Half of the samples at either end; of an odd number of passes, half but one.
        is_odd = measure.definition.counts_hits is not None and n % 2 == 1
        return float(high - low) ** 2 * (1 - is_odd / n**2) / 4 / (n - 1)

    def _values_of_passes(self, measure: Measure, passed: FloatArray) -> FloatArray:
        """Return the values of cases with these samples: 1 or 0, or NaN if there is none."""
        system = replace(self._as_sample, weight=None, clusters=None)
        return system.values_of(measure, passed)

    def _expected_variances(
        self, measure: Measure, samples: FloatArray, variances: FloatArray, n_samples: IntArray
    ) -> FloatArray:
        """Return the variance of each case that has one, with the samples of each that has none."""
        known_mask = ~np.isnan(variances)
        n_known, n_unknown = n_samples[known_mask], n_samples[~known_mask]
        if measure.definition.reads != "samples":
            return np.outer(variances[known_mask] * n_known, 1 / n_unknown)
        from scipy.stats import binom

        passed = np.nansum(samples[known_mask], axis=1)
        variance_by_number = {}
        for n in np.unique(n_unknown).tolist():
            values = self._values_of_passes(measure, np.tri(n + 1, n, -1))
            probabilities = binom.pmf(np.arange(n + 1), n, (passed / n_known)[:, None])
            variance = probabilities @ np.square(values) - np.square(probabilities @ values)
            # The variance of 0 and 1 by a proportion of n is too small by (n - 1)/n.
            variance_by_number[n] = variance * n_known / (n_known - 1)
        columns = [variance_by_number[n] for n in n_unknown.tolist()]
        return np.column_stack(columns) if columns else np.zeros((len(n_known), 0))

    @cached_property
    def _as_sample(self) -> CaseScores:
        """The same system, whose cases are a sample."""
        names = (f.name for f in fields(CaseScores))
        return CaseScores(**{name: getattr(self, name) for name in names})

    def auxiliary_values(self, measure: Measure) -> Mapping[str, Any]:
        """Return the bounds of a value if samples without a score had the worst, or best one."""
        return self._as_sample.auxiliary_values(measure)


@dataclass(frozen=True, eq=False, kw_only=True)
class LabeledCaseScores(CaseScores):
    """Scores that a judge gave to one system, with human labels of some cases.

    Attributes
    ----------
    human : array of shape (n,)
        Human label of each case, NaN if it has none.
    human_reference : array of shape (n,), optional
        Human labels of the reference system.
    human_weight : array of shape (n,), optional
        Weight of each label: 1 over the probability with which the case was selected for it.
    target : {"like", "these"}, default="like"
        What is estimated: the value of cases like these, or of these cases.
    """

    human: FloatArray
    human_reference: FloatArray | None = None
    human_weight: FloatArray | None = None
    target: str = "like"

    columns: ClassVar[tuple[str, ...]] = (
        *CaseScores.columns,
        "human",
        "human_reference",
        "human_weight",
    )

    def labeled_values(self, measure: Measure) -> LabeledCaseValues:
        """Return the value of each case by its label and by the judge."""
        return self.cached(("labeled", measure), lambda: self._labeled_values(measure))

    def _labeled_values(self, measure: Measure) -> LabeledCaseValues:
        reference = self.values if self.reference is None else self.reference
        human_reference = self.human if self.human_reference is None else self.human_reference
        return LabeledCaseValues(
            human=measure.losses(human_reference, self.human),
            judged=measure.losses(reference, self.values),
            weight=self.weight,
            label_weight=self.human_weight,
            clusters=self.clusters,
            settings=self.settings,
            value_range=self._value_limits(measure),
            target=self.target,
        )

    def sample_for(self, measure: Measure) -> None:  # type: ignore[override]
        """Return None, as a measure takes the statistics of labels and of the judge."""
        return

    def composite_estimate(self, measure: Measure) -> PointEstimate:
        """Return the point estimate from the labels and the scores of the judge."""
        if self._is_constant(measure):
            # Its labels are those that differences from it are of.
            constant = self._judge.point_estimate(measure)
            sample = self.labeled_values(measure).sample(measure)
            return replace(constant, unit=self.unit, joint_distribution=sample)
        return self.labeled_values(measure).point_estimate(measure)

    @property
    def _judge(self) -> CaseScores:
        """The same system with the scores of the judge alone."""
        names = (f.name for f in fields(CaseScores))
        return CaseScores(**{name: getattr(self, name) for name in names})

    def check_measure(self, measure: Measure) -> None:
        """Check that the data suffice for a measure, and that labels serve it."""
        super().check_measure(measure)
        if measure.definition.statistic is not Moments:
            raise InputError(
                f"human: {measure} is not a mean over cases, so labels of some of them cannot be "
                "combined with the scores of all; expected measures such as pass-rate or mean-score"
            )

    def auxiliary_values(self, measure: Measure) -> Mapping[str, Any]:
        """Return what is known of the labels behind a value."""
        if self._is_constant(measure):
            return {}
        return {"judged": judged_sample(self.point_estimate(measure))}

    def merged_values(self, measure: Measure, statistic: Any, weight: float) -> Mapping[str, Any]:
        """Return nothing, as rows with labels do not come in batches."""
        return {}
