"""Comparison of two systems on several test splits: cross-validation and repeated hold-out.

Splits of one data set are not independent: the training sets overlap, so that the plain t test over
splits rejects too often. The inputs are differences, first system minus second, one for each split.

Two estimates combine splits, and they are not the same: the value *pooled* over the rows of all
test splits, which is a plain evaluation of all rows, and the value *averaged* over splits, which
these tests are about. For a measure that is a mean over rows they agree if splits have equal size;
for an AUC they do not, since pooling compares scores of different models.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from calipers.inference import intervals
from calipers.inference.intervals import ROUNDING_TOLERANCE, Interval
from calipers.inference.paired_tests import NAN, TestResult, t_test_from_stats
from calipers.lazy_dataclasses import dataclass
from calipers.statistics import FloatArray

OVERLAP_CAUTION = "training sets overlap across splits; this test rejects too often"
FIRST_FOLD_CAUTION = (
    "its numerator is the difference on the first fold of the first repetition alone; the combined "
    "F test uses all ten differences"
)
FOLD_DEPENDENCE_CAUTION = (
    "it treats the two folds of a repetition as independent; they are not if models trained on "
    "half of the rows are unstable, and the test then rejects too often"
)


@dataclass(frozen=True, slots=True)
class SplitTestResult:
    """Result of a test over splits.

    Attributes
    ----------
    mean : float
        Mean of the differences (or other values) over splits.
    interval : Interval
        Interval that belongs to the test, if there is one.
    test : TestResult
        Result of the test.
    n_splits : int
        Number of splits.
    caution : str or None
        Known problem of the test, if there is one.
    """

    mean: float
    interval: Interval
    test: TestResult
    n_splits: int
    caution: str | None = None

    @property
    def mean_description(self) -> str:
        """What the mean is taken over, in words."""
        return f"averaged over {self.n_splits} splits"


def corrected_t(
    differences: FloatArray,
    n_train: float,
    n_test: float,
    alternative: str = "two-sided",
    level: float = 0.95,
) -> SplitTestResult:
    """Compute Nadeau and Bengio's corrected resampled t test.

    It is suitable for repeated hold-out and for (repeated) cross-validation.

    Parameters
    ----------
    differences : ndarray of shape (J,)
        Differences on J splits.
    n_train, n_test : float
        Number of rows that models are trained on and tested on in each split. With k folds
        test/train is 1/(k − 1).
    alternative : {"two-sided", "greater", "less"}, default="two-sided"
        Alternative hypothesis.
    level : float, default=0.95
        Confidence level of the interval.

    Returns
    -------
    SplitTestResult
        The result; undefined with fewer than two splits, and if all differences are equal but not
        0.

    Raises
    ------
    ValueError
        If a size is not above 0, or a difference is not finite.

    Notes
    -----
    t = mean/√((1/J + test/train)s²) on J − 1 degrees of freedom.

    References
    ----------
    Nadeau and Bengio 2003, Machine Learning 52; Bouckaert and Frank 2004.

    Examples
    --------
    >>> result = corrected_t(np.array([0.02, 0.04, 0.01, 0.03, 0.05]), n_train=80, n_test=20)
    >>> print(result.test)  # t = 0.03/√((1/5 + 1/4)·0.00025) = 2.8284
    corrected resampled t, two-sided: p = 0.04742
    """
    if not (n_train > 0 and n_test > 0):
        raise ValueError(f"sizes are {n_train} and {n_test} rows, expected more than 0")
    return _resampled_t(differences, n_test / n_train, "corrected resampled t", alternative, level)


def uncorrected_t(
    differences: FloatArray, alternative: str = "two-sided", level: float = 0.95
) -> SplitTestResult:
    """Compute the uncorrected t test over splits, for comparison with other reports.

    t = mean/√(s²/J) on J − 1 degrees of freedom.

    It assumes independent splits, which those of one data set are not, and rejects too often;
    :func:`corrected_t` does not. It is undefined in the same cases.

    References
    ----------
    Dietterich 1998, Neural Computation 10, who advises against it.

    Examples
    --------
    >>> result = uncorrected_t(np.array([0.02, 0.04, 0.01, 0.03, 0.05]))
    >>> print(result.test)  # t = 0.03/√(0.00025/5) = 4.2426
    uncorrected t over splits, two-sided: p = 0.01324
    """
    result = _resampled_t(differences, 0.0, "uncorrected t over splits", alternative, level)
    return replace(result, caution=OVERLAP_CAUTION)


def _resampled_t(
    differences: FloatArray, test_train_ratio: float, name: str, alternative: str, level: float
) -> SplitTestResult:
    """Compute the t test with variance (1/J + test/train)s² of the mean of J differences."""
    values = _check_differences(differences, (len(differences),))
    j = len(values)
    mean = float(values.mean()) if j else NAN
    se = NAN
    if j > 1:
        spread = float(values.std(ddof=1))
        # Equal differences have no spread, whatever rounding leaves.
        se = (
            0.0
            if spread <= ROUNDING_TOLERANCE * abs(mean)
            else spread * math.sqrt(1 / j + test_train_ratio)
        )
    interval = replace(intervals.student_interval(mean, se, j, level), method=name)
    return SplitTestResult(mean, interval, t_test_from_stats(mean, se, j, name, alternative), j)


def five_by_two_t(differences: FloatArray, alternative: str = "two-sided") -> SplitTestResult:
    """Compute Dietterich's 5×2 cv t test: five repetitions of two-fold cross-validation.

    Parameters
    ----------
    differences : ndarray of shape (5, 2)
        Differences, with repetitions as rows and folds as columns.
    alternative : {"two-sided", "greater", "less"}, default="two-sided"
        Alternative hypothesis.

    Returns
    -------
    SplitTestResult
        The result, without an interval; undefined if the folds of every repetition agree and the
        first difference is not 0.

    Raises
    ------
    ValueError
        If ``differences`` have another shape, or one is not finite.

    Notes
    -----
    t = p₁⁽¹⁾/√(Σsᵢ²/5) on 5 degrees of freedom, where sᵢ² = (p₁ − p̄)² + (p₂ − p̄)² in repetition
    i.

    References
    ----------
    Dietterich 1998, Neural Computation 10.

    Examples
    --------
    >>> table = np.array([[0.04, 0.02], [0.03, 0.05], [0.01, 0.03], [0.02, 0.04], [0.05, 0.03]])
    >>> print(five_by_two_t(table).test)  # sᵢ² = 0.0002, t = 0.04/√0.0002 = 2.8284
    5×2 cv t, two-sided: p = 0.03674
    """
    values, variance = _five_by_two_variance(differences)
    name = "5×2 cv t"
    # The test has n − 1 degrees of freedom, so n = 6 gives the 5 of Dietterich's test.
    test = t_test_from_stats(float(values[0, 0]), math.sqrt(variance / 5), 6, name, alternative)
    no_interval = intervals.no_interval(name, "no_interval_of_test")
    return SplitTestResult(
        float(values.mean()),
        no_interval,
        test,
        10,
        f"{FIRST_FOLD_CAUTION}. Moreover, {FOLD_DEPENDENCE_CAUTION}",
    )


def five_by_two_f(differences: FloatArray) -> SplitTestResult:
    """Compute Alpaydın's combined 5×2 cv F test, which has no one-sided alternative.

    Parameters
    ----------
    differences : ndarray of shape (5, 2)
        Differences, with repetitions as rows and folds as columns.

    Returns
    -------
    SplitTestResult
        The result, without an interval; undefined if the folds of every repetition agree and
        not all differences are 0.

    Raises
    ------
    ValueError
        If ``differences`` have another shape, or one is not finite.

    Notes
    -----
    F = ΣΣp²/(2Σsᵢ²) on (10, 5) degrees of freedom, with sᵢ² as in :func:`five_by_two_t`. Unlike
    that of this t test, the outcome does not depend on the order of the folds.

    References
    ----------
    Alpaydın 1999, Neural Computation 11.

    Examples
    --------
    >>> table = np.array([[0.04, 0.02], [0.03, 0.05], [0.01, 0.03], [0.02, 0.04], [0.05, 0.03]])
    >>> print(five_by_two_f(table).test)  # F = 0.0118/0.002 = 5.9
    5×2 cv F, two-sided: p = 0.03187
    """
    from scipy.special import fdtrc

    values, variance = _five_by_two_variance(differences)
    name, total = "5×2 cv F", float(np.square(values).sum())
    if variance > 0:
        f = total / (2 * variance)
        test = TestResult(float(fdtrc(10, 5, f)), name, statistic=f)
    else:
        test = TestResult(1.0 if total == 0 else NAN, name)
    no_interval = intervals.no_interval(name, "no_interval_of_test")
    return SplitTestResult(float(values.mean()), no_interval, test, 10, FOLD_DEPENDENCE_CAUTION)


def _five_by_two_variance(differences: FloatArray) -> tuple[FloatArray, float]:
    """Return the valid differences, and the sum of the variances of the repetitions."""
    values = _check_differences(differences, (5, 2))
    fold_differences = values[:, 0] - values[:, 1]
    fold_differences = np.where(
        np.abs(fold_differences) <= ROUNDING_TOLERANCE * np.abs(values).max(axis=1),
        0.0,
        fold_differences,
    )
    return values, float(np.square(fold_differences).sum() / 2)


def _check_differences(differences: FloatArray, shape: tuple[int, ...]) -> FloatArray:
    values = np.asarray(differences, np.float64)
    if values.shape != shape:
        raise ValueError(f"differences have shape {values.shape}, expected {shape}")
    if not np.isfinite(values).all():
        index = tuple(int(i[0]) for i in np.nonzero(~np.isfinite(values)))
        raise ValueError(
            f"the difference in split {index} is {values[index]}, expected a finite number"
        )
    return values
