"""Runs against judgments: whole processes that read files, and calls with dictionaries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from peers.row import Call, Data, Whole

RUN_HERE = """
import calipers as cal
ev = cal.retrieval(f"{path}/qrels.txt", f"{path}/run.txt",
                   measures=["AP", "nDCG@10", "RR", "R@100"], undefined="zero", interval="none")
print(json.dumps([e.value for e in ev]))
"""
RUN_PYTREC = """
import pytrec_eval
with open(f"{path}/qrels.txt") as f: qrels = pytrec_eval.parse_qrel(f)
with open(f"{path}/run.txt") as f: run = pytrec_eval.parse_run(f)
names = {"map", "ndcg_cut.10", "recip_rank", "recall.100"}
values = pytrec_eval.RelevanceEvaluator(qrels, names).evaluate(run).values()
names = ["map", "ndcg_cut_10", "recip_rank", "recall_100"]
print(json.dumps([sum(v[m] for v in values) / len(values) for m in names]))
"""
RUN_IR = """
import ir_measures
from ir_measures import AP, RR, R, nDCG
qrels = ir_measures.read_trec_qrels(f"{path}/qrels.txt")
run = ir_measures.read_trec_run(f"{path}/run.txt")
measures = [AP, nDCG @ 10, RR, R @ 100]
values = ir_measures.calc_aggregate(measures, qrels, run)
print(json.dumps([values[m] for m in measures]))
"""
RUN_RANX = """
from ranx import Qrels, Run, evaluate
qrels = Qrels.from_file(f"{path}/qrels.txt", kind="trec")
run = Run.from_file(f"{path}/run.txt", kind="trec")
values = evaluate(qrels, run, ["map", "ndcg@10", "mrr", "recall@100"], make_comparable=True)
print(json.dumps([float(v) for v in values.values()]))
"""
#: The command as installed, and its peer with the same measures.
TREC_HERE = """
import sys
path = sys.argv[1]
sys.argv = ["calipers", "trec_eval", f"{path}/qrels.txt", f"{path}/run.txt"]
from calipers.cli import main
main()
"""
TREC_PYTREC = """
import sys, pytrec_eval
path = sys.argv[1]
with open(f"{path}/qrels.txt") as f: qrels = pytrec_eval.parse_qrel(f)
with open(f"{path}/run.txt") as f: run = pytrec_eval.parse_run(f)
names = pytrec_eval.supported_nicknames["official"]
values = pytrec_eval.RelevanceEvaluator(qrels, names).evaluate(run)
for name in sorted(next(iter(values.values()))):
    print(name, pytrec_eval.compute_aggregated_measure(name, [v[name] for v in values.values()]))
"""
RUNS = {
    "Calipers": RUN_HERE,
    "pytrec_eval-terrier": RUN_PYTREC,
    "ir_measures": RUN_IR,
    "ranx": RUN_RANX,
}


def dictionaries(lines: int) -> Data:
    """Judgments and a run as dictionaries: a hundred documents of each topic, ten of them judged."""
    import numpy as np

    random = np.random.default_rng(4)
    run, qrels = {}, {}
    for topic in range(max(lines // 100, 1)):
        scores = random.random(100).tolist()
        run[f"q{topic}"] = {f"d{place}": score for place, score in enumerate(scores)}
        grades = random.integers(0, 3, 10).tolist()
        judged = random.choice(100, 10, replace=False).tolist()
        qrels[f"q{topic}"] = {f"d{at}": grade for at, grade in zip(judged, grades, strict=True)}
    return qrels, run


def topics_here(qrels: Any, run: Any) -> list[float]:
    import calipers as cal

    made = cal.retrieval(
        qrels, run, measures=["AP", "nDCG@10", "RR", "R@100"], undefined="zero", interval="none"
    )
    return [each.value for each in made]


def topics_there(qrels: Any, run: Any) -> list[float]:
    import pytrec_eval

    names = ["map", "ndcg_cut_10", "recip_rank", "recall_100"]
    made = pytrec_eval.RelevanceEvaluator(
        qrels, {"map", "ndcg_cut.10", "recip_rank", "recall.100"}
    ).evaluate(run)
    return [sum(each[name] for each in made.values()) / len(made) for name in names]


def topics_ranx(qrels: Any, run: Any) -> list[float]:
    from ranx import Qrels, Run, evaluate

    names = ["map", "ndcg@10", "mrr", "recall@100"]
    made = evaluate(Qrels(qrels), Run(run), names, make_comparable=True)
    return [float(made[name]) for name in names]


CALLS: Mapping[str, Call] = {
    "topics": Call(
        "AP, nDCG@10, RR and R@100 of dictionaries with {n:,} documents, 100 of each topic",
        *(100_000, dictionaries),
        {"Calipers": topics_here, "pytrec_eval-terrier": topics_there, "ranx": topics_ranx},
    ),
}
WHOLES: Mapping[str, Whole] = {
    "run": Whole(
        "reading a run ({n:,} topics × 1,000 documents) and computing AP, nDCG@10, RR and R@100",
        *(6980, "run", RUNS),
        apart=("ranx",),
        most=3,
    ),
    "small-run": Whole(
        "the same with {n:,} topics × 1,000 documents",
        *(50, "run", RUNS),
        apart=("ranx",),
        check=50,
    ),
    "trec_eval": Whole(
        "all measures of trec_eval, {n:,} topics × 1,000 documents",
        *(50, "run", {"Calipers": TREC_HERE, "pytrec_eval-terrier": TREC_PYTREC}),
        valued=False,
        check=50,
    ),
}
