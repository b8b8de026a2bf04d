"""Curves, as the points that are drawn."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Annotated, Any, SupportsIndex, overload

import numpy as np

from calipers.results.serialization import (
    BRIEF,
    NAN,
    Choices,
    Count,
    FloatArray,
    JsonSerializable,
    Level,
    find_system,
    get_item,
)

if TYPE_CHECKING:
    import pandas as pd

    from calipers.report.charts import Chart


def _no_points() -> FloatArray:
    return np.zeros(0)


@dataclass(frozen=True, slots=True, eq=False)
class Curve(JsonSerializable):
    """One curve of one system: ROC, precision-recall, the accuracy at every threshold, and so on.

    ``x``, ``y`` and ``threshold`` are its points: all of them, or those left by thinning it for
    drawing, when what is drawn lies within ``tolerance`` of the exact curve; ``tolerance`` is a
    share of what the axes span. ``at`` says what ``threshold`` holds, a rank perhaps; it is empty
    where nothing but ``x`` tells the points apart. ``shape`` says how the points are joined:
    ``"line"``; ``"step"``, where ``y`` holds from the point before up to ``x``; ``"bars"``, where
    it holds from ``x`` to that of the next point; ``"point"``, where there is one, of a system
    whose labels are known and not its scores. ``scale`` is ``"linear"``, or ``"deviate"`` where
    both axes are drawn in normal deviates.

    ``low`` and ``high`` are a pointwise band over ``band_x``, made by ``method``, and ``wide_low``
    and ``wide_high`` one that holds for the whole curve at once, made by ``wide_method``. Of a
    single point ``band_x`` is the interval of ``x``, and the band that of ``y``.

    ``series`` is the class, where the curve is that of one class. ``chance`` is the line of a
    system that knows nothing, ``references`` are other lines by name. ``cut`` is the threshold in
    use, ``mark`` the point of the curve there, and ``areas`` the weight on both sides of it.
    Nothing is drawn below ``bottom``. ``classes`` is the number of all classes, where only the most
    frequent of them have curves. ``output`` is which number it is of, where there are several of
    each row.
    """

    system: str
    kind: str
    x_label: str
    y_label: str
    x: FloatArray
    y: FloatArray
    threshold: FloatArray
    band_x: FloatArray
    low: FloatArray
    high: FloatArray
    level: Level
    method: str
    tolerance: float = 0.0
    chance: tuple[tuple[float, float], tuple[float, float]] | None = None
    parameter: str = "threshold"
    series: str = ""
    shape: Annotated[str, Choices(("line", "step", "bars", "point"))] = "line"
    scale: Annotated[str, Choices(("linear", "deviate"))] = "linear"
    simultaneous_low: FloatArray = field(default_factory=_no_points)
    simultaneous_high: FloatArray = field(default_factory=_no_points)
    simultaneous_method: str = "none"
    references: Mapping[str, Sequence[Sequence[float]]] = field(default_factory=dict)
    threshold_in_use: float = NAN
    operating_point: tuple[float, float] | None = None
    areas: Mapping[str, float] = field(default_factory=dict)
    bottom: float = NAN
    classes: Count = 0
    output: str = field(default="", metadata=BRIEF)

    def __len__(self) -> int:
        return len(self.x)

    def inconsistencies(self) -> Iterator[tuple[str, str]]:
        """Columns of different lengths, and lines that are not made of points."""
        lengths = {"y": "x", "low": "band_x", "high": "band_x"}
        lengths |= {"threshold": "x"} if self.parameter else {}
        if len(self.simultaneous_low) or len(self.simultaneous_high):
            lengths |= {"simultaneous_low": "band_x", "simultaneous_high": "band_x"}
        for name, like in lengths.items():
            have, expected = len(getattr(self, name)), len(getattr(self, like))
            if have != expected:
                yield name, f"expected {expected} numbers, as in {like}, found {have}"
        for name, points in self.references.items():
            for place, point in enumerate(points):
                if len(point) != 2:
                    yield f"references.{name}[{place}]", f"expected x and y, found {len(point)}"

    def columns(self) -> dict[str, Any]:
        """The points by column, in full precision."""
        names = {"output": self.output, "series": self.series}
        of = {what: [name] * len(self) for what, name in names.items() if name}
        at = {self.parameter: self.threshold} if self.parameter else {}
        points = {self.x_label: self.x, self.y_label: self.y}
        # A curve against the threshold has the threshold as its x.
        extra = {} if self.parameter in map(str.lower, points) else at
        return {"system": [self.system] * len(self), **of, **points, **extra}

    def to_frame(self) -> pd.DataFrame:
        """The points as a pandas frame."""
        import pandas as pd

        frame: pd.DataFrame = pd.DataFrame(self.columns())
        return frame

    def chart(self) -> Chart:
        """The curve drawn: it shows itself in a notebook, ``save("curve.svg")`` writes it."""
        return _make_chart([self])

    def _repr_html_(self) -> str:
        return self.chart()._repr_html_() if len(self) else f"<p>{escape(str(self))}</p>"

    def __str__(self) -> str:
        from calipers.report.headlines import curve_sentence

        return curve_sentence(self)

    __repr__ = __str__


class Curves(tuple[Curve, ...]):
    """A kind of curve of several systems, in one figure; ``curves["forest"]`` is that of one."""

    __slots__ = ()

    @overload
    def __getitem__(self, key: SupportsIndex | str) -> Curve: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[Curve, ...]: ...
    def __getitem__(self, key: SupportsIndex | str | slice) -> Curve | tuple[Curve, ...]:
        if not isinstance(key, str):
            return get_item(tuple(self), key, "a system, or an index")
        return find_system(self, key)

    def to_frame(self) -> pd.DataFrame:
        """The points of all as one pandas frame."""
        import pandas as pd

        frame: pd.DataFrame = pd.concat([c.to_frame() for c in self], ignore_index=True)
        return frame

    def chart(self) -> Chart:
        """All curves in one figure: see :meth:`Curve.chart`."""
        return _make_chart(self)

    def _repr_html_(self) -> str:
        return self.chart()._repr_html_()

    def __str__(self) -> str:
        return "\n".join(map(str, self))

    __repr__ = __str__


def _make_chart(curves: Sequence[Curve]) -> Chart:
    from calipers.curves.downsampling import downsample_curve
    from calipers.report.charts import curves_chart

    return curves_chart([curve if curve.tolerance else downsample_curve(curve) for curve in curves])


def curve_kinds(curves: Sequence[Curve]) -> list[str]:
    """The kind of each curve; of those that are known before they are computed without computing
    any."""
    known: list[str] | None = getattr(curves, "kinds", None)
    return [curve.kind for curve in curves] if known is None else known


def select_kinds(curves: Sequence[Curve], kinds: Collection[str]) -> tuple[Curve, ...]:
    """The curves of these kinds; no other is computed."""
    return tuple(curves[i] for i, kind in enumerate(curve_kinds(curves)) if kind in kinds)
