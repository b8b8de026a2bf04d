"""Influence functions of streamed rows, stored as inner products or as sums by cluster."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from calipers.caching import cached_property
from calipers.inference.clusters import ClusterIndex
from calipers.inference.method_limits import SKETCH_SIZE
from calipers.inference.variance_estimators import Influence, TwoClassVariance, VarianceEstimator
from calipers.lazy_dataclasses import dataclass
from calipers.statistics.base import dot

if TYPE_CHECKING:
    from calipers.measures import Measure
    from calipers.statistics import FloatArray

#: Requested value: the name of a system, and a measure.
Request: TypeAlias = "tuple[str, Measure]"

#: A variance below this proportion of the sum of absolute terms is recomputed in another pass.
CANCELLATION_RATIO = 1e-10


def inner_products(columns: Sequence[FloatArray]) -> FloatArray:
    """Compute the inner products of all pairs of columns on one thread (BLAS uses all threads)."""
    out = np.zeros((len(columns), len(columns)))
    for j, first in enumerate(columns):
        for k, second in enumerate(columns[: j + 1]):
            out[j, k] = out[k, j] = dot(first, second)
    return out


def _reference_request(request: Request, requests: Iterable[Request]) -> Request:
    """Return the first system with the same measure, which is the reference of the others.

    For the other systems, the difference from the reference is stored, because the difference of
    two nearly equal values cannot be recovered from their squares.
    """
    return next(candidate for candidate in requests if candidate[1] == request[1])


def gram_columns(influences: Mapping[Request, Influence]) -> dict[Request, FloatArray]:
    """Return the columns whose inner products are stored.

    For each measure these are the reference and the differences of the other systems from it.
    """
    corrected_columns = {
        request: influence.corrected.column for request, influence in influences.items()
    }
    out = {}
    for request, column in corrected_columns.items():
        reference = _reference_request(request, corrected_columns)
        with np.errstate(invalid="ignore"):  # the influence on an undefined value is infinite
            out[request] = column if reference == request else column - corrected_columns[reference]
    return out


def as_linear_combination(request: Request, requests: Sequence[Request]) -> FloatArray:
    """Return the coefficients that express a value by these columns."""
    reference = _reference_request(request, requests)
    return np.array([float(candidate in (request, reference)) for candidate in requests])


@dataclass(frozen=True, eq=False)
class GramInfluence(VarianceEstimator):
    """Influence functions as linear combinations of columns with known inner products."""

    inner_products: FloatArray = field(kw_only=True)
    #: Function that computes the squared norm in another pass, if inner products cancel.
    recompute_norm: Callable[[FloatArray], float] = field(kw_only=True)
    degrees_of_freedom: float | None = field(kw_only=True, default=None)

    @property
    def df(self) -> float | None:
        """Degrees of freedom, as for rows in memory."""
        return self.degrees_of_freedom

    def standard_error(self, coefficients: FloatArray) -> float:
        """Return the norm of a linear combination.

        If the sum of squares cancels, it is computed in another pass.
        """
        used_mask = coefficients != 0
        used_coefficients, products = (
            coefficients[used_mask],
            self.inner_products[np.ix_(used_mask, used_mask)],
        )
        with np.errstate(invalid="ignore"):  # the influence of a row may be unbounded
            magnitude = np.abs(used_coefficients) @ np.abs(products) @ np.abs(used_coefficients)
            squares = float(used_coefficients @ products @ used_coefficients)
        if squares < CANCELLATION_RATIO * magnitude:
            squares = self.recompute_norm(coefficients)
        return math.sqrt(squares)

    def influence_values(self, column: FloatArray) -> FloatArray:
        """Raise NotImplementedError, because the rows of a stream are not stored."""
        raise NotImplementedError("the rows of a stream are not stored")

    def covariance_vector(self, column: FloatArray) -> FloatArray:
        """Return a vector with the same inner products, of the length used for many rows."""
        return np.pad(column @ self._root, (0, max(0, SKETCH_SIZE - len(column))))

    @cached_property
    def _root(self) -> FloatArray:
        # Nothing is known of a value on which the influence of a row is unbounded.
        finite_mask = np.isfinite(self.inner_products)
        eigenvalues, eigenvectors = np.linalg.eigh(np.where(finite_mask, self.inner_products, 0.0))
        # The symmetric root is unique, unlike the eigenvectors.
        return np.asarray((eigenvectors * np.sqrt(np.maximum(eigenvalues, 0.0))) @ eigenvectors.T)

    def is_compatible(self, second: VarianceEstimator) -> bool:
        """Return whether both use the same columns."""
        return isinstance(second, GramInfluence) and second.inner_products is self.inner_products


@dataclass(frozen=True, eq=False)
class ClusterInfluence(TwoClassVariance):
    """Influence values summed by cluster, separately for positive and negative rows.

    Each of these sums serves as a row.
    """

    def corrected_influence(self, column: FloatArray) -> FloatArray:
        """Return the column unchanged, because the norm is already corrected for clusters."""
        return column

    def is_compatible(self, second: VarianceEstimator) -> bool:
        """Return whether both are sums of the same rows, by the same classes."""
        if (
            not isinstance(second, ClusterInfluence)
            or self.clusters is None
            or second.clusters is None
        ):
            return False
        return (
            self.clusters.weight is not None
            and self.is_pairwise == second.is_pairwise
            and np.array_equal(
                self.clusters.weight,
                second.clusters.weight,  # type: ignore[arg-type]
            )
        )


def cluster_sums(influence: Influence) -> FloatArray:
    """Sum influence values, weights and parts of the denominator by cluster.

    The result has the shape (3, 2·C); if there are classes, the second half has the positive rows.
    """
    variance_estimator, clusters = (
        influence.variance_estimator,
        influence.variance_estimator.clusters,
    )
    assert clusters is not None
    is_positive = (
        variance_estimator.positive
        if isinstance(variance_estimator, TwoClassVariance)
        else np.zeros(len(clusters.codes), bool)
    )
    index = clusters.codes + is_positive * np.int64(clusters.n_codes)
    weight = np.ones(len(index)) if variance_estimator.weight is None else variance_estimator.weight
    columns = (
        influence.influence_values,
        weight,
        weight if variance_estimator.denominator is None else variance_estimator.denominator,
    )
    return np.stack([np.bincount(index, column, 2 * clusters.n_codes) for column in columns])


def cluster_influence(sums: FloatArray, name: str, *, is_pairwise: bool) -> Influence:
    """Return the influence function from :func:`cluster_sums` of all rows."""
    influence_values, weight, denominator = sums
    size = len(influence_values) // 2
    if not weight[size:].any():
        influence_values, weight, denominator = (
            column[:size] for column in (influence_values, weight, denominator)
        )
        clusters = ClusterIndex(np.arange(size, dtype=np.uint32), size, weight)
        return Influence(
            influence_values, VarianceEstimator(weight, clusters, denominator=denominator), name
        )
    index = np.arange(2 * size)
    clusters = ClusterIndex((index % size).astype(np.uint32), size, weight)
    return Influence(
        influence_values,
        ClusterInfluence(weight, clusters, positive=index >= size, is_pairwise=is_pairwise),
        name,
    )
