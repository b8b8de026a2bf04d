"""Inter-assessor agreement, its effect on the ranking of systems, and documents to adjudicate.

Grades are given as ``{assessor: {topic: {document: grade}}}``. Agreement in general is measured by
:func:`calipers.agreement`; this module adds what a test collection needs. κ, α and similar
coefficients depend on the proportion of relevant documents, and so on the depth of the pool:
values for pools of different depths cannot be compared.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np

from calipers.campaign.records import Preference
from calipers.campaign.runs import Judgments, Rankings, check_min_int
from calipers.campaign.system_scores import (
    MEASURES,
    RankingChange,
    SystemTopicScores,
    correlations,
    ranking_changes,
    score_systems,
)
from calipers.campaign.workflow import hash_draw
from calipers.data.ratings import read_ratings
from calipers.evaluate.agreement import agreement as agreement_of_raters
from calipers.inference import bayesian_bootstrap
from calipers.inference.intervals import normal_quantile, student_se
from calipers.inference.transformations import TRANSFORMATIONS
from calipers.lazy_dataclasses import dataclass
from calipers.measures import parse
from calipers.measures.rater_agreement import counted_item_mask, item_influence
from calipers.results import Evaluation
from calipers.statistics import FloatArray, Ratings

#: Grades by assessor, topic and document.
Grades: TypeAlias = Mapping[str, Judgments]

#: Default measures. (Fleiss' κ is only defined if all documents have the same number of grades.)
DEFAULT_MEASURES = ("Krippendorff-alpha", "percent-agreement", "Gwet-AC1", "Fleiss-kappa")

#: With fewer topics, intervals over topics are too narrow.
MIN_TOPICS = 10


class AssessorGrade(Protocol):
    """Grade given by an assessor."""

    @property
    def assessor(self) -> str:
        """Name of the assessor."""

    @property
    def topic(self) -> str:
        """Id of the topic."""

    @property
    def document(self) -> str:
        """Id of the document."""

    @property
    def grade(self) -> int:
        """Grade of the document."""


def grades_by_assessor(judgments: Iterable[AssessorGrade]) -> dict[str, dict[str, dict[str, int]]]:
    """Return the grades of each assessor, by topic and document."""
    grades: dict[str, dict[str, dict[str, int]]] = {}
    for judgment in judgments:
        grades.setdefault(judgment.assessor, {}).setdefault(judgment.topic, {})[
            judgment.document
        ] = judgment.grade
    return grades


def preference_grades(preferences: Iterable[Preference]) -> dict[str, dict[str, dict[str, int]]]:
    """Return the preferences of each assessor, by topic and pair, as grades.

    2 is a preference for one document, 0 for the other, and 1 for neither. Which document has 2 is
    drawn for each pair, so that chance agreement does not depend on the order of names.

    Parameters
    ----------
    preferences : iterable of Preference
        Current preferences.

    Returns
    -------
    dict
        Grades as ``{assessor: {topic: {pair: grade}}}``.
    """
    grades: dict[str, dict[str, dict[str, int]]] = {}
    for entry in preferences:
        pair = sorted((entry.document, entry.other_document))
        if hash_draw(0, "agreement", entry.topic, *pair) % 2:
            pair.reverse()
        sign = 1 if pair[0] == entry.document else -1
        topics = grades.setdefault(entry.assessor, {})
        topics.setdefault(entry.topic, {})["\t".join(pair)] = 1 + sign * entry.grade
    return grades


def _columns(grades: Grades) -> dict[str, list[Any]]:
    """Return the grades in columns, one row per grade; an item is a document of a topic."""
    rows = [
        (f"{topic}\t{document}", assessor, grade, topic)
        for assessor, judgments in grades.items()
        for topic, documents in judgments.items()
        for document, grade in documents.items()
        if grade >= 0
    ]
    columns = map(list, zip(*rows, strict=True)) if rows else ([], [], [], [])
    return dict(zip(("item", "assessor", "grade", "topic"), columns, strict=True))


def agreement(grades: Grades, **options: Any) -> Evaluation:
    """Measure inter-assessor agreement on the documents that two or more assessors judged.

    The measures are Krippendorff's α on the ordinal scale, percent agreement (the proportion of
    pairs of grades that agree), Gwet's AC1 and Fleiss' κ, with intervals for a population of
    documents. The tables of the result have Cohen's κ for each pair of assessors (with weights 1 −
    d², where d is the distance of the grades), and α without each assessor. If no document was
    judged by two assessors, all measures are undefined; they are not set to 1.

    Parameters
    ----------
    grades : mapping
        Grades as ``{assessor: {topic: {document: grade}}}``.
    **options
        Options of :func:`calipers.agreement`.

    Returns
    -------
    Evaluation
        Measures of agreement.

    Raises
    ------
    InputError
        If there are fewer than two assessors.

    Examples
    --------
    >>> ann, ben = {"1": {"x": 0, "y": 2, "z": 1}}, {"1": {"x": 0, "y": 2, "z": 2}}
    >>> result = agreement({"ann": ann, "ben": ben}, interval="none")
    >>> round(result["Krippendorff-alpha"].value, 4), round(result["percent-agreement"].value, 4)
    (0.7778, 0.6667)
    >>> disagreement = agreement({"ann": ann, "ben": {"2": {"x": 1}}})
    >>> disagreement["percent-agreement"].value, dict(disagreement["percent-agreement"].undefined)
    (nan, {'no_shared_item': 4})
    """
    options = {"scale": "ordinal", "measures": list(DEFAULT_MEASURES)} | options
    return agreement_of_raters(
        _columns(grades), item="item", rater="assessor", rating="grade", **options
    )


@dataclass(frozen=True)
class TopicLevelAgreement:
    """Agreement with an interval for a population of topics.

    ``n_topics`` is the number of topics with a document that two assessors judged. ``caution`` says
    why the interval may be too short.
    """

    measure: str
    value: float
    low: float
    high: float
    n_topics: int
    n_items: int
    caution: str = ""


def topic_level_agreement(
    grades: Grades, measure: str = "Krippendorff-alpha(scale='ordinal')", *, level: float = 0.95
) -> TopicLevelAgreement:
    """Measure inter-assessor agreement with an interval for a population of topics.

    Documents of one topic are judged with the same narrative in mind, so that assessors who
    understand it differently disagree on many of them. An interval over documents is then too
    short.

    Parameters
    ----------
    grades : mapping
        Grades as ``{assessor: {topic: {document: grade}}}``.
    measure : str, default="Krippendorff-alpha(scale='ordinal')"
        Measure of agreement.
    level : float, default=0.95
        Confidence level.

    Returns
    -------
    TopicLevelAgreement
        Value and interval.

    Notes
    -----
    Each topic contributes the influence of its documents on the value. The limits are those of
    Student's t for the logarithm of 1 − value, which is a ratio of two sums, and at least as far
    from the value as those of the Bayesian bootstrap of topics. The bootstrap adds half a unit
    somewhat below the worst topic, because the spread is uninformative if no two topics differ.
    (At the lower end of the range, −1, half a unit would pull both limits down: for six topics
    without much disagreement the upper limit would be below the true value one time in ten, and
    the lower limit never above it.)

    Examples
    --------
    >>> ann = {str(t): {"x": 0, "y": t % 3, "z": 1} for t in range(20)}
    >>> ben = {str(t): {"x": 0, "y": t % 2, "z": 1} for t in range(20)}
    >>> result = topic_level_agreement({"ann": ann, "ben": ben})
    >>> round(result.value, 3), round(result.low, 3), round(result.high, 3), result.n_topics
    (0.597, 0.325, 0.772, 20)
    """
    parsed_measure, columns = parse(measure, ("agreement",)), _columns(grades)
    names = {"item": "item", "rater": "assessor", "rating": "grade"}
    rated_items = read_ratings(columns, {"": None}, None, names, {"topic": "slices"})
    ratings = Ratings.from_codes(
        rated_items.codes, rated_items.categories.names, rated_items.categories.numbers
    )
    value, influence = float(parsed_measure.apply(ratings)), item_influence(parsed_measure, ratings)
    topic_names = np.array(rated_items.rows.column("topic").to_pylist())[
        counted_item_mask(parsed_measure, ratings)
    ]
    topics, topic_codes = np.unique(topic_names, return_inverse=True)
    n_topics, items = len(topics), len(topic_names)
    if math.isnan(value) or influence is None or n_topics < 2:
        caution = "one topic only" if n_topics == 1 else ""
        return TopicLevelAgreement(
            str(parsed_measure), value, math.nan, math.nan, n_topics, items, caution
        )
    topic_influence = np.bincount(topic_codes.reshape(-1), influence, n_topics) * n_topics / items
    low, high = _topic_mean_interval(
        value, value + topic_influence, parsed_measure.definition.range, level
    )
    few_topics_caution = f"{n_topics} topics only" if n_topics < MIN_TOPICS else ""
    return TopicLevelAgreement(
        str(parsed_measure), value, low, high, n_topics, items, few_topics_caution
    )


def _topic_mean_interval(
    value: float, topic_values: FloatArray, value_range: tuple[float, float], level: float
) -> tuple[float, float]:
    """Return the limits for the mean over topics: for each limit the wider one of two methods."""
    lowest, highest = value_range
    reached = highest - bayesian_bootstrap.endpoint_distance(
        highest - topic_values, highest - lowest
    )
    interval = bayesian_bootstrap.mean_interval(
        topic_values, (max(lowest, reached), highest), level
    )
    if not value < 1:
        return interval.low, interval.high
    n_topics = len(topic_values)
    se = student_se(float(topic_values.std(ddof=1)) / math.sqrt(n_topics), n_topics - 1, level)
    low, high = TRANSFORMATIONS["rest"].symmetric_limits(value, normal_quantile(level) * se)
    return max(lowest, min(low, interval.low)), max(high, interval.high)


def intra_assessor_agreement(
    first: Grades, second: Grades, *, level: float = 0.95
) -> dict[str, tuple[float, float, float, int]]:
    """Measure intra-assessor agreement of the assessors who judged documents a second time.

    Parameters
    ----------
    first, second : mapping
        Grades of the first and of the second judgments, as ``{assessor: {topic: {document:
        grade}}}``.
    level : float, default=0.95
        Confidence level.

    Returns
    -------
    dict of str to tuple
        For each assessor the proportion of identical grades, the limits of its interval, and the
        number of documents. It limits what can be expected of the agreement with others.

    Examples
    --------
    >>> first, second = {"1": {"x": 1, "y": 0}}, {"1": {"x": 1, "y": 2}}
    >>> result = intra_assessor_agreement({"ann": first}, {"ann": second})
    >>> result["ann"][0], result["ann"][3]
    (0.5, 2)
    """
    agreement_by_assessor = {}
    for assessor, second_grades in second.items():
        grades_by_occasion = {"first": first.get(assessor, {}), "second": second_grades}
        if not any(grades_by_occasion.values()) or not all(grades_by_occasion.values()):
            continue
        evaluation = agreement(grades_by_occasion, measures=["percent-agreement"], level=level)
        estimate = evaluation["percent-agreement"]
        agreement_by_assessor[assessor] = estimate.value, estimate.low, estimate.high, estimate.n
    return agreement_by_assessor


# --- Disagreements --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Disagreement:
    """Document on which assessors disagree.

    ``grade_difference`` is the difference between the highest and the lowest grade. ``crosses``
    says that one assessor finds the document relevant and another does not. ``decided`` is the
    grade of an adjudicator.
    """

    topic: str
    document: str
    grades: Mapping[str, int]
    grade_difference: int
    crosses: bool
    decided: int | None = None


def disagreements(
    grades: Grades,
    decided: Judgments | None = None,
    *,
    min_difference: int = 1,
    rel: int = 1,
    include_adjudicated: bool = False,
) -> list[Disagreement]:
    """Return the documents to adjudicate.

    Parameters
    ----------
    grades : mapping
        Grades as ``{assessor: {topic: {document: grade}}}``.
    decided : mapping, optional
        Grades of adjudicators, by topic and document.
    min_difference : int, default=1
        Minimum difference between the highest and the lowest grade.
    rel : int, default=1
        Lowest relevant grade.
    include_adjudicated : bool, default=False
        Whether to include documents that an adjudicator has decided.

    Returns
    -------
    list of Disagreement
        Documents that one assessor finds relevant and another does not come first, then those with
        the largest differences.

    Examples
    --------
    >>> result = disagreements({"ann": {"1": {"x": 0, "y": 2}}, "ben": {"1": {"x": 1, "y": 3}}})
    >>> [(item.document, item.grade_difference, item.crosses) for item in result]
    [('x', 1, True), ('y', 1, False)]
    """
    check_min_int(min_difference, "min_difference")
    grades_by_document: dict[tuple[str, str], dict[str, int]] = {}
    for assessor in sorted(grades):
        for topic, documents in grades[assessor].items():
            for document, grade in documents.items():
                if grade >= 0:
                    grades_by_document.setdefault((topic, document), {})[assessor] = grade
    disputed = []
    for (topic, document), document_grades in grades_by_document.items():
        low, high = min(document_grades.values()), max(document_grades.values())
        final = (decided or {}).get(topic, {}).get(document)
        if high - low >= min_difference and (final is None or include_adjudicated):
            disputed.append(
                Disagreement(topic, document, document_grades, high - low, low < rel <= high, final)
            )
    return sorted(disputed, key=lambda d: (not d.crosses, -d.grade_difference, d.topic, d.document))


# --- Effect on the ranking of systems -------------------------------------------------------------


@dataclass(frozen=True)
class RankingStability:
    """Stability of the ranking of systems by one measure under the choice of assessors.

    For each topic that two or more assessors judged, one of them is chosen at random in each of
    ``n_draws`` draws. ``tau`` and ``tau_ap`` are the mean correlations with the ranking by the
    final grades, and ``tau_low`` and ``tau_high`` are the limits of the middle 95% of τ.
    ``n_rankings`` is the number of different rankings, ``n_significant_pairs`` the number of pairs
    of systems that differ significantly by the final grades, and ``reversed_pairs`` are those pairs
    whose order is reversed in some draw.
    """

    measure: str
    n_topics: int
    n_draws: int
    tau: float
    tau_low: float
    tau_high: float
    tau_ap: float
    n_rankings: int
    n_significant_pairs: int
    reversed_pairs: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class AssessorSwap:
    """Rankings of systems by the final grades, and by those of one assessor where available."""

    assessor: str
    n_topics: int
    changes: tuple[RankingChange, ...]


def swap_assessors(
    grades: Grades,
    final: Judgments,
    rankings: Rankings,
    *,
    measures: Sequence[str] = MEASURES,
    level: float = 0.95,
) -> list[AssessorSwap]:
    """Compare the ranking of systems by each assessor's grades with that by the final grades.

    The topics are those of which the assessor judged a document. Documents that the assessor did
    not judge have their final grades. Topics that nobody else judged are excluded.

    Parameters
    ----------
    grades : mapping
        Grades as ``{assessor: {topic: {document: grade}}}``.
    final : mapping
        Final grades, by topic and document.
    rankings : mapping
        Rankings of the runs (:func:`~calipers.campaign.runs.read_rankings`).
    measures : sequence of str
        Measures with a direction, averaged over topics.
    level : float, default=0.95
        Confidence level of the tests of pairs.

    Returns
    -------
    list of AssessorSwap
        Changes for each assessor.

    Examples
    --------
    >>> ann, ben = {"1": {"x": 1, "y": 0}}, {"1": {"x": 0, "y": 1}}
    >>> runs = {"a": {"1": ["x", "y"]}, "b": {"1": ["y", "x"]}}
    >>> result = swap_assessors({"ann": ann, "ben": ben}, ann, runs, measures=["RR"])
    >>> [(item.assessor, item.changes[0].tau) for item in result]
    [('ann', 1.0), ('ben', -1.0)]
    """
    shared_topics, swaps = _shared_topics(grades), []
    for assessor in sorted(grades):
        assessor_grades = {
            topic: {**final.get(topic, {}), **grades[assessor][topic]}
            for topic in shared_topics
            if topic in grades[assessor]
        }
        if not assessor_grades:
            continue
        before = score_systems(
            {t: final.get(t, topic_grades) for t, topic_grades in assessor_grades.items()},
            rankings,
            measures,
            level,
        )
        after = score_systems(assessor_grades, rankings, measures, level)
        swaps.append(
            AssessorSwap(assessor, len(assessor_grades), tuple(ranking_changes(before, after)))
        )
    return swaps


def _shared_topics(grades: Grades) -> list[str]:
    """Return the topics that two or more assessors judged."""
    n_by_topic = Counter(
        topic
        for judgments in grades.values()
        for topic, documents in judgments.items()
        if documents
    )
    return sorted(topic for topic, n_assessors in n_by_topic.items() if n_assessors > 1)


def ranking_stability(
    grades: Grades,
    final: Judgments,
    rankings: Rankings,
    *,
    measures: Sequence[str] = MEASURES,
    n_draws: int = 1000,
    seed: int = 0,
    level: float = 0.95,
) -> list[RankingStability]:
    """Measure the stability of the ranking of systems under random choices of assessors.

    In each draw every topic that several assessors judged is assigned to one of them at random
    (Voorhees 2000).

    Parameters
    ----------
    grades, final, rankings, measures, level
        See :func:`swap_assessors`.
    n_draws : int, default=1000
        Number of random draws.
    seed : int, default=0
        Seed of the random draws.

    Returns
    -------
    list of RankingStability
        Stability by each measure; empty if no topic has two assessors.

    Examples
    --------
    >>> ann, ben = {"1": {"x": 1, "y": 0}}, {"1": {"x": 0, "y": 1}}
    >>> runs = {"a": {"1": ["x", "y"]}, "b": {"1": ["y", "x"]}}
    >>> [stability] = ranking_stability({"ann": ann, "ben": ben}, ann, runs, measures=["RR"])
    >>> stability.n_rankings, stability.tau_low, stability.tau_high
    (2, -1.0, 1.0)
    """
    shared_topics = _shared_topics(grades)
    if not shared_topics:
        return []
    check_min_int(n_draws, "draws")
    before = score_systems(final, rankings, measures, level)
    scores_by_assessor: dict[str, dict[str, SystemTopicScores]] = {}
    for assessor, judgments in grades.items():
        assessor_grades = {
            t: {**final.get(t, {}), **judgments[t]} for t in shared_topics if t in judgments
        }
        if assessor_grades:
            scores_by_assessor[assessor] = score_systems(assessor_grades, rankings, measures, level)
    results = []
    for name, final_scores in before.items():
        topic_index = {topic: index for index, topic in enumerate(final_scores.topics)}
        choices: list[list[FloatArray]] = [[] for _ in final_scores.topics]
        for scores in scores_by_assessor.values():
            for topic, row in zip(scores[name].topics, scores[name].values, strict=True):
                if topic in topic_index:
                    choices[topic_index[topic]].append(row)
        results.append(_measure_stability(final_scores, choices, n_draws, seed, len(shared_topics)))
    return results


def _measure_stability(
    final_scores: SystemTopicScores,
    choices: list[list[FloatArray]],
    n_draws: int,
    seed: int,
    n_topics: int,
) -> RankingStability:
    random = np.random.default_rng(seed)
    total = np.zeros((n_draws, len(final_scores.systems)))
    n_defined = np.zeros((n_draws, len(final_scores.systems)))
    for index, topic_rows in enumerate(choices):
        rows = np.array(topic_rows) if topic_rows else final_scores.values[index][None, :]
        picked = rows[random.integers(0, len(rows), n_draws)]
        total += np.nan_to_num(picked)
        n_defined += ~np.isnan(picked)
    with np.errstate(invalid="ignore"):
        means = np.round(total / n_defined * (1 if final_scores.higher_is_better else -1), 12)
    orders, counts = np.unique(means, axis=0, return_counts=True)
    tau, tau_ap = (
        np.repeat(correlations(final_scores.signed_means, orders, method), counts)
        for method in ("tau-b", "tau-AP-b")
    )
    system_index = {system: k for k, system in enumerate(final_scores.systems)}
    reversed_pairs = [
        (a, b)
        for a, b in sorted(final_scores.significant_pairs)
        if (orders[:, system_index[a]] < orders[:, system_index[b]]).any()
    ]
    limits = np.quantile(tau, [0.025, 0.975])
    rankings = {tuple(np.argsort(-order, kind="stable").tolist()) for order in orders}
    return RankingStability(
        final_scores.measure,
        n_topics,
        n_draws,
        float(tau.mean()),
        float(limits[0]),
        float(limits[1]),
        float(tau_ap.mean()),
        len(rankings),
        len(final_scores.significant_pairs),
        tuple(reversed_pairs),
    )
