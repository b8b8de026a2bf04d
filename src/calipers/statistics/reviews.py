"""Counts of a review of documents, as in technology-assisted review."""

from __future__ import annotations

from calipers.lazy_dataclasses import dataclass
from calipers.statistics.base import FloatArray, Statistic


@dataclass(frozen=True, eq=False)
class ReviewCounts(Statistic):
    """Documents that were reviewed, and the relevant ones of all documents.

    Parameters
    ----------
    n_reviewed, n_found : ndarray
        Number of reviewed documents, and of relevant ones among them.
    n_relevant, collection_size : ndarray
        Number of relevant documents in the collection, which is an estimate, and of all its
        documents.

    Examples
    --------
    >>> import numpy as np
    >>> counts = ReviewCounts(*map(np.float64, (100, 30, 40, 1100)))
    >>> float(counts.n_found / counts.n_relevant)
    0.75
    """

    n_reviewed: FloatArray
    n_found: FloatArray
    n_relevant: FloatArray
    collection_size: FloatArray
