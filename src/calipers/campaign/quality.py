"""Quality of a test collection: effect of missing judgments, and discriminative power of topics.

The effect of missing judgments is that on the ranking of systems.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from calipers.campaign import operations
from calipers.campaign.pooling import depth_pool
from calipers.campaign.runs import (
    Depth,
    Judgments,
    Rankings,
    check_min_int,
    group_runs,
    groups_by_document,
    parse_depth,
)
from calipers.campaign.store import Campaign
from calipers.campaign.system_scores import (
    MEASURES,
    RankingChange,
    SystemTopicScores,
    correlation,
    ranking_changes,
    score_systems,
)
from calipers.data.errors import InputError, format_first_names
from calipers.evaluate.plan import plan
from calipers.inference import omnibus
from calipers.lazy_dataclasses import dataclass
from calipers.measures import parse
from calipers.report.numbers import format_count
from calipers.results.comparison import descending_levels
from calipers.statistics import FloatArray


@dataclass(frozen=True)
class QualityReport:
    """Judgments, effects of missing judgments, discriminative power of topics, and warnings."""

    topics: int
    judged: int
    relevant: int
    leave_one_group_out: tuple[LeaveOneGroupOut, ...]
    sparse: tuple[SparseJudgments, ...]
    separation: tuple[Separation, ...]
    topic_separations: tuple[TopicSeparation, ...]
    warnings: tuple[str, ...]


def assess_quality(
    campaign: Campaign,
    *,
    measures: Sequence[str] = (),
    depth: Depth | None = None,
    rule: str = "majority",
    level: float = 0.95,
    draws: int = 20,
    seed: int = 0,
) -> QualityReport:
    """Assess the current collection, by the adjudicated grades of persons.

    ``measures`` are by default those of the campaign
    (:func:`~calipers.campaign.operations.ordering_measures`), and ``depth`` is that of the pools.
    """
    final = operations.final_grades(campaign, rule)
    if not final:
        raise InputError(f"{campaign.path}: no document is judged by a person yet")
    rankings, groups = operations.read_rankings(campaign)
    if len(rankings) < 2:
        raise InputError(f"{campaign.path}: there is only one run; a ranking needs two")
    default_selection = operations.ordering_measures(campaign)
    selected_measures = tuple(measures) or default_selection.names
    pool_depth = operations.pooled_depth(campaign) if depth is None else parse_depth(depth)
    group_results = (
        leave_one_group_out(
            final,
            rankings,
            groups,
            depth=pool_depth,
            measures=selected_measures,
            level=level,
            seed=seed,
        )
        if len(set(groups.values())) > 1
        else []
    )
    return QualityReport(
        len(final),
        sum(map(len, final.values())),
        sum(grade >= 1 for topic_grades in final.values() for grade in topic_grades.values()),
        tuple(group_results),
        tuple(
            sparse_judgments(
                final, rankings, measures=selected_measures, draws=draws, seed=seed, level=level
            )
        ),
        tuple(
            discriminative_power(
                final, rankings, measures=selected_measures, seed=seed, level=level
            )
        ),
        tuple(classify_topics(final, rankings, selected_measures[0])),
        (*quality_warnings(campaign, rule), *(() if measures else default_selection.omitted)),
    )


def quality_warnings(campaign: Campaign, rule: str = "majority") -> list[str]:
    """Return warnings about the interpretation of the results of the campaign."""
    messages, pool = [], campaign.pool()
    final = operations.final_grades(campaign, rule)
    unjudged = [p for p in pool if p.sampled and p.document not in final.get(p.topic, {})]
    if unjudged:
        messages.append(
            f"{format_count(len(unjudged), 'documents')} of the pool "
            f"{'is' if len(unjudged) == 1 else 'are'} not "
            "judged yet and count as non-relevant."
        )
    empty_topics = [t for t, entry in final.items() if max(entry.values(), default=0) < 1]
    if empty_topics:
        messages.append(f"Topics without relevant documents: {format_first_names(empty_topics)}.")
    unpooled = {t.topic for t in campaign.topics()} - {p.topic for p in pool}
    if pool and unpooled:
        messages.append(f"Topics without a pool: {format_first_names(sorted(unpooled))}.")
    if any(p.stratum is not None for p in pool):
        messages.append(
            "Only a sample of the pool is judged: measures that count unjudged documents as not "
            "relevant are biased downwards; use xinfAP, HT-AP or infNDCG."
        )
    if any(entry.get("order") for entry in operations.pool_settings(campaign)):
        messages.append(
            "Documents were judged in an adaptive order, so the judgments are not a random sample: "
            "infAP and other sampling estimators are invalid."
        )
    participants = (
        set(operations.read_rankings(campaign)[1].values()) if campaign.runs() else set[str]()
    )
    if len(participants) == 1:
        messages.append(
            "All runs are of one participant, so the leave-one-group-out test is impossible."
        )
    if len(operations.read_grades(campaign)) == 1:
        messages.append("There is one assessor, so inter-assessor agreement is unknown.")
    return messages


#: Values that differ by at most this count as equal.
TOLERANCE = 1e-9


def remove_judgments(
    judgments: Judgments, documents: Mapping[str, set[str]]
) -> dict[str, dict[str, int]]:
    """Return the judgments without those of some documents.

    A removed judgment keeps its place with the grade −1, so that the topics stay the same.

    >>> remove_judgments({"1": {"x": 1, "y": 0}}, {"1": {"x"}})
    {'1': {'x': -1, 'y': 0}}
    """
    return {
        topic: {d: -1 if d in documents.get(topic, ()) else g for d, g in grades.items()}
        for topic, grades in judgments.items()
    }


def restrict_to_depth(
    judgments: Judgments, rankings: Rankings, depth: int
) -> dict[str, dict[str, int]]:
    """Return the judgments that pools of a smaller depth would have had."""
    pools = depth_pool(rankings, depth)
    pooled = {topic: {entry.document for entry in entries} for topic, entries in pools.items()}
    unpooled = {t: set(grades) - pooled.get(t, set()) for t, grades in judgments.items()}
    return remove_judgments(judgments, unpooled)


@dataclass(frozen=True)
class LeaveOneGroupOut:
    """Result of leaving one group out of the pool.

    The judgments are those without the documents that only runs of the group contributed:
    ``documents`` in all, ``relevant`` of them relevant. ``changes`` are those of the ranking of
    systems, as if the group had not participated; ``effects`` have intervals over topics.
    """

    group: str
    runs: tuple[str, ...]
    documents: int
    relevant: int
    changes: tuple[RankingChange, ...]
    effects: tuple[GroupEffect, ...] = ()


@dataclass(frozen=True)
class GroupEffect:
    """Effect of leaving a group out on the ranking by one measure, with intervals over topics.

    ``tau`` is that of the rankings before and after, and ``max_drop`` the largest number of ranks
    that a run of the group loses (negative if all gain). Their intervals are NaN with one topic.
    """

    measure: str
    tau: float
    tau_interval: tuple[float, float]
    max_drop: float
    max_drop_interval: tuple[float, float]


def group_effect(
    before: SystemTopicScores,
    after: SystemTopicScores,
    runs: Sequence[str],
    n_resamples: int = 1000,
    seed: int = 0,
) -> GroupEffect:
    """Estimate the effect of other judgments on the ranking, and on some of the runs.

    Parameters
    ----------
    before, after : SystemTopicScores
        Scores by all judgments, and without those of the group.
    runs : sequence of str
        Runs of the group.
    n_resamples : int, default=1000
        Number of bootstrap replicates.
    seed : int, default=0
        Seed of the random draws.

    Returns
    -------
    GroupEffect
        The effect.

    Notes
    -----
    Topics are resampled, the same before and after. The limits are percentiles. They are those of
    the values to be expected with another sample of as many topics: with more topics, τ may be
    lower, since similar systems differ less in the means.

    Examples
    --------
    >>> table = np.array([[0.5, 0.4], [0.6, 0.4], [0.7, 0.6]])
    >>> first, second = (
    ...     SystemTopicScores("AP", ("1", "2", "3"), ("a", "b"), values)
    ...     for values in (table, table - [0.3, 0.0])
    ... )
    >>> group_effect(first, second, ["a"]).max_drop_interval
    (1.0, 1.0)
    """
    members = [before.systems.index(run) for run in runs]
    n_topics = len(before.topics)
    ones = np.ones((1, n_topics))
    tau, drop = _tau_and_drop(before, after, members, ones)
    unknown = (math.nan, math.nan)
    if n_topics < 2:
        return GroupEffect(before.measure, float(tau[0]), unknown, float(drop[0]), unknown)
    counts = (
        np.random.default_rng(seed)
        .multinomial(n_topics, np.full(n_topics, 1 / n_topics), n_resamples)
        .astype(np.float64)
    )
    tail = (1 - before.level) / 2
    intervals = [
        tuple(np.quantile(replicates[np.isfinite(replicates)], [tail, 1 - tail]).tolist())
        if np.isfinite(replicates).mean() > 0.95
        else unknown
        for replicates in _tau_and_drop(before, after, members, counts)
    ]
    return GroupEffect(before.measure, float(tau[0]), intervals[0], float(drop[0]), intervals[1])


def _tau_and_drop(
    before: SystemTopicScores, after: SystemTopicScores, members: Sequence[int], counts: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return τ and the largest drop with topics counted ``counts`` times, one row per replicate."""
    means = []
    for scores in (before, after):
        defined = ~np.isnan(scores.values)
        with np.errstate(invalid="ignore"):
            mean = counts @ np.where(defined, scores.values, 0.0) / (counts @ defined)
        means.append(np.round(mean if scores.higher_is_better else -mean, 12))
    undefined = np.asarray(np.isnan(np.hstack(means)).any(axis=1))
    filled = [np.where(undefined[:, None], 0.0, mean) for mean in means]
    tau = np.array([correlation(a, b) for a, b in zip(*filled, strict=True)])
    first, second = (omnibus.ranks(mean)[:, members] for mean in filled)
    drop = (second - first).max(axis=1)
    return np.where(undefined, np.nan, tau), np.where(undefined, np.nan, drop)


def leave_one_group_out(
    judgments: Judgments,
    rankings: Rankings,
    groups: Mapping[str, str] | None = None,
    *,
    depth: Depth | None = None,
    measures: Sequence[str] = MEASURES,
    rel: int = 1,
    level: float = 0.95,
    n_resamples: int = 1000,
    seed: int = 0,
) -> list[LeaveOneGroupOut]:
    """Evaluate the systems under the judgments that would exist without each group.

    A system that keeps its value and its rank without its own contribution to the pool indicates
    that the collection is reusable for new systems. All runs of a group are left out together,
    because they contribute to the judgments of each other.

    Parameters
    ----------
    judgments : mapping
        Grades by topic and document; negative ones are not judgments.
    rankings : mapping
        Rankings of all runs (:func:`~calipers.campaign.runs.read_rankings`).
    groups : mapping of str to str, optional
        Group of each run. By default each run is a group.
    depth : int or "all", optional
        Rank down to which the runs were pooled. By default all retrieved documents. Judged
        documents that no run has there are kept.
    measures : sequence of str
        Measures with a direction, averaged over topics.
    rel : int, default=1
        Lowest relevant grade, to count relevant documents.
    level : float, default=0.95
        Confidence level of the tests of pairs (randomized Tukey HSD), and of intervals.
    n_resamples : int, default=1000
        Number of bootstrap replicates of the topics.
    seed : int, default=0
        Seed of the random draws.

    Returns
    -------
    list of LeaveOneGroupOut
        Result for each group.

    Raises
    ------
    InputError
        If there is only one group.

    Notes
    -----
    Rank correlation alone is misleading, because it does not say whether the systems that change
    ranks differed significantly before. The changes of significant pairs are therefore reported
    (Otero, Parapar and Ferro 2023). The method is that of Zobel (1998) and Buckley, Dimmick,
    Soboroff and Voorhees (2007).

    Examples
    --------
    >>> rankings = {"a": {"1": ["x", "y"]}, "b": {"1": ["z", "x"]}}
    >>> first, second = leave_one_group_out({"1": {"x": 1, "z": 1}}, rankings, measures=["AP"])
    >>> second.group, second.relevant, second.changes[0].values["b"]
    ('b', 1, (1.0, 0.5))
    """
    runs_by_group = group_runs(rankings, groups)
    if len(runs_by_group) < 2:
        raise InputError(
            "groups: there is only one; expected two or more, as one is left out at a time"
        )
    groups_by_topic = {t: groups_by_document(rankings, runs_by_group, t, depth) for t in judgments}
    before, results = score_systems(judgments, rankings, measures, level), []
    for group, runs in runs_by_group.items():
        unique_by_topic = {
            topic: {
                d
                for d, grade in grades.items()
                if grade >= 0 and groups_by_topic[topic].get(d) == {group}
            }
            for topic, grades in judgments.items()
        }
        after = score_systems(
            remove_judgments(judgments, unique_by_topic), rankings, measures, level
        )
        relevant = sum(
            judgments[t][d] >= rel for t, documents in unique_by_topic.items() for d in documents
        )
        n_unique = sum(map(len, unique_by_topic.values()))
        results.append(
            LeaveOneGroupOut(
                group,
                runs,
                n_unique,
                relevant,
                tuple(ranking_changes(before, after)),
                tuple(
                    group_effect(before[name], after[name], runs, n_resamples, seed)
                    for name in before
                ),
            )
        )
    return results


# --- Sparse judgments -----------------------------------------------------------------------------


@dataclass(frozen=True)
class SparseJudgments:
    """Effect of sparse judgments on the ranking of systems by one measure.

    Few relevant documents of each topic are known. The values are means over random draws of them.
    ``no_longer_significant`` and ``reversed`` are the numbers of pairs that differ significantly by
    all judgments, and no longer do, or do in the opposite direction; ``value`` is the mean over
    systems, before and after.
    """

    measure: str
    relevant: int
    tau: float
    tau_ap: float
    worst_tau: float
    pairs: int
    no_longer_significant: float
    reversed: float
    value: tuple[float, float]


def sparse_judgments(
    judgments: Judgments,
    rankings: Rankings,
    n_relevant: Sequence[int] = (1, 2, 5),
    *,
    measures: Sequence[str] = MEASURES,
    found_by_run: str | None = None,
    rel: int = 1,
    draws: int = 20,
    seed: int = 0,
    level: float = 0.95,
) -> list[SparseJudgments]:
    """Evaluate the effect of sparse judgments on the ranking of systems.

    Few relevant documents of each topic are known, and all others count as non-relevant, as in
    collections with few judgments of many topics. (With dense judgments, all retrieved documents
    are judged.)

    Parameters
    ----------
    judgments, rankings, measures, rel, level
        See :func:`leave_one_group_out`.
    n_relevant : sequence of int, default=(1, 2, 5)
        Numbers of relevant documents of a topic that stay known.
    found_by_run : str, optional
        Run whose first relevant documents stay known. By default they are drawn at random. Judging
        the documents of one system is biased in its favor.
    draws : int, default=20
        Number of random draws.
    seed : int, default=0
        Seed of the random draws.

    Returns
    -------
    list of SparseJudgments
        Result for each number and each measure.

    Examples
    --------
    >>> rankings = {"a": {"1": ["x", "y"]}, "b": {"1": ["z", "x"]}}
    >>> judgments = {"1": {"x": 1, "y": 1, "z": 0}}
    >>> [item] = sparse_judgments(judgments, rankings, [1], measures=["P@2"], found_by_run="a")
    >>> item.value, item.tau
    ((0.75, 0.5), 0.0)
    """
    if found_by_run is not None and found_by_run not in rankings:
        raise InputError(f"there is no run {found_by_run!r}; there are {', '.join(rankings)}")
    before, results = score_systems(judgments, rankings, measures, level), []
    check_min_int(draws, "draws")
    for n_known in n_relevant:
        check_min_int(n_known, "relevant")
        changes_by_measure = dict[str, list[RankingChange]]()
        for draw_index in range(1 if found_by_run is not None else draws):
            random = np.random.default_rng([seed, n_known, draw_index])
            first = None if found_by_run is None else rankings[found_by_run]
            sampled = _sample_relevant(judgments, n_known, rel, random, first)
            for change in ranking_changes(
                before, score_systems(sampled, rankings, measures, level)
            ):
                changes_by_measure.setdefault(change.measure, []).append(change)
        results += [
            _average_draws(name, n_known, changes) for name, changes in changes_by_measure.items()
        ]
    return results


def _sample_relevant(
    judgments: Judgments,
    n_known: int,
    rel: int,
    random: np.random.Generator,
    ranking: Mapping[str, Sequence[str]] | None,
) -> dict[str, dict[str, int]]:
    """Return judgments with ``n_known`` relevant documents per topic."""
    sampled = {}
    for topic, grades in judgments.items():
        relevant = sorted(d for d, grade in grades.items() if grade >= rel)
        if ranking is None:
            order = [relevant[i] for i in random.permutation(len(relevant))]
        else:
            rank = {d: r for r, d in enumerate(ranking.get(topic, ()))}
            order = sorted(relevant, key=lambda d: (rank.get(d, len(rank)), d))
        retained = set(order[:n_known])
        sampled[topic] = {d: grade if d in retained else -1 for d, grade in grades.items()}
    return sampled


def _average_draws(name: str, number: int, changes: Sequence[RankingChange]) -> SparseJudgments:
    tau = [change.tau for change in changes]
    first = changes[0]
    values = [[pair[k] for pair in change.values.values()] for change in changes for k in (0, 1)]
    return SparseJudgments(
        name,
        number,
        float(np.mean(tau)),
        float(np.mean([change.tau_ap for change in changes])),
        min(tau),
        sum(map(len, (first.still_significant, first.no_longer_significant, first.reversed))),
        float(np.mean([len(change.no_longer_significant) for change in changes])),
        float(np.mean([len(change.reversed) for change in changes])),
        (float(np.mean(values[::2])), float(np.mean(values[1::2]))),
    )


# --- Topics ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Separation:
    """Discriminative power of the topics by one measure.

    ``separated`` of ``pairs`` of systems differ significantly. ``detectable`` is the difference
    that can be detected with 80% power (paired t-test, median standard deviation of the
    differences; NaN if it exceeds the range of the measure). ``needed`` are the numbers of topics
    that half of the pairs, and four fifths of them, need for their observed differences; None if
    these are zero. ``by_topics`` has for smaller numbers of topics the proportion of significantly
    different pairs with random topics, and τ with the ranking by all topics. ``p_values`` are those
    of all pairs, descending: the achieved significance levels, whose curve shows discriminative
    power at every level (Sakai 2006). ``difference_needed`` is the smallest significant difference;
    NaN if there is none. ``swaps`` are the swaps of pairs between halves of the topics; None with
    fewer than four topics.
    """

    measure: str
    topics: int
    pairs: int
    separated: int
    detectable: float
    needed: tuple[int | None, int | None]
    by_topics: tuple[tuple[int, float, float], ...]
    p_values: tuple[float, ...] = ()
    difference_needed: float = math.nan
    swaps: SwapRates | None = None


@dataclass(frozen=True)
class SwapRates:
    """How often the order of two systems on one half of the topics is reversed on the other half.

    ``topics`` is the number of topics of each half. ``rate`` is the proportion of reversed pairs,
    over all pairs and random divisions of the topics. ``bins`` have the lower edge of a range of
    differences on the first half, the number of pairs there, and the proportion reversed.
    ``difference_needed`` is the edge from which at most 5% are reversed in every range; NaN if
    there is none. ``sensitivity`` is the proportion of pairs that differ by as much.
    """

    topics: int
    rate: float
    bins: tuple[tuple[float, int, float], ...]
    difference_needed: float
    sensitivity: float


#: Standard deviation that is possible for every measure, at which the detectable difference is
#: computed.
_REFERENCE_SD = 0.1

#: Minimum number of topics for paired t-tests.
_MIN_TOPICS = 5

#: Random divisions of the topics into halves, the number of ranges of differences (each a hundredth
#: of the range of the measure; the last one has all larger differences), and the largest proportion
#: of reversed pairs.
_N_DIVISIONS, _N_BINS, _MAX_SWAP_RATE = 100, 21, 0.05


def discriminative_power(
    judgments: Judgments,
    rankings: Rankings,
    *,
    measures: Sequence[str] = MEASURES,
    draws: int = 10,
    seed: int = 0,
    level: float = 0.95,
) -> list[Separation]:
    """Compute the discriminative power of the topics.

    Pairs of systems are tested by the randomized Tukey HSD, on all topics and on random subsets of
    them. Topics on which a system has no value are excluded. The topics are also divided into
    halves at random, to count how often two systems have another order on the other half.

    Parameters
    ----------
    judgments, rankings, measures, level
        See :func:`leave_one_group_out`.
    draws : int, default=10
        Number of random subsets of each size.
    seed : int, default=0
        Seed of the random subsets.

    Returns
    -------
    list of Separation
        Discriminative power by each measure.

    References
    ----------
    Sakai (2006). Evaluating evaluation metrics based on the bootstrap. SIGIR.

    Voorhees and Buckley (2002). The effect of topic set size on retrieval experiment error. SIGIR.

    Examples
    --------
    >>> rankings = {name: {str(t): list(name) for t in range(9)} for name in ("xy", "yx")}
    >>> judgments = {str(t): {"x": 1} for t in range(9)}
    >>> [result] = discriminative_power(judgments, rankings, measures=["RR"])
    >>> result.separated, result.needed, round(result.p_values[0], 4), result.swaps.rate
    (1, (5, 5), 0.0039, 0.0)
    """
    return [
        _separation(scores, check_min_int(draws, "draws"), seed)
        for scores in score_systems(judgments, rankings, measures, level).values()
    ]


def _separation(scores: SystemTopicScores, draws: int, seed: int) -> Separation:
    values = scores.values[~np.isnan(scores.values).any(axis=1)]
    n_topics, k = values.shape
    pairs = list(combinations(range(k), 2))
    steps, random = [], np.random.default_rng(seed)
    for size in [n for n in (5, 10, 20, 25, 50, 75, 100, 150, 200, 300, 500) if n < n_topics]:
        subsets = [
            SystemTopicScores(
                scores.measure, scores.topics, scores.systems,
                values[random.permutation(n_topics)[:size]], scores.higher_is_better, scores.level,
            )
            for _ in range(draws)
        ]  # fmt: skip
        proportion = (
            np.mean([len(subset.significant_pairs) / len(pairs) for subset in subsets])
            if pairs
            else math.nan
        )
        tau = np.mean([correlation(scores.signed_means, subset.signed_means) for subset in subsets])
        steps.append((size, float(proportion), float(tau)))
    differences = np.array([values[:, i] - values[:, j] for i, j in pairs]).reshape(
        len(pairs), n_topics
    )
    detectable, needed = _n_topics_needed(scores, differences)
    return Separation(
        scores.measure,
        n_topics,
        len(pairs),
        len(scores.significant_pairs),
        detectable,
        needed,
        tuple(steps),
        descending_levels(float(scores.p[i, j]) for i, j in pairs),
        scores.tukey.critical_difference,
        swap_rates(values, _swap_width(scores), seed),
    )


def _swap_width(scores: SystemTopicScores) -> float:
    """Return the width of a range of differences: a hundredth of that of the measure."""
    low, high = parse(scores.measure, ("retrieval",)).definition.range
    if math.isfinite(high - low):
        return float(high - low) / 100
    return float(np.ptp(scores.means)) / (_N_BINS - 1) or 1.0


def swap_rates(
    values: FloatArray, width: float, seed: int = 0, divisions: int = _N_DIVISIONS
) -> SwapRates | None:
    """Compute how often pairs of systems change their order between halves of the topics.

    Parameters
    ----------
    values : ndarray of shape (n_topics, n_systems)
        Values of the systems on the topics.
    width : float
        Width of a range of differences.
    seed : int, default=0
        Seed of the random divisions.
    divisions : int, default=100
        Number of random divisions into two halves of equal size.

    Returns
    -------
    SwapRates or None
        Result; None with fewer than four topics, or fewer than two systems.

    References
    ----------
    Voorhees and Buckley (2002). The effect of topic set size on retrieval experiment error. SIGIR.

    Examples
    --------
    >>> table = np.array([[0.5, 0.4], [0.6, 0.4], [0.7, 0.6], [0.3, 0.1]])
    >>> swap_rates(table, 0.01).rate
    0.0
    """
    n_topics, k = values.shape
    half = n_topics // 2
    if half < 2 or k < 2:
        return None
    random, (first, second) = np.random.default_rng(seed), np.triu_indices(k, 1)
    differences = np.empty((2, divisions, len(first)))
    for division in range(divisions):
        order = random.permutation(n_topics)
        for side, topics in enumerate((order[:half], order[half : 2 * half])):
            means = values[topics].mean(axis=0)
            differences[side, division] = means[first] - means[second]
    differences[np.abs(differences) < TOLERANCE] = 0.0
    size = np.abs(differences[0]).ravel()
    swapped = (differences[0] * differences[1] < 0).ravel()
    bin_codes = np.minimum(((size + TOLERANCE) / width).astype(np.intp), _N_BINS - 1)
    counts = np.bincount(bin_codes, minlength=_N_BINS)
    n_swapped = np.bincount(bin_codes[swapped], minlength=_N_BINS)
    bins = tuple(
        (width * b, int(counts[b]), float(n_swapped[b] / counts[b]))
        for b in range(_N_BINS)
        if counts[b]
    )
    too_often = [b for b, (_, _, rate) in enumerate(bins) if rate > _MAX_SWAP_RATE]
    reliable = bins[too_often[-1] + 1 :] if too_often else bins
    return SwapRates(
        half,
        float(swapped.mean()),
        bins,
        reliable[0][0] if reliable else math.nan,
        sum(n for _, n, _ in reliable) / len(size),
    )


def _n_topics_needed(
    scores: SystemTopicScores, differences: FloatArray
) -> tuple[float, tuple[int | None, int | None]]:
    """Return the detectable difference, and the numbers of topics for 1/2 and 4/5 of the pairs."""
    if not differences.size or differences.shape[1] < 2:
        return math.nan, (None, None)
    mean, sd = np.abs(differences.mean(axis=1)), differences.std(axis=1, ddof=1)
    # If the difference is the same on every topic, the fewest topics are enough.
    effect = np.where(mean > TOLERANCE, mean / np.maximum(sd, TOLERANCE), 0.0)
    effect = np.sort(effect)[::-1]
    needed = [
        _n_topics_for_effect(scores, effect[math.ceil(proportion * len(effect)) - 1])
        for proportion in (0.5, 0.8)
    ]
    return _detectable(scores, sd, differences.shape[1]), (needed[0], needed[1])


def _detectable(scores: SystemTopicScores, sd: FloatArray, n_topics: int) -> float:
    """Return the difference that is detected with 80% power, for the median standard deviation."""
    median_sd = float(np.median(sd))
    if not median_sd > TOLERANCE:
        return math.nan
    # (The detectable difference is a multiple of the standard deviation, which may be greater with
    # few topics than a measure permits. So it is computed for a small one.)
    detectable = plan(
        scores.measure, sd=_REFERENCE_SD, n=n_topics, level=scores.level
    ).min_detectable
    detectable *= median_sd / _REFERENCE_SD
    low, high = parse(scores.measure, ("retrieval",)).definition.range
    return math.nan if detectable > high - low else float(detectable)


def _n_topics_for_effect(scores: SystemTopicScores, effect: float) -> int | None:
    """Return the number of topics that detect a standardized difference with 80% power."""
    if not effect > 1e-3:
        return None
    # (Only the ratio of difference and standard deviation matters. Both are below 1, for measures
    # in [0, 1].)
    scale = 0.5 / max(1.0, effect)
    return max(
        _MIN_TOPICS, plan(scores.measure, sd=scale, difference=effect * scale, level=scores.level).n
    )


@dataclass(frozen=True)
class TopicSeparation:
    """Discriminative power of one topic by one measure.

    ``kind`` is "separates", or the reason why it does not: "alike" (all systems have the same
    value), "easy" (all have the highest value of any system on any topic), "hard" (all have the
    value 0), or "undefined" (there is no relevant document). ``agrees`` is τ between the ranking
    on this topic and that on all others.
    """

    topic: str
    kind: str
    mean: float
    spread: float
    agrees: float


def classify_topics(
    judgments: Judgments, rankings: Rankings, measure: str = "AP", *, tolerance: float = 0.0
) -> list[TopicSeparation]:
    """Classify topics by whether they separate the systems.

    On an easy topic all systems do well, and on a hard one all fail.

    Parameters
    ----------
    judgments, rankings
        See :func:`leave_one_group_out`.
    measure : str, default="AP"
        Measure with a direction, averaged over topics.
    tolerance : float, default=0.0
        Largest difference between the best and the worst system on a topic that counts as not
        separating them.

    Returns
    -------
    list of TopicSeparation
        Class of each topic.

    Examples
    --------
    >>> rankings = {"a": {"1": ["x"], "2": ["x"]}, "b": {"1": ["x"], "2": ["y", "x"]}}
    >>> classes = classify_topics({"1": {"x": 1}, "2": {"x": 1}}, rankings, "RR")
    >>> [(item.topic, item.kind) for item in classes]
    [('1', 'easy'), ('2', 'separates')]
    """
    [scores] = score_systems(judgments, rankings, [measure]).values()
    values = scores.values if scores.higher_is_better else -scores.values
    best, results = float(np.nanmax(values, initial=-math.inf)), []
    for index, topic in enumerate(scores.topics):
        row, others = values[index], np.delete(values, index, axis=0)
        if np.isnan(row).any() or max(judgments[topic].values(), default=0) < 1:
            results.append(TopicSeparation(topic, "undefined", math.nan, math.nan, math.nan))
            continue
        spread = float(np.ptp(row))
        others = others[~np.isnan(others).any(axis=1)]
        agrees = correlation(others.mean(axis=0), row) if len(others) and len(row) > 1 else math.nan
        kind = "separates"
        if spread <= tolerance + TOLERANCE:
            kind = _difficulty(row, best, tolerance, has_worst=scores.higher_is_better)
        results.append(
            TopicSeparation(topic, kind, float(scores.values[index].mean()), spread, agrees)
        )
    return results


def _difficulty(row: Any, best: float, tolerance: float, *, has_worst: bool) -> str:
    """Return the class of a topic of equal values; with ``has_worst``, the worst value is 0."""
    if has_worst and row.max() <= tolerance + TOLERANCE and row.min() >= -TOLERANCE:
        return "hard"
    return "easy" if row.min() >= best - tolerance - TOLERANCE else "alike"
