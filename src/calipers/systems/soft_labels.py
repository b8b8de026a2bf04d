"""Classifiers that predict a distribution over classes, evaluated against soft labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from calipers.data.errors import InputError
from calipers.estimation.losses import RowLosses
from calipers.lazy_dataclasses import dataclass
from calipers.systems.base import NAN, SystemOutput

if TYPE_CHECKING:
    from calipers.inference.clusters import ClusterIndex
    from calipers.inference.settings import Settings
    from calipers.inference.time_order import TimeOrder
    from calipers.measures import Measure
    from calipers.statistics import FloatArray


@dataclass(frozen=True, eq=False)
class SoftLabelOutput(SystemOutput):
    """True and predicted distributions of one system.

    Attributes
    ----------
    name : str
        Name of the system.
    truth, probability : array of shape (n, n_classes)
        True and predicted distribution over the classes.
    weight : array of shape (n,) or None
        Weight of each row.
    settings : Settings
        Settings of inference.
    clusters : ClusterIndex, optional
        Clusters of the rows.
    measures : tuple of Measure, optional
        Requested measures.
    order : TimeOrder, optional
        Time order of the rows.
    """

    name: str
    truth: FloatArray
    probability: FloatArray
    weight: FloatArray | None
    settings: Settings
    clusters: ClusterIndex | None = None
    measures: tuple[Measure, ...] = ()
    order: TimeOrder | None = None

    columns: ClassVar = ("truth", "probability", "weight")
    output_fields: ClassVar = {"probability": float}
    needs: ClassVar = {"distributions": ("probability", "a probability for each class")}

    def check_measure(self, measure: Measure) -> None:
        """Check that the measure is defined for soft labels."""
        hint = "as the truth is a distribution a row; ask for soft-log-loss, KL-divergence or"
        if measure.reads != "distributions":
            raise InputError(f"{measure} takes a class for each row, {hint} soft-Brier")

    def sample_for(self, measure: Measure) -> RowLosses:
        """Return the loss of each row."""
        losses = measure.losses(self.truth, self.probability)
        return RowLosses(losses, self.weight, self.clusters, self.settings)

    def constant_value(self, measure: Measure) -> float:
        """Return the loss of the best constant prediction."""
        compute_constant = measure.definition.constant_value
        if compute_constant is None or not (self.weight is None or self.weight.sum() > 0):
            return NAN
        return compute_constant(self.truth, self.weight)
