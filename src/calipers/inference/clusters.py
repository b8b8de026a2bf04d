"""Rows that come in clusters: several from one user, patient or site, and so not independent.

The bootstrap draws whole clusters. Where no bootstrap is wanted, errors come from the sums of each
cluster: a share by its ratio estimator, the AUC after Obuchowski (1997), a mean of losses by the
same sums. In ``f`` and ``g`` below a row of weight w counts w times.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from calipers.inference import intervals
from calipers.inference.intervals import Interval
from calipers.once import cached_property
from calipers.statistics import kish_of
from calipers.statistics.base import dot

if TYPE_CHECKING:
    from calipers.statistics import ConfusionMatrix, FloatArray

#: Below this many clusters no method is to be relied on.
FEW_CLUSTERS = 10


def two_parts_error(
    first: Clusters, of_first: FloatArray, second: Clusters, of_second: FloatArray
) -> tuple[float, float]:
    """The standard error of a difference of two parts of the rows, whose clusters may have rows in
    both, and its degrees of freedom.

    ``of_first`` and ``of_second`` hold what each row of the part adds to the estimate as it varies,
    weight times influence. With f and g their sums by cluster, the variance is A + B − 2·C/(C −
    1)·Σfg, where A = C₁/(C₁ − 1)·Σf² and B likewise; C₁, C₂ and C clusters are in the first part,
    in the second and in both. Degrees of freedom are Satterthwaite's,
    1/(s²/(C₁ − 1) + (1 − s)²/(C₂ − 1)) with s = A/(A + B). NaN where a part has fewer than two
    clusters.
    """
    f, g = (
        np.bincount(c.code, moved, c.size).astype(np.float64)
        for c, moved in ((first, of_first), (second, of_second))
    )
    a, b = _spread(f, f, first.number), _spread(g, g, second.number)
    if not a + b > 0:
        return (0.0 if a + b == 0 else math.nan), math.nan
    shared = int(np.count_nonzero(first.present & second.present))
    both = _spread(f, g, shared) if shared > 1 else dot(f, g)
    share = a / (a + b)
    degrees = 1 / (share**2 / (first.number - 1) + (1 - share) ** 2 / (second.number - 1))
    return _root(a + b - 2 * both), degrees


class Draws(Protocol):
    """What the bootstrap has to know."""

    @property
    def seed(self) -> int:
        """Where the random numbers begin."""

    @property
    def resamples(self) -> int:
        """How many replicates."""


@dataclass(frozen=True, eq=False)
class Clusters:
    """The cluster of each row, and the row's weight.

    ``code`` holds a number from 0 to ``size`` − 1, by the order of the clusters' names; it is what
    a cluster is drawn by, and so it stays as it is in a part of the rows: the same cluster is drawn
    equally often in both parts that it belongs to.
    """

    code: npt.NDArray[np.uint32]
    size: int
    weight: FloatArray | None = None

    @classmethod
    def from_names(cls, names: npt.NDArray[Any], weight: FloatArray | None = None) -> Clusters:
        """The clusters of rows that name theirs."""
        found, code = np.unique(names, return_inverse=True)
        return cls(code.astype(np.uint32).reshape(-1), len(found), weight)

    def taken(self, rows: npt.NDArray[np.bool_ | np.intp]) -> Clusters:
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

    def matrices(self, cell: npt.NDArray[np.integer[Any]], shape: tuple[int, ...]) -> FloatArray:
        """The weight in each cell of each cluster, as confusion matrices (size, *shape)."""
        cells = math.prod(shape)
        place = self.code.astype(np.int64) * cells + cell
        counts = np.bincount(place, self.weight, self.size * cells).astype(np.float64)
        return counts.reshape(self.size, *shape)

    @cached_property
    def number(self) -> int:
        """How many clusters there are, rows of weight 0 aside."""
        return int(np.count_nonzero(self.present))

    @cached_property
    def present(self) -> npt.NDArray[np.bool_]:
        """Whether each cluster has rows here, those of weight 0 aside, shape ``(size,)``."""
        code = self.code if self.weight is None else self.code[self.weight > 0]
        return np.bincount(code, minlength=self.size) > 0

    @property
    def bootstrap(self) -> str:
        """The name of the bootstrap, as intervals carry it."""
        return self.named("cluster bootstrap [B]")

    def named(self, method: str) -> str:
        """A method with the number of clusters that it had."""
        return f"{method}, {self._counted}"

    @property
    def _counted(self) -> str:
        return f"{self.number} cluster{'' if self.number == 1 else 's'}"

    def redrawn(self, sums: FloatArray, draws: Draws) -> FloatArray:
        """Bootstrap replicates (B, …) of the totals of sums by cluster (size, …): each cluster
        comes Poisson(1) times, by a number that depends on the seed, the replicate and it alone."""
        from calipers import _core

        table = sums.reshape(self.size, -1)
        out = np.zeros((draws.resamples, table.shape[1]))
        whole = np.zeros(self.size, np.uint32)
        for j in np.flatnonzero(table.any(axis=0)):
            column = np.ascontiguousarray(table[:, j])
            drawn = _core.bootstrap_cells(whole, column, 1, draws.seed, draws.resamples)
            out[:, j] = np.asarray(drawn)[:, 0]
        return out.reshape(draws.resamples, *sums.shape[1:])

    def means(self, values: FloatArray, draws: Draws) -> FloatArray:
        """Bootstrap replicates (B, k) of the weighted means of values (n, k)."""
        with_size = np.column_stack([values, np.ones(len(values))])
        drawn = self.redrawn(self.sums(with_size), draws)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(drawn[:, :-1] / drawn[:, -1:])

    def mean_error(self, values: FloatArray) -> float:
        """Standard error of the weighted mean of a value per row: √(C/(C − 1)·Σ f²), where f is
        what a cluster adds to mean − its expectation, Σ w(x − mean)/Σw."""
        weight = np.ones(len(values)) if self.weight is None else self.weight
        used = weight > 0
        values, weight, code = values[used], weight[used], self.code[used]
        total = weight.sum()
        mean = dot(weight, values) / total
        with np.errstate(invalid="ignore"):  # a value may be infinite
            part = np.bincount(code, weight * (values - mean), self.size) / total
        return _root(_spread(part, part, self.number))

    def sum_error(self, moved: FloatArray) -> float:
        """Standard error of a sum over rows of which each adds its ``moved`` (n,), expected to be 0
        together, such as weight times influence: √(C/(C − 1)·Σf²), f being the sums of clusters."""
        part = np.bincount(self.code, moved, self.size).astype(np.float64)
        return _root(_spread(part, part, self.number))

    def error_by_class(
        self, moved: FloatArray, positive: npt.NDArray[np.bool_], *, pairs: bool
    ) -> float:
        """The same where each row is positive or negative; of ``pairs`` of them, as in an AUC, by
        Obuchowski (1997). With f and g the sums over a cluster of its positive and its negative
        rows, the variance is I₁/(I₁ − 1)·Σf² + I₀/(I₀ − 1)·Σg² + 2·I/(I − 1)·Σfg; I₁ and I₀
        clusters have positive and negative rows. Every row its own cluster is DeLong's.
        """
        if not pairs:
            return self.sum_error(moved)
        f, g = (
            np.bincount(self.code, moved * of_class, self.size).astype(np.float64)
            for of_class in (positive, ~positive)
        )
        i, j = self.numbers_by_class(positive)
        return _root(_spread(f, f, i) + _spread(g, g, j) + 2 * _spread(f, g, self.number))

    def numbers_by_class(self, positive: npt.NDArray[np.bool_]) -> tuple[int, int]:
        """How many clusters have positive rows, and negative ones, those of weight 0 aside."""
        live = slice(None) if self.weight is None else self.weight > 0
        code, positive = self.code[live], positive[live]
        return len(np.unique(code[positive])), len(np.unique(code[~positive]))

    def widened(self, se: float, level: float) -> float:
        """A standard error as Student's with C − 1 degrees of freedom; NaN of one cluster."""
        if self.number < 2:
            return float("nan")
        return intervals.as_student(se, self.number - 1, level)

    def normal(self, value: float, se: float, level: float, method: str) -> Interval:
        """Student's interval of an estimate with this standard error."""
        if self.number < 2:
            return intervals.missing("none", "too_few_clusters")
        made = intervals.normal_mean(value, self.widened(se, level), level)
        return replace(made, method=self.named(method), se=se)

    def share_error(self, value: float, share: FloatArray, margin: FloatArray) -> float:
        """Standard error of a share of a margin: a ratio of the sums of clusters, which hold
        ``margin`` each and of it this ``share`` (NaN where it holds nothing)."""
        part = np.where(margin > 0, margin * (np.nan_to_num(share) - value), 0.0)
        return _root(_spread(part, part, int(np.count_nonzero(margin)))) / float(margin.sum())

    def share_size(
        self, value: float, share: FloatArray, margin: FloatArray, rows: float, level: float
    ) -> float:
        """The effective size n/deff of a share, for Wilson's interval (Korn and Graubard 1998).

        The design effect of Kish is the variance by :meth:`share_error` over that of as many
        independent rows (``rows``, Kish's size where they have weights); it is at least 1. Where
        nothing varies each cluster counts as one row. Student's quantile takes the place of the
        normal one: n/deff·(z/t)².
        """
        se = self.share_error(value, share, margin)
        if se > 0 and rows > 1:
            size = min(rows, value * (1 - value) / se**2 * rows / (rows - 1))
        else:
            size = kish_of(margin)
        return float(size / self.widened(1.0, level) ** 2)

    def trials(
        self, value: float, matrix: ConfusionMatrix, of: Any, rows: float, level: float
    ) -> float:
        """The size by :meth:`share_size` of a share of a margin, NaN of fewer than two clusters;
        ``matrix`` has the clusters as its leading axis, ``of`` is the measure."""
        if self.number < 2:
            return float("nan")
        margin = np.asarray(getattr(matrix, of.definition.share_of))
        return self.share_size(value, of.apply(matrix), margin, rows, level)

    def auc_interval(
        self, area: float, se: float, positive: npt.NDArray[np.bool_], level: float
    ) -> Interval:
        """On the logit scale, from Obuchowski's error; at 0 and 1 the exact bound of separation, in
        which pairs of different clusters are what is independent."""
        if self.number < 2:
            return intervals.missing("none", "too_few_clusters")
        if area in (0.0, 1.0):
            of_class = self.numbers_by_class(positive)
            made = intervals.separated(area, min(*of_class, self.number // 2), level)
            return replace(made, method=self.named(made.method))
        widened = self.widened(se, level)
        if not widened > 0:
            return intervals.missing("none", "too_few_clusters")
        made = intervals.on_logit(area, widened, level, self.named("Obuchowski, logit"))
        return replace(made, se=se)

    def notes(self) -> list[str]:
        """What a reader has to know before the numbers."""
        if self.number >= FEW_CLUSTERS:
            return []
        text = (
            f"The rows come in {self._counted} only: intervals from fewer than {FEW_CLUSTERS} "
            "clusters are too short as a rule."
        )
        return [text]


def _spread(a: FloatArray, b: FloatArray, clusters: int) -> float:
    """C/(C − 1)·Σab over clusters."""
    if clusters < 2:
        return float("nan")
    return dot(a, b) * clusters / (clusters - 1)


def _root(variance: float) -> float:
    return math.sqrt(max(variance, 0.0)) if math.isfinite(variance) else float("nan")
