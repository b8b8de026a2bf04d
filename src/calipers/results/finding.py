"""Findings on the results, and definitions of measures, as reports print them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Annotated, Any

from calipers.lazy_dataclasses import dataclass
from calipers.results.name_lookup import find_full_name
from calipers.results.serialization import BRIEF, Choices, JsonSerializable, Level

if TYPE_CHECKING:
    from calipers.measures import Measure


@dataclass(frozen=True, slots=True)
class Definition(JsonSerializable):
    """Definition of a measure, as printed in the glossary of a report.

    Attributes
    ----------
    measure : str
        Name of the measure.
    title : str
        Title.
    description : str
        Description, with the formula.
    higher_is_better : bool or None
        Direction of the measure, or None if it has none.
    range : tuple of float or None
        Smallest and largest possible value; None where there is no bound.
    undefined : mapping of str to str
        Reasons for undefined values and their explanations.
    reference : str
        Literature reference.
    """

    measure: str
    title: str
    description: str
    higher_is_better: bool | None
    range: tuple[float | None, float | None]
    undefined: Mapping[str, str] = field(default_factory=dict)
    reference: str = ""


def define_measure(measure: Measure) -> Definition:
    """Return the definition of a measure, as reports print it."""
    low, high = (None if math.isinf(end) else float(end) for end in measure.definition.range)
    return Definition(
        measure=str(measure),
        title=measure.title,
        description=measure.description,
        higher_is_better=measure.definition.higher_is_better,
        range=(low, high),
        undefined=measure.meanings,
        reference=measure.definition.reference,
    )


def find_definition(name: str, task: Any) -> Definition | None:
    """Return the definition of the measure of a task with this full name, or None."""
    measure = find_full_name(name, task)
    return None if measure is None else define_measure(measure)


#: Severities of findings, the most severe first.
SEVERITIES = ("warning", "caution", "information")


@dataclass(frozen=True, slots=True)
class Finding(JsonSerializable):
    """Statistical finding: a claim about the results that meets its criterion.

    Evaluations list the most severe findings first. The page ``docs/findings.md`` has a section for
    each ``kind``. If a finding is based on a test, ``values`` contains the ``adjusted p``: the
    p-value, adjusted for all tests of findings of the evaluation.

    Attributes
    ----------
    kind : str
        Kind of the finding.
    message : str
        Message to the reader.
    criterion : str
        Criterion that the data meet; without it there would be no finding.
    severity : {"warning", "caution", "information"}
        Severity of the finding.
    systems : tuple of str
        Systems that the finding is about; empty if it is about the data.
    measures : tuple of str
        Measures that it refers to.
    values : mapping of str to float
        Values that the finding is based on.
    intervals : mapping of str to tuple of float
        Confidence limits, at ``level``, of those values that have any.
    level : float, default=0.95
        Confidence level.
    output : str
        Output that the finding is about, if there are several for each row.
    aspect : str
        Class, column of slices or direction that it is about.
    """

    kind: str
    message: str
    criterion: str
    severity: Annotated[str, Choices(SEVERITIES)] = "information"
    systems: tuple[str, ...] = ()
    measures: tuple[str, ...] = ()
    values: Mapping[str, float] = field(default_factory=dict)
    intervals: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    level: Level = 0.95
    output: str = field(default="", metadata=BRIEF)
    aspect: str = field(default="", metadata=BRIEF)

    def __str__(self) -> str:
        from calipers.report.safe_names import escape_unprintable

        return escape_unprintable(self.message)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from calipers.report.notebook_fragments import finding_fragment

        return finding_fragment(self)
