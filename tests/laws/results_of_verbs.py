"""A result of every public verb, small, each made once."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.linear_model import Ridge

import calipers as cal

ROWS = 60
GENERATOR = np.random.default_rng(5)
TRUTH = np.arange(ROWS) % 5 < 2
SCORES = {
    name: np.round(1 / (1 + np.exp(-(2 * TRUTH - 1 + GENERATOR.normal(0, noise, ROWS)))), 2)
    for name, noise in (("rough", 2.0), ("fine", 1.0), ("other", 1.5))
}
CLASSES = np.arange(ROWS) % 3
NUMBERS = GENERATOR.normal(size=ROWS)
LABELS = GENERATOR.random((ROWS, 3)) < 0.4
SITE = {"site": np.where(np.arange(ROWS) % 2, "north", "south")}
QRELS = {
    f"t{t}": {f"d{d}": int(g) for d, g in enumerate(row)}
    for t, row in enumerate(GENERATOR.choice([0, 1, 2], (8, 12), p=[0.6, 0.3, 0.1]))
} | {"none": {"d0": 0}}
RUNS = {
    name: {
        topic: {doc: g + float(GENERATOR.normal(0, noise)) for doc, g in judged.items()}
        for topic, judged in QRELS.items()
    }
    for name, noise in (("rough", 3.0), ("fine", 1.0), ("other", 2.0))
}
FEW: dict[str, Any] = {"n_resamples": 100}


def _folds() -> Any:
    return {name: {f"fold{i}": v for i, v in enumerate(values)} for name, values in (
        ("rough", [0.5, 0.6, 0.55, 0.5, 0.52]), ("fine", [0.7, 0.72, 0.71, 0.75, 0.7]),
    )}  # fmt: skip


def _compared(evaluation: Any, **options: Any) -> Callable[[], Any]:
    return lambda: evaluation().compare(**options)


def _scored() -> Any:
    return cal.classification(TRUTH, probability=SCORES, slices=SITE, **FEW)


def _retrieved() -> Any:
    return cal.retrieval(QRELS, RUNS, measures=["AP", "nDCG@5", "P@5"], **FEW)


def _regression() -> Any:
    noisy = {name: NUMBERS + scores for name, scores in SCORES.items()}
    return cal.regression(NUMBERS, noisy, slices=SITE, **FEW)


def _outputs() -> Any:
    truth = {"one": NUMBERS, "two": NUMBERS**2}
    noisy = {n: {o: t + scores for o, t in truth.items()} for n, scores in SCORES.items()}
    return cal.regression(truth, noisy, slices=SITE, **FEW)


#: What makes a result, by name.
MADE: dict[str, Callable[[], Any]] = {
    "scores": _scored,
    "one system": lambda: cal.classification(TRUTH, SCORES["fine"] > 0.5, **FEW),
    "threshold of a rule": lambda: cal.classification(
        TRUTH, score=SCORES, threshold="max-F1", measures=["precision", "recall"], **FEW
    ),
    "classes": lambda: cal.classification(
        CLASSES, {"a": np.roll(CLASSES, 1), "b": np.minimum(CLASSES, 1)}, slices=SITE, **FEW
    ),
    "many classes": lambda: cal.classification(
        CLASSES, np.roll(CLASSES, 7), labels=range(101), measures=["accuracy"], **FEW
    ),
    "class scores": lambda: cal.classification(
        CLASSES, score=np.eye(3)[CLASSES] + GENERATOR.normal(size=(ROWS, 3)), **FEW
    ),
    "labels": lambda: cal.multilabel(
        LABELS, probability=np.clip(LABELS * 0.5 + GENERATOR.random((ROWS, 3)) / 2, 0, 1), **FEW
    ),
    "regression": _regression,
    "monitored": lambda: cal.monitor(
        {"old": TRUTH, "new": SCORES["fine"] > 0.5}, every=len(TRUTH) // 3, stop=False
    ),
    "outputs": _outputs,
    "predicted quantiles": lambda: cal.regression(
        NUMBERS,
        quantiles={
            name: {0.25: NUMBERS + scores - 1, 0.75: NUMBERS + scores}
            for name, scores in SCORES.items()
        },
        slices=SITE,
        **FEW,
    ),
    "uplift": lambda: cal.uplift(np.arange(ROWS) % 2, TRUTH, SCORES, slices=SITE, **FEW),
    "clusters": lambda: cal.clustering(None, {"a": CLASSES, "b": CLASSES // 2}, CLASSES, **FEW),
    "topics": _retrieved,
    "graded rows": lambda: cal.ranking(
        np.arange(ROWS) // 6, CLASSES, SCORES, slices={"half": np.arange(ROWS) // 30}, **FEW
    ),
    "costs": lambda: cal.from_values(
        {"slow": [0.8, 0.9, 0.7, 0.8], "fast": [0.5, 0.7, 0.6, 0.4], "old": [0.4, 0.7, 0.5, 0.4]},
        cost={
            "ms": {"slow": [9.0, 8.0, 9.5, 7.0], "fast": [1.0, 2.0, 1.0, 3.0], "old": [4, 4, 5, 6]},
            "price": {"slow": 5, "fast": 1, "old": 1},
        },
        **FEW,
    ),
    "unjudged": lambda: cal.retrieval(
        QRELS, RUNS, measures=["P@5", "RBP"], judgment_bounds=True, interval="none"
    ),
    "given values": lambda: cal.from_values(_folds(), unit="folds", **FEW),
    "splits": lambda: cal.compare_splits(_folds(), train=80, test=20, design="k-fold"),
    "overlap": lambda: cal.overlap(RUNS, cutoffs=[5], **FEW),
    "rbo": lambda: cal.rbo(["a", "b", "c"], ["b", "a", "d"]),
    "points of curves": lambda: cal.precision_recall(
        {"fine": [1.0, 0.8, 0.5], "rough": [0.7, 0.4]}, {"fine": [0.2, 0.6, 1.0], "rough": [0.5, 1]}
    ),
    "passages": lambda: cal.passages(
        ["1 Q0 a 5 9 0 0:5", "2 Q0 a 2 9 1 1:2"],
        {"r": ["1 Q0 a 1 1 r 0 3", "2 Q0 b 1 1 r 0 2"], "s": ["2 Q0 a 1 1 s 1 4"]},
        baseline="r",
        **FEW,
    ),
    "review": lambda: cal.review(
        [1, 0, 1, 0, 1], [1, 0, 1, 0, 1], [1, 2, 3, 4, None], collection_size=9, rules="all"
    ),
    "operating point": lambda: cal.operating_point(TRUTH, SCORES["fine"], rule="youden", **FEW),
    "nothing predicted": lambda: cal.operating_point(
        TRUTH, 1 - SCORES["fine"], rule="max-accuracy", **FEW
    ),
    "regions": lambda: cal.rule_in_rule_out(TRUTH, SCORES["fine"], ppv=0.8, npv=0.8, **FEW),
    "cut-offs": lambda: cal.threshold_table(TRUTH, SCORES["fine"], thresholds=[0.3, 0.6], **FEW),
    "compared": _compared(_scored, margin={"AUC": 0.1}),
    "compared topics": _compared(_retrieved, baseline="rough"),
    "curve": lambda: cal.curve(result("scores"), "ROC", "fine"),
    "curves of topics": lambda: cal.averaged_curves(result("topics"))[0],
    "curve of a topic": lambda: cal.topic_curves(result("topics"), "t1")[0],
    "plan": lambda: cal.plan("AP", sd=0.2, half_width=0.02),
    "plan of a pilot": lambda: cal.plan(
        "AP", result("topics"), difference=0.05, n_resamples=100, system="fine", baseline="rough"
    ),
    "validation curve": lambda: cal.validation_curve(
        Ridge(), SCORES["fine"][:, None], NUMBERS, param_name="alpha", param_range=[1.0, 0.1], cv=3
    ),
    "validation curve of one split": lambda: cal.validation_curve(
        Ridge(),
        SCORES["fine"][:, None],
        NUMBERS,
        param_name="alpha",
        param_range=[1.0, 0.1],
        split=PARTS,
    ),
    "tuned threshold": lambda: cal.cross_validate(
        truth=TRUTH,
        probability=SCORES["fine"],
        split=PARTS,
        threshold="F1",
        measures=["F1", "AUC"],
        curves=False,
        **FEW,
    ),
    "learning curve": lambda: cal.learning_curve(
        Ridge(),
        SCORES["fine"][:, None],
        NUMBERS,
        train_sizes=[10, 15, 20, 30, 40],
        cv=3,
        n_repeats=2,
    ),
    "bias and variance": lambda: cal.bias_variance(
        Ridge(), SCORES["fine"][:, None], NUMBERS, training_sets=4
    ),
    "fairness": lambda: cal.fairness(
        cal.classification(
            [0, 1] * 20, [0, 1, 1, 1] * 10, slices={"group": ["a"] * 20 + ["b"] * 20}, **FEW
        )
    ),
    "the best of several": lambda: cal.best_system(_scored(), measure="AUC", n_resamples=20),
    "judge": lambda: cal.judge(
        {"a": [0, 1, 1, 0, 1] * 8, "b": [1, 1, 0, 0, 1] * 8},
        human={"a": [0, 1, 0, 0] * 5 + [None] * 20, "b": [1, 1, 1, 0] * 5 + [None] * 20},
        first={"a": [0, 1] * 20, "b": [1, 0] * 20},
        length={"a": list(range(1, 41)), "b": [7, 5, 3, 9] * 10},
        own_systems="a",
        judged_at=list(range(40)),
        **FEW,
    ),
    "plan of labels": lambda: cal.plan_labels(
        "pass-rate",
        cal.scores(
            {"a": [0, 1, 1, 0, 1] * 8, "b": [1, 1, 0, 0, 1] * 8},
            human={"a": [0, 1, 0, 0] * 5 + [None] * 20, "b": [1, 1, 1, 0] * 5 + [None] * 20},
        ),
        n=30,
        min_labels=2,
    ),
    "leaderboard": lambda: cal.pairs(
        {
            "model_a": ["a", "b", "c", "a", "b", "c", "new"] * 6,
            "model_b": ["b", "c", "a", "c", "a", "b", "a"] * 6,
            "winner": [
                {"a": "model_a", "b": "model_b"}.get(x, "tie") for x in "aatbaaabtaabba" * 3
            ],
            "length_a": [3, 5, 2, 4, 0, 1, 6] * 6,
            "length_b": [4, 1, 2, 5, 0, 3, 2, 3, 2, 6, 1, 1, 0, 2] * 3,
            "user": list(range(21)) * 2,
        },
        style=["length"],
        cluster="user",
    ),
    "rank correlation": lambda: cal.rank_correlation([1, 2, 3, 4], [1, 3, 2, 4]),
    "raters": lambda: cal.agreement({"a": [0, 1, 1, 0], "b": [0, 1, 0, None]}, **FEW),
}


#: One division of the rows.
PARTS = np.array(["train", "validation", "test"])[np.arange(ROWS) % 3]


@functools.cache
def result(name: str) -> Any:
    return MADE[name]()
