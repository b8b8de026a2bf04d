"""Which figures a page has."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import replace

from calipers.report.figures.curves import chart_of
from calipers.report.figures.figure import Figure, numbered, some_later
from calipers.report.figures.registry import CHARTS, SECTIONS, ComparisonChart
from calipers.report.figures.vega import Spec, still
from calipers.results import ORIENTATIONS, Comparison, Definition, Evaluation, kinds_in


def figures(
    evaluation: Evaluation,
    orientation: str = ORIENTATIONS[0],
    begin: Callable[[Spec], Future[str]] | None = None,
) -> list[Figure]:
    """The figures of a page, in order; none where there is nothing to draw.

    ``begin`` begins a picture as soon as its spec is there, while the next curves are computed.
    """

    def begun(made: Iterable[Figure]) -> Iterator[Figure]:
        for figure in some_later(made):
            if begin is None or figure.later:
                yield figure
            else:
                yield replace(figure, begun=begin(still(figure.spec)))

    sections: dict[str, list[Figure]] = {section: [] for section in SECTIONS}
    unknown = [kind for kind in dict.fromkeys(kinds_in(evaluation.curves)) if kind not in CHARTS]
    for chart in (*CHARTS.values(), *map(chart_of, unknown)):
        sections[chart.section] += begun(chart.figures(evaluation, orientation))
    sections["evaluation"].sort(key=lambda figure: figure.more)
    return numbered(figure for of in sections.values() for figure in of)


def comparison_figures(
    comparison: Comparison, definitions: Sequence[Definition] = ()
) -> list[Figure]:
    """The figures of all differences together: intervals, pairs, mean ranks."""
    return [
        figure
        for chart in CHARTS.values()
        if isinstance(chart, ComparisonChart)
        for figure in chart.figures_of(comparison, definitions)
    ]
