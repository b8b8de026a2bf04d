"""What a chart takes in a page: its drawing without what nobody sees, its data by column."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

Spec = dict[str, Any]

#: Fewer rows than these take no less room by column.
_FEW = 4

# --- The drawing ----------------------------------------------------------------------------------

#: A start tag, with all of its attributes.
_TAG = re.compile(r"<[a-zA-Z][^<>]*>")
_ATTRIBUTE = re.compile(r' ([a-zA-Z:-]+)="([^"]*)"')
#: Coordinates, not text.
_COORDINATES = frozenset({"d", "transform", "x", "y", "x1", "x2", "y1", "y2"})
_LONG = re.compile(r"(\d\.\d)\d+(?!\d*e)")
_ZERO = re.compile(r"(?<=\d)\.0(?!\d)")
_COLOR = re.compile(r"(0\.\d{3})\d+")
#: What the figure around the picture says, or what the page's style sets.
_SAID_ELSEWHERE = frozenset({"role", "aria-roledescription", "aria-hidden", "class", "xmlns:xlink",
                             "font-family", "pointer-events"})  # fmt: skip
_DEFAULT = frozenset({("opacity", "1"), ("stroke-opacity", "1"), ("fill-opacity", "1"),
                      ("font-weight", "normal"), ("text-anchor", "start")})  # fmt: skip
#: The frames of groups, which nobody sees.
_FRAME = re.compile(r'<path class="(?:background|foreground)"(?![^<>]*(?:fill|stroke)=)[^<>]*/>')
_LINK = re.compile(r"(?:(?<=url\()|^)#([^)]+)")
_PATH = re.compile(r"(?:[ML]-?[\d.]+,-?[\d.]+)+Z?")
_POINT = re.compile(r"([ML])(-?[\d.]+),(-?[\d.]+)")


def drawing(picture: str, name: str) -> str:
    """An SVG of Vega's for a page: coordinates to a tenth of a pixel, nothing that is not seen.

    Its ids begin with ``name``; Vega numbers them from one picture to the next, so that the same
    picture would have others every time.
    """
    picture = _FRAME.sub("", picture)
    tags = "".join(tag[0] for tag in _TAG.finditer(picture))
    old = dict.fromkeys(value for key, value in _ATTRIBUTE.findall(tags) if key == "id")
    ids = {own: f"{name}-{place}" for place, own in enumerate(old)}

    def attribute(found: re.Match[str]) -> str:
        return _attribute(found[1], found[2], ids)

    return _TAG.sub(lambda tag: _ATTRIBUTE.sub(attribute, tag[0]), picture)


def _attribute(name: str, value: str, ids: Mapping[str, str]) -> str:
    """An attribute as it is written, nothing where it changes nothing."""
    if name in _SAID_ELSEWHERE and (name, value) != ("class", "marks"):
        return ""
    if (name, value) in _DEFAULT:
        return ""
    if name in _COORDINATES:
        value = _ZERO.sub("", _LONG.sub(r"\1", value))
        if name == "d" and _PATH.fullmatch(value):
            value = _relative(value)
    elif name == "id":
        value = ids[value]
    elif name in ("fill", "stroke", "clip-path", "href"):
        value = _COLOR.sub(r"\1", value)
        value = _LINK.sub(lambda found: f"#{ids.get(found[1], found[1])}", value)
    return f' {name}="{value}"'


def _relative(path: str) -> str:
    """A line by its steps, which are shorter than its places; tenths add up without an error."""
    out: list[str] = []
    x = y = 0
    for kind, *place in _POINT.findall(path):
        to_x, to_y = (round(10 * float(number)) for number in place)
        step = (to_x, to_y) if kind == "M" else (to_x - x, to_y - y)
        out.append(f"{kind if kind == 'M' else 'l'}{_tenths(step[0])},{_tenths(step[1])}")
        x, y = to_x, to_y
    return "".join(out) + path[-1:].strip("0123456789.")


def _tenths(tenths: int) -> str:
    whole, rest = divmod(abs(tenths), 10)
    sign = "-" if tenths < 0 else ""
    return f"{sign}{whole}" if not rest else f"{sign}{whole or ''}.{rest}"


# --- The data -------------------------------------------------------------------------------------


def packed(spec: Spec) -> Spec:
    """``spec`` with all of its data in ``datasets``, by column, the same data once."""
    sets: dict[str, Any] = {}
    written: dict[str, str] = {}

    def place(rows: Sequence[Spec]) -> str:
        columns = by_column(rows)
        key = json.dumps(columns)
        if key not in written:
            written[key] = f"data{len(written)}"
            sets[written[key]] = columns
        return written[key]

    def moved(part: Any) -> Any:
        if isinstance(part, list):
            return [moved(item) for item in part]
        if not isinstance(part, Mapping):
            return part
        rows = part.get("values", ())
        if set(part) == {"values"} and len(rows) >= _FEW and isinstance(rows[0], Mapping):
            return {"name": place(rows)}
        return {key: moved(value) for key, value in part.items()}

    named = {name: by_column(rows) for name, rows in spec.get("datasets", {}).items()}
    out: Spec = moved({key: value for key, value in spec.items() if key != "datasets"})
    return {**out, "datasets": {**named, **sets}} if named or sets else out


def by_column(rows: Sequence[Spec]) -> dict[str, Any]:
    """Rows of one kind by column: a list, or runs of equal values where that is shorter."""
    names = dict.fromkeys(name for row in rows for name in row)
    columns: dict[str, Any] = {}
    for name in names:
        values = [row.get(name) for row in rows]
        runs = [[value, len(list(run))] for value, run in groupby(values)]
        columns[name] = {"runs": runs} if 2 * len(runs) < len(values) else values
    return columns
