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

from calipers.statistics import Moments, kish_of
from calipers.statistics.base import dot

if TYPE_CHECKING:
    import numpy.typing as npt

    from calipers.inference.clusters import Clusters
    from calipers.statistics import FloatArray

NAN = float("nan")


@dataclass(frozen=True)
class Error:
    """A standard error, what made it, and the degrees of freedom of its t; None for the normal."""

    se: float
    name: str
    degrees: float | None = None


@dataclass(frozen=True, eq=False)
class Space:
    """What influences of rows live in: its norm makes a standard error of a column (n,) of them.

    Here a column is weight times how much each row moves the value, and the norm √ΣI²; of clusters
    √(C/(C − 1)·Σ(ΣI)²), the inner sum over the rows of each.
    """

    weight: FloatArray | None = None
    clusters: Clusters | None = None

    def error(self, column: FloatArray) -> float:
        """The norm."""
        if self.clusters is not None:
            return self.clusters.sum_error(column)
        return math.sqrt(dot(column, column))

    @property
    def degrees(self) -> float | None:
        """The degrees of freedom of a t that the error makes; None where it is normal."""
        return None if self.clusters is None else self.clusters.number - 1

    def moved(self, column: FloatArray) -> FloatArray:
        """How much each row moves the value, times its weight."""
        return column

    def corrected(self, column: FloatArray) -> FloatArray:
        """The same with all corrections in it, so that the plain norm of it is this one."""
        return self.moved(column)

    def vector(self, column: FloatArray) -> FloatArray:
        """A vector whose inner products with others are covariances: an entry for each row, or each
        cluster."""
        corrected = self.corrected(column)
        if self.clusters is None:
            return corrected
        return np.bincount(self.clusters.code, corrected, self.clusters.number).astype(np.float64)

    def like(self, other: Space) -> bool:
        """Whether columns of both can be added up."""
        return type(self) is type(other)


@dataclass(frozen=True, eq=False)
class ByClass(Space):
    """Rows of two classes: √Σ n/(n − 1)·ΣI² over the classes, n being the effective number of rows
    of each; NaN of a class of one row. (For the AUC that is DeLong's.) With ``pairs`` clusters have
    a factor for each class, I₁/(I₁ − 1)·Σf² + I₀/(I₀ − 1)·Σg² + 2·I/(I − 1)·Σfg, with f and g the
    sums over the positive and the negative rows of a cluster (Obuchowski 1997)."""

    positive: npt.NDArray[np.bool_] = field(kw_only=True)
    pairs: bool = field(kw_only=True, default=False)
    #: The effective numbers of positive and negative rows of all, where these are a batch of them.
    sizes: tuple[float, float] | None = field(kw_only=True, default=None)

    def error(self, column: FloatArray) -> float:
        """The norm."""
        if self.clusters is None:
            total = 0.0
            for of_class in (self.positive, ~self.positive):
                total += float(np.square(column[of_class]).sum()) * self._correction(of_class)
            return math.sqrt(total)
        return self.clusters.error_by_class(column, self.positive, pairs=self.pairs)

    def _correction(self, of_class: npt.NDArray[np.bool_]) -> float:
        own = of_class.astype(np.float64) if self.weight is None else self.weight[of_class]
        return _corrected(kish_of(own))

    def corrected(self, column: FloatArray) -> FloatArray:
        """Times √(n/(n − 1)) of the class of each row, where rows are independent."""
        if self.clusters is not None:
            return column
        if self.sizes is None:
            squares = [self._correction(~self.positive), self._correction(self.positive)]
        else:
            squares = [_corrected(n) for n in self.sizes[::-1]]
        factor = np.sqrt(squares)
        return np.asarray(column * factor[self.positive.astype(np.intp)])

    def like(self, other: Space) -> bool:
        """Whether the classes are the same."""
        return isinstance(other, ByClass) and (
            self.positive is other.positive or np.array_equal(self.positive, other.positive)
        )


@dataclass(frozen=True, eq=False)
class LeftOut(Space):
    """How much the value changes when a row is left out, of ``size`` (effective) rows: the
    jackknife's √((n − 1)/n·ΣI²), and Student's t. Of rows in clusters, as of influence."""

    size: float = field(kw_only=True)

    @property
    def degrees(self) -> float | None:
        """N − 1, or those of clusters."""
        return super().degrees if self.clusters is not None else max(self.size - 1, 0.0)

    def error(self, column: FloatArray) -> float:
        """The norm."""
        if self.clusters is not None:
            return super().error(column)
        return super().error(column) * self._factor if self.size > 1 else NAN

    def corrected(self, column: FloatArray) -> FloatArray:
        """The same times √((n − 1)/n)."""
        return column if self.clusters is not None else np.asarray(column * self._factor)

    @property
    def _factor(self) -> float:
        return math.sqrt(max(self.size - 1, 0.0) / self.size) if self.size > 0 else NAN


@dataclass(frozen=True, eq=False)
class OfMeans(Space):
    """Values of rows, whose (weighted) mean the number is: the norm is the standard error of the
    mean, with n/(n − 1) for the effective number of rows, or C/(C − 1) for clusters."""

    #: The moments of all values, where these are a batch of them.
    whole: Moments | None = field(kw_only=True, default=None)

    def error(self, column: FloatArray) -> float:
        """The norm."""
        if self.clusters is not None:
            return self.clusters.mean_error(column)
        return Moments.from_rows(column, self.weight).standard_error

    def moved(self, column: FloatArray) -> FloatArray:
        """w(x − mean)/Σw."""
        moments = self._moments(column)
        with np.errstate(divide="ignore", invalid="ignore"):  # infinite values, no weight
            apart = (column - moments.mean) / moments.weight
            if self.weight is None:
                return np.asarray(apart)
            return np.where(self.weight > 0, apart * self.weight, 0.0)

    def corrected(self, column: FloatArray) -> FloatArray:
        """The same times √(n/(n − 1)); of clusters, the plain norm has their C/(C − 1) itself."""
        moved = self.moved(column)
        if self.clusters is not None:
            return moved
        return np.asarray(moved * np.sqrt(_corrected(self._moments(column).effective_size)))

    def _moments(self, column: FloatArray) -> Moments:
        return Moments.from_rows(column, self.weight) if self.whole is None else self.whole


def _corrected(n: float) -> float:
    """n/(n − 1); NaN of one."""
    return n / (n - 1) if n > 1 else NAN


@dataclass(frozen=True, eq=False)
class Influence:
    """A vector: how much the units move a number. ``name`` is what its error is called."""

    column: FloatArray
    space: Space
    name: str = "delta"

    def __add__(self, other: Influence) -> Influence:
        if not self.space.like(other.space):
            return self.plain + other.plain
        name = self.name if self.name == other.name else "delta"
        return replace(self, column=self.column + other.column, name=name)

    def __rmul__(self, factor: float) -> Influence:
        return replace(self, column=factor * self.column)

    def __sub__(self, other: Influence) -> Influence:
        if self.space.like(other.space):
            with np.errstate(invalid="ignore"):  # two infinite losses have no difference
                return replace(self, column=self.column - other.column)
        return self.plain - other.plain

    @property
    def plain(self) -> Influence:
        """The same with its corrections multiplied in, to be added up with any of these rows."""
        s = self.space
        return replace(self, column=s.corrected(self.column), space=Space(s.weight, s.clusters))

    @property
    def moved(self) -> FloatArray:
        """How much each row moves the value, times its weight."""
        return self.space.moved(self.column)

    @property
    def error(self) -> Error:
        """The standard error: normal, or Student's t where the space has degrees of freedom."""
        return Error(self.space.error(self.column), self.name, self.space.degrees)
