"""What a ranking did with a pool of which a sample is judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from calipers.caching import cached_property
from calipers.lazy_imports import numpy as np
from calipers.statistics.base import FloatArray, IntArray
from calipers.statistics.grouped_rankings import GroupedRankings, Levels
from calipers.statistics.rankings import running_sum, segment_offsets, segment_sum

if TYPE_CHECKING:
    import numpy.typing as npt
    from typing_extensions import Self


@dataclass(frozen=True, eq=False)
class SampledRankings(GroupedRankings):
    """Rankings of documents in strata: each group is a stratum of the pool, ``level`` the grade of
    a document, negative where it was not drawn, and ``inclusion`` the probability to be drawn; NaN
    where that is the share of the stratum that was. A document stands in one stratum of a topic.
    """

    inclusion: FloatArray

    of_judgments: ClassVar[tuple[str, ...]] = (*GroupedRankings.of_judgments, "inclusion")

    @classmethod
    def from_rankings(
        cls,
        rankings: Sequence[Sequence[str]],
        judgments: Sequence[Mapping[str, Levels | Sequence[Levels]]],
    ) -> Self:
        """From rankings without ties, and for each the grades by stratum and document, as many
        drawn from a stratum at random as have a grade that is not negative."""
        groups = GroupedRankings.from_rankings(rankings, judgments)
        return cls(**groups._parts(), inclusion=np.full(len(groups.level), np.nan))

    @cached_property
    def stratum_sizes(self) -> FloatArray:
        """Per stratum, how many documents it has."""
        return np.diff(self.judgments).astype(np.float64)

    @cached_property
    def n_sampled(self) -> FloatArray:
        """Per stratum, how many of its documents are judged."""
        return segment_sum(self.level >= 0, self.judgments)

    @cached_property
    def stands_for(self) -> FloatArray:
        """For each judgment, how many documents a judged one stands for: 1/π; 0 if not drawn."""
        drawn = self.level >= 0
        of_stratum = (self.stratum_sizes / np.maximum(self.n_sampled, 1))[self.group_of_judgment]
        stated = 1 / np.where(np.isnan(self.inclusion) | ~drawn, 1.0, self.inclusion)
        return np.where(drawn, np.where(np.isnan(self.inclusion), of_stratum, stated), 0.0)

    @cached_property
    def topic_of_judgment(self) -> IntArray:
        """The topic's position, for each judgment."""
        return self.topic_of_group[self.group_of_judgment]

    def estimated_relevant(self, rel: int = 1) -> FloatArray:
        """Per topic, how many relevant documents the pool is estimated to hold."""
        relevant = self.stands_for * (self.level >= rel)
        return segment_sum(relevant, self.judgments[self.groups])

    def undrawn_mask(self) -> npt.NDArray[np.bool_]:
        """Whether nothing was drawn from a stratum of the topic."""
        return self.sum_of_groups(self.n_sampled == 0) > 0

    def nonrandom_mask(self) -> npt.NDArray[np.bool_]:
        """Whether documents of a topic were drawn otherwise than at random from their stratum."""
        drawn = self.stands_for * self.n_sampled[self.group_of_judgment]
        other = ~np.isclose(drawn, self.stratum_sizes[self.group_of_judgment], rtol=1e-6, atol=0)
        return segment_sum(other & (self.level >= 0), self.judgments[self.groups]) > 0

    @cached_property
    def retrieved_pool(self) -> RetrievedDocuments:
        """The documents of the pool that were retrieved, topic by topic in rank order."""
        rank = self.rank[self.rank_index]
        order = np.lexsort((rank, self.topic_of_judgment))
        order = order[rank[order] > 0]
        topic, group = self.topic_of_judgment[order], self.group_of_judgment[order]
        return RetrievedDocuments(
            segment_offsets(np.bincount(topic, minlength=len(self))),
            rank[order],
            group - self.groups[topic],
            group,
            self.level[order],
            self.stands_for[order],
        )


@dataclass(frozen=True, eq=False)
class RetrievedDocuments:
    """Retrieved documents of the pool: rank, which stratum of the topic and of all, grade, and how
    many documents each stands for. ``offsets`` cuts them into topics."""

    offsets: IntArray
    rank: IntArray
    stratum: IntArray
    group: IntArray
    grade: FloatArray
    stands_for: FloatArray

    def sum(self, values: npt.NDArray[Any]) -> FloatArray:
        """Per topic, the sum of a value per document."""
        return segment_sum(values, self.offsets)

    def above(self, values: npt.NDArray[Any]) -> FloatArray:
        """For each document, the sum of a value over those that stand above it."""
        return np.asarray(running_sum(values, self.offsets) - values)
