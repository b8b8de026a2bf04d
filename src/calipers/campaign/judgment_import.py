"""Import of judgments from files of any format, recorded as events."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from itertools import combinations
from typing import Any, Literal, TypeAlias
from uuid import uuid4

from calipers.campaign import events
from calipers.campaign.records import Assessor, Event
from calipers.campaign.store import Campaign
from calipers.data.errors import InputError, did_you_mean, format_names, format_value
from calipers.data.grouped_judgments import JudgmentRows, rows_of_file
from calipers.data.tables import (
    BINARIES,
    TEXTS,
    check_file,
    file_extension,
    read_errors,
    read_json,
    read_table,
    to_arrow,
)
from calipers.data.trec_tables import DOCUMENT, GRADE, TOPIC


@dataclass(frozen=True)
class ImportSummary:
    """Summary of an import.

    The counts are those of judgments that are new, that replaced others, that existed already with
    the same grade, of documents marked as not judged (a negative grade), of topics that the
    campaign does not have, and that were not requested. ``assessors`` are the new assessors.
    """

    new: int = 0
    replaced: int = 0
    same: int = 0
    unjudged: int = 0
    unknown: int = 0
    unasked: int = 0
    assessors: tuple[str, ...] = ()


@dataclass
class _ImportCounts:
    counts: dict[str, int] = field(default_factory=lambda: defaultdict(int))

    def add(self, what: str) -> None:
        self.counts[what] += 1


def import_judgments(
    campaign: Campaign,
    source: Any,
    *,
    assessor: str | None = None,
    kind: Kind | None = None,
    program: bool = False,
    participant: str | None = None,
    details: Mapping[str, Any] | None = None,
    only_known: bool = False,
    overwrite: bool = False,
    missing: bool = False,
) -> ImportSummary:
    """Record judgments made elsewhere as events of named assessors: all of a file, or none.

    Parameters
    ----------
    campaign : Campaign
        Campaign that the judgments are added to.
    source : path, data frame or dict of columns
        A file of TREC judgments (four fields) or preferences (five); a table (CSV, Parquet,
        Feather, JSON Lines) with the columns topic, document and grade, and, if known, assessor,
        other (of a preference, whose grade is 1, 0 or −1), time, seconds, shown, again and note;
        or a data frame or a dict of such columns.
    assessor : str, optional
        Name of the assessor if the rows have none. In TREC preferences it is the second field.
    kind : {"qrels", "prefs", "table"}, optional
        Content of a file. It has to be given for TREC text whose fields are ambiguous.
    program : bool, default=False
        Whether the assessors are programs, such as language models, rather than persons, unless a
        column kind (person or program) says so. Programs are assessors like others, but never
        replace persons.
    participant : str, optional
        Group that new assessors belong to.
    details : mapping, optional
        Details of new assessors, such as ``{"model": …, "prompt": …}``.
    only_known : bool, default=False
        Whether to skip topics that the campaign does not have; otherwise they are an error.
    overwrite : bool, default=False
        Whether a grade replaces another one of the same assessor for the same document; otherwise
        that is an error. The same grade again is not an event.
    missing : bool, default=False
        Whether to import only what is still to be judged: documents that are pooled (and sampled,
        if the pool is sampled), of topics assigned to the assessor, and not judged by the same
        assessor before.

    Returns
    -------
    ImportSummary
        Counts of judgments, and the new assessors.

    Raises
    ------
    InputError
        If the campaign does not have a grade, a document is duplicated, or one of the conditions
        above is violated. The message names file and line or row.
    """
    rows = list(read_judgments(source, kind, assessor))
    counts = _ImportCounts()
    with campaign.write() as connection:
        known = dict.fromkeys(topic.topic for topic in campaign.topics())
        of = _AssessorRegistry(campaign, participant, details)
        standing = _current_events(campaign)
        asked = _ImportScope(campaign) if missing else None
        grades = campaign.about.grades
        seen: dict[tuple[Any, ...], tuple[str, int | None]] = {}
        for row in rows:
            event = row.event
            if event.topic not in known:
                if not only_known:
                    raise InputError(
                        f"{row.where}: topic {format_value(event.topic)} is not of this campaign; "
                        f"{did_you_mean(event.topic, known)} (--only-known leaves it out)"
                    )
                counts.add("unknown")
                continue
            if event.other is None and (event.grade or 0) < 0 and event.grade not in grades:
                counts.add("unjudged")
                continue
            try:
                events.check(event, grades)
                of.take(event.assessor, program=program if row.program is None else row.program)
            except InputError as error:
                raise InputError(f"{row.where}: {error}") from None
            key, grade = _key(event)
            if asked is not None and (key in standing or event not in asked):
                counts.add("unasked")
                continue
            if key in seen:
                raise InputError(
                    f"{row.where}: topic {format_value(event.topic)}, document "
                    f"{format_value(event.document)} of "
                    f"{event.assessor} stands there twice, first in {seen[key][0]}"
                )
            seen[key] = row.where, grade
            number, before = standing.get(key, (None, None))
            if number is not None and before == grade:
                counts.add("same")
                continue
            if number is not None and not overwrite:
                raise InputError(
                    f"{row.where}: topic {format_value(event.topic)}, document "
                    f"{format_value(event.document)}: "
                    f"{event.assessor} judged {before} (event {number}) and not {grade}; that is "
                    "replaced only where that is asked for (--replace)"
                )
            counts.add("new" if number is None else "replaced")
            events.insert(connection, replace(event, replaces=number))
    return ImportSummary(**counts.counts, assessors=tuple(of.new))


def _key(event: Event) -> tuple[tuple[Any, ...], int | None]:
    """Return what is judged, and the grade; that of a sorted pair is relative to its first."""
    key = event.assessor, event.topic, event.again
    if event.other is None:
        return (*key, event.document), event.grade
    assert event.grade is not None
    if event.document < event.other:
        return (*key, event.document, event.other), event.grade
    return (*key, event.other, event.document), -event.grade


def _current_events(campaign: Campaign) -> dict[tuple[Any, ...], tuple[int, int | None]]:
    made: dict[tuple[Any, ...], tuple[int, int | None]] = {}
    for judgment in campaign.judgments():
        key = judgment.assessor, judgment.topic, judgment.again, judgment.document
        made[key] = judgment.event, judgment.grade
    for one in campaign.preferences():
        pair = Event("", one.assessor, one.topic, one.document, grade=one.grade, other=one.other,
                     again=one.again)  # fmt: skip
        key, grade = _key(pair)
        made[key] = one.event, grade
    return made


class _ImportScope:
    """Documents that are requested from an assessor.

    They are sampled documents of the topics assigned to the assessor, or of all topics if none is.
    """

    def __init__(self, campaign: Campaign) -> None:
        self._drawn = {(one.topic, one.document) for one in campaign.pool() if one.sampled}
        self._topics = campaign.assignments()

    def __contains__(self, event: Event) -> bool:
        documents = [event.document] if event.other is None else [event.document, event.other]
        own = self._topics.get(event.assessor)
        return (own is None or event.topic in own) and all(
            (event.topic, document) in self._drawn for document in documents
        )


class _AssessorRegistry:
    """Assessors of a campaign, to which those of a file are added."""

    def __init__(
        self, campaign: Campaign, participant: str | None, details: Mapping[str, Any] | None
    ) -> None:
        self._campaign, self._known = campaign, campaign.assessors()
        self._participant, self._details = participant, details or {}
        self.new: list[str] = []

    def take(self, name: str, *, program: bool) -> None:
        """Check that an assessor exists and is of this kind, and add a new one."""
        kind: Literal["person", "program"] = "program" if program else "person"
        found = self._known.get(name)
        if found is None:
            found = Assessor(name, self._participant, kind, details=self._details)
            self._campaign.add_assessor(found)
            self._known[name] = found
            self.new.append(name)
        if found.kind != kind:
            raise InputError(f"assessor {format_value(name)} is a {found.kind}, not a {kind}")


def format_import_summary(of: ImportSummary) -> Iterable[str]:
    """Format the summary of an import as lines."""
    from calipers.report.numbers import format_count

    yield f"{format_count(of.new, 'judgments')} added" + (
        f", {of.replaced:,} replaced" if of.replaced else ""
    )
    if of.same:
        yield f"{of.same:,} were there already"
    if of.unjudged:
        yield f"{of.unjudged:,} have a negative grade, which means not judged"
    if of.unknown:
        yield f"{of.unknown:,} are of topics that the campaign does not have, and left out"
    if of.unasked:
        yield f"{of.unasked:,} are of what is not missing, and left out"
    if of.assessors:
        yield f"new: {format_names(of.assessors)}"


#: What a file holds: TREC's judgments, TREC's preferences, or a table of either.
Kind: TypeAlias = Literal["qrels", "prefs", "table"]

#: What the columns of a table are called.
COLUMNS: Mapping[str, Sequence[str]] = {
    "assessor": ("assessor", "rater", "annotator", "judge", "worker"),
    "kind": ("kind",),
    "topic": TOPIC,
    "document": DOCUMENT,
    "other": ("other", "other_document"),
    "grade": GRADE,
    "time": ("time", "timestamp"),
    "seconds": ("seconds",),
    "shown": ("shown",),
    "again": ("again",),
    "note": ("note", "comment"),
}

#: What to do with the five fields of sample_eval.
_SAMPLED = (
    "strata and probabilities of a sample cannot be imported (calipers campaign sample draws one), "
    "grades can: as a table with the columns topic, doc and grade"
)

#: A part of TREC's preferences with more documents has too many pairs.
_MOST_OF_PART = 200


@dataclass(frozen=True)
class JudgmentRow:
    """Judgment with its location, and whether a program made it, if known."""

    where: str
    event: Event
    program: bool | None = None


def read_judgments(source: Any, kind: Kind | None, assessor: str | None) -> Iterator[JudgmentRow]:
    """Read the judgments of a file, a data frame or a dict of columns.

    ``assessor`` is the name of the assessor if the rows have none.
    """
    if not isinstance(source, str | os.PathLike):
        return _parse_table("judgments", to_arrow(source), assessor)
    path = os.fspath(source)
    suffix, _ = file_extension(path)
    if kind in (None, "table") and suffix == ".json":
        return _parse_table(path, _to_table(path, read_json(path)), assessor)
    if kind == "table" or (kind is None and (suffix in TEXTS or suffix in BINARIES)):
        return _read_file(path, assessor)
    check_file(path, "judgments")
    kind = kind or _detect_kind(path)
    try:
        rows, _ = rows_of_file(path, kind, lenient=False)  # type: ignore[arg-type]
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise InputError(str(error)) from None
    return _parse_qrels(rows, assessor) if kind == "qrels" else _parse_prefs(rows, assessor)


def _detect_kind(path: str) -> Kind:
    from calipers.data.plain_text import first_line

    fields = len(first_line(path))
    if fields == 5:
        raise InputError(
            f"{path}: 5 fields are preferences (--kind prefs), or judgments of a sample; {_SAMPLED}"
        )
    return "qrels"


def _check_assessor(where: str, assessor: str | None) -> str:
    if assessor is None:
        raise InputError(f"{where}: does not say who judged; name the assessor (--assessor)")
    return assessor


def _parse_qrels(rows: JudgmentRows, assessor: str | None) -> Iterator[JudgmentRow]:
    who = _check_assessor(rows.path or "judgments", assessor)
    for row in range(len(rows.level)):
        topic, document = _ids(rows, row, rows.topic, rows.document)
        yield JudgmentRow(
            _format_location(rows, row), _event(who, topic, document, int(rows.level[row]))
        )


def _parse_prefs(rows: JudgmentRows, assessor: str | None) -> Iterator[JudgmentRow]:
    """Yield the pairs of each part of TREC preferences; the higher level is preferred."""
    parts: dict[tuple[str, str, bytes], list[int]] = defaultdict(list)
    for row in range(len(rows.level)):
        topic, group = _ids(rows, row, rows.topic, rows.group)
        part = b"" if rows.part is None else rows.part[row].as_py()
        parts[topic, group, part].append(row)
    if parts and max(map(len, parts.values())) < 2:
        raise InputError(f"{rows.path}: no part compares two documents; {_SAMPLED}")
    for (topic, group, _), own in parts.items():
        if len(own) > _MOST_OF_PART:
            raise InputError(
                f"{_format_location(rows, own[0])}: {len(own)} documents are compared at once, "
                "expected no "
                f"more than {_MOST_OF_PART}"
            )
        for a, b in combinations(own, 2):
            document, other = _ids(rows, a, rows.document)[0], _ids(rows, b, rows.document)[0]
            sign = (rows.level[a] > rows.level[b]) - 1 * (rows.level[a] < rows.level[b])
            event = _event(assessor or group, topic, document, int(sign))
            yield JudgmentRow(_format_location(rows, b), replace(event, other=other))


def _format_location(rows: JudgmentRows, row: int) -> str:
    return f"{rows.path}:{rows.line[row]}"


def _ids(rows: JudgmentRows, row: int, *columns: Any) -> list[str]:
    try:
        return [column[row].as_py().decode() for column in columns]
    except UnicodeDecodeError:
        raise InputError(f"{_format_location(rows, row)}: an id is not UTF-8") from None


def _event(assessor: str, topic: str, document: str, grade: int) -> Event:
    return Event(f"import-{uuid4().hex}", assessor, topic, document, "import", grade)


def _read_file(path: str, assessor: str | None) -> Iterator[JudgmentRow]:
    from calipers.report.spreadsheets import unescape_formula

    texts = [name for names in (*COLUMNS.values(),) for name in names if name not in _NUMBERS]
    table = read_table(path, text=texts)
    is_csv = TEXTS.get(file_extension(path)[0]) in ("csv", "tsv")
    return _parse_table(path, table, assessor, unescape_formula if is_csv else str)


def _to_table(path: str, rows: Any) -> Any:
    """Convert a list of objects, or an object with the grades by topic and document, to a table."""
    import pyarrow as pa

    if isinstance(rows, dict) and all(isinstance(of, dict) for of in rows.values()):
        graded = [(topic, d, grade) for topic, of in rows.items() for d, grade in of.items()]
        rows = [dict(zip(("topic", "document", "grade"), row, strict=True)) for row in graded]
    if not isinstance(rows, list):
        raise InputError(
            f"{path}: expected a list of objects, or grades by topic and document, is "
            f"{format_value(rows)}"
        )
    for place, row in enumerate(rows):
        if not isinstance(row, dict):
            raise InputError(f"{path}: row {place}: expected an object, is {format_value(row)}")
    names = dict.fromkeys(name for row in rows for name in row)
    with read_errors(path, "judgments"):
        return pa.table({name: [row.get(name) for row in rows] for name in names})


_NUMBERS = {*GRADE, "seconds", "shown", "again"}


def _parse_table(
    path: str, table: Any, assessor: str | None, plain: Any = str
) -> Iterator[JudgmentRow]:
    names = table.column_names
    if "part" in names and "other" not in names:
        raise InputError(
            f"{path}: has a column of parts, as TREC's preferences have; expected their text "
            "(--kind prefs), or a table with the columns document, other and grade"
        )
    found = {
        what: next((name for name in accepted if name in names), None)
        for what, accepted in COLUMNS.items()
    }
    for what in ("topic", "document", "grade"):
        if found[what] is None:
            raise InputError(
                f"{path}: no column {what!r} (nor {format_names(COLUMNS[what])}); "
                f"{did_you_mean(what, names)}"
            )
    if found["assessor"] is None:
        _check_assessor(path, assessor)
    columns = {what: table.column(name).to_pylist() for what, name in found.items() if name}
    for row, values in enumerate(zip(*columns.values(), strict=True)):
        given = dict(zip(columns, values, strict=True))
        where = f"{path}: row {row}"
        kind = given.get("kind")
        if kind not in (None, "person", "program"):
            raise InputError(f"{where}: kind is {format_value(kind)}, expected person or program")
        event = _to_event(where, given, assessor, plain)
        yield JudgmentRow(where, event, None if kind is None else kind == "program")


def _to_event(where: str, given: Mapping[str, Any], assessor: str | None, plain: Any) -> Event:
    texts = {}
    for what in ("assessor", "topic", "document", "other", "note"):
        value = given.get(what)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, str | int):
            raise InputError(f"{where}: {what} is {format_value(value)}, expected text")
        texts[what] = plain(str(value))
    for what in ("topic", "document"):
        if what not in texts:
            raise InputError(f"{where}: the {what} is missing")
    grade = _parse_int(where, "grade", given["grade"])
    if grade is None:
        raise InputError(f"{where}: the grade is missing")
    event = _event(
        texts.get("assessor") or _check_assessor(where, assessor),
        texts["topic"],
        texts["document"],
        grade,
    )
    seconds = given.get("seconds")
    if isinstance(seconds, bool) or not isinstance(seconds, int | float | None):
        raise InputError(f"{where}: seconds is {format_value(seconds)}, expected a number")
    return replace(
        event,
        other=texts.get("other"),
        note=texts.get("note"),
        time=_time(where, given.get("time")),
        seconds=None if seconds is None else float(seconds),
        shown=_parse_int(where, "shown", given.get("shown")),
        again=bool(_parse_int(where, "again", given.get("again"))),
    )


def _parse_int(where: str, what: str, value: Any) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, str) and value.strip().lower() in ("true", "false"):
        return int(value.strip().lower() == "true")
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        number = None
    if number is None or (isinstance(value, float) and number != value) or abs(number) >= 2**31:
        raise InputError(f"{where}: {what} is {format_value(value)}, expected a whole number")
    return number


def _time(where: str, value: Any) -> str | None:
    """Convert a time to UTC; without a time zone it is in UTC."""
    if value is None:
        return None
    if not isinstance(value, datetime):
        try:
            value = datetime.fromisoformat(str(value).strip().replace("Z", "+00:00"))
        except ValueError:
            raise InputError(
                f"{where}: time is {format_value(value)}, expected 2026-01-31T12:00:00"
            ) from None
    if value.tzinfo is None:
        value = value.replace(tzinfo=timezone.utc)
    try:
        return str(value.astimezone(timezone.utc).isoformat(timespec="milliseconds"))
    except OverflowError:
        raise InputError(f"{where}: time is {format_value(value)}, which is out of range") from None
