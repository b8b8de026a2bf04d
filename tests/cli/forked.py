"""The command as a process of its own, forked from one that has its modules: much quicker than a
process that imports them, and whole all the same, with its own streams, folder and exit code."""

from __future__ import annotations

import atexit
import json
import os
import pkgutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

#: What a command may import of others; none of it starts a thread.
MODULES = (
    "jinja2",
    "pyarrow.csv",
    "pyarrow.parquet",
    "rich.console",
    "rich.table",
    "scipy.special",
)

#: Standard outputs that lead nowhere: none at all, and one whose reader has gone.
CLOSED, UNREAD = "closed", "unread"


def command(
    folder: Path, *line: str, stdin: str = "", stdout: str | None = None, before: str = ""
) -> subprocess.CompletedProcess[str]:
    """What the command does with a line in a folder. The standard input comes through a pipe, of
    not much; the standard output may be a path, :data:`CLOSED` or :data:`UNREAD`; ``before`` is run
    first."""
    if not hasattr(os, "fork"):
        assert (stdout, before) == (None, "")
        words = [sys.executable, "-m", *_program(line)]
        return subprocess.run(
            words, input=stdin, cwd=folder, capture_output=True, encoding="utf-8", check=False
        )
    with tempfile.TemporaryDirectory() as room:
        out, err = Path(room) / "out", Path(room) / "err"
        asked = [list(line), str(folder), stdin, stdout or str(out), str(err), before]
        server = _server()
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(json.dumps(asked) + "\n")
        server.stdin.flush()
        code = int(server.stdout.readline())
        said = [of.read_text("utf-8") if of.exists() else "" for of in (out, err)]
        return subprocess.CompletedProcess(line, code, *said)


def _program(line: Sequence[str]) -> list[str]:
    """The module that a line is for, and its words."""
    if line[0] == "calipers-trec_eval":
        return ["calipers.cli.trec_eval", *line[1:]]
    return ["calipers", *line]


@cache
def _server() -> subprocess.Popen[str]:
    """It ends when its input does."""
    words = [sys.executable, __file__]
    server = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    atexit.register(server.communicate)
    return server


def _serve() -> None:
    """Answers each line of the standard input with an exit code."""
    import calipers

    found = [module.name for module in pkgutil.walk_packages(calipers.__path__, "calipers.")]
    programs = ("__main__", "ir_measures")
    for name in (*MODULES, *(name for name in found if not name.endswith(programs))):
        import_module(name)
    asked, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    for line in asked:
        child = os.fork()
        if not child:
            _run(*json.loads(line))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), file=answers, flush=True)


def _run(words: list[str], folder: str, stdin: str, stdout: str, stderr: str, before: str) -> None:
    """As ``python -m calipers`` does."""
    os.chdir(folder)
    reader, writer = os.pipe()
    os.write(writer, stdin.encode())
    os.close(writer)
    os.dup2(reader, 0)
    os.close(reader)
    os.dup2(os.open(stderr, os.O_WRONLY | os.O_CREAT), 2)
    if stdout == CLOSED:
        os.close(1)
        sys.stdout = None  # type: ignore[assignment]  # as Python has it then
    elif stdout == UNREAD:
        reader, writer = os.pipe()
        os.dup2(writer, 1)
        os.close(reader)
    else:
        os.dup2(os.open(stdout, os.O_WRONLY | os.O_CREAT), 1)
    name, *words = _program(words)
    spec = find_spec(f"{name}.__main__")
    assert spec is not None
    sys.argv = [str(spec.origin), *words]
    sys.modules["__main__"].__file__ = spec.origin
    try:
        exec(before, {})
        import_module(spec.name)
    finally:  # the command has ended the process
        os._exit(99)


if __name__ == "__main__":
    _serve()
