"""The difference between two systems on the same units: one interface for every task.

A task says what it knows of how a difference varies, each part only if there is such a thing:

    units        a value for each unit, whose mean the difference is (topics, losses of rows)
    error        a standard error (DeLong's, an influence function, the delta method)
    replicates   the difference in each replicate of the bootstrap, both systems drawn together
    discordant   how many rows raise the difference and how many lower it, all by the same
    swapped      a randomisation test of its own, where it is no mean of units

From these follow interval, test, non-inferiority and equivalence, and the smallest difference that
the data could have shown. A measure that has one of them needs no line of its own here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from calipers.inference import intervals, margins, paired
from calipers.inference.clusters import Clusters
from calipers.inference.estimate import STRATIFIED, Offers, Settings
from calipers.inference.intervals import Interval
from calipers.inference.margins import MarginTest, Shifted
from calipers.inference.paired import Test
from calipers.once import cached_property
from calipers.statistics import FloatArray, Moments

NAN = float("nan")

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

#: At least so many randomisations are tried.
LEAST_RANDOMISATIONS = 10_000

#: With what probability a difference of the size that is called detectable would be seen.
POWER = 0.8


def randomisations(settings: Settings) -> int:
    """How many randomisations are tried."""
    return max(settings.resamples, LEAST_RANDOMISATIONS)


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


@dataclass(frozen=True)
class Error:
    """A standard error, what made it, and the degrees of freedom of its t; None for the normal."""

    se: float
    name: str
    degrees: float | None = None

    def shifted(self, value: float) -> Shifted:
        """The test of the value against any other."""
        return margins.by_error(value, self.se, self.name, self.degrees)


def detectable(errors: Sequence[Error], level: float) -> FloatArray:
    """Of each difference with such a standard error the smallest true one that a two-sided test
    would have found with probability :data:`POWER`, were the spread what it is here."""
    if not any(error.se > 0 for error in errors):
        return np.full(len(errors), NAN)
    from calipers.inference.power import all_detectable

    return all_detectable([e.se for e in errors], [e.degrees for e in errors], level, POWER)


@dataclass(frozen=True, eq=False)
class Units:
    """First minus second on each unit; all units have a value."""

    values: FloatArray
    weight: FloatArray | None = None
    clusters: Clusters | None = None

    @cached_property
    def _moments(self) -> Moments:
        return Moments.from_rows(self.values, self.weight)

    @property
    def mean(self) -> float:
        """The (weighted) mean."""
        return float(self._moments.mean)

    @cached_property
    def error(self) -> Error:
        """The standard error of the mean, and the t test that it makes."""
        if self.clusters is not None:
            se = self.clusters.mean_error(self.values)
            return Error(se, "paired t, clustered", self.clusters.number - 1)
        moments = self._moments
        return Error(moments.standard_error, "paired t", round(moments.effective_size) - 1)

    @property
    def plain(self) -> bool:
        """Whether the units are independent and count alike, as tests of ranks and signs need."""
        return self.weight is None and self.clusters is None

    def moved(self, influence: FloatArray) -> FloatArray:
        """What the units, or the clusters of them, move by an influence each."""
        moved = influence if self.weight is None else influence * self.weight
        if self.clusters is None:
            return moved
        return np.bincount(self.clusters.code, moved).astype(np.float64)

    @property
    def effect(self) -> float:
        """Hedges' g for paired data; none of weighted rows."""
        return paired.hedges_g(self.values) if self.weight is None else NAN


@dataclass(frozen=True, eq=False, kw_only=True)
class Contrast:
    """One measure of two systems on the same units, first minus second.

    ``usual`` says which part the interval comes from unless another is asked for: ``"units"``
    (bootstrap-t), ``"error"`` or ``"replicates"``. The difference is ``scale`` times the mean of
    the units, where ``units_make_value``; else the units only serve tests, as the squares do for
    RMSE. ``raw`` are the differences that wins and losses are counted by, if not those of units.
    """

    value: float
    n: int
    settings: Settings
    usual: str
    higher_is_better: bool | None = None
    unit: str = "rows"
    undefined: Mapping[str, int] = field(default_factory=dict)
    units: Units | None = None
    units_make_value: bool = True
    scale: float = 1.0
    raw: FloatArray | None = None
    error: Callable[[], Error | Interval] | None = None
    replicates: Callable[[], FloatArray] | None = None
    #: The same, every true class keeping its number of rows.
    stratified: Callable[[], FloatArray] | None = None
    #: The mean of the units in each replicate, and its standard error.
    resampled_units: Callable[[], tuple[FloatArray, FloatArray]] | None = None
    #: How much units move the difference, and for how many rows each of them stands.
    moved: Callable[[], tuple[FloatArray, FloatArray | None]] | None = None
    discordant: Callable[[], tuple[float, float]] | None = None
    swapped: Callable[[str], Test] | None = None
    clusters: Clusters | None = None
    pivotal: bool = False
    #: Whether every unit counts 0 or 1 for either system.
    shares: bool = False

    # --- How far it could move -------------------------------------------------------------------

    def interval(self, level: float | None = None) -> Interval:
        """Limits of the difference."""
        level = self.settings.level if level is None else level
        if not np.isfinite(self.value):
            return intervals.missing("none", "undefined_value")
        if self.settings.methods:  # else what only they need is not computed
            asked = self.settings.named("difference", self.value, self._offers(level))
            if asked is not None:
                return asked
        way = self._way
        if way == "units" and self.resampled_units is not None and self.units is not None:
            if self.n < 2:
                return intervals.missing("none", "too_few_units")
            if self.shares and not self.settings.prefers_bootstrap:
                # Of units that gain or lose 1, or neither, few say next to nothing of the spread:
                # with 25 topics, one of ten of which fails, the bootstrap-t holds the truth 84
                # times of 100.
                up, down = (float(np.mean(self.units.values == side)) for side in (1, -1))
                return self._scaled(intervals.paired_shares(up, down, self.n, level))
            return self._studentised(level)
        if way == "error":
            return self._by_error(level)
        if way == "replicates" and self.replicates is not None:
            return intervals.percentile(self._replicates, level, self._bootstrap("[B]"))
        return intervals.missing("none", "no_analytic_interval")

    def _offers(self, level: float) -> Offers:
        """The methods that can be asked for by name and apply."""
        name, offers = self._bootstrap("[B]"), {}
        if self.replicates is not None or self.resampled_units is not None:
            offers["percentile"] = lambda: intervals.percentile(self._resampled, level, name)
            if self.moved is not None or self.units is not None:
                offers["bca"] = lambda: self._accelerated(level, name)
        if self.resampled_units is not None:
            offers["studentised"] = lambda: self._studentised(level)
        if self.units is not None and self.units_make_value:
            offers["student"] = lambda: self._student(level)
        if self.stratified is not None:
            method = f"paired {STRATIFIED}"
            drawn = self.stratified
            offers["stratified"] = lambda: intervals.percentile(drawn(), level, method)
        if self.error is not None:
            by_delong = isinstance(self._error, Error) and "DeLong" in self._error.name
            offers["delong" if by_delong else "delta"] = lambda: self._by_error(level)
        return offers

    def _studentised(self, level: float) -> Interval:
        assert self.units is not None
        assert self.resampled_units is not None
        of_mean = (self.units.mean, self.units.error.se)
        return self._scaled(intervals.bootstrap_t(*of_mean, *self.resampled_units(), level))

    def _student(self, level: float) -> Interval:
        assert self.units is not None
        found = self.units.error
        made = intervals.student(self.units.mean, found.se, (found.degrees or 0) + 1, level)
        return self._scaled(replace(made, method=f"{made.method}, paired"))

    def _scaled(self, made: Interval) -> Interval:
        return replace(made, low=made.low * self.scale, high=made.high * self.scale)

    def _accelerated(self, level: float, name: str) -> Interval:
        if self.moved is not None:
            accelerated = intervals.acceleration(*self.moved())
        else:
            assert self.units is not None
            apart = self.units.values - self.units.mean
            accelerated = intervals.acceleration(self.units.moved(apart))
        return intervals.bca(self.value, self._resampled, accelerated, level, name)

    @property
    def _way(self) -> str:
        """What the interval is made from."""
        if self.settings.interval == "analytic":
            return "error" if self.error is not None else "none"
        if self.settings.prefers_bootstrap and self.usual == "error":
            return "replicates"
        return self.usual

    def _by_error(self, level: float) -> Interval:
        found = self._error
        if found is None or isinstance(found, Interval):
            return found or intervals.missing("none", "no_analytic_interval")
        if self.clusters is not None:
            return self.clusters.normal(self.value, found.se, level, found.name)
        if found.degrees is not None:
            made = intervals.student(self.value, found.se, round(found.degrees) + 1, level)
            return replace(made, method=found.name)
        return replace(intervals.normal_mean(self.value, found.se, level), method=found.name)

    @cached_property
    def _error(self) -> Error | Interval | None:
        return None if self.error is None else self.error()

    @cached_property
    def _replicates(self) -> FloatArray:
        """Turned about the value where the measure is biased: 2·value − replicate."""
        assert self.replicates is not None
        drawn = self.replicates()
        return 2 * self.value - drawn if self.pivotal else drawn

    def _bootstrap(self, mark: str = "") -> str:
        name = "bootstrap" if self.clusters is None else "cluster bootstrap"
        if mark:
            name = f"bootstrap {mark}" if self.clusters is None else self.clusters.bootstrap
        return f"{'pivotal ' * (self.pivotal and bool(mark))}paired {name}"

    @cached_property
    def standard_error(self) -> Error:
        """The standard error of the difference, from whichever part the interval comes."""
        if self._way in ("error", "units") and isinstance(self._error, Error):
            return self._error
        if self.units is not None and self.units_make_value:
            own = self.units.error
            return Error(own.se * self.scale, own.name, own.degrees)
        if self.replicates is not None and self.settings.interval != "analytic":
            drawn = self._replicates[np.isfinite(self._replicates)]
            if len(drawn) >= (1 - intervals.MOST_DEGENERATE) * len(self._replicates):
                return Error(float(drawn.std(ddof=1)), self._bootstrap())
        return Error(NAN, "none")

    # --- Whether it is none ----------------------------------------------------------------------

    def test(self, question: Question = USUAL) -> Test:
        """The test asked for, or the usual one; undefined where it does not apply."""
        name = self._named(question.test)
        towards = question.towards(self.higher_is_better)
        if not (np.isfinite(self.value) and self.offers(name)):
            return Test(NAN, "none", towards)
        if name in ("mcnemar", "mid-p") and self.discordant is not None:
            return paired.mcnemar(*self.discordant(), towards, mid_p=name == "mid-p")
        if name == "randomisation" and self.swapped is not None:
            return self.swapped(towards)
        if name == "sign" and self.units is not None:
            return paired.sign(self.units.values, towards)
        return self._shifted(name)(0.0, towards)

    def non_inferiority(self, question: Question) -> MarginTest | None:
        """Whether the first system is worse by less than the margin, if one is stated."""
        if question.margin is None or not np.isfinite(self.value):
            return None
        better = self.higher_is_better is not False
        return margins.non_inferiority(
            self._about_margin(question.test), question.margin, higher_is_better=better
        )

    def equivalence(self, question: Question) -> MarginTest | None:
        """Whether the systems differ by less than the margin, if one is stated."""
        if question.margin is None or not np.isfinite(self.value):
            return None
        return margins.equivalence(self._about_margin(question.test), question.margin)

    def offers(self, test: str) -> bool:
        """Whether the test applies to this difference."""
        plain = self.units is not None and self.units.plain
        there = {
            "auto": True,
            "t": self.units is not None,
            "wilcoxon": plain,
            "sign": plain,
            "randomisation": plain or self.swapped is not None,
            "normal": self.error is not None,
            "bootstrap": self.replicates is not None or self.resampled_units is not None,
            "mcnemar": self.discordant is not None,
            "mid-p": self.discordant is not None,
        }
        return there[test]

    def _named(self, test: str) -> str:
        """Which test the usual one is."""
        if test != "auto":
            return test
        if self.discordant is not None:
            return "mcnemar"
        if self.swapped is not None:
            return "randomisation"
        if self.units is not None:
            return "t"
        if self._way == "error" or self.settings.interval == "analytic":
            return "normal"
        return "bootstrap"

    def _about_margin(self, test: str) -> Shifted:
        """The test asked for, or the nearest that can be shifted."""
        name = self._named(test)
        if name in ("mcnemar", "mid-p") and self.discordant is not None:
            return margins.by_discordant(*self.discordant(), self.n)
        whole = self.units is not None and self.units_make_value
        if name in ("t", "wilcoxon", "randomisation") and whole and self.offers(name):
            return self._shifted(name)
        for other in (name, "normal", "bootstrap"):
            if other in ("normal", "bootstrap") and self.offers(other):
                return self._shifted(other)
        return lambda at, towards: Test(NAN, "none", towards)

    def _shifted(self, name: str) -> Shifted:
        """A test of the difference against any value."""
        if name == "normal":
            found = self._error
            if not isinstance(found, Error):
                return lambda at, towards: Test(NAN, "none", towards)
            return found.shifted(self.value)
        if name == "bootstrap":
            drawn = margins.by_replicates(self._resampled)
            return lambda at, towards: replace(drawn(at, towards), name=self._bootstrap())
        assert self.units is not None
        if name == "t":
            of_units = self.units.error.shifted(self.units.mean)
        else:
            tries = randomisations(self.settings)
            of_units = margins.by_units(self.units.values, name, tries, self.settings.seed)
        return lambda at, towards: of_units(at / self.scale, towards)

    @cached_property
    def _resampled(self) -> FloatArray:
        if self.replicates is not None:
            return self._replicates
        assert self.resampled_units is not None
        return self.resampled_units()[0] * self.scale

    # --- What else there is to say ---------------------------------------------------------------

    @property
    def effect(self) -> float:
        """Hedges' g for paired data; NaN where there are no units."""
        return NAN if self.units is None or not np.isfinite(self.value) else self.units.effect

    @property
    def outcomes(self) -> dict[str, Any]:
        """On how many units the first system is better, equal and worse; nothing where no unit has
        a value of its own, or neither of two values is better."""
        if self.higher_is_better is None or not np.isfinite(self.value):
            return {}
        if self.discordant is not None:
            rows = [round(x) for x in self.discordant()]
            wins, losses = rows if self.higher_is_better else rows[::-1]
            return {"wins": wins, "ties": self.n - wins - losses, "losses": losses}
        apart = self.raw
        if apart is None and self.units is not None:
            apart = self.units.values
        if apart is None:
            return {}
        sign = np.sign(apart) * (1 if self.higher_is_better else -1)
        counts = [int(np.count_nonzero(sign == of)) for of in (1, 0, -1)]
        return dict(zip(("wins", "ties", "losses"), counts, strict=True))
