"""Summaries: how the values of a measure per unit are combined into one value.

Every summary is a function of means over units, so that bootstrap replicates of the means give its
bootstrap distribution.

    mean         Σ v / n
    sum          Σ v
    geometric    exp(Σ ln max(v, 10⁻⁵) / n), with the floor of trec_eval
    pooled       Σ w v / Σ w, for a weight per unit: the measure of all units put together; or
                 f(Σ w), for several columns w per unit, whose values v do not matter then

If units have unequal importance u, the means are Σ u x / Σ u; a sum ignores it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from calipers.lazy_dataclasses import dataclass
from calipers.statistics import GEOMETRIC_FLOOR, FloatArray


@dataclass(frozen=True)
class Summary:
    """Method of combining values of units."""

    kind: str
    formula: Callable[[FloatArray], FloatArray] | None = None

    @classmethod
    def from_definition(cls, definition: Any) -> Summary:
        """Create the summary of a measure."""
        return cls(definition.summary, definition.pooled)

    def defined_mask(
        self, values: FloatArray, weight: FloatArray | None = None
    ) -> npt.NDArray[np.bool_]:
        """Return a mask of the units that count: those with a value, or with all columns."""
        if self.formula is None or weight is None:
            return np.asarray(~np.isnan(values))
        return np.asarray(~np.isnan(weight).any(axis=1))

    def columns(self, values: FloatArray, weight: FloatArray | None = None) -> list[FloatArray]:
        """Return the columns whose means are needed; NaN where a value is."""
        if self.kind == "geometric":
            return [np.log(np.maximum(values, GEOMETRIC_FLOOR))]
        if self.kind == "pooled":
            assert weight is not None
            if self.formula is not None:
                return list(weight.T)
            weight = np.where(np.isnan(values), np.nan, weight)
            return [values * weight, weight]
        return [values]

    def summarize_means(self, means: FloatArray, n: int) -> FloatArray:
        """Return the summary from means of the columns along the last axis, over n units."""
        first = means[..., 0]
        if self.kind == "sum":
            return np.asarray(first * n)
        if self.kind == "geometric":
            return np.asarray(np.exp(first))
        if self.kind == "pooled":
            with np.errstate(invalid="ignore", divide="ignore"):
                formula = self.formula or _ratio
                return np.asarray(formula(means))
        return np.asarray(first)

    def value(
        self,
        values: FloatArray,
        weight: FloatArray | None = None,
        unit_weight: FloatArray | None = None,
    ) -> float:
        """Return the summary of the defined values; NaN if there are none.

        ``unit_weight`` is the weight of each unit in the means.
        """
        defined = self.defined_mask(values, weight)
        n = int(defined.sum())
        if n == 0:
            return float("nan")
        if self.kind == "sum":  # adding up counts is exact
            return float(values[defined].sum())
        columns = self.columns(values[defined], None if weight is None else weight[defined])
        unit_weights = None if unit_weight is None else unit_weight[defined]
        means = [
            column.mean() if unit_weights is None else np.average(column, weights=unit_weights)
            for column in columns
        ]
        return float(self.summarize_means(np.array(means), n))


def _ratio(means: FloatArray) -> FloatArray:
    return np.asarray(means[..., 0] / means[..., 1])
