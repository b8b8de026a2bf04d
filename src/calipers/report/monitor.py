"""Sentences and tables of a sequential evaluation."""

from __future__ import annotations

import math
from collections.abc import Iterator

from calipers.report import numbers
from calipers.report.safe_names import shorten_name
from calipers.report.tables import KEY, NUMBER, NUMBERS, Column, drop_empty_columns
from calipers.results import ONE_SYSTEM, PAIRED, MonitorLook, MonitorResult
from calipers.results.estimate import INTERVAL_REASONS

_HEADINGS = {
    ONE_SYSTEM: "Sequential evaluation",
    PAIRED: "Sequential comparison on the same requests",
}


def heading(result: MonitorResult) -> str:
    """Return the heading."""
    kind = _HEADINGS.get(result.design, "Sequential comparison on split traffic")
    return f"{kind}: {quantity(result)}"


def quantity(result: MonitorResult) -> str:
    """Return the name of the value: that of the system, or a difference."""
    return _quantity(result.system, result.baseline)


def _quantity(system: str, baseline: str) -> str:
    return " - ".join(shorten_name(name) for name in (system, baseline) if name)


def look_line(system: str, baseline: str, look: MonitorLook) -> str:
    """Return an interim look as a line, as it is printed while requests arrive."""
    phrases = [*_outcomes(system, look), _value(_quantity(system, baseline), look)]
    if not math.isnan(look.p):
        phrases.append(_evidence(look))
    return f"request {look.n:,}: {'; '.join(phrases)}"


def sentences(result: MonitorResult) -> list[str]:
    """Return the conclusion, the value with its interval, and what a fixed-size test would do."""
    return list(_sentences(result))


def _sentences(result: MonitorResult) -> Iterator[str]:
    look = result.last
    if not math.isnan(result.target):
        yield _conclusion(result)
    level = numbers.format_percent(result.level)
    outcomes = "".join(f"; {text}" for text in _outcomes(result.system, look))
    if result.interval_reason is None:
        interval = f", {level} {result.method}, which holds at every look"
    else:
        reason = INTERVAL_REASONS.get(result.interval_reason, result.interval_reason)
        interval = f"; no interval: {reason}"
    requests = numbers.format_count(look.n, "requests")
    yield f"{_value(quantity(result), look)}{interval} ({requests}{outcomes})."
    if result.systems and result.design != ONE_SYSTEM:
        means = (
            f"{shorten_name(x.system)} {numbers.format_number(x.mean)} of "
            f"{numbers.format_count(x.n, 'requests')}"
            for x in result.systems
        )
        yield f"Mean scores: {', '.join(means)}."
    if result.fixed_half_width > 0:
        yield _fixed_interval(result)
    if result.drift is not None:
        yield _drift(result)
    if result.every is not None and not math.isnan(result.repeated_test_error):
        yield _repeated_tests(result)


def _fixed_interval(result: MonitorResult) -> str:
    """Return the interval, or the limit, for a fixed number of requests."""
    value, half = result.last.value, result.fixed_half_width
    digits = numbers.common_rounding(value, value - half, value + half)
    if result.alternative == "two-sided":
        interval = f"An interval for a fixed number of {result.last.n:,} requests would be "
        interval += f"±{digits(half)}"
    else:
        limit = value - half if result.alternative == "greater" else value + half
        interval = f"A limit for a fixed number of {result.last.n:,} requests would be "
        interval += digits(limit)
    return f"{interval}; it is not valid if data are looked at more than once."


def _drift(result: MonitorResult) -> str:
    """Return whether the value changed."""
    drift = result.drift
    assert drift is not None
    evidence = f"E = {drift.e_value:.3g}, anytime-valid {numbers.format_p(drift.p)}"
    if drift.p > 1 - result.level:
        return f"No change of the value was found ({evidence})."
    before, after = (numbers.format_number(x) for x in (drift.mean_before, drift.mean_after))
    n_after = result.last.n - drift.n_before
    return (
        f"The value changed: it was {before} in the first {drift.n_before:,} requests and {after} "
        f"in the {n_after:,} after them ({evidence}; the place is an estimate)."
    )


def _conclusion(result: MonitorResult) -> str:
    """Return whether the hypothesis was rejected, and on what evidence."""
    look, evidence = result.last, _evidence(result.last)
    comparison = (
        f"the target {result.target:g}"
        if result.design == ONE_SYSTEM
        else shorten_name(result.baseline)
    )
    if result.design != ONE_SYSTEM and result.target:
        comparison += f" by {result.target:g}"
    if result.decided_at is None:
        return (
            f"No decision after {numbers.format_count(look.n, 'requests')}: {evidence}; the "
            f"hypothesis is rejected at E = {1 / (1 - result.level):.4g}."
        )
    is_higher = (
        look.value > result.target
        if result.alternative == "two-sided"
        else result.alternative == "greater"
    )
    if not result.stopped and look.low <= result.target <= look.high:
        verdict = "the hypothesis was rejected"
    elif result.design == ONE_SYSTEM or result.target:
        verdict = f"{quantity(result)} is {'above' if is_higher else 'below'} "
        verdict += f"{result.target:g}" if result.design != ONE_SYSTEM else comparison
    else:
        word = "higher" if is_higher else "lower"
        verdict = f"{shorten_name(result.system)} scores {word} than {comparison}"
    stop = "Stop" if result.stopped else "Decided"
    return f"{stop} at request {result.decided_at:,}: {verdict} ({evidence})."


def _evidence(look: MonitorLook) -> str:
    """Return the e-value and the p-value."""
    if math.isnan(look.e_value):
        return "no e-value yet"
    e_value = "∞" if math.isinf(look.e_value) else f"{look.e_value:.3g}"
    return f"E = {e_value}, anytime-valid {numbers.format_p(look.p)}"


def _value(name: str, look: MonitorLook) -> str:
    digits = numbers.common_rounding(look.value, look.low, look.high)
    return f"{name} {digits.value_with_interval(look.value, look.low, look.high)}"


def _outcomes(system: str, look: MonitorLook) -> Iterator[str]:
    if look.wins is not None:
        yield f"{shorten_name(system)} won {look.wins:,}, lost {look.losses:,}, tied {look.ties:,}"


def _repeated_tests(result: MonitorResult) -> str:
    """Return what a test of fixed size would do at every look."""
    n_looks = len(result.looks)
    alpha = f"{1 - result.level:.4g}"
    when = (
        "would not have stopped"
        if result.fixed_decided_at is None
        else f"would have stopped at request {result.fixed_decided_at:,}"
    )
    looks = "1 look" if n_looks == 1 else f"{n_looks:,} looks"
    step = numbers.format_count(result.every or 0, "requests")
    return (
        f"A test at p < {alpha} every {step} {when}; with {looks} it rejects a true hypothesis in "
        f"{numbers.format_percent(round(result.repeated_test_error, 2))} of all cases."
    )


def columns(result: MonitorResult) -> list[Column]:
    """Return the columns of the table of looks."""
    looks = [*(look for look in result.looks if look.n < result.last.n), result.last]
    digits = numbers.rounding((look.value, look.low, look.high) for look in looks)
    level = numbers.format_percent(result.level)
    has_test = not math.isnan(result.target)
    counts = {
        name: ["" if getattr(look, name) is None else f"{getattr(look, name):,}" for look in looks]
        for name in ("wins", "losses", "ties")
    }
    return drop_empty_columns(
        [
            Column("requests", KEY, [f"{look.n:,}" for look in looks]),
            *(Column(name, NUMBER, cells) for name, cells in counts.items()),
            Column(quantity(result), NUMBER, [digits(look.value) for look in looks]),
            Column(
                f"{level} CS",
                NUMBERS,
                [digits.format_interval(look.low, look.high) for look in looks],
            ),
            Column("E", NUMBER, [_e_cell(look) if has_test else "" for look in looks]),
            Column(
                "p", NUMBER, [numbers.format_p_digits(look.p) if has_test else "" for look in looks]
            ),
        ]
    )


def _e_cell(look: MonitorLook) -> str:
    if math.isnan(look.e_value):
        return "–"
    return "∞" if math.isinf(look.e_value) else f"{look.e_value:.3g}"
