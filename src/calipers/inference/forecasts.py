"""Comparison of multi-step forecasts: the test of Diebold and Mariano.

Losses of forecasts made h steps ahead depend on those of the previous h − 1 times, even for optimal
forecasts.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from calipers.inference.point_estimate import PointEstimate, UnitValues
from calipers.inference.variance_estimators import NAN, StandardError

if TYPE_CHECKING:
    from calipers.statistics import FloatArray

#: Name by which the Diebold-Mariano test is requested.
DIEBOLD_MARIANO = "diebold-mariano"


def diebold_mariano(differences: FloatArray, horizon: int = 1) -> StandardError:
    """Return the Diebold-Mariano standard error of a mean loss difference, with n − 1 df.

    Parameters
    ----------
    differences : ndarray of shape (n,)
        Differences between the losses of two forecasts, in the order of time.
    horizon : int, default=1
        Number of steps h that the forecasts are made ahead.

    Returns
    -------
    StandardError
        The error, its name and the degrees of freedom of its t distribution.

    Notes
    -----
    With the autocovariances γ of n differences the variance is (γ₀ + 2Σγ_k)/n over k < h (Diebold
    and Mariano 1995), and the statistic is multiplied by √((n + 1 − 2h + h(h − 1)/n)/n) (Harvey,
    Leybourne and Newbold 1997). At h = 1 this is the paired t test. If the variance is not
    positive, the autocovariances are weighted by 1 − k/h (Bartlett), and the name includes this.

    Examples
    --------
    >>> losses = np.array([0.3, 0.4, 0.1, 0.2, 0.5, 0.6, 0.2, 0.3])
    >>> result = diebold_mariano(losses, 2)
    >>> round(float(losses.mean()) / result.se, 4), result.df
    (4.6662, 7)
    """
    n, name = len(differences), f"Diebold-Mariano, HLN, h = {horizon}"
    factor = (n + 1 - 2 * horizon + horizon * (horizon - 1) / n) / n if n else 0.0
    if n < 2 or horizon >= n or not factor > 0:
        return StandardError(NAN, name, max(n - 1, 1))
    deviations = differences - differences.mean()
    sum_of_squares = float(deviations @ deviations)
    lagged = [float(deviations[k:] @ deviations[:-k]) for k in range(1, horizon)]
    total = sum_of_squares + 2 * sum(lagged)
    if not total > 0 and sum_of_squares > 0:
        weights = (1 - k / horizon for k in range(1, horizon))
        total = sum_of_squares + 2 * sum(
            w * product for w, product in zip(weights, lagged, strict=True)
        )
        name += ", Bartlett"
    return StandardError(math.sqrt(max(total, 0.0) / factor) / n, name, n - 1)


def is_applicable(estimate: PointEstimate, horizon: int) -> bool:
    """Check whether the Diebold-Mariano test applies to a point estimate.

    It applies to a mean of one loss per row with equal weights; with more than one step only if
    rows are ordered in time, with one row at each time.
    """
    units, order = estimate.units, estimate.order
    if not isinstance(units, UnitValues) or not (estimate.is_unit_mean and units.is_unweighted):
        return False
    if order is None:
        return horizon == 1
    return len(units.values) == len(order.time_index) == len(np.unique(order.time_index))


def standard_error(estimate: PointEstimate, horizon: int) -> StandardError:
    """Return the standard error of a difference to which the test applies."""
    assert isinstance(estimate.units, UnitValues)
    values = estimate.units.values
    if estimate.order is not None:
        values = values[np.argsort(estimate.order.time_index)]
    error = diebold_mariano(values, horizon)
    return replace(error, se=error.se * abs(estimate.factor))
