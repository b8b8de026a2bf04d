"""Values in bounded memory: which there are, else bins that hang on the rows alone."""

from __future__ import annotations

from functools import reduce
from operator import add

import numpy as np
import pytest

from calipers.statistics import Histogram
from calipers.statistics.histogram import MAX_GROUPS, MAX_TAIL_VALUES


def parts(values: np.ndarray, weight: np.ndarray | None, number: int) -> Histogram:
    pieces = np.array_split(np.random.default_rng(1).permutation(len(values)), number)
    made = [
        Histogram.from_rows(values[i], None if weight is None else weight[i], store_tail=True)
        for i in pieces
    ]
    return reduce(add, made)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shift", [0.0, -3.7, 1e7])
def test_bins_are_the_same_however_rows_are_split(shift: float, weighted: bool) -> None:
    """And those of the text: the least power of two that makes no more of them than that."""
    generator = np.random.default_rng(2)
    values = generator.lognormal(size=9000) + shift
    weight = generator.uniform(0, 2, 9000) if weighted else None
    own = np.ones(9000) if weight is None else weight
    one = Histogram.from_rows(values, weight, store_tail=True)
    width = one.width
    assert np.log2(width) == round(np.log2(width))
    cell = np.floor(values / width)
    assert np.ptp(cell) < MAX_GROUPS <= np.ptp(np.floor(values / (width / 2)))
    found, place = np.unique(cell, return_inverse=True)
    sums = np.bincount(place, own)
    assert one.cell.tolist() == found.tolist()
    for number in (1, 2, 30):
        made = parts(values, weight, number)
        assert made.width == width
        assert made.cell.tolist() == one.cell.tolist()
        assert made.sums == pytest.approx(sums, rel=1e-12)
        assert made.squares == pytest.approx(np.bincount(place, own**2), rel=1e-12)
        assert made.mean == pytest.approx(np.bincount(place, own * values) / sums, rel=1e-12)
        assert (made.min_value, made.max_value, made.rows) == (values.min(), values.max(), 9000)
        assert sorted(made.largest) == sorted(values)[-MAX_TAIL_VALUES:]


def test_few_values_stay_what_they_are() -> None:
    values = np.random.default_rng(3).integers(0, 900, 20_000) / 7
    made = parts(values, None, 13)
    found, count = np.unique(values, return_counts=True)
    assert made.width == 0
    assert made.mean.tolist() == found.tolist()
    assert made.sums.tolist() == count.tolist()


def test_few_rows_keep_their_weights_apart() -> None:
    values, weight = np.array([1.0, 1.0, 2.0, 5.0]), np.array([1.0, 3.0, 2.0, 0.0])
    made = parts(values, weight, 2)
    assert sorted(zip(made.mean, made.sums, strict=True)) == [(1.0, 1.0), (1.0, 3.0), (2.0, 2.0)]
    half = np.array([2.0, 2.0]), np.array([1.0, 0.5])
    # (A batch of rows that all weigh 1 comes without weights.)
    for mixed in (
        Histogram.from_rows(values) + Histogram.from_rows(*half),
        Histogram.from_rows(*half) + Histogram.from_rows(values),
    ):
        found = sorted(zip(mixed.mean, mixed.sums, strict=True))
        assert found == [(1.0, 1.0), (1.0, 1.0), (2.0, 0.5), (2.0, 1.0), (2.0, 1.0), (5.0, 1.0)]
    many = parts(np.tile(values, 400), np.tile(weight, 400), 5)
    assert dict(zip(many.mean, many.sums, strict=True)) == {1.0: 1600.0, 2.0: 800.0}
    assert dict(zip(many.mean, many.squares, strict=True)) == {1.0: 4000.0, 2.0: 1600.0}


def test_what_is_infinite_or_absent_has_no_groups() -> None:
    infinite = Histogram.from_rows(np.array([1.0, np.inf]))
    none = Histogram.from_rows(np.zeros(0))
    some = Histogram.from_rows(np.array([1.0, 2.0]))
    assert not infinite.is_bounded
    assert not (some + infinite).is_bounded
    for both in (some + none, none + some):
        assert both.mean.tolist() == [1.0, 2.0]


def test_groups_of_rows_of_unknown_weight_stay_groups() -> None:
    groups = Histogram.from_groups(np.array([1.0, 2]), np.array([1.0, 5]), np.array([1.0, 13]), 3)
    rows = Histogram.from_rows(np.array([2.0, 3, 4]), np.array([2.0, 1, 1]))
    for found in (groups + rows, rows + groups):
        assert found.rows == 6
        assert found.mean.tolist() == [1, 2, 3, 4]
        assert found.sums.tolist() == [1, 7, 1, 1]
        assert found.squares.tolist() == [1, 17, 1, 1]


def test_the_largest_values_are_transformed_too() -> None:
    values = np.array([1.0, 5.0, 3.0])
    found = Histogram.from_rows(values, store_tail=True)
    assert sorted(found.transform(1.0, 2.0).largest) == [3, 7, 11]
    assert found.transform(1.0, -2.0).n_largest == 0  # the smallest are not known
    assert not len(found.transform(1.0, -2.0).largest)
