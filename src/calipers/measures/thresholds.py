"""Measures of scores at one threshold, or at the best of all thresholds.

A threshold that is asked for by a bound is the one that attains the value, the highest of several.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from calipers.lazily import numpy as np
from calipers.measures.counts import accuracy, f_measure, informedness
from calipers.measures.scores import BOTH_CLASSES, NO_POSITIVE, area, precision_of
from calipers.statistics import FloatArray, ScoreTable

if TYPE_CHECKING:
    import numpy.typing as npt

NO_ROWS = {"no_rows": lambda s, _: s.total_positive + s.total_negative == 0}

Places: TypeAlias = "npt.NDArray[np.intp]"
Blocks: TypeAlias = "npt.NDArray[np.bool_]"

#: What rounding may take from a share: a bound met up to it is met.
ROUNDING = 1e-12


@area(
    "EER",
    higher_is_better=False,
    perfect=0.0,
    uninformed=0.5,
    aliases=("equal_error_rate",),
    opens=lambda s: _before(s, _past_equality(s)),
    undefined=BOTH_CLASSES,
)
def equal_error_rate(s: ScoreTable) -> FloatArray:
    """Equal error rate: where FPR and FNR are equal on the ROC curve, whose points are joined by
    straight lines."""
    after = _past_equality(s)
    (e0, e1), (r0, r1) = (
        (_take(c, after - 1), _take(c, after)) for c in (_excess(s), s.running[1])
    )
    r0, r1 = r0 / s.total_negative, r1 / s.total_negative
    return np.asarray(r0 + e0 / (e0 - e1) * (r1 - r0))


def _excess(s: ScoreTable) -> FloatArray:
    """FNR − FPR at every threshold: 1 at +∞, −1 at the lowest score."""
    tp, fp = s.running
    positives, negatives = s.total_positive[..., None], s.total_negative[..., None]
    return np.asarray((positives - tp) / positives - fp / negatives)


def _past_equality(s: ScoreTable) -> Places:
    return np.maximum(_first(_excess(s) <= 0), 1)


def _first(holds: npt.NDArray[np.bool_]) -> Places:
    """The first place along the last axis where it holds; −1 where it does nowhere."""
    place = holds.argmax(axis=-1)
    return np.asarray(np.where(_take(holds, place), place, -1))


def highest(values: FloatArray) -> Places:
    """The first place of the largest value, which is the highest threshold that attains it."""
    values = np.where(np.isnan(values), -np.inf, values)
    return _first(values >= values.max(axis=-1, keepdims=True) - ROUNDING)


def _take(column: npt.NDArray[np.generic], place: Places) -> FloatArray:
    return np.asarray(np.take_along_axis(column, place[..., None], axis=-1)[..., 0])


def _before(s: ScoreTable, place: Places) -> Blocks:
    """The block that ends at a place."""
    return np.asarray(np.arange(s.positive.shape[-1]) == place[..., None] - 1)


def may_exceed(known: FloatArray, possible: FloatArray) -> Blocks:
    """Where a block may hold a value as large as the largest known: unless what is possible in it
    is less. A value that is undefined is not known, and may be anything where it is possible."""
    known = np.where(np.isnan(known), -np.inf, known)
    opened: Blocks = ~(possible < known.max(axis=-1, keepdims=True) - ROUNDING)
    return opened


def _best(formula: Callable[..., FloatArray]) -> dict[str, Any]:
    """The traits of the largest value of all thresholds of a measure of counts that grows with TP
    and falls with FP, and whose level lines are straight."""
    return {
        "place": lambda s, **given: highest(formula(s.confusion(), **given)),
        "opens": lambda s, **given: may_exceed(
            formula(s.confusion(), **given), formula(s.corners(), **given)
        ),
        "at_corner": True,
        # The derivative is that at the best threshold.
        "smooth": True,
    }


def _rates(s: ScoreTable, place: Places) -> tuple[FloatArray, FloatArray]:
    """True and false positives at a place of the thresholds."""
    tp, fp = (_take(running, place) for running in s.running)
    return tp, fp


def _at_recall(s: ScoreTable, recall: float) -> Places:
    return _first(s.running[0] >= (recall - ROUNDING) * s.total_positive[..., None])


def _at_recall_not_empty(s: ScoreTable, recall: float) -> Places:
    tp, fp = s.running
    reached = tp >= (recall - ROUNDING) * s.total_positive[..., None]
    return _first(reached & (tp + fp > 0))


def _at_volume(s: ScoreTable, volume: float) -> Places:
    tp, fp = s.running
    taken = tp + fp
    return _first((taken >= (volume - ROUNDING) * taken[..., -1:]) & (taken > 0))


def _at_precision(s: ScoreTable, precision: float) -> Places:
    tp, fp = s.running
    taken = tp + fp
    holds = (tp >= (precision - ROUNDING) * taken) & (taken > 0)
    first = np.where(holds, tp, -1.0).argmax(axis=-1)
    return np.asarray(np.where(holds.any(axis=-1), first, -1))


def _at_fpr(s: ScoreTable, fpr: float) -> Places:
    tp, fp = s.running
    holds = fp <= (fpr + ROUNDING) * s.total_negative[..., None]
    return np.asarray(np.where(holds, tp, -1.0).argmax(axis=-1))


def _opened_at_precision(s: ScoreTable, precision: float) -> Blocks:
    tp, fp = s.running
    place = _at_precision(s, precision)
    found = np.where(place < 0, -1.0, _take(tp, place))
    tp, fp = tp[..., 1:], fp[..., :-1]
    return np.asarray((tp >= found[..., None]) & (tp >= (precision - ROUNDING) * (tp + fp)))


def _opened_at_fpr(s: ScoreTable, fpr: float) -> Blocks:
    tp, fp = s.running
    found = _take(tp, _at_fpr(s, fpr))
    kept = fp[..., :-1] <= (fpr + ROUNDING) * s.total_negative[..., None]
    return np.asarray((tp[..., 1:] >= found[..., None]) & kept)


@area(
    "precision@recall",
    aliases=("PPV@recall", "precision@sensitivity", "precision@TPR"),
    at="recall",
    place=_at_recall_not_empty,
    opens=lambda s, **given: _before(s, _at_recall_not_empty(s, **given)),
    undefined=NO_POSITIVE,
)
def precision_at_recall(s: ScoreTable, recall: float) -> FloatArray:
    """Precision at a recall: the precision at the highest threshold with recall ≥ r, of those at
    which anything is predicted positive. Nothing is interpolated."""
    tp, fp = _rates(s, _at_recall_not_empty(s, recall))
    return tp / (tp + fp)


@area(
    "interpolated-precision@recall",
    aliases=("interpolated_precision@recall", "max-precision@recall"),
    at="recall",
    undefined=NO_POSITIVE,
)
def interpolated_precision_at_recall(s: ScoreTable, recall: float) -> FloatArray:
    """Interpolated precision at a recall: the largest precision of all thresholds with recall ≥ r
    at which anything is predicted positive."""
    tp, fp = s.running
    reached = tp >= (recall - ROUNDING) * s.total_positive[..., None]
    return np.asarray(np.where(reached, precision_of(tp, fp), 0.0).max(axis=-1))


@area("PR-11pt", aliases=("pr_11pt", "eleven-point-precision"), undefined=NO_POSITIVE)
def eleven_point_precision(s: ScoreTable) -> FloatArray:
    """Eleven-point mean: interpolated precision at recall 0, 0.1, …, 1, averaged."""
    points = [interpolated_precision_at_recall(s, tenths / 10) for tenths in range(11)]
    return np.asarray(np.mean(points, axis=0))


@area("PR-break-even", aliases=("pr_break_even", "break-even"),
      shares=("break-even",), undefined=NO_POSITIVE)  # fmt: skip
def break_even_precision(s: ScoreTable) -> FloatArray:
    """Break-even point: the precision where it equals recall, which is where as many rows are
    predicted positive as are. Inside a block of tied scores rows count as evenly mixed."""
    tp, fp = s.running
    taken, wanted = tp + fp, s.total_positive[..., None]
    last = _first(taken >= wanted * (1 - ROUNDING))
    before, after = np.maximum(last - 1, 0), last
    missing = s.total_positive - _take(taken, before)
    block = _take(taken, after) - _take(taken, before)
    share = np.divide(missing, block, out=np.ones_like(missing), where=block > 0)
    hits = _take(tp, before) + np.minimum(share, 1.0) * (_take(tp, after) - _take(tp, before))
    return np.asarray(hits / s.total_positive)


@area(
    "precision@volume",
    aliases=("PPV@volume",),
    at="volume",
    place=_at_volume,
    opens=lambda s, **given: _before(s, _at_volume(s, **given)),
    perfect=None,
    undefined=NO_ROWS,
)
def precision_at_volume(s: ScoreTable, volume: float) -> FloatArray:
    """Precision at a volume: the precision at the highest threshold at which at least the share v
    of all rows (and not nothing) is predicted positive. Nothing is interpolated."""
    tp, fp = _rates(s, _at_volume(s, volume))
    return tp / (tp + fp)


@area(
    "recall@precision",
    aliases=("sensitivity@precision", "TPR@precision", "recall@PPV"),
    at="precision",
    place=_at_precision,
    opens=_opened_at_precision,
    undefined=NO_POSITIVE
    | {"precision_not_reached": lambda s, p: _at_precision(s, p["precision"]) < 0},
)
def recall_at_precision(s: ScoreTable, precision: float) -> FloatArray:
    """Recall at a precision: the largest recall of a threshold with precision ≥ p. Predicting
    nothing positive has no precision and so never satisfies the bound. Nothing is interpolated."""
    return _rates(s, _at_precision(s, precision))[0] / s.total_positive


@area(
    "recall@FPR",
    aliases=("sensitivity@FPR", "TPR@FPR"),
    at="fpr",
    place=_at_fpr,
    opens=_opened_at_fpr,
    undefined=BOTH_CLASSES,
)
def recall_at_fpr(s: ScoreTable, fpr: float) -> FloatArray:
    """Recall at a false positive rate: the largest recall of a threshold with FPR ≤ f; 0 where
    only predicting nothing positive keeps to it. Nothing is interpolated."""
    return _rates(s, _at_fpr(s, fpr))[0] / s.total_positive


@area(
    "FPR@recall",
    aliases=("FPR@sensitivity", "FPR@TPR"),
    at="recall",
    place=_at_recall,
    opens=lambda s, **given: _before(s, _at_recall(s, **given)),
    higher_is_better=False,
    perfect=0.0,
    undefined=BOTH_CLASSES,
)
def fpr_at_recall(s: ScoreTable, recall: float) -> FloatArray:
    """False positive rate at a recall: the smallest FPR of a threshold with recall ≥ r. Nothing is
    interpolated."""
    return _rates(s, _at_recall(s, recall))[1] / s.total_negative


@area(
    "KS",
    aliases=("kolmogorov_smirnov", "ks_statistic"),
    uninformed=0.0,
    **_best(informedness),
    undefined=BOTH_CLASSES,
)
def kolmogorov_smirnov(s: ScoreTable) -> FloatArray:
    """Kolmogorov-Smirnov statistic: the largest recall − FPR of all thresholds, which is the
    largest Youden's J. One-sided: a system that ranks the classes the wrong way round gets 0."""
    tp, fp = s.running
    positives, negatives = s.total_positive[..., None], s.total_negative[..., None]
    return np.asarray((tp / positives - fp / negatives).max(axis=-1))


@area(
    "max-F", aliases=("best-F", "max_f"), suffix="beta", **_best(f_measure), undefined=NO_POSITIVE
)
def best_f_measure(s: ScoreTable, beta: float = 1.0) -> FloatArray:
    """Largest F_β of all thresholds. It is chosen on the rows it is measured on, and so too high
    for new rows."""
    return np.asarray(f_measure(s.confusion(), beta).max(axis=-1))


@area(
    "max-accuracy", aliases=("best-accuracy", "max_accuracy"), **_best(accuracy), undefined=NO_ROWS
)
def best_accuracy(s: ScoreTable) -> FloatArray:
    """Largest accuracy of all thresholds, predicting nothing positive among them. It is chosen on
    the rows it is measured on, and so too high for new rows."""
    # Accuracy is (TP + N − FP) / (P + N), and largest where TP − FP is.
    tp, fp = s.running
    negatives = s.total_negative
    return np.asarray(((tp - fp).max(axis=-1) + negatives) / (s.total_positive + negatives))
