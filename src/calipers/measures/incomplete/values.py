"""Between which values further judgments could move a number.

Unknown are, for each topic, the documents that were retrieved but not judged (or judged with a
negative grade, which says "pooled, not judged"), and documents that were not retrieved and are yet
to be found relevant: up to ``unfound`` of them, or any number. A completion gives every unknown
document a grade from 0 to a highest one. :func:`possible_values` tells the smallest and the largest
value that any completion gives a topic, :func:`possible_mean` what that means for their mean.

What is reported as a measure's value takes all unknown documents for not relevant, so it lies
between the two. This is no sampling interval: it says what judging more of these topics could
change, whereas an interval says what measuring other topics could.

A rule per measure, found by its name (:mod:`calipers.measures.incomplete.rules`), finds both ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

from calipers.lazily import numpy as np
from calipers.measures.definition import Measure
from calipers.measures.incomplete.rules import Ends, Rule, rule_of
from calipers.measures.incomplete.topics import Block
from calipers.statistics import GEOMETRIC_FLOOR, FloatArray, IntArray, JudgedRankings

if TYPE_CHECKING:
    import numpy.typing as npt

#: Cells of topics times ranks that are looked at together: a few megabytes an array.
CELLS = 1 << 18


@dataclass(frozen=True, eq=False)
class Possible:
    """Per topic, the smallest and the largest value of any completion; NaN where no completion
    gives a value. ``kind`` is "exact", or "bound" where no value lies outside, but the ends may be
    wider than need be."""

    low: FloatArray
    high: FloatArray
    kind: str


def possible_values(
    rankings: JudgedRankings,
    measures: Sequence[Measure],
    *,
    unfound: float = inf,
    max_grade: int | None = None,
    collection: int | None = None,
) -> list[Possible | None]:
    """What any completion of the judgments could make of each measure, topic by topic.

    Parameters
    ----------
    rankings
        What was retrieved of what is judged.
    measures
        Those without a rule get None.
    unfound
        How many documents of a topic that were not retrieved may yet turn out relevant; infinite
        by default. Documents with negative grades count among them, and are never fewer.
    max_grade
        The highest grade of an unknown document; by default the highest in the judgments, at
        least 1.
    collection
        The number of documents there are, which bounds ``unfound`` (where that leaves no more than
        a million).

    Examples
    --------
    Seven documents are known to be relevant, four of them retrieved; three more may be.

    >>> from calipers.measures import parse
    >>> r = JudgedRankings.from_rankings([[1, 0, 1, 1, 0, 1, 0]], [[1, 1, 1]])
    >>> (recall,) = possible_values(r, [parse("SetR")], unfound=3)
    >>> print(recall.low, recall.high.round(4), recall.kind)
    [0.4] [0.5714] exact
    """
    known = int(rankings.judged_grade.max(initial=1))
    top = known if max_grade is None else max_grade
    rules = [rule_of(measure, max(known, top)) for measure in measures]
    low = np.full((len(measures), len(rankings)), np.nan)
    high = low.copy()
    for topics in _blocks(rankings.retrieved):
        block = Block.of(rankings.take(topics), unfound, top, collection)
        for i, (measure, rule) in enumerate(zip(measures, rules, strict=True)):
            if rule is not None:
                with np.errstate(divide="ignore", invalid="ignore"):
                    low[i, topics], high[i, topics] = _around(block, measure, rule)
    return [
        None if rule is None else Possible(low[i], high[i], rule.kind)
        for i, rule in enumerate(rules)
    ]


def possible_mean(
    values: FloatArray,
    possible: Possible,
    summary: str = "mean",
    *,
    zero: bool = False,
    importance: FloatArray | None = None,
) -> tuple[float, float]:
    """The smallest and the largest mean over topics that completions could give.

    Topics are completed independently, so the mean of the low ends is the lowest mean, and so for
    the high ends. A topic that is undefined so far may stay so or become defined: where undefined
    topics are left out of the mean, it is left out or counted, whichever moves the mean further;
    with ``zero`` it counts as 0 as long as it is undefined. ``summary`` may be "sum" or "geometric"
    (as of gm-AP) instead. ``importance`` is what topics count for in means; one of 0 is left out.
    """
    low, high, nothing = possible.low, possible.high, 0.0
    weight = np.ones(len(values)) if importance is None else importance
    values, low, high, weight = (of[weight > 0] for of in (values, low, high, weight))
    if summary == "geometric":
        low, high, nothing = (
            np.log(np.maximum(low, GEOMETRIC_FLOOR)),
            np.log(np.maximum(high, GEOMETRIC_FLOOR)),
            float(np.log(GEOMETRIC_FLOOR)),
        )
    counted = zero or summary == "sum"
    absent = np.isnan(values)
    least = _least(absent, low, nothing if counted else None, summary, weight)
    most = -_least(absent, -high, -nothing if counted else None, summary, weight)
    return (float(np.exp(least)), float(np.exp(most))) if summary == "geometric" else (least, most)


def _least(
    absent: npt.NDArray[np.bool_],
    end: FloatArray,
    as_absent: float | None,
    summary: str,
    weight: FloatArray,
) -> float:
    """The least mean (or sum); what is absent counts as a value, or may be left out."""
    if as_absent is not None:
        end = np.where(absent, np.fmin(end, as_absent), end)
        absent = np.zeros_like(absent)
    if summary == "sum":
        return float(end[~absent].sum())
    optional = np.flatnonzero(absent & ~np.isnan(end))
    optional = optional[np.argsort(end[optional], kind="stable")]
    totals, counts = (
        of[~absent].sum() + np.concatenate([[0.0], np.cumsum(of[optional])])
        for of in (end * weight, weight)
    )
    means = totals[counts > 0] / counts[counts > 0]
    return float(means.min()) if len(means) else np.nan


def _blocks(retrieved: IntArray) -> Iterator[IntArray]:
    """The topics, in pieces of few cells each; those that retrieve alike many stand together."""
    order = np.argsort(retrieved, kind="stable")
    start = 0
    while start < len(order):
        # The last topic of a piece is its widest.
        widest = np.maximum(retrieved[order[start : start + CELLS]], 1)
        cells = np.arange(1, len(widest) + 1) * widest
        end = start + max(1, int(np.searchsorted(cells, CELLS, side="right")))
        yield order[start:end]
        start = end


def _around(block: Block, measure: Measure, rule: Rule) -> Ends:
    """What the rule finds, which rounding must not keep from holding the value itself."""
    low, high = rule.ends(block, measure)
    value = measure.apply(block.ranking)
    return np.where(value < low, value, low), np.where(value > high, value, high)
