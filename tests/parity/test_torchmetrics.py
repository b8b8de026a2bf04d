"""torchmetrics, as recorded: its functions on random data that are made here again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from certificate import Certificate, recorded

import calipers as cal

CASES = 12

#: Our measure of each of its functions, by what the function takes.
OF_TWO_CLASSES = {
    "binary_accuracy": "accuracy",
    "binary_precision": "precision",
    "binary_recall": "recall",
    "binary_specificity": "specificity",
    "binary_negative_predictive_value": "NPV",
    "binary_f1_score": "F1",
    "binary_fbeta_score(beta=2.0)": "F2",
    "binary_jaccard_index": "Jaccard",
    "binary_matthews_corrcoef": "MCC",
    "binary_cohen_kappa": "kappa",
    "binary_hamming_distance": "error-rate",
    "critical_success_index(threshold=0.5)": "critical_success_index",
}
OF_SCORES = {"binary_auroc": "AUC", "binary_average_precision": "AP"}
OF_CLASSES = {
    "multiclass_accuracy": "balanced-accuracy",
    "multiclass_precision": "macro-precision",
    "multiclass_recall": "macro-recall",
    "multiclass_specificity": "macro-specificity",
    "multiclass_negative_predictive_value": "macro-NPV",
    "multiclass_f1_score": "macro-F1",
    "multiclass_jaccard_index": "macro-Jaccard",
    "multiclass_matthews_corrcoef": "MCC",
    "multiclass_cohen_kappa": "kappa",
    "cramers_v(bias_correction=False)": "Cramer-V",
    "theils_u(target, preds)": "uncertainty-coefficient",
}
OF_CLASS_SCORES = {"multiclass_auroc": "macro-AUC", "multiclass_average_precision": "macro-AP"}
OF_LABELS = {
    "multilabel_exact_match": "subset-accuracy",
    "multilabel_hamming_distance": "Hamming-loss",
    "multilabel_f1_score": "macro-F1",
}
OF_LABEL_SCORES = {
    "multilabel_auroc": "macro-AUC",
    "multilabel_average_precision": "macro-AP",
    "multilabel_coverage_error": "coverage-error",
    "multilabel_ranking_average_precision": "LRAP",
    "multilabel_ranking_loss": "ranking-loss",
}
OF_NUMBERS = {
    "mean_absolute_error": "MAE",
    "mean_squared_error": "MSE",
    "mean_squared_log_error": "MSLE",
    "mean_absolute_percentage_error": "MAPE",
    "symmetric_mean_absolute_percentage_error": "sMAPE",
    "weighted_mean_absolute_percentage_error": "WAPE",
    "explained_variance": "explained-variance",
    "r2_score": "R2",
    "pearson_corrcoef": "Pearson",
    "spearman_corrcoef": "Spearman",
    "kendall_rank_corrcoef": "Kendall",
    "tweedie_deviance_score(power=1.5)": "Tweedie-deviance(power=1.5)",
    "normalized_root_mean_squared_error": "NRMSE(normalization='mean')",
    "normalized_root_mean_squared_error(normalization='std')": "NRMSE",
}
OF_CLUSTERS = {
    "adjusted_mutual_info_score": "AMI",
    "adjusted_rand_score": "ARI",
    "completeness_score": "completeness",
    "fowlkes_mallows_index": "Fowlkes-Mallows",
    "homogeneity_score": "homogeneity",
    "mutual_info_score": "MI",
    "normalized_mutual_info_score": "NMI",
    "rand_score": "Rand",
    "v_measure_score": "V-measure",
}
OF_POINTS = {
    "calinski_harabasz_score": "Calinski-Harabasz",
    "davies_bouldin_score": "Davies-Bouldin",
}
OF_RANKINGS = {
    "retrieval_average_precision": "AP",
    "retrieval_reciprocal_rank": "RR",
    "retrieval_r_precision": "Rprec",
    "retrieval_normalized_dcg": "nDCG",
    "retrieval_precision(top_k=10)": "P@10",
    "retrieval_recall(top_k=10)": "R@10",
    "retrieval_hit_rate(top_k=10)": "Success@10",
}


def data(case: int) -> dict[str, Any]:
    """Columns of all kinds: few rows in every third case, tied scores in every second, and a document
    whose score is 0 in the others."""
    generator = np.random.default_rng([71, case])
    n = 9 if case % 3 == 2 else 120
    truth, score = generator.integers(0, 2, n), generator.random(n)
    truth[:2] = 0, 1
    class_scores = generator.dirichlet(np.ones(4), n)
    labels, label_scores = generator.integers(0, 2, (n, 3)), generator.random((n, 3))
    labels[:3] = np.eye(3, dtype=int)
    labels[3:][labels[3:].all(axis=1) | ~labels[3:].any(axis=1)] = [0, 1, 0]
    if case % 2:
        score, label_scores = np.round(score, 1), np.round(label_scores, 1)
    classes = generator.integers(0, 4, n)
    classes[:4] = range(4)
    numbers = generator.gamma(2.0, size=n) + 0.1
    grades = generator.integers(0, 4, 40)
    grades[0] = 1
    return {
        "truth": truth,
        "score": score,
        "classes": classes,
        "class_scores": class_scores,
        "predicted_classes": np.where(
            generator.random(n) < 0.5, classes, class_scores.argmax(axis=1)
        ),
        "labels": labels,
        "label_scores": label_scores,
        "numbers": numbers,
        "predicted_numbers": numbers * generator.lognormal(0, 0.3, n),
        "points": generator.normal(size=(n, 2)) + classes[:, None],
        "clusters": generator.integers(0, 3, n),
        "grades": grades,
        "document_scores": generator.permutation(40) + float(case % 2),
        "ensemble": generator.normal(size=(n, 5)) + numbers[:, None],
        "distributions": generator.dirichlet(np.ones(4), n),
        "counts": generator.multinomial(6, [0.5, 0.3, 0.2], n),
    }


def value(measure: str, function: Any, *columns: Any, **options: Any) -> tuple[float, set[str]]:
    """The value of a measure, and why it is undefined."""
    [estimate] = function(*columns, measures=[measure], interval="none", **options).estimates
    return estimate.value, set(estimate.undefined)


def values(d: dict[str, Any]) -> dict[str, tuple[float, set[str]]]:
    """Our values, by the names of the functions."""
    out = {}
    classes = {"labels": [0, 1, 2, 3]}
    qrels = {"q": {f"d{j:02}": int(grade) for j, grade in enumerate(d["grades"])}}
    run = {"q": {f"d{j:02}": float(score) for j, score in enumerate(d["document_scores"])}}
    binary = {"q": {document: int(grade > 0) for document, grade in qrels["q"].items()}}
    for names, function, columns, options in (
        (OF_TWO_CLASSES, cal.classification, (d["truth"], d["score"] > 0.5), {"positive": 1}),
        (OF_SCORES, cal.classification, (d["truth"],), {"score": d["score"], "positive": 1}),
        (OF_CLASSES, cal.classification, (d["classes"], d["predicted_classes"]), classes),
        (OF_CLASS_SCORES, cal.classification, (d["classes"],), {"score": d["class_scores"], **classes}),
        (OF_LABELS, cal.multilabel, (d["labels"], (d["label_scores"] > 0.5).astype(int)), {}),
        (OF_LABEL_SCORES, cal.multilabel, (d["labels"],), {"score": d["label_scores"]}),
        (OF_NUMBERS, cal.regression, (d["numbers"], d["predicted_numbers"]), {}),
        (OF_CLUSTERS, cal.clustering, (None, d["clusters"], d["classes"]), {}),
        (OF_POINTS, cal.clustering, (d["points"], d["clusters"]), {}),
    ):  # fmt: skip
        for name, measure in names.items():
            out[name] = value(measure, function, *columns, **options)
    for name, measure in OF_RANKINGS.items():
        judged = qrels if measure == "nDCG" else binary
        out[name] = value(measure, cal.retrieval, judged, run)
    ratings = {
        f"rater {j}": np.repeat(np.tile([0, 1, 2], len(d["counts"])), d["counts"].ravel())[j::6]
        for j in range(6)
    }
    out["fleiss_kappa"] = value("fleiss_kappa", cal.agreement, ratings)
    out["perplexity"] = value(
        "perplexity", cal.classification, d["classes"], probability=d["class_scores"], **classes
    )
    soft = {"probability": d["class_scores"], **classes}
    out["kl_divergence(target, preds)"] = value(
        "kl_divergence", cal.classification, d["distributions"], **soft
    )
    out["continuous_ranked_probability_score"] = value(
        "CRPS", cal.regression, d["numbers"], ensemble=d["ensemble"]
    )
    return out


@pytest.mark.parametrize("case", range(CASES))
def test_functions_of_torchmetrics(case: int, certificate: Certificate) -> None:
    theirs = recorded("torchmetrics")["cases"][case]
    d = data(case)
    ours = values(d)
    assert ours.keys() == theirs.keys()
    documented = {
        "retrieval_average_precision": ("score of 0", (d["grades"][d["document_scores"] == 0] > 0)),
        "multilabel_ranking_loss": ("labels of equal score", [case % 2 == 1]),
    }
    for name, (own, reasons) in ours.items():
        because: dict[str, Any] = dict.fromkeys(reasons, True)
        if name in documented:
            reason, where = documented[name]
            because[reason] = bool(np.any(where))
        certificate.compare(
            "torchmetrics", name, own, theirs[name], rtol=2e-5, atol=2e-6, because=because
        )
