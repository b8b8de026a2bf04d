"""A truth by a judge of all rows, and by people of some: classes, numbers, clusters and weights."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from typing import Any

import numpy as np
from scipy.special import expit
from scipy.stats import norm

import calipers as cal
from worlds.world import CLASSIFICATION, UNIFORM_GRID, Evaluate, Floats, Random, World, at_infinity

#: Of each judge how often it is right on positives and on negatives; None if it takes the side of
#: the first system on a quarter of the rows, and is right on the others.
JUDGES: Mapping[str, tuple[float, float] | None] = {
    "good judge": (0.92, 0.95),
    "lenient judge": (0.99, 0.75),
    "judge that sides with the system": None,
}
SIDES = 0.25
#: Of two classes the share of the positives, and how far their scores are from the others'.
SHARE, SHIFT = 0.25, 1.3
TWO_CLASSES = ("AUC", "F1", "kappa", "accuracy", "log-loss", "Brier")
SIZES = ((30, 400), (100, 1100))
#: Scores above this are called positive.
CUT = 0.8


def _labeled(random: Random, truth: Any, labels: int) -> Floats:
    """The truth of some rows at random."""
    return np.where(random.permutation(len(truth)) < labels, truth, np.nan)


def _probability(score: Floats) -> Floats:
    """What a system that is a little overconfident makes of a score; ½ at the cut."""
    return np.asarray(expit(1.6 * (score - CUT)))


def _judged(random: Random, truth: Floats, called: Floats, judge: str) -> Floats:
    """The truth by a judge."""
    right = JUDGES[judge]
    if right is None:
        return np.where(random.random(len(truth)) < SIDES, called, truth)
    of_row = np.where(truth == 1, *right)
    return np.where(random.random(len(truth)) < of_row, truth, 1 - truth)


@cache
def _two_classes_at_infinity() -> dict[str, float]:
    """Every measure of two classes by its probabilities."""
    z = norm.ppf(UNIFORM_GRID)
    shares, scores = np.array([1 - SHARE, SHARE]), (z, z + SHIFT)
    called = np.array([(score > CUT).mean() for score in scores])
    cells = shares[:, None] * np.column_stack([1 - called, called])
    p = [_probability(score) for score in scores]
    return {
        "AUC": float(norm.cdf(SHIFT / np.sqrt(2))),
        "log-loss": float(shares @ [-np.log(1 - p[0]).mean(), -np.log(p[1]).mean()]),
        "Brier": float(shares @ [np.square(p[0]).mean(), np.square(1 - p[1]).mean()]),
        **at_infinity(cells, ("F1", "kappa", "accuracy")),
    }


def two_classes(judge: str, labels: int, rows: int) -> World:
    """A quarter of the rows are positive."""

    def draw(random: Random) -> Evaluate:
        truth = (random.random(rows) < SHARE).astype(float)
        score = SHIFT * truth + random.normal(size=rows)
        judged = _judged(random, truth, (score > CUT).astype(float), judge)
        people = _labeled(random, truth, labels)
        return CLASSIFICATION(
            judged, probability=_probability(score), human=people, measures=TWO_CLASSES
        )

    return _world(f"25% positive, {judge}", labels, rows, _two_classes_at_infinity, draw)


#: Of three classes their shares, how often the system is right, and what it says if not.
THREE, RIGHT, ELSE = np.array([0.5, 0.35, 0.15]), 0.7, np.array([0.3, 0.3, 0.4])


def three_classes(judge: str, labels: int, rows: int) -> World:
    """Predicted classes; the judge errs towards the first one, or to what the system says."""

    def found() -> dict[str, float]:
        cells = THREE[:, None] * (RIGHT * np.eye(3) + (1 - RIGHT) * ELSE)
        return at_infinity(cells, ("macro-F1", "kappa"))

    def draw(random: Random) -> Evaluate:
        truth = random.choice(3, rows, p=THREE)
        called = np.where(random.random(rows) < RIGHT, truth, random.choice(3, rows, p=ELSE))
        errs = random.random(rows) < (SIDES if JUDGES[judge] is None else 0.08)
        judged = np.where(errs, called if JUDGES[judge] is None else 0, truth)
        return CLASSIFICATION(
            judged.astype(float),
            called.astype(float),
            human=_labeled(random, truth, labels),
            labels=[0.0, 1.0, 2.0],
            measures=("macro-F1", "kappa"),
        )

    return _world(f"3 classes, {judge}", labels, rows, found, draw)


def numbers(judge: str, labels: int, rows: int) -> World:
    """Residuals have a skewed distribution; the judge is inexact, often exact, or on their side."""
    shape, scale = 3.0, 0.3

    def found() -> dict[str, float]:
        # The mean distance of Gamma(3) from its mean is 27·e^-3.
        return {
            "MSE": scale**2 * shape,
            "RMSE": scale * np.sqrt(shape),
            "MAE": scale * 27 * float(np.exp(-3)),
        }

    def draw(random: Random) -> Evaluate:
        truth = random.normal(size=rows)
        predicted = truth + scale * (random.gamma(shape, size=rows) - shape)
        noise = 0.2 * random.normal(size=rows)
        judged = truth + noise
        if judge == "judge that errs on 5%":
            judged = truth + 5 * noise * (random.random(rows) < 0.05)
        elif judge in JUDGES and JUDGES[judge] is None:
            judged = (1 - SIDES) * truth + SIDES * predicted + noise
        people = _labeled(random, truth, labels)
        return partial(
            cal.regression, judged, predicted, human=people, measures=("MSE", "RMSE", "MAE")
        )

    return _world(f"skewed residuals, {judge}", labels, rows, found, draw)


# --- Clusters and weights -------------------------------------------------------------------------


def clusters(judge: str, labeled: int, number: int) -> World:
    """Clusters of very unequal size, some of which people labeled as a whole."""

    def found() -> dict[str, float]:
        # Rows of a score are from any cluster: the variances of both add up.
        spread = np.sqrt(1.25)
        called = norm.sf((CUT - np.array([0.0, SHIFT])) / spread)
        shares = np.array([1 - SHARE, SHARE])
        cells = shares[:, None] * np.column_stack([1 - called, called])
        auc = float(norm.cdf(SHIFT / (np.sqrt(2) * spread)))
        return {"AUC": auc, **at_infinity(cells, ("F1", "accuracy"))}

    def draw(random: Random) -> Evaluate:
        sizes = 1 + random.geometric(0.15, number)
        of_row = np.repeat(np.arange(number), sizes)
        ease = np.sqrt(0.3) * random.normal(size=number)[of_row]
        latent = ease + np.sqrt(0.7) * random.normal(size=len(of_row))
        truth = (latent > norm.isf(SHARE)).astype(float)
        shared = 0.5 * random.normal(size=number)[of_row]
        score = SHIFT * truth + random.normal(size=len(of_row)) + shared
        judged = _judged(random, truth, (score > CUT).astype(float), judge)
        chosen = np.isin(of_row, random.permutation(number)[:labeled])
        return CLASSIFICATION(
            judged,
            probability=_probability(score),
            human=np.where(chosen, truth, np.nan),
            cluster=of_row,
            measures=("AUC", "F1", "accuracy"),
        )

    return World(
        kind="judged",
        design=f"unequal clusters, {judge}",
        size=f"{labeled} labeled of {number} clusters",
        found=found,
        draw=draw,
        large=labeled >= 20,
    )


def weighted(judge: str, labels: int, rows: int) -> World:
    """Labels by the judge's verdict, those of its failures twice as likely: `human_weight`."""

    def draw(random: Random) -> Evaluate:
        truth = (random.random(rows) < SHARE).astype(float)
        score = SHIFT * truth + random.normal(size=rows)
        judged = _judged(random, truth, (score > CUT).astype(float), judge)
        twice = judged == 1
        share = labels / (rows + twice.sum())
        people, weight = np.full(rows, np.nan), np.ones(rows)
        for group, times in ((twice, 2), (~twice, 1)):
            members = np.flatnonzero(group)
            number = min(len(members), round(times * share * len(members)))
            chosen = random.permutation(members)[:number]
            people[chosen], weight[members] = truth[chosen], len(members) / max(number, 1)
        return CLASSIFICATION(
            judged,
            probability=_probability(score),
            human=people,
            human_weight=weight,
            measures=TWO_CLASSES,
        )

    return _world(f"labels by verdict, {judge}", labels, rows, _two_classes_at_infinity, draw)


# --- Differences ----------------------------------------------------------------------------------


def no_difference(judge: str, labels: int, rows: int) -> World:
    """Two equal systems; the judge sides with the first of them, or with none."""
    measures = ("AUC", "F1", "log-loss", "Brier")

    def draw(random: Random) -> Evaluate:
        truth = (random.random(rows) < SHARE).astype(float)
        shared = 0.7 * random.normal(size=rows)
        scores = [
            SHIFT * truth + shared + np.sqrt(0.51) * random.normal(size=rows) for _ in range(2)
        ]
        judged = _judged(random, truth, (scores[0] > CUT).astype(float), judge)
        return CLASSIFICATION(
            judged,
            probability=dict(zip("ab", map(_probability, scores), strict=True)),
            human=_labeled(random, truth, labels),
            measures=measures,
        )

    return _pair(f"25% positive, {judge}", labels, rows, measures, draw)


def no_difference_of_numbers(judge: str, labels: int, rows: int) -> World:
    """Two equal predictors; the judge sides with the first of them, or with none."""
    measures = ("RMSE", "MAE")

    def draw(random: Random) -> Evaluate:
        truth = random.normal(size=rows)
        a, b = truth + 0.3 * (random.gamma(3.0, size=(2, rows)) - 3.0)
        judged = truth + 0.2 * random.normal(size=rows)
        if JUDGES[judge] is None:
            judged = (1 - SIDES) * judged + SIDES * a
        people = _labeled(random, truth, labels)
        return partial(cal.regression, judged, {"a": a, "b": b}, human=people, measures=measures)

    return _pair(f"skewed residuals, {judge}", labels, rows, measures, draw)


def _pair(design: str, labels: int, rows: int, measures: Any, draw: Any) -> World:
    return World(
        kind="pairs",
        design=design,
        size=f"{labels} labels of {rows:,} rows",
        found=lambda: dict.fromkeys(measures, 0.0),
        draw=draw,
        large=labels >= 50,
    )


def _world(design: str, labels: int, rows: int, found: Any, draw: Any) -> World:
    return World(
        kind="judged",
        design=design,
        size=f"{labels} labels of {rows:,} rows",
        found=found,
        draw=draw,
        large=labels >= 50,
    )


def worlds() -> list[World]:
    """Those whose coverage is measured."""
    good, sides = "good judge", "judge that sides with the system"
    return [
        *(two_classes(judge, *sizes) for judge in JUDGES for sizes in SIZES),
        *(three_classes(judge, *sizes) for judge in (good, sides) for sizes in SIZES),
        *(
            numbers(judge, *sizes)
            for judge in (good, "judge that errs on 5%", sides)
            for sizes in SIZES
        ),
        *(clusters(judge, *n) for judge in JUDGES for n in ((8, 40), (24, 96))),
        *(weighted(judge, *n) for judge in (good, sides) for n in ((80, 100), (60, 600))),
        *(no_difference(judge, *sizes) for judge in (good, sides) for sizes in SIZES),
        *(no_difference_of_numbers(judge, *sizes) for judge in (good, sides) for sizes in SIZES),
    ]
