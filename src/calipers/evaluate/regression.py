"""Evaluation of predicted numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calipers.data.arrays import as_numbers, as_weights, same_length
from calipers.evaluate.compare import comparison_if_several
from calipers.evaluate.losses import loss_difference, loss_estimate
from calipers.evaluate.shared import (
    MeasureNames,
    choose_measures,
    column_name,
    glossary,
    make_settings,
    named_systems,
    provenance,
)
from calipers.inference.estimate import Settings
from calipers.measures import Measure
from calipers.results import Difference, Evaluation
from calipers.statistics import FloatArray

DEFAULT_MEASURES = ("RMSE", "MAE", "MSE")


def regression(
    truth: Any,
    predicted: Any,
    *,
    weight: Any = None,
    measures: MeasureNames | None = None,
    baseline: str | None = None,
    interval: str = "auto",
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
    inputs: Sequence[Any] = (),
) -> Evaluation:
    """How near predicted numbers come to the truth.

    ``truth`` is one column of numbers, ``predicted`` another or a dict from system names to
    columns; ``weight`` weighs the rows. The remaining options are those of
    :func:`calipers.classification`. The default of each measure is what the best constant
    prediction loses: the mean of the truth under squared error, its median under absolute error.

    Raises
    ------
    InputError
        For anything wrong with the input, saying where and what was expected.

    Examples
    --------
    >>> import calipers as cal
    >>> ev = cal.regression([1.0, 2.0, 3.0], [1.0, 3.0, 4.0], measures=["RMSE"])
    >>> round(ev["RMSE"].value, 7)
    0.8164966
    """
    settings = make_settings(interval, level, resamples, seed)
    target = as_numbers(truth, "truth").astype(np.float64)
    weights = as_weights(weight, len(target))
    systems: dict[str, FloatArray] = {}
    for name, values in named_systems(predicted, "predicted").items():
        what = column_name("predicted", name)
        systems[name] = as_numbers(values, what).astype(np.float64)
        same_length(systems[name], len(target), what)
    chosen = choose_measures(measures, DEFAULT_MEASURES, "regression")
    source = Numbers(target, systems, weights, chosen, settings)
    return Evaluation(
        task="regression",
        level=level,
        estimates=tuple(
            loss_estimate(measure, target, prediction, weights, settings, name)
            for name, prediction in systems.items()
            for measure in chosen
        ),
        comparison=comparison_if_several(source, baseline, settings),
        definitions=glossary(chosen),
        provenance=provenance("regression", settings, {"weighted": weights is not None}, inputs),
        sources=source,
    )


@dataclass(frozen=True, eq=False)
class Numbers:
    """Several systems' predictions of the same rows."""

    truth: FloatArray
    predicted: dict[str, FloatArray]
    weight: FloatArray | None
    measures: list[Measure]
    settings: Settings

    @property
    def systems(self) -> tuple[str, ...]:
        """Names of the systems."""
        return tuple(self.predicted)

    def differences(self, system: str, baseline: str, settings: Settings) -> list[Difference]:
        """Paired over rows."""
        both = (self.predicted[system], self.predicted[baseline])
        return [
            loss_difference(measure, self.truth, both, self.weight, settings, (system, baseline))
            for measure in self.measures
        ]
