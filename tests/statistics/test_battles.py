"""Counts of battles: as many as a loop counts, whatever the batches."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from calipers.statistics.battles import BattleCounts


def drawn(seed: int, n: int = 300, systems: int = 5) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    first = generator.integers(0, systems, n)
    second = (first + generator.integers(1, systems, n)) % systems
    return first, second, generator.integers(0, 3, n)


def cells(counts: BattleCounts) -> dict[tuple[str, str, int], tuple[float, float, float]]:
    """The cells by name."""
    return {
        (counts.systems[a], counts.systems[b], int(o)): (n, w, s)
        for a, b, o, n, w, s in zip(
            counts.first_of,
            counts.second_of,
            counts.outcome_of,
            counts.battles,
            counts.weight,
            counts.squares,
            strict=True,
        )
    }


@pytest.mark.parametrize("systems", [tuple("abcde"), tuple(f"s{i}" for i in range(2000))])
def test_cells_are_those_of_a_loop(systems: tuple[str, ...]) -> None:
    """Counted in a table, or sorted if it would be large."""
    first, second, outcome = drawn(0)
    weight = np.random.default_rng(1).random(len(first))
    count = np.random.default_rng(2).integers(1, 5, len(first)).astype(float)
    counts = BattleCounts.from_codes(first, second, outcome, systems, weight, count)
    expected: dict[tuple[str, str, int], list[float]] = {}
    for a, b, o, w, n in zip(first, second, outcome, weight, count, strict=True):
        cell = expected.setdefault((systems[a], systems[b], int(o)), [0.0, 0.0, 0.0])
        for i, x in enumerate((n, n * w, n * w * w)):
            cell[i] += x
    result = cells(counts)
    assert result.keys() == expected.keys()
    for key, values in result.items():
        assert values == pytest.approx(tuple(expected[key]))


def test_batches_add_up_to_all() -> None:
    first, second, outcome = drawn(3)
    total = BattleCounts.from_codes(first, second, outcome, tuple("abcde"))
    halves = [
        BattleCounts.from_codes(*(x[part] for x in (first, second, outcome)), tuple("abcde"))
        for part in (slice(100), slice(100, None))
    ]
    merged = halves[0] + halves[1]
    assert cells(merged) == cells(total)
    assert cells(type(total).from_bytes(merged.to_bytes())) == cells(total)


def test_batches_may_have_different_systems() -> None:
    one, two = np.array([0]), np.array([1])
    first = BattleCounts.from_codes(one, two, np.array([2]), ("b", "a"))
    second = BattleCounts.from_codes(one, two, np.array([1]), ("c", "b"))
    merged = first + second
    assert merged.systems == ("a", "b", "c")
    assert cells(merged).keys() == {("b", "a", 2), ("c", "b", 1)}


def test_the_order_of_the_two_systems_can_be_removed() -> None:
    first, second, outcome = drawn(4)
    counts = BattleCounts.from_codes(first, second, outcome, tuple("abcde"))
    unordered = counts.without_order()
    assert (unordered.first_of < unordered.second_of).all()
    expected = Counter(
        (a, b, o) if a < b else (b, a, 2 - o)
        for a, b, o in zip(first.tolist(), second.tolist(), outcome.tolist(), strict=True)
    )
    found = zip(unordered.first_of, unordered.second_of, unordered.outcome_of, strict=True)
    assert dict(zip(found, unordered.battles, strict=True)) == expected
    assert unordered.records().tolist() == counts.records().tolist()


def test_records_are_wins_ties_and_losses() -> None:
    first, second, outcome = drawn(5)
    counts = BattleCounts.from_codes(first, second, outcome, tuple("abcde"))
    for system in range(5):
        of_first, of_second = outcome[first == system], 2 - outcome[second == system]
        results = np.concatenate([of_first, of_second])
        expected = [(results == o).sum() for o in (2, 1, 0)]
        assert counts.records()[system].tolist() == expected


def test_systems_can_be_selected() -> None:
    first, second, outcome = drawn(6)
    counts = BattleCounts.from_codes(first, second, outcome, tuple("abcde"))
    selected = counts.select_systems(np.array([3, 1]))
    assert selected.systems == ("d", "b")
    assert cells(selected) == {
        key: value for key, value in cells(counts).items() if set(key[:2]) == {"b", "d"}
    }
