"""The charts that there are, each by its name: what it shows, and where on a page it stands."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from calipers.plugins import Registry
from calipers.report.figures.figure import Figure
from calipers.results import Comparison, Definition, Evaluation

#: What stands on a page behind each other: what is of the evaluation, of its comparison, of units.
SECTIONS = ("evaluation", "comparison", "units")


@dataclass(frozen=True, kw_only=True, eq=False)
class ChartDefinition:
    """A chart: the ``name`` that it is asked for by, its ``title``, in ``explanation`` what has to
    be known to read it, and the ``section`` of a page, one of :data:`SECTIONS`, where it stands.

    A definition draws nothing before it is asked for its figures.
    """

    name: str
    title: str
    explanation: str = ""
    section: str = "evaluation"

    def figures(self, evaluation: Evaluation, orientation: str) -> Iterable[Figure]:
        """Its figures of an evaluation; none where there is nothing to draw."""
        raise NotImplementedError

    def __reduce__(self) -> str | tuple[Any, ...]:
        # Its functions may have no names of their own.
        registered = self.name in CHARTS and CHARTS[self.name] is self
        return (named_chart, (self.name,)) if registered else super().__reduce__()


@dataclass(frozen=True, kw_only=True, eq=False)
class EvaluationChart(ChartDefinition):
    """A chart of what an evaluation holds beside its curves: ``draw`` makes its figures.

    Examples
    --------
    >>> from calipers.charts import EvaluationChart
    >>> chart = EvaluationChart(name="sizes", title="Sizes", draw=lambda evaluation: [])
    >>> chart.section
    'evaluation'
    """

    draw: Callable[[Evaluation], Iterable[Figure]]

    def figures(self, evaluation: Evaluation, orientation: str) -> Iterable[Figure]:
        """Its figures of an evaluation."""
        return self._named(self.draw(evaluation))

    def _named(self, made: Iterable[Figure]) -> Iterator[Figure]:
        return (replace(figure, kind=self.name) for figure in made)


@dataclass(frozen=True, kw_only=True, eq=False)
class ComparisonChart(ChartDefinition):
    """A chart of all differences together: ``draw`` makes its figures of a comparison and the
    definitions of its measures, as far as these are known."""

    draw: Callable[[Comparison, Sequence[Definition]], Iterable[Figure]]

    section: str = "comparison"

    def figures(self, evaluation: Evaluation, orientation: str) -> Iterable[Figure]:
        """Its figures of the comparison of an evaluation."""
        of = evaluation.comparison
        return () if of is None else self.figures_of(of, evaluation.definitions)

    def figures_of(
        self, comparison: Comparison, definitions: Sequence[Definition]
    ) -> Iterator[Figure]:
        """Its figures of a comparison."""
        return (replace(f, kind=self.name) for f in self.draw(comparison, definitions))


#: Every chart, in the order of a page: those of these modules, then those of plug-ins.
CHARTS: Registry[ChartDefinition] = Registry(
    "chart",
    "calipers.charts",
    (
        "calipers.report.figures.fronts",
        "calipers.report.figures.confusions",
        "calipers.curves.clusters",
        "calipers.report.figures.raters",
        "calipers.curves.rates",
        "calipers.curves.thresholds",
        "calipers.curves.rates",
        "calipers.curves.decisions",
        "calipers.curves.calibration",
        "calipers.curves.rankings",
        "calipers.curves.quantiles",
        "calipers.curves.residuals",
        "calipers.report.figures.differences",
        "calipers.report.figures.pairs",
        "calipers.report.figures.ranks",
        "calipers.report.figures.units",
    ),
)


def named_chart(name: str) -> ChartDefinition:
    """The chart of a name."""
    return CHARTS[name]


def register_chart(*charts: ChartDefinition, replace: bool = False) -> None:
    """Enter charts, which then appear on pages, in notebooks, with ``--charts`` and, those of
    curves, in :func:`calipers.curve`.

    Parameters
    ----------
    charts
        What is entered.
    replace
        Whether it may take the place of what was entered before under the same name, as where a
        cell of a notebook is run again; the charts of Calipers itself stay.

    Raises
    ------
    NameTakenError
        For a name that another chart has.

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
            raise TypeError(f"{chart!r} is no chart; expected an object of ChartDefinition")
        if chart.section not in SECTIONS:
            expected = ", ".join(SECTIONS)
            raise ValueError(
                f"{chart.name}: section is {chart.section!r}, expected one of {expected}"
            )
        CHARTS.register(chart.name, chart, replace=replace)
