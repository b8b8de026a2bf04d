"""Scores of two classes: areas under curves, and their points."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import integrate, optimize, special, stats

import calipers as cal
from calipers.statistics import ScoreTable
from worlds.world import CLASSIFICATION, UNIFORM_GRID, Evaluate, Floats, Random, World

AREAS = ("AUC", "PR-AUC", "AP")
AT_POINTS = (
    *("precision@recall=0.9", "precision@volume=0.2", "recall@FPR=0.1", "FPR@recall=0.9"),
    *("recall@precision=0.5", "KS", "max-F1", "max-accuracy", "pAUC(max_fpr=0.1)", "EER"),
)
OF_AREAS = ("delong", "hanley", "delta", "percentile", "bca")


@dataclass(frozen=True)
class Scored:
    """What scores of positives and of negatives are drawn from."""

    name: str
    positive: Any
    negative: Any

    @classmethod
    def binormal(cls, auc: float) -> Scored:
        """Two normals with this area."""
        apart = np.sqrt(2) * special.ndtri(auc)
        return cls(f"binormal, AUC {auc:g}", stats.norm(apart), stats.norm())

    def truth(self, positives: float, measures: Sequence[str]) -> dict[str, float]:
        """By the distributions, on a fine grid of recalls where need be."""
        recall = UNIFORM_GRID
        at = self.positive.isf(recall)
        fpr = self.negative.sf(at)
        called = positives * recall + (1 - positives) * fpr
        precision = positives * recall / called

        def volume(share: float) -> float:
            def beyond(x: float) -> float:
                above = (d.sf(x) for d in (self.positive, self.negative))
                return float(np.dot([positives, 1 - positives], list(above)) - share)

            x = optimize.brentq(beyond, *self.negative.ppf([1e-9, 1 - 1e-12]))
            return float(positives * self.positive.sf(x) / share)

        def partial_area(most: float) -> float:
            area = integrate.quad(lambda f: self.positive.sf(self.negative.isf(f)), 0, most)[0]
            return float((1 + (area - most**2 / 2) / (most - most**2 / 2)) / 2)

        known: dict[str, Callable[[], float]] = {
            "AUC": lambda: float(np.mean(1 - fpr)),
            "AP": lambda: float(np.mean(precision)),
            "PR-AUC": lambda: float(np.mean(precision)),
            "precision@recall=0.9": lambda: float(np.interp(0.9, recall, precision)),
            "precision@volume=0.2": lambda: volume(0.2),
            "recall@FPR=0.1": lambda: float(self.positive.sf(self.negative.isf(0.1))),
            "FPR@recall=0.9": lambda: float(self.negative.sf(self.positive.isf(0.9))),
            "recall@precision=0.5": lambda: float(recall[precision >= 0.5].max(initial=0.0)),
            "KS": lambda: float(np.max(recall - fpr)),
            "max-F1": lambda: float(np.max(2 * positives * recall / (positives + called))),
            "max-accuracy": lambda: float(
                np.max(positives * recall + (1 - positives) * (1 - fpr)).clip(1 - positives)
            ),
            "pAUC(max_fpr=0.1)": lambda: partial_area(0.1),
            "EER": lambda: float(fpr[np.argmin(np.abs(fpr - (1 - recall)))]),
        }
        return {name: known[name]() for name in measures}

    def drawn(self, random: Random, truth: npt.NDArray[np.bool_]) -> Floats:
        """Scores of rows."""
        out = self.negative.rvs(len(truth), random)
        out[truth] = self.positive.rvs(int(truth.sum()), random)
        return np.asarray(out)


@dataclass(frozen=True)
class Rated(Scored):
    """Ratings of 1 to 5, and how probable each is."""

    @classmethod
    def binormal(cls, auc: float) -> Scored:
        """What two normals leave of themselves in five ratings."""
        apart = np.sqrt(2) * special.ndtri(auc)
        cut = np.array([-0.5, 0.2, 0.9, 1.6])

        def chances(mean: float) -> Any:
            p = np.diff(np.concatenate([[0], special.ndtr(cut - mean), [1]]))
            return stats.rv_discrete(values=(np.arange(5), p))

        return cls(f"5 ratings, AUC {auc:g} before", chances(apart), chances(0.0))

    def truth(self, positives: float, measures: Sequence[str]) -> dict[str, float]:
        """Of a table that holds the probabilities."""
        rating = np.tile(np.arange(5.0), 2)
        weight = np.concatenate([d.pmf(np.arange(5)) for d in (self.positive, self.negative)])
        weight *= np.repeat([positives, 1 - positives], 5)
        table = ScoreTable.from_rows(np.repeat([True, False], 5), rating, weight)
        return {name: float(cal.measure(name, family="scores").apply(table)) for name in measures}

    def drawn(self, random: Random, truth: npt.NDArray[np.bool_]) -> Floats:
        """Ratings of rows."""
        at = np.arange(5)
        p = np.stack([d.pmf(at) for d in (self.negative, self.positive)])[truth.astype(int)]
        return np.asarray(
            (random.random((len(truth), 1)) > np.cumsum(p, axis=1)).sum(axis=1), float
        )


@dataclass(frozen=True)
class Passing(Scored):
    """Normals, but a share of the rows of either class, or of the positives, passes for the other."""

    share: float = 0.0
    of_both: bool = True

    @classmethod
    def normal(cls, auc: float, share: float, *, of_both: bool = True) -> Scored:
        """Two normals with this area, but for these rows."""
        apart, who = np.sqrt(2) * special.ndtri(auc), "rows" if of_both else "positives"
        name = f"binormal, AUC {auc:g}, {share:.0%} of the {who} as of the other class"
        return cls(name, stats.norm(apart), stats.norm(), share, of_both)

    def truth(self, positives: float, measures: Sequence[str]) -> dict[str, float]:
        """Of two that pass the area is the other way round, of one it is a half."""
        area = super().truth(positives, ["AUC"])["AUC"]
        other = self.share if self.of_both else 0.0
        right, wrong = (1 - self.share) * (1 - other), self.share * other
        return {"AUC": right * area + wrong * (1 - area) + (1 - right - wrong) / 2}

    def drawn(self, random: Random, truth: npt.NDArray[np.bool_]) -> Floats:
        """As of the class that a row passes for."""
        passes = random.random(len(truth)) < self.share
        return super().drawn(random, truth ^ (passes & (truth | self.of_both)))


BIBETA = Scored("Beta(5, 2) over Beta(2, 5)", stats.beta(5, 2), stats.beta(2, 5))
UNIFORM = Scored("uniforms half apart", stats.uniform(0.5, 1), stats.uniform(0, 1))


def is_positive(random: Random, rows: int, positives: float) -> npt.NDArray[np.bool_]:
    """Which rows are: so many of them, or each by chance, at least two of either class."""
    if isinstance(positives, int):
        return np.arange(rows) < positives
    while True:
        truth = random.random(rows) < positives
        if 2 <= truth.sum() <= rows - 2:
            return np.asarray(truth)


def scores(
    of: Scored, positives: float, rows: int, measures: Sequence[str], ways: Sequence[str] = ()
) -> World:
    """One system's scores."""

    def draw(random: Random) -> Evaluate:
        truth = is_positive(random, rows, positives)
        return CLASSIFICATION(truth, score=of.drawn(random, truth), measures=measures)

    if isinstance(positives, int):
        share, size = positives / rows, f"{positives} + {rows - positives} rows"
    else:
        share, size = positives, f"{rows} rows, {positives:.0%} positive"
    smaller = min(share, 1 - share) * rows
    kind = "areas" if measures[0] in AREAS else "points"
    large = rows >= 100 and smaller >= 19.99
    found = partial(of.truth, share, measures)
    return World(kind, of.name, size, found, draw, large, ways=tuple(ways))


def worlds() -> list[World]:
    """Those whose coverage is measured."""
    binormal = Scored.binormal
    return [
        *(
            scores(binormal(auc), positives, rows, ("AUC", "PR-AUC", "AP"), OF_AREAS)
            for auc in (0.6, 0.76, 0.92, 0.96)
            for positives, rows in ((20, 40), (20, 200), (100, 200), (1000, 2000))
        ),
        *(
            scores(binormal(0.995), positives, rows, AREAS, OF_AREAS)
            for positives, rows in ((10, 200), (20, 200), (100, 200))
        ),
        *(
            scores(Passing.normal(0.998, share), 0.5, rows, ("AUC",), OF_AREAS)
            for share, rows in ((0.02, 60), (0.02, 100), (0.02, 150), (0.01, 150), (0.02, 500))
        ),
        *(
            scores(Passing.normal(0.998, share, of_both=False), positives, rows, ("AUC",), OF_AREAS)
            for share, positives, rows in ((0.05, 20, 200), (0.05, 40, 400), (0.02, 100, 200))
        ),
        *(
            scores(Rated.binormal(auc), positives, rows, AREAS, OF_AREAS)
            for auc in (0.76, 0.92)
            for positives, rows in ((20, 200), (100, 200))
        ),
        *(
            scores(of, positives, rows, AREAS, OF_AREAS)
            for of in (binormal(0.76), BIBETA, UNIFORM)
            for positives, rows in ((0.1, 200), (0.1, 1000), (0.5, 200), (0.1, 5000))
        ),
        *(
            scores(binormal(auc), positives, rows, AT_POINTS, ("delta", "bca"))
            for auc in (0.76, 0.92)
            for positives, rows in ((0.5, 100), (0.3, 300), (0.1, 1000))
        ),
        *(scores(binormal(0.6), 0.5, rows, AT_POINTS) for rows in (200, 1000)),
    ]
