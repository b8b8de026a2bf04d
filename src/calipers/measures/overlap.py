"""Measures of the overlap of two rankings of a topic, with one value per topic.

The value at depth d depends on X(d), the number of documents among the first d of both rankings.
The longer ranking has l documents, the shorter one s. If one of them is empty, the value is
undefined. These measures are not in the catalogue, which has measures of a system against the
truth: here neither ranking is the truth.

With ``ties='id'`` documents of equal score are in the order of every ranking here, by descending
id. With ``ties='average'`` the value is the expected value if each group of ties is in random
order. It is exact, because the values are linear in X(d), whose expectation is the sum over the
shared documents of the probability to be among the first d in a, times that in b. This is RBO^a of
Corsi and Urbano (2024), who extrapolate differently if the longer ranking has ties below the end of
the shorter one.
"""

from __future__ import annotations

from functools import partial

from calipers.caching import cached_property
from calipers.lazy_dataclasses import dataclass
from calipers.lazy_imports import numpy as np
from calipers.measures.definition import Measure
from calipers.measures.registry import external_definition
from calipers.statistics import FloatArray, IntArray
from calipers.statistics.overlap import SharedRankings

_REFERENCE = "Webber, Moffat and Zobel 2010"


def extrapolated_rbo(r: SharedRankings, p: float = 0.9, ties: str = "id") -> FloatArray:
    """Rank-biased overlap, extrapolated: (1 − p) Σ p^(d−1) X(d)/d over all depths d.

    Beyond their ends the rankings are assumed to agree as they do at their ends. This is RBO_EXT of
    Webber et al., their equation 32, which holds for rankings of uneven length. p, the probability
    of continuing to the next document, determines the weight of depths: for p = 0.9 the first 10
    documents have 86% of the weight. It ranges from 0 to 1 and is undefined if a ranking is empty.
    """
    r = _resolve_ties(r, ties)
    short, long, shared = r.min_length, r.max_length, r.n_shared
    depth = _DepthSums(p, int(long.max(initial=0)))
    # X(short), and the agreement there, at which the shorter ranking goes on.
    n_shared_at_end = r.sum_by_topic(
        _inclusion_probability(r, r.from_a, r.to_a, short)
        * _inclusion_probability(r, r.from_b, r.to_b, short)
    )
    agreement = n_shared_at_end / short
    ranked_sum = r.sum_by_topic(_shared_weights(r, depth)) - shared * depth.tail_over_depth(long)
    unseen_sum = depth.sum_powers(short + 1, long) - short * depth.sum_over_depth(short + 1, long)
    end_agreement = (shared - n_shared_at_end) / long + agreement
    return np.asarray(depth.norm * (ranked_sum + agreement * unseen_sum) + end_agreement * p**long)


def min_rbo(r: SharedRankings, p: float = 0.9, ties: str = "id") -> FloatArray:
    """Rank-biased overlap, lower bound: its value if no further document is shared (RBO_MIN).

    Further documents are those below the ends of the rankings. It ranges from 0 to 1 and is
    undefined if a ranking is empty.
    """
    r = _resolve_ties(r, ties)
    depth = _DepthSums(p, int(r.max_length.max(initial=0)))
    return depth.norm * r.sum_by_topic(_shared_weights(r, depth))


def residual_rbo(r: SharedRankings, p: float = 0.9) -> FloatArray:
    """Rank-biased overlap, residual: the largest possible increase of the lower bound (RBO_RES).

    It is attained if all further documents are shared as early as possible; RBO-min + RBO-res is
    the upper bound. It depends only on the two lengths and the number of shared documents, so not
    on ties. It ranges from 0 to 1 and is undefined if a ranking is empty.
    """
    short, long, shared = r.min_length, r.max_length, r.n_shared
    # The depth from which on both rankings hold the same documents.
    complete_depth = (short + long - shared).astype(np.int64)
    depth = _DepthSums(p, int(complete_depth.max(initial=0)))
    max_missing = (
        short * depth.sum_over_depth(short + 1, complete_depth)
        + long * depth.sum_over_depth(long + 1, complete_depth)
        + shared * depth.tail_over_depth(complete_depth)
    )
    # Rounding error may make it slightly negative.
    return np.asarray(
        np.maximum(p**short + p**long - p**complete_depth - depth.norm * max_missing, 0.0)
    )


def overlap_at_k(r: SharedRankings, cutoff: int) -> FloatArray:
    """Overlap at k: the number of documents among the first k of both rankings, over k.

    If both rankings are shorter than k, it is divided by the length of the longer one. It ranges
    from 0 to 1 and is undefined if a ranking is empty.
    """
    shared_mask = (r.rank_a <= cutoff) & (r.rank_b <= cutoff)
    return r.sum_by_topic(shared_mask) / np.minimum(cutoff, r.max_length)


_define = partial(
    external_definition,
    family="overlap",
    statistic=SharedRankings,
    higher_is_better=None,
    range=(0, 1),
    undefined={"empty_ranking": lambda r, _: r.min_length == 0},
)

_RBO = _define(name="RBO", formula=extrapolated_rbo, reference=_REFERENCE)
_RBO_MIN = _define(name="RBO-min", formula=min_rbo, reference=_REFERENCE)
_RBO_RES = _define(name="RBO-res", formula=residual_rbo, reference=_REFERENCE)
_OVERLAP = _define(name="overlap", formula=overlap_at_k)


def overlap_measures(p: float, ties: str, cutoffs: tuple[int, ...]) -> list[Measure]:
    """Return RBO with its bounds, and the overlap at each cutoff."""
    return [
        _RBO.bind({"p": p, "ties": ties}),
        _RBO_MIN.bind({"p": p, "ties": ties}),
        _RBO_RES.bind({"p": p}),
        *(_OVERLAP.bind({"cutoff": cutoff}) for cutoff in cutoffs),
    ]


def _resolve_ties(r: SharedRankings, ties: str) -> SharedRankings:
    return r if ties == "average" else r.break_ties()


@dataclass(frozen=True)
class _DepthSums:
    """Sums over a range of depths: of p^d/d, of p^d and of d·p^d."""

    p: float
    max_depth: int

    @property
    def norm(self) -> float:
        return (1 - self.p) / self.p

    @cached_property
    def _sums(self) -> FloatArray:
        d = np.arange(1, self.max_depth + 1)
        powers = self.p**d
        sums = np.cumsum([powers / d, powers, powers * d], axis=1)
        return np.concatenate([np.zeros((3, 1)), sums], axis=1)

    def _range_sum(self, row: int, first: IntArray, last: IntArray) -> FloatArray:
        last = np.maximum(last, first - 1)  # no depth at all where the last is before the first
        return np.asarray(self._sums[row, last] - self._sums[row, first - 1])

    def sum_over_depth(self, first: IntArray, last: IntArray) -> FloatArray:
        """Compute Σ p^d/d."""
        return self._range_sum(0, first, last)

    def sum_powers(self, first: IntArray, last: IntArray) -> FloatArray:
        """Compute Σ p^d."""
        return self._range_sum(1, first, last)

    def sum_times_depth(self, first: IntArray, last: IntArray) -> FloatArray:
        """Compute Σ d·p^d."""
        return self._range_sum(2, first, last)

    def tail_over_depth(self, last: IntArray) -> FloatArray:
        """Compute Σ p^d/d over all depths greater than ``last``."""
        return np.asarray(np.maximum(-np.log1p(-self.p) - self._sums[0, last], 0.0))


def _shared_weights(r: SharedRankings, depth: _DepthSums) -> FloatArray:
    """Compute the weight of each shared document: Σ p^d/d times its inclusion probability.

    The sum is over all d, and the probability is that of being among the first d of both rankings,
    which increases by 1/g per rank within a group of g ties.
    """
    above_a, above_b = r.from_a - 1, r.from_b - 1
    size_a, size_b = r.to_a - above_a, r.to_b - above_b
    first, last = np.maximum(r.from_a, r.from_b), np.maximum(r.to_a, r.to_b)
    # Inside both groups the chance is (d − above_a)(d − above_b)/(size_a·size_b) …
    first_end = np.minimum(r.to_a, r.to_b)
    within_both = (
        depth.sum_times_depth(first, first_end)
        - (above_a + above_b) * depth.sum_powers(first, first_end)
        + above_a * above_b * depth.sum_over_depth(first, first_end)
    ) / (size_a * size_b)
    # … behind the end of one of them it is (d − above)/size in the other.
    start, a_ends_last = np.maximum(first, first_end + 1), r.to_a >= r.to_b
    n_above, size = np.where(a_ends_last, (above_a, size_a), (above_b, size_b))
    within_one = (
        depth.sum_powers(start, last) - n_above * depth.sum_over_depth(start, last)
    ) / size
    return np.asarray(within_both + within_one + depth.tail_over_depth(last))


def _inclusion_probability(
    r: SharedRankings, first: IntArray, last: IntArray, d: IntArray
) -> FloatArray:
    """Compute the probability of each shared document to be among the first d of a ranking.

    d is given per topic.
    """
    depth = np.repeat(d, np.diff(r.offsets))
    return np.clip((depth - first + 1) / (last - first + 1), 0.0, 1.0)
