"""The door to ir_measures, and through it to PyTerrier."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

import calipers as cal
from calipers.data.errors import InputError

irm = pytest.importorskip("ir_measures", reason="ir_measures is not installed")

from calipers import ir_measures as door  # noqa: E402

Data = tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]

MEASURES = [
    irm.AP, irm.AP(rel=2) @ 10, irm.nDCG @ 10, irm.nDCG(gains={0: 0, 1: 1, 2: 3}) @ 5, irm.P @ 5,
    irm.P(judged_only=True) @ 5, irm.R @ 10, irm.RR, irm.RR @ 3, irm.Rprec, irm.Bpref, irm.infAP,
    irm.Success @ 1, irm.NumRet, irm.NumRelRet, irm.NumRet(rel=2), irm.SetP, irm.SetRelP, irm.SetR,
    irm.SetF(beta=2.0), irm.SetAP, irm.IPrec @ 0.4, irm.Judged @ 10, irm.RBP(rel=1, p=0.5),
    irm.INST(max_rel=3), irm.BPM(max_rel=3) @ 10, irm.SDCG(max_rel=3) @ 10, irm.INSQ(max_rel=3),
    irm.NERR8(max_rel=3) @ 10, irm.NERR9(max_rel=3) @ 10, irm.NERR10(max_rel=3),
    irm.NERR11(max_rel=3),
]  # fmt: skip


def random_data(topics: int = 60) -> Data:
    """Scores are distinct, so that nothing depends on the order of tied documents."""
    generator = np.random.default_rng(4)
    qrels, run = {}, {}
    for t in range(topics):
        grades = generator.choice([0, 0, 1, 2, 3], size=20)
        qrels[f"q{t}"] = {f"d{i}": int(g) for i, g in enumerate(grades)}
        scores = generator.permutation(30)
        found = generator.permutation(30)[: generator.integers(1, 30)]
        run[f"q{t}"] = {f"d{i}": float(scores[i]) for i in found}
    return qrels, run


def rows_of(data: Data) -> tuple[list[Any], list[Any]]:
    qrels, run = data
    return (
        [irm.Qrel(t, d, g) for t, judged in qrels.items() for d, g in judged.items()],
        [irm.ScoredDoc(t, d, s) for t, found in run.items() for d, s in found.items()],
    )


def frames_of(data: Data) -> tuple[pd.DataFrame, pd.DataFrame]:
    qrels, run = (pd.DataFrame(rows) for rows in rows_of(data))
    return qrels, run.assign(query="some words", rank=0)


@pytest.fixture
def registered() -> Iterator[None]:
    door.register()
    yield
    door.unregister()


@pytest.mark.slow
def test_values_are_those_of_ir_measures() -> None:
    data = random_data()
    asked = [measure for measure in MEASURES if irm.DefaultPipeline.supports(measure)]
    assert len(asked) >= len(MEASURES) - 4  # which cwl-eval has, if it is installed
    # One by one: theirs may take the gains of one nDCG for those of another.
    theirs = {measure: irm.calc([measure], *data) for measure in asked}
    ours = door.provider.calc(asked, *data)
    for measure in asked:
        expected_mean = pytest.approx(theirs[measure].aggregated[measure], rel=1e-12)
        assert ours.aggregated[measure] == expected_mean, measure
    expected = {
        (m.query_id, measure): m.value for measure in asked for m in theirs[measure].per_query
    }
    assert len(expected) == 60 * len(asked)
    for metric in ours.per_query:
        assert metric.value == pytest.approx(
            expected.pop((metric.query_id, metric.measure)), rel=1e-12, abs=1e-12
        )
    assert not expected


@pytest.mark.parametrize("form", [rows_of, frames_of, lambda data: map(iter, rows_of(data))])
def test_every_kind_of_input(form: Callable[[Data], Any]) -> None:
    data = random_data(5)
    asked = [irm.AP, irm.nDCG @ 10]
    expected = door.provider.calc_aggregate(asked, *data)
    assert door.provider.calc_aggregate(asked, *form(data)) == expected


@pytest.mark.parametrize("empty", [{}, {"q0": {}}, [], pd.DataFrame(columns=irm.ScoredDoc._fields)])
def test_a_run_without_documents(empty: Any) -> None:
    qrels, _ = random_data(3)
    assert door.provider.calc_aggregate([irm.AP, irm.NumQ], qrels, empty) == {
        irm.AP: 0,
        irm.NumQ: 3,
    }


@pytest.mark.parametrize("empty", [{}, {"q0": {}}, [], pd.DataFrame(columns=irm.Qrel._fields)])
def test_without_judgments_there_are_no_values(empty: Any) -> None:
    _, run = random_data(3)
    assert list(door.provider.iter_calc([irm.AP, irm.P_IA @ 2], empty, run)) == []


def test_topics_of_the_judgments_count() -> None:
    qrels = {"q1": {"a": 1}, "q2": {"a": 1}, "nothing relevant": {"a": 0}}
    run = {"q1": {"a": 1.0}, "not judged": {"a": 1.0}}
    values = door.provider.calc_aggregate([irm.AP, irm.NumQ, irm.NumRel], qrels, run)
    assert values == {irm.AP: pytest.approx(1 / 3), irm.NumQ: 3, irm.NumRel: 2}


def test_judgments_by_subtopic() -> None:
    qrels = [irm.Qrel("q", "a", 1, "1"), irm.Qrel("q", "b", 1, "2"), irm.Qrel("q", "c", 1, "1")]
    run = [irm.ScoredDoc("q", "a", 3.0), irm.ScoredDoc("q", "c", 2.0), irm.ScoredDoc("q", "b", 1.0)]
    asked = [
        irm.StRecall @ 2,
        irm.alpha_nDCG @ 2,
        irm.ERR_IA @ 2,
        irm.NRBP,
        irm.P_IA @ 2,
    ]
    values = door.provider.calc_aggregate(asked, qrels, run)
    assert values[irm.StRecall @ 2] == 0.5
    assert values == door.provider.calc_aggregate(asked, *map(pd.DataFrame, (qrels, run)))
    if irm.pyndeval.is_available():
        theirs = irm.pyndeval.calc_aggregate(asked, qrels, run)
        assert values == {m: pytest.approx(v, rel=1e-6) for m, v in theirs.items()}
    one = {"q": {"a": 1, "b": 0}}
    assert door.provider.calc_aggregate([irm.P_IA @ 2], one, {"q": {"a": 1.0}}) == {
        irm.P_IA @ 2: 0.5
    }


def test_what_is_wrong_with_the_input_is_said() -> None:
    with pytest.raises(InputError, match="score is NaN"):
        door.provider.calc_aggregate([irm.AP], {"q": {"a": 1}}, {"q": {"a": float("nan")}})


def test_what_it_does_not_support() -> None:
    mine = irm.define_byquery(lambda qrels, run: 7.0, name="AP")
    graded = irm.RBP(p=0.5)
    for measure in [mine, graded, irm.Accuracy, irm.Compat, irm.BPM(min_rel=1, max_rel=2) @ 10]:
        assert not door.provider.supports(measure)
        with pytest.raises(ValueError, match="unsupported measure"):
            door.provider.evaluator([measure], {"q": {"a": 1}})


@pytest.mark.usefixtures("registered")
def test_registered_it_comes_first() -> None:
    data = {"q": {"a": 1, "b": 0}}, {"q": {"a": 1.0, "b": 1.0}}
    assert type(irm.evaluator([irm.AP], data[0])) is door.CalipersEvaluator
    assert irm.calc_aggregate([irm.AP, irm.Compat], *data)[irm.AP] == 0.5
    mine = irm.define_byquery(lambda qrels, run: 7.0, name="AP")
    assert irm.calc_aggregate([mine], *data)[mine] == 7.0
    # Theirs puts the ids of tied documents in ascending order here, and ours in descending.
    assert irm.calc_aggregate([irm.RR @ 10], *data)[irm.RR @ 10] == 0.5
    door.register(first=False)
    assert irm.DefaultPipeline.providers[-1] is door.provider
    assert irm.calc_aggregate([irm.RR @ 10], *data)[irm.RR @ 10] == 1.0
    door.register()
    assert irm.DefaultPipeline.providers.count(door.provider) == 1


def test_without_registering_nothing_changes() -> None:
    assert door.provider not in irm.DefaultPipeline.providers
    assert irm.providers.registry["calipers"] is door.provider


@pytest.mark.parametrize("register", [False, True])
def test_measures_of_calipers(register: bool) -> None:
    qrels = {"q1": {"a": 1, "b": 0}, "q2": {"a": 1, "c": 0}, "q3": {"a": 0}}
    run = {"q1": {"a": 1.0, "b": 1.0}, "q2": {"c": 2.0, "a": 1.0}}
    average, geometric = door.measure("AP(ties='average')"), door.measure("gm-AP")
    counted = door.measure("NumRelRet")
    if register:
        door.register()
    try:
        values, per_query = irm.calc([average, geometric, counted, irm.P @ 1], qrels, run)
    finally:
        door.unregister()
    assert values == {
        average: pytest.approx((0.75 + 0.5 + 0) / 3),
        geometric: pytest.approx((0.5 * 0.5 * 1e-5) ** (1 / 3)),
        counted: 2,
        irm.P @ 1: 0,
    }
    assert {m.query_id: m.value for m in per_query if m.measure == average} == {
        "q1": 0.75, "q2": 0.5, "q3": 0.0,
    }  # fmt: skip


def test_a_measure_of_calipers_is_one_of_ir_measures() -> None:
    measure = door.measure("nDCG") @ 10
    assert isinstance(measure, irm.Measure)
    assert str(measure) == "nDCG@10"
    assert measure == door.measure(cal.measure("nDCG@10"))
    assert measure != irm.nDCG @ 10
    assert str(measure(dcg="exp-log2")) == "nDCG(dcg='exp-log2')@10"
    assert str(door.measure("IPrec@0.5") @ 0.25) == "IPrec@0.25"
    with pytest.raises(ValueError, match="pooled over topics"):
        door.measure("micro-SetP")
    with pytest.raises(ValueError, match="nsDCG is of several rankings of a topic"):
        door.measure("nsDCG")
    with pytest.raises(ValueError, match="has several meanings"):
        door.measure("AUC")


@pytest.mark.usefixtures("registered")
def test_an_experiment_of_pyterrier() -> None:
    pt = pytest.importorskip("pyterrier", reason="PyTerrier is not installed")
    qrels = pd.DataFrame(
        [["q1", "a", 1], ["q1", "b", 0], ["q2", "c", 2]], columns=["qid", "docno", "label"]
    )
    run = pd.DataFrame(
        [["q1", "a", 1.0, 0], ["q1", "b", 1.0, 1], ["q2", "x", 3.0, 0], ["q2", "c", 2.0, 1]],
        columns=["qid", "docno", "score", "rank"],
    )
    topics = pd.DataFrame([["q1", "a"], ["q2", "b"]], columns=["qid", "query"])
    table = pt.Experiment(
        [run], topics, qrels, [irm.AP, door.measure("AP(ties='average')"), "recip_rank"]
    )
    assert table.loc[0, ["AP", "AP(ties='average')", "recip_rank"]].tolist() == [0.5, 0.625, 0.5]
