"""Measures of retrieved sets, by counting documents one by one, and what their names mean."""

from __future__ import annotations

import math
from itertools import chain
from math import isnan

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics

import calipers as cal
from calipers.measures.errors import UnknownMeasureError
from calipers.measures.families import TASKS

COLLECTION = 40
DOCUMENTS = [f"d{i}" for i in range(COLLECTION)]
TOPICS = ("a", "b", "c", "d")


def data() -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """Four topics; of the last one the run retrieves nothing."""
    random = np.random.default_rng(4)
    qrels = {t: {d: int(random.integers(0, 3)) for d in random.choice(DOCUMENTS, 9, False)}
             for t in TOPICS}  # fmt: skip
    run = {t: {d: float(i) for i, d in enumerate(random.choice(DOCUMENTS, 6 + i, False))}
           for i, t in enumerate(TOPICS[:3])}  # fmt: skip
    return qrels, run


QRELS, RUN = data()


def both(topic: str, rel: int = 1) -> tuple[list[bool], list[bool]]:
    """Of every document of the collection: whether it is relevant, and whether it was retrieved."""
    return [QRELS[topic].get(d, 0) >= rel for d in DOCUMENTS], [
        d in RUN.get(topic, ()) for d in DOCUMENTS
    ]


def everything(rel: int = 1) -> tuple[list[bool], list[bool]]:
    """The same of all topics together."""
    relevant, retrieved = zip(*(both(topic, rel) for topic in TOPICS), strict=True)
    return [*chain(*relevant)], [*chain(*retrieved)]


@pytest.mark.parametrize("rel", [1, 2])
def test_counts_are_added_up_over_topics(rel: int) -> None:
    (tn, fp), (fn, tp) = metrics.confusion_matrix(*everything(rel))
    evaluation = cal.retrieval(
        QRELS, RUN, measures=["TP", "FP", "FN", "TN"], rel=rel, collection_size=COLLECTION
    )
    assert [e.value for e in evaluation] == [tp, fp, fn, tn]
    means = ["mean-TP", "mean-FP", "mean-FN", "mean-TN"]
    of_topic = cal.retrieval(QRELS, RUN, measures=means, rel=rel, collection_size=COLLECTION)
    by_topic = np.array([metrics.confusion_matrix(*both(t, rel)).ravel() for t in TOPICS])
    for found, one in zip(of_topic, by_topic.T[[3, 1, 2, 0]], strict=True):
        assert found.value == pytest.approx(one.mean())
        half = stats.t.ppf(0.975, 3) * one.std(ddof=1) / 2
        low, high = max(one.mean() - half, 0), one.mean() + half
        [student] = cal.retrieval(QRELS, RUN, measures=[found.measure], interval="t")
        assert (student.low, student.high) == pytest.approx((low, high))


@pytest.mark.parametrize(
    ("name", "peer", "undefined"),
    [
        ("MCC(collection_size=40)", metrics.matthews_corrcoef, ["d"]),
        ("SetP", lambda t, p: metrics.precision_score(t, p, zero_division=0), ["d"]),
        ("SetF(alpha=0.2)", lambda t, p: metrics.fbeta_score(t, p, beta=2, zero_division=0), []),
        ("F0.5", lambda t, p: metrics.fbeta_score(t, p, beta=0.5, zero_division=0), []),
        ("SetFinf", metrics.recall_score, []),
        ("generality(collection_size=40)", lambda t, _: np.mean(t), []),
        ("accuracy(collection_size=40)", metrics.accuracy_score, []),
        ("error-rate(collection_size=40)", metrics.zero_one_loss, []),
        (
            "specificity(collection_size=40)",
            lambda t, p: metrics.recall_score(~np.array(t), ~np.array(p)),
            [],
        ),
        (
            "FPR(collection_size=40)",
            lambda t, p: 1 - metrics.recall_score(~np.array(t), ~np.array(p)),
            [],
        ),
        (
            "NPV(collection_size=40)",
            lambda t, p: metrics.precision_score(~np.array(t), ~np.array(p)),
            [],
        ),
    ],
)
def test_a_mean_over_topics(name: str, peer: object, undefined: list[str]) -> None:
    evaluation = cal.retrieval(QRELS, RUN, measures=[name])
    [values] = evaluation.per_unit.values["run"].values()
    for topic, value in zip(TOPICS, values, strict=True):
        if topic in undefined:
            assert isnan(value)
        else:
            assert value == pytest.approx(peer(*both(topic)))  # type: ignore[operator]


@pytest.mark.parametrize(
    ("name", "peer"),
    [
        ("micro-SetJaccard", metrics.jaccard_score),
        ("micro-SetF2", lambda t, p: metrics.fbeta_score(t, p, beta=2)),
        ("micro-SetF(alpha=0.2)", lambda t, p: metrics.fbeta_score(t, p, beta=2)),
        ("micro-SetFinf", metrics.recall_score),
        ("micro-SetP", metrics.precision_score),
        ("micro-SetMCC(collection_size=40)", metrics.matthews_corrcoef),
        ("micro-fallout(collection_size=40)", lambda t, p: np.mean(np.array(p)[~np.array(t)])),
    ],
)
def test_a_micro_average_is_that_of_all_topics_together(name: str, peer: object) -> None:
    found = cal.retrieval(QRELS, RUN, measures=[name])[name]
    assert found.value == pytest.approx(peer(*everything()))  # type: ignore[operator]


def test_what_counts_for_a_pooled_correlation() -> None:
    """Topics without a value of their own; where there is no value at all, the reason of them all;
    and no topic that has more documents than the collection."""
    found = cal.retrieval(QRELS, RUN, measures=["micro-MCC(collection_size=40)"]).estimates[0]
    assert (found.n, found.n_total, dict(found.undefined)) == (4, 4, {})
    none = cal.retrieval(
        QRELS, {"d": {"x": 1.0}}, measures=["micro-MCC(collection_size=40)", "SetP"]
    )
    nothing = cal.retrieval(
        {"a": {"x": 0}}, {"a": {"x": 1.0}}, measures=["micro-MCC(collection_size=9)"]
    )
    assert isnan(nothing.estimates[0].value)
    assert dict(nothing.estimates[0].undefined) == {"no_relevant": 1}
    assert none.estimates[0].n == 4
    larger = {**RUN, "a": {f"x{i}": 1.0 for i in range(60)}}
    small = cal.retrieval(QRELS, larger, measures=["micro-MCC(collection_size=40)"]).estimates[0]
    assert (small.n, dict(small.undefined)["collection_too_small"]) == (3, 1)


def test_sets_that_leave_nothing_to_divide_by() -> None:
    """A collection of relevant documents has no specificity, and one that was retrieved no NPV."""
    qrels = {"q": {"a": 1, "b": 1}}
    names = ["specificity", "NPV", "error rate", "accuracy"]
    found = cal.retrieval(qrels, {"q": {"a": 1.0}}, measures=names, collection_size=2)
    every = cal.retrieval(qrels, {"q": {"a": 1.0, "b": 0.5}}, measures=names, collection_size=2)
    assert dict(found.estimates[0].undefined) == {"all_relevant": 1}
    assert [e.value for e in found.estimates[1:]] == [0, 0.5, 0.5]
    assert dict(every.estimates[1].undefined) == {"everything_retrieved": 1}
    assert [e.value for e in every.estimates[2:]] == [0, 1]
    small = cal.retrieval(qrels, {"q": {"c": 1.0}}, measures=names, collection_size=2)
    assert {dict(e.undefined).get("collection_too_small") for e in small} == {1}


def test_the_precision_of_an_empty_answer() -> None:
    kept = cal.retrieval(QRELS, RUN, measures=["SetP"])["SetP"]
    zero = cal.retrieval(QRELS, RUN, measures=["SetP"], undefined="zero")["SetP"]
    assert (kept.n, dict(kept.undefined)) == (3, {"nothing_retrieved": 1})
    assert (zero.n, zero.value) == (4, pytest.approx(kept.value * 3 / 4))


def test_f_at_a_cutoff() -> None:
    run = {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}
    qrels = {"q": {"a": 1, "b": 0, "c": 1, "x": 1, "y": 1}}
    by_hand = {"F@2": 2 * 1 / (2 + 4), "F2@2": 5 * 1 / (4 * 4 + 2), "Finf@2": 1 / 4,
               "F(alpha=0.2)@2": 1 / (0.2 * 2 + 0.8 * 4), "F0@2": 1 / 2}  # fmt: skip
    for name, value in by_hand.items():
        assert cal.measure(name, family="retrieval")(qrels, run) == pytest.approx(value), name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("F2", "SetF2"), ("f1", "SetF"), ("SetF(beta=2)", "SetF2"), ("set_f2", "SetF2"),
        ("F(beta=0.5)@10", "F0.5@10"), ("F1@10", "F@10"), ("micro-F2", "micro-SetF2"),
        ("ndcg_at_10", "nDCG@10"), ("ndcg-at-10", "nDCG@10"), ("map_at_10", "AP@10"),
        ("recall_at_100", "R@100"), ("mrr_at_10", "RR@10"), ("precision_at_10", "P@10"),
        ("Accuracy@10", "Success@10"), ("accuracy_at_10", "Success@10"), ("HR@10", "Success@10"),
        ("hit@10", "Success@10"), ("HitRate@10", "Success@10"), ("hit-rate@10", "Success@10"),
        ("prec@10", "P@10"), ("mean_average_precision", "AP"), ("mean-reciprocal-rank", "RR"),
        ("normalized_dcg", "nDCG"), ("normalised-dcg@10", "nDCG@10"), ("R-cap@10", "RelP@10"),
        ("iprec_at-recall_0.50", "IPrec@0.5"), ("hits", "NumRelRet"),
    ],
)  # fmt: skip
def test_what_others_write(text: str, name: str) -> None:
    assert str(cal.measure(text, family="retrieval")) == name
    from calipers.measures import parse

    assert str(parse(text, TASKS["retrieval"])) == name


def test_all_trec_is_what_trec_eval_prints() -> None:
    """But for the tag and the string of relevance, which are no numbers."""
    from calipers.cli.trec_eval.measure_table import MEASURES, NICKNAMES

    asked = {e.measure.split("(")[0].split("@")[0]
             for e in cal.retrieval(QRELS, RUN, measures="all_trec", interval="none")}  # fmt: skip
    rows = [MEASURES[name].measure for name in NICKNAMES["all_trec"]]
    assert asked == {name for name in rows if name}


@pytest.mark.parametrize(
    "name",
    ["mean-TP", "mean-FP", "mean-FN", "mean-TN(collection_size=40)", "SetP", "SetR", "SetF2", "SetF(alpha=0.3)", "SetRelP", "SetAP", "SetJaccard", "utility",
     "SetMCC(collection_size=40)", "SetAcc(collection_size=40)", "SetErrorRate(collection_size=40)",
     "SetSpecificity(collection_size=40)", "SetNPV(collection_size=40)", "fallout(collection_size=40)", "micro-SetP",
     "micro-SetR", "micro-SetF", "micro-SetJaccard", "micro-SetMCC(collection_size=40)", "micro-fallout(collection_size=40)"],
)  # fmt: skip
def test_a_topic_of_weight_2_counts_as_two(name: str) -> None:
    topics = sorted(QRELS)
    twice = topics[::2]
    weighted = cal.retrieval(
        QRELS, RUN, measures=[name], weight={t: 2.0 if t in twice else 1.0 for t in topics}
    )
    both = [of | {f"{t}, again": of[t] for t in twice if t in of} for of in (QRELS, RUN)]
    repeated = cal.retrieval(*both, measures=[name])
    assert weighted[name].value == pytest.approx(repeated[name].value, rel=1e-12)


@pytest.mark.parametrize("base", [1.5, 2.0, math.e, 10.0])
def test_a_discount_by_any_logarithm(base: float) -> None:
    """Järvelin and Kekäläinen's: gains down to rank b count in full, those below by log_b rank."""
    grades = [3, 0, 2, 1, 1, 0, 2]
    run = {"q": {f"d{i}": float(-i) for i in range(len(grades))}}
    qrels = {"q": {f"d{i}": g for i, g in enumerate(grades)}}

    def by_hand(of: list[int]) -> float:
        return sum(g / max(1.0, math.log(k) / math.log(base)) for k, g in enumerate(of, 1))

    found = cal.measure(f"DCG(dcg='log-base',base={base!r})")(qrels, run)
    assert found == pytest.approx(by_hand(grades))
    normalised = cal.measure(f"nDCG(dcg='log-base',base={base!r})@5")(qrels, run)
    ideal = by_hand(sorted(grades, reverse=True)[:5])
    assert normalised == pytest.approx(by_hand(grades[:5]) / ideal)


@pytest.mark.parametrize(
    ("asked", "name", "task"),
    [
        ("micro-MCC(collection_size=100)", "micro-SetMCC(collection_size=100)", "retrieval"),
        ("micro-SetMCC(collection_size=100)", "micro-SetMCC(collection_size=100)", "retrieval"),
        ("micro-SetF(beta=2)", "micro-SetF2", "retrieval"),
        ("micro-MCC", "micro-MCC", "classification"),
        ("micro-F2", "micro-F2", "classification"),
        ("micro-F1(labels=['a','b'])", "micro-F1(labels=['a','b'])", "classification"),
    ],
)
def test_micro_averages_of_sets_are_found_by_their_parameters(
    asked: str, name: str, task: str
) -> None:
    found = cal.measure(asked)
    assert (str(found), found.definition.task) == (name, task)


@pytest.mark.parametrize("name", ["SetF(alpha=0.3,beta=2)", "F2(alpha=0.3)"])
def test_alpha_and_beta_together_are_refused(name: str) -> None:
    with pytest.raises(UnknownMeasureError, match="expected one of them"):
        cal.measure(name)


def test_a_base_without_the_discount_that_has_one_is_refused() -> None:
    for name in ("DCG(base=10)@5", "nDCG(dcg='exp-log2',base=3)"):
        with pytest.raises(ValueError, match="base= counts with dcg='log-base'"):
            cal.measure(name)
