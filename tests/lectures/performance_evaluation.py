"""A chapter on the evaluation of retrieval and of classification."""

from __future__ import annotations

from examples import Document, Mistake, Values

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
    note="The document prints 2/3 and 2/5. Which of the three is not relevant is shown in a picture; "
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
    "Example 1: a cancer test",
    "2.5 The Confusion Matrix",
    {
        "PPV": "10%", "NPV": "99%", "TPR": "67%", "TNR": "91%", "ACC": "91%",
        "prevalence": Mistake("30 of 2,030 is 1.478%, cut to 1.4%.", "1.4%", "1.5%"),
        "ACC of a test that always returns false": "99%",
    },
    note='`evaluation.to_html("page.html", orientation="predicted-rows")` shows the matrix with a row '
    "for each predicted class, as the document does; without it, rows are the true classes.",
)  # fmt: skip
def cancer_test() -> Values:
    evaluation = cal.classification(
        confusion=[[20, 180], [10, 1820]],
        rows="predicted",
        labels=["cancer", "no cancer"],
        positive="cancer",
        measures=["PPV", "NPV", "TPR", "TNR", "accuracy", "prevalence"],
    )
    return {
        "PPV": evaluation["PPV"].value,
        "NPV": evaluation["NPV"].value,
        "TPR": evaluation["TPR"].value,
        "TNR": evaluation["TNR"].value,
        "ACC": evaluation["accuracy"].value,
        "prevalence": evaluation["prevalence"].value,
        "ACC of a test that always returns false": evaluation["accuracy"].no_skill,
    }


@DOCUMENT.example(
    "Example 2: a test for a contagious virus",
    "2.5 The Confusion Matrix",
    {
        "PPV": "11%",
        "NPV": Mistake("94,335 of 94,440 is 99.9%, cut to 99%.", "99%", "100%"),
        "TPR": "85%", "TNR": "95%", "ACC": "95%",
        "prevalence": "0.7%",
    },
    note="The fractions printed next to the percentages, 20/200, 1820/1830 and so on, are those of "
    "example 1. The prevalence is printed as 700/99,300, which are the odds; 700/100,000 is 0.7%.",
)  # fmt: skip
def virus_test() -> Values:
    evaluation = cal.classification(
        confusion=[[595, 4965], [105, 94335]],
        rows="predicted",
        labels=["virus", "no virus"],
        positive="virus",
        measures=["PPV", "NPV", "TPR", "TNR", "accuracy", "prevalence"],
    )
    return {
        "PPV": evaluation["PPV"].value,
        "NPV": evaluation["NPV"].value,
        "TPR": evaluation["TPR"].value,
        "TNR": evaluation["TNR"].value,
        "ACC": evaluation["accuracy"].value,
        "prevalence": evaluation["prevalence"].value,
    }


@DOCUMENT.example(
    "Women, men and children",
    "2.5 The Confusion Matrix",
    {
        "ACC": "85%", "ERR": "15%",
        "Woman: TP, FP, FN, TN": "13 6 7 74", "Woman: prevalence": "20%",
        "Woman: PPV": "68%", "Woman: NPV": "91%", "Woman: TPR": "65%", "Woman: TNR": "93%",
        "Woman: ACC": "87%",
        "Child: TP, FP, FN, TN": "57 6 3 34", "Child: prevalence": "60%",
        "Child: PPV": "90%", "Child: NPV": "92%", "Child: TPR": "95%", "Child: TNR": "85%",
        "Child: ACC": "91%",
    },
)  # fmt: skip
def women_men_and_children() -> Values:
    cells = ["TP", "FP", "FN", "TN"]
    of_class = [*cells, "prevalence", "PPV", "NPV", "TPR", "TNR", "accuracy"]
    evaluation = cal.classification(
        confusion=[[13, 4, 2], [2, 15, 1], [5, 1, 57]],
        rows="predicted",
        labels=["Woman", "Man", "Child"],
        measures=["accuracy", "error rate"]
        + [f"{name}[{label}]" for label in ("Woman", "Child") for name in of_class],
    )
    return {
        "ACC": evaluation["accuracy"].value,
        "ERR": evaluation["error rate"].value,
        "Woman: TP, FP, FN, TN": [evaluation[f"{cell}[Woman]"].value for cell in cells],
        "Woman: prevalence": evaluation["prevalence[Woman]"].value,
        "Woman: PPV": evaluation["PPV[Woman]"].value,
        "Woman: NPV": evaluation["NPV[Woman]"].value,
        "Woman: TPR": evaluation["TPR[Woman]"].value,
        "Woman: TNR": evaluation["TNR[Woman]"].value,
        "Woman: ACC": evaluation["accuracy[Woman]"].value,
        "Child: TP, FP, FN, TN": [evaluation[f"{cell}[Child]"].value for cell in cells],
        "Child: prevalence": evaluation["prevalence[Child]"].value,
        "Child: PPV": evaluation["PPV[Child]"].value,
        "Child: NPV": evaluation["NPV[Child]"].value,
        "Child: TPR": evaluation["TPR[Child]"].value,
        "Child: TNR": evaluation["TNR[Child]"].value,
        "Child: ACC": evaluation["accuracy[Child]"].value,
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
    table = cal.threshold_table(
        truth, score, positive="P", thresholds="all", measures=["TPR", "FPR", "accuracy"]
    )
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
    "Methods A, B, C and D",
    "2.6 Optimizing Hyperparameters",
    {
        "TPR": "95% 40% 90% 60%",
        "FPR": "30% 80% 70% 5%",
        "PPV": "76% 33% 56% 92%",
        "NPV": "93% 25% 75% 70%",
        "ACC": "83% 30% 60% 78%",
        "B’: TPR": "60%",
        "B’: FPR": "20%",
    },
    note='`evaluation.chart("ROC")` draws the four points, each with its name and its distance to the '
    "diagonal, and B’, the opposite of B.",
)
def four_methods() -> Values:
    methods = {
        "A": [[95, 30], [5, 70]],
        "B": [[40, 80], [60, 20]],
        "C": [[90, 70], [10, 30]],
        "D": [[60, 5], [40, 95]],
    }
    names = ["TPR", "FPR", "PPV", "NPV", "accuracy"]
    evaluation = cal.classification(
        confusion=methods, rows="predicted", labels=["P", "N"], positive="P", measures=names
    )
    return {
        "TPR": [evaluation[method, "TPR"].value for method in methods],
        "FPR": [evaluation[method, "FPR"].value for method in methods],
        "PPV": [evaluation[method, "PPV"].value for method in methods],
        "NPV": [evaluation[method, "NPV"].value for method in methods],
        "ACC": [evaluation[method, "accuracy"].value for method in methods],
        "B’: TPR": 1 - evaluation["B", "TPR"].value,
        "B’: FPR": 1 - evaluation["B", "FPR"].value,
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
