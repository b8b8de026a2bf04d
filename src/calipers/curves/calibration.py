"""Reliability diagrams: calibration curves with bands, bins, and histograms of probabilities.

The isotonic regression and its bands are those of CORP reliability diagrams.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from calipers.curves.score_data import GRID, ScoreData, make_score_curve
from calipers.inference import proportions
from calipers.inference.bands import pointwise_band, simultaneous_band
from calipers.inference.settings import Settings
from calipers.report import numbers
from calipers.report.figures import histograms, vega
from calipers.report.figures.curve_chart import curve_chart, threshold_text
from calipers.report.figures.curves import (
    CurveChart,
    leading_systems,
    overlay_figures,
    tolerance_note,
)
from calipers.report.figures.figure import Figure, FigureTable
from calipers.report.figures.registry import register_chart
from calipers.report.figures.vega import Spec, json_number
from calipers.report.grouping import group_by
from calipers.report.safe_names import shorten_name, unique_labels
from calipers.results import Curve, Evaluation, curve_kinds, plan_of, select_kinds
from calipers.statistics import FloatArray, ScoreTable
from calipers.statistics.calibration import ProbabilityLevels

CALIBRATION, BINNED_CALIBRATION, PROBABILITY_HISTOGRAM = (
    "calibration",
    "calibration by bins",
    "probabilities",
)

#: The largest number of levels in the consistency band; more are averaged with their neighbors.
_MAX_LEVELS = 2_000
_N_BINS, _N_BARS = 10, 20


def calibration_curve(score_data: ScoreData) -> Curve:
    """Compute the calibration curve by isotonic regression (CORP).

    It is the proportion of positives against the probability. Every block of the regression is
    constant from its first probability to its last; blocks are joined by straight lines. The bands
    are around the diagonal: they cover the curve of a calibrated system, pointwise and
    simultaneously.

    References
    ----------
    Dimitriadis, Gneiting and Jordan (2021). Stable reliability diagrams for probabilistic
    classifiers. PNAS 118.
    """
    levels, starts = score_data.levels, score_data.levels.isotonic_starts
    blocks = levels.merge_levels(starts)
    last = np.append(starts[1:], len(levels)) - 1
    x = np.column_stack([levels.probability[starts], levels.probability[last]]).ravel()
    # A block of one level is one point.
    point_mask = np.column_stack([np.ones(len(starts), bool), last > starts]).ravel()
    return _probability_curve(
        score_data,
        CALIBRATION,
        x=x[point_mask],
        y=np.repeat(blocks.proportion, 2)[point_mask],
        threshold=np.repeat(blocks.total, 2)[point_mask],
        **_consistency_bands(score_data, levels),
    )


def binned_calibration_curve(
    score_data: ScoreData, bins: int = _N_BINS, binning: str = "equal-mass"
) -> Curve:
    """Compute the proportion of positives in bins of the probability, with Wilson intervals.

    ``x`` are the mean probabilities of the bins. Empty bins are omitted.
    """
    levels = score_data.levels
    equal_width = binning == "equal-width"
    starts = levels.equal_width_starts(bins) if equal_width else levels.equal_mass_starts(bins)
    binned = levels.merge_levels(starts)
    size = _effective_row_weight(score_data.table)
    intervals = [
        proportions.wilson(float(proportion), float(total) / size, score_data.settings.level)
        for proportion, total in zip(binned.proportion, binned.total, strict=True)
    ]
    return _probability_curve(
        score_data,
        BINNED_CALIBRATION,
        x=binned.probability,
        y=binned.proportion,
        threshold=binned.total,
        band_x=binned.probability,
        low=np.array([interval.low for interval in intervals]),
        high=np.array([interval.high for interval in intervals]),
        method=f"Wilson [W], {bins} bins of equal {'width' if equal_width else 'mass'}",
    )


def probability_histogram(score_data: ScoreData) -> Curve:
    """Compute the histogram of the probabilities: the proportion of rows in bars of equal width.

    ``x`` are the borders of the bars.
    """
    levels = score_data.levels
    bar_indices = np.minimum((levels.probability * _N_BARS).astype(np.int64), _N_BARS - 1)
    bar_heights = np.bincount(bar_indices, levels.total, _N_BARS) / levels.weight
    return make_score_curve(
        score_data,
        PROBABILITY_HISTOGRAM,
        ("Predicted probability", "Proportion of rows"),
        x=np.arange(_N_BARS + 1) / _N_BARS,
        y=np.append(bar_heights, 0.0),
        threshold=np.zeros(0),
        shape="bars",
        threshold_in_use=float("nan"),
        parameter="",
    )


def _probability_curve(score_data: ScoreData, kind: str, **curve_fields: Any) -> Curve:
    """Return a curve over probabilities, on which the threshold in use is not marked."""
    shared = {
        "threshold_in_use": float("nan"),
        "chance": ((0.0, 0.0), (1.0, 1.0)),
        "parameter": "weight" if score_data.table.has_weights else "rows",
    }
    labels = "Predicted probability", "Proportion of positives"
    return make_score_curve(score_data, kind, labels, **{**shared, **curve_fields})


def _consistency_bands(score_data: ScoreData, levels: ProbabilityLevels) -> dict[str, Any]:
    settings = score_data.settings
    if settings.interval in ("none", "analytic") or not score_data.independent:
        return {}
    limits = levels.probability[[0, -1]]
    grid = np.unique(np.clip(GRID, *limits))
    fits = calibrated_fits(levels, _effective_row_weight(score_data.table), grid, settings)
    low, high = pointwise_band(fits, settings.level)
    simultaneous_low, simultaneous_high = simultaneous_band(fits, settings.level)
    method = "consistency resampling [B]"
    return {
        "band_x": grid,
        "low": low,
        "high": high,
        "method": method,
        "simultaneous_low": simultaneous_low,
        "simultaneous_high": simultaneous_high,
        "simultaneous_method": method,
    }


def _effective_row_weight(table: ScoreTable) -> float:
    """Return the weight of an effective row, Σw²/Σw."""
    squares = table.total_positive_squares + table.total_negative_squares
    return float(squares / (table.total_positive + table.total_negative))


def calibrated_fits(
    levels: ProbabilityLevels, row_weight: float, grid: FloatArray, settings: Settings
) -> FloatArray:
    """Return isotonic fits to resampled rows of a calibrated system on a grid, shape (B, G).

    Rows are resampled with replacement, and outcomes are drawn with their own probabilities: at a
    level p with n rows, Poisson(np) positives and Poisson(n(1 − p)) negatives. ``row_weight`` is
    the weight of an effective row.
    """
    from calipers import _core

    if len(levels) > _MAX_LEVELS:
        levels = levels.merge_levels(levels.equal_mass_starts(_MAX_LEVELS))
    effective_counts = levels.total / row_weight
    expected = np.concatenate(
        [effective_counts * levels.probability, effective_counts * (1 - levels.probability)]
    )
    return _core.isotonic_fits(
        levels.probability, expected, grid, settings.seed, settings.n_resamples
    )


# --- The figure -----------------------------------------------------------------------------------


class _CalibrationChart(CurveChart):
    """Reliability diagram of all systems, with three kinds of curves."""

    def figures(self, evaluation: Evaluation, orientation: str = "") -> Iterator[Figure]:
        """Yield the figure of an evaluation, if it has calibration curves."""
        if self.name not in curve_kinds(evaluation.curves):
            return
        kinds = {CALIBRATION, BINNED_CALIBRATION, PROBABILITY_HISTOGRAM}
        planned = (c for c in plan_of(evaluation.curves) if c.kind == self.name)
        selected, note = leading_systems(evaluation, (c.system for c in planned))
        nonempty = (c for c in select_kinds(evaluation.curves, kinds, selected) if len(c.x))
        curves = group_by(nonempty, lambda c: c.kind)
        if CALIBRATION not in curves:
            return

        def draw(selected: Sequence[Curve]) -> Figure:
            systems = {c.system for c in selected}
            others = {
                kind: [c for c in group if c.system in systems] for kind, group in curves.items()
            }
            return _figure({**others, CALIBRATION: selected}, evaluation.systems)

        yield from overlay_figures(evaluation, curves[CALIBRATION], draw, note)


def _figure(curves: Mapping[str, Sequence[Curve]], systems: Sequence[str]) -> Figure:
    head, rows = _bin_table(curves)
    return Figure(
        title="Calibration",
        kind=CALIBRATION,
        alt_text=_label(curves),
        caption=_caption(curves),
        spec=_calibration_spec(curves, systems),
        header=head,
        rows=rows,
    )


def _calibration_spec(curves: Mapping[str, Sequence[Curve]], systems: Sequence[str]) -> Spec:
    """Return the chart of calibration curves, over a histogram of the probabilities."""
    shown_systems = [s for s in systems if s in {c.system for c in curves[CALIBRATION]}]
    names = unique_labels(shown_systems, vega.MAX_LABEL_LENGTH)
    curve_spec = curve_chart(curves[CALIBRATION], shown_systems)
    line_layer = next(x for x in curve_spec["layer"] if x["mark"]["type"] == "line")
    line_layer["mark"].pop("point", None)  # dots are bins
    line = line_layer["encoding"]
    if BINNED_CALIBRATION in curves:
        # Below the layer that reacts to the pointer.
        curve_spec["layer"][-1:-1] = _bin_layers(curves[BINNED_CALIBRATION], names, line)
    panels = []
    if PROBABILITY_HISTOGRAM in curves:
        panels.append(histograms.panel(curves[PROBABILITY_HISTOGRAM], names, 70, domain=(0, 1)))
    return histograms.stack_panels(curve_spec, panels)


def _bin_layers(curves: Sequence[Curve], names: Mapping[str, str], line: Spec) -> list[Spec]:
    """Return the layers of bins: dots, and whiskers for their intervals."""
    data = [
        {
            "x": json_number(x, 4),
            "y": json_number(y, 4),
            "low": json_number(low, 4),
            "high": json_number(high, 4),
            "system": names[c.system],
        }
        for c in curves
        for x, y, (low, high) in zip(c.x, c.y, _bin_intervals(c), strict=True)
    ]
    shared = {"x": line["x"], "color": line["color"]}
    dots = vega.layer(data, vega.dot(size=30, opacity=0.9), **shared, y=line["y"])
    if not any(len(c.low) for c in curves):
        return [dots]
    whisker, upper_limit = {"type": "rule", "opacity": 0.6}, {"field": "high"}
    return [
        vega.layer(data, whisker, **shared, y={**line["y"], "field": "low"}, y2=upper_limit),
        dots,
    ]


def _bin_intervals(curve: Curve) -> list[tuple[float, float]]:
    """Return the interval of each bin; NaN if there are none."""
    if not len(curve.low):
        return [(math.nan, math.nan)] * len(curve)
    return list(zip(curve.low.tolist(), curve.high.tolist(), strict=True))


def _caption(curves: Mapping[str, Sequence[Curve]]) -> str:
    """Return the caption."""
    first = curves[CALIBRATION][0]
    sentences = ["Line: isotonic regression (CORP). Dashed: perfect calibration."]
    if any(len(c.low) for c in curves[CALIBRATION]):
        sentences.append(
            f"Shaded: pointwise {numbers.format_percent(first.level)} consistency band under "
            f"calibration; paler: simultaneous band ({shorten_name(first.method)})."
        )
    if BINNED_CALIBRATION in curves:
        sentences.append(
            f"Dots: means of bins with {numbers.format_percent(first.level)} CIs "
            f"({shorten_name(curves[BINNED_CALIBRATION][0].method)})."
            if any(len(c.low) for c in curves[BINNED_CALIBRATION])
            else "Dots: means of bins."
        )
    if PROBABILITY_HISTOGRAM in curves:
        sentences.append("Below: distribution of the predicted probabilities.")
    return " ".join([*sentences, *tolerance_note(curves[CALIBRATION])])


def _label(curves: Mapping[str, Sequence[Curve]]) -> str:
    """Return a description of the chart in one sentence."""
    system_names = " and ".join(
        dict.fromkeys(shorten_name(c.system) for c in curves[CALIBRATION] if c.system)
    )
    first = curves[CALIBRATION][0]
    suffix = f", for {system_names}" if system_names else ""
    return f"Calibration: {first.y_label.lower()} against {first.x_label.lower()}{suffix}."


def _bin_table(curves: Mapping[str, Sequence[Curve]]) -> FigureTable:
    """Return the table of bins with their intervals."""
    binned = curves.get(BINNED_CALIBRATION, ())
    rows = tuple(
        (shorten_name(c.system), f"{c.x[i]:.4f}", f"{c.y[i]:.4f}", *_format_limits(c, i),
         threshold_text(c.threshold[i]))
        for c in binned
        for i in range(len(c.x))
    )  # fmt: skip
    size_heading = binned[0].parameter if binned else "rows"
    head = "system", "mean probability", "proportion of positives", "low", "high", size_heading
    return head, rows


def _format_limits(curve: Curve, index: int) -> tuple[str, str]:
    """Format the interval of a bin as two cells."""
    low, high = _bin_intervals(curve)[index]
    return ("", "") if math.isnan(low) else (f"{low:.4f}", f"{high:.4f}")


register_chart(
    _CalibrationChart(
        name=CALIBRATION,
        title="Calibration",
        source="probabilities",
        curve=calibration_curve,
        needs=(BINNED_CALIBRATION, PROBABILITY_HISTOGRAM),
    ),
    CurveChart(
        name=BINNED_CALIBRATION,
        title=BINNED_CALIBRATION,
        source="probabilities",
        curve=binned_calibration_curve,
        part_of=CALIBRATION,
    ),
    CurveChart(
        name=PROBABILITY_HISTOGRAM,
        title=PROBABILITY_HISTOGRAM,
        source="probabilities",
        curve=probability_histogram,
        part_of=CALIBRATION,
    ),
)
