"""Registry of definitions by name, and their pickling and copying."""

from __future__ import annotations

import contextlib
import copyreg
import importlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

from calipers import plugins
from calipers.measures.definition import Definition
from calipers.measures.errors import UnknownMeasureError
from calipers.measures.families import FAMILIES

#: By family and name, also of families that are not in the catalogue.
REGISTRY: dict[tuple[str, str], Definition] = {}
#: By the key of each spelling.
DEFINITIONS_BY_NAME: dict[str, list[Definition]] = {}


def normalize_name(name: str) -> str:
    """Return a name in lower case with hyphens, as names are looked up."""
    return name.lower().replace("_", "-")


def register(definition: Definition, old: Definition | None = None) -> None:
    """Add a definition to the registry, in place of ``old``."""
    if old is not None:
        for key in dict.fromkeys(map(normalize_name, old.spellings)):
            DEFINITIONS_BY_NAME[key].remove(old)
    REGISTRY[definition.family, definition.name] = definition
    for key in dict.fromkeys(map(normalize_name, definition.spellings)):
        DEFINITIONS_BY_NAME.setdefault(key, []).append(definition)


def is_built_in(definition: Definition) -> bool:
    """Return whether a definition is a measure of Calipers itself."""
    return definition.formula.__module__.startswith("calipers.")


def find_candidates(name: str, families: Sequence[str]) -> list[Definition]:
    """Return the definitions with a name, in the order of these families."""
    matches = DEFINITIONS_BY_NAME.get(normalize_name(name), ())
    return [d for family in families for d in matches if d.family == family]


def definitions(family: str | None = None) -> Iterator[Definition]:
    """Return an iterator over the definitions in the order of the catalogue.

    Parameters
    ----------
    family : str, optional
        Family of the definitions. By default all families.

    Returns
    -------
    iterator of Definition
        Definitions, with those of plugins.
    """
    plugins.load("calipers.measures")
    families = tuple(FAMILIES) if family is None else (family,)
    load_families(families)
    registered = tuple(REGISTRY.values())
    return (d for family in families for d in registered if d.family == family)


def registry_state() -> tuple[Definition, ...]:
    """Return the content of the registry, as a key of caches that depend on it."""
    return tuple(REGISTRY.values())


def get_definition(family: str, name: str) -> Definition:
    """Return the definition with exactly this name."""
    load_families((family,))
    return REGISTRY[family, name]


def load_families(families: Iterable[str]) -> None:
    """Import the modules of the measures of these families."""
    homes = (FAMILIES[family].home for family in families if family in FAMILIES)
    for home in dict.fromkeys(filter(None, homes)):
        importlib.import_module(home)


def external_definition(name: str, **traits: Any) -> Definition:
    """Create a definition outside the catalogue, which can be unpickled nevertheless."""
    definition = REGISTRY[traits["family"], name] = Definition(name=name, **traits)
    return definition


def _load_registered(family: str, name: str, module: str) -> Definition:
    """Return the definition that a pickle names.

    Raises
    ------
    UnknownMeasureError
        If it is not registered in this process.
    """
    load_families((family,))
    if (family, name) not in REGISTRY:
        with contextlib.suppress(ImportError):
            importlib.import_module(module)
    if (family, name) not in REGISTRY:
        plugins.load("calipers.measures")
    definition = REGISTRY.get((family, name))
    if definition is None:
        raise UnknownMeasureError(
            f"the measure {name!r} of {family} is not known in this process; define it in a "
            f"module that is imported there too (here it was {module!r})"
        )
    return definition


def _reduce_definition(definition: Definition) -> tuple[Any, ...]:
    """Return the reduction of a definition for pickling: by its name, or else by its traits."""
    key = definition.family, definition.name
    if definition is REGISTRY.get(key):
        return _load_registered, (*key, definition.formula.__module__)
    return _load_unregistered, ({f.name: getattr(definition, f.name) for f in fields(definition)},)


def _load_unregistered(traits: Mapping[str, Any]) -> Definition:
    return Definition(**traits)


copyreg.pickle(Definition, _reduce_definition)
