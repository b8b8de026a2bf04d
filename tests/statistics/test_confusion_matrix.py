"""The confusion matrix."""

from __future__ import annotations

import numpy as np
import pytest

from calipers.statistics import ConfusionMatrix


def test_rows_are_the_truth() -> None:
    matrix = ConfusionMatrix.from_codes(
        np.array([0, 0, 1, 2, 2, 2]), np.array([0, 1, 1, 0, 2, 2]), ("a", "b", "c")
    )
    np.testing.assert_array_equal(matrix.counts, [[1, 1, 0], [0, 1, 0], [1, 0, 2]])
    np.testing.assert_array_equal(matrix.truth_margin, [2, 1, 3])
    np.testing.assert_array_equal(matrix.prediction_margin, [2, 2, 2])
    assert matrix.correct == 4
    assert matrix.total == matrix.rows == 6
    assert not matrix.has_weights


def test_the_four_counts_and_their_margins() -> None:
    matrix = ConfusionMatrix.from_counts(tp=7, fp=2, fn=3, tn=88)
    counts = (matrix.tp, matrix.fp, matrix.fn, matrix.tn)
    assert counts == (7, 2, 3, 88)
    margins = (
        matrix.positive,
        matrix.negative,
        matrix.predicted_positive,
        matrix.predicted_negative,
    )
    assert margins == (10, 90, 9, 91)
    np.testing.assert_array_equal(matrix.counts, [[88, 2], [3, 7]])


def test_effective_sizes_are_kishs() -> None:
    """(Σw)²/Σw² of the rows of each margin."""
    generator = np.random.default_rng(0)
    truth, predicted = generator.integers(0, 2, (2, 40))
    weight = generator.uniform(0, 4, 40)
    matrix = ConfusionMatrix.from_codes(truth, predicted, weight=weight)
    for margin, rows in {
        "positive": truth == 1,
        "negative": truth == 0,
        "predicted_positive": predicted == 1,
        "predicted_negative": predicted == 0,
        "total": truth >= 0,
    }.items():
        expected = weight[rows].sum() ** 2 / np.square(weight[rows]).sum()
        assert matrix.effective_size(margin) == pytest.approx(expected, rel=1e-12)


def test_effective_sizes_without_weights_are_counts_and_0_where_empty() -> None:
    matrix = ConfusionMatrix.from_counts(tp=0, fp=0, fn=3, tn=5)
    assert matrix.effective_size("predicted_positive") == 0
    assert matrix.effective_size("positive") == 3
    assert matrix.effective_size("total") == 8


def test_weights_all_alike_do_not_change_the_effective_size() -> None:
    codes = np.array([0, 1, 1, 1])
    matrix = ConfusionMatrix.from_codes(codes, codes, weight=np.full(4, 2.5))
    assert matrix.effective_size("positive") == pytest.approx(3)
    assert matrix.has_weights


def test_always_answering_one_class() -> None:
    counts = np.array([[5.0, 1, 0], [2, 3, 1], [0, 0, 4]])
    constant = ConfusionMatrix(counts, counts, ("a", "b", "c")).constant_predictions()
    assert constant.counts.shape == (3, 3, 3)
    for answer in range(3):
        expected = np.zeros((3, 3))
        expected[:, answer] = [6, 6, 4]
        np.testing.assert_array_equal(constant.counts[answer], expected)


def test_parts_add_up_and_labels_have_to_match() -> None:
    generator = np.random.default_rng(1)
    truth, predicted = generator.integers(0, 2, (2, 50))
    weight = generator.uniform(0, 2, 50)
    whole = ConfusionMatrix.from_codes(truth, predicted, weight=weight)
    parts = [
        ConfusionMatrix.from_codes(truth[s], predicted[s], weight=weight[s])
        for s in (slice(0, 10), slice(10, 50))
    ]
    joined = parts[0] + parts[1]
    np.testing.assert_allclose(joined.counts, whole.counts, rtol=1e-12)
    np.testing.assert_allclose(joined.squares, whole.squares, rtol=1e-12)
    assert joined.rows == 50
    other = ConfusionMatrix.from_codes(truth, predicted, ("no", "yes"))
    with pytest.raises(ValueError, match="do not match"):
        whole + other


def test_replicates_are_multinomial_draws() -> None:
    """Mean n·p and variance n·p·(1 − p) of each cell, each replicate with as many rows."""
    matrix = ConfusionMatrix.from_counts(tp=30, fp=10, fn=5, tn=55)
    drawn = matrix.resample(20_000, seed=1).counts
    assert drawn.shape == (20_000, 2, 2)
    assert (drawn.sum(axis=(1, 2)) == 100).all()
    p = matrix.counts / 100
    spread = np.sqrt(100 * p * (1 - p))
    assert (np.abs(drawn.mean(axis=0) - 100 * p) < 5 * spread / np.sqrt(20_000)).all()
    np.testing.assert_allclose(drawn.std(axis=0), spread, rtol=0.03)


def test_cells_of_weighted_rows_cannot_be_redrawn() -> None:
    codes = np.array([0, 1])
    matrix = ConfusionMatrix.from_codes(codes, codes, weight=np.array([1.0, 2.0]))
    with pytest.raises(ValueError, match="resample the rows"):
        matrix.resample(10, 0)
