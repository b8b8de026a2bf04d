"""Systems that predict numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from calipers.readings.losses import Losses
from calipers.statistics import FloatArray, Moments
from calipers.systems.base import NAN, System

if TYPE_CHECKING:
    from calipers.inference.clusters import Clusters
    from calipers.inference.settings import Settings
    from calipers.measures import Measure


@dataclass(frozen=True, eq=False)
class Predictions(System):
    """One system's predictions of some rows."""

    name: str
    truth: FloatArray
    predicted: FloatArray
    weight: FloatArray | None
    settings: Settings
    clusters: Clusters | None = None

    columns: ClassVar = ("truth", "predicted", "weight")

    def over(self, measure: Measure) -> Losses:
        """The loss of each row."""
        losses = measure.losses(self.truth, self.predicted)
        return Losses(losses, self.weight, self.clusters, self.settings)

    def constant(self, measure: Measure) -> float:
        """What the best constant prediction loses."""
        return constant_loss(measure, self.truth, self.weight)


def constant_loss(measure: Measure, truth: FloatArray, weight: FloatArray | None) -> float:
    """What the best constant prediction loses, if the measure knows which one that is."""
    constant = measure.definition.constant
    if constant is None or (weight is not None and not weight.sum() > 0) or not len(truth):
        return NAN
    losses = measure.losses(truth, np.full(len(truth), constant(truth, weight)))
    return float(measure.apply(Moments.from_rows(losses, weight)))
