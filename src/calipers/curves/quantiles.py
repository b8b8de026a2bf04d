"""Coverage curves of predicted quantiles, by level, and by prediction or truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.curves.construction import make_curve
from calipers.curves.lazy_curves import LazyCurve
from calipers.curves.residuals import equal_weight_bins
from calipers.inference import method_selection
from calipers.measures import parse
from calipers.report.figures.curves import CurveChart
from calipers.report.figures.registry import register_chart
from calipers.results import Curve
from calipers.statistics.quantiles import NoLevelError

if TYPE_CHECKING:
    from calipers.inference.intervals import Interval
    from calipers.systems.quantiles import QuantileOutput

#: Bins of the same number of rows.
MAX_BINS = 10

#: Conditioning variables of the coverage of intervals, by the kind of curve.
CONDITIONING_VARIABLES: Mapping[str, str] = {
    "coverage given prediction": "Prediction",
    "coverage given truth": "Truth",
}
QUANTILE_COVERAGE = "quantile coverage"


def _coverage_curves(kind: str, systems: Sequence[QuantileOutput]) -> list[LazyCurve]:
    """Return the planned coverage curves of each central interval."""
    levels_by_system = [system.quantile_rows.nominal_coverages for system in systems]
    has_several = max(map(len, levels_by_system)) > 1
    curves = []
    for system, nominal_levels in zip(systems, levels_by_system, strict=True):
        for nominal in nominal_levels:
            series = f"{100 * nominal:.4g}%" if has_several else ""
            make = partial(conditional_coverage_curve, system, kind, nominal, series)
            curves.append(LazyCurve(make, kind, system.name, series))
    return curves


def _curve(
    system: QuantileOutput,
    kind: str,
    x: Sequence[float],
    estimates: Sequence[tuple[float, Interval]],
    labels: tuple[str, str],
    **curve_fields: Any,
) -> Curve:
    values, intervals = zip(*estimates, strict=True)
    points: dict[str, Any] = {"x": np.asarray(x, np.float64), "y": np.array(values)}
    if system.settings.interval != "none":
        low, high = (
            np.array([getattr(interval, end) for interval in intervals]) for end in ("low", "high")
        )
        band = {"band_x": points["x"], "low": low, "high": high, "method": intervals[0].method}
        points.update(band)
    x_label, y_label = labels
    return make_curve(system, kind, x_label, y_label, **points, **curve_fields)


def level_curve(system: QuantileOutput) -> Curve:
    """Compute the proportion of rows at or below each quantile against its level."""
    levels = system.quantile_rows.main_levels
    estimates = [_estimate_proportion(system, f"quantile-coverage@{level!r}") for level in levels]
    labels = "Level of the quantile", "Proportion of rows at or below it"
    lines = {"right": [[0.0, 0.0], [1.0, 1.0]]}
    return _curve(system, QUANTILE_COVERAGE, levels, estimates, labels, references=lines)


def conditional_coverage_curve(
    system: QuantileOutput, kind: str, nominal_coverage: float, series: str = ""
) -> Curve:
    """Compute the coverage of a central interval in bins with equal numbers of rows.

    Bins are by the prediction (the median, or otherwise the middle of the interval) or by the
    truth.
    """
    x = system.truth
    if CONDITIONING_VARIABLES[kind] == "Prediction":
        try:
            x = system.quantile_rows.quantile(0.5)
        except NoLevelError:
            x = np.mean(system.quantile_rows.interval_limits(nominal_coverage), axis=0)
    w = np.ones(len(x)) if system.weight is None else system.weight
    bin_rows = equal_weight_bins(x, w, MAX_BINS)
    bin_means = [float(np.average(x[rows], weights=w[rows])) for rows in bin_rows]
    estimates = [
        _estimate_proportion(system.take_rows(rows), f"interval-coverage@{nominal_coverage!r}")
        for rows in bin_rows
    ]
    line = {
        f"{100 * nominal_coverage:.4g}%": [
            [end, nominal_coverage] for end in (bin_means[0], bin_means[-1])
        ]
    }
    return _curve(
        system,
        kind,
        bin_means,
        estimates,
        (CONDITIONING_VARIABLES[kind], "Coverage"),
        references=line,
        series=series,
    )


def _estimate_proportion(system: QuantileOutput, measure: str) -> tuple[float, Interval]:
    """Return a proportion of rows with its interval, as in tables."""
    estimate = system.point_estimate(parse(measure, ("quantiles",)))
    return estimate.value, method_selection.interval(estimate)


_PROPORTIONS = "Proportions in tenths of the rows (in fewer bins with few rows)."

register_chart(
    CurveChart(
        name=QUANTILE_COVERAGE,
        title="Coverage of quantiles",
        explanation="Below the line the truth exceeds the quantile more often than nominal, above "
        "it less often.",
        source="quantiles",
        curve=level_curve,
    ),
    CurveChart(
        name="coverage given prediction",
        title="Coverage of intervals by prediction",
        explanation=f"{_PROPORTIONS} They should be on the line for every prediction.",
        source="quantiles",
        plan=partial(_coverage_curves, "coverage given prediction"),
        series_name="interval",
    ),
    CurveChart(
        name="coverage given truth",
        title="Coverage of intervals by truth",
        explanation=f"{_PROPORTIONS} Even the best intervals cover the smallest and the largest "
        "values less often than others.",
        source="quantiles",
        plan=partial(_coverage_curves, "coverage given truth"),
        series_name="interval",
    ),
)
