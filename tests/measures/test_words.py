"""The names of measures as textbooks and lectures print them, and what each means in its task."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from time import perf_counter
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import calipers as cal
from calipers.cli import cli
from calipers.measures import (
    TASKS,
    UnknownMeasureError,
    definitions,
    measure,
    parse,
    parse_by_task,
    registry,
)
from calipers.measures.name_parsing import canonical_name, possible_definitions
from calipers.measures.phrases import NON_MEASURE_HINTS, PHRASES
from calipers.statistics import Moments

#: What is said of a name that has several meanings, lacks a number or is no measure by itself.
Message = re.compile

#: With a collection of a known size, as ``cal.retrieval(…, collection_size=1000)`` has it.
KNOWN: dict[str, dict[str, Any]] = {"retrieval": {"collection_size": 1000}}

SEVERAL = "has several meanings; ask for "
K, A_NUMBER = r"'k' is not a number; expected one, as in ", "needs cutoff, as in P@10"

#: By document and task: names as they are printed there, and the measure that they mean; or the
#: message that says what to ask for.
DOCUMENTS: dict[str, dict[str, dict[str, str | re.Pattern[str]]]] = {
    "000": {
        "retrieval": {
            "Precision": "SetP",
            "Recall": "SetR",
            "fallout": "fallout(collection_size=1000)",
            "fall-out": "fallout(collection_size=1000)",
            "F-Measure": "SetF",
            "F-score": "SetF",
            "F₁-score": "SetF",
            "F_β": "SetF",
            "F_0.5": "SetF0.5",
            "macro precision": "SetP",
            "macro recall": "SetR",
            "micro precision": "micro-SetP",
            "micro recall": "micro-SetR",
            "Mean Reciprocal Rank (MRR)": "RR",
            "Mean Reciprocal Rank": "RR",
            "MRR": "RR",
            "reciprocal ranks": "RR",
            "precision at k (P@k)": Message(A_NUMBER),
            "P@k": Message(f"{K}P@10"),
            "precision at 10": "P@10",
            "R-precision": "Rprec",
            "average precision (AP)": "AP",
            "average precision": "AP",
            "AP": "AP",
            "mean average precision (MAP)": "AP",
            "MAP": "AP",
            "system efficiency": "system-efficiency",
            "cumulative gain (CG-k)": "CG",
            "CG-k": Message(f"{K}CG@10"),
            "CG": "CG",
            "discounted cumulative gain (DCG-k)": "DCG",
            "DCG-k": Message(f"{K}DCG@10"),
            "normalized DCG (nDCG-k)": "nDCG",
            "nDCG-k": Message(f"{K}nDCG@10"),
            "nDCG_10": "nDCG@10",
            "ideal DCG": "IDCG",
            "ideal DCG-k (IDCG-k)": Message(f"{K}IDCG@10"),
            "area under the precision-recall curve": Message(f"{SEVERAL}rank-PR-AUC .* or AP "),
            "Precision-Recall Curve": Message("it is a curve, .*; the area.* is rank-PR-AUC$"),
        },
        "classification": {
            "True Positives (TP)": "TP",
            "True Positives": "TP",
            "False Positives (FP)": "FP",
            "False Positives": "FP",
            "True Negatives (TN)": "TN",
            "True Negatives": "TN",
            "False Negatives (FN)": "FN",
            "False Negatives": "FN",
            "Positive Predictive Value (PPV), Precision": "precision",
            "Positive Predictive Value (PPV)": "precision",
            "Positive Predictive Value": "precision",
            "PPV": "precision",
            "Precision": "precision",
            "False Discovery Rate (FDR)": "FDR",
            "False Discovery Rate": "FDR",
            "Negative Predictive Value (NPV)": "NPV",
            "Negative Predictive Value": "NPV",
            "NPV": "NPV",
            "False Omission Rate (FOR)": "FOR",
            "False Omission Rate": "FOR",
            "True Positive Rate (TPR), Sensitivity, Recall, Hit Rate": "recall",
            "True Positive Rate (TPR)": "recall",
            "True Positive Rate": "recall",
            "TPR": "recall",
            "Recall": "recall",
            "Sensitivity": "recall",
            "Hit Rate": "recall",
            "False Negative Rate (FNR), Miss Rate": "FNR",
            "False Negative Rate (FNR)": "FNR",
            "False Negative Rate": "FNR",
            "Miss Rate": "FNR",
            "True Negative Rate (TNR), Specificity": "specificity",
            "True Negative Rate (TNR)": "specificity",
            "True Negative Rate": "specificity",
            "Specificity": "specificity",
            "False Positive Rate (FPR), Fall-Out": "FPR",
            "False Positive Rate (FPR)": "FPR",
            "False Positive Rate": "FPR",
            "Fall-Out": "FPR",
            "1-specificity": "FPR",
            "Accuracy (ACC)": "accuracy",
            "Accuracy": "accuracy",
            "ACC": "accuracy",
            "Error Rate (ERR), Misclassification Rate": "error-rate",
            "Error Rate (ERR)": "error-rate",
            "Error Rate": "error-rate",
            "ERR": "error-rate",
            "Misclassification Rate": "error-rate",
            "Prevalence": "prevalence",
            "F_1-score": "F1",
            "F₁-score": "F1",
            "cross-entropy loss": "log-loss",
            "sum of sensitivity and specificity": "generalized-Youden",
            "weighted sum of specificity and sensitivity": "generalized-Youden",
            "area under the ROC curve (AUC)": "AUC",
            "area under the ROC curve": "AUC",
            "AUC": "AUC",
            "ROC curve": Message(r"it is a curve: calipers.curve\(evaluation, 'ROC'\); .* is AUC$"),
            "Receiver Operating Characteristic curve": Message("it is a curve: .* is AUC$"),
            "Confusion Matrix": Message("it is evaluation.confusions"),
        },
        "regression": {"mean squared error": "MSE"},
    },
    "001": {
        "retrieval": {
            "Precision": "SetP",
            "Recall": "SetR",
            "Accuracy": "SetAcc(collection_size=1000)",
            "F-Measure": "SetF",
            "F measure": "SetF",
            "F1-Score": "SetF",
            "F1-Measure": "SetF",
            "balanced F_1 measure": "SetF",
            "Weighted Harmonic Mean (F-Measure)": "SetF",
            "Weighted Harmonic Mean": "SetF",
            "MCC": "SetMCC(collection_size=1000)",
            "Matthews Correlation Coefficient (MCC)": "SetMCC(collection_size=1000)",
            "Jaccard Index": "SetJaccard",
            "Jaccard Index (JI)": "SetJaccard",
            "JI": "SetJaccard",
            "Fall-out": "fallout(collection_size=1000)",
            "TPR (Sensitivity)": "SetR",
            "True Positive Rate": "SetR",
            "FPR": "fallout(collection_size=1000)",
            "False Positive Rate": "fallout(collection_size=1000)",
            "Specificity": "SetSpecificity(collection_size=1000)",
            "True Positive": "NumRelRet",
            "False Positive": "SetFP",
            "True Negative": "SetTN(collection_size=1000)",
            "False Negative": "SetFN",
            "Top 5 Accuracy": "Success@5",
            "Top 1 Accuracy": "Success@1",
            "Interpolated precision (P_interp)": Message("IPrec needs recall, as in IPrec@0.9"),
            "Interpolated precision": Message("IPrec needs recall, as in IPrec@0.9"),
            "P_interp(0.5)": "IPrec@0.5",
            "Average Interpolated precision": "11pt-avg",
            "11 point average interpolation precision": "11pt-avg",
            "AvgP_interp": "11pt-avg",
            "R-precision": "Rprec",
            "Precision at K": Message(A_NUMBER),
            "BREAK-EVEN POINT": "break-even",
            "Average Precision AveP": "AP",
            "AveP": "AP",
            "Mean average precision (MAP)": "AP",
            "Mean Average Precision": "AP",
            "Cumulative Gain (CG)": "CG",
            "Cumulative Gain": "CG",
            "CG_6": "CG@6",
            "Discounted Cumulative Gain (DCG)": "DCG",
            "Discounted Cumulative Gain": "DCG",
            "Normalized Discounted Cumulative Gain (NDCG)": "nDCG",
            "Normalized Discounted Cumulative Gain": "nDCG",
            "precision-recall curve": Message("it is a curve"),
            "ROC Curve": Message("it is a curve, .*rank-ROC-AUC"),
        },
        "classification": {
            "Top 5 Accuracy": "top-5-accuracy",
            "Top 1 Accuracy": "top-1-accuracy",
            "F-Measure": "F1",
            "F1-Measure": "F1",
            "MCC": "MCC",
            "Matthews Correlation Coefficient (MCC)": "MCC",
            "Jaccard Index (JI)": "Jaccard",
            "Jaccard Index": "Jaccard",
            "TPR (Sensitivity)": "recall",
            "Average Precision": "AP",
            "BREAK-EVEN POINT": "PR-break-even",
        },
        "clustering": {
            "Silhouette Index": "silhouette",
            "Silhouette Value": "silhouette",
            "Silhouette": "silhouette",
            "Davies Bouldin": "Davies-Bouldin",
            "DB": "Davies-Bouldin",
            "Calinski Harabasz": "Calinski-Harabasz",
            "CH": "Calinski-Harabasz",
        },
    },
    "002": {
        "retrieval": {
            "Precision": "SetP",
            "Recall": "SetR",
            "Balanced F-measure": "SetF",
            "F1": "SetF",
            "Accuracy": "SetAcc(collection_size=1000)",
            "True-Positives": "NumRelRet",
            "True-Negatives": "SetTN(collection_size=1000)",
            "False-Positives": "SetFP",
            "False-Negatives": "SetFN",
            "Mean Average Precision": "AP",
            "R-precision": "Rprec",
            "Rp": "Rprec",
            "FPr": "fallout(collection_size=1000)",
            "TPr": "SetR",
            "interpolated precision-recall curve": Message("it is a curve"),
            "Receiver-Operating-Characteristic": Message("it is a curve, .*rank-ROC-AUC"),
        },
        "classification": {
            "TYPE 1 ERROR": "FPR",
            "TYPE 2 ERROR": "FNR",
            "True Positive": "TP",
            "F1": "F1",
            "Accuracy": "accuracy",
        },
    },
    "003": {
        "retrieval": {
            "fallout": "fallout(collection_size=1000)",
            "Total Recall": "SetGenerality(collection_size=1000)",
            "generality": "SetGenerality(collection_size=1000)",
            "F-Measure": "SetF",
            "Macro Evaluation": Message("means over topics .* SetP and SetR$"),
            "Micro Evaluation": Message("sums over topics .* micro-SetP, "),
            "System Efficiency": "system-efficiency",
            "R-Precision": "Rprec",
            "RP": "Rprec",
            "Area Under the Curve": Message(rf"{SEVERAL}rank-PR-AUC .* AP .* rank-ROC-AUC\(coll"),
            "AUC": Message(rf"{SEVERAL}rank-PR-AUC .* AP .* rank-ROC-AUC\(collection_size=1000\)"),
            "P-R-Curve": Message("it is a curve"),
            "precision-recall graphs": Message("it is a curve"),
        },
        "classification": {
            "false discovery rate": "FDR",
            "false omission rate": "FOR",
            "true negative rate": "specificity",
            "miss rate (FNR)": "FNR",
            "fall-out (FPR)": "FPR",
            "Total Recall": "prevalence",
            "Misclassification Rate": "error-rate",
            "ERR": "error-rate",
            "area under the ROC curve": "AUC",
            "cross-entropy": "log-loss",
            "log-loss": "log-loss",
            "Receiver Operating Characteristic Curve (ROC Curve)": Message("it is a curve"),
        },
        "regression": {"mean squared error (MSE)": "MSE", "MSE": "MSE"},
    },
    "004": {
        "classification": {
            "ACC (Accuracy)": "accuracy",
            "Acc": "accuracy",
            "default accuracy": Message(r"best constant prediction .* evaluation\['accuracy'\].no_skill"),
            "default logloss": Message(r"evaluation\['log-loss'\].no_skill"),
            "LogLoss": "log-loss",
            "AUC (Area Under the Curve of the ROC)": "AUC",
            "Area Under the Curve": "AUC",
            "PR-AUC (Area Under the Precision-Recall Curve)": "PR-AUC",
            "PR-AUC": "PR-AUC",
            "Average Precision": "AP",
            "PR (Precision-Recall Curve)": Message("it is a curve: .*'PR'"),
            "True Positive Rate": "recall",
            "X@Y Metrics": Message("precision@recall=0.9, precision@volume=0.5"),
            "Precision @ Recall": Message("precision@recall needs recall, as in precision@recall=0.9"),
            "Precision at given Recall": Message("needs recall, as in precision@recall=0.9"),
            "Precision @ Recall = 0.8": "precision@recall=0.8",
            "Precision @ Volume": Message("needs volume, as in precision@volume=0.5"),
            "Precision @ Volume = 0.5": "precision@volume=0.5",
            "Recall @ Precision": Message("needs precision, as in recall@precision=0.9"),
            "Recall @ Precision = 0.5": "recall@precision=0.5",
            "Recall @ False Positive Rate": Message("needs fpr, as in recall@FPR=0.1"),
            "Recall @ False Positive Rate = 0.25": "recall@FPR=0.25",
            "False positive rate @ Recall": Message("needs recall, as in FPR@recall=0.9"),
            "False positive rate @ Recall = 0.75": "FPR@recall=0.75",
        },
        "regression": {
            "RMSE (Root Mean Square Error)": "RMSE",
            "Root Mean Square Error": "RMSE",
            "RMSE": "RMSE",
            "Residual Normal Probability Plot": Message(r"evaluation.chart\('normal quantiles'\)$"),
            "residual histogram": Message(r"evaluation.chart\('residuals'\)$"),
        },
        "retrieval": {
            "Normalized Discounted Cumulative Gain (NDCG)": "nDCG",
            "NDCG": "nDCG",
            "NDCG@T": Message(r"'T' is not a number; expected one, as in nDCG@10"),
            "NDCG@5": "nDCG@5",
            "DCG@5": "DCG@5",
            "maxDCG@5": "IDCG@5",
            "default NDCG": Message(r"evaluation\['nDCG'\].no_skill"),
        },
    },
}  # fmt: skip

PRINTED = [
    pytest.param(task, name, meant, id=f"{document} {task}: {name}")
    for document, tasks in DOCUMENTS.items()
    for task, names in tasks.items()
    for name, meant in names.items()
]


@pytest.mark.parametrize(("task", "name", "meant"), PRINTED)
def test_a_name_as_it_is_printed(task: str, name: str, meant: str | re.Pattern[str]) -> None:
    if isinstance(meant, str):
        measure = parse(name, TASKS[task], KNOWN.get(task))
        assert str(measure) == meant
        # What is shown is read as the same, there and in full.
        assert parse(measure.display_name, TASKS[task], KNOWN.get(task)) == measure
        assert parse(str(measure), TASKS[task]) == measure
    else:
        with pytest.raises(UnknownMeasureError) as refused:
            parse(name, TASKS[task], KNOWN.get(task))
        assert meant.search(str(refused.value)), str(refused.value)
        for hint in re.findall(
            r"(?:as in|ask for|or) ([^\s,()]+(?:\([^()\s]*\))?(?:@\S+)?)", str(refused.value)
        ):
            parse(hint, TASKS[task])  # fmt: skip


def test_the_documents_print_as_many_names() -> None:
    assert len({(name, task) for _, tasks in DOCUMENTS.items() for task in tasks for name in tasks[task]}) > 82  # fmt: skip


TASKS_OF_WORDS = [(task, phrase) for task, phrases in PHRASES.items() for phrase in phrases]


@pytest.mark.parametrize(("task", "phrase"), TASKS_OF_WORDS, ids=str)
def test_a_phrase_means_what_is_written_of_it(task: str, phrase: str) -> None:
    meant, number = PHRASES[task][phrase], "11" if "point" in phrase else "2"
    names = [meant] if isinstance(meant, str) else meant
    # Without the phrase the name has to mean as much, or the phrase is that of another measure.
    wanted = [parse_or_senses(name.replace("#", number), task) for name in names]
    assert [parse_or_senses(phrase.replace("#", number), task)] == wanted[:1] or len(names) > 1
    for name, of in zip(names, wanted, strict=True):
        assert len(of) == 1, name


def parse_or_senses(name: str, task: str) -> list[Any]:
    """The measure of a name, or the definition of one that lacks a number."""
    try:
        return [parse(name, TASKS[task], KNOWN.get(task))]
    except UnknownMeasureError:
        return list(possible_definitions(name, TASKS[task]))


def as_words(name: str) -> Iterator[str]:
    """A name with other signs between its words, in capitals, with dashes of print."""
    for joint in (" ", "  ", "–", "_"):
        yield re.sub(r"(?<=[^\W_])[-_](?=\w)", joint, name)
    yield re.sub(r"[-_]", " ", name).title() if not name.endswith("-") else name


def test_every_name_is_read_in_words() -> None:
    """However its words are set, unless another measure is spelled so."""
    read = 0
    for task, of in TASKS.items():
        for d in (d for family in of for d in definitions(family)):
            for name in d.spellings:
                if d.infix is not None or "@" in name:
                    continue
                for text in as_words(name):
                    assert {*possible_definitions(text, of)} & {
                        *possible_definitions(name, of),
                        d,
                    }, (task, text)
                    read += text != name
    assert read > 1000


@pytest.mark.parametrize(
    ("text", "task", "meant"),
    [
        ("macro hit rate", "classification", "macro-recall"),
        ("macro-averaged precision", "classification", "macro-precision"),
        ("Weighted average recall", "classification", "weighted-recall"),
        ("hit rate[cat]", "classification", "recall[cat]"),
        ("macro hit rate(labels=['a','b'])", "classification", "macro-recall(labels=['a','b'])"),
        ("Positive predictive value@prevalence=0.2", "classification", "precision@prevalence=0.2"),
        ("recall at a false positive rate of 0.1", "classification", "recall@FPR=0.1"),
        ("Cohen’s κ", "classification", "kappa"),
        ("Brier Scores", "classification", "Brier"),
        ("Top–3 accuracy", "classification", "top-3-accuracy"),
        ("F 0.5 score", "classification", "F0.5"),
        ("variance weighted R squared", "regression", "variance-weighted-R2"),
        ("R²", "regression", "R2"),
        ("Krippendorff's alpha", "agreement", "Krippendorff-alpha"),
        ("adjusted Rand index", "clustering", "ARI"),
        ("Calinski–Harabasz index", "clustering", "Calinski-Harabasz"),
        ("normalised mutual information", "clustering", "NMI"),
        ("Normalized Mutual Information", "clustering", "NMI"),
        ("hamming losses", "multilabel", "Hamming-loss"),
        ("hit rate at 5", "retrieval", "Success@5"),
        ("mean average precision@100", "retrieval", "AP@100"),
        ("average precision(rel=2)@100", "retrieval", "AP(rel=2)@100"),
        ("interpolated precision at recall 0.5", "retrieval", "IPrec@0.5"),
        ("F-measure(from_rates=true)", "classification", "F1(from_rates=True)"),
        ("F-measure(from_rates=false)", "classification", "F1"),
        ("Precision @ Recall = 0.2", "retrieval", "P@recall=0.2"),
        ("macro-nDCG@10", "retrieval", "nDCG@10"),
        ("macro-averaged precision", "retrieval", "SetP"),
        ("micro-averaged F measure", "retrieval", "micro-SetF"),
    ],
)
def test_words_take_what_names_take(text: str, task: str, meant: str) -> None:
    assert str(parse(text, TASKS[task])) == meant


@pytest.mark.parametrize(
    ("text", "task", "message"),
    [
        # Two averages, or one of average precision.
        ("macro average precision", "classification",
         "has several meanings; ask for precision .* or AP "),
        ("accuracy", "retrieval", r"ask for SetAcc\(collection_size=1000\) .* or Success@10 "),
        ("fallout", "retrieval",
         r"fallout needs collection_size, the number of documents in the collection .*, as in fallout\(c"),
        ("Total recall", "retrieval", "'Total recall': SetGenerality needs collection"),
        ("Sensitivity (specificity)", "classification", "specificity is not recall, which is called"),
        ("Sensitivity (nonsense)", "classification", "nonsense is not recall"),
        ("Hit rates of cats", "classification", "no measure of classification is called"),
        ("mean reciprocl rank", "retrieval", "did you mean mean_reciprocal_rank"),
        ("Silhouette index", "classification", "there is silhouette of clustering"),
        ("default prettiness", "classification", r"evaluation\['accuracy'\].no_skill"),
        ("Micro evaluation", None, "sums over topics have names of their own: there are micro-SetP"),
        ("F1(from_rates=yes)", "classification", "expected parameters like"),
        ("P-value", "retrieval", "no measure of retrieval is called 'P-value'"),
        ("LR", "classification", "no measure of classification is called 'LR'"),
        ("LR", "classification", "did you mean LR"),
        ("interpolated precision", None,
         "ask for interpolated-precision@recall=0.9 of classification .* or IPrec@0.9 of retrieval"),
        ("Hit rate@", "classification", "."),
        ("precision (", "classification", "."),
        ("()", "classification", "."),
        ("", "classification", "."),
    ],
)  # fmt: skip
def test_what_is_said_of_words_that_mean_nothing_or_too_much(
    text: str, task: str | None, message: str
) -> None:
    with pytest.raises(UnknownMeasureError, match=message):
        parse(text, None if task is None else TASKS[task])


@pytest.mark.parametrize(
    "text",
    ["a" + " " * 998, "macro " * 166, "a@" * 499, "(" * 999, "a " * 499, "at a " * 199, "½" * 999,
     "a" + " " * 900 + "@x", "[" * 999, "a(b" * 333, "a=" * 499, "_" * 999, "\x00 \ud800"],
    ids=repr,
)  # fmt: skip
def test_hostile_words_are_refused_at_once(text: str) -> None:
    began = perf_counter()
    with pytest.raises(UnknownMeasureError):
        parse(text, TASKS["classification"])
    assert perf_counter() - began < 5


def test_one_name_in_two_tasks_says_so_in_both() -> None:
    said = [" ".join(m.definition.description.split()) for m in parse_by_task("ERR")]
    assert [str(m) for m in parse_by_task("ERR")] == ["ERR", "error-rate"]
    assert "For classifiers ERR means the error rate" in said[0]
    assert "in retrieval, ERR is expected reciprocal rank" in said[1]
    assert str(parse("ERR")) == "ERR"  # as before


def test_a_task_that_spells_a_name_comes_before_one_that_has_words_for_it() -> None:
    assert [str(m) for m in parse_by_task("sensitivity")] == ["recall", "SetR"]
    assert [str(m) for m in parse_by_task("sensitivity", "retrieval")] == ["SetR", "recall"]
    assert canonical_name("TPR") == "recall"
    assert list(parse_by_task(3)) == []  # type: ignore[arg-type]


QRELS = {"1": {"a": 1, "b": 0}, "2": {"b": 2, "c": 0}}
RUN = {"1": {"b": 2.0, "a": 1.0}, "2": {"b": 1.0, "c": 0.5, "d": 0.1}}


def test_results_are_asked_for_in_words() -> None:
    asked = ["Mean Reciprocal Rank", "error rate", "Accuracy", "Fall-Out", "NPV", "Specificity"]
    ev = cal.retrieval(
        QRELS, {"x": RUN, "y": RUN}, measures=asked, collection_size=10, interval="none"
    )
    assert list(ev.measures) == [
        "RR", *(f"{n}(collection_size=10)" for n in
                ("SetErrorRate", "SetAcc", "fallout", "SetNPV", "SetSpecificity")),
    ]  # fmt: skip
    for system in ("x", "y"):
        # One document of ten is wrong on topic 1, two on topic 2.
        assert ev[system, "Misclassification Rate"].value == pytest.approx(0.15)
        assert ev[system, "accuracy"].value == pytest.approx(0.85)
        assert ev[system, "mean reciprocal ranks"].value == 0.75
        assert ev[system, "false positive rate"].value == pytest.approx((1 / 9 + 2 / 9) / 2)
        assert ev[system, "true negative rate"].value == pytest.approx(1 - (1 / 9 + 2 / 9) / 2)
        assert ev[system, "negative predictive value"].value == 1
    assert ev.compare()["Mean reciprocal rank"].value == 0
    primary = cal.retrieval(
        QRELS,
        {"x": RUN, "y": RUN},
        measures=["RR", "specificity"],
        collection_size=10,
        baseline="x",
        primary="True Negative Rate",
    )
    assert primary.comparison is not None
    assert primary.comparison.primary == "SetSpecificity(collection_size=10)"
    rulings = cal.check_requirements(
        ev, ["error rate <= 0.2", "Mean reciprocal rank not worse than x"]
    )
    assert len(rulings) == 2
    assert all(r.passed for r in rulings)


def test_classifications_are_asked_for_in_words() -> None:
    truth, score = [0, 1, 1, 0, 1, 0] * 5, [0.1, 0.8, 0.4, 0.5, 0.9, 0.2] * 5
    ev = cal.classification(
        truth,
        score=score,
        measures=["Hit rate", "Area under the ROC curve", "Precision @ Recall = 0.5"],
        threshold="misclassification rate",
        slices={"half": np.arange(30) % 2},
        interval="none",
    )
    assert list(ev.measures) == ["threshold", "recall", "AUC", "precision@recall=0.5"]
    assert ev["area under the curve"].value == pytest.approx(8 / 9)
    assert cal.measure("F measure", family="counts").scorer().measure.definition.name == "F"
    at = cal.threshold_table(
        truth, score, thresholds=[0.5], measures=["positive predictive value"], prevalence=0.1
    )
    assert "precision@prevalence=0.1" in at.rows()[0]


def test_the_command_takes_words(tmp_path: Any) -> None:
    table = tmp_path / "t.csv"
    table.write_text("truth,score\n" + "".join(f"{k % 2},{(k * 7) % 11}\n" for k in range(40)))
    columns = ["classification", str(table), "--truth", "truth", "--score", "score"]
    made = CliRunner().invoke(
        cli, [*columns, "-m", "Area Under the ROC Curve", "--require", "area under the curve >= 0"]
    )
    assert made.exit_code == 0, made.output
    assert re.search(r"^AUC +0\.", made.output, re.MULTILINE)
    for name, said in (
        ("fallout", "fallout(collection_size=1000)  (retrieval)"),
        ("Hit Rate", "recall  (counts)"),
        ("accuracy", "Success@10  (retrieval)"),
        ("R-precision", "here IPrec@0.2"),
        ("ERR", "error-rate  (counts)"),
    ):
        explained = CliRunner().invoke(cli, ["measures", name])
        assert explained.exit_code == 0
        assert said in " ".join(explained.output.split("\n"))


def test_measures_that_come_later_are_in_the_index_and_own_spellings_come_first() -> None:
    kept, names = (
        dict(registry.REGISTRY),
        {name: list(of) for name, of in registry.DEFINITIONS_BY_NAME.items()},
    )
    try:
        assert str(parse("hit rates", "counts")) == "recall"

        @measure("near-miss", family="regression", aliases=("hit-rates",), statistic=Moments,
                 higher_is_better=True, range=(0, 1))  # fmt: skip
        def near(m: Any) -> Any:
            """Share of the predictions that nearly miss."""
            return np.asarray(m.mean)

        assert str(parse("Near Misses", "regression")) == "near-miss"
        assert str(parse("share of the predictions that nearly miss", "regression")) == "near-miss"
        assert str(parse("hit rates", "counts")) == "recall"
        assert str(parse("hit-rates", "regression")) == "near-miss"
    finally:
        registry.REGISTRY.clear()
        registry.REGISTRY.update(kept)
        registry.DEFINITIONS_BY_NAME.clear()
        registry.DEFINITIONS_BY_NAME.update(names)
    with pytest.raises(UnknownMeasureError):
        parse("Near Misses", "regression")


def test_no_phrase_waits_for_what_is_spelled_as_names_are() -> None:
    """The index is made where a name means nothing as it is spelled, and not before."""
    script = (
        "import sys; from calipers.measures import parse; "
        "parse('nDCG@10', 'retrieval'), parse('macro-F1', 'counts'), parse('roc_auc_score'); "
        "print('calipers.measures.phrases' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert done.stdout.decode().split() == ["False"]


def test_what_is_no_measure_names_measures_that_there_are() -> None:
    for task, phrases in NON_MEASURE_HINTS.items():
        for phrase, told in phrases.items():
            with pytest.raises(UnknownMeasureError, match=re.escape(told)):
                parse(phrase, TASKS[task])
            for names in re.findall(r"(?:area,? .*is |there are )(.*)", told):
                for each in re.split(", | and ", names):
                    parse(each, TASKS[task])


def test_what_is_a_chart_or_a_default_is_there() -> None:
    """The expression that a message names gives what it says."""
    data = {
        "classification": cal.classification([0, 1, 1, 1], probability=[0.1, 0.7, 0.4, 0.8]),
        "regression": cal.regression([1.0, 2.0, 4.0, 3.0], [1.5, 2.5, 3.0, 3.5]),
    }
    seen: list[Any] = []
    for task, evaluation in data.items():
        for told in dict.fromkeys(NON_MEASURE_HINTS[task].values()):
            seen += map(evaluation.chart, re.findall(r"evaluation\.chart\('(.*)'\)", told))
            for name in re.findall(r"evaluation\['(.*)'\]\.no_skill", told):
                entropy = -(0.25 * np.log(0.25) + 0.75 * np.log(0.75))
                assert evaluation[name].no_skill == pytest.approx(entropy)
                seen.append(name)
    assert len(seen) == 5


@pytest.mark.parametrize(
    ("former", "current"),
    [
        ("volume", "detection-prevalence"),
        ("macro-volume", "macro-detection-prevalence"),
        ("sens-spec", "generalized-Youden"),
        ("sens-spec(sensitivity_share=0.7)", "generalized-Youden(sensitivity_share=0.7)"),
        ("cost-mean[ms]", "mean-cost[ms]"),
        ("cost-total[price]", "total-cost[price]"),
        ("cost-median", "median-cost"),
        ("cost-p95", "p95-cost"),
        ("cost-p99.5[ms]", "p99.5-cost[ms]"),
        ("p99_cost", "p99-cost"),
        ("silhouette(to='centres')", "silhouette(to='centers')"),
    ],
)
def test_former_names_of_measures_are_aliases(former: str, current: str) -> None:
    assert parse(former) == parse(current)
    assert str(parse(former)) == current
