"""What a page is told and what it tells, without a page."""

from __future__ import annotations

import json
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import pytest

import calipers as cal
from calipers.campaign.adjudication import adjudicated_grades
from calipers.campaign.records import Assessor, Document, EditConflict, Event, Topic
from calipers.campaign.sessions import (
    BusyError,
    SessionManager,
    TaskKeys,
    assessor_slug,
    create_token,
    get_secret,
    get_settings,
    set_settings,
)
from calipers.campaign.tidy_tables import read_tidy_table
from calipers.campaign.workflow import AssessorHistory, DisplaySettings, parse_structure
from calipers.data.errors import InputError

NONE = DisplaySettings(repeats=0)


@pytest.fixture
def pooled(campaign: cal.Campaign) -> cal.Campaign:
    """Ten documents of topic 1 and five of topic 2, of which one was not drawn."""
    with campaign.write() as connection:
        connection.execute("INSERT INTO pools VALUES (1, '', '{}')")
        for topic, many in (("1", 10), ("2", 5)):
            connection.executemany(
                "INSERT INTO pooled(topic, document, pool, position, priority, stratum, sampled) "
                "VALUES (?, ?, 1, ?, 0.1234, 'top', ?)",
                [(topic, f"{topic}d{i}", i, int(i < 9)) for i in range(many)],
            )
    campaign.add_documents([Document("1d0", b"a text <b>", title="A title")])
    campaign.add_documents([Document("1d1", b"\x89PNG", media="image/png")])
    return campaign


def told(task: str, kind: str = "grade", grade: Any = 1, **more: Any) -> dict[str, Any]:
    return {"id": str(uuid4()), "task": task, "kind": kind, "grade": grade, **more}


def test_a_page_learns_nothing_that_would_sway(pooled: cal.Campaign) -> None:
    pooled.record(Event("other", "bob", "1", "1d0", grade=3, note="bob was here"))
    desks = SessionManager(pooled, ["ada"], DisplaySettings(repeats=0.5))
    session = desks.session("ada")
    tasks = desks.tasks("ada", session["queue"])
    seen = json.dumps([session, tasks, desks.list_tasks("ada")])
    for secret in ("bob", "0.1234", "stratum", 'top"', "repeat", "position"):
        assert secret not in seen
    assert len(tasks) == len(session["queue"]) == 14 + 7
    looks = {tuple(sorted(task)) for task in tasks}
    assert len(looks) == 1  # a second time looks like a first one
    assert all(task["current"] is None for task in tasks)


def test_what_is_judged_is_recorded_with_what_was_seen(pooled: cal.Campaign) -> None:
    desks = SessionManager(pooled, ["ada"], NONE)
    first, second = desks.session("ada")["queue"][:2]
    answer = desks.record("ada", told(first, grade=2, seconds=1.5))
    assert answer["queue"][0] == second
    assert answer["progress"] == {"done": 1, "remaining": 13, "skipped": 0, "seconds": None}
    assert answer["current"]["grade"] == 2
    desks.record("ada", told(second, "note", None, note="hard"))
    desks.record("ada", told(second, grade=0, seconds=2))
    (one, two) = pooled.judgments("ada")
    assert (one.grade, one.seconds, one.display_position, one.is_repeat) == (2, 1.5, 1, False)
    assert (two.grade, two.seconds, two.display_position) == (0, 2, 2)
    assert [event.note for event in pooled.events()] == [None, "hard", None]
    assert desks.tasks("ada", [second])[0]["note"] == "hard"


def test_telling_twice_records_once(pooled: cal.Campaign) -> None:
    desks = SessionManager(pooled, ["ada"], NONE)
    event = told(desks.session("ada")["queue"][0])
    one, two = desks.record("ada", event), desks.record("ada", event)
    assert one == two
    assert len(pooled.events()) == desks.n_recorded == 1


def test_a_stale_window_is_told_what_stands(pooled: cal.Campaign) -> None:
    desks = SessionManager(pooled, ["ada"], NONE)
    task = desks.session("ada")["queue"][0]
    first = told(task, grade=2)
    desks.record("ada", first)
    with pytest.raises(EditConflict) as caught:
        desks.record("ada", told(task, grade=1))
    stands = desks.current_judgment("ada", task, caught.value)
    assert stands is not None
    assert (stands["id"], stands["grade"]) == (first["id"], 2)
    desks.record("ada", told(task, grade=1, replaces=first["id"]))
    assert [j.grade for j in pooled.judgments("ada")] == [1]


def test_undo_names_what_it_takes_back(pooled: cal.Campaign) -> None:
    desks = SessionManager(pooled, ["ada"], NONE)
    task = desks.session("ada")["queue"][0]
    first = told(task, grade=2)
    second = told(task, grade=1, replaces=first["id"])
    for event in (first, second):
        desks.record("ada", event)
    assert [act["before"] and act["before"]["grade"] for act in desks.session("ada")["acts"]] == [
        None,
        2,
    ]
    answer = desks.record("ada", told(task, "undo", None, replaces=second["id"]))
    assert answer["current"]["grade"] == 2
    with pytest.raises(EditConflict):
        desks.record("ada", told(task, "undo", None, replaces=second["id"]))
    answer = desks.record("ada", told(task, "undo", None, replaces=first["id"]))
    assert answer["current"] is None
    assert answer["queue"][0] == task
    assert pooled.judgments("ada") == []
    assert len(pooled.events()) == 4


def test_second_times_are_kept_apart(pooled: cal.Campaign) -> None:
    desks = SessionManager(pooled, ["ada"], DisplaySettings(repeats=0.3))
    while queue := desks.next_tasks("ada")["queue"]:
        desks.record("ada", told(queue[0], grade=len(queue) % 2))
    assert len(pooled.judgments("ada", is_repeat=False)) == 14
    assert len(pooled.judgments("ada", is_repeat=True)) == 5
    shown = [judgment.display_position for judgment in pooled.judgments("ada")]
    assert shown == list(range(1, 20))


def test_keys_are_good_after_a_restart(pooled: cal.Campaign) -> None:
    queue = SessionManager(pooled, ["ada"], NONE).session("ada")["queue"]
    again = SessionManager(pooled, ["ada", "bob"], NONE)
    assert again.session("ada")["queue"] == queue
    again.record("ada", told(queue[0]))
    with pytest.raises(InputError, match="does not belong to this assessor"):
        again.record("bob", told(queue[0]))


def test_what_another_process_wrote_is_seen(pooled: cal.Campaign) -> None:
    desks = SessionManager(pooled, ["ada"], NONE)
    before = desks.session("ada")["queue"]
    with cal.Campaign.open(pooled.path) as other, other.write() as connection:
        other.record(Event("an import", "ada", "1", "1d0", kind="import", grade=3))
        connection.execute(
            "INSERT INTO pooled(topic, document, pool, position) VALUES ('2', 'new', 1, 9)"
        )
    answer = desks.session("ada")
    assert answer["progress"]["done"] == 1
    assert len(answer["queue"]) == len(before)  # one less and one more
    assert set(answer["queue"]) != set(before)


def test_only_topics_that_are_assigned(pooled: cal.Campaign) -> None:
    assert len(SessionManager(pooled, ["ada"], NONE).session("ada")["topics"]) == 2
    with pooled.write() as connection:
        connection.execute("INSERT INTO assignments VALUES ('ada', '2')")
    desks = SessionManager(pooled, ["ada", "bob"], NONE)
    assert [topic["topic"] for topic in desks.session("ada")["topics"]] == ["2"]
    assert len(desks.session("ada")["queue"]) == 5
    assert desks.session("bob")["queue"] == []


def test_preferences_are_between_what_stands_left_and_right(pooled: cal.Campaign) -> None:
    desks = SessionManager(pooled, ["ada"], DisplaySettings(mode="preferences", repeats=0))
    queue = desks.session("ada")["queue"]
    (task,) = desks.tasks("ada", queue[:1])
    left, right = (document["document"] for document in task["documents"])
    desks.record("ada", told(queue[0], "preference", 1))
    desks.record("ada", told(queue[1], "skip", None))
    desks.record("ada", told(queue[2], "note", None, note="alike"))
    (made,) = pooled.preferences("ada")
    assert (made.document, made.other_document, made.grade) == (left, right, 1)
    lines = desks.list_tasks("ada")
    assert [len(lines[part]) for part in ("aside", "judged")] == [1, 1]
    turned = ".".join(reversed(queue[0].split(".")))
    assert desks.tasks("ada", [turned])[0]["current"]["grade"] == -1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"kind": "adjudication"}, "kind 'adjudication', expected one of"),
        ({"kind": "import"}, "kind 'import'"),
        ({"kind": "preference"}, "preference: not of one document"),
        ({"id": "short"}, "expected a UUID"),
        ({"id": 7}, "expected a UUID"),
        ({"task": "0123456789abcdef"}, "does not belong to this assessor"),
        ({"task": None}, "does not belong to this assessor"),
        ({"task": ["a"]}, "does not belong to this assessor"),
        ({"task": "a.b.c"}, "does not belong to this assessor"),
        ({"grade": 9}, "grade 9, expected 0, 1, 2, 3"),
        ({"grade": True}, "expected a whole number"),
        ({"grade": 1.0}, "expected a whole number"),
        ({"grade": None}, "expected a whole number"),
        ({"seconds": "1"}, "expected a number"),
        ({"seconds": -1.0}, "seconds -1.0"),
        ({"seconds": float("nan")}, "seconds nan"),
        ({"replaces": "no such event id"}, "which is not an event"),
        ({"replaces": 1}, "which is not an event"),
        ({"kind": "note", "note": 7}, "note 7, expected a text"),
        ({"kind": "undo"}, "the event to undo"),
    ],
)
def test_what_cannot_be_recorded(pooled: cal.Campaign, change: dict[str, Any], said: str) -> None:
    desks = SessionManager(pooled, ["ada"], NONE)
    task = desks.session("ada")["queue"][0]
    with pytest.raises(InputError, match=said) as caught:
        desks.record("ada", told(task) | change)
    assert not isinstance(caught.value, EditConflict)
    assert pooled.events() == []


def test_a_file_that_cannot_be_written_now_is_no_fault_of_the_page(pooled: cal.Campaign) -> None:
    desks = SessionManager(pooled, ["ada"], NONE)
    task = desks.session("ada")["queue"][0]
    pooled.read("PRAGMA busy_timeout = 1")
    other = sqlite3.connect(pooled.path)
    other.execute("BEGIN IMMEDIATE")
    assert desks.tasks("ada", [task])[0]["current"] is None  # reading does not wait
    with pytest.raises(BusyError, match="another process"):
        desks.record("ada", told(task))
    other.close()
    desks.record("ada", told(task))


def test_what_a_topic_on_structure_asks_for() -> None:
    for details, told in (
        ({}, []),
        ({"parts": [{"te": "article"}, {"cw": "oil", "ce": "bdy/sec"}, {"cw": "-gas"}, {"ce": "yr"}]},
         ["article", "oil in bdy/sec", "-gas", "yr"]),
        # (Details may be anything that came with a topic.)
        ({"parts": "oil"}, []), ({"parts": ["oil", 3, {}, {"cw": 7}]}, ["7"]),
    ):  # fmt: skip
        assert parse_structure(Topic("1", kind="CAS", details=details)) == told


def test_documents_are_sent_with_what_they_are(pooled: cal.Campaign) -> None:
    desks = SessionManager(pooled, ["ada"], NONE)
    tasks = {
        task["documents"][0]["document"]: task
        for task in desks.tasks("ada", desks.session("ada")["queue"])
    }
    assert tasks["1d0"]["documents"] == [
        {"document": "1d0", "media": "text/plain", "title": "A title", "text": "a text <b>"}
    ]
    assert tasks["1d1"]["documents"][0]["text"] is None
    assert tasks["1d2"]["documents"][0]["media"] is None
    assert "1d9" not in tasks  # not drawn
    assert desks.image("ada", tasks["1d1"]["task"], 0) == ("image/png", b"\x89PNG")
    for key, which in ((tasks["1d0"]["task"], 0), (tasks["1d1"]["task"], 1)):
        assert desks.image("ada", key, which) is None


def test_long_documents_come_one_by_one(campaign: cal.Campaign) -> None:
    with campaign.write() as connection:
        connection.execute("INSERT INTO pools VALUES (1, '', '{}')")
        for i in range(3):
            campaign.add_documents([Document(f"d{i}", b"x" * 700_000)])
            connection.execute(
                "INSERT INTO pooled(topic, document, pool, position) VALUES ('1', ?, 1, ?)",
                (f"d{i}", i),
            )
    desks = SessionManager(campaign, ["ada"], NONE)
    keys = desks.session("ada")["queue"]
    assert [task["task"] for task in desks.tasks("ada", keys)] == keys[:1]


def test_a_pool_may_ask_for_the_order_that_judgments_make(campaign: cal.Campaign) -> None:
    """By move-to-front, with what Cormack's rule makes of these runs and judgments."""
    runs = {"a": "d1 d2 d3 d4 d5 d6", "b": "d2 d7 d1 d8 d3 d9", "c": "d10 d2 d11 d7 d12 d4"}
    for run, ranking in runs.items():
        scores = {document: -float(i) for i, document in enumerate(ranking.split())}
        campaign.add_run(run, {"1": scores}, "p")
    relevant = {"d2", "d7", "d11", "d4", "d9"}
    with campaign.write() as connection:
        connection.execute(
            "INSERT INTO pools VALUES (1, '', ?)",
            (json.dumps({"method": "depth", "depth": 6, "order": "move-to-front"}),),
        )
        connection.executemany(
            "INSERT INTO pooled(topic, document, pool, position) VALUES ('1', ?, 1, ?)",
            [(f"d{i}", i) for i in range(1, 13)],
        )
    judged = []
    while True:  # as after a restart each time
        desks = SessionManager(campaign, ["ada"], NONE)
        queue = desks.next_tasks("ada")["queue"]
        assert len(queue) == 12 - len(judged)
        if not queue:
            break
        judged.append(desks.tasks("ada", queue[:1])[0]["documents"][0]["document"])
        desks.record("ada", told(queue[0], grade=int(judged[-1] in relevant)))
    assert " ".join(judged) == "d1 d2 d7 d8 d10 d11 d12 d3 d9 d4 d5 d6"
    assert "in adaptive order" in desks.summary()
    assert (
        "random" in SessionManager(campaign, ["ada"], DisplaySettings(mode="preferences")).summary()
    )


# ------------------------------------------------------------------------------------ adjudication


def test_an_adjudicator_decides_what_is_disputed(pooled: cal.Campaign) -> None:
    """With the grades and notes of persons; what another one has decided is not asked again."""
    pooled.add_assessor(Assessor("gpt", kind="program"))
    pooled.add_assessor(Assessor("dan", role="adjudicator"))
    for name, grades in (("ada", "012"), ("bob", "110"), ("gpt", "333")):
        for i, grade in enumerate(grades):
            pooled.record(Event(f"{name} {i}", name, "1", f"1d{i}", grade=int(grade)))
        pooled.record(Event(f"{name} 2d0", name, "2", "2d0", grade=len(name + grades[0]) % 2))
    pooled.record(Event("note", "bob", "1", "1d2", "note", note="off topic"))
    pooled.record(Event("dan 0", "dan", "2", "2d0", "adjudication", 1))
    desks = SessionManager(pooled, ["eve", "ada"], DisplaySettings(mode="preferences"))
    page = desks.session("eve")
    assert (page["mode"], desks.session("ada")["mode"]) == ("adjudication", "preferences")
    assert page["progress"]["remaining"] == len(page["queue"]) == 2
    first, second = desks.tasks("eve", page["queue"])
    assert [task["documents"][0]["document"] for task in (first, second)] == ["1d2", "1d0"]
    assert first["given"] == [
        {"assessor": "ada", "grade": 2, "note": ""},
        {"assessor": "bob", "grade": 0, "note": "off topic"},
    ]
    assert "given" not in desks.tasks("ada", desks.session("ada")["queue"][:1])[0]
    event = told(page["queue"][0], grade=2)
    answer = desks.record("eve", event)
    assert answer["queue"] == page["queue"][1:]
    assert answer["current"]["grade"] == 2
    assert [(j.assessor, j.document, j.grade) for j in pooled.adjudications()] == [
        ("dan", "2d0", 1), ("eve", "1d2", 2),
    ]  # fmt: skip
    assert adjudicated_grades(pooled, rule="majority-unjudged").grades["1"] == {"1d1": 1, "1d2": 2}
    desks.record("eve", told(page["queue"][0], grade=1, replaces=event["id"]))
    pooled.record(Event("dan 1", "dan", "1", "1d0", "adjudication", 3))
    with pytest.raises(EditConflict, match="the grade is 3 now"):
        desks.record("eve", told(page["queue"][1], grade=0))
    page = desks.session("eve")  # (opened again)
    assert page["queue"] == []
    assert [act["before"] and act["before"]["grade"] for act in page["acts"]] == [None, 2]
    desks.record("eve", told(page["acts"][1]["task"], "undo", None, replaces=page["acts"][1]["id"]))
    assert [j.grade for j in pooled.adjudications() if j.assessor == "eve"] == [2]
    assert [line["grade"] for line in desks.list_tasks("eve")["judged"]] == [2]
    with pytest.raises(InputError, match="does not belong to this assessor"):
        desks.record("ada", told(page["acts"][0]["task"]))


# --------------------------------------------------------------------------------- many documents


class Counts:
    """Queries, events that are applied, and tasks whose keys are made."""

    def __init__(self, manager: SessionManager, monkeypatch: pytest.MonkeyPatch) -> None:
        self.queries, self.applied = list[str](), 0
        read, apply = manager._reader.read, AssessorHistory.apply

        def count_read(sql: str, *values: Any) -> Any:
            self.queries.append(sql)
            return read(sql, *values)

        def count_apply(*of: Any) -> None:
            self.applied += 1
            apply(*of)

        monkeypatch.setattr(manager._reader, "read", count_read)
        monkeypatch.setattr(AssessorHistory, "apply", count_apply)

    def take(self) -> tuple[int, int, bool]:
        """Numbers since the last time, and whether the pool was read."""
        pool = any("FROM pooled WHERE sampled" in sql for sql in self.queries)
        counts = len(self.queries), self.applied, pool
        self.queries, self.applied = [], 0
        return counts


def test_only_newer_events_are_applied(
    pooled: cal.Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever another process wrote, unless it changed the pool."""
    for i in range(5):
        pooled.record(Event(f"before {i}", "ada", "1", f"1d{i}", grade=1))
    desks = SessionManager(pooled, ["ada", "bob"], NONE)
    counts = Counts(desks, monkeypatch)
    queue = desks.session("ada")["queue"]
    assert counts.take()[1:] == (5, True)
    desks.session("bob")
    assert counts.take()[1:] == (0, False)  # the pool is shared
    desks.tasks("ada", queue[:1])
    assert counts.take() == (2, 0, False)  # the version, and a document
    desks.record("ada", told(queue[0]))
    first = counts.take()
    assert first[1:] == (1, False)
    with cal.Campaign.open(pooled.path) as other:
        other.record(Event("import", "ada", "2", "2d1", kind="import", grade=3))
        for i in range(7):
            other.record(Event(f"of bob {i}", "bob", "1", f"1d{i}", grade=0))
    answer = desks.record("ada", told(queue[1]))
    queries, applied, pool = counts.take()
    assert (applied, pool) == (2, False)
    assert queries <= first[0] + 8  # one look more, for what the other process wrote
    assert answer["progress"]["done"] == 8
    assert desks.next_tasks("bob")["progress"]["done"] == 7
    assert counts.take()[1:] == (7, False)
    with pooled.write() as connection:
        connection.execute(
            "INSERT INTO pooled(topic, document, pool, position) VALUES ('2', 'new', 1, 9)"
        )
    assert desks.next_tasks("ada")["progress"]["remaining"] == 7
    assert counts.take()[1:] == (8, True)


def test_assessors_do_not_wait_for_each_other(pooled: cal.Campaign) -> None:
    desks = SessionManager(pooled, ["ada", "bob"], NONE)
    with ThreadPoolExecutor(1) as pool, desks._open_session("ada"):
        queue = pool.submit(desks.session, "bob").result(10)["queue"]
        assert pool.submit(desks.record, "bob", told(queue[0])).result(10)["progress"]["done"] == 1
        token = create_token(pooled, "ada")
        assert pool.submit(desks.is_valid_link, "ada", token).result(10)


def test_many_threads_record_all(pooled: cal.Campaign) -> None:
    desks = SessionManager(pooled, ["ada", "bob"], NONE)

    def judge(name: str) -> int:
        done = 0
        while queue := desks.next_tasks(name)["queue"]:
            desks.record(name, told(queue[0]))
            done += 1
        return done

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(judge, ["ada", "bob"])) == [14, 14]
    assert desks.n_recorded == len(pooled.events()) == 28


# --------------------------------------------------------------------------------------------- keys


def test_keys_say_nothing_without_the_secret_of_the_campaign(pooled: cal.Campaign) -> None:
    """Two campaigns with the same content have other keys, and so have assessors and repeats."""
    settings = DisplaySettings(repeats=0.5)
    desks = SessionManager(pooled, ["ada", "bob"], settings)
    pages = [desks.session("ada"), desks.session("bob")]
    secret = get_secret(pooled)
    with pooled.write() as connection:
        connection.execute("UPDATE about SET value = ? WHERE key = 'secret'", ("ab" * 32,))
    pages.append(SessionManager(pooled, ["ada"], settings).session("ada"))
    keys = [key for page in pages for key in page["queue"]]
    assert len(keys) == len(set(keys)) == 3 * 21
    assert all(len(key) == 16 for key in keys)
    assert secret.hex() not in json.dumps(pages)
    assert "ab" * 32 not in str(read_tidy_table(pooled, "about"))


def test_a_key_is_found_and_no_other_is() -> None:
    documents = {t: {f"d{i}": None for i in range(50)} for t in ("1", "é")}
    keys, elsewhere = (TaskKeys(secret, "ada", documents) for secret in (b"one", b"two"))
    for topic, of in documents.items():
        for document in of:
            for again in (False, True):
                key = keys.key(topic, document, is_repeat=again)
                assert keys.find(key) == (topic, document, again)
                assert elsewhere.find(key) is None
    for wrong in ("", "0" * 16, "f" * 16, key.upper() + "0", key[:-1], f"{key}\n", "é" * 16):
        assert keys.find(wrong) is None
    assert TaskKeys(b"one", "ada", {}).find(key) is None


# -------------------------------------------------------------------------------------------- links


def test_a_token_is_kept_as_its_digest_only(pooled: cal.Campaign) -> None:
    token = create_token(pooled, "ada")
    assert len(token) >= 43  # 256 bits
    kept = pooled.assessors()["ada"].token_hash
    assert kept is not None
    assert token not in kept
    desks = SessionManager(pooled, ["ada", "bob"], NONE)
    assert desks.is_valid_link("ada", token)
    for slug, wrong in (
        ("bob", token),
        ("ada", ""),
        ("ada", kept),
        ("ada", token[:-1]),
        ("x", token),
    ):
        assert not desks.is_valid_link(slug, wrong)


def test_links_go_on_working_until_they_are_ended(pooled: cal.Campaign) -> None:
    desks = SessionManager(pooled, ["ada"], NONE)
    first, second = create_token(pooled, "ada"), create_token(pooled, "ada")
    for _ in range(30):  # each start of the server makes another
        create_token(pooled, "ada")
    assert desks.is_valid_link("ada", first)
    assert desks.is_valid_link("ada", second)
    third = create_token(pooled, "ada", revoke_others=True)
    desks = SessionManager(pooled, ["ada"], NONE)
    assert [desks.is_valid_link("ada", token) for token in (first, second, third)] == [
        False,
        False,
        True,
    ]


@pytest.mark.parametrize(
    ("name", "plain"),
    [("ada", True), ("Ada-1_b", True), ("Ada Lovelace", False), ("../x", False), ("é", False)],
)
def test_names_in_addresses(name: str, plain: bool) -> None:
    assert (assessor_slug(name) == name) == plain
    assert assessor_slug(name).isascii()
    assert "/" not in assessor_slug(name)


def test_how_documents_are_shown_is_kept(pooled: cal.Campaign) -> None:
    assert get_settings(pooled) == DisplaySettings()
    set_settings(pooled, DisplaySettings(mode="preferences", min_grade=2, seed=7))
    assert get_settings(pooled) == DisplaySettings(mode="preferences", min_grade=2, seed=7)
    with pooled.write() as connection:  # as earlier versions wrote them
        connection.execute(
            "UPDATE about SET value = ? WHERE key = 'judging'", ('{"gap": 3, "least": 1}',)
        )
    assert get_settings(pooled) == DisplaySettings(repeat_distance=3, min_grade=1)


@pytest.mark.parametrize(("name", "said"), [("nobody", "not of this campaign"), ("gpt", "program")])
def test_who_does_not_judge_here(pooled: cal.Campaign, name: str, said: str) -> None:
    pooled.add_assessor(Assessor("gpt", kind="program"))
    with pytest.raises(InputError, match=said):
        SessionManager(pooled, [name], NONE)
