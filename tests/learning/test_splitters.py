"""Splitters: laws of each, and scikit-learn's where groups are single rows."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import (
    GroupKFold,
    RepeatedKFold,
    StratifiedGroupKFold,
    TimeSeriesSplit,
    cross_validate,
)
from sklearn.tree import DecisionTreeClassifier

from calipers import InputError
from calipers.learning import splitters

RNG = np.random.default_rng(3)
GROUPS = RNG.integers(0, 23, 200)
CLASSES = RNG.integers(0, 3, 200)


@pytest.mark.parametrize(
    ("made", "once"),
    [
        (splitters.RepeatedGroupKFold, GroupKFold),
        (splitters.RepeatedStratifiedGroupKFold, StratifiedGroupKFold),
    ],
)
def test_repeated_groups_are_the_single_form_again_and_again(made, once):
    cv = made(4, n_repeats=3, random_state=7)
    found = list(cv.split(GROUPS, CLASSES, GROUPS))
    random = np.random.RandomState(7)
    expected = [
        pair
        for _ in range(3)
        for pair in once(4, shuffle=True, random_state=random).split(GROUPS, CLASSES, GROUPS)
    ]
    assert cv.get_n_splits() == len(found) == 12
    for (train, test), (other_train, other_test) in zip(found, expected, strict=True):
        assert train.tolist() == other_train.tolist()
        assert test.tolist() == other_test.tolist()
        assert not set(GROUPS[train]) & set(GROUPS[test])
    for repetition in range(3):
        tested = np.concatenate([test for _, test in found[4 * repetition : 4 * repetition + 4]])
        assert sorted(tested) == list(range(200))
    assert {tuple(test) for _, test in found[:4]} != {tuple(test) for _, test in found[4:8]}


@pytest.mark.parametrize(
    "options",
    [{}, {"test_size": 7}, {"gap": 3}, {"max_train_size": 20}, {"test_size": 4, "gap": 2}],
)
def test_single_rows_forward_in_time_are_as_scikit_learn_has_them(options):
    rows = np.arange(47)
    ours = splitters.GroupTimeSeriesSplit(4, **options).split(rows, groups=rows)
    theirs = TimeSeriesSplit(4, **options).split(rows)
    for (train, test), (other_train, other_test) in zip(ours, theirs, strict=True):
        assert train.tolist() == other_train.tolist()
        assert test.tolist() == other_test.tolist()


def test_groups_forward_in_time_see_neither_themselves_nor_what_comes_later():
    mixed = np.sort(RNG.integers(0, 30, 300)) + RNG.integers(0, 4, 300)  # they overlap in time
    parts = list(splitters.GroupTimeSeriesSplit(5).split(mixed, groups=mixed))
    assert len(parts) == 5
    for train, test in parts:
        assert len(train)
        assert not set(mixed[train]) & set(mixed[test])
        assert train.max() < test.min()
    with pytest.raises(InputError, match="there are 3 groups, too few for 5 splits"):
        list(splitters.GroupTimeSeriesSplit(5).split([0, 1, 2], groups=[0, 1, 2]))


@pytest.mark.parametrize("size", [0.1, 0.25, 0.4])
def test_groups_held_out_have_about_their_share_of_every_class(size):
    groups = RNG.integers(0, 60, 2000)
    rare = (RNG.random(2000) < 0.1).astype(int) + (RNG.random(2000) < 0.3)
    cv = splitters.StratifiedGroupShuffleSplit(8, test_size=size, random_state=1)
    tests = []
    for train, test in cv.split(rare, rare, groups):
        assert not set(groups[train]) & set(groups[test])
        assert sorted([*train, *test]) == list(range(2000))
        share = np.bincount(rare[test], minlength=3) / np.bincount(rare, minlength=3)
        assert share == pytest.approx(size, abs=0.06)
        tests.append(tuple(test))
    assert len(set(tests)) == 8


def test_no_part_stays_empty_where_one_group_has_nearly_all_rows():
    counts = np.array([[100.0, 100.0], [1.0, 0.0], [0.0, 1.0]])
    for seed in range(20):
        parts = splitters.assign_groups(counts, (0.6, 0.2, 0.2), np.random.RandomState(seed))
        assert sorted(parts) == [0, 1, 2]


def test_scikit_learn_takes_them():
    x = RNG.normal(size=(200, 2))
    cv = splitters.RepeatedStratifiedGroupKFold(3, n_repeats=2, random_state=0)
    found = cross_validate(DecisionTreeClassifier(), x, CLASSES, groups=GROUPS, cv=cv)
    assert len(found["test_score"]) == 6


def test_strata_are_of_equal_size_but_for_ties():
    y = RNG.normal(size=1000)
    assert np.bincount(splitters.strata(y, 5)).tolist() == [200] * 5
    assert np.bincount(splitters.strata(y[:30], 10, min_rows=10)).tolist() == [10] * 3
    assert splitters.strata(np.ones(50)).max() <= 1
    assert splitters.strata(y[:3]).tolist() == [0, 0, 0]


def test_wrong_numbers_are_refused():
    with pytest.raises(InputError, match="n_splits is 1, expected 2 or more"):
        splitters.RepeatedGroupKFold(1)
    with pytest.raises(InputError, match="n_repeats is 0, expected 1 or more"):
        splitters.RepeatedGroupKFold(n_repeats=0)
    with pytest.raises(InputError, match="test_size is 2, expected a proportion"):
        splitters.StratifiedGroupShuffleSplit(test_size=2)
    with pytest.raises(InputError, match="there is one group"):
        list(splitters.StratifiedGroupShuffleSplit().split([1, 2], [0, 1], [1, 1]))
    with pytest.raises(InputError, match="the groups of the rows are missing"):
        list(splitters.GroupTimeSeriesSplit().split([1, 2]))
    assert repr(RepeatedKFold(random_state=1)).startswith("RepeatedKFold")
    assert repr(splitters.RepeatedGroupKFold(3)) == (
        "RepeatedGroupKFold(n_splits=3, n_repeats=10, random_state=None)"
    )
