"""Logs of evaluation tools: Inspect, lm-evaluation-harness, promptfoo and TREC's RAG track.

A log holds the scores of the samples of one model, or of several. Which tool wrote it is found by
its content. Logs become a table with a row for each score, as in :mod:`calipers.data.case_scores`.
"""

from __future__ import annotations

import json
import os
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.data.arrays import MAX_QUANTITY
from calipers.data.byte_sources import MAX_LINE_BYTES, ByteSource
from calipers.data.columns import file_origin
from calipers.data.errors import InputError, did_you_mean, format_names, format_value
from calipers.data.tables import TEXT_FORMATS, file_extension
from calipers.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    import pyarrow as pa

    from calipers.data.trec import InputOrigin

#: Names of the columns of the table that is made of logs.
CASE, SYSTEM, SCORE = "case", "system", "score"

#: Most bytes of a file in a zip archive: a small archive must not fill the memory.
MAX_MEMBER_BYTES = 1 << 29

#: Most samples that the header of a log may name.
MAX_PLANNED = 10_000_000

#: What is read of a file to see whether it can be a log: a table does not begin with an object.
_HEAD_BYTES = 1 << 16

#: Characters that are shown of the end of an incomplete document.
_END_SHOWN = 24

#: First bytes of a zip archive.
_ZIP_MAGIC = b"PK\x03\x04"
#: Compression of the files of an archive that Python knows only from version 3.14 on.
_ZSTANDARD = 93
_LOCAL_HEADER_BYTES = 30

#: Scores that Inspect writes as text, as its metrics count them; other words in lower case.
_INSPECT_TEXTS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
_INSPECT_WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}

#: Fields of a line of lm-evaluation-harness that are not metrics.
_LM_EVAL_FIELDS = frozenset(
    {
        *("doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics"),
        *("doc_hash", "prompt_hash", "target_hash"),
    }
)
#: Name of a file of samples, with the task and the time of the run.
_LM_EVAL_NAME = re.compile(r"samples_(.+)_(\d{4}-\d\d-\d\dT[\d.-]+)\.jsonl")

#: Failure reason of promptfoo for a test that did not run, rather than one that failed.
_PROMPTFOO_ERROR = 2
#: Variables that promptfoo adds while it runs.
_PROMPTFOO_RUNTIME = frozenset(("_conversation", "sessionId"))
#: Labels of prompts are at most this long in names of systems; others are the prompts themselves.
_MAX_LABEL = 60

_TREC_RAG = "TREC RAG"
#: Fields with the topic of a line of TREC's RAG track: of Nuggetizer, and of answers by year.
_TREC_RAG_TOPIC = ("qid", "topic_id", "narrative_id")
#: Credit of an assigned nugget by the label, and of a citation; NaN if a model gave no verdict.
_NUGGET_CREDIT = {"support": 1.0, "partial_support": 0.5, "not_support": 0.0, "failed": np.nan}
_CITATION_CREDIT = {"FS": 1.0, "PS": 0.5, "NS": 0.0}
#: Weights of nuggets by importance, by the word in the names of scores.
_NUGGET_WEIGHTS = {
    "vital": {"vital": 1.0, "okay": 0.0},
    "all": {"vital": 1.0, "okay": 1.0},
    "weighted": {"vital": 1.0, "okay": 0.5},
}


@dataclass(frozen=True)
class LogSample:
    """Scores of one sample of a case.

    Attributes
    ----------
    system, case : str
        Names of the system and the case.
    number : int
        Number of the sample among those of the case, such as its epoch.
    location : str
        File and sample in messages.
    scores : mapping of str to object
        Values as they are in the log, by scorer.
    columns : mapping of str to object
        Other values of the sample by the name of their column.
    failed : bool, default=False
        Whether the sample has no scores because of an error.
    identity : str, default=""
        What the case is made of: the same in the logs of all systems.
    """

    system: str
    case: str
    number: int
    location: str
    scores: Mapping[str, Any]
    columns: Mapping[str, Any]
    failed: bool = False
    identity: str = ""


@dataclass(frozen=True)
class EvaluationLog:
    """Log of an evaluation tool.

    Attributes
    ----------
    path : str
        The file.
    tool : str
        Name of the tool.
    task : str
        Name of the task; empty if the log does not name it.
    samples : sequence of LogSample
        Samples, also those that were planned and did not run.
    default_score : str, default=""
        Scorer that is used if none is named.
    notes : sequence of str
        Notes on the log.
    """

    path: str
    tool: str
    task: str
    samples: Sequence[LogSample]
    default_score: str = ""
    notes: Sequence[str] = ()

    @property
    def systems(self) -> list[str]:
        """Names of the systems, in the order of their samples."""
        return list(dict.fromkeys(sample.system for sample in self.samples))


@dataclass(frozen=True)
class LogTable:
    """Scores of logs, in a table with a row for each sample of a case and a system.

    Attributes
    ----------
    rows : pyarrow.Table
        Columns :data:`CASE`, :data:`SYSTEM` and :data:`SCORE`, and those of the logs.
    n_samples : int
        Largest number of samples of a case.
    notes : tuple of str
        Notes on the logs and their scores.
    origins : tuple of InputOrigin
        The files.
    locations : sequence of str
        File and sample of each row.
    """

    rows: pa.Table
    n_samples: int
    notes: tuple[str, ...]
    origins: tuple[InputOrigin, ...]
    locations: Sequence[str] = field(repr=False)

    def check_range(self, score_range: tuple[float, float]) -> None:
        """Check that all scores lie in a range."""
        low, high = score_range
        for text, location in zip(self.rows[SCORE].to_pylist(), self.locations, strict=True):
            if text is not None and text != "error" and not low <= float(text) <= high:
                raise InputError(
                    f"{location}: the score is {text}, expected {low:g} to {high:g}, the range "
                    "stated as score_range"
                )


# --- Detection ------------------------------------------------------------------------------------


def is_log(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is a log of one of the tools, by its content."""
    return _detect(os.fspath(path)) is not None


def _detect(path: str) -> str | None:
    """Return the form of a log; None for another file."""
    if not os.path.isfile(path):
        return None
    source = ByteSource.from_input(path)
    try:
        start = source.head
        if start.startswith(_ZIP_MAGIC[:2]):
            return "zip" if path.endswith(".eval") or _has_header(path) else None
        with source.text(None) as text:
            # Of a table no more than its beginning is read, nor of a document that begins as one
            # of a tool does; it may be long, and incomplete.
            head = text.read(_HEAD_BYTES)
            if not head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
                return None
            may_be_document = file_extension(path)[0] not in TEXT_FORMATS
            for form, pattern in _DOCUMENT_PATTERNS:
                if may_be_document and pattern.search(head):
                    return form
            head += text.read(MAX_LINE_BYTES - len(head))
    except (InputError, OSError):
        return None  # reported by the reader of tables
    row = _parse_object(head.lstrip().split(b"\n", 1)[0])
    if row is not None:
        return _form(row)
    return _form(_parse_object(head) or {}) if may_be_document else None


#: What the beginning of a document has, in the order in which its tool writes the fields.
_DOCUMENT_PATTERNS = (
    ("inspect", re.compile(rb'^\s*\{\s*"version"\s*:\s*\d+\s*,.{,400}?"eval"\s*:\s*\{', re.DOTALL)),
    ("promptfoo", re.compile(rb'^\s*\{.{,4000}?"results"\s*:\s*\{\s*"version"\s*:', re.DOTALL)),
)


def _parse_object(text: bytes) -> dict[str, Any] | None:
    try:
        row = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None


def _form(row: Mapping[str, Any]) -> str | None:
    """Return the form of a log by the fields of its document, or of its first line."""
    if "doc_id" in row and ("filtered_resps" in row or "resps" in row):
        return "lm-eval"
    if isinstance(row.get("eval"), dict) and {"version", "status"} & set(row):
        return "inspect"
    if isinstance(row.get("results"), dict) and isinstance(row["results"].get("results"), list):
        return "promptfoo"
    if {"testIdx", "promptIdx", "success", "provider"} <= set(row):
        return "promptfoo lines"
    if any(name in row for name in _TREC_RAG_TOPIC):
        if "support_eval" in row:
            return "support"
        nuggets = row.get("nuggets")
        first = nuggets[0] if isinstance(nuggets, list) and nuggets else None
        if isinstance(first, dict) and "assignment" in first:
            return "nuggets"
    return None


def _has_header(path: str) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return False
    return "header.json" in names or "_journal/start.json" in names


# --- Tables of logs -------------------------------------------------------------------------------


def read_logs(paths: Mapping[str, str] | Sequence[str], score: str | None = None) -> LogTable:
    """Read the scores of logs.

    Parameters
    ----------
    paths : sequence of str, or mapping of str to str
        Files, or files by the names of their systems. By default a system has the name of the model
        in its log.
    score : str, optional
        Name of the scorer; required if the logs have several of them.

    Returns
    -------
    LogTable
        A row for each sample.

    Raises
    ------
    InputError
        If a file is not a log or is damaged, the logs do not belong together, or a score is
        invalid. The message names the file and the sample.
    """
    pairs = paths.items() if isinstance(paths, Mapping) else [("", path) for path in paths]
    logs = [_rename(read_log(path), system) for system, path in pairs]
    _check_together(logs)
    name = _choose(logs, score)
    samples = [sample for log in logs for sample in log.samples]
    if not samples:
        raise InputError(f"{logs[0].path}: has no samples")
    words: Counter[str] = Counter()
    scores = [_score_text(sample, name, words) for sample in samples]
    notes = [note for log in logs for note in log.notes]
    if logs[0].tool == _TREC_RAG:
        notes.append(f"The score is {name}; score= (--score) selects another one of the log.")
    if words:
        counts = ", ".join(f"{word} ({count:,})" for word, count in sorted(words.items()))
        notes.append(
            f"{name} has the scores {counts}. As in Inspect C counts as 1, P as 0.5, and I and N "
            "(no answer) as 0."
        )
    import pyarrow as pa

    columns: dict[str, Any] = {
        CASE: pa.array([_plain(sample.case) for sample in samples], pa.string()),
        SYSTEM: pa.array([_plain(sample.system) for sample in samples], pa.string()),
        SCORE: pa.array(scores, pa.string()),
    }
    for column in dict.fromkeys(key for sample in samples for key in sample.columns):
        columns[_plain(column)] = _column([sample.columns.get(column) for sample in samples])
    origins = tuple(file_origin(log.path) for log in logs)
    locations = [sample.location for sample in samples]
    return LogTable(pa.table(columns), _count_samples(samples), tuple(notes), origins, locations)


def read_log(path: str) -> EvaluationLog:
    """Read a log.

    Parameters
    ----------
    path : str
        The file.

    Returns
    -------
    EvaluationLog
        Its samples.

    Raises
    ------
    InputError
        If the file is not a log, or is damaged.
    """
    if not os.path.isfile(path):
        raise InputError(f"{path}: there is no such file")
    form = _detect(path)
    if form is None:
        raise _not_a_log(path)
    if form == "zip":
        log = _read_inspect_archive(path)
    elif form == "lm-eval":
        log = _read_lm_eval(path)
    elif form in ("nuggets", "support"):
        log = _read_trec_rag(path, form)
    elif form == "promptfoo lines":
        log = _read_promptfoo(path, {"results": {"results": [row for _, row in _lines(path)]}})
    else:
        document = _document(path)
        form = _form(document)
        if form not in ("inspect", "promptfoo"):
            raise _not_a_log(path)
        log = (_read_inspect if form == "inspect" else _read_promptfoo)(path, document)
    _check_duplicates(log)
    return log


def _not_a_log(path: str) -> InputError:
    return InputError(
        f"{path}: is not a log of Inspect (.eval or .json), lm-evaluation-harness "
        "(samples_*.jsonl), promptfoo (.json) or TREC's RAG track (.jsonl)"
    )


def _check_duplicates(log: EvaluationLog) -> None:
    visited: set[tuple[str, str, int]] = set()
    for sample in log.samples:
        key = sample.system, sample.case, sample.number
        if key in visited:
            raise InputError(f"{sample.location}: is a second time in the log")
        visited.add(key)


def _rename(log: EvaluationLog, name: str) -> EvaluationLog:
    """Return a log whose system has another name; of several it is the first part of theirs."""
    if not name:
        return log
    is_single = len(log.systems) < 2
    samples = [
        replace(sample, system=name if is_single else f"{name}: {sample.system}")
        for sample in log.samples
    ]
    return replace(log, samples=samples)


def _check_together(logs: Sequence[EvaluationLog]) -> None:
    """Check that logs are of different systems on the same cases."""
    first = logs[0]
    path_by_system: dict[str, str] = {}
    first_by_case: dict[str, LogSample] = {}
    for log in logs:
        if log.tool != first.tool or log.task != first.task:
            raise InputError(
                f"{log.path}: is a log of {_title(log)} and {first.path} one of {_title(first)}; "
                "expected logs of the same cases"
            )
        for system in log.systems:
            first_path = path_by_system.setdefault(system, log.path)
            if first_path != log.path:
                raise InputError(
                    f"{log.path}: is of {system!r}, as {first_path} is; name the systems, as in "
                    f"old={first_path} new={log.path} on the command line, or "
                    f"data={{'old': {first_path!r}, 'new': {log.path!r}}}"
                )
        for sample in log.samples:
            reference = first_by_case.setdefault(sample.case, sample)
            if sample.identity and reference.identity not in ("", sample.identity):
                raise InputError(
                    f"{sample.location}: is another case than {reference.location}, with another "
                    "target or document; expected logs of the same cases"
                )
    n_samples = {log.path: _count_samples(log.samples) for log in logs}
    max_samples = max(n_samples.values())
    for path, number in n_samples.items():
        if number != max_samples:
            raise InputError(
                f"{path}: has {number} of the samples (epochs) of each case that other logs have "
                f"{max_samples} of; expected the same number"
            )


def _count_samples(samples: Iterable[LogSample]) -> int:
    """Return the largest number of samples of a case."""
    return max(Counter((sample.system, sample.case) for sample in samples).values(), default=1)


def _title(log: EvaluationLog) -> str:
    return f"{log.tool}, task {log.task!r}" if log.task else log.tool


# --- Scores ---------------------------------------------------------------------------------------


def _expand(scores: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the scores by name; those of a scorer with several values are ``scorer.value``."""
    for name, value in scores.items():
        if isinstance(value, Mapping):
            yield from ((f"{name}.{key}", v) for key, v in value.items())
        else:
            yield name, value


def _choose(logs: Sequence[EvaluationLog], score: str | None) -> str:
    """Return the name of the scorer, which has to be named if there are several."""
    names_by_log = [
        list(dict.fromkeys(name for s in log.samples for name, _ in _expand(s.scores)))
        for log in logs
    ]
    names = list(dict.fromkeys(name for names in names_by_log for name in names))
    if score is None:
        default = logs[0].default_score
        if default in names:
            return default
        if len(names) == 1:
            score = names[0]
        elif not names:
            raise InputError(f"{logs[0].path}: none of its samples has a score")
        else:
            raise InputError(
                f"{logs[0].path}: has several scores; name one with score=: "
                f"{format_names(list(map(repr, names)))}"
            )
    else:
        # One filter of lm-evaluation-harness need not be named, and one may be.
        filtered = [name for name in names if name.partition(",")[0] == score]
        if score not in names and len(filtered) == 1:
            (score,) = filtered
        elif score not in names and score.partition(",")[2] == "none":
            score = score.partition(",")[0]
    for log, log_names in zip(logs, names_by_log, strict=True):
        if score not in log_names:
            raise InputError(
                f"{log.path}: score: there is no {score!r}; {did_you_mean(score, log_names)}"
            )
    return score


def _score_text(sample: LogSample, name: str, words: Counter[str]) -> str | None:
    """Return the score of a sample as text: a number, error, or None if it is missing."""
    value = dict(_expand(sample.scores)).get(name)
    if value is None:
        return "error" if sample.failed else None
    if isinstance(value, str):
        if value in _INSPECT_TEXTS:
            words[value] += 1
            return repr(_INSPECT_TEXTS[value])
        number = _INSPECT_WORDS.get(value.strip().lower())
        if number is None:
            try:
                number = float(value) if "_" not in value else None
            except ValueError:
                number = None
    else:
        is_number = isinstance(value, bool | int | float)
        number = min(max(value, -1e300), 1e300) + 0.0 if is_number else None
    if number is None:
        raise InputError(
            f"{sample.location}: {name} is {format_value(value)}, expected a number, true or "
            "false, or C, I, P or N"
        )
    if np.isnan(number):
        return "error" if sample.failed else None
    if abs(number) > MAX_QUANTITY:
        raise InputError(
            f"{sample.location}: {name} is {format_value(value)}, expected a number from "
            f"-{MAX_QUANTITY:g} to {MAX_QUANTITY:g}"
        )
    return repr(float(number))


# --- Inspect --------------------------------------------------------------------------------------


def _read_inspect_archive(path: str) -> EvaluationLog:
    """Read a log in the format ``.eval``: a zip archive with a file for each sample."""
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        raise InputError(f"{path}: is damaged or incomplete: {error}") from None
    with archive:
        # A sample that ran again is a second file of the same name: the last one counts.
        members = {member.filename: member for member in archive.infolist()}
        header_name = next((n for n in ("header.json", "_journal/start.json") if n in members), "")
        if not header_name:
            raise InputError(f"{path}: has no header.json, expected a log of Inspect")
        header = _member(path, archive, members[header_name])
        if header_name != "header.json":
            header = {**header, "status": "started"}

        def samples() -> Iterator[tuple[str, Mapping[str, Any]]]:
            for name, member in members.items():
                if re.fullmatch(r"samples/[^/]*\.json", name):
                    yield name, _member(path, archive, member)
                elif re.fullmatch(r"samples/[^/]*/sample\.json", name):
                    sample = _member(path, archive, member)
                    metadata = members.get(name.removesuffix("sample.json") + "metadata.json")
                    if metadata is not None:
                        sample = {**sample, "metadata": _member(path, archive, metadata)}
                    yield name, sample

        return _inspect_log(path, header, samples())


def _member(path: str, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> dict[str, Any]:
    """Return a JSON object in an archive."""
    location = f"{path}: {member.filename}"
    if member.file_size > MAX_MEMBER_BYTES:
        raise InputError(
            f"{location}: has {member.file_size:,} bytes, expected at most {MAX_MEMBER_BYTES:,}"
        )
    try:
        is_zstandard = member.compress_type == _ZSTANDARD
        content = _decompress(path, member) if is_zstandard else archive.read(member)
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError) as error:
        raise InputError(f"{location}: is damaged: {error}") from None
    except (RuntimeError, NotImplementedError) as error:  # encrypted, or another compression
        raise InputError(f"{location}: cannot be read: {error}") from None
    return _object(location, content)


def _decompress(path: str, member: zipfile.ZipInfo) -> bytes:
    """Return the content of a file in an archive that is compressed with Zstandard."""
    import pyarrow as pa

    with open(path, "rb") as file:
        file.seek(member.header_offset)
        header = file.read(_LOCAL_HEADER_BYTES)
        if len(header) < _LOCAL_HEADER_BYTES or not header.startswith(_ZIP_MAGIC):
            raise ValueError("its header is missing")
        name_length, extra_length = (int.from_bytes(header[i : i + 2], "little") for i in (26, 28))
        file.seek(name_length + extra_length, os.SEEK_CUR)
        compressed = file.read(member.compress_size)
    with pa.CompressedInputStream(pa.BufferReader(compressed), "zstd") as stream:
        content = bytes(stream.read(member.file_size + 1))
    if len(content) != member.file_size or zlib.crc32(content) != member.CRC:
        raise ValueError("its checksum differs")
    return content


def _read_inspect(path: str, document: Mapping[str, Any]) -> EvaluationLog:
    """Read a log in the JSON format of Inspect."""
    samples = document.get("samples")
    if not isinstance(samples, list):
        raise InputError(f"{path}: has no samples; expected a log that was written with them")
    return _inspect_log(path, document, ((f"sample {k}", s) for k, s in enumerate(samples)))


def _inspect_log(
    path: str, header: Mapping[str, Any], samples: Iterable[tuple[str, Any]]
) -> EvaluationLog:
    spec = header.get("eval")
    spec = spec if isinstance(spec, dict) else {}
    model, task = spec.get("model"), spec.get("task")
    if not (isinstance(model, str) and model and isinstance(task, str)):
        raise InputError(f"{path}: the header names no model and task, expected a log of Inspect")
    rows, n_invalid = [], 0
    for label, sample in samples:
        rows.append(_inspect_sample(path, model, label, sample))
        n_invalid += bool(sample.get("invalidation"))
    present = {(row.case, row.number) for row in rows}
    n_run = len(rows)
    for case, epochs in _planned_samples(path, spec):
        for number in range(1, epochs + 1):
            if (case, number) not in present:
                location = _inspect_location(path, case, number)
                rows.append(LogSample(model, case, number, location, {}, {}))
    status, notes = header.get("status", "success"), []
    if status != "success":
        notes.append(
            f"{path}: the evaluation did not finish (status {status}): {n_run:,} of {len(rows):,} "
            "samples were run."
        )
    if n_invalid:
        notes.append(
            f"{path}: {n_invalid:,} of {n_run:,} samples are marked as invalid; their scores count."
        )
    return EvaluationLog(path, "Inspect", task, rows, notes=notes)


def _planned_samples(path: str, spec: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """Yield the cases that were to be run, with the number of samples of each."""
    dataset, config = spec.get("dataset"), spec.get("config")
    ids = dataset.get("sample_ids") if isinstance(dataset, dict) else None
    epochs = config.get("epochs") if isinstance(config, dict) else None
    ids, epochs = ids if isinstance(ids, list) else [], epochs if type(epochs) is int else 1
    if len(ids) * epochs > MAX_PLANNED:
        raise InputError(
            f"{path}: names {len(ids):,} cases with {epochs:,} samples each, expected at most "
            f"{MAX_PLANNED:,} samples"
        )
    yield from ((str(case), epochs) for case in ids)


def _inspect_location(path: str, case: str, number: int) -> str:
    return f"{path}: sample {case!r}" + (f", epoch {number}" if number > 1 else "")


def _inspect_sample(path: str, model: str, label: str, sample: Any) -> LogSample:
    sample = sample if isinstance(sample, dict) else {}
    case, number = sample.get("id"), sample.get("epoch", 1)
    if not isinstance(case, str | int) or type(number) is not int or number < 1:
        raise InputError(f"{path}: {label}: has no id and epoch, expected a sample of Inspect")
    location = _inspect_location(path, str(case), number)
    scores = sample.get("scores") or {}
    if not (
        isinstance(scores, dict)
        and all(isinstance(s, dict) and "value" in s for s in scores.values())
    ):
        raise InputError(f"{location}: scores is {format_value(scores)}, expected a value for each")
    usage = sample.get("model_usage")
    usages = usage.values() if isinstance(usage, dict) else ()
    tokens = [u.get("total_tokens") for u in usages if isinstance(u, dict)]
    columns = {
        "epoch": number,
        "total_time": sample.get("total_time"),
        "working_time": sample.get("working_time"),
        "total_tokens": sum(t for t in tokens if isinstance(t, int)) if tokens else None,
    }
    target = sample.get("target")
    return LogSample(
        model,
        str(case),
        number,
        location,
        {str(name): score["value"] for name, score in scores.items()},
        {**columns, **_fields("metadata", sample.get("metadata"))},
        failed=bool(sample.get("error")),
        identity="" if target in (None, "", []) else json.dumps(target),
    )


# --- lm-evaluation-harness ------------------------------------------------------------------------


def _read_lm_eval(path: str) -> EvaluationLog:
    """Read a file of samples, which has a line for each document and filter."""
    lines = list(_lines(path))
    filters = {str(row.get("filter", "none")) for _, row in lines}
    rows: dict[str, tuple[str, dict[str, Any], dict[str, Any], str]] = {}
    visited: set[tuple[str, str]] = set()
    for number, row in lines:
        doc_id = row.get("doc_id")
        if not isinstance(doc_id, str | int):
            raise InputError(f"{path}:{number}: has no doc_id, expected a sample of the harness")
        case, filter_name = str(doc_id), str(row.get("filter", "none"))
        location = f"{path}:{number}: doc_id {case}"
        if (case, filter_name) in visited:
            raise InputError(
                f"{location}: is a second time in the log, with the same filter {filter_name!r}"
            )
        visited.add((case, filter_name))
        suffix = f",{filter_name}" if len(filters) > 1 else ""
        metrics = row.get("metrics")
        names = (
            metrics if isinstance(metrics, list) else [k for k in row if k not in _LM_EVAL_FIELDS]
        )
        scores = {f"{n}{suffix}": row[n] for n in names if isinstance(n, str) and n in row}
        # Pairs and lists are for metrics of all documents, as perplexity.
        scores = {n: v for n, v in scores.items() if not isinstance(v, list | dict)}
        _, case_scores, _, _ = rows.setdefault(
            case, (location, {}, _fields("doc", row.get("doc")), str(row.get("doc_hash") or ""))
        )
        case_scores.update(scores)
    system, task = _lm_eval_names(path)
    samples = [
        LogSample(system, case, 1, location, scores, columns, identity=identity)
        for case, (location, scores, columns, identity) in rows.items()
    ]
    return EvaluationLog(path, "lm-evaluation-harness", task, samples)


def _lm_eval_names(path: str) -> tuple[str, str]:
    """Return the names of the model and the task of a file of samples.

    The model is in the file of the results of the same time, else the folder has its name.
    """
    folder, name = os.path.split(os.path.abspath(path))
    match = _LM_EVAL_NAME.fullmatch(name.removesuffix(".gz").removesuffix(".zst"))
    default = os.path.basename(folder) or name
    if match is None:
        return default, ""
    task, date = match.groups()
    try:
        with open(os.path.join(folder, f"results_{date}.json"), "rb") as file:
            results = json.loads(file.read(MAX_LINE_BYTES))
        model = results.get("model_name")
    except (OSError, ValueError, AttributeError, RecursionError):
        model = None
    return (model if isinstance(model, str) and model else default), task


# --- promptfoo ------------------------------------------------------------------------------------


def _read_promptfoo(path: str, document: Mapping[str, Any]) -> EvaluationLog:
    """Read the results of promptfoo, whose systems are providers, prompts, or pairs of both."""
    results = document["results"].get("results")
    config = document.get("config")
    rows = [_promptfoo_row(path, k, row) for k, row in enumerate(results)]
    names = _promptfoo_systems(rows)
    keys = [_promptfoo_key(row) for row in rows]
    first_index: dict[str, int] = {}
    for key, row in zip(keys, rows, strict=True):
        first_index[key] = min(row["testIdx"], first_index.get(key, row["testIdx"]))
    tests: dict[tuple[str, str], set[int]] = {}
    for key, name, row in zip(keys, names, rows, strict=True):
        tests.setdefault((name, key), set()).add(row["testIdx"])
    numbers = {
        test: {index: n for n, index in enumerate(sorted(indices), 1)}
        for test, indices in tests.items()
    }
    options = config.get("evaluateOptions") if isinstance(config, dict) else None
    repeat = options.get("repeat") if isinstance(options, dict) else None
    is_repeated = len({len(t) for t in tests.values()}) == 1 or repeat not in (None, 1)
    samples = []
    for key, name, row in zip(keys, names, rows, strict=True):
        index = row["testIdx"]
        case = str(first_index[key] if is_repeated else index)
        number = numbers[name, key][index] if is_repeated else 1
        location = f"{path}: test {index} of {name!r}"
        samples.append(_promptfoo_sample(location, name, case, number, row))
    return EvaluationLog(path, "promptfoo", "", samples, default_score="pass")


def _promptfoo_row(path: str, k: int, row: Any) -> Mapping[str, Any]:
    row = row if isinstance(row, dict) else {}
    indices = row.get("testIdx"), row.get("promptIdx")
    provider = row.get("provider")
    provider = provider if isinstance(provider, dict) else {"id": provider}
    name = provider.get("label") or provider.get("id")
    if not (all(type(index) is int for index in indices) and isinstance(name, str)):
        raise InputError(
            f"{path}: result {k}: has no testIdx, promptIdx and provider, expected a result of "
            "promptfoo"
        )
    return {**row, "provider": name}


def _promptfoo_systems(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the system of each result: what differs of its provider and its prompt."""
    labels = [_prompt_label(row) for row in rows]
    providers = [row["provider"] for row in rows]
    n_prompts, n_providers = len(set(labels)), len(set(providers))
    if n_prompts < 2:
        return providers
    if n_providers < 2:
        return labels
    return [f"{provider}, {label}" for provider, label in zip(providers, labels, strict=True)]


def _prompt_label(row: Mapping[str, Any]) -> str:
    prompt = row.get("prompt")
    label = prompt.get("label") if isinstance(prompt, dict) else None
    if isinstance(label, str) and 0 < len(label) <= _MAX_LABEL and "\n" not in label:
        return label
    return f"prompt {row['promptIdx']}"


def _promptfoo_key(row: Mapping[str, Any]) -> str:
    """Return what the repetitions of a test have in common."""
    test = row.get("testCase")
    test = test if isinstance(test, dict) else {}
    variables = test.get("vars", row.get("vars"))
    variables = variables if isinstance(variables, dict) else {}
    variables = {k: v for k, v in variables.items() if k not in _PROMPTFOO_RUNTIME}
    key = variables, test.get("description"), test.get("assert")
    # Tests with nothing in them are not repetitions of each other.
    return json.dumps(key if any(key) else row["testIdx"], sort_keys=True)


def _promptfoo_sample(
    location: str, system: str, case: str, number: int, row: Mapping[str, Any]
) -> LogSample:
    grading = row.get("gradingResult")
    failed = row.get("failureReason") == _PROMPTFOO_ERROR or _has_grader_error(grading)
    scores: dict[str, Any] = {}
    if not failed:
        scores = {"pass": row.get("success"), "score": row.get("score")}
        named_scores = row.get("namedScores")
        scores |= (
            {str(n): v for n, v in named_scores.items()} if isinstance(named_scores, dict) else {}
        )
    usage = row.get("tokenUsage")
    columns = {
        "latencyMs": row.get("latencyMs"),
        "cost": row.get("cost"),
        "tokens": usage.get("total") if isinstance(usage, dict) else None,
        **_fields("vars", row.get("vars")),
    }
    test = row.get("testCase")
    columns |= _fields("metadata", test.get("metadata") if isinstance(test, dict) else None)
    return LogSample(system, case, number, location, scores, columns, failed)


def _has_grader_error(grading: Any) -> bool:
    """Return whether a judge gave no verdict, which promptfoo counts as a failure."""
    if not isinstance(grading, dict):
        return False
    metadata, components = grading.get("metadata"), grading.get("componentResults")
    is_failed = isinstance(metadata, dict) and metadata.get("graderError") is True
    return is_failed or any(
        map(_has_grader_error, components if isinstance(components, list) else ())
    )


# --- TREC's RAG track -----------------------------------------------------------------------------


def _read_trec_rag(path: str, form: str) -> EvaluationLog:
    """Read assigned nuggets, or the support of answers by what they cite: a topic per line.

    Nuggets are as Nuggetizer writes them, support as the track's support evaluation does.
    """
    score, task, default_score = (
        (_score_nuggets, "nuggets", "strict_vital_score")
        if form == "nuggets"
        else (_score_support, "support", "weighted_precision")
    )
    samples = []
    for number, row in _lines(path):
        topic = next((row[name] for name in _TREC_RAG_TOPIC if name in row), None)
        if not isinstance(topic, str | int):
            raise InputError(
                f"{path}:{number}: has no topic ({format_names(list(_TREC_RAG_TOPIC))}), expected "
                "a line of TREC's RAG track"
            )
        location = f"{path}:{number}: topic {format_value(topic)}"
        scores, identity = score(location, row)
        name = row.get("run_id")
        system = name if isinstance(name, str) and name else _file_stem(path)
        length = row.get("response_length")
        columns = {"response_length": length} if isinstance(length, int) else {}
        failed = scores is None
        samples.append(
            LogSample(
                system, str(topic), 1, location, scores or {}, columns, failed, identity=identity
            )
        )
    return EvaluationLog(path, _TREC_RAG, task, samples, default_score)


def _file_stem(path: str) -> str:
    return os.path.basename(path).removesuffix(".gz").removesuffix(".zst").removesuffix(".jsonl")


def _score_nuggets(
    location: str, row: Mapping[str, Any]
) -> tuple[dict[str, float | None] | None, str]:
    """Return the scores of an answer, None where a nugget has no verdict; and what the nuggets are.

    A score is the mean credit of the nuggets by their weights. Without a nugget of any weight it is
    None. Names of scores are those of Nuggetizer.
    """
    nuggets = row.get("nuggets")
    if not isinstance(nuggets, list):
        raise InputError(f"{location}: nuggets is {format_value(nuggets)}, expected a list")
    weights: dict[str, list[float]] = {name: [] for name in _NUGGET_WEIGHTS}
    credit_list, descriptions = [], []
    for position, nugget in enumerate(nuggets, 1):
        fields = nugget if isinstance(nugget, dict) else {}
        importance, label = fields.get("importance"), fields.get("assignment")
        credit = _NUGGET_CREDIT.get(label) if isinstance(label, str) else None
        if importance not in ("vital", "okay") or credit is None:
            raise InputError(
                f"{location}: nugget {position} is {format_value(nugget)}, expected the importance "
                f"vital or okay and the assignment {format_names(list(_NUGGET_CREDIT))}"
            )
        credit_list.append(credit)
        descriptions.append([str(fields.get("text")), importance])
        for name, by_importance in _NUGGET_WEIGHTS.items():
            weights[name].append(by_importance[importance])
    identity, assigned = json.dumps(sorted(descriptions)), np.array(credit_list, np.float64)
    if np.isnan(assigned).any():
        return None, identity
    return {
        f"{prefix}{name}_score": float(np.dot(weight, values)) / sum(weight)
        if any(weight)
        else None
        for name, weight in weights.items()
        for prefix, values in (("strict_", np.floor(assigned)), ("", assigned))
    }, identity


def _score_support(
    location: str, row: Mapping[str, Any]
) -> tuple[dict[str, float | None] | None, str]:
    """Return the scores of an answer by its citations, None where a citation has no verdict.

    As in the track, the first citation of a sentence counts. Precision is the mean credit of the
    sentences that cite, recall that of all sentences.
    """
    assessed, answer = row.get("support_eval"), row.get("answer")
    if not isinstance(assessed, list):
        raise InputError(
            f"{location}: support_eval is {format_value(assessed)}, expected a list of sentences"
        )
    n_sentences = len(answer) if isinstance(answer, list) else len(assessed)
    if n_sentences < len(assessed):
        raise InputError(
            f"{location}: support_eval has {len(assessed)} sentences, the answer {n_sentences}"
        )
    credit_list: list[float] = []
    for position, sentence in enumerate(assessed, 1):
        labels = sentence.get("eval_scores") if isinstance(sentence, dict) else None
        if labels == []:
            continue
        label = labels[0] if isinstance(labels, list) else ""
        credit = _CITATION_CREDIT.get(label) if isinstance(label, str) else None
        if credit is None and label is not None:
            raise InputError(
                f"{location}: sentence {position} is {format_value(sentence)}, expected "
                f"eval_scores, a list of {format_names(list(_CITATION_CREDIT))} or null"
            )
        credit_list.append(np.nan if credit is None else credit)
    if np.isnan(credit_list).any():
        return None, ""
    return {
        f"{kind}_{name}": float(np.sum(values)) / size if size else None
        for name, size in (("precision", len(credit_list)), ("recall", n_sentences))
        for kind, values in (("weighted", credit_list), ("hard", np.floor(credit_list)))
    }, ""


# --- JSON -----------------------------------------------------------------------------------------


def _lines(path: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the objects of a file of JSON Lines with their line numbers."""
    with ByteSource.from_input(path).text() as text:
        for number, line in text.lines():
            if line.strip():
                yield number, _object(f"{path}:{number}", line)


def _document(path: str) -> dict[str, Any]:
    with ByteSource.from_input(path).text(None) as text:
        return _object(path, text.read())


def _object(location: str, content: bytes) -> dict[str, Any]:
    try:
        document = json.loads(content)
    except json.JSONDecodeError as error:
        raise InputError(f"{location}: {_json_problem(error)}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{location}: is not JSON: {error}") from None
    if not isinstance(document, dict):
        raise InputError(f"{location}: is {format_value(document)}, expected a JSON object")
    return document


def _json_problem(error: json.JSONDecodeError) -> str:
    """Return what is wrong with a text that is not JSON, or where it ends too early."""
    text = error.doc.rstrip()
    if error.pos < len(text) and not error.msg.startswith("Unterminated string"):
        return f"is not JSON: {error.msg} in {_text_position(text, error.pos)}"
    end = format_value(text[-_END_SHOWN:])
    return f"is incomplete: it ends in {_text_position(text, len(text))}, after {end}"


def _text_position(text: str, index: int) -> str:
    """Return the line and the column of a character; of a single line, only the column."""
    n_lines, line_start = text.count("\n", 0, index) + 1, text.rfind("\n", 0, index)
    column = f"column {index - line_start:,}"
    return f"line {n_lines:,}, {column}" if "\n" in text else column


def _fields(prefix: str, values: Any) -> dict[str, Any]:
    """Return the numbers and texts of an object by the names of their columns."""
    if not isinstance(values, dict):
        return {}
    return {
        f"{prefix}.{name}": value
        for name, value in values.items()
        if isinstance(value, str | int | float)
    }


def _column(values: Sequence[Any]) -> Any:
    """Return a column of numbers, or of text if it has both."""
    import pyarrow as pa

    present = [value for value in values if value is not None]
    if all(type(value) is bool for value in present) and present:
        return pa.array(values, pa.bool_())
    if all(isinstance(value, int | float) for value in present):
        try:
            return pa.array([None if v is None else float(v) for v in values], pa.float64())
        except OverflowError:
            pass
    return pa.array([None if v is None else _plain(str(v)) for v in values], pa.string())


def _plain(text: str) -> str:
    """Return a text without characters that are half of a pair, which UTF-8 does not have."""
    return text.encode("utf-8", "backslashreplace").decode()
