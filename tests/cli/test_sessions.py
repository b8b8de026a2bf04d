"""Sessions of pages whose files are made by the Python of the same page."""

from __future__ import annotations

import doctest
import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from sessions import run_session

DOCS = Path(__file__).parents[2] / "docs"


def test_values_of_other_tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = DOCS / "outside.md"
    monkeypatch.chdir(tmp_path)
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"^```pycon\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    made = doctest.DocTestParser().get_doctest("".join(blocks), {}, page.name, str(page), 0)
    assert doctest.DocTestRunner().run(made).failed == 0
    assert run_session(page, monkeypatch) == 1


@pytest.mark.parametrize(
    ("page", "n_commands"),
    [
        ("new-prompt", 6),
        ("judged-retrieval", 2),
        ("repeated-samples", 1),
        ("leaderboard", 1),
        ("live-traffic", 2),
    ],
)
def test_tutorials_of_language_models(
    page: str, n_commands: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What their Python prints is compared where the examples of all pages are."""
    path = DOCS / "language-models" / f"{page}.md"
    monkeypatch.chdir(tmp_path)
    text = path.read_text(encoding="utf-8")
    names: dict[str, object] = {}
    for block in re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        exec(block, names)
    assert run_session(path, monkeypatch) == n_commands


def test_the_lectures_tasks_are_all_named() -> None:
    """Tasks that the lectures list and nothing here measures; each has a section that says so."""
    text = (DOCS / "outside.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (.+)$", text, re.MULTILINE)
    table = re.findall(r"^\| \[(.+?)\]\(#", text, re.MULTILINE)
    for task in (
        "machine translation", "transcription", "density estimation", "imputation", "synthesis",
        "dimensionality reduction", "reasoning",
    ):  # fmt: skip
        assert any(heading.lower().startswith(task) for heading in headings), task
        assert any(name.lower().startswith(task) for name in table), task
