"""``calipers classification``: columns of classes, tables joined by id, missing values, slices."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from in_process import invoke

import calipers as cal
from calipers import results
from calipers.cli import classification as command
from calipers.cli import main

GENERATOR = np.random.default_rng(40)
N = 60
Y = GENERATOR.integers(0, 2, N)
LABEL = np.array(["man", "child", "woman"])[GENERATOR.integers(0, 3, N)]
P = GENERATOR.dirichlet([1, 1, 1], N)
CHILD = LABEL == "child"
TABLE = pd.DataFrame(
    {
        "row": np.arange(N),
        "y": Y,
        "s": np.round(Y + GENERATOR.normal(size=N), 3),
        "t": np.round(GENERATOR.normal(size=N), 3),
        "label": LABEL,
        "p_child": P[:, 0],
        "p_man": P[:, 1],
        "p_woman": P[:, 2],
        "site": np.where(np.arange(N) % 2, "x", "z"),
        "age": np.arange(N),
        "a=b": GENERATOR.random(N),
    }
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The table, and two systems in tables of their own, in other orders."""
    monkeypatch.chdir(tmp_path)
    TABLE.to_csv("t.csv", index=False)
    TABLE.sample(frac=1, random_state=1)[["row", "s"]].to_csv("a.csv", index=False)
    other = TABLE.sample(frac=1, random_state=2)[["row", "t"]].rename(columns={"t": "s"})
    other.assign(row=other.row.astype(str)).to_parquet("b.parquet")
    return tmp_path


def test_a_table_of_cut_offs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["t.csv", "--truth", "y", "--score", "s", "--threshold-table", "0.5,1"]
    made = run(capsys, *asked, "-m", "PPV", "-m", "AUC")
    (table,) = made["thresholds"]["tables"]
    assert table["thresholds"] == [1.0, 0.5]
    called = TABLE.s >= 1
    assert list(table["values"]) == ["precision"]
    assert table["values"]["precision"][0] == pytest.approx(Y[called].mean())
    assert made["thresholds"]["requested_names"] == {"precision": "PPV"}
    assert "--threshold-table 'x': expected all, or numbers" in run(
        capsys, *asked[:-1], "x", "-m", "AUC", code=2
    )


def test_disparities_between_slices(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Those of the function, in JSON and read from it, on the page and in every other document."""
    TABLE.assign(p=TABLE.s > 0.5).astype({"p": int}).to_csv("p.csv", index=False)
    asked = ["p.csv", "--truth", "y", "--predicted", "p", "-m", "accuracy", "--slice", "site"]
    names = ["--fairness", "default", "--fairness", "accuracy-group-min"]
    made = run(capsys, *asked, *names, "--report", "p.html")
    ev = cal.classification("y", {"p": "p"}, data="p.csv", slices=["site"], measures="accuracy")
    expected = cal.fairness(ev, measures=["default", "accuracy-group-min"])
    assert len(expected) == 7
    assert results.from_json(json.dumps(made)).fairness.rows() == expected.rows()
    pages = (Path("p.html").read_text(), replace(ev, fairness=expected).to_markdown())
    for page in pages:
        assert "Fairness between groups" in page
        assert all(d.estimate.measure in page for d in expected)
    by_batches = run(capsys, *asked[:-2], "--slice", "site", *names, "--engine", "stream")
    assert [row["lowest"] for row in by_batches["fairness"]["rows"]] == [d.lowest for d in expected]
    message = run(capsys, *asked[:-2], *names, code=2)
    assert "--fairness is between groups; --slice COL defines them" in message
    assert "accuracy-gap" in run(capsys, *asked, "--fairness", "accuracy-gap", code=3)


def run(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> Any:
    """The command in this process: its JSON, or its message where it fails."""
    sys.argv = ["calipers", "classification", *arguments]
    if not code:
        sys.argv += ["--format", "json", "--n-resamples", "100"]
    with pytest.raises(SystemExit) as done:
        main()
    out, err = capsys.readouterr()
    assert done.value.code in (code, None if code == 0 else code), err
    return json.loads(out) if not code else err


def values(result: Any) -> dict[tuple[str, str], float]:
    return {
        (system["name"], estimate["measure"]): estimate["value"]
        for system in result["systems"]
        for estimate in system["estimates"]
    }


Capsys = pytest.CaptureFixture[str]


def test_systems_in_tables_of_their_own(folder: Path, capsys: Capsys) -> None:
    joined = run(
        capsys, "t.csv", "--truth", "y", "--id", "row", "--score", "s",
        "--system", "a=a.csv", "--system", "b=b.parquet", "-m", "AUC",
    )  # fmt: skip
    alone = run(capsys, "t.csv", "--truth", "y", "--score", "a=s", "--score", "b=t", "-m", "AUC")
    assert values(joined) == values(alone)
    assert [source["path"] for source in joined["provenance"]["inputs"]] == [
        "t.csv", "a.csv", "b.parquet",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "wanted", ["p_*", "p=p_*", "p=p_child,p_man,p_woman", "p_child,p_man,p_woman"]
)
def test_a_column_for_each_class(folder: Path, capsys: Capsys, wanted: str) -> None:
    made = run(
        capsys, "t.csv", "--truth", "label", "--probability", wanted, "--positive", "child",
        "--labels", "child,man,woman", "-m", "AUC", "-m", "log-loss",
    )  # fmt: skip
    expected = cal.classification(CHILD, probability={"p": P[:, 0]}, measures=["AUC", "log-loss"])
    found = values(made)
    for name in ("AUC", "log-loss"):
        assert found["p", name] == pytest.approx(expected[name].value)


def test_a_column_whose_name_has_an_equals_sign(folder: Path, capsys: Capsys) -> None:
    made = run(capsys, "t.csv", "--truth", "y", "--probability", "a=b", "-m", "AUC")
    assert list(values(made)) == [("a=b", "AUC")]


def test_columns_whose_names_have_commas(folder: Path, capsys: Capsys) -> None:
    TABLE.rename(columns={"s": "s, new", "t": "s, old"}).to_csv("comma.csv", index=False)
    scores = ("--score", "s, new", "--score", "s, old")
    made = run(capsys, "comma.csv", "--truth", "y", *scores, "-m", "AUC")
    assert [system["name"] for system in made["systems"]] == ["s, new", "s, old"]


def test_missing_values_are_left_out_on_request(folder: Path, capsys: Capsys) -> None:
    TABLE.assign(s=TABLE.s.where(TABLE.row > 1)).to_csv("m.csv", index=False)
    arguments = ("m.csv", "--truth", "y", "--score", "s", "-m", "AUC")
    assert "score 's': 2 of 60 values are missing, the first in rows 0, 1" in run(
        capsys, *arguments, code=3
    )
    made = run(capsys, *arguments, "--missing", "drop")
    expected = cal.classification(Y[2:], score=TABLE.s[2:], measures="AUC")["AUC"].value
    assert values(made)["s", "AUC"] == pytest.approx(expected)
    assert "2 of 60 rows are left out because values are missing: 2 in score 's'." in str(made)


def test_ids_that_do_not_match(folder: Path, capsys: Capsys) -> None:
    TABLE[["row", "s"]][3:].to_csv("few.csv", index=False)
    arguments = (
        "t.csv", "--truth", "y", "--id", "row", "--score", "s", "--system", "few=few.csv",
        "-m", "AUC",
    )  # fmt: skip
    message = run(capsys, *arguments, code=3)
    assert message == "calipers: score 'few': the ids 0, 1, 2 are missing\n"
    made = run(capsys, *arguments, "--missing", "drop")
    assert "3 of 60 rows are left out because of their ids." in str(made)


def test_slices(folder: Path, capsys: Capsys) -> None:
    made = run(
        capsys, "t.csv", "--truth", "y", "--score", "s", "-m", "AUC", "--slice", "site",
        "--slice", "age", "--slice-bins", "age=20,40", "--slice", "site*age",
    )  # fmt: skip
    text = json.dumps(made)
    for expected in ("site", "age", "20", "40"):
        assert expected in text
    ev = cal.classification(
        "y", score=["s"], measures="AUC", data=TABLE, n_resamples=100,
        slices=["site", "age", "site*age"], slice_bins={"age": [20, 40]},
    )  # fmt: skip
    assert ev.slices is not None
    assert json.loads(ev.to_json())["slices"] == made["slices"]


def test_clusters(folder: Path, capsys: Capsys) -> None:
    made = run(
        capsys, "t.csv", "--truth", "y", "--score", "s", "-m", "AUC", "--cluster", "site",
        "--interval", "bootstrap",
    )  # fmt: skip
    assert "2 clusters" in json.dumps(made)


def test_measures_at_a_place(folder: Path, capsys: Capsys) -> None:
    made = run(
        capsys, "t.csv", "--truth", "y", "--score", "s", "-m", "precision@recall=0.9",
        "-m", "recall@FPR=0.01", "-m", "recall@precision=0.8",
    )  # fmt: skip
    for (_, name), value in values(made).items():
        assert "@" in name
        assert 0 <= value <= 1


def test_a_rule_for_the_threshold(folder: Path, capsys: Capsys) -> None:
    made = run(
        capsys, "t.csv", "--truth", "y", "--score", "s", "--threshold", "cost", "--costs", "1,20",
        "--prevalence", "0.01", "-m", "recall",
    )  # fmt: skip
    point = cal.operating_point(
        Y,
        TABLE.s,
        rule="cost",
        costs=(1, 20),
        prevalence=0.01,
        measures=["recall"],
        n_resamples=100,
    )
    found = values(made)
    assert found["s", "threshold"] == point["threshold"].value
    assert found["s", "recall"] == point["recall"].value
    assert [name for _, name in found][2:] == ["precision@prevalence=0.01", "NPV@prevalence=0.01"]
    usual = run(capsys, "t.csv", "--truth", "y", "--score", "s", "--threshold", "0.5")
    more = run(
        capsys, "t.csv", "--truth", "y", "--score", "s", "--threshold", "0.5",
        "--prevalence", "0.01",
    )  # fmt: skip
    assert list(values(more)) == [
        *values(usual), ("s", "precision@prevalence=0.01"), ("s", "NPV@prevalence=0.01"),
    ]  # fmt: skip
    called = (Y == 1) & (TABLE.s >= point["threshold"].value)
    assert found["s", "recall"] == called.sum() / Y.sum()


def test_several_classes(folder: Path, capsys: Capsys) -> None:
    names = ["macro-F1", "recall[child]", "top-2-accuracy", "log-loss"]
    options = [part for name in names for part in ("-m", name)]
    made = run(capsys, "t.csv", "--truth", "label", "--probability", "p_*", *options)
    expected = cal.classification(
        LABEL, probability=dict(zip(["child", "man", "woman"], P.T, strict=True)), measures=names
    )
    assert values(made) == {("p", e.measure): pytest.approx(e.value) for e in expected}
    ordered = run(
        capsys, "t.csv", "--truth", "label", "--probability", "p_man,p_woman,p_child",
        "--labels", "man,woman,child", *options,
    )  # fmt: skip
    assert values(ordered) == pytest.approx(values(made))


def test_the_confusion_matrix(folder: Path, capsys: Capsys) -> None:
    arguments = ["t.csv", "--truth", "label", "--probability", "p_*", "-m", "accuracy"]
    sys.argv = ["calipers", "classification", *arguments, "--show-confusion", "prediction"]
    sys.argv += ["--orientation", "predicted-rows"]
    with pytest.raises(SystemExit):
        main()
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[-5:-2]]
    names = np.array(["child", "man", "woman"])
    called = names[P.argmax(axis=1)]
    for row, name in zip(rows, names, strict=True):
        shares = [(LABEL[called == name] == other).mean() for other in names]
        assert row[0] == name
        assert [float(cell) for cell in row[1:]] == pytest.approx(shares, abs=6e-4)


def test_small_matrices_stand_before_the_verdict(folder: Path, capsys: Capsys) -> None:
    sys.argv = ["calipers", "classification", "t.csv", "--truth", "label"]
    sys.argv += ["--probability", "p_*", "-m", "accuracy"]
    with pytest.raises(SystemExit):
        main()
    head, *rows = [line.split() for line in capsys.readouterr().out.splitlines()[-6:-2]]
    names = np.array(["child", "man", "woman"])
    called = names[P.argmax(axis=1)]
    assert head == ["truth", "\\", "predicted", *names]
    for row, name in zip(rows, names, strict=True):
        assert row == [name, *(str((called[name == LABEL] == other).sum()) for other in names)]


def test_the_choices_are_those_of_a_confusion_matrix() -> None:
    assert command.ORIENTATIONS == results.ORIENTATIONS
    assert tuple(results.NORMALIZATIONS) == command.NORMALIZATIONS


USAGE = {
    "no system": ("t.csv --truth y", "give at least one of --score, --probability, --predicted"),
    "tables without an id": (
        "t.csv --truth y --score s --system a=a.csv", "--system goes with --id",
    ),
    "a table without a name": (
        "t.csv --truth y --score s --id row --system a.csv",
        "'--system': 'a.csv': expected a name and a file, as in a=a.csv",
    ),
    "two columns of every table": (
        "t.csv --truth y --score s --score t --id row --system a=a.csv",
        "--score: give it once, for the column that every --system has",
    ),
    "columns without labels": (
        "t.csv --truth label --probability p_man,p_child",
        "--probability p_man,p_child: 2 columns for the classes of --labels, which are not given",
    ),
    "columns and other labels": (
        "t.csv --truth label --probability p_man,p_child --labels man,child,woman",
        "--probability p_man,p_child: 2 columns for the classes of --labels, which are 3",
    ),
    "a confusion matrix in a file": (
        "t.csv --truth y --score s --show-confusion all -o x.json",
        "--show-confusion goes with a table on the standard output; other formats have the counts",
    ),
    "costs without a rule": (
        "t.csv --truth y --score s --threshold 1 --costs 1,2",
        "--costs goes with a rule for --threshold, such as 'cost'",
    ),
    "costs that are no numbers": (
        "t.csv --truth y --score s --threshold cost --costs 1",
        "--costs '1': expected two numbers, as in 1,5",
    ),
    "bins that are no numbers": (
        "t.csv --truth y --score s --slice age --slice-bins age=old",
        "--slice-bins 'age=old': expected a column and numbers or a period, as in age=40,65",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", USAGE)
def test_usage_errors(folder: Path, capsys: Capsys, case: str) -> None:
    arguments, message = USAGE[case]
    assert message in run(capsys, *arguments.split(), code=2)


BAD = {
    "no such columns": (
        "t.csv --truth label --probability q_* --positive man",
        "t.csv: no column begins with 'q_'; ",
    ),
    "a class without a column": (
        "t.csv --truth label --probability p_w* --positive man",
        "t.csv: probability 'p_w': 'oman' is not a class; did you mean 'woman'?",
    ),
    "a column that another table lacks": (
        "t.csv --truth y --score t --id row --system a=a.csv", "a.csv: no column 't'; ",
    ),
    "an id that another table lacks": (
        "t.csv --truth y --score s --id y --system a=a.csv", "a.csv: no column 'y'; ",
    ),
    "an unknown slice": (
        "t.csv --truth y --score s --slice sight", "t.csv: no column 'sight'; did you mean 'site'?",
    ),
    "an unknown part of a slice": (
        "t.csv --truth y --score s --slice site*agee", "t.csv: no column 'agee'; did you mean 'age'?",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_input(folder: Path, capsys: Capsys, case: str) -> None:
    arguments, message = BAD[case]
    assert run(capsys, *arguments.split(), code=3).startswith(f"calipers: {message}")


@pytest.mark.parametrize("positive", [(), ("--positive", "1")])
def test_labels_name_the_class_that_no_row_has(
    folder: Path, capsys: Capsys, positive: tuple[str, ...]
) -> None:
    TABLE[TABLE.y == 1].to_csv("one.csv", index=False)
    arguments = ("one.csv", "--truth", "y", "--score", "s", "--threshold", "0.5")
    made = run(capsys, *arguments, "--labels", "0,1", *positive, "-m", "recall", "-m", "AUC")
    of_ones = TABLE.s[TABLE.y == 1] >= 0.5
    assert values(made) == {("s", "recall"): pytest.approx(of_ones.mean()), ("s", "AUC"): None}
    said = run(capsys, *arguments[:5], "--labels", "0,1,2", code=3)
    assert "with 3 classes (0, 1, 2) a column for each of them" in said


def test_rows_in_the_order_of_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By --time from CSV, as by time= in Python, for classes and for numbers; a date that is none
    is an error with its row."""
    days, late = pd.date_range("2024-01-01", periods=N), 3 * np.sin(np.arange(N) / 6)
    table = pd.DataFrame({"day": days, "y": Y, "s": late, "p": np.where(late > 1, 1 - Y, Y)})
    table.sample(frac=1, random_state=3).to_csv(tmp_path / "t.csv", index=False)
    where = str(tmp_path / "t.csv")
    asked = [where, "--time", "day", "--truth", "y", "--format", "json"]
    expected = {
        "regression": cal.regression(table.y, table.s, time=days, measures=["MAE"])["MAE"],
        "classification": cal.classification(table.y, table.p, time=days, measures=["accuracy"])[
            "accuracy"
        ],
    }
    for task, column, measure in (("regression", "s", "MAE"), ("classification", "p", "accuracy")):
        monkeypatch.setattr(
            sys, "argv", ["calipers", task, *asked, "--predicted", column, "-m", measure]
        )
        with pytest.raises(SystemExit):
            main()
        (system,) = json.loads(capsys.readouterr().out)["systems"]
        (made,) = system["estimates"]
        one = expected[task]
        assert "HAC, serially dependent" in made["method"]
        assert (made["low"], made["high"]) == pytest.approx((one.low, one.high))
        assert made["method"] == one.method
    table.assign(day=["1/2/2024", *days[1:].astype(str)]).to_csv(where, index=False)
    with pytest.raises(SystemExit) as failed:
        main()
    assert failed.value.code == 3
    assert "time: is '1/2/2024' in row 0" in capsys.readouterr().err


def test_systems_may_have_cutoffs_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = (f"{i % 2},{i % 7 / 7:.2f},{i * 5 % 11 + i % 2}" for i in range(60))
    path.write_text("\n".join(["y,low,high", *rows]))
    line = ["classification", str(path), "--truth", "y", "--score", "low", "--score", "high"]
    cutoffs = ["--threshold-table", "low=0.5", "--threshold-table", "high=all"]
    lines = invoke([*line, *cutoffs, "--format", "csv"]).stdout.splitlines()
    assert [row.split(",")[0] for row in lines[1:]] == ["low", *["high"] * 12]
    for tables in (["0.5", "1"], ["0.5", "low=1"], ["low=1", "low=2"], ["low=x"]):
        words = [word for table in tables for word in ("--threshold-table", table)]
        assert invoke([*line, *words]).exit_code == 2


def test_two_systems_take_one_screen(tmp_path: Path) -> None:
    """The first measures, with the primary one on top, and the verdict at the end."""
    path = tmp_path / "t.csv"
    rows = (
        f"{i % 2},{(i * 7 % 60 + i % 2 * 9) / 70:.3f},{(i * 11 % 60) / 70:.3f}" for i in range(60)
    )
    path.write_text("\n".join(["y,new,old", *rows]))
    line = ["classification", str(path), "--truth", "y", "--probability", "new"]
    two = [*line, "--probability", "old"]
    lines = invoke(two).stdout.splitlines()
    assert len(lines) <= 24
    names = [row.split()[0] for row in lines if row and row.split()[0] in ("AUC", "MCC", "Brier")]
    assert names == ["AUC", "Brier"]
    [more] = [row for row in lines if row.startswith("--all also shows")]
    assert "MCC" in more
    assert "the differences and their tests" in more
    assert lines.index(more) > lines.index(next(row for row in lines if row.startswith("AUC")))
    assert "new and old on AUC" in " ".join(lines[-2:]) or "old and new on AUC" in " ".join(
        lines[-2:]
    )
    # By another primary measure, which comes first.
    brief = invoke([*two, "--primary", "F1"]).stdout.splitlines()
    assert next(row for row in brief if row.startswith(("AUC", "F1"))).startswith("F1")
    # Everything on request, by -m, and in files.
    for words in (["--all"], ["-m", "default"]):
        full = invoke([*two, *words]).stdout
        assert "--all also" not in full
        assert "\nMCC" in full
        assert "new - old" in full or "old - new" in full
        assert full.index("truth \\ predicted") < full.rindex(" on AUC")
    invoke([*two, "-o", str(tmp_path / "out.txt")])
    assert "\nMCC" in (tmp_path / "out.txt").read_text()
    # Of one system with its confusion matrix, of many a ranking.
    single = invoke(line).stdout
    assert "--all also shows" in single
    assert "truth \\ predicted" in single
    many = [*line, *(w for k in range(9) for w in ("--probability", f"s{k}=old"))]
    ranked = invoke(many).stdout
    assert "# system" in ranked
    assert "\nMCC" not in ranked


def test_plain_text_has_no_rules(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["y,p", *(f"{i % 2},{i % 2}" for i in range(9)), "1,0"]))
    line = ["classification", str(path), "--truth", "y", "--predicted", "p", "-m", "accuracy"]
    ruled, plain = (invoke([*line, *words]).stdout.splitlines() for words in ([], ["--plain"]))
    assert [row for row in ruled if row.strip("─") or not row] == plain
    assert len(plain) < len(ruled)
