"""pyNTCIREVAL, the measures of NTCIR, on random rankings with unjudged documents."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from certificate import Certificate

from calipers.data.trec import read_qrels, read_run
from calipers.measures import parse
from calipers.statistics import JudgedRankings

theirs = pytest.importorskip("pyNTCIREVAL.metrics", reason="pyNTCIREVAL is not installed")

GAINS, BETA = [1, 4, 6], 2.0
OURS = "gains={1:1,2:4,3:6}"

#: Ours and theirs, a function of the numbers of documents by level.
MEASURES: dict[str, Callable[[list[int]], Any]] = {
    f"O-measure(beta=2,{OURS})": lambda n: theirs.OMeasure(n, GAINS, BETA),
    f"P-measure(beta=2,{OURS})": lambda n: theirs.PMeasure(n, GAINS, BETA),
    f"P+(beta=2,{OURS})": lambda n: theirs.PPlusMeasure(n, GAINS, BETA),
    f"Q(beta=2,{OURS})": lambda n: theirs.QMeasure(n, GAINS, BETA),
    f"Q(beta=2,{OURS})@5": lambda n: theirs.QMeasure(n, GAINS, BETA, 5),
    f"NCUguP({OURS},stops={{1:3,2:1,3:2}})": lambda n: theirs.NCUguP(n, GAINS, [3, 1, 2]),
    f"NCUguBR({OURS},beta=2)": lambda n: theirs.NCUguBR(n, GAINS, GAINS, BETA),
    f"NCUrbP({OURS},gamma=0.8)": lambda n: theirs.NCUrbP(n, GAINS, 0.8),
    f"NCUrbBR({OURS},gamma=0.8,beta=2)": lambda n: theirs.NCUrbBR(n, GAINS, 0.8, BETA),
    f"ERR({OURS},max_grade=3)": lambda n: theirs.ERR(n, GAINS),
    f"nERR({OURS},max_grade=3)@5": lambda n: theirs.nERR(n, GAINS, 5),
    f"MSnDCG({OURS})@5": lambda n: theirs.MSnDCG(n, GAINS, 5),
    f"nDCG({OURS},dcg='log-base',base=3)@5": lambda n: theirs.nDCG(n, GAINS, 3, 5),
}


@pytest.mark.parametrize("name", MEASURES)
def test_what_pyntcireval_computes(name: str, certificate: Certificate) -> None:
    generator = np.random.default_rng(1)
    for _ in range(40):
        pool = generator.integers(0, 4, generator.integers(2, 25)).tolist()
        pool[0] = max(pool[0], 1)
        levels = [pool.count(level) for level in range(4)]
        qrels = {"q": {f"d{i}": level for i, level in enumerate(pool)}}
        found = generator.permutation(len(pool) + 5)[: generator.integers(1, 20)]
        ranked = [(f"d{i}", qrels["q"].get(f"d{i}")) for i in found]
        run = {"q": {document: -float(i) for i, (document, _) in enumerate(ranked)}}
        r = JudgedRankings(**read_run("run", run, read_qrels(qrels)).arrays)
        metric = MEASURES[name](levels)
        certificate.compare(
            "pyNTCIREVAL",
            type(metric).__name__,
            parse(name, "retrieval").apply(r),
            [metric.compute(ranked)],
        )
