"""Values over all orders of tied documents, against every order gone through."""

from __future__ import annotations

from itertools import permutations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import calipers as cal
from calipers.data.trec import read_qrels, read_run
from calipers.measures import Definition, UnknownMeasureError, definitions, parse
from calipers.statistics import JudgedRankings

DOCUMENTS = "abcde"
GRADES = st.dictionaries(st.sampled_from(DOCUMENTS + "yz"), st.integers(-4, 3), min_size=1)
SCORES = st.dictionaries(st.sampled_from(DOCUMENTS), st.integers(1, 2).map(float), min_size=1)
ranked = [d for d in definitions("retrieval") if d.ties != "none"]
every_measure = pytest.mark.parametrize("definition", ranked, ids=lambda d: d.name)

#: Parameters that take other ways through the formulas.
OTHERS = {
    "P": [{"cutoff": 2}],
    "AP": [{"cutoff": 2}, {"cutoff": 2, "denominator": "min(k,R)"}],
    "RR": [{"cutoff": 2}],
    "Success": [{"cutoff": 2}],
    "Rprec": [{"multiple": 0.5}, {"multiple": 1.7}],
    "nDCG": [
        {"cutoff": 2},
        {"cutoff": 1, "gains": {-1: 0.5, 2: 3}},
        {"dcg": "exp-log2"},
        {"dcg": "log-base"},
        {"gains": {1: 3, 2: 3.5}},
    ],
    "DCG": [
        {"gains": {-1: 0.5}},
        {"cutoff": 2, "gains": {-1: 0.5}},
        {"min_grade": 2},
        {"gains": {0: -1}},  # which unjudged documents do not have
        {"dcg": "exp-log2", "gains": {3: 2.5}},  # less than the 3 of grade 2
    ],
    "RBP": [{"gain": "topic-max"}, {"gain": "scale", "max_grade": 3}, {"cutoff": 2}],
    "ERR": [{"cutoff": 2, "max_grade": 3}, {"gains": {1: 1, 3: 7}, "max_grade": 3}],
    "nERR": [{"cutoff": 2, "gains": {1: 1}}],
    "EBR": [{"cutoff": 2, "beta": 0, "max_grade": 3}],
    "iRBU": [{"cutoff": 2, "p": 0.5}, {"gains": {-1: 0.5, 2: 3}, "max_grade": 3}],
    "NCU": [{"stopping": "uniform"}, {"stopping": "graded-uniform", "beta": 0}, {"gamma": 0}],
    "TBG": [{"half_life": 2, "costs": {-1: 0.5, 0: 2}}],
    "EU": [
        {"user_model": "AP", "cutoff": 5},
        {"user_model": "BPM", "T": 2, "hb": 0.5, "cutoff": 3},
    ],
    "ETC": [{"user_model": "IFT", "costs": {-1: 0.5, 0: 2, 1: 3}, "cutoff": 6}],
    "RBP-residual": [{"tail": "with-unjudged"}],
    "fallout": [{"cutoff": 2, "collection_size": 20}],
    "Judged": [{"cutoff": 2}],
    "Unjudged": [{"cutoff": 2}],
    "BPM": [{"cutoff": 3, "T": 2}],
    "INST": [{"cutoff": 4}],
}


def judged(grades: dict[str, int], scores: dict[str, float]) -> JudgedRankings:
    return JudgedRankings(**read_run("run", {"q": scores}, read_qrels({"q": grades})).arrays)


def every_order(scores: dict[str, float]) -> list[dict[str, float]]:
    """The run with distinct scores, once for each order of its tied documents."""
    levels = sorted(set(scores.values()), reverse=True)
    blocks = [[d for d in scores if scores[d] == level] for level in levels]
    return [
        {d: float(-i) for i, d in enumerate(d for block in order for d in block)}
        for order in product(*(permutations(block) for block in blocks))
    ]


def variants(definition: Definition) -> list[dict[str, Any]]:
    example = {
        k: v
        for k, v in definition.example().parameters.items()
        if definition.parameters[k] is not v and k not in ("ties", "judged_only")
    }
    return [example, *({**example, **other} for other in OTHERS.get(definition.name, []))]


@pytest.mark.slow
@every_measure
@settings(max_examples=25)
@given(grades=GRADES, scores=SCORES)
def test_average_best_and_worst_are_those_of_all_orders(
    definition: Definition, grades: dict[str, int], scores: dict[str, float]
) -> None:
    tied = judged(grades, scores)
    orders = [judged(grades, order) for order in every_order(scores)]
    for parameters in variants(definition):
        values = [float(definition.bind(parameters).apply(order)[0]) for order in orders]
        expected = {"average": np.mean(values)}
        if definition.higher_is_better is not None:
            ends = [max(values), min(values)]
            best = ends if definition.higher_is_better else ends[::-1]
            expected |= {"best": best[0], "worst": best[1]}
        for ties, value in expected.items():
            measure = definition.bind({**parameters, "ties": ties})
            np.testing.assert_allclose(
                measure.apply(tied), [value], rtol=1e-12, atol=1e-12, err_msg=str(measure)
            )


@every_measure
def test_the_value_of_a_topic_does_not_depend_on_the_ties_of_others(definition: Definition) -> None:
    """Topics with ties and topics without take different ways, alone as beside each other."""
    generator = np.random.default_rng(11)
    documents = [f"d{i}" for i in range(7)]
    grades = {
        f"q{i}": dict(zip(documents, generator.integers(0, 4, 7).tolist(), strict=True))
        for i in range(6)
    }
    scores = {
        f"q{i}": {d: float(s) for d, s in zip(documents, generator.permutation(7), strict=True)}
        for i in range(6)
    }
    for topic in ("q1", "q4"):
        scores[topic] |= {"d0": 2.0, "d3": 2.0, "d5": 2.0}
    rankings = JudgedRankings(**read_run("run", scores, read_qrels(grades)).arrays)
    assert rankings.tied_topic_mask.tolist() == [False, True, False, False, True, False]
    for parameters in variants(definition):
        measure = definition.bind({**parameters, "ties": "average"})
        alone = [measure.apply(rankings.take_topics(np.array([i])))[0] for i in range(6)]
        together = measure.apply(rankings)
        # NumPy adds the eleven values of a topic in another order than those of several.
        np.testing.assert_allclose(together, alone, rtol=1e-15, atol=0, err_msg=str(measure))
        untied = definition.bind(parameters).apply(rankings)[[0, 2, 3, 5]]
        np.testing.assert_allclose(together[[0, 2, 3, 5]], untied, rtol=1e-15, atol=0)


@pytest.mark.parametrize(
    "name", ["AP", "nDCG", "P@10", "RR", "ERR@20", "Bpref", "RBP", "Success@5"]
)
def test_a_constant_scorer_of_a_thousand_documents_has_an_expected_value(name: str) -> None:
    """Where no one could go through all orders: against random ones."""
    grades = {f"d{i:04}": [0, 1, 2][i % 3] for i in range(90)}
    documents = [*grades, *(f"u{i:04}" for i in range(910))]
    measure = parse(name, "retrieval", {"ties": "average"})
    value = float(measure.apply(judged(grades, dict.fromkeys(documents, 1.0)))[0])
    generator = np.random.default_rng(3)
    drawn = [
        float(
            parse(name, "retrieval").apply(
                judged(
                    grades,
                    dict(zip(documents, generator.permutation(np.arange(1000.0)), strict=True)),
                )
            )[0]
        )
        for _ in range(400)
    ]
    assert abs(np.mean(drawn) - value) < 4 * np.std(drawn) / np.sqrt(len(drawn)), (drawn, value)


def test_topics_with_too_many_orders_are_undefined_and_say_so() -> None:
    grades = {f"d{i}": i % 2 for i in range(40)}
    measure = parse("infAP(ties='average')", "retrieval")
    tied = judged(grades, dict.fromkeys(grades, 1.0))
    assert np.isnan(measure.apply(tied)).all()
    assert measure.reasons(tied)["too_many_orders"].all()


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("Judged(ties='best')", "no direction"),
        ("AP(denominator='found',ties='average')@5", "depends on the order"),
        ("AP(ties='random')", "expected one of id, average, best, worst"),
    ],
)
def test_what_has_no_value_over_orders_is_refused(name: str, why: str) -> None:
    with pytest.raises(UnknownMeasureError, match=why):
        parse(name, "retrieval")


def test_an_evaluation_says_where_ties_stand_across_a_cutoff() -> None:
    qrels = {"1": {"a": 1, "b": 0}, "2": {"a": 1}}
    run = {"1": {"a": 1.0, "b": 1.0}, "2": {"a": 2.0, "b": 1.0}}
    ev = cal.retrieval(qrels, run, measures=["P@1", "AP"])
    assert any("documents tied across a cutoff: 1 at 1" in note for note in ev.notes)
    assert ev["P@1"].value == 0.5
    averaged = cal.retrieval(qrels, run, measures=["P@1"], ties="average")
    assert not any("tied" in note for note in averaged.notes)
    assert averaged["P(ties='average')@1"].value == 0.75
