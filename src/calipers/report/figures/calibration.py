"""The calibration figure: the curve with its bands, the bins beside it, the probabilities below."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from calipers.report import numbers
from calipers.report.figures import histograms, vega
from calipers.report.figures.curve_chart import curve_chart, threshold_text
from calipers.report.figures.figure import Figure, Numbers
from calipers.report.figures.vega import Spec, finite
from calipers.report.grouping import grouped
from calipers.report.names import labels, short
from calipers.results import Curve, Evaluation, of_kinds

CURVE, BINS, SPREAD = "calibration", "calibration by bins", "probabilities"
#: The kinds of curves that this figure shows together.
KINDS = frozenset({CURVE, BINS, SPREAD})


def calibration_curves(evaluation: Evaluation) -> dict[str, list[Curve]]:
    """The curves of the figure by kind; empty where there is none to draw."""
    drawn = (c for c in of_kinds(evaluation.curves, KINDS) if len(c.x))
    found = grouped(drawn, lambda c: c.kind)
    return found if CURVE in found else {}


def calibration_figure(curves: Mapping[str, Sequence[Curve]], systems: Sequence[str]) -> Figure:
    """The figure of all systems."""
    head, rows = _table(curves)
    return Figure(
        title="Calibration",
        kind=CURVE,
        label=_label(curves),
        caption=_caption(curves),
        spec=_chart(curves, systems),
        head=head,
        rows=rows,
    )


def _chart(curves: Mapping[str, Sequence[Curve]], systems: Sequence[str]) -> Spec:
    """Shares of positives over probabilities, and below them how often each is predicted."""
    shown = [s for s in systems if s in {c.system for c in curves[CURVE]}]
    names = labels(shown, vega.LABEL)
    upper = curve_chart(curves[CURVE], shown)
    drawn = next(x for x in upper["layer"] if x["mark"]["type"] == "line")
    drawn["mark"].pop("point", None)  # dots are bins
    line = drawn["encoding"]
    if BINS in curves:
        # Under what the pointer finds.
        upper["layer"][-1:-1] = _bins(curves[BINS], names, line)
    panels = []
    if SPREAD in curves:
        panels.append(histograms.panel(curves[SPREAD], names, 70, domain=(0, 1)))
    return histograms.under(upper, panels)


def _bins(curves: Sequence[Curve], names: Mapping[str, str], line: Spec) -> list[Spec]:
    """A dot a bin, and a whisker where it has an interval."""
    data = [
        {"x": finite(x, 4), "y": finite(y, 4), "low": finite(low, 4), "high": finite(high, 4),
         "system": names[c.system]}
        for c in curves
        for x, y, (low, high) in zip(c.x, c.y, _limits(c), strict=True)
    ]  # fmt: skip
    shared = {"x": line["x"], "color": line["color"]}
    dots = vega.layer(data, vega.dot(size=30, opacity=0.9), **shared, y=line["y"])
    if not any(len(c.low) for c in curves):
        return [dots]
    whisker, ends = {"type": "rule", "opacity": 0.6}, {"field": "high"}
    return [
        vega.layer(data, whisker, **shared, y={**line["y"], "field": "low"}, y2=ends),
        dots,
    ]


def _limits(curve: Curve) -> list[tuple[float, float]]:
    """The interval of each bin; NaN where there are none."""
    if not len(curve.low):
        return [(math.nan, math.nan)] * len(curve)
    return list(zip(curve.low.tolist(), curve.high.tolist(), strict=True))


def _caption(curves: Mapping[str, Sequence[Curve]]) -> str:
    """What has to be known to read the chart."""
    first = curves[CURVE][0]
    parts = ["Line: isotonic regression (CORP). Dashed: calibrated."]
    if any(len(c.low) for c in curves[CURVE]):
        parts.append(
            f"Shaded: where {numbers.percent(first.level)} of the curves would lie if the "
            "probabilities were right, at each probability; paler: as a whole "
            f"({short(first.method)})."
        )
    if BINS in curves:
        parts.append(
            f"Dots: means of bins with {numbers.percent(first.level)} intervals "
            f"({short(curves[BINS][0].method)})."
            if any(len(c.low) for c in curves[BINS])
            else "Dots: means of bins."
        )
    if SPREAD in curves:
        parts.append("Below: how often each probability is predicted.")
    return " ".join([*parts, *drawn_within(curves[CURVE])])


def drawn_within(curves: Sequence[Curve]) -> list[str]:
    """How far a curve may be from what is drawn of it, in a sentence if at all."""
    tolerance = max(c.tolerance for c in curves)
    said = f"Drawn to within {tolerance:.2g} of the exact curve, in widths of the axes."
    return [said] if tolerance > 0 else []


def _label(curves: Mapping[str, Sequence[Curve]]) -> str:
    """What the chart shows, in a sentence."""
    who = " and ".join(dict.fromkeys(short(c.system) for c in curves[CURVE] if c.system))
    first = curves[CURVE][0]
    of = f", for {who}" if who else ""
    return f"Calibration: {first.y_label.lower()} against {first.x_label.lower()}{of}."


def _table(curves: Mapping[str, Sequence[Curve]]) -> Numbers:
    """The bins with their intervals."""
    binned = curves.get(BINS, ())
    rows = tuple(
        (short(c.system), f"{c.x[i]:.4f}", f"{c.y[i]:.4f}", *_ends(c, i),
         threshold_text(c.threshold[i]))
        for c in binned
        for i in range(len(c.x))
    )  # fmt: skip
    at = binned[0].at if binned else "rows"
    return ("system", "mean probability", "share of positives", "low", "high", at), rows


def _ends(curve: Curve, place: int) -> tuple[str, str]:
    """The interval of a bin, as cells."""
    low, high = _limits(curve)[place]
    return ("", "") if math.isnan(low) else (f"{low:.4f}", f"{high:.4f}")
