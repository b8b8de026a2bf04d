"""Do assessors agree, what does it do to the systems where they do not, and what is to be decided.

Grades are of ``{assessor: {topic: {document: grade}}}``. How far assessors agree is told by
:func:`calipers.agreement`; here stands what a test collection asks beyond it. κ, α and their like
depend on how many documents are relevant at all, and so on how deep the pool is: values of pools of
different depths cannot be compared.
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
    """A grade that an assessor gave."""

    @property
    def assessor(self) -> str:
        """Who."""

    @property
    def topic(self) -> str:
        """Of which topic."""

    @property
    def document(self) -> str:
        """Of which document."""

    @property
    def grade(self) -> int:
        """The grade."""


def grades_by_assessor(judgments: Iterable[AssessorGrade]) -> dict[str, dict[str, dict[str, int]]]:
    """The grades of each assessor, by topic and document."""
    made: dict[str, dict[str, dict[str, int]]] = {}
    for one in judgments:
        made.setdefault(one.assessor, {}).setdefault(one.topic, {})[one.document] = one.grade
    return made


def _columns(grades: Grades) -> dict[str, list[Any]]:
    """A row a grade; an item is a document for a topic."""
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
    """How far assessors agree about the documents that two or more judged.

    Krippendorff's α on the ordinal scale, the share of pairs of grades that agree, Gwet's AC1 and
    Fleiss' κ, with intervals for documents like these; the tables of the result have each pair of
    assessors with Cohen's κ (of weights 1 − d², d being the distance of grades), and each assessor
    by what α is without. ``how`` is handed to :func:`calipers.agreement`. Without a document that
    two judged nothing is defined, and nothing is 1.

    Raises
    ------
    InputError
        For fewer than two assessors.

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
    """Agreement with an interval for topics like these, of which ``topics`` have a document that
    two judged. ``caution`` says why the interval may be too short."""

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
    """The same with an interval for topics like these.

    Documents of one topic are judged with one narrative in mind, so that assessors who read it in
    two ways differ on many of them: an interval over documents is then too short.

    Each topic is what its documents move the value by. The limits are Student's for the logarithm
    of 1 − value, which is a ratio of two sums; and at least those of the Bayesian bootstrap of
    topics, whose half a unit below is somewhat worse than the worst topic, since where no two
    topics differ their spread says nothing. (From the lower end of the range, −1, half a unit would
    pull both limits down: of six topics without much disagreement the upper one would then be below
    the truth one time in ten, and the lower one never above it.)

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
    """The limits for the mean of what topics have, each as far as the farther of two methods."""
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
    """Of each assessor who judged documents a second time: the share of those graded alike, its
    interval and their number. Nobody agrees with others more than with themselves.

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
    """A document about which assessors differ, by ``apart`` grades; ``crosses`` where one finds it
    relevant and another does not, and ``decided`` with the grade of an adjudicator."""

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
    """The documents to adjudicate: those whose grades are ``apart`` or more, those first that one
    assessor finds relevant and another does not, then those furthest apart.

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
    """The order of systems by one measure with every choice of one assessor for each topic that two
    or more judged: how far it is from that by the final grades, in the mean and over the middle 95%
    of ``draws`` random choices; ``distinct`` orders came of them, and of ``pairs`` of systems that
    are told apart by the final grades ``reversed`` ones changed places in some draw."""

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
    """The systems by the final grades, and by those of one assessor where there are such."""

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
    """For each assessor the order of systems by their grades, on the topics of which they judged a
    document; documents that they did not judge have their final grades. Topics that nobody judged
    with them are left out.

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
    """The topics that two or more judged."""
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
    """How the order of systems depends on who judges: each topic that several judged is given to
    one of them at random, again and again (after Voorhees 2000).

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
