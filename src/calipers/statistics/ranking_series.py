"""Several rankings of the same documents for each topic: of a session, or of a random ranker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from calipers.caching import cached_property
from calipers.lazy_dataclasses import dataclass
from calipers.lazy_imports import numpy as np
from calipers.statistics.base import FloatArray, IntArray, Statistic
from calipers.statistics.rankings import (
    concat_fields,
    concat_offsets,
    concat_topics,
    segment_offsets,
    segment_sum,
    take_segments,
)

if TYPE_CHECKING:
    import numpy.typing as npt
    from typing_extensions import Self


@dataclass(frozen=True, eq=False)
class RankingSeries(Statistic):
    """Rankings of the judged documents of each topic, in a series.

    A topic is a session and its rankings those of the queries, or the rankings are samples of a
    random ranker, or those of two instructions. All have the same judgments.

    Parameters
    ----------
    topics : tuple of str
        Names of the T topics, in bytewise order.
    retrieved : ndarray of shape (T,)
        Number of retrieved documents of each topic, in all of its rankings.
    documents : ndarray of shape (T + 1,)
        Offsets of the topics in ``grade``.
    grade : ndarray of shape (D,)
        Grade of each judged document, in ascending order of ids within a topic.
    rankings : ndarray of shape (T + 1,)
        Offsets of the topics in ``position`` and ``length``.
    position : ndarray of shape (Q,)
        Number of each ranking in the series of its topic, from 1, ascending.
    length : ndarray of shape (Q,)
        Number of documents that the ranking has.
    rank : ndarray of shape (C,)
        For each ranking, the rank of each judged document of the topic; 0 if it is not retrieved.
    """

    topics: tuple[str, ...]
    retrieved: IntArray
    documents: IntArray
    grade: IntArray
    rankings: IntArray
    position: IntArray
    length: IntArray
    rank: IntArray

    @classmethod
    def from_rankings(
        cls,
        series: Sequence[Sequence[Sequence[str]]],
        judgments: Sequence[Mapping[str, int]],
    ) -> Self:
        """Create the statistic of rankings without ties.

        Parameters
        ----------
        series : sequence of sequence of sequence of str
            For each topic the document ids of its rankings, best first.
        judgments : sequence of mapping
            Grades by document for each topic.

        Returns
        -------
        RankingSeries
            Statistic of the rankings.
        """
        ids = [sorted(judged) for judged in judgments]
        ranks: list[int] = []
        for rankings, documents in zip(series, ids, strict=True):
            for ranking in rankings:
                rank_by_document = {document: rank for rank, document in enumerate(ranking, 1)}
                ranks.extend(rank_by_document.get(document, 0) for document in documents)
        sizes = [len(rankings) for rankings in series]
        grades = [
            judged[d] for judged, documents in zip(judgments, ids, strict=True) for d in documents
        ]
        return cls(
            tuple(str(i + 1) for i in range(len(series))),
            np.array([sum(map(len, rankings)) for rankings in series], np.int64),
            segment_offsets([len(documents) for documents in ids]),
            np.array(grades, np.int64),
            segment_offsets(sizes),
            np.array([number for size in sizes for number in range(1, size + 1)], np.int64),
            np.array([len(ranking) for rankings in series for ranking in rankings], np.int64),
            np.array(ranks, np.int64),
        )

    def __len__(self) -> int:
        return len(self.topics)

    def __add__(self, other: Self) -> Self:
        """Return the topics of both; a topic may occur in one of them only."""
        topics, order = concat_topics(self.topics, other.topics)
        merged = type(self)(
            topics,
            documents=concat_offsets(self.documents, other.documents),
            rankings=concat_offsets(self.rankings, other.rankings),
            **concat_fields(self, other, "retrieved", "grade", "position", "length", "rank"),
        )
        return merged.take_topics(order)

    def take_topics(self, topics: npt.NDArray[Any]) -> Self:
        """Select topics, in this order.

        Parameters
        ----------
        topics : ndarray
            Indices of the topics, or a mask.

        Returns
        -------
        RankingSeries
            Statistic of these topics.
        """
        topic_indices = np.arange(len(self))[topics]
        documents, document_rows = take_segments(self.documents, topic_indices)
        rankings, ranking_rows = take_segments(self.rankings, topic_indices)
        cell_rows = take_segments(self.cells, ranking_rows)[1]
        return type(self)(
            tuple(self.topics[i] for i in topic_indices),
            self.retrieved[topic_indices],
            documents,
            self.grade[document_rows],
            rankings,
            self.position[ranking_rows],
            self.length[ranking_rows],
            self.rank[cell_rows],
        )

    @cached_property
    def ranking_topic(self) -> IntArray:
        """Topic of each ranking, as an index."""
        return np.repeat(np.arange(len(self)), np.diff(self.rankings))

    @cached_property
    def document_topic(self) -> IntArray:
        """Topic of each judged document, as an index."""
        return np.repeat(np.arange(len(self)), np.diff(self.documents))

    @cached_property
    def cells(self) -> IntArray:
        """Offsets of the rankings in ``rank``."""
        return segment_offsets(np.diff(self.documents)[self.ranking_topic])

    @cached_property
    def cell_document(self) -> IntArray:
        """Index in ``grade`` of the document of each entry of ``rank``."""
        sizes = np.diff(self.cells)
        starts = self.documents[self.ranking_topic] - self.cells[:-1]
        return np.repeat(starts, sizes) + np.arange(self.cells[-1])

    @property
    def n_rankings(self) -> IntArray:
        """Number of rankings of each topic."""
        return np.diff(self.rankings)

    def sum_by_ranking(self, values: npt.NDArray[Any]) -> FloatArray:
        """Sum a value per judged document within each ranking.

        Parameters
        ----------
        values : ndarray of shape (C,)
            Value of each entry of ``rank``.

        Returns
        -------
        ndarray of shape (Q,)
            Sum for each ranking.
        """
        return segment_sum(values, self.cells)

    def sum_by_topic(self, values: npt.NDArray[Any]) -> FloatArray:
        """Sum a value per ranking within each topic.

        Parameters
        ----------
        values : ndarray of shape (Q,)
            Value of each ranking.

        Returns
        -------
        ndarray of shape (T,)
            Sum for each topic.
        """
        return segment_sum(values, self.rankings)

    def sum_documents(self, values: npt.NDArray[Any]) -> FloatArray:
        """Sum a value per judged document within each topic.

        Parameters
        ----------
        values : ndarray of shape (D,)
            Value of each document.

        Returns
        -------
        ndarray of shape (T,)
            Sum for each topic.
        """
        return segment_sum(values, self.documents)

    def mean_by_document(self, values: FloatArray) -> FloatArray:
        """Compute the mean of a value per judged document over the rankings of its topic.

        Parameters
        ----------
        values : ndarray of shape (C,)
            Value of each entry of ``rank``.

        Returns
        -------
        ndarray of shape (D,)
            Mean for each document; 0 without rankings.
        """
        sums = np.bincount(self.cell_document, values, len(self.grade))
        return np.asarray(sums / np.maximum(self.n_rankings, 1)[self.document_topic], np.float64)

    def ideal_gains(self, gain: FloatArray) -> tuple[FloatArray, IntArray]:
        """Return the gains of the documents of each topic in descending order, and their ranks.

        Parameters
        ----------
        gain : ndarray of shape (D,)
            Gain of each judged document.

        Returns
        -------
        gain : ndarray of shape (D,)
            Gains, descending within a topic.
        rank : ndarray of shape (D,)
            Rank of each in this order, from 1.
        """
        order = np.lexsort((-gain, self.document_topic))
        return gain[order], np.arange(len(order)) - self.documents[self.document_topic] + 1
