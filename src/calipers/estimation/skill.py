"""Skill scores of class probabilities, against the best constant prediction.

The skill is 1 − L/D, a function of two point estimates on the same rows: the mean loss L, and the
loss D of always predicting the class proportions. D is minimal there, so that to first order the
influence of a row on it is the loss of the row under them. The standard error keeps the n/(n − 1)
of means: without it the delta method's interval covered the truth 93.8 and 93.2 times of 100
(Brier, log loss) with 20 rows of three classes, with it 94.4 and 93.8 times (±0.2).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from calipers.estimation.losses import estimate_mean_loss
from calipers.inference.point_estimate import PointEstimate, apply_function
from calipers.inference.resampling import bootstrap_means
from calipers.inference.variance_estimators import Influence, MeanVariance
from calipers.lazy_dataclasses import dataclass
from calipers.measures.probabilities import constant_loss
from calipers.statistics import ClassLosses, Moments

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    import numpy.typing as npt

    from calipers.inference.clusters import ClusterIndex
    from calipers.inference.settings import MeasureLike, Settings
    from calipers.statistics import FloatArray

#: Number of values in memory at a time when class proportions are resampled.
_MAX_BATCH_ELEMENTS = 30_000_000


@dataclass(frozen=True, eq=False)
class ConstantPrediction:
    """Best constant prediction: the class proportions.

    ``truth`` are the classes of the rows, ``class_losses`` the loss of the prediction for a row of
    each class.
    """

    truth: npt.NDArray[np.intp]
    proportions: FloatArray
    class_losses: FloatArray
    weight: FloatArray | None
    clusters: ClusterIndex | None
    settings: Settings

    def point_estimate(self, loss: MeasureLike) -> PointEstimate:
        """Return the point estimate of the loss of the best constant prediction."""
        value = float(constant_loss(self.proportions, str(loss)))

        def replicates() -> FloatArray:
            """Return replicates with their own class proportions; NaN for a single class."""
            class_indices = np.flatnonzero(self.proportions)
            block_size = max(1, _MAX_BATCH_ELEMENTS // len(self.truth))
            blocks = [
                class_indices[i : i + block_size] for i in range(0, len(class_indices), block_size)
            ]
            proportions = np.hstack(
                [self._bootstrap_means(self.truth[:, None] == block) for block in blocks]
            )
            multiclass_mask = proportions.max(axis=1) < 1 - 1e-12  # 1 but for rounding
            return np.where(multiclass_mask, constant_loss(proportions, str(loss)), np.nan)

        return PointEstimate(
            value=value,
            kind="mean of a value per row",
            settings=self.settings,
            n=len(self.truth),
            weight=self.weight,
            clusters=self.clusters,
            influence=lambda: Influence(
                self.class_losses[self.truth], MeanVariance(self.weight, self.clusters), "delta"
            ),
            replicates=replicates,
        )

    def _bootstrap_means(self, columns: npt.NDArray[Any]) -> FloatArray:
        """Return the means of columns in each replicate; every call has the same resamples."""
        return bootstrap_means(
            columns.astype(np.float64), self.weight, self.settings, self.clusters
        )


def estimate_skill(
    measure: MeasureLike, loss: MeasureLike, values: FloatArray, constant: ConstantPrediction
) -> PointEstimate:
    """Return the point estimate of a skill score from the losses of rows.

    It is negative if the constant prediction is better.
    """
    prediction, rows = constant, len(values)
    observed = estimate_mean_loss(
        loss, values, prediction.weight, prediction.clusters, prediction.settings
    )
    reference = prediction.point_estimate(loss)
    reason = _undefined_reason(prediction.proportions, observed.value)
    slopes = [0.0, 0.0] if reason else _skill_derivatives(observed.value, reference.value)
    return apply_function(
        lambda observed, reference: 1 - observed / reference,
        [observed, reference],
        slopes,
        kind="skill",
        bounds=measure.definition.range,
        higher_is_better=True,
        undefined={} if reason is None else {reason: observed.undefined.get(reason, rows)},
        **({"value": float("nan"), "influence": None} if reason else {}),
    )


def _undefined_reason(proportions: FloatArray, mean_loss: float) -> str | None:
    """Return the reason why a skill score is undefined, or None."""
    if not proportions.any() or np.isnan(proportions).any():
        return "no_rows"
    if np.count_nonzero(proportions) < 2:
        return "one_class"
    return None if np.isfinite(mean_loss) else "zero_probability"


def _skill_derivatives(mean_loss: float, reference_loss: float) -> list[float]:
    """Return the derivatives by the mean loss, and by that of the constant prediction."""
    return [-1 / reference_loss, mean_loss / reference_loss**2]


# --- Rows in batches ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SkillRows:
    """Batch of rows with losses and classes, for a skill score.

    ``constant_losses`` returns the loss of a row of each class if these class proportions are
    always predicted.
    """

    loss: MeasureLike
    values: FloatArray
    truth: npt.NDArray[np.intp]
    class_weights: FloatArray
    weight: FloatArray | None
    clusters: ClusterIndex | None
    constant_losses: Callable[[FloatArray], FloatArray]

    @property
    def statistic(self) -> ClassLosses:
        """Statistic that is merged over batches."""
        return ClassLosses(Moments.from_rows(self.values, self.weight), self.class_weights)

    def influence(self, total: ClassLosses) -> Influence | None:
        """Return the influence values of the skill score of all rows."""
        mean_loss, proportions = total.losses.mean, total.proportions
        if _undefined_reason(proportions, mean_loss):
            return None
        reference_loss = float(constant_loss(proportions, str(self.loss)))
        loss_slope, reference_slope = _skill_derivatives(mean_loss, reference_loss)
        column = (
            loss_slope * self.values
            + reference_slope * self.constant_losses(proportions)[self.truth]
        )
        moments = replace(
            total.losses, mean=loss_slope * mean_loss + reference_slope * reference_loss
        )
        return Influence(
            column, MeanVariance(self.weight, self.clusters, total_moments=moments), "delta"
        )


def estimate_from_sums(
    measure: MeasureLike, sums: ClassLosses, settings: Settings, n_rows: int
) -> PointEstimate:
    """Estimate a skill score from sums over all rows."""
    mean_loss, proportions, definition = sums.losses.mean, sums.proportions, measure.definition
    reason, skill_of = _undefined_reason(proportions, mean_loss), definition.skill_of
    n_undefined = sums.losses.infinite if reason == "zero_probability" else n_rows
    value = (
        float("nan") if reason else 1 - mean_loss / float(constant_loss(proportions, str(skill_of)))
    )
    return PointEstimate(
        value=value,
        kind="skill",
        settings=settings,
        n=n_rows,
        bounds=definition.range,
        higher_is_better=True,
        undefined={} if reason is None else {reason: n_undefined},
        effective_sizes=lambda: (sums.losses.effective_size,),
    )
