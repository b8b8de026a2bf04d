"""Measures of probabilities against soft labels: true distributions over the classes, row by row.

The truth may be the proportions of annotators that chose each class, for example. Truth and
probabilities are arrays of shape (n_rows, K).
"""

from __future__ import annotations

from functools import partial
from math import inf

from calipers.lazy_imports import numpy as np
from calipers.measures.probabilities import NO_ROWS, ZERO_PROBABILITY, cross_entropy
from calipers.measures.registration import row_mean_measure
from calipers.statistics import FloatArray

soft_label_measure = partial(
    row_mean_measure, family="soft", higher_is_better=False, is_multiclass=True
)


def _mean_distribution(truth: FloatArray, weight: FloatArray | None) -> FloatArray:
    """Return the best constant prediction: the mean of the true distributions."""
    return np.asarray(np.average(truth, axis=0, weights=weight))


def _constant_kl_divergence(truth: FloatArray, weight: FloatArray | None) -> float:
    return float(
        np.average(kl_divergences(truth, _mean_distribution(truth, weight)), weights=weight)
    )


def _constant_squared_distance(truth: FloatArray, weight: FloatArray | None) -> float:
    return float(
        np.average(squared_distances(truth, _mean_distribution(truth, weight)), weights=weight)
    )


@soft_label_measure(
    "soft-log-loss",
    aliases=("soft_cross_entropy",),
    range=(0, inf),
    undefined=NO_ROWS | ZERO_PROBABILITY,
    constant_value=lambda truth, w: float(cross_entropy(*[_mean_distribution(truth, w)] * 2)),
)
def cross_entropies(truth: FloatArray, probability: FloatArray, delta: float = 0.0) -> FloatArray:
    """Cross-entropy of the true distribution p and the predicted q: the mean of −Σ pₖ ln qₖ.

    It is in nats; ``delta`` = Δ clips each qₖ to [Δ, 1 − Δ]. If each true distribution is one
    class, it is the log loss. Its minimum is the mean entropy H(p) of the truth, which is not 0 in
    general; the excess over that minimum is ``KL-divergence``. It ranges from 0 to ∞ and is
    undefined without rows, or if a class with positive true probability is predicted with
    probability 0.
    """
    return np.asarray(cross_entropy(truth, _clip(probability, delta)))


def _clip(probability: FloatArray, delta: float) -> FloatArray:
    return np.clip(probability, delta, 1 - delta) if delta else probability


@soft_label_measure(
    "KL-divergence",
    aliases=("KL", "kullback_leibler", "relative_entropy"),
    range=(0, inf),
    perfect=0.0,
    undefined=NO_ROWS | ZERO_PROBABILITY,
    constant_value=_constant_kl_divergence,
)
def kl_divergences(truth: FloatArray, probability: FloatArray, delta: float = 0.0) -> FloatArray:
    """Divergence of the predicted distribution q from the true p (Kullback and Leibler's).

    It is the mean of H(p, q) − H(p) = Σ pₖ ln(pₖ/qₖ), in nats, and 0 at best; ``delta`` = Δ clips
    each qₖ to [Δ, 1 − Δ]. It ranges from 0 to ∞ and is undefined without rows, or if a class with
    positive true probability is predicted with probability 0.
    """
    excess = cross_entropy(truth, _clip(probability, delta)) - cross_entropy(truth, truth)
    return np.asarray(np.maximum(excess, 0.0))


@soft_label_measure(
    "truth-entropy",
    aliases=("entropy_of_truth", "soft_entropy"),
    higher_is_better=None,
    range=(0, inf),
    undefined=NO_ROWS,
)
def entropies(truth: FloatArray, probability: FloatArray) -> FloatArray:
    """Entropy of the true distribution, whatever is predicted: the mean of H(p) = −Σ pₖ ln pₖ.

    It is in nats. ``soft-log-loss`` is the sum of this and ``KL-divergence``. It ranges from 0 to
    ln K and is undefined without rows.
    """
    return np.asarray(cross_entropy(truth, truth))


@soft_label_measure(
    "soft-Brier",
    range=(0, 2),
    perfect=0.0,
    undefined=NO_ROWS,
    constant_value=_constant_squared_distance,
)
def squared_distances(truth: FloatArray, probability: FloatArray) -> FloatArray:
    """Brier score against true distributions: the mean of Σ (qₖ − pₖ)².

    The sum is over all classes, also if there are two. It ranges from 0 to 2 and is undefined
    without rows.
    """
    return np.asarray(np.square(probability - truth).sum(axis=-1))
