"""Skill scores of class probabilities, against the best constant prediction.

The skill is 1 − L/D, a function of two point estimates on the same rows: the mean loss L, and the
loss D of always predicting the class proportions. D is minimal there, so that to first order the
influence of a row on it is the loss of the row under them. The standard error keeps the n/(n − 1)
of means: without it the delta method's interval covered the truth 93.8 and 93.2 times of 100
(Brier, log loss) with 20 rows of three classes, with it 94.4 and 93.8 times (±0.2).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from calipers.estimation.losses import estimate_mean_loss
from calipers.inference.point_estimate import PointEstimate, apply_function
from calipers.inference.resampling import row_means
from calipers.inference.variance_estimators import Influence, MeanVariance
from calipers.measures.probabilities import constant_loss
from calipers.statistics import ClassLosses, Moments

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    import numpy.typing as npt

    from calipers.inference.clusters import ClusterIndex
    from calipers.inference.settings import MeasureLike, Settings
    from calipers.statistics import FloatArray

#: So many numbers are held at a time when the shares of classes are redrawn.
_AT_ONCE = 30_000_000


@dataclass(frozen=True, eq=False)
class ConstantPrediction:
    """Best constant prediction: the class proportions.

    ``truth`` are the classes of the rows, ``losses`` the loss of the prediction for a row of each
    class.
    """

    truth: npt.NDArray[np.intp]
    shares: FloatArray
    losses: FloatArray
    weight: FloatArray | None
    clusters: ClusterIndex | None
    settings: Settings

    def point_estimate(self, loss: MeasureLike) -> PointEstimate:
        """Return the point estimate of the loss of the best constant prediction."""
        value = float(constant_loss(self.shares, str(loss)))

        def replicates() -> FloatArray:
            """Return replicates with their own class proportions; NaN for a single class."""
            present = np.flatnonzero(self.shares)
            at_once = max(1, _AT_ONCE // len(self.truth))
            blocks = [present[i : i + at_once] for i in range(0, len(present), at_once)]
            drawn = np.hstack([self._means(self.truth[:, None] == block) for block in blocks])
            several = drawn.max(axis=1) < 1 - 1e-12  # 1 but for rounding
            return np.where(several, constant_loss(drawn, str(loss)), np.nan)

        return PointEstimate(
            value=value,
            kind="mean of a value per row",
            settings=self.settings,
            n=len(self.truth),
            weight=self.weight,
            clusters=self.clusters,
            influence=lambda: Influence(
                self.losses[self.truth], MeanVariance(self.weight, self.clusters), "delta"
            ),
            replicates=replicates,
        )

    def _means(self, columns: npt.NDArray[Any]) -> FloatArray:
        """Return the means of columns in each replicate; every call has the same resamples."""
        return row_means(columns.astype(np.float64), self.weight, self.settings, self.clusters)


def estimate_skill(
    measure: MeasureLike, loss: MeasureLike, values: FloatArray, constant: ConstantPrediction
) -> PointEstimate:
    """Return the point estimate of a skill score from the losses of rows.

    It is negative if the constant prediction is better.
    """
    c, rows = constant, len(values)
    own = estimate_mean_loss(loss, values, c.weight, c.clusters, c.settings)
    least = c.point_estimate(loss)
    reason = _undefined_reason(c.shares, own.value)
    slopes = [0.0, 0.0] if reason else _slopes(own.value, least.value)
    return apply_function(
        lambda own, least: 1 - own / least,
        [own, least],
        slopes,
        kind="skill",
        bounds=measure.definition.range,
        higher_is_better=True,
        undefined={} if reason is None else {reason: own.undefined.get(reason, rows)},
        **({"value": float("nan"), "influence": None} if reason else {}),
    )


def _undefined_reason(shares: FloatArray, lost: float) -> str | None:
    """Return the reason why a skill score is undefined, or None."""
    if not shares.any() or np.isnan(shares).any():
        return "no_rows"
    if np.count_nonzero(shares) < 2:
        return "one_class"
    return None if np.isfinite(lost) else "zero_probability"


def _slopes(lost: float, least: float) -> list[float]:
    """Return the derivatives by the mean loss, and by that of the constant prediction."""
    return [-1 / least, lost / least**2]


# --- Rows in batches ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SkillRows:
    """Batch of rows with losses and classes, for a skill score.

    ``constant`` returns the loss of a row of each class if these class proportions are always
    predicted.
    """

    loss: MeasureLike
    values: FloatArray
    truth: npt.NDArray[np.intp]
    sizes: FloatArray
    weight: FloatArray | None
    clusters: ClusterIndex | None
    constant: Callable[[FloatArray], FloatArray]

    @property
    def statistic(self) -> ClassLosses:
        """Statistic that is merged over batches."""
        return ClassLosses(Moments.from_rows(self.values, self.weight), self.sizes)

    def influence(self, whole: ClassLosses) -> Influence | None:
        """Return the influence values of the skill score of all rows."""
        lost, shares = whole.lost.mean, whole.shares
        if _undefined_reason(shares, lost):
            return None
        least = float(constant_loss(shares, str(self.loss)))
        of_own, of_least = _slopes(lost, least)
        column = of_own * self.values + of_least * self.constant(shares)[self.truth]
        moments = replace(whole.lost, mean=of_own * lost + of_least * least)
        return Influence(
            column, MeanVariance(self.weight, self.clusters, total_moments=moments), "delta"
        )


def estimate_from_sums(
    measure: MeasureLike, sums: ClassLosses, settings: Settings, rows: int
) -> PointEstimate:
    """Estimate a skill score from sums over all rows."""
    lost, shares, own = sums.lost.mean, sums.shares, measure.definition
    reason, skill_of = _undefined_reason(shares, lost), own.skill_of
    number = sums.lost.infinite if reason == "zero_probability" else rows
    value = float("nan") if reason else 1 - lost / float(constant_loss(shares, str(skill_of)))
    return PointEstimate(
        value=value,
        kind="skill",
        settings=settings,
        n=rows,
        bounds=own.range,
        higher_is_better=True,
        undefined={} if reason is None else {reason: number},
        sizes=lambda: (sums.lost.effective_size,),
    )
