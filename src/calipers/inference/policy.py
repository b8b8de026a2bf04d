"""Which interval and which test a reading gets: one table for numbers, one for differences.

:data:`INTERVALS` has for each kind of reading the methods in the order in which they are tried,
with the reason where it was measured; :data:`ANALYTIC` what is used where no bootstrap is wanted;
:data:`DIFFERENCES` what the interval of a difference of two systems is made from, and with it the
test. Every limit (how few is few) stands here, and no method is chosen anywhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from calipers.inference import intervals, margins, paired
from calipers.inference.intervals import Interval
from calipers.inference.margins import MarginTest, Shifted
from calipers.inference.paired import Test
from calipers.inference.reading import NAN, Error, Limits, Reading
from calipers.inference.settings import Settings
from calipers.statistics import FloatArray

# --- Limits -------------------------------------------------------------------------------------

#: Below this many rows the mean of a loss per row is bootstrapped.
FEW_ROWS = 100

#: Of at least so many positives the influence of rows says how precision-recall areas vary.
FEW_POSITIVES = 20

#: Of fewer rows of either class a maximum over thresholds is still too high when turned about its
#: value, and the method says so: of weak scores (AUC 0.6) the interval of KS held the truth 74
#: times of 100 with 100 rows of each class, 88 with 500 and 91 with 1,000.
FEW_OF_MAXIMUM = 1_000

#: Above this skewness over √n a mean of losses is not normal. (Squares of normal residuals have
#: 0.28 on 100 rows, of residuals as of t with 5 degrees of freedom 0.4 and more.)
MOST_SKEWED = 0.2

#: Above this the method says so: what few rows of such a tail hold, no interval can know.
HEAVY_TAIL = 0.4

#: Losses of more rows are not drawn again: it takes too long.
MOST_DRAWN = 100_000

#: With fewer positives, influence says too little of how differences of areas vary: with 45
#: positives the test of a PR-AUC erred 6.5 times of 100 (the bootstrap's 5.2, and that of an AP
#: 5.6), with 100 5.9 times, with 200 5.5 times.
FEW_POSITIVES_OF_PAIRS = {
    "AUC": 0,
    "interpolated precision area": 200,
    "interpolated precision": 200,
}
FEW_POSITIVES_OF_OTHERS = 30

#: With fewer positives in a part, influence functions say too little of how areas under its
#: precision-recall curve vary; the interval of Boyd, Eng and Page is then wide enough.
FEW_POSITIVES_OF_PARTS = 30

#: With a label of fewer rows, true or predicted, macro averages go by the delta method: a replicate
#: without that label would be an average over other labels.
FEW_OF_LABEL = 8

#: Averages over labels are bootstrapped where no more numbers than these have to be drawn (rows ×
#: counts × replicates); beyond, the delta method says the same.
MOST_REDRAWN = 1_000_000_000

#: At least so many randomisations are tried.
LEAST_RANDOMISATIONS = 10_000

#: With what probability a difference of the size that is called detectable would be seen.
POWER = 0.8


def randomisations(settings: Settings) -> int:
    """How many randomisations are tried."""
    return max(settings.resamples, LEAST_RANDOMISATIONS)


# --- Intervals of numbers -----------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """A method, when it is the one, and what speaks against what it makes. One that does not apply
    leaves it to the next, as one that ``tries`` does where it finds no interval."""

    method: str
    when: Callable[[Reading], bool] = lambda reading: True
    caution: Callable[[Reading, Interval], Interval] = lambda reading, made: made
    tries: bool = False


def _clustered(reading: Reading) -> bool:
    return reading.clusters is not None


def _clusters_vary(reading: Reading) -> bool:
    """Whether clusters disagree; such as agree altogether leave the bootstrap nothing to draw."""
    return reading.clusters is not None and reading.value not in (0.0, 1.0)


def _several_clusters(reading: Reading) -> bool:
    return reading.clusters is None or reading.clusters.number > 1


def _few_rows(reading: Reading) -> bool:
    return reading.clusters is not None or reading.sizes()[0] < FEW_ROWS


def _enough_positives(reading: Reading) -> bool:
    plain = reading.clusters is None and reading.weight is None
    return plain and reading.sizes()[1] >= FEW_POSITIVES


def _not_normal(reading: Reading) -> bool:
    few = reading.sizes()[0] < FEW_ROWS
    return reading.clusters is None and (few or reading.skewness > MOST_SKEWED)


def _heavy(reading: Reading, made: Interval) -> Interval:
    return made.but("a heavy tail") if reading.skewness > HEAVY_TAIL else made


def _flattered(reading: Reading, made: Interval) -> Interval:
    few = min(reading.sizes()) < FEW_OF_MAXIMUM
    return made.but("a maximum of few rows") if few else made


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
    Row("percentile", _clustered, _at_its_end),
    Row("delta", _enough_positives, tries=True),
    Row("area"),
)
_OF_SCORES = (Row("percentile", caution=_at_its_end),)

#: The methods of each kind of reading, the first that applies.
INTERVALS: Mapping[str, tuple[Row, ...]] = {
    "share of rows": (Row("percentile", _clusters_vary), Row("wilson")),
    # Where a cell holds few rows the bootstrap draws too few others.
    "measure of counts": (Row("Jeffreys of the cells"), Row("percentile")),
    # Hanley and McNeil's where DeLong's variance rests on next to nothing.
    "AUC": (Row("percentile", _clusters_vary, _at_its_end), Row("area")),
    "Gini": (Row("percentile", _clustered, _at_its_end), Row("area")),
    "precision area": _OF_PRECISION,
    "interpolated precision area": _OF_PRECISION,
    # The best of all thresholds flatters, and its replicates do once more: percentiles held the
    # truth 75 to 90 times of 100.
    "maximum over thresholds": (
        Row("turned on logits", _several_clusters, _flattered),
        *_OF_SCORES,
    ),
    "interpolated precision": _OF_SCORES,
    "measure of scores": _OF_SCORES,
    "recalibration": (Row("delta"),),
    "calibration": (Row("turned"),),
    "threshold": (Row("percentile"),),
    # Of few rows or skewed losses percentiles and the normal are too short, and mostly below the
    # truth; bootstrap-t is so of the heaviest tails only.
    "mean of a value per row": (
        Row("wilson"),
        Row("studentised", _not_normal, _heavy, tries=True),
        Row("percentile", lambda reading: _few_rows(reading) or _not_normal(reading)),
        Row("delta"),
    ),
    "average of scores": (Row("area"), Row("percentile")),
    "skill": (Row("percentile", _few_rows), Row("delta")),
    "share by rank": (Row("wilson"), Row("percentile")),
    "average over labels": (Row("delta", lambda reading: reading.few()), Row("percentile")),
    "share of topics": (Row("wilson"),),
    "mean over topics": (Row("studentised"),),
    "topics pooled": (Row("studentised", tries=True), Row("percentile")),
}

#: What is tried where no bootstrap is wanted.
ANALYTIC = ("wilson", "area", "delta", "student")

#: The bootstrap of each kind, where it is asked for; else percentiles.
BOOTSTRAP = {
    "share of topics": "studentised",
    "mean over topics": "studentised",
    "calibration": "turned",
    "recalibration": "turned",
}


#: What has no interval: a count of the data themselves, and a p-value.
WITHOUT = {
    "count": intervals.missing("count", "exact_count"),
    "p-value": intervals.missing("none", "p_value"),
}


def interval(reading: Reading, level: float | None = None) -> Interval:
    """The interval of a reading: by the first method asked for by name that applies to it, cut off
    at what the measure can reach; else by the table."""
    settings = reading.settings
    level = settings.level if level is None else level
    if reading.kind == "count":
        return WITHOUT["count"]
    if not np.isfinite(reading.value):
        unasked = settings.interval == "none" and reading.operands is None
        return intervals.missing("none", "not_asked" if unasked else "undefined_value")
    offered = offers(reading)
    for name in settings.methods:  # what only they need is not computed without them
        made = offered[name](level) if name in offered else None
        if made is not None:
            return made.within(*reading.bounds)
    if reading.operands is not None:
        return _of_difference(reading, offered, level)
    if settings.interval == "none":
        return intervals.missing("none", "not_asked")
    if reading.kind in WITHOUT:
        return WITHOUT[reading.kind]
    for row in _rows(reading):
        made = offered[row.method](level) if row.method in offered and row.when(reading) else None
        if made is not None and not (row.tries and made.reason):
            return row.caution(reading, made.within(*reading.bounds))
    return intervals.missing("none", "no_analytic_interval")


def _rows(reading: Reading) -> Sequence[Row]:
    """What is tried, in order."""
    known = INTERVALS[reading.kind]
    if reading.settings.interval == "analytic":
        return [Row(method) for method in ANALYTIC]
    if not reading.settings.prefers_bootstrap:
        return known
    method = BOOTSTRAP.get(reading.kind, "percentile")
    cautions = [row.caution for row in known if row.method == method == "percentile"]
    return [Row(method, caution=cautions[0]) if cautions else Row(method)]


def offers(reading: Reading) -> dict[str, Limits]:
    """The intervals that a reading can have, by method."""
    made: dict[str, Limits] = {}
    if reading.draws and not (reading.pivotal and reading.operands is None):
        made["percentile"] = lambda level: _percentile(reading, level)
        made["bca"] = lambda level: _accelerated(reading, level)
    if reading.studentised is not None:
        made["studentised"] = lambda level: _studentised(reading, level)
    if reading.operands is not None and reading.of_units:
        made["student"] = lambda level: _student(reading, level)
    if reading.stratified is not None:
        made["stratified"] = lambda level: _stratified(reading, level)
    if reading.error is not None or reading.influence is not None:
        made["delta"] = lambda level: _delta(reading, level)
        made["delong"] = lambda level: _delong(reading, level)
    if reading.kind == "average of scores" and reading.operands is None:
        made["area"] = lambda level: by_error(reading, level)
        made["delta"] = lambda level: by_error(_plain(reading), level)
    return {**made, **reading.methods}


def _delong(reading: Reading, level: float) -> Interval | None:
    """The difference of two AUCs."""
    return by_error(reading, level) if _is_delong(reading) else None


def _delta(reading: Reading, level: float) -> Interval | None:
    return None if _is_delong(reading) else by_error(reading, level)


def _plain(reading: Reading) -> Reading:
    """The same on its own scale, its error called that of the delta method."""
    found = reading.found_error
    named = replace(found, name="delta") if isinstance(found, Error) else found
    return replace(reading, transform=None, error=lambda: named)


def _is_delong(reading: Reading) -> bool:
    found = reading.found_error
    named = isinstance(found, Error) and "DeLong" in found.name
    return named and reading.operands is not None


def by_error(reading: Reading, level: float) -> Interval | None:
    """From the standard error: normal, on the logit scale where the reading is so there, by
    Student's t where it has degrees of freedom; None where it is not known."""
    found, value, clusters = reading.found_error, reading.value, reading.clusters
    if found is None:
        return None
    if isinstance(found, Interval):
        return found if reading.operands is not None else None
    if reading.operands is not None:
        if clusters is not None:
            return clusters.normal(value, found.se, level, found.name)
        if found.degrees is not None:
            made = intervals.student(value, found.se, round(found.degrees) + 1, level)
            return replace(made, method=found.name)
        return replace(intervals.normal_mean(value, found.se, level), method=found.name)
    if reading.transform == "logit":
        name, se = f"{found.name}, logit", found.se
        if not (se > 0 and 0 < value < 1):
            return intervals.missing(name, "area_at_its_limit" if se >= 0 else "too_few_rows")
        if clusters is not None:
            name, se = clusters.named(name), clusters.widened(se, level)
        return intervals.on_logit(value, se, level, name)
    if np.isfinite(found.se) and not found.se > 0:
        return intervals.missing(found.name, "no_spread")
    if clusters is not None:
        return clusters.normal(value, found.se, level, found.name)
    return replace(intervals.normal_mean(value, found.se, level), method=found.name)


def _bootstrap(reading: Reading) -> str:
    """What its bootstrap is called."""
    name = "bootstrap [B]" if reading.clusters is None else reading.clusters.bootstrap
    if reading.operands is None:
        return name
    return f"{'pivotal ' * reading.pivotal}paired {name}"


def _percentile(reading: Reading, level: float) -> Interval:
    if reading.operands is None and reading.clusters is not None and reading.clusters.number < 2:
        return intervals.missing(_bootstrap(reading), "too_few_clusters")
    return intervals.percentile(reading.drawn, level, _bootstrap(reading))


def _accelerated(reading: Reading, level: float) -> Interval | None:
    moved = _jackknife(reading)
    if moved is None:
        return None
    if reading.operands is None and reading.clusters is not None and reading.clusters.number < 2:
        return intervals.missing(_bootstrap(reading), "too_few_clusters")
    accelerated = intervals.acceleration(*moved)
    return intervals.bca(reading.value, reading.drawn, accelerated, level, _bootstrap(reading))


def _jackknife(reading: Reading) -> tuple[FloatArray, FloatArray | None] | None:
    """How much units move the value, and for how many rows each stands."""
    if reading.jackknife is not None:
        return reading.jackknife()
    if reading.left_out is not None and not reading.pivotal:
        return reading.left_out(), None
    if reading.units is not None:
        return reading.units.moved, None
    moved = None if reading.influence is None else reading.influence()
    if moved is None:
        return None
    if reading.clusters is None:
        return moved.moved, None
    return np.bincount(reading.clusters.code, moved.moved).astype(np.float64), None


def _studentised(reading: Reading, level: float) -> Interval | None:
    assert reading.studentised is not None
    found = reading.studentised()
    if found is None:
        return None
    if reading.operands is None:
        return intervals.bootstrap_t(reading.value, *found, level)
    assert reading.units is not None
    return _scaled(reading, intervals.bootstrap_t(reading.units.mean, *found, level))


def _stratified(reading: Reading, level: float) -> Interval | None:
    assert reading.stratified is not None
    drawn = reading.stratified()
    if drawn is None:
        return None
    name = f"{'paired ' if reading.operands else ''}stratified bootstrap [B]"
    return intervals.percentile(drawn, level, name)


def _student(reading: Reading, level: float) -> Interval:
    assert reading.units is not None
    found = reading.units.error
    made = intervals.student(reading.units.mean, found.se, (found.degrees or 0) + 1, level)
    return _scaled(reading, replace(made, method=f"{made.method}, paired"))


def _scaled(reading: Reading, made: Interval) -> Interval:
    return replace(made, low=made.low * reading.scale, high=made.high * reading.scale)


# --- Differences of two systems -------------------------------------------------------------------


@dataclass(frozen=True)
class Question:
    """What is asked of a difference.

    ``alternative`` is about the difference (``greater``, ``less``) or, by the measure's own
    direction, about the first system (``better``, ``worse``). ``margin`` is the difference that
    still counts as none, for non-inferiority and equivalence.
    """

    test: str = "auto"
    alternative: str = "two-sided"
    margin: float | None = None

    def towards(self, higher_is_better: bool | None) -> str:
        """The alternative as ``two-sided``, ``greater`` or ``less``."""
        if self.alternative not in ("better", "worse"):
            return self.alternative
        better = self.alternative == "better"
        return "greater" if better == (higher_is_better is not False) else "less"


USUAL = Question()

#: The tests that can be asked for; each is used where it applies.
TESTS: Mapping[str, str] = {
    "auto": "the usual one of the measure",
    "t": "Student's t of the values per unit",
    "wilcoxon": "Wilcoxon's signed ranks of the values per unit",
    "sign": "the sign test of the values per unit",
    "randomisation": "Fisher's randomisation of the values per unit",
    "bootstrap": "the share of replicates beyond no difference",
    "normal": "the difference over its standard error (for an AUC this is DeLong's test)",
    "mcnemar": "McNemar's exact test, of accuracies",
    "mid-p": "McNemar's test by the mid-p value, of accuracies",
}

ALTERNATIVES = ("two-sided", "greater", "less", "better", "worse")


def _enough_for_pairs(reading: Reading) -> bool:
    few = FEW_POSITIVES_OF_PAIRS.get(reading.kind, FEW_POSITIVES_OF_OTHERS)
    return reading.clusters is None and reading.sizes()[1] >= few


#: Differences of which kinds go by their standard error, and when; means over topics go by the
#: topics, and all else by replicates.
BY_ERROR: Mapping[str, Callable[[Reading], bool]] = {
    "AUC": _enough_for_pairs,
    "Gini": _enough_for_pairs,
    "precision area": _enough_for_pairs,
    "interpolated precision area": _enough_for_pairs,
    "interpolated precision": _enough_for_pairs,
    "recalibration": _enough_for_pairs,
    "mean of a value per row": lambda reading: not _few_rows(reading),
    "skill": lambda reading: not _few_rows(reading),
    "average of scores": lambda reading: isinstance(reading.found_error, Error),
    "share by rank": lambda reading: True,
    "average over labels": lambda reading: reading.few(),
}


def _way(reading: Reading) -> str:
    """What the interval of a difference is made from: ``"units"``, ``"error"``, ``"replicates"`` or
    ``"none"``."""
    known = reading.error is not None or reading.influence is not None
    settings, enough = reading.settings, BY_ERROR.get(reading.kind)
    if settings.interval == "analytic":
        return "error" if known else "none"
    if reading.studentised is not None:
        return "units"
    if known and not settings.prefers_bootstrap and enough is not None and enough(reading):
        return "error"
    return "replicates"


def _of_difference(reading: Reading, offered: Mapping[str, Limits], level: float) -> Interval:
    way = _way(reading)
    if way == "units" and reading.units is not None:
        if reading.n < 2:
            return intervals.missing("none", "too_few_units")
        if reading.shares and not reading.settings.prefers_bootstrap:
            # Of units that gain or lose 1, or neither, few say next to nothing of the spread: with
            # 25 topics, one of ten of which fails, the bootstrap-t holds the truth 84 times of 100.
            up, down = (float(np.mean(reading.units.values == side)) for side in (1, -1))
            return _scaled(reading, intervals.paired_shares(up, down, reading.n, level))
    if way == "error":
        made = by_error(reading, level)
    else:
        method = {"units": "studentised", "replicates": "percentile"}.get(way, "")
        made = offered[method](level) if method in offered else None
    return made or intervals.missing("none", "no_analytic_interval")


def standard_error(reading: Reading) -> Error:
    """The standard error of a difference, from whichever part the interval comes."""
    way, found = _way(reading), reading.found_error
    if way in ("error", "units") and isinstance(found, Error):
        return found
    if reading.of_units and reading.units is not None:
        own = reading.units.error
        return Error(own.se * reading.scale, own.name, own.degrees)
    if reading.draws and reading.settings.interval != "analytic":
        drawn = reading.drawn[np.isfinite(reading.drawn)]
        if len(drawn) >= (1 - intervals.MOST_DEGENERATE) * len(reading.drawn):
            return Error(float(drawn.std(ddof=1)), _unmarked(reading))
    return Error(NAN, "none")


def _unmarked(reading: Reading) -> str:
    """What its bootstrap is called as a test."""
    return "paired bootstrap" if reading.clusters is None else "paired cluster bootstrap"


def detectable(errors: Sequence[Error], level: float) -> FloatArray:
    """Of each difference with such a standard error the smallest true one that a two-sided test
    would have found with probability :data:`POWER`, were the spread what it is here."""
    if not any(error.se > 0 for error in errors):
        return np.full(len(errors), NAN)
    from calipers.inference.power import all_detectable

    return all_detectable([e.se for e in errors], [e.degrees for e in errors], level, POWER)


# --- Tests ----------------------------------------------------------------------------------------


def test(reading: Reading, question: Question = USUAL) -> Test:  # noqa: PT028
    """The test asked for of no difference, or the usual one; undefined where it does not apply."""
    name = _named(reading, question.test)
    towards = question.towards(reading.higher_is_better)
    if not (np.isfinite(reading.value) and applies(reading, name)):
        return Test(NAN, "none", towards)
    if name in ("mcnemar", "mid-p") and reading.discordant is not None:
        return paired.mcnemar(*reading.discordant(), towards, mid_p=name == "mid-p")
    if name == "randomisation" and reading.swapped is not None:
        return reading.swapped(towards)
    if name == "sign" and reading.units is not None:
        return paired.sign(reading.units.values, towards)
    return _shifted(reading, name)(0.0, towards)


def applies(reading: Reading, test: str) -> bool:
    """Whether the test applies to this difference."""
    plain = reading.units is not None and reading.units.plain
    if test == "normal":
        return isinstance(reading.found_error, Error)
    there = {
        "auto": True,
        "t": reading.units is not None,
        "wilcoxon": plain,
        "sign": plain,
        "randomisation": plain or reading.swapped is not None,
        "bootstrap": reading.draws or reading.studentised is not None,
        "mcnemar": reading.discordant is not None,
        "mid-p": reading.discordant is not None,
    }
    return there[test]


def _named(reading: Reading, test: str) -> str:
    """Which test the usual one is."""
    if test != "auto":
        return test
    if reading.discordant is not None:
        return "mcnemar"
    if reading.swapped is not None:
        return "randomisation"
    if reading.units is not None:
        return "t"
    by_error = _way(reading) == "error" or reading.settings.interval == "analytic"
    return "normal" if by_error else "bootstrap"


def non_inferiority(reading: Reading, question: Question) -> MarginTest | None:
    """Whether the first system is worse by less than the margin, if one is stated."""
    if question.margin is None or not np.isfinite(reading.value):
        return None
    better = reading.higher_is_better is not False
    asked = _about_margin(reading, question.test)
    return margins.non_inferiority(asked, question.margin, higher_is_better=better)


def equivalence(reading: Reading, question: Question) -> MarginTest | None:
    """Whether the systems differ by less than the margin, if one is stated."""
    if question.margin is None or not np.isfinite(reading.value):
        return None
    return margins.equivalence(_about_margin(reading, question.test), question.margin)


def _about_margin(reading: Reading, test: str) -> Shifted:
    """The test asked for, or the nearest that can be shifted."""
    name = _named(reading, test)
    if name in ("mcnemar", "mid-p") and reading.discordant is not None:
        return margins.by_discordant(*reading.discordant(), reading.n)
    if name in ("t", "wilcoxon", "randomisation") and reading.of_units and applies(reading, name):
        return _shifted(reading, name)
    for other in (name, "normal", "bootstrap"):
        if other in ("normal", "bootstrap") and applies(reading, other):
            return _shifted(reading, other)
    return lambda at, towards: Test(NAN, "none", towards)


def _shifted(reading: Reading, name: str) -> Shifted:
    """A test of the difference against any value."""
    if name == "normal":
        found = reading.found_error
        if not isinstance(found, Error):
            return lambda at, towards: Test(NAN, "none", towards)
        return found.shifted(reading.value)
    if name == "bootstrap":
        drawn = margins.by_replicates(reading.drawn)
        return lambda at, towards: replace(drawn(at, towards), name=_unmarked(reading))
    assert reading.units is not None
    if name == "t":
        of_units = reading.units.error.shifted(reading.units.mean)
    else:
        tries = randomisations(reading.settings)
        of_units = margins.by_units(reading.units.values, name, tries, reading.settings.seed)
    return lambda at, towards: of_units(at / reading.scale, towards)


# --- What else there is to say of a difference ----------------------------------------------------


def effect(reading: Reading) -> float:
    """Hedges' g for paired data; NaN where there are no units."""
    known = reading.units is not None and np.isfinite(reading.value)
    return reading.units.effect if known else NAN  # type: ignore[union-attr]


def outcomes(reading: Reading) -> dict[str, Any]:
    """On how many units the first system is better, equal and worse; nothing where no unit has a
    value of its own, or neither of two values is better."""
    if reading.higher_is_better is None or not np.isfinite(reading.value):
        return {}
    if reading.discordant is not None:
        rows = [round(x) for x in reading.discordant()]
        wins, losses = rows if reading.higher_is_better else rows[::-1]
        return {"wins": wins, "ties": reading.n - wins - losses, "losses": losses}
    apart = reading.raw
    if apart is None and reading.units is not None:
        apart = reading.units.values
    if apart is None:
        return {}
    sign = np.sign(apart) * (1 if reading.higher_is_better else -1)
    counts = [int(np.count_nonzero(sign == of)) for of in (1, 0, -1)]
    return dict(zip(("wins", "ties", "losses"), counts, strict=True))
