"""The first screen of a page: the verdict in a sentence, its numbers, and an estimation plot.

The plot shows values with their intervals on one axis, best first, and next to them the
differences with their intervals and 0 (Gardner and Altman 1986; Ho et al. 2019). It is made of
numbers, without the renderer of the other charts, so that it needs neither scripts nor an image.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

from calipers.lazy_dataclasses import dataclass
from calipers.report import numbers
from calipers.report.blocks import Bar, EstimationPlot, PlotRow, Tick
from calipers.report.figures.vega import PALETTE, color
from calipers.report.grouping import group_by
from calipers.report.headlines import (
    comparison_headlines,
    estimate_details,
    headlines,
    leading_estimate,
    mean_gains,
    primary_differences,
    sort_by_value,
)
from calipers.report.safe_names import join_words, method_text, shorten_name, unique_labels
from calipers.report.table_rows import definitions_by_measure, direction_text, no_skill_reference
from calipers.report.tables import Domain, scale_domain
from calipers.report.verdict import (
    NameFormatter,
    Outcome,
    adjusted_word,
    difference_facts,
    difference_sentence,
    outcome,
)
from calipers.report.wide import (
    AS_BEST,
    group_letters,
    is_symmetric,
    primary_measure,
    rank_systems,
    turn,
)
from calipers.results import Comparison, Difference, Estimate, Evaluation

#: The largest number of systems that a verdict names.
_MAX_NAMES = 2
#: The largest number of rows of a plot that are not folded, and of those before the folded ones.
MAX_PLOT_ROWS, N_LEADING_ROWS = 10, 6
#: Margin of an axis, as a proportion of its range.
_MARGIN = 0.04

Verdicts = tuple[str, list[str]]


# --- The verdict ----------------------------------------------------------------------------------


def evaluation_verdict(evaluation: Evaluation, show: NameFormatter = shorten_name) -> Verdicts:
    """Return who is best and whether significantly, in a sentence, and the numbers behind it."""
    comparison, has_verdict = evaluation.comparison, bool(evaluation.estimates)
    if evaluation.judge_biases or evaluation.task == "overlap" or not has_verdict:
        first, *others = headlines(evaluation, show)
        return first, others
    if comparison is not None and len(comparison):
        primary = primary_differences(comparison)[0].measure
        return comparison_verdict(comparison, show, _values(evaluation, primary))
    if len(evaluation.systems) == 1:
        estimate = leading_estimate(evaluation)
        if math.isnan(estimate.value):
            return headlines(evaluation, show)[0], []
        details = estimate_details(estimate, show)
        digits = numbers.common_rounding(estimate.value, estimate.low, estimate.high)
        value = digits.value_with_interval(estimate.value, estimate.low, estimate.high)
        return f"{show(estimate.measure)} is {value}.", [f"{details[:1].upper()}{details[1:]}"]
    ranked, measure = rank_systems(evaluation), primary_measure(evaluation)
    values, definition = (
        _values(evaluation, measure),
        definitions_by_measure(evaluation).get(measure),
    )
    if definition is None or definition.higher_is_better is None:
        return headlines(evaluation, show)[0], []
    extreme = "highest" if definition.higher_is_better else "lowest"
    return (
        f"{show(ranked[0])} has the {extreme} {show(measure)} of {len(ranked)} systems: "
        f"{values.get(ranked[0], numbers.UNDEFINED)}; no difference is tested."
    ), []


def _values(evaluation: Evaluation, measure: str) -> dict[str, str]:
    group = [e for e in evaluation if e.measure == measure]
    digits = numbers.rounding((e.value, e.low, e.high) for e in group)
    return {e.system: digits(e.value) for e in group}


def comparison_verdict(
    comparison: Comparison,
    show: NameFormatter = shorten_name,
    values: Mapping[str, str] | None = None,
) -> Verdicts:
    """Return the verdict on the primary measure, with the formatted values of systems if known."""
    differences = primary_differences(comparison)
    if not differences:
        return "No difference was requested.", []
    adjusted = adjusted_word(comparison, differences[0].measure)
    if len(differences) == 1:
        difference = leader_first(differences[0], comparison)
        return _pair_verdict(difference, adjusted, show, values or {})
    if comparison.baseline is not None:
        return _baseline_verdict(differences, adjusted, show)
    if differences[0].higher_is_better is None or all(d.value == 0 for d in differences):
        first, *others = comparison_headlines(comparison, show)
        return first, others
    return _leader_verdict(comparison, adjusted, show, values or {})


def leader_first(d: Difference, comparison: Comparison) -> Difference:
    """Return a difference as that of the better system and the other one, if it may be turned."""
    is_led = not d.value < 0 if d.higher_is_better is not False else not d.value > 0
    return d if is_led or not is_symmetric(d, comparison) else turn(d)


def _pair_verdict(
    d: Difference, adjusted: str, show: NameFormatter, values: Mapping[str, str]
) -> Verdicts:
    first, second, measure = show(d.system), show(d.baseline), show(d.display_name)
    difference_outcome = outcome(d)
    if difference_outcome is Outcome.UNDEFINED or d.alternative != "two-sided":
        return difference_sentence(d, adjusted=adjusted, show=show), []
    if difference_outcome is Outcome.NOT_TESTED:
        claim = f"The difference between {first} and {second} is not tested"
    elif difference_outcome is Outcome.NOT_SIGNIFICANT:
        claim = f"{first} and {second} do not differ significantly"
    else:
        claim = f"{first} is significantly {difference_outcome.value} than {second}"
    has_values = d.system in values and d.baseline in values
    numbers_text = (
        f": {measure} {values[d.system]} against {values[d.baseline]}."
        if has_values
        else f" on {measure}."
    )
    facts = difference_facts(d, adjusted=adjusted, show=show)
    return f"{claim}{numbers_text}", [facts]


def _baseline_verdict(
    differences: Sequence[Difference], adjusted: str, show: NameFormatter
) -> Verdicts:
    """Return how systems compare with the baseline, and the numbers of the best of them."""
    baseline, measure = show(differences[0].baseline), show(differences[0].display_name)
    by_outcome = group_by(differences, outcome)
    clauses: list[str] = []
    for kind in Outcome:
        systems = [show(d.system) for d in by_outcome.get(kind, ())]
        if not systems:
            continue
        verb = "is" if len(systems) == 1 else "are"
        subject = _names(systems, f"{len(systems)} systems")
        if kind is Outcome.NOT_SIGNIFICANT:
            auxiliary = "does" if len(systems) == 1 else "do"
            words, preposition = f"{auxiliary} not differ significantly", "from"
        elif kind.is_significant:
            words, preposition = f"{verb} significantly {kind.value}", "than"
        else:
            words, preposition = f"{verb} {kind.value}", "against"
        against = "" if clauses else f" {preposition} {baseline} on {measure}"
        clauses.append(f"{subject} {words}{against}")
    order = sort_by_value({d.system: d.value for d in differences}, differences[0].higher_is_better)
    best = next(d for d in differences if d.system == order[0])
    facts = difference_facts(
        best, adjusted=adjusted, show=show, subject=f"{show(best.system)} minus {baseline}:"
    )
    return f"{'; '.join(clauses)}.", [facts]


def _leader_verdict(
    comparison: Comparison, adjusted: str, show: NameFormatter, values: Mapping[str, str]
) -> Verdicts:
    """Return the best of several systems, and those that are not significantly worse."""
    differences = primary_differences(comparison)
    order = comparison_order(comparison)
    leader, runner_up = order[:2]
    by_system = leader_differences(differences, leader)
    outcomes = {name: outcome(by_system[name]) for name in order[1:] if name in by_system}
    same = [show(name) for name, kind in outcomes.items() if kind is Outcome.NOT_SIGNIFICANT]
    n_behind = sum(kind.is_significant for kind in outcomes.values())
    n_untested = len(order) - 1 - len(same) - n_behind
    sentence = f"{show(leader)} ranks first of {len(order)} systems"
    if n_behind == len(order) - 1:
        sentence += ", significantly ahead of all others"
    elif same:
        verb = "is" if len(same) == 1 else "are"
        subject = _names(same, "the others" if not n_behind + n_untested else f"{len(same)} others")
        sentence += f", but {subject} {verb} not significantly worse"
    if n_untested:
        tested = f"{n_untested} differences" if n_untested > 1 else "one difference"
        sentence += f"; {tested} from it {'are' if n_untested > 1 else 'is'} not tested"
    measure = show(differences[0].display_name)
    if leader in values and runner_up in values:
        against = f"{values[leader]} against {values[runner_up]} of {show(runner_up)}"
        sentence += f": {measure} {against}."
    else:
        sentence += f" on {measure}."
    facts = []
    if runner_up in by_system:
        subject = f"{show(leader)} minus {show(runner_up)}, the runner-up:"
        difference = by_system[runner_up]
        facts.append(difference_facts(difference, adjusted=adjusted, show=show, subject=subject))
    if same and n_behind:
        verb = "system is" if n_behind == 1 else "systems are"
        facts.append(f"{n_behind} {verb} significantly worse than {show(leader)}.")
    return sentence, [" ".join(facts)] if facts else []


def _names(names: Sequence[str], count: str) -> str:
    return join_words(names) if len(names) <= _MAX_NAMES else count


def comparison_order(comparison: Comparison) -> list[str]:
    """Return the systems of a comparison by the primary measure, the best first."""
    differences = primary_differences(comparison)
    gains = mean_gains(differences)
    if comparison.baseline is not None:
        gains = {d.system: d.value for d in differences} | {comparison.baseline: 0.0}
    return sort_by_value(gains, differences[0].higher_is_better)


def leader_differences(differences: Iterable[Difference], leader: str) -> dict[str, Difference]:
    """Return the differences of the leader and each other system, by system."""
    return {
        (d.baseline if d.system == leader else d.system): d if d.system == leader else turn(d)
        for d in differences
        if leader in (d.system, d.baseline)
    }


# --- The plot -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Axis:
    """Axis of a plot, with positions in percent of its width."""

    low: float
    high: float

    @classmethod
    def around(cls, domain: Domain | None) -> _Axis | None:
        if domain is None:
            return None
        margin = _MARGIN * (domain[1] - domain[0])
        low, high = domain[0] - margin, domain[1] + margin
        return cls(low, high) if math.isfinite(high - low) else None

    def __contains__(self, x: float) -> bool:
        return self.low <= x <= self.high

    def position(self, x: float) -> str:
        """Return the position of a number, or of the end of the axis if it is outside."""
        proportion = (min(max(x, self.low), self.high) - self.low) / (self.high - self.low)
        return f"{100 * proportion:.2f}%"

    def bar(self, value: float, low: float, high: float) -> Bar | None:
        """Return the bar of a value; without an interval it is a dot."""
        if not math.isfinite(value):
            return None
        low, high = (value if math.isnan(x) else x for x in (low, high))
        return Bar(self.position(value), self.position(low), self.position(high))

    def ticks(self, n_steps: int) -> list[Tick]:
        """Return about ``n_steps`` round numbers, not too close to the ends for their labels."""
        rough = (self.high - self.low) / n_steps
        power = 10.0 ** math.floor(math.log10(rough))
        step = power * next(f for f in (1, 2, 5, 10) if rough <= f * power * 1.0001)
        decimals = max(0, -math.floor(math.log10(step) + 1e-9))
        digits = numbers.Rounding(decimals) if decimals <= numbers.MAX_VALUE_DECIMALS else None
        inset = 0.03 * (self.high - self.low)
        first, last = (
            math.ceil((self.low + inset) / step), math.floor((self.high - inset) / step)
        )  # fmt: skip
        labels = [i * step for i in range(first, last + 1)]
        return [Tick(self.position(x), digits(x) if digits else f"{x:.3g}") for x in labels]


def evaluation_plot(evaluation: Evaluation) -> EstimationPlot | None:
    """Return the plot of the primary measure of an evaluation; None if nothing can be drawn."""
    if evaluation.judge_biases or not evaluation.estimates:
        return None
    measure = primary_measure(evaluation)
    if len(evaluation.systems) == 1:
        measure = leading_estimate(evaluation).measure
    comparison = evaluation.comparison
    if comparison is not None and len(comparison):
        measure = primary_differences(comparison)[0].measure
    estimate_by_system = {e.system: e for e in evaluation if e.measure == measure}
    order = [name for name in rank_systems(evaluation) if name in estimate_by_system]
    definition = definitions_by_measure(evaluation).get(measure)
    estimates = [estimate_by_system[name] for name in order]
    axis = _Axis.around(scale_domain(estimates, definition))
    if axis is None:
        return None
    caption = _value_caption(estimates, axis)
    is_ranked = definition is not None and definition.higher_is_better is not None
    direction = direction_text(definition) if definition is not None and is_ranked else ""
    return _plot(comparison, measure, order, estimate_by_system, axis, direction, caption)


def comparison_plot(comparison: Comparison) -> EstimationPlot | None:
    """Return the plot of the differences on the primary measure; None if there are none."""
    differences = primary_differences(comparison)
    if not differences:
        return None
    order, measure = comparison_order(comparison), differences[0].measure
    plot = _plot(comparison, measure, order, {}, None, "", [])
    rows = [row for row in plot.rows if row.difference_bar]
    if len(differences) == 1:  # without values a row is about both systems
        rows = [replace(row, name=plot.difference_heading) for row in rows]
        plot = replace(plot, difference_heading="Difference")
    return replace(plot, rows=rows) if rows else None


def _plot(
    comparison: Comparison | None,
    measure: str,
    order: Sequence[str],
    estimates: Mapping[str, Estimate],
    axis: _Axis | None,
    direction: str,
    caption: list[str],
) -> EstimationPlot:
    names, heading, differences = unique_labels(order), "", dict[str, Difference]()
    letters: dict[str, str] = {}
    if comparison is not None:
        of_measure = [d for d in comparison if d.measure == measure]
        heading, differences = _drawn_differences(comparison, of_measure, order, names)
        if estimates and len(order) > 2 and comparison.baseline is None:
            letters = group_letters(of_measure, order)
    scale = _Axis.around(_difference_domain(differences.values()))
    value_digits = numbers.rounding((e.value, e.low, e.high) for e in estimates.values())
    digits = numbers.rounding(
        ((d.value, d.low, d.high) for d in differences.values()), keep_sign=True
    )
    is_long = len(order) > 2
    rows = []
    for rank, name in enumerate(order, 1):
        e, d = estimates.get(name), differences.get(name)
        rows.append(
            PlotRow(
                rank=str(rank) if is_long and (direction or axis is None) else "",
                name=names[name],
                value="" if e is None else value_digits(e.value),
                interval="" if e is None else value_digits.format_interval(e.low, e.high),
                bar=None if e is None or axis is None else axis.bar(e.value, e.low, e.high),
                difference="" if d is None else digits(d.value),
                difference_interval="" if d is None else digits.format_interval(d.low, d.high),
                difference_bar=None
                if d is None or scale is None
                else scale.bar(d.value, d.low, d.high),
                letters=letters.get(name, ""),
                is_significant=d is not None and outcome(d).is_significant,
                # As in the charts; of more systems than there are colors only the leader has one.
                color=color(rank - 1) if len(order) <= len(PALETTE) or rank == 1 else "",
            )
        )
    leader = estimates.get(order[0])
    shade = None
    if is_long and direction and axis is not None and leader is not None and leader.has_interval:
        shade = axis.bar(leader.value, leader.low, leader.high)
        caption = [*caption, "Shaded: the interval of the leader."]
    no_skill = ""
    if leader is not None and axis is not None and leader.no_skill in axis:
        no_skill = axis.position(leader.no_skill)
    if any(letters.values()):
        caption = [*caption, *_letter_captions(set(letters.values()))]
    if differences:
        caption = [*caption, *_difference_caption(list(differences.values()))]
    return EstimationPlot(
        measure=shorten_name(measure),
        direction=direction,
        rows=rows,
        difference_heading=heading,
        ticks=[] if axis is None else axis.ticks(4),
        difference_ticks=[] if scale is None else scale.ticks(3),
        zero="" if scale is None else scale.position(0.0),
        no_skill=no_skill,
        shade=shade,
        caption=caption,
    )


def _letter_captions(letters: AbstractSet[str]) -> Iterator[str]:
    if AS_BEST in letters:
        yield f"{AS_BEST}: not significantly different from the leader by paired tests."
    else:
        yield (
            "Systems that share a letter do not differ significantly by paired tests, which "
            "overlapping intervals do not tell."
        )


def _drawn_differences(
    comparison: Comparison,
    differences: Sequence[Difference],
    order: Sequence[str],
    names: Mapping[str, str],
) -> tuple[str, dict[str, Difference]]:
    """Return the heading of the differences, and that of each row."""
    if len(differences) == 1:
        difference = leader_first(differences[0], comparison)
        row = difference.system if comparison.baseline is not None else order[-1]
        return f"{names[difference.system]} minus {names[difference.baseline]}", {row: difference}
    baseline = comparison.baseline
    if baseline is not None:
        rows = {d.system: d for d in differences}
        return (f"system minus {names[baseline]}", rows) if baseline in names else ("", {})
    if any(d.alternative != "two-sided" for d in differences):
        return "", {}
    return f"{names[order[0]]} minus system", leader_differences(differences, order[0])


def _difference_domain(differences: Iterable[Difference]) -> Domain | None:
    values = [x for d in differences for x in (d.value, d.low, d.high) if math.isfinite(x)]
    low, high = min([0.0, *values]), max([0.0, *values])
    return (low, high) if low < high else None


def _value_caption(estimates: Sequence[Estimate], axis: _Axis) -> list[str]:
    """Return what dots and bars are, and the value without skill."""
    sentences = []
    bars = [e for e in estimates if e.has_interval]
    if bars:
        methods = list(dict.fromkeys(method_text(e.method) for e in bars))
        method = f" ({methods[0]})" if len(methods) == 1 else ""
        sentences.append(
            f"Dots: values; bars: {numbers.format_percent(bars[0].level)} CIs{method}."
        )
    no_skill = {e.no_skill for e in estimates if not math.isnan(e.no_skill)}
    if len(no_skill) == 1:
        x = no_skill.pop()
        reference = no_skill_reference(estimates[0].unit)
        location = "dashed" if x in axis else "outside the axis"
        digits = numbers.rounding((e.value, e.low, e.high) for e in estimates)
        sentences.append(f"{reference[:1].upper()}{reference[1:]}: {digits(x)}, {location}.")
    return sentences


def _difference_caption(differences: Sequence[Difference]) -> list[str]:
    first = differences[0]
    units = numbers.format_count(first.n, shorten_name(first.unit))
    over = f" on the same {units}" if first.n and len({d.n for d in differences}) == 1 else ""
    return [f"Differences: paired{over}; filled dots: significant."]
