"""Ranks of the documents that two rankings of each topic have in common."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from calipers.lazy_dataclasses import dataclass
from calipers.lazy_imports import numpy as np
from calipers.statistics.base import FloatArray, IntArray, Statistic
from calipers.statistics.rankings import segment_offsets, segment_sum, take_segments

if TYPE_CHECKING:
    import numpy.typing as npt
    from typing_extensions import Self

_DOCUMENT_FIELDS = ("rank_a", "from_a", "to_a", "rank_b", "from_b", "to_b")


@dataclass(frozen=True, eq=False)
class SharedRankings(Statistic):
    """Shared documents of two rankings, a and b, of each topic.

    Ranks start at 1. A topic that is missing from a run has a ranking of length 0.

    Parameters
    ----------
    topics : tuple of str
        Names of the T topics.
    length_a, length_b : ndarray of shape (T,)
        Lengths of the two rankings.
    offsets : ndarray of shape (T + 1,)
        Offsets of the topics in the following arrays.
    rank_a, rank_b : ndarray of shape (D,)
        Rank of each shared document in either ranking.
    from_a, to_a, from_b, to_b : ndarray of shape (D,)
        First and last rank of the documents of the same score, in either ranking.
    """

    topics: tuple[str, ...]
    length_a: IntArray
    length_b: IntArray
    offsets: IntArray
    rank_a: IntArray
    from_a: IntArray
    to_a: IntArray
    rank_b: IntArray
    from_b: IntArray
    to_b: IntArray

    def __len__(self) -> int:
        return len(self.topics)

    @property
    def min_length(self) -> IntArray:
        """Length of the shorter ranking of each topic."""
        return np.minimum(self.length_a, self.length_b)

    @property
    def max_length(self) -> IntArray:
        """Length of the longer ranking of each topic."""
        return np.maximum(self.length_a, self.length_b)

    @property
    def n_shared(self) -> FloatArray:
        """Number of documents in both rankings of each topic."""
        return np.diff(self.offsets).astype(np.float64)

    def sum_by_topic(self, values: npt.NDArray[Any]) -> FloatArray:
        """Sum a value per shared document within each topic."""
        return segment_sum(values, self.offsets)

    def truncate(self, depth: int) -> Self:
        """Truncate both rankings at this depth; ties are among the remaining documents."""
        retained_mask = (self.rank_a <= depth) & (self.rank_b <= depth)
        return replace(
            self,
            length_a=np.minimum(self.length_a, depth),
            length_b=np.minimum(self.length_b, depth),
            offsets=segment_offsets(segment_sum(retained_mask, self.offsets)),
            rank_a=self.rank_a[retained_mask],
            from_a=self.from_a[retained_mask],
            to_a=np.minimum(self.to_a, depth)[retained_mask],
            rank_b=self.rank_b[retained_mask],
            from_b=self.from_b[retained_mask],
            to_b=np.minimum(self.to_b, depth)[retained_mask],
        )

    def select_topics(self, topics: tuple[str, ...]) -> Self:
        """Return the statistic for these topics, in this order; missing rankings are empty."""
        index_by_topic = {topic: i for i, topic in enumerate(self.topics)}
        topic_indices = np.array(
            [index_by_topic.get(topic, len(self)) for topic in topics], np.int64
        )
        offsets, documents = take_segments(
            np.append(self.offsets, self.offsets[-1:]), topic_indices
        )
        return type(self)(
            topics,
            np.append(self.length_a, 0)[topic_indices],
            np.append(self.length_b, 0)[topic_indices],
            offsets,
            *(getattr(self, name)[documents] for name in _DOCUMENT_FIELDS),
        )

    def break_ties(self) -> Self:
        """Return the statistic without ties, every document at its own rank."""
        a, b = self.rank_a, self.rank_b
        return replace(self, from_a=a, to_a=a, from_b=b, to_b=b)
