"""``calipers compare``, on the demonstration data and on files as users have them."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import sys
from contextlib import redirect_stderr, redirect_stdout
from importlib import resources
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from in_process import invoke
from scipy import stats

import calipers as cal
from calipers.cli import main

DEMO = Path(str(resources.files("calipers").joinpath("data", "demo")))
CANCER = str(DEMO / "breast_cancer.csv")
DIABETES = str(DEMO / "diabetes.csv")
DIGITS = [str(DEMO / "digits" / f"{name}.gz") for name in ("qrels.txt", "nca.run", "pixels.run")]

OF_CANCER = ["compare", "classification", CANCER, "--truth", "diagnosis", "--positive", "malignant",
             "--probability", "p_logistic", "--probability", "p_forest"]  # fmt: skip
OF_DIABETES = ["compare", "regression", DIABETES, "--truth", "progression", "--predicted",
               "pred_ridge", "--predicted", "pred_forest"]  # fmt: skip
FEW = ["--n-resamples", "200"]


def done(*line: str) -> str:
    """What a command prints that succeeds."""
    found = invoke([*line, *FEW])
    assert found.exit_code == 0, found.stderr
    return found.stdout


def refused(*line: str) -> str:
    """What a command says that fails."""
    out, err = io.StringIO(), io.StringIO()
    given = mock.patch.object(sys, "argv", ["calipers", *line])
    with given, redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as code:
        main()
    assert code.value.code in (2, 3)  # the line, or the data
    assert not out.getvalue()
    return err.getvalue()


@pytest.fixture
def five(tmp_path: Path) -> str:
    """A tidy table of five systems by two measures."""
    rng = np.random.default_rng(0)
    base = rng.beta(2, 3, 40)
    path = tmp_path / "five.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(["system", "topic", "measure", "value"])
        for place in range(5):
            for measure in ("AP", "RR"):
                values = np.clip(base + rng.normal(0.03 * place, 0.1, 40), 0, 1)
                out.writerows(
                    [f"run{place}", f"q{topic}", measure, value]
                    for topic, value in enumerate(values)
                )
    return str(path)


@pytest.mark.slow
def test_retrieval(tmp_path: Path) -> None:
    report = tmp_path / "runs.html"
    text = done("compare", "retrieval", *DIGITS, "-m", "AP", "-m", "nDCG@10", "--report",
                str(report))  # fmt: skip
    assert "pixels - nca" in text
    assert "paired t and Bayesian bootstrap (larger p)" in text
    expected = cal.retrieval(*DIGITS[:1], DIGITS[1:], measures=["AP"]).compare()["AP"]
    assert f"{expected.value:.3f}" in text
    page = report.read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert len(page) < 1_500_000
    assert "AP by topic" in page


def test_classification_is_the_comparison_of_the_evaluation() -> None:
    found = json.loads(done(*OF_CANCER, "-m", "AUC", "--baseline", "p_logistic", "--margin",
                            "0.01", "--format", "json"))  # fmt: skip
    [row] = found["differences"]
    with Path(CANCER).open(encoding="utf-8") as file:
        table = list(csv.DictReader(file))
    truth = [row["diagnosis"] for row in table]
    score = {s: [float(row[s]) for row in table] for s in ("p_logistic", "p_forest")}
    [d] = cal.classification(
        truth, probability=score, positive="malignant", measures=["AUC"]
    ).compare("p_logistic", margin=0.01)
    assert (row["value"], row["p"]) == (d.value, d.p)
    assert row["p_equivalence"] == d.p_equivalence
    assert row["margin"] == 0.01
    assert found["error_rate"] == "nothing"


def test_multilabel(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    truth = rng.random((60, 3)) < 0.4
    path = tmp_path / "labels.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow([f"{of}_{label}" for of in ("t", "a", "b") for label in "xyz"])
        a = truth ^ (rng.random(truth.shape) < 0.1)
        b = truth ^ (rng.random(truth.shape) < 0.4)
        out.writerows(np.hstack([truth, a, b]).astype(int).tolist())
    text = done("compare", "multilabel", str(path), "--truth", "t_*", "--predicted", "a=a_*",
                "--predicted", "b=b_*", "-m", "Hamming-loss")  # fmt: skip
    assert "b has a higher (worse) Hamming-loss than a" in text


def test_regression() -> None:
    text = done(*OF_DIABETES, "-m", "MAE", "--alternative", "better", "--baseline", "pred_ridge")
    assert "one-sided p" in text
    assert "pred_forest is not significantly better than pred_ridge on MAE" in text


@pytest.mark.parametrize("kind", ["table", "json", "csv", "markdown"])
def test_formats(five: str, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "out"
    text = done("compare", "values", five, "--format", kind)
    assert done("compare", "values", five, "--format", kind, "-o", str(path)) == ""
    assert path.read_text(encoding="utf-8").strip() == text.strip()
    if kind == "json":
        assert len(cal.results.Comparison.from_dict(json.loads(text))) == 20
    elif kind == "csv":
        rows = list(csv.DictReader(text.splitlines()))
        assert len(rows) == 20
        assert {"adjustment", "min_detectable", "p_adjusted", "wins"} <= set(rows[0])
    else:
        assert "Omnibus tests" in text
        assert "separately for the 10 differences on 1 other measure (" in text


@pytest.mark.parametrize("layout", ["long", "wide"])
def test_no_blank_line_comes_first(layout: str) -> None:
    assert done(*OF_DIABETES, "--layout", layout)[0] != "\n"


def test_the_suffix_gives_the_format(five: str, tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    done("compare", "values", five, "-o", str(path))
    assert path.read_text(encoding="utf-8").startswith("measure,system,baseline,difference")


def test_values_of_each_option(five: str) -> None:
    text = done("compare", "values", five, "--baseline", "run0", "--test", "wilcoxon",
                "--adjust", "benjamini-hochberg", "--margin", "AP=0.2")  # fmt: skip
    assert "Wilcoxon signed rank" in text
    assert "p (Benjamini-Hochberg, FDR)" in text
    assert "p (equivalence)" in text
    assert "randomized Tukey HSD" in done("compare", "values", five, "--adjust", "tukey")
    assert "p (max-t)" in done("compare", "values", five)
    assert "p (Holm)" in done("compare", "values", five, "--adjust", "holm")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("option", "former", "current"),
    [
        ("--adjust", "joint", "max-t"),
        ("--test", "randomisation", "randomization"),
        ("--interval", "student", "t"),
        ("--interval", "studentised", "studentized"),
        ("--interval", "bayesian", "bayesian-bootstrap"),
    ],
)
def test_former_values_are_accepted(option: str, former: str, current: str) -> None:
    line = [*OF_CANCER, "-m", "Brier", "-m", "log-loss", "--format", "json"]
    found, expected = done(*line, option, former), done(*line, option, current)
    assert json.loads(found) == json.loads(expected)
    shown = invoke(["compare", "classification", "--help"]).output
    assert current in shown or option == "--interval"
    assert former not in shown


@pytest.mark.slow
def test_splits_of_rows(tmp_path: Path) -> None:
    report = tmp_path / "folds.html"
    text = done(*OF_CANCER, "-m", "AUC", "-m", "accuracy", "--split", "fold", "--design", "k-fold",
                "--report", str(report))  # fmt: skip
    assert "corrected resampled t" in text
    assert "averaged over 10 splits" in text
    assert "AUC by split" in report.read_text(encoding="utf-8")
    assert "### Differences by split" in done(
        *OF_DIABETES, "--split", "fold", "--design", "resampled", "--train-rows", "398",
        "--test-rows", "44", "--format", "markdown",
    )  # fmt: skip


def test_splits_of_values(tmp_path: Path) -> None:
    path = tmp_path / "folds.csv"
    lines = ["system,split,value"]
    for system, values in (("old", [81, 79, 84, 80, 82]), ("new", [83, 83, 85, 83, 87])):
        lines += [f"{system},{k},{value / 100}" for k, value in enumerate(values)]
    path.write_text("\n".join(lines), encoding="utf-8")
    text = done("compare", "values", str(path), "--design", "k-fold", "--measure", "AUC")
    assert "new is better than old on AUC by 0.030" in text
    assert "Treated as one 5-fold cross-validation" in text


def test_repeated_splits_of_values(tmp_path: Path) -> None:
    """Fifteen folds are one thing, three times five another."""
    path, generator = tmp_path / "folds.csv", np.random.default_rng(4)
    frame = pd.DataFrame(
        {"system": name, "turn": k // 5, "fold": f"{k // 5}.{k % 5}", "value": value}
        for name, mean in (("old", 0.8), ("new", 0.82))
        for k, value in enumerate(generator.normal(mean, 0.02, 15))
    )
    frame.to_csv(path, index=False)
    shared = ("compare", "values", str(path), "--design", "k-fold", "--format", "json")
    apart = frame.value[15:].to_numpy() - frame.value[:15].to_numpy()
    for options, folds in (((), 15), (("--repetition", "turn"), 5)):
        found = json.loads(done(*shared, *options))["differences"][0]
        t = apart.mean() / math.sqrt((1 / 15 + 1 / (folds - 1)) * apart.var(ddof=1))
        assert found["p"] == pytest.approx(2 * stats.t.sf(abs(t), 14), rel=1e-9)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ([*OF_CANCER, "-m", "nothing"], "no measure of classification is called 'nothing'"),
        ([*OF_CANCER, "-m", "AUC", "--baseline", "p_tree"], "baseline 'p_tree' is not a system"),
        ([*OF_CANCER, "-m", "AUC", "--margin", "wide"], "expected a number, or NAME=number"),
        ([*OF_CANCER, "-m", "AUC", "--margin", "0.1", "--margin", "AUC=0.2"], "one for each"),
        ([*OF_CANCER, "-m", "AUC", "--margin", "-1"], "expected a number above 0"),
        ([*OF_CANCER, "-m", "AUC", "--margin", "recall=1"], "'recall' is not a compared measure"),
        ([*OF_CANCER, "-m", "AUC", "--test", "wilcoxon"], "applies to none of the measures"),
        ([*OF_CANCER, "-m", "AUC", "--split", "fold"], "--split and --design go together"),
        ([*OF_CANCER, "-m", "AUC", "--design", "k-fold"], "--split and --design go together"),
        ([*OF_CANCER, "-m", "AUC", "--train-rows", "3"], "go with --design"),
        ([*OF_CANCER, "-m", "AUC", "--split", "fold", "--design", "5x2-f"], "needs --repetition"),
        ([*OF_CANCER, "-m", "AUC", "--split", "nowhere", "--design", "k-fold"], "nowhere"),
        (
            [*OF_CANCER, "-m", "AUC", "--split", "fold", "--design", "k-fold", "--test", "t"],
            "the design determines the test",
        ),
        ([*OF_CANCER, "-m", "AUC", "--format", "pdf"], "pdf"),
        (["compare", "values", "no-such-file.csv"], "no-such-file.csv"),
        (["compare", "overlap"], "No such command"),
    ],
)
def test_what_is_wrong_is_said(line: list[str], message: str) -> None:
    assert message in refused(*line)


def test_one_system_is_not_enough() -> None:
    line = ["compare", "classification", CANCER, "--truth", "diagnosis", "--positive", "malignant"]
    assert "a comparison needs two" in refused(*line, "--score", "p_logistic", "-m", "AUC")


def test_help_names_the_commands() -> None:
    text = invoke(["compare", "--help"]).stdout
    for name in ("retrieval", "classification", "multilabel", "regression", "values"):
        assert f"\n  {name} " in text
        assert invoke(["compare", name, "--help"]).exit_code == 0


def test_the_page_of_values_opens_as_other_pages(five: str, tmp_path: Path) -> None:
    pages = [tmp_path / "report.html", tmp_path / "output.html"]
    done("compare", "values", five, "--report", str(pages[0]))
    done("compare", "values", five, "-o", str(pages[1]))
    top, other_top = (p.read_text(encoding="utf-8").partition("<nav")[0] for p in pages)
    assert top == other_top
    means = {s: sum(v) / len(v) for s, v in _values_of(five, "AP").items()}
    ranked = sorted(means, key=means.__getitem__, reverse=True)
    leader, runner_up = (f"{means[name]:.3f}" for name in ranked[:2])
    assert f"{ranked[0]} ranks first of 5 systems" in top
    assert f"AP {leader} against {runner_up} of {ranked[1]}." in top
    rows = re.findall(
        r'scope="row">.*?<bdi>(.*?)</bdi></th><td role="cell" class="number"><b>(.*?)<', top
    )
    assert rows == [(name, f"{means[name]:.3f}") for name in ranked]


def _values_of(path: str, measure: str) -> dict[str, list[float]]:
    values: dict[str, list[float]] = {}
    with Path(path).open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["measure"] == measure:
                values.setdefault(row["system"], []).append(float(row["value"]))
    return values
