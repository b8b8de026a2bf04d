"""ranx on random data: every measure that it has, at relevance levels 1 and 2.

It orders tied documents by chance, so scores here are distinct. It is compiled on first use, which
takes it a minute or so.
"""

from __future__ import annotations

import numpy as np
import pytest
from certificate import Certificate

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


def compare(certificate: Certificate, names: list[str], qrels: Qrels, run: Run) -> tuple[int, int]:
    """Compare all topics; how many values are the same, and how many undefined here and 0 there."""
    theirs = ranx.Run.from_dict(run)
    ranx.evaluate(ranx.Qrels.from_dict(qrels), theirs, names, make_comparable=True)
    rankings = JudgedRankings(**read_run("run", run, read_qrels(qrels)).arrays)
    topics = rankings.topics
    highest = np.array([max(qrels[topic].values()) for topic in topics])
    absent = np.array([topic not in run for topic in topics])
    n_values = n_undefined = 0
    for name in names:
        values = parse(name, "retrieval").apply(rankings)
        expected = np.array([theirs.scores[name][topic] for topic in topics])
        undefined = np.isnan(values)
        empty = absent & (name.removesuffix("-l2") == "precision")
        no_relevant = highest < (2 if name.endswith("-l2") else 1)
        assert (empty | no_relevant)[undefined].all(), name
        assert (expected[undefined] == 0).all(), name
        because = {"nothing_retrieved": undefined & empty, "no_relevant": undefined & no_relevant}
        certificate.compare(
            "ranx", name, values, expected, because=because, where=topics.__getitem__
        )
        n_undefined += int(undefined.sum())
        n_values += int((~undefined).sum())
    return n_values, n_undefined


@pytest.mark.parametrize("grades", [[0, 1], [0, 0, 0, 1, 2, 3], [-2, -1, 0, 0, 1, 2, 4]])
def test_per_topic_values(grades: list[int], certificate: Certificate) -> None:
    qrels, run = random_data(grades, len(grades))
    names = [f"{name}{level}" for name in NAMES for level in ("", "-l2")]
    n_values, n_undefined = compare(certificate, names, qrels, run)
    assert n_values > 25_000
    assert n_undefined > 1_000


@pytest.mark.parametrize("grades", [[0, 1], [0, 0, 0, 1, 2, 3]])
def test_bpref(grades: list[int], certificate: Certificate) -> None:
    """Where each topic has a relevant and another judged document: it divides by the number of
    both, and one 0/0 leaves further topics of its batch without their values. Negative grades are
    no different from 0 to it."""
    qrels, run = random_data(grades, len(grades))
    qrels = {t: {**judged, "both": 3, "kinds": 0} for t, judged in qrels.items()}
    assert compare(certificate, ["bpref", "bpref-l2"], qrels, run) == (2 * TOPICS, 0)
