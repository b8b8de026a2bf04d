"""The catalogue: one short definition a measure, one file a family."""

from __future__ import annotations

import sys
from types import ModuleType

from calipers.lazy_imports import TYPE_CHECKING, loading

# A package that imported its own modules would be in a circle with them, which threads that import
# different ones at once cannot get through.
if TYPE_CHECKING:
    from calipers.measures.definition import Definition, Measure
    from calipers.measures.errors import UnknownMeasureError
    from calipers.measures.families import TASKS, Family, register_family, register_task
    from calipers.measures.name_parsing import canonical_name, catalogue, in_each_task, parse
    from calipers.measures.parameters import Domain, register_parameter
    from calipers.measures.registration import measure
    from calipers.measures.registry import definitions
    from calipers.measures.undefined_reasons import REASONS, register_reason

_HOMES = {
    "definition": "Definition, Measure",
    "errors": "UnknownMeasureError",
    "families": "TASKS, Family, register_family, register_task",
    "name_parsing": "canonical_name, catalogue, in_each_task, parse",
    "parameters": "Domain, register_parameter",
    "registration": "measure",
    "registry": "definitions",
    "undefined_reasons": "REASONS, register_reason",
}

__all__ = [
    "REASONS",
    "TASKS",
    "Definition",
    "Domain",
    "Family",
    "Measure",
    "UnknownMeasureError",
    "canonical_name",
    "catalogue",
    "definitions",
    "in_each_task",
    "measure",
    "parse",
    "register_family",
    "register_parameter",
    "register_reason",
    "register_task",
]

if not TYPE_CHECKING:  # type checkers know the names from above, and find misspelt ones
    __getattr__ = loading(__name__, _HOMES)


class _Callable(ModuleType):
    """Lets ``calipers.measures`` be both the package and the function that lists it."""

    def __call__(self, family: str | None = None) -> list[Measure]:
        from calipers.measures.name_parsing import catalogue

        return catalogue(family)


sys.modules[__name__].__class__ = _Callable
