"""A chapter on the evaluation of retrieval and of classification."""

from __future__ import annotations

from examples import Document, Values

import calipers as cal

DOCUMENT = Document(
    "Performance evaluation: a chapter of a course on multimedia retrieval, second edition",
    "From benchmarks with dense and sparse judgments over Boolean and ranked retrieval and graded "
    "relevance to confusion matrices, thresholds and the ROC curve.",
)


@DOCUMENT.example(
    "Two search methods",
    "2.2 Boolean Retrieval",
    {
        "A: p": "50%", "A: r": "35%", "A: F1": "0.41",
        "B: p": "67%", "B: r": "20%", "B: F1": "0.31",
    },
)  # fmt: skip
def search_methods() -> Values:
    relevant = [f"r{i}" for i in range(20)]
    others = [f"n{i}" for i in range(9)]
    methods = {"A": {"Q": relevant[:7] + others[:7]}, "B": {"Q": relevant[:4] + others[:2]}}
    evaluation = cal.retrieval(
        {"Q": dict.fromkeys(relevant, 1)}, methods, measures=["SetP", "SetR", "SetF"]
    )
    return {
        "A: p": evaluation["A", "SetP"].value,
        "A: r": evaluation["A", "SetR"].value,
        "A: F1": evaluation["A", "SetF"].value,
        "B: p": evaluation["B", "SetP"].value,
        "B: r": evaluation["B", "SetR"].value,
        "B: F1": evaluation["B", "SetF"].value,
    }


@DOCUMENT.example(
    "Precision and recall of the first three documents",
    "2.3 Retrieval with Order",
    {"p at k = 3": "0.67", "r at k = 3": "0.40"},
    note="The document prints 2/3 and 2/5. Which of the three is not relevant stands in a picture; "
    "the two values do not depend on it.",
)
def first_three() -> Values:
    qrels = {"Q": dict.fromkeys(["a", "b", "c", "d", "e"], 1)}
    run = {"Q": {"a": 3.0, "x": 2.0, "b": 1.0}}
    evaluation = cal.retrieval(qrels, run, measures=["P@3", "R@3"])
    return {
        "p at k = 3": evaluation["P@3"].value,
        "r at k = 3": evaluation["R@3"].value,
    }


@DOCUMENT.example(
    "Ten documents of graded relevance",
    "2.4 Retrieval with Graded Relevance",
    {
        "CG": "0 2 3 6 6 8 8 11 12 15",
        "normalized CG": "0.00 0.33 0.33 0.50 0.40 0.44 0.38 0.46 0.44 0.50",
        "DCG": "0.00 1.26 1.76 3.05 3.05 3.77 3.77 4.71 5.01 5.88",
        "ideal DCG": "3.00 4.89 6.39 7.68 8.85 9.56 10.22 10.86 11.46 12.04",
        "nDCG": "0.00 0.26 0.28 0.40 0.35 0.39 0.37 0.43 0.44 0.49",
        "precision at 10": "0.70",
    },
    note="The collection has 5 documents of relevance 3 and 10 of relevance 2: those that the list "
    "lacks are judged, though not retrieved.",
)
def graded_relevance() -> Values:
    grades = [0, 2, 1, 3, 0, 2, 0, 3, 1, 3]
    qrels = {f"d{k}": grade for k, grade in enumerate(grades, 1)}
    qrels |= {f"not retrieved {i}": 3 for i in range(5 - grades.count(3))}
    qrels |= {f"not retrieved either {i}": 2 for i in range(10 - grades.count(2))}
    run = {f"d{k}": -k for k in range(1, 11)}

    def at_each_rank(name: str) -> list[float]:
        names = [f"{name}@{k}" for k in range(1, 11)]
        return [e.value for e in cal.retrieval({"q": qrels}, {"q": run}, measures=names)]

    return {
        "CG": at_each_rank("CG"),
        "normalized CG": at_each_rank("nCG(max_grade=3)"),
        "DCG": at_each_rank("DCG"),
        "ideal DCG": at_each_rank("IDCG"),
        "nDCG": at_each_rank("nDCG"),
        "precision at 10": at_each_rank("P")[9],
    }


@DOCUMENT.example(
    "Twenty scores: the table of thresholds",
    "2.6 Optimizing Hyperparameters",
    {
        "TP": "1 2 2 3 4 5 5 5 6 6 7 7 8 8 8 8 9 9 10 10",
        "FP": "0 0 1 1 1 1 2 3 3 4 4 5 5 6 7 8 8 9 9 10",
        "FN": "9 8 8 7 6 5 5 5 4 4 3 3 2 2 2 2 1 1 0 0",
        "TN": "10 10 9 9 9 9 8 7 7 6 6 5 5 4 3 2 2 1 1 0",
        "TPR": "10% 20% 20% 30% 40% 50% 50% 50% 60% 60% 70% 70% 80% 80% 80% 80% 90% 90% 100% 100%",
        "FPR": "0% 0% 10% 10% 10% 10% 20% 30% 30% 40% 40% 50% 50% 60% 70% 80% 80% 90% 90% 100%",
        "ACC": "55% 60% 55% 60% 65% 70% 65% 60% 65% 60% 65% 60% 65% 60% 55% 50% 55% 50% 55% 50%",
    },
)
def table_of_thresholds() -> Values:
    truth = list("PPNPPPNNPNPNPNNNPNPN")
    score = [0.90, 0.80, 0.70, 0.60, 0.55, 0.54, 0.53, 0.52, 0.51, 0.50]
    score += [0.40, 0.39, 0.38, 0.37, 0.36, 0.35, 0.34, 0.33, 0.30, 0.10]
    table = cal.cutoffs(truth, score, positive="P", at="all", measures=["TPR", "FPR", "accuracy"])
    columns = table.to_frame().to_dict("list")
    return {
        "TP": columns["TP"],
        "FP": columns["FP"],
        "FN": columns["FN"],
        "TN": columns["TN"],
        "TPR": columns["TPR"],
        "FPR": columns["FPR"],
        "ACC": columns["accuracy"],
    }


@DOCUMENT.example(
    "Twenty scores: the best thresholds and the area under the ROC curve",
    "2.6 Optimizing Hyperparameters",
    {
        "threshold of the best accuracy": "0.54", "the best accuracy": "70%",
        "its TPR": "50%", "its FPR": "10%",
    },
    note="The same threshold has the largest sum of sensitivity and specificity (`\"youden\"`). The point "
    "closest to the upper left corner is that of 0.51 (`rule=\"closest\"`). The document draws the area "
    "under the curve and does not print it: 0.68.",
)  # fmt: skip
def best_threshold() -> Values:
    truth = list("PPNPPPNNPNPNPNNNPNPN")
    score = [0.90, 0.80, 0.70, 0.60, 0.55, 0.54, 0.53, 0.52, 0.51, 0.50]
    score += [0.40, 0.39, 0.38, 0.37, 0.36, 0.35, 0.34, 0.33, 0.30, 0.10]
    point = cal.operating_point(
        truth, score, positive="P", rule="accuracy", measures=["accuracy", "TPR", "FPR"]
    )
    return {
        "threshold of the best accuracy": point["threshold"].value,
        "the best accuracy": point["accuracy"].value,
        "its TPR": point["TPR"].value,
        "its FPR": point["FPR"].value,
    }
