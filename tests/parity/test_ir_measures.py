"""ir_measures on random data: every measure of its providers that we have too.

Its providers order tied documents each in their own way; only trec_eval's is ours. So scores are
distinct for the others.
"""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from certificate import Certificate

from calipers.data.grouped_judgments import judge_groups, read_groups
from calipers.data.trec import read_qrels, read_run
from calipers.measures import Measure, parse
from calipers.statistics import GroupedRankings, JudgedRankings

irm = pytest.importorskip("ir_measures", reason="ir_measures is not installed")

TOPICS = 400

Qrels = dict[str, dict[str, int]]
Run = dict[str, dict[str, float]]

TREC_EVAL = """
AP AP@10 AP(rel=2) AP(rel=2)@100 AP(judged_only=True) AP(rel=2,judged_only=True)@5
nDCG nDCG@10 nDCG(judged_only=True)@5 nDCG(gains={0:0,1:1,2:3})@10 nDCG(gains={1:5,3:2})
P@5 P(rel=2)@10 P(judged_only=True)@10 R@5 R@1000 R(rel=2)@10 R(judged_only=True)@10
RR RR(rel=2) RR(judged_only=True) Rprec Rprec(rel=2) Rprec(judged_only=True) Bpref Bpref(rel=2)
infAP infAP(rel=2) Success@1 Success(rel=2)@5 Success(judged_only=True)@5 NumQ NumRel NumRet
NumRelRet NumRet(rel=2) SetAP SetAP(rel=2) SetP SetP(rel=2) SetP(judged_only=True) SetRelP SetR
SetR(rel=2) SetF SetF(rel=2) SetF(beta=2.) SetF(beta=0.25,rel=2) IPrec@0. IPrec@0.1 IPrec@0.25
IPrec(rel=2)@0.7 IPrec@1. IPrec(judged_only=True)@0.5
"""

#: The C/W/L framework's. Grades above the scale are cut to it there, and have no value here. BPM
#: stops where the gain reaches T, which thirds that are added up may miss by a rounding there.
CWL = """
P@5 P(rel=2)@10 RR RR(rel=2) AP AP(rel=2) RBP(rel=1) RBP(rel=2,p=0.5) RBP(rel=1,p=0.95)
BPM(max_rel=4)@5 BPM(max_rel=4,T=2.)@10 BPM(max_rel=4,T=0.5)@1000 SDCG(max_rel=3)@5
SDCG(max_rel=3)@100 INST(max_rel=3) INST(max_rel=3,T=2.) INST(max_rel=3,T=0.5)
INSQ(max_rel=3) INSQ(max_rel=3,T=2.) NERR8(max_rel=3)@5 NERR8(max_rel=3)@1000 NERR9(max_rel=3)@10
NERR10(max_rel=3) NERR10(max_rel=3,p=0.5) NERR11(max_rel=3) NERR11(max_rel=3,T=2.)
"""

JUDGED = ["Judged", "Judged@1", "Judged@10"]
MS_MARCO = ["RR@1", "RR@10", "RR(rel=2)@10"]
GDEVAL = ["ERR@5", "ERR@20", "nDCG(dcg='exp-log2')@5", "nDCG(dcg='exp-log2')@20"]
NDEVAL = """
ERR_IA@5 ERR_IA(rel=2)@20 nERR_IA@5 nERR_IA@20 alpha_DCG@10 alpha_DCG(alpha=0.25)@20 alpha_nDCG@20
alpha_nDCG(alpha=0.25,rel=2)@5 NRBP NRBP(alpha=0.25,beta=0.75) nNRBP nNRBP(beta=0.25) AP_IA
AP_IA(rel=2) P_IA@5 P_IA(rel=2)@10 StRecall@5 StRecall(rel=2)@20
"""


def theirs_named(text: str) -> Any:
    """The measure; a name of theirs is a Python expression."""
    return eval(text, dict(vars(irm)))


def ours_named(text: str, provider: Any, family: str = "retrieval") -> Measure:
    measure = theirs_named(text)
    found = parse(str(measure), family)
    if measure.NAME == "IPrec":  # of trec_eval 9
        return found.definition.bind({**found.parameters, "rule": "nine-tenths"})
    if measure.NAME == "AP" and provider is irm.cwl_eval:
        return found.definition.bind({**found.parameters, "denominator": "found"})
    if measure.NAME == "SetF":  # what it calls beta is β²
        return found.definition.bind({**found.parameters, "beta": measure["beta"] ** 0.5})
    return found


def random_data(
    seed: int, *, tied: bool, topics: int = TOPICS, numbered: bool = False
) -> tuple[Qrels, Run]:
    generator = np.random.default_rng(seed)
    qrels: Qrels = {}
    run: Run = {}
    chances = [[0.05, 0.1, 0.4, 0.3, 0.1, 0.05], [0, 0, 0.6, 0.4, 0, 0], [0, 0, 0.95, 0, 0.05, 0]]
    for t in range(topics):
        topic = str(t) if numbered else f"t{t}"
        pool = int(generator.integers(2, 1300 if t % 100 == 7 else 30))
        judged = generator.random(pool) < generator.uniform(0.2, 1.0)
        judged[0] = True
        grades = generator.choice([-2, -1, 0, 1, 2, 3], size=pool, p=chances[t % 3])
        qrels[topic] = {f"d{i}": int(grades[i]) for i in np.flatnonzero(judged)} | {"zero": 0}
        if t % 25:  # else a topic that the run leaves out
            found = np.flatnonzero(generator.random(pool) < generator.uniform(0.1, 1.0))
            scores = generator.integers(0, 5, pool) if tied else generator.permutation(pool)
            run[topic] = {f"d{i}": float(scores[i]) for i in found} | {"zero": -1.0}
    run["999999"] = {"d1": 1.0}
    return qrels, run


def values(provider: Any, names: list[str], qrels: Any, run: Any) -> dict[tuple[str, str], float]:
    """By measure and topic."""
    measures = {theirs_named(name): name for name in names}
    return {
        (measures[m.measure], m.query_id): m.value
        for m in provider.iter_calc(list(measures), qrels, run)
    }


def compare(
    certificate: Certificate,
    provider: Any,
    names: list[str],
    data: tuple[Qrels, Run],
    atol: float = 1e-12,
) -> int:
    """Compare all topics; how many values both have."""
    qrels, run = data
    theirs = values(provider, names, qrels, run)
    rankings = JudgedRankings(**read_run("run", run, read_qrels(qrels)).arrays)
    topics = rankings.topics
    assert {topic for _, topic in theirs} == set(topics)
    absent = np.array([topic not in run for topic in topics])
    n_values = 0
    for name in names:
        measure = ours_named(name, provider)
        ours = measure.apply(rankings)
        expected = np.array([theirs[name, topic] for topic in topics])
        undefined = np.isnan(ours)
        assert not undefined.any() or measure.reasons(rankings)
        assert not (expected[undefined] > 0).any(), name
        because = {reason: at for reason, at in measure.reasons(rankings).items() if np.any(at)}
        if name in ("NumQ", "NumRel"):
            assert (expected[absent] == 0).all()
            because["counts without the run"] = absent
        certificate.compare(
            "ir_measures", name, ours, expected, atol=atol, because=because,
            where=topics.__getitem__,
        )  # fmt: skip
        n_values += int((~undefined).sum())
    return n_values


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_trec_evals_measures(seed: int, certificate: Certificate) -> None:
    data = random_data(seed, tied=True)
    assert compare(certificate, irm.pytrec_eval, TREC_EVAL.split(), data) > 15_000


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_the_cwl_framework(seed: int, certificate: Certificate) -> None:
    pytest.importorskip("cwl", reason="cwl-eval is not installed")
    data = random_data(seed, tied=False, topics=16)
    assert compare(certificate, irm.cwl_eval, CWL.split(), data) > 230


@pytest.mark.parametrize(("provider", "names"), [("judged", JUDGED), ("msmarco", MS_MARCO)])
def test_others(provider: str, names: list[str], certificate: Certificate) -> None:
    qrels, run = random_data(8, tied=False)
    if provider == "judged":
        # It takes documents of negative grades for judged.
        qrels = {t: {d: max(g, 0) for d, g in judged.items()} for t, judged in qrels.items()}
    n_values = compare(certificate, irm.providers.registry[provider], names, (qrels, run))
    # Of topics that the run leaves out `Judged` is 0 there.
    left_out = TOPICS // 25 if provider == "judged" else 0
    assert n_values == (TOPICS - left_out) * len(names)


def test_gdeval(certificate: Certificate) -> None:
    """To the five digits that it prints. Of a topic without relevant documents it says nothing."""
    if not irm.gdeval.is_available():
        pytest.skip("gdeval needs Perl")
    data = random_data(9, tied=True, numbered=True)
    assert compare(certificate, irm.gdeval, GDEVAL, data, atol=0.50001e-5) > 1_000


@pytest.mark.parametrize("cutoff", [1, 5, 20, None])
def test_expected_reciprocal_rank(cutoff: int | None) -> None:
    """Written out after Chapelle et al. 2009, with grades up to 4."""
    qrels, run = random_data(10, tied=True)
    rankings = JudgedRankings(**read_run("run", run, read_qrels(qrels)).arrays)
    name = "ERR" if cutoff is None else f"ERR@{cutoff}"
    for topic, value in zip(rankings.topics, parse(name, "retrieval").apply(rankings), strict=True):
        expected, goes_on = 0.0, 1.0
        found = run.get(topic, {})
        ranked = sorted(sorted(found, reverse=True), key=lambda d: -found[d])
        for rank, document in enumerate(ranked[:cutoff], 1):
            stops = (2 ** max(qrels[topic].get(document, 0), 0) - 1) / 2**4
            expected += goes_on * stops / rank
            goes_on *= 1 - stops
        assert value == pytest.approx(expected, rel=1e-12, abs=1e-12), topic


@pytest.mark.slow
def test_ndeval(certificate: Certificate) -> None:
    pytest.importorskip("pyndeval", reason="pyndeval is not installed")
    generator = np.random.default_rng(12)
    judged = {
        f"t{t}": {
            str(s): {f"d{i}": int(generator.integers(0, 4)) for i in range(40) if i % s}
            for s in range(2, 7)
        }
        for t in range(100)
    }
    run = {
        topic: {f"d{i}": float(s) for i, s in enumerate(generator.permutation(60))}
        for topic in judged
    }
    rows = [
        irm.Qrel(topic, document, grade, subtopic)
        for topic, groups in judged.items()
        for subtopic, grades in groups.items()
        for document, grade in grades.items()
    ]
    documents = [irm.ScoredDoc(t, d, s) for t, found in run.items() for d, s in found.items()]
    rankings = GroupedRankings(**judge_groups("run", run, read_groups(judged)).arrays)
    for name in NDEVAL.split():
        theirs = values(irm.pyndeval, [name], rows, documents)
        ours = ours_named(name, irm.pyndeval, "diversity").apply(rankings)
        expected = [theirs[name, topic] for topic in rankings.topics]
        certificate.compare("ir_measures", name, ours, expected, where=rankings.topics.__getitem__)


#: What the source distribution lacks of their tests: a class whose assertion is not needed here.
BASE = """
from unittest import TestCase


class BaseMeasureTest(TestCase):
    def assertMetrics(self, *metrics, **options): ...
"""

#: Their tests that need files which the source distribution lacks.
WITHOUT_FILES = ("test_compat.py", "test_cwl_eval.py")


@pytest.fixture(scope="module")
def calls_of_their_tests(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """What providers compute in their own tests, which are in their source distribution only."""
    folder = tmp_path_factory.mktemp("ir_measures")
    source = f"ir_measures=={irm.__version__}"
    options = ("--quiet", "--no-deps", "--no-binary", ":all:", "--dest", str(folder))
    pip = [sys.executable, "-m", "pip", "download", *options, source]
    if subprocess.run(pip, check=False, capture_output=True).returncode:
        pytest.skip("the source distribution of ir_measures is not to be had")
    [archive] = folder.glob("*.tar.gz")
    shutil.unpack_archive(archive, folder, filter="data")
    [tests] = folder.glob("ir_measures-*/tests")
    tests = tests.rename(folder / "their_tests")
    (tests / "__init__.py").touch()
    (tests / "base.py").write_text(BASE)
    file = folder / "calls"
    subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-c", os.devnull, f"--rootdir={folder}"),
            *("-p", "no:cacheprovider", "-p", "no:xdist", "-p", "record_providers", str(tests)),
            *(f"--ignore={tests / name}" for name in WITHOUT_FILES),
        ],
        check=False,  # a test of a provider that is not installed fails
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": str(Path(__file__).parent),
            "RECORDED_CALLS": str(file),
            "PYTEST_ADDOPTS": "",
        },
        stdout=subprocess.DEVNULL,
    )
    calls: list[Any] = pickle.loads(file.read_bytes())
    return calls


@pytest.mark.slow
def test_calls_of_their_own_tests(
    calls_of_their_tests: list[Any], certificate: Certificate
) -> None:
    """Our provider computes what theirs do, or does not support the measure."""
    from calipers.ir_measures import provider as ours

    n_values = 0
    for provider, names, qrels, run, values in calls_of_their_tests:
        if provider == "fallback":  # what others computed
            continue
        parameters = {repr(sorted(theirs_named(name).params.items())) for name in names}
        for name in names:
            measure = theirs_named(name)
            if not ours.supports(measure):
                certificate.omit("ir_measures", name, "pairs of documents")
                continue
            if (
                provider == "gdeval" and measure.NAME == "nDCG"
            ):  # which it has with these gains only
                measure = measure(dcg="exp-log2")
            own = {m.query_id: m.value for m in ours.iter_calc([measure], qrels, run)}
            theirs = {topic: value for topic, of, value in values if of == name}
            assert own.keys() == theirs.keys()
            because = {
                "other parameters in the call": provider == "pyndeval" and len(parameters) > 1
            }
            certificate.compare(
                "ir_measures", name, list(own.values()), [theirs[topic] for topic in own],
                atol=0.50001e-5 if provider == "gdeval" else 1e-9, because=because,
            )  # fmt: skip
            n_values += len(own)
    assert n_values > 300
