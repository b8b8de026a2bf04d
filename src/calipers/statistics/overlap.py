"""Where two rankings of each topic place the documents that both of them hold."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from calipers.lazy_imports import numpy as np
from calipers.statistics.base import FloatArray, IntArray, Statistic
from calipers.statistics.rankings import segment_offsets, segment_sum, take_segments

if TYPE_CHECKING:
    import numpy.typing as npt
    from typing_extensions import Self

_DOCUMENTS = ("rank_a", "from_a", "to_a", "rank_b", "from_b", "to_b")


@dataclass(frozen=True, eq=False)
class SharedRankings(Statistic):
    """Per topic: the lengths of two rankings, a and b, and of each document in both its rank in
    either, and the first and the last rank of the documents that share its score.

    ``offsets`` (T+1) cuts the flat arrays into topics. Ranks start at 1. A ranking that a run does
    not hold has length 0.
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
    def shorter(self) -> IntArray:
        """Per topic, the length of the shorter ranking."""
        return np.minimum(self.length_a, self.length_b)

    @property
    def longer(self) -> IntArray:
        """Per topic, the length of the longer ranking."""
        return np.maximum(self.length_a, self.length_b)

    @property
    def shared(self) -> FloatArray:
        """Per topic, how many documents both rankings hold."""
        return np.diff(self.offsets).astype(np.float64)

    def sum(self, values: npt.NDArray[Any]) -> FloatArray:
        """Per topic, the sum of a value per shared document."""
        return segment_sum(values, self.offsets)

    def cut(self, depth: int) -> Self:
        """Both rankings down to this depth; ties are ties among what is left."""
        kept = (self.rank_a <= depth) & (self.rank_b <= depth)
        return replace(
            self,
            length_a=np.minimum(self.length_a, depth),
            length_b=np.minimum(self.length_b, depth),
            offsets=segment_offsets(segment_sum(kept, self.offsets)),
            rank_a=self.rank_a[kept],
            from_a=self.from_a[kept],
            to_a=np.minimum(self.to_a, depth)[kept],
            rank_b=self.rank_b[kept],
            from_b=self.from_b[kept],
            to_b=np.minimum(self.to_b, depth)[kept],
        )

    def select_topics(self, topics: tuple[str, ...]) -> Self:
        """These topics, in this order; rankings that are not here are empty."""
        place = {topic: i for i, topic in enumerate(self.topics)}
        picked = np.array([place.get(topic, len(self)) for topic in topics], np.int64)
        offsets, documents = take_segments(np.append(self.offsets, self.offsets[-1:]), picked)
        return type(self)(
            topics,
            np.append(self.length_a, 0)[picked],
            np.append(self.length_b, 0)[picked],
            offsets,
            *(getattr(self, name)[documents] for name in _DOCUMENTS),
        )

    def break_ties(self) -> Self:
        """Every document at its own rank alone."""
        a, b = self.rank_a, self.rank_b
        return replace(self, from_a=a, to_a=a, from_b=b, to_b=b)
