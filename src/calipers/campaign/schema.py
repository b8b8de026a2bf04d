"""What a campaign's file holds: an SQLite database of these tables.

Events are never changed or deleted, which triggers see to; the two views say what stands: of each
assessor and document the last grade that no undo names, and the same of preferences.
"""

from __future__ import annotations

#: What tells a campaign from other databases: "CALP".
APPLICATION = 0x43414C50

#: Counts changes of what a file may hold. Files of all versions up to this one are opened as they
#: are. 2: ``about`` may name measures, pools may have
#: all that runs retrieved, and documents may be XML.
VERSION = 2

KINDS = ("grade", "preference", "skip", "note", "undo", "adjudication", "import")

TABLES = f"""
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
_LAST = """SELECT max(event) AS event, id, time, assessor, topic, document, other, kind, grade,
    note, seconds, shown, again, replaces FROM standing"""

VIEWS = f"""
CREATE VIEW grades AS {_LAST}
    WHERE kind IN ('grade', 'import') AND other IS NULL
    GROUP BY assessor, topic, document, again;
CREATE VIEW preferences AS {_LAST}
    WHERE kind IN ('preference', 'import') AND other IS NOT NULL
    GROUP BY assessor, topic, min(document, other), max(document, other), again;
CREATE VIEW adjudications AS {_LAST}
    WHERE kind = 'adjudication' GROUP BY topic, document;
"""
