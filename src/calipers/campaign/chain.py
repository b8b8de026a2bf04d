"""Chain of the events of a campaign: the digest of each event includes that of the event before.

Who changes, removes, inserts or reorders an event has to compute the digests of all later events
again, and then the last one, the head of the chain, differs from the one that was published. The
chain is evidence of a change to whoever knows the head; it does not prevent it.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

#: Columns of an event, in the order in which they enter its digest.
COLUMNS = (
    "event", "id", "time", "assessor", "topic", "document", "other", "kind", "grade", "note",
    "seconds", "shown", "again", "replaces",
)  # fmt: skip

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class ChainHead(NamedTuple):
    """Number of events, and the digest of the last one (empty without events)."""

    events: int
    digest: str


def next_digest(previous: str, values: Sequence[Any]) -> str:
    """Return the digest of an event: the SHA-256 of a JSON array of text.

    Parameters
    ----------
    previous : str
        Digest of the event before, or the empty string.
    values : sequence
        Values of ``COLUMNS``, as they are stored.

    Returns
    -------
    str
        Digest in hexadecimal digits.

    Examples
    --------
    >>> next_digest("", [1, "e1"])[:12]
    'c93567019d4f'
    """
    return sha256(_encode([previous, *values]).encode()).hexdigest()


def append(connection: sqlite3.Connection, values: Sequence[Any]) -> int:
    """Insert an event behind the last one, and return its number.

    Parameters
    ----------
    connection : sqlite3.Connection
        Connection in a transaction.
    values : sequence
        Values of ``COLUMNS`` but for the number.

    Returns
    -------
    int
        Number of the event.
    """
    last, previous = connection.execute(
        "SELECT event, digest FROM events ORDER BY event DESC LIMIT 1"
    ).fetchone() or (0, "")
    numbered = (last + 1, *values)
    marks = ", ".join("?" * (len(COLUMNS) + 1))
    connection.execute(
        f"INSERT INTO events ({', '.join(COLUMNS)}, digest) VALUES ({marks})",
        (*numbered, next_digest(previous, numbered)),
    )
    return last + 1


def find_break(rows: Iterable[Sequence[Any]]) -> int | None:
    """Return the number of the first event that does not fit those before it, if any.

    Parameters
    ----------
    rows : iterable of sequence
        Events in order: values of ``COLUMNS`` and the digest.

    Returns
    -------
    int or None
        Number of the event.
    """
    previous = ""
    for event, *values, digest in rows:
        if digest != next_digest(previous, (event, *values)):
            return int(event)
        previous = digest
    return None
