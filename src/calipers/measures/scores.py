"""Measures of a score table: how well scores separate two classes.

They are computed over all thresholds, at one threshold, or at the best one. A score at or above the
threshold is predicted positive, and tied scores are one step of every curve. Scores are never
inverted: an AUC below one half is reported as such. The threshold of a measure with a bound is the
one at which the value is attained, the highest if there are several.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any, TypeAlias

from calipers.lazy_imports import numpy as np
from calipers.measures.counts import accuracy, f_measure, informedness
from calipers.measures.definition import AreaTransform
from calipers.measures.registration import measure
from calipers.statistics import FloatArray, ScoreTable

if TYPE_CHECKING:
    import numpy.typing as npt


NO_POSITIVE = {"no_positive": lambda s, _: s.total_positive == 0}
BOTH_CLASSES = NO_POSITIVE | {"no_negative": lambda s, _: s.total_negative == 0}

score_measure = partial(
    measure, family="scores", statistic=ScoreTable, higher_is_better=True, range=(0, 1), perfect=1.0
)


@score_measure(
    "AUC",
    aliases=("ROC-AUC", "roc_auc", "roc_auc_score", "AUROC", "c-statistic"),
    no_skill=0.5,
    undefined=BOTH_CLASSES,
    interval="auc",
    area=AreaTransform("AUC"),
    reference="Hanley and McNeil 1982",
)
def roc_auc(s: ScoreTable) -> FloatArray:
    """Area under the ROC curve by the trapezoidal rule, without convex hull.

    It is P(s⁺ > s⁻) + ½P(s⁺ = s⁻) for the scores of a random positive and a random negative. It
    ranges from 0 to 1 and is undefined if there are only positives or only negatives.
    """
    positive_to_score = np.cumsum(s.positive, axis=-1)
    tied = _dot(s.negative, s.positive) / 2
    n_concordant = _dot(s.negative, positive_to_score) - tied
    n_discordant = _dot(s.negative, positive_to_score[..., -1:] - positive_to_score) + tied
    # Not over P·N, whose rounding would leave separated classes of fractional weight off 1.
    return np.asarray(n_concordant / (n_concordant + n_discordant))


def _dot(a: FloatArray, b: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("...i,...i", a, b))


@score_measure(
    "AP",
    aliases=("average_precision", "average_precision_score"),
    undefined=NO_POSITIVE,
    interval="pr_logit",
    area=AreaTransform("AP"),
)
def step_average_precision(s: ScoreTable) -> FloatArray:
    """Average precision by the step rule: Σ pₖ(rₖ − rₖ₋₁) over the distinct scores.

    pₖ and rₖ are the precision and the recall when all rows whose score is at least the k-th
    largest distinct score are predicted positive. It ranges from 0 to 1 and is undefined without
    positives.
    """
    tp, fp = np.cumsum(s.positive, axis=-1), np.cumsum(s.negative, axis=-1)
    gained = s.positive * precision_from_counts(tp, fp)
    return np.asarray(gained.sum(axis=-1) / s.total_positive)


@score_measure(
    "PR-AUC",
    aliases=("pr_auc", "AUPRC", "AUCPR"),
    undefined=NO_POSITIVE,
    interval="pr_logit",
    area=AreaTransform("PR-AUC"),
    reference="Boyd, Eng and Page 2013; Davis and Goadrich 2006",
)
def pr_auc(s: ScoreTable) -> FloatArray:
    """Area under the precision-recall curve by the lower trapezoid.

    A step that contains only positives adds a trapezoid between the precisions before and after it.
    A block of tied scores with both classes is interpolated as by Davis and Goadrich, as if its
    rows were evenly mixed: after x positives the precision is x/(x + fp(x)), with fp linear in x.
    The area is therefore Boyd's lower trapezoid if no scores are tied, and the prevalence for
    constant scores. (The trapezoid lies below this interpolation, so resolving a tie correctly can
    slightly reduce the area.) It ranges from 0 to 1 and is undefined without positives.
    """
    tp, fp = np.cumsum(s.positive, axis=-1), np.cumsum(s.negative, axis=-1)
    precision_after = precision_from_counts(tp, fp)
    tp -= s.positive  # what they are before the score
    fp -= s.negative
    areas = np.where(tp + fp > 0, precision_from_counts(tp, fp), precision_after)
    areas += precision_after
    areas *= s.positive
    areas /= 2
    mixed_mask = (s.positive > 0) & (s.negative > 0)
    areas[mixed_mask] = _tied_area(*(each[mixed_mask] for each in (tp, fp, s.positive, s.negative)))
    return np.asarray(areas.sum(axis=-1) / s.total_positive)


def precision_from_counts(tp: FloatArray, fp: FloatArray) -> FloatArray:
    """Compute TP/(TP + FP), with 0 if nothing is predicted positive."""
    total = tp + fp
    return np.divide(tp, total, out=np.zeros_like(tp), where=total > 0)


def _tied_area(tp: FloatArray, fp: FloatArray, t: FloatArray, f: FloatArray) -> FloatArray:
    """Compute ∫ x/(a·x + b) dx from tp to tp + t.

    fp(x) = fp + (x − tp)·f/t and a = 1 + f/t.
    """
    a = 1 + f / t
    b = fp - tp * f / t
    # log1p keeps its digits when the block is small against what went before.
    log_growth = np.log1p(np.divide(t + f, tp + fp, out=np.zeros_like(t), where=tp + fp > 0))
    return np.asarray(np.where(tp + fp > 0, t / a - b / a**2 * log_growth, t / a))


@score_measure(
    "PR-AUC-DG",
    aliases=("davis_goadrich", "AP-DG"),
    undefined=NO_POSITIVE,
    area=AreaTransform("AP-DG"),
    reference="Davis and Goadrich 2006",
)
def davis_goadrich_area(s: ScoreTable) -> FloatArray:
    """Area under the precision-recall curve by Davis and Goadrich's interpolation.

    Between two thresholds false positives increase linearly with true positives, so that the
    precision is x/(x + fp(x)); before the first threshold it is the precision at the first. It
    ranges from 0 to 1 and is undefined without positives.
    """
    tp, fp = (running[..., :-1] for running in s.cumulative_counts)
    areas = np.where(s.positive > 0, _tied_area(tp, fp, s.positive, s.negative), 0.0)
    return np.asarray(areas.sum(axis=-1) / s.total_positive)


@score_measure(
    "PRG-AUC",
    range=(-inf, 1),
    no_skill=0.0,
    aliases=("AUPRG", "auprg"),
    is_smooth=True,
    area_fraction=lambda p: 1.0,
    undefined=BOTH_CLASSES,
    reference="Flach and Kull 2015",
)
def precision_recall_gain_area(s: ScoreTable) -> FloatArray:
    """Area under the precision-recall-gain curve from recall gain 0 to 1.

    With the odds of the classes c = P/N, precision gain is 1 − c·FP/TP and recall gain is 1 −
    c·FN/TP. Both are 0 if everything is predicted positive. Points are joined by straight lines,
    which interpolates TP and FP linearly, and the curve starts where it crosses recall gain 0, at
    TP = P²/(P + N). The area is at most 1 and at least −N/(2P). It is undefined if there are only
    positives or only negatives.
    """
    positives, negatives = s.total_positive[..., None], s.total_negative[..., None]
    tp, fp = s.cumulative_counts
    start = np.clip(positives**2 / (positives + negatives), tp[..., :-1], tp[..., 1:])
    slope = np.divide(s.negative, s.positive, out=np.zeros_like(start), where=s.positive > 0)
    fp_start = fp[..., :-1] + (start - tp[..., :-1]) * slope
    odds = positives / negatives
    block_mask = (s.positive > 0) & (tp[..., 1:] > start)
    # d(recall gain) = c·P·(1/start − 1/end); of a block that ends before the crossing, nothing.
    width = np.where(block_mask, odds * positives * (1 / start - 1 / tp[..., 1:]), 0.0)
    height = np.where(
        block_mask, 1 - odds * (fp_start / start + fp[..., 1:] / tp[..., 1:]) / 2, 0.0
    )
    return np.minimum(_dot(width, height), 1.0)  # widths add up to 1 but for rounding


@score_measure(
    "Gini",
    range=(-1, 1),
    no_skill=0.0,
    aliases=("gini_coefficient", "somers_d", "accuracy_ratio"),
    undefined=BOTH_CLASSES,
    interval="gini",
    area=AreaTransform("AUC", 2.0, -1.0),
)
def gini(s: ScoreTable) -> FloatArray:
    """Gini coefficient of the ROC curve (Somers' D, accuracy ratio): 2·AUC − 1.

    It ranges from −1 to 1 and is undefined if there are only positives or only negatives.
    """
    return 2 * roc_auc(s) - 1


@score_measure(
    "pAUC",
    range=(-inf, 1),
    no_skill=0.5,
    aliases=("partial_auc", "partial-AUC"),
    is_smooth=True,
    area_fraction=lambda p: p["max_fpr"] - p["min_fpr"],
    undefined=BOTH_CLASSES
    | {
        "empty_fpr_range": lambda s, p: np.full(
            s.total_positive.shape, p["min_fpr"] >= p["max_fpr"]
        )
    },
    reference="McClish 1989",
)
def partial_auc(s: ScoreTable, max_fpr: float, min_fpr: float = 0.0) -> FloatArray:
    """Partial AUC, standardised by McClish: ½(1 + (A − m)/(M − m)).

    A is the area under the ROC curve between two false positive rates, m the area under the
    diagonal there, and M the width. It is ½ for constant scores and 1 if the recall is 1 at
    ``min_fpr``. Between the rates a and b it is at least (1 − a − b)/(2 − a − b), which is below 0
    if a + b is above 1. It is undefined if there are only positives or only negatives, or if
    ``min_fpr`` is not below ``max_fpr``.
    """
    tp, fp = s.cumulative_counts
    negatives = s.total_negative[..., None]
    clipped_fp = np.clip(fp, min_fpr * negatives, max_fpr * negatives)
    slope = np.divide(s.positive, s.negative, out=np.zeros_like(s.positive), where=s.negative > 0)
    # Height of the curve at the midpoint of the clipped part of each step.
    middle = (clipped_fp[..., 1:] + clipped_fp[..., :-1]) / 2
    height = tp[..., :-1] + (middle - fp[..., :-1]) * slope
    partial_area = _dot(clipped_fp[..., 1:] - clipped_fp[..., :-1], height) / (
        s.total_positive * s.total_negative
    )
    width, diagonal = max_fpr - min_fpr, (max_fpr**2 - min_fpr**2) / 2
    return np.asarray((1 + (partial_area - diagonal) / (width - diagonal)) / 2)


NO_ROWS = {"no_rows": lambda s, _: s.total_positive + s.total_negative == 0}

Indices: TypeAlias = "npt.NDArray[np.intp]"
BlockMask: TypeAlias = "npt.NDArray[np.bool_]"

#: Tolerance for rounding of a proportion: a bound that is satisfied up to it is satisfied.
PROPORTION_TOLERANCE = 1e-12


@score_measure(
    "EER",
    higher_is_better=False,
    perfect=0.0,
    no_skill=0.5,
    aliases=("equal_error_rate",),
    needs_refinement=lambda s: _preceding_block_mask(s, _eer_index(s)),
    undefined=BOTH_CLASSES,
)
def equal_error_rate(s: ScoreTable) -> FloatArray:
    """Equal error rate: where FPR and FNR are equal on the ROC curve.

    The points of the curve are joined by straight lines. It ranges from 0 to 1 and is undefined if
    there are only positives or only negatives.
    """
    after_index = _eer_index(s)
    (e0, e1), (r0, r1) = (
        (_take_last_axis(c, after_index - 1), _take_last_axis(c, after_index))
        for c in (_fnr_minus_fpr(s), s.cumulative_counts[1])
    )
    r0, r1 = r0 / s.total_negative, r1 / s.total_negative
    return np.asarray(r0 + e0 / (e0 - e1) * (r1 - r0))


def _fnr_minus_fpr(s: ScoreTable) -> FloatArray:
    """Compute FNR − FPR at every threshold: 1 at +∞, −1 at the lowest score."""
    tp, fp = s.cumulative_counts
    positives, negatives = s.total_positive[..., None], s.total_negative[..., None]
    return np.asarray((positives - tp) / positives - fp / negatives)


def _eer_index(s: ScoreTable) -> Indices:
    return np.maximum(_first_index(_fnr_minus_fpr(s) <= 0), 1)


def _first_index(holds: npt.NDArray[np.bool_]) -> Indices:
    """Return the first true index along the last axis, −1 if there is none."""
    index = holds.argmax(axis=-1)
    return np.asarray(np.where(_take_last_axis(holds, index), index, -1))


def first_argmax(values: FloatArray) -> Indices:
    """Return the first index of the largest value, which is that of the highest threshold."""
    values = np.where(np.isnan(values), -np.inf, values)
    return _first_index(values >= values.max(axis=-1, keepdims=True) - PROPORTION_TOLERANCE)


def _take_last_axis(column: npt.NDArray[np.generic], index: Indices) -> FloatArray:
    return np.asarray(np.take_along_axis(column, index[..., None], axis=-1)[..., 0])


def _preceding_block_mask(s: ScoreTable, index: Indices) -> BlockMask:
    """Return the mask of the block that ends at an index."""
    return np.asarray(np.arange(s.positive.shape[-1]) == index[..., None] - 1)


def candidate_block_mask(values: FloatArray, max_values: FloatArray) -> BlockMask:
    """Return the mask of the blocks that may contain a value as large as the largest known one.

    A block is excluded if the largest possible value in it is less. An undefined value is not
    known, and may be any value where it is possible.
    """
    values = np.where(np.isnan(values), -np.inf, values)
    candidate_mask: BlockMask = ~(
        max_values < values.max(axis=-1, keepdims=True) - PROPORTION_TOLERANCE
    )
    return candidate_mask


def _maximum_traits(formula: Callable[..., FloatArray]) -> dict[str, Any]:
    """Return the traits of the maximum of a measure of counts over all thresholds.

    The measure has to increase with TP and decrease with FP, and its level lines have to be
    straight.
    """
    return {
        "threshold_index": lambda s, **parameters: first_argmax(
            formula(s.confusion(), **parameters)
        ),
        "needs_refinement": lambda s, **parameters: candidate_block_mask(
            formula(s.confusion(), **parameters), formula(s.corner_confusion(), **parameters)
        ),
        "maximum_of": formula,
    }


def _counts_at(s: ScoreTable, index: Indices) -> tuple[FloatArray, FloatArray]:
    """Return the true and false positives at an index of the thresholds."""
    tp, fp = (_take_last_axis(running, index) for running in s.cumulative_counts)
    return tp, fp


def _recall_index(s: ScoreTable, recall: float) -> Indices:
    return _first_index(
        s.cumulative_counts[0] >= (recall - PROPORTION_TOLERANCE) * s.total_positive[..., None]
    )


def _nonempty_recall_index(s: ScoreTable, recall: float) -> Indices:
    tp, fp = s.cumulative_counts
    reached = tp >= (recall - PROPORTION_TOLERANCE) * s.total_positive[..., None]
    return _first_index(reached & (tp + fp > 0))


def _volume_index(s: ScoreTable, volume: float) -> Indices:
    tp, fp = s.cumulative_counts
    n_predicted = tp + fp
    return _first_index(
        (n_predicted >= (volume - PROPORTION_TOLERANCE) * n_predicted[..., -1:]) & (n_predicted > 0)
    )


def _precision_index(s: ScoreTable, precision: float) -> Indices:
    tp, fp = s.cumulative_counts
    n_predicted = tp + fp
    holds_mask = (tp >= (precision - PROPORTION_TOLERANCE) * n_predicted) & (n_predicted > 0)
    best_index = np.where(holds_mask, tp, -1.0).argmax(axis=-1)
    return np.asarray(np.where(holds_mask.any(axis=-1), best_index, -1))


def _fpr_index(s: ScoreTable, fpr: float) -> Indices:
    tp, fp = s.cumulative_counts
    holds_mask = fp <= (fpr + PROPORTION_TOLERANCE) * s.total_negative[..., None]
    return np.asarray(np.where(holds_mask, tp, -1.0).argmax(axis=-1))


def _candidates_at_precision(s: ScoreTable, precision: float) -> BlockMask:
    tp, fp = s.cumulative_counts
    index = _precision_index(s, precision)
    tp_at_index = np.where(index < 0, -1.0, _take_last_axis(tp, index))
    tp, fp = tp[..., 1:], fp[..., :-1]
    return np.asarray(
        (tp >= tp_at_index[..., None]) & (tp >= (precision - PROPORTION_TOLERANCE) * (tp + fp))
    )


def _candidates_at_fpr(s: ScoreTable, fpr: float) -> BlockMask:
    tp, fp = s.cumulative_counts
    tp_at_index = _take_last_axis(tp, _fpr_index(s, fpr))
    within_mask = fp[..., :-1] <= (fpr + PROPORTION_TOLERANCE) * s.total_negative[..., None]
    return np.asarray((tp[..., 1:] >= tp_at_index[..., None]) & within_mask)


@score_measure(
    "precision@recall",
    aliases=("PPV@recall", "precision@sensitivity", "precision@TPR"),
    suffix_parameter="recall",
    threshold_index=_nonempty_recall_index,
    needs_refinement=lambda s, **parameters: _preceding_block_mask(
        s, _nonempty_recall_index(s, **parameters)
    ),
    undefined=NO_POSITIVE,
)
def precision_at_recall(s: ScoreTable, recall: float) -> FloatArray:
    """Precision at a recall: the precision at the highest threshold with recall ≥ r.

    Thresholds at which nothing is predicted positive do not count, and nothing is interpolated. It
    ranges from 0 to 1 and is undefined without positives.
    """
    tp, fp = _counts_at(s, _nonempty_recall_index(s, recall))
    return tp / (tp + fp)


@score_measure(
    "interpolated-precision@recall",
    aliases=("interpolated_precision@recall", "max-precision@recall"),
    suffix_parameter="recall",
    undefined=NO_POSITIVE,
)
def interpolated_precision_at_recall(s: ScoreTable, recall: float) -> FloatArray:
    """Interpolated precision at a recall: the largest precision of all thresholds with recall ≥ r.

    Thresholds at which nothing is predicted positive do not count. It ranges from 0 to 1 and is
    undefined without positives.
    """
    tp, fp = s.cumulative_counts
    reached = tp >= (recall - PROPORTION_TOLERANCE) * s.total_positive[..., None]
    return np.asarray(np.where(reached, precision_from_counts(tp, fp), 0.0).max(axis=-1))


@score_measure("PR-11pt", aliases=("pr_11pt", "eleven-point-precision"), undefined=NO_POSITIVE)
def eleven_point_precision(s: ScoreTable) -> FloatArray:
    """Eleven-point mean: the mean of interpolated precision at recall 0, 0.1, …, 1.

    It ranges from 0 to 1 and is undefined without positives.
    """
    points = [interpolated_precision_at_recall(s, tenths / 10) for tenths in range(11)]
    return np.asarray(np.mean(points, axis=0))


@score_measure("PR-break-even", aliases=("pr_break_even", "break-even"),
      shared_names=("break-even",), undefined=NO_POSITIVE)  # fmt: skip
def break_even_precision(s: ScoreTable) -> FloatArray:
    """Break-even point: the precision where it equals recall.

    They are equal where the number of predicted positives is the number of positives. Within a
    block of tied scores rows count as evenly mixed. It ranges from 0 to 1 and is undefined without
    positives.
    """
    tp, fp = s.cumulative_counts
    n_predicted, n_positive = tp + fp, s.total_positive[..., None]
    end_index = _first_index(n_predicted >= n_positive * (1 - PROPORTION_TOLERANCE))
    before_index, after_index = np.maximum(end_index - 1, 0), end_index
    n_missing = s.total_positive - _take_last_axis(n_predicted, before_index)
    block_size = _take_last_axis(n_predicted, after_index) - _take_last_axis(
        n_predicted, before_index
    )
    fraction = np.divide(n_missing, block_size, out=np.ones_like(n_missing), where=block_size > 0)
    hits = _take_last_axis(tp, before_index) + np.minimum(fraction, 1.0) * (
        _take_last_axis(tp, after_index) - _take_last_axis(tp, before_index)
    )
    return np.asarray(hits / s.total_positive)


@score_measure(
    "precision@volume",
    aliases=("PPV@volume",),
    suffix_parameter="volume",
    threshold_index=_volume_index,
    needs_refinement=lambda s, **parameters: _preceding_block_mask(
        s, _volume_index(s, **parameters)
    ),
    perfect=None,
    undefined=NO_ROWS,
)
def precision_at_volume(s: ScoreTable, volume: float) -> FloatArray:
    """Precision at a volume: the precision at a given proportion of rows predicted positive.

    The threshold is the highest at which at least the proportion v of all rows (and at least one
    row) is predicted positive. Nothing is interpolated. It ranges from 0 to 1 and is undefined
    without rows.
    """
    tp, fp = _counts_at(s, _volume_index(s, volume))
    return tp / (tp + fp)


@score_measure(
    "recall@precision",
    aliases=("sensitivity@precision", "TPR@precision", "recall@PPV"),
    suffix_parameter="precision",
    threshold_index=_precision_index,
    needs_refinement=_candidates_at_precision,
    undefined=NO_POSITIVE
    | {"precision_not_reached": lambda s, p: _precision_index(s, p["precision"]) < 0},
)
def recall_at_precision(s: ScoreTable, precision: float) -> FloatArray:
    """Recall at a precision: the largest recall of a threshold with precision ≥ p.

    With no positive predictions the precision is undefined and does not satisfy the bound. Nothing
    is interpolated. It ranges from 0 to 1 and is undefined without positives, or if no threshold
    has that precision.
    """
    return _counts_at(s, _precision_index(s, precision))[0] / s.total_positive


@score_measure(
    "recall@FPR",
    aliases=("sensitivity@FPR", "TPR@FPR"),
    suffix_parameter="fpr",
    threshold_index=_fpr_index,
    needs_refinement=_candidates_at_fpr,
    undefined=BOTH_CLASSES,
)
def recall_at_fpr(s: ScoreTable, fpr: float) -> FloatArray:
    """Recall at a false positive rate: the largest recall of a threshold with FPR ≤ f.

    It is 0 if only no positive predictions satisfy the bound. Nothing is interpolated. It ranges
    from 0 to 1 and is undefined if there are only positives or only negatives.
    """
    return _counts_at(s, _fpr_index(s, fpr))[0] / s.total_positive


@score_measure(
    "FPR@recall",
    aliases=("FPR@sensitivity", "FPR@TPR"),
    suffix_parameter="recall",
    threshold_index=_recall_index,
    needs_refinement=lambda s, **parameters: _preceding_block_mask(
        s, _recall_index(s, **parameters)
    ),
    higher_is_better=False,
    perfect=0.0,
    undefined=BOTH_CLASSES,
)
def fpr_at_recall(s: ScoreTable, recall: float) -> FloatArray:
    """FPR (false positive rate) at a recall: the smallest FPR of a threshold with recall ≥ r.

    Nothing is interpolated. It ranges from 0 to 1 and is undefined if there are only positives or
    only negatives.
    """
    return _counts_at(s, _recall_index(s, recall))[1] / s.total_negative


@score_measure(
    "KS",
    aliases=("kolmogorov_smirnov", "ks_statistic"),
    no_skill=0.0,
    **_maximum_traits(informedness),
    undefined=BOTH_CLASSES,
)
def kolmogorov_smirnov(s: ScoreTable) -> FloatArray:
    """Kolmogorov-Smirnov statistic: the largest recall − FPR of all thresholds.

    It is the largest Youden's J, and one-sided: it is 0 for scores that rank all negatives above
    all positives. It ranges from 0 to 1 and is undefined if there are only positives or only
    negatives.
    """
    tp, fp = s.cumulative_counts
    positives, negatives = s.total_positive[..., None], s.total_negative[..., None]
    return np.asarray((tp / positives - fp / negatives).max(axis=-1))


@score_measure(
    "max-F",
    aliases=("best-F", "max_f"),
    suffix="beta",
    **_maximum_traits(f_measure),
    undefined=NO_POSITIVE,
)
def best_f_measure(s: ScoreTable, beta: float = 1.0) -> FloatArray:
    """Largest F_β of all thresholds.

    The threshold is chosen on the same rows, so that the value is optimistic for new rows. It
    ranges from 0 to 1 and is undefined without positives.
    """
    return np.asarray(f_measure(s.confusion(), beta).max(axis=-1))


@score_measure(
    "max-accuracy",
    aliases=("best-accuracy", "max_accuracy"),
    **_maximum_traits(accuracy),
    undefined=NO_ROWS,
)
def best_accuracy(s: ScoreTable) -> FloatArray:
    """Largest accuracy of all thresholds, including no positive predictions.

    The threshold is chosen on the same rows, so that the value is optimistic for new rows. It
    ranges from 0 to 1 and is undefined without rows.
    """
    # Accuracy is (TP + N − FP) / (P + N), and largest where TP − FP is.
    tp, fp = s.cumulative_counts
    negatives = s.total_negative
    return np.asarray(((tp - fp).max(axis=-1) + negatives) / (s.total_positive + negatives))
