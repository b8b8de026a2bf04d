"""Statistics of scores of cases: their order, and what they are whatever they are measured by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from calipers.caching import cached_property
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
