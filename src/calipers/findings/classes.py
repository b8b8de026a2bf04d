"""Classes that are recognised less often than others, or taken for another."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from calipers.findings.confusion_cells import (
    AtLevel,
    ClassCellCounts,
    MulticlassCells,
    above,
    below,
    in_cell,
    minus,
)
from calipers.findings.formatting import IntervalNumber
from calipers.findings.rules import Claim, FindingDraft, Subject, p_of_level, rule
from calipers.report.numbers import format_number
from calipers.statistics import ConfusionMatrix

#: The least share of a class's rows that have to go one wrong way for it to be worth saying.
CONFUSED = 0.05


@rule("weak-class", "caution", MulticlassCells, cost="sums")
def low_recall_class(s: Subject, cells: MulticlassCells) -> Iterator[Claim]:
    """The interval of a class's recall minus that of all other rows lies below 0."""
    for code in range(cells.matrix.classes):
        of = ClassCellCounts(code)
        recall, rest = (
            cells.share(hit, rows)
            for hit, rows in ((of.hit, of.true), (of.right_elsewhere, of.others))
        )
        says = partial(_weak_class, s, cells, code, recall, rest)
        yield Claim(p_of_level(below(minus(recall, rest), 0.0), s.level), says)


def _weak_class(
    s: Subject, cells: MulticlassCells, code: int, of: AtLevel, of_rest: AtLevel
) -> FindingDraft:
    m, label = cells.matrix, cells.matrix.labels[code]
    recall, rest = of(s.level), of_rest(s.level)
    (dismissed, wrong), (_, hits) = m.one_vs_rest().counts[code].tolist()
    accuracy = (hits + dismissed) / float(m.total)
    owed = dismissed / (hits + dismissed)
    precision = {"precision": hits / (wrong + hits)} if wrong + hits else {}
    also = "".join(f" and {name} {format_number(value)}" for name, value in precision.items())
    return FindingDraft(
        f"{s.who} struggles with {cells.label(code)}: recall {recall}{also}, where the recall "
        f"of all other rows is {rest}. That its accuracy against the rest is "
        f"{format_number(accuracy)} is owed to the rows of other classes, {format_number(owed)} of "
        "the right "
        "answers.",
        {
            "recall": recall,
            "recall of the rest": rest,
            "difference": recall - rest,
            "accuracy against the rest": accuracy,
            "share of its right answers that are the rest": owed,
            **precision,
        },
        s.named(f"recall[{label}]", f"precision[{label}]"),
        about=label,
    )


@rule("confused-class", "caution", MulticlassCells, cost="sums")
def confused_class(s: Subject, cells: MulticlassCells) -> Iterator[Claim]:
    """Of the errors on a class more than half are one other class, and of its rows more than
    {CONFUSED:g}, both by the whole interval (exact, corrected for there being two such classes)."""
    m = cells.matrix
    largest = {code: (other, weight) for code, other, weight in _largest_confusions(m)}
    for code in range(m.classes):
        other, weight = largest.get(code, (code, 0.0))
        if not weight > max((m.truth[code] - m.hits[code]) / 2, m.truth[code] * CONFUSED):
            yield Claim(1.0)
            continue

        of_errors, of_rows = (
            cells.share(in_cell(code, other), part, exact=True)
            for part in (ClassCellCounts(code).missed, ClassCellCounts(code).true)
        )

        # Of the classes that a class is taken for, two at most have half of the errors.
        p = max(
            p_of_level(above(of_errors, 0.5), s.level),
            p_of_level(above(of_rows, CONFUSED), s.level),
        )
        yield Claim(
            min(1.0, 2 * p), partial(_confused_class, s, cells, code, other, of_errors, of_rows)
        )


def _confused_class(
    s: Subject, cells: MulticlassCells, code: int, other: int, of_errors: AtLevel, of_rows: AtLevel
) -> FindingDraft:
    m = cells.matrix
    values: dict[str, float | IntervalNumber] = {
        "share of the rows": of_rows(s.level),
        "share of the errors": of_errors(s.level),
    }
    also = ""
    if m.truth[other]:
        back = float(m.cell(other, code)) / float(m.truth[other])
        values["the other way round"] = back
        also = f" The other way round it is {format_number(back)} of the rows."
    return FindingDraft(
        f"{s.who} takes {cells.label(code)} for {cells.label(other)}: "
        f"{values['share of the rows']} of its rows, which is {values['share of the errors']} of "
        f"the errors on it.{also}",
        values,
        s.named(f"recall[{m.labels[code]}]", f"precision[{m.labels[other]}]"),
        about=f"{m.labels[code]}, {m.labels[other]}",
    )


def _largest_confusions(matrix: ConfusionMatrix) -> Iterator[tuple[int, int, float]]:
    """What the rows of each class are taken for most often, and how often; classes without errors
    are left out."""
    truth, predicted, weight = matrix.occupied()
    beside = truth != predicted
    truth, predicted, weight = truth[beside], predicted[beside], weight[beside]
    order = np.lexsort((predicted, -weight, truth))
    _, first = np.unique(truth[order], return_index=True)
    for at in order[first].tolist():
        yield int(truth[at]), int(predicted[at]), float(weight[at])
