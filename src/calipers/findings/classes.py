"""Classes that are recognised less often than others, or taken for another."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from calipers.findings.cells import ManyCells, OfClass, corrected
from calipers.findings.rules import Said, Subject, rule
from calipers.findings.words import Valued
from calipers.report.numbers import number
from calipers.statistics import ConfusionMatrix, FloatArray

#: The least share of a class's rows that have to go one wrong way for it to be worth saying.
CONFUSED = 0.05


@rule("weak-class", "caution", ManyCells)
def weak_class(s: Subject, cells: ManyCells) -> Iterator[Said]:
    """The interval of a class's recall minus that of all other rows lies below 0 (corrected for the
    number of classes)."""
    m = cells.matrix
    each, level = m.one_vs_rest(), corrected(s.level, m.classes)
    for code, label in enumerate(m.labels):
        of = OfClass(code)
        recall = cells.share(of.hit, of.true, level)
        rest = cells.share(of.right_elsewhere, of.others, level)
        gap = recall - rest
        if not gap.high < 0:
            continue
        (dismissed, wrong), (_, hits) = each.counts[code].tolist()
        accuracy = (hits + dismissed) / float(m.total)
        owed = dismissed / (hits + dismissed)
        precision = {"precision": hits / (wrong + hits)} if wrong + hits else {}
        also = "".join(f" and {name} {number(value)}" for name, value in precision.items())
        yield Said(
            f"{s.who} struggles with {cells.label(code)}: recall {recall}{also}, where the recall "
            f"of all other rows is {rest}. That its accuracy against the rest is "
            f"{number(accuracy)} is owed to the rows of other classes, {number(owed)} of the right "
            "answers.",
            {
                "recall": recall,
                "recall of the rest": rest,
                "difference": gap,
                "accuracy against the rest": accuracy,
                "share of its right answers that are the rest": owed,
                **precision,
            },
            s.named(f"recall[{label}]", f"precision[{label}]"),
            level,
        )


@rule("confused-class", "caution", ManyCells)
def confused_class(s: Subject, cells: ManyCells) -> Iterator[Said]:
    """Of the errors on a class more than half are one other class, and of its rows more than
    {CONFUSED:g}, both by the whole interval (exact, corrected for twice the number of classes)."""
    # Of the classes that a class is taken for, two at most have half of the errors.
    m, level = cells.matrix, corrected(s.level, 2 * cells.matrix.classes)
    for code, other, weight in _largest_confusions(m):
        if not weight > max((m.truth[code] - m.hits[code]) / 2, m.truth[code] * CONFUSED):
            continue

        def there(m: ConfusionMatrix, at: tuple[int, int] = (code, other)) -> FloatArray:
            return m.cell(*at)

        of_errors = cells.share(there, OfClass(code).missed, level, exact=True)
        of_rows = cells.share(there, OfClass(code).true, level, exact=True)
        if not (of_errors.low > 0.5 and of_rows.low > CONFUSED):
            continue
        values: dict[str, float | Valued] = {
            "share of the rows": of_rows,
            "share of the errors": of_errors,
        }
        also = ""
        if m.truth[other]:
            back = float(m.cell(other, code)) / float(m.truth[other])
            values["the other way round"] = back
            also = f" The other way round it is {number(back)} of the rows."
        yield Said(
            f"{s.who} takes {cells.label(code)} for {cells.label(other)}: {of_rows} of its rows, "
            f"which is {of_errors} of the errors on it.{also}",
            values,
            s.named(f"recall[{m.labels[code]}]", f"precision[{m.labels[other]}]"),
            level,
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
