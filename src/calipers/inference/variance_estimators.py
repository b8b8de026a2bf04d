"""How much the units behind a number move it: vectors, and spaces whose norm is the standard error.

Influence is weight times the derivative of the value by the weight of a unit. It is linear: that of
a difference is the difference of influences, that of a function follows by its derivatives. What
makes a standard error of it, n/(n − 1), classes and clusters, belongs to the space.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from calipers.statistics import Moments, effective_size_of
from calipers.statistics.base import dot

if TYPE_CHECKING:
    import numpy.typing as npt

    from calipers.inference.clusters import ClusterIndex
    from calipers.statistics import FloatArray

NAN = float("nan")


@dataclass(frozen=True)
class StandardError:
    """A standard error, what made it, and the degrees of freedom of its t; None for the normal."""

    se: float
    name: str
    degrees: float | None = None


def _cluster_error(se: float, degrees: float) -> StandardError:
    return StandardError(se, "CR2", degrees)


@dataclass(frozen=True, eq=False)
class VarianceEstimator:
    """What influences of rows live in: its norm makes a standard error of a column (n,) of them.

    Here a column is weight times how much each row moves the value, and the norm √ΣI²; of clusters
    the CR2 error of the sums of each (:func:`calipers.inference.clusters.cr2`). ``held`` is what
    each row adds to the denominator of the value, its weight unless given: such as 1 where it is in
    TP + FP + FN, and 0 elsewhere.
    """

    weight: FloatArray | None = None
    clusters: ClusterIndex | None = None
    held: FloatArray | None = field(kw_only=True, default=None)

    def standard_error(self, column: FloatArray) -> float:
        """The norm."""
        if self.clusters is not None:
            return self.cluster_error(column).se
        return math.sqrt(dot(column, column))

    def cluster_error(self, column: FloatArray) -> StandardError:
        """The error of rows in clusters, with its degrees of freedom."""
        assert self.clusters is not None
        return _cluster_error(*self.clusters.sum_error(column, self.held))

    @property
    def df(self) -> float | None:
        """The degrees of freedom of a t that the error of independent rows makes; None where it is
        normal."""
        return None

    def influence_values(self, column: FloatArray) -> FloatArray:
        """How much each row moves the value, times its weight."""
        return column

    def corrected_influence(self, column: FloatArray) -> FloatArray:
        """The same with all corrections in it, so that the plain norm of it is this one."""
        return self.influence_values(column)

    def vector(self, column: FloatArray) -> FloatArray:
        """A vector whose inner products with others are covariances: an entry for each row, or each
        cluster."""
        if self.clusters is None:
            return self.corrected_influence(column)
        return self.clusters.vector(*self.cluster_sums(column))

    def cluster_sums(self, column: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Of each cluster what it moves, and what it holds of the denominator."""
        assert self.clusters is not None
        return self.clusters.cluster_sums(self.influence_values(column), self.held)

    def is_compatible(self, other: VarianceEstimator) -> bool:
        """Whether columns of both can be added up."""
        return type(self) is type(other)

    def combine(self, other: VarianceEstimator) -> VarianceEstimator:
        """What sums of columns of both live in: what either holds counts alike."""
        if self.clusters is None or (self.held is None and other.held is None):
            return self
        return replace(self, held=self._shares() + other._shares())

    def _shares(self) -> FloatArray:
        assert self.clusters is not None
        own = self.held if self.held is not None and self.held.any() else self.weight
        own = np.ones(len(self.clusters.code)) if own is None else own
        return np.asarray(own / own.sum())


@dataclass(frozen=True, eq=False)
class TwoClassVariance(VarianceEstimator):
    """Rows of two classes: √Σ n/(n − 1)·ΣI² over the classes, n being the effective number of rows
    of each; NaN of a class of one row. (For the AUC that is DeLong's.) With ``pairs`` what the rows
    of either class move adds up to 0, and clusters are corrected for each class."""

    positive: npt.NDArray[np.bool_] = field(kw_only=True)
    is_pairwise: bool = field(kw_only=True, default=False)
    #: The effective numbers of positive and negative rows of all, where these are a batch of them.
    sizes: tuple[float, float] | None = field(kw_only=True, default=None)

    def standard_error(self, column: FloatArray) -> float:
        """The norm."""
        if self.clusters is None:
            total = 0.0
            for of_class in (self.positive, ~self.positive):
                total += float(np.square(column[of_class]).sum()) * self._correction(of_class)
            return math.sqrt(total)
        return self.cluster_error(column).se

    def cluster_error(self, column: FloatArray) -> StandardError:
        """The error of rows in clusters."""
        assert self.clusters is not None
        return _cluster_error(
            *self.clusters.error_by_class(column, self.positive, pairs=self.is_pairwise)
        )

    def cluster_sums(self, column: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Of each cluster, and of each class where it is corrected for each."""
        assert self.clusters is not None
        return self.clusters.parts_by_class(column, self.positive, pairs=self.is_pairwise)

    def _correction(self, of_class: npt.NDArray[np.bool_]) -> float:
        own = of_class.astype(np.float64) if self.weight is None else self.weight[of_class]
        return _bessel_factor(effective_size_of(own))

    def corrected_influence(self, column: FloatArray) -> FloatArray:
        """Times √(n/(n − 1)) of the class of each row, where rows are independent."""
        if self.clusters is not None:
            return column
        if self.sizes is None:
            squares = [self._correction(~self.positive), self._correction(self.positive)]
        else:
            squares = [_bessel_factor(n) for n in self.sizes[::-1]]
        factor = np.sqrt(squares)
        return np.asarray(column * factor[self.positive.astype(np.intp)])

    def is_compatible(self, other: VarianceEstimator) -> bool:
        """Whether the classes are the same."""
        return isinstance(other, TwoClassVariance) and (
            self.positive is other.positive or np.array_equal(self.positive, other.positive)
        )


@dataclass(frozen=True, eq=False)
class OutOfBagSelection(VarianceEstimator):
    """How much the value changes when a row is left out, of ``size`` (effective) rows: the
    jackknife's √((n − 1)/n·ΣI²), and Student's t. Of rows in clusters, as of influence."""

    size: float = field(kw_only=True)

    @property
    def df(self) -> float | None:
        """N − 1."""
        return max(self.size - 1, 0.0)

    def standard_error(self, column: FloatArray) -> float:
        """The norm."""
        if self.clusters is not None:
            return super().standard_error(column)
        return super().standard_error(column) * self._factor if self.size > 1 else NAN

    def corrected_influence(self, column: FloatArray) -> FloatArray:
        """The same times √((n − 1)/n)."""
        return column if self.clusters is not None else np.asarray(column * self._factor)

    @property
    def _factor(self) -> float:
        return math.sqrt(max(self.size - 1, 0.0) / self.size) if self.size > 0 else NAN


@dataclass(frozen=True, eq=False)
class MeanVariance(VarianceEstimator):
    """Values of rows, whose (weighted) mean the number is: the norm is the standard error of the
    mean, with n/(n − 1) for the effective number of rows."""

    #: The moments of all values, where these are a batch of them.
    total_moments: Moments | None = field(kw_only=True, default=None)

    def standard_error(self, column: FloatArray) -> float:
        """The norm."""
        if self.clusters is not None:
            return self.cluster_error(column).se
        return Moments.from_rows(column, self.weight).standard_error

    def cluster_error(self, column: FloatArray) -> StandardError:
        """The error of rows in clusters."""
        assert self.clusters is not None
        return _cluster_error(*self.clusters.mean_error(column))

    def influence_values(self, column: FloatArray) -> FloatArray:
        """w(x − mean)/Σw."""
        moments = self._moments(column)
        with np.errstate(divide="ignore", invalid="ignore"):  # infinite values, no weight
            apart = (column - moments.mean) / moments.weight
            if self.weight is None:
                return np.asarray(apart)
            return np.where(self.weight > 0, apart * self.weight, 0.0)

    def corrected_influence(self, column: FloatArray) -> FloatArray:
        """The same times √(n/(n − 1)); of clusters, the plain norm has their correction itself."""
        moved = self.influence_values(column)
        if self.clusters is not None:
            return moved
        return np.asarray(moved * np.sqrt(_bessel_factor(self._moments(column).effective_size)))

    def _moments(self, column: FloatArray) -> Moments:
        return (
            Moments.from_rows(column, self.weight)
            if self.total_moments is None
            else self.total_moments
        )


def _bessel_factor(n: float) -> float:
    """n/(n − 1); NaN of one."""
    return n / (n - 1) if n > 1 else NAN


@dataclass(frozen=True, eq=False)
class Influence:
    """A vector: how much the units move a number. ``name`` is what its error is called."""

    column: FloatArray
    space: VarianceEstimator
    name: str = "delta"

    def __add__(self, other: Influence) -> Influence:
        if not self.space.is_compatible(other.space):
            return self.corrected + other.corrected
        name = self.name if self.name == other.name else "delta"
        space = self.space.combine(other.space)
        return replace(self, column=self.column + other.column, space=space, name=name)

    def __rmul__(self, factor: float) -> Influence:
        return replace(self, column=factor * self.column)

    def __sub__(self, other: Influence) -> Influence:
        if self.space.is_compatible(other.space):
            with np.errstate(invalid="ignore"):  # two infinite losses have no difference
                column = self.column - other.column
            return replace(self, column=column, space=self.space.combine(other.space))
        return self.corrected - other.corrected

    @property
    def corrected(self) -> Influence:
        """The same with its corrections multiplied in, to be added up with any of these rows."""
        s = self.space
        space = VarianceEstimator(s.weight, s.clusters, held=s.held)
        return replace(self, column=s.corrected_influence(self.column), space=space)

    @property
    def influence_values(self) -> FloatArray:
        """How much each row moves the value, times its weight."""
        return self.space.influence_values(self.column)

    def unit_values(self, total: float) -> FloatArray:
        """By how much a unit of weight 1 moves the number, times the ``total`` weight of all, but
        for what is the same for all of them; of units that weigh anything."""
        weight = self.space.weight
        if isinstance(self.space, MeanVariance):  # to the last digit what the values are
            return self.column if weight is None else self.column[weight > 0]
        if weight is None:
            return np.asarray(self.influence_values * total)
        there = weight > 0
        return np.asarray(self.influence_values[there] / weight[there] * total)

    @property
    def error(self) -> StandardError:
        """The standard error: normal, or Student's t where the space has degrees of freedom."""
        if self.space.clusters is not None:
            return replace(self.space.cluster_error(self.column), name=self.name)
        return StandardError(self.space.standard_error(self.column), self.name, self.space.df)
