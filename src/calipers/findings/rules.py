"""Rules of findings: what each asks for, whom it looks at, and the loop that asks all of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from calipers import plugins
from calipers.caching import cached_property
from calipers.findings.formatting import IntervalNumber, quoted, system_name
from calipers.inference import intervals
from calipers.plugins import NameTakenError
from calipers.results import SEVERITIES, Finding

if TYPE_CHECKING:
    from calipers.measures import Measure
    from calipers.results import Estimate

E = TypeVar("E")
F = TypeVar("F", bound=Callable[..., "Iterator[FindingDraft | Claim]"])

#: The number of a finding that says how sure it is: the p-value of its test, adjusted for all tests
#: of its rule (Holm) and for the rules that made any (Bonferroni).
ADJUSTED_P = "adjusted p"
#: No p-value is smaller than this.
_LEAST_P = 1e-12


#: What a rule reads, and how its work grows with the n rows (topics, items, points) and the d
#: distinct scores among them. All that is counted of clustered rows is added up by cluster and cell
#: once for all rules of a system.
COSTS: Mapping[str, str] = {
    "results": "O(1)",  # estimates, comparisons, slices: as they were computed
    "sums": "O(1)",  # what is added up over rows, such as the cells of a matrix
    "some rows": "O(1)",  # no more than a fixed number of them
    "scores": "O(d)",
    "rows": "O(n)",
    "sorted rows": "O(n log n)",
    "replicates": "O(B n)",  # where nothing else answers what was asked for
}
#: What rows cost, of which some may stand for all.
_OF_ROWS = ("O(n)", "O(n log n)")


@dataclass(frozen=True, slots=True)
class FindingDraft:
    """What a rule has to say, the numbers it rests on, and the measures it speaks of.

    It is of the kind, at the level and on the subject that the rule was asked of, unless others
    are given. ``about`` says what of the subject it is about (a class, a column of slices, in which
    direction): reports put together what a rule says of several systems only where that is the
    same. It may be ``of_all_rows`` where rules look at some of them.
    """

    sentence: str
    values: Mapping[str, float | IntervalNumber]
    measures: tuple[str, ...] = ()
    level: float | None = None
    kind: str = ""
    systems: tuple[str, ...] = ()
    about: str = ""
    of_all_rows: bool = False


@dataclass(frozen=True, slots=True)
class Claim:
    """A test that a rule made: what it ``says`` if the p-value is small enough for a page on which
    other rules and systems are tested as well, and what it says ``otherwise``.

    A rule yields one for every hypothesis that it tests, whatever comes out: p = 1 where an effect
    is too small to be worth saying. NaN is no test.
    """

    p: float
    says: Callable[[], FindingDraft] | None = None
    otherwise: Callable[[], FindingDraft] | None = None


def p_of_level(speaks: Callable[[float], bool], level: float) -> float:
    """The one-sided p-value of a rule that ``speaks`` or not by limits on one side of intervals of
    a level: half of 1 minus the highest level at which it does, and 1 where it does not at
    ``level``, so that no finding contradicts the interval that it shows."""
    if not speaks(level):
        return 1.0
    low, high = math.log(_LEAST_P), math.log(1 - level)
    if speaks(1 - _LEAST_P):
        return _LEAST_P / 2
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (low, middle) if speaks(1 - math.exp(middle)) else (middle, high)
    return math.exp(high) / 2


def p_of_limits(of: IntervalNumber, at: float, level: float) -> float:
    """The two-sided p-value of a number against the value ``at``, as if its interval were normal on
    that side; 1 where the interval contains it, NaN where there is none."""
    if math.isnan(of.low):
        return math.nan
    if of.low <= at <= of.high:
        return 1.0
    half = of.value - of.low if at < of.low else of.high - of.value
    z = math.inf if half <= 0 else intervals.z_of(level) * abs(of.value - at) / half
    return max(_LEAST_P, math.erfc(z / math.sqrt(2)))


def p_of_mean(mean: float, se: float, degrees: float) -> float:
    """The two-sided p-value of Student's test that a mean is 0; 1 where its error or the degrees of
    freedom are not above 0."""
    from scipy.special import stdtr

    return float(2 * stdtr(degrees, -abs(mean) / se)) if se > 0 and degrees > 0 else 1.0


@dataclass(frozen=True, eq=False)
class Subject:
    """One system as rules see it; without a name, the data or the evaluation as a whole.

    ``has`` is what is known of it: a rule looks at the subjects that have something of each type
    that it needs. ``measures`` are those shown. ``estimate`` gives any measure with the interval
    that the evaluation would give it, ``at_level`` the same at another level. Without ``inference``
    there are no intervals, and only rules that count are asked. Of one ``output`` of several,
    measures are ``called`` otherwise where they are shown. Where rules look at some of many rows,
    ``looked_at`` says at how many.
    """

    name: str | None
    level: float
    has: tuple[object, ...] = ()
    measures: tuple[Measure, ...] = ()
    estimate: Callable[[str], Estimate] | None = None
    inference: bool = True
    output: str = ""
    called: Mapping[str, str] = field(default_factory=dict)
    at_level: Callable[[str, float], IntervalNumber] | None = None
    looked_at: str = ""

    @property
    def who(self) -> str:
        """The system at the start of a sentence."""
        return system_name(self.name or "") + (f" on {quoted(self.output)}" if self.output else "")

    def get(self, kind: type[E]) -> E | None:
        """What it has of a type."""
        return next((one for one in self.has if isinstance(one, kind)), None)

    def of(self, measure: str) -> IntervalNumber:
        """The value of a measure and its interval."""
        assert self.estimate is not None
        return IntervalNumber.of(self.estimate(measure))

    def p(self, measure: str, at: float) -> float:
        """The two-sided p-value of a measure's value against the value ``at``: by the level at
        which its interval just reaches it. Of replicates, whose tails end, as if they were
        normal."""
        found = self.of(measure)
        if math.isnan(found.low):
            return math.nan
        of_level = self.at_level
        if of_level is None or _is_replicated(self.estimate(measure).method):  # type: ignore[misc]
            return p_of_limits(found, at, self.level)

        # Of two sides.
        def excludes(level: float) -> bool:
            other = of_level(measure, level)
            return other.low > at or other.high < at

        return min(1.0, 2 * p_of_level(excludes, self.level))

    @cached_property
    def shown(self) -> tuple[str, ...]:
        """The names of the measures that are shown."""
        return tuple(map(str, self.measures))

    def named(self, *measures: str) -> tuple[str, ...]:
        """Those of ``measures`` that are shown."""
        return tuple(name for name in measures if name in self.shown)


@dataclass(frozen=True, slots=True)
class FindingKind:
    """How grave a kind of finding is, and when it appears."""

    severity: str
    when: str


@dataclass(frozen=True, slots=True)
class Rule:
    """A function asked of the subjects that have what it ``needs``, and what it finds if it does
    not say; at a ``cost`` of :data:`COSTS`."""

    kind: str
    says: Callable[..., Iterator[FindingDraft | Claim]]
    needs: tuple[type, ...]
    counts: bool
    cost: str

    def asked(self, subject: Subject) -> Iterator[FindingDraft | Claim]:
        """What it says of a subject, and what it has tested."""
        parts = [subject.get(kind) for kind in self.needs]
        if all(part is not None for part in parts) and (self.counts or subject.inference):
            yield from self.says(subject, *parts)

    def of(self, subject: Subject) -> Iterator[Finding]:
        """The findings on a subject, were this the only rule and the only subject."""
        yield from _decided([(subject, self)])

    def finding(self, said: FindingDraft, subject: Subject, p: float = math.nan) -> Finding:
        """What it says as a result; ``p`` is the adjusted p-value of a claim."""
        adjusted = {} if math.isnan(p) else {ADJUSTED_P: p}
        name, values = said.kind or self.kind, {**said.values, **adjusted}.items()
        some = subject.looked_at if COSTS[self.cost] in _OF_ROWS and not said.of_all_rows else ""
        pairs = {n: v for n, v in values if isinstance(v, IntervalNumber) and not math.isnan(v.low)}
        return Finding(
            kind=name,
            sentence=f"{said.sentence} Estimated from {some}." if some else said.sentence,
            rule=KINDS[name].when,
            severity=KINDS[name].severity,
            systems=said.systems or (() if subject.name is None else (subject.name,)),
            measures=tuple(subject.called.get(name, name) for name in said.measures),
            numbers={n: float(v.value if isinstance(v, IntervalNumber) else v) for n, v in values},
            intervals={n: (v.low, v.high) for n, v in pairs.items()},
            level=subject.level if said.level is None else said.level,
            output=subject.output,
            about=said.about,
        )


#: Every kind of finding, by its name.
KINDS: dict[str, FindingKind] = {}
#: The rules by module and name of their functions, in the order in which they are asked.
RULES: dict[str, Rule] = {}


def rule(
    kind: str, severity: str, *needs: type, cost: str, counts: bool = False, **words: str
) -> Callable[[F], F]:
    """Has a function asked of every subject that has something of each of the types ``needs``.

    It is called with the subject and what was found of these types, and yields what there is to
    say. ``cost`` is what it reads, one of :data:`COSTS`: findings together cost less than what they
    speak of, so a rule takes sums and closed forms where there are any, and draws nothing. Its
    docstring is the rule as people read it, with ``words`` and the constants of its module filled
    in. One that ``counts`` needs no interval, and is asked without inference as well. A function
    that finds several kinds is decorated for each, and names the kind; one that is defined again
    takes its place again.
    """
    if severity not in SEVERITIES:
        expected = ", ".join(SEVERITIES)
        raise ValueError(f"{kind}: severity is {severity!r}, expected one of {expected}")
    if cost not in COSTS:
        raise ValueError(f"{kind}: cost is {cost!r}, expected one of {', '.join(COSTS)}")

    def register(says: F) -> F:
        text = " ".join((says.__doc__ or "").split())
        meant = FindingKind(severity, text.format(**{**says.__globals__, **words}))
        if KINDS.setdefault(kind, meant) != meant:
            raise NameTakenError(
                f"there are findings of the kind {kind!r} already, by another rule"
            )
        RULES[f"{says.__module__}.{says.__qualname__}"] = Rule(kind, says, needs, counts, cost)
        return says

    return register


def find_all(subjects: Iterable[Subject]) -> tuple[Finding, ...]:
    """The findings on all subjects, the gravest first, else subject by subject.

    All that is claimed on a page is wrong with the probability 1 − level at most: of R rules that
    test anything on it each has (1 − level)/R, and Holm's adjustment holds within a rule, over its
    systems, outputs and classes.
    """
    plugins.load("calipers.findings")
    pairs = [(subject, rule) for subject in subjects for rule in RULES.values()]
    return tuple(sorted(_decided(pairs), key=lambda f: SEVERITIES.index(f.severity)))


def _decided(pairs: Iterable[tuple[Subject, Rule]]) -> Iterator[Finding]:
    """What rules say of subjects, their claims decided together."""
    answers = [(subject, rule, one) for subject, rule in pairs for one in rule.asked(subject)]
    # Two functions of one kind test the same of different systems: they share its part.
    tested: dict[str, dict[int, float]] = {}
    for index, (_, rule, one) in enumerate(answers):
        if isinstance(one, Claim) and not math.isnan(one.p):
            tested.setdefault(rule.kind, {})[index] = one.p
    adjusted: dict[int, float] = {}
    for p_values in tested.values():
        from calipers.inference.multiplicity import holm

        p = len(tested) * holm(np.array(list(p_values.values())))
        adjusted |= zip(p_values, np.minimum(1.0, p).tolist(), strict=True)
    for index, (subject, rule, one) in enumerate(answers):
        if isinstance(one, FindingDraft):
            yield rule.finding(one, subject)
        elif one.says is not None and adjusted.get(index, 1.0) <= 1 - subject.level:
            yield rule.finding(one.says(), subject, adjusted[index])
        elif one.otherwise is not None:
            yield rule.finding(one.otherwise(), subject)


def _is_replicated(method: str) -> bool:
    """Whether limits come from so many replicates, of which the tails are soon at an end."""
    return any(word in method for word in ("[B]", "bootstrap", "Jeffreys,", "Dirichlet"))
