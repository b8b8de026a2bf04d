"""Influence vectors, and the variance estimators that turn them into standard errors.

Influence is weight times the derivative of the value by the weight of a unit. It is linear: the
influence on a difference is the difference of influences, that on a function follows by its
derivatives. The corrections that make a standard error of it, for n/(n − 1), classes and clusters,
belong to the variance estimator, whose norm is the standard error.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.caching import cached_property
from calipers.lazy_dataclasses import dataclass, replace
from calipers.statistics import Moments, effective_size_from_weights
from calipers.statistics.base import dot

if TYPE_CHECKING:
    import numpy.typing as npt
    from typing_extensions import Self

    from calipers.inference.clusters import ClusterIndex
    from calipers.statistics import FloatArray

NAN = float("nan")


@dataclass(frozen=True)
class StandardError:
    """Standard error, its name, and the df of its t distribution (None for the normal)."""

    se: float
    name: str
    df: float | None = None


def _cr2_error(se: float, df: float) -> StandardError:
    return StandardError(se, "CR2", df)


@dataclass(frozen=True, eq=False)
class VarianceEstimator:
    """Variance estimator of influence vectors: its norm is the standard error of a column (n,).

    In this class a column is weight times the influence of each row, and the norm is √ΣI²; for
    clusters it is the CR2 error of the sums by cluster (:func:`calipers.inference.clusters.cr2`).
    ``denominator`` is the contribution of each row to the denominator of the value, by default its
    weight: for example 1 if it is in TP + FP + FN, and 0 otherwise. ``row_key`` is any object that
    stands for the rows, such as the table that they are from; columns of different ones are not
    added, even if they have the same length. ``n_terms`` is the number of columns whose sum the
    column is, each of which has an equal part in the denominator.
    """

    weight: FloatArray | None = None
    clusters: ClusterIndex | None = None
    denominator: FloatArray | None = field(kw_only=True, default=None)
    row_key: object = field(kw_only=True, default=None)
    n_terms: int = field(kw_only=True, default=1)

    def standard_error(self, coefficients: FloatArray) -> float:
        """Return the norm of a column."""
        if self.clusters is not None:
            return self.cluster_error(coefficients).se
        return math.sqrt(dot(coefficients, coefficients))

    def cluster_error(self, column: FloatArray) -> StandardError:
        """Return the standard error of clustered rows, with its degrees of freedom."""
        assert self.clusters is not None
        return _cr2_error(*self.clusters.sum_error(column, self.denominator))

    @property
    def df(self) -> float | None:
        """Degrees of freedom of the standard error of independent rows; None if it is normal."""
        return None

    def influence_values(self, column: FloatArray) -> FloatArray:
        """Return the influence of each row on the value, times its weight."""
        return column

    def corrected_influence(self, column: FloatArray) -> FloatArray:
        """Return the influence with all corrections, so that its Euclidean norm is the error."""
        return self.influence_values(column)

    def covariance_vector(self, column: FloatArray) -> FloatArray:
        """Return a vector whose inner products with others are covariances.

        It has an element for each row, or for each cluster.
        """
        if self.clusters is None:
            return self.corrected_influence(column)
        return self.clusters.corrected_influence(*self.cluster_sums(column))

    def cluster_sums(self, column: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the influence of each cluster and its contribution to the denominator."""
        assert self.clusters is not None
        return self.clusters.cluster_sums(self.influence_values(column), self.denominator)

    def has_same_rows(self, second: VarianceEstimator) -> bool:
        """Check whether both are about the same rows, with the same weights and clusters."""
        return (
            self.row_key is second.row_key
            and has_same_values(self.weight, second.weight)
            and has_same_values(*(e.clusters.codes if e.clusters else None for e in (self, second)))
        )

    def is_compatible(self, second: VarianceEstimator) -> bool:
        """Check whether columns of both estimators can be added."""
        return type(self) is type(second)

    def combine(self, second: VarianceEstimator) -> VarianceEstimator:
        """Return the estimator of sums of columns of both.

        Each row contributes to the denominator what it contributes in both, relative to the totals.
        """
        if self.clusters is None:
            return self
        n_terms = self.n_terms + second.n_terms
        if self.denominator is None and second.denominator is None:
            return replace(self, n_terms=n_terms)
        denominator = self._denominator_proportions() + second._denominator_proportions()
        return replace(self, denominator=denominator, n_terms=n_terms)

    def _denominator_proportions(self) -> FloatArray:
        """Return the proportion of each row in the denominator, summed over the terms."""
        assert self.clusters is not None
        denominator = (
            self.denominator
            if self.denominator is not None and self.denominator.any()
            else self.weight
        )
        denominator = np.ones(len(self.clusters.codes)) if denominator is None else denominator
        total = float(denominator.sum())
        return np.asarray(denominator * (self.n_terms / total if total > 0 else 0.0))


@dataclass(frozen=True, eq=False)
class TwoClassVariance(VarianceEstimator):
    """Variance estimator of rows of two classes, √Σ n/(n − 1)·ΣI² over the classes.

    n is the effective number of rows of each class; the error is NaN if a class has one row. (For
    the AUC this is DeLong's.) With ``is_pairwise`` the influence sums to 0 within either class, and
    clusters are corrected for each class.
    """

    positive: npt.NDArray[np.bool_] = field(kw_only=True)
    is_pairwise: bool = field(kw_only=True, default=False)
    #: The effective numbers of positive and negative rows of all, where these are a batch of them.
    effective_class_sizes: tuple[float, float] | None = field(kw_only=True, default=None)

    def standard_error(self, coefficients: FloatArray) -> float:
        """Return the norm of a column."""
        if self.clusters is None:
            # Selecting the rows of a class would take many times as long as these sums.
            squares = np.square(coefficients)
            of_positives = dot(squares, self.positive)
            of_negatives = max(float(squares.sum()) - of_positives, 0.0)
            negatives, positives = self._row_corrections
            return math.sqrt(of_negatives * negatives + of_positives * positives)
        return self.cluster_error(coefficients).se

    def cluster_error(self, column: FloatArray) -> StandardError:
        """Return the standard error of clustered rows, with its degrees of freedom."""
        assert self.clusters is not None
        return _cr2_error(
            *self.clusters.two_class_error(column, self.positive, pairs=self.is_pairwise)
        )

    def cluster_sums(self, column: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return influence and contribution of each cluster, for each class if ``is_pairwise``."""
        assert self.clusters is not None
        return self.clusters.cluster_sums_by_class(column, self.positive, pairs=self.is_pairwise)

    @cached_property
    def _row_corrections(self) -> tuple[float, float]:
        """Factor n/(n − 1) of the negative and of the positive rows of this column."""
        return self._correction(~self.positive), self._correction(self.positive)

    def _correction(self, class_mask: npt.NDArray[np.bool_]) -> float:
        weights = class_mask.astype(np.float64) if self.weight is None else self.weight[class_mask]
        return _bessel_factor(effective_size_from_weights(weights))

    def corrected_influence(self, column: FloatArray) -> FloatArray:
        """Return the influence times √(n/(n − 1)) of the class of each row, if independent."""
        if self.clusters is not None:
            return column
        factor = np.sqrt(self.class_corrections)
        return np.asarray(column * factor[self.positive.astype(np.intp)])

    @property
    def class_corrections(self) -> list[float]:
        """Factor n/(n − 1) of the negative and of the positive rows."""
        if self.effective_class_sizes is None:
            return list(self._row_corrections)
        return [_bessel_factor(n) for n in self.effective_class_sizes[::-1]]

    def is_compatible(self, second: VarianceEstimator) -> bool:
        """Check whether the classes are the same.

        A batch may have no row of either of two different classes, whose sizes then differ.
        """
        if not isinstance(second, TwoClassVariance):
            return False
        if not (self.positive is second.positive or np.array_equal(self.positive, second.positive)):
            return False
        if self.effective_class_sizes is None or second.effective_class_sizes is None:
            return True
        return np.allclose(
            self.effective_class_sizes, second.effective_class_sizes, 1e-9, 0.0, equal_nan=True
        )


@dataclass(frozen=True, eq=False)
class JackknifeVariance(VarianceEstimator):
    """Jackknife variance estimator, with Student's t.

    A column has the change of the value when each of ``effective_size`` (effective) rows is left
    out; the norm is √((n − 1)/n·ΣI²). For clustered rows it is that of influence.
    """

    effective_size: float = field(kw_only=True)

    @property
    def df(self) -> float | None:
        """Degrees of freedom, ``size`` − 1."""
        return max(self.effective_size - 1, 0.0)

    def standard_error(self, coefficients: FloatArray) -> float:
        """Return the norm of a column."""
        if self.clusters is not None:
            return super().standard_error(coefficients)
        return (
            super().standard_error(coefficients) * self._factor if self.effective_size > 1 else NAN
        )

    def corrected_influence(self, column: FloatArray) -> FloatArray:
        """Return the influence times √((n − 1)/n), if rows are independent."""
        return column if self.clusters is not None else np.asarray(column * self._factor)

    @property
    def _factor(self) -> float:
        return (
            math.sqrt(max(self.effective_size - 1, 0.0) / self.effective_size)
            if self.effective_size > 0
            else NAN
        )


@dataclass(frozen=True, eq=False)
class MeanVariance(VarianceEstimator):
    """Variance estimator of a (weighted) mean of rows.

    A column has the values of the rows; the norm is the standard error of the mean, with n/(n − 1)
    for the effective number of rows.
    """

    #: The moments of all values, where these are a batch of them.
    total_moments: Moments | None = field(kw_only=True, default=None)

    def standard_error(self, coefficients: FloatArray) -> float:
        """Return the standard error of the mean of a column."""
        if self.clusters is not None:
            return self.cluster_error(coefficients).se
        return Moments.from_rows(coefficients, self.weight).standard_error

    def cluster_error(self, column: FloatArray) -> StandardError:
        """Return the standard error of clustered rows, with its degrees of freedom."""
        assert self.clusters is not None
        return _cr2_error(*self.clusters.mean_error(column))

    def influence_values(self, column: FloatArray) -> FloatArray:
        """Return the influence of each row, w(x − mean)/Σw."""
        moments = self._moments(column)
        with np.errstate(divide="ignore", invalid="ignore"):  # infinite values, no weight
            deviations = (column - moments.mean) / moments.weight
            if self.weight is None:
                return np.asarray(deviations)
            return np.where(self.weight > 0, deviations * self.weight, 0.0)

    def corrected_influence(self, column: FloatArray) -> FloatArray:
        """Return the influence times √(n/(n − 1)); clusters have a correction of their own."""
        influence = self.influence_values(column)
        if self.clusters is not None:
            return influence
        return np.asarray(influence * np.sqrt(_bessel_factor(self._moments(column).effective_size)))

    def _moments(self, column: FloatArray) -> Moments:
        return (
            Moments.from_rows(column, self.weight)
            if self.total_moments is None
            else self.total_moments
        )


def has_same_values(first: npt.NDArray[Any] | None, second: npt.NDArray[Any] | None) -> bool:
    """Check whether two arrays are the same, or have the same values; None equals None."""
    if first is None or second is None or first is second:
        return first is second
    return np.array_equal(first, second)


@dataclass(frozen=True, eq=False)
class DisjointRowsVariance(VarianceEstimator):
    """Variance estimator of several sets of rows that have none in common, one after the other.

    Parameters
    ----------
    subsets : tuple of VarianceEstimator
        Estimators of the columns of each set. They have clusters, with common codes, or none has.
    sizes : tuple of int
        Number of rows of each set.

    Notes
    -----
    A column is that of all rows; :meth:`embed` places that of one set in it. Where rows are
    independent the variance is the sum over the sets. Clusters may have rows in several sets, so
    that their sums are over all of them: the components of :func:`calipers.inference.clusters.cr2`.
    """

    subsets: tuple[VarianceEstimator, ...] = field(kw_only=True)
    sizes: tuple[int, ...] = field(kw_only=True)

    @classmethod
    def from_subsets(cls, subsets: Sequence[VarianceEstimator], sizes: Sequence[int]) -> Self:
        """Create the estimator of sets of rows, each with its number of rows."""
        indices = [subset.clusters for subset in subsets]
        clusters = None
        if any(index is not None for index in indices):
            codes = [index.codes for index in indices if index is not None]
            first = next(index for index in indices if index is not None)
            if len(codes) < len(indices):
                raise ValueError("some of the sets of rows have clusters, expected all or none")
            clusters = replace(first, codes=np.concatenate(codes), weight=None)
        return cls(None, clusters, subsets=tuple(subsets), sizes=tuple(sizes))

    @property
    def slices(self) -> list[slice]:
        """Slice of each set in a column."""
        stops = np.cumsum(self.sizes).tolist()
        return [slice(a, b) for a, b in zip([0, *stops[:-1]], stops, strict=True)]

    def embed(self, index: int, influence: Influence) -> Influence:
        """Return the influence of the rows of one set as that of all rows, 0 on the others.

        It includes the corrections of its own estimator, unless rows are clustered.
        """
        if not self.subsets[index].has_same_rows(influence.variance_estimator):
            raise ValueError(f"the influence is that of other rows than those of set {index}")
        column = np.zeros(sum(self.sizes))
        column[self.slices[index]] = influence.corrected.column
        return replace(influence, column=column, variance_estimator=self)

    def has_same_rows(self, second: VarianceEstimator) -> bool:
        """Check whether both have the same sets of rows."""
        return (
            isinstance(second, DisjointRowsVariance)
            and self.sizes == second.sizes
            and all(a.has_same_rows(b) for a, b in zip(self.subsets, second.subsets, strict=True))
        )

    def combine(self, second: VarianceEstimator) -> VarianceEstimator:
        """Return the estimator of sums of columns of both."""
        return self

    def cluster_sums(self, column: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the influence of each cluster and its contribution, for each set of rows."""
        assert self.clusters is not None
        sums = []
        for subset, rows in zip(self.subsets, self.slices, strict=True):
            assert subset.clusters is not None
            index = replace(subset.clusters, n_codes=self.clusters.n_codes)
            sums.append(index.cluster_sums(column[rows], subset.denominator))
        influence, contributions = zip(*sums, strict=True)
        return np.array(influence), np.array(contributions)

    def cluster_error(self, column: FloatArray) -> StandardError:
        """Return the standard error of clustered rows, with its degrees of freedom."""
        from calipers.inference.clusters import cr2

        return _cr2_error(*cr2(*self.cluster_sums(column)))


@dataclass(frozen=True, eq=False)
class NestedRowsVariance(DisjointRowsVariance):
    """Variance estimator of two sets of rows, of which all of the first are also in the second.

    A column has the rows of the first set, followed by those of the second; the influence of a row
    of both is the sum of its two elements. ``positions`` are those of the rows of the first set in
    the second one. Clusters have their sums over both sets, as if these were disjoint.
    """

    positions: npt.NDArray[np.intp] = field(kw_only=True)

    def row_sums(self, column: FloatArray) -> FloatArray:
        """Return the influence of each row of the second set, by both of its elements."""
        first, second = self.slices
        sums: FloatArray = column[second].copy()
        np.add.at(sums, self.positions, column[first])
        return sums

    def standard_error(self, coefficients: FloatArray) -> float:
        """Return the norm of a column."""
        if self.clusters is not None:
            return super().standard_error(coefficients)
        sums = self.row_sums(coefficients)
        return math.sqrt(dot(sums, sums))

    def covariance_vector(self, column: FloatArray) -> FloatArray:
        """Return a vector whose inner products with others are covariances."""
        if self.clusters is not None:
            return super().covariance_vector(column)
        return self.row_sums(column)


def _bessel_factor(n: float) -> float:
    """Return n/(n − 1); NaN if n is at most 1."""
    return n / (n - 1) if n > 1 else NAN


@dataclass(frozen=True, eq=False)
class Influence:
    """Influence of units on an estimate, with its variance estimator.

    ``name`` is the name of its standard error.
    """

    column: FloatArray
    variance_estimator: VarianceEstimator
    name: str = "delta"

    def __add__(self, other: Influence) -> Influence:
        return self._combine(other, 1.0)

    def __sub__(self, other: Influence) -> Influence:
        return self._combine(other, -1.0)

    def __rmul__(self, factor: float) -> Influence:
        return replace(self, column=factor * self.column)

    def _combine(self, second: Influence, sign: float) -> Influence:
        """Return the sum of this influence and ``sign`` times another one of the same rows."""
        if not self.variance_estimator.has_same_rows(second.variance_estimator):
            raise ValueError(
                "the estimates are of different rows, or of different weights or clusters; "
                "expected the same (see DisjointRowsVariance for rows that have none in common)"
            )
        if not self.variance_estimator.is_compatible(second.variance_estimator):
            return self.corrected._combine(second.corrected, sign)
        name = self.name if self.name == second.name or sign < 0 else "delta"
        with np.errstate(invalid="ignore"):  # two infinite losses have no difference
            column = self.column + second.column if sign > 0 else self.column - second.column
        return replace(
            self,
            column=column,
            variance_estimator=self.variance_estimator.combine(second.variance_estimator),
            name=name,
        )

    @property
    def corrected(self) -> Influence:
        """The same influence with corrections included, to be added to any other of these rows."""
        estimator = self.variance_estimator
        variance_estimator = VarianceEstimator(
            estimator.weight,
            estimator.clusters,
            denominator=estimator.denominator,
            row_key=estimator.row_key,
            n_terms=estimator.n_terms,
        )
        return replace(
            self,
            column=estimator.corrected_influence(self.column),
            variance_estimator=variance_estimator,
        )

    @property
    def influence_values(self) -> FloatArray:
        """Influence of each row on the value, times its weight."""
        return self.variance_estimator.influence_values(self.column)

    def unit_values(self, total: float) -> FloatArray:
        """Return the influence per unit weight times the ``total`` weight, up to a constant.

        Units of weight 0 are excluded.
        """
        weight = self.variance_estimator.weight
        if isinstance(
            self.variance_estimator, MeanVariance
        ):  # to the last digit what the values are
            return self.column if weight is None else self.column[weight > 0]
        if weight is None:
            return np.asarray(self.influence_values * total)
        used_mask = weight > 0
        return np.asarray(self.influence_values[used_mask] / weight[used_mask] * total)

    @property
    def standard_error(self) -> StandardError:
        """Standard error: normal, or with the degrees of freedom of the variance estimator."""
        if self.variance_estimator.clusters is not None:
            return replace(self.variance_estimator.cluster_error(self.column), name=self.name)
        return StandardError(
            self.variance_estimator.standard_error(self.column),
            self.name,
            self.variance_estimator.df,
        )


@dataclass(frozen=True, eq=False)
class GroupedInfluence:
    """Influence that all rows of a group have, such as those of a cell of a table.

    Called, it returns the influence of the rows. ``cluster_sums`` returns the influence of each
    cluster and its contribution to the denominator from the weights of the groups in it; None if
    these are not known, or if nothing has influence.
    """

    rows: Callable[[], Influence | None]
    cluster_sums: Callable[[], tuple[FloatArray, FloatArray] | None]

    def __call__(self) -> Influence | None:
        """Return the influence of the rows."""
        return self.rows()
