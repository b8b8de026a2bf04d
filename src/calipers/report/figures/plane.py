"""Points in the ROC plane, with labels, distances to the diagonal, and reversed predictions.

Points below the diagonal are also shown with their predictions reversed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from calipers.report.figures import vega
from calipers.report.figures.vega import Spec, json_number
from calipers.report.safe_names import shorten_name
from calipers.results import Curve

#: The largest number of points with names; more would overlap.
MAX_NAMED_POINTS = 12
#: The largest proportion of a name that may overlap other names or points.
MAX_OVERLAP = 0.35
#: Heading of the column of distances.
DISTANCE_HEADING = "distance to the diagonal"


def has_only_points(curves: Sequence[Curve]) -> bool:
    """Return whether all curves are points in the ROC plane."""
    return all(c.shape == "point" for c in curves)


def distance(x: float, y: float) -> float:
    """Return the signed distance of a point above the diagonal, negative below it."""
    return (y - x) / math.sqrt(2)


def is_below_diagonal(curve: Curve) -> bool:
    """Return whether a curve is a point below the diagonal."""
    return bool(len(curve) and curve.y[0] < curve.x[0])


def opposite_name(name: str) -> str:
    """Return the name of a system with reversed predictions.

    Examples
    --------
    >>> opposite_name("B")
    'B′'
    """
    return f"{name}′"


def extra_sentences(curves: Sequence[Curve]) -> list[str]:
    """Return sentences on what is drawn in addition to the points."""
    if len(curves) > MAX_NAMED_POINTS:
        return []
    sentences = ["Dotted: the distance to the diagonal, (TPR − FPR)/√2."]
    below = [shorten_name(c.series or c.system) for c in curves if is_below_diagonal(c)]
    if below:
        sentences.append(
            f"Open circle: {opposite_name(below[0])} is {below[0]}, which is below the diagonal, "
            "with its predictions reversed; a dashed line joins the two."
        )
    return sentences


def rows(
    curves: Sequence[Curve], format_point: Callable[[Curve], tuple[str, str]]
) -> list[list[str]]:
    """Return the table of points with distances, and of reversed points below the diagonal."""
    table = []
    for c in (c for c in curves if len(c)):
        name, x, y = shorten_name(c.series or c.system), float(c.x[0]), float(c.y[0])
        table.append([name, *format_point(c), f"{distance(x, y):.4f}".replace("-", "−")])
        if is_below_diagonal(c):
            reversed_cells = (f"{1 - x:.4f}", f"{1 - y:.4f}", f"{distance(1 - x, 1 - y):.4f}")
            table.append([f"{opposite_name(name)}: {name} reversed", *reversed_cells])
    return table


def layers(
    curves: Sequence[Curve],
    get_name: Callable[[Curve], str],
    x: Spec,
    y: Spec,
    hue: Spec,
    size: tuple[int, int],
) -> list[Spec]:
    """Return the layers in addition to the points, if there are few of them."""
    finite_curves = [
        c for c in curves if len(c) and math.isfinite(c.x[0]) and math.isfinite(c.y[0])
    ]
    if not finite_curves or len(finite_curves) > MAX_NAMED_POINTS:
        return []
    points: list[Spec] = [
        {"x": float(c.x[0]), "y": float(c.y[0]), "system": get_name(c), "name": get_name(c)}
        for c in finite_curves
    ]
    projections = [
        {
            "x": json_number(point["x"], 4), "y": json_number(point["y"], 4),
            "system": point["system"],
            "x2": json_number((point["x"] + point["y"]) / 2, 4),
            "y2": json_number((point["x"] + point["y"]) / 2, 4),
        }
        for point in points
    ]  # fmt: skip
    dotted = {"type": "rule", "strokeDash": [1, 3], "strokeWidth": 1.5, "opacity": 0.8}
    specs = [vega.layer(projections, dotted, x=x, y=y, **vega.end_channels("x2", "y2"), color=hue)]
    reversed_points = [
        {
            "x": 1 - point["x"],
            "y": 1 - point["y"],
            "system": point["system"],
            "name": opposite_name(point["name"]),
        }
        for point in points
        if point["y"] < point["x"]
    ]
    if reversed_points:
        segments = [
            {
                "x": point["x"],
                "y": point["y"],
                "x2": 1 - point["x"],
                "y2": 1 - point["y"],
                "system": point["system"],
            }
            for point in reversed_points
        ]
        segment_mark = {"type": "rule", "strokeDash": [5, 4], "strokeWidth": 1, "opacity": 0.45}
        specs.append(
            vega.layer(segments, segment_mark, x=x, y=y, **vega.end_channels("x2", "y2"), color=hue)
        )
        ring = {"type": "point", "filled": False, "size": 80, "strokeWidth": 2, "opacity": 1}
        specs.append(vega.layer(reversed_points, ring, x=x, y=y, color=hue))
    all_points = [*points, *reversed_points]
    width, height = size
    positions = [
        (float(point["x"]) * width, (1 - float(point["y"])) * height) for point in all_points
    ]
    return specs + vega.name_layers(all_points, positions, "name", size, MAX_OVERLAP, x=x, y=y)
