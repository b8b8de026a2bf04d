"""Requirements on an evaluation: on values, on interval limits, and on differences."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import TypeAlias

from calipers.data.errors import InputError, did_you_mean
from calipers.evaluation.arguments import validate_arguments
from calipers.lazy_dataclasses import dataclass
from calipers.report import verdict
from calipers.results import Comparison, Difference, Estimate, Evaluation

#: Placeholder in a rule for the name of the baseline.
BASELINE = "baseline"

_NUMBER_PATTERN = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_VALUE_PATTERN = re.compile(
    rf"\s*(?:(?P<end>low|high)\((?P<inner>.+?)\)|(?P<measure>.+?))"
    rf"\s*(?P<relation>>=|<=|>|<|≥|≤)\s*(?P<bound>{_NUMBER_PATTERN})\s*"
)
_DIFFERENCE_PATTERN = re.compile(
    rf"\s*(?P<measure>.+?)\s+(?P<how>not\s+worse|better)\s+than\s+(?P<reference>.+?)"
    rf"(?:\s+by\s+(?P<margin>{_NUMBER_PATTERN}))?\s*"
)
_RELATIONS: Mapping[str, Callable[[float, float], bool]] = {
    ">=": operator.ge, "<=": operator.le, "≥": operator.ge, "≤": operator.le,
    ">": operator.gt, "<": operator.lt,
}  # fmt: skip

#: The differences of all systems from another one, with a margin for one measure or none.
CompareFunction: TypeAlias = Callable[[str, tuple[str, float] | None], Comparison]


@dataclass(frozen=True)
class RequirementResult:
    """Result of a requirement for one system.

    Attributes
    ----------
    rule : str
        Text of the requirement.
    system : str
        Name of the system.
    passed : bool
        Whether the requirement is met.
    message : str
        Estimate or difference on which this is based.
    """

    rule: str
    system: str
    passed: bool
    message: str

    def __str__(self) -> str:
        return f"{'pass' if self.passed else 'FAIL'}  {self.rule}: {self.message}"


@dataclass(frozen=True)
class ValueRequirement:
    """Bound on a value or on a limit of its interval.

    Attributes
    ----------
    text : str
        Text of the requirement.
    measure : str
        Name of the measure.
    limit : {'low', 'high'} or None
        Limit of the interval, or None for the value.
    relation : str
        Relation to the bound, such as ``">="``.
    bound : float
        Bound.
    """

    text: str
    measure: str
    limit: str | None
    relation: str
    bound: float

    def is_met(self, estimate: Estimate) -> bool:
        """Return whether the estimate meets the bound.

        An undefined value, or an absent interval, does not.
        """
        value = estimate.value if self.limit is None else getattr(estimate, self.limit)
        return bool(_RELATIONS[self.relation](value, self.bound))

    def results(
        self, evaluation: Evaluation, systems: Iterable[str], compare: CompareFunction
    ) -> Iterator[RequirementResult]:
        """Yield the result for each system."""
        for system in systems:
            if system not in evaluation.systems:  # not all have costs
                message = f"{system}: no value of {self.measure}"
                yield RequirementResult(self.text, system, passed=False, message=message)
                continue
            estimate = evaluation.exact(system, self.measure)
            yield RequirementResult(self.text, system, self.is_met(estimate), str(estimate))


@dataclass(frozen=True)
class DifferenceRequirement:
    """Requirement on the difference from another system.

    Attributes
    ----------
    text : str
        Text of the requirement.
    measure : str
        Name of the measure.
    needs_better : bool
        Whether the system has to be better, rather than not worse.
    reference : str
        Name of the reference system.
    margin : float or None
        Margin of the difference, or of non-inferiority.
    """

    text: str
    measure: str
    needs_better: bool
    reference: str
    margin: float | None

    def is_met(self, difference: Difference) -> bool:
        """Return whether the difference meets the requirement.

        *Better* requires a significant difference, and with a margin an interval beyond it. *Not
        worse* requires that the system is not significantly worse; with a margin, a significant
        test of non-inferiority. Systems with identical outputs on every unit are not worse, which
        says nothing about other units.
        """
        outcome = verdict.outcome(difference)
        if outcome is verdict.Outcome.UNDEFINED:
            return False
        if outcome is verdict.Outcome.NOT_TESTED and self.margin is None:
            return False  # what nobody tested has not been shown to be no worse
        if not self.needs_better:
            if self.margin is None:
                return outcome is not verdict.Outcome.WORSE
            return verdict.is_identical(difference) or bool(
                difference.p_noninferiority <= verdict.significance_level(difference.level)
            )
        min_advantage = difference.low if difference.higher_is_better else -difference.high
        is_beyond_margin = self.margin is None or (
            difference.has_interval and min_advantage > self.margin
        )
        return outcome is verdict.Outcome.BETTER and is_beyond_margin

    def results(
        self, evaluation: Evaluation, systems: Iterable[str], compare: CompareFunction
    ) -> Iterator[RequirementResult]:
        """Yield the result for each system except the reference."""
        # Under conventions, a canonical name may be that of another measure of the tool.
        name = evaluation.requested_names.get(self.measure, self.measure)
        margin = None if self.needs_better or self.margin is None else (name, self.margin)
        differences = compare(self.reference, margin)
        measure_differences = [
            difference for difference in differences if difference.measure == self.measure
        ]
        if (
            any(difference.higher_is_better is None for difference in measure_differences)
            or not measure_differences
        ):
            raise InputError(f"{self.text!r}: no value of {self.measure} is better than another")
        for difference in measure_differences:
            if difference.system in systems:
                adjusted = verdict.adjusted_word(differences, difference.measure)
                labeled = replace(
                    difference,
                    requested_name=evaluation.requested_names.get(difference.measure, ""),
                )
                message, is_met = (
                    verdict.difference_sentence(labeled, adjusted=adjusted),
                    self.is_met(difference),
                )
                if is_met and not self.needs_better and self.margin is None:
                    message += verdict.rule_of_three_text(difference)
                yield RequirementResult(self.text, difference.system, is_met, message)


Requirement = ValueRequirement | DifferenceRequirement


def parse_requirement(text: str) -> Requirement:
    """Parse the text of a requirement.

    Parameters
    ----------
    text : str
        Requirement, such as ``"AUC >= 0.97"`` or ``"AUC not worse than last by 0.01"``.

    Returns
    -------
    ValueRequirement or DifferenceRequirement
        Parsed requirement.

    Raises
    ------
    InputError
        If the text is not a requirement; the message says what is expected.
    """
    match = _DIFFERENCE_PATTERN.fullmatch(text)
    if match is not None:
        margin = None if match["margin"] is None else float(match["margin"])
        if margin is not None and not (margin > 0 and math.isfinite(margin)):
            raise InputError(f"{text!r}: the margin is {match['margin']}, expected more than 0")
        better = match["how"] == "better"
        return DifferenceRequirement(
            text.strip(), match["measure"], better, match["reference"], margin
        )
    match = _VALUE_PATTERN.fullmatch(text)
    if match is None:
        raise InputError(
            f"{text!r} is not a requirement; expected a measure, a relation and a number, as in "
            "'nDCG@10 >= 0.35' or 'low(AUC) >= 0.9', or a comparison, as in 'AUC not worse than "
            "last by 0.01' or 'AP better than bm25'"
        )
    measure = match["inner"] or match["measure"]
    bound = float(match["bound"])
    return ValueRequirement(text.strip(), measure, match["end"], match["relation"], bound)


def _resolve_names(
    rule: Requirement, evaluation: Evaluation, baseline: str | None
) -> tuple[Requirement, Evaluation]:
    """Replace the names of the measure and of the reference system by those of the evaluation.

    Also return the evaluation that has the measure: the one of costs, if it is theirs.
    """
    source, measure = evaluation, evaluation.canonical_name(rule.measure)
    costs = evaluation.costs
    if measure not in evaluation.measures and costs is not None:
        source, measure = costs, costs.canonical_name(rule.measure)
    if measure not in source.measures:
        display_names = [evaluation.requested_names.get(name, name) for name in evaluation.measures]
        display_names += costs.measures if costs is not None else ()
        suggestion = did_you_mean(rule.measure, display_names)
        raise InputError(f"{rule.text!r}: {rule.measure!r} is not among the measures; {suggestion}")
    if isinstance(rule, ValueRequirement):
        return replace(rule, measure=measure), source
    reference = rule.reference
    if reference == BASELINE and reference not in evaluation.systems:
        comparison = evaluation.comparison
        reference = (
            baseline or (comparison.baseline if comparison is not None else None) or BASELINE
        )
    if reference not in evaluation.systems:
        suggestion = did_you_mean(reference, evaluation.systems)
        raise InputError(f"{rule.text!r}: {reference!r} is not a system; {suggestion}")
    if len(evaluation.systems) < 2:
        raise InputError(f"{rule.text!r}: there is no other system")
    return replace(rule, measure=measure, reference=reference), source


@validate_arguments
def check_requirements(
    evaluation: Evaluation,
    rules: str | Sequence[str],
    *,
    baseline: str | None = None,
) -> tuple[RequirementResult, ...]:
    """Check whether each system of an evaluation meets requirements.

    Parameters
    ----------
    evaluation : Evaluation
        Evaluation to check.
    rules : str or list of str
        Requirements. ``"AUC >= 0.97"`` concerns the value; ``"low(AUC) >= 0.95"`` and
        ``"high(Brier) <= 0.1"`` concern the limits of its interval; ``"mean-cost[cents] <= 2"``
        concerns a cost. ``"AUC not worse than last"``
        fails if the system is significantly worse than ``last``;
        ``"AUC not worse than last by 0.01"`` requires a significant test of non-inferiority with
        this margin. ``"AUC better than last"`` requires a significant difference; with
        ``by 0.01``, an interval of the difference above 0.01.
    baseline : str, optional
        System that ``"baseline"`` denotes in a rule; by default the baseline of the evaluation's
        comparison.

    Returns
    -------
    tuple of RequirementResult
        Result of each rule for each system; systems that serve as reference are excluded.

    Raises
    ------
    InputError
        If a rule cannot be parsed, or names a measure or system that was not evaluated.

    Notes
    -----
    The tests are those of :func:`calipers.compare`, adjusted for all measures and systems of the
    evaluation.

    Examples
    --------
    >>> import calipers as cal
    >>> truth = [0, 0, 1, 1, 1, 0] * 10
    >>> new, old = [0.1, 0.4, 0.3, 0.8, 0.9, 0.2] * 10, [0.3, 0.4, 0.3, 0.8, 0.6, 0.2] * 10
    >>> ev = cal.classification(truth, score={"new": new, "old": old}, baseline="old")
    >>> for ruling in cal.check_requirements(ev, ["AUC >= 0.8", "AUC not worse than old"]):
    ...     print(ruling.passed, ruling.rule)
    True AUC >= 0.8
    True AUC not worse than old
    """
    rule_texts = [rules] if isinstance(rules, str) else rules
    parsed_rules = [
        _resolve_names(parse_requirement(text), evaluation, baseline) for text in rule_texts
    ]
    references = {
        rule.reference for rule, _ in parsed_rules if isinstance(rule, DifferenceRequirement)
    }
    comparison_baseline = (
        evaluation.comparison.baseline if evaluation.comparison is not None else None
    )
    references |= {name for name in (baseline, comparison_baseline) if name is not None}
    systems = [name for name in evaluation.systems if name not in references]
    systems = systems or list(evaluation.systems)

    @cache
    def differences_of(
        is_cost: bool, reference: str, margin: tuple[str, float] | None
    ) -> Comparison:
        source = evaluation.costs if is_cost and evaluation.costs is not None else evaluation
        return source.compare(reference, margin=None if margin is None else dict([margin]))

    return tuple(
        result
        for rule, source in parsed_rules
        for result in rule.results(
            source, systems, partial(differences_of, source is not evaluation)
        )
    )
