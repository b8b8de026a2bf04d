"""Which two documents are compared next."""

from __future__ import annotations

import math
import random
from itertools import count

import pytest

from calipers.campaign.records import LoggedEvent
from calipers.campaign.workflow import (
    AssessorSession,
    DisplaySettings,
    JudgingTask,
    PreferenceWorkflow,
    merge_sort,
)

NONE = DisplaySettings(mode="preferences", repeats=0)


def judge(
    desk: AssessorSession, numbers: count[int], worth: dict[str, int], task: JudgingTask
) -> None:
    number = next(numbers)
    assert task.other_document is not None
    a, b = worth[task.document], worth[task.other_document]
    desk.apply(
        LoggedEvent(number, f"id{number}", "", "ann", *task[:3], "preference", (a > b) - (a < b),
               None, None, None, task.is_repeat, None)
    )  # fmt: skip


@pytest.mark.parametrize("size", [1, 2, 3, 10, 33])
@pytest.mark.parametrize("levels", [1, 3, 1000])
def test_an_assessor_who_knows_an_order_is_asked_until_it_is_known(size: int, levels: int) -> None:
    dice = random.Random(size)
    worth = {f"d{i}": dice.randrange(levels) for i in range(size)}
    plan = PreferenceWorkflow({"t": list(worth)}, "ann", NONE)
    desk, numbers, asked, left = (
        AssessorSession(["t"], plan),
        count(1),
        set[frozenset[str]](),
        math.inf,
    )
    while desk.upcoming(1):
        now = desk.progress().remaining
        assert len(desk.upcoming(1000)) <= now < left  # a bound that falls with each answer
        left = now
        task = dice.choice(desk.upcoming(1000))  # in whatever order they are answered
        assert task.other_document is not None
        pair = frozenset((task.document, task.other_document))
        assert pair not in asked
        asked.add(pair)
        judge(desk, numbers, worth, task)
    assert desk.progress().remaining == 0
    assert len(asked) <= size * math.ceil(math.log2(size)) - size + 1 if size > 1 else not asked
    groups = plan.sort_state("t", desk.history).groups
    assert groups is not None
    expected: dict[int, set[str]] = {}
    for document, of in worth.items():
        expected.setdefault(of, set()).add(document)
    assert [set(group) for group in groups] == [expected[w] for w in sorted(expected, reverse=True)]


def test_many_pairs_can_be_asked_at_once_in_the_beginning() -> None:
    assert len(merge_sort([str(i) for i in range(40)], lambda a, b: None).pending) == 16
    assert merge_sort([], lambda a, b: None).groups == []


@pytest.mark.slow
def test_sides_are_drawn_and_turn_the_second_time() -> None:
    worth = {f"d{i:02}": i for i in range(60)}
    settings = DisplaySettings(mode="preferences", repeats=0.5)
    desk, numbers = (
        AssessorSession(["t"], PreferenceWorkflow({"t": list(worth)}, "ann", settings)),
        count(1),
    )
    tasks = []
    while upcoming := desk.upcoming(1):
        tasks += upcoming
        judge(desk, numbers, worth, upcoming[0])
    first = [task for task in tasks if not task.is_repeat]
    turned = sum(task.document > (task.other_document or "") for task in first)
    assert 0.35 < turned / len(first) < 0.65
    again = [task for task in tasks if task.is_repeat]
    assert 0.3 < len(again) / len(first) < 0.7
    for task in again:
        assert task.other_document is not None
        once = JudgingTask("t", task.other_document, task.document)
        assert tasks.index(task) - tasks.index(once) > settings.repeat_distance // 2


def test_a_pair_that_is_put_aside_holds_up_no_other() -> None:
    worth = {f"d{i}": i for i in range(8)}
    desk, numbers = (
        AssessorSession(["t"], PreferenceWorkflow({"t": list(worth)}, "ann", NONE)),
        count(1),
    )
    task = desk.upcoming(1)[0]
    desk.apply(
        LoggedEvent(
            next(numbers), "skip", "", "ann", *task[:3], "skip", None, None, None, None, False, None
        )
    )
    while upcoming := desk.upcoming(1):
        judge(desk, numbers, worth, upcoming[0])
    progress = desk.progress()
    assert desk.skipped() == [task]
    assert (progress.skipped, progress.remaining > 0) == (1, True)  # the rest waits for it
    judge(desk, numbers, worth, task)
    while upcoming := desk.upcoming(1):
        judge(desk, numbers, worth, upcoming[0])
    assert desk.progress()[1:3] == (0, 0)


def test_only_among_good_documents() -> None:
    grades = {"a": 0, "b": 2, "c": 1, "d": 3}
    events = [
        LoggedEvent(i, f"g{i}", "", "ann", "t", d, None, "grade", g, None, None, None, False, None)
        for i, (d, g) in enumerate(grades.items(), 1)
    ]
    settings = DisplaySettings(mode="preferences", min_grade=2, repeats=0)
    desk = AssessorSession(
        ["t"], PreferenceWorkflow({"t": [*grades, "e"]}, "ann", settings), events
    )
    (task,) = desk.upcoming(9)
    assert {task.document, task.other_document} == {"b", "d"}
    assert desk.progress()[:3] == (0, 1, 0)
