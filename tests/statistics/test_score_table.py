"""The table of distinct scores."""

from __future__ import annotations

import numpy as np
import pytest

from calipers.statistics import FloatArray, ScoreTable


def rows(seed: int, n: int = 60) -> tuple[FloatArray, FloatArray, FloatArray]:
    generator = np.random.default_rng(seed)
    return (
        generator.random(n) < 0.4,
        np.round(generator.normal(size=n), 1),
        generator.uniform(0.1, 3.0, n),
    )


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("weighted", [False, True])
def test_a_score_at_the_threshold_is_positive(seed: int, weighted: bool) -> None:
    truth, score, weight = rows(seed)
    w = weight if weighted else np.ones(len(truth))
    table = ScoreTable.from_rows(truth, score, weight if weighted else None)
    steps = table.confusion()
    assert len(table.thresholds) == len(np.unique(score)) + 1
    assert (np.diff(table.thresholds) < 0).all()
    for place, threshold in enumerate(table.thresholds):
        called = score >= threshold
        expected = [
            [w[~truth & ~called].sum(), w[~truth & called].sum()],
            [w[truth & ~called].sum(), w[truth & called].sum()],
        ]
        np.testing.assert_allclose(steps.counts[place], expected, atol=1e-12)
        at = table.confusion_at(float(threshold))
        np.testing.assert_allclose(at.counts, expected, atol=1e-12)
        squares = [
            [(w**2)[~truth & ~called].sum(), (w**2)[~truth & called].sum()],
            [(w**2)[truth & ~called].sum(), (w**2)[truth & called].sum()],
        ]
        np.testing.assert_allclose(at.squares, squares, atol=1e-12)
        np.testing.assert_allclose(steps.squares[place], squares, atol=1e-12)
        assert at.rows == len(truth)
        assert at.has_weights == weighted


def test_between_scores_and_beyond_them() -> None:
    table = ScoreTable.from_rows(np.array([True, False, True]), np.array([3.0, 2.0, 1.0]))
    np.testing.assert_array_equal(table.confusion_at(2.5).counts, [[1, 0], [1, 1]])
    np.testing.assert_array_equal(table.confusion_at(99.0).counts, [[1, 0], [2, 0]])
    np.testing.assert_array_equal(table.confusion_at(-np.inf).counts, [[0, 1], [0, 2]])


def test_float32_scores_stay_as_they_are() -> None:
    score = np.array([0.1, 0.1, 0.7], np.float32)
    table = ScoreTable.from_rows(np.array([True, False, True]), score)
    np.testing.assert_array_equal(table.scores, [np.float64(np.float32(0.7)), np.float32(0.1)])


def test_negative_zero_is_zero() -> None:
    table = ScoreTable.from_rows(np.array([True, False]), np.array([0.0, -0.0]))
    assert len(table.scores) == 1


@pytest.mark.parametrize("weighted", [False, True])
def test_constant_scores_make_one_step(weighted: bool) -> None:
    truth, score, weight = rows(3)
    table = ScoreTable.from_rows(truth, score, weight if weighted else None)
    constant = table.with_constant_score()
    same_score = ScoreTable.from_rows(truth, np.zeros(len(truth)), weight if weighted else None)
    for name in ("positive", "negative", "positive_squares", "negative_squares"):
        np.testing.assert_allclose(getattr(constant, name), getattr(same_score, name), rtol=1e-12)
    assert len(constant.scores) == 1
    assert constant.rows == len(truth)


@pytest.mark.parametrize("weighted", [False, True])
def test_parts_add_up_to_the_whole(weighted: bool) -> None:
    truth, score, weight = rows(4)
    parts = [
        ScoreTable.from_rows(truth[s], score[s], weight[s] if weighted else None)
        for s in (slice(0, 20), slice(20, 20), slice(20, 60))
    ]
    whole = ScoreTable.from_rows(truth, score, weight if weighted else None)
    for joined in (parts[0] + parts[1] + parts[2], parts[2] + (parts[0] + parts[1])):
        np.testing.assert_array_equal(joined.scores, whole.scores)
        for name in ("positive", "negative", "positive_squares", "negative_squares"):
            np.testing.assert_allclose(getattr(joined, name), getattr(whole, name), rtol=1e-12)
        assert joined.rows == whole.rows
        assert joined.has_weights == weighted


def test_a_part_with_weights_and_one_without() -> None:
    truth, score, weight = rows(5)
    joined = ScoreTable.from_rows(truth[:30], score[:30]) + ScoreTable.from_rows(
        truth[30:], score[30:], weight[30:]
    )
    w = np.r_[np.ones(30), weight[30:]]
    whole = ScoreTable.from_rows(truth, score, w)
    assert joined.has_weights
    np.testing.assert_allclose(joined.positive_squares, whole.positive_squares, rtol=1e-12)


def test_placements_by_counting_pairs() -> None:
    truth, score, weight = rows(6)
    table = ScoreTable.from_rows(truth, score, weight)
    of_positive, of_negative = table.placements()
    for place, s in enumerate(table.scores):
        below = (score < s) + 0.5 * (score == s)
        above = (score > s) + 0.5 * (score == s)
        beaten = np.dot(weight[~truth], below[~truth]) / weight[~truth].sum()
        beating = np.dot(weight[truth], above[truth]) / weight[truth].sum()
        assert of_positive[place] == pytest.approx(beaten, abs=1e-12)
        assert of_negative[place] == pytest.approx(beating, abs=1e-12)


@pytest.mark.parametrize(
    ("score", "weight", "said"),
    [
        ([1.0, np.nan], None, "score is NaN in row 1"),
        ([1.0, np.inf], None, "score is infinite in row 1"),
        ([1.0], None, "score has 1 rows, truth has 2"),
        ([1.0, 2.0], [1.0, -1.0], "weight is negative in row 1"),
    ],
)
def test_what_is_no_score_or_weight(
    score: list[float], weight: list[float] | None, said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        ScoreTable.from_rows(
            np.array([True, False]),
            np.array(score),
            None if weight is None else np.array(weight),
        )
