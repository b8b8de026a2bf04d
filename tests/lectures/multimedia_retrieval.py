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
    "the chapter that are left out.",
)


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
            "Nothing is predicted positive: PPV is 0/0, which is no number.", "0%", "NA"
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
