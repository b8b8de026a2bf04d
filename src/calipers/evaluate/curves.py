"""ROC and precision-recall curves for drawing, with pointwise bands."""

from __future__ import annotations

from typing import Any

import numpy as np

from calipers.inference.estimate import Settings
from calipers.inference.intervals import MOST_DEGENERATE
from calipers.measures.counts import false_positive_rate, precision, recall
from calipers.results import Curve
from calipers.statistics import FloatArray, ScoreTable

#: Where bands are computed.
GRID = np.linspace(0.0, 1.0, 101)

#: Thinning keeps every point within this distance of a point drawn.
TOLERANCE = 0.005


def bands(
    table: ScoreTable, rows: Any, settings: Settings, *, grids: bool
) -> tuple[FloatArray, FloatArray | None, FloatArray | None]:
    """Bootstrap replicates: areas, TPR over a grid of FPR, precision over a grid of recall.

    Without weights the table is enough: each of its counts stands for that many equal rows.
    ``rows`` are (truth, score, weight, whether to key the draws by row).
    """
    from calipers import _core

    if rows is None:
        positive = np.repeat(
            np.tile([True, False], len(table.scores)),
            np.column_stack([table.positive, table.negative]).ravel().astype(np.int64),
        )
        size = (table.positive + table.negative).astype(np.int64)
        last = np.zeros(len(positive), bool)
        last[np.cumsum(size) - 1] = True
        weight = unit = None
    else:
        truth, score, row_weight, by_row = rows
        order = _core.order_descending(score)
        ordered = score[order]
        positive = truth[order]
        last = np.append(ordered[1:] != ordered[:-1], True)
        weight = None if row_weight is None else row_weight[order]
        unit = np.asarray(order, np.uint32) if by_row else None
    grid = GRID if grids else None
    areas, tpr, at_recall = _core.bootstrap_scores(
        positive, last, weight, unit, settings.seed, settings.resamples, grid, grid
    )
    return areas, tpr, at_recall


def roc_curve(system: str, table: ScoreTable, tpr: FloatArray, settings: Settings) -> Curve:
    """TPR against FPR, from (0, 0) to (1, 1)."""
    matrix = table.confusion()
    points = false_positive_rate(matrix), recall(matrix), table.thresholds
    labels = "False positive rate", "True positive rate"
    chance = ((0.0, 0.0), (1.0, 1.0))
    return _curve(system, "ROC", labels, points, tpr, chance, settings)


def precision_recall_curve(
    system: str, table: ScoreTable, at_recall: FloatArray, settings: Settings
) -> Curve:
    """Precision against recall; it begins where something is predicted positive."""
    matrix = table.confusion()
    with np.errstate(invalid="ignore"):
        points = recall(matrix)[1:], precision(matrix)[1:], table.scores
    share = float(table.total_positive / (table.total_positive + table.total_negative))
    chance = ((0.0, share), (1.0, share))
    return _curve(system, "PR", ("Recall", "Precision"), points, at_recall, chance, settings)


def _curve(
    system: str,
    kind: str,
    labels: tuple[str, str],
    points: tuple[FloatArray, FloatArray, FloatArray],
    replicates: FloatArray,
    chance: tuple[tuple[float, float], tuple[float, float]],
    settings: Settings,
) -> Curve:
    keep = _thinned(points[0], points[1])
    x, y, threshold = (column[keep] for column in points)
    low, high = _limits(replicates, settings.level)
    return Curve(
        system=system,
        kind=kind,
        x_label=labels[0],
        y_label=labels[1],
        x=x,
        y=y,
        threshold=threshold,
        band_x=GRID,
        low=low,
        high=high,
        level=settings.level,
        method="bootstrap [B]",
        tolerance=TOLERANCE,
        chance=chance,
    )


def _thinned(x: FloatArray, y: FloatArray) -> Any:
    """Positions to draw: the ends, and one point for every stretch of ``TOLERANCE`` of path.

    A point left out is no farther along the path, and so in the plane, from one that is kept.
    """
    path = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(x)) + np.abs(np.diff(y)))])
    stretch = np.floor(path / TOLERANCE)
    keep = np.append(True, stretch[1:] != stretch[:-1])
    keep[-1] = True
    return np.flatnonzero(keep)


def _limits(replicates: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    """Pointwise percentile limits; none where too many replicates have no value."""
    defined = np.isfinite(replicates)
    enough = defined.mean(axis=0) >= 1 - MOST_DEGENERATE
    low, high = np.full((2, replicates.shape[1]), np.nan)
    if enough.any():
        tails = [(1 - level) / 2, (1 + level) / 2]
        low[enough], high[enough] = np.nanquantile(replicates[:, enough], tails, axis=0)
    return low, high
