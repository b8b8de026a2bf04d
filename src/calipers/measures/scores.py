"""Measures of a score table: how well scores separate two classes.

A score at or above the threshold is positive, tied scores are one step of every curve, and no
direction is guessed: an AUC below one half is reported as such.
"""

from __future__ import annotations

from functools import partial
from math import inf

from calipers.lazily import numpy as np
from calipers.measures.areas import Area
from calipers.measures.registration import measure
from calipers.statistics import FloatArray, ScoreTable

NO_POSITIVE = {"no_positive": lambda s, _: s.total_positive == 0}
BOTH_CLASSES = NO_POSITIVE | {"no_negative": lambda s, _: s.total_negative == 0}

area = partial(
    measure, family="scores", on=ScoreTable, higher_is_better=True, range=(0, 1), perfect=1.0
)


@area(
    "AUC",
    aliases=("ROC-AUC", "roc_auc", "roc_auc_score", "AUROC", "c-statistic"),
    uninformed=0.5,
    undefined=BOTH_CLASSES,
    interval="auc",
    area=Area("AUC"),
    reference="Hanley and McNeil 1982",
)
def roc_auc(s: ScoreTable) -> FloatArray:
    """Area under the ROC curve by the trapezoidal rule, without convex hull:
    P(s⁺ > s⁻) + ½P(s⁺ = s⁻) for a random positive and a random negative."""
    above = np.cumsum(s.positive, axis=-1)
    tied = _dot(s.negative, s.positive) / 2
    won = _dot(s.negative, above) - tied
    lost = _dot(s.negative, above[..., -1:] - above) + tied
    # Not over P·N, whose rounding would leave separated classes of fractional weight off 1.
    return np.asarray(won / (won + lost))


def _dot(a: FloatArray, b: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("...i,...i", a, b))


@area(
    "AP",
    aliases=("average_precision", "average_precision_score"),
    undefined=NO_POSITIVE,
    interval="pr_logit",
    area=Area("AP"),
)
def averageprecision_of(s: ScoreTable) -> FloatArray:
    """Average precision by the step rule: Σ pₖ(rₖ − rₖ₋₁) over the distinct scores, with the
    precision once all rows of the score are taken in."""
    tp, fp = np.cumsum(s.positive, axis=-1), np.cumsum(s.negative, axis=-1)
    gained = s.positive * precision_of(tp, fp)
    return np.asarray(gained.sum(axis=-1) / s.total_positive)


@area(
    "PR-AUC",
    aliases=("pr_auc", "AUPRC", "AUCPR"),
    undefined=NO_POSITIVE,
    interval="pr_logit",
    area=Area("PR-AUC"),
    reference="Boyd, Eng and Page 2013; Davis and Goadrich 2006",
)
def pr_auc(s: ScoreTable) -> FloatArray:
    """Area under the precision-recall curve by the lower trapezoid.

    A step that takes in positives only is a trapezoid between the precisions before and after it.
    A block of tied scores with both classes is crossed as Davis and Goadrich do, as if its rows
    came in evenly mixed: with x positives taken in, x/(x + fp(x)), fp linear in x. So the area is
    Boyd's lower trapezoid when no scores are tied, and the prevalence for a constant scorer. (A
    trapezoid lies below that crossing, so breaking a tie well can cost a little.)
    """
    tp, fp = np.cumsum(s.positive, axis=-1), np.cumsum(s.negative, axis=-1)
    tp0, fp0 = tp - s.positive, fp - s.negative
    after = precision_of(tp, fp)
    before = np.where(tp0 + fp0 > 0, precision_of(tp0, fp0), after)
    area = s.positive * (before + after) / 2
    mixed = (s.positive > 0) & (s.negative > 0)
    area[mixed] = _tied_area(*(each[mixed] for each in (tp0, fp0, s.positive, s.negative)))
    return np.asarray(area.sum(axis=-1) / s.total_positive)


def precision_of(tp: FloatArray, fp: FloatArray) -> FloatArray:
    """TP/(TP + FP), 0 before anything is taken in."""
    return np.divide(tp, tp + fp, out=np.zeros_like(tp), where=tp + fp > 0)


def _tied_area(tp: FloatArray, fp: FloatArray, t: FloatArray, f: FloatArray) -> FloatArray:
    """∫ x/(a·x + b) dx from tp to tp + t, where fp(x) = fp + (x − tp)·f/t, a = 1 + f/t."""
    a = 1 + f / t
    b = fp - tp * f / t
    # log1p keeps its digits when the block is small against what went before.
    grown = np.log1p(np.divide(t + f, tp + fp, out=np.zeros_like(t), where=tp + fp > 0))
    return np.asarray(np.where(tp + fp > 0, t / a - b / a**2 * grown, t / a))


@area(
    "PR-AUC-DG",
    aliases=("davis_goadrich", "AP-DG"),
    undefined=NO_POSITIVE,
    area=Area("AP-DG"),
    reference="Davis and Goadrich 2006",
)
def davis_goadrich_area(s: ScoreTable) -> FloatArray:
    """Area under the precision-recall curve by Davis and Goadrich's interpolation: between two
    thresholds false positives grow linearly with true positives, so that precision is
    x/(x + fp(x)); before the first one precision is that of its rows."""
    tp, fp = (running[..., :-1] for running in s.running)
    area = np.where(s.positive > 0, _tied_area(tp, fp, s.positive, s.negative), 0.0)
    return np.asarray(area.sum(axis=-1) / s.total_positive)


@area(
    "PRG-AUC",
    range=(-inf, 1),
    uninformed=0.0,
    aliases=("AUPRG", "auprg"),
    smooth=True,
    part=lambda p: 1.0,
    undefined=BOTH_CLASSES,
    reference="Flach and Kull 2015",
)
def precision_recall_gain_area(s: ScoreTable) -> FloatArray:
    """Area under the precision-recall-gain curve from recall gain 0 to 1.

    With the odds of the classes c = P/N, precision gain is 1 − c·FP/TP and recall gain
    1 − c·FN/TP: both are 0 for the answer that everything is positive. Points are joined by
    straight lines, which is interpolating TP and FP linearly; where the curve crosses recall gain
    0, at TP = P²/(P + N), it is cut. It is 1 at best and −N/(2P) at worst.
    """
    positives, negatives = s.total_positive[..., None], s.total_negative[..., None]
    tp, fp = s.running
    start = np.clip(positives**2 / (positives + negatives), tp[..., :-1], tp[..., 1:])
    slope = np.divide(s.negative, s.positive, out=np.zeros_like(start), where=s.positive > 0)
    fp_start = fp[..., :-1] + (start - tp[..., :-1]) * slope
    odds = positives / negatives
    some = (s.positive > 0) & (tp[..., 1:] > start)
    # d(recall gain) = c·P·(1/start − 1/end); of a block that ends before the crossing, nothing.
    width = np.where(some, odds * positives * (1 / start - 1 / tp[..., 1:]), 0.0)
    height = np.where(some, 1 - odds * (fp_start / start + fp[..., 1:] / tp[..., 1:]) / 2, 0.0)
    return np.minimum(_dot(width, height), 1.0)  # widths add up to 1 but for rounding


@area(
    "Gini",
    range=(-1, 1),
    uninformed=0.0,
    aliases=("gini_coefficient", "somers_d", "accuracy_ratio"),
    undefined=BOTH_CLASSES,
    interval="gini",
    area=Area("AUC", 2.0, -1.0),
)
def gini(s: ScoreTable) -> FloatArray:
    """Gini coefficient of the ROC curve (Somers' D, accuracy ratio): 2·AUC − 1."""
    return 2 * roc_auc(s) - 1


@area(
    "pAUC",
    range=(-inf, 1),
    uninformed=0.5,
    aliases=("partial_auc", "partial-AUC"),
    smooth=True,
    part=lambda p: p["max_fpr"] - p["min_fpr"],
    undefined=BOTH_CLASSES
    | {
        "empty_fpr_range": lambda s, p: np.full(
            s.total_positive.shape, p["min_fpr"] >= p["max_fpr"]
        )
    },
    reference="McClish 1989",
)
def partial_auc(s: ScoreTable, max_fpr: float, min_fpr: float = 0.0) -> FloatArray:
    """Partial AUC, standardised by McClish: ½(1 + (A − m)/(M − m)), where A is the area under the
    ROC curve between two false positive rates, m that under the diagonal there, and M the width.

    It is ½ for a constant scorer and 1 where every positive is found at ``min_fpr``. Between the
    rates a and b it is at least (1 − a − b)/(2 − a − b), which is below 0 where a + b is above 1.
    """
    tp, fp = s.running
    negatives = s.total_negative[..., None]
    ends = np.clip(fp, min_fpr * negatives, max_fpr * negatives)
    slope = np.divide(s.positive, s.negative, out=np.zeros_like(s.positive), where=s.negative > 0)
    # The curve halfway between the ends of what of each step lies within.
    middle = (ends[..., 1:] + ends[..., :-1]) / 2
    height = tp[..., :-1] + (middle - fp[..., :-1]) * slope
    found = _dot(ends[..., 1:] - ends[..., :-1], height) / (s.total_positive * s.total_negative)
    width, diagonal = max_fpr - min_fpr, (max_fpr**2 - min_fpr**2) / 2
    return np.asarray((1 + (found - diagonal) / (width - diagonal)) / 2)
