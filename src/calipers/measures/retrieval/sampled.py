"""Measures of rankings against a sampled pool, estimated from judgments by strata.

A pool is divided into strata, and a random sample of each stratum is judged: n of N documents, so
that a judged document has weight N/n. Documents outside the pool count as non-relevant. If
judgments have no strata, the pool of a topic is one stratum. All measures are ratios of estimates:
they are close to the values under complete judgment of the pool, but not unbiased.
"""

from __future__ import annotations

from functools import partial
from math import inf

from calipers.lazy_imports import numpy as np
from calipers.measures.registration import measure
from calipers.measures.retrieval.judged_fraction import EPSILON
from calipers.statistics import FloatArray, SampledRankings
from calipers.statistics.rankings import running_sum, segment_offsets, segment_sum

XINFAP = "Yilmaz, Kanoulas and Aslam 2008"

#: Where no relevant document was drawn, and where a part of the pool was not drawn from.
NOT_ESTIMABLE = {
    "no_relevant": lambda s, p: s.estimate_n_relevant(p.get("rel", 1)) == 0,
    "stratum_not_drawn": lambda s, _: s.unsampled_mask(),
}
NOT_SAMPLED = {"stratum_not_drawn": NOT_ESTIMABLE["stratum_not_drawn"]}
NO_STRATA = {"no_strata": lambda s, _: s.nonrandom_mask()}
STRATUM_CONDITIONS = {**NOT_ESTIMABLE, **NO_STRATA}
#: A stratum of several documents with a single sampled one has no sampled pair.
PAIR_CONDITIONS = {
    **STRATUM_CONDITIONS,
    "one_judged_in_stratum": lambda s, _: (
        s.sum_by_topic((s.n_sampled == 1) & (s.stratum_sizes > 1)) > 0
    ),
}

sample_measure = partial(
    measure, family="sampled", statistic=SampledRankings, higher_is_better=True
)


@sample_measure(
    "xinfAP",
    aliases=("extended_infAP", "extended_inferred_average_precision"),
    range=(0, 1),
    undefined=STRATUM_CONDITIONS,
    reference=XINFAP,
)
def extended_inferred_average_precision(
    s: SampledRankings, rel: int = 1, smoothing: float = 3.0
) -> FloatArray:
    """Inferred average precision, extended: AP estimated from judgments sampled by strata.

    A judged relevant document at rank k adds N/n · (1/k) (1 + Σ D (r + ε)/(m + cε)) / R̂. The sum
    is over strata: D pooled documents of the stratum are ranked above, of which m are judged and r
    are relevant; ε = 10⁻⁵. R̂ is the estimated number of relevant documents, the sum of N/n over
    those judged relevant. The ``smoothing`` c is 3 as in TREC's sample_eval; trec_eval's infAP,
    which this is with one stratum, has 2. It ranges from 0 to 1. It is undefined if no relevant
    document was sampled, or a stratum was not sampled from.
    """
    pool = s.retrieved_pool
    judged, relevant = pool.grade >= 0, pool.grade >= rel
    expected_relevant_above = np.zeros(len(pool.rank))
    for stratum in range(int(np.diff(s.groups).max(initial=0))):
        stratum_mask = pool.stratum == stratum
        m, r = pool.sum_above(stratum_mask & judged), pool.sum_above(stratum_mask & relevant)
        expected_relevant_above += (
            pool.sum_above(stratum_mask) * (r + EPSILON) / (m + smoothing * EPSILON)
        )
    precision = (1 + expected_relevant_above) / pool.rank
    return pool.sum_by_topic(relevant * pool.sampling_weight * precision) / s.estimate_n_relevant(
        rel
    )


@sample_measure(
    "infP",
    aliases=("inferred_precision",),
    range=(0, 1),
    undefined={**NOT_SAMPLED, **NO_STRATA},
    reference=XINFAP,
)
def inferred_precision(
    s: SampledRankings, cutoff: int, rel: int = 1, smoothing: float = 3.0
) -> FloatArray:
    """Inferred precision at k: P@k estimated from judgments sampled by strata.

    It is Σ D (r + ε)/(m + cε) / k over strata: D pooled documents of the stratum are among the
    first k, of which m are judged and r are relevant; ε = 10⁻⁵ and the ``smoothing`` c is 3, as in
    TREC's sample_eval, whose iP it is. It ranges from 0 to 1. It is undefined if a stratum was not
    sampled from.
    """
    return _inferred_relevant(s, cutoff, rel, smoothing) / cutoff


@sample_measure(
    "infNumRelRet",
    aliases=("inferred_num_rel_ret", "inum_rel_ret"),
    range=(0, inf),
    undefined={**NOT_SAMPLED, **NO_STRATA},
    summary="sum",
    reference=XINFAP,
)
def inferred_relevant_retrieved(
    s: SampledRankings, rel: int = 1, cutoff: int | None = None, smoothing: float = 3.0
) -> FloatArray:
    """Inferred number of relevant documents retrieved (within the cutoff), over all topics.

    Of each topic it is Σ D (r + ε)/(m + cε) over strata, as in ``infP``. It is 0 or more. It is
    undefined if a stratum was not sampled from.
    """
    return _inferred_relevant(s, cutoff, rel, smoothing)


def _inferred_relevant(
    s: SampledRankings, cutoff: int | None, rel: int, smoothing: float
) -> FloatArray:
    """Estimate the number of relevant documents among the first k of each topic."""
    pool, n_groups = s.retrieved_pool, len(s.group_names)
    within_mask = pool.rank <= (inf if cutoff is None else cutoff)
    n_pooled, n_judged, n_relevant = (
        np.bincount(pool.group, mask, n_groups)
        for mask in (
            within_mask,
            within_mask & (pool.grade >= 0),
            within_mask & (pool.grade >= rel),
        )
    )
    return s.sum_by_topic(n_pooled * (n_relevant + EPSILON) / (n_judged + smoothing * EPSILON))


@sample_measure(
    "infNumRel",
    aliases=("inferred_num_rel", "inum_rel"),
    range=(0, inf),
    undefined=NOT_SAMPLED,
    summary="sum",
    higher_is_better=None,
    reference=XINFAP,
)
def inferred_relevant(s: SampledRankings, rel: int = 1) -> FloatArray:
    """Inferred number of relevant documents, over all topics.

    Of each topic it is the sum of N/n, or 1/π, over the documents judged relevant. It is 0 or more.
    It is undefined if a stratum was not sampled from.
    """
    return s.estimate_n_relevant(rel)


@sample_measure(
    "statP",
    aliases=("statistical_precision", "statPC"),
    range=(0, inf),
    undefined=NOT_SAMPLED,
    reference="Aslam and Pavlu 2007",
)
def statistical_precision(s: SampledRankings, cutoff: int, rel: int = 1) -> FloatArray:
    """Statistical precision at k: P@k estimated from judgments with inclusion probabilities π.

    It is the sum of 1/π over the judged relevant documents among the first k, divided by k. It is 0
    or more, and can exceed 1. It is undefined if a part of the pool was not sampled from.
    """
    pool = s.retrieved_pool
    relevant_mask = (pool.grade >= rel) & (pool.rank <= cutoff)
    return pool.sum_by_topic(pool.sampling_weight * relevant_mask) / cutoff


@sample_measure(
    "statRprec",
    aliases=("statistical_R_precision", "statRP"),
    range=(0, inf),
    undefined=NOT_ESTIMABLE,
    reference="Aslam and Pavlu 2007",
)
def statistical_r_precision(s: SampledRankings, rel: int = 1) -> FloatArray:
    """Statistical R-precision, estimated from judgments with inclusion probabilities π.

    R̂, the sum of 1/π over all documents judged relevant, is rounded (halves up) to the rank at
    which ``statP`` is taken; if fewer documents were retrieved, the sum over all of them is divided
    by R̂. It is 0 or more, and can exceed 1. It is undefined if no relevant document was sampled, or
    a part of the pool was not sampled from.
    """
    pool, total = s.retrieved_pool, s.estimate_n_relevant(rel)
    depth = np.floor(total + 0.5)
    within_mask = pool.rank <= np.repeat(depth, np.diff(pool.offsets))
    retrieved = pool.sum_by_topic(pool.sampling_weight * ((pool.grade >= rel) & within_mask))
    return retrieved / np.where(s.retrieved >= depth, depth, total)


@sample_measure(
    "statAP",
    aliases=("statistical_AP",),
    range=(0, inf),
    undefined=NOT_ESTIMABLE,
    reference="Aslam and Pavlu 2007",
)
def statistical_average_precision(s: SampledRankings, rel: int = 1) -> FloatArray:
    """Statistical average precision: AP estimated from judgments with inclusion probabilities π.

    A judged relevant document at rank k adds (1/π) (1/k) (1 + Σ 1/π) / R̂. The inner sum is over
    the judged relevant documents above it, and R̂, the estimated number of relevant documents, is
    the sum of 1/π over all documents judged relevant. π is n/N if strata are given. It is 0 or
    more, and can exceed 1. It is undefined if no relevant document was sampled, or a part of the
    pool was not sampled from.
    """
    pool = s.retrieved_pool
    weight = np.where(pool.grade >= rel, pool.sampling_weight, 0.0)
    return pool.sum_by_topic(
        weight * (1 + pool.sum_above(weight)) / pool.rank
    ) / s.estimate_n_relevant(rel)


@sample_measure(
    "HT-AP",
    aliases=("Horvitz_Thompson_AP",),
    range=(0, inf),
    undefined=PAIR_CONDITIONS,
    reference="Horvitz and Thompson 1952",
)
def horvitz_thompson_average_precision(s: SampledRankings, rel: int = 1) -> FloatArray:
    """Horvitz-Thompson estimate of AP: Σ 1/(k π_df) / R̂ over pairs of judged relevant documents.

    Document d is at rank k, and f at or above it. π_df is the probability that both are sampled:
    n(n − 1)/(N(N − 1)) in a stratum of N documents of which n are judged, n/N for a document with
    itself, and the product for two strata. R̂ = Σ N/n. The sum and R̂ are unbiased; their ratio is
    not, and it can exceed 1. `statAP` uses the product for documents of one stratum as well. It is
    0 or more. It is undefined if no relevant document was sampled, a stratum was not sampled from,
    or only one of several documents of a stratum was sampled.
    """
    pool = s.retrieved_pool
    relevant = pool.grade >= rel
    weight = np.where(relevant, pool.sampling_weight, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):  # of one document, which has no pair
        inverse_pair_probability = (
            s.stratum_sizes * (s.stratum_sizes - 1) / (s.n_sampled * (s.n_sampled - 1))
        )
    inverse_pair_probability = np.where(s.n_sampled > 1, inverse_pair_probability, 0.0)
    pair_weights = weight * (1 + pool.sum_above(weight))
    for stratum in range(int(np.diff(s.groups).max(initial=0))):
        stratum_mask = relevant & (pool.stratum == stratum)
        pair_terms = np.where(
            stratum_mask, inverse_pair_probability[pool.group] * pool.sum_above(stratum_mask), 0.0
        )
        pair_weights += pair_terms - np.where(
            stratum_mask, weight * pool.sum_above(np.where(stratum_mask, weight, 0.0)), 0.0
        )
    return pool.sum_by_topic(pair_weights / pool.rank) / s.estimate_n_relevant(rel)


@sample_measure(
    "infNDCG",
    aliases=("inferred_nDCG",),
    range=(0, inf),
    undefined=STRATUM_CONDITIONS,
    reference=XINFAP,
)
def inferred_ndcg(s: SampledRankings, cutoff: int = 1000) -> FloatArray:
    """Inferred nDCG: nDCG with the grade as gain, estimated from judgments sampled by strata.

    The DCG of a stratum is the mean discounted gain of its judged documents among the first k,
    times the number of its documents there, as in TREC's sample_eval. For each grade the ideal list
    has as many documents as are estimated to exist, Σ N/n, rounded (halves up). It is 0 or more,
    and can exceed 1. It is undefined if no relevant document was sampled, or a stratum was not
    sampled from.
    """
    pool, n_groups = s.retrieved_pool, len(s.group_names)
    within_mask = pool.rank <= cutoff
    judged = within_mask & (pool.grade >= 0)
    gain = np.where(judged, pool.grade, 0.0) / np.log2(pool.rank + 1)
    n_pooled, n_judged, gain_sums = (
        np.bincount(pool.group, values, n_groups) for values in (within_mask, judged, gain)
    )
    dcg = s.sum_by_topic(n_pooled * gain_sums / np.maximum(n_judged, 1))
    return dcg / _ideal_dcg(s, cutoff)


def _ideal_dcg(s: SampledRankings, cutoff: int) -> FloatArray:
    """Compute the DCG per topic of the estimated number of documents of each grade."""
    relevant_mask = s.level > 0
    topic, grade = s.judgment_topic[relevant_mask], s.level[relevant_mask]
    pairs, pair_index = np.unique(np.stack([topic, -grade], axis=1), axis=0, return_inverse=True)
    estimated = np.bincount(pair_index.reshape(-1), s.sampling_weight[relevant_mask], len(pairs))
    count = np.floor(estimated + 0.5 + 1e-9)  # N/n need not be exact, but sums near .5 are halves
    offsets = segment_offsets(np.bincount(pairs[:, 0].astype(np.int64), minlength=len(s)))
    last = np.minimum(running_sum(count, offsets), cutoff).astype(np.int64)
    first = np.minimum(running_sum(count, offsets) - count, cutoff).astype(np.int64)
    cumulative_discounts = np.concatenate([[0.0], np.cumsum(1 / np.log2(np.arange(cutoff) + 2))])
    return segment_sum(
        -pairs[:, 1] * (cumulative_discounts[last] - cumulative_discounts[first]), offsets
    )
