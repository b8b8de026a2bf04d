"""Workers that cannot work are told of at once, with what to do."""

from __future__ import annotations

import os
import platform
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import calipers as cal
from calipers.data.errors import InputError
from calipers.engines import remote
from calipers.engines import spark as engine
from calipers.engines.remote import Worker, check_workers, make_worker_probe

pytestmark = [
    # PySpark says so of every pandas that is newer than itself.
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas"),
    # It leaves sockets for Python to close.
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

OWN = Worker("a", "/bin/python", platform.python_version(), cal.__version__, "")


def test_a_worker_answers_for_itself() -> None:
    found = Worker(*make_worker_probe()())
    assert found[1:] == (sys.executable, platform.python_version(), cal.__version__, "")
    check_workers("Spark", [found, found])


@pytest.mark.parametrize(
    ("worker", "words"),
    [
        (OWN._replace(calipers="0.0.9"), "has Calipers 0.0.9, and this process has"),
        (OWN._replace(python="3.2.1"), "has another version of Python than this process"),
        (OWN._replace(error="ModuleNotFoundError: No module named 'calipers'"), "has no Calipers"),
        (OWN._replace(error="ImportError: libc"), "cannot load Calipers: ImportError: libc"),
    ],
)
def test_what_keeps_a_worker_from_working_is_told(worker: Worker, words: str) -> None:
    with pytest.raises(InputError) as raised:
        check_workers("Spark", [OWN, worker])
    text = str(raised.value)
    assert words in text
    assert "Spark's worker on a (/bin/python" in text
    assert f"with Calipers {cal.__version__} (PYSPARK_PYTHON)" in text
    assert "docs/large.md" in text


@contextmanager
def workers_run(session: Any, python: str) -> Iterator[None]:
    """Spark's workers run another program, and are asked again."""
    context, before = session.sparkContext, set(engine._CHECKED_APPLICATIONS)
    own, context.pythonExec = context.pythonExec, python
    engine._CHECKED_APPLICATIONS.clear()
    try:
        yield
    finally:
        context.pythonExec = own
        engine._CHECKED_APPLICATIONS.update(before)


@pytest.fixture
def other_python(tmp_path: Path) -> Path:
    """A Python with all that this one has, before which another Calipers stands."""
    home = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", home], check=True)
    (site,) = home.glob("lib/python*/site-packages")
    first = tmp_path / "first"
    first.mkdir()
    rest = [path for path in sys.path if path]
    before_all = f"import sys; sys.path.insert(0, {str(first)!r})"
    (site / "all.pth").write_text("\n".join([*rest, before_all]))
    return first


def test_workers_without_calipers_are_told_of(
    spark: Any, path: Path, other_python: Path, tmp_path: Path
) -> None:
    python = str(tmp_path / "venv" / "bin" / "python")
    missing = "raise ModuleNotFoundError(\"No module named 'calipers'\", name='calipers')"
    for source, words in (
        (missing, "has no Calipers"),
        ("__version__ = '9.9'", "cannot load Calipers: ModuleNotFoundError"),
    ):
        (other_python / "calipers.py").write_text(source)
        with workers_run(spark, python), pytest.raises(InputError, match=words) as raised:
            cal.classification("y", score="near", data=path, engine="spark", measures=["AUC"])
        assert "PYSPARK_PYTHON" in str(raised.value)
    with (
        workers_run(spark, "/nowhere/python"),
        pytest.raises(InputError, match=r"cannot start Python.*/nowhere/python"),
    ):
        cal.classification("y", score="near", data=path, engine="spark", measures=["AUC"])


def test_workers_that_came_later_are_told_of(
    spark: Any, path: Path, other_python: Path, tmp_path: Path
) -> None:
    (other_python / "calipers.py").write_text(
        "raise ModuleNotFoundError(\"No module named 'calipers'\", name='calipers')"
    )
    with workers_run(spark, str(tmp_path / "venv" / "bin" / "python")):
        engine._CHECKED_APPLICATIONS.add(engine._application_id(spark))
        with pytest.raises(InputError, match="Calipers is not installed on one of Spark's workers"):
            cal.classification("y", score="near", data=path, engine="spark", measures=["AUC"])


@pytest.mark.parametrize(
    ("master", "variables", "own"),
    [
        (None, {}, True),
        ("local[2]", {"PYSPARK_GATEWAY_PORT": "1"}, True),
        (None, {"MASTER": "local[2]"}, True),
        (None, {"PYSPARK_SUBMIT_ARGS": "--master 'local[2]' pyspark-shell"}, True),
        (None, {"PYSPARK_SUBMIT_ARGS": "--master=local pyspark-shell"}, True),
        (None, {"MASTER": "spark://head:7077"}, False),
        (None, {"PYSPARK_SUBMIT_ARGS": "--master yarn pyspark-shell", "MASTER": "local"}, False),
        (None, {"SPARK_REMOTE": "sc://head"}, False),
        ("spark://head:7077", {"MASTER": "local"}, False),
        ("local", {"PYSPARK_PYTHON": "/its/python"}, False),
    ],
)
def test_workers_of_this_machine_run_its_python(
    master: str | None, variables: dict[str, str], own: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in os.environ if "SPARK" in name or name == "MASTER"]:
        monkeypatch.delenv(name)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with engine._own_python(master) as options:
        assert options.get("spark.pyspark.python") == (sys.executable if own else None)
        assert os.environ.get("PYSPARK_PYTHON") == (
            sys.executable if own else variables.get("PYSPARK_PYTHON")
        )


@pytest.mark.slow
@pytest.mark.usefixtures("spark")
def test_the_command_of_an_environment_that_is_not_activated(path: Path) -> None:
    """What the path has for a ``python3`` is not asked."""
    line = [sys.executable, "-m", "calipers", "classification", str(path), "--truth", "y"]
    # No `python3` that has Calipers; Java alone is looked for.
    kept = {"HOME", "JAVA_HOME", "PYTHONPATH", "TMPDIR"}
    bare = {key: value for key, value in os.environ.items() if key in kept}
    done = subprocess.run(
        [*line, "--score", "near", "-m", "AUC", "--engine", "spark", "--master", "local[1]"],
        env={**bare, "PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    assert "AUC is" in done.stdout


@pytest.mark.slow
def test_workers_of_dask_are_asked_once(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from calipers.engines import dask

    dask._CHECKED_WORKERS.clear()
    dask.check_workers()
    assert {at for _, at in dask._CHECKED_WORKERS} == set(cluster.nthreads())
    monkeypatch.setattr(cal, "__version__", "9.9")
    dask.check_workers()  # they are known
    dask._CHECKED_WORKERS.clear()
    with pytest.raises(InputError, match=r"Dask's worker on .* has Calipers .*, and this process"):
        dask.check_workers()


@pytest.mark.parametrize("scheme", ["spark", "sc"])
def test_a_master_that_does_not_answer_is_told_of_at_once(scheme: str) -> None:
    pytest.importorskip("pyspark")
    with socket.socket() as unused:  # bound, and not listening
        unused.bind(("127.0.0.1", 0))
        address = f"{scheme}://127.0.0.1:{unused.getsockname()[1]}"
        with pytest.raises(InputError, match=rf"{address} does not answer .*refused"):
            engine.get_session(address)


def test_the_cause_of_an_error_of_java_is_kept() -> None:
    error = Exception(
        "An error occurred.\n\tat java.Thread\nCaused by: no disk\nCaused by: no disk"
    )
    assert remote.first_message(error) == "An error occurred. Caused by: no disk"
    error = Exception("An error occurred while calling o5.getResult.\n: Exception: lost worker")
    assert remote.first_message(error).endswith("getResult. : Exception: lost worker")


def test_spark_that_cannot_finish_is_told_of() -> None:
    java_error = type("Py4JJavaError", (Exception,), {"__module__": "py4j.protocol"})
    for error in (java_error("Job aborted"), ConnectionRefusedError("Job aborted")):
        with pytest.raises(InputError) as caught, engine._explain_failure("rows"):
            raise error
        assert str(caught.value) == "rows: Spark could not finish: Job aborted"
    for error in (InputError("row 3"), ValueError("odd"), MemoryError()):
        with pytest.raises(type(error)) as kept, engine._explain_failure("rows"):
            raise error
        assert kept.value is error


def test_a_scheduler_that_is_not_there_is_told_of() -> None:
    pytest.importorskip("distributed")
    import dask.config

    from calipers.engines.dask import connect

    with (
        dask.config.set({"distributed.comm.timeouts.connect": "1s"}),
        pytest.raises(InputError, match="no scheduler answers at tcp://127"),
    ):
        connect("tcp://127.0.0.1:9")
