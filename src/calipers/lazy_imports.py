"""Lazy imports: modules and names that are imported on first use."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType

#: Like that of `typing`, which need not be imported for this alone.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any


def lazy_getattr(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package that imports its public names on first use.

    Parameters
    ----------
    package : str
        Name of the package.
    homes : mapping of str to str
        Modules of the package, each with the names that it provides, written as in an import
        statement: ``{"module": "name, other as alias"}``.

    Returns
    -------
    callable
        The function, which raises ``AttributeError`` for an unknown name.
    """
    target_by_name: dict[str, tuple[str, str]] = {}
    for module, names in homes.items():
        for each in names.split(", "):
            attribute_name, _, alias = each.partition(" as ")
            target_by_name[alias or attribute_name] = f"{package}.{module}", attribute_name

    def load(name: str) -> Any:
        if name not in target_by_name:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, attribute = target_by_name[name]
        value = getattr(import_module(module), attribute)
        setattr(sys.modules[package], name, value)
        return value

    return load


class _LazyModule(ModuleType):
    """Module that is imported when one of its attributes is first accessed."""

    def __getattr__(self, name: str) -> Any:
        value = getattr(import_module(self.__name__), name)
        setattr(self, name, value)
        return value


#: NumPy for the modules that define measures, imported only when a value is computed.
if TYPE_CHECKING:
    import numpy as numpy  # noqa: ICN001, PLC0414
else:
    numpy = _LazyModule("numpy")
