"""Systems that put points into clusters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from calipers.readings.partitions import Partition
from calipers.systems.base import System, best

if TYPE_CHECKING:
    from calipers.inference.settings import Settings
    from calipers.measures import Measure
    from calipers.statistics import IntArray


@dataclass(frozen=True, eq=False)
class Clustering(System):
    """One clustering of some points: the cluster of each as a position in ``names``, and where the
    truth is known the class of each."""

    name: str
    cluster: IntArray
    names: tuple[str, ...]
    settings: Settings
    truth: IntArray | None = None
    classes: tuple[str, ...] = ()
    weight: None = None
    clusters: None = None
    measures: tuple[Measure, ...] = ()

    columns: ClassVar = ("cluster", "truth")
    needs: ClassVar = {"partitions": ("truth", "the true classes: truth=")}

    def over(self, measure: Measure) -> Any:
        """How clusters meet the true classes."""
        return self.meeting

    @property
    def meeting(self) -> Partition:
        """Both partitions; drawn once for all measures of them."""
        assert self.truth is not None
        truth, asked = (
            self.truth,
            tuple(m for m in self.measures if m.definition.reads == "partitions"),
        )

        def make() -> Partition:
            return Partition(truth, self.cluster, self.classes, self.names, self.settings, asked)

        return self.once("meeting", make)

    def constant(self, measure: Measure) -> float:
        """What all points in one cluster get."""
        return best(measure, self.meeting.statistic.constant())
