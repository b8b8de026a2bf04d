"""Recall of a technology-assisted review, estimated from a random sample, and where rules stop."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.caching import cached_property
from calipers.data.arrays import (
    check_column,
    check_length,
    check_values,
    missing_mask,
    take_rows,
    to_numbers,
)
from calipers.data.columns import add_files, collect_columns
from calipers.data.errors import InputError, did_you_mean, format_value
from calipers.data.frequency_weights import to_counts
from calipers.evaluation.arguments import validate_arguments
from calipers.evaluation.options import make_settings
from calipers.evaluation.shared import glossary, provenance
from calipers.inference.proportions import (
    clopper_pearson,
    hypergeometric_limits,
    upper_quantile_rank,
)
from calipers.lazy_dataclasses import dataclass
from calipers.measures.reviews import COUNTS, TASK, review_measures
from calipers.results import Estimate, Evaluation
from calipers.statistics import IntArray
from calipers.statistics.reviews import ReviewCounts

if TYPE_CHECKING:
    import numpy.typing as npt

    from calipers.measures import Measure

#: Name of the whole review among the rules.
REVIEW = "review"
#: Stopping rules; the first two look at the sample.
SAMPLE_RULES = ("QBCB", "target")
RULES = (*SAMPLE_RULES, "knee", "budget")
#: Documents before which the knee rule does not stop.
MIN_KNEE_DOCUMENTS = 1000
#: Slope ratio of the budget rule, and the proportion of the collection at which it always stops.
BUDGET_SLOPE_RATIO, BUDGET_PROPORTION = 6.0, 0.75
#: The largest collection; logarithms of factorials of larger numbers are too coarse.
_MAX_DOCUMENTS = 2**40


@validate_arguments
def review(
    relevant: Any,
    sampled: Any,
    rank: Any,
    *,
    count: Any = None,
    data: Any = None,
    rel: int = 1,
    collection_size: int | None = None,
    rules: str | Sequence[str] = (),
    recall: float = 0.8,
    level: float = 0.95,
    inputs: Sequence[Any] = (),
) -> Evaluation:
    """Estimate the recall of a technology-assisted review from a random sample.

    Documents were reviewed in some order, and a random sample was judged, too: of the collection (a
    control set) or of what was not reviewed (an elusion sample). Stopping rules can be evaluated,
    too: what the recall is where they would have ended the review.

    Parameters
    ----------
    relevant : array-like of shape (n,)
        Grade of each document that was reviewed or sampled.
    sampled : array-like of shape (n,)
        Whether the document is in the random sample: 1 or ``true``, else 0 or ``false``.
    rank : array-like of shape (n,)
        Position of the document in the review, from 1 on; missing if it is only in the sample.
        Documents of the same rank are a batch, after which rules may stop.
    count : array-like of shape (n,), optional
        Number of documents that the row stands for.
    data : data frame, dict of columns, or path, optional
        Table whose columns the other arguments may name.
    rel : int, default=1
        Lowest relevant grade.
    collection_size : int, optional
        Number of documents of the collection. With it all relevant documents that the review found
        count, and not only those of the sample; an elusion sample needs it.
    rules : str or list of str, default=()
        Stopping rules: ``"QBCB"``, ``"target"``, ``"knee"``, ``"budget"``, or ``"all"``. The first
        two need a control set, and ``"budget"`` needs ``collection_size``.
    recall : float, default=0.8
        Recall that the rule QBCB aims at.
    level : float, default=0.95
        Confidence level of the intervals, and of QBCB.
    inputs : list, optional
        Origins of the columns, for the provenance.

    Returns
    -------
    Evaluation
        ``recall``, ``elusion`` (with ``collection_size``), ``reviewed`` and ``relevant-reviewed``
        of the system ``review``, which is the whole review, and of each rule.

    Raises
    ------
    InputError
        If a row was neither reviewed nor sampled, or if a rule or an elusion sample lacks what it
        needs.

    See Also
    --------
    calipers.retrieval : Work saved over sampling and recall at k of fully judged rankings.

    Notes
    -----
    With ``collection_size``, the number of relevant documents outside the review has the exact
    interval of a sample without replacement. It holds for the review and for the rules knee and
    budget, which do not look at the sample, but not if the sample decided when the review ended.
    QBCB and target do look at it: they stop at the j-th of the relevant documents of a control set,
    and their intervals are those of an order statistic, which allow for that.

    References
    ----------
    Cormack and Grossman (2016). Engineering quality and reliability in technology-assisted review.

    Lewis, Yang and Frieder (2021). Certifying one-phase technology-assisted reviews.

    Examples
    --------
    1,000 documents were reviewed, 180 of them relevant; of 400 others, 2 are relevant.

    >>> import calipers as cal
    >>> table = {
    ...     "rank": [1, 1, None, None], "sampled": [0, 0, 1, 1],
    ...     "relevant": [1, 0, 1, 0], "count": [180, 820, 2, 398],
    ... }
    >>> ev = cal.review("relevant", "sampled", "rank", count="count", data=table,
    ...                 collection_size=5000)
    >>> print(ev["review", "recall"])
    review: recall 0.90 [0.72, 0.98] 95% exact (hypergeometric) over 400 sampled documents
    """
    settings = make_settings("none", level, 2000, 0)
    if not 0 < recall < 1:
        raise InputError(f"recall is {recall:g}, expected a number between 0 and 1")
    if collection_size is not None and not 1 <= collection_size <= _MAX_DOCUMENTS:
        raise InputError(
            f"collection_size is {collection_size}, expected a number of documents from 1 to "
            f"{_MAX_DOCUMENTS}"
        )
    columns = {"relevant": relevant, "sampled": sampled, "rank": rank, "count": count}
    collected = collect_columns(columns, data=data).columns
    counts = _ReviewedBatches.from_columns(collected, rel, collection_size)
    measures = review_measures(has_collection_size=collection_size is not None)
    selected_rules = _select_rules(rules)
    stops = tuple(counts.stop(rule, recall, level) for rule in (REVIEW, *selected_rules))
    return Evaluation(
        task=TASK,
        estimates=tuple(e for stop in stops for e in _estimates(counts, stop, measures, level)),
        definitions=glossary(measures),
        notes=tuple(_notes(counts, stops)),
        provenance=provenance(
            TASK,
            settings,
            {"rel": rel, "collection_size": collection_size, "recall": recall},
            add_files(inputs, data),
        ),
    )


@dataclass(frozen=True)
class _Stop:
    """Batch after which a rule stops, or the reason why it does not.

    ``n_required`` is the number of relevant documents of the sample at which it stops, if it looks
    at the sample.
    """

    rule: str
    batch: int | None
    reason: str = "rule_not_reached"
    n_required: int | None = None


@dataclass(frozen=True, eq=False)
class _ReviewedBatches:
    """Numbers of documents after each batch of a review, and of sampled ones outside of it.

    ``hits`` are the relevant documents of the sample among the reviewed ones.
    """

    reviewed: IntArray
    relevant: IntArray
    hits: IntArray
    n_sampled: int
    n_outside: int
    outside_hits: int
    collection_size: int | None

    @classmethod
    def from_columns(
        cls, columns: Mapping[str, Any], rel: int, collection_size: int | None
    ) -> _ReviewedBatches:
        """Check the columns and add up their documents."""
        grades = to_numbers(columns["relevant"], "relevant").astype(np.float64)
        sampled = to_numbers(columns["sampled"], "sampled").astype(np.float64)
        check_values(sampled, ~np.isin(sampled, (0, 1)), "sampled", "expected 0 or 1")
        check_column(columns["rank"], "rank")
        unreviewed_mask = missing_mask(columns["rank"], "rank")
        for name, column in (("sampled", sampled), ("rank", unreviewed_mask)):
            check_length(column, len(grades), name, reference="relevant has")
        sampled_mask = sampled == 1
        skipped_rows = np.flatnonzero(unreviewed_mask & ~sampled_mask)
        if len(skipped_rows):
            raise InputError(
                f"rank: is missing in row {skipped_rows[0]}, which is not in the sample, expected "
                "documents that were reviewed or sampled"
            )
        reviewed_rows = np.flatnonzero(~unreviewed_mask)
        if not len(reviewed_rows):
            raise InputError("rank: no document was reviewed, expected the position of each")
        ranks = to_numbers(take_rows(columns["rank"], reviewed_rows), "rank").astype(np.float64)
        count = columns["count"]
        sizes = np.ones(len(grades), np.int64) if count is None else to_counts(count, "count")
        check_length(sizes, len(grades), "count", reference="relevant has")
        relevant_mask = grades >= rel
        batches = np.unique(ranks, return_inverse=True)[1]

        def cumulative(mask: npt.NDArray[np.bool_]) -> IntArray:
            weights = (sizes * mask)[reviewed_rows]
            return np.cumsum(np.bincount(batches, weights)).astype(np.int64)

        outside_mask = unreviewed_mask & sampled_mask
        result = cls(
            reviewed=cumulative(np.ones(len(grades), bool)),
            relevant=cumulative(relevant_mask),
            hits=cumulative(relevant_mask & sampled_mask),
            n_sampled=int(sizes[sampled_mask].sum()),
            n_outside=int(sizes[outside_mask].sum()),
            outside_hits=int(sizes[outside_mask & relevant_mask].sum()),
            collection_size=collection_size,
        )
        result.check_size()
        return result

    def check_size(self) -> None:
        """Check that the sample is not empty, and the size of the collection."""
        if not self.n_sampled:
            raise InputError("sampled: no document is in the sample, expected a random sample")
        n_documents = int(self.reviewed[-1]) + self.n_outside
        if self.collection_size is None:
            if not self.has_control_set:
                raise InputError(
                    "collection_size: is not given, but no sampled document was reviewed; expected "
                    "it for a sample of the documents outside the review"
                )
        elif self.collection_size < n_documents:
            raise InputError(
                f"collection_size is {self.collection_size}, but {n_documents} documents were "
                "reviewed or sampled"
            )

    @property
    def has_control_set(self) -> bool:
        """Whether the sample is one of the collection, so that some of it was reviewed."""
        return self.n_sampled > self.n_outside

    @property
    def n_hits(self) -> int:
        """Number of relevant documents of the sample."""
        return int(self.hits[-1]) + self.outside_hits

    @property
    def n_unreviewed(self) -> int:
        """Number of documents outside the review, if the size of the collection is known."""
        assert self.collection_size is not None
        return self.collection_size - int(self.reviewed[-1])

    # --- Rules --------------------------------------------------------------------------------

    def stop(self, rule: str, recall: float, level: float) -> _Stop:
        """Return where the review or a rule stops."""
        if rule == REVIEW:
            return _Stop(rule, len(self.reviewed) - 1)
        if rule in SAMPLE_RULES:
            if not self.has_control_set:
                raise InputError(
                    f"rules: {rule} needs a sample of the collection, but no sampled document was "
                    "reviewed"
                )
            qbcb = upper_quantile_rank(recall, self.n_hits, level)
            return self._sample_stop(rule, qbcb if rule == "QBCB" else self.n_hits or None)
        if rule == "budget" and self.collection_size is None:
            raise InputError("rules: budget needs collection_size=, which is not given")
        return _Stop(rule, self._first_batch(budget=rule == "budget"))

    def _sample_stop(self, rule: str, n_required: int | None) -> _Stop:
        """Return where this number of relevant documents of the sample is reviewed."""
        if n_required is None:
            return _Stop(rule, None, "too_few_relevant_in_sample")
        if self.hits[-1] < n_required:
            return _Stop(rule, None)
        return _Stop(rule, int(np.searchsorted(self.hits, n_required)), n_required=n_required)

    def _first_batch(self, *, budget: bool) -> int | None:
        """Return the first batch after which the knee or the budget rule stops."""
        for batch in self._checked_batches:
            n, relevant = int(self.reviewed[batch]), int(self.relevant[batch])
            ratio = self._slope_ratio(batch)
            if not budget:
                if n >= MIN_KNEE_DOCUMENTS and ratio >= 156 - min(relevant, 150):
                    return batch
                continue
            size = self.collection_size or 0
            has_spent = relevant > 0 and n * relevant >= 10 * size
            if n >= BUDGET_PROPORTION * size or (ratio >= BUDGET_SLOPE_RATIO and has_spent):
                return batch
        return None

    @cached_property
    def _checked_batches(self) -> list[int]:
        """Batches after which these rules are checked.

        As in the authors' procedure, the number of documents between checks grows by a tenth each
        time, here to the end of a batch.
        """
        batches, n, size = [], 1, 1
        while (batch := int(np.searchsorted(self.reviewed, n))) < len(self.reviewed):
            batches.append(batch)
            size += math.ceil(size / 10)
            n = max(n + size, int(self.reviewed[batch]) + 1)
        return batches

    def _slope_ratio(self, batch: int) -> float:
        """Return the slope of the gain curve before its knee over that after it.

        The knee is the point farthest from the line to the end of the curve.
        """
        n, relevant = self.reviewed[: batch + 1], self.relevant[: batch + 1]
        if batch == 0:
            return 0.0
        knee = int((relevant[:-1] * float(n[-1]) - n[:-1] * float(relevant[-1])).argmax())
        after = (relevant[-1] - relevant[knee] + 1) / (n[-1] - n[knee])
        return float(relevant[knee] / n[knee] / after)

    # --- Relevant documents of the collection -------------------------------------------------

    def total(self, stop: _Stop, level: float) -> _Total:
        """Estimate the number of relevant documents of the collection, where a rule stops."""
        if stop.batch is None:
            return _Total(reason=stop.reason)
        if self.collection_size is not None and stop.n_required is None:
            if self.n_unreviewed and not self.n_outside:
                return _Total(reason="nothing_sampled")
            limits = hypergeometric_limits(
                self.outside_hits, self.n_outside, self.n_unreviewed, level
            )
            n_added = self.n_unreviewed * self.outside_hits / max(self.n_outside, 1)
            value, low, high = (float(self.relevant[-1]) + n for n in (n_added, *limits))
            return _Total(value, low, high, "exact (hypergeometric)")
        # Without the collection, the sample tells the recall of the whole review, or of a rule.
        batch = -1 if stop.n_required is None else stop.batch
        n, hits, relevant = self.n_hits, int(self.hits[batch]), float(self.relevant[batch])
        if not n:
            return _Total(reason="no_relevant")
        interval = clopper_pearson(hits / n, n, level)
        low, high, method, value = interval.low, interval.high, interval.method, hits / n
        if stop.n_required is not None:
            # Recall after the batch is at least that at the required document of the sample.
            low = clopper_pearson(stop.n_required / n, n, level).low
            method, value = "exact (order statistic)", hits / (n + 1)
        with np.errstate(divide="ignore"):
            # If the review has no relevant document, recall is 0 with any number of others.
            totals = max(relevant, 1.0) / np.array([value, high, low])
        if self.collection_size is not None:
            totals = np.minimum(totals, self.n_unreviewed + self.relevant[-1])
        value, low, high = totals.tolist()
        return _Total(value, low, high, method)


@dataclass(frozen=True)
class _Total:
    """Number of relevant documents of the collection with its limits, or why it is unknown."""

    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    method: str = "none"
    reason: str | None = None


def _estimates(
    counts: _ReviewedBatches, stop: _Stop, measures: Sequence[Measure], level: float
) -> Iterator[Estimate]:
    """Yield the estimates of all measures where a rule stops."""
    total, size = counts.total(stop, level), counts.collection_size

    def review_counts(n_relevant: float) -> ReviewCounts:
        batch = -1 if stop.batch is None else stop.batch
        numbers = counts.reviewed[batch], counts.relevant[batch], n_relevant, size or math.nan
        return ReviewCounts(*map(np.float64, numbers))

    for measure in measures:
        reasons = [
            name for name, holds in measure.reasons(review_counts(total.value)).items() if holds
        ]
        is_count = measure in COUNTS
        reason = stop.reason if stop.batch is None else None if is_count else total.reason
        reason = reason or next(iter(reasons), None)
        value, low, high = math.nan, math.nan, math.nan
        if reason is None:
            value, low, high = (
                float(measure.apply(review_counts(n))) for n in (total.value, total.low, total.high)
            )
        low, high = min(low, high), max(low, high)
        has_interval = low < high
        yield Estimate(
            measure=str(measure),
            value=value,
            low=low if has_interval else math.nan,
            high=high if has_interval else math.nan,
            level=level,
            method=total.method if has_interval else "none",
            n=counts.n_sampled if reason is None else 0,
            n_total=counts.n_sampled,
            unit="sampled documents",
            undefined={} if reason is None else {reason: counts.n_sampled},
            interval_reason=None
            if has_interval
            else "undefined_value"
            if reason is not None
            else "exact_count"
            if is_count
            else "known_constant",
            system=stop.rule,
        )


def _select_rules(rules: str | Sequence[str]) -> list[str]:
    """Return the names of the requested rules."""
    requested = [rules] if isinstance(rules, str) else list(rules)
    for name in requested:
        if name not in (*RULES, "all"):
            raise InputError(
                f"rules: {format_value(name)} is not a rule; {did_you_mean(name, RULES)}"
            )
    return list(RULES) if "all" in requested else list(dict.fromkeys(requested))


def _notes(counts: _ReviewedBatches, stops: Sequence[_Stop]) -> Iterator[str]:
    """Yield notes on the sample and on the rules that look at it."""
    if counts.has_control_set:
        yield (
            f"The sample has {counts.n_sampled:,} documents, of which {counts.n_hits:,} are "
            "relevant."
        )
    else:
        yield (
            f"The sample has {counts.n_outside:,} documents from outside the review, of which "
            f"{counts.outside_hits:,} are relevant."
        )
    for stop in stops:
        if stop.n_required is None:
            continue
        yield (
            f"{stop.rule} stops after {stop.n_required:,} of the relevant documents of the sample."
        )
        if stop.batch == len(counts.reviewed) - 1:
            yield (
                f"The review ends where {stop.rule} stops. If the sample decided that, the "
                f"interval of {REVIEW} is too narrow, and that of {stop.rule} holds."
            )
