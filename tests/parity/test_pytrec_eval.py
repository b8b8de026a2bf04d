"""pytrec_eval (trec_eval 9.0.8) on random runs: every measure that it has."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from certificate import Certificate

import calipers as cal
from calipers.measures import Measure, parse

pytrec_eval = pytest.importorskip("pytrec_eval")

TOPICS = 300
CUTOFFS = (1, 3, 5, 10, 20, 100, 1000)
TENTHS = [f"{tenth / 10:.2f}" for tenth in range(11)]
FIFTHS = [f"{fifth / 5:.2f}" for fifth in range(1, 11)]

#: trec_eval's name → ours. Up to version 9, recall points are ⌊r·R + 0.9⌋ documents.
NAMES = {
    "num_q": "NumQ",
    "num_ret": "NumRet",
    "num_rel": "NumRel",
    "num_rel_ret": "NumRelRet",
    "map": "AP",
    "gm_map": "gm-AP",
    "Rprec": "Rprec",
    "bpref": "Bpref",
    "recip_rank": "RR",
    "infAP": "infAP",
    "gm_bpref": "gm-Bpref",
    "utility": "utility",
    "11pt_avg": "11pt-avg(rule='nine-tenths')",
    "binG": "binG",
    "G": "G",
    "ndcg": "nDCG",
    "ndcg_rel": "nDCG-rel",
    "Rndcg": "RnDCG",
    "set_P": "SetP",
    "set_relative_P": "SetRelP",
    "set_recall": "SetR",
    "set_map": "SetAP",
    "set_F": "SetF",
    "num_nonrel_judged_ret": "NumNonrelJudgedRet",
}
NAMES |= {
    f"{theirs}_{k}": f"{ours}@{k}"
    for theirs, ours in (
        ("map_cut", "AP"),
        ("ndcg_cut", "nDCG"),
        ("P", "P"),
        ("recall", "R"),
        ("relative_P", "RelP"),
        ("success", "Success"),
    )
    for k in CUTOFFS
}
NAMES |= {f"iprec_at_recall_{r}": f"IPrec(rule='nine-tenths')@{r}" for r in [*TENTHS, "0.25"]}
NAMES |= {f"Rprec_mult_{m}": f"Rprec(multiple={m})" for m in [*FIFTHS, "0.35"]}

#: What has no number of a topic: a tag, and a string.
TEXTS = {"runid", "relstring"}


def asked() -> set[str]:
    """The measures as pytrec_eval wants to be asked."""
    cutoffs = ",".join(map(str, CUTOFFS))
    out = {name for name in NAMES if name in pytrec_eval.supported_measures}
    out |= {
        f"{n}.{cutoffs}" for n in ("map_cut", "ndcg_cut", "P", "recall", "relative_P", "success")
    }
    return out | {
        f"iprec_at_recall.{','.join([*TENTHS, '0.25'])}",
        f"Rprec_mult.{','.join([*FIFTHS, '0.35'])}",
    }


def test_every_measure_is_compared() -> None:
    bases = {name for name in asked() if "." not in name} | {n.split(".")[0] for n in asked()}
    assert bases | TEXTS == pytrec_eval.supported_measures


@pytest.mark.parametrize(("theirs", "ours"), NAMES.items())
def test_a_name_is_read_as_what_is_compared(theirs: str, ours: str) -> None:
    rule = {"rule": "nine-tenths"} if "rule" in ours else {}
    assert str(parse(theirs, "retrieval", rule)) == str(parse(ours, "retrieval"))


def random_topics(
    generator: np.random.Generator, scores: str
) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """Judgments and a run over few documents, so that much is tied, unjudged or missed; now and
    then over many."""
    qrels: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    for t in range(TOPICS):
        pool = int(generator.integers(2, 1500 if t % 100 == 7 else 30))
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
    run["not judged"] = {"d1": 1.0}
    return qrels, run


def values_of(ev: cal.Evaluation) -> tuple[tuple[str, ...], dict[str, Any]]:
    assert ev.per_unit is not None
    return ev.per_unit.ids, dict(ev.per_unit.values["run"])


def undefined(measure: Measure, highest: int, level: int, n_retrieved: int) -> str:
    """Reason if nothing is relevant (or gains), or is retrieved, where the measure needs that."""
    needs = measure.definition.undefined
    if measure.parameters.get("from_rates", True) and "nothing_retrieved" in needs:
        return "" if n_retrieved else "nothing_retrieved"
    if "no_gain" in needs:
        return "" if highest >= 1 else "no_gain"
    return "no_relevant" if "no_relevant" in needs and highest < level else ""


@pytest.mark.slow
@pytest.mark.parametrize("judged_only", [False, True])
@pytest.mark.parametrize("level", [1, 2])
@pytest.mark.parametrize("scores", ["tied", "float32", "below float32"])
def test_per_topic_values(
    scores: str, level: int, judged_only: bool, certificate: Certificate
) -> None:
    """300 topics of each kind of scores; levels and -J share them."""
    qrels, run = random_topics(np.random.default_rng([11, len(scores)]), scores)
    theirs = pytrec_eval.RelevanceEvaluator(
        qrels, asked(), relevance_level=level, judged_docs_only_flag=judged_only
    ).evaluate(run)
    views = {"rel": level, "judged_only": judged_only}
    measures = {name: parse(ours, "retrieval", views) for name, ours in NAMES.items()}
    ids, ours = values_of(
        cal.retrieval(
            qrels,
            run,
            measures=[str(measure) for measure in measures.values()],
            float32=scores == "below float32",
            interval="none",
        )
    )
    assert set(theirs) == set(ids) & set(run)
    highest = np.array([max(qrels[topic].values()) for topic in ids])
    n_retrieved = np.array(
        [
            sum(not judged_only or qrels[topic].get(d, -1) >= 0 for d in run.get(topic, ()))
            for topic in ids
        ]
    )
    absent = np.array([topic not in run for topic in ids])
    nothing_left = ~absent & (n_retrieved == 0) & judged_only
    assert 0 < nothing_left.sum() < len(ids) / 2 or not judged_only
    for name, measure in measures.items():
        values = np.asarray(ours[str(measure)])
        expected = np.array([theirs.get(topic, {}).get(name, np.nan) for topic in ids])
        reason = np.array(
            [undefined(measure, *of, level, n) for *of, n in zip(highest, n_retrieved, strict=True)]
        )
        np.testing.assert_array_equal(np.isnan(values), reason != "")
        if name not in ("num_q", "num_rel", "utility"):
            assert not (values[absent] > 0).any()
        beyond = (reason != "") & ("bpref" in name)
        rest = (reason != "") & ~absent & ~beyond & ~nothing_left
        smallest = 0.0
        if name.startswith("gm_"):  # of a topic its logarithm
            smallest = np.log(1e-5)
            values = np.where(reason == "", np.log(np.maximum(values, 1e-5)), np.nan)
        np.testing.assert_allclose(expected[rest], smallest, rtol=1e-12)
        below = (name == "Rndcg") & (highest < level)
        assert (expected[below & ~absent & ~nothing_left] == 0).all()
        because = {
            "not in the run": absent,
            "nothing left to judge": nothing_left,
            "below the levels": beyond,
            **{str(each): reason == each for each in np.unique(reason[reason != ""])},
            "gain below the level": below,
        }
        certificate.compare(
            "pytrec_eval", name, values, expected, because=because, where=ids.__getitem__
        )


def test_float32_makes_a_difference() -> None:
    """Else the test above would compare nothing but ties."""
    qrels, run = random_topics(np.random.default_rng(5), "below float32")
    exact, rounded = (
        values_of(cal.retrieval(qrels, run, measures="AP", float32=f, interval="none"))[1]["AP"]
        for f in (False, True)
    )
    assert (np.nan_to_num(exact) != np.nan_to_num(rounded)).mean() > 0.2


def test_the_mean_as_trec_eval_takes_it(certificate: Certificate) -> None:
    """``undefined="zero"`` over all topics is trec_eval -c."""
    qrels, run = random_topics(np.random.default_rng(3), "float32")
    theirs = pytrec_eval.RelevanceEvaluator(qrels, {"map", "ndcg", "Rprec"}).evaluate(run)
    ev = cal.retrieval(
        qrels, run, measures=["AP", "nDCG", "Rprec"], undefined="zero", interval="none"
    )
    for name, measure in (("map", "AP"), ("ndcg", "nDCG"), ("Rprec", "Rprec")):
        expected = sum(values[name] for values in theirs.values()) / len(qrels)
        certificate.compare("pytrec_eval", name, ev[measure].value, expected)
        assert ev[measure].n == len(qrels)


@pytest.mark.parametrize(
    ("name", "rule"),
    [("set_F_0.25", {}), ("set_F_4", {}), ("11pt_avg_0.25,0.5,0.75", {"rule": "nine-tenths"})],
)
def test_parameters(name: str, rule: dict[str, str], certificate: Certificate) -> None:
    """300 topics each. That of ``set_F`` is β² there."""
    qrels, run = random_topics(np.random.default_rng(13), "tied")
    told = name.replace("F_", "F.")
    theirs = pytrec_eval.RelevanceEvaluator(qrels, {told}).evaluate(run)
    (printed,) = next(iter(theirs.values()))
    measure = parse(name, "retrieval", rule)
    evaluation = cal.retrieval(qrels, run, measures=str(measure), interval="none", topics="both")
    ids, ours = values_of(evaluation)
    values = np.asarray(ours[str(measure)])
    expected = np.array([theirs[topic][printed] for topic in ids])
    undefined = np.isnan(values)
    assert (~undefined).sum() > 150
    assert (expected[undefined] == 0).all()
    certificate.compare(
        "pytrec_eval", name, values, expected, because={"no_relevant": undefined},
        where=ids.__getitem__,
    )  # fmt: skip
