"""Measures of a confusion matrix.

TP, FP, FN and TN are the (weighted) numbers of true and false positives and negatives; P = TP + FN
and N = FP + TN. Every formula applies over leading axes: replicates, thresholds, classes.
"""

from __future__ import annotations

from functools import partial
from math import inf
from typing import TYPE_CHECKING

from calipers.lazy_imports import numpy as np
from calipers.measures.registration import measure
from calipers.statistics import ConfusionMatrix, FloatArray, IntArray

if TYPE_CHECKING:
    import numpy.typing as npt


on_counts = partial(measure, family="counts", statistic=ConfusionMatrix)
count = partial(on_counts, higher_is_better=None, range=(0, inf))
rate = partial(on_counts, higher_is_better=True, range=(0, 1), perfect=1.0)
error = partial(on_counts, higher_is_better=False, range=(0, 1), perfect=0.0)
agreement = partial(rate, range=(-1, 1), no_skill=0.0)
ratio = partial(on_counts, range=(0, inf))

NO_POSITIVE = {"no_positive": lambda c, _: c.positive == 0}
BOTH_CLASSES = NO_POSITIVE | {"no_negative": lambda c, _: c.negative == 0}
ONE_CLASS = {"one_class": lambda c, _: (c.truth_margin > 0).sum(axis=-1) < 2}
ONE_PREDICTION = {"one_prediction": lambda c, _: (c.prediction_margin > 0).sum(axis=-1) < 2}


def _present_mask(c: ConfusionMatrix) -> npt.NDArray[np.bool_]:
    """Return the mask of present classes: both of two; of more, those in truth or prediction."""
    return np.asarray((c.truth_margin + c.prediction_margin > 0) | (c.n_classes == 2))


def _empty_mask(c: ConfusionMatrix) -> npt.NDArray[np.bool_]:
    return np.zeros(c.total.shape, bool)


EMPTY_CLASS = {
    "no_positive": lambda c, _: c.positive == 0 if c.n_classes == 2 else _empty_mask(c),
    "no_negative": lambda c, _: c.negative == 0 if c.n_classes == 2 else _empty_mask(c),
    "class_without_rows": lambda c, _: (
        (_present_mask(c) & (c.truth_margin == 0)).any(axis=-1)
        if c.n_classes > 2
        else _empty_mask(c)
    ),
    "no_rows": lambda c, _: c.total == 0,
}

#: Matrices of a single class, for which no error is possible.
NO_OTHER_CLASS = {"one_class": lambda c, _: np.full(c.total.shape, c.n_classes < 2)}
SINGLE_CLASS = {"one_class": lambda c, _: _present_mask(c).sum(axis=-1) < 2}


@count("TP", aliases=("true_positives",))
def true_positives(c: ConfusionMatrix) -> FloatArray:
    """TP, the true positives: positives that are predicted positive."""
    return c.tp


@count("FP", aliases=("false_positives",))
def false_positives(c: ConfusionMatrix) -> FloatArray:
    """FP, the false positives: negatives that are predicted positive."""
    return c.fp


@count("FN", aliases=("false_negatives",))
def false_negatives(c: ConfusionMatrix) -> FloatArray:
    """FN, the false negatives: positives that are predicted negative."""
    return c.fn


@count("TN", aliases=("true_negatives",))
def true_negatives(c: ConfusionMatrix) -> FloatArray:
    """TN, the true negatives: negatives that are predicted negative."""
    return c.tn


@rate(
    "accuracy",
    aliases=("acc", "accuracy_score"),
    proportion_of="total",
    is_multiclass=True,
    counts_hits=True,
    has_straight_levels=True,
)
def accuracy(c: ConfusionMatrix) -> FloatArray:
    """Accuracy, the proportion of rows that are classified correctly: (TP + TN) / (P + N).

    For scores without a threshold, the threshold with the largest accuracy on the same rows is
    used. It ranges from 0 to 1 and is undefined without rows.
    """
    return c.correct / c.total


@error(
    "error-rate",
    aliases=("error_rate", "ERR", "zero_one_loss", "misclassification_rate", "hamming_loss"),
    shared_names=("ERR", "hamming_loss"),
    proportion_of="total",
    is_multiclass=True,
    counts_hits=False,
    has_straight_levels=True,
)
def error_rate(c: ConfusionMatrix) -> FloatArray:
    """Error rate, the proportion of rows that are misclassified: (FP + FN) / (P + N).

    It ranges from 0 to 1 and is undefined without rows.
    """
    return (c.total - c.correct) / c.total


@rate("precision", aliases=("PPV", "positive_predictive_value"), proportion_of="predicted_positive")
def precision(c: ConfusionMatrix) -> FloatArray:
    """Precision, the proportion of predicted positives that are actually positive.

    It is the positive predictive value (PPV), TP / (TP + FP). It ranges from 0 to 1 and is
    undefined without positive predictions.
    """
    return c.tp / c.predicted_positive


@rate(
    "recall",
    aliases=("TPR", "true_positive_rate", "sensitivity", "hit_rate"),
    proportion_of="positive",
)
def recall(c: ConfusionMatrix) -> FloatArray:
    """Recall (sensitivity, true positive rate), the proportion of positives predicted positive.

    It is TP / (TP + FN), ranges from 0 to 1 and is undefined without positives.
    """
    return c.tp / c.positive


@rate("specificity", aliases=("TNR", "true_negative_rate", "selectivity"), proportion_of="negative")
def specificity(c: ConfusionMatrix) -> FloatArray:
    """Specificity (true negative rate), the proportion of negatives that are predicted negative.

    It is TN / (FP + TN), ranges from 0 to 1 and is undefined without negatives.
    """
    return c.tn / c.negative


@rate("NPV", aliases=("negative_predictive_value",), proportion_of="predicted_negative")
def negative_predictive_value(c: ConfusionMatrix) -> FloatArray:
    """Negative predictive value, the proportion of predicted negatives that are negative.

    It is TN / (TN + FN), ranges from 0 to 1 and is undefined without negative predictions.
    """
    return c.tn / c.predicted_negative


@error(
    "FPR",
    aliases=("false_positive_rate", "fall-out", "false_alarm_rate", "type_1_error"),
    proportion_of="negative",
)
def false_positive_rate(c: ConfusionMatrix) -> FloatArray:
    """FPR (false positive rate), the proportion of negatives that are predicted positive.

    It is FP / (FP + TN), ranges from 0 to 1 and is undefined without negatives.
    """
    return c.fp / c.negative


@error(
    "FNR", aliases=("false_negative_rate", "miss_rate", "type_2_error"), proportion_of="positive"
)
def false_negative_rate(c: ConfusionMatrix) -> FloatArray:
    """FNR (false negative rate), the proportion of positives that are predicted negative.

    It is FN / (TP + FN), ranges from 0 to 1 and is undefined without positives.
    """
    return c.fn / c.positive


@error("FDR", aliases=("false_discovery_rate",), proportion_of="predicted_positive")
def false_discovery_rate(c: ConfusionMatrix) -> FloatArray:
    """FDR (false discovery rate), the proportion of predicted positives that are negative.

    It is FP / (TP + FP), ranges from 0 to 1 and is undefined without positive predictions.
    """
    return c.fp / c.predicted_positive


@error("FOR", aliases=("false_omission_rate",), proportion_of="predicted_negative")
def false_omission_rate(c: ConfusionMatrix) -> FloatArray:
    """FOR (false omission rate), the proportion of predicted negatives that are positive.

    It is FN / (TN + FN), ranges from 0 to 1 and is undefined without negative predictions.
    """
    return c.fn / c.predicted_negative


@count(
    "prevalence",
    range=(0, 1),
    aliases=("generality", "total_recall", "base_rate"),
    proportion_of="total",
)
def prevalence(c: ConfusionMatrix) -> FloatArray:
    """Prevalence, the proportion of rows that are positive: P / (P + N).

    In retrieval it is called generality. It ranges from 0 to 1 and is undefined without rows.
    """
    return c.positive / c.total


@count(
    "detection-prevalence",
    range=(0, 1),
    aliases=("volume", "predicted_positive_rate"),
    proportion_of="total",
)
def detection_prevalence(c: ConfusionMatrix) -> FloatArray:
    """Prevalence of positive predictions: the proportion (TP + FP) / (P + N) of the rows.

    It ranges from 0 to 1 and is undefined without rows.
    """
    return c.predicted_positive / c.total


@ratio(
    "lift",
    higher_is_better=True,
    no_skill=1.0,
    undefined=NO_POSITIVE | {"nothing_predicted_positive": lambda c, _: c.predicted_positive == 0},
)
def lift(c: ConfusionMatrix) -> FloatArray:
    """Lift: precision / prevalence.

    It is nonnegative, and 1 for random predictions; it is undefined without positives or without
    positive predictions.
    """
    return precision(c) / prevalence(c)


@ratio(
    "net-benefit",
    higher_is_better=True,
    range=(-inf, 1),
    aliases=("net_benefit",),
    undefined={"no_rows": lambda c, _: c.total == 0},
    reference="Vickers and Elkin 2006",
    has_straight_levels=True,
)
def net_benefit(c: ConfusionMatrix, odds: float = 1.0) -> FloatArray:
    """Net benefit: TP/n − odds · FP/n, in true positives per row.

    ``odds`` is the number of true positives that one false positive costs: p / (1 − p) for a
    decision maker who would act from a probability of p on. With no positive predictions the net
    benefit is 0. It is at most 1; it is undefined if there are no rows.
    """
    return (c.tp - odds * c.fp) / c.total


@rate(
    "balanced-accuracy",
    aliases=("balanced_accuracy", "balanced_accuracy_score"),
    no_skill=0.5,
    undefined=EMPTY_CLASS | NO_OTHER_CLASS,
    is_multiclass=True,
    macro_of="recall",
    has_straight_levels=True,
)
def balanced_accuracy(c: ConfusionMatrix) -> FloatArray:
    """Balanced accuracy, the mean recall of the classes.

    It is (recall + specificity) / 2 for two classes, and macro-recall for more. It ranges from 0 to
    1. It is undefined if a class has no rows.
    """
    occurring_mask = _present_mask(c)
    recalls = c.hits / c.truth_margin
    return np.asarray(
        np.where(occurring_mask, recalls, 0.0).sum(axis=-1) / occurring_mask.sum(axis=-1)
    )


def adjust_for_chance(balanced: FloatArray, c: ConfusionMatrix) -> FloatArray:
    """Adjust a balanced accuracy for chance, so that constant predictions have 0."""
    chance = 1 / _present_mask(c).sum(axis=-1)
    return np.asarray((balanced - chance) / (1 - chance))


@agreement(
    "adjusted-balanced-accuracy",
    undefined=EMPTY_CLASS | SINGLE_CLASS,
    is_multiclass=True,
    macro_of="recall",
    chance_adjusted=adjust_for_chance,
    has_straight_levels=True,
)
def adjusted_balanced_accuracy(c: ConfusionMatrix) -> FloatArray:
    """Balanced accuracy b adjusted for chance: (b − 1/K) / (1 − 1/K).

    K is the number of classes that occur. It is 0 for a constant prediction, at most 1 and at least
    −1/(K − 1); for two classes it is Youden's J. It is undefined if a class has no rows.
    """
    return adjust_for_chance(balanced_accuracy(c), c)


def precision_weight(beta: float, alpha: float | None = None) -> float:
    """Return the weight of precision in F_β, in van Rijsbergen's form: 1 / (1 + β²)."""
    return 1 / (1 + beta**2) if alpha is None else alpha


def multiply_ignoring_zero(proportion: float | FloatArray, value: FloatArray) -> FloatArray:
    """Multiply a proportion and a number, which may be infinite where the proportion is 0."""
    nonzero_mask = np.not_equal(proportion, 0)
    out = np.zeros(np.broadcast_shapes(np.shape(proportion), np.shape(value)))
    return np.asarray(np.multiply(proportion, value, out=out, where=nonzero_mask))


@rate(
    "F",
    aliases=("f_score", "fbeta", "fbeta_score", "f-measure"),
    suffix="beta",
    undefined={
        "no_positive_true_or_predicted": lambda c, _: c.tp + c.fp + c.fn == 0,
        "nothing_predicted_positive": lambda c, p: (
            p["from_rates"] & (c.tp + c.fp == 0) & (c.fn > 0)
        ),
        "no_positive": lambda c, p: p["from_rates"] & (c.tp + c.fn == 0) & (c.fp > 0),
    },
    reference="van Rijsbergen 1979",
    has_straight_levels=True,
)
def f_measure(
    c: ConfusionMatrix, beta: float = 1.0, alpha: float | None = None, *, from_rates: bool = False
) -> FloatArray:
    """F_β, the weighted harmonic mean of precision and recall.

    From counts it is (1 + β²)TP / ((1 + β²)TP + β²FN + FP). It is 0, not undefined, when precision
    is undefined but there are positives to find; with ``from_rates`` it is undefined where
    precision or recall is, as (1 + β²)PR / (β²P + R) is. Given ``alpha`` it is 1 / (α/precision +
    (1 − α)/recall), that is β² = (1 − α)/α. At β = ∞ it is recall. It ranges from 0 to 1 and is
    undefined if nothing is positive or predicted positive.
    """
    weight = precision_weight(beta, alpha)
    value = c.tp / (
        c.tp + multiply_ignoring_zero(1 - weight, c.fn) + multiply_ignoring_zero(weight, c.fp)
    )
    # At β = 0 (or α = 0) nothing found is 0/0; the limit is 0, as for every other β.
    return np.where((c.tp == 0) & (c.fp + c.fn > 0), 0.0, value)


@agreement(
    "MCC",
    aliases=("matthews_corrcoef", "phi"),
    undefined=ONE_CLASS | ONE_PREDICTION,
    is_multiclass=True,
    reference="Matthews 1975; Gorodkin 2004",
)
def matthews_correlation(c: ConfusionMatrix) -> FloatArray:
    """Matthews correlation: (TP·TN − FP·FN) / √((TP+FP)(TP+FN)(TN+FP)(TN+FN)).

    For K classes it is Gorodkin's R_K, which equals it for two. It ranges from −1 to 1 and is
    undefined if all rows belong to one class, or are all predicted to belong to one class.
    """
    truth, prediction, total = c.truth_margin, c.prediction_margin, c.total[..., None]
    covariance = c.correct * c.total - (truth * prediction).sum(axis=-1)
    variance_product = (truth * (total - truth)).sum(axis=-1) * (
        prediction * (total - prediction)
    ).sum(axis=-1)
    return np.asarray(covariance / np.sqrt(variance_product))


@rate(
    "Jaccard",
    aliases=("jaccard_score", "JI", "IoU", "critical_success_index", "threat_score"),
    undefined={"no_positive_true_or_predicted": lambda c, _: c.tp + c.fp + c.fn == 0},
    reference="Jaccard 1912",
    has_straight_levels=True,
)
def jaccard(c: ConfusionMatrix) -> FloatArray:
    """Jaccard index (intersection over union): TP / (TP + FP + FN).

    It ranges from 0 to 1; multiply by 100 for a percentage. It is undefined if nothing is positive
    or predicted positive.
    """
    return c.tp / (c.tp + c.fp + c.fn)


@agreement(
    "kappa",
    aliases=("cohen_kappa", "cohen_kappa_score"),
    undefined={
        "same_single_class": lambda c, _: (
            (c.truth_margin * c.prediction_margin).sum(axis=-1) == c.total**2
        )
    },
    is_multiclass=True,
    depends_on_class_order=lambda _, parameters: parameters["weights"] is not None,
    reference="Cohen 1960; Cohen 1968",
    has_straight_levels=True,
)
def cohen_kappa(c: ConfusionMatrix, weights: str | None = None) -> FloatArray:
    """Cohen's κ: agreement beyond chance, (p_o − p_e) / (1 − p_e) with p_e from the margins.

    With ``weights`` disagreements are weighted by the distance of truth i and prediction j in the
    order of the classes, |i − j| for ``"linear"`` and (i − j)² for ``"quadratic"``: 1 − Σ
    w·observed / Σ w·expected. The order is that of ``labels=`` or of an ordered categorical;
    otherwise numbers are sorted by value and text alphabetically, which a note says. For two
    classes all three are the same. It ranges from −1 to 1 and is undefined if truth and prediction
    are the same single class.
    """
    if weights is not None:
        power = 1 if weights == "linear" else 2
        return np.asarray(1 - c.distance_sum(power) / _expected_distance_sums(c, power))
    expected = (c.truth_margin * c.prediction_margin).sum(axis=-1) / c.total
    return np.asarray((c.correct - expected) / (c.total - expected))


def _expected_distance_sums(c: ConfusionMatrix, power: int) -> FloatArray:
    """Compute the expected :meth:`ConfusionMatrix.distance_sums` under independence, in time K."""
    if power == 1:  # rows at distance |i − j| are separated by |i − j| borders of classes
        truth, prediction = (
            np.cumsum(x, axis=-1)[..., :-1] for x in (c.truth_margin, c.prediction_margin)
        )
        total = c.total[..., None]
        n_crossings = truth * (total - prediction) + (total - truth) * prediction
        return np.asarray(n_crossings.sum(axis=-1) / c.total)
    centered_index = np.arange(c.n_classes) - (c.n_classes - 1) / 2
    first, second = c.truth_margin @ centered_index, c.prediction_margin @ centered_index
    return np.asarray(
        (c.truth_margin + c.prediction_margin) @ centered_index**2 - 2 * first * second / c.total
    )


def _by_order(_: ConfusionMatrix, __: object) -> bool:
    return True


ordinal_error = partial(
    on_counts,
    interval="own_end",
    higher_is_better=False,
    range=(0, inf),
    range_of_two=(0, 1),
    perfect=0.0,
    is_multiclass=True,
    depends_on_class_order=_by_order,
)


@ordinal_error("ordinal-MAE", undefined={"no_rows": lambda c, _: c.total == 0})
def ordinal_mean_absolute_error(c: ConfusionMatrix) -> FloatArray:
    """Mean absolute error of ordered classes: mean of |i − j| of true class i and predicted j.

    i and j are the positions of both in the order of the classes, which is that of ``labels=`` or
    of an ordered categorical; otherwise numbers are sorted by value and text alphabetically, which
    a note says. It ranges from 0 to K − 1 for K classes; for two it is the error rate. It is
    undefined without rows.
    """
    return np.asarray(c.distance_sum(1) / c.total)


@ordinal_error(
    "AMAE",
    aliases=("macro_averaged_mean_absolute_error", "average-MAE"),
    undefined=EMPTY_CLASS | NO_OTHER_CLASS,
    reference="Baccianella, Esuli and Sebastiani 2009",
)
def macro_averaged_absolute_error(c: ConfusionMatrix) -> FloatArray:
    """Macro-averaged mean absolute error of ordered classes: the mean of that of each true class.

    The error of a row is |i − j|, as in ordinal-MAE, but rare classes count as much as frequent
    ones. It ranges from 0 to K − 1 for K classes; for two it is 1 − balanced accuracy. It is
    undefined if a class that is predicted has no true rows, or if all rows belong to one class.
    """

    def errors(counts: FloatArray, truth: IntArray, predicted: IntArray) -> FloatArray:
        class_rows = c.truth_margin[..., truth]
        proportions = counts / np.where(class_rows > 0, class_rows, 1.0)
        return np.asarray(proportions * np.abs(truth - predicted))

    return np.asarray(c.cell_sum(errors) / _present_mask(c).sum(axis=-1))


#: A system that takes one class for another throughout has the association of a perfect one.
association = partial(rate, higher_is_better=None, no_skill=None, is_multiclass=True)


def occurring_classes(c: ConfusionMatrix) -> tuple[IntArray, IntArray]:
    """Return the numbers of classes with true rows, and of those with predicted ones."""
    return (
        np.count_nonzero(c.truth_margin > 0, axis=-1),
        np.count_nonzero(c.prediction_margin > 0, axis=-1),
    )


def mean_square_contingency(c: ConfusionMatrix) -> FloatArray:
    """Compute χ²/n of Pearson's test of independence of true and predicted classes."""

    def terms(counts: FloatArray, truth: IntArray, predicted: IntArray) -> FloatArray:
        products = c.truth_margin[..., truth] * c.prediction_margin[..., predicted]
        return np.asarray(np.square(counts) / np.where(products > 0, products, 1.0))

    return np.maximum(c.cell_sum(terms) - 1, 0.0)


@association(
    "Cramer-V",
    interval="association",
    aliases=("cramers_v", "cramer_v", "Cramér-V"),
    undefined=ONE_CLASS | ONE_PREDICTION,
    reference="Cramér 1946",
)
def cramers_v(c: ConfusionMatrix) -> FloatArray:
    """Cramér's V, the association of true and predicted classes: √(χ²/(n(K − 1))).

    χ² is that of Pearson's test of independence, and K the number of true classes or of predicted
    ones, whichever is less. It does not depend on which class is called which, so that it can be 1
    where all predictions are wrong; for two classes it is |MCC|. It ranges from 0 to 1 and is above
    0 by chance. It is undefined if all rows belong to one class, or are all predicted to belong to
    one class.
    """
    n_classes = np.minimum(*occurring_classes(c))
    root_mean_square = np.sqrt(mean_square_contingency(c) / (n_classes - 1))
    return np.asarray(np.minimum(root_mean_square, 1.0))


def _entropy_sum(x: FloatArray) -> FloatArray:
    """Return x·log x, 0 for 0."""
    return np.asarray(x * np.log(np.where(x > 0, x, 1.0)))


@association(
    "uncertainty-coefficient",
    interval="squared_association",
    aliases=("Theil-U", "theils_u", "RCI", "relative_classifier_information"),
    shared_names=("Theil-U", "theils_u"),
    no_skill=0.0,
    undefined=ONE_CLASS,
    reference="Theil 1970; Sindhwani, Bhattacharya and Rakshit 2001",
)
def uncertainty_coefficient(c: ConfusionMatrix) -> FloatArray:
    """Theil's U (uncertainty coefficient): I/H, the proportion of the entropy that is explained.

    I is the mutual information of true and predicted classes, and H the entropy of the true
    classes. It is the relative classifier information (RCI), and does not depend on which class is
    called which, so that it can be 1 where all predictions are wrong. It ranges from 0 to 1, is 0
    for a constant prediction and above 0 by chance. It is undefined if all rows belong to one
    class.
    """
    total = c.total * np.log(c.total)
    truth_entropy = total - _entropy_sum(c.truth_margin).sum(axis=-1)
    prediction_entropy = total - _entropy_sum(c.prediction_margin).sum(axis=-1)
    joint_entropy = total - c.cell_sum(lambda counts, *_: _entropy_sum(counts))
    information = np.maximum(truth_entropy + prediction_entropy - joint_entropy, 0.0)
    return np.asarray(np.minimum(information / truth_entropy, 1.0))


@rate(
    "Bangdiwala-B",
    interval="own_end",
    aliases=("bangdiwala_b",),
    undefined={
        "no_common_class": lambda c, _: (c.truth_margin * c.prediction_margin).sum(axis=-1) == 0
    },
    is_multiclass=True,
    reference="Bangdiwala 1985",
)
def bangdiwala_b(c: ConfusionMatrix) -> FloatArray:
    """Bangdiwala's B: Σ nₖₖ²/Σ tₖpₖ, with correct rows n, true rows t and predicted rows p.

    It is the proportion of the area of the rectangles of an agreement chart, t by p, that the
    squares of the correct rows cover. It ranges from 0 to 1. It is undefined if no class occurs in
    both truth and prediction.
    """
    return np.asarray(
        np.square(c.hits).sum(axis=-1) / (c.truth_margin * c.prediction_margin).sum(axis=-1)
    )


@on_counts(
    "Bennett-S",
    aliases=("bennett_s", "random-accuracy-corrected"),
    shared_names=("Bennett-S",),
    higher_is_better=True,
    range=(-1, 1),
    perfect=1.0,
    is_multiclass=True,
    undefined=SINGLE_CLASS | {"no_rows": lambda c, _: c.total == 0},
    reference="Bennett, Alpert and Goldstein 1954",
)
def bennett_s(c: ConfusionMatrix) -> FloatArray:
    """Bennett's S: (accuracy − 1/K)/(1 − 1/K), agreement beyond that of K equally likely classes.

    K is the number of classes that occur. For two classes it is 2·accuracy − 1, the
    prevalence-adjusted bias-adjusted kappa. It ranges from −1/(K − 1) to 1 and is undefined without
    rows, or if one class occurs.
    """
    chance = 1 / _present_mask(c).sum(axis=-1)
    return np.asarray((c.correct / c.total - chance) / (1 - chance))


@on_counts(
    "NIR",
    aliases=("no-information-rate", "no_information_rate"),
    higher_is_better=None,
    range=(0, 1),
    is_multiclass=True,
    undefined={"no_rows": lambda c, _: c.total == 0},
    reference="Kuhn 2008",
)
def no_information_rate(c: ConfusionMatrix) -> FloatArray:
    """No-information rate: the proportion of the most frequent class in the truth.

    It is the accuracy of always predicting that class. It ranges from 1/K to 1 for K classes and is
    undefined without rows.
    """
    return np.asarray(c.truth_margin.max(axis=-1) / c.total)


@on_counts(
    "accuracy-p",
    aliases=("accuracy_p_value",),
    higher_is_better=None,
    range=(0, 1),
    is_multiclass=True,
    interval="none",
    undefined={"no_rows": lambda c, _: c.total == 0},
    reference="Kuhn 2008",
)
def accuracy_p_value(c: ConfusionMatrix) -> FloatArray:
    """P-value of the exact binomial test that the accuracy is above the no-information rate.

    It is P(X ≥ correct rows) for X ~ Binomial(n, NIR), one-sided, where NIR, the proportion of the
    most frequent class, is taken as known. With weights, n is the effective number of rows,
    (Σw)²/Σw², and the binomial distribution is interpolated by the beta distribution. Clusters are
    not accounted for. It ranges from 0 to 1 and is undefined without rows.
    """
    # No other measure needs SciPy, which is imported only here.
    from scipy.special import betainc

    n = c.effective_size("total")
    correct = np.asarray(c.correct / c.total * n)
    tail = betainc(np.maximum(correct, 1e-300), n - correct + 1, no_information_rate(c))
    return np.where(correct > 0, tail, 1.0)


@agreement(
    "Yule-Q",
    aliases=("yule_q", "yules_q"),
    undefined={"no_product": lambda c, _: c.tp * c.tn + c.fp * c.fn == 0},
    no_skill=None,
    reference="Yule 1900",
)
def yules_q(c: ConfusionMatrix) -> FloatArray:
    """Yule's Q: (TP·TN − FP·FN)/(TP·TN + FP·FN), which is (DOR − 1)/(DOR + 1).

    It is the diagnostic odds ratio on a scale from −1 to 1, with 0 for independence. It is
    undefined if both products are 0.
    """
    correct, incorrect = c.tp * c.tn, c.fp * c.fn
    return np.asarray((correct - incorrect) / (correct + incorrect))


@agreement(
    "J",
    aliases=("informedness", "youden", "youden_j", "bookmaker"),
    undefined=BOTH_CLASSES,
    reference="Youden 1950",
    has_straight_levels=True,
)
def informedness(c: ConfusionMatrix) -> FloatArray:
    """Youden's J (informedness): recall + specificity − 1.

    It ranges from −1 to 1 and is undefined if there are only positives or only negatives.
    """
    return recall(c) - false_positive_rate(c)


@agreement("markedness", no_skill=None, undefined=ONE_PREDICTION, reference="Powers 2011")
def markedness(c: ConfusionMatrix) -> FloatArray:
    """Markedness: precision + NPV − 1.

    It ranges from −1 to 1 and is undefined if all rows are predicted to belong to one class.
    """
    return precision(c) - false_omission_rate(c)


@ratio(
    "LR+",
    aliases=("positive_likelihood_ratio",),
    higher_is_better=True,
    no_skill=1.0,
    undefined=BOTH_CLASSES | {"no_false_positive": lambda c, _: c.fp == 0},
)
def positive_likelihood_ratio(c: ConfusionMatrix) -> FloatArray:
    """Positive likelihood ratio: recall / FPR.

    It is the factor by which a positive prediction multiplies the odds. It is nonnegative; it is
    undefined if there are only positives or only negatives, or no false positives.
    """
    return recall(c) / false_positive_rate(c)


@ratio(
    "LR-",
    aliases=("negative_likelihood_ratio",),
    higher_is_better=False,
    perfect=0.0,
    no_skill=1.0,
    undefined=BOTH_CLASSES | {"no_true_negative": lambda c, _: c.tn == 0},
)
def negative_likelihood_ratio(c: ConfusionMatrix) -> FloatArray:
    """Negative likelihood ratio: FNR / specificity.

    It is the factor by which a negative prediction multiplies the odds. It is nonnegative; it is
    undefined if there are only positives or only negatives, or no true negatives.
    """
    return false_negative_rate(c) / specificity(c)


@ratio(
    "DOR",
    aliases=("diagnostic_odds_ratio",),
    higher_is_better=True,
    undefined={"no_false_positive_or_negative": lambda c, _: (c.fp == 0) | (c.fn == 0)},
)
def diagnostic_odds_ratio(c: ConfusionMatrix) -> FloatArray:
    """Diagnostic odds ratio: (TP·TN) / (FP·FN), which is LR+ / LR−.

    It is nonnegative; it is undefined without false positives or without false negatives.
    """
    return (c.tp / c.fp) * (c.tn / c.fn)


@rate(
    "G-mean",
    aliases=("g_mean", "geometric_mean_score"),
    no_skill=0.0,
    undefined=EMPTY_CLASS | SINGLE_CLASS,
    is_multiclass=True,
    reference="Kubat and Matwin 1997; Sun, Kamel and Wang 2006",
)
def g_mean(c: ConfusionMatrix) -> FloatArray:
    """Geometric mean of the recalls of the classes; of two, √(recall · specificity).

    For K classes it is the K-th root of the product of their recalls, 0 if a class is never
    predicted correctly. It ranges from 0 to 1 and is undefined if a class has no rows.
    """
    if c.n_classes == 2:
        return np.sqrt(recall(c) * specificity(c))
    occurring_mask = _present_mask(c)
    with np.errstate(divide="ignore"):
        logarithms = np.where(occurring_mask, np.log(c.hits / c.truth_margin), 0.0)
    return np.asarray(np.exp(logarithms.sum(axis=-1) / occurring_mask.sum(axis=-1)))


@rate(
    "IBA",
    aliases=("index_balanced_accuracy", "index-of-balanced-accuracy"),
    undefined=BOTH_CLASSES,
    reference="García, Mollineda and Sánchez 2009",
)
def index_of_balanced_accuracy(c: ConfusionMatrix, alpha: float = 0.1) -> FloatArray:
    """Index of balanced accuracy: (1 + α·(recall − specificity))·recall·specificity.

    It is the square of the G-mean, increased if positives are classified better than negatives, and
    reduced otherwise. α is ``alpha``, from 0 to 1; above ½ a higher specificity may reduce it. It
    ranges from 0 to 1 and is undefined if there
    are only positives or only negatives.
    """
    sensitivity, negative_rate = recall(c), specificity(c)
    dominance = sensitivity - negative_rate
    return np.asarray((1 + alpha * dominance) * sensitivity * negative_rate)


@rate(
    "precision@prevalence",
    aliases=("PPV@prevalence",),
    suffix_parameter="prevalence",
    undefined=BOTH_CLASSES
    | {
        "nothing_predicted_positive": lambda c, p: _predicted_positive_rate(c, p["prevalence"]) == 0
    },
)
def precision_at_prevalence(c: ConfusionMatrix, prevalence: float) -> FloatArray:
    """Precision (PPV) at prevalence π, by Bayes' rule: recall·π / (recall·π + FPR·(1 − π)).

    It ranges from 0 to 1. It is undefined if there are only positives or only negatives, or no
    positive predictions.
    """
    return recall(c) * prevalence / _predicted_positive_rate(c, prevalence)


def _predicted_positive_rate(c: ConfusionMatrix, prevalence: float) -> FloatArray:
    """Compute the proportion predicted positive at a prevalence."""
    return recall(c) * prevalence + false_positive_rate(c) * (1 - prevalence)


@rate(
    "NPV@prevalence",
    suffix_parameter="prevalence",
    undefined=BOTH_CLASSES
    | {
        "nothing_predicted_negative": lambda c, p: _predicted_negative_rate(c, p["prevalence"]) == 0
    },
)
def npv_at_prevalence(c: ConfusionMatrix, prevalence: float) -> FloatArray:
    """Negative predictive value at prevalence π, by Bayes' rule.

    It is specificity·(1 − π) / (specificity·(1 − π) + FNR·π). It ranges from 0 to 1. It is
    undefined if there are only positives or only negatives, or no negative predictions.
    """
    return specificity(c) * (1 - prevalence) / _predicted_negative_rate(c, prevalence)


def _predicted_negative_rate(c: ConfusionMatrix, prevalence: float) -> FloatArray:
    """Compute the proportion predicted negative at a prevalence."""
    return specificity(c) * (1 - prevalence) + false_negative_rate(c) * prevalence


@ratio(
    "cost",
    aliases=("expected-cost", "expected_cost"),
    higher_is_better=False,
    perfect=0.0,
    undefined={
        "no_rows": lambda c, _: c.total == 0,
        "no_positive": lambda c, p: (c.positive == 0) & (p["prevalence"] is not None),
        "no_negative": lambda c, p: (c.negative == 0) & (p["prevalence"] is not None),
    },
    has_straight_levels=True,
)
def expected_cost(
    c: ConfusionMatrix,
    cost_fp: float = 1.0,
    cost_fn: float = 1.0,
    prevalence: float | None = None,
) -> FloatArray:
    """Cost per row (expected cost): (cost_fp·FP + cost_fn·FN) / (P + N).

    With a ``prevalence`` π it is the expected cost at that prevalence: cost_fp·FPR·(1 − π) +
    cost_fn·FNR·π. ``cost(FP=1,FN=5)`` is short for ``cost(cost_fp=1,cost_fn=5)``. It is 0 or
    more. It is undefined without rows, and with a ``prevalence`` if there are only positives or
    only negatives.
    """
    if prevalence is None:
        return (cost_fp * c.fp + cost_fn * c.fn) / c.total
    fp_cost = cost_fp * false_positive_rate(c) * (1 - prevalence)
    return fp_cost + cost_fn * false_negative_rate(c) * prevalence


@error(
    "ROC-distance",
    aliases=("closest", "closest-topleft", "distance_to_corner"),
    range=(0, 2**0.5),
    undefined=BOTH_CLASSES,
)
def roc_distance(c: ConfusionMatrix) -> FloatArray:
    """Distance of the point (FPR, recall) from the ideal (0, 1): √(FPR² + FNR²).

    It ranges from 0 to √2 and is undefined if there are only positives or only negatives.
    """
    return np.hypot(false_positive_rate(c), false_negative_rate(c))


@agreement(
    "diagonal-distance",
    aliases=("distance-to-diagonal", "distance_to_diagonal"),
    range=(-(0.5**0.5), 0.5**0.5),
    perfect=0.5**0.5,
    undefined=BOTH_CLASSES,
    has_straight_levels=True,
)
def diagonal_distance(c: ConfusionMatrix) -> FloatArray:
    """Signed distance of the point (FPR, recall) from the diagonal of the ROC plane.

    It is (recall − FPR)/√2, Youden's J over √2. It is 0 for random predictions; below 0 the
    inverted predictions are better than chance. It ranges from −1/√2 to 1/√2 and is undefined if
    there are only positives or only negatives.
    """
    return np.asarray(informedness(c) / np.sqrt(2.0))


@rate(
    "generalized-Youden",
    aliases=("sensitivity-specificity", "sens_spec"),
    undefined=BOTH_CLASSES,
    has_straight_levels=True,
)
def generalized_youden(c: ConfusionMatrix, sensitivity_share: float = 0.5) -> FloatArray:
    """Weighted sum of sensitivity and specificity: w·recall + (1 − w)·specificity.

    w is ``sensitivity_share``. It ranges from 0 to 1 and is undefined if there are only positives
    or only negatives.
    """
    return sensitivity_share * recall(c) + (1 - sensitivity_share) * specificity(c)
