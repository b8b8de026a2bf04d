"""An evaluation as a Markdown page, for pull requests, issues and job summaries."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from calipers.report import numbers
from calipers.report.confusion import MOST_CLASSES, class_table
from calipers.report.labels import MOST_LABELS, grid
from calipers.report.names import short, visible
from calipers.report.rows import (
    MARGIN_HEAD,
    OVERALL_HEAD,
    arrow,
    call_of,
    definitions_of,
    difference_rows,
    estimate_rows,
    heading,
    margin_cells,
    overall_rows,
    provenance_rows,
    unit_label,
)
from calipers.report.slices import MOST_IN_TEXT, left_out_text, slice_groups
from calipers.report.slices import cells as slice_cells
from calipers.report.verdict import adjustment_text, headlines, p_heading
from calipers.results import (
    ORIENTATIONS,
    AnyConfusion,
    Comparison,
    Evaluation,
    Finding,
    LabelTable,
    Slices,
)

_SPECIAL = re.compile(r"([\\`*_{}\[\]()#|!~$]|:(?=//))")


def markdown(evaluation: Evaluation, orientation: str = ORIENTATIONS[0]) -> str:
    """Verdict, tables, notes and provenance as GitHub-flavoured Markdown."""
    return "\n".join(_lines(evaluation, orientation))


def _lines(evaluation: Evaluation, orientation: str) -> Iterator[str]:
    yield from (f"## {escape(heading(evaluation), punctuation=False)}", "")
    yield from _bullets(headlines(evaluation, _name))
    if evaluation.findings:
        yield from ("### Findings", "")
        yield from (f"- {_finding(found)}" for found in evaluation.findings)
        yield ""
    yield from _bullets([f"**Note:** {escape(visible(note))}" for note in evaluation.notes])
    if evaluation.estimates:
        yield from (*_estimates(evaluation), "")
    if evaluation.comparison is not None and len(evaluation.comparison):
        yield from (*differences(evaluation.comparison), "")
        yield from together(evaluation.comparison)
    yield from _confusions(evaluation.confusions, orientation)
    yield from _labels(evaluation.label_tables)
    if evaluation.slices is not None:
        yield from _slices(evaluation.slices)
    if evaluation.provenance:
        yield from ("<details><summary>Provenance</summary>", "")
        rows = provenance_rows(evaluation.provenance)
        yield from _bullets([f"{escape(key)}: {escape(value)}" for key, value in rows])
        yield from ("</details>", "")


def escape(text: str, *, punctuation: bool = True) -> str:
    """``text`` that Markdown and HTML take literally.

    Without ``punctuation``, for sentences of ours, brackets and colons stay readable.
    """
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    if not punctuation:
        return re.sub(r"([\\`*_|])", r"\\\1", text)
    text = _SPECIAL.sub(r"\\\1", text)
    # What would start a list, a rule or a mention.
    text = re.sub(r"^(\d+)(?=[.)](\s|$))", r"\1\\", text)
    return re.sub(r"^[-+=@]", lambda found: f"&#{ord(found[0])};", text)


def _finding(found: Finding) -> str:
    """The sentence; how grave it is stands before it."""
    call = call_of(found).strip()
    return (f"**{call}** " if call else "") + escape(visible(found.sentence))


def _name(text: str) -> str:
    return escape(short(text))


def _bullets(lines: Sequence[str]) -> Iterator[str]:
    if not lines:
        return
    yield from lines if len(lines) == 1 else (f"- {line}" for line in lines)
    yield ""


def _estimates(evaluation: Evaluation) -> Iterator[str]:
    rows = estimate_rows(evaluation)
    definitions, unit = definitions_of(evaluation), escape(unit_label(evaluation))
    cells = {
        "measure": [
            f"{escape(r.measure)} {arrow(definitions.get(r.estimate.measure))}".rstrip()
            for r in rows
        ],
        "system": [escape(r.system) for r in rows],
        "value": [r.value for r in rows],
        f"{numbers.percent(evaluation.level)} interval": [r.interval for r in rows],
        "judgments": [r.judgments for r in rows],
        "method": [escape(r.method) for r in rows],
        unit: [r.n for r in rows],
        "default": [r.default for r in rows],
        "remarks": [escape(r.remarks) for r in rows],
    }
    if len(evaluation.systems) == 1:
        del cells["system"]
    return _table(cells, right=("value", unit, "default"))


def differences(comparison: Comparison) -> Iterator[str]:
    """The table of differences."""
    rows = difference_rows(comparison)
    p = escape(p_heading(comparison), punctuation=False)
    cells = {
        "measure": [escape(r.measure) for r in rows],
        "systems": [escape(r.systems) for r in rows],
        "difference": [r.value for r in rows],
        f"{numbers.percent(comparison.level)} interval": [r.interval for r in rows],
        p: [r.p.replace("<", "&lt;") for r in rows],
        "test": [escape(r.test) for r in rows],
        "effect": [r.effect for r in rows],
        "wins/ties/losses": [r.counts for r in rows],
        "detectable": [r.detectable for r in rows],
        **{
            name: [cell.replace("<", "&lt;") for cell in column]
            for name, column in margin_cells(rows).items()
        },
        "verdict": [r.outcome.value for r in rows],
        "remarks": [escape(r.remarks) for r in rows],
    }
    yield from _table(cells, right=("difference", p, "effect", "detectable", *MARGIN_HEAD))
    if text := adjustment_text(comparison):
        yield from ("", escape(text, punctuation=False))


def together(comparison: Comparison) -> Iterator[str]:
    """The table of tests of all systems together."""
    if not comparison.overall:
        return
    yield from ("### All systems together", "")
    columns = zip(*overall_rows(comparison), strict=True)
    cells = {
        name: [escape(cell, punctuation=False) for cell in column]
        for name, column in zip(OVERALL_HEAD, columns, strict=True)
    }
    yield from (*_table(cells, right=OVERALL_HEAD[2:-1]), "")


def _confusions(confusions: Sequence[AnyConfusion], orientation: str) -> Iterator[str]:
    """The matrix of each system, and the table of its classes where there are more than two."""
    for own in confusions:
        if len(own.labels) > MOST_CLASSES:
            continue
        of = f" of {_name(own.system)}" if len(confusions) > 1 else ""
        yield from (f"### Confusion matrix{of}", "", own.to_markdown(orientation), "")
        if len(own.labels) > 2:
            head, rows = class_table(own)
            yield _row([escape(cell) for cell in head])
            yield _row(["---", *["---:"] * (len(head) - 1)])
            yield from (_row([escape(row[0]), *row[1:]]) for row in rows)
            yield ""


def _labels(tables: Sequence[LabelTable]) -> Iterator[str]:
    """The table of labels of each system."""
    for own in tables:
        if len(own.labels) > MOST_LABELS:
            continue
        head, rows = grid(own)
        yield from (f"### Labels{f' of {_name(own.system)}' if len(tables) > 1 else ''}", "")
        yield _row([escape(cell) for cell in head])
        yield _row(["---", *["---:"] * (len(head) - 1)])
        yield from (_row([escape(row[0]), *row[1:]]) for row in rows)
        yield ""


def _slices(slices: Slices) -> Iterator[str]:
    groups, left_out = slice_groups(slices, MOST_IN_TEXT)
    for column in slices.columns:
        yield from (f"### Slices by {escape(short(column))}", "")
        shown, numeric = slice_cells([g for g in groups if g.column == short(column)], slices)
        numbers_only = {name: [escape(cell) for cell in cells] for name, cells in shown.items()}
        yield from (*_table(numbers_only, right=numeric), "")
    if left_out:
        yield from (left_out_text(left_out), "")


def _table(cells: Mapping[str, Sequence[str]], right: Sequence[str]) -> Iterator[str]:
    shown = {name: column for name, column in cells.items() if any(column)}
    yield _row(list(shown))
    yield _row(["---:" if name in right else "---" for name in shown])
    for row in zip(*shown.values(), strict=True):
        yield _row(row)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
