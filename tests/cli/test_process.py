"""How the command ends: exit codes and messages, whoever listens, and whatever happens."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
import time
from itertools import product
from pathlib import Path

import pytest
from forked import CLOSED, UNREAD, command

from calipers.cli import process

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a POSIX shell")

RUN = "1 Q0 a 1 0.9 t\n1 Q0 b 2 0.8 t\n2 Q0 b 1 3 t\n"
QRELS = "1 0 a 1\n1 0 b 0\n2 0 b 1\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two runs, judgments, and a table."""
    (tmp_path / "a").write_text(RUN)
    (tmp_path / "b").write_text(RUN)
    (tmp_path / "q").write_text(QRELS)
    rows = "1,1,0.9,1,0\n0,1,0.8,1,1\n1,0,0.4,0,1\n0,0,0.1,1,1\n"
    (tmp_path / "t.csv").write_text(f"y,p,s,l_a,l_b\n{rows * 5}")
    return tmp_path


def shell(folder: Path, line: str) -> subprocess.CompletedProcess[str]:
    """What bash makes of a line, in which ``calipers`` is the command."""
    line = line.replace("calipers ", f"{sys.executable} -m calipers ")
    line = line.replace("calipers-trec_eval ", f"{sys.executable} -m calipers.cli.trec_eval ")
    return subprocess.run(
        ["bash", "-c", f"set -o pipefail; {line}"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


#: A line of every command that prints.
LINES = {
    "retrieval": "retrieval q a b",
    "per topic": "retrieval q a b --per-topic",
    "classification": "classification t.csv --truth y --predicted p --score s",
    "confusion": "classification t.csv --truth y --predicted p --show-confusion counts",
    "regression": "regression t.csv --truth y --predicted s",
    "clustering": "clustering t.csv --truth y --labels p",
    "agreement": "agreement t.csv --raters y,p",
    "scores": "scores t.csv --score y --score p",
    "multilabel": "multilabel t.csv --truth l_* --predicted l_* --by-label",
    "compare": "compare retrieval q a b",
    "plan": "plan nDCG@10 --sd 0.1 --difference 0.02",
    "overlap": "overlap a b",
    "convert": "convert a -",
    "measures": "measures",
    "help": "--help",
    "version": "--version",
    "trec_eval": "trec_eval q a",
    "the drop-in": "calipers-trec_eval q a",
    "the drop-in's help": "calipers-trec_eval -h",
}


@pytest.mark.parametrize("case", LINES)
def test_whoever_closes_the_output_the_command_is_done(folder: Path, case: str) -> None:
    for stdout in (UNREAD, CLOSED):
        done = command(folder, *LINES[case].split(), stdout=stdout)
        assert (done.returncode, done.stderr) == (0, ""), stdout


@pytest.mark.slow
@pytest.mark.parametrize("end", ["| true", ">&-", "2>&1 | true", ">&- 2>&-", "<&-"])
def test_whichever_stream_is_closed_the_command_is_done(folder: Path, end: str) -> None:
    for line in (LINES["overlap"], LINES["the drop-in"]):
        program = "" if line.startswith("calipers-") else "calipers "
        done = shell(folder, f"{program}{line} {end}")
        assert (done.returncode, done.stderr) == (0, ""), line


@pytest.mark.parametrize("case", LINES)
@pytest.mark.skipif(sys.platform != "linux", reason="/dev/full")
def test_an_output_that_cannot_be_written_is_told(folder: Path, case: str) -> None:
    done = command(folder, *LINES[case].split(), stdout="/dev/full")
    assert done.stderr == "calipers: standard output: No space left on device\n"
    assert done.returncode == 3


def test_much_output_may_be_left_unread(folder: Path) -> None:
    (folder / "long").write_text("".join(f"1 Q0 d{i} 1 {-i} t\n" for i in range(100_000)))
    done = shell(folder, "calipers convert long - | head -1")
    assert (done.returncode, done.stdout, done.stderr) == (0, "1 Q0 d0 1 0 t\n", "")


@pytest.mark.slow
@pytest.mark.parametrize("end", ["| true", ">&-", "-o >(true)", "2>&1 | true", "2>&-"])
def test_an_unmet_requirement_is_unmet_whoever_listens(folder: Path, end: str) -> None:
    done = shell(folder, f"calipers retrieval q a -m AP --require 'AP>2' {end}")
    assert done.returncode == 1


def test_the_input_is_not_taken_from_a_file_that_happens_to_be_open(folder: Path) -> None:
    done = shell(folder, "calipers retrieval q - <&-")
    assert (done.returncode, done.stderr) == (3, "calipers: <stdin>: no lines\n")


# --- Errors of ours -------------------------------------------------------------------------------

MODULES = {
    "retrieval q a": "calipers.evaluate.retrieval.retrieval",
    "classification t.csv --truth y --predicted p": "calipers.evaluate.classification.classification",
    "multilabel t.csv --truth l_* --predicted l_*": "calipers.evaluate.multilabel.multilabel",
    "regression t.csv --truth y --predicted s": "calipers.evaluate.regression.regression",
    "clustering t.csv --truth y --labels p": "calipers.evaluate.clustering.clustering",
    "scores t.csv --score y --score p": "calipers.evaluate.case_scores.scores",
    "agreement t.csv --raters y,p": "calipers.evaluate.agreement.agreement",
    "ranking t.csv --group p --truth y --score s": "calipers.evaluate.ranking.ranking",
    "overlap a b": "calipers.evaluate.overlap.overlap",
    "compare retrieval q a b": "calipers.evaluate.retrieval.retrieval",
    "compare values q": "calipers.evaluate.external_values.from_values",
    "plan AP --half-width 0.1 --sd 1": "calipers.evaluate.plan.plan",
    "convert a out": "calipers.data.formats.write_rows",
    "measures AP": "calipers.measures.name_parsing.parse",
    "demo": "calipers.evaluate.retrieval.retrieval",
    "trec_eval q a": "calipers.cli.trec_eval.evaluation.evaluate",
}


def failing(folder: Path, line: str, error: str) -> subprocess.CompletedProcess[str]:
    """The command where a function of ours raises."""
    plain = line.removeprefix("--debug ").removesuffix(" --debug")
    module, _, name = MODULES[plain].rpartition(".")
    before = f"""
from importlib import import_module
def boom(*_, **__):
    {error}
setattr(import_module({module!r}), {name!r}, boom)
"""
    return command(folder, *line.split(), before=before)


@pytest.mark.parametrize("line", MODULES)
def test_an_internal_error_has_a_code_and_a_line_of_its_own(folder: Path, line: str) -> None:
    before = sorted(folder.iterdir())
    done = failing(folder, line, "raise KeyError('two\\nlines')")
    assert done.returncode == 70
    assert done.stderr.startswith(
        "calipers: internal error: KeyError: 'two\\nlines'; please report"
    )
    assert "with what --debug adds" in done.stderr
    assert done.stderr.count("\n") == 1
    assert [p for p in sorted(folder.iterdir()) if p.name != "calipers-demo"] == before


@pytest.mark.parametrize(
    "line", ["--debug overlap a b", "overlap a b --debug", "--debug trec_eval q a"]
)
def test_debug_adds_the_traceback(folder: Path, line: str) -> None:
    done = failing(folder, line, "raise TypeError('odd')")
    assert done.returncode == 70
    assert done.stderr.startswith("Traceback (most recent call last)")
    assert "in boom" in done.stderr
    assert done.stderr.splitlines()[-1].startswith("calipers: internal error: TypeError: odd;")


def test_a_panic_of_the_core_is_an_internal_error(folder: Path) -> None:
    # It is no Exception, so that nobody catches it by mistake.
    done = failing(
        folder, "overlap a b", "raise type('PanicException', (BaseException,), {})('core')"
    )
    assert done.returncode == 70
    assert "internal error: PanicException: core;" in done.stderr


@pytest.mark.parametrize("line", MODULES)
def test_a_lack_of_memory_is_said_plainly(folder: Path, line: str) -> None:
    done = failing(folder, line, "raise MemoryError('Unable to allocate 8 TiB')")
    assert (done.returncode, done.stderr) == (71, "calipers: there is not enough memory for this\n")


@pytest.mark.parametrize("line", MODULES)
def test_an_interrupt_is_130(folder: Path, line: str) -> None:
    done = failing(folder, line, "raise KeyboardInterrupt")
    assert done.returncode == 130
    assert done.stderr.strip() == "interrupted"


@pytest.mark.parametrize(
    ("module", "imported"),
    [
        *product(
            ["calipers.cli", "calipers.cli.trec_eval"],
            ["typing", "calipers.plugins", "calipers.cli.process", "calipers.data"],
        ),
        ("calipers.cli", "click"),
        ("calipers.cli.trec_eval", "numpy"),
    ],
)
def test_an_interrupt_of_an_import_is_130(folder: Path, module: str, imported: str) -> None:
    """Half of the time that a small command takes is spent on imports."""
    program = f"""
import os, signal, sys
class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == {imported!r}:
            os.kill(os.getpid(), signal.SIGINT)
for name in [name for name in sys.modules if name.partition(".")[0] == "typing"]:
    del sys.modules[name]
sys.meta_path.insert(0, Interrupting())
sys.argv = ["calipers", *{["overlap", "a", "b"] if module == "calipers.cli" else ["q", "a"]!r}]
from {module} import main
main()
"""
    command = [sys.executable, "-S", "-c", program]
    path = os.pathsep.join(filter(None, sys.path))  # without the site, which imports as well
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr.strip() in ("", "interrupted")


def test_an_error_that_an_interrupt_caused_is_an_interrupt(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """As where a module that is interrupted raises an ImportError."""

    def command() -> None:
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as error:
            raise ImportError("cannot import name 'x'") from error

    with pytest.raises(ImportError) as caught:
        command()
    assert process._report_error(caught.value) == 130
    assert capsys.readouterr().err == "interrupted\n"


@pytest.mark.slow
def test_a_signal_ends_the_command_at_once(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    with subprocess.Popen(
        [sys.executable, "-m", "calipers", "overlap", "a", "b", "-o", "pipe"],
        cwd=folder,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        time.sleep(2)  # it waits for a reader
        running.send_signal(signal.SIGINT)
        assert running.wait(timeout=20) == 130
        assert running.stderr is not None
        assert running.stderr.read().strip() == "interrupted"


@pytest.mark.slow
def test_a_signal_ends_the_wait_for_a_writer(folder: Path) -> None:
    (folder / "q.gz").write_bytes(gzip.compress(QRELS.encode()))
    lines = (
        "retrieval q PIPE",
        "retrieval PIPE a",
        "retrieval q a PIPE",  # read by another thread
        "retrieval q.gz PIPE",
        "convert PIPE out --kind run",
        "overlap a PIPE",
        "trec_eval PIPE a",
        "classification PIPE --truth y --predicted p",
    )
    waiting = []
    for number, line in enumerate(lines):
        pipe = folder / f"pipe{number}"
        os.mkfifo(pipe)
        words = line.replace("PIPE", pipe.name).split()
        program = [sys.executable, "-m", "calipers", *words]
        waiting.append(subprocess.Popen(program, cwd=folder, stderr=subprocess.PIPE, text=True))
    # One has a writer, who says nothing; the others have none.
    writer = os.open(folder / "pipe0", os.O_RDWR)
    time.sleep(5)
    for running in waiting:
        running.send_signal(signal.SIGINT)
    try:
        told = [running.communicate(timeout=20)[1].strip() for running in waiting]
    finally:
        os.close(writer)
        for running in waiting:
            running.kill()
    assert [running.returncode for running in waiting] == [130] * len(lines)
    assert told == ["interrupted"] * len(lines)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_no_copy_of_the_input(folder: Path, number: signal.Signals) -> None:
    """A run in another format than TREC's is copied from a pipe, which is not yet at its end."""
    copies = folder / "copies"
    copies.mkdir()
    with subprocess.Popen(
        [sys.executable, "-m", "calipers", "retrieval", "q", "-"],
        cwd=folder,
        env={**os.environ, "TMPDIR": str(copies)},
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as running:
        assert running.stdin is not None
        assert running.stderr is not None
        running.stdin.write(b'{"query_id": "1", "doc_id": "a", "score": 1.0}\n' * 10_000)
        running.stdin.flush()
        deadline = time.monotonic() + 60
        while not list(copies.rglob("*.jsonl")):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        running.send_signal(number)
        assert running.wait(timeout=20) == -number
        assert running.stderr.read().decode().strip() == f"ended by {number.name}"
    assert not list(copies.iterdir())


#: A command that is asked to end, and once more while it removes what it stored.
ASKED_TWICE = """
import os, signal, time
from calipers.cli.process import run
def command():
    try:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(60)
    finally:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(60)
run(command)
"""


@pytest.mark.slow
def test_a_second_signal_ends_the_command_at_once() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", ASKED_TWICE], capture_output=True, timeout=30, check=False
    )
    assert (ran.returncode, ran.stderr) == (-signal.SIGTERM, b"")


@pytest.mark.slow
def test_a_signal_that_the_parent_ignores_stays_ignored(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    program = "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN); import runpy, sys; "
    program += "sys.argv = ['calipers', 'overlap', 'a', 'b', '-o', 'pipe']; "
    program += "runpy.run_module('calipers', run_name='__main__')"
    with subprocess.Popen([sys.executable, "-c", program], cwd=folder) as running:
        time.sleep(2)  # it waits for a reader
        running.send_signal(signal.SIGHUP)
        time.sleep(0.5)
        assert running.poll() is None
        assert (folder / "pipe").read_text("utf-8")
        assert running.wait(timeout=60) == 0


@pytest.mark.slow
def test_a_pipe_may_be_filled_late(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    for line in (
        "retrieval q pipe --format csv",
        "retrieval q a pipe --format csv",
        "trec_eval pipe a",
    ):
        source = "q" if line.startswith("trec_eval") else "b"
        late = f"(sleep 1; cat {source} > pipe) & calipers {line}"
        done, expected = shell(folder, late), command(folder, *line.replace("pipe", source).split())
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.replace("pipe", source).split() == expected.stdout.split()


def test_where_to_report_is_what_the_package_says(monkeypatch: pytest.MonkeyPatch) -> None:
    from email.message import Message

    said = Message()
    said["Project-URL"] = "Source, https://example.org/calipers"
    said["Project-URL"] = "Issues, https://example.org/calipers/issues"
    monkeypatch.setattr("importlib.metadata.metadata", lambda _: said)
    assert (
        "please report it at https://example.org/calipers/issues, with"
        in process._internal_error_line(RuntimeError("odd"))
    )


# --- Errors of the system -------------------------------------------------------------------------


@pytest.mark.slow
def test_what_cannot_be_written_is_told_by_the_name_that_was_given(folder: Path) -> None:
    for line, message in {
        "calipers overlap a b -o none/x.csv": "none/x.csv: cannot write, because the folder does not exist",
        "calipers overlap a b -o /dev/full": "/dev/full: No space left on device",
        "ulimit -f 0; calipers overlap a b --report r.html": "r.html: File too large",
        "ln -s round round; calipers overlap a b -o round": "round: Too many levels of symbolic links",
        "calipers demo -o a/b": "a/b: Not a directory",
    }.items():
        done = shell(folder, line)
        assert (done.returncode, done.stderr) == (3, f"calipers: {message}\n"), line
    assert sorted(p.name for p in folder.iterdir() if p.name != "round") == ["a", "b", "q", "t.csv"]


def test_names_that_are_no_text_are_told_all_the_same(folder: Path) -> None:
    done = shell(folder, "calipers retrieval $'\\xff' a 2>&1 | cat -v")
    assert done.returncode == 3
    assert "no such file" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    "line", ["classification t.csv --truth y --score s", "convert a b.parquet"]
)
def test_pandas_is_not_imported(folder: Path, line: str) -> None:
    """Though Arrow would, for every array that it makes."""
    pytest.importorskip("pandas")
    command = [sys.executable, "-X", "importtime", "-m", "calipers", *line.split()]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    assert "pyarrow.lib" in done.stderr
    assert "pandas.core" not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("setting", "line", "expected"),
    [
        ({}, "trec_eval q a", "1"),
        ({"OPENBLAS_NUM_THREADS": "2"}, "trec_eval q a", "2"),
        ({"OMP_NUM_THREADS": "2"}, "trec_eval q a", "None"),
        # Models of users have the threads of their library.
        ({}, "learn --help", "None"),
    ],
)
def test_blas_has_one_thread_unless_the_user_says_so(
    folder: Path, setting: dict[str, str], line: str, expected: str
) -> None:
    code = (
        f"import atexit, os, sys; sys.argv = {['calipers', *line.split()]}\n"
        "atexit.register(lambda: print(os.environ.get('OPENBLAS_NUM_THREADS'), file=sys.stderr))\n"
        "from calipers.cli import main; main()"
    )
    names = ("OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS")
    environment = {name: value for name, value in os.environ.items() if name not in names}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
        env=environment | setting,
    )
    assert done.stderr.split()[-1] == expected


@pytest.mark.slow
def test_a_command_does_not_import_masked_arrays(folder: Path) -> None:
    """They take longer than an evaluation; functions of NumPy such as `unique` import them."""
    for line in ("retrieval q a", "trec_eval q a"):
        command = [sys.executable, "-X", "importtime", "-m", "calipers", *line.split()]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
        assert "numpy.ma.core" not in done.stderr, line


# --- Limits of memory -----------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the limit of the address space")
@pytest.mark.parametrize(
    "line", ["retrieval q a b -o made", "classification t.csv --truth y -o made"]
)
def test_too_little_memory_is_71_whatever_lacks_it(folder: Path, line: str) -> None:
    """Python, the linker, threads, OpenBLAS and Arrow end in ways of their own."""
    line += " --score s" * line.startswith("classification")
    codes = []
    for mebibytes in (24, 40, 70, 95, 115, 150, 180, 230, 300, 2000):
        (folder / "made").unlink(missing_ok=True)
        done = shell(folder, f"ulimit -v {mebibytes << 10}; timeout 60 calipers {line}")
        codes.append(done.returncode)
        assert done.returncode in (0, 71), (mebibytes, done.stderr)
        assert (folder / "made").exists() == (done.returncode == 0)
        if done.returncode:
            assert "calipers: there is not enough memory" in done.stderr.splitlines()[-1]
        assert not list(folder.glob(".*"))
    assert (codes[0], codes[-1]) == (71, 0)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the limit of the address space")
def test_under_a_limit_of_memory_outcomes_and_signals_are_as_without(folder: Path) -> None:
    limit = "ulimit -v 2000000; "
    for line, code in {
        "retrieval q a": 0,
        "retrieval q a -m AP --require 'AP>2'": 1,
        "retrieval q": 2,
        "retrieval q none": 3,
    }.items():
        free, limited = shell(folder, f"calipers {line}"), shell(folder, f"{limit}calipers {line}")
        assert limited.returncode == code
        assert (limited.stdout, limited.stderr) == (free.stdout, free.stderr)
    os.mkfifo(folder / "pipe")
    for number, code in {signal.SIGTERM: -15, signal.SIGHUP: -1, signal.SIGINT: 130}.items():
        with subprocess.Popen(
            ["bash", "-c", f"{limit}exec {sys.executable} -m calipers retrieval q pipe"],
            cwd=folder,
            stderr=subprocess.PIPE,
            text=True,
        ) as running:
            time.sleep(3)  # it waits for a writer
            running.send_signal(number)
            assert running.wait(timeout=20) == code
            assert running.stderr is not None
            said = "interrupted" if number == signal.SIGINT else f"ended by {number.name}"
            assert running.stderr.read().strip() == said


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the limit of the address space")
def test_charts_without_memory_leave_the_evaluation(folder: Path) -> None:
    """V8 reserves more address space than anybody has under a limit."""
    line = "retrieval q a b -o made.json --report page.html"
    done = shell(folder, f"ulimit -v 3000000; calipers {line}")
    assert done.returncode == 71
    assert "the process that renders charts ended by SIG" in done.stderr
    assert '"retrieval"' in (folder / "made.json").read_text()
    assert not (folder / "page.html").exists()


def test_a_lack_of_memory_is_known_by_what_it_led_to() -> None:
    lacks = (
        MemoryError(),
        OSError(12, "Cannot allocate memory"),
        ImportError("libx.so: failed to map segment from shared object"),
        RuntimeError("can't start new thread"),
    )
    for lack in lacks:
        error = ValueError("import failed")
        error.__context__ = lack
        assert process._report_error(lack) == process._report_error(error) == 71
    assert process._report_error(ImportError("no module")) == 70


# --- Signals while outputs are written ------------------------------------------------------------

#: Lines of every kind of output, and what they write.
OUTPUTS = {
    "retrieval q a b -o made.json": ["made.json"],
    "retrieval q a b -o made.csv": ["made.csv"],
    "retrieval q a b --format latex -o made.tex": ["made.tex"],
    "retrieval q a b --per-topic -o made.parquet": ["made.parquet"],
    "retrieval q a b --per-topic-dir topics": ["topics/a.eval", "topics/b.eval"],
    "retrieval q a -m AP --require AP>0 --junit made.xml": ["made.xml"],
    "classification t.csv --truth y --predicted p --save-state made.state": ["made.state"],
    "convert a made.parquet --force": ["made.parquet"],
    "campaign export c --topics made.xml --judgments made.csv --force": ["made.xml", "made.csv"],
    "campaign export c --tables tables --judgments made.csv --force": ["made.csv"],
}
HTML = "retrieval q a b -o made.json --report made.html"

#: Sends a signal to itself at the n-th call of a function, before or after it is done.
SIGNALLED = """
import os, signal
calls, real = [], os.{function}
def signalled(*arguments, **named):
    made = real(*arguments, **named) if "{function}" == "open" else None
    if "{function}" != "open" or str(arguments[0]).endswith(".part"):
        calls.append(0)
        if len(calls) == {call}:
            os.kill(os.getpid(), signal.{number})
    return real(*arguments, **named) if made is None else made
os.{function} = signalled
"""


@pytest.mark.slow
@pytest.mark.parametrize("line", [*OUTPUTS, HTML])
@pytest.mark.parametrize("number", ["SIGTERM", "SIGKILL"])
def test_a_signal_leaves_no_half_written_file(folder: Path, line: str, number: str) -> None:
    """Each output is the old one or the new one, at every step of the writing."""
    (folder / "topics.tsv").write_text("topic\ttitle\n1\tkettles\n")
    for words in ("create c", "topics c topics.tsv", "runs c a --participant p"):
        assert command(folder, "campaign", *words.split()).returncode == 0
    (folder / "j.csv").write_text("topic,document,grade\n1,a,1\n")
    command(folder, *["campaign", "import", "c", "j.csv", "--assessor", "ann"])
    outputs = OUTPUTS.get(line, ["made.json", "made.html"])
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert command(folder, *line.split()).returncode == 0
    whole = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert {folder / name for name in outputs} <= whole.keys()
    n_ended = 0
    for function in ("open", "fsync", "replace"):
        for call, is_old in product(range(1, len(outputs) + 1), (True, False)):
            for path in whole.keys() - before.keys():
                if is_old:
                    path.write_bytes(b"old")
                else:
                    path.unlink(missing_ok=True)
            program = SIGNALLED.format(function=function, call=call, number=number)
            done = command(folder, *line.split(), before=program)
            n_ended += done.returncode == -signal.Signals[number]
            assert done.returncode in (0, -signal.Signals[number]), done.stderr
            for path in [path for path in folder.rglob("*") if path.is_file()]:
                content = path.read_bytes()
                if path.suffix == ".part":
                    assert number == "SIGKILL"
                    path.unlink()
                elif path in before:
                    assert content == before[path]
                else:
                    assert content == b"old" or abs(len(content) - len(whole[path])) < 40
    assert n_ended >= 6
