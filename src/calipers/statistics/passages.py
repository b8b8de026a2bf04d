"""Passages that a run retrieved, against highlighted text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calipers.lazy_dataclasses import dataclass
from calipers.lazy_imports import numpy as np
from calipers.statistics.base import FloatArray, IntArray, Statistic
from calipers.statistics.rankings import running_sum, segment_sum

if TYPE_CHECKING:
    import numpy.typing as npt


@dataclass(frozen=True, eq=False)
class RetrievedPassages(Statistic):
    """Retrieved passages of each topic by rank, and its articles in the order of their first one.

    Parameters
    ----------
    topics : tuple of str
        Names of the T topics.
    n_characters, n_articles : ndarray of shape (T,)
        Highlighted characters and articles with highlighted text of each topic.
    passages : ndarray of shape (T + 1,)
        Offsets of the topics in ``length`` and ``overlap``.
    length, overlap : ndarray of shape (P,)
        Characters of each passage, and how many of them are highlighted.
    articles : ndarray of shape (T + 1,)
        Offsets of the topics in the following fields.
    retrieved, highlighted, hit : ndarray of shape (A,)
        Characters of each article that were retrieved, that are highlighted, and both.
    distance : ndarray of shape (A,)
        Characters between the first passage of the article and the best entry point; infinite
        without one.
    """

    topics: tuple[str, ...]
    n_characters: FloatArray
    n_articles: FloatArray
    passages: IntArray
    length: FloatArray
    overlap: FloatArray
    articles: IntArray
    retrieved: FloatArray
    highlighted: FloatArray
    hit: FloatArray
    distance: FloatArray

    def __len__(self) -> int:
        return len(self.topics)

    @property
    def is_empty(self) -> npt.NDArray[np.bool_]:
        """Whether a topic has no highlighted text."""
        return np.asarray(self.n_characters == 0)

    def curve(self) -> tuple[FloatArray, FloatArray]:
        """Return the precision and recall of characters after each passage."""
        hits, read = (running_sum(x, self.passages) for x in (self.overlap, self.length))
        topic = np.repeat(np.arange(len(self)), np.diff(self.passages))
        with np.errstate(invalid="ignore", divide="ignore"):
            return hits / read, hits / self.n_characters[topic]

    def largest(self, values: FloatArray) -> FloatArray:
        """Return the largest value of the passages of each topic, 0 without passages."""
        largest = np.zeros(len(self))
        np.maximum.at(largest, np.repeat(np.arange(len(self)), np.diff(self.passages)), values)
        return largest

    def article_ranks(self) -> IntArray:
        """Return the rank of each article, from 1."""
        starts = np.repeat(self.articles[:-1], np.diff(self.articles))
        return np.asarray(np.arange(len(starts)) - starts + 1)

    def sum_articles(self, values: FloatArray) -> FloatArray:
        """Sum a value per article within each topic."""
        return segment_sum(values, self.articles)
