"""Findings on multilabel predictions: absent, rare, never predicted and confused labels."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from calipers.caching import cached_property
from calipers.findings.class_balance import MIN_CLASS_ROWS
from calipers.findings.classes import MIN_CONFUSED_PROPORTION
from calipers.findings.confusion_cells import (
    UNDEFINED,
    NumberAtLevel,
    above_check,
    below_check,
    subtract,
)
from calipers.findings.formatting import IntervalNumber, format_first, format_proportions, quote
from calipers.findings.no_skill import SELECTION_CLAUSE, compare_with_constant
from calipers.findings.rules import Claim, FindingDraft, Subject, p_from_intervals, rule
from calipers.inference import proportions
from calipers.lazy_dataclasses import dataclass
from calipers.report.numbers import format_count, format_number
from calipers.report.safe_names import join_words
from calipers.statistics import FloatArray, effective_size_from_weights
from calipers.statistics.base import column_sums, row_blocks

if TYPE_CHECKING:
    from calipers.inference.clusters import ClusterIndex

BoolArray = npt.NDArray[np.bool_]

#: A label is rare below this proportion of the rows.
MAX_RARE_PROPORTION = 0.01
#: The largest number of labels that are listed with their values.
MAX_LISTED_LABELS = 10


def _format_n_labels(number: int, labels: Sequence[str]) -> str:
    """Format a number of labels, as in ``3 of 50 labels``."""
    return f"{number:,} of {format_count(len(labels), 'labels')}"


def _listed_values(
    items: Sequence[tuple[str, float | IntervalNumber]],
    name: str,
    count_name: str,
    labels: Sequence[str],
) -> dict[str, float | IntervalNumber]:
    """Return the values of the first items by name, and the numbers of items and of labels."""
    numbers = {f"{name} of {label}": value for label, value in items[:MAX_LISTED_LABELS]}
    return {**numbers, count_name: len(items), "labels": len(labels)}


@dataclass(frozen=True, eq=False)
class MultilabelRows:
    """Labels of each row, shape (n_rows, n_labels), with their proportions.

    ``most_frequent_set`` returns the most frequent set of labels, and ``n_sets`` the number of
    distinct ones. Unless ``is_complete``, rows are a sample, and rules that count them do not
    apply.
    """

    labels: tuple[str, ...]
    truth: BoolArray
    weight: FloatArray | None
    clusters: ClusterIndex | None
    label_proportions: FloatArray
    most_frequent_set: Callable[[], BoolArray]
    n_sets: Callable[[], int]
    is_complete: bool = True

    @cached_property
    def weights(self) -> FloatArray:
        """Weight of each row, 1 by default."""
        return np.ones(len(self.truth)) if self.weight is None else self.weight

    def label(self, code: int) -> str:
        """Return the name of a label as in a sentence."""
        return quote(self.labels[code])

    def format_n_labels(self, number: int) -> str:
        """Format a number of labels, as in ``3 of 50 labels``."""
        return _format_n_labels(number, self.labels)

    def listed_values(
        self, items: Sequence[tuple[str, float | IntervalNumber]], name: str, count_name: str
    ) -> dict[str, float | IntervalNumber]:
        """Return the values of the first labels by name, and the numbers of labels."""
        return _listed_values(items, name, count_name, self.labels)

    def proportion(
        self, numerator: BoolArray, denominator: BoolArray | None = None
    ) -> NumberAtLevel:
        """Return the proportion of (some of) the rows that are in ``numerator``.

        Its interval is exact; for clustered rows it has an effective sample size.
        """
        denominator = np.ones(len(numerator), bool) if denominator is None else denominator
        weight, in_numerator = self.weights[denominator], numerator[denominator].astype(np.float64)
        total = float(weight.sum())
        if not total > 0:
            return lambda level: UNDEFINED
        proportion = float(np.dot(in_numerator, weight)) / total
        size = effective_size_from_weights(weight)
        if self.clusters is not None:
            clusters = self.clusters.take_rows(denominator)
            # The number of independent rows with the same variance.
            error, n, cluster_weights = (
                clusters.mean_error(in_numerator),
                size,
                clusters.cluster_weights,
            )
            return lambda level: IntervalNumber.from_interval(
                proportion,
                proportions.clopper_pearson(
                    proportion,
                    clusters.proportion_size(proportion, error, cluster_weights, n, level),
                    level,
                ),
            )
        return lambda level: IntervalNumber.from_interval(
            proportion, proportions.clopper_pearson(proportion, size, level)
        )

    def difference(self, first: BoolArray, second: BoolArray) -> NumberAtLevel:
        """Return the proportion of the rows in ``first`` minus that in ``second``.

        No row is in both.
        """
        weight, total, clusters = self.weights, float(self.weights.sum()), self.clusters
        high, low = (float(weight[rows].sum()) / total for rows in (first, second))
        value = high - low
        if clusters is not None:
            error = clusters.mean_error(first.astype(np.float64) - second)
            if error.se > 0:
                return lambda level: IntervalNumber.from_interval(
                    value, clusters.student_interval(value, *error, level, "cluster-robust")
                )
            # Clusters without any variation count as one row each.
            n = effective_size_from_weights(clusters.cluster_weights)
        else:
            discordant = (first | second) & (weight > 0)
            discordant = discordant if discordant.any() else weight > 0
            either_weight = float(weight[discordant].sum())
            n = effective_size_from_weights(weight[discordant]) * total / either_weight
        return lambda level: IntervalNumber.from_interval(
            value, proportions.bonett_price(high, low, n, level)
        )


@dataclass(frozen=True, eq=False)
class LabelSizes:
    """Effective number of rows with each label, of all rows."""

    labels: tuple[str, ...]
    sizes: FloatArray


@dataclass(frozen=True, eq=False)
class MultilabelPredictions:
    """Labels that a system predicts for each row."""

    rows: MultilabelRows
    predicted: BoolArray


@rule("absent-label", "information", MultilabelRows, cost="sums", counts=True)
def labels_without_rows(_: Subject, rows: MultilabelRows) -> Iterator[FindingDraft]:
    """At least one evaluated label has no rows."""
    absent = [rows.label(code) for code in np.flatnonzero(rows.label_proportions == 0).tolist()]
    if absent and rows.is_complete:
        yield FindingDraft(
            f"{rows.format_n_labels(len(absent))} {'has' if len(absent) == 1 else 'have'} no rows: "
            f"{format_first(absent)}. Recall and AUC of such a label are undefined; averages over "
            "labels omit it unless it is predicted.",
            {"labels without rows": len(absent), "labels": len(rows.labels)},
        )


@rule("few-rows", "caution", LabelSizes, cost="sums", counts=True)
def few_rows_of_labels(subject: Subject, labels: LabelSizes) -> Iterator[FindingDraft]:
    """At least one class (or label) has fewer than {MIN_CLASS_ROWS} rows.

    Weighted rows count by their effective number.
    """
    sizes = zip(labels.sizes.tolist(), map(quote, labels.labels), strict=True)
    fewest = [
        (label, n) for n, label in sorted(sizes, key=lambda pair: pair[0]) if 0 < n < MIN_CLASS_ROWS
    ]
    if fewest:
        yield FindingDraft(
            f"{_format_n_labels(len(fewest), labels.labels)} "
            f"{'has' if len(fewest) == 1 else 'have'} few rows: "
            f"{format_first(f'{label} (n = {n:.3g})' for label, n in fewest)}. A single row "
            f"changes measures of such a label by up to {1 / fewest[0][1]:.2g}, and macro averages "
            "give it as much weight as any other.",
            _listed_values(fewest, "rows", "labels with few rows", labels.labels),
            tuple(str(m) for m in subject.measures if m.average == "macro" or m.label),
        )


@rule("rare-labels", "information", MultilabelRows, cost="rows")
def rare_labels(subject: Subject, rows: MultilabelRows) -> Iterator[Claim]:
    """One or more labels are rare: the interval of the proportion of rows is below
    {MAX_RARE_PROPORTION:g}.

    The interval is corrected for the number of labels.
    """  # noqa: D205
    codes = np.flatnonzero(
        (rows.label_proportions > 0) & (rows.label_proportions < MAX_RARE_PROPORTION)
    ).tolist()
    p, rare = [1.0], []
    for code in codes:
        proportion = rows.proportion(rows.truth[:, code])
        p_value = p_from_intervals(below_check(proportion, MAX_RARE_PROPORTION), subject.level)
        p.append(min(1.0, len(rows.labels) * p_value))
        if p[-1] <= 1 - subject.level:
            rare.append((rows.label(code), proportion(subject.level)))
    rare.sort(key=lambda pair: pair[1].value)
    yield Claim(min(p), partial(_rare_labels_message, subject, rows, rare))


def _rare_labels_message(
    subject: Subject, rows: MultilabelRows, rare: Sequence[tuple[str, IntervalNumber]]
) -> FindingDraft:
    insensitive_measures = [
        str(m)
        for m in subject.measures
        if m.counts_true_negatives or m.average in ("micro", "weighted")
    ]
    advice = ""
    if insensitive_measures:
        advice = (
            f" {join_words(insensitive_measures)} would hardly change if such a label were never "
            "predicted; "
            "report macro averages, or measures by label."
        )
    return FindingDraft(
        f"{rows.format_n_labels(len(rare))} {'is' if len(rare) == 1 else 'are'} rare: "
        f"{format_proportions(rare)}.{advice}",
        rows.listed_values(rare, "proportion", "rare labels"),
        tuple(insensitive_measures),
    )


@rule("label-never-predicted", "caution", MultilabelPredictions, cost="rows", counts=True)
def unpredicted_labels(
    subject: Subject, predictions: MultilabelPredictions
) -> Iterator[FindingDraft]:
    """At least one label that has rows is predicted for no row."""
    rows = predictions.rows
    predicted = (
        predictions.predicted if rows.weight is None else predictions.predicted[rows.weight > 0]
    )
    codes = np.flatnonzero((rows.label_proportions > 0) & ~predicted.any(axis=0))
    sizes = rows.label_proportions[codes] * float(rows.weights.sum())
    order = np.argsort(-rows.label_proportions[codes], kind="stable")
    never_predicted = [(rows.label(codes[index]), float(sizes[index])) for index in order]
    if never_predicted and rows.is_complete:
        listed = format_first(f"{label} (n = {format_number(n)})" for label, n in never_predicted)
        yield FindingDraft(
            f"{subject.title} never predicts {rows.format_n_labels(len(never_predicted))}: "
            f"{listed}. The "
            "recall of such a label is 0, and its precision is undefined; check its threshold.",
            rows.listed_values(never_predicted, "rows", "labels never predicted"),
            tuple(str(m) for m in subject.measures if m.average == "macro"),
        )


@rule(
    "subset-accuracy-below-constant",
    "warning",
    MultilabelPredictions,
    cost="sorted rows",
    verb=SELECTION_CLAUSE.format("set", "all that occur"),
)
@rule(
    "subset-accuracy-not-above-constant",
    "caution",
    MultilabelPredictions,
    cost="sorted rows",
    verb=", contains",
)
def subset_and_constant(subject: Subject, predictions: MultilabelPredictions) -> Iterator[Claim]:
    """Subset accuracy is compared with that of always predicting the most frequent set of labels.

    The interval of the difference, paired by row{verb} 0.
    """
    if not subject.shown_among("subset-accuracy"):
        return
    rows = predictions.rows
    frequent_set = rows.most_frequent_set()
    constant = (rows.truth == frequent_set).all(axis=1)
    right = (rows.truth == predictions.predicted).all(axis=1)
    difference = rows.difference(right & ~constant, constant & ~right)
    accuracy, constant_accuracy = (
        float(np.average(x, weights=rows.weight)) for x in (right, constant)
    )
    names = [rows.label(code) for code in np.flatnonzero(frequent_set).tolist()]
    constant_labels = format_first(names, 5) if names else "no label"
    value = IntervalNumber(accuracy, math.nan, math.nan)
    yield from compare_with_constant(
        subject,
        "subset accuracy",
        value,
        constant_labels,
        constant_accuracy,
        difference,
        rows.n_sets(),
    )


@rule("confused-label", "caution", MultilabelPredictions, cost="rows")
def confused_labels(subject: Subject, predictions: MultilabelPredictions) -> Iterator[Claim]:
    """One other label is wrongly predicted for most of the rows that miss a label.

    It is predicted for more than half of the rows that miss the label, and for more than
    {MIN_CONFUSED_PROPORTION:.0%} of all rows with the label (both by the entire interval, exact);
    and more often than for other rows that do not have it (by the interval of the difference). The
    intervals are corrected for the number of other labels.
    """
    rows, truth, predicted = predictions.rows, predictions.rows.truth, predictions.predicted
    missed, false_positives = truth & ~predicted, predicted & ~truth
    confusions = _count_pairs(missed, false_positives, rows.weight)
    min_weights = np.maximum(
        column_sums(missed, rows.weight) / 2,
        rows.label_proportions * float(rows.weights.sum()) * MIN_CONFUSED_PROPORTION,
    )
    for code in range(len(rows.labels)):
        predicted_code = int(confusions[code].argmax())
        if not confusions[code, predicted_code] > min_weights[code]:
            yield Claim(1.0)
            continue
        is_replaced = missed[:, code] & false_positives[:, predicted_code]
        of_errors = rows.proportion(is_replaced, missed[:, code])
        of_all = rows.proportion(is_replaced, truth[:, code])
        # A label that is predicted everywhere does not replace this one in particular.
        lacks_predicted = ~truth[:, predicted_code]
        missed_rate = rows.proportion(
            false_positives[:, predicted_code], lacks_predicted & missed[:, code]
        )
        other_rate = rows.proportion(
            false_positives[:, predicted_code], lacks_predicted & ~missed[:, code]
        )
        p = max(
            p_from_intervals(above_check(of_errors, 0.5), subject.level),
            p_from_intervals(above_check(of_all, MIN_CONFUSED_PROPORTION), subject.level),
            p_from_intervals(above_check(subtract(missed_rate, other_rate), 0.0), subject.level),
        )
        estimates = of_all, of_errors, other_rate
        # Any number of labels can be predicted for most of these rows; this is the most frequent.
        p = min(1.0, (len(rows.labels) - 1) * p)
        yield Claim(
            p, partial(_confused_labels_message, subject, rows, (code, predicted_code), estimates)
        )


def _count_pairs(first: BoolArray, second: BoolArray, weight: FloatArray | None) -> FloatArray:
    """Return the number, or the weight, of the rows in which two columns are true.

    Each pair is a column of the one matrix and a column of the other.
    """
    n_columns = first.shape[1]
    pairs = np.zeros((n_columns, second.shape[1]))
    if weight is None:  # columns of bits take a hundredth of the time
        first_bits, second_bits = (
            np.packbits(np.ascontiguousarray(matrix.T), axis=1) for matrix in (first, second)
        )
        n_bytes = -(-first_bits.shape[1] // 8) * 8
        words = np.zeros((2, n_columns, n_bytes), np.uint8)
        words[0, :, : first_bits.shape[1]] = first_bits
        words[1, :, : first_bits.shape[1]] = second_bits
        first_words, second_words = words.view(np.uint64)
        for column, column_words in enumerate(first_words):
            pairs[column] = np.bitwise_count(second_words & column_words).sum(axis=1)
        return pairs
    for rows in row_blocks(*first.shape):
        weighted = first[rows] * weight[rows, None]
        pairs += weighted.T @ second[rows].astype(np.float64)
    return pairs


def _confused_labels_message(
    subject: Subject,
    rows: MultilabelRows,
    codes: tuple[int, int],
    estimates: tuple[NumberAtLevel, ...],
) -> FindingDraft:
    label, predicted_label = map(rows.label, codes)
    names = [rows.labels[code] for code in codes]
    of_all, of_errors, other_rate = (estimate(subject.level) for estimate in estimates)
    return FindingDraft(
        f"{subject.title} predicts {predicted_label} instead of {label} for {of_all} of the "
        f"{label} rows, which is {of_errors} of those that miss {label}. Of all other rows without "
        f"{predicted_label}, {other_rate} are predicted as {predicted_label}.",
        {
            "proportion of the rows": of_all,
            "proportion of the rows that miss it": of_errors,
            "proportion of all other rows": other_rate,
        },
        tuple(str(m) for m in subject.measures if m.label in names),
        aspect=", ".join(names),
    )
