"""Assessors beside each other: published values, what they do to systems, and what is decided."""

from __future__ import annotations

import math
import random
import re
from typing import Any, NamedTuple

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import stats

import calipers as cal
from calipers.campaign import assessor_agreement, operations
from calipers.campaign.records import Event
from calipers.cli import cli

#: Grades of three assessors, ten documents.
MARKS = {"one": "0123002130", "two": "0122012130", "three": "0223001131"}
ASSESSORS = {
    name: {"1": {f"d{d}": int(grade) for d, grade in enumerate(marks)}}
    for name, marks in MARKS.items()
}
COLUMNS = {name: [int(grade) for grade in marks] for name, marks in MARKS.items()}


def jackknife(of: Any) -> float:
    """The standard error from leaving each document out."""
    left = np.array([of([d for d in range(10) if d != out]) for out in range(10)])
    return math.sqrt(9 / 10 * np.square(left - left.mean()).sum())


def test_three_assessors() -> None:
    found = {e.measure: e for e in assessor_agreement.agreement(ASSESSORS)}
    assert found["Fleiss-kappa"].value == pytest.approx(0.546828, abs=5e-7)
    ordinal = found["Krippendorff-alpha(scale='ordinal')"]
    assert ordinal.value == pytest.approx(0.856043, abs=5e-7)
    for scale, expected in (("nominal", 0.561934), ("interval", 0.863336)):
        other = assessor_agreement.agreement(
            ASSESSORS, scale=scale, measures=["Krippendorff-alpha"]
        )
        assert other.estimates[0].value == pytest.approx(expected, abs=5e-7)
    # Randolph's κ: the four grades equally likely by chance.
    share = found["percent-agreement"].value
    assert (share - 1 / 4) / (1 - 1 / 4) == pytest.approx(0.555556, abs=5e-7)
    # The bootstrap of documents went from 0.5761 to 0.9459, which is short: of ten documents half a
    # one is put at the end of either limit.
    assert 0.4 < ordinal.low < 0.5761
    assert 0.9459 < ordinal.high < 0.99

    def value(measure: str, rows: list[int]) -> float:
        said = {name: [column[d] for d in rows] for name, column in COLUMNS.items()}
        scale = {"scale": "ordinal"} if measure == "Krippendorff-alpha" else {}
        return cal.agreement(said, measures=[measure], interval="none", **scale).estimates[0].value

    assert jackknife(lambda rows: value("Fleiss-kappa", rows)) == pytest.approx(0.159011, abs=5e-7)
    error = jackknife(lambda rows: value("Krippendorff-alpha", rows))
    assert error == pytest.approx(0.070474, abs=5e-7)


@pytest.mark.parametrize(
    ("pair", "plain", "linear", "quadratic"),
    [
        (("one", "two"), 0.729730, 0.833333, 0.913793),
        (("one", "three"), 0.594595, 0.761905, 0.883721),
        (("two", "three"), 0.324324, 0.568966, 0.770642),
    ],
)
def test_cohens_kappa(pair: tuple[str, str], plain: float, linear: float, quadratic: float) -> None:
    first, second = ([str(g) for g in COLUMNS[name]] for name in pair)
    for own, expected in (
        ("kappa", plain), ("kappa(weights='linear')", linear),
        ("kappa(weights='quadratic')", quadratic),
    ):  # fmt: skip
        assert cal.measure(own)(first, second) == pytest.approx(expected, abs=5e-7)
    table = assessor_agreement.agreement({name: ASSESSORS[name] for name in pair}).label_tables[0]
    assert table.values["kappa(weights='quadratic')"][0] == pytest.approx(quadratic, abs=5e-7)
    nominal = assessor_agreement.agreement(
        {name: ASSESSORS[name] for name in pair}, scale="nominal"
    )
    kappa = nominal.label_tables[0].values["kappa"][0]
    assert kappa == pytest.approx(plain, abs=5e-7)
    if pair == ("one", "two"):  # the error of its formula for many documents
        low, high = (getattr(nominal.label_tables[0], end)["kappa"][0] for end in ("low", "high"))
        assert (high - low) / 3.92 == pytest.approx(0.164654, rel=0.15)


def test_without_an_overlap_nothing_is_one() -> None:
    apart = {"ann": {"1": {"x": 1}}, "ben": {"2": {"x": 1}}}
    for estimate in assessor_agreement.agreement(apart):
        assert math.isnan(estimate.value)
        assert "no_shared_item" in dict(estimate.undefined)
    assert math.isnan(assessor_agreement.topic_level_agreement(apart).value)
    alike = {name: {"1": {"x": 0, "y": 0}} for name in ("ann", "ben")}
    found = assessor_agreement.agreement(alike, measures=["Krippendorff-alpha", "Gwet-AC1"])
    assert [dict(e.undefined) for e in found] == [{"one_category": 2}] * 2
    with pytest.raises(cal.InputError, match="there is one rater only"):
        assessor_agreement.agreement({"ann": {"1": {"x": 1}}})
    # A grade below 0 is no judgment.
    less = {"ann": {"1": {"x": 1, "y": 2}}, "ben": {"1": {"x": -1, "y": 2}}}
    assert assessor_agreement.agreement(less)["percent-agreement"].n == 1


def test_intervals_over_topics_beside_drawing_topics() -> None:
    """Documents of a topic go together: the interval over documents is too short."""
    random = np.random.default_rng(3)
    grades: dict[str, Any] = {"ann": {}, "ben": {}}
    for t in range(30):
        agree = random.random() < 0.7
        ann = random.integers(0, 3, 12)
        ben = np.where(random.random(12) < (0.95 if agree else 0.2), ann, random.integers(0, 3, 12))
        for name, own in (("ann", ann), ("ben", ben)):
            grades[name][f"t{t:02}"] = {f"d{d}": int(g) for d, g in enumerate(own)}
    found = assessor_agreement.topic_level_agreement(grades, "percent-agreement")
    by_topic = np.array(
        [np.mean([grades["ann"][t][d] == grades["ben"][t][d] for d in of])
         for t, of in grades["ann"].items()]
    )  # fmt: skip
    drawn = [by_topic[random.integers(0, 30, 30)].mean() for _ in range(2000)]
    low, high = np.quantile(drawn, [0.025, 0.975])
    assert found.value == pytest.approx(by_topic.mean())
    assert (found.low - low, found.high - high) == pytest.approx((0, 0), abs=0.04)
    documents = assessor_agreement.agreement(grades, measures=["percent-agreement"]).estimates[0]
    assert documents.high - documents.low < 0.8 * (found.high - found.low)
    assert (found.n_topics, found.n_items, found.caution) == (30, 360, "")
    few = {name: {t: of[t] for t in list(of)[:4]} for name, of in grades.items()}
    assert assessor_agreement.topic_level_agreement(few).caution == "4 topics only"
    one = {name: {t: of[t] for t in list(of)[:1]} for name, of in grades.items()}
    assert math.isnan(assessor_agreement.topic_level_agreement(one).low)


@pytest.mark.parametrize("topics", [6, 12])
def test_intervals_over_few_topics_hold_the_truth(topics: int) -> None:
    """What topics have is 1 − 2x with x of Beta(2, 18), whose mean is 0.1; on either side the truth
    may be missed once in forty times."""
    random, above, below, widths = np.random.default_rng(1), 0, 0, []
    for _ in range(400):
        values = 1 - 2 * random.beta(2, 18, topics)
        low, high = assessor_agreement._topic_mean_interval(
            float(values.mean()), values, (-1.0, 1.0), 0.95
        )
        below, above = below + (low > 0.8), above + (high < 0.8)
        widths.append(high - low)
    assert below <= 20
    assert above <= 20
    assert np.median(widths) < 0.3


def test_topics_without_a_difference_say_little() -> None:
    low, high = assessor_agreement._topic_mean_interval(1.0, np.ones(6), (-1.0, 1.0), 0.95)
    # −1 + 2 · the lower limit of Beta(6, ½).
    assert (low, high) == pytest.approx((2 * stats.beta.ppf(0.025, 6, 0.5) - 1, 1), rel=1e-6)
    lone = np.r_[0.4, np.ones(5)]
    low, high = assessor_agreement._topic_mean_interval(0.9, lone, (-1.0, 1.0), 0.95)
    assert low < 0.4
    assert high > 0.98


def test_what_is_disputed_and_decided() -> None:
    grades = {
        "ann": {"1": {"x": 0, "y": 3, "z": 1}, "2": {"x": 2}},
        "ben": {"1": {"x": 1, "y": 1, "z": 1}, "2": {"x": 0, "w": 3}},
        "eve": {"1": {"y": 1}},
    }
    found = assessor_agreement.disagreements(grades)
    assert [(one.topic, one.document, one.grade_difference, one.crosses) for one in found] == [
        ("2", "x", 2, True), ("1", "x", 1, True), ("1", "y", 2, False),
    ]  # fmt: skip
    assert found[2].grades == {"ann": 3, "ben": 1, "eve": 1}
    assert [one.document for one in assessor_agreement.disagreements(grades, min_difference=2)] == [
        "x",
        "y",
    ]
    decided = {"2": {"x": 1}, "3": {"new": 2}}
    assert len(assessor_agreement.disagreements(grades, decided)) == 2
    assert (
        assessor_agreement.disagreements(grades, decided, include_adjudicated=True)[0].decided == 1
    )


class One(NamedTuple):
    assessor: str
    topic: str
    document: str
    grade: int


def test_who_agrees_with_themselves() -> None:
    rows = [One("ann", "1", f"d{d}", d % 3) for d in range(8)]
    first = assessor_agreement.grades_by_assessor([*rows, One("ben", "1", "d0", 1)])
    assert first["ann"]["1"]["d5"] == 2
    again = assessor_agreement.grades_by_assessor(
        [One("ann", "1", "d1", 1), One("ann", "1", "d2", 0)]
    )
    value, low, high, number = assessor_agreement.intra_assessor_agreement(first, again)["ann"]
    assert (value, number) == (0.5, 2)
    assert low < 0.5 < high
    assert assessor_agreement.intra_assessor_agreement({}, again) == {}


def systems() -> tuple[Any, Any]:
    """Three runs, and two assessors of whom the second turns some of the topics."""
    random, judged, other = np.random.default_rng(1), {}, {}
    rankings: dict[str, dict[str, list[str]]] = {"a": {}, "b": {}, "c": {}}
    for t in range(12):
        relevant = random.random(40) < 0.2
        relevant[0] = True
        topic = f"t{t:02}"
        judged[topic] = {f"d{d}": int(r) for d, r in enumerate(relevant)}
        for name, strength in zip("abc", (2.5, 1.5, 0.5), strict=True):
            order = np.argsort(-(strength * relevant + random.normal(size=40)))
            rankings[name][topic] = [f"d{d}" for d in order]
        if t < 6:
            turned = {rankings["c"][topic][0], rankings["c"][topic][1]}
            other[topic] = {d: int(d in turned) for d in judged[topic]}
    return {"ann": judged, "ben": other}, rankings


def test_orders_of_systems_by_each_assessor() -> None:
    grades, rankings = systems()
    found = {
        one.assessor: one
        for one in assessor_agreement.swap_assessors(
            grades, grades["ann"], rankings, measures=["AP"]
        )
    }
    assert (found["ann"].n_topics, found["ann"].changes[0].tau) == (6, 1)
    assert found["ben"].changes[0].ranks["c"] == (3, 1)
    assert found["ben"].changes[0].tau < 1
    nobody = {"ann": grades["ann"], "cleo": {"other": {"x": 1}}}
    assert assessor_agreement.ranking_stability(nobody, grades["ann"], rankings) == []
    assert assessor_agreement.swap_assessors(nobody, grades["ann"], rankings) == []


def test_orders_with_every_choice_of_assessors() -> None:
    """Beside all 64 choices of who judges the six topics that both judged."""
    grades, rankings = systems()
    [found] = assessor_agreement.ranking_stability(
        grades, grades["ann"], rankings, measures=["AP"], n_draws=4000
    )
    from calipers.campaign.system_scores import score_systems

    first, second = (score_systems(grades[name], rankings, ["AP"])["AP"] for name in ("ann", "ben"))
    taus, taus_ap = [], []
    for choice in range(64):
        values = first.values.copy()
        for t in range(6):
            if choice >> t & 1:
                values[t] = second.values[t]
        taus.append(cal.rank_correlation(first.means, values.mean(axis=0)).value)
        own = cal.rank_correlation(first.means, values.mean(axis=0), method="tau-AP-b")
        taus_ap.append(own.value)
    assert found.tau == pytest.approx(np.mean(taus), abs=0.04)
    assert found.tau_ap == pytest.approx(np.mean(taus_ap), abs=0.04)
    assert (found.n_topics, found.n_draws) == (6, 4000)
    assert found.n_rankings >= len(set(taus)) > 1
    assert set(found.reversed_pairs) <= first.significant_pairs


# -------------------------------------------------------------------------------------- preferences


def test_preferences_agree_whichever_document_was_left(campaign: cal.Campaign) -> None:
    """By the definition of nominal alpha with equal proportions of both sides, and by counts."""
    dice = random.Random(5)
    pairs = [(f"d{i:02}", f"d{j:02}") for i in range(12) for j in range(i)]
    ratings = {}
    for a, b in pairs:
        first = dice.choice([-1, 0, 1])
        second = first if dice.random() < 0.7 else dice.choice([-1, 0, 1])
        ratings[a, b] = first, second
        for name, grade in (("ada", first), ("bob", second)):
            left, right = (a, b) if dice.random() < 0.5 else (b, a)
            event = Event(
                f"{name} {a} {b}", name, "1", left, "preference",
                grade if left == a else -grade, other_document=right,
            )  # fmt: skip
            campaign.record(event)
    campaign.record(
        Event("again", "ada", "1", "d01", "preference", 0, other_document="d00", is_repeat=True)
    )
    grades = operations.read_grades(campaign, preferences=True)
    measured = assessor_agreement.agreement(
        grades, measures=["percent-agreement", "Krippendorff-alpha"], scale="nominal"
    )
    observed = sum(x == y for x, y in ratings.values()) / len(pairs)
    assert measured["percent-agreement"].value == pytest.approx(observed)
    # (Sides are drawn, so that the proportions of both are equal but for sampling error.)
    ties = sum((x == 0) + (y == 0) for x, y in ratings.values()) / (2 * len(pairs))
    by_chance = ties**2 + (1 - ties) ** 2 / 2
    expected = (observed - by_chance) / (1 - by_chance)
    assert measured["Krippendorff-alpha"].value == pytest.approx(expected, abs=0.03)
    repeats = operations.read_grades(campaign, preferences=True, only_repeats=True)
    assert repeats["ada"]["1"].keys() < grades["ada"]["1"].keys()
    campaign.close()
    for options, said in (
        (["--preferences", "--by-assessor"], "have a pair with two judgments|has a pair with"),
        (["--preferences", "--rankings"], "does not go with"),
        (["--preferences", "--scale", "ratio"], "does not go with"),
        (["--scale", "ratio"], "judgments by 0 assessors"),
    ):
        done = CliRunner().invoke(cli, ["campaign", "agreement", campaign.path, *options])
        assert re.search(said, f"{done.output} {done.exception}"), done.output
