"""Confusion matrices and their class order, and tables of classes, labels, clusters or raters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from calipers.report import numbers
from calipers.report.blocks import Table
from calipers.report.safe_names import shorten_name, unique_labels
from calipers.report.text_columns import align_table
from calipers.results import ORIENTATIONS
from calipers.results.estimate import DEFAULT_SYSTEM_NAME, RATER_SET_NAME
from calipers.results.labels import SIZE_HEADINGS

if TYPE_CHECKING:
    from calipers.results import ConfusionBase, Evaluation, FloatArray, LabelTable

#: The largest number of classes with a table.
MAX_TABLE_CLASSES = 20
#: Largest number of classes with a matrix; with more, non-empty cells are listed.
MAX_MATRIX_CLASSES = 100
#: The largest length of a name.
MAX_LABEL_LENGTH = 24
#: Names of the margins of a confusion matrix: of the truth, and of the human labels of a judge.
TRUTH_SIDES, JUDGE_SIDES = ("truth", "predicted"), ("human", "judge")


def matrix_sides(result: Evaluation) -> tuple[str, str]:
    """Return the names of the margins of the confusion matrices of an evaluation."""
    return JUDGE_SIDES if result.judge_biases else TRUTH_SIDES


def block_order(counts: FloatArray) -> tuple[int, ...]:
    """Return the order of classes that gathers confusions along the diagonal.

    The similarity of two classes is the mean of the proportions of either that are predicted as the
    other. Classes are clustered by it (average linkage), and the leaves of the tree are ordered to
    maximize the similarity of neighbors. Ties preserve the given order; without confusions the
    order is unchanged.

    References
    ----------
    Bar-Joseph, Gifford and Jaakkola (2001). Fast optimal leaf ordering for hierarchical clustering.
    Bioinformatics 17.

    Examples
    --------
    >>> block_order(np.array([[5, 0, 4, 0], [0, 5, 0, 4], [4, 0, 5, 0], [0, 4, 0, 5.0]]))
    (0, 2, 3, 1)
    """
    k = len(counts)
    truth = counts.sum(axis=1, keepdims=True)
    proportions = np.divide(counts, truth, out=np.zeros_like(counts), where=truth > 0)
    similarity = (proportions + proportions.T) / 2
    np.fill_diagonal(similarity, 0.0)
    if k < 3 or not similarity.any():
        return tuple(range(k))
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    indices = np.arange(k)
    # A tiny distance per step keeps classes that are equally similar in the given order.
    distances = (
        1 - similarity / similarity.max() + 1e-6 * np.abs(indices[:, None] - indices[None, :]) / k
    )
    np.fill_diagonal(distances, 0.0)
    tree = linkage(squareform(distances, checks=False), "average", optimal_ordering=k <= 200)
    order = [int(i) for i in leaves_list(tree)]
    return tuple(order if order[0] < order[-1] else order[::-1])


def common_order(confusions: Sequence[ConfusionBase]) -> tuple[int, ...] | None:
    """Return a common class order of all matrices; None with fewer than three classes."""
    if not confusions or len(confusions[0].labels) < 3:
        return None
    return block_order(np.sum([c.counts for c in confusions], axis=0))


def format_cells(values: FloatArray, *, is_proportion: bool) -> list[list[str]]:
    """Format cells: counts in full, weights and proportions rounded."""
    digits = numbers.Rounding(3) if is_proportion else numbers.rounding_of_counts(values)
    return [["" if np.isnan(x) else digits(float(x)) for x in row] for row in values]


def matrix_table(
    confusion: ConfusionBase,
    orientation: str = ORIENTATIONS[0],
    normalize: str | None = None,
    sides: tuple[str, str] = TRUTH_SIDES,
) -> tuple[list[str], list[list[str]]]:
    """Return the heading and the rows of a confusion matrix; a row begins with its class.

    With many classes the rows are the non-empty cells. ``sides`` are the names of its margins.
    """
    names = list(unique_labels(confusion.labels, MAX_LABEL_LENGTH).values())
    if len(names) > MAX_MATRIX_CLASSES:
        return _list_cells(confusion, names, orientation, normalize)
    cells = format_cells(
        confusion.table(orientation, normalize), is_proportion=normalize is not None
    )
    rows = [[name, *row] for name, row in zip(names, cells, strict=True)]
    ordered_sides = sides[:: 1 if orientation == ORIENTATIONS[0] else -1]
    return [" \\ ".join(ordered_sides), *names], rows


def _list_cells(
    confusion: ConfusionBase, names: Sequence[str], orientation: str, normalize: str | None
) -> tuple[list[str], list[list[str]]]:
    truth, predicted, cells = confusion.occupied()
    if normalize is not None:
        truth_totals, predicted_totals = confusion.margins()
        total = {
            "truth": truth_totals[truth],
            "prediction": predicted_totals[predicted],
            "all": cells.sum(),
        }
        cells = cells / total[normalize]
    text = (row[0] for row in format_cells(cells[:, None], is_proportion=normalize is not None))
    rows = [
        [names[true_index], names[predicted_index], cell]
        for true_index, predicted_index, cell in zip(
            truth.tolist(), predicted.tolist(), text, strict=True
        )
    ]
    head = ["truth", "predicted", normalize or "count"]
    if orientation == "truth-rows":
        return head, rows
    index_by_name = {name: index for index, name in enumerate(names)}
    rows.sort(key=lambda row: index_by_name[row[1]])
    return [head[1], head[0], head[2]], [[row[1], row[0], row[2]] for row in rows]


def matrix_text(
    confusion: ConfusionBase,
    orientation: str = ORIENTATIONS[0],
    normalize: str | None = None,
    width: int | None = None,
) -> str:
    """Return the matrix as plain text, not wider than ``width`` if possible."""
    head, rows = matrix_table(confusion, orientation, normalize)
    return align_table(head, rows, width)


def matrix_block(
    confusion: ConfusionBase,
    orientation: str = ORIENTATIONS[0],
    normalize: str | None = None,
    sides: tuple[str, str] = TRUTH_SIDES,
) -> Table:
    """Return the matrix as a block of a document."""
    return replace(
        Table.from_rows(*matrix_table(confusion, orientation, normalize, sides)), bold_names=True
    )


def class_table(confusion: ConfusionBase) -> tuple[list[str], list[list[str]]]:
    """Return the heading and the rows of the table of classes."""
    rows = confusion.class_rows()
    names = list(unique_labels(confusion.labels, MAX_LABEL_LENGTH).values())
    sizes = format_cells(
        np.array([[row["truth"], row["predicted"]] for row in rows], np.float64),
        is_proportion=False,
    )
    digits = numbers.Rounding(3)
    values = [
        ["" if np.isnan(v[k]) else digits(float(v[k])) for v in confusion.per_class.values()]
        for k in range(len(rows))
    ]
    head = ["class", "truth", "predicted", *map(shorten_name, confusion.per_class)]
    return head, [[n, *s, *v] for n, s, v in zip(names, sizes, values, strict=True)]


def largest_confusions(
    confusion: ConfusionBase, max_cells: int = 10
) -> list[tuple[str, str, float]]:
    """Return the largest off-diagonal cells: true class, predicted class, count."""
    truth, predicted, count = confusion.occupied()
    off_diagonal = np.flatnonzero(truth != predicted)
    best = off_diagonal[np.argsort(-count[off_diagonal], kind="stable")[:max_cells]]
    return [
        (confusion.labels[truth[index]], confusion.labels[predicted[index]], float(count[index]))
        for index in best.tolist()
    ]


def matrix_summary(confusion: ConfusionBase, sides: tuple[str, str] = TRUTH_SIDES) -> str:
    """Return a sentence on the matrix, whose margins are ``sides``."""
    truth, predicted, count = confusion.occupied()
    total, n_correct = float(count.sum()), float(count[truth == predicted].sum())
    text = (
        f"{numbers.format_number(n_correct)} of {numbers.format_number(total)} are on the diagonal"
    )
    for *names, largest_count in largest_confusions(confusion, 1):
        true_label, predicted_label = unique_labels(names).values()
        text_count = numbers.format_number(largest_count)
        error = f"predicts {predicted_label} for {true_label}"
        if sides == JUDGE_SIDES:
            error = f"of the judge is {predicted_label} in place of {true_label}"
        text += f"; the most frequent error {error} ({text_count})"
    return f"{text}."


# --- Tables of classes, labels, clusters or raters ------------------------------------------------


#: The largest number of labels with a table in a text.
MAX_TABLE_LABELS = 50


def label_grid(table: LabelTable) -> tuple[list[str], list[list[str]]]:
    """Return the heading and the rows of a table of labels; a row begins with its label."""
    names = list(unique_labels(table.labels, MAX_LABEL_LENGTH).values())
    counted = (table.truth, *table.counts.values())
    columns = [
        names,
        *(list(map(numbers.rounding_of_counts(column), column.tolist())) for column in counted),
    ]
    digits = numbers.Rounding(2)
    for name, values in table.values.items():
        low, high = table.low[name], table.high[name]
        columns.append(
            [
                "" if np.isnan(v) else digits.value_with_interval(float(v), float(a), float(b))
                for v, a, b in zip(values, low, high, strict=True)
            ]
        )
    head = [
        table.row_kind,
        SIZE_HEADINGS[table.row_kind],
        *map(shorten_name, (*table.count_headings, *table.values)),
    ]
    return head, [list(row) for row in zip(*columns, strict=True)]


def label_text(table: LabelTable, width: int | None = None) -> str:
    """Return a table of labels as plain text, not wider than ``width`` if possible."""
    head, rows = label_grid(table)
    return align_table(head, rows, width)


def label_caption(table: LabelTable) -> str:
    """Return the caption of a table of labels."""
    labels = numbers.format_count(len(table.labels), "labels")
    sentences = [
        {
            "label": f"{labels}; rows: number of rows with the label.",
            "class": f"{numbers.format_count(len(table.labels), 'classes')}, each against all "
            "others; rows: number of rows of the class. PPV is the precision.",
            "cluster": "Points: number in the cluster, then the number of each class; measures: "
            "means over the points of the cluster.",
            "rater": "Number of ratings of each rater, in total and by category; and the value "
            "without this rater.",
            "pair": "Items: number of items that both raters rated.",
        }[table.row_kind]
    ]
    if any((low == low).any() for low in table.low.values()):
        sentences.append(
            f"{numbers.format_percent(table.level)} CIs hold for each {table.row_kind} separately "
            f"and are not adjusted for the number of {row_kind_plural(table)}."
        )
    return " ".join(sentences)


def row_kind_plural(table: LabelTable) -> str:
    """Return the plural of what the rows of the table are."""
    return "classes" if table.row_kind == "class" else f"{table.row_kind}s"


def label_titles(tables: Sequence[LabelTable]) -> list[str]:
    """Return the titles of the tables: the system, and the kind if there are several kinds."""
    title_by_row_kind = {table.row_kind: row_kind_plural(table).capitalize() for table in tables}
    titles = []
    for table in tables:
        system = (
            ""
            if table.system in (DEFAULT_SYSTEM_NAME, RATER_SET_NAME)
            else shorten_name(table.system)
        )
        kind = (
            title_by_row_kind[table.row_kind] + (" of" if system else "")
            if len(title_by_row_kind) > 1
            else ""
        )
        titles.append(
            " ".join(filter(None, (kind, system if kind else shorten_name(table.system))))
        )
    return titles
