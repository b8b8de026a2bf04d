"""Sentences and tables of learning results: curves, model selection, and tuned thresholds."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from calipers.report import numbers
from calipers.report.safe_names import escape_unprintable, join_words, shorten_name, unique_labels
from calipers.report.tables import KEY, NUMBERS, WORDS, Column, drop_empty_columns
from calipers.results import Estimate
from calipers.results.estimate import UNNAMED
from calipers.results.learning import (
    BOOTSTRAP,
    DISJOINT,
    GENERATED,
    OVERFITS,
    UNDERFITS,
    WORSE,
    BiasVariance,
    LearningCurve,
    LearningResult,
    Selection,
    TunedThreshold,
    ValidationCurve,
)

#: How the training sets of a decomposition were obtained.
SOURCES = {
    GENERATED: "each newly generated",
    DISJOINT: "disjoint subsets of the rows",
    BOOTSTRAP: "bootstrap samples of one training set",
}
#: The note on bootstrap samples of one training set.
OF_ONE_SET = (
    "The decomposition is conditional on this training set: its sampling error counts as bias, and "
    "variance is that of training sets with repeated rows. Both can differ from those of "
    "independent training sets; use a generator or disjoint subsets to estimate these."
)
_OF_ROWS = (
    "Intervals reflect the sampling of rows for the fitted models; a single split does not show "
    "the variation between training sets. Intervals of training errors are too narrow for models "
    "that overfit."
)
_NEGATIVE = (
    "The estimator of bias² is unbiased, so estimates can be negative where bias² is close to 0."
)
_NEGATIVE = "The estimate of bias² is unbiased, so it can be negative if bias² is close to 0."


def parameter_label(parameter: str) -> str:
    """Return the name of a parameter without the steps of its pipeline."""
    return shorten_name(parameter.rpartition("__")[2])


def heading(of: LearningResult) -> str:
    """Return the heading of a result."""
    if isinstance(of, ValidationCurve):
        return f"Validation curve over {parameter_label(of.parameter)}"
    if isinstance(of, LearningCurve):
        return "Learning curve"
    assert isinstance(of, BiasVariance)
    loss = "squared loss" if of.loss == "squared" else "0–1 loss"
    over = f" over {parameter_label(of.parameter)}" if of.parameter else ""
    return f"Bias and variance{over}, {loss}"


def sentences(of: LearningResult) -> list[str]:
    """Return the headlines of a result."""
    if isinstance(of, ValidationCurve):
        return list(_validation_sentences(of))
    if isinstance(of, LearningCurve):
        return list(_learning_sentences(of))
    assert isinstance(of, BiasVariance)
    return list(_decomposition_sentences(of))


def _validation_sentences(of: ValidationCurve) -> Iterator[str]:
    best, measure, name = of[of.best], shorten_name(of.measure), parameter_label(of.parameter)
    value = numbers.rounding_of_one(
        best.validation.value, best.validation.low, best.validation.high
    )
    word = "highest" if of.higher_is_better else "lowest"
    yield (
        f"The {word} validation {measure} is {value(best.validation.value)}, at {name} "
        f"{shorten_name(of.best)}."
    )
    if of.one_se == of.best:
        yield "No simpler model is within one standard error of it."
    else:
        simplest = shorten_name(of.one_se)
        yield f"The simplest model within one standard error of it has {name} {simplest}."
    regions = (
        (UNDERFITS, "Underfitting"),
        (OVERFITS, "Overfitting"),
        (WORSE, "Worse than the best"),
    )
    for region, said in regions:
        values = [shorten_name(row.value) for row in of if row.region == region]
        if values:
            yield f"{said}: {name} {join_words(values)}."
    if not any(row.region for row in of):
        paired = "rows" if is_once(of) else "splits"
        yield f"No other value is significantly worse on the same {paired}."
    if (tested := of.test) is not None:
        at = numbers.rounding_of_one(tested.value, tested.low, tested.high)
        yield (
            f"On the test rows, which were not used for selection, {measure} at {name} "
            f"{shorten_name(of.one_se)} is {at.triple(tested.value, tested.low, tested.high)}."
        )


def is_once(of: ValidationCurve | LearningCurve) -> bool:
    """Return whether there is one split, with intervals over its rows."""
    return any(row.validation.unit != "splits" for row in of)


def _learning_sentences(of: LearningCurve) -> Iterator[str]:
    rows, measure, more = list(of), shorten_name(of.measure), of.extrapolation
    first, last = rows[0], rows[-1]
    digits = _digits([first.validation, last.validation])
    yield (
        f"Validation {measure} is {digits(first.validation.value)} with {first.n:,} training rows "
        f"and {digits(last.validation.value)} with {last.n:,}."
    )
    if more.reason is not None:
        yield f"No extrapolation to {more.n:,} training rows: {more.reason}."
        return
    at = numbers.rounding_of_one(more.value, more.low, more.high)
    word = "higher" if of.higher_is_better else "lower"
    curves = f"{join_words(more.forms)} curve{'s' * (len(more.forms) > 1)}"
    yield (
        f"Extrapolated to {more.n:,} training rows ({curves}), it is "
        f"{at.triple(more.value, more.low, more.high)}, {word} by "
        f"{at.triple(more.gain, more.gain_low, more.gain_high)}."
    )


def _decomposition_sentences(of: BiasVariance) -> Iterator[str]:
    rows = list(of)
    errors = [row.parts["error"].value for row in rows]
    best = min(range(len(rows)), key=lambda i: errors[i])
    name = parameter_label(of.parameter)
    if len(rows) > 1:
        yield f"The error is smallest at {name} {shorten_name(rows[best].value)}."
    for i in [best] if len(rows) == 1 else sorted({0, best, len(rows) - 1}):
        where = f"{name} {shorten_name(rows[i].value)}: " if of.parameter else ""
        yield f"{where}error {_three_digits(errors[i])} = {_error_sum(of, rows[i].parts)}."


def _error_sum(of: BiasVariance, parts: Mapping[str, Estimate]) -> str:
    """Format the decomposition of the error."""
    terms = [n for n in parts if n not in ("error", *["variance"] * (of.loss == "0-1"))]
    text = _three_digits(parts[terms[0]].value) + f" {terms[0]}"
    for name in terms[1:]:
        sign = "−" if name == "biased variance" else "+"
        text += f" {sign} {_three_digits(parts[name].value)} {name}"
    return text


def _three_digits(value: float) -> str:
    """Format with three significant digits."""
    return f"{value:,.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def notes(of: LearningResult) -> list[str]:
    """Return notes on the methods and on the input."""
    if isinstance(of, BiasVariance):
        drawn = f"{of.training_sets:,} training sets of {of.trained_on:,} rows"
        made = [f"{drawn}, {SOURCES[of.source]}; tested on {of.tested_on:,} rows."]
        if of.source == BOOTSTRAP:
            made.append(OF_ONE_SET)
        if any(name == "bias²" and e.value < 0 for row in of for name, e in row.parts.items()):
            made.append(_NEGATIVE)
        return [*made, *_methods(of, of.parts), *map(escape_unprintable, of.notes)]
    assert isinstance(of, ValidationCurve | LearningCurve)
    what = f"{of.splits[:1].upper()}{escape_unprintable(of.splits[1:])}"
    made = [f"{what}. {_OF_ROWS}" if is_once(of) else f"{what}; values are means over its splits."]
    return [*made, *_methods(of, ("training", "validation")), *map(escape_unprintable, of.notes)]


def _methods(of: LearningResult, parts: Sequence[str]) -> Iterator[str]:
    """Yield notes on the methods of the intervals."""
    by: dict[str, dict[str, None]] = {}
    against: dict[str, dict[str, None]] = {}
    for part in parts:
        for e in _estimates(of, part):
            if e.has_interval:
                method, _, caution = e.method.partition(", but ")
                by.setdefault(method, {})[part] = None
                if caution:
                    against.setdefault(caution, {})[e.system] = None
    level = numbers.format_percent(of.level)
    if by:
        told = "; ".join(f"{join_words(list(own))}: {shorten_name(way)}" for way, own in by.items())
        yield f"{level} CIs: {told}."
    for caution, values in against.items():
        named = [shorten_name(value) for value in values if value]
        where = f"At {parameter_label(of.parameter)} {join_words(named)} they" if named else "They"  # type: ignore[attr-defined]
        yield f"{where} may be too narrow: {shorten_name(caution)}."


def _estimates(of: LearningResult, part: str) -> list[Estimate]:
    if isinstance(of, BiasVariance):
        return [row.parts[part] for row in of if part in row.parts]
    assert isinstance(of, ValidationCurve | LearningCurve)
    return [getattr(row, part) for row in of]


def columns(of: LearningResult) -> list[Column]:
    """Return the columns of a table with a row per value or size."""
    if isinstance(of, BiasVariance):
        key = Column(parameter_label(of.parameter), KEY, _names(of))
        named = [(part, part) for part in of.parts]
    elif isinstance(of, ValidationCurve):
        key = Column(parameter_label(of.parameter), KEY, _names(of))
        named = [
            (f"{part} {shorten_name(of.measure)}", part) for part in ("training", "validation")
        ]
    else:
        assert isinstance(of, LearningCurve)
        key = Column("rows", KEY, [f"{row.n:,}" for row in of])
        named = [
            (f"{part} {shorten_name(of.measure)}", part) for part in ("training", "validation")
        ]
    made = [key, *(Column(name, NUMBERS, _cells(_estimates(of, part))) for name, part in named)]
    if isinstance(of, ValidationCurve):
        made += _best_difference_columns(of)
    return drop_empty_columns(made)


def _names(of: ValidationCurve | BiasVariance) -> list[str]:
    named = unique_labels([row.value for row in of])
    return [named[row.value] if row.value else "" for row in of]


def _cells(estimates: Sequence[Estimate]) -> list[str]:
    """Format estimates, each with its own digits, since errors differ by orders of magnitude."""
    return [
        numbers.rounding_of_one(e.value, e.low, e.high).triple(e.value, e.low, e.high)
        if e.has_interval
        else f"{e.value:.3g}"
        for e in estimates
    ]


def _best_difference_columns(of: ValidationCurve) -> list[Column]:
    cells, words = [], []
    for row in of:
        d = row.difference
        cells.append(
            ""
            if d is None
            else numbers.rounding([(d.value, d.low, d.high)], keep_sign=True).triple(
                d.value, d.low, d.high
            )
        )
        said = [row.region, "best" * (row.value == of.best)]
        said.append("one standard error" * (row.value == of.one_se != of.best))
        words.append(", ".join(filter(None, said)))
    return [Column("difference from the best", NUMBERS, cells), Column("remarks", WORDS, words)]


def _digits(estimates: Sequence[Estimate]) -> numbers.Rounding:
    return numbers.rounding([(e.value, e.low, e.high) for e in estimates])


def grid(of: LearningResult) -> tuple[list[str], list[list[str]]]:
    """Return the headings and the rows of the table."""
    made = columns(of)
    return [c.name for c in made], [list(row) for row in zip(*(c.cells for c in made), strict=True)]


# --- Model selection ------------------------------------------------------------------------------


SELECTION_HEADING = "Model selection"


def selection_sentence(of: Selection) -> str:
    """Return the headline: the apparent and the corrected value of the best candidate."""
    shown, honest, optimism = of[of.best].apparent, of.corrected, of.optimism
    digits = numbers.rounding([(one.value, one.low, one.high) for one in (shown, honest)])
    apart = numbers.rounding_of_one(optimism.value, optimism.low, optimism.high)
    by = apart.triple(optimism.value, optimism.low, optimism.high)
    return (
        f"{shorten_name(of.best)} is the best of {len(of.candidates)} candidates: apparent "
        f"{shorten_name(of.measure)} {digits(shown.value)}. Corrected for selection, it is "
        f"{digits.triple(honest.value, honest.low, honest.high)} (optimism {by})."
    )


def selection_notes(of: Selection) -> list[str]:
    """Return notes on the methods and on the input."""
    level = numbers.format_percent(of.level)
    ways = {
        "apparent": of[of.best].apparent.method,
        "corrected": of.corrected.method,
        "optimism": of.optimism.method,
    }
    told = "; ".join(f"{what}: {shorten_name(way)}" for what, way in ways.items() if way != "none")
    return [*([f"{level} CIs: {told}."] if told else []), *map(escape_unprintable, of.notes)]


def selection_columns(of: Selection) -> list[Column]:
    """Return the columns of a table with a row per candidate."""
    named = unique_labels([one.name for one in of])
    estimates = [one.apparent for one in of]
    digits = numbers.rounding([(e.value, e.low, e.high) for e in estimates])
    made = [
        Column("candidate", KEY, [named[one.name] for one in of]),
        Column(
            shorten_name(of.measure),
            NUMBERS,
            [digits.triple(e.value, e.low, e.high) for e in estimates],
        ),
        Column("selected", NUMBERS, [f"{one.selection_frequency:.0%}" for one in of]),
    ]
    return drop_empty_columns(made)


# --- Tuned thresholds -----------------------------------------------------------------------------


def threshold_sentence(of: TunedThreshold) -> str:
    """Return the threshold, and its gains on the rows it was chosen on and on other rows."""
    name = f"{shorten_name(of.system)}: " if of.system not in ("", UNNAMED) else ""
    measure = shorten_name(of.measure)
    begin = f"{name}the" if name else "The"
    chosen = (
        f"{begin} threshold for the best {shorten_name(of.rule)} is {_thresholds(of)}, chosen on "
    )
    chosen += f"{of.chosen_on}"
    value = numbers.rounding([(v, math.nan, math.nan) for v in (of.tuned_there, of.tuned)])
    if math.isnan(of.usual):
        return (
            f"{chosen}. There {measure} is {value(of.tuned_there)}, on other rows "
            f"{value(of.tuned)}."
        )
    gain = numbers.rounding_of_one(of.gain.value, of.gain.low, of.gain.high)
    there = gain if of.gain.has_interval else numbers.rounding_of_one(of.seemed)
    return (
        f"{chosen}. There it changes {measure} from {value(of.usual_there)} to "
        f"{value(of.tuned_there)}, by {there(of.seemed)}; on other rows from {value(of.usual)} to "
        f"{value(of.tuned)}, by {gain.triple(of.gain.value, of.gain.low, of.gain.high)}."
    )


def _thresholds(of: TunedThreshold) -> str:
    """Format the threshold, or the range of those of several splits."""
    own = of.thresholds[~np.isnan(of.thresholds)]
    if not len(own):
        return numbers.UNDEFINED
    ends = [_number(own.min()), _number(own.max())]
    return ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}, by split"


def _number(value: float) -> str:
    return "∞" if math.isinf(value) else f"{value:.3g}"
