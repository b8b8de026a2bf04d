"""Other tools that do what Calipers does, and Calipers doing it: the rows of `suite.py`."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping

from peers import classes, evaluations, resampled, runs, start, tables, tasks
from peers.row import Call, Whole, measured

CALLS: Mapping[str, Call] = {
    **runs.CALLS,
    **classes.CALLS,
    **resampled.CALLS,
    **tasks.CALLS,
    **evaluations.CALLS,
}
WHOLES: Mapping[str, Whole] = {**runs.WHOLES, **tables.WHOLES, **start.WHOLES}


def call() -> None:
    """Measure the call that the arguments of the process name, and print what it takes."""
    name, tool, rows = sys.argv[1:]
    print(json.dumps(measured(CALLS[name], tool, int(rows))))
