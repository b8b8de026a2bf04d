"""ranx on random data: every measure that it has, at relevance levels 1 and 2.

It orders tied documents by chance, so scores here are distinct. It is compiled on first use, which
takes it a minute or so.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from calipers.data.trec import read_qrels, read_run
from calipers.measures import parse
from calipers.statistics import JudgedRankings

ranx = pytest.importorskip("ranx", reason="ranx is not installed")

pytestmark = [
    pytest.mark.slow,
    # What its compiler has to say of ranx itself.
    pytest.mark.filterwarnings("ignore:unsafe cast from uint64 to int64"),
]

TOPICS = 500

WHOLE = (
    *("hits", "precision", "recall", "f1", "r-precision", "mrr", "map"),
    *("dcg", "dcg_burges", "ndcg", "ndcg_burges", "rbp.95", "rbp.5"),
)
CUT = (
    *("hits", "hit_rate", "precision", "recall", "f1", "mrr", "map"),
    *("dcg", "dcg_burges", "ndcg", "ndcg_burges"),
)
NAMES = [*WHOLE, *(f"{name}@{k}" for name in CUT for k in (1, 5, 10, 100))]

Qrels = dict[str, dict[str, int]]
Run = dict[str, dict[str, float]]


def random_data(grades: list[int], seed: int) -> tuple[Qrels, Run]:
    generator = np.random.default_rng(seed)
    qrels: Qrels = {}
    run: Run = {}
    for t in range(TOPICS):
        pool = int(generator.integers(2, 300 if t % 50 == 7 else 30))
        judged = generator.random(pool) < generator.uniform(0.2, 1.0)
        judged[0] = True
        qrels[f"t{t}"] = {f"d{i}": int(generator.choice(grades)) for i in np.flatnonzero(judged)}
        if t % 25:  # else a topic that the run leaves out
            retrieved = np.flatnonzero(generator.random(pool) < generator.uniform(0.1, 1.0))
            scores = generator.permutation(max(len(retrieved), 1)).astype(float)
            run[f"t{t}"] = {f"d{i}": float(s) for i, s in zip(retrieved, scores, strict=False)} or {
                "none of them": 1.0
            }
    return qrels, run


def compared(name: str, qrels: Qrels, run: Run, theirs: Any) -> tuple[int, int]:
    """How many values are the same, and how many are undefined here and 0 there."""
    rankings = JudgedRankings(**read_run("run", run, read_qrels(qrels)).arrays)
    values = parse(name, "retrieval").apply(rankings)
    level = 2 if name.endswith("-l2") else 1
    undefined = 0
    for topic, value in zip(rankings.topics, values, strict=True):
        expected = theirs.scores[name][topic]
        if np.isnan(value):
            empty = name.startswith("precision") and "@" not in name and not run.get(topic)
            assert empty or max(qrels[topic].values()) < level, (topic, name)
            assert expected == 0
            undefined += 1
        else:
            assert value == pytest.approx(expected, rel=1e-12, abs=1e-12), (topic, name)
    return len(values) - undefined, undefined


@pytest.mark.parametrize("grades", [[0, 1], [0, 0, 0, 1, 2, 3], [-2, -1, 0, 0, 1, 2, 4]])
def test_per_topic_values(grades: list[int]) -> None:
    qrels, run = random_data(grades, len(grades))
    names = [f"{name}{level}" for name in NAMES for level in ("", "-l2")]
    theirs = ranx.Run.from_dict(run)
    ranx.evaluate(ranx.Qrels.from_dict(qrels), theirs, names, make_comparable=True)
    counts = np.array([compared(name, qrels, run, theirs) for name in names])
    assert (counts.sum(axis=0) > (25_000, 1_000)).all()


@pytest.mark.parametrize("grades", [[0, 1], [0, 0, 0, 1, 2, 3]])
def test_bpref(grades: list[int]) -> None:
    """Where each topic has a relevant and another judged document: it divides by the number of
    both, and one 0/0 leaves further topics of its batch without their values. Negative grades are
    no different from 0 to it."""
    qrels, run = random_data(grades, len(grades))
    qrels = {t: {**judged, "both": 3, "kinds": 0} for t, judged in qrels.items()}
    names = ["bpref", "bpref-l2"]
    theirs = ranx.Run.from_dict(run)
    ranx.evaluate(ranx.Qrels.from_dict(qrels), theirs, names, make_comparable=True)
    assert [compared(name, qrels, run, theirs) for name in names] == [(TOPICS, 0)] * 2
