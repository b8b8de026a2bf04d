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


def worlds() -> list[World]:
    """Those whose coverage is measured."""
    return [
        *(users(n) for n in (10, 20, 30, 50, 100)),
        *(user_numbers(n) for n in (10, 20, 30, 50, 100)),
        *(weighted(n) for n in (100, 400)),
    ]
