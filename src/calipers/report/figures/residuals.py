"""The figures of predicted numbers: residuals by normal quantiles, histograms, and means given a
number over how often it occurs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from calipers.report import numbers
from calipers.report.figures import histograms, vega
from calipers.report.figures.curve_chart import curve_chart
from calipers.report.figures.figure import Figure, choice_of
from calipers.report.figures.vega import Spec, finite, thinned
from calipers.report.grouping import grouped
from calipers.report.names import labels, short
from calipers.results import Curve, Evaluation, of_kinds

QUANTILES, RESIDUALS, VALUES = "normal quantiles", "residuals", "values"
#: Kinds whose charts have the histogram of what is given below: of which kind that is.
GIVEN = {
    "prediction given truth": "truth",
    "truth given prediction": "prediction",
    "residual given prediction": "prediction",
    "residual given truth": "truth",
}
#: The kinds of curves that these figures show.
KINDS = frozenset({QUANTILES, RESIDUALS, VALUES, *GIVEN})

_TITLES = {
    QUANTILES: "Residuals against the normal distribution",
    RESIDUALS: "Residuals",
    VALUES: "True and predicted values",
    "prediction given truth": "Prediction by truth",
    "truth given prediction": "Truth by prediction",
    "residual given prediction": "Residual by prediction",
    "residual given truth": "Residual by truth",
}
_SAID = {
    QUANTILES: "Residuals in standard deviations, by size; their mean stays in them. On the line "
    "they would be normal around 0, on a parallel to it normal and biased; where they are steeper "
    "than the line on the right or on the left, large errors are more frequent.",
    RESIDUALS: "Residual: prediction less truth.",
    VALUES: "",
    "prediction given truth": "Means of bins of equally many rows. Even the best predictions are "
    "nearer to the mean than the truth is.",
    "truth given prediction": "Means of bins of equally many rows. On the line, predictions of "
    "that size are right on average; above it they are too low.",
    "residual given prediction": "Means of bins of equally many rows. Off the line at zero, "
    "predictions of that size could be corrected.",
    "residual given truth": "Means of bins of equally many rows. They slope downwards even for the "
    "best predictions, which are nearer to the mean than the truth is.",
}
_POINTS = 11
#: Of more outputs the first are drawn: each has seven charts.
_MOST_OUTPUTS = 6


def residual_figures(evaluation: Evaluation) -> Iterator[Figure]:
    """The figures, none of what has no curves."""
    own = of_kinds(evaluation.curves, KINDS)
    found = grouped(own, lambda c: (c.kind, c.output))
    outputs = list(dict.fromkeys(c.output for c in own))
    for kind in dict.fromkeys(c.kind for c in own):
        for output in outputs[:_MOST_OUTPUTS]:
            drawn = [c for c in found.get((kind, output), []) if len(c.x)]
            if drawn:
                spread = found.get((VALUES, output), []) if kind in GIVEN else []
                figure = _figure(kind, drawn, spread, evaluation.systems)
                yield _of_output(figure, output, len(outputs)) if output else figure


def _of_output(figure: Figure, output: str, of: int) -> Figure:
    """The figure of one of so many outputs, of which the reader chooses."""
    some = f"Of the first {_MOST_OUTPUTS} of {of} outputs." if of > _MOST_OUTPUTS else ""
    return replace(
        figure,
        caption=" ".join(filter(None, [figure.caption, some])),
        title=f"{figure.title}: {short(output)}",
        label=f"{short(output)}. {figure.label}",
        choice=choice_of(output, of),
        chosen_from=figure.title,
        chosen_by="Output",
    )


def _figure(
    kind: str, curves: Sequence[Curve], spread: Sequence[Curve], systems: Sequence[str]
) -> Figure:
    first = curves[0]
    who = " and ".join(dict.fromkeys(short(c.system) for c in curves if c.system))
    rows = [
        (short(c.series or c.system), *(f"{v:.5g}" for v in (c.x[i], c.y[i])))
        for c in curves
        for i in thinned(list(range(len(c.x))), _POINTS)
    ]
    return Figure(
        title=_TITLES[kind],
        kind=kind,
        label=f"{_TITLES[kind]}: {first.y_label} against {first.x_label}"
        + (f", for {who}." if who else "."),
        caption=" ".join(filter(None, [_SAID[kind], *_bands(curves), *_below(kind, spread)])),
        spec=_chart(kind, curves, spread, systems),
        head=("system", first.x_label, first.y_label),
        rows=tuple(rows),
    )


def _bands(curves: Sequence[Curve]) -> Iterator[str]:
    level = numbers.percent(curves[0].level)
    if any(math.isfinite(v) for c in curves for v in c.low):
        yield f"Shaded: {level} interval of each bin ({short(curves[0].method)})."
    if any(len(c.wide_low) for c in curves):
        yield f"Shaded: where {level} of all normal samples of this size around 0 lie as a whole."


def _below(kind: str, spread: Sequence[Curve]) -> Iterator[str]:
    if spread:
        yield f"Below: how often each {GIVEN[kind]} occurs."


def _chart(
    kind: str, curves: Sequence[Curve], spread: Sequence[Curve], systems: Sequence[str]
) -> Spec:
    if kind in (RESIDUALS, VALUES):
        keys = [c.series or c.system for c in curves]
        made = histograms.panel(curves, labels(keys, vega.LABEL), 260, legend=True)
        return vega.whole(**made)
    upper = curve_chart(curves, [s for s in systems if s in {c.system for c in curves}])
    if kind == QUANTILES or not spread:
        return upper
    upper["height"] = 260
    return _over(kind, upper, spread, systems)


def _over(kind: str, upper: Spec, spread: Sequence[Curve], systems: Sequence[str]) -> Spec:
    """A chart over the histogram of what is given."""
    # The truth comes last, whatever a system is called.
    given = spread[-1:] if GIVEN[kind] == "truth" else spread[:-1]
    ends = [finite(v) or 0.0 for v in (float(given[0].x[0]), float(given[0].x[-1]))]
    for part in upper["layer"]:
        if "x" in part["encoding"]:
            scale = {"domain": ends, "nice": False}
            part["encoding"]["x"] = {**part["encoding"]["x"], "scale": scale}
    names = {c.series or c.system: c.series or c.system for c in given}
    only = "currentColor" if GIVEN[kind] == "truth" else vega.PALETTE[0]
    lower = histograms.panel(given, names, 70, domain=ends, only=only)
    lower["encoding"]["x"]["title"] = "Truth" if GIVEN[kind] == "truth" else "Prediction"
    return histograms.under(upper, [lower])
