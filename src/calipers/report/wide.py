"""Systems by measures, one number a cell: what a paper prints, with what tells systems apart."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from calipers.report import numbers
from calipers.report.grouping import grouped
from calipers.report.headlines import MANY_SYSTEMS, by_value, gains, listed, of_primary, systems_of
from calipers.report.letters import AS_BEST, BETTER, MARKS, WORSE, keys, marks, named, signs
from calipers.report.names import joined, labels, short
from calipers.report.rows import arrow, definitions_of, remarks, used
from calipers.report.verdict import adjustment_text, most, outcome, pairs
from calipers.results import Comparison, Difference, Estimate, Evaluation

#: Of no more systems than these a caption names each.
FEW_NAMED = 6
#: Where a method is used is counted, where it would take more to name it.
LONGEST = 120
#: More remarks than these are counted.
MOST_REMARKS = 6
#: What a page calls the answer that is the same for all units.
CONSTANT = "constant answer"
#: How the values of all rows together are told from those averaged over folds.
POOLED = ", pooled over rows"


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
    first column is ``about``.

    ``values`` says what the numbers are, ``key`` what the marks mean, ``tests`` how they came
    about, and ``remarks`` where something is missing. Where rows are ``ranked``, each has a row of
    ``signs`` too, unless the tests have one side. ``below`` are further rows with their names: what
    systems of cross-validation score on all rows pooled, and what one answer for all scores.
    """

    about: str
    names: tuple[str, ...]
    measures: tuple[str, ...]
    cells: tuple[tuple[Cell | None, ...], ...]
    values: tuple[str, ...] = ()
    key: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    ranked: bool = False
    signs: tuple[str, ...] = ()
    below: tuple[tuple[str, tuple[Cell | None, ...]], ...] = ()

    def said(self, best: str, *, tests: bool = True) -> list[str]:
        """A caption; ``best`` is how the best value of each column is shown."""
        shown = any(cell is not None and cell.best for row in self.cells for cell in row)
        of_tests = self.tests if tests else ()
        return [*self.values, *([best] if shown else []), *self.key, *of_tests]


def of_evaluation(evaluation: Evaluation, *, intervals: bool = True) -> Wide:
    """A row a system, in the order in which they were given; many are ranked by the primary
    measure."""
    order, comparison = ordered(evaluation), evaluation.comparison
    ranked = is_ranked(evaluation)
    names = labels(order)
    definitions = definitions_of(evaluation)
    arrows = {m: arrow(d) for m, d in definitions.items()}
    key_of = dict(zip(names, keys(len(names)), strict=True))
    marked = marks_of(evaluation)
    columns, constants, pooled = [], [], []
    for measure, group in grouped(evaluation, lambda e: e.measure).items():
        of = definitions.get(measure)
        digits = numbers.rounding((e.value, e.low, e.high) for e in group)
        best = _best([e.value for e in group], None if of is None else of.higher_is_better)
        columns.append(
            {
                e.system: Cell(
                    digits(e.value),
                    digits.interval(e.low, e.high) if intervals else "",
                    e.value == best,
                    marked[measure].get(e.system, ""),
                )
                for e in group
            }
        )
        constants.append(_constant(group, digits))
        pooled.append({e.system: Cell(digits(e.pooled)) for e in group if not math.isnan(e.pooled)})
    found = {mark for of in marked.values() for mark in of.values() if mark}
    keyed = bool(found) and named(comparison, len(names))
    by_rank = _signs(comparison, order) if ranked else []
    below = [(CONSTANT, tuple(constants))] if any(constants) else []
    if any(pooled):
        below[:0] = [
            (f"{label}{POOLED}", tuple(of.get(s) for of in pooled)) for s, label in names.items()
        ]
    return Wide(
        "system",
        tuple(f"{key_of[s]} {label}" if keyed else label for s, label in names.items()),
        tuple(f"{short(m)} {arrows.get(m, '')}".rstrip() for m in evaluation.measures),
        tuple(tuple(column.get(system) for column in columns) for system in order),
        values=tuple(_about_values(evaluation, intervals=intervals)),
        key=tuple(_key(comparison, found, len(names))),
        tests=tuple(_tests(comparison)),
        remarks=tuple(_remarks(evaluation)),
        ranked=ranked,
        signs=tuple(by_rank),
        below=tuple(below),
    )


def is_ranked(evaluation: Evaluation) -> bool:
    """Whether there are so many systems that the best come first."""
    of = definitions_of(evaluation).get(primary_of(evaluation))
    directed = of is not None and of.higher_is_better is not None
    return len(evaluation.systems) > MANY_SYSTEMS and directed


def primary_of(evaluation: Evaluation) -> str:
    """The measure that decides: the first with a better side, unless another is said to be that."""
    comparison, measures = evaluation.comparison, evaluation.measures
    if comparison is not None and comparison.primary in measures:
        return comparison.primary
    of = definitions_of(evaluation)
    directed = (m for m in measures if m in of and of[m].higher_is_better is not None)
    return next(directed, next(iter(measures), ""))


def ordered(evaluation: Evaluation) -> tuple[str, ...]:
    """The systems as the rows of a wide table have them."""
    if not is_ranked(evaluation):
        return evaluation.systems
    primary = primary_of(evaluation)
    values = {e.system: e.value for e in evaluation if e.measure == primary}
    ranked = by_value(values, definitions_of(evaluation)[primary].higher_is_better)
    return tuple(dict.fromkeys([*ranked, *evaluation.systems]))


def marks_of(evaluation: Evaluation) -> dict[str, dict[str, str]]:
    """By measure and system what a cell says of other systems."""
    key_of = dict(zip(evaluation.systems, keys(len(evaluation.systems)), strict=True))
    differences = grouped(evaluation.comparison or (), lambda d: d.measure)
    return {
        measure: marks(
            evaluation.comparison,
            differences.get(measure, []),
            {e.system: e.value for e in group if not math.isnan(e.value)},
            key_of,
        )
        for measure, group in grouped(evaluation, lambda e: e.measure).items()
    }


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
    return Wide(
        "systems",
        tuple(f"{names[a]} - {names[b]}" for a, b in pairs(comparison)),
        tuple(map(short, measures)),
        tuple(rows),
        key=tuple(_key_of_pairs(comparison, rows)),
        tests=tuple(_tests(comparison)),
    )


def of_many(comparison: Comparison) -> Wide:
    """Many systems of which every pair was compared: a row a system, the leader first, with how far
    it lies above the mean of the others."""
    own = of_primary(comparison)
    order = by_value(gains(own), own[0].higher_is_better)
    names = labels(order)
    columns = []
    for group in grouped(comparison, lambda d: d.measure).values():
        above = gains(group)
        digits = numbers.rounding(
            ((v, numbers.NAN, numbers.NAN) for v in above.values()), keep_sign=True
        )
        defined = {name: value for name, value in above.items() if not math.isnan(value)}
        found = marks(comparison, group, defined, dict.fromkeys(order, ""))
        columns.append({s: Cell(digits(v), marks=found.get(s, "")) for s, v in above.items()})
    measures = dict.fromkeys(d.measure for d in comparison)
    return Wide(
        "system",
        tuple(names.values()),
        tuple(map(short, measures)),
        tuple(tuple(column.get(system) for column in columns) for system in order),
        values=("Values less the mean of the other systems.",),
        key=tuple(_key(comparison, {c.marks for of in columns for c in of.values()}, len(names))),
        tests=tuple(_tests(comparison)),
        ranked=True,
        signs=tuple(_signs(comparison, order)),
    )


def is_of_many(comparison: Comparison) -> bool:
    """Whether every pair of many systems was compared."""
    return comparison.baseline is None and len(systems_of(comparison)) > MANY_SYSTEMS


def _difference(d: Difference | None, digits: numbers.Rounding) -> Cell | None:
    if d is None:
        return None
    return Cell(digits(d.value), digits.interval(d.low, d.high), marks=MARKS.get(outcome(d), ""))


def _best(values: Iterable[float], higher: bool | None) -> float:
    """The best of several values; NaN where there is none."""
    known = [value for value in values if not math.isnan(value)]
    if higher is None or len(known) < 2:
        return math.nan
    return max(known) if higher else min(known)


def _constant(group: Sequence[Estimate], digits: numbers.Rounding) -> Cell | None:
    """What one answer for all scores, where that is the same beside all systems."""
    scores = {e.default for e in group if not math.isnan(e.default)}
    return Cell(digits(scores.pop())) if len(scores) == 1 else None


def _signs(comparison: Comparison | None, order: Sequence[str]) -> list[str]:
    if comparison is None or comparison.baseline is not None:
        return []
    own = of_primary(comparison)
    two_sided = own and all(d.alternative == "two-sided" for d in own)
    return signs(own, order) if two_sided else []


# ---------------------------------------------------------------------------------- what is said


def _about_values(evaluation: Evaluation, *, intervals: bool) -> Iterator[str]:
    """By what the rows are ranked; over how many units values are, where that is the same
    everywhere, and how their intervals were made."""
    if is_ranked(evaluation):
        yield f"Ranked by {short(primary_of(evaluation))}."
    of = {_over(e) for e in evaluation}
    over = f" {of.pop()}" if len(of) == 1 else ""
    level = ""
    if intervals and any(e.has_interval for e in evaluation):
        level = f", with {numbers.percent(evaluation.level)} intervals ({_methods(evaluation)})"
    if over or level:
        yield f"Values{over}{level}."


def _methods(evaluation: Evaluation) -> str:
    """``Bayesian bootstrap; bootstrap-t: AP of bm25``: the usual one, then the others and where."""
    cells = [e for e in evaluation if e.has_interval]
    usual, *rest = (method for method, _ in Counter(e.method for e in cells).most_common())
    of = {}
    for method in rest:
        own = [e for e in cells if e.method == method]
        where = _where(own, evaluation)
        of[method] = where if len(where) <= LONGEST else f"{len(own):,} of {len(cells):,}"
    return "; ".join([short(usual), *(f"{short(m)}: {where}" for m, where in of.items())])


def _over(e: Estimate) -> str:
    """``over 50 topics``, ``over 48 of 50 topics``."""
    unit = short(e.unit)
    return f"over {numbers.count(e.n, unit) if e.of in (0, e.n) else f'{used(e.n, e.of)} {unit}'}"


def _remarks(evaluation: Evaluation) -> list[str]:
    """What is missing, and of which numbers; over how many units, where that differs."""
    differs = len({_over(e) for e in evaluation}) > 1

    def said(e: Estimate) -> str:
        return "; ".join(filter(None, [_over(e) if differs else "", remarks(e)]))

    by = {text: cells for text, cells in grouped(evaluation, said).items() if text}
    lines = [
        f"{_where(cells, evaluation)}: {text.replace('no interval: ', 'no interval, ')}."
        for text, cells in by.items()
    ]
    if len(lines) > MOST_REMARKS + 1:
        rest = len(lines) - MOST_REMARKS
        return [*lines[:MOST_REMARKS], f"{rest} more remarks are in the long layout."]
    return lines


def _where(cells: Sequence[Estimate], evaluation: Evaluation) -> str:
    """``nDCG@10 and AP of run1, run2``; measures alone where it is all systems."""
    by_measure = grouped(cells, lambda e: e.measure)
    systems = {m: tuple(e.system for e in of) for m, of in by_measure.items()}
    parts = []
    for who, measures in grouped(systems, lambda m: systems[m]).items():
        whole = len(who) == len(evaluation.systems)
        few = joined([short(s) for s in who]) if len(who) <= FEW_NAMED else f"{len(who)} systems"
        of = "" if whole else f" of {few}"
        parts.append(f"{listed([short(m) for m in measures])}{of}")
    return ", ".join(parts)


def _key(comparison: Comparison | None, found: Collection[str], systems: int) -> Iterator[str]:
    """What the marks of systems mean."""
    if comparison is None or not len(comparison):
        return
    base = comparison.baseline
    tested = [outcome(d).tested for d in comparison]
    if not any(tested):
        yield "No difference is tested."
    elif not any(found):
        of = "No two systems differ" if base is None else f"No system differs from {short(base)}"
        yield f"{of} significantly" + ("." if all(tested) else " where differences are tested.")
    elif base is not None:
        yield f"{BETTER} ({WORSE}): significantly better (worse) than {short(base)}."
    elif named(comparison, systems):
        yield "Letters name the systems that are significantly worse."
    else:
        if any(mark not in ("", AS_BEST) for mark in found):
            yield "Systems that share a letter do not differ significantly by that measure."
        if AS_BEST in found:
            yield f"{AS_BEST}: not significantly different from the best by that measure."


def _key_of_pairs(comparison: Comparison, rows: Sequence[Sequence[Cell | None]]) -> Iterator[str]:
    """What the marks of differences mean."""
    found = {cell.marks for row in rows for cell in row if cell is not None}
    words = {BETTER: "the first system is significantly better", WORSE: "significantly worse"}
    if any(d.higher_is_better is None for d in comparison):
        words = {BETTER: "the first system is significantly higher", WORSE: "significantly lower"}
    key = "; ".join(f"{mark}: {said}" for mark, said in words.items() if mark in found)
    if key:
        yield f"{key}."


def _tests(comparison: Comparison | None) -> Iterator[str]:
    """The tests, the level and what accounts for their number."""
    if comparison is None or not len(comparison):
        return
    level = numbers.percent(most(comparison.level))
    tests = list(dict.fromkeys(short(d.test) for d in comparison if d.test != "none"))
    if tests:
        yield f"Tested at {level} by {joined(tests)}."
    if text := adjustment_text(comparison):
        yield f"The {text}"
