"""Export of a campaign for other tools: judgments, samples, preferences and runs."""

from __future__ import annotations

import gzip
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from io import BytesIO
from typing import Any
from urllib.parse import quote

from calipers.campaign import tidy_tables
from calipers.campaign.adjudication import adjudicated_grades
from calipers.campaign.records import Judgment, Preference
from calipers.campaign.store import Campaign
from calipers.data.errors import InputError, did_you_mean, format_value
from calipers.data.formats import check_writable, write_rows
from calipers.data.tables import BINARIES, TEXTS, file_extension
from calipers.data.trec import read_rows
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
    if suffix in TEXTS or suffix in BINARIES or suffix == ".json":
        return True
    if not tidy_tables.is_trec(suffix):
        raise InputError(
            f"{path}: {suffix} is no format of this; expected .txt, .trec or none for TREC's text, "
            "or .csv, .tsv, .json, .jsonl, .parquet or .feather"
        )
    return False


def compress_file(path: str, make: Callable[[str], ExportFile]) -> ExportFile:
    """Make a file for a path without its compression extension, and compress it if it has one."""
    check_writable(path)
    _, packed = file_extension(path)
    made = make(path[: len(path) - len(packed)])
    if packed == ".gz":
        return replace(made, content=gzip.compress(made.content, mtime=0))
    if packed == ".zst":
        import pyarrow as pa

        return replace(made, content=pa.compress(made.content, codec="zstd", asbytes=True))
    return made


def qrels(
    campaign: Campaign, path: str, *, assessor: str | None = None, rule: str = "majority"
) -> ExportFile:
    """Export judgments in the format of ``path``: TREC's four fields, JSON, or a table.

    Each document has one grade, as returned by
    :func:`~calipers.campaign.adjudication.adjudicated_grades`. Pooled documents without a grade,
    including those that were not sampled, have −1.
    """
    is_table(path)
    graded, notes = _collect_grades(campaign, assessor, rule)
    columns: dict[str, list[Any]] = {"topic": [], "doc": [], "grade": []}
    for topic, own in graded.items():
        for document, grade in own.items():
            columns["topic"].append(topic)
            columns["doc"].append(document)
            columns["grade"].append(grade)
    if not columns["topic"]:
        programs = any(one.kind == "program" for one in campaign.assessors().values())
        only = "; what programs judge is taken where one is named (--assessor)" if programs else ""
        raise InputError(f"{campaign.path}: nothing is judged by persons or pooled yet{only}")
    rows, _ = read_rows("judgments", columns, "qrels")
    stream = BytesIO()
    write_rows(rows, "qrels", path, stream)
    return ExportFile(stream.getvalue(), tuple(notes))


def format_sampled_judgments(
    campaign: Campaign, path: str, *, assessor: str | None = None, rule: str = "majority"
) -> ExportFile:
    """Export the judgments of a sampled pool with their strata.

    Text has the five fields of sample_eval (topic, 0, document, stratum, grade); a table also has
    the inclusion probability of each document.
    """
    as_table = is_table(path)
    graded, notes = _collect_grades(campaign, assessor, rule)
    drawn = {(of.topic, of.stratum): (of.sampled, of.size) for of in campaign.strata()}
    columns: dict[str, list[Any]] = {
        name: [] for name in ("topic", "doc", "stratum", "grade", "probability")
    }
    for one in campaign.pool():
        stratum = one.stratum or "1"
        taken, size = drawn.get((one.topic, stratum), (1, 1))
        row = one.topic, one.document, stratum, graded[one.topic][one.document], taken / size
        for name, value in zip(columns, row, strict=True):
            columns[name].append(value)
    pooled = len(columns["topic"])
    if not pooled:
        raise InputError(f"{campaign.path}: nothing is pooled yet, so there is no sample")
    more = sum(map(len, graded.values())) - pooled
    if more:
        notes.append(f"judged but not pooled, and left out: {format_count(more, 'documents')}")
    if as_table:
        import pyarrow as pa

        return ExportFile(
            tidy_tables.format_table(pa.table(columns), path, exact=True), tuple(notes)
        )
    lines = (
        " ".join((_field(topic), "0", _field(document), _field(stratum), str(grade)))
        for topic, document, stratum, grade, _ in zip(*columns.values(), strict=True)
    )
    return ExportFile(_lines(lines), tuple(notes))


def _collect_grades(
    campaign: Campaign, assessor: str | None, rule: str
) -> tuple[dict[str, dict[str, int]], list[str]]:
    """Return the grade of each judged or pooled document, −1 if it is not judged, and notes."""
    made = adjudicated_grades(campaign, assessor=assessor, rule=rule)
    graded: dict[str, dict[str, int]] = {topic.topic: {} for topic in campaign.topics()}
    missing = 0
    for one in campaign.pool():
        grade = made.grades.get(one.topic, {}).get(one.document)
        missing += grade is None and one.sampled
        graded[one.topic][one.document] = -1 if grade is None else grade
    for topic, own in made.grades.items():
        graded[topic].update(own)
    notes = []
    if missing:
        notes.append(f"not judged yet, and −1: {format_count(missing, 'documents')}")
    if made.disputed:
        several = format_count(len(made.disputed), "documents")
        notes.append(f"assessors differ about {several}, and nobody has decided; taken: {rule}")
    if made.programs_only:
        alone = format_count(len(made.programs_only), "documents")
        notes.append(f"judged by programs only, who count where they are named: {alone}")
    return graded, notes


#: The columns of preferences, in the order of TREC's text.
PREFERENCES = "topic", "assessor", "part", "doc", "grade"


def prefs(campaign: Campaign, path: str = "", *, assessor: str | None = None) -> ExportFile:
    """Export preferences in TREC's format, or as a table by the extension of ``path``.

    The fields are topic, assessor, pair, document and level. The preferred document of a pair has
    level 2 and the other one 1; both have 1 if neither is preferred. If the preferences of an
    assessor are cyclic, which such a file must not contain, each pair is a group of its own.
    """
    as_table, known = is_table(path), campaign.assessors()
    found: dict[tuple[str, str], list[Preference]] = defaultdict(list)
    for one in campaign.preferences(assessor, again=False):
        if assessor is not None or known[one.assessor].kind == "person":
            found[one.topic, one.assessor].append(one)
    if not found:
        raise InputError(f"{campaign.path}: there are no preferences yet")
    rows, circles = list[tuple[str, str, str, str, int]](), list[str]()
    for (topic, name), own in found.items():
        apart = _is_circular(own)
        circles += [f"{name} (topic {topic})"] * apart
        for place, one in enumerate(own, 1):
            group = (name if as_table else "_".join(name.split())) + f"-{place}" * apart
            for document, level in ((one.document, one.grade > 0), (one.other, one.grade < 0)):
                rows.append((topic, group, str(place), document, 1 + level))
    told = f"preferences go round in a circle, and stand each by itself: {', '.join(circles)}"
    notes = (told,) if circles else ()
    if as_table:
        import pyarrow as pa

        columns = dict(zip(PREFERENCES, map(list, zip(*rows, strict=True)), strict=True))
        return ExportFile(tidy_tables.format_table(pa.table(columns), path, exact=True), notes)
    return ExportFile(_lines(" ".join(_field(str(one)) for one in row) for row in rows), notes)


def _is_circular(own: list[Preference]) -> bool:
    """Return whether preferences are cyclic."""
    worse: dict[str, set[str]] = defaultdict(set)
    for one in own:
        if one.grade:
            better, other = (one.document, one.other)[:: one.grade]
            worse[better].add(other)
    while worse:
        last = [document for document, below in worse.items() if not below & worse.keys()]
        if not last:
            return True
        for document in last:
            del worse[document]
    return False


def runs(campaign: Campaign) -> dict[str, ExportFile]:
    """Export the runs as TREC files, by file name."""
    return {
        f"{file_name(name)}.run": ExportFile(zlib.decompress(content))
        for name, content in campaign.read("SELECT run, content FROM runs ORDER BY run")
    }


def file_name(name: str) -> str:
    """Convert a name to a file name; special characters are percent-encoded, as %2F is."""
    made = quote(name, safe=" -_.,~+=@()[]")
    return f"%2E{made[1:]}" if made.startswith(".") else made


def _lines(lines: Iterator[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def _field(text: str) -> str:
    """Check that a field of TREC text has no blanks, and return it."""
    if not text or any(sign in text for sign in " \t\n\v\f\r\0"):
        raise InputError(
            f"TREC text has no place for {format_value(text)}: its fields have no blanks"
        )
    return text


def tables(campaign: Campaign, kind: str) -> Mapping[str, ExportFile]:
    """Export all data as tidy tables, by file name."""
    return {
        f"{name}.{kind}": ExportFile(
            tidy_tables.format_table(tidy_tables.table(campaign, name), f"{name}.{kind}")
        )
        for name in tidy_tables.TABLES
    }


#: The columns of a table of judgments.
JUDGMENTS = (
    *("assessor", "kind", "topic", "document", "other", "grade"),
    *("time", "seconds", "shown", "again", "event"),
)


def judgments(campaign: Campaign, assessor: str | None = None) -> Any:
    """Export all current grades and preferences as one table.

    It has the assessor, person or program, the time, and the duration, and can be imported again.
    (Decisions of adjudicators are not included; they are among ``tables``.)
    """
    known = campaign.assessors()
    if assessor is not None and assessor not in known:
        raise InputError(f"there is no assessor {assessor!r}; {did_you_mean(assessor, known)}")
    given: list[Judgment | Preference] = [
        *campaign.judgments(assessor),
        *campaign.preferences(assessor),
    ]
    rows = ({"other": None, **one._asdict(), "kind": known[one.assessor].kind} for one in given)
    return tidy_tables.build_table(JUDGMENTS, sorted(rows, key=lambda row: row["event"]))
