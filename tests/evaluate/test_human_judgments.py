"""Human judgments of some topics beside those of a judge of all of them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.stats import norm

import calipers as cal
from calipers.cli.group import cli
from calipers.data.errors import InputError
from calipers.results import from_json

DOCUMENTS = 40


def second_job() -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """The second job of the specification: 150 topics, of which people judged 40.

    The judge passes a tenth of the relevant documents over, 6% of the others pass, and 12 points more
    among the first ten of the dense run.
    """
    random, size = np.random.default_rng(7), (150, DOCUMENTS)
    ease = 0.7 * random.normal(size=150)
    quality = random.normal(size=size)
    above = quality + ease[:, None] + norm.ppf(0.15)
    grades = (above > 0) * 1 + (above > 1.2)
    orders = {
        name: np.argsort(-(quality + noise * random.normal(size=size)), axis=1)
        for name, noise in (("bm25", 0.9), ("dense", 0.7))
    }
    place = np.argsort(orders["dense"], axis=1)
    passing = np.where(grades > 0, 0.9, np.where(place < 10, 0.06 + 0.12, 0.06))
    judged = (random.random(size) < passing) * np.where(grades > 0, grades, 1)
    labeled = np.sort(random.permutation(150)[:40])

    def qrels(table: Any, topics: Any) -> dict[str, Any]:
        return {f"q{t}": {f"d{d}": int(table[t, d]) for d in range(DOCUMENTS)} for t in topics}

    runs = {
        name: {f"q{t}": {f"d{d}": float(-k) for k, d in enumerate(order[t])} for t in range(150)}
        for name, order in orders.items()
    }
    return qrels(judged, range(150)), qrels(grades, labeled), runs


JUDGE, HUMAN, RUNS = second_job()
ASKED: dict[str, Any] = {"measures": ["nDCG@10", "R@10"], "undefined": "zero"}


@pytest.fixture(scope="module")
def job() -> Any:
    return cal.retrieval(JUDGE, RUNS, human=HUMAN, baseline="bm25", **ASKED)


def rounded(*numbers: float) -> list[float]:
    return [round(x, 2) for x in numbers]


def test_the_job_of_the_specification(job: Any) -> None:
    for system, triple, human, judge, worth in (
        ("bm25", [0.62, 0.54, 0.69], 0.59, 0.54, 75), ("dense", [0.71, 0.62, 0.79], 0.70, 0.65, 60),
    ):  # fmt: skip
        e = job[system, "nDCG@10"]
        assert rounded(e.value, e.low, e.high) == triple
        assert rounded(e.judged.human_only, e.judged.judge_only) == [human, judge]
        assert (round(e.judged.worth), e.judged.n_human, e.judged.n_judged) == (worth, 40, 110)
    differences = {d.measure: d for d in job.comparison}
    ndcg, recall = differences["nDCG@10"], differences["R@10"]
    assert rounded(ndcg.value, ndcg.low, ndcg.high) == [0.09, 0.01, 0.17]
    assert rounded(recall.value, recall.low, recall.high) == [0.02, -0.07, 0.11]
    assert rounded(recall.judged.judge_only) == [0.13]


def test_either_alone_is_an_evaluation_of_its_own(job: Any) -> None:
    human = cal.retrieval(HUMAN, RUNS, baseline="bm25", **ASKED)
    judge = cal.retrieval(JUDGE, RUNS, baseline="bm25", **ASKED)
    for e, by_people, by_judge in zip(job, human, judge, strict=True):
        j = e.judged
        assert (j.human_only, j.human_only_low) == pytest.approx((by_people.value, by_people.low))
        assert j.judge_only == pytest.approx(by_judge.value)
    for d, by_people, by_judge in zip(
        job.comparison, human.comparison, judge.comparison, strict=True
    ):
        assert d.judged.human_only == pytest.approx(by_people.value)
        assert d.judged.judge_only_p == pytest.approx(by_judge.p)


def test_people_who_judged_all_are_the_only_judges() -> None:
    topics = sorted(HUMAN)
    judge = {topic: JUDGE[topic] for topic in topics}
    found = cal.retrieval(judge, RUNS, human=HUMAN, **ASKED)
    expected = cal.retrieval(HUMAN, RUNS, **ASKED)
    for a, b in zip(found, expected, strict=True):
        assert (a.value, a.low, a.high) == pytest.approx((b.value, b.low, b.high))
    for a, b in zip(found.comparison, expected.comparison, strict=True):  # type: ignore[arg-type]
        assert (a.value, a.low, a.p) == pytest.approx((b.value, b.low, b.p))


@pytest.mark.slow
def test_slices_weights_clusters_and_proportions() -> None:
    topics = [f"q{t}" for t in range(150)]
    part = {topic: "even" if int(topic[1:]) % 2 == 0 else "odd" for topic in topics}
    found = cal.retrieval(JUDGE, RUNS, human=HUMAN, slices={"half": part}, **ASKED)
    even = {topic for topic in topics if part[topic] == "even"}
    own = cal.retrieval({t: JUDGE[t] for t in even}, RUNS,
                        human={t: HUMAN[t] for t in even & HUMAN.keys()}, **ASKED)  # fmt: skip
    assert found.slices is not None
    (shown,) = [s for s in found.slices if (s.slice, s.estimate.system, s.estimate.measure)
                == ("even", "dense", "nDCG@10")]  # fmt: skip
    e = own["dense", "nDCG@10"]
    assert (shown.estimate.value, shown.estimate.low) == pytest.approx((e.value, e.low))
    assert shown.vs_rest.p > 0
    twice = {topic: 1 + int(topic[1:]) % 2 for topic in topics}
    weighted = cal.retrieval(JUDGE, RUNS, human=HUMAN, weight=twice, **ASKED)
    table = cal.retrieval(HUMAN, RUNS, weight={t: twice[t] for t in HUMAN}, **ASKED)
    for a, b in zip(weighted, table, strict=True):
        assert a.judged is not None
        assert a.judged.human_only == pytest.approx(b.value)
    users = {topic: int(topic[1:]) // 5 for topic in topics}
    clustered = cal.retrieval(JUDGE, RUNS, human=HUMAN, cluster=users, baseline="bm25", **ASKED)
    assert "labeled clusters" in clustered[0].method
    assert clustered.comparison is not None
    assert 0 < clustered.comparison[0].p < 1
    success = cal.retrieval(JUDGE, RUNS, human=HUMAN, measures=["Success@1"], undefined="zero")
    assert success[0].method == "post-stratified by judge"


def test_documents_results_and_findings(job: Any) -> None:
    assert from_json(job.to_json()).to_json() == job.to_json()
    assert "worth labels" in str(job)
    (favored,) = [f for f in job.findings if f.kind == "judge-favors-system"]
    assert favored.measures == ("R@10",)
    assert "The judge favors dense: R@10 by the judge exceeds" in favored.message
    picked = sorted(JUDGE, key=lambda t: -sum(JUDGE[t].values()))[:40]
    biased = cal.retrieval(JUDGE, RUNS, human={t: JUDGE[t] for t in picked}, **ASKED)
    assert "labels-not-random" in {f.kind for f in biased.findings}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"human": {"q999": {"d1": 1}}}, "no topic in common with the human judgments"),
        ({"human": {**HUMAN, "new": {"d1": 1}}}, "human: topic 'new' is not in qrels"),
        ({"measures": ["NumRel"]}, "human: NumRel is not a mean over topics"),
        ({"time": {"q1": 1}}, "human does not go with time"),
        ({"judgment_bounds": True}, "human does not go with judgment_bounds"),
        ({"topic_curves": "all"}, "human does not go with topic_curves"),
        ({"baseline": "before.json"}, "human: a saved evaluation has no human judgments"),
        ({"interval": "bootstrap"}, "human: interval is 'bootstrap'"),
        ({"engine": "spark"}, "human takes all judgments in memory"),
    ],
)
def test_what_human_judgments_do_not_go_with(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        cal.retrieval(JUDGE, RUNS, **{"human": HUMAN, **ASKED, **changed})


def test_default_measures_are_means() -> None:
    found = cal.retrieval(JUDGE, RUNS["bm25"], human=HUMAN, target="these")
    assert "NumQ" not in found.measures
    assert "AP" in found.measures
    assert "Means are those over these topics" in found.notes[0]


def test_the_command_takes_human_judgments(tmp_path: Path, job: Any) -> None:
    names = {"judge.json": JUDGE, "human.json": HUMAN, **{f"{n}.json": r for n, r in RUNS.items()}}
    for name, table in names.items():
        (tmp_path / name).write_text(json.dumps(table))
    files = [str(tmp_path / name) for name in ("judge.json", "bm25.json", "dense.json")]
    command = ["retrieval", *files, "--human", str(tmp_path / "human.json"), "-m", "nDCG@10",
               "-m", "R@10", "--undefined", "zero", "--baseline", "bm25"]  # fmt: skip
    result = CliRunner().invoke(cli, [*command, "--format", "json"])
    assert result.exit_code == 0, result.output
    found = from_json(result.output)
    assert [repr(e) for e in found] == [repr(e) for e in job]


def test_what_is_estimated_is_one_of_two_things() -> None:
    qrels, run = {"q": {"a": 1}}, {"q": {"a": 1.0}}
    with pytest.raises(cal.InputError, match="target is 'those', expected 'like' or 'these'"):
        cal.retrieval(qrels, run, human=qrels, target="those")
    with pytest.raises(cal.InputError, match="target='these': is about the labels of human="):
        cal.retrieval(qrels, run, target="these")


@pytest.mark.parametrize(
    ("human", "message"),
    [
        ({"q": {"a": "x"}}, "human: topic q, document a: grade x is of type str"),
        ({}, "human: no judgments"),
        ({"z": {"a": 1}}, "the human judgments have 'z'"),
    ],
)
def test_errors_name_human_judgments(human: dict[str, Any], message: str) -> None:
    with pytest.raises(cal.InputError, match=re.escape(message)):
        cal.retrieval({"q": {"a": 1}}, {"q": {"a": 1.0}}, human=human)
