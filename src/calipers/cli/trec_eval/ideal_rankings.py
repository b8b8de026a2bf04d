"""Ideal rankings in trec_eval's order of non-integer gains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from functools import cache
from typing import Any

import numpy as np

from calipers.lazy_dataclasses import dataclass
from calipers.statistics import FloatArray, IntArray, JudgedRankings
from calipers.statistics.rankings import IdealRankings, segment_offsets

#: Highest grade up to which grades without documents are ordered, as more of them take too long.
MAX_GRADE = 10_000

GradeGains = tuple[tuple[int, float], ...]


@dataclass(frozen=True, eq=False)
class UnstableIdealRanking(JudgedRankings):
    """Rankings whose ideal rankings are those of trec_eval.

    It sorts grades by gain, but treats gains that differ by less than 1 as equal and keeps their
    previous order: grades with a gain of their own (``assigned_gains``), then the others, from 0
    on. The ideal ranking begins with the last of them and ends at the first one without a positive
    gain.
    """

    assigned_gains: GradeGains = ()

    @classmethod
    def with_gains(
        cls, rankings: JudgedRankings, assigned_gains: GradeGains
    ) -> UnstableIdealRanking:
        """Create it from rankings, with gains in the order in which they were given."""
        arrays: dict[str, Any] = {f.name: getattr(rankings, f.name) for f in fields(rankings)}
        return cls(**arrays, assigned_gains=assigned_gains)

    def ideal_lengths(self, gain: FloatArray) -> IntArray:
        """Return the length of the ideal ranking of each topic; ``gain`` is ignored as well."""
        return self.ideal_rankings(gain).lengths

    def ideal_rankings(self, gain: FloatArray) -> IdealRankings:
        """Return the ideal ranking of each topic; ``gain`` is ignored, as the gains are known."""
        lists = []
        for first, last in zip(self.judged_offsets, self.judged_offsets[1:], strict=False):
            grades = self.judged_grade[first:last].tolist()
            counts = dict(zip(grades, self.judged_count[first:last].tolist(), strict=True))
            lists.append(_ideal_gains(self.assigned_gains, counts))
        offsets = segment_offsets([len(gains) for gains in lists])
        rank = np.arange(offsets[-1]) - np.repeat(offsets[:-1], np.diff(offsets)) + 1
        return IdealRankings(
            offsets, np.array([g for gains in lists for g in gains], np.float64), rank
        )


def _ideal_gains(assigned_gains: GradeGains, counts: dict[int, int]) -> list[float]:
    levels = _sorted_gains(assigned_gains, min(max(counts, default=-1), MAX_GRADE))
    gains: list[float] = []
    for index, (grade, gain) in enumerate(reversed(levels)):
        count = counts.get(grade, 0)
        if gain <= 0 and (count or index == 0):
            break
        gains.extend([gain] * count)
    return gains


@cache
def _sorted_gains(assigned_gains: GradeGains, max_grade: int) -> GradeGains:
    assigned_grades = {grade for grade, _ in assigned_gains}
    others = tuple(
        (grade, float(grade)) for grade in range(max_grade + 1) if grade not in assigned_grades
    )
    return tuple(merge_sort((*assigned_gains, *others)))


def merge_sort(levels: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    """Sort by C's usual merge sort, whose result for an inconsistent order is reproduced."""
    if len(levels) < 2:
        return list(levels)
    half = len(levels) // 2
    low, high = merge_sort(levels[:half]), merge_sort(levels[half:])
    merged: list[tuple[int, float]] = []
    while low and high:
        merged.append((low if int(low[0][1] - high[0][1]) <= 0 else high).pop(0))
    return [*merged, *low, *high]
