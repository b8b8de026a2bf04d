"""``calipers learn validation-curve``, ``learning-curve`` and ``bias-variance``: what Python says of the same rows."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from click.testing import Result
from in_process import invoke
from pyarrow import csv
from sklearn.linear_model import LogisticRegression, Ridge

import calipers as cal


def calipers(*line: str) -> Result:
    return invoke(line)


RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(60, 3))
Y = X.sum(axis=1) + RANDOM.normal(size=60)
RIDGE = ("--truth", "y", "--estimator", "sklearn.linear_model.Ridge()")


PARTS = np.repeat(["train", "validation", "test"], [30, 15, 15])


@pytest.fixture
def table(tmp_path: Path) -> str:
    columns = {f"x{i}": X[:, i] for i in range(3)} | {"y": Y, "name": ["a"] * 60}
    columns |= {"part": PARTS, "kind": (Y > 1).astype(int)}
    csv.write_csv(pa.table(columns), tmp_path / "rows.csv")
    return str(tmp_path / "rows.csv")


FEATURES = ("--features", "x0,x1,x2")


def test_capacity(table: str) -> None:
    asked = ("--param-name", "alpha", "--param-range", "10,0.1", "--folds", "4", "--n-repeats", "2")
    done = calipers(
        "learn", "validation-curve", table, *RIDGE, *FEATURES, *asked, "--format", "json"
    )
    assert done.exit_code == 0, done.stderr
    made = cal.from_json(done.stdout)
    same = cal.validation_curve(
        Ridge(), X, Y, param_name="alpha", param_range=[10, 0.1], cv=4, n_repeats=2
    )
    assert made.rows() == same.rows()
    assert table in json.loads(done.stdout)["provenance"]["inputs"][0].values()


def test_growth_and_its_page(table: str, tmp_path: Path) -> None:
    page, result = tmp_path / "growth.html", tmp_path / "growth.json"
    asked = (
        "--train-sizes",
        "10,20,40",
        "--n-repeats",
        "1",
        "-o",
        str(result),
        "--report",
        str(page),
    )
    done = calipers("learn", "learning-curve", table, *RIDGE, *FEATURES, *asked)
    assert (done.exit_code, done.stdout) == (0, ""), done.stderr
    assert "Learning curve" in page.read_text(encoding="utf-8")
    for kind, begin in (
        ("table", "Learning curve"),
        ("markdown", "## Learning"),
        ("csv", "n,"),
        ("latex", r"\section*{Learning"),
        ("typst", "= Learning"),
        ("org", "* Learning"),
    ):
        shown = calipers("show", str(result), "--format", kind)
        assert shown.stdout.startswith(begin), shown.stderr


def test_one_split(table: str) -> None:
    asked = (
        "--param-name",
        "alpha",
        "--param-range",
        "10,0.1",
        "--split",
        "part",
        "--format",
        "json",
    )
    done = calipers("learn", "validation-curve", table, *RIDGE, *FEATURES, *asked)
    assert done.exit_code == 0, done.stderr
    same = cal.validation_curve(
        Ridge(), X, Y, param_name="alpha", param_range=[10, 0.1], split=PARTS
    )
    made = cal.from_json(done.stdout)
    assert (made.rows(), made.test) == (same.rows(), same.test)
    grown = calipers(
        "learn", "learning-curve", table, *RIDGE, *FEATURES, "--train-sizes", "10,30", *asked[4:]
    )
    known = cal.learning_curve(Ridge(), X, Y, train_sizes=[10, 30], split=PARTS)
    assert cal.from_json(grown.stdout).rows() == known.rows()


LOGISTIC = "sklearn.linear_model.LogisticRegression"


def test_selection(table: str) -> None:
    estimators = ("--estimator", f"a={LOGISTIC}(C=0.001)", "--estimator", f"b={LOGISTIC}")
    asked = ("--split", "part", "--threshold", "accuracy", "-m", "accuracy", "--inner-folds", "3")
    done = calipers(
        "learn", "select", table, "--truth", "kind", *estimators, *FEATURES, *asked,
        "--format", "json",
    )  # fmt: skip
    assert done.exit_code == 0, done.stderr
    same = cal.select_model(
        {"a": LogisticRegression(C=0.001), "b": LogisticRegression()}, X, (Y > 1).astype(int),
        split=PARTS, threshold="accuracy", measure="accuracy", inner_cv=3,
    )  # fmt: skip
    made = cal.from_json(done.stdout)
    assert made.rows() == same.rows()
    assert made.corrected == same.corrected
    assert made.tuned_thresholds[0].sentence == same.tuned_thresholds[0].sentence
    table_of = calipers("learn", "select", table, "--truth", "kind", *estimators, *FEATURES, *asked)
    assert table_of.stdout.startswith("Model selection")


def test_bias(table: str) -> None:
    asked = ("--training-sets", "4", "--noise", "1")
    done = calipers("learn", "bias-variance", table, *RIDGE, *FEATURES, *asked)
    same = cal.bias_variance(Ridge(), X, Y, training_sets=4, noise=1.0)
    assert done.stdout.strip() == str(same).strip(), done.stderr


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("validation-curve", "--param-name", "beta", "--param-range", "1,2"), "has no 'beta'"),
        (("learning-curve", "--train-sizes", "10,90"), "up to 48"),
        (("learning-curve", "--open"), "--open goes with"),
        (("bias-variance", "--bootstrap", "--param-name", "alpha"), "go together"),
        # What was given is called as it was given.
        (
            ("learning-curve", "--split", "part", "--folds", "3"),
            "--split determines the training rows",
        ),
        (("learning-curve", "--split", "part", "--n-repeats", "3"), "omit --n-repeats"),
        (("learning-curve", "--split", "name"), "--split: holds 'a', expected 'train'"),
        (("learning-curve", "--inner-folds", "3"), "as in --threshold F1"),
        (("learning-curve", "--threshold", "F1"), "--threshold requires two classes"),
        (("learning-curve", "--jobs", "0"), "--jobs is 0"),
        (("select", "--split", "part"), "there is one --estimator"),
    ],
)
def test_what_is_wrong_is_said(table: str, asked: tuple[str, ...], said: str) -> None:
    done = calipers("learn", asked[0], table, *RIDGE, *FEATURES, *asked[1:])
    assert done.exit_code > 0
    assert said in f"{done.stderr} {done.exception}"
