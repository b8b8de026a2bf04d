"""Rows of a randomized experiment, ordered by predicted uplift."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from calipers.caching import cached_property
from calipers.lazy_dataclasses import dataclass
from calipers.lazy_imports import numpy as np
from calipers.statistics.base import FloatArray, effective_size_from_weights
from calipers.statistics.regression import NumericRows

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(frozen=True, eq=False)
class UpliftRows(NumericRows):
    """Outcome, predicted uplift and treatment of rows.

    Parameters
    ----------
    truth : ndarray of shape (n,)
        Outcomes.
    predicted : ndarray of shape (n,)
        Predicted uplift, or another score by which rows are targeted, the highest first.
    weight : ndarray of shape (..., n)
        Weights of the rows. Leading axes are replicates.
    treatment : ndarray of shape (n,)
        1 for a treated row, 0 for a row of the control group.
    """

    treatment: FloatArray

    @classmethod
    def from_experiment(
        cls,
        outcome: FloatArray,
        predicted: FloatArray,
        treatment: FloatArray,
        weight: FloatArray | None = None,
    ) -> Self:
        """Create the statistic of rows, without those of weight 0.

        Parameters
        ----------
        outcome, predicted, treatment : ndarray of shape (n,)
            Columns of the rows.
        weight : ndarray of shape (n,), optional
            Weights of the rows. By default all are 1.

        Returns
        -------
        UpliftRows
            Statistic of the rows.
        """
        columns = outcome, predicted, np.ones(len(outcome)) if weight is None else weight, treatment
        if weight is None or weight.all():
            return cls(*columns)
        return cls(*(column[weight > 0] for column in columns))

    @property
    def _columns(self) -> tuple[FloatArray, ...]:  # type: ignore[override]
        return self.truth, self.predicted, self.weight, self.treatment

    def divide_weights(self, common_weight: float) -> Self:
        """Return the rows with every weight divided by ``common_weight``.

        Parameters
        ----------
        common_weight : float
            Weight that every row has, apart from that of its propensity.

        Returns
        -------
        UpliftRows
            Statistic of the same rows.
        """
        return self.with_weights(self.weight / common_weight)

    def with_scores(self, predicted: FloatArray) -> Self:
        """Return the same rows, targeted in another order.

        Parameters
        ----------
        predicted : ndarray of shape (n,)
            Other scores.

        Returns
        -------
        UpliftRows
            Rows with these scores.
        """
        return replace(self, predicted=predicted)

    @cached_property
    def without_order(self) -> Self:
        """The same rows, targeted at random: with equal scores."""
        return self.with_scores(np.zeros(self.n_rows))

    @property
    def arm_weights(self) -> tuple[FloatArray, FloatArray]:
        """Weights of the treated rows, and of those of the control group."""
        is_treated = self.treatment > 0
        return self.weight[is_treated], self.weight[~is_treated]

    @cached_property
    def effective_arm_sizes(self) -> tuple[float, float]:
        """Effective numbers of treated rows, and of rows of the control group."""
        treated, control = map(effective_size_from_weights, self.arm_weights)
        return treated, control

    @cached_property
    def typical_weights(self) -> list[float]:
        """Mean weight of the rows of each arm, by weight; 1 if it has no rows."""
        return [
            float(np.square(weights).sum() / weights.sum()) if weights.any() else 1.0
            for weights in self.arm_weights
        ]

    @cached_property
    def sums(self) -> ArmSums:
        """Sums over the rows of each distinct score, the highest first."""
        treated = self.weight * self.treatment
        control, order = self.weight - treated, self.sorted_predictions
        columns = treated, control, treated * self.truth, control * self.truth
        return ArmSums(*(order.weight_sums(column)[..., ::-1] for column in columns))

    @cached_property
    def targeted(self) -> ArmSums:
        """Sums over the rows of each distinct score or a higher one, the highest first."""
        return self.sums.cumulative()

    def score_index(self, predicted: FloatArray) -> FloatArray:
        """Return the index of scores among the distinct ones, of which the highest has index 0.

        Parameters
        ----------
        predicted : ndarray of shape (m,)
            Scores. The index of one that no row has is arbitrary.

        Returns
        -------
        ndarray of int, shape (m,)
            The indices.
        """
        return (
            self._row_index if predicted is self.predicted else self._index_from_highest(predicted)
        )

    @cached_property
    def _row_index(self) -> FloatArray:
        order = self.sorted_predictions
        return np.asarray(len(order.values) - 1 - order.value_index)

    def _index_from_highest(self, predicted: FloatArray) -> FloatArray:
        order = self.sorted_predictions
        return np.asarray(len(order.values) - 1 - order.value_indices(predicted))


@dataclass(frozen=True, eq=False)
class ArmSums:
    """Weights and outcomes of treated rows, and of those of the control group.

    Parameters
    ----------
    treated, control : ndarray of shape (..., k)
        Sums of the weights.
    treated_outcome, control_outcome : ndarray of shape (..., k)
        Sums of the weighted outcomes.
    """

    treated: FloatArray
    control: FloatArray
    treated_outcome: FloatArray
    control_outcome: FloatArray

    @property
    def columns(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Sums of all four kinds."""
        return self.treated, self.control, self.treated_outcome, self.control_outcome

    @cached_property
    def weight(self) -> FloatArray:
        """Sums of the weights of both arms."""
        return np.asarray(self.treated + self.control)

    @cached_property
    def means(self) -> tuple[FloatArray, FloatArray]:
        """Mean outcomes of both arms; 0 where an arm has no rows."""
        return (
            divide_or_zero(self.treated_outcome, self.treated),
            divide_or_zero(self.control_outcome, self.control),
        )

    @property
    def uplift(self) -> FloatArray:
        """Difference of the mean outcomes."""
        treated, control = self.means
        return np.asarray(treated - control)

    def cumulative(self) -> ArmSums:
        """Return the cumulated sums.

        Returns
        -------
        ArmSums
            Sums over each element and those before it.
        """
        return ArmSums(*(column.cumsum(axis=-1) for column in self.columns))


def divide_or_zero(dividend: FloatArray, divisor: FloatArray) -> FloatArray:
    """Return a quotient, or 0 where the divisor is 0.

    Parameters
    ----------
    dividend, divisor : ndarray
        Arrays of the same shape.

    Returns
    -------
    ndarray
        Quotient.

    Examples
    --------
    >>> divide_or_zero(np.array([1.0, 3.0]), np.array([0.0, 2.0])).tolist()
    [0.0, 1.5]
    """
    return np.divide(dividend, divisor, out=np.zeros(np.shape(dividend)), where=divisor > 0)
