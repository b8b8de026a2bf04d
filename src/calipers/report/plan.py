"""Sentences and tables of a plan."""

from __future__ import annotations

import math
from collections.abc import Iterator

from calipers.report import numbers
from calipers.report.safe_names import method_text, shorten_name
from calipers.report.tables import KEY, NUMBER, Column
from calipers.results import NAN, LabelSelection, Plan


def plan_sentence(plan: Plan) -> str:
    """Return the main result in a sentence."""
    name = shorten_name(plan.requested_name or plan.measure)
    units = numbers.format_count(plan.n, plan.unit)
    level = numbers.format_percent(plan.level)
    half_width_text = _digits(plan.half_width)
    size = f"has a half-width of about {half_width_text}"
    half_width_sentence = (
        f"With {units}, the {level} interval of {name} {size} ({method_text(plan.half_width_of)})."
    )
    if "half_width" in plan.targets:
        return half_width_sentence
    verb, power = "detected", f"{100 * plan.power:.1f}%"
    if "margin" in plan.targets:
        kind = "equivalence within" if "equivalence" in plan.targets else "non-inferiority by"
        verb, effect = "shown", f"{kind} {_digits(plan.targets['margin'])} in {name}"
    elif "reference" in plan.targets:
        effect = f"a difference of {name} from {_digits(plan.targets['reference'])}"
    elif "difference" in plan.targets:
        effect = f"a true difference of {_digits(plan.targets['difference'])} in {name}"
    elif math.isnan(plan.min_detectable):
        return half_width_sentence
    else:
        effect = f"a true difference of {_digits(plan.min_detectable)} or more in {name}"
        power = numbers.format_percent(plan.targets["power"])
    return f"With {units}, {effect} is {verb} with {power} power ({method_text(plan.method)})."


def plan_sentences(plan: Plan) -> Iterator[str]:
    """Yield the sentences."""
    yield plan_sentence(plan)
    if plan.n_assured is not None and {"half_width", "assurance"} <= set(plan.targets):
        yield (
            "This is the expected half-width. With "
            f"{numbers.format_count(plan.n_assured, plan.unit)} it is "
            f"{_digits(plan.targets['half_width'])} or less with "
            f"{numbers.format_percent(plan.targets['assurance'])} probability."
        )
    if plan.simulated:
        phrases = {
            "half_width": f"a half-width of {_digits(plan.simulated.get('half_width', NAN))}",
            "power": f"a power of {100 * plan.simulated.get('power', NAN):.1f}%",
        }
        simulated_text = " and ".join(phrases[key] for key in phrases if key in plan.simulated)
        yield f"Resampling as many from the {plan.pilot:,} of the pilot gives {simulated_text}."
    if plan.n_conservative is not None:
        yield (
            f"The pilot has only {numbers.format_count(plan.pilot or 0, plan.unit)}; "
            f"{numbers.format_count(plan.n_conservative, plan.unit)} suffice with 80% confidence."
        )
    if plan.assumed:
        # Assumptions are printed as given: 0.9999 is not 1.
        digits, prefix = (
            (_format_input, "Assumed") if plan.pilot is None else (_digits, "Of the pilot")
        )
        assumptions = ", ".join(
            f"{key.replace('_', ' ')} {digits(x)}" for key, x in plan.assumed.items()
        )
        yield f"{prefix}: {assumptions}."
    if plan.level_each != plan.level:
        yield (
            "Confidence level of each comparison: "
            f"{numbers.format_percent(round(plan.level_each, 6))} (Bonferroni)."
        )
    yield from plan.notes


def columns(plan: Plan) -> list[Column]:
    """Return the columns of the table."""
    names = {
        "n": plan.unit,
        "half_width": f"{numbers.format_percent(plan.level)} half-width",
        "power": "power",
        "min_detectable": f"MDD ({numbers.format_percent(plan.targets.get('power', 0.8))} power)",
    }
    nonempty_names = [n for n in names if any(not math.isnan(getattr(r, n)) for r in plan.table)]
    return [
        Column(names[name], NUMBER, [_cell(name, getattr(row, name)) for row in plan.table])
        for name in nonempty_names
    ]


def stratum_columns(selection: LabelSelection) -> list[Column]:
    """Return the columns of the table of strata from which cases are selected for labels."""
    strata = selection.strata
    return [
        Column("stratum", KEY, [shorten_name(s.name) for s in strata]),
        Column("cases", NUMBER, [f"{s.n_cases:,}" for s in strata]),
        Column("labeled", NUMBER, [f"{s.n_labeled:,}" for s in strata]),
        Column("label next", NUMBER, [f"{s.n_planned - s.n_labeled:,}" for s in strata]),
        Column("π", NUMBER, [_digits(s.probability) for s in strata]),
        Column("sd", NUMBER, [_digits(s.sd) for s in strata]),
    ]


def _cell(name: str, value: float) -> str:
    if math.isnan(value):
        return "–"
    if name == "n":
        return f"{value:,}"
    return f"{100 * value:.1f}%" if name == "power" else _digits(value)


def _digits(value: float) -> str:
    """Format a number with three significant digits."""
    return f"{value:.3g}"


def _format_input(value: float) -> str:
    return f"{value:.12g}"
