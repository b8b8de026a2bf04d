"""What every system answers, whatever it says of the data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from calipers.inference.clusters import Clusters
    from calipers.inference.reading import Influence, Reading
    from calipers.inference.settings import Settings
    from calipers.measures import Measure
    from calipers.statistics import FloatArray, Statistic

NAN = float("nan")


class System(Protocol):
    """What one system says of some rows, and the truth of these."""

    @property
    def name(self) -> str:
        """As the user calls it."""

    @property
    def settings(self) -> Settings:
        """How intervals are made."""

    @property
    def weight(self) -> FloatArray | None:
        """Of each row."""

    @property
    def clusters(self) -> Clusters | None:
        """What the rows come from."""

    def statistic(self, measure: Measure) -> Statistic | None:
        """What a measure is a formula over; None where it takes more than one."""

    def influence(self, measure: Measure, whole: Statistic) -> Influence | None:
        """By how much each of these rows moves a measure, ``whole`` being its statistic of all rows
        of which these are a batch; None where that is not known."""

    def reading(self, measure: Measure) -> Reading:
        """The value of a measure, and how it varies."""

    def problem_of(self, measure: Measure) -> Any:
        """The problem of two classes that a measure is about, where it is about one."""

    def constant(self, measure: Measure) -> float:
        """What the best constant answer gets, where it is known which one that is."""

    def beside(self, measure: Measure) -> Mapping[str, float]:
        """What else an estimate of the measure tells: a threshold, a value out of bag."""

    def per_row(self, measure: Measure) -> FloatArray | None:
        """The value of each row, where the measure is the mean of such."""

    def under(self, settings: Settings) -> Any:
        """The system with these settings; itself, and what it has computed, where it has them."""

    def taken(self, rows: npt.NDArray[np.bool_ | np.intp]) -> Any:
        """The system on some of the rows."""


def best(measure: Measure, constants: Statistic) -> float:
    """The value of the best constant answer: the best of the measure over a leading axis."""
    if measure.definition.higher_is_better is None:
        return NAN
    values = measure.apply(constants)
    defined = values[np.isfinite(values)]
    if defined.size == 0:
        return NAN
    return float(defined.max() if measure.definition.higher_is_better else defined.min())


def columns_taken(
    system: Any, names: Sequence[str], rows: npt.NDArray[np.bool_ | np.intp]
) -> dict[str, Any]:
    """Some of the rows of the columns that a system has, and of its clusters."""
    columns = {name: getattr(system, name) for name in names}
    taken = {name: column[rows] for name, column in columns.items() if column is not None}
    if system.clusters is not None:
        taken["clusters"] = system.clusters.taken(rows)
    return taken
