"""Slides of a course on applied machine learning: measures of sets, rankings and clusters."""

from __future__ import annotations

from examples import Document, Mistake, Values

import calipers as cal

DOCUMENT = Document(
    "Applied machine learning: evaluation measures",
    "Slides that go from precision and recall to gains of graded documents and indices of clusters, "
    "with a small example of each.",
)


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
