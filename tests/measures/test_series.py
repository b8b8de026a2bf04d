"""Measures of sessions, of exposure and of instructions, against their definitions written out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise, permutations
from typing import Any

import numpy as np
import pytest

import calipers as cal
from calipers.data.errors import InputError
from calipers.data.ranking_series import read_series, read_series_judgments
from calipers.data.trec import read_qrels, read_run
from calipers.statistics import JudgedRankings, RankingSeries

Session = Sequence[Sequence[str]]
Grades = Mapping[str, int]

FAMILIES = ("sessions", "exposure", "instructions")


def values(name: str, *topics: tuple[Session, Grades]) -> Any:
    series, judgments = zip(*topics, strict=True)
    statistic = RankingSeries.from_rankings(series, judgments)
    return cal.measure(name, family=FAMILIES).apply(statistic).tolist()


def some_topics(number: int, seed: int, queries: int = 4) -> list[Any]:
    random = np.random.default_rng(seed)
    out: list[Any] = []
    for _ in range(number):
        grades = {f"d{k}": int(g) for k, g in enumerate(random.integers(-1, 4, 8))}
        pool = [*grades, "x", "y", "z"]
        session = [
            [pool[k] for k in random.permutation(len(pool))[: random.integers(1, 9)]]
            for _ in range(random.integers(1, queries + 1))
        ]
        out.append((session, grades))
    return out


# --- Sessions -------------------------------------------------------------------------------------


def session_dcg(session: Session, grades: Grades, k: int, b: float = 2.0, bq: float = 4.0) -> float:
    """Kanoulas et al. 2011: gains 2^grade − 1, both logarithms as in the Session track."""
    total = 0.0
    for query, ranking in enumerate(session, 1):
        dcg = sum(
            (2 ** max(grades.get(document, 0), 0) - 1) / math.log(rank + b - 1, b)
            for rank, document in enumerate(ranking[:k], 1)
        )
        total += dcg / math.log(query + bq - 1, bq)
    return total


@pytest.mark.parametrize("k", [1, 3, 10])
@pytest.mark.parametrize("bq", [2.0, 4.0])
def test_dcg_of_sessions(k: int, bq: float) -> None:
    topics = some_topics(30, seed=1)
    measured = values(f"session-DCG(query_base={bq:g})@{k}", *topics)
    expected = [session_dcg(session, grades, k, bq=bq) for session, grades in topics]
    np.testing.assert_allclose(measured, expected, rtol=1e-12)
    ideal = [
        session_dcg([sorted(grades, key=lambda d: -grades[d])] * len(session), grades, k, bq=bq)
        for session, grades in topics
        for grades in [dict(grades)]
    ]
    normalized = values(f"nsDCG(query_base={bq:g})@{k}", *topics)
    np.testing.assert_allclose(normalized, np.divide(expected, ideal), rtol=1e-12)


def test_dcg_of_sessions_as_it_was_first_defined() -> None:
    """Järvelin et al. 2008: no discount before the base, and 1 / (1 + log_bq j) for queries."""
    session, grades = [["a", "b", "c", "d"], ["d", "a"]], {"a": 3, "b": 2, "c": 1, "d": 2}
    first = 3 + 2 / 1 + 1 / math.log2(3) + 2 / math.log2(4)
    expected = first + (2 + 3) / (1 + math.log(2, 4))
    [value] = values("session-DCG(dcg='log-base')", (session, grades))
    assert value == pytest.approx(expected, abs=1e-12)


def test_one_query_is_a_topic() -> None:
    topics = [(session[:1], grades) for session, grades in some_topics(20, seed=2)]
    qrels = {str(t): dict(grades) for t, (_, grades) in enumerate(topics)}
    run = {
        str(t): {d: -float(rank) for rank, d in enumerate(session[0])}
        for t, (session, _) in enumerate(topics)
    }
    numbered = {f"{topic}/1": scores for topic, scores in run.items()}
    series = RankingSeries(**read_series("run", numbered, read_series_judgments(qrels)).arrays)
    plain = JudgedRankings(**read_run("run", run, read_qrels(qrels)).arrays)
    for ours, usual in (
        ("session-DCG@5", "DCG(dcg='exp-log2')@5"),
        ("nsDCG@5", "nDCG(dcg='exp-log2')@5"),
        ("nsDCG(dcg='log-base',base=3)", "nDCG(dcg='log-base',base=3)"),
        ("sRBP(p=0.7,balance=1)", "RBP(p=0.7)"),
    ):
        np.testing.assert_allclose(
            cal.measure(ours).apply(series), cal.measure(usual).apply(plain), rtol=1e-12
        )


@pytest.mark.parametrize(("p", "balance"), [(0.8, 0.5), (0.6, 0.0), (0.6, 1.0), (0.9, 0.7)])
def test_rbp_of_sessions(p: float, balance: float) -> None:
    """The chance that a walk through the session stops at a relevant document, step by step."""

    def chance(session: Session, grades: Grades) -> float:
        # The user goes on to the next document with probability bp, else to the next query so that
        # some document is next with probability p in total, else stops.
        total, arrives = 0.0, 1.0
        for ranking in session:
            reading, leaves = arrives, 0.0
            for document in [*ranking, *(["-"] * 2000)]:
                total += reading * (1 - p) * (grades.get(document, 0) >= 1)
                leaves += reading * (p - balance * p)
                reading *= balance * p
            arrives = leaves
        return total

    topics = some_topics(10, seed=3)
    expected = [chance(session, grades) for session, grades in topics]
    measured = values(f"sRBP(p={p},balance={balance})", *topics)
    np.testing.assert_allclose(measured, expected, atol=1e-9)


def test_a_missing_query_retrieves_nothing() -> None:
    """Its number says where it stands; after the last one there is none."""
    qrels = {"s": {"a": 1, "b": 1}}
    gap = {"s/1": {"a": 1.0}, "s/3": {"b": 1.0}}
    empty = {"s/1": {"a": 1.0}, "s/2": {"x": 1.0}, "s/3": {"b": 1.0}}
    for name in ("session-DCG", "nsDCG", "sRBP"):
        measure = cal.measure(name)
        assert measure(qrels, gap) == measure(qrels, empty) > 0
    ten = {f"s/{k}": {"x": 1.0} for k in range(1, 10)} | {"s/10": {"a": 1.0, "b": 0.5}}
    last = (1 + 1 / math.log2(3)) / math.log(13, 4)
    assert cal.measure("session-DCG")(qrels, ten) == pytest.approx(last, abs=1e-12)


# --- Exposure -------------------------------------------------------------------------------------


def exposures(rankings: Session, grades: Grades, gamma: float) -> tuple[Any, Any]:
    """Diaz et al. 2020: exposure of each document, and the mean over all ideal rankings."""
    documents = sorted(grades)

    def mean(orders: Sequence[Sequence[str]]) -> Any:
        total = np.zeros(len(documents))
        for order in orders:
            for place, document in enumerate(order):
                if document in grades:
                    total[documents.index(document)] += gamma**place
        return total / max(len(orders), 1)

    ideal = [
        order
        for order in permutations(documents)
        if all(max(grades[a], 0) >= max(grades[b], 0) for a, b in pairwise(order))
    ]
    return mean(rankings), mean(ideal)


@pytest.mark.parametrize("gamma", [0.5, 0.8])
def test_expected_exposure(gamma: float) -> None:
    topics = []
    for session, grades in some_topics(12, seed=4):
        few = dict(list(grades.items())[:5])
        topics.append((session, few))
    found = [exposures(session, grades, gamma) for session, grades in topics]
    for name, expected in (
        ("EE-D", [(e**2).sum() for e, _ in found]),
        ("EE-R", [(e * t).sum() for e, t in found]),
        ("EE-L", [((e - t) ** 2).sum() for e, t in found]),
    ):
        measured = values(f"{name}(patience={gamma})", *topics)
        np.testing.assert_allclose(measured, expected, rtol=1e-12)


def test_all_ideal_rankings_have_no_loss() -> None:
    grades = {"a": 1, "b": 1, "c": 0}
    both = [["a", "b", "c"], ["b", "a", "c"]]
    [fair], [single] = (values("EE-L", (rankings, grades)) for rankings in (both, both[:1]))
    assert fair == pytest.approx(0, abs=1e-15)
    assert single == pytest.approx(2 * 0.25**2, abs=1e-15)  # 1 and ½ against ¾ each


# --- Instructions ---------------------------------------------------------------------------------


def test_pairwise_mrr() -> None:
    """As in MTEB: the difference of reciprocal ranks over the larger one, documents then topics."""

    def one(first: Sequence[str], second: Sequence[str], document: str) -> float:
        a, b = (
            1 / (of.index(document) + 1) if document in of else 1 / (len(of) + 1)
            for of in (first, second)
        )
        return a / b - 1 if a <= b else 1 - b / a

    topics = [
        (session, grades)
        for session, grades in some_topics(60, seed=5, queries=2)
        if len(session) == 2 and max(grades.values()) > 0
    ]
    expected = [
        np.mean([one(session[0], session[1], d) for d, g in grades.items() if g >= 1])
        for session, grades in topics
    ]
    np.testing.assert_allclose(values("p-MRR", *topics), expected, rtol=1e-12, atol=1e-15)
    assert min(expected) < 0 < max(expected)
    changed = ([["a", "b"], ["b", "c", "a"]], {"a": 1})
    assert values("p-MRR", changed) == [1 - 1 / 3]


def test_two_rankings_are_needed() -> None:
    topics = [([["a"]], {"a": 1}), ([["a"]] * 3, {"a": 1}), ([["a"]] * 2, {"a": 0})]
    statistic = RankingSeries.from_rankings(*map(list, zip(*topics, strict=True)))
    reasons = cal.measure("p-MRR").reasons(statistic)
    assert reasons["not_two_rankings"].tolist() == [True, True, False]
    assert reasons["no_relevant"].tolist() == [False, False, True]
    for numbers in ((3,), (1, 3)):
        run = {f"q/{number}": {"a": 1.0} for number in numbers}
        assert math.isnan(cal.measure("p-MRR")({"q": {"a": 1}}, run))


# --- Input ----------------------------------------------------------------------------------------


def test_numbers_are_numbers() -> None:
    """Rankings are in the order of their numbers, not of their names, whatever the file has."""
    qrels = {"q/1": {"a": 1, "b": 2, "c": 0}, "p": {"a": 1}}
    run = {
        "q/1/10": {"c": 1.0, "b": 1.0},
        "q/1/9": {"a": 1.0},
        "q/1/1": {"x": 3.0, "b": 2.0},
        "p/2": {"a": 1.0},
        "r/1": {"a": 1.0},
    }
    read = read_series("run", run, read_series_judgments(qrels))
    statistic = RankingSeries(**read.arrays)
    assert statistic.topics == ("p", "q/1")
    assert statistic.position.tolist() == [2, 1, 9, 10]
    assert statistic.length.tolist() == [1, 2, 1, 2]
    assert statistic.retrieved.tolist() == [1, 5]
    # Of equal scores the last id is first; documents are a, b and c.
    assert statistic.rank.tolist() == [1, 0, 2, 0, 1, 0, 0, 0, 2, 1]
    assert (read.unjudged_topics, read.unjudged_topic_names) == (1, ("r/1",))


@pytest.mark.parametrize("topic", ["q", "q/", "q/0", "q/x", "q/-1", "/1", "q/1.5", "q/01"])
def test_a_topic_without_a_number(topic: str) -> None:
    with pytest.raises(InputError, match=r"has no number; .* as in 'q/1' and 'q/2'"):
        cal.retrieval({"q": {"a": 1}}, {topic: {"a": 1.0}}, measures=["nsDCG"])


def test_series_are_evaluated_alone() -> None:
    qrels, run = {"q": {"a": 1}}, {"q/1": {"a": 1.0}}
    with pytest.raises(InputError, match=r"nsDCG has a value for each topic .*, and AP for each"):
        cal.retrieval(qrels, run, measures=["nsDCG", "AP"])
    with pytest.raises(InputError, match="no topic in common"):
        cal.retrieval(qrels, {"p/1": {"a": 1.0}}, measures=["nsDCG"])
    with pytest.raises(InputError, match="take judgments and runs in memory"):
        cal.retrieval(qrels, run, measures=["nsDCG"], engine="dask")
    with pytest.raises(InputError, match="needs several rankings of the same documents"):
        cal.ranking([1, 1], [1, 0], [0.1, 0.2], measures=["nsDCG"])
    with pytest.raises(InputError, match="judgment_bounds has no bounds for nsDCG; expected"):
        cal.retrieval(qrels, run, measures=["nsDCG"], judgment_bounds=True)
    with pytest.raises(InputError, match="qrels: no judgments"):
        cal.retrieval({}, run, measures=["nsDCG"])
    with pytest.raises(InputError, match="run: no rows"):
        cal.retrieval(qrels, {"q/1": {}}, measures=["nsDCG"])
    with pytest.raises(InputError, match="holds no scores"):
        cal.retrieval(qrels, {"q/1": ["a"]}, measures=["nsDCG"])


def test_options_of_topics_go_with_sessions(tmp_path: Any) -> None:
    topics = some_topics(40, seed=6)
    qrels = {f"t{t}": dict(grades) for t, (_, grades) in enumerate(topics)}
    runs: dict[str, Any] = {"a": {}, "b": {}}
    for t, (session, _) in enumerate(topics):
        for number, ranking in enumerate(session, 1):
            scores = {d: -float(rank) for rank, d in enumerate(ranking)}
            runs["a"][f"t{t}/{number}"] = scores
            runs["b"][f"t{t}/{number}"] = {d: -s for d, s in scores.items()}
    names = list(qrels)
    table = {"topic": names, "kind": ["x", "y"] * 20, "user": [n[-1] for n in names]}
    weight = {name: 1.0 + (k % 3) for k, name in enumerate(names)}
    evaluation: Any = cal.retrieval(
        qrels,
        runs,
        measures=["nsDCG@5", "sRBP"],
        topic_table=table,
        slices=["kind"],
        weight=weight,
        cluster="user",
        baseline="a",
    )
    by_topic = values("nsDCG@5", *topics)
    expected = np.average(by_topic, weights=[weight[name] for name in names])
    assert evaluation["a", "nsDCG@5"].value == pytest.approx(expected, abs=1e-12)
    assert "10 clusters" in str(evaluation["a", "nsDCG@5"].method)
    assert {row.slice for row in evaluation.slices} == {"x", "y"}
    assert evaluation.comparison["nsDCG@5"].n == 40
    # From files, too.
    (tmp_path / "q").write_text(
        "".join(f"{t} 0 {d} {g}\n" for t, of in qrels.items() for d, g in of.items())
    )
    (tmp_path / "r").write_text(
        "".join(f"{t} Q0 {d} 1 {s} a\n" for t, of in runs["a"].items() for d, s in of.items())
    )
    files = cal.retrieval(tmp_path / "q", tmp_path / "r", measures=["nsDCG@5"], weight=weight)
    assert files["nsDCG@5"].value == evaluation["a", "nsDCG@5"].value
