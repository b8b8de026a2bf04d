"""Measures of rows that may have several labels: a value per row, averaged.

A row has the set Y of labels and is said to have the set Z, both among L; or every label has a
score in it, higher for those that the row is more likely to have. A row in which a measure divides
by nothing has no value; it is left out, and counted. scikit-learn takes 0 for it
(``zero_division``), or the best value. Averages over labels are those of
:mod:`calipers.measures.counts`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any, TypeAlias

from calipers.lazy_imports import numpy as np
from calipers.measures.registration import mean_of_rows
from calipers.statistics import FloatArray

if TYPE_CHECKING:
    import numpy.typing as npt

Sets: TypeAlias = "npt.NDArray[Any]"

example = partial(
    mean_of_rows,
    family="multilabel",
    higher_is_better=True,
    range=(0, 1),
    perfect=1.0,
    undefined={"nothing_to_share": lambda m, _: m.weight == 0},
)


def _intersection_sizes(truth: Sets, predicted: Sets) -> tuple[FloatArray, FloatArray, FloatArray]:
    """|Y ∩ Z|, |Y| and |Z| of each row."""
    y, z = (np.asarray(sets, bool) for sets in (truth, predicted))
    both, true, called = (sets.sum(axis=1, dtype=np.float64) for sets in (y & z, y, z))
    return both, true, called


def _ratio(part: FloatArray, whole: FloatArray) -> FloatArray:
    """A share of nothing is NaN."""
    return np.asarray(np.divide(part, whole, out=np.full(part.shape, np.nan), where=whole > 0))


def usual_set(truth: Sets, weight: FloatArray | None) -> float:
    """Share of the rows that have the most frequent set of labels."""
    packed = np.packbits(truth, axis=1)
    kinds = np.ascontiguousarray(packed).view(f"V{packed.shape[1]}").ravel()
    _, first, kind = np.unique(kinds, return_index=True, return_inverse=True)
    usual = truth[first[np.bincount(kind.ravel(), weight).argmax()]]
    return float(np.average((truth == usual).all(axis=1), weights=weight))


def usual_answers(truth: Sets, weight: FloatArray | None) -> float:
    """Share of wrong labels where each label gets its more frequent answer."""
    share = np.average(truth, axis=0, weights=weight)
    return float(np.minimum(share, 1 - share).mean())


@example(
    "subset-accuracy",
    aliases=("exact_match", "subset_accuracy"),
    constant_value=usual_set,
    counts_hits=True,
    counts_true_negatives=True,
)
def subset_accuracy(truth: Sets, predicted: Sets) -> FloatArray:
    """Subset accuracy (exact match ratio), the proportion of rows whose set of labels is
    predicted exactly: Y = Z.
    """
    same = np.asarray(truth, bool) == np.asarray(predicted, bool)
    return np.asarray(same.all(axis=1), np.float64)


@example(
    "Hamming-loss",
    higher_is_better=False,
    perfect=0.0,
    aliases=("hamming_loss",),
    constant_value=usual_answers,
    counts_true_negatives=True,
)
def hamming_loss(truth: Sets, predicted: Sets) -> FloatArray:
    """Hamming loss, the mean proportion of labels that are predicted wrongly: mean of |Y Δ Z| /
    L.
    """
    return np.asarray((np.asarray(truth, bool) != np.asarray(predicted, bool)).mean(axis=1))


@example("example-precision", aliases=("precision_samples",))
def example_precision(truth: Sets, predicted: Sets) -> FloatArray:
    """Example-based precision: mean of |Y ∩ Z| / |Z| over the rows that have a label predicted."""
    both, _, z = _intersection_sizes(truth, predicted)
    return _ratio(both, z)


@example("example-recall", aliases=("recall_samples",))
def example_recall(truth: Sets, predicted: Sets) -> FloatArray:
    """Example-based recall: mean of |Y ∩ Z| / |Y| over the rows that have a label."""
    both, y, _ = _intersection_sizes(truth, predicted)
    return _ratio(both, y)


@example("example-F1", aliases=("f1_samples",))
def example_f1(truth: Sets, predicted: Sets) -> FloatArray:
    """Example-based F1: mean of 2|Y ∩ Z| / (|Y| + |Z|) over the rows with a label, true or
    predicted.
    """
    both, y, z = _intersection_sizes(truth, predicted)
    return _ratio(2 * both, y + z)


@example("example-Jaccard", aliases=("jaccard_samples",))
def example_jaccard(truth: Sets, predicted: Sets) -> FloatArray:
    """Example-based Jaccard index: mean of |Y ∩ Z| / |Y ∪ Z| over the rows with a label, true or
    predicted.
    """
    both, y, z = _intersection_sizes(truth, predicted)
    return _ratio(both, y + z - both)


# --- The order of the labels of a row -------------------------------------------------------------

#: Rows whose labels are sorted at a time.
_AT_ONCE = 20_000

ranking = partial(
    mean_of_rows,
    family="label-ranks",
    undefined={"nothing_to_rank": lambda m, _: m.weight == 0},
)


def _depths(truth: Sets, score: Sets) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Of each label of each row, by descending score: its rank, the number of true labels down to
    there, and whether it is true. Labels of equal score all have the lowest of their ranks."""
    order = np.argsort(-score, axis=1, kind="stable")
    ordered = np.take_along_axis(score, order, axis=1)
    true = np.take_along_axis(np.asarray(truth, bool), order, axis=1)
    last = np.ones(score.shape, bool)
    last[:, :-1] = ordered[:, 1:] != ordered[:, :-1]
    ends = np.where(last, np.arange(score.shape[1]), score.shape[1])
    ends = np.minimum.accumulate(ends[:, ::-1], axis=1)[:, ::-1]
    found = np.take_along_axis(np.cumsum(true, axis=1), ends, axis=1)
    return ends + 1.0, found.astype(np.float64), true.astype(np.float64)


def _map_rows(
    truth: Sets, score: Sets, value: Callable[[FloatArray, FloatArray, FloatArray], FloatArray]
) -> FloatArray:
    """A value of the ranks of each row, some rows at a time."""
    parts = [
        value(*_depths(truth[begin : begin + _AT_ONCE], score[begin : begin + _AT_ONCE]))
        for begin in range(0, len(truth), _AT_ONCE)
    ]
    return np.concatenate(parts) if parts else np.zeros(0)


@ranking(
    "LRAP",
    higher_is_better=True,
    range=(0, 1),
    perfect=1.0,
    aliases=("label_ranking_average_precision_score", "label_ranking_average_precision"),
    reference="Schapire and Singer 2000",
)
def label_ranking_average_precision(truth: Sets, score: Sets) -> FloatArray:
    """Label ranking average precision: of each true label of a row, the share of true labels among
    those that score as high or higher; the mean over the row's labels, then over rows.

    A row without labels has no value. Labels of equal score all take the lowest of their ranks, as
    in scikit-learn.
    """
    return _map_rows(
        truth, score, lambda rank, found, y: _ratio((y * found / rank).sum(1), y.sum(1))
    )


@ranking(
    "coverage-error",
    higher_is_better=False,
    range=(0, inf),
    aliases=("coverage_error",),
    reference="Tsoumakas, Katakis and Vlahavas 2010",
)
def coverage_error(truth: Sets, score: Sets) -> FloatArray:
    """Coverage error: how many labels, by descending score, have to be taken to have all true ones
    of a row; the mean over rows.

    The best value is the mean number of labels of a row. A row without labels needs none; labels of
    equal score are taken together. As in scikit-learn, this is one more than in the work named.
    """
    return _map_rows(truth, score, lambda rank, _, y: np.asarray((rank * y).max(axis=1)))


@ranking(
    "ranking-loss",
    higher_is_better=False,
    range=(0, 1),
    perfect=0.0,
    aliases=("label_ranking_loss",),
    reference="Schapire and Singer 2000",
)
def ranking_loss(truth: Sets, score: Sets) -> FloatArray:
    """Ranking loss: share of the pairs of a true and a false label of a row that are in the wrong
    order, the false one not below the true one; the mean over rows.

    Equal scores are a wrong order, as in scikit-learn. A row of which no label is true, or every
    one, has no pair and no value.
    """

    def of(rank: FloatArray, found: FloatArray, y: FloatArray) -> FloatArray:
        true = y.sum(axis=1)
        return _ratio((y * (rank - found)).sum(axis=1), true * (y.shape[1] - true))

    return _map_rows(truth, score, of)
