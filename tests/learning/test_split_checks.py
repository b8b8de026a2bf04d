"""Splits and what is wrong with them: each fault planted by hand, and none on honest data."""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn import datasets

import calipers as cal
from calipers.learning.feature_columns import FeatureColumns
from calipers.learning.split_checks import ModelScorer

RNG = np.random.default_rng(3)


def features(rows: int, columns: int = 4) -> Any:
    return np.random.default_rng(rows).normal(size=(rows, columns))


def classes(table: Any) -> Any:
    return (table[:, 0] + np.random.default_rng(1).normal(size=len(table)) > 0).astype(int)


def kinds(check: Any) -> list[str]:
    return [one.kind for one in check.findings]


# ------------------------------------------------------------------------------------------ parts


def test_parts_are_all_rows_once_in_the_shares_asked_for() -> None:
    parts = cal.split(1000, test=0.3, validation=0.2, seed=4)
    assert list(map(len, parts.subsets.values())) == [560, 140, 300]
    assert (np.sort(np.concatenate(list(parts.subsets.values()))) == np.arange(1000)).all()
    again = cal.split(1000, test=0.3, validation=0.2, seed=4)
    assert (parts.test == again.test).all()
    assert not np.array_equal(parts.test, cal.split(1000, test=0.3, seed=5).test)


def test_classes_are_spread_evenly() -> None:
    y = np.repeat(["a", "b"], [900, 100])
    parts = cal.split(y, stratify=y, validation=0.2)
    assert [int((of == "b").sum()) for of in parts.divide(y)] == [60, 15, 25]


def test_numbers_are_spread_by_their_tenths() -> None:
    y = RNG.exponential(size=400)
    train, test = cal.split(y, stratify=y).divide(y)
    tenths = np.quantile(y, np.arange(1, 10) / 10)
    own = np.bincount(np.searchsorted(tenths, test, side="right"), minlength=10)
    assert own.tolist() == [10] * 10
    assert len(train) == 300


def test_groups_stay_whole() -> None:
    frame = pd.DataFrame({"user": RNG.integers(0, 60, 500), "x": RNG.normal(size=500)})
    parts = cal.split(frame, group="user", test=0.2, validation=0.25)
    users = [set(of) for of in parts.divide(frame["user"])]
    assert all(not a & b for a, b in ((users[0], users[1]), (users[0], users[2])))
    assert not users[1] & users[2]
    assert [len(of) for of in parts.subsets.values()] == pytest.approx([300, 100, 100], abs=15)


def test_the_latest_rows_are_tested_and_a_moment_stays_whole() -> None:
    time = RNG.permutation(np.repeat(np.arange(50), 4))
    parts = cal.split(200, time=time, test=0.2, validation=0.25)
    train, validation, test = parts.divide(time)
    assert train.max() < validation.min() <= validation.max() < test.min()
    assert [len(train), len(validation), len(test)] == [120, 40, 40]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"test": 0.0}, "test is 0.0"),
        ({"test": 1.5}, "test is 1.5"),
        ({"validation": 1.0}, "validation is 1.0"),
        ({"test": 0.001}, "test: a proportion of 0.001 of 10 rows"),
        ({"stratify": ["a"] * 9 + ["b"]}, "cannot be split"),
        ({"group": [1] * 10}, "groups"),
        ({"group": [1, 2]}, "group"),
        ({"time": [1] * 10}, "same"),
        ({"time": [1] * 5 + [2] * 5, "test": 0.3, "validation": 0.2}, "no row is left to validate"),
        ({"time": ["9", "10"] * 5}, "time: is '9' in row 0"),
        ({"time": range(10), "stratify": [0, 1] * 5}, "exclude"),
        ({"time": range(10), "group": [0, 1] * 5}, "both sides"),
    ],
)
def test_what_cannot_be_divided(given: dict[str, Any], said: str) -> None:
    with pytest.raises(cal.InputError, match=said):
        cal.split(10, **given)


# ------------------------------------------------------------------------------------------ checks


@pytest.mark.slow
@pytest.mark.parametrize("name", ["iris", "wine", "breast_cancer", "diabetes"])
def test_nothing_is_found_in_what_scikit_learn_ships(name: str) -> None:
    table, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    stratify = y if name != "diabetes" else None
    found = [
        kinds(cal.check_split(cal.split(len(y), seed=seed, stratify=stratify), table, y))
        for seed in range(2)
    ]
    assert found == [[]] * 2


@pytest.mark.slow
def test_copies_are_counted_shown_and_scored() -> None:
    table = features(300)
    y = RNG.integers(0, 2, 300)  # noise: nobody can do better than a half
    parts = cal.split(300, test=1 / 3)
    copied = parts.test[:30]
    table[copied], y[copied] = table[parts.train[:30]], y[parts.train[:30]]
    (found,) = cal.check_split(parts, table, y).findings
    assert found.kind == "copies"
    assert found.severity == "warning"
    assert found.values["copies"] == 30
    assert found.message.startswith("30 of 100 test rows (30.0%) duplicate training rows")
    # A forest knows its own rows: .3·1 + .7·½ with them.
    assert found.values["accuracy with"] == pytest.approx(0.65, abs=0.12)
    assert found.values["accuracy without"] == pytest.approx(0.5, abs=0.12)
    low, high = found.intervals["accuracy without"]
    assert low < 0.5 < high


@pytest.mark.slow
def test_copies_are_rows_alike_in_all_columns_and_the_target() -> None:
    table, y = features(200), np.arange(200) % 2
    parts = cal.split(200, seed=1)
    rows = parts.test[:20]
    table[rows, :3] = table[parts.train[:20], :3]  # but for one column
    assert "copies" not in kinds(cal.check_split(parts, table, y))
    table[rows] = table[parts.train[:20]]
    y[rows] = 1 - y[parts.train[:20]]  # but for the target
    assert "copies" not in kinds(cal.check_split(parts, table, y))
    assert "copies" in kinds(cal.check_split(parts, table))


def test_coarse_tables_have_equal_rows_by_chance() -> None:
    table = RNG.integers(0, 2, (400, 5))
    assert kinds(cal.check_split(cal.split(400), table, RNG.integers(0, 2, 400))) == []


def test_missing_values_are_alike() -> None:
    frame = pd.DataFrame({"a": [1.0, np.nan, np.nan, 2.0], "b": ["x", None, None, "x"]})
    rows = FeatureColumns.from_table(frame).row_codes()
    assert rows[1] == rows[2]
    assert len(set(rows.tolist())) == 3


def test_values_that_are_all_rare_are_not_called_one() -> None:
    ids = FeatureColumns.from_table(np.arange(400).astype(str)[:, None])
    rows = np.arange(200), np.arange(200, 400)
    assert list(ids.compare_subsets(*rows)) == [(1.0, "rare values only")]
    constant = FeatureColumns.from_table(np.full((400, 1), "a"))
    assert list(constant.compare_subsets(*rows)) == [(1.0, "one value only")]
    mixed = np.where(np.arange(400) < 200, "common", np.arange(400).astype(str))
    mixed[300:] = "common"
    (shift,) = FeatureColumns.from_table(mixed[:, None]).compare_subsets(*rows)
    assert shift.description in (
        "one value: 100% in training, 50% in test",
        "rare values: 0% in training, 50% in test",
    )
    few = np.where(np.arange(400) < 200, "a", np.where(np.arange(400) % 2, "b", "c"))
    few[[0, 1, 2]] = ["x", "y", "z"]
    (shift,) = FeatureColumns.from_table(few[:, None]).compare_subsets(*rows)
    assert shift.description.startswith("one value: ")


def test_rows_held_out_of_the_training_set_are_as_the_test_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They share no group with the others, and are the latest."""
    scorer = ModelScorer.from_data(
        FeatureColumns.from_table(features(80)), np.arange(80.0), None, None, "regression", 0
    )
    held_out: list[Any] = []
    monkeypatch.setattr(ModelScorer, "score", lambda self, *rows: held_out.append(rows))
    train, group, time = np.arange(10, 80), np.arange(80) // 4, -np.arange(80)
    scorer.score_held_out(train, group=group)
    scorer.score_held_out(train, time=time)
    scorer.score_held_out(train, group=np.zeros(80))  # of one group none can be held out
    (by_group, by_time, at_random) = held_out
    assert not set(group[by_group[0]]) & set(group[by_group[1]])
    assert time[by_time[0]].max() < time[by_time[1]].min()
    for first, second in held_out:
        assert sorted([*first, *second]) == train.tolist()
    assert len(at_random[1]) == 18


@pytest.mark.slow
def test_groups_on_both_sides() -> None:
    group = np.arange(300) // 3
    own = RNG.normal(size=(100, 4))[group]
    y = RNG.integers(0, 2, 100)[group]  # what a group is, its features know; others say nothing
    table = own + RNG.normal(0, 0.01, own.shape)
    check = cal.check_split(cal.split(300), table, y, group=group)
    (found,) = (one for one in check.findings if one.kind == "shared-groups")
    assert found.values["accuracy with"] > 0.8
    assert found.values["accuracy without"] < 0.7
    whole = cal.split(300, group=group)
    assert kinds(cal.check_split(whole, table, y, group=group)) == []


@pytest.mark.slow
def test_rows_trained_on_that_came_later() -> None:
    time = np.arange(300)
    walk = np.cumsum(RNG.normal(size=300))
    table = time[:, None] + np.zeros((1, 1))
    random = cal.check_split(cal.split(300), table, walk, time=time)
    found = next(one for one in random.findings if one.kind == "time-order")
    assert found.values["RMSE with"] < found.values["RMSE without"]
    forward = cal.split(300, time=time)
    assert "time-order" not in kinds(cal.check_split(forward, table, walk, time=time))


@pytest.mark.slow
@pytest.mark.parametrize("n_late", [0, 180])
def test_rows_of_few_times_cannot_be_split_by_time(n_late: int) -> None:
    table = features(300)
    time = np.repeat([2024, 2025], [300 - n_late, n_late])
    check = cal.check_split(cal.split(300), table, classes(table), time=time)
    found = next(one for one in check.findings if one.kind == "time-order")
    assert "accuracy with" in found.values
    assert "accuracy without" not in found.values


@pytest.mark.slow
def test_a_feature_that_gives_the_answer_away() -> None:
    table = features(300)
    y = classes(table)
    frame = pd.DataFrame(table, columns=list("abcd")).assign(label=np.where(y, "yes", "no"))
    (found,) = cal.check_split(cal.split(300), frame, y).findings
    assert found.kind == "gives-away"
    assert found.message.startswith("label leaks the target")
    assert found.values["accuracy with"] > 0.95
    assert found.values["accuracy without"] < 0.85
    target = table @ [1, 2, 3, 4] + RNG.normal(0, 5, 300)
    known = np.column_stack([table, target * 9 / 5 + 32])
    assert kinds(cal.check_split(cal.split(300), known, target)) == ["gives-away"]


@pytest.mark.slow
def test_row_numbers_that_know_the_order_of_the_classes() -> None:
    table, y = datasets.load_iris(return_X_y=True)
    numbered = np.column_stack([np.arange(150), table[:, :2]])
    (found,) = cal.check_split(cal.split(150), numbered, y).findings
    assert found.kind in ("row-numbers", "gives-away")
    shuffled = np.column_stack([RNG.permutation(150), table])
    assert kinds(cal.check_split(cal.split(150), shuffled, y)) == []


@pytest.mark.slow
def test_parts_that_differ() -> None:
    table = features(400)
    y = classes(table)
    parts = cal.split(400)
    table[parts.test, 2] += 1
    check = cal.check_split(parts, table, y)
    (found,) = check.findings
    assert found.kind == "shift"
    assert check.examples["shift"] == ("column 3",)
    assert found.intervals["AUC"][0] > 0.5
    assert 0 < found.values["accuracy tested"] <= 1
    text = np.where(RNG.random(400) < 0.5, "north", "south")
    text[parts.test] = np.where(RNG.random(100) < 0.9, "north", "south")
    frame = pd.DataFrame({"x": table[:, 0], "site": text})
    (found,) = cal.check_split(parts, frame, y).findings
    assert "site" in found.message


def test_groups_that_are_alike_inside_are_no_shift() -> None:
    """Rows of a group are one look at the world: 40 groups of 25 rows each."""
    group = np.arange(1000) // 25
    table = RNG.normal(size=(40, 3))[group]
    y = classes(table)
    found = [
        kinds(cal.check_split(cal.split(1000, group=group, seed=seed), table, y, group=group))
        for seed in range(5)
    ]
    assert found == [[]] * 5


def test_what_a_check_says() -> None:
    table = features(100)
    check = cal.check_split(cal.split(100), table)
    assert not check
    assert "No problem was found" in str(check)
    assert "No model was scored" in str(check)
    assert json.loads(json.dumps(check.to_dict()))["checked"] == ["copies", "shift"]
    column = np.array(["train"] * 80 + ["test"] * 20)
    assert not cal.check_split(column, table)


@pytest.mark.parametrize(
    ("parts", "table", "said"),
    [
        (([0, 1], [1, 2]), features(5), "row 1 occurs more than once"),
        (([0, 1], [9]), features(5), "outside of the 5 rows"),
        (([0, 1], []), features(5), "test on"),
        (["train", "hold", "test"], features(3), "'hold'"),
        (["train", "test"], features(3), "split"),
        (([0], [1]), np.zeros(5), "1 dimensions"),
    ],
)
def test_what_is_no_split(parts: Any, table: Any, said: str) -> None:
    with pytest.raises(cal.InputError, match=said):
        cal.check_split(parts, table)


@pytest.mark.parametrize(
    ("verb", "message"),
    [
        (lambda x, y: cal.split(len(x)), "dividing rows at random requires scikit-learn"),
        (lambda x, y: cal.check_split(np.arange(60) < 40, x, y), "checking a split requires"),
        (lambda x, y: cal.learning_curve(None, x, y), "fitting models requires scikit-learn"),
    ],
)
def test_what_takes_scikit_learn_says_so(
    verb: Any, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Without the extra the command ended in an internal error.
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(cal.InputError, match=rf"{message}.*: pip install '.*scikit-learn>="):
        verb(np.zeros((60, 2)), np.arange(60) % 2)
