"""One pass over a table of classes, against NumPy."""

import os
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from calipers._core import class_ranks, class_rows

SHAPES = [(0, 3), (1, 1), (1, 4), (3, 2), (7, 5), (1000, 10), (4099, 3), (50, 700), (9, 5000)]


def draw(rows, classes, decimals=15, seed=0):
    rng = np.random.default_rng(seed)
    table = np.round(rng.dirichlet(np.ones(classes), rows), decimals)
    return table, rng.integers(0, classes, rows)


def orders(table):
    """The same numbers in every order of memory."""
    wide = np.zeros((2 * len(table), table.shape[1] + 3), table.dtype)
    wide[::2, 2:-1] = table
    turned = np.ascontiguousarray(table[::-1])[::-1]
    return table, np.asfortranarray(table), wide[::2, 2:-1], turned


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("shape", SHAPES)
def test_rows_against_numpy(shape, kind):
    table, truth = draw(*shape)
    table = table.astype(kind)
    exact = table.astype(np.float64)
    at = np.arange(len(truth)), truth
    rest = exact.copy()
    rest[at] = 0
    for given in orders(table):
        highest, own, squares, bad, off = class_rows(given, truth, 1e-6)
        assert_array_equal(highest, table.argmax(axis=1))
        assert_array_equal(own, exact[at])
        assert_allclose(squares, np.square(rest).sum(axis=1), rtol=1e-13)
        assert bad[0] == off[0] == 0


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("shape", SHAPES)
def test_ranks_against_numpy(shape, kind):
    table, truth = draw(*shape, decimals=1)  # most are tied
    table = table.astype(kind)
    own = np.take_along_axis(table, truth[:, None], axis=1)
    above, tied = (table > own).sum(axis=1), (table == own).sum(axis=1) - 1
    for given in orders(table):
        assert_array_equal(class_ranks(given, truth), above * shape[1] + tied)


def test_the_order_of_memory_changes_no_digit():
    table, truth = draw(5003, 11)
    first, *others = (class_rows(given, truth, 1e-6) for given in orders(table))
    for other in others:
        for ours, theirs in zip(first, other, strict=True):
            assert_array_equal(ours, theirs)


def test_the_number_of_threads_changes_no_digit():
    code = (
        "import numpy as np; from calipers._core import class_rows as f;"
        "g = np.random.default_rng(0); t = g.dirichlet(np.ones(9), 9001); t[[70, 8000]] = 0.2;"
        "import hashlib; made = f(t, g.integers(0, 9, 9001), 1e-6);"
        "print(made[3:], hashlib.sha256(b''.join(a.tobytes() for a in made[:3])).hexdigest())"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "RAYON_NUM_THREADS": threads},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for threads in ("1", "2", "5")
    }
    [only] = said
    assert only.startswith("((0, 0), (2, 70))")


def test_the_first_of_equals_is_the_highest():
    table = np.array([[0.25, 0.5, 0.25, 0.5], [0.25, 0.25, 0.25, 0.25], [-3.0, -1.0, -2.0, -1.0]])
    assert class_rows(table, np.zeros(3, np.int64))[0].tolist() == [1, 0, 1]


@pytest.mark.parametrize("rows", [1, 3, 4, 5, 2000])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, -1e-12, 1.0000001])
def test_bad_values_are_counted_from_the_first(rows, value):
    table = np.tile([0.25, 0.75], (rows, 1))
    wrong = sorted({rows // 2, rows - 1})
    for place in range(2):
        bad = table.copy()
        bad[wrong, place] = value
        for given in orders(bad):
            *_, faulty, off = class_rows(given, np.zeros(rows, np.int64), 1e-6)
            assert faulty == (len(wrong), wrong[0])
            assert off[0] == 0
            finite = np.isfinite(value)
            *_, faulty, off = class_rows(given, np.zeros(rows, np.int64))
            assert faulty == ((0, 0) if finite else (len(wrong), wrong[0]))
            assert off[0] == 0


def test_scores_may_be_as_large_as_can_be():
    most = np.finfo(np.float64).max
    table = np.array([[most, most, -most], [-most, -most, -most]])
    highest, own, _, bad, _ = class_rows(table, np.array([2, 0]))
    assert highest.tolist() == [0, 0]
    assert own.tolist() == [-most, -most]
    assert bad[0] == 0


@pytest.mark.parametrize("function", [class_rows, class_ranks])
def test_what_does_not_fit(function):
    table = np.full((4, 3), 1 / 3)
    with pytest.raises(ValueError, match=r"^table has 4 rows, truth has 3$"):
        function(table, np.zeros(3, np.int64))
    for wrong in (3, -1):
        message = f"^truth is {wrong} in row 2, expected a class from 0 to 2$"
        with pytest.raises(ValueError, match=message):
            function(table, np.array([0, 1, wrong, 0]))
    with pytest.raises(TypeError):
        function(table.astype(np.int64), np.zeros(4, np.int64))
