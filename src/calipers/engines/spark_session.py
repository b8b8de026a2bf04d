"""Sessions of Spark, and whether their workers can work for this process."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from calipers.data.errors import InputError
from calipers.engines import workers
from calipers.extras import install_command

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

#: What asks the workers: so many at most, each for so long that no process answers for another one;
#: and so many where nobody says how many there are.
_MOST_ASKED, _ASKS, _ASKED = 512, 0.3, 32
#: Sessions, by the ids of their applications, whose workers were asked.
_ABLE: set[str] = set()


def session_of(master: str | None = None) -> SparkSession:
    """A session: the active one, or a new one, of a master (``local[4]``, ``spark://…``, ``yarn``)
    or a server of Spark Connect (``sc://…``)."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise InputError(f"engine='spark' takes PySpark 4: {install_command('spark')}") from None
    active = SparkSession.getActiveSession()
    if active is not None and master is None:
        return active
    builder = SparkSession.builder.appName("calipers")
    if master is not None:
        builder = builder.remote(master) if master.startswith("sc://") else builder.master(master)
    with _own_python(master) as options:
        try:
            session = builder.config(map=options).getOrCreate()
        except Exception as error:
            # Of many kinds: there is no Java, no such server, no package that it needs.
            raise InputError(f"Spark does not start: {str(error).splitlines()[0]}") from error
    if options and active is None and session.conf.get("spark.master", "").startswith("local"):
        _ABLE.add(_application(session))  # its workers run this Python, and this Calipers
    return session


@contextmanager
def _own_python(master: str | None) -> Iterator[dict[str, Any]]:
    """Options of a new session, and what is to be set while it starts: on this machine its workers
    run the Python that runs this, not the first ``python3`` of the path, which need not have
    Calipers. Where somebody has said which Python they run, that stands."""
    arguments = os.environ.get("PYSPARK_SUBMIT_ARGS", "")
    # A server, or spark-submit, which has begun Spark already.
    begun = ("SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED", "PYSPARK_GATEWAY_PORT")
    named = master or _master_of(arguments) or os.environ.get("MASTER") or "local"
    local = named.startswith("local") and (master or not any(map(os.environ.get, begun)))
    said = "PYSPARK_PYTHON" in os.environ or "spark.pyspark.python" in arguments
    if not local or said:
        yield {}
        return
    own = sys.executable
    # PySpark reads the variable, the Java side the options.
    os.environ["PYSPARK_PYTHON"] = own
    try:
        yield {"spark.pyspark.python": own, "spark.pyspark.driver.python": own}
    finally:
        del os.environ["PYSPARK_PYTHON"]


def _master_of(arguments: str) -> str:
    """The master that the arguments of spark-submit name."""
    try:
        words = shlex.split(arguments)
    except ValueError:  # an open quotation, which PySpark tells of
        return ""
    after = [second for first, second in pairwise(words) if first == "--master"]
    after += [word.partition("=")[2] for word in words if word.startswith("--master=")]
    return after[0] if after else ""


def check_workers(session: SparkSession) -> None:
    """That Spark's workers can work for this process, once for each session.

    Raises
    ------
    InputError
        When Calipers is not there, or another version of it or of Python.
    """
    application = _application(session)
    if application in _ABLE:
        return
    asked = 0
    # Of a cluster that has just begun more are there after the first question than before.
    while (slots := _slots(session)) > asked:
        ask = _asked(workers.question(), _ASKS if slots > 1 else 0)
        try:
            answers = session.range(0, slots, 1, slots).mapInArrow(ask, _ANSWER).toArrow()
        except Exception as error:
            # Of many kinds: no such program, another Python, no Arrow there.
            raise InputError(f"Spark's workers {_why(error)}; {workers.remedy('Spark')}") from error
        workers.check("Spark", (workers.Worker(**answer) for answer in answers.to_pylist()))
        asked = slots
    _ABLE.add(application)


def _application(session: SparkSession) -> str:
    return session.conf.get("spark.app.id", "") or str(id(session))


def _slots(session: SparkSession) -> int:
    """How many tasks may run at a time, as far as that is known, and as many as are asked."""
    context = getattr(session, "_sc", None)
    return _ASKED if context is None else max(1, min(context.defaultParallelism, _MOST_ASKED))


@contextmanager
def able() -> Iterator[None]:
    """Tells of workers that came later, and were not asked."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        if "No module named 'calipers" not in str(error):
            raise
        message = f"one of Spark's workers has no Calipers; {workers.remedy('Spark')}"
        raise InputError(message) from error


#: The fields of a worker's answer.
_ANSWER = ", ".join(f"{name} string" for name in workers.Worker._fields)


def _asked(
    ask: Callable[[], tuple[str, ...]], seconds: float
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    names = list(workers.Worker._fields)

    def run(given: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import time

        import pyarrow as pa

        for _ in given:
            time.sleep(seconds)
            yield pa.record_batch([pa.array([value], pa.string()) for value in ask()], names)

    return run


def _why(error: Exception) -> str:
    """What keeps workers from running Python, in its own words."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    for line in lines:
        if "PYTHON_VERSION_MISMATCH" in line:
            return f"have another Python than this process: {line.partition('] ')[2] or line}"
        if "Cannot run program" in line:
            return f"cannot start Python: {line[line.index('Cannot run program') :]}"
        if "ModuleNotFoundError" in line or "ImportError" in line:
            return f"lack what is needed: {line}"
    return f"cannot run Python: {lines[0] if lines else type(error).__name__}"
