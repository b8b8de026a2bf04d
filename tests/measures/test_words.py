"""The names of measures as textbooks and lectures print them, and what each means in its task."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import calipers as cal
from calipers.cli import cli
from calipers.measures import TASKS, UnknownMeasureError, definitions, in_each_task, parse
from calipers.measures.families import FAMILIES
from calipers.measures.names import senses
from calipers.measures.phrases import NO_MEASURES, PHRASES, folded

#: What is said of a name that has several meanings, lacks a number or is no measure by itself.
Message = re.compile

#: With a collection of a known size, as ``cal.retrieval(…, collection=1000)`` has it.
KNOWN: dict[str, dict[str, Any]] = {"retrieval": {"collection": 1000}}

SEVERAL = "has several meanings; ask for "
K, A_NUMBER = r"'k' is no number; expected one, as in ", "needs cutoff, as in P@10"

#: By document and task: names as they are printed there, and the measure that they mean; or the
#: message that says what to ask for.
DOCUMENTS: dict[str, dict[str, dict[str, str | re.Pattern[str]]]] = {
    "000": {
        "retrieval": {
            "Precision": "SetP",
            "Recall": "SetR",
            "fallout": "fallout(collection=1000)",
            "fall-out": "fallout(collection=1000)",
            "F-Measure": "SetF",
            "F-score": "SetF",
            "F₁-score": "SetF",
            "F_β": "SetF",
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
            "sum of sensitivity and specificity": "sens-spec",
            "weighted sum of specificity and sensitivity": "sens-spec",
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
            "Accuracy": "SetAcc(collection=1000)",
            "F-Measure": "SetF",
            "F measure": "SetF",
            "F1-Score": "SetF",
            "F1-Measure": "SetF",
            "balanced F_1 measure": "SetF",
            "Weighted Harmonic Mean (F-Measure)": "SetF",
            "Weighted Harmonic Mean": "SetF",
            "MCC": "SetMCC(collection=1000)",
            "Matthews Correlation Coefficient (MCC)": "SetMCC(collection=1000)",
            "Jaccard Index": "SetJaccard",
            "Jaccard Index (JI)": "SetJaccard",
            "JI": "SetJaccard",
            "Fall-out": "fallout(collection=1000)",
            "TPR (Sensitivity)": "SetR",
            "True Positive Rate": "SetR",
            "FPR": "fallout(collection=1000)",
            "False Positive Rate": "fallout(collection=1000)",
            "Specificity": "SetSpecificity(collection=1000)",
            "True Positive": "NumRelRet",
            "False Positive": "SetFP",
            "True Negative": "SetTN(collection=1000)",
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
            "Accuracy": "SetAcc(collection=1000)",
            "True-Positives": "NumRelRet",
            "True-Negatives": "SetTN(collection=1000)",
            "False-Positives": "SetFP",
            "False-Negatives": "SetFN",
            "Mean Average Precision": "AP",
            "R-precision": "Rprec",
            "Rp": "Rprec",
            "FPr": "fallout(collection=1000)",
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
            "fallout": "fallout(collection=1000)",
            "Total Recall": "SetGenerality(collection=1000)",
            "generality": "SetGenerality(collection=1000)",
            "F-Measure": "SetF",
            "System Efficiency": "system-efficiency",
            "R-Precision": "Rprec",
            "RP": "Rprec",
            "Area Under the Curve": Message(rf"{SEVERAL}rank-PR-AUC .* AP .* rank-ROC-AUC\(coll"),
            "AUC": Message(rf"{SEVERAL}rank-PR-AUC .* AP .* rank-ROC-AUC\(collection=1000\)"),
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
            "default accuracy": Message(r"constant answer .* evaluation\['accuracy'\].default"),
            "default logloss": Message(r"evaluation\['log-loss'\].default"),
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
        },
        "retrieval": {
            "Normalized Discounted Cumulative Gain (NDCG)": "nDCG",
            "NDCG": "nDCG",
            "NDCG@T": Message(r"'T' is no number; expected one, as in nDCG@10"),
            "NDCG@5": "nDCG@5",
            "DCG@5": "DCG@5",
            "maxDCG@5": "IDCG@5",
            "default NDCG": Message(r"evaluation\['nDCG'\].default"),
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
        assert parse(measure.shown, TASKS[task], KNOWN.get(task)) == measure
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
