"""Measures of probabilities where the truth too is a distribution over the classes, row by row: the
shares of annotators, say. Both are arrays of shape (rows, K)."""

from __future__ import annotations

from functools import partial
from math import inf

from calipers.lazy_imports import numpy as np
from calipers.measures.probabilities import INFINITE, NO_ROWS, cross_entropy
from calipers.measures.registration import mean_of_rows
from calipers.statistics import FloatArray

soft = partial(mean_of_rows, family="soft", higher_is_better=False, is_multiclass=True)


def _mean_distribution(truth: FloatArray, weight: FloatArray | None) -> FloatArray:
    """The best constant answer: the mean of the true distributions."""
    return np.asarray(np.average(truth, axis=0, weights=weight))


def _excess_of_constant(truth: FloatArray, weight: FloatArray | None) -> float:
    return float(
        np.average(excess_entropies(truth, _mean_distribution(truth, weight)), weights=weight)
    )


def _distance_of_constant(truth: FloatArray, weight: FloatArray | None) -> float:
    return float(
        np.average(squared_distances(truth, _mean_distribution(truth, weight)), weights=weight)
    )


@soft(
    "soft-log-loss",
    aliases=("soft_cross_entropy",),
    range=(0, inf),
    undefined=NO_ROWS | INFINITE,
    constant_value=lambda truth, w: float(cross_entropy(*[_mean_distribution(truth, w)] * 2)),
)
def cross_entropies(truth: FloatArray, probability: FloatArray, delta: float = 0.0) -> FloatArray:
    """Cross-entropy of the true distribution p and the predicted q: the mean of H(p, q) =
    −Σ pₖ ln qₖ, in nats; ``delta`` = Δ moves each qₖ into [Δ, 1 − Δ].

    It is the log loss where all truth is certain. At best it is the mean of H(p), which is not 0;
    what it has beyond that is ``KL-divergence``.
    """
    return np.asarray(cross_entropy(truth, _clip(probability, delta)))


def _clip(probability: FloatArray, delta: float) -> FloatArray:
    return np.clip(probability, delta, 1 - delta) if delta else probability


@soft(
    "KL-divergence",
    aliases=("KL", "kullback_leibler", "relative_entropy"),
    range=(0, inf),
    perfect=0.0,
    undefined=NO_ROWS | INFINITE,
    constant_value=_excess_of_constant,
)
def excess_entropies(truth: FloatArray, probability: FloatArray, delta: float = 0.0) -> FloatArray:
    """Divergence of the predicted distribution q from the true p (Kullback and Leibler's): the mean
    of H(p, q) − H(p) = Σ pₖ ln(pₖ/qₖ), in nats, 0 at best; ``delta`` is that of the log loss."""
    excess = cross_entropy(truth, _clip(probability, delta)) - cross_entropy(truth, truth)
    return np.asarray(np.maximum(excess, 0.0))


@soft(
    "truth-entropy",
    aliases=("entropy_of_truth", "soft_entropy"),
    higher_is_better=None,
    range=(0, inf),
    undefined=NO_ROWS,
)
def entropies(truth: FloatArray, probability: FloatArray) -> FloatArray:
    """Entropy of the true distribution, whatever is predicted: the mean of H(p) = −Σ pₖ ln pₖ, in
    nats. ``soft-log-loss`` is this and ``KL-divergence`` together."""
    return np.asarray(cross_entropy(truth, truth))


@soft(
    "soft-Brier",
    range=(0, 2),
    perfect=0.0,
    undefined=NO_ROWS,
    constant_value=_distance_of_constant,
)
def squared_distances(truth: FloatArray, probability: FloatArray) -> FloatArray:
    """Brier score against true distributions: the mean of Σ (qₖ − pₖ)², over all classes also where
    they are two."""
    return np.asarray(np.square(probability - truth).sum(axis=-1))
