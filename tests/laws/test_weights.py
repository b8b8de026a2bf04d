"""Weights count relative to each other: equal ones are none, and multiplied by one number they say
the same, in every value, interval, test and finding."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from results_of_verbs import QRELS, RUNS
from test_counts import GIVEN, ROWS
from test_counts import VERBS as COUNTED

import calipers as cal
from calipers.data import streams
from calipers.measures import TASKS, definitions

WEIGHT = GIVEN["weight"]

#: The verb of a task, its columns there, and what its measures may read.
VERBS: dict[str, tuple[Any, dict[str, str], dict[str, Any], set[str]]] = {
    # All measures of labels and scores are among those of probabilities.
    "labels": (cal.classification, {"truth": "positive", "predicted": "called"}, {}, set()),
    "scores": (
        cal.classification,
        {"truth": "positive", "score": "score"},
        {"threshold": "youden"},
        set(),
    ),
    "probabilities": (
        cal.classification,
        {"truth": "positive", "probability": "probability"},
        {},
        {"labels", "scores", "probabilities"},
    ),
    "classes": (
        cal.classification,
        {"truth": "class", "predicted": "class_called"},
        {"measures": ["default", "macro-recall", "weighted-F1", "kappa(weights='linear')"]},
        set(),
    ),
    "class probabilities": (
        cal.classification,
        {"truth": "class", "probability": "class_probability"},
        {
            "labels": list("abcd"),
            "measures": [
                "accuracy",
                "macro-F1",
                "log-loss",
                "macro-AUC",
                "ovo-AUC",
                "top-2-accuracy",
                "ECE",
                "RMSCE",
                "MCE",
                "Brier",
                "Spiegelhalter-z",
                "Brier-skill",
                "reliability[a]",
                "Hosmer-Lemeshow-p[b]",
            ],
        },
        set(),
    ),
    "label sets": (
        cal.multilabel,
        {"truth": "labels", "probability": "label_probability"},
        {
            "measures": [
                "default",
                "macro-F1",
                "micro-AUC",
                "LRAP",
                "macro-Brier",
                "macro-AP",
                "micro-F1",
            ]
        },
        {"sets"},
    ),
    "numbers": (
        cal.regression,
        {"truth": "above", "predicted": "predicted_above"},
        {},
        {"numbers"},
    ),
    "outputs": (
        cal.regression,
        {"truth": "outputs", "predicted": "of_outputs"},
        {"measures": ["default", "macro-R2", "variance-weighted-R2", "macro-Spearman"]},
        set(),
    ),
    "quantiles": (
        cal.regression,
        {"truth": "number", "quantiles": "quantiles"},
        {"measures": ["default", "WIS", "WQL", "quantile-coverage@0.1", "interval-score@0.8"]},
        set(),
    ),
    "ensembles": (
        cal.regression,
        {"truth": "number", "ensemble": "ensemble"},
        {"measures": ["default", "CRPS(fair=True)", "MAE", "RMSE"]},
        set(),
    ),
    "operating point": (cal.operating_point, {"truth": "positive", "score": "score"}, {}, set()),
    "raters": (*COUNTED["raters"], set()),
    "topics": (cal.retrieval, {}, {}, set()),
    "groups": (cal.ranking, {}, {}, set()),
    "values": (cal.from_values, {}, {}, set()),
}

#: Those that have no slices.
GROUPED = ("operating point", "topics", "groups", "values")

COLUMNS = {
    **GIVEN,
    "above": np.exp(GIVEN["number"]).round(2),
    "predicted_above": {k: np.exp(v).round(2) for k, v in GIVEN["predicted"].items()},
}

#: What is the sum of weights by its meaning, and grows with them.
SUMS = ("/counts/", "/areas/", "/threshold/", "/truth/")
TOTALS = {"TP", "FP", "FN", "TN", "binary-cross-entropy", "total-cost"}


def _measures(task: str, reads: set[str]) -> list[str]:
    """Every measure of a task that reads what there is, but for sums of weights."""
    found = [d for f in TASKS[task] for d in definitions(f) if d.reads in reads]
    if task == "regression" and "quantiles" in reads:
        found = [d for d in found if d.reads == "quantiles"]
    return [str(d.example()) for d in found if d.name not in TOTALS]


def _task(verb: Any) -> str:
    return str(verb.__name__)


@cache
def _made(name: str, interval: str, part: str, scale: float | None, constant: bool) -> Any:
    """What a verb makes of weights times a number: the same for all rows, or not; None for none."""
    verb, columns, options, reads = VERBS[name]
    shared: dict[str, Any] = {"n_resamples": 100, **options}
    if interval:
        shared["interval"] = interval
    if name in ("topics", "groups", "values"):
        return _of_topics(name, shared, scale, constant)
    given = {what: COLUMNS[column] for what, column in columns.items()}
    if name == "operating point":
        given["score"] = given["score"]["fine"]
    elif reads and part == "alone":
        shared["measures"] = _measures(_task(verb), reads)
    if (part == "slices" or not constant) and name not in (*GROUPED, "raters"):
        # Which only the results of equal weights are compared with, and are the same with slices.
        given["curves"] = False
    if part == "slices":
        given["slices"] = {"old": COLUMNS["age"] > 50}
        shared["interval"] = "analytic"
    if part == "clusters":
        given["cluster"] = COLUMNS["cluster"]
    if scale is not None:
        given["weight"] = scale * (np.ones(ROWS) if constant else WEIGHT)
    return verb(**given, **shared)


def _of_topics(name: str, shared: dict[str, Any], scale: float | None, constant: bool) -> Any:
    """The same of topics, groups and given values."""
    topics = list(QRELS)
    each = np.ones(len(topics)) if constant else WEIGHT[: len(topics)]
    weight = {} if scale is None else dict(zip(topics, (scale * each).tolist(), strict=True))
    if name == "topics":
        asked = {"measures": ["AP", "nDCG@5", "P@5", "gm-AP", "micro-SetP"], **shared}
        return cal.retrieval(QRELS, RUNS, **asked, **({"weight": weight} if weight else {}))
    if name == "values":
        values = {run: {t: len(t) + 0.1 * k for k, t in enumerate(topics)} for run in ("a",)}
        values["b"] = {t: value + 0.3 * (k % 3) for k, (t, value) in enumerate(values["a"].items())}
        return cal.from_values(values, **shared, **({"weight": weight} if weight else {}))
    group = np.arange(ROWS) // 5
    of = np.ones(ROWS) if constant else WEIGHT[group]
    more = {} if scale is None else {"weight": scale * of}
    return cal.ranking(group, GIVEN["positive"], GIVEN["score"], **shared, **more)


def _flat(x: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(x, dict):
        for key, value in x.items():
            yield from _flat(value, f"{path}/{key}")
    elif isinstance(x, list):
        for place, value in enumerate(x):
            yield from _flat(value, f"{path}/{place}")
    else:
        yield path, x


def _compared(evaluation: Any) -> dict[str, Any]:
    """All that a result says, by where it stands, but for that there are weights, sums of them, and
    drawn bands."""
    said = _flat(json.loads(evaluation.to_json(details=True)))
    return {
        path: value
        for path, value in said
        if not any(of in path for of in SUMS)
        and path != "/provenance/conventions/weighted"
        and not path.startswith("/curves/")
    }


_TO_ZERO = re.compile(", to 0 by (the test|Holm)")


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)
    if isinstance(a, str) and isinstance(b, str):
        # Where a difference is rounding alone, so is whether its interval reaches 0 by itself.
        return _TO_ZERO.sub("", a) == _TO_ZERO.sub("", b)
    return bool(a == b)


CASES = [
    (name, interval, part)
    for name in VERBS
    for part in ("alone", "slices", "clusters")
    for interval in ("", "bootstrap")  # slices are asked for with analytic ones
    if part == "alone" or (name not in GROUPED and not interval)
    if not (name == "operating point" and interval)
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "part"), [(n, p) for n, interval, p in CASES if not interval])
def test_equal_weights_are_none(name: str, part: str) -> None:
    without = _made(name, "", part, None, True)
    weighted = _made(name, "", part, 0.3, True)
    assert weighted.to_json(details=True) == without.to_json(details=True)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "interval", "part"), CASES)
def test_scaled_weights_say_the_same(name: str, interval: str, part: str) -> None:
    before = _compared(_made(name, interval, part, 1e-3, False))
    after = _compared(_made(name, interval, part, 1000.0, False))
    assert after.keys() == before.keys()
    apart = {path: (a, after[path]) for path, a in before.items() if not _same(a, after[path])}
    assert not apart


STREAMED: dict[str, tuple[Any, dict[str, Any]]] = {
    "two classes": (
        cal.classification,
        {
            "truth": "positive",
            "probability": ["rough", "fine"],
            "measures": [
                *["accuracy", "F1", "AUC", "AP", "Brier", "log-loss"],
                *map(str, (d.example() for d in definitions("calibration"))),
            ],
        },
    ),
    "totals": (
        cal.classification,
        {
            "truth": "positive",
            "predicted": ["rough_called", "fine_called"],
            "measures": ["TP", "FP", "FN", "TN", "macro-TP", "F1"],
        },
    ),
    "classes": (
        cal.classification,
        {"truth": "class", "probability": "p_*", "measures": ["default", "macro-F1", "AUC[b]"]},
    ),
    "numbers": (
        cal.regression,
        {
            "truth": "above",
            "predicted": ["rough_above", "fine_above"],
            "measures": [
                "RMSE",
                "MSE",
                "MAE",
                "mean-error",
                "R2",
                "adjusted-R2(predictors=2)",
                "explained-variance",
                "Pearson",
                "CCC",
            ],
        },
    ),
    "scores of cases": (
        cal.scores,
        {
            "score": ["rough_called", "fine_called"],
            "reference_system": "rough_called",
            "measures": ["pass-rate", "mean-score", "win-rate"],
        },
    ),
    "raters": (
        cal.agreement,
        {
            **COUNTED["raters"][2],
            "measures": [str(d.example()) for d in definitions("agreement")],
        },
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("cluster", [False, True])
@pytest.mark.parametrize("name", STREAMED)
def test_weights_of_batches(name: str, cluster: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no batch knows the weights of the others."""
    monkeypatch.setattr(streams, "BATCH_ROWS", 13)
    verb, asked = STREAMED[name]
    columns: dict[str, Any] = {
        "positive": COLUMNS["positive"].astype(int),
        "class": COLUMNS["class"],
        "above": COLUMNS["above"],
        "site": COLUMNS["cluster"],
    }
    for system in ("rough", "fine"):
        columns[system] = COLUMNS["probability"][system]
        columns[f"{system}_called"] = (columns[system] >= 0.5).astype(int)
        columns[f"{system}_above"] = COLUMNS["predicted_above"][system]
    columns |= COLUMNS["ratings"]
    for k, letter in enumerate("abcd"):
        columns[f"p_{letter}"] = COLUMNS["class_probability"]["fine"][:, k]

    def made(weight: Any) -> dict[str, Any]:
        more: dict[str, Any] = {} if weight is None else {"weight": "w"}
        table = pa.table(columns if weight is None else {**columns, "w": weight})
        more |= {"cluster": "site"} if cluster else {}
        found = verb(data=table, engine="stream", **asked, **more, interval="analytic")
        return _compared(found)

    def equal(one: dict[str, Any], other: dict[str, Any]) -> None:
        assert not {
            path: (one.get(path), other.get(path))
            for path in one | other
            if not _same(one.get(path), other.get(path))
        }

    equal(made(3.0 * np.ones(ROWS)), made(None))
    if name != "totals":  # sums of unequal weights
        equal(made(WEIGHT), made(1000.0 * WEIGHT))
