"""Rows that come in clusters: several from one user, patient or site, and so not independent.

Standard errors come from the sums of influence of each cluster, with the small-sample correction
and the degrees of freedom of Bell and McCaffrey (2002), known as CR2: of clusters of equal size
these are √(K/(K − 1)·Σf²) and K − 1, of one large cluster among small ones far fewer degrees, since
the error then rests on little more than that one. (Imbens and Kolesár 2016; Pustejovsky and Tipton
2018.) By name, the bootstrap draws whole clusters. A row of weight w counts w times.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from calipers.caching import cached_property
from calipers.inference import intervals
from calipers.inference.intervals import Interval
from calipers.statistics import effective_size_of
from calipers.statistics.base import dot

if TYPE_CHECKING:
    from calipers.statistics import ConfusionMatrix, FloatArray

#: A cluster that holds all but this share of what a number is estimated from leaves nothing to
#: estimate its error from.
_NOTHING_ELSE = 1e-12


class ClusterError(NamedTuple):
    """The standard error of an estimate, and the degrees of freedom of its t."""

    se: float
    degrees: float


def cr2(moved: FloatArray, held: FloatArray) -> ClusterError:
    """The standard error of a sum over clusters, and the degrees of freedom of its t.

    ``moved`` (K,) is by how much each cluster moves the estimate, f: the sum over its rows of
    weight times influence. ``held`` (K,) is what it holds of the denominator, of which h is its
    share. The variance is Σf²/(1 − h). As if rows were independent, Var f = h(1 − h) and
    Cov(f, f′) = −hh′, from which the degrees of freedom are those of Satterthwaite, 1/T with d =
    1/(1 − h) and

        T = (Σdh²)² + Σd²h²(1 − 2h)

    Of an estimate that is a sum of several, as the difference of two parts of the rows is, and an
    AUC of the means of two classes, both have shape (c, K): f is the sum over the c of them, each
    with shares h_c of its own, which count by the variance that each has alone, W_c. Then d =
    ΣW_c·h_c / ΣW_c·h_c(1 − h_c). So the AUC of rows that are clusters of one has DeLong's error,
    and two means of such have Welch's.

    NaN of fewer than two clusters, in any of the parts.

    >>> moved = np.array([0.2, -0.1, 0.1, -0.2])
    >>> se, degrees = cr2(moved, np.ones(4))
    >>> round(se, 4), round(degrees, 4)  # √(4/3 · 0.1)
    (0.3651, 3.0)
    >>> round(cr2(moved, np.array([20.0, 1.0, 1.0, 1.0])).degrees, 4)
    1.204
    """
    vector, degrees = cr2_influence(moved, held)
    return ClusterError(_root(dot(vector, vector)), degrees)


def cr2_influence(moved: FloatArray, held: FloatArray) -> tuple[FloatArray, float]:
    """By how much each cluster moves an estimate, with the correction of :func:`cr2` in it, so that
    the standard error is its norm; and the degrees of freedom."""
    f, n = np.atleast_2d(moved), np.atleast_2d(held)
    total, there = f.sum(axis=0), n.sum(axis=1) > 0
    f, n = f[there], n[there]
    h = n / n.sum(axis=1, keepdims=True)
    if not h.size or h.max() >= 1 - _NOTHING_ELSE:
        return np.full(len(total), math.nan), math.nan
    weight = np.ones(1)
    if len(h) > 1:
        with np.errstate(invalid="ignore", over="ignore"):  # a value may be infinite
            weight = (np.square(f) / (1 - h)).sum(axis=1)
        known = bool(np.isfinite(weight).all() and weight.any())
        weight = weight / weight.sum() if known else np.full(len(h), 1 / len(h))
    left = weight @ (h * (1 - h))
    d = np.divide(weight @ h, left, out=np.ones(len(left)), where=left > 0)
    squares = np.outer(weight, weight) * np.square((h * d) @ h.T)
    own = np.square(d) * (np.square(left) - np.square(weight @ np.square(h)))
    return total * np.sqrt(d), 1 / float(squares.sum() + own.sum())


def two_parts_error(
    first: tuple[FloatArray, FloatArray], second: tuple[FloatArray, FloatArray]
) -> ClusterError:
    """The standard error of a difference of two parts of the rows, whose clusters may have rows in
    both: that of :func:`cr2` of the two, of each of which are given what clusters move and hold;
    NaN where a part has fewer than two clusters."""
    (f, of_first), (g, of_second) = (map(np.atleast_2d, of) for of in (first, second))
    return cr2(np.vstack([f, -g]), np.vstack([of_first, of_second]))


class ClusterBootstrap(Protocol):
    """What the bootstrap has to know."""

    @property
    def seed(self) -> int:
        """Where the random numbers begin."""

    @property
    def n_resamples(self) -> int:
        """How many replicates."""


@dataclass(frozen=True, eq=False)
class ClusterIndex:
    """The cluster of each row, and the row's weight.

    ``code`` holds a number from 0 to ``size`` − 1, by the order of the clusters' names; it is what
    a cluster is drawn by, and so it stays as it is in a part of the rows: the same cluster is drawn
    equally often in both parts that it belongs to.
    """

    code: npt.NDArray[np.uint32]
    size: int
    weight: FloatArray | None = None

    @classmethod
    def from_names(cls, names: npt.NDArray[Any], weight: FloatArray | None = None) -> ClusterIndex:
        """The clusters of rows that name theirs."""
        if names.dtype.kind in "iu" and len(names):
            low, high = int(names.min()), int(names.max())
            if high - low <= 4 * len(names):  # nothing need be sorted
                # Of int8 the range would overflow.
                wide = names.astype(np.int64) if names.dtype.kind == "i" else names
                place = (wide - wide.dtype.type(low)).astype(np.int64, copy=False)
                occurs = np.zeros(high - low + 1, bool)
                occurs[place] = True
                number = occurs.cumsum(dtype=np.uint32)
                return cls(number[place] - np.uint32(1), int(number[-1]), weight)
        found, code = np.unique(names, return_inverse=True)
        return cls(code.astype(np.uint32).reshape(-1), len(found), weight)

    def take_rows(self, rows: npt.NDArray[np.bool_ | np.intp]) -> ClusterIndex:
        """Of some of the rows."""
        weight = None if self.weight is None else self.weight[rows]
        return replace(self, code=self.code[rows], weight=weight)

    def sums(self, values: FloatArray) -> FloatArray:
        """Weighted sums of a value per row (n, k), by cluster (size, k)."""
        if self.weight is None:
            weighted = values
        else:  # a row of weight 0 is no row, even where its value is infinite
            used = self.weight > 0
            weighted = np.zeros(values.shape)
            weighted[used] = values[used] * self.weight[used, None]
        summed = [np.bincount(self.code, column, self.size) for column in weighted.T]
        return np.column_stack(summed).astype(np.float64)

    def cluster_means(self, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The weighted mean of a value per row in each cluster that has rows, and what these
        weigh."""
        sums = self.sums(np.column_stack([values, np.ones(len(values))]))
        sums = sums[sums[:, 1] > 0]
        return sums[:, 0] / sums[:, 1], sums[:, 1]

    def matrices(self, cell: npt.NDArray[np.integer[Any]], shape: tuple[int, ...]) -> FloatArray:
        """The weight in each cell of each cluster, as confusion matrices (size, *shape)."""
        cells = math.prod(shape)
        place = self.code.astype(np.int64) * cells + cell
        counts = np.bincount(place, self.weight, self.size * cells).astype(np.float64)
        return counts.reshape(self.size, *shape)

    @cached_property
    def n_clusters(self) -> int:
        """How many clusters there are, rows of weight 0 aside."""
        return int(np.count_nonzero(self.present))

    @cached_property
    def present(self) -> npt.NDArray[np.bool_]:
        """Whether each cluster has rows here, those of weight 0 aside, shape ``(size,)``."""
        code = self.code if self.weight is None else self.code[self.weight > 0]
        return np.bincount(code, minlength=self.size) > 0

    @cached_property
    def cluster_weights(self) -> FloatArray:
        """What the rows of each cluster weigh, shape ``(size,)``."""
        return np.bincount(self.code, self.weight, self.size).astype(np.float64)

    @cached_property
    def degrees(self) -> float:
        """The degrees of freedom of a mean over rows, K − 1 of K clusters of equal size; NaN of
        one."""
        return cr2(np.zeros(self.size), self.cluster_weights)[1]

    def squares(self, moved: FloatArray) -> float:
        """Σf² over clusters of what their rows move, each by how much more it counts for than one
        of as many equal clusters as they are worth."""
        vector, degrees = cr2_influence(*self.cluster_sums(moved))
        return dot(vector, vector) * degrees / (degrees + 1)

    @property
    def effective_number(self) -> float:
        """How many clusters of equal size they are worth, one more than the degrees of freedom; 1
        of one."""
        return 1 + self.degrees if self.degrees > 0 else 1.0

    @property
    def bootstrap(self) -> str:
        """The name of the bootstrap, as intervals carry it."""
        return self.annotate_method("cluster bootstrap [B]")

    def annotate_method(self, method: str) -> str:
        """A method with the number of clusters that it had."""
        return f"{method}, {self.count_text}"

    @property
    def count_text(self) -> str:
        """``25 clusters, as many as 4.6``: of how many of equal size they are worth, where that is
        less than there are."""
        name = f"{self.n_clusters} cluster{'' if self.n_clusters == 1 else 's'}"
        if self.effective_number > self.n_clusters - 0.5:
            return name
        digits = 0 if self.effective_number >= 10 else 1
        return f"{name}, as many as {self.effective_number:.{digits}f}"

    def redrawn(self, sums: FloatArray, draws: ClusterBootstrap) -> FloatArray:
        """Bootstrap replicates (B, …) of the totals of sums by cluster (size, …): each cluster
        comes Poisson(1) times, by a number that depends on the seed, the replicate and it alone."""
        from calipers import _core

        table = sums.reshape(self.size, -1)
        out = np.zeros((draws.n_resamples, table.shape[1]))
        whole = np.zeros(self.size, np.uint32)
        for j in np.flatnonzero(table.any(axis=0)):
            column = np.ascontiguousarray(table[:, j])
            drawn = _core.bootstrap_cells(whole, column, 1, draws.seed, draws.n_resamples)
            out[:, j] = np.asarray(drawn)[:, 0]
        return out.reshape(draws.n_resamples, *sums.shape[1:])

    def means(self, values: FloatArray, draws: ClusterBootstrap) -> FloatArray:
        """Bootstrap replicates (B, k) of the weighted means of values (n, k)."""
        with_size = np.column_stack([values, np.ones(len(values))])
        drawn = self.redrawn(self.sums(with_size), draws)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(drawn[:, :-1] / drawn[:, -1:])

    def mean_error(self, values: FloatArray) -> ClusterError:
        """Standard error of the weighted mean of a value per row, of which a cluster adds
        Σw(x − mean)/Σw."""
        weight, code = self.weight, self.code
        if weight is not None and not weight.all():
            used = weight > 0
            values, weight, code = values[used], weight[used], code[used]
        with np.errstate(invalid="ignore"):  # a value may be infinite
            total = float(len(values)) if weight is None else weight.sum()
            mean = (values.sum() if weight is None else dot(weight, values)) / total
            apart = values - mean
            if weight is not None:
                apart *= weight
            part = np.bincount(code, apart, self.size) / total
        return cr2(part, self.cluster_weights)

    def sum_error(self, moved: FloatArray, held: FloatArray | None = None) -> ClusterError:
        """Standard error of a sum over rows of which each adds its ``moved`` (n,), expected to be 0
        together, such as weight times influence. ``held`` (n,) is what each row adds to the
        denominator, its weight unless given."""
        return cr2(*self.cluster_sums(moved, held))

    def vector(self, moved: FloatArray, held: FloatArray) -> FloatArray:
        """Of :meth:`parts` by how much each cluster moves the sum, with the correction in it, so
        that the standard error is its norm."""
        return cr2_influence(moved, held)[0]

    def cluster_sums(
        self, moved: FloatArray, held: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Of each cluster what it moves, and what it holds of the denominator."""
        own = held if held is not None and held.any() else None
        return self._sum(moved), self.cluster_weights if own is None else self._sum(own)

    def parts_by_class(
        self, moved: FloatArray, positive: npt.NDArray[np.bool_], *, pairs: bool
    ) -> tuple[FloatArray, FloatArray]:
        """The same where each row is positive or negative. Of ``pairs`` of them, as in an AUC, what
        the rows of a class move adds up to 0, and each class is a part of its own (as in Obuchowski
        1997); with every row its own cluster the error is DeLong's. Else either class counts as
        half of the denominator, however few rows it has.
        """
        classes = np.stack([positive, ~positive])
        weight = np.ones(len(self.code)) if self.weight is None else self.weight
        held = np.stack([self._sum(weight * own) for own in classes])
        if pairs:
            return np.stack([self._sum(moved * own) for own in classes]), held
        total = held.sum(axis=1, keepdims=True)
        shares = np.divide(held, total, out=np.zeros(held.shape), where=total > 0)
        return self._sum(moved), shares.sum(axis=0)

    def error_by_class(
        self, moved: FloatArray, positive: npt.NDArray[np.bool_], *, pairs: bool
    ) -> ClusterError:
        """Standard error of a sum over rows of two classes; NaN where one has no rows."""
        if min(self.numbers_by_class(positive)) < 1:
            return ClusterError(math.nan, math.nan)
        return cr2(*self.parts_by_class(moved, positive, pairs=pairs))

    def _sum(self, values: FloatArray) -> FloatArray:
        return np.bincount(self.code, values, self.size).astype(np.float64)

    def numbers_by_class(self, positive: npt.NDArray[np.bool_]) -> tuple[int, int]:
        """How many clusters have positive rows, and negative ones, those of weight 0 aside."""
        live = slice(None) if self.weight is None else self.weight > 0
        code, positive = self.code[live], positive[live]
        first, second = (np.count_nonzero(np.bincount(code[of])) for of in (positive, ~positive))
        return int(first), int(second)

    def normal(
        self, value: float, se: float, degrees: float | None, level: float, method: str
    ) -> Interval:
        """Student's interval of an estimate with this standard error."""
        if degrees is None or not degrees > 0:
            return intervals.no_interval("none", "too_few_clusters")
        wide = intervals.to_student(se, degrees, level)
        made = intervals.normal_mean(value, wide, level)
        return replace(made, method=self.annotate_method(method), se=se)

    def share_error(self, value: float, share: FloatArray, margin: FloatArray) -> ClusterError:
        """Standard error of a share of a margin: a ratio of the sums of clusters, which hold
        ``margin`` each and of it this ``share`` (NaN where it holds nothing)."""
        part = np.where(margin > 0, margin * (np.nan_to_num(share) - value), 0.0)
        return cr2(part / margin.sum(), margin)

    def share_size(
        self, value: float, error: tuple[float, float], held: FloatArray, rows: float, level: float
    ) -> float:
        """The effective size n/deff of a share, for Wilson's interval (Korn and Graubard 1998).

        The design effect of Kish is the variance over that of as many independent rows (``rows``,
        Kish's size where they have weights, or infinite where values lie between 0 and 1); it is
        at least 1. Where nothing varies each cluster
        counts as one row, by Kish's number of what they have ``held``. Student's quantile takes the
        place of the normal one: n/deff·(z/t)².
        """
        se, degrees = error
        if not degrees > 0:
            return float("nan")
        if se > 0 and rows > 1:
            beside = 1.0 if math.isinf(rows) else rows / (rows - 1)
            size = min(rows, value * (1 - value) / se**2 * beside)
        else:
            size = effective_size_of(held)
        return float(size / intervals.to_student(1.0, degrees, level) ** 2)

    def trials(
        self, value: float, matrix: ConfusionMatrix, of: Any, rows: float, level: float
    ) -> tuple[float, float]:
        """The size by :meth:`share_size` of a share of a margin, and its degrees of freedom; NaN of
        fewer than two clusters. ``matrix`` has the clusters as its leading axis, ``of`` is the
        measure."""
        margin = np.asarray(getattr(matrix, of.definition.proportion_of))
        error = self.share_error(value, of.apply(matrix), margin)
        return self.share_size(value, error, margin, rows, level), error.degrees

    def separated_interval(
        self, area: float, positive: npt.NDArray[np.bool_], level: float
    ) -> Interval:
        """Of an AUC of 0 or 1 the exact bound of separation, in which pairs of different clusters
        are what is independent."""
        if self.n_clusters < 2:
            return intervals.no_interval("none", "too_few_clusters")
        of_class = self.numbers_by_class(positive)
        made = intervals.separated_auc(area, min(*of_class, self.n_clusters // 2), level)
        return replace(made, method=self.annotate_method(made.method))

    def notes(self, few: int, unit: str = "rows") -> list[str]:
        """What a reader has to know before the numbers, of fewer than so many degrees of
        freedom."""
        if self.degrees >= few:
            return []
        equal = "" if self.effective_number > self.n_clusters - 0.5 else " of equal size"
        text = (
            f"The {unit} come in {self.count_text}{equal}: fewer than {few + 1} say little of "
            "how much clusters differ."
        )
        return [text]


def _root(variance: float) -> float:
    return math.sqrt(max(variance, 0.0)) if math.isfinite(variance) else float("nan")
