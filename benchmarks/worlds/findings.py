"""Evaluations at the border of what findings claim, and away from it: how often each kind speaks
where it should not. A border is where a claim is just not true."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy import special

import calipers as cal
from worlds.world import Floats, Random, Trial

RESAMPLES = 600

#: Makes an evaluation of so many rows or topics.
Make = Callable[[Random, int], Any]

CLASSIFICATION: Callable[..., Any] = partial(partial, cal.classification, curves=False, positive=1)


def _truth(random: Random, rows: int, share: float) -> Any:
    """Which rows are positive; at least one of either class."""
    while True:
        truth = random.random(rows) < share
        if 0 < truth.sum() < rows:
            return truth.astype(int)


def _called(random: Random, truth: Any, recall: float, fpr: float) -> Any:
    """Answers."""
    return (random.random(len(truth)) < np.where(truth, recall, fpr)).astype(int)


def answers(share: float, recall: float, fpr: float) -> Make:
    """Answers of two classes."""

    def made(random: Random, rows: int) -> Any:
        truth = _truth(random, rows, share)
        return CLASSIFICATION(truth, _called(random, truth, recall, fpr))

    return made


def scored(share: float, apart: float, round_to: int | None = None) -> Make:
    """Two normals; rounded scores come from a coarse model."""

    def made(random: Random, rows: int) -> Any:
        truth = _truth(random, rows, share)
        score = apart * truth + random.normal(size=rows)
        return CLASSIFICATION(truth, score=score if round_to is None else score.round(round_to))

    return made


def probable(mean: float, spread: float) -> Make:
    """Calibrated probabilities."""

    def made(random: Random, rows: int) -> Any:
        while True:
            chance = special.expit(random.normal(mean, spread, rows))
            truth = random.random(rows) < chance
            if 0 < truth.sum() < rows:
                return CLASSIFICATION(truth.astype(int), probability=chance)

    return made


def classes(share: tuple[float, ...], right: float) -> Make:
    """Several classes that are recognised equally well; mistakes are spread over the others."""
    k = len(share)

    def made(random: Random, rows: int) -> Any:
        truth = random.choice(k, rows, p=share)
        other = (truth + random.integers(1, k, rows)) % k
        called = np.where(random.random(rows) < right, truth, other)
        names = np.array([f"c{j}" for j in range(k)])
        return partial(
            cal.classification, names[truth], names[called], labels=list(names), curves=False
        )

    return made


def label_sets(shares: tuple[float, ...], right: float) -> Make:
    """Independent labels, each named rightly as often."""

    def made(random: Random, rows: int) -> Any:
        truth = random.random((rows, len(shares))) < shares
        said = truth ^ (random.random(truth.shape) > right)
        return partial(cal.multilabel, truth.astype(int), said.astype(int), curves=False)

    return made


def numbers(correlation: float, by: float) -> Make:
    """A prediction of `by` times what is known; at by = 2 it errs as the best constant does."""

    def made(random: Random, rows: int) -> Any:
        known, rest = random.normal(size=(2, rows))
        truth = correlation * known + np.sqrt(1 - correlation**2) * rest
        return partial(cal.regression, truth, by * correlation * known)

    return made


def residuals(word: str) -> Make:
    """Predictions that are the mean of the truth, and residuals that do not go with them."""

    def made(random: Random, rows: int) -> Any:
        predicted, e = random.normal(size=(2, rows))
        if word == "of lognormal numbers":
            predicted = np.exp(predicted)
        elif word == "lognormal":
            e = np.exp(e) - np.exp(0.5)
        elif word == "t":
            e = random.standard_t(3, rows)
        elif word == "uneven":
            e *= np.exp(predicted / 2)
        return partial(cal.regression, predicted - e, predicted)

    return made


def quantiles(share: float) -> Make:
    """Intervals that hold the share they are to hold, wider where predictions are larger."""

    def made(random: Random, rows: int) -> Any:
        predicted, e = random.normal(size=(2, rows))
        spread = np.exp(predicted / 2)
        ends = {level: predicted + spread * special.ndtri(level) for level in (1 - share, share)}
        return partial(cal.regression, predicted + spread * e, quantiles=ends)

    return made


def runs(systems: int, judged: float) -> Make:
    """Runs that are alike, of thirty documents a topic, a share of which is judged."""

    def made(random: Random, topics: int) -> Any:
        relevant = random.random((topics, 30)) < random.beta(1.5, 6, (topics, 1)) + 0.03
        common, own = random.normal(size=(topics, 30)), random.normal(size=(systems, topics, 30))
        score: Floats = relevant + np.sqrt(0.6) * common + np.sqrt(0.4) * own
        seen = random.random((topics, 30)) < judged
        qrels = {
            f"q{t}": {f"d{i}": int(relevant[t, i]) for i in range(30) if seen[t, i] or i == 0}
            for t in range(topics)
        }
        made = {
            f"system {j}": {
                f"q{t}": {f"d{i}": float(x) for i, x in enumerate(of)} for t, of in enumerate(table)
            }
            for j, table in enumerate(score)
        }
        return partial(cal.retrieval, qrels, made)

    return made


def two_scores(share: float) -> Make:
    """Two systems of which one hardly differs from the other."""

    def made(random: Random, rows: int) -> Any:
        truth = _truth(random, rows, share)
        score = truth + random.normal(size=rows)
        other = score + 0.01 * random.normal(size=rows)
        return CLASSIFICATION(truth, score={"a": score, "b": other})

    return made


def two_answers(share: float, right: float, apart: float) -> Make:
    """Two systems that mostly answer the same."""

    def made(random: Random, rows: int) -> Any:
        truth = _truth(random, rows, share)
        first = _called(random, truth, right, 1 - right)
        second = np.where(random.random(rows) < apart, 1 - first, first)
        return CLASSIFICATION(truth, {"a": first, "b": second})

    return made


def leaves(number: int) -> Make:
    """Scores of a tree, as many as it has leaves."""

    def made(random: Random, rows: int) -> Any:
        truth = _truth(random, rows, 0.4)
        raw = special.ndtr((1.5 * truth + random.normal(size=rows)) / 1.5)
        leaf = np.sort(np.random.default_rng(7).random(number))
        return CLASSIFICATION(truth, score=leaf[np.minimum((raw * number).astype(int), number - 1)])

    return made


OF_TWO = (
    "below-chance",
    "accuracy-below-constant",
    "rules-out-only",
    "rules-in-only",
    "overpredicted-class",
)
OF_CLASSES = ("accuracy-below-constant", "low-recall-class", "confused-class", "class-imbalance")
OF_LABELS = ("subset-accuracy-below-constant", "confused-label", "rare-labels")
OF_ROWS = ("identical-systems", "perfect-separation", "duplicated-rows")
OF_RESIDUALS = (
    "heavy-tails",
    "skewed-residuals",
    "residual-trend",
    "heteroscedastic-errors",
    "influential-rows",
)
OF_TOPICS = ("topic-dependent-difference", "influential-topic", "identical-systems")

#: What data there are, and which findings would be wrong of them.
WORLDS: dict[str, tuple[Make, tuple[str, ...]]] = {
    "guesses": (answers(0.5, 0.5, 0.5), (*OF_TWO, "class-imbalance", *OF_ROWS)),
    "guesses of a rare class": (answers(0.1, 0.1, 0.1), ("below-chance", "rules-in-only",
        "rules-out-only", "overpredicted-class", "class-imbalance", *OF_ROWS)),
    "as right as the constant": (answers(0.3, 0.65, 0.15), ("accuracy-below-constant",
        "below-chance", "class-imbalance", *OF_ROWS)),
    "answers right in 0.8": (answers(0.5, 0.8, 0.2), (*OF_TWO, "class-imbalance", *OF_ROWS)),
    "leaning by 1.25": (answers(0.4, 0.8, 0.3), ("overpredicted-class", "below-chance", "class-imbalance", *OF_ROWS)),
    "a good test": (answers(0.5, 0.97, 0.03), (*OF_TWO, "class-imbalance", *OF_ROWS)),
    "scores by chance": (scored(0.5, 0.0), ("below-chance", "class-imbalance", *OF_ROWS)),
    "scores by chance, rare": (scored(0.05, 0.0), ("below-chance", *OF_ROWS)),
    "scores, AUC 0.99": (scored(0.5, 3.29), ("below-chance", "class-imbalance", *OF_ROWS)),
    "scores, AUC 0.99, rare": (scored(0.05, 3.29), ("below-chance", *OF_ROWS)),
    "scores of two digits": (scored(0.3, 1.5, 2), ("below-chance", "class-imbalance", *OF_ROWS)),
    "scores of three digits": (scored(0.3, 2.5, 3), ("below-chance", "class-imbalance", *OF_ROWS)),
    "scores of 500 leaves": (leaves(500), ("below-chance", "class-imbalance", *OF_ROWS)),
    "scores of 5,000 leaves": (leaves(5000), ("below-chance", "class-imbalance", *OF_ROWS)),
    "two scores nearly the same": (two_scores(0.4), OF_ROWS),
    "two answers, 1% apart": (two_answers(0.5, 0.9, 0.01), OF_ROWS),
    "calibrated": (probable(-0.5, 1.5), ("miscalibrated", "below-chance", "class-imbalance", *OF_ROWS)),
    "calibrated, rare": (probable(-3.0, 1.2), ("miscalibrated", "below-chance", *OF_ROWS)),
    "calibrated, sharp": (probable(0.0, 5.0), ("miscalibrated", "below-chance", "class-imbalance",
        *OF_ROWS)),
    "three classes": (classes((0.5, 0.3, 0.2), 0.7), (*OF_CLASSES, *OF_ROWS)),
    "three classes by chance": (classes((1 / 3,) * 3, 1 / 3), (*OF_CLASSES, *OF_ROWS)),
    "three classes, one rare": (classes((0.6, 0.37, 0.03), 0.8), ("low-recall-class", "confused-class",
        *OF_ROWS)),
    "ten classes": (classes((0.1,) * 10, 0.6), (*OF_CLASSES, *OF_ROWS)),
    "labels": (label_sets((0.5, 0.3, 0.2, 0.1, 0.05), 0.9), (*OF_LABELS, *OF_ROWS)),
    "a regression like a constant": (numbers(0.6, 2.0), ("error-above-constant", *OF_ROWS)),
    "a good regression": (numbers(0.9, 1.0), ("error-above-constant", *OF_RESIDUALS, *OF_ROWS)),
    "residuals, of lognormal numbers": (residuals("of lognormal numbers"), (*OF_RESIDUALS, *OF_ROWS)),
    "residuals, t with 3 degrees of freedom": (residuals("t"), ("residual-trend",
        "heteroscedastic-errors", "skewed-residuals", *OF_ROWS)),
    "residuals, lognormal": (residuals("lognormal"), ("residual-trend", "heteroscedastic-errors", *OF_ROWS)),
    "intervals of 90%": (quantiles(0.95), ("miscoverage", "conditional-miscoverage")),
    "intervals of 50%": (quantiles(0.75), ("miscoverage", "conditional-miscoverage")),
    "residuals, uneven": (residuals("uneven"), ("residual-trend", "skewed-residuals", *OF_ROWS)),
}  # fmt: skip
OF_RUNS: dict[str, tuple[Make, tuple[str, ...]]] = {
    "runs": (runs(2, 1.0), (*OF_TOPICS, "no-judged-documents", "low-judged-fraction", "tied-scores",
        "missing-topics", "mostly-tied-topics")),
    "six runs": (runs(6, 1.0), (*OF_TOPICS, "no-judged-documents", "low-judged-fraction", "tied-scores",
        "missing-topics", "mostly-tied-topics")),
    "runs, half judged": (runs(2, 0.5), (*OF_TOPICS, "no-judged-documents", "tied-scores",
        "missing-topics")),
}  # fmt: skip


def findings(design: str, number: int) -> Trial:
    """What findings say of an evaluation with the usual measures."""
    make, wrong = (WORLDS | OF_RUNS)[design]

    def draw(random: Random, seed: int) -> dict[str, float]:
        said = {f.kind for f in make(random, number)(n_resamples=RESAMPLES, seed=seed).findings}
        spoken = {kind: float(kind not in said) for kind in wrong}
        return {**spoken, "any of these": min(spoken.values())}

    size = f"{number} {'topics' if design in OF_RUNS else 'rows'}"
    large = number >= 100 or design in OF_RUNS
    return Trial("findings", design, size, draw, large, dear=10)


def trials() -> list[Trial]:
    """Those whose false findings are counted."""
    return [
        *(findings(design, n) for design in WORLDS for n in (20, 60, 200, 1000)),
        *(findings(design, n) for design in OF_RUNS for n in (10, 25, 50)),
    ]
