"""What a selection says: its sentence, notes and table."""

from __future__ import annotations

from calipers.report import numbers
from calipers.report.names import labels, short, visible
from calipers.report.tables import KEY, NUMBERS, Column, filled
from calipers.results.learning import Selection

HEADING = "The best of several"


def sentence(of: Selection) -> str:
    """What the best shows, and what it is worth."""
    shown, honest, optimism = of[of.best].shown, of.honest, of.optimism
    digits = numbers.rounding([(one.value, one.low, one.high) for one in (shown, honest)])
    apart = numbers.single(optimism.value, optimism.low, optimism.high)
    by = apart.triple(optimism.value, optimism.low, optimism.high)
    return (
        f"{short(of.best)} is the best of {len(of.candidates)}: {short(of.measure)} "
        f"{digits(shown.value)}. What is chosen so is worth "
        f"{digits.triple(honest.value, honest.low, honest.high)} on other data: choosing flatters "
        f"it by {by}."
    )


def notes(of: Selection) -> list[str]:
    """How the numbers were made, and what was odd."""
    level = numbers.percent(of.level)
    ways = {
        "shown": of[of.best].shown.method,
        "worth": of.honest.method,
        "flattered": of.optimism.method,
    }
    told = "; ".join(f"{what}: {short(way)}" for what, way in ways.items() if way != "none")
    return [*([f"{level} intervals: {told}."] if told else []), *map(visible, of.notes)]


def columns(of: Selection) -> list[Column]:
    """A row a candidate."""
    named = labels([one.name for one in of])
    estimates = [one.shown for one in of]
    digits = numbers.rounding([(e.value, e.low, e.high) for e in estimates])
    made = [
        Column("candidate", KEY, [named[one.name] for one in of]),
        Column(
            short(of.measure), NUMBERS, [digits.triple(e.value, e.low, e.high) for e in estimates]
        ),
        Column("chosen", NUMBERS, [f"{one.chosen:.0%}" for one in of]),
    ]
    return filled(made)
