"""The pictures of docs/coverage.md."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from coverage_found import BAND, MOST_FALSE, found, heading, speaks
from pictures import base


def pictures(result: Mapping[str, Any], kinds: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    """Pictures by the names of their files."""
    import vl_convert

    rows = [row for row in found(result) if row.world["large"] and row.of]
    defaults = [row for row in rows if not row.test and row.by == "default"]
    areas = [
        row
        for row in rows
        if row.measure == "AUC"
        and row.world["size"] == "20 + 180 rows"
        and not row.test
        and re.fullmatch(r"binormal, AUC [\d.]+", row.world["design"])
    ]
    tests = [
        row
        for row in rows
        if row.test
        and row.world["kind"] not in ("adjustments", "findings", "slices")
        and not speaks(row)
        and row.by not in (*row.world["known_bad"], *row.world["power"])
    ]
    specs = {
        "coverage-defaults.svg": _strips(
            [(kinds[r.world["kind"]][0], r.share) for r in defaults],
            "Coverage of default intervals, %",
            BAND,
            0.8,
            1.0,
        ),
        "coverage-areas.svg": _curves(
            [(float(r.world["design"].split()[-1]), r.by, r.share) for r in areas]
        ),
        "coverage-tests.svg": _strips(
            [(heading(r.by).split(": ")[-1], r.share) for r in tests],
            "False positives at 5%, %",
            (0.0, MOST_FALSE),
            0.0,
            0.1,
        ),
    }
    return {name: str(vl_convert.vegalite_to_svg(spec)) for name, spec in specs.items()}


def _strips(
    points: Sequence[tuple[str, float]],
    title: str,
    band: tuple[float, float],
    least: float,
    most: float,
) -> dict[str, Any]:
    """A tick for each figure, in rows."""
    order = list(dict.fromkeys(name for name, _ in points))
    data = [
        {"row": name, "x": 100 * min(max(x, least), most), "out": not band[0] <= x <= band[1]}
        for name, x in points
    ]
    scale = {"domain": [100 * least, 100 * most], "nice": False}
    y = {"field": "row", "type": "nominal", "sort": order, "title": None}
    x = {"field": "x", "type": "quantitative", "scale": scale, "title": title}
    colour: dict[str, Any] = {"field": "out", "type": "nominal", "legend": None}
    colour["scale"] = {"domain": [False, True], "range": ["#0072B2", "#D55E00"]}
    rule = {"data": {"values": [{"a": 100 * band[0], "b": 100 * band[1]}]}}
    ends = {"x": {"field": "a", "type": "quantitative", "scale": scale}, "x2": {"field": "b"}}
    return base(
        width=420,
        height={"step": 22},
        layer=[
            {
                **rule,
                "mark": {"type": "rect", "opacity": 0.15, "color": "#009E73"},
                "encoding": ends,
            },
            {
                "data": {"values": data},
                "mark": {"type": "tick", "thickness": 1.5, "opacity": 0.7},
                "encoding": {"x": x, "y": y, "color": colour},
            },
        ],
    )


def _curves(points: Sequence[tuple[float, str, float]]) -> dict[str, Any]:
    """Coverage of the AUC by method."""
    data = [{"x": x, "by": by, "y": 100 * y} for x, by, y in points]
    ways = list(dict.fromkeys(by for _, by, _ in points))
    scale = {"domain": [80, 100], "clamp": True}
    y = {"field": "y", "type": "quantitative", "scale": scale, "title": "Coverage, %"}
    title = "True AUC, 20 positives and 180 negatives"
    x = {"field": "x", "type": "quantitative", "scale": {"zero": False}, "title": title}
    colours = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#666666"]
    by: dict[str, Any] = {"field": "by", "type": "nominal", "title": None, "sort": ways}
    by["scale"] = {"domain": ways, "range": colours[: len(ways)]}
    band = {"data": {"values": [{"a": 100 * BAND[0], "b": 100 * BAND[1]}]}}
    ends = {"y": {"field": "a", "type": "quantitative", "scale": scale}, "y2": {"field": "b"}}
    return base(
        width=420,
        height=240,
        layer=[
            {
                **band,
                "mark": {"type": "rect", "opacity": 0.15, "color": "#009E73"},
                "encoding": ends,
            },
            {
                "data": {"values": data},
                "mark": {"type": "line", "point": True},
                "encoding": {"x": x, "y": y, "color": by},
            },
        ],
    )
