"""What has a length and is iterated is indexed as a list is, beside its names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from results_of_verbs import MADE, result

from calipers.results.serialization import JsonSerializable


def listed(value: Any, depth: int = 3) -> Iterator[Any]:
    """The results within a result that are iterated and have a length, and it itself."""
    if depth and isinstance(value, JsonSerializable | tuple):
        if not isinstance(value, tuple) and hasattr(value, "__iter__"):
            yield value
        names = () if isinstance(value, tuple) else value.__dataclass_fields__
        parts = value[:3] if isinstance(value, tuple) else [getattr(value, n) for n in names]
        for part in parts:
            yield from listed(part, depth - 1)


@pytest.mark.slow
@pytest.mark.parametrize("name", MADE)
def test_what_has_a_length_is_indexed_as_it_is_iterated(name: str) -> None:
    for found in listed(result(name)):
        if not hasattr(found, "__len__"):  # rows of learning are found by their value
            continue
        items, n = list(found), len(found)
        assert n == len(items)
        for i in {0, n - 1, -1, -n} if n else ():
            assert found[i] == items[i]
            assert found[np.int64(i)] == items[i]
        assert found[:2] == tuple(items[:2])
        assert list(reversed(found)) == items[::-1]
        for beyond in (n, -n - 1):
            with pytest.raises(IndexError, match=f"only {n} items"):
                found[beyond]
        for wrong in (None, 1.5, b"x", object(), frozenset()):
            with pytest.raises(TypeError, match=r"expected .*an index"):
                found[wrong]
        for unknown in ("nonsense", ("nonsense",), ("a", "b", "c", "d", "e"), ()):
            with pytest.raises(
                (KeyError, TypeError),
                match=r"expected|not a valid key|names 0|there is no |there are several",
            ):
                found[unknown]


def test_collections_of_systems_are_indexed_alike() -> None:
    scores = result("scores")
    for several in (result("classes").confusion, scores.chart and result("cut-offs")):
        assert several[0] == next(iter(several))
        with pytest.raises(IndexError, match="there is no item"):
            several[99]
        with pytest.raises(TypeError, match="expected a system, or an index"):
            several[None]
