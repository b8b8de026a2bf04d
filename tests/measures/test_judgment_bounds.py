"""Bounds of incomplete judgments against all completions, one by one."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest

from calipers.measures import Measure, parse
from calipers.measures import judgment_bounds as incomplete
from calipers.measures.judgment_bounds import ValueBounds, mean_bounds, value_bounds
from calipers.statistics import JudgedRankings
from calipers.statistics.rankings import segment_offsets

#: A retrieved document that the judgments do not name.
UNJUDGED = None

EXACT = [
    "P@2", "P(rel=2)@3", "RR", "RR@2", "Success@2", "R@2", "R(rel=2)@3", "RelP@2", "NumRelRet",
    "F@2", "F(rel=2)@3", "F2@3", "F0@2", "Finf@2", "F(alpha=0.3)@2",
    "IPrec@0", "IPrec@0.3", "IPrec@0.5", "IPrec(rel=2)@0.5", "IPrec@1",
    "IPrec(rule='nearest')@0.4", "IPrec(rule='nine-tenths')@0.4",
    "AP", "AP(rel=2)", "AP@2", "AP@3", "AP(denominator='min(k,R)')@2", "gm-AP",
    "AP(denominator='found')", "AP(denominator='found')@3", "Rprec", "Rprec(rel=2)",
    "SetP", "SetR", "SetR(rel=2)", "SetF", "SetF(beta=2.0)", "SetF0", "SetFinf", "SetRelP", "SetAP", "SetJaccard",
    "CG@2", "nCG(max_grade=2)@3", "DCG", "DCG(dcg='exp-log2')@3", "DCG(gains={1:1,2:5})@2",
    "SDCG(max_grade=2)@3", "ERR", "ERR@2",
    "RBP", "RBP(gain='grade',p=0.5)", "RBP(gain='scale',max_grade=2)@2",
    "nDCG", "nDCG@1", "nDCG@2", "nDCG@3", "nDCG(dcg='exp-log2')", "nDCG(dcg='exp-log2')@3",
    "nDCG(gains={1:1,2:1})@2", "nDCG(gains={1:0,2:3})@3", "nDCG(gains={1:1,2:10})@4",
    "nDCG(ideal='uncut')@2", "nDCG(dcg='log-base')@3", "DCG(dcg='log-base',base=3.0)@3", "nDCG(min_grade=2)@3",
]  # fmt: skip


@dataclass(frozen=True)
class Topic:
    """The grades of a ranking, and of the judged documents that it misses."""

    ranking: tuple[int | None, ...]
    missed: tuple[int, ...]

    def completions(self, top: int, max_unretrieved: int) -> Iterator[Topic]:
        """Every way to judge the rest."""
        unknown = [i for i, grade in enumerate(self.ranking) if grade is UNJUDGED or grade < 0]
        elsewhere = max(max_unretrieved, sum(grade < 0 for grade in self.missed))
        known = tuple(grade for grade in self.missed if grade >= 0)
        for grades in itertools.product(range(top + 1), repeat=len(unknown)):
            ranking = list(self.ranking)
            for i, grade in zip(unknown, grades, strict=True):
                ranking[i] = grade
            for found in itertools.combinations_with_replacement(range(top + 1), elsewhere):
                yield Topic(tuple(ranking), (*known, *found))


def rankings(topics: list[Topic]) -> JudgedRankings:
    """The statistic of these topics."""
    judged = [sorted([g for g in (*t.ranking, *t.missed) if g is not None], reverse=True)
              for t in topics]  # fmt: skip
    judged = [grades or [0] for grades in judged]
    levels = [sorted(set(grades), reverse=True) for grades in judged]
    rank = [[i + 1 for i, g in enumerate(t.ranking) if g is not None] for t in topics]
    flat = np.array([r for ranks in rank for r in ranks], np.int64)
    return JudgedRankings(
        tuple(f"{i:09}" for i in range(len(topics))),
        np.array([len(t.ranking) for t in topics], np.int64),
        segment_offsets([len(level) for level in levels]),
        np.array([g for level in levels for g in level], np.int64),
        np.array(
            [grades.count(g) for grades, level in zip(judged, levels, strict=True) for g in level],
            np.int64,
        ),
        segment_offsets([len(ranks) for ranks in rank]),
        flat,
        np.array([g for t in topics for g in t.ranking if g is not None], np.int64),
        flat,
        flat,
    )


def random_topics(seed: int, count: int, longest: int = 4) -> list[Topic]:
    rng = np.random.default_rng(seed)
    kinds = [UNJUDGED, UNJUDGED, -1, 0, 1, 2]
    return [
        Topic(
            tuple(kinds[i] for i in rng.integers(0, 6, rng.integers(0, longest + 1))),
            tuple(int(g) for g in rng.integers(-1, 3, rng.integers(0, 3))),
        )
        for _ in range(count)
    ]


def measured(names: list[str]) -> list[Measure]:
    return [parse(name, "retrieval") for name in names]


@pytest.mark.slow
@pytest.mark.parametrize("max_unretrieved", [0, 1, 2])
@pytest.mark.parametrize("top", [1, 2])
def test_exact_bounds_are_the_ends_of_all_completions(top: int, max_unretrieved: int) -> None:
    topics = random_topics(10 * top + max_unretrieved, 60)
    measures = measured(EXACT)
    found = value_bounds(rankings(topics), measures, max_unretrieved=max_unretrieved, max_grade=top)
    for i, topic in enumerate(topics):
        every = rankings(list(topic.completions(top, max_unretrieved)))
        for measure, possible in zip(measures, found, strict=True):
            assert possible is not None
            assert possible.kind == "sharp"
            values = measure.apply(every)
            expected = (math.nan, math.nan)
            if not np.isnan(values).all():
                expected = (np.nanmin(values), np.nanmax(values))
            ends = (possible.low[i], possible.high[i])
            assert ends == pytest.approx(expected, abs=1e-12, nan_ok=True), (str(measure), topic)


def test_any_number_of_unfound_documents_is_the_limit_of_many() -> None:
    r = rankings(random_topics(5, 200, longest=6))
    measures = measured(EXACT)
    many = value_bounds(r, measures, max_unretrieved=1_000_000, max_grade=2)
    for measure, far, near in zip(
        measures, value_bounds(r, measures, max_grade=2), many, strict=True
    ):
        assert far is not None
        assert near is not None
        np.testing.assert_allclose(far.high, near.high, rtol=1e-12, err_msg=str(measure))
        # nDCG without a cutoff falls as log n / n does.
        np.testing.assert_allclose(far.low, near.low, atol=1e-4, err_msg=str(measure))
        assert (far.low <= near.low)[~np.isnan(far.low)].all()


@pytest.mark.parametrize("max_unretrieved", [0, 2])
def test_the_eleven_point_mean_stays_within_its_bound(max_unretrieved: int) -> None:
    [measure] = measured(["11pt-avg"])
    topics = random_topics(31, 60)
    [possible] = value_bounds(
        rankings(topics), [measure], max_unretrieved=max_unretrieved, max_grade=1
    )
    assert possible is not None
    assert possible.kind == "outer"
    reached = 0
    for i, topic in enumerate(topics):
        values = measure.apply(rankings(list(topic.completions(1, max_unretrieved))))
        values = values[~np.isnan(values)]
        assert np.isnan(possible.low[i]) == (len(values) == 0)
        if len(values):
            assert possible.low[i] - 1e-12 <= values.min()
            assert values.max() <= possible.high[i] + 1e-12
            reached += values.max() == pytest.approx(possible.high[i])
            reached += values.min() == pytest.approx(possible.low[i])
    assert reached > len(topics)  # of twice as many ends


@pytest.mark.parametrize("max_unretrieved", [0, 2])
def test_bpref_stays_within_its_bound_and_reaches_the_upper_end(max_unretrieved: int) -> None:
    (measure,) = measured(["Bpref"])
    topics = random_topics(77, 300, longest=5)
    (possible,) = value_bounds(
        rankings(topics), [measure], max_unretrieved=max_unretrieved, max_grade=1
    )
    assert possible is not None
    assert possible.kind == "outer"
    for i, topic in enumerate(topics):
        values = measure.apply(rankings(list(_judged_further(topic, max_unretrieved))))
        values = values[~np.isnan(values)]
        if not len(values):
            assert math.isnan(possible.high[i])
            continue
        assert possible.low[i] <= values.min() + 1e-12, topic
        assert possible.high[i] == pytest.approx(values.max(), abs=1e-12), topic


def _judged_further(topic: Topic, max_unretrieved: int) -> Iterator[Topic]:
    """Unknown documents found relevant, not relevant, or left; unretrieved ones of both kinds."""
    unknown = [i for i, grade in enumerate(topic.ranking) if grade is UNJUDGED or grade < 0]
    elsewhere = max(max_unretrieved, sum(grade < 0 for grade in topic.missed))
    known = tuple(grade for grade in topic.missed if grade >= 0)
    for grades in itertools.product((UNJUDGED, 0, 1), repeat=len(unknown)):
        ranking = list(topic.ranking)
        for i, grade in zip(unknown, grades, strict=True):
            ranking[i] = grade
        for relevant, others in itertools.product(range(elsewhere + 1), (0, 20)):
            yield Topic(tuple(ranking), (*known, *[1] * relevant, *[0] * others))


def test_completions_of_several_topics_are_independent() -> None:
    """The mean over every combination of completions, undefined topics left out or as 0."""
    rng = np.random.default_rng(3)
    for _ in range(300):
        choices = [
            np.where(rng.random(size) < 0.4, np.nan, rng.integers(0, 5, size) / 4)
            for size in rng.integers(1, 4, 3)
        ]
        for i in np.flatnonzero(rng.random(3) < 0.5):  # defined whatever is found
            choices[i] = np.nan_to_num(choices[i], nan=0.5)
        now = np.array([c[np.isnan(c)][0] if np.isnan(c).any() else c[0] for c in choices])
        low, high = (
            np.array([end(c) if len(c) else np.nan for c in (c[~np.isnan(c)] for c in choices)])
            for end in (_least, _most)
        )
        every = np.array(list(itertools.product(*choices)))
        zeros = np.nan_to_num(every)
        some = every[~np.isnan(every).all(axis=1)]
        possible = ValueBounds(low, high, "sharp")
        for found, values in [
            (mean_bounds(now, possible, zero=True), zeros.mean(axis=1)),
            (mean_bounds(now, possible, "sum"), zeros.sum(axis=1)),
            (mean_bounds(now, possible), np.nanmean(some, axis=1)),
            (
                mean_bounds(now, possible, "geometric"),
                np.exp(np.nanmean(np.log(np.maximum(some, 1e-5)), axis=1)),
            ),
        ]:
            expected = (values.min(), values.max()) if len(values) else (math.nan, math.nan)
            assert found == pytest.approx(expected, abs=1e-12, nan_ok=True), choices


def _least(values: np.ndarray) -> float:
    return values.min()


def _most(values: np.ndarray) -> float:
    return values.max()


def test_a_value_with_complete_judgments_is_its_own_bound() -> None:
    r = JudgedRankings.from_rankings([[1, 0, 2], [0, 1]], [[1], []])
    measures = measured(EXACT)
    for measure, possible in zip(
        measures, value_bounds(r, measures, max_unretrieved=0), strict=True
    ):
        assert possible is not None
        np.testing.assert_array_equal(possible.low, measure.apply(r))
        np.testing.assert_array_equal(possible.high, measure.apply(r))


@pytest.mark.slow
def test_topics_are_looked_at_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    r = rankings(random_topics(11, 50, longest=6))
    measures = measured(EXACT)
    whole = value_bounds(r, measures)
    monkeypatch.setattr(incomplete, "MAX_CELLS", 7)
    for one, other in zip(whole, value_bounds(r, measures), strict=True):
        assert one is not None
        assert other is not None
        np.testing.assert_allclose(one.low, other.low, rtol=1e-14)
        np.testing.assert_allclose(one.high, other.high, rtol=1e-14)


def test_the_collection_bounds_what_may_be_found() -> None:
    r = rankings([Topic((1, UNJUDGED, 0), (1, 0))])
    (recall,) = measured(["SetR"])
    known = value_bounds(r, [recall], max_unretrieved=4)[0]
    # 9 documents: 3 retrieved, 2 others judged, 4 left.
    counted = value_bounds(r, [recall], collection_size=9)[0]
    assert known is not None
    assert counted is not None
    assert counted.low == known.low == pytest.approx([1 / 6])


@pytest.mark.parametrize(
    "name",
    ["infAP", "nERR", "RBP(gain='topic-max')", "nDCG(ideal='retrieved')", "AP(ties='average')",
     "nDCG(gains={-1:1})", "nDCG(gains={1:2,2:1})", "DCG(gains={0:1})", "Rprec(multiple=2.0)",
     "P(judged_only=True)@5", "P(rel=0)@5"],
)  # fmt: skip
def test_measures_without_a_rule_have_no_bound(name: str) -> None:
    r = rankings([Topic((1, UNJUDGED, 2), (1, 0))])
    assert value_bounds(r, measured([name])) == [None]
