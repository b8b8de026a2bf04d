"""Lookup of names that users pass to results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any

from calipers.data.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from calipers.measures import Measure


def match_case_insensitive(name: str, there: Iterable[str]) -> str | None:
    """Return the name that matches exactly, or the only one that differs in case; else None."""
    names = tuple(there)
    if name in names:
        return name
    close = [own for own in names if own.lower() == name.lower()]
    return close[0] if len(close) == 1 else None


def match_name(what: str, name: str, there: Iterable[str]) -> str:
    """Return the name that is meant, however it is capitalized.

    Raises
    ------
    InputError
        If no name matches; the message lists those that exist.
    """
    names = tuple(there)
    found = match_case_insensitive(name, names)
    if found is not None:
        return found
    if not names:
        raise InputError(f"no {what} {name!r}: {NOTHING}")
    hint = did_you_mean(name, names)
    there_are = "" if hint.startswith("there are") else f" There are {', '.join(names)}."
    raise InputError(f"no {what} {name!r}; {hint}{there_are}")


#: What is said of a chart of nothing.
NOTHING = "there is nothing to draw"


def lookup_error(message: str) -> InputError:
    """Return the error of a lookup that cannot succeed."""
    return InputError(message)


#: What measures are called that people asked for by other names than the canonical ones.
Shown = Mapping[str, str]


def find_measure(
    name: str, there: Iterable[str], provenance: Mapping[str, Any], shown: Shown | None = None
) -> str | None:
    """Return the evaluated measure that a name means, or None.

    The name is the canonical one, an alias, or one without the parameters with which all measures
    were requested, which ``provenance`` holds.

    Raises
    ------
    InputError
        If the name means two of the measures. For example, the discount of ``nDCG@5`` is the one
        with which the evaluation was requested, but another one if it is a full name.
    """
    from calipers.measures import TASKS
    from calipers.measures.definition import format_name

    measures, conventions = tuple(there), provenance.get("conventions")
    # As they were asked for, then as full names.
    defaults: tuple[dict[str, Any], ...] = (
        dict(conventions) if isinstance(conventions, Mapping) else {},
        {},
    )
    found = [one for one in measures if name in (one, (shown or {}).get(one))]
    own = provenance.get("task") if provenance.get("task") in TASKS else None
    full: dict[str, str] = {}
    for given in defaults:
        meant_by = (m for m in _meanings(name, own, given) if str(m) in measures)
        for measure in islice(meant_by, 1):
            found.append(str(measure))
            full[str(measure)] = format_name(measure, measure.definition.name, stating=defaults[0])
    if not found and own is not None:
        return find_measure(name, measures, {**provenance, "task": None})
    if len(set(found)) > 1:
        written = " or ".join(full.get(one, one) for one in dict.fromkeys(found))
        raise InputError(
            f"{name!r} means two of the measures, one as they were asked for and one by its full "
            f"name; write {written}"
        )
    return found[0] if found else None


def is_measure(name: str) -> bool:
    """Check whether a name denotes a measure of any task."""
    return any(True for _ in _meanings(name, None, {}))


def _meanings(name: str, task: str | None, defaults: Mapping[str, Any]) -> Iterator[Measure]:
    """Yield the measures that a name denotes in a task, or in each task if none is given."""
    from calipers.measures import TASKS, UnknownMeasureError, parse, parse_by_task

    if task is None:
        yield from parse_by_task(name, defaults=defaults)
        return
    with suppress(UnknownMeasureError):
        yield parse(name, TASKS[task], defaults)
