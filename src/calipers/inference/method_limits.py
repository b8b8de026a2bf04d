"""Limits of sample size at which another method is used, with the simulations they are based on.

The choice of methods is in :mod:`calipers.inference.policy`.
"""

from __future__ import annotations

import math

from calipers.inference.point_estimate import PointEstimate
from calipers.inference.settings import Settings

#: With fewer ratings beside those of the commonest category, no interval of agreement is sure.
FEW_OF_CATEGORY = 30

#: Below this many rows a skill is bootstrapped.
FEW_ROWS = 100

#: Of at least so many positives the influence of rows says how precision-recall areas vary.
FEW_POSITIVES = 20

#: Of fewer rows of either class a maximum over thresholds is still too high when turned about its
#: value, and the method says so: of weak scores (AUC 0.6) the interval of KS held the truth 74
#: times of 100 with 100 rows of each class, 88 with 500 and 91 with 1,000.
FEW_OF_MAXIMUM = 1_000

#: Above this skewness over √n the interval of a mean of losses says so: what few rows of such a
#: tail hold, no interval can know. (Squares of 100 normal residuals have 0.28.)
HEAVY_TAIL = 0.4

#: The same of squares: above so many standard errors √(24/n) the excess kurtosis of residuals says
#: of which kind they are, whether or not one of a rare size was seen. Of 100 and 400 rows that was
#: said of 3 and 4 of 100 data sets with normal residuals (by skewness of 4 and 0), of 73 and 100
#: with t of 4 degrees of freedom (53 and 36).
HEAVY_KURTOSIS = 2.0

#: The largest error that log(1 − value) of an R² has on the side of the lower limit, where there
#: are at least so many rows: that of the logarithm of one event, since what one row holds alone is
#: no less sure. Of 200 rows with a residual 13 times as large as the numbers, leaving it out moves
#: the logarithm by 2.6, and the limit of an R² of −0.1 would be −162; so it is −6.7, and 5.6 such
#: rows, the upper limit of one event, would give −4.5. With 10 to 500 rows and residuals normal,
#: uneven, skewed, t with 3 and 5 degrees of freedom and with outliers this held the truth as often,
#: to 0.1 of 100, as the error itself; with 4 and 6 rows up to 1 of 100 less often.
ERROR_OF_ONE_ROW = 1.0
FEW_BESIDE_ONE_ROW = 10

#: With fewer positives, influence says too little of how differences of areas vary: with 45
#: positives the test of a PR-AUC erred 6.5 times of 100 (the bootstrap's 5.2, and that of an AP
#: 5.6), with 100 5.9 times, with 200 5.5 times. As everywhere, weights count by Kish's number.
FEW_POSITIVES_OF_PAIRS = {
    "AUC": 0,
    "Gini": 0,
    "interpolated precision area": 200,
    "interpolated precision": 200,
}
FEW_POSITIVES_OF_OTHERS = 30

#: With fewer positives in a part, influence functions say too little of how areas under its
#: precision-recall curve vary; the interval of Boyd, Eng and Page is then wide enough.
FEW_POSITIVES_OF_PARTS = 30

#: Above this skewness over √n of what rows move an area, or an average of areas, few of them decide
#: it.
FEW_DECIDE = 0.3

#: Of a part of no more rows, such as a slice, errors and bootstraps say too little by themselves:
#: its difference from the rest is compared with that of rows permuted. (Of 20 slices of 50 rows
#: that differ in nothing Welch's test found one that does 16 times of 100.)
FEW_DEALT = 200

#: The same of counts of two classes, whose draws by Jeffreys say enough of more rows: with 5 slices
#: of 50 rows they found a difference where there is none 4 to 6 times of 100 by F1, 4 to 7 by MCC
#: (±1), and with 20 slices 0 to 4 times; with 5 of 15 rows up to 8.5 times. Rows permuted see a
#: true difference of F1 less often: of 50 rows 65 times of 100 where draws did 97 times.
FEW_DEALT_OF_CELLS = 49

#: The same of averages over labels one of which is rare. Where all of its rows are right they say
#: nothing of how they vary, and a part without it averages over the others: of two slices of 300
#: rows with a label of 1 to 6 of them errors found a difference where there is none up to 22 times
#: of 100, rows permuted 3 to 5 times (±1.5). Of larger parts the method says so.
FEW_DEALT_OF_LABEL = 2_000

#: Of fewer rows, or fewer of the smaller class, a difference over its standard error has Student's
#: t with one degree of freedom less than these. With 3, 5, 10 and 20 positives and 60 negatives
#: DeLong's normal test of two AUCs of 0.76 erred 9.2, 7.4, 6.0 and 5.4 times of 100 (±0.4), with t
#: 0.6, 1.4, 2.8 and 3.5 times.
FEW_FOR_NORMAL = 20

#: Clusters that are worth fewer than these, of equal size, are bootstrapped too short: of 12 and 25
#: clusters of 5 rows the bootstrap held the truth 91 to 94 and 91 to 95 times of 100 (shares, F1,
#: MCC; ±1.4), influence by cluster with Student's t 93 to 98 times; of differences of two systems
#: with 12 clusters 92 to 94 times, and 94 to 95. What has no influence is bootstrapped all the same
#: and says so.
FEW_CLUSTERS = 50

#: Serial dependence is looked for among so many lags; of fewer times than this nothing is seen of
#: it; and where n rows count as fewer than so many, intervals say so: of AR(1) errors with ρ = 0.8
#: and 50 rows, which count as 6, they held the truth of means 93 and of squares 85 times of 100.
SERIAL_LAGS = 10
FEW_PERIODS = 12
FEW_EFFECTIVE = 20

#: With fewer degrees of freedom the error of clustered rows rests on little more than one or two of
#: them, and the interval says so.
FEW_DEGREES = 4

#: With fewer points for each pair of a class and a cluster, entropies are more biased than is
#: known: of 100 points in 10 classes and 10 clusters the interval of AMI held the truth 90 times of
#: 100 and that of a difference 85 times (±2); with 400 points 96 and 92; of 3 by 3 with 100 points
#: 96 and 94.
FEW_OF_CELL = 4

#: With a label of fewer rows, true or predicted, macro averages go by the delta method: a replicate
#: without that label would be an average over other labels.
FEW_OF_LABEL = 8

#: Of a rate at a rate of the other class, such as FPR@recall=0.95, the bootstrap knows too little
#: where fewer rows of that class are expected beyond the threshold: with 0.6, 1 and 1.5 of them it
#: held the truth 63, 80 and 88 times of 100, with 2 to 5 of them 91 to 97 times (±2); precision at
#: a recall 95 to 98 times.
FEW_BEYOND = 2

#: Averages over labels are bootstrapped where no more numbers than these have to be drawn (rows ×
#: counts × replicates); beyond, the delta method says the same.
MOST_REDRAWN = 1_000_000_000

#: At least so many randomizations are tried.
LEAST_RANDOMISATIONS = 10_000

#: Of a family of differences over topics this share of the mean variance of each measure is added
#: to every variance. Without it a pair that hardly differs breaks the test: of near-constant
#: Success it erred 93 times of 100.
FLOOR = 0.1

#: Values of more units than these, or where more steps than these are taken (units × pairs ×
#: measures × deals), are not dealt out anew: the largest |t| of so many is as good by influence.
MOST_DEALT_UNITS = 2_000
MOST_DEALS = 10_000_000_000

#: The values of more units are not dealt out anew for one measure: it takes too long.
MOST_DEALT = 100_000

#: Influences on the differences of a family are kept until all are known: up to so many numbers in
#: double precision, up to so many (80 MB) in single precision, which moves their correlations by
#: some 10⁻¹⁰. Those of yet more are sketched with 4,096 numbers each, which leaves correlations
#: right to 1.6%.
DOUBLES = 2_000_000
SINGLES = 20_000_000
SKETCH = 4_096

#: The largest of a family is drawn so often.
DRAWN_MAXIMA = 20_000

#: More pairs of systems (those of eight) are not compared within slices.
MOST_PAIRS_WITHIN = 28

#: Of more points, silhouettes are those of a sample: all distances of 100,000 points take some 10 s
#: at 16 features, and four times as long of twice as many. A mean of 5,000 silhouettes has an error
#: of some 0.003.
MOST_POINTS, SAMPLED_POINTS = 100_000, 5_000

#: With what probability a difference of the size that is called detectable would be seen.
POWER = 0.8


def n_randomizations(settings: Settings) -> int:
    """Return the number of randomizations to use."""
    return max(settings.n_resamples, LEAST_RANDOMISATIONS)


def max_permuted(first: PointEstimate, second: PointEstimate) -> int:
    """Return the largest size of a subset whose difference from others is tested by permutation."""
    if first.kind == "measure of counts" and first.posterior_draws is not None:
        return FEW_DEALT_OF_CELLS
    return FEW_DEALT_OF_LABEL if first.has_few_units() or second.has_few_units() else FEW_DEALT


def n_for_adjusted_p(tests: int, settings: Settings) -> int:
    """Return enough replicates to resolve the smallest p-value after Bonferroni's adjustment."""
    return max(settings.n_resamples, math.ceil(4 * tests / (1 - settings.level)))


#: From fewer training sets, how much they vary says too little of bias and variance.
FEWEST_SETS = 3
#: Of fewer the interval of a bias is cautioned: of 20 it held the truth 90 to 95 times of 100.
FEW_SETS = 50
