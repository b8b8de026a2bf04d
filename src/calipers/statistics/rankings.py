"""Ranks and grades of the judged documents of each topic in a ranking."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from calipers.caching import cached, cached_property
from calipers.lazy_dataclasses import dataclass
from calipers.lazy_imports import numpy as np
from calipers.statistics.base import FloatArray, IntArray, Statistic
from calipers.statistics.confusion import ConfusionMatrix

if TYPE_CHECKING:
    import numpy.typing as npt
    from typing_extensions import Self

#: Fields with an entry for each judged document.
_DOCUMENT_FIELDS = ("rank", "grade", "tied_from", "tied_to")

#: Largest number of documents of a block of several topics; arrays of as many numbers fit into the
#: cache of a processor.
_MAX_BLOCK_DOCUMENTS = 1 << 17


@dataclass(frozen=True, eq=False)
class JudgedRankings(Statistic):
    """Judged documents of each topic: their numbers by grade, and the ranks of the retrieved ones.

    Parameters
    ----------
    topics : tuple of str
        Names of the T topics, in bytewise order.
    retrieved : ndarray of shape (T,)
        Number of retrieved documents of each topic.
    judged_offsets : ndarray of shape (T + 1,)
        Offsets of the topics in ``judged_grade`` and ``judged_count``.
    judged_grade : ndarray of shape (L,)
        Distinct grades of the judged documents, descending within a topic.
    judged_count : ndarray of shape (L,)
        Number of judged documents of each grade.
    offsets : ndarray of shape (T + 1,)
        Offsets of the topics in the following arrays.
    rank : ndarray of shape (D,)
        Rank of each judged document that was retrieved, from 1, ascending within a topic.
    grade : ndarray of shape (D,)
        Grade of each. A negative grade marks a document that was pooled but not judged, as in
        trec_eval.
    tied_from, tied_to : ndarray of shape (D,)
        First and last rank of the documents of the same score.
    averaged : bool, default=False
        Whether documents of the same score have each of their common ranks with equal probability.
    """

    topics: tuple[str, ...]
    retrieved: IntArray
    judged_offsets: IntArray
    judged_grade: IntArray
    judged_count: IntArray
    offsets: IntArray
    rank: IntArray
    grade: IntArray
    tied_from: IntArray
    tied_to: IntArray
    averaged: bool = False

    @classmethod
    def from_rankings(
        cls, rankings: Sequence[Sequence[int]], unretrieved: Sequence[Sequence[int]] | None = None
    ) -> Self:
        """Create the statistic of fully judged rankings without ties.

        Parameters
        ----------
        rankings : sequence of sequence of int
            Grades of the documents of each topic, best document first.
        unretrieved : sequence of sequence of int, optional
            Grades of the judged documents that each ranking misses. By default there are none.

        Returns
        -------
        JudgedRankings
            Statistic of the rankings.
        """
        unretrieved = unretrieved if unretrieved is not None else [[] for _ in rankings]
        grade_counts = [
            np.unique(np.asarray([*ranking, *unretrieved_grades], np.int64), return_counts=True)
            for ranking, unretrieved_grades in zip(rankings, unretrieved, strict=True)
        ]
        rank = _concat_integers([np.arange(1, len(ranking) + 1) for ranking in rankings])
        return cls(
            tuple(str(i + 1) for i in range(len(rankings))),
            np.array([len(ranking) for ranking in rankings], np.int64),
            segment_offsets([len(grades) for grades, _ in grade_counts]),
            _concat_integers([grades[::-1] for grades, _ in grade_counts]),
            _concat_integers([counts[::-1] for _, counts in grade_counts]),
            segment_offsets([len(ranking) for ranking in rankings]),
            rank,
            _concat_integers([np.asarray(ranking) for ranking in rankings]),
            rank,
            rank,
        )

    def __len__(self) -> int:
        return len(self.topics)

    @property
    def n_grades(self) -> IntArray:
        """Number of distinct grades of the judged documents of each topic."""
        return np.diff(self.judged_offsets)

    def __add__(self, other: Self) -> Self:
        """Return the topics of both; a topic may occur in one of them only."""
        topics, order = concat_topics(self.topics, other.topics)
        merged = replace(
            self,
            topics=topics,
            judged_offsets=concat_offsets(self.judged_offsets, other.judged_offsets),
            offsets=concat_offsets(self.offsets, other.offsets),
            **concat_fields(
                self, other, "retrieved", "judged_grade", "judged_count", *_DOCUMENT_FIELDS
            ),
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
        JudgedRankings
            Statistic of these topics.
        """
        topic_indices = np.arange(len(self))[topics]
        judged_offsets, judged_rows = take_segments(self.judged_offsets, topic_indices)
        offsets, documents = take_segments(self.offsets, topic_indices)
        return replace(
            self,
            topics=tuple(self.topics[i] for i in topic_indices),
            retrieved=self.retrieved[topic_indices],
            judged_offsets=judged_offsets,
            judged_grade=self.judged_grade[judged_rows],
            judged_count=self.judged_count[judged_rows],
            offsets=offsets,
            **{name: getattr(self, name)[documents] for name in _DOCUMENT_FIELDS},
        )

    def blocks(self) -> Iterator[tuple[slice, Self]]:
        """Divide the topics into blocks whose arrays fit into the cache of a processor.

        Yields
        ------
        tuple of slice and JudgedRankings
            Topics of each block, and their statistic, which shares the memory of this one.
        """
        n_topics, begin = len(self), 0
        if not n_topics:
            yield slice(0, 0), self
        while begin < n_topics:
            stop = int(
                np.searchsorted(self.offsets, self.offsets[begin] + _MAX_BLOCK_DOCUMENTS, "right")
            )
            end = min(max(stop - 1, begin + 1), n_topics)
            yield (
                slice(begin, end),
                (self if end - begin == n_topics else self._slice_topics(begin, end)),
            )
            begin = end

    def _slice_topics(self, begin: int, end: int) -> Self:
        judged_offsets, offsets = (
            self.judged_offsets[begin : end + 1],
            self.offsets[begin : end + 1],
        )
        judged = slice(judged_offsets[0], judged_offsets[-1])
        documents = slice(offsets[0], offsets[-1])
        return replace(
            self,
            topics=self.topics[begin:end],
            retrieved=self.retrieved[begin:end],
            judged_offsets=judged_offsets - judged_offsets[0],
            judged_grade=self.judged_grade[judged],
            judged_count=self.judged_count[judged],
            offsets=offsets - offsets[0],
            **{name: getattr(self, name)[documents] for name in _DOCUMENT_FIELDS},
        )

    @cached_property
    def topic_index(self) -> IntArray:
        """Topic of each retrieved judged document, as an index."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))

    @cached_property
    def tied_topic_mask(self) -> npt.NDArray[np.bool_]:
        """Mask of the topics with retrieved judged documents that are tied with others."""
        mask = np.zeros(len(self), bool)
        mask[self.topic_index[self.tied_from != self.tied_to]] = True
        return mask

    @property
    def tied_topics(self) -> Self:
        """Rankings of the topics with ties."""
        mask = self.tied_topic_mask
        # A cache that holds its owner would be freed late.
        return self if mask.all() else cached(self, "tied topics", lambda: self.take_topics(mask))

    @cached_property
    def untied_topics(self) -> Self:
        """Rankings of the topics without ties, whose documents have one order."""
        untied = replace(self, averaged=False)
        return untied.take_topics(~self.tied_topic_mask) if self.tied_topic_mask.any() else untied

    def within_cutoff(self, cutoff: int | None) -> Self:
        """Select the retrieved judged documents that some order of ties ranks within a cutoff.

        Parameters
        ----------
        cutoff : int or None
            Number of ranks; None for all.

        Returns
        -------
        JudgedRankings
            Statistic in which documents below are not judged.
        """
        if cutoff is None or int(self.tied_from.max(initial=0)) <= cutoff:
            return self
        return cached(self, ("within", cutoff), lambda: self._take_documents_within(cutoff))

    def _take_documents_within(self, cutoff: int) -> Self:
        documents = np.flatnonzero(self.tied_from <= cutoff)
        n_documents = np.bincount(self.topic_index[documents], minlength=len(self))
        fields = {name: getattr(self, name)[documents] for name in _DOCUMENT_FIELDS}
        return replace(self, offsets=segment_offsets(n_documents), **fields)

    def sum_by_topic(self, values: npt.NDArray[Any]) -> FloatArray:
        """Sum a value per retrieved judged document within each topic.

        Parameters
        ----------
        values : ndarray of shape (D,)
            Value of each document.

        Returns
        -------
        ndarray of shape (T,)
            Sum for each topic.
        """
        return np.asarray(np.bincount(self.topic_index, values, len(self)), np.float64)

    def max_by_topic(self, values: FloatArray) -> FloatArray:
        """Return the largest value of a retrieved judged document of each topic.

        Parameters
        ----------
        values : ndarray of shape (D,)
            Value of each document.

        Returns
        -------
        ndarray of shape (T,)
            Largest value for each topic; 0 without documents.
        """
        out = np.zeros(len(self))
        nonempty_mask = np.diff(self.offsets) > 0
        if nonempty_mask.any():
            out[nonempty_mask] = np.maximum.reduceat(values, self.offsets[:-1][nonempty_mask])
        return out

    def n_relevant(self, rel: int = 1) -> FloatArray:
        """Count the relevant documents of each topic.

        Parameters
        ----------
        rel : int, default=1
            Lowest grade of a relevant document.

        Returns
        -------
        ndarray of shape (T,)
            Number of relevant documents.
        """
        return segment_sum(
            np.where(self.judged_grade >= rel, self.judged_count, 0), self.judged_offsets
        )

    def hit_mask(self, rel: int, cutoff: int | None = None) -> npt.NDArray[np.bool_]:
        """Return which retrieved judged documents are relevant (and within the cutoff).

        Parameters
        ----------
        rel : int
            Lowest grade of a relevant document.
        cutoff : int, optional
            Last rank that counts. By default all count.

        Returns
        -------
        ndarray of bool of shape (D,)
            Mask of the documents.
        """
        mask = self.grade >= rel
        return mask if cutoff is None else mask & (self.rank <= cutoff)

    def n_relevant_retrieved(self, rel: int = 1, cutoff: int | None = None) -> FloatArray:
        """Count the relevant documents retrieved for each topic (within the cutoff).

        Parameters
        ----------
        rel : int, default=1
            Lowest grade of a relevant document.
        cutoff : int, optional
            Last rank that counts. By default all count.

        Returns
        -------
        ndarray of shape (T,)
            Number of relevant documents retrieved; its mean over the orders of ties if
            ``averaged``.
        """
        top = self.within_cutoff(cutoff)
        if cutoff is None or not self.averaged:
            return top.sum_by_topic(top.hit_mask(rel, cutoff))
        return top.sum_by_topic(top.hit_mask(rel) * top.map_ranks(lambda rank: rank <= cutoff))

    def confusion(
        self, rel: int = 1, cutoff: int | None = None, collection_size: int | None = None
    ) -> ConfusionMatrix:
        """Compute the confusion matrix of the retrieved set (within the cutoff) for each topic.

        Parameters
        ----------
        rel : int, default=1
            Lowest grade of a relevant document.
        cutoff : int, optional
            Last rank that counts. By default all count.
        collection_size : int, optional
            Number of documents in the collection. Without it, true negatives are unknown: they are
            NaN.

        Returns
        -------
        ConfusionMatrix
            Matrices of retrieved against relevant, with the topics as a leading axis.
        """
        tp = self.n_relevant_retrieved(rel, cutoff)
        retrieved = self.retrieved if cutoff is None else np.minimum(self.retrieved, cutoff)
        fp, fn = retrieved - tp, self.n_relevant(rel) - tp
        tn = np.nan if collection_size is None else collection_size - tp - fp - fn
        return ConfusionMatrix.from_counts(tp, fp, fn, tn)

    def cumulative_sum(self, values: npt.NDArray[Any]) -> FloatArray:
        """Compute the cumulative sum of a value down to each retrieved judged document, inclusive.

        Parameters
        ----------
        values : ndarray of shape (D,)
            Value of each document.

        Returns
        -------
        ndarray of shape (D,)
            Sum over the documents of its topic down to each.
        """
        return running_sum(values, self.offsets)

    def cumulative_hits(self, rel: int) -> FloatArray:
        """Count the relevant documents down to each retrieved judged document, inclusive.

        Parameters
        ----------
        rel : int
            Lowest grade of a relevant document.

        Returns
        -------
        ndarray of shape (D,)
            Number of relevant documents down to each.
        """
        return self.cumulative_sum(self.hit_mask(rel))

    def map_ranks(self, function: Callable[[npt.NDArray[Any]], npt.NDArray[Any]]) -> FloatArray:
        """Evaluate a function of the rank for each retrieved judged document.

        Parameters
        ----------
        function : callable
            Function of an array of ranks.

        Returns
        -------
        ndarray of shape (D,)
            Values; if ``averaged``, their means over the ranks that tied documents share.
        """
        if not self.averaged:
            return np.asarray(function(self.rank), np.float64)
        ranks = np.arange(1, int(self.retrieved.max(initial=0)) + 1)
        running = np.concatenate([[0.0], np.cumsum(function(ranks), dtype=np.float64)])
        starts, lengths = self._tied_blocks
        first, last = self.tied_from[starts] - 1, self.tied_to[starts]
        means: FloatArray = (running[last] - running[first]) / (last - first)
        return means.repeat(lengths)

    @cached_property
    def _tied_blocks(self) -> tuple[IntArray, IntArray]:
        """Index of the first of the retrieved judged documents of each score, and their number."""
        is_start = np.ones(len(self.rank), bool)
        is_start[1:] = self.tied_from[1:] != self.tied_from[:-1]
        is_start[self.offsets[:-1][np.diff(self.offsets) > 0]] = True
        starts = np.flatnonzero(is_start)
        return starts, np.diff(starts, append=len(is_start))

    def count_tied_hits(self, rel: int) -> tuple[FloatArray, FloatArray]:
        """Return :meth:`count_ties` of the relevant documents.

        Parameters
        ----------
        rel : int
            Lowest grade of a relevant document.

        Returns
        -------
        above : ndarray of shape (D,)
            Number of relevant documents with a higher score.
        tied : ndarray of shape (D,)
            Number of relevant documents with the same score.
        """
        return cached(self, ("tied hits", rel), lambda: self.count_ties(self.hit_mask(rel)))

    def count_ties(self, mask: npt.NDArray[np.bool_]) -> tuple[FloatArray, FloatArray]:
        """Count the marked documents that are ranked above each document, and those tied with it.

        Parameters
        ----------
        mask : ndarray of bool of shape (D,)
            Retrieved judged documents to count.

        Returns
        -------
        above : ndarray of shape (D,)
            Number of the marked documents with a higher score.
        tied : ndarray of shape (D,)
            Number of the marked documents with the same score.
        """
        starts, sizes = self._tied_blocks
        so_far = self.cumulative_sum(mask)
        n_above = so_far[starts] - mask[starts]
        n_tied = so_far[starts + sizes - 1] - n_above
        return np.repeat(n_above, sizes), np.repeat(n_tied, sizes)

    def tied_across_mask(self, cutoff: int) -> npt.NDArray[np.bool_]:
        """Return which retrieved judged documents are tied across a cutoff.

        Their score occurs on both sides of it.

        Parameters
        ----------
        cutoff : int
            Rank of the cutoff.

        Returns
        -------
        ndarray of bool of shape (D,)
            Mask of the documents.
        """
        return (self.tied_from <= cutoff) & (cutoff < self.tied_to)

    def average_ties(self) -> Self:
        """Return the same rankings, averaged over the orders of tied documents.

        Returns
        -------
        JudgedRankings
            Rankings of which measures are expected values over these orders.
        """
        return replace(self, averaged=True)

    def tie_all(self) -> Self:
        """Return the same documents with equal scores, so that every order is equally likely.

        Returns
        -------
        JudgedRankings
            Rankings in which all retrieved documents of a topic are tied.
        """
        last = np.repeat(self.retrieved, np.diff(self.offsets))
        first = np.broadcast_to(np.int64(1), last.shape)
        return replace(self, tied_from=first, tied_to=last, averaged=True)

    def reorder_ties(self, *, best_first: bool) -> Self:
        """Return the rankings with tied documents sorted by grade.

        Parameters
        ----------
        best_first : bool
            Whether grades descend, with unjudged documents last, or ascend, with these first.

        Returns
        -------
        JudgedRankings
            Rankings with tied documents in this order.
        """
        sign = -1 if best_first else 1
        order = np.lexsort((sign * self.grade, self.tied_from, self.topic_index))
        block_key = np.stack([self.topic_index, self.tied_from], axis=1)
        is_block_start = np.ones(len(order), bool)
        is_block_start[1:] = (block_key[1:] != block_key[:-1]).any(axis=1)
        first = np.flatnonzero(is_block_start)
        size = np.diff(np.concatenate([first, [len(order)]]))
        offset = np.arange(len(order)) - np.repeat(first, size)
        top = self.tied_from if best_first else self.tied_to + 1 - np.repeat(size, size)
        return replace(self, rank=top + offset, grade=self.grade[order], averaged=False)

    def truncate(self, depth: int) -> Self:
        """Return the rankings without the documents below a rank.

        Parameters
        ----------
        depth : int
            Last rank to keep.

        Returns
        -------
        JudgedRankings
            Truncated rankings, with the same judgments.
        """
        retained_mask = self.rank <= depth
        return replace(
            self,
            retrieved=np.minimum(self.retrieved, depth),
            offsets=segment_offsets(
                np.bincount(self.topic_index[retained_mask], minlength=len(self))
            ),
            rank=self.rank[retained_mask],
            grade=self.grade[retained_mask],
            tied_from=self.tied_from[retained_mask],
            tied_to=np.minimum(self.tied_to[retained_mask], depth),
        )

    def condense(self) -> Self:
        """Return the condensed rankings, without unjudged documents.

        Returns
        -------
        JudgedRankings
            Rankings of the judged documents, which move up to the ranks of unjudged ones.
        """
        judged_mask = self.grade >= 0
        topic = self.topic_index[judged_mask]
        offsets = segment_offsets(np.bincount(topic, minlength=len(self)))
        n_above, tied = self.count_ties(judged_mask)
        n_judged_above = n_above[judged_mask].astype(np.int64)
        return replace(
            self,
            retrieved=np.diff(offsets),
            offsets=offsets,
            rank=np.arange(len(topic)) - offsets[topic] + 1,
            grade=self.grade[judged_mask],
            tied_from=n_judged_above + 1,
            tied_to=n_judged_above + tied[judged_mask].astype(np.int64),
        )

    def with_unjudged(self) -> Self:
        """Return the rankings with every retrieved document in them.

        A document that the judgments do not name has the grade −1, one that they name with any
        negative grade has −2.

        Returns
        -------
        JudgedRankings
            Rankings with an entry for each retrieved document.
        """
        offsets = segment_offsets(self.retrieved)
        rank = np.arange(offsets[-1]) - np.repeat(offsets[:-1], self.retrieved) + 1
        indices = offsets[:-1][self.topic_index] + self.rank - 1
        grade = np.full(len(rank), -1)
        grade[indices] = np.where(self.grade < 0, -2, self.grade)
        # A block of tied documents shares its ranks, with those that are unjudged too.
        is_block_start = np.ones(len(self.rank), bool)
        is_block_start[1:] = (np.diff(self.tied_from) != 0) | (np.diff(self.topic_index) != 0)
        first, last = self.tied_from[is_block_start], self.tied_to[is_block_start]
        block_offsets = segment_offsets(last - first + 1)
        start = offsets[:-1][self.topic_index[is_block_start]] + first - 1 - block_offsets[:-1]
        block_rows = np.repeat(start, np.diff(block_offsets)) + np.arange(block_offsets[-1])
        tied_from, tied_to = rank.copy(), rank.copy()
        tied_from[block_rows] = np.repeat(first, np.diff(block_offsets))
        tied_to[block_rows] = np.repeat(last, np.diff(block_offsets))
        return replace(
            self, offsets=offsets, rank=rank, grade=grade, tied_from=tied_from, tied_to=tied_to
        )

    def sum_to_rank(self, values: npt.NDArray[Any], topic: IntArray, rank: IntArray) -> FloatArray:
        """Sum a value over the retrieved judged documents down to given ranks.

        Parameters
        ----------
        values : ndarray of shape (D,)
            Value of each document.
        topic, rank : ndarray of shape (n,)
            Pairs of a topic, as an index, and a rank.

        Returns
        -------
        ndarray of shape (n,)
            Sum for each pair.
        """
        base = int(self.retrieved.max(initial=0)) + 1
        stops = np.searchsorted(
            self.topic_index * base + self.rank, topic * base + np.minimum(rank, base - 1), "right"
        )
        running = running_sum(values, self.offsets)
        out = np.zeros(len(stops))
        nonempty_mask = stops > self.offsets[topic]
        out[nonempty_mask] = running[stops[nonempty_mask] - 1]
        return out

    @property
    def max_grade(self) -> IntArray:
        """Highest grade that was given in each topic; -1 if no document is judged."""
        first, last = self.judged_offsets[:-1], self.judged_offsets[1:]
        # With one more at the end, for topics there that have none.
        return np.where(first < last, np.append(self.judged_grade, -1)[first], -1)

    def relevance_strings(self, length: int) -> list[bytes]:
        """Format the relevance of the first documents of each topic, with a character for each.

        Parameters
        ----------
        length : int
            Largest number of documents.

        Returns
        -------
        list of bytes
            Strings of grades: ``>`` for a grade above 9, ``-`` for a document that the judgments do
            not name, ``.`` for one that they name with a negative grade.
        """
        length = max(min(length, int(self.retrieved.max(initial=0))), 0)
        included_mask = self.rank <= length
        grade = self.grade[included_mask]
        grid = np.full((len(self), length), ord("-"), np.uint8)
        grid[self.topic_index[included_mask], self.rank[included_mask] - 1] = np.select(
            [grade < 0, grade > 9], [ord("."), ord(">")], ord("0") + grade
        )
        stops = np.minimum(self.retrieved, length).tolist()
        return [row[:end].tobytes() for row, end in zip(grid, stops, strict=True)]

    def ideal_lengths(self, gain: FloatArray) -> IntArray:
        """Return the length of the ideal ranking of each topic, without making it.

        Parameters
        ----------
        gain : ndarray of shape (L,)
            Gain of each of the judged grades (``judged_grade``).

        Returns
        -------
        ndarray of shape (T,)
            Number of judged documents with a positive gain.
        """
        n_gaining = np.where(gain > 0, self.judged_count, 0)
        return segment_sum(n_gaining, self.judged_offsets).astype(np.int64)

    def ideal_rankings(self, gain: FloatArray) -> IdealRankings:
        """Return the ideal rankings of the judged documents, by descending gain.

        Parameters
        ----------
        gain : ndarray of shape (L,)
            Gain of each of the judged grades (``judged_grade``).

        Returns
        -------
        IdealRankings
            Documents with a positive gain.
        """
        topic = np.repeat(np.arange(len(self)), np.diff(self.judged_offsets))
        count = np.where(gain > 0, self.judged_count, 0)
        # Grades descend, and gains mostly do so too.
        if ((gain[1:] > gain[:-1]) & (topic[1:] == topic[:-1])).any():
            order = np.lexsort((-gain, topic))
            gain, count = gain[order], count[order]
        length = np.bincount(topic, count, minlength=len(self)).astype(np.int64)
        offsets = segment_offsets(length)
        rank = np.arange(offsets[-1]) - np.repeat(offsets[:-1], length) + 1
        return IdealRankings(offsets, np.repeat(gain, count), rank)


@dataclass(frozen=True, eq=False)
class IdealRankings:
    """Ideal rankings: the gains of each topic, descending.

    ``offsets`` are those of the topics in ``gain`` and ``rank``.
    """

    offsets: IntArray
    gain: FloatArray
    rank: IntArray

    @property
    def lengths(self) -> IntArray:
        """Length of the ideal ranking of each topic."""
        return np.diff(self.offsets)

    def sum_by_topic(self, values: npt.NDArray[Any]) -> FloatArray:
        """Sum a value per document within each topic."""
        return segment_sum(values, self.offsets)

    def sum_to_rank(self, values: npt.NDArray[Any], topic: IntArray, rank: IntArray) -> FloatArray:
        """Sum a value over the documents down to given ranks, for pairs of a topic and a rank."""
        running = running_sum(values, self.offsets)
        last = np.minimum(rank, self.lengths[topic])
        out = np.zeros(len(last))
        out[last > 0] = running[(self.offsets[topic] + last - 1)[last > 0]]
        return out


def concat_topics(
    first: tuple[str, ...], second: tuple[str, ...]
) -> tuple[tuple[str, ...], IntArray]:
    """Concatenate the topics of two parts, and return their bytewise order too.

    A topic may occur in one part only.
    """
    common = set(first) & set(second)
    if common:
        raise ValueError(f"topic {min(common)!r} occurs in both statistics")
    topics = first + second
    order = sorted(range(len(topics)), key=lambda i: topics[i].encode("utf-8", "surrogatepass"))
    return topics, np.array(order, np.int64)


def concat_fields(first: Any, second: Any, *names: str) -> dict[str, Any]:
    """Concatenate the named arrays of both, the first before the second."""
    return {
        name: np.concatenate([getattr(statistic, name) for statistic in (first, second)])
        for name in names
    }


def segment_offsets(sizes: npt.ArrayLike) -> IntArray:
    """Return the offsets in a flat array of segments of these sizes."""
    return np.concatenate([[0], np.cumsum(np.asarray(sizes, np.int64))]).astype(np.int64)


def _concat_integers(arrays: Sequence[npt.NDArray[Any]]) -> IntArray:
    return np.concatenate([np.zeros(0, np.int64), *arrays]).astype(np.int64)


def concat_offsets(first: IntArray, second: IntArray) -> IntArray:
    """Return the offsets of two concatenated flat arrays."""
    return np.concatenate([first, second[1:] + first[-1]])


def take_segments(offsets: IntArray, segment_indices: IntArray) -> tuple[IntArray, IntArray]:
    """Return new offsets, and the flat indices of the selected segments."""
    size = np.diff(offsets)[segment_indices]
    out = segment_offsets(size)
    return out, np.repeat(offsets[:-1][segment_indices] - out[:-1], size) + np.arange(out[-1])


def segment_sum(values: npt.NDArray[Any], offsets: IntArray) -> FloatArray:
    """Sum values within segments, from first to last.

    Each sum depends on its own values alone, bit for bit. (Differences of a running total would
    not: it carries rounding from topic to topic. Another order of summation would occasionally
    round the fourth digit differently from other programs.)
    """
    segment = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    return np.asarray(np.bincount(segment, values, len(offsets) - 1), np.float64)


def running_sum(values: npt.NDArray[Any], offsets: IntArray) -> FloatArray:
    """Compute cumulative sums within segments; each depends on its own segment, bit for bit."""
    if values.dtype.kind in "bi":
        running = np.concatenate([[0], np.cumsum(values)])
        sums_before = np.repeat(running[offsets[:-1]], np.diff(offsets))
        return np.asarray(running[1:] - sums_before, np.float64)
    out = np.array(values, np.float64)
    for first, last in pairwise(offsets):
        np.cumsum(out[first:last], out=out[first:last])
    return out


def running_product(values: FloatArray, offsets: IntArray) -> FloatArray:
    """Compute cumulative products within segments."""
    out = np.array(values, np.float64)
    for first, last in pairwise(offsets):
        np.cumprod(out[first:last], out=out[first:last])
    return out
