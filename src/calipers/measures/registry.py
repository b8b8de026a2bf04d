"""The books: every definition by its name, and how pickles and copies find it again."""

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
NAMES: dict[str, list[Definition]] = {}


def normalize_name(name: str) -> str:
    """What a spelling is looked up by: capitals and hyphens or underscores do not matter."""
    return name.lower().replace("_", "-")


def register(definition: Definition, old: Definition | None = None) -> None:
    """Into the books, in the place of ``old``."""
    if old is not None:
        for known in dict.fromkeys(map(normalize_name, old.spellings)):
            NAMES[known].remove(old)
    REGISTRY[definition.family, definition.name] = definition
    for known in dict.fromkeys(map(normalize_name, definition.spellings)):
        NAMES.setdefault(known, []).append(definition)


def is_built_in(definition: Definition) -> bool:
    """Whether it is a measure of Calipers itself."""
    return definition.formula.__module__.startswith("calipers.")


def find_candidates(name: str, families: Sequence[str]) -> list[Definition]:
    """What answers to a name, of these families."""
    named = NAMES.get(normalize_name(name), ())
    return [d for family in families for d in named if d.family == family]


def definitions(family: str | None = None) -> Iterator[Definition]:
    """Every definition (of one family), in the order of the catalogue."""
    plugins.load("calipers.measures")
    families = tuple(FAMILIES) if family is None else (family,)
    load(families)
    here = tuple(REGISTRY.values())
    return (d for family in families for d in here if d.family == family)


def edition() -> tuple[int, ...]:
    """What is another one when a definition has come, gone or been replaced: what is kept beside
    the books holds for one edition of them."""
    return tuple(map(id, REGISTRY.values()))


def get_definition(family: str, name: str) -> Definition:
    """The measure of the catalogue that has this very name."""
    load((family,))
    return REGISTRY[family, name]


def load(families: Iterable[str]) -> None:
    """Import the measures of these families, unless they are here already."""
    homes = (FAMILIES[family].home for family in families if family in FAMILIES)
    for home in dict.fromkeys(filter(None, homes)):
        importlib.import_module(home)


def external_definition(name: str, **traits: Any) -> Definition:
    """A definition that is not in the catalogue; what is pickled finds it all the same."""
    definition = REGISTRY[traits["family"], name] = Definition(name=name, **traits)
    return definition


def _load_registered(family: str, name: str, module: str) -> Definition:
    """The definition that a pickle names."""
    load((family,))
    if (family, name) not in REGISTRY:
        with contextlib.suppress(ImportError):
            importlib.import_module(module)
    if (family, name) not in REGISTRY:
        plugins.load("calipers.measures")
    known = REGISTRY.get((family, name))
    if known is None:
        raise UnknownMeasureError(
            f"the measure {name!r} of {family} is not known in this process; define it in a "
            f"module that is imported there too (here it was {module!r})"
        )
    return known


def _reduce_definition(definition: Definition) -> tuple[Any, ...]:
    """How a definition is pickled: by its name where it has one, else by its traits."""
    place = definition.family, definition.name
    if definition is REGISTRY.get(place):
        return _load_registered, (*place, definition.formula.__module__)
    return _load_unregistered, ({f.name: getattr(definition, f.name) for f in fields(definition)},)


def _load_unregistered(traits: Mapping[str, Any]) -> Definition:
    return Definition(**traits)


copyreg.pickle(Definition, _reduce_definition)
