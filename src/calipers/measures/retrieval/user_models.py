"""Measures based on user models: probabilities of continuing down a ranking, and gains."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial, wraps
from itertools import pairwise
from math import inf
from typing import Any, NamedTuple, TypeVar

from calipers.caching import cached
from calipers.lazy_imports import numpy as np
from calipers.measures.cwl_models import MODEL_PARAMETER_NAMES, USER_MODELS, RankedGains
from calipers.measures.grade_gains import Gains, grade_gain
from calipers.measures.retrieval.binary_relevance import cutoff_mask
from calipers.measures.retrieval.gains import (
    ABOVE_SCALE,
    NO_GAIN,
    NO_POSITIVE_GAIN,
    add_gains,
    blended_ratio,
    positive_gains,
)
from calipers.measures.retrieval.traits import ranking_measure, retrieval_measure, unbounded_measure
from calipers.statistics import FloatArray, IntArray, JudgedRankings
from calipers.statistics.rankings import IdealRankings, running_product

F = TypeVar("F", bound=Callable[..., Any])


def persistence_weights(p: float, rank: IntArray) -> FloatArray:
    """Compute p^(rank − 1) by multiplication from rank to rank.

    This has the rounding of programs that multiply as well.
    """
    steps = np.full(int(rank.max(initial=1)), p)
    steps[0] = 1.0
    return np.asarray(np.cumprod(steps)[rank - 1])


@ranking_measure(
    "RBP",
    aliases=("rank_biased_precision",),
    ties="linear",
    reference="Moffat and Zobel 2008",
    undefined=ABOVE_SCALE,
)
def rank_biased_precision(
    r: JudgedRankings,
    p: float = 0.8,
    rel: int = 1,
    gain: str = "binary",
    max_grade: int = 1,
    gains: Gains = None,
    cutoff: int | None = None,
) -> FloatArray:
    """Rank-biased precision: (1 − p) Σ gain · p^(rank − 1).

    The user continues to the next document with probability p. ``gain`` is one of ``'binary'``, 1
    for relevant documents; ``'scale'``, the grade over ``max_grade``; ``'grade'``, the grade itself
    (or its entry in ``gains``), which can exceed 1; and ``'topic-max'``, the same, but scaled to
    [0, 1] over the grades of the topic if it leaves that range, as in trec_eval. It ranges from 0
    to 1 if gains do, and is undefined if ``gain`` is ``'scale'`` and a grade exceeds ``max_grade``.
    """
    r, document_gains = _document_gains(r, rel, gain, max_grade, gains)
    return (1 - p) * r.sum_by_topic(
        document_gains
        * r.map_ranks(lambda rank: cutoff_mask(rank, cutoff) * persistence_weights(p, rank))
    )


@ranking_measure(
    "compatibility",
    aliases=("compat",),
    perfect=1.0,
    undefined={"no_relevant": lambda r, _: r.n_relevant() == 0},
    reference="Clarke, Vtyurina and Smucker 2021",
)
def compatibility(r: JudgedRankings, cutoff: int = 1000, p: float = 0.95) -> FloatArray:
    """Compatibility: rank-biased overlap with the most similar ideal ranking, normalized.

    The overlap, down to rank k, is divided by the overlap of the ideal ranking with itself. An
    ideal ranking has the relevant documents by descending grade; documents of one grade are in the
    order of the ranking, which maximizes the overlap. A document adds to the overlap from the rank
    on where both rankings have it: Σ_i p^(i − 1)/i. It ranges from 0 to 1 and is undefined without
    relevant documents.
    """
    rank = np.arange(1, cutoff + 1)
    # From each rank on, 0 beyond the cutoff.
    tail_weights = np.append(np.cumsum((persistence_weights(p, rank) / rank)[::-1])[::-1], 0.0)
    hit_mask = r.hit_mask(1)
    ideal = r.ideal_rankings(np.maximum(r.judged_grade, 0).astype(np.float64))
    # Documents of one grade follow each other: its first place in the ideal list, and which of the
    # grade this is.
    order = np.lexsort((r.rank, -r.grade, r.topic_index))
    first = np.ones(len(order), bool)
    first[1:] = (np.diff(r.topic_index[order]) != 0) | (np.diff(r.grade[order]) != 0)
    start = np.maximum.accumulate(np.where(first, np.arange(len(order)), 0))
    ideal_rank = np.empty(len(order), np.int64)
    ideal_rank[order] = np.arange(len(order)) - start
    base = int(r.max_grade.max(initial=0)) + 1
    topic = np.repeat(np.arange(len(r)), ideal.lengths)
    keys = topic * base + (base - 1 - ideal.gain.astype(np.int64))
    grade_offsets = np.searchsorted(keys, r.topic_index * base + (base - 1 - r.grade))
    ideal_rank += grade_offsets - ideal.offsets[r.topic_index] + 1
    joint_rank = np.minimum(np.maximum(ideal_rank, r.rank), cutoff + 1)
    return r.sum_by_topic(
        np.where(hit_mask, tail_weights[joint_rank - 1], 0.0)
    ) / ideal.sum_by_topic(tail_weights[np.minimum(ideal.rank, cutoff + 1) - 1])


def _expected_over_ties(
    r: JudgedRankings,
    stop_probability: FloatArray,
    rank_weight: Callable[[IntArray], FloatArray],
) -> FloatArray:
    """Compute the expected weight of the rank of the document that satisfies the user.

    The expectation is over orders of tied documents. In a block, the probability that the user
    passes the first j documents is the mean of the product of their probabilities to be passed,
    over all choices of j documents. This is an elementary symmetric polynomial over its number of
    terms.
    """
    pass_probability = 1 - stop_probability
    out = np.zeros(len(r))
    for topic, (first, last) in enumerate(pairwise(r.offsets)):
        reach_probability = 1.0
        start = first
        while start < last:
            stop = start + int(
                np.searchsorted(r.tied_from[start:last], r.tied_from[start], "right")
            )
            size = int(r.tied_to[start] - r.tied_from[start] + 1)
            means = np.zeros(size + 1)
            means[0] = 1.0
            pass_probabilities = np.concatenate(
                [pass_probability[start:stop], np.ones(size - (stop - start))]
            )
            for n, probability in enumerate(pass_probabilities, 1):
                j = np.arange(1, n + 1)
                means[1 : n + 1] = ((n - j) * means[1 : n + 1] + j * probability * means[:n]) / n
            ranks = r.tied_from[start] + np.arange(size)
            out[topic] += reach_probability * np.sum(-np.diff(means) * rank_weight(ranks))
            reach_probability *= means[size]
            start = stop
    return out


def expected_reciprocal_rank_over_ties(
    r: JudgedRankings, cutoff: int | None = None, max_grade: int = 4, gains: Gains = None
) -> FloatArray:
    """Compute the expected ERR over orders of tied documents."""
    r, stop_probability = _stop_probability(r, max_grade, gains)
    return _expected_over_ties(r, stop_probability, lambda rank: cutoff_mask(rank, cutoff) / rank)


@ranking_measure(
    "ERR",
    aliases=("expected_reciprocal_rank",),
    undefined=ABOVE_SCALE,
    ties=expected_reciprocal_rank_over_ties,
    reference="Chapelle, Metzler, Zhang and Grinspan 2009",
)
def expected_reciprocal_rank(
    r: JudgedRankings, cutoff: int | None = None, max_grade: int = 4, gains: Gains = None
) -> FloatArray:
    """ERR (expected reciprocal rank): Σ θ/rank · Π (1 − θ of the documents above).

    A document satisfies the user with probability θ = (2^grade − 1) / 2^max_grade, or, with
    ``gains``, the gain over the largest gain of the scale plus 1, as in NTCIR. The highest grade of
    the scale is 4 by default, as in the TREC web track; a topic with a higher grade is undefined.
    It ranges from 0 to 1. For classifiers ERR means the error rate, which is SetErrorRate of
    retrieved sets.
    """
    r, stop_probability = _stop_probability(r, max_grade, gains)
    return _expected_reciprocal_rank(r, stop_probability, cutoff)


@ranking_measure(
    "nERR",
    aliases=("normalised_err",),
    perfect=1.0,
    undefined={**NO_GAIN, **ABOVE_SCALE},
    reference="ERR: Chapelle, Metzler, Zhang and Grinspan 2009",
)
def normalized_expected_reciprocal_rank(
    r: JudgedRankings, cutoff: int | None = None, max_grade: int = 4, gains: Gains = None
) -> FloatArray:
    """Normalized expected reciprocal rank: ERR over that of the ideal list.

    The ideal list has all judged documents, in decreasing order of gain. It ranges from 0 to 1 and
    is undefined without relevant documents, or if a grade exceeds ``max_grade``.
    """  # noqa: D401  # a noun
    best = r.ideal_rankings(_satisfaction(r.judged_grade, max_grade, gains))
    ideal_value = _expected_reciprocal_rank(best, best.gain, cutoff)
    return expected_reciprocal_rank(r, cutoff, max_grade, gains) / ideal_value


@ranking_measure(
    "EBR",
    aliases=("expected_blended_ratio",),
    undefined={**NO_POSITIVE_GAIN, **ABOVE_SCALE},
    monotone=False,
    reference="Sakai and Zeng 2020",
)
def expected_blended_ratio(
    r: JudgedRankings,
    cutoff: int | None = None,
    beta: float = 1.0,
    max_grade: int = 4,
    gains: Gains = None,
) -> FloatArray:
    """Expected blended ratio: the blended ratio of Q-measure where the user of ERR is satisfied.

    A document satisfies the user with probability θ, its gain over the largest gain of the scale
    plus 1, and EBR is Σ BR·θ · Π (1 − θ of the documents above). It ranges from 0 to 1 and is
    undefined if no judged document has a positive gain, or if a grade exceeds ``max_grade``.
    """  # noqa: D401  # a noun
    r, gain, best = positive_gains(r, gains)
    stop_probability = _satisfaction(r.grade, max_grade, gains or ())
    ratio = np.where(gain > 0, blended_ratio(r, gain, best, beta), 0.0)
    return r.sum_by_topic(_stops_at(r, stop_probability) * ratio * cutoff_mask(r.rank, cutoff))


def rank_biased_utility_over_ties(
    r: JudgedRankings,
    cutoff: int | None = None,
    p: float = 0.99,
    max_grade: int = 4,
    gains: Gains = None,
) -> FloatArray:
    """Compute the expected iRBU over orders of tied documents."""
    r, stop_probability = _stop_probability(r, max_grade, gains or ())
    return _expected_over_ties(
        r, stop_probability, lambda rank: np.asarray(cutoff_mask(rank, cutoff) * p**rank)
    )


@ranking_measure(
    "iRBU",
    undefined=ABOVE_SCALE,
    ties=rank_biased_utility_over_ties,
    reference="Sakai and Zeng 2020",
)
def intentwise_rank_biased_utility(
    r: JudgedRankings,
    cutoff: int | None = None,
    p: float = 0.99,
    max_grade: int = 4,
    gains: Gains = None,
) -> FloatArray:
    """Intentwise rank-biased utility: Σ p^rank · θ · Π (1 − θ of the documents above).

    It is ERR with p^rank in place of 1/rank: the utility of the document that satisfies the user
    decreases by the persistence p. θ is the gain over the largest gain of the scale plus 1. It is
    RBU of a single subtopic, but for its effort and its scale. It ranges from 0 to 1 and is
    undefined if a grade exceeds ``max_grade``.
    """
    r, stop_probability = _stop_probability(r, max_grade, gains or ())
    weight = cutoff_mask(r.rank, cutoff) * p ** r.rank.astype(np.float64)
    return r.sum_by_topic(_stops_at(r, stop_probability) * weight)


@ranking_measure("INST", undefined=ABOVE_SCALE, reference="Moffat, Bailey, Scholer and Thomas 2015")
def inst(
    r: JudgedRankings,
    T: float = 1.0,  # noqa: N803 - its name in the literature
    rel: int = 1,
    gain: str = "binary",
    max_grade: int = 1,
    cutoff: int = 1000,
) -> FloatArray:
    """INST: the expected gain per document of a user who wants T relevant documents.

    The user becomes less patient as relevant documents are found and continues from rank i with
    probability ((i + T + Tᵢ − 1) / (i + T + Tᵢ))², where Tᵢ is T minus the cumulative gain down to
    i. The ranking ends at the cutoff. Gains are those of RBP. It ranges from 0 to 1 and is
    undefined if ``gain`` is ``'scale'`` and a grade exceeds ``max_grade``.
    """
    return _read(r, "INST", rel, gain, max_grade, cutoff, T=T).rate


@ranking_measure(
    "BPM",
    aliases=("bejeweled",),
    undefined=ABOVE_SCALE,
    reference="Zhang, Liu, Li, Zhang, Xu and Ma 2017",
)
def bejeweled_player_model(
    r: JudgedRankings,
    cutoff: int,
    T: float = 1.0,  # noqa: N803 - its name in the literature
    rel: int = 1,
    gain: str = "binary",
    max_grade: int = 1,
) -> FloatArray:
    """Bejeweled player model, static: the gain per document of a user who stops at a gain of T.

    The user stops when the cumulative gain has reached T, or at rank k. Gains are those of RBP. It
    ranges from 0 to 1 and is undefined if ``gain`` is ``'scale'`` and a grade exceeds
    ``max_grade``.
    """
    _, document_gains = _document_gains(r, rel, gain, max_grade)
    so_far = r.cumulative_sum(document_gains)
    reached_mask = (so_far >= T - 1e-9) & (so_far - document_gains < T - 1e-9) & (r.rank <= cutoff)
    stop = np.where(
        r.sum_by_topic(reached_mask) > 0, r.sum_by_topic(np.where(reached_mask, r.rank, 0)), cutoff
    )
    return r.sum_by_topic(document_gains * (r.rank <= stop[r.topic_index])) / stop


@ranking_measure(
    "INSQ",
    undefined=ABOVE_SCALE,
    ties="linear",
    reference="Moffat, Scholer and Thomas 2012",
)
def insq(
    r: JudgedRankings,
    T: float = 1.0,  # noqa: N803 - its name in the literature
    rel: int = 1,
    gain: str = "binary",
    max_grade: int = 1,
    cutoff: int = 1000,
) -> FloatArray:
    """INSQ: Σ gain / (rank + 2T − 1)² over Σ 1 / (rank + 2T − 1)², both down to the cutoff.

    It is the gain per document of a user who wants T relevant documents, whose patience does not
    depend on those that were found; with INST it does. Gains are those of RBP. It ranges from 0 to
    1 and is undefined if ``gain`` is ``'scale'`` and a grade exceeds ``max_grade``.
    """
    _, document_gains = _document_gains(r, rel, gain, max_grade)

    def weight(rank: IntArray | FloatArray) -> FloatArray:
        return np.asarray((rank + 2 * T - 1.0) ** -2)

    views = r.map_ranks(lambda rank: cutoff_mask(rank, cutoff) * weight(rank))
    return r.sum_by_topic(document_gains * views) / np.sum(weight(np.arange(1.0, cutoff + 1)))


@ranking_measure(
    "IFT",
    undefined=ABOVE_SCALE,
    monotone=False,
    reference="Azzopardi, Thomas and Craswell 2018",
)
def information_foraging(
    r: JudgedRankings,
    T: float = 2.0,  # noqa: N803 - names in the literature
    b1: float = 0.9,
    R1: float = 10.0,  # noqa: N803
    A: float = 0.2,  # noqa: N803
    b2: float = 0.9,
    R2: float = 10.0,  # noqa: N803
    rel: int = 1,
    gain: str = "binary",
    max_grade: int = 1,
    costs: Gains = None,
    cutoff: int = 1000,
) -> FloatArray:
    """Information foraging measure: the gain per document of a user with a goal and a rate.

    The user continues from a rank with probability C₁·C₂. C₁ = 1 − 1 / (1 + b₁·e^((T − G)·R₁))
    falls as the cumulative gain G approaches the goal T, and C₂ = 1 / (1 + b₂·e^((A − G/K)·R₂)) as
    its rate per cumulative cost K falls below the rate A that is expected elsewhere. R₁ and R₂ are
    how rational the user is: 0 ignores the goal, or the rate. Gains are those of RBP, and costs
    those of EC. It ranges from 0 to 1 and is undefined if ``gain`` is ``'scale'`` and a grade
    exceeds ``max_grade``.
    """
    parameters = {"T": T, "b1": b1, "R1": R1, "A": A, "b2": b2, "R2": R2}
    return _read(r, "IFT", rel, gain, max_grade, cutoff, costs, **parameters).rate


#: Measures that treat the gain of a document as the probability that it satisfies the user.
satisfaction_measure = partial(
    ranking_measure,
    undefined=ABOVE_SCALE,
    reference="Azzopardi, Mackenzie and Moffat 2021",
)


@satisfaction_measure("NERR8")
def nearly_err_8(
    r: JudgedRankings, cutoff: int, rel: int = 1, gain: str = "binary", max_grade: int = 1
) -> FloatArray:
    """NERR of equation 8: the gain per document of a user who stops when satisfied, or at rank k.

    A document satisfies the user with the probability of its gain g, and the user continues from it
    with C = 1 − g. It is a C/W/L measure near ERR, not a normalized ERR. Gains are those of RBP. It
    ranges from 0 to 1 and is undefined if ``gain`` is ``'scale'`` and a grade exceeds
    ``max_grade``.
    """
    return _read(r, "NERR8", rel, gain, max_grade, cutoff).rate


@satisfaction_measure("NERR9")
def nearly_err_9(
    r: JudgedRankings, cutoff: int, rel: int = 1, gain: str = "binary", max_grade: int = 1
) -> FloatArray:
    """NERR of equation 9: NERR8 of a user who also loses patience, by C = i/(i + 1)·(1 − g).

    i is the rank and g the gain of the document, so that ranks are viewed with the weights of ERR.
    Gains are those of RBP. It ranges from 0 to 1 and is undefined if ``gain`` is ``'scale'`` and a
    grade exceeds ``max_grade``.
    """
    return _read(r, "NERR9", rel, gain, max_grade, cutoff).rate


@satisfaction_measure("NERR10")
def nearly_err_10(
    r: JudgedRankings,
    p: float = 0.9,
    rel: int = 1,
    gain: str = "binary",
    max_grade: int = 1,
    cutoff: int = 1000,
) -> FloatArray:
    """NERR of equation 10: NERR8 of a user with the persistence of RBP, by C = p·(1 − g).

    g is the gain of the document; gains are those of RBP. It ranges from 0 to 1 and is undefined if
    ``gain`` is ``'scale'`` and a grade exceeds ``max_grade``.
    """
    return _read(r, "NERR10", rel, gain, max_grade, cutoff, p=p).rate


@satisfaction_measure("NERR11")
def nearly_err_11(
    r: JudgedRankings,
    T: float = 1.0,  # noqa: N803 - its name in the literature
    rel: int = 1,
    gain: str = "binary",
    max_grade: int = 1,
    cutoff: int = 1000,
) -> FloatArray:
    """NERR of equation 11: NERR8 of a user with the patience of INSQ.

    The user continues from rank i with C = ((i + 2T − 1) / (i + 2T))²·(1 − g), where g is the gain
    of the document; gains are those of RBP. It ranges from 0 to 1 and is undefined if ``gain`` is
    ``'scale'`` and a grade exceeds ``max_grade``.
    """
    return _read(r, "NERR11", rel, gain, max_grade, cutoff, T=T).rate


@unbounded_measure(
    "TBG",
    aliases=("time-biased-gain",),
    undefined=ABOVE_SCALE,
    monotone=False,
    reference="Smucker and Clarke 2012",
)
def time_biased_gain(
    r: JudgedRankings,
    half_life: float = 224.0,
    rel: int = 1,
    gain: str = "binary",
    max_grade: int = 1,
    costs: Gains = None,
    cutoff: int = 1000,
) -> FloatArray:
    """Time-biased gain: Σ gain · 2^(−t/half_life), where t is the time until the document.

    t is the sum of the times of the documents above: ``costs`` by grade as of EC, such as
    ``{-1: 9, 0: 9, 1: 15}`` seconds. (The mean time of documents of a grade takes the place of one
    by their length.) Half of the users have stopped after ``half_life``. Gains are those of RBP.
    The gain per document, which cwl_eval calls TBG, is EU(user_model='TBG'). It is 0 or more and
    undefined if ``gain`` is ``'scale'`` and a grade exceeds ``max_grade``.
    """
    return _read(r, "TBG", rel, gain, max_grade, cutoff, costs, half_life=half_life).gain


@unbounded_measure(
    "U",
    aliases=("U-measure", "UMeasure"),
    undefined=ABOVE_SCALE,
    monotone=False,
    reference="Sakai and Dou 2013",
)
def u_measure(
    r: JudgedRankings,
    L: float = 1000.0,  # noqa: N803 - its name in the literature
    rel: int = 1,
    gain: str = "binary",
    max_grade: int = 1,
    costs: Gains = None,
    cutoff: int = 1000,
) -> FloatArray:
    """U-measure: Σ gain · max(0, 1 − x/L), where x is the amount of text above the document.

    x is the sum of the lengths of the documents above: ``costs`` by grade as of EC. No user reads
    more than L. As in cwl_eval, x does not include the document itself. Gains are those of RBP. The
    gain per document, which cwl_eval calls U, is EU(user_model='U'). It is 0 or more and undefined
    if ``gain`` is ``'scale'`` and a grade exceeds ``max_grade``.
    """
    return _read(r, "U", rel, gain, max_grade, cutoff, costs, L=L).gain


def _user_model_measure(name: str, **traits: Any) -> Callable[[F], F]:
    """Return a decorator that registers a function of a reading as a measure of any user model.

    Its parameters are those of gains and costs, and those of all models. The docstring of the
    function is its description.
    """

    def register(value: F) -> F:
        @wraps(value)
        def formula(
            r: JudgedRankings,
            user_model: str,
            rel: int = 1,
            gain: str = "binary",
            max_grade: int = 1,
            costs: Gains = None,
            cutoff: int = 1000,
            **parameters: Any,
        ) -> FloatArray:
            reading = _read(r, user_model, rel, gain, max_grade, cutoff, costs, **parameters)
            return np.asarray(value(reading))

        shared = list(inspect.signature(formula, follow_wrapped=False).parameters.values())[:-1]
        keyword = inspect.Parameter.KEYWORD_ONLY
        models = [inspect.Parameter(p, keyword, default=None) for p in MODEL_PARAMETER_NAMES]
        vars(formula)["__signature__"] = inspect.Signature([*shared, *models])
        retrieval_measure(name, undefined=ABOVE_SCALE, monotone=False, **traits)(formula)
        return value

    return register


@_user_model_measure(
    "EU",
    aliases=("expected_utility", "expected_rate_of_gain"),
    higher_is_better=True,
    range=(0, 1),
    reference="Moffat, Bailey, Scholer and Thomas 2017",
)
def expected_utility(reading: _Reading) -> FloatArray:
    """Expected utility of a user model: the gain per document that the user views.

    The user of a C/W/L model views rank 1 and continues from rank i with probability Cᵢ, until the
    cutoff at the latest. V, the probability to view a rank, is the product of the C above it, and
    EU is Σ V·gain over Σ V. ``user_model`` names the model after its measure: P, RR, AP (of the
    relevant documents found), SDCG, RBP, INST, INSQ, BPM, IFT, NERR8, NERR9, NERR10 and NERR11, of
    which it is the value at the same cutoff, and TBG and U, of which it is the value per document.
    IFT-C1 is IFT with a goal only, and IFT-C2 with a rate only. The user of BPM stops at a
    cumulative gain of T or a cumulative cost of K; in the dynamic model these limits change by hb
    and hc times gain − gain_med of each document. Other parameters are those of the measure of the
    model. Gains are those of RBP, and costs those of EC. It ranges from 0 to 1 and is undefined if
    ``gain`` is ``'scale'`` and a grade exceeds ``max_grade``.
    """  # noqa: D401  # a noun
    return reading.rate


@_user_model_measure(
    "ETU",
    aliases=("expected_total_utility",),
    higher_is_better=True,
    range=(0, inf),
    reference="Moffat, Bailey, Scholer and Thomas 2017",
)
def expected_total_utility(reading: _Reading) -> FloatArray:
    """Expected total utility of a user model: the gain of all documents that the user views.

    It is Σ V·gain, or EU·ED; models and parameters are those of EU. It is 0 or more and undefined
    if ``gain`` is ``'scale'`` and a grade exceeds ``max_grade``.
    """  # noqa: D401  # a noun
    return reading.gain


@_user_model_measure(
    "EC",
    aliases=("expected_cost",),
    higher_is_better=None,
    range=(0, inf),
    reference="Azzopardi, Thomas and Moffat 2019",
)
def expected_cost(reading: _Reading) -> FloatArray:
    """Expected cost of a user model: the cost per document that the user views.

    It is Σ V·cost over Σ V; models and parameters are those of EU. ``costs`` are by grade, in any
    unit, such as ``{-1: 9, 0: 9, 1: 15}`` seconds, with the key −1 for unjudged documents and ranks
    without a document, and −2 for documents that are judged with a negative grade. Without an entry
    the cost is 1. It is 0 or more and undefined if ``gain`` is ``'scale'`` and a grade exceeds
    ``max_grade``.
    """  # noqa: D401  # a noun
    return np.asarray(reading.cost / reading.depth)


@_user_model_measure(
    "ETC",
    aliases=("expected_total_cost",),
    higher_is_better=None,
    range=(0, inf),
    reference="Azzopardi, Thomas and Moffat 2019",
)
def expected_total_cost(reading: _Reading) -> FloatArray:
    """Expected total cost of a user model: the cost of all documents that the user views.

    It is Σ V·cost, or EC·ED; models and parameters are those of EU, and costs those of EC. It is 0
    or more and undefined if ``gain`` is ``'scale'`` and a grade exceeds ``max_grade``.
    """  # noqa: D401  # a noun
    return reading.cost


@_user_model_measure(
    "ED",
    aliases=("expected_depth", "expected_items"),
    higher_is_better=None,
    range=(1, inf),
    reference="Azzopardi, Thomas and Moffat 2019",
)
def expected_depth(reading: _Reading) -> FloatArray:
    """Expected depth of a user model: the number of documents that the user views.

    It is Σ V, where V is the probability to view a rank; models and parameters are those of EU.
    Neither more nor fewer are better: a user stops because of success, or for lack of it. It is 1
    or more and undefined if ``gain`` is ``'scale'`` and a grade exceeds ``max_grade``.
    """  # noqa: D401  # a noun
    return reading.depth


def _gain_range(r: JudgedRankings, gains: Gains) -> tuple[FloatArray, FloatArray]:
    """Return the lowest and the highest gain per topic.

    The gains are those of the grades from 0 to the highest grade of the topic, and all of
    ``gains``.
    """
    gain_by_grade = dict(gains or ())

    def next_unmapped_grade(grade: int, step: int) -> int:
        while grade in gain_by_grade:
            grade += step
        return grade

    highest = np.maximum(r.max_grade, 0)
    low, high = np.empty(len(r)), np.empty(len(r))
    for max_grade in np.unique(highest).tolist():
        extreme_grades = (next_unmapped_grade(0, 1), next_unmapped_grade(max_grade, -1))
        table = [
            *gain_by_grade.values(),
            *(grade for grade in extreme_grades if 0 <= grade <= max_grade),
        ]
        low[highest == max_grade], high[highest == max_grade] = min(table), max(table)
    return low, high


def _document_gains(
    r: JudgedRankings, rel: int, gain: str, max_grade: int, gains: Gains = None
) -> tuple[JudgedRankings, FloatArray]:
    """Return the rankings and the gain of each of their documents, as RBP defines it."""
    if gain == "binary":
        return r, (r.grade >= rel).astype(np.float64)
    if gain == "scale":
        return r, grade_gain(r.grade) / max_grade
    r, document_gains = add_gains(r, gains)
    if gain == "topic-max":
        low, high = _gain_range(r, gains)
        stretch_mask = (low < 0) | (high > 1)
        low, high = np.where(stretch_mask, [low, high], [[0.0], [1.0]])[:, r.topic_index]
        has_gain_mask = (r.grade >= 0) | np.isin(r.grade, [grade for grade, _ in gains or ()])
        document_gains = np.where(
            has_gain_mask, (document_gains - low) / (high - low), document_gains
        )
    return r, document_gains


def _satisfaction(grade: IntArray, max_grade: int, gains: Gains) -> FloatArray:
    """Return the probability that a document of each grade satisfies the user."""
    if gains is None:
        return np.asarray((np.exp2(grade_gain(grade)) - 1) / 2.0**max_grade)
    gain_by_grade = {g: gain for g, gain in gains if g <= max_grade}
    highest = max_grade
    while highest in gain_by_grade:
        highest -= 1
    largest = max([float(highest), *gain_by_grade.values()])
    return np.asarray(np.maximum(grade_gain(grade, gains), 0) / (largest + 1))


def _stop_probability(
    r: JudgedRankings, max_grade: int, gains: Gains
) -> tuple[JudgedRankings, FloatArray]:
    """Return the rankings and the probability that each document satisfies the user."""
    r, _ = add_gains(r, gains)
    return r, _satisfaction(r.grade, max_grade, gains)


def _stops_at(r: JudgedRankings | IdealRankings, stop_probability: FloatArray) -> FloatArray:
    """Return the probability that the user stops at each document, and not above it."""
    return np.asarray(
        stop_probability
        * (running_product(1 - stop_probability, r.offsets) / (1 - stop_probability))
    )


def _expected_reciprocal_rank(
    r: JudgedRankings | IdealRankings, stop_probability: FloatArray, cutoff: int | None
) -> FloatArray:
    """Compute the expected reciprocal rank of the document that satisfies the user."""
    return r.sum_by_topic(_stops_at(r, stop_probability) * cutoff_mask(r.rank, cutoff) / r.rank)


class _Reading(NamedTuple):
    """Expected totals of the documents that a user views, per topic."""

    gain: FloatArray
    cost: FloatArray
    depth: FloatArray

    @property
    def rate(self) -> FloatArray:
        """Gain per viewed document."""
        return np.asarray(self.gain / self.depth)


def _read(
    r: JudgedRankings,
    user_model: str,
    rel: int,
    gain: str,
    max_grade: int,
    cutoff: int,
    costs: Gains = None,
    **parameters: Any,
) -> _Reading:
    """Compute the expected gain, cost and number of the documents that a user views.

    The user stops at the cutoff at the latest. Parameters of the model that are None have its
    defaults. The expected values of a model are computed once for all measures of it.
    """
    chosen = {name: value for name, value in parameters.items() if value is not None}
    key = ("reading", user_model, rel, gain, max_grade, cutoff, costs, tuple(chosen.items()))

    def read() -> _Reading:
        _, gains = _document_gains(r, rel, gain, max_grade)
        cost_by_grade = dict(costs or ())
        document_costs = np.ones(len(r.rank))
        for grade, cost in cost_by_grade.items():
            document_costs[np.where(r.grade < 0, -2, r.grade) == grade] = cost
        ranks = np.arange(1.0, cutoff + 1)
        step = max(1, 1_000_000 // cutoff)
        out = np.zeros((3, len(r)))
        for first in range(0, len(r), step):
            last = min(first + step, len(r))
            rows = slice(r.offsets[first], r.offsets[last])
            within_mask = r.rank[rows] <= cutoff
            cells = r.topic_index[rows][within_mask] - first, r.rank[rows][within_mask] - 1
            grid = np.zeros((2, last - first, cutoff))
            grid[1] = cost_by_grade.get(-1, 1.0)
            for by_rank, by_document in zip(grid, (gains, document_costs), strict=True):
                by_rank[cells] = by_document[rows][within_mask]
            views = USER_MODELS[user_model](RankedGains(ranks, *grid), **chosen)
            for total, by_rank in zip(out, (*grid, np.ones_like(grid[0])), strict=True):
                total[first:last] = (views * by_rank).sum(axis=1)
        return _Reading(*out)

    return cached(r, key, read)
