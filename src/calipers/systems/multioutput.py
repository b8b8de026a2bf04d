"""Systems that predict several numbers of each row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from calipers.measures.averages import WEIGHTS, Among, mean_of, weights_of
from calipers.readings.losses import Losses
from calipers.readings.numbers import Fitted
from calipers.readings.outputs import EachAdded, OutputLosses, OutputsAdded, of_each
from calipers.statistics import FloatArray, Moments, NumberMoments
from calipers.systems.base import System
from calipers.systems.regression import Predictions

if TYPE_CHECKING:
    from calipers.inference.clusters import Clusters
    from calipers.inference.reading import Reading
    from calipers.inference.settings import Settings
    from calipers.inference.time_order import TimeOrder
    from calipers.measures import Measure


@dataclass(frozen=True, eq=False)
class Together(Predictions):
    """All outputs of a row as one: a row loses the mean of what it loses by each."""

    among: Among = None

    def over(self, measure: Measure) -> Losses:
        """The mean loss of each row."""
        losses = mean_of(self.among, measure.losses(self.truth, self.predicted))
        return Losses(losses, self.weight, self.clusters, self.settings)


@dataclass(frozen=True, eq=False)
class Outputs(System):
    """One system's predictions, shape (rows, outputs)."""

    name: str
    outputs: tuple[str, ...]
    truth: FloatArray
    predicted: FloatArray
    weight: FloatArray | None
    settings: Settings
    clusters: Clusters | None = None
    measures: tuple[Measure, ...] = ()
    order: TimeOrder | None = None

    columns: ClassVar = Predictions.columns
    own: ClassVar = Predictions.own
    needs: ClassVar = Predictions.needs

    def known(self) -> tuple[Any, dict[str, Any]]:
        """The truth of each row, and what the outputs are called."""
        return self.truth, {"outputs": list(self.outputs)}

    def of_output(self, output: str) -> Predictions:
        """One output."""
        place = self.outputs.index(output)
        made: Predictions = self.once(output, lambda: self._some(Predictions, place))
        return made

    def _some(self, kind: Any, places: Any) -> Any:
        """Some outputs, as what takes columns or tables."""
        truth, predicted = (
            np.ascontiguousarray(table[:, places]) for table in (self.truth, self.predicted)
        )
        if kind is Fitted:
            return Fitted(truth, predicted, self.weight, self.clusters, self.settings)
        return kind(self.name, truth, predicted, self.weight, self.settings, self.clusters)

    def _picked(self, measure: Measure, kind: Any) -> Any:
        """The outputs that an average is of, together."""
        picked = measure.picked(self.outputs)
        return self.once((kind, measure.among), lambda: self._some(kind, picked))

    def problem_of(self, measure: Measure) -> Predictions | None:
        """One output, or all as one for the mean of what rows lose."""
        if measure.label is not None:
            return self.of_output(measure.label)
        d = measure.definition
        if d.on is not Moments or d.interval is not None:
            return None
        together: Together = self._picked(measure, Together)
        if weights_of(measure.among) is None:
            return together
        weighed = partial(replace, together, among=measure.among)
        return self.once((Together, WEIGHTS, measure.among), weighed)

    def over(self, measure: Measure) -> Fitted | None:
        """Truth and prediction, where their moments tell all."""
        return self._picked(measure, Fitted) if measure.definition.on is NumberMoments else None

    def terms(self, measure: Measure) -> OutputsAdded | EachAdded | None:
        """The moments or the rows of the outputs, of which an average is taken."""
        if measure.definition.on is Moments:
            picked = measure.picked(self.outputs)
            losses = measure.losses(self.truth[:, picked], self.predicted[:, picked])
            return OutputsAdded(losses, self.weight, self.clusters, self.settings)
        each = [one.over(measure.plain) for one in self._each(measure)]
        return EachAdded(each, self.weight)

    def composed(self, measure: Measure) -> Reading:
        """An average over outputs of another measure."""
        return self.once(measure, lambda: self._average(measure))

    def _average(self, measure: Measure) -> Reading:
        rest = self.weight, self.clusters, self.settings
        if measure.definition.on is Moments:
            picked = measure.picked(self.outputs)
            losses = measure.losses(self.truth[:, picked], self.predicted[:, picked])
            return OutputLosses(losses, *rest).reading(measure)
        return of_each(measure, [one.reading(measure.plain) for one in self._each(measure)])

    def _each(self, measure: Measure) -> list[Predictions]:
        picked = measure.picked(self.outputs)
        return [self.of_output(o) for o, used in zip(self.outputs, picked, strict=True) if used]

    def constant(self, measure: Measure) -> float:
        """What the best constant predictions get, one for each output."""
        if measure.label is not None:
            return super().constant(measure)
        each = [one.constant(measure.plain) for one in self._each(measure)]
        if measure.average == "macro":
            return float(mean_of(measure.among, np.array(each)))
        return 0.0 if (np.array(each) == 0).any() else float("nan")
