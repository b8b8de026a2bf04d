"""Clicks on interleaved rankings, credited to one of the two rankers of each impression."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from calipers.lazy_dataclasses import dataclass
from calipers.lazy_imports import numpy as np
from calipers.statistics.base import FloatArray, Statistic

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(frozen=True, eq=False)
class ImpressionCredits(Statistic):
    """Credit of a ranker, and whether it wins, on each impression.

    Parameters
    ----------
    impressions : tuple of str
        Names of the impressions.
    credit, opponent_credit : ndarray of shape (n,)
        Clicks credited to the ranker and to its opponent; expected numbers where assignments of
        documents to rankers are unknown.
    win, loss : ndarray of shape (n,)
        Probability that more, or fewer, clicks are its than its opponent's; 0 or 1 where
        assignments are known.
    """

    impressions: tuple[str, ...]
    credit: FloatArray
    opponent_credit: FloatArray
    win: FloatArray
    loss: FloatArray

    def __len__(self) -> int:
        return len(self.impressions)

    def swap(self) -> Self:
        """Return the credits of the opponent."""
        return replace(
            self,
            credit=self.opponent_credit,
            opponent_credit=self.credit,
            win=self.loss,
            loss=self.win,
        )

    @classmethod
    def from_probabilities(
        cls, impressions: tuple[str, ...], clicked: list[list[float]]
    ) -> ImpressionCredits:
        """Make the credits from the probability that each clicked document is of the ranker.

        Examples
        --------
        >>> credits_ = ImpressionCredits.from_probabilities(("1", "2"), [[1.0, 1.0, 0.0], [0.5]])
        >>> credits_.win.tolist(), credits_.loss.tolist()
        ([1.0, 0.5], [0.0, 0.5])
        """
        rows = [(sum(p), len(p) - sum(p), *_majority(p)) for p in clicked]
        columns = np.array(rows, np.float64).reshape(len(rows), 4).T
        return cls(impressions, *columns)


def _majority(probabilities: list[float]) -> tuple[float, float]:
    """Return the probabilities that more, and fewer, than half of independent events occur."""
    counts = np.ones(1)  # probability of each number of events
    for p in probabilities:
        counts = np.convolve(counts, [1 - p, p])
    twice = 2 * np.arange(len(counts))
    n = len(probabilities)
    return float(counts[twice > n].sum()), float(counts[twice < n].sum())
