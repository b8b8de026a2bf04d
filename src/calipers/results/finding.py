"""What a report says beside the numbers: what measures mean, and what was found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from calipers.results.serialization import BRIEF, Choices, JsonSerializable, Level


@dataclass(frozen=True, slots=True)
class Definition(JsonSerializable):
    """What a measure means, as printed in a report's glossary."""

    measure: str
    title: str
    description: str
    higher_is_better: bool | None
    range: tuple[float | None, float | None]
    undefined: Mapping[str, str] = field(default_factory=dict)
    reference: str = ""


#: How much a finding matters, the gravest first.
SEVERITIES = ("warning", "caution", "information")


@dataclass(frozen=True, slots=True)
class Finding(JsonSerializable):
    """What the numbers mean, as a statistician would say it; present only where ``rule`` holds.

    ``sentence`` is for people. ``numbers`` are those it rests on and ``intervals`` the limits of
    those that have any, at ``level``. ``measures`` name the definitions that it speaks of, and
    ``systems`` whom it is about; none where it is about the data. ``output`` is the one of several
    numbers a row that it is about, ``about`` a class, a column of slices or a direction. A finding
    that rests on a test has its ``adjusted p`` among the numbers: the p-value, adjusted for all
    tests of findings of the evaluation. Evaluations list the gravest findings first. The page
    ``docs/findings.md`` has a section for each ``kind``.
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
    about: str = field(default="", metadata=BRIEF)

    def __str__(self) -> str:
        return self.message

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from calipers.report.notebook_fragments import finding

        return finding(self)
