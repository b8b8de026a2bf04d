"""Which figures a page has."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import replace

from calipers.report.figures.clusters import cluster_figures
from calipers.report.figures.confusions import confusion_figures
from calipers.report.figures.curves import curve_figures
from calipers.report.figures.differences import difference_figures
from calipers.report.figures.figure import Figure, numbered, some_later
from calipers.report.figures.fronts import front_figures
from calipers.report.figures.pairs import pair_figures
from calipers.report.figures.ranks import rank_figures
from calipers.report.figures.raters import rater_figures
from calipers.report.figures.units import unit_figures
from calipers.report.figures.vega import Spec, still
from calipers.results import ORIENTATIONS, Comparison, Definition, Evaluation


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

    of = evaluation.comparison
    compared = [] if of is None else comparison_figures(of, evaluation.definitions)
    return numbered(
        [
            *begun(front_figures(evaluation)),
            *begun(confusion_figures(evaluation, orientation)),
            *begun(cluster_figures(evaluation)),
            *begun(rater_figures(evaluation)),
            *sorted(begun(curve_figures(evaluation)), key=lambda figure: figure.more),
            *begun(compared),
            *begun(unit_figures(evaluation)),
        ]
    )


def comparison_figures(
    comparison: Comparison, definitions: Sequence[Definition] = ()
) -> list[Figure]:
    """The figures of all differences together: intervals, pairs, mean ranks."""
    return [
        *difference_figures(comparison, definitions),
        *pair_figures(comparison),
        *rank_figures(comparison),
    ]
