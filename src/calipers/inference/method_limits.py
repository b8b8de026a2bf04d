"""Limits of sample size at which another method is used, with the simulations they are based on.

The choice of methods is in :mod:`calipers.inference.method_selection`.
"""

from __future__ import annotations

import math

from calipers.inference.point_estimate import PointEstimate
from calipers.inference.settings import Settings

#: With fewer ratings outside the most frequent category, no interval of agreement is reliable.
MIN_MINORITY_RATINGS = 30

#: Below this many rows a skill is bootstrapped.
MIN_ROWS_FOR_SKILL_ERROR = 100

#: From this number of positives on, influence values give the error of precision-recall areas.
MIN_POSITIVES_FOR_INFLUENCE = 20

#: With fewer rows of either class, a maximum over thresholds is still too high when its replicates
#: are reflected about its value, and the method has a caution: with weak scores (AUC 0.6) the
#: interval of KS covered the truth 74 times of 100 with 100 rows of each class, 88 with 500 and 91
#: with 1,000.
MIN_CLASS_ROWS_FOR_MAXIMUM = 1_000

#: Above this skewness over √n the interval of a mean of losses has a caution, since a few rows of
#: such a tail may be missing from the sample. (Squares of 100 normal residuals have 0.28.)
MAX_SCALED_SKEWNESS = 0.4

#: The same limit for squares: above this number of standard errors √(24/n) the excess kurtosis of
#: residuals shows heavy tails, whether or not a very large residual was observed. With 100 and 400
#: rows this was found in 3 and 4 of 100 data sets with normal residuals (by skewness in 4 and 0),
#: and in 73 and 100 with t of 4 degrees of freedom (53 and 36).
MAX_KURTOSIS_Z = 2.0

#: The largest error that log(1 − value) of an R² has on the side of the lower limit, with at least
#: the second number of rows: that of the logarithm of one event, since the contribution of one row
#: is no less certain. With 200 rows and a residual 13 times as large as the numbers, omitting it
#: shifts the logarithm by 2.6, and the limit of an R² of −0.1 would be −162; so it is −6.7, and 5.6
#: such rows, the upper limit of one event, would give −4.5. With 10 to 500 rows and residuals
#: normal, uneven, skewed, t with 3 and 5 degrees of freedom and with outliers this covered the
#: truth as often, to 0.1 of 100, as the error itself; with 4 and 6 rows up to 1 of 100 less often.
MAX_LOG_ERROR = 1.0
MIN_ROWS_FOR_MAX_LOG_ERROR = 10

#: With fewer positives, influence values underestimate the variance of differences of areas: with
#: 45 positives the test of a PR-AUC erred 6.5 times of 100 (the bootstrap's 5.2, and that of an AP
#: 5.6), with 100 5.9 times, with 200 5.5 times. As everywhere, weights count by Kish's number.
MIN_POSITIVES_BY_KIND = {
    "AUC": 0,
    "Gini": 0,
    "interpolated precision-recall area": 200,
    "interpolated precision": 200,
}
DEFAULT_MIN_POSITIVES = 30

#: With fewer positives in a subset, influence functions underestimate the variance of areas under
#: its precision-recall curve; the interval of Boyd, Eng and Page is then wide enough.
MIN_POSITIVES_OF_SUBSET = 30

#: Above this skewness over √n of the influence of rows on an area, or on an average of areas, a few
#: rows determine it.
MAX_AREA_SKEWNESS = 0.3

#: For a subset of at most this number of rows, such as a slice, standard errors and bootstraps are
#: not enough: its difference from all other rows is tested by permutation. (With 20 slices of 50
#: rows without any true difference, Welch's test found one 16 times of 100.)
MAX_PERMUTED_ROWS = 200

#: The same limit for counts of two classes, whose draws by Jeffreys are enough with more rows: with
#: 5 slices of 50 rows they found a difference although there is none 4 to 6 times of 100 by F1, 4
#: to 7 by MCC (±1), and with 20 slices 0 to 4 times; with 5 of 15 rows up to 8.5 times. Permutation
#: has less power for F1: with 50 rows it found a true difference 65 times of 100, draws 97 times.
MAX_PERMUTED_ROWS_OF_COUNTS = 49

#: The same limit for averages over labels one of which is rare. If all of its rows are correct they
#: show no variation, and a subset without the label averages over the others: with two slices of
#: 300 rows and a label of 1 to 6 of them, standard errors found a difference although there is none
#: up to 22 times of 100, permutation 3 to 5 times (±1.5). For larger subsets the method has a
#: caution.
MAX_PERMUTED_ROWS_OF_LABELS = 2_000

#: With fewer rows, or fewer of the smaller class, a difference over its standard error has
#: Student's t with one degree of freedom less than these. With 3, 5, 10 and 20 positives and 60
#: negatives DeLong's normal test of two AUCs of 0.76 erred 9.2, 7.4, 6.0 and 5.4 times of 100
#: (±0.4), with t 0.6, 1.4, 2.8 and 3.5 times.
MIN_ROWS_FOR_NORMAL = 20

#: With a smaller effective number of clusters, bootstrap intervals are too short: with 12 and 25
#: clusters of 5 rows the bootstrap covered the truth 91 to 94 and 91 to 95 times of 100
#: (proportions, F1, MCC; ±1.4), influence by cluster with Student's t 93 to 98 times; for
#: differences of two systems with 12 clusters 92 to 94 times, and 94 to 95. Measures without
#: influence values are bootstrapped nevertheless, with a caution.
MIN_CLUSTERS_FOR_BOOTSTRAP = 50

#: Number of lags that serial dependence is estimated from; the number of times below which it is
#: not estimated; and the effective number of rows below which intervals have a caution: with AR(1)
#: errors, ρ = 0.8 and 50 rows, which count as 6, they covered the truth of means 93 and of squares
#: 85 times of 100.
MAX_SERIAL_LAGS = 10
MIN_PERIODS = 12
MIN_EFFECTIVE_PERIODS = 20

#: With fewer degrees of freedom the error of clustered rows depends on little more than one or two
#: clusters, and the interval has a caution.
MIN_CLUSTER_DF = 4

#: With fewer points for each pair of a class and a cluster, entropies are more biased than is
#: known: with 100 points in 10 classes and 10 clusters the interval of AMI covered the truth 90
#: times of 100 and that of a difference 85 times (±2); with 400 points 96 and 92; of 3 by 3 with
#: 100 points 96 and 94.
MIN_POINTS_PER_CELL = 4

#: With fewer rows for each pair of a true and a predicted class, measures of association have a
#: caution: with 100 rows of six classes intervals held associations of .3 and .7 81 to 88 times of
#: 100 (±2.5), with 400 rows 92 to 96; of three classes and 100 rows 92 to 95.
MIN_ROWS_OF_ASSOCIATION = 5

#: If a label has fewer rows, true or predicted, macro averages use the delta method: a replicate
#: without that label would be an average over other labels.
MIN_LABEL_ROWS = 8

#: For a rate at a rate of the other class, such as FPR@recall=0.95, the bootstrap is too short if
#: fewer rows of that class are expected beyond the threshold: with 0.6, 1 and 1.5 of them it
#: covered the truth 63, 80 and 88 times of 100, with 2 to 5 of them 91 to 97 times (±2); precision
#: at a recall 95 to 98 times.
MIN_ROWS_BEYOND_THRESHOLD = 2

#: Averages over labels are bootstrapped if at most this many numbers have to be drawn (rows ×
#: counts × replicates); beyond, the delta method gives equivalent results.
MAX_RESAMPLED_VALUES = 1_000_000_000

#: Minimum number of randomizations.
MIN_RANDOMIZATIONS = 10_000

#: In a family of differences over topics, this proportion of the mean variance of each measure is
#: added to every variance. Without it a pair that hardly differs breaks the test: for near-constant
#: Success it erred 93 times of 100.
VARIANCE_FLOOR = 0.1

#: With more units than the first, or more steps than the second (units × pairs × measures ×
#: randomizations), values are not randomized: with so large samples the distribution of the largest
#: |t| from influence values is as good.
MAX_RANDOMIZED_UNITS = 2_000
MAX_RANDOMIZATION_STEPS = 10_000_000_000

#: With more units, means of values without bounds have Hall's interval instead of the bootstrap-t,
#: which corrects for the same skewness and takes time: with 2,001 values Hall's held the mean 94.0
#: (normal), 96.6 (exponential), 93.6 and 94.5 (lognormal, σ = 1 and 1.5), 94.4 (t with 3 degrees of
#: freedom) and 96.1 (1% exponential, else 0) times of 100 (±0.7), the bootstrap-t of the same data
#: 93.9, 96.4, 93.4, 94.4, 94.5 and 95.7 times.
MAX_BOOTSTRAPPED_UNITS = 2_000

#: With more units, values are not permuted for one measure, which would take too long.
MAX_PERMUTED_UNITS = 100_000

#: Influences on the differences of a family are stored until all are known: up to the first number
#: in double precision, up to the second (80 MB) in single precision, which changes their
#: correlations by some 10⁻¹⁰. Beyond that they are sketched with 4,096 numbers each, which leaves
#: correlations correct to 1.6%.
MAX_DOUBLE_VALUES = 2_000_000
MAX_SINGLE_VALUES = 20_000_000
SKETCH_SIZE = 4_096

#: With more pairs of systems for each system but one (those of nine systems), influences are stored
#: by system, and pairs are their differences: all of them up to this number of values (80 MB), in
#: double precision, and beyond it sketched.
MAX_PAIRS_PER_SYSTEM = 4
MAX_SHARED_VALUES = 10_000_000

#: Number of draws of the maximum of a family.
N_DRAWN_MAXIMA = 20_000

#: More pairs of systems (those of eight) are not compared within slices.
MAX_PAIRS_WITHIN_SLICES = 28

#: With fewer human labels there is no interval beside the scores of a judge.
MIN_HUMAN_LABELS = 10
#: With fewer human labels averages over classes have a finding: with 20 the interval held macro-F1
#: of three classes 86 to 94 times of 100, with 30 and more 88 to 100 times.
MIN_LABELS_FOR_AVERAGES = 30

#: With more points, silhouettes are those of a sample: all distances of 100,000 points take some
#: 10 s at 16 features, and four times as long with twice as many points. A mean of 5,000
#: silhouettes has an error of some 0.003.
MAX_SILHOUETTE_POINTS, N_SAMPLED_POINTS = 100_000, 5_000

#: Power with which a difference of the size that is called detectable would be found.
POWER = 0.8


def n_randomizations(settings: Settings) -> int:
    """Return the number of randomizations to use."""
    return max(settings.n_resamples, MIN_RANDOMIZATIONS)


def max_permuted_rows(first: PointEstimate, second: PointEstimate) -> int:
    """Return the largest size of a subset whose difference from others is tested by permutation."""
    if first.kind == "measure of counts" and first.posterior_draws is not None:
        return MAX_PERMUTED_ROWS_OF_COUNTS
    return (
        MAX_PERMUTED_ROWS_OF_LABELS
        if first.has_few_units() or second.has_few_units()
        else MAX_PERMUTED_ROWS
    )


def n_replicates_for_adjusted_p(n_tests: int, settings: Settings) -> int:
    """Return enough replicates to resolve the smallest p-value after Bonferroni's adjustment."""
    return max(settings.n_resamples, math.ceil(4 * n_tests / (1 - settings.level)))


#: With fewer training sets, bias and variance cannot be estimated.
MIN_TRAINING_SETS = 3
#: With fewer, the interval of a bias has a caution: with 20 it covered the truth 90 to 95 times of
#: 100.
MIN_SETS_FOR_BIAS = 50
