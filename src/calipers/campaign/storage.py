"""File of a campaign: an SQLite database, created atomically, opened safely, written durably.

Events are never changed or deleted, which triggers enforce. The views have the current values: the
last grade of each assessor and document that is not undone, and likewise for preferences and
adjudications.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from calipers.data.errors import InputError

if TYPE_CHECKING:
    from typing_extensions import Self


#: Application id that distinguishes a campaign from other databases: "CALP".
APPLICATION_ID = 0x43414C50

#: Version of the file format. Files of all versions up to this one are opened as they are. 2:
#: ``about`` may name measures, pools may have all retrieved documents, and documents may be XML.
FORMAT_VERSION = 2

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
    replaces INTEGER REFERENCES events);
CREATE INDEX events_of_documents ON events(topic, document, assessor);
CREATE INDEX events_undone ON events(replaces) WHERE kind = 'undo';
CREATE TRIGGER events_are_not_changed BEFORE UPDATE ON events
    BEGIN SELECT RAISE(ABORT, 'an event is never changed'); END;
CREATE TRIGGER events_are_not_deleted BEFORE DELETE ON events
    BEGIN SELECT RAISE(ABORT, 'an event is never deleted'); END;
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


def list_columns(names: Iterable[str]) -> str:
    """Return the columns of fields of events, as a query lists them.

    >>> list_columns(["document", "is_repeat"])
    'document, again'
    """
    return ", ".join(_COLUMNS.get(name, name) for name in names)


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
}


class CampaignFile:
    """Open file with one connection, which threads use one after the other."""

    def __init__(self, path: str, connection: sqlite3.Connection, *, readonly: bool) -> None:
        self.path, self.readonly = path, readonly
        self._connection, self._lock = connection, threading.RLock()

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
            If the file is not a campaign, or is one of a later version.
        """
        file_path = Path(path)
        if not file_path.is_file():
            raise InputError(
                f"{file_path}: {'is not a file' if file_path.exists() else 'no such file'}"
            )
        with _translate_errors(str(file_path)):
            if readonly and file_path.with_name(f"{file_path.name}-journal").exists():
                # Roll back the transaction of a killed process first, which needs write access.
                with suppress(sqlite3.OperationalError), closing(_connect(file_path)) as connection:
                    connection.execute("SELECT count(*) FROM sqlite_master")
            connection = _connect(file_path, readonly=readonly)
            try:
                _check_campaign(str(file_path), connection)
                _set_durability(str(file_path), connection)
            except BaseException:
                connection.close()
                raise
        return cls(str(file_path), connection, readonly=readonly)

    def close(self) -> None:
        """Close the file."""
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
    if path.exists() or path.is_symlink():
        raise InputError(f"{path}: exists already, and is not overwritten")
    if not path.parent.is_dir():
        raise InputError(f"{path}: the folder {path.parent} does not exist")
    temporary = path.parent / f".{path.name[:40]}.{os.urandom(8).hex()}.part"
    try:
        with _translate_errors(str(path)), closing(_connect(temporary, create=True)) as connection:
            _set_durability(str(path), connection)
            connection.executescript(f"BEGIN; {TABLES_SQL} {VIEWS_SQL}")
            connection.executemany("INSERT INTO about VALUES (?, ?)", metadata.items())
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {FORMAT_VERSION}")
            connection.execute("COMMIT")
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


def _check_campaign(path: str, connection: sqlite3.Connection) -> None:
    """Check that the file is a campaign, of a supported version."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION_ID:
        raise InputError(f"{path}: is not a campaign")
    if version > FORMAT_VERSION:
        raise InputError(
            f"{path}: was made by a later version of Calipers (its format is {version}, the latest "
            f"known here {FORMAT_VERSION})"
        )


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
    except sqlite3.DatabaseError as error:
        message = next(
            (ours for theirs, ours in _MESSAGE_BY_ERROR.items() if theirs in str(error)), None
        )
        if message is None:
            raise
        raise InputError(f"{path}: {message}") from None
