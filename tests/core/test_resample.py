"""Bootstrap and randomization against theory, scikit-learn and plain enumeration."""

import itertools
import os
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.metrics import average_precision_score, roc_auc_score

from calipers import _core
from calipers._core import (
    bootstrap_cells,
    bootstrap_means,
    bootstrap_scores,
    poisson_counts,
    randomization,
    randomization_exact,
    sum_columns,
)


def ranking(rows, decimals, seed=0, prevalence=0.3):
    """Rows by descending score, and which of them end a block of equal scores."""
    rng = np.random.default_rng(seed)
    positive = rng.random(rows) < prevalence
    score = np.round(rng.normal(size=rows) + positive, decimals)
    order = np.argsort(-score, kind="stable")
    positive, score = positive[order], score[order]
    return positive, score, np.append(score[1:] != score[:-1], True)


def curve(positive, last, weight):
    """True and false positives at the ends of the blocks, (0, 0) first."""
    tp, fp = np.cumsum(positive * weight)[last], np.cumsum(~positive * weight)[last]
    return np.append(0, tp), np.append(0, fp)


# ------------------------------------------------------------------------------ random numbers


@pytest.mark.parametrize("seed", [0, 1, 20, 2**64 - 1])
def test_counts_are_poisson(seed):
    units, bins = 2_000_000, 8
    observed = np.bincount(poisson_counts(seed, 3, units), minlength=bins)
    observed = np.append(observed[: bins - 1], observed[bins - 1 :].sum())
    expected = np.append(stats.poisson.pmf(range(bins - 1), 1), stats.poisson.sf(bins - 2, 1))
    assert stats.chisquare(observed, expected * units).pvalue > 1e-4


@pytest.mark.parametrize("seed", [0, 5])
def test_counts_are_poisson_over_replicates(seed):
    """One unit over its replicates, and the sum over the units of each replicate."""
    counts = np.array([poisson_counts(seed, replicate, 100) for replicate in range(20_000)])
    expected = np.append(stats.poisson.pmf(range(5), 1), stats.poisson.sf(4, 1)) * len(counts)
    for unit in (0, 1, 50, 99):
        observed = np.bincount(counts[:, unit].clip(max=5), minlength=6)
        assert stats.chisquare(observed, expected).pvalue > 1e-4
    assert_allclose(counts.sum(axis=1).var(), 100, rtol=0.05)


@pytest.mark.parametrize("lag", [1, 2, 3, 64])
def test_neighbouring_counts_are_uncorrelated(lag):
    units = 500_000
    counts = [poisson_counts(seed, r, units) - 1.0 for seed, r in [(0, 0), (0, lag), (lag, 0)]]
    pairs = [
        (counts[0][:-lag], counts[0][lag:]),
        (counts[0], counts[1]),
        (counts[0], counts[2]),
        (counts[0][:-lag], counts[1][lag:]),
    ]
    for left, right in pairs:
        assert abs(np.mean(left * right)) < 4.5 / np.sqrt(units)


def test_counts_of_neighbours_are_independent():
    """Both halves of a word, and the seam between two words."""
    counts = poisson_counts(9, 9, 1_000_001).clip(max=3).astype(int)
    for start in (0, 1):
        first, second = counts[start : start + 10**6 : 2], counts[start + 1 : start + 10**6 : 2]
        table = np.bincount(4 * first[: len(second)] + second, minlength=16).reshape(4, 4)
        assert stats.chi2_contingency(table).pvalue > 1e-4


def test_counts_do_not_depend_on_how_many_there_are():
    assert_array_equal(poisson_counts(4, 2, 1001), poisson_counts(4, 2, 5000)[:1001])


# -------------------------------------------------------------------------------------- scores


def expected_pr_auc(tp, fp):
    """Trapezoids, and the integral of x / (a x + b) where a block holds both classes."""
    area = 0
    for x, y, t, f in zip(tp, fp, np.diff(tp), np.diff(fp), strict=False):
        after = (x + t) / (x + t + y + f) if t else 0
        if t and f:
            a, b = 1 + f / t, y - x * f / t
            area += t / a - (b / a**2 * np.log((a * (x + t) + b) / (a * x + b)) if b else 0)
        elif t:
            area += t * ((x / (x + y) if x + y else after) + after) / 2
    return area / tp[-1]


@pytest.mark.parametrize("decimals", [1, 2, 15])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("with_units", [False, True])
def test_areas_of_replicates(decimals, weighted, with_units):
    rows = 3001
    positive, score, last = ranking(rows, decimals)
    rng = np.random.default_rng(1)
    weight = rng.random(rows) if weighted else None
    unit = rng.integers(0, 700, rows).astype(np.uint32) if with_units else None
    drawn, tpr, precision = bootstrap_scores(positive, last, weight, unit, 7, 5, None, None)
    assert drawn.shape == (5, 3)
    assert tpr is None
    assert precision is None
    for replicate, (auc, pr_auc, ap) in enumerate(drawn):
        counts = poisson_counts(7, replicate, rows).astype(float)
        counts = counts if unit is None else counts[unit]
        weights = counts if weight is None else counts * weight
        assert_allclose(auc, roc_auc_score(positive, score, sample_weight=weights), rtol=1e-10)
        expected = average_precision_score(positive, score, sample_weight=weights)
        assert_allclose(ap, expected, rtol=1e-10)
        tp, fp = curve(positive, last, weights)
        assert_allclose(pr_auc, expected_pr_auc(tp, fp), rtol=1e-9)


def expected_tpr(tp, fp, rate):
    tpr, fpr = tp / tp[-1], fp / fp[-1]
    before = np.flatnonzero(fpr <= rate)[-1]
    if before == len(fpr) - 1:
        return 1.0
    share = (rate - fpr[before]) / (fpr[before + 1] - fpr[before])
    return tpr[before] + share * (tpr[before + 1] - tpr[before])


def expected_precision(tp, fp, recall):
    reached = np.flatnonzero((tp / tp[-1] >= recall) & (tp + fp > 0))[0]
    return tp[reached] / (tp[reached] + fp[reached])


@pytest.mark.parametrize("rows", [40, 3000])
@pytest.mark.parametrize("decimals", [1, 15])
@pytest.mark.parametrize("weighted", [False, True])
def test_curves_of_replicates(rows, decimals, weighted):
    positive, _, last = ranking(rows, decimals)
    weight = np.random.default_rng(2).random(rows) if weighted else None
    fpr, recall = np.linspace(0, 1, 41), np.array([0, 0, 0.25, 1 / 3, 0.5, 0.99, 1])
    arguments = positive, last, weight, None, 3, 8
    areas, tpr, precision = bootstrap_scores(*arguments, fpr, recall)
    assert_array_equal(areas, bootstrap_scores(*arguments, None, None)[0])
    assert_array_equal(tpr, bootstrap_scores(*arguments, fpr, None)[1])
    assert_array_equal(precision, bootstrap_scores(*arguments, None, recall)[2])
    for replicate in range(8):
        counts = poisson_counts(3, replicate, rows)
        tp, fp = curve(positive, last, counts if weight is None else counts * weight)
        expected = [expected_tpr(tp, fp, rate) for rate in fpr]
        assert_allclose(tpr[replicate], expected, rtol=1e-9, atol=1e-12)
        expected = [expected_precision(tp, fp, share) for share in recall]
        assert_allclose(precision[replicate], expected, rtol=1e-12)


def test_one_class_replicates_are_undefined():
    positive = np.array([True, False, False])
    grid = np.array([0, 0.5, 1])
    areas, tpr, precision = bootstrap_scores(
        positive, np.ones(3, bool), None, None, 0, 200, grid, grid
    )
    counts = np.array([poisson_counts(0, replicate, 3) for replicate in range(200)])
    undefined = (counts[:, 0] == 0) | (counts[:, 1:].sum(axis=1) == 0)
    assert 0 < undefined.sum() < 200
    for values in (areas, tpr, precision):
        assert_array_equal(np.isnan(values).all(axis=1), undefined)
        assert_array_equal(np.isnan(values).any(axis=1), undefined)


def test_spread_of_auc_is_that_of_delong():
    rng = np.random.default_rng(3)
    positive = rng.random(2000) < 0.3
    score = rng.normal(size=2000) + positive
    order = np.argsort(-score)
    drawn = bootstrap_scores(positive[order], np.ones(2000, bool), None, None, 0, 4000, None, None)
    place_positive = stats.rankdata(score)[positive] - stats.rankdata(score[positive])
    place_negative = stats.rankdata(score)[~positive] - stats.rankdata(score[~positive])
    m, n = positive.sum(), (~positive).sum()
    delong = np.var(place_positive / n) / m + np.var(place_negative / m) / n
    assert_allclose(drawn[0][:, 0].std(), np.sqrt(delong), rtol=0.06)


@pytest.mark.parametrize("grid", [[0.5, 0.4], [-0.1], [1.1], [np.nan]])
def test_bad_grids(grid):
    with pytest.raises(ValueError, match=r"^recall_grid must ascend within \[0, 1\]$"):
        bootstrap_scores(np.ones(2, bool), np.ones(2, bool), None, None, 0, 1, None, np.array(grid))


def test_last_row_must_end_its_block():
    with pytest.raises(ValueError, match="last row must end its block"):
        bootstrap_scores(np.ones(2, bool), np.zeros(2, bool), None, None, 0, 1, None, None)


# --------------------------------------------------------------------------------------- means


def test_means_are_spread_as_theory_says():
    values = np.random.default_rng(0).normal(3, 2, (400, 3)) ** 2
    mean, error = bootstrap_means(values, 1, 5000)
    assert mean.shape == error.shape == (5000, 3)
    expected = values.std(axis=0) / np.sqrt(400)
    assert_allclose(mean.mean(axis=0), values.mean(axis=0), atol=5 * expected.max() / 70)
    assert_allclose(mean.std(axis=0), expected, rtol=0.05)
    assert_allclose(error.mean(axis=0), expected, rtol=0.05)


def drawn_units(seed, units, replicates):
    """Which units a replicate draws, read from the means of indicators of the units."""
    share, _ = bootstrap_means(np.eye(units), seed, replicates)
    return np.rint(share * units).astype(int)


def test_means_and_errors_of_the_drawn_units():
    rng = np.random.default_rng(2)
    values = rng.normal(1e6, 1, (30, 4))
    values[rng.random((30, 4)) < 0.3] = np.nan
    values[:, 3] = np.nan
    values[[4, 20], 3] = [1.0, 2.0]
    mean, error = bootstrap_means(values, 5, 40)
    for replicate, counts in enumerate(drawn_units(5, 30, 40)):
        assert counts.sum() == 30
        for column in range(4):
            drawn = np.repeat(values[:, column], counts)
            drawn = drawn[~np.isnan(drawn)]
            n = len(drawn)
            expected = drawn.mean() if n else np.nan
            assert_allclose(mean[replicate, column], expected, rtol=1e-14)
            expected = drawn.std(ddof=1) / np.sqrt(n) if n > 1 else np.nan
            assert_allclose(error[replicate, column], expected, rtol=1e-7)


def test_units_are_drawn_evenly():
    counts = drawn_units(0, 50, 4000).sum(axis=0)
    assert stats.chisquare(counts).pvalue > 1e-4


def test_means_of_nothing():
    mean, error = bootstrap_means(np.empty((0, 2)), 0, 3)
    assert np.isnan(mean).all()
    assert np.isnan(error).all()
    assert bootstrap_means(np.empty((4, 0)), 0, 3)[0].shape == (3, 0)


def test_memory_order_does_not_matter():
    values = np.random.default_rng(0).normal(size=(20, 3))
    for function in (lambda v: bootstrap_means(v, 0, 10), lambda v: randomization(v, 0, 99)):
        assert_array_equal(function(values), function(np.asfortranarray(values)))
        assert_array_equal(function(values[::2]), function(values[::2].copy()))


# ------------------------------------------------------------------------------- randomization


def enumerated(differences):
    signs = np.array(list(itertools.product([1, -1], repeat=len(differences))))
    observed = abs(differences.sum(axis=0)) - 1e-12 * abs(differences).sum(axis=0)
    return (abs(signs @ differences) >= observed).sum(axis=0)


@pytest.mark.parametrize("units", [1, 2, 7, 12])
def test_exact_randomization_enumerates(units):
    rng = np.random.default_rng(units)
    # Sums of tenths tie in exact arithmetic, though not in floating point.
    tenths = rng.integers(-4, 5, (units, 2)) / 10
    differences = np.column_stack([rng.normal(0.5, 1, units), np.zeros(units), tenths])
    assert_array_equal(randomization_exact(differences), enumerated(differences))


def test_exact_randomization_of_thirty_units_of_one_sign():
    assert_array_equal(randomization_exact(np.ones((30, 1))), [2])
    assert_array_equal(randomization_exact(np.zeros((30, 1))), [2**30])
    assert_array_equal(randomization_exact(np.empty((0, 1))), [1])
    with pytest.raises(ValueError, match="31 units"):
        randomization_exact(np.ones((31, 1)))


@pytest.mark.parametrize("seed", [0, 1])
def test_random_signs_near_all_signs(seed):
    differences = np.random.default_rng(0).normal(0.4, 1, (14, 3))
    replicates = 200_000
    share = randomization_exact(differences) / 2**14
    count = randomization(differences, seed, replicates)
    assert count.dtype == np.int64
    assert_allclose(count / replicates, share, atol=5 * np.sqrt(0.25 / replicates))


def test_many_units_near_the_normal_distribution():
    differences = np.random.default_rng(1).normal(0.05, 1, (1000, 1))
    z = abs(differences.sum()) / np.sqrt((differences**2).sum())
    p = randomization(differences, 0, 100_000)[0] / 100_000
    assert_allclose(p, 2 * stats.norm.sf(z), atol=0.01)


# --------------------------------------------------------------------------------------- cells


def test_cells_sum_the_drawn_weights():
    rng = np.random.default_rng(0)
    cell = rng.integers(0, 6, 2001).astype(np.uint32)
    weight = rng.random(2001)
    drawn = bootstrap_cells(cell, weight, 7, 11, 5)
    assert drawn.shape == (5, 7)
    for replicate, sums in enumerate(drawn):
        counts = poisson_counts(11, replicate, 2001)
        assert_allclose(sums, np.bincount(cell, weight * counts, 7), rtol=1e-12)


def test_cells_must_exist():
    with pytest.raises(ValueError, match=r"^cell is 3 in row 1, of 3 cells$"):
        bootstrap_cells(np.array([0, 3], np.uint32), np.ones(2), 3, 0, 1)


@pytest.mark.parametrize("turned", [False, True])
def test_columns_of_one_place_are_added_up(turned):
    rng = np.random.default_rng(0)
    place = rng.integers(0, 6, 200).astype(np.uint32)
    values = rng.random((200, 5)).T if turned else rng.random((5, 200))
    sums = sum_columns(values, place, 7)
    assert sums.shape == (5, 7)
    for row, of in zip(values, sums, strict=True):
        np.testing.assert_array_equal(of, np.bincount(place, row, 7))


def test_places_must_exist_one_a_column():
    values = np.ones((2, 2))
    with pytest.raises(ValueError, match=r"^place is 3 in column 1, of 3 places$"):
        sum_columns(values, np.array([0, 3], np.uint32), 3)
    with pytest.raises(ValueError, match="place"):
        sum_columns(values, np.array([0], np.uint32), 3)


# ------------------------------------------------------------------------------------- threads

DIGEST = """
import hashlib
import numpy as np
from calipers import _core as core

rng = np.random.default_rng(0)
n = 30_000
positive, weight, score = rng.random(n) < 0.3, rng.random(n), np.round(rng.normal(size=n), 2)
order = core.order_descending(score)
last = np.append(np.diff(score[order]) != 0, True)
unit = rng.integers(0, 500, n).astype(np.uint32)
grid = np.linspace(0, 1, 11)
values = rng.normal(size=(70, 3))
results = [
    order,
    *core.score_table(positive, score)[:3],
    *core.score_table(positive, score, weight),
    *core.bootstrap_scores(positive[order], last, weight, unit, 1, 50, grid, grid),
    *core.bootstrap_means(values, 1, 500),
    core.randomization(values, 1, 5000),
    core.bootstrap_cells(unit, weight, 500, 1, 20),
    core.sum_columns(rng.random((9, n)), unit, 500),
]
digest = hashlib.sha256()
for result in results:
    digest.update(np.ascontiguousarray(result).tobytes())
print(digest.hexdigest())
"""


@pytest.mark.slow
def test_results_do_not_depend_on_threads():
    digests = {
        subprocess.run(
            [sys.executable, "-c", DIGEST],
            env={**os.environ, "RAYON_NUM_THREADS": threads},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for threads in ("1", "2", "5")
    }
    assert len(digests) == 1


def test_totals_are_cumulative_poisson_counts():
    """Of means from 0 to some that are sums of several tables of shares."""
    sizes = np.array([[0, 1, 5, 300, 4096, 9000], [3, 0, 0, 2, 77, 1]])
    totals = _core.bootstrap_totals(sizes, 4, 5000).reshape(5000, 2, -1)
    assert (totals[..., 0] == 0).all()
    counts = np.diff(totals)
    assert (counts[:, sizes == 0] == 0).all()
    for mean in sizes[sizes > 0]:
        [drawn] = counts[:, sizes == mean].T[:1]
        assert abs(drawn.mean() - mean) < 4.5 * np.sqrt(mean / 5000)
        assert abs(drawn.var() / mean - 1) < 0.12
        cells = stats.poisson(mean).ppf(np.linspace(0.1, 0.9, 5))
        expected = stats.poisson(mean).cdf(cells)
        assert_allclose((drawn[:, None] <= cells).mean(axis=0), expected, atol=0.032)
    assert abs(np.corrcoef(counts[:, sizes > 0].T)[np.triu_indices(9, 1)]).max() < 0.07


def test_rows_are_drawn_as_often_as_their_block():
    """Given the total each row is drawn alike, in any stretch, and is left out as often as (1 - 1/n)^k."""
    positive = np.arange(40) % 4 == 0
    replicate = np.arange(4000)
    ranges = np.tile([8, 40], (4000, 1))
    drawn = np.tile([11, 30], (4000, 1))
    inputs = positive, np.ones(40, bool)
    tp, fp, _, points = _core.bootstrap_points(
        *inputs, None, None, 7, replicate, ranges, np.zeros((4000, 2)), False, drawn
    )
    assert (points == 33).all()
    counts = np.diff((tp + fp).reshape(4000, 33))
    assert (counts[:, positive[8:]].sum(axis=1) == 11).all()
    assert (counts[:, ~positive[8:]].sum(axis=1) == 30).all()
    expected = np.where(positive[8:], 11 / 8, 30 / 24)
    assert (abs(counts.mean(axis=0) - expected) < 4.5 * np.sqrt(expected / 4000)).all()
    cells = _core.bootstrap_left_out_of(*inputs, 7, replicate, ranges, drawn, np.full(4000, 20))
    out = counts == 0
    above = np.arange(8, 40) < 20
    plain = [(side & which)[None] for side in (~positive[8:], positive[8:])
             for which in (~above, above)]  # fmt: skip
    assert_array_equal(cells, np.column_stack([(out & mask).sum(axis=1) for mask in plain]))
    assert abs(out[:, positive[8:]].mean() - (7 / 8) ** 11) < 0.01


@pytest.mark.parametrize("drawn", [[1, 0], [0, 1]])
def test_no_row_of_a_class_can_be_drawn_where_there_is_none(drawn):
    positive = np.full(4, drawn[0] == 0)
    with pytest.raises(ValueError, match="no row of a class"):
        _core.bootstrap_left_out_of(
            positive, np.ones(4, bool), 0, np.zeros(1, np.int64), np.array([[0, 4]]),
            np.array([drawn]), np.zeros(1, np.int64),
        )  # fmt: skip


ENDS, VALUES = np.ones(3, bool), np.ones((3, 2))
MANY = 10**12


@pytest.mark.parametrize(
    "ask",
    [
        lambda: _core.bootstrap_scores(ENDS, ENDS, None, None, 0, MANY),
        lambda: _core.bootstrap_tables(ENDS, ENDS, None, None, 0, 0, MANY),
        lambda: _core.bootstrap_tables(ENDS, ENDS, None, None, 0, 0, 2**63),
        lambda: _core.bootstrap_coarse(ENDS, ENDS, None, None, 0, MANY, 1),
        lambda: _core.bootstrap_totals(np.ones((2, 3), np.int64), 0, MANY),
        lambda: _core.bootstrap_runs(
            ENDS, ENDS, None, None, 0, MANY, np.array([3]), np.ones(3)
        ),
        lambda: _core.bootstrap_means(VALUES, 0, MANY),
        lambda: _core.bootstrap_cells(np.zeros(3, np.uint32), np.ones(3), MANY, 0, MANY),
        lambda: _core.sum_columns(VALUES, np.zeros(2, np.uint32), MANY),
        lambda: _core.randomized_ranges(VALUES, 2, 0, MANY),
        lambda: _core.poisson_counts(0, 0, MANY),
    ],
)  # fmt: skip
def test_more_than_memory_holds_is_an_error(ask):
    """And no abort of the process."""
    with pytest.raises(MemoryError, match=r"numbers need .* GB, more memory than there is"):
        ask()
