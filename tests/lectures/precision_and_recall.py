"""Slides and exercises on precision and recall."""

from __future__ import annotations

from examples import Document, Values

import calipers as cal

DOCUMENT = Document(
    "Precision and recall: slides and exercises",
    "Slides on retrieved and relevant documents, and two exercises with their solutions. One of its "
    "tables, headed “Prediction outcome” and “Actual value”, interchanges the two: false "
    "positives are in the row of actual positives. The formulas next to it are correct, except that "
    "the words “actual results” and “predicted results” in the denominators of precision and recall "
    "are interchanged as well.",
)


@DOCUMENT.example(
    "A recommender, complete knowledge",
    "Example – Complete Knowledge",
    {"precision": "0.57", "recall": "0.44"},
)
def complete_knowledge() -> Values:
    liked = dict.fromkeys(["i1", "i2", "i3", "i4", "i5", "i6", "i7", "i8", "i9"], 1)
    recommended = ["i1", "i2", "i3", "i4", "i10", "i11", "i12"]  # a set: in no order
    evaluation = cal.retrieval({"user": liked}, {"user": recommended}, measures=["SetP", "SetR"])
    return {
        "precision": evaluation["SetP"].value,
        "recall": evaluation["SetR"].value,
    }


@DOCUMENT.example(
    "A recommender, incomplete knowledge",
    "Example – Incomplete Knowledge",
    {"precision": "0.57", "recall, all unknown relevant": "0.40", "recall, none": "0.57"},
    note="The document prints 4/10 ≤ R ≤ 4/7. Seven items are known to be liked and the seven that are "
    "recommended are known; of three others nothing is known.",
)
def incomplete_knowledge() -> Values:
    judged = dict.fromkeys(["i1", "i2", "i3", "i4", "i5", "i6", "i7"], 1)
    judged |= dict.fromkeys(["i10", "i11", "i12"], 0)
    recommended = ["i1", "i2", "i3", "i4", "i10", "i11", "i12"]
    evaluation = cal.retrieval(
        {"user": judged},
        {"user": recommended},
        measures=["SetP", "SetR"],
        judgment_bounds=True,
        max_unretrieved=3,  # at most so many more that the user would like
    )
    return {
        "precision": evaluation["SetP"].value,
        "recall, all unknown relevant": evaluation["SetR"].lower_bound,
        "recall, none": evaluation["SetR"].upper_bound,
    }


@DOCUMENT.example(
    "A collection of 100 documents",
    "Exercise 1",
    {
        "TP": "3", "FP": "4", "FN": "2", "TN": "91",
        "precision": "0.43", "recall": "0.6", "F": "0.5", "accuracy": "0.94",
    },
    note="The document prints fractions: 3/7, 3/5, 1/2 and 94/100.",
)  # fmt: skip
def hundred_documents() -> Values:
    collection_size = [f"d{i}" for i in range(1, 101)]
    relevant = {"d3", "d12", "d34", "d56", "d98"}
    retrieved = {"d3", "d12", "d35", "d56", "d66", "d88", "d95"}
    evaluation = cal.classification(
        [document in relevant for document in collection_size],
        [document in retrieved for document in collection_size],
        measures=["TP", "FP", "FN", "TN", "precision", "recall", "F-measure", "accuracy"],
    )
    return {
        "TP": evaluation["TP"].value,
        "FP": evaluation["FP"].value,
        "FN": evaluation["FN"].value,
        "TN": evaluation["TN"].value,
        "precision": evaluation["precision"].value,
        "recall": evaluation["recall"].value,
        "F": evaluation["F-measure"].value,
        "accuracy": evaluation["accuracy"].value,
    }


@DOCUMENT.example(
    "Two rankings: the precision-recall curves",
    "Exercise 2, (a)",
    {
        "q1: P at 1, 2, …, 10": "1.00 0.50 0.67 0.50 0.40 0.50 0.57 0.63 0.56 0.50",
        "q1: R at 1, 2, …, 10": "0.20 0.20 0.40 0.40 0.40 0.60 0.80 1.00 1.00 1.00",
        "q2: P at 1, 2, …, 10": "1.00 1.00 0.67 0.75 0.60 0.50 0.43 0.38 0.44 0.40",
        "q2: R at 1, 2, …, 10": "0.25 0.50 0.50 0.75 0.75 0.75 0.75 0.75 1.00 1.00",
    },
    note="The document prints fractions, such as 5/8. The interpolated curve is "
    '`cal.topic_curves(evaluation, topic, "interpolated PR")`, and `.chart()` of either draws it.',
)
def precision_recall_curves() -> Values:
    qrels = {"q1": dict.fromkeys("AGEBH", 1), "q2": dict.fromkeys("FGEB", 1)}
    rankings = {"q1": "ALGFDEBHIC", "q2": "FGDELIHCBA"}
    run = {q: {d: -rank for rank, d in enumerate(ranking)} for q, ranking in rankings.items()}
    evaluation = cal.retrieval(qrels, run, measures=["AP"])
    q1, q2 = (cal.topic_curves(evaluation, topic, "PR")[0] for topic in ("q1", "q2"))
    return {
        "q1: P at 1, 2, …, 10": q1.y.tolist(),
        "q1: R at 1, 2, …, 10": q1.x.tolist(),
        "q2: P at 1, 2, …, 10": q2.y.tolist(),
        "q2: R at 1, 2, …, 10": q2.x.tolist(),
    }


@DOCUMENT.example(
    "Two rankings: average precision, MAP and R-precision",
    "Exercise 2, (b) and (c)",
    {
        "AP of q1": "0.67", "AP of q2": "0.80", "MAP": "0.74",
        "R-precision of q1": "0.4", "R-precision of q2": "0.75",
    },
)  # fmt: skip
def mean_average_precision() -> Values:
    qrels = {"q1": dict.fromkeys("AGEBH", 1), "q2": dict.fromkeys("FGEB", 1)}
    rankings = {"q1": "ALGFDEBHIC", "q2": "FGDELIHCBA"}
    run = {q: {d: -rank for rank, d in enumerate(ranking)} for q, ranking in rankings.items()}
    evaluation = cal.retrieval(qrels, run, measures=["AP", "Rprec"])
    values = evaluation.per_unit.values["run"]  # type: ignore[union-attr]
    return {
        "AP of q1": values["AP"][0],
        "AP of q2": values["AP"][1],
        "MAP": evaluation["AP"].value,
        "R-precision of q1": values["Rprec"][0],
        "R-precision of q2": values["Rprec"][1],
    }


@DOCUMENT.example(
    "Two rankings: the receiver operating characteristic",
    "Exercise 2, (d)",
    {
        "q1: FPR at 1, 2, …, 10": "0.0 0.2 0.2 0.4 0.6 0.6 0.6 0.6 0.8 1.0",
        "q1: TPR at 1, 2, …, 10": "0.20 0.20 0.40 0.40 0.40 0.60 0.80 1.00 1.00 1.00",
        "q2: FPR at 1, 2, …, 10": "0.00 0.00 0.17 0.17 0.33 0.50 0.67 0.83 0.83 1.00",
        "q2: TPR at 1, 2, …, 10": "0.25 0.50 0.50 0.75 0.75 0.75 0.75 0.75 1.00 1.00",
    },
    note="The curve begins at (0, 0). The document prints fractions, such as 1/6.",
)
def receiver_operating_characteristic() -> Values:
    qrels = {"q1": dict.fromkeys("AGEBH", 1), "q2": dict.fromkeys("FGEB", 1)}
    rankings = {"q1": "ALGFDEBHIC", "q2": "FGDELIHCBA"}
    run = {q: {d: -rank for rank, d in enumerate(ranking)} for q, ranking in rankings.items()}
    evaluation = cal.retrieval(qrels, run, measures=["AP"])
    q1, q2 = (
        cal.topic_curves(evaluation, topic, "ROC", collection_size=10)[0] for topic in ("q1", "q2")
    )
    return {
        "q1: FPR at 1, 2, …, 10": q1.x[1:11].tolist(),
        "q1: TPR at 1, 2, …, 10": q1.y[1:11].tolist(),
        "q2: FPR at 1, 2, …, 10": q2.x[1:11].tolist(),
        "q2: TPR at 1, 2, …, 10": q2.y[1:11].tolist(),
    }
