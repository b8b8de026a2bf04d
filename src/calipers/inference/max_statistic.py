"""Multiple comparisons by the distribution of the maximum statistic under the null hypothesis."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from calipers.caching import cached, cached_property
from calipers.inference.clusters import cr2_influence
from calipers.inference.intervals import ROUNDING_TOLERANCE
from calipers.inference.method_limits import (
    MAX_DOUBLE_VALUES,
    MAX_PAIRS_PER_SYSTEM,
    MAX_SHARED_VALUES,
    MAX_SINGLE_VALUES,
    N_DRAWN_MAXIMA,
    SKETCH_SIZE,
    VARIANCE_FLOOR,
)
from calipers.inference.procedures import Procedure, WaldProcedure
from calipers.inference.variance_estimators import GroupedInfluence, Influence
from calipers.lazy_dataclasses import dataclass
from calipers.statistics import FloatArray, IntArray


def permutation_count(n_units: int, n_systems: int, n_replicates: int) -> tuple[int, bool]:
    """Return the number of permutations to use, and whether these are all of them.

    All (k!)ⁿ permutations are used if they are at most ``n_replicates``.
    """
    every = math.factorial(n_systems) ** n_units if n_units * n_systems <= 64 else math.inf
    return (int(every), True) if every <= n_replicates else (n_replicates, False)


def permutation_p_values(n_extreme: IntArray, n_permutations: int, *, exact: bool) -> FloatArray:
    """Return p-values from numbers of extreme permutations.

    If permutations are sampled, the observed data are counted as one more.
    """
    n_observed = 0 if exact else 1
    return (n_extreme + n_observed) / (n_permutations + n_observed)


def permutation_rank(alpha: float, n_permutations: int, *, exact: bool) -> int:
    """Return the largest number of permutations at least as extreme with a p-value ≤ ``alpha``.

    It is negative if even the p-value without any, 1/(B + 1), is larger. If the permutations are
    all there are (``exact``), the observed one is among them, so that none reaches 0.
    """
    n_observed = 0 if exact else 1
    return math.floor(round(alpha * (n_permutations + n_observed) - n_observed, 9))


#: Statistics with a smaller relative difference than this count as equal.
_TIE_TOLERANCE = 1e-9

#: An eigenvalue below this proportion of the largest is rounding error.
_MIN_EIGENVALUE_RATIO = 1e-13

#: Maximum number of elements that are drawn at a time.
_MAX_DRAWN_ELEMENTS = 4_000_000

#: Maximum number of elements of vectors that are multiplied at a time.
_MAX_PRODUCT_ELEMENTS = 500_000


@dataclass(frozen=True, eq=False)
class MaxStatistic:
    """Distribution of the maximum statistic of a family of tests under the null hypothesis.

    Attributes
    ----------
    replicates : ndarray of shape (3, B)
        Replicates of the largest |t|, t and −t.
    n_tests : int
        Number of tests in the family.
    is_exact : bool
        Whether the replicates are all permutations.
    is_normal : bool
        Whether the statistics are normal. Statistics of Student's t are then transformed to the
        normal with the same tail, and Bonferroni's bound is applied as well.
    """

    replicates: FloatArray
    n_tests: int
    is_exact: bool = False
    is_normal: bool = False

    @cached_property
    def _ascending(self) -> FloatArray:
        return np.sort(self.replicates, axis=1)

    def p(self, t: FloatArray, df: FloatArray, side: int = 0) -> FloatArray:
        """Return the adjusted p-value of each statistic.

        It is the proportion of maxima that are at least as large, by ``side`` those of |t| (0), t
        (1) or −t (−1).
        """
        t = np.abs(t) if side == 0 else t * side
        size = _to_normal(t, df) if self.is_normal else t
        maxima, n_replicates = self._ascending[side], self.replicates.shape[1]
        n_extreme = n_replicates - np.searchsorted(
            maxima, size * (1 - _TIE_TOLERANCE * np.sign(size))
        )
        p = permutation_p_values(n_extreme, n_replicates, exact=self.is_exact)
        if self.is_normal:
            p = np.minimum(p, self.n_tests * (1 + (side == 0)) * t_upper_tail(t, df))
        return np.where(np.isnan(t), np.nan, p)

    def adjust_p(self, p: FloatArray | float, side: int = 0) -> FloatArray:
        """Return the adjusted p-values of tests with p-values ``p``, two-sided or of one side.

        They are the probabilities, under the null hypothesis, that the smallest p-value of the
        family is at most ``p``.
        """
        from scipy.special import ndtri

        z = -ndtri(np.asarray(p) / 2 if side == 0 else p)
        maxima, n_replicates = self._ascending[side], self.replicates.shape[1]
        reached = n_replicates - maxima.searchsorted(z * (1 - np.copysign(_TIE_TOLERANCE, z)))
        proportion = permutation_p_values(reached, n_replicates, exact=self.is_exact)
        adjusted = np.minimum(np.minimum(proportion, self.n_tests * p), 1.0)
        return np.where(np.isnan(p), math.nan, adjusted)

    def critical_value(self, tail: float) -> float:
        """Return the largest |t| with a p-value above twice the ``tail``.

        It is infinite if there are too few permutations for a smaller p-value.
        """
        number = self.replicates.shape[1]
        rank = permutation_rank(2 * tail, number, exact=self.is_exact)
        return (
            float(self._ascending[0][number - rank - 1]) / (1 - _TIE_TOLERANCE)
            if rank >= 0
            else math.inf
        )

    def single_test_tail(self, tail: float) -> float:
        """Return the tail of each single test that gives ``tail`` for all of them together."""

        def compute() -> float:
            from scipy.special import ndtr

            # If nothing varies, the maximum is always 0 and would exclude every other value.
            return max(min(float(ndtr(-self.critical_value(tail))), tail), tail / self.n_tests)

        return cached(self, ("single", tail), compute)


#: Side of each alternative: that of |t|, t or −t.
_SIDES = {"two-sided": 0, "greater": 1, "less": -1}


@dataclass(frozen=True, eq=False, kw_only=True)
class MaxTProcedure(Procedure):
    """Procedure of a difference in a family, adjusted by the maximum statistic.

    Its interval is the wider of that of its own procedure and the simultaneous one. If statistics
    are normal, the latter is that of its procedure at the level of a single test; with
    permutations, it is based on the difference divided by its standard error ``se``, as in the
    permutations. ``sign`` is the direction of the measure for one-sided tests.
    """

    procedure: Procedure
    maxima: MaxStatistic
    sign: int = 1
    se: float = math.nan

    @cached_property
    def _joint_procedure(self) -> Procedure:
        return self.procedure.family_procedure

    def p(self, null_value: float = 0.0, alternative: str = "two-sided") -> float:
        """Return the adjusted p-value, by Bonferroni if its statistic is undefined."""
        if self.maxima.is_normal:
            return self.normal_p_values([self], null_value, alternative)[0]
        unadjusted_p = self.procedure.p(null_value, alternative)
        if math.isnan(unadjusted_p):
            return unadjusted_p
        side = _SIDES[alternative] * self.sign
        if math.isfinite(self.se):
            difference = self.sign * (self.value - null_value)
            t = 0.0 if difference == 0 else difference / self.se if self.se > 0 else math.nan
            adjusted_p = float(self.maxima.p(np.array([t]), np.ones(1), side)[0])
        else:
            adjusted_p = math.nan
        return (
            min(1.0, unadjusted_p * self.maxima.n_tests)
            if math.isnan(adjusted_p)
            else max(unadjusted_p, adjusted_p)
        )

    @staticmethod
    def normal_p_values(
        procedures: Sequence[MaxTProcedure], null_value: float, alternative: str
    ) -> list[float]:
        """Return the adjusted p-values of differences by one measure in a family that is normal."""
        maxima, side = procedures[0].maxima, _SIDES[alternative] * procedures[0].sign
        unadjusted_p, family_p = (
            np.array([procedure.p(null_value, alternative) for procedure in column])
            for column in (
                [entry.procedure for entry in procedures],
                [entry._joint_procedure for entry in procedures],
            )
        )
        adjusted_p = maxima.adjust_p(family_p, side)
        p: list[float] = np.where(
            np.isnan(adjusted_p),
            np.minimum(1.0, unadjusted_p * maxima.n_tests),
            np.maximum(unadjusted_p, adjusted_p),
        ).tolist()
        return p

    def limit(self, tail: float, side: int) -> float:
        """Return the confidence limit on one side."""
        if not self.maxima.is_normal and self.se > 0:
            end = self.value - side * self.maxima.critical_value(tail) * self.se
        elif self.maxima.is_normal and self._joint_procedure.reason is None:
            joint = self._joint_procedure
            end = joint.cached_limit(self.maxima.single_test_tail(tail), side)
            if joint is self.procedure and isinstance(joint, WaldProcedure):
                return end  # a limit at a smaller tail
        else:
            return self.procedure.limit(tail / self.maxima.n_tests, side)
        return self.procedure.outer_limit(tail, side, end)


def t_quantile(q: float, df: FloatArray) -> FloatArray:
    """Return the quantile of Student's t."""
    from scipy.special import stdtrit

    return np.asarray(stdtrit(df, q))


def t_upper_tail(t: FloatArray | float, df: FloatArray | float | None) -> FloatArray:
    """Return the upper tail of Student's t, or of the normal if ``df`` is None."""
    from scipy.special import ndtr, stdtr

    return np.asarray(ndtr(-np.asarray(t)) if df is None else stdtr(df, -np.asarray(t)))


def _to_normal(t: FloatArray, df: FloatArray) -> FloatArray:
    """Return the normal deviate with the same upper tail."""
    from scipy.special import ndtri

    return np.asarray(-ndtri(t_upper_tail(t, df)))


# ------------------------------------------------------------------------------------------ topics


def permuted_maxima(
    table: FloatArray,
    baseline: int | None,
    n_replicates: int,
    seed: int,
    weight: FloatArray | None = None,
) -> MaxStatistic:
    """Return the maximum statistic of all differences by permutation of the systems' values.

    Under the null hypothesis, the values of the systems on a unit are exchangeable, for all
    measures together. ``table`` has shape (units, systems, measures). Each difference is
    studentized; the proportion :data:`VARIANCE_FLOOR` of the mean variance of its measure is added
    to its own variance, since otherwise pairs that hardly differ invalidate the test. All (k!)ⁿ
    permutations are used if they are at most ``n_replicates``.

    A missing value (NaN) is replaced by the mean of the other systems on this unit. ``weight``,
    shape (units, measures), are the weights of units: weighted means and their standard errors then
    replace the unweighted ones.

    Examples
    --------
    >>> table = np.random.default_rng(1).normal(size=(30, 4, 2))
    >>> result = permuted_maxima(table, None, 2000, seed=0)
    >>> round(result.critical_value(0.025), 1), result.n_tests
    (2.9, 12)
    """
    from calipers import _core

    units, systems, measures = table.shape
    n_present = (~np.isnan(table)).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        unit_means = np.nansum(table, axis=1) / n_present
    centered = np.where(np.isnan(table), 0.0, table - unit_means[:, None, :])
    number, exact = permutation_count(units, systems, n_replicates)
    n_counted = (n_present > 1).sum(axis=0).astype(np.float64)
    scales: tuple[FloatArray, ...] = ()
    if weight is not None:  # their means are 1
        unit_weights = np.where(n_present > 1, weight, 0.0)
        unit_weights = unit_weights * (
            n_counted / np.maximum(unit_weights.sum(axis=0), np.finfo(float).tiny)
        )
        centered, scales = centered * unit_weights[:, None, :], (unit_weights,)
    flat = centered.reshape(units, systems * measures)
    maxima = _core.randomized_maxima(
        flat,
        n_counted.tolist(),
        systems,
        baseline,
        VARIANCE_FLOOR,
        None if exact else seed,
        number,
        *scales,
    )
    n_pairs = systems - 1 if baseline is not None else systems * (systems - 1) // 2
    largest = np.nan_to_num(maxima.reshape(number, measures, 3)).max(axis=1)
    return MaxStatistic(largest.T, n_pairs * measures, exact)


def floored_standard_errors(
    values: FloatArray, errors: FloatArray, units: FloatArray
) -> FloatArray:
    """Return the standard errors of differences by one measure as in :func:`permuted_maxima`."""
    with np.errstate(invalid="ignore", divide="ignore"):  # of one unit
        variances = np.maximum(
            np.square(errors), ROUNDING_TOLERANCE * np.square(values) / (units - 1)
        )
    finite_mask = np.isfinite(variances)
    mean = float(variances[finite_mask].mean()) if finite_mask.any() else math.nan
    return np.sqrt(variances + VARIANCE_FLOOR * mean)


# -------------------------------------------------------------------------------------------- rows


#: A vector that differs from the difference of two others by at most this proportion of its largest
#: element is that difference; unless it is so short beside these that little is left of its digits.
_DIFFERENCE_TOLERANCE, _MIN_LENGTH_RATIO = 1e-9, 1e-3


@dataclass(frozen=True, eq=False)
class VectorDifference:
    """Influence vector of a test that is the difference of the vectors of two other tests.

    ``norm`` is its length.
    """

    first: FloatArray
    second: FloatArray
    norm: float

    @classmethod
    def from_vector(
        cls, vector: FloatArray, first: FloatArray, second: FloatArray
    ) -> VectorDifference | None:
        """Create it, or return None if the vector is not the difference to all digits."""
        norm = float(np.linalg.norm(vector))
        longest = max(float(np.linalg.norm(first)), float(np.linalg.norm(second)))
        if not norm >= _MIN_LENGTH_RATIO * longest > 0:
            return None
        distance = float(np.abs(vector - (first - second)).max())
        is_equal = distance <= _DIFFERENCE_TOLERANCE * float(np.abs(vector).max())
        return cls(first, second, norm) if is_equal else None


#: Largest difference of the length of a vector from the standard error, of its size.
_LENGTH_TOLERANCE = 1e-7

#: What is known of the correlations of a test with others.
TestVector: TypeAlias = "FloatArray | VectorDifference | None"


class PairVectors:
    """Influence vectors of all pairs of many systems.

    Those of pairs with one common system are stored. All others are their differences, so that
    what is stored grows with the number of systems and not with that of pairs.

    Examples
    --------
    >>> rows = np.random.default_rng(0).normal(size=(3, 500))
    >>> pairs = PairVectors(n_vectors=2)
    >>> stored = [pairs.reduce(rows[j] - rows[0], "AUC", f"s{j}", "s0") for j in (1, 2)]
    >>> isinstance(pairs.reduce(rows[2] - rows[1], "AUC", "s2", "s1"), VectorDifference)
    True
    """

    def __init__(self, n_vectors: int) -> None:
        self.n_vectors = n_vectors
        self._common_system: dict[str, str] = {}
        self._vectors: dict[tuple[str, str], FloatArray] = {}
        self._lengths: dict[tuple[str, str], float] = {}
        #: Length of a vector of each measure over the standard error of its difference.
        self._length_ratio: dict[str, float] = {}

    @classmethod
    def for_pairs(cls, pairs: Sequence[tuple[str, str]], n_measures: int) -> PairVectors | None:
        """Create it if the pairs are several times as many as their systems, else return None."""
        n_systems = len({name for pair in pairs for name in pair})
        has_many = len(pairs) > MAX_PAIRS_PER_SYSTEM * (n_systems - 1)
        return cls((n_systems - 1) * n_measures) if has_many else None

    def reduce(
        self, column: FloatArray, measure: str, system: str, baseline: str, se: float = math.nan
    ) -> FloatArray | VectorDifference:
        """Return the vector of a pair, or of which others it is the difference.

        ``column`` is its uncompressed vector, and ``se`` the standard error of the difference, if
        its vector is linear in those of the systems.
        """
        # Compressed without rounding, which would leave no differences.
        vector = column
        is_compressed = (
            len(column) > SKETCH_SIZE and len(column) * self.n_vectors > MAX_SHARED_VALUES
        )
        if is_compressed:
            vector = _add_in_groups(column)
        if self._common_system.setdefault(measure, baseline) == baseline:
            self._vectors[measure, system] = vector
            length = self._lengths[measure, system] = float(np.linalg.norm(vector))
            if se > 0 and not is_compressed:
                self._length_ratio.setdefault(measure, length / se)
            return vector
        first, second = (self._vectors.get((measure, name)) for name in (system, baseline))
        if first is None or second is None:
            return vector
        return VectorDifference.from_vector(vector, first, second) or vector

    def difference(
        self, measure: str, system: str, baseline: str, se: float
    ) -> VectorDifference | None:
        """Return the difference of two stored vectors that has this standard error, or None.

        The vector of the pair itself, which takes the influence of all rows on both systems, is
        then not needed.
        """
        keys = (measure, system), (measure, baseline)
        ratio = self._length_ratio.get(measure, math.nan)
        if not all(key in self._vectors for key in keys) or not ratio * se > 0:
            return None
        first, second = (self._vectors[key] for key in keys)
        if first.shape != second.shape:
            return None
        norm = float(np.linalg.norm(first - second))
        is_long = norm >= _MIN_LENGTH_RATIO * max(self._lengths[key] for key in keys)
        has_length = abs(norm - ratio * se) <= _LENGTH_TOLERANCE * norm
        return VectorDifference(first, second, norm) if is_long and has_length else None

    def reduce_table(
        self, table: FloatArray, pairs: Sequence[tuple[int, int]]
    ) -> list[FloatArray | VectorDifference]:
        """Return the vectors of all pairs by one measure, from a column for each system.

        The vector of a pair is the difference of the columns of its systems.
        """
        columns = table
        if len(table) > SKETCH_SIZE and len(table) * self.n_vectors > MAX_SHARED_VALUES:
            columns = np.column_stack([_add_in_groups(column) for column in table.T])
        common = pairs[0][1]
        stored = np.ascontiguousarray((columns - columns[:, [common]]).T)
        rows, lengths = list(stored), np.linalg.norm(stored, axis=1)
        vectors: list[FloatArray | VectorDifference] = []
        step = max(1, _MAX_PRODUCT_ELEMENTS // stored.shape[1])
        for begin in range(0, len(pairs), step):
            first, second = np.array(pairs[begin : begin + step]).T
            norms = np.linalg.norm(stored[first] - stored[second], axis=1)
            longest = np.maximum(lengths[first], lengths[second])
            is_long = (norms >= _MIN_LENGTH_RATIO * longest) & (longest > 0) & (second != common)
            for j, k, norm, is_difference in zip(
                first.tolist(), second.tolist(), norms.tolist(), is_long.tolist(), strict=True
            ):
                if is_difference:
                    vectors.append(VectorDifference(rows[j], rows[k], norm))
                else:
                    vectors.append(rows[j] if k == common else rows[j] - rows[k])
        return vectors


def influence_vector(
    influence: Callable[[], Influence | None],
) -> FloatArray | None:
    """Return a vector whose inner products with those of other tests are covariances.

    Clusters have it without their rows where groups of rows have the same influence. Return None
    if there is no influence, or that of any row is not finite.
    """
    sums = influence.cluster_sums() if isinstance(influence, GroupedInfluence) else None
    if sums is not None:
        column = cr2_influence(*sums)[0]
    else:
        rows = influence()
        if rows is None:
            return None
        column = rows.variance_estimator.covariance_vector(rows.column)
    return column if np.isfinite(column).all() else None


def sketch_vector(column: FloatArray, n_tests: int = 1) -> FloatArray:
    """Return the compressed influence vector of a test, to be stored until all are known.

    It is the vector itself, up to a factor; in single precision if all tests have more than
    :data:`MAX_DOUBLE_VALUES` values, with errors that average out over the units. Above
    :data:`MAX_SINGLE_VALUES` values each unit is added, with a random sign, to one of
    :data:`SKETCH_SIZE` elements: inner products are then unbiased, with an error of 1/√SKETCH_SIZE
    of the product of the norms.
    """
    if len(column) <= SKETCH_SIZE or len(column) * n_tests <= MAX_DOUBLE_VALUES:
        return column
    if len(column) * n_tests <= MAX_SINGLE_VALUES:
        largest = np.abs(column).max()
        return (column / largest if largest > 0 else column).astype(np.float32)
    return _add_in_groups(column)


def _add_in_groups(column: FloatArray) -> FloatArray:
    """Return the sums of the elements in SKETCH_SIZE random groups, with random signs."""
    signed_sums = np.bincount(_sketch_indices(len(column)), column, 2 * SKETCH_SIZE)
    return np.asarray(signed_sums[:SKETCH_SIZE] - signed_sums[SKETCH_SIZE:])


@lru_cache(maxsize=1)
def _sketch_indices(n_units: int) -> npt.NDArray[np.int64]:
    """Return the element that each unit is added to, of twice SKETCH_SIZE for the two signs."""
    return np.random.Generator(np.random.Philox(n_units)).integers(0, 2 * SKETCH_SIZE, n_units)


def gaussian_maxima(
    vectors: Sequence[TestVector],
    seed: int,
    subsets: Sequence[Hashable] = (),
    signs: Sequence[float] = (),
) -> MaxStatistic:
    """Return the maximum statistic of normal statistics with given correlations.

    The correlations are those of the vectors of :func:`influence_vector`, times their ``signs``. A
    test without a vector is taken as independent of the others, which is conservative (Šidák 1967).
    So are tests on different ``subsets`` of the units, which is exact if they have no units in
    common and conservative otherwise (Royen 2014).

    Examples
    --------
    >>> rows = np.random.default_rng(0).normal(size=(3, 500))
    >>> result = gaussian_maxima(list(rows), seed=0)
    >>> result.p(np.array([2.0, 2.5, 4.0]), np.full(3, 499)).round(2)  # alone .046, .013, .000
    array([0.13, 0.04, 0.  ])
    """
    indices_by_subset: dict[Hashable, list[int]] = {}
    for index, subset in enumerate(subsets or [0] * len(vectors)):
        indices_by_subset.setdefault(subset, []).append(index)
    maxima = np.full((3, N_DRAWN_MAXIMA), -np.inf)
    for j, indices in enumerate(indices_by_subset.values()):
        begin = np.random.SeedSequence(seed, spawn_key=(j,) * (j > 0))  # the first: seed itself
        subset_signs = np.array(
            [signs[index] for index in indices] if len(signs) else np.ones(len(indices))
        )
        subset_maxima = _draw_maxima([vectors[index] for index in indices], subset_signs, begin)
        np.maximum(maxima, subset_maxima, out=maxima)
    return MaxStatistic(maxima, len(vectors), is_normal=True)


def _draw_maxima(
    vectors: Sequence[TestVector], signs: FloatArray, seed: np.random.SeedSequence
) -> FloatArray:
    """Return replicates of the largest |z|, z and −z."""
    tests, random = len(vectors), np.random.Generator(np.random.Philox(seed))
    if any(isinstance(vector, VectorDifference) for vector in vectors):
        return _draw_difference_maxima(vectors, signs, random)
    first, *others = _covariance_factors(
        [vector for vector in vectors if not isinstance(vector, VectorDifference)], signs
    )
    independent_indices = [index for index, vector in enumerate(vectors) if vector is None]
    step = max(1, _MAX_DRAWN_ELEMENTS // max(tests, len(first)))
    maxima = np.empty((3, N_DRAWN_MAXIMA))
    for begin in range(0, N_DRAWN_MAXIMA, step):
        batch = slice(begin, min(begin + step, N_DRAWN_MAXIMA))
        number = batch.stop - begin
        z = random.standard_normal((number, len(first))) @ first
        for factor in others:
            z = z @ factor
        z[:, independent_indices] = random.standard_normal((number, len(independent_indices)))
        by_test = np.ascontiguousarray(z.T)  # NumPy compares whole rows several times as fast
        maxima[1, batch], maxima[2, batch] = by_test.max(axis=0), -by_test.min(axis=0)
    maxima[0] = np.maximum(maxima[1], maxima[2])
    return maxima


def _draw_difference_maxima(
    vectors: Sequence[TestVector], signs: FloatArray, random: np.random.Generator
) -> FloatArray:
    """Return replicates of the largest |z|, z and −z of tests many of which are differences.

    Other vectors are drawn, and differences are taken of what was drawn.
    """
    from calipers import _core

    stored: dict[int, FloatArray] = {}
    for vector in vectors:
        terms = (vector.first, vector.second) if isinstance(vector, VectorDifference) else (vector,)
        stored.update({id(term): term for term in terms if term is not None})
    index_by_id = {key: index for index, key in enumerate(stored)}
    norms = np.array([float(np.linalg.norm(vector)) for vector in stored.values()])
    n_stored, independent_index = len(stored), len(stored)
    first, second = np.zeros(len(vectors), np.int64), np.full(len(vectors), -1, np.int64)
    scale = np.array(signs, np.float64)
    n_independent = 0
    for j, vector in enumerate(vectors):
        if vector is None:
            first[j] = independent_index + n_independent
            n_independent += 1
        elif isinstance(vector, VectorDifference):
            first[j], second[j] = index_by_id[id(vector.first)], index_by_id[id(vector.second)]
            scale[j] /= vector.norm
        else:
            first[j] = index_by_id[id(vector)]
            scale[j] /= norms[first[j]] or 1.0
    factors = _covariance_factors(list(stored.values()), np.ones(n_stored))
    n_drawn = len(factors[0])
    if len(factors) > 1 and 2 * factors[0].shape[1] > n_drawn:
        factors = (factors[0] @ factors[1],)  # fewer products than with each of them
    # Draws are columns, as the core reads them.
    factors = (*factors[:-1], factors[-1] * norms)
    step = max(1, _MAX_DRAWN_ELEMENTS // max(n_stored + n_independent, n_drawn))
    maxima = np.empty((3, N_DRAWN_MAXIMA))
    for begin in range(0, N_DRAWN_MAXIMA, step):
        batch = slice(begin, min(begin + step, N_DRAWN_MAXIMA))
        number = batch.stop - begin
        z = random.standard_normal((number, n_drawn)).T
        for factor in factors:
            z = factor.T @ z
        if n_independent:
            z = np.vstack([z, random.standard_normal((number, n_independent)).T])
        maxima[1:, batch] = _core.difference_maxima(np.ascontiguousarray(z), first, second, scale)
    maxima[0] = np.maximum(maxima[1], maxima[2])
    return maxima


def _covariance_factors(
    vectors: Sequence[FloatArray | None], signs: FloatArray
) -> tuple[FloatArray, ...]:
    """Return factors of a matrix whose columns have the inner products of the unit vectors.

    If there are fewer tests than units, it is the symmetric root of the inner products, which is
    unique and continuous. A triangular factor, or one of eigenvectors, would give other replicates
    for other digits in the last place, as they result from weights in another unit and from other
    processors.
    """
    present_vectors = [vector for vector in vectors if vector is not None]
    if not present_vectors:
        return (np.zeros((1, len(vectors))),)
    width, tests = len(present_vectors[0]), len(vectors)
    step = width if tests >= width else max(1, _MAX_PRODUCT_ELEMENTS // tests)
    products = np.zeros((tests, tests))
    for begin in range(0, width, step):
        table = np.zeros((tests, min(step, width - begin)))
        for row, vector in zip(table, vectors, strict=True):
            if vector is not None:
                row[:] = vector[begin : begin + step]
        products += table @ table.T
    norms = np.sqrt(products.diagonal())
    norms[norms == 0] = 1.0
    if tests >= width:
        return ((table * (signs / norms)[:, None]).T,)
    products *= np.outer(signs / norms, signs / norms)
    eigenvalues, eigenvectors = np.linalg.eigh(products)
    nonzero_mask = eigenvalues > _MIN_EIGENVALUE_RATIO * eigenvalues[-1]
    eigenvectors = eigenvectors[:, nonzero_mask]
    return eigenvectors, (eigenvectors * np.sqrt(eigenvalues[nonzero_mask])).T
