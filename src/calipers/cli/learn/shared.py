"""Shared parts of the commands of learning: estimators, their rows, and output of results."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.completion import measure_names
from calipers.cli.files import OutputFile
from calipers.cli.memory_limit import EXIT_INTERRUPTED
from calipers.cli.options import (
    PROPORTION,
    Option,
    argument_option,
    combine_options,
    flag_option,
    option_with_default,
    text_option,
)
from calipers.cli.output import (
    DATA_FORMATS,
    format_and_file,
    format_options,
    write_with_report,
)
from calipers.cli.tables import label_columns, read_input_table
from calipers.cli.wording import options_in_errors
from calipers.learning.parameters import (
    GROUP,
    INNER_CV,
    POSITIVE,
    SPLIT_ROWS,
    THRESHOLD,
    TIME,
    WEIGHT,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from calipers.results.learning import LearningResult

#: Options of the target, the estimator and the features.
estimator_options = combine_options(
    text_option("--truth", "COL", "Column of the target.", required=True),
    text_option(
        "--estimator",
        "PATH",
        "Estimator class, of scikit-learn or your own, as in "
        "sklearn.tree.DecisionTreeRegressor(); arguments are numbers, strings, true, false or "
        "none.",
        required=True,
    ),
    text_option(
        "--features",
        "COL,…",
        "Columns of the features, which are numeric (default: all other columns).",
    ),
)


def fold_options(folds: int, repeats: int) -> Option:
    """Return the options of splits, with the default numbers of folds and repetitions."""
    repeats_text = "once" if repeats == 1 else f"{repeats} times"
    return combine_options(
        text_option(
            "--folds cv", "N", f"Number of folds (default: {folds}).", type=click.IntRange(2)
        ),
        text_option(
            "--n-repeats",
            "N",
            f"Number of repetitions of the split (default: {repeats_text}).",
            type=click.IntRange(1),
        ),
        argument_option(SPLIT_ROWS),
    )


threshold_options = combine_options(argument_option(THRESHOLD), argument_option(INNER_CV))

#: Options of columns and measures.
column_options = combine_options(
    *map(argument_option, (GROUP, TIME, WEIGHT, POSITIVE)),
    text_option("-m --measure", "NAME", "Measure (default: MSE or error rate).",
         shell_complete=measure_names),
)  # fmt: skip

fit_options = combine_options(
    option_with_default("--level", 0.95, "Confidence level of the intervals.", type=PROPORTION),
    option_with_default(
        "--seed", 0, "Seed of the random number generator.", type=click.IntRange(0, 2**31 - 1)
    ),
    option_with_default(
        "--jobs n_jobs", 1, "Number of parallel fits; -1 for all processors.", type=int
    ),
)

output_options = combine_options(
    fit_options,
    text_option(
        "--report", "FILE.html", "Write an HTML report as well.", type=OutputFile(is_page=True)
    ),
    flag_option("--open open_", "Open the report in a browser."),
    lambda command: format_options(command, report=False),
)


def parse_values(text: str) -> list[Any]:
    """Parse comma-separated values: numbers, true, false and none, else text."""
    values: list[Any] = []
    for item in map(str.strip, text.split(",")):
        words = {"none": None, "true": True, "false": False}
        try:
            values.append(words[item.lower()] if item.lower() in words else json.loads(item))
        except json.JSONDecodeError:
            values.append(item)
    return values


def parse_threshold(text: str | None) -> float | str | None:
    """Parse a threshold: a number, or a rule."""
    if text is None:
        return None
    try:
        return float(text)
    except ValueError:
        return text


def run_learning_command(
    verb: Callable[..., LearningResult],
    table: str,
    options: dict[str, Any],
    columns: tuple[str, ...],
) -> None:
    """Call an evaluation function on the rows of a table, and write the result.

    ``columns`` are the names of the options that name columns.
    """
    report, opens_report = options.pop("report"), options.pop("open_")
    if opens_report and report is None:
        raise click.UsageError("--open goes with --report FILE.html")
    kind, path = format_and_file(options, DATA_FORMATS, "this result")
    from calipers.data.tables import add_location, column

    rows = read_input_table(table, categories=label_columns(options)).table
    if "threshold" in options:
        options["threshold"] = parse_threshold(options["threshold"])
    with add_location(table), options_in_errors():
        name_by_role = {name: options.pop(name) for name in columns}
        truth, features = options.pop("truth"), options.pop("features")
        _, estimator = parse_estimator(options.pop("estimator"))
        used_columns = {truth, *filter(None, name_by_role.values())}
        with warnings.catch_warnings():
            # A note says so too.
            warnings.filterwarnings("ignore", ".* was interrupted", UserWarning)
            result = verb(
                estimator,
                select_features(rows, features, used_columns, table),
                column(rows, truth, table),
                **{
                    name: column_name and column(rows, column_name, table)
                    for name, column_name in name_by_role.items()
                },
                inputs=[read_input_table(table).origin],
                **options,
            )
    write_with_report(result, kind, path, report, opens_report=opens_report)
    exit_if_interrupted(result.notes)


def exit_if_interrupted(notes: Sequence[str]) -> None:
    """Exit with the code of an interruption if fits were interrupted."""
    if any(note.startswith("Interrupted:") for note in notes):
        raise SystemExit(EXIT_INTERRUPTED)


def is_numeric(rows: pa.Table, name: str) -> bool:
    """Return whether a column has numbers, which features are."""
    import pyarrow.types as kinds

    kind = rows.schema.field(name).type
    return bool(kinds.is_integer(kind) or kinds.is_floating(kind) or kinds.is_boolean(kind))


def select_features(
    rows: pa.Table, features: str | None, used_columns: set[str], table: str
) -> Any:
    """Return the numeric feature columns as a matrix."""
    import numpy as np

    from calipers.data.arrays import to_numbers
    from calipers.data.tables import column

    other_columns = [name for name in rows.column_names if name not in used_columns]
    names = other_columns if features is None else [name.strip() for name in features.split(",")]
    columns = {name: column(rows, name, table) for name in names}
    non_numeric = [name for name in columns if not is_numeric(rows, name)]
    if non_numeric:
        raise click.UsageError(
            f"column {non_numeric[0]!r} is not numeric; name numeric columns by --features"
        )
    if not columns:
        raise click.UsageError("no column is left for features")
    return np.column_stack([to_numbers(values, name) for name, values in columns.items()])


def parse_estimator(text: str) -> tuple[str, Any]:
    """Parse the name and the estimator of ``ridge=sklearn.linear_model.Ridge(alpha=1)``."""
    head, bracket, arguments = text.partition("(")
    name, equals, path = head.rpartition("=")
    module, _, class_name = path.rpartition(".")
    if not module or (bracket and not arguments.rstrip().endswith(")")):
        raise click.UsageError(
            f"--estimator {text!r}: expected the path of a class, as in "
            "sklearn.linear_model.Ridge(alpha=0.5)"
        )
    if module.split(".")[0] == "sklearn":
        from calipers.learning.fitting import require_sklearn

        require_sklearn()
    try:
        estimator_class = getattr(import_module(module), class_name)
        estimator = estimator_class(**_parse_parameters(arguments.rstrip()[:-1], text))
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise click.UsageError(f"--estimator {text!r}: {error}") from None
    return (name if equals else class_name), estimator


def _parse_parameters(arguments: str, text: str) -> dict[str, Any]:
    """Parse ``alpha=0.5, solver=svd`` into a dict; values are JSON if possible, else text."""
    parameters: dict[str, Any] = {}
    for assignment in filter(None, map(str.strip, arguments.split(","))):
        name, equals, value = map(str.strip, assignment.partition("="))
        if not equals:
            raise click.UsageError(f"--estimator {text!r}: {assignment!r} is not name=value")
        words = {"none": None, "true": True, "false": False}
        try:
            parameters[name] = words[value.lower()] if value.lower() in words else json.loads(value)
        except json.JSONDecodeError:
            parameters[name] = value.strip("'\"")
    return parameters
