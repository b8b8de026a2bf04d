"""Sentences and table of the biases of a judge."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from calipers.report import numbers
from calipers.report.safe_names import join_words, method_text, shorten_name
from calipers.report.tables import (
    INTERVAL,
    KEY,
    METHOD,
    NUMBER,
    NUMBERS,
    REMARKS,
    VALUE,
    WORDS,
    Column,
    drop_empty_columns,
)
from calipers.report.tables import P as P_VALUE
from calipers.results import Evaluation, JudgeBias
from calipers.results.estimate import DEFAULT_SYSTEM_NAME, INTERVAL_REASONS
from calipers.results.judge import MEAN_ERROR

#: What the biases are, for the caption of the table.
_CAPTION = (
    "Errors are scores of the judge minus human labels; a bias is their mean, or the difference of "
    "their means. Length: an output of twice the length; drift: the last time minus the first."
)
#: The most biases without significance that are named one by one.
_MAX_LISTED = 3
_ADJUSTED = "p-values are adjusted by Holm's method, those of mean errors apart from the others."


def split_biases(result: Evaluation) -> tuple[list[JudgeBias], list[JudgeBias]]:
    """Return the mean errors of a judge, and all of its other biases."""
    errors = [bias for bias in result.judge_biases if bias.kind == MEAN_ERROR]
    return errors, [bias for bias in result.judge_biases if bias.kind != MEAN_ERROR]


def sentences(result: Evaluation, show: Callable[[str], str] = shorten_name) -> list[str]:
    """Return what is significant: the mean error of the judge, and its other biases."""
    errors, others = split_biases(result)
    lines = [_error_sentence(errors[-1], show)] if errors else []
    return lines + [_bias_sentence(bias, show) for bias in others if bias.is_significant]


def undetected_sentence(result: Evaluation, show: Callable[[str], str] = shorten_name) -> str:
    """Return what is not significant, and what could have been detected; empty if nothing is."""
    _, others = split_biases(result)
    remaining = [b for b in others if not (math.isnan(b.p_adjusted) or b.is_significant)]
    if not remaining:
        return ""
    topics = dict.fromkeys(_topic(bias, show) for bias in remaining)
    if len(remaining) > _MAX_LISTED:
        topics = dict.fromkeys(bias.kind for bias in remaining)
    amounts = sorted({_amount(bias.min_detectable) for bias in remaining}, key=float)
    span = amounts[0] if len(amounts) == 1 else f"{amounts[0]} to {amounts[-1]}"
    return (
        f"No significant bias by {join_words(list(topics), 'or')}; biases of {span} would be "
        "detected with 80% power."
    )


def _amount(value: float) -> str:
    return f"{value:.2g}"


def _error_sentence(bias: JudgeBias, show: Callable[[str], str]) -> str:
    if math.isnan(bias.value):
        return "The mean error of the judge is undefined."
    subject = "" if bias.contrast == DEFAULT_SYSTEM_NAME else f" on {show(bias.contrast)}"
    tested = numbers.format_p(bias.p_adjusted) if not math.isnan(bias.p_adjusted) else "not tested"
    words = "The judge has a mean error of"
    if bias.is_significant:
        words = f"The judge is too {'lenient' if bias.value > 0 else 'severe'}: mean error"
    detected = ""
    if not bias.is_significant and not math.isnan(bias.min_detectable):
        amount = _amount(bias.min_detectable)
        detected = f"; an error of {amount} would be detected with 80% power"
    return f"{words} {_number(bias)}{subject} ({tested}{detected})."


def _topic(bias: JudgeBias, show: Callable[[str], str]) -> str:
    return f"system ({show(bias.contrast)})" if bias.kind == "system" else bias.kind


def _bias_sentence(bias: JudgeBias, show: Callable[[str], str]) -> str:
    return (
        f"Significant bias by {bias.kind}: the mean error differs by {_number(bias)} "
        f"({show(bias.contrast)}; {numbers.format_p(bias.p_adjusted)})."
    )


def _number(bias: JudgeBias) -> str:
    triple = bias.value, bias.low, bias.high
    return numbers.rounding([triple], keep_sign=True).value_with_interval(*triple)


def columns(biases: Sequence[JudgeBias]) -> list[Column]:
    """Return the columns of the table, with a row for each bias."""
    digits = [
        numbers.rounding([(bias.value, bias.low, bias.high)], keep_sign=True) for bias in biases
    ]
    level = numbers.format_percent(biases[0].level)
    pairs = list(zip(biases, digits, strict=True))
    cells = {
        "values": [round_(b.value) for b, round_ in pairs],
        "intervals": [
            "" if math.isnan(b.low) else f"[{round_(b.low)}, {round_(b.high)}]"
            for b, round_ in pairs
        ],
        "detectable": [
            "" if math.isnan(b.min_detectable) else _amount(b.min_detectable) for b in biases
        ],
        "reasons": [INTERVAL_REASONS.get(b.interval_reason or "", "") for b in biases],
    }
    return drop_empty_columns(
        [
            Column("bias", KEY, [b.kind for b in biases], is_worded=True),
            Column("contrast", KEY, [shorten_name(b.contrast) for b in biases]),
            Column("value", NUMBER, cells["values"], VALUE),
            Column(f"{level} CI", NUMBERS, cells["intervals"], INTERVAL),
            Column("p", NUMBER, [_p(b.p) for b in biases], P_VALUE),
            Column("p (Holm)", NUMBER, [_p(b.p_adjusted) for b in biases]),
            Column("MDD (80% power)", NUMBER, cells["detectable"]),
            Column("method", WORDS, [_method(b) for b in biases], METHOD),
            Column("labels", NUMBER, [f"{b.n:,}" for b in biases]),
            Column("remarks", WORDS, cells["reasons"], REMARKS),
        ]
    )


def _p(p: float) -> str:
    return "" if math.isnan(p) else numbers.format_p_digits(p)


def _method(bias: JudgeBias) -> str:
    method = bias.method if bias.method != "none" else bias.test
    return "" if method == "none" else method_text(method)


def caption(biases: Sequence[JudgeBias]) -> str:
    """Return an explanation of the table."""
    tested = [bias for bias in biases if not math.isnan(bias.p)]
    return f"{_CAPTION} {_ADJUSTED}" if len(tested) > 1 else _CAPTION
