"""Measures of multilabel rows: means of a value per row.

A row has the set Y of true labels and the set Z of predicted labels, both of L labels; or every
label has a score for it, higher for labels that are more likely. If the denominator of a row is 0,
its value is undefined; such rows are omitted, and counted. scikit-learn uses 0 for them
(``zero_division``), or the best value. Averages over labels are those of
:mod:`calipers.measures.counts`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any, TypeAlias

from calipers.lazy_imports import numpy as np
from calipers.measures.registration import row_mean_measure
from calipers.statistics import FloatArray

if TYPE_CHECKING:
    import numpy.typing as npt

    from calipers.measures.definition import Measure

Sets: TypeAlias = "npt.NDArray[Any]"

example_measure = partial(
    row_mean_measure,
    family="multilabel",
    higher_is_better=True,
    range=(0, 1),
    perfect=1.0,
    undefined={"no_labels_to_compare": lambda m, _: m.weight == 0},
)


def _intersection_sizes(truth: Sets, predicted: Sets) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return |Y ∩ Z|, |Y| and |Z| of each row."""
    y, z = (np.asarray(sets, bool) for sets in (truth, predicted))
    n_shared, n_true, n_predicted = (sets.sum(axis=1, dtype=np.float64) for sets in (y & z, y, z))
    return n_shared, n_true, n_predicted


def _ratio(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    """Divide, with NaN where the denominator is 0."""
    return np.asarray(
        np.divide(
            numerator, denominator, out=np.full(numerator.shape, np.nan), where=denominator > 0
        )
    )


def modal_set_accuracy(truth: Sets, weight: FloatArray | None) -> float:
    """Compute the proportion of rows with the most frequent set of labels."""
    packed = np.packbits(truth, axis=1)
    packed_sets = np.ascontiguousarray(packed).view(f"V{packed.shape[1]}").ravel()
    _, first, set_index = np.unique(packed_sets, return_index=True, return_inverse=True)
    modal_set = truth[first[np.bincount(set_index.ravel(), weight).argmax()]]
    return float(np.average((truth == modal_set).all(axis=1), weights=weight))


def constant_hamming_loss(truth: Sets, weight: FloatArray | None) -> float:
    """Compute the proportion of wrong labels under the best constant prediction of each label."""
    label_proportions = np.average(truth, axis=0, weights=weight)
    return float(np.minimum(label_proportions, 1 - label_proportions).mean())


@example_measure(
    "subset-accuracy",
    aliases=("exact_match", "subset_accuracy"),
    constant_value=modal_set_accuracy,
    counts_hits=True,
    counts_true_negatives=True,
)
def subset_accuracy(truth: Sets, predicted: Sets) -> FloatArray:
    """Subset accuracy (exact match ratio), the proportion of rows with the exact set of labels.

    A row is correct if Y = Z. It ranges from 0 to 1 and is undefined without rows.
    """
    equal_mask = np.asarray(truth, bool) == np.asarray(predicted, bool)
    return np.asarray(equal_mask.all(axis=1), np.float64)


@example_measure(
    "Hamming-loss",
    higher_is_better=False,
    perfect=0.0,
    aliases=("hamming_loss",),
    constant_value=constant_hamming_loss,
    counts_true_negatives=True,
)
def hamming_loss(truth: Sets, predicted: Sets) -> FloatArray:
    """Hamming loss, the mean proportion of labels that are predicted wrongly.

    It is the mean of |Y Δ Z| / L, ranges from 0 to 1 and is undefined without rows.
    """
    return np.asarray((np.asarray(truth, bool) != np.asarray(predicted, bool)).mean(axis=1))


@example_measure("example-precision", aliases=("precision_samples",))
def example_precision(truth: Sets, predicted: Sets) -> FloatArray:
    """Example-based precision: mean of |Y ∩ Z| / |Z| over the rows that have a label predicted.

    It ranges from 0 to 1 and is undefined if there is no such row.
    """
    n_shared, _, z = _intersection_sizes(truth, predicted)
    return _ratio(n_shared, z)


@example_measure("example-recall", aliases=("recall_samples",))
def example_recall(truth: Sets, predicted: Sets) -> FloatArray:
    """Example-based recall: mean of |Y ∩ Z| / |Y| over the rows that have a label.

    It ranges from 0 to 1 and is undefined if there is no such row.
    """
    n_shared, y, _ = _intersection_sizes(truth, predicted)
    return _ratio(n_shared, y)


@example_measure("example-F1", aliases=("f1_samples",))
def example_f1(truth: Sets, predicted: Sets) -> FloatArray:
    """Example-based F1: mean of 2|Y ∩ Z| / (|Y| + |Z|).

    The mean is over the rows with a label, true or predicted. It ranges from 0 to 1 and is
    undefined if there is no such row.
    """
    n_shared, y, z = _intersection_sizes(truth, predicted)
    return _ratio(2 * n_shared, y + z)


@example_measure("example-Jaccard", aliases=("jaccard_samples",))
def example_jaccard(truth: Sets, predicted: Sets) -> FloatArray:
    """Example-based Jaccard index: mean of |Y ∩ Z| / |Y ∪ Z|.

    The mean is over the rows with a label, true or predicted. It ranges from 0 to 1 and is
    undefined if there is no such row.
    """
    n_shared, y, z = _intersection_sizes(truth, predicted)
    return _ratio(n_shared, y + z - n_shared)


# --- The order of the labels of a row -------------------------------------------------------------

label_ranking_measure = partial(
    row_mean_measure,
    family="label-ranks",
    undefined={"nothing_to_rank": lambda m, _: m.weight == 0},
)


#: Sums in the order of labels that several measures use, by the identities of truth and scores,
#: which are kept with them so that no other array has these.
_shared_sums: ContextVar[dict[tuple[int, int], tuple[Sets, Sets, FloatArray]] | None] = ContextVar(
    "shared sums", default=None
)


def row_values(measures: Sequence[Measure], truth: Sets, score: Sets) -> list[FloatArray]:
    """Return the value of each row for measures of the order of labels, which is found once."""
    token = _shared_sums.set({})
    try:
        return [measure.losses(truth, score) for measure in measures]
    finally:
        _shared_sums.reset(token)


def _label_order(truth: Sets, score: Sets) -> Iterator[FloatArray]:
    """Return sums over the true labels of each row, in its order of the labels by their scores.

    They are the number of true labels; the sum of the precisions at their ranks; the rank of the
    last of them; and the number of pairs with a false label whose score is not lower. Labels of
    equal score all have the lowest of their ranks.
    """
    from calipers import _core

    sums, key = _shared_sums.get(), (id(truth), id(score))
    if sums is not None and key in sums:
        return iter(sums[key][2])
    order = _core.label_order(np.asarray(truth, bool), np.asarray(score, np.float64)).T
    if sums is not None:
        sums[key] = truth, score, order
    return iter(order)


@label_ranking_measure(
    "LRAP",
    higher_is_better=True,
    range=(0, 1),
    perfect=1.0,
    aliases=(
        "label_ranking_average_precision_score",
        "label_ranking_average_precision",
        "average_precision_samples",
        "example-AP",
    ),
    reference="Schapire and Singer 2000",
)
def label_ranking_average_precision(truth: Sets, score: Sets) -> FloatArray:
    """Label ranking average precision: the mean precision at the ranks of the true labels.

    For each true label of a row it is the proportion of true labels among those with an equal or a
    higher score, averaged over the true labels of the row, then over rows. Rows without true labels
    are omitted. Labels of equal score all have the lowest of their ranks, as in scikit-learn. It
    ranges from 0 to 1 and is undefined if no row has a label.
    """
    n_true, precisions, *_ = _label_order(truth, score)
    return _ratio(precisions, n_true)


@label_ranking_measure(
    "example-AUC",
    higher_is_better=True,
    range=(0, 1),
    perfect=1.0,
    aliases=("roc_auc_samples", "auc_samples"),
)
def example_area(truth: Sets, score: Sets) -> FloatArray:
    """Example-based AUC: the mean proportion of pairs of a true and a false label in order.

    A pair is in order if the true label scores higher than the false one; ties count as ½. It is
    the area under the ROC curve of the labels of a row (``average="samples"`` of scikit-learn),
    averaged over the rows that have both true and false labels. It ranges from 0 to 1 and is
    undefined if there is no such row.
    """
    *_, n_not_higher = _label_order(truth, score)
    *_, n_not_lower = _label_order(~np.asarray(truth, bool), score)
    n_true = np.asarray(truth, bool).sum(axis=1, dtype=np.float64)
    n_pairs = n_true * (truth.shape[1] - n_true)
    return _ratio((n_pairs + n_not_lower - n_not_higher) / 2, n_pairs)


@label_ranking_measure(
    "coverage-error",
    higher_is_better=False,
    range=(0, inf),
    aliases=("coverage_error",),
    reference="Tsoumakas, Katakis and Vlahavas 2010",
)
def coverage_error(truth: Sets, score: Sets) -> FloatArray:
    """Coverage error: the mean rank of the lowest-scoring true label of a row.

    It is the number of labels, by descending score, that include all true labels of a row, averaged
    over rows. Its minimum is the mean number of true labels. A row without labels counts as 0;
    labels of equal score all have the lowest of their ranks. As in scikit-learn, the value is one
    more than that of the reference. It is undefined without rows.
    """
    _, _, last_rank, _ = _label_order(truth, score)
    return last_rank


@label_ranking_measure(
    "ranking-loss",
    higher_is_better=False,
    range=(0, 1),
    perfect=0.0,
    aliases=("label_ranking_loss",),
    reference="Schapire and Singer 2000",
)
def ranking_loss(truth: Sets, score: Sets) -> FloatArray:
    """Ranking loss: the mean proportion of pairs of a true and a false label in the wrong order.

    A pair is in the wrong order if the false label does not score lower than the true label; ties
    are wrong, as in scikit-learn. The mean is over the rows that have both true and false labels.
    It ranges from 0 to 1 and is undefined if there is no such row.
    """
    n_true, _, _, n_wrong_pairs = _label_order(truth, score)
    return _ratio(n_wrong_pairs, n_true * (truth.shape[1] - n_true))
