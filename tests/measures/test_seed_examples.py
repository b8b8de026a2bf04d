"""The worked examples of ``tests/seed_examples.json``.

``expect`` holds exactly recomputed values, compared to 1e-12; ``printed`` the digits that a page
shows, compared to the digits. ``null`` is undefined: NaN, with a declared reason.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calipers as cal
from calipers.measures import REASONS, Measure, parse
from calipers.statistics import ConfusionMatrix, JudgedRankings, ScoreTable, Statistic

EXAMPLES: dict[str, dict[str, Any]] = {
    example["id"]: example
    for example in json.loads(
        (Path(__file__).parent.parent / "seed_examples.json").read_text(encoding="utf-8")
    )
}

#: What the examples call the measures of counts.
OF_COUNTS = {
    "tp": "TP",
    "fp": "FP",
    "fn": "FN",
    "tn": "TN",
    "precision": "precision",
    "recall": "recall",
    "specificity": "specificity",
    "npv": "NPV",
    "fpr": "FPR",
    "fnr": "FNR",
    "fdr": "FDR",
    "false_omission_rate": "FOR",
    "accuracy": "accuracy",
    "error_rate": "error-rate",
    "prevalence": "prevalence",
    "f1": "F1",
    "mcc": "MCC",
    "jaccard": "Jaccard",
}

BINARY = [example["id"] for example in EXAMPLES.values() if example["task"] == "binary"]


def of_counts(name: str) -> Measure:
    return parse(name, "counts")


def ranked(name: str) -> Measure:
    return parse(name, "retrieval")


def check(measure: Measure, statistic: Statistic, expected: float | None) -> None:
    """One value, or undefined for a reason that has a text."""
    value = float(np.squeeze(measure.apply(statistic)))
    reasons = [r for r, where in measure.reasons(statistic).items() if np.all(where)]
    if expected is None:
        assert math.isnan(value), measure
        assert reasons, f"{measure} is undefined for no reason"
        assert set(reasons) <= set(REASONS)
    else:
        assert not reasons, measure
        assert value == pytest.approx(expected, rel=1e-12, abs=1e-12), measure


def check_series(
    name: str, ks: Iterable[int], statistic: JudgedRankings, expected: Sequence[float]
) -> None:
    values = [float(ranked(name.format(k=k)).apply(statistic)[0]) for k in ks]
    np.testing.assert_allclose(values, expected, rtol=1e-12, atol=1e-12, err_msg=name)


def printed_as(value: float, shown: float) -> bool:
    """Whether ``value`` rounds to what is printed, with as many decimals as are printed."""
    text = repr(shown)
    decimals = len(text.partition(".")[2]) if "." in text and not text.endswith(".0") else 0
    return math.isclose(value, shown, abs_tol=0.5 * 10**-decimals + 1e-9)


# ------------------------------------------------------------------------------------- counts


def test_there_are_as_many_examples_as_the_file_is_known_to_hold() -> None:
    assert len(EXAMPLES) == 24
    assert len(BINARY) == 11


@pytest.mark.parametrize("example", BINARY)
def test_binary_counts(example: str) -> None:
    entry = EXAMPLES[example]
    matrix = ConfusionMatrix.from_counts(**entry["given"])
    expected = dict(entry["expect"])
    default = expected.pop("default_accuracy", None)
    for name, value in expected.items():
        check(of_counts(OF_COUNTS[name]), matrix, value)
    if default is not None:
        answers = of_counts("accuracy").apply(matrix.constant_predictions())
        assert answers.max() == pytest.approx(default, abs=1e-12)


@pytest.mark.parametrize("example", [e for e in BINARY if "printed" in EXAMPLES[e]])
def test_binary_counts_as_printed(example: str) -> None:
    entry = EXAMPLES[example]
    matrix = ConfusionMatrix.from_counts(**entry["given"])
    for name, shown in entry["printed"].items():
        value = float(of_counts(OF_COUNTS[name]).apply(matrix))
        if shown == "NA":
            # The slide calls F1 undefined where precision is; from counts it is 0.
            assert math.isnan(value) or (name == "f1" and value == 0)
        elif example == "five-models-4" and name == "accuracy":
            assert math.floor(value * 100) / 100 == shown  # 0.1666… is cut to 0.16 on the slide
        else:
            assert printed_as(value, shown), name


def test_one_class_against_the_rest() -> None:
    entry = EXAMPLES["woman-man-child"]
    classes, matrix = entry["given"]["classes"], np.array(entry["given"]["matrix"], float)
    assert entry["given"]["rows"] == "predicted"
    counts = matrix.T  # rows are the truth here
    whole = ConfusionMatrix(counts, counts, tuple(classes), int(counts.sum()))
    check(of_counts("accuracy"), whole, entry["expect"]["accuracy"])
    check(of_counts("error-rate"), whole, entry["expect"]["error_rate"])
    for i, name in enumerate(classes):
        tp = counts[i, i]
        fp, fn = counts[:, i].sum() - tp, counts[i].sum() - tp
        binary = ConfusionMatrix.from_counts(tp, fp, fn, counts.sum() - tp - fp - fn)
        for key, value in entry["expect"]["one_vs_rest"][name].items():
            check(of_counts(OF_COUNTS[key]), binary, value)


# --------------------------------------------------------------------------------------- sets


def test_hundred_documents() -> None:
    entry = EXAMPLES["hundred-documents"]
    given, expected = entry["given"], entry["expect"]
    qrels = {"q": dict.fromkeys(given["relevant"], 1)}
    run = {"q": dict.fromkeys(given["retrieved"], 1.0)}
    ev = cal.retrieval(
        qrels,
        run,
        measures=["SetP", "SetR", "SetF", "fallout", "NumRelRet"],
        collection_size=given["collection"],
    )
    for name, key in [("SetP", "precision"), ("SetR", "recall"), ("SetF", "f1")]:
        assert ev[name].value == pytest.approx(expected[key], abs=1e-12)
    fallout = f"fallout(collection_size={given['collection']})"
    assert ev[fallout].value == pytest.approx(expected["fallout"], abs=1e-12)
    assert ev["NumRelRet"].value == expected["tp"]

    relevant, retrieved = set(given["relevant"]), set(given["retrieved"])
    ranking = JudgedRankings.from_rankings(
        [[int(doc in relevant) for doc in given["retrieved"]]], [[1] * len(relevant - retrieved)]
    )
    matrix = ranking.confusion(collection_size=given["collection"])
    for key in ("tp", "fp", "fn", "tn", "accuracy"):
        check(of_counts(OF_COUNTS[key]), matrix, expected[key])
    check(of_counts("FPR"), matrix, expected["fallout"])
    check(of_counts("generality"), matrix, expected["generality"])
    for key in ("precision", "recall", "f1"):
        check(of_counts(OF_COUNTS[key]), matrix, expected[key])


@pytest.mark.parametrize("method", ["a", "b"])
def test_methods_a_and_b(method: str) -> None:
    entry = EXAMPLES["methods-a-b"]
    given, expected = entry["given"][method], entry["expect"][method]
    found, size = given["relevant_retrieved"], given["retrieved"]
    ranking = JudgedRankings.from_rankings(
        [[1] * found + [0] * (size - found)], [[1] * (given["relevant"] - found)]
    )
    check(ranked("SetP"), ranking, expected["precision"])
    check(ranked("SetR"), ranking, expected["recall"])
    check(ranked("SetF"), ranking, expected["f1"])
    assert printed_as(float(ranked("SetF").apply(ranking)[0]), entry["printed"][method])


def test_incomplete_knowledge_at_its_two_ends() -> None:
    """The interval itself comes later; its ends are two completions of the judgments."""
    given = EXAMPLES["incomplete-knowledge"]["given"]
    expected = EXAMPLES["incomplete-knowledge"]["expect"]
    found, size = given["relevant_retrieved"], given["retrieved"]
    missed = given["known_relevant"] - found
    unknown = given["unjudged_not_retrieved"]
    got = [1] * found + [0] * (size - found)
    none, all_ = (
        JudgedRankings.from_rankings([got], [[1] * missed + [grade] * unknown]) for grade in (0, 1)
    )
    check(ranked("SetP"), none, expected["precision"])
    check(ranked("SetR"), none, expected["recall_high"])
    check(ranked("SetR"), all_, expected["recall_low"])


# ----------------------------------------------------------------------------------- rankings


def grades_of(ranking: Sequence[str], relevant: Sequence[str]) -> list[int]:
    return [int(doc in relevant) for doc in ranking]


def check_ranking(ranking: JudgedRankings, expected: dict[str, Any], collection_size: int) -> None:
    """Every value that an example gives for one ranking."""
    depth = range(1, int(ranking.retrieved[0]) + 1)
    for key, value in expected.items():
        match key:
            case "precision_at_k":
                check_series("P@{k}", depth, ranking, value)
            case "recall_at_k" | "tpr_at_k":
                check_series("R@{k}", depth, ranking, value)
            case "fpr_at_k":
                check_series(
                    f"fallout(collection_size={collection_size})@{{k}}", depth, ranking, value
                )
            case "eleven_point":
                levels = [float(ranked(f"IPrec@{t / 10}").apply(ranking)[0]) for t in range(11)]
                np.testing.assert_allclose(levels, value, rtol=1e-12)
            case "average_precision":
                check(ranked("AP"), ranking, value)
            case "r_precision":
                check(ranked("Rprec"), ranking, value)
            case "eleven_point_mean":
                check(ranked("11pt-avg"), ranking, value)
            case "system_efficiency":
                check(ranked("system-efficiency"), ranking, value)
            case "reciprocal_rank":
                check(ranked("RR"), ranking, value)
            case _:
                raise AssertionError(f"nothing here checks {key}")


@pytest.mark.parametrize("topic", ["q1", "q2"])
def test_two_rankings(topic: str) -> None:
    entry = EXAMPLES["two-rankings"]
    given = entry["given"][topic]
    ranking = JudgedRankings.from_rankings([grades_of(given["ranking"], given["relevant"])])
    check_ranking(ranking, entry["expect"][topic], entry["given"]["collection"])


def test_two_rankings_from_dicts_and_their_mean() -> None:
    entry = EXAMPLES["two-rankings"]
    topics = {t: entry["given"][t] for t in ("q1", "q2")}
    qrels = {t: dict.fromkeys(g["relevant"], 1) for t, g in topics.items()}
    run = {
        t: {doc: -float(place) for place, doc in enumerate(g["ranking"])} for t, g in topics.items()
    }
    ev = cal.retrieval(qrels, run, measures=["AP", "Rprec", "efficiency", "11pt-avg", "RR"])
    assert ev["AP"].value == pytest.approx(entry["expect"]["map"], abs=1e-12)
    assert ev.per_unit is not None
    values = ev.per_unit.values["run"]
    for place, topic in enumerate(ev.per_unit.ids):
        expected = entry["expect"][topic]
        assert values["AP"][place] == pytest.approx(expected["average_precision"], abs=1e-12)
        assert values["Rprec"][place] == pytest.approx(expected["r_precision"], abs=1e-12)
        assert values["11pt-avg"][place] == pytest.approx(expected["eleven_point_mean"], abs=1e-12)
    printed = entry["printed"]
    assert printed_as(ev["AP"].value, printed["map"])
    for place, topic in enumerate(("q1", "q2")):
        assert printed_as(values["AP"][place], printed[f"ap_{topic}"])
        assert printed_as(values["Rprec"][place], printed[f"rprec_{topic}"])


def test_fourteen_documents() -> None:
    entry = EXAMPLES["fourteen-documents"]
    given = entry["given"]
    assert sum(given["relevance"]) == given["num_relevant"]
    ranking = JudgedRankings.from_rankings([given["relevance"]])
    check_ranking(ranking, entry["expect"], collection_size=0)
    for k in range(1, 15):
        for name, key in (("P", "p"), ("R", "r")):
            value = float(ranked(f"{name}@{k}").apply(ranking)[0])
            assert printed_as(value, entry["printed"][key][k - 1])


def test_fourteen_documents_by_score_with_unjudged_ones() -> None:
    """Leaving the documents that are not relevant out of the judgments changes nothing here."""
    given = EXAMPLES["fourteen-documents"]["given"]
    expected = EXAMPLES["fourteen-documents"]["expect"]
    documents = [str(d) for d in given["docids"]]
    qrels = {
        "9": {d: 1 for d, hit in zip(documents, given["relevance"], strict=True) if hit},
    }
    run = {"9": {d: 1 / (1 + place) for place, d in enumerate(documents)}}
    ev = cal.retrieval(qrels, run, measures=["AP", "Rprec", "efficiency", "P@10"])
    assert ev["AP"].value == pytest.approx(expected["average_precision"], abs=1e-12)
    assert ev["Rprec"].value == pytest.approx(expected["r_precision"], abs=1e-12)
    assert ev["system-efficiency"].value == pytest.approx(expected["system_efficiency"], abs=1e-12)
    assert ev["P@10"].value == pytest.approx(expected["precision_at_k"][9], abs=1e-12)


@pytest.mark.parametrize("example", ["ap-eight-documents", "ap-eight-documents-q2"])
def test_average_precision_of_eight_documents(example: str) -> None:
    entry = EXAMPLES[example]
    given = entry["given"]
    assert sum(given["relevance"]) == given["num_relevant"]
    ranking = JudgedRankings.from_rankings([given["relevance"]])
    check(ranked("AP"), ranking, entry["expect"]["average_precision"])
    if "note" not in entry:
        assert printed_as(float(ranked("AP").apply(ranking)[0]), entry["printed"])


def test_reciprocal_ranks_and_their_mean() -> None:
    entry = EXAMPLES["mrr"]
    ranks = entry["given"]["first_relevant_rank"]
    rankings = [[0] * 4 if r is None else [int(k + 1 == r) for k in range(4)] for r in ranks]
    missed = [[1] if r is None else [] for r in ranks]
    values = ranked("RR").apply(JudgedRankings.from_rankings(rankings, missed))
    np.testing.assert_allclose(values, entry["expect"]["reciprocal_rank"], rtol=1e-12)
    assert values.mean() == pytest.approx(entry["expect"]["mrr"], abs=1e-12)

    qrels = {str(i): {"hit": 1} for i in range(4)}
    run = {
        str(i): {("hit" if k + 1 == r else f"d{k}"): -float(k) for k in range(4)}
        for i, r in enumerate(ranks)
    }
    assert cal.retrieval(qrels, run, measures="MRR")["RR"].value == pytest.approx(
        entry["expect"]["mrr"], abs=1e-12
    )


# -------------------------------------------------------------------------------------- gains


def test_gain_of_six_documents() -> None:
    entry = EXAMPLES["gain-six-documents"]
    expected = entry["expect"]
    ranking = JudgedRankings.from_rankings([entry["given"]["relevance"]])
    ideal = JudgedRankings.from_rankings([sorted(entry["given"]["relevance"], reverse=True)])
    check(ranked("CG"), ranking, expected["cg"])
    check(ranked("DCG"), ranking, expected["dcg"])
    check(ranked("DCG"), ideal, expected["idcg"])
    check(ranked("nDCG"), ranking, expected["ndcg"])
    check(ranked("DCG(dcg='exp-log2')"), ranking, expected["dcg_exponential"])
    check(ranked("nDCG(dcg='exp-log2')"), ranking, expected["ndcg_exponential"])
    for name, key in (("CG", "cg"), ("DCG", "dcg"), ("nDCG", "ndcg")):
        assert printed_as(float(ranked(name).apply(ranking)[0]), entry["printed"][key])
    # 7.2 is what the slide's rounded terms add up to; their exact sum is 7.141.
    assert float(ranked("DCG").apply(ideal)[0]) == pytest.approx(entry["printed"]["idcg"], abs=0.1)


def test_gain_of_ten_documents() -> None:
    entry = EXAMPLES["graded-ten-documents"]
    given, expected, printed = entry["given"], entry["expect"], entry["printed"]
    relevance = given["relevance"]
    judged = [g for grade, n in given["judged"].items() for g in [int(grade)] * n]
    missed = list(judged)
    for grade in relevance:
        if grade in missed:
            missed.remove(grade)
    ranking = JudgedRankings.from_rankings([relevance], [missed])
    ideal = JudgedRankings.from_rankings([sorted(judged, reverse=True)])
    depth = range(1, 11)
    check_series("CG@{k}", depth, ranking, expected["cg"])
    check_series(
        f"nCG(max_grade={given['max_grade']})@{{k}}", depth, ranking, expected["normalised_cg"]
    )
    check_series("DCG@{k}", depth, ranking, expected["dcg"])
    check_series("DCG@{k}", depth, ideal, expected["idcg"])
    check_series("nDCG@{k}", depth, ranking, expected["ndcg"])
    check(ranked("P@10"), ranking, expected["precision_at_10"])
    for k in depth:
        for name, statistic, key in (
            ("DCG", ranking, "dcg"),
            ("DCG", ideal, "idcg"),
            ("nDCG", ranking, "ndcg"),
        ):
            value = float(ranked(f"{name}@{k}").apply(statistic)[0])
            assert printed_as(value, printed[key][k - 1]), (key, k)


# ------------------------------------------------------------------------------------- scores


def test_roc_table_of_twenty() -> None:
    entry = EXAMPLES["roc-twenty"]
    given, expected = entry["given"], entry["expect"]
    truth, score = np.array(given["label"], bool), np.array(given["score"])
    table = ScoreTable.from_rows(truth, score)
    steps = table.confusion()
    np.testing.assert_array_equal(steps.tp[1:], expected["tp"])
    np.testing.assert_array_equal(steps.fp[1:], expected["fp"])
    for name, key in (("recall", "tpr"), ("FPR", "fpr"), ("accuracy", "accuracy")):
        np.testing.assert_allclose(
            of_counts(name).apply(steps)[1:], expected[key], rtol=1e-12, atol=1e-15
        )
    accuracy = of_counts("accuracy").apply(steps)
    assert accuracy.max() == pytest.approx(expected["best_accuracy"], abs=1e-12)
    assert table.thresholds[accuracy.argmax()] == expected["best_threshold"]

    ev = cal.classification(
        given["label"],
        score=given["score"],
        threshold=expected["best_threshold"],
        measures=["AUC", "AP", "accuracy"],
    )
    assert ev["AUC"].value == pytest.approx(expected["roc_auc"], abs=1e-12)
    assert parse("AP", "scores").apply(table) == pytest.approx(
        expected["average_precision"], abs=1e-12
    )
    assert ev["AP"].value == pytest.approx(expected["average_precision"], abs=1e-12)
    assert ev["accuracy"].value == pytest.approx(expected["best_accuracy"], abs=1e-12)


def test_interpolated_precision_takes_recalls_at_least_as_high() -> None:
    """The points of the example "interpolated-precision" are no ranking's (recall 0.4 twice), so
    its rule is checked on a ranking: r₁ ≥ r, where the slide prints r₁ ≤ r."""
    entry = EXAMPLES["interpolated-precision"]
    points = list(zip(entry["given"]["recall"], entry["given"]["precision"], strict=True))
    for level, expected in entry["expect"]["at"].items():
        assert max(p for r, p in points if r >= float(level)) == expected

    ranking = [1, 0, 1, 1, 0, 0, 1, 1, 0, 1, 0, 0, 0, 0, 1, 1]
    judged = JudgedRankings.from_rankings([ranking], [[1] * (10 - sum(ranking))])
    found = np.cumsum(ranking)
    for tenth in range(11):
        at_least = [found[k] / (k + 1) for k in range(len(ranking)) if found[k] >= tenth]
        check(ranked(f"IPrec@{tenth / 10}"), judged, max(at_least, default=0.0))


def test_every_example_is_checked_here() -> None:
    """A new entry in the file needs a test."""
    text = Path(__file__).read_text(encoding="utf-8")
    unseen = [name for name in EXAMPLES if name not in BINARY and f'"{name}"' not in text]
    assert unseen == []
