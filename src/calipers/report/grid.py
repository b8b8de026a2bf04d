"""Wide tables in text and as CSV, and where a result is shown so."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from calipers.report.asked import in_names_asked
from calipers.report.columns import GAP, parts
from calipers.report.headlines import MANY_SYSTEMS
from calipers.report.letters import ITSELF, SIGNS, keys, named
from calipers.report.tables import KEY, LINED, Column
from calipers.report.wide import Cell, Wide, is_of_many, is_ranked, marks_of, ordered
from calipers.results import LAYOUTS, NAN, Comparison, Estimate, Evaluation

#: How wide a table may be where nothing says how wide the paper is.
WIDTH = 120
#: Between two columns.
_GAP = 3
BEST = "*"
#: The heading of rows of signs, before the last rank.
BESIDE = "beside 1–"


def is_wide(result: Evaluation | Comparison, layout: str | None) -> bool:
    """Whether a result is shown as a wide table: as asked, else where several systems meet several
    measures, or systems are many; with ``possible`` values, which have no place there, it is
    long."""
    if layout is not None:
        return layout == LAYOUTS[0]
    if isinstance(result, Comparison):
        return is_of_many(result)
    if any(e.possible for e in result):
        return False
    systems, measures = len(result.systems), len(result.measures)
    return systems > MANY_SYSTEMS or min(systems, measures) > 1


def text_tables(made: Wide, width: int | None) -> Iterator[list[Column]]:
    """The columns of the tables below each other that a wide table takes, each with the names.
    Where it is too wide and has more measures than systems, measures are the rows."""
    room = WIDTH if width is None else width
    heads, cells = list(made.measures), [list(row) for row in made.cells]
    about, names = made.about, _ranked_names(made)
    for name, row in made.below:
        names, cells = [*names, name], [*cells, list(row)]
    if len(names) < len(heads) and _width(names, heads, cells, about) > room:
        about, names, heads = "measure", heads, names
        cells = [list(column) for column in zip(*cells, strict=True)]
    elif made.ranked:
        about = f"{'#':>{len(str(len(made.names)))}} {about}"
    columns = [
        Column(head, LINED, _lined(own))
        for head, own in zip(heads, zip(*cells, strict=True), strict=True)
    ]
    if made.signs:
        blank = [""] * (len(names) - len(made.signs))
        beside = Column(f"{BESIDE}{len(made.signs)}", LINED, [*made.signs, *blank])
        if _size(names) + sum(_GAP + _size((c.name, *c.cells)) for c in (*columns, beside)) <= room:
            columns.append(beside)
    taken = [_size((about, *names)), *(_size((c.name, *c.cells)) + _GAP - GAP for c in columns)]
    for part in parts(taken, room):
        yield [Column(about, KEY, names), *(columns[j - 1] for j in part)]


def has_signs(columns: Sequence[Column]) -> bool:
    """Whether there was room for the rows of signs."""
    return columns[-1].name.startswith(BESIDE)


def signs_key(measure: str) -> str:
    """What a row of signs says."""
    better, worse, alike = SIGNS.values()
    return (
        f"Beside each system by {measure}, in the same order: {better} better, {worse} worse, "
        f"{alike} not told apart, {ITSELF} itself."
    )


def _ranked_names(made: Wide) -> list[str]:
    if not made.ranked:
        return list(made.names)
    digits = len(str(len(made.names)))
    return [f"{rank:>{digits}} {name}" for rank, name in enumerate(made.names, 1)]


def _size(texts: Iterable[str]) -> int:
    from rich.cells import cell_len

    return max(map(cell_len, texts))


def _width(
    names: Sequence[str], heads: Sequence[str], cells: Sequence[Sequence[Cell | None]], about: str
) -> int:
    own = (_lined(column) for column in zip(*cells, strict=True))
    sizes = (_size((head, *of)) for head, of in zip(heads, own, strict=True))
    return _size((about, *names)) + sum(_GAP + size for size in sizes)


def _lined(cells: Sequence[Cell | None]) -> list[str]:
    """Values, marks of the best, intervals and letters, each below each other."""
    shown = [cell or Cell("") for cell in cells]
    # What is undefined has no interval, and may reach over to where that would be.
    value = max((len(c.value) for c in shown if c.interval), default=0)
    value = value or max(len(c.value) for c in shown)
    interval = max(len(c.interval) for c in shown)
    star = any(c.best for c in shown)
    lines = []
    for c in shown:
        best = (BEST if c.best else " ") if star else ""
        between = f" {c.interval:>{interval}}" if interval else ""
        lines.append(f"{c.value:>{value}}{best}{between} {c.marks}".rstrip())
    return lines


# ------------------------------------------------------------------------------------------ CSV


@in_names_asked
def csv_rows(evaluation: Evaluation) -> list[dict[str, Any]]:
    """A row a system: the value of each measure, its limits and its marks."""
    marked = marks_of(evaluation)
    limits = {e.measure for e in evaluation if e.has_interval}
    found = {(e.system, e.measure): e for e in evaluation}
    systems = evaluation.systems
    key_of = dict(zip(systems, keys(len(systems)), strict=True))
    keyed = named(evaluation.comparison, len(systems)) and any(
        any(m.values()) for m in marked.values()
    )
    rows = []
    for rank, system in enumerate(ordered(evaluation), 1):
        row: dict[str, Any] = {"rank": rank} if is_ranked(evaluation) else {}
        row |= {"key": key_of[system], "system": system} if keyed else {"system": system}
        for measure in evaluation.measures:
            e = found.get((system, measure), Estimate(measure, NAN))
            row[measure] = e.value
            if measure in limits:
                row |= {f"{measure} low": e.low, f"{measure} high": e.high}
            if any(marked[measure].values()):
                row[f"{measure} marks"] = marked[measure].get(system, "")
        rows.append(row)
    return rows


@in_names_asked
def csv_pairs(comparison: Comparison) -> list[dict[str, Any]]:
    """A row a pair of systems: the difference by each measure, its limits and adjusted p."""
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for d in comparison:
        row = rows.setdefault((d.system, d.baseline), {"system": d.system, "baseline": d.baseline})
        row[d.measure] = d.value
        if not math.isnan(d.low) or d.has_interval:
            row |= {f"{d.measure} low": d.low, f"{d.measure} high": d.high}
        row[f"{d.measure} p"] = d.p_adjusted
    return list(rows.values())
