"""Values of measures over all orders of tied documents."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import product
from math import comb, prod
from typing import TYPE_CHECKING, Any, Protocol

from calipers.lazy_imports import numpy as np
from calipers.measures.errors import UnknownMeasureError
from calipers.measures.grade_gains import has_monotone_gains
from calipers.statistics import JudgedRankings

if TYPE_CHECKING:
    from calipers.statistics import FloatArray


class RankingMeasure(Protocol):
    """What this module needs of the definition of a measure of rankings.

    ``ties`` is how the expected value over tied documents is computed: ``"linear"`` if the formula
    gives it for mean grades, a formula of its own, ``"none"`` if ranks do not matter, or None if
    all orders have to be enumerated. ``monotone`` says whether the best order is that by grade.
    """

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def formula(self) -> Callable[..., FloatArray]: ...  # noqa: D102
    @property
    def ties(self) -> str | Callable[..., FloatArray] | None: ...  # noqa: D102
    @property
    def monotone(self) -> bool: ...  # noqa: D102
    @property
    def higher_is_better(self) -> bool | None: ...  # noqa: D102


#: Parameters of every measure of judged rankings, in addition to its own; ``ties`` only of those
#: that depend on ranks.
COMMON_PARAMETERS: Mapping[str, Any] = {"judged_only": False, "ties": "id"}

#: Maximum number of orders of the tied documents of a topic that are enumerated.
MAX_ORDERS = 20_000

#: Grade that stands for unjudged documents in an order. Judgments cannot have it, as their grades
#: have 32 bits.
_UNJUDGED = -(1 << 40)


def check_ties(measure: RankingMeasure, parameters: Mapping[str, Any]) -> None:
    """Check that the value over orders of tied documents is defined."""
    ties = parameters.get("ties", "id")
    if ties == "id":
        return
    if ties == "average":
        is_invalid = parameters.get("denominator") == "found"
        reason = "the number of relevant documents found depends on the order"
    else:
        is_invalid, reason = measure.higher_is_better is None, "the measure has no direction"
    if is_invalid:
        raise UnknownMeasureError(f"{measure.name}: ties is {ties!r}, but {reason}")


def aggregate_over_ties(
    measure: RankingMeasure, r: JudgedRankings, parameters: Mapping[str, Any], ties: str
) -> FloatArray:
    """Compute the expected (``ties='average'``), best or worst value over orders of tied documents.

    All orders are equally likely. The value is exact: it is computed by the measure's own formula
    for it if there is one, and otherwise by enumeration of all orders, with NaN for a topic with
    too many orders. A topic without ties has one order.
    """
    formula, tied = measure.formula, r.tied_topic_mask
    if not tied.all():
        out = np.empty(len(r))
        out[~tied] = formula(r.untied_topics, **parameters)
        if tied.any():
            out[tied] = aggregate_over_ties(measure, r.tied_topics, parameters, ties)
        return out
    if ties == "average":
        expected = formula if measure.ties == "linear" else measure.ties
        if callable(expected):
            return np.asarray(expected(r.average_ties(), **parameters), np.float64)
    elif measure.monotone and _has_monotone_gains(r, parameters):
        sorted_rankings = r.reorder_ties(best_first=ties == "best")
        return np.asarray(formula(sorted_rankings, **parameters), np.float64)
    return _aggregate_over_orders(measure, r, parameters, ties)


def too_many_orders_mask(
    measure: RankingMeasure, r: JudgedRankings, parameters: Mapping[str, Any], ties: str
) -> Any:
    """Return the mask of the topics with too many orders for :func:`aggregate_over_ties`."""
    has_formula = (
        measure.ties is not None
        if ties == "average"
        else measure.monotone and _has_monotone_gains(r, parameters)
    )
    if has_formula:
        return np.zeros(len(r), bool)
    return np.array([_count_orders(blocks) > MAX_ORDERS for blocks in _tied_blocks(r)])


def _has_monotone_gains(r: JudgedRankings, parameters: Mapping[str, Any]) -> bool:
    """Return whether gains never decrease with the grade, so that the best order is by grade."""
    return has_monotone_gains(parameters, int(r.judged_grade.max(initial=0)))


def _aggregate_over_orders(
    measure: RankingMeasure, r: JudgedRankings, parameters: Mapping[str, Any], ties: str
) -> FloatArray:
    """Compute the mean, best or worst value over all orders, by enumeration."""
    takes_max = (ties == "best") == bool(measure.higher_is_better)
    summary = np.mean if ties == "average" else np.max if takes_max else np.min
    out = np.asarray(measure.formula(r, **parameters), np.float64)
    for topic, blocks in enumerate(_tied_blocks(r)):
        n_orders = _count_orders(blocks)
        if n_orders > MAX_ORDERS:
            out[topic] = np.nan
        elif n_orders > 1:
            all_orders = _all_orders(r.take_topics(np.array([topic])), blocks)
            out[topic] = summary(measure.formula(all_orders, **parameters))
    return out


def _tied_blocks(r: JudgedRankings) -> Iterator[list[tuple[int, list[tuple[int, int]]]]]:
    """Yield the blocks of tied documents of each topic.

    A block is its first rank and the number of documents of each grade, with a grade of their own
    for unjudged documents.
    """
    for first, last in zip(r.offsets[:-1], r.offsets[1:], strict=True):
        blocks = []
        starts, block_offsets = np.unique(r.tied_from[first:last], return_index=True)
        stops = np.append(block_offsets, last - first)[1:] if len(block_offsets) else block_offsets
        for start, begin, stop in zip(starts, block_offsets, stops, strict=True):
            grades, counts = np.unique(r.grade[first + begin : first + stop], return_counts=True)
            size = int(r.tied_to[first + begin] - start + 1)
            n_unjudged = size - int(counts.sum())
            grade_counts = [(int(g), int(n)) for g, n in zip(grades, counts, strict=True)]
            blocks.append(
                (int(start), grade_counts + ([(_UNJUDGED, n_unjudged)] if n_unjudged else []))
            )
        yield blocks


def _count_orders(blocks: list[tuple[int, list[tuple[int, int]]]]) -> int:
    orders = 1
    for _, grade_counts in blocks:
        n_remaining = sum(n for _, n in grade_counts)
        for _, n in grade_counts:
            orders *= comb(n_remaining, n)
            n_remaining -= n
    return orders


def _all_orders(
    topic_rankings: JudgedRankings, blocks: list[tuple[int, list[tuple[int, int]]]]
) -> JudgedRankings:
    """Return all orders of one topic, each as a topic."""
    orders_by_block = [
        [(start, order) for order in _arrangements(dict(grade_counts))]
        for start, grade_counts in blocks
    ]
    n_orders = prod(map(len, orders_by_block))
    rank, grade = [], []
    for chosen in product(*orders_by_block):
        for start, order in chosen:
            judged = [(start + position, g) for position, g in enumerate(order) if g != _UNJUDGED]
            rank += [judged_rank for judged_rank, _ in judged]
            grade += [g for _, g in judged]
    ranks = np.array(rank, np.int64)
    return JudgedRankings(
        tuple(map(str, range(n_orders))),
        np.repeat(topic_rankings.retrieved, n_orders),
        np.arange(n_orders + 1) * len(topic_rankings.judged_grade),
        np.tile(topic_rankings.judged_grade, n_orders),
        np.tile(topic_rankings.judged_count, n_orders),
        np.arange(n_orders + 1) * len(topic_rankings.rank),
        ranks,
        np.array(grade, np.int64),
        ranks,
        ranks,
    )


def _arrangements(counts: dict[int, int]) -> Iterator[tuple[int, ...]]:
    """Yield every order of these numbers of grades."""
    if not any(counts.values()):
        yield ()
    for grade, n in counts.items():
        if n:
            for remaining in _arrangements({**counts, grade: n - 1}):
                yield (grade, *remaining)
