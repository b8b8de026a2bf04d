"""Achieved significance levels (Sakai 2006): how well measures discriminate between systems."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from calipers.report import numbers
from calipers.report.figures.basic_charts import line_chart
from calipers.report.figures.figure import Figure
from calipers.report.figures.registry import ComparisonChart, register_chart
from calipers.report.safe_names import shorten_name
from calipers.results import Comparison, Definition

_TITLE = "Achieved significance levels"

#: The smallest number of systems with curves, and the largest number of points in all of them.
_MIN_SYSTEMS, _MAX_POINTS = 4, 5000
#: Units that are comparable between measures: those over which systems are ranked.
_UNITS = ("topics", "groups")


def significance_figure(levels: Mapping[str, Sequence[float]], test: str) -> Figure:
    """Return the figure of the p-values of all pairs by measure, descending, of a ``test``."""
    points = [
        (shorten_name(measure), index, p)
        for measure, p_values in levels.items()
        for index, p in enumerate(p_values, 1)
    ]
    return Figure(
        title=_TITLE,
        alt_text="The p-values of all pairs of systems, in descending order.",
        caption=f"p-value of each pair of systems ({test}), from the largest on. The closer a "
        "curve is to 0, the more the measure discriminates between systems (Sakai 2006).",
        spec=line_chart(points, "pairs of systems, by p-value", "p-value", is_proportion=True),
        header=("measure", "pair", "p-value"),
        rows=tuple((m, str(n), numbers.format_p_digits(p)) for m, n, p in points),
    )


def _figures(comparison: Comparison, definitions: Sequence[Definition] = ()) -> Iterator[Figure]:
    if len(comparison) > _MAX_POINTS:
        return
    systems = {name for d in comparison for name in (d.system, d.baseline)}
    levels = {m: p for m, p in comparison.significance_levels().items() if p}
    n_pairs = len(systems) * (len(systems) - 1) // 2
    has_all_pairs = levels and min(map(len, levels.values())) == n_pairs
    has_units = all(d.unit in _UNITS for d in comparison)
    if len(systems) >= _MIN_SYSTEMS and has_all_pairs and has_units:
        tests = dict.fromkeys(d.test for d in comparison)
        yield significance_figure(levels, f"{', '.join(tests)}; not adjusted")


register_chart(ComparisonChart(name="significance-levels", title=_TITLE, draw=_figures))
