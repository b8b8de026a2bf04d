"""Measures of a technology-assisted review whose recall is estimated from a random sample."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

from calipers.lazy_imports import numpy as np
from calipers.measures.registry import external_definition
from calipers.statistics import FloatArray
from calipers.statistics.reviews import ReviewCounts

if TYPE_CHECKING:
    from calipers.measures.definition import Measure

#: The task of an evaluation of a review.
TASK = "review"

_define = partial(external_definition, family="reviews", statistic=ReviewCounts)


def review_recall(c: ReviewCounts) -> FloatArray:
    """Recall of a review: the proportion of the relevant documents that were reviewed.

    The relevant documents outside the review are estimated from a random sample. It ranges from 0
    to 1 and is undefined if neither the review nor the sample has a relevant document.
    """
    return np.asarray(c.n_found / c.n_relevant)


def elusion(c: ReviewCounts) -> FloatArray:
    """Elusion: the proportion of relevant documents among those that were not reviewed.

    It is estimated from the sample, ranges from 0 to 1 and is undefined if every document of the
    collection was reviewed.
    """
    return np.asarray((c.n_relevant - c.n_found) / (c.collection_size - c.n_reviewed))


def reviewed_documents(c: ReviewCounts) -> FloatArray:
    """Number of reviewed documents, without those that are only in the sample."""  # noqa: D401
    return np.asarray(c.n_reviewed)


def relevant_documents_reviewed(c: ReviewCounts) -> FloatArray:
    """Number of relevant documents among the reviewed ones."""  # noqa: D401
    return np.asarray(c.n_found)


_RECALL = _define(
    name="recall",
    formula=review_recall,
    range=(0, 1),
    perfect=1.0,
    higher_is_better=True,
    undefined={"no_relevant": lambda c, _: c.n_relevant == 0},
    reference="Cormack and Grossman 2016; Lewis, Yang and Frieder 2021",
).bind({})
_ELUSION = _define(
    name="elusion",
    formula=elusion,
    range=(0, 1),
    perfect=0.0,
    higher_is_better=False,
    undefined={"everything_retrieved": lambda c, _: c.collection_size == c.n_reviewed},
    reference="Lewis, Yang and Frieder 2021",
).bind({})
#: Numbers of documents, of which nothing is estimated.
COUNTS = (
    _define(
        name="reviewed", formula=reviewed_documents, range=(0, math.inf), higher_is_better=False
    ).bind({}),
    _define(
        name="relevant-reviewed",
        formula=relevant_documents_reviewed,
        range=(0, math.inf),
        higher_is_better=True,
    ).bind({}),
)


def review_measures(*, has_collection_size: bool) -> list[Measure]:
    """Return the measures of a review; elusion needs the size of the collection."""
    return [_RECALL, *([_ELUSION] if has_collection_size else []), *COUNTS]
