"""The guide of campaigns is a session that runs: every command, and what it prints."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from calipers.campaign.documents import parse_tree
from calipers.cli.campaign import COMMANDS

sys.path.insert(0, str(Path(__file__).parents[1] / "cli"))
from sessions import run_session, steps

PAGE = Path(__file__).parents[2] / "docs" / "campaign.md"
#: What is not run here: one waits for a person, one has tests of its own and takes long.
NOT_RUN = {"judge", "report"}


@pytest.mark.slow
def test_the_guide_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_session(PAGE, monkeypatch) >= 12


def test_the_article_of_the_guide_is_xml() -> None:
    text = PAGE.read_text(encoding="utf-8")
    [article] = re.findall(r"^```xml\n(<article.*?)^```$", text, re.DOTALL | re.MULTILINE)
    [shown] = parse_tree("a1", article.encode())
    (_, author), (section,) = (part["content"] for part in shown["content"])
    assert [part["shape"] for part in section["content"]] == ["heading", "paragraph"]
    assert author["shape"] == "line"


def test_the_guide_has_every_command() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for name in COMMANDS:
        assert f"calipers campaign {name}" in text, name
    run = {command.split()[2] for _, command, _ in steps(text) if " campaign " in command}
    assert run | NOT_RUN == set(COMMANDS)
