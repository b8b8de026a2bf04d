"""Heat maps of confusion matrices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from calipers.report import numbers
from calipers.report.class_tables import (
    JUDGE_SIDES,
    MAX_LABEL_LENGTH,
    TRUTH_SIDES,
    common_order,
    format_cells,
    matrix_sides,
    matrix_summary,
    matrix_table,
)
from calipers.report.figures import vega
from calipers.report.figures.figure import Figure, selector_label
from calipers.report.figures.registry import EvaluationChart, register_chart
from calipers.report.figures.vega import Spec
from calipers.report.safe_names import shorten_name, unique_labels
from calipers.results import ORIENTATIONS, ConfusionBase, Evaluation

#: The largest number of classes that are drawn: with more, cells would be smaller than a letter.
MAX_CLASSES = 60
#: The largest number of classes with counts in the cells.
MAX_CLASSES_WITH_COUNTS = 12
#: What cells are proportions of, by the margins of the matrix.
_SHADED = {
    TRUTH_SIDES: ("proportion of the true class", "proportion of the predicted class"),
    JUDGE_SIDES: ("proportion of the human label", "proportion of the judge's score"),
}


def confusion_figures(
    evaluation: Evaluation, orientation: str = ORIENTATIONS[0]
) -> Iterator[Figure]:
    """Yield the matrix of each system, all in the same order of classes.

    Grades of a judge are in ascending order, all other classes so that confusions are adjacent.
    """
    sides = matrix_sides(evaluation)
    confusions = [c for c in evaluation.confusions if len(c.labels) <= MAX_CLASSES]
    order = None if sides == JUDGE_SIDES else common_order(confusions)
    for confusion in confusions:
        ordered = confusion if order is None else confusion.reordered(order)
        title = kind = "Confusion matrix"
        if len(evaluation.confusions) > 1:
            title = f"{title}: {shorten_name(confusion.system)}"
        head, rows = matrix_table(ordered, orientation, sides=sides)
        yield Figure(
            title=title,
            alt_text=f"{title}. {matrix_summary(ordered, sides)}",
            caption=caption(ordered, confusion.labels, orientation, sides),
            spec=heat_map(ordered, orientation, sides),
            header=tuple(head),
            rows=tuple(map(tuple, rows)),
            wide=len(confusion.labels) > MAX_CLASSES_WITH_COUNTS,
            choice=selector_label(confusion.system, len(evaluation.confusions)),
            chosen_from=kind,
        )


def caption(
    confusion: ConfusionBase,
    original_labels: Sequence[str],
    orientation: str = ORIENTATIONS[0],
    sides: tuple[str, str] = TRUTH_SIDES,
) -> str:
    """Return the caption of a heat map, which says whether its order is ``original_labels``."""
    side = "row" if orientation == ORIENTATIONS[0] else "column"
    shade = _SHADED[sides][0]
    sentences = [matrix_summary(confusion, sides), f"Color: {shade}, by {side}."]
    if (confusion.low == confusion.low).any():
        level = numbers.format_percent(confusion.level)
        sentences.append(f"In the HTML report, hovering over a cell shows its {level} CI.")
    if tuple(original_labels) != confusion.labels:
        sentences.append("Classes that are often confused are adjacent.")
    return " ".join(sentences)


def heat_map(
    confusion: ConfusionBase,
    orientation: str = ORIENTATIONS[0],
    sides: tuple[str, str] = TRUTH_SIDES,
) -> Spec:
    """Return the matrix as a Vega-Lite spec, whose margins are ``sides``.

    The color is the proportion of the true class; tooltips have counts, proportions and intervals.
    """
    names = list(unique_labels(confusion.labels, MAX_LABEL_LENGTH).values())
    down, across = sides[:: 1 if orientation == ORIENTATIONS[0] else -1]
    of_truth, of_prediction = _SHADED[sides]
    tips = vega.tooltip(
        (sides[0], sides[0]), (sides[1], sides[1]), ("count", "count"),
        ("proportion_text", of_truth), ("ofPrediction", of_prediction),
    )  # fmt: skip
    cells = _cell_data(confusion, names, sides)
    return cell_heat_map(cells, (down, names), (across, names), tips)


def cell_heat_map(
    cells: Sequence[Spec],
    down: tuple[str, Sequence[str]],
    across: tuple[str, Sequence[str]],
    tips: Sequence[Spec],
    legend_format: str = ".0%",
) -> Spec:
    """Return a heat map of cells by their ``share``, with their ``count`` if there is room.

    ``down`` and ``across`` are the names of both axes with their values. ``legend_format`` is the
    format of the legend.
    """
    max_classes = max(len(down[1]), len(across[1]))
    step = max(10, min(46 if max_classes > 3 else 90, 560 // max_classes))
    axis = {"labelLimit": 160, "grid": False}
    above = {**axis, "orient": "top", "labelAngle": -45 if len(across[1]) > 4 else 0}
    sides: Spec = {
        "x": vega.nominal(across[0], sort=list(across[1]), title=across[0], axis=above),
        "y": vega.nominal(down[0], sort=list(down[1]), title=down[0], axis=axis),
        "tooltip": tips,
    }
    shades = {"domain": [0, 1], "range": ["#0072B21A", vega.PALETTE[0]]}
    legend = {"format": legend_format, "gradientLength": 160}
    layers = [
        vega.mark_layer(
            "rect", color=vega.quantity("proportion", title=None, scale=shades, legend=legend)
        )
    ]
    if max_classes <= MAX_CLASSES_WITH_COUNTS:
        on_dark = {"condition": {"test": "datum.share > 0.55", "value": "white"}}
        ink = {**on_dark, "value": "currentColor"}
        mark = {"type": "text", "fontSize": 12}
        layers.append(vega.mark_layer(mark, text=vega.nominal("count"), color=ink))
    return vega.assemble_spec(
        width={"step": step},
        height={"step": step},
        datasets={"cells": cells},
        data={"name": "cells"},
        encoding=sides,
        layer=layers,
    )


def _cell_data(
    confusion: ConfusionBase, names: Sequence[str], sides: tuple[str, str]
) -> list[dict[str, Any]]:
    proportions, predicted_proportions = (
        confusion.table(normalize=n) for n in ("truth", "prediction")
    )
    counts = format_cells(confusion.counts, is_proportion=False)
    digits = numbers.Rounding(3)
    return [
        {
            sides[0]: true,
            sides[1]: predicted,
            "count": counts[i][j],
            "proportion": None
            if np.isnan(proportions[i, j])
            else round(float(proportions[i, j]), 4),
            "proportion_text": digits.value_with_interval(
                float(proportions[i, j]), float(confusion.low[i, j]), float(confusion.high[i, j])
            ),
            "ofPrediction": digits(float(predicted_proportions[i, j])),
        }
        for i, true in enumerate(names)
        for j, predicted in enumerate(names)
    ]


class _ConfusionChart(EvaluationChart):
    """Chart of confusion matrices, the only one that uses their orientation."""

    def figures(self, evaluation: Evaluation, orientation: str) -> Iterator[Figure]:
        """Return the figures of an evaluation."""
        return self._with_kind(confusion_figures(evaluation, orientation))


register_chart(_ConfusionChart(name="confusion", title="Confusion matrix", draw=confusion_figures))
