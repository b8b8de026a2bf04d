"""Campaign: access to its topics, runs, pools, assessors, documents and events."""

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
from calipers.campaign.storage import CampaignFile, create_file, list_columns
from calipers.data.errors import InputError, format_value

if TYPE_CHECKING:
    from calipers.measures import Measure


class Campaign(CampaignFile):
    """Test collection in one file: topics, runs, pools, assessors and judgments.

    The file is an SQLite database; :meth:`create` makes it and :meth:`open` opens it. Recorded
    data are on disk when a call returns, and an event is never changed: a later one replaces it.
    Several threads may use one campaign.

    Parameters
    ----------
    path : str
        File of the campaign, for messages.
    connection : sqlite3.Connection
        Connection to the file, which the campaign closes.
    readonly : bool
        Whether the file is open for reading only.

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
        """Create a new campaign.

        Parameters
        ----------
        path : path
            File of the campaign, which must not exist.
        name : str, optional
            Name of the campaign. By default that of the file.
        goal : str, default="top-10"
            What systems should be good at: ``"top-K"`` (the first K documents) or ``"high
            recall"``. It determines the default depth of pools and the default measures.
        grades : mapping of int to str, optional
            Grades that assessors choose from, with their meanings. By default ``GRADES``.
        measures : str or iterable, optional
            Measures by which participants are evaluated, primary measure first, in place of the
            default ones: names accepted by :func:`calipers.retrieval`, chosen before there are
            results.

        Returns
        -------
        Campaign
            The campaign, open for writing.

        Raises
        ------
        InputError
            If the file exists, or an argument is invalid.
        """
        file_path = Path(path)
        metadata = {
            "name": events.check_name(name or file_path.stem, "name"),
            "goal": parse_goal(goal).name,
            "grades": json.dumps(_check_grades(GRADES if grades is None else grades)),
            "created": events.now(),
            "version": calipers.__version__,
        }
        if measures is not None:
            metadata["measures"] = json.dumps(parse_measures(measures))
        create_file(file_path, metadata)
        return cls.open(file_path)

    def record(self, event: Event) -> RecordResult:
        """Record an event; an event with a known id is not recorded again.

        Parameters
        ----------
        event : Event
            Event to record.

        Returns
        -------
        RecordResult
            Number of the event, and whether it is new.

        Raises
        ------
        EditConflict
            If ``replaces`` is not the current event (None: there is none). The error has the
            number and the grade of the current one.
        InputError
            If the event is invalid.
        """
        grades = self.info.grades
        with self.write() as connection:
            return events.record_event(connection, event, grades)

    # -------------------------------------------------------------------------------------- content

    @property
    def info(self) -> CampaignInfo:
        """Name, goal, grades, measures and origin of the campaign."""
        value_by_key = dict(self.read("SELECT key, value FROM about"))
        return self.decode("the description of the campaign", _parse_info, value_by_key)

    @property
    def participants(self) -> list[str]:
        """Names of the participants."""
        return [name for (name,) in self.read("SELECT participant FROM participants ORDER BY 1")]

    def topics(self) -> list[Topic]:
        """Return the topics, in the order in which they were added.

        Returns
        -------
        list of Topic
            Topics.
        """
        rows = self.read(
            "SELECT topic, title, description, narrative, keywords, kind, author, details, source "
            "FROM topics ORDER BY position"
        )
        return [
            self.decode(
                f"topic {format_value(row[0])}",
                lambda row: Topic(*(*row[:-2], _parse_object(row[-2]), row[-1])),
                row,
            )
            for row in rows
        ]

    def runs(self) -> dict[str, StoredRun]:
        """Return the runs by name.

        Returns
        -------
        dict of str to StoredRun
            Runs, sorted by participant and name.
        """
        return {
            run: StoredRun(
                run,
                participant,
                self.decode(f"run {format_value(run)}", _parse_run_scores, content),
            )
            for run, participant, content in self.read(
                "SELECT run, participant, content FROM runs ORDER BY participant, run"
            )
        }

    def _decode_run(self, run: str, content: bytes) -> dict[str, dict[str, float]]:
        return self.decode(f"run {format_value(run)}", _parse_run_scores, content)

    def documents(self) -> list[str]:
        """Return the ids of the documents whose content is stored.

        Returns
        -------
        list of str
            Ids, sorted.
        """
        return [name for (name,) in self.read("SELECT document FROM documents ORDER BY 1")]

    def document(self, document: str) -> Document | None:
        """Return a document.

        Parameters
        ----------
        document : str
            Id of the document.

        Returns
        -------
        Document or None
            Document; None if its content is not stored.
        """
        sql = "SELECT document, body, media, title FROM documents WHERE document = ?"
        return next((Document(*row) for row in self.read(sql, (document,))), None)

    def pool(self, topic: str | None = None) -> list[PooledDocument]:
        """Return the pool of one topic or of all topics.

        Parameters
        ----------
        topic : str, optional
            Topic. By default all topics.

        Returns
        -------
        list of PooledDocument
            Pooled documents, by topic, in the order of the pooling method.
        """
        condition, values = _where_clause(topic=topic)
        rows = self.read(
            "SELECT topic, document, pool, pooled.position, priority, stratum, sampled FROM pooled "
            f"JOIN topics USING (topic) {condition} "
            "ORDER BY topics.position, pooled.position, document",
            values,
        )
        return [PooledDocument(*(*row, bool(sampled))) for *row, sampled in rows]

    def strata(self) -> list[Stratum]:
        """Return the strata of the sampled pools.

        Returns
        -------
        list of Stratum
            Strata, sorted by topic and name.
        """
        sql = "SELECT topic, stratum, size, sampled FROM strata ORDER BY topic, stratum"
        return [Stratum(*row) for row in self.read(sql)]

    def assessors(self) -> dict[str, Assessor]:
        """Return the assessors by name.

        Returns
        -------
        dict of str to Assessor
            Assessors, sorted by name.
        """
        rows = self.read(
            "SELECT assessor, participant, kind, role, token_hash, details FROM assessors "
            "ORDER BY assessor"
        )
        return {
            row[0]: self.decode(
                f"assessor {format_value(row[0])}",
                lambda row: Assessor(*(*row[:-1], _parse_object(row[-1]))),
                row,
            )
            for row in rows
        }

    def assignments(self) -> dict[str, list[str]]:
        """Return the topics assigned to each assessor.

        Returns
        -------
        dict of str to list of str
            Topics of each assessor, in the order of the campaign. Assessors without assigned
            topics are omitted.
        """
        topics_by_assessor: dict[str, list[str]] = {}
        for assessor, topic in self.read(
            "SELECT assessor, topic FROM assignments JOIN topics USING (topic) "
            "ORDER BY assessor, position"
        ):
            topics_by_assessor.setdefault(assessor, []).append(topic)
        return topics_by_assessor

    def judgments(
        self,
        assessor: str | None = None,
        *,
        topic: str | None = None,
        document: str | None = None,
        is_repeat: bool | None = None,
    ) -> list[Judgment]:
        """Return the current grades in the order in which they were given.

        Adjudications are not included.

        Parameters
        ----------
        assessor : str, optional
            Assessor. By default all assessors.
        topic : str, optional
            Topic. By default all topics.
        document : str, optional
            Document. By default all documents.
        is_repeat : bool, optional
            Whether to return only planted repeats (True) or no planted repeats (False). By default
            all grades.

        Returns
        -------
        list of Judgment
            Current grades.
        """
        condition, values = _where_clause(
            assessor=assessor, topic=topic, document=document, again=is_repeat
        )
        return [Judgment(*row) for row in self._graded("grades", condition, values)]

    def preferences(
        self,
        assessor: str | None = None,
        *,
        topic: str | None = None,
        is_repeat: bool | None = None,
    ) -> list[Preference]:
        """Return the current preferences in the order in which they were given.

        Parameters
        ----------
        assessor : str, optional
            Assessor. By default all assessors.
        topic : str, optional
            Topic. By default all topics.
        is_repeat : bool, optional
            Whether to return only planted repeats (True) or no planted repeats (False). By default
            all preferences.

        Returns
        -------
        list of Preference
            Current preferences.
        """
        condition, values = _where_clause(assessor=assessor, topic=topic, again=is_repeat)
        rows = self._graded("preferences", condition, values, "document, other")
        return [Preference(*row) for row in rows]

    def adjudications(self) -> list[Judgment]:
        """Return the decisions of adjudicators, which have priority over all other grades.

        Returns
        -------
        list of Judgment
            Current decisions, in the order in which they were made.
        """
        return [Judgment(*row) for row in self._graded("adjudications")]

    def _graded(
        self, view: str, condition: str = "", values: Sequence[Any] = (), columns: str = "document"
    ) -> list[tuple[Any, ...]]:
        rows = self.read(
            f"SELECT assessor, topic, {columns}, grade, time, seconds, shown, again, event "
            f"FROM {view} {condition} ORDER BY event",
            values,
        )
        return [(*row, bool(is_repeat), event) for *row, is_repeat, event in rows]

    def events(self) -> list[LoggedEvent]:
        """Return all recorded events, in order.

        Returns
        -------
        list of LoggedEvent
            Events.
        """
        rows = self.read(f"SELECT {list_columns(LoggedEvent._fields)} FROM events ORDER BY event")
        return [
            LoggedEvent(*(*row, bool(is_repeat), replaces)) for *row, is_repeat, replaces in rows
        ]

    # --------------------------------------------------------------------------------------- adding

    def add_topics(self, topics: Iterable[Topic]) -> None:
        """Append topics.

        Parameters
        ----------
        topics : iterable of Topic
            Topics, which follow the existing ones.

        Raises
        ------
        InputError
            If a topic exists already.
        """
        with self.write() as connection:
            (last,) = connection.execute("SELECT coalesce(max(position), 0) FROM topics").fetchone()
            for position, topic in enumerate(topics, last + 1):
                events.check_name(topic.topic, "topic")
                _check_new(connection, "topics", "topic", topic.topic)
                _add_participant(connection, topic.author)
                text_fields = topic.title, topic.description, topic.narrative, topic.keywords
                details = json.dumps(topic.details, ensure_ascii=False)
                connection.execute(
                    "INSERT INTO topics VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (
                        topic.topic,
                        position,
                        topic.author,
                        *text_fields,
                        topic.kind,
                        details,
                        topic.source,
                    ),
                )

    def add_assessor(self, assessor: Assessor, *, topics: Iterable[str] = ()) -> None:
        """Add an assessor.

        Parameters
        ----------
        assessor : Assessor
            Assessor to add.
        topics : iterable of str, default=()
            Topics that are assigned to the assessor.

        Raises
        ------
        InputError
            If the assessor exists already, or a topic does not exist.
        """
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
                _check_exists(connection, "topics", "topic", topic)
                connection.execute(
                    "INSERT INTO assignments VALUES (?, ?)", (assessor.assessor, topic)
                )

    def add_run(
        self, run: str, source: Any, participant: str, *, order: str = "score"
    ) -> StoredRun:
        """Add a run of a participant.

        Parameters
        ----------
        run : str
            Name of the run.
        source : path, mapping or data frame
            Run, as accepted by :func:`calipers.retrieval`.
        participant : str
            Name of the participant.
        order : {'score', 'rank'}, default='score'
            Whether documents are ordered by their scores, or by the ranks of the run.

        Returns
        -------
        StoredRun
            Run as it is stored.

        Raises
        ------
        InputError
            If the name exists already, or the run is invalid or has ids that are not UTF-8.
        """
        from calipers.data.formats import set_run_tag, write_rows
        from calipers.data.trec import read_ordered_run

        events.check_name(run, "run")
        events.check_name(participant, "participant")
        rows, _, notes = read_ordered_run(run, source, order)
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
        return StoredRun(run, participant, _parse_run_scores(content), tuple(notes))

    def add_documents(self, documents: Iterable[Document], *, replace: bool = False) -> int:
        """Add documents.

        Parameters
        ----------
        documents : iterable of Document
            Documents to add.
        replace : bool, default=False
            Whether to replace documents that exist already with different content; otherwise they
            are an error.

        Returns
        -------
        int
            Number of new documents.

        Raises
        ------
        InputError
            If a document exists already with different content, or its media type cannot be
            displayed.
        """
        new = 0
        with self.write() as connection:
            for document in documents:
                events.check_name(document.document, "document")
                if document.media not in MEDIA:
                    raise InputError(
                        f"document {format_value(document.document)}: "
                        f"{format_value(document.media)} cannot be displayed; expected "
                        f"{', '.join(MEDIA)}"
                    )
                row = document.document, document.media, document.title, document.body
                stored = connection.execute(
                    "SELECT * FROM documents WHERE document = ?", row[:1]
                ).fetchone()
                if stored not in (None, row) and not replace:
                    raise InputError(
                        f"document {format_value(document.document)} exists already with different "
                        "content"
                    )
                new += stored is None
                connection.execute("INSERT OR REPLACE INTO documents VALUES (?, ?, ?, ?)", row)
        return new


def _where_clause(**columns: Any) -> tuple[str, list[Any]]:
    """Return an SQL condition on some columns, None being any value, and its parameters."""
    conditions = {name: value for name, value in columns.items() if value is not None}
    return "WHERE " + " AND ".join([f"{name} = ?" for name in conditions] or ["1"]), list(
        conditions.values()
    )


def _check_grades(grades: Mapping[int, str]) -> dict[int, str]:
    """Check that there are at least two valid grades, and return them in order."""
    for grade, meaning in grades.items():
        if type(grade) is not int or abs(grade) >= 2**31:
            raise InputError(f"grade {format_value(grade)}, expected a whole number")
        events.check_name(meaning, f"meaning of grade {grade}")
    if len(grades) < 2:
        raise InputError("grades: expected two or more")
    return dict(sorted(grades.items()))


def _parse_info(value_by_key: Mapping[str, str]) -> CampaignInfo:
    """Return the description of a campaign from the table ``about``."""
    grades = _parse_object(value_by_key["grades"])
    return CampaignInfo(
        value_by_key["name"],
        parse_goal(value_by_key["goal"]).name,
        _check_grades({int(grade): meaning for grade, meaning in grades.items()}),
        value_by_key["created"],
        value_by_key["version"],
        tuple(
            events.check_name(name, "measure")
            for name in json.loads(
                value_by_key.get("measures", "[]")
            )  # files of version 1 have none
        ),
    )


def _parse_object(text: str) -> dict[str, Any]:
    """Return an object of JSON."""
    value = json.loads(text)
    if not isinstance(value, dict):
        raise ValueError("expected an object")
    return value


def _parse_run_scores(content: bytes) -> dict[str, dict[str, float]]:
    """Return documents and scores of a stored run by topic, in the order of their ranks."""
    scores_by_topic: dict[str, dict[str, float]] = {}
    for line in zlib.decompress(content).split(b"\n")[:-1]:
        topic, _, document, _, score, _ = line.split(b" ")
        scores_by_topic.setdefault(topic.decode(), {})[document.decode()] = float(score)
    return scores_by_topic


def _check_new(connection: sqlite3.Connection, table: str, column: str, value: str) -> None:
    cursor = connection.execute(f"SELECT 1 FROM {table} WHERE {column} = ?", (value,))
    if cursor.fetchone() is not None:
        raise InputError(f"{column} {format_value(value)} exists already")


def _check_exists(connection: sqlite3.Connection, table: str, column: str, value: str) -> None:
    cursor = connection.execute(f"SELECT 1 FROM {table} WHERE {column} = ?", (value,))
    if cursor.fetchone() is None:
        raise InputError(f"{column} {format_value(value)} is not of this campaign")


def _add_participant(connection: sqlite3.Connection, name: str | None) -> None:
    if name is not None:
        events.check_name(name, "participant")
        connection.execute("INSERT OR IGNORE INTO participants VALUES (?)", (name,))
