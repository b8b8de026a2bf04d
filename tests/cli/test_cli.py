"""The command, as a user calls it: whole processes, their output, messages and exit codes."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest
from forked import command

from calipers.results import Evaluation

QRELS = "1 0 a 1\n1 0 b 0\n1 0 c 2\n2 0 a 1\n3 0 x 1\n"
RUN = "1 Q0 a 1 0.9 t\n1 Q0 b 2 0.8 t\n1 Q0 c 3 0.7 t\n2 Q0 b 1 3 t\n2 Q0 a 2 2 t\n3 Q0 x 1 1 t\n"
OTHER = "1 Q0 b 1 0.9 t\n1 Q0 a 2 0.8 t\n2 Q0 a 1 3 t\n3 Q0 y 1 1 t\n3 Q0 x 2 0.5 t\n"
TABLE = "y,s,p,one,word\n1,0.9,1.5,1,a\n0,nan,0.2,1,b\n1,0.3,0.4,1,c\n0,0.1,0.3,1,a\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with good and bad inputs."""
    (tmp_path / "q.txt").write_text(QRELS)
    (tmp_path / "a.run").write_text(RUN)
    (tmp_path / "b.run").write_text(OTHER)
    (tmp_path / "t.csv").write_text(TABLE)
    return tmp_path


def calipers(folder: Path, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    """Run the command in a folder; its exit code must be ``code``."""
    done = command(folder, *arguments)
    assert done.returncode == code, done.stderr
    return done


def test_a_run_is_evaluated_and_shown_as_a_table(folder: Path) -> None:
    done = calipers(folder, "retrieval", "q.txt", "a.run", "-m", "RR", "-m", "P@1")
    assert "RR" in done.stdout
    assert "0.83 " in done.stdout  # (1 + 1/2 + 1) / 3
    assert done.stderr == ""


def test_json_follows_the_schema_and_reads_back(folder: Path) -> None:
    done = calipers(
        folder, "retrieval", "q.txt", "a.run", "b.run", "-m", "AP", "-m", "RR", "--format", "json"
    )
    data = json.loads(done.stdout)
    assert data["schema"] == 2
    assert data["task"] == "retrieval"
    assert [system["name"] for system in data["systems"]] == ["a", "b"]
    first = data["systems"][0]["estimates"][0]
    assert {"measure", "value", "low", "high", "level", "method", "n", "undefined"} <= set(first)
    assert first["value"] == pytest.approx((5 / 6 + 1 / 2 + 1) / 3)
    assert data["comparison"]["differences"][0]["system"] == "b"
    inputs = {i["path"]: i for i in data["provenance"]["inputs"]}
    assert len(inputs["q.txt"]["sha256"]) == 64
    assert inputs["a.run"]["lines"] == 6
    assert json.loads(Evaluation.from_dict(data).to_json()) == data


def test_compressed_files_give_the_same_numbers(folder: Path) -> None:
    (folder / "z.run.gz").write_bytes(gzip.compress(RUN.encode()))
    plain = calipers(folder, "retrieval", "q.txt", "a.run", "--format", "csv").stdout
    packed = calipers(folder, "retrieval", "q.txt", "z.run.gz", "--format", "csv").stdout
    assert plain.replace("\na,", "\nz,") == packed


@pytest.mark.parametrize("suffix", ["json", "csv", "md", "txt"])
def test_output_goes_to_a_file_in_the_format_of_its_suffix(folder: Path, suffix: str) -> None:
    done = calipers(folder, "retrieval", "q.txt", "a.run", "-m", "AP", "-o", f"out.{suffix}")
    assert done.stdout == ""
    text = (folder / f"out.{suffix}").read_text(encoding="utf-8")
    begins = {"json": "{", "csv": "system,measure", "md": "#", "txt": "Retrieval"}
    assert text.startswith(begins[suffix])


def test_requirements_decide_the_exit_code(folder: Path) -> None:
    calipers(folder, "retrieval", "q.txt", "a.run", "-m", "RR", "--require", "RR>=0.8")
    done = calipers(
        folder, "retrieval", "q.txt", "a.run", "-m", "RR", "--require", "rr>0.9", code=1
    )
    assert done.stderr.startswith("FAIL  rr>0.9: a: RR 0.83")
    assert "RR" in done.stdout  # the result is shown all the same


def test_weights_and_thresholds_reach_the_numbers(folder: Path) -> None:
    (folder / "w.csv").write_text("y,s,w\n1,2,1\n1,0,3\n0,1,2\n0,-1,2\n")
    done = calipers(
        folder, "classification", "w.csv", "--truth", "y", "--score", "s", "--weight", "w",
        "--threshold", "1", "-m", "recall", "-m", "FPR", "--format", "json",
    )  # fmt: skip
    values = [e["value"] for e in json.loads(done.stdout)["systems"][0]["estimates"]]
    assert values == [1 / 4, 2 / 4]


def test_regression_from_a_table(folder: Path) -> None:
    (folder / "r.csv").write_text("y,p\n1,1\n2,3\n3,4\n")
    done = calipers(
        folder, "regression", "r.csv", "--truth", "y", "--predicted", "p", "--format", "json"
    )
    by_name = {e["measure"]: e for e in json.loads(done.stdout)["systems"][0]["estimates"]}
    assert by_name["RMSE"]["value"] == pytest.approx((2 / 3) ** 0.5)
    assert by_name["RMSE"]["no_skill"] == pytest.approx((2 / 3) ** 0.5)


def test_measures_are_listed_and_explained(folder: Path) -> None:
    listed = calipers(folder, "measures").stdout
    assert "nDCG" in listed
    assert "log-loss" in listed
    explained = calipers(folder, "measures", "sensitivity").stdout
    assert explained.startswith("recall  (counts)")
    assert "TP / (TP + FN)" in explained
    assert "no row is positive" in explained
    done = calipers(folder, "measures", "recal", code=2)
    assert "did you mean recall" in done.stderr


def test_measures_in_every_format(folder: Path) -> None:
    [row] = json.loads(calipers(folder, "measures", "log-loss", "--format", "json").stdout)
    assert (row["measure"], row["low"], row["high"]) == ("log-loss", 0, None)
    assert row["higher_is_better"] is False
    listed = calipers(folder, "measures", "--task", "regression", "--format", "markdown").stdout
    assert "| RMSE | Root mean squared error" in listed
    explained = calipers(folder, "measures", "RMSE", "--format", "org").stdout
    assert "** RMSE" in explained
    assert "- *range*: 0 to inf, lower is better" in explained


def test_the_demo_evaluates_its_cases_and_writes_a_page_of_each(tmp_path: Path) -> None:
    done = calipers(tmp_path, "demo", "-o", "out")
    for name, figure in (
        ("retrieval", "nDCG@10"),
        ("classification", "AUC"),
        ("regression", "RMSE"),
        ("ranking", "RR@5"),
        ("clustering", "silhouette"),
        ("scores", "pass-rate"),
    ):
        assert figure in done.stdout
        page = (tmp_path / "out" / f"{name}.html").read_text(encoding="utf-8")
        assert figure in page
        assert len(page.encode()) < 1_500_000


ONE_BAD_RUN = "1 Q0 a 1 nan t\n1 Q0 a 2\n1 Q0 c 3 abc t\n"
MANY_BAD = "".join(f"1 Q0 d{i}\n" for i in range(13))
FIELDS = "3 fields, expected 6: topic Q0 document rank score tag"

#: Files to write, arguments, and the whole message.
BAD_INPUT = {
    "empty qrels": ({"e": ""}, "retrieval e a.run", "e: no judgments"),
    "empty run": ({"e": ""}, "retrieval q.txt e", "e: no lines"),
    "only comments": ({"e": "# nothing\n\n"}, "retrieval q.txt e", "e: no lines"),
    "bad lines of a run": (
        {"bad": ONE_BAD_RUN},
        "retrieval q.txt bad",
        "bad:1: score is NaN\n"
        "bad:2: 4 fields, expected 6: topic Q0 document rank score tag\n"
        'bad:3: score "abc" is not a number',
    ),
    "many bad lines": (
        {"bad": MANY_BAD},
        "retrieval q.txt bad",
        "".join(f"bad:{i}: {FIELDS}\n" for i in range(1, 11)) + "… and 3 more",
    ),
    "binary rubbish": (
        {"bad": "1 Q0 a\0 1 0.5 t\n"},
        "retrieval q.txt bad",
        "bad:1: not a TREC file (binary data)",
    ),
    "a grade that is no integer": (
        {"bad": "1 0 a 1.5\n"},
        "retrieval bad a.run",
        'bad:1: grade "1.5" is not an integer',
    ),
    "no common topic": (
        {"bad": "9 Q0 a 1 0.5 t\n"},
        "retrieval q.txt bad",
        "bad: no topic in common with the qrels; the qrels have '1', '2', '3', the run has '9'",
    ),
    "a missing file": ({}, "retrieval nope a.run", "nope: no such file"),
    "a directory": ({}, "retrieval q.txt .", ".: is a directory, expected a TREC run file"),
    "a table that is missing": (
        {},
        "classification nope.csv --truth y --score s",
        "nope.csv: no such file",
    ),
    "a table that is a directory": (
        {},
        "ranking . --group g --truth y --score s",
        "data: '.' is not a single file. Several files are read in batches, with --engine stream, "
        "if the rows of each group are consecutive; otherwise combine them into "
        "one file",
    ),
    "an empty table": (
        {"e.csv": ""},
        "classification e.csv --truth y --score s",
        "e.csv: the file is empty",
    ),
    "a table without rows": (
        {"e.csv": "y,s\n"},
        "classification e.csv --truth y --score s",
        "e.csv: the table has no rows",
    ),
    "an unknown column": (
        {},
        "classification t.csv --truth y --score S",
        "t.csv: no column 'S'; did you mean 's'?",
    ),
    "NaN scores": (
        {},
        "classification t.csv --truth y --score s",
        "t.csv: score 's': is NaN in row 1, expected finite numbers "
        "(rows count from 0, without the header)",
    ),
    "infinite scores": (
        {"i.csv": "y,s\n1,0.5\n0,inf\n"},
        "classification i.csv --truth y --score s",
        "i.csv: score 's': is infinite in row 1, expected finite numbers "
        "(rows count from 0, without the header)",
    ),
    "missing values": (
        {"m.csv": "y,s\n1,\n0,1\n"},
        "classification m.csv --truth y --score s",
        "m.csv: score 's': 1 of 2 values are missing, the first in row 0 "
        "(rows count from 0, without the header)",
    ),
    "probabilities out of range": (
        {},
        "classification t.csv --truth y --probability p",
        "t.csv: probability 'p': is 1.5 in row 0, expected probabilities between 0 and 1 "
        "(rows count from 0, without the header)",
    ),
    "one class": (
        {"u.csv": "y,p\nx,0.1\nx,0.2\n"},
        "classification u.csv --truth y --score p",
        "u.csv: truth: has only one class ('x'), and the other is unknown; name both (--labels), "
        "or the positive one if it is this one (--positive)",
    ),
    "three classes": (
        {},
        "classification t.csv --truth word --score p",
        "t.csv: score: has no column of a class, but p; with 3 classes (a, b, c) a column for each "
        "of them is needed, or a positive class (--positive)",
    ),
    "words for scores": (
        {},
        "classification t.csv --truth y --score word",
        "t.csv: score 'word': holds 'a' in row 0, expected numbers (rows count from 0, without the header)",
    ),
    "an unknown positive class": (
        {},
        "classification t.csv --truth y --score p --positive yes",
        "t.csv: truth: no row has the class 'yes' that was named positive; there are '0', '1'",
    ),
    "an unknown baseline": (
        {},
        "retrieval q.txt a.run b.run --baseline A2",
        "baseline 'A2' is not a system; did you mean 'a'?",
    ),
    "a folder that does not exist": (
        {},
        "retrieval q.txt a.run -m AP --report no/r.html",
        "no/r.html: cannot write, because the folder does not exist",
    ),
}


@pytest.mark.parametrize("case", BAD_INPUT)
def test_bad_input_is_told_clearly_and_nothing_is_written(folder: Path, case: str) -> None:
    files, arguments, message = BAD_INPUT[case]
    for name, text in files.items():
        (folder / name).write_bytes(text.encode())
    before = sorted(folder.iterdir())
    report = [] if "--report" in arguments else ["--report", "r.html", "-o", "r.json"]
    done = calipers(folder, *arguments.split(), *report, code=3)
    assert done.stderr == f"calipers: {message}\n"
    assert done.stdout == ""
    assert sorted(folder.iterdir()) == before


USAGE = {
    "an unknown measure": (
        "retrieval q.txt a.run -m nDGC@10",
        "calipers: no measure of retrieval is called 'nDGC@10'; did you mean nDCG@10 or RnDCG or nsDCG@10?\n",
    ),
    "a missing cutoff": ("retrieval q.txt a.run -m P", "calipers: P needs cutoff, as in P@10\n"),
    "a cutoff of 0": (
        "retrieval q.txt a.run -m P@0",
        "calipers: P: cutoff is 0, expected 1 or more\n",
    ),
}


@pytest.mark.parametrize("case", USAGE)
def test_usage_errors(folder: Path, case: str) -> None:
    arguments, message = USAGE[case]
    assert calipers(folder, *arguments.split(), code=2).stderr == message


def test_a_table_needs_a_system(folder: Path) -> None:
    done = calipers(folder, "classification", "t.csv", "--truth", "y", code=2)
    assert "give at least one of --score, --probability, --predicted" in done.stderr


def test_a_requirement_has_to_be_readable(folder: Path) -> None:
    done = calipers(folder, "retrieval", "q.txt", "a.run", "--require", "RR=1", code=2)
    assert "expected a measure, a relation and a number" in done.stderr


def test_rubbish_is_no_table(folder: Path) -> None:
    (folder / "bad.parquet").write_bytes(b"\x93\x00\xff rubbish" * 50)
    done = calipers(folder, "classification", "bad.parquet", "--truth", "y", "--score", "s", code=3)
    assert done.stderr.startswith("calipers: bad.parquet: cannot be read as a table: ")


def test_help_is_quick_to_import(folder: Path) -> None:
    code = (
        "import sys, calipers.cli; calipers.cli.cli(['--help'], standalone_mode=False);"
        "heavy = {'numpy', 'pyarrow', 'rich', 'scipy', 'jinja2'} & set(sys.modules);"
        "sys.exit(f'imported: {heavy}' if heavy else 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_runs_may_be_named(folder: Path) -> None:
    """By NAME=FILE; a file whose name has an equals sign stays one."""
    (folder / "x=a.run").write_text(OTHER)
    done = calipers(
        folder, "retrieval", "q.txt", "old=a.run", "b.run", "x=a.run", "-m", "AP", "--format", "csv"
    )
    assert [line.split(",")[0] for line in done.stdout.splitlines()[1:]] == ["old", "b", "x=a"]
    done = calipers(folder, "overlap", "one=a.run", "two=b.run", "--format", "json")
    assert "one" in done.stdout
    done = calipers(folder, "retrieval", "q.txt", "b=a.run", "b.run", code=2)
    assert "a.run and b.run are both called 'b'" in done.stderr
    done = calipers(folder, "retrieval", "q.txt", "old=none.run", code=3)
    assert done.stderr == "calipers: none.run: no such file\n"
    for name in ("a", "b"):
        done = calipers(
            folder, "retrieval", "q.txt", f"{name}.run", "--format", "trec", "--per-topic"
        )
        (folder / f"{name}.eval").write_text(done.stdout)
    done = calipers(folder, "compare", "values", "old=a.eval", "new=b.eval")
    assert "new - old" in done.stdout
    done = calipers(folder, "retrieval", "q.txt", "q.txt=a.run", "-o", "a.run", code=2)
    assert "the input would be overwritten" in done.stderr


def test_runs_of_one_file_name_have_their_tags(folder: Path) -> None:
    for tag, text in (("first", RUN), ("second", OTHER)):
        (folder / f"input.{tag}.gz").write_bytes(
            gzip.compress(text.replace(" t\n", f" {tag}\n").encode())
        )
    line = [
        "retrieval",
        "q.txt",
        "input.first.gz",
        "input.second.gz",
        "-m",
        "AP",
        "--format",
        "csv",
    ]
    names = [row.split(",")[0] for row in calipers(folder, *line).stdout.splitlines()[1:]]
    assert names == ["first", "second"]
    # Tags that do not tell them apart are no names.
    (folder / "input.second.gz").write_bytes(
        gzip.compress(OTHER.replace(" t\n", " first\n").encode())
    )
    names = [row.split(",")[0] for row in calipers(folder, *line).stdout.splitlines()[1:]]
    assert names == ["input.first.gz", "input.second.gz"]
