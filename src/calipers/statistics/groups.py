"""What a ranking did with documents that are judged in groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from calipers.lazily import numpy as np
from calipers.once import cached_property
from calipers.statistics.base import FloatArray, IntArray, Statistic
from calipers.statistics.rankings import (
    JudgedRankings,
    chained,
    ends_of,
    joined,
    segment_sum,
    segments,
    topics_of_both,
)

if TYPE_CHECKING:
    import numpy.typing as npt
    from typing_extensions import Self

    from calipers.statistics.preferences import PreferenceCounts

#: What is known of each document.
_DOCUMENTS = ("rank", "tied_from", "tied_to")

#: Levels by document.
Levels = Mapping[str, float]


@dataclass(frozen=True, eq=False)
class GroupedRankings(Statistic):
    """Per topic: how many documents were retrieved, the rank of each judged one, and what each
    group says of them. Groups are subtopics, assessors, or sets of preferences.

    Topics stand in bytewise order. ``documents`` (T+1) cuts ``rank``, ``tied_from`` and ``tied_to``
    into topics; a topic's documents are all that any group judges, in ascending order of their
    ids, with rank 0 where not retrieved. ``groups`` (T+1) cuts the groups ``group_names`` (in
    bytewise order) into topics, and ``judgments`` (G+1) cuts ``document``, ``part`` and ``level``
    into groups: of which of the topic's documents a group says what, part by part. ``part`` numbers
    the parts of a group of preferences, within which levels can be compared; elsewhere it is 0. All
    but ``retrieved``, ``rank`` and the ties is the same for every run.
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
    part: IntArray
    level: FloatArray

    #: What is known of each judgment.
    of_judgments: ClassVar[tuple[str, ...]] = ("document", "part", "level")

    @classmethod
    def from_rankings(
        cls,
        rankings: Sequence[Sequence[str]],
        judgments: Sequence[Mapping[str, Levels | Sequence[Levels]]],
    ) -> Self:
        """From rankings without ties, best document first, and for each the levels by group and
        document: ``{"subtopic": {"document": 1}}``; for a group of several parts a list of them."""
        retrieved, ranks, names = [], [], []
        rows: list[list[tuple[int, int, float]]] = []
        for ranking, groups in zip(rankings, judgments, strict=True):
            parts = {g: [p] if isinstance(p, Mapping) else p for g, p in groups.items()}
            documents = sorted(
                {d for of_group in parts.values() for part in of_group for d in part}
            )
            place = {document: i for i, document in enumerate(ranking, 1)}
            retrieved.append(len(ranking))
            ranks.append([place.get(document, 0) for document in documents])
            names.append(sorted(groups))
            rows.extend(
                [
                    (documents.index(document), number, level)
                    for number, part in enumerate(parts[group])
                    for document, level in sorted(part.items())
                ]
                for group in names[-1]
            )
        flat = [row for group in rows for row in group]
        rank = np.array([r for topic in ranks for r in topic], np.int64)
        return cls(
            tuple(str(i + 1) for i in range(len(rankings))),
            np.array(retrieved, np.int64),
            ends_of([len(r) for r in ranks]),
            rank,
            rank,
            rank,
            ends_of([len(n) for n in names]),
            tuple(name for topic in names for name in topic),
            ends_of([len(group) for group in rows]),
            np.array([document for document, _, _ in flat], np.int64),
            np.array([part for _, part, _ in flat], np.int64),
            np.array([level for _, _, level in flat], np.float64),
        )

    def __len__(self) -> int:
        return len(self.topics)

    def __add__(self, other: Self) -> Self:
        """The topics of both; a topic may stand in one only."""
        topics, order = topics_of_both(self.topics, other.topics)
        both = type(self)(
            topics,
            documents=chained(self.documents, other.documents),
            groups=chained(self.groups, other.groups),
            group_names=self.group_names + other.group_names,
            judgments=chained(self.judgments, other.judgments),
            **joined(self, other, "retrieved", *_DOCUMENTS, *self.of_judgments),
        )
        return both.take(order)

    def take(self, topics: npt.NDArray[Any]) -> Self:
        """The topics at these positions, in this order."""
        picked = np.arange(len(self))[topics]
        documents, document_rows = segments(self.documents, picked)
        groups, group_rows = segments(self.groups, picked)
        judgments, rows = segments(self.judgments, group_rows)
        parts: dict[str, Any] = {name: getattr(self, name)[document_rows] for name in _DOCUMENTS}
        return type(self)(
            tuple(self.topics[i] for i in picked),
            self.retrieved[picked],
            documents=documents,
            groups=groups,
            group_names=tuple(self.group_names[i] for i in group_rows),
            judgments=judgments,
            **parts | {name: getattr(self, name)[rows] for name in self.of_judgments},
        )

    def cut(self, depth: int) -> Self:
        """The same rankings, each without the documents below that rank."""
        kept = (self.rank > 0) & (self.rank <= depth)
        return replace(
            self,
            retrieved=np.minimum(self.retrieved, depth),
            rank=np.where(kept, self.rank, 0),
            tied_from=np.where(kept, self.tied_from, 0),
            tied_to=np.where(kept, np.minimum(self.tied_to, depth), 0),
        )

    @cached_property
    def topic_of_group(self) -> IntArray:
        """The topic's position, for each group."""
        return np.repeat(np.arange(len(self)), np.diff(self.groups))

    @cached_property
    def group_of_judgment(self) -> IntArray:
        """The group's position, for each judgment."""
        return np.repeat(np.arange(len(self.group_names)), np.diff(self.judgments))

    def sum_of_groups(self, values: npt.NDArray[Any]) -> FloatArray:
        """Per topic, the sum of a value per group."""
        return segment_sum(values, self.groups)

    def relevant_of_group(self, rel: int = 1) -> FloatArray:
        """Per group, how many documents it puts at level ``rel`` or higher."""
        return segment_sum(self.level >= rel, self.judgments)

    def groups_with_relevant(self, rel: int = 1) -> FloatArray:
        """Per topic, how many groups put a document at level ``rel`` or higher."""
        return self.sum_of_groups(self.relevant_of_group(rel) > 0)

    @cached_property
    def place(self) -> IntArray:
        """For each judgment, the position of its document in ``rank``."""
        return self.documents[self.topic_of_group[self.group_of_judgment]] + self.document

    @cached_property
    def by_group(self) -> JudgedRankings:
        """One ranking a group, as if it were a topic: what this group alone would judge.

        Every measure of judged rankings applies to it; their mean over the groups of a topic is
        ``sum_of_groups(…) / np.diff(groups)``.

        Raises
        ------
        ValueError
            When a level is no whole number, or a group has several parts.
        """
        grade = self.level.astype(np.int64)
        if (grade != self.level).any():
            raise ValueError(f"level {self.level[grade != self.level][0]} is no whole number")
        if self.part.any():
            raise ValueError("a group has several parts: its levels are preferences, not grades")
        topic, group = self.topic_of_group, self.group_of_judgment
        rank = self.rank[self.place]
        order = np.lexsort((rank, group))
        order = order[rank[order] > 0]
        # The distinct grades of each group, descending.
        pairs, counts = np.unique(np.stack([group, -grade], axis=1), axis=0, return_counts=True)
        return JudgedRankings(
            tuple(
                f"{self.topics[t]} {name}" for t, name in zip(topic, self.group_names, strict=True)
            ),
            self.retrieved[topic],
            ends_of(np.bincount(pairs[:, 0], minlength=len(topic))),
            -pairs[:, 1],
            counts.astype(np.int64),
            ends_of(np.bincount(group[order], minlength=len(topic))),
            rank[order],
            grade[order],
            self.tied_from[self.place][order],
            self.tied_to[self.place][order],
        )

    @cached_property
    def preferences(self) -> PreferenceCounts:
        """How many of the preferences that the levels express the ranking respects."""
        from calipers.statistics.preferences import Group, count_preferences

        topics = []
        for t in range(len(self)):
            rank = self.rank[self.documents[t] : self.documents[t + 1]]
            # Retrieved documents in rank order, then the others by id.
            place = np.empty(len(rank), np.int64)
            place[np.lexsort((rank, rank == 0))] = np.arange(len(rank))
            groups = []
            for g in range(self.groups[t], self.groups[t + 1]):
                rows = slice(self.judgments[g], self.judgments[g + 1])
                groups.append(
                    Group.of(place[self.document[rows]], self.part[rows], self.level[rows])
                )
            topics.append((int(np.count_nonzero(rank)), groups))
        return count_preferences(topics)
