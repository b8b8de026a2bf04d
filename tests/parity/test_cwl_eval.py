"""cwl_eval, the program of the C/W/L framework, on random rankings: every user model, with costs."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from certificate import Certificate

from calipers.measures import parse
from calipers.measures.cwl_models import USER_MODELS
from calipers.statistics import JudgedRankings

pytest.importorskip("cwl", reason="cwl-eval is not installed")

from cwl.ruler import cwl_ruler as theirs
from cwl.ruler.measures.cwl_npv import NPVCWLMetric
from cwl.ruler.ranking import Ranking

COSTS = {-1: 1.5, 0: 2.0, 1: 3.0, 2: 0.5, 3: 4.0}

#: Of each model theirs, our parameters, and our cutoff. What is in the dynamic model of BPM changed
#: by hc there is T, after its last use, so that it has no effect; here it is K.
MODELS: dict[str, tuple[Callable[[], Any], str, int]] = {
    "P": (lambda: theirs.PrecisionCWLMetric(10), "", 10),
    "RR": (theirs.RRCWLMetric, "", 1000),
    "AP": (theirs.APCWLMetric, "", 1000),
    "SDCG": (lambda: theirs.NDCGCWLMetric(10), "", 10),
    "RBP": (lambda: theirs.RBPCWLMetric(0.7), "p=0.7", 1000),
    "INST": (lambda: theirs.INSTCWLMetric(2.0), "T=2", 1000),
    "INSQ": (lambda: theirs.INSQCWLMetric(2.0), "T=2", 1000),
    "BPM": (lambda: theirs.BPMCWLMetric(1.5, 10), "T=1.5,K=10", 1000),
    "BPM, dynamic": (
        lambda: theirs.BPMDCWLMetric(1.5, 12, 0.75, 0.0, 0.4),
        "T=1.5,K=12,hb=0.75,gain_med=0.4",
        1000,
    ),
    "IFT": (
        lambda: theirs.IFTGoalRateCWLMetric(2.0, 0.8, 3, 0.3, 0.7, 5),
        "T=2,b1=0.8,R1=3,A=0.3,b2=0.7,R2=5",
        1000,
    ),
    "IFT-C1": (lambda: theirs.IFTGoalCWLMetric(2.0, 0.9, 10), "", 1000),
    "IFT-C2": (lambda: theirs.IFTRateCWLMetric(0.2, 0.9, 10), "", 1000),
    "NERR8": (lambda: theirs.NERReq8CWLMetric(10), "", 10),
    "NERR9": (lambda: theirs.NERReq9CWLMetric(10), "", 10),
    "NERR10": (lambda: theirs.NERReq10CWLMetric(0.8), "p=0.8", 1000),
    "NERR11": (lambda: theirs.NERReq11CWLMetric(2.0), "T=2", 1000),
    "TBG": (lambda: theirs.TBGCWLMetric(22), "half_life=22", 1000),
    "U": (lambda: theirs.UMeasureCWLMetric(50), "L=50", 1000),
}


def stopping_at_the_end(metric: Any) -> Any:
    """Users of cwl_eval who reach rank 1,000 and would go on are lost in its totals; here they stop."""
    c_vector = metric.c_vector

    def stopped(*arguments: Any) -> Any:
        return np.append(np.array(c_vector(*arguments), float)[:-1], 0.0)

    metric.c_vector = stopped
    return metric


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_what_cwl_eval_computes(model: str, certificate: Certificate) -> None:
    make, parameters, cutoff = MODELS[model]
    assert {name.split(",")[0] for name in MODELS} == set(USER_MODELS)
    generator = np.random.default_rng(3)
    for _ in range(8):
        grades = generator.choice(4, generator.integers(1, 40), p=[0.6, 0.2, 0.1, 0.1])
        costs = np.array([COSTS[grade] for grade in grades.tolist()])
        metric = stopping_at_the_end(make())
        metric.measure(Ranking("t", grades / 3, costs, max_cost=COSTS[-1]))
        r = JudgedRankings.from_rankings([grades.tolist()])
        options = ",".join(filter(None, (f"user_model='{model.split(',')[0]}'", parameters)))
        for name, expected in zip(
            ("EU", "ETU", "EC", "ETC", "ED"), metric.get_scores(), strict=True
        ):
            measure = f"{name}({options},gain='scale',max_grade=3,costs={COSTS})@{cutoff}"
            value = parse(measure, "retrieval").apply(r)
            certificate.compare("cwl-eval", f"{name} of {model}", value, [expected])


def test_what_the_page_says_of_each_metric() -> None:
    page = (Path(__file__).parents[2] / "docs" / "migration.md").read_text(encoding="utf-8")
    table = page.split("\n| cwl_eval | Calipers |")[1].split("\n\n")[0].splitlines()[2:]
    grades = np.random.default_rng(5).integers(0, 2, 30)
    r = JudgedRankings.from_rankings([grades.tolist()])
    assert len(table) == 18
    for line in table:
        metric, ours, *_ = re.findall(r"`([^`]+)`", line)
        if "hc has no effect" not in line:
            expected = eval(metric, {**vars(theirs), "NPVCWLMetric": NPVCWLMetric}).measure(
                Ranking("t", grades, np.ones(30))
            )
            value = parse(ours, "retrieval").apply(r)[0]
            assert value == pytest.approx(expected, rel=1e-12, abs=1e-12), metric
