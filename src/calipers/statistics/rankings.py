"""What a ranking did with the judged documents of each topic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from calipers.statistics.base import FloatArray, IntArray, Statistic
from calipers.statistics.confusion import ConfusionMatrix

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(frozen=True, eq=False)
class JudgedRankings(Statistic):
    """Per topic: how many documents were retrieved, how many are judged at each grade, and of each
    judged document that was retrieved its rank, its grade and the ranks it shares with documents
    of equal score.

    Topics stand in bytewise order. ``offsets`` (T+1) cuts the flat arrays ``rank``, ``grade``,
    ``tied_from`` and ``tied_to`` into topics, documents in rank order; ``judged_offsets`` cuts
    ``judged_grade`` (descending within a topic) and ``judged_count``. Ranks start at 1. A negative
    grade marks a document that was pooled but not judged, as trec_eval has it.
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
        rank = _joined([np.arange(1, len(got) + 1) for got in rankings])
        return cls(
            tuple(str(i + 1) for i in range(len(rankings))),
            np.array([len(got) for got in rankings], np.int64),
            _offsets([len(grades) for grades, _ in levels]),
            _joined([grades[::-1] for grades, _ in levels]),
            _joined([counts[::-1] for _, counts in levels]),
            _offsets([len(got) for got in rankings]),
            rank,
            _joined([np.asarray(got) for got in rankings]),
            rank,
            rank,
        )

    def __len__(self) -> int:
        return len(self.topics)

    def __add__(self, other: Self) -> Self:
        """The topics of both; a topic may stand in one only."""
        both = set(self.topics) & set(other.topics)
        if both:
            raise ValueError(f"topic {min(both)!r} stands in both parts")
        topics = self.topics + other.topics
        joined = type(self)(
            topics,
            np.concatenate([self.retrieved, other.retrieved]),
            _chained(self.judged_offsets, other.judged_offsets),
            np.concatenate([self.judged_grade, other.judged_grade]),
            np.concatenate([self.judged_count, other.judged_count]),
            _chained(self.offsets, other.offsets),
            *(
                np.concatenate([getattr(self, name), getattr(other, name)])
                for name in ("rank", "grade", "tied_from", "tied_to")
            ),
        )
        order = sorted(range(len(topics)), key=lambda i: topics[i].encode("utf-8", "surrogatepass"))
        return joined.take(np.array(order, np.int64))

    def take(self, topics: npt.NDArray[Any]) -> Self:
        """The topics at these positions, in this order."""
        picked = np.arange(len(self))[topics]
        judged_offsets, judged = _segments(self.judged_offsets, picked)
        offsets, documents = _segments(self.offsets, picked)
        return type(self)(
            tuple(self.topics[i] for i in picked),
            self.retrieved[picked],
            judged_offsets,
            self.judged_grade[judged],
            self.judged_count[judged],
            offsets,
            self.rank[documents],
            self.grade[documents],
            self.tied_from[documents],
            self.tied_to[documents],
        )

    @cached_property
    def topic(self) -> IntArray:
        """The topic's position, for each retrieved judged document."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))

    def sum(self, values: npt.NDArray[Any]) -> FloatArray:
        """Per topic, the sum of a value per retrieved judged document."""
        return _segment_sum(values, self.offsets)

    def max(self, values: FloatArray) -> FloatArray:
        """Per topic, the largest value of a retrieved judged document, 0 where there is none."""
        out = np.zeros(len(self))
        filled = np.diff(self.offsets) > 0
        if filled.any():
            out[filled] = np.maximum.reduceat(values, self.offsets[:-1][filled])
        return out

    def relevant(self, rel: int = 1) -> FloatArray:
        """Per topic, how many documents are judged ``rel`` or better."""
        return _segment_sum(
            np.where(self.judged_grade >= rel, self.judged_count, 0), self.judged_offsets
        )

    def hits(self, rel: int, cutoff: int | None = None) -> npt.NDArray[np.bool_]:
        """Whether each retrieved judged document is relevant (and within the cutoff)."""
        hit = self.grade >= rel
        return hit if cutoff is None else hit & (self.rank <= cutoff)

    def relevant_retrieved(self, rel: int = 1, cutoff: int | None = None) -> FloatArray:
        """Per topic, how many relevant documents were retrieved (within the cutoff)."""
        return self.sum(self.hits(rel, cutoff))

    def confusion(
        self, rel: int = 1, cutoff: int | None = None, collection: int | None = None
    ) -> ConfusionMatrix:
        """Per topic, the retrieved set (within the cutoff) against the relevant documents.

        Without the size of the collection nothing is known of true negatives: they are NaN.
        """
        tp = self.relevant_retrieved(rel, cutoff)
        retrieved = self.retrieved if cutoff is None else np.minimum(self.retrieved, cutoff)
        fp, fn = retrieved - tp, self.relevant(rel) - tp
        tn = np.nan if collection is None else collection - tp - fp - fn
        return ConfusionMatrix.from_counts(tp, fp, fn, tn)

    def hits_so_far(self, rel: int) -> IntArray:
        """For each retrieved judged document: how many relevant ones down to it and with it."""
        running = np.concatenate([[0], np.cumsum(self.hits(rel))])
        return np.asarray(running[1:] - running[self.offsets[self.topic]])

    @cached_property
    def ideal(self) -> tuple[IntArray, IntArray, IntArray]:
        """Offsets, grades and ranks of the ideal list: all judged documents, best grade first."""
        grades = np.repeat(self.judged_grade, self.judged_count)
        size = _segment_sum(self.judged_count, self.judged_offsets).astype(np.int64)
        offsets = _offsets(size)
        return offsets, grades, np.arange(len(grades)) - np.repeat(offsets[:-1], size) + 1

    def ideal_sum(self, values: npt.NDArray[Any]) -> FloatArray:
        """Per topic, the sum of a value per document of the ideal list."""
        return _segment_sum(values, self.ideal[0])


def _offsets(sizes: npt.ArrayLike) -> IntArray:
    return np.concatenate([[0], np.cumsum(np.asarray(sizes, np.int64))]).astype(np.int64)


def _joined(parts: Sequence[npt.NDArray[Any]]) -> IntArray:
    return np.concatenate([np.zeros(0, np.int64), *parts]).astype(np.int64)


def _chained(first: IntArray, second: IntArray) -> IntArray:
    return np.concatenate([first, second[1:] + first[-1]])


def _segments(offsets: IntArray, picked: IntArray) -> tuple[IntArray, IntArray]:
    """New offsets, and the flat positions of the picked segments."""
    size = np.diff(offsets)[picked]
    out = _offsets(size)
    return out, np.repeat(offsets[:-1][picked] - out[:-1], size) + np.arange(out[-1])


def _segment_sum(values: npt.NDArray[Any], offsets: IntArray) -> FloatArray:
    """Sums within segments; each depends on its own values alone, bit for bit.

    (A running total and its differences would not: it carries rounding from topic to topic.)
    """
    out = np.zeros(len(offsets) - 1)
    filled = np.diff(offsets) > 0
    if filled.any():
        out[filled] = np.add.reduceat(values.astype(np.float64), offsets[:-1][filled])
    return out
