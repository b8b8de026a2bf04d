"""Scores and probabilities of several classes, and of several labels."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from typing import Any

import numpy as np
from scipy import special

import calipers as cal
from worlds.world import CLASSIFICATION, Evaluate, Random, World

OF_CLASSES = ("macro-AUC", "weighted-AUC", "ovo-AUC", "weighted-ovo-AUC", "micro-AUC")
OF_LABELS = ("macro-AUC", "weighted-AUC", "micro-AUC")
OF_PROBABILITIES = ("log-loss", "Brier", "log-loss-skill", "Brier-skill", "top-2-accuracy")


def _codes(random: Random, rows: int, shares: Sequence[float]) -> Any:
    """Classes of rows, of each two or more."""
    while True:
        codes = random.choice(len(shares), rows, p=shares)
        if np.bincount(codes, minlength=len(shares)).min() > 1:
            return codes


def _word(shares: Sequence[float]) -> str:
    even = "even" if np.ptp(shares) < 1e-9 else f"rarest {min(shares):.0%}"
    return f"{len(shares)} classes, {even}"


def _area(auc: float, confused: float, classes: int) -> float:
    """What is left of an area where a share of the rows passes for one of another class, any."""
    passes = confused / (classes - 1)
    right, wrong = (1 - confused) * (1 - passes), confused * passes
    return right * auc + wrong * (1 - auc) + (1 - right - wrong) / 2


def scored(rows: int, shares: Sequence[float], auc: float, confused: float = 0.0) -> World:
    """Normal scores of each class, higher where it is the true one, or the one that a row passes
    for: each pair of classes has the same area."""
    k = len(shares)
    apart, names = np.sqrt(2) * special.ndtri(auc), [f"c{j}" for j in range(k)]

    def draw(random: Random) -> Evaluate:
        codes = _codes(random, rows, shares)
        other = (codes + random.integers(1, k, rows)) % k
        seen = np.where(random.random(rows) < confused, other, codes)
        score = random.normal(size=(rows, k)) + apart * np.eye(k)[seen]
        truth = np.array(names)[codes]
        return CLASSIFICATION(truth, score=score, labels=names, measures=OF_CLASSES)

    return World(
        kind="averages",
        design=f"{_word(shares)}, AUC {auc:g}" + f", {confused:.0%} confused" * (confused > 0),
        size=f"{rows} rows",
        found=lambda: dict.fromkeys(OF_CLASSES, _area(auc, confused, k)),
        draw=draw,
        large=rows >= 100 and rows * min(shares) >= 20,
        ways=("percentile",),
    )


def labelled(rows: int, shares: Sequence[float], auc: float) -> World:
    """Normal scores of each label of a row, which go together."""
    apart, share = np.sqrt(2) * special.ndtri(auc), np.asarray(shares)

    def draw(random: Random) -> Evaluate:
        while True:
            truth = random.random((rows, len(share))) < share
            if truth.sum(axis=0).min() >= 2 and truth.sum(axis=0).max() <= rows - 2:
                break
        common, own = random.normal(size=(rows, 1)), random.normal(size=truth.shape)
        score = np.sqrt(0.3) * common + np.sqrt(0.7) * own + apart * truth
        return partial(cal.multilabel, truth, score=score, measures=OF_LABELS, curves=False)

    return World(
        kind="averages",
        design=f"{len(shares)} labels a row, AUC {auc:g}",
        size=f"{rows} rows, rarest {min(shares):.0%}",
        found=lambda: dict.fromkeys(OF_LABELS, auc),
        draw=draw,
        large=rows >= 100 and rows * min(shares) >= 20,
        ways=("percentile",),
    )


def _probable(codes: Any, noise: Any, apart: float) -> tuple[Any, Any]:
    """Classes, and what is known of them: twice as sure as it should be."""
    return codes, special.softmax(
        2 * apart * (noise + apart * np.eye(noise.shape[1])[codes]), axis=1
    )


@cache
def _of_many(apart: float) -> dict[str, float]:
    """Of 300,000 rows, to within 0.004 of a log loss."""
    random = np.random.default_rng(2009)
    rows = _probable(random.integers(0, 3, 300_000), random.normal(size=(300_000, 3)), apart)
    made = CLASSIFICATION(rows[0], probability=rows[1], measures=OF_PROBABILITIES)
    return {e.measure: e.value for e in made(interval="none").estimates}


def probable(rows: int, apart: float) -> World:
    """Probabilities of three classes."""

    def draw(random: Random) -> Evaluate:
        codes = _codes(random, rows, (1 / 3,) * 3)
        truth, p = _probable(codes, random.normal(size=(rows, 3)), apart)
        return CLASSIFICATION(truth, probability=p, measures=OF_PROBABILITIES)

    design, found = f"3 classes, probabilities, {apart:g} apart", partial(_of_many, apart)
    large = rows >= 100
    return World("averages", design, f"{rows} rows", found, draw, large, ways=("percentile",))


def scored_pair(rows: int, shares: Sequence[float], auc: float) -> World:
    """Two systems' scores of the same rows, which go together and are alike."""
    apart, names = np.sqrt(2) * special.ndtri(auc), [f"c{j}" for j in range(len(shares))]

    def draw(random: Random) -> Evaluate:
        codes = _codes(random, rows, shares)
        size = (rows, len(shares))
        common, own = random.normal(size=size), random.normal(size=(2, *size))
        noise = np.sqrt(0.6) * common + np.sqrt(0.4) * own
        made = noise + apart * np.eye(len(shares))[codes]
        score = {"base": made[0], "new": made[1]}
        truth = np.array(names)[codes]
        return CLASSIFICATION(truth, score=score, labels=names, measures=OF_CLASSES)

    return World(
        kind="pairs",
        design=f"{_word(shares)}, AUC {auc:g} twice",
        size=f"{rows} rows",
        found=lambda: dict.fromkeys(OF_CLASSES, 0.0),
        draw=draw,
        large=rows >= 100 and rows * min(shares) >= 20,
        tests=("normal", "bootstrap"),
    )


def worlds() -> list[World]:
    """Those whose coverage is measured."""
    even, uneven = (1 / 3,) * 3, (0.6, 0.3, 0.1)
    return [
        *(scored(n, even, auc) for auc in (0.8, 0.95, 0.99) for n in (60, 150, 500)),
        *(scored(n, even, 0.998, 0.02) for n in (60, 150, 500)),
        *(scored(n, uneven, auc) for auc in (0.8, 0.99) for n in (200, 1000)),
        scored(300, (0.1,) * 10, 0.998, 0.02),
        scored(300, (0.1,) * 10, 0.9),
        *(labelled(n, (0.1, 0.3, 0.5, 0.3), auc) for auc in (0.8, 0.99) for n in (200, 1000)),
        *(probable(n, apart) for apart in (1.0, 2.0) for n in (60, 150, 500)),
        *(scored_pair(n, even, auc) for auc in (0.8, 0.99) for n in (60, 150, 500)),
    ]
