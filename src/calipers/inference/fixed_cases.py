"""Means over fixed cases, each of which has several samples: what varies is the samples.

The value of a case is an average over its samples, or over all subsets of k of them, and the
jackknife over the samples of the case estimates its variance: s²/n of a mean, somewhat too much
otherwise (Efron and Stein 1981). A case with too few samples for that, such as one, has the mean of
the variances that the other cases would have with as many. Samples of different cases are
independent, as are those of two systems, so that variances add up. Near the ends of the range most
cases have equal samples; one more variance, the largest that a case can have, is added for what few
cases do not show.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from calipers.inference import intervals
from calipers.inference.intervals import Interval, no_interval
from calipers.inference.point_estimate import JointDistribution, PointEstimate
from calipers.inference.procedures import Procedure, WaldProcedure, no_procedure
from calipers.inference.variance_estimators import StandardError
from calipers.lazy_dataclasses import dataclass
from calipers.statistics import FloatArray

#: Kind of such an estimate, in the tables of the policy.
KIND = "samples of these cases"

#: Name of its interval and test.
METHOD = "Student t, samples of these cases"


def jackknife_variances(
    values: FloatArray, value_of_case: Callable[[FloatArray], FloatArray]
) -> FloatArray:
    """Return the jackknife estimates of the variances of cases over their samples.

    Parameters
    ----------
    values : ndarray of shape (n_cases, n_samples)
        Score of each sample, NaN if it has none.
    value_of_case : callable
        Function that returns the value of each case from such a table, NaN if it is undefined.

    Returns
    -------
    ndarray of shape (n_cases,)
        Variances; NaN if a case is undefined without one of its samples.

    Examples
    --------
    >>> samples = np.array([[1.0, 0.0, 1.0, 1.0]])
    >>> variance = jackknife_variances(samples, lambda table: np.nanmean(table, axis=1))
    >>> np.allclose(variance, samples.var(ddof=1) / 4)
    True
    """
    present_mask = ~np.isnan(values)
    counts = present_mask.sum(axis=1)
    omitted_values = np.full(values.shape, np.nan)
    for sample in range(values.shape[1]):
        remaining = values.copy()
        remaining[:, sample] = np.nan
        omitted_values[:, sample] = value_of_case(remaining)
    filled = np.where(present_mask, omitted_values, 0.0)
    n = np.maximum(counts, 1)
    means = filled.sum(axis=1) / n
    squares = np.where(present_mask, np.square(omitted_values - means[:, None]), 0.0).sum(axis=1)
    return np.where(counts > 1, squares * (n - 1) / n, np.nan)


@dataclass(frozen=True, eq=False)
class FixedCases(JointDistribution):
    """Mean over fixed cases with its standard error over other samples of them, or none."""

    error: StandardError | Interval

    @classmethod
    def from_variances(
        cls,
        variances: FloatArray,
        n_samples: FloatArray,
        largest: float,
        weight: FloatArray | None = None,
        expected_variances: FloatArray | None = None,
    ) -> FixedCases:
        """Compute the standard error of the mean of some cases.

        Parameters
        ----------
        variances : ndarray of shape (n_cases,)
            Variance of each case; NaN if it is unknown.
        n_samples : ndarray of shape (n_cases,)
            Number of samples of each case.
        largest : float
            Largest variance that a case can have.
        weight : ndarray of shape (n_cases,), optional
            Weight of each case.
        expected_variances : ndarray of shape (n_known, n_unknown), optional
            Variance that each case with a known one would have with the number of samples of each
            case without.

        Returns
        -------
        FixedCases
            The standard error, with the degrees of freedom of the variances that are known; if
            there are others, no more than those of the mean that stands for these (Satterthwaite).

        Examples
        --------
        >>> cases = FixedCases.from_variances(np.array([0.04, 0.0]), np.array([5, 5]), 0.0625)
        >>> round(cases.error.se, 6), cases.error.df
        (0.160078, 8.0)
        """
        known_mask = ~np.isnan(variances)
        w = np.ones(len(variances)) if weight is None else weight
        if not (known_mask & (w > 0)).any():
            return cls(no_interval("none", "too_few_samples"))
        # What each case with a known variance contributes, also for those without one.
        terms = np.square(w[known_mask]) * variances[known_mask]
        degrees = float((n_samples - 1)[known_mask & (w > 0)].sum())
        typical_weight = float(w @ w) / float(w.sum())
        extra = typical_weight**2 * largest
        n, is_complete = len(terms), expected_variances is None or not expected_variances.size
        if expected_variances is not None:
            terms = terms + expected_variances @ np.square(w[~known_mask]) / n
        total = float(terms.sum()) + extra
        spread = float(np.square(terms - terms.mean()).sum()) * n / max(n - 1, 1)
        if spread > 0 and not is_complete:
            degrees = min(degrees, 2 * total**2 / spread)
        return cls(StandardError(math.sqrt(total) / float(w.sum()), METHOD, degrees))

    def difference(self, first: PointEstimate, second: PointEstimate) -> PointEstimate:
        """Return the difference of two systems, whose samples are independent."""
        second_cases = second.joint_distribution
        assert isinstance(second_cases, FixedCases)
        cases = self._minus(second_cases)
        return first.difference(
            second,
            n=min(first.n, second.n),
            joint_distribution=cases,
            compute_error=lambda: cases.error,
        )

    def _minus(self, second: FixedCases) -> FixedCases:
        if isinstance(self.error, Interval):
            return self
        if isinstance(second.error, Interval):
            return second
        se = math.hypot(self.error.se, second.error.se)
        degrees = (self.error.df or 0.0) + (second.error.df or 0.0)
        return FixedCases(StandardError(se, METHOD, degrees))


def fixed_cases_interval(estimate: PointEstimate, level: float) -> Interval | None:
    """Return Student's t interval of a mean over fixed cases."""
    cases = estimate.joint_distribution
    if not isinstance(cases, FixedCases):
        return None
    error, value = cases.error, estimate.value
    if isinstance(error, Interval):
        return error
    if not error.se > estimate.tolerance:
        return no_interval(error.name, "no_spread")
    half_width = intervals.t_quantile(level, error.df or 0.0) * error.se
    return Interval(value - half_width, value + half_width, error.name, se=error.se)


def fixed_cases_procedure(estimate: PointEstimate) -> Procedure | None:
    """Return Student's t procedure of a difference over fixed cases."""
    cases = estimate.joint_distribution
    if not isinstance(cases, FixedCases):
        return None
    error = cases.error
    if isinstance(error, Interval):
        return no_procedure(error.reason or "too_few_samples", estimate.value)
    procedure = WaldProcedure(
        value=estimate.value,
        method=error.name,
        name=error.name,
        bounds=estimate.bounds,
        standard_error=error,
        t_error=error,
    )
    return procedure if error.se > estimate.tolerance else replace(procedure, reason="no_spread")
