"""Validate the docstrings of public names with numpydoc: ``python tools/docstrings.py`` lists what
it finds.

``--check`` and ``--update`` compare with ``tools/docstrings.json`` and write it, as
``tools/baseline.py`` says. The checks are those of ``[tool.numpydoc_validation]`` in
pyproject.toml.
"""

from __future__ import annotations

import dataclasses
import inspect
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import baseline
from numpydoc import validate

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[1]
BASELINE = Path("tools", "docstrings.json")

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
    """What a check finds in the docstring of a name, the ``word``; its ``kind`` is the code."""

    kind: str
    word: str
    message: str

    def __str__(self) -> str:
        """Show the name first, as the list is sorted."""
        return f"{self.word}: {self.kind} {self.message}"


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


def class_faults(docstring: validate.Validator) -> Iterator[tuple[str, str]]:
    """Yield parameters of a class that are not documented, and attributes that there are not.

    Classes that users construct document their fields as Parameters. Results, which functions
    return, document them as Attributes, since a reader gets them and constructs none; numpydoc
    accepts Parameters only.
    """
    attributes = {
        attribute.strip()
        for entry in docstring.doc["Attributes"]
        for attribute in entry.name.split(",")
    }
    parameters = set(docstring.signature_parameters)
    for parameter in sorted(parameters - attributes - set(docstring.doc_all_parameters)):
        yield "PR01", f"Parameter {parameter!r} is in neither Parameters nor Attributes"
    # Other classes may set attributes when they are constructed.
    if dataclasses.is_dataclass(docstring.obj):
        for attribute in sorted(attributes - parameters):
            if not hasattr(docstring.obj, attribute):
                yield "PR02", f"There is no attribute {attribute!r}"


def faults() -> Iterator[Fault]:
    """Yield what the checks find."""
    checked_codes = checks()
    for name in public_names():
        docstring = validate.Validator(validate.get_doc_object(validate.Validator._load_obj(name)))
        errors = validate.validate(name)["errors"]
        if inspect.isclass(docstring.obj):
            errors = [error for error in errors if error[0] != "PR01"]
            errors += class_faults(docstring)
        for code, message in errors:
            if code in checked_codes:
                yield Fault(code, name, message)


def main(arguments: Sequence[str]) -> int:
    """List the faults, check their counts, or write them."""
    return baseline.run(arguments, list(faults()), ROOT, BASELINE)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
