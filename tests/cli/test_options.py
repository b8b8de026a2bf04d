"""No option is taken without a word where it can have no effect."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest
from click.testing import Result
from in_process import invoke

from calipers.cli.compare import make_compare_command
from calipers.cli.plan import _make_pilot_command
from calipers.data.errors import InputError
from calipers.evaluation.tasks import TASKS

ROWS = "y,word,p,s,t,fold,l_a,l_b,k_a,k_b\n" + "".join(
    f"{i % 2},{'xy'[i % 2]},{i % 3 % 2},{i * 7 % 11 / 11},{i * 5 % 13 / 13},{i % 4},{i % 2},1,1,{i % 3 % 2}\n"
    for i in range(48)
)
RUN = "".join(f"{t} Q0 d{d} 1 {-d} t\n" for t in range(4) for d in range(3))
QRELS = "".join(f"{t} 0 d{t % 3} 1\n" for t in range(4))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A table, judgments and runs, in the current folder."""
    monkeypatch.chdir(tmp_path)
    for name, text in {"t.csv": ROWS, "q": QRELS, "a": RUN, "b": RUN}.items():
        (tmp_path / name).write_text(text)
    return tmp_path


REFUSED = {
    "labels and a positive class": (
        "classification t.csv --truth y --score s --labels 0,1,2 --positive 1",
        "--labels and --positive: name a positive class, or all classes in their order; both only "
        "where --labels names two",
    ),
    "a threshold of predictions": (
        "classification t.csv --truth y --predicted p --threshold 0.3",
        "--threshold applies to --score and --probability",
    ),
    "costs that the rule does not know": (
        "classification t.csv --truth y --score s --threshold youden --costs 1,2",
        "--costs: the rule 'youden' does not use costs",
    ),
    "an orientation without a matrix": (
        "classification t.csv --truth y --score s --orientation predicted-rows",
        "--orientation: there is no confusion matrix",
    ),
    "cells without a matrix": (
        "classification t.csv --truth y --score s --show-confusion counts",
        "--show-confusion: there is no confusion matrix",
    ),
    "an orientation of JSON": (
        "classification t.csv --truth y --predicted p --orientation truth-rows --format json",
        "--orientation goes with a table",
    ),
    "an orientation of a table in a file": (
        "classification t.csv --truth y --predicted p --orientation predicted-rows -o x.txt",
        "--orientation goes with a table",
    ),
    "a separator of columns of 0 and 1": (
        "multilabel t.csv --truth l_* --predicted k_* --separator |",
        "--separator applies to columns of text",
    ),
    "intervals over splits": (
        "compare classification t.csv --truth y --score s --score t --split fold --design k-fold "
        "--train-rows 36 --test-rows 12 --interval bca",
        "--interval does not apply to test splits",
    ),
    "a unit over splits": (
        "compare values q --design k-fold --train-rows 36 --test-rows 12 --unit folds",
        "--unit does not apply to test splits",
    ),
    "a primary measure over splits": (
        "compare classification t.csv --truth y --score s --score t --split fold --design k-fold "
        "--train-rows 36 --test-rows 12 -m AUC -m Brier --primary AUC",
        "--primary does not apply to test splits",
    ),
    "repetitions without splits": (
        "compare classification t.csv --truth y --score s --score t --repetition fold",
        "--repetition goes with --split",
    ),
    "repetitions of values": (
        "compare values q --repetition fold",
        "--repetition goes with --design",
    ),
    "the power of an interval": (
        "plan nDCG@10 --sd 0.1 --half-width 0.02 --power 0.9",
        "--power: does not apply to the interval",
    ),
    "the test of an interval": (
        "plan nDCG@10 --sd 0.1 --half-width 0.02 --test wilcoxon",
        "--test: does not apply to the interval",
    ),
}
BAD_INPUT = {
    "a collection without fall-out": (
        "retrieval q a -m AP -m RR --collection-size 100",
        "collection_size does not apply to AP, RR; leave it out",
    ),
    "clusters without their correlation": (
        "plan nDCG@10 --sd 0.1 --difference 0.02 --cluster-size 3",
        "--cluster-size and --icc go together",
    ),
    "a correlation without clusters": (
        "plan nDCG@10 --sd 0.1 --difference 0.02 --icc 0.3",
        "--cluster-size and --icc go together",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_has_no_effect_is_refused(folder: Path, case: str) -> None:
    line, message = REFUSED[case]
    done = invoke(line.split())
    assert done.exit_code == 2, done.output
    assert message in " ".join(done.stderr.split())
    assert not (folder / "x.txt").exists()


@pytest.mark.parametrize("case", BAD_INPUT)
def test_what_has_no_effect_is_refused_in_python_too(folder: Path, case: str) -> None:
    line, message = BAD_INPUT[case]
    done = invoke(line.split())
    assert isinstance(done.exception, InputError)
    assert message in str(done.exception)


def _ok(line: str) -> Result:
    done = invoke(line.split())
    assert done.exit_code == 0, done.output
    return done


def test_what_has_an_effect_there_is_taken(folder: Path) -> None:
    _ok("retrieval q a -m AP --collection-size 100 --judgment-bounds")
    _ok("plan nDCG@10 --sd 0.1 --difference 0.02 --cluster-size 3 --icc 0.2")
    _ok("plan nDCG@10 --sd 0.1 --correlation 0.5 --half-width 0.02 --power 0.9")


@pytest.mark.parametrize("name", TASKS)
def test_what_only_an_evaluation_shows_is_no_option_of_the_others(name: str) -> None:
    shown = {
        "slices",
        "slice_bins",
        "incomplete",
        "max_unretrieved",
        "max_grade",
        "confusion",
        "by_label",
    }
    shown |= {"orientation", "per_topic", "per_group", "requirements"}
    for command in (make_compare_command(name), _make_pilot_command(name)):
        assert not shown & {p.name for p in command.params}
    assert "interval" not in {p.name for p in _make_pilot_command(name).params}


BOUNDS = {
    "overlap a b": (
        "--depth 0",
        "--depth 99999999999999999999",
        "-k 99999999999999999999",
        "-p 1",
        "--level 1",
        "--level 0",
        "--n-resamples 99",
        "--seed -1",
        "--seed 9223372036854775808",
    ),
    "retrieval q a": (
        "--rel 0",
        "--rel 9999999999",
        "--collection-size 99999999999999999999",
        "--judgment-bounds --max-unretrieved 9999999999",
        "--judgment-bounds --max-grade 99999999999999999999",
    ),
    "plan nDCG@10 --sd 0.1": (
        "-n 1",
        "-n 10000000000000",
        "--comparisons 0",
        "--comparisons 10000000",
        "--difference 0.1 --test tukey --systems 1000000",
    ),
}


@pytest.mark.parametrize("line", BOUNDS)
def test_counts_and_levels_have_bounds(folder: Path, line: str) -> None:
    for option in BOUNDS[line]:
        done = invoke([*line.split(), *option.split()])
        assert done.exit_code == 2, (option, done.output)
        assert "is not in the range" in done.stderr


# --- The orientation ------------------------------------------------------------------------------

LINE = "classification t.csv --truth y --predicted p"
#: How often each class is taken for each other, counted by hand from the rows above.
COUNTS = {("0", "0"): 16, ("0", "1"): 8, ("1", "0"): 16, ("1", "1"): 8}


def _cells(line: str) -> list[str]:
    return [cell.strip(" *") for cell in line.strip("|").split("|")]


@pytest.mark.parametrize("orientation", ["truth-rows", "predicted-rows"])
def test_the_orientation_is_that_of_the_table_of_markdown_and_of_the_page(
    folder: Path, orientation: str
) -> None:
    transposed = orientation == "predicted-rows"
    expected = {(b, a) if transposed else (a, b): n for (a, b), n in COUNTS.items()}
    corner = "predicted \\ truth" if transposed else "truth \\ predicted"

    table = _ok(f"{LINE} --orientation {orientation} --report r.html").stdout.splitlines()
    start = next(i for i, line in enumerate(table) if line.startswith(corner))
    rows = [line.split() for line in table[start + 1 : start + 3]]
    assert {(r[0], c): int(n) for r in rows for c, n in zip("01", r[1:], strict=True)} == expected

    markdown = _ok(f"{LINE} --orientation {orientation} --format markdown").stdout.splitlines()
    start = next(i for i, line in enumerate(markdown) if corner.split()[0] + " \\\\" in line)
    rows = [_cells(line) for line in markdown[start + 2 : start + 4]]
    assert {(r[0], c): int(n) for r in rows for c, n in zip("01", r[1:], strict=True)} == expected

    page = (folder / "r.html").read_text(encoding="utf-8")
    assert corner in page
    assert ("true class, by column" in page) == transposed
    across, down = ("truth", "predicted")[:: 1 if transposed else -1]
    assert f'"x": {{"field": "{across}"' in page or f'"x":{{"field":"{across}"' in page
    assert f'"y": {{"field": "{down}"' in page or f'"y":{{"field":"{down}"' in page


SYSTEMS = {
    "retrieval": "q a b",
    "classification": "t.csv --truth y --score s --score t",
    "multilabel": "t.csv --truth l_* --predicted one=l_* --predicted two=k_*",
    "regression": "t.csv --truth s --predicted t --predicted p",
    "ranking": "t.csv --group fold --truth y --score s --score t",
    "clustering": "t.csv --truth y --labels p --labels k_b",
    "survival": "t.csv --time p --event y --risk s --risk t",
    "uplift": "t.csv --treatment l_a --outcome y --score s --score t",
    "scores": "t.csv --score y --score p",
    "agreement": "t.csv --raters one=y,p --raters two=l_a,k_b",
}


@pytest.mark.parametrize("task", TASKS)
def test_every_command_may_leave_the_comparison_out(folder: Path, task: str) -> None:
    line = [task, *SYSTEMS[task].split(), "--interval", "analytic", "--format", "json"]
    compared, alone = (json.loads(invoke([*line, *more]).stdout) for more in ([], ["--no-compare"]))
    assert compared["comparison"] is not None
    assert alone.get("comparison") is None
    assert alone["systems"] == compared["systems"]
    first = compared["systems"][0]
    measure = first["estimates"][0]["measure"]
    for option in (["--baseline", first["name"]], ["--primary", measure]):
        done = invoke([*line, "--no-compare", *option])
        assert done.exit_code == 2
        assert f"{option[0]} requires a comparison" in " ".join(done.stderr.split())


def test_every_option_has_help() -> None:
    for command in (make_compare_command("classification"), _make_pilot_command("retrieval")):
        for param in command.params:
            assert isinstance(param, click.Argument) or param.help  # type: ignore[attr-defined]
