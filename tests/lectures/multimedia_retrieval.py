"""A chapter on performance evaluation, and on what learning is evaluated for."""

from __future__ import annotations

import numpy as np
from examples import Document, Mistake, Values

import calipers as cal

DOCUMENT = Document(
    "Multimedia retrieval, chapter 1: performance evaluation",
    "How a benchmark is set up, Boolean and ranked retrieval, what machine learning is and how it "
    "learns, and its measures. [A test collection from topics to judgments](campaign.md) does what "
    "the chapter tells of INEX; [Capacity](capacity.md) and [Learning](learning.md) what it tells of "
    "training, validation and test; [What Calipers does not measure](outside.md) names the tasks of "
    "the chapter that are left out. Women, men and children, the methods A, B, C and D and the twenty "
    "scores are printed here as in the second edition: see [its matrix](#women-men-and-children), [its "
    "methods](#methods-a-b-c-and-d) and [its table](#twenty-scores-the-table-of-thresholds). The text "
    "says “yes” where the score exceeds the threshold; the table, and Calipers, where it is as large.",
)


@DOCUMENT.example(
    "Macro and micro evaluation",
    "1.3 Boolean Retrieval",
    {
        "macro: p": "0.60", "macro: r": "0.75", "micro: p": "0.33", "micro: r": "0.67",
    },
    note="Of ten documents retrieved for the first query two are among its four relevant ones; for the "
    "second both are, and there are no more. Means over queries are what Calipers gives unless asked; "
    "so `precision` of retrieved sets is the macro evaluation.",
    column="by the formula",
)  # fmt: skip
def macro_and_micro() -> Values:
    qrels = {"Q1": dict.fromkeys(["a", "b", "c", "d"], 1), "Q2": dict.fromkeys(["e", "f"], 1)}
    retrieved = {"Q1": ["a", "b", *"klmnopqr"], "Q2": ["e", "f"]}
    evaluation = cal.retrieval(
        qrels,
        retrieved,
        measures=["macro precision", "macro recall", "micro precision", "micro recall"],
    )
    return {
        "macro: p": evaluation["macro precision"].value,
        "macro: r": evaluation["macro recall"].value,
        "micro: p": evaluation["micro precision"].value,
        "micro: r": evaluation["micro recall"].value,
    }


@DOCUMENT.example(
    "Fourteen documents, five of them relevant",
    "1.4 Retrieval with Ordering",
    {
        "p": "1.00 1.00 0.67 0.75 0.60 0.67 0.57 0.50 0.44 0.40 0.36 0.33 0.38 0.36",
        "r": "0.20 0.40 0.40 0.60 0.60 0.80 0.80 0.80 0.80 0.80 0.80 0.80 1.00 1.00",
    },
)
def fourteen_documents() -> Values:
    ranking = [588, 589, 576, 590, 986, 592, 984, 988, 578, 985, 103, 591, 772, 990]
    qrels = {"Q": dict.fromkeys(["588", "589", "590", "592", "772"], 1)}
    run = {"Q": {str(document): -rank for rank, document in enumerate(ranking)}}
    evaluation = cal.retrieval(qrels, run, measures=["AP"])
    (curve,) = cal.topic_curves(evaluation, "Q", "PR")
    return {
        "p": curve.y.tolist(),
        "r": curve.x.tolist(),
    }


@DOCUMENT.example(
    "The fourteen documents in one number",
    "1.3 Boolean Retrieval, 1.4 Retrieval with Ordering",
    {
        "system efficiency": "0.73", "R-precision from a recall of 0.5 on": "0.75",
        "fallout": "0.095", "total recall g": "0.05",
        "f · p · (1 − g)": "0.032", "r · g · (1 − p)": "0.032",
    },
    note="The nearest point to (1, 1) is that of rank 6, where r = 0.8 and p = 0.67. Fallout and total "
    "recall take the size of the collection, here 100. The chapter's R-precision is the largest precision "
    "from a recall on, `IPrec@0.5`; by itself the word is the precision at rank R (`calipers measures "
    "R-precision`).",
    column="by the formula",
)  # fmt: skip
def summaries() -> Values:
    ranking = [588, 589, 576, 590, 986, 592, 984, 988, 578, 985, 103, 591, 772, 990]
    qrels = {"Q": dict.fromkeys(["588", "589", "590", "592", "772"], 1)}
    run = {"Q": {str(document): -rank for rank, document in enumerate(ranking)}}
    names = ["System Efficiency", "IPrec@0.5", "precision", "recall", "fallout", "Total Recall"]
    evaluation = cal.retrieval(qrels, run, measures=names, collection_size=100)
    efficiency, largest, p, r, f, g = (estimate.value for estimate in evaluation)
    return {
        "system efficiency": efficiency,
        "R-precision from a recall of 0.5 on": largest,
        "fallout": f,
        "total recall g": g,
        "f · p · (1 − g)": f * p * (1 - g),
        "r · g · (1 − p)": r * g * (1 - p),
    }


@DOCUMENT.example(
    "Averages of precision-recall curves",
    "1.4 Retrieval with Ordering",
    {
        "first 5, 10 results: r": "0.80 0.90",
        "first 5, 10 results: p": "0.80 0.45",
        "recall 0.2, 0.4, …, 1: p": "1.00 1.00 0.88 0.83 0.69",
    },
    note="Of the fourteen documents and a second query whose five relevant documents are all that is "
    "retrieved. A report draws both averages.",
    column="by the formula",
)
def averages_of_curves() -> Values:
    relevant = ["588", "589", "590", "592", "772"]
    ranking = [588, 589, 576, 590, 986, 592, 984, 988, 578, 985, 103, 591, 772, 990]
    run = {
        "Q1": {str(document): -rank for rank, document in enumerate(ranking)},
        "Q2": {document: -rank for rank, document in enumerate(relevant)},
    }
    qrels = {query: dict.fromkeys(relevant, 1) for query in run}
    evaluation = cal.retrieval(qrels, run, measures=["AP"])
    (ranks,) = cal.averaged_curves(evaluation, axis="ranks", points=[5, 10])
    (recalls,) = cal.averaged_curves(evaluation, axis="recalls", points=[0.2, 0.4, 0.6, 0.8, 1.0])
    return {
        "first 5, 10 results: r": ranks.x.tolist(),
        "first 5, 10 results: p": ranks.y.tolist(),
        "recall 0.2, 0.4, …, 1: p": recalls.y.tolist(),
    }


@DOCUMENT.example(
    "A cancer test",
    "1.7 Performance of Machine Learning",
    {
        "PPV": "10%", "NPV": "99.5%", "TPR": "67%", "TNR": "91%", "ACC": "90.6%",
        "false discovery rate": "90%", "false omission rate": "0.5%",
    },
)  # fmt: skip
def cancer_test() -> Values:
    evaluation = cal.classification(
        confusion=[[20, 180], [10, 1820]],
        rows="predicted",
        labels=["Yes", "No"],
        positive="Yes",
        measures=["PPV", "NPV", "TPR", "TNR", "accuracy", "false discovery rate", "FOR"],
    )
    return {
        "PPV": evaluation["PPV"].value,
        "NPV": evaluation["NPV"].value,
        "TPR": evaluation["TPR"].value,
        "TNR": evaluation["TNR"].value,
        "ACC": evaluation["accuracy"].value,
        "false discovery rate": evaluation["false discovery rate"].value,
        "false omission rate": evaluation["FOR"].value,
    }


@DOCUMENT.example(
    "An oracle that always predicts “No”",
    "1.7 Performance of Machine Learning",
    {
        "ACC": "98.5%",
        "PPV": Mistake(
            "Nothing is predicted positive: PPV is 0/0, which is undefined.", "0%", "NA"
        ),
        "NPV": "98.5%",
        "TPR": "0%",
        "TNR": "100%",
    },
)
def oracle() -> Values:
    truth = np.repeat([1, 0], [30, 2000])
    evaluation = cal.classification(
        truth, np.zeros(2030), measures=["accuracy", "PPV", "NPV", "TPR", "TNR"]
    )
    return {
        "ACC": evaluation["accuracy"].value,
        "PPV": evaluation["PPV"].value,
        "NPV": evaluation["NPV"].value,
        "TPR": evaluation["TPR"].value,
        "TNR": evaluation["TNR"].value,
    }


@DOCUMENT.example(
    "Log-loss, summed over instances and classes",
    "1.7 Performance of Machine Learning",
    {
        "P of the first three": "2.93",
        "P of all, Δ = 10⁻¹⁵": "72.01",
        "mean of −ln p of the true class, of the first three": "0.52",
    },
    note="The chapter's P is a sum over the classes, each against all other classes: "
    "`binary-cross-entropy`, with its Δ. `log-loss`, as in scikit-learn, is the mean of −ln p of the "
    "true class only; without a Δ it is undefined for the fourth instance, whose true class was given "
    "probability 0.",
    column="by the formula",
)
def summed_log_loss() -> Values:
    truth = ["a", "b", "c", "a"]
    probability = np.array([[0.7, 0.2, 0.1], [0.3, 0.6, 0.1], [0.2, 0.3, 0.5], [0.0, 1.0, 0.0]])
    three, all_four = (
        cal.classification(
            truth[:n], probability=probability[:n], measures=["binary-cross-entropy", "log-loss"]
        )
        for n in (3, 4)
    )
    return {
        "P of the first three": three["binary-cross-entropy"].value,
        "P of all, Δ = 10⁻¹⁵": all_four["binary-cross-entropy"].value,
        "mean of −ln p of the true class, of the first three": three["log-loss"].value,
    }
