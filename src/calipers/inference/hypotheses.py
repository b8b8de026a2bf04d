"""Hypotheses about a difference between two systems, and their tests.

These are tests of no difference, of non-inferiority and of equivalence.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from calipers.inference import available_methods, forecasts, method_selection
from calipers.inference.intervals import Interval
from calipers.inference.method_limits import POWER
from calipers.inference.paired_tests import TestResult
from calipers.inference.point_estimate import PointEstimate, UnitValues
from calipers.inference.procedures import Procedure, WaldProcedure, no_procedure
from calipers.inference.variance_estimators import NAN
from calipers.lazy_dataclasses import dataclass
from calipers.statistics import FloatArray

#: Function from a null value and an alternative to the test result.
DifferenceTest = Callable[[float, str], TestResult]


def non_inferiority_test(
    test: DifferenceTest, margin: float, *, higher_is_better: bool = True
) -> TestResult:
    """Test that the first system is not worse than the second by ``margin`` or more.

    If higher values are better, H₀ is difference ≤ −margin, against ``greater``; if lower values
    are better, H₀ is difference ≥ margin, against ``less``.

    Parameters
    ----------
    test : callable
        Test of the difference against a value, for an alternative.
    margin : float
        Non-inferiority margin, above 0.
    higher_is_better : bool, default=True
        Direction of the measure.

    Returns
    -------
    TestResult
        The result; undefined if that of ``test`` is.

    Raises
    ------
    ValueError
        If the margin is not a finite number above 0.

    Examples
    --------
    >>> from calipers.inference.procedures import WaldProcedure
    >>> from calipers.inference.variance_estimators import StandardError
    >>> error = StandardError(0.02, "delta")
    >>> procedure = WaldProcedure(value=-0.01, t_error=error, method="delta", name="delta, paired")
    >>> print(non_inferiority_test(procedure.test, 0.05))  # z = 2
    delta, paired, one-sided (greater): p = 0.02275
    """
    _check_margin(margin)
    return test(-margin, "greater") if higher_is_better else test(margin, "less")


def equivalence_test(test: DifferenceTest, margin: float) -> TestResult:
    """Test by two one-sided tests (TOST) that two systems differ by less than ``margin``.

    Parameters
    ----------
    test : callable
        Test of the difference against a value, for an alternative.
    margin : float
        Equivalence margin, above 0.

    Returns
    -------
    TestResult
        The one with the larger p-value of the tests of difference ≤ −margin and difference ≥
        margin, or the undefined one if either is undefined.

    Raises
    ------
    ValueError
        If the margin is not a finite number above 0.

    References
    ----------
    Schuirmann 1987.

    Examples
    --------
    >>> from calipers.inference.procedures import WaldProcedure
    >>> from calipers.inference.variance_estimators import StandardError
    >>> t = StandardError(0.02, "paired t", 24)
    >>> procedure = WaldProcedure(value=-0.01, t_error=t, method="Student t", name="paired t")
    >>> print(equivalence_test(procedure.test, 0.05))  # t = 2 and -3
    paired t, one-sided (greater): p = 0.02847
    """
    _check_margin(margin)
    one_sided = (test(-margin, "greater"), test(margin, "less"))
    undefined = [result for result in one_sided if math.isnan(result.p)]
    return undefined[0] if undefined else max(one_sided, key=lambda result: result.p)


def _check_margin(margin: float) -> None:
    if not (margin > 0 and math.isfinite(margin)):
        raise ValueError(f"the margin is {margin}, expected a number above 0")


@dataclass(frozen=True)
class Hypothesis:
    """Hypothesis about a difference, and the test to use.

    Attributes
    ----------
    test : str, default="auto"
        Name of the test, one of :data:`TESTS`.
    alternative : str, default="two-sided"
        Alternative about the difference (``greater``, ``less``) or, by the direction of the
        measure, about the first system (``better``, ``worse``).
    margin : float or None
        Margin of non-inferiority and equivalence: the smallest difference that matters.
    horizon : int, default=1
        Number of steps that forecasts are made ahead, for the Diebold-Mariano test.
    """

    test: str = "auto"
    alternative: str = "two-sided"
    margin: float | None = None
    #: How many steps ahead forecasts are made, of the test of Diebold and Mariano.
    horizon: int = 1

    def direction(self, higher_is_better: bool | None) -> str:
        """Return the alternative as ``two-sided``, ``greater`` or ``less``."""
        if self.alternative not in ("better", "worse"):
            return self.alternative
        better = self.alternative == "better"
        return "greater" if better == (higher_is_better is not False) else "less"


DEFAULT_HYPOTHESIS = Hypothesis()

#: The tests that can be requested; each is used where it applies.
TESTS: Mapping[str, str] = {
    "auto": "the default test of the measure",
    "t": "Student's t of the values per unit",
    "wilcoxon": "Wilcoxon's signed ranks of the values per unit",
    "sign": "the sign test of the values per unit",
    "randomization": "Fisher's randomization of the values per unit",
    "bootstrap": "the proportion of replicates on the other side of no difference",
    "normal": "the difference over its standard error, normal",
    "delong": "DeLong's test of two AUCs: the difference over its standard error, normal",
    "mcnemar": "McNemar's exact test, of accuracies",
    "mid-p": "McNemar's test by the mid-p value, of accuracies",
    "diebold-mariano": "Diebold and Mariano's of losses in the order of time, corrected by Harvey, "
    "Leybourne and Newbold",
}

#: Tests of discordant rows.
MCNEMAR_TESTS = ("mcnemar", "mid-p")

ALTERNATIVES = ("two-sided", "greater", "less", "better", "worse")


def minimum_detectable_differences(
    se: Sequence[float] | FloatArray,
    df: Sequence[float | None] | FloatArray,
    level: float | FloatArray,
) -> FloatArray:
    """Return the minimum detectable difference for each standard error.

    Without degrees of freedom, None or NaN, it is normal.

    It is the smallest true difference that a two-sided test detects with probability :data:`POWER`,
    if the variability is as observed here.
    """
    if not (np.asarray(se) > 0).any():
        return np.full(len(se), NAN)
    from calipers.inference.power import detectable_differences

    return detectable_differences(se, df, level, POWER)


# --- Tests ----------------------------------------------------------------------------------------


def procedure(estimate: PointEstimate, hypothesis: Hypothesis = DEFAULT_HYPOTHESIS) -> Procedure:
    """Return the procedure, interval and tests in one, of a hypothesis about a difference.

    Parameters
    ----------
    estimate : PointEstimate
        Difference of two point estimates.
    hypothesis : Hypothesis, optional
        The hypothesis and its test.

    Returns
    -------
    Procedure
        The procedure; without interval and test if the requested test does not apply.
    """
    if hypothesis.test != forecasts.DIEBOLD_MARIANO:
        return method_selection.procedure(estimate, hypothesis.test)
    if not forecasts.is_applicable(estimate, hypothesis.horizon) or not np.isfinite(estimate.value):
        return no_procedure("no_interval_of_test", estimate.value)
    error = forecasts.standard_error(estimate, hypothesis.horizon)
    reason = None if error.se > estimate.tolerance else "no_spread"  # as of the paired t test
    return WaldProcedure(
        value=estimate.value,
        bounds=estimate.bounds,
        method=error.name,
        name=error.name,
        t_error=error,
        standard_error=error,
        reason=reason if np.isfinite(error.se) else "too_few_rows",
    )


def interval(estimate: PointEstimate, hypothesis: Hypothesis = DEFAULT_HYPOTHESIS) -> Interval:
    """Return the interval of a difference: that of the requested test, or the default one.

    Parameters
    ----------
    estimate : PointEstimate
        Difference of two point estimates.
    hypothesis : Hypothesis, optional
        The hypothesis and its test.

    Returns
    -------
    Interval
        The interval, or the reason why there is none.
    """
    if hypothesis.test != forecasts.DIEBOLD_MARIANO:
        return method_selection.interval(estimate, test=hypothesis.test)
    if estimate.settings.interval == "none" or not forecasts.is_applicable(
        estimate, hypothesis.horizon
    ):
        return method_selection.interval(estimate)
    return procedure(estimate, hypothesis).interval(estimate.settings.level)


def run_test(estimate: PointEstimate, hypothesis: Hypothesis = DEFAULT_HYPOTHESIS) -> TestResult:
    """Return the requested or default test of no difference; undefined if it does not apply.

    Parameters
    ----------
    estimate : PointEstimate
        Difference of two point estimates.
    hypothesis : Hypothesis, optional
        The hypothesis and its test.

    Returns
    -------
    TestResult
        The result of the test.
    """
    return procedure(estimate, hypothesis).test(
        0.0, hypothesis.direction(estimate.higher_is_better)
    )


def is_applicable(estimate: PointEstimate, test: str, horizon: int = 1) -> bool:
    """Check whether a test applies to this difference."""
    if test == "auto":
        return True
    if test == forecasts.DIEBOLD_MARIANO:
        return forecasts.is_applicable(estimate, horizon)
    return (
        available_methods.procedure_by_name(estimate, available_methods.METHOD_BY_TEST[test])
        is not None
    )


def non_inferiority_result(
    procedure: Procedure, margin: float | None, *, higher_is_better: bool | None
) -> TestResult | None:
    """Return the non-inferiority test of the first system, or None without a margin."""
    if margin is None or not np.isfinite(procedure.value):
        return None
    better = higher_is_better is not False
    return non_inferiority_test(procedure.test, margin, higher_is_better=better)


def equivalence_result(procedure: Procedure, margin: float | None) -> TestResult | None:
    """Return the equivalence test of the systems, or None without a margin."""
    if margin is None or not np.isfinite(procedure.value):
        return None
    return equivalence_test(procedure.test, margin)


# --- Effect sizes and power -----------------------------------------------------------------------


def effect_size(estimate: PointEstimate) -> float:
    """Return Hedges' g for paired data; NaN if there are no units."""
    is_defined = estimate.units is not None and np.isfinite(estimate.value)
    return estimate.units.effect_size if is_defined else NAN  # type: ignore[union-attr]


def win_tie_loss(estimate: PointEstimate) -> dict[str, Any]:
    """Return the numbers of units on which the first system is better, equal and worse.

    The dict is empty if units have no values of their own, or if the measure has no direction.
    """
    if estimate.higher_is_better is None or not np.isfinite(estimate.value):
        return {}
    if estimate.discordant_proportions is not None:
        rows = [round(x) for x in estimate.discordant_proportions()]
        wins, losses = rows if estimate.higher_is_better else rows[::-1]
        return {"wins": wins, "ties": estimate.n - wins - losses, "losses": losses}
    signs = None
    if estimate.signs is not None:
        signs = estimate.signs()
    elif isinstance(estimate.units, UnitValues):
        signs = estimate.units.signs
    elif estimate.unit_spread is not None:
        spread = estimate.unit_spread()
        signs = None if spread is None else spread.signs
    if signs is None:
        return {}
    wins, ties, losses = signs if estimate.higher_is_better else signs[::-1]
    return {"wins": wins, "ties": ties, "losses": losses}
