"""The catalogue: one short definition a measure, one file a family."""

from __future__ import annotations

import sys
from types import ModuleType

from calipers.measures.definition import Definition, Measure
from calipers.measures.errors import UnknownMeasureError
from calipers.measures.families import TASKS, Family, named, register_family, register_task
from calipers.measures.names import in_each_task, parse
from calipers.measures.parameters import Domain, register_parameter
from calipers.measures.reasons import REASONS, register_reason
from calipers.measures.registration import measure
from calipers.measures.registry import definitions


def canonical_name(name: str) -> str | None:
    """The canonical spelling of a measure's name, or None when no measure answers to it."""
    return next(map(str, in_each_task(name)), None)


def catalogue(family: str | None = None) -> list[Measure]:
    """The measures of the catalogue (of one family), with an example's cutoff where one is needed.

    >>> import calipers as cal
    >>> [str(m) for m in cal.measures(family="scores")[:3]]
    ['AUC', 'AP', 'PR-AUC']
    """
    named(None if family is None else [family])
    return [d.example() for d in definitions(family)]


class _Callable(ModuleType):
    """Lets ``calipers.measures`` be both the package and the function that lists it."""

    def __call__(self, family: str | None = None) -> list[Measure]:
        return catalogue(family)


sys.modules[__name__].__class__ = _Callable


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
