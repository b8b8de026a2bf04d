"""Uplift: systems that predict the effect of a treatment on each row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from calipers.estimation.uplift import UpliftSample
from calipers.lazy_dataclasses import dataclass
from calipers.systems.base import RowSystem

if TYPE_CHECKING:
    from calipers.measures import Measure
    from calipers.statistics import FloatArray, UpliftRows


@dataclass(frozen=True, eq=False, kw_only=True)
class UpliftOutput(RowSystem):
    """Predicted uplift of one system on rows of an experiment.

    Attributes
    ----------
    truth : array of shape (n,)
        Outcome of each row.
    treatment : array of shape (n,)
        1 for a treated row, 0 for a row of the control group.
    score : array of shape (n,)
        Predicted uplift.
    """

    truth: FloatArray
    treatment: FloatArray
    score: FloatArray

    columns: ClassVar = ("truth", "treatment", "score", "weight")
    output_fields: ClassVar = {"score": float}

    def shared_inputs(self) -> tuple[Any, dict[str, Any]]:
        """Return the outcome and the treatment of each row."""
        return np.column_stack([self.truth, self.treatment]), {}

    def sample_for(self, measure: Measure) -> UpliftSample:
        """Return the rows by predicted uplift."""
        columns = self.truth, self.score, self.weight, self.clusters, self.settings, self.treatment
        return self.cached("sample", lambda: UpliftSample(*columns))

    def constant_value(self, measure: Measure) -> float:
        """Return the value of targeting rows at random."""
        return random_targeting_value(measure, self.sample_for(measure).statistic)


def random_targeting_value(measure: Measure, rows: UpliftRows) -> float:
    """Return the value of a measure if the rows are targeted at random."""
    value, no_skill = float(measure.apply(rows.without_order)), measure.definition.no_skill
    return no_skill if no_skill is not None and np.isfinite(value) else value
