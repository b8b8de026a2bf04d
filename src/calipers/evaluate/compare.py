"""Paired comparison of the systems of one evaluation."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, overload

import numpy as np

from calipers.data.errors import InputError, did_you_mean, shown
from calipers.evaluate.arguments import verb
from calipers.evaluate.shared import Source, inference_of, make_settings
from calipers.inference import many, policy, questions
from calipers.inference.multiplicity import ADJUSTMENTS
from calipers.inference.policy import randomisations
from calipers.inference.questions import ALTERNATIVES, TESTS, USUAL, Question, detectable
from calipers.inference.reading import Reading
from calipers.inference.settings import Settings
from calipers.inference.spaces import Error
from calipers.measures import Measure
from calipers.once import cached_property
from calipers.results import Comparison, Difference, Evaluation, Overall
from calipers.statistics import FloatArray

#: Ways to account for the number of pairs; the last is a test and an adjustment in one.
ADJUST = (*ADJUSTMENTS, "tukey")

#: The values of more units are not dealt out anew: it takes too long.
MOST_DEALT = 100_000

Margin = float | Mapping[str, float] | None


@verb
def compare(
    evaluation: Evaluation,
    *,
    baseline: str | None = None,
    test: str = "auto",
    alternative: str = "two-sided",
    adjust: str = "holm",
    margin: Margin = None,
    interval: str | Sequence[str] | None = None,
    level: float | None = None,
    resamples: int | None = None,
    seed: int | None = None,
) -> Comparison:
    """Paired differences of an evaluation's systems, each with its interval and a test.

    Topics: bootstrap-t of the mean difference and a paired randomisation test. AUC, AP and PR-AUC:
    by the influence of rows (for the AUC that is DeLong's). Accuracy: exact McNemar. Losses per
    row: normal on the mean difference, paired t. Other measures of counts and scores: paired
    bootstrap.

    Parameters
    ----------
    baseline
        Compare every other system with this one; else every pair, the later minus the earlier.
    test
        ``"auto"``, or one for all measures that it applies to: ``"t"``, ``"wilcoxon"``, ``"sign"``
        and ``"randomisation"`` of values per unit; ``"bootstrap"``; ``"normal"``, the difference
        over its standard error; ``"mcnemar"`` and ``"mid-p"`` of accuracies.
    alternative
        ``"two-sided"``; ``"better"`` or ``"worse"``, one-sided, by the measure's own direction; or
        ``"greater"`` or ``"less"``, about the difference itself.
    adjust
        How p-values account for the pairs of systems within a measure: ``"holm"``,
        ``"bonferroni"``, ``"benjamini-hochberg"`` or ``"none"``; or ``"tukey"``, the randomised
        Tukey HSD, which takes the place of the test where there are values per unit.
    margin
        The difference that would still count as none, stated beforehand: a number, or one for each
        measure. Then non-inferiority and equivalence are tested as well.
    interval, level, resamples, seed
        The evaluation's own unless given.

    Raises
    ------
    InputError
        For an evaluation read from a file, which has no data left to compare; for one system only;
        for an unknown baseline or option; and for a test that applies to none of the measures.

    Examples
    --------
    >>> import calipers as cal
    >>> truth = [1, 1, 1, 0, 0, 0, 1, 0]
    >>> a, b = [.9, .8, .3, .4, .2, .1, .7, .6], [.4, .8, .3, .7, .2, .6, .5, .9]
    >>> ev = cal.classification(truth, score={"a": a, "b": b}, measures=["AUC"])
    >>> round(ev.compare(baseline="b")["AUC"].value, 4)
    0.5
    """
    source = evaluation.sources
    if source is None:
        raise InputError("this evaluation was read from a file; compare needs the data themselves")
    given = source.settings
    if interval is None:
        interval = given.asked if given.interval != "none" else "auto"
    settings = make_settings(
        interval,
        given.level if level is None else level,
        given.resamples if resamples is None else resamples,
        given.seed if seed is None else seed,
    )
    check_option("test", test, TESTS)
    check_option("alternative", alternative, ALTERNATIVES)
    check_option("adjust", adjust, ADJUST)
    question, own = Question(test, alternative), evaluation.comparison
    usual = (question, adjust, margin, settings) == (USUAL, "holm", None, given)
    if usual and own is not None and own.baseline == baseline:
        made = own  # every pair has been computed already
    else:
        made = paired_comparison(source, baseline, settings, question, adjust=adjust, margin=margin)
    return replace(
        made,
        per_unit=evaluation.per_unit,
        provenance={**evaluation.provenance, **inference_of(settings)},
    )


def check_option(what: str, given: str, known: Iterable[str]) -> None:
    """That an option is one of those known."""
    known = tuple(known)
    if given not in known:
        raise InputError(f"{what} is {shown(given)}, expected one of {', '.join(known)}")


def paired_comparison(
    source: Source,
    baseline: str | None,
    settings: Settings,
    question: Question = USUAL,
    *,
    adjust: str = "holm",
    margin: Margin = None,
) -> Comparison:
    """All differences of a source's systems, adjusted."""
    pairs = system_pairs(source.systems, baseline)
    of: dict[Measure, list[Found]] = {}
    applies = False
    # One after another: what a difference has drawn goes with it.
    for pair, measure, reading in source.differences(pairs, settings):
        asked = replace(question, margin=_margin(margin, measure))
        applies = applies or questions.applies(reading, question.test)
        of.setdefault(measure, []).append(_found(str(measure), *pair, reading, asked))
    _check_margins(margin, list(of))
    if of and not applies:
        raise InputError(f"the test {question.test!r} applies to none of the measures")
    several = len(pairs) > 1
    way = adjust if several else "none"
    rows: list[Difference] = []
    notes = []
    differences = {measure: _differences(found, settings.level) for measure, found in of.items()}
    for measure, of_measure in differences.items():
        table = _complete(source, measure) if way == "tukey" else None
        if way == "tukey" and (table is None or not 0 < len(table) <= MOST_DEALT):
            notes.append(
                f"{measure} is adjusted by Holm: the randomised Tukey HSD takes values per unit, "
                f"up to {MOST_DEALT:,} of them."
            )
            rows += adjusted_p(of_measure, "holm")
        elif table is not None:
            rows += _dealt(of_measure, table, source.systems, settings)
        else:
            rows += adjusted_p(of_measure, way)
    used = ADJUSTMENTS.get(way)
    units = {measure: of_measure[0] for measure, of_measure in differences.items()}
    return Comparison(
        tuple(rows),
        settings.level,
        "randomised Tukey HSD" if used is None else used.name,
        baseline,
        controls="family-wise error rate" if used is None else used.controls,
        notes=tuple(notes),
        overall=Overalls(lambda: _overall(source, units, settings)),
    )


def system_pairs(systems: Sequence[str], baseline: str | None) -> list[tuple[str, str]]:
    """The pairs, (system, baseline)."""
    if len(systems) < 2:
        raise InputError(f"there is one system only ({systems[0]!r}); a comparison needs two")
    if baseline is None:
        return [(later, earlier) for earlier, later in combinations(systems, 2)]
    if baseline not in systems:
        raise InputError(f"baseline {baseline!r} is no system; {did_you_mean(baseline, systems)}")
    return [(system, baseline) for system in systems if system != baseline]


def _margin(margin: Margin, measure: Measure) -> float | None:
    """The margin of a measure, where there is one."""
    value = margin.get(str(measure)) if isinstance(margin, Mapping) else margin
    if value is not None and not 0 < value < math.inf:
        raise InputError(f"margin is {shown(value)}, expected a number above 0")
    return value


def _check_margins(margin: Margin, measures: Sequence[Measure]) -> None:
    """That margins are of measures that are compared."""
    names = [str(measure) for measure in measures]
    for name in margin if isinstance(margin, Mapping) else ():
        if name not in names:
            raise InputError(
                f"margin: {name!r} is no measure compared; {did_you_mean(name, names)}"
            )


#: What a difference is known by, but for what is computed of all at once from its standard error.
Found = tuple[dict[str, Any], Error]


def _found(measure: str, system: str, baseline: str, reading: Reading, question: Question) -> Found:
    made, test = policy.interval(reading), questions.test(reading, question)
    inferior = questions.non_inferiority(reading, question)
    equivalent = questions.equivalence(reading, question)
    error = questions.standard_error(reading)
    fields = {
        "measure": measure,
        "system": system,
        "baseline": baseline,
        "value": reading.value,
        "low": made.low,
        "high": made.high,
        "level": reading.settings.level,
        "method": made.method,
        "p": test.p,
        "test": test.name,
        "alternative": test.alternative,
        "effect": questions.effect(reading),
        "n": reading.n,
        "unit": reading.unit,
        "undefined": reading.undefined,
        "no_interval": made.reason,
        "higher_is_better": reading.higher_is_better,
        "standard_error": error.se,
        "margin": math.nan if question.margin is None else question.margin,
        "p_not_inferior": math.nan if inferior is None else inferior.p,
        "p_equivalent": math.nan if equivalent is None else equivalent.p,
        "margin_test": None if inferior is None else inferior.name,
        **questions.outcomes(reading),
    }
    return fields, error


def _differences(found: Sequence[Found], level: float) -> list[Difference]:
    sizes = detectable([error for _, error in found], level).tolist()
    return [Difference(**of, detectable=size) for (of, _), size in zip(found, sizes, strict=True)]


def _dealt(
    rows: list[Difference], table: FloatArray, systems: Sequence[str], settings: Settings
) -> list[Difference]:
    """The differences of one measure with the p-values of the randomised Tukey HSD."""
    [found] = many.randomised_tukey(table, randomisations(settings), settings.seed)
    place = {name: j for j, name in enumerate(systems)}
    margins = adjusted_p(rows, "holm")
    return [
        replace(
            row,
            p=math.nan,
            p_adjusted=float(found.p[place[row.system], place[row.baseline]]),
            test=found.name,
            alternative="two-sided",
        )
        for row in margins
    ]


def adjusted_p(rows: list[Difference], adjust: str) -> list[Difference]:
    """The p-values adjusted for their number."""
    way = ADJUSTMENTS[adjust].adjust
    columns = (
        way(np.array([getattr(row, name) for row in rows])).tolist()
        for name in ("p", "p_not_inferior", "p_equivalent")
    )
    return [
        replace(row, p_adjusted=p, p_not_inferior=inferior, p_equivalent=equivalent)
        for row, p, inferior, equivalent in zip(rows, *columns, strict=True)
    ]


def _complete(source: Source, measure: Measure) -> FloatArray | None:
    """The values of the units on which every system has one."""
    table = source.values_of(measure)
    return None if table is None else table[~np.isnan(table).any(axis=1)]


class Overalls(Sequence[Overall]):
    """Computed when first looked at: what Nemenyi's test needs of SciPy takes longer to import than
    most comparisons take."""

    def __init__(self, make: Callable[[], Sequence[Overall]]) -> None:
        self._make = make

    @cached_property
    def _made(self) -> Sequence[Overall]:
        return self._make()

    @overload
    def __getitem__(self, index: int) -> Overall: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Overall]: ...
    def __getitem__(self, index: int | slice) -> Overall | Sequence[Overall]:
        return self._made[index]

    def __len__(self) -> int:
        return len(self._made)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (tuple(self),)  # a copy does not take the data along

    def __hash__(self) -> int:
        return hash(tuple(self))


def _overall(
    source: Source, units: Mapping[Measure, Difference], settings: Settings
) -> tuple[Overall, ...]:
    """Whether any system differs, for the measures that are means of values per unit; ``units``
    has a difference of each measure, for what its units are."""
    systems, out = tuple(source.systems), []
    if len(systems) < 3:
        return ()
    for measure, like in units.items():
        table, better = _complete(source, measure), like.higher_is_better is not False
        if table is None or len(table) < 2:
            continue
        ranked = many.friedman(table, higher_is_better=better)
        critical = many.critical_difference(len(systems), len(table), settings.level)
        groups = many.groups(ranked.mean_ranks, critical)
        variance = many.anova(table)
        out.append(
            Overall(
                measure=str(measure),
                systems=systems,
                means=tuple(table.mean(axis=0).tolist()),
                mean_ranks=tuple(ranked.mean_ranks.tolist()),
                n=len(table),
                unit=like.unit,
                level=settings.level,
                friedman_f=ranked.f,
                friedman_p=ranked.p_f,
                critical_difference=critical,
                groups=tuple(tuple(systems[j] for j in group) for group in groups),
                anova_f=variance.f,
                anova_p=variance.p,
                omega_squared=variance.omega_squared,
                higher_is_better=like.higher_is_better,
            )
        )
    return tuple(out)
