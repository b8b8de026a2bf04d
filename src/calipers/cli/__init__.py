"""Command ``calipers``, with one module per subcommand.

Each module imports only what it runs. Imports that take time are in :func:`start`, where Ctrl-C is
handled.
"""

from __future__ import annotations

import os
from importlib import import_module

from calipers.lazy_imports import lazy_getattr

#: As in :mod:`calipers.cli.process`, which may not be there yet.
_INTERRUPTED = 130


def start(module: str) -> None:
    """Run the program of a module as this process."""
    try:
        from calipers.cli.process import run

        run(lambda: import_module(module).program())
    except KeyboardInterrupt:  # before or after the run, which tells of its own
        os._exit(_INTERRUPTED)


def main() -> None:
    """Run the console script."""
    start("calipers.cli.group")


__getattr__ = lazy_getattr(__name__, {"group": "cli, COMMANDS"})
