"""Evaluations made by hand, with numbers such as the engines give."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

import calipers as cal
from calipers.results import (
    Comparison,
    Curve,
    Definition,
    Difference,
    Estimate,
    Evaluation,
    PerUnit,
)

NDCG = Definition(
    "nDCG@10",
    "Normalized discounted cumulative gain",
    "Gain of the first 10 documents, discounted by the logarithm of the rank, over the gain of the "
    "best possible order.",
    True,
    (0.0, 1.0),
    {"no_relevant": "no document is relevant"},
    "Järvelin and Kekäläinen 2002",
)
RR = Definition(
    "RR", "Reciprocal rank", "One over the rank of the first relevant document.", True, (0.0, 1.0),
    {"no_relevant": "no document is relevant"}, "Voorhees 1999",
)  # fmt: skip
AUC = Definition(
    "AUC", "Area under the ROC curve",
    "Chance that a positive row scores higher than a negative one; ties count half.",
    True, (0.0, 1.0), {"one_class": "all rows belong to one class"}, "Hanley and McNeil 1982",
)  # fmt: skip
LOG_LOSS = Definition(
    "LogLoss", "Logarithmic loss", "Mean of -log of the probability given to what happened.",
    False, (0.0, None), {}, "Good 1952",
)  # fmt: skip
RMSE = Definition(
    "RMSE", "Root mean squared error", "Root of the mean of the squared errors.",
    False, (0.0, None),
)  # fmt: skip
R2 = Definition(
    "R2", "Coefficient of determination", "Share of the variance explained.", True, (None, 1.0)
)

PROVENANCE = {
    "version": "0.1.0",
    "seed": 0,
    "n_resamples": 2000,
    "conventions": {"ties": "by document, as trec_eval", "undefined": "left out"},
    "inputs": {"qrels.txt": "sha256:9f2c1e7a", "bm25.run": "sha256:0d1b4a55"},
}


def retrieval(systems: tuple[str, str] = ("bm25", "dense"), topics: int = 50) -> Evaluation:
    """Two systems, per topic, compared; one topic is undefined."""
    rng = np.random.default_rng(1)
    base = np.clip(rng.beta(2, 3, topics), 0, 1)
    better = np.clip(base + rng.normal(0.06, 0.1, topics), 0, 1)
    better[3] = base[3]
    first, second = systems
    values = {
        first: {"nDCG@10": base, "RR": base**0.5},
        second: {"nDCG@10": better, "RR": np.clip(base**0.5 + rng.normal(0, 0.1, topics), 0, 1)},
    }
    estimates = tuple(
        _mean(name, system, values[system][name], topics)
        for name in ("nDCG@10", "RR")
        for system in systems
    )
    diffs = tuple(
        _paired(m, second, first, values, p) for m, p in (("nDCG@10", 3e-4), ("RR", 0.41))
    )
    return Evaluation(
        task="retrieval",
        estimates=estimates,
        comparison=Comparison(diffs, adjustment="max-t", baseline=first, primary="nDCG@10"),
        definitions=(NDCG, RR),
        per_unit=PerUnit("topics", tuple(f"q{i + 1}" for i in range(topics)), values),
        notes=("dense.run: 14 documents share a score with another; ties are broken by document.",),
        provenance=PROVENANCE,
    )


def _mean(measure: str, system: str, x: np.ndarray, topics: int) -> Estimate:
    half = 1.96 * x.std() / np.sqrt(len(x))
    return Estimate(
        measure, x.mean(), x.mean() - half, x.mean() + half, method="bootstrap-t", n=topics,
        n_total=topics + 1, unit="topics", undefined={"no_relevant": 1}, system=system,
    )  # fmt: skip


def _paired(
    measure: str, system: str, baseline: str, values: dict[str, dict[str, np.ndarray]], p: float
) -> Difference:
    d = values[system][measure] - values[baseline][measure]
    half = 1.96 * d.std() / np.sqrt(len(d))
    return Difference(
        measure, system, baseline, d.mean(), d.mean() - half, d.mean() + half, method="bootstrap-t",
        p=p / 2, p_adjusted=p, test="paired randomization", effect_size=d.mean() / d.std(),
        wins=int((d > 0).sum()), ties=int((d == 0).sum()), losses=int((d < 0).sum()),
        n=len(d), unit="topics", higher_is_better=True,
    )  # fmt: skip


def difference(**changes: object) -> Difference:
    """A clear difference, but for ``changes``."""
    fields: dict[str, Any] = {
        "measure": "nDCG@10", "system": "dense", "baseline": "bm25", "value": 0.021, "low": 0.011,
        "high": 0.032, "p": 0.0001, "p_adjusted": 0.0003, "test": "paired randomization", "n": 50,
        "unit": "topics", "higher_is_better": True,
    }  # fmt: skip
    return Difference(**(fields | changes))


def _roc(system: str, power: float, points: int = 200) -> Curve:
    x = np.linspace(0, 1, points)
    y = x**power
    grid = np.linspace(0, 1, 101)
    middle = grid**power
    band = 0.06 * np.sqrt(middle * (1 - middle)) * 2
    threshold = np.concatenate([[np.inf], np.linspace(0.99, 0.01, points - 1)])
    return Curve(
        system, "roc", "false positive rate", "true positive rate", x, y, threshold, grid,
        np.clip(middle - band, 0, 1), np.clip(middle + band, 0, 1), 0.95, "bootstrap", 0.001,
        ((0.0, 0.0), (1.0, 1.0)),
    )  # fmt: skip


def _pr(system: str, power: float, points: int = 200) -> Curve:
    x = np.linspace(0, 1, points)
    y = 1 - 0.373 * x**power
    grid = np.linspace(0, 1, 101)
    middle = 1 - 0.373 * grid**power
    return Curve(
        system, "pr", "recall", "precision", x, y, np.linspace(0.99, 0.01, points), grid,
        np.clip(middle - 0.04, 0, 1), np.clip(middle + 0.04, 0, 1), 0.95, "bootstrap", 0.0,
        ((0.0, 0.627), (1.0, 0.627)),
    )  # fmt: skip


def binary(systems: tuple[str, str] = ("forest", "logistic")) -> Evaluation:
    """Two classifiers with curves; one measure is better when lower."""
    a, b = systems
    how: dict[str, Any] = {"n": 569, "n_total": 569}
    return Evaluation(
        task="classification",
        estimates=(
            Estimate("AUC", 0.912, 0.880, 0.936, method="DeLong, logit scale", system=a,
                     no_skill=0.5, **how),
            Estimate("AUC", 0.944, 0.920, 0.962, method="DeLong, logit scale", system=b,
                     no_skill=0.5, **how),
            Estimate("Accuracy", 0.885, 0.856, 0.909, method="Wilson", system=a, no_skill=0.627,
                     **how),
            Estimate("Accuracy", 0.910, 0.884, 0.931, method="Wilson", system=b, no_skill=0.627,
                     **how),
            Estimate("LogLoss", 0.341, 0.300, 0.387, method="BCa", system=a, no_skill=0.66, **how),
            Estimate("LogLoss", 0.262, 0.221, 0.309, method="BCa", system=b, no_skill=0.66, **how),
        ),
        comparison=Comparison((
            difference(measure="AUC", system=b, baseline=a, value=0.032, low=0.010, high=0.054,
                       p=0.004, p_adjusted=0.012, test="DeLong", n=569, unit="rows"),
            difference(measure="Accuracy", system=b, baseline=a, value=0.025, low=0.001, high=0.049,
                       p=0.04, p_adjusted=0.08, test="McNemar", wins=31, ties=521, losses=17,
                       n=569, unit="rows"),
            difference(measure="LogLoss", system=b, baseline=a, value=-0.079, low=-0.12,
                       high=-0.039, p=0.0002, p_adjusted=0.0004, test="paired t", n=569,
                       unit="rows", higher_is_better=False),
        ), adjustment="max-t", baseline=a, primary="AUC"),
        definitions=(AUC, LOG_LOSS),
        curves=(_roc(a, 0.25), _roc(b, 0.16), _pr(a, 3), _pr(b, 5)),
        provenance=PROVENANCE,
    )  # fmt: skip


def regression() -> Evaluation:
    """One system, no curves."""
    how: dict[str, Any] = {"n": 442, "n_total": 442, "method": "BCa", "system": "forest"}
    return Evaluation(
        task="regression",
        estimates=(
            Estimate("RMSE", 56.32, 53.01, 59.87, no_skill=77.0, **how),
            Estimate("R2", 0.4632, 0.3901, 0.5258, no_skill=0.0, **how),
            Estimate("MAE", 45.1, interval_reason="fewer than 2 replicates", **how),
        ),
        definitions=(RMSE, R2),
        provenance=PROVENANCE,
    )


def undefined() -> Evaluation:
    """Nothing is as it should be."""
    return Evaluation(
        task="classification",
        estimates=(
            Estimate("AUC", float("nan"), n=0, n_total=12, undefined={"one_class": 1}),
            Estimate("Accuracy", 1.0, n=12, n_total=12, interval_reason="only 12 rows"),
        ),
        notes=("All rows belong to one class.",),
    )


HOSTILE = (
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "<!--<script>",
    "a\u2028b\u2029c\x00\x1b[31mred\x07\ufffe\ud800",
    "x" * 5000,
    "\u202eevil\u202c שלום عربى",
    "[bold red]markup[/] | pipe ` tick\nline {{ 7 * 7 }} {% raw %} '=1+1",
    '=HYPERLINK("http://x")',
)


def hostile(first: str = HOSTILE[0], second: str = HOSTILE[1]) -> Evaluation:
    """Names, notes and provenance that try to get out of their place."""
    clean = retrieval((first, second), topics=12)
    assert clean.per_unit is not None
    ids = tuple(HOSTILE[i % len(HOSTILE)] + str(i) for i in range(12))
    curves = binary((first, second)).curves
    return Evaluation(
        task="retrieval",
        estimates=(*clean.estimates, Estimate(first, 0.5, system=second, method=second)),
        comparison=clean.comparison,
        definitions=(Definition(first, second, first, True, (0, 1), {first: second}, second), NDCG),
        curves=curves,
        per_unit=PerUnit("topics", ids, clean.per_unit.values),
        notes=(first, second),
        provenance={first: second, "nested": {second: [first, 1, None]}},
    )


def values(systems: int = 4, measures: int = 2, units: int = 30, seed: int = 0) -> dict[str, Any]:
    """A tidy table of values, each system a little better than the one before."""
    rng = np.random.default_rng(seed)
    base = rng.beta(2, 3, units)
    shape = (systems, measures, units)
    apart = 0.04 * np.arange(systems)[:, None, None] + rng.normal(0, 0.1, shape)
    s, m, u = (axis.ravel() for axis in np.indices(shape))
    return {
        "system": [f"run{i + 1}" for i in s],
        "measure": [f"m{i + 1}" for i in m],
        "unit": [f"u{i + 1}" for i in u],
        "value": np.clip(base + apart, 0, 1).ravel(),
    }


#: Names that a script finds in every object, or that would end it.
IN_EVERY_OBJECT = ("constructor", "__proto__", "toString", "</script>", "hasOwnProperty")


def _cycled(start: int, rows: int = 45) -> np.ndarray:
    return np.array(IN_EVERY_OBJECT)[(np.arange(start, start + rows) * 7 // 3) % 5]


def _of_javascript(task: str) -> Evaluation:
    """An evaluation whose systems, classes, slices, measures' parts and topics have those names."""
    random, names = np.random.default_rng(0), IN_EVERY_OBJECT
    true, noise = _cycled(0), random.normal(size=45)
    said = {name: _cycled(i * i) for i, name in enumerate(names[:2])}
    scores = {name: noise * (1 + i) + (true == names[0]) for i, name in enumerate(names[:2])}
    cut: dict[str, Any] = {"slices": {names[1]: _cycled(30)}, "n_resamples": 100}
    graded = {q: {d: (i + j) % 2 for j, d in enumerate(names)} for i, q in enumerate(names)}
    runs = {
        name: {
            q: {d: float((i * j + k) % 4) for j, d in enumerate(names)} for k, q in enumerate(names)
        }
        for i, name in enumerate(names[:4])
    }
    if task == "clustering":
        return cal.clustering(np.c_[noise, random.normal(size=45)], said, true, n_resamples=100)
    if task == "classes":
        return cal.classification(true, said, **cut)
    if task == "two classes":
        of_two = np.where(true == names[0], names[0], names[1])
        return cal.classification(of_two, score=scores, positive=names[0], **cut)
    if task == "regression":
        return cal.regression(noise, {n: noise + x for n, x in scores.items()}, **cut)
    if task == "labels":
        sets = {name: [{x, y} for x, y in zip(of, true, strict=True)] for name, of in said.items()}
        return cal.multilabel([{x} for x in true], sets, **cut)
    if task == "topics":
        return cal.retrieval(graded, runs, n_resamples=100)
    made = {f"{name}{i or ''}": noise + i for name in names for i in range(3)}
    return cal.from_values(made, n_resamples=100)


#: What makes an evaluation of each kind with such names.
OF_JAVASCRIPT = {
    task: functools.partial(_of_javascript, task)
    for task in ("clustering", "classes", "two classes", "regression", "labels", "topics", "many")
}
