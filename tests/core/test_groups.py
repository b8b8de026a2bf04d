"""Rows ranked within groups, and the order of labels within rows, against brute force."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from calipers import _core


def ranked_by_hand(
    group: np.ndarray, score: np.ndarray, grade: np.ndarray, groups: int
) -> list[list[int]]:
    columns: list[list[int]] = [[], [], [], []]
    for code in range(groups):
        rows = sorted(np.flatnonzero(group == code), key=lambda row: (-score[row], -grade[row]))
        for rank, row in enumerate(rows, 1):
            tied = [at for at, other in enumerate(rows, 1) if score[other] == score[row]]
            for column, value in zip(
                columns, (rank, int(grade[row]), min(tied), max(tied)), strict=True
            ):
                column.append(value)
    return columns


@pytest.mark.parametrize("groups", [1, 2, 7, 400])
@pytest.mark.parametrize("order", ["sorted", "mixed"])
def test_groups_with_ties_one_row_or_none_are_ranked(groups: int, order: str) -> None:
    random = np.random.default_rng(groups)
    group = random.integers(0, groups, 700)
    group[group == groups // 2] = 0  # one group without rows, unless there is one alone
    group = np.sort(group) if order == "sorted" else group
    score = random.integers(-3, 4, 700) / 2
    score[::50], score[1::50] = np.inf, -0.0
    grade = random.integers(-2, 5, 700)
    made = _core.rank_groups(group, score, grade, groups)
    assert [column.tolist() for column in made] == ranked_by_hand(group, score, grade, groups)


def test_a_huge_group_is_ranked_as_a_stable_sort_does() -> None:
    random = np.random.default_rng(0)
    n = 200_000
    score, grade = random.normal(size=n).round(3), random.integers(0, 5, n)
    rank, grades, first, last = _core.rank_groups(np.zeros(n, np.int64), score, grade, 1)
    order = np.lexsort((-grade, -score))
    assert (rank == np.arange(1, n + 1)).all()
    assert (grades == grade[order]).all()
    values, counts = np.unique(-score, return_counts=True)
    stop = np.cumsum(counts)
    place = np.searchsorted(values, -score[order])
    assert (last == stop[place]).all()
    assert (first == (stop - counts)[place] + 1).all()


def test_nothing_and_what_is_wrong() -> None:
    none = np.zeros(0, np.int64)
    assert [len(column) for column in _core.rank_groups(none, np.zeros(0), none, 3)] == [0] * 4
    group, grade = np.array([0, 1, 2]), np.zeros(3, np.int64)
    with pytest.raises(ValueError, match="score of row 1 is NaN"):
        _core.rank_groups(group, np.array([0.0, np.nan, 1.0]), grade, 3)
    with pytest.raises(ValueError, match="group of row 2 is 2, expected a number from 0 to 2 − 1"):
        _core.rank_groups(group, np.zeros(3), grade, 2)
    with pytest.raises(ValueError, match="score has 2 rows"):
        _core.rank_groups(group, np.zeros(2), grade, 3)


@pytest.mark.parametrize("first", [1, 3])
@pytest.mark.parametrize(("size", "hits"), [(1, 1), (3, 1), (5, 2), (6, 6)])
@pytest.mark.parametrize("last", [2.0, 4.0, np.inf])
def test_first_hits_are_means_over_all_orders(
    first: int, size: int, hits: int, last: float
) -> None:
    reciprocals, found = [], []
    for order in permutations(range(size)):
        rank = first + min(order.index(row) for row in range(hits))
        reciprocals.append(1 / rank if rank <= last else 0.0)
        found.append(float(rank <= last))
    columns = (np.array([float(value)]) for value in (first, size, hits))
    mean, probability = _core.first_hits(*columns, last)
    assert mean[0] == pytest.approx(np.mean(reciprocals), abs=1e-14)
    assert probability[0] == pytest.approx(np.mean(found), abs=1e-14)


@pytest.mark.parametrize("labels", [1, 2, 20, 60])
def test_labels_are_ordered_by_scores_that_may_be_equal(labels: int) -> None:
    random = np.random.default_rng(labels)
    truth = random.random((300, labels)) < random.random((300, 1))
    score = random.integers(-3, 4, (300, labels)) / 2
    made = _core.label_order(truth, score)
    for row, (is_true, scores) in enumerate(zip(truth, score, strict=True)):
        not_lower = [scores >= scores[label] for label in np.flatnonzero(is_true)]
        n_true, precisions, last, wrong = made[row]
        assert n_true == is_true.sum()
        assert precisions == pytest.approx(sum(is_true[m].mean() for m in not_lower), abs=1e-12)
        assert last == max((m.sum() for m in not_lower), default=0)
        assert wrong == sum((~is_true[m]).sum() for m in not_lower)


def test_label_scores_are_numbers_of_the_same_shape() -> None:
    assert _core.label_order(np.zeros((0, 3), bool), np.zeros((0, 3))).shape == (0, 4)
    with pytest.raises(ValueError, match="score of label 1 in row 1 is NaN"):
        _core.label_order(np.ones((2, 2), bool), np.array([[0.0, 1.0], [2.0, np.nan]]))
    with pytest.raises(ValueError, match="shape"):
        _core.label_order(np.ones((2, 2), bool), np.zeros((2, 3)))


@pytest.mark.parametrize("size", [1, 30, 700, 1024, 1025])
@pytest.mark.parametrize("distinct", [1, 3, 40, 5000])
def test_rows_whose_scores_begin_alike_are_in_order(size: int, distinct: int) -> None:
    """Scores that differ in their last bits only, and equal ones by descending grade."""
    generator = np.random.default_rng(size + distinct)
    score = 1.0 + generator.integers(0, distinct, size) * np.finfo(np.float64).eps * 100
    grade = generator.integers(-3, 4, size)
    group = np.zeros(size, np.int64)
    rank, ordered, first, last = _core.rank_groups(group, score, grade, 1)
    order = np.lexsort((-grade, -score))
    assert ordered.tolist() == grade[order].tolist()
    assert rank.tolist() == list(range(1, size + 1))
    above = (score[order][:, None] < score[order]).sum(axis=1)
    tied = (score[order][:, None] == score[order]).sum(axis=1)
    assert first.tolist() == (above + 1).tolist()
    assert last.tolist() == (above + tied).tolist()
