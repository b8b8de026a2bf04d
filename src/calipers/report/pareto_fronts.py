"""Sentences and tables of Pareto fronts of quality and cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from calipers.report import numbers
from calipers.report.safe_names import join_words, shorten_name
from calipers.report.tables import KEY, NUMBER, NUMBERS, WORDS, Column, drop_empty_columns
from calipers.results import ParetoFront, ParetoRow

#: The largest number of systems that are named in sentences.
MAX_NAMED_SYSTEMS = 8
#: Explanation of the column of the front.
DOMINANCE_NOTE = (
    "A system is dominated if another one is at least as good in both quantities and better in "
    "one, by their estimates; all others are on the Pareto front."
)
SIGNIFICANCE_NOTE = (
    " Significantly: the other system is significantly better in both, each at {level}, with "
    "p-values as in the comparisons; a cost that is one number per system need only be no larger."
)
NO_SIGNIFICANCE_NOTE = " No system is significantly dominated in both quantities."


def front_caption(fronts: Sequence[ParetoFront]) -> str:
    """Return an explanation of the words in the table."""
    rows = [row for front in fronts for row in front]
    if any(row.significantly_dominated_by for row in rows):
        return DOMINANCE_NOTE + SIGNIFICANCE_NOTE.format(
            level=numbers.format_percent(round(1 - fronts[0].level, 12))
        )
    return DOMINANCE_NOTE + (NO_SIGNIFICANCE_NOTE if any(row.dominated_by for row in rows) else "")


def front_sentences(front: ParetoFront, name: Callable[[str], str] = shorten_name) -> list[str]:
    """Return sentences on the systems on the front, and on what dominates each other one."""
    front_systems = [name(system) for system in front.systems]
    axes = f"{name(front.measure)} against {name(front.cost_measure)}"
    if not front_systems:
        return []
    listed = (
        join_words(front_systems)
        if len(front_systems) <= MAX_NAMED_SYSTEMS
        else f"{len(front_systems)} of {len(front)} systems"
    )
    first = f"{axes}: {listed} {'is' if len(front_systems) == 1 else 'are'} on the Pareto front."
    dominated_rows = [row for row in front if row.dominated_by]
    if len(dominated_rows) > MAX_NAMED_SYSTEMS:
        n_significant = sum(bool(row.significantly_dominated_by) for row in dominated_rows)
        return [
            first,
            f"{len(dominated_rows)} are dominated, {n_significant} of them significantly.",
        ]
    return [
        first,
        *(f"{name(row.system)} is {dominance_text(row, name)}." for row in dominated_rows),
    ]


def dominance_text(row: ParetoRow, name: Callable[[str], str] = shorten_name) -> str:
    """Return the position of a system: on the front, or the systems that dominate it."""
    if row.on_front:
        return "on the front"
    if not row.dominated_by:
        return ""
    dominating = list(map(name, row.dominated_by))
    listed = (
        join_words(dominating)
        if len(dominating) <= MAX_NAMED_SYSTEMS
        else f"{len(dominating)} systems"
    )
    text = f"dominated by {listed}"
    if not row.significantly_dominated_by:
        return text
    if set(row.dominated_by) <= set(row.significantly_dominated_by):
        return f"{text}, significantly"
    significant = row.significantly_dominated_by[:MAX_NAMED_SYSTEMS]
    return f"{text}, significantly by {join_words(list(map(name, significant)))}"


def row_texts(front: ParetoFront) -> list[tuple[str, str, str, str]]:
    """Return the quality, its interval, the cost and its interval of each system."""
    quality = [(r.quality, r.quality_low, r.quality_high) for r in front]
    cost = [(r.cost, r.cost_low, r.cost_high) for r in front]
    a, b = numbers.rounding(quality), numbers.rounding(cost)
    return [
        (a(q[0]), a.format_interval(q[1], q[2]), b(c[0]), b.format_interval(c[1], c[2]))
        for q, c in zip(quality, cost, strict=True)
    ]


def front_columns(front: ParetoFront) -> list[Column]:
    """Return a table with a row per system, those on the front first, by ascending cost."""
    cells = row_texts(front)
    order = sorted(range(len(front)), key=lambda i: (not front.all[i].on_front, front.all[i].cost))
    quality, quality_intervals, cost, cost_intervals = (
        [cells[i][k] for i in order] for k in range(4)
    )
    level = f"{numbers.format_percent(front.level)} CI"
    columns = [
        Column("system", KEY, [shorten_name(front.all[i].system) for i in order]),
        Column(shorten_name(front.measure), NUMBER, quality),
        Column(level, NUMBERS, quality_intervals),
        Column(shorten_name(front.cost_measure), NUMBER, cost),
        Column(f"{level} ", NUMBERS, cost_intervals),
        Column("Pareto front", WORDS, [dominance_text(front.all[i]) for i in order]),
    ]
    return drop_empty_columns(columns)
