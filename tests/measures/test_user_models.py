"""User models of the C/W/L framework, against their definitions gone through rank by rank, and
against values recorded from cwl_eval."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import calipers as cal
from calipers.measures import UnknownMeasureError, parse
from calipers.measures.cwl_models import USER_MODELS
from calipers.statistics import JudgedRankings

VALUES = ("EU", "ETU", "EC", "ETC", "ED")
COSTS = {-1: 1.5, 0: 2.0, 1: 3.0, 2: 0.5, 3: 4.0}

#: The probability to continue from rank i (from 1), with gains and costs down to it.
Continue = Callable[[int, list[float], list[float]], float]


def dynamic(i: int, g: list[float], c: list[float]) -> float:
    """Bejeweled, T = 1, K = 8, hb = 0.5, hc = 2: the limits as the document at rank i sees them."""
    benefit, cost = 1.0, 8.0
    for gain in g[: i - 1]:
        benefit += 0.5 * (gain - 0.4)
        cost += 2 * (gain - 0.4)
    return float(sum(g) < benefit and sum(c) < cost)


def foraging(t: float | None, a: float | None) -> Continue:
    def c1(g: list[float]) -> float:
        return 1.0 if t is None else 1 - 1 / (1 + 0.9 * math.exp((t - sum(g)) * 3))

    def c2(g: list[float], c: list[float]) -> float:
        return 1.0 if a is None else 1 / (1 + 0.9 * math.exp((a - sum(g) / sum(c)) * 5))

    return lambda i, g, c: c1(g) * c2(g, c)


DEFINED: dict[str, Continue] = {
    "user_model='P'": lambda i, g, c: 1.0,
    "user_model='RR'": lambda i, g, c: float(g[-1] == 0),
    "user_model='SDCG'": lambda i, g, c: math.log2(i + 1) / math.log2(i + 2),
    "user_model='RBP',p=0.7": lambda i, g, c: 0.7,
    "user_model='INST',T=2": lambda i, g, c: ((i + 3 - sum(g)) / (i + 4 - sum(g))) ** 2,
    "user_model='INSQ',T=2": lambda i, g, c: ((i + 3) / (i + 4)) ** 2,
    "user_model='BPM',T=1.2,K=9": lambda i, g, c: float(sum(g) < 1.2 and sum(c) < 9),
    "user_model='BPM',T=1,K=8,hb=0.5,hc=2,gain_med=0.4": dynamic,
    "user_model='IFT-C1',T=1.5,R1=3": foraging(1.5, None),
    "user_model='IFT-C2',A=0.3,R2=5": foraging(None, 0.3),
    "user_model='IFT',T=1.5,R1=3,A=0.3,R2=5": foraging(1.5, 0.3),
    "user_model='NERR8'": lambda i, g, c: 1 - g[-1],
    "user_model='NERR9'": lambda i, g, c: i / (i + 1) * (1 - g[-1]),
    "user_model='NERR10',p=0.7": lambda i, g, c: 0.7 * (1 - g[-1]),
    "user_model='NERR11',T=2": lambda i, g, c: ((i + 3) / (i + 4)) ** 2 * (1 - g[-1]),
    "user_model='TBG',half_life=6": lambda i, g, c: 2 ** (-c[-1] / 6),
    "user_model='U',L=12": lambda i, g, c: max(0, 12 - sum(c)) / max(1e-9, 12 - sum(c[:-1])),
}


def walked(goes_on: Continue, gains: list[float], costs: list[float]) -> dict[str, float]:
    """The five values of a user who stops at the end, by where the user stops."""
    stops, views, reached = [], [], 1.0
    for i in range(1, len(gains) + 1):
        on = goes_on(i, gains[:i], costs[:i]) if i < len(gains) else 0.0
        views.append(reached)
        stops.append(reached * (1 - on))
        reached *= on
    weight = [view / sum(views) for view in views]
    return {
        "EU": sum(w * g for w, g in zip(weight, gains, strict=True)),
        "ETU": sum(stop * sum(gains[: i + 1]) for i, stop in enumerate(stops)),
        "EC": sum(w * c for w, c in zip(weight, costs, strict=True)),
        "ETC": sum(stop * sum(costs[: i + 1]) for i, stop in enumerate(stops)),
        "ED": sum(stop * (i + 1) for i, stop in enumerate(stops)),
    }


def value(name: str, r: JudgedRankings) -> float:
    return float(parse(name, "retrieval").apply(r)[0])


def asked(value_name: str, model: str, depth: int) -> str:
    return f"{value_name}({model},gain='scale',max_grade=3,costs={COSTS})@{depth}"


@pytest.mark.parametrize("model", DEFINED)
def test_what_a_user_gets_who_goes_down_the_ranks(model: str) -> None:
    generator = np.random.default_rng(7)
    for depth in (1, 4, 12):
        for _ in range(8):
            grades = generator.integers(0, 4, generator.integers(1, 15)).tolist()
            r = JudgedRankings.from_rankings([grades], [[3, 1]])
            gains = [grade / 3 for grade in grades] + [0.0] * 12
            costs = [COSTS[grade] for grade in grades] + [COSTS[-1]] * 12
            expected = walked(DEFINED[model], gains[:depth], costs[:depth])
            for name in VALUES:
                assert value(asked(name, model, depth), r) == pytest.approx(
                    expected[name], rel=1e-12, abs=1e-12
                ), (name, grades)


def test_every_model_is_gone_through_or_equals_a_measure() -> None:
    named = {model.split("'")[1] for model in DEFINED}
    assert set(USER_MODELS) - named == {"AP"}


@pytest.mark.parametrize(
    ("measure", "model"),
    [
        ("P@7", "user_model='P')@7"),
        ("P(rel=2)@7", "user_model='P',rel=2)@7"),
        ("RR", "user_model='RR')"),
        ("AP(denominator='found')", "user_model='AP')"),
        ("RBP(p=0.7)", "user_model='RBP',p=0.7)"),
        ("RBP(gain='topic-max')", "user_model='RBP',gain='topic-max')"),
        ("SDCG(max_grade=3)@9", "user_model='SDCG',gain='scale',max_grade=3)@9"),
        ("INST(T=2,gain='scale',max_grade=3)", "user_model='INST',T=2,gain='scale',max_grade=3)"),
        ("INSQ(T=2,gain='scale',max_grade=3)", "user_model='INSQ',T=2,gain='scale',max_grade=3)"),
        ("INSQ(rel=2)@6", "user_model='INSQ',rel=2)@6"),
        ("BPM(T=2)@9", "user_model='BPM',T=2)@9"),
        (
            "BPM(T=1.3,gain='scale',max_grade=3)@9",
            "user_model='BPM',T=1.3,gain='scale',max_grade=3)@9",
        ),
        ("IFT(T=1,A=0.5,costs={1:2})", "user_model='IFT',T=1,A=0.5,costs={1:2})"),
        ("NERR8(gain='scale',max_grade=3)@9", "user_model='NERR8',gain='scale',max_grade=3)@9"),
        ("NERR9(gain='scale',max_grade=3)@9", "user_model='NERR9',gain='scale',max_grade=3)@9"),
        ("NERR10(gain='scale',max_grade=3)", "user_model='NERR10',gain='scale',max_grade=3)"),
        ("NERR11(gain='scale',max_grade=3)", "user_model='NERR11',gain='scale',max_grade=3)"),
    ],
)
def test_a_measure_is_the_expected_utility_of_its_model(measure: str, model: str) -> None:
    generator = np.random.default_rng(2)
    rankings = [generator.integers(0, 4, generator.integers(1, 40)).tolist() for _ in range(60)]
    r = JudgedRankings.from_rankings(rankings, [[1, 2]] * 60)
    values = parse(measure, "retrieval").apply(r)
    assert np.isfinite(values).sum() > 50
    np.testing.assert_allclose(
        values[np.isfinite(values)],
        parse(f"EU({model}", "retrieval").apply(r)[np.isfinite(values)],
        rtol=1e-12,
        atol=1e-12,
    )


#: cwl-eval 1.0.12: ``metric.measure(Ranking("t", gains, costs, max_cost=1.5)); get_scores()`` with
#: gains grade/3 and the costs above, of the ranking below; EU, ETU, EC, ETC, ED. Its totals of
#: INST and INSQ lack the users who reach rank 1,000.
RECORDED = (2, 0, 1, 0, 3, 2, 0, 3, 1, 0)
NAN = math.nan
CWL_EVAL: dict[str, tuple[str, int, list[float]]] = {
    "P": ("", 10, [0.4, 4.0, 2.3, 23.0, 10.0]),
    "RR": ("", 1000, [0.66666666666667, 0.66666666666667, 0.5, 0.5, 1.0]),
    "AP": (
        "",
        1000,
        [0.46458333333333, 1.4855662472243, 1.9013888888889, 6.079940784604, 3.1976313841599],
    ),
    "SDCG": (
        "",
        10,
        [0.41233439863071, 1.8734658073136, 2.0377137328451, 9.2584732592192, 4.5435593380883],
    ),
    "RBP": (
        ",p=0.7",
        1000,
        [0.385115091, 1.28371697, 1.81801172055, 6.0600390685, 3.3333333333333],
    ),
    "INST": (",T=2", 1000, [0.35858986905487, NAN, 1.7268935564491, NAN, 3.346984087288]),
    "INSQ": (",T=2", 1000, [0.30181285432619, NAN, 1.7656186313436, NAN, 4.5252230977969]),
    "BPM": (",T=1.5,K=10", 1000, [0.4, 2.0, 2.3, 11.5, 5.0]),
    "IFT": (
        ",T=2,b1=0.8,R1=3,A=0.3,b2=0.7,R2=5",
        1000,
        [0.33098137628201, 0.9285133292201, 1.6987437793773, 4.7655437891999, 2.8053340633552],
    ),
    "IFT-C1": (
        "",
        1000,
        [0.42302626955609, 2.3156514204527, 2.14419705608, 11.737363175702, 5.4740132873608],
    ),
    "IFT-C2": (
        "",
        1000,
        [0.32898097113183, 1.0698254101823, 1.8091383836938, 5.8832041462852, 3.2519370542973],
    ),
    "NERR8": ("", 10, [0.47368421052632, 1.0, 1.6578947368421, 3.5, 2.1111111111111]),
    "NERR9": (
        "",
        10,
        [0.54301075268817, 0.74814814814815, 1.0564516129032, 1.4555555555556, 1.3777777777778],
    ),
    "NERR10": (
        ",p=0.8",
        1000,
        [0.49192782526116, 0.8288, 1.3443600295452, 2.2649777777778, 1.6848],
    ),
    "NERR11": (
        ",T=2",
        1000,
        [0.51799493252957, 0.77160493827161, 1.1670641484924, 1.7384580498866, 1.4895993953137],
    ),
    "TBG": (
        ",half_life=22",
        1000,
        [0.16870358427524, 3.0607165184779, 1.810676838672, 32.850330557926, 18.142569594042],
    ),
    "U": (",L=50", 1000, [0.24698795180723, 3.28, 1.9631024096386, 26.07, 13.28]),
}


@pytest.mark.parametrize("model", CWL_EVAL)
def test_recorded_values_of_cwl_eval(model: str) -> None:
    parameters, depth, expected = CWL_EVAL[model]
    r = JudgedRankings.from_rankings([list(RECORDED)])
    for name, recorded in zip(VALUES, expected, strict=True):
        if not math.isnan(recorded):
            found = value(asked(name, f"user_model='{model}'{parameters}", depth), r)
            assert found == pytest.approx(recorded, rel=2e-12), name


def test_time_biased_gain_and_u_measure_are_totals() -> None:
    """Written out: seconds, and characters, until each document."""
    r = JudgedRankings.from_rankings([[0, 1, 2, 0, 1]])
    before = [0.0, 9.0, 24.0, 44.0, 53.0]  # 9 s of grade 0, 15 of 1, 20 of 2
    costs = "costs={-1:9,0:9,1:15,2:20}"
    assert value(f"TBG(half_life=60,{costs})", r) == pytest.approx(
        sum(2 ** (-before[i] / 60) for i in (1, 2, 4))
    )
    assert value(f"U(L=50,{costs},gain='scale',max_grade=2)", r) == pytest.approx(
        0.5 * (1 - 9 / 50) + (1 - 24 / 50)
    )
    assert value(f"TBG(half_life=60,{costs})", r) == pytest.approx(
        value(f"ETU(user_model='TBG',half_life=60,{costs})", r)
    )


def test_costs_of_documents_without_a_grade() -> None:
    """−1 is for unjudged documents and empty ranks, −2 for those of a negative grade."""
    qrels = {"q": {"a": 1, "b": -1, "c": -3, "d": 0}}
    run = {"q": {"b": 9.0, "x": 8.0, "a": 7.0, "c": 6.0}}  # −2, −1, 1, −2, and nothing
    names = ["ETC(user_model='P',costs={-2:10,-1:100,1:3})@6", "ETC(user_model='P',costs={1:3})@6"]
    found = [cal.retrieval(qrels, run, measures=[name], interval="none") for name in names]
    assert [e[n].value for e, n in zip(found, names, strict=True)] == [323.0, 8.0]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("EU", r"needs user_model, .*EU\(user_model='INST'\)"),
        ("ED(user_model='INST',p=0.5)", "p= has no effect on the user model 'INST'; .*: T"),
        ("ED(user_model='P',T=2)@5", "has no effect on the user model 'P'; its parameters: none"),
        ("ED(user_model='inst')", "user_model is 'inst', expected one of P, RR, AP"),
        ("EC(user_model='P',costs={1:-1})@5", "expected grades and their costs, each more than 0"),
        ("ED(user_model='BPM',K=0)", "K is 0, expected more than 0"),
    ],
)
def test_what_is_no_user_model(name: str, why: str) -> None:
    with pytest.raises(UnknownMeasureError, match=why):
        parse(name, "retrieval")


def test_a_ranking_without_gains() -> None:
    """The user of RR goes to the end, that of AP stops at once, as in cwl_eval."""
    r = JudgedRankings.from_rankings([[0, 0]], [[1]])
    of: dict[str, Any] = {
        model: [value(f"{v}(user_model='{model}')@20", r) for v in VALUES] for model in ("RR", "AP")
    }
    assert of == {"RR": [0, 0, 1, 20, 20], "AP": [0, 0, 1, 1, 1]}
