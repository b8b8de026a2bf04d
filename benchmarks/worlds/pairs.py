"""Two systems on the same units."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy import special

import calipers as cal
from worlds.clusters import WITHIN, of_users
from worlds.numbers import FITS, RESIDUALS
from worlds.scores import AREAS, Scored, is_positive
from worlds.topics import BETTER, OF_TOPICS, TOPICS, UNEQUAL, PerTopic
from worlds.world import CLASSIFICATION, Evaluate, Random, World, at_infinity

OF_TOPIC_TESTS = ("t", "wilcoxon", "sign", "randomization", "bootstrap")
OF_ROW_TESTS = ("normal", "bootstrap", "mcnemar", "mid-p")


def topic_pairs(number: int, first: PerTopic, second: PerTopic, *, weighted: bool = False) -> World:
    """Two runs on the same topics, whose values go together; topics may have exponential weights."""
    null = first is second or second is UNEQUAL

    def draw(random: Random) -> Evaluate:
        common, own = random.normal(size=number), random.normal(size=(2, number))
        u = special.ndtr(np.sqrt(0.7) * common + np.sqrt(0.3) * own)
        values = {"base": second.quantile(u[1]), "new": first.quantile(u[0])}
        weight = random.exponential(size=number) if weighted else None
        return partial(cal.from_values, values, measure=first.measure, weight=weight)

    design = f"{first.name} twice" if first is second else f"{first.name} and {second.name}"
    design += ", weighted" * weighted
    return World(
        kind="pairs",
        design=design,
        size=f"{number} topics",
        found=lambda: {first.measure: first.mean - second.mean},
        draw=draw,
        large=number >= 25,
        ways=OF_TOPICS,
        tests=OF_TOPIC_TESTS if null else (),
    )


def reranked(number: int, ties: float, shift: float) -> World:
    """Two runs that are equal on most topics, and on the others differ by some tenths."""

    def draw(random: Random) -> Evaluate:
        apart = (random.random(number) >= ties) * (shift + 0.3 * random.uniform(-1, 1, number))
        values = {"base": np.full(number, 0.5), "new": 0.5 + apart}
        return partial(cal.from_values, values, measure="RR")

    truth = {"RR": (1 - ties) * shift}
    return World(
        kind="pairs",
        design="reranked, better" if shift else "reranked",
        size=f"{number} topics, {ties:.0%} tie",
        found=lambda: truth,
        draw=draw,
        large=number >= 25,
        ways=OF_TOPICS,
        tests=() if shift else OF_TOPIC_TESTS,
    )


def score_pairs(rows: int, positives: float, first: float, second: float) -> World:
    """Two systems' scores of the same rows, which go together; of these areas under the curve."""
    of = [Scored.binormal(first), Scored.binormal(second)]
    names, cut = (*AREAS, "accuracy", "F1", "MCC", "recall", "max-F1", "precision@recall=0.9"), 1.0

    def known(one: Scored) -> dict[str, float]:
        recall, false = float(one.positive.sf(cut)), float(one.negative.sf(cut))
        rest = 1 - positives
        cells = [[rest * (1 - false), rest * false], [positives * (1 - recall), positives * recall]]
        counted = at_infinity(np.array(cells), ("accuracy", "F1", "MCC", "recall"))
        scored = one.truth(positives, (*AREAS, "max-F1", "precision@recall=0.9"))
        return {**counted, **scored}

    def found() -> dict[str, float]:
        new, base = map(known, of)
        return {name: new[name] - base[name] for name in names}

    def draw(random: Random) -> Evaluate:
        positive = is_positive(random, rows, positives)
        common, own = random.normal(size=rows), random.normal(size=(2, rows))
        noise = np.sqrt(0.6) * common + np.sqrt(0.4) * own
        made = [one.positive.mean() * positive + z for one, z in zip(of, noise, strict=True)]
        score = {"base": made[1], "new": made[0]}
        return CLASSIFICATION(positive, score=score, threshold=cut, measures=names)

    smaller = min(positives, 1 - positives) * rows
    null = first == second
    return World(
        kind="pairs",
        design=f"binormal, AUC {first:g} and {second:g}",
        size=f"{rows} rows, {positives:.0%} positive",
        found=found,
        draw=draw,
        large=rows >= 100 and smaller >= 20,
        ways=("delta",),
        tests=OF_ROW_TESTS if null else (),
    )


def _of_losses(rows: int) -> dict[str, Any]:
    """What is tried of losses per row."""
    return {
        "large": rows >= 100,
        "ways": ("t", "percentile", "bca"),
        "tests": ("t", "wilcoxon", "sign", "bootstrap"),
    }


def probability_pairs(rows: int) -> World:
    """Two systems that blur the log odds alike."""
    truth = dict.fromkeys(("log-loss", "Brier"), 0.0)

    def draw(random: Random) -> Evaluate:
        eta = random.normal(-0.5, 1.5, rows)
        positive = random.random(rows) < special.expit(eta)
        blurred = special.expit(eta + 0.5 * random.normal(size=(2, rows)))
        given = {"base": blurred[0], "new": blurred[1]}
        return CLASSIFICATION(positive, probability=given, measures=tuple(truth))

    return World(
        kind="pairs",
        design="probabilities, blurred alike",
        size=f"{rows} rows",
        found=lambda: truth,
        draw=draw,
        **_of_losses(rows),
    )


def number_pairs(rows: int, word: str) -> World:
    """Two regressions whose residuals go together."""
    of, truth = RESIDUALS[word], dict.fromkeys(("RMSE", "MSE", "MAE"), 0.0)

    def draw(random: Random) -> Evaluate:
        common, own = of.rvs(rows, random), of.rvs((2, rows), random)
        zero = np.zeros(rows)
        given = {"base": common + own[0], "new": common + own[1]}
        return partial(cal.regression, zero, given, measures=tuple(truth))

    return World(
        kind="pairs",
        design=f"residuals {word}",
        size=f"{rows} rows",
        found=lambda: truth,
        draw=draw,
        **_of_losses(rows),
    )


def fit_pairs(rows: int) -> World:
    """Two systems that follow the truth alike, whose errors go together."""
    truth = dict.fromkeys(FITS, 0.0)

    def draw(random: Random) -> Evaluate:
        known, rest, common = random.normal(size=(3, rows))
        error = np.sqrt(0.6) * common + np.sqrt(0.4) * random.normal(size=(2, rows))
        base, new = known + 0.5 * error
        given = {"base": base, "new": new}
        return partial(cal.regression, known + 0.3 * rest, given, measures=FITS)

    return World(
        kind="pairs",
        design="predictions alike",
        size=f"{rows} rows",
        found=lambda: truth,
        draw=draw,
        large=rows >= 100,
        ways=("percentile",),
        tests=("normal", "bootstrap"),
    )


def user_pairs(number: int) -> World:
    """Two systems' scores of five rows of each user."""
    apart, cut, names = 1.2, 0.6, ("AUC", "AP", "accuracy", "F1", "MCC")
    user = np.repeat(np.arange(number), 5)

    def draw(random: Random) -> Evaluate:
        positive = random.random(len(user)) < 0.4
        common, own = random.normal(size=(2, number))[:, user], random.normal(size=(2, len(user)))
        made = apart * positive + np.sqrt(WITHIN) * common + np.sqrt(1 - WITHIN) * own
        score = {"base": made[0], "new": made[1]}
        return CLASSIFICATION(positive, score=score, threshold=cut, cluster=user, measures=names)

    return World(
        kind="pairs",
        design="scores of users",
        size=of_users(number),
        found=lambda: dict.fromkeys(names, 0.0),
        draw=draw,
        large=number >= 25,
        ways=("analytic",),
        tests=("normal", "bootstrap"),
    )


def worlds() -> list[World]:
    """Those whose coverage is measured."""
    return [
        *(topic_pairs(n, of, of) for of in TOPICS for n in (10, 25, 50, 250)),
        *(
            reranked(n, ties, shift)
            for ties in (0.7, 0.9, 0.97)
            for shift in (0.0, 0.1)
            for n in (25, 50, 100)
        ),
        *(topic_pairs(n, of, of, weighted=True) for of in TOPICS for n in (25, 50, 100)),
        *(topic_pairs(n, TOPICS[0], UNEQUAL) for n in (25, 50, 250)),
        *(topic_pairs(n, BETTER, TOPICS[0]) for n in (25, 50, 250)),
        *(topic_pairs(n, BETTER, TOPICS[0], weighted=True) for n in (25, 50, 100)),
        *(
            score_pairs(n, share, auc, auc)
            for auc in (0.76, 0.92)
            for n, share in ((100, 0.5), (200, 0.1), (300, 0.3), (1000, 0.1))
        ),
        *(score_pairs(n, share, 0.92, 0.85) for n, share in ((100, 0.5), (300, 0.3), (1000, 0.1))),
        *(probability_pairs(n) for n in (50, 100, 400)),
        *(number_pairs(n, word) for word in RESIDUALS for n in (50, 100, 400)),
        *(fit_pairs(n) for n in (30, 100, 300)),
        *(user_pairs(n) for n in (10, 20, 30, 100)),
    ]
