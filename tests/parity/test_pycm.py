"""pycm: measures of confusion matrices, of all classes and of each."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from certificate import Certificate

import calipers as cal
from calipers.measures.nearest_measures import NEAREST_MEASURES, OTHER_VALUES

pycm = pytest.importorskip("pycm", reason="pycm is not installed")

#: Our measures of its names with the same value that are no names here, or have another value.
HERE = {
    name: measure for name, (measure, differs) in NEAREST_MEASURES["pycm"].items() if not differs
}
HERE |= {
    "AUC": "balanced-accuracy",
    "IBA": "IBA(alpha=1)",
    "J": "Jaccard",
    "PR": "prevalence",
    "Q": "Yule-Q",
}

#: Measures of two raters, which are truth and prediction.
OF_RATERS = {
    "Gwet AC1": "Gwet-AC1",
    "Krippendorff Alpha": "Krippendorff-alpha",
    "Kappa Unbiased": "Scott-pi",
    "Scott PI": "Scott-pi",
}
OF_ALL = (
    "Overall ACC", "Overall MCC", "Kappa", "Bennett S", "Cramer V", "Hamming Loss",
    "NIR", "P-Value", "RCI", "Bangdiwala B",
    *(name for name in HERE if re.fullmatch(r"\w+ (Micro|Macro)", name)),
)  # fmt: skip
OF_CLASS = (
    "TPR", "TNR", "PPV", "NPV", "FNR", "FPR", "FDR", "FOR", "F1", "MCC", "BM", "MK", "PLR", "NLR",
    "DOR", "TP", "TN", "FP", "FN", "TOPR", "PRE", "PR", "F0.5", "F2", "J", "AUC", "dInd", "Y", "GI",
    "LS", "IBA", "GM", "Q",
)  # fmt: skip


def value(measure: str, *columns: Any, **options: Any) -> float:
    [estimate] = cal.classification(
        *columns, measures=[measure], interval="none", **options
    ).estimates
    return estimate.value


@pytest.mark.parametrize("case", range(8))
def test_measures_of_pycm(case: int, certificate: Certificate) -> None:
    """Of two to five classes."""
    generator = np.random.default_rng([79, case])
    classes = 2 + case % 4
    truth = np.r_[np.arange(classes), generator.integers(0, classes, 100)]
    wrong = generator.integers(0, classes, len(truth))
    predicted = np.where(generator.random(len(truth)) < 0.5, truth, wrong)
    matrix = pycm.ConfusionMatrix(truth.tolist(), predicted.tolist())
    options = {"labels": list(range(classes))}
    for name in OF_ALL:
        certificate.compare(
            "pycm", name, value(HERE.get(name, name), truth, predicted, **options),
            matrix.overall_stat[name], rtol=1e-9, atol=1e-10,
        )  # fmt: skip
    raters = {"truth": truth, "prediction": predicted}
    for name, measure in OF_RATERS.items():
        [ours] = cal.agreement(raters, measures=[measure], interval="none").estimates
        certificate.compare("pycm", name, ours.value, matrix.overall_stat[name], rtol=1e-9)
    [ours] = cal.clustering(None, predicted, truth, measures=["ARI"], interval="none").estimates
    certificate.compare("pycm", "ARI", ours.value, matrix.overall_stat["ARI"], rtol=1e-9)
    for name in OF_CLASS:
        for k in range(classes):
            own = value(HERE.get(name, name), truth == k, predicted == k, positive=True)
            certificate.compare("pycm", name, own, matrix.class_stat[name][k], rtol=1e-9)


def test_every_name_is_compared_or_answered() -> None:
    listed = json.loads((Path(__file__).parent / "names.json").read_text(encoding="utf-8"))
    matrix = pycm.ConfusionMatrix([0, 1, 1], [0, 1, 0])
    names = {re.sub(r"\(.*", "", name) for name in (*matrix.overall_stat, *matrix.class_stat)}
    assert names <= set(listed["pycm"]["names"])
    compared = {*OF_ALL, *OF_RATERS, *OF_CLASS, "ARI"}
    others = {"ACC", "ERR"}  # of a class against the rest; here of all classes
    answered = {*NEAREST_MEASURES["pycm"], *OTHER_VALUES["pycm"]}
    assert names - compared - answered == others
    assert HERE.keys() <= compared
