"""Residual diagnostics: normal quantiles, histograms, and binned means with their frequencies."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.curves.construction import make_curve
from calipers.curves.lazy_curves import LazyCurve
from calipers.inference import intervals
from calipers.report import numbers
from calipers.report.figures import histograms, vega
from calipers.report.figures.curve_chart import curve_chart
from calipers.report.figures.curves import CurveChart
from calipers.report.figures.figure import Figure, selector_label
from calipers.report.figures.registry import register_chart
from calipers.report.figures.vega import Spec, json_number, sample_evenly
from calipers.report.grouping import group_by
from calipers.report.safe_names import method_text, shorten_name, unique_labels
from calipers.results import Curve, Evaluation, curve_kinds, select_kinds
from calipers.statistics import Moments

if TYPE_CHECKING:
    import numpy.typing as npt

    from calipers.statistics import FloatArray
    from calipers.systems.regression import RegressionOutput

NORMAL_QUANTILES, RESIDUALS, VALUE_HISTOGRAM = "normal quantiles", "residuals", "values"

#: Number of bins with equal numbers of rows, whose means are drawn.
MAX_BINS = 20
#: The smallest number of rows in a bin.
MIN_BIN_ROWS = 10
#: Number of bars of a histogram.
N_BARS = 40
#: The largest number of quantiles that are drawn.
MAX_DRAWN_QUANTILES = 400
#: Number of simulated samples for the band of normal quantiles, and their largest size.
N_SIMULATIONS, MAX_SIMULATED_ROWS = 1_000, 2_000

#: Labels of the axes of conditional means, by the kind of curve.
CONDITIONAL_LABELS: Mapping[str, tuple[str, str]] = {
    "prediction given truth": ("Truth", "Mean prediction"),
    "truth given prediction": ("Prediction", "Mean truth"),
    "residual given prediction": ("Prediction", "Mean residual"),
    "residual given truth": ("Truth", "Mean residual"),
}


def _weights(system: RegressionOutput) -> FloatArray:
    return np.ones(len(system.truth)) if system.weight is None else system.weight


# --- Normal quantiles -----------------------------------------------------------------------------


def normal_quantiles(system: RegressionOutput) -> Curve:
    """Compute the normal Q-Q curve of the standardized residuals.

    Sorted residuals over their standard deviation are plotted against the quantiles of the standard
    normal distribution at (i − ½)/n. Their mean is not subtracted, so that a bias shifts the whole
    curve.

    Notes
    -----
    The band is simultaneous for normal residuals with mean 0, as the χ² interval of the RMSE
    assumes: its limits are the quantiles of the Beta distribution of the i-th of n order statistics
    at one local level, which is calibrated with normal samples over their own standard deviations.
    There is no band if rows are weighted or clustered.

    References
    ----------
    Aldor-Noiman, Brown, Buja, Rolke and Stine (2013). The power to see: a new graphical test of
    normality. The American Statistician 67.
    """
    from scipy.special import ndtri

    w, residual = _weights(system), system.predicted - system.truth
    residual, w = residual[w > 0], w[w > 0]
    labels = "Normal quantile", "Residual in standard deviations"
    moments = Moments.from_rows(residual, w)
    if len(w) < 3 or not moments.m2 > 0:
        empty = np.zeros(0)
        return make_curve(system, NORMAL_QUANTILES, *labels, x=empty, y=empty)
    order = np.argsort(residual)
    z = residual[order] / np.sqrt(moments.m2 / moments.weight)
    plotting_positions = (np.cumsum(w[order]) - w[order] / 2) / moments.weight
    indices = np.unique(
        np.linspace(0, len(z) - 1, min(len(z), MAX_DRAWN_QUANTILES)).round().astype(int)
    )
    # The tails are what is looked at.
    tail_indices = np.arange(min(10, len(z)))
    indices = np.unique(np.concatenate([indices, tail_indices, len(z) - 1 - tail_indices]))
    x = ndtri(plotting_positions[indices])
    band: dict[str, Any] = {}
    if system.weight is None and system.clusters is None and system.settings.interval != "none":
        low, high = _normal_band(len(z), indices + 1, system.settings.level, system.settings.seed)
        empty = np.full(len(x), np.nan)
        band = {
            "band_x": x,
            "simultaneous_low": low,
            "simultaneous_high": high,
            "low": empty,
            "high": empty,
        }
        band["simultaneous_method"] = "equal local levels"
    references = {"normal": [[float(x[0]), float(x[0])], [float(x[-1]), float(x[-1])]]}
    return make_curve(
        system, NORMAL_QUANTILES, *labels, x=x, y=z[indices], references=references, **band
    )


def _normal_band(n: int, ranks: Any, level: float, seed: int) -> tuple[FloatArray, FloatArray]:
    """Return simultaneous limits of order statistics of normal samples, mean 0, over their SD."""
    from scipy.special import betainc, betaincinv, ndtr, ndtri

    # The local level hardly depends on n where n is large.
    rows = min(n, MAX_SIMULATED_ROWS)
    all_ranks = np.arange(1, rows + 1)
    random = np.random.Generator(np.random.Philox(seed))
    min_levels = np.empty(N_SIMULATIONS)
    for k in range(N_SIMULATIONS):
        sample = np.sort(random.normal(size=rows))
        p = betainc(all_ranks, rows - all_ranks + 1, ndtr(sample / sample.std()))
        min_levels[k] = min(p.min(), (1 - p).min())
    local_level = float(np.quantile(min_levels, 1 - level))
    reverse_ranks = n - ranks + 1
    low, high = (
        ndtri(betaincinv(ranks, reverse_ranks, probability))
        for probability in (local_level, 1 - local_level)
    )
    return np.asarray(low, np.float64), np.asarray(high, np.float64)


# --- Histograms -----------------------------------------------------------------------------------


def _plan_residuals(systems: Sequence[RegressionOutput]) -> list[LazyCurve]:
    return [
        LazyCurve(partial(_residual_histogram, systems, index), RESIDUALS, s.name)
        for index, s in enumerate(systems)
    ]


def _plan_values(systems: Sequence[RegressionOutput]) -> list[LazyCurve]:
    """Return the planned histograms of the predictions of each system, and of the truth."""
    names = [*(s.name or "prediction" for s in systems), "truth"]
    return [
        LazyCurve(partial(_value_histogram, systems, index, name), VALUE_HISTOGRAM, s.name, name)
        for index, name in enumerate(names)
        for s in [systems[index % len(systems)]]
    ]


def _residual_histogram(systems: Sequence[RegressionOutput], index: int) -> Curve:
    """Return the histogram of one system's residuals, with the same bars for all systems."""
    columns = [s.predicted - s.truth for s in systems]
    return _histogram(systems[index], columns, index, (RESIDUALS, "Residual"))


def _value_histogram(systems: Sequence[RegressionOutput], index: int, series: str) -> Curve:
    """Return the histogram of one system's predictions, or (after the last system) of the truth.

    Bars are the same for all.
    """
    columns = [*(s.predicted for s in systems), systems[0].truth]
    system = systems[index % len(systems)]  # the truth is drawn with the first
    return _histogram(system, columns, index, (VALUE_HISTOGRAM, "Value"), series=series)


def _histogram(
    system: RegressionOutput,
    columns: Sequence[FloatArray],
    index: int,
    names: tuple[str, str],
    **curve_fields: str,
) -> Curve:
    """Return the proportions of rows in bars of equal width, the same for all columns."""
    low, high = min(float(c.min()) for c in columns), max(float(c.max()) for c in columns)
    edges = np.linspace(low, high if high > low else low + 1, N_BARS + 1)
    bar_weights = np.histogram(columns[index], edges, weights=_weights(system))[0]
    y = np.append(bar_weights / bar_weights.sum(), 0.0)
    bars: dict[str, Any] = {"x": edges, "y": y, "shape": "bars", **curve_fields}
    return make_curve(system, *names, "Proportion of rows", **bars)


# --- Means given a number -------------------------------------------------------------------------


def binned_means(system: RegressionOutput, kind: str) -> Curve:
    """Compute means of a quantity in bins of another with equal weight, with Student's t limits.

    For rows in clusters the limits are cluster-robust.
    """
    response, _, condition = kind.partition(" given ")
    labels, residual = CONDITIONAL_LABELS[kind], system.predicted - system.truth
    columns = {"truth": system.truth, "prediction": system.predicted, "residual": residual}
    x, y = columns[condition], columns[response]
    w = _weights(system)
    bin_estimates = [
        _bin_estimate(system, x, y, w, rows) for rows in equal_weight_bins(x, w, MAX_BINS)
    ]
    bin_means, mean, low, high = np.array(bin_estimates).T
    limits = float(bin_means[0]), float(bin_means[-1])
    reference_ends = (0.0, 0.0) if response == "residual" else limits
    references = {"no error": [[limits[0], reference_ends[0]], [limits[1], reference_ends[1]]]}
    band = {"band_x": bin_means, "low": low, "high": high, "method": "Student t of each bin"}
    band = band if system.settings.interval != "none" else {}
    return make_curve(system, kind, *labels, x=bin_means, y=mean, references=references, **band)


def equal_weight_bins(x: FloatArray, w: FloatArray, max_bins: int) -> list[npt.NDArray[np.intp]]:
    """Return the row indices of bins of equal weight by a number, in order.

    Bins have :data:`MIN_BIN_ROWS` rows or more. Rows with the same number stay together, in the bin
    of the first of them.
    """
    used_indices = np.flatnonzero(w > 0)
    order = used_indices[np.argsort(x[used_indices], kind="stable")]
    cumulative = np.cumsum(w[order]) / w[order].sum()
    n_bins = max(1, min(max_bins, len(order) // MIN_BIN_ROWS))
    code = np.minimum((cumulative * n_bins - 1e-9).astype(int), n_bins - 1)
    is_first_of_value = np.concatenate([[True], np.diff(x[order]) > 0])
    code = code[np.maximum.accumulate(np.where(is_first_of_value, np.arange(len(order)), 0))]
    return [order[code == k] for k in np.unique(code)]


def _bin_estimate(
    system: RegressionOutput, x: FloatArray, y: FloatArray, w: FloatArray, rows: Any
) -> tuple[float, float, float, float]:
    """Return the means of x and y in a bin, and the limits of the latter."""
    moments = Moments.from_rows(y[rows], w[rows])
    level, n, se = system.settings.level, moments.effective_size, moments.standard_error
    if system.clusters is not None:
        bin_clusters = system.clusters.take_rows(rows)
        n, se = bin_clusters.n_effective_clusters, bin_clusters.mean_error(y[rows]).se
    interval = intervals.student_interval(moments.mean, se, n, level)
    return float(np.average(x[rows], weights=w[rows])), moments.mean, interval.low, interval.high


# --- The charts -----------------------------------------------------------------------------------

_MAX_TABLE_POINTS = 11
#: The largest number of outputs that are drawn, as each has seven charts.
_MAX_OUTPUTS = 6


class _ResidualChart(CurveChart):
    """Curves of all systems over a histogram of the conditioning variable, by output."""

    def figures(self, evaluation: Evaluation, orientation: str = "") -> Iterator[Figure]:
        """Yield the figures of an evaluation, one for each output."""
        if self.name not in curve_kinds(evaluation.curves):
            return
        curves_by_output = group_by(
            select_kinds(evaluation.curves, {self.name}), lambda c: c.output
        )
        histograms_by_output = group_by(
            select_kinds(evaluation.curves, set(self.needs)), lambda c: c.output
        )
        for output, curves in list(curves_by_output.items())[:_MAX_OUTPUTS]:
            nonempty = [c for c in curves if len(c.x)]
            if nonempty:
                figure = _figure(
                    self, nonempty, histograms_by_output.get(output, []), evaluation.systems
                )
                yield (
                    _add_output_selector(figure, output, len(curves_by_output))
                    if output
                    else figure
                )


def _conditioning_name(kind: str) -> str:
    """Return the conditioning variable of a kind of means."""
    return kind.partition(" given ")[2]


def _add_output_selector(figure: Figure, output: str, n_outputs: int) -> Figure:
    """Return the figure of one of several outputs, among which the reader selects."""
    truncation_note = (
        f"Charts of the first {_MAX_OUTPUTS} of {n_outputs} outputs."
        if n_outputs > _MAX_OUTPUTS
        else ""
    )
    return replace(
        figure,
        caption=" ".join(filter(None, [figure.caption, truncation_note])),
        title=f"{figure.title}: {shorten_name(output)}",
        alt_text=f"{shorten_name(output)}. {figure.alt_text}",
        choice=selector_label(output, n_outputs),
        chosen_from=figure.title,
        chosen_by="Output",
    )


def _figure(
    chart: CurveChart,
    curves: Sequence[Curve],
    histogram_curves: Sequence[Curve],
    systems: Sequence[str],
) -> Figure:
    first, kind = curves[0], chart.name
    system_names = " and ".join(dict.fromkeys(shorten_name(c.system) for c in curves if c.system))
    rows = [
        (shorten_name(c.series or c.system), *(f"{v:.5g}" for v in (c.x[i], c.y[i])))
        for c in curves
        for i in sample_evenly(list(range(len(c.x))), _MAX_TABLE_POINTS)
    ]
    return Figure(
        title=chart.title,
        kind=kind,
        alt_text=f"{chart.title}: {first.y_label} against {first.x_label}"
        + (f", for {system_names}." if system_names else "."),
        caption=" ".join(
            filter(
                None,
                [
                    chart.explanation,
                    *_band_sentences(curves),
                    *_histogram_sentences(kind, histogram_curves),
                ],
            )
        ),
        spec=_spec(kind, curves, histogram_curves, systems),
        header=("system", first.x_label, first.y_label),
        rows=tuple(rows),
    )


def _band_sentences(curves: Sequence[Curve]) -> Iterator[str]:
    level = numbers.format_percent(curves[0].level)
    if any(math.isfinite(v) for c in curves for v in c.low):
        yield f"Shaded: {level} CI of each bin ({method_text(curves[0].method)})."
    if any(len(c.simultaneous_low) for c in curves):
        yield f"Shaded: simultaneous {level} band of normal samples of this size with mean 0."


def _histogram_sentences(kind: str, histogram_curves: Sequence[Curve]) -> Iterator[str]:
    if histogram_curves:
        yield f"Below: distribution of the {_conditioning_name(kind)}."


def _spec(
    kind: str, curves: Sequence[Curve], histogram_curves: Sequence[Curve], systems: Sequence[str]
) -> Spec:
    if kind in (RESIDUALS, VALUE_HISTOGRAM):
        keys = [c.series or c.system for c in curves]
        panel = histograms.panel(
            curves, unique_labels(keys, vega.MAX_LABEL_LENGTH), 260, legend=True
        )
        return vega.assemble_spec(**panel)
    upper = curve_chart(curves, [s for s in systems if s in {c.system for c in curves}])
    if kind == NORMAL_QUANTILES or not histogram_curves:
        return upper
    upper["height"] = 260
    return _stack_charts(kind, upper, histogram_curves, systems)


def _stack_charts(
    kind: str, upper: Spec, histogram_curves: Sequence[Curve], systems: Sequence[str]
) -> Spec:
    """Stack a chart and the histogram of its conditioning variable."""
    # The truth comes last, whatever a system is called.
    shown_curves = (
        histogram_curves[-1:] if _conditioning_name(kind) == "truth" else histogram_curves[:-1]
    )
    domain = [
        json_number(v) or 0.0 for v in (float(shown_curves[0].x[0]), float(shown_curves[0].x[-1]))
    ]
    for layer in upper["layer"]:
        if "x" in layer["encoding"]:
            scale = {"domain": domain, "nice": False}
            layer["encoding"]["x"] = {**layer["encoding"]["x"], "scale": scale}
    names = {c.series or c.system: c.series or c.system for c in shown_curves}
    single_color = "currentColor" if _conditioning_name(kind) == "truth" else vega.PALETTE[0]
    histogram_panel = histograms.panel(shown_curves, names, 70, domain=domain, color=single_color)
    histogram_panel["encoding"]["x"]["title"] = (
        "Truth" if _conditioning_name(kind) == "truth" else "Prediction"
    )
    return histograms.stack_panels(upper, [histogram_panel])


def _conditional_chart(name: str, title: str, explanation: str) -> CurveChart:
    return _ResidualChart(
        name=name,
        title=title,
        explanation=f"Means of bins with equal numbers of rows. {explanation}",
        source="numbers",
        curve=partial(binned_means, kind=name),
        needs=(VALUE_HISTOGRAM,),
    )


register_chart(
    _ResidualChart(
        name=NORMAL_QUANTILES,
        title="Normal Q-Q plot of the residuals",
        explanation="Sorted residuals in standard deviations; their mean is not subtracted. "
        "Points on the line are consistent with normal residuals of mean 0; points on a parallel "
        "line, with normal but biased residuals. If the points are steeper than the line at one "
        "end, that tail is heavier than that of a normal distribution.",
        source="numbers",
        curve=normal_quantiles,
    ),
    _ResidualChart(
        name=RESIDUALS,
        title="Residuals",
        explanation="Residual: prediction minus truth.",
        source="numbers",
        plan=_plan_residuals,
    ),
    _ResidualChart(
        name=VALUE_HISTOGRAM, title="True and predicted values", source="numbers", plan=_plan_values
    ),
    _conditional_chart(
        "prediction given truth",
        "Prediction by truth",
        "Even optimal predictions vary less about the mean than the true values do (regression to "
        "the mean).",
    ),
    _conditional_chart(
        "truth given prediction",
        "Truth by prediction",
        "On the line, predictions are correct on average; above it they are too low.",
    ),
    _conditional_chart(
        "residual given prediction",
        "Residual by prediction",
        "Where the interval excludes 0, there is evidence that predictions are biased; they could "
        "be recalibrated.",
    ),
    _conditional_chart(
        "residual given truth",
        "Residual by truth",
        "Even optimal predictions vary less about the mean than the true values do (regression to "
        "the mean), so the mean residual decreases with the truth.",
    ),
)
