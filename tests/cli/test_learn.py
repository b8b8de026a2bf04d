"""``calipers learn``: the numbers of the library, from a table."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression

import calipers as cal
from calipers.cli.group import cli

X, Y = load_diabetes(return_X_y=True)


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "rows.csv"
    head = ",".join([*(f"x{i}" for i in range(10)), "y", "fold", "word"])
    rows = (
        ",".join([*map(repr, x.tolist()), repr(float(y)), str(k % 5), "a"])
        for k, (x, y) in enumerate(zip(X, Y, strict=True))
    )
    path.write_text("\n".join([head, *rows]) + "\n")
    return str(path)


def run(*arguments, code=0):
    made = CliRunner().invoke(cli, ["learn", "cv", *arguments])
    assert made.exit_code == code, made.output
    return made.output


FEATURES = ("--features", ",".join(f"x{i}" for i in range(10)))
OLS = ("--estimator", "sklearn.linear_model.LinearRegression")


def test_an_estimator_by_its_path(table, tmp_path):
    out = tmp_path / "out.json"
    run(table, "--truth", "y", *FEATURES, *OLS, "-m", "MSE", "-o", str(out),
        "--estimator", "ridge=sklearn.linear_model.Ridge(alpha=0.5, solver='svd')")  # fmt: skip
    found = cal.from_json(out)
    assert found.systems == ("LinearRegression", "ridge")
    assert found["LinearRegression", "MSE"].value == pytest.approx(2985.236633, rel=1e-9)
    assert found.provenance["conventions"]["cross-validation"] == "10-fold cross-validation"


def test_predictions_with_their_folds(table, tmp_path):
    said = LinearRegression().fit(X, Y).predict(X)
    path = tmp_path / "said.csv"
    lines = (
        f"{y!r},{p!r},{k % 5}"
        for k, (y, p) in enumerate(zip(Y.tolist(), said.tolist(), strict=True))
    )
    path.write_text("y,p,fold\n" + "\n".join(lines) + "\n")
    shown = run(str(path), "--truth", "y", "--predicted", "ols=p", "--fold", "fold",
                "--task", "regression", "-m", "MSE", "--format", "json")  # fmt: skip
    [estimate] = json.loads(shown)["systems"][0]["estimates"]
    losses = (said - Y) ** 2
    folds = np.arange(len(Y)) % 5
    expected = np.mean([losses[folds == k].mean() for k in range(5)])
    assert estimate["value"] == pytest.approx(expected, rel=1e-12)
    assert estimate["unit"] == "folds"


@pytest.fixture
def scored(tmp_path):
    random = np.random.default_rng(0)
    truth = random.integers(0, 2, 90)
    score = truth + random.normal(size=90)
    part = np.repeat(["train", "validation", "test"], 30)
    lines = (f"{t},{s!r},{p}" for t, s, p in zip(truth, score.tolist(), part, strict=True))
    path = tmp_path / "scored.csv"
    path.write_text("kind,s,part\n" + "\n".join(lines) + "\n")
    return str(path), truth, score, part


def test_a_threshold_is_chosen_on_the_validation_rows(scored, tmp_path):
    path, truth, score, part = scored
    out = tmp_path / "out.json"
    run(path, "--truth", "kind", "--score", "net=s", "--split", "part", "--threshold", "accuracy",
        "-m", "accuracy", "-o", str(out))  # fmt: skip
    made = cal.from_json(out)
    [found] = made.tuned_thresholds
    validation, test = part == "validation", part == "test"
    right = [(score[validation] >= t) == truth[validation] for t in score[validation]]
    assert found.apparent_tuned == max(of.mean() for of in right)
    [threshold] = found.thresholds
    assert made["accuracy"].value == ((score[test] >= threshold) == truth[test]).mean()
    assert found.sentence in made.notes


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--split", "part", "--threshold", "speed"), "--threshold: rule 'speed'"),
        (("--split", "part", "--on", "validation", "--threshold", "F1"), "with --on test"),
        (("--fold", "part", "--folds", "3"), "--folds goes with an estimator"),
        (("--fold", "part", "--on", "test"), "--on requires --split"),
        ((), "predictions with --fold, the fold of each, or with --split"),
        (("--fold", "part", "--interval", "nested"), "give --estimator"),
    ],
)
def test_messages_call_options_by_their_names(scored, more, message):
    made = CliRunner().invoke(
        cli, ["learn", "cv", scored[0], "--truth", "kind", "--score", "s", *more]
    )
    assert isinstance(made.exception, cal.InputError)
    assert message in str(made.exception)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ((*OLS,), "column 'word' is not numeric"),
        (("--estimator", "sklearn.linear_model.Rdge", *FEATURES), "has no attribute 'Rdge'"),
        (("--estimator", "Ridge", *FEATURES), "expected the path of a class"),
        (("--estimator", "sklearn.linear_model.Ridge(5)", *FEATURES), "'5' is not name=value"),
        (("--estimator", "sklearn.linear_model.Ridge(a=5)", *FEATURES), "unexpected keyword"),
        (("--fold", "fold", "--predicted", "x0", *FEATURES), "go with --estimator"),
    ],
)
def test_what_is_refused(table, more, message):
    assert message in " ".join(run(table, "--truth", "y", *more, code=2).split())


@pytest.mark.slow
def test_slices_and_costs_of_a_table(table, tmp_path):
    rows = [line.split(",") for line in Path(table).read_text().split()]
    lines = [[*rows[0], "site", "ms"]]
    lines += [[*row, f"0{k % 3}", str(k % 7)] for k, row in enumerate(rows[1:])]
    path = tmp_path / "sliced.csv"
    path.write_text("\n".join(map(",".join, lines)) + "\n")
    shown = run(str(path), "--truth", "y", *FEATURES, *OLS, "-m", "MSE", "--slice", "site",
                "--slice", "x0*site", "--slice-bins", "x0=0", "--cost", "latency=ms",
                "--cost", "price=0.5", "--format", "json")  # fmt: skip
    found = cal.Evaluation.from_dict(json.loads(shown))
    site = np.array([f"0{k % 3}" for k in range(len(Y))])
    expected = cal.cross_validate(
        LinearRegression(), X, Y, measures="MSE", slices={"site": site, "x0*site": (X[:, 0], site)},
        slice_bins={"x0": [0.0]}, cost={"latency": np.arange(len(Y)) % 7, "price": 0.5},
    )  # fmt: skip
    assert [s.slice for s in found.slices] == [s.slice for s in expected.slices]
    assert [s.estimate.value for s in found.slices] == pytest.approx(
        [s.estimate.value for s in expected.slices]
    )
    assert found["mean-cost[latency]"].value == pytest.approx((np.arange(len(Y)) % 7).mean())
    # Slices that are text are no features, nor are costs.
    run(str(path), "--truth", "y", *OLS, "-m", "MSE", "--slice", "site", "--slice", "word")
    run(str(path), "--truth", "y", *OLS, "--slice-bins", "x0:0", code=2)
