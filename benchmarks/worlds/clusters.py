"""Rows in clusters, and rows of weights."""

from __future__ import annotations

from functools import cache, partial

import numpy as np
import numpy.typing as npt
from scipy import special

import calipers as cal
from worlds.scores import Scored
from worlds.world import CLASSIFICATION, Evaluate, Floats, Random, World, at_infinity, even_grid

WITHIN = 0.3  # the correlation of rows of one user
OF_USERS = ("accuracy", "precision", "recall", "F1", "MCC", "AUC", "PR-AUC", "AP")
OF_WEIGHTED = (*OF_USERS, "log-loss", "Brier")


def users(number: int) -> World:
    """Five rows of each user, whose scores go together; 40% are positive, AUC 0.8."""
    of, share, cut = Scored.binormal(0.8), 0.4, 0.6
    recall, false = float(of.positive.sf(cut)), float(of.negative.sf(cut))
    cells = np.array([[0.6 * (1 - false), 0.6 * false], [0.4 * (1 - recall), 0.4 * recall]])
    user = np.repeat(np.arange(number), 5)

    def draw(random: Random) -> Evaluate:
        positive = random.random(len(user)) < share
        common, own = random.normal(size=number)[user], random.normal(size=len(user))
        score = np.sqrt(WITHIN) * common + np.sqrt(1 - WITHIN) * own
        score += of.positive.mean() * positive
        return CLASSIFICATION(positive, score=score, threshold=cut, cluster=user, measures=OF_USERS)

    ways = ("analytic", "bca")

    def found() -> dict[str, float]:
        return {**at_infinity(cells, OF_USERS[:5]), **of.truth(share, OF_USERS[5:])}

    return World(
        "clusters", "rows of users", of_users(number), found, draw, number >= 25, ways=ways
    )


def of_users(number: int) -> str:
    return f"{number} users of 5 rows"


def user_numbers(number: int) -> World:
    """Residuals that go together in five rows of each user."""
    truth = {"RMSE": 1.0, "MSE": 1.0, "MAE": float(np.sqrt(2 / np.pi))}
    user = np.repeat(np.arange(number), 5)

    def draw(random: Random) -> Evaluate:
        common, own = random.normal(size=number)[user], random.normal(size=len(user))
        residual = np.sqrt(0.6) * common + np.sqrt(0.4) * own
        zero = np.zeros(len(user))
        return partial(cal.regression, zero, residual, cluster=user, measures=tuple(truth))

    ways = ("analytic", "bca")
    design = "residuals of users"
    return World("clusters", design, of_users(number), lambda: truth, draw, number >= 25, ways=ways)


def _weighed(u: Floats, x: Floats, z: Floats) -> tuple[npt.NDArray[np.bool_], Floats, Floats]:
    """Truth, probability and weight, of a uniform number and two normal ones."""
    apart, truth = 1.2, u < 0.4
    score = x + apart * truth
    weight = np.exp((0.4 * score + 0.5 * z).clip(-1.4, 1.4))
    return truth, special.expit(apart * score - apart**2 / 2 - 0.4), weight


@cache
def _of_weighted() -> dict[str, float]:
    """On points that fill the cube evenly."""
    u, x, z = even_grid(3, bits=19)
    positive, p, weight = _weighed(u, special.ndtri(x), special.ndtri(z))
    whole = CLASSIFICATION(
        positive, probability=p, weight=weight, threshold=0.5, measures=OF_WEIGHTED
    )
    return {e.measure: e.value for e in whole(interval="none").estimates}


def weighted(rows: int) -> World:
    """Rows of weights between ¼ and 4, larger for high scores; all numbers are of the weighted."""
    names, cut = OF_WEIGHTED, 0.5

    def draw(random: Random) -> Evaluate:
        drawn = random.random(rows), *random.normal(size=(2, rows))
        positive, p, weight = _weighed(*drawn)
        return CLASSIFICATION(positive, probability=p, weight=weight, threshold=cut, measures=names)

    return World("weights", "weights of ¼ to 4", f"{rows} rows", _of_weighted, draw, rows >= 100)


# --- Clusters of unequal size --------------------------------------------------------------------

#: How many rows the clusters have; of ``lognormal`` ones another draw for each data set.
SIZES: dict[str, npt.NDArray[np.int64]] = {
    "200 rows and 24 of 8": np.r_[200, np.full(24, 8)],
    "60 rows and 100 of one": np.r_[60, np.full(100, 1)],
}
LOGNORMAL = (8, 12, 25, 60)
OF_UNEQUAL = ("accuracy", "precision", "recall", "F1", "MCC", "AUC", "AP", "Brier")
OF_PAIRS = ("accuracy", "F1", "AUC", "Brier")


def _sizes(random: Random, name: str, number: int) -> npt.NDArray[np.int64]:
    if name in SIZES:
        return SIZES[name]
    return np.maximum(1, np.round(7 * np.exp(random.normal(size=number) - 0.5))).astype(np.int64)


def _size(name: str, number: int, within: float) -> str:
    what = name if name in SIZES else f"{number} of {name} size"
    return f"{what}, correlation {within:g}"


def _large(name: str, number: int) -> bool:
    return name in SIZES or number >= 25


def _normal(random: Random, cluster: npt.NDArray[np.int64], within: float) -> Floats:
    """Normal numbers, of which those of a cluster correlate."""
    common = random.normal(size=cluster[-1] + 1)[cluster]
    return np.asarray(
        np.sqrt(within) * common + np.sqrt(1 - within) * random.normal(size=len(cluster))
    )


def unequal(name: str, number: int, within: float) -> World:
    """Scores of rows whose clusters differ in size; 40% are positive, AUC 0.8."""
    of, share, cut = Scored.binormal(0.8), 0.4, 0.6
    recall, false = float(of.positive.sf(cut)), float(of.negative.sf(cut))
    cells = np.array([[0.6 * (1 - false), 0.6 * false], [0.4 * (1 - recall), 0.4 * recall]])
    mean = float(of.positive.mean())

    def probability(score: Floats) -> Floats:
        return np.asarray(special.expit(mean * score - mean**2 / 2 + np.log(share / (1 - share))))

    def draw(random: Random) -> Evaluate:
        sizes = _sizes(random, name, number)
        cluster = np.repeat(np.arange(len(sizes)), sizes)
        positive = random.random(len(cluster)) < share
        score = _normal(random, cluster, within) + mean * positive
        return CLASSIFICATION(
            positive,
            probability=probability(score),
            threshold=float(probability(np.array([cut]))[0]),
            cluster=cluster,
            measures=OF_UNEQUAL,
        )

    def found() -> dict[str, float]:
        z = special.ndtri(even_grid(1)[0])
        brier = (1 - share) * np.mean(probability(z) ** 2)
        brier += share * np.mean((1 - probability(z + mean)) ** 2)
        known = {**at_infinity(cells, OF_UNEQUAL[:5]), **of.truth(share, ("AUC", "AP"))}
        return {**known, "Brier": float(brier)}

    return World(
        kind="clusters",
        design="rows of unequal clusters",
        size=_size(name, number, within),
        found=found,
        draw=draw,
        large=_large(name, number),
    )


def unequal_numbers(name: str, number: int, within: float) -> World:
    """Residuals of rows whose clusters differ in size."""
    truth = {"RMSE": 1.0, "MSE": 1.0, "MAE": float(np.sqrt(2 / np.pi))}

    def draw(random: Random) -> Evaluate:
        sizes = _sizes(random, name, number)
        cluster = np.repeat(np.arange(len(sizes)), sizes)
        residual = _normal(random, cluster, within)
        zero = np.zeros(len(cluster))
        return partial(cal.regression, zero, residual, cluster=cluster, measures=tuple(truth))

    return World(
        kind="clusters",
        design="residuals of unequal clusters",
        size=_size(name, number, within),
        found=lambda: truth,
        draw=draw,
        large=_large(name, number),
    )


def unequal_pairs(name: str, number: int, within: float, better: float) -> World:
    """Two systems' probabilities of rows whose clusters differ in size, one of them the ``better``
    by so much that the means of its scores lie further apart; 40% are positive."""
    share, cut, base = 0.4, 0.6, 1.2

    def probability(score: Floats) -> Floats:
        return np.asarray(special.expit(base * score - base**2 / 2 + np.log(share / (1 - share))))

    threshold = float(probability(np.array([cut]))[0])

    def draw(random: Random) -> Evaluate:
        sizes = _sizes(random, name, number)
        cluster = np.repeat(np.arange(len(sizes)), sizes)
        positive = random.random(len(cluster)) < share
        said = {
            system: probability(_normal(random, cluster, within) + mean * positive)
            for system, mean in (("base", base), ("new", base + better))
        }
        return CLASSIFICATION(
            positive, probability=said, threshold=threshold, cluster=cluster, measures=OF_PAIRS
        )

    def found() -> dict[str, float]:
        if not better:
            return dict.fromkeys(OF_PAIRS, 0.0)
        z, known = special.ndtri(even_grid(1)[0]), []
        for mean in (base, base + better):
            of = special.ndtr(mean - cut), special.ndtr(-cut)
            cells = np.array([[0.6 * (1 - of[1]), 0.6 * of[1]], [0.4 * (1 - of[0]), 0.4 * of[0]]])
            brier = 0.6 * np.mean(probability(z) ** 2)
            brier += 0.4 * np.mean((1 - probability(z + mean)) ** 2)
            area = float(special.ndtr(mean / np.sqrt(2)))
            known.append({**at_infinity(cells, OF_PAIRS[:2]), "AUC": area, "Brier": float(brier)})
        return {measure: known[1][measure] - known[0][measure] for measure in OF_PAIRS}

    return World(
        kind="pairs",
        design="probabilities of unequal clusters" + ", better" * bool(better),
        size=_size(name, number, within),
        found=found,
        draw=draw,
        large=_large(name, number),
        tests=() if better else ("normal",),
    )


def unequal_clusters() -> list[tuple[str, int]]:
    """Their sizes, by name and number."""
    return [
        *((name, len(of)) for name, of in SIZES.items()),
        *(("lognormal", k) for k in LOGNORMAL),
    ]


def worlds() -> list[World]:
    """Those whose coverage is measured."""
    return [
        *(
            make(*of, within)
            for make in (unequal, unequal_numbers)
            for of in unequal_clusters()
            for within in (0.5, 0.0)
        ),
        *(unequal_pairs(*of, 0.5, better) for of in unequal_clusters() for better in (0.0, 0.4)),
        *(users(n) for n in (10, 20, 30, 50, 100)),
        *(user_numbers(n) for n in (10, 20, 30, 50, 100)),
        *(weighted(n) for n in (100, 400)),
    ]
