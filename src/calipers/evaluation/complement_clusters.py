"""Influence of clusters of rows on the complements of all subsets, in one pass over the rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from calipers.caching import cached, cached_property
from calipers.inference.clusters import merge_class_sums
from calipers.lazy_dataclasses import dataclass
from calipers.statistics import leave_one_out_sums
from calipers.statistics.logits import clipped_logit

if TYPE_CHECKING:
    import numpy.typing as npt

    from calipers.estimation.losses import RowLosses
    from calipers.estimation.scores import ScoredRows
    from calipers.inference.clusters import ClusterIndex
    from calipers.statistics import FloatArray
    from calipers.statistics.logits import RecalibrationFit


@dataclass(frozen=True, eq=False)
class ComplementClusters:
    """Sums over the rows of each cluster (K) in the complement of each of S subsets.

    The influence of a row depends on the complement. Where it is a formula of few numbers, the
    sums of all complements follow from those of each subset; where it depends on the order of the
    rows, they are accumulated for all complements at once.
    """

    clusters: ClusterIndex
    subset_codes: npt.NDArray[np.uint8]
    n_subsets: int

    @cached_property
    def _cells(self) -> npt.NDArray[np.int64]:
        """Index of the subset and cluster of each row."""
        first = self.subset_codes * np.int64(self.clusters.n_codes)
        return np.asarray(first + self.clusters.codes, np.int64)

    def _sums(self, values: FloatArray | None) -> FloatArray:
        """Return the sums (S, K) of a value per row over the complements; None counts rows."""
        shape = self.n_subsets, self.clusters.n_codes
        sums = np.bincount(self._cells, values, shape[0] * shape[1]).astype(np.float64)
        return np.stack(leave_one_out_sums(list(sums.reshape(shape))))

    @cached_property
    def weights(self) -> FloatArray:
        """Weights (S, K) of the clusters."""
        return self._sums(self.clusters.weight)

    def _class_weights(self, positive: npt.NDArray[np.bool_]) -> FloatArray:
        """Return the weights (S, 2, K) of the rows of each class, positives first."""

        def compute_weights() -> FloatArray:
            weight = self.clusters.weight
            ones = positive.astype(np.float64) if weight is None else np.where(positive, weight, 0)
            zeros = 1 - ones if weight is None else np.where(positive, 0, weight)
            return np.stack([self._sums(ones), self._sums(zeros)], axis=1)

        # With the column itself, so that its id is of no other one.
        return cached(self, id(positive), lambda: (positive, compute_weights()))[1]

    def mean_influence(self, losses: RowLosses) -> FloatArray:
        """Return the influence (S, K) of each cluster on the mean of a value per row."""
        values, weight = losses.values, losses.weight
        with np.errstate(divide="ignore", invalid="ignore"):  # infinite values, empty complements
            deviations = values - losses.statistic.mean
            if weight is not None:
                deviations = np.where(weight > 0, deviations * weight, 0.0)
            sums, totals = self._sums(deviations), self.weights.sum(axis=1, keepdims=True)
            return np.asarray(
                (sums - self.weights * (sums.sum(axis=1, keepdims=True) / totals)) / totals
            )

    def areas(self, rows: ScoredRows, name: str) -> tuple[FloatArray, FloatArray]:
        """Return an area (S,), and the influence (S, 2, K) of the rows of each class on it."""
        from calipers import _core

        order = rows.order
        sorted_rows = order.row_order
        values, sums = _core.areas_without(
            name,
            rows.positive[sorted_rows],
            order.is_last_of_score,
            self.subset_codes[sorted_rows],
            None if rows.weight is None else rows.weight[sorted_rows],
            self.clusters.codes[sorted_rows],
            self.n_subsets,
            self.clusters.n_codes,
        )
        return values, sums.reshape(self.n_subsets, 2, -1)

    def area_sums(
        self, rows: ScoredRows, subset_index: int, influence: FloatArray, *, pairs: bool
    ) -> tuple[FloatArray, FloatArray]:
        """Return the influence of clusters on an area, and their contributions."""
        weights = self._class_weights(rows.positive)[subset_index]
        return merge_class_sums(influence, weights, pairs=pairs)

    def residuals(
        self, rows: ScoredRows, delta: float, fits: Sequence[RecalibrationFit | None]
    ) -> FloatArray:
        """Return sums (S, 2, K) of residuals about lines of logits, also times the logit.

        ``fits`` has the line of each complement, if it is known.
        """
        from calipers import _core

        lines = [(0.0, 1.0) if fit is None else (fit.intercept, fit.slope) for fit in fits]
        intercepts, slopes = np.array(lines).T
        sums = _core.residuals_without(
            clipped_logit(rows.score.astype(np.float64, copy=False), delta),
            rows.positive,
            self.subset_codes,
            rows.weight,
            self.clusters.codes,
            np.ascontiguousarray(intercepts),
            np.ascontiguousarray(slopes),
            self.clusters.n_codes,
        )
        return sums.reshape(self.n_subsets, 2, -1)
