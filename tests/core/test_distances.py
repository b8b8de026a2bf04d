"""Distances summed by cluster and at their extremes, against SciPy's matrix of all of them."""

import hashlib
import itertools
import os
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from calipers._core import distance_sums, dunn_distances, dunn_matrix, matrix_sums

METRICS = {
    "euclidean": "euclidean",
    "sqeuclidean": "sqeuclidean",
    "manhattan": "cityblock",
    "cosine": "cosine",
}
#: Rows, columns, clusters: one row, one column, more columns than a panel has room for, more rows than
#: a panel, nearly as many clusters as rows, and one cluster.
SHAPES = [(1, 1, 1), (7, 1, 3), (100, 17, 4), (700, 5, 3), (300, 2, 290), (40, 3000, 2), (9, 2, 1)]


def draw(rows, columns, clusters, seed=0):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(rows, columns)) + 0.3
    return points, rng.integers(0, clusters, rows), rng.random(rows)


def sums_of(matrix, labels, clusters, weights):
    return matrix @ (weights[:, None] * (labels[:, None] == np.arange(clusters)))


def extremes_of(matrix, labels, clusters):
    least, largest = np.full((clusters, clusters), np.inf), np.zeros(clusters)
    for one, other in itertools.product(range(clusters), repeat=2):
        block = matrix[np.ix_(labels == one, labels == other)]
        if one == other:
            largest[one] = block.max(initial=0)
        else:
            least[one, other] = block.min(initial=np.inf)
    return least, largest


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("shape", SHAPES)
def test_points_against_scipy(shape, metric):
    points, labels, weights = draw(*shape)
    matrix = cdist(points, points, METRICS[metric])
    tolerance = {"rtol": 1e-12, "atol": 1e-13}
    for given in (weights, np.ones(shape[0])):
        expected = sums_of(matrix, labels, shape[2], given)
        found = distance_sums(points, labels, shape[2], metric, given)
        assert_allclose(found, expected, **tolerance)
        some = np.arange(shape[0])[:: -max(shape[0] // 5, 1)]
        found = distance_sums(points, labels, shape[2], metric, given, some)
        assert_allclose(found, expected[some], **tolerance)
    some, few = np.arange(shape[0])[::7], weights * (labels > 0)  # others weigh nothing
    found = distance_sums(points, labels, shape[2], metric, few, some)
    assert_allclose(found, sums_of(matrix, labels, shape[2], few)[some], **tolerance)
    assert_array_equal(
        distance_sums(points, labels, shape[2], metric, given),
        distance_sums(points, labels, shape[2], metric),
    )
    for found, expected in zip(
        dunn_distances(points, labels, shape[2], metric),
        extremes_of(matrix, labels, shape[2]),
        strict=True,
    ):
        assert_allclose(found, expected, **tolerance)


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(1, 1, 1), (7, 1, 3), (301, 3, 4), (600, 2, 50)])
def test_a_matrix_against_numpy(shape, kind):
    points, labels, weights = draw(*shape)
    matrix = cdist(points, points).astype(kind)
    exact = matrix.astype(np.float64)
    expected = sums_of(exact, labels, shape[2], weights), *extremes_of(exact, labels, shape[2])
    wide = np.zeros((2 * len(matrix), len(matrix) + 3), kind)
    wide[::2, 1:-2] = matrix
    for given in (matrix, np.asfortranarray(matrix), wide[::2, 1:-2]):
        sums, found = matrix_sums(given, labels, shape[2], weights)
        assert found == []
        assert_allclose(sums, expected[0], rtol=1e-12)
        *extremes, found = dunn_matrix(given, labels, shape[2])
        assert found == []
        for ours, theirs in zip(extremes, expected[1:], strict=True):
            assert_array_equal(ours, theirs)
    parts = [
        (matrix_sums(matrix[start : start + 37], labels, shape[2], weights, start),
         dunn_matrix(matrix[start : start + 37], labels, shape[2], start))
        for start in range(0, len(matrix), 37)
    ]  # fmt: skip
    assert_array_equal(np.concatenate([part[0][0] for part in parts]), sums)
    assert_array_equal(np.min([part[1][0] for part in parts], axis=0), extremes[0])
    assert_array_equal(np.max([part[1][1] for part in parts], axis=0), extremes[1])


def test_a_mapped_matrix(tmp_path):
    points, labels, _ = draw(90, 2, 3)
    matrix = cdist(points, points)
    np.save(tmp_path / "matrix.npy", matrix)
    mapped = np.load(tmp_path / "matrix.npy", mmap_mode="r")
    assert_array_equal(matrix_sums(mapped, labels, 3)[0], matrix_sums(matrix, labels, 3)[0])


@pytest.mark.parametrize("metric", METRICS)
def test_weight_two_is_twice_and_none_is_absent(metric):
    points, labels, _ = draw(400, 3, 4)
    weights = np.random.default_rng(1).integers(0, 3, 400)
    rows = np.repeat(np.arange(400), weights)
    found = distance_sums(points, labels, 4, metric, weights.astype(float), rows)
    repeated = distance_sums(points[rows], labels[rows], 4, metric)
    assert_allclose(found, repeated, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("metric", METRICS)
def test_equal_points_are_at_no_distance(metric):
    rows = np.tile([[0.1, 1e8, 3.0]], (500, 1))
    labels = np.arange(500) % 3
    assert not distance_sums(rows, labels, 3, metric).any()
    least, largest = dunn_distances(rows, labels, 3, metric)
    assert not largest.any()
    assert_array_equal(least, np.where(np.eye(3), np.inf, 0.0))


def test_an_empty_cluster_has_no_distances():
    points = np.array([[0.0], [1.0], [5.0]])
    labels = np.array([0, 0, 3])
    found = distance_sums(points, labels, 5, "manhattan")
    assert_array_equal(found, [[1, 0, 0, 5, 0], [1, 0, 0, 4, 0], [9, 0, 0, 0, 0]])
    least, largest = dunn_distances(points, labels, 5, "manhattan")
    assert largest.tolist() == [1, 0, 0, 0, 0]
    assert (least[0, 3], least[3, 0], np.isinf(least).sum()) == (4, 4, 23)


def test_no_points():
    none, labels = np.zeros((0, 2)), np.zeros(0, np.int64)
    assert distance_sums(none, labels, 3, "euclidean").shape == (0, 3)
    assert np.isinf(dunn_distances(none, labels, 3, "euclidean")[0]).all()
    assert matrix_sums(np.zeros((0, 0)), labels, 3)[0].shape == (0, 3)


def test_near_points_far_from_the_origin():
    """|x|² + |y|² − 2xy would have nothing left of these."""
    offsets = [Fraction(k, 2**20) for k in range(40)]
    points = np.array([[1e6 + float(offset)] * 2 for offset in offsets])
    expected = [float(2 * sum((a - b) ** 2 for b in offsets)) for a in offsets]
    labels = np.zeros(40, np.int64)
    found = distance_sums(points, labels, 1, "sqeuclidean")[:, 0]
    assert_allclose(found, expected, rtol=1e-14)
    assert dunn_distances(points, labels % 1, 1, "euclidean")[1] == pytest.approx(
        np.sqrt(2) * 39 / 2**20, rel=1e-15
    )


def test_small_angles_keep_their_digits():
    """1 − cos of an angle t is t²/2, which 1 − xy has to 8 digits at best here."""
    angles = np.array([0.0, 1e-6, 3e-6])
    points = np.stack([np.cos(angles), np.sin(angles)], axis=1) * [[1], [2], [1e5]]
    found = distance_sums(points, np.arange(3), 3, "cosine")
    assert_allclose(found, 2 * np.sin((angles[:, None] - angles) / 2) ** 2, rtol=1e-9)


@pytest.mark.parametrize("scale", [2.0**-1060, 2.0**-600, 2.0**600, 2.0**1020])
def test_no_square_leaves_the_range_of_numbers(scale):
    points, labels, _ = draw(50, 3, 2)
    points = np.round(points, 1)
    points *= 4 / np.abs(points).max()
    points = np.round(points * 2**10) / 2**10
    for metric, factor in (("euclidean", scale), ("manhattan", scale), ("cosine", 1.0)):
        for one, other in zip(
            (distance_sums(points * scale, labels, 2, metric), *dunn_distances(points * scale, labels, 2, metric)),
            (distance_sums(points, labels, 2, metric), *dunn_distances(points, labels, 2, metric)),
            strict=True,
        ):  # fmt: skip
            with np.errstate(over="ignore", under="ignore"):
                assert_allclose(one, other * factor, rtol=1e-3 if scale < 1e-300 else 1e-14)


def digest():
    """Of all functions, on numbers from which other orders of sums make other digits."""
    points, labels, weights = draw(1501, 5, 7)
    made = [
        array
        for metric in METRICS
        for array in (
            distance_sums(points, labels, 7, metric, weights),
            distance_sums(points, labels, 7, metric, weights, np.arange(0, 1501, 3)),
            *dunn_distances(points, labels, 7, metric),
        )
    ]
    matrix = cdist(points, points)
    matrix[1400, 3] += 1e-3
    sums, found = matrix_sums(matrix, labels, 7, weights)
    made += [sums, *dunn_matrix(matrix, labels, 7)[:2]]
    return f"{hashlib.sha256(b''.join(a.tobytes() for a in made)).hexdigest()} {found}"


@pytest.mark.slow
def test_the_number_of_threads_changes_no_digit():
    said = {
        subprocess.run(
            [sys.executable, __file__],
            env={**os.environ, "RAYON_NUM_THREADS": threads},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for threads in ("1", "2", "3")
    }
    assert said == {digest()}


def test_what_is_wrong_with_a_matrix():
    points, labels, _ = draw(300, 2, 3)
    good = cdist(points, points)

    def found(matrix, rows=slice(None)):
        start = rows.start or 0
        said = matrix_sums(matrix[rows], labels, 3, None, start)[1]
        assert repr(said) == repr(dunn_matrix(matrix[rows], labels, 3, start)[2])
        return {name: place for name, *place in said}

    for value in (np.nan, np.inf, -np.inf):
        matrix = good.copy()
        matrix[250, 7] = matrix[7, 250] = matrix[290, 1] = matrix[1, 290] = value
        (name, (seen, *place)), *others = found(matrix).items()
        assert (name, place, others) == ("not finite", [1, 290], [])
        assert_array_equal(seen, value)
    matrix = good.copy()
    matrix[5, 280] = matrix[280, 5] = -1e-9
    matrix[100, 101] = matrix[101, 100] = -2e-9
    assert found(matrix) == {"negative": [-2e-9, 100, 101]}
    assert found(matrix, slice(200, 290)) == {"negative": [-1e-9, 280, 5]}
    matrix = good.copy()
    matrix[17, 17], matrix[260, 260] = 1e-12, 1e-3
    assert found(matrix) == {"diagonal": [1e-3, 260, 260]}
    assert_array_equal(matrix_sums(matrix, labels, 3)[0], matrix_sums(good, labels, 3)[0])
    matrix = good.copy()
    matrix[10, 220] += 0.25
    assert found(matrix) == {"asymmetry": [pytest.approx(0.25), 10, 220]}
    assert found(matrix, slice(0, 200)) == {}
    assert found(matrix, slice(10, 230)) == {"asymmetry": [pytest.approx(0.25), 10, 220]}


def test_what_does_not_fit():
    points, labels, weights = draw(6, 2, 3)
    bad = points.copy()
    bad[4, 1] = np.nan
    with pytest.raises(ValueError, match=r"^points has NaN in row 4, column 1$"):
        distance_sums(bad, labels, 3, "euclidean")
    bad[4] = 0
    with pytest.raises(ValueError, match=r"^points has nothing but 0 in row 4, "):
        dunn_distances(bad, labels, 3, "cosine")
    with pytest.raises(ValueError, match=r"^the metric is hamming, expected one of euclidean, sq"):
        distance_sums(points, labels, 3, "hamming")
    with pytest.raises(ValueError, match=r"^points has no columns$"):
        distance_sums(points[:, :0], labels, 3, "euclidean")
    with pytest.raises(ValueError, match=r"^of has 6, expected rows from 0 to 5$"):
        distance_sums(points, labels, 3, "euclidean", None, np.array([0, 6]))
    matrix = cdist(points, points)
    with pytest.raises(ValueError, match=r"^rows 1 to 7 are more than the 6 columns$"):
        matrix_sums(matrix, labels, 3, None, 1)
    for function in (
        lambda *given: distance_sums(points, given[0], 3, "euclidean", given[1]),
        lambda *given: matrix_sums(matrix, given[0], 3, given[1]),
    ):
        with pytest.raises(ValueError, match=r"^labels has 5 rows, expected 6$"):
            function(labels[:5], weights)
        for wrong in (-1, 3):
            strange = np.where(np.arange(6) == 2, wrong, labels)
            message = rf"^the label is {wrong} in row 2, expected one from 0 to 2$"
            with pytest.raises(ValueError, match=message):
                function(strange, weights)
        for value in (-0.5, np.nan, np.inf):
            with pytest.raises(ValueError, match=r"^the weight is \S+ in row 3, expected a finite"):
                function(labels, np.where(np.arange(6) == 3, value, weights))


if __name__ == "__main__":
    print(digest())
