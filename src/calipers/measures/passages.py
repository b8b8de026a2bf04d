"""Measures of passages that are judged by the text that assessors highlighted, as at INEX."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from calipers.lazy_imports import numpy as np
from calipers.measures.registry import external_definition
from calipers.statistics import FloatArray
from calipers.statistics.passages import RetrievedPassages
from calipers.statistics.rankings import running_sum

if TYPE_CHECKING:
    from calipers.measures.definition import Measure

TASK = "passages"

#: What rounding may do to a recall.
_ROUNDING = 1e-9


def interpolated_precision(r: RetrievedPassages, recall: float) -> FloatArray:
    """Interpolated precision at a recall: the largest precision of characters with recall ≥ x.

    Precision is the highlighted proportion of the characters that were retrieved so far, and recall
    the retrieved proportion of the highlighted ones. It ranges from 0 to 1, is 0 if the recall is
    not reached, and undefined without highlighted text.
    """
    precisions, recalls = r.curve()
    return r.largest(np.where(recalls >= recall - _ROUNDING, precisions, 0.0))


def average_interpolated_precision(r: RetrievedPassages) -> FloatArray:
    """Average interpolated precision: the mean of iP at recall 0, 0.01, …, 1.

    Its mean over topics is MAiP. It ranges from 0 to 1 and is undefined without highlighted text.
    """
    return np.asarray(sum(interpolated_precision(r, x / 100) for x in range(101)) / 101)


def generalized_precision(r: RetrievedPassages, cutoff: int, beta: float = 1.0) -> FloatArray:
    """Generalized precision at k: the sum of the scores of the first k articles, over k.

    The score of an article is the F_β of the characters that were retrieved of it. It ranges from 0
    to 1 and is undefined without highlighted text.
    """
    return r.sum_articles(_text_scores(r, beta) * (r.article_ranks() <= cutoff)) / cutoff


def generalized_recall(r: RetrievedPassages, cutoff: int) -> FloatArray:
    """Generalized recall at k: the proportion of the relevant articles among the first k.

    An article is relevant if text of it is highlighted. It ranges from 0 to 1 and is undefined
    without highlighted text.
    """
    return r.sum_articles(_relevant_mask(r) * (r.article_ranks() <= cutoff)) / r.n_articles


def average_generalized_precision(r: RetrievedPassages, beta: float = 1.0) -> FloatArray:
    """Average generalized precision: Σ gP over the ranks of relevant articles, over their number.

    Its mean over topics is MAgP of the task Relevant in Context. It ranges from 0 to 1 and is
    undefined without highlighted text.
    """
    return _average(r, _text_scores(r, beta))


def entry_generalized_precision(r: RetrievedPassages, L: float = 500.0) -> FloatArray:  # noqa: N803
    """Average generalized precision of entry points: with 1 − d/L as the score of an article.

    d is the number of characters between the first passage of the article and the best entry point,
    at most L. Its mean over topics is MAgP of the task Best in Context. It ranges from 0 to 1 and
    is undefined without highlighted text.
    """
    return _average(r, np.where(_relevant_mask(r), np.maximum(1 - r.distance / L, 0.0), 0.0))


def _average(r: RetrievedPassages, scores: FloatArray) -> FloatArray:
    """Compute the mean over relevant articles of the mean score down to them."""
    precisions = running_sum(scores, r.articles) / r.article_ranks()
    return r.sum_articles(_relevant_mask(r) * precisions) / r.n_articles


def _relevant_mask(r: RetrievedPassages) -> FloatArray:
    return np.asarray(r.highlighted > 0, np.float64)


def _text_scores(r: RetrievedPassages, beta: float) -> FloatArray:
    """Return F_β of the characters of each article: (1 + β²)·hit/(β²·highlighted + retrieved)."""
    total = beta**2 * r.highlighted + r.retrieved
    return np.asarray((1 + beta**2) * r.hit / np.where(total > 0, total, 1.0))


_define = partial(
    external_definition,
    family="passages",
    statistic=RetrievedPassages,
    higher_is_better=True,
    range=(0, 1),
    undefined={"no_relevant": lambda r, _: r.is_empty},
    reference="Kamps, Pehcevski, Kazai, Lalmas and Robertson 2008",
)
_IP = _define(name="iP", formula=interpolated_precision, suffix_parameter="recall")
_AIP = _define(name="AiP", formula=average_interpolated_precision)
_GP = _define(name="gP", formula=generalized_precision)
_GR = _define(name="gR", formula=generalized_recall)
_AGP = _define(name="AgP", formula=average_generalized_precision)
_ENTRY = _define(name="AgP-entry", formula=entry_generalized_precision)


def passage_measures(
    recalls: Sequence[float],
    cutoffs: Sequence[int],
    beta: float,
    L: float,  # noqa: N803
    *,
    has_entries: bool,
) -> list[Measure]:
    """Return the measures of passages; that of entry points, if there are best ones."""
    return [
        *(_IP.bind({"recall": x}) for x in recalls),
        _AIP.bind({}),
        _AGP.bind({"beta": beta}),
        *(_GP.bind({"cutoff": k, "beta": beta}) for k in cutoffs),
        *(_GR.bind({"cutoff": k}) for k in cutoffs),
        *([_ENTRY.bind({"L": L})] if has_entries else []),
    ]
