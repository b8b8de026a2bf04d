"""Catalogue of measures: one short definition per measure, one module per family."""

from __future__ import annotations

import sys
from types import ModuleType

from calipers.lazy_imports import TYPE_CHECKING, lazy_getattr

# A package that imported its own modules would be in a circle with them, which threads that import
# different ones at once cannot get through.
if TYPE_CHECKING:
    from calipers.measures.definition import Definition, Measure
    from calipers.measures.errors import UnknownMeasureError
    from calipers.measures.families import TASKS, Family, register_family, register_task
    from calipers.measures.name_parsing import canonical_name, list_measures, parse, parse_by_task
    from calipers.measures.parameters import ParameterDomain, register_parameter
    from calipers.measures.registration import measure
    from calipers.measures.registry import definitions
    from calipers.measures.undefined_reasons import REASONS, register_reason

_HOMES = {
    "definition": "Definition, Measure",
    "errors": "UnknownMeasureError",
    "families": "TASKS, Family, register_family, register_task",
    "name_parsing": "canonical_name, list_measures, parse_by_task, parse",
    "parameters": "ParameterDomain, register_parameter",
    "registration": "measure",
    "registry": "definitions",
    "undefined_reasons": "REASONS, register_reason",
}

__all__ = [
    "REASONS",
    "TASKS",
    "Definition",
    "Family",
    "Measure",
    "ParameterDomain",
    "UnknownMeasureError",
    "canonical_name",
    "definitions",
    "list_measures",
    "measure",
    "parse",
    "parse_by_task",
    "register_family",
    "register_parameter",
    "register_reason",
    "register_task",
]

if not TYPE_CHECKING:  # type checkers know the names from above, and find misspelt ones
    __getattr__ = lazy_getattr(__name__, _HOMES)


class _Callable(ModuleType):
    """Module type that makes ``calipers.measures`` the package and the function that lists it."""

    def __call__(self, family: str | None = None) -> list[Measure]:
        from calipers.measures.name_parsing import list_measures

        return list_measures(family)


sys.modules[__name__].__class__ = _Callable
