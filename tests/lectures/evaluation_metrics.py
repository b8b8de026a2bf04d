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
    note="The value of the best constant prediction stands beside every estimate, as `default`.",
)
def default_accuracy() -> Values:
    truth = [0, 1] * 50
    evaluation = cal.classification(truth, [0, 0, 1, 1] * 25, measures=["accuracy"])
    return {"balanced classes": evaluation["accuracy"].default}


@DOCUMENT.example(
    "Default log loss",
    "LogLoss",
    {"entropy of the labels": "0.5623"},
    note="Shannon entropy of three labels to one: −¾ log ¾ − ¼ log ¼ = 0.5623.",
)
def default_log_loss() -> Values:
    truth = [1, 0, 0, 0] * 25
    evaluation = cal.classification(truth, probability=[0.4, 0.2, 0.3, 0.1] * 25)
    return {"entropy of the labels": evaluation["log-loss"].default}


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
        "default NDCG@2": evaluation["NDCG@2"].default,
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
