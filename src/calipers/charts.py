"""Custom charts: the building blocks of a chart, and the function that registers it.

A registered chart appears on pages, in notebooks and with ``--charts`` as those of Calipers do,
and a chart of curves in :func:`calipers.curve` as well. A package names the module that registers
its charts as an entry point of the group ``calipers.charts``.
"""

from calipers.curves.construction import make_curve as system_curve
from calipers.curves.lazy_curves import LazyCurve
from calipers.curves.score_data import ScoreData, make_band, make_score_curve
from calipers.report.figures import vega
from calipers.report.figures.curve_chart import curve_chart
from calipers.report.figures.curves import CurveChart
from calipers.report.figures.figure import Figure
from calipers.report.figures.registry import (
    CHARTS,
    ChartDefinition,
    ComparisonChart,
    EvaluationChart,
    register_chart,
)

__all__ = [
    "CHARTS",
    "ChartDefinition",
    "ComparisonChart",
    "CurveChart",
    "EvaluationChart",
    "Figure",
    "LazyCurve",
    "ScoreData",
    "curve_chart",
    "make_band",
    "make_score_curve",
    "register_chart",
    "system_curve",
    "vega",
]
