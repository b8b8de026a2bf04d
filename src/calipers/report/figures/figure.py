"""Figures of a page, with their image, spec, description and table, and their selectors."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import field, replace
from itertools import groupby, islice
from typing import TYPE_CHECKING

from calipers.lazy_dataclasses import dataclass
from calipers.report.figures.rendering import clean_svg, pack_datasets, render_svg
from calipers.report.figures.vega import Spec, static_spec
from calipers.report.safe_names import shorten_name

if TYPE_CHECKING:
    from markupsafe import Markup

#: The table of a chart: the heading and the rows.
FigureTable = tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]

#: The largest number of charts of the same kind (of systems or measures) that are all visible.
MAX_SIDE_BY_SIDE = 2
#: The largest number of charts in a selector that all have an image and a table; beyond it only the
#: first few have them before they are selected, since those of 100 topics would be half of the
#: page.
MAX_IMAGES, N_FIRST_IMAGES = 30, 3


@dataclass(frozen=True, slots=True)
class Figure:
    """Chart of a page, with its image, spec, description and table.

    Parameters
    ----------
    title : str
        Title of the chart.
    alt_text : str
        Description of the chart for those who cannot see it.
    caption : str
        Explanation that a reader needs.
    spec : dict
        Vega-Lite spec.
    header : tuple of str
        Headings of the table of the chart.
    rows : tuple of tuple of str
        Rows of the table of the chart.
    wide : bool, default=False
        Whether the chart takes the whole width of a page.
    on_request : bool, default=False
        Whether the chart is shown on request only.
    choice : str, default=""
        Label of the chart in a selector, if the reader selects one of several.
    chosen_from : str, default=""
        What the titles of all charts of a selector begin with, before a colon and a name; if they
        do not, any text that no other selector has.
    chosen_by : str, default="System"
        What the reader selects by, such as "System".
    name : str, default="figure"
        Prefix of the ids in the image, unique in a page.
    kind : str, default=""
        Name by which a user requests the chart, common to all charts of a selector.
    on_page : bool, default=False
        Whether only pages have the chart, as an alternative to the one that is requested by name.
    later : bool, default=False
        Whether only the script of the page draws the chart, when it is selected or unfolded.
    begun : Future, optional
        Image that is already being rendered.
    """

    title: str
    alt_text: str
    caption: str
    spec: Spec
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    wide: bool = False
    on_request: bool = False
    choice: str = ""
    chosen_from: str = ""
    chosen_by: str = "System"
    name: str = "figure"
    kind: str = ""
    on_page: bool = False
    later: bool = False
    begun: Future[str] | None = field(default=None, compare=False, repr=False)

    @property
    def svg(self) -> Markup:
        """Image that is displayed without JavaScript."""
        from markupsafe import Markup

        if self.later:
            hint = "<p>The script of the page draws this chart; its CSV has the numbers.</p>"
            return Markup("" if self.rows else hint)
        image = render_svg(static_spec(self.spec)) if self.begun is None else self.begun.result()
        return Markup(clean_svg(image, self.name))

    @property
    def json(self) -> Markup:
        """Spec for a data ``script`` element, which no ``<`` can end.

        Its data are stored by column, as the script of the page unpacks them.
        """
        from markupsafe import Markup

        spec = pack_datasets(self.spec)
        text = json.dumps(spec, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        return Markup(text.replace("<", "\\u003c"))


@dataclass(frozen=True, slots=True)
class FigureSelector:
    """Figure of a page, or several among which the reader selects one."""

    figures: tuple[Figure, ...]

    @property
    def is_on_request(self) -> bool:
        """Whether it is shown on request only."""
        return self.figures[0].on_request

    @property
    def is_wide(self) -> bool:
        """Whether it takes the whole width."""
        return any(figure.wide for figure in self.figures)


def group_selectable(figures: Sequence[Figure]) -> list[FigureSelector]:
    """Group the figures of a page into selectors."""
    groups = groupby(figures, lambda f: f.chosen_from if f.choice else f.name)
    return [FigureSelector(tuple(group)) for _, group in groups]


def lazy_figures(figures: Iterable[Figure]) -> Iterator[Figure]:
    """Yield figures as they are made.

    If there are many to select from, only the first few have images and tables.
    """
    for choice, chart_figures in groupby(figures, lambda f: f.chosen_from if f.choice else ""):
        group = iter(chart_figures)
        if not choice:
            yield from group
            continue
        yield from islice(group, N_FIRST_IMAGES)
        remaining = list(islice(group, MAX_IMAGES - N_FIRST_IMAGES))
        excess_figures = list(group)
        for figure in [*remaining, *excess_figures]:
            yield replace(figure, later=True, rows=()) if excess_figures else figure


def defer_pictures(figures: Iterable[Figure]) -> Iterator[Figure]:
    """Yield the figures of a page: those that are folded or not selected first have no image.

    Without scripts their tables are in its place.
    """
    for choice, chart_figures in groupby(figures, lambda f: f.chosen_from if f.choice else ""):
        for index, figure in enumerate(chart_figures):
            is_folded = figure.on_request or (choice and index)
            yield replace(figure, later=True) if is_folded else figure


def assign_ids(figures: Iterable[Figure]) -> list[Figure]:
    """Return the figures with unique ids."""
    return [replace(figure, name=f"figure-{index}") for index, figure in enumerate(figures)]


def selector_label(name: str, n_figures: int) -> str:
    """Return the label of a figure in a selector, empty if there are few figures."""
    return shorten_name(name) if n_figures > MAX_SIDE_BY_SIDE else ""


def measure_figure(figure: Figure, measure: str, n_measures: int, kind: str) -> Figure:
    """Return the figure of one of several measures, among which the reader selects.

    Titles of all of them begin with ``kind``.
    """
    choice = selector_label(measure, n_measures)
    return replace(figure, choice=choice, chosen_from=kind, chosen_by="Measure")
