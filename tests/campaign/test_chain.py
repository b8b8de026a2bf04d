"""The chain of events, backups, and files that were damaged or changed by other tools."""

from __future__ import annotations

import json
import random
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from hashlib import sha256
from pathlib import Path

import pytest
from click.testing import CliRunner

import calipers as cal
from calipers.campaign import export
from calipers.campaign.audit_log import audit_log
from calipers.campaign.records import Event
from calipers.campaign.status import campaign_status
from calipers.campaign.storage import TABLES_SQL
from calipers.cli import cli


@pytest.fixture
def judged(campaign: cal.Campaign) -> cal.Campaign:
    """Six events of several kinds."""
    events = [
        Event("e1", "ada", "1", "d1", grade=2, seconds=3, display_position=1),
        Event("e2", "bob", "1", "d1", grade=0, seconds=0.1, note='naïve ‘quote’ "\\'),
        Event("e3", "ada", "1", "d2", "preference", grade=-1, other_document="d3"),
        Event("e4", "ada", "2", "d4", grade=1, is_repeat=True),
        Event("e5", "ada", "1", "d1", "undo", replaces=1),
        Event("e6", "eve", "1", "d1", "adjudication", grade=3),
    ]
    for event in events:
        campaign.record(event)
    return campaign


def test_each_digest_includes_the_one_before(judged: cal.Campaign) -> None:
    """As docs say: the SHA-256 of a JSON array of the digest before and all columns."""
    previous = ""
    for *values, digest in judged.read("SELECT * FROM events ORDER BY event"):
        text = json.dumps([previous, *values], ensure_ascii=False, separators=(",", ":"))
        assert digest == sha256(text.encode()).hexdigest()
        previous = digest
    assert judged.chain_head() == (6, previous)
    assert [entry.digest for entry in audit_log(judged)][-1] == previous
    assert campaign_status(judged).chain == previous


def test_the_head_is_printed_and_a_new_campaign_has_none(
    judged: cal.Campaign, tmp_path: Path
) -> None:
    judged.close()
    head = sqlite3.connect(judged.path).execute("SELECT digest FROM events WHERE event = 6")
    line = f"6 events, head of their chain: {head.fetchone()[0]}"
    done = CliRunner().invoke(cli, ["campaign", "status", judged.path])
    assert line in done.stdout
    qrels = str(tmp_path / "q")
    done = CliRunner().invoke(cli, ["campaign", "export", judged.path, "--qrels", qrels])
    assert line in done.output
    with cal.Campaign.create(tmp_path / "new") as new:
        assert new.chain_head() == (0, "")


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE events SET grade = 0 WHERE event = 1",
        "DELETE FROM events WHERE event = 1",
        "REPLACE INTO events SELECT * FROM events WHERE event = 1",
        "INSERT OR REPLACE INTO events SELECT 9, id, time, assessor, topic, document, other, kind, "
        "3, note, seconds, shown, again, replaces, digest FROM events WHERE event = 1",
    ],
)
def test_triggers_refuse_to_touch_an_event(judged: cal.Campaign, sql: str) -> None:
    """Whatever opens the file."""
    judged.close()
    with (
        closing(sqlite3.connect(judged.path)) as file,
        pytest.raises(sqlite3.IntegrityError, match="an event is never"),
    ):
        file.execute(sql)
    with cal.Campaign.open(judged.path) as campaign:
        assert len(campaign.events()) == 6


TRIGGERS = re.findall(r"CREATE TRIGGER.*?END;", TABLES_SQL, re.DOTALL)


def tamper(path: str, sql: str, *, restore: bool = True) -> None:
    """Changes a file without its triggers, which are there again afterwards."""
    with closing(sqlite3.connect(path)) as file:
        for trigger in TRIGGERS:
            file.execute(f"DROP TRIGGER {trigger.split()[2]}")
        file.executescript(f"{sql}; {' '.join(TRIGGERS) if restore else ''}")


@pytest.mark.parametrize(
    ("sql", "event"),
    [
        ("UPDATE events SET grade = 3 WHERE event = 1", 1),
        ("UPDATE events SET note = note || ' ' WHERE event = 2", 2),
        ("UPDATE events SET assessor = 'bob' WHERE event = 4", 4),
        ("UPDATE events SET seconds = seconds + 1e-12 WHERE event = 2", 2),
        ("UPDATE events SET time = '2020-01-01' WHERE event = 6", 6),
        ("UPDATE events SET digest = '' WHERE event = 3", 3),
        ("DELETE FROM events WHERE event = 3", 4),
        ("UPDATE events SET event = 9 WHERE event = 3", 4),
        ("INSERT INTO events SELECT 7, 'e7', time, assessor, topic, document, other, kind, 3, "
         "note, seconds, shown, again, replaces, digest FROM events WHERE event = 2", 7),
    ],
)  # fmt: skip
def test_a_changed_event_is_evident(judged: cal.Campaign, sql: str, event: int) -> None:
    judged.close()
    tamper(judged.path, sql)
    message = f"event {event} does not fit the events before it"
    for readonly in (False, True):
        with pytest.raises(cal.InputError, match=message):
            cal.Campaign.open(judged.path, readonly=readonly)
    done = CliRunner().invoke(cli, ["campaign", "check", judged.path])
    assert isinstance(done.exception, cal.InputError)


def test_without_the_last_event_the_head_is_another(judged: cal.Campaign) -> None:
    """The file is sound; who knows the head sees that it is not the same."""
    published = judged.chain_head()
    judged.close()
    tamper(judged.path, "DELETE FROM events WHERE event = 6")
    with cal.Campaign.open(judged.path) as campaign:
        assert published is not None
        assert campaign.chain_head() == (5, campaign.event_digests()[5]) != published
        campaign.record(Event("e6", "eve", "1", "d1", "adjudication", grade=0))
        assert campaign.chain_head() != published


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("DROP TRIGGER events_are_not_changed", "the trigger events_are_not_changed is missing"),
        ("DROP TABLE strata", "the table strata is missing"),
        ("DROP VIEW grades; CREATE VIEW grades AS SELECT * FROM events",
         "the view grades was changed"),
        ("ALTER TABLE runs ADD COLUMN more", "the table runs was changed"),
        ("CREATE TRIGGER own AFTER INSERT ON events BEGIN DELETE FROM runs; END",
         "the trigger own is not of a campaign"),
        ("PRAGMA user_version = 0", "its format is 0"),
        ("PRAGMA user_version = 99", "later version"),
        ("PRAGMA user_version = 2", "the table events was changed"),
        ("UPDATE about SET value = '{\"0\": ' WHERE key = 'grades'",
         "the description of the campaign cannot be read"),
        ("DELETE FROM about WHERE key = 'name'", "the description of the campaign cannot be read"),
        ("UPDATE topics SET details = '[]' WHERE topic = '2'", "topic '2' cannot be read"),
        ("UPDATE assessors SET details = '' WHERE assessor = 'bob'",
         "assessor 'bob' cannot be read"),
        ("INSERT INTO runs VALUES ('r', 'p', 'x', '', '')", "run 'r' cannot be read"),
        ("UPDATE topics SET title = CAST(x'ff' AS TEXT)", "text in it is not UTF-8"),
    ],
)  # fmt: skip
def test_damaged_files_are_refused(judged: cal.Campaign, sql: str, told: str) -> None:
    judged.close()
    with closing(sqlite3.connect(judged.path)) as file:
        file.executescript(sql)
    with pytest.raises(cal.InputError, match=re.escape(told)) as caught:
        read_all(judged.path)
    assert str(caught.value).startswith(judged.path)


def read_all(path: str) -> None:
    """What the commands read."""
    with cal.Campaign.open(path, readonly=True) as campaign:
        campaign_status(campaign)
        audit_log(campaign)
        campaign.topics(), campaign.runs(), campaign.strata(), campaign.preferences()
        export.export_tables(campaign, "csv")


def test_a_file_in_wal_mode(judged: cal.Campaign) -> None:
    """As after a look with another tool: it is set back, or refused while the tool has it open."""
    judged.close()
    with closing(sqlite3.connect(judged.path)) as file:
        assert file.execute("PRAGMA journal_mode = wal").fetchone() == ("wal",)
    for readonly in (True, False):
        with cal.Campaign.open(judged.path, readonly=readonly) as campaign:
            assert campaign.read("PRAGMA journal_mode") == [("delete",)]
        with closing(sqlite3.connect(judged.path)) as file:
            file.execute("PRAGMA journal_mode = wal")
    with closing(sqlite3.connect(judged.path)) as file:
        file.execute("SELECT * FROM about").fetchone()
        with pytest.raises(cal.InputError, match="is in the WAL mode of SQLite"):
            cal.Campaign.open(judged.path, readonly=True)


def flip(data: bytes, place: int, source: random.Random) -> bytes:
    changed = bytearray(data)
    changed[place] = source.randrange(256)
    return bytes(changed)


def cut(data: bytes, place: int, source: random.Random) -> bytes:
    return data[:place]


def blank(data: bytes, place: int, source: random.Random) -> bytes:
    return data[:place] + b"\0" * 512 + data[place + 512 :]


@pytest.mark.slow
@pytest.mark.parametrize("damage", [flip, cut, blank])
def test_damage_anywhere_is_an_error_or_harmless(
    judged: cal.Campaign, damage: Callable[[bytes, int, random.Random], bytes]
) -> None:
    """No other error than that of an input."""
    judged.close()
    data, source = Path(judged.path).read_bytes(), random.Random(1)
    for _ in range(200):
        Path(judged.path).write_bytes(damage(data, source.randrange(len(data)), source))
        with suppress(cal.InputError):
            read_all(judged.path)


# ------------------------------------------------------------------------------------------ backups


def test_a_backup_is_the_campaign(judged: cal.Campaign, tmp_path: Path) -> None:
    target = tmp_path / "copy.campaign"
    assert judged.backup(target) == str(target)
    with cal.Campaign.open(target) as copy:
        assert copy.chain_head() == judged.chain_head()
        assert copy.events() == judged.events()
        copy.record(Event("e7", "ada", "1", "d9", grade=1))
    with pytest.raises(cal.InputError, match="exists already, and is not overwritten"):
        judged.backup(target)
    with pytest.raises(cal.InputError, match="does not exist"):
        judged.backup(tmp_path / "no" / "copy")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.campaign", "copy.campaign"]


#: Records an event after the other, in transactions of its own.
WRITER = """
import sys
import calipers as cal
from calipers.campaign import storage
from calipers.campaign.records import Event
storage.PRAGMAS = {**storage.PRAGMAS, "synchronous": 0}
with cal.Campaign.open(sys.argv[1]) as campaign:
    for i in range(100_000):
        campaign.record(Event(f"w{i}", "ada", "1", f"d{i}", grade=1, note="x" * 2000))
        print(i, flush=True)
"""


@pytest.mark.slow
def test_backups_of_a_campaign_that_is_written_to_are_sound(
    campaign: cal.Campaign, tmp_path: Path
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, campaign.path], stdout=subprocess.PIPE, text=True
    ) as writer:
        assert writer.stdout is not None
        try:
            for number in range(10):
                acknowledged = [int(writer.stdout.readline()) for _ in range(20)][-1]
                target = str(tmp_path / f"{number}.campaign")
                done = CliRunner().invoke(cli, ["campaign", "backup", campaign.path, target])
                assert done.exit_code == 0, done.output
                with cal.Campaign.open(target, readonly=True) as copy:
                    assert copy.read("PRAGMA integrity_check") == [("ok",)]
                    assert len(copy.events()) > acknowledged
        finally:
            writer.kill()


def test_a_replacement_makes_a_backup(campaign: cal.Campaign, tmp_path: Path) -> None:
    (tmp_path / "r.run").write_text("1 Q0 d1 1 2.0 r\n2 Q0 d2 1 1.0 r\n")
    campaign.close()
    path = shutil.move(campaign.path, tmp_path / "c")
    runner = CliRunner()

    def run(*words: str) -> str:
        done = runner.invoke(cli, ["campaign", words[0], str(path), *words[1:]])
        assert done.exit_code == 0, done.output
        return done.output

    run("runs", str(tmp_path / "r.run"), "--participant", "p")
    assert "backup" not in run("pool", "--replace")  # nothing is replaced
    assert "the campaign before this replacement" in run("pool", "--depth", "1", "--replace")
    [backup] = tmp_path.glob("c.*.backup")
    with cal.Campaign.open(backup) as copy:
        assert len(copy.pool()) == 2
    backup.unlink()
    run("assign")
    assert "backup" not in run("assign", "--replace", "--dry-run")
    assert "the campaign before this replacement" in run("assign", "--replace")
    assert len(list(tmp_path.glob("c.*.backup"))) == 1
