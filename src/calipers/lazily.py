"""Packages whose names are imported when they are first used, so that whoever needs one name does
not wait for all."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def loading(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """The ``__getattr__`` of a package: ``homes`` are its modules, each with the names that it
    lends, written as in an import statement."""
    home: dict[str, tuple[str, str]] = {}
    for module, lent in homes.items():
        for each in lent.split(", "):
            theirs, _, ours = each.partition(" as ")
            home[ours or theirs] = f"{package}.{module}", theirs

    def load(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, attribute = home[name]
        value = getattr(import_module(module), attribute)
        setattr(sys.modules[package], name, value)
        return value

    return load
