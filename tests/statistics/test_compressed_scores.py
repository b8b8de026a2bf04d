"""Tables of scores with merged cells: areas stay between their bounds, and sums stay sound."""

from __future__ import annotations

import math
from itertools import permutations, product

import numpy as np
import numpy.typing as npt
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from calipers.statistics import FloatArray, ScoreTable

AREAS = ("AUC", "AP", "PR-AUC", "AP-DG")
COLUMNS = ("positive", "negative", "positive_squares", "negative_squares")


def rows(seed: int, n: int = 400) -> tuple[npt.NDArray[np.bool_], FloatArray, FloatArray | None]:
    generator = np.random.default_rng(seed)
    truth = generator.random(n) < generator.choice([0.05, 0.3, 0.9])
    score = np.round(generator.normal(size=n) + truth, int(generator.integers(0, 4)))
    weight = generator.uniform(0.1, 3.0, n) if seed % 2 else None
    return truth, score, weight


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("cells", [1, 2, 7, 40, 1000])
def test_bounds_hold_the_value(seed: int, cells: int) -> None:
    whole = ScoreTable.from_rows(*rows(seed))
    small = whole.compress(cells)
    assert len(small.scores) <= cells
    assert small.rows == whole.rows
    assert_allclose(small.positive.sum(), whole.positive.sum(), rtol=1e-13)
    for name in AREAS:
        value, _ = whole.area(name)
        low, high = small.area_bounds(name)
        assert 0 <= low <= value + 1e-13
        assert value <= high + 1e-13 <= 1 + 2e-13
        # What a merged table says of itself, where its cells are ties, is between them too.
        assert low - 1e-13 <= small.area(name)[0] <= high + 1e-13
        if small.highest is None:
            assert low == high == value


def test_bounds_narrow_with_cells() -> None:
    truth, score, _ = rows(8, 20_000)
    whole = ScoreTable.from_rows(truth, score + np.linspace(0, 1e-4, len(score)))
    widths = [
        np.ptp(whole.compress(cells).area_bounds("AUC")) for cells in (1, 10, 100, 1000, 10_000)
    ]
    assert widths[0] == 1.0
    assert (np.diff(widths) < 0).all()
    assert widths[3] < 1e-2
    assert whole.compress(len(whole.scores)) is whole
    wide = [np.ptp(whole.compress(cells).area_bounds("AP")) for cells in (10, 100, 1000)]
    assert (np.diff(wide) < 0).all()


def test_scores_that_carry_much_stay_alone() -> None:
    generator = np.random.default_rng(3)
    truth = generator.random(3000) < 0.5
    score = np.where(np.arange(3000) < 2000, 0.5, generator.random(3000))
    small = ScoreTable.from_rows(truth, score).compress(20)
    heavy = small.scores == 0.5
    assert heavy.sum() == 1
    assert not small.merged_mask[heavy][0]
    assert small.positive[heavy][0] + small.negative[heavy][0] == 2000


def test_sums_of_many_compressed_tables_keep_their_bounds_near() -> None:
    """Cells lie inside each other, so that they do not grow by being added up; a score that many
    rows have stays alone."""
    generator = np.random.default_rng(5)
    truth = generator.random(40_000) < 0.3
    score = generator.normal(size=40_000) + truth
    score[generator.random(40_000) < 0.2] = 0.25
    parts = np.split(np.arange(40_000), 20)
    total = ScoreTable.from_rows(truth[parts[0]], score[parts[0]]).compress(1000)
    for own in parts[1:]:
        total = (total + ScoreTable.from_rows(truth[own], score[own])).compress(1000)
    assert len(total.scores) <= 1000
    low, high = total.area_bounds("AUC")
    value, _ = ScoreTable.from_rows(truth, score).area("AUC")
    assert low <= value <= high
    assert high - low < 0.01
    assert total.positive[total.scores == 0.25] == np.count_nonzero(truth & (score == 0.25))
    assert not total.merged_mask[total.scores == 0.25].any()


def every_order(positives: int, negatives: int) -> list[tuple[npt.NDArray[np.bool_], FloatArray]]:
    """Rows of a cell in every order, tied in every way."""
    n = positives + negatives
    labels = set(permutations([True] * positives + [False] * negatives))
    ties = product([0, 1], repeat=n - 1)
    return [
        (np.array(order), -np.cumsum([0, *steps], dtype=float))
        for order, steps in product(labels, list(ties))
    ]


@pytest.mark.parametrize("above", [(0, 0), (1, 0), (0, 1), (2, 1)])
@pytest.mark.parametrize("inside", [(1, 1), (2, 1), (1, 2), (2, 2), (3, 0), (3, 2)])
def test_no_order_of_a_cell_passes_the_bounds(
    above: tuple[int, int], inside: tuple[int, int]
) -> None:
    others = np.array([True] * above[0] + [False] * above[1] + [True, False], bool)
    place = np.r_[100.0 + np.arange(sum(above)), -100.0, -101.0]
    found: dict[str, list[float]] = {name: [] for name in AREAS}
    for truth, score in every_order(*inside):
        table = ScoreTable.from_rows(np.r_[others, truth], np.r_[place, score])
        for name in AREAS:
            found[name].append(table.area(name)[0])
    # The same with the cell merged, which is that of an exponent.
    far = np.r_[2.0 ** (10 + np.arange(sum(above))), 2.0**-5, 2.0**-6]
    table = ScoreTable.from_rows(others, far)
    cell = np.array([float(inside[0])]), np.array([float(inside[1])])
    ends = {"highest": np.array([1.5]), "shift": 52, "heavy": 1.0}
    merged = ScoreTable(np.array([1.0]), *cell, *cell, sum(inside), **ends)
    both = table + merged
    assert both.merged_mask.sum() == 1
    for name in AREAS:
        low, high = both.area_bounds(name)
        assert low <= min(found[name]) + 1e-12
        assert max(found[name]) <= high + 1e-12
        if name == "AUC":  # some order meets them
            assert_allclose([low, high], [min(found[name]), max(found[name])], atol=1e-12)
        else:
            assert low > min(found[name]) - 0.15
            assert high < max(found[name]) + 0.15


@pytest.mark.parametrize("seed", range(6))
def test_sums_of_compressed_tables_are_sound(seed: int) -> None:
    truth, score, weight = rows(seed, 900)
    parts = [
        ScoreTable.from_rows(truth[s], score[s], None if weight is None else weight[s])
        for s in (slice(0, 300), slice(300, 310), slice(310, 900))
    ]
    whole = parts[0] + parts[1] + parts[2]
    small = [parts[0].compress(12), parts[1], parts[2].compress(30)]
    joined = small[0] + small[1] + small[2]
    other = small[2] + (small[1] + small[0])
    assert_array_equal(joined.scores, other.scores)
    assert joined.has_weights == whole.has_weights
    # Cells stand apart, and every cell holds what the whole has between its ends.
    highest = joined.scores if joined.highest is None else joined.highest
    assert (highest[1:] < joined.scores[:-1]).all()
    for place, (low, high) in enumerate(zip(joined.scores, highest, strict=True)):
        inside = (whole.scores >= low) & (whole.scores <= high)
        for name in COLUMNS:
            assert_allclose(getattr(joined, name)[place], getattr(whole, name)[inside].sum())
    for name in AREAS:
        low, high = joined.area_bounds(name)
        assert low <= whole.area(name)[0] + 1e-13
        assert whole.area(name)[0] <= high + 1e-13
    again = joined.compress(5)
    assert len(again.scores) <= 5
    assert again.area_bounds("AUC")[0] <= joined.area_bounds("AUC")[0] + 1e-13


def test_thresholds_between_cells_are_exact() -> None:
    truth, score, _ = rows(4)
    whole = ScoreTable.from_rows(truth, score)
    small = whole.compress(9)
    for threshold, counts in zip(small.thresholds, small.confusion().counts, strict=True):
        assert_array_equal(counts, whole.confusion_at(float(threshold)).counts)


def test_the_order_of_rows_changes_nothing() -> None:
    truth, score, _ = rows(2)
    order = np.random.default_rng(0).permutation(len(truth))
    one = ScoreTable.from_rows(truth, score).compress(10)
    other = ScoreTable.from_rows(truth[order], score[order]).compress(10)
    assert one.to_bytes() == other.to_bytes()


def test_bytes_and_back() -> None:
    small = ScoreTable.from_rows(*rows(1)).compress(10)
    back = ScoreTable.from_bytes(small.to_bytes())
    assert_array_equal(back.highest, small.highest)
    assert back.area_bounds("AP") == small.area_bounds("AP")
    whole = ScoreTable.from_rows(*rows(1))
    assert ScoreTable.from_bytes(whole.to_bytes()).highest is None


def test_no_cells_at_all() -> None:
    whole = ScoreTable.from_rows(*rows(2))
    with pytest.raises(ValueError, match="at least 1 cell, not 0"):
        whole.compress(0)
    nothing = ScoreTable.from_rows(np.zeros(0, bool), np.zeros(0))
    assert len((nothing + nothing).scores) == 0
    assert math.isnan((nothing + nothing).area_bounds("AUC")[0])


@pytest.mark.parametrize("sizes", [(200_000, 100), (100, 200_000), (90_000, 110_000)])
@pytest.mark.parametrize("decimals", [2, 9])
def test_long_tables_are_merged_as_one(sizes: tuple[int, int], decimals: int) -> None:
    generator = np.random.default_rng(5)
    truth = generator.random(sum(sizes)) < 0.2
    score = np.round(generator.normal(size=sum(sizes)), decimals)
    cut = sizes[0]
    one = ScoreTable.from_rows(truth[:cut], score[:cut])
    other = ScoreTable.from_rows(truth[cut:], score[cut:])
    whole = ScoreTable.from_rows(truth, score)
    joined = one + other
    assert joined.positive_squares is joined.positive
    for name in ("scores", *COLUMNS):
        assert_array_equal(getattr(joined, name), getattr(whole, name))
    assert joined.area("AP") == whole.area("AP")


@pytest.mark.parametrize("name", AREAS)
def test_acceleration_is_that_of_the_influence_of_rows(name: str) -> None:
    from calipers import measure
    from calipers.inference.influence import measure_influence
    from calipers.inference.intervals import acceleration

    truth, score, _ = rows(6)
    table = ScoreTable.from_rows(truth, score)
    moved = measure_influence(
        measure({"AP-DG": "PR-AUC-DG"}.get(name, name), family="scores"), table
    )
    assert moved is not None
    expected = acceleration(moved.row_values(truth, score))
    assert table.acceleration(name) == pytest.approx(expected, rel=1e-10)
    assert ScoreTable.from_rows(*rows(1)).acceleration(name) is None
