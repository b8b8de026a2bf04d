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
        (wide, ["--cells", "n_*"]),
        (wide, ["--cells", "FOBT=n_*"]),
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
    twice = ["--cells", "a=n_*", "--cells", "a=n_*"]
    for table, asked, message in (
        (long, of_long, "long.csv: count: is 1820.5 in row 3, expected a whole number"),
        (
            wide,
            ["--cells", "yes=n_yes,no=n_no"],
            "confusion: its columns are called n_no, and truth",
        ),
        (wide, ["--cells", "n_*", "--count", "n_no"], "--cells says what is predicted"),
        (wide, ["--cells", "no,yes"], "no column 'no'"),
        (wide, twice, "--cells: the system 'a' is there twice"),
        (wide, ["--cells", "n_*", "--rows", "predicted"], "rows='predicted', and truth= names"),
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
