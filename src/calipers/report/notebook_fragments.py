"""HTML fragments of single results for notebooks, without JavaScript or network access."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from calipers.report import numbers
from calipers.report.class_tables import label_caption, label_grid
from calipers.report.figures.figure import Figure
from calipers.report.headlines import estimate_sentence
from calipers.report.safe_names import method_text, shorten_name
from calipers.report.table_rows import finding_text, finding_values, severity_prefix
from calipers.report.verdict import difference_sentence, outcome
from calipers.report.writers.html import markup, render_template, resource

if TYPE_CHECKING:
    from calipers.results import (
        Difference,
        Estimate,
        Finding,
        LabelTable,
    )

TextTable = tuple[Sequence[str], Sequence[Sequence[str]]]


def compact_fragment(
    sentences: Iterable[tuple[str, str]] = (),
    *,
    tables: Sequence[TextTable] = (),
    figures: Sequence[Figure] = (),
    details: tuple[str, Sequence[str]] | None = None,
) -> str:
    """Return a fragment of sentences with their classes, tables, figures, and folded details."""
    variables: dict[str, Any] = {"lines": list(sentences), "tables": tables, "figures": figures}
    return render_template(
        "small.html.j2", css=markup(resource("small.css")), more=details, **variables
    )


def lines_fragment(text: str) -> str:
    """Return the fragment of a result that is a few lines of text."""
    return compact_fragment([("", line) for line in text.splitlines()])


def estimate_fragment(e: Estimate) -> str:
    """Return the fragment of an estimate."""
    return compact_fragment([("", estimate_sentence(e))])


def difference_fragment(d: Difference) -> str:
    """Return the fragment of a difference: its verdict and the methods."""
    methods = [f"Interval: {method_text(d.method)}."] if d.has_interval else []
    if d.test != "none":
        methods.append(f"Test: {method_text(d.test)}.")
    units_text = f"Over {numbers.format_count(d.n, shorten_name(d.unit))}; {outcome(d).value}."
    return compact_fragment(
        [("", difference_sentence(d)), ("soft", " ".join([units_text, *methods]))]
    )


def finding_fragment(f: Finding) -> str:
    """Return the fragment of a finding, with its criterion and values."""
    details = [f.criterion, *(f"{name}: {value}" for name, value in finding_values(f))]
    return compact_fragment(
        [(f.severity, f"{severity_prefix(f)}{finding_text(f, ())}")], details=(_CRITERION, details)
    )


_CRITERION = "Criterion"


def figures_fragment(figures: Sequence[Figure], digest: str) -> str:
    """Return the fragment of figures.

    Their ids begin with ``digest``, so that they are unique in a notebook.
    """
    return compact_fragment(
        figures=[replace(f, name=f"c{digest}-{i}") for i, f in enumerate(figures)]
    )


def label_tables_fragment(tables: Sequence[LabelTable]) -> str:
    """Return the fragment of the tables of classes, labels or clusters of systems."""
    sentences = [("soft", label_caption(tables[0]))] if tables else []
    grids = []
    for table in tables:
        head, rows = label_grid(table)
        named_rows = [[f"{shorten_name(table.system)}: {row[0]}", *row[1:]] for row in rows]
        grids.append((head, named_rows if len(tables) > 1 else rows))
    return compact_fragment(sentences, tables=grids)
