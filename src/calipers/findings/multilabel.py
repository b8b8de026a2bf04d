"""Findings on multilabel predictions: absent, rare, never predicted and confused labels."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from calipers.caching import cached_property
from calipers.findings.class_balance import FEW_ROWS
from calipers.findings.classes import CONFUSED
from calipers.findings.confusion_cells import UNDEFINED, AtLevel, is_above, is_below, subtract
from calipers.findings.formatting import IntervalNumber, format_first, of_rows, quote
from calipers.findings.no_skill import CHOSEN, compare_with_constant
from calipers.findings.rules import Claim, FindingDraft, Subject, p_of_level, rule
from calipers.inference import proportions
from calipers.report.numbers import format_count, format_number
from calipers.report.safe_names import join_words
from calipers.statistics import FloatArray, effective_size, effective_size_of

if TYPE_CHECKING:
    from calipers.inference.clusters import ClusterIndex

Rows = npt.NDArray[np.bool_]

#: A label is rare below this proportion of the rows.
RARE_LABEL = 0.01
#: The largest number of labels that are listed with their values.
MOST_LISTED = 10


@dataclass(frozen=True, eq=False)
class MultilabelRows:
    """Labels of each row, shape (n_rows, n_labels), with their proportions.

    ``usual`` returns the most frequent set of labels, and ``n_sets`` the number of distinct ones.
    If rows are a sample, not the ``whole``, rules that count them do not apply.
    """

    labels: tuple[str, ...]
    truth: Rows
    weight: FloatArray | None
    clusters: ClusterIndex | None
    shares: FloatArray
    usual: Callable[[], Rows]
    n_sets: Callable[[], int]
    whole: bool = True

    @cached_property
    def weights(self) -> FloatArray:
        """Weight of each row, 1 by default."""
        return np.ones(len(self.truth)) if self.weight is None else self.weight

    def label(self, code: int) -> str:
        """Return the name of a label as in a sentence."""
        return quote(self.labels[code])

    def some(self, number: int) -> str:
        """Format a number of labels, as in ``3 of 50 labels``."""
        return f"{number:,} of {format_count(len(self.labels), 'labels')}"

    def listed(
        self, of: Sequence[tuple[str, float | IntervalNumber]], name: str, what: str
    ) -> dict[str, float | IntervalNumber]:
        """Return the values of the first labels by name, and the numbers of labels."""
        numbers = {f"{name} of {label}": value for label, value in of[:MOST_LISTED]}
        return {**numbers, what: len(of), "labels": len(self.labels)}

    def share(self, part: Rows, of: Rows | None = None) -> AtLevel:
        """Return the proportion of (some of) the rows that are in ``part``, with an exact interval.

        For clustered rows the interval has an effective sample size.
        """
        of = np.ones(len(part), bool) if of is None else of
        weight, inside = self.weights[of], part[of].astype(np.float64)
        total = float(weight.sum())
        if not total > 0:
            return lambda level: UNDEFINED
        share = float(np.dot(inside, weight)) / total
        size = effective_size_of(weight)
        if self.clusters is not None:
            clusters = self.clusters.take_rows(of)
            # As many independent rows as would vary as much; clusters that agree count one each.
            error, n, held = clusters.mean_error(inside), size, clusters.cluster_weights
            return lambda level: IntervalNumber.within(
                share,
                proportions.clopper_pearson(
                    share, clusters.share_size(share, error, held, n, level), level
                ),
            )
        return lambda level: IntervalNumber.within(
            share, proportions.clopper_pearson(share, size, level)
        )

    def apart(self, more: Rows, less: Rows) -> AtLevel:
        """Return the proportion of the rows in ``more`` minus that in ``less``.

        No row is in both.
        """
        weight, total, clusters = self.weights, float(self.weights.sum()), self.clusters
        high, low = (float(weight[rows].sum()) / total for rows in (more, less))
        value = high - low
        if clusters is not None:
            error = clusters.mean_error(more.astype(np.float64) - less)
            if error.se > 0:
                return lambda level: IntervalNumber.within(
                    value, clusters.normal(value, *error, level, "clustered")
                )
            n = effective_size_of(
                clusters.cluster_weights
            )  # Clusters that agree altogether count as one row each.
        else:
            either = (more | less) & (weight > 0)
            either = either if either.any() else weight > 0
            own = float(weight[either].sum())
            n = effective_size_of(weight[either]) * total / own
        return lambda level: IntervalNumber.within(
            value, proportions.paired_shares(high, low, n, level)
        )


@dataclass(frozen=True, eq=False)
class MultilabelPredictions:
    """Labels that a system predicts for each row."""

    rows: MultilabelRows
    predicted: Rows


@rule("absent-label", "information", MultilabelRows, cost="sums", counts=True)
def labels_without_rows(_: Subject, rows: MultilabelRows) -> Iterator[FindingDraft]:
    """At least one evaluated label has no rows."""
    absent = [rows.label(code) for code in np.flatnonzero(rows.shares == 0).tolist()]
    if absent and rows.whole:
        yield FindingDraft(
            f"{rows.some(len(absent))} {'has' if len(absent) == 1 else 'have'} no rows: "
            f"{format_first(absent)}. Recall and AUC of such a label are undefined; averages over "
            "labels "
            "omit it unless it is predicted.",
            {"labels without rows": len(absent), "labels": len(rows.labels)},
        )


@rule("few-rows", "caution", MultilabelRows, cost="rows", counts=True)
def few_rows_of_labels(s: Subject, rows: MultilabelRows) -> Iterator[FindingDraft]:
    """At least one class (or label) has fewer than {FEW_ROWS} rows.

    Weighted rows count by their effective number.
    """
    sums = (rows.truth.T @ w for w in (rows.weights, np.square(rows.weights)))
    sizes = [effective_size(w, q) for w, q in zip(*sums, strict=True)]
    few = [(n, rows.label(code)) for code, n in enumerate(sizes) if 0 < n < FEW_ROWS]
    if few and rows.whole:
        fewest = [(label, n) for n, label in sorted(few, key=lambda one: one[0])]
        yield FindingDraft(
            f"{rows.some(len(few))} {'has' if len(few) == 1 else 'have'} few rows: "
            f"{format_first(f'{label} (n = {n:.3g})' for label, n in fewest)}. A single row "
            "changes "
            f"measures of such a label by up to {1 / fewest[0][1]:.2g}, and macro averages give it "
            "as much weight as any other.",
            rows.listed(fewest, "rows", "labels with few rows"),
            tuple(str(m) for m in s.measures if m.average == "macro" or m.label),
        )


@rule("rare-labels", "information", MultilabelRows, cost="rows")
def rare_labels(s: Subject, rows: MultilabelRows) -> Iterator[Claim]:
    """One or more labels are rare: the interval of the proportion of rows is below {RARE_LABEL:g}.

    The interval is corrected for the number of labels.
    """
    codes = np.flatnonzero((rows.shares > 0) & (rows.shares < RARE_LABEL)).tolist()
    p, shares = [1.0], []
    for code in codes:
        share = rows.share(rows.truth[:, code])
        own = p_of_level(is_below(share, RARE_LABEL), s.level)
        p.append(min(1.0, len(rows.labels) * own))
        if p[-1] <= 1 - s.level:
            shares.append((rows.label(code), share(s.level)))
    shares.sort(key=lambda one: one[1].value)
    yield Claim(min(p), partial(_rare_labels, s, rows, shares))


def _rare_labels(
    s: Subject, rows: MultilabelRows, rare: Sequence[tuple[str, IntervalNumber]]
) -> FindingDraft:
    blind = [
        str(m) for m in s.measures if m.counts_true_negatives or m.average in ("micro", "weighted")
    ]
    advice = ""
    if blind:
        advice = (
            f" {join_words(blind)} would hardly change if such a label were never predicted; "
            "report "
            "macro averages, or measures by label."
        )
    return FindingDraft(
        f"{rows.some(len(rare))} {'is' if len(rare) == 1 else 'are'} rare: {of_rows(rare)}."
        f"{advice}",
        rows.listed(rare, "share", "rare labels"),
        tuple(blind),
    )


@rule("label-never-predicted", "caution", MultilabelPredictions, cost="rows", counts=True)
def unpredicted_labels(s: Subject, answers: MultilabelPredictions) -> Iterator[FindingDraft]:
    """At least one label that has rows is predicted for no row."""
    rows = answers.rows
    ever = answers.predicted if rows.weight is None else answers.predicted[rows.weight > 0]
    codes = np.flatnonzero((rows.shares > 0) & ~ever.any(axis=0))
    sizes = rows.shares[codes] * float(rows.weights.sum())
    order = np.argsort(-rows.shares[codes], kind="stable")
    have = [(rows.label(codes[at]), float(sizes[at])) for at in order]
    if have and rows.whole:
        listed = format_first(f"{label} (n = {format_number(n)})" for label, n in have)
        yield FindingDraft(
            f"{s.title} never predicts {rows.some(len(have))}: {listed}. The recall of such a "
            "label "
            "is 0, and its precision is undefined; check its threshold.",
            rows.listed(have, "rows", "labels never predicted"),
            tuple(str(m) for m in s.measures if m.average == "macro"),
        )


@rule(
    "subset-accuracy-below-constant",
    "warning",
    MultilabelPredictions,
    cost="sorted rows",
    verb=CHOSEN.format("set", "all that occur"),
)
@rule(
    "subset-accuracy-not-above-constant",
    "caution",
    MultilabelPredictions,
    cost="sorted rows",
    verb=", contains",
)
def subset_and_constant(s: Subject, answers: MultilabelPredictions) -> Iterator[Claim]:
    """Subset accuracy is compared with that of always predicting the most frequent set of labels.

    The interval of the difference, paired by row{verb} 0.
    """
    if not s.shown_among("subset-accuracy"):
        return
    rows = answers.rows
    usual = rows.usual()
    constant = (rows.truth == usual).all(axis=1)
    right = (rows.truth == answers.predicted).all(axis=1)
    apart = rows.apart(right & ~constant, constant & ~right)
    own, always = (float(np.average(x, weights=rows.weight)) for x in (right, constant))
    names = [rows.label(code) for code in np.flatnonzero(usual).tolist()]
    answer = format_first(names, 5) if names else "no label"
    value = IntervalNumber(own, math.nan, math.nan)
    yield from compare_with_constant(
        s, "subset accuracy", value, answer, always, apart, rows.n_sets()
    )


@rule("confused-label", "caution", MultilabelPredictions, cost="rows")
def confused_labels(s: Subject, answers: MultilabelPredictions) -> Iterator[Claim]:
    """One other label is wrongly predicted for most of the rows that miss a label.

    It is predicted for more than half of the rows that miss the label, and for more than
    {CONFUSED:g} of all rows with the label (both by the entire interval, exact); and more often
    than for other rows that do not have it (by the interval of the difference).
    """
    rows, truth, predicted = answers.rows, answers.rows.truth, answers.predicted
    missed, wrong = truth & ~predicted, predicted & ~truth
    # Single precision is twice as fast, and exact of counts; weights it may not even hold.
    kind = np.float32 if rows.weight is None else np.float64
    weighted = missed.astype(kind)
    if rows.weight is not None:
        weighted *= rows.weight[:, None]
    both = weighted.T @ wrong.astype(kind)
    least = np.maximum(weighted.sum(axis=0) / 2, rows.shares * float(rows.weights.sum()) * CONFUSED)
    for code in range(len(rows.labels)):
        other = int(both[code].argmax())
        if not both[code, other] > least[code]:
            yield Claim(1.0)
            continue
        instead = missed[:, code] & wrong[:, other]
        of_errors = rows.share(instead, missed[:, code])
        of_all = rows.share(instead, truth[:, code])
        # A label that is predicted everywhere does not replace this one in particular.
        without = ~truth[:, other]
        here = rows.share(wrong[:, other], without & missed[:, code])
        there = rows.share(wrong[:, other], without & ~missed[:, code])
        p = max(
            p_of_level(is_above(of_errors, 0.5), s.level),
            p_of_level(is_above(of_all, CONFUSED), s.level),
            p_of_level(is_above(subtract(here, there), 0.0), s.level),
        )
        shares = of_all, of_errors, there
        yield Claim(p, partial(_confused_labels, s, rows, (code, other), shares))


def _confused_labels(
    s: Subject, rows: MultilabelRows, codes: tuple[int, int], shares: tuple[AtLevel, ...]
) -> FindingDraft:
    label, other = map(rows.label, codes)
    names = [rows.labels[code] for code in codes]
    of_all, of_errors, there = (share(s.level) for share in shares)
    return FindingDraft(
        f"{s.title} predicts {other} instead of {label} for {of_all} of the {label} rows, which is "
        f"{of_errors} of those that miss {label}. Of all other rows without {other}, {there} are "
        f"predicted as {other}.",
        {
            "share of the rows": of_all,
            "share of the rows that miss it": of_errors,
            "share of the other rows": there,
        },
        tuple(str(m) for m in s.measures if m.label in names),
        about=", ".join(names),
    )
