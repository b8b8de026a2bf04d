"""Hypotheses about a difference of two systems: none, or smaller than a margin."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calipers.inference import available_methods, forecasts, policy
from calipers.inference.intervals import Interval
from calipers.inference.method_limits import POWER
from calipers.inference.paired_tests import TestResult
from calipers.inference.point_estimate import PointEstimate, UnitValues
from calipers.inference.procedures import Procedure, Wald, no_procedure
from calipers.inference.variance_estimators import NAN, StandardError
from calipers.statistics import FloatArray, count_signs

#: The test of a difference against a value, for an alternative.
Tests = Callable[[float, str], TestResult]


def non_inferiority_test(
    test: Tests, margin: float, *, higher_is_better: bool = True
) -> TestResult:
    """Test that the first system is not worse than the second by ``margin`` or more.

    Where higher is better H₀ is difference ≤ −margin, against ``greater``; where lower is better
    difference ≥ margin, against ``less``. Undefined where the test is. Raises ValueError where the
    margin is not above 0.

    >>> from calipers.inference.procedures import Wald
    >>> from calipers.inference.variance_estimators import StandardError
    >>> error = StandardError(0.02, "delta")
    >>> made = Wald(value=-0.01, t=error, method="delta", name="delta, paired")
    >>> print(non_inferiority_test(made.test, 0.05))  # z = 2
    delta, paired, one-sided (greater): p = 0.02275
    """
    _check(margin)
    return test(-margin, "greater") if higher_is_better else test(margin, "less")


def equivalence_test(test: Tests, margin: float) -> TestResult:
    """Two one-sided tests that the systems differ by less than ``margin`` either way: the less
    convincing of those against difference ≤ −margin and difference ≥ margin, and the undefined one
    if either is (Schuirmann 1987). Raises ValueError where the margin is not above 0.

    >>> from calipers.inference.procedures import Wald
    >>> from calipers.inference.variance_estimators import StandardError
    >>> t = StandardError(0.02, "paired t", 24)
    >>> made = Wald(value=-0.01, t=t, method="Student t", name="paired t")
    >>> print(equivalence_test(made.test, 0.05))  # t = 2 and -3
    paired t, one-sided (greater): p = 0.02847
    """
    _check(margin)
    parts = (test(-margin, "greater"), test(margin, "less"))
    undefined = [part for part in parts if math.isnan(part.p)]
    return undefined[0] if undefined else max(parts, key=lambda part: part.p)


def _check(margin: float) -> None:
    if not (margin > 0 and math.isfinite(margin)):
        raise ValueError(f"the margin is {margin}, expected a number above 0")


@dataclass(frozen=True)
class Hypothesis:
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


USUAL = Hypothesis()

#: The tests that can be asked for; each is used where it applies.
TESTS: Mapping[str, str] = {
    "auto": "the usual one of the measure",
    "t": "Student's t of the values per unit",
    "wilcoxon": "Wilcoxon's signed ranks of the values per unit",
    "sign": "the sign test of the values per unit",
    "randomisation": "Fisher's randomisation of the values per unit",
    "bootstrap": "the share of replicates beyond no difference",
    "normal": "the difference over its standard error, normal",
    "delong": "DeLong's test of two AUCs: the difference over its standard error, normal",
    "mcnemar": "McNemar's exact test, of accuracies",
    "mid-p": "McNemar's test by the mid-p value, of accuracies",
    "diebold-mariano": "Diebold and Mariano's of losses in the order of time, corrected by Harvey, "
    "Leybourne and Newbold",
}

ALTERNATIVES = ("two-sided", "greater", "less", "better", "worse")


def minimum_detectable(
    errors: Sequence[StandardError], level: float | Sequence[float]
) -> FloatArray:
    """Of each difference with such a standard error the smallest true one that a two-sided test
    would have found with probability :data:`POWER`, were the spread what it is here."""
    if not any(error.se > 0 for error in errors):
        return np.full(len(errors), NAN)
    from calipers.inference.power import all_detectable

    return all_detectable([e.se for e in errors], [e.degrees for e in errors], level, POWER)


# --- Tests ----------------------------------------------------------------------------------------


def procedure(reading: PointEstimate, question: Hypothesis = USUAL) -> Procedure:
    """What answers a question: the interval and the tests of a difference in one."""
    if question.test != forecasts.DIEBOLD_MARIANO:
        return policy.procedure(reading, question.test)
    if not forecasts.is_applicable(reading, question.horizon) or not np.isfinite(reading.value):
        return no_procedure("no_interval_of_test", reading.value)
    found = forecasts.standard_error(reading, question.horizon)
    return Wald(
        value=reading.value,
        bounds=reading.bounds,
        method=found.name,
        name=found.name,
        t=found,
        error=found,
        reason=None if np.isfinite(found.se) else "too_few_rows",
    )


def interval(reading: PointEstimate, question: Hypothesis = USUAL) -> Interval:
    """The interval of a difference: that which a test asked for by name has, or the usual one."""
    if question.test != forecasts.DIEBOLD_MARIANO:
        return policy.interval(reading, test=question.test)
    if reading.settings.interval == "none" or not forecasts.is_applicable(
        reading, question.horizon
    ):
        return policy.interval(reading)
    return procedure(reading, question).interval(reading.settings.level)


def test(reading: PointEstimate, question: Hypothesis = USUAL) -> TestResult:  # noqa: PT028
    """The test asked for of no difference, or the usual one; undefined where it does not apply."""
    return procedure(reading, question).test(0.0, question.towards(reading.higher_is_better))


def is_applicable(reading: PointEstimate, test: str, horizon: int = 1) -> bool:
    """Whether the test applies to this difference."""
    if test == "auto":
        return True
    if test == forecasts.DIEBOLD_MARIANO:
        return forecasts.is_applicable(reading, horizon)
    return (
        available_methods.procedure_by_name(reading, available_methods.OF_TESTS[test]) is not None
    )


def non_inferiority(
    made: Procedure, margin: float | None, *, higher_is_better: bool | None
) -> TestResult | None:
    """Whether the first system is worse by less than the margin, if one is stated."""
    if margin is None or not np.isfinite(made.value):
        return None
    better = higher_is_better is not False
    return non_inferiority_test(made.test, margin, higher_is_better=better)


def equivalence_result(made: Procedure, margin: float | None) -> TestResult | None:
    """Whether the systems differ by less than the margin, if one is stated."""
    if margin is None or not np.isfinite(made.value):
        return None
    return equivalence_test(made.test, margin)


# --- What else there is to say of a difference ----------------------------------------------------


def effect_size(reading: PointEstimate) -> float:
    """Hedges' g for paired data; NaN where there are no units."""
    known = reading.units is not None and np.isfinite(reading.value)
    return reading.units.effect if known else NAN  # type: ignore[union-attr]


def win_tie_loss(reading: PointEstimate) -> dict[str, Any]:
    """On how many units the first system is better, equal and worse; nothing where no unit has a
    value of its own, or neither of two values is better."""
    if reading.higher_is_better is None or not np.isfinite(reading.value):
        return {}
    if reading.discordant_proportions is not None:
        rows = [round(x) for x in reading.discordant_proportions()]
        wins, losses = rows if reading.higher_is_better else rows[::-1]
        return {"wins": wins, "ties": reading.n - wins - losses, "losses": losses}
    known = None
    if reading.signs is not None:
        known = reading.signs()
    elif isinstance(reading.units, UnitValues):
        known = count_signs(reading.units.values)
    elif reading.unit_spread is not None:
        spread = reading.unit_spread()
        known = None if spread is None else spread.signs
    if known is None:
        return {}
    wins, ties, losses = known if reading.higher_is_better else known[::-1]
    return {"wins": wins, "ties": ties, "losses": losses}
