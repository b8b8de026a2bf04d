"""How many of some differences are unlike the commonest, however they come in batches."""

from __future__ import annotations

from functools import reduce
from operator import add

import numpy as np
import numpy.typing as npt
import pytest

from calipers.statistics import FloatArray, IntArray, UnitDifferences

Rows = tuple[FloatArray, npt.NDArray[np.bool_]]


def data() -> dict[str, Rows]:
    """Values, and the class of each, of which one has a value that more than half of it have."""
    random, n = np.random.default_rng(6), 60
    free, coin = random.normal(size=n), random.random(n)
    rows = {
        "all alike": np.full(n, 0.25),
        "none alike": free,
        "most are 0": np.where(coin < 0.6, 0.0, free),
        "most are, but for rounding": np.where(coin < 0.7, -0.1, free) * (1 + 1e-14 * free),
        "half are": np.where(np.arange(n) % 2, 0.5, free),
        "one more than half": np.where(np.arange(n) < n // 2 + 1, 0.5, free),
        "two are common": np.where(coin < 0.45, 1.0, np.where(coin < 0.9, -1.0, free)),
        "few values": np.floor(4 * coin),
    }
    return {name: (of, random.random(n) < 0.3) for name, of in rows.items()}


def unlike_most(values: FloatArray) -> int:
    """By each value that there is."""
    alike = max((int((np.abs(values - one) < 1e-9).sum()) for one in values), default=0)
    return len(values) - alike if 2 * alike > len(values) else len(values)


def added(rows: Rows, cuts: IntArray, order: IntArray, *, by_class: bool) -> UnitDifferences:
    """Of batches of the rows, which are looked at anew where that is needed."""
    batches = [(rows[0][of], rows[1][of]) for of in np.split(order, cuts)]

    def look(known: UnitDifferences | None = None) -> UnitDifferences:
        classes = () if known is None else known.classes
        return reduce(
            add,
            (
                UnitDifferences.from_influence_values(
                    x, None, of if by_class else None, known_values=classes
                )
                for x, of in batches
            ),
        )

    found = look()
    return found if found.is_certain else look(found)


@pytest.mark.parametrize("by_class", [False, True])
@pytest.mark.parametrize("name", data())
def test_cuts_do_not_matter(name: str, by_class: bool) -> None:
    rows, random = data()[name], np.random.default_rng(8)
    values, positive = rows
    parts = [values[positive], values[~positive]] if by_class else [values]
    expected = sum(map(unlike_most, parts))
    n = len(values)
    orders = [np.arange(n), np.argsort(values), np.argsort(np.abs(values)), np.argsort(positive)]
    cuts = [np.zeros(0, int), np.arange(1, n), np.arange(2, n, 2)]
    cuts += [np.sort(random.integers(0, n + 1, k)) for k in (1, 2, 5, 20)]
    for order in (*orders, *(random.permutation(n) for _ in range(4))):
        for cut in cuts:
            assert added(rows, cut, order, by_class=by_class).n_differing == expected
