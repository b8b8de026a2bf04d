"""Which interval a reading gets: one table for numbers, one for differences of two systems.

:data:`INTERVALS` and :data:`DIFFERENCES` have for each kind of reading the methods in the order in
which they are tried, with the reason where it was measured; :data:`ANALYTIC` what is used where no
bootstrap is wanted, :data:`BOOTSTRAP` where one is. A difference is tested by what its interval is
made from (:mod:`calipers.inference.questions`). Every limit (how few is few) stands here, and no
method is chosen anywhere else.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from calipers.inference import intervals
from calipers.inference.dirichlet import differing
from calipers.inference.intervals import Interval
from calipers.inference.methods import offers
from calipers.inference.reading import Reading
from calipers.inference.settings import Settings
from calipers.inference.spaces import Error

# --- Limits ---------------------------------------------------------------------------------------

#: Below this many rows a skill and a difference of losses are bootstrapped.
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

#: Of a part of no more rows, such as a slice, errors and bootstraps say too little by themselves:
#: its difference from the rest is compared with that of rows dealt anew. (Of 20 slices of 50 rows
#: that differ in nothing Welch's test found one that does 16 times of 100.)
FEW_DEALT = 200

#: The same of counts of two classes, whose draws by Jeffreys say enough of more rows: with 5 slices
#: of 50 rows they found a difference where there is none 4 to 6 times of 100 by F1, 4 to 7 by MCC
#: (±1), and with 20 slices 0 to 4 times; with 5 of 15 rows up to 8.5 times. Rows dealt anew see a
#: true difference of F1 less often: of 50 rows 65 times of 100 where draws did 97 times.
FEW_DEALT_OF_CELLS = 49

#: Of fewer clusters the bootstrap is too short, and influence by cluster with Student's t takes its
#: place where there is one: of 12 and 25 clusters of 5 rows the bootstrap held the truth 91 to 94
#: and 91 to 95 times of 100 (shares, F1, MCC; ±1.4), these 93 to 98 times; of differences of two
#: systems with 12 clusters 92 to 94 times, and 94 to 95. What has no influence says so.
FEW_CLUSTERS = 50

#: The methods that draw clusters anew.
DRAWN = ("percentile", "turned", "turned on logits")

#: With fewer rows a class, likely cells say too little of how several classes vary: of 30 classes
#: with 8 rows each the interval of macro-F1 held the truth 82 times of 100, the bootstrap's 90; of
#: 20 with 20 rows each both did 93 times (±2).
FEW_OF_CLASS = 20

#: With a label of fewer rows, true or predicted, macro averages go by the delta method: a replicate
#: without that label would be an average over other labels.
FEW_OF_LABEL = 8

#: Averages over labels are bootstrapped where no more numbers than these have to be drawn (rows ×
#: counts × replicates); beyond, the delta method says the same.
MOST_REDRAWN = 1_000_000_000

#: At least so many randomisations are tried.
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

#: Influences of more units are sketched with so many numbers, which leaves their correlations right
#: to 1.6%, and drawn so often.
SKETCH = 4_096
DRAWN_MAXIMA = 20_000

#: Means of topics go by bootstrap-t where half a topic at either end of the range would add more
#: than this share of the variance, and the skewness over √n is at most the other.
FAR_ENDS = 0.3
EVEN = 0.15

#: Where a larger share of the units than this tie, the spread of all says too little of what could
#: have been seen.
MANY_TIES = 0.5

#: More pairs of systems (those of eight) are not compared within slices.
MOST_PAIRS_WITHIN = 28

#: With what probability a difference of the size that is called detectable would be seen.
POWER = 0.8


def randomisations(settings: Settings) -> int:
    """How many randomisations are tried."""
    return max(settings.resamples, LEAST_RANDOMISATIONS)


def enough_for(tests: int, settings: Settings) -> int:
    """So many replicates that the smallest p-value can decide after it was multiplied by the number
    of tests."""
    return max(settings.resamples, math.ceil(4 * tests / (1 - settings.level)))


def mostly_ties(reading: Reading) -> bool:
    """Whether most units of a difference do not differ."""
    if reading.units is None:
        return False
    values = reading.units.values
    return len(values) - differing(values) > MANY_TIES * len(values)


# --- Intervals of numbers -----------------------------------------------------------------------


def _no_caution(reading: Reading, made: Interval) -> Interval:
    return made


@dataclass(frozen=True)
class Row:
    """A method, when it is the one, and what speaks against what it makes. One that does not apply
    leaves it to the next, as one that ``tries`` does where it finds no interval."""

    method: str
    when: Callable[[Reading], bool] = lambda reading: True
    caution: Callable[[Reading, Interval], Interval] = _no_caution
    tries: bool = False


def _rows_of_classes(reading: Reading) -> bool:
    plain = reading.weight is None and reading.clusters is None
    return plain and reading.per_class() >= FEW_OF_CLASS


def _clustered(reading: Reading) -> bool:
    return reading.clusters is not None


def _few_clusters(reading: Reading) -> bool:
    return reading.clusters is not None and reading.clusters.number < FEW_CLUSTERS


def _clusters_vary(reading: Reading) -> bool:
    """Whether clusters disagree; such as agree altogether leave the bootstrap nothing to draw."""
    many = reading.clusters is not None and not _few_clusters(reading)
    return many and reading.value not in (0.0, 1.0)


def _several_clusters(reading: Reading) -> bool:
    return reading.clusters is None or reading.clusters.number > 1


def _few_rows(reading: Reading) -> bool:
    return reading.clusters is not None or reading.sizes()[0] < FEW_ROWS


def _enough_positives(reading: Reading) -> bool:
    return reading.weight is None and reading.sizes()[1] >= FEW_POSITIVES


def _ends_are_far(reading: Reading) -> bool:
    """Whether values lie so close together that the ends of the range say little of them."""
    room = reading.room()
    return room == np.inf or (room > FAR_ENDS and reading.skewness <= EVEN)


def _weighted_positives(reading: Reading) -> bool:
    return reading.weight is not None and reading.sizes()[1] >= FEW_POSITIVES


def _heavy(reading: Reading, made: Interval) -> Interval:
    return made.but("a heavy tail") if reading.skewness > HEAVY_TAIL else made


def _flattered(reading: Reading, made: Interval) -> Interval:
    few = min(reading.sizes()) < FEW_OF_MAXIMUM
    return made.but("a maximum of few rows") if few else made


def _biased(reading: Reading, made: Interval) -> Interval:
    """Of an ECE they held the truth 88 to 92 times of 100 where a test finds miscalibration, and no
    more often where it is too mild to be found."""
    return made.but("a biased measure") if reading.pivotal else made


def _at_its_end(reading: Reading, made: Interval) -> Interval:
    """Errors that the data do not have, no replicate has: such intervals held the truth 66 to 94
    times of 100, the others 95 to 98 times."""
    for end in reading.bounds:
        if end in (made.low, made.high):
            return made.but(f"it ends at {end:g}")
    return made


# Boyd's error does not know how scores lie: it held the truth up to 100 times of 100, where that of
# influence did 93 to 97 times (with weights, 88 times).
_OF_PRECISION = (
    Row("delta", _enough_positives, tries=True),
    Row("percentile", _clustered, _at_its_end, tries=True),
    Row("area", _weighted_positives, tries=True),
    Row("of positives"),
)
_OF_SCORES = (Row("percentile", caution=_at_its_end),)
# By clusters (15, 40 and 100 of unequal size) the logit and Student's t held the truth 93, 94 and
# 93 times of 100 at an AUC of 0.71 (±1), 91, 93 and 94 times at 0.97; the bootstrap of clusters 92,
# 93 and 94 times, and 84, 91 and 92. Of macro-AUC: 93, 93 and 96 times, and 92, 94 and 95; without
# the logit 92, 93 and 96, and 87, 91 and 93. Of AP 0.94: 94, 92 and 90 times, the bootstrap 85, 88
# and 89 (±3). Of differences of AUCs: 92 to 95 times, the bootstrap 92 to 94.
_OF_PAIRS = (Row("area"), *_OF_SCORES)

# Of 25, 50 and 100 topics the Bayesian bootstrap with half a topic at either end held the truth
# 93 to 97 times of 100 (±0.5): RR near-perfect, middling and hopeless, recall of which most is 1,
# nDCG, tenths. Bootstrap-t has no interval of up to 99 of 100 near-perfect data sets, and held it
# 74 to 90 times where RR was hopeless. Of values that lie close together both hold it, but the
# Bayesian is up to twice as long. With exponential weights both held it 92 to 97 times (±0.8), and
# 90 to 97 (±1.2) where weights go with values.
_OF_TOPICS = (Row("studentised", _ends_are_far, tries=True), Row("bayesian"))

#: The methods of each kind of reading, the first that applies.
INTERVALS: Mapping[str, tuple[Row, ...]] = {
    "share of rows": (Row("percentile", _clusters_vary), Row("wilson")),
    # Where a cell holds few rows the bootstrap draws too few others, and of a perfect table nothing
    # but perfect ones. (Of rows that weigh differently or come in clusters it is what is left.)
    "measure of counts": (
        Row("delta", _few_clusters, tries=True),
        Row("Jeffreys of the cells", _rows_of_classes),
        Row("percentile", tries=True),
        Row("Jeffreys of the cells"),
    ),
    "AUC": _OF_PAIRS,
    "Gini": _OF_PAIRS,
    "precision area": _OF_PRECISION,
    "interpolated precision area": _OF_PRECISION,
    # The best of all thresholds flatters, and its replicates do once more: percentiles held the
    # truth 75 to 90 times of 100.
    "maximum over thresholds": (
        Row("turned on logits", _several_clusters, _flattered),
        *_OF_SCORES,
    ),
    "interpolated precision": (
        Row("percentile", caution=_at_its_end, tries=True),
        Row("of positives"),
    ),
    "measure of scores": _OF_SCORES,
    "recalibration": (Row("delta"),),
    "calibration": (Row("turned", caution=_biased),),
    "threshold": (Row("percentile"),),
    # With half a row at either end, Brier of which 0.5% of the rows are badly wrong held the truth
    # 96 and 98 times of 100 (25 and 100 rows; the bootstrap-t 12 and 39), of 3% 97 and 94 times (56
    # and 95), blurred or sharp 95 to 98 (±1); of 10, 20 and 50 clusters 94 to 95 (±1.4; Student's t
    # and percentiles 85, 85 and 94). Hall's t held it as often as the bootstrap-t or more: squares
    # of normal residuals 94 and 97 times, of t with 5 degrees of freedom 93 and 90, with 3 degrees
    # 86 and 81 (82 and 80), log loss 95 and 95; of 10, 20 and 50 clusters 92 (86, 88 and 91). One
    # outlier makes it no longer than some 8 standard errors.
    "mean of a value per row": (
        Row("wilson"),
        Row("bayesian"),
        Row("hall", caution=_heavy),
        Row("delta"),
    ),
    "average of scores": (Row("delta"), Row("percentile")),
    "skill": (Row("percentile", _few_rows), Row("delta")),
    "share by rank": (Row("wilson"), Row("percentile")),
    "average over labels": (Row("delta", lambda reading: reading.few()), Row("percentile")),
    "share of topics": (Row("wilson"),),
    "mean over topics": _OF_TOPICS,
    "topics pooled": _OF_TOPICS,
}


def _enough_for_pairs(reading: Reading) -> bool:
    few = FEW_POSITIVES_OF_PAIRS.get(reading.kind, FEW_POSITIVES_OF_OTHERS)
    return _few_clusters(reading) or reading.sizes()[1] >= few


_PAIRED_COUNTS = (
    Row("paired shares"),
    Row("by error", _few_clusters, tries=True),
    Row("percentile", tries=True),
    Row("Jeffreys of the cells"),
)
_PAIRED_AREAS = (Row("by error", _enough_for_pairs), Row("percentile"))

#: The methods of differences of each kind of reading; of others :data:`OF_UNITS`. So those of pAUC
#: and PRG-AUC go by percentiles, which held the truth 94 to 98 times of 100 (±1.4; 50 or 150
#: positives, 150 negatives); by influence, which is differentiated numerically and only of some
#: hundred distinct scores, it was 92 to 98 times. Maxima over thresholds are not turned as their
#: estimates are, for most of what flatters two systems cancels: with 100 and 400 rows of each class
#: percentiles held the truth 94 to 99 times of 100 (±1), turned about the difference 90 to 96
#: times.
DIFFERENCES: Mapping[str, tuple[Row, ...]] = {
    "share of rows": _PAIRED_COUNTS,
    "measure of counts": _PAIRED_COUNTS,
    "AUC": _PAIRED_AREAS,
    "Gini": _PAIRED_AREAS,
    "precision area": _PAIRED_AREAS,
    "interpolated precision area": _PAIRED_AREAS,
    "interpolated precision": _PAIRED_AREAS,
    "recalibration": _PAIRED_AREAS,
    "calibration": (Row("percentile", caution=_biased),),
    "mean of a value per row": (Row("percentile", _few_rows), Row("by error")),
    "skill": (Row("percentile", _few_rows), Row("by error")),
    "average of scores": (
        Row("by error", lambda reading: isinstance(reading.found_error, Error)),
        Row("percentile"),
    ),
    "share by rank": (Row("by error"),),
    "average over labels": (Row("by error", lambda reading: reading.few()), Row("percentile")),
}

#: Of topics of which 70, 90 or 97% tie the Bayesian bootstrap held the true difference 93 to 100
#: times of 100 (25, 50, 100 topics; ±0.5), with halves at the largest difference itself 88 to 100,
#: bootstrap-t 1 to 97 times; of such as do not tie 94 to 97 times, bootstrap-t 92 to 96. (Of skewed
#: lognormal differences of 25 topics 89 times, bootstrap-t 92; weighted 95 to 100, and 1 to 95.)
#:
#: Of units that gain or lose 1, or neither, few say next to nothing of the spread: with 25 topics,
#: one of ten of which fails, the bootstrap-t holds the truth 84 times of 100. With 40 rows, of
#: which 4% and 1% are right by one system alone, percentiles held it 80 times of 100 and had no
#: length 13 times; by shares it was 100 times. With 100 rows these were 96 and 97 times (±1); where
#: a row of ten or more are of that kind, both 94 to 98 times from 40 rows on.
OF_UNITS = (
    Row("paired shares"),
    Row("bayesian", lambda reading: reading.of_units, tries=True),
    Row("studentised"),
    Row("percentile", tries=True),
    Row("bayesian"),
)

#: What is tried where no bootstrap is wanted: of numbers, and of differences.
ANALYTIC = ("wilson", "area", "hall", "delta", "student"), ("paired shares", "by error")

#: What is tried where one is; means of units have an error for each replicate at no cost.
BOOTSTRAP = ("turned", "percentile"), ("studentised", "percentile")
_MEANS_OF_UNITS = ("share of topics", "mean over topics")

#: What has no interval: a count of the data themselves, and a p-value.
WITHOUT = {
    "count": intervals.missing("count", "exact_count"),
    "p-value": intervals.missing("none", "p_value"),
}


def interval(reading: Reading, level: float | None = None) -> Interval:
    """The interval of a reading: by the first method asked for by name that applies to it, else by
    the tables; cut off at what the measure can reach.

    That of the tables holds the value itself. Matrices as likely as a perfect one are all less than
    perfect, and an interval that is turned about a flattered value may end below it; without the
    value such an interval would say that what was seen cannot be.
    """
    settings = reading.settings
    level = settings.level if level is None else level
    if reading.kind == "count":
        return WITHOUT["count"]
    if settings.interval == "none" and not (settings.methods and np.isfinite(reading.value)):
        return intervals.missing("none", "not_asked")
    if not np.isfinite(reading.value):
        return intervals.missing("none", "undefined_value")
    offered = offers(reading)
    for name in settings.methods:
        made = offered[name](level) if name in offered else None
        if made is not None:
            return made.within(*reading.bounds)
    if settings.interval == "none":
        return intervals.missing("none", "not_asked")
    if reading.kind in WITHOUT:
        return WITHOUT[reading.kind]
    for row in rows(reading):
        made = offered[row.method](level) if row.method in offered and row.when(reading) else None
        if made is not None and not (row.tries and made.reason):
            made = row.caution(reading, made.within(*reading.bounds))
            if row.method in DRAWN and _few_clusters(reading):
                made = made.but("few clusters")
            made = made.but(reading.caution) if reading.caution else made
            return made.around(reading.value)
    return intervals.missing("none", "no_analytic_interval")


def rows(reading: Reading) -> Sequence[Row]:
    """What is tried for its interval, in order."""
    settings, paired = reading.settings, reading.operands is not None
    known = DIFFERENCES.get(reading.kind, OF_UNITS) if paired else INTERVALS[reading.kind]
    if settings.interval == "analytic":
        return [Row(method) for method in ANALYTIC[paired]]
    if not settings.prefers_bootstrap:
        return known
    cautions = {row.method: row.caution for row in known}
    tried = BOOTSTRAP[paired or reading.kind in _MEANS_OF_UNITS]
    return [Row(method, caution=cautions.get(method, _no_caution)) for method in tried]


def way(reading: Reading) -> str:
    """The method that the interval of a difference comes from."""
    offered = offers(reading)
    return next((r.method for r in rows(reading) if r.method in offered and r.when(reading)), "")
