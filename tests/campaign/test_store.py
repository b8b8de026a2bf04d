"""The file of a campaign: nothing lost, nothing twice, nothing changed."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import calipers as cal
from calipers.campaign.goals import parse_goal
from calipers.campaign.records import (
    Assessor,
    Document,
    EditConflict,
    Event,
    RecordResult,
    StoredRun,
    Topic,
)
from calipers.campaign.storage import FORMAT_VERSION, PRAGMAS


def grade(event: str, grade: int | None, document: str = "d", **more: object) -> Event:
    return Event(
        event, **{"assessor": "ada", "topic": "1", "document": document, "grade": grade, **more}
    )  # type: ignore[arg-type]


def grades(campaign: cal.Campaign, **of: object) -> list[tuple[str, str, int]]:
    return [(j.assessor, j.document, j.grade) for j in campaign.judgments(**of)]  # type: ignore[arg-type]


# ---------------------------------------------------------------------------------------- the file


def test_what_is_set_is_read_back(durable: None, campaign: cal.Campaign) -> None:
    for name, value in PRAGMAS.items():
        assert campaign.read(f"PRAGMA {name}") == [(value,)]
    assert campaign.read("PRAGMA user_version") == [(FORMAT_VERSION,)]
    assert campaign.read("PRAGMA journal_mode") == [("delete",)]
    assert campaign.read("PRAGMA synchronous") == [(3,)]


def test_a_pragma_that_does_not_take_is_told(
    campaign: cal.Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("calipers.campaign.storage.PRAGMAS", {"synchronous": 7})
    with pytest.raises(cal.InputError, match="synchronous is 0 and cannot be set to 7"):
        cal.Campaign.open(campaign.path)


def test_nothing_is_written_over(campaign: cal.Campaign, tmp_path: Path) -> None:
    before = Path(campaign.path).read_bytes()
    with pytest.raises(cal.InputError, match="exists already, and is not overwritten"):
        cal.Campaign.create(campaign.path)
    assert Path(campaign.path).read_bytes() == before
    (tmp_path / "link").symlink_to("nowhere")
    with pytest.raises(cal.InputError, match="exists already"):
        cal.Campaign.create(tmp_path / "link")
    with pytest.raises(cal.InputError, match="does not exist"):
        cal.Campaign.create(tmp_path / "no" / "b.campaign")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.campaign", "link"]


def test_a_file_system_without_links_will_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(Path, "hardlink_to", none)
    cal.Campaign.create(tmp_path / "b.campaign").close()
    assert [path.name for path in tmp_path.iterdir()] == ["b.campaign"]
    with pytest.raises(cal.InputError, match="exists already"):
        cal.Campaign.create(tmp_path / "b.campaign")


def test_what_is_no_campaign(campaign: cal.Campaign, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no database at all " * 100)
    (tmp_path / "empty").touch()
    sqlite3.connect(tmp_path / "other").execute("CREATE TABLE x(y)").connection.close()
    for name in ("text", "empty", "other"):
        with pytest.raises(cal.InputError, match=f"{name}: is not a campaign"):
            cal.Campaign.open(tmp_path / name)
    with pytest.raises(cal.InputError, match="no such file"):
        cal.Campaign.open(tmp_path / "missing")
    with pytest.raises(cal.InputError, match="is not a file"):
        cal.Campaign.open(tmp_path)
    campaign.close()
    data = bytearray(Path(campaign.path).read_bytes())
    data[60:64] = (FORMAT_VERSION + 1).to_bytes(4, "big")
    (tmp_path / "newer").write_bytes(data)
    with pytest.raises(cal.InputError, match="was made by a later version of Calipers"):
        cal.Campaign.open(tmp_path / "newer")
    data[60:64] = FORMAT_VERSION.to_bytes(4, "big")
    (tmp_path / "torn").write_bytes(data[:5000] + b"\xff" * (len(data) - 5000))
    with pytest.raises(cal.InputError, match="is damaged"):
        cal.Campaign.open(tmp_path / "torn").topics()


def test_a_name_with_signs_of_an_address(tmp_path: Path) -> None:
    path = tmp_path / "50%?#.campaign"
    cal.Campaign.create(path).close()
    with cal.Campaign.open(path, readonly=True) as campaign:
        assert campaign.info.name == "50%?#"


def test_for_reading_only(campaign: cal.Campaign) -> None:
    with cal.Campaign.open(campaign.path, readonly=True) as reading:
        with pytest.raises(cal.InputError, match="is open for reading only"):
            reading.add_topics([Topic("3")])
        with pytest.raises(cal.InputError, match="cannot be written: the file is protected"):
            reading.read("DELETE FROM topics")
        assert [topic.title for topic in reading.topics()] == ["first", "second"]


def test_another_writer_is_waited_for_and_told(
    campaign: cal.Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("calipers.campaign.storage.PRAGMAS", {"busy_timeout": 1, "synchronous": 0})
    with cal.Campaign.open(campaign.path) as other, campaign.write():
        with pytest.raises(cal.InputError, match="is being written to by another process"):
            other.add_topics([Topic("3")])
        assert len(other.topics()) == 2  # reading goes on


def test_a_transaction_is_all_or_nothing(campaign: cal.Campaign) -> None:
    with pytest.raises(cal.InputError, match="topic '1' exists already"):
        campaign.add_topics([Topic("3"), Topic("1")])

    def record() -> None:
        with campaign.write():
            campaign.record(grade("a", 1))
            campaign.record(grade("b", 77))

    with pytest.raises(cal.InputError, match="grade 77"):
        record()
    assert [topic.topic for topic in campaign.topics()] == ["1", "2"]
    assert campaign.events() == []


def test_threads_share_a_campaign(campaign: cal.Campaign) -> None:
    def work(name: str) -> None:
        for i in range(10):
            campaign.record(grade(f"{name}{i}", i % 4, f"d{i}", assessor=name))

    threads = [threading.Thread(target=work, args=(name,)) for name in ("ada", "bob")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(grades(campaign)) == sorted(
        (name, f"d{i}", i % 4) for name in ("ada", "bob") for i in range(10)
    )


# ------------------------------------------------------------------------------------------ events


def test_the_same_event_twice_is_recorded_once(campaign: cal.Campaign) -> None:
    first = campaign.record(grade("a", 2))
    assert first == RecordResult(1, new=True)
    assert campaign.record(grade("a", 2, seconds=3.0)) == RecordResult(1, new=False)
    with pytest.raises(cal.InputError, match="the id 'a' belongs to another event"):
        campaign.record(grade("a", 3))
    assert grades(campaign) == [("ada", "d", 2)]
    # Also once it no longer stands: an answer that was lost on the way is asked for again.
    campaign.record(grade("b", 0, replaces=1))
    assert campaign.record(grade("a", 2)) == RecordResult(1, new=False)
    assert grades(campaign) == [("ada", "d", 0)]


def test_what_replaces_something_stale_is_refused(campaign: cal.Campaign) -> None:
    campaign.record(grade("a", 2))
    with pytest.raises(EditConflict, match="the grade is 2 now") as caught:
        campaign.record(grade("b", 1))
    assert (caught.value.event, caught.value.grade) == (1, 2)
    campaign.record(grade("b", 1, replaces=1))
    with pytest.raises(EditConflict) as caught:
        campaign.record(grade("c", 3, replaces=1))
    assert (caught.value.event, caught.value.grade) == (2, 1)
    # Others, other documents and planted repeats are no concern of it.
    for name, of in (
        ("d", {"assessor": "bob"}),
        ("e", {"document": "x"}),
        ("f", {"is_repeat": True}),
    ):
        campaign.record(grade(name, 3, **of))  # type: ignore[arg-type]
    assert grades(campaign, is_repeat=False) == [("ada", "d", 1), ("bob", "d", 3), ("ada", "x", 3)]
    assert grades(campaign, is_repeat=True) == [("ada", "d", 3)]


def test_undo_goes_back_step_by_step(campaign: cal.Campaign) -> None:
    campaign.record(grade("a", 2))
    campaign.record(grade("b", 1, replaces=1))
    with pytest.raises(EditConflict, match="event 1 is no longer current") as caught:
        campaign.record(grade("u0", None, kind="undo", replaces=1))
    assert (caught.value.event, caught.value.grade) == (2, 1)
    campaign.record(grade("u1", None, kind="undo", replaces=2))
    assert grades(campaign) == [("ada", "d", 2)]
    with pytest.raises(EditConflict):
        campaign.record(grade("u2", None, kind="undo", replaces=2))
    campaign.record(grade("u3", None, kind="undo", replaces=1))
    assert grades(campaign) == []
    campaign.record(grade("c", 3))
    assert grades(campaign) == [("ada", "d", 3)]
    for replaces, told in (
        (None, "missing for an undo"),
        (6, "does not belong to this"),
        (3, "cannot be undone"),
    ):
        with pytest.raises(cal.InputError, match=told):
            campaign.record(
                grade(
                    "u4",
                    None,
                    kind="undo",
                    replaces=replaces,
                    document="d" if replaces != 6 else "x",
                )
            )
    with pytest.raises(cal.InputError, match="does not belong to this assessor"):
        campaign.record(grade("u5", None, kind="undo", replaces=5, assessor="bob"))
    assert len(campaign.events()) == 5


def test_preferences_are_of_pairs_either_way_round(campaign: cal.Campaign) -> None:
    campaign.record(grade("a", 1, "x", other_document="y", kind="preference"))
    with pytest.raises(EditConflict):
        campaign.record(grade("b", 1, "y", other_document="x", kind="preference"))
    campaign.record(grade("b", 1, "y", other_document="x", kind="preference", replaces=1))
    (found,) = campaign.preferences()
    assert (found.document, found.other_document, found.grade) == ("y", "x", 1)
    assert grades(campaign) == []
    campaign.record(grade("u", None, "y", kind="undo", replaces=2))
    assert [p.document for p in campaign.preferences("ada", topic="1", is_repeat=False)] == ["x"]
    with pytest.raises(cal.InputError, match="between two documents"):
        campaign.record(grade("c", 1, "x", other_document="x", kind="preference"))
    with pytest.raises(cal.InputError, match="grade 2, expected -1, 0, 1"):
        campaign.record(grade("c", 2, "x", other_document="z", kind="preference"))


def test_adjudicators_decide(campaign: cal.Campaign) -> None:
    campaign.record(grade("a", 1))
    campaign.record(grade("b", 2, kind="adjudication", assessor="eve"))
    assert grades(campaign) == [("ada", "d", 1)]
    assert [(j.document, j.grade) for j in campaign.adjudications()] == [("d", 2)]
    with pytest.raises(cal.InputError, match="'ada' is not an adjudicator"):
        campaign.record(grade("c", 2, kind="adjudication"))
    with pytest.raises(EditConflict):
        campaign.record(grade("d", 0, kind="adjudication", assessor="eve"))


def test_events_are_never_changed(campaign: cal.Campaign) -> None:
    campaign.record(grade("a", 1))
    for sql in ("UPDATE events SET grade = 3", "DELETE FROM events"):
        with pytest.raises(sqlite3.IntegrityError, match="an event is never"):
            campaign.read(sql)
    assert grades(campaign) == [("ada", "d", 1)]


BAD = {
    "no id": ({"id": ""}, "id '', expected a name"),
    "no document": ({"document": " "}, "document ' ', expected a name"),
    "half a character": ({"document": "\ud800"}, "contains an invalid character"),
    "a line break": ({"document": "a\nb"}, "contains a line break"),
    "a line break of Unicode": ({"assessor": "a\u2028b"}, "contains a line break"),
    "a NUL": ({"document": "a\0b"}, "contains an invalid character"),
    "long": ({"document": "d" * 1001}, "has more than 1000 characters"),
    "an unknown kind": ({"kind": "guess"}, "kind 'guess', expected one of grade"),
    "an unknown grade": ({"grade": 4}, "grade 4, expected 0, 1, 2, 3"),
    "no grade": ({"grade": None}, "grade None, expected 0, 1, 2, 3"),
    "a grade of a note": ({"kind": "note"}, "grade 1, expected none"),
    "a stranger": ({"assessor": "mallory"}, "assessor 'mallory' is not of this campaign"),
    "an unknown topic": ({"topic": "7"}, "topic '7' is not of this campaign"),
    "two documents": ({"other_document": "x"}, "has no other document"),
    "time backwards": ({"seconds": -1.0}, "seconds -1.0, expected a number from 0"),
    "no time": ({"seconds": float("nan")}, "seconds nan, expected a number from 0"),
    "a place beyond all": ({"display_position": 2**70}, "is not the number of an event or a position"),
    "a note of a book": ({"note": "x" * 100_001}, "the note has more than 100000 characters"),
    "a broken note": ({"note": "\udfff"}, "the note contains an invalid character"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_what_is_no_event(case: str, campaign: cal.Campaign) -> None:
    wrong, told = BAD[case]
    with pytest.raises(cal.InputError) as caught:
        campaign.record(
            Event(
                **{"id": "a", "assessor": "ada", "topic": "1", "document": "d", "grade": 1, **wrong}
            )
        )  # type: ignore[arg-type]
    assert told in str(caught.value)
    assert campaign.events() == []


# ---------------------------------------------------------------------------------- what is in there


def test_what_goes_in_comes_out(campaign: cal.Campaign) -> None:
    assert campaign.add_run("b", {"1": {"x": 1.0, "y": 2.5, "z": 2.5}}, "q") == StoredRun(
        "b", "q", {"1": {"z": 2.5, "y": 2.5, "x": 1.0}}
    )
    campaign.add_run("a", {"2": {"é": 1e-30}}, "p")
    assert list(campaign.runs()) == ["a", "b"]
    assert campaign.runs()["b"].ranking("1") == ["z", "y", "x"]
    assert campaign.runs()["b"].ranking("2") == []
    assert campaign.runs()["a"].scores == {"2": {"é": 1e-30}}
    assert campaign.participants == ["p", "q"]
    with pytest.raises(cal.InputError, match="run 'a' exists already"):
        campaign.add_run("a", {"2": {"x": 1.0}}, "p")
    with pytest.raises(cal.InputError, match="an id in rank order line 2 is not UTF-8"):
        campaign.add_run("c", {"topic": ["1", "1"], "doc": [b"a", b"\xff"], "score": [2, 1]}, "p")

    topic = Topic("3", "t", "d", "n", "k", "CAS", "new", {"te": ["a"]}, "<x/>")
    campaign.add_topics([topic])
    assert campaign.topics()[2] == topic
    assert campaign.participants == ["new", "p", "q"]

    assert campaign.add_documents([Document("x", b"text", title="X"), Document("y", b"")]) == 2
    assert campaign.document("x") == Document("x", b"text", "text/plain", "X")
    assert campaign.document("nope") is None
    assert campaign.documents() == ["x", "y"]
    assert campaign.add_documents([Document("x", b"text", title="X")]) == 0
    with pytest.raises(cal.InputError, match="'x' exists already with different content"):
        campaign.add_documents([Document("x", b"other")])
    campaign.add_documents([Document("x", b"other")], replace=True)
    assert campaign.document("x").text == "other"  # type: ignore[union-attr]
    with pytest.raises(cal.InputError, match="'image/svg\\+xml' cannot be displayed"):
        campaign.add_documents([Document("z", b"<svg/>", "image/svg+xml")])

    assessor = Assessor("gpt", "p", "program", details={"model": "m"})
    campaign.add_assessor(assessor, topics=["2", "1"])
    assert campaign.assessors()["gpt"] == assessor
    assert campaign.assignments() == {"gpt": ["1", "2"]}
    with pytest.raises(cal.InputError, match="topic '9' is not of this campaign"):
        campaign.add_assessor(Assessor("b"), topics=["9"])
    assert "b" not in campaign.assessors()


def test_goals_and_grades(tmp_path: Path) -> None:
    with cal.Campaign.create(
        tmp_path / "x.campaign", goal="TOP 5", grades={1: "yes", 0: "no"}
    ) as campaign:
        assert campaign.info.goal == "top-5"
        assert campaign.info.grades == {0: "no", 1: "yes"}
    for goal in ("top-0", "best", ""):
        with pytest.raises(cal.InputError, match="expected top-K"):
            parse_goal(goal)
    for wrong in ({0: "no"}, {0: "no", 1: ""}, {0: "no", True: "yes"}, {"0": "no", "1": "yes"}):
        with pytest.raises(cal.InputError, match="grade"):
            cal.Campaign.create(tmp_path / "y.campaign", grades=wrong)  # type: ignore[arg-type]
    assert not (tmp_path / "y.campaign").exists()


# -------------------------------------------------------------------------------------- durability

#: Records events until it is killed, and says each once it is recorded; told with a first number.
WRITER = """
import sys
import calipers as cal
from calipers.campaign.records import Event
with cal.Campaign.open(sys.argv[1]) as campaign:
    for i in range(int(sys.argv[2]), int(sys.argv[3])):
        for _ in range(2):  # the second time it is known
            campaign.record(Event(f"e{i}", "ada", "1", f"d{i}", grade=i % 4))
        print(i, flush=True)
"""


def test_a_killed_process_loses_nothing_that_it_has_acknowledged(campaign: cal.Campaign) -> None:
    acknowledged: list[int] = []
    for stop in (3, 11, 20):
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, campaign.path, str(len(acknowledged)), "100000"],
            stdout=subprocess.PIPE, text=True,
        ) as process:  # fmt: skip
            assert process.stdout is not None
            for line in process.stdout:
                acknowledged.append(int(line))
                if len(acknowledged) == stop:
                    process.send_signal(signal.SIGKILL)  # amid the next one
            acknowledged = list(map(int, acknowledged))
        recorded = [event.id for event in campaign.events()]
        assert len(recorded) == len(set(recorded))
        assert set(recorded) >= {f"e{i}" for i in acknowledged}
        assert len(recorded) <= len(acknowledged) + 1
        assert campaign.read("PRAGMA integrity_check") == [("ok",)]
        acknowledged = [int(name[1:]) for name in recorded]


#: Is killed in the middle of a transaction that is too large for SQLite to hold in memory.
TORN = """
import os, signal, sys
import calipers as cal
with cal.Campaign.open(sys.argv[1]) as campaign, campaign.write() as connection:
    connection.execute("PRAGMA cache_size = 1")
    for i in range(3000):
        connection.execute("INSERT INTO participants VALUES (?)", (f"{i:0100}",))
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_process_began_is_taken_back(campaign: cal.Campaign) -> None:
    campaign.close()
    subprocess.run([sys.executable, "-c", TORN, campaign.path], check=False)
    assert Path(f"{campaign.path}-journal").stat().st_size > 0
    # By who only reads, too, which SQLite alone refuses.
    with cal.Campaign.open(campaign.path, readonly=True) as reading:
        assert reading.participants == ["p"]
        assert reading.read("PRAGMA integrity_check") == [("ok",)]


def test_each_event_waits_for_the_disk(
    durable: None, campaign: cal.Campaign, tmp_path: Path
) -> None:
    # That nothing is lost when the power goes cannot be tried; that the disk is waited for can.
    assert campaign.read("PRAGMA synchronous") == [(3,)]
    if shutil.which("strace") is None:
        return
    log = tmp_path / "strace"
    done = subprocess.run(
        ["strace", "-f", "-e", "trace=fdatasync,fsync", "-o", log, sys.executable, "-c", WRITER,
         campaign.path, "0", "10"],
        capture_output=True, check=False, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip
    if done.returncode == 0:  # else it may not trace here
        # Of each event the journal, the file, and the folder that has lost the journal.
        assert log.read_text().count("sync(") >= 3 * 10
