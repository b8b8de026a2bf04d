"""Findings on classes: low recall, and confusion with one other class."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from calipers.findings.confusion_cells import (
    ClassCellSelections,
    MulticlassCells,
    NumberAtLevel,
    above_check,
    below_check,
    single_cell,
    subtract,
)
from calipers.findings.formatting import IntervalNumber
from calipers.findings.rules import Claim, FindingDraft, Subject, p_from_intervals, rule
from calipers.report.numbers import format_number
from calipers.statistics import ConfusionMatrix

#: The smallest proportion of a class's rows predicted as one other class that is reported.
MIN_CONFUSED_PROPORTION = 0.05


@rule("low-recall-class", "caution", MulticlassCells, cost="sums")
def low_recall_class(subject: Subject, cells: MulticlassCells) -> Iterator[Claim]:
    """Recall on a class minus recall on all other rows is below 0, by the entire interval."""
    for code in range(cells.matrix.n_classes):
        counts = ClassCellSelections(code)
        recall, other_recall = (
            cells.proportion(hit, rows)
            for hit, rows in ((counts.hit, counts.true), (counts.correct_others, counts.others))
        )
        make_message = partial(_low_recall_message, subject, cells, code, recall, other_recall)
        yield Claim(
            p_from_intervals(below_check(subtract(recall, other_recall), 0.0), subject.level),
            make_message,
        )


def _low_recall_message(
    subject: Subject,
    cells: MulticlassCells,
    code: int,
    class_recall: NumberAtLevel,
    complement_recall: NumberAtLevel,
) -> FindingDraft:
    m, label = cells.matrix, cells.matrix.labels[code]
    recall, other_recall = class_recall(subject.level), complement_recall(subject.level)
    (tn, fp), (_, tp) = m.one_vs_rest().counts[code].tolist()
    accuracy = (tp + tn) / float(m.total)
    other_class_proportion = tn / (tp + tn)
    precision = {"precision": tp / (fp + tp)} if fp + tp else {}
    precision_text = "".join(f" (precision {format_number(value)})" for value in precision.values())
    return FindingDraft(
        f"{subject.title} has low recall on {cells.label(code)}: {recall}{precision_text}, against "
        f"{other_recall} on all other rows. Of the correct one-vs-rest decisions (accuracy "
        f"{format_number(accuracy)}), {format_number(other_class_proportion)} are on rows of "
        "other classes.",
        {
            "recall": recall,
            "recall on all other rows": other_recall,
            "difference": recall - other_recall,
            "one-vs-rest accuracy": accuracy,
            "proportion of correct decisions on other classes": other_class_proportion,
            **precision,
        },
        subject.shown_among(f"recall[{label}]", f"precision[{label}]"),
        aspect=label,
    )


@rule("confused-class", "caution", MulticlassCells, cost="sums")
def confused_class(subject: Subject, cells: MulticlassCells) -> Iterator[Claim]:
    """One other class is predicted for most errors on a class, and for many of its rows.

    It is predicted for more than half of the errors and for more than {MIN_CONFUSED_PROPORTION:.0%}
    of the rows, both by the entire interval (exact, corrected for two candidate classes).
    """
    m = cells.matrix
    largest = {
        code: (predicted_code, weight) for code, predicted_code, weight in _largest_confusions(m)
    }
    for code in range(m.n_classes):
        predicted_code, weight = largest.get(code, (code, 0.0))
        if not weight > max(
            (m.truth_margin[code] - m.hits[code]) / 2,
            m.truth_margin[code] * MIN_CONFUSED_PROPORTION,
        ):
            yield Claim(1.0)
            continue

        error_proportion, row_proportion = (
            cells.proportion(single_cell(code, predicted_code), denominator, exact=True)
            for denominator in (ClassCellSelections(code).missed, ClassCellSelections(code).true)
        )

        # At most two classes can be predicted for half of the errors on a class.
        p = max(
            p_from_intervals(above_check(error_proportion, 0.5), subject.level),
            p_from_intervals(above_check(row_proportion, MIN_CONFUSED_PROPORTION), subject.level),
        )
        yield Claim(
            min(1.0, 2 * p),
            partial(
                _confused_class_message,
                subject,
                cells,
                code,
                predicted_code,
                error_proportion,
                row_proportion,
            ),
        )


def _confused_class_message(
    subject: Subject,
    cells: MulticlassCells,
    code: int,
    predicted_code: int,
    of_errors: NumberAtLevel,
    of_rows: NumberAtLevel,
) -> FindingDraft:
    m, label, confused = cells.matrix, cells.label(code), cells.label(predicted_code)
    values: dict[str, float | IntervalNumber] = {
        "proportion of the rows": of_rows(subject.level),
        "proportion of the errors": of_errors(subject.level),
    }
    converse_note = ""
    if m.truth_margin[predicted_code]:
        converse = float(m.cell(predicted_code, code)) / float(m.truth_margin[predicted_code])
        values["converse proportion"] = converse
        converse_note = (
            f" Conversely, it predicts {label} for {format_number(converse)} of the "
            f"{confused} rows."
        )
    return FindingDraft(
        f"{subject.title} predicts {confused} for {values['proportion of the rows']} of the "
        f"{label} rows, which is {values['proportion of the errors']} of the errors on "
        f"{label}.{converse_note}",
        values,
        subject.shown_among(f"recall[{m.labels[code]}]", f"precision[{m.labels[predicted_code]}]"),
        aspect=f"{m.labels[code]}, {m.labels[predicted_code]}",
    )


def _largest_confusions(matrix: ConfusionMatrix) -> Iterator[tuple[int, int, float]]:
    """Yield the most frequent wrong prediction of each class and its weight.

    Classes without errors are omitted.
    """
    truth, predicted, weight = matrix.nonempty_cells()
    error_mask = truth != predicted
    truth, predicted, weight = truth[error_mask], predicted[error_mask], weight[error_mask]
    order = np.lexsort((predicted, -weight, truth))
    _, first = np.unique(truth[order], return_index=True)
    for index in order[first].tolist():
        yield int(truth[index]), int(predicted[index]), float(weight[index])
