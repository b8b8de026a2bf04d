"""Evaluation of predicted numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from calipers.data.arrays import as_quantities, as_weights, same_length
from calipers.evaluate.arguments import verb
from calipers.evaluate.cuts import Bins, cuts, slice_columns
from calipers.evaluate.losses import loss_estimate, loss_replicates
from calipers.evaluate.pairs import Rows, loss_contrast
from calipers.evaluate.shared import (
    MeasureNames,
    as_clusters,
    choose_measures,
    column_name,
    comparison_if_several,
    glossary,
    make_settings,
    named_systems,
    provenance,
)
from calipers.evaluate.slices import sliced
from calipers.evaluate.subjects import of_numbers
from calipers.inference.clusters import Clusters
from calipers.inference.contrast import Contrast
from calipers.inference.estimate import Settings
from calipers.measures import Measure
from calipers.results import Estimate, Evaluation
from calipers.statistics import ConfusionMatrix, FloatArray, Moments, Statistic

DEFAULT_MEASURES = ("RMSE", "MAE", "MSE")


@verb
def regression(
    truth: Any,
    predicted: Any,
    *,
    weight: Any = None,
    cluster: Any = None,
    slices: Any = None,
    slice_bins: Bins | None = None,
    measures: MeasureNames | None = None,
    baseline: str | None = None,
    interval: str | Sequence[str] = "auto",
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
    inputs: Sequence[Any] = (),
) -> Evaluation:
    """How near predicted numbers come to the truth.

    ``truth`` is one column of numbers, of 1e45 at most in size, ``predicted`` another or a dict
    from system names to columns; ``weight`` weighs the rows. The remaining options, ``cluster`` and
    ``slices`` among them, are those of :func:`calipers.classification`. The default of each measure
    is what the best constant prediction loses: the mean of the truth under squared error, its
    median under absolute error.

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
    target = as_quantities(truth, "truth")
    weights = as_weights(weight, len(target))
    clusters = None if cluster is None else as_clusters(cluster, len(target), weights)
    made, how = cuts(slice_columns(slices), slice_bins, len(target))
    systems: dict[str, Predictions] = {}
    for name, values in named_systems(predicted, "predicted").items():
        what = column_name("predicted", name)
        prediction = as_quantities(values, what)
        same_length(prediction, len(target), what)
        systems[name] = Predictions(name, target, prediction, weights, settings, clusters)
    chosen = choose_measures(measures, DEFAULT_MEASURES, "regression")
    source = Rows(systems, chosen, settings, Pair)
    conventions = {
        "weighted": weights is not None,
        **({} if clusters is None else {"clusters": clusters.number}),
    }
    estimates = tuple(s.estimate(measure) for s in systems.values() for measure in chosen)
    comparison = comparison_if_several(source, baseline, settings)
    by_slice = sliced(systems.values(), chosen, made, settings)
    return Evaluation(
        task="regression",
        level=level,
        estimates=estimates,
        comparison=comparison,
        definitions=glossary(chosen),
        notes=(*(() if clusters is None else clusters.notes()), *how),
        slices=by_slice,
        findings=of_numbers(source, (estimates, comparison, by_slice)),
        provenance=provenance("regression", settings, conventions, inputs),
        sources=source,
    )


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
        return replace(
            self,
            truth=self.truth[rows],
            predicted=self.predicted[rows],
            weight=None if self.weight is None else self.weight[rows],
            clusters=None if self.clusters is None else self.clusters.taken(rows),
        )

    def under(self, settings: Settings) -> Predictions:
        """The system with these settings."""
        return replace(self, settings=settings)

    def estimate(self, measure: Measure) -> Estimate:
        """The value of one measure with its interval."""
        return loss_estimate(
            measure,
            self.truth,
            self.predicted,
            self.weight,
            self.settings,
            self.name,
            self.clusters,
        )

    def statistic(self, measure: Measure) -> Statistic | None:
        """What a measure is a formula over."""
        return Moments.from_rows(self.losses(measure), self.weight)

    def losses(self, measure: Measure) -> FloatArray:
        """The loss of each row."""
        return measure.losses(self.truth, self.predicted)

    def per_row(self, measure: Measure) -> FloatArray | None:
        """The value of each row, where the measure is the mean of such."""
        return self.losses(measure)

    def share_of(
        self, measure: Measure, matrix: ConfusionMatrix | None = None
    ) -> ConfusionMatrix | None:
        """No measure of numbers is a share of rows."""
        return None

    def of_scores(self, measure: Measure) -> None:
        """No measure of numbers is read off scores."""
        return

    def replicates(self, measure: Measure) -> FloatArray | None:
        """Bootstrap replicates of the value of a measure."""
        loss = self.losses(measure)
        return loss_replicates(measure, loss, self.weight, self.settings, self.clusters)


@dataclass(frozen=True, eq=False)
class Pair:
    """Two systems' predictions of the same rows."""

    first: Predictions
    second: Predictions
    measures: tuple[Measure, ...]

    def contrast(self, measure: Measure) -> Contrast:
        """First minus second."""
        a, b = self.first, self.second
        losses = (a.losses(measure), b.losses(measure))
        return loss_contrast(measure, losses, a.weight, a.settings, a.clusters)
