"""Tables of counts through the command: as four lines, and as a confusion matrix."""

from __future__ import annotations

import json
from pathlib import Path

from in_process import invoke

LONG = "cancer,blood,people\nyes,yes,20\nno,yes,180\nyes,no,10\nno,no,1820\n"
WIDE = "cancer,n_no,n_yes\nno,1820,180\nyes,10,20\n"
ASKED = ["--truth", "cancer", "--positive", "yes", "-m", "precision", "--format", "json"]


def test_a_table_of_counts(tmp_path: Path) -> None:
    long, wide = tmp_path / "long.csv", tmp_path / "wide.csv"
    long.write_text(LONG)
    wide.write_text(WIDE)
    of_long = ["--predicted", "blood", "--count", "people"]
    for table, asked in (
        (long, of_long),
        (wide, ["--confusion-matrix", "n_*"]),
        (wide, ["--confusion-matrix", "FOBT=n_*"]),
    ):
        done = invoke(["classification", str(table), *asked, *ASKED])
        [system] = json.loads(done.stdout)["systems"]
        [found] = system["estimates"]
        shown = [round(found[key], 3) for key in ("value", "low", "high", "n")]
        assert shown == [0.1, 0.066, 0.149, 2030]


def test_what_is_wrong_with_a_table_of_counts(tmp_path: Path) -> None:
    long, wide = tmp_path / "long.csv", tmp_path / "wide.csv"
    long.write_text(LONG.replace("1820", "1820.5"))
    wide.write_text(WIDE)
    of_long = ["--predicted", "blood", "--count", "people"]
    twice = ["--confusion-matrix", "a=n_*", "--confusion-matrix", "a=n_*"]
    for table, asked, message in (
        (long, of_long, "long.csv: count: is 1820.5 in row 3, expected a whole number"),
        (
            wide,
            ["--confusion-matrix", "yes=n_yes,no=n_no"],
            "confusion: its columns are called n_no, and truth",
        ),
        (
            wide,
            ["--confusion-matrix", "n_*", "--count", "n_no"],
            "--confusion-matrix says what is predicted",
        ),
        (wide, ["--confusion-matrix", "no,yes"], "no column 'no'"),
        (wide, twice, "--confusion-matrix: the system 'a' is given twice"),
        (
            wide,
            ["--confusion-matrix", "n_*", "--rows", "predicted"],
            "--rows predicted contradicts --truth",
        ),
    ):
        done = invoke(["classification", str(table), *asked, *ASKED])
        assert done.exit_code
        assert message in f"{done.stderr} {done.exception}"


def test_splits_of_counted_rows(tmp_path: Path) -> None:
    rows = [(y, a, b, fold) for y in "01" for a in "01" for b in "01" for fold in range(4)]
    lines = [",".join(map(str, (*row, 1 + place % 3))) for place, row in enumerate(rows)]
    written = [line for place, line in enumerate(lines) for _ in range(1 + place % 3)]
    asked = ["--truth", "y", "--predicted", "a", "--predicted", "b", "-m", "accuracy"]
    found = []
    for name, body, count in (("n.csv", lines, ["--count", "n"]), ("rows.csv", written, [])):
        table = tmp_path / name
        table.write_text("\n".join(["y,a,b,fold,n", *body]))
        splits = ["--split", "fold", "--design", "k-fold", "--format", "json"]
        done = invoke(["compare", "classification", str(table), *asked, *count, *splits])
        found.append(json.loads(done.stdout)["differences"])
    assert found[0] == found[1]


# --- A table that is a confusion matrix -----------------------------------------------------------

#: As textbooks print it: a row for each predicted class, with other names than the true ones.
PRINTED = "predicted\\truth,Positive,Negative\nTrue,20,180\nFalse,10,1820\n"
FOUR = {
    "A": (95, 30, 5, 70),
    "B": (40, 80, 60, 20),
    "C": (90, 70, 10, 30),
    "D": (60, 5, 40, 95),
}
SIDE_BY_SIDE = "method,predicted\\truth,yes,no\n" + "".join(
    f"{name},yes,{tp},{fp}\n{name},no,{fn},{tn}\n" for name, (tp, fp, fn, tn) in FOUR.items()
)
RATES = ["-m", "PPV", "-m", "TPR", "--format", "json"]


def rates(*asked: str) -> dict[str, list[float]]:
    done = invoke(["classification", *asked, *RATES])
    assert not done.exit_code, f"{done.stderr} {done.exception}"
    return {
        of["name"]: [round(e["value"], 3) for e in of["estimates"]]
        for of in json.loads(done.stdout)["systems"]
    }


def test_a_table_that_is_a_matrix(tmp_path: Path) -> None:
    plain = "x,yes,no\nyes,20,180\nno,10,1820\n"
    files = {
        "printed.csv": (PRINTED, ["--positive", "Positive"]),
        "printed.tsv": (PRINTED.replace(",", "\t"), ["--positive", "Positive"]),
        "turned.csv": (
            "truth \\ predicted,no,yes\nno,1820,180\nyes,10,20\n",
            ["--positive", "yes"],
        ),
        "word.csv": ("predicted,yes,no\nyes,20,180\nno,10,1820\n", ["--positive", "yes"]),
        "plain.csv": (plain, ["--rows", "predicted", "--positive", "yes"]),
        "cells.csv": (
            plain,
            ["--predicted", "x", "--confusion-matrix", "yes,no", "--positive", "yes"],
        ),
        "beside.csv": (
            "predicted\\truth,n_yes,n_no\nyes,20,180\nno,10,1820\n",
            ["--confusion-matrix", "n_*", "--positive", "yes"],
        ),
        "rows.json": ("[[20, 180], [10, 1820]]", ["--rows", "predicted", "--positive", "0"]),
    }
    for name, (body, asked) in files.items():
        path = tmp_path / name
        path.write_text(body)
        assert rates(str(path), *asked) == {"system": [0.1, 0.667]}, name


def test_a_table_of_several_matrices(tmp_path: Path) -> None:
    table, first, second = (tmp_path / f"{name}.csv" for name in ("four", "old", "new"))
    table.write_text(SIDE_BY_SIDE)
    asked = [str(table), "--positive", "yes"]
    found = {"A": [0.76, 0.95], "B": [0.333, 0.4], "C": [0.562, 0.9], "D": [0.923, 0.6]}
    assert rates(*asked) == found
    done = invoke(["classification", *asked, "-m", "accuracy"])
    assert "Fisher, exact, independent samples" in done.stdout
    done = invoke(["classification", *asked, "-m", "accuracy", "--no-compare"])
    assert "independent samples" not in done.stdout
    done = invoke(["compare", "classification", *asked, "-m", "accuracy", "--baseline", "A"])
    assert "D - A" in done.stdout
    assert "independent samples" in done.stdout
    first.write_text(PRINTED)
    second.write_text(PRINTED.replace("180", "80"))
    both = rates(str(first), "--system", f"new={second}", "--positive", "Positive")
    assert both == {"old": [0.1, 0.667], "new": [0.2, 0.667]}


def test_matrices_are_kept_shown_and_told_apart(tmp_path: Path) -> None:
    table, old, new = tmp_path / "four.csv", tmp_path / "old.json", tmp_path / "new.json"
    asked = [str(table), "--positive", "yes", "-m", "accuracy", "--keep-predictions", "-o"]
    table.write_text(SIDE_BY_SIDE)
    assert not invoke(["classification", *asked, str(old)]).exit_code
    table.write_text(SIDE_BY_SIDE.replace("C,yes,90,70\nC,no,10,30", "C,yes,90,10\nC,no,10,90"))
    assert not invoke(["classification", *asked, str(new)]).exit_code
    assert "independent samples" in invoke(["show", str(old)]).stdout
    done = invoke(["diff", str(old), str(new), "--format", "json"])
    [change] = json.loads(done.stdout)["changes"]
    assert (change["system"], round(change["change"], 2)) == ("C", 0.3)
    assert change["test"] == "Fisher, exact, independent samples"
    assert change["low"] > 0.15
    later = invoke(["classification", *asked[:-2], "--baseline", f"{old}:C"])
    assert "C - old:C" in later.stdout


def test_what_is_wrong_with_a_table_that_is_a_matrix(tmp_path: Path) -> None:
    plain, printed = tmp_path / "plain.csv", tmp_path / "printed.csv"
    plain.write_text("x,yes,no\nyes,20,180\nno,10,1820\n")
    printed.write_text(PRINTED)
    cells = ["--confusion-matrix", "yes,no"]
    for asked, message in (
        ([str(plain)], "Missing option '--truth'"),
        ([str(plain), *cells], "For 'yes', --rows predicted gives PPV 10% and TPR 67%"),
        ([str(plain), "--truth", "x", "--predicted", "x", *cells], "no --predicted, but as"),
        ([str(plain), "--truth", "x", "--predicted", "yes", "--rows", "truth"], "--rows goes with"),
        ([str(printed), "--rows", "truth"], "--rows truth contradicts"),
        ([str(printed), "--weight", "Positive"], "--weight is about rows"),
        ([str(printed), "--engine", "stream"], "--engine is about rows"),
    ):
        done = invoke(["classification", *asked, "--positive", "yes"])
        assert done.exit_code
        assert message in f"{done.stderr} {done.exception}", asked
