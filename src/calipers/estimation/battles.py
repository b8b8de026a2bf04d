"""Models of paired comparisons: ratings of systems from battles, and their covariance.

The strength β of a system and the effects γ of covariates x give d = βᵢ − βⱼ + xᵀγ for a battle of
i and j. The models differ in the probability of a tie.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from calipers.caching import cached_property
from calipers.data.errors import InputError
from calipers.lazy_dataclasses import dataclass
from calipers.statistics import FloatArray, IntArray
from calipers.statistics.battles import LOSS, TIE, WIN, BattleCounts, cell_codes

if TYPE_CHECKING:
    import numpy.typing as npt

    from calipers.inference.clusters import ClusterIndex

#: Elo points of a unit of strength: a difference of 400 points means odds of 10 to 1.
ELO = 400 / math.log(10)
#: Elo of the reference, or of the mean system.
CENTER = 1000.0

#: Newton's method ends when no parameter changes by more, and fails after this number of steps.
_TOLERANCE, _MAX_STEPS = 1e-10, 100
#: Largest step of the search for a limit.
_MAX_LIMIT_STEP = 10.0
#: A larger effect means that the likelihood has no maximum.
_MAX_EFFECT = 60.0
#: A relative loss of the likelihood that is not more than rounding.
_ROUNDING = 1e-12
#: An information matrix is singular if its smallest eigenvalue, relative to the largest one after
#: scaling to unit diagonal, is below this.
_SINGULAR = 1e-11
#: Errors of clusters are corrected for their sizes if their effective number is less than this
#: proportion of their number. With 60 users of whom the first had 60 times as many battles as the
#: last, Student's t of 59 degrees of freedom covered the truth 88 times of 100, corrected 95 times;
#: with 1 to 8 battles each both cover it 95 times.
EVEN = 0.75
#: The errors of systems with fewer clusters, or fewer independent battles, than this are estimated
#: from so few scores that they are corrected for their own number, and at least those of the model.
#: Of 40 battles of a system in 2 clusters, the interval covered its rating 72 times of 100 without.
FEW_UNITS = 30


class Derivatives(NamedTuple):
    """Log-likelihood of each battle and its derivatives by d and by the parameter of ties g.

    ``info_…`` are the negative second derivatives.
    """

    log_likelihood: FloatArray
    score_d: FloatArray
    score_g: FloatArray
    info_dd: FloatArray
    info_dg: FloatArray
    info_gg: FloatArray


class TieModel(Protocol):
    """Model of the outcome of a battle, given d and the parameter of ties g."""

    #: Name of the model in results, and whether it has a parameter of ties.
    name: str
    has_parameter: bool
    #: Name of this parameter in the literature.
    parameter_name: str
    #: Value of g that the search begins with.
    start: float

    def derivatives(self, d: FloatArray, g: float, outcome: IntArray) -> Derivatives:
        """Return the log-likelihood of each battle and its derivatives."""

    def expected_score(self, d: FloatArray, g: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return P(win) + P(tie)/2, and its derivatives by d and g."""

    def tie_parameter(self, g: float) -> float:
        """Return the parameter of ties as the literature has it."""


class Davidson:
    """Davidson (1970): the odds of win, loss and tie are e^(d/2) : e^(−d/2) : ν with ν = e^g."""

    name, has_parameter, parameter_name, start = "Davidson", True, "ν", 0.0

    def _probabilities(self, d: FloatArray, g: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        largest = np.maximum(np.abs(d) / 2, g)
        win, loss, tie = np.exp(d / 2 - largest), np.exp(-d / 2 - largest), np.exp(g - largest)
        total = win + loss + tie
        return win / total, loss / total, tie / total

    def derivatives(self, d: FloatArray, g: float, outcome: IntArray) -> Derivatives:
        """Return the log-likelihood of each battle and its derivatives."""
        win, loss, tie = self._probabilities(d, g)
        largest = np.maximum(np.abs(d) / 2, g)
        log_total = largest + np.log(
            np.exp(d / 2 - largest) + np.exp(-d / 2 - largest) + np.exp(g - largest)
        )
        side, is_tie = (outcome - TIE) / 2.0, outcome == TIE
        mean = (win - loss) / 2
        return Derivatives(
            side * d + is_tie * g - log_total,
            side - mean,
            is_tie - tie,
            (win + loss) / 4 - mean**2,
            -mean * tie,
            tie * (1 - tie),
        )

    def expected_score(self, d: FloatArray, g: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return P(win) + P(tie)/2, and its derivatives by d and g."""
        win, loss, tie = self._probabilities(d, g)
        score = win + tie / 2
        return score, win / 2 - (win - loss) / 2 * score, tie / 2 - tie * score

    def tie_parameter(self, g: float) -> float:
        """Return ν."""
        return math.exp(g)


class RaoKupper:
    """Rao and Kupper (1967): P(win) = σ(d − g), P(loss) = σ(−d − g), and θ = e^g ≥ 1."""

    name, has_parameter, parameter_name, start = "Rao-Kupper", True, "θ", 0.5

    def derivatives(self, d: FloatArray, g: float, outcome: IntArray) -> Derivatives:
        """Return the log-likelihood of each battle and its derivatives.

        P(tie) = (θ² − 1) P(win) P(loss), so that all terms are those of two logistic functions.
        """
        if g <= 0:
            infinite = np.full(len(d), -math.inf)
            return Derivatives(infinite, *[np.zeros(len(d))] * 5)
        is_win, is_loss, is_tie = outcome == WIN, outcome == LOSS, outcome == TIE
        counts_win, counts_loss = is_win | is_tie, is_loss | is_tie
        not_win, not_loss = _logistic(g - d), _logistic(g + d)
        growth = 2 / -math.expm1(-2 * g)
        log_likelihood = (
            is_tie * (2 * g + math.log(-math.expm1(-2 * g)))
            - counts_win * np.logaddexp(0, g - d)
            - counts_loss * np.logaddexp(0, g + d)
        )
        win_info = counts_win * not_win * (1 - not_win)
        loss_info = counts_loss * not_loss * (1 - not_loss)
        return Derivatives(
            log_likelihood,
            counts_win * not_win - counts_loss * not_loss,
            is_tie * growth - counts_win * not_win - counts_loss * not_loss,
            win_info + loss_info,
            loss_info - win_info,
            win_info + loss_info + is_tie / math.sinh(g) ** 2,
        )

    def expected_score(self, d: FloatArray, g: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return P(win) + P(tie)/2, and its derivatives by d and g."""
        win, loss = _logistic(d - g), _logistic(-d - g)
        win_slope, loss_slope = win * (1 - win), loss * (1 - loss)
        return (
            (1 + win - loss) / 2,
            (win_slope + loss_slope) / 2,
            (loss_slope - win_slope) / 2,
        )

    def tie_parameter(self, g: float) -> float:
        """Return θ."""
        return math.exp(g)


class BradleyTerry:
    """Bradley and Terry (1952): P(win) = σ(d); a tie is half a win and half a loss."""

    name, has_parameter, parameter_name, start = "Bradley-Terry", False, "", 0.0

    def derivatives(self, d: FloatArray, g: float, outcome: IntArray) -> Derivatives:
        """Return the log-likelihood of each battle and its derivatives."""
        win, score, zero = _logistic(d), outcome / 2.0, np.zeros(len(d))
        log_likelihood = score * d - np.logaddexp(0, d)
        return Derivatives(log_likelihood, score - win, zero, win * (1 - win), zero, zero)

    def expected_score(self, d: FloatArray, g: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return P(win) + P(tie)/2, and its derivatives by d and g."""
        win = _logistic(d)
        return win, win * (1 - win), np.zeros(d.shape)

    def tie_parameter(self, g: float) -> float:
        """Return NaN, as there is no such parameter."""
        return math.nan


#: Models by the value of the option ``ties``.
TIE_MODELS: Mapping[str, TieModel] = {
    "davidson": Davidson(),
    "rao-kupper": RaoKupper(),
    "half": BradleyTerry(),
}


def _logistic(x: FloatArray) -> FloatArray:
    from scipy.special import expit

    return np.asarray(expit(x))


@dataclass(frozen=True, eq=False)
class BattleData:
    """Battles that a model is fitted to: cells of equal battles, or single battles.

    Attributes
    ----------
    n_systems : int
        Number of systems K.
    first, second, outcome : ndarray of shape (n,)
        Systems, as indices, and outcome for the first one, as in :class:`BattleCounts`.
    weight : ndarray of shape (n,)
        Sum of weights.
    squares : ndarray of shape (n,)
        Sum of squared weights of independent battles.
    covariates : ndarray of shape (n, s)
        Covariates, signed so that they favor the first system.
    n_battles : float
        Number of battles.
    """

    n_systems: int
    first: IntArray
    second: IntArray
    outcome: IntArray
    weight: FloatArray
    squares: FloatArray
    covariates: FloatArray
    n_battles: float

    @classmethod
    def from_counts(cls, counts: BattleCounts, *, has_position: bool = False) -> BattleData:
        """Return the cells of counts; with ``has_position`` a covariate is 1 in each of them."""
        cells = counts if has_position else counts.without_order()
        return cls(
            len(cells.systems),
            cells.first_of,
            cells.second_of,
            cells.outcome_of,
            cells.weight,
            cells.squares,
            np.ones((len(cells.weight), int(has_position))),
            float(cells.battles.sum()),
        )

    def sums(self, dd: FloatArray, dg: FloatArray, gg: FloatArray) -> FloatArray:
        """Return the sum over battles of a quadratic form in all parameters.

        Each battle has the vector (eᵢ − eⱼ, x) by the systems and covariates, which ``dd``
        multiplies, and a 1 for the parameter of ties, which ``gg`` multiplies; ``dg`` multiplies
        their products. Parameters are the strengths, g, and the effects.
        """
        k = self.n_systems
        products = np.bincount(self.first * k + self.second, dd, k * k).reshape(k, k)
        total = np.zeros((k + 1 + self.covariates.shape[1],) * 2)
        total[:k, :k] = -(products + products.T)
        total[:k, :k][np.diag_indices(k)] += products.sum(axis=0) + products.sum(axis=1)
        total[k, k] = gg.sum()
        total[:k, k] = self.system_sums(dg)
        for j, column in enumerate(self.covariates.T, k + 1):
            total[:k, j] = self.system_sums(dd * column)
            total[k, j] = (dg * column).sum()
            total[k + 1 : j + 1, j] = (dd * column) @ self.covariates[:, : j - k]
        return np.asarray(np.triu(total) + np.triu(total, 1).T)

    def system_sums(self, values: FloatArray) -> FloatArray:
        """Return sums of values by system, positive for the first and negative for the second."""
        k = self.n_systems
        sums = np.bincount(self.first, values, k) - np.bincount(self.second, values, k)
        return np.asarray(sums, np.float64)

    def totals(self, values: FloatArray) -> FloatArray:
        """Return sums of values by system, over battles on either side."""
        by_side = [np.bincount(i, values, self.n_systems) for i in (self.first, self.second)]
        return np.asarray(by_side[0] + by_side[1], np.float64)

    def gradient(self, d: FloatArray, g: FloatArray) -> FloatArray:
        """Return the sums of the derivatives by all parameters, from those by d and g."""
        return np.concatenate([self.system_sums(d), [g.sum()], d @ self.covariates])

    def differences(self, parameters: FloatArray) -> FloatArray:
        """Return d of each battle."""
        strengths, effects = parameters[: self.n_systems], parameters[self.n_systems + 1 :]
        d = strengths[self.first] - strengths[self.second]
        return d + self.covariates @ effects if len(effects) else d


class _Maximum(NamedTuple):
    """Maximum of the likelihood: parameters, its logarithm, gradient, information, derivatives."""

    parameters: FloatArray
    log_likelihood: float
    gradient: FloatArray
    information: FloatArray
    derivatives: Derivatives


class NoMaximumError(Exception):
    """The likelihood has no maximum, or more than one."""


def _evaluate(data: BattleData, model: TieModel, parameters: FloatArray) -> _Maximum:
    g = float(parameters[data.n_systems])
    derivatives = model.derivatives(data.differences(parameters), g, data.outcome)
    log_likelihood, d, by_g, dd, dg, gg = (data.weight * values for values in derivatives)
    return _Maximum(
        parameters,
        float(log_likelihood.sum()),
        data.gradient(d, by_g),
        data.sums(dd, dg, gg),
        derivatives,
    )


def _maximize(data: BattleData, model: TieModel, start: FloatArray, basis: Any) -> _Maximum:
    """Maximize the likelihood by Newton's method over start + basis·φ.

    The basis is a matrix, or the indices of the parameters that are free. The logarithm of each
    likelihood is concave, and steps are halved where it does not increase.
    """
    current, k = _evaluate(data, model, start), data.n_systems
    step = np.zeros(len(start))
    for _ in range(_MAX_STEPS):
        if basis.ndim == 1:
            information = current.information[np.ix_(basis, basis)]
            step[basis] = _solve(information, current.gradient[basis])
        else:
            information = basis.T @ current.information @ basis
            step = basis @ _solve(information, basis.T @ current.gradient)
        factor = 1.0
        while True:
            following = _evaluate(data, model, current.parameters + factor * step)
            slack = _ROUNDING * (1 + abs(current.log_likelihood))
            if following.log_likelihood >= current.log_likelihood - slack or factor < 1e-9:
                break
            factor /= 2
        # (Strengths that are far apart are found only if they exist.)
        effects = np.abs(following.parameters[k:])
        if effects.max() > _MAX_EFFECT:
            raise NoMaximumError
        current = following
        if np.abs(factor * step).max() < _TOLERANCE:
            return current
    raise NoMaximumError


def _solve(matrix: FloatArray, vector: FloatArray) -> FloatArray:
    """Solve a linear system with an information matrix; raise an error if it is singular."""
    from scipy.linalg import cho_factor, cho_solve

    if not len(vector):
        return vector
    scale = np.sqrt(np.diag(matrix))
    if not (scale > 0).all():
        raise NoMaximumError
    try:
        factor = cho_factor(matrix / np.outer(scale, scale), lower=True)
    except np.linalg.LinAlgError:
        factor = None
    if factor is None or np.square(np.diag(factor[0])).min() < _SINGULAR:
        raise NoMaximumError
    return np.asarray(cho_solve(factor, vector / scale) / scale)


# --- Existence ------------------------------------------------------------------------------------


def rated_component(counts: BattleCounts, reference: int | None = None) -> npt.NDArray[np.intp]:
    """Return the systems that can be rated on a common scale.

    They are a strongly connected component of the graph of wins, in which a tie is a win of both
    (Ford 1957): that of the ``reference``, or else the largest one, and of equal ones that with
    most battles.
    """
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    k = len(counts.systems)
    winners, losers = _edges(counts, WIN), _edges(counts, TIE)
    tail = np.concatenate([winners[0], losers[0], losers[1]])
    head = np.concatenate([winners[1], losers[1], losers[0]])
    graph = coo_matrix((np.ones(len(tail)), (tail, head)), (k, k))
    _, labels = connected_components(graph, directed=True, connection="strong")
    if reference is not None:
        return np.flatnonzero(labels == labels[reference])
    sizes = np.bincount(labels)
    # (Battles within the component; of a single system, all of its battles.)
    inner = labels[counts.first_of] == labels[counts.second_of]
    battles = np.bincount(labels[counts.first_of][inner], counts.battles[inner], len(sizes))
    all_battles = np.bincount(labels, counts.records().sum(axis=1), len(sizes))
    order = np.lexsort((all_battles, battles, sizes))
    return np.flatnonzero(labels == order[-1])


def _edges(counts: BattleCounts, outcome: int) -> tuple[IntArray, IntArray]:
    """Return the winner and the loser of each cell; for ties, both systems."""
    selected = counts.outcome_of == outcome
    first, second = counts.first_of[selected], counts.second_of[selected]
    if outcome == TIE:
        return first, second
    is_loss = counts.outcome_of == LOSS
    return (
        np.concatenate([first, counts.second_of[is_loss]]),
        np.concatenate([second, counts.first_of[is_loss]]),
    )


def has_tie_estimate(counts: BattleCounts) -> bool:
    """Return whether the parameter of ties has a finite estimate.

    It has none if strengths exist in which every winner is ahead by at least 1 and tied systems are
    at most 1 apart: all of them, with the parameter of ties, then grow without limit. There are no
    such strengths if and only if a cycle of the graph of battles has more wins than ties.
    """
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import NegativeCycleError, bellman_ford, connected_components

    k = len(counts.systems)
    winners, losers = _edges(counts, WIN)
    if not len(winners):
        return False
    wins = coo_matrix((np.ones(len(winners)), (winners, losers)), (k, k))
    if connected_components(wins, directed=True, connection="strong")[0] < k:
        return True  # a cycle of wins
    first, second = _edges(counts, TIE)
    # Of two edges between the same systems, the shorter one counts. (Zeros would be no edges.)
    lengths = np.full((k, k), np.inf)
    lengths[first, second] = lengths[second, first] = 1.0
    lengths[winners, losers] = -1.0
    edges = np.isfinite(lengths)
    tail, head = np.nonzero(edges)
    graph = coo_matrix((lengths[edges], (tail, head)), (k, k))
    try:
        bellman_ford(graph, directed=True, indices=[0])
    except NegativeCycleError:
        return True
    return False


# --- The fit --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class BattleFit:
    """Fit of a model to battles of systems that can be rated.

    Parameters are the strengths of the K systems, of which the first is 0, the parameter of ties g
    (0 if there is none), and the effects of the covariates.

    Attributes
    ----------
    model : TieModel
        Model of ties.
    data : BattleData
        Battles.
    parameters : ndarray of shape (p,)
        Estimated parameters.
    log_likelihood : float
        Logarithm of the likelihood.
    covariance : ndarray of shape (p, p)
        Sandwich estimate of the covariance of the parameters.
    model_covariance : ndarray of shape (p, p)
        Inverse information, which is correct if the model is and battles are independent.
    units : UnitsBySystem
        Number of independent units of each system.
    df : float or None
        Degrees of freedom of the errors; None for the normal distribution.
    """

    model: TieModel
    data: BattleData
    parameters: FloatArray
    log_likelihood: float
    covariance: FloatArray
    model_covariance: FloatArray
    units: UnitsBySystem
    df: float | None = None

    @property
    def n_systems(self) -> int:
        """Number of systems."""
        return self.data.n_systems

    @property
    def tie_parameter(self) -> float:
        """Parameter of ties as the literature has it; NaN if the model has none."""
        return self.model.tie_parameter(float(self.parameters[self.n_systems]))

    def contrasts(self, reference: int | None = None) -> FloatArray:
        """Return the matrix from parameters to strengths relative to a system, or to the mean."""
        k = self.n_systems
        matrix = np.zeros((k, len(self.parameters)))
        matrix[:, :k] = np.eye(k)
        if reference is None:
            matrix[:, :k] -= 1 / k
        else:
            matrix[:, reference] -= 1
        return matrix

    def rating_df(self, reference: int | None = None) -> FloatArray | None:
        """Return the degrees of freedom of each strength relative to a system, or to the mean.

        None stands for the normal distribution. Relative to the mean they are those of the system
        itself, whose battles determine most of the error. Relative to a system they are those of
        two independent means (Welch 1947).
        """
        if self.df is None:
            return None
        df = self.units.df(self.df)
        if reference is None:
            return df
        return self._welch_df(df)[:, reference]

    def pair_df(self) -> FloatArray | float | None:
        """Return the degrees of freedom of the difference of each two strengths, or of all."""
        if self.df is None or not self.units.is_few.any():
            return self.df
        return self._welch_df(self.units.df(self.df))

    def _welch_df(self, df: FloatArray) -> FloatArray:
        contrasts = self.contrasts()
        variances = np.einsum("ij,jk,ik->i", contrasts, self.covariance, contrasts, optimize=True)
        total = variances[:, None] + variances
        has_df = df >= 1
        terms = np.square(variances) / np.where(has_df, df, 1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            pairs = np.square(total) / (terms[:, None] + terms)
        return np.where(has_df[:, None] & has_df, np.minimum(pairs, self.df or math.inf), 0.0)

    @cached_property
    def expected_scores(self) -> tuple[FloatArray, FloatArray]:
        """Expected score of each system against the average other one, and its standard error.

        It is the mean over the other systems of P(win) + P(tie)/2, without effects of covariates,
        and NaN if there is no other one.
        """
        k, strengths = self.n_systems, self.parameters[: self.n_systems]
        d = strengths[:, None] - strengths
        score, by_d, by_g = self.model.expected_score(d, float(self.parameters[k]))
        for matrix in (score, by_d, by_g):
            np.fill_diagonal(matrix, 0.0)
        gradient = np.zeros((k, len(self.parameters)))
        gradient[:, :k] = np.diag(by_d.sum(axis=1)) - by_d
        gradient[:, k] = by_g.sum(axis=1)
        gradient /= max(k - 1, 1)
        if k == 1:  # there is no other system
            return np.full(1, math.nan), np.full(1, math.nan)
        variances = np.einsum("ij,jk,ik->i", gradient, self.covariance, gradient, optimize=True)
        return score.sum(axis=1) / max(k - 1, 1), np.sqrt(np.maximum(variances, 0.0))


@dataclass(frozen=True, eq=False)
class UnitsBySystem:
    """Number of independent units, battles or clusters, over which the battles of systems spread.

    Attributes
    ----------
    number : ndarray of shape (K,)
        Number of clusters with battles of each system; without clusters, of its battles.
    effective : ndarray of shape (K,)
        Number of units of equal weight that is as much: (Σw)²/Σw² over units of weight w.
    """

    number: FloatArray
    effective: FloatArray

    @classmethod
    def from_sums(
        cls, weights: FloatArray, squares: FloatArray, number: FloatArray | None = None
    ) -> UnitsBySystem:
        """Return the numbers from sums over units of their weights and of the squares of these.

        Without a number of units it is the effective one.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            effective = np.where(squares > 0, weights**2 / squares, 0.0)
        if number is None:
            return cls(effective, effective)
        return cls(number, np.where(effective >= EVEN * number, number, effective))

    @property
    def is_few(self) -> npt.NDArray[np.bool_]:
        """Whether the units of each system are few."""
        return np.asarray(self.effective < FEW_UNITS)

    def df(self, df: float) -> FloatArray:
        """Return the degrees of freedom of each system, ``df`` where its units are not few."""
        return np.where(self.is_few, np.minimum(self.effective - 1, df), df)


@dataclass(frozen=True, eq=False)
class ClusteredBattles:
    """Single battles in clusters: the index of each in the data of a fit, and its weight."""

    index: npt.NDArray[np.integer[Any]]
    weight: FloatArray | None
    clusters: ClusterIndex

    @classmethod
    def from_codes(
        cls,
        data: BattleData,
        first: npt.NDArray[np.integer[Any]],
        second: npt.NDArray[np.integer[Any]],
        outcome: npt.NDArray[np.integer[Any]],
        weight: FloatArray | None,
        clusters: ClusterIndex,
    ) -> ClusteredBattles:
        """Find the cells of battles, given their systems and outcomes, in data that are cells."""
        if not data.covariates.shape[1]:  # there is one order of each pair
            is_reversed = first > second
            first, second = np.minimum(first, second), np.maximum(first, second)
            outcome = np.where(is_reversed, WIN - outcome, outcome)
        cell = cell_codes(first, second, outcome, data.n_systems)
        cells = cell_codes(data.first, data.second, data.outcome, data.n_systems)  # ascending
        size = int(cells[-1]) + 1
        if size > 4 * len(cell) + (1 << 20):
            return cls(np.searchsorted(cells, cell).astype(np.int32), weight, clusters)
        index_by_cell = np.zeros(size, np.int32)
        index_by_cell[cells] = np.arange(len(cells))
        return cls(index_by_cell[cell], weight, clusters)

    @cached_property
    def _weighted(self) -> ClusterIndex:
        return replace(self.clusters, weight=self.weight)

    @property
    def count_text(self) -> str:
        """Number of clusters as text, with the effective one if errors are corrected for it."""
        n = self.clusters.n_clusters
        return f"{n:,} clusters" if self.is_even else self._weighted.count_text

    @cached_property
    def is_even(self) -> bool:
        """Whether the clusters have nearly the same number of battles."""
        return self._weighted.n_effective_clusters >= EVEN * self.clusters.n_clusters

    @property
    def df(self) -> float:
        """Degrees of freedom: the (effective) number of clusters minus 1."""
        return self.clusters.n_clusters - 1.0 if self.is_even else self._weighted.df

    @property
    def corrections(self) -> FloatArray:
        """Factor of the scores of each cluster by which variances are unbiased.

        It is √(C/(C − 1)) for C equal clusters. A cluster with the proportion h of the battles has
        1/√(1 − h), as with the CR2 estimator of a mean.
        """
        weights = self._weighted.cluster_weights
        n = self.clusters.n_clusters
        if n < 2:
            return np.full(len(weights), math.nan)
        proportions = np.full(len(weights), 1 / n) if self.is_even else weights / weights.sum()
        return np.asarray(1 / np.sqrt(1 - proportions))


def fit_battles(
    data: BattleData,
    model: TieModel,
    clustered: ClusteredBattles | None = None,
    labels: Sequence[str] = (),
) -> BattleFit:
    """Fit a model by maximum likelihood, with sandwich errors.

    The errors allow for a wrong model and for dependence of the battles of a cluster (Huber 1967,
    White 1982, Liang and Zeger 1986). Their covariance is H⁻¹MH⁻¹, where H is the observed
    information and M the sum of the squared scores of the units, times n/(n − 1) for n units. For
    clusters of unequal sizes the correction is that of CR2 (Bell and McCaffrey 2002).

    Parameters
    ----------
    data : BattleData
        Battles of systems that are all connected.
    model : TieModel
        Model of ties.
    clustered : ClusteredBattles, optional
        Clusters of the battles; otherwise they are independent.
    labels : sequence of str
        Names of the covariates, for messages.

    Returns
    -------
    BattleFit
        The fit.

    Raises
    ------
    InputError
        If the effects of the covariates cannot be estimated.
    """
    k = data.n_systems
    has_ties = model.has_parameter and bool((data.outcome == TIE).any())
    if model.has_parameter and not has_ties:
        model = TIE_MODELS["half"]  # which all models are without ties
    start = np.zeros(k + 1 + data.covariates.shape[1])
    start[k] = model.start
    fixed = [0] if has_ties else [0, k]
    free = np.delete(np.arange(len(start)), fixed)
    try:
        maximum = _maximize(data, model, start, free)
    except NoMaximumError:
        names = [labels[j] for j in _confounded_covariates(data, model, start, fixed)]
        raise InputError(_no_effect_message(names)) from None
    inverse = np.zeros((len(start), len(start)))
    inverse[np.ix_(free, free)] = np.linalg.inv(maximum.information[np.ix_(free, free)])
    derivatives, df = maximum.derivatives, None
    d, g = derivatives.score_d, derivatives.score_g
    if clustered is None:
        n = data.n_battles
        correction = n / (n - 1) if n > 1 else math.nan
        squares = data.squares * correction
        meat = data.sums(squares * d * d, squares * d * g, squares * g * g)
        units = UnitsBySystem.from_sums(data.totals(data.weight), data.totals(data.squares))
        n_units = np.where(units.is_few & (units.effective > 1), units.effective, n)
        scale = np.ones(len(meat))
        scale[:k] = np.sqrt(n_units / (n_units - 1) / correction) if n > 1 else 1.0
        meat *= np.outer(scale, scale)
    else:
        meat, units = _cluster_products(data, clustered, d, g)
        df = clustered.df
    _raise_to_model(meat, data, derivatives, units)
    covariance = inverse @ meat @ inverse
    return BattleFit(
        model, data, maximum.parameters, maximum.log_likelihood, covariance, inverse, units, df
    )


def _raise_to_model(
    meat: FloatArray, data: BattleData, derivatives: Derivatives, units: UnitsBySystem
) -> None:
    """Raise variances of the scores of systems with few units to those by the model.

    Few scores may happen to be alike: those of three ties, or of the battles of one cluster, add up
    to 0.
    """
    if not units.is_few.any():
        return
    information = data.totals(data.squares * derivatives.info_dd)
    systems = np.flatnonzero(units.is_few)
    meat[systems, systems] = np.maximum(meat[systems, systems], information[systems])


def profile_limit(
    data: BattleData, fit: BattleFit, level: float, *, wins: bool, reference: int | None = None
) -> float:
    """Return the limit of the strength of a system that has won, or lost, all of its battles.

    Its estimate is infinite, but all strengths are rejected with which the profile likelihood is
    less than (1 − level)/2 of its maximum. For w wins against one opponent that is the limit of
    Clopper and Pearson, logit(((1 − level)/2)^(1/w)). The limit of the likelihood ratio test, where
    twice the logarithm is less by the square of the normal quantile, is too high: of one battle it
    covers 85 of 100.

    Parameters
    ----------
    data : BattleData
        Battles of the systems of ``fit`` and of one more, which is the last.
    fit : BattleFit
        Fit without this system.
    level : float
        Confidence level of an interval whose other limit is infinite.
    wins : bool
        Whether the system has won all of its battles, so that the limit is a lower one.
    reference : int, optional
        System that has strength 0. By default the mean of those of ``fit`` is 0.

    Returns
    -------
    float
        Limit of the strength relative to the reference.

    Examples
    --------
    >>> won = BattleCounts.from_codes(np.array([1]), np.array([0]), np.array([2]), ("a", "b"))
    >>> alone = BattleData.from_counts(won.select_systems(np.array([0])))
    >>> fit = fit_battles(alone, TIE_MODELS["half"])
    >>> round(profile_limit(BattleData.from_counts(won), fit, 0.95, wins=True), 4)
    -3.6636
    """
    from scipy.special import logit

    k, n_effects = fit.n_systems, data.covariates.shape[1]
    # Weights are relative; here their effective number of battles counts.
    data = replace(data, weight=data.weight * _weight_scale(data))
    drop = -math.log((1 - level) / 2)
    target = fit.log_likelihood * _weight_scale(fit.data) - drop
    contrast = np.full(k, 1 / k) if reference is None else np.eye(k)[reference]
    is_free = np.ones(k + 1 + n_effects, bool)
    is_free[[0] if fit.model.has_parameter else [0, k]] = False
    basis = np.insert(np.eye(k + 1 + n_effects), k, 0.0, axis=0)[:, is_free]
    basis[k, : k - 1] = contrast[1:]
    is_outside = (data.first == k) | (data.second == k)
    opponents = np.where(data.first == k, data.second, data.first)[is_outside]
    weight, sign = data.weight[is_outside], 1 if wins else -1
    mean = contrast @ fit.parameters[:k]
    value = float(weight @ fit.parameters[opponents] / weight.sum() - mean)
    value += sign * float(logit(math.exp(-drop / weight.sum())))
    parameters = np.insert(fit.parameters, k, mean + value)
    for _ in range(_MAX_STEPS):
        maximum = _maximize(data, fit.model, parameters, basis)
        step = (target - maximum.log_likelihood) / maximum.gradient[k]
        # The profile is concave: from below its root, Newton's method does not pass it.
        step = float(np.clip(step, -_MAX_LIMIT_STEP, _MAX_LIMIT_STEP))
        value += step
        if abs(step) < _TOLERANCE * (1 + abs(value)):
            return value
        parameters = maximum.parameters.copy()
        parameters[k] += step
    return math.nan


def _weight_scale(data: BattleData) -> float:
    squares = float(data.squares.sum())
    return float(data.weight.sum()) / squares if squares else 1.0


def _confounded_covariates(
    data: BattleData, model: TieModel, start: FloatArray, fixed: list[int]
) -> list[int]:
    """Return the covariates whose effects have no maximum likelihood.

    They are those without which there is a maximum or, if there is no such one, those that have
    none alone.
    """
    n_covariates = data.covariates.shape[1]

    def has_maximum(covariates: list[int]) -> bool:
        selected = replace(data, covariates=data.covariates[:, covariates])
        first_parameters = start[: data.n_systems + 1 + len(covariates)]  # effects start at 0
        free = np.delete(np.arange(len(first_parameters)), fixed)
        try:
            _maximize(selected, model, first_parameters, free)
        except NoMaximumError:
            return False
        return True

    indices = list(range(n_covariates))
    omitted_indices = [j for j in indices if has_maximum([i for i in indices if i != j])]
    return omitted_indices or [j for j in indices if not has_maximum([j])] or indices


def _no_effect_message(names: Sequence[str]) -> str:
    if not names:
        return "the likelihood of these battles has no maximum, so there are no ratings"
    return (
        f"the effect of {' and of '.join(names)} cannot be estimated: it is determined by the "
        "systems of a battle, or determines the outcome; leave it out"
    )


def _cluster_products(
    data: BattleData, clustered: ClusteredBattles, d: FloatArray, g: FloatArray
) -> tuple[FloatArray, UnitsBySystem]:
    """Return the sum over clusters of the products of their scores, and the clusters by system."""
    from calipers import _core

    k = data.n_systems

    def products(weights: FloatArray | None) -> tuple[FloatArray, FloatArray]:
        return _core.cluster_products(
            clustered.clusters.codes,
            clustered.corrections,
            clustered.index.astype(np.int32, copy=False),
            clustered.weight,
            data.first.astype(np.int64, copy=False),
            data.second.astype(np.int64, copy=False),
            d,
            g,
            np.ascontiguousarray(data.covariates),
            k,
            weights,
        )

    total, (number, squares) = products(None)
    weights = data.totals(data.weight)
    units = UnitsBySystem.from_sums(weights, squares, number)
    if units.is_few.any():
        total = products(np.where(units.is_few, weights, math.inf))[0]
    return total, units
