"""Import of judgments from files of any format, recorded as events."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime, timezone
from itertools import combinations
from typing import Any, Literal, TypeAlias
from uuid import uuid4

from calipers.campaign import events
from calipers.campaign.records import Assessor, Event
from calipers.campaign.store import Campaign
from calipers.data.errors import InputError, did_you_mean, format_names, format_value
from calipers.data.grouped_judgments import JudgmentRows, rows_from_file
from calipers.data.tables import (
    BINARY_FORMATS,
    TEXT_FORMATS,
    check_file,
    file_extension,
    read_errors,
    read_json,
    read_table,
    to_arrow,
)
from calipers.data.trec_tables import DOCUMENT, GRADE, TOPIC
from calipers.lazy_dataclasses import dataclass


@dataclass(frozen=True)
class ImportSummary:
    """Summary of an import.

    The counts are those of judgments that are new, that replaced others, that existed already with
    the same grade, of documents marked as not judged (a negative grade), of topics that the
    campaign does not have, and those that ``missing`` excluded. ``assessors`` are the new
    assessors.
    """

    new: int = 0
    replaced: int = 0
    unchanged: int = 0
    unjudged: int = 0
    unknown_topic: int = 0
    not_missing: int = 0
    assessors: tuple[str, ...] = ()


@dataclass
class _ImportCounts:
    counts: dict[str, int] = field(default_factory=lambda: defaultdict(int))

    def add(self, kind: str) -> None:
        self.counts[kind] += 1


def import_judgments(
    campaign: Campaign,
    source: Any,
    *,
    assessor: str | None = None,
    kind: Kind | None = None,
    is_program: bool = False,
    participant: str | None = None,
    details: Mapping[str, Any] | None = None,
    skip_unknown_topics: bool = False,
    overwrite: bool = False,
    only_missing: bool = False,
) -> ImportSummary:
    """Record judgments made elsewhere as events of named assessors: all of a file, or none.

    Parameters
    ----------
    campaign : Campaign
        Campaign that the judgments are added to.
    source : path, data frame or dict of columns
        A file of TREC judgments (four fields) or preferences (five); a table (CSV, Parquet,
        Feather, JSON Lines) with the columns topic, document and grade, and, if known, assessor,
        other_document (of a preference, whose grade is 1, 0 or −1), time, seconds,
        display_position, is_repeat and note; or a data frame or a dict of such columns.
    assessor : str, optional
        Name of the assessor if the rows have none. In TREC preferences it is the second field.
    kind : {"qrels", "prefs", "table"}, optional
        Content of a file. It has to be given for TREC text whose fields are ambiguous.
    is_program : bool, default=False
        Whether the assessors are programs, such as language models, rather than persons, unless a
        column kind (person or program) says so. Programs are assessors like others, but never
        replace persons.
    participant : str, optional
        Group that new assessors belong to.
    details : mapping, optional
        Details of new assessors, such as ``{"model": …, "prompt": …}``.
    skip_unknown_topics : bool, default=False
        Whether to skip topics that the campaign does not have; otherwise they are an error.
    overwrite : bool, default=False
        Whether a grade replaces another one of the same assessor for the same document; otherwise
        that is an error. The same grade again is not an event.
    only_missing : bool, default=False
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
        topic_names = dict.fromkeys(topic.topic for topic in campaign.topics())
        registry = _AssessorRegistry(campaign, participant, details)
        current_events = _current_events(campaign)
        scope = _ImportScope(campaign) if only_missing else None
        grades = campaign.info.grades
        first_by_key: dict[tuple[Any, ...], tuple[str, int | None]] = {}
        for row in rows:
            event = row.event
            if event.topic not in topic_names:
                if not skip_unknown_topics:
                    raise InputError(
                        f"{row.location}: topic {format_value(event.topic)} is not of this "
                        f"campaign; {did_you_mean(event.topic, topic_names)} (--only-known "
                        "skips it)"
                    )
                counts.add("unknown_topic")
                continue
            if (
                event.other_document is None
                and (event.grade or 0) < 0
                and event.grade not in grades
            ):
                counts.add("unjudged")
                continue
            try:
                events.check_event(event, grades)
                registry.ensure(
                    event.assessor, program=is_program if row.is_program is None else row.is_program
                )
            except InputError as error:
                raise InputError(f"{row.location}: {error}") from None
            key, grade = _judgment_key(event)
            if scope is not None and (key in current_events or event not in scope):
                counts.add("not_missing")
                continue
            if key in first_by_key:
                raise InputError(
                    f"{row.location}: topic {format_value(event.topic)}, document "
                    f"{format_value(event.document)} of {event.assessor} occurs twice, first in "
                    f"{first_by_key[key][0]}"
                )
            first_by_key[key] = row.location, grade
            event_number, before = current_events.get(key, (None, None))
            if event_number is not None and before == grade:
                counts.add("unchanged")
                continue
            if event_number is not None and not overwrite:
                raise InputError(
                    f"{row.location}: topic {format_value(event.topic)}, document "
                    f"{format_value(event.document)}: {event.assessor} judged {before} (event "
                    f"{event_number}) and not {grade}; expected the same grade (--replace "
                    "replaces it)"
                )
            counts.add("new" if event_number is None else "replaced")
            events.insert_event(connection, replace(event, replaces=event_number))
    return ImportSummary(**counts.counts, assessors=tuple(registry.new))


def _judgment_key(event: Event) -> tuple[tuple[Any, ...], int | None]:
    """Return what is judged, and the grade; that of a sorted pair is relative to its first."""
    key = event.assessor, event.topic, event.is_repeat
    if event.other_document is None:
        return (*key, event.document), event.grade
    assert event.grade is not None
    if event.document < event.other_document:
        return (*key, event.document, event.other_document), event.grade
    return (*key, event.other_document, event.document), -event.grade


def _current_events(campaign: Campaign) -> dict[tuple[Any, ...], tuple[int, int | None]]:
    event_by_key: dict[tuple[Any, ...], tuple[int, int | None]] = {}
    for judgment in campaign.judgments():
        key = judgment.assessor, judgment.topic, judgment.is_repeat, judgment.document
        event_by_key[key] = judgment.event, judgment.grade
    for preference in campaign.preferences():
        pair = Event(
            "", preference.assessor, preference.topic, preference.document,
            grade=preference.grade, other_document=preference.other_document,
            is_repeat=preference.is_repeat,
        )  # fmt: skip
        key, grade = _judgment_key(pair)
        event_by_key[key] = preference.event, grade
    return event_by_key


class _ImportScope:
    """Documents that are requested from an assessor.

    They are sampled documents of the topics assigned to the assessor, or of all topics if none is.
    """

    def __init__(self, campaign: Campaign) -> None:
        self._sampled = {
            (entry.topic, entry.document) for entry in campaign.pool() if entry.sampled
        }
        self._topics = campaign.assignments()

    def __contains__(self, event: Event) -> bool:
        documents = (
            [event.document]
            if event.other_document is None
            else [event.document, event.other_document]
        )
        assigned_topics = self._topics.get(event.assessor)
        return (assigned_topics is None or event.topic in assigned_topics) and all(
            (event.topic, document) in self._sampled for document in documents
        )


class _AssessorRegistry:
    """Assessors of a campaign, to which those of a file are added."""

    def __init__(
        self, campaign: Campaign, participant: str | None, details: Mapping[str, Any] | None
    ) -> None:
        self._campaign, self._assessor_by_name = campaign, campaign.assessors()
        self._participant, self._details = participant, details or {}
        self.new: list[str] = []

    def ensure(self, name: str, *, program: bool) -> None:
        """Check that an assessor exists and is of this kind, and add a new one."""
        kind: Literal["person", "program"] = "program" if program else "person"
        assessor = self._assessor_by_name.get(name)
        if assessor is None:
            assessor = Assessor(name, self._participant, kind, details=self._details)
            self._campaign.add_assessor(assessor)
            self._assessor_by_name[name] = assessor
            self.new.append(name)
        if assessor.kind != kind:
            raise InputError(f"assessor {format_value(name)} is a {assessor.kind}, not a {kind}")


def format_import_summary(summary: ImportSummary) -> Iterable[str]:
    """Format the summary of an import as lines."""
    from calipers.report.numbers import format_count

    yield f"{format_count(summary.new, 'judgments')} added" + (
        f", {summary.replaced:,} replaced" if summary.replaced else ""
    )
    if summary.unchanged:
        yield f"{summary.unchanged:,} were recorded already"
    if summary.unjudged:
        yield f"{summary.unjudged:,} have a negative grade, which means not judged"
    if summary.unknown_topic:
        yield (
            f"{summary.unknown_topic:,} are of topics that the campaign does not have, "
            "and were skipped"
        )
    if summary.not_missing:
        yield f"{summary.not_missing:,} are not missing, and were skipped"
    if summary.assessors:
        yield f"new: {format_names(summary.assessors)}"


#: Content of a file: TREC judgments, TREC preferences, or a table of either.
Kind: TypeAlias = Literal["qrels", "prefs", "table"]

#: Names of the columns of a table.
COLUMNS: Mapping[str, Sequence[str]] = {
    "assessor": ("assessor", "rater", "annotator", "judge", "worker"),
    "kind": ("kind",),
    "topic": TOPIC,
    "document": DOCUMENT,
    "other_document": ("other_document", "other"),
    "grade": GRADE,
    "time": ("time", "timestamp"),
    "seconds": ("seconds",),
    "display_position": ("display_position", "shown"),
    "is_repeat": ("is_repeat", "again"),
    "note": ("note", "comment"),
}

#: Advice if a file has the five fields of sample_eval.
_SAMPLE_ADVICE = (
    "strata and probabilities of a sample cannot be imported (calipers campaign sample draws one), "
    "grades can: as a table with the columns topic, doc and grade"
)

#: Maximum number of documents of a subgroup of TREC preferences, all pairs of which are imported.
_MAX_SUBGROUP_DOCUMENTS = 200


@dataclass(frozen=True)
class JudgmentRow:
    """Judgment with its location, and whether a program made it, if known."""

    location: str
    event: Event
    is_program: bool | None = None


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
    if kind == "table" or (kind is None and (suffix in TEXT_FORMATS or suffix in BINARY_FORMATS)):
        return _read_file(path, assessor)
    check_file(path, "judgments")
    kind = kind or _detect_kind(path)
    try:
        rows, _ = rows_from_file(path, kind, lenient=False)  # type: ignore[arg-type]
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
            f"{path}: 5 fields are preferences (--kind prefs), or judgments of a sample; "
            f"{_SAMPLE_ADVICE}"
        )
    return "qrels"


def _check_assessor(location: str, assessor: str | None) -> str:
    if assessor is None:
        raise InputError(f"{location}: does not say who judged; name the assessor (--assessor)")
    return assessor


def _parse_qrels(rows: JudgmentRows, assessor: str | None) -> Iterator[JudgmentRow]:
    assessor_name = _check_assessor(rows.path or "judgments", assessor)
    for row in range(len(rows.level)):
        topic, document = _decode_ids(rows, row, rows.topic, rows.document)
        yield JudgmentRow(
            _format_location(rows, row),
            _make_event(assessor_name, topic, document, int(rows.level[row])),
        )


def _parse_prefs(rows: JudgmentRows, assessor: str | None) -> Iterator[JudgmentRow]:
    """Yield the pairs of each subgroup of TREC preferences; the higher level is preferred."""
    rows_by_subgroup: dict[tuple[str, str, bytes], list[int]] = defaultdict(list)
    for row in range(len(rows.level)):
        topic, group = _decode_ids(rows, row, rows.topic, rows.group)
        subgroup = b"" if rows.subgroup is None else rows.subgroup[row].as_py()
        rows_by_subgroup[topic, group, subgroup].append(row)
    if rows_by_subgroup and max(map(len, rows_by_subgroup.values())) < 2:
        raise InputError(f"{rows.path}: no subgroup compares two documents; {_SAMPLE_ADVICE}")
    for (topic, group, _), subgroup_rows in rows_by_subgroup.items():
        if len(subgroup_rows) > _MAX_SUBGROUP_DOCUMENTS:
            raise InputError(
                f"{_format_location(rows, subgroup_rows[0])}: {len(subgroup_rows)} documents are "
                f"compared at once, expected at most {_MAX_SUBGROUP_DOCUMENTS}"
            )
        for a, b in combinations(subgroup_rows, 2):
            document, other_document = (
                _decode_ids(rows, a, rows.document)[0],
                _decode_ids(rows, b, rows.document)[0],
            )
            sign = (rows.level[a] > rows.level[b]) - 1 * (rows.level[a] < rows.level[b])
            event = _make_event(assessor or group, topic, document, int(sign))
            yield JudgmentRow(
                _format_location(rows, b), replace(event, other_document=other_document)
            )


def _format_location(rows: JudgmentRows, row: int) -> str:
    return f"{rows.path}:{rows.line[row]}"


def _decode_ids(rows: JudgmentRows, row: int, *columns: Any) -> list[str]:
    try:
        return [column[row].as_py().decode() for column in columns]
    except UnicodeDecodeError:
        raise InputError(f"{_format_location(rows, row)}: an id is not UTF-8") from None


def _make_event(assessor: str, topic: str, document: str, grade: int) -> Event:
    return Event(f"import-{uuid4().hex}", assessor, topic, document, "import", grade)


def _read_file(path: str, assessor: str | None) -> Iterator[JudgmentRow]:
    from calipers.report.spreadsheets import unescape_formula

    text_columns = [
        name for names in (*COLUMNS.values(),) for name in names if name not in _NUMBER_COLUMNS
    ]
    table = read_table(path, text=text_columns)
    is_csv = TEXT_FORMATS.get(file_extension(path)[0]) in ("csv", "tsv")
    return _parse_table(path, table, assessor, unescape_formula if is_csv else str)


def _to_table(path: str, rows: Any) -> Any:
    """Convert a list of objects, or an object with the grades by topic and document, to a table."""
    import pyarrow as pa

    if isinstance(rows, dict) and all(
        isinstance(topic_grades, dict) for topic_grades in rows.values()
    ):
        graded = [
            (topic, d, grade)
            for topic, topic_grades in rows.items()
            for d, grade in topic_grades.items()
        ]
        rows = [dict(zip(("topic", "document", "grade"), row, strict=True)) for row in graded]
    if not isinstance(rows, list):
        raise InputError(
            f"{path}: expected a list of objects, or grades by topic and document, is "
            f"{format_value(rows)}"
        )
    for index, row in enumerate(rows):
        if not isinstance(row, dict):
            raise InputError(f"{path}: row {index}: expected an object, is {format_value(row)}")
    names = dict.fromkeys(name for row in rows for name in row)
    with read_errors(path, "judgments"):
        return pa.table({name: [row.get(name) for row in rows] for name in names})


_NUMBER_COLUMNS = {*GRADE, "seconds", *COLUMNS["display_position"], *COLUMNS["is_repeat"]}


def _parse_table(
    path: str, table: Any, assessor: str | None, unescape: Any = str
) -> Iterator[JudgmentRow]:
    names = table.column_names
    if not {"subgroup", "part"}.isdisjoint(names) and not set(COLUMNS["other_document"]) & set(
        names
    ):
        raise InputError(
            f"{path}: has a column of subgroups, as TREC's preferences have; expected their text "
            "(--kind prefs), or a table with the columns document, other_document and grade"
        )
    column_by_field = {
        field_name: next((name for name in accepted if name in names), None)
        for field_name, accepted in COLUMNS.items()
    }
    for field_name in ("topic", "document", "grade"):
        if column_by_field[field_name] is None:
            raise InputError(
                f"{path}: no column {field_name!r} (nor {format_names(COLUMNS[field_name])}); "
                f"{did_you_mean(field_name, names)}"
            )
    if column_by_field["assessor"] is None:
        _check_assessor(path, assessor)
    columns = {
        field_name: table.column(name).to_pylist()
        for field_name, name in column_by_field.items()
        if name
    }
    for row, values in enumerate(zip(*columns.values(), strict=True)):
        fields = dict(zip(columns, values, strict=True))
        location = f"{path}: row {row}"
        kind = fields.get("kind")
        if kind not in (None, "person", "program"):
            raise InputError(
                f"{location}: kind is {format_value(kind)}, expected person or program"
            )
        event = _to_event(location, fields, assessor, unescape)
        yield JudgmentRow(location, event, None if kind is None else kind == "program")


def _to_event(
    location: str, fields: Mapping[str, Any], assessor: str | None, unescape: Any
) -> Event:
    text_fields = {}
    for field_name in ("assessor", "topic", "document", "other_document", "note"):
        value = fields.get(field_name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, str | int):
            raise InputError(f"{location}: {field_name} is {format_value(value)}, expected text")
        text_fields[field_name] = unescape(str(value))
    for field_name in ("topic", "document"):
        if field_name not in text_fields:
            raise InputError(f"{location}: the {field_name} is missing")
    grade = parse_int(location, "grade", fields["grade"])
    if grade is None:
        raise InputError(f"{location}: the grade is missing")
    event = _make_event(
        text_fields.get("assessor") or _check_assessor(location, assessor),
        text_fields["topic"],
        text_fields["document"],
        grade,
    )
    seconds = fields.get("seconds")
    if isinstance(seconds, bool) or not isinstance(seconds, int | float | None):
        raise InputError(f"{location}: seconds is {format_value(seconds)}, expected a number")
    return replace(
        event,
        other_document=text_fields.get("other_document"),
        note=text_fields.get("note"),
        time=_to_utc(location, fields.get("time")),
        seconds=None if seconds is None else float(seconds),
        display_position=parse_int(location, "display_position", fields.get("display_position")),
        is_repeat=bool(parse_int(location, "is_repeat", fields.get("is_repeat"))),
    )


def parse_int(location: str, field_name: str, value: Any) -> int | None:
    """Return a whole number of less than 32 bits, or None of a missing value."""
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
        raise InputError(
            f"{location}: {field_name} is {format_value(value)}, expected a whole number"
        )
    return number


def _to_utc(location: str, value: Any) -> str | None:
    """Convert a time to UTC; without a time zone it is in UTC."""
    if value is None:
        return None
    if not isinstance(value, datetime):
        try:
            value = datetime.fromisoformat(str(value).strip().replace("Z", "+00:00"))
        except ValueError:
            raise InputError(
                f"{location}: time is {format_value(value)}, expected 2026-01-31T12:00:00"
            ) from None
    if value.tzinfo is None:
        value = value.replace(tzinfo=timezone.utc)
    try:
        return str(value.astimezone(timezone.utc).isoformat(timespec="milliseconds"))
    except OverflowError:
        raise InputError(
            f"{location}: time is {format_value(value)}, which is out of range"
        ) from None
