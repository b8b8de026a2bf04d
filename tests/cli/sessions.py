"""Sessions of pages: what stands behind a ``$`` is run, and what follows is compared."""

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


def run_session(page: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """Runs the commands of a page in the working directory; how many there were."""
    monkeypatch.setenv("COLUMNS", "100")
    same = doctest.OutputChecker().check_output
    # Before click 8.2 messages have to be asked for apart.
    mixed = "mix_stderr" in inspect.signature(CliRunner).parameters
    runner, ran = CliRunner(**({"mix_stderr": False} if mixed else {})), 0
    for line, command, expected in steps(page.read_text(encoding="utf-8")):
        program, *words = words_of(command)
        if program == "cd":
            monkeypatch.chdir(*words)
            continue
        assert program == "calipers", f"{page.name}:{line}: {command}"
        done = runner.invoke(cli, words)
        assert done.exit_code == 0, f"{page.name}:{line}: {command}\n{done.stderr}"
        printed = re.sub(r" +$", "", done.stdout + done.stderr, flags=re.MULTILINE)
        assert same(expected, printed, doctest.ELLIPSIS), (
            f"{page.name}:{line}: {command}\nexpected:\n{expected}\nprinted:\n{printed}"
        )
        ran += 1
    return ran
