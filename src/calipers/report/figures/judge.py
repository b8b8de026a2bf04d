"""Charts of a judge: its mean error on each system, and what its errors depend on."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from calipers.report import judge
from calipers.report.figures import vega
from calipers.report.figures.differences import (
    MAX_CHART_ROWS,
    caption_around_zero,
    interval_datum,
    panel_around_zero,
    spec_around_zero,
)
from calipers.report.figures.figure import Figure
from calipers.report.figures.registry import EvaluationChart, register_chart
from calipers.report.figures.vega import Spec
from calipers.report.numbers import format_p_digits
from calipers.report.safe_names import shorten_name, unique_labels
from calipers.results import Evaluation, JudgeBias


def error_figures(evaluation: Evaluation) -> Iterator[Figure]:
    """Yield the figure of the mean error on each system."""
    errors, _ = judge.split_biases(evaluation)
    names = unique_labels((bias.contrast for bias in errors), vega.MAX_LABEL_LENGTH)
    yield from _figure(
        errors,
        [names[bias.contrast] for bias in errors],
        "Mean error of the judge",
        "score of the judge minus human label",
        "errors",
    )


def bias_figures(evaluation: Evaluation) -> Iterator[Figure]:
    """Yield the figure of what the errors depend on."""
    _, biases = judge.split_biases(evaluation)
    labels = [f"{bias.kind}: {shorten_name(bias.contrast)}" for bias in biases]
    names = unique_labels(labels, 2 * vega.MAX_LABEL_LENGTH)
    yield from _figure(
        biases,
        [names[label] for label in labels],
        "Biases of the judge",
        "difference of the mean errors",
        "biases",
    )


def _figure(
    biases: Sequence[JudgeBias], rows: Sequence[str], title: str, axis: str, noun: str
) -> Iterator[Figure]:
    """Yield the figure of those that have a value, if there are any and not too many."""
    row_by_index = {k: rows[k] for k, bias in enumerate(biases) if not math.isnan(bias.value)}
    if not 0 < len(row_by_index) <= MAX_CHART_ROWS:
        return
    defined = [biases[k] for k in row_by_index]
    n_significant = sum(bias.is_significant for bias in defined)
    tips = vega.tooltip(("row", noun), ("text", "value"), ("p", "p (Holm)"), ("labels", "labels"))
    data = [_datum(biases[k], row) for k, row in row_by_index.items()]
    columns = judge.columns(defined)
    yield Figure(
        title=title,
        alt_text=f"{title}: {n_significant} of {len(defined)} {noun} are significant.",
        caption=caption_around_zero(noun, defined[0].level),
        spec=spec_around_zero([panel_around_zero(data, axis, tips)], row_by_index.values()),
        header=tuple(column.name for column in columns),
        rows=tuple(zip(*(column.cells for column in columns), strict=True)),
    )


def _datum(bias: JudgeBias, row: str) -> Spec:
    return {
        "row": row,
        **interval_datum(bias.value, bias.low, bias.high),
        "p": "" if math.isnan(bias.p_adjusted) else format_p_digits(bias.p_adjusted),
        "labels": f"{bias.n:,}",
        "told": bias.is_significant,
    }


register_chart(
    EvaluationChart(name="judge errors", title="Mean error of the judge", draw=error_figures),
    EvaluationChart(name="judge biases", title="Biases of the judge", draw=bias_figures),
)
