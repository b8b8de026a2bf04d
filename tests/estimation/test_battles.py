"""Models of battles against published values, SciPy's optimizers and sums written out."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import brentq, linprog, minimize
from scipy.special import logit

from calipers.data.errors import InputError
from calipers.estimation.battles import (
    ELO,
    TIE_MODELS,
    BattleData,
    BattleFit,
    ClusteredBattles,
    fit_battles,
    has_tie_estimate,
    profile_limit,
    rated_component,
)
from calipers.inference.clusters import ClusterIndex
from calipers.statistics.battles import BattleCounts

MODELS = tuple(TIE_MODELS)
WIN, TIE, LOSS = 2, 1, 0


def counted(cells: list[tuple[int, int, int, float]], systems: int | None = None) -> BattleCounts:
    """Counts of cells (first, second, outcome, number)."""
    first, second, outcome, number = (np.array(x) for x in zip(*cells, strict=True))
    size = int(max(first.max(), second.max())) + 1 if systems is None else systems
    names = tuple(f"s{i}" for i in range(size))
    return BattleCounts.from_codes(first, second, outcome, names, battles=number.astype(float))


def fitted(cells: list[tuple[int, int, int, float]], ties: str) -> BattleFit:
    return fit_battles(BattleData.from_counts(counted(cells)), TIE_MODELS[ties])


def drawn(seed: int, n: int = 400, systems: int = 5, nu: float = 0.8) -> tuple[Any, Any, Any]:
    """Battles by the model of Davidson."""
    generator = np.random.default_rng(seed)
    strengths = generator.normal(0, 0.7, systems)
    first = generator.integers(0, systems, n)
    second = (first + generator.integers(1, systems, n)) % systems
    d = strengths[first] - strengths[second]
    odds = np.array([np.exp(-d / 2), np.full(n, nu), np.exp(d / 2)])
    thresholds = np.cumsum(odds, axis=0) / odds.sum(axis=0)
    return first, second, (generator.random(n) > thresholds[:2]).sum(axis=0)


# ------------------------------------------------------------------------------- published values

#: Citations between four journals (Stigler 1994; Agresti, Categorical data analysis).
CITATIONS = {
    (0, 1): (730, 33), (0, 2): (498, 320), (0, 3): (221, 284),
    (1, 2): (68, 813), (1, 3): (17, 276), (2, 3): (142, 325),
}  # fmt: skip


def test_citations_of_journals() -> None:
    """As the R package BradleyTerry2 has them."""
    cells = [
        (a, b, outcome, n)
        for (a, b), numbers in CITATIONS.items()
        for outcome, n in zip((WIN, LOSS), numbers, strict=True)
    ]
    fit = fitted(cells, "half")
    assert fit.parameters[1:4] == pytest.approx([-2.94907, -0.47957, 0.26895], abs=5e-6)
    model_errors = np.sqrt(np.diag(fit.model_covariance))[1:4]
    assert model_errors == pytest.approx([0.10255, 0.06059, 0.07083], abs=5e-6)
    errors = np.sqrt(np.diag(fit.covariance))[1:4]
    assert errors == pytest.approx([0.10208, 0.06051, 0.07111], abs=6e-6)


@pytest.mark.parametrize(
    ("ties", "ratio", "parameter", "elo", "model_se", "se"),
    [
        ("davidson", 1.6, 1.106797, 81.65, 44.29, 44.51),
        ("rao-kupper", 1.414214, 2.121320, 60.21, 32.44, 32.60),
        ("half", 1.352941, np.nan, 52.51, 35.14, 28.30),
    ],
)
def test_40_wins_25_losses_and_35_ties(
    ties: str, ratio: float, parameter: float, elo: float, model_se: float, se: float
) -> None:
    fit = fitted([(0, 1, WIN, 40), (0, 1, LOSS, 25), (0, 1, TIE, 35)], ties)
    assert np.exp(-fit.parameters[1]) == pytest.approx(ratio, abs=5e-7)
    assert fit.tie_parameter == pytest.approx(parameter, abs=5e-7, nan_ok=True)
    assert -ELO * fit.parameters[1] == pytest.approx(elo, abs=0.005)
    assert ELO * fit.model_covariance[1, 1] ** 0.5 == pytest.approx(model_se, abs=0.006)
    assert ELO * fit.covariance[1, 1] ** 0.5 == pytest.approx(se, abs=0.006)


@pytest.mark.parametrize("wins", [1, 5, 20])
@pytest.mark.parametrize("ties", MODELS)
def test_limits_of_one_that_always_wins_or_loses(ties: str, wins: int) -> None:
    limit = logit(stats.binomtest(wins, wins).proportion_ci(0.95, "exact").low)
    for sign, outcome in ((1, WIN), (-1, LOSS)):
        counts = counted([(1, 0, outcome, wins)])
        alone = BattleData.from_counts(counts.select_systems(np.array([0])))
        fit = fit_battles(alone, TIE_MODELS[ties])
        data = BattleData.from_counts(counts)
        found = profile_limit(data, fit, 0.95, wins=sign > 0)
        assert sign * found == pytest.approx(limit, abs=1e-7)


# --------------------------------------------------------------------------------- the likelihood


def probabilities(ties: str, d: float, g: float) -> dict[int, float]:
    """As the three papers have them."""
    p, q = np.exp(d), 1.0
    if ties == "davidson":
        nu = np.exp(g)
        total = p + q + nu * np.sqrt(p * q)
        return {WIN: p / total, LOSS: q / total, TIE: nu * np.sqrt(p * q) / total}
    if ties == "rao-kupper":
        theta = np.exp(g)
        win, loss = p / (p + theta * q), q / (q + theta * p)
        return {
            WIN: win,
            LOSS: loss,
            TIE: (theta**2 - 1) * p * q / ((p + theta * q) * (q + theta * p)),
        }
    return {WIN: p / (p + q), LOSS: q / (p + q)}


def log_likelihood(ties: str, d: float, g: float, outcome: int) -> float:
    p = probabilities(ties, d, g)
    if ties == "half" and outcome == TIE:
        return float(np.log(p[WIN]) + np.log(p[LOSS])) / 2
    return float(np.log(p[outcome]))


@pytest.mark.parametrize("ties", MODELS)
@pytest.mark.parametrize("outcome", [WIN, TIE, LOSS])
@pytest.mark.parametrize(("d", "g"), [(0.3, 0.4), (-1.7, 1.1), (6.0, 0.05), (0.0, 2.5)])
def test_derivatives_are_those_of_the_formulas(ties: str, outcome: int, d: float, g: float) -> None:
    found = TIE_MODELS[ties].derivatives(np.array([d]), g, np.array([outcome]))
    h = 1e-4

    def f(i: float, j: float) -> float:
        return log_likelihood(ties, d + i * h, g + j * h, outcome)

    expected = (
        f(0, 0),
        (f(1, 0) - f(-1, 0)) / 2 / h,
        (f(0, 1) - f(0, -1)) / 2 / h,
        -(f(1, 0) + f(-1, 0) - 2 * f(0, 0)) / h**2,
        -(f(1, 1) + f(-1, -1) - f(1, -1) - f(-1, 1)) / 4 / h**2,
        -(f(0, 1) + f(0, -1) - 2 * f(0, 0)) / h**2,
    )
    assert [float(x[0]) for x in found] == pytest.approx(expected, abs=2e-5, rel=2e-5)


@pytest.mark.parametrize("ties", MODELS)
def test_the_fit_maximizes_the_likelihood(ties: str) -> None:
    first, second, outcome = drawn(0)
    generator = np.random.default_rng(1)
    weight, x = generator.random(len(first)), generator.normal(size=len(first))
    data = BattleData(5, first, second, outcome, weight, weight**2, x[:, None], float(len(first)))
    fit = fit_battles(data, TIE_MODELS[ties])
    n_free = 4 + (ties != "half") + 1

    def loss(free: np.ndarray) -> float:
        strengths = np.append(0, free[:4])
        d = strengths[first] - strengths[second] + free[-1] * x
        g = free[4] if ties != "half" else 0.0
        if ties == "rao-kupper" and g <= 0:
            return 1e9
        return -sum(
            w * log_likelihood(ties, *pair, o)
            for w, pair, o in zip(
                weight, zip(d, itertools.repeat(g)), outcome.tolist(), strict=False
            )
        )

    start = np.full(n_free, 0.3)
    best = minimize(loss, start, method="BFGS", options={"gtol": 1e-4})
    found = np.concatenate(
        [fit.parameters[1:5], fit.parameters[5:6] if ties != "half" else [], fit.parameters[6:]]
    )
    assert found == pytest.approx(best.x, abs=2e-4)
    assert fit.log_likelihood == pytest.approx(-best.fun, abs=1e-6)


@pytest.mark.parametrize("ties", MODELS)
def test_cells_and_single_battles_have_the_same_fit(ties: str) -> None:
    first, second, outcome = drawn(2)
    counts = BattleCounts.from_codes(first, second, outcome, tuple("abcde"))
    ones = np.ones(len(first))
    rows = BattleData(5, first, second, outcome, ones, ones, np.ones((len(first), 1)), len(first))
    cells = BattleData.from_counts(counts, has_position=True)
    one, two = (fit_battles(data, TIE_MODELS[ties]) for data in (rows, cells))
    assert one.parameters == pytest.approx(two.parameters, abs=1e-9)
    assert one.covariance == pytest.approx(two.covariance, abs=1e-10)
    # Without the effect of the position, the order of the two systems does not matter.
    plain = fit_battles(BattleData.from_counts(counts), TIE_MODELS[ties])
    reverse = fit_battles(
        BattleData.from_counts(BattleCounts.from_codes(second, first, 2 - outcome, tuple("abcde"))),
        TIE_MODELS[ties],
    )
    assert plain.parameters == pytest.approx(reverse.parameters, abs=1e-12)


def test_models_are_the_same_without_ties() -> None:
    first, second, outcome = drawn(3, nu=0.0)
    counts = BattleCounts.from_codes(first, second, outcome, tuple("abcde"))
    fits = [fit_battles(BattleData.from_counts(counts), model) for model in TIE_MODELS.values()]
    assert fits[0].parameters.tolist() == fits[1].parameters.tolist() == fits[2].parameters.tolist()
    assert {fit.model.name for fit in fits} == {"Bradley-Terry"}


# ------------------------------------------------------------------------------------- the errors


def sandwich(fit: BattleFit, data: BattleData, code: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Scores of single battles, added up by cluster."""
    k, g = data.n_systems, float(fit.parameters[data.n_systems])
    derivatives = fit.model.derivatives(data.differences(fit.parameters), g, data.outcome)
    scores = np.zeros((len(data.first), len(fit.parameters)))
    rows = np.arange(len(data.first))
    scores[rows, data.first] += derivatives.score_d
    scores[rows, data.second] -= derivatives.score_d
    scores[:, k] = derivatives.score_g
    scores[:, k + 1 :] = derivatives.score_d[:, None] * data.covariates
    scores *= weight[:, None]
    names = np.unique(code)
    sums = np.array([scores[code == c].sum(axis=0) for c in names])
    proportions = np.array([weight[code == c].sum() for c in names]) / weight.sum()
    if 1 / np.square(proportions).sum() > 0.8 * len(names):
        proportions = np.full(len(names), 1 / len(names))
    corrected = sums / np.sqrt(1 - proportions)[:, None]
    # A system with few clusters has the proportions of its own battles, and at least the model's error.
    least = np.zeros(len(fit.parameters))
    for i in range(k):
        is_own = (data.first == i) | (data.second == i)
        own = np.array([(weight * is_own)[code == c].sum() for c in names])
        number, effective = np.count_nonzero(own), own.sum() ** 2 / np.square(own).sum()
        if (number if effective >= 0.75 * number else effective) < 30:
            corrected[:, i] = sums[:, i] / np.sqrt(1 - own / own.sum())
            least[i] = (weight**2 * derivatives.info_dd)[is_own].sum()
    meat = corrected.T @ corrected
    np.fill_diagonal(meat, np.maximum(np.diag(meat), least))
    return fit.model_covariance @ meat @ fit.model_covariance


@pytest.mark.parametrize("ties", MODELS)
@pytest.mark.parametrize(("n_systems", "n", "n_clusters"), [(5, 400, 60), (80, 1600, 200)])
@pytest.mark.parametrize("sizes", ["even", "uneven"])
def test_clustered_errors_are_those_of_sums_by_cluster(
    ties: str, n_systems: int, n: int, n_clusters: int, sizes: str
) -> None:
    """Of five systems every cluster has nearly all; of eighty, small clusters have few."""
    first, second, outcome = drawn(4, n, n_systems)
    generator = np.random.default_rng(5)
    code = generator.integers(0, n_clusters, (2, n)).min(axis=0)
    if sizes == "even":
        code = np.arange(n) % n_clusters
    weight, x = generator.random(n), generator.normal(size=(n, 2))
    data = BattleData(n_systems, first, second, outcome, weight, weight**2, x, float(n))
    clusters = ClusterIndex.from_names(code)
    fit = fit_battles(data, TIE_MODELS[ties], ClusteredBattles(np.arange(n), weight, clusters))
    expected = sandwich(fit, data, code, weight)
    assert fit.covariance == pytest.approx(expected, rel=1e-9, abs=1e-12)
    if sizes == "even":
        assert fit.df == n_clusters - 1
    else:
        assert n_clusters / 3 < fit.df < 0.75 * n_clusters


def test_clusters_of_one_battle_are_independent_battles() -> None:
    first, second, outcome = drawn(6)
    ones = np.ones(len(first))
    data = BattleData(5, first, second, outcome, ones, ones, np.zeros((len(first), 0)), len(first))
    clusters = ClusterIndex.from_names(np.arange(len(first)))
    one = fit_battles(data, TIE_MODELS["davidson"])
    two = fit_battles(
        data, TIE_MODELS["davidson"], ClusteredBattles(np.arange(len(first)), None, clusters)
    )
    assert one.covariance == pytest.approx(two.covariance, abs=1e-12)


@pytest.mark.parametrize("ties", MODELS)
def test_expected_scores_and_their_errors(ties: str) -> None:
    first, second, outcome = drawn(7)
    counts = BattleCounts.from_codes(first, second, outcome, tuple("abcde"))
    fit = fit_battles(BattleData.from_counts(counts), TIE_MODELS[ties])

    def scores(parameters: np.ndarray) -> np.ndarray:
        out = np.zeros(5)
        for i, j in itertools.permutations(range(5), 2):
            p = probabilities(ties, parameters[i] - parameters[j], parameters[5])
            out[i] += (p[WIN] + p.get(TIE, 0) / 2) / 4
        return out

    values, errors = fit.expected_scores
    assert values == pytest.approx(scores(fit.parameters), abs=1e-12)
    assert values.mean() == pytest.approx(0.5)
    steps = np.eye(len(fit.parameters)) * 1e-6
    jacobian = np.column_stack(
        [(scores(fit.parameters + h) - scores(fit.parameters - h)) / 2e-6 for h in steps]
    )
    variances = np.diag(jacobian @ fit.covariance @ jacobian.T)
    assert errors == pytest.approx(np.sqrt(variances), rel=1e-6)


def test_errors_relative_to_a_system_or_the_mean_do_not_depend_on_the_order() -> None:
    first, second, outcome = drawn(8)
    order = np.array([3, 0, 4, 1, 2])
    fits = [
        fit_battles(
            BattleData.from_counts(BattleCounts.from_codes(a, b, outcome, tuple("abcde"))),
            TIE_MODELS["davidson"],
        )
        for a, b in ((first, second), (order[first], order[second]))
    ]
    for reference in (None, 2):
        contrasts = fits[0].contrasts(reference)
        again = fits[1].contrasts(None if reference is None else int(order[reference]))[order]
        assert contrasts @ fits[0].parameters == pytest.approx(again @ fits[1].parameters)
        assert np.diag(contrasts @ fits[0].covariance @ contrasts.T) == pytest.approx(
            np.diag(again @ fits[1].covariance @ again.T)
        )


# -------------------------------------------------------------------------------------- existence


def test_rated_systems_are_connected_by_wins_and_ties() -> None:
    chain = [(0, 1, WIN, 3), (1, 0, WIN, 1), (1, 2, TIE, 1), (3, 0, WIN, 9), (2, 4, WIN, 9)]
    assert rated_component(counted(chain, 6)).tolist() == [0, 1, 2]
    assert rated_component(counted(chain, 6), reference=3).tolist() == [3]
    # Of equal components, that with most battles; of single systems as well.
    equal = [(0, 1, TIE, 2), (2, 3, TIE, 5), (0, 2, WIN, 1)]
    assert rated_component(counted(equal)).tolist() == [2, 3]
    assert rated_component(counted([(0, 1, WIN, 2), (1, 2, WIN, 1)])).tolist() == [1]


def separable(cells: list[tuple[int, int, int, float]], systems: int) -> bool:
    """Whether strengths exist that leave the parameter of ties without limit, by linear
    programming: winners ahead by 1 at least, tied systems apart by 1 at most."""
    rows, limits = [], []
    for a, b, outcome, _ in cells:
        e = np.eye(systems)[a] - np.eye(systems)[b]
        if outcome == TIE:
            rows += [e, -e]
            limits += [1.0, 1.0]
        else:
            rows.append(-e if outcome == WIN else e)
            limits.append(-1.0)
    found = linprog(np.zeros(systems), np.array(rows), limits, bounds=[(None, None)] * systems)
    return bool(found.status == 0)


@pytest.mark.slow
def test_ties_have_a_finite_parameter_as_linear_programming_says() -> None:
    generator = np.random.default_rng(9)
    results = []
    for _ in range(150):
        systems = int(generator.integers(2, 5))
        n = int(generator.integers(2, 8))
        first, second, outcome = drawn(int(generator.integers(10**6)), n, systems, nu=2.0)
        cells = list(zip(first.tolist(), second.tolist(), outcome.tolist(), [1.0] * n, strict=True))
        counts = counted(cells, systems)
        rated = rated_component(counts)
        selected = counts.select_systems(rated)
        if len(rated) < 2 or not (selected.outcome_of == TIE).any():
            continue
        inner = [
            (a, b, o, 1.0)
            for a, b, o in zip(
                selected.first_of, selected.second_of, selected.outcome_of, strict=True
            )
        ]
        expected = not separable(inner, len(rated))
        assert has_tie_estimate(selected) == expected, inner
        results.append(expected)
        if expected:
            fit = fit_battles(BattleData.from_counts(selected), TIE_MODELS["davidson"])
            assert np.isfinite(fit.parameters).all()
    assert 10 < sum(results) < len(results) - 10


def test_a_win_and_a_tie_have_no_finite_ratings_with_ties() -> None:
    """The odds of a loss go to 0 while win and tie stay as likely as each other."""
    counts = counted([(0, 1, WIN, 1), (0, 1, TIE, 1)])
    assert rated_component(counts).tolist() == [0, 1]
    assert not has_tie_estimate(counts)
    with pytest.raises(InputError, match="has no maximum"):
        fit_battles(BattleData.from_counts(counts), TIE_MODELS["davidson"])
    half = fit_battles(BattleData.from_counts(counts), TIE_MODELS["half"])
    assert -half.parameters[1] == pytest.approx(logit(0.75))


@pytest.mark.parametrize("ties", MODELS)
@pytest.mark.parametrize("reference", [None, 1])
def test_limits_against_several_are_those_of_the_profile(ties: str, reference: int | None) -> None:
    first, second, outcome = drawn(10, n=150, systems=3)
    first, second = np.append(first, [3, 3, 0]), np.append(second, [0, 2, 3])
    outcome = np.append(outcome, [WIN, WIN, LOSS])
    counts = BattleCounts.from_codes(first, second, outcome, tuple("abcd"))
    assert rated_component(counts).tolist() == [0, 1, 2]
    fit = fit_battles(BattleData.from_counts(counts.select_systems(np.arange(3))), TIE_MODELS[ties])
    data = BattleData.from_counts(counts)
    found = profile_limit(data, fit, 0.9, wins=True, reference=reference)

    def profile(value: float) -> float:
        def loss(free: np.ndarray) -> float:
            strengths = np.append(0, free[:2])
            center = strengths.mean() if reference is None else strengths[reference]
            strengths = np.append(strengths, center + value)
            d = strengths[data.first] - strengths[data.second]
            g = free[2] if ties != "half" else 0.0
            if ties == "rao-kupper" and g <= 0:
                return 1e9
            terms = TIE_MODELS[ties].derivatives(d, g, data.outcome)
            return -float(data.weight @ terms.log_likelihood)

        start = np.append(fit.parameters[1:3], [fit.parameters[3]] * (ties != "half"))
        return -minimize(loss, start, method="Nelder-Mead",
                         options={"xatol": 1e-8, "fatol": 1e-10, "maxiter": 4000}).fun  # fmt: skip

    drop = -math.log(0.05)
    expected = brentq(lambda x: profile(x) - fit.log_likelihood + drop, -5, 8, xtol=1e-6)
    assert found == pytest.approx(expected, abs=1e-4)


def test_effects_that_cannot_be_estimated_are_named() -> None:
    first, second, outcome = drawn(11)
    counts = BattleCounts.from_codes(
        np.minimum(first, second),
        np.maximum(first, second),
        np.where(first < second, outcome, 2 - outcome),
        tuple("abcde"),
    )
    # Systems of consecutive numbers: the position is the difference of two of them.
    two = counts.select_systems(np.array([0, 1]))
    with pytest.raises(InputError, match="the effect of position cannot be estimated"):
        fit_battles(
            BattleData.from_counts(two, has_position=True),
            TIE_MODELS["davidson"],
            labels=["position"],
        )
    ones = np.ones(len(first))
    winner_is_longer = (outcome - 1.0)[:, None]
    data = BattleData(5, first, second, outcome, ones, ones, winner_is_longer, len(first))
    with pytest.raises(InputError, match="the effect of length cannot be estimated"):
        fit_battles(data, TIE_MODELS["half"], labels=["length"])
