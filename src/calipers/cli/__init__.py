"""Command ``calipers``, with one module per subcommand.

Each module imports only what it runs. Imports that take time are in :func:`start`, where Ctrl-C is
handled.
"""

from __future__ import annotations

import gc
import os
import sys
from importlib import import_module

from calipers.lazy_imports import lazy_getattr

#: As in :mod:`calipers.cli.process`, which may not be there yet.
_INTERRUPTED = 130


#: New objects between two searches for cyclic garbage, 700 by default in Python. Modules make some
#: hundred thousand objects that stay, and to search them over and over took a tenth of the time of
#: a command on small data.
_OBJECTS_BETWEEN_SEARCHES = 100_000


def start(module: str, arguments: list[str] | None = None) -> None:
    """Run the program of a module as this process, by default on the arguments of the process."""
    gc.set_threshold(_OBJECTS_BETWEEN_SEARCHES)
    try:
        from calipers.cli.memory_limit import supervise

        supervise()
        from calipers.cli.process import run

        run(lambda: import_module(module).program(arguments))
    except KeyboardInterrupt:  # before or after the run, which tells of its own
        os._exit(_INTERRUPTED)


def main() -> None:
    """Run the console script."""
    # The arguments of trec_eval are not for click, which need not be loaded.
    if sys.argv[1:2] == ["trec_eval"]:
        start("calipers.cli.trec_eval.program", sys.argv[2:])
    else:
        start("calipers.cli.group")


__getattr__ = lazy_getattr(__name__, {"group": "cli, COMMANDS"})
