"""Rules of findings: what each asks for, whom it looks at, and the loop that asks all of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from calipers.findings.words import Valued, quoted, who
from calipers.once import cached_property
from calipers.results import SEVERITIES, Finding

if TYPE_CHECKING:
    from calipers.measures import Measure
    from calipers.results import Estimate

E = TypeVar("E")
F = TypeVar("F", bound=Callable[..., "Iterator[Said]"])


@dataclass(frozen=True, slots=True)
class Said:
    """What a rule has to say, the numbers it rests on, and the measures it speaks of.

    It is of the kind, at the level and on the subject that the rule was asked of, unless others
    are given.
    """

    sentence: str
    values: Mapping[str, float | Valued]
    measures: tuple[str, ...] = ()
    level: float | None = None
    kind: str = ""
    systems: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Subject:
    """One system as rules see it; without a name, the data or the evaluation as a whole.

    ``has`` is what is known of it: a rule looks at the subjects that have something of each type
    that it needs. ``measures`` are those shown. ``estimate`` gives any measure with the interval
    that the evaluation would give it. Without ``inference`` there are no intervals, and only rules
    that count are asked. Of one ``output`` of several, measures are ``called`` otherwise where they
    are shown.
    """

    name: str | None
    level: float
    has: tuple[object, ...] = ()
    measures: tuple[Measure, ...] = ()
    estimate: Callable[[str], Estimate] | None = None
    inference: bool = True
    output: str = ""
    called: Mapping[str, str] = field(default_factory=dict)

    @property
    def who(self) -> str:
        """The system at the start of a sentence."""
        return who(self.name or "") + (f" on {quoted(self.output)}" if self.output else "")

    def get(self, kind: type[E]) -> E | None:
        """What it has of a type."""
        return next((one for one in self.has if isinstance(one, kind)), None)

    def of(self, measure: str) -> Valued:
        """The value of a measure and its interval."""
        assert self.estimate is not None
        return Valued.of(self.estimate(measure))

    @cached_property
    def shown(self) -> tuple[str, ...]:
        """The names of the measures that are shown."""
        return tuple(map(str, self.measures))

    def named(self, *measures: str) -> tuple[str, ...]:
        """Those of ``measures`` that are shown."""
        return tuple(name for name in measures if name in self.shown)


@dataclass(frozen=True, slots=True)
class Kind:
    """How grave a kind of finding is, and when it appears."""

    severity: str
    when: str


@dataclass(frozen=True, slots=True)
class Rule:
    """A function asked of the subjects that have what it ``needs``, and what it finds if it does
    not say."""

    kind: str
    says: Callable[..., Iterator[Said]]
    needs: tuple[type, ...]
    counts: bool

    def of(self, subject: Subject) -> Iterator[Finding]:
        """The findings on a subject."""
        parts = [subject.get(kind) for kind in self.needs]
        if all(part is not None for part in parts) and (self.counts or subject.inference):
            for said in self.says(subject, *parts):
                yield self._finding(said, subject)

    def _finding(self, said: Said, subject: Subject) -> Finding:
        name, values = said.kind or self.kind, said.values.items()
        pairs = {n: v for n, v in values if isinstance(v, Valued) and not math.isnan(v.low)}
        return Finding(
            kind=name,
            sentence=said.sentence,
            rule=KINDS[name].when,
            severity=KINDS[name].severity,
            systems=said.systems or (() if subject.name is None else (subject.name,)),
            measures=tuple(subject.called.get(name, name) for name in said.measures),
            numbers={n: float(v.value if isinstance(v, Valued) else v) for n, v in values},
            intervals={n: (v.low, v.high) for n, v in pairs.items()},
            level=subject.level if said.level is None else said.level,
            output=subject.output,
        )


#: Every kind of finding, by its name.
KINDS: dict[str, Kind] = {}
#: The rules by module and name of their functions, in the order in which they are asked.
RULES: dict[str, Rule] = {}


def rule(
    kind: str, severity: str, *needs: type, counts: bool = False, **words: str
) -> Callable[[F], F]:
    """Has a function asked of every subject that has something of each of the types ``needs``.

    It is called with the subject and what was found of these types, and yields what there is to
    say. Its docstring is the rule as people read it, with ``words`` and the constants of its module
    filled in. One that ``counts`` needs no interval, and is asked without inference as well. A
    function that finds several kinds is decorated for each, and names the kind; one that is defined
    again takes its place again.
    """
    if severity not in SEVERITIES:
        expected = ", ".join(SEVERITIES)
        raise ValueError(f"{kind}: severity is {severity!r}, expected one of {expected}")

    def register(says: F) -> F:
        text = " ".join((says.__doc__ or "").split())
        meant = Kind(severity, text.format(**{**says.__globals__, **words}))
        if KINDS.setdefault(kind, meant) != meant:
            raise ValueError(f"there are findings of the kind {kind!r} already, by another rule")
        RULES[f"{says.__module__}.{says.__qualname__}"] = Rule(kind, says, needs, counts)
        return says

    return register


def of(subjects: Iterable[Subject]) -> tuple[Finding, ...]:
    """The findings on all subjects, the gravest first, else subject by subject."""
    found = [f for subject in subjects for one in RULES.values() for f in one.of(subject)]
    return tuple(sorted(found, key=lambda f: SEVERITIES.index(f.severity)))
