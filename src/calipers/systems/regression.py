"""Systems that predict numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from calipers.data.errors import InputError
from calipers.estimation.losses import RowLosses
from calipers.estimation.regression import MomentRows, NumericSample, SortedRows
from calipers.statistics import FloatArray, Moments, NumericMoments
from calipers.systems.base import NAN, SystemOutput

if TYPE_CHECKING:
    from calipers.inference.clusters import ClusterIndex
    from calipers.inference.settings import Settings
    from calipers.inference.time_order import TimeOrder
    from calipers.measures import Measure


@dataclass(frozen=True, eq=False)
class RegressionOutput(SystemOutput):
    """One system's predictions of some rows."""

    name: str
    truth: FloatArray
    predicted: FloatArray
    weight: FloatArray | None
    settings: Settings
    clusters: ClusterIndex | None = None
    measures: tuple[Measure, ...] = ()
    order: TimeOrder | None = None

    columns: ClassVar = ("truth", "predicted", "weight")
    own: ClassVar = {"predicted": float}
    needs: ClassVar = {
        "numbers": ("predicted", "predicted numbers"),
        "quantiles": ("quantiles", "quantiles= of each row"),
    }

    def check_measure(self, measure: Measure) -> None:
        """That the measure is not of several outputs."""
        if measure.viewed:
            raise InputError(
                f"{measure}: there is one output, without a name (outputs=); ask for "
                f"{measure.plain}"
            )
        super().check_measure(measure)

    def sample_for(self, measure: Measure) -> RowLosses | NumericSample:
        """The loss of each row, or truth and prediction themselves."""
        on = measure.definition.statistic
        if on is Moments:
            losses = measure.losses(self.truth, self.predicted)
            return RowLosses(losses, self.weight, self.clusters, self.settings)
        kind = MomentRows if on is NumericMoments else SortedRows
        columns = self.truth, self.predicted, self.weight, self.clusters
        return self.cached(kind, lambda: kind(*columns, self.settings))

    def constant_value(self, measure: Measure) -> float:
        """What the best constant prediction loses; 0 of a share of that which is saved."""
        if measure.definition.skill_of is not None:
            return 0.0 if np.isfinite(measure.apply(self.sample_for(measure).statistic)) else NAN
        return constant_loss(measure, self.truth, self.weight)


def constant_loss(measure: Measure, truth: FloatArray, weight: FloatArray | None) -> float:
    """What the best constant prediction loses, if the measure knows which one that is."""
    constant = measure.definition.constant_prediction
    if constant is None or (weight is not None and not weight.sum() > 0) or not len(truth):
        return NAN
    best = constant(truth, weight, **measure.parameters)
    losses = measure.losses(truth, np.full(len(truth), best))
    return float(measure.apply(Moments.from_rows(losses, weight)))
