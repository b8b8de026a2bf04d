"""Confidence bands of curves: by the bootstrap, by Kolmogorov bounds, or of normal estimates."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from calipers.inference.intervals import MAX_UNDEFINED_PROPORTION, normal_quantile, t_quantile
from calipers.inference.method_limits import N_DRAWN_MAXIMA
from calipers.lazy_dataclasses import dataclass
from calipers.statistics.base import FloatArray

if TYPE_CHECKING:
    from calipers.inference.score_bootstrap import RankedRows
    from calipers.inference.settings import Settings
    from calipers.statistics import ScoreTable

BandLimits = tuple[FloatArray, FloatArray]


@dataclass(frozen=True, eq=False)
class ThresholdReplicates:
    """Bootstrap replicates of the true and false positives at some thresholds.

    Attributes
    ----------
    threshold_indices : ndarray of int, shape (G,)
        Thresholds in ascending order, each as the number of distinct scores at or above it; 0 and
        the number of all distinct scores are among them.
    positive, negative : ndarray of shape (B, G)
        Weight of the true and of the false positives at each threshold.
    """

    threshold_indices: npt.NDArray[np.intp]
    positive: FloatArray
    negative: FloatArray

    @classmethod
    def draw(
        cls, ranked: RankedRows, threshold_indices: npt.NDArray[np.intp], settings: Settings
    ) -> ThresholdReplicates:
        """Draw the replicates, from the same random numbers as all others with this seed."""
        from calipers import _core

        last_rows = np.flatnonzero(ranked.last_mask)
        threshold_indices = np.union1d(threshold_indices, [0, len(last_rows)])
        last = np.zeros_like(ranked.last_mask)
        last[last_rows[threshold_indices[1:] - 1]] = True
        replicates = _core.bootstrap_tables(
            *ranked._replace(last_mask=last), settings.seed, 0, settings.n_resamples
        )
        counts = np.zeros((settings.n_resamples, 2, len(threshold_indices)))
        block_weights = replicates.reshape(settings.n_resamples, 2, len(threshold_indices) - 1)
        np.cumsum(block_weights, axis=2, out=counts[..., 1:])
        return cls(threshold_indices, counts[:, 0], counts[:, 1])

    @classmethod
    def draw_by_block(
        cls, table: ScoreTable, threshold_indices: npt.NDArray[np.intp], settings: Settings
    ) -> ThresholdReplicates:
        """Draw the replicates of independent rows, block by block between the thresholds.

        The total number of draws of the rows of a block also has a Poisson distribution, so that
        the time does not depend on the number of rows. If weights differ, Kish's effective number
        of rows is drawn.
        """
        from calipers import _core

        threshold_indices = np.union1d(threshold_indices, [0, len(table.scores)])
        columns = np.stack([table.positive, table.negative])
        squares = np.stack([table.positive_squares, table.negative_squares])
        weight, squares = (
            np.add.reduceat(c, threshold_indices[:-1], axis=1) for c in (columns, squares)
        )
        size = np.divide(squares, weight, out=np.ones_like(weight), where=weight > 0)
        draws = _core.poisson_draws((weight / size).ravel(), settings.seed, settings.n_resamples)
        counts = np.zeros((2, settings.n_resamples, len(threshold_indices)))
        for of_class, n_drawn, row_weight in zip(counts, np.hsplit(draws, 2), size, strict=True):
            np.cumsum(n_drawn * row_weight, axis=1, out=of_class[:, 1:])
        return cls(threshold_indices, *counts)

    def rates(self, threshold_indices: npt.NDArray[np.intp]) -> tuple[FloatArray, FloatArray]:
        """Return TPR and FPR at some of the thresholds."""
        columns = np.searchsorted(self.threshold_indices, threshold_indices)
        with np.errstate(invalid="ignore"):
            return (
                self.positive[:, columns] / self.positive[:, -1:],
                self.negative[:, columns] / self.negative[:, -1:],
            )

    def tpr(self, fpr: FloatArray) -> FloatArray:
        """Return TPR at the given FPR.

        It is interpolated linearly between the thresholds; on vertical segments it is the upper
        end. It is NaN in replicates without positives or without negatives.
        """
        from calipers import _core

        tp, fp = self.positive, self.negative
        with np.errstate(invalid="ignore"):
            curves = _core.interpolated_rows(fp / fp[:, -1:], tp / tp[:, -1:], fpr)
        return self._where_defined(curves)

    def precision(self, recall: FloatArray) -> FloatArray:
        """Return precision at the given recalls.

        It is the precision at the first threshold that reaches the recall with at least one
        predicted positive; interpolated linearly if several distinct scores lie between two
        thresholds; NaN as in :meth:`tpr`.
        """
        from calipers import _core

        multiple_mask = np.append(False, np.diff(self.threshold_indices) > 1)
        counts = np.ascontiguousarray(self.positive), np.ascontiguousarray(self.negative)
        return self._where_defined(_core.replicate_precision(*counts, multiple_mask, recall))

    def _where_defined(self, curves: FloatArray) -> FloatArray:
        """Return curves with NaN in replicates without positives or without negatives."""
        curves[(self.positive[:, -1] == 0) | (self.negative[:, -1] == 0)] = np.nan
        return curves

    def gain(self, proportions: FloatArray) -> FloatArray:
        """Return recall at the given proportions of rows that are predicted positive.

        It is interpolated linearly between the thresholds, and NaN in replicates without positives.
        """
        from calipers import _core

        total = self.positive + self.negative
        with np.errstate(invalid="ignore"):
            volume, recall = total / total[:, -1:], self.positive / self.positive[:, -1:]
        return _core.interpolated_rows(volume, recall, proportions)

    def net_benefit(self, threshold_indices: npt.NDArray[np.intp], p: FloatArray) -> FloatArray:
        """Return net benefit at some of the thresholds, TP/n − FP/n · p/(1 − p).

        ``p`` is the threshold probability of each.
        """
        columns = np.searchsorted(self.threshold_indices, threshold_indices)
        total = self.positive[:, -1:] + self.negative[:, -1:]
        with np.errstate(invalid="ignore"):
            return (self.positive[:, columns] - self.negative[:, columns] * (p / (1 - p))) / total


def pointwise_band(replicates: FloatArray, level: float) -> BandLimits:
    """Return percentile limits at each point of a grid separately.

    ``replicates`` has shape ``(B, G)``; the limits have shape ``(G,)``, and are NaN if more than 5%
    of the replicates are undefined.
    """
    low, high = np.full((2, replicates.shape[1]), np.nan)
    defined_proportion = np.isfinite(replicates).mean(axis=0)
    tails = [(1 - level) / 2, (1 + level) / 2]
    # Column by column is slow, and needed only where some replicates have no value.
    for column_mask, quantile in (
        (defined_proportion == 1, np.quantile),
        (
            (defined_proportion < 1) & (defined_proportion >= 1 - MAX_UNDEFINED_PROPORTION),
            np.nanquantile,
        ),
    ):
        if column_mask.any():
            low[column_mask], high[column_mask] = quantile(
                replicates[:, column_mask], tails, axis=0
            )
    return low, high


def simultaneous_band(replicates: FloatArray, level: float) -> BandLimits:
    """Return limits over a grid that contain the proportion ``level`` of entire replicates.

    They are order statistics of equal rank at every point: the k-th smallest and the k-th largest,
    with the largest k that leaves enough replicates inside, or the extremes if there is no such k.
    ``replicates`` has shape ``(B, G)``; a replicate is either defined everywhere or NaN.
    """
    defined = replicates[np.isfinite(replicates).all(axis=1)]
    if len(defined) < (1 - MAX_UNDEFINED_PROPORTION) * len(replicates) or not len(defined):
        low, high = np.full((2, replicates.shape[1]), np.nan)
        return low, high
    ordered = np.sort(defined, axis=0)
    low_rank, high_rank = 0, (len(defined) - 1) // 2
    while low_rank < high_rank:
        rank = (low_rank + high_rank + 1) // 2
        inside = (defined >= ordered[rank]) & (defined <= ordered[-1 - rank])
        if inside.all(axis=1).mean() >= level:
            low_rank = rank
        else:
            high_rank = rank - 1
    return ordered[low_rank], ordered[-1 - low_rank]


def kolmogorov_distance(n: float, level: float) -> float:
    """Return the bound on the distance between an empirical and the true distribution function.

    The largest distance with ``n`` draws is at most √(ln(2/(1 − level)) / 2n) with a probability of
    at least ``level``, for every n and every distribution.

    References
    ----------
    Dvoretzky, Kiefer and Wolfowitz 1956, with the constant of Massart 1990.

    Examples
    --------
    >>> round(kolmogorov_distance(100, 0.95), 4)
    0.1358
    """
    return math.sqrt(math.log(2 / (1 - level)) / (2 * n))


def roc_limits(
    fpr: FloatArray, tpr: FloatArray, sizes: tuple[float, float], grid: FloatArray, level: float
) -> BandLimits:
    """Return simultaneous limits of TPR over a grid of FPR, for the whole ROC curve.

    ``fpr`` and ``tpr`` are the points of the empirical curve from (0, 0) to (1, 1), ``sizes`` the
    numbers of positives and of negatives.

    Notes
    -----
    Both rates stay within their :func:`kolmogorov_distance` at every threshold with a probability
    of at least ``level``, since the classes are independent samples and each is given √level; so
    the true curve stays within the union of the rectangles of these half-widths around the points.
    The guarantee holds for every sample size and makes the band conservative: it covers the true
    curve more often than ``level``. For weighted rows the sizes are effective ones, and the
    guarantee is approximate.

    References
    ----------
    Campbell 1994 (Statistics in Medicine 13), the fixed-width band from Kolmogorov bounds.
    """
    tpr_distance, fpr_distance = (kolmogorov_distance(n, math.sqrt(level)) for n in sizes)
    low, high = _local_range(fpr, tpr, grid, fpr_distance)
    return np.maximum(low - tpr_distance, 0.0), np.minimum(high + tpr_distance, 1.0)


def precision_limits(
    fpr: FloatArray, tpr: FloatArray, sizes: tuple[float, float], grid: FloatArray, level: float
) -> BandLimits:
    """Return simultaneous limits of precision over a grid of recall, for the whole curve.

    They follow from the bounds of :func:`roc_limits` and Clopper and Pearson's interval of the
    prevalence π; each of the three is given the cube root of ``level``. Precision at recall r and
    false positive rate f is πr / (πr + (1 − π)f), which is largest at the smallest f and the
    largest π.
    """
    from scipy.special import betaincinv

    part_level = level ** (1 / 3)
    tpr_distance, fpr_distance = (kolmogorov_distance(n, part_level) for n in sizes)
    low_rate, high_rate = _local_range(tpr, fpr, grid, tpr_distance)
    low_rate, high_rate = (
        np.maximum(low_rate - fpr_distance, 0.0),
        np.minimum(high_rate + fpr_distance, 1.0),
    )
    tail = (1 - part_level) / 2
    low_prevalence = float(betaincinv(sizes[0], sizes[1] + 1, tail))
    high_prevalence = float(betaincinv(sizes[0] + 1, sizes[1], 1 - tail))

    def precision(prevalence: float, rate: FloatArray, empty: float) -> FloatArray:
        predicted_positive = prevalence * grid + (1 - prevalence) * rate
        nothing = np.full(len(grid), empty)
        return np.asarray(
            np.divide(
                prevalence * grid, predicted_positive, out=nothing, where=predicted_positive > 0
            )
        )

    return precision(low_prevalence, high_rate, 0.0), precision(high_prevalence, low_rate, 1.0)


def _local_range(x: FloatArray, y: FloatArray, grid: FloatArray, distance: float) -> BandLimits:
    """Return the range of ``y`` of an ascending curve near each grid point.

    It reaches from the last point before x − ``distance`` to the first point after x +
    ``distance``.
    """
    before = np.searchsorted(x, grid - distance, side="left") - 1
    after = np.searchsorted(x, grid + distance, side="right")
    low = np.where(before < 0, 0.0, y[np.maximum(before, 0)])
    high = np.where(after == len(y), 1.0, y[np.minimum(after, len(y) - 1)])
    return low, high


def normal_bands(
    values: FloatArray, covariances: FloatArray, df: float, level: float, seed: int
) -> tuple[BandLimits, BandLimits]:
    """Return pointwise and simultaneous limits of jointly normal estimates, with Student's t.

    The simultaneous ones are those by the largest deviation in standard errors of all estimates,
    which is drawn from the normal distribution with these ``covariances``, of shape (G, G).
    """
    se = np.sqrt(np.diagonal(covariances))
    size = np.where(se > 0, se, 1.0)
    eigenvalues, vectors = np.linalg.eigh(covariances / np.outer(size, size))
    random = np.random.Generator(np.random.Philox(seed))
    draws = random.normal(size=(N_DRAWN_MAXIMA, len(values)))
    deviations = draws @ (vectors * np.sqrt(np.maximum(eigenvalues, 0.0))).T
    largest = float(np.quantile(np.abs(deviations).max(axis=1), level))
    half_width = t_quantile(level, df) * se
    joint = half_width * max(largest / normal_quantile(level), 1.0)
    return (values - half_width, values + half_width), (values - joint, values + joint)
