"""Results about learning as a chart, as a page and as a fragment of a notebook."""

from __future__ import annotations

from calipers.report.charts import Chart
from calipers.report.figures.figure import numbered
from calipers.report.figures.learning import figure
from calipers.report.fragments import small
from calipers.report.html import framed
from calipers.report.learning import grid, heading, notes, sentences
from calipers.results.learning import Learned


def chart(of: Learned) -> Chart:
    """The curves."""
    made = figure(of)
    return Chart(made.kind, (made,))


def page(of: Learned) -> str:
    """One offline HTML file, in the frame of the page of an evaluation."""
    head, rows = grid(of)
    values = {
        "heading": "Values", "of": "Values", "kind": "", "system": heading(of), "head": head,
        "rows": rows, "caption": "",
    }  # fmt: skip
    return framed(
        of,
        numbered([figure(of)]),
        of.provenance,
        heading=heading(of),
        headlines=sentences(of),
        sentences=[],
        sentences_are="",
        notes=notes(of),
        comparison=None,
        label_tables=[values],
    )


def fragment(of: Learned) -> str:
    """The sentences, the figure and the table, for a notebook."""
    first, *rest = sentences(of)
    said = [("", first), *(("soft", line) for line in rest)]
    return small(said, tables=[grid(of)], figures=[figure(of)], more=("How", notes(of)))
