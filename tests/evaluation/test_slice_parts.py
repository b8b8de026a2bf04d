"""The rest of a slice, added up from the other slices, against the rows themselves; and the work
that it takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import calipers as cal
from calipers import _core
from calipers.evaluation.estimates import estimate_measure
from calipers.evaluation.slice_definitions import define_slices, parse_slice_columns
from calipers.evaluation.slices import Complement, Subsets
from calipers.inference.intervals import normal_quantile
from calipers.inference.variance_estimators import StandardError
from calipers.measures import Measure
from calipers.results import Evaluation
from calipers.systems.binary import BinaryOutput
from calipers.systems.multiclass import MulticlassOutput
from calipers.systems.multilabel import MultilabelOutput
from calipers.systems.regression import RegressionOutput

ROWS = 900
#: One slice holds nearly all rows, and one a few.
SHARES = [0.9, 0.05, 0.03, 0.02]

Made = Callable[[Any], Evaluation]


def columns(seed: int = 0) -> dict[str, npt.NDArray[Any]]:
    random = np.random.default_rng(seed)
    truth = random.random(ROWS) < 0.35
    chance = 1 / (1 + np.exp(-(1.5 * truth - 0.8 + random.normal(size=ROWS))))
    classes = random.integers(0, 3, ROWS)
    table = random.random((ROWS, 3))
    table[np.arange(ROWS), classes] += 0.5
    labels = random.random((ROWS, 3)) < 0.3
    return {
        "slice": random.choice(list("abcd"), ROWS, p=SHARES),
        "user": random.integers(0, 90, ROWS),
        # The first slice outweighs all others by up to twelve powers of ten, or they it.
        "even": random.uniform(0.2, 3, ROWS),
        "hostile": 10.0 ** random.uniform(-6, 6, ROWS),
        "truth": truth,
        "probability": chance,
        "tied": np.clip(chance.round(1), 0.05, 0.95),
        "classes": classes,
        "table": table / table.sum(axis=1, keepdims=True),
        "labels": labels,
        "label table": np.clip(random.random((ROWS, 3)) * 0.7 + 0.3 * labels, 0.01, 0.99),
        "number": random.normal(size=ROWS),
        "near": random.normal(size=ROWS),
    }


def weights(d: dict[str, npt.NDArray[Any]], kind: str) -> Any:
    if kind == "none":
        return None
    if kind == "heavy slice":
        return np.where(d["slice"] == "a", 1e9, 1.0) * d["even"]
    if kind == "light slice":
        return np.where(d["slice"] == "a", 1e-9, 1.0) * d["even"]
    return d[kind]


TASKS: dict[str, Callable[..., Evaluation]] = {
    "two classes": lambda d, **given: cal.classification(
        d["truth"], probability=d["probability"], curves=False, **given
    ),
    "tied": lambda d, **given: cal.classification(
        d["truth"], probability=d["tied"], curves=False, **given
    ),
    "three classes": lambda d, **given: cal.classification(
        d["classes"], probability=d["table"], curves=False, **given
    ),
    "labels": lambda d, **given: cal.multilabel(
        d["labels"], probability=d["label table"], curves=False, **given
    ),
    "numbers": lambda d, **given: cal.regression(d["number"], d["near"], **given),
}
MORE = {
    "two classes": [
        "default",
        "Gini",
        "PR-AUC-DG",
        "KS",
        "ECE",
        "calibration-intercept(slope='fitted')",
    ],
    "three classes": ["default", "recall[1]", "AUC[2]", "calibration-slope", "log-loss"],
    "labels": ["default", "precision[0]", "AP[1]"],
}


def rests(task: str, d: dict[str, npt.NDArray[Any]], **given: Any) -> tuple[Subsets, list[Measure]]:
    """The parts of the system of a task and its measures."""
    ev = TASKS[task](d, measures=MORE.get(task), interval="analytic", **given)
    source: Any = ev.sources
    (system,) = source.systems_by_name.values()
    (cut,), _ = define_slices(parse_slice_columns({"slice": d["slice"]}), None, ROWS)
    return Subsets(system, cut), list(source.measures)


@pytest.mark.parametrize("kind", ["none", "even", "hostile", "heavy slice", "light slice"])
@pytest.mark.parametrize("task", list(TASKS))
def test_the_rest_is_as_if_measured_by_its_rows(task: str, kind: str) -> None:
    """Values and their errors, where a slice holds nearly everything and where weights differ by
    twelve powers of ten: no digit is lost."""
    d = columns()
    parts, measures = rests(task, d, weight=weights(d, kind))
    for k in range(len(parts)):
        rest = parts.complement(k)
        assert rest is not None
        alone = parts.system.take_rows(parts.definition.codes != k)
        for measure in measures:
            ours, theirs = rest.point_estimate(measure), estimate_measure(alone, measure)
            assert ours.value == pytest.approx(theirs.value, rel=1e-11, abs=1e-12, nan_ok=True)
            of = ours.n if ours.n_total is None else ours.n_total
            assert (of, dict(ours.undefined)) == (theirs.n_total, dict(theirs.undefined))
            if measure.definition.interval == "recalibration" and theirs.undefined == {}:
                error = ours.standard_error
                assert isinstance(error, StandardError)
                width = 2 * normal_quantile(0.95) * error.se
                assert width == pytest.approx(theirs.high - theirs.low, rel=1e-9)


@pytest.mark.parametrize("kind", ["none", "hostile"])
def test_the_table_of_the_rest_is_that_of_its_rows(kind: str) -> None:
    d = columns()
    for scores in ("probability", "tied"):
        own = {**d, "probability": d[scores]}
        parts, measures = rests("two classes", own, weight=weights(d, kind))
        auc = measures[0]
        for k in range(len(parts)):
            theirs = parts.system.take_rows(parts.definition.codes != k).statistic(auc)
            rest = parts.complement(k)
            assert rest is not None
            ours = rest.statistic(auc)
            for name in (
                "scores",
                "positive",
                "negative",
                "positive_squares",
                "negative_squares",
            ):
                np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))
            assert vars(ours)["rows"] == vars(theirs)["rows"]


def test_one_slice_of_the_others_being_separated_does_not_hide_that_all_are() -> None:
    """No likeliest line of the rest where only the slice itself mixes the classes."""
    d = columns()
    d["probability"] = np.where(d["slice"] == "a", d["probability"], 0.1 + 0.8 * d["truth"])
    ev = TASKS["two classes"](
        d, measures=["calibration-slope"], slices={"slice": d["slice"]}, interval="analytic"
    )
    assert ev.slices is not None
    row = ev.slices["slice", "a", "calibration-slope"].vs_rest
    assert np.isnan(row.value)
    assert set(row.undefined) == {"separated"}
    assert np.isfinite(ev.slices["slice", "a", "calibration-slope"].estimate.value)


# --------------------------------------------------------------------------------- work, not time


@pytest.mark.parametrize(
    ("task", "system"),
    [
        ("two classes", BinaryOutput),
        ("three classes", MulticlassOutput),
        ("numbers", RegressionOutput),
    ],
)
def test_only_the_rows_of_the_slices_are_taken_out(
    task: str, system: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And not those of the rest, slice by slice. (Averages of scores over classes are drawn row by
    row, and how R² varies is found by leaving rows out.)"""
    taken = []
    take = system.take_rows  # type: ignore[attr-defined]

    def counted(self: Any, rows: Any) -> Any:
        taken.append(np.count_nonzero(rows) if rows.dtype == bool else len(rows))
        return take(self, rows)

    monkeypatch.setattr(system, "take_rows", counted)
    d = columns()
    measures = ["accuracy", "log-loss", "F1[1]", "AUC[2]"] if task == "three classes" else None
    measures = ["RMSE", "MAE"] if task == "numbers" else measures
    TASKS[task](d, measures=measures, slices={"slice": d["slice"]}, n_resamples=100)
    assert sum(taken) == ROWS


def test_scores_are_sorted_once_for_all_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten slices: rows are sorted for the table, the slices, in each slice and for duplicates;
    what is computed of each slice is computed once."""
    rows: list[int] = []

    def counted(name: str) -> None:
        call = getattr(_core, name)

        def replaced(*given: Any) -> Any:
            rows.append(len(given[0]))
            return call(*given)

        monkeypatch.setattr(_core, name, replaced)

    counted("score_table")
    counted("order_descending")
    random = np.random.default_rng(1)
    d = {**columns(), "slice": np.char.add("s", (np.arange(ROWS) % 10).astype(str))}
    d["truth"] = random.random(ROWS) < 0.5
    TASKS["two classes"](d, slices={"slice": d["slice"]}, n_resamples=100, measures=["AUC", "AP"])
    assert sum(rows) == 4 * ROWS
    read = []
    reading = BinaryOutput.point_estimate

    def once(self: BinaryOutput, measure: Measure) -> Any:
        read.append(len(self.labels.positive))
        return reading(self, measure)

    monkeypatch.setattr(BinaryOutput, "point_estimate", once)
    TASKS["two classes"](d, slices={"slice": d["slice"]}, n_resamples=100, measures=["AUC", "F1"])
    assert sum(rows for rows in read if rows < ROWS) == 2 * ROWS


def test_the_rest_of_the_only_slice_is_nothing() -> None:
    d = columns()
    parts, _ = rests("two classes", {**d, "slice": np.full(ROWS, "a")})
    assert parts.complement(0) is None
    assert isinstance(rests("labels", d)[0].complement(0), Complement)
    assert isinstance(rests("labels", d)[0].system, MultilabelOutput)
