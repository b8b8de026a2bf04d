"""Slides of a course on applied machine learning: measures of sets, rankings and clusters."""

from __future__ import annotations

import numpy as np
from examples import Document, Mistake, Values

import calipers as cal

DOCUMENT = Document(
    "Applied machine learning: evaluation measures",
    "Slides that go from precision and recall to gains of graded documents and indices of clusters, "
    "with a small example of each.",
)


@DOCUMENT.example(
    "Five models",
    "Precision and Recall, Accuracy, F1-Score",
    {
        "precision": "1 0.78 0.83 NA 1",
        "recall": "0.8 0.7 1 0 0.5",
        "accuracy": Mistake(
            "20/120 is 0.1667, cut to 0.16.", "0.83 0.58 0.83 0.16 0.58", "0.83 0.58 0.83 0.17 0.58"
        ),
        "F1": "0.89 0.74 0.91 NA 0.67",
    },
    note="Of model 4, which retrieves nothing, F1 is 2 TP / (2 TP + FP + FN) = 0 by counts. By precision and "
    "recall, as the slides have it, it is not defined: `from_rates=True`.",
)
def five_models() -> Values:
    models = {
        "Model 1": [[80, 0], [20, 20]],
        "Model 2": [[70, 20], [30, 0]],
        "Model 3": [[100, 20], [0, 0]],
        "Model 4": [[0, 0], [100, 20]],
        "Model 5": [[50, 0], [50, 20]],
    }
    evaluation = cal.classification(
        confusion=models,
        rows="predicted",
        labels=["Relevant", "Irrelevant"],
        positive="Relevant",
        measures=["precision", "recall", "accuracy", "F1(from_rates=True)"],
    )
    return {
        "precision": [evaluation[model, "precision"].value for model in models],
        "recall": [evaluation[model, "recall"].value for model in models],
        "accuracy": [evaluation[model, "accuracy"].value for model in models],
        "F1": [evaluation[model, "F1(from_rates=True)"].value for model in models],
    }


@DOCUMENT.example(
    "Five models: fall-out, MCC and Jaccard Index",
    "Evaluation Measures, Matthews Correlation Coefficient (MCC), Jaccard Index (JI)",
    {
        "fall-out": "0 1 1 0 0",
        "MCC": "0.63 -0.26 NA NA 0.38",
        "JI, from 0 to 100": "80.0 58.3 83.3 0.0 50.0",
    },
    note="Models 3 and 4 answer the same to everything, so that MCC is 0/0. The slides give Jaccard's index "
    "in percent; here it is a proportion, from 0 to 1.",
    column="by the formula",
)
def correlation_and_overlap() -> Values:
    models = {
        "Model 1": [[80, 0], [20, 20]],
        "Model 2": [[70, 20], [30, 0]],
        "Model 3": [[100, 20], [0, 0]],
        "Model 4": [[0, 0], [100, 20]],
        "Model 5": [[50, 0], [50, 20]],
    }
    evaluation = cal.classification(
        confusion=models,
        rows="predicted",
        labels=["Relevant", "Irrelevant"],
        positive="Relevant",
        measures=["Fall-out", "MCC", "Jaccard Index"],
    )
    return {
        "fall-out": [evaluation[model, "Fall-out"].value for model in models],
        "MCC": [evaluation[model, "MCC"].value for model in models],
        "JI, from 0 to 100": [100 * evaluation[model, "Jaccard Index"].value for model in models],
    }


@DOCUMENT.example(
    "Interpolated precision",
    "Interpolated precision (P_interp)",
    {
        "P_interp(0)": "1", "P_interp(0.5)": "0.6", "P_interp(0.9)": "0.5", "P_interp(1)": "0.1",
        "AvgP_interp of 11 points": "0.62",
    },
    note="The formula on the slide takes the maximum over r₁ ≤ r. Its own numbers, and the field, take it "
    "over r₁ ≥ r. No ranking can have all nine points, which a note of the evaluation says.",
)  # fmt: skip
def interpolated_precision() -> Values:
    precision = [0.1, 0.5, 0.6, 0.6, 0.5, 0.5, 0.7, 0.9, 1]
    recall = [1, 0.9, 0.7, 0.5, 0.4, 0.4, 0.3, 0.1, 0]
    name = "interpolated-precision@recall={}".format
    evaluation = cal.precision_recall(
        precision, recall, measures=[name(0), name(0.5), name(0.9), name(1), "PR-11pt"]
    )
    return {
        "P_interp(0)": evaluation[0].value,
        "P_interp(0.5)": evaluation[1].value,
        "P_interp(0.9)": evaluation[2].value,
        "P_interp(1)": evaluation[3].value,
        "AvgP_interp of 11 points": evaluation["PR-11pt"].value,
    }


@DOCUMENT.example(
    "Average precision and MAP",
    "Average Precision AveP, Mean average precision (MAP)",
    {
        "P(k) of q1": Mistake(
            "2/3 is cut to 0.66, where 5/8 is rounded to 0.63.",
            "1 0.50 0.66 0.75 0.80 0.66 0.57 0.63",
            "1 0.50 0.67 0.75 0.80 0.67 0.57 0.63",
        ),
        "AveP of q1": "0.77",
        "AveP of q2": Mistake(
            "The precisions printed for q2 are those of q1. With the relevance that is printed for "
            "q2, 1 0 1 0 1 1 0 1, the precision at the sixth document is 4/6 and at the last 5/8, "
            "but at the fifth it is 3/5.",
            "0.75",
            "0.71",
        ),
        "MAP": Mistake("It follows from the average precision of q2.", "0.76", "0.74"),
    },
    note="On the next slide the last document of q2 is not relevant and the sum is divided by 4; its "
    "precisions are those of q1 as well.",
)
def average_precision() -> Values:
    relevance = {"q1": [1, 0, 1, 1, 1, 0, 0, 1], "q2": [1, 0, 1, 0, 1, 1, 0, 1]}
    qrels = {q: {f"D{k}": r for k, r in enumerate(row, 1)} for q, row in relevance.items()}
    run = {q: {f"D{k}": -k for k in range(1, 9)} for q in qrels}
    evaluation = cal.retrieval(qrels, run, measures=["AP"])
    values = evaluation.per_unit.values["run"]  # type: ignore[union-attr]
    (curve,) = cal.topic_curves(evaluation, "q1", "PR")
    return {
        "P(k) of q1": curve.y.tolist(),
        "AveP of q1": values["AP"][0],
        "AveP of q2": values["AP"][1],
        "MAP": evaluation["AP"].value,
    }


@DOCUMENT.example(
    "Cumulative gain and its discounted forms",
    "Cumulative Gain, Discounted Cumulative Gain, Normalized Discounted Cumulative Gain",
    {
        "CG": "11",
        "DCG": "6.9",
        "ideal DCG": Mistake(
            "The terms are rounded before they are added: 3 + 1.8 + 1 + 0.9 + 0.4 gives 7.1, and the "
            "sum of the unrounded terms is 7.14.",
            "7.2",
            "7.14",
        ),
        "nDCG": "0.96",
    },
    note="The formula that the slides print, (rel − 1) / (log₂ i + 1), is not the one that their own "
    "table follows: rel / log₂(i + 1), which is `DCG` here. With exponential gains, "
    "`nDCG(dcg='exp-log2')`, the value is 0.95.",
)
def gains() -> Values:
    grades = {"D1": 3, "D2": 2, "D3": 3, "D4": 0, "D5": 1, "D6": 2}
    run = {document: -rank for rank, document in enumerate(grades)}
    ideal = {document: float(grade) for document, grade in grades.items()}
    evaluation = cal.retrieval(
        {"q": grades}, {"run": {"q": run}, "ideal": {"q": ideal}}, measures=["CG", "DCG", "nDCG"]
    )
    return {
        "CG": evaluation["run", "CG"].value,
        "DCG": evaluation["run", "DCG"].value,
        "ideal DCG": evaluation["ideal", "DCG"].value,
        "nDCG": evaluation["run", "nDCG"].value,
    }


@DOCUMENT.example(
    "Three indices of clusters",
    "Silhouette Index, Davies Bouldin, Calinski Harabasz",
    {
        "Davies Bouldin": "0.43",
        "Calinski Harabasz": "9.8",
        "Silhouette Index, of the other points": "0.54",
    },
    note="Two clusters on a line, of points at 0 and 2, and at 6 and 10. The slides divide the distances "
    "within a cluster by |C|, the point itself among them; that makes 0.77. Calipers, as Rousseeuw and "
    "scikit-learn, divides by the number of the *other* points: see [Clustering](clustering.md#by-their-points).",
    column="by the formula",
)
def indices_of_clusters() -> Values:
    points, clusters = np.array([[0.0], [2.0], [6.0], [10.0]]), ["A", "A", "B", "B"]
    evaluation = cal.clustering(
        points, clusters, measures=["Davies Bouldin", "Calinski Harabasz", "Silhouette Index"]
    )
    return {
        "Davies Bouldin": evaluation["Davies Bouldin"].value,
        "Calinski Harabasz": evaluation["Calinski Harabasz"].value,
        "Silhouette Index, of the other points": evaluation["Silhouette Index"].value,
    }
