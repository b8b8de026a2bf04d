"""``calipers plan``: the numbers of ``cal.plan``, by words."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import calipers as cal
from calipers.cli import main


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Judgments with two runs, and a table of two classifiers."""
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(1)
    grades = {(t, d): int(random.random() < 0.4) for t in range(20) for d in range(8)}
    Path("qrels").write_text("".join(f"q{t} 0 d{d} {g}\n" for (t, d), g in grades.items()))
    for name, noise in (("a", 0.6), ("b", 0.9)):
        lines = [
            f"q{t} Q0 d{d} 1 {g + noise * random.normal():.4f} {name}\n"
            for (t, d), g in grades.items()
        ]
        Path(f"{name}.run").write_text("".join(lines))
    y = random.integers(0, 2, 200)
    pd.DataFrame(
        {"y": y, "s": y + random.normal(size=200), "t": y + 1.5 * random.normal(size=200)}
    ).to_csv("t.csv", index=False)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], line: str, code: int = 0) -> Any:
    """The command in this process: what it writes, or its message where it fails."""
    sys.argv = ["calipers", "plan", *line.split()]
    with pytest.raises(SystemExit) as done:
        main()
    out, err = capsys.readouterr()
    assert (done.value.code or 0) == code, err
    return err if code else out


def data(capsys: pytest.CaptureFixture[str], line: str) -> Any:
    """Its JSON."""
    return json.loads(run(capsys, f"{line} --format json"))


@pytest.mark.parametrize(
    ("line", "measure", "options"),
    [
        ("nDCG@10 --sd 0.1 --difference 0.02", "nDCG@10", {"sd": 0.1, "difference": 0.02}),
        (
            "assumed recall --value 0.9 --half-width 0.03 --prevalence 0.1 --level 0.9",
            "recall",
            {"value": 0.9, "half_width": 0.03, "prevalence": 0.1, "level": 0.9},
        ),
        (
            "accuracy --discordant 0.1 --difference 0.03 --power 0.9 --comparisons 3",
            "accuracy",
            {"discordant": 0.1, "difference": 0.03, "power": 0.9, "comparisons": 3},
        ),
        (
            "AUC --value 0.8 --prevalence 0.2 -n 500 --cluster-size 4 --icc 0.1",
            "AUC",
            {"value": 0.8, "prevalence": 0.2, "n": 500, "cluster_size": 4, "icc": 0.1},
        ),
        (
            "AP --sd 0.2 --correlation 0.6 --margin 0.05 --equivalence",
            "AP",
            {"sd": 0.2, "correlation": 0.6, "margin": 0.05, "equivalence": True},
        ),
        (
            "accuracy --value 0.85 --difference 0.05 --independent",
            "accuracy",
            {"value": 0.85, "difference": 0.05, "paired": False},
        ),
        (
            "AP --sd 0.2 --difference 0.1 --test anova --systems 4",
            "AP",
            {"sd": 0.2, "difference": 0.1, "test": "anova", "systems": 4},
        ),
        ("AUC --value 0.7 --prevalence 0.5 --reference 0.5", "AUC",
         {"value": 0.7, "prevalence": 0.5, "reference": 0.5}),
    ],
)  # fmt: skip
def test_assumed_numbers(
    capsys: pytest.CaptureFixture[str], line: str, measure: str, options: dict[str, Any]
) -> None:
    assert data(capsys, line) == cal.plan(measure, **options).to_dict()


@pytest.mark.usefixtures("folder")
def test_a_pilot_of_runs(capsys: pytest.CaptureFixture[str]) -> None:
    pilot = cal.retrieval("qrels", ["a.run", "b.run"], measures=["nDCG@5", "AP"], n_resamples=200)
    line = "retrieval qrels a.run b.run -m nDCG@5 -m AP --n-resamples 200"
    made = data(capsys, f"{line} --difference 0.05 --test wilcoxon")
    assert made == [
        cal.plan(m, pilot, difference=0.05, test="wilcoxon").to_dict() for m in pilot.measures
    ]
    made = data(capsys, f"{line} --half-width 0.02 --target a")
    assert made[1] == cal.plan("AP", pilot, half_width=0.02, system="a", n_resamples=200).to_dict()
    made = data(capsys, "retrieval qrels a.run b.run -m AP --baseline a --level 0.9")
    assert made["n"] == 20
    assert made["level"] == 0.9
    assert made["min_detectable"] > 0


@pytest.mark.usefixtures("folder")
def test_a_pilot_of_rows(capsys: pytest.CaptureFixture[str]) -> None:
    table = pd.read_csv("t.csv")
    pilot = cal.classification(
        table.y, score={"s": table.s, "t": table.t}, measures="AUC", n_resamples=200
    )
    line = "classification t.csv --truth y --score s --score t -m AUC --n-resamples 200"
    assert data(capsys, f"{line} --difference 0.03") == (
        cal.plan("AUC", pilot, difference=0.03).to_dict()
    )
    made = data(capsys, "regression t.csv --truth y --predicted s -m RMSE --half-width 0.05")
    assert made["unit"] == "rows"
    assert made["half_width"] <= 0.05


@pytest.mark.usefixtures("folder")
def test_formats(capsys: pytest.CaptureFixture[str]) -> None:
    line = "AP --sd 0.2 --difference 0.05"
    made = cal.plan("AP", sd=0.2, difference=0.05)
    assert run(capsys, line) == f"{made}\n"
    assert run(capsys, f"{line} --format markdown") == f"{made.to_markdown()}\n"
    for name, text in (("p.md", made.to_markdown()), ("p.txt", str(made))):
        assert run(capsys, f"{line} -o {name}") == ""
        assert Path(name).read_text(encoding="utf-8") == f"{text}\n"
    run(capsys, f"{line} -o p.json")
    assert json.loads(Path("p.json").read_text(encoding="utf-8")) == made.to_dict()


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        ("nDCX --sd 1 --difference 1", 2, "nDCX"),
        ("AP --sd 0.4", 3, "no target is given"),
        ("AP --sd 0.4 --difference 0.1 -o p.xlsx", 2, "cannot be written as xlsx"),
        ("AP --sd x --difference 0.1", 2, "not a valid float"),
        ("accuracy --value 2 --half-width 0.1", 3, "value is 2"),
        ("retrieval qrels a.run b.run --difference 0.1", 2, "give a measure"),
        ("retrieval qrels a.run -m AP --difference 0.1", 3, "one system only"),
        ("retrieval qrels none.run -m AP --half-width 0.1", 3, "none.run"),
        ("classification t.csv --truth y -m AUC --half-width 0.1", 2, "--score"),
    ],
)
def test_what_goes_wrong(
    capsys: pytest.CaptureFixture[str], line: str, code: int, message: str
) -> None:
    assert message in run(capsys, line, code)


@pytest.mark.parametrize("name", ["", "assumed", "retrieval", "classification", "regression", "AP"])
def test_help(capsys: pytest.CaptureFixture[str], name: str) -> None:
    text = run(capsys, f"{name} --help")
    assert " plan " in text.splitlines()[0]
    if name:
        assert "--half-width" in text
        assert "--require" not in text
