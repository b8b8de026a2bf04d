"""Rules of findings: the registry, the subjects that rules apply to, and their evaluation."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import field
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from calipers import plugins
from calipers.caching import cached_property
from calipers.findings.formatting import IntervalNumber, quote, system_name, system_subject
from calipers.inference import intervals
from calipers.lazy_dataclasses import dataclass
from calipers.plugins import NameTakenError
from calipers.results import SEVERITIES, Finding

if TYPE_CHECKING:
    from calipers.measures import Measure
    from calipers.results import Estimate

E = TypeVar("E")
F = TypeVar("F", bound=Callable[..., "Iterator[FindingDraft | Claim]"])

#: The name of the p-value of a finding, adjusted for all tests of its rule (Holm) and for the
#: number of rules with tests (Bonferroni).
ADJUSTED_P = "adjusted p"
#: The smallest p-value.
_MIN_P = 1e-12


#: The data that a rule uses, and its complexity in the numbers of rows (topics, items, points), n,
#: and of distinct scores, d. Sums over clusters are computed once and shared by the rules.
COSTS: Mapping[str, str] = {
    "results": "O(1)",  # estimates, comparisons and slices that have been computed
    "sums": "O(1)",  # sums over rows, such as the cells of a matrix
    "some rows": "O(1)",  # at most a fixed number of rows
    "scores": "O(d)",
    "rows": "O(n)",
    "sorted rows": "O(n log n)",
    "replicates": "O(B n)",  # only if there is no closed form
}
#: The complexities of rules that may be applied to a sample of the rows.
_ROW_COSTS = ("O(n)", "O(n log n)")


@dataclass(frozen=True, slots=True)
class FindingDraft:
    """Sentence of a finding, its values, and the measures that it refers to.

    Parameters
    ----------
    sentence : str
        Message of the finding.
    values : mapping of str to float or IntervalNumber
        Values of the finding by name.
    measures : tuple of str, default=()
        Names of the measures.
    level : float, optional
        Confidence level. By default that of the subject.
    kind : str, default=""
        Kind of the finding. By default that of the rule.
    systems : tuple of str, default=()
        Systems that the finding is about. By default the subject.
    aspect : str, default=""
        Aspect of the subject: a class, a column of slices, a direction. Reports combine findings on
        several systems only if it is the same.
    of_all_rows : bool, default=False
        Whether the finding uses all rows even if rules are applied to a sample.
    sample_note : str, default=""
        Phrase that states the size of the sample, if the rule itself takes one.
    """

    sentence: str
    values: Mapping[str, float | IntervalNumber]
    measures: tuple[str, ...] = ()
    level: float | None = None
    kind: str = ""
    systems: tuple[str, ...] = ()
    aspect: str = ""
    of_all_rows: bool = False
    sample_note: str = ""


@dataclass(frozen=True, slots=True)
class Claim:
    """Test of a rule, with the finding for a small adjusted p-value and the one ``otherwise``.

    A rule yields a claim for every hypothesis that it tests.

    Parameters
    ----------
    p : float
        P-value of the test; 1 if the effect is too small to be reported, NaN if no test was made.
    says : callable, optional
        Function that makes the finding for a significant test.
    otherwise : callable, optional
        Function that makes the finding for a test that is not significant.
    """

    p: float
    says: Callable[[], FindingDraft] | None = None
    otherwise: Callable[[], FindingDraft] | None = None


def p_from_intervals(is_supported: Callable[[float], bool], level: float) -> float:
    """Invert intervals into a one-sided p-value.

    ``is_supported`` returns whether the limit of the interval of a level supports the claim. The
    p-value is half of 1 minus the highest level that does; it is 1 if ``level`` does not, so that
    no finding contradicts the interval that it shows.
    """
    if not is_supported(level):
        return 1.0
    low, high = math.log(_MIN_P), math.log(1 - level)
    if is_supported(1 - _MIN_P):
        return _MIN_P / 2
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (low, middle) if is_supported(1 - math.exp(middle)) else (middle, high)
    return math.exp(high) / 2


def p_from_interval(estimate: IntervalNumber, value: float, level: float) -> float:
    """Compute the two-sided p-value of an estimate against the value ``value``.

    The interval is taken as normal on that side. The p-value is 1 if the interval contains the
    value, and NaN without an interval.
    """
    if math.isnan(estimate.low):
        return math.nan
    if estimate.low <= value <= estimate.high:
        return 1.0
    half_width = (
        estimate.value - estimate.low if value < estimate.low else estimate.high - estimate.value
    )
    z = (
        math.inf
        if half_width <= 0
        else intervals.normal_quantile(level) * abs(estimate.value - value) / half_width
    )
    return max(_MIN_P, math.erfc(z / math.sqrt(2)))


def t_test_p_value(mean: float, se: float, df: float) -> float:
    """Compute the two-sided p-value of Student's test that a mean is 0.

    It is 1 unless the standard error and the degrees of freedom are positive.
    """
    from scipy.special import stdtr

    return float(2 * stdtr(df, -abs(mean) / se)) if se > 0 and df > 0 else 1.0


@dataclass(frozen=True, eq=False)
class Subject:
    """System that rules are applied to; without a name, the data or the whole evaluation.

    Parameters
    ----------
    name : str or None
        Name of the system.
    level : float
        Confidence level.
    data : tuple of object, default=()
        Data of the subject. A rule is applied to the subjects that have an object of each type that
        it needs.
    measures : tuple of Measure, default=()
        Reported measures.
    compute_estimate : callable, optional
        Function that returns any measure with the interval of the evaluation.
    has_inference : bool, default=True
        Whether there are intervals. Otherwise only rules that count are applied.
    output : str, default=""
        Name of one of several outputs.
    display_names : mapping of str to str
        Display names of the measures of the output.
    compute_at_level : callable, optional
        Function that returns a measure with an interval at another level.
    sample_note : str, default=""
        Description of the sample of rows, if not all rows are used.
    """

    name: str | None
    level: float
    data: tuple[object, ...] = ()
    measures: tuple[Measure, ...] = ()
    compute_estimate: Callable[[str], Estimate] | None = None
    has_inference: bool = True
    output: str = ""
    display_names: Mapping[str, str] = field(default_factory=dict)
    compute_at_level: Callable[[str, float], IntervalNumber] | None = None
    sample_note: str = ""

    @property
    def title(self) -> str:
        """Name of the system as the subject of a sentence."""
        return system_subject(self.name or "") + self._output_text

    @property
    def name_in_sentence(self) -> str:
        """Name of the system within a sentence."""
        return system_name(self.name or "") + self._output_text

    @property
    def _output_text(self) -> str:
        return f" on {quote(self.output)}" if self.output else ""

    def get(self, kind: type[E]) -> E | None:
        """Return the data of a type.

        Parameters
        ----------
        kind : type
            Type of the data.

        Returns
        -------
        object or None
            First object of this type in ``data``, or None if there is none.
        """
        return next((item for item in self.data if isinstance(item, kind)), None)

    def get_estimate(self, measure: str) -> IntervalNumber:
        """Return the estimate of a measure with its interval.

        Parameters
        ----------
        measure : str
            Name of the measure, which need not be reported.

        Returns
        -------
        IntervalNumber
            Value with the limits at ``level``.
        """
        assert self.compute_estimate is not None
        return IntervalNumber.from_estimate(self.compute_estimate(measure))

    def p(self, measure: str, value: float) -> float:
        """Compute the two-sided p-value of a measure against the value ``value``.

        It is 1 minus the level at which the interval just reaches the value. Distributions of
        replicates have short tails and are taken as normal.

        Parameters
        ----------
        measure : str
            Name of the measure.
        value : float
            Value under the null hypothesis.

        Returns
        -------
        float
            The p-value; NaN if the estimate has no interval.
        """
        estimate = self.get_estimate(measure)
        if math.isnan(estimate.low):
            return math.nan
        compute_at_level = self.compute_at_level
        if compute_at_level is None or _is_replicated(self.compute_estimate(measure).method):  # type: ignore[misc]
            return p_from_interval(estimate, value, self.level)

        # Two-sided.
        def excludes(level: float) -> bool:
            interval = compute_at_level(measure, level)
            return interval.low > value or interval.high < value

        return min(1.0, 2 * p_from_intervals(excludes, self.level))

    @cached_property
    def shown_measures(self) -> tuple[str, ...]:
        """Names of the reported measures."""
        return tuple(map(str, self.measures))

    def shown_among(self, *measures: str) -> tuple[str, ...]:
        """Return those of ``measures`` that are reported.

        Parameters
        ----------
        *measures : str
            Names of measures.

        Returns
        -------
        tuple of str
            Names of those that are reported, in the given order.
        """
        return tuple(name for name in measures if name in self.shown_measures)


@dataclass(frozen=True, slots=True)
class FindingKind:
    """Severity of a kind of finding, and the criterion by which it appears.

    Parameters
    ----------
    severity : str
        ``"warning"``, ``"caution"`` or ``"information"``.
    criterion : str
        Criterion.
    """

    severity: str
    criterion: str


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """Function that is applied to subjects with the data that it needs.

    Parameters
    ----------
    kind : str
        Default kind of its findings.
    function : callable
        Function of a subject and its data that yields findings and claims.
    needs : tuple of type
        Types of the data.
    counts : bool
        Whether the rule needs no intervals.
    cost : str
        One of :data:`COSTS`.
    """

    kind: str
    function: Callable[..., Iterator[FindingDraft | Claim]]
    needs: tuple[type, ...]
    counts: bool
    cost: str

    def apply(self, subject: Subject) -> Iterator[FindingDraft | Claim]:
        """Yield the findings on a subject, and the tests made.

        Parameters
        ----------
        subject : Subject
            System, or the data, that the rule is applied to.

        Yields
        ------
        FindingDraft or Claim
            Findings that need no test, and a claim for each tested hypothesis. Nothing is yielded
            if the subject lacks data that the rule needs.
        """
        inputs = [subject.get(kind) for kind in self.needs]
        if all(value is not None for value in inputs) and (self.counts or subject.has_inference):
            yield from self.function(subject, *inputs)

    def findings(self, subject: Subject) -> Iterator[Finding]:
        """Yield the findings on a subject, as if this were the only rule and the only subject.

        Parameters
        ----------
        subject : Subject
            System, or the data, that the rule is applied to.

        Yields
        ------
        Finding
            Findings, with p-values that are adjusted for the tests of this rule only.
        """
        yield from _decide_claims([(subject, self)])

    def finding(self, draft: FindingDraft, subject: Subject, p: float = math.nan) -> Finding:
        """Return the finding of a draft.

        Parameters
        ----------
        draft : FindingDraft
            Sentence and values of the finding.
        subject : Subject
            System, or the data, that the rule is applied to.
        p : float, optional
            Adjusted p-value of a claim. By default the finding is not based on a test.

        Returns
        -------
        Finding
            Finding with its criterion, severity and confidence limits.
        """
        adjusted = {} if math.isnan(p) else {ADJUSTED_P: p}
        name, values = draft.kind or self.kind, {**draft.values, **adjusted}.items()
        sample = draft.sample_note
        if COSTS[self.cost] in _ROW_COSTS and not draft.of_all_rows:
            sample = sample or subject.sample_note
        pairs = {n: v for n, v in values if isinstance(v, IntervalNumber) and not math.isnan(v.low)}
        return Finding(
            kind=name,
            message=f"{draft.sentence} Estimated from {sample}." if sample else draft.sentence,
            criterion=KINDS[name].criterion,
            severity=KINDS[name].severity,
            systems=draft.systems or (() if subject.name is None else (subject.name,)),
            measures=tuple(subject.display_names.get(name, name) for name in draft.measures),
            values={n: float(v.value if isinstance(v, IntervalNumber) else v) for n, v in values},
            intervals={n: (v.low, v.high) for n, v in pairs.items()},
            level=subject.level if draft.level is None else draft.level,
            output=subject.output,
            aspect=draft.aspect,
        )


#: Every kind of finding, by its name.
KINDS: dict[str, FindingKind] = {}
#: The rules by module and name of their functions, in the order of application.
RULES: dict[str, Rule] = {}


def rule(
    kind: str, severity: str, *needs: type, cost: str, counts: bool = False, **placeholders: str
) -> Callable[[F], F]:
    """Return a decorator that registers a function as the rule of a kind of finding.

    The function is called for every subject that has an object of each of the types ``needs``, with
    the subject and these objects, and yields findings. Rules should be cheaper than the estimates
    that they refer to, so they use sums and closed forms where possible, and do not resample. A
    function for several kinds is decorated once for each, and its findings name the kind; a
    function that is defined again replaces the earlier one.

    Parameters
    ----------
    kind : str
        Kind of finding.
    severity : str
        One of ``SEVERITIES``.
    *needs : type
        Types of the data that the rule needs.
    cost : str
        Data that the rule uses, one of :data:`COSTS`.
    counts : bool, default=False
        Whether the rule needs no interval and is applied without inference as well.
    **placeholders : str
        Values of placeholders in the docstring, in addition to the constants of the module. The
        docstring is the criterion that users read.

    Returns
    -------
    callable
        Decorator that registers a function and returns it.

    Raises
    ------
    NameTakenError
        If another rule has this kind with another severity or criterion.
    ValueError
        If there is no such severity or cost.
    """
    if severity not in SEVERITIES:
        expected = ", ".join(SEVERITIES)
        raise ValueError(f"{kind}: severity is {severity!r}, expected one of {expected}")
    if cost not in COSTS:
        raise ValueError(f"{kind}: cost is {cost!r}, expected one of {', '.join(COSTS)}")

    def register(function: F) -> F:
        text = " ".join((function.__doc__ or "").split())
        finding_kind = FindingKind(
            severity, text.format(**{**function.__globals__, **placeholders})
        )
        if KINDS.setdefault(kind, finding_kind) != finding_kind:
            raise NameTakenError(
                f"there are findings of the kind {kind!r} already, by another rule"
            )
        RULES[f"{function.__module__}.{function.__qualname__}"] = Rule(
            kind, function, needs, counts, cost
        )
        return function

    return register


def find_all(subjects: Iterable[Subject], reserved: Collection[str] = ()) -> tuple[Finding, ...]:
    """Return the findings on all subjects, the most severe first, then by subject.

    Parameters
    ----------
    subjects : iterable of Subject
        Systems, and the data or the whole evaluation.
    reserved : collection of str, default=()
        Kinds of findings that have their part of the error rate even if none of their tests can
        be made, so that the p-values of the others do not depend on it.

    Returns
    -------
    tuple of Finding
        Findings of all rules.

    Notes
    -----
    The familywise error rate of all claims on a page is at most 1 − level: each of the R rules that
    test anything, or are reserved, has (1 − level)/R, and within a rule Holm's adjustment holds
    over its systems, outputs and classes.
    """
    plugins.load("calipers.findings")
    rules = tuple(RULES.values())
    pairs = [
        (subject, rule)
        for subject in subjects
        for rule in _applicable_rules(rules, tuple(map(type, subject.data)))
    ]
    return tuple(
        sorted(_decide_claims(pairs, reserved), key=lambda f: SEVERITIES.index(f.severity))
    )


@lru_cache
def _applicable_rules(rules: tuple[Rule, ...], types: tuple[type, ...]) -> tuple[Rule, ...]:
    """Return the rules whose data are among data of these types, which few subjects have."""
    return tuple(
        rule
        for rule in rules
        if all(any(issubclass(each, need) for each in types) for need in rule.needs)
    )


def _decide_claims(
    pairs: Iterable[tuple[Subject, Rule]], reserved: Collection[str] = ()
) -> Iterator[Finding]:
    """Yield the findings of rules on subjects, the p-values of all claims adjusted together."""
    results = [(subject, rule, result) for subject, rule in pairs for result in rule.apply(subject)]
    # Functions of one kind test the same claim on different systems and share its error rate.
    p_values_by_kind: dict[str, dict[int, float]] = {}
    for index, (_, rule, result) in enumerate(results):
        if isinstance(result, Claim) and not math.isnan(result.p):
            p_values_by_kind.setdefault(rule.kind, {})[index] = result.p
    adjusted: dict[int, float] = {}
    n_kinds = len(p_values_by_kind.keys() | reserved)
    for p_values in p_values_by_kind.values():
        from calipers.inference.multiplicity import holm

        p = n_kinds * holm(np.array(list(p_values.values())))
        adjusted |= zip(p_values, np.minimum(1.0, p).tolist(), strict=True)
    for index, (subject, rule, result) in enumerate(results):
        if isinstance(result, FindingDraft):
            yield rule.finding(result, subject)
        elif result.says is not None and adjusted.get(index, 1.0) <= 1 - subject.level:
            yield rule.finding(result.says(), subject, adjusted[index])
        elif result.otherwise is not None:
            yield rule.finding(result.otherwise(), subject)


def _is_replicated(method: str) -> bool:
    """Return whether limits are quantiles of replicates, whose tails are short."""
    return any(word in method for word in ("[B]", "bootstrap", "Jeffreys,", "Dirichlet"))
