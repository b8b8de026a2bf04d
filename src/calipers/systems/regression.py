"""Regression: systems that predict numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from calipers.data.errors import InputError
from calipers.estimation.losses import RowLosses
from calipers.estimation.regression import MomentRows, NumericSample, SortedRows
from calipers.lazy_dataclasses import dataclass
from calipers.measures.parameters import NAIVE_ERRORS, PARAMETERS, format_request
from calipers.measures.regression import DIRECT_LOSSES
from calipers.statistics import FloatArray, Moments, NumericMoments, Statistic
from calipers.systems.base import NAN, SystemOutput

if TYPE_CHECKING:
    from calipers.inference.clusters import ClusterIndex
    from calipers.inference.settings import Settings
    from calipers.inference.time_order import TimeOrder
    from calipers.measures import Measure


@dataclass(frozen=True, eq=False)
class RegressionOutput(SystemOutput):
    """Point predictions of one system.

    Attributes
    ----------
    name : str
        Name of the system.
    truth, predicted : array of shape (n,)
        True and predicted values.
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
    predicted: FloatArray
    weight: FloatArray | None
    settings: Settings
    clusters: ClusterIndex | None = None
    measures: tuple[Measure, ...] = ()
    order: TimeOrder | None = None
    naive_errors: FloatArray | None = None

    columns: ClassVar = ("truth", "predicted", "weight", "naive_errors")
    output_fields: ClassVar = {"predicted": float}
    needs: ClassVar = {
        "numbers": ("predicted", "predicted numbers"),
        "quantiles": ("quantiles", "quantiles= of each row"),
        "ensembles": ("ensemble", "ensemble=, members of each row"),
        "joint ensembles": ("joint_members", "ensemble= of several outputs"),
    }

    def check_measure(self, measure: Measure) -> None:
        """Check that the measure is not one of several outputs."""
        if measure.has_view:
            raise InputError(
                f"{measure}: there is one output, without a name (outputs=); ask for "
                f"{measure.plain}"
            )
        check_naive_error(measure, self.naive_errors)
        super().check_measure(measure)

    def losses(self, measure: Measure) -> FloatArray:
        """Return the loss of each row."""
        return with_naive_errors(measure, self.naive_errors).losses(self.truth, self.predicted)

    def sample_for(self, measure: Measure) -> RowLosses | NumericSample:
        """Return the loss of each row, or the sample of truth and predictions."""
        statistic_type = measure.definition.statistic
        if statistic_type is Moments:
            losses = self.losses(measure)
            return RowLosses(losses, self.weight, self.clusters, self.settings)
        if measure.definition.relative_to is not None:
            ratio = measure.ratio_columns(self.truth, self.predicted)
            return self.cached(
                measure, lambda: MomentRows(*ratio, self.weight, self.clusters, self.settings)
            )
        sample_type = MomentRows if statistic_type is NumericMoments else SortedRows
        columns = self.truth, self.predicted, self.weight, self.clusters
        return self.cached(sample_type, lambda: sample_type(*columns, self.settings))

    def statistic(self, measure: Measure) -> Statistic | None:
        """Return the statistic of which a measure is a function."""
        if measure.definition.statistic is Moments:
            scaled_measure = with_naive_errors(measure, self.naive_errors)
            return loss_moments(scaled_measure, self.truth, self.predicted, self.weight)
        return super().statistic(measure)

    def constant_value(self, measure: Measure) -> float:
        """Return the loss of the best constant prediction; 0 for a skill score."""
        if measure.definition.skill_of is not None:
            return 0.0 if np.isfinite(measure.apply(self.sample_for(measure).statistic)) else NAN
        return constant_loss(with_naive_errors(measure, self.naive_errors), self.truth, self.weight)


def check_naive_error(measure: Measure, naive_errors: FloatArray | None) -> None:
    """Check that there is an error of the naive forecast, if the measure is relative to one."""
    for name in NAIVE_ERRORS:
        if naive_errors is None and measure.parameters.get(name, 0) is None:
            description = PARAMETERS[name].description
            raise InputError(
                f"{measure} needs {name}, {description}, as in "
                f"{format_request(measure.definition.name, name, '', None)}"
            )


def with_naive_errors(measure: Measure, naive_errors: FloatArray | None) -> Measure:
    """Return a measure whose error of the naive forecast, if it has none, is that of each row."""
    values = dict(measure.values)
    for index, name in enumerate(NAIVE_ERRORS):
        if naive_errors is not None and values.get(name, 0) is None:
            values[name] = naive_errors[:, index]
            return replace(measure, values=tuple(values.items()))
    return measure


def loss_moments(
    measure: Measure, truth: FloatArray, predicted: FloatArray, weight: FloatArray | None
) -> Moments:
    """Return the moments of the losses of rows."""
    formula = measure.definition.row_formula
    squared = None if formula is None else DIRECT_LOSSES.get(formula)
    if squared is not None and weight is None and truth.ndim == 1:
        moments = Moments.from_errors(truth, predicted, squared=squared)
        if np.isfinite(moments.mean):
            return moments
    return Moments.from_rows(measure.losses(truth, predicted), weight)


def constant_loss(measure: Measure, truth: FloatArray, weight: FloatArray | None) -> float:
    """Return the loss of the best constant prediction.

    Parameters
    ----------
    measure : Measure
        Measure that is a mean of losses.
    truth : array of shape (n,)
        True values.
    weight : array of shape (n,) or None
        Weight of each row.

    Returns
    -------
    float
        Loss; NaN if the measure does not define the best constant, or there are no rows with
        weight.
    """
    find_constant = measure.definition.constant_prediction
    if find_constant is None or (weight is not None and not weight.sum() > 0) or not len(truth):
        return NAN
    best_constant = find_constant(truth, weight, **measure.parameters)
    if measure.definition.relative_to is not None:
        ratio = measure.ratio_columns(truth, np.full(truth.shape, best_constant))
        return float(measure.apply(NumericMoments.from_rows(*ratio, weight)))
    if truth.ndim == 1:
        return float(measure.apply(loss_moments(measure, truth, np.full(1, best_constant), weight)))
    constant = np.broadcast_to(np.float64(best_constant), truth.shape)
    return float(measure.apply(Moments.from_rows(measure.losses(truth, constant), weight)))
