"""Systems that predict numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.readings.losses import influence as of_mean
from calipers.readings.losses import of_losses
from calipers.statistics import FloatArray, Moments
from calipers.systems.base import NAN, columns_taken

if TYPE_CHECKING:
    import numpy.typing as npt

    from calipers.inference.clusters import Clusters
    from calipers.inference.reading import Influence, Reading
    from calipers.inference.settings import Settings
    from calipers.measures import Measure


@dataclass(frozen=True, eq=False)
class Predictions:
    """One system's predictions of some rows."""

    name: str
    truth: FloatArray
    predicted: FloatArray
    weight: FloatArray | None
    settings: Settings
    clusters: Clusters | None = None

    def taken(self, rows: npt.NDArray[np.bool_ | np.intp]) -> Predictions:
        """The system on some of the rows."""
        names = ("truth", "predicted", "weight")
        return replace(self, **columns_taken(self, names, rows))

    def under(self, settings: Settings) -> Predictions:
        """The system with these settings."""
        return replace(self, settings=settings)

    def problem_of(self, measure: Measure) -> None:
        """There are no classes."""

    def statistic(self, measure: Measure) -> Moments:
        """The moments of the losses."""
        return Moments.from_rows(self.losses(measure), self.weight)

    def reading(self, measure: Measure) -> Reading:
        """The mean loss and how it varies."""
        return of_losses(measure, self.losses(measure), self.weight, self.clusters, self.settings)

    def influence(self, measure: Measure, whole: Any) -> Influence | None:
        """By how much each row moves a measure of all rows of which these are a batch."""
        return of_mean(measure, self.losses(measure), self.weight, self.clusters, whole)

    def losses(self, measure: Measure) -> FloatArray:
        """The loss of each row."""
        return measure.losses(self.truth, self.predicted)

    def per_row(self, measure: Measure) -> FloatArray | None:
        """The loss of each row."""
        return self.losses(measure)

    def constant(self, measure: Measure) -> float:
        """What the best constant prediction loses."""
        return constant_loss(measure, self.truth, self.weight)

    def beside(self, measure: Measure) -> Mapping[str, float]:
        """Nothing."""
        return {}


def constant_loss(measure: Measure, truth: FloatArray, weight: FloatArray | None) -> float:
    """What the best constant prediction loses, if the measure knows which one that is."""
    constant = measure.definition.constant
    if constant is None or (weight is not None and not weight.sum() > 0) or not len(truth):
        return NAN
    losses = measure.losses(truth, np.full(len(truth), constant(truth, weight)))
    return float(measure.apply(Moments.from_rows(losses, weight)))
