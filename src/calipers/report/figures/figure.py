"""One figure of a page: a picture, its spec, a sentence and its numbers; and its place."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from itertools import groupby, islice
from typing import TYPE_CHECKING

from calipers.report.figures.rendering import clean_svg, pack_datasets, render_svg
from calipers.report.figures.vega import Spec, static_spec
from calipers.report.safe_names import shorten_name

if TYPE_CHECKING:
    from markupsafe import Markup

#: The numbers beside a chart: the heading, and the rows.
Numbers = tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]

#: So many charts of the same kind, one a system or a measure, are all in sight.
SIDE_BY_SIDE = 2
#: Where a reader chooses among more than so many, those behind the first few have neither a picture
#: nor a table of numbers before they are chosen: of 100 topics these would be half of the page.
MOST_PICTURES, FIRST_PICTURES = 30, 3


@dataclass(frozen=True, slots=True)
class Figure:
    """One chart of the page. ``label`` is what a person would say who sees it."""

    title: str
    label: str
    caption: str
    spec: Spec
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    wide: bool = False
    more: bool = False
    #: The system, where a reader chooses one, and what the figures of all systems have in common.
    choice: str = ""
    chosen_from: str = ""
    chosen_by: str = "System"
    #: What the ids in the picture begin with; no two figures of a page have the same.
    name: str = "figure"
    #: What a user asks for it by; several charts that a reader chooses from have one.
    kind: str = ""
    #: Whether only the page's script draws it, where it is chosen.
    later: bool = False
    #: The picture, where it is already being drawn.
    begun: Future[str] | None = field(default=None, compare=False, repr=False)

    @property
    def svg(self) -> Markup:
        """The picture that is there without JavaScript."""
        from markupsafe import Markup

        if self.later:
            return Markup(
                "<p>The script of the page draws this chart; its CSV has the numbers.</p>"
            )
        made = render_svg(static_spec(self.spec)) if self.begun is None else self.begun.result()
        return Markup(clean_svg(made, self.name))

    @property
    def json(self) -> Markup:
        """The spec for a ``script`` element of data, which no ``<`` can end; its data by column, as
        the page's script unpacks them."""
        from markupsafe import Markup

        spec = pack_datasets(self.spec)
        text = json.dumps(spec, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        return Markup(text.replace("<", "\\u003c"))


@dataclass(frozen=True, slots=True)
class FigureSelector:
    """One place of the page: a figure, or some of which the reader chooses one."""

    figures: tuple[Figure, ...]

    @property
    def more(self) -> bool:
        """Whether it is left to those who ask for more."""
        return self.figures[0].more

    @property
    def wide(self) -> bool:
        """Whether it takes the whole width."""
        return any(figure.wide for figure in self.figures)


def group_selectable(drawn: Sequence[Figure]) -> list[FigureSelector]:
    """The places of a page for figures."""
    together = groupby(drawn, lambda f: f.chosen_from if f.choice else f.name)
    return [FigureSelector(tuple(group)) for _, group in together]


def lazy_figures(made: Iterable[Figure]) -> Iterator[Figure]:
    """The figures as they are made; of many to choose from only the first few with pictures and
    numbers."""
    for choice, those in groupby(made, lambda f: f.chosen_from if f.choice else ""):
        group = iter(those)
        if not choice:
            yield from group
            continue
        yield from islice(group, FIRST_PICTURES)
        rest = list(islice(group, MOST_PICTURES - FIRST_PICTURES))
        beyond = list(group)
        for figure in [*rest, *beyond]:
            yield replace(figure, later=True, rows=()) if beyond else figure


def assign_ids(made: Iterable[Figure]) -> list[Figure]:
    """The figures, each with ids of its own."""
    return [replace(figure, name=f"figure-{place}") for place, figure in enumerate(made)]


def selector_label(name: str, of: int) -> str:
    """What the reader chooses, where each of so many has a chart of its own and they are many."""
    return shorten_name(name) if of > SIDE_BY_SIDE else ""


def measure_figure(figure: Figure, measure: str, of: int, kind: str) -> Figure:
    """The figure of one of so many measures, of which the reader chooses."""
    choice = selector_label(measure, of)
    return replace(figure, choice=choice, chosen_from=kind, chosen_by="Measure")
