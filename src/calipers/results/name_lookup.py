"""Lookup of names that users pass to results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any

from calipers.data.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from calipers.measures import Measure


def match_case_insensitive(name: str, candidates: Iterable[str]) -> str | None:
    """Return the name that matches exactly, or the only one that differs in case; else None."""
    names = tuple(candidates)
    if name in names:
        return name
    close_matches = [candidate for candidate in names if candidate.lower() == name.lower()]
    return close_matches[0] if len(close_matches) == 1 else None


def match_name(kind: str, name: str, candidates: Iterable[str]) -> str:
    """Return the name that is meant, however it is capitalized.

    Raises
    ------
    InputError
        If no name matches; the message lists those that exist.
    """
    names = tuple(candidates)
    match = match_case_insensitive(name, names)
    if match is not None:
        return match
    if not names:
        raise InputError(f"no {kind} {name!r}: {NO_CHARTS_MESSAGE}")
    hint = did_you_mean(name, names)
    listing = "" if hint.startswith("there are") else f" There are {', '.join(names)}."
    raise InputError(f"no {kind} {name!r}; {hint}{listing}")


#: Message if there are no names to match, as of charts.
NO_CHARTS_MESSAGE = "there is nothing to draw"


def lookup_error(message: str) -> InputError:
    """Return the error of a lookup that cannot succeed."""
    return InputError(message)


#: Display names of measures that were requested by other names than the canonical ones.
DisplayNames = Mapping[str, str]


def find_measure(
    name: str,
    candidates: Iterable[str],
    provenance: Mapping[str, Any],
    display_names: DisplayNames | None = None,
) -> str | None:
    """Return the evaluated measure that a name means, or None.

    The name is the canonical one, an alias, or one without the parameters with which all measures
    were requested, which ``provenance`` holds. With conventions of a tool it is first a name of the
    tool, and the display names are such names.

    Raises
    ------
    InputError
        If the name means two of the measures. For example, the discount of ``nDCG@5`` is the one
        with which the evaluation was requested, but another one if it is a full name.
    """
    from calipers.measures import TASKS
    from calipers.measures.definition import format_name
    from calipers.measures.tool_names import NAMES_BY_TOOL, translate_tool_name

    measures, conventions = tuple(candidates), provenance.get("conventions")
    if isinstance(conventions, Mapping) and conventions.get("conventions") in NAMES_BY_TOOL:
        tool = conventions["conventions"]
        displayed = [m for m in measures if name == (display_names or {}).get(m)]
        translated = translate_tool_name(name, tool, str(provenance.get("task")))
        if displayed:
            return displayed[0]
        if translated != name and name not in measures:
            plain = {**provenance, "conventions": {**conventions, "conventions": None}}
            return find_measure(translated, measures, plain)
    # By requested names, then by full names.
    defaults: tuple[dict[str, Any], ...] = (
        dict(conventions) if isinstance(conventions, Mapping) else {},
        {},
    )
    matches = [
        candidate
        for candidate in measures
        if name in (candidate, (display_names or {}).get(candidate))
    ]
    task = provenance.get("task") if provenance.get("task") in TASKS else None
    full_names: dict[str, str] = {}
    for parameter_defaults in defaults:
        meanings = (
            m for m in _matching_measures(name, task, parameter_defaults) if str(m) in measures
        )
        for measure in islice(meanings, 1):
            matches.append(str(measure))
            full_names[str(measure)] = format_name(
                measure, measure.definition.name, shown_parameters=defaults[0]
            )
    if not matches and task is not None:
        return find_measure(name, measures, {**provenance, "task": None})
    if len(set(matches)) > 1:
        alternatives = " or ".join(
            full_names.get(candidate, candidate) for candidate in dict.fromkeys(matches)
        )
        raise InputError(
            f"{name!r} is ambiguous: it is the requested name of one measure and the full name of "
            f"another; write {alternatives}"
        )
    return matches[0] if matches else None


def is_measure(name: str) -> bool:
    """Check whether a name denotes a measure of any task."""
    return any(True for _ in _matching_measures(name, None, {}))


def needs_classes(name: str) -> bool:
    """Check whether a name denotes a measure of clusters against classes, such as ARI."""
    statistics = (measure.definition.statistic for measure in _matching_measures(name, None, {}))
    return any(statistic.__name__ == "ContingencyTable" for statistic in statistics)


def _matching_measures(
    name: str, task: str | None, defaults: Mapping[str, Any]
) -> Iterator[Measure]:
    """Yield the measures that a name denotes in a task, or in each task if none is given."""
    from calipers.measures import TASKS, UnknownMeasureError, parse, parse_by_task

    if task is None:
        yield from parse_by_task(name, defaults=defaults)
        return
    with suppress(UnknownMeasureError):
        yield parse(name, TASKS[task], defaults)


def find_full_name(name: str, task: Any) -> Measure | None:
    """Return the measure of a task with this full name, or None."""
    from calipers.measures import TASKS, judge

    if task == judge.TASK:
        return next(iter(judge.judge_measures([name])), None)
    if task not in TASKS:
        return None
    return next((m for m in _matching_measures(name, task, {}) if str(m) == name), None)
