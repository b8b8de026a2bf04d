"""Measures of NTCIR, against their definitions and recorded values of NTCIREVAL and pyNTCIREVAL."""

from __future__ import annotations

from itertools import product
from math import inf, log2
from typing import Any

import numpy as np
import pytest

from calipers.measures import UnknownMeasureError, parse
from calipers.statistics import GroupedRankings, JudgedRankings

#: Grades of a ranking, −1 where a document is not judged, and of judged documents that it misses.
RANKING, MISSED = [1, 0, -1, 3, 0, 2, 1, 0, 3], [2, 1, 3]

LINEAR = "gains={1:1,2:2,3:3},max_grade=3"
EXPONENTIAL = "gains={1:1,2:3,3:7}"

#: pyNTCIREVAL 0.0.3: ``QMeasure(xrelnum=[3, 3, 2, 3], grades=[1, 2, 3], beta=1.0).compute(…)`` and
#: others, of this ranking.
PYNTCIREVAL = {
    "O-measure": 0.5,
    "P-measure": 0.4,
    "P+": 0.45,
    "Q": 0.30625,
    "Q@5": 0.18,
    "NCU(stopping='graded-uniform',beta=0,stops={1:1,2:2,3:4})": 0.35756056808688386,
    "NCU(stopping='graded-uniform',stops={1:1,2:2,3:4})": 0.31052631578947365,
    "NCUrbP(gamma=0.8)": 0.5383446398829878,
    "NCUrbBR(gamma=0.8)": 0.3868555995435096,
    f"ERR({LINEAR})": 0.4154575892857143,
    f"nERR({LINEAR})@5": 0.45310376076121434,
    "MSnDCG@5": 0.28550984979978206,
    # The same with grades=[1, 3, 7] and beta=2.0.
    f"O-measure({EXPONENTIAL},beta=2)": 0.2,
    f"P-measure({EXPONENTIAL},beta=2)": 0.34615384615384615,
    f"P+({EXPONENTIAL},beta=2)": 0.2730769230769231,
    f"Q({EXPONENTIAL},beta=2)": 0.25041716114647394,
    f"NCU(stopping='graded-uniform',stops={{1:1,2:2,3:4}},{EXPONENTIAL},beta=2)": 0.2797152553408551,
    f"NCUrbBR(gamma=0.8,{EXPONENTIAL},beta=2)": 0.29097786736392955,
    "ERR(max_grade=3)": 0.3302781846788194,  # (2^grade − 1)/2³
    f"ERR({EXPONENTIAL},max_grade=3)": 0.3302781846788194,
    "nERR(max_grade=3)@5": 0.3385764202597233,
}
#: NTCIREVAL 190111, ``ntcir_eval compute -g 1:2:3 -rbup 0.95 -cutoffs 5`` of this ranking, and the
#: same with ``-g 1:3:7 -beta 2``.
NTCIREVAL = {
    "EBR(max_grade=3)": 0.4355,
    "EBR(max_grade=3)@5": 0.3500,
    "iRBU(max_grade=3,p=0.95)@5": 0.6957,
    f"EBR(max_grade=3,beta=2,{EXPONENTIAL})": 0.3429,
    f"EBR(max_grade=3,beta=2,{EXPONENTIAL})@5": 0.2900,
    f"iRBU(max_grade=3,p=0.95,{EXPONENTIAL})@5": 0.7424,
}


def judged(ranking: list[int], missed: list[int]) -> JudgedRankings:
    """The ranking, in which documents of grade −1 are not judged."""
    r = JudgedRankings.from_rankings([[max(grade, 0) for grade in ranking]], [missed])
    keep = np.array(ranking) >= 0
    return JudgedRankings(
        r.topics, r.retrieved, r.judged_offsets, r.judged_grade,
        r.judged_count, np.array([0, keep.sum()]), r.rank[keep], r.grade[keep], r.rank[keep],
        r.rank[keep],
    )  # fmt: skip


def value(name: str, ranking: list[int], missed: list[int]) -> float:
    return float(parse(name, "retrieval").apply(judged(ranking, missed))[0])


@pytest.mark.parametrize("name", PYNTCIREVAL)
def test_recorded_values_of_pyntcireval(name: str) -> None:
    assert value(name, RANKING, MISSED) == pytest.approx(PYNTCIREVAL[name], rel=1e-13)


@pytest.mark.parametrize("name", NTCIREVAL)
def test_recorded_values_of_ntcireval(name: str) -> None:
    """It prints four digits."""
    assert value(name, RANKING, MISSED) == pytest.approx(NTCIREVAL[name], abs=0.500001e-4)


def blended(gains: list[float], ideal: list[float], rank: int, beta: float) -> float:
    count = sum(gain > 0 for gain in gains[:rank])
    return (count + beta * sum(gains[:rank])) / (rank + beta * sum(ideal[:rank]))


def written_out(grades: list[int], missed: list[int], beta: float) -> dict[str, float]:
    """Every measure by going down the ranks, with the gains 1, 4 and 6."""
    worth = [0, 1, 4, 6]
    gains = [float(worth[grade]) for grade in grades]
    ideal = sorted([*gains, *(float(worth[grade]) for grade in missed)], reverse=True)
    relevant = sum(gain > 0 for gain in ideal)
    hits = [rank for rank, gain in enumerate(gains, 1) if gain > 0]
    ratios = {rank: blended(gains, ideal, rank, beta) for rank in hits}
    preferred = gains.index(max(gains)) + 1 if hits else 0
    until = [ratios[rank] for rank in hits if rank <= preferred]
    stops = {0: 0, 1: 2, 2: 1, 3: 5}
    all_stops = sum(stops[grade] for grade in [*grades, *missed])
    powers = [0.7**j for j in range(relevant)]
    satisfied, goes_on = {}, 1.0
    for rank, gain in enumerate(gains, 1):
        satisfied[rank] = goes_on * gain / 7
        goes_on *= 1 - gain / 7
    return {
        "O-measure": ratios[hits[0]] if hits else 0.0,
        "P-measure": ratios[preferred] if hits else 0.0,
        "P+": sum(until) / max(len(until), 1),
        "NCU(stopping='uniform')": sum(ratios.values()) / relevant,
        "NCU(stopping='graded-uniform',stops={1:2,2:1,3:5})": sum(
            stops[grades[rank - 1]] / all_stops * ratio for rank, ratio in ratios.items()
        ),
        "NCU(gamma=0.7)": sum(
            power * ratios[rank] for power, rank in zip(powers, hits, strict=False)
        )
        / sum(powers),
        "EBR(max_grade=3)": sum(satisfied[rank] * ratio for rank, ratio in ratios.items()),
        "EBR(max_grade=3)@2": sum(
            satisfied[rank] * ratio for rank, ratio in ratios.items() if rank <= 2
        ),
        "ERR(max_grade=3)": sum(s / rank for rank, s in satisfied.items()),
        "iRBU(max_grade=3,p=0.9)": sum(s * 0.9**rank for rank, s in satisfied.items()),
        "iRBU(max_grade=3,p=0.9)@2": sum(
            s * 0.9**rank for rank, s in satisfied.items() if rank <= 2
        ),
    }


@pytest.mark.slow
@pytest.mark.parametrize("beta", [0.0, 1.0, 3.5])
def test_measures_written_out(beta: float) -> None:
    for n, missed in product(range(1, 5), ([3], [1, 2, 2])):
        for grades in product(range(4), repeat=n):
            for name, expected in written_out([*grades], missed, beta).items():
                if n < 4 or sum(grades) % 5 == 0:  # a fifth of the longest
                    measure = parse(name, "retrieval")
                    own = {"gains": ((1, 1), (2, 4), (3, 6)), "beta": beta}
                    chosen = {k: v for k, v in own.items() if k in measure.definition.parameters}
                    bound = measure.definition.bind({**measure.parameters, **chosen})
                    found = float(bound.apply(JudgedRankings.from_rankings([grades], [missed]))[0])
                    assert found == pytest.approx(expected, rel=1e-12, abs=1e-12), (name, grades)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("NCU(stopping='uniform')", "Q"),
        ("NCU(stopping='uniform',beta=0)", "AP"),
        ("NCU(gamma=1)", "Q"),
        ("NCU(gamma=0)", "O-measure"),
        ("O-measure(beta=0)", "RR"),
        ("ERR(max_grade=3,gains={1:1,2:3,3:7})", "ERR(max_grade=3)"),
        ("nERR(max_grade=3,gains={1:1,2:3,3:7})@3", "nERR(max_grade=3)@3"),
        ("NCUguBR", "NCU(stopping='graded-uniform',stops={1:1,2:2,3:3})"),
    ],
)
def test_measures_that_are_special_cases(one: str, two: str) -> None:
    generator = np.random.default_rng(4)
    rankings = [generator.integers(0, 4, generator.integers(1, 12)).tolist() for _ in range(50)]
    r = JudgedRankings.from_rankings(rankings, [[1, 3]] * 50)
    first, second = (parse(name, "retrieval").apply(r) for name in (one, two))
    np.testing.assert_allclose(first, second, rtol=1e-12, atol=1e-12)


def test_only_gains_count_where_beta_is_infinite() -> None:
    assert value(f"O-measure(beta={inf})".replace("inf", "1e999"), [0, 2], [3]) == pytest.approx(
        0.4
    )


@pytest.mark.parametrize("name", ["NCU(stops={1:0})", "NCU(gamma=1.5)", "NCU(stopping='RR')"])
def test_parameters_of_ncu(name: str) -> None:
    with pytest.raises(UnknownMeasureError, match="expected"):
        parse(name, "retrieval")


# ------------------------------------------------------------------------------ several subtopics

Levels = dict[str, dict[str, int]]

DOCUMENTS = ["a", "x", "b", "c", "y", "d"]
INTENTS: Levels = {
    "1": {"a": 1, "b": 2, "c": 0},
    "2": {"b": 1, "d": 3, "z": 1},
    "3": {"z": 2},
    "empty": {"a": 0},
}


def of_intents(name: str, ranking: list[str], intents: Levels) -> float:
    groups: dict[str, Any] = dict(intents)
    r = GroupedRankings.from_rankings([ranking], [groups])
    return float(parse(name, "diversity").apply(r)[0])


@pytest.mark.parametrize(
    ("name", "recorded"),
    [
        # NTCIREVAL 190111: ``gcompute`` (MSnDCG) of the global gains, and ``irec``.
        ("D-nDCG@3", 0.3911),
        ("D-nDCG@4", 0.3664),
        ("D-nDCG@10", 0.5230),
        ("I-rec@1", 1 / 3),
        ("I-rec@3", 2 / 3),
    ],
)
def test_recorded_values_of_subtopics(name: str, recorded: float) -> None:
    assert of_intents(name, DOCUMENTS, INTENTS) == pytest.approx(recorded, abs=0.500001e-4)


def test_d_measures_by_hand() -> None:
    """Global gains: a 1, b 3, d 3, z 3."""
    ideal = 3 + 3 / log2(3) + 3 / 2
    relevance = (1 + 3 / 2) / ideal
    assert of_intents("D-nDCG@3", DOCUMENTS, INTENTS) == pytest.approx(relevance)
    assert of_intents("D#-nDCG@3", DOCUMENTS, INTENTS) == pytest.approx((2 / 3 + relevance) / 2)
    assert of_intents("D♯-nDCG(gamma=0.2)@3", DOCUMENTS, INTENTS) == pytest.approx(
        0.2 * 2 / 3 + 0.8 * relevance
    )
    whole = (1 + 3 / 2 + 3 / log2(7)) / (ideal + 1 / log2(5))
    assert of_intents("D-nDCG", DOCUMENTS, INTENTS) == pytest.approx(whole)
    # Gains 0, 5 and 3 of the grades 1 to 3: b 5, d 3, z 5.
    gains = (5 / 2 + 3 / log2(7)) / (5 + 5 / log2(3) + 3 / 2)
    assert of_intents("D-nDCG(gains={1:0,2:5})", DOCUMENTS, INTENTS) == pytest.approx(gains)
    rel = (2 / 2 + 3 / log2(7)) / (3 + 2 / log2(3) + 2 / 2)
    assert of_intents("D-nDCG(rel=2)", DOCUMENTS, INTENTS) == pytest.approx(rel)


@pytest.mark.parametrize("cutoff", [None, 1, 2, 4])
def test_navigational_intents_written_out(cutoff: int | None) -> None:
    """As NTCIREVAL's ``dinlabel`` and ``gcompute`` do, which agree on 60 such cases."""
    generator = np.random.default_rng(12)
    at = "" if cutoff is None else f"@{cutoff}"
    n_lower = 0
    for _ in range(60):
        documents = [f"d{i}" for i in range(9)]
        intents = {
            f"{i}{generator.choice(['', '/nav'])}": {
                d: int(generator.choice([0, 0, 1, 2, 3])) for d in documents
            }
            for i in range(int(generator.integers(1, 4)))
        }
        if not any(any(levels.values()) for levels in intents.values()):
            continue
        ranking = generator.permutation([*documents, "x"])[:7].tolist()
        seen: set[str] = set()
        gained = 0.0
        for rank, document in enumerate(ranking[:cutoff], 1):
            for intent, levels in intents.items():
                level = levels.get(document, 0)
                if level and not (intent.endswith("/nav") and intent in seen):
                    gained += level / log2(rank + 1)
                if level:
                    seen.add(intent)
        totals = sorted((sum(x[d] for x in intents.values()) for d in documents), reverse=True)
        ideal = sum(total / log2(rank + 1) for rank, total in enumerate(totals[:cutoff], 1))
        value = of_intents(f"DIN-nDCG{at}", ranking, intents)
        assert value == pytest.approx(gained / ideal)
        n_lower += value < of_intents(f"D-nDCG{at}", ranking, intents) - 1e-9
        recall = of_intents(f"StRecall{at}", ranking, intents)
        sharp = of_intents(f"DIN♯-nDCG(gamma=0.3){at}", ranking, intents)
        assert sharp == pytest.approx(0.3 * recall + 0.7 * value)
    assert n_lower > (10 if cutoff != 1 else -1)


@pytest.mark.parametrize("cutoff", [None, 1, 2, 4])
def test_navigational_intents_by_pyntcireval(cutoff: int | None) -> None:
    """The mean over intents of P+ or Q of NTCIREVAL's port, of the first documents and their ideal."""
    metrics = pytest.importorskip("pyNTCIREVAL.metrics", reason="pyNTCIREVAL is not installed")
    generator = np.random.default_rng(13)
    at = "" if cutoff is None else f"@{cutoff}"
    n_different = 0
    for _ in range(60):
        documents = [f"d{i}" for i in range(9)]
        intents = {
            f"{i}{generator.choice(['', '/nav'])}": {
                d: int(generator.choice([0, 0, 1, 2, 3])) for d in documents
            }
            for i in range(int(generator.integers(1, 4)))
        }
        counted = {name: levels for name, levels in intents.items() if any(levels.values())}
        if not counted:
            continue
        ranking = generator.permutation([*documents, "x"])[:7].tolist()
        by_name, of_q = {}, []
        for name, levels in counted.items():
            sizes = [sum(level == g for level in levels.values()) for g in range(4)]
            labeled = [(d, levels.get(d)) for d in ranking[:cutoff]]
            p = metrics.PPlusMeasure(sizes, [1, 2, 3], 1.0).compute(labeled)
            q = metrics.QMeasure(sizes, [1, 2, 3], 1.0, cutoff=cutoff).compute(labeled)
            by_name[name] = p if name.endswith("/nav") else q
            of_q.append(q)
        value = of_intents(f"P+Q{at}", ranking, intents)
        assert value == pytest.approx(np.mean(list(by_name.values())))
        n_different += abs(value - np.mean(of_q)) > 1e-9
        recall = of_intents(f"StRecall{at}", ranking, intents)
        sharp = of_intents(f"P+Q♯(gamma=0.3){at}", ranking, intents)
        assert sharp == pytest.approx(0.3 * recall + 0.7 * value)
    assert n_different > (10 if cutoff != 1 else -1)  # at rank 1 P+ is Q


def test_intents_without_a_document_of_rel_are_left_out() -> None:
    intents = {"home/nav": {"a": 2, "b": 1}, "history": {"c": 1, "b": 3}, "other": {"a": 1}}
    ranking = ["b", "c", "a"]
    # Of grades from 2 on: P+ at rank 3 is (1 + 2) / (3 + 2), Q at rank 1 (1 + 3) / (1 + 3).
    assert of_intents("P+Q(rel=2)", ranking, intents) == pytest.approx((3 / 5 + 1) / 2)


@pytest.mark.parametrize("cutoff", [None, 1, 3, 5])
def test_rank_biased_utility_written_out(cutoff: int | None) -> None:
    """As the program of its authors computes it."""
    generator = np.random.default_rng(6)
    for _ in range(30):
        intents = {
            str(i): {f"d{d}": int(generator.integers(0, 4)) for d in range(6)} | {"top": 1}
            for i in range(3)
        }
        ranking = [f"d{d}" for d in generator.permutation(9)[:7]]
        expected, p, effort = 0.0, 0.7, 0.05
        for of in intents.values():
            unseen, most = 1.0, 2 ** max(of.values())
            for rank, document in enumerate(ranking[:cutoff], 1):
                theta = (2 ** of.get(document, 0) - 1) / most
                expected += (1 - p) * p ** (rank - 1) * unseen * theta / 3
                unseen *= 1 - theta
        expected -= effort * (1 - p) * sum(p**i for i in range(len(ranking[:cutoff])))
        at = "" if cutoff is None else f"@{cutoff}"
        name = f"RBU(p={p},effort={effort}){at}"
        assert of_intents(name, ranking, intents) == pytest.approx(expected, abs=1e-12)
