"""Suggestions of commands for files, by what is in them.

``calipers FILE…`` prints them, and ``calipers init`` writes them to a configuration file.
"""

from __future__ import annotations

import math
import os
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.process import EXIT_USAGE
from calipers.lazy_dataclasses import dataclass, replace

if TYPE_CHECKING:
    import pyarrow as pa

    from calipers.statistics import FloatArray

#: Rows of a table that are examined.
MAX_ROWS = 20_000
#: Largest number of classes, and of different grades.
MAX_CLASSES, MAX_GRADES = 30, 10

#: Words in the names of columns, by what such columns usually hold.
TRUTH_WORDS = frozenset((
    "truth", "true", "actual", "label", "labels", "target", "gold", "class", "outcome",
    "reference", "diagnosis", "observed", "y", "grade", "relevance",
))  # fmt: skip
PREDICTION_WORDS = frozenset((
    "p", "prob", "proba", "probability", "probabilities", "score", "scores", "pred", "preds",
    "predicted", "prediction", "predictions", "yhat", "hat", "forecast", "estimate",
    "estimated", "logit", "logits", "confidence",
))  # fmt: skip
GRADE_WORDS = frozenset(("grade", "relevance"))
GROUP_WORDS = frozenset(("query", "qid", "topic", "group", "session", "impression"))
ID_WORDS = frozenset(("id", "ids", "uuid", "key", "index", "row", "case", "item"))
CLUSTER_WORDS = frozenset(("cluster", "clusters", "kmeans", "ward", "dbscan", "hdbscan"))
RATER_WORDS = frozenset(
    ("rater", "annotator", "coder", "judge", "reader", "assessor", "reviewer", "expert")
)
#: Correlation with the predictions from which a number may be the truth, whatever its name.
MIN_CORRELATION = 0.3
#: Extensions of files that are examined in a folder, and the largest number of them.
SUFFIXES = (
    *(".csv", ".tsv", ".parquet", ".feather", ".arrow", ".jsonl", ".ndjson", ".eval"),
    *(".run", ".qrels", ".txt", ".trec", ".gz", ".zst"),
)
MAX_FILES = 30

_NO_PREDICTIONS = (
    "{path}: {truth} looks like the truth, and no column like predictions of it; name them: "
    "calipers {task} {path} --truth {truth} {flags} COL"
)


@dataclass(frozen=True)
class Suggestion:
    """Command that could evaluate files.

    Attributes
    ----------
    command : str
        Name of the command.
    arguments : dict
        Files by the names of the arguments.
    reason : str
        What the files seem to hold.
    options : dict
        Values of the options, by their names without dashes.
    requirement : str
        Example of a requirement; empty if nothing can be required.
    systems : tuple of str
        Names of the systems, of which one may be the baseline.
    """

    command: str
    arguments: Mapping[str, Sequence[str]]
    reason: str
    options: Mapping[str, Sequence[str]] = field(default_factory=dict)
    requirement: str = ""
    systems: Sequence[str] = ()

    def __str__(self) -> str:
        words = [
            *self.command.split(),
            *(path for paths in self.arguments.values() for path in paths),
        ]
        for name, values in self.options.items():
            words += [word for value in values for word in (f"--{name}", value)]
        return shlex.join(["calipers", *words])


@click.command("files", context_settings={"ignore_unknown_options": True})
@click.argument("words", nargs=-1)
def command(words: tuple[str, ...]) -> None:
    """Suggest commands for files that come in place of a command."""
    files = [word for word in words if os.path.exists(word)]  # noqa: PTH110
    if not files:
        from calipers.data.errors import FileError

        raise FileError(f"{words[0]}: no such file, and no such command")
    suggestions, questions = suggest_commands(files)
    for suggestion in suggestions:
        click.echo(f"{suggestion.reason}:\n\n    {suggestion}\n")
    for question in questions:
        click.echo(f"{question}\n")
    if any(suggestion.requirement for suggestion in suggestions):
        click.echo(f"`{shlex.join(['calipers', 'init', *files])}` writes a file of checks of them.")
    # As without a command: a gate must not pass because nothing was evaluated.
    raise click.exceptions.Exit(EXIT_USAGE)


def suggest_commands(paths: Sequence[str]) -> tuple[list[Suggestion], list[str]]:
    """Return commands that could evaluate files, and what is missing where there is none."""
    paths_by_kind: dict[str, list[str]] = {}
    for path in (file for each in paths for file in list_data_files(each)):
        paths_by_kind.setdefault(detect_content(path), []).append(path)
    suggestions, questions = _suggest_retrieval(
        paths_by_kind.get("qrels", []), paths_by_kind.get("run", [])
    )
    tables = {path: read_columns(path) for path in paths_by_kind.get("table", [])}
    for suggestion in _suggest_joined_tables(tables):
        suggestions.append(suggestion)
        joined_paths = [text.partition("=")[2] for text in suggestion.options["system"]]
        for path in (*suggestion.arguments["table"], *joined_paths):
            tables.pop(path, None)
    for path, columns in tables.items():
        table_suggestions, question = suggest_for_table(path, columns)
        suggestions += table_suggestions
        questions += [question] if question else []
    for kind, (name, argument, reason) in _COMMANDS_BY_KIND.items():
        if found_paths := paths_by_kind.get(kind):
            text = f"{_join(found_paths)}: {reason}"
            suggestions.append(Suggestion(name, {argument: found_paths}, text))
    for path in paths_by_kind.get("", []):
        questions.append(f"{path}: neither a table, nor judgments, a run, a log or a result")
    return suggestions, questions


def list_data_files(path: str) -> list[str]:
    """Return a file, or the files of a folder that have the extension of data."""
    if not os.path.isdir(path):  # noqa: PTH112
        return [path]
    with os.scandir(path) as entries:
        names = sorted(each.name for each in entries if each.is_file())
    names = [name for name in names if name.lower().endswith(SUFFIXES)][:MAX_FILES]
    return [name if path == "." else os.path.join(path, name) for name in names]  # noqa: PTH118


#: Commands of other kinds of files: the name, its argument, and what such files hold.
_COMMANDS_BY_KIND = {
    "log": ("scores", "table", "scores of the samples of a model, as another tool logged them"),
    "values": ("compare values", "files", "values by topic, as trec_eval -q prints them"),
    "result": ("show", "file", "a saved result"),
    "configuration": ("check --config", "config", "a file of checks"),
    "campaign": ("campaign status", "campaign", "a campaign"),
}


def detect_content(path: str) -> str:
    """Return what a file holds: qrels, a run, a table, …; an empty text for anything else."""
    from calipers.data.errors import InputError
    from calipers.data.evaluation_logs import is_log
    from calipers.data.formats import detect_kind
    from calipers.data.plain_text import first_line, is_header, is_number
    from calipers.data.streams import Stream
    from calipers.data.tables import file_extension, is_table, read_json

    with suppress(InputError, OSError, ValueError):
        suffix, _ = file_extension(path)
        with open(path, "rb") as file:  # noqa: PTH123
            if file.read(16).startswith(b"SQLite format 3"):
                return "campaign"
        if suffix in (".toml", ".html"):
            return "configuration" if suffix == ".toml" else "result"
        if suffix == ".json" and not is_log(path):
            data = read_json(path)
            is_result = isinstance(data, dict) and "schema" in data
            return "result" if is_result else detect_kind(path) or ""
        if is_log(path):
            return "log"
        if is_table(path):
            names = Stream.from_input(path).names
            return (detect_kind(path) or "table") if is_header(names) else "table"
        fields = first_line(path)
        kind = detect_kind(path)
        if is_header(fields):
            return kind or ""
        if len(fields) == 3:
            return "values" if is_number(fields[2]) else ""
        number = {"qrels": 3, "run": 4}.get(kind or "")
        return kind or "" if number is not None and is_number(fields[number]) else ""
    return ""


def _suggest_retrieval(
    qrels: Sequence[str], runs: Sequence[str]
) -> tuple[list[Suggestion], list[str]]:
    """Return how judgments and runs could be evaluated, and what is missing."""
    if qrels and runs:
        from calipers.data.run_names import named_runs

        reason = f"{qrels[0]} has judgments, and {_join(runs)} rankings of documents"
        files = {"qrels": qrels[:1], "runs": runs}
        systems = tuple(named_runs(list(runs)))
        return [Suggestion("retrieval", files, reason, {}, "nDCG@10 >= 0.3", systems)], []
    if len(runs) > 1:
        reason = f"{_join(runs)} have rankings of documents"
        question = "To evaluate runs, judgments are needed: calipers retrieval QRELS RUN…"
        return [Suggestion("overlap", {"runs": runs}, reason, {}, "RBO >= 0.5")], [question]
    if runs or qrels:
        (path,) = runs or qrels[:1]
        holds, missing = ("a ranking", "judgments") if runs else ("judgments", "runs")
        files_text = f"QRELS {path}" if runs else f"{path} RUN…"
        return [], [f"{path} has {holds}; {missing} are missing: calipers retrieval {files_text}"]
    return [], []


# --- Tables ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ColumnProfile:
    """What is known of a column: its different values, and the words in its name."""

    name: str
    values: Sequence[Any]
    is_numeric: bool
    column: pa.Array

    @classmethod
    def from_arrow(cls, name: str, column: pa.Array) -> ColumnProfile:
        """Examine a column."""
        import pyarrow as pa

        kind, values = column.type, []
        if not pa.types.is_nested(kind):
            values = column.unique().drop_null().to_pylist()
        is_numeric = pa.types.is_integer(kind) or pa.types.is_floating(kind)
        return cls(name, values, bool(values) and is_numeric, column)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.column)

    def has_word(self, words: frozenset[str]) -> bool:
        """Return whether the name has one of these words."""
        name_words = re.findall(
            r"[a-z0-9]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", self.name).lower()
        )
        # Columns are numbered, as in rater2; y2 is another variable than y.
        stems = [word.rstrip("0123456789") for word in name_words if len(word) > 3]
        return not words.isdisjoint((*name_words, *stems))

    @property
    def is_whole(self) -> bool:
        """Whether all values are whole numbers."""
        return self.is_numeric and all(float(value).is_integer() for value in self.values)

    @property
    def has_classes(self) -> bool:
        """Whether the values may be classes."""
        is_discrete = self.is_whole or not self.is_numeric
        return is_discrete and 2 <= len(self.values) <= min(MAX_CLASSES, max(2, self.n_rows // 2))

    @property
    def is_probability(self) -> bool:
        """Whether the values may be probabilities."""
        is_proportion = self.is_numeric and min(self.values) >= 0 and max(self.values) <= 1
        return is_proportion and len(self.values) > 2

    @property
    def is_unique(self) -> bool:
        """Whether every row has a value of its own."""
        return len(self.values) == self.n_rows


def read_columns(path: str) -> list[ColumnProfile]:
    """Examine the columns of the first rows of a table."""
    from calipers.data.streams import Stream

    stream = Stream.from_input(path)
    batch = next(iter(stream.batches(list(stream.names), rows=MAX_ROWS)))
    return [ColumnProfile.from_arrow(name, column) for name, column in batch.columns.items()]


def suggest_for_table(path: str, columns: Sequence[ColumnProfile]) -> tuple[list[Suggestion], str]:
    """Return commands that could evaluate a table, and what is missing if there is none."""
    names = {column.name.lower() for column in columns}
    table = {"table": [path]}
    if {"model_a", "model_b", "winner"} <= names:
        return [Suggestion("pairs", table, f"{path} has pairwise battles")], ""
    if {"item", "rater", "rating"} <= names:
        options = {name: [name] for name in ("item", "rater", "rating")}
        reason = f"{path} has a rating in each row"
        return [Suggestion("agreement", table, reason, options, "Krippendorff-alpha >= 0.8")], ""
    truth = _find_truth(columns)
    if truth is not None:
        return _suggest_predictions(path, truth, [c for c in columns if c is not truth])
    suggestions = []
    clusterings = [c for c in columns if c.has_word(CLUSTER_WORDS) and c.has_classes]
    features = [c.name for c in columns if c.is_numeric and c not in clusterings]
    if clusterings and features:
        reason = f"{path} has clusters of points ({_names(clusterings)})"
        options = {"features": features, "labels": [c.name for c in clusterings]}
        suggestions.append(Suggestion("clustering", table, reason, options, "silhouette >= 0.3"))
    raters = [c for c in columns if c.has_word(RATER_WORDS) and not c.has_word(ID_WORDS)]
    if len(raters) > 1:
        reason = f"{path} has a column of each rater ({_names(raters)})"
        options = {"raters": [",".join(c.name for c in raters)]}
        suggestions.append(
            Suggestion("agreement", table, reason, options, "Krippendorff-alpha >= 0.8")
        )
    scores = [c for c in columns if c.is_numeric and c.has_word(PREDICTION_WORDS)]
    if scores and not suggestions:
        reason = f"{path} has scores ({_names(scores)}), and no column that looks like a truth"
        options = {"score": [c.name for c in scores]}
        suggestions.append(
            Suggestion("scores", table, reason, options, "mean-score >= 0.5", options["score"])
        )
    if suggestions:
        return suggestions, ""
    return [], (
        f"{path}: no column looks like a truth; there are {_names(columns)}. If one of them is: "
        f"calipers classification {path} --truth COL --predicted COL, or calipers regression; of "
        f"scores without a truth: calipers scores {path} --score COL; of raters: calipers "
        f"agreement {path} --raters COL,COL"
    )


def _suggest_joined_tables(tables: Mapping[str, Sequence[ColumnProfile]]) -> list[Suggestion]:
    """Return the commands for tables of the truth and tables of systems with the same ids."""
    from calipers.data.trec import run_name

    suggestions = []
    for path, columns in tables.items():
        truth = _find_truth(columns)
        ids = {c.name for c in columns if c.is_unique and c is not truth}
        systems = {
            run_name(system_path): (system_path, {c.name: c for c in system_columns})
            for system_path, system_columns in tables.items()
            if system_path != path
            and not ids.isdisjoint(c.name for c in system_columns)
            and _find_truth(system_columns) is None
        }
        if truth is None or not systems:
            continue
        (_, first), *others = systems.values()
        shared = [name for name in first if all(name in names for _, names in others)]
        outputs = [first[name] for name in shared if name not in ids]
        matches, _ = _suggest_predictions(path, truth, outputs)
        join_ids = [name for name in shared if name in ids]
        if matches and join_ids:
            options = {
                name: values[:1] if name in ("probability", "score", "predicted") else values
                for name, values in matches[0].options.items()
            }
            options |= {"id": join_ids[:1], "system": [f"{n}={p}" for n, (p, _) in systems.items()]}
            paths_text = _join([system_path for system_path, _ in systems.values()])
            reason = f"{matches[0].reason} in {paths_text}, joined by {join_ids[0]}"
            suggestions.append(
                replace(matches[0], reason=reason, options=options, systems=tuple(systems))
            )
    return suggestions


def _find_truth(columns: Sequence[ColumnProfile]) -> ColumnProfile | None:
    """Return the column that looks like the truth: by its name, or by predictions of it."""
    predictions = [c for c in columns if c.has_word(PREDICTION_WORDS)]
    others = [
        c
        for c in columns
        if c not in predictions and len(c.values) > 1 and not c.has_word(ID_WORDS)
    ]
    matches = [c for c in others if c.has_word(TRUTH_WORDS)]
    # Grades of groups are those of a ranking.
    has_groups = any(c.has_word(GROUP_WORDS) for c in columns)
    if matches and (has_groups or not matches[0].has_word(GRADE_WORDS)):
        return matches[0]
    numbers = [c for c in predictions if c.is_numeric]
    if any(not c.is_probability for c in numbers):
        correlated = [(abs(_correlation(numbers[0], c)), c) for c in others if c.is_numeric]
        value, column = max(correlated, key=lambda pair: pair[0], default=(0.0, None))
        if value >= MIN_CORRELATION:
            return column
    classes = [c for c in others if c.has_classes and not c.has_word(GROUP_WORDS)]
    # Probabilities may be called after models.
    outputs = numbers[:1] if predictions else [c for c in others if c.is_probability]
    if outputs and (len(classes) > 1 or not predictions):
        classes = [
            c
            for c in classes
            if len(c.values) == 2
            and all(abs(_correlation(output, c)) >= MIN_CORRELATION for output in outputs)
        ]
    if matches or ((predictions or outputs) and len(classes) == 1):
        return (matches or classes)[0]
    return None


def _correlation(first: ColumnProfile, second: ColumnProfile) -> float:
    """Return the correlation of two columns of numbers or classes on the rows that have both."""
    import numpy as np

    pair = np.array([_to_numbers(column) for column in (first, second)])
    pair = pair[:, np.isfinite(pair).all(axis=0)]
    if pair.shape[1] < 3 or (np.ptp(pair, axis=1) == 0).any():
        return 0.0
    return float(np.corrcoef(pair)[0, 1])


def _to_numbers(column: ColumnProfile) -> FloatArray:
    """Return the numbers of a column, or 1 for the first of its classes; NaN where it is empty."""
    import numpy as np

    if column.is_numeric:
        return np.asarray(column.column.to_numpy(zero_copy_only=False), np.float64)
    first = column.values[0]
    return np.array(
        [
            math.nan if value is None else float(value == first)
            for value in column.column.to_pylist()
        ]
    )


def _suggest_predictions(
    path: str, truth: ColumnProfile, columns: Sequence[ColumnProfile]
) -> tuple[list[Suggestion], str]:
    """Return commands for a truth and the predictions of it among other columns."""
    table, claim = {"table": [path]}, f"{path}: {truth.name} looks like the truth"
    candidates = [c for c in columns if c.has_word(PREDICTION_WORDS) and c.values]
    if not candidates and truth.has_classes:  # probabilities may be called after models
        candidates = [c for c in columns if c.is_probability and not c.has_word(ID_WORDS)]
    groups = [c for c in columns if c.has_word(GROUP_WORDS) and not c.is_unique]
    numbers = [c for c in candidates if c.is_numeric and c not in groups]
    if groups and numbers and truth.is_whole and len(truth.values) <= MAX_GRADES:
        reason = f"{claim}, {groups[0].name} like groups of rows to be ranked by {_names(numbers)}"
        options = {"group": [groups[0].name], "truth": [truth.name]}
        options["score"] = [c.name for c in numbers]
        return [
            Suggestion("ranking", table, reason, options, "nDCG@5 >= 0.5", options["score"])
        ], ""
    options = {"truth": [truth.name]}
    if truth.has_classes:
        return _suggest_classification(path, truth, columns, candidates)
    # Predictions of numbers may be called after models.
    outputs = numbers or [
        c for c in columns if c.is_numeric and not c.is_unique and not c.has_word(ID_WORDS)
    ]
    if not truth.is_numeric or not outputs:
        task = "regression" if truth.is_numeric else "classification"
        return [], _NO_PREDICTIONS.format(
            path=path, truth=truth.name, task=task, flags="--predicted"
        )
    reason = f"{claim}, with {len(truth.values):,} different numbers, and {_names(outputs)} like "
    reason += "predictions of it"
    options["predicted"] = [c.name for c in outputs]
    return [Suggestion("regression", table, reason, options, "R2 >= 0.5", options["predicted"])], ""


def _suggest_classification(
    path: str,
    truth: ColumnProfile,
    columns: Sequence[ColumnProfile],
    candidates: Sequence[ColumnProfile],
) -> tuple[list[Suggestion], str]:
    """Return commands for a truth with classes."""
    classes = sorted(map(str, truth.values))
    options: dict[str, list[str]] = {"truth": [truth.name]}
    per_class = _class_pattern([c for c in columns if c.is_probability], classes)
    probabilities = [c for c in candidates if c.is_probability]
    scores = [c for c in candidates if c.is_numeric and not c.is_whole and not c.is_probability]
    predicted = [c for c in columns if c.values and {*map(str, c.values)} <= {*classes}]
    predicted = [c for c in predicted if c in candidates or not c.is_numeric]
    requirement = "AUC >= 0.8"
    systems: tuple[str, ...] = ()
    if len(classes) > 2 and per_class:
        options["probability"], requirement = [per_class], "macro-F1 >= 0.8"
    elif len(classes) == 2 and (probabilities or scores):
        role = "probability" if probabilities else "score"
        systems = tuple(c.name for c in probabilities or scores)
        options |= {**_positive(truth), role: list(systems)}
    elif predicted:
        systems, requirement = tuple(c.name for c in predicted), "accuracy >= 0.8"
        options |= {**(_positive(truth) if len(classes) == 2 else {}), "predicted": list(systems)}
    else:
        flags = "--predicted" if len(classes) > 2 else "--probability, --score or --predicted"
        return [], _NO_PREDICTIONS.format(
            path=path, truth=truth.name, task="classification", flags=flags
        )
    classes_text = ", ".join(classes[:4]) + (", …" if len(classes) > 4 else "")
    outputs = next(name for name in ("probability", "score", "predicted") if name in options)
    kinds = {"probability": "probabilities", "score": "scores", "predicted": "predicted classes"}
    reason = f"{path}: {truth.name} ({classes_text}) looks like the truth, and "
    reason += f"{_join(options[outputs])} like {kinds[outputs]}"
    if "positive" in options:
        reason += f"; {options['positive'][0]} is taken for the positive class"
    suggestion = Suggestion(
        "classification", {"table": [path]}, reason, options, requirement, systems
    )
    return [suggestion], ""


def _positive(truth: ColumnProfile) -> dict[str, list[str]]:
    """Return the option of the positive class, unless it is clear from the names of the classes."""
    from calipers.data.binary_labels import find_positive_class

    classes = sorted(map(str, truth.values))
    return {} if find_positive_class(classes) is not None else {"positive": [classes[-1]]}


def _class_pattern(columns: Sequence[ColumnProfile], classes: Sequence[str]) -> str:
    """Return the pattern of columns with a probability for each class, such as ``p_*``, if any."""
    names = {c.name for c in columns}
    for name in sorted(names):
        for label in classes:
            prefix = name.removesuffix(label)
            if prefix != name and prefix and names >= {f"{prefix}{each}" for each in classes}:
                return f"{prefix}*"
    return ""


def _names(columns: Iterable[ColumnProfile]) -> str:
    return _join([column.name for column in columns])


def _join(names: Sequence[str]) -> str:
    """Join names for a sentence."""
    from calipers.report.safe_names import join_words, shorten_name

    first = [shorten_name(name) for name in names[:6]]
    return join_words(first if len(names) <= 6 else [*first, f"{len(names) - 6} more"])
