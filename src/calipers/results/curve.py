"""Curves, as the points that are drawn."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Annotated, Any, SupportsIndex, overload

import numpy as np

from calipers.lazy_dataclasses import dataclass
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


def _empty_array() -> FloatArray:
    return np.zeros(0)


@dataclass(frozen=True, slots=True, eq=False)
class Curve(JsonSerializable):
    """Points of one curve of one system, such as ROC, precision-recall or calibration.

    Attributes
    ----------
    system : str
        Name of the system.
    kind : str
        Kind of the curve.
    x_label, y_label : str
        Labels of the axes.
    x, y, threshold : ndarray
        Coordinates of the points and the threshold of each. These are all points, or those that
        remain after downsampling the curve for drawing.
    band_x, low, high : ndarray
        Pointwise confidence band: its limits ``low`` and ``high`` over ``band_x``. If the curve is
        a single point, ``band_x`` is the interval of ``x``, and ``low`` and ``high`` are the
        interval of ``y``.
    level : float
        Confidence level of the bands.
    method : str
        Method of the pointwise band.
    tolerance : float, default=0.0
        Maximum distance between the downsampled and the exact curve, as a proportion of the ranges
        of the axes.
    chance : pair of points or None
        Two points of the chance line, that of a system without skill.
    parameter : str, default="threshold"
        What ``threshold`` holds, for example a rank; empty if only ``x`` distinguishes the points.
    series : str
        Class that the curve is about, if it is about one class.
    shape : {"line", "step", "bars", "point"}
        How the points are joined. With ``"step"``, ``y`` holds from the previous point up to ``x``;
        with ``"bars"``, it holds from ``x`` to that of the next point; ``"point"`` is a single
        point, of a system with predicted labels but without scores.
    scale : {"linear", "deviate"}
        Scale of both axes; ``"deviate"`` are normal deviates.
    simultaneous_low, simultaneous_high : ndarray
        Simultaneous confidence band over ``band_x``, which covers the whole curve.
    simultaneous_method : str
        Method of the simultaneous band.
    references : mapping of str to sequence of points
        Other lines, by name.
    threshold_in_use : float
        Threshold in use.
    operating_point : tuple of float or None
        Operating point: the point of the curve at ``threshold_in_use``.
    areas : mapping of str to float
        Weights of the drawn areas, such as those on either side of ``threshold_in_use``; of curves
        of clusters the number of all points, and of sampled points if silhouettes are those.
    bottom : float
        Lower end of the drawn range of ``y``.
    classes : int
        Number of all classes, if only the most frequent ones have curves.
    output : str
        Output that the curve is about, if there are several for each row.
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
    simultaneous_low: FloatArray = field(default_factory=_empty_array)
    simultaneous_high: FloatArray = field(default_factory=_empty_array)
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
        """Yield columns of different lengths, and reference lines with invalid points.

        Yields
        ------
        path : str
            Path of the field in the result, such as ``"references.ideal[0]"``.
        problem : str
            What is wrong with the value of the field.
        """
        lengths = {"y": "x", "low": "band_x", "high": "band_x"}
        lengths |= {"threshold": "x"} if self.parameter else {}
        if len(self.simultaneous_low) or len(self.simultaneous_high):
            lengths |= {"simultaneous_low": "band_x", "simultaneous_high": "band_x"}
        for name, reference_name in lengths.items():
            length, expected = len(getattr(self, name)), len(getattr(self, reference_name))
            if length != expected:
                yield name, f"expected {expected} numbers, as in {reference_name}, found {length}"
        for name, points in self.references.items():
            for index, point in enumerate(points):
                if len(point) != 2:
                    yield f"references.{name}[{index}]", f"expected x and y, found {len(point)}"

    def to_columns(self) -> dict[str, Any]:
        """Return the points by column, in full precision.

        Returns
        -------
        dict of str to sequence
            Columns by name: ``system``; ``output`` and ``series``, if the curve has them; both
            coordinates by the labels of the axes; and ``parameter``, if it is not one of the axes.
        """
        names = {"output": self.output, "series": self.series}
        label_columns = {column: [name] * len(self) for column, name in names.items() if name}
        parameter_column = {self.parameter: self.threshold} if self.parameter else {}
        points = {self.x_label: self.x, self.y_label: self.y}
        # A curve against the threshold has the threshold as its x.
        extra = {} if self.parameter in map(str.lower, points) else parameter_column
        return {"system": [self.system] * len(self), **label_columns, **points, **extra}

    def to_frame(self) -> pd.DataFrame:
        """Return the points as a pandas DataFrame.

        Returns
        -------
        DataFrame
            Row for each point, with the columns of :meth:`columns`.
        """
        import pandas as pd

        frame: pd.DataFrame = pd.DataFrame(self.to_columns())
        return frame

    def chart(self) -> Chart:
        """Return a chart of the curve.

        It is displayed in a notebook; ``save("curve.svg")`` writes it to a file.

        Returns
        -------
        Chart
            Chart, as :meth:`Evaluation.chart` returns it.
        """
        return _make_chart([self])

    def _repr_html_(self) -> str:
        from html import escape

        return self.chart()._repr_html_() if len(self) else f"<p>{escape(str(self))}</p>"

    def __str__(self) -> str:
        from calipers.report.headlines import curve_sentence

        return curve_sentence(self)

    __repr__ = __str__


class Curves(tuple[Curve, ...]):
    """Curves of one kind for several systems, drawn in one figure.

    ``curves["forest"]`` is the curve of one system.

    Parameters
    ----------
    iterable : iterable of Curve, default=()
        Curves of the systems, in the order in which they are drawn.
    """

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
        """Return the points of all curves as one pandas DataFrame.

        Returns
        -------
        DataFrame
            Row for each point, curve by curve, with the columns of :meth:`Curve.columns`.
        """
        import pandas as pd

        frame: pd.DataFrame = pd.concat([c.to_frame() for c in self], ignore_index=True)
        return frame

    def chart(self) -> Chart:
        """Return a chart of all curves in one figure; see :meth:`Curve.chart`.

        Returns
        -------
        Chart
            Chart, as :meth:`Evaluation.chart` returns it.
        """
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
    """Return the kind of each curve.

    If ``curves`` are lazy and their kinds are known in advance, no curve is computed.

    Parameters
    ----------
    curves : sequence of Curve
        The curves.

    Returns
    -------
    list of str
        The kinds, in the order of the curves.
    """
    kinds: list[str] | None = getattr(curves, "kinds", None)
    return [curve.kind for curve in curves] if kinds is None else kinds


def plan_of(curves: Sequence[Curve]) -> Sequence[Any]:
    """Return the kind, system and series of each curve, as objects with these attributes.

    If ``curves`` are lazy and know these in advance, no curve is computed.

    Parameters
    ----------
    curves : sequence of Curve
        The curves.

    Returns
    -------
    sequence of Curve or LazyCurve
        One object per curve, in their order.
    """
    planned: Sequence[Any] = getattr(curves, "planned_curves", curves)
    return planned


def select_kinds(
    curves: Sequence[Curve], kinds: Collection[str], systems: Collection[str] | None = None
) -> tuple[Curve, ...]:
    """Return the curves of the given kinds; no other curve is computed.

    Parameters
    ----------
    curves : sequence of Curve
        The curves, which may be lazy.
    kinds : collection of str
        Kinds to select.
    systems : collection of str, optional
        Systems to select; by default all.

    Returns
    -------
    tuple of Curve
        The selected curves.
    """
    indices = [i for i, kind in enumerate(curve_kinds(curves)) if kind in kinds]
    if systems is not None:
        planned = plan_of(curves)
        indices = [i for i in indices if planned[i].system in systems]
    return tuple(curves[i] for i in indices)
