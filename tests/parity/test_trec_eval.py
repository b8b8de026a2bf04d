"""``calipers trec_eval`` against trec_eval: its own examples, and version 9.0.8 in pytrec_eval."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import numpy as np
import pytest
from certificate import Certificate

from calipers.cli.trec_eval import run
from calipers.cli.trec_eval.evaluation import evaluate
from calipers.cli.trec_eval.inputs import read_inputs
from calipers.cli.trec_eval.measure_table import MEASURES
from calipers.cli.trec_eval.options import read_options

EXAMPLE = Path(__file__).parents[3] / "shared" / "conformance" / "trec_eval"

PARAMETERS = (
    "-q -miprec_at_recall..10,.20,.25,.75,.50 -m P.5,7,3 -m recall.20,2000 "
    "-m Rprec_mult.5.0,0.2,0.35 -mutility.2,-1,0,0 -m 11pt_avg..25,.5,.75 -mndcg.1=3,2=9,4=4.5 "
    "-mndcg_cut.10,20,23.4 -msuccess.2,5,20 qrels.test results.test"
)


@pytest.mark.skipif(
    not EXAMPLE.is_dir(), reason="trec_eval's example files are not beside the repository"
)
@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("qrels.test results.test", "out.test"),
        ("-m all_trec -mrelstring.20 -q -l2 qrels.rel_level results.test", "out.test.aql"),
        ("-m all_prefs -q -R qrels_prefs qrels.test results.test", "out.test.qrels_prefs"),
        ("-m qrels_jg -q -R qrels_jg qrels.123 results.test", "out.test.qrels_jg"),
        (PARAMETERS, "out.test.meas_params"),
    ],
)
def test_the_examples_byte_for_byte(
    arguments: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(EXAMPLE)
    out = io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr(sys, "stdout", out)
    assert run(arguments.split()) == 0
    assert isinstance(out.buffer, io.BytesIO)
    assert out.buffer.getvalue() == (EXAMPLE / expected).read_bytes()


def random_files(generator: np.random.Generator, folder: Path, *, topics: int) -> None:
    """Grades of every kind, ties, scores that 32 bits do not tell apart, unjudged documents."""
    with (folder / "qrels").open("w") as qrels, (folder / "results").open("w") as results:
        for topic in range(topics):
            pool = generator.permutation(int(generator.integers(2, 60)))
            grades = [[0, 1], [-2, -1, 0, 1, 2, 3], [0, 0, 0, 4], [0, 0]][topic % 4]
            qrels.writelines(
                f"{topic} 0 d{d} {generator.choice(grades)}\n" for d in pool[: len(pool) * 2 // 3]
            )
            qrels.write(f"{topic} 0 judged 0\n")
            scores = [
                generator.normal(size=len(pool)),
                generator.integers(0, 4, len(pool)),
                1 + generator.integers(0, 6, len(pool)) * 2e-8,
            ][topic % 3]
            # Each has a document, for pytrec_eval knows no topic without.
            kept = generator.random(len(pool)) < generator.uniform(0.2, 1)
            kept[0] = True
            results.writelines(
                f"{topic} Q0 d{d} 0 {float(s)!r} r\n"
                for d, s in zip(pool[kept], scores[kept], strict=True)
            )


@pytest.mark.parametrize("level", [1, 2])
@pytest.mark.parametrize("judged_only", [False, True])
def test_every_value_of_pytrec_eval(
    level: int, judged_only: bool, tmp_path: Path, certificate: Certificate
) -> None:
    """300 topics, and 36 measures with their usual and with other parameters: to the last digits,
    and to the four digits that are printed."""
    pytrec_eval = pytest.importorskip("pytrec_eval")
    random_files(np.random.default_rng([level, judged_only]), tmp_path, topics=300)
    qrels, results = tmp_path / "qrels", tmp_path / "results"
    with qrels.open() as judged, results.open() as found:
        judgments, ranking = pytrec_eval.parse_qrel(judged), pytrec_eval.parse_run(found)
    measures = {
        name for name in pytrec_eval.supported_measures if name not in ("runid", "relstring")
    }
    assert measures <= set(MEASURES)
    other = {"P.1,2,7", "iprec_at_recall.0.25,0.33", "Rprec_mult.0.35,5", "success.2", "recall.3"}
    other |= {"ndcg_cut.2,4", "map_cut.3,9", "relative_P.4"}
    compared = 0
    for asked in (measures, other):
        evaluator = pytrec_eval.RelevanceEvaluator(judgments, asked, level, judged_only)
        theirs = evaluator.evaluate(ranking)
        options = read_options(
            [
                *("--conventions", "9", "-q", f"-l{level}", *["-J"] * judged_only),
                *(f"-m{name}" for name in asked),
                *map(str, (qrels, results)),
            ]
        )
        outcome = evaluate(options, read_inputs(options), None)
        assert outcome.stop is None
        assert {topic.decode() for topic in outcome.topics} == set(theirs)
        for line in outcome.lines:
            expected = np.array([theirs[topic.decode()][line.name] for topic in outcome.topics])
            certificate.compare(
                "pytrec_eval", line.name, line.values, expected, where=outcome.topics.__getitem__
            )
            assert [f"{v:6.4f}" for v in line.values] == [f"{v:6.4f}" for v in expected], line.name
            compared += len(expected)
    assert compared > 25_000
