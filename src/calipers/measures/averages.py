"""Averages over classes of binary measures, each class against all others.

With v_k the value of class k, the macro average is Σ v_k over the number of classes. The weighted
average is Σ T_k v_k / Σ T_k, where T_k is the weight of the rows whose true class is k. The micro
average is not an average: it is the measure of the summed counts of all classes.

A class that occurs neither in truth nor in prediction is omitted. A class that occurs but whose
value is undefined, such as precision without predictions of the class, makes the mean undefined.
scikit-learn has another convention, its ``zero_division``, which ``undefined=`` selects: the value
of such a class is 0 or 1, or the class is omitted (NaN); absent classes that ``labels=`` names are
classes without a value, and a weighted average without any weight is unweighted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from calipers.caching import cached
from calipers.lazy_imports import numpy as np
from calipers.statistics import ConfusionMatrix

if TYPE_CHECKING:
    import numpy.typing as npt

    from calipers.statistics import FloatArray

#: How the values of classes become one, and what each way means.
AVERAGES: Mapping[str, str] = {
    "macro": "Macro average: the mean over the classes that occur in truth or prediction.",
    "micro": "Micro average: the one-vs-rest counts of all classes are added up first.",
    "weighted": "Weighted average: the mean over the classes by the weight of their true rows.",
}

#: The same over pairs of classes, of measures of scores.
PAIRWISE_AVERAGES: Mapping[str, str] = {
    "ovo": "One against one: the mean over all pairs of classes, either way round, each measured "
    "on the rows of the two alone (Hand and Till 2001).",
    "weighted-ovo": "One against one: the mean over all pairs of classes, either way round, each "
    "measured on the rows of the two alone, by the weight of these rows (Hand and Till 2001).",
}

#: Average of outputs, weighted by the variance of their truth.
VARIANCE_WEIGHTED = "variance-weighted"

#: The same over outputs, where several numbers are predicted of each row.
OUTPUT_AVERAGES: Mapping[str, str] = {
    "macro": "Macro average: the mean over the outputs.",
    VARIANCE_WEIGHTED: "Weighted average: the mean over the outputs by the variance of the truth "
    "of each, which is the same proportion of the sums over all outputs.",
}

#: Conventions for undefined measures, like scikit-learn's ``zero_division``. If classes without a
#: value are omitted (its NaN), they stay undefined, but averages have a value.
OMIT = "omit"
UNDEFINED_VALUES: Mapping[str, float | None] = {"nan": None, "zero": 0.0, "one": 1.0, OMIT: None}


def conventional_value(definition: Any, undefined: str) -> float | None:
    """Return the value by convention of an undefined measure, or None if it stays undefined.

    In retrieval any convention applies. For measures of labels the range has to be finite; 0
    applies to all of them, and 1 to those from 0 to 1.
    """
    value, (low, high) = UNDEFINED_VALUES[undefined], definition.range
    is_applicable = bool(np.isfinite(high - low)) and (value == 0 or (low, high) == (0, value))
    is_applicable = is_applicable and definition.reads in ("labels", "sets")
    return value if is_applicable or definition.task == "retrieval" else None


#: ``("labels", classes)`` (an average over these), ``("without", classes)`` (over all others), or
#: ``("weights", weights)`` of the outputs.
AverageScope: TypeAlias = "tuple[str, tuple[str, ...]] | tuple[str, tuple[float, ...]] | None"
WEIGHTS = "weights"


def selected_class_mask(among: AverageScope, labels: Sequence[str]) -> npt.NDArray[np.bool_]:
    """Return the mask of the classes that an average is of.

    Raises
    ------
    ValueError
        If there is no such class, or there are not as many weights as outputs.
    """
    kind, names = among or ("without", ())
    if kind == WEIGHTS:
        if len(names) != len(labels):
            raise ValueError(f"there are {len(names)} weights of {len(labels)} outputs")
        return np.array(names, np.float64) > 0
    unknown = [name for name in names if name not in labels]
    if unknown:
        raise ValueError(f"{unknown[0]!r} is not a class of {', '.join(labels)}")
    return np.array([(label in names) == (kind == "labels") for label in labels], bool)


def format_class_set(among: AverageScope) -> list[str]:
    """Format the set of classes of an average, as in its name."""
    return [] if among is None else [f"{among[0]}=[{','.join(map(repr, among[1]))}]"]


def output_weights(among: AverageScope) -> FloatArray | None:
    """Return the weights of the outputs of an average, which sum to 1; None if they are equal."""
    if among is None or among[0] != WEIGHTS:
        return None
    weights = np.array([float(weight) for weight in among[1] if float(weight) > 0])
    return np.asarray(weights / weights.sum())


def weighted_output_mean(among: AverageScope, values: FloatArray) -> FloatArray:
    """Compute the weighted mean of the values of outputs along the last axis."""
    weights = output_weights(among)
    return np.asarray(values.mean(axis=-1) if weights is None else values @ weights)


def class_or_output_average(measure: Any, statistic: Any) -> FloatArray | None:
    """Compute the requested mean over classes or outputs.

    It is NaN for the reasons of :func:`undefined_average`. It is None if no average is requested,
    or for a micro average, whose counts are summed.
    """
    if isinstance(statistic, ConfusionMatrix) and measure.average in ("macro", "weighted"):
        return _weighted_mean(*_class_values(measure, statistic))
    if measure.average is not None and _is_of_numbers(statistic):
        values = measure.plain.apply(statistic)
        if measure.average == VARIANCE_WEIGHTED:
            return _weighted_mean(statistic.of_truth, values)
        return weighted_output_mean(measure.among, values)
    return None


def undefined_average(measure: Any, statistic: Any) -> dict[str, Any] | None:
    """Return where the mean over classes or outputs is undefined, by reason."""
    if isinstance(statistic, ConfusionMatrix) and measure.average in ("macro", "weighted"):
        weight, values = _class_values(measure, statistic)
        return {
            "class_without_value": ((weight > 0) & np.isnan(values)).any(axis=-1),
            "no_occurring_class": ~(weight > 0).any(axis=-1),
        }
    if measure.average is not None and _is_of_numbers(statistic):
        masks_by_reason, varying_mask = (
            measure.plain.reasons(statistic).items(),
            np.asarray(statistic.of_truth > 0),
        )
        # A constant output has weight 0, unless all outputs are constant.
        is_equal_weight = measure.average != VARIANCE_WEIGHTED or ~varying_mask.any(
            axis=-1, keepdims=True
        )
        return {
            reason: (np.asarray(mask, bool) & (varying_mask | is_equal_weight)).any(axis=-1)
            for reason, mask in masks_by_reason
        }
    return None


def _weighted_mean(weight: FloatArray, values: FloatArray) -> FloatArray:
    return np.asarray(np.where(weight > 0, weight * values, 0.0).sum(axis=-1) / weight.sum(axis=-1))


def _class_values(measure: Any, matrix: ConfusionMatrix) -> tuple[FloatArray, FloatArray]:
    """Return the weight of each class and its value.

    Values are cached for the mean, its reasons and other averages.
    """
    class_matrices, binary_measure = matrix.one_vs_rest(), measure.plain
    values = cached(
        class_matrices, ("values", binary_measure), lambda: binary_measure.apply(class_matrices)
    )
    return weights_by_class(measure, matrix, values), values


def weights_by_class(measure: Any, matrix: ConfusionMatrix, values: FloatArray) -> FloatArray:
    """Return the weight of each class in an average."""
    class_matrices, class_mask = matrix.one_vs_rest(), measure.picked(matrix.labels)
    weight = np.asarray(class_matrices.average_weights(measure.average) * class_mask)
    if measure.convention == "nan":
        return weight
    includes_absent = measure.stated or (measure.among or ("",))[0] == "labels"
    equal_weight = (
        class_matrices.average_weights("macro") * class_mask
        if not includes_absent
        else class_mask.astype(np.float64) + 0 * weight
    )
    if measure.average == "macro":
        weight = equal_weight
    if measure.convention == OMIT:
        weight, equal_weight = (
            np.where(np.isnan(values), 0.0, class_weight) for class_weight in (weight, equal_weight)
        )
    return np.where((weight > 0).any(axis=-1, keepdims=True), weight, equal_weight)


def is_multioutput(statistic: Any) -> bool:
    """Return whether a statistic is of several outputs."""
    return _is_of_numbers(statistic) and statistic.of_truth.ndim > 0


def _is_of_numbers(statistic: Any) -> bool:
    """Return whether a statistic is of regression, whose module is imported for such only."""
    from calipers.statistics import NumericMoments

    return isinstance(statistic, NumericMoments)
