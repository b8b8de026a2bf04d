"""No output is written over an input, or over another output, by any command."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest
from in_process import invoke

from calipers.cli import COMMANDS, cli
from calipers.cli.files import Command, Group, InputFile, NamedFile, OutputFile, OutputFolder

#: Each command with inputs, which are called IN1, IN2, …, and the options that write.
#: What evaluations write.
WRITTEN = ("-o", "--report", "--junit")
#: And those that can be read in batches.
STREAMED = (*WRITTEN, "--save-state")
LINES = {
    "retrieval": ("retrieval IN1 IN2 IN3", WRITTEN),
    "classification": ("classification IN1 --truth y --predicted p", STREAMED),
    "classification, joined": (
        "classification IN1 --truth y --predicted p --id i --system a=IN2 --system b=IN3",
        STREAMED,
    ),
    "multilabel": ("multilabel IN1 --truth y --predicted p", STREAMED),
    "multilabel, joined": (
        "multilabel IN1 --truth y --predicted p --id i --system a=IN2",
        STREAMED,
    ),
    "regression": ("regression IN1 --truth y --predicted p", STREAMED),
    "survival": ("survival IN1 --time y --event e --risk p", WRITTEN),
    "merge": ("merge IN1 IN2", STREAMED),
    "clustering": ("clustering IN1 --labels p --truth y", WRITTEN),
    "uplift": ("uplift IN1 --treatment t --outcome y --score s", WRITTEN),
    "agreement": ("agreement IN1 --raters p,q", STREAMED),
    "scores": ("scores IN1 --score p", STREAMED),
    "ranking": ("ranking IN1 --group q --truth y --score s", WRITTEN),
    "ranking, joined": (
        "ranking IN1 --group q --truth y --score s --id i --system a=IN2",
        WRITTEN,
    ),
    "overlap": ("overlap IN1 IN2", WRITTEN),
    "judge": ("judge IN1 --score p --human h", WRITTEN),
    "pairs": ("pairs IN1", ("-o", "--report")),
    "monitor": ("monitor IN1", ("-o", "--report")),
    "interleaving": ("interleaving IN1", WRITTEN),
    "precision-recall": ("precision-recall IN1", WRITTEN),
    "review": ("review IN1", WRITTEN),
    "passages": ("passages IN1 IN2 IN3", WRITTEN),
    "compare retrieval": ("compare retrieval IN1 IN2 IN3", ("-o", "--report")),
    "compare classification": (
        "compare classification IN1 --truth y --predicted p --id i --system a=IN2",
        ("-o", "--report"),
    ),
    "compare multilabel": ("compare multilabel IN1 --truth y --predicted p", ("-o", "--report")),
    "compare regression": ("compare regression IN1 --truth y --predicted p", ("-o", "--report")),
    "compare survival": ("compare survival IN1 --time y --event e --risk p", ("-o", "--report")),
    "compare clustering": ("compare clustering IN1 --labels p --truth y", ("-o", "--report")),
    "compare uplift": (
        "compare uplift IN1 --treatment t --outcome y --score s",
        ("-o", "--report"),
    ),
    "compare scores": ("compare scores IN1 --score p --score q", ("-o", "--report")),
    "compare agreement": ("compare agreement IN1 --raters p,q", ("-o", "--report")),
    "compare ranking": ("compare ranking IN1 --group q --truth y --score s", ("-o", "--report")),
    "compare values": ("compare values IN1 IN2", ("-o", "--report")),
    "plan retrieval": ("plan retrieval IN1 IN2 -m AP --half-width 0.1", ("-o",)),
    "plan classification": (
        "plan classification IN1 --truth y --predicted p -m recall --half-width 0.1",
        ("-o",),
    ),
    "plan multilabel": ("plan multilabel IN1 --truth y --predicted p -m F1", ("-o",)),
    "plan survival": (
        "plan survival IN1 --time y --event e --risk p -m C-index --half-width 0.1",
        ("-o",),
    ),
    "plan clustering": (
        "plan clustering IN1 --labels p --truth y -m ARI --half-width 0.1",
        ("-o",),
    ),
    "plan uplift": (
        "plan uplift IN1 --treatment t --outcome y --score s -m AUUC --half-width 0.1",
        ("-o",),
    ),
    "plan scores": ("plan scores IN1 --score p --half-width 0.1", ("-o",)),
    "plan labels": ("plan labels IN1 --score p --human h", ("-o", "--cases")),
    "plan agreement": ("plan agreement IN1 --raters p,q --half-width 0.1", ("-o",)),
    "plan ranking": ("plan ranking IN1 --group q --truth y --score s -m AP", ("-o",)),
    "plan regression": ("plan regression IN1 --truth y --predicted p -m MAE", ("-o",)),
    "show": ("show IN1", ("-o", "--report")),
    "init": ("init IN1 --force", ("-o",)),
    "diff": ("diff IN1 IN2", ("-o",)),
    "learn cv": (
        "learn cv IN1 --truth y --predicted p --fold f",
        ("-o", "--report", "--junit"),
    ),
    "learn validation-curve": (
        "learn validation-curve IN1 --truth y --estimator e --param-name p --param-range 1,2",
        ("-o", "--report"),
    ),
    "learn learning-curve": (
        "learn learning-curve IN1 --truth y --estimator e",
        ("-o", "--report"),
    ),
    "learn select": ("learn select IN1 --truth y --estimator e --estimator f", ("-o",)),
    "learn bias-variance": ("learn bias-variance IN1 --truth y --estimator e", ("-o", "--report")),
    "convert": ("convert IN1 OUT --force", ("OUT",)),
    "campaign topics": ("campaign topics IN1 IN2", ()),
    "campaign runs": ("campaign runs IN1 IN2 --participant p", ()),
    "campaign documents": ("campaign documents IN1 IN2", ()),
    "campaign pool": ("campaign pool IN1", ("-o",)),
    "campaign sample": ("campaign sample IN1 --stratum 5=all", ("-o",)),
    "campaign assign": ("campaign assign IN1", ("-o",)),
    "campaign agreement": ("campaign agreement IN1", ("-o", "--report", "--junit")),
    "campaign adjudicate": ("campaign adjudicate IN1", ("-o",)),
    "campaign check": ("campaign check IN1", ("-o",)),
    "campaign backup": ("campaign backup IN1 OUT", ("OUT",)),
    "campaign report": ("campaign report IN1 FILE.html", ("FILE.html",)),
    "campaign import": ("campaign import IN1 IN2 --assessor a", ()),
    "campaign export": (
        "campaign export IN1",
        ("--qrels", "--sampled", "--prefs", "--judgments", "--topics"),
    ),
    "campaign log": ("campaign log IN1", ("-o",)),
    "campaign status": ("campaign status IN1", ("-o",)),
}
#: Those that read no file, or write none.
WITHOUT = {
    "check",
    "trec_eval",
    "measures",
    "demo",
    "completion",
    "plan assumed",
    "learn check-split",
    "campaign create",
    "campaign assessors",
    "campaign judge",
    "campaign demo",
}

ALIASES: dict[str, Callable[[Path], Path]] = {
    "the same name": lambda path: path,
    "another way": lambda path: path.parent / "way" / path.name,
    "a link": lambda path: path.parent / f"{path.name}.link",
    "a hard link": lambda path: path.parent / f"{path.name}.hard",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three files under several names each. Nobody looks into them."""
    (tmp_path / "way").symlink_to(".")
    for name in ("IN1", "IN2", "IN3"):
        (tmp_path / name).write_text(f"content of {name}")
        (tmp_path / f"{name}.link").symlink_to(name)
        (tmp_path / f"{name}.hard").hardlink_to(tmp_path / name)
    return tmp_path


def _line(line: str, folder: Path, output: str, path: Path) -> list[str]:
    words = [word.replace("IN", f"{folder}/IN") for word in line.split()]
    if output in words:
        return [str(path) if word == output else word for word in words]
    return [*words, output, str(path)]


def _state(folder: Path) -> dict[str, str]:
    return {p.name: p.read_text() for p in folder.iterdir() if p.is_file()}


@pytest.mark.parametrize("case", LINES)
def test_no_output_is_an_input(folder: Path, case: str) -> None:
    """Every output beside every input, under the names that files have, turn by turn."""
    line, outputs = LINES[case]
    before = _state(folder)
    aliases = itertools.cycle(ALIASES.values())
    # So that no option meets the same name in every command.
    for _ in range(list(LINES).index(case) % len(ALIASES)):
        next(aliases)
    for output in outputs:
        for name in (word for word in ("IN1", "IN2", "IN3") if word in line):
            path = next(aliases)(folder / name)
            done = invoke(_line(line, folder, output, path))
            assert done.exit_code == 2, done.output
            assert f"{output} {path} and " in done.stderr
            assert "are the same file: the input would be overwritten" in done.stderr
    assert _state(folder) == before


@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize(
    "case", [case for case, (_, out) in LINES.items() if {"-o", "--report"} <= {*out}]
)
def test_no_output_is_another(folder: Path, case: str, *, there: bool) -> None:
    out = folder / "out"
    if there:
        out.write_text("old")
    (folder / "out.link").symlink_to("out")
    before = _state(folder)
    for other in (out, folder / "way" / "out", folder / "out.link"):
        done = invoke([*_line(LINES[case][0], folder, "-o", out), "--report", str(other)])
        assert done.exit_code == 2, done.output
        assert f"-o {out} and --report {other} are the same file" in done.stderr or (
            f"--report {other} and -o {out} are the same file" in done.stderr
        )
    assert _state(folder) == before


def test_two_outputs_may_go_to_the_same_device(folder: Path) -> None:
    done = invoke(["overlap", f"{folder}/IN1", "-o", "/dev/null", "--report", "/dev/null"])
    assert "same file" not in done.output


def _commands(group: click.Command, path: str = "") -> Iterator[tuple[str, click.Command]]:
    ctx = click.Context(group)
    for name in group.list_commands(ctx) if isinstance(group, click.Group) else ():
        own = group.get_command(ctx, name)  # type: ignore[attr-defined]
        assert own is not None
        yield f"{path}{name}", own
        yield from _commands(own, f"{path}{name} ")


def test_every_command_says_which_of_its_files_are_read_and_which_written() -> None:
    found = dict(_commands(cli))
    assert set(COMMANDS) <= set(found)
    for name, command in found.items():
        if isinstance(command, Group) or name in WITHOUT:
            continue
        assert isinstance(command, Command), name
        assert name in LINES, f"{name} has no line in this test"
        written = {p.opts[0] for p in command.params if isinstance(p.type, OutputFile)}
        shown = {"target": "OUT", "page": "FILE.html"}  # of arguments, what the help calls them
        assert set(LINES[name][1]) == {shown.get(name, name) for name in written}
        for param in command.params:
            if isinstance(param.type, click.Path):
                assert isinstance(param.type, InputFile | OutputFile | OutputFolder), (
                    name,
                    param.name,
                )
        assert any(isinstance(p.type, InputFile | NamedFile) for p in command.params), name


def test_the_pages_of_the_demo_are_files_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "retrieval.html").symlink_to("classification.html")
    done = invoke(["demo", "-o", str(tmp_path)])
    assert done.exit_code == 2
    assert "retrieval.html and the report" in done.stderr
    (tmp_path / "retrieval.html").unlink()
    import calipers.data

    data = Path(calipers.data.__file__).parent / "demo" / "diabetes.csv"
    (tmp_path / "regression.html").symlink_to(data)
    done = invoke(["demo", "-o", str(tmp_path)])
    assert done.exit_code == 2
    assert "the input would be overwritten" in done.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["regression.html"]


# --- What cannot be written is told before anything is computed -----------------------------------


@pytest.mark.parametrize("output", ["-o", "--report"])
def test_an_output_that_cannot_be_written_is_told_first(folder: Path, output: str) -> None:
    line = ["overlap", f"{folder}/IN1", f"{folder}/IN2"]  # which would be told to be no runs
    done = invoke([*line, output, str(folder / "none" / "out")])
    assert isinstance(done.exception, FileNotFoundError)
    done = invoke([*line, output, str(folder)])
    assert done.exit_code == 2
    assert "is a directory" in done.stderr


@pytest.mark.parametrize("case", LINES)
def test_an_empty_name_is_told(folder: Path, case: str) -> None:
    line, outputs = LINES[case]
    lines = [_line(line, folder, output, Path("EMPTY")) for output in outputs]
    inputs = [n for n, word in enumerate(line.split()) if word.startswith("IN")]
    plain = lines[0] if lines else line.split()
    lines += [["EMPTY" if n == at else word for n, word in enumerate(plain)] for at in inputs]
    for words in lines:
        done = invoke(["" if word == "EMPTY" else word for word in words])
        assert done.exit_code == 2, done.output
        assert "the name is empty" in done.stderr
    assert "the name is empty" in invoke(["demo", "-o", ""]).stderr


@pytest.mark.parametrize(
    "line", ["retrieval - -", "retrieval q - -", "overlap - -", "compare values - a -"]
)
def test_the_standard_input_is_one_input(line: str) -> None:
    done = invoke(line.split())
    assert done.exit_code == 2
    assert "the standard input can be read only once" in done.stderr


@pytest.mark.parametrize(
    ("suffix", "message"),
    [
        (
            "pdf",
            "cannot be written as pdf; use table, json, csv, markdown, latex, typst, org, html",
        ),
        ("json.gz", "cannot be written as gz"),
        ("xlsx", "cannot be written as xlsx"),
        ("tsv", "cannot be written as tsv"),
    ],
)
def test_a_suffix_of_which_nothing_is_written_is_told(
    folder: Path, suffix: str, message: str
) -> None:
    done = invoke(["overlap", f"{folder}/IN1", f"{folder}/IN2", "-o", f"{folder}/out.{suffix}"])
    assert done.exit_code == 2
    assert message in done.stderr


@pytest.mark.parametrize("name", ["out.json", "out.csv", "out.md", "-"])
def test_a_page_is_not_called_otherwise(folder: Path, name: str) -> None:
    done = invoke(["overlap", f"{folder}/IN1", f"{folder}/IN2", "--report", name])
    assert done.exit_code == 2
    assert "page" in done.stderr


# --- The standard output --------------------------------------------------------------------------

RUN = "1 Q0 a 1 0.9 t\n1 Q0 b 2 0.8 t\n2 Q0 b 1 3 t\n"


def shell(folder: Path, line: str) -> subprocess.CompletedProcess[str]:
    """What a shell makes of a line, in which ``calipers`` is the command."""
    line = line.replace("calipers ", f"{sys.executable} -m calipers ")
    return subprocess.run(
        ["bash", "-c", line], cwd=folder, capture_output=True, text=True, check=False
    )


@pytest.mark.skipif(sys.platform == "win32", reason="a POSIX shell")
@pytest.mark.parametrize("given", ["days", "days/*.csv", "da*", "."])
@pytest.mark.parametrize("output", ["-o", "--save-state"])
def test_no_output_is_one_of_many_inputs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str, output: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for day in ("1", "2"):
        file = tmp_path / "days" / f"day={day}" / "a.csv"
        if given == "days/*.csv":
            file = tmp_path / "days" / f"{day}.csv"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("y,p\n1,0.9\n0,0.4\n1,0.3\n0,0.6\n")
    before = file.read_text()
    line = ["classification", given, "--truth", "y", "--probability", "p", "-m", "accuracy"]
    done = invoke([*line, output, str(file)])
    assert done.exit_code == 2, done.output
    assert "are the same file: the input would be overwritten" in done.stderr
    assert file.read_text() == before
    kept = file.parent / "kept.state"  # what is no table is not read
    for _ in range(2):
        assert invoke([*line, "--save-state", str(kept), "-o", "out.json"]).exit_code == 0


def test_results_are_not_appended_to_an_input(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text(RUN)
    done = shell(tmp_path, "calipers overlap a b >> b")
    assert done.returncode == 2
    assert "the standard output and RUNS b are the same file" in done.stderr
    assert (tmp_path / "b").read_text() == RUN


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="a POSIX shell")
@pytest.mark.parametrize("output", ["-o /dev/stdout --format csv", "-o - --format csv"])
def test_the_standard_output_by_name_is_the_standard_output(tmp_path: Path, output: str) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text(RUN)
    plain = shell(tmp_path, "calipers overlap a b --format csv").stdout
    assert plain.startswith("system,")
    done = shell(tmp_path, f"echo before > log; calipers overlap a b {output} >> log")
    assert done.stderr == ""
    assert (tmp_path / "log").read_text() == f"before\n{plain}"
    assert shell(tmp_path, f"calipers overlap a b {output} | cat").stdout == plain
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a", "b", "log"]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="root makes devices")
def test_results_and_reports_go_into_devices_and_pipes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text(RUN)
    line = (
        "mknod null c 1 3 && calipers overlap a b -o null --report null && test -c null && "
        "calipers overlap a b -o >(cat > got.txt) --report >(cat > got.html); wait; sleep 0.3"
    )
    done = shell(tmp_path, line)
    assert (done.stdout, done.stderr) == ("", "")
    assert (tmp_path / "got.txt").read_text().startswith("Overlap")
    assert (tmp_path / "got.html").read_text().rstrip().endswith("</html>")
    assert "null" in {p.name for p in tmp_path.iterdir()}
