"""Checks that the type of every public name is known to type checkers.

    python tools/public_types.py

Runs ``basedpyright --verifytypes`` on the installed package, which has the same rules as pyright
and comes from PyPI whole. Public are the names in the ``__all__`` of the modules below, with the
members of their classes. Modules inside count as exported for pyright; here only what they have of
these names does.
"""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from types import ModuleType

MODULES = (
    "calipers", "calipers.charts", "calipers.findings", "calipers.ir_measures", "calipers.measures",
    "calipers.results", "calipers.statistics", "calipers.tasks",
)  # fmt: skip


def public_names() -> set[str]:
    """Public names, and the names under which their objects are defined."""
    names = set()
    for module in map(importlib.import_module, MODULES):
        for name in module.__all__:
            value = getattr(module, name)
            if not isinstance(value, ModuleType):
                names |= {f"{module.__name__}.{name}"}
                names |= {f"{value.__module__}.{value.__qualname__}"} if callable(value) else set()
    return names


def main() -> None:
    """List what is unknown, and fail if there is any."""
    done = subprocess.run(
        ["basedpyright", "--verifytypes", "calipers", "--ignoreexternal", "--outputjson"],
        check=False, capture_output=True, text=True,
    )  # fmt: skip
    symbols = json.loads(done.stdout)["typeCompleteness"]["symbols"]
    names = public_names()
    public = [s for s in symbols if {s["name"], s["name"].rpartition(".")[0]} & names]
    unknown = [symbol for symbol in public if not symbol["isTypeKnown"]]
    for symbol in unknown:
        print(symbol["name"])
        for diagnostic in symbol["diagnostics"]:
            print(f"    {diagnostic['message']}")
    print(f"The types of {len(public) - len(unknown):,} of {len(public):,} public names are known")
    if unknown or len(public) < len(names):
        sys.exit(1)


if __name__ == "__main__":
    main()
