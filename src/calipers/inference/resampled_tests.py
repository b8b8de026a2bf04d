"""Two systems measured on several test splits: cross-validation and repeated hold-out.

Splits of one data set are not independent: the training sets overlap, so that the plain t test over
splits finds too much. What goes in are differences, first system less second, one a split.

Two numbers sum splits up, and they are not the same: the value *pooled* over the rows of all test
splits, which is a plain evaluation of all rows, and the value *averaged* over splits, which is what
these tests are about. For a measure that is a mean over rows they agree where splits are of equal
size; for an AUC they do not, as pooling compares scores of different models.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from calipers.inference import intervals
from calipers.inference.intervals import ROUNDING, Interval
from calipers.inference.paired_tests import NAN, TestResult, student
from calipers.statistics import FloatArray

OVERLAP = "splits share training rows: this test finds differences too often"
FIRST = "rests on the first fold of the first repetition alone; the combined F test uses all ten"
ERRATIC = (
    "takes the two folds of a repetition for independent; of systems that are erratic on as few "
    "rows as they are trained on, they are not, and it finds differences too often"
)


@dataclass(frozen=True, slots=True)
class SplitTest:
    """The test over splits.

    ``value`` is the difference averaged over ``splits``, ``interval`` the one that belongs to the
    test, if there is one. ``caution`` says what speaks against the test, where something does.
    """

    value: float
    interval: Interval
    test: TestResult
    splits: int
    caution: str | None = None

    @property
    def summary(self) -> str:
        """What ``value`` is, in words."""
        return f"averaged over {self.splits} splits"


def corrected_t(
    differences: FloatArray,
    train: float,
    test: float,
    alternative: str = "two-sided",
    level: float = 0.95,
) -> SplitTest:
    """Nadeau and Bengio's corrected resampled t test of J differences, from models trained on
    ``train`` rows and measured on ``test``.

    t = mean/√((1/J + test/train)s²) on J − 1 degrees of freedom. Serves repeated hold-out and
    (repeated) cross-validation; with k folds test/train is 1/(k − 1). Undefined below two splits,
    and where all differences are the same but not 0. Raises ValueError where a size is not above 0.

    Sources: Nadeau and Bengio 2003, Machine Learning 52; Bouckaert and Frank 2004.

    >>> found = corrected_t(np.array([0.02, 0.04, 0.01, 0.03, 0.05]), train=80, test=20)
    >>> print(found.test)  # t = 0.03/√((1/5 + 1/4)·0.00025) = 2.8284
    corrected resampled t, two-sided: p = 0.04742
    """
    if not (train > 0 and test > 0):
        raise ValueError(f"sizes are {train} and {test} rows, expected more than 0")
    return _student(differences, test / train, "corrected resampled t", alternative, level)


def k_fold_t(
    differences: FloatArray, alternative: str = "two-sided", level: float = 0.95
) -> SplitTest:
    """The plain t test over splits, t = mean/√(s²/J): for comparison with what others report.

    It takes the splits to be independent, which those of one data set are not, and finds
    differences too often; :func:`corrected_t` does not. Undefined as that is.

    Source: Dietterich 1998, Neural Computation 10, who advises against it.

    >>> found = k_fold_t(np.array([0.02, 0.04, 0.01, 0.03, 0.05]))
    >>> print(found.test)  # t = 0.03/√(0.00025/5) = 4.2426
    uncorrected t over splits, two-sided: p = 0.01324
    """
    found = _student(differences, 0.0, "uncorrected t over splits", alternative, level)
    return replace(found, caution=OVERLAP)


def _student(
    differences: FloatArray, overlap: float, name: str, alternative: str, level: float
) -> SplitTest:
    """The t test whose variance of a mean of J is (1/J + overlap)s²."""
    values = _check_differences(differences, (len(differences),))
    j = len(values)
    value = float(values.mean()) if j else NAN
    se = NAN
    if j > 1:
        spread = float(values.std(ddof=1))
        # Equal differences have no spread, whatever rounding leaves.
        se = 0.0 if spread <= ROUNDING * abs(value) else spread * math.sqrt(1 / j + overlap)
    made = replace(intervals.student(value, se, j, level), method=name)
    return SplitTest(value, made, student(value, se, j, name, alternative), j)


def five_by_two_t(differences: FloatArray, alternative: str = "two-sided") -> SplitTest:
    """Dietterich's t test of five repetitions (rows) of two-fold cross-validation (columns).

    t = p₁⁽¹⁾/√(Σsᵢ²/5) on 5 degrees of freedom, where sᵢ² = (p₁ − p̄)² + (p₂ − p̄)² in repetition i.
    Undefined where the folds of every repetition agree. Raises ValueError for another shape.

    Source: Dietterich 1998, Neural Computation 10.

    >>> table = np.array([[0.04, 0.02], [0.03, 0.05], [0.01, 0.03], [0.02, 0.04], [0.05, 0.03]])
    >>> print(five_by_two_t(table).test)  # sᵢ² = 0.0002, t = 0.04/√0.0002 = 2.8284
    5×2 cv t, two-sided: p = 0.03674
    """
    values, variance = _five_by_two(differences)
    name = "5×2 cv t"
    # Six "units" make five degrees of freedom.
    test = student(float(values[0, 0]), math.sqrt(variance / 5), 6, name, alternative)
    no = intervals.no_interval(name, "no_interval_of_test")
    return SplitTest(float(values.mean()), no, test, 10, f"{FIRST}. It {ERRATIC}")


def five_by_two_f(differences: FloatArray) -> SplitTest:
    """Alpaydın's combined F test of five repetitions (rows) of two-fold cross-validation (columns),
    which knows no sides.

    F = ΣΣp²/(2Σsᵢ²) on (10, 5) degrees of freedom, sᵢ² as in :func:`five_by_two_t`; it is less hit
    and miss than that. Undefined where the folds of every repetition agree. Raises ValueError for
    another shape.

    Source: Alpaydın 1999, Neural Computation 11.

    >>> table = np.array([[0.04, 0.02], [0.03, 0.05], [0.01, 0.03], [0.02, 0.04], [0.05, 0.03]])
    >>> print(five_by_two_f(table).test)  # F = 0.0118/0.002 = 5.9
    5×2 cv F, two-sided: p = 0.03187
    """
    from scipy.special import fdtrc

    values, variance = _five_by_two(differences)
    name, total = "5×2 cv F", float(np.square(values).sum())
    if variance > 0:
        f = total / (2 * variance)
        test = TestResult(float(fdtrc(10, 5, f)), name, statistic=f)
    else:
        test = TestResult(1.0 if total == 0 else NAN, name)
    no = intervals.no_interval(name, "no_interval_of_test")
    return SplitTest(float(values.mean()), no, test, 10, ERRATIC)


def _five_by_two(differences: FloatArray) -> tuple[FloatArray, float]:
    """The differences, and the sum of the variances of the repetitions."""
    values = _check_differences(differences, (5, 2))
    apart = values[:, 0] - values[:, 1]
    apart = np.where(np.abs(apart) <= ROUNDING * np.abs(values).max(axis=1), 0.0, apart)
    return values, float(np.square(apart).sum() / 2)


def _check_differences(differences: FloatArray, shape: tuple[int, ...]) -> FloatArray:
    values = np.asarray(differences, np.float64)
    if values.shape != shape:
        raise ValueError(f"differences have shape {values.shape}, expected {shape}")
    if not np.isfinite(values).all():
        where = tuple(int(i[0]) for i in np.nonzero(~np.isfinite(values)))
        raise ValueError(f"the difference in split {where} is {values[where]}, expected a number")
    return values
