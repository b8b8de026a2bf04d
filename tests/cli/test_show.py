"""What reads results again (``show``, ``diff``), ``--open``, and what helps to type a command."""

from __future__ import annotations

import base64
import gzip
import json
from importlib import resources
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete
from in_process import invoke

import calipers as cal
from calipers.cli import cli
from calipers.evaluate.diff import diff_evaluations

DEMO = Path(str(resources.files("calipers").joinpath("data", "demo")))
DIABETES = ["regression", str(DEMO / "diabetes.csv"), "--truth", "progression"]
QRELS, NCA, PIXELS = (
    str(DEMO / "digits" / name) for name in ("qrels.txt.gz", "nca.run.gz", "pixels.run.gz")
)
FAST = ["--interval", "analytic"]


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses that a browser was asked to show."""
    shown: list[str] = []
    monkeypatch.setattr("webbrowser.open", lambda address: shown.append(address) or True)
    return shown


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Evaluations of two runs."""
    folder = tmp_path_factory.mktemp("runs")
    out = []
    for run, measures in ((PIXELS, ("AP", "P@5", "RR")), (NCA, ("AP", "P@5"))):
        out.append(str(folder / f"{Path(run).name}.json"))
        asked = [word for measure in measures for word in ("-m", measure)]
        done = invoke(["retrieval", QRELS, run, *asked, "-o", out[-1]])
        assert done.exit_code == 0, done.output
    return out[0], out[1]


# --- show and --open -----------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["table", "csv", "markdown", "latex", "json"])
def test_a_written_result_is_shown_as_it_was(tmp_path: Path, form: str) -> None:
    line = [*DIABETES, "--predicted", "pred_ridge", "--predicted", "pred_forest", *FAST]
    file = str(tmp_path / "last.json")
    assert invoke([*line, "-o", file]).exit_code == 0
    shown = invoke(["show", file, "--format", form])
    assert shown.exit_code == 0, shown.output
    assert shown.stdout == invoke([*line, "--format", form]).stdout


@pytest.mark.slow
def test_a_page_holds_its_result(tmp_path: Path, opened: list[str]) -> None:
    page, file = str(tmp_path / "page.html"), str(tmp_path / "last.json")
    line = [*DIABETES, "--predicted", "pred_ridge", *FAST]
    assert invoke([*line, "--report", page, "-o", file]).exit_code == 0
    for form in ("table", "json", "csv"):
        shown = invoke(["show", page, "--format", form])
        assert shown.stdout == invoke(["show", file, "--format", form]).stdout != ""
    assert invoke(["diff", file, page]).exit_code == 0
    assert not opened
    assert invoke(["show", page, "--open"]).exit_code == 0
    assert opened == [Path(page).resolve().as_uri()]


def test_a_comparison_and_plans_are_shown(tmp_path: Path) -> None:
    for number, line in enumerate(
        (
            ["plan", "nDCG@10", "--sd", "0.1", "--difference", "0.02"],
            ["compare", *DIABETES, "--predicted", "pred_ridge", "--predicted", "pred_forest"],
        )
    ):
        file = str(tmp_path / f"{number}.json")
        assert invoke([*line, "-o", file]).exit_code == 0
        assert invoke(["show", file]).stdout == invoke(line).stdout


def test_what_is_no_result_is_refused(tmp_path: Path, opened: list[str]) -> None:
    page, units = tmp_path / "page.html", tmp_path / "units.json"
    page.write_text("<!doctype html>")
    per_topic = ["retrieval", QRELS, NCA, "-m", "P@5", "--per-topic", *FAST, "-o", str(units)]
    assert invoke(per_topic).exit_code == 0
    assert "expected an evaluation, a comparison or a plan" in str(
        invoke(["show", str(units)]).exception
    )
    assert "without options" in invoke(["show", str(page), "--format", "json"]).stderr
    assert not opened
    assert invoke(["show", str(page)]).exit_code == 0
    assert opened == [page.resolve().as_uri()]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (gzip.compress(b"{}" * 99)[:-9] + b"x" * 9, "its result is damaged: "),
        (gzip.compress(b"{}" * 99)[:-9], "its result is damaged: "),
        (b"no gzip", "its result is damaged: "),
        (gzip.compress(b" " * 2000), "its result is longer than 1,000 bytes, which is the limit"),
        (gzip.compress(b"\xff"), "not valid JSON: byte 1 is not UTF-8"),
    ],
)
def test_a_page_whose_result_is_damaged_is_refused(
    content: bytes, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("calipers.data.evaluation_logs.MAX_MEMBER_BYTES", 1000)
    page = tmp_path / "page.html"
    element = b'<script type="application/gzip" data-name="result.json">%s</script>'
    page.write_bytes(element % base64.b64encode(content))
    error = invoke(["show", str(page), "--format", "csv"]).exception
    assert isinstance(error, cal.InputError)
    assert f"page.html: {told}" in str(error)


@pytest.mark.slow
def test_a_page_is_opened_once_it_is_written(tmp_path: Path, opened: list[str]) -> None:
    line = [*DIABETES, "--predicted", "pred_ridge", *FAST, "--open"]
    named = tmp_path / "page.html"
    assert invoke([*line, "--report", str(named)]).exit_code == 0
    assert invoke(line).exit_code == 0
    first, second = (Path(address.removeprefix("file://")) for address in opened)
    assert first == named.resolve()
    assert second.read_bytes() == named.read_bytes()


def test_without_a_browser_the_page_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webbrowser.open", lambda address: False)
    page = tmp_path / "page.html"
    page.touch()
    done = invoke(["show", str(page)])
    assert f"no browser could be started; the page is {page}" in done.stderr


# --- diff ----------------------------------------------------------------------------------------


def test_a_change_over_topics_is_the_paired_difference(runs: tuple[str, str]) -> None:
    before, after = (cal.from_json(Path(run)) for run in runs)
    found, notes = diff_evaluations(before, after)
    both = cal.retrieval(QRELS, {"pixels": PIXELS, "nca": NCA}, measures=["AP", "P@5"])
    compared = both.compare("pixels")
    assert [change.measure for change in found] == ["AP", "P@5"]
    for change in found:
        d = compared[change.measure]
        assert change.system == "pixels → nca"
        assert change.difference is not None
        assert (change.value, change.difference.low, change.difference.high, change.p) == (
            pytest.approx((d.value, d.low, d.high, d.p), rel=1e-12)
        )
    assert notes == ["Measured only in the first: RR.", *_files(notes)]


def _files(notes: list[str]) -> list[str]:
    return [note for note in notes if note.startswith("The file of ")]


def test_what_differs_is_shown_in_every_format(runs: tuple[str, str]) -> None:
    rows = json.loads(invoke(["diff", *runs, "--format", "json"]).stdout)["changes"]
    assert [row["measure"] for row in rows] == ["AP", "P@5"]
    table = invoke(["diff", *runs]).stdout
    assert "pixels → nca" in table
    assert "+0.039" in table
    assert invoke(["diff", *runs, "--format", "csv"]).stdout.count("\n") == 3
    assert "| pixels → nca | AP |" in invoke(["diff", *runs, "--format", "markdown"]).stdout
    same = invoke(["diff", runs[0], runs[0]]).stdout
    assert same == "3 values did not change (--all shows them).\n"
    assert invoke(["diff", runs[0], runs[0], "--all"]).stdout.count("pixels") == 3


def test_rows_have_no_test_without_their_data() -> None:
    truth = [3.0, 1.0, 4.0, 1.5]
    before = cal.regression(truth, {"m": [2.0, 1.0, 5.0, 1.0]}, interval="none")
    after = cal.regression(truth, {"m": [3.0, 1.0, 5.0, 1.0]}, interval="none", level=0.9)
    found, notes = diff_evaluations(cal.keep_predictions(before), cal.keep_predictions(after))
    assert all(change.difference is None for change in found)
    assert found[0].value == after["RMSE"].value - before["RMSE"].value
    assert "No test of rows: evaluate the new system with --baseline FIRST.json." in notes
    assert "level: 0.95 → 0.9." in notes


def test_evaluations_that_do_not_belong_together_are_told(
    runs: tuple[str, str], tmp_path: Path
) -> None:
    other = tmp_path / "other.json"
    assert invoke([*DIABETES, "--predicted", "pred_ridge", *FAST, "-o", str(other)]).exit_code == 0
    assert "the evaluations are of retrieval and regression" in str(
        invoke(["diff", runs[0], str(other)]).exception
    )
    fewer = cal.retrieval({"q": {"a": 1}}, {"s": {"q": {"a": 1.0}}}, measures="AP")
    found, notes = diff_evaluations(cal.from_json(Path(runs[0])), cal.keep_predictions(fewer))
    assert found[0].difference is None
    assert any(note.startswith("No test: the first: the judgments differ") for note in notes)


def test_evaluations_without_a_common_measure_say_so() -> None:
    qrels, run = {"q": {"a": 1}}, {"s": {"q": {"a": 1.0}}}
    before, after = (
        cal.keep_predictions(cal.retrieval(qrels, run, measures=name)) for name in ("AP", "RR")
    )
    found, notes = diff_evaluations(before, after)
    assert found == []
    assert notes[:2] == ["Measured only in the first: AP.", "Measured only in the second: RR."]


# --- What helps to type --------------------------------------------------------------------------


def test_the_list_of_measures_can_be_narrowed() -> None:
    found = invoke(["measures", "--task", "classification", "--find", "calibration"]).stdout
    assert "ECE" in found
    assert "AUC" not in found
    assert "nDCG" not in found
    assert "ECE" not in invoke(["measures", "--statistic", "ConfusionMatrix"]).stdout
    for wrong, said in (
        (["--task", "retreival"], "did you mean 'retrieval'?"),
        (["--statistic", "Confusion"], "did you mean 'ConfusionMatrix'?"),
        (["--find", "no such word"], "no measure matches"),
        (["AP", "--task", "retrieval"], "cannot be combined with NAME"),
    ):
        done = invoke(["measures", *wrong])
        assert done.exit_code == 2
        assert said in done.stderr


def _completed(words: list[str], begun: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setenv("COMP_WORDS", " ".join(["calipers", *words, begun]))
    complete = ShellComplete(cli, {}, "calipers", "_CALIPERS_COMPLETE")
    return [item.value for item in complete.get_completions(words, begun)]


@pytest.mark.parametrize(
    ("words", "begun", "expected"),
    [
        ([], "clas", ["classification"]),
        (["measures"], "ndc", ["nDCG", "nDCG-rel"]),
        (["regression", "t.csv", "-m"], "rmsl", ["RMSLE"]),
        (["compare", "regression", "t.csv", "-m"], "rmsl", ["RMSLE"]),
        (["classification", "t.csv", "-m"], "macro-spec", ["macro-specificity"]),
        ([*DIABETES[:2], "--truth"], "prog", ["progression"]),
        ([*DIABETES[:2], "--predicted"], "a=pred_r", ["a=pred_ridge"]),
        (["regression", str(DEMO / "missing.csv"), "--truth"], "", []),
        (["regression", NCA, "--truth"], "x", []),
    ],
)
def test_the_tab_key_knows_measures_and_columns(
    words: list[str], begun: str, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _completed(words, begun, monkeypatch) == expected


@pytest.mark.parametrize(
    ("shell", "file"),
    [("zsh", ".zfunc/_calipers"), ("fish", ".config/fish/completions/calipers.fish")],
)
def test_completions_are_installed_where_the_shell_looks(
    shell: str, file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SHELL", f"/bin/{shell}")
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "ZDOTDIR"):
        monkeypatch.delenv(name, raising=False)
    done = invoke(["completion", "--install"])
    assert done.exit_code == 0, done.output
    path = tmp_path / file
    assert path.read_text() == invoke(["completion", shell]).stdout
    assert str(path) in done.stderr
    assert invoke(["completion", "--install"]).exit_code == 0  # again, over our own
    path.write_text("# mine")
    refused = invoke(["completion", "--install"])
    assert refused.exit_code == 2
    assert "it was not changed" in refused.stderr
    assert path.read_text() == "# mine"
    monkeypatch.setenv("SHELL", "/bin/tcsh")
    assert "name a shell" in invoke(["completion"]).stderr
