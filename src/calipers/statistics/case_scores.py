"""Statistics of scores of cases: their order, and what they are whatever they are measured by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calipers.caching import cached_property
from calipers.lazy_dataclasses import dataclass
from calipers.lazy_imports import numpy as np
from calipers.statistics.base import FloatArray, IntArray, Statistic
from calipers.statistics.regression import NumericRows, SortedValues


@dataclass(frozen=True, eq=False)
class SortedGrades(SortedValues):
    """Cases sorted by score, where limits of a quantile are scores that were given.

    Between grades there is nothing to interpolate: limits between two of them would miss a median
    that is a grade.
    """

    def interpolated_quantile(self, weight: FloatArray, q: FloatArray) -> FloatArray:
        """Return the smallest scores at or below which these proportions of the weight are."""
        running = self.weight_sums(weight).cumsum()
        indices = np.searchsorted(running, (q - 1e-12) * running[-1])
        return np.asarray(self.values[np.minimum(indices, len(self.values) - 1)])


@dataclass(frozen=True, eq=False)
class ScoreRows(NumericRows):
    """Scores of cases, for measures that need them sorted.

    The value of a row is its score, ``predicted``, which is not the residual of a ``truth``.

    Parameters
    ----------
    truth : ndarray of shape (n,)
        Zeros.
    predicted : ndarray of shape (n,)
        Scores of the cases.
    weight : ndarray of shape (..., n)
        Weights of the cases. Leading axes are replicates.
    """

    @cached_property
    def sorted_errors(self) -> SortedGrades:
        """Cases sorted by score."""
        order = self.sorted_predictions
        return SortedGrades(order.values, order.value_index)


#: Newton's steps: how many at most, how long, and when they end.
_MAX_STEPS, _MAX_STEP, _STEP_TOLERANCE = 100, 2.0, 1e-12
#: Variance of tanh(Δ/s), as a proportion of its mean square, up to which Δ counts as constant: the
#: standard error of θ is 2,000/√n at the least, so that no data tell anything of it.
_MIN_TERM_VARIANCE = 1e-6


@dataclass(frozen=True, eq=False)
class LengthFit:
    """Logistic regression of wins on the difference in length; leading axes are replicates.

    The log odds of a win are a + b·tanh(Δ/s), for the difference Δ in length. If outcomes are
    separated, the likelihood is a penalized one (Firth 1993), which has a maximum.

    Attributes
    ----------
    scale : ndarray
        Standard deviation s of the differences in length; infinite if they are all the same.
    intercept, slope : ndarray
        Coefficients a and b.
    information : tuple of ndarray
        Sums of the weights of the information, times 1, the term tanh(Δ/s), and its square.
    size : ndarray
        Effective number of rows, which the information is that of.
    is_penalized : ndarray of bool
        Whether the likelihood is penalized.
    """

    scale: FloatArray
    intercept: FloatArray
    slope: FloatArray
    information: tuple[FloatArray, FloatArray, FloatArray]
    size: FloatArray
    is_penalized: Any

    @property
    def rate(self) -> FloatArray:
        """Probability of a win at equal length."""
        return np.asarray(1 / (1 + np.exp(-self.intercept)))

    def _determinant(self) -> FloatArray:
        i0, i1, i2 = self.information
        return np.asarray(i0 * i2 - i1 * i1)

    def _leverage(self, term: FloatArray, probability: FloatArray) -> FloatArray:
        """Return the leverages of rows of weight 1; 0 without the penalty."""
        i0, i1, i2 = (total[..., None] for total in self.information)
        variance = (i2 - 2 * i1 * term + i0 * term * term) / self._determinant()[..., None]
        leverage = probability * (1 - probability) * variance
        return np.where(self.is_penalized[..., None], leverage, 0.0)

    def residual(
        self, term: FloatArray, probability: FloatArray, outcome: FloatArray
    ) -> FloatArray:
        """Return the residuals of rows; with the penalty, they include that of their leverage."""
        residual = outcome - probability
        if not np.any(self.is_penalized):
            return np.asarray(residual)
        return np.asarray(residual + self._leverage(term, probability) * (0.5 - probability))

    def damping(self, term: FloatArray, probability: FloatArray, weight: FloatArray) -> FloatArray:
        """Return the proportion of a step to take.

        The penalized scores of rows change by up to 1 + leverage times what the information says.
        Whole steps pass the maximum, and never come to it where the leverages are near 1.
        """
        if not np.any(self.is_penalized):
            return np.ones_like(self.size)
        leverage = weight * self._leverage(term, probability)
        return np.asarray(1 / (1 + leverage.max(axis=-1, initial=0.0)))

    def influence(self, difference: FloatArray, outcome: FloatArray) -> FloatArray:
        """Return how much rows move the rate, times their number."""
        term, probability, direction = self._directions(difference)
        return np.asarray(direction * self.residual(term, probability, outcome))

    def expected_influence(self, difference: FloatArray) -> FloatArray:
        """Return the influence of rows whose residuals have their expected size."""
        _, probability, direction = self._directions(difference)
        return np.asarray(direction * np.sqrt(probability * (1 - probability)))

    def _directions(self, difference: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return term and probability of rows, and how much a residual of 1 moves the rate."""
        term = np.tanh(difference / self.scale)
        probability = 1 / (1 + np.exp(-(self.intercept + self.slope * term)))
        _, i1, i2 = self.information
        direction = self.size * (i2 - i1 * term) / self._determinant()
        return term, probability, self.rate * (1 - self.rate) * direction

    @property
    def standard_error(self) -> FloatArray:
        """Standard error of the rate by the information."""
        _, _, i2 = self.information
        return np.asarray(self.rate * (1 - self.rate) * np.sqrt(i2 / self._determinant()))


@dataclass(frozen=True, eq=False)
class LengthRows(NumericRows):
    """Comparisons with a reference: the difference in length, and the outcome.

    Parameters
    ----------
    truth : ndarray of shape (n,)
        Length of the output minus that of the reference.
    predicted : ndarray of shape (n,)
        Outcome: 1 for a win, 0 for a loss, ½ for a tie.
    weight : ndarray of shape (..., n)
        Weights of the rows. Leading axes are replicates.
    """

    def _limits(self, mask: Any) -> tuple[FloatArray, FloatArray]:
        """Return the smallest and the largest difference in length of some rows."""
        used_mask = mask & (self.weight > 0)
        low, high = (np.where(used_mask, self.truth, end) for end in (np.inf, -np.inf))
        return low.min(axis=-1, initial=np.inf), high.max(axis=-1, initial=-np.inf)

    @cached_property
    def is_separated(self) -> Any:
        """Whether the length determines who wins, or one side always wins."""
        low_win, high_win = self._limits(self.predicted > 0)
        low_loss, high_loss = self._limits(self.predicted < 1)
        low, high = np.minimum(low_win, low_loss), np.maximum(high_win, high_loss)
        has_both = np.isfinite(low_win) & np.isfinite(low_loss)
        is_divided = (high_loss <= low_win) | (high_win <= low_loss)
        return np.asarray(~has_both | (is_divided & (low < high)))

    @cached_property
    def _scale(self) -> FloatArray:
        """Standard deviation of the differences in length."""
        low, high = self._limits(np.ones(len(self.truth), bool))
        size = (self.weight > 0).sum(axis=-1)
        with np.errstate(divide="ignore", invalid="ignore"):
            centered = self.truth - self.mean(self.truth)[..., None]
            variance = self.mean(np.square(centered)) * size / (size - 1)
        return np.where(low < high, np.sqrt(variance), np.inf)

    @cached_property
    def is_uncontrolled(self) -> Any:
        """Whether the differences in length hardly vary, compared with their size.

        The effect of the length can then not be told from that of the systems. If all are 0 there
        is none.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            term = np.tanh(self.truth / self._scale[..., None])
            variance = self.mean(np.square(term - self.mean(term)[..., None]))
            is_same = variance <= _MIN_TERM_VARIANCE * self.mean(np.square(term))
        low, high = self._limits(np.ones(len(self.truth), bool))
        return np.asarray(np.where(low < high, is_same, (low == high) & (low != 0)))

    @cached_property
    def fit(self) -> LengthFit:
        """Logistic regression of the outcome on the difference in length."""
        scale, is_penalized = self._scale, self.is_separated
        with np.errstate(divide="ignore", invalid="ignore"):
            squares = np.square(self.weight).sum(axis=-1)
            size = np.square(self.total) / squares
            weight = self.weight * (self.total / squares)[..., None]  # sums to the effective size
            term = np.tanh(self.truth / scale[..., None])
        has_slope = np.isfinite(scale)
        coefficients = np.zeros((2, *size.shape))
        for _ in range(_MAX_STEPS):
            a, b = coefficients
            probability = 1 / (1 + np.exp(-(a[..., None] + b[..., None] * term)))
            v = weight * probability * (1 - probability)
            i0, i1, i2 = (np.asarray((v * power).sum(axis=-1)) for power in (1.0, term, term**2))
            i2 = np.where(has_slope, i2, 1.0)
            fit = LengthFit(scale, a, b, (i0, i1, i2), size, is_penalized)
            with np.errstate(divide="ignore", invalid="ignore"):
                scores = weight * fit.residual(term, probability, self.predicted)
                g0, g1 = scores.sum(axis=-1), (scores * term).sum(axis=-1)
                steps = np.array([i2 * g0 - i1 * g1, i0 * g1 - i1 * g0]) / fit._determinant()
                steps = steps * fit.damping(term, probability, weight)
            steps = np.clip(steps, -_MAX_STEP, _MAX_STEP)
            if not (np.abs(steps) > _STEP_TOLERANCE * (1 + np.abs(coefficients))).any():
                break
            coefficients = coefficients + steps
        return fit


@dataclass(frozen=True, eq=False)
class ScoreSummary(Statistic):
    """What the scores of several systems are: how many were given, and of which kind.

    Parameters
    ----------
    total : int
        Number of cases, or of samples of them.
    unscored : ndarray of shape (n_systems, n_reasons)
        Number of these without a score, by reason.
    n_graded : int
        Number of scores that are neither 0 nor 1.
    low, high : float
        Lowest and highest score; infinite if there is none.
    """

    total: int
    unscored: IntArray
    n_graded: int
    low: float
    high: float

    @classmethod
    def from_columns(
        cls, columns: Sequence[tuple[FloatArray, IntArray]], n_reasons: int
    ) -> ScoreSummary:
        """Summarize the scores of systems.

        Parameters
        ----------
        columns : sequence of tuple of ndarray
            Of each system the scores, and their status: 0, or the number of the reason why there is
            no score.
        n_reasons : int
            Number of such reasons.

        Returns
        -------
        ScoreSummary
            Statistic of the cases.

        Examples
        --------
        >>> columns = [(np.array([1.0, 0.0, 0.5]), np.array([0, 2, 0]))]
        >>> summary = ScoreSummary.from_columns(columns, 3)
        >>> summary.unscored.tolist(), summary.low, summary.is_binary
        ([[0, 1, 0]], 0.5, False)
        """
        unscored = [
            np.bincount(status.ravel(), minlength=n_reasons + 1)[1:] for _, status in columns
        ]
        scores_by_system = [scores[status == 0] for scores, status in columns]
        lows, highs = ([f(x) for x in scores_by_system if len(x)] for f in (np.min, np.max))
        n_graded = sum(int(np.count_nonzero((x != 0) & (x != 1))) for x in scores_by_system)
        return cls(
            columns[0][0].size,
            np.array(unscored, np.int64),
            n_graded,
            float(min(lows, default=np.inf)),
            float(max(highs, default=-np.inf)),
        )

    def __add__(self, other: ScoreSummary) -> ScoreSummary:
        return ScoreSummary(
            self.total + other.total,
            self.unscored + other.unscored,
            self.n_graded + other.n_graded,
            min(self.low, other.low),
            max(self.high, other.high),
        )

    @property
    def is_binary(self) -> bool:
        """Whether all scores are 0 or 1."""
        return self.n_graded == 0

    @property
    def is_proportion(self) -> bool:
        """Whether all scores lie between 0 and 1."""
        return self.low >= 0 and self.high <= 1
