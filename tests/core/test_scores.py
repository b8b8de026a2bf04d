"""The table of scores, the order of rows and the areas, against NumPy and scikit-learn."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import average_precision_score, roc_auc_score

from calipers._core import order_descending, score_table, sweep_scores

# Fawcett 2006 as published; the values of the areas in double precision.
FAWCETT_SCORES = [
    *[0.9, 0.8, 0.7, 0.6, 0.55, 0.54, 0.53, 0.52, 0.51, 0.505],
    *[0.4, 0.39, 0.38, 0.37, 0.36, 0.35, 0.34, 0.33, 0.30, 0.1],
]
FAWCETT_TRUTH = [label == "p" for label in "ppnpppnnpnpnpnnnpnpn"]


def random_rows(rows, decimals, seed=0):
    rng = np.random.default_rng(seed)
    positive = rng.random(rows) < 0.3
    score = np.round(rng.normal(size=rows) + positive, decimals)
    return positive, score, rng.random(rows) + 0.1


def expected_table(positive, score, weight):
    scores, block = np.unique(-score, return_inverse=True)
    sums = [
        np.bincount(block, weights * chosen, len(scores))
        for weights in (weight, weight**2)
        for chosen in (positive, ~positive)
    ]
    return -scores, *sums


def areas(positive, score, weight=None):
    return sweep_scores(*score_table(positive, score, weight)[1:3])


@pytest.mark.parametrize("decimals", [0, 1, 3, 15])
@pytest.mark.parametrize("rows", [0, 1, 2, 1000, 20_000])
def test_unweighted_table_counts(rows, decimals):
    positive, score, _ = random_rows(rows, decimals)
    *table, positive_squares, negative_squares = score_table(positive, score)
    for column, expected in zip(
        table, expected_table(positive, score, np.ones(rows))[:3], strict=True
    ):
        assert column.dtype == np.float64
        assert_array_equal(column, expected)
    assert positive_squares is None
    assert negative_squares is None


@pytest.mark.parametrize("decimals", [0, 3, 15])
def test_weighted_table_sums(decimals):
    positive, score, weight = random_rows(5000, decimals)
    table = score_table(positive, score, weight)
    for column, expected in zip(table, expected_table(positive, score, weight), strict=True):
        assert_allclose(column, expected, rtol=1e-12)


def test_single_precision_is_widened():
    positive, score, weight = random_rows(5000, 4)
    single = score.astype(np.float32)
    for weights in (None, weight):
        narrow = score_table(positive, single, weights)
        wide = score_table(positive, single.astype(np.float64), weights)
        for left, right in zip(narrow[:3], wide[:3], strict=True):
            assert_array_equal(left, right)


def test_signed_zeros_are_one_score():
    scores, positive, negative, *_ = score_table(np.array([True, False]), np.array([-0.0, 0.0]))
    assert_array_equal(scores, [0.0])
    assert not np.signbit(scores[0])
    assert_array_equal([positive, negative], [[1.0], [1.0]])


def test_extreme_scores_keep_their_order():
    tiny = np.finfo(float)
    score = np.array([tiny.min, -1, -5e-324, 0, 5e-324, tiny.tiny, 1, tiny.max])
    assert_array_equal(score_table(np.ones(8, bool), score)[0], score[::-1])


def test_strided_input():
    positive, score, weight = random_rows(3000, 2)
    strided = score_table(positive[::3], score[::3], weight[::3])
    copied = score_table(positive[::3].copy(), score[::3].copy(), weight[::3].copy())
    for left, right in zip(strided, copied, strict=True):
        assert_array_equal(left, right)


def test_order_is_stable():
    _, score, _ = random_rows(50_000, 1)
    for values in (score, score.astype(np.float32)):
        assert_array_equal(order_descending(values), np.argsort(-values, kind="stable"))


@pytest.mark.parametrize(
    ("score", "message"),
    [
        ({17: np.nan}, "score is NaN in row 17"),
        ({3: np.inf}, "score is infinite in row 3"),
        ({3: -np.inf, 5: np.inf}, r"score is infinite in row 3 \(and 1 more row\)"),
        ({4: np.nan, 8: np.nan, 9: np.nan}, r"score is NaN in row 4 \(and 2 more rows\)"),
    ],
)
def test_bad_scores_name_their_row(score, message):
    values = np.zeros(20)
    values[list(score)] = list(score.values())
    for bad in (values, values.astype(np.float32)):
        with pytest.raises(ValueError, match=f"^{message}$"):
            score_table(np.zeros(20, bool), bad)
        with pytest.raises(ValueError, match=f"^{message}$"):
            order_descending(bad)


@pytest.mark.parametrize(
    ("weight", "fault"), [(-1, "negative"), (np.nan, "NaN"), (np.inf, "infinite")]
)
def test_bad_weights_name_their_row(weight, fault):
    weights = np.ones(5)
    weights[2] = weight
    with pytest.raises(ValueError, match=f"^weight is {fault} in row 2$"):
        score_table(np.zeros(5, bool), np.zeros(5), weights)


def test_lengths_must_agree():
    with pytest.raises(ValueError, match=r"^score has 4 rows, truth has 5$"):
        score_table(np.zeros(5, bool), np.zeros(4))
    with pytest.raises(ValueError, match=r"^weight has 4 rows, truth has 5$"):
        score_table(np.zeros(5, bool), np.zeros(5), np.ones(4))


def test_areas_of_fawcett():
    assert_allclose(
        areas(np.array(FAWCETT_TRUTH), np.array(FAWCETT_SCORES)),
        [0.68, 0.7191237903, 0.7357475806],
        rtol=1e-9,
    )


def test_areas_of_hanley_and_mcneil():
    positive, negative = [33, 11, 2, 2, 3], [2, 11, 6, 6, 33]
    assert_allclose(
        sweep_scores(np.array(positive, float), np.array(negative, float)),
        [0.8931710615, 0.8800864598, 0.8576399337],
        rtol=1e-9,
    )


@pytest.mark.parametrize("decimals", [0, 1, 2, 15])
@pytest.mark.parametrize("weighted", [False, True])
def test_areas_against_scikit_learn(decimals, weighted):
    positive, score, weight = random_rows(5000, decimals)
    weight = weight if weighted else None
    auc, _, ap = areas(positive, score, weight)
    assert_allclose(auc, roc_auc_score(positive, score, sample_weight=weight), rtol=1e-11)
    assert_allclose(ap, average_precision_score(positive, score, sample_weight=weight), rtol=1e-11)


def test_tied_blocks_are_the_limit_of_many_small_steps():
    """Davis & Goadrich's interpolation is the integral of x / (x + fp(x)) within a block."""
    positive, negative = np.array([3.0, 5, 1e-6, 0, 200]), np.array([0.0, 2, 1, 4, 1e3])
    steps = 200_000
    tp = np.concatenate([[0], np.cumsum(positive)])
    fp = np.concatenate([[0], np.cumsum(negative)])
    middle = (np.arange(steps) + 0.5) / steps
    area = 0
    for block in range(5):
        x = tp[block] + middle * positive[block]
        area += positive[block] * np.mean(x / (x + fp[block] + middle * negative[block]))
    assert_allclose(sweep_scores(positive, negative)[1], area / positive.sum(), rtol=1e-8)


@pytest.mark.parametrize("share", [0.001, 0.3, 0.999])
def test_constant_scorer_gets_the_prevalence(share):
    positive = np.arange(1000) < share * 1000
    assert_allclose(areas(positive, np.full(1000, 0.5)), [0.5, share, share], rtol=1e-12)


def test_perfect_and_one_class():
    positive = np.arange(10) < 4
    assert_array_equal(areas(positive, -np.arange(10.0)), [1, 1, 1])
    assert np.isnan(areas(np.ones(3, bool), np.arange(3.0))).all()
    assert np.isnan(areas(np.zeros(3, bool), np.arange(3.0))).all()


@pytest.mark.parametrize("decimals", [1, 15])
def test_weight_two_is_the_row_twice(decimals):
    positive, score, _ = random_rows(500, decimals)
    weight = 1.0 + (np.arange(500) % 3 == 0)
    twice = weight.astype(int)
    repeated = areas(np.repeat(positive, twice), np.repeat(score, twice))
    assert_allclose(areas(positive, score, weight), repeated, rtol=1e-12)
