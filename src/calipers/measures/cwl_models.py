"""User models of the C/W/L framework: how far a user reads down a ranking.

A model is defined by C, the probabilities to continue from each rank to the next. V, the
probability that a rank is viewed, is the product of those above it. Each model here is a function
of gains and costs by rank, and of its own parameters, that returns V; V is 1 at rank 1.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cache
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

from calipers.lazy_imports import numpy as np

if TYPE_CHECKING:
    from calipers.statistics import FloatArray

#: Sums of gains reach a limit in spite of rounding.
_ROUNDING = 1e-9


class RankedGains(NamedTuple):
    """Gain and cost of each rank.

    Parameters
    ----------
    rank : ndarray of shape (depth,)
        Ranks, from 1.
    gain, cost : ndarray of shape (n_topics, depth)
        Gain and cost of the document at each rank.
    """

    rank: FloatArray
    gain: FloatArray
    cost: FloatArray


def _sum_above(values: FloatArray) -> FloatArray:
    """Return the sum of the values at higher ranks."""
    return np.cumsum(values, axis=1) - values


def _views(continuation: FloatArray) -> FloatArray:
    """Return the probability to view each rank from those to continue."""
    views = np.ones_like(continuation)
    np.cumprod(continuation[:, :-1], axis=1, out=views[:, 1:])
    return views


def _precision(r: RankedGains) -> FloatArray:
    return np.ones_like(r.rank)


def _scaled_dcg(r: RankedGains) -> FloatArray:
    return np.asarray(1 / np.log2(r.rank + 1))


def _rank_biased(r: RankedGains, p: float = 0.8) -> FloatArray:
    return np.asarray(p ** (r.rank - 1))


def _insq(r: RankedGains, T: float = 1.0) -> FloatArray:  # noqa: N803 - as in the literature
    return np.asarray((2 * T / (r.rank + 2 * T - 1)) ** 2)


def _reciprocal_rank(r: RankedGains) -> FloatArray:
    return _views((r.gain <= 0).astype(np.float64))


def _average_precision(r: RankedGains) -> FloatArray:
    tail = np.cumsum((r.gain / r.rank)[:, ::-1], axis=1)[:, ::-1]
    total = tail[:, :1]
    return np.where(total > 0, tail / np.where(total > 0, total, 1.0), r.rank == 1)


def _inst(r: RankedGains, T: float = 1.0) -> FloatArray:  # noqa: N803
    patience = r.rank + 2 * T - np.cumsum(r.gain, axis=1)
    return _views(((patience - 1) / patience) ** 2)


def _bejeweled(
    r: RankedGains,
    T: float = 1.0,  # noqa: N803
    K: float = inf,  # noqa: N803
    hb: float = 0.0,
    hc: float = 0.0,
    gain_med: float = 0.5,
) -> FloatArray:
    surprise = _sum_above(r.gain - gain_med)
    wants_gain = np.cumsum(r.gain, axis=1) < T + hb * surprise - _ROUNDING
    has_time = np.cumsum(r.cost, axis=1) < K + hc * surprise - _ROUNDING
    return _views((wants_gain & has_time).astype(np.float64))


def _logistic(odds: float, exponent: FloatArray) -> FloatArray:
    """Return 1 / (1 + odds · e^exponent)."""
    return np.asarray(1 / (1 + odds * np.exp(np.minimum(exponent, 700.0))))


def _foraging_goal(
    r: RankedGains,
    T: float = 2.0,  # noqa: N803
    b1: float = 0.9,
    R1: float = 10.0,  # noqa: N803
) -> FloatArray:
    return _views(1 - _logistic(b1, (T - np.cumsum(r.gain, axis=1)) * R1))


def _foraging_rate(
    r: RankedGains,
    A: float = 0.2,  # noqa: N803
    b2: float = 0.9,
    R2: float = 10.0,  # noqa: N803
) -> FloatArray:
    rate = np.cumsum(r.gain, axis=1) / np.cumsum(r.cost, axis=1)
    return _views(_logistic(b2, (A - rate) * R2))


def _foraging(
    r: RankedGains,
    T: float = 2.0,  # noqa: N803
    b1: float = 0.9,
    R1: float = 10.0,  # noqa: N803
    A: float = 0.2,  # noqa: N803
    b2: float = 0.9,
    R2: float = 10.0,  # noqa: N803
) -> FloatArray:
    # Products of probabilities to continue are products of those to view.
    return _foraging_goal(r, T, b1, R1) * _foraging_rate(r, A, b2, R2)


def _not_satisfied(r: RankedGains) -> FloatArray:
    return _views(1 - r.gain)


def _not_satisfied_discounted(r: RankedGains) -> FloatArray:
    return _not_satisfied(r) / r.rank


def _not_satisfied_rank_biased(r: RankedGains, p: float = 0.9) -> FloatArray:
    return _not_satisfied(r) * _rank_biased(r, p)


def _not_satisfied_insq(r: RankedGains, T: float = 1.0) -> FloatArray:  # noqa: N803
    return _not_satisfied(r) * _insq(r, T)


def _time_biased(r: RankedGains, half_life: float = 224.0) -> FloatArray:
    return np.asarray(np.exp2(-_sum_above(r.cost) / half_life))


def _position_biased(r: RankedGains, L: float = 1000.0) -> FloatArray:  # noqa: N803
    return np.maximum(0.0, 1 - _sum_above(r.cost) / L)


#: User models by the names of their measures.
USER_MODELS: Mapping[str, Callable[..., FloatArray]] = {
    "P": _precision,
    "RR": _reciprocal_rank,
    "AP": _average_precision,
    "SDCG": _scaled_dcg,
    "RBP": _rank_biased,
    "INST": _inst,
    "INSQ": _insq,
    "BPM": _bejeweled,
    "IFT": _foraging,
    "IFT-C1": _foraging_goal,
    "IFT-C2": _foraging_rate,
    "NERR8": _not_satisfied,
    "NERR9": _not_satisfied_discounted,
    "NERR10": _not_satisfied_rank_biased,
    "NERR11": _not_satisfied_insq,
    "TBG": _time_biased,
    "U": _position_biased,
}


@cache
def model_parameters(user_model: str) -> Mapping[str, Any]:
    """Return the parameters of a user model, with their defaults."""
    arguments = list(inspect.signature(USER_MODELS[user_model]).parameters.values())[1:]
    return {argument.name: argument.default for argument in arguments}


#: Names of the parameters of all user models.
MODEL_PARAMETER_NAMES = tuple(
    dict.fromkeys(p for model in USER_MODELS for p in model_parameters(model))
)
