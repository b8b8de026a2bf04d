"""How many of some differences are unlike the commonest, however they come in batches."""

from __future__ import annotations

from functools import reduce
from operator import add

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal

import calipers as cal
from calipers.statistics import (
    FloatArray,
    IntArray,
    MajorityValue,
    UnitDifferences,
    subtract_values,
)

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
def test_bins_exclude_no_majority(name: str, by_class: bool) -> None:
    """Of enough rows for bins, and of values as near as rounding."""
    values, _ = data()[name]
    random = np.random.default_rng(3)
    for shift, scale in ((0.0, 1.0), (1.0, 1e-10)):
        rows = shift + scale * np.tile(values, 60) * (1 + 1e-3 * random.random(3600))
        rows[: 60 * 40] = shift + scale * np.tile(values, 40)
        classes = random.random(len(rows)) < 0.4 if by_class else None
        members = [rows] if classes is None else [rows[classes], rows[~classes]]
        expected = sum(MajorityValue.from_values(part).n_others for part in members)
        whole = UnitDifferences.from_influence_values(rows, None, classes, is_whole=True)
        assert whole.n_differing == expected


@pytest.mark.slow
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


def test_a_difference_of_equal_values_is_0_whatever_the_other_rows_are() -> None:
    first = np.array([1.0, 0.3, 0.0, 2e-17, -5.0, np.inf, np.inf, 0.3 * 1e-300])
    second = np.array([0.0, 0.1 + 0.2, 0.0, 1e-17, 5.0, np.inf, 1.0, (0.1 + 0.2) * 1e-300])
    whole = subtract_values(first, second)
    assert_array_equal(whole, [1.0, 0.0, 0.0, 1e-17, -10.0, np.nan, np.inf, 0.0])
    by_row = [subtract_values(first[i : i + 1], second[i : i + 1])[0] for i in range(len(first))]
    assert_array_equal(by_row, whole)


def test_batches_count_the_differences_that_are_not_0_as_all_rows_do() -> None:
    first = np.array([1.0, 0.5, 0.25, 0.3, 0.1 + 0.2, 0.7])
    second = np.array([0.0, 0.5, 0.25, 0.1 + 0.2, 0.3, 0.7])
    differences = subtract_values(first, second)
    whole = UnitDifferences.from_values(differences)
    parts = UnitDifferences.from_values(differences[:3]) + UnitDifferences.from_values(
        subtract_values(first[3:], second[3:])
    )
    assert whole.nonzero == parts.nonzero == 1
    assert whole.signs == parts.signs == (1, 5, 0)


def test_rounding_is_no_difference_in_memory_and_in_batches() -> None:
    """Thirty predictions differ; all others are equal up to the last digit."""
    random, n = np.random.default_rng(1), 20_000
    truth = random.normal(10, 3, n)
    a = truth + random.normal(size=n)
    b = a * (1 + random.choice([-1, 0, 1], n) * 2e-16)
    rows = random.choice(n, 30, replace=False)
    b[rows] = a[rows] + np.abs(random.normal(0.5, 0.2, 30)) * np.sign(a[rows] - truth[rows])
    table = pa.table({"y": truth, "a": a, "b": b})
    found = [
        cal.regression("y", ["a", "b"], data=table, engine=engine, measures=["MAE"], memory=memory)
        .compare(baseline="a")["MAE"]
        for engine, memory in (("memory", None), ("stream", 200_000))
    ]  # fmt: skip
    for one in found:
        assert (one.wins, one.ties, one.losses) == (0, n - 30, 30)
    assert found[0].p == pytest.approx(found[1].p, rel=1e-6)
    assert found[0].test == found[1].test


def test_the_tolerance_is_that_of_all_rows() -> None:
    """A batch of tiny values had a tolerance of its own, by which few of them were equal."""
    random = np.random.default_rng(0)
    batches = [
        np.append(np.zeros(60), random.random(60) * 1e-10),
        np.append(np.zeros(50), 1 + random.random(30)),
    ]
    first = sum(map(MajorityValue.from_values, batches[1:]), MajorityValue.from_values(batches[0]))
    assert not first.is_certain
    counted = [MajorityValue.from_values(values, first) for values in batches]
    second = counted[0] + counted[1]
    assert (second.is_certain, second.n_others) == (True, 30)


def test_no_further_pass_if_no_value_is_near() -> None:
    first = MajorityValue.from_values(np.array([0.0, 0.0, 1e-3]))
    second = MajorityValue.from_values(np.array([0.0, 0.0, 0.0, 5.0]))
    assert ((first + second).is_certain, (first + second).n_others) == (True, 2)
