"""What is in a campaign, and what is done to it."""

from __future__ import annotations

import json
import os
import sqlite3
import zlib
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import calipers
from calipers.campaign import events
from calipers.campaign.goals import parse_goal, parse_measures
from calipers.campaign.records import (
    GRADES,
    MEDIA,
    Assessor,
    CampaignInfo,
    Document,
    Event,
    Judgment,
    LoggedEvent,
    PooledDocument,
    Preference,
    RecordResult,
    StoredRun,
    Stratum,
    Topic,
)
from calipers.campaign.storage import CampaignFile, create_file
from calipers.data.errors import InputError, format_value

if TYPE_CHECKING:
    from calipers.measures import Measure


class Campaign(CampaignFile):
    """A test collection in the making, in one file: topics, runs, pools, assessors and judgments.

    The file is an SQLite database; :meth:`create` makes it and :meth:`open` opens it. What was
    recorded is on the disk when the call returns, and an event is never changed: a later one takes
    its place. Several threads may use one campaign.

    Examples
    --------
    >>> import os, tempfile
    >>> import calipers as cal
    >>> from calipers.campaign.records import Assessor, Event, Topic
    >>> path = os.path.join(tempfile.mkdtemp(), "digits.campaign")
    >>> with cal.Campaign.create(path, name="digits") as campaign:
    ...     campaign.add_topics([Topic("1", title="the digit 7")])
    ...     campaign.add_assessor(Assessor("ada"))
    ...     _ = campaign.record(Event("some-unique-id", "ada", "1", "d17", grade=2))
    ...     [(j.assessor, j.document, j.grade) for j in campaign.judgments()]
    [('ada', 'd17', 2)]
    """

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        *,
        name: str | None = None,
        goal: str = "top-10",
        grades: Mapping[int, str] | None = None,
        measures: str | Iterable[str | Measure] | None = None,
    ) -> Campaign:
        """A new campaign; :class:`InputError` where there is a file already.

        ``goal`` is what systems are to be good at: ``"top-K"`` (the first K documents) or ``"high
        recall"``; it sets the usual depth of pools and the usual measures. ``grades`` are what
        assessors choose from: whole numbers, each with what it means. ``measures`` are what
        participants are measured by, the one that decides first, and take the place of the usual
        ones: the names that :func:`calipers.retrieval` knows, decided before there is a result.
        """
        at = Path(path)
        about = {
            "name": events.check_name(name or at.stem, "name"),
            "goal": parse_goal(goal).name,
            "grades": json.dumps(_check_grades(GRADES if grades is None else grades)),
            "created": events.now(),
            "version": calipers.__version__,
        }
        if measures is not None:
            about["measures"] = json.dumps(parse_measures(measures))
        create_file(at, about)
        return cls.open(at)

    def record(self, event: Event) -> RecordResult:
        """Record an event; an event whose id is known is not recorded again.

        :class:`~calipers.campaign.records.EditConflict` where ``replaces`` is not the event that
        stands (None: nothing does): it has the number and the grade of the one that does.
        """
        grades = self.about.grades
        with self.write() as connection:
            return events.record(connection, event, grades)

    # ----------------------------------------------------------------------------- what is in there

    @property
    def about(self) -> CampaignInfo:
        """Name, goal, grades, measures and where the campaign comes from."""
        found = dict(self.read("SELECT key, value FROM about"))
        grades = {int(grade): said for grade, said in json.loads(found["grades"]).items()}
        measures = tuple(json.loads(found.get("measures", "[]")))  # files of version 1 have none
        return CampaignInfo(
            found["name"], found["goal"], grades, found["created"], found["version"], measures
        )

    @property
    def participants(self) -> list[str]:
        """Those who take part."""
        return [name for (name,) in self.read("SELECT participant FROM participants ORDER BY 1")]

    def topics(self) -> list[Topic]:
        """The topics, in the order in which they came."""
        rows = self.read(
            "SELECT topic, title, description, narrative, keywords, kind, author, details, source "
            "FROM topics ORDER BY position"
        )
        return [Topic(*(*given, json.loads(details), source)) for *given, details, source in rows]

    def runs(self) -> dict[str, StoredRun]:
        """The runs by name."""
        return {
            run: StoredRun(run, participant, _scores(content))
            for run, participant, content in self.read(
                "SELECT run, participant, content FROM runs ORDER BY participant, run"
            )
        }

    def documents(self) -> list[str]:
        """The ids of the documents whose content is there."""
        return [name for (name,) in self.read("SELECT document FROM documents ORDER BY 1")]

    def document(self, document: str) -> Document | None:
        """A document; None where its content is not there."""
        sql = "SELECT document, body, media, title FROM documents WHERE document = ?"
        return next((Document(*row) for row in self.read(sql, (document,))), None)

    def pool(self, topic: str | None = None) -> list[PooledDocument]:
        """What is pooled, of all topics or of one, in the order of the pooling method."""
        where, values = _where_clause(topic=topic)
        rows = self.read(
            "SELECT topic, document, pool, pooled.position, priority, stratum, sampled FROM pooled "
            f"JOIN topics USING (topic) {where} "
            "ORDER BY topics.position, pooled.position, document",
            values,
        )
        return [PooledDocument(*(*row, bool(sampled))) for *row, sampled in rows]

    def strata(self) -> list[Stratum]:
        """The strata of the pools that were sampled."""
        sql = "SELECT topic, stratum, size, sampled FROM strata ORDER BY topic, stratum"
        return [Stratum(*row) for row in self.read(sql)]

    def assessors(self) -> dict[str, Assessor]:
        """Who judges, by name."""
        rows = self.read(
            "SELECT assessor, participant, kind, role, token_hash, details FROM assessors "
            "ORDER BY assessor"
        )
        return {row[0]: Assessor(*(*row, json.loads(details))) for *row, details in rows}

    def assignments(self) -> dict[str, list[str]]:
        """The topics of each assessor, in their order."""
        made: dict[str, list[str]] = {}
        for assessor, topic in self.read(
            "SELECT assessor, topic FROM assignments JOIN topics USING (topic) "
            "ORDER BY assessor, position"
        ):
            made.setdefault(assessor, []).append(topic)
        return made

    def judgments(
        self,
        assessor: str | None = None,
        *,
        topic: str | None = None,
        document: str | None = None,
        again: bool | None = None,
    ) -> list[Judgment]:
        """The grades that stand, in the order in which they were given, of all assessors or one.

        Adjudications are not among them. ``again`` takes only documents planted for a second
        judgment, or (False) only the others.
        """
        where, values = _where_clause(
            assessor=assessor, topic=topic, document=document, again=again
        )
        return [Judgment(*row) for row in self._graded("grades", where, values)]

    def preferences(
        self, assessor: str | None = None, *, topic: str | None = None, again: bool | None = None
    ) -> list[Preference]:
        """The preferences that stand, in the order in which they were given."""
        where, values = _where_clause(assessor=assessor, topic=topic, again=again)
        rows = self._graded("preferences", where, values, "document, other")
        return [Preference(*row) for row in rows]

    def adjudications(self) -> list[Judgment]:
        """What adjudicators decided, which stands over all other grades."""
        return [Judgment(*row) for row in self._graded("adjudications")]

    def _graded(
        self, view: str, where: str = "", values: Sequence[Any] = (), what: str = "document"
    ) -> list[tuple[Any, ...]]:
        rows = self.read(
            f"SELECT assessor, topic, {what}, grade, time, seconds, shown, again, event "
            f"FROM {view} {where} ORDER BY event",
            values,
        )
        return [(*row, bool(again), event) for *row, again, event in rows]

    def events(self) -> list[LoggedEvent]:
        """All that was ever recorded, in order."""
        rows = self.read(f"SELECT {', '.join(LoggedEvent._fields)} FROM events ORDER BY event")
        return [LoggedEvent(*(*row, bool(again), replaces)) for *row, again, replaces in rows]

    # --------------------------------------------------------------------------------------- adding

    def add_topics(self, topics: Iterable[Topic]) -> None:
        """Add topics behind those that are there; one that is there already is an error."""
        with self.write() as connection:
            (last,) = connection.execute("SELECT coalesce(max(position), 0) FROM topics").fetchone()
            for position, topic in enumerate(topics, last + 1):
                events.check_name(topic.topic, "topic")
                _check_new(connection, "topics", "topic", topic.topic)
                _add_participant(connection, topic.author)
                texts = topic.title, topic.description, topic.narrative, topic.keywords
                details = json.dumps(topic.details, ensure_ascii=False)
                connection.execute(
                    "INSERT INTO topics VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (
                        topic.topic,
                        position,
                        topic.author,
                        *texts,
                        topic.kind,
                        details,
                        topic.source,
                    ),
                )

    def add_assessor(self, assessor: Assessor, *, topics: Iterable[str] = ()) -> None:
        """Add somebody who judges, with the topics that are theirs."""
        events.check_name(assessor.assessor, "assessor")
        with self.write() as connection:
            _check_new(connection, "assessors", "assessor", assessor.assessor)
            _add_participant(connection, assessor.participant)
            connection.execute(
                "INSERT INTO assessors VALUES (?, ?, ?, ?, ?, ?)",
                (
                    assessor.assessor,
                    assessor.participant,
                    assessor.kind,
                    assessor.role,
                    assessor.token_hash,
                    json.dumps(assessor.details, ensure_ascii=False),
                ),
            )
            for topic in topics:
                _check_there(connection, "topics", "topic", topic)
                connection.execute(
                    "INSERT INTO assignments VALUES (?, ?)", (assessor.assessor, topic)
                )

    def add_run(self, run: str, source: Any, participant: str) -> StoredRun:
        """Add a run that a participant hands in, from any source that :func:`calipers.retrieval`
        takes; a name that is there already is an error."""
        from calipers.data.formats import set_run_tag, write_rows
        from calipers.data.trec import read_rows

        events.check_name(run, "run")
        events.check_name(participant, "participant")
        rows, _ = read_rows(run, source, "run")
        stream = BytesIO()
        write_rows(set_run_tag(rows, "_".join(run.split())), "run", run, stream)
        text = stream.getvalue()
        try:
            text.decode()
        except UnicodeDecodeError as error:
            line = text.count(b"\n", 0, error.start) + 1
            raise InputError(f"{run}: an id in rank order line {line} is not UTF-8") from None
        content = zlib.compress(text)
        with self.write() as connection:
            _check_new(connection, "runs", "run", run)
            _add_participant(connection, participant)
            connection.execute(
                "INSERT INTO runs VALUES (?, ?, ?, ?, ?)",
                (run, participant, content, sha256(text).hexdigest(), events.now()),
            )
        return StoredRun(run, participant, _scores(content))

    def add_documents(self, documents: Iterable[Document], *, replace: bool = False) -> int:
        """Add documents, and say how many are new. One that is there already with another content
        is an error, unless it is to be replaced."""
        new = 0
        with self.write() as connection:
            for one in documents:
                events.check_name(one.document, "document")
                if one.media not in MEDIA:
                    raise InputError(
                        f"document {format_value(one.document)}: {format_value(one.media)} cannot "
                        "be shown; "
                        f"expected {', '.join(MEDIA)}"
                    )
                row = one.document, one.media, one.title, one.body
                before = connection.execute(
                    "SELECT * FROM documents WHERE document = ?", row[:1]
                ).fetchone()
                if before not in (None, row) and not replace:
                    raise InputError(
                        f"document {format_value(one.document)} is there already, with another "
                        "content"
                    )
                new += before is None
                connection.execute("INSERT OR REPLACE INTO documents VALUES (?, ?, ?, ?)", row)
        return new


def _where_clause(**given: Any) -> tuple[str, list[Any]]:
    """What is asked for of some columns, None being anything."""
    asked = {name: value for name, value in given.items() if value is not None}
    return "WHERE " + " AND ".join([f"{name} = ?" for name in asked] or ["1"]), list(asked.values())


def _check_grades(grades: Mapping[int, str]) -> dict[int, str]:
    """Grades, in order, of which there are at least two."""
    for grade, said in grades.items():
        if type(grade) is not int or abs(grade) >= 2**31:
            raise InputError(f"grade {format_value(grade)}, expected a whole number")
        events.check_name(said, f"what grade {grade} means,")
    if len(grades) < 2:
        raise InputError("grades: expected two or more")
    return dict(sorted(grades.items()))


def _scores(content: bytes) -> dict[str, dict[str, float]]:
    """Of each topic the documents and scores of a stored run, in the order of ranks."""
    made: dict[str, dict[str, float]] = {}
    for line in zlib.decompress(content).split(b"\n")[:-1]:
        topic, _, document, _, score, _ = line.split(b" ")
        made.setdefault(topic.decode(), {})[document.decode()] = float(score)
    return made


def _check_new(connection: sqlite3.Connection, table: str, column: str, value: str) -> None:
    found = connection.execute(f"SELECT 1 FROM {table} WHERE {column} = ?", (value,))
    if found.fetchone() is not None:
        raise InputError(f"{column} {format_value(value)} is there already")


def _check_there(connection: sqlite3.Connection, table: str, column: str, value: str) -> None:
    found = connection.execute(f"SELECT 1 FROM {table} WHERE {column} = ?", (value,))
    if found.fetchone() is None:
        raise InputError(f"{column} {format_value(value)} is not of this campaign")


def _add_participant(connection: sqlite3.Connection, name: str | None) -> None:
    if name is not None:
        events.check_name(name, "participant")
        connection.execute("INSERT OR IGNORE INTO participants VALUES (?)", (name,))
