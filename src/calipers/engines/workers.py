"""Whether the processes that have the rows can work on them: their Calipers and their Python.

Work is sent pickled, and taken apart by the Calipers that is there. Where there is none, or another
one, it would fail in the middle of a pass with an error of the engine's own; so the workers are
asked first.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable, Iterable
from typing import NamedTuple

import calipers
from calipers.data.errors import InputError

#: Where the documentation says how Calipers gets there.
_HOW = 'see "Calipers on the workers" in docs/large.md'


class Worker(NamedTuple):
    """A process that works on rows: on which machine, with which Python of which version, and the
    version of its Calipers, or what is wrong where it has none."""

    host: str
    executable: str
    python: str
    calipers: str
    wrong: str


def question() -> Callable[[], tuple[str, ...]]:
    """What a worker is asked; it answers with the fields of a :class:`Worker`. The function travels
    whole: nothing of Calipers may be needed to take it apart."""

    def ask() -> tuple[str, ...]:
        import importlib
        import platform
        import sys

        version, wrong = "", ""
        try:
            version = importlib.import_module("calipers").__version__
            importlib.import_module("calipers._core")
            importlib.import_module("calipers.engines.partitions")
        except Exception as error:
            wrong = f"{type(error).__name__}: {error}"
        return platform.node(), sys.executable, platform.python_version(), version, wrong

    return ask


def check(engine: str, workers: Iterable[Worker]) -> None:
    """That all of them can work for this process.

    Raises
    ------
    InputError
        It says which cannot, why, and what to do.
    """
    for one in sorted(set(workers)):
        where = f"{engine}'s worker on {one.host} ({one.executable}, Python {one.python})"
        if one.wrong:
            missing = "No module named 'calipers'" in one.wrong
            what = "has no Calipers" if missing else f"cannot load Calipers: {one.wrong}"
        elif one.calipers != calipers.__version__:
            what = f"has Calipers {one.calipers}, and this process has {calipers.__version__}"
        elif not same_python(one.python):
            what = f"has another Python than this process, which has {platform.python_version()}"
        else:
            continue
        raise InputError(f"{where} {what}; {remedy(engine)}")


def same_python(version: str) -> bool:
    """Whether a version of Python takes apart what this one pickles: functions of another minor
    version it does not."""
    return version.split(".")[:2] == platform.python_version().split(".")[:2]


def remedy(engine: str) -> str:
    """What makes workers able to work."""
    python = {"Spark": "PYSPARK_PYTHON", "Dask": "the command that starts them"}[engine]
    return (
        f"have the workers take a Python {'.'.join(map(str, sys.version_info[:2]))} with Calipers "
        f"{calipers.__version__} ({python}): {_HOW}"
    )
