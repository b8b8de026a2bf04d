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
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np

from calipers.campaign.runs import Judgments, Rankings, check_min_int
from calipers.campaign.system_scores import (
    MEASURES,
    RankingChange,
    SystemTopicScores,
    correlations,
    ranking_changes,
    score_systems,
)
from calipers.data.ratings import read_ratings
from calipers.evaluate.agreement import agreement as agreement_of_raters
from calipers.inference import bayesian_bootstrap
from calipers.inference.intervals import normal_quantile, to_student
from calipers.inference.transformations import SCALES
from calipers.measures import parse
from calipers.measures.rater_agreement import counted_items, item_influence
from calipers.results import Evaluation
from calipers.statistics import FloatArray, Ratings

#: By assessor.
Grades: TypeAlias = Mapping[str, Judgments]

#: What is told unasked. (Fleiss' κ only exists where each document has as many grades.)
AGREEMENT = ("Krippendorff-alpha", "percent-agreement", "Gwet-AC1", "Fleiss-kappa")

#: Fewer topics make intervals over topics that are too short.
FEW_TOPICS = 10


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
    made: dict[str, dict[str, dict[str, int]]] = {}
    for one in judgments:
        made.setdefault(one.assessor, {}).setdefault(one.topic, {})[one.document] = one.grade
    return made


def _columns(grades: Grades) -> dict[str, list[Any]]:
    """Return the grades in columns, one row per grade; an item is a document of a topic."""
    rows = [
        (f"{topic}\t{document}", assessor, grade, topic)
        for assessor, of in grades.items()
        for topic, documents in of.items()
        for document, grade in documents.items()
        if grade >= 0
    ]
    columns = map(list, zip(*rows, strict=True)) if rows else ([], [], [], [])
    return dict(zip(("item", "assessor", "grade", "topic"), columns, strict=True))


def agreement(grades: Grades, **how: Any) -> Evaluation:
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
    **how
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
    >>> found = agreement({"ann": ann, "ben": ben}, interval="none")
    >>> round(found["Krippendorff-alpha"].value, 4), round(found["percent-agreement"].value, 4)
    (0.7778, 0.6667)
    >>> apart = agreement({"ann": ann, "ben": {"2": {"x": 1}}})
    >>> apart["percent-agreement"].value, dict(apart["percent-agreement"].undefined)
    (nan, {'no_shared_item': 4})
    """
    how = {"scale": "ordinal", "measures": list(AGREEMENT)} | how
    return agreement_of_raters(
        _columns(grades), item="item", rater="assessor", rating="grade", **how
    )


@dataclass(frozen=True)
class TopicLevelAgreement:
    """Agreement with an interval for a population of topics.

    ``topics`` is the number of topics with a document that two assessors judged. ``caution`` says
    why the interval may be too short.
    """

    measure: str
    value: float
    low: float
    high: float
    topics: int
    items: int
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
    >>> found = topic_level_agreement({"ann": ann, "ben": ben})
    >>> round(found.value, 3), round(found.low, 3), round(found.high, 3), found.topics
    (0.597, 0.325, 0.772, 20)
    """
    chosen, columns = parse(measure, ("agreement",)), _columns(grades)
    names = {"item": "item", "rater": "assessor", "rating": "grade"}
    found = read_ratings(columns, {"": None}, None, names, {"topic": "slices"})
    ratings = Ratings.from_codes(found.codes, found.categories.names, found.categories.values)
    value, moved = float(chosen.apply(ratings)), item_influence(chosen, ratings)
    names_of = np.array(found.rows.column("topic").to_pylist())[counted_items(chosen, ratings)]
    topics, code = np.unique(names_of, return_inverse=True)
    number, items = len(topics), len(names_of)
    if math.isnan(value) or moved is None or number < 2:
        caution = "one topic only" if number == 1 else ""
        return TopicLevelAgreement(str(chosen), value, math.nan, math.nan, number, items, caution)
    by_topic = np.bincount(code.reshape(-1), moved, number) * number / items
    low, high = _topic_mean_interval(value, value + by_topic, chosen.definition.range, level)
    few = f"{number} topics only" if number < FEW_TOPICS else ""
    return TopicLevelAgreement(str(chosen), value, low, high, number, items, few)


def _topic_mean_interval(
    value: float, topics: FloatArray, ends: tuple[float, float], level: float
) -> tuple[float, float]:
    """Return the limits for the mean over topics: for each limit the wider one of two methods."""
    lowest, most = ends
    reached = most - bayesian_bootstrap.reach(most - topics, most - lowest)
    made = bayesian_bootstrap.lower_tail(topics, (max(lowest, reached), most), level)
    if not value < 1:
        return made.low, made.high
    number = len(topics)
    se = to_student(float(topics.std(ddof=1)) / math.sqrt(number), number - 1, level)
    low, high = SCALES["rest"].symmetric_limits(value, normal_quantile(level) * se)
    return max(lowest, min(low, made.low)), max(high, made.high)


def self_agreement(
    first: Grades, again: Grades, *, level: float = 0.95
) -> dict[str, tuple[float, float, float, int]]:
    """Measure intra-assessor agreement of the assessors who judged documents a second time.

    Parameters
    ----------
    first, again : mapping
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
    >>> found = self_agreement({"ann": {"1": {"x": 1, "y": 0}}}, {"ann": {"1": {"x": 1, "y": 2}}})
    >>> found["ann"][0], found["ann"][3]
    (0.5, 2)
    """
    made = {}
    for assessor, own in again.items():
        both = {"first": first.get(assessor, {}), "again": own}
        if not any(both.values()) or not all(both.values()):
            continue
        found = agreement(both, measures=["percent-agreement"], level=level)
        estimate = found["percent-agreement"]
        made[assessor] = estimate.value, estimate.low, estimate.high, estimate.n
    return made


# --- What is decided ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Disagreement:
    """Document on which assessors disagree.

    ``apart`` is the difference between the highest and the lowest grade. ``crosses`` says that one
    assessor finds the document relevant and another does not. ``decided`` is the grade of an
    adjudicator.
    """

    topic: str
    document: str
    grades: Mapping[str, int]
    apart: int
    crosses: bool
    decided: int | None = None


def disagreements(
    grades: Grades,
    decided: Judgments | None = None,
    *,
    apart: int = 1,
    rel: int = 1,
    also_decided: bool = False,
) -> list[Disagreement]:
    """Return the documents to adjudicate.

    Parameters
    ----------
    grades : mapping
        Grades as ``{assessor: {topic: {document: grade}}}``.
    decided : mapping, optional
        Grades of adjudicators, by topic and document.
    apart : int, default=1
        Minimum difference between the highest and the lowest grade.
    rel : int, default=1
        Lowest relevant grade.
    also_decided : bool, default=False
        Whether to include documents that an adjudicator has decided.

    Returns
    -------
    list of Disagreement
        Documents that one assessor finds relevant and another does not come first, then those with
        the largest differences.

    Examples
    --------
    >>> found = disagreements({"ann": {"1": {"x": 0, "y": 2}}, "ben": {"1": {"x": 1, "y": 3}}})
    >>> [(one.document, one.apart, one.crosses) for one in found]
    [('x', 1, True), ('y', 1, False)]
    """
    check_min_int(apart, "apart")
    given: dict[tuple[str, str], dict[str, int]] = {}
    for assessor in sorted(grades):
        for topic, documents in grades[assessor].items():
            for document, grade in documents.items():
                if grade >= 0:
                    given.setdefault((topic, document), {})[assessor] = grade
    made = []
    for (topic, document), of in given.items():
        low, high = min(of.values()), max(of.values())
        final = (decided or {}).get(topic, {}).get(document)
        if high - low >= apart and (final is None or also_decided):
            made.append(Disagreement(topic, document, of, high - low, low < rel <= high, final))
    return sorted(made, key=lambda d: (not d.crosses, -d.apart, d.topic, d.document))


# --- What it does to the systems ------------------------------------------------------------------


@dataclass(frozen=True)
class RankingStability:
    """Stability of the ranking of systems by one measure under the choice of assessors.

    For each topic that two or more assessors judged, one of them is chosen at random in each of
    ``draws`` draws. ``tau`` and ``tau_ap`` are the mean correlations with the ranking by the final
    grades, and ``tau_low`` and ``tau_high`` are the limits of the middle 95% of τ. ``distinct`` is
    the number of different rankings, ``pairs`` the number of pairs of systems that differ
    significantly by the final grades, and ``reversed`` are those pairs whose order is reversed in
    some draw.
    """

    measure: str
    topics: int
    draws: int
    tau: float
    tau_low: float
    tau_high: float
    tau_ap: float
    distinct: int
    pairs: int
    reversed: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class AssessorSwap:
    """Rankings of systems by the final grades, and by those of one assessor where available."""

    assessor: str
    topics: int
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
    >>> found = swap_assessors({"ann": ann, "ben": ben}, ann, runs, measures=["RR"])
    >>> [(one.assessor, one.changes[0].tau) for one in found]
    [('ann', 1.0), ('ben', -1.0)]
    """
    shared, made = _shared_topics(grades), []
    for assessor in sorted(grades):
        own = {
            topic: {**final.get(topic, {}), **grades[assessor][topic]}
            for topic in shared
            if topic in grades[assessor]
        }
        if not own:
            continue
        before = score_systems(
            {t: final.get(t, of) for t, of in own.items()}, rankings, measures, level
        )
        after = score_systems(own, rankings, measures, level)
        made.append(AssessorSwap(assessor, len(own), tuple(ranking_changes(before, after))))
    return made


def _shared_topics(grades: Grades) -> list[str]:
    """Return the topics that two or more assessors judged."""
    times = Counter(topic for of in grades.values() for topic, documents in of.items() if documents)
    return sorted(topic for topic, number in times.items() if number > 1)


def swapped_orders(
    grades: Grades,
    final: Judgments,
    rankings: Rankings,
    *,
    measures: Sequence[str] = MEASURES,
    draws: int = 1000,
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
    draws : int, default=1000
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
    >>> [found] = swapped_orders({"ann": ann, "ben": ben}, ann, runs, measures=["RR"])
    >>> found.distinct, found.tau_low, found.tau_high
    (2, -1.0, 1.0)
    """
    shared = _shared_topics(grades)
    if not shared:
        return []
    check_min_int(draws, "draws")
    before = score_systems(final, rankings, measures, level)
    own: dict[str, dict[str, SystemTopicScores]] = {}
    for assessor, of in grades.items():
        judged = {t: {**final.get(t, {}), **of[t]} for t in shared if t in of}
        if judged:
            own[assessor] = score_systems(judged, rankings, measures, level)
    made = []
    for name, first in before.items():
        places = {topic: place for place, topic in enumerate(first.topics)}
        choices: list[list[FloatArray]] = [[] for _ in first.topics]
        for one in own.values():
            for topic, row in zip(one[name].topics, one[name].values, strict=True):
                if topic in places:
                    choices[places[topic]].append(row)
        made.append(_orders(first, choices, draws, seed, len(shared)))
    return made


def _orders(
    first: SystemTopicScores, choices: list[list[FloatArray]], draws: int, seed: int, topics: int
) -> RankingStability:
    random = np.random.default_rng(seed)
    total = np.zeros((draws, len(first.systems)))
    number = np.zeros((draws, len(first.systems)))
    for place, of in enumerate(choices):
        rows = np.array(of) if of else first.values[place][None, :]
        picked = rows[random.integers(0, len(rows), draws)]
        total += np.nan_to_num(picked)
        number += ~np.isnan(picked)
    with np.errstate(invalid="ignore"):
        means = np.round(total / number * (1 if first.higher_is_better else -1), 12)
    orders, times = np.unique(means, axis=0, return_counts=True)
    tau, tau_ap = (
        np.repeat(correlations(first.merit, orders, method), times)
        for method in ("tau-b", "tau-AP-b")
    )
    at = {system: k for k, system in enumerate(first.systems)}
    turned = [
        (a, b) for a, b in sorted(first.better) if (orders[:, at[a]] < orders[:, at[b]]).any()
    ]
    ends = np.quantile(tau, [0.025, 0.975])
    distinct = {tuple(np.argsort(-one, kind="stable").tolist()) for one in orders}
    return RankingStability(
        first.measure, topics, draws, float(tau.mean()), float(ends[0]), float(ends[1]),
        float(tau_ap.mean()), len(distinct), len(first.better), tuple(turned),
    )  # fmt: skip
