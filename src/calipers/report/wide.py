"""Wide tables: systems by measures, as in papers, with marks of significant differences."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from calipers.lazy_dataclasses import dataclass
from calipers.report import numbers
from calipers.report.display_names import apply_display_names
from calipers.report.grouping import group_by
from calipers.report.headlines import (
    MAX_UNRANKED_SYSTEMS,
    format_names,
    list_systems,
    mean_gains,
    primary_differences,
    sort_by_value,
)
from calipers.report.safe_names import join_words, method_text, shorten_name, unique_labels
from calipers.report.table_rows import (
    definitions_by_measure,
    direction_arrow,
    n_used_text,
    remarks_text,
)
from calipers.report.tables import BETTER, KEY, LINED, OUTCOME_MARKS, WORSE, Column
from calipers.report.text_columns import split_columns
from calipers.report.verdict import (
    Outcome,
    adjustment_text,
    group_by_pair,
    outcome,
    significance_level,
)
from calipers.results import LAYOUTS, NAN, Comparison, Difference, Estimate, Evaluation

#: The largest number of systems that a caption names.
MAX_NAMED_SYSTEMS = 6
#: The largest length of a list of where a method is used; longer ones are counted.
MAX_LOCATION_LENGTH = 120
#: The largest number of remarks; more are counted.
MAX_REMARKS = 6
#: Heading of the value of the best constant prediction.
NO_SKILL_LABEL = "no skill"
#: Suffix of pooled values, which distinguishes them from means over folds.
POOLED_SUFFIX = ", pooled"


@dataclass(frozen=True, slots=True)
class WideCell:
    """Value with its interval, whether it is the best of its column, and marks of significance."""

    value: str
    interval: str = ""
    is_best: bool = False
    marks: str = ""


@dataclass(frozen=True, slots=True)
class WideLayout:
    """Table with a row per system (or pair of systems) and a column per measure.

    The first column is ``row_heading``. ``values`` explain the numbers, ``key`` the marks,
    ``tests`` the tests, and ``remarks`` what is missing. If rows are ``is_ranked``, each has a row
    of ``signs`` too, unless the tests are one-sided. ``below`` are additional rows with their
    names: pooled values of cross-validated systems, and values of the best constant prediction.
    """

    row_heading: str
    names: tuple[str, ...]
    measures: tuple[str, ...]
    cells: tuple[tuple[WideCell | None, ...], ...]
    values: tuple[str, ...] = ()
    key: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    is_ranked: bool = False
    signs: tuple[str, ...] = ()
    below: tuple[tuple[str, tuple[WideCell | None, ...]], ...] = ()

    def caption(self, best: str, *, tests: bool = True) -> list[str]:
        """Return the caption; ``best`` explains how the best value of each column is marked."""
        has_best = any(cell is not None and cell.is_best for row in self.cells for cell in row)
        tests_text = self.tests if tests else ()
        return [*self.values, *([best] if has_best else []), *self.key, *tests_text]

    def head(self, n_rows: int) -> WideLayout:
        """Return the table with its first rows, and those below."""
        if n_rows >= len(self.names):
            return self
        # Signs are of pairs of rows, so that those of the first rows have columns of others.
        return replace(self, names=self.names[:n_rows], cells=self.cells[:n_rows], signs=())

    def select(self, indices: Sequence[int]) -> WideLayout:
        """Return the table with some of its measures."""

        def pick(items: Sequence[Any]) -> tuple[Any, ...]:
            return tuple(items[i] for i in indices)

        return replace(
            self,
            measures=pick(self.measures),
            cells=tuple(map(pick, self.cells)),
            below=tuple((name, pick(cells)) for name, cells in self.below),
        )


def from_evaluation(evaluation: Evaluation, *, intervals: bool = True) -> WideLayout:
    """Return the wide table of an evaluation, with a row per system.

    Systems are in the given order; many are ranked by the primary measure.
    """
    order, comparison = order_systems(evaluation), evaluation.comparison
    ranked = is_ranked(evaluation)
    names = unique_labels(order)
    definitions = definitions_by_measure(evaluation)
    arrows = {m: direction_arrow(d) for m, d in definitions.items()}
    letter_by_system = dict(zip(names, system_letters(len(names)), strict=True))
    marks_by_measure = significance_marks(evaluation)
    columns, constants, pooled = [], [], []
    for measure, group in group_by(evaluation, lambda e: e.measure).items():
        entry = definitions.get(measure)
        digits = numbers.rounding((e.value, e.low, e.high) for e in group)
        best = _best([e.value for e in group], None if entry is None else entry.higher_is_better)
        columns.append(
            {
                e.system: WideCell(
                    digits(e.value),
                    digits.format_interval(e.low, e.high) if intervals else "",
                    e.value == best,
                    marks_by_measure[measure].get(e.system, ""),
                )
                for e in group
            }
        )
        constants.append(_no_skill_cell(group, digits))
        pooled.append(
            {e.system: WideCell(digits(e.pooled)) for e in group if not math.isnan(e.pooled)}
        )
    used_marks = {mark for entry in marks_by_measure.values() for mark in entry.values() if mark}
    has_letters = bool(used_marks) and has_system_marks(comparison, len(names))
    sign_texts = _sign_texts(comparison, order) if ranked else []
    below = [(NO_SKILL_LABEL, tuple(constants))] if any(constants) else []
    if any(pooled):
        below[:0] = [
            (f"{label}{POOLED_SUFFIX}", tuple(entry.get(s) for entry in pooled))
            for s, label in names.items()
        ]
    return WideLayout(
        "system",
        tuple(
            f"{letter_by_system[s]} {label}" if has_letters else label for s, label in names.items()
        ),
        tuple(f"{shorten_name(m)} {arrows.get(m, '')}".rstrip() for m in evaluation.measures),
        tuple(tuple(column.get(system) for column in columns) for system in order),
        values=tuple(_value_notes(evaluation, intervals=intervals)),
        key=tuple(_marks_key(comparison, used_marks, len(names))),
        tests=tuple(_tests(comparison)),
        remarks=tuple(_remarks(evaluation)),
        is_ranked=ranked,
        signs=tuple(sign_texts),
        below=tuple(below),
    )


def is_ranked(evaluation: Evaluation) -> bool:
    """Return whether there are so many systems that they are ranked."""
    definition = definitions_by_measure(evaluation).get(primary_measure(evaluation))
    directed = definition is not None and definition.higher_is_better is not None
    return len(evaluation.systems) > MAX_UNRANKED_SYSTEMS and directed


def primary_measure(evaluation: Evaluation) -> str:
    """Return the primary measure: by default the first one with a direction."""
    comparison, measures = evaluation.comparison, evaluation.measures
    if comparison is not None and comparison.primary in measures:
        return comparison.primary
    definitions = definitions_by_measure(evaluation)
    directed = (
        m for m in measures if m in definitions and definitions[m].higher_is_better is not None
    )
    return next(directed, next(iter(measures), ""))


def order_systems(evaluation: Evaluation) -> tuple[str, ...]:
    """Return the systems in the order of the rows of a wide table."""
    return rank_systems(evaluation) if is_ranked(evaluation) else evaluation.systems


def rank_systems(evaluation: Evaluation) -> tuple[str, ...]:
    """Return the systems by the primary measure, the best first, if it has a direction."""
    primary = primary_measure(evaluation)
    definition = definitions_by_measure(evaluation).get(primary)
    if definition is None or definition.higher_is_better is None:
        return evaluation.systems
    values = {e.system: e.value for e in evaluation if e.measure == primary}
    ranked = sort_by_value(values, definition.higher_is_better)
    return tuple(dict.fromkeys([*ranked, *evaluation.systems]))


def in_rank_order(evaluation: Evaluation) -> Evaluation:
    """Return the evaluation with its systems, and their pairs, by the primary measure.

    Differences are those of the better system and the other one, as the verdict has them.
    """
    rank = {name: i for i, name in enumerate(rank_systems(evaluation))}
    comparison, slices = evaluation.comparison, evaluation.slices

    def position(system: str) -> int:
        return rank.get(system, len(rank))

    def lead(d: Difference) -> Difference:
        if comparison is None or position(d.system) <= position(d.baseline):
            return d
        return turn(d) if is_symmetric(d, comparison) else d

    if slices is not None:
        slice_differences = (replace(s, difference=lead(s.difference)) for s in slices.differences)
        slices = replace(slices, differences=tuple(slice_differences))
    if comparison is not None:
        measure_index = {m: i for i, m in enumerate(dict.fromkeys(d.measure for d in comparison))}
        differences = sorted(
            map(lead, comparison),
            key=lambda d: (
                measure_index[d.measure], sorted((position(d.system), position(d.baseline)))
            ),
        )  # fmt: skip
        comparison = replace(comparison, differences=tuple(differences))
    return replace(
        evaluation,
        estimates=tuple(sorted(evaluation.estimates, key=lambda e: rank[e.system])),
        comparison=comparison,
        slices=slices,
        confusions=tuple(sorted(evaluation.confusions, key=lambda c: rank.get(c.system, 0))),
        label_tables=sorted(evaluation.label_tables, key=lambda table: rank.get(table.system, 0)),
    )


def is_symmetric(d: Difference, comparison: Comparison) -> bool:
    """Return whether a difference may be turned.

    Differences from a requested baseline, one-sided ones, and those with margins or labels by a
    judge have a direction of their own.
    """
    is_fixed = comparison.baseline is not None or d.alternative != "two-sided"
    return not is_fixed and d.judged is None and math.isnan(d.margin)


def turn(d: Difference) -> Difference:
    """Return the difference of the second system and the first one."""
    return replace(
        d,
        system=d.baseline,
        baseline=d.system,
        value=-d.value,
        low=-d.high,
        high=-d.low,
        effect_size=-d.effect_size,
        wins=d.losses,
        losses=d.wins,
    )


def significance_marks(evaluation: Evaluation) -> dict[str, dict[str, str]]:
    """Return the marks of the cells by measure and system."""
    key_of = dict(zip(evaluation.systems, system_letters(len(evaluation.systems)), strict=True))
    differences = group_by(evaluation.comparison or (), lambda d: d.measure)
    return {
        measure: mark_systems(
            evaluation.comparison,
            differences.get(measure, []),
            {e.system: e.value for e in group if not math.isnan(e.value)},
            key_of,
        )
        for measure, group in group_by(evaluation, lambda e: e.measure).items()
    }


def from_comparison(comparison: Comparison) -> WideLayout:
    """Return the wide table of differences, with a row per pair of systems."""
    names = unique_labels(name for d in comparison for name in (d.system, d.baseline))
    measures = tuple(dict.fromkeys(d.measure for d in comparison))
    digits = {
        measure: numbers.rounding(((d.value, d.low, d.high) for d in group), keep_sign=True)
        for measure, group in group_by(comparison, lambda d: d.measure).items()
    }
    rows = []
    for pair_differences in group_by_pair(comparison).values():
        difference_by_measure = {d.measure: d for d in pair_differences}
        rows.append(
            tuple(_difference_cell(difference_by_measure.get(m), digits[m]) for m in measures)
        )
    return WideLayout(
        "systems",
        tuple(f"{names[a]} - {names[b]}" for a, b in group_by_pair(comparison)),
        tuple(map(shorten_name, measures)),
        tuple(rows),
        key=tuple(_key_of_pairs(comparison, rows)),
        tests=tuple(_tests(comparison)),
    )


def from_many_systems(comparison: Comparison) -> WideLayout:
    """Return the wide table of all pairwise comparisons of many systems, with a row per system.

    The best system is first. Values are differences from the mean of the other systems.
    """
    differences = primary_differences(comparison)
    order = sort_by_value(mean_gains(differences), differences[0].higher_is_better)
    names = unique_labels(order)
    columns = []
    for group in group_by(comparison, lambda d: d.measure).values():
        gain_by_system = mean_gains(group)
        digits = numbers.rounding(
            ((v, numbers.NAN, numbers.NAN) for v in gain_by_system.values()), keep_sign=True
        )
        defined = {name: value for name, value in gain_by_system.items() if not math.isnan(value)}
        marks_by_system = mark_systems(comparison, group, defined, dict.fromkeys(order, ""))
        columns.append(
            {
                s: WideCell(digits(v), marks=marks_by_system.get(s, ""))
                for s, v in gain_by_system.items()
            }
        )
    measures = dict.fromkeys(d.measure for d in comparison)
    return WideLayout(
        "system",
        tuple(names.values()),
        tuple(map(shorten_name, measures)),
        tuple(tuple(column.get(system) for column in columns) for system in order),
        values=("Values minus the mean of the other systems.",),
        key=tuple(
            _marks_key(
                comparison, {c.marks for column in columns for c in column.values()}, len(names)
            )
        ),
        tests=tuple(_tests(comparison)),
        is_ranked=True,
        signs=tuple(_sign_texts(comparison, order)),
    )


def has_many_systems(comparison: Comparison) -> bool:
    """Return whether all pairs of many systems were compared."""
    return comparison.baseline is None and len(list_systems(comparison)) > MAX_UNRANKED_SYSTEMS


def _difference_cell(d: Difference | None, digits: numbers.Rounding) -> WideCell | None:
    if d is None:
        return None
    return WideCell(
        digits(d.value),
        digits.format_interval(d.low, d.high),
        marks=OUTCOME_MARKS.get(outcome(d), ""),
    )


def _best(values: Iterable[float], higher: bool | None) -> float:
    """Return the best of the values, NaN if there is none."""
    defined_values = [value for value in values if not math.isnan(value)]
    if higher is None or len(defined_values) < 2:
        return math.nan
    return max(defined_values) if higher else min(defined_values)


def _no_skill_cell(group: Sequence[Estimate], digits: numbers.Rounding) -> WideCell | None:
    """Return the value of the best constant prediction, if it is the same for all systems."""
    scores = {e.no_skill for e in group if not math.isnan(e.no_skill)}
    return WideCell(digits(scores.pop())) if len(scores) == 1 else None


def _sign_texts(comparison: Comparison | None, order: Sequence[str]) -> list[str]:
    if comparison is None or comparison.baseline is not None:
        return []
    differences = primary_differences(comparison)
    two_sided = differences and all(d.alternative == "two-sided" for d in differences)
    return sign_rows(differences, order) if two_sided else []


# --- Captions -------------------------------------------------------------------------------------


def _value_notes(evaluation: Evaluation, *, intervals: bool) -> Iterator[str]:
    """Yield sentences on the ranking, the units and the intervals of the values."""
    if is_ranked(evaluation):
        yield f"Ranked by {shorten_name(primary_measure(evaluation))}."
    unit_texts = {_format_units(e) for e in evaluation}
    over = f" {unit_texts.pop()}" if len(unit_texts) == 1 else ""
    level = ""
    if intervals and any(e.has_interval for e in evaluation):
        level = f"{numbers.format_percent(evaluation.level)} CIs: {_methods(evaluation)}"
    if over or level:
        values = f"Values{over}"
        yield f"{values}, with {level}." if level else f"{values}."


def _methods(evaluation: Evaluation) -> str:
    """Return the interval methods: the most frequent one, then the others and where they are used.

    An example is ``Bayesian bootstrap, except bootstrap-t for AP of bm25``.
    """
    cells = [e for e in evaluation if e.has_interval]
    main_method, *other_methods = (
        method for method, _ in Counter(e.method for e in cells).most_common()
    )
    location_by_method = {}
    for method in other_methods:
        method_cells = [e for e in cells if e.method == method]
        location = _format_location(method_cells, evaluation)
        location_by_method[method] = (
            location
            if len(location) <= MAX_LOCATION_LENGTH
            else f"{len(method_cells):,} of {len(cells):,}"
        )
    exceptions = "; ".join(
        f"{method_text(m)} for {location}" for m, location in location_by_method.items()
    )
    return method_text(main_method) + (f", except {exceptions}" if exceptions else "")


def _format_units(e: Estimate) -> str:
    """Return the units of an estimate: ``over 50 topics``, ``over 48 of 50 topics``."""
    unit = shorten_name(e.unit)
    if e.n_total in (0, e.n):
        return f"over {numbers.format_count(e.n, unit)}"
    return f"over {n_used_text(e.n, e.n_total)} {unit}"


def _remarks(evaluation: Evaluation) -> list[str]:
    """Return remarks on missing values, and on units if they differ between estimates."""
    differs = len({_format_units(e) for e in evaluation}) > 1

    def describe(e: Estimate) -> str:
        return "; ".join(filter(None, [_format_units(e) if differs else "", remarks_text(e)]))

    cells_by_text = {text: cells for text, cells in group_by(evaluation, describe).items() if text}
    lines = [
        f"{_format_location(cells, evaluation)}: {text.replace('no interval: ', 'no interval, ')}."
        for text, cells in cells_by_text.items()
    ]
    if len(lines) > MAX_REMARKS + 1:
        n_others = len(lines) - MAX_REMARKS
        return [*lines[:MAX_REMARKS], f"{n_others} more remarks: see the long layout."]
    return lines


def _format_location(cells: Sequence[Estimate], evaluation: Evaluation) -> str:
    """Return the measures and systems of cells, such as ``nDCG@10 and AP of run1, run2``.

    If they are those of all systems only measures are named.
    """
    by_measure = group_by(cells, lambda e: e.measure)
    systems = {m: tuple(e.system for e in scope) for m, scope in by_measure.items()}
    phrases = []
    for system_names, measures in group_by(systems, lambda m: systems[m]).items():
        has_all_systems = len(system_names) == len(evaluation.systems)
        systems_text = (
            join_words([shorten_name(s) for s in system_names])
            if len(system_names) <= MAX_NAMED_SYSTEMS
            else f"{len(system_names)} systems"
        )
        scope = "" if has_all_systems else f" of {systems_text}"
        phrases.append(f"{format_names([shorten_name(m) for m in measures])}{scope}")
    return ", ".join(phrases)


def _marks_key(
    comparison: Comparison | None, used_marks: Collection[str], n_systems: int
) -> Iterator[str]:
    """Yield the explanation of the marks of systems."""
    if comparison is None or not len(comparison):
        return
    baseline = comparison.baseline
    tested = [outcome(d).is_tested for d in comparison]
    if not any(tested):
        yield "No differences were tested."
    elif not any(used_marks):
        statement = (
            "No two systems differ significantly"
            if baseline is None
            else f"No system differs significantly from {shorten_name(baseline)}"
        )
        yield statement + ("." if all(tested) else " among the tested differences.")
    elif baseline is not None:
        yield f"{BETTER} ({WORSE}): significantly better (worse) than {shorten_name(baseline)}."
    elif has_system_marks(comparison, n_systems):
        yield "Superscript letters denote the systems that are significantly worse."
    else:
        if any(mark not in ("", AS_BEST) for mark in used_marks):
            yield "Systems that share a letter do not differ significantly by that measure."
        if AS_BEST in used_marks:
            yield f"{AS_BEST}: not significantly different from the best by that measure."


def _key_of_pairs(
    comparison: Comparison, rows: Sequence[Sequence[WideCell | None]]
) -> Iterator[str]:
    """Yield the explanation of the marks of differences."""
    used_marks = {cell.marks for row in rows for cell in row if cell is not None}
    words = {BETTER: "the first system is significantly better", WORSE: "significantly worse"}
    if any(d.higher_is_better is None for d in comparison):
        words = {BETTER: "the first system is significantly higher", WORSE: "significantly lower"}
    key = "; ".join(
        f"{mark}: {explanation}" for mark, explanation in words.items() if mark in used_marks
    )
    if key:
        yield f"{key}."


def _tests(comparison: Comparison | None) -> Iterator[str]:
    """Yield sentences on the tests, their level and the adjustment."""
    if comparison is None or not len(comparison):
        return
    level = numbers.format_percent(significance_level(comparison.level))
    tests = list(dict.fromkeys(method_text(d.test) for d in comparison if d.test != "none"))
    if tests:
        yield f"Tested at the {level} level by {join_words(tests)}."
    if text := adjustment_text(comparison):
        yield f"The {text}"


# --- Marks ----------------------------------------------------------------------------------------


#: In a row of signs: better than the other, worse, not significant, and itself.
SIGNS = {BETTER: "+", WORSE: "-", "": "·"}
ITSELF, UNKNOWN = "\\", "?"
#: Mark of systems that do not differ significantly from the best, if there are too many letters.
AS_BEST = "="
MAX_SETS_PER_SYSTEM = 3
MAX_LETTERS_WIDTH = 12


def system_letters(n: int) -> list[str]:
    """Return ``a``, ``b``, …, or numbers if there are not enough letters."""
    if n > 26:
        return [f"{index}" for index in range(1, n + 1)]
    return [chr(ord("a") + index) for index in range(n)]


def has_system_marks(comparison: Comparison | None, n_systems: int) -> bool:
    """Return whether cells name the systems that are significantly worse."""
    return (
        comparison is not None and comparison.baseline is None and n_systems <= MAX_UNRANKED_SYSTEMS
    )


def mark_systems(
    comparison: Comparison | None,
    differences: Sequence[Difference],
    values: Mapping[str, float],
    key_of: Mapping[str, str],
) -> dict[str, str]:
    """Return the mark of each system by one measure.

    With a baseline these are daggers; otherwise the letters of systems that are significantly worse
    or, if there are many systems, letters that systems share if they do not differ significantly.
    """
    if comparison is None or not differences:
        return {}
    if comparison.baseline is not None:
        return {d.system: OUTCOME_MARKS.get(outcome(d), "") for d in differences}
    if has_system_marks(comparison, len(key_of)):
        letters_by_system: dict[str, list[str]] = {}
        for d in differences:
            mark = OUTCOME_MARKS.get(outcome(d))
            if mark:
                better, worse = (d.system, d.baseline)[:: 1 if mark == BETTER else -1]
                letters_by_system.setdefault(better, []).append(key_of[worse])
        return {name: "".join(sorted(letters)) for name, letters in letters_by_system.items()}
    return group_letters(differences, sort_by_value(values, differences[0].higher_is_better))


def group_letters(differences: Sequence[Difference], order: Sequence[str]) -> dict[str, str]:
    """Return letters that systems in ``order`` share if they do not differ significantly.

    If too many are needed, those that do not differ significantly from the first have a mark.
    """
    if any(outcome(d) is Outcome.NOT_TESTED for d in differences):
        return {}  # a common letter would suggest a test that was not made
    significant_pairs = {
        frozenset((d.system, d.baseline)) for d in differences if outcome(d).is_significant
    }
    shared = shared_letters(order, significant_pairs) or {}
    letter_texts = {name: format_runs(letters) for name, letters in shared.items()}
    if not letter_texts or max(map(len, letter_texts.values())) > MAX_LETTERS_WIDTH:
        return {
            name: AS_BEST for name in order if frozenset((name, order[0])) not in significant_pairs
        }
    return letter_texts


def shared_letters(
    order: Sequence[str], significant_pairs: Iterable[frozenset[str]]
) -> dict[str, tuple[str, ...]] | None:
    """Return letters that two systems share if they do not differ significantly.

    Each pair with a significant difference splits every set that contains both into two, without
    one and without the other, and subsets of other sets are removed. The first system has ``a``.
    None if more than :data:`MAX_SETS_PER_SYSTEM` sets per system are needed: without a clear order
    there may be any number.

    References
    ----------
    Piepho (2004). An algorithm for a letter-based representation of all-pairwise comparisons.
    Journal of Computational and Graphical Statistics 13.

    Examples
    --------
    >>> shared_letters("xyz", [frozenset("xz")])
    {'x': ('a',), 'y': ('a', 'b'), 'z': ('b',)}
    """
    sets = [frozenset(order)]
    index_by_name = {name: i for i, name in enumerate(order)}
    # From the best down: in another order many more sets come and go in between.
    for pair in sorted(
        significant_pairs, key=lambda pair: sorted(index_by_name[name] for name in pair)
    ):
        split = [s - {name} for s in sets if pair <= s for name in pair]
        new_sets = [s for s in sets if not pair <= s]
        for subset in dict.fromkeys(split):
            if not any(subset <= superset for superset in new_sets):
                new_sets = [subset, *(s for s in new_sets if not s <= subset)]
        sets = new_sets
        if len(sets) > MAX_SETS_PER_SYSTEM * len(order):
            return None
    sets.sort(key=lambda s: sorted(index_by_name[name] for name in s))
    lettered = list(zip(system_letters(len(sets)), sets, strict=True))
    return {name: tuple(key for key, s in lettered if name in s) for name in order}


def format_runs(letters: Sequence[str]) -> str:
    """Join letters or numbers, with three or more consecutive ones as ``a–d``.

    Examples
    --------
    >>> format_runs(("a", "b")), format_runs(("a", "b", "c", "e")), format_runs(("9", "10", "11"))
    ('ab', 'a–c,e', '9–11')
    """
    codes = [int(key) if key.isdigit() else ord(key) for key in letters]
    sequences: list[list[str]] = [[key] for key in letters[:1]]
    for (before, code), key in zip(pairwise(codes), letters[1:], strict=True):
        if code == before + 1:
            sequences[-1].append(key)
        else:
            sequences.append([key])
    shortened = [f"{p[0]}–{p[-1]}" if len(p) > 2 else None for p in sequences]
    separator = "," if any(shortened) or any(key.isdigit() for key in letters) else ""
    ranges = [s or separator.join(p) for s, p in zip(shortened, sequences, strict=True)]
    return separator.join(ranges)


def sign_rows(differences: Iterable[Difference], order: Sequence[str]) -> list[str]:
    """Return a row of signs per system: its comparison with the first, the second, and so on."""
    sign_by_pair: dict[tuple[str, str], str] = {}
    reversed_marks = {BETTER: WORSE, WORSE: BETTER}
    for d in differences:
        difference_outcome = outcome(d)
        if difference_outcome.is_tested:
            mark = OUTCOME_MARKS.get(difference_outcome, "")
            sign_by_pair[d.system, d.baseline] = SIGNS[mark]
            sign_by_pair[d.baseline, d.system] = SIGNS[reversed_marks.get(mark, "")]
    return [
        "".join(ITSELF if a == b else sign_by_pair.get((a, b), UNKNOWN) for b in order)
        for a in order
    ]


# --- Wide tables as text and as CSV ---------------------------------------------------------------


#: The largest width of a table if that of the output is unknown.
DEFAULT_WIDTH = 120
#: Between two columns.
_RICH_COLUMN_SPACING = 3
BEST_MARK = "*"
#: The heading of rows of signs, before the last rank.
SIGNS_HEADING = "against 1–"


def is_wide(result: Evaluation | Comparison, layout: str | None) -> bool:
    """Return whether a result is shown as a wide table.

    By default it is if several systems are evaluated by several measures, or there are many
    systems. Results with bounds of values, for which there is no room, are shown as long tables.
    """
    if layout is not None:
        return layout == LAYOUTS[0]
    if isinstance(result, Comparison):
        return has_many_systems(result)
    if any(e.bounds_kind for e in result):
        return False
    systems, measures = len(result.systems), len(result.measures)
    return systems > MAX_UNRANKED_SYSTEMS or min(systems, measures) > 1


def text_tables(layout: WideLayout, width: int | None) -> Iterator[list[Column]]:
    """Yield the columns of the text tables of a wide table, as many as its width requires.

    Each table has the names of the rows. If it is too wide and has more measures than systems, it
    is transposed.
    """
    available_width = DEFAULT_WIDTH if width is None else width
    heads, cells = list(layout.measures), [list(row) for row in layout.cells]
    row_heading, names = layout.row_heading, _ranked_names(layout)
    for name, row in layout.below:
        names, cells = [*names, name], [*cells, list(row)]
    if len(names) < len(heads) and _width(names, heads, cells, row_heading) > available_width:
        row_heading, names, heads = "measure", heads, names
        cells = [list(column) for column in zip(*cells, strict=True)]
    elif layout.is_ranked:
        row_heading = f"{'#':>{len(str(len(layout.names)))}} {row_heading}"
    columns = [
        Column(head, LINED, _align_cells(column_cells))
        for head, column_cells in zip(heads, zip(*cells, strict=True), strict=True)
    ]
    if layout.signs:
        blank = [""] * (len(names) - len(layout.signs))
        signs_column = Column(f"{SIGNS_HEADING}{len(layout.signs)}", LINED, [*layout.signs, *blank])
        if (
            _max_width(names)
            + sum(
                _RICH_COLUMN_SPACING + _max_width((c.name, *c.cells))
                for c in (*columns, signs_column)
            )
            <= available_width
        ):
            columns.append(signs_column)
    widths = [
        _max_width((row_heading, *names)),
        *(_max_width((c.name, *c.cells)) for c in columns),
    ]
    for column_indices in split_columns(widths, available_width, _RICH_COLUMN_SPACING):
        yield [Column(row_heading, KEY, names), *(columns[j - 1] for j in column_indices)]


def has_signs(columns: Sequence[Column]) -> bool:
    """Return whether the columns include the rows of signs."""
    return columns[-1].name.startswith(SIGNS_HEADING)


def signs_key(measure: str) -> str:
    """Return the explanation of the rows of signs."""
    better, worse, not_significant = SIGNS.values()
    return (
        f"Signs compare each system on {measure} with all systems, in the order of the rows: "
        f"{better} significantly better, {worse} significantly worse, {not_significant} not "
        f"significant, {ITSELF} itself."
    )


def _ranked_names(layout: WideLayout) -> list[str]:
    if not layout.is_ranked:
        return list(layout.names)
    digits = len(str(len(layout.names)))
    return [f"{rank:>{digits}} {name}" for rank, name in enumerate(layout.names, 1)]


def _max_width(strings: Iterable[str]) -> int:
    from rich.cells import cell_len

    return max(map(cell_len, strings))


def _width(
    names: Sequence[str],
    heads: Sequence[str],
    cells: Sequence[Sequence[WideCell | None]],
    row_heading: str,
) -> int:
    columns = (_align_cells(column) for column in zip(*cells, strict=True))
    sizes = (_max_width((head, *column)) for head, column in zip(heads, columns, strict=True))
    return _max_width((row_heading, *names)) + sum(_RICH_COLUMN_SPACING + size for size in sizes)


def _align_cells(cells: Sequence[WideCell | None]) -> list[str]:
    """Return cells with values, marks of the best, intervals and letters aligned."""
    filled_cells = [cell or WideCell("") for cell in cells]
    # An undefined value has no interval and may extend into its column.
    value = max((len(c.value) for c in filled_cells if c.interval), default=0)
    value = value or max(len(c.value) for c in filled_cells)
    interval = max(len(c.interval) for c in filled_cells)
    star = any(c.is_best for c in filled_cells)
    lines = []
    for c in filled_cells:
        best = (BEST_MARK if c.is_best else " ") if star else ""
        between = f" {c.interval:>{interval}}" if interval else ""
        lines.append(f"{c.value:>{value}}{best}{between} {c.marks}".rstrip())
    return lines


# ------------------------------------------------------------------------------------------ CSV


@apply_display_names
def csv_rows(evaluation: Evaluation) -> list[dict[str, Any]]:
    """Return a row per system with the value, limits and marks of each measure."""
    marked = significance_marks(evaluation)
    limits = {e.measure for e in evaluation if e.has_interval}
    estimate_by_key = {(e.system, e.measure): e for e in evaluation}
    systems = evaluation.systems
    key_of = dict(zip(systems, system_letters(len(systems)), strict=True))
    keyed = has_system_marks(evaluation.comparison, len(systems)) and any(
        any(m.values()) for m in marked.values()
    )
    rows = []
    for rank, system in enumerate(order_systems(evaluation), 1):
        row: dict[str, Any] = {"rank": rank} if is_ranked(evaluation) else {}
        row |= {"key": key_of[system], "system": system} if keyed else {"system": system}
        for measure in evaluation.measures:
            e = estimate_by_key.get((system, measure), Estimate(measure, NAN))
            row[measure] = e.value
            if measure in limits:
                row |= {f"{measure} low": e.low, f"{measure} high": e.high}
            if any(marked[measure].values()):
                row[f"{measure} marks"] = marked[measure].get(system, "")
        rows.append(row)
    return rows


@apply_display_names
def csv_pairs(comparison: Comparison) -> list[dict[str, Any]]:
    """Return a row per pair of systems with differences, limits and adjusted p-values."""
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for d in comparison:
        row = rows.setdefault((d.system, d.baseline), {"system": d.system, "baseline": d.baseline})
        row[d.measure] = d.value
        if not math.isnan(d.low) or d.has_interval:
            row |= {f"{d.measure} low": d.low, f"{d.measure} high": d.high}
        row[f"{d.measure} p"] = d.p_adjusted
    return list(rows.values())
