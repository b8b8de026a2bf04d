"""Findings on outputs: identical systems, perfect separation, and duplicated rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from calipers.findings.confusion_cells import ConfusionCells
from calipers.findings.multilabel import MultilabelPredictions
from calipers.findings.rankings import RunStatisticsByName
from calipers.findings.rules import Claim, FindingDraft, Subject, rule
from calipers.inference import paired_tests, proportions
from calipers.lazy_dataclasses import dataclass
from calipers.report.safe_names import join_words, shorten_name
from calipers.statistics import IntArray, ScoreTable, effective_size, effective_size_from_weights
from calipers.statistics.regression import sort_rows

Column = npt.NDArray[Any]

#: Minimum number of distinct scores, errors or judged documents for identical outputs to be
#: reported.
MIN_DISTINCT_VALUES = 20
#: Number of leading rows to compare before comparing whole columns.
_N_LEADING_ROWS = 100
#: Perfect results are reported if the lower limit of the proportion correct exceeds this.
MIN_CORRECT_PROPORTION = 0.98
#: The smallest proportion of duplicated rows that is reported.
MIN_DUPLICATED_PROPORTION = 0.01
#: The largest number of rows that are examined; more are sampled.
MAX_EXAMINED_ROWS = 100_000
#: A column of scores is continuous if at least this proportion of its values is distinct.
MIN_DISTINCT_PROPORTION = 0.5


@dataclass(frozen=True, eq=False)
class RowOutputs:
    """Truth of each row, and the columns of each system: scores, predictions, or both.

    ``errors_by_name`` marks the errors of systems that have predictions only; ``is_clustered`` is
    whether rows come in clusters.
    """

    truth: Column
    columns_by_name: Mapping[str, Sequence[Column]]
    errors_by_name: Mapping[str, npt.NDArray[np.bool_]]
    is_clustered: bool

    def is_distinctive(self, name: str) -> bool:
        """Return whether identical outputs of another system cannot be due to chance."""
        if name in self.errors_by_name:
            return int(self.errors_by_name[name].sum()) >= MIN_DISTINCT_VALUES
        return any(
            len(np.unique(x[:10_000])) >= MIN_DISTINCT_VALUES for x in self.columns_by_name[name]
        )


@rule("identical-systems", "warning", RowOutputs, cost="rows", counts=True)
def identical_columns(subject: Subject, outputs: RowOutputs) -> Iterator[FindingDraft]:
    """Two systems have identical outputs on every row or topic.

    There are at least {MIN_DISTINCT_VALUES} distinct scores, errors, or judged documents below the
    first rank.
    """
    yield from _identical_systems(subject, outputs.columns_by_name, outputs.is_distinctive, "rows")


@rule("identical-systems", "warning", RunStatisticsByName, cost="rows", counts=True)
def identical_runs(subject: Subject, runs: RunStatisticsByName) -> Iterator[FindingDraft]:
    """Two systems have identical outputs on every row or topic.

    There are at least {MIN_DISTINCT_VALUES} distinct scores, errors, or judged documents below the
    first rank.
    """
    rankings = {name: run.rankings for name, run in runs.by_name.items()}
    columns = {name: (r.retrieved, r.offsets, r.rank, r.grade) for name, r in rankings.items()}

    def is_distinctive(name: str) -> bool:
        return int((rankings[name].rank > 1).sum()) >= MIN_DISTINCT_VALUES

    yield from _identical_systems(subject, columns, is_distinctive, "topics")


def _identical_systems(
    subject: Subject,
    columns_by_name: Mapping[str, Sequence[Column]],
    is_distinctive: Callable[[str], bool],
    unit: str,
) -> Iterator[FindingDraft]:
    groups: list[list[str]] = []
    for name, columns in columns_by_name.items():
        for group in groups:
            if _is_equal(columns_by_name[group[0]], columns):
                group.append(name)
                break
        else:
            groups.append([name])
    for group in groups:
        if len(group) > 1 and is_distinctive(group[0]):
            claim = "retrieve the same judged documents at the same ranks"
            claim = "have identical outputs on every row" if unit == "rows" else claim
            yield FindingDraft(
                f"{join_words([shorten_name(name) for name in group])} {claim}. Check whether one "
                "output was passed under two names.",
                {"identical systems": len(group)},
                subject.shown_measures[:1],
                systems=tuple(group),
            )


def _is_equal(first: Sequence[Column], second: Sequence[Column]) -> bool:
    if [x.shape for x in first] != [x.shape for x in second]:
        return False
    heads = (
        np.array_equal(x[:_N_LEADING_ROWS], y[:_N_LEADING_ROWS])
        for x, y in zip(first, second, strict=True)
    )
    return all(heads) and all(map(np.array_equal, first, second))


@rule("perfect-separation", "caution", ScoreTable, cost="scores", counts=True)
def perfect_scores(subject: Subject, table: ScoreTable) -> Iterator[FindingDraft]:
    """All predictions are correct, or every positive row scores above every negative one.

    There are at least {MIN_DISTINCT_VALUES} rows of each of two classes, and the lower limit of the
    exact interval of the proportion correct exceeds {MIN_CORRECT_PROPORTION:g}.
    """
    sizes = table.total_positive, table.total_negative
    squares = float(table.total_positive_squares), float(table.total_negative_squares)
    rows = [effective_size(w, q) for w, q in zip(sizes, squares, strict=True)]
    if min(rows) < MIN_DISTINCT_VALUES:
        return
    first_negative = int((table.negative > 0).argmax())
    if not table.positive[first_negative:].any():
        yield from _perfect_score(subject, sum(rows), "separates the classes without error")


@rule("perfect-separation", "caution", ConfusionCells, cost="sums", counts=True)
def perfect_classification(subject: Subject, cells: ConfusionCells) -> Iterator[FindingDraft]:
    """All predictions are correct, or every positive row scores above every negative one.

    There are at least {MIN_DISTINCT_VALUES} rows of each of two classes, and the lower limit of the
    exact interval of the proportion correct exceeds {MIN_CORRECT_PROPORTION:g}.
    """
    m = cells.matrix
    sizes = [
        effective_size(w, q)
        for w, q in zip(m.truth_margin, m.squared_weight_matrix.truth_margin, strict=True)
    ]
    if (
        m.correct == m.total > 0
        and sum(n >= MIN_DISTINCT_VALUES for n in sizes) >= 2
        and not subject.get(ScoreTable)
    ):
        yield from _perfect_score(
            subject, cells.n_clusters or sum(sizes), "classifies every row correctly"
        )


@rule("perfect-separation", "caution", MultilabelPredictions, cost="rows", counts=True)
def perfect_label_sets(
    subject: Subject, predictions: MultilabelPredictions
) -> Iterator[FindingDraft]:
    """All predictions are correct, or every positive row scores above every negative one.

    There are at least {MIN_DISTINCT_VALUES} rows of each of two classes, and the lower limit of the
    exact interval of the proportion correct exceeds {MIN_CORRECT_PROPORTION:g}.
    """
    rows = predictions.rows
    if rows.is_complete and np.array_equal(predictions.predicted, rows.truth):
        n = effective_size_from_weights(rows.weights)
        varied = sum(
            MIN_DISTINCT_VALUES <= n * proportion <= n - MIN_DISTINCT_VALUES
            for proportion in rows.label_proportions.tolist()
        )
        if varied:
            clusters = None if rows.clusters is None else rows.clusters.n_clusters
            yield from _perfect_score(
                subject, clusters or n, "predicts the labels of every row correctly"
            )


def _perfect_score(subject: Subject, rows: float, claim: str) -> Iterator[FindingDraft]:
    low = proportions.clopper_pearson(1.0, rows, subject.level).low
    if low > MIN_CORRECT_PROPORTION:
        yield FindingDraft(
            f"{subject.title} {claim}. Perfect results are rare; check whether the truth leaked "
            "into the inputs, or the system was trained on these rows.",
            {"rows": rows},
            subject.shown_measures[:1],
        )


@rule("duplicated-rows", "caution", RowOutputs, cost="rows", counts=True)
def duplicated_rows(subject: Subject, outputs: RowOutputs) -> Iterator[Claim]:
    """At least {MIN_DUPLICATED_PROPORTION:.0%} of the rows duplicate another in the truth and in
    all outputs.

    Some of the outputs are continuous, and rows with equal outputs have the same truth
    significantly more often than rows with neighbouring outputs (sign test).
    """  # noqa: D205
    columns = [x for columns in outputs.columns_by_name.values() for x in columns]
    ordered_rows = (
        None
        if outputs.is_clustered
        else next(filter(None, map(_sort_continuous_column, columns)), None)
    )
    if ordered_rows is None or ordered_rows[2].all():
        return
    examined, order, is_first = ordered_rows
    truth = outputs.truth[examined]
    n, indices, edges = len(is_first), np.flatnonzero(~is_first), np.flatnonzero(is_first)
    rows, previous_rows = order[indices], order[indices - 1]
    numbers = np.arange(len(outputs.truth))[examined]
    first, second = numbers[rows], numbers[previous_rows]
    tied = np.logical_and.reduce([_agreement_mask(x[first], x[second]) for x in columns])
    agrees = _agreement_mask(truth[rows], truth[previous_rows])
    # Compare with the row of the next larger score, or of the next smaller one at the end.
    next_edges = np.append(edges, n)[np.searchsorted(edges, indices, "right")]
    neighbors = order[np.where(next_edges < n, next_edges, edges[-1] - 1)]
    neighbor_agrees = _agreement_mask(truth[rows], truth[neighbors])
    first_repeat_mask = tied & is_first[indices - 1]
    repeats = int((tied & agrees).sum())
    if (
        repeats < MIN_DUPLICATED_PROPORTION * n
        or agrees[first_repeat_mask].sum() <= neighbor_agrees[first_repeat_mask].sum()
    ):
        yield Claim(1.0)
        return
    test = paired_tests.sign_test(
        agrees[first_repeat_mask].astype(np.float64) - neighbor_agrees[first_repeat_mask], "greater"
    )
    yield Claim(test.p, partial(_duplicates_message, subject, repeats, n))


def _duplicates_message(subject: Subject, repeats: int, n: int) -> FindingDraft:
    return FindingDraft(
        f"{repeats / n:.1%} of the rows have the same truth and the same outputs as another row, "
        "more often than rows with similar outputs. If they are copies of a case, rather than "
        "cases with equal inputs, intervals are too narrow: remove the copies, or pass their "
        "origin as cluster=.",
        {"duplicated rows": repeats, "examined rows": n, "proportion": repeats / n},
        subject.shown_measures[:1],
    )


def _sort_continuous_column(
    column: Column,
) -> tuple[IntArray | slice, npt.NDArray[np.integer[Any]], npt.NDArray[np.bool_]] | None:
    """Return the rows to examine, their order by a continuous column, and the first of each value.

    None if the column is not continuous.
    """
    if column.dtype.kind != "f":
        return None
    key = column if column.ndim == 1 else column[:, 0]
    examined = _sample_by_value(key) if len(key) > MAX_EXAMINED_ROWS else slice(None)
    key = key[examined]
    order = sort_rows(key)
    ordered = key[order]
    is_first = np.append(np.ones(min(1, len(key)), bool), ordered[1:] != ordered[:-1])
    return (
        (examined, order, is_first)
        if is_first.sum() >= max(1, MIN_DISTINCT_PROPORTION * len(key))
        else None
    )


def _sample_by_value(key: Column) -> IntArray:
    """Return a sample of the rows, chosen by a hash of their values.

    Equal values are in the sample together, also 0.0 and -0.0.
    """
    from calipers import _core

    return _core.sampled_values(np.asarray(key, np.float64), MAX_EXAMINED_ROWS / len(key))


def _agreement_mask(first: Column, second: Column) -> npt.NDArray[np.bool_]:
    """Return whether both columns agree on each row."""
    same = first == second
    return np.asarray(same if same.ndim == 1 else same.all(axis=1))
