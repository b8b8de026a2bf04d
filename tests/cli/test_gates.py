"""``--require``, and where its outcome is written."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from click.testing import Result
from in_process import invoke

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
    assert "the input would be written over" in written_over


def test_github(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "which is not set here" in calipers("--summary", code=2).stderr
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    Path("summary.md").write_text("# Before\n")
    done = calipers(*BESIDE, *RULES, "--require", "AUC > 0.999", "--summary", code=1)
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
        ("AUC better than last", "'last' is no system"),
    ],
)
def test_what_is_no_requirement(text: str, message: str) -> None:
    assert message in calipers("--require", text, code=2).stderr
