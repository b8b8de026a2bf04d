"""``calipers pairs``, as a user calls it."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from in_process import invoke

from calipers.cli import cli
from calipers.data.errors import InputError

ROWS = [
    *[("new", "old", winner) for winner in ("model_a",) * 40 + ("model_b",) * 25 + ("tie",) * 35],
    ("best", "old", "model_a"),
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    lines = [f"{a},{b},{w},{i % 20},{i % 7},{i % 5}" for i, (a, b, w) in enumerate(ROWS)]
    text = "model_a,model_b,winner,user,length_a,length_b\n" + "\n".join(lines) + "\n"
    (tmp_path / "battles.csv").write_text(text, encoding="utf-8")
    return tmp_path


def call(line: str, code: int = 0) -> str:
    """What a line prints, or the error that it ends with."""
    done = invoke(line.split())
    if code == 3:  # which the process makes of invalid input
        assert isinstance(done.exception, InputError)
        return str(done.exception)
    assert done.exit_code == code, done.output
    return done.stdout if not code else done.stderr


def test_the_table(folder: Path) -> None:
    text = call("pairs battles.csv --cluster user --reference old")
    for words in (
        "Leaderboard: 3 systems, Davidson model",
        "  1082 [987, 1177]",
        "≥ 394",
        "no rating: it has won its only battle",
        "101 battles; errors are clustered (20 clusters by user).",
        "old is fixed at 1000",
    ):
        assert words in text


def test_options_of_the_model(folder: Path) -> None:
    values = {}
    for ties in ("davidson", "rao-kupper", "half"):
        board = json.loads(call(f"pairs battles.csv --ties {ties} --reference old --format json"))
        values[ties] = round(board["rows"][0]["rating"]["value"], 2)
    assert values == {"davidson": 1081.65, "rao-kupper": 1060.21, "half": 1052.51}
    twice = "pairs battles.csv --style length --style words=length_a,length_b"
    assert "the effect of length and of words cannot be estimated" in call(twice, 3)


def test_styles_by_name_and_by_columns(folder: Path) -> None:
    one = call("pairs battles.csv --style length --level 0.9")
    two = call("pairs battles.csv --style length=length_a,length_b --level 0.9")
    assert one == two
    assert "Effect of length, removed from the ratings" in one
    assert "90% CIs" in one
    assert "--style length=a: expected NAME" in call("pairs battles.csv --style length=a", 2)


def test_output_in_all_formats(folder: Path) -> None:
    call("pairs battles.csv -o board.json --report page.html")
    assert "<svg" in (folder / "page.html").read_text(encoding="utf-8")
    shown = call("show board.json")
    assert shown == call("pairs battles.csv")
    rows = list(csv.DictReader(io.StringIO(call("show board.json --format csv"))))
    assert [row["system"] for row in rows] == ["new", "old", "best"]
    assert rows[2]["undefined"] == "won_all"
    for kind in ("markdown", "latex", "typst", "org", "html"):
        assert "new" in call(f"pairs battles.csv --format {kind}")
    assert "a leaderboard has one layout" in call("show board.json --layout wide", 2)
    assert "page" not in call("show board.json --report again.html")
    assert (folder / "again.html").exists()


def test_standard_input(folder: Path) -> None:
    text = (folder / "battles.csv").read_bytes()
    done = CliRunner().invoke(cli, ["pairs", "-"], input=text)
    assert done.exit_code == 0
    assert done.output == call("pairs battles.csv")
    done = CliRunner().invoke(cli, ["pairs", "-"], input=text.replace(b"tie", b"ties?", 1))
    assert "stdin:67: winner is 'ties?'" in str(done.exception)


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        ("pairs none.csv", 3, "none.csv: no such file"),
        ("pairs battles.csv --outcome who", 3, "battles.csv: outcome: there is no column 'who'"),
        ("pairs battles.csv --reference nwe", 3, "there is no system 'nwe'; did you mean 'new'?"),
        ("pairs battles.csv --ties no", 2, "'no' is not one of"),
        ("pairs battles.csv --open", 2, "--open goes with --report FILE.html"),
        ("pairs battles.csv --level 1", 2, "is not in the range"),
    ],
)
def test_what_is_wrong_is_said(folder: Path, line: str, code: int, message: str) -> None:
    assert message in call(line, code)


def test_an_unknown_outcome_is_named_with_its_line(folder: Path) -> None:
    path = folder / "battles.csv"
    path.write_text(path.read_text(encoding="utf-8").replace("tie", "draw!", 1), encoding="utf-8")
    assert "battles.csv:67: winner is 'draw!', expected model_a, model_b, tie" in call(
        "pairs battles.csv", 3
    )
