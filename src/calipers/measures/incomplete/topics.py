"""Some topics with what is known of their documents, and what may be."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from calipers.lazily import numpy as np
from calipers.once import cached_property
from calipers.statistics import FloatArray, IntArray, JudgedRankings
from calipers.statistics.rankings import ends_of, segment_sum

if TYPE_CHECKING:
    import numpy.typing as npt

BoolArray: TypeAlias = "npt.NDArray[np.bool_]"

#: A bound on the unfound documents that is larger is taken for none.
MOST_UNFOUND = 1_000_000

#: In the place of a grade.
UNKNOWN, _NONE = -1, -2


@dataclass(frozen=True, eq=False)
class Block:
    """Some topics: a row each, a column a rank. ``grade`` is negative where it is unknown and where
    nothing was retrieved; ``unfound`` documents of each may be relevant and were not retrieved."""

    ranking: JudgedRankings
    grade: IntArray
    unfound: FloatArray
    top: int
    kept: dict[tuple[int, int | None], Seen] = field(default_factory=dict)

    @classmethod
    def of(cls, r: JudgedRankings, unfound: float, top: int, collection: int | None) -> Block:
        """Lay the topics out."""
        width = int(r.retrieved.max(initial=0))
        grade = np.where(np.arange(width) < r.retrieved[:, None], UNKNOWN, _NONE)
        grade[r.topic, r.rank - 1] = np.maximum(r.grade, UNKNOWN)
        known = r.grade >= 0
        judged = segment_sum(np.where(r.judged_grade >= 0, r.judged_count, 0), r.judged_offsets)
        pooled = segment_sum(np.where(r.judged_grade < 0, r.judged_count, 0), r.judged_offsets)
        most = np.full(len(r), float(unfound))
        if collection is not None:
            rest = collection - r.retrieved - (judged - r.sum(known))
            most = np.where(rest <= MOST_UNFOUND, np.minimum(most, rest), most)
        return cls(r, grade, np.maximum(most, pooled - r.sum(~known)), top)

    def seen(self, rel: int, cutoff: int | None) -> Seen:
        """What there is to a measure of relevant documents (within the cutoff)."""
        if (rel, cutoff) not in self.kept:
            self.kept[rel, cutoff] = self._look(rel, cutoff)
        return self.kept[rel, cutoff]

    def _look(self, rel: int, cutoff: int | None) -> Seen:
        grade = self.grade[:, :cutoff]
        unknown = grade == UNKNOWN
        outside = (self.grade == UNKNOWN).sum(axis=1) - unknown.sum(axis=1) + self.unfound
        if rel > self.top:  # no unknown document can be relevant
            unknown, outside = np.zeros_like(unknown), np.zeros(len(grade))
        return Seen(grade >= rel, unknown, self.ranking.relevant(rel), outside)

    def completed(self, found: BoolArray, unfound: FloatArray, top: int) -> JudgedRankings:
        """The judgments with the grade ``top`` for the retrieved documents ``found`` and for so
        many unretrieved ones; ranks beyond the columns of ``found`` are left out.

        Infinitely many make for infinite counts, which measures of counts take as they are.
        """
        r = self.ranking
        listed = np.where(found, top, self.grade[:, : found.shape[1]])
        at = listed >= 0
        rank = np.nonzero(at)[1] + 1
        more = found.sum(axis=1) + unfound
        new = np.flatnonzero(more)
        topic = np.concatenate([np.repeat(np.arange(len(r)), np.diff(r.judged_offsets)), new])
        judged = np.concatenate([r.judged_grade, np.full(len(new), top)])
        count = np.concatenate([r.judged_count, more[new]])
        order = np.lexsort((-judged, topic))
        return JudgedRankings(
            r.topics,
            r.retrieved,
            r.judged_offsets + ends_of(more > 0),
            judged[order],
            count[order],
            ends_of(at.sum(axis=1)),
            rank,
            listed[at],
            rank,
            rank,
        )


@dataclass(frozen=True, eq=False)
class Seen:
    """By topic and rank, which documents are relevant and which unknown; by topic, how many known
    documents are relevant, and how many unknown ones there are elsewhere."""

    hit: BoolArray
    unknown: BoolArray
    relevant: FloatArray
    outside: FloatArray

    @cached_property
    def rank(self) -> FloatArray:
        """The rank of each column."""
        return np.arange(1.0, self.hit.shape[1] + 1)

    @cached_property
    def hits(self) -> FloatArray:
        """Relevant documents down to each rank and with it."""
        return np.cumsum(self.hit, axis=1, dtype=np.float64)

    @cached_property
    def topmost(self) -> FloatArray:
        """Unknown documents from the top down to each rank and with it."""
        return np.cumsum(self.unknown, axis=1, dtype=np.float64)

    @cached_property
    def bottommost(self) -> FloatArray:
        """Unknown documents from the bottom up to each rank and with it."""
        return upwards(self.unknown.astype(np.float64))


def upwards(values: FloatArray) -> FloatArray:
    """Running sums over the ranks from the last one up."""
    return np.cumsum(values[:, ::-1], axis=1)[:, ::-1]


def last(running: FloatArray) -> FloatArray:
    """The last of running sums over the ranks."""
    return running[:, -1] if running.shape[1] else np.zeros(len(running))


def ratio(above: FloatArray, below: FloatArray) -> FloatArray:
    """The quotient, NaN for 0/0; nothing over infinitely much is 0."""
    return np.where(below > 0, above / below, np.nan)
