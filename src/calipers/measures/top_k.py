"""Measures of the rank of the true class among all classes, sorted by score."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from calipers.lazy_imports import numpy as np
from calipers.measures.registration import measure
from calipers.statistics import ClassRanks, FloatArray

if TYPE_CHECKING:
    import numpy.typing as npt


def credit_table(n_classes: int, k: int, tied: str) -> FloatArray:
    """Return the credit of a row by the numbers of classes that score higher and that are tied.

    The first index of the array is the number of classes that score higher than the true class, the
    second the number of other classes with the same score.
    """
    n_higher, n_tied = np.indices((n_classes, n_classes))
    return credit_from_counts(n_higher, n_tied, k, tied)


def credit_from_counts(
    n_higher: npt.NDArray[Any], n_tied: npt.NDArray[Any], k: int, tied: str
) -> FloatArray:
    """Return the credit of rows with these numbers of higher classes and of other tied classes."""
    if tied == "share":
        return np.asarray(np.clip((k - n_higher) / (n_tied + 1), 0.0, 1.0))
    n_above = n_higher if tied == "optimistic" else n_higher + n_tied
    return np.asarray(n_above < k, np.float64)


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
    """Top-k accuracy, the proportion of rows whose true class is among the k of highest score.

    If several classes are tied across the k-th rank, a true class among them counts as the
    proportion of the tied classes that still fit: (k − a)/t for t tied classes with a classes
    ranked above. ``tied`` may be ``"optimistic"``, with the true class first among its ties, or
    ``"pessimistic"``, with it last; scikit-learn uses the order of the classes. It ranges from 0 to
    1 and is undefined without rows.
    """
    weight = credit_table(r.counts.shape[-1], k, tied)
    return np.asarray((r.counts * weight).sum(axis=(-1, -2)) / r.total)
