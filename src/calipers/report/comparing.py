"""Charts of several systems compared, as Vega-Lite specs made from plain numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from calipers.report import numbers
from calipers.report.charts import (
    PALETTE,
    Spec,
    _category,
    _direction,
    _finite,
    _numbers,
    _quantity,
    _room,
    _sign_colors,
    _spec,
    _tooltip,
)
from calipers.report.names import labels

_LABEL = 32
#: How strong a colour is by its p-value.
_STRONG = (0.001, 0.01)
_RULE = {"type": "rule", "color": "currentColor"}

# --- Mean ranks -----------------------------------------------------------------------------------


def joined(ranks: Mapping[str, float], critical: float) -> list[tuple[str, ...]]:
    """The longest runs of systems, ordered by mean rank, whose ends are not told apart: less than
    ``critical`` lies between their ranks. A run of one system, and one inside another, is left out.

    >>> joined({"a": 1.2, "b": 2.0, "c": 2.1, "d": 3.4}, 1.0)
    [('a', 'b', 'c')]
    """
    order = sorted(ranks, key=lambda name: (ranks[name], name))
    runs: list[tuple[int, int]] = []
    for i, name in enumerate(order):
        last = i + sum(ranks[other] - ranks[name] < critical for other in order[i + 1 :])
        if last > i and (not runs or last > runs[-1][1]):
            runs.append((i, last))
    return [tuple(order[i : j + 1]) for i, j in runs]


def critical_difference_chart(ranks: Mapping[str, float], critical: float) -> Spec:
    """Mean ranks on an axis; bars join systems that are not told apart (Demšar 2006).

    Parameters
    ----------
    ranks
        The mean rank of each system; 1 is the best.
    critical
        The difference of mean ranks from which on two systems are told apart, as Nemenyi's test has
        it. Its length is drawn below; an infinite or undefined one joins nothing.
    """
    order = sorted(ranks, key=lambda name: (ranks[name], name))
    names = labels(order, _LABEL)
    known = math.isfinite(critical)
    bars = joined(ranks, critical) if known else []
    half = (len(order) + 1) // 2
    first = 0.8 + 0.5 * len(bars)
    ends = 1.0, float(max(len(order), 2))
    lines: list[Spec] = []
    texts: dict[bool, list[Spec]] = {True: [], False: []}
    for place, name in enumerate(order):
        left = place < half
        # The names of the innermost systems are the lowest, so that no line crosses another.
        level = first + (place if left else len(order) - 1 - place)
        at, end = _finite(ranks[name]), ends[not left]
        told = {"system": names[name], "rank": f"{ranks[name]:.2f}"}
        lines += [
            {"x": at, "y": 0.0, "x2": at, "y2": level, **told},
            {"x": at, "y": level, "x2": end, "y2": level, **told},
        ]
        texts[left].append({"x": end, "y": level, "text": f"{names[name]}  {told['rank']}"})
    depth = first + max(half - 1, 0) + 0.4
    bottom = depth + known
    x = _quantity(
        "x",
        title="mean rank",
        scale={"domain": list(ends), "nice": False, "zero": False},
        axis={
            "orient": "top",
            "tickMinStep": 1,
            "grid": False,
            "domain": True,
            "ticks": True,
            "domainColor": "currentColor",
            "tickColor": "currentColor",
        },
    )
    y = _quantity("y", axis=None, scale={"domain": [bottom, 0.0], "nice": False, "zero": False})
    to = {"x2": {"field": "x2"}, "y2": {"field": "y2"}}
    layers: list[Spec] = [
        {
            "data": {"values": lines},
            "mark": {**_RULE, "opacity": 0.6},
            "encoding": {
                "x": x,
                "y": y,
                **to,
                "tooltip": _tooltip(("system", "system"), ("rank", "mean rank")),
            },
        }
    ]
    joins = [
        {
            "x": _finite(ranks[run[0]]),
            "x2": _finite(ranks[run[-1]]),
            "y": 0.4 + 0.5 * place,
            "systems": ", ".join(names[name] for name in run),
        }
        for place, run in enumerate(bars)
    ]
    if joins:
        mark = {"type": "rule", "strokeWidth": 5, "strokeCap": "round", "color": PALETTE[0]}
        tips = _tooltip(("systems", "not told apart"))
        layers.append(
            {
                "data": {"values": joins},
                "mark": mark,
                "encoding": {"x": x, "x2": {"field": "x2"}, "y": y, "tooltip": tips},
            }
        )
    for left, rows in texts.items():
        if rows:
            layers.append(
                _texts(rows, x, y, align="right" if left else "left", dx=-6 if left else 6)
            )
    if known:
        length = [{"x": 1.0, "x2": _finite(min(1 + critical, ends[1])), "y": depth + 0.5}]
        layers.append(
            {
                "data": {"values": length},
                "mark": {**_RULE, "strokeWidth": 2},
                "encoding": {"x": x, "x2": {"field": "x2"}, "y": y},
            }
        )
        over = ", longer than the axis" if 1 + critical > ends[1] else ""
        text = f"critical difference {critical:.3g}{over}"
        said = [{"x": length[0]["x2"], "y": depth + 0.5, "text": text}]
        layers.append(_texts(said, x, y, align="left", dx=6))
    return _spec(width=420, height=24 * bottom, layer=layers)


def _texts(rows: list[Spec], x: Spec, y: Spec, **mark: Any) -> Spec:
    style = {"type": "text", "color": "currentColor", "fontSize": 12, "baseline": "middle", **mark}
    text = {"field": "text", "type": "nominal"}
    return {"data": {"values": rows}, "mark": style, "encoding": {"x": x, "y": y, "text": text}}


# --- Every pair -----------------------------------------------------------------------------------


def pairs_chart(
    pairs: Sequence[Mapping[str, Any]],
    *,
    higher_is_better: bool | None = None,
    level: float = 0.95,
) -> Spec:
    """A matrix of all pairs: the system of the row less that of the column.

    Parameters
    ----------
    pairs
        A mapping a pair with ``system``, ``baseline``, ``value`` (the first less the second) and
        ``p``, adjusted, and perhaps ``told``, whether the pair is told apart, where that is not for
        ``p`` alone to say. Each pair once; the cell across the diagonal is turned over.
    higher_is_better
        Which sign has the colour of the better system.
    level
        Only cells with p ≤ 1 − ``level``, or told apart, have a colour, a stronger one up to 0.01
        and to 0.001.
    """
    order = list(dict.fromkeys(p[k] for k in ("baseline", "system") for p in pairs))
    names = labels(order, _LABEL)
    up, _, down = _sign_colors(higher_is_better)
    digits = numbers.rounding(
        ((p["value"], numbers.NAN, numbers.NAN) for p in pairs), keep_sign=True
    )
    cells = [cell for p in pairs for cell in _both_ways(p, names, 1 - level, digits)]
    shown = [names[name] for name in order]
    sides = {
        "x": _category(
            "baseline",
            title="less",
            sort=shown,
            scale={"domain": shown},
            axis={
                "orient": "top",
                "grid": False,
                "labelLimit": 160,
                "labelAngle": -45 if len(order) > 4 else 0,
            },
        ),
        "y": _category(
            "system",
            title=None,
            sort=shown,
            scale={"domain": shown},
            axis={"grid": False, "labelLimit": 160},
        ),
    }
    tips = _tooltip(
        ("system", "system"),
        ("baseline", "less"),
        ("difference", "difference"),
        ("p", "p, adjusted"),
    )
    color = {
        "field": "sign",
        "type": "nominal",
        "legend": None,
        "scale": {
            "domain": ["higher", "lower", "not told apart"],
            "range": [up, down, "currentColor"],
        },
    }
    strength = {"field": "strength", "type": "quantitative", "scale": None, "legend": None}
    text = {"type": "text", "fontSize": 11, "color": "currentColor"}
    return _spec(
        width={"step": 64},
        height={"step": 40},
        data={"values": cells},
        encoding={**sides, "tooltip": tips},
        layer=[
            {"mark": {"type": "rect"}, "encoding": {"color": color, "opacity": strength}},
            {
                "mark": {**text, "dy": -6, "fontWeight": "bold"},
                "encoding": {"text": {"field": "difference", "type": "nominal"}},
            },
            {
                "mark": {**text, "dy": 8, "opacity": 0.85},
                "encoding": {"text": {"field": "p", "type": "nominal"}},
            },
        ],
    )


def _both_ways(
    pair: Mapping[str, Any], names: Mapping[str, str], most: float, digits: numbers.Rounding
) -> list[Spec]:
    """The two cells of a pair."""
    p, value = float(pair["p"]), float(pair["value"])
    told = pair.get("told", p <= most and value != 0)
    strength = 0.06
    if told:
        strength = 0.2 + 0.2 * sum(p <= bound for bound in _STRONG)
    sides = ((pair["system"], pair["baseline"], value), (pair["baseline"], pair["system"], -value))
    shown = numbers.p_digits(p)
    return [
        {
            "system": names[system],
            "baseline": names[baseline],
            "difference": digits(difference),
            "p": f"p {'' if shown.startswith('<') else '= '}{shown}",
            "sign": ("higher" if difference > 0 else "lower") if told else "not told apart",
            "strength": strength,
        }
        for system, baseline, difference in sides
    ]


# --- Margins --------------------------------------------------------------------------------------


def margins_chart(
    differences: Sequence[Mapping[str, Any]],
    margin: tuple[float, float],
    *,
    higher_is_better: bool | None = None,
) -> Spec:
    """Differences to a baseline with their intervals, and the margins within which they are taken
    for equal.

    Parameters
    ----------
    differences
        A mapping a system with ``system``, ``value``, ``low``, ``high``, and ``verdict`` in words.
    margin
        The lowest and the highest difference that does not matter; infinite where there is no such
        border, as for non-inferiority.
    higher_is_better
        Which way is said to be better below the axis.

    A full dot is one whose interval lies within the margins.
    """
    names = labels((d["system"] for d in differences), _LABEL)
    data = [
        _margin_datum(d, names[d["system"]], margin)
        for d in differences
        if d["value"] == d["value"]
    ]
    borders = [limit for limit in margin if math.isfinite(limit)]
    seen = [row[k] for row in data for k in ("value", "low", "high") if row[k] is not None]
    room = _room([*seen, *borders, 0.0])
    x = _quantity("low", title=_direction(higher_is_better), axis={"tickCount": 5}, scale=room)
    y = _category("system", title=None, sort=[names[d["system"]] for d in differences])
    tips = _tooltip(("system", "system"), ("text", "difference"), ("verdict", "verdict"))
    hue = {"value": PALETTE[0]}
    inside = {"condition": {"test": "datum.inside", "value": PALETTE[0]}, "value": "none"}
    layers: list[Spec] = []
    ends = room.get("domain")
    if ends is not None:
        drawn = [max(margin[0], ends[0]), min(margin[1], ends[1])]
        place = {"x": {**x, "field": "from"}, "x2": {"field": "to"}}
        layers.append(
            {
                "data": {"values": [{"from": drawn[0], "to": drawn[1]}]},
                "mark": {"type": "rect", "color": "currentColor", "opacity": 0.08},
                "encoding": place,
            }
        )
    for limits, dash in ((borders, [6, 3]), ([0.0], [2, 3])):
        rows = [{"at": _finite(limit)} for limit in limits]
        if rows:
            layers.append(
                {
                    "data": {"values": rows},
                    "mark": {**_RULE, "strokeDash": dash, "opacity": 0.6},
                    "encoding": {"x": {**x, "field": "at"}},
                }
            )
    shared = {"y": y, "tooltip": tips}
    layers += [
        {
            "data": {"values": data},
            "mark": {"type": "rule", "strokeWidth": 2},
            "encoding": {**shared, "x": x, "x2": {"field": "high"}, "stroke": hue},
        },
        {
            "data": {"values": data},
            "mark": {"type": "point", "filled": False, "size": 80, "opacity": 1},
            "encoding": {**shared, "x": {**x, "field": "value"}, "stroke": hue, "fill": inside},
        },
    ]
    return _spec(width=420, height={"step": 28}, layer=layers)


def _margin_datum(d: Mapping[str, Any], name: str, margin: tuple[float, float]) -> Spec:
    value, low, high = (float(d[key]) for key in ("value", "low", "high"))
    digits = numbers.rounding([(value, low, high)], keep_sign=True)
    return {
        "system": name,
        **_numbers(value, low, high),
        "text": digits.triple(value, low, high),
        "verdict": d.get("verdict", ""),
        "inside": margin[0] < low and high < margin[1],
    }
