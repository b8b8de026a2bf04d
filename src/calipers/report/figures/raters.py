"""Charts of raters: the agreement of each pair, and the categories that each rater uses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import combinations

import numpy as np

from calipers.report import numbers
from calipers.report.figures import vega
from calipers.report.figures.confusions import cell_heat_map
from calipers.report.figures.figure import Figure, selector_label
from calipers.report.figures.registry import EvaluationChart, register_chart
from calipers.report.figures.vega import Spec
from calipers.report.safe_names import shorten_name, unique_labels
from calipers.results import Evaluation, LabelTable

#: The largest number of raters in a matrix.
MAX_RATERS = 16


def _rater_tables(evaluation: Evaluation) -> list[LabelTable]:
    """Return the tables of the sets of raters that are drawn; those that are too large are omitted.

    Sets of two raters have no such table, since that of pairs has everything.
    """
    return [
        t for t in evaluation.label_tables if t.row_kind == "rater" and len(t.labels) <= MAX_RATERS
    ]


def pair_figures(evaluation: Evaluation) -> Iterator[Figure]:
    """Yield the matrix of pairs of raters of each set."""
    tables = {t.system: t for t in evaluation.label_tables if t.row_kind == "pair"}
    for each in _rater_tables(evaluation):
        pairs = tables.get(each.system)
        if pairs is not None and pairs.values:
            yield _add_selector(_pairs_figure(each, pairs), each.system, len(evaluation.systems))


def category_figures(evaluation: Evaluation) -> Iterator[Figure]:
    """Yield the counts of categories by rater of each set."""
    for each in _rater_tables(evaluation):
        if len(each.counts) > 1:
            yield _add_selector(_categories_figure(each), each.system, len(evaluation.systems))


def _add_selector(figure: Figure, system: str, n_sets: int) -> Figure:
    """Return the figure of one set of raters, among which the reader selects if there are many."""
    title = figure.title if n_sets < 2 else f"{figure.title}: {shorten_name(system)}"
    choice = selector_label(system, n_sets)
    return replace(figure, title=title, choice=choice, chosen_from=figure.title)


def _pairs_figure(rater_table: LabelTable, pairs: LabelTable) -> Figure:
    """Return the figure of pairs of raters by the first measure."""
    measure, digits = next(iter(pairs.values)), numbers.Rounding(2)
    names = list(unique_labels(rater_table.labels, vega.MAX_LABEL_LENGTH).values())
    value, low, high = (column[measure] for column in (pairs.values, pairs.low, pairs.high))
    columns = (column.tolist() for column in (value, low, high))
    value_texts = [
        digits.value_with_interval(*extremes_text) for extremes_text in zip(*columns, strict=True)
    ]
    index_pairs = list(combinations(range(len(names)), 2))
    cells = [
        _cell(names[i], names[j], float(value[index]), value_texts[index], digits)
        for index, pair in enumerate(index_pairs)
        for i, j in (pair, pair[::-1])
    ]
    defined_indices = np.flatnonzero(np.isfinite(value))
    if len(defined_indices):
        order = defined_indices[np.argsort(value[defined_indices], kind="stable")]
        lowest, highest = index_pairs[order[0]], index_pairs[order[-1]]
        extremes_text = (
            f"Agreement is lowest between {names[lowest[0]]} and {names[lowest[1]]}, highest "
            f"between {names[highest[0]]} and {names[highest[1]]}."
        )
    else:
        extremes_text = "No pair has a value."
    tips = vega.tooltip(("rater", "rater"), ("other", "and"), ("value", shorten_name(measure)))
    return Figure(
        title="Pairs of raters",
        alt_text=f"{shorten_name(measure)} of every pair of {len(names)} raters. {extremes_text}",
        caption=f"{shorten_name(measure)} of every pair of raters; values of 0 or below have the "
        f"lightest color. {extremes_text} In the HTML report, hovering over a cell shows its "
        f"{numbers.format_percent(pairs.level)} CI.",
        spec=cell_heat_map(cells, ("rater", names), ("other", names), tips, ".1f"),
        header=("pair", shorten_name(measure)),
        rows=tuple(
            zip(
                unique_labels(pairs.labels, 2 * vega.MAX_LABEL_LENGTH).values(),
                value_texts,
                strict=True,
            )
        ),
    )


def _cell(
    rater: str, second_rater: str, value: float, value_text: str, digits: numbers.Rounding
) -> Spec:
    is_defined = np.isfinite(value)
    return {
        "rater": rater,
        "other": second_rater,
        "proportion": round(max(value, 0.0), 4) if is_defined else None,
        "count": digits(value) if is_defined else "",
        "value": value_text,
    }


def _categories_figure(each: LabelTable) -> Figure:
    """Return the figure of ratings of each rater by category."""
    names = list(unique_labels(each.labels, vega.MAX_LABEL_LENGTH).values())
    categories = list(unique_labels(list(each.counts), vega.MAX_LABEL_LENGTH).values())
    counts = np.column_stack(list(each.counts.values()))
    proportions = counts / np.maximum(counts.sum(axis=1), 1)[:, None]
    cells: list[Mapping[str, object]] = [
        {
            "rater": names[i],
            "category": categories[k],
            "count": f"{counts[i, k]:,.0f}",
            "proportion": round(float(proportions[i, k]), 4),
            "proportion_text": numbers.format_percent(float(proportions[i, k])),
        }
        for i, k in np.ndindex(counts.shape)
    ]
    tips = vega.tooltip(
        ("rater", "rater"),
        ("category", "category"),
        ("count", "ratings"),
        ("proportion_text", "proportion"),
    )
    return Figure(
        title="Categories by rater",
        alt_text=f"Number of ratings of each of {len(names)} raters in each of {len(categories)} "
        "categories.",
        caption="Number of ratings of each rater by category. Color: proportion of the ratings "
        "of the rater. Raters who agree have similar rows.",
        spec=cell_heat_map(
            [dict(cell) for cell in cells], ("rater", names), ("category", categories), tips
        ),
        header=("rater", *categories),
        rows=tuple(
            (name, *(f"{x:,.0f}" for x in row)) for name, row in zip(names, counts, strict=True)
        ),
    )


register_chart(
    EvaluationChart(name="pairs of raters", title="Pairs of raters", draw=pair_figures),
    EvaluationChart(name="categories by rater", title="Categories by rater", draw=category_figures),
)
