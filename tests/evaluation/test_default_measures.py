"""``default+A,B``: the default measures and those added, in every task, in Python and on the command line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import calipers as cal
from calipers.measures.errors import UnknownMeasureError
from calipers.measures.name_parsing import split_measures

rng = np.random.default_rng(3)
N = 60
TRUTH = rng.integers(0, 2, N)
CLASSES = rng.choice(["a", "b", "c"], N)
NUMBERS = rng.normal(size=N) + 5
SCORES = np.clip(TRUTH * 0.3 + rng.random(N) * 0.6, 0.01, 0.99)
GROUPS = np.repeat(np.arange(6), 10)
POINTS = rng.normal(size=(N, 2)) + 4 * TRUTH[:, None]
QRELS = {f"q{t}": {f"d{i}": int(i % 3 == 0) for i in range(9)} for t in range(6)}
RUN = {f"q{t}": {f"d{i}": float((i * 7 + t) % 9) for i in range(9)} for t in range(6)}

TASKS: dict[str, tuple[Any, tuple[Any, ...], dict[str, Any], str]] = {
    "retrieval": (cal.retrieval, (QRELS, RUN), {}, "nDCG@5,P@3"),
    "ranking": (cal.ranking, (GROUPS, TRUTH), {"score": SCORES}, "nDCG@5,P@3"),
    "two classes": (
        cal.classification, (TRUTH,), {"probability": SCORES, "positive": 1},
        "informedness,cost(cost_fp=1,cost_fn=5)",
    ),
    "classes": (
        cal.classification, (CLASSES,), {"predicted": np.roll(CLASSES, 1)}, "recall[a],G-mean"
    ),
    "multilabel": (
        cal.multilabel, ([["a"] if t else ["a", "b"] for t in TRUTH],),
        {"predicted": [["a", "b"] if t else ["b"] for t in TRUTH]}, "recall[a],macro-precision",
    ),
    "regression": (
        cal.regression, (NUMBERS,), {"predicted": NUMBERS + rng.normal(size=N)}, "MedAE,max-error"
    ),
    "clustering": (cal.clustering, (POINTS, SCORES > 0.5), {"truth": TRUTH}, "purity,Fowlkes-Mallows"),
    "agreement": (
        cal.agreement, ({"x": list(CLASSES), "y": list(np.roll(CLASSES, 3))},), {},
        "Scott-pi,Bennett-S",
    ),
    "scores": (cal.scores, ({"x": SCORES},), {"score_range": (0, 1)}, "median-score,pass-rate"),
    "survival": (cal.survival, (NUMBERS, TRUTH, SCORES), {}, "Uno-C@5"),
    "uplift": (cal.uplift, (TRUTH, np.roll(TRUTH, 7), SCORES), {}, "uplift@0.2,Qini"),
}  # fmt: skip


@pytest.mark.parametrize("task", TASKS)
def test_measures_are_added_to_the_defaults(task: str) -> None:
    verb, data, options, added = TASKS[task]
    shared = {**options, "interval": "none"}
    expected = verb(*data, **shared, measures=["default", *split_measures(f"default+{added}")[1:]])
    assert len(expected.measures) > len(verb(*data, **shared).measures)
    for measures in (f"default+{added}", [f"default+{added}"]):
        found = verb(*data, **shared, measures=measures)
        assert found.measures == expected.measures
        np.testing.assert_array_equal(
            [e.value for e in found], [e.value for e in expected]
        )  # NaN equals NaN here
    assert verb(*data, **shared, measures="default+").measures == verb(*data, **shared).measures


def test_commas_of_parameters_and_classes_do_not_separate() -> None:
    assert split_measures(["AUC", "default+cost(cost_fp=1,cost_fn=5), recall[a,b],"]) == [
        "AUC", "default", "cost(cost_fp=1,cost_fn=5)", "recall[a,b]",
    ]  # fmt: skip
    with pytest.raises(UnknownMeasureError, match="no-such"):
        cal.regression(NUMBERS, NUMBERS, measures="default+no-such")


def test_conventions_of_a_tool_have_defaults_to_add_to() -> None:
    options: dict[str, Any] = {"conventions": "trec_eval", "interval": "none"}
    found = cal.retrieval(QRELS, RUN, measures="default+RBP(p=0.5)", **options)
    assert found.measures == (*cal.retrieval(QRELS, RUN, **options).measures, "RBP(p=0.5)")


@pytest.mark.slow
def test_the_command_takes_the_same_text(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    pd.DataFrame({"truth": TRUTH, "s": SCORES}).to_csv(table, index=False)
    command = ("classification", str(table), "--truth", "truth", "--probability", "s")
    command += ("--positive", "1", "--interval", "none", "--format", "json")
    for flag in ("-m", "--measures", "--measure"):
        line = [
            sys.executable,
            "-m",
            "calipers",
            *command,
            flag,
            "default+kappa,recall@precision=0.9",
        ]
        done = subprocess.run(line, capture_output=True, check=True)
        found = set(cal.from_json(done.stdout).measures)
        assert {"AUC", "MCC", "kappa", "recall@precision=0.9"} <= found
