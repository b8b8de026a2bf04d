"""``calipers monitor`` and ``calipers interleaving``, as a user calls them."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from forked import command

LINES = [json.dumps({"outcome": x}) for x in ["won", "tied", "won", "won", "lost", "won"] * 10]


def monitor(
    folder: Path, *arguments: str, text: str = "", code: int = 0
) -> subprocess.CompletedProcess[str]:
    done = command(folder, "monitor", *arguments, stdin=text)
    assert done.returncode == code, done.stderr
    return done


def test_outcomes_on_the_standard_input(tmp_path: Path) -> None:
    done = monitor(tmp_path, "-", "--pairs", "--every", "10", text="\n".join(LINES))
    lines = done.stdout.splitlines()
    assert lines[0].startswith("request 10: new won 7, lost 1, tied 2; new - old 0.60 [")
    assert lines[1].startswith("request 20: ")
    assert "Stop at request 27: new scores higher than old (E = 23.7" in done.stdout
    assert done.stderr == ""


def test_data_have_the_standard_output_for_themselves(tmp_path: Path) -> None:
    text = "\n".join(LINES)
    options = ("-", "--pairs", "--every", "10", "--no-stop")
    done = monitor(tmp_path, *options, "--format", "json", text=text)
    assert len(done.stderr.splitlines()) == 6
    data = json.loads(done.stdout)
    assert data["result"] == "monitor-result"
    assert data["decided_at"] == 27
    assert data["last"]["n"] == 60


def test_a_file_with_a_target(tmp_path: Path) -> None:
    rows = "".join(f"{i},{'pass' if i % 12 else 'fail'}\n" for i in range(600))
    (tmp_path / "log.csv").write_text("case,passed\n" + rows)
    arguments = ("log.csv", "--score", "passed", "--target", "0.8")
    done = monitor(tmp_path, *arguments, "-o", "a.json", "--report", "a.html")
    assert done.stdout == ""
    shown = command(tmp_path, "show", "a.json")
    assert shown.returncode == 0
    assert "passed is above the target 0.8" in shown.stdout
    for kind in ("markdown", "latex", "csv"):
        same = command(tmp_path, "show", "a.html", "--format", kind)
        assert same.returncode == 0
        assert same.stdout == monitor(tmp_path, *arguments, "--format", kind).stdout
    page = command(tmp_path, "show", "a.json", "--report", "b.html", "--format", "csv")
    assert page.returncode == 0
    assert (tmp_path / "b.html").read_text() == (tmp_path / "a.html").read_text()


def test_two_systems_in_columns_and_on_split_traffic(tmp_path: Path) -> None:
    rows = "".join(f"{i % 2},{int(i % 3 > 0)},{'ab'[i % 5 > 2]},{i // 2}\n" for i in range(300))
    (tmp_path / "log.csv").write_text("old,new,arm,case\n" + rows)
    pairs = monitor(tmp_path, "log.csv", "--score", "old", "--score", "new")
    assert "Sequential comparison on the same requests: new - old" in pairs.stdout
    options = ("--system", "arm", "--baseline", "a", "--allocation", "0.4", "--no-stop")
    options = (*options, "--cluster", "case", "--alternative", "greater", "--drift")
    split = monitor(tmp_path, "log.csv", "--score", "new", *options)
    assert "one-sided" in split.stdout
    assert "150 requests were left out" in split.stdout
    assert "No change of the value" in split.stdout
    assert "Sequential comparison on split traffic: b - a" in split.stdout


def test_grades_and_numbers_without_bounds(tmp_path: Path) -> None:
    (tmp_path / "grades.txt").write_text("\n".join(str(i % 5 + 1) for i in range(400)))
    graded = monitor(tmp_path, "grades.txt", "--bounds", "1", "5", "--target", "2")
    assert "score is above the target 2" in graded.stdout
    free = monitor(tmp_path, "grades.txt", "--unbounded")
    assert "asymptotic confidence sequence" in free.stdout


@pytest.mark.slow
def test_it_stops_while_the_input_goes_on(tmp_path: Path) -> None:
    """The input is a pipe that stays open: lines are read as they arrive."""
    program = [sys.executable, "-m", "calipers", "monitor", "-", "--pairs", "--every", "5"]
    with subprocess.Popen(
        program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=tmp_path
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("won\n" * 5)
        process.stdin.flush()
        assert process.stdout.readline().startswith("request 5: new won 5, lost 0, tied 0")
        process.stdin.write("won\n" * 4)
        process.stdin.flush()
        assert "Stop at request 9" in process.stdout.read()
        assert process.wait(60) == 0


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (
            "won\nlost\noops\n",
            ("--pairs",),
            "stdin:3: 'oops' is not a score; expected won, lost or",
        ),
        ('{"score": 1}\n{"score"\n', (), "stdin:2: expected a JSON object"),
        ("", (), "there are no requests to evaluate"),
        ("1\n2\n", (), "stdin:2: the score is 2, expected 0 to 1"),
    ],
)
def test_a_broken_line_is_named(
    text: str, options: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    assert message in monitor(tmp_path, "-", *options, text=text, code=3).stderr


def test_usage_errors(tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_text("1\n0\n")
    done = monitor(tmp_path, "log.txt", "--system", "arm", code=2)
    assert "--system: name the column of the scores as well" in done.stderr
    done = monitor(tmp_path, "log.txt", "--cluster", "user", code=2)
    assert "--cluster: name the column of the scores as well" in done.stderr
    assert monitor(tmp_path, "log.txt", "--every", "0", code=2).stderr


def test_interleaving(tmp_path: Path) -> None:
    documents = ["a", "b", "c", "d"]
    with (tmp_path / "log.jsonl").open("w") as file:
        for i in range(60):
            team = ["new", "old", "old", "new"] if i % 2 else ["old", "new", "new", "old"]
            clicks = [d for d, t in zip(documents, team, strict=True) if t == "new" and i % 3]
            row = {"documents": documents, "team": team, "clicks": clicks, "user": i // 5}
            file.write(json.dumps({**row, "x": documents, "y": documents[::-1]}) + "\n")
    done = command(tmp_path, "interleaving", "log.jsonl", "--baseline", "old", "--cluster", "user")
    assert done.returncode == 0, done.stderr
    assert "new is better than old on preference by 0.667" in done.stdout
    probabilistic = command(
        tmp_path,
        "interleaving",
        "log.jsonl",
        "--ranking",
        "x",
        "--ranking",
        "y",
        "--format",
        "json",
    )
    data = json.loads(probabilistic.stdout)
    assert data["provenance"]["conventions"]["interleaving"] == "probabilistic"
    gate = command(tmp_path, "interleaving", "log.jsonl", "--require", "preference > 0.9")
    assert gate.returncode == 1


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_what_is_known_is_printed_when_it_is_interrupted(tmp_path: Path) -> None:
    program = [sys.executable, "-m", "calipers", "monitor", "-", "--target", "0.5", "--every", "5"]
    with subprocess.Popen(
        program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=tmp_path
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("1\n0\n1\n1\n0\n")
        process.stdin.flush()
        assert process.stdout.readline().startswith("request 5: score 0.6")
        process.send_signal(signal.SIGINT)
        assert "No decision after 5 requests" in process.stdout.read()
        assert process.wait(60) == 130
