"""A plan in words and as a table."""

from __future__ import annotations

import math
from collections.abc import Iterator

from calipers.report import numbers
from calipers.report.markdown import escape
from calipers.report.names import short
from calipers.results import NAN, Plan


def sentence(plan: Plan) -> str:
    """The answer, for people."""
    name, units = short(plan.measure), numbers.count(plan.n, plan.unit)
    level = numbers.percent(plan.level)
    if "half_width" in plan.wanted:
        return (
            f"{units} give {name} a {level} interval of about "
            f"±{_digits(plan.half_width)} ({plan.of})."
        )
    if "margin" in plan.wanted:
        what = "equivalence within" if "equivalence" in plan.wanted else "non-inferiority by"
        what = f"{what} {_digits(plan.wanted['margin'])} in {name}"
    elif "reference" in plan.wanted:
        what = f"that {name} is not {_digits(plan.wanted['reference'])}"
    elif "difference" in plan.wanted:
        what = f"a true difference of {_digits(plan.wanted['difference'])} in {name}"
    else:
        what = f"a true difference of {_digits(plan.detectable)} or more in {name}"
        if math.isnan(plan.detectable):
            return (
                f"{units} give {name} a {level} interval of about ±{_digits(plan.half_width)} "
                f"({plan.of})."
            )
        found = numbers.percent(plan.wanted["power"])
        return f"{units} find {what} with {found} power ({plan.method})."
    verb = "find" if "margin" not in plan.wanted and "reference" not in plan.wanted else "show"
    return f"{units} {verb} {what} with {100 * plan.power:.1f}% power ({plan.method})."


def markdown(plan: Plan) -> str:
    """The sentences and the table as GitHub-flavoured Markdown."""
    cells = columns(plan)
    head, rows = list(cells), list(zip(*cells.values(), strict=True))
    said = [escape(line, punctuation=False) for line in lines(plan)]
    table = [head, ["---:"] * len(head), *rows]
    return "\n".join(
        [*said[:1], "", *(f"- {line}" for line in said[1:]), *([""] * (len(said) > 1))]
        + [f"| {' | '.join(row)} |" for row in table]
    )


def text(plan: Plan) -> str:
    """The sentences and the table."""
    cells = columns(plan)
    head, rows = list(cells), list(zip(*cells.values(), strict=True))
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    table = [
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        for row in (head, *rows)
    ]
    return "\n".join([*lines(plan), "", *table])


def lines(plan: Plan) -> Iterator[str]:
    """The sentences."""
    yield sentence(plan)
    if plan.resampled:
        parts = {
            "half_width": f"a half-width of {_digits(plan.resampled.get('half_width', NAN))}",
            "power": f"a power of {100 * plan.resampled.get('power', NAN):.1f}%",
        }
        found = " and ".join(parts[key] for key in parts if key in plan.resampled)
        yield f"Drawing as many from the pilot's {plan.pilot:,} gives {found}."
    if plan.cautious is not None:
        yield (
            f"The pilot has {numbers.count(plan.pilot or 0, plan.unit)} only; to be 80% sure "
            f"of having enough, take {numbers.count(plan.cautious, plan.unit)}."
        )
    if plan.assumed:
        said = ", ".join(f"{key.replace('_', ' ')} {_digits(x)}" for key, x in plan.assumed.items())
        yield f"{'Assumed' if plan.pilot is None else 'Of the pilot'}: {said}."
    if plan.level_each != plan.level:
        yield (
            f"Each comparison is made at {numbers.percent(round(plan.level_each, 6))} (Bonferroni)."
        )
    yield from plan.notes


def columns(plan: Plan) -> dict[str, list[str]]:
    """The table as text, by the names of its columns."""
    names = {
        "n": plan.unit,
        "half_width": f"{numbers.percent(plan.level)} half-width",
        "power": "power",
        "detectable": f"found with {numbers.percent(plan.wanted.get('power', 0.8))} power",
    }
    shown = [n for n in names if any(not math.isnan(getattr(r, n)) for r in plan.table)]
    return {names[name]: [_cell(name, getattr(row, name)) for row in plan.table] for name in shown}


def _cell(name: str, value: float) -> str:
    if math.isnan(value):
        return "–"
    if name == "n":
        return f"{value:,}"
    return f"{100 * value:.1f}%" if name == "power" else _digits(value)


def _digits(value: float) -> str:
    """Three significant digits."""
    return f"{value:.3g}"
