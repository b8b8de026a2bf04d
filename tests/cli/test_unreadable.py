"""Judgments and runs that cannot be read: exit code 3, and a line that names the user's file."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

QRELS, RUN = b"1 0 a 1\n", b"1 Q0 a 1 2 r\n"
#: Where the bad file stands, and what is good beside it.
COMMANDS = {
    "judgments": ("retrieval BAD GOOD", RUN),
    "run": ("retrieval GOOD BAD", QRELS),
    "judgments by group": ("retrieval BAD GOOD -m P-IA@2", RUN),
    "second run": ("overlap GOOD BAD", RUN),
    "run to convert": ("convert BAD out.parquet --kind run", b""),
    "judgments of trec_eval": ("trec_eval BAD GOOD", RUN),
    "run of trec_eval": ("trec_eval GOOD BAD", QRELS),
    "preferences of trec_eval": ("trec_eval -R prefs BAD GOOD", RUN),
}

#: Calls the command in a process that has read its modules, and then gives up its rights.
WITHOUT_RIGHTS = """
import contextlib, io, os, sys
from calipers.cli import main

def call(line):
    sys.argv = ["calipers", *line.split()]
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
        except SystemExit as stop:
            return stop.code, err.getvalue()

lines = sys.argv[1:]
codes = [call(line.replace("BAD", name)) for name in ("missing", "good.txt") for line in lines]
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
for name in ("secret.txt", "in/hidden.txt"):
    for line in lines:
        print(repr(call(line.replace("BAD", name))))
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which the command works."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def expected(command: str) -> tuple[str, int]:
    """Who tells, and the exit code: trec_eval has its own."""
    return ("trec_eval", 2) if "trec_eval" in command else ("calipers", 3)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("name", "make", "told"),
    [
        ("bad.txt", Path.mkdir, "is a directory"),
        ("bad.txt", lambda path: None, "no such file"),
        ("bad.txt", lambda path: path.write_bytes(gzip.compress(RUN)[:-9]), "decompressed: "),
        ("bad.gz", lambda path: path.write_bytes(gzip.compress(RUN)[:-9]), "decompressed: "),
        ("bad.txt", lambda path: path.write_bytes(bytes(99)), "not a TREC file (binary data)"),
    ],
)
def test_what_cannot_be_read(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    name: str,
    make: Callable[[Path], None],
    told: str,
) -> None:
    from calipers.cli import main

    line, good = COMMANDS[command]
    (folder / "good.txt").write_bytes(good)
    make(folder / name)
    arguments = line.replace("BAD", name).replace("GOOD", "good.txt").split()
    monkeypatch.setattr(sys, "argv", ["calipers", *arguments])
    with pytest.raises(SystemExit) as stop:
        main()
    out, err = capsys.readouterr()
    program, code = expected(command)
    assert (stop.value.code, out) == (code, ""), err
    assert err.startswith(f"{program}: {name}:")
    assert told in err
    assert err.count("\n") == 1
    assert not list(folder.glob("out*"))


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="permissions are those of POSIX")
def test_what_may_not_be_read(folder: Path) -> None:
    for parent in folder.parents:
        if not parent.stat().st_mode & 1:
            parent.chmod(0o755)
    folder.chmod(0o777)  # what is written next to them may be
    (folder / "in").mkdir()
    for name in ("good.txt", "secret.txt", "in/hidden.txt"):
        (folder / name).write_bytes(b"")
    (folder / "secret.txt").chmod(0)
    (folder / "in").chmod(0)
    (folder / "qrels").write_bytes(QRELS)
    (folder / "run").write_bytes(RUN)
    lines = {
        command: line.replace("GOOD", "qrels" if good == QRELS else "run")
        for command, (line, good) in COMMANDS.items()
    }
    command = [sys.executable, "-c", WITHOUT_RIGHTS, *lines.values()]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    (folder / "in").chmod(0o755)
    assert done.returncode == 0, done.stderr
    wanted = []
    for name in ("secret.txt", "in/hidden.txt"):
        for command_name in lines:
            program, code = expected(command_name)
            wanted.append(repr((code, f"{program}: {name}: Permission denied\n")))
    assert done.stdout.splitlines() == wanted


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_pipes_are_named_by_what_the_user_gave(folder: Path) -> None:
    (folder / "qrels.txt").write_bytes(QRELS)
    shell = f"{sys.executable} -m calipers.cli retrieval qrels.txt <(printf 'x\\n')"
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert done.stderr.startswith("calipers: /dev/fd/")
    assert ":1: 1 field, expected 6" in done.stderr


@pytest.mark.slow
def test_preferences_through_pipes(folder: Path) -> None:
    """Nobody takes a look at the first line that the reader then misses."""
    prefs = b"1 g p a 1\n1 g p b 0\n1 g q c 2\n1 g q b 0\n"
    (folder / "run.txt").write_bytes(b"1 Q0 a 1 2 r\n1 Q0 b 1 1 r\n")
    (folder / "prefs.txt").write_bytes(prefs)
    command = [sys.executable, "-m", "calipers.cli", "retrieval", "prefs.txt", "run.txt"]
    command += ["-m", "prefs-simp", "--interval", "none", "--format", "csv"]
    read = subprocess.run(command, capture_output=True, check=True)
    command[command.index("prefs.txt")] = "-"
    piped = subprocess.run(command, input=prefs, capture_output=True, check=True)
    assert piped.stdout == read.stdout
    assert b"prefs-simp" in read.stdout
