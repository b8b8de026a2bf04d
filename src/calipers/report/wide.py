"""Systems by measures, one number a cell: what a paper prints, with what tells systems apart."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from calipers.report import numbers
from calipers.report.grouping import grouped
from calipers.report.names import joined, labels, short
from calipers.report.rows import arrow, definitions_of
from calipers.report.verdict import Outcome, adjustment_text, outcome, pairs
from calipers.results import Comparison, Difference, Evaluation

#: Of more systems than these a cell no longer names those that it is better than.
MOST_NAMED = 10
BETTER, WORSE = "†", "‡"
#: What a mark says of a system beside the baseline, or of a difference.
_MARKS = {
    Outcome.BETTER: BETTER,
    Outcome.HIGHER: BETTER,
    Outcome.WORSE: WORSE,
    Outcome.LOWER: WORSE,
}


@dataclass(frozen=True, slots=True)
class Cell:
    """A number, its interval, whether it is the best of its column, and what it is told apart
    from."""

    value: str
    interval: str = ""
    best: bool = False
    marks: str = ""


@dataclass(frozen=True, slots=True)
class Wide:
    """A table of a row for each system, or pair of systems, and a column for each measure; the
    first column is ``about``, and ``said`` what its numbers and marks mean."""

    about: str
    names: tuple[str, ...]
    measures: tuple[str, ...]
    cells: tuple[tuple[Cell | None, ...], ...]
    said: tuple[str, ...]


def of_evaluation(evaluation: Evaluation, *, intervals: bool = True) -> Wide:
    """A row a system, in the order in which they were given."""
    names, comparison = labels(evaluation.systems), evaluation.comparison
    direction = {m: d.higher_is_better for m, d in definitions_of(evaluation).items()}
    arrows = {m: arrow(d) for m, d in definitions_of(evaluation).items()}
    columns, marked = [], False
    keys = dict(zip(names, _keys(len(names)), strict=True))
    for measure, group in grouped(evaluation, lambda e: e.measure).items():
        digits = numbers.rounding((e.value, e.low, e.high) for e in group)
        values = {e.system: e.value for e in group if not math.isnan(e.value)}
        best = _best(values, direction.get(measure))
        differences = [d for d in comparison or () if d.measure == measure]
        marks = _marks(comparison, differences, values, keys)
        marked |= any(marks.values())
        columns.append(
            {
                e.system: Cell(
                    digits(e.value),
                    digits.interval(e.low, e.high),
                    e.value == best,
                    marks.get(e.system, ""),
                )
                for e in group
            }
        )
    said = [
        _units(evaluation, intervals=intervals),
        "The best values are bold." if len(names) > 1 else "",
    ]
    if comparison is not None and len(comparison):
        said += _told(comparison, marked, len(names))
    keyed = marked and _named(comparison, len(names))
    shown = [f"{keys[s]} {label}" if keyed else label for s, label in names.items()]
    heads = [f"{short(m)} {arrows.get(m, '')}".rstrip() for m in evaluation.measures]
    return Wide(
        "system",
        tuple(shown),
        tuple(heads),
        tuple(tuple(column.get(system) for column in columns) for system in names),
        tuple(filter(None, said)),
    )


def of_comparison(comparison: Comparison) -> Wide:
    """A row a pair of systems, with the differences between them."""
    names = labels(name for d in comparison for name in (d.system, d.baseline))
    measures = tuple(dict.fromkeys(d.measure for d in comparison))
    digits = {
        measure: numbers.rounding(((d.value, d.low, d.high) for d in group), keep_sign=True)
        for measure, group in grouped(comparison, lambda d: d.measure).items()
    }
    rows = []
    for of_pair in pairs(comparison).values():
        found = {d.measure: d for d in of_pair}
        rows.append(tuple(_difference(found.get(m), digits[m]) for m in measures))
    marks = {cell.marks for row in rows for cell in row if cell is not None}
    words = {BETTER: "the first system is significantly better", WORSE: "significantly worse"}
    undirected = any(d.higher_is_better is None for d in comparison)
    if undirected:
        words = {BETTER: "the first system is significantly higher", WORSE: "significantly lower"}
    key = "; ".join(f"{mark}: {said}" for mark, said in words.items() if mark in marks)
    return Wide(
        "systems",
        tuple(f"{names[a]} - {names[b]}" for a, b in pairs(comparison)),
        tuple(map(short, measures)),
        tuple(rows),
        tuple(filter(None, [key and f"{key}.", *_tests(comparison)])),
    )


def _difference(d: Difference | None, digits: numbers.Rounding) -> Cell | None:
    if d is None:
        return None
    marks = _MARKS.get(outcome(d), "")
    return Cell(digits(d.value), digits.interval(d.low, d.high), marks=marks)


def _best(values: Mapping[str, float], higher: bool | None) -> float:
    """The best of several values; NaN where there is none."""
    if higher is None or len(values) < 2:
        return math.nan
    return max(values.values()) if higher else min(values.values())


def _units(evaluation: Evaluation, *, intervals: bool) -> str:
    """Over how many units, where that is the same everywhere; and what the intervals are."""
    of = {(e.n, short(e.unit)) for e in evaluation}
    over = f" over {numbers.count(*of.pop())}" if len(of) == 1 else ""
    there = intervals and any(e.has_interval for e in evaluation)
    level = f", with {numbers.percent(evaluation.level)} intervals" if there else ""
    return f"Values{over}{level}." if over or level else ""


# ------------------------------------------------------------------------------------------- marks


def _keys(number: int) -> list[str]:
    """``a``, ``b``, …; numbers of more than there are letters."""
    if number > 26:
        return [f"{place}" for place in range(1, number + 1)]
    return [chr(ord("a") + place) for place in range(number)]


def _named(comparison: Comparison | None, systems: int) -> bool:
    """Whether cells name the systems that they are better than."""
    return comparison is not None and comparison.baseline is None and systems <= MOST_NAMED


def _marks(
    comparison: Comparison | None,
    differences: Sequence[Difference],
    values: Mapping[str, float],
    keys: Mapping[str, str],
) -> dict[str, str]:
    """Of each system: daggers beside a baseline; else the letters of those that it is better than,
    or, where these are many, letters that systems share which are not told apart."""
    if comparison is None or not differences:
        return {}
    if comparison.baseline is not None:
        return {d.system: _MARKS.get(outcome(d), "") for d in differences}
    if _named(comparison, len(keys)):
        beaten: dict[str, list[str]] = {}
        for d in differences:
            mark = _MARKS.get(outcome(d))
            if mark:
                better, worse = (d.system, d.baseline)[:: 1 if mark == BETTER else -1]
                beaten.setdefault(better, []).append(keys[worse])
        return {name: "".join(sorted(found)) for name, found in beaten.items()}
    higher = differences[0].higher_is_better is not False
    order = sorted(values, key=lambda name: values[name], reverse=higher)
    apart = {frozenset((d.system, d.baseline)) for d in differences if outcome(d).decided}
    return shared_letters(order, apart)


def shared_letters(order: Sequence[str], apart: Iterable[frozenset[str]]) -> dict[str, str]:
    """Letters so that two share one exactly where they are not told apart; the first have ``a``.

    Each pair that is told apart splits every set that holds both in two, without the one and
    without the other, and sets within others are dropped (Piepho 2004).

    >>> shared_letters("xyz", [frozenset("xz")])
    {'x': 'a', 'y': 'ab', 'z': 'b'}
    """
    sets = [frozenset(order)]
    for pair in apart:
        split = [s - {name} for s in sets if pair <= s for name in pair]
        whole = [s for s in sets if not pair <= s]
        for made in dict.fromkeys(split):
            if not any(made <= other for other in whole):
                whole = [made, *(s for s in whole if not s <= made)]
        sets = whole
    place = {name: i for i, name in enumerate(order)}
    sets.sort(key=lambda s: sorted(place[name] for name in s))
    keys = _keys(len(sets))
    between = "," if len(sets) > 26 else ""
    return {
        name: between.join(k for k, s in zip(keys, sets, strict=True) if name in s)
        for name in order
    }


def _told(comparison: Comparison, marked: bool, systems: int) -> list[str]:
    """What the marks mean, and by which test."""
    base = comparison.baseline
    if not marked:
        of = "No two systems differ" if base is None else f"No system differs from {short(base)}"
        return [f"{of} significantly.", *_tests(comparison)]
    if base is not None:
        key = f"{BETTER} ({WORSE}): significantly better (worse) than {short(base)}."
    elif _named(comparison, systems):
        key = "Letters name the systems that are significantly worse."
    else:
        key = "Systems that share a letter do not differ significantly by that measure."
    return [key, *_tests(comparison)]


def _tests(comparison: Comparison) -> list[str]:
    """The tests, the level and what accounts for their number."""
    tests = list(dict.fromkeys(short(d.test) for d in comparison if d.test != "none"))
    level = numbers.percent(round(1 - comparison.level, 12))
    said = [f"Tested at {level} by {joined(tests)}."] if tests else []
    text = adjustment_text(comparison)
    return [*said, f"The {text}"] if text else said
