"""What the best of several candidates is worth, once the choice is paid for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, SupportsIndex, overload

from calipers.results.estimate import Estimate
from calipers.results.fields import BRIEF, Level, Share
from calipers.results.tidy import NUMBER, TEXT, Tidy
from calipers.results.tuned import TunedThreshold
from calipers.results.written import Written, at_index


@dataclass(frozen=True, slots=True, eq=False)
class Candidate(Written):
    """One that could be chosen: its ``shown`` value, and the share of choices that fell on it."""

    name: str
    shown: Estimate
    chosen: Share


@dataclass(frozen=True, repr=False, eq=False)
class Selection(Written, Tidy):
    """The best of several candidates.

    ``best`` has the best value as ``shown``; that value flatters, since chance chose it as well.
    ``honest`` is what a choice made in this way is worth on rows that had no part in it, and
    ``optimism`` how much better the shown value of the best is (positive where it flatters).
    ``thresholds`` are what thresholds gain that were tuned with it.
    """

    DERIVED: ClassVar[tuple[str, ...]] = ("sentence",)

    measure: str
    candidates: tuple[Candidate, ...]
    best: str
    honest: Estimate
    optimism: Estimate
    level: Level
    higher_is_better: bool
    notes: tuple[str, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)
    thresholds: tuple[TunedThreshold, ...] = field(default=(), metadata=BRIEF)

    @property
    def sentence(self) -> str:
        """What it comes to, for people."""
        from calipers.report.selection import sentence

        return sentence(self)

    def __iter__(self) -> Iterator[Candidate]:
        return iter(self.candidates)

    def __len__(self) -> int:
        return len(self.candidates)

    @overload
    def __getitem__(self, key: str | SupportsIndex) -> Candidate: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[Candidate, ...]: ...
    def __getitem__(self, key: str | SupportsIndex | slice) -> Candidate | tuple[Candidate, ...]:
        """The candidate of a name, or as in a list of all of them, ``[0]``."""
        if not isinstance(key, str):
            return at_index(self.candidates, key, "a candidate's name, or an index")
        for one in self.candidates:
            if one.name == key:
                return one
        there = ", ".join(one.name for one in self.candidates)
        raise KeyError(f"{key!r} is not here; candidates: {there}")

    def inconsistencies(self) -> Iterator[tuple[str, str]]:
        """Names that stand twice, and a best one that is not there."""
        names = [one.name for one in self.candidates]
        if len(set(names)) < len(names):
            yield "candidates", "two have the same name"
        if self.best not in names:
            yield "best", f"is {self.best!r}, expected one of the candidates"

    def kinds(self) -> dict[str, str]:
        """The columns of :meth:`rows`, and what each holds."""
        return {"candidate": TEXT, **dict.fromkeys(("value", "low", "high", "chosen"), NUMBER)}

    def rows(self) -> list[dict[str, Any]]:
        """A row a candidate: its value as shown, and the share of choices that fell on it."""
        return [
            {
                "candidate": one.name,
                "value": one.shown.value,
                "low": one.shown.low,
                "high": one.shown.high,
                "chosen": one.chosen,
            }
            for one in self.candidates
        ]

    def to_text(self) -> str:
        """The table, the sentences and the notes."""
        return self.to_format("table")

    def to_markdown(self) -> str:
        """The sentences, the table and the notes as GitHub-flavoured Markdown."""
        return self.to_format("markdown").rstrip()

    def __str__(self) -> str:
        return self.to_text()

    __repr__ = __str__
