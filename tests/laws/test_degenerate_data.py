"""Whatever the data lack, numbers come out as numbers or as NaN with a reason, and no library warns.

Warnings are errors in this suite, so that every call here is a test of that.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import calipers as cal
from calipers.measures import TASKS, definitions
from calipers.results import INTERVAL_REASONS

N = 14
RANDOM = np.random.default_rng(3)
NOISE = {"a": RANDOM.random(N).round(2), "b": RANDOM.random(N).round(1)}

#: A truth of two classes, and the scores of two systems.
TWO: dict[str, tuple[Any, dict[str, Any]]] = {
    "no positives": (np.zeros(N, int), NOISE),
    "no negatives": (np.ones(N, int), NOISE),
    "one positive": (np.arange(N) == 3, NOISE),
    "one negative": (np.arange(N) != 3, NOISE),
    "one row": ([1], {"a": [0.3], "b": [0.9]}),
    "one row of the other class": ([0], {"a": [0.3], "b": [0.9]}),
    "two rows": ([0, 1], {"a": [0.3, 0.9], "b": [0.9, 0.3]}),
    "constant scores": (np.arange(N) % 2, {"a": np.full(N, 0.5), "b": np.full(N, 0.2)}),
    "certain scores": (np.arange(N) % 2, {"a": np.arange(N) % 2 * 1.0, "b": np.ones(N)}),
    "wrong and certain": (np.arange(N) % 2, {"a": 1.0 - np.arange(N) % 2, "b": np.zeros(N)}),
    "the same scores twice": (np.arange(N) % 2, {"a": NOISE["a"], "b": NOISE["a"]}),
    "nearly the same": (np.arange(N) % 2, {"a": NOISE["a"], "b": NOISE["a"] + 1e-16}),
    "tiny scores": (np.arange(N) % 2, {"a": NOISE["a"] * 1e-300, "b": NOISE["b"] * 5e-324}),
}

WEIGHTS: dict[str, Callable[[int], Any]] = {
    "none": lambda n: None,
    "one row only": lambda n: np.arange(n) == 0,
    "half of the rows": lambda n: (np.arange(n) % 2 == 0) * 1.0,
    "the largest and the least": lambda n: np.where(np.arange(n) % 3, 1.0, 1e-12),
    "all tiny": lambda n: np.full(n, 1e-60) * (1 + np.arange(n)),
    "all huge": lambda n: np.full(n, 1e60) / (1 + np.arange(n)),
}

CLUSTERS: dict[str, Callable[[int], Any]] = {
    "none": lambda n: None,
    "one": lambda n: np.zeros(n, int),
    "two": lambda n: np.arange(n) % 2,
    "a row each": np.arange,
}

INTERVALS = ("auto", "bootstrap", "analytic")

#: Tests that look at every unit.
OF_UNITS = ("McNemar", "paired randomization", "paired t")


def every(task: str, *families: str) -> list[Any]:
    return [d.example() for family in families or TASKS[task] for d in definitions(family)]


def slices(n: int) -> dict[str, Any]:
    """The first row alone, and the two halves."""
    return {"first": np.arange(n) == 0, "half": np.arange(n) * 2 < n} if n > 1 else {}


def looked_at(evaluation: cal.Evaluation, *, printed: bool = True) -> None:
    """Everything that shows or computes later; what is printed once of each kind of data and of few
    measures, as it hangs on numbers and not on where they come from."""
    for estimate in evaluation:
        assert math.isfinite(estimate.value) or estimate.undefined or math.isinf(estimate.value)
        assert estimate.has_interval or estimate.interval_reason in INTERVAL_REASONS, estimate
        assert not estimate.has_interval or estimate.low <= estimate.value <= estimate.high, (
            estimate
        )
    evaluation.to_json()
    list(evaluation.curves)
    if printed:
        str(evaluation)
        evaluation.to_markdown()
    if evaluation.comparison is not None:
        if printed:
            str(evaluation.comparison)
        list(evaluation.comparison.omnibus)
        for d in evaluation.comparison:
            if d.has_interval:
                assert d.low <= d.value <= d.high, d
                assert d.low < d.high, d
            elif not d.test.startswith(OF_UNITS):  # which know more than replicates do
                assert math.isnan(d.p) or d.p == 1, d


#: Each way once with the plain one of the others, and some that meet.
WAYS = [
    *((weight, "none", interval) for weight in WEIGHTS for interval in INTERVALS),
    *(("none", cluster, interval) for cluster in list(CLUSTERS)[1:] for interval in INTERVALS),
    ("half of the rows", "one", "auto"),
    ("half of the rows", "two", "auto"),
]
PLAIN = WAYS[0]
EVERY_OTHER = WAYS[::2]


def options(n: int, way: tuple[str, str, str], *, sliced: bool = True) -> dict[str, Any]:
    weight, cluster, interval = way
    return {
        "weight": WEIGHTS[weight](n),
        "cluster": CLUSTERS[cluster](n),
        "slices": slices(n) if sliced else None,
        "interval": interval,
        "n_resamples": 100,
    }


def two_classes(
    named: str, way: tuple[str, str, str], measures: Any, *, sliced: bool, printed: bool = False
) -> None:
    truth, score = TWO[named]
    looked_at(
        cal.classification(
            truth,
            probability={name: np.minimum(p, 1) for name, p in score.items()},
            positive=1,
            measures=measures,
            curves=measures is not OF_TWO,  # which are those of the usual measures
            **options(len(truth), way, sliced=sliced),
        ),
        printed=printed,
    )


OF_TWO = every(
    "classification", *(f for f in TASKS["classification"] if f not in ("ranks", "soft"))
)
#: Those of which reports are made, and what they are built on.
USUAL = ["AUC", "PR-AUC", "AP", "max-F1", "KS", "log-loss", "Brier", "calibration-slope", "ECE"]
USUAL += ["accuracy", "precision", "recall", "F1", "MCC", "kappa", "balanced-accuracy"]


@pytest.mark.slow
@pytest.mark.parametrize("named", TWO)
def test_every_measure_of_two_classes(named: str) -> None:
    two_classes(named, PLAIN, OF_TWO, sliced=False, printed=False)
    two_classes(named, PLAIN, USUAL, sliced=True, printed=True)


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS[1:], ids="-".join)
def test_two_classes_whatever_the_weights_and_clusters(way: tuple[str, str, str]) -> None:
    few = ("no negatives", "constant scores", "no positives", "one row")
    place = WAYS.index(way)
    named = "one positive" if place % 2 else few[place // 2 % 4]
    two_classes(named, way, USUAL, sliced=named == "one positive")


@pytest.mark.slow
@pytest.mark.parametrize("way", EVERY_OTHER, ids="-".join)
def test_several_classes(way: tuple[str, str, str]) -> None:
    measures = ["accuracy", "macro-F1", "micro-F1", "weighted-F1", "MCC", "kappa", "macro-AUC"]
    measures += ["log-loss", "Brier", "top-2-accuracy", "recall[a]", "AUC[c]"]
    flat, sure = np.full((N, 3), 1 / 3), np.eye(3)[np.arange(N) % 3]
    truths = ["a"] * N, ["a"] * (N - 1) + ["b"], list("abc") * 4 + ["a", "b"], ["b"]
    turn = slice(None) if way == PLAIN else slice(EVERY_OTHER.index(way) % 2, None, 2)
    for truth in truths[turn]:
        n = len(truth)
        looked_at(
            cal.classification(
                truth,
                probability={"flat": flat[:n], "sure": sure[:n]},
                labels=["a", "b", "c"],
                measures=measures,
                **options(n, way, sliced=way == PLAIN),
            ),
            printed=way == PLAIN,
        )


@pytest.mark.slow
@pytest.mark.parametrize("way", EVERY_OTHER, ids="-".join)
def test_several_labels(way: tuple[str, str, str]) -> None:
    measures = ["subset-accuracy", "Hamming-loss", "example-F1", "macro-F1", "micro-F1", "LRAP"]
    measures += ["weighted-F1", "macro-AUC", "micro-AUC", "macro-AP", "ranking-loss", "macro-Brier"]
    some = RANDOM.random((N, 2)) < 0.5
    truths: list[Any] = [np.zeros((N, 2)), np.ones((N, 2)), np.eye(N, 2), some, np.ones((1, 2))]
    turn = slice(None) if way == PLAIN else slice(EVERY_OTHER.index(way) % 2, None, 2)
    for truth in truths[turn]:
        n = len(truth)
        looked_at(
            cal.multilabel(
                truth,
                probability={"flat": np.full((n, 2), 0.5), "sure": np.array(truth, float)},
                measures=measures,
                **options(n, way, sliced=way == PLAIN),
            ),
            printed=way == PLAIN,
        )


#: One of each kind.
OF_NUMBERS = ["RMSE", "MAPE", "R2", "CCC", "Spearman", "MedAE", "max-error", "D2-pinball"]


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS, ids="-".join)
def test_numbers(way: tuple[str, str, str]) -> None:
    line = np.arange(N, dtype=float)
    pairs = [
        (line, line + 1),
        (np.zeros(N), np.zeros(N)),
        (line * 7e43, -line * 7e43),
        (line, line),
        (line * 5e-324, line * 0),
        ([1.0], [2.0]),
    ]
    place = WAYS.index(way)
    for number, (truth, said) in enumerate(pairs):
        # By the plain way every sort of every pair; of the others a third of the pairs, a sort of each.
        sorts = range(4) if way == PLAIN else [(place + number // 3) % 4]
        if way == PLAIN or number % 3 == place // 2 % 3:
            for sort in sorts:
                of_numbers(truth, said, way, sort)


def of_numbers(truth: Any, said: Any, way: tuple[str, str, str], sort: int) -> None:
    """Numbers, several outputs or quantiles: in slices the usual measures, and by the plain way every
    measure of all rows."""
    systems: dict[str, Any] = {"a": said, "b": np.asarray(said) * 0.5}
    given: dict[str, Any] = {"truth": truth, "predicted": systems}
    every_one = every("regression", "regression", "fit", "order")
    sets: list[list[Any]] = [every_one, OF_NUMBERS] if way == PLAIN else [OF_NUMBERS]
    if sort == 1:
        systems = {name: np.column_stack([x, truth]) for name, x in systems.items()}
        given = {"truth": np.column_stack([truth, np.asarray(said)]), "predicted": systems}
        sets = [[f"macro-{name}" for name in of] + ["variance-weighted-R2"] for of in sets]
    elif sort == 2:
        quantiles = {
            name: {0.05: np.asarray(x) * 0.9, 0.5: x, 0.9: x, 0.95: np.asarray(x) * 0.7}
            for name, x in systems.items()
        }
        given = {"truth": truth, "quantiles": quantiles}
        sets = [[*every("regression", "quantiles", "quantile-ratios"), "MAE", "pinball(alpha=0.9)"]]
    elif sort == 3:
        members = {n: np.column_stack([x, x, np.asarray(x) * 0.7]) for n, x in systems.items()}
        given = {"truth": truth, "ensemble": members}
        sets = [["default", *every("regression", "ensembles"), "MAE", "RMSE"]]
    for measures in sets:
        sliced = measures is sets[-1] and (way == PLAIN or WAYS.index(way) % 2 == 0)
        more = options(len(truth), way, sliced=sliced)
        few = measures is sets[-1]  # whose curves are those of all
        made = cal.regression(**given, measures=measures, curves=few, **more)
        looked_at(made, printed=few and way == PLAIN)


@pytest.mark.slow
@pytest.mark.parametrize("interval", ["auto", "bootstrap"])
def test_topics(interval: str) -> None:
    whole = {"1": {"a": 1, "b": 0}, "2": {"a": 0}, "3": {"c": 2, "d": -1}}
    run = {"1": {"a": 1.0, "b": 1.0}, "2": {"z": 0.0}, "3": {"d": 3.0, "c": 3.0, "e": 3.0}}
    nothing = {"1": {"z": 1.0}}
    for qrels in (whole, {"1": {"a": 0}}, {"1": {"a": -1}}, {"1": {"a": 1}}, {"2": {"a": 0}}):
        pairs = ({"r": run, "s": run}, {"r": run, "n": nothing | run})
        for of in ({"r": run}, *(pairs if qrels is whole else pairs[:1])):
            measures = every("retrieval", "retrieval")
            looked_at(
                cal.retrieval(qrels, of, measures=measures, interval=interval, n_resamples=100)
            )


@pytest.mark.parametrize("interval", INTERVALS)
def test_given_values(interval: str) -> None:
    nan = float("nan")
    for values in ([1.0], [0.0, 0.0], [nan, nan], [1.0, nan], [1e45, -1e45, 0.0], [5e-324, 0.0]):
        both = {"a": values, "b": values[::-1], "c": [0.0] * len(values)}
        looked_at(cal.from_values(both, interval=interval, n_resamples=100))


def test_weights_say_the_same_whatever_their_scale() -> None:
    """From one end of what is allowed to the other. (Of an ECE it is a p-value that decides how its
    interval is made, and weights of two count as two rows there.)"""
    weight = 1 + RANDOM.random(N)
    cancelling = [name for name in USUAL if name != "ECE"]
    for task in ("classification", "regression"):
        made = []
        for scale in (1.0, 2.0**-190, 2.0**190):
            shared: dict[str, Any] = {"weight": weight * scale, "n_resamples": 100}
            if task == "classification":
                truth, score = np.arange(N) % 2, NOISE
                made.append(
                    cal.classification(truth, probability=score, measures=cancelling, **shared)
                )
            else:
                made.append(cal.regression(NOISE["a"], {"a": NOISE["b"]}, **shared))
        for one, *others in zip(*made, strict=True):
            for other in others:
                numbers = [(e.value, e.low, e.high) for e in (one, other)]
                np.testing.assert_allclose(*numbers, rtol=1e-9, err_msg=str(one))


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1e308] * N, r"weight: is 1e\+308 in row 0 \(and 13 more rows\), expected 0, or 1e-60 to"),
        ([1e-320] * N, "weight: is 9.99989e-321 in row 0"),
        (
            [1.0] * (N - 1) + [1e-13],
            "weight: is 1e-13 in row 13, which is negligible next to the larg",
        ),
    ],
)
def test_weights_beyond_all_use_are_refused(weight: Any, message: str) -> None:
    with pytest.raises(cal.InputError, match=message):
        cal.classification(np.arange(N) % 2, score=NOISE["a"], weight=weight)
