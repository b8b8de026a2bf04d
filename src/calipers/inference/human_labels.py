"""Estimates from human labels of some rows and the scores of a judge on all of them.

The judge, often a language model, scores every row; people label few of them. With h the estimate
from the labels, j that from the judge on the same rows and J that from the judge on the other ones,

    h + λ(J − j)

has the expectation of h whatever the errors of the judge, as j and J have the same one. With λ as
the projection of h on j − J it varies less than h, the more the judge agrees with the labels
(prediction-powered inference; a difference estimator of survey sampling). λ is at least 0, and at
most what it is for a judge that is right on every row: the ratio of the standard errors of h and j,
times the proportion of other rows.

Limits come from what the labeled rows leave unexplained, r = y − λf, and from the judge on the
other rows: the first by a method for few rows whose disagreements may be rare, both by MOVER. A
good judge leaves few rows on which r varies at all, so that Student's t of them held the truth as
seldom as 74 times of 100.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.caching import cached_property
from calipers.inference import intervals
from calipers.inference.bayesian_bootstrap import METHOD as BAYESIAN_METHOD
from calipers.inference.bayesian_bootstrap import AugmentedMean, endpoint_distance, n_nonzero
from calipers.inference.intervals import Interval, no_interval
from calipers.inference.method_limits import MIN_HUMAN_LABELS
from calipers.inference.point_estimate import (
    JointDistribution,
    PointEstimate,
    UnitValues,
    lazy_difference,
)
from calipers.inference.procedures import LimitsProcedure, Procedure, no_procedure
from calipers.inference.proportions import PostStratifiedProportion
from calipers.inference.transformations import TRANSFORMATIONS
from calipers.inference.variance_estimators import (
    DisjointRowsVariance,
    Influence,
    MeanVariance,
    NestedRowsVariance,
    StandardError,
    VarianceEstimator,
)
from calipers.lazy_dataclasses import dataclass
from calipers.statistics import effective_size_from_weights

if TYPE_CHECKING:
    from calipers.inference.clusters import ClusterIndex
    from calipers.statistics import FloatArray, IntArray

#: Kind of such an estimate, in the tables of the policy.
KIND = "few human labels"

#: Kind of differences of values that have units of their own.
SEPARATE_KIND = "units of their own"

#: Kind of measures of clusters and classes.
PARTITION_KIND = "measure of partitions"

#: What is added to the name of a method.
_ADJUSTED = "adjusted by the judge"
#: Half a row is placed at the largest residual times 1 + this number over that of disagreements,
#: if measures are means without ends. With 30 and 100 labels, and judges of numbers and of two
#: classes that err on 2% to all of the rows, limits of MAE and log loss then held the truth up to
#: 2.2 times of 100 less often than those of the labels alone, and with 2 instead of 5 up to 4.5.
#: So is half a cluster, by Kish's number of clusters with disagreements. With 10 labeled clusters
#: of very unequal size and five judges, limits of pass rates, AUC and F1 held the truth 93 to 100
#: times of 100, and 85 to 95 without half clusters.
_FEW_DISAGREEMENTS = 5
#: The caution of measures of squares, of which few rows may have most of the sum.
_HEAVY_TAIL = "a heavy tail"


@dataclass(frozen=True)
class JudgeMoments:
    """Variances and covariances of an estimate by labels and those by a judge.

    Attributes
    ----------
    human, judged, others : float
        Variance of h, j and J.
    human_judged : float
        Covariance of h and j.
    human_contrast : float
        Covariance of h and j − J, by which h is corrected.
    contrast : float
        Variance of j − J.
    proportion_of_others : float, default=1.0
        Proportion of the rows without a label, if J is that of these; 1 if J is that of all rows.
    """

    human: float
    judged: float
    others: float
    human_judged: float
    human_contrast: float
    contrast: float
    proportion_of_others: float = 1.0

    @property
    def projection(self) -> float:
        """Coefficient of the projection of h on j − J, which may be negative."""
        return self.human_contrast / self.contrast if self.contrast > 0 else 0.0

    @property
    def coefficient(self) -> float:
        """λ, between 0 and what it is if the judge is right on every row.

        That is the ratio of the standard errors of h and j, times the proportion of other rows.
        Of few other rows the judge's scores may all be equal by chance, as if J were known.

        Examples
        --------
        >>> moments = JudgeMoments(4.0, 1.0, 0.5, 1.125, 1.125, 1.5)
        >>> moments.coefficient
        0.75
        >>> replace(moments, human=0.25).coefficient
        0.5
        >>> replace(moments, human=0.25, proportion_of_others=0.75).coefficient
        0.375
        """
        if not self.judged > 0:
            return 0.0
        largest = math.sqrt(self.human / self.judged) * self.proportion_of_others
        return min(max(self.projection, 0.0), largest)


@dataclass(frozen=True, eq=False)
class CaseIndices:
    """Which of all cases the labeled and the other ones of a sample are.

    Attributes
    ----------
    labeled, others : ndarray of int
        Indices of the cases.
    n_cases : int
        Number of all cases.
    clusters : ClusterIndex or None
        Clusters of all cases.
    """

    labeled: IntArray
    others: IntArray
    n_cases: int
    clusters: ClusterIndex | None

    def influence(self, labeled: FloatArray, others: FloatArray | None) -> Influence:
        """Return the influence of all cases from those of labeled and of other ones."""
        column = np.zeros(self.n_cases)
        column[self.labeled] += labeled
        if others is not None:
            column[self.others] += others
        return Influence(column, VarianceEstimator(None, self.clusters))


@dataclass(frozen=True, eq=False, kw_only=True)
class LabeledSample(JointDistribution):
    """Estimates of one measure from human labels and from the scores of a judge.

    Attributes
    ----------
    human : PointEstimate
        Estimate from the human labels.
    judged : PointEstimate
        Estimate from the judge's scores of the same rows.
    others : PointEstimate or None
        Estimate from the judge's scores of the other rows, or of all rows if labels have weights;
        None if every row is labeled.
    judge : PointEstimate
        Estimate from the judge's scores of all rows.
    positions : ndarray of int, optional
        Position of each labeled row among the rows of ``others``, if these are all rows.
    target : {"like", "these"}, default="like"
        What is estimated: the value of rows like these, or of these rows themselves.
    subtract : callable, optional
        Function that returns the sample of the difference from another one; by default all rows of
        both are the same.
    source : object, optional
        What the estimates are from, for ``subtract``.
    proportion_unlabeled : float, optional
        Proportion of rows without a label, if labeled rows may have no value by people but one by
        the judge; by default that of the rows with a value.
    undefined_labels : mapping of str to int
        Number of labeled rows without a value by people, by reason.
    rows : CaseIndices, optional
        Which of all cases they are, if other systems may have labels of other ones.
    """

    human: PointEstimate
    judged: PointEstimate
    others: PointEstimate | None
    judge: PointEstimate
    positions: IntArray | None = None
    target: str = "like"
    subtract: Callable[[LabeledSample], LabeledSample] | None = None
    source: Any = None
    proportion_unlabeled: float | None = None
    undefined_labels: Mapping[str, int] = field(default_factory=dict)
    rows: CaseIndices | None = None

    # --- Numbers of rows -------------------------------------------------------------------------

    @property
    def n_human(self) -> int:
        """Number of labeled rows."""
        return self.human.n

    def effective_sizes(self) -> tuple[float, ...]:
        """Return the number of labeled rows, as that of units of a value."""
        return (float(self.n_human),)

    @property
    def n_others(self) -> int:
        """Number of other rows, which only the judge scored."""
        if self.others is None:
            return 0
        if self.positions is None:
            return self.others.n
        return max(self.judge.n - self.human.n, 0)

    @property
    def _size(self) -> int:
        """Number of rows behind the judge's mean of other rows."""
        return 0 if self.others is None else self.others.n

    @property
    def _is_of_these(self) -> bool:
        return self.target == "these"

    # --- The coefficient -------------------------------------------------------------------------

    @cached_property
    def _influences(self) -> tuple[Influence, Influence, Influence] | None:
        """Influence on h, j and J, of the rows of both sets; None if one is not known."""
        assert self.others is not None
        influences = []
        for estimate in (self.human, self.judged, self.others):
            influence = _row_influence(estimate)
            if influence is None or not np.isfinite(influence.corrected.column).all():
                return None
            influences.append(influence)
        human, judged, others = influences
        estimators = human.variance_estimator, others.variance_estimator
        sizes = len(human.column), len(others.column)
        space = DisjointRowsVariance.from_subsets(estimators, sizes)
        if self.positions is not None:
            space = NestedRowsVariance(
                None, space.clusters, subsets=estimators, sizes=sizes, positions=self.positions
            )
        # The judge's own classes of rows may differ from those of the labels.
        judged = replace(
            judged,
            column=judged.corrected.column,
            variance_estimator=human.corrected.variance_estimator,
        )
        return (
            space.embed(0, human),
            space.embed(0, judged),
            space.embed(1, others),
        )

    @staticmethod
    def _vector(influence: Influence) -> FloatArray:
        """Return the influence by row, or by cluster of rows of either set."""
        space = influence.variance_estimator
        if space.clusters is not None:
            return np.asarray(space.cluster_sums(influence.column)[0].sum(axis=0))
        if isinstance(space, NestedRowsVariance):
            return space.row_sums(influence.column)
        return influence.column

    @cached_property
    def moments(self) -> JudgeMoments:
        """Variances and covariances of h, j and J."""
        if self.others is None or self._influences is None:
            return JudgeMoments(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        human, judged, others = (self._vector(influence) for influence in self._influences)
        contrast = judged if self._is_of_these else judged - others
        is_of_others = not self._is_of_these and self.positions is None
        return JudgeMoments(
            human=float(human @ human),
            judged=float(judged @ judged),
            others=float(others @ others),
            human_judged=float(human @ judged),
            human_contrast=float(human @ contrast),
            contrast=float(contrast @ contrast),
            proportion_of_others=self._proportion_of_others if is_of_others else 1.0,
        )

    @property
    def projection(self) -> float:
        """Coefficient of the projection of h on j − J, which may be negative."""
        return self.moments.projection

    @cached_property
    def coefficient(self) -> float:
        """λ, between 0 and what it is if the judge is right on every row."""
        moments = self.moments
        if not (moments.judged > 0 and self.n_human > 1):
            return 0.0
        if self.strata is not None:
            return self.strata.slope * moments.proportion_of_others
        return moments.coefficient

    @property
    def _proportion_of_others(self) -> float:
        if self.proportion_unlabeled is not None:
            return self.proportion_unlabeled
        return self.n_others / (self.n_human + self.n_others)

    @cached_property
    def correlation(self) -> float:
        """Squared correlation of labels and judge, by the judge's variance on all rows.

        It is NaN if every row is labeled, where it does not matter.
        """
        if self.others is None:
            return math.nan
        if not self.n_human:
            return 0.0
        moments = self.moments
        is_of_labeled = self._is_of_these or self.proportion_unlabeled is not None
        if not moments.human > 0:
            return 0.0
        variance = moments.judged if is_of_labeled else self._pooled_variance / self.n_human
        if not variance > 0:
            return 0.0
        return min(1.0, moments.human_judged**2 / (moments.human * variance))

    @cached_property
    def _pooled_variance(self) -> float:
        """Variance of the judge's values, of labeled and other rows together."""
        assert self.others is not None
        n, size = self.n_human, self._size
        pair = self.judged.units, self.others.units
        if all(isinstance(u, UnitValues) and u.is_unweighted for u in pair):
            values = [u.values for u in pair if isinstance(u, UnitValues)]
            pooled = np.concatenate(values)
            return float(pooled.var(ddof=1)) if len(pooled) > 1 else 0.0
        moments = self.moments
        return (n * n * moments.judged + size * size * moments.others) / (n + size)

    @cached_property
    def worth(self) -> float:
        """Number of labels that would estimate the value as precisely without a judge.

        It is NaN for these rows themselves, whose labels are known.
        """
        n, others = self.n_human, self.n_others
        if self.others is None:
            return float(n)
        if self._is_of_these:
            return math.nan
        human = self.moments.human
        if not (human > 0 and self.coefficient):
            return float(n)
        is_of_same_rows = self.proportion_unlabeled is None
        if is_of_same_rows and self.human.clusters is None and self.human.weight is None:
            return min(n / (1 - self.correlation * others / (n + others)), float(n + others))
        # Both variances without corrections for few clusters, so that λ by projection has the ratio
        # at least 1.
        moments, coefficient = self.moments, self.coefficient
        squared_error = human + coefficient * (
            coefficient * moments.contrast - 2 * moments.human_contrast
        )
        # Where the judge agrees with every label, all of its scores are worth a label.
        return min(n * human / squared_error if squared_error > 0 else math.inf, float(n + others))

    # --- Value -----------------------------------------------------------------------------------

    @cached_property
    def strata(self) -> PostStratifiedProportion | None:
        """Labels by verdict, if both have two values, of rows that are independent and equal."""
        if self.human.operands is not None or self.others is None:
            return None
        estimates = self.human, self.judged, self.others
        units = [e.units for e in estimates]
        if not all(e.is_unit_mean and e.bounds == (0.0, 1.0) for e in estimates):
            return None
        columns = []
        for unit in units:
            if not (isinstance(unit, UnitValues) and unit.is_unweighted):
                return None
            if not np.isin(unit.values, (0.0, 1.0)).all():
                return None
            columns.append(unit.values)
        human, judged, others = columns
        verdicts = [judged == 0, judged == 1]
        return PostStratifiedProportion(
            hits=(float(human[verdicts[0]].sum()), float(human[verdicts[1]].sum())),
            labels=(int(verdicts[0].sum()), int(verdicts[1].sum())),
            others=(int((others == 0).sum()), int((others == 1).sum())),
        )

    @cached_property
    def value(self) -> float:
        """Estimate from labels and judge."""
        if self.others is None:
            return self.human.value
        if self.strata is not None:
            return self.strata.value
        if not self.coefficient:  # the judge's values may be undefined
            return self.human.value
        shift = self.coefficient * (self.others.value - self.judged.value)
        return self.human.value + shift * (self._proportion_of_others if self._is_of_these else 1.0)

    @property
    def _value_in_range(self) -> float:
        """The estimate, which of near-perfect systems may be beyond the range of the measure."""
        if not np.isfinite(self.human.value):
            return self.human.value
        low, high = self.human.bounds
        return min(max(self.value, low), high)

    @cached_property
    def _residual_influence(self) -> Influence:
        """Influence on h − λj."""
        assert self._influences is not None
        human, judged, _ = self._influences
        return human - self.coefficient * judged

    @cached_property
    def standard_error(self) -> StandardError:
        """Standard error of h + λ(J − j); with clusters it has the df of the labeled ones."""
        if self._influences is None:
            return StandardError(math.nan, f"Student t, {_ADJUSTED}", 0.0)
        influence, (_, _, others) = self._residual_influence, self._influences
        labeled_factor = 1.0
        if self._is_of_these:
            labeled_factor = math.sqrt(self._proportion_of_others)
        else:
            influence = influence + self.coefficient * others
        error = influence.standard_error
        degrees = self.human.n - 1.0
        if self.human.clusters is not None:
            degrees = self.human.clusters.n_clusters - 1.0
            if error.df is not None and error.df < degrees:
                degrees = error.df
        return StandardError(error.se * labeled_factor, f"Student t, {_ADJUSTED}", degrees)

    @cached_property
    def _judge_error(self) -> float:
        """Standard error of λJ.

        If labeled rows are among those of J, it is the root of what J adds to the variance of
        h − λj: its own one and twice the covariance. It is at least 0, although the covariance may
        be negative.
        """
        if self._is_of_these or self._influences is None:
            return 0.0
        if self.positions is None:
            return self.coefficient * self._influences[2].standard_error.se
        labeled = self._residual_influence.standard_error.se
        return math.sqrt(max(self.standard_error.se**2 - labeled**2, 0.0))

    def case_influence(self) -> Influence:
        """Return the influence of all cases on the value; NaN if it is not known."""
        rows = self.rows
        assert rows is not None
        if self.others is None:
            joint = self.human.joint_distribution
            influence = None if joint is None else joint.all_rows_influence()
            unknown = np.full(len(rows.labeled), math.nan)
            return rows.influence(unknown if influence is None else influence.column, None)
        if self._influences is None:
            return rows.influence(np.full(len(rows.labeled), math.nan), None)
        labeled = _rows(self._residual_influence, 0)
        if self._is_of_these:
            return rows.influence(math.sqrt(self._proportion_of_others) * labeled, None)
        return rows.influence(labeled, self.coefficient * _rows(self._influences[2], 1))

    def point_estimate(self) -> PointEstimate:
        """Return the point estimate, whose interval and tests are those of this sample."""
        human = self.human
        if self.others is None:
            return replace(human, joint_distribution=self, n_total=self.judge.n_total, row_key=None)
        return PointEstimate(
            value=self._value_in_range,
            kind=KIND,
            settings=human.settings,
            n=self.judge.n,
            unit=human.unit,
            bounds=human.bounds,
            higher_is_better=human.higher_is_better,
            undefined=self.judge.undefined if self.n_human else self._missing_labels,
            n_total=self.judge.n_total,
            weight=self.judge.weight,
            clusters=human.clusters,
            joint_distribution=self,
        )

    @property
    def _missing_labels(self) -> Mapping[str, int]:
        """Why there is no value by people: the reasons of labeled rows, or that there are none."""
        return dict(self.undefined_labels) or {"no_label": self.judge.n}

    # --- Differences -----------------------------------------------------------------------------

    def is_joint_with(self, second: JointDistribution) -> bool:
        """Return whether the second one is of human labels, too."""
        return isinstance(second, LabeledSample)

    def minus(self, second: LabeledSample) -> LabeledSample:
        """Return the sample of the difference of two systems on the same rows."""
        if self.subtract is not None:
            return self.subtract(second)
        has_others = self.others is not None and second.others is not None
        return LabeledSample(
            human=_subtract(self.human, second.human),
            judged=_subtract(self.judged, second.judged),
            others=_subtract(self.others, second.others) if has_others else None,  # type: ignore[arg-type]
            judge=self.judge - second.judge,
            positions=self.positions,
            target=self.target,
        )

    def difference(self, first: PointEstimate, second: PointEstimate) -> PointEstimate:
        """Return the difference, whose λ is that of the differences of the rows."""
        second_sample = second.joint_distribution
        assert isinstance(second_sample, LabeledSample)
        sample = self.minus(second_sample)
        if isinstance(sample, SeparateLabels):
            return sample.separate_difference(first, second)
        if sample.others is None:
            return replace(
                sample.human, operands=(first, second), joint_distribution=sample, row_key=None
            )
        return first.difference(
            second,
            value=sample.value,
            kind=KIND,
            n=sample.judge.n,
            bounds=sample.human.bounds,
            joint_distribution=sample,
            weight=sample.judge.weight,
            clusters=sample.human.clusters,
        )

    # --- Intervals -------------------------------------------------------------------------------

    @property
    def is_of_labels_alone(self) -> bool:
        """Whether the judge has no part in the value, whose limits are those of the labels alone.

        Limits of clusters and of post-strata are for few labels of these, whatever λ is.
        """
        if self.others is None or self._is_of_these or self.n_human < MIN_HUMAN_LABELS:
            return False
        has_own_limits = self.human.clusters is not None or self.strata is not None
        return self._influences is not None and not (self.coefficient or has_own_limits)

    def interval(self, level: float) -> Interval:
        """Return the interval by the method for this kind of estimate."""
        clusters = self.human.clusters
        if self.n_human < MIN_HUMAN_LABELS or (clusters is not None and clusters.n_clusters < 2):
            return no_interval("none", "too_few_labels")
        if self._is_of_these and not self.n_others:
            return no_interval("none", "all_labeled")
        if self._influences is None or not math.isfinite(self.standard_error.se):
            return no_interval("none", "no_analytic_interval")
        return self._select_method()(level)

    def _select_method(self) -> Callable[[float], Interval]:
        human = self.human
        if human.clusters is not None:
            return self._augmented_interval
        if self.strata is not None:
            return self._strata_interval
        if human.operands is None and _is_of_squares(human) and self._has_unit_means:
            return self._hall_interval
        if self._has_unit_means and (human.operands or np.isfinite(human.bounds).all()):
            return self._bayesian_interval
        return self._augmented_interval

    @property
    def _has_unit_means(self) -> bool:
        """Whether both are means of values of the labeled rows, or functions of such means."""
        return all(values is not None for values in self._unit_values)

    @cached_property
    def _unit_values(self) -> tuple[FloatArray | None, FloatArray | None]:
        """Values of the labeled rows whose means are h and j, to first order."""
        return _linear_values(self.human), _linear_values(self.judged)

    @cached_property
    def _residuals(self) -> FloatArray:
        """Values of the labeled rows less λ times those of the judge, whose mean is h − λj."""
        human, judged = self._unit_values
        assert human is not None
        assert judged is not None
        return np.asarray(human - self.coefficient * judged)

    @cached_property
    def _deviations(self) -> FloatArray:
        """Influence of the labeled rows on h − λj, times their number."""
        return np.asarray(self.n_human * _rows(self._residual_influence, 0))

    def _add_judge(self, limits: Interval, mean: float, level: float, method: str) -> Interval:
        """Return the interval of the value from that of the mean of the residuals."""
        limits = self._shrink(limits, mean)
        # Both errors add up as those of r̄ − (−λJ).
        half_width, center = intervals.normal_quantile(level) * self._judge_error, mean - self.value
        judge = Interval(center - half_width, center + half_width, method)
        interval = intervals.mover_interval(mean, limits, center, judge)
        return replace(interval, method=method, se=self.standard_error.se)

    def _shrink(self, limits: Interval, mean: float) -> Interval:
        """Return the limits about a mean of the residuals, of these rows if they are the target."""
        if not self._is_of_these:
            return limits
        shrinkage = math.sqrt(self._proportion_of_others)
        low, high = (mean + shrinkage * (end - mean) for end in (limits.low, limits.high))
        return replace(limits, low=low, high=high)

    def _strata_interval(self, level: float) -> Interval:
        assert self.strata is not None
        if self._is_of_these:
            low, high = self.strata.limits_of_these(level)
        else:
            low, high = self.strata.limits(level)
        return Interval(low, high, "post-stratified by judge", se=self.standard_error.se)

    def _bayesian_interval(self, level: float) -> Interval:
        method = f"{BAYESIAN_METHOD}, {_ADJUSTED}"
        units, residuals = self.human.units, self._residuals
        weight = units.weight if isinstance(units, UnitValues) else None
        if self.human.operands is not None:
            endpoints = -self._difference_reach, self._difference_reach
        else:
            (low, high), (judge_low, judge_high) = self.human.bounds, self.judged.bounds
            endpoints = low - self._multiply(judge_high), high - self._multiply(judge_low)
        mean = float(np.average(residuals, weights=weight))
        distribution = AugmentedMean.from_values(residuals, endpoints, weight=weight)
        if distribution is None:
            return no_interval(method, "no_spread")
        tails = distribution.quantiles(np.array([(1 - level) / 2, (1 + level) / 2]))
        limits = Interval(min(float(tails[0]), mean), max(float(tails[1]), mean), method)
        return self._add_judge(limits, mean, level, method)

    def _multiply(self, end: float) -> float:
        """Return λ times an end of the range of the judge, which may be infinite."""
        return self.coefficient * end if self.coefficient else 0.0

    @property
    def _difference_reach(self) -> float:
        """Distance of half a row at either end from a difference of 0."""
        largest = self.human.bounds[1] + self._multiply(self.judged.bounds[1])
        if not math.isfinite(largest):
            assert self.others is not None
            columns = *self._unit_values, _linear_values(self.others), self._residuals
            largest = max(float(np.abs(x).max()) for x in columns if x is not None)
        # A judge that sides with one system is wrong on few rows, and all in one direction.
        return endpoint_distance(self._residuals, largest, self._n_wrong)

    def _augmented_interval(self, level: float) -> Interval:
        """Return Student's t interval with half a row, or half a cluster, at either end."""
        name, clusters = f"Student t, {_ADJUSTED}", self.human.clusters
        degrees, detail = self.n_human - 1.0, ""
        if clusters is not None:
            degrees = self.standard_error.df or 0.0
            detail = f", {clusters.n_clusters} labeled clusters"
            if not degrees > 0:
                return no_interval(name + detail, "too_few_clusters")
        se = self._augmented_error
        if not se > self.human.tolerance:
            return no_interval(name + detail, "no_spread")
        half_width = intervals.t_quantile(level, degrees) * se
        transform = self.human.transform
        scale = None if transform is None else TRANSFORMATIONS[transform]
        value = self._value_in_range
        if scale is None or not scale.is_defined(value):
            interval = Interval(value - half_width, value + half_width, name + detail, se=se)
        else:
            low, high = scale.symmetric_limits(value, half_width)
            interval = Interval(low, high, f"{name}, {scale.name}{detail}", se=se)
        # Of a measure of squares, such as R².
        return interval if self.human.kurtosis_z is None else interval.add_caution(_HEAVY_TAIL)

    @property
    def _augmented_error(self) -> float:
        """Standard error with half a row, or half a cluster, at either end."""
        shrinkage = math.sqrt(self._proportion_of_others) if self._is_of_these else 1.0
        if self.human.clusters is not None:
            n = self.human.clusters.n_clusters
            return math.hypot(n * self.standard_error.se, shrinkage * self._extreme) / (n + 1)
        deviations, n = self._deviations, self.n_human
        labeled = math.hypot(math.sqrt(float(deviations @ deviations)), self._extreme) / (n + 1)
        return math.hypot(shrinkage * labeled, self._judge_error)

    @cached_property
    def _extreme(self) -> float:
        """Distance of the half rows or clusters, as an influence times the number of labeled ones.

        It is the largest influence of a row, or of a cluster, on the value by the judge; of means
        and of partitions, which few points may move most, also on the others. Of clusters and of
        means it is at most :attr:`_residual_reach`.
        """
        assert self._influences is not None
        n, size, clusters = self.n_human, self._size, self.human.clusters
        if clusters is not None:
            assert self.others is not None
            assert self.others.clusters is not None
            n, size = clusters.n_clusters, self.others.clusters.n_clusters
        human, judged, others = self._influences
        extreme = size * _largest(others, 1)
        if self.human.is_unit_mean or self.human.kind == PARTITION_KIND:
            extreme = max(extreme, n * _largest(human, 0), n * _largest(judged, 0))
        elif clusters is None:
            return extreme
        return min(extreme, self._residual_reach)

    @property
    def _residual_reach(self) -> float:
        """Largest influence of residuals times 1 + 5/m, if the judge is wrong on m rows (clusters).

        Where it is wrong on all of them, residuals show how far they reach; where on few, hardly.
        """
        assert self._influences is not None
        human, judged, _ = self._influences
        n, n_wrong = float(self.n_human), float(self._n_wrong)
        if self.human.clusters is not None:
            n = self.human.clusters.n_clusters
            sizes = np.abs(_labeled_or_other(human - judged, 0))
            is_wrong = sizes.max() > 1e-9 * _largest(human, 0)
            n_wrong = effective_size_from_weights(sizes) if is_wrong else 0.0
        if not n_wrong:
            return math.inf
        return n * _largest(self._residual_influence, 0) * (1 + _FEW_DISAGREEMENTS / n_wrong)

    @property
    def _n_wrong(self) -> int:
        """Number of labeled rows on which the judge differs from the label."""
        human, judged = self._unit_values
        return 0 if human is None or judged is None else n_nonzero(human - judged)

    @property
    def has_squares(self) -> bool:
        """Whether it is of a measure of squares whose rows move labels and judge as is known."""
        has_influence = self.others is not None and self._influences is not None
        return has_influence and self.n_human > 2 and _is_of_squares(self.human)

    @property
    def scaled_skewness(self) -> float:
        """Skewness of the values of the labels, over the root of their number."""
        assert self._influences is not None
        return intervals.scaled_skewness(_rows(self._influences[0], 0))

    def _hall_interval(self, level: float) -> Interval:
        """Return Student's t interval, corrected for the skewness of residuals and of the judge.

        Of squares few rows may have most of the sum, and the labels miss the largest ones more
        often than not. How far they fall short is seen by the judge, who has scored all rows.
        """
        influence, n = self._residual_influence, self.n_human
        se = influence.standard_error.se * self.spread_ratio
        skewness = intervals.scaled_skewness(self._deviations)
        limits = intervals.hall_interval(0.0, se, skewness, n - 1, level, is_nonnegative=False)
        if limits.reason:
            return limits
        method = f"{limits.method}, {_ADJUSTED}"
        judge = Interval(0.0, 0.0, method)
        if self._judge_error > 0:
            assert self._influences is not None
            skewness = intervals.scaled_skewness(_rows(self._influences[2], 1))
            judge = intervals.hall_interval(
                0.0, self._judge_error, skewness, self._size - 1, level, is_nonnegative=False
            )
        # Both errors add up, as those of r − (−λJ).
        judge = replace(judge, low=-judge.high, high=-judge.low)
        interval = intervals.mover_interval(0.0, self._shrink(limits, 0.0), 0.0, judge)
        value = self.value
        interval = replace(
            interval,
            low=value + interval.low,
            high=value + interval.high,
            method=method,
            se=self.standard_error.se,
        )
        return interval.add_caution(_HEAVY_TAIL)

    @property
    def spread_ratio(self) -> float:
        """Ratio of the standard deviations of the judge's values of all and of labeled rows.

        It is at least 1.
        """
        assert self.others is not None
        columns, weights = [], []
        for estimate in (self.judged, self.others):
            units = estimate.units
            if isinstance(units, UnitValues) and estimate.value_is_unit_mean:
                values: FloatArray | None = units.values
            else:
                values = _linear_values(estimate)
            if values is None:
                return 1.0
            weight = units.weight if isinstance(units, UnitValues) else None
            columns.append(values)
            weights.append(np.ones(len(values)) if weight is None else weight)
        labeled = _weighted_variance(columns[0], weights[0])
        if self.positions is None:  # the labeled rows are not among the others
            columns[1], weights[1] = np.concatenate(columns), np.concatenate(weights)
        pooled = _weighted_variance(columns[1], weights[1])
        return math.sqrt(max(pooled / labeled, 1.0)) if labeled > 0 else 1.0


@dataclass(frozen=True, eq=False, kw_only=True)
class SeparateLabels(LabeledSample):
    """Estimates of the difference of two systems with labels of different cases.

    Paired differences of the labels exist for the cases that are labeled for both, which may be few
    or none. The difference is that of the two values, with the limits of both (MOVER), and with the
    correlation that cases of both give them.

    Attributes
    ----------
    samples : tuple of LabeledSample
        The samples of both systems.
    """

    samples: tuple[LabeledSample, LabeledSample]

    @classmethod
    def from_samples(
        cls,
        samples: tuple[LabeledSample, LabeledSample],
        human: PointEstimate,
        judge: PointEstimate,
    ) -> SeparateLabels:
        """Create it from both samples, and the differences by people and by the judge alone."""
        return cls(
            human=human,
            judged=judge,
            others=judge,
            judge=judge,
            target=samples[0].target,
            samples=samples,
        )

    @property
    def n_human(self) -> int:
        """Number of labeled cases, of the system that has fewer."""
        return min(sample.n_human for sample in self.samples)

    @property
    def n_others(self) -> int:
        """Number of other cases of this system."""
        return min(self.samples, key=lambda sample: sample.n_human).n_others

    #: There is one for each of the two values.
    coefficient = correlation = worth = math.nan

    def separate_difference(self, first: PointEstimate, second: PointEstimate) -> PointEstimate:
        """Return the difference of the two values, with the limits of both."""
        pair = [
            replace(
                estimate, influence=sample.case_influence, effective_sizes=sample.effective_sizes
            )
            for estimate, sample in zip((first, second), self.samples, strict=True)
        ]
        return pair[0].difference(
            pair[1],
            kind=SEPARATE_KIND,
            n=min(first.n, second.n),
            influence=lazy_difference(pair[0].influence, pair[1].influence),
            effective_sizes=lambda: (float(self.n_human),),
            joint_distribution=self,
        )


def _weighted_variance(values: FloatArray, weight: FloatArray) -> float:
    """Return the variance of weighted values, corrected for their number."""
    deviations = values - np.average(values, weights=weight)
    return float(np.average(deviations**2, weights=weight)) * len(values) / (len(values) - 1)


def _subtract(first: PointEstimate, second: PointEstimate) -> PointEstimate:
    """Return the difference of estimates on the same rows, with their units if both have any."""
    difference = first - second
    units, second_units = first.units, second.units
    has_own_units = difference.kind == SEPARATE_KIND
    if has_own_units or difference.units is not None:
        return difference
    if not (isinstance(units, UnitValues) and isinstance(second_units, UnitValues)):
        return difference
    return replace(
        difference,
        units=units - second_units,
        value_is_unit_mean=first.value_is_unit_mean and second.value_is_unit_mean,
        factor=first.factor,
        influence=lazy_difference(first.influence, second.influence),
    )


def _rows(influence: Influence, index: int) -> FloatArray:
    """Return the influence of each row of one of the sets of rows."""
    space = influence.variance_estimator
    assert isinstance(space, DisjointRowsVariance)
    return influence.column[space.slices[index]]


def _labeled_or_other(influence: Influence, index: int) -> FloatArray:
    """Return the influence of each row, or of each cluster, of one of the sets of rows."""
    space = influence.variance_estimator
    if space.clusters is None:
        return _rows(influence, index)
    return np.asarray(space.cluster_sums(influence.column)[0][index])


def _largest(influence: Influence, index: int) -> float:
    """Return the largest influence of a row, or of a cluster, of one of the sets of rows."""
    return float(np.abs(_labeled_or_other(influence, index)).max())


def _linear_values(estimate: PointEstimate) -> FloatArray | None:
    """Return values of the rows whose mean is the estimate, to first order; None if unknown.

    Of a function of the mean of units, such as a root, they are those by its derivative, and of
    another measure of squares those by the influence of unweighted rows.
    """
    units = estimate.units
    if isinstance(units, UnitValues) and estimate.value_is_unit_mean:
        return units.values * estimate.factor
    influence = None if estimate.influence is None else estimate.influence()
    if influence is None:
        return None
    if isinstance(units, UnitValues) and isinstance(influence.variance_estimator, MeanVariance):
        mean = np.average(influence.column, weights=units.weight)
        return np.asarray(influence.column - mean + estimate.value)
    if not _is_of_squares(estimate) or estimate.weight is not None:
        return None
    column = influence.corrected.column
    return np.asarray(len(column) * column + estimate.value)


def _is_of_squares(estimate: PointEstimate) -> bool:
    """Return whether an estimate or the first operand of a difference is a measure of squares."""
    first = estimate if estimate.operands is None else estimate.operands[0]
    return first.kurtosis_z is not None


def _row_influence(estimate: PointEstimate) -> Influence | None:
    """Return the influence of the rows, which for a mean of units are the units themselves."""
    if estimate.influence is not None:
        return estimate.influence()
    units = estimate.units
    if not (estimate.is_unit_mean and isinstance(units, UnitValues)):
        return None
    space = MeanVariance(units.weight, units.clusters, row_key=estimate.row_key)
    return Influence(units.values * estimate.factor, space)


def labeled_sample(estimate: PointEstimate) -> LabeledSample | None:
    """Return the sample of labels behind an estimate, or None if it has none."""
    sample = estimate.joint_distribution
    return sample if isinstance(sample, LabeledSample) else None


def labeled_interval(reading: PointEstimate, level: float) -> Interval | None:
    """Return the interval of an estimate from human labels and a judge."""
    sample = labeled_sample(reading)
    return None if sample is None else sample.interval(level)


def labeled_procedure(reading: PointEstimate) -> Procedure | None:
    """Return the interval of a difference and the tests that invert it."""
    sample = labeled_sample(reading)
    if sample is None:
        return None
    interval = sample.interval(reading.settings.level)
    if interval.reason:
        return no_procedure(interval.reason, reading.value, interval.method)
    fields: dict[str, Any] = {
        "value": reading.value,
        "bounds": reading.bounds,
        "method": interval.method,
        "name": interval.method,
        "standard_error": replace(sample.standard_error, name=interval.method),
    }
    return LimitsProcedure(**fields, limits=sample.interval)
