"""Rankings of documents that are judged in groups, or by pairwise preferences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from calipers.caching import cached_property
from calipers.lazy_dataclasses import dataclass
from calipers.lazy_imports import numpy as np
from calipers.statistics.base import FloatArray, IntArray, Statistic
from calipers.statistics.rankings import (
    JudgedRankings,
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


#: Fields with an entry for each document.
_DOCUMENT_FIELDS = ("rank", "tied_from", "tied_to")

#: Levels by document.
LevelsByDocument = Mapping[str, float]


@dataclass(frozen=True, eq=False)
class GroupedRankings(Statistic):
    """Retrieved documents of each topic, with the judgments of each group.

    Groups are subtopics, assessors, or sets of preferences. All fields but ``retrieved``, ``rank``,
    ``tied_from`` and ``tied_to`` are the same for every run.

    Parameters
    ----------
    topics : tuple of str
        Names of the T topics, in bytewise order.
    retrieved : ndarray of shape (T,)
        Number of retrieved documents of each topic.
    documents : ndarray of shape (T + 1,)
        Offsets of the topics in ``rank``, ``tied_from`` and ``tied_to``. The documents of a topic
        are all that any group judges, in ascending order of their ids.
    rank : ndarray of shape (D,)
        Rank of each document, from 1; 0 if it was not retrieved.
    tied_from, tied_to : ndarray of shape (D,)
        First and last rank of the documents of the same score.
    groups : ndarray of shape (T + 1,)
        Offsets of the topics in ``group_names``.
    group_names : tuple of str
        Names of the G groups, in bytewise order within a topic.
    judgments : ndarray of shape (G + 1,)
        Offsets of the groups in ``document``, ``block`` and ``level``.
    document : ndarray of shape (J,)
        Document of each judgment, as an index among those of the topic.
    block : ndarray of shape (J,)
        Number of the block of a group of preferences, within which levels can be compared;
        otherwise 0.
    level : ndarray of shape (J,)
        Level, or grade, of the document.
    """

    topics: tuple[str, ...]
    retrieved: IntArray
    documents: IntArray
    rank: IntArray
    tied_from: IntArray
    tied_to: IntArray
    groups: IntArray
    group_names: tuple[str, ...]
    judgments: IntArray
    document: IntArray
    block: IntArray
    level: FloatArray

    #: Fields with an entry for each judgment.
    judgment_fields: ClassVar[tuple[str, ...]] = ("document", "block", "level")
    former_fields: ClassVar[Mapping[str, str]] = {"part": "block"}

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
            Levels by group and document for each topic, ``{"subtopic": {"document": 1}}``; a list
            of mappings of documents for a group of several blocks.

        Returns
        -------
        GroupedRankings
            Statistic of the rankings.
        """
        retrieved, ranks, group_names = [], [], []
        rows: list[list[tuple[int, int, float]]] = []
        for ranking, groups in zip(rankings, judgments, strict=True):
            blocks_by_group = {g: [p] if isinstance(p, Mapping) else p for g, p in groups.items()}
            documents = sorted(
                {
                    d
                    for group_blocks in blocks_by_group.values()
                    for block in group_blocks
                    for d in block
                }
            )
            rank_by_document = {document: i for i, document in enumerate(ranking, 1)}
            retrieved.append(len(ranking))
            ranks.append([rank_by_document.get(document, 0) for document in documents])
            group_names.append(sorted(groups))
            rows.extend(
                [
                    (documents.index(document), block_number, level)
                    for block_number, block in enumerate(blocks_by_group[group])
                    for document, level in sorted(block.items())
                ]
                for group in group_names[-1]
            )
        flat = [row for group in rows for row in group]
        rank = np.array([r for topic in ranks for r in topic], np.int64)
        return cls(
            tuple(str(i + 1) for i in range(len(rankings))),
            np.array(retrieved, np.int64),
            segment_offsets([len(r) for r in ranks]),
            rank,
            rank,
            rank,
            segment_offsets([len(n) for n in group_names]),
            tuple(name for topic in group_names for name in topic),
            segment_offsets([len(group) for group in rows]),
            np.array([document for document, _, _ in flat], np.int64),
            np.array([block for _, block, _ in flat], np.int64),
            np.array([level for _, _, level in flat], np.float64),
        )

    def __len__(self) -> int:
        return len(self.topics)

    def __add__(self, other: Self) -> Self:
        """Return the topics of both; a topic may occur in one of them only."""
        topics, order = concat_topics(self.topics, other.topics)
        merged = type(self)(
            topics,
            documents=concat_offsets(self.documents, other.documents),
            groups=concat_offsets(self.groups, other.groups),
            group_names=self.group_names + other.group_names,
            judgments=concat_offsets(self.judgments, other.judgments),
            **concat_fields(self, other, "retrieved", *_DOCUMENT_FIELDS, *self.judgment_fields),
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
        GroupedRankings
            Statistic of these topics.
        """
        topic_indices = np.arange(len(self))[topics]
        documents, document_rows = take_segments(self.documents, topic_indices)
        groups, group_rows = take_segments(self.groups, topic_indices)
        judgments, rows = take_segments(self.judgments, group_rows)
        document_columns: dict[str, Any] = {
            name: getattr(self, name)[document_rows] for name in _DOCUMENT_FIELDS
        }
        return type(self)(
            tuple(self.topics[i] for i in topic_indices),
            self.retrieved[topic_indices],
            documents=documents,
            groups=groups,
            group_names=tuple(self.group_names[i] for i in group_rows),
            judgments=judgments,
            **document_columns | {name: getattr(self, name)[rows] for name in self.judgment_fields},
        )

    def truncate(self, depth: int) -> Self:
        """Return the rankings without the documents below a rank.

        Parameters
        ----------
        depth : int
            Last rank to keep.

        Returns
        -------
        GroupedRankings
            Truncated rankings, with the same judgments.
        """
        retained_mask = (self.rank > 0) & (self.rank <= depth)
        return replace(
            self,
            retrieved=np.minimum(self.retrieved, depth),
            rank=np.where(retained_mask, self.rank, 0),
            tied_from=np.where(retained_mask, self.tied_from, 0),
            tied_to=np.where(retained_mask, np.minimum(self.tied_to, depth), 0),
        )

    @cached_property
    def group_topic(self) -> IntArray:
        """Topic of each group, as an index."""
        return np.repeat(np.arange(len(self)), np.diff(self.groups))

    @cached_property
    def judgment_group(self) -> IntArray:
        """Group of each judgment, as an index."""
        return np.repeat(np.arange(len(self.group_names)), np.diff(self.judgments))

    def sum_by_topic(self, values: npt.NDArray[Any]) -> FloatArray:
        """Sum a value per group within each topic.

        Parameters
        ----------
        values : ndarray of shape (G,)
            Value of each group.

        Returns
        -------
        ndarray of shape (T,)
            Sum for each topic.
        """
        return segment_sum(values, self.groups)

    def n_relevant_by_group(self, rel: int = 1) -> FloatArray:
        """Count the documents that each group judges relevant.

        Parameters
        ----------
        rel : int, default=1
            Lowest level of a relevant document.

        Returns
        -------
        ndarray of shape (G,)
            Number of relevant documents of each group.
        """
        return segment_sum(self.level >= rel, self.judgments)

    def n_groups_with_relevant(self, rel: int = 1) -> FloatArray:
        """Count the groups with a relevant document, for each topic.

        Parameters
        ----------
        rel : int, default=1
            Lowest level of a relevant document.

        Returns
        -------
        ndarray of shape (T,)
            Number of groups.
        """
        return self.sum_by_topic(self.n_relevant_by_group(rel) > 0)

    @cached_property
    def rank_index(self) -> IntArray:
        """Index in ``rank`` of the document of each judgment."""
        return self.documents[self.group_topic[self.judgment_group]] + self.document

    @cached_property
    def group_rankings(self) -> JudgedRankings:
        """One ranking for each group, as if the group were a topic with its judgments alone.

        Every measure of judged rankings applies to it; their mean over the groups of a topic is
        ``sum_of_groups(…) / np.diff(groups)``.

        Raises
        ------
        ValueError
            If a level is not an integer, or a group has several blocks.
        """
        grade = self.level.astype(np.int64)
        if (grade != self.level).any():
            raise ValueError(f"level {self.level[grade != self.level][0]} is not a whole number")
        if self.block.any():
            raise ValueError("a group has several parts: its levels are preferences, not grades")
        topic, group = self.group_topic, self.judgment_group
        rank = self.rank[self.rank_index]
        order = np.lexsort((rank, group))
        order = order[rank[order] > 0]
        # The distinct grades of each group, descending.
        pairs, counts = np.unique(np.stack([group, -grade], axis=1), axis=0, return_counts=True)
        return JudgedRankings(
            tuple(
                f"{self.topics[t]} {name}" for t, name in zip(topic, self.group_names, strict=True)
            ),
            self.retrieved[topic],
            segment_offsets(np.bincount(pairs[:, 0], minlength=len(topic))),
            -pairs[:, 1],
            counts.astype(np.int64),
            segment_offsets(np.bincount(group[order], minlength=len(topic))),
            rank[order],
            grade[order],
            self.tied_from[self.rank_index][order],
            self.tied_to[self.rank_index][order],
        )

    @cached_property
    def preference_rankings(self) -> JudgedRankings:
        """One ranking for each group, with grades that have the order of its preferences.

        The grade of a document is 1 more than the highest grade of those that it is preferred to,
        and 1 if there are none. A level of 0 or less is the grade 0.
        """
        documents, grades, sizes = [], [], []
        for first, last in pairwise(self.judgments):
            group = PreferenceGroup.from_rows(
                self.document[first:last], self.block[first:last], self.level[first:last]
            )
            # Of a document that occurs twice, as trec_eval permits, the last line.
            retained = np.diff(group.position, append=-1) != 0
            documents.append(group.position[retained])
            grades.append(group.chain_grades()[retained])
            sizes.append(len(documents[-1]))
        return replace(
            self,
            document=np.concatenate([np.empty(0, np.int64), *documents]),
            block=np.zeros(sum(sizes), np.int64),
            level=np.concatenate([np.empty(0), *grades]),
            judgments=segment_offsets(sizes),
        ).group_rankings

    @cached_property
    def preference_counts(self) -> PreferenceCounts:
        """Preferences that the levels express, and those that the ranking respects."""
        topics = []
        for t in range(len(self)):
            rank = self.rank[self.documents[t] : self.documents[t + 1]]
            # Retrieved documents in rank order, then the others by id.
            position = np.empty(len(rank), np.int64)
            position[np.lexsort((rank, rank == 0))] = np.arange(len(rank))
            groups = []
            for g in range(self.groups[t], self.groups[t + 1]):
                rows = slice(self.judgments[g], self.judgments[g + 1])
                groups.append(
                    PreferenceGroup.from_rows(
                        position[self.document[rows]], self.block[rows], self.level[rows]
                    )
                )
            topics.append((int(np.count_nonzero(rank)), groups))
        return count_preferences(topics)


BoolArray: TypeAlias = "npt.NDArray[np.bool_]"

#: Number of cells of the tables of pairs that are in memory at a time.
_MAX_CELLS = 1 << 22


@dataclass(frozen=True)
class PreferenceCounts:
    """Possible and respected preferences, by the number of their documents that were retrieved.

    Preferences are counted per group, pairs of documents per topic. If groups disagree about a
    pair, ``respected`` is the proportion of its preferences that the ranking respects. The columns
    are for both documents retrieved, one of them, and neither; with neither, no preference is
    respected. ``balanced`` and ``balanced_retrieved`` (groups × respected, possible) are the counts
    with equal numbers of relevant and irrelevant documents, as in trec_eval's measures
    ``*_Rnonrel``.
    """

    possible: IntArray
    respected: IntArray
    pair_counts: IntArray
    respected_pair_sums: FloatArray
    balanced: IntArray
    balanced_retrieved: IntArray


@dataclass(frozen=True)
class PreferenceGroup:
    """Judgments of one group about the documents of a topic.

    ``position`` is the position of each among the judged documents of the topic, retrieved ones
    first, in ascending order, and ``level`` is its level. ``preferred_mask``, for a group of
    several parts, has which document (row) is preferred to which (column).
    """

    position: IntArray
    level: FloatArray
    preferred_mask: BoolArray | None = None

    @classmethod
    def from_rows(cls, position: IntArray, block: IntArray, level: FloatArray) -> PreferenceGroup:
        """Create the group from one row for each document of each block."""
        if len(block) == 0 or (block == block[0]).all():
            order = np.argsort(position)
            return cls(position[order], level[order])
        distinct_positions, index = np.unique(position, return_inverse=True)
        matrix = np.zeros((len(distinct_positions), len(distinct_positions)), bool)
        levels = np.zeros(len(distinct_positions))
        for block_number in np.unique(block):
            rows = np.flatnonzero(block == block_number)
            matrix[np.ix_(index[rows], index[rows])] |= level[rows, None] > level[rows]
            levels[index[rows]] = level[rows]
        for via in range(len(distinct_positions)):
            matrix[matrix[:, via]] |= matrix[via]
        return cls(distinct_positions, levels, matrix)

    def chain_grades(self) -> FloatArray:
        """Return a grade for each document: its place in the longest chain of preferences."""
        relevant_mask = self.level > 0
        if self.preferred_mask is None:
            _, code = np.unique(np.where(relevant_mask, self.level, 0.0), return_inverse=True)
            return np.where(relevant_mask, code + (not (~relevant_mask).any()), 0).astype(float)
        below = self.preferred_mask & relevant_mask
        grade = np.zeros(len(below))
        # Whoever is preferred to a document is preferred to more documents.
        for row in np.argsort(below.sum(axis=1), kind="stable"):
            grade[row] = 1 + grade[below[row]].max(initial=0)
        return np.where(relevant_mask, grade, 0)

    @property
    def has_repeats(self) -> bool:
        """Whether a document occurs more than once, as trec_eval counts lines."""
        return bool((np.diff(self.position) == 0).any())

    def restrict(self, mask: BoolArray) -> PreferenceGroup:
        """Return the group with the chosen documents only."""
        matrix = None if self.preferred_mask is None else self.preferred_mask[np.ix_(mask, mask)]
        return PreferenceGroup(self.position[mask], self.level[mask], matrix)

    def preference_masks(self, first: int, last: int) -> tuple[BoolArray, BoolArray]:
        """Return the preferences in a block of documents.

        They are between the documents from ``first`` to ``last`` and those from ``first`` on. The
        former are the rows and the latter the columns of two masks: whether a preference goes from
        the higher to the lower document, and whether it goes the other way.
        """
        if self.preferred_mask is None:
            level = self.level[first:last, None]
            down, up = level > self.level[first:], level < self.level[first:]
        else:
            down, up = (
                self.preferred_mask[first:last, first:],
                self.preferred_mask[first:, first:last].T,
            )
        return np.triu(down, 1), np.triu(up, 1)

    def count_preferences(self, retrieved: int) -> tuple[IntArray, IntArray]:
        """Count possible and respected preferences by how many of their documents are retrieved.

        The first ``retrieved`` places are the retrieved documents. The three counts are for both
        documents, one and neither among them.
        """
        n_retrieved = int(np.searchsorted(self.position, retrieved))
        if self.preferred_mask is not None:
            down, up = self.preference_masks(0, len(self.position))
            possible, respected = (
                _sum_by_retrieval(down | up, n_retrieved),
                _sum_by_retrieval(down, n_retrieved),
            )
            respected[2] = 0
            return possible, respected
        values, code = np.unique(self.level, return_inverse=True)
        retrieved_counts = np.bincount(code[:n_retrieved], minlength=len(values))
        missed_counts = np.bincount(code[n_retrieved:], minlength=len(values))
        lower = np.cumsum(missed_counts) - missed_counts
        # For each level: number of pairs of one of its documents and a higher one above it.
        respected_by_level = [
            np.cumsum(code[:n_retrieved] > v, dtype=np.int64)[code[:n_retrieved] == v].sum()
            for v in range(len(values))
        ]
        n_one_retrieved = (
            retrieved_counts.sum() * missed_counts.sum() - retrieved_counts @ missed_counts
        )
        return (
            np.array(
                [
                    _n_unequal_pairs(retrieved_counts),
                    n_one_retrieved,
                    _n_unequal_pairs(missed_counts),
                ],
                np.int64,
            ),
            np.array([sum(respected_by_level), retrieved_counts @ lower, 0], np.int64),
        )


def _n_unequal_pairs(counts: IntArray) -> int:
    """Count the pairs of different kinds, given the number of each kind."""
    return int(counts.sum() ** 2 - counts @ counts) // 2


def _sum_by_retrieval(table: npt.NDArray[Any], retrieved: int) -> npt.NDArray[Any]:
    """Sum over pairs with both documents, one or neither among the first ``retrieved``."""
    return np.array(
        [
            table[:retrieved, :retrieved].sum(),
            table[:retrieved, retrieved:].sum(),
            table[retrieved:].sum(),
        ]
    )


def count_preferences(topics: Sequence[tuple[int, Sequence[PreferenceGroup]]]) -> PreferenceCounts:
    """Count the preferences of topics.

    Each topic is given by its number of retrieved judged documents and the groups of its judgments.
    """
    flat = [(group, retrieved) for retrieved, groups in topics for group in groups]
    counts = [group.count_preferences(retrieved) for group, retrieved in flat]
    equal = [_balanced_preferences(g, n, *c) for (g, n), c in zip(flat, counts, strict=True)]
    equal_retrieved = [
        _balanced_retrieved(g, n, *c) for (g, n), c in zip(flat, counts, strict=True)
    ]
    possible = np.array([p for p, _ in counts], np.int64).reshape(-1, 3)
    respected = np.array([r for _, r in counts], np.int64).reshape(-1, 3)
    pairs, proportions, offset = [], [], 0
    for retrieved, groups in topics:
        if len(groups) == 1 and not groups[0].has_repeats:
            # Every pair has one preference at most.
            pairs.append(possible[offset])
            proportions.append(respected[offset].astype(np.float64))
        else:
            topic_pairs, topic_proportions = _count_pairs(groups, retrieved)
            pairs.append(topic_pairs)
            proportions.append(topic_proportions)
        offset += len(groups)
    return PreferenceCounts(
        possible,
        respected,
        np.array(pairs, np.int64).reshape(-1, 3),
        np.array(proportions, np.float64).reshape(-1, 3),
        np.array(equal, np.int64).reshape(-1, 2),
        np.array(equal_retrieved, np.int64).reshape(-1, 2),
    )


def _count_pairs(groups: Sequence[PreferenceGroup], retrieved: int) -> tuple[IntArray, FloatArray]:
    """Count the pairs with a preference in any group, and sum the proportions respected."""
    size = 1 + max((int(g.position[-1]) for g in groups if len(g.position)), default=-1)
    step = max(_MAX_CELLS // max(size, 1), 1)
    pairs, proportions = np.zeros(3, np.int64), np.zeros(3)
    for first in range(0, size, step):
        last = min(first + step, size)
        down = np.zeros((last - first, size - first), np.int32)
        up = np.zeros_like(down)
        for group in groups:
            low, high = np.searchsorted(group.position, [first, last])
            cells = np.ix_(group.position[low:high] - first, group.position[low:] - first)
            respected, violated = group.preference_masks(int(low), int(high))
            if group.has_repeats:  # each time counts
                np.add.at(down, cells, respected)
                np.add.at(up, cells, violated)
            else:
                down[cells] += respected
                up[cells] += violated
        total = down + up
        n_retrieved = max(retrieved - first, 0)
        pairs += _sum_by_retrieval(total > 0, n_retrieved)
        proportions += _sum_by_retrieval(down / np.maximum(total, 1), n_retrieved)
    proportions[2] = 0.0
    return pairs, proportions


def _balanced_preferences(
    group: PreferenceGroup, retrieved: int, possible: IntArray, respected: IntArray
) -> tuple[int, int]:
    """Count respected and possible preferences with as many irrelevant documents as relevant ones.

    Missing irrelevant documents are taken as ranked below every relevant document that was
    retrieved; if there are more irrelevant documents than relevant ones, only the first of them are
    counted.
    """
    relevant_mask, irrelevant_mask = _relevance(group)
    retrieved_mask = group.position < retrieved
    surplus = int(relevant_mask.sum()) - int(irrelevant_mask.sum())
    if surplus >= 0:
        return (
            int(respected.sum()) + int((relevant_mask & retrieved_mask).sum()) * surplus,
            int(possible.sum()) + int(relevant_mask.sum()) * surplus,
        )
    return _truncated_preferences(
        group, _droppable_mask(group), retrieved, int(relevant_mask.sum())
    )


def _balanced_retrieved(
    group: PreferenceGroup, retrieved: int, possible: IntArray, respected: IntArray
) -> tuple[int, int]:
    """Count the same preferences among the retrieved documents.

    (All relevant documents count if documents are added and if a group has several parts, as in
    trec_eval.)
    """
    relevant, irrelevant = _relevance(group)
    retrieved_mask = group.position < retrieved
    hits = int((relevant & retrieved_mask).sum())
    surplus = hits - int((irrelevant & retrieved_mask).sum())
    if surplus >= 0:
        return (
            int(respected[0]) + hits * surplus,
            int(possible[0]) + int(relevant.sum()) * surplus,
        )
    n_selected = hits if group.preferred_mask is None else int(relevant.sum())
    return _truncated_preferences(
        group.restrict(retrieved_mask),
        _droppable_mask(group)[retrieved_mask],
        retrieved,
        n_selected,
    )


def _relevance(group: PreferenceGroup) -> tuple[BoolArray, BoolArray]:
    """Return the masks of relevant and irrelevant documents.

    In a group of several parts a document below 0 is neither.
    """
    relevant = group.level > 0
    return relevant, ~relevant if group.preferred_mask is None else group.level == 0


def _droppable_mask(group: PreferenceGroup) -> BoolArray:
    """Return the mask of the irrelevant documents of which some may be dropped.

    They are those of the lowest level in a group of one part, and of level 0 in one of several
    parts.
    """
    lowest = group.level.min(initial=np.inf) if group.preferred_mask is None else 0.0
    return np.asarray(group.level == lowest)


def _truncated_preferences(
    group: PreferenceGroup, droppable_mask: BoolArray, retrieved: int, n_selected: int
) -> tuple[int, int]:
    """Count preferences with only the first ``n_selected`` documents of ``droppable_mask``.

    The result has the numbers of respected and of possible preferences. In a group of one part,
    trec_eval also compares the selected documents with every irrelevant document, and counts a pair
    as respected if one is ranked above the other. That is an error, but the values are defined so.
    """
    n_before: IntArray = np.cumsum(droppable_mask) - droppable_mask
    possible, respected = group.restrict(
        ~droppable_mask | (n_before < n_selected)
    ).count_preferences(retrieved)
    n_respected, n_possible = int(respected.sum()), int(possible.sum())
    if group.preferred_mask is None:
        n_selected = min(n_selected, int(droppable_mask.sum()))
        n_retrieved = min(n_selected, int((droppable_mask & (group.position < retrieved)).sum()))
        n_respected += n_retrieved * (n_selected - 1) - n_retrieved * (n_retrieved - 1) // 2
        # A document that occurs twice is not ranked above itself.
        selected_positions = group.position[droppable_mask][:n_selected]
        repeats = np.unique(selected_positions[selected_positions < retrieved], return_counts=True)[
            1
        ]
        n_respected -= int((repeats * (repeats - 1)).sum()) // 2
        n_possible += n_selected * int(droppable_mask.sum())
    return n_respected, n_possible
