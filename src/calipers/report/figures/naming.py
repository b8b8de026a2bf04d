"""The names beside the points of a drawing, each on the side where there is most room."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from calipers.report.figures import vega
from calipers.report.figures.vega import Spec

#: Pixels of a letter, and of a line of text.
_LETTER, _LINE = 6.2, 13
#: To the right or the left of a point, and above or below it.
_SIDES = ((1, -1), (1, 1), (-1, -1), (-1, 1))
_Box = tuple[float, float, float, float]


def beside(
    names: Sequence[str], places: Sequence[tuple[float, float]], width: int, height: int
) -> Iterator[tuple[Spec, list[int]]]:
    """The marks of names beside points in these ``places``, in pixels from the upper left; and
    which of the names each mark is for."""
    taken = [(left - 5, left + 5, top - 5, top + 5) for left, top in places]
    by_side: dict[tuple[int, int], list[int]] = {}
    for which, (name, (left, top)) in enumerate(zip(names, places, strict=True)):
        boxes = {side: _box(left, top, name, side) for side in _SIDES}
        best = min(boxes, key=lambda side: _crowded(boxes[side], taken, width, height))
        taken.append(boxes[best])
        by_side.setdefault(best, []).append(which)
    for (right, down), own in by_side.items():
        yield {
            "type": "text", "align": "left" if right > 0 else "right", "baseline": "middle",
            "dx": 7 * right, "dy": 10 * down, "fontSize": 12, "color": "currentColor",
        }, own  # fmt: skip


def layers(
    rows: Sequence[Spec],
    places: Sequence[tuple[float, float]],
    field: str,
    size: tuple[int, int],
    **channels: Spec,
) -> list[Spec]:
    """The layers of names beside rows, which stand in a ``field`` of these."""
    return [
        vega.layer([rows[i] for i in own], mark, text=vega.nominal(field), **channels)
        for mark, own in beside([row[field] for row in rows], places, *size)
    ]


def _box(left: float, top: float, name: str, side: tuple[int, int]) -> _Box:
    right, down = side
    begin, middle = left + 7 * right, top + 10 * down
    end = begin + right * _LETTER * len(name)
    return min(begin, end), max(begin, end), middle - _LINE / 2, middle + _LINE / 2


def _crowded(box: _Box, taken: Sequence[_Box], width: int, height: int) -> float:
    """How much of a box is taken, or outside of the drawing."""
    left, right, top, bottom = box
    outside = max(0.0, -left) + max(0.0, right - width) + max(0.0, -top) + max(0.0, bottom - height)
    return _LINE * outside + sum(
        max(0.0, min(right, b) - max(left, a)) * max(0.0, min(bottom, d) - max(top, c))
        for a, b, c, d in taken
    )
