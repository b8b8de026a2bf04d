"""Sentences and tables of learning results: curves, model selection, and tuned thresholds."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from calipers.report import numbers
from calipers.report.safe_names import (
    escape_unprintable,
    join_words,
    method_text,
    shorten_name,
    unique_labels,
)
from calipers.report.tables import KEY, NUMBERS, WORDS, Column, drop_empty_columns
from calipers.results import Estimate
from calipers.results.estimate import DEFAULT_SYSTEM_NAME
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
BOOTSTRAP_NOTE = (
    "The decomposition is conditional on this training set: its sampling error counts as bias, and "
    "variance is that of training sets with repeated rows. Both can differ from those of "
    "independent training sets; use a generator or disjoint subsets to estimate these."
)
_SINGLE_SPLIT_NOTE = (
    "Intervals reflect the sampling of rows for the fitted models; a single split does not show "
    "the variation between training sets. Intervals of training errors are too narrow for models "
    "that overfit."
)
_NEGATIVE_BIAS_NOTE = (
    "The estimate of bias² is unbiased, so it can be negative if bias² is close to 0."
)


def parameter_label(parameter: str) -> str:
    """Return the name of a parameter without the steps of its pipeline."""
    return shorten_name(parameter.rpartition("__")[2])


def heading(result: LearningResult) -> str:
    """Return the heading of a result."""
    if isinstance(result, ValidationCurve):
        return f"Validation curve over {parameter_label(result.parameter)}"
    if isinstance(result, LearningCurve):
        return "Learning curve"
    assert isinstance(result, BiasVariance)
    loss = "squared loss" if result.loss == "squared" else "0–1 loss"
    over = f" over {parameter_label(result.parameter)}" if result.parameter else ""
    return f"Bias and variance{over}, {loss}"


def sentences(result: LearningResult) -> list[str]:
    """Return the headlines of a result."""
    if isinstance(result, ValidationCurve):
        return list(_validation_sentences(result))
    if isinstance(result, LearningCurve):
        return list(_learning_sentences(result))
    assert isinstance(result, BiasVariance)
    return list(_decomposition_sentences(result))


def _validation_sentences(curve: ValidationCurve) -> Iterator[str]:
    best, measure, name = (
        curve[curve.best],
        shorten_name(curve.measure),
        parameter_label(curve.parameter),
    )
    rounding = numbers.common_rounding(
        best.validation.value, best.validation.low, best.validation.high
    )
    word = "highest" if curve.higher_is_better else "lowest"
    yield (
        f"The {word} validation {measure} is {rounding(best.validation.value)}, at {name} "
        f"{shorten_name(curve.best)}."
    )
    if curve.one_se == curve.best:
        yield "No simpler model is within one standard error of it."
    else:
        simplest = shorten_name(curve.one_se)
        yield f"The simplest model within one standard error of it has {name} {simplest}."
    regions = (
        (UNDERFITS, "Underfitting"),
        (OVERFITS, "Overfitting"),
        (WORSE, "Worse than the best"),
    )
    for region, label in regions:
        values = [shorten_name(row.value) for row in curve if row.region == region]
        if values:
            yield f"{label}: {name} {join_words(values)}."
    if not any(row.region for row in curve):
        unit = "rows" if has_single_split(curve) else "splits"
        yield f"No other value is significantly worse on the same {unit}."
    if (tested := curve.test) is not None:
        test_digits = numbers.common_rounding(tested.value, tested.low, tested.high)
        yield (
            f"On the test rows, which were not used for selection, {measure} at {name} "
            f"{shorten_name(curve.one_se)} is "
            f"{test_digits.value_with_interval(tested.value, tested.low, tested.high)}."
        )


def has_single_split(curve: ValidationCurve | LearningCurve) -> bool:
    """Return whether there is one split, with intervals over its rows."""
    return any(row.validation.unit != "splits" for row in curve)


def _learning_sentences(curve: LearningCurve) -> Iterator[str]:
    rows, measure, extrapolation = list(curve), shorten_name(curve.measure), curve.extrapolation
    first, last = rows[0], rows[-1]
    digits = _digits([first.validation, last.validation])
    yield (
        f"Validation {measure} is {digits(first.validation.value)} with {first.n:,} training rows "
        f"and {digits(last.validation.value)} with {last.n:,}."
    )
    if extrapolation.reason is not None:
        yield f"No extrapolation to {extrapolation.n:,} training rows: {extrapolation.reason}."
        return
    e = extrapolation
    digits = numbers.common_rounding(e.value, e.low, e.high)
    gain = e.gain, e.gain_low, e.gain_high
    is_worse = e.gain < 0
    if is_worse:
        gain = -e.gain, -e.gain_high, -e.gain_low
    word = "lower" if curve.higher_is_better == is_worse else "higher"
    curves = f"{join_words(extrapolation.forms)} curve{'s' * (len(extrapolation.forms) > 1)}"
    yield (
        f"Extrapolated to {e.n:,} training rows ({curves}), it is "
        f"{digits.value_with_interval(e.value, e.low, e.high)}, {word} by "
        f"{digits.value_with_interval(*gain)}."
    )


def _decomposition_sentences(decomposition: BiasVariance) -> Iterator[str]:
    rows = list(decomposition)
    errors = [row.components["error"].value for row in rows]
    best = min(range(len(rows)), key=lambda i: errors[i])
    name = parameter_label(decomposition.parameter)
    if len(rows) > 1:
        yield f"The error is smallest at {name} {shorten_name(rows[best].value)}."
    for i in [best] if len(rows) == 1 else sorted({0, best, len(rows) - 1}):
        prefix = f"{name} {shorten_name(rows[i].value)}: " if decomposition.parameter else ""
        error_sum = _error_sum(decomposition, rows[i].components)
        yield f"{prefix}error {_three_digits(errors[i])} = {error_sum}."


def _error_sum(decomposition: BiasVariance, components: Mapping[str, Estimate]) -> str:
    """Format the decomposition of the error."""
    terms = [
        n for n in components if n not in ("error", *["variance"] * (decomposition.loss == "0-1"))
    ]
    text = _three_digits(components[terms[0]].value) + f" {terms[0]}"
    for name in terms[1:]:
        sign = "−" if name == "biased variance" else "+"
        text += f" {sign} {_three_digits(components[name].value)} {name}"
    return text


def _three_digits(value: float) -> str:
    """Format with three significant digits."""
    return f"{value:,.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def notes(result: LearningResult) -> list[str]:
    """Return notes on the methods and on the input."""
    if isinstance(result, BiasVariance):
        training_sets = f"{result.training_sets:,} training sets of {result.trained_on:,} rows"
        lines = [f"{training_sets}, {SOURCES[result.source]}; tested on {result.tested_on:,} rows."]
        if result.source == BOOTSTRAP:
            lines.append(BOOTSTRAP_NOTE)
        if any(
            name == "bias²" and e.value < 0 for row in result for name, e in row.components.items()
        ):
            lines.append(_NEGATIVE_BIAS_NOTE)
        return [
            *lines,
            *_methods(result, result.components),
            *map(escape_unprintable, result.notes),
        ]
    assert isinstance(result, ValidationCurve | LearningCurve)
    splits = f"{result.splits[:1].upper()}{escape_unprintable(result.splits[1:])}"
    lines = [
        f"{splits}. {_SINGLE_SPLIT_NOTE}"
        if has_single_split(result)
        else f"{splits}; values are means over its splits."
    ]
    return [
        *lines,
        *_methods(result, ("training", "validation")),
        *map(escape_unprintable, result.notes),
    ]


def _methods(result: LearningResult, names: Sequence[str]) -> Iterator[str]:
    """Yield notes on the methods of the intervals."""
    names_by_method: dict[str, dict[str, None]] = {}
    values_by_caution: dict[str, dict[str, None]] = {}
    for name in names:
        for e in _estimates(result, name):
            if e.has_interval:
                method, _, caution = e.method.partition(", but ")
                names_by_method.setdefault(method, {})[name] = None
                if caution:
                    values_by_caution.setdefault(caution, {})[e.system] = None
    level = numbers.format_percent(result.level)
    if names_by_method:
        methods_text = "; ".join(
            f"{join_words(list(method_names))}: {method_text(method)}"
            for method, method_names in names_by_method.items()
        )
        yield f"{level} CIs: {methods_text}."
    for caution, values in values_by_caution.items():
        value_names = [shorten_name(value) for value in values if value]
        location = "They"
        if value_names:
            parameter = parameter_label(result.parameter)  # type: ignore[attr-defined]
            location = f"At {parameter} {join_words(value_names)} they"
        yield f"{location} may be too narrow: {shorten_name(caution)}."


def _estimates(result: LearningResult, name: str) -> list[Estimate]:
    if isinstance(result, BiasVariance):
        return [row.components[name] for row in result if name in row.components]
    assert isinstance(result, ValidationCurve | LearningCurve)
    return [getattr(row, name) for row in result]


def columns(result: LearningResult) -> list[Column]:
    """Return the columns of a table with a row per value or size."""
    if isinstance(result, BiasVariance):
        key = Column(parameter_label(result.parameter), KEY, _names(result))
        labeled_fields = [(field, field) for field in result.components]
    elif isinstance(result, ValidationCurve):
        key = Column(parameter_label(result.parameter), KEY, _names(result))
        labeled_fields = [
            (f"{field} {shorten_name(result.measure)}", field)
            for field in ("training", "validation")
        ]
    else:
        assert isinstance(result, LearningCurve)
        key = Column("rows", KEY, [f"{row.n:,}" for row in result])
        labeled_fields = [
            (f"{field} {shorten_name(result.measure)}", field)
            for field in ("training", "validation")
        ]
    table_columns = [
        key,
        *(
            Column(name, NUMBERS, _cells(_estimates(result, field)))
            for name, field in labeled_fields
        ),
    ]
    if isinstance(result, ValidationCurve):
        table_columns += _best_difference_columns(result)
    return drop_empty_columns(table_columns)


def _names(result: ValidationCurve | BiasVariance) -> list[str]:
    label_by_value = unique_labels([row.value for row in result])
    return [label_by_value[row.value] if row.value else "" for row in result]


def _cells(estimates: Sequence[Estimate]) -> list[str]:
    """Format estimates, each with its own digits, since errors differ by orders of magnitude."""
    return [
        numbers.common_rounding(e.value, e.low, e.high).value_with_interval(e.value, e.low, e.high)
        if e.has_interval
        else f"{e.value:.3g}"
        for e in estimates
    ]


def _best_difference_columns(curve: ValidationCurve) -> list[Column]:
    cells, words = [], []
    for row in curve:
        d = row.difference
        cells.append(
            ""
            if d is None
            else numbers.rounding([(d.value, d.low, d.high)], keep_sign=True).value_with_interval(
                d.value, d.low, d.high
            )
        )
        remarks = [row.region, "best" * (row.value == curve.best)]
        remarks.append("one standard error" * (row.value == curve.one_se != curve.best))
        words.append(", ".join(filter(None, remarks)))
    return [Column("difference from the best", NUMBERS, cells), Column("remarks", WORDS, words)]


def _digits(estimates: Sequence[Estimate]) -> numbers.Rounding:
    return numbers.rounding([(e.value, e.low, e.high) for e in estimates])


def learning_table(result: LearningResult) -> tuple[list[str], list[list[str]]]:
    """Return the headings and the rows of the table."""
    table_columns = columns(result)
    return [c.name for c in table_columns], [
        list(row) for row in zip(*(c.cells for c in table_columns), strict=True)
    ]


# --- Model selection ------------------------------------------------------------------------------


SELECTION_HEADING = "Model selection"


def selection_sentence(selection: Selection) -> str:
    """Return the headline: the apparent and the corrected value of the best candidate."""
    apparent, corrected, optimism = (
        selection[selection.best].apparent,
        selection.corrected,
        selection.optimism,
    )
    digits = numbers.rounding(
        [(estimate.value, estimate.low, estimate.high) for estimate in (apparent, corrected)]
    )
    optimism_digits = numbers.common_rounding(optimism.value, optimism.low, optimism.high)
    optimism_text = optimism_digits.value_with_interval(optimism.value, optimism.low, optimism.high)
    return (
        f"{shorten_name(selection.best)} is the best of {len(selection.candidates)} candidates: "
        f"apparent {shorten_name(selection.measure)} {digits(apparent.value)}. Corrected for "
        "selection, it is "
        f"{digits.value_with_interval(corrected.value, corrected.low, corrected.high)} "
        f"(optimism {optimism_text})."
    )


def selection_notes(selection: Selection) -> list[str]:
    """Return notes on the methods and on the input."""
    level = numbers.format_percent(selection.level)
    method_by_label = {
        "apparent": selection[selection.best].apparent.method,
        "corrected": selection.corrected.method,
        "optimism": selection.optimism.method,
    }
    methods_text = "; ".join(
        f"{label}: {method_text(method)}"
        for label, method in method_by_label.items()
        if method != "none"
    )
    return [
        *([f"{level} CIs: {methods_text}."] if methods_text else []),
        *map(escape_unprintable, selection.notes),
    ]


def selection_columns(selection: Selection) -> list[Column]:
    """Return the columns of a table with a row per candidate."""
    label_by_name = unique_labels([candidate.name for candidate in selection])
    estimates = [candidate.apparent for candidate in selection]
    digits = numbers.rounding([(e.value, e.low, e.high) for e in estimates])
    table_columns = [
        Column("candidate", KEY, [label_by_name[candidate.name] for candidate in selection]),
        Column(
            shorten_name(selection.measure),
            NUMBERS,
            [digits.value_with_interval(e.value, e.low, e.high) for e in estimates],
        ),
        Column(
            "selected", NUMBERS, [f"{candidate.selection_frequency:.0%}" for candidate in selection]
        ),
    ]
    return drop_empty_columns(table_columns)


# --- Tuned thresholds -----------------------------------------------------------------------------


def threshold_sentence(threshold: TunedThreshold) -> str:
    """Return the threshold, and its gains on the rows it was chosen on and on other rows."""
    name = (
        f"{shorten_name(threshold.system)}: "
        if threshold.system not in ("", DEFAULT_SYSTEM_NAME)
        else ""
    )
    measure = shorten_name(threshold.measure)
    begin = f"{name}the" if name else "The"
    chosen = (
        f"{begin} threshold for the best {shorten_name(threshold.rule)} is "
        f"{_thresholds(threshold)}, chosen on {threshold.chosen_on}"
    )
    rounding = numbers.rounding(
        [(v, math.nan, math.nan) for v in (threshold.apparent_tuned, threshold.tuned)]
    )
    if math.isnan(threshold.default):
        return (
            f"{chosen}. There {measure} is {rounding(threshold.apparent_tuned)}, on other rows "
            f"{rounding(threshold.tuned)}."
        )
    gain = threshold.gain.value, threshold.gain.low, threshold.gain.high
    gain_digits = numbers.common_rounding(*gain)
    apparent_digits = (
        gain_digits
        if threshold.gain.has_interval
        else numbers.common_rounding(threshold.apparent_gain)
    )
    return (
        f"{chosen}. There it changes {measure} from {rounding(threshold.apparent_default)} to "
        f"{rounding(threshold.apparent_tuned)}, by {apparent_digits(threshold.apparent_gain)}; on "
        f"other rows from {rounding(threshold.default)} to {rounding(threshold.tuned)}, by "
        f"{gain_digits.value_with_interval(*gain)}."
    )


def _thresholds(threshold: TunedThreshold) -> str:
    """Format the threshold, or the range of those of several splits."""
    thresholds = threshold.thresholds[~np.isnan(threshold.thresholds)]
    if not len(thresholds):
        return numbers.UNDEFINED
    limits = [_format_threshold(thresholds.min()), _format_threshold(thresholds.max())]
    return limits[0] if limits[0] == limits[1] else f"{limits[0]} to {limits[1]}, by split"


def _format_threshold(value: float) -> str:
    return "∞" if math.isinf(value) else f"{value:.3g}"
