"""Measures of BEIR, MTEB and MS MARCO, as their sources define them, on random runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from certificate import Certificate

import calipers as cal

CUTOFFS = (1, 3, 5, 10, 100)

Qrels = dict[str, dict[str, int]]
Run = dict[str, dict[str, float]]


def random_data(seed: int) -> tuple[Qrels, Run]:
    """60 topics, each with a relevant document and distinct scores, for their order of ties is that
    in which documents are listed. In every second topic there are documents that are judged for
    others only."""
    generator = np.random.default_rng([51, seed])
    qrels: Qrels = {}
    run: Run = {}
    for t in range(60):
        topic, document = f"t{t}", "d" if t % 2 else f"d{t}-"
        pool = generator.permutation(200)[: int(generator.integers(12, 150))]
        judged = generator.random(len(pool)) < generator.uniform(0.1, 0.9)
        grades = generator.choice([0, 0, 0, 1, 2], len(pool))
        qrels[topic] = {
            f"{document}{d}": int(g) for d, g in zip(pool[judged], grades[judged], strict=True)
        }
        qrels[topic]["relevant"] = 1
        retrieved = generator.permutation(260)[: int(generator.integers(2, 150))]
        scores = generator.permutation(len(retrieved)).astype(float)
        run[topic] = {f"{document}{d}": s for d, s in zip(retrieved, scores, strict=True)}
    return qrels, run


def by_topic(name: str, qrels: Qrels, run: Run) -> np.ndarray[Any, Any]:
    """Our values, in the order of the topics of the run."""
    evaluation = cal.retrieval(qrels, run, measures=[name], interval="none")
    [values] = evaluation.per_unit.values["run"].values()
    of = dict(zip(evaluation.per_unit.ids, values, strict=True))
    return np.array([of[topic] for topic in run])


def first(run: Run, k: int) -> dict[str, list[str]]:
    return {
        t: sorted(scored, key=scored.__getitem__, reverse=True)[:k] for t, scored in run.items()
    }


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("k", CUTOFFS)
def test_beir_and_mteb(k: int, seed: int, certificate: Certificate) -> None:
    qrels, run = random_data(seed)
    relevant = {t: {d for d, g in grades.items() if g > 0} for t, grades in qrels.items()}
    tops = first(run, k)
    hits = {t: [d in relevant[t] for d in top] for t, top in tops.items()}
    anywhere = {d for grades in qrels.values() for d in grades}
    unjudged = {t: [d not in anywhere for d in top] for t, top in tops.items()}
    elsewhere = np.array(
        [any(d in anywhere and d not in qrels[t] for d in top) for t, top in tops.items()]
    )
    ratio = {
        "MRR": ([1 / (h.index(True) + 1) if any(h) else 0.0 for h in hits.values()], {}),
        "R_cap": ([sum(h) / min(len(relevant[t]), k) for t, h in hits.items()], {}),
        "Hole": ([sum(u) / k for u in unjudged.values()], {"judged elsewhere": elsewhere}),
    }
    for name, (theirs, because) in ratio.items():
        ours = by_topic(f"{name}@{k}", qrels, run)
        certificate.compare("BEIR", f"{name}@{k}", ours, theirs, because=because)
        if name == "MRR":
            certificate.compare("MTEB", f"mrr_at_{k}", by_topic(f"mrr_at_{k}", qrels, run), theirs)
    anything = [float(any(h)) for h in hits.values()]
    for name in (f"hit_rate_at_{k}", f"cv_recall_at_{k}"):
        certificate.compare("MTEB", name, by_topic(name, qrels, run), anything)
    # BEIR sorts ids by their second character where it means the score.
    listed = {t: sorted(scored, key=lambda d: d[1], reverse=True)[:k] for t, scored in run.items()}
    accuracy = [float(any(d in relevant[t] for d in top)) for t, top in listed.items()]
    certificate.compare(
        "BEIR", f"Accuracy@{k}", by_topic(f"Accuracy@{k}", qrels, run), accuracy,
        because={"order of ids": [len(scored) > k for scored in run.values()]},
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
def test_means_of_beir_and_mteb(seed: int, certificate: Certificate) -> None:
    """Of trec_eval's measures, over the topics of the run, rounded to five digits."""
    pytrec_eval = pytest.importorskip("pytrec_eval", reason="pytrec_eval is not installed")
    qrels, run = random_data(seed)
    names = {"NDCG": "ndcg_cut", "MAP": "map_cut", "Recall": "recall", "P": "P"}
    in_mteb = {"NDCG": "ndcg_at", "MAP": "map_at", "Recall": "recall_at", "P": "precision_at"}
    cutoffs = ",".join(map(str, CUTOFFS))
    asked = {f"{name}.{cutoffs}" for name in names.values()}
    by_query = pytrec_eval.RelevanceEvaluator(qrels, asked).evaluate(run)
    for name, there in names.items():
        for k in CUTOFFS:
            mean = round(np.mean([values[f"{there}_{k}"] for values in by_query.values()]), 5)
            for peer, asked_as in (("BEIR", f"{name}@{k}"), ("MTEB", f"{in_mteb[name]}_{k}")):
                [ours] = cal.retrieval(qrels, run, measures=[asked_as], interval="none").estimates
                certificate.compare(peer, asked_as, ours.value, mean, rtol=0.0, atol=0.5001e-5)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", ["ndcg_at_10", "mrr_at_10"])
def test_abstention_of_mteb(name: str, seed: int, certificate: Certificate) -> None:
    """nAUC by the confidences of MTEB, at abstention rates of 0 to 0.9; by 3 documents or more, so
    that no confidences are tied."""
    qrels, run = random_data(seed)
    generator = np.random.default_rng([52, seed])
    run = {
        topic: {d: float(generator.normal(generator.uniform())) for d in [*scored, "x", "z"]}
        for topic, scored in run.items()
    }
    evaluation = cal.retrieval(qrels, run, measures=[name], interval="none")
    values = by_topic(name, qrels, run)

    def area(by: np.ndarray[Any, Any]) -> float:
        ascending, n = values[np.argsort(by, kind="stable")], len(values)
        curve = [ascending[min(round(k / 10 * n), n - 1) :].mean() for k in range(10)]
        return float(np.trapezoid(curve, np.linspace(0, 0.9, 10)))

    flat, scores = 0.9 * values.mean(), [sorted(s.values(), reverse=True) for s in run.values()]
    confidences = {
        "max": [s[0] for s in scores],
        "std": [np.std(s) for s in scores],
        "diff1": [s[0] - s[1] for s in scores],
    }
    for score, confidence in confidences.items():
        theirs = (area(np.array(confidence)) - flat) / (area(values) - flat)
        ours = cal.abstention(evaluation, run, f"nauc_{name}_{score}", n_resamples=100)
        certificate.compare("MTEB", f"nauc_{name}_{score}", ours.value, theirs)


@pytest.mark.parametrize("seed", range(3))
def test_ms_marco(seed: int, certificate: Certificate) -> None:
    """The reciprocal rank at 10, over all judged topics, of which a run may omit some."""
    qrels, run = random_data(seed)
    run = {topic: scored for topic, scored in run.items() if topic not in ("t3", "t4")}
    total = 0.0
    for topic, top in first(run, 10).items():
        ranks = [rank for rank, d in enumerate(top, 1) if qrels[topic].get(d, 0) > 0]
        total += 1 / ranks[0] if ranks else 0.0
    [ours] = cal.retrieval(qrels, run, measures=["MRR@10"], interval="none").estimates
    certificate.compare("MS MARCO", "MRR @10", ours.value, total / len(qrels))
