"""``--require``, and where its outcome is written."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from click.testing import Result
from in_process import invoke

from calipers import InputError

ROWS = ["y,old,new"] + [
    f"{i % 2},{(i * 7 % 10) / 10},{(i * 7 % 10 + 6 * (i % 2)) / 16:.3f}" for i in range(40)
]
LINE = ["classification", "t.csv", "--truth", "y", "--score", "new", "-m", "AUC"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("GITHUB_STEP_SUMMARY", "GITHUB_ACTIONS"):
        monkeypatch.delenv(name, raising=False)
    Path("t.csv").write_text("\n".join(ROWS))


def calipers(*line: str, code: int = 0) -> Result:
    done = invoke([*LINE, *line])
    assert done.exit_code == code, (done.stderr, done.exception)
    return done


BESIDE = ["--score", "old", "--baseline", "old"]
RULES = ["--require", "AUC >= 0.7", "--require", "AUC not worse than old"]


def test_each_rule_is_told() -> None:
    done = calipers(*BESIDE, *RULES)
    first, second = done.stderr.splitlines()
    assert first.startswith("pass  AUC >= 0.7: new: AUC 0.")
    assert second.startswith("pass  AUC not worse than old: new is better than old on AUC by")
    done = calipers(*BESIDE, *RULES, "--require", "AUC>0.999", code=1)
    assert done.stderr.splitlines()[2].startswith("FAIL  AUC>0.999: new: AUC")
    assert "::error" not in done.stderr


def test_junit() -> None:
    calipers(*BESIDE, *RULES, "--require", "low(AUC) > 0.99", "--junit", "out.xml", code=1)
    (suite,) = ET.parse("out.xml").getroot()
    assert (suite.attrib["tests"], suite.attrib["failures"]) == ("3", "1")
    names = [case.attrib["name"] for case in suite]
    assert names == ["AUC >= 0.7", "AUC not worse than old", "low(AUC) > 0.99"]
    assert [case.find("failure") is not None for case in suite] == [False, False, True]
    assert "--junit goes with --require" in calipers("--junit", "a.xml", code=2).stderr
    written_over = calipers(*RULES[:2], "--junit", "t.csv", code=2).stderr
    assert "the input would be overwritten" in written_over


def test_github(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "which is not set here" in calipers("--github-summary", code=2).stderr
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    Path("summary.md").write_text("# Before\n")
    done = calipers(*BESIDE, *RULES, "--require", "AUC > 0.999", "--github-summary", code=1)
    assert "\n::error title=AUC > 0.999::new: AUC 0." in done.stderr
    assert "95%25" in done.stderr  # as GitHub unescapes it
    text = Path("summary.md").read_text()
    assert text.startswith("# Before\n")  # other steps have written there
    assert "| ❌ fail | AUC &gt; 0.999 | new: AUC 0." in text
    assert "## Classification: 2 systems, 1 measure" in text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("AUC = 1", "expected a measure, a relation and a number"),
        ("AP > 0.1", "'AP' is not among the measures; there are 'AUC'"),
        ("AUC better than last", "'last' is not a system"),
    ],
)
def test_what_is_no_requirement(text: str, message: str) -> None:
    assert message in calipers("--require", text, code=2).stderr


CHECKS = """
[{head}.good]
command = "classification"
table = "t.csv"
truth = "y"
score = ["new", "old"]
measure = "AUC"
baseline = "old"
require = ["AUC >= 0.7", "AUC not worse than baseline"]
report = "good.html"
layout = "long"
keep-predictions = false

[{head}.bad]
command = "compare classification"
table = "t.csv"
truth = "y"
score = ["new", "old"]
n_resamples = 200
"""


def check(*line: str, code: int = 0) -> Result:
    done = invoke(["check", *line])
    assert done.exit_code == code, (done.stderr, done.exception)
    return done


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "head"), [("calipers.toml", "check"), ("pyproject.toml", "tool.calipers.check")]
)
def test_checks_are_kept_in_a_file(file: str, head: str) -> None:
    Path(file).write_text(CHECKS.format(head=head))
    alone = calipers(*BESIDE, *RULES, "--layout", "long").stdout
    done = check("good")
    assert done.stdout == f"good\n====\n\n{alone}\n"
    assert done.stderr.count("pass  AUC") == 2
    assert Path("good.html").exists()
    both = check().stdout
    assert both.startswith(done.stdout + "bad\n===\n\n")
    Path(file).write_text(CHECKS.format(head=head).replace("0.7", "0.999"))
    assert "FAIL  AUC >= 0.999" in check(code=1).stderr
    check("bad")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "c.toml: holds no check; expected [check.NAME]"),
        ("check = 1", "c.toml: holds no check; expected [check.NAME]"),
        ("[check]\na = 1", 'c.toml: check a: expected command = "…", such as "classification"'),
        ("[check.a]\ncommand = 'check'", "c.toml: check a: there is no command 'check'"),
        ("[check.a]\ncommand = 'demo'", "check a: nothing can be required of the command 'demo'; expected an evaluation"),
        ("[check.a]\ncommand = 'compare x'", "c.toml: check a: there is no command 'compare x'"),
        ("[check.a]\ncommand = 'regression'\ntable = 't.csv'\nundefined = 'zero'", "regression has no undefined: it applies to ratios of row counts"),
        ("[check.a]\ncommand = 'clustering'\ntable = 't.csv'\ncluster = 'u'", "clustering has no cluster: the influence of a group of points"),
        ("[check.a]\ncommand = 'overlap'\nrums = 'a'", "'rums' is not an argument or option; did you mean 'runs'?"),
        ("[check.a]\ncommand = 'ranking'", "c.toml: check a: Missing"),
        ("[check.a]\ncommand = 'ranking'\nkeep-predictions = 'x'", "keep-predictions: is 'x', expected true or false"),
        ("[check.a]\ncommand = 'ranking'\nid = true", "id: is true, expected a value"),
        ("[check.a]\ncommand = 'ranking'\nid.x = 1", "id: is a table, expected a value or a list"),
        ("[check.a", "c.toml: Expected ']' at the end of a table declaration"),
    ],
)  # fmt: skip
def test_what_is_no_check(text: str, message: str) -> None:
    Path("c.toml").write_text(text)
    done = invoke(["check", "--config", "c.toml"])
    assert done.exit_code == (1 if isinstance(done.exception, InputError) else 3)
    assert message in (done.stderr or str(done.exception))


@pytest.mark.slow
def test_a_check_that_fails_does_not_keep_the_others() -> None:
    Path("calipers.toml").write_text(
        '[check.a]\ncommand = "overlap"\nruns = ["none.run"]\n' + CHECKS.format(head="check")
    )
    done = check(code=3)
    assert done.stderr.startswith("calipers: calipers.toml: check a: there is one run only")
    assert "good\n====" in done.stdout
    assert "bad\n===" in done.stdout
    text = Path("calipers.toml").read_text().replace("0.7", "0.999")
    Path("calipers.toml").write_text(text)
    assert "FAIL  AUC >= 0.999" in check(code=3).stderr


def test_an_error_comes_before_a_requirement() -> None:
    unmet = ["--require", "AUC >= 0.999"]
    calipers(*unmet, code=1)
    for line in (["-o", "nowhere/out.json"], ["--weight", "none"]):
        done = invoke([*LINE, *unmet, *line])
        # For these the process ends with 3.
        assert isinstance(done.exception, InputError | FileNotFoundError)
        assert "FAIL" not in done.stderr
    calipers(*unmet, "--level", "2", code=2)


def test_checks_write_to_files_of_their_own() -> None:
    text = CHECKS.format(head="check") + 'report = "good.html"\n'
    Path("calipers.toml").write_text(text)
    error = check(code=1).exception
    assert str(error) == "calipers.toml: check bad: report: 'good' writes good.html too"


@pytest.mark.slow
def test_the_summary_of_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("calipers.toml").write_text(CHECKS.format(head="check"))
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    check("good", "--github-summary")
    assert "| ✅ pass | AUC &gt;= 0.7 |" in Path("summary.md").read_text()


def test_rules_without_intervals_are_about_the_others_too() -> None:
    done = calipers(*BESIDE, "--interval", "none", "--require", "AUC >= 0.7")
    assert [line.split(":")[1] for line in done.stderr.splitlines()] == [" new"]


def test_checks_that_are_not_there() -> None:
    assert "there is no calipers.toml and no pyproject.toml here" in check(code=2).stderr
    Path("calipers.toml").write_text(CHECKS.format(head="check"))
    assert "calipers.toml: no check 'god'; did you mean 'good'?" in check("god", code=2).stderr


def test_former_values_are_accepted_in_a_file() -> None:
    text = CHECKS.format(head="check").partition("[check.bad]")[2]
    former = 'adjust = "joint"\ninterval = "studentised"\n'
    current = 'adjust = "max-t"\ninterval = "studentized"\n'
    Path("calipers.toml").write_text(f"[check.bad]{text}{former}")
    found = check().stdout
    Path("calipers.toml").write_text(f"[check.bad]{text}{current}")
    assert found == check().stdout


def test_checks_in_the_names_of_a_tool() -> None:
    """Requirements and plans read the names of measures as the conventions do."""
    Path("q").write_text("1 0 a 1\n1 0 b 0\n2 0 a 1\n2 0 b 1\n3 0 b 2\n")
    Path("r").write_text("1 0 a 1 9 r\n1 0 b 2 8 r\n2 0 b 1 9 r\n3 0 a 1 9 r\n3 0 b 2 7 r\n")
    Path("calipers.toml").write_text(
        '[check.r]\ncommand = "retrieval"\nqrels = "q"\nruns = ["r"]\nas = "trec_eval"\n'
        'measure = ["rbp", "map"]\nrequire = ["RBP >= 0.05", "MAP >= 0.9"]\n'
    )
    first, second = check(code=1).stderr.splitlines()
    assert first.startswith("pass  RBP >= 0.05: r: rbp 0.097")
    assert second.startswith("FAIL  MAP >= 0.9: r: map 0.6")
    done = invoke(["plan", "retrieval", "q", "r", "--as", "trec_eval", "-m", "RBP", "-n", "50"])
    assert "the 95% interval of RBP has a half-width" in done.stdout, done.exception


def test_input_that_fails_leaves_its_traces(monkeypatch: pytest.MonkeyPatch) -> None:
    """A gate that cannot be evaluated is seen where its outcome would have been."""
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    line = ["classification", "nope.csv", "--truth", "y", "--score", "new", *RULES]
    done = invoke([*line, "--junit", "out.xml", "--github-summary"])
    assert isinstance(done.exception, InputError)  # with which the process ends with 3
    (suite,) = ET.parse("out.xml").getroot()
    counts = [suite.attrib[name] for name in ("tests", "failures", "errors")]
    assert counts == ["2", "0", "2"]
    assert [case.attrib["name"] for case in suite] == ["AUC >= 0.7", "AUC not worse than old"]
    for case in suite:
        assert case.findtext("error") == "nope.csv: no such file"
    assert "| ❌ error | AUC &gt;= 0.7 | nope.csv: no such file |" in Path("summary.md").read_text()
    assert done.stderr == "::error title=classification::nope.csv: no such file\n"
    # Usage errors are no outcome, and an output that is an input is not written to.
    before = Path("t.csv").read_text()
    calipers(*RULES[:2], "--junit", "t.csv", code=2)
    assert Path("t.csv").read_text() == before


OUTCOMES = """
[check.good]
command = "classification"
table = "t.csv"
truth = "y"
score = "new"
measure = "AUC"
interval = "none"
require = "AUC >= 0.7"

[check.gone]
command = "classification"
table = "nope.csv"
truth = "y"
score = "new"
require = ["AUC >= 0.7", "low(AUC) > 0.5"]

[check.changed]
command = "classification"
table = "ids.csv"
truth = "y"
score = "new"
id = "id"
baseline = "last.json"
require = "AUC not worse than baseline"

[check.measure]
command = "classification"
table = "t.csv"
truth = "y"
score = "new"
measure = "AUQ"

[check.unmet]
command = "classification"
table = "t.csv"
truth = "y"
score = "old"
measure = "AUC"
interval = "none"
require = "AUC >= 0.999"
"""


def test_checks_of_every_outcome_are_reported_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    ids = [f"{name},{row}" for name, row in zip(["id", *range(40)], ROWS, strict=True)]
    Path("ids.csv").write_text("\n".join(ids))
    named = ["classification", "ids.csv", "--truth", "y", "--score", "new", "--id", "id"]
    stored = invoke([*named, "-m", "AUC", "--keep-predictions", "-o", "last.json"])
    assert stored.exit_code == 0, stored.stderr
    Path("ids.csv").write_text("\n".join([*ids[:-1], ids[-1].replace("39,", "x,", 1)]))
    Path("calipers.toml").write_text(OUTCOMES)
    done = check("--junit", "all.xml", "--github-summary", code=3)
    suites = {
        suite.attrib["name"].removeprefix("calipers "): suite
        for suite in ET.parse("all.xml").getroot()
    }
    assert list(suites) == ["good", "gone", "changed", "measure", "unmet"]
    statuses = {
        name: [child.tag for case in suite for child in case] for name, suite in suites.items()
    }
    assert statuses == {
        "good": ["system-out"],
        "gone": ["error", "error"],
        "changed": ["error"],
        "measure": ["error"],
        "unmet": ["failure"],
    }
    assert ET.parse("all.xml").getroot().attrib == {"tests": "6", "failures": "1", "errors": "4"}
    errors = [line for line in done.stderr.splitlines() if line.startswith("::error")]
    titles = [line.partition("title=")[2].partition("::")[0] for line in errors]
    assert titles == ["gone", "changed", "measure", "AUC >= 0.999"]
    text = Path("summary.md").read_text()
    assert text.index("✅ pass") < text.index("### gone") < text.index("### changed")
    assert text.count("❌ error") == 4
    assert text.count("❌ fail") == 1
    assert "calipers: calipers.toml: check measure: no measure" in done.stderr


def test_the_junit_of_checks_is_no_file_of_theirs() -> None:
    Path("calipers.toml").write_text(OUTCOMES)
    before = Path("calipers.toml").read_text(), Path("t.csv").read_text()
    for path in ("t.csv", "calipers.toml"):
        done = check("good", "--junit", path, code=2)
        assert "the input would be overwritten" in done.stderr
    assert (Path("calipers.toml").read_text(), Path("t.csv").read_text()) == before


def test_a_check_without_requirements_says_so() -> None:
    Path("calipers.toml").write_text(OUTCOMES.replace('require = "AUC >= 0.7"', ""))
    done = check("good")
    assert done.stderr == (
        "calipers: calipers.toml: check good: nothing is required (require); it only had to run\n"
    )
