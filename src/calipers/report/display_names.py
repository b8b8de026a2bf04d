"""Display names of measures: results with the names by which measures were requested."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from typing import Any, TypeVar

from calipers.caching import LazySequence, cached_property
from calipers.lazy_dataclasses import dataclass
from calipers.results import (
    Comparison,
    Definition,
    Evaluation,
    Finding,
    OmnibusTest,
    PerUnit,
    Slices,
)

ShowFunction = TypeVar("ShowFunction", bound=Callable[..., Any])
Result = TypeVar("Result", Evaluation, Comparison)


def apply_display_names(show: ShowFunction) -> ShowFunction:
    """Apply display names to the result that is the first argument of a function."""

    @wraps(show)
    def wrapper(result: Any, *others: Any, **options: Any) -> Any:
        return show(use_display_names(result), *others, **options)

    return wrapper  # type: ignore[return-value]


def use_display_names(result: Result) -> Result:
    """Return the result with the names by which measures were requested.

    In JSON, tidy rows and whatever is computed from the result, names are the canonical ones.
    """
    names = result.requested_names
    if not names:
        return result
    if isinstance(result, Comparison):
        return _rename_comparison(result, names)
    return replace(
        result,
        estimates=tuple(_rename_measures(result.estimates, names)),
        comparison=result.comparison and _rename_comparison(result.comparison, names),
        definitions=tuple(_rename_definition(d, names) for d in result.definitions),
        per_unit=_rename_units(result.per_unit, names),
        slices=_rename_slices(result.slices, names),
        findings=tuple(_rename_finding(f, names) for f in result.findings),
        pareto_fronts=tuple(_rename_measures(result.pareto_fronts, names)),
        requested_names={},
    )


def _rename_measures(rows: Sequence[Any], names: Mapping[str, str]) -> list[Any]:
    return [replace(r, measure=names[r.measure]) if r.measure in names else r for r in rows]


def _rename_comparison(comparison: Comparison, names: Mapping[str, str]) -> Comparison:
    return replace(
        comparison,
        differences=tuple(_rename_measures(comparison.differences, names)),
        primary=comparison.primary and names.get(comparison.primary, comparison.primary),
        omnibus=_LazyOmnibusTests(comparison.omnibus, names),
        per_unit=_rename_units(comparison.per_unit, names),
        requested_names={},
    )


@dataclass(frozen=True, eq=False)
class _LazyOmnibusTests(LazySequence[OmnibusTest]):
    """Omnibus tests with display names, computed on first access since they take long."""

    tests: Sequence[OmnibusTest]
    names: Mapping[str, str]

    @cached_property
    def _items(self) -> Sequence[OmnibusTest]:
        return _rename_measures(self.tests, self.names)


def _rename_definition(definition: Definition, names: Mapping[str, str]) -> Definition:
    canonical_name = definition.measure
    if canonical_name not in names:
        return definition
    return replace(
        definition,
        measure=names[canonical_name],
        description=f"{definition.description}\n\nThe canonical name is ``{canonical_name}``.",
    )


def _rename_finding(finding: Finding, names: Mapping[str, str]) -> Finding:
    """Return the finding with the display names of measures in its sentence."""
    sentence = finding.message
    for canonical_name in (name for name in finding.measures if name in names):
        sentence = re.sub(
            rf"(?<![\w-]){re.escape(canonical_name)}(?![\w-])",
            names[canonical_name].replace("\\", r"\\"),
            sentence,
        )
    return replace(
        finding,
        message=sentence,
        measures=tuple(
            names.get(canonical_name, canonical_name) for canonical_name in finding.measures
        ),
    )


def _rename_slices(slices: Slices | None, names: Mapping[str, str]) -> Slices | None:
    if slices is None:
        return None

    def rename(row: Any) -> Any:
        return _rename_measures([row], names)[0]

    return replace(
        slices,
        all=tuple(
            replace(s, estimate=rename(s.estimate), vs_rest=rename(s.vs_rest)) for s in slices.all
        ),
        differences=tuple(replace(s, difference=rename(s.difference)) for s in slices.differences),
    )


def _rename_units(units: PerUnit | None, names: Mapping[str, str]) -> PerUnit | None:
    if units is None:
        return None
    fields: dict[str, Any] = {
        field: {
            system: {names.get(name, name): column for name, column in values_by_measure.items()}
            for system, values_by_measure in getattr(units, field).items()
        }
        for field in ("values", "bounds", "undefined")
    }
    return replace(units, **fields)
