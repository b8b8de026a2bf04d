"""Inference for clustered rows: several rows of one user, patient or site, hence not independent.

Standard errors are computed from the influence summed by cluster, with the small-sample correction
and the degrees of freedom of Bell and McCaffrey (2002), known as CR2. With K clusters of equal size
these are √(K/(K − 1)·Σf²) and K − 1; with one large cluster among small ones the degrees of freedom
are far fewer, because the error then depends mainly on this cluster. (Imbens and Kolesár 2016;
Pustejovsky and Tipton 2018.) The bootstrap, if it is requested by name, resamples clusters. A row
of weight w counts w times.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from calipers.caching import cached, cached_property
from calipers.inference import intervals
from calipers.inference.intervals import Interval
from calipers.lazy_dataclasses import dataclass, replace
from calipers.statistics import effective_size_from_weights
from calipers.statistics.base import dot

if TYPE_CHECKING:
    from calipers.statistics import ConfusionMatrix, FloatArray

#: Minimum proportion of the data outside the largest cluster for a standard error.
_MIN_OTHER_PROPORTION = 1e-12


class ClusterError(NamedTuple):
    """Standard error of an estimate and the degrees of freedom of its t distribution."""

    se: float
    df: float


def cr2(influence: FloatArray, denominator: FloatArray) -> ClusterError:
    """Return the CR2 standard error of a sum over clusters and the degrees of freedom of its t.

    Parameters
    ----------
    influence : ndarray of shape (K,) or (c, K)
        Influence f of each cluster: the sum over its rows of weight times influence.
    denominator : ndarray of shape (K,) or (c, K)
        What each cluster contributes to the denominator; h is its proportion of the total.

    Returns
    -------
    ClusterError
        The error and the degrees of freedom; NaN if there are fewer than two clusters in any
        component.

    Notes
    -----
    The variance is Σf²/(1 − h). As if rows were independent, Var f = h(1 − h) and Cov(f, f′) =
    −hh′, from which the degrees of freedom are those of Satterthwaite, 1/T with d = 1/(1 − h) and

        T = (Σdh²)² + Σd²h²(1 − 2h)

    If the estimate is a sum of c components, as the difference between two subsets of the rows or
    an AUC, which combines means over two classes, both arrays have shape (c, K): f is the sum over
    the components, each of which has proportions h_c of its own, weighted by the variance W_c that
    each has alone. Then d = ΣW_c·h_c / ΣW_c·h_c(1 − h_c). So the AUC of rows that are clusters of
    size one has DeLong's error, and the difference between two means of such rows has Welch's.

    Examples
    --------
    >>> influence = np.array([0.2, -0.1, 0.1, -0.2])
    >>> se, degrees = cr2(influence, np.ones(4))
    >>> round(se, 4), round(degrees, 4)  # √(4/3 · 0.1)
    (0.3651, 3.0)
    >>> round(cr2(influence, np.array([20.0, 1.0, 1.0, 1.0])).df, 4)
    1.204
    """
    vector, degrees = cr2_influence(influence, denominator)
    return ClusterError(_root(dot(vector, vector)), degrees)


def cr2_influence(influence: FloatArray, denominator: FloatArray) -> tuple[FloatArray, float]:
    """Return the influence of each cluster with the correction of :func:`cr2`, and the df.

    The standard error is the norm of the corrected influence.
    """
    f, n = np.atleast_2d(influence), np.atleast_2d(denominator)
    if len(n) == 1:
        return _single_component(f[0], n[0])
    total, nonempty_mask = f.sum(axis=0), n.sum(axis=1) > 0
    f, n = f[nonempty_mask], n[nonempty_mask]
    h = n / n.sum(axis=1, keepdims=True)
    if not h.size or h.max() >= 1 - _MIN_OTHER_PROPORTION:
        return np.full(len(total), math.nan), math.nan
    weight = np.ones(1)
    if len(h) > 1:
        with np.errstate(invalid="ignore", over="ignore"):  # a value may be infinite
            weight = (np.square(f) / (1 - h)).sum(axis=1)
        has_weights = bool(np.isfinite(weight).all() and weight.any())
        weight = weight / weight.sum() if has_weights else np.full(len(h), 1 / len(h))
    remaining = weight @ (h * (1 - h))
    d = np.divide(weight @ h, remaining, out=np.ones(len(remaining)), where=remaining > 0)
    squares = np.outer(weight, weight) * np.square((h * d) @ h.T)
    diagonal_terms = np.square(d) * (np.square(remaining) - np.square(weight @ np.square(h)))
    return total * np.sqrt(d), 1 / float(squares.sum() + diagonal_terms.sum())


def _single_component(influence: FloatArray, denominator: FloatArray) -> tuple[FloatArray, float]:
    """Return the result of :func:`cr2_influence` of one component, of which d is 1/(1 − h)."""
    total = denominator.sum()
    h = denominator / total if total > 0 else denominator
    if not total > 0 or h.max() >= 1 - _MIN_OTHER_PROPORTION:
        return np.full(len(influence), math.nan), math.nan
    remaining = 1 - h
    dh = h / remaining
    variance = dot(dh, h) ** 2 + dot(np.square(dh), 1 - 2 * h)
    return influence / np.sqrt(remaining), 1 / variance


def subset_difference_error(
    first: tuple[FloatArray, FloatArray], second: tuple[FloatArray, FloatArray]
) -> ClusterError:
    """Return the CR2 standard error of a difference between two subsets of the rows.

    A cluster may have rows in both subsets. Each argument has the influence of the clusters and
    their contributions to the denominator, as for :func:`cr2`. The error is NaN if a subset has
    fewer than two clusters.
    """
    (f, first_denominator), (g, second_denominator) = (
        map(np.atleast_2d, sums) for sums in (first, second)
    )
    return cr2(np.vstack([f, -g]), np.vstack([first_denominator, second_denominator]))


def merge_class_sums(
    influence: FloatArray, weights: FloatArray, *, pairs: bool
) -> tuple[FloatArray, FloatArray]:
    """Return the influence of clusters with rows of two classes, and their contributions.

    Both have shape (2, K), for the rows of each class. For statistics of ``pairs`` each class is a
    component of its own, as :meth:`ClusterIndex.cluster_sums_by_class` explains; for others the
    influence may also be that of all rows, (1, K).
    """
    if pairs:
        return influence, weights
    total = weights.sum(axis=1, keepdims=True)
    proportions = np.divide(weights, total, out=np.zeros(weights.shape), where=total > 0)
    return influence.sum(axis=0), proportions.sum(axis=0)


class BootstrapSettings(Protocol):
    """Seed and number of replicates of the cluster bootstrap."""

    @property
    def seed(self) -> int:
        """Seed of the random numbers."""

    @property
    def n_resamples(self) -> int:
        """Number of replicates."""


@dataclass(frozen=True, eq=False)
class ClusterIndex:
    """Cluster and weight of each row.

    Attributes
    ----------
    codes : ndarray of int, shape (n,)
        Cluster of each row, from 0 to ``n_codes`` − 1, in the order of the clusters' names. A
        cluster is resampled by its code, which is therefore unchanged in a subset of the rows: a
        cluster with rows in two subsets is drawn equally often in both.
    n_codes : int
        Number of codes.
    weight : ndarray of shape (n,) or None
        Weights of the rows.
    """

    codes: npt.NDArray[np.uint32]
    n_codes: int
    weight: FloatArray | None = None

    @classmethod
    def from_names(cls, names: npt.NDArray[Any], weight: FloatArray | None = None) -> ClusterIndex:
        """Create the index from the name of each row's cluster."""
        if names.dtype.kind in "iu" and len(names):
            low, high = int(names.min()), int(names.max())
            if high - low <= 4 * len(names):  # codes follow without sorting
                # Of int8 the range would overflow.
                wide = names.astype(np.int64) if names.dtype.kind == "i" else names
                name_index = (wide - wide.dtype.type(low)).astype(np.int64, copy=False)
                occurs = np.zeros(high - low + 1, bool)
                occurs[name_index] = True
                code_by_name = occurs.cumsum(dtype=np.uint32)
                return cls(code_by_name[name_index] - np.uint32(1), int(code_by_name[-1]), weight)
        distinct, code = np.unique(names, return_inverse=True)
        return cls(code.astype(np.uint32).reshape(-1), len(distinct), weight)

    def take_rows(self, rows: npt.NDArray[np.bool_ | np.intp]) -> ClusterIndex:
        """Return the index of a subset of the rows."""
        weight = None if self.weight is None else self.weight[rows]
        return replace(self, codes=self.codes[rows], weight=weight)

    def weighted_sums(self, values: FloatArray) -> FloatArray:
        """Return weighted sums by cluster (size, k) of values per row (n, k)."""
        if self.weight is None:
            weighted = values
        else:  # rows of weight 0 do not count, even if their value is infinite
            used = self.weight > 0
            weighted = np.zeros(values.shape)
            weighted[used] = values[used] * self.weight[used, None]
        summed = [np.bincount(self.codes, column, self.n_codes) for column in weighted.T]
        return np.column_stack(summed).astype(np.float64)

    def cluster_means(self, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the weighted mean of a value per row in each non-empty cluster, and its weight."""
        sums = self.weighted_sums(np.column_stack([values, np.ones(len(values))]))
        sums = sums[sums[:, 1] > 0]
        return sums[:, 0] / sums[:, 1], sums[:, 1]

    def cell_weights(
        self, cell: npt.NDArray[np.integer[Any]], shape: tuple[int, ...]
    ) -> FloatArray:
        """Return the weight in each cell by cluster, as confusion matrices (size, *shape)."""
        cells = math.prod(shape)
        cell_index = self.codes.astype(np.int64) * cells + cell
        counts = np.bincount(cell_index, self.weight, self.n_codes * cells).astype(np.float64)
        return counts.reshape(self.n_codes, *shape)

    @cached_property
    def n_clusters(self) -> int:
        """Total number of clusters with rows of positive weight."""
        return int(np.count_nonzero(self.nonempty_mask))

    @cached_property
    def nonempty_mask(self) -> npt.NDArray[np.bool_]:
        """Whether each cluster has rows of positive weight here, shape ``(size,)``."""
        code = self.codes if self.weight is None else self.codes[self.weight > 0]
        return np.bincount(code, minlength=self.n_codes) > 0

    @cached_property
    def cluster_weights(self) -> FloatArray:
        """Total weight of the rows of each cluster, shape ``(size,)``."""
        return np.bincount(self.codes, self.weight, self.n_codes).astype(np.float64)

    @cached_property
    def df(self) -> float:
        """Degrees of freedom of a mean over rows: K − 1 for K equal clusters; NaN for one."""
        return cr2(np.zeros(self.n_codes), self.cluster_weights)[1]

    def corrected_sum_of_squares(self, influence: FloatArray) -> float:
        """Return the sum of squares of influence over clusters, with the CR2 correction.

        It is scaled by df/(df + 1), so that the correction is relative to equal clusters of the
        same effective number.
        """
        vector, degrees = cr2_influence(*self.cluster_sums(influence))
        return dot(vector, vector) * degrees / (degrees + 1)

    @property
    def n_effective_clusters(self) -> float:
        """Effective number of clusters of equal size: the degrees of freedom plus 1.

        It is 1 if there is one cluster.
        """
        return 1 + self.df if self.df > 0 else 1.0

    @property
    def bootstrap_name(self) -> str:
        """Name of the cluster bootstrap, as used in names of interval methods."""
        return self.annotate_method("cluster bootstrap [B]")

    def annotate_method(self, method: str) -> str:
        """Return the name of a method with the number of clusters."""
        return f"{method}, {self.count_text}"

    @property
    def count_text(self) -> str:
        """Number of clusters as text, ``25 clusters, effectively 4.6``.

        The effective number of clusters of equal size is included if it is smaller.
        """
        name = f"{self.n_clusters} cluster{'' if self.n_clusters == 1 else 's'}"
        if self.n_effective_clusters > self.n_clusters - 0.5:
            return name
        digits = 0 if self.n_effective_clusters >= 10 else 1
        return f"{name}, effectively {self.n_effective_clusters:.{digits}f}"

    def bootstrap_sums(self, sums: FloatArray, settings: BootstrapSettings) -> FloatArray:
        """Return bootstrap replicates (B, …) of the totals of sums by cluster (size, …).

        Each cluster occurs Poisson(1) times, by a random number that depends only on the seed, the
        replicate and the cluster.
        """
        from calipers import _core

        table = sums.reshape(self.n_codes, -1)
        out = np.zeros((settings.n_resamples, table.shape[1]))
        cell_index = np.zeros(self.n_codes, np.uint32)
        for j in np.flatnonzero(table.any(axis=0)):
            column = np.ascontiguousarray(table[:, j])
            replicates = _core.bootstrap_cells(
                cell_index, column, 1, settings.seed, settings.n_resamples
            )
            out[:, j] = np.asarray(replicates)[:, 0]
        return out.reshape(settings.n_resamples, *sums.shape[1:])

    def bootstrap_means(self, values: FloatArray, settings: BootstrapSettings) -> FloatArray:
        """Return bootstrap replicates (B, k) of the weighted means of values (n, k)."""
        with_size = np.column_stack([values, np.ones(len(values))])
        replicates = self.bootstrap_sums(self.weighted_sums(with_size), settings)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(replicates[:, :-1] / replicates[:, -1:])

    def mean_error(self, values: FloatArray) -> ClusterError:
        """Return the standard error of the weighted mean of a value per row.

        The influence of a cluster is Σw(x − mean)/Σw, where the first sum is over its rows.
        """
        weight, code = self.weight, self.codes
        if weight is not None and not weight.all():
            used = weight > 0
            values, weight, code = values[used], weight[used], code[used]
        with np.errstate(invalid="ignore"):  # a value may be infinite
            total = float(len(values)) if weight is None else weight.sum()
            mean = (values.sum() if weight is None else dot(weight, values)) / total
            deviations = values - mean
            if weight is not None:
                deviations *= weight
            influence = np.bincount(code, deviations, self.n_codes) / total
        return cr2(influence, self.cluster_weights)

    def sum_error(
        self, influence: FloatArray, denominator: FloatArray | None = None
    ) -> ClusterError:
        """Return the standard error of a sum over rows, with expectation 0.

        Each row contributes its ``influence`` (n,), such as weight times influence.
        ``denominator`` (n,) is its contribution to the denominator, by default its weight.
        """
        return cr2(*self.cluster_sums(influence, denominator))

    def corrected_influence(self, influence: FloatArray, denominator: FloatArray) -> FloatArray:
        """Return the corrected influence of each cluster from the result of :meth:`cluster_sums`.

        The standard error is its norm.
        """
        return cr2_influence(influence, denominator)[0]

    def cluster_sums(
        self, influence: FloatArray, denominator: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return the influence of each cluster and its contribution to the denominator."""
        nonzero_denominator = denominator if denominator is not None and denominator.any() else None
        return self._sum(
            influence
        ), self.cluster_weights if nonzero_denominator is None else self._sum(nonzero_denominator)

    def cluster_sums_by_class(
        self, influence: FloatArray, positive: npt.NDArray[np.bool_], *, pairs: bool
    ) -> tuple[FloatArray, FloatArray]:
        """Return the result of :meth:`cluster_sums` for rows that are positive or negative.

        For statistics of ``pairs`` of a positive and a negative row, such as the AUC, the influence
        within each class sums to 0, and each class is a component of its own (as in Obuchowski
        1997); if every row is its own cluster, the error is DeLong's. Otherwise each class
        contributes half of the denominator, however few rows it has.
        """
        weights = self.class_weights(positive)
        if not pairs:
            return merge_class_sums(self._sum(influence)[None], weights, pairs=False)
        sums = np.bincount(self._class_codes(positive), influence, 2 * self.n_codes)
        by_class = sums.astype(np.float64).reshape(2, -1)
        return merge_class_sums(by_class, weights, pairs=True)

    def class_weights(self, positive: npt.NDArray[np.bool_]) -> FloatArray:
        """Return the weight of the positive and of the negative rows by cluster, (2, size)."""

        def compute_weights() -> FloatArray:
            cell_index = self._class_codes(positive)
            weights = np.bincount(cell_index, self.weight, 2 * self.n_codes)
            return weights.astype(np.float64).reshape(2, -1)

        # With the column itself, so that its id is of no other one.
        return cached(self, ("class weights", id(positive)), lambda: (positive, compute_weights()))[
            1
        ]

    def _class_codes(self, positive: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
        """Return the cluster of each row, with those of negative rows after all others."""
        return np.asarray(self.codes + np.where(positive, 0, self.n_codes), np.int64)

    def two_class_error(
        self, influence: FloatArray, positive: npt.NDArray[np.bool_], *, pairs: bool
    ) -> ClusterError:
        """Return the standard error of a sum over rows of two classes; NaN if one has no two."""
        if min(self.n_clusters_by_class(positive)) < 2:
            return ClusterError(math.nan, math.nan)
        return cr2(*self.cluster_sums_by_class(influence, positive, pairs=pairs))

    def _sum(self, values: FloatArray) -> FloatArray:
        return np.bincount(self.codes, values, self.n_codes).astype(np.float64)

    def n_clusters_by_class(self, positive: npt.NDArray[np.bool_]) -> tuple[int, int]:
        """Return the number of clusters with positive rows and that with negative rows.

        Rows of weight 0 are not counted.
        """
        first, second = np.count_nonzero(self.class_weights(positive), axis=1)
        return int(first), int(second)

    def student_interval(
        self, value: float, se: float, df: float | None, level: float, method: str
    ) -> Interval:
        """Return Student's t interval of an estimate with this standard error."""
        if df is None or not df > 0:
            return intervals.no_interval("none", "too_few_clusters")
        student_se = intervals.student_se(se, df, level)
        interval = intervals.normal_interval(value, student_se, level)
        return replace(interval, method=self.annotate_method(method), se=se)

    def proportion_error(
        self, value: float, proportions: FloatArray, margin: FloatArray
    ) -> ClusterError:
        """Return the standard error of a proportion of a margin, a ratio of sums over clusters.

        Each cluster has the ``margin`` and its own proportion of it, ``proportions`` (NaN if the
        margin is empty).
        """
        influence = np.where(margin > 0, margin * (np.nan_to_num(proportions) - value), 0.0)
        return cr2(influence / margin.sum(), margin)

    def proportion_size(
        self,
        value: float,
        error: tuple[float, float],
        weights: FloatArray,
        n_rows: float,
        level: float,
    ) -> float:
        """Return the effective size n/deff of a proportion, for Wilson's interval.

        The design effect of Kish is the variance divided by that of independent rows (``n_rows`` of
        them: Kish's number if they are weighted, or infinite if values are between 0 and 1); it is
        at least 1. If nothing varies, each cluster counts as one row, by Kish's number of the
        weights ``weights``. Student's quantile replaces the normal one: n/deff·(z/t)² (Korn and
        Graubard 1998).
        """
        se, degrees = error
        if not degrees > 0:
            return float("nan")
        if se > 0 and n_rows > 1:
            bessel_factor = 1.0 if math.isinf(n_rows) else n_rows / (n_rows - 1)
            size = min(n_rows, value * (1 - value) / se**2 * bessel_factor)
        else:
            size = effective_size_from_weights(weights)
        return float(size / intervals.student_se(1.0, degrees, level) ** 2)

    def effective_trials(
        self, value: float, matrix: ConfusionMatrix, measure: Any, n_rows: float, level: float
    ) -> tuple[float, float]:
        """Return the effective size of a proportion of a margin and its degrees of freedom.

        The size is that of :meth:`proportion_size`; it is NaN if there are fewer than two clusters.
        ``matrix`` has the clusters as its leading axis, ``measure`` is the measure.
        """
        margin = np.asarray(getattr(matrix, measure.definition.proportion_of))
        error = self.proportion_error(value, measure.apply(matrix), margin)
        return self.proportion_size(value, error, margin, n_rows, level), error.df

    def separated_interval(
        self, area: float, positive: npt.NDArray[np.bool_], level: float
    ) -> Interval:
        """Return the exact bound of an AUC of 0 or 1, with pairs of different clusters as units."""
        if self.n_clusters < 2:
            return intervals.no_interval("none", "too_few_clusters")
        class_sizes = self.n_clusters_by_class(positive)
        interval = intervals.separated_auc_interval(
            area, min(*class_sizes, self.n_clusters // 2), level
        )
        return replace(interval, method=self.annotate_method(interval.method))

    def few_clusters_notes(self, min_df: int, unit: str = "rows") -> list[str]:
        """Return a warning if there are fewer than ``min_df`` degrees of freedom, else []."""
        if self.df >= min_df:
            return []
        equal = "" if self.n_effective_clusters > self.n_clusters - 0.5 else " of equal size"
        text = (
            f"The {unit} come in {self.count_text}{equal}: with fewer than {min_df + 1}, the "
            "variation between clusters is poorly estimated."
        )
        return [text]


def _root(variance: float) -> float:
    return math.sqrt(max(variance, 0.0)) if math.isfinite(variance) else float("nan")
