"""Averages of a measure of two classes over several, each against the rest.

With v_k the value of class k, the macro average is Σ v_k over the number of classes, the weighted
average is Σ T_k v_k / Σ T_k with T_k the weight of the rows that truly are of class k. (The micro
average needs no averaging: it is the measure of the counts of all classes added up.)

A class that occurs neither in truth nor in prediction says nothing and is left out. A class that
occurs but has no value, precision where nothing is predicted so, leaves the mean undefined;
scikit-learn takes 0 for it (``zero_division``), and counts absent classes that ``labels=`` names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from calipers.lazily import numpy as np

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
PAIRWISE: Mapping[str, str] = {
    "ovo": "One against one: the mean over all pairs of classes, either way round, each measured "
    "on the rows of the two alone (Hand and Till 2001).",
    "weighted-ovo": "One against one: the mean over all pairs of classes, either way round, each "
    "measured on the rows of the two alone, by the weight of these rows (Hand and Till 2001).",
}

#: What may stand where there is no value, as scikit-learn's ``zero_division`` does.
UNDEFINED: Mapping[str, float | None] = {"nan": None, "zero": 0.0, "one": 1.0}


def by_agreement(definition: Any, undefined: str) -> float | None:
    """The value that stands where there is none: of retrieval any, of labels where the range ends,
    and of correlations 0 alone."""
    value, (low, high) = UNDEFINED[undefined], definition.range
    fits = bool(np.isfinite(high - low)) and (value == 0 or low == 0)
    fits = fits and definition.reads in ("labels", "sets")
    return value if fits or definition.task == "retrieval" else None


#: ``labels`` or ``without``, and the classes that an average is of, or is not.
Among: TypeAlias = "tuple[str, tuple[str, ...]] | None"


def picked(among: Among, labels: Sequence[str]) -> npt.NDArray[np.bool_]:
    """Which classes an average is of. Raises ``ValueError`` for one that there is not."""
    how, names = among or ("without", ())
    unknown = [name for name in names if name not in labels]
    if unknown:
        raise ValueError(f"{unknown[0]!r} is no class of {', '.join(labels)}")
    return np.array([(label in names) == (how == "labels") for label in labels], bool)


def written_among(among: Among) -> list[str]:
    """How the name of an average says of which classes it is."""
    return [] if among is None else [f"{among[0]}=[{','.join(map(repr, among[1]))}]"]


def average_over_classes(weight: FloatArray, values: FloatArray) -> FloatArray:
    """The mean over classes; NaN where :func:`classes_without_value` says why."""
    return np.asarray(np.where(weight > 0, weight * values, 0.0).sum(axis=-1) / weight.sum(axis=-1))


def classes_without_value(
    weight: FloatArray, values: FloatArray
) -> dict[str, npt.NDArray[np.bool_] | Any]:
    """Where the mean is undefined, by reason."""
    return {
        "class_without_value": ((weight > 0) & np.isnan(values)).any(axis=-1),
        "no_occurring_class": ~(weight > 0).any(axis=-1),
    }
