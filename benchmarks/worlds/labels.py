"""Labels of two classes and of several."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

import calipers as cal
from calipers.statistics import LabelMatrices
from worlds.world import CLASSIFICATION, COUNTS, Evaluate, Random, World, at_infinity

OF_LABELS = (
    *("accuracy", "precision", "recall", "specificity", "NPV", "balanced-accuracy", "F1", "MCC"),
    "diagonal-distance",
    *("kappa", "Jaccard", "J", "G-mean", "LR+", "LR-", "DOR"),
)
OF_CLASSES = (
    *("accuracy", "macro-F1", "weighted-F1", "macro-precision", "macro-recall", "kappa", "MCC"),
    *("kappa(weights='quadratic')", "balanced-accuracy", "adjusted-balanced-accuracy"),
)
OF_SETS = ("macro-F1", "macro-recall", "weighted-F1", "micro-F1")


def labels(rows: int, positives: float, recall: float, specificity: float, word: str) -> World:
    """Two classes."""
    cells = np.array(
        [
            [(1 - positives) * specificity, (1 - positives) * (1 - specificity)],
            [positives * (1 - recall), positives * recall],
        ]
    )

    def draw(random: Random) -> Evaluate:
        while True:
            cell = random.choice(4, rows, p=cells.ravel())
            truth, predicted = cell // 2, cell % 2
            if 0 < truth.sum() < rows:
                return CLASSIFICATION(truth, predicted, measures=OF_LABELS, positive=1)

    smaller = rows * min(positives, 1 - positives)
    size = f"{rows} rows, {positives:.0%} positive"
    large = rows >= 100 and smaller >= 20
    found = partial(at_infinity, cells, OF_LABELS)
    return World("labels", word, size, found, draw, large, ways=COUNTS)


def classes(rows: int, share: Sequence[float], accuracy: float) -> World:
    """Several classes; whatever is called wrong is called anything else, by its share."""
    p = np.array(share)
    wrong = p[:, None] * (1 - accuracy) * p[None, :]
    np.fill_diagonal(wrong, 0)
    cells = wrong / (1 - p[:, None]) + np.diag(p * accuracy)
    k = len(p)
    names = [str(j) for j in range(k)]

    def draw(random: Random) -> Evaluate:
        cell = random.choice(k * k, rows, p=cells.ravel())
        truth, predicted = (np.array(names)[x] for x in (cell // k, cell % k))
        return CLASSIFICATION(truth, predicted, labels=names, measures=OF_CLASSES)

    even = "even" if np.ptp(p) < 1e-9 else f"rarest {p.min():.0%}"
    large = rows >= 100 and rows * p.min() >= 20
    found = partial(at_infinity, cells, OF_CLASSES)
    size, good = f"{rows} rows", f", {accuracy:.0%} right" * (accuracy > 0.9)
    return World("classes", f"{k} classes, {even}{good}", size, found, draw, large, ways=COUNTS[4:])


ASSOCIATIONS = ("Cramer-V", "uncertainty-coefficient")


def associations(rows: int, k: int, share: float) -> World:
    """Predictions that are the class in this share of the rows, and else independent of it."""
    cells = (share * np.eye(k) + (1 - share) / k) / k
    names = list(map(str, range(k)))

    def draw(random: Random) -> Evaluate:
        cell = random.choice(k * k, rows, p=cells.ravel())
        truth, predicted = (np.array(names)[x] for x in (cell // k, cell % k))
        return CLASSIFICATION(truth, predicted, labels=names, measures=ASSOCIATIONS)

    design = f"{k} classes, association {share:g}"
    found = partial(at_infinity, cells, ASSOCIATIONS)
    return World("classes", design, f"{rows} rows", found, draw, rows >= 20 * k**2)


def label_sets(rows: int, positives: Sequence[int], right: float, lost: float = 0.0) -> World:
    """Several labels a row, each of so many rows on average and found with this recall; there are as
    many false alarms as are missed. A share of the rows is lost: four of five labels are wrong."""
    expected = np.array(positives, np.float64)
    missed, kept = expected * (1 - right), 1 - 0.8 * lost
    hit, rest = expected * right * kept, (rows - expected - missed) * kept
    cells = np.stack([rest, rows - expected - rest, expected - hit, hit], axis=-1)
    cells = cells.reshape(-1, 2, 2)

    def found() -> dict[str, float]:
        counts = LabelMatrices(cells, cells, tuple(map(str, range(len(expected)))))
        return {name: float(cal.measure(name).apply(counts)) for name in OF_SETS}

    def draw(random: Random) -> Evaluate:
        truth = random.random((rows, len(expected))) < expected / rows
        wrong = random.random(truth.shape) < np.where(truth, 1 - right, missed / (rows - expected))
        if lost:
            wrong |= (random.random((rows, 1)) < lost) & (random.random(truth.shape) < 0.8)
        return partial(cal.multilabel, truth, truth ^ wrong, measures=OF_SETS, curves=False)

    size = f"{rows} rows, rarest {min(positives)}"
    design = f"{len(positives)} labels a row, {right:.0%} found" + f", {lost:.0%} lost" * (lost > 0)
    large = rows >= 100 and min(positives) >= 20
    return World("labels", design, size, found, draw, large, ways=("delta", "percentile"))


def worlds() -> list[World]:
    """Those whose coverage is measured."""
    even, uneven = (1 / 3,) * 3, (0.6, 0.3, 0.1)
    ten = (0.1,) * 10
    lopsided = tuple(np.array([30, 20, 12, 10, 8, 6, 5, 4, 3, 2]) / 100)
    return [
        *(labels(n, 0.5, 0.8, 0.7, "moderate") for n in (40, 100, 200, 1000)),
        *(labels(n, 0.1, 0.7, 0.9, "rare positives") for n in (100, 200, 1000)),
        *(labels(n, 0.3, 0.95, 0.97, "nearly perfect") for n in (100, 1000)),
        *(labels(n, 0.5, 0.99, 0.99, "all but perfect") for n in (100, 1000)),
        *(classes(n, even, 0.7) for n in (60, 300)),
        *(classes(n, even, 0.99) for n in (60, 300)),
        classes(100, (0.6, 0.38, 0.02), 0.8),
        *(classes(n, uneven, 0.7) for n in (200, 1000)),
        classes(200, ten, 0.6),
        classes(100, (0.2,) * 5, 0.97),
        classes(500, (0.02,) * 50, 0.85),
        *(classes(240, (1 / 30,) * 30, right) for right in (0.6, 0.9)),
        *(classes(n, lopsided, 0.6) for n in (300, 1000)),
        *(associations(n, k, a) for k in (2, 3, 6) for n in (100, 400) for a in (0.0, 0.3, 0.7)),
        *(label_sets(300, (6, 60, 90, 120, 30), right) for right in (0.85, 0.97)),
        *(label_sets(300, (6, 8, 10, 12, 15) * k, 0.85) for k in (4, 10)),
        label_sets(1000, (20, 25, 30, 40, 60) * 4, 0.85),
        *(label_sets(300, (6, 8, 10, 12, 15) * 10, 0.95, lost) for lost in (0.01, 0.03)),
    ]
