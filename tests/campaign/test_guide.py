"""The guide of campaigns is a session that runs: every command, and what it prints."""

from __future__ import annotations

import doctest
import inspect
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from calipers.cli import cli
from calipers.cli.campaign import COMMANDS

PAGE = Path(__file__).parents[2] / "docs" / "campaign.md"
#: What is not run here: one waits for a person, one has tests of its own and takes long.
NOT_RUN = {"judge", "report"}


def steps(text: str) -> Iterator[tuple[int, str, str]]:
    """The line of each command that stands behind a ``$``, the command, and what it prints."""
    for block in re.finditer(r"^```console\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        if not block[1].startswith("$ "):
            continue
        line = text.count("\n", 0, block.start(1)) + 1
        for said in re.split(r"^\$ ", block[1], flags=re.MULTILINE)[1:]:
            command, output = re.fullmatch(
                r"((?:[^\n]*\\\n)*[^\n]*\n)(.*)", said, re.DOTALL
            ).groups()
            yield line, command.replace("\\\n", " ").strip(), output
            line += said.count("\n")


def words_of(command: str) -> list[str]:
    """The words of a command, patterns of files replaced by what they match, as shells do."""
    words = []
    for word in shlex.split(command):
        found = sorted(map(str, Path().glob(word))) if "*" in word else []
        words += found or [word]
    return words


def test_the_guide_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    same = doctest.OutputChecker().check_output
    # Before click 8.2 messages have to be asked for apart.
    mixed = "mix_stderr" in inspect.signature(CliRunner).parameters
    runner, ran = CliRunner(**({"mix_stderr": False} if mixed else {})), 0
    for line, command, expected in steps(PAGE.read_text(encoding="utf-8")):
        program, *words = words_of(command)
        if program == "cd":
            monkeypatch.chdir(*words)
            continue
        assert program == "calipers", f"{PAGE.name}:{line}: {command}"
        done = runner.invoke(cli, words)
        assert done.exit_code == 0, f"{PAGE.name}:{line}: {command}\n{done.stderr}"
        printed = re.sub(r" +$", "", done.stdout + done.stderr, flags=re.MULTILINE)
        assert same(expected, printed, doctest.ELLIPSIS), (
            f"{PAGE.name}:{line}: {command}\nexpected:\n{expected}\nprinted:\n{printed}"
        )
        ran += 1
    assert ran >= 12


def test_the_guide_has_every_command() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for name in COMMANDS:
        assert f"calipers campaign {name}" in text, name
    run = {command.split()[2] for _, command, _ in steps(text) if " campaign " in command}
    assert run | NOT_RUN == set(COMMANDS)
