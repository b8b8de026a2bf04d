"""Export of a campaign for other tools: judgments, samples, preferences and runs."""

from __future__ import annotations

import gzip
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from io import BytesIO
from typing import Any
from urllib.parse import quote

from calipers.campaign import tidy_tables
from calipers.campaign.adjudication import adjudicated_grades
from calipers.campaign.records import Judgment, Preference
from calipers.campaign.store import Campaign
from calipers.data.errors import InputError, did_you_mean, format_value
from calipers.data.formats import check_writable, write_rows
from calipers.data.tables import BINARY_FORMATS, TEXT_FORMATS, file_extension
from calipers.data.trec import read_rows
from calipers.lazy_dataclasses import dataclass
from calipers.report.numbers import format_count


@dataclass(frozen=True)
class ExportFile:
    """Content of an exported file, with notes about it."""

    content: bytes
    notes: tuple[str, ...] = ()


def is_table(path: str) -> bool:
    """Return whether a name is that of a table rather than of TREC text.

    Tables are CSV, TSV, JSON, JSON Lines, Parquet and Feather.

    Raises
    ------
    InputError
        If the extension is that of neither.
    """
    suffix, _ = file_extension(path)
    if suffix in TEXT_FORMATS or suffix in BINARY_FORMATS or suffix == ".json":
        return True
    if not tidy_tables.is_trec_extension(suffix):
        raise InputError(
            f"{path}: the extension {suffix} is not supported; expected .txt, .trec or none for "
            "TREC text, or .csv, .tsv, .json, .jsonl, .parquet or .feather"
        )
    return False


def compress_file(path: str, export: Callable[[str], ExportFile]) -> ExportFile:
    """Make a file for a path without its compression extension, and compress it if it has one."""
    check_writable(path)
    _, compression = file_extension(path)
    exported = export(path[: len(path) - len(compression)])
    if compression == ".gz":
        return replace(exported, content=gzip.compress(exported.content, mtime=0))
    if compression == ".zst":
        import pyarrow as pa

        return replace(exported, content=pa.compress(exported.content, codec="zstd", asbytes=True))
    return exported


def export_qrels(
    campaign: Campaign, path: str, *, assessor: str | None = None, rule: str = "majority"
) -> ExportFile:
    """Export judgments in the format of ``path``: TREC's four fields, JSON, or a table.

    Each document has one grade, as returned by
    :func:`~calipers.campaign.adjudication.adjudicated_grades`. Pooled documents without a grade,
    including those that were not sampled, have −1.
    """
    is_table(path)
    grades_by_topic, notes = _collect_grades(campaign, assessor, rule)
    columns: dict[str, list[Any]] = {"topic": [], "doc": [], "grade": []}
    for topic, topic_grades in grades_by_topic.items():
        for document, grade in topic_grades.items():
            columns["topic"].append(topic)
            columns["doc"].append(document)
            columns["grade"].append(grade)
    if not columns["topic"]:
        programs = any(judge.kind == "program" for judge in campaign.assessors().values())
        programs_note = (
            "; judgments of programs are exported if one is named (--assessor)" if programs else ""
        )
        raise InputError(
            f"{campaign.path}: nothing is judged by persons or pooled yet{programs_note}"
        )
    rows, _ = read_rows("judgments", columns, "qrels")
    stream = BytesIO()
    write_rows(rows, "qrels", path, stream)
    return ExportFile(stream.getvalue(), tuple(notes))


def export_sampled_judgments(
    campaign: Campaign, path: str, *, assessor: str | None = None, rule: str = "majority"
) -> ExportFile:
    """Export the judgments of a sampled pool with their strata.

    Text has the five fields of sample_eval (topic, 0, document, stratum, grade); a table also has
    the inclusion probability of each document.
    """
    as_table = is_table(path)
    graded, notes = _collect_grades(campaign, assessor, rule)
    sizes_by_stratum = {
        (record.topic, record.stratum): (record.sampled, record.size)
        for record in campaign.strata()
    }
    columns: dict[str, list[Any]] = {
        name: [] for name in ("topic", "doc", "stratum", "grade", "probability")
    }
    for entry in campaign.pool():
        stratum = entry.stratum or "1"
        n_sampled, size = sizes_by_stratum.get((entry.topic, stratum), (1, 1))
        row = (
            entry.topic,
            entry.document,
            stratum,
            graded[entry.topic][entry.document],
            n_sampled / size,
        )
        for name, value in zip(columns, row, strict=True):
            columns[name].append(value)
    n_pooled = len(columns["topic"])
    if not n_pooled:
        raise InputError(f"{campaign.path}: nothing is pooled yet, so there is no sample")
    n_unpooled = sum(map(len, graded.values())) - n_pooled
    if n_unpooled:
        notes.append(f"judged but not pooled, and omitted: {format_count(n_unpooled, 'documents')}")
    if as_table:
        import pyarrow as pa

        return ExportFile(
            tidy_tables.format_table(pa.table(columns), path, escape_formulas=False), tuple(notes)
        )
    lines = (
        " ".join(
            (_check_field(topic), "0", _check_field(document), _check_field(stratum), str(grade))
        )
        for topic, document, stratum, grade, _ in zip(*columns.values(), strict=True)
    )
    return ExportFile(_encode_lines(lines), tuple(notes))


def _collect_grades(
    campaign: Campaign, assessor: str | None, rule: str
) -> tuple[dict[str, dict[str, int]], list[str]]:
    """Return the grade of each judged or pooled document, −1 if it is not judged, and notes."""
    adjudicated = adjudicated_grades(campaign, assessor=assessor, rule=rule)
    graded: dict[str, dict[str, int]] = {topic.topic: {} for topic in campaign.topics()}
    n_missing = 0
    for entry in campaign.pool():
        grade = adjudicated.grades.get(entry.topic, {}).get(entry.document)
        n_missing += grade is None and entry.sampled
        graded[entry.topic][entry.document] = -1 if grade is None else grade
    for topic, topic_grades in adjudicated.grades.items():
        graded[topic].update(topic_grades)
    notes = []
    if n_missing:
        notes.append(f"not judged yet, and −1: {format_count(n_missing, 'documents')}")
    if adjudicated.disputed:
        disputed_count = format_count(len(adjudicated.disputed), "documents")
        notes.append(
            f"assessors disagree on {disputed_count} without an adjudication; rule: {rule}"
        )
    if adjudicated.programs_only:
        program_count = format_count(len(adjudicated.programs_only), "documents")
        notes.append(f"judged by programs only, which are exported if named: {program_count}")
    return graded, notes


#: The columns of preferences, in the order of TREC's text.
PREFERENCE_COLUMNS = "topic", "assessor", "subgroup", "doc", "grade"


def export_preferences(
    campaign: Campaign, path: str = "", *, assessor: str | None = None
) -> ExportFile:
    """Export preferences in TREC's format, or as a table by the extension of ``path``.

    The fields are topic, assessor, pair, document and level. The preferred document of a pair has
    level 2 and the other one 1; both have 1 if neither is preferred. If the preferences of an
    assessor are cyclic, which such a file must not contain, each pair is a group of its own.
    """
    as_table, assessors = is_table(path), campaign.assessors()
    preferences_by_assessor: dict[tuple[str, str], list[Preference]] = defaultdict(list)
    for entry in campaign.preferences(assessor, is_repeat=False):
        if assessor is not None or assessors[entry.assessor].kind == "person":
            preferences_by_assessor[entry.topic, entry.assessor].append(entry)
    if not preferences_by_assessor:
        raise InputError(f"{campaign.path}: there are no preferences yet")
    rows, cyclic_groups = list[tuple[str, str, str, str, int]](), list[str]()
    for (topic, name), assessor_preferences in preferences_by_assessor.items():
        is_cyclic = _is_cyclic(assessor_preferences)
        cyclic_groups += [f"{name} (topic {topic})"] * is_cyclic
        for pair_number, entry in enumerate(assessor_preferences, 1):
            group = (name if as_table else "_".join(name.split())) + f"-{pair_number}" * is_cyclic
            for document, level in (
                (entry.document, entry.grade > 0),
                (entry.other_document, entry.grade < 0),
            ):
                rows.append((topic, group, str(pair_number), document, 1 + level))
    message = (
        f"preferences are cyclic, and each pair is a group of its own: {', '.join(cyclic_groups)}"
    )
    notes = (message,) if cyclic_groups else ()
    if as_table:
        import pyarrow as pa

        columns = dict(zip(PREFERENCE_COLUMNS, map(list, zip(*rows, strict=True)), strict=True))
        return ExportFile(
            tidy_tables.format_table(pa.table(columns), path, escape_formulas=False), notes
        )
    return ExportFile(
        _encode_lines(" ".join(_check_field(str(entry)) for entry in row) for row in rows), notes
    )


def _is_cyclic(preferences: list[Preference]) -> bool:
    """Return whether preferences are cyclic."""
    worse_documents: dict[str, set[str]] = defaultdict(set)
    for preference in preferences:
        if preference.grade:
            better_document, worse_document = (preference.document, preference.other_document)[
                :: preference.grade
            ]
            worse_documents[better_document].add(worse_document)
    while worse_documents:
        worst_documents = [
            document
            for document, below in worse_documents.items()
            if not below & worse_documents.keys()
        ]
        if not worst_documents:
            return True
        for document in worst_documents:
            del worse_documents[document]
    return False


def export_runs(campaign: Campaign) -> dict[str, ExportFile]:
    """Export the runs as TREC files, by file name."""
    return {
        f"{file_name(name)}.run": ExportFile(
            campaign.decode(f"run {format_value(name)}", zlib.decompress, content)
        )
        for name, content in campaign.read("SELECT run, content FROM runs ORDER BY run")
    }


def file_name(name: str) -> str:
    """Convert a name to a file name; special characters are percent-encoded, as %2F is."""
    encoded = quote(name, safe=" -_.,~+=@()[]")
    return f"%2E{encoded[1:]}" if encoded.startswith(".") else encoded


def _encode_lines(lines: Iterator[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def _check_field(text: str) -> str:
    """Check that a field of TREC text has no blanks, and return it."""
    if not text or any(sign in text for sign in " \t\n\v\f\r\0"):
        raise InputError(
            f"{format_value(text)}: is not a field of TREC text; expected text without blanks"
        )
    return text


def export_tables(campaign: Campaign, extension: str) -> Mapping[str, ExportFile]:
    """Export all data as tidy tables, by file name."""
    return {
        f"{name}.{extension}": ExportFile(
            tidy_tables.format_table(
                tidy_tables.read_tidy_table(campaign, name), f"{name}.{extension}"
            )
        )
        for name in tidy_tables.TABLES
    }


#: The columns of a table of judgments.
JUDGMENT_COLUMNS = (
    *("assessor", "kind", "topic", "document", "other_document", "grade"),
    *("time", "seconds", "display_position", "is_repeat", "event"),
)


def export_judgments(campaign: Campaign, assessor: str | None = None) -> Any:
    """Export all current grades and preferences as one table.

    It has the assessor, person or program, the time, and the duration, and can be imported again.
    (Decisions of adjudicators are not included; they are among ``tables``.)
    """
    assessors = campaign.assessors()
    if assessor is not None and assessor not in assessors:
        raise InputError(f"there is no assessor {assessor!r}; {did_you_mean(assessor, assessors)}")
    records: list[Judgment | Preference] = [
        *campaign.judgments(assessor),
        *campaign.preferences(assessor),
    ]
    rows = (
        {"other_document": None, **record._asdict(), "kind": assessors[record.assessor].kind}
        for record in records
    )
    return tidy_tables.build_table(JUDGMENT_COLUMNS, sorted(rows, key=lambda row: row["event"]))
