"""What is asked of a difference of two systems: whether there is none, whether it is smaller than a
margin, how large it would have to be to be seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from calipers.inference import dirichlet, forecasts, intervals, margins, paired, policy, serial
from calipers.inference.intervals import Interval
from calipers.inference.limits import POWER, mostly_ties, randomisations
from calipers.inference.margins import Shifted
from calipers.inference.methods import ends_of_difference, error_of
from calipers.inference.paired import Test
from calipers.inference.reading import Reading
from calipers.inference.spaces import NAN, Error
from calipers.statistics import FloatArray


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
    #: How many steps ahead forecasts are made, of the test of Diebold and Mariano.
    horizon: int = 1

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
    "diebold-mariano": "Diebold and Mariano's of losses in the order of time, corrected by Harvey, "
    "Leybourne and Newbold",
}

#: What tests by the share of replicates are called, of rows and of clusters.
BY_REPLICATES = ("paired bootstrap", "paired cluster bootstrap")

#: What else a difference is tested by, by what its interval is made from.
_BY_WAY = {"by error": "normal", "Jeffreys of the cells": "likely", "of both": "limits"}

ALTERNATIVES = ("two-sided", "greater", "less", "better", "worse")


def interval(reading: Reading, question: Question = USUAL) -> Interval:
    """The interval of a difference: that which a test asked for by name has, or the usual one."""
    if not _is_of_forecasts(reading, question) or reading.settings.interval == "none":
        return policy.interval(reading)
    found = forecasts.error(reading, question.horizon)
    assert found.degrees is not None
    if not np.isfinite(found.se):
        return intervals.missing(found.name, "too_few_rows")
    made = intervals.student(reading.value, found.se, found.degrees + 1, reading.settings.level)
    return replace(made, method=found.name).within(*reading.bounds)


def _is_of_forecasts(reading: Reading, question: Question) -> bool:
    of_forecasts = question.test == forecasts.DIEBOLD_MARIANO
    return of_forecasts and forecasts.applies(reading, question.horizon)


def standard_error(reading: Reading, question: Question = USUAL) -> Error:
    """The standard error of a difference, from whichever part the interval comes."""
    if _is_of_forecasts(reading, question):
        return forecasts.error(reading, question.horizon)
    return serial.wider(reading, _standard_error(reading))


def _standard_error(reading: Reading) -> Error:
    used = policy.way(reading)
    if used == "bayesian" and reading.units is not None and mostly_ties(reading):
        values, own = reading.units.values, reading.units.error
        ends = ends_of_difference(reading, values)
        se = max(own.se, dirichlet.spread(values, ends, reading.units.weight))
        return Error(se * reading.scale, own.name, own.degrees)
    # The error of what goes by replicates is not looked at, as it may be dear.
    found = error_of(reading) if used != "percentile" else None
    if isinstance(found, Error):
        return found
    if reading.of_units and reading.units is not None:
        own = reading.units.error
        return Error(own.se * reading.scale, own.name, own.degrees)
    if reading.draws and reading.settings.interval != "analytic":
        drawn = intervals.usable_of(reading.drawn, "")
        if not isinstance(drawn, intervals.Interval):
            return Error(intervals.spread(drawn), _unmarked(reading))
    return Error(NAN, "none")


def _unmarked(reading: Reading) -> str:
    """What its bootstrap is called as a test."""
    return BY_REPLICATES[reading.clusters is not None]


def detectable(errors: Sequence[Error], level: float | Sequence[float]) -> FloatArray:
    """Of each difference with such a standard error the smallest true one that a two-sided test
    would have found with probability :data:`POWER`, were the spread what it is here."""
    if not any(error.se > 0 for error in errors):
        return np.full(len(errors), NAN)
    from calipers.inference.power import all_detectable

    return all_detectable([e.se for e in errors], [e.degrees for e in errors], level, POWER)


# --- Tests ----------------------------------------------------------------------------------------


def test(reading: Reading, question: Question = USUAL) -> Test:  # noqa: PT028
    """The test asked for of no difference, or the usual one; undefined where it does not apply."""
    if question.test == forecasts.DIEBOLD_MARIANO:
        return _of_forecasts(reading, question)(0.0, question.towards(reading.higher_is_better))
    made = _test(reading, question)
    return serial.tested(reading, made, 0.0) if question.test == "auto" else made


def _test(reading: Reading, question: Question) -> Test:
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


def _of_forecasts(reading: Reading, question: Question) -> Shifted:
    """The test of Diebold and Mariano against any value; undefined where it does not apply."""
    if not _is_of_forecasts(reading, question):
        return lambda at, towards: Test(NAN, "none", towards)
    return forecasts.error(reading, question.horizon).shifted(reading.value)


def applies(reading: Reading, test: str, horizon: int = 1) -> bool:
    """Whether the test applies to this difference."""
    if test == forecasts.DIEBOLD_MARIANO:
        return forecasts.applies(reading, horizon)
    plain = reading.units is not None and reading.units.plain
    if test == "normal":
        return isinstance(error_of(reading), Error)
    there = {
        "auto": True,
        "t": reading.units is not None,
        "wilcoxon": plain,
        "sign": plain,
        "randomisation": plain or reading.swapped is not None,
        "likely": reading.likely is not None,
        "limits": True,
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
    if reading.settings.interval == "analytic":
        return "normal"
    return _BY_WAY.get(policy.way(reading), "bootstrap")


def non_inferiority(reading: Reading, question: Question) -> Test | None:
    """Whether the first system is worse by less than the margin, if one is stated."""
    if question.margin is None or not np.isfinite(reading.value):
        return None
    better = reading.higher_is_better is not False
    asked = _about_margin(reading, question)
    return margins.non_inferiority(asked, question.margin, higher_is_better=better)


def equivalence(reading: Reading, question: Question) -> Test | None:
    """Whether the systems differ by less than the margin, if one is stated."""
    if question.margin is None or not np.isfinite(reading.value):
        return None
    return margins.equivalence(_about_margin(reading, question), question.margin)


def _about_margin(reading: Reading, question: Question) -> Shifted:
    """The test asked for, or the nearest that can be shifted."""
    test = question.test
    if test == forecasts.DIEBOLD_MARIANO:
        return _of_forecasts(reading, question)
    made = _nearest(reading, test)
    return serial.shifted(reading, made) if test == "auto" else made


def _nearest(reading: Reading, test: str) -> Shifted:
    name = _named(reading, test)
    if name in ("mcnemar", "mid-p") and reading.discordant is not None:
        return margins.by_discordant(*reading.discordant(), reading.n)
    if name in ("t", "wilcoxon", "randomisation") and reading.of_units and applies(reading, name):
        return _shifted(reading, name)
    for other in (name, "normal", "bootstrap"):
        if other in ("normal", "bootstrap", "likely", "limits") and applies(reading, other):
            return _shifted(reading, other)
    return lambda at, towards: Test(NAN, "none", towards)


def _shifted(reading: Reading, name: str) -> Shifted:
    """A test of the difference against any value."""
    if name == "normal":
        found = error_of(reading)
        if not isinstance(found, Error):
            return lambda at, towards: Test(NAN, "none", towards)
        return found.shifted(reading.value)
    if name == "limits":
        return margins.by_limits(lambda level: policy.of_both(reading, level), reading.value)
    if name == "likely" and reading.likely is not None:
        likely, made = reading.likely(), policy.interval(reading)
        if made.reason:
            return lambda at, towards: Test(NAN, "none", towards)
        if policy.nothing_differs(reading):  # what they may differ by is as likely either way
            likely = np.concatenate([likely, -likely])
        of_cells = margins.by_replicates(likely)
        return lambda at, towards: replace(of_cells(at, towards), name=made.method)
    if name == "bootstrap":
        drawn = margins.by_replicates(reading.drawn)
        return lambda at, towards: replace(drawn(at, towards), name=_unmarked(reading))
    assert reading.units is not None
    if name == "t":
        of_units = reading.units.error.shifted(reading.units.mean)
    else:
        tries = randomisations(reading.settings)
        values, weight = reading.units.values, reading.units.weight
        of_units = margins.by_units(values, name, tries, reading.settings.seed, weight)
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
