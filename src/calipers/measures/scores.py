"""Measures of a score table: how well scores separate two classes.

A score at or above the threshold is positive, tied scores are one step of every curve, and no
direction is guessed: an AUC below one half is reported as such.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from calipers.measures.definition import FloatArray, ScoreTable, measure

NO_POSITIVE = {"no_positive": lambda s, _: s.total_positive == 0}
NO_NEGATIVE = {"no_negative": lambda s, _: s.total_negative == 0}

area = partial(
    measure, family="scores", on=ScoreTable, higher_is_better=True, range=(0, 1), perfect=1.0
)


@area(
    "AUC",
    aliases=("ROC-AUC", "roc_auc", "roc_auc_score", "AUROC", "c-statistic"),
    uninformed=0.5,
    undefined=NO_POSITIVE | NO_NEGATIVE,
    interval="auc",
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
)
def average_precision(s: ScoreTable) -> FloatArray:
    """Average precision by the step rule: Σ pₖ(rₖ − rₖ₋₁) over the distinct scores, with the
    precision once all rows of the score are taken in."""
    tp, fp = np.cumsum(s.positive, axis=-1), np.cumsum(s.negative, axis=-1)
    gained = s.positive * _precision(tp, fp)
    return np.asarray(gained.sum(axis=-1) / s.total_positive)


@area(
    "PR-AUC",
    aliases=("pr_auc", "AUPRC", "AUCPR"),
    undefined=NO_POSITIVE,
    interval="pr_logit",
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
    after = _precision(tp, fp)
    before = np.where(tp0 + fp0 > 0, _precision(tp0, fp0), after)
    trapezoid = s.positive * (before + after) / 2
    mixed = (s.positive > 0) & (s.negative > 0)
    area = np.where(mixed, _tied_area(tp0, fp0, s.positive, s.negative), trapezoid)
    return np.asarray(area.sum(axis=-1) / s.total_positive)


def _precision(tp: FloatArray, fp: FloatArray) -> FloatArray:
    """TP/(TP + FP), 0 before anything is taken in."""
    return np.divide(tp, tp + fp, out=np.zeros_like(tp), where=tp + fp > 0)


def _tied_area(tp: FloatArray, fp: FloatArray, t: FloatArray, f: FloatArray) -> FloatArray:
    """∫ x/(a·x + b) dx from tp to tp + t, where fp(x) = fp + (x − tp)·f/t, a = 1 + f/t."""
    a = 1 + f / t
    b = fp - tp * f / t
    # log1p keeps its digits when the block is small against what went before.
    grown = np.log1p(np.divide(t + f, tp + fp, out=np.zeros_like(t), where=tp + fp > 0))
    return np.asarray(np.where(tp + fp > 0, t / a - b / a**2 * grown, t / a))
