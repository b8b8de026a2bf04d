"""File of a campaign: an SQLite database, created atomically, opened safely, written durably.

Triggers refuse to change, replace or delete an event, and events are chained by digests, so that a
change by somebody without the triggers shows. The views have the current values: the last grade of
each assessor and document that is not undone, and likewise for preferences and adjudications.
"""

from __future__ import annotations

import os
import re
import sqlite3
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import datetime, timezone
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

from calipers.campaign import chain
from calipers.campaign.chain import ChainHead
from calipers.data.errors import InputError

if TYPE_CHECKING:
    from typing_extensions import Self


_Decoded = TypeVar("_Decoded")

#: Application id that distinguishes a campaign from other databases: "CALP".
APPLICATION_ID = 0x43414C50

#: Version of the file format. Files of all versions up to this one are opened as they are. 2:
#: ``about`` may name measures, pools may have all retrieved documents, and documents may be XML. 3:
#: events have digests.
FORMAT_VERSION = 3

#: Key of the secret of a campaign in the table ``about``, which is not exported.
SECRET_KEY = "secret"

#: First version in which events have digests.
CHAIN_VERSION = 3

KINDS = ("grade", "preference", "skip", "note", "undo", "adjudication", "import")

TABLES_SQL = f"""
CREATE TABLE about(key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE participants(participant TEXT PRIMARY KEY);
CREATE TABLE topics(
    topic TEXT PRIMARY KEY, position INTEGER NOT NULL,
    author TEXT REFERENCES participants, title TEXT NOT NULL, description TEXT NOT NULL,
    narrative TEXT NOT NULL, keywords TEXT NOT NULL,
    kind TEXT CHECK (kind IN ('CO', 'CAS')), details TEXT NOT NULL, source TEXT NOT NULL);
CREATE TABLE runs(
    run TEXT PRIMARY KEY, participant TEXT NOT NULL REFERENCES participants,
    content BLOB NOT NULL, digest TEXT NOT NULL, added TEXT NOT NULL);
CREATE TABLE documents(
    document TEXT PRIMARY KEY, media TEXT NOT NULL, title TEXT NOT NULL, body BLOB NOT NULL);
CREATE TABLE pools(pool INTEGER PRIMARY KEY, made TEXT NOT NULL, settings TEXT NOT NULL);
CREATE TABLE pooled(
    topic TEXT NOT NULL REFERENCES topics, document TEXT NOT NULL,
    pool INTEGER NOT NULL REFERENCES pools, position INTEGER NOT NULL, priority REAL,
    stratum TEXT, sampled INTEGER NOT NULL DEFAULT 1 CHECK (sampled IN (0, 1)),
    PRIMARY KEY (topic, document));
CREATE TABLE strata(
    topic TEXT NOT NULL REFERENCES topics, stratum TEXT NOT NULL, size INTEGER NOT NULL,
    sampled INTEGER NOT NULL, PRIMARY KEY (topic, stratum));
CREATE TABLE assessors(
    assessor TEXT PRIMARY KEY, participant TEXT REFERENCES participants,
    kind TEXT NOT NULL CHECK (kind IN ('person', 'program')),
    role TEXT NOT NULL CHECK (role IN ('assessor', 'adjudicator')),
    token_hash TEXT UNIQUE, details TEXT NOT NULL);
CREATE TABLE assignments(
    assessor TEXT NOT NULL REFERENCES assessors, topic TEXT NOT NULL REFERENCES topics,
    PRIMARY KEY (assessor, topic));
CREATE TABLE events(
    event INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, time TEXT NOT NULL,
    assessor TEXT NOT NULL REFERENCES assessors, topic TEXT NOT NULL REFERENCES topics,
    document TEXT NOT NULL, other TEXT,
    kind TEXT NOT NULL CHECK (kind IN {KINDS}),
    grade INTEGER, note TEXT, seconds REAL, shown INTEGER,
    again INTEGER NOT NULL DEFAULT 0 CHECK (again IN (0, 1)),
    replaces INTEGER REFERENCES events, digest TEXT NOT NULL);
CREATE INDEX events_of_documents ON events(topic, document, assessor);
CREATE INDEX events_undone ON events(replaces) WHERE kind = 'undo';
CREATE TRIGGER events_are_not_changed BEFORE UPDATE ON events
    BEGIN SELECT RAISE(ABORT, 'an event is never changed'); END;
CREATE TRIGGER events_are_not_deleted BEFORE DELETE ON events
    BEGIN SELECT RAISE(ABORT, 'an event is never deleted'); END;
CREATE TRIGGER events_are_not_replaced BEFORE INSERT ON events
    WHEN EXISTS (SELECT 1 FROM events WHERE event = NEW.event OR id = NEW.id)
    BEGIN SELECT RAISE(ABORT, 'an event is never replaced'); END;
CREATE VIEW standing AS
    SELECT * FROM events AS e WHERE kind <> 'undo' AND NOT EXISTS
        (SELECT 1 FROM events AS u WHERE u.kind = 'undo' AND u.replaces = e.event);
"""

# Of a group with max(), SQLite takes the other columns from the row that has it.
_CURRENT_SQL = """SELECT max(event) AS event, id, time, assessor, topic, document, other, kind,
    grade, note, seconds, shown, again, replaces FROM standing"""

VIEWS_SQL = f"""
CREATE VIEW grades AS {_CURRENT_SQL}
    WHERE kind IN ('grade', 'import') AND other IS NULL
    GROUP BY assessor, topic, document, again;
CREATE VIEW preferences AS {_CURRENT_SQL}
    WHERE kind IN ('preference', 'import') AND other IS NOT NULL
    GROUP BY assessor, topic, min(document, other), max(document, other), again;
CREATE VIEW adjudications AS {_CURRENT_SQL}
    WHERE kind = 'adjudication' GROUP BY topic, document;
"""


#: Columns of events that are not called as the fields of ``records.LoggedEvent``.
_COLUMNS = {"other_document": "other", "display_position": "shown", "is_repeat": "again"}


def column_name(field: str) -> str:
    """Return the column of a field of events."""
    return _COLUMNS.get(field, field)


def list_columns(names: Iterable[str]) -> str:
    """Return the columns of fields of events, as a query lists them.

    >>> list_columns(["document", "is_repeat"])
    'document, again'
    """
    return ", ".join(map(column_name, names))


#: Pragmas of every connection, which are checked after they are set. A rollback journal is safe
#: with every version of SQLite and with several processes; EXTRA also syncs the folder.
PRAGMAS: Mapping[str, object] = {
    "journal_mode": "delete",
    "synchronous": 3,
    "foreign_keys": 1,
    "busy_timeout": 10_000,
}

#: Messages of SQLite about problems outside of the program and the data, and what to report.
_MESSAGE_BY_ERROR = {
    "locked": "is being written to by another process; try again",
    "is full": "cannot be written: the disk is full",
    "disk I/O error": "cannot be read or written: the disk reports an error",
    "readonly": "cannot be written: the file is protected",
    "unable to open": "cannot be opened",
    "not a database": "is not a campaign",
    "malformed": "is damaged: SQLite cannot read it",
    "decode to UTF-8": "is damaged: text in it is not UTF-8",
}


class CampaignFile:
    """Open file with one connection, which threads use one after the other."""

    def __init__(self, path: str, connection: sqlite3.Connection, *, readonly: bool) -> None:
        self.path: str = path
        self.readonly: bool = readonly
        self._connection, self._lock = connection, threading.RLock()
        self._readers = list[CampaignFile]()

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, readonly: bool = False) -> Self:
        """Open the campaign in a file.

        Parameters
        ----------
        path : path
            File of the campaign.
        readonly : bool, default=False
            Whether to open the file for reading only, so that it cannot be changed.

        Returns
        -------
        Campaign
            Open campaign, which is also a context manager that closes it.

        Raises
        ------
        InputError
            If the file is not a campaign, is one of a later version, or is damaged: its pages, its
            tables and triggers, and the chain of its events are checked.
        """
        file_path = Path(path)
        if not file_path.is_file():
            raise InputError(
                f"{file_path}: {'is not a file' if file_path.exists() else 'no such file'}"
            )
        with _translate_errors(str(file_path)):
            has_journal = file_path.with_name(f"{file_path.name}-journal").exists()
            if readonly and (has_journal or _is_wal(file_path)):
                # Roll back the transaction of a killed process, or end the mode that another
                # program has set, which needs write access.
                with suppress(sqlite3.OperationalError), closing(_connect(file_path)) as connection:
                    connection.execute("PRAGMA journal_mode = delete").fetchone()
            if readonly and _is_wal(file_path):
                raise InputError(
                    f"{file_path}: is in the WAL mode of SQLite, which another program has set; "
                    "close that program"
                )
            connection = _connect(file_path, readonly=readonly)
            try:
                _check_campaign(str(file_path), connection)
                _set_durability(str(file_path), connection)
            except BaseException:
                connection.close()
                raise
        return cls(str(file_path), connection, readonly=readonly)

    def reopen(self) -> Self:
        """Open the same file again for reading, without another check.

        Returns
        -------
        Campaign
            Campaign with a connection of its own, so that reading does not wait for writing. It is
            closed with this one.
        """
        with self._lock, _translate_errors(self.path):
            # (Not read-only: the transaction of a killed process has to be rolled back.)
            connection = _connect(Path(self.path))
            connection.execute("PRAGMA query_only = 1")
            connection.execute(f"PRAGMA busy_timeout = {PRAGMAS['busy_timeout']}")
            reader = type(self)(self.path, connection, readonly=True)
            self._readers.append(reader)
        return reader

    def backup(self, target: str | os.PathLike[str] | None = None) -> str:
        """Copy the campaign to a new file, also while assessors judge.

        A copy by other means may begin before a judgment and end after it, and is damaged then.

        Parameters
        ----------
        target : path, optional
            New file. By default next to the campaign, with the time in its name.

        Returns
        -------
        str
            Path of the copy, which has been checked.

        Raises
        ------
        InputError
            If the new file exists, or cannot be written.
        """
        if target is None:
            target = f"{self.path}.{datetime.now(timezone.utc):%Y%m%dT%H%M%SZ}.backup"
        with _create_exclusively(Path(target)) as (path, connection):
            with self._lock, _translate_errors(self.path):
                self._connection.backup(connection)
            _check_campaign(str(path), connection)
        return str(target)

    def chain_head(self) -> ChainHead | None:
        """Return the head of the chain of events, which was checked when the file was opened.

        Returns
        -------
        ChainHead or None
            Number of events, and the digest of the last one. None if the file is older than chains.
        """
        if not has_chain(self._connection):
            return None
        last = "(SELECT digest FROM events ORDER BY event DESC LIMIT 1)"
        [(n_events, digest)] = self.read(f"SELECT count(*), coalesce({last}, '') FROM events")
        return ChainHead(n_events, digest)

    def event_digests(self) -> dict[int, str]:
        """Return the digests of the chain by event; none if the file is older than chains.

        Returns
        -------
        dict of int to str
            Digests in hexadecimal digits.
        """
        return (
            dict(self.read("SELECT event, digest FROM events"))
            if has_chain(self._connection)
            else {}
        )

    def close(self) -> None:
        """Close the file."""
        for reader in self._readers:
            reader.close()
        with self._lock:
            self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def read(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return all rows of a query.

        Parameters
        ----------
        sql : str
            SQL query.
        parameters : sequence, default=()
            Values of its parameters.

        Returns
        -------
        list of tuple
            Rows.
        """
        with self._lock, _translate_errors(self.path):
            return self._connection.execute(sql, parameters).fetchall()

    def decode(self, name: str, function: Callable[[Any], _Decoded], value: Any) -> _Decoded:
        """Decode a stored value, where a byte may have been changed.

        Parameters
        ----------
        name : str
            What the value is, for the message.
        function : callable
            Function that decodes it.
        value : object
            Value as it is stored.

        Returns
        -------
        object
            What the function returns.

        Raises
        ------
        InputError
            If it cannot be decoded.
        """
        try:
            return function(value)
        except (ValueError, TypeError, KeyError, AttributeError, zlib.error):
            raise InputError(
                f"{self.path}: is damaged: {name} cannot be read; use a backup"
            ) from None

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """Open a transaction: on disk when the block ends, or rolled back if an error is raised.

        Within another transaction it is part of that one.
        """
        with self._lock, _translate_errors(self.path):
            if self.readonly:
                raise InputError(f"{self.path}: is open for reading only")
            if self._connection.in_transaction:
                yield self._connection
                return
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.OperationalError):  # SQLite itself may have rolled back
                    self._connection.execute("ROLLBACK")
                raise


def create_file(path: Path, metadata: Mapping[str, str]) -> None:
    """Create a new file with nothing but its metadata; an existing file is not overwritten."""
    with _create_exclusively(path) as (_, connection):
        connection.executescript(f"BEGIN; {TABLES_SQL} {VIEWS_SQL}")
        connection.executemany("INSERT INTO about VALUES (?, ?)", metadata.items())
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {FORMAT_VERSION}")
        connection.execute("COMMIT")


@contextmanager
def _create_exclusively(path: Path) -> Iterator[tuple[Path, sqlite3.Connection]]:
    """Yield the path of a new database and a connection; it is renamed when all is written."""
    if path.exists() or path.is_symlink():
        raise InputError(f"{path}: exists already, and is not overwritten")
    if not path.parent.is_dir():
        raise InputError(f"{path}: the folder {path.parent} does not exist")
    temporary = path.parent / f".{path.name[:40]}.{os.urandom(8).hex()}.part"
    try:
        with _translate_errors(str(path)), closing(_connect(temporary, create=True)) as connection:
            _set_durability(str(path), connection)
            yield path, connection
        _rename_exclusively(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _rename_exclusively(source: Path, target: Path) -> None:
    """Rename a file, unless the new name exists."""
    try:
        target.hardlink_to(source)
    except FileExistsError:
        raise InputError(f"{target}: exists already, and is not overwritten") from None
    except OSError:  # a file system without links: the name is taken first
        try:
            target.touch(exist_ok=False)
        except FileExistsError:
            raise InputError(f"{target}: exists already, and is not overwritten") from None
        source.replace(target)
    if os.name == "posix":
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _connect(path: Path, *, readonly: bool = False, create: bool = False) -> sqlite3.Connection:
    mode = "ro" if readonly else "rwc" if create else "rw"
    address = f"file:{quote(str(path.absolute()))}?mode={mode}"
    return sqlite3.connect(address, uri=True, isolation_level=None, check_same_thread=False)


def _is_wal(path: Path) -> bool:
    """Return whether a database is in WAL mode, by its header."""
    with path.open("rb") as file:
        return file.read(20)[18:] == b"\2\2"


def _check_campaign(path: str, connection: sqlite3.Connection) -> None:
    """Check that the file is a campaign of a supported version, and undamaged."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION_ID:
        raise InputError(f"{path}: is not a campaign")
    if version > FORMAT_VERSION:
        raise InputError(
            f"{path}: was made by a later version of Calipers (its format is {version}, the latest "
            f"known here {FORMAT_VERSION})"
        )
    if version < 1:
        raise InputError(f"{path}: is damaged: its format is {version}, expected 1 or more")
    if (problem := connection.execute("PRAGMA integrity_check(1)").fetchone()[0]) != "ok":
        raise InputError(f"{path}: is damaged: {' '.join(problem.split())}; use a backup")
    expected, objects = _schema(version), _read_schema(connection)
    for key in expected:
        if objects.get(key) != expected[key]:
            state = "was changed" if key in objects else "is missing"
            raise InputError(f"{path}: is damaged: the {' '.join(key)} {state}; use a backup")
    for kind, name in objects:
        if kind == "trigger" and (kind, name) not in expected:
            raise InputError(f"{path}: was changed: the trigger {name} is not of a campaign")
    _check_chain(path, connection)


def _check_chain(path: str, connection: sqlite3.Connection) -> None:
    """Check that each event fits those before it, if the file has a chain."""
    if not has_chain(connection):
        return
    columns = ", ".join(chain.COLUMNS)
    event = chain.find_break(
        connection.execute(f"SELECT {columns}, digest FROM events ORDER BY event")
    )
    if event is not None:
        raise InputError(
            f"{path}: event {event} does not fit the events before it: it was changed, or one "
            "before it is missing; use a backup"
        )


def has_chain(connection: sqlite3.Connection) -> bool:
    """Return whether events of the file have digests."""
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return version >= CHAIN_VERSION


def _read_schema(connection: sqlite3.Connection) -> dict[tuple[str, str], str]:
    """Return the SQL of tables, indexes, triggers and views, by kind and name."""
    return {
        (kind, name): re.sub(r"\s+", " ", sql)
        for kind, name, sql in connection.execute(
            "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL"
        )
        if not name.startswith("sqlite_")
    }


@cache
def _schema(version: int) -> dict[tuple[str, str], str]:
    """Return the schema of a version of the file format."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(f"{TABLES_SQL} {VIEWS_SQL}")
        schema = _read_schema(connection)
    if version < CHAIN_VERSION:
        del schema["trigger", "events_are_not_replaced"]
        events = schema["table", "events"]
        schema["table", "events"] = events.replace(", digest TEXT NOT NULL", "")
    return schema


def _set_durability(path: str, connection: sqlite3.Connection) -> None:
    """Set the pragmas that ensure durability, and check that they are set."""
    for name, value in PRAGMAS.items():
        connection.execute(f"PRAGMA {name} = {value}")
        (actual,) = connection.execute(f"PRAGMA {name}").fetchone()
        if actual != value:
            raise InputError(f"{path}: {name} is {actual} and cannot be set to {value}")


@contextmanager
def _translate_errors(path: str) -> Iterator[None]:
    """Name the file in errors reported by SQLite."""
    try:
        yield
    except UnicodeDecodeError:  # of a message of SQLite
        raise InputError(f"{path}: is damaged: text in it is not UTF-8") from None
    except sqlite3.DatabaseError as error:
        message = next(
            (ours for theirs, ours in _MESSAGE_BY_ERROR.items() if theirs in str(error)), None
        )
        if message is None:
            raise
        raise InputError(f"{path}: {message}") from None
