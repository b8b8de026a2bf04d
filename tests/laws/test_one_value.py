"""One data set has one value of a measure, and one reason where it has none, whichever way it is
asked for: by calling the measure, as a scorer, by the verb, of counts, of a confusion matrix, in
batches, or by the command."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from in_process import invoke

import calipers as cal
from calipers.measures import TASKS, Measure, definitions, list_measures, parse
from calipers.measures.averages import PAIRWISE_AVERAGES
from calipers.measures.errors import UnknownMeasureError
from calipers.measures.families import FAMILIES

#: A value, and the reasons where there is none; no reasons where only a number is given.
Found = tuple[float, "Mapping[str, float] | None"]

NO_INTERVAL: Mapping[str, Any] = {"interval": "none", "curves": False}


def by_name(estimates: Iterable[Any]) -> dict[str, Found]:
    return {each.measure: (each.value, dict(each.undefined)) for each in estimates}


def called(measures: Iterable[Measure], *data: Any, **options: Any) -> dict[str, Found]:
    return {str(m): (float(m(*data, **options)), None) for m in measures}


def agree(ways: Mapping[str, Mapping[str, Found]]) -> None:
    """All ways give what the first does, of the same measures."""
    first, *others = ways
    for way in others:
        for name, (value, reasons) in ways[way].items():
            expected, why = ways[first][name]
            same = value == expected or (math.isnan(value) and math.isnan(expected))
            near = math.isclose(value, expected, rel_tol=1e-9, abs_tol=1e-12)
            assert same or near, (name, way, value, first, expected)
            assert reasons is None or reasons == why, (name, way, reasons, why)
            assert not math.isnan(expected) or why, name


def table(path: Path, **columns: Any) -> Path:
    pq.write_table(pa.table(columns), path)
    return path


def command(task: str, path: Path, measures: Iterable[Any], *more: str) -> dict[str, Found]:
    asked = [part for m in measures for part in ("-m", str(m))]
    done = invoke([task, str(path), *more, *asked, "--interval", "none", "--format", "json"])
    assert done.exit_code == 0, (done.stderr, done.exception)
    return by_name(cal.Evaluation.from_json(done.stdout))


def repeated(*columns: Any) -> tuple[list[list[Any]], list[int]]:
    """Each distinct row once, and how often it is there."""
    rows = Counter(zip(*columns, strict=True))
    return [list(column) for column in zip(*rows, strict=True)], list(rows.values())


# --- Two classes ----------------------------------------------------------------------------------

#: Truth, predicted classes, and probabilities.
TWO: dict[str, tuple[list[int], list[int], list[float]]] = {
    "ordinary": ([0, 1, 1, 0, 1, 0], [0, 1, 0, 0, 1, 1], [0.1, 0.9, 0.4, 0.2, 0.8, 0.7]),
    "all positive": ([1, 1, 1], [1, 1, 1], [0.9, 0.9, 0.8]),
    "all negative": ([0, 0, 0], [0, 0, 0], [0.1, 0.2, 0.3]),
    "all positive, some missed": ([1, 1, 1], [1, 0, 1], [0.9, 0.3, 0.8]),
    "nothing predicted positive": ([0, 1, 1, 0], [0, 0, 0, 0], [0.1, 0.2, 0.3, 0.4]),
    "everything predicted positive": ([0, 1, 1, 0], [1, 1, 1, 1], [0.9, 0.9, 0.9, 0.9]),
    "perfect": ([0, 1, 1, 0], [0, 1, 1, 0], [0.1, 0.9, 0.8, 0.2]),
    "ties": ([0, 1, 1, 0, 1], [1, 1, 0, 0, 0], [0.5, 0.5, 0.5, 0.5, 0.25]),
    "one row": ([1], [1], [0.7]),
    "one row, missed": ([0], [1], [0.7]),
    "certain": ([0, 1, 1, 0], [0, 1, 0, 0], [0.0, 1.0, 0.0, 0.0]),
}


def of_two_classes() -> Iterator[tuple[str, str, list[Measure]]]:
    """What is read, the option for it, and the measures that do, with averages of counts."""
    families = [f for f in TASKS["classification"] if f not in ("ranks", "soft")]
    every = [m for family in families for m in list_measures(family)]
    averages = [
        parse(f"{how}-{m}", "counts")
        for how in ("macro", "micro", "weighted")
        for m in list_measures("counts")
    ]
    for reads, option in {"labels": "predicted", "scores": "score"}.items():
        yield reads, option, [m for m in [*every, *averages] if m.reads == reads]
    yield "probabilities", "probability", [m for m in every if m.reads == "probabilities"]


class Model:
    """Says what it was told to; it knows both classes, as one that was fitted on both does."""

    def __init__(self, classes: list[Any], predicted: Any, probability: Any) -> None:
        self.classes_ = np.array(classes)
        self.predicted, self.probability = np.array(predicted), np.array(probability)

    def predict(self, features: Any) -> Any:
        return self.predicted

    def predict_proba(self, features: Any) -> Any:
        return np.column_stack([1 - self.probability, self.probability])


def scored(measures: Iterable[Measure], model: Any, truth: Any) -> dict[str, Found]:
    found: dict[str, Found] = {}
    for measure in measures:
        if measure.higher_is_better is not None:
            scorer = measure.scorer()
            value = scorer.sign * float(scorer(model, np.zeros((len(truth), 1)), np.array(truth)))
            found[str(measure)] = value, None
    return found


@pytest.mark.slow
@pytest.mark.parametrize("case", TWO)
def test_two_classes(case: str, tmp_path: Path) -> None:
    truth, predicted, probability = TWO[case]
    path = table(tmp_path / "rows.parquet", y=truth, labels=predicted, p=probability)
    for reads, option, measures in of_two_classes():
        said: Any = predicted if reads == "labels" else probability
        column = "labels" if reads == "labels" else "p"
        of: Mapping[str, Any] = {"measures": measures, **NO_INTERVAL}
        (few, few_said), count = repeated(truth, said)
        ways = {
            "verb": by_name(cal.classification(truth, **{option: said}, **of)),
            "counts": by_name(cal.classification(few, **{option: few_said}, count=count, **of)),
            "stream": by_name(
                cal.classification("y", **{option: column}, data=str(path), engine="stream", **of)
            ),
            "command": command(
                "classification", path, measures, "--truth", "y", f"--{option}", column
            ),
            "measure": called(measures, truth, said),
            "measure of counts": called(measures, few, few_said, count=count),
            "scorer": scored(measures, Model([0, 1], predicted, probability), truth),
        }
        if reads == "labels":
            cells = [
                [sum(pair == (a, b) for pair in zip(truth, said, strict=True)) for b in (0, 1)]
                for a in (0, 1)
            ]
            ways["confusion"] = by_name(cal.classification(confusion=cells, rows="truth", **of))
        agree(ways)


@pytest.mark.slow
@pytest.mark.parametrize(
    "weights", [[0.3] * 6, [0.0, 2.0, 2.0, 0.0, 2.0, 2.0], [1.0, 2.0, 0.5, 0.0, 3.0, 1.0]]
)
def test_weighted_rows(weights: list[float], tmp_path: Path) -> None:
    """Weights that are all alike, but for rows of 0, are none, also in totals."""
    truth, predicted, probability = TWO["ordinary"]
    path = table(tmp_path / "r.parquet", y=truth, labels=predicted, p=probability, w=weights)
    for reads, option, measures in of_two_classes():
        said: Any = predicted if reads == "labels" else probability
        column = "labels" if reads == "labels" else "p"
        of: Mapping[str, Any] = {"measures": measures, **NO_INTERVAL}
        stream = cal.classification(
            "y", **{option: column}, data=str(path), engine="stream", weight="w", **of
        )
        more = ["--truth", "y", f"--{option}", column, "--weight", "w"]
        agree(
            {
                "verb": by_name(cal.classification(truth, **{option: said}, weight=weights, **of)),
                "stream": by_name(stream),
                "command": command("classification", path, measures, *more),
                "measure": called(measures, truth, said, weight=weights),
            }
        )


def test_balanced_accuracy_of_one_class_has_no_value() -> None:
    """Half of it is the share of no rows."""
    balanced = cal.measure("balanced-accuracy")
    for truth in ([1, 1, 1], [0, 0], ["a", "a"]):
        assert math.isnan(balanced(truth, truth))
    assert math.isnan(balanced(["a", "a"], ["a", "a"], labels=["a", "b"]))
    assert math.isnan(balanced(["a", "a"], ["a", "a"], positive="a"))
    for classes in ([0, 1], ["ham", "spam"]):
        fold = np.array([classes[1]] * 4)
        model = Model(classes, fold, [0.9] * 4)
        assert math.isnan(balanced.scorer()(model, np.zeros((4, 1)), fold))
    # The class that rows are of need not be one that the model saw.
    other = np.array(["eggs", "ham", "ham", "spam"])
    model = Model(["ham", "spam"], ["ham", "ham", "spam", "spam"], [0.1, 0.2, 0.8, 0.9])
    assert balanced.scorer()(model, np.zeros((4, 1)), other) == 0.5  # recall 0, 1/2 and 1


def test_a_fold_without_positives() -> None:
    """The scorer knows the positive class from the model, where no row of a fold has it."""
    model = Model(["ham", "spam"], ["ham", "spam", "ham"], [0.1, 0.7, 0.2])
    fold = np.array(["ham"] * 3)
    scorers = {name: cal.measure(name).scorer("spam") for name in ("recall", "specificity", "F1")}
    found = {name: scorer(model, np.zeros((3, 1)), fold) for name, scorer in scorers.items()}
    assert math.isnan(found["recall"])
    assert found["specificity"] == pytest.approx(2 / 3)
    assert found["F1"] == 0.0  # something is predicted positive


SEVERAL: dict[str, tuple[list[str], list[str]]] = {
    "ordinary": (["a", "b", "c", "a"], ["a", "c", "c", "b"]),
    "a class never predicted": (["a", "b", "c", "a"], ["a", "b", "b", "b"]),
    "perfect": (["a", "b", "c"], ["a", "b", "c"]),
    "one row of each, all wrong": (["a", "b", "c"], ["b", "c", "a"]),
}


@pytest.mark.parametrize("positive", [None, "a"])
@pytest.mark.parametrize("case", SEVERAL)
def test_several_classes(case: str, positive: str | None, tmp_path: Path) -> None:
    """With a class named positive, all others are one. A single value is refused where classes
    have an order that is not stated, so that those measures have a test of their own."""
    truth, predicted = SEVERAL[case]
    measures = [
        parse(name, "counts")
        for m in list_measures("counts")
        if m.depends_on_class_order is None or positive is not None
        for name in [str(m)] * (m.is_multiclass or positive is not None)
        + [f"{how}-{m}" for how in ("macro", "micro", "weighted")]
    ]
    of: Mapping[str, Any] = {"measures": measures, "positive": positive, **NO_INTERVAL}
    path = table(tmp_path / "rows.parquet", y=truth, s=predicted)
    more = [] if positive is None else ["--positive", positive]
    (few, few_said), count = repeated(truth, predicted)
    agree(
        {
            "verb": by_name(cal.classification(truth, predicted, **of)),
            "counts": by_name(cal.classification(few, few_said, count=count, **of)),
            "measure": called(measures, truth, predicted, positive=positive),
            "command": command(
                "classification", path, measures, "--truth", "y", "--predicted", "s", *more
            ),
        }
    )


# --- Other tasks ----------------------------------------------------------------------------------

NUMBERS: dict[str, tuple[list[float], list[float]]] = {
    "ordinary": ([1.0, 2.0, 3.5, 4.0], [1.5, 2.0, 3.0, 5.0]),
    "perfect": ([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]),
    "constant truth": ([2.0, 2.0, 2.0], [1.0, 2.0, 3.0]),
    "constant prediction": ([1.0, 2.0, 3.0], [2.0, 2.0, 2.0]),
    "both constant": ([2.0, 2.0], [2.0, 2.0]),
    "one row": ([1.0], [2.0]),
    "a zero": ([0.0, 1.0, 2.0], [1.0, 0.0, 2.0]),
    "zeros": ([0.0, 0.0], [0.0, 0.0]),
    "below zero": ([-1.0, 2.0, -3.0], [1.0, 2.0, -4.0]),
    "ties": ([1.0, 1.0, 2.0, 2.0], [1.0, 2.0, 1.0, 2.0]),
}


class Regressor:
    def __init__(self, predicted: Any) -> None:
        self.predicted = np.array(predicted)

    def predict(self, features: Any) -> Any:
        return self.predicted


@pytest.mark.parametrize("case", NUMBERS)
def test_numbers(case: str, tmp_path: Path) -> None:
    truth, said = NUMBERS[case]
    families = [f for f in TASKS["regression"] if FAMILIES[f].reads == "numbers"]
    measures = [m for f in families for m in list_measures(f)]
    of: Mapping[str, Any] = {"measures": measures, **NO_INTERVAL}
    path = table(tmp_path / "rows.parquet", y=truth, s=said)
    (few, few_said), count = repeated(truth, said)
    agree(
        {
            "verb": by_name(cal.regression(truth, said, **of)),
            "counts": by_name(cal.regression(few, few_said, count=count, **of)),
            "stream": by_name(cal.regression("y", "s", data=str(path), engine="stream", **of)),
            "command": command("regression", path, measures, "--truth", "y", "--predicted", "s"),
            "measure": called(measures, truth, said),
            "measure of counts": called(measures, few, few_said, count=count),
            "scorer": scored(measures, Regressor(said), truth),
        }
    )


SETS: dict[str, tuple[list[list[str]], list[list[str]]]] = {
    "ordinary": ([["a"], ["b"], ["a", "b"], []], [["a"], ["a"], ["b"], ["b"]]),
    "perfect": ([["a"], ["b"]], [["a"], ["b"]]),
    "nothing predicted": ([["a"], ["a", "b"]], [[], []]),
    "nothing true": ([[], []], [["a"], ["b"]]),
    "one row": ([["a", "b"]], [["a"]]),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", SETS)
def test_sets_of_labels(case: str) -> None:
    truth, said = SETS[case]
    averages = [
        parse(f"{how}-{m}", "counts")
        for how in ("macro", "micro", "weighted")
        for m in list_measures("counts")
    ]
    measures = [*(m for m in list_measures("multilabel") if m.reads == "sets"), *averages]
    agree(
        {
            "verb": by_name(
                cal.multilabel(truth, said, labels=["a", "b"], measures=measures, **NO_INTERVAL)
            ),
            "measure": called(measures, truth, said, labels=["a", "b"]),
        }
    )


CLUSTERS: dict[str, tuple[list[str], list[int]]] = {
    "ordinary": (["a", "a", "b", "b", "c"], [0, 0, 1, 1, 1]),
    "perfect": (["a", "b", "a"], [0, 1, 0]),
    "one cluster": (["a", "a"], [0, 0]),
    "a cluster each": (["a", "b", "c"], [0, 1, 2]),
    "one point": (["a"], [0]),
}


@pytest.mark.parametrize("case", CLUSTERS)
def test_clusters(case: str, tmp_path: Path) -> None:
    truth, found = CLUSTERS[case]
    measures = list_measures("partitions")
    of: Mapping[str, Any] = {"measures": measures, "interval": "none"}
    path = table(tmp_path / "rows.parquet", y=truth, s=found)
    agree(
        {
            "verb": by_name(cal.clustering(None, found, truth, **of)),
            "stream": by_name(
                cal.clustering(None, "s", "y", data=str(path), engine="stream", **of)
            ),
            "measure": called(measures, truth, found),
        }
    )


@pytest.mark.parametrize(
    "ratings", [([1, 2, 3, 1], [1, 2, 2, 1]), ([1, 2], [1, 2]), ([1, 1], [1, 1]), ([1], [2])]
)
def test_raters(ratings: tuple[list[int], list[int]]) -> None:
    measures = list_measures("agreement")
    raters = dict(zip(("first", "second"), ratings, strict=True))
    agree(
        {
            "verb": by_name(cal.agreement(raters, measures=measures, interval="none")),
            "measure": called(measures, *ratings),
        }
    )


RUNS: dict[str, tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]] = {
    "ordinary": (
        {"1": {"a": 1, "b": 0, "c": 2}, "2": {"a": 0, "b": 1}},
        {"1": {"a": 0.5, "b": 0.4, "c": 0.3, "d": 0.2}, "2": {"b": 0.9, "a": 0.1}},
    ),
    "nothing relevant": ({"1": {"a": 0}}, {"1": {"a": 0.5}}),
    "nothing relevant to one": (
        {"1": {"a": 0}, "2": {"a": 1}},
        {"1": {"a": 0.5}, "2": {"a": 0.1}},
    ),
    "a topic without documents": ({"1": {"a": 1}, "2": {"a": 1}}, {"1": {"a": 0.5}}),
    "ties": ({"1": {"a": 1, "b": 0, "c": 1}}, {"1": {"a": 0.5, "b": 0.5, "c": 0.5}}),
    "perfect": ({"1": {"a": 1, "b": 0}}, {"1": {"a": 0.5}}),
    "nothing judged": ({"1": {"a": 1}}, {"1": {"z": 0.5}}),
}


@pytest.mark.parametrize("case", RUNS)
def test_rankings(case: str, tmp_path: Path) -> None:
    qrels, run = RUNS[case]
    measures = list_measures("retrieval")
    judged, retrieved = tmp_path / "qrels", tmp_path / "run"
    judged.write_text("".join(f"{t} 0 {d} {g}\n" for t, of in qrels.items() for d, g in of.items()))
    retrieved.write_text(
        "".join(f"{t} Q0 {d} 0 {s} run\n" for t, of in run.items() for d, s in of.items())
    )
    of: Mapping[str, Any] = {"measures": measures, "interval": "none"}
    agree(
        {
            "verb": by_name(cal.retrieval(qrels, run, **of)),
            "files": by_name(cal.retrieval(str(judged), str(retrieved), **of)),
            "command": command("retrieval", judged, measures, str(retrieved)),
            "measure": called(measures, qrels, run),
            "measure of files": called(measures, str(judged), str(retrieved)),
        }
    )


# --- Names ----------------------------------------------------------------------------------------


def names() -> Iterator[tuple[str, str, str]]:
    """Every name of the catalogue and of its averages, with its family and its task."""
    for task, families in TASKS.items():
        for definition in (d for family in families for d in definitions(family)):
            name, averages = str(definition.example()), FAMILIES[definition.family].averages
            hows = [
                how
                for how in averages
                if how not in PAIRWISE_AVERAGES or definition.reads == "scores"
            ]
            for how in ("", *(f"{how}-" for how in hows)):
                yield how + name, definition.family, task


def test_names_parse_back_to_themselves() -> None:
    """In their family and in their task; and alone, unless they are those of two tasks and say
    so."""
    shared = []
    for name, family, task in names():
        try:
            measure = parse(name, family)
        except UnknownMeasureError:
            assert name.startswith("variance-weighted-")  # of no share of the variance
            continue
        assert (str(measure), measure.family) == (name, family)
        assert parse(name, TASKS[task]) == measure, name
        try:
            alone = parse(name)
        except UnknownMeasureError as error:
            shared.append((name, "say which with family=" in str(error)))
        else:
            assert alone == measure, (name, alone.family)
    assert set(shared) == {("AP", True)}


def test_averages_over_classes_and_over_topics() -> None:
    """What a task calls by its own word is that in the task alone."""
    for name, own in {"precision": "SetP", "recall": "SetR", "Jaccard": "SetJaccard"}.items():
        assert parse(f"micro-{name}").family == "counts"
        assert str(parse(f"micro-{name}", TASKS["retrieval"])) == f"micro-{own}"
        assert parse(f"micro-{own}").family == "retrieval"
    assert cal.measure("micro-precision")(["a", "b", "c", "a"], ["a", "b", "b", "c"]) == 0.5
