"""pytrec_eval (trec_eval 9.0.8) on random runs: 4,500 topics, 35 measures each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import calipers as cal

pytrec_eval = pytest.importorskip("pytrec_eval")

TOPICS = 1500
CUTOFFS = (1, 3, 5, 10, 20)

#: trec_eval's name → ours.
NAMES = {
    "map": "AP",
    "ndcg": "nDCG",
    "recip_rank": "RR",
    "Rprec": "Rprec",
    "set_P": "SetP",
    "set_recall": "SetR",
    "set_F": "SetF",
    "num_ret": "NumRet",
    "num_rel": "NumRel",
    "num_rel_ret": "NumRelRet",
} | {
    f"{theirs}_{k}": f"{ours}@{k}"
    for theirs, ours in (
        ("map_cut", "AP"),
        ("ndcg_cut", "nDCG"),
        ("P", "P"),
        ("recall", "R"),
        ("success", "Success"),
    )
    for k in CUTOFFS
}
#: Those that trec_eval calls 0, and we undefined, where no document is relevant.
NEEDS_RELEVANT = ("AP", "nDCG", "R@", "Rprec", "SetR", "SetF")


def random_topics(
    generator: np.random.Generator, scores: str
) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """Judgments and a run over few documents, so that much is tied, unjudged or missed."""
    qrels: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    for t in range(TOPICS):
        pool = int(generator.integers(2, 30))
        documents = [f"d{i}" for i in generator.permutation(pool)]
        judged = generator.random(pool) < generator.uniform(0.2, 1.0)
        grades = generator.choice(
            [-2, -1, 0, 1, 2, 3],
            size=pool,
            p=[[0.05, 0.1, 0.4, 0.3, 0.1, 0.05], [0, 0, 0.6, 0.4, 0, 0], [0.1, 0, 0.9, 0, 0, 0]][
                t % 3
            ],
        )
        qrels[f"t{t}"] = {
            doc: int(g) for doc, g, here in zip(documents, grades, judged, strict=True) if here
        } | {"z-judged": 0}  # trec_eval stops at a topic whose judgments are all negative
        if t % 25 == 0:
            continue  # a topic that the run leaves out
        retrieved = generator.random(pool) < generator.uniform(0.1, 1.0)
        if scores == "tied":
            values = generator.integers(0, 5, pool).astype(float)
        elif scores == "float32":
            values = generator.normal(size=pool).astype(np.float32).astype(float)
        else:  # differences that a 32-bit float does not see
            values = 1 + generator.integers(0, 6, pool) * 2e-8
        run[f"t{t}"] = {
            doc: float(v) for doc, v, here in zip(documents, values, retrieved, strict=True) if here
        } or {"only": 1.0}
    return qrels, run


def values_of(ev: cal.Evaluation) -> tuple[tuple[str, ...], dict[str, Any]]:
    assert ev.per_unit is not None
    return ev.per_unit.ids, dict(ev.per_unit.values["run"])


@pytest.mark.parametrize("level", [1, 2])
@pytest.mark.parametrize("scores", ["tied", "float32", "below float32"])
def test_per_topic_values(scores: str, level: int) -> None:
    """1,500 topics of each kind of scores; the relevance levels share them."""
    qrels, run = random_topics(np.random.default_rng([11, len(scores)]), scores)
    requested = {name.rstrip("0123456789").rstrip("_") for name in NAMES}
    requested = {
        f"{name}.{','.join(map(str, CUTOFFS))}"
        if name in ("map_cut", "ndcg_cut", "P", "recall", "success")
        else name
        for name in requested
    }
    theirs = pytrec_eval.RelevanceEvaluator(qrels, requested, relevance_level=level).evaluate(run)
    ids, ours = values_of(
        cal.retrieval(
            qrels,
            run,
            measures=list(NAMES.values()),
            rel=level,
            float32=scores == "below float32",
            interval="none",
        )
    )
    suffix = "" if level == 1 else f"(rel={level})"
    compared = undefined = absent = 0
    for place, topic in enumerate(ids):
        relevant = sum(grade >= level for grade in qrels[topic].values())
        gain = sum(grade > 0 for grade in qrels[topic].values())
        for name, measure in NAMES.items():
            base, at, cutoff = measure.partition("@")
            takes_rel = base not in ("nDCG", "NumRet")
            value = ours[f"{base}{suffix if takes_rel else ''}{at}{cutoff}"][place]
            needed = gain if base == "nDCG" else relevant
            if topic not in theirs:
                assert topic not in run
                if base == "NumRel":
                    assert value == relevant
                elif needed or not measure.startswith(NEEDS_RELEVANT):
                    assert value == 0
                absent += 1
                continue
            expected = theirs[topic][name]
            if not needed and measure.startswith(NEEDS_RELEVANT):
                assert np.isnan(value), (topic, measure)
                assert expected == 0
                undefined += 1
                continue
            assert value == pytest.approx(expected, rel=1e-12, abs=1e-12), (topic, measure)
            compared += 1
    assert compared > 30_000
    assert undefined > 1_000
    assert absent == 60 * len(NAMES)


def test_float32_makes_a_difference() -> None:
    """Else the test above would compare nothing but ties."""
    qrels, run = random_topics(np.random.default_rng(5), "below float32")
    exact, rounded = (
        values_of(cal.retrieval(qrels, run, measures="AP", float32=f, interval="none"))[1]["AP"]
        for f in (False, True)
    )
    assert (np.nan_to_num(exact) != np.nan_to_num(rounded)).mean() > 0.2


def test_the_mean_as_trec_eval_takes_it() -> None:
    """``undefined="zero"`` over all topics is trec_eval -c."""
    qrels, run = random_topics(np.random.default_rng(3), "float32")
    theirs = pytrec_eval.RelevanceEvaluator(qrels, {"map", "ndcg", "Rprec"}).evaluate(run)
    ev = cal.retrieval(
        qrels, run, measures=["AP", "nDCG", "Rprec"], undefined="zero", interval="none"
    )
    for name, measure in (("map", "AP"), ("ndcg", "nDCG"), ("Rprec", "Rprec")):
        expected = sum(values[name] for values in theirs.values()) / len(qrels)
        assert ev[measure].value == pytest.approx(expected, rel=1e-12)
        assert ev[measure].n == len(qrels)


@pytest.mark.parametrize("beta_squared", [0.25, 4.0])
def test_the_parameter_of_set_f_is_beta_squared_there(beta_squared: float) -> None:
    """1,500 topics each."""
    qrels, run = random_topics(np.random.default_rng(13), "tied")
    asked = {f"set_F.{beta_squared:g}"}
    theirs = pytrec_eval.RelevanceEvaluator(qrels, asked).evaluate(run)
    (name,) = next(iter(theirs.values()))
    beta = beta_squared**0.5
    ids, ours = values_of(cal.retrieval(qrels, run, measures=f"SetF(beta={beta})", interval="none"))
    (values,) = ours.values()
    compared = 0
    for topic, value in zip(ids, values, strict=True):
        if topic in theirs and not np.isnan(value):
            assert value == pytest.approx(theirs[topic][name], rel=1e-12, abs=1e-12)
            compared += 1
    assert compared > 800
