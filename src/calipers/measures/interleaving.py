"""Measures of interleaved rankings, with one value per impression.

They are not in the catalogue, which has measures of a system against the truth: here two rankers
are compared by clicks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

from calipers.lazy_imports import numpy as np
from calipers.measures.definition import Measure
from calipers.measures.registry import external_definition
from calipers.statistics import FloatArray
from calipers.statistics.interleaving import ImpressionCredits


def preference(c: ImpressionCredits) -> FloatArray:
    """Preference, the proportion of impressions that the ranker wins, ties counting half.

    It is (wins + ties/2)/impressions. A ranker wins an impression if more clicks are credited to it
    than to its opponent; without clicks, both tie. It ranges from 0 to 1, is ½ for equal rankers,
    and is undefined without impressions. Less ½ it is the Δ of Chapelle et al., and half of the
    difference between the two rankers.
    """
    return np.asarray(c.win + (1 - c.win - c.loss) / 2)


def credit(c: ImpressionCredits) -> FloatArray:
    """Credit, the number of clicks per impression on documents that the ranker contributed.

    If it is unknown which ranker contributed a document, it is the expected number. It ranges from
    0 to the number of documents and is undefined without impressions.
    """
    return c.credit


_defined = partial(
    external_definition, family="interleaving", statistic=ImpressionCredits, higher_is_better=True
)

_PREFERENCE = _defined(
    name="preference", formula=preference, range=(0, 1), reference="Chapelle et al. 2012"
)
_CREDIT = _defined(name="credit", formula=credit, range=(0, np.inf))


def interleaving_measures() -> list[Measure]:
    """Return the measures of interleaved rankings."""
    return [_PREFERENCE.bind({}), _CREDIT.bind({})]


def contribution_probabilities(
    displayed: Sequence[str], first: Sequence[str], second: Sequence[str], tau: float
) -> list[float]:
    """Return the probability that each displayed document was contributed by the second ranking.

    At each rank a fair coin decides which ranking contributes a document, which is drawn from those
    not yet displayed with probability proportional to 1/rank^τ (Hofmann et al. 2011). Given the
    documents that are displayed, the coins are independent, and each has the probability returned.
    NaN is that of a document in neither ranking.

    Examples
    --------
    >>> contributed = contribution_probabilities(["b", "a"], ["a", "b"], ["b", "a"], 3.0)
    >>> [round(p, 4) for p in contributed]
    [0.8889, 0.5]
    """
    # Logarithms of weights, as large exponents leave nothing of most of them.
    weights = [
        {document: -tau * math.log(rank) for rank, document in enumerate(ranking, 1)}
        for ranking in (first, second)
    ]
    contributed = []
    for document in displayed:
        a, b = (_log_proportion(by_document, document) for by_document in weights)
        if a == b == -math.inf:
            contributed.append(math.nan)
            continue
        odds = math.exp(-abs(a - b))  # of the less likely ranking; 0 if it lacks the document
        contributed.append((odds if a > b else 1.0) / (1 + odds))
    return contributed


def _log_proportion(weights: dict[str, float], document: str) -> float:
    """Remove a document, and return the logarithm of the proportion of the weight that it had."""
    if document not in weights:
        return -math.inf
    top = max(weights.values())
    total = sum(math.exp(weight - top) for weight in weights.values())
    return weights.pop(document) - top - math.log(total)
