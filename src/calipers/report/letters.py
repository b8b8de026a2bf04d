"""What tells systems apart, in a few characters each: letters, daggers, and a row of signs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from calipers.report.headlines import MANY_SYSTEMS, by_value
from calipers.report.verdict import Outcome, outcome
from calipers.results import Comparison, Difference

BETTER, WORSE = "†", "‡"
#: What a mark says of a system beside the baseline, or of a difference.
MARKS = {
    Outcome.BETTER: BETTER,
    Outcome.HIGHER: BETTER,
    Outcome.WORSE: WORSE,
    Outcome.LOWER: WORSE,
}
#: In a row of signs: better than the other, worse, not told apart, and where it meets itself.
SIGNS = {BETTER: "+", WORSE: "-", "": "·"}
ITSELF, UNKNOWN = "\\", "?"
#: Where letters would be too many: what has it is not told apart from the best.
AS_BEST = "="
MOST_SETS = 3
MOST_WIDE = 12


def keys(number: int) -> list[str]:
    """``a``, ``b``, …; numbers of more than there are letters."""
    if number > 26:
        return [f"{place}" for place in range(1, number + 1)]
    return [chr(ord("a") + place) for place in range(number)]


def named(comparison: Comparison | None, systems: int) -> bool:
    """Whether cells name the systems that they are better than."""
    return comparison is not None and comparison.baseline is None and systems <= MANY_SYSTEMS


def marks(
    comparison: Comparison | None,
    differences: Sequence[Difference],
    values: Mapping[str, float],
    key_of: Mapping[str, str],
) -> dict[str, str]:
    """Of each system: daggers beside a baseline; else the letters of those that it is better than,
    or, where these are many, letters that systems share which are not told apart."""
    if comparison is None or not differences:
        return {}
    if comparison.baseline is not None:
        return {d.system: MARKS.get(outcome(d), "") for d in differences}
    if named(comparison, len(key_of)):
        beaten: dict[str, list[str]] = {}
        for d in differences:
            mark = MARKS.get(outcome(d))
            if mark:
                better, worse = (d.system, d.baseline)[:: 1 if mark == BETTER else -1]
                beaten.setdefault(better, []).append(key_of[worse])
        return {name: "".join(sorted(found)) for name, found in beaten.items()}
    if any(outcome(d) is Outcome.NOT_TESTED for d in differences):
        return {}  # a letter that two share would say what nobody tested
    apart = {frozenset((d.system, d.baseline)) for d in differences if outcome(d).decided}
    order = by_value(values, differences[0].higher_is_better)
    shared = shared_letters(order, apart) or {}
    written = {name: runs(found) for name, found in shared.items()}
    if not written or max(map(len, written.values())) > MOST_WIDE:
        return {name: AS_BEST for name in order if frozenset((name, order[0])) not in apart}
    return written


def shared_letters(
    order: Sequence[str], apart: Iterable[frozenset[str]]
) -> dict[str, tuple[str, ...]] | None:
    """Letters so that two share one exactly where they are not told apart; the first have ``a``.

    Each pair that is told apart splits every set that holds both in two, without the one and
    without the other, and sets within others are dropped (Piepho 2004). None where it would take
    more than :data:`MOST_SETS` a system: systems that do not line up can take any number.

    >>> shared_letters("xyz", [frozenset("xz")])
    {'x': ('a',), 'y': ('a', 'b'), 'z': ('b',)}
    """
    sets = [frozenset(order)]
    place = {name: i for i, name in enumerate(order)}
    # From the best down: in another order many more sets come and go in between.
    for pair in sorted(apart, key=lambda pair: sorted(place[name] for name in pair)):
        split = [s - {name} for s in sets if pair <= s for name in pair]
        whole = [s for s in sets if not pair <= s]
        for made in dict.fromkeys(split):
            if not any(made <= other for other in whole):
                whole = [made, *(s for s in whole if not s <= made)]
        sets = whole
        if len(sets) > MOST_SETS * len(order):
            return None
    sets.sort(key=lambda s: sorted(place[name] for name in s))
    lettered = list(zip(keys(len(sets)), sets, strict=True))
    return {name: tuple(key for key, s in lettered if name in s) for name in order}


def runs(found: Sequence[str]) -> str:
    """Letters or numbers in a row, three and more that follow each other as ``a–d``.

    >>> runs(("a", "b")), runs(("a", "b", "c", "e")), runs(("9", "10", "11"))
    ('ab', 'a–c,e', '9–11')
    """
    places = [int(key) if key.isdigit() else ord(key) for key in found]
    parts: list[list[str]] = [[key] for key in found[:1]]
    for (before, place), key in zip(pairwise(places), found[1:], strict=True):
        if place == before + 1:
            parts[-1].append(key)
        else:
            parts.append([key])
    shortened = [f"{p[0]}–{p[-1]}" if len(p) > 2 else None for p in parts]
    between = "," if any(shortened) or any(key.isdigit() for key in found) else ""
    written = [s or between.join(p) for s, p in zip(shortened, parts, strict=True)]
    return between.join(written)


def signs(differences: Iterable[Difference], order: Sequence[str]) -> list[str]:
    """A row for each system: how it compares with the first, the second, …"""
    found: dict[tuple[str, str], str] = {}
    turned = {BETTER: WORSE, WORSE: BETTER}
    for d in differences:
        of = outcome(d)
        if of.tested:
            mark = MARKS.get(of, "")
            found[d.system, d.baseline] = SIGNS[mark]
            found[d.baseline, d.system] = SIGNS[turned.get(mark, "")]
    return ["".join(ITSELF if a == b else found.get((a, b), UNKNOWN) for b in order) for a in order]
