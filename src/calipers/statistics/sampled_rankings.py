"""Rankings of documents from a pool of which a sample is judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from calipers.caching import cached_property
from calipers.lazy_dataclasses import dataclass
from calipers.lazy_imports import numpy as np
from calipers.statistics.base import FloatArray, IntArray
from calipers.statistics.grouped_rankings import GroupedRankings, LevelsByDocument
from calipers.statistics.rankings import running_sum, segment_offsets, segment_sum

if TYPE_CHECKING:
    import numpy.typing as npt
    from typing_extensions import Self


@dataclass(frozen=True, eq=False)
class SampledRankings(GroupedRankings):
    """Rankings of documents from a stratified pool, of which a sample is judged.

    Each group of :class:`GroupedRankings` is a stratum of the pool. A document is in one stratum of
    a topic.

    Parameters
    ----------
    topics : tuple of str
        Names of the T topics, in bytewise order.
    retrieved : ndarray of shape (T,)
        Number of retrieved documents of each topic.
    documents : ndarray of shape (T + 1,)
        Offsets of the topics in ``rank``, ``tied_from`` and ``tied_to``.
    rank : ndarray of shape (D,)
        Rank of each document, from 1; 0 if it was not retrieved.
    tied_from, tied_to : ndarray of shape (D,)
        First and last rank of the documents of the same score.
    groups : ndarray of shape (T + 1,)
        Offsets of the topics in ``group_names``.
    group_names : tuple of str
        Names of the G strata, in bytewise order within a topic.
    judgments : ndarray of shape (G + 1,)
        Offsets of the strata in ``document``, ``block``, ``level`` and ``inclusion``.
    document : ndarray of shape (J,)
        Document of each entry of the pool, as an index among those of the topic.
    block : ndarray of shape (J,)
        Always 0: strata are not divided into blocks.
    level : ndarray of shape (J,)
        Grade of each document of the pool; negative if it was not sampled.
    inclusion : ndarray of shape (J,)
        Inclusion probability of each document; NaN if it is the sampled proportion of its stratum.
    """

    inclusion: FloatArray

    judgment_fields: ClassVar[tuple[str, ...]] = (*GroupedRankings.judgment_fields, "inclusion")

    @classmethod
    def from_rankings(
        cls,
        rankings: Sequence[Sequence[str]],
        judgments: Sequence[Mapping[str, LevelsByDocument | Sequence[LevelsByDocument]]],
    ) -> Self:
        """Create the statistic of rankings without ties.

        Parameters
        ----------
        rankings : sequence of sequence of str
            Document ids of each topic, best first.
        judgments : sequence of mapping
            Grades by stratum and document for each topic. The documents whose grade is not negative
            are a random sample of their stratum.

        Returns
        -------
        SampledRankings
            Statistic of the rankings.
        """
        groups = GroupedRankings.from_rankings(rankings, judgments)
        return cls(**groups._field_values(), inclusion=np.full(len(groups.level), np.nan))

    @cached_property
    def stratum_sizes(self) -> FloatArray:
        """Size of each stratum, in documents."""
        return np.diff(self.judgments).astype(np.float64)

    @cached_property
    def n_sampled(self) -> FloatArray:
        """Count of the judged documents of each stratum."""
        return segment_sum(self.level >= 0, self.judgments)

    @cached_property
    def sampling_weight(self) -> FloatArray:
        """Weight of each judgment by sampling, 1/π; 0 if the document was not sampled."""
        sampled_mask = self.level >= 0
        stratum_weight = (self.stratum_sizes / np.maximum(self.n_sampled, 1))[self.judgment_group]
        stated_weight = 1 / np.where(np.isnan(self.inclusion) | ~sampled_mask, 1.0, self.inclusion)
        return np.where(
            sampled_mask, np.where(np.isnan(self.inclusion), stratum_weight, stated_weight), 0.0
        )

    @cached_property
    def judgment_topic(self) -> IntArray:
        """Topic of each judgment, as an index."""
        return self.group_topic[self.judgment_group]

    def estimate_n_relevant(self, rel: int = 1) -> FloatArray:
        """Estimate the number of relevant documents in the pool of each topic.

        Parameters
        ----------
        rel : int, default=1
            Lowest grade of a relevant document.

        Returns
        -------
        ndarray of shape (T,)
            Horvitz-Thompson estimates.
        """
        relevant_weight = self.sampling_weight * (self.level >= rel)
        return segment_sum(relevant_weight, self.judgments[self.groups])

    def unsampled_mask(self) -> npt.NDArray[np.bool_]:
        """Return which topics have a stratum without a sampled document.

        Returns
        -------
        ndarray of bool, shape (T,)
            Whether the topic has such a stratum.
        """
        return self.sum_by_topic(self.n_sampled == 0) > 0

    def nonrandom_mask(self) -> npt.NDArray[np.bool_]:
        """Return which topics have documents that are not a random sample of their stratum.

        Returns
        -------
        ndarray of bool, shape (T,)
            Whether the inclusion probability of a document is not the sampled proportion of its
            stratum.
        """
        estimated_sizes = self.sampling_weight * self.n_sampled[self.judgment_group]
        mismatch_mask = ~np.isclose(
            estimated_sizes, self.stratum_sizes[self.judgment_group], rtol=1e-6, atol=0
        )
        return segment_sum(mismatch_mask & (self.level >= 0), self.judgments[self.groups]) > 0

    @cached_property
    def retrieved_pool(self) -> RetrievedDocuments:
        """Documents of the pool that were retrieved, topic by topic in rank order."""
        rank = self.rank[self.rank_index]
        order = np.lexsort((rank, self.judgment_topic))
        order = order[rank[order] > 0]
        topic, group = self.judgment_topic[order], self.judgment_group[order]
        return RetrievedDocuments(
            segment_offsets(np.bincount(topic, minlength=len(self))),
            rank[order],
            group - self.groups[topic],
            group,
            self.level[order],
            self.sampling_weight[order],
        )


@dataclass(frozen=True, eq=False)
class RetrievedDocuments:
    """Retrieved documents of a sampled pool.

    ``rank`` and ``grade`` are those of each document, ``stratum`` its stratum within the topic and
    ``group`` that among all, and ``sampling_weight`` its sampling weight. ``offsets`` are those of
    the topics.
    """

    offsets: IntArray
    rank: IntArray
    stratum: IntArray
    group: IntArray
    grade: FloatArray
    sampling_weight: FloatArray

    def sum_by_topic(self, values: npt.NDArray[Any]) -> FloatArray:
        """Sum a value per document within each topic."""
        return segment_sum(values, self.offsets)

    def sum_above(self, values: npt.NDArray[Any]) -> FloatArray:
        """Sum a value over the documents ranked above each document."""
        return np.asarray(running_sum(values, self.offsets) - values)
