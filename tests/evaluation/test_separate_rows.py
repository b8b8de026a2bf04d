"""Confusion matrices either way round, and several side by side, with the numbers of textbooks that
print a row for each predicted class."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import calipers as cal
from calipers.data.confusion_matrices import axis_role, parse_header
from calipers.report.figures.plane import DISTANCE_HEADING

#: Cancer tests of 2,030 people: a row for each answer, positive first.
CANCER = [[20, 180], [10, 1820]]
VIRUS = [[595, 4965], [105, 94335]]
#: People in images: a row for each recognized class.
PEOPLE, CLASSES = [[13, 4, 2], [2, 15, 1], [5, 1, 57]], ["Woman", "Man", "Child"]
#: Four methods on as many positives as negatives.
FOUR = {
    "A": [[95, 30], [5, 70]],
    "B": [[40, 80], [60, 20]],
    "C": [[90, 70], [10, 30]],
    "D": [[60, 5], [40, 95]],
}
#: Five models that retrieve some of 120 documents, 100 of which are relevant.
FIVE = {
    "Model 1": [[80, 0], [20, 20]],
    "Model 2": [[70, 20], [30, 0]],
    "Model 3": [[100, 20], [0, 0]],
    "Model 4": [[0, 0], [100, 20]],
    "Model 5": [[50, 0], [50, 20]],
}
TWO: dict[str, Any] = {"labels": ["yes", "no"], "positive": "yes"}
RATES = ["PPV", "TPR"]
PLAIN: dict[str, Any] = {"interval": "none", "curves": False}


def values(ev: cal.Evaluation) -> list[float]:
    return [e.value for e in ev]


def four(**options: Any) -> cal.Evaluation:
    return cal.classification(confusion=FOUR, rows="predicted", **{**TWO, **options})


# --- Which way round ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("matrix", "printed"),
    [
        (CANCER, {"PPV": 0.10, "NPV": 0.995, "TPR": 0.67, "TNR": 0.91, "ACC": 0.906}),
        (VIRUS, {"PPV": 0.11, "NPV": 0.999, "TPR": 0.85, "TNR": 0.95, "ACC": 0.95}),
    ],
)
def test_the_tests_of_the_lectures(matrix: list[list[int]], printed: dict[str, float]) -> None:
    of = {**TWO, "measures": list(printed), **PLAIN}
    found = values(cal.classification(confusion=matrix, rows="predicted", **of))
    for value, (name, expected) in zip(found, printed.items(), strict=True):
        assert value == pytest.approx(expected, abs=0.005), name
    turned = np.transpose(matrix)
    assert values(cal.classification(confusion=turned, rows="truth", **of)) == found


def test_classes_of_the_lectures() -> None:
    printed = {
        "accuracy": 0.85, "error-rate": 0.15,
        "precision[Woman]": 0.68, "NPV[Woman]": 0.91, "recall[Woman]": 0.65,
        "specificity[Woman]": 0.93, "accuracy[Woman]": 0.87,
        "precision[Child]": 0.90, "NPV[Child]": 0.92, "recall[Child]": 0.95,
        "specificity[Child]": 0.85, "accuracy[Child]": 0.91,
    }  # fmt: skip
    ev = cal.classification(
        confusion=PEOPLE, rows="predicted", labels=CLASSES, measures=list(printed), **PLAIN
    )
    assert values(ev) == pytest.approx(list(printed.values()), abs=0.0051)
    assert ev.confusion.table("predicted-rows").tolist() == PEOPLE


def _doors(tmp_path: Path) -> dict[str, dict[str, Any]]:
    """The same matrix in every form, each of which says that its rows are predictions."""
    index = pd.Index(["yes", "no"], name="predicted")
    columns = pd.Index(["yes", "no"], name="cancer")
    frame = pd.DataFrame(CANCER, index=index, columns=columns)
    unnamed = pd.DataFrame(CANCER, index=["yes", "no"], columns=["yes", "no"])
    headed = {r"predicted\truth": ["yes", "no"], "yes": [20, 10], "no": [180, 1820]}
    saved = cal.classification(confusion=CANCER, rows="predicted", **TWO)
    files = {name: tmp_path / f"m.{name}" for name in ("csv", "tsv", "parquet", "jsonl", "json")}
    table = pd.DataFrame(headed)
    table.to_csv(files["csv"], index=False)
    table.to_csv(files["tsv"], index=False, sep="\t")
    table.to_parquet(files["parquet"], index=False)
    table.to_json(files["jsonl"], orient="records", lines=True)
    files["json"].write_text(json.dumps(headed))
    result = tmp_path / "result.json"
    result.write_text(saved.to_json(details=True))
    kept, records = tmp_path / "kept.json", tmp_path / "records.json"
    kept.write_text(cal.keep_predictions(saved).to_json())
    records.write_text(json.dumps(table.to_dict("records")))
    return {
        "lists": {"confusion": CANCER, "rows": "predicted", "labels": ["yes", "no"]},
        "array": {"confusion": np.array(CANCER), "rows": "predicted", "labels": ["yes", "no"]},
        "columns": {"confusion": {"yes": [20, 10], "no": [180, 1820]}, "rows": "predicted"},
        "predicted": {
            "confusion": {"no": [1820, 180], "yes": [10, 20]},
            "predicted": ["no", "yes"],
        },
        "header": {"confusion": headed},
        "inverse header": {
            "confusion": {"truth/predicted": ["no", "yes"], "no": [1820, 10], "yes": [180, 20]}
        },
        "axes": {"confusion": frame},
        "axes turned": {"confusion": frame.T},
        "frame": {"confusion": unnamed, "rows": "predicted"},
        "dict of dicts": {"confusion": unnamed.to_dict(), "rows": "predicted"},
        "labels": {
            "confusion": pd.DataFrame(CANCER, ["predicted yes", "predicted no"], ["yes", "no"])
        },
        "label columns": {
            "confusion": pd.DataFrame(CANCER, ["yes", "no"], ["actual yes", "actual no"])
        },
        "result": {"confusion": saved.confusion},
        "evaluation": {"confusion": saved},
        "result file": {"confusion": result},
        "kept file": {"confusion": kept},
        "records": {"confusion": records},
        **{name: {"confusion": path} for name, path in files.items()},
        "path as text": {"confusion": str(files["csv"])},
    }


def test_every_door_takes_a_row_for_each_predicted_class(tmp_path: Path) -> None:
    for name, asked in _doors(tmp_path).items():
        ev = cal.classification(**asked, positive="yes", measures=RATES, **PLAIN)
        assert values(ev) == pytest.approx([0.1, 2 / 3]), name
        if "rows" in asked:
            turned = cal.classification(
                **{**asked, "rows": "truth"}, positive="yes", measures=RATES, **PLAIN
            )
            assert values(turned) == pytest.approx([2 / 3, 0.1]), name


def test_rows_and_columns_with_names_of_their_own() -> None:
    """As in "retrieved" against "relevant", which say themselves what they are."""
    frame = pd.DataFrame(
        FIVE["Model 2"], ["Retrieved", "Not retrieved"], ["Relevant", "Irrelevant"]
    )
    ev = cal.classification(confusion=frame, positive="Relevant", measures=RATES, **PLAIN)
    assert values(ev) == pytest.approx([7 / 9, 0.7])
    assert "'Retrieved' of 'Relevant', 'Not retrieved' of 'Irrelevant'" in ev.notes[0]
    lecture = pd.DataFrame(CANCER, ["True", "False"], ["Positive", "Negative"])
    ev = cal.classification(
        confusion=lecture, rows="predicted", positive="Positive", measures=RATES, **PLAIN
    )
    assert values(ev) == pytest.approx([0.1, 2 / 3])
    with pytest.raises(cal.InputError, match="its rows are called True, False, its columns"):
        cal.classification(confusion=lecture, positive="Positive")


@pytest.mark.parametrize(
    "given",
    [
        {"confusion": CANCER, **TWO},
        {"confusion": np.array(CANCER), **TWO},
        {"confusion": {"yes": [20, 10], "no": [180, 1820]}, "positive": "yes"},
        {"confusion": pd.DataFrame(CANCER, ["yes", "no"], ["yes", "no"])},
        {"confusion": {"x": ["yes", "no"], "yes": [20, 10], "no": [180, 1820]}},
    ],
)
def test_a_matrix_that_does_not_say_is_refused_with_both_readings(given: dict[str, Any]) -> None:
    with pytest.raises(cal.InputError) as raised:
        cal.classification(**given)
    said = str(raised.value)
    assert "For 'yes', rows='predicted' gives PPV 10% and TPR 67%; rows='truth'" in said
    assert "gives PPV 67% and TPR 10%" in said


def test_a_symmetric_matrix_need_not_say() -> None:
    for rows in (None, "truth", "predicted"):
        ev = cal.classification(confusion=[[7, 2], [2, 9]], rows=rows, measures=RATES, **PLAIN)
        assert values(ev) == [9 / 11, 9 / 11]
    # Rows in another order than the columns are the same classes.
    frame = pd.DataFrame([[2, 9], [7, 2]], ["b", "a"], ["a", "b"])
    ev = cal.classification(confusion=frame, positive="b", measures=RATES, **PLAIN)
    assert values(ev) == [9 / 11, 9 / 11]


def test_a_class_that_nobody_predicts() -> None:
    crossed = pd.crosstab(
        pd.Series(list("aabbc"), name="actual"), pd.Series(list("ababa"), name="predicted")
    )
    assert crossed.shape == (3, 2)
    ev = cal.classification(confusion=crossed, measures=["accuracy", "recall[c]"], **PLAIN)
    assert values(ev) == pytest.approx([0.4, 0.0])
    turned = cal.classification(confusion=crossed.T, measures=["accuracy", "recall[c]"], **PLAIN)
    assert values(turned) == values(ev)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"rows": "columns"}, "rows is 'columns', expected one of truth, predicted"),
        ({"rows": "predicted", "truth": ["yes", "no"]}, "rows='predicted' contradicts truth="),
        (
            {"confusion": {r"predicted\truth": ["yes", "no"], "yes": [1, 2], "no": [3, 4]},
             "rows": "truth"},
            "rows='truth' contradicts the names of its rows and columns",
        ),
        (
            {"confusion": pd.DataFrame(CANCER, pd.Index([0, 1], name="actual"),
                                       pd.Index([0, 1], name="truth"))},
            "both its rows and its columns are called the truth",
        ),
        (
            {"confusion": pd.DataFrame([[20, 180, 200], [10, 1820, 1830], [30, 2000, 2030]],
                                       ["yes", "no", "All"], ["yes", "no", "All"])},
            "the row 'All' is the sum of the others",
        ),
        ({"confusion": {"a": ["x", "y"], "b": ["u", "v"], "c": ["s", "t"], "n": [1, 2]}},
         "hold text; expected counts"),
        ({"confusion": "no such.csv"}, "no such.csv: no such file"),
        ({"confusion": {"A": CANCER, "B": [[1, 2, 3], [4, 5, 6], [7, 8, 9]]},
          "rows": "truth"},
         "confusion 'B': has 3 columns, labels= names 2 classes"),
        ({"confusion": {"A": CANCER, "B": [[0, 0], [0, 0]]}, "rows": "truth"},
         "confusion 'B': all counts are 0"),
        ({"confusion": FOUR, "rows": "truth", "slices": {"x": [1, 2]}}, "slices= requires rows"),
        ({"confusion": FOUR, "rows": "truth", "cluster": [1, 2]}, "cluster= requires rows"),
        ({"confusion": FOUR, "rows": "truth", "compare": False, "baseline": "A"},
         "compare=False turns off"),
    ],
)  # fmt: skip
def test_what_is_wrong(asked: dict[str, Any], message: str) -> None:
    given = {"confusion": CANCER, **asked}
    labels = TWO if "B" in given["confusion"] or "confusion" not in asked else {}
    with pytest.raises(cal.InputError) as raised:
        cal.classification(**given, **labels)
    assert message in str(raised.value)


def test_rows_goes_with_a_matrix() -> None:
    with pytest.raises(cal.InputError, match="rows: requires confusion="):
        cal.classification([0, 1], [1, 1], rows="truth")


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("Actual Condition (as observed)", "truth"),
        ("Predicted Condition (as computed)", "predicted"),
        ("Recognized Class", "predicted"),
        ("y_true", "truth"),
        ("cancer", None),
        ("predicted truth", None),
        (7, None),
    ],
)
def test_what_a_name_says(name: Any, what: str | None) -> None:
    assert axis_role(name) == what


def test_headers() -> None:
    told = {r"predicted\truth": "predicted", r"truth \ predicted": "truth",
            "actual / predicted": "truth", "pred vs true": "predicted", "prediction": "predicted",
            r"truth\actual": None, r"a\b": None}  # fmt: skip
    assert {name: parse_header(name) for name in told} == told


# --- Several side by side -------------------------------------------------------------------------


def test_four_methods_as_printed() -> None:
    ev = four(measures=["TPR", "FPR", "PPV", "NPV", "ACC"])
    printed = {
        "A": [95, 30, 76, 93, 83],
        "B": [40, 80, 33, 25, 30],
        "C": [90, 70, 56, 75, 60],
        "D": [60, 5, 92, 70, 78],
    }
    for system, numbers in printed.items():
        found = [e.value * 100 for e in ev if e.system == system]
        assert found == pytest.approx(numbers, abs=0.51), system
        assert [e.n for e in ev if e.system == system] == [200] * 5
        alone = cal.classification(confusion=FOUR[system], rows="predicted", **TWO,
                                   measures=["TPR", "FPR", "PPV", "NPV", "ACC"])  # fmt: skip
        both = [[(e.value, e.low, e.high) for e in of if e.system in (system, "system")]
                for of in (ev, alone)]  # fmt: skip
        assert both[0] == both[1], system


def test_five_models_as_printed() -> None:
    frames = {
        name: pd.DataFrame(m, ["Retrieved", "Not-Retrieved"], ["Relevant", "Irrelevant"])
        for name, m in FIVE.items()
    }
    names = ["precision", "recall", "accuracy", "F1"]
    ev = cal.classification(confusion=frames, positive="Relevant", measures=names)
    printed = {
        "precision": [1, 0.78, 0.83, math.nan, 1],
        "recall": [0.8, 0.7, 1, 0, 0.5],
        "accuracy": [0.83, 0.58, 0.83, 0.167, 0.58],
        "F1": [0.89, 0.74, 0.91, 0, 0.67],
    }
    for name, numbers in printed.items():
        found = [ev[system, name].value for system in FIVE]
        assert found == pytest.approx(numbers, abs=0.0051, nan_ok=True), name
    assert ev.comparison is not None


def test_a_table_names_systems_before_the_classes() -> None:
    lines = [(n, label, *row) for n, m in FOUR.items()
             for label, row in zip(["yes", "no"], m, strict=True)]  # fmt: skip
    table = pd.DataFrame(lines, columns=["method", r"predicted\truth", "yes", "no"])
    ev = cal.classification(confusion=table, positive="yes", measures=RATES, **PLAIN)
    assert ev.systems == tuple(FOUR)
    assert values(ev) == values(four(measures=RATES, **PLAIN))
    results = cal.classification(confusion=four(measures=RATES), positive="yes", **PLAIN)
    assert results.systems == ev.systems


def test_systems_are_compared_as_independent_samples() -> None:
    ev = cal.classification(confusion={k: FOUR[k] for k in "AC"}, rows="predicted", **TWO,
                            measures=["accuracy", "MCC"])  # fmt: skip
    assert ev.comparison is not None
    first, second = ev.comparison
    # Newcombe's tenth method by hand, and SciPy's Fisher.
    wilson = {k: stats.binomtest(n, 200).proportion_ci(0.95, "wilson")
              for k, n in (("A", 165), ("C", 120))}  # fmt: skip
    a, c = 165 / 200, 120 / 200
    low = c - a - math.hypot(c - wilson["C"].low, wilson["A"].high - a)
    high = c - a + math.hypot(wilson["C"].high - c, a - wilson["A"].low)
    assert (first.low, first.high) == pytest.approx((low, high))
    assert first.p == pytest.approx(stats.fisher_exact([[165, 35], [120, 80]]).pvalue)
    assert first.n == 400
    for d in (first, second):
        assert d.test.endswith("independent samples")
        assert d.method.endswith("independent samples")
    one = {e.system: e for e in ev if e.measure == "MCC"}
    alone = [
        cal.classification(confusion=FOUR[k], rows="predicted", **TWO, measures=["MCC"],
                           interval="delta")["MCC"].standard_error
        for k in "AC"
    ]  # fmt: skip
    assert second.standard_error == pytest.approx(math.hypot(*alone))
    assert second.value == pytest.approx(one["C"].value - one["A"].value)
    assert sum("independent samples" in note for note in ev.notes) == 1


def test_matrices_that_are_the_same_do_not_vary_together() -> None:
    """Drawn from one seed, their difference would be 0 in every draw."""
    same = {"a": FOUR["A"], "b": FOUR["A"]}
    ev = cal.classification(confusion=same, rows="predicted", **TWO, measures=["MCC"])
    for interval in ("auto", "bootstrap"):
        [d] = ev.compare(interval=interval)
        assert d.value == 0
        assert d.high - d.low > 0.2
        assert d.p > 0.9


def test_differences_of_a_system_vary_together() -> None:
    """Of three systems alike each pair shares one with the others, so that the largest of three
    differences is a little smaller than that of three apart; by Tukey's studentized range."""
    like = {name: [[500, 300], [500, 700]] for name in "abc"}
    ev = cal.classification(
        confusion=like, rows="predicted", **TWO, measures=["balanced-accuracy"],
        interval="analytic",
    )  # fmt: skip
    [d, *_] = ev.compare(test="normal", adjust="none")
    [joint, *_] = ev.compare()
    by_range = stats.studentized_range.ppf(0.95, 3, 1e6) / math.sqrt(2)
    assert (joint.high - joint.low) / 2 / d.standard_error == pytest.approx(by_range, rel=0.05)


def test_named_tests_of_independent_samples() -> None:
    ev = four(measures=["accuracy"])
    for test in ("normal", "bootstrap"):
        made = ev.compare(baseline="A", test=test, margin=0.2)
        assert {d.test for d in made} == {f"{test}, independent samples"}
        apart = {d.system: d for d in made}
        assert apart["D"].p_noninferiority < 0.05 < apart["B"].p_noninferiority
    with pytest.raises(cal.InputError, match="independent samples have 'auto', 'bootstrap' and"):
        ev.compare(test="mcnemar")


def test_without_a_comparison() -> None:
    ev = four(compare=False)
    assert ev.comparison is None
    assert not any("compared" in note for note in ev.notes)
    assert len(ev.compare()) == 60  # it can be made later
    rows = {"y": [0, 1, 1, 0], "a": [0, 1, 0, 0], "b": [1, 1, 0, 0]}
    for data in (rows, pd.DataFrame(rows)):
        for engine in ("memory", "stream"):
            made = cal.classification("y", ["a", "b"], data=data, compare=False, engine=engine,
                                      measures=["accuracy"])  # fmt: skip
            assert made.comparison is None


def test_several_classes_side_by_side() -> None:
    other = [[15, 3, 2], [2, 16, 1], [3, 1, 57]]
    ev = cal.classification(confusion={"old": PEOPLE, "new": other}, rows="predicted",
                            labels=CLASSES, measures=["accuracy", "macro-F1"])  # fmt: skip
    assert [ev[s, "accuracy"].value for s in ("old", "new")] == [0.85, 0.88]
    assert ev.confusion["new"].table("predicted-rows").tolist() == other
    assert ev.comparison is not None
    assert all("independent samples" in d.test for d in ev.comparison)
    assert ev.per_class("new") is not None


def test_what_needs_rows_in_common_says_so() -> None:
    ev = four(measures=["accuracy"])
    with pytest.raises(cal.InputError, match="separate confusion matrices share no rows"):
        cal.best_system(ev)


# --- Another day ----------------------------------------------------------------------------------


@pytest.mark.parametrize("several_classes", [False, True])
def test_matrices_are_kept_and_compared_with_later_ones(
    tmp_path: Path, *, several_classes: bool
) -> None:
    old, new = (PEOPLE, [[18, 3, 2], [1, 16, 1], [1, 1, 57]]) if several_classes else (
        FOUR["C"], FOUR["A"])  # fmt: skip
    of: dict[str, Any] = {"labels": CLASSES} if several_classes else TWO
    of = {**of, "rows": "predicted", "measures": ["accuracy"]}
    path = tmp_path / "old.json"
    path.write_text(cal.keep_predictions(cal.classification(confusion=old, **of)).to_json())
    ev = cal.classification(confusion=new, baseline=path, **of)
    assert ev.systems == ("system", "old")
    at_once = cal.classification(confusion={"old": old, "new": new}, **of)
    assert ev.comparison is not None
    assert at_once.comparison is not None
    [then], [now] = ev.comparison, at_once.comparison
    assert (then.value, then.low, then.p) == pytest.approx((now.value, now.low, now.p))
    # Classes in another order are the same classes.
    turned = {**of, "labels": of["labels"][::-1]}
    again = cal.classification(confusion=np.array(new)[::-1, ::-1], baseline=path, **turned)
    assert again["old", "accuracy"].value == ev["old", "accuracy"].value


def test_kept_matrices_are_no_rows(tmp_path: Path) -> None:
    matrix, rows = tmp_path / "matrix.json", tmp_path / "rows.json"
    matrix.write_text(cal.keep_predictions(four(measures=["accuracy"])).to_json())
    of_rows = cal.classification([0, 1, 1], [0, 1, 0], measures=["accuracy"])
    rows.write_text(cal.keep_predictions(of_rows).to_json())
    with pytest.raises(cal.InputError, match="has stored confusion matrices, which have no rows"):
        cal.classification([0, 1, 1], [0, 1, 0], baseline=f"{matrix}:A")
    with pytest.raises(
        cal.InputError, match="has stored rows, but the new system is a confusion matrix"
    ):
        cal.classification(confusion=[[1, 2], [2, 3]], baseline=rows)
    with pytest.raises(cal.InputError, match="the classes were"):
        cal.classification(confusion=[[1, 2], [2, 3]], baseline=f"{matrix}:A")
    held = json.loads(matrix.read_text())
    held["predictions"]["systems"]["A"]["counts"][0][0] = -1
    matrix.write_text(json.dumps(held))
    with pytest.raises(cal.InputError, match="damaged; expected counts of 2 classes"):
        cal.classification(confusion=FOUR["B"], rows="predicted", **TWO, baseline=f"{matrix}:A")


# --- The ROC plane --------------------------------------------------------------------------------


def test_the_roc_plane_names_points_and_inverts_what_lies_below() -> None:
    chart = four(measures=["accuracy"]).chart("ROC")
    layers = chart.spec["layer"]
    texts = [row for layer in layers if layer["mark"].get("type") == "text"
             for row in layer["data"]["values"]]  # fmt: skip
    named = {row["name"]: (row["x"], row["y"]) for row in texts}
    assert set(named) == {"A", "B", "B′", "C", "D"}
    assert named["B′"] == pytest.approx((0.2, 0.6))
    [figure] = chart.figures
    assert figure.header[-1] == DISTANCE_HEADING
    distances = {row[0]: row[-1] for row in figure.rows}
    expected = {"A": 0.65, "C": 0.2, "D": 0.55, "B′: B reversed": 0.4}
    for name, j in expected.items():
        assert distances[name] == f"{j / math.sqrt(2):.4f}", name
    assert distances["B"] == f"−{0.4 / math.sqrt(2):.4f}"
    assert "B′ is B, which is below the diagonal" in chart.caption
    assert "a dashed line joins the two" in chart.caption  # beside those of chance


def test_the_distance_to_the_diagonal_is_a_measure() -> None:
    ev = four(measures=["diagonal-distance", "J"])
    for system in FOUR:
        far, j = ev[system, "diagonal-distance"], ev[system, "J"]
        both = zip((far.value, far.low, far.high), (j.value, j.low, j.high), strict=True)
        assert all(d == pytest.approx(of / math.sqrt(2)) for d, of in both)
