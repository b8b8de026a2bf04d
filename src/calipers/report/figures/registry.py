"""Registry of charts by name, with their titles and sections of a page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from calipers.lazy_dataclasses import dataclass
from calipers.plugins import Registry
from calipers.report.figures.figure import Figure
from calipers.results import Comparison, Definition, Evaluation

#: Sections of a page in order: charts of the evaluation, of its comparison, and of units.
SECTIONS = ("evaluation", "comparison", "units")


@dataclass(frozen=True, kw_only=True, eq=False)
class ChartDefinition:
    """Definition of a chart.

    A definition draws nothing until its figures are requested.

    Parameters
    ----------
    name : str
        Name by which the chart is requested.
    title : str
        Title of the chart.
    explanation : str, default=""
        Explanation that a reader needs, as the caption.
    section : {"evaluation", "comparison", "units"}, default="evaluation"
        Section of the page in which the chart is placed.
    """

    name: str
    title: str
    explanation: str = ""
    section: str = "evaluation"

    def figures(self, evaluation: Evaluation, orientation: str) -> Iterable[Figure]:
        """Return the figures of an evaluation; none if there is nothing to draw.

        Parameters
        ----------
        evaluation : Evaluation
            Evaluation whose figures are drawn.
        orientation : {"truth-rows", "predicted-rows"}
            Orientation of confusion matrices; other charts ignore it.

        Returns
        -------
        iterable of Figure
            Figures in the order of the page.
        """
        raise NotImplementedError

    def __reduce__(self) -> str | tuple[Any, ...]:
        # Its functions may have no names of their own.
        registered = self.name in CHARTS and CHARTS[self.name] is self
        return (named_chart, (self.name,)) if registered else super().__reduce__()


@dataclass(frozen=True, kw_only=True, eq=False)
class EvaluationChart(ChartDefinition):
    """Chart of parts of an evaluation other than its curves.

    Parameters
    ----------
    name : str
        Name by which the chart is requested.
    title : str
        Title of the chart.
    explanation : str, default=""
        Explanation that a reader needs, as the caption.
    section : {"evaluation", "comparison", "units"}, default="evaluation"
        Section of the page in which the chart is placed.
    draw : callable
        Function that returns the figures of an evaluation.

    Examples
    --------
    >>> from calipers.charts import EvaluationChart
    >>> chart = EvaluationChart(name="sizes", title="Sizes", draw=lambda evaluation: [])
    >>> chart.section
    'evaluation'
    """

    draw: Callable[[Evaluation], Iterable[Figure]]

    def figures(self, evaluation: Evaluation, orientation: str) -> Iterable[Figure]:
        """Return the figures of an evaluation.

        Parameters
        ----------
        evaluation : Evaluation
            Evaluation whose figures are drawn.
        orientation : {"truth-rows", "predicted-rows"}
            Orientation of confusion matrices; other charts ignore it.

        Returns
        -------
        iterable of Figure
            Figures in the order of the page.
        """
        return self._with_kind(self.draw(evaluation))

    def _with_kind(self, figures: Iterable[Figure]) -> Iterator[Figure]:
        """Yield the figures, with the name of the chart as their kind."""
        return (replace(figure, kind=self.name) for figure in figures)


@dataclass(frozen=True, kw_only=True, eq=False)
class ComparisonChart(ChartDefinition):
    """Chart of all differences of a comparison.

    Parameters
    ----------
    name : str
        Name by which the chart is requested.
    title : str
        Title of the chart.
    explanation : str, default=""
        Explanation that a reader needs, as the caption.
    section : {"evaluation", "comparison", "units"}, default="comparison"
        Section of the page in which the chart is placed.
    draw : callable
        Function that returns the figures of a comparison, given the known definitions of its
        measures.
    """

    draw: Callable[[Comparison, Sequence[Definition]], Iterable[Figure]]

    section: str = "comparison"

    def figures(self, evaluation: Evaluation, orientation: str) -> Iterable[Figure]:
        """Return the figures of the comparison of an evaluation.

        Parameters
        ----------
        evaluation : Evaluation
            Evaluation whose figures are drawn.
        orientation : {"truth-rows", "predicted-rows"}
            Orientation of confusion matrices; other charts ignore it.

        Returns
        -------
        iterable of Figure
            Figures in the order of the page; none if systems were not compared.
        """
        comparison = evaluation.comparison
        return () if comparison is None else self.figures_of(comparison, evaluation.definitions)

    def figures_of(
        self, comparison: Comparison, definitions: Sequence[Definition]
    ) -> Iterator[Figure]:
        """Return the figures of a comparison.

        Parameters
        ----------
        comparison : Comparison
            Comparison whose figures are drawn.
        definitions : sequence of Definition
            Known definitions of its measures.

        Returns
        -------
        iterator of Figure
            Figures, each of which is drawn when it is reached.
        """
        return (replace(f, kind=self.name) for f in self.draw(comparison, definitions))


#: Every chart, in the order of a page: those of these modules, then those of plug-ins.
CHARTS: Registry[ChartDefinition] = Registry(
    "chart",
    "calipers.charts",
    (
        "calipers.report.figures.pareto_fronts",
        "calipers.report.figures.judge",
        "calipers.report.figures.confusions",
        "calipers.curves.clusters",
        "calipers.report.figures.raters",
        "calipers.curves.rates",
        "calipers.curves.thresholds",
        "calipers.curves.decisions",
        "calipers.curves.calibration",
        "calipers.curves.rankings",
        "calipers.curves.quantiles",
        "calipers.curves.residuals",
        "calipers.curves.survival",
        "calipers.curves.uplift",
        "calipers.report.figures.differences",
        "calipers.report.figures.pairs",
        "calipers.report.figures.ranks",
        "calipers.report.figures.significance_levels",
        "calipers.report.figures.per_unit",
    ),
)


def named_chart(name: str) -> ChartDefinition:
    """Return the chart with a name."""
    return CHARTS[name]


def register_chart(*charts: ChartDefinition, replace: bool = False) -> None:
    """Register charts for pages, notebooks and ``--charts``.

    Charts of curves are also available in :func:`calipers.curve`.

    Parameters
    ----------
    *charts : ChartDefinition
        Charts to register.
    replace : bool, default=False
        Whether a registered chart of the same name is replaced, as is useful if a notebook cell is
        run again. Charts of Calipers itself cannot be replaced.

    Raises
    ------
    NameTakenError
        If another chart has the name.

    Examples
    --------
    >>> from calipers.charts import CurveChart, register_chart
    >>> register_chart(CurveChart(name="ROC", title="Another ROC curve"))
    Traceback (most recent call last):
        ...
    calipers.plugins.NameTakenError: the chart 'ROC' is taken by Calipers
    """
    for chart in charts:
        if not isinstance(chart, ChartDefinition):
            raise TypeError(f"{chart!r} is not a chart; expected a ChartDefinition")
        if chart.section not in SECTIONS:
            expected = ", ".join(SECTIONS)
            raise ValueError(
                f"{chart.name}: section is {chart.section!r}, expected one of {expected}"
            )
        CHARTS.register(chart.name, chart, replace=replace)
