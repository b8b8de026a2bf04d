"""Whatever is given to a public verb, what comes out is a result, or an error in words of ours."""

from __future__ import annotations

import collections
import datetime as dt
import decimal
import fractions
import functools
import inspect
import linecache
import re
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.tree import DecisionTreeClassifier

import calipers as cal
from calipers.evaluation.arguments import FOREIGN_NAMES
from calipers.evaluation.availability import unavailable_reason
from calipers.measures import UnknownMeasureError

QUICK = {"n_resamples": 100, "interval": "analytic"}
TRUTH = [0, 1, 1, 0, 1, 0, 1, 0, 1, 1, 0, 0]
SCORE = [0.1, 0.9, 0.4, 0.3, 0.8, 0.6, 0.7, 0.2, 0.35, 0.55, 0.45, 0.15]
OTHER = [0.3, 0.2, 0.6, 0.1, 0.7, 0.5, 0.9, 0.4, 0.8, 0.65, 0.25, 0.75]
CLASSES = ["a", "b", "c"] * 4
SETS = [{"x"}, {"y"}, {"x", "y"}, set()] * 3
QRELS = {str(t): {"a": 1, "b": 0, "c": 2} for t in range(4)}
RUN = {str(t): {"a": 1.0 + t, "b": 2.0, "c": 3.0} for t in range(4)}


@functools.cache
def two_groups() -> cal.Evaluation:
    return cal.classification(
        TRUTH,
        [int(s > 0.5) for s in SCORE],
        slices={"group": ["a", "b"] * 6},
        curves=False,
        **QUICK,
    )


@functools.cache
def two_classes() -> cal.Evaluation:
    return cal.classification(TRUTH, probability={"p": SCORE, "q": OTHER}, **QUICK)


@functools.cache
def one_number() -> cal.Evaluation:
    """An error shows the beginning of its text, all of which is made for that: the shortest."""
    return cal.classification(TRUTH, TRUTH[::-1], measures=["accuracy"], **QUICK)


@functools.cache
def one_mean() -> cal.Evaluation:
    return cal.retrieval(QRELS, RUN, measures=["AP"], **QUICK)


@functools.cache
def ranked() -> cal.Evaluation:
    runs = {"r": RUN, "s": {t: {d: -s for d, s in of.items()} for t, of in RUN.items()}}
    return cal.retrieval(QRELS, runs, measures=["AP", "nDCG@2"], **QUICK)


@functools.cache
def streamed() -> cal.Evaluation:
    rows = pa.table({"y": TRUTH, "p": SCORE})
    return cal.classification("y", probability="p", data=rows, engine="stream")


def states() -> list[cal.Evaluation]:
    return [streamed()]


#: A call that works, for every public verb; the first arguments by name as well.
CALLS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "classification of labels": (
        cal.classification,
        {"truth": TRUTH, "predicted": TRUTH[::-1], "cluster": [1, 2] * 6, **QUICK},
    ),
    "classification of probabilities": (
        cal.classification,
        {
            "truth": TRUTH,
            "probability": {"p": SCORE, "q": OTHER},
            "weight": SCORE,
            "measures": ["AUC", "F1", "Brier", "ECE"],
            **QUICK,
        },
    ),
    "classification of classes": (
        cal.classification,
        {
            "truth": CLASSES,
            "predicted": {"a": CLASSES[::-1], "b": CLASSES},
            "measures": ["accuracy", "macro-F1", "MCC"],
            **QUICK,
        },
    ),
    "classification in slices": (
        cal.classification,
        {
            "truth": TRUTH,
            "score": SCORE,
            "threshold": 0.5,
            "slices": {"s": ["u", "v"] * 6},
            "measures": ["AUC", "F1"],
            **QUICK,
        },
    ),
    "classification by name": (
        cal.classification,
        {
            "truth": "y",
            "score": "s",
            "data": {"y": TRUTH, "s": SCORE, "k": list(range(12))},
            **QUICK,
        },
    ),
    "multilabel": (cal.multilabel, {"truth": SETS, "predicted": SETS[::-1], **QUICK}),
    "multilabel of scores": (
        cal.multilabel,
        {
            "truth": SETS,
            "score": {"x": SCORE, "y": OTHER},
            "threshold": 0.5,
            "measures": ["subset-accuracy", "macro-AUC", "micro-F1"],
            **QUICK,
        },
    ),
    "regression": (cal.regression, {"truth": SCORE, "predicted": OTHER, **QUICK}),
    "regression of outputs": (
        cal.regression,
        {
            "truth": np.column_stack([SCORE, OTHER]),
            "predicted": np.column_stack([OTHER, OTHER]),
            "outputs": ["a", "b"],
            **QUICK,
        },
    ),
    "survival": (
        cal.survival,
        {
            "time": np.exp(SCORE),
            "event": TRUTH,
            "risk": OTHER,
            "survival": {1.0: np.exp(-np.exp(OTHER)), 2.0: np.exp(-2 * np.exp(OTHER))},
            "times": [1.0, 2.0],
            **{name: value for name, value in QUICK.items() if name != "curves"},
        },
    ),
    "predicted quantiles": (
        cal.regression,
        {"truth": SCORE, "quantiles": {0.1: OTHER, 0.9: SCORE}, **QUICK},
    ),
    "forecasts of series": (
        cal.regression,
        {
            "truth": SCORE,
            "ensemble": np.column_stack([OTHER, SCORE, OTHER]),
            "series": ["a" if k % 2 else "b" for k in range(len(SCORE))],
            "training": {"a": [1.0, 2.0, 4.0], "b": [2.0, 1.0, 0.0]},
            "season": 2,
            "measures": ["CRPS", "MASE"],
            **QUICK,
        },
    ),
    "retrieval": (cal.retrieval, {"qrels": QRELS, "runs": {"r": RUN, "s": RUN}, **QUICK}),
    "retrieval of what is incomplete": (
        cal.retrieval,
        {"qrels": QRELS, "runs": RUN, "judgment_bounds": True, "measures": ["P@2", "AP"], **QUICK},
    ),
    "retrieval of weighted topics": (
        cal.retrieval,
        {
            "qrels": QRELS,
            "runs": {"r": RUN, "s": RUN},
            "topic_table": {"topic": list("0123"), "w": [1, 2, 0.5, 0]},
            "weight": "w",
            "measures": ["AP"],
            **QUICK,
        },
    ),
    "uplift": (
        cal.uplift,
        {
            "treatment": [0, 1] * (len(TRUTH) // 2),
            "outcome": SCORE,
            "score": {"x": OTHER, "y": SCORE},
            "propensity": [0.4, 0.6] * (len(TRUTH) // 2),
            **QUICK,
        },
    ),
    "clustering": (
        cal.clustering,
        {
            "features": {"x": SCORE, "y": OTHER},
            "labels": TRUTH,
            "truth": TRUTH[::-1],
            "measures": ["ARI", "silhouette"],
            **QUICK,
        },
    ),
    "ranking": (
        cal.ranking,
        {
            "group": [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3],
            "truth": TRUTH,
            "score": {"x": SCORE, "y": OTHER},
            "measures": ["NDCG@2"],
            **QUICK,
        },
    ),
    "judge": (
        cal.judge,
        {
            "score": {"a": [0, 1, 1, 0, 1, 1] * 2, "b": [1, 1, 0, 0, 1, 1] * 2},
            "human": {"a": [0, 1, 0, 0, 1, 1] * 2, "b": [1, 1, 1, 0, 0, 1] * 2},
            "first": {"a": [0, 1] * 6, "b": [1, 0] * 6},
            "length": {"a": [1, 2, 3] * 4, "b": [2, 5, 4, 3] * 3},
            "own_systems": "a",
            "cluster": [1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6],
            "human_weight": [1, 2] * 6,
            **QUICK,
        },
    ),
    "plan of labels": (
        cal.plan_labels,
        {
            "measure": "pass-rate",
            "pilot": cal.scores(
                {"a": [0, 1, 1, 0, 1] * 8, "b": [1, 1, 0, 0, 1] * 8},
                human={"a": [0, 1, 0, 0] * 5 + [None] * 20, "b": [1, 1, 1, 0] * 5 + [None] * 20},
            ),
            "difference": 0.3,
            "system": "b",
            "baseline": "a",
        },
    ),
    "pairs": (
        cal.pairs,
        {
            "battles": {
                "model_a": ["a", "b", "c", "a", "b", "c"] * 2,
                "model_b": ["b", "c", "a", "c", "a", "b"] * 2,
                "winner": ["model_a", "tie", "model_b", "model_b", "model_a", "model_a"] * 2,
                "length_a": [1, 3, 2, 2, 4, 1, 3, 2, 1, 2, 5, 2],
                "length_b": [2, 1, 2, 3, 1, 1, 2, 4, 3, 1, 2, 6],
                "user": [1, 2, 3, 4] * 3,
            },
            "cluster": "user",
            "style": ["length"],
            "reference": "a",
        },
    ),
    "overlap": (cal.overlap, {"runs": {"r": RUN, "s": RUN}, **QUICK}),
    "rbo": (cal.rbo, {"first": ["a", "b"], "second": ["b", "c"], **QUICK}),
    "from_values": (
        cal.from_values,
        {"values": {"old": SCORE, "new": OTHER}, "measure": "AP", "weight": SCORE, **QUICK},
    ),
    "precision_recall": (
        cal.precision_recall,
        {"precision": {"x": [1.0, 0.5]}, "recall": {"x": [0.5, 1.0]}, "measures": ["PR-AUC"]},
    ),
    "passages": (
        cal.passages,
        {
            "judgments": ["1 Q0 a 5 9 0 0:5", "2 Q0 a 2 9 1 1:2"],
            "runs": {"r": ["1 Q0 a 1 1 r 0 3"], "s": ["2 Q0 a 1 1 s 1 4"]},
            "baseline": "r",
            "cutoffs": [2],
            **QUICK,
        },
    ),
    "review": (
        cal.review,
        {
            "relevant": [1, 0, 1, 0],
            "sampled": [1, 0, 0, 1],
            "rank": [1, 2, 3, None],
            "count": [2, 1, 1, 3],
            "collection_size": 20,
            "rules": ["knee"],
        },
    ),
    "compare": (cal.compare, {"evaluation": two_classes}),
    "keep": (cal.keep_predictions, {"evaluation": two_classes}),
    "save_state": (cal.save_state, {"evaluation": streamed, "path": "a.state"}),
    "merge_states": (cal.merge_states, {"states": states}),
    "require": (cal.check_requirements, {"evaluation": two_classes, "rules": "AUC >= 0.5"}),
    "compare topics": (cal.compare, {"evaluation": ranked}),
    "compare_splits": (
        cal.compare_splits,
        {"values": {"old": SCORE[:5], "new": OTHER[:5]}, "design": "k-fold"},
    ),
    "compare_splits of rows": (
        cal.compare_splits,
        {"values": two_classes, "design": "k-fold", "split": [1, 1, 1, 2, 2, 2, 3, 3, 3, 3, 1, 2]},
    ),
    "split": (cal.split, {"rows": 12, "test": 0.5, "stratify": TRUTH}),
    "split of groups": (cal.split, {"rows": 12, "test": 0.5, "group": [1, 2, 3, 4] * 3}),
    "select": (
        cal.select_model,
        {
            "candidates": {"a": DummyClassifier(), "b": DummyClassifier(strategy="uniform")},
            "X": [[s] for s in SCORE],
            "y": TRUTH,
            "cv": 2,
            "inner_cv": 2,
        },
    ),
    "fairness": (
        cal.fairness,
        {"evaluation": two_groups, "measures": ["accuracy-difference"], "level": 0.9},
    ),
    "best_system": (
        cal.best_system,
        {"evaluation": two_classes, "measure": "AUC", "n_resamples": 20},
    ),
    "check_split": (
        cal.check_split,
        {
            "split": ["train", "train", "test"] * 4,
            "X": [[s, o] for s, o in zip(SCORE, OTHER, strict=True)],
            "y": TRUTH,
            "estimator": DecisionTreeClassifier(max_depth=2),
        },
    ),
    "cross_validate": (
        cal.cross_validate,
        {
            "estimator": DecisionTreeClassifier(max_depth=2),
            "X": [[s] for s in SCORE],
            "y": TRUTH,
            "cv": 3,
            "measures": ["AUC", "accuracy"],
            "curves": False,
            "n_resamples": 100,
        },
    ),
    "cross_validate predictions": (
        cal.cross_validate,
        {
            "truth": TRUTH,
            "score": SCORE,
            "fold": [1, 2, 3] * 4,
            "measures": ["AUC"],
            "curves": False,
            "n_resamples": 100,
        },
    ),
    "cross_validate one split": (
        cal.cross_validate,
        {
            "truth": TRUTH,
            "score": SCORE,
            "split": ["train", "validation", "test"] * 4,
            "threshold": "F1",
            "measures": ["F1"],
            "curves": False,
            "n_resamples": 100,
        },
    ),
    "validation_curve": (
        cal.validation_curve,
        {
            "estimator": DummyClassifier(),
            "X": [[s] for s in SCORE],
            "y": TRUTH,
            "param_name": "strategy",
            "param_range": ["prior", "uniform"],
            "cv": 2,
        },
    ),
    "learning_curve": (
        cal.learning_curve,
        {
            "estimator": DummyClassifier(),
            "X": [[s] for s in SCORE],
            "y": TRUTH,
            "train_sizes": [3, 6],
            "cv": 2,
            "n_repeats": 1,
        },
    ),
    "bias_variance": (
        cal.bias_variance,
        {
            "estimator": DummyClassifier(),
            "X": [[s] for s in SCORE],
            "y": TRUTH,
            "training_sets": 3,
            "n_resamples": 100,
        },
    ),
    "curve": (cal.curve, {"evaluation": two_classes, "kind": "ROC", "system": "p"}),
    "curve of density": (
        cal.curve,
        {"evaluation": two_classes, "kind": "density", "system": "p", "series": "1"},
    ),
    "averaged_curves": (cal.averaged_curves, {"evaluation": ranked}),
    "topic_curves": (cal.topic_curves, {"evaluation": ranked, "topic": "1"}),
    "operating_point": (cal.operating_point, {"truth": TRUTH, "score": SCORE, **QUICK}),
    "operating_point of an evaluation": (
        cal.operating_point,
        {"truth": two_classes, "system": "p", **QUICK},
    ),
    "cutoffs": (
        cal.threshold_table,
        {"truth": TRUTH, "score": SCORE, "thresholds": [0.5], **QUICK},
    ),
    "rule_in_rule_out": (
        cal.rule_in_rule_out,
        {"truth": TRUTH, "score": SCORE, "ppv": 0.6, "npv": 0.6, **QUICK},
    ),
    "order_agreement": (
        cal.system_rank_correlation,
        {"evaluation": ranked, "reference": "AP", "measure": "nDCG@2", "n_resamples": 100},
    ),
    "abstention": (
        cal.abstention,
        {"evaluation": one_mean, "confidence": RUN, "measure": "AP", "n_resamples": 100},
    ),
    "monitor": (cal.monitor, {"score": SCORE, "target": 0.4, "every": 5}),
    "monitor of two systems": (
        cal.monitor,
        {"score": {"old": SCORE, "new": OTHER}, "baseline": "old", "bounds": (0, 2)},
    ),
    "monitor of split traffic": (
        cal.monitor,
        {"score": TRUTH, "system": ["u", "v"] * 6, "baseline": "u", "allocation": 0.4},
    ),
    "monitor by name": (cal.monitor, {"score": "s", "data": {"s": SCORE, "y": TRUTH}}),
    "interleaving": (
        cal.interleaving,
        {
            "data": [
                {"documents": ["a", "b"], "team": ["x", "y"][:: 1 - 2 * c], "clicks": ["a"], "u": c}
                for c in TRUTH
            ],
            "baseline": "x",
            **QUICK,
        },
    ),
    "interleaving by rankings": (
        cal.interleaving,
        {
            "data": [
                {"documents": ["a", "b"], "clicks": ["ab"[c]], "p": ["a", "b"], "q": ["b", "a"]}
                for c in TRUTH
            ],
            "rankings": ["p", "q"],
            **QUICK,
        },
    ),
    "rank_correlation": (cal.rank_correlation, {"reference": SCORE, "values": OTHER}),
    "scores": (cal.scores, {"score": {"a": [1, 0, 1, 1], "b": [0, 0, 1, 1]}, **QUICK}),
    "agreement": (cal.agreement, {"ratings": {"a": CLASSES, "b": CLASSES[::-1]}}),
    "plan": (cal.plan, {"measure": "nDCG@10", "sd": 0.1, "difference": 0.02}),
    "plan of a pilot": (cal.plan, {"measure": "AP", "pilot": ranked, "half_width": 0.3}),
    "plan of an area": (
        cal.plan,
        {"measure": "AUC", "value": 0.8, "prevalence": 0.3, "half_width": 0.05},
    ),
    "measure": (cal.measure, {"text": "nDCG@10", "family": "retrieval"}),
    "measures": (cal.measures, {"family": "scores"}),
}


class Odd:
    """Refuses everything."""

    def __repr__(self) -> str:
        raise RuntimeError("no repr")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no comparison")

    __hash__ = None  # type: ignore[assignment]


MASKED = np.ma.array(SCORE, mask=[place == 4 for place in range(12)])

#: Values of many types, hostile everywhere or at most parameters.
HOSTILE: dict[str, Any] = {
    "None": None,
    "True": True,
    "zero": 0,
    "minus one": -1,
    "a large integer": 2**70,
    "10^400": 10**400,
    "a fraction": 0.5,
    "NaN": float("nan"),
    "infinity": float("inf"),
    "1e308": 1e308,
    "a complex number": 1 + 2j,
    "Decimal": decimal.Decimal("0.5"),
    "signalling NaN": decimal.Decimal("sNaN"),
    "Fraction": fractions.Fraction(1, 2),
    "no text": "",
    "text": "a",
    "half a character": "\ud800",
    "a NUL": "a\0b",
    "long text": "x" * 100_000,
    "a pattern": "a*[(",
    "bytes": b"a",
    "a path": Path("nowhere/x.csv"),
    "a folder": Path(),
    "a date": dt.date(2020, 1, 1),
    "an object": object(),
    "an odd object": Odd(),
    "a class": int,
    "a function": len,
    "a module": types,
    "an iterator": iter([1, 2]),
    "a range": range(12),
    "no list": [],
    "a list": [3],
    "a list of None": [None] * 12,
    "a list of NaN": [float("nan")] * 12,
    "a list of lists": [[1, 2], [3]],
    "a list of twelve lists": [[1, 2]] * 12,
    "a list of text": list("abcdefghijkl"),
    "a list of twelve kinds": [1, "a", None, 2.5, b"x", True, (), {}, 1j, "b", Odd, len],
    "a list of odd objects": [Odd()] * 12,
    "a list of dicts": [{"a": 1}] * 12,
    "a list of one class": [1] * 12,
    "a list of three classes": [0, 1, 2] * 4,
    "a list of huge numbers": [1e308, -1e308] * 6,
    "a list of tiny numbers": [1e-320, 5e-324] * 6,
    "a list of infinities": [float("inf"), 0.0] * 6,
    "a list of huge integers": [10**400] * 12,
    "a list of complex numbers": [1j] * 12,
    "a list of dates": [dt.date(2020, 1, day + 1) for day in range(12)],
    "a tuple": (1, 2),
    "a set": {1, 2},
    "no dict": {},
    "a dict": {"a": 1},
    "a dict of columns": {"a": SCORE, "b": OTHER},
    "a dict of dicts": {"1": {"a": 1}},
    "a dict of None": {"a": None},
    "a dict of numbers": {1: 2},
    "a dict of tuples": {(1, 2): SCORE},
    "a UserDict": collections.UserDict({"1": {"a": 1.0}}),
    "a proxy": types.MappingProxyType({"1": {"a": 1.0}}),
    "no array": np.array([]),
    "a number of NumPy": np.float64(0.5),
    "an array of no dimension": np.array(3),
    "an array": np.array(SCORE),
    "an array of integers": np.arange(12),
    "a matrix": np.ones((12, 2)),
    "a column": np.array(SCORE)[:, None],
    "a cube": np.ones((2, 12, 2)),
    "a masked array": MASKED,
    "an array of objects": np.array([Odd] * 12),
    "an array of half precision": np.array(SCORE, np.float16),
    "long doubles": np.array([1e4000] * 12, np.longdouble),
    "times": np.array(["2020-01-01", "NaT"] * 6, "datetime64[D]"),
    "durations": np.arange(12).astype("timedelta64[s]"),
    "bytes of NumPy": np.array(["a", "b"] * 6, "S"),
    "records": np.array([(1, 2.0)] * 12, [("a", "i4"), ("b", "f8")]),
    "a data frame": pd.DataFrame({"a": SCORE, "b": OTHER}),
    "no data frame": pd.DataFrame(),
    "a data frame of one column": pd.DataFrame({"a": SCORE}),
    "a data frame of polars": pl.DataFrame({"a": SCORE}),
    "a table of Arrow": pa.table({"a": SCORE, "b": OTHER}),
    "a series": pd.Series(SCORE, index=range(5, 17)),
    "a series with NA": pd.Series([1, None] * 6, dtype="Int64"),
    "a series of polars": pl.Series(SCORE),
    "a series of lists": pl.Series([[1], [2]] * 6),
    "structs": pa.array([{"a": 1}] * 12),
    "nulls": pa.nulls(12),
    "an index": pd.MultiIndex.from_product([[1, 2], range(6)]),
    "a measure": cal.measure("AUC"),
    "an evaluation": one_number,
    "an evaluation of topics": one_mean,
}

#: What Python and libraries say, and Calipers has no reason to.
RAW = re.compile(
    r"object has no attribute|not supported between|unhashable|is not subscriptable|not iterable"
    r"|positional argument|ambiguous|cannot be (converted|cast)|could not convert|invalid literal|out of bounds|unsupported "
    r"operand|must be (real|a string|str)|cannot unpack|not callable|<[\w. ]+ object at"
)
LONGEST = 1000


def in_our_words(error: BaseException) -> bool:
    """An InputError, or a TypeError that is raised on purpose, in our code."""
    if not isinstance(error, cal.InputError | UnknownMeasureError):
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        assert trace is not None
        file, line = trace.tb_frame.f_code.co_filename, trace.tb_lineno
        raised = linecache.getline(file, line).strip().startswith("raise ")
        if not (isinstance(error, TypeError) and raised and "calipers" in file):
            return False
    text = str(error)
    return len(text) < LONGEST and not RAW.search(text)


def parameters(function: Callable[..., Any], given: dict[str, Any]) -> list[str]:
    names = inspect.signature(function).parameters
    # How many processes work is for joblib, which takes its time to begin: tests/learning.
    without = ("inputs", "defaults", "n_jobs")
    return [name for name in names if name not in without] or list(given)


FUNCTIONS = list(dict.fromkeys(function for function, _ in CALLS.values()))


def having(name: str) -> list[Callable[..., Any]]:
    """The functions that have a parameter."""
    return [function for function in FUNCTIONS if name in inspect.signature(function).parameters]


#: Parameters that at least three functions have, but for the data.
SHARED = {
    name: functions
    for name in dict.fromkeys(name for of in FUNCTIONS for name in inspect.signature(of).parameters)
    if len(functions := having(name)) >= 3
    and name not in ("truth", "predicted", "score", "probability", "evaluation", "X", "y")
    and name not in ("estimator", "labels", "values")
}


def values_at(called: str, name: str) -> dict[str, Any]:
    """Every value at every parameter of a function once: its calls share them out. Where a parameter
    is one of several functions, which have one way to read it, they share them out as well: each value
    is tried in a third of them, in one at least; and where a call says something of its own, in each."""
    function, given = CALLS[called]
    calls = [other for other, (of, _) in CALLS.items() if of is function]
    turn, n_calls = calls.index(called), len(calls)
    if name in given and name not in QUICK:
        turn, n_calls = 0, 1
    third, n_thirds = (SHARED[name].index(function) % 3, 3) if name in SHARED else (0, 1)
    return {
        kind: value
        for place, (kind, value) in enumerate(HOSTILE.items())
        if place % n_thirds == third and place // n_thirds % n_calls == turn
    }


@pytest.mark.slow
@pytest.mark.parametrize("called", CALLS)
def test_hostile_arguments(called: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At every parameter; warnings are errors in this suite, and so fail as well."""
    monkeypatch.chdir(tmp_path)
    function, given = CALLS[called]
    given = {name: resolved_call(value) for name, value in given.items()}
    function(**given)
    wrong = []
    for name in parameters(function, given):
        for kind, value in values_at(called, name).items():
            try:
                function(**{**given, name: resolved_call(value)})
            except Exception as error:
                if not in_our_words(error):
                    wrong.append(f"{name} = {kind}: {type(error).__name__}: {str(error)[:200]}")
    assert not wrong, f"{len(wrong)} of {called}:\n" + "\n".join(wrong)


MADE = (two_classes, two_groups, ranked, one_number, one_mean, streamed, states)


def resolved_call(value: Any) -> Any:
    return value() if any(value is made for made in MADE) else value


def test_every_public_verb_is_attacked() -> None:
    called = {function.__name__ for function, _ in CALLS.values() if inspect.isfunction(function)}
    public = {name for name in cal.__all__ if inspect.isfunction(getattr(cal, name))}
    assert public - {"measure", "from_json"} <= called  # the latter is in test_results.py


@pytest.mark.parametrize("called", [name for name in CALLS if name not in ("measure", "measures")])
def test_names_of_other_tools_are_answered(called: str) -> None:
    function, given = CALLS[called]
    given = {name: resolved_call(value) for name, value in given.items()}
    own = set(inspect.signature(function).parameters)
    for name, others in FOREIGN_NAMES.items():
        for other in others.split():
            refused = unavailable_reason(function.__name__, other) is not None  # which says why
            if name in own and other not in own and not refused:
                with pytest.raises(TypeError, match=rf"has no {other}=; here it is .*{name}="):
                    function(**given, **{other: 1})
    with pytest.raises(TypeError, match=r"has no sead=; did you mean 'seed'\?|has no sead=; there"):
        function(**given, sead=1)
