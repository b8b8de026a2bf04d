"""Validate the docstrings of public names with numpydoc: ``python tools/docstrings.py`` lists what
it finds.

With ``--check`` it fails where a check finds more than ``tools/docstrings.json`` allows; with
``--update`` it writes that file, in which no count may rise. The checks are those of
``[tool.numpydoc_validation]`` in pyproject.toml.
"""

from __future__ import annotations

import inspect
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from numpydoc import validate

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[1]
BASELINE = ROOT / "tools" / "docstrings.json"

#: The modules whose ``__all__`` users import from.
MODULES = (
    "calipers",
    "calipers.charts",
    "calipers.findings",
    "calipers.ir_measures",
    "calipers.measures",
    "calipers.results",
    "calipers.statistics",
    "calipers.tasks",
)


class Fault(NamedTuple):
    """What a check finds in a docstring."""

    name: str
    code: str
    message: str

    def __str__(self) -> str:
        """Show the name first, as the list is sorted."""
        return f"{self.name}: {self.code} {self.message}"


def public_names() -> Iterator[str]:
    """Yield the classes and functions of the modules once each, and the members of the classes."""
    visited: set[int] = set()
    for module in MODULES:
        for name in import_module(module).__all__:
            value = getattr(import_module(module), name)
            has_docstring = inspect.isroutine(value) or inspect.isclass(value)
            is_own = str(getattr(value, "__module__", "")).startswith("calipers")
            if not (has_docstring and is_own) or id(value) in visited:
                continue
            visited.add(id(value))
            yield f"{module}.{name}"
            if inspect.isclass(value):
                members = (m for m in vars(value) if not m.startswith("_"))
                yield from (f"{module}.{name}.{m}" for m in members if is_documented(value, m))


def is_documented(owner: type, member: str) -> bool:
    """Return whether a member is a method or a property, rather than a field."""
    value = inspect.getattr_static(owner, member)
    return inspect.isroutine(value) or (hasattr(value, "__get__") and bool(value.__doc__))


def checks() -> frozenset[str]:
    """Return the codes that are checked: ``all`` but those named after it."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    codes = set(tomllib.loads(text)["tool"]["numpydoc_validation"]["checks"])
    return frozenset(validate.ERROR_MSGS) - codes if "all" in codes else frozenset(codes)


def faults() -> Iterator[Fault]:
    """Yield what the checks find."""
    checked_codes = checks()
    for name in public_names():
        for code, message in validate.validate(name)["errors"]:
            if code in checked_codes:
                yield Fault(name, code, message)


def main(arguments: Sequence[str]) -> int:
    """List the faults, check their counts, or write them."""
    all_faults = list(faults())
    counts = dict(sorted(Counter(fault.code for fault in all_faults).items()))
    if not {"--check", "--update"} & set(arguments):
        print(*all_faults, sep="\n")
        print(*(f"{code}: {n}" for code, n in counts.items()), sep=", ")
        return 0
    is_first = "--update" in arguments and not BASELINE.exists()
    allowed = counts if is_first else json.loads(BASELINE.read_text(encoding="utf-8"))
    excess = {code: n for code, n in counts.items() if n > allowed.get(code, 0)}
    for fault in all_faults:
        if fault.code in excess:
            print(fault)
    for code, n in excess.items():
        print(f"{code}: {n}, and {BASELINE.name} allows {allowed.get(code, 0)}")
    if excess:
        return 1
    if "--update" in arguments:
        BASELINE.write_text(f"{json.dumps(counts, indent=1)}\n", encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
