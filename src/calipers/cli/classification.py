"""Features of ``calipers classification`` beyond the declaration of the task.

These are confusion matrices instead of systems, threshold rules, threshold tables, and the display
of confusion matrices.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.columns import Columns
from calipers.cli.files import DASH, is_given
from calipers.cli.options import (
    Option,
    choice_option,
    combine_options,
    repeatable_option,
    text_option,
)
from calipers.cli.output import is_page, print_tables
from calipers.cli.shared_options import OutputOptions
from calipers.cli.streams import StateOptions
from calipers.cli.tables import read_input_table
from calipers.cli.tasks import TaskCommand

if TYPE_CHECKING:
    import pyarrow as pa

    from calipers.data.trec import InputOrigin
    from calipers.report.blocks import Block
    from calipers.results import ConfusionBase, Evaluation

#: Maximum numbers of classes and of systems whose confusion matrices are printed by default.
MAX_CLASSES, MAX_SYSTEMS = 10, 3

#: Orientations of a confusion matrix, kinds of its rows, and what its cells can be proportions of.
ORIENTATIONS = ("truth-rows", "predicted-rows")
ROW_ROLES = ("truth", "predicted")
NORMALIZATIONS = ("truth", "prediction", "all")

#: Maximum size of the file of a confusion matrix, in bytes.
_MAX_FILE_BYTES = 64 << 20

#: Options that only apply to rows, by the names of their parameters.
_ROW_OPTIONS = {
    "weight": "--weight", "count": "--count", "cluster": "--cluster", "time": "--time",
    "slices": "--slice", "slice_bins": "--slice-bins", "cost": "--cost", "id": "--id",
    "save_state": "--save-state", "merge": "--merge", "memory": "--memory", "master": "--master",
}  # fmt: skip

#: Roles of the columns of a system.
SYSTEM_ROLES = ("score", "probability", "predicted")


class ClassificationCommand(TaskCommand):
    """Command ``calipers classification``."""

    display_options = ("confusion", "threshold_table", "orientation")
    look_options = ("confusion", "orientation")

    def task_options(self) -> Option:
        """Return the options of thresholds, of confusion matrices, and of what is displayed."""
        return combine_options(
            text_option(
                "--costs",
                "FP,FN",
                "Costs of a false positive and of a false negative, for the rule 'cost'; "
                "--threshold 'cost(FP=1,FN=5)' is the same as cost with --costs 1,5.",
            ),
            click.option(
                "--prevalence",
                type=click.FloatRange(0, 1),
                help="Prevalence in the target population, for the rule 'cost'; precision and "
                "NPV at that prevalence are added to the measures.",
            ),
            repeatable_option(
                "--threshold-table",
                "[NAME=]all|X,Y,…",
                "Table of these thresholds of the scores, or of all distinct ones: the requested "
                "measures of counts (default: sensitivity, specificity, PPV, NPV and likelihood "
                "ratios) at each. Repeat as old=2,4 for the thresholds of each system. --format "
                "csv and latex contain this table only.",
            ),
            repeatable_option(
                "--confusion-matrix",
                "[NAME=]COLS",
                "Confusion matrix instead of a system: one column of counts per class, as 'n_*', "
                "where * is the class, or ill,well. --truth is the true class of each row, or "
                "--predicted the predicted one. Repeatable: several systems are compared as "
                "independent samples.",
            ),
            click.option(
                "--rows",
                type=click.Choice(ROW_ROLES),
                help="What the rows of a confusion matrix are. TABLE is a confusion matrix if "
                "its header says so, as predicted\\truth, or if this is given without --truth. A "
                "column of text before that of the classes names systems.",
            ),
            click.option(
                "--show-confusion",
                "confusion",
                type=click.Choice(["counts", *NORMALIZATIONS]),
                help="Values of the confusion matrix: counts, or proportions of the true class, "
                "of the predicted class, or of all rows. Shows it for many classes, too.",
            ),
            choice_option(
                "--orientation",
                ORIENTATIONS,
                "What the rows of the confusion matrix are, in the terminal, in Markdown and in "
                "the report.",
            ),
        )

    def check(self, options: dict[str, Any], output: OutputOptions) -> None:
        """Check that options of the confusion matrix come with an output that shows it."""
        if options["confusion"] is not None and (output.kind != "table" or output.path):
            raise click.UsageError(
                "--show-confusion goes with a table on the standard output; other formats have the "
                "counts"
            )
        is_shown = is_page(output.kind) or (output.kind == "table" and output.path is None)
        if is_given("orientation") and not (is_shown or output.report.is_requested):
            raise click.UsageError(
                "--orientation goes with a table on the standard output, Markdown or --report"
            )

    def evaluate(self, options: dict[str, Any], output: OutputOptions) -> Evaluation:
        """Evaluate the rows of a table, or confusion matrices.

        Matrices are columns of a table, or the table itself. The threshold table is added if it is
        requested.
        """
        task_options = {
            name: options.pop(name)
            for name in ("costs", "prevalence", "threshold_table", "confusion_matrix")
        }
        prevalence, table, measures = (
            task_options["prevalence"],
            task_options["threshold_table"],
            options["measures"],
        )
        self.parse(options)
        if options["truth"] is None and not task_options["confusion_matrix"]:
            if options["threshold"] or task_options["costs"] is not None:
                raise click.UsageError("--threshold and --costs apply to --score and --probability")
            options["curves"] = output.report.is_requested
            evaluation = _evaluate_matrices(options, measures, prevalence)
        elif options["rows"] is not None and not task_options["confusion_matrix"]:
            raise click.UsageError("--rows goes with --confusion-matrix, or without --truth")
        else:
            evaluation = self._evaluate_columns(options, output, measures, **task_options)
        if table:
            evaluation = _add_threshold_table(evaluation, table, measures, prevalence)
        return evaluation

    def _evaluate_columns(
        self,
        options: dict[str, Any],
        output: OutputOptions,
        measures: tuple[str, ...],
        *,
        costs: str | None,
        prevalence: float | None,
        threshold_table: tuple[str, ...],
        confusion_matrix: tuple[str, ...],
    ) -> Evaluation:
        """Evaluate systems on the rows of a table, or confusion matrices among its columns."""
        table, rows = options.pop("table"), options.pop("rows")
        truth, threshold = options["truth"], options["threshold"]
        row_classes = _row_classes(options, truth) if confusion_matrix else None
        columns = Columns.pop_from(self.task, options, is_required=not confusion_matrix)
        states = StateOptions.pop_from(options)
        score_specs = columns.specs["score"] or columns.specs["probability"]
        if threshold and not score_specs:
            raise click.UsageError("--threshold applies to --score and --probability")
        names, positive = options["labels"], options["positive"]
        _check_classes(names, positive, columns)
        other_specs = columns.specs["probability"] or columns.specs["predicted"]
        is_table_only = bool(threshold_table) and not threshold and not other_specs
        options["labels"] = _label_classes(names, positive)
        options["threshold"] = _parse_thresholds(threshold, columns, costs, prevalence)
        options["measures"] = (
            _select_measures(measures, prevalence, is_table_only=is_table_only) or None
        )

        def extra_arguments(table_rows: pa.Table) -> dict[str, Any]:
            has_row_classes = bool(truth or row_classes)
            arguments = {
                "rows": rows,
                **({} if row_classes is None else {"predicted": row_classes}),
            }
            return {
                **arguments,
                "confusion": _read_matrix_columns(
                    confusion_matrix, table_rows, table, has_labels=has_row_classes
                )
                or None,
            }

        return self.evaluate_rows(
            table,
            replace(columns, labels=names),
            states,
            options,
            output,
            memory_options={
                "--confusion-matrix": confusion_matrix,
                "--threshold-table": threshold_table,
            },
            extra_arguments=extra_arguments,
        )

    def finish(
        self, evaluation: Evaluation, output: OutputOptions, *, show_tables: bool, **look: Any
    ) -> None:
        """Write the result, and print the confusion matrices and the tables of classes."""
        confusion, orientation = look["confusion"], look["orientation"]
        if is_given("human"):
            requested = {
                "--by-class": show_tables,
                "--show-confusion": is_given("confusion"),
                "--orientation": is_given("orientation"),
            }
            for option in (option for option, is_requested in requested.items() if is_requested):
                raise click.UsageError(
                    f"{option} does not go with --human: most rows have a class by the judge only"
                )
        if show_tables and not evaluation.label_tables:
            raise click.UsageError("--by-class applies to 3 to 100 classes")
        if not evaluation.confusions and output.callback is None:
            flag_by_name = {"confusion": "--show-confusion", "orientation": "--orientation"}
            for option in (option for name, option in flag_by_name.items() if is_given(name)):
                raise click.UsageError(
                    f"{option}: there is no confusion matrix; it takes --predicted, --probability "
                    "or --threshold"
                )
        is_on_terminal = output.kind == "table" and output.path is None and output.callback is None
        matrices: Sequence[ConfusionBase] = ()
        if confusion is not None:
            matrices = evaluation.confusions
        elif is_on_terminal and len(evaluation.confusions) <= (
            1 if output.is_brief else MAX_SYSTEMS
        ):
            matrices = [
                matrix for matrix in evaluation.confusions if len(matrix.labels) <= MAX_CLASSES
            ]
        appendix = _matrix_blocks(matrices, confusion or "counts", orientation)
        try:
            output.finish(evaluation, appendix, orientation=orientation)
        finally:
            if show_tables:
                print_tables(evaluation)


def _evaluate_matrices(
    options: dict[str, Any], measures: tuple[str, ...], prevalence: float | None
) -> Evaluation:
    """Evaluate a table that is a confusion matrix or contains several."""
    from calipers.data.tables import add_location
    from calipers.evaluate.classification import classification

    table = options.pop("table")
    confusion, inputs = _read_matrices(table, options)
    options["labels"] = _label_classes(options["labels"], options["positive"])
    options["measures"] = _select_measures(measures, prevalence, is_table_only=False) or None
    with add_location(table):
        return classification(confusion=confusion, inputs=inputs, **options)


def _label_classes(names: list[str] | None, positive: str | None) -> list[str] | None:
    """Return the classes named by --labels.

    With a positive class, the names of more than two classes only serve to find columns.
    """
    return names if positive is None or len(names or ()) == 2 else None


def _select_measures(
    measures: tuple[str, ...], prevalence: float | None, *, is_table_only: bool
) -> tuple[str, ...]:
    """Return the requested measures.

    If the thresholds of a table are given ``is_table_only``, without --threshold, measures of the
    confusion matrix are for that table only.
    """
    from calipers.evaluation.shared import set_prevalence
    from calipers.measures.name_parsing import DEFAULT, split_measures

    measures = tuple(map(str, split_measures(measures)))
    if is_table_only:
        count_measures = _count_measures(measures)
        remaining = tuple(name for name in measures if name not in count_measures)
        return remaining or (("AUC",) if count_measures else ())
    if prevalence is not None:
        return tuple(map(str, set_prevalence(measures or (DEFAULT,), prevalence)))
    return measures


def _add_threshold_table(
    evaluation: Evaluation,
    specs: Sequence[str],
    measures: Sequence[str],
    prevalence: float | None,
) -> Evaluation:
    """Return the evaluation with the requested threshold table."""
    from dataclasses import replace

    from calipers.evaluate.threshold_tables import ALL, threshold_table

    by_system: dict[str, Any] = {}
    for spec in specs:
        name, _, text = spec.rpartition("=")
        try:
            values = text if text == ALL else [float(threshold) for threshold in text.split(",")]
        except ValueError:
            raise click.UsageError(
                f"--threshold-table {spec!r}: expected all, or numbers as 0.2,0.5"
            ) from None
        if name in by_system:
            owner = f"system {name!r}" if name else "all systems"
            raise click.UsageError(f"--threshold-table {spec!r}: expected one list for {owner}")
        by_system[name] = values
    if "" in by_system and len(by_system) > 1:
        raise click.UsageError(
            "--threshold-table: give one list for all systems, or one of each as NAME=X,Y, not both"
        )
    thresholds = by_system.get("", by_system)
    table = threshold_table(
        evaluation,
        thresholds=thresholds,
        measures=_count_measures(measures) or None,
        prevalence=prevalence,
    )
    return replace(evaluation, thresholds=table)


def _count_measures(measures: Sequence[str]) -> list[str]:
    """Return those of the measures that are functions of the confusion matrix."""
    from calipers.measures import TASKS, parse
    from calipers.measures.name_parsing import DEFAULT, split_measures
    from calipers.statistics import ConfusionMatrix

    families, names = (
        TASKS["classification"],
        (str(name) for name in split_measures(measures) if name != DEFAULT),
    )
    return [name for name in names if parse(name, families).definition.statistic is ConfusionMatrix]


def _check_classes(names: Sequence[str] | None, positive: str | None, columns: Columns) -> None:
    """Check that --labels and --positive are combined only where both are needed."""
    has_class_columns = any("," in text or "*" in text for text in columns.specs["probability"])
    if names is not None and positive is not None and not (len(names) == 2 or has_class_columns):
        raise click.UsageError(
            "--labels and --positive: name a positive class, or all classes in their order; both "
            "only where --labels names two, or with a column for each class, as in "
            "--probability p_a,p_b,…"
        )


def _matrix_blocks(
    confusions: Iterable[ConfusionBase], confusion: str, orientation: str
) -> list[Block]:
    """Return the confusion matrix of every system as text."""
    from calipers.report.blocks import Lines
    from calipers.report.class_tables import matrix_text
    from calipers.report.safe_names import shorten_name
    from calipers.report.text_columns import terminal_width

    normalize, width = None if confusion == "counts" else confusion, terminal_width(sys.stdout)
    blocks: list[Block] = []
    for matrix in confusions:
        text = matrix_text(matrix, orientation, normalize, width)
        blocks.append(Lines([shorten_name(matrix.system), "", *text.splitlines()]))
    return blocks


def _parse_thresholds(
    specs: Sequence[str], columns: Columns, costs: str | None, prevalence: float | None
) -> Any:
    """Parse thresholds: a number, a rule with its parameters, or a dict of these by system."""
    from calipers.systems.thresholds import ThresholdRule

    defaults = {} if prevalence is None else {"prevalence": prevalence}
    if costs is not None:
        try:
            defaults["cost_fp"], defaults["cost_fn"] = map(float, costs.split(","))
        except ValueError:
            raise click.UsageError(f"--costs {costs!r}: expected two numbers, as in 1,5") from None
    thresholds = dict[str | None, Any]()
    for spec in specs:
        name, threshold = _parse_threshold(spec, columns.system_names, defaults)
        if name in thresholds:
            owner = "all systems" if name is None else f"system {name!r}"
            raise click.UsageError(f"--threshold {spec!r}: expected one threshold for {owner}")
        thresholds[name] = threshold
    if None in thresholds and len(thresholds) > 1:
        raise click.UsageError(
            "--threshold: give one of all systems, or one of each as NAME=X, not both"
        )
    if costs is not None:
        rules = [
            threshold for threshold in thresholds.values() if isinstance(threshold, ThresholdRule)
        ]
        if not rules:
            raise click.UsageError("--costs goes with a rule for --threshold, such as 'cost'")
        if not any("cost_fp" in m.parameters for rule in rules for m in rule.measures):
            raise click.UsageError(
                f"--costs: the rule {specs[0]!r} does not use costs; 'cost' does"
            )
    return thresholds.get(None) if None in thresholds or not thresholds else thresholds


def _parse_threshold(
    text: str, systems: Sequence[str], defaults: Mapping[str, Any]
) -> tuple[str | None, Any]:
    """Parse a threshold: its system, or None for all systems, and the number or rule."""
    from calipers.data.errors import InputError, format_names
    from calipers.systems.thresholds import ThresholdRule

    matching = [name for name in systems if text.startswith(f"{name}=")]
    name = max(matching, key=len, default=None)
    spec = text if name is None else text[len(name) + 1 :]
    try:
        return name, float(spec)
    except ValueError:
        pass
    try:
        return name, ThresholdRule.parse(spec, defaults)
    except InputError as error:
        if name is not None or "=" not in text:
            raise
        message = f"{error}. Of one system it is NAME=X; there are {format_names(systems)}"
        raise InputError(message) from None


def _read_matrix_columns(
    specs: Sequence[str], rows: pa.Table, path: str, *, has_labels: bool
) -> dict[str, Any]:
    """Return the confusion matrix of each system by name, with one column of counts per class.

    The column that names the classes of the rows is included, unless they are named otherwise.
    """
    from calipers.data.columns import select_columns
    from calipers.data.confusion_matrices import parse_header
    from calipers.results.estimate import DEFAULT_SYSTEM_NAME

    label = [] if has_labels else [n for n in rows.column_names[:1] if parse_header(n) is not None]
    matrices = {}
    for spec in specs:
        name, _, columns = spec.rpartition("=")
        if spec in rows.column_names:
            name, columns = "", spec
        column_names = columns.split(",")
        column_by_class = select_columns(rows, columns, path) if len(column_names) == 1 else None
        if not isinstance(column_by_class, dict):
            column_by_class = {
                column_name: select_columns(rows, column_name, path) for column_name in column_names
            }
        if (name or DEFAULT_SYSTEM_NAME) in matrices:
            raise click.UsageError(
                f"--confusion-matrix: the system {name or DEFAULT_SYSTEM_NAME!r} is given twice"
            )
        matrices[name or DEFAULT_SYSTEM_NAME] = {
            **{n: select_columns(rows, n, path) for n in label},
            **column_by_class,
        }
    return matrices


def _row_classes(options: dict[str, Any], truth: str | None) -> str | None:
    """Pop the column of predicted classes of the rows of a matrix, ``--predicted``.

    Raises an error for options that only apply to systems on rows.
    """
    for name in ("score", "probability", "count"):
        if options[name]:
            raise click.UsageError(
                f"--confusion-matrix says what is predicted, and how often: no --{name}"
            )
    predicted, options["predicted"] = options["predicted"], ()
    if not predicted:
        return None
    if truth is not None or len(predicted) > 1:
        raise click.UsageError(
            "--confusion-matrix says what is predicted, and how often: no --predicted, but as the "
            "predicted "
            "class of each row, in place of --truth"
        )
    return str(predicted[0])


def _read_matrices(table: str, options: dict[str, Any]) -> tuple[Any, list[InputOrigin]]:
    """Read the confusion matrix in a table, or those in several files.

    Options that only apply to rows are popped, and are an error if they were given.

    Raises
    ------
    UsageError
        If the table is not a confusion matrix.
    """
    if any(options[kind] for kind in SYSTEM_ROLES) or not (
        options["rows"] is not None or _is_declared_matrix(table)
    ):
        raise click.UsageError(
            "Missing option '--truth'. (Where TABLE is a confusion matrix, --rows says what its "
            "rows are.)"
        )
    for key, option in _ROW_OPTIONS.items():
        if options.pop(key, None):
            raise click.UsageError(f"{option} is about rows, and {table} is a confusion matrix")
    if options.pop("engine", None) not in (None, "memory"):
        raise click.UsageError(f"--engine is about rows, and {table} is a confusion matrix")
    path_by_system = dict(options.pop("tables"))
    for name in (*SYSTEM_ROLES, "missing", "truth", "threshold"):
        del options[name]
    matrix_by_path = {path: _open_matrix(path) for path in (table, *path_by_system.values())}
    if not path_by_system:
        return matrix_by_path[table], [_origin(table)]
    main_name = Path(table).stem
    if main_name in path_by_system:
        raise click.UsageError(f"--system: {main_name!r} is already the name of {table}")
    matrices = {
        main_name: matrix_by_path[table],
        **{name: matrix_by_path[path] for name, path in path_by_system.items()},
    }
    return matrices, [_origin(path) for path in (table, *path_by_system.values())]


def _is_json(path: str) -> bool:
    return path.lower().endswith(".json")


def _is_declared_matrix(table: str) -> bool:
    """Return whether a table declares itself a confusion matrix."""
    if _is_json(table):
        return True
    with suppress(OSError):
        if table != DASH and Path(table).stat().st_size > _MAX_FILE_BYTES:
            return False
    from calipers.data.categories import ANY_COLUMN
    from calipers.data.confusion_matrices import is_matrix_table

    return is_matrix_table(read_input_table(table, categories=ANY_COLUMN).table)


def _open_matrix(path: str) -> Any:
    from calipers.data.categories import ANY_COLUMN
    from calipers.evaluation.confusion_tables import to_count_tables

    if _is_json(path):
        return to_count_tables(Path(path))
    return read_input_table(path, categories=ANY_COLUMN).table


def _origin(path: str) -> InputOrigin:
    from calipers.data.byte_sources import ByteSource
    from calipers.data.trec import InputOrigin

    if not _is_json(path):
        return read_input_table(path).origin
    size, digest = ByteSource.from_input(path).digest()
    return InputOrigin("table", path, bytes=size, sha256=digest)
