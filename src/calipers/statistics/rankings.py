"""What a ranking did with the judged documents of each topic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from calipers.caching import cached_property
from calipers.lazy_imports import numpy as np
from calipers.statistics.base import FloatArray, IntArray, Statistic
from calipers.statistics.confusion import ConfusionMatrix

if TYPE_CHECKING:
    import numpy.typing as npt
    from typing_extensions import Self

#: What is known of each judged document.
_DOCUMENTS = ("rank", "grade", "tied_from", "tied_to")


@dataclass(frozen=True, eq=False)
class JudgedRankings(Statistic):
    """Per topic: how many documents were retrieved, how many are judged at each grade, and of each
    judged document that was retrieved its rank, its grade and the ranks it shares with documents
    of equal score.

    Topics stand in bytewise order. ``offsets`` (T+1) cuts the flat arrays ``rank``, ``grade``,
    ``tied_from`` and ``tied_to`` into topics, documents in rank order; ``judged_offsets`` cuts
    ``judged_grade`` (descending within a topic) and ``judged_count``. Ranks start at 1. A negative
    grade marks a document that was pooled but not judged, as trec_eval has it. Where ``averaged``,
    documents of equal score stand at each of their common ranks with equal probability.
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
        """From the grades of fully judged rankings, best document first, without ties.

        ``unretrieved`` are the grades of the judged documents that a ranking misses.
        """
        unretrieved = unretrieved if unretrieved is not None else [[] for _ in rankings]
        levels = [
            np.unique(np.asarray([*got, *missed], np.int64), return_counts=True)
            for got, missed in zip(rankings, unretrieved, strict=True)
        ]
        rank = _concat_parts([np.arange(1, len(got) + 1) for got in rankings])
        return cls(
            tuple(str(i + 1) for i in range(len(rankings))),
            np.array([len(got) for got in rankings], np.int64),
            segment_offsets([len(grades) for grades, _ in levels]),
            _concat_parts([grades[::-1] for grades, _ in levels]),
            _concat_parts([counts[::-1] for _, counts in levels]),
            segment_offsets([len(got) for got in rankings]),
            rank,
            _concat_parts([np.asarray(got) for got in rankings]),
            rank,
            rank,
        )

    def __len__(self) -> int:
        return len(self.topics)

    def __add__(self, other: Self) -> Self:
        """The topics of both; a topic may stand in one only."""
        topics, order = merge_topics(self.topics, other.topics)
        both = replace(
            self,
            topics=topics,
            judged_offsets=concat_offsets(self.judged_offsets, other.judged_offsets),
            offsets=concat_offsets(self.offsets, other.offsets),
            **concat(self, other, "retrieved", "judged_grade", "judged_count", *_DOCUMENTS),
        )
        return both.take(order)

    def take(self, topics: npt.NDArray[Any]) -> Self:
        """The topics at these positions, in this order."""
        picked = np.arange(len(self))[topics]
        judged_offsets, judged = take_segments(self.judged_offsets, picked)
        offsets, documents = take_segments(self.offsets, picked)
        return replace(
            self,
            topics=tuple(self.topics[i] for i in picked),
            retrieved=self.retrieved[picked],
            judged_offsets=judged_offsets,
            judged_grade=self.judged_grade[judged],
            judged_count=self.judged_count[judged],
            offsets=offsets,
            **{name: getattr(self, name)[documents] for name in _DOCUMENTS},
        )

    @cached_property
    def topic(self) -> IntArray:
        """The topic's position, for each retrieved judged document."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))

    def sum(self, values: npt.NDArray[Any]) -> FloatArray:
        """Per topic, the sum of a value per retrieved judged document."""
        return segment_sum(values, self.offsets)

    def max(self, values: FloatArray) -> FloatArray:
        """Per topic, the largest value of a retrieved judged document, 0 where there is none."""
        out = np.zeros(len(self))
        filled = np.diff(self.offsets) > 0
        if filled.any():
            out[filled] = np.maximum.reduceat(values, self.offsets[:-1][filled])
        return out

    def relevant(self, rel: int = 1) -> FloatArray:
        """Per topic, how many documents are judged ``rel`` or better."""
        return segment_sum(
            np.where(self.judged_grade >= rel, self.judged_count, 0), self.judged_offsets
        )

    def hits(self, rel: int, cutoff: int | None = None) -> npt.NDArray[np.bool_]:
        """Whether each retrieved judged document is relevant (and within the cutoff)."""
        hit = self.grade >= rel
        return hit if cutoff is None else hit & (self.rank <= cutoff)

    def relevant_retrieved(self, rel: int = 1, cutoff: int | None = None) -> FloatArray:
        """Per topic, how many relevant documents were retrieved (within the cutoff); where
        ``averaged``, how many on average."""
        if cutoff is None or not self.averaged:
            return self.sum(self.hits(rel, cutoff))
        return self.sum(self.hits(rel) * self.map_ranks(lambda rank: rank <= cutoff))

    def confusion(
        self, rel: int = 1, cutoff: int | None = None, collection_size: int | None = None
    ) -> ConfusionMatrix:
        """Per topic, the retrieved set (within the cutoff) against the relevant documents.

        Without the size of the collection nothing is known of true negatives: they are NaN.
        """
        tp = self.relevant_retrieved(rel, cutoff)
        retrieved = self.retrieved if cutoff is None else np.minimum(self.retrieved, cutoff)
        fp, fn = retrieved - tp, self.relevant(rel) - tp
        tn = np.nan if collection_size is None else collection_size - tp - fp - fn
        return ConfusionMatrix.from_counts(tp, fp, fn, tn)

    def so_far(self, values: npt.NDArray[Any]) -> FloatArray:
        """For each retrieved judged document: the sum of a value over those of its topic down to
        it, and with it."""
        return running_sum(values, self.offsets)

    def hits_so_far(self, rel: int) -> FloatArray:
        """For each retrieved judged document: how many relevant ones down to it and with it."""
        return self.so_far(self.hits(rel))

    def map_ranks(self, function: Callable[[npt.NDArray[Any]], npt.NDArray[Any]]) -> FloatArray:
        """A function of the rank, for each retrieved judged document; where ``averaged``, its mean
        over the ranks that the document shares."""
        if not self.averaged:
            return np.asarray(function(self.rank), np.float64)
        ranks = np.arange(1, int(self.retrieved.max(initial=0)) + 1)
        running = np.concatenate([[0.0], np.cumsum(function(ranks), dtype=np.float64)])
        shared = self.tied_to - self.tied_from + 1
        return np.asarray((running[self.tied_to] - running[self.tied_from - 1]) / shared)

    def count_ties(self, mask: npt.NDArray[np.bool_]) -> tuple[FloatArray, FloatArray]:
        """For each retrieved judged document: how many of the marked ones have a higher score, and
        how many the same."""
        order = np.arange(len(self.rank))
        new = np.ones(len(order) + 1, bool)
        new[1:-1] = (np.diff(self.tied_from) != 0) | (np.diff(self.topic) != 0)
        first = np.maximum.accumulate(np.where(new[:-1], order, 0))
        last = np.minimum.accumulate(np.where(new[1:], order, len(order))[::-1])[::-1]
        so_far = self.so_far(mask)
        before = (so_far - mask)[first]
        return before, so_far[last] - before

    def ties_across(self, cutoff: int) -> npt.NDArray[np.bool_]:
        """Whether each retrieved judged document shares its score with documents on both sides of a
        cutoff."""
        return (self.tied_from <= cutoff) & (cutoff < self.tied_to)

    def averages(self) -> Self:
        """The same rankings with tied documents at each of their ranks alike."""
        return replace(self, averaged=True)

    def tie_all(self) -> Self:
        """The same documents, each with the same score: every order of them is equally likely."""
        last = np.repeat(self.retrieved, np.diff(self.offsets))
        return replace(self, tied_from=np.ones_like(last), tied_to=last, averaged=True)

    def reorder_ties(self, *, best_first: bool) -> Self:
        """The same rankings with tied documents by descending grade, unjudged ones last; or the
        other way round."""
        sign = -1 if best_first else 1
        order = np.lexsort((sign * self.grade, self.tied_from, self.topic))
        start = np.stack([self.topic, self.tied_from], axis=1)
        new = np.ones(len(order), bool)
        new[1:] = (start[1:] != start[:-1]).any(axis=1)
        first = np.flatnonzero(new)
        size = np.diff(np.concatenate([first, [len(order)]]))
        place = np.arange(len(order)) - np.repeat(first, size)
        top = self.tied_from if best_first else self.tied_to + 1 - np.repeat(size, size)
        return replace(self, rank=top + place, grade=self.grade[order], averaged=False)

    def cut(self, depth: int) -> Self:
        """The same rankings, each without the documents below that rank."""
        kept = self.rank <= depth
        return replace(
            self,
            retrieved=np.minimum(self.retrieved, depth),
            offsets=segment_offsets(np.bincount(self.topic[kept], minlength=len(self))),
            rank=self.rank[kept],
            grade=self.grade[kept],
            tied_from=self.tied_from[kept],
            tied_to=np.minimum(self.tied_to[kept], depth),
        )

    def condense(self) -> Self:
        """The same rankings without unjudged documents, the judged ones moving up."""
        kept = self.grade >= 0
        topic = self.topic[kept]
        offsets = segment_offsets(np.bincount(topic, minlength=len(self)))
        before, tied = self.count_ties(kept)
        above = before[kept].astype(np.int64)
        return replace(
            self,
            retrieved=np.diff(offsets),
            offsets=offsets,
            rank=np.arange(len(topic)) - offsets[topic] + 1,
            grade=self.grade[kept],
            tied_from=above + 1,
            tied_to=above + tied[kept].astype(np.int64),
        )

    def with_unjudged(self) -> Self:
        """The same rankings with every retrieved document in them: a grade of −1 for those that
        the judgments do not name, −2 for those that they name with any negative grade."""
        offsets = segment_offsets(self.retrieved)
        rank = np.arange(offsets[-1]) - np.repeat(offsets[:-1], self.retrieved) + 1
        at = offsets[:-1][self.topic] + self.rank - 1
        grade = np.full(len(rank), -1)
        grade[at] = np.where(self.grade < 0, -2, self.grade)
        # A block of tied documents shares its ranks, with those that are unjudged too.
        new = np.ones(len(self.rank), bool)
        new[1:] = (np.diff(self.tied_from) != 0) | (np.diff(self.topic) != 0)
        first, last = self.tied_from[new], self.tied_to[new]
        block = segment_offsets(last - first + 1)
        start = offsets[:-1][self.topic[new]] + first - 1 - block[:-1]
        inside = np.repeat(start, np.diff(block)) + np.arange(block[-1])
        tied_from, tied_to = rank.copy(), rank.copy()
        tied_from[inside] = np.repeat(first, np.diff(block))
        tied_to[inside] = np.repeat(last, np.diff(block))
        return replace(
            self, offsets=offsets, rank=rank, grade=grade, tied_from=tied_from, tied_to=tied_to
        )

    def sum_to(self, values: npt.NDArray[Any], topic: IntArray, rank: IntArray) -> FloatArray:
        """For each pair of a topic and a rank, the sum of a value over the retrieved judged
        documents down to it."""
        base = int(self.retrieved.max(initial=0)) + 1
        found = np.searchsorted(
            self.topic * base + self.rank, topic * base + np.minimum(rank, base - 1), "right"
        )
        running = running_sum(values, self.offsets)
        out = np.zeros(len(found))
        some = found > self.offsets[topic]
        out[some] = running[found[some] - 1]
        return out

    @property
    def highest_grade(self) -> IntArray:
        """Per topic, the highest grade that was given; -1 where no document is judged."""
        first, last = self.judged_offsets[:-1], self.judged_offsets[1:]
        # With one more at the end, for topics there that have none.
        return np.where(first < last, np.append(self.judged_grade, -1)[first], -1)

    def relevance_strings(self, length: int) -> list[bytes]:
        """Per topic, what the first documents are, a character each: the grade, ``>`` for one above
        9, ``-`` for a document that the judgments do not name, ``.`` for one that they name with a
        negative grade."""
        length = max(min(length, int(self.retrieved.max(initial=0))), 0)
        shown = self.rank <= length
        grade = self.grade[shown]
        grid = np.full((len(self), length), ord("-"), np.uint8)
        grid[self.topic[shown], self.rank[shown] - 1] = np.select(
            [grade < 0, grade > 9], [ord("."), ord(">")], ord("0") + grade
        )
        ends = np.minimum(self.retrieved, length).tolist()
        return [row[:end].tobytes() for row, end in zip(grid, ends, strict=True)]

    def ideal(self, gain: FloatArray) -> IdealRankings:
        """The best list that the judged documents make, given the gain of each of the judged grades
        (``judged_grade``): descending gains, as long as they are positive."""
        topic = np.repeat(np.arange(len(self)), np.diff(self.judged_offsets))
        order = np.lexsort((-gain, topic))
        count = np.where(gain > 0, self.judged_count, 0)[order]
        length = np.bincount(topic, count, minlength=len(self)).astype(np.int64)
        offsets = segment_offsets(length)
        rank = np.arange(offsets[-1]) - np.repeat(offsets[:-1], length) + 1
        return IdealRankings(offsets, np.repeat(gain[order], count), rank)


@dataclass(frozen=True, eq=False)
class IdealRankings:
    """Per topic a list of gains in their best order; ``offsets`` cuts ``gain`` and ``rank``."""

    offsets: IntArray
    gain: FloatArray
    rank: IntArray

    @property
    def length(self) -> IntArray:
        """How long the list of each topic is."""
        return np.diff(self.offsets)

    def sum(self, values: npt.NDArray[Any]) -> FloatArray:
        """Per topic, the sum of a value per document of its list."""
        return segment_sum(values, self.offsets)

    def sum_to(self, values: npt.NDArray[Any], topic: IntArray, rank: IntArray) -> FloatArray:
        """For each pair of a topic and a rank, the sum of a value over the list down to it."""
        running = running_sum(values, self.offsets)
        last = np.minimum(rank, self.length[topic])
        out = np.zeros(len(last))
        out[last > 0] = running[(self.offsets[topic] + last - 1)[last > 0]]
        return out


def merge_topics(
    first: tuple[str, ...], second: tuple[str, ...]
) -> tuple[tuple[str, ...], IntArray]:
    """The topics of two parts one behind the other, and their bytewise order; a topic may stand in
    one part only."""
    both = set(first) & set(second)
    if both:
        raise ValueError(f"topic {min(both)!r} stands in both parts")
    topics = first + second
    order = sorted(range(len(topics)), key=lambda i: topics[i].encode("utf-8", "surrogatepass"))
    return topics, np.array(order, np.int64)


def concat(first: Any, second: Any, *names: str) -> dict[str, Any]:
    """Arrays of both, the first before the second."""
    return {name: np.concatenate([getattr(of, name) for of in (first, second)]) for name in names}


def segment_offsets(sizes: npt.ArrayLike) -> IntArray:
    """Where segments of these sizes begin and end: offsets into a flat array."""
    return np.concatenate([[0], np.cumsum(np.asarray(sizes, np.int64))]).astype(np.int64)


def _concat_parts(parts: Sequence[npt.NDArray[Any]]) -> IntArray:
    return np.concatenate([np.zeros(0, np.int64), *parts]).astype(np.int64)


def concat_offsets(first: IntArray, second: IntArray) -> IntArray:
    """The offsets of two flat arrays put one behind the other."""
    return np.concatenate([first, second[1:] + first[-1]])


def take_segments(offsets: IntArray, picked: IntArray) -> tuple[IntArray, IntArray]:
    """New offsets, and the flat positions of the picked segments."""
    size = np.diff(offsets)[picked]
    out = segment_offsets(size)
    return out, np.repeat(offsets[:-1][picked] - out[:-1], size) + np.arange(out[-1])


def segment_sum(values: npt.NDArray[Any], offsets: IntArray) -> FloatArray:
    """Sums within segments, from the first value to the last; each depends on its own values alone,
    bit for bit.

    (A running total and its differences would not: it carries rounding from topic to topic. Adding
    in another order would now and then round the fourth digit differently from other programs.)
    """
    segment = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    return np.asarray(np.bincount(segment, values, len(offsets) - 1), np.float64)


def running_sum(values: npt.NDArray[Any], offsets: IntArray) -> FloatArray:
    """Running totals within segments; each depends on its own segment alone, bit for bit."""
    if values.dtype.kind in "bi":
        running = np.concatenate([[0], np.cumsum(values)])
        before = np.repeat(running[offsets[:-1]], np.diff(offsets))
        return np.asarray(running[1:] - before, np.float64)
    out = np.array(values, np.float64)
    for first, last in pairwise(offsets):
        np.cumsum(out[first:last], out=out[first:last])
    return out


def running_product(values: FloatArray, offsets: IntArray) -> FloatArray:
    """Running products within segments."""
    out = np.array(values, np.float64)
    for first, last in pairwise(offsets):
        np.cumprod(out[first:last], out=out[first:last])
    return out
