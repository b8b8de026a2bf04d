"""What an assessor sees next: orders, second times, skips, undoing, what is left."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from itertools import count
from statistics import median
from typing import Any

import pytest

from calipers.campaign.records import LoggedEvent, Topic
from calipers.campaign.workflow import (
    AssessorHistory,
    AssessorSession,
    DisplaySettings,
    GradingWorkflow,
    JudgingPlan,
    JudgingTask,
    effective_gap,
    event_task,
    hash_draw,
    plant_repeats,
    presentation_order,
    topic_terms,
)
from calipers.data.errors import InputError

POOL = {"t1": [f"d{i}" for i in range(60)], "t2": [f"e{i}" for i in range(25)], "t3": ["f0", "f1"]}
NONE = DisplaySettings(repeats=0)


class Assessor:
    """Somebody at a desk, and what they did."""

    def __init__(self, plan: JudgingPlan, topics: Sequence[str] = tuple(POOL)) -> None:
        self.desk, self._numbers = AssessorSession(topics, plan), count(1)

    def does(
        self, kind: str, task: JudgingTask, grade: int | None = None, **more: Any
    ) -> LoggedEvent:
        number = next(self._numbers)
        event = LoggedEvent(
            event=number, id=f"id{number}", time="", assessor="ann", topic=task.topic,
            document=task.document, other_document=task.other_document, kind=kind, grade=grade, note=None,
            seconds=more.get("seconds"), display_position=self.desk.position(task), is_repeat=task.is_repeat,
            replaces=more.get("replaces"),
        )  # fmt: skip
        self.desk.apply(event)
        return event

    def next(self) -> JudgingTask:
        return self.desk.upcoming(1)[0]

    def all(self, grade: Callable[[JudgingTask], int] = lambda _: 1) -> list[JudgingTask]:
        """Everything, as it comes."""
        made = []
        while self.desk.upcoming(1):
            made.append(self.next())
            self.does("grade", made[-1], grade(made[-1]))
        return made


def test_each_assessor_has_an_order_of_their_own() -> None:
    ann, ben = (presentation_order(POOL["t1"], "t1", name, NONE) for name in ("ann", "ben"))
    assert sorted(ann) == sorted(ben) == sorted(POOL["t1"])
    assert ann != ben != POOL["t1"] != ann
    assert ann == presentation_order(POOL["t1"][::-1], "t1", "ann", NONE)
    assert ann != presentation_order(POOL["t1"], "t1", "ann", DisplaySettings(seed=1))
    assert presentation_order(POOL["t1"], "t1", "ann", DisplaySettings(order="pool")) == POOL["t1"]


def test_a_document_that_joins_moves_no_other() -> None:
    whole = presentation_order(POOL["t1"], "t1", "ann", NONE)
    few = presentation_order(POOL["t1"][::3], "t1", "ann", NONE)
    assert few == [document for document in whole if document in few]


def test_random_orders_are_fair() -> None:
    """Of three documents, each comes first for a third of the assessors."""
    firsts = [
        presentation_order(["a", "b", "c"], "t", f"assessor {i}", NONE)[0] for i in range(3000)
    ]
    for document in "abc":  # 1000 ± 4 standard deviations of 25.8
        assert 897 < firsts.count(document) < 1103


def test_all_is_judged_once_topic_by_topic() -> None:
    tasks = Assessor(GradingWorkflow(POOL, "ann", NONE)).all()
    assert [task.topic for task in tasks] == ["t1"] * 60 + ["t2"] * 25 + ["t3"] * 2
    assert {(task.topic, task.document) for task in tasks} == {
        (topic, document) for topic, of in POOL.items() for document in of
    }
    assert not any(task.is_repeat for task in tasks)


@pytest.mark.parametrize("repeats", [0, 0.01, 0.2, 1])
def test_what_is_repeated_is_drawn(repeats: float) -> None:
    """Those with the smallest draws, and documents at the end have no second time."""
    settings = DisplaySettings(repeats=repeats, repeat_distance=10)
    orders = {t: presentation_order(of, t, "ann", settings) for t, of in POOL.items()}
    early = [("t1", d) for d in orders["t1"][:-10]] + [("t2", d) for d in orders["t2"][:-10]]
    early.sort(key=lambda pair: hash_draw(0, "again", "ann", *pair))
    expected = early[: math.ceil(repeats * 87)]
    assert plant_repeats(orders, "ann", settings) == {
        JudgingTask(*pair, is_repeat=True) for pair in expected
    }
    for topic, of in POOL.items():
        assert orders[topic] == sorted(of, key=lambda d: hash_draw(0, "order", "ann", topic, d))


@pytest.mark.parametrize("gap", [1, 5, 10])
def test_second_times_come_late_and_look_like_first_ones(gap: int) -> None:
    settings = DisplaySettings(repeats=0.2, repeat_distance=gap)
    tasks = Assessor(GradingWorkflow(POOL, "ann", settings)).all()
    again = [task for task in tasks if task.is_repeat]
    assert len(again) == 18  # a fifth of 87, rounded up
    assert set(again) == plant_repeats(
        {t: presentation_order(of, t, "ann", settings) for t, of in POOL.items()}, "ann", settings
    )
    for task in again:
        first = tasks.index(task._replace(is_repeat=False))
        assert tasks.index(task) - first > effective_gap(len(POOL[task.topic]), settings)
    assert len(set(tasks)) == len(tasks) == 87 + 18
    assert again != [
        task for task in Assessor(GradingWorkflow(POOL, "ben", settings)).all() if task.is_repeat
    ]


def test_what_is_foretold_is_what_comes() -> None:
    plan = GradingWorkflow(POOL, "ann", DisplaySettings(repeats=0.3))
    assessor = Assessor(plan)
    foretold = assessor.desk.upcoming(1000)
    assert assessor.desk.progress().remaining == len(foretold)
    assert Assessor(plan).all() == foretold
    for done in range(20):
        assert assessor.desk.upcoming(1000) == foretold[done:]
        assert assessor.desk.progress()[:3] == (done, len(foretold) - done, 0)
        assessor.does("grade", assessor.next(), 0)


def test_where_one_is_follows_from_the_events_alone() -> None:
    """As after a crash: the same events give the same desk, whatever was asked in between."""
    dice, plan = random.Random(3), GradingWorkflow(POOL, "ann", DisplaySettings(repeats=0.3))
    assessor, events = Assessor(plan), list[LoggedEvent]()
    for _ in range(150):
        acts, task = assessor.desk.last_actions(1), (assessor.desk.upcoming(1) or [None])[0]
        roll = dice.random()
        if acts and (task is None or roll < 0.2):
            undone = acts[0]
            events.append(assessor.does("undo", event_task(undone), replaces=undone.event))
        elif task is not None:
            kind = "skip" if roll < 0.3 else "grade"
            events.append(assessor.does(kind, task, None if kind == "skip" else 1))
    other = AssessorSession(POOL, plan, events)
    assert other.upcoming(1000) == assessor.desk.upcoming(1000)
    assert other.skipped() == assessor.desk.skipped()
    assert other.progress() == assessor.desk.progress()


def foretold(
    plan: GradingWorkflow, topic: str, order: Sequence[str], session: AssessorSession, gap: int
) -> list[JudgingTask]:
    """What comes next, found from all events and documents each time."""
    past, planted = session.history, plan.repeats.get(topic, set())
    ready, tasks = dict[str, int](), list[JudgingTask]()
    last, done = "", 0

    def counts(task: JudgingTask) -> None:
        nonlocal last, done
        last, done = task.document, done + 1
        second = task._replace(is_repeat=True)
        if not task.is_repeat and task.document in planted and past.is_open(second):
            ready[task.document] = done + gap

    for task in past.judged_tasks(topic):
        counts(task)
    left = [d for d in order if past.is_open(JudgingTask(topic, d))]
    while left or ready:
        second = min(ready, key=lambda d: ready[d], default=None)
        if left and (second is None or ready[second] > done):
            tasks.append(JudgingTask(topic, left.pop(0)))
            counts(tasks[-1])
            continue
        assert second is not None
        del ready[second]
        if second != last:
            tasks.append(JudgingTask(topic, second, is_repeat=True))
            counts(tasks[-1])
    return tasks


@pytest.mark.parametrize("seed", range(12))
def test_what_is_followed_event_by_event_is_what_all_events_say(seed: int) -> None:
    """In any order: also what nobody was asked for, documents that left the pool, and pairs."""
    dice = random.Random(seed)
    settings = DisplaySettings(repeats=dice.choice([0, 0.1, 0.4, 1]), repeat_distance=4)
    pool = {"t1": [f"d{i}" for i in range(12)], "t2": [f"e{i}" for i in range(7)]}
    plan = GradingWorkflow(pool, "ann", settings)
    assessor, events = Assessor(plan, tuple(pool)), list[LoggedEvent]()
    for _ in range(120):
        topic = dice.choice([*pool, "t9"])
        document = dice.choice([*pool.get(topic, ()), "gone"])
        task = JudgingTask(topic, document, is_repeat=dice.random() < 0.3)
        if dice.random() < 0.1:
            task = task._replace(other_document="d0" if document != "d0" else "d1")
        if dice.random() < 0.5:
            task = (assessor.desk.upcoming(1) or [task])[0]
        kind = dice.choice(["grade", "grade", "skip", "note", "import", "undo"])
        if kind == "undo":
            if not events:
                continue
            undone = dice.choice(events[-5:])
            events.append(assessor.does("undo", event_task(undone), replaces=undone.event))
        else:
            grade = None if kind in ("skip", "note") else 1
            events.append(assessor.does(kind, task, grade, seconds=dice.choice([None, 2.0, 5.0])))
        desk, anew = assessor.desk, AssessorSession(pool, plan, events)
        expected = {
            topic: foretold(plan, topic, order, desk, effective_gap(len(order), settings))
            for topic, order in plan.orders.items()
        }
        assert desk.upcoming(1000) == [*expected["t1"], *expected["t2"]] == anew.upcoming(1000)
        assert desk.upcoming(1000, "t2") == [*expected["t2"], *expected["t1"]]
        for topic, tasks in expected.items():
            judged = [t for t in desk.history.judged if t.topic == topic and not t.is_pair]
            skipped = [t for t in anew.skipped() if t.topic == topic]
            counts = (len(judged), len(tasks), len(skipped))
            assert desk.progress(topic)[:3] == anew.progress(topic)[:3] == counts
        assert desk.progress() == anew.progress()
        assert desk.skipped() == anew.skipped()
        assert desk.last_actions(9) == anew.last_actions(9)


def test_a_judgment_costs_the_same_after_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """States that are looked up for a judgment, and what comes after it."""
    looked_up = count()
    state = AssessorHistory.state
    monkeypatch.setattr(
        AssessorHistory, "state", lambda *of: (next(looked_up), state(*of))[1]
    )  # fmt: skip
    costs = []
    for many in (100, 3000):
        plan = GradingWorkflow({"t": [f"d{i}" for i in range(many)]}, "ann", DisplaySettings())
        assessor = Assessor(plan, ["t"])
        for _ in range(many // 2):
            assessor.does("grade", assessor.next(), 1)
        before = next(looked_up)
        assessor.does("grade", assessor.next(), 1)
        assessor.desk.upcoming(16)
        assessor.desk.progress()
        costs.append(next(looked_up) - before)
    assert costs[1] < 100
    assert costs[1] < 2 * costs[0]


def test_skips_wait_on_their_list() -> None:
    assessor = Assessor(GradingWorkflow(POOL, "ann", NONE))
    first = assessor.next()
    assessor.does("skip", first)
    assert assessor.next() != first
    assert assessor.desk.skipped() == [first]
    assert assessor.desk.progress()[:3] == (0, 86, 1)
    assert first not in assessor.all()
    assert assessor.desk.progress()[:3] == (86, 0, 1)
    assessor.does("grade", first, 2)
    assert assessor.desk.skipped() == []
    assert assessor.desk.progress()[:3] == (87, 0, 0)


def test_a_skipped_document_does_not_come_a_second_time_before_its_first() -> None:
    plan = GradingWorkflow(POOL, "ann", DisplaySettings(repeats=0.5))
    assessor = Assessor(plan)
    second = next(task for task in assessor.desk.upcoming(1000) if task.is_repeat)
    first = second._replace(is_repeat=False)
    while assessor.next() != first:
        assessor.does("grade", assessor.next(), 1)
    assessor.does("skip", first)
    assessor.does("skip", other := assessor.next())
    assert second not in assessor.all()
    assessor.does("grade", first, 1)
    assert assessor.desk.upcoming(1) == []  # at once, a second time would say nothing
    assessor.does("grade", other, 1)
    assert second in assessor.desk.upcoming(2)


def test_undo_brings_back_what_stood_before() -> None:
    assessor = Assessor(GradingWorkflow(POOL, "ann", NONE))
    task = assessor.next()
    one = assessor.does("grade", task, 1)
    two = assessor.does("grade", task, 2, replaces=one.event)
    assert assessor.desk.history.current(task) == two
    assert assessor.desk.position(task) == one.display_position == 1
    assessor.does("undo", task, replaces=two.event)
    assert assessor.desk.history.current(task) == one
    assert assessor.desk.last_actions(9) == [one]
    assessor.does("undo", task, replaces=one.event)
    assert assessor.desk.history.current(task) is None
    assert assessor.next() == task
    skip = assessor.does("skip", task)
    assessor.does("undo", task, replaces=skip.event)
    assert assessor.next() == task
    assert assessor.desk.last_actions(9) == []


def test_judgments_from_elsewhere_count_and_cannot_be_undone_here() -> None:
    assessor = Assessor(GradingWorkflow(POOL, "ann", NONE))
    task = assessor.next()
    event = assessor.does("import", task, 3)
    assert assessor.next() != task
    assert assessor.desk.progress().done == 1
    assert assessor.desk.last_actions(9) == []
    assessor.does("undo", task, replaces=event.event)  # by whoever imported it
    assert assessor.next() == task


def test_a_chosen_topic_comes_first_then_those_behind_it() -> None:
    assessor = Assessor(GradingWorkflow(POOL, "ann", NONE))
    topics = [task.topic for task in assessor.desk.upcoming(1000, "t2")]
    assert topics == ["t2"] * 25 + ["t3"] * 2 + ["t1"] * 60


def test_the_time_left_is_the_median_time_of_what_is_left() -> None:
    assessor = Assessor(GradingWorkflow(POOL, "ann", NONE))
    times = [4.0, 900.0, 6.0, 5.0]
    for i, seconds in enumerate(times):
        known = assessor.desk.progress().seconds
        assert (known is None) == (i < 3)
        assessor.does("grade", assessor.next(), 1, seconds=seconds)
    assert assessor.desk.progress().seconds == median(times) * (87 - 4)


def test_notes_stand_for_both_times_apart() -> None:
    assessor = Assessor(GradingWorkflow(POOL, "ann", NONE))
    task = assessor.next()
    note = assessor.does("note", task)._replace(note="blurred")
    assessor.desk.history.notes[task] = [note]
    assert assessor.desk.history.note(task) == "blurred"
    assert assessor.desk.history.note(task._replace(is_repeat=True)) == ""
    assert assessor.next() == task
    assert assessor.desk.last_actions(9) == []


def test_a_method_that_learns_says_what_comes_next() -> None:
    """After a relevant document its neighbours by number; the topic ends after 20."""

    def adaptive(topic: str, grades: Any, aside: frozenset[str]) -> list[str]:
        near = {int(d[1:]) + step for d, grade in grades.items() if grade for step in (-1, 1)}
        known = sorted(POOL[topic], key=lambda d: int(d[1:]) not in near)
        return [d for d in known if d not in grades and d not in aside][: 20 - len(grades)]

    plan = GradingWorkflow(POOL, "ann", NONE, adaptive)
    assessor = Assessor(plan, ["t1"])
    assert assessor.next().document == "d0"
    assessor.does("grade", JudgingTask("t1", "d30"), 1)
    assert [task.document for task in assessor.desk.upcoming(3)] == ["d29", "d31", "d0"]
    assessor.does("skip", JudgingTask("t1", "d29"))
    assert assessor.next().document == "d31"
    assert len(assessor.all()) == 19


@pytest.mark.parametrize(
    "wrong",
    [
        {"mode": "stars"},
        {"order": "alphabet"},
        {"repeats": 1.5},
        {"repeats": -0.1},
        {"repeat_distance": 0},
    ],
)
def test_settings_that_make_no_sense(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=next(iter(wrong))):
        DisplaySettings(**wrong)


@pytest.mark.parametrize(
    ("title", "keywords", "found"),
    [
        ("The cost of chips", "", ["cost", "chips"]),
        ("chips -potato", "low-cost", ["chips", "low", "cost"]),
        ("Étude de cas", "naïve, ÉTUDE", ["étude", "de", "cas", "naïve"]),
        ("検索 C", "", ["検索"]),
        ("<b>(a+)+$</b>", "", []),
        ("", "", []),
    ],
)
def test_which_words_are_marked(title: str, keywords: str, found: list[str]) -> None:
    assert topic_terms(Topic("1", title=title, keywords=keywords)) == found
