"""Measures of the place of the true class among all classes, sorted by score."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from calipers.lazy_imports import numpy as np
from calipers.measures.registration import measure
from calipers.statistics import ClassRanks, FloatArray

if TYPE_CHECKING:
    import numpy.typing as npt


def credit(classes: int, k: int, tied: str) -> FloatArray:
    """What a row counts for, by how many classes score higher than the true one (row) and how many
    others the same (column)."""
    above, others = np.indices((classes, classes))
    return credit_from_counts(above, others, k, tied)


def credit_from_counts(
    above: npt.NDArray[Any], others: npt.NDArray[Any], k: int, tied: str
) -> FloatArray:
    """The same of some numbers of classes above and of others tied."""
    if tied == "share":
        return np.asarray(np.clip((k - above) / (others + 1), 0.0, 1.0))
    place = above if tied == "optimistic" else above + others
    return np.asarray(place < k, np.float64)


@measure(
    "top-k-accuracy",
    family="ranks",
    statistic=ClassRanks,
    higher_is_better=True,
    range=(0, 1),
    aliases=("top_k_accuracy", "top_k_accuracy_score"),
    perfect=1.0,
    row_formula=credit_from_counts,
    suffix_parameter="k",
    is_multiclass=True,
    infix="k",
    undefined={"no_rows": lambda r, _: r.total == 0},
)
def top_k_accuracy(r: ClassRanks, k: int, tied: str = "share") -> FloatArray:
    """Share of the rows whose true class is among the k classes of the highest score.

    Where several classes share the k-th place, a true class among them counts as the share of the
    tied classes that still fit: of t classes tied behind a others, (k − a)/t. ``tied`` may be
    ``"optimistic"``, the true class first among its equals, or ``"pessimistic"``, last;
    scikit-learn takes the order of the classes.
    """
    weight = credit(r.counts.shape[-1], k, tied)
    return np.asarray((r.counts * weight).sum(axis=(-1, -2)) / r.total)
