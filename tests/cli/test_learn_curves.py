"""``calipers learn capacity``, ``growth`` and ``bias``: what Python says of the same rows."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from click.testing import Result
from in_process import invoke
from pyarrow import csv
from sklearn.linear_model import Ridge

import calipers as cal


def calipers(*line: str) -> Result:
    return invoke(line)


RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(60, 3))
Y = X.sum(axis=1) + RANDOM.normal(size=60)
RIDGE = ("--truth", "y", "--estimator", "sklearn.linear_model.Ridge()")


@pytest.fixture
def table(tmp_path: Path) -> str:
    columns = {f"x{i}": X[:, i] for i in range(3)} | {"y": Y, "name": ["a"] * 60}
    csv.write_csv(pa.table(columns), tmp_path / "rows.csv")
    return str(tmp_path / "rows.csv")


FEATURES = ("--features", "x0,x1,x2")


def test_capacity(table: str) -> None:
    asked = ("--parameter", "alpha", "--values", "10,0.1", "--folds", "4", "--repeats", "2")
    done = calipers("learn", "capacity", table, *RIDGE, *FEATURES, *asked, "--format", "json")
    assert done.exit_code == 0, done.stderr
    made = cal.from_json(done.stdout)
    same = cal.validation_curve(
        Ridge(), X, Y, parameter="alpha", values=[10, 0.1], folds=4, repeats=2
    )
    assert made.rows() == same.rows()
    assert table in json.loads(done.stdout)["provenance"]["inputs"][0].values()


def test_growth_and_its_page(table: str, tmp_path: Path) -> None:
    page, result = tmp_path / "growth.html", tmp_path / "growth.json"
    asked = ("--sizes", "10,20,40", "--repeats", "1", "-o", str(result), "--report", str(page))
    done = calipers("learn", "growth", table, *RIDGE, *FEATURES, *asked)
    assert (done.exit_code, done.stdout) == (0, ""), done.stderr
    assert "Learning curve" in page.read_text(encoding="utf-8")
    for kind, begin in (("table", "Learning curve"), ("markdown", "## Learning"), ("csv", "n,")):
        shown = calipers("show", str(result), "--format", kind)
        assert shown.stdout.startswith(begin), shown.stderr
    assert "cannot be written as latex" in calipers("show", str(result), "--format", "latex").stderr


def test_bias(table: str) -> None:
    asked = ("--training-sets", "4", "--noise", "1")
    done = calipers("learn", "bias", table, *RIDGE, *FEATURES, *asked)
    same = cal.bias_variance(Ridge(), X, Y, training_sets=4, noise=1.0)
    assert done.stdout.strip() == str(same).strip(), done.stderr


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("capacity", "--parameter", "beta", "--values", "1,2"), "has no 'beta'"),
        (("growth", "--sizes", "10,90"), "up to 48"),
        (("growth", "--open"), "--open goes with"),
        (("bias", "--bootstrap", "--parameter", "alpha"), "go together"),
    ],
)
def test_what_is_wrong_is_said(table: str, asked: tuple[str, ...], said: str) -> None:
    done = calipers("learn", asked[0], table, *RIDGE, *FEATURES, *asked[1:])
    assert done.exit_code > 0
    assert said in f"{done.stderr} {done.exception}"
