"""Default method of each interval and test: one table for estimates and one for differences.

For each kind of point estimate, :data:`INTERVAL_RULES` and :data:`DIFFERENCE_RULES` have the
methods in the order in which they are tried, with the simulations that the choice is based on;
:data:`ANALYTIC_METHODS` has the methods used without a bootstrap, :data:`BOOTSTRAP_METHODS` those
used if one is requested. The interval of a difference and its tests, of no difference and of
margins, are one object, which :func:`procedure` chooses once. Limits of sample size are in
:mod:`calipers.inference.method_limits`. No method is chosen anywhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from calipers import plugins
from calipers.caching import cached
from calipers.inference import intervals
from calipers.inference.available_methods import (
    METHOD_BY_TEST,
    available_intervals,
    has_no_differences,
    procedure_by_name,
)
from calipers.inference.intervals import ROUNDING_TOLERANCE, Interval
from calipers.inference.method_limits import (
    DEFAULT_MIN_POSITIVES,
    MAX_AREA_SKEWNESS,
    MAX_BOOTSTRAPPED_UNITS,
    MAX_KURTOSIS_Z,
    MAX_SCALED_SKEWNESS,
    MIN_CLASS_ROWS_FOR_MAXIMUM,
    MIN_CLUSTER_DF,
    MIN_CLUSTERS_FOR_BOOTSTRAP,
    MIN_POSITIVES_BY_KIND,
    MIN_POSITIVES_FOR_INFLUENCE,
    MIN_ROWS_FOR_SKILL_ERROR,
)
from calipers.inference.point_estimate import PointEstimate, UnitSummary
from calipers.inference.procedures import (
    LimitsProcedure,
    Procedure,
    no_procedure,
    tail_probability,
)
from calipers.inference.variance_estimators import StandardError
from calipers.lazy_dataclasses import dataclass, replace
from calipers.plugins import NameTakenError

#: The methods that resample rows or clusters.
RESAMPLING_METHODS = (
    "percentile",
    "basic bootstrap",
    "basic bootstrap, logit",
    "bca",
    "stratified",
    "studentized",
)


# --- Intervals of numbers -----------------------------------------------------------------------


def _no_caution(estimate: PointEstimate, interval: Interval) -> Interval:
    return interval


@dataclass(frozen=True)
class MethodRule:
    """Rule of the policy: a method, its condition, and cautions about its intervals.

    If the method does not apply, the next rule is used; so it is if the rule ``tries`` and the
    resulting interval has no length.

    Attributes
    ----------
    method : str
        Name of the method.
    when : callable
        Condition on the point estimate.
    caution : callable
        Function that adds a caution to the interval where it is unreliable.
    tries : bool, default=False
        Whether to go on with the next rule if the interval is missing or degenerate.
    make : callable or None
        Implementation of a method that is not in :mod:`calipers.inference.available_methods`. For
        an estimate it takes the point estimate and the level, and returns an :class:`Interval`; for
        a difference it takes the point estimate, and returns a :class:`Procedure`; None if it does
        not apply.
    """

    method: str
    when: Callable[[PointEstimate], bool] = lambda reading: True
    caution: Callable[[PointEstimate, Interval], Interval] = _no_caution
    tries: bool = False
    make: Callable[..., Any] | None = None


def _has_weights(estimate: PointEstimate) -> bool:
    """Check whether rows have unequal weights; equal weights do not count as weights."""
    weight = estimate.weight
    return estimate.has_unequal_weights or (weight is not None and bool(np.ptp(weight) > 0))


def _is_simple_sample(estimate: PointEstimate) -> bool:
    return not _has_weights(estimate) and estimate.clusters is None


def _has_multiple_clusters(estimate: PointEstimate) -> bool:
    return estimate.clusters is None or estimate.clusters.n_clusters > 1


def _has_few_rows(estimate: PointEstimate) -> bool:
    return estimate.effective_sizes()[0] < MIN_ROWS_FOR_SKILL_ERROR


def _has_enough_positives(estimate: PointEstimate) -> bool:
    return (
        not _has_weights(estimate) and estimate.effective_sizes()[1] >= MIN_POSITIVES_FOR_INFLUENCE
    )


def _is_unbounded(estimate: PointEstimate) -> bool:
    """Check whether the range of the measure is unbounded."""
    return not np.isfinite(estimate.bounds).all()


def _has_many_unbounded_units(estimate: PointEstimate) -> bool:
    return _is_unbounded(estimate) and estimate.n > MAX_BOOTSTRAPPED_UNITS


def _has_weighted_positives(estimate: PointEstimate) -> bool:
    return _has_weights(estimate) and estimate.effective_sizes()[1] >= MIN_POSITIVES_FOR_INFLUENCE


def _has_few_influential_rows(estimate: PointEstimate) -> bool:
    """Check whether a few rows have most of the influence on an area."""
    return estimate.scaled_skewness > MAX_AREA_SKEWNESS


def _has_few_or_no_influential_rows(estimate: PointEstimate) -> bool:
    at_end = min(abs(estimate.value - end) for end in estimate.bounds) <= estimate.tolerance
    return at_end or _has_few_influential_rows(estimate)


def _caution_heavy_tail(estimate: PointEstimate, interval: Interval) -> Interval:
    if estimate.kurtosis_z is not None:
        return (
            interval.add_caution("a heavy tail")
            if estimate.kurtosis_z() > MAX_KURTOSIS_Z
            else interval
        )
    return (
        interval.add_caution("a heavy tail")
        if estimate.scaled_skewness > MAX_SCALED_SKEWNESS
        else interval
    )


def _caution_ratio_tail(estimate: PointEstimate, interval: Interval) -> Interval:
    """Add a caution if a few rows have most of the influence, or if numbers have a heavy tail."""
    is_skewed = estimate.scaled_skewness > MAX_SCALED_SKEWNESS
    return (
        interval.add_caution("a heavy tail")
        if is_skewed
        else _caution_heavy_tail(estimate, interval)
    )


def _caution_maximum(estimate: PointEstimate, interval: Interval) -> Interval:
    has_few_rows = min(estimate.effective_sizes()) < MIN_CLASS_ROWS_FOR_MAXIMUM
    return interval.add_caution("a maximum of few rows") if has_few_rows else interval


def _caution_bias(estimate: PointEstimate, interval: Interval) -> Interval:
    """Add the caution that the measure is biased.

    Intervals of an ECE covered the true value 88 to 92 times in 100 if a test finds miscalibration,
    and no more often if this is too small to be found.
    """
    return interval.add_caution("a biased measure") if estimate.is_biased else interval


def _caution_boundary(estimate: PointEstimate, interval: Interval) -> Interval:
    """Add a caution to an interval that ends at a bound of the measure.

    Errors that do not occur in the data occur in no replicate: such intervals covered the true
    value 66 to 94 times in 100, the others 95 to 98 times.
    """
    for end in estimate.bounds:
        if min(abs(end - interval.low), abs(end - interval.high)) <= estimate.tolerance:
            return interval.add_caution(f"it ends at {end:g}")
    return interval


def _is_not_maximum(estimate: PointEstimate) -> bool:
    """Check that the estimate is not a maximum over thresholds.

    The influence of rows on such a maximum takes the threshold as fixed.
    """
    return estimate.kind != "maximum over thresholds"


#: Rules tried first for clustered rows: for estimates, and for differences. Of one cluster of 200
#: rows and 24 of 8 (intracluster correlation ½) limits by C/(C − 1) and C − 1 degrees of freedom
#: held the truth of a mean 71 times of 100, those by CR2 96 times (±0.5), of one of 60 rows and 100
#: of one 83 and 95, of 8 to 60 clusters of lognormal size 86 to 94 and 94 to 95; the bootstrap of
#: clusters did no better than the former. Hall's correction reads sizes as skewness: of a mean of
#: absolute errors it was 38 to 53 times, CR2 on the log scale 93 to 96. So for differences: where
#: there are none, tests of accuracy, MAE and AUC erred 25 to 31 times of 100, and now 4 to 6. Means
#: over topics of nDCG, RR and near-perfect values, of 8, 20 and 50 users with 5 queries each or
#: lognormal numbers of them (intracluster correlation 0.4), were held 92 to 97 times of 100 (±1),
#: those of independent topics 66 to 96, and differences 94 to 97.
CLUSTER_RULES = (
    (
        MethodRule("effective rows", tries=True),
        MethodRule("noncentral chi-square", tries=True),
        MethodRule("by cluster", _is_not_maximum, tries=True),
    ),
    (MethodRule("by error", _is_not_maximum, tries=True),),
)

# Boyd's error does not know how scores lie: it held the truth up to 100 times of 100, where that of
# influence did 93 to 97 times (with weights, 88 times).
_PRECISION_RULES = (
    MethodRule("delta", _has_enough_positives, tries=True),
    MethodRule("area", _has_weighted_positives, tries=True),
    MethodRule("of positives"),
)
# If scores separate the classes, or nearly so, all replicates are equal or undefined.
_SCORE_RULES = (
    MethodRule("percentile", caution=_caution_boundary, tries=True),
    MethodRule("of the smaller class"),
)
# Of 60 to 300 rows, half of either class, 1 or 2% of which pass for the other one, effective rows
# held the truth 95 to 96 times of 100 (±0.4; the logit 80 to 94 times); where 2 or 5% of the 20 to
# 100 positives of 200 to 1,000 rows do, 96 times (72 to 83). Of normal scores of AUC 0.7 to 0.95
# both are as long, and hold it 94 to 98 times; of 0.99 with 75 or 100 rows of either class
# effective rows are 1.2 to 1.4 times as long, with 20 positives 2.4 times, and hold it 98 to 99
# times: 20 positives do not carry more information.
_PAIR_RULES = (
    MethodRule("effective rows", _has_few_influential_rows),
    MethodRule("area"),
    *_SCORE_RULES,
)

# The Bayesian bootstrap whose limits count half a topic at their own end each (of 20 to 100 topics,
# ±0.5) covered the truth 98 to 99 times of 100 where values lie close to one end, about .01 or .99
# (with both half topics at both limits 85 to 93, bootstrap-t 94 to 95), RR near-perfect 98 to 99
# (bootstrap-t 44 to 91), nDCG 97 to 99 and 1.06 to 1.12 times as long as bootstrap-t. Of few topics
# about .01 it is long upward: a topic could be 1.
_TOPIC_RULES = (
    MethodRule("skewness-corrected", _has_many_unbounded_units, tries=True),
    MethodRule("studentized", _is_unbounded, tries=True),
    MethodRule("bayesian-bootstrap"),
)

_RANK_RULES = (
    MethodRule("delta", caution=_caution_heavy_tail, tries=True),
    MethodRule("percentile", tries=True),
    MethodRule("of rows"),
)


def _labeled_interval(reading: PointEstimate, level: float) -> Interval | None:
    from calipers.inference.human_labels import labeled_interval, labeled_sample

    sample = labeled_sample(reading)
    if sample is not None and sample.is_of_labels_alone:
        return _default_interval(sample.human, level)
    return labeled_interval(reading, level)


def _labeled_procedure(reading: PointEstimate) -> Procedure | None:
    from calipers.inference.human_labels import labeled_procedure, labeled_sample

    sample = labeled_sample(reading)
    if sample is not None and sample.is_of_labels_alone:
        return procedure(sample.human)
    return labeled_procedure(reading)


def _fixed_cases_interval(estimate: PointEstimate, level: float) -> Interval | None:
    from calipers.inference.fixed_cases import fixed_cases_interval

    return fixed_cases_interval(estimate, level)


def _fixed_cases_procedure(estimate: PointEstimate) -> Procedure | None:
    from calipers.inference.fixed_cases import fixed_cases_procedure

    return fixed_cases_procedure(estimate)


def _separate_procedure(reading: PointEstimate) -> Procedure | None:
    from calipers.inference.separate_limits import separate_procedure

    return separate_procedure(reading, interval)


def _shifted_procedure(reading: PointEstimate) -> Procedure | None:
    from calipers.inference.separate_limits import shifted_procedure

    return shifted_procedure(reading, interval)


#: The methods of each kind of reading, the first that applies.
INTERVAL_RULES: Mapping[str, tuple[MethodRule, ...]] = {
    "proportion of rows": (MethodRule("wilson"),),
    # If a cell has few rows, the bootstrap varies too little, and from a perfect table it draws
    # only perfect ones. (With unequal weights or clusters it is the only method that remains.)
    # Averages over three classes and more go by effective rows: macro-F1 of 3 to 50 classes, 10 to
    # 50 rows each, of which 60 to 97% are right, held the truth 94 to 97 times of 100 (±1), of 10
    # and 20 such classes 98 at 0.97; of classes of 2 to 60% 95 to 98, of 15 to 150 clusters 93 to
    # 99; macro-recall of 3 to 30 classes, 8 to 50 rows each, 94 to 98 (±0.7; likely cells 86 to
    # 98). Before, the bootstrap did 76 to 92 times with 10 rows a class, likely cells 91 to 98 with
    # 20 or more, and the delta method 89 to 94 times of few clusters. (Of MCC and kappa of 30
    # classes with 8 rows each likely cells and the bootstrap did 93 to 96 times, ±2.)
    # Cramér's V and Theil's U are above 0 by chance, and so were likely cells: of independent
    # classes (2, 3 and 6; 40, 100 and 400 rows) their lower limit was 0 in at most 5 of 100 data
    # sets, that of noncentral χ² in 97 to 99 (±1.5); of associations from .1 to .99 it held V 87 to
    # 100 times of 100 (0 to 98) and U 87 to 100 (0 to 99).
    # The errors that the prior adds, to any class alike, put ordinal MAE and AMAE wholly above the
    # truth where errors are few and to a class beside: of 3 and 5 classes, 40 and 100 rows, 1 to
    # 10% of which are wrong, they held it 88 to 97 and 82 to 97 times of 100 (±1.3), Bangdiwala's B
    # 93 to 99. With no errors added for the limit at their end they do 95 to 100, 94 to 100 and 94
    # to 100 times, and are 4% longer.
    "measure of counts": (
        MethodRule("effective rows", tries=True),
        MethodRule("noncentral chi-square", tries=True),
        MethodRule("Jeffreys, Dirichlet posterior", _is_simple_sample),
        MethodRule("percentile", tries=True),
        MethodRule("Jeffreys, Dirichlet posterior"),
    ),
    "AUC": _PAIR_RULES,
    "Gini": _PAIR_RULES,
    "precision-recall area": _PRECISION_RULES,
    "interpolated precision-recall area": _PRECISION_RULES,
    # The best of all thresholds is optimistic, and its replicates are once more: percentiles
    # covered the truth 75 to 90 times of 100.
    "maximum over thresholds": (
        MethodRule("basic bootstrap, logit", _has_multiple_clusters, _caution_maximum, tries=True),
        *_SCORE_RULES,
    ),
    "interpolated precision": (
        MethodRule("percentile", caution=_caution_boundary, tries=True),
        MethodRule("of positives"),
    ),
    "measure of scores": _SCORE_RULES,
    "recalibration": (MethodRule("delta"),),
    # Of bins of equal mass or width, 100 to 1,000 rows, probabilities right, too extreme or timid,
    # sharp or rare, ECE and RMSCE held the truth 95 to 100 times of 100 (±1.2), MCE 96 to 100, but
    # 85 where the worst bin is mostly empty; with exponential weights, and in clusters of 20 rows
    # (ICC 0.3), 95 to 100, and 93 there (±1.8). Before, turned replicates: 87 to 93, 50 to 80 and
    # 13 to 85 times; up to 46 of 100 intervals of RMSCE were [0, 0].
    "calibration": (MethodRule("of bins"), MethodRule("basic bootstrap", caution=_caution_bias)),
    "threshold": (MethodRule("percentile"),),
    # With half a row at its own end for each limit, Brier of which 0.5% of the rows are badly wrong
    # held the truth 99 times of 100 (20 to 100 rows; Hall's t 24 to 77), means of values about .01
    # 98 times (half rows at both ends 85 to 91; ±0.5). Of sMAPE, whose end of 2 hardly a row comes
    # near, Hall's t held it 95 times and is a tenth as long; half rows at both ends 84 to 89 times.
    # With half a row at either end, Brier blurred or sharp was held 95 to 98 times (±1); of 10, 20
    # and 50 clusters 94 to 95 (±1.4; Student's t and percentiles 85, 85 and 94). Hall's t held it
    # as often as the bootstrap-t or more: squares of normal residuals 94 and 97 times, of t with 5
    # degrees of freedom 93 and 90, with 3 degrees 86 and 81 (82 and 80), log loss 95 and 95; of 10,
    # 20 and 50 clusters 92 (86, 88 and 91). One outlier makes it no longer than some 8 standard
    # errors.
    "mean of a value per row": (
        MethodRule("wilson"),
        MethodRule("bayesian-bootstrap", lambda reading: not reading.has_far_bound),
        MethodRule("hall", caution=_caution_heavy_tail),
        MethodRule("delta", caution=_caution_heavy_tail),
    ),
    # There is no standard error if everything is explained, or nothing is without one row. Of mean
    # ratings by two, three and six raters of 10 to 200 items (numbers, grades from 0 to 4; errors
    # of .15 to 1 times the spread of the items), the jackknife held intraclass correlations 91 to
    # 97 times of 100 (±1.1), those of single ratings on Fisher's scale 90 to 97.
    # KGE is 1 − the length of three errors, which is above 0 by chance: of true values of .5 to .99
    # with 30 and 200 rows noncentral χ² held it 90 to 98 times of 100 (±0.9), the jackknife alone
    # 75 to 96 (75 to 88 above .98 with lognormal numbers or 30 rows).
    "proportion of variance": (
        MethodRule("noncentral chi-square", caution=_caution_heavy_tail, tries=True),
        MethodRule("delta", caution=_caution_heavy_tail, tries=True),
        MethodRule("percentile", tries=True),
        MethodRule("delta"),
    ),
    # Of lognormal numbers with errors in proportion or of one size NRMSE and U₁ were held 70 to 93
    # times of 100 (30 and 100 rows; ±1.5); the kurtosis of residuals or of the truth, or the
    # skewness of the influence, gave 78 to 93 of 100 of these data sets a caution with 30 rows, and
    # all with 100, and 6 to 31 and 3 to 6 of 100 of normal ones, which were held 93 to 95 times.
    "relative error": (
        MethodRule("delta", caution=_caution_ratio_tail, tries=True),
        MethodRule("percentile", caution=_caution_ratio_tail, tries=True),
        MethodRule("delta"),
    ),
    # Noncentral t, widened where the jackknife's error is larger than that of normal differences,
    # held limits of agreement of 6 to 200 normal differences 95 to 97 times of 100 (±0.4), of
    # uniform ones 98 to 99, of t with 5 degrees of freedom 92 to 95, Laplace 92 to 94, lognormal
    # with σ = ½ 87 to 98; alone 82 to 98, 84 to 91 and 68 to 97; the jackknife with normal
    # quantiles 85 to 95, 78 to 92, 76 to 93 and 73 to 91.
    "limit of agreement": (
        MethodRule("delta", caution=_caution_heavy_tail, tries=True),
        MethodRule("percentile", tries=True),
        MethodRule("delta"),
    ),
    "correlation": _RANK_RULES,
    # Harrell's C of .58 with 20 rows, two fifths of them censored, was held 96 times of 100 (±1).
    # C, Uno's C and AUCs of 50 rows, 80% of which are censored, were 93 to 98 times.
    "proportion of pairs": _RANK_RULES,
    # Of 50, 200 and 1,000 rows with 0, 40 and 80% censored Brier scores and ratios of observed and
    # expected events were held 92 to 98 times of 100 (±1.6), D-calibration 94 to 100; of rows that
    # are predicted almost perfectly Brier scores 86 to 96, as few large errors decide them.
    "weighted by censoring": (
        MethodRule("noncentral chi-square", tries=True),
        MethodRule("delta", caution=_caution_heavy_tail, tries=True),
        MethodRule("percentile", tries=True),
        MethodRule("delta"),
    ),
    "median": (MethodRule("woodruff"),),
    # Of lognormal costs (σ ½ and 1; 20, 100 and 500 rows) order statistics held the median 95 to 97
    # times of 100, p95 96 to 98 (100 and 500 rows; ±1), the paired bootstrap their differences 96
    # to 99 and 96 to 98 (±1.5).
    "quantile": (MethodRule("order statistics"), MethodRule("woodruff")),
    # Of three outputs whose residuals go together or not macro-Spearman held the truth 93 times of
    # 100 with 20 rows, 94 and 95 with 100 and 500 (±0.6). Averages of the other kinds are those of
    # one output: macro-R2 94, 95 and 95 times, by variance likewise, macro-MAE 94 to 96, macro-RMSE
    # 93, 95 and 95; of residuals t with 5 degrees of freedom macro-R2 94 times, macro-RMSE 90 to
    # 92, as RMSE of one output alone.
    "average over outputs": (
        MethodRule("delta", caution=_caution_heavy_tail, tries=True),
        MethodRule("percentile", tries=True),
        MethodRule("delta"),
    ),
    # Of 60, 150 and 500 rows of three classes and 300 of ten, 2% of which pass for another class,
    # effective rows held averages of AUCs 95 to 98 times of 100 (±0.9; the delta method alone 70 to
    # 76, 89, 94 and 90), of normal scores (AUC 0.8 to 0.99) 94 to 98 (92 to 96).
    "average of scores": (
        MethodRule("effective rows", _has_few_or_no_influential_rows),
        MethodRule("delta", tries=True),
        MethodRule("percentile", tries=True),
        MethodRule("of terms"),
    ),
    "skill": (MethodRule("percentile", _has_few_rows), MethodRule("delta")),
    "top-k proportion": (MethodRule("wilson"), MethodRule("percentile")),
    # With 300 rows of 20 or 50 labels, 6 to 15 rows each, the bootstrap with added rows held the
    # truth of macro-F1 82 to 98 times of 100 (±2.7), as what is added to all labels moves their
    # average; by effective rows it was 94 to 99 times (±1.2), and of macro-recall, weighted F1, and
    # one or five labels likewise; of 15, 40 and 100 clusters 92 to 99 times. Where the average is
    # all but that of one label of six rows, of which half are right, it was 91 times, and where a
    # few rows are wrong in most labels at once 87 times.
    "average over labels": (MethodRule("effective rows"), MethodRule("percentile")),
    # Percentiles of resampled points fail, since copies of a point share a cluster: with random
    # clusters ARI −0.006 had −0.004 to 0.010. These draws held the truth of ARI, Rand and the other
    # measures of pairs 93 to 97 times of 100 where clusters are noisy (100 and 400 points, 3 to 10
    # classes; ±1.2) and 99 to 100 where they are by chance or perfect; of NMI, AMI, homogeneity and
    # completeness 94 to 97 (of 10 by 10 cells with 100 points 90 to 98), of purity 93 to 99.
    "measure of partitions": (MethodRule("Dirichlet posterior"),),
    # Held what data sets of as many points have in the mean (100 and 400 points in 2 or 3 clusters,
    # by a rule that is given; ±1): silhouettes 92 to 98 times of 100, where errors of values of
    # points that had nothing to do with each other held it 70 to 80 times; Calinski-Harabasz 94 to
    # 97, Davies-Bouldin 91 to 97, WCSS 93 to 95, of points with heavy tails 88 to 93.
    "measure of distances": (MethodRule("Student t", caution=_caution_heavy_tail),),
    # Of 100, 400 and 1,000 rows, and 1,000 and 4,000 with rare outcomes, it held areas of uplift
    # and Qini curves and the uplift of 30% of the rows 92 to 100 times of 100 (±1.6; no, some and
    # large effects, tied scores, one in ten treated). Without half a row of either outcome, and by
    # the derivative rather than the jackknife, it was 91 times of 100 rows, and 76 where three
    # treated rows are targeted.
    "uplift": (
        MethodRule("two arms", caution=_caution_heavy_tail, tries=True),
        MethodRule("delta", caution=_caution_heavy_tail, tries=True),
        MethodRule("percentile", tries=True),
        MethodRule("delta"),
    ),
    # Half an item at both ends of the range (with one at its own end each limit is no shorter)
    # held alpha 93 to 98 times of 100 (±1.1; nominal and ordinal, 50 and 100 items, two to five
    # raters, a tenth of the ratings missing; by chance, fair, good and near-perfect), of 20 items
    # 90 to 100. The jackknife's t did so 93 to 96 times where raters differ, but 33 to 86
    # near-perfect, up to 87 of 100 having no length. Of two categories, one of which has a tenth of
    # the ratings, it was 73 to 100 of 50 items and 86 to 100 of 100, and the method has a caution.
    # Differences of two sets of three raters of the same items, as units by how much each item
    # moves them, were 94 to 100 of 20, 50 and 200 items (±1; by error 80 to 96, the lowest
    # near-perfect); of the rare category 88, 92 and 96.
    # Of 10, 20 and 50 documents with 1 to 9 items each, some of which are hard for all three
    # raters, Student's t of the CR2 error for the logarithm of 1 − value held alpha, the
    # proportion that agrees and AC1 94 to 96 times of 100 (±1.4), intervals of independent items 70
    # to 85 times. The bootstrap of documents is for those that do not differ at all.
    "agreement of raters": (MethodRule("bayesian-bootstrap"),),
    # Of 60 to 2,060 rows, 15 to 100 of them labeled, post-strata of two verdicts held proportions
    # 94 to 100 times of 100 (±1; good, lenient, useless and adverse judges, rare passes), the
    # Bayesian bootstrap of what labels leave unexplained those of several verdicts 90 to 98, means
    # over 15 to 50 topics 93 to 100, and Brier scores 94 to 100; Student's t with half a row at
    # either end AUCs of 30 rows and more 94 to 100, macro-F1 88 to 100, kappa 89 to 99, log loss 94
    # to 100, ARI, Rand index and F1 of pairs of 30 to 120 points 91 to 100. Prediction-powered
    # intervals by a normal or t error did so 12 to 98 times. Differences of systems that do not
    # differ were found 0.3 to 6.3 times of 100; of Brier scores by a judge that sides with one of
    # them, 15 times if half differences were placed by the number of cases that differ, not by that
    # of errors of the judge. Student's t of 10 labeled clusters of very unequal size with half a
    # cluster at either end held pass rates, AUC and F1 93 to 100 times, without it 85 to 95, and
    # errors of independent rows proportions 65 to 93.
    "few human labels": (MethodRule("with judge", make=_labeled_interval),),
    # Of 1 to 164 cases with 2 to 10 samples each, easy, hard, alike and of all kinds, it held the
    # mean over these cases 93 to 100 times of 100 (pass@1, pass@2, pass@5 and pass^3; without one
    # more variance 6 to 98), and 94 to 100 times differences of systems; that of pass@1 of 164
    # cases with 5 samples, 94 to 96, is .2 to .8 times as long as the interval of cases like these.
    "samples of these cases": (MethodRule("samples", make=_fixed_cases_interval),),
    "proportion of topics": (MethodRule("wilson"),),
    "mean over topics": _TOPIC_RULES,
    "topics pooled": _TOPIC_RULES,
}


def _has_enough_positives_for_pairs(estimate: PointEstimate) -> bool:
    min_positives = MIN_POSITIVES_BY_KIND.get(estimate.kind, DEFAULT_MIN_POSITIVES)
    return estimate.clusters is not None or estimate.effective_sizes()[1] >= min_positives


def _has_error(estimate: PointEstimate) -> bool:
    return isinstance(estimate.standard_error, StandardError)


def _has_spread(estimate: PointEstimate) -> bool:
    error = estimate.standard_error
    return isinstance(error, StandardError) and error.se > 0


def _has_no_spread(reading: PointEstimate) -> bool:
    is_constant = _has_error(reading) and not _has_spread(reading)
    return is_constant or has_no_differences(reading)


def _has_row_differences(estimate: PointEstimate) -> bool:
    """Check whether every row is right or wrong, so that differences of rows are known."""
    return estimate.discordant_proportions is not None or (
        estimate.kind == "proportion of rows"
        and (_has_weights(estimate) or estimate.clusters is not None)
    )


def _has_unit_summary(estimate: PointEstimate) -> bool:
    return isinstance(estimate.units, UnitSummary)


def _has_cluster_error(estimate: PointEstimate) -> bool:
    return estimate.clusters is not None and _has_error(estimate)


# Replicates of cells that hold few rows, or none, vary too little: where 0.5 to 20% of 60, 200 and
# 1,000 rows differ, the paired bootstrap held the differences of precision, recall, NPV, F1, MCC
# and balanced accuracy 62 to 100 times of 100, tables as likely as the rows make them 91 to 100
# times (±1.3). If 10% of 1,000 rows differ, both do 93 to 95 times, and are as long. Of five
# classes, two of which have 5% of 400 rows each, 2% of which differ, they held balanced accuracy 83
# and 100 times.
_PAIRED_COUNT_RULES = (
    MethodRule("units", _has_row_differences, tries=True),
    MethodRule("by error", _has_cluster_error, tries=True),
    MethodRule("Jeffreys, Dirichlet posterior", _is_simple_sample, tries=True),
    MethodRule("percentile", tries=True),
    MethodRule("Jeffreys, Dirichlet posterior"),
)
# Where nothing varies, as where two systems separate the classes.
_PAIRED_SCORE_RULES = (MethodRule("percentile", tries=True), MethodRule("of both"))
_BY_UNITS = (
    MethodRule("units", _has_error, tries=True),
    MethodRule("percentile", tries=True),
    MethodRule("units"),
)
# (If no row has more influence on one of two areas than on the other, the number of rows of the
# smaller class bounds their difference.)
_PAIRED_AREA_RULES = (
    MethodRule(
        "units",
        lambda reading: _has_enough_positives_for_pairs(reading) and _has_spread(reading),
        tries=True,
    ),
    *_PAIRED_SCORE_RULES,
)

#: The procedures of differences of each kind of reading, the first that applies; of others
#: :data:`UNIT_RULES`. A procedure is the interval, the test and the test of a margin in one
#: (:mod:`calipers.inference.procedures`). "units" is the wider of Student's t and the Bayesian
#: bootstrap with half units about the mean: of values of units, or the difference and how much each
#: row moves it.
#:
#: Its interval held the true mean difference of 6, 10, 25 and 50 topics 95 to 96 times of 100
#: where differences are normal (±0.5), 96 to 97 (t with 3 degrees of freedom), 95 to 98 (half of
#: them tie), 98 to 99 (85% tie), 93 and 95 of 25 and 50 of which 10% lose much. A gate at its
#: margin passed 0 to 0.7 times of 100 where 5% of 25, 50 or 100 topics lose .4 and the others tie
#: (Student's t alone 28, 9 and 11), 18, 9 and 6 with noise as well: a loss that no topic shows
#: cannot be detected. Of AUC .99 and .98 it passed 6 to 8 times (DeLong 9), of RMSE with normal
#: residuals 4 to 6, with t of 4 degrees 8 to 10 (9 to 11 by t). Where 0.5 to 3% of 50 to 400 rows
#: differ at all, it held the difference 95 to 100 times; Student's t 72 to 100.
#:
#: Differences of pAUC and PRG-AUC go by percentiles, which covered the truth 94 to 98 times of 100
#: (±1.4; 50 or 150 positives, 150 negatives); by influence, which is differentiated numerically and
#: only of some hundred distinct scores, it was 92 to 98 times. Maxima over thresholds are not
#: reflected as their estimates are, since most of the optimism of two systems cancels: with 100
#: and 400 rows of each class percentiles held the truth 94 to 99 times of 100 (±1), reflected about
#: the difference 90 to 96 times.
DIFFERENCE_RULES: Mapping[str, tuple[MethodRule, ...]] = {
    "proportion of rows": _PAIRED_COUNT_RULES,
    "measure of counts": _PAIRED_COUNT_RULES,
    "AUC": _PAIRED_AREA_RULES,
    "Gini": _PAIRED_AREA_RULES,
    "precision-recall area": _PAIRED_AREA_RULES,
    "interpolated precision-recall area": _PAIRED_AREA_RULES,
    "interpolated precision": _PAIRED_AREA_RULES,
    "recalibration": _PAIRED_AREA_RULES,
    "maximum over thresholds": _PAIRED_SCORE_RULES,
    "measure of scores": _PAIRED_SCORE_RULES,
    "calibration": (MethodRule("percentile", caution=_caution_bias),),
    "average of scores": (MethodRule("units", _has_spread, tries=True), *_PAIRED_SCORE_RULES),
    "median": (MethodRule("percentile"),),
    "quantile": (MethodRule("percentile"),),
    "independent samples": (MethodRule("two samples"),),
    "few human labels": (MethodRule("with judge", make=_labeled_procedure),),
    "samples of these cases": (MethodRule("samples", make=_fixed_cases_procedure),),
    # Of two systems that both pass 90% of 60 cases, one of which is judged on 3, 8, 15 and 30 of
    # them, 2 to 5 of 100 were told to differ (±1; by influence 37, 20, 10 and 4), of two that pass
    # half of them 2 to 6; with verdicts in common (all but a tenth, or half) 0 to 5. Intervals of
    # differences of grades, of clusters and of weighted cases held 93 to 100 times of 100 (±3).
    "units of their own": (MethodRule("limits of both", make=_separate_procedure),),
    "less a constant": (MethodRule("limits less a constant", make=_shifted_procedure),),
    "average over labels": (
        MethodRule("units", lambda reading: reading.has_few_units(), tries=True),
        MethodRule("by error", _has_cluster_error, tries=True),
        MethodRule("percentile"),
    ),
}
UNIT_RULES = _BY_UNITS

#: Rules by kind: for estimates, and for differences.
RULE_TABLES: tuple[dict[str, tuple[MethodRule, ...]], dict[str, tuple[MethodRule, ...]]] = ({}, {})


def register_policy(kind: str, *rows: MethodRule, differences: bool = False) -> None:
    """Register methods for a kind of point estimate.

    They are tried in the given order, before those that are registered already, if no method is
    requested by name and ``interval`` is ``"auto"``.

    Parameters
    ----------
    kind : str
        Kind of point estimate: a key of :data:`INTERVAL_RULES`, or a new one.
    *rows : MethodRule
        The methods with their conditions.
    differences : bool, default=False
        Whether the methods are for differences between two systems.

    Raises
    ------
    NameTakenError
        If a method with an implementation of its own has the name of an existing one of this kind.
    TypeError
        If a row is not a :class:`MethodRule`.

    Examples
    --------
    >>> from calipers.inference.method_selection import MethodRule, register_policy
    >>> register_policy("AUC", MethodRule("area", make=lambda reading, level: None))
    Traceback (most recent call last):
        ...
    calipers.plugins.NameTakenError: there is already a method 'area' for the kind 'AUC'
    """
    table = RULE_TABLES[differences]
    registered = table.get(kind, UNIT_RULES if differences else ())
    for row in rows:
        if not isinstance(row, MethodRule):
            raise TypeError(f"{kind}: {row!r} is not a rule of the policy; expected a MethodRule")
        if row.make is not None and row.method in {rule.method for rule in registered}:
            raise NameTakenError(f"there is already a method {row.method!r} for the kind {kind!r}")
    table[kind] = (*rows, *registered)


for _kind, _rows in INTERVAL_RULES.items():
    register_policy(_kind, *_rows)
for _kind, _rows in DIFFERENCE_RULES.items():
    RULE_TABLES[True].setdefault(_kind, ())
    register_policy(_kind, *_rows, differences=True)

#: Methods tried for ``interval="analytic"``: for estimates, and for differences.
ANALYTIC_METHODS = (
    (
        "wilson",
        "noncentral chi-square",
        "area",
        "hall",
        "Dirichlet posterior",
        "of bins",
        "delta",
        "t",
        "Student t",
        "order statistics",
        "woodruff",
        "bayesian-bootstrap",
    ),
    ("paired proportions", "by error"),
)

#: Methods tried for ``interval="bootstrap"``; the second tuple is for differences and means of
#: units, whose standard error in each replicate takes no further computation.
BOOTSTRAP_METHODS = (
    ("basic bootstrap", "percentile", "Dirichlet posterior", "Student t", "bayesian-bootstrap"),
    ("studentized", "percentile", "units"),
)
_UNIT_MEAN_KINDS = ("proportion of topics", "mean over topics")

#: Kinds without an interval: a count of the data, a p-value, a value that is known beforehand, and
#: values that single rows determine.
ABSENT_INTERVALS = {
    "count": intervals.no_interval("count", "exact_count"),
    "p-value": intervals.no_interval("none", "p_value"),
    "known constant": intervals.no_interval("none", "known_constant"),
    "extremes of distances": intervals.no_interval("none", "two_pairs"),
    "edges of spanning trees": intervals.no_interval("none", "single_edges"),
    "largest": intervals.no_interval("none", "largest_of_rows"),
    "number of a system": intervals.no_interval("none", "of_system"),
}


def interval(
    estimate: PointEstimate, level: float | None = None, *, test: str = "auto"
) -> Interval:
    """Return the interval of a point estimate.

    The method is the first applicable one of those requested by name, or else that of the tables;
    the interval is clipped to the range of the measure. The interval of a difference is that of its
    procedure, or of the requested ``test``.

    Parameters
    ----------
    estimate : PointEstimate
        The point estimate, or a difference of two.
    level : float, optional
        Confidence level. By default that of the settings of the estimate.
    test : str, default="auto"
        Test of a difference to which the interval belongs.

    Returns
    -------
    Interval
        The interval, or the reason why there is none.

    Notes
    -----
    An interval of the tables always includes the estimate. Posterior draws of a perfect confusion
    matrix are all less than perfect, and a basic bootstrap interval about an optimistic value may
    end below it; without the estimate such an interval would exclude what was observed.
    """
    level = estimate.settings.level if level is None else level
    if estimate.operands is not None:
        return _difference_interval(estimate, level, test)
    requested = _requested_interval(estimate, level)
    result = _default_interval(estimate, level) if requested is None else requested
    if estimate.order is None:
        return result
    from calipers.inference import serial

    return (
        serial.widen_interval(estimate, result, level)
        if requested is None
        else serial.caution_dependence(estimate, result)
    )


def _requested_interval(estimate: PointEstimate, level: float) -> Interval | None:
    """Return the interval by the first applicable method requested by name, or None."""
    if estimate.kind == "count" or estimate.is_conventional or not np.isfinite(estimate.value):
        return None
    available = available_intervals(estimate) if estimate.settings.methods else {}
    for name in estimate.settings.methods:
        interval = available[name](level) if name in available else None
        if interval is not None:
            row = MethodRule(name, caution=_get_caution(_rule_table(estimate), name))
            return _add_cautions(estimate, row, interval.clip(*estimate.bounds))
    return None


def _default_interval(estimate: PointEstimate, level: float) -> Interval:
    """Return the interval by the tables, or the reason why there is none."""
    settings = estimate.settings
    if estimate.kind == "count":
        return ABSENT_INTERVALS["count"]
    if settings.interval == "none" and not (settings.methods and np.isfinite(estimate.value)):
        return intervals.no_interval("none", "not_requested")
    if not np.isfinite(estimate.value):
        return intervals.no_interval("none", "undefined_value")
    if estimate.is_conventional:
        return intervals.no_interval("none", "conventional_value")
    if settings.interval == "none":
        return intervals.no_interval("none", "not_requested")
    if estimate.kind in ABSENT_INTERVALS:
        return ABSENT_INTERVALS[estimate.kind]
    row, interval = _select_method(estimate, level)
    interval = _add_cautions(estimate, row, interval.clip(*estimate.bounds))
    return interval.extend_to_value(estimate.value)


def _add_cautions(estimate: PointEstimate, rule: MethodRule, interval: Interval) -> Interval:
    """Return the interval with its cautions, however its method was chosen."""
    interval = rule.caution(estimate, interval)
    interval = _caution_few_clusters(estimate, rule.method, interval)
    return interval.add_caution(estimate.caution) if estimate.caution else interval


def _get_caution(
    rules: Sequence[MethodRule], method: str
) -> Callable[[PointEstimate, Interval], Interval]:
    """Return the caution function of a method in the table of a kind.

    If the method is not in the table, all cautions of the table are applied; those of resampling
    methods only to resampling methods.
    """
    method_cautions = [row.caution for row in rules if row.method == method]
    if method_cautions:
        return method_cautions[0]
    cautions = dict.fromkeys(
        row.caution
        for row in rules
        if method in RESAMPLING_METHODS or row.method not in RESAMPLING_METHODS
    )

    def caution(estimate: PointEstimate, interval: Interval) -> Interval:
        for apply_caution in cautions:
            interval = apply_caution(estimate, interval)
        return interval

    return caution


def _caution_few_clusters(estimate: PointEstimate, method: str, interval: Interval) -> Interval:
    """Add a caution to an interval with a small effective number of clusters."""
    if estimate.clusters is None:
        return interval
    if method in RESAMPLING_METHODS:
        has_few_clusters = estimate.clusters.n_effective_clusters < MIN_CLUSTERS_FOR_BOOTSTRAP
    else:
        error = estimate.standard_error
        degrees = error.df if isinstance(error, StandardError) else None
        has_few_clusters = (
            not (estimate.clusters.df if degrees is None else degrees) >= MIN_CLUSTER_DF
        )
    return interval.add_caution("few clusters") if has_few_clusters else interval


#: Rule and interval if no method applies.
_NO_METHOD = MethodRule(""), intervals.no_interval("none", "no_analytic_interval")


def _select_method(estimate: PointEstimate, level: float) -> tuple[MethodRule, Interval]:
    """Return the applicable method and its interval, cached for the test."""
    return cached(estimate, ("method", level), lambda: _first_applicable(estimate, level))


def _first_applicable(estimate: PointEstimate, level: float) -> tuple[MethodRule, Interval]:
    """Return the first applicable rule of the table and its interval."""
    available, absent = available_intervals(estimate), None
    for row in method_rules(estimate):
        interval = None
        if row.make is not None:
            interval = row.make(estimate, level) if row.when(estimate) else None
        elif row.method in available and row.when(estimate):
            interval = available[row.method](level)
        if interval is not None and not (
            row.tries and (interval.reason or _is_degenerate(estimate, interval))
        ):
            return row, interval
        absent = interval if interval is not None and interval.reason else absent
    error = estimate.standard_error if estimate.is_reduced else absent
    return (_NO_METHOD[0], error) if isinstance(error, Interval) else _NO_METHOD


# --- Differences ----------------------------------------------------------------------------------


def procedure(estimate: PointEstimate, test: str = "auto") -> Procedure:
    """Return the procedure of a difference: its interval, test and tests of margins in one.

    Parameters
    ----------
    estimate : PointEstimate
        Difference of two point estimates.
    test : str, default="auto"
        Name of a test.

    Returns
    -------
    Procedure
        The procedure of the test requested by name; or else of the interval requested by name in
        the settings, if it applies; or else the first applicable one of the table.
    """

    def choose() -> Procedure:
        row, selected = (
            _default_selection(estimate) if test == "auto" else _select_procedure(estimate, test)
        )
        is_requested = test != "auto" or row.method in estimate.settings.methods
        if estimate.order is None or is_requested:
            return selected
        from calipers.inference import serial

        return serial.widen_procedure(estimate, selected)

    return cached(estimate, ("procedure", test, estimate.settings.methods), choose)


def _select_procedure(estimate: PointEstimate, test: str) -> tuple[MethodRule, Procedure]:
    if not np.isfinite(estimate.value):
        return _NO_METHOD[0], no_procedure("undefined_value")
    if test != "auto":
        procedure = procedure_by_name(estimate, METHOD_BY_TEST[test])
        return _NO_METHOD[0], procedure or no_procedure("no_interval_of_test", estimate.value)
    for name in estimate.settings.methods:
        if (procedure := procedure_by_name(estimate, name)) is not None:
            return MethodRule(name), procedure
    last = None
    for row in method_rules(estimate):
        # If no unit differs, no replicate does, so resampling is skipped.
        if (
            last is not None
            and last.reason == "nothing_differs"
            and row.method in RESAMPLING_METHODS
        ):
            continue
        procedure = _make_procedure(estimate, row)
        if procedure is None:
            continue
        if not (row.tries and _is_uninformative(estimate, procedure)):
            return row, procedure
        last = procedure
    return _NO_METHOD[0], last or no_procedure("no_analytic_interval", estimate.value)


def _make_procedure(estimate: PointEstimate, rule: MethodRule) -> Procedure | None:
    if not rule.when(estimate):
        return None
    if rule.make is not None:
        procedure: Procedure | None = rule.make(estimate)
        return procedure
    if rule.method == "of both":
        return _limits_procedure(estimate)
    return procedure_by_name(estimate, rule.method)


def has_unit_rule(estimate: PointEstimate) -> bool:
    """Check whether the procedure of a difference is by default that of its units, if they vary."""
    is_default = not estimate.settings.methods and estimate.procedure_by_method is None
    return is_default and estimate.order is None and method_rules(estimate)[0] is UNIT_RULES[0]


def _is_uninformative(estimate: PointEstimate, procedure: Procedure) -> bool:
    """Check whether a procedure has no interval, or one without length."""
    if procedure.reason is not None:
        return True
    level = estimate.settings.level
    rounding = max(estimate.tolerance, ROUNDING_TOLERANCE * abs(estimate.value))
    if procedure.min_length(tail_probability(level)) > 4 * rounding:
        return False
    interval = procedure.interval(level)
    return interval.reason is not None or _is_degenerate(estimate, interval)


def _difference_interval(estimate: PointEstimate, level: float, test: str) -> Interval:
    """Return the interval of a difference with its cautions.

    It is that of the procedure of the requested test, or of the default one if the test does not
    apply.
    """
    if estimate.settings.interval == "none" and not estimate.settings.methods:
        return intervals.no_interval("none", "not_requested")
    is_requested = test != "auto" and procedure_by_name(estimate, METHOD_BY_TEST[test]) is not None
    row = MethodRule(METHOD_BY_TEST[test]) if is_requested else _default_selection(estimate)[0]
    interval = procedure(estimate, test if is_requested else "auto").interval(level)
    row = replace(row, caution=_get_caution(_rule_table(estimate), row.method))
    interval = _add_cautions(estimate, row, interval)
    if estimate.order is None:
        return interval
    from calipers.inference import serial

    if is_requested or row.method in estimate.settings.methods:
        return serial.caution_dependence(estimate, interval)
    return serial.add_caution(estimate, interval)


def _default_selection(estimate: PointEstimate) -> tuple[MethodRule, Procedure]:
    key = ("default procedure", estimate.settings.methods)
    return cached(estimate, key, lambda: _select_procedure(estimate, "auto"))


def _limits_procedure(estimate: PointEstimate) -> Procedure | None:
    """Return the procedure based on the limits of both estimates."""
    interval = worst_case_difference(estimate, estimate.settings.level)
    if interval.reason:
        return None
    return LimitsProcedure(
        value=estimate.value,
        bounds=estimate.bounds,
        method=interval.method,
        name=interval.method,
        n_differing=0 if has_no_differences(estimate) else None,
        limits=lambda level: worst_case_difference(estimate, level),
    )


def worst_case_difference(estimate: PointEstimate, level: float) -> Interval:
    """Return the interval of a difference of scores without variability, from both intervals.

    The limits are those of one estimate minus the opposite ones of the other, as if both intervals
    failed in opposite directions at once.

    Notes
    -----
    If the systems order all rows alike, pair each row of the smaller class with another row of the
    other class: if two systems differ on none of m independent pairs, the probability that they
    differ on a pair is at most 1 − α^(1/m).
    """
    assert estimate.operands is not None
    first, second = (interval(operand, level) for operand in estimate.operands)
    if first.reason or second.reason:
        return first if first.reason else second
    low, high, method = first.low - second.high, first.high - second.low, "limits of both"
    if has_no_differences(estimate):
        pairs, (lower_bound, upper_bound) = _n_pairs(estimate), estimate.operands[0].bounds
        exact_half_width = (1 - ((1 - level) / 2) ** (1 / pairs)) * (upper_bound - lower_bound)
        if exact_half_width < max(-low, high):
            low, high, method = -exact_half_width, exact_half_width, "exact bound, nothing differs"
    return Interval(low, high, method)


def _n_pairs(estimate: PointEstimate) -> float:
    """Return the number of independent pairs of a positive and a negative row."""
    n_pairs = max(1.0, min(estimate.effective_sizes()))
    return n_pairs if estimate.clusters is None else min(n_pairs, estimate.clusters.n_clusters)


def _is_degenerate(estimate: PointEstimate, interval: Interval) -> bool:
    """Check whether the length of an interval is at most rounding error."""
    return interval.high - interval.low <= max(
        estimate.tolerance, ROUNDING_TOLERANCE * max(abs(interval.low), abs(interval.high))
    )


#: Kinds whose rules take no others before or instead of them.
_OWN_RULE_KINDS = (
    *("few human labels", "samples of these cases"),
    *("units of their own", "less a constant"),
)


def method_rules(estimate: PointEstimate) -> Sequence[MethodRule]:
    """Return the rules to try for the interval, in order."""
    settings, paired = estimate.settings, estimate.operands is not None
    rules = _rule_table(estimate)
    if estimate.procedure_by_method is not None:
        return rules  # the settings apply to both samples
    if estimate.kind in _OWN_RULE_KINDS:
        return rules  # which hold for clusters, and have what the settings ask for in the operands
    # Rows that were not kept cannot be resampled.
    has_no_rows = estimate.is_reduced and (paired or estimate.clusters is not None)
    first = () if estimate.clusters is None else CLUSTER_RULES[paired]
    tried: Sequence[str]
    if settings.interval == "analytic" or has_no_rows:
        tried = ANALYTIC_METHODS[paired]
        if paired and has_no_rows and settings.interval != "analytic":
            # Its units are known by their mean and its error, or their spread.
            first = (*first, *_summary_rules(rules))
        elif settings.interval != "analytic":
            first = (*first, *rules)
    elif settings.is_bootstrap_requested:
        first, tried = (), BOOTSTRAP_METHODS[paired or estimate.kind in _UNIT_MEAN_KINDS]
    else:
        return [*first, *rules]
    return [*first, *(MethodRule(method, caution=_get_caution(rules, method)) for method in tried)]


def _summary_rules(rules: Sequence[MethodRule]) -> Sequence[MethodRule]:
    """Return the rules to try first for a difference whose rows are no longer available.

    These are the rules of its kind, and Student's t of a summary of units. Both intervals limit
    only a difference without variability, or whose error takes more rows of a class; others have a
    standard error.
    """
    kind_rules = [
        replace(row, when=_has_no_spread) if row.method == "of both" else row for row in rules
    ]
    return (*kind_rules, MethodRule("t", _has_unit_summary, tries=True))


def _rule_table(estimate: PointEstimate) -> Sequence[MethodRule]:
    """Return the table of the kind of a point estimate."""
    plugins.load("calipers.policies")
    if estimate.operands is not None:
        return RULE_TABLES[True].get(estimate.kind, UNIT_RULES)
    return RULE_TABLES[False].get(estimate.kind, ())
