"""Bounds of measures under incomplete judgments.

For each topic the unknown documents are those that were retrieved but not judged (or judged with a
negative grade, which means "pooled, not judged"), and up to ``max_unretrieved`` relevant documents
that were not retrieved, or any number of them. A completion assigns to every unknown document a
grade from 0 to a highest grade. :func:`value_bounds` computes the smallest and the largest value of
a topic over all completions, and :func:`mean_bounds` those of the mean over topics.

The reported value of a measure takes all unknown documents as non-relevant, so it is between the
bounds. The bounds are not a confidence interval: they show the possible effect of further judgments
of these topics, while an interval shows that of sampling other topics.

Each measure has a rule, found by name, that computes both bounds. Most rules are based on an
exchange argument: among the completions with x relevant unknown documents, the best one has the x
topmost and the worst one the x bottommost, so that a loop over x finds both bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from math import inf
from typing import TYPE_CHECKING, Any, TypeAlias

from calipers.caching import cached_property
from calipers.lazy_dataclasses import dataclass
from calipers.lazy_imports import numpy as np
from calipers.measures.definition import Measure
from calipers.measures.grade_gains import grade_gain, has_monotone_gains
from calipers.measures.registry import get_definition
from calipers.measures.retrieval import gains
from calipers.measures.retrieval.binary_relevance import n_documents_at_recall
from calipers.statistics import GEOMETRIC_FLOOR, FloatArray, IntArray, JudgedRankings
from calipers.statistics.rankings import segment_offsets, segment_sum

if TYPE_CHECKING:
    import numpy.typing as npt


#: Maximum number of cells (topics times ranks) of a block: a few megabytes an array.
MAX_CELLS = 1 << 18


@dataclass(frozen=True, eq=False)
class ValueBounds:
    """Smallest and largest value over all completions, per topic.

    Parameters
    ----------
    low, high : ndarray, shape (n_topics,)
        Bounds, NaN if no completion has a value.
    kind : str
        ``"sharp"``, or ``"outer"`` if the bounds are valid but may be wider than necessary.
    """

    low: FloatArray
    high: FloatArray
    kind: str


def value_bounds(
    rankings: JudgedRankings,
    measures: Sequence[Measure],
    *,
    max_unretrieved: float = inf,
    max_grade: int | None = None,
    collection_size: int | None = None,
) -> list[ValueBounds | None]:
    """Compute the bounds of each measure over all completions of the judgments, per topic.

    Parameters
    ----------
    rankings : JudgedRankings
        Rankings with their judgments.
    measures : sequence of Measure
        Measures. The bounds of those without a rule are None.
    max_unretrieved : float, default=inf
        Largest number of relevant documents of a topic that were not retrieved. It includes the
        documents with negative grades, and is never smaller than their number.
    max_grade : int, optional
        Highest grade of an unknown document. By default it is the highest in the judgments, at
        least 1.
    collection_size : int, optional
        Number of documents in the collection, which bounds ``max_unretrieved`` (if the bound is at
        most one million).

    Returns
    -------
    list of ValueBounds or None
        Bounds of each measure.

    Examples
    --------
    Seven documents are known to be relevant, four of them retrieved; three more may be.

    >>> from calipers.measures import parse
    >>> r = JudgedRankings.from_rankings([[1, 0, 1, 1, 0, 1, 0]], [[1, 1, 1]])
    >>> (recall,) = value_bounds(r, [parse("SetR")], max_unretrieved=3)
    >>> print(recall.low, recall.high.round(4), recall.kind)
    [0.4] [0.5714] sharp
    """
    max_judged = int(rankings.judged_grade.max(initial=1))
    completion_grade = max_judged if max_grade is None else max_grade
    rules = [find_bound_rule(measure, max(max_judged, completion_grade)) for measure in measures]
    low = np.full((len(measures), len(rankings)), np.nan)
    high = low.copy()
    for topics in _iter_topic_blocks(rankings.retrieved):
        block = TopicBlock.from_rankings(
            rankings.take_topics(topics), max_unretrieved, completion_grade, collection_size
        )
        for i, (measure, rule) in enumerate(zip(measures, rules, strict=True)):
            if rule is not None:
                with np.errstate(divide="ignore", invalid="ignore"):
                    low[i, topics], high[i, topics] = _widen_to_value(block, measure, rule)
    return [
        None if rule is None else ValueBounds(low[i], high[i], rule.kind)
        for i, rule in enumerate(rules)
    ]


def mean_bounds(
    values: FloatArray,
    bounds: ValueBounds,
    summary: str = "mean",
    *,
    zero: bool = False,
    importance: FloatArray | None = None,
) -> tuple[float, float]:
    """Compute the smallest and the largest mean over topics over all completions.

    Parameters
    ----------
    values : ndarray, shape (n_topics,)
        Values under the present judgments.
    bounds : ValueBounds
        Bounds of the value of each topic.
    summary : str, default="mean"
        ``"mean"``, ``"sum"`` or ``"geometric"`` (as for gm-AP).
    zero : bool, default=False
        Whether undefined topics count as 0 in the mean. Otherwise they are omitted.
    importance : ndarray, shape (n_topics,), optional
        Weights of topics in the mean. Topics of weight 0 are omitted.

    Returns
    -------
    tuple of float
        Lower and upper bound.

    Notes
    -----
    Topics are completed independently, so the lowest mean is the mean of the lower bounds, and the
    highest mean that of the upper bounds. A topic that is undefined so far may stay undefined or
    become defined. If undefined topics are omitted from the mean, it is omitted or included,
    whichever gives the wider bound; with ``zero`` it counts as 0 while it is undefined.
    """
    low, high, zero_value = bounds.low, bounds.high, 0.0
    weight = np.ones(len(values)) if importance is None else importance
    values, low, high, weight = (column[weight > 0] for column in (values, low, high, weight))
    if summary == "geometric":
        low, high, zero_value = (
            np.log(np.maximum(low, GEOMETRIC_FLOOR)),
            np.log(np.maximum(high, GEOMETRIC_FLOOR)),
            float(np.log(GEOMETRIC_FLOOR)),
        )
    counts_undefined = zero or summary == "sum"
    undefined_mask = np.isnan(values)
    minimum = _minimum_mean(
        undefined_mask, low, zero_value if counts_undefined else None, summary, weight
    )
    maximum = -_minimum_mean(
        undefined_mask, -high, -zero_value if counts_undefined else None, summary, weight
    )
    return (
        (float(np.exp(minimum)), float(np.exp(maximum)))
        if summary == "geometric"
        else (minimum, maximum)
    )


def _minimum_mean(
    undefined_mask: npt.NDArray[np.bool_],
    bounds: FloatArray,
    undefined_value: float | None,
    summary: str,
    weight: FloatArray,
) -> float:
    """Compute the smallest mean (or sum), in which absent values have a value or may be omitted."""
    if undefined_value is not None:
        bounds = np.where(undefined_mask, np.fmin(bounds, undefined_value), bounds)
        undefined_mask = np.zeros_like(undefined_mask)
    if summary == "sum":
        return float(bounds[~undefined_mask].sum())
    optional = np.flatnonzero(undefined_mask & ~np.isnan(bounds))
    optional = optional[np.argsort(bounds[optional], kind="stable")]
    totals, counts = (
        column[~undefined_mask].sum() + np.concatenate([[0.0], np.cumsum(column[optional])])
        for column in (bounds * weight, weight)
    )
    means = totals[counts > 0] / counts[counts > 0]
    return float(means.min()) if len(means) else np.nan


def _iter_topic_blocks(retrieved: IntArray) -> Iterator[IntArray]:
    """Yield the indices of topics in blocks of a limited number of cells.

    Topics with similar numbers of retrieved documents are in one block.
    """
    order = np.argsort(retrieved, kind="stable")
    start = 0
    while start < len(order):
        # Topics are sorted, so the last topic of a block has the most documents.
        widest = np.maximum(retrieved[order[start : start + MAX_CELLS]], 1)
        cells = np.arange(1, len(widest) + 1) * widest
        end = start + max(1, int(np.searchsorted(cells, MAX_CELLS, side="right")))
        yield order[start:end]
        start = end


def _widen_to_value(block: TopicBlock, measure: Measure, rule: BoundRule) -> BoundPair:
    """Compute the bounds of a rule, widened to include the value in spite of rounding."""
    low, high = rule.compute_bounds(block, measure)
    value = measure.apply(block.ranking)
    return np.where(value < low, value, low), np.where(value > high, value, high)


BoolArray: TypeAlias = "npt.NDArray[np.bool_]"

#: A larger bound on the number of unretrieved documents is taken as no bound.
MAX_UNRETRIEVED = 1_000_000

#: Codes of documents without a grade.
UNKNOWN, _NOT_RETRIEVED = -1, -2


@dataclass(frozen=True, eq=False)
class TopicBlock:
    """Block of topics, with a row per topic and a column per rank.

    ``grade`` is negative where it is unknown and where nothing was retrieved. Up to
    ``max_unretrieved`` documents of each topic are relevant and were not retrieved.
    """

    ranking: JudgedRankings
    grade: IntArray
    max_unretrieved: FloatArray
    max_grade: int
    status_cache: dict[tuple[int, int | None], JudgmentStatus] = field(default_factory=dict)

    @classmethod
    def from_rankings(
        cls,
        rankings: JudgedRankings,
        max_unretrieved: float,
        max_grade: int,
        collection_size: int | None,
    ) -> TopicBlock:
        """Create the block of the topics of rankings."""
        width = int(rankings.retrieved.max(initial=0))
        grade = np.where(np.arange(width) < rankings.retrieved[:, None], UNKNOWN, _NOT_RETRIEVED)
        grade[rankings.topic_index, rankings.rank - 1] = np.maximum(rankings.grade, UNKNOWN)
        judged_mask = rankings.grade >= 0
        n_judged = segment_sum(
            np.where(rankings.judged_grade >= 0, rankings.judged_count, 0), rankings.judged_offsets
        )
        n_pooled = segment_sum(
            np.where(rankings.judged_grade < 0, rankings.judged_count, 0), rankings.judged_offsets
        )
        max_per_topic = np.full(len(rankings), float(max_unretrieved))
        if collection_size is not None:
            n_remaining = (
                collection_size
                - rankings.retrieved
                - (n_judged - rankings.sum_by_topic(judged_mask))
            )
            max_per_topic = np.where(
                n_remaining <= MAX_UNRETRIEVED,
                np.minimum(max_per_topic, n_remaining),
                max_per_topic,
            )
        return cls(
            rankings,
            grade,
            np.maximum(max_per_topic, n_pooled - rankings.sum_by_topic(~judged_mask)),
            max_grade,
        )

    def judgment_status(self, rel: int, cutoff: int | None) -> JudgmentStatus:
        """Return the judgment status for a relevance level (within the cutoff), cached."""
        if (rel, cutoff) not in self.status_cache:
            self.status_cache[rel, cutoff] = self._compute_status(rel, cutoff)
        return self.status_cache[rel, cutoff]

    def _compute_status(self, rel: int, cutoff: int | None) -> JudgmentStatus:
        grade = self.grade[:, :cutoff]
        unknown = grade == UNKNOWN
        n_outside = (self.grade == UNKNOWN).sum(axis=1) - unknown.sum(axis=1) + self.max_unretrieved
        if rel > self.max_grade:  # no unknown document can be relevant
            unknown, n_outside = np.zeros_like(unknown), np.zeros(len(grade))
        return JudgmentStatus(grade >= rel, unknown, self.ranking.n_relevant(rel), n_outside)

    def complete_judgments(
        self, added_mask: BoolArray, max_unretrieved: FloatArray, grade: int
    ) -> JudgedRankings:
        """Return the rankings with further judgments of grade ``grade``.

        They are of the retrieved documents ``added_mask``, and of ``max_unretrieved`` documents
        that were not retrieved. Ranks beyond the columns of ``added_mask`` are omitted. Infinite
        numbers result in infinite counts, which measures of counts can take.
        """
        rankings = self.ranking
        listed = np.where(added_mask, grade, self.grade[:, : added_mask.shape[1]])
        judged_mask = listed >= 0
        rank = np.nonzero(judged_mask)[1] + 1
        n_added = added_mask.sum(axis=1) + max_unretrieved
        added_topics = np.flatnonzero(n_added)
        topic = np.concatenate(
            [np.repeat(np.arange(len(rankings)), np.diff(rankings.judged_offsets)), added_topics]
        )
        judged = np.concatenate([rankings.judged_grade, np.full(len(added_topics), grade)])
        count = np.concatenate([rankings.judged_count, n_added[added_topics]])
        order = np.lexsort((-judged, topic))
        return JudgedRankings(
            rankings.topics,
            rankings.retrieved,
            rankings.judged_offsets + segment_offsets(n_added > 0),
            judged[order],
            count[order],
            segment_offsets(judged_mask.sum(axis=1)),
            rank,
            listed[judged_mask],
            rank,
            rank,
        )


@dataclass(frozen=True, eq=False)
class JudgmentStatus:
    """Relevant and unknown documents by topic and rank.

    ``n_relevant`` is the number of known relevant documents of each topic, and ``n_outside`` the
    number of unknown documents elsewhere.
    """

    hit_mask: BoolArray
    unknown_mask: BoolArray
    n_relevant: FloatArray
    n_outside: FloatArray

    @cached_property
    def rank(self) -> FloatArray:
        """Rank of each column."""
        return np.arange(1.0, self.hit_mask.shape[1] + 1)

    @cached_property
    def cumulative_hits(self) -> FloatArray:
        """Relevant documents down to and including each rank."""
        return np.cumsum(self.hit_mask, axis=1, dtype=np.float64)

    @cached_property
    def cumulative_unknown(self) -> FloatArray:
        """Unknown documents from the top down to and including each rank."""
        return np.cumsum(self.unknown_mask, axis=1, dtype=np.float64)

    @cached_property
    def reverse_cumulative_unknown(self) -> FloatArray:
        """Unknown documents from the bottom up to and including each rank."""
        return reverse_cumsum(self.unknown_mask.astype(np.float64))


def reverse_cumsum(values: FloatArray) -> FloatArray:
    """Compute cumulative sums over the ranks from the last one up."""
    return np.cumsum(values[:, ::-1], axis=1)[:, ::-1]


def last_column(running: FloatArray) -> FloatArray:
    """Return the last of cumulative sums over the ranks: the total."""
    return running[:, -1] if running.shape[1] else np.zeros(len(running))


def ratio(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    """Divide, with NaN for 0/0, and 0 for an infinite denominator."""
    return np.where(denominator > 0, numerator / denominator, np.nan)


BoundPair = tuple[FloatArray, FloatArray]


@dataclass(frozen=True, eq=False)
class BoundRule:
    """Rule that computes the lower and the upper bound for a block of topics.

    ``supported_parameters`` are the parameters that ``compute_bounds`` supports, and
    ``unsupported_values`` values that it does not; a measure with another parameter set has no
    rule. If ``needs_monotone_gains``, gains have to increase with the grade.
    """

    compute_bounds: Callable[[TopicBlock, Measure], BoundPair]
    supported_parameters: frozenset[str]
    kind: str = "sharp"
    unsupported_values: frozenset[Any] = frozenset()
    needs_monotone_gains: bool = False


def find_bound_rule(measure: Measure, max_grade: int) -> BoundRule | None:
    """Return the rule of a measure for grades up to ``max_grade``; None if there is none."""
    definition = measure.definition
    rule = _RULES.get(definition.name) if definition.statistic is JudgedRankings else None
    if rule is None or measure.parameters.get("rel", 1) < 1:  # below, nothing is not relevant
        return None
    defaults = definition.parameters
    changed = {name: value for name, value in measure.values if value != defaults[name]}
    if not changed.keys() <= rule.supported_parameters or rule.unsupported_values & set(
        changed.values()
    ):
        return None
    is_monotone = not rule.needs_monotone_gains or has_monotone_gains(measure.parameters, max_grade)
    return rule if is_monotone else None


def _monotone_bounds(block: TopicBlock, measure: Measure) -> BoundPair:
    """Compute the bounds of a measure of retrieved documents that increases with their grades.

    It is smallest with all unknown documents non-relevant, and largest with all of the highest
    grade.
    """
    p = measure.parameters
    unknown = block.grade[:, : p.get("cutoff")] == UNKNOWN
    # Where a measure states the scale of grades, none goes beyond it.
    scaled = "max_grade" in p and p.get("gain", "scale") == "scale"
    top = min(block.max_grade, p["max_grade"]) if scaled else block.max_grade
    best = block.complete_judgments(unknown, np.zeros(len(unknown)), top)
    return measure.apply(block.ranking), measure.apply(best)


def _recall_bounds(block: TopicBlock, measure: Measure) -> BoundPair:
    """Compute the bounds of a measure that increases with relevant retrieved documents only.

    It increases with every relevant document that was retrieved (within the cutoff) and decreases
    with every other relevant document, so that the bounds have all of one kind and none of the
    other. If no relevant document is known, there has to be one, even if of the other kind.
    """
    p = measure.parameters
    status = block.judgment_status(p["rel"], p.get("cutoff"))
    no_relevant = status.n_relevant + status.n_outside == 0
    last_unknown_mask = (
        status.unknown_mask & (status.reverse_cumulative_unknown == 1) & no_relevant[:, None]
    )
    no_relevant = status.n_relevant + last_column(status.cumulative_unknown) == 0
    return (
        measure.apply(
            block.complete_judgments(last_unknown_mask, status.n_outside, block.max_grade)
        ),
        measure.apply(
            block.complete_judgments(
                status.unknown_mask, np.where(no_relevant, status.n_outside, 0.0), block.max_grade
            )
        ),
    )


def _average_precision_bounds(block: TopicBlock, measure: Measure) -> BoundPair:
    """Compute the bounds of average precision.

    For each number x of relevant unknown documents, the sum of precisions is largest if they are
    topmost and smallest if they are bottommost. One more of them adds the precision at its own
    rank, and 1/rank for each relevant document below. Relevant documents outside the ranking add to
    R only.
    """
    p = measure.parameters
    cutoff, denominator = p.get("cutoff"), p.get("denominator", "R")
    status = block.judgment_status(p["rel"], cutoff)

    def normalize(
        precisions: FloatArray, n_ranked: FloatArray, n_outside: FloatArray
    ) -> FloatArray:
        """Divide sums of precisions, with more relevant documents in the ranking and elsewhere."""
        relevant = status.n_relevant[:, None] + n_ranked + n_outside[:, None]
        if denominator == "min(k,R)" and cutoff is not None:
            return ratio(precisions, np.minimum(relevant, cutoff))
        if denominator == "found":
            return ratio(precisions, last_column(status.cumulative_hits)[:, None] + n_ranked)
        return ratio(precisions, relevant)

    terms = status.hit_mask / status.rank
    current_sum = (terms * status.cumulative_hits).sum(axis=1)[:, None]
    gain = status.unknown_mask * (
        (status.cumulative_hits + status.cumulative_unknown) / status.rank
        + reverse_cumsum(terms)
        - terms
    )
    none_outside = np.zeros_like(status.n_outside)
    best = normalize(
        _prepend_zero(np.cumsum(gain, axis=1)) + current_sum,
        _prepend_zero(status.cumulative_unknown),
        none_outside,
    )
    terms = (status.hit_mask | status.unknown_mask) / status.rank
    gain = status.unknown_mask * (
        (status.cumulative_hits + 1) / status.rank + reverse_cumsum(terms) - terms
    )
    worst = normalize(
        _prepend_zero(reverse_cumsum(gain)) + current_sum,
        _prepend_zero(status.reverse_cumulative_unknown),
        status.n_outside,
    )
    only_outside = normalize(current_sum, np.zeros_like(current_sum), status.n_outside)[:, 0]
    return (
        np.fmin.reduce(worst, axis=1),
        np.fmax(np.fmax.reduce(best, axis=1), only_outside),
    )


def _interpolated_precision_bounds(block: TopicBlock, measure: Measure) -> BoundPair:
    """Compute the bounds of interpolated precision at a recall.

    Upper bound: the precision at each rank if all unknown documents down to it are relevant and no
    others, provided that this reaches the recall; one more relevant document raises the required
    number by at most one.

    Lower bound: x relevant documents in the ranking add least to any rank if they are bottommost,
    and all relevant documents elsewhere raise the required number. Each x that raises it is
    evaluated.
    """
    p = measure.parameters
    status = block.judgment_status(p["rel"], None)

    def n_required(relevant: FloatArray) -> FloatArray:
        return n_documents_at_recall(p["recall"], relevant, p["rule"])

    def max_precision(n_hits: FloatArray, min_hits: FloatArray) -> FloatArray:
        reached = (n_hits > 0) & (n_hits >= min_hits)
        return np.asarray(np.where(reached, n_hits / status.rank, 0.0).max(axis=1, initial=0.0))

    n_inside, n_known_relevant = (
        last_column(status.cumulative_unknown),
        status.n_relevant + status.n_outside,
    )
    high = max_precision(
        status.cumulative_hits + status.cumulative_unknown,
        n_required(status.n_relevant[:, None] + status.cumulative_unknown),
    )
    high = np.where(n_known_relevant + n_inside > 0, high, np.nan)
    low, max_required = np.full(len(n_known_relevant), np.nan), np.full(len(n_known_relevant), -inf)
    for x in range(int(n_inside.max(initial=0)) + 1):
        required = n_required(n_known_relevant + x)
        rows = np.flatnonzero(
            (x <= n_inside) & (n_known_relevant + x > 0) & (required > max_required) & ~(low == 0)
        )
        max_required[rows] = required[rows]
        n_hits = status.cumulative_hits[rows] + np.maximum(
            status.cumulative_unknown[rows] - (n_inside[rows] - x)[:, None], 0
        )
        low[rows] = np.fmin(low[rows], max_precision(n_hits, required[rows, None]))
    return low, high


def _eleven_point_bounds(block: TopicBlock, measure: Measure) -> BoundPair:
    """Compute the means of the bounds of the points.

    They are outer bounds, since no completion has to attain all of them.
    """
    p = measure.parameters
    point = {"rel": p["rel"], "rule": p["rule"]}
    point_bounds = [
        _interpolated_precision_bounds(
            block, get_definition("retrieval", "IPrec").bind({**point, "recall": recall})
        )
        for recall in p["recalls"]
    ]
    low, high = (np.mean([bounds[i] for bounds in point_bounds], axis=0) for i in (0, 1))
    return low, high


def _r_precision_bounds(block: TopicBlock, measure: Measure) -> BoundPair:
    """Compute the bounds of R-precision.

    With r relevant documents in all, r − R of the unknown ones are relevant, as many as possible of
    them among the first r or as few; each r is evaluated. Below the last retrieved document only r
    increases, so that the bounds there can only be where all unknown documents of a kind are used.
    """
    status = block.judgment_status(measure.parameters["rel"], None)
    n, relevant = len(status.n_relevant), status.n_relevant[:, None]
    n_outside, n_inside = status.n_outside[:, None], last_column(status.cumulative_unknown)[:, None]
    r = np.hstack(
        [
            np.broadcast_to(status.rank, status.cumulative_hits.shape),
            relevant,
            relevant + n_inside,
            relevant + n_outside,
        ]
    )
    column = np.minimum(r, status.cumulative_hits.shape[1]).astype(np.int64)
    hits, unknown = (
        np.take_along_axis(np.hstack([np.zeros((n, 1)), running]), column, axis=1)
        for running in (status.cumulative_hits, status.cumulative_unknown)
    )
    possible_mask = (r >= relevant) & (r <= relevant + n_inside + n_outside)
    n_unknown_below = n_inside - unknown + n_outside
    high = ratio(hits + np.minimum(unknown, r - relevant), r)
    low = np.where(np.isinf(r), 0.0, ratio(hits + np.maximum(r - relevant - n_unknown_below, 0), r))
    return (
        np.fmin.reduce(np.where(possible_mask, low, np.nan), axis=1),
        np.fmax.reduce(np.where(possible_mask, high, np.nan), axis=1),
    )


def _bpref_bounds(block: TopicBlock, measure: Measure) -> BoundPair:
    """Compute the bounds of bpref, for which a document is relevant, non-relevant or unjudged.

    Upper bound: with r relevant documents in all, bpref is largest if r − R unknown documents are
    relevant, the topmost, and no further document above any of them is non-relevant, but many
    below. A relevant document with j non-relevant ones above then adds (r − j)/r², for j < r. Each
    r is evaluated up to 2·max j, beyond which every such term decreases.

    Lower bound, an outer bound: the known relevant documents alone, each with all unknown ones
    above it non-relevant and none elsewhere, over the largest r.
    """
    rel = measure.parameters["rel"]
    status = block.judgment_status(rel, None)
    nonrelevant_mask = (block.grade[:, : status.hit_mask.shape[1]] >= 0) & ~status.hit_mask
    n_nonrelevant_above = np.cumsum(nonrelevant_mask, axis=1)
    relevant, n_inside = (
        status.n_relevant.astype(np.int64),
        last_column(status.cumulative_unknown).astype(np.int64),
    )
    judged = segment_sum(np.where(block.ranking.judged_grade >= 0, block.ranking.judged_count, 0),
                         block.ranking.judged_offsets)  # fmt: skip
    candidate_mask = status.hit_mask | status.unknown_mask
    max_nonrelevant_above = np.max(
        np.where(candidate_mask, n_nonrelevant_above, 0), axis=1, initial=0
    )
    max_useful = np.maximum(n_inside, np.maximum(2 * max_nonrelevant_above, 1) - relevant)
    max_added = np.minimum(n_inside + status.n_outside, max_useful)
    width = int(max_added.max(initial=0)) + 1
    # The smallest x = r − R from which a document contributes.
    start = np.maximum(
        status.unknown_mask * status.cumulative_unknown.astype(np.int64),
        n_nonrelevant_above + 1 - relevant[:, None],
    )
    topic, column = np.nonzero(candidate_mask & (start < width))
    cell_index = topic * width + start[topic, column]
    size = len(relevant) * width
    count = np.bincount(cell_index, minlength=size).reshape(-1, width).cumsum(axis=1)
    sums = (
        np.bincount(cell_index, n_nonrelevant_above[topic, column], size)
        .reshape(-1, width)
        .cumsum(axis=1)
    )
    x = np.arange(width)
    r = (relevant[:, None] + x).astype(np.float64)
    upper_values = np.where(x <= max_added[:, None], ratio(count * r - sums, r * r), np.nan)
    high = np.fmax.reduce(upper_values, axis=1)
    worst = np.minimum(n_nonrelevant_above + status.cumulative_unknown, relevant[:, None])
    total = np.minimum((judged - relevant)[:, None] + status.cumulative_unknown, relevant[:, None])
    lower_terms = np.where(status.hit_mask, 1 - worst / np.maximum(total, 1), 0.0)
    low = ratio(lower_terms.sum(axis=1), relevant + n_inside + status.n_outside)
    return low, high


def _ndcg_bounds(block: TopicBlock, measure: Measure) -> BoundPair:
    """Compute the bounds of nDCG.

    With gains in steps Δₜ = gain(t) − gain(t−1), DCG is Σₜ Δₜ d(Sₜ) and IDCG is Σₜ Δₜ D(nₜ). d is
    the sum of the discounts of the retrieved documents of grade t or more, and D that of the same
    number of first ranks.

    Lower bound: DCG is linear and IDCG convex in the unknown gains, so nDCG is quasi-concave and
    smallest where each is 0 or the highest. Documents outside add to IDCG only; among those inside
    the x bottommost have the highest gain, for the worst x.

    Upper bound, by Dinkelbach's iteration: a value λ can be exceeded if Σₜ Δₜ (d(Sₜ) − λ D(nₜ)) can
    be positive. Each step t by itself is best with the xₜ topmost unknown documents, for some xₜ.
    One more costs λ times a discount at rank nₜ + 1, which decreases with nₜ. Since nₜ decreases
    with t, the largest best xₜ decrease with t too: the sets are nested, as those of grades are,
    and the steps can be optimized separately.
    """
    p = measure.parameters
    cutoff, r = p["cutoff"], block.ranking
    depth = None if p["ideal"] == "uncut" else cutoff
    status = block.judgment_status(0, cutoff)
    levels, step = _gain_steps(measure, np.append(r.judged_grade, block.max_grade))
    if not step[levels <= block.max_grade].any():  # no unknown document can gain anything
        return measure.apply(r), measure.apply(r)
    count = [r.n_relevant(t) for t in levels]
    n_outside = np.minimum(status.n_outside, inf if depth is None else depth)
    max_rank = max(c.max(initial=0) for c in count) + last_column(status.cumulative_unknown).max(
        initial=0
    )
    max_rank += n_outside.max(initial=0, where=np.isfinite(n_outside))
    discount = _discounts(measure, np.arange(1, 1 + max(int(max_rank), status.hit_mask.shape[1])))
    ideal = np.concatenate([[0.0], np.cumsum(discount if depth is None else discount[:depth])])

    def max_dcg(n: FloatArray) -> FloatArray:
        return ideal[np.minimum(n, len(ideal) - 1).astype(np.int64)]

    discount = discount[: status.hit_mask.shape[1]]
    grade = block.grade[:, : status.hit_mask.shape[1]]
    known_dcg = sum(d * ((grade >= t) @ discount) for t, d in zip(levels, step, strict=True))
    open_steps = [
        (d, c) for t, d, c in zip(levels, step, count, strict=True) if t <= block.max_grade
    ]
    fixed_ideal = sum(
        (
            d * max_dcg(c)
            for t, d, c in zip(levels, step, count, strict=True)
            if t > block.max_grade
        ),
        np.zeros(len(r)),
    )
    topmost, running = (
        _prepend_zero(status.cumulative_unknown),
        _prepend_zero(np.cumsum(status.unknown_mask * discount, 1)),
    )
    high = np.full(len(r), np.nan)
    rows = np.arange(len(r))
    while len(rows):
        numerator, denominator = known_dcg[rows], fixed_ideal[rows]
        for d, c in open_steps:
            n = c[rows, None] + topmost[rows]
            net_gain = running[rows] - np.nan_to_num(high[rows, None]) * max_dcg(n)
            # The last of the best: the largest x.
            best_index = net_gain.shape[1] - 1 - np.argmax(net_gain[:, ::-1], axis=1)
            numerator = numerator + d * running[rows, best_index]
            denominator = denominator + d * max_dcg(n[np.arange(len(rows)), best_index])
        value = ratio(numerator, denominator)
        improved_mask = ~np.isnan(value) & ~(value <= high[rows])
        rows = rows[improved_mask]
        high[rows] = value[improved_mask]
    running = _prepend_zero(reverse_cumsum(status.unknown_mask * discount))
    n = (
        _prepend_zero(status.reverse_cumulative_unknown)
        + np.where(np.isfinite(n_outside), n_outside, 0.0)[:, None]
    )
    denominator = sum((d * max_dcg(c[:, None] + n) for d, c in open_steps), fixed_ideal[:, None])
    low = ratio(known_dcg[:, None] + sum(d for d, _ in open_steps) * running, denominator)
    low = np.where(np.isinf(n_outside), 0.0, np.fmin.reduce(low, axis=1))
    return low, np.where(np.isnan(high) & (n_outside > 0), 0.0, high)


def _prepend_zero(running: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return cumulative sums with a leading 0."""
    return np.hstack([np.zeros((len(running), 1)), running])


# --- Gains ----------------------------------------------------------------------------------------


def _grade_gains(measure: Measure, grades: IntArray) -> FloatArray:
    """Return the gains of grades."""
    p = measure.parameters
    return grade_gain(grades, p.get("gains"), p.get("dcg", "log2"), p.get("min_grade"))


def _discounts(measure: Measure, ranks: IntArray) -> FloatArray:
    """Return the discounts of ranks."""
    p = measure.parameters
    return gains.rank_discount(ranks, None, p["dcg"], p["base"])


def _gain_steps(measure: Measure, grades: IntArray) -> tuple[IntArray, FloatArray]:
    """Return the positive grades, ascending, and the increase of the gain at each.

    Grades that do not occur can be skipped: n is the same there, so the same x is optimal.
    """
    levels = np.unique(grades[grades > 0])
    return levels, np.diff(_grade_gains(measure, levels), prepend=0.0)


_SET_PARAMETERS = frozenset({"rel"})
_CUTOFF_PARAMETERS = _SET_PARAMETERS | {"cutoff"}
_DCG_PARAMETERS = frozenset({"cutoff", "dcg", "gains", "min_grade", "base"})
_SCALE_PARAMETERS = frozenset({"cutoff", "max_grade"})

_RULES = {
    **{
        name: BoundRule(_monotone_bounds, _CUTOFF_PARAMETERS)
        for name in ("P", "RR", "Success", "SetP", "NumRelRet")
    },
    **{name: BoundRule(_monotone_bounds, _SCALE_PARAMETERS) for name in ("nCG", "SDCG", "ERR")},
    **{
        name: BoundRule(_monotone_bounds, _DCG_PARAMETERS, needs_monotone_gains=True)
        for name in ("CG", "DCG")
    },
    **{
        name: BoundRule(_recall_bounds, _CUTOFF_PARAMETERS)
        for name in ("R", "RelP", "SetR", "SetRelP", "SetAP")
    },
    "RBP": BoundRule(
        _monotone_bounds,
        _CUTOFF_PARAMETERS | {"p", "gain", "gains", "max_grade"},
        unsupported_values=frozenset({"topic-max"}),
        needs_monotone_gains=True,
    ),
    "F": BoundRule(_recall_bounds, _CUTOFF_PARAMETERS | {"beta", "alpha"}),
    "SetF": BoundRule(_recall_bounds, _SET_PARAMETERS | {"beta", "alpha"}),
    "SetJaccard": BoundRule(_recall_bounds, _SET_PARAMETERS),
    "AP": BoundRule(_average_precision_bounds, _CUTOFF_PARAMETERS | {"denominator"}),
    "gm-AP": BoundRule(_average_precision_bounds, _SET_PARAMETERS),
    "IPrec": BoundRule(_interpolated_precision_bounds, _SET_PARAMETERS | {"recall", "rule"}),
    "11pt-avg": BoundRule(_eleven_point_bounds, _SET_PARAMETERS | {"recalls", "rule"}, "outer"),
    "Rprec": BoundRule(_r_precision_bounds, _SET_PARAMETERS),
    "Bpref": BoundRule(_bpref_bounds, _SET_PARAMETERS, "outer"),
    "gm-Bpref": BoundRule(_bpref_bounds, _SET_PARAMETERS, "outer"),
    "nDCG": BoundRule(
        _ndcg_bounds,
        _DCG_PARAMETERS | {"ideal"},
        unsupported_values=frozenset({"retrieved"}),
        needs_monotone_gains=True,
    ),
}
