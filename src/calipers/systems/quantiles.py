"""Quantile regression: systems that predict quantiles."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from calipers.data.errors import InputError
from calipers.estimation.multilabel import RowValues
from calipers.estimation.regression import MomentRows
from calipers.lazy_dataclasses import dataclass
from calipers.measures.regression import MEDIAN_LOSSES
from calipers.statistics import EnsembleRows, FloatArray, Moments, NumericMoments, QuantileRows
from calipers.statistics.base import row_blocks
from calipers.statistics.quantiles import NoLevelError
from calipers.statistics.regression import SortedValues
from calipers.systems.base import NAN, RowSystem, SystemOutput
from calipers.systems.regression import RegressionOutput

if TYPE_CHECKING:
    from calipers.inference.clusters import ClusterIndex
    from calipers.inference.settings import Settings
    from calipers.inference.time_order import TimeOrder
    from calipers.measures import Measure


@dataclass(frozen=True, eq=False)
class QuantileOutput(SystemOutput):
    """Predicted quantiles of one system.

    Measures of a point prediction use a quantile: the one that they name, else the median.

    Attributes
    ----------
    name : str
        Name of the system.
    truth : array of shape (n,)
        True values.
    levels : tuple of float
        Levels of the quantiles.
    values : array of shape (n, n_levels)
        Predicted quantiles.
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
    naive_errors : array of shape (n, 2), optional
        Errors of the naive forecast on the training series of each row, as in ``NAIVE_ERRORS``.
    """

    name: str
    truth: FloatArray
    levels: tuple[float, ...]
    values: FloatArray
    weight: FloatArray | None
    settings: Settings
    clusters: ClusterIndex | None = None
    measures: tuple[Measure, ...] = ()
    order: TimeOrder | None = None
    naive_errors: FloatArray | None = None

    columns: ClassVar = ("truth", "values", "weight", "naive_errors")
    output_fields: ClassVar = {"values": float}

    def shared_inputs(self) -> tuple[Any, dict[str, Any]]:
        """Return the truth of each row, and the levels."""
        return self.truth, {"levels": list(self.levels)}

    @property
    def quantile_rows(self) -> QuantileRows:
        """Predicted quantiles by level."""
        return QuantileRows(self.levels, self.values)

    def binary_problem(self, measure: Measure) -> RegressionOutput | None:
        """Return the predictions of one quantile, for a measure of a point prediction."""
        if measure.definition.reads != "numbers":
            return None
        return self._point_predictions(measure.parameters.get("alpha", 0.5))

    def _point_predictions(self, level: float | None) -> RegressionOutput:
        """Return the predictions of one quantile, or of the mean of the quantiles."""
        design = self.weight, self.settings, self.clusters

        def make() -> RegressionOutput:
            rows = self.quantile_rows
            predicted = rows.values.mean(axis=1) if level is None else rows.quantile(level)
            return RegressionOutput(
                self.name, self.truth, predicted, *design, naive_errors=self.naive_errors
            )

        return self.cached(("point", level), make)

    def check_measure(self, measure: Measure) -> None:
        """Check that the quantiles that the measure needs were predicted."""
        try:
            if measure.definition.reads == "joint ensembles":
                raise InputError(f"{self.name}: {measure} needs ensemble= of several outputs")
            if measure.definition.reads == "ensembles" and not isinstance(self, EnsembleOutput):
                raise InputError(f"{self.name}: {measure} needs ensemble=, members of each row")
            problem = self.binary_problem(measure)
            if problem is not None:
                problem.check_measure(measure)
            else:
                measure.losses(self.truth[:0], replace(self.quantile_rows, values=self.values[:0]))
        except NoLevelError as error:
            raise InputError(f"{self.name}: {measure} needs {error}") from None

    def sample_for(self, measure: Measure) -> RowValues | MomentRows:
        """Return the value of each row, or the moments of two values."""
        if measure.definition.relative_to is not None:
            ratio = measure.ratio_columns(self.truth, self.quantile_rows)
            return self.cached(
                measure, lambda: MomentRows(*ratio, self.weight, self.clusters, self.settings)
            )
        losses = measure.losses(self.truth, self.quantile_rows)
        return RowValues(losses, self.weight, self.clusters, self.settings)

    def constant_value(self, measure: Measure) -> float:
        """Return the value of constant predictions of the quantiles of the truth."""
        problem = self.binary_problem(measure)
        if problem is not None:
            return problem.constant_value(measure)
        w = np.ones(len(self.truth)) if self.weight is None else self.weight
        if not w.sum() > 0:
            return NAN
        truth, sorted_truth = self.truth[w > 0], SortedValues.from_column(self.truth[w > 0])
        best_quantiles = [float(sorted_truth.quantile(w[w > 0], level)) for level in self.levels]
        constant_prediction = replace(
            self.quantile_rows, values=np.tile(best_quantiles, (len(truth), 1))
        )
        if measure.definition.relative_to is not None:
            ratio = measure.ratio_columns(truth, constant_prediction)
            return float(measure.apply(NumericMoments.from_rows(*ratio, w[w > 0])))
        return float(
            measure.apply(Moments.from_rows(measure.losses(truth, constant_prediction), w[w > 0]))
        )


@dataclass(frozen=True, eq=False)
class EnsembleOutput(QuantileOutput):
    """Sorted members of the ensemble of one system, or samples of its predicted distribution.

    Measures of a point prediction use the median if their loss is least for it, or the quantile
    that they name; all others use the mean.
    """

    @property
    def quantile_rows(self) -> EnsembleRows:
        """Members, as quantiles."""
        return EnsembleRows(self.levels, self.values)

    def binary_problem(self, measure: Measure) -> RegressionOutput | None:
        """Return the predictions of the median or the mean, for measures of a point prediction."""
        if measure.definition.reads != "numbers":
            return None
        is_of_mean = measure.definition.row_formula not in MEDIAN_LOSSES
        return self._point_predictions(None if is_of_mean else measure.parameters.get("alpha", 0.5))


@dataclass(frozen=True, eq=False, kw_only=True)
class JointEnsembleOutput(RowSystem):
    """Members of the ensemble of one system, each with several outputs.

    Attributes
    ----------
    outputs : tuple of str
        Names of the outputs.
    truth : array of shape (n, n_outputs)
        True values.
    members : array of shape (n, n_members, n_outputs)
        Members of each row.
    """

    outputs: tuple[str, ...]
    truth: FloatArray
    members: FloatArray

    columns: ClassVar = ("truth", "members", "weight")
    output_fields: ClassVar = {"members": float}

    def shared_inputs(self) -> tuple[Any, dict[str, Any]]:
        """Return the truth of each row, and the names of the outputs."""
        return self.truth, {"outputs": list(self.outputs)}

    def check_measure(self, measure: Measure) -> None:
        """Check that the measure is one of all outputs together."""
        if measure.definition.reads != "joint ensembles":
            raise InputError(
                f"{measure} is of one output, and ensembles of several outputs are evaluated "
                "together, by energy-score and variogram-score; give the columns of one output"
            )

    def sample_for(self, measure: Measure) -> RowValues:
        """Return the value of each row."""
        losses = self.cached(measure, lambda: self._losses(measure))
        return RowValues(losses, self.weight, self.clusters, self.settings)

    def _losses(self, measure: Measure) -> FloatArray:
        """Return the value of each row, of a block of rows at a time."""
        n_numbers = self.members.shape[1] * self.members.shape[2]
        losses = [
            measure.losses(self.truth[rows], self.members[rows])
            for rows in row_blocks(len(self.truth), n_numbers)
        ]
        return np.concatenate([np.zeros(0), *losses])
