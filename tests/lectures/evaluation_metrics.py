"""The page on evaluation metrics of a library of decision forests."""

from __future__ import annotations

import numpy as np
from examples import Document, Values

import calipers as cal

DOCUMENT = Document(
    "Evaluation metrics of a library of decision forests",
    "Definitions of measures, defaults, intervals, tests and plots, with their formulas and without "
    "data. The numbers below follow from the formulas by hand.",
    column="by hand",
)


@DOCUMENT.example(
    "Default accuracy",
    "Default metrics",
    {"balanced classes": "0.5"},
    note="Every estimate has the value of the best constant prediction, as `no_skill`.",
)
def default_accuracy() -> Values:
    truth = [0, 1] * 50
    evaluation = cal.classification(truth, [0, 0, 1, 1] * 25, measures=["accuracy"])
    return {"balanced classes": evaluation["accuracy"].no_skill}


@DOCUMENT.example(
    "Accuracy, and its interval [W]",
    "ACC (Accuracy)",
    {"accuracy": "0.90", "low": "0.8256", "high": "0.9448"},
    note="90 of 100 are right. Wilson's score interval: (0.9 + z²/200 ± z √(0.09/100 + z²/40000)) / "
    '(1 + z²/100) with z = 1.96. `interval="[B]"` asks for the percentiles of the bootstrap.',
)
def wilson_interval() -> Values:
    truth = [1] * 50 + [0] * 50
    predicted = [1] * 45 + [0] * 50 + [1] * 5
    evaluation = cal.classification(truth, predicted, measures=["Acc"], interval="[W]")
    return {
        "accuracy": evaluation["Acc"].value,
        "low": evaluation["Acc"].low,
        "high": evaluation["Acc"].high,
    }


@DOCUMENT.example(
    "Accuracy at the threshold that maximizes it",
    "ACC (Accuracy)",
    {"threshold": "0.8", "accuracy": "0.83"},
    note="Five of six rows are on the right side of 0.8; no other threshold does better. The name of "
    "its method warns that the threshold was chosen on the same rows.",
)
def best_accuracy() -> Values:
    truth = [1, 1, 0, 0, 1, 0]
    score = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4]
    evaluation = cal.classification(truth, score=score, measures=["accuracy"])
    return {
        "threshold": evaluation["threshold"].value,
        "accuracy": evaluation["accuracy"].value,
    }


@DOCUMENT.example(
    "A weighted confusion matrix",
    "Confusion Matrix",
    {"row of truth 0": "1.5 0.5", "row of truth 1": "1.0 2.0"},
    note="Columns are the predictions and rows the truth, as on the page.",
)
def weighted_matrix() -> Values:
    evaluation = cal.classification(
        [0, 0, 1, 1, 1], [0, 1, 0, 1, 1], weight=[1.5, 0.5, 1.0, 1.25, 0.75]
    )
    (matrix,) = evaluation.confusions
    return {
        "row of truth 0": list(matrix.counts[0]),
        "row of truth 1": list(matrix.counts[1]),
    }


@DOCUMENT.example(
    "Log loss of three classes",
    "LogLoss",
    {"log loss": "0.7034", "its default": "1.0397"},
    note="−(log 0.5 + log 0.5 + log 0.8 + log 0.3) / 4, and the entropy of ½, ¼, ¼.",
)
def log_loss() -> Values:
    truth = ["a", "b", "c", "a"]
    probability = [[0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.1, 0.1, 0.8], [0.3, 0.3, 0.4]]
    evaluation = cal.classification(
        truth, probability=probability, labels=["a", "b", "c"], measures=["logloss"]
    )
    return {
        "log loss": evaluation["logloss"].value,
        "its default": evaluation["logloss"].no_skill,
    }


@DOCUMENT.example(
    "Default log loss",
    "LogLoss",
    {"entropy of the labels": "0.5623"},
    note="Shannon entropy of three labels to one: −¾ log ¾ − ¼ log ¼ = 0.5623.",
)
def default_log_loss() -> Values:
    truth = [1, 0, 0, 0] * 25
    evaluation = cal.classification(truth, probability=[0.4, 0.2, 0.3, 0.1] * 25)
    return {"entropy of the labels": evaluation["log-loss"].no_skill}


@DOCUMENT.example(
    "Area under the ROC curve, and its interval [H]",
    "AUC (Area Under the Curve of the ROC)",
    {"AUC": "0.75", "low": "0.5310", "high": "0.9690"},
    note="75 of the 100 pairs of a positive and a negative row are in order. Hanley and McNeil: "
    "Q₁ = A/(2 − A) = 0.6, Q₂ = 2A²/(1 + A) = 0.6429, and the squared standard error "
    "(A(1 − A) + 9(Q₁ − A²) + 9(Q₂ − A²))/100 = 0.01248.",
)
def area_under_roc() -> Values:
    truth = [1] * 10 + [0] * 10
    score = [20] * 5 + [5.5] * 5 + [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
    evaluation = cal.classification(truth, score=score, measures=["AUC"], interval="[H]")
    return {
        "AUC": evaluation["AUC"].value,
        "low": evaluation["AUC"].low,
        "high": evaluation["AUC"].high,
    }


@DOCUMENT.example(
    "Area under the precision-recall curve, and its interval [L]",
    "PR-AUC (Area Under the Precision-Recall Curve)",
    {"PR-AUC": "0.6778", "AP": "0.7222", "low": "0.1574", "high": "0.9595"},
    note="Lower trapezoids of six rows in the order + − + − − +: "
    "⅓·1 + ⅓·(½ + ⅔)/2 + ⅓·(⅖ + ½)/2 = 0.6778; average precision is (1 + ⅔ + ½)/3. The interval is "
    "log(A/(1 − A)) ± 1.96/√(3 A(1 − A)), of three positive rows, brought back from that scale.",
)
def area_under_precision_recall() -> Values:
    truth = [1, 0, 1, 0, 0, 1]
    score = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4]
    evaluation = cal.classification(
        truth, score=score, measures=["PR-AUC", "AP"], interval="logistic"
    )
    return {
        "PR-AUC": evaluation["PR-AUC"].value,
        "AP": evaluation["AP"].value,
        "low": evaluation["PR-AUC"].low,
        "high": evaluation["PR-AUC"].high,
    }


@DOCUMENT.example(
    "X@Y metrics",
    "X@Y Metrics",
    {
        "Precision @ Recall 0.5": "0.67",
        "Precision @ Volume 0.5": "0.67",
        "Recall @ Precision 0.6": "0.67",
        "Recall @ False Positive Rate 0.34": "0.67",
        "False positive rate @ Recall 0.5": "0.33",
    },
    note="Six rows in the order of their scores: + − + − − +. A recall of ½ or more is reached at the "
    "third (precision 2/3, recall 2/3, false positive rate 1/3); half of the volume are three "
    "rows.",
)
def conditional_metrics() -> Values:
    truth = [1, 0, 1, 0, 0, 1]
    score = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4]
    evaluation = cal.classification(
        truth,
        score=score,
        measures=[
            "precision@recall=0.5", "precision@volume=0.5", "recall@precision=0.6",
            "recall@FPR=0.34", "FPR@recall=0.5",
        ],
    )  # fmt: skip
    return {
        "Precision @ Recall 0.5": evaluation["precision@recall=0.5"].value,
        "Precision @ Volume 0.5": evaluation["precision@volume=0.5"].value,
        "Recall @ Precision 0.6": evaluation["recall@precision=0.6"].value,
        "Recall @ False Positive Rate 0.34": evaluation["recall@FPR=0.34"].value,
        "False positive rate @ Recall 0.5": evaluation["FPR@recall=0.5"].value,
    }


@DOCUMENT.example(
    "One-sided McNemar test by the binomial distribution",
    "One-sided McNemar tests",
    {"p": "0.0717"},
    note="17 rows are right in one model alone, 12 of them in model 1: "
    "P(X ≥ 12) = 9402/2¹⁷ = 0.0717 for X binomial of 17 and ½.",
)
def mcnemar_test() -> Values:
    truth = np.ones(100)
    model_1 = np.where(np.arange(100) < 5, 0, 1)
    model_2 = np.where((np.arange(100) >= 5) & (np.arange(100) < 17), 0, 1)
    evaluation = cal.classification(
        truth, {"model_1": model_1, "model_2": model_2}, labels=[0, 1], measures=["accuracy"]
    )
    comparison = evaluation.compare(
        baseline="model_2", test="mcnemar", alternative="greater", adjust="none"
    )
    return {"p": comparison["accuracy"].p}


@DOCUMENT.example(
    "Default RMSE",
    "Regression",
    {"RMSE": "1.0", "its default": "2.0"},
    note="The mean of the labels is 5, and their standard deviation is 2.",
)
def default_rmse() -> Values:
    truth = [2, 4, 4, 4, 5, 5, 7, 9]
    predicted = [3, 3, 5, 5, 4, 6, 6, 8]
    evaluation = cal.regression(truth, predicted, measures=["RMSE"])
    return {
        "RMSE": evaluation["RMSE"].value,
        "its default": evaluation["RMSE"].no_skill,
    }


@DOCUMENT.example(
    "Confidence interval of the RMSE [X2]",
    "RMSE (Root Mean Square Error)",
    {"low": "2.7949", "high": "7.0197"},
    note="√(n / χ²) RMSE with n = 10, RMSE = 4 and the quantiles .975 and .025 of χ² with 10 degrees "
    "of freedom, 20.4832 and 3.2470.",
)
def rmse_interval() -> Values:
    errors = np.full(10, 4.0)
    evaluation = cal.regression(np.zeros(10), errors, measures=["RMSE"], interval="chi-square")
    return {
        "low": evaluation["RMSE"].low,
        "high": evaluation["RMSE"].high,
    }


@DOCUMENT.example(
    "NDCG of tied predictions",
    "Normalized Discounted Cumulative Gain (NDCG)",
    {"NDCG@2": "0.8155", "default NDCG@2": "0.5436"},
    note="Gains are 2^r − 1. The first two of three rows are tied, with relevance 1 and 0, so each has "
    "the mean gain ½ at ranks 1 and 2: ½ (1 + 1/log₂ 3) / 1 = 0.8155. The default gives every row the "
    "mean gain ⅓.",
)
def tied_predictions() -> Values:
    evaluation = cal.ranking(["q"] * 3, [1, 0, 0], [0.9, 0.9, 0.1], measures=["NDCG@2"])
    return {
        "NDCG@2": evaluation["NDCG@2"].value,
        "default NDCG@2": evaluation["NDCG@2"].no_skill,
    }
