"""Measures of scores of cases, which have no truth: pass rates, means, medians, win rates."""

from __future__ import annotations

from functools import partial
from math import inf
from typing import Any

from calipers.lazy_imports import numpy as np
from calipers.measures.registration import measure
from calipers.statistics import FloatArray, LengthRows, Moments, ScoreRows

#: Conditions for a measure of cases none of which has a score.
NO_SCORES = {"no_score": lambda m, _: m.weight == 0}

_proportion = partial(
    measure, family="case-scores", statistic=Moments, higher_is_better=True, range=(0, 1)
)


def _passes(reference: Any, score: FloatArray, min_score: float | None = None) -> FloatArray:
    if min_score is not None:
        return np.where(np.isnan(score), np.nan, score >= min_score)
    return np.where(np.isnan(score) | (score == 0) | (score == 1), score, inf)


def _given_score(reference: Any, score: FloatArray) -> FloatArray:
    return score


def _wins(reference: FloatArray, score: FloatArray) -> FloatArray:
    wins = np.where(score == reference, 0.5, score > reference)
    return np.where(np.isnan(score) | np.isnan(reference), np.nan, wins)


@_proportion(
    "pass-rate",
    aliases=("pass_rate", "success-rate"),
    suffix_parameter="min_score",
    perfect=1.0,
    counts_hits=True,
    row_formula=_passes,
    undefined=NO_SCORES | {"neither_pass_nor_fail": lambda m, _: np.isinf(m.mean)},
)
def pass_rate(m: Moments, min_score: float | None = None) -> FloatArray:
    """Pass rate, the proportion of cases that pass.

    It is the number of cases with the score 1 over the number of cases with a score. Scores have to
    be 0 or 1 (fail or pass); of other scores ``pass-rate@4`` is the proportion of cases with a
    score of 4 or more, also called a top-box score in surveys. A case without a score is left out,
    and counted. It ranges from 0 to 1, and is undefined if no case has a score, or one is neither 0
    nor 1.
    """
    return np.where(np.isinf(m.mean), np.nan, m.mean)


@measure(
    "mean-score",
    aliases=("mean", "average-score", "mean_score"),
    family="case-scores",
    statistic=Moments,
    higher_is_better=True,
    range=(-inf, inf),
    row_formula=_given_score,
    undefined=NO_SCORES,
    has_units=True,
)
def mean_score(m: Moments) -> FloatArray:
    """Mean score: the mean over the cases with a score.

    A case without a score is left out, and counted. It has the range of the scores, and is
    undefined if no case has a score.
    """
    return np.asarray(m.mean)


@measure(
    "median-score",
    aliases=("median", "median_score"),
    family="score-quantiles",
    statistic=ScoreRows,
    higher_is_better=True,
    range=(-inf, inf),
    interval="median",
    undefined={"no_score": lambda rows, _: rows.total == 0},
    has_units=True,
)
def median_score(rows: ScoreRows) -> FloatArray:
    """Median score, the score that half of the cases do not exceed.

    For an even number of cases it is the mean of the two middle scores. A case without a score is
    left out, and counted. It has the range of the scores, and is undefined if no case has a score.
    """
    return rows.sorted_errors.quantile(rows.weight, 0.5)


_of_samples = partial(
    measure,
    family="sampled-scores",
    statistic=Moments,
    higher_is_better=True,
    range=(0, 1),
    perfect=1.0,
    undefined={
        "too_few_samples": lambda m, _: m.weight == 0,
        "neither_pass_nor_fail": lambda m, _: np.isinf(m.mean),
    },
)


def _all_drawn(n_samples: FloatArray, n_chosen: FloatArray, k: int) -> FloatArray:
    """Compute the probability that k samples, drawn without repetition, are all chosen ones.

    It is C(chosen, k)/C(samples, k); NaN if there are fewer than k samples.
    """
    probability = np.where(np.isfinite(n_chosen), 1.0, inf)
    for index in range(k):
        remaining = np.maximum(n_chosen - index, 0.0)
        probability = probability * (remaining / np.maximum(n_samples - index, 1.0))
    return np.where(n_samples < k, np.nan, probability)


def _any_pass(n_samples: FloatArray, n_passed: FloatArray, k: int) -> FloatArray:
    failed = np.where(np.isfinite(n_passed), n_samples - n_passed, 0.0)
    return np.where(np.isfinite(n_passed), 1 - _all_drawn(n_samples, failed, k), inf)


@_of_samples(
    "pass",
    aliases=("pass_at_k",),
    suffix_parameter="k",
    row_formula=_any_pass,
    reference="Chen et al. 2021",
)
def pass_at_k(m: Moments, k: int) -> FloatArray:
    """Pass@k, the probability that at least one of k samples of a case passes.

    It is the mean over cases of 1 − C(n − c, k)/C(n, k), where c of the n samples of a case pass,
    which is unbiased; 1 − (1 − c/n)^k is not. ``pass@1`` is the pass rate. A case with fewer than k
    samples that have a score is left out, and counted. It ranges from 0 to 1, and is undefined if
    no case has k samples, or a score is neither 0 nor 1.
    """
    return np.where(np.isinf(m.mean), np.nan, m.mean)


@_of_samples("pass^", suffix="k", row_formula=_all_drawn, reference="Yao et al. 2024")
def pass_hat_k(m: Moments, k: int) -> FloatArray:
    """Pass^k, the probability that all of k samples of a case pass.

    It is the mean over cases of C(c, k)/C(n, k), where c of the n samples of a case pass, which is
    unbiased. It measures reliability, as pass@k measures what is possible. A case with fewer than k
    samples that have a score is left out, and counted. It ranges from 0 to 1, and is undefined if
    no case has k samples, or a score is neither 0 nor 1.
    """
    return np.where(np.isinf(m.mean), np.nan, m.mean)


@measure(
    "win-rate",
    aliases=("win_rate",),
    family="reference-scores",
    statistic=Moments,
    higher_is_better=True,
    range=(0, 1),
    row_formula=_wins,
    undefined=NO_SCORES,
)
def win_rate(m: Moments) -> FloatArray:
    """Win rate against a reference system, the proportion of cases with a higher score than it has.

    It is (wins + ties / 2) / cases: a tie counts half. Only cases with a score of both systems
    count, the others are counted as without a score. It ranges from 0 to 1, where ½ is as good as
    the reference, and is undefined if no case has both scores.
    """
    return np.asarray(m.mean)


def _length_controlled_influence(batch: LengthRows, rows: LengthRows) -> FloatArray:
    return rows.fit.influence(batch.truth, batch.predicted)


@measure(
    "LC-win-rate",
    aliases=("lc_win_rate", "length-controlled-win-rate"),
    family="controlled-scores",
    statistic=LengthRows,
    higher_is_better=True,
    range=(0, 1),
    interval="pairs",
    moves=_length_controlled_influence,
    undefined={
        "no_score": lambda rows, _: rows.total == 0,
        "same_length_difference": lambda rows, _: rows.is_uncontrolled,
    },
    reference="Dubois et al. 2024",
)
def length_controlled_win_rate(rows: LengthRows) -> FloatArray:
    """Length-controlled win rate: the win rate against a reference if outputs were as long as its.

    Judges prefer long outputs. The log odds of a win are θ + ψ·tanh(Δ/s), where Δ is the difference
    in length to the output of the reference and s the standard deviation of Δ, and the value is
    1/(1 + exp(−θ)). θ and ψ have maximum likelihood; a tie is half a win and half a loss. If the
    length determines who wins, or one side always wins, there is no maximum, and Firth's penalized
    likelihood is used, which a note says. AlpacaEval moreover shrinks ψ and accounts for the
    difficulty of its own instructions. It ranges from 0 to 1, where ½ is as good as the reference,
    and is undefined if no case has both scores, or if Δ hardly varies and is not 0.
    """
    return np.where((rows.total > 0) & ~rows.is_uncontrolled, rows.fit.rate, np.nan)
