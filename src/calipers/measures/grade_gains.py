"""Gains of grades, from which measures of graded relevance are computed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from calipers.lazy_imports import numpy as np

if TYPE_CHECKING:
    from calipers.statistics import FloatArray, IntArray

#: Grades and their gains; the grade itself where one is not named.
Gains: TypeAlias = "tuple[tuple[int, float], ...] | None"


def grade_gain(
    grade: IntArray | FloatArray,
    gains: Gains = None,
    dcg: str = "log2",
    min_grade: int | None = None,
) -> FloatArray:
    """Return the gain of each grade."""
    gain = np.maximum(grade, 0).astype(np.float64)
    if dcg == "exp-log2":
        gain = np.exp2(gain) - 1
    for level, value in gains or ():
        # Every negative grade is the same to trec_eval: pooled, but not judged.
        gain[np.maximum(grade, -2) == level if level < 0 else grade == level] = value
    return gain if min_grade is None else np.where(grade >= min_grade, gain, 0.0)


def has_monotone_gains(parameters: Mapping[str, Any], highest: int) -> bool:
    """Return whether gains do not decrease with grades, and documents of grade 0 have none.

    Unjudged documents have no gain. ``highest`` is the highest grade.
    """
    listed_grades = [grade for grade, _ in parameters.get("gains") or ()]
    if any(grade < 0 for grade in listed_grades):
        return False
    checked_grades = {0, 1, highest, *(g + d for g in listed_grades for d in (-1, 0, 1))}
    gain = grade_gain(
        np.array(sorted(grade for grade in checked_grades if 0 <= grade <= highest)),
        parameters.get("gains"),
        parameters.get("dcg", "log2"),
        parameters.get("min_grade"),
    )
    return gain[0] == 0 and bool((np.diff(gain) >= 0).all())
