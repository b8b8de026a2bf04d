"""Measures of rows that may have several labels: a value per row, averaged.

A row has the set Y of labels and is said to have the set Z, both among L. A row in which a measure
divides by nothing has no value; it is left out, and counted. scikit-learn takes 0 for it
(``zero_division``). Averages over labels are those of :mod:`calipers.measures.counts`.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from calipers.measures.definition import FloatArray, Moments, measure

Sets = npt.NDArray[Any]

example = partial(
    measure,
    family="multilabel",
    on=Moments,
    higher_is_better=True,
    range=(0, 1),
    perfect=1.0,
    undefined={"nothing_to_share": lambda m, _: m.weight == 0},
)


def _both(truth: Sets, predicted: Sets) -> tuple[FloatArray, FloatArray, FloatArray]:
    """|Y ∩ Z|, |Y| and |Z| of each row."""
    y, z = (np.asarray(sets, bool) for sets in (truth, predicted))
    both, true, called = (sets.sum(axis=1, dtype=np.float64) for sets in (y & z, y, z))
    return both, true, called


def _share(part: FloatArray, whole: FloatArray) -> FloatArray:
    """A share of nothing is NaN."""
    return np.asarray(np.divide(part, whole, out=np.full(part.shape, np.nan), where=whole > 0))


def same_sets(truth: Sets, predicted: Sets) -> FloatArray:
    """1 where Y = Z."""
    same = np.asarray(truth, bool) == np.asarray(predicted, bool)
    return np.asarray(same.all(axis=1), np.float64)


def differing(truth: Sets, predicted: Sets) -> FloatArray:
    """Share of the labels in one of Y and Z only."""
    return np.asarray((np.asarray(truth, bool) != np.asarray(predicted, bool)).mean(axis=1))


def right_of_predicted(truth: Sets, predicted: Sets) -> FloatArray:
    """|Y ∩ Z| / |Z|."""
    both, _, z = _both(truth, predicted)
    return _share(both, z)


def found_of_true(truth: Sets, predicted: Sets) -> FloatArray:
    """|Y ∩ Z| / |Y|."""
    both, y, _ = _both(truth, predicted)
    return _share(both, y)


def f1_of_sets(truth: Sets, predicted: Sets) -> FloatArray:
    """2|Y ∩ Z| / (|Y| + |Z|)."""
    both, y, z = _both(truth, predicted)
    return _share(2 * both, y + z)


def jaccard_of_sets(truth: Sets, predicted: Sets) -> FloatArray:
    """|Y ∩ Z| / |Y ∪ Z|."""
    both, y, z = _both(truth, predicted)
    return _share(both, y + z - both)


@example("subset-accuracy", aliases=("exact_match", "subset_accuracy"), rows=same_sets)
def subset_accuracy(m: Moments) -> FloatArray:
    """Share of the rows whose set of labels is predicted exactly: Y = Z."""
    return np.asarray(m.mean)


@measure(
    "Hamming-loss",
    family="multilabel",
    on=Moments,
    higher_is_better=False,
    range=(0, 1),
    perfect=0.0,
    undefined={"nothing_to_share": lambda m, _: m.weight == 0},
    aliases=("hamming_loss",),
    rows=differing,
)
def hamming_loss(m: Moments) -> FloatArray:
    """Share of the labels of a row that are wrong, missing or too many: mean of |Y Δ Z| / L."""
    return np.asarray(m.mean)


@example("example-precision", aliases=("precision_samples",), rows=right_of_predicted)
def example_precision(m: Moments) -> FloatArray:
    """Precision by row: mean of |Y ∩ Z| / |Z| over the rows that have a label predicted."""
    return np.asarray(m.mean)


@example("example-recall", aliases=("recall_samples",), rows=found_of_true)
def example_recall(m: Moments) -> FloatArray:
    """Recall by row: mean of |Y ∩ Z| / |Y| over the rows that have a label."""
    return np.asarray(m.mean)


@example("example-F1", aliases=("f1_samples",), rows=f1_of_sets)
def example_f1(m: Moments) -> FloatArray:
    """F1 by row: mean of 2|Y ∩ Z| / (|Y| + |Z|) over the rows with a label, true or predicted."""
    return np.asarray(m.mean)


@example("example-Jaccard", aliases=("jaccard_samples",), rows=jaccard_of_sets)
def example_jaccard(m: Moments) -> FloatArray:
    """Jaccard index by row: mean of |Y ∩ Z| / |Y ∪ Z| over the rows with a label, true or
    predicted."""
    return np.asarray(m.mean)
