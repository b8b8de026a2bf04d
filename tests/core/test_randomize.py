"""Randomization in the core against enumeration, theory and itself on other threads."""

import itertools
import os
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from calipers._core import randomization, randomization_exact, randomized_ranges


def enumerated(differences, towards):
    """Of all patterns of signs those whose sum is as far towards the alternative."""
    signs = np.array(list(itertools.product([1, -1], repeat=len(differences))))
    observed = towards(differences.sum(axis=0)) - 1e-12 * abs(differences).sum(axis=0)
    return (towards(signs @ differences) >= observed).sum(axis=0)


@pytest.mark.parametrize("units", [1, 2, 7, 12])
@pytest.mark.parametrize("sign", [1, -1])
def test_one_sided_counts_enumerate(units, sign):
    rng = np.random.default_rng(units)
    # Sums of tenths tie in exact arithmetic, though not in floating point.
    tenths = rng.integers(-4, 5, (units, 2)) / 10
    differences = sign * np.column_stack([rng.normal(0.5, 1, units), np.zeros(units), tenths])
    counts = randomization_exact(differences, two_sided=False)
    assert_array_equal(counts, enumerated(differences, np.array))


@pytest.mark.parametrize("two_sided", [True, False])
@pytest.mark.parametrize("units", [1, 8, 63, 64, 65, 200])
def test_drawn_signs_near_the_distribution(units, two_sided):
    """Of 19 columns, more than two blocks of them, each comes near what NumPy's signs give."""
    rng = np.random.default_rng(units)
    differences = np.round(rng.normal(0.1, 1, (units, 19)), 1)
    signs = rng.choice([-1.0, 1.0], (20_000, units))
    towards = np.abs if two_sided else np.array
    expected = (towards(signs @ differences) >= towards(differences.sum(axis=0)) - 1e-9).mean(
        axis=0
    )
    count = randomization(differences, 3, 20_000, two_sided)
    # Five standard errors of the difference of two shares of 20,000.
    assert abs(count / 20_000 - expected).max() < 5 * np.sqrt(0.5 / 20_000)


def test_a_column_does_not_know_its_neighbours():
    """The same signs for all columns, wherever they stand; and the first of more replicates."""
    differences = np.random.default_rng(1).normal(0.05, 1, (150, 21))
    together = randomization(differences, 4, 5000)
    alone = [randomization(differences[:, [c]], 4, 5000)[0] for c in range(21)]
    assert_array_equal(together, alone)
    for replicates in (0, 1, 2047, 2048, 2049):
        few = randomization(differences, 4, replicates)
        assert ((few >= 0) & (few <= np.minimum(together, replicates))).all()


def test_nothing_to_randomize():
    assert randomization(np.empty((5, 0)), 0, 10).shape == (0,)
    assert_array_equal(randomization(np.empty((0, 2)), 0, 10), [10, 10])
    assert_array_equal(randomization(np.zeros((9, 1)), 0, 10, two_sided=False), [10])


# ------------------------------------------------------------------------------------- all systems


def test_ranges_are_those_of_all_deals():
    """3 systems on 3 units: 216 deals, each as often as the others."""
    values = np.random.default_rng(2).normal(size=(3, 3, 2))
    deals = itertools.product(itertools.permutations(range(3)), repeat=3)
    sums = np.array([sum(values[u, list(d)] for u, d in enumerate(deal)) for deal in deals])
    expected = np.sort(np.ptp(sums, axis=1), axis=0)
    drawn = np.sort(randomized_ranges(values.reshape(3, 6), 3, 5, 216 * 400), axis=0)
    assert drawn.shape == (216 * 400, 2)
    for measure in range(2):
        levels, share = np.unique(np.round(expected[:, measure], 9), return_counts=True)
        found, count = np.unique(np.round(drawn[:, measure], 9), return_counts=True)
        np.testing.assert_allclose(found, levels)
        assert (abs(count / 400 - share) < 5 * np.sqrt(share / 400)).all()


def test_of_two_systems_the_range_is_the_randomized_difference():
    values = np.random.default_rng(3).normal(size=(10, 2))
    difference = values[:, 0] - values[:, 1]
    exact = randomization_exact(difference[:, None])[0] / 2**10
    ranges = randomized_ranges(values, 2, 0, 50_000)[:, 0]
    assert (ranges >= abs(difference.sum()) - 1e-9).mean() == pytest.approx(exact, abs=0.012)


def test_measures_of_a_unit_are_dealt_together():
    values = np.random.default_rng(4).normal(size=(20, 4, 1))
    both = randomized_ranges(np.tile(values, 2).reshape(20, 8), 4, 0, 200)
    assert_array_equal(both[:, 0], both[:, 1])
    assert_array_equal(both[:, :1], randomized_ranges(values[:, :, 0], 4, 0, 200))


def test_columns_must_belong_to_systems():
    for systems in (0, 2):
        with pytest.raises(ValueError, match=rf"^3 columns do not belong to {systems} systems"):
            randomized_ranges(np.ones((2, 3)), systems, 0, 1)
    assert randomized_ranges(np.empty((4, 0)), 3, 0, 5).shape == (5, 0)


# ---------------------------------------------------------------------------------------- threads

DIGEST = """
import hashlib
import numpy as np
import calipers._core as core

values = np.random.default_rng(0).normal(0.02, 1, (300, 24))
results = [
    core.randomization(values, 1, 9000),
    core.randomization(values, 1, 9000, False),
    core.randomization_exact(values[:18]),
    core.randomized_ranges(values, 6, 1, 3000),
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
        for threads in ("1", "2", "16")
    }
    assert len(digests) == 1
