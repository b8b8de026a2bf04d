"""Commands of tasks: their columns, their arguments, and shared options."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import click

from calipers.cli.columns import Columns, system_option
from calipers.cli.files import Command, InputFile, is_given
from calipers.cli.options import (
    Option,
    added_parameters,
    argument_option,
    column_parameter,
    combine_options,
    flag_option,
    repeatable_option,
    shared_options,
)
from calipers.cli.output import DATA_FORMATS, UNIT_DATA_FORMATS, check_table_output, print_tables
from calipers.cli.shared_options import OutputOptions, output_options
from calipers.cli.streams import StateOptions, engine_options, is_distributed, pop_engine
from calipers.cli.tables import read_input_table
from calipers.evaluation.availability import unavailable_flag_reason
from calipers.evaluation.task import Task
from calipers.evaluation.tasks import HUMAN, OPTIONS, SHARED_ROLES, TASKS
from calipers.plugins import plugin_errors

if TYPE_CHECKING:
    import pyarrow as pa

    from calipers.data.categories import Category
    from calipers.results import Evaluation

#: The shared options in the order of the help: before those of engines, and after them.
_LEADING_OPTIONS, _TRAILING_OPTIONS = (
    ("slice_bins", "cost"),
    (
        "conventions",
        "measures",
        "baseline",
        "compare",
        "primary",
        "level",
        "interval",
        "n_resamples",
        "seed",
    ),
)
#: Option of the disparities between slices, with which `calipers.fairness` is computed.
_fairness_option = repeatable_option(
    "--fairness",
    "NAME",
    "Disparity between the groups that --slice defines: a measure, or one of demographic-parity, "
    "equalized-odds and equal-opportunity, followed by -difference, -ratio, -group-min or "
    "-group-max. 'default' stands for differences and ratios of these three for two classes, and "
    "otherwise for the differences of all measures. Repeatable.",
)


@functools.cache
def make_task_command(task: Task) -> TaskCommand:
    """Create the command of a task."""
    command_class: type[TaskCommand] = (
        _load_object(task, task.command) if task.command else TaskCommand
    )
    return command_class(task)


def _load_object(task: Task, reference: str) -> Any:
    """Return the object that a task names, which may be in another package."""
    module, _, name = reference.partition(":")
    if module.partition(".")[0] == "calipers":
        return getattr(import_module(module), name)
    with plugin_errors(f"{reference!r} of the task {task.name!r}"):
        return getattr(import_module(module), name)


class TaskCommand(Command):
    """Command of a task.

    If a task needs more than its declaration, a subclass adds options and their implementation.
    """

    #: Options of a subclass that determine what is displayed, not what is measured.
    display_options: ClassVar[tuple[str, ...]] = ()
    #: Those of them that determine the look of the result.
    look_options: ClassVar[tuple[str, ...]] = ()

    def __init__(self, task: Task) -> None:
        self.task = task
        params = added_parameters(self._options())
        super().__init__(
            task.name,
            params=params,
            callback=self._run,
            help=inspect.cleandoc(task.help or task.summary),
        )

    # --- What it takes -------------------------------------------------------------------------

    def task_options(self) -> Option:
        """Return the additional options of the task."""
        return combine_options()

    def _options(self) -> Option:
        task = self.task
        columns = [
            (c.required or c.role not in SHARED_ROLES, column_parameter(c)) for c in task.columns
        ]
        task_columns = [parameter for is_own, parameter in columns if is_own]
        shared_columns = [parameter for is_own, parameter in columns if not is_own]
        joins = [shared_options("id"), system_option] if "id" in task.options else []
        missing = [shared_options("missing")] if "missing" in task.options else []
        table = [click.argument("table", type=InputFile())] if task.table else []
        return combine_options(
            *table,
            *task_columns,
            *joins,
            *missing,
            *map(argument_option, task.arguments),
            *shared_columns,
            *self._shared(_LEADING_OPTIONS),
            *([_fairness_option] if "fairness" in task.options else []),
            self.task_options(),
            *([flag_option(f"--{task.below}", task.below_help)] if task.below else []),
            *self._shared(("undefined",)),
            engine_options(task),
            *([flag_option(f"--per-{task.per_unit}", task.per_unit_help)] if task.per_unit else []),
            *self._shared(_TRAILING_OPTIONS),
            lambda command: output_options(command, self._formats),
        )

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the command line, and explain why an option of other tasks does not exist."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            reason = unavailable_flag_reason(self.task.name, error.option_name)
            if reason is None:
                raise
            message = f"{self.task.name} has no {error.option_name}{reason}"
            raise click.UsageError(message, ctx) from None

    def _shared(self, names: Collection[str]) -> list[Option]:
        return [argument_option(OPTIONS[name]) for name in names if name in self.task.options]

    @property
    def _formats(self) -> tuple[str, ...]:
        """Data formats of the task; values per unit of groups and topics have more."""
        task = self.task
        unit_formats = UNIT_DATA_FORMATS if task.per_unit and not task.per_unit_asked else ()
        return tuple(dict.fromkeys((*DATA_FORMATS, *unit_formats)))

    def evaluation_parameters(
        self, exclude: Collection[str] = ()
    ) -> tuple[list[click.Parameter], Callable[..., Any]]:
        """Return parameters and a function to evaluate the task for ``plan`` and ``compare``.

        The parameters exclude those of the output and those named in ``exclude``. The function
        takes their values, and ``then``, which is called with the evaluation.
        """
        task = self.task
        omitted_names = {str(p.name) for p in added_parameters(output_options)}
        omitted_names |= {
            "slices",
            "fairness",
            "save_state",
            "merge",
            "no_compare",
            *self.display_options,
            *exclude,
        }
        omitted_names |= {
            _parameter_name(switch) for switch in (task.below, f"per-{task.per_unit}")
        }
        omitted_names |= {a.name for a in (*task.arguments, *OPTIONS.values()) if a.is_shown}
        omitted = [p for p in self.params if p.name in omitted_names]
        default_values = click.Command(task.name, params=omitted).make_context(task.name, []).params
        params = [p for p in self.params if p.name not in omitted_names]
        return params, functools.partial(self._run, **default_values)

    # --- What it does --------------------------------------------------------------------------

    def _run(self, **options: Any) -> None:
        task = self.task
        per_unit = bool(options.get(_parameter_name(f"per-{task.per_unit}")))
        if not task.per_unit_asked:
            options.pop(_parameter_name(f"per-{task.per_unit}"), None)
        output = OutputOptions.pop_from(options, units=per_unit)
        below = bool(options.pop(_parameter_name(task.below), False))
        if below and per_unit:
            raise click.UsageError(f"--{task.below} and --per-{task.per_unit}: give one")
        if below:
            check_table_output(f"--{task.below}", output.kind, output.path)
        self.check(options, output)
        if "compare" in task.options:
            options["compare"] = not options.pop("no_compare")
            for name in ("baseline", "primary"):
                if options.get(name) is not None and not options["compare"]:
                    raise click.UsageError(
                        f"--{name} requires a comparison, which --no-compare turns off; leave out "
                        "one of them"
                    )
        look = {name: options.pop(name) for name in self.look_options}
        if options.get("conventions") is not None:
            from calipers.evaluation.conventions import read_conventions

            conventions = read_conventions(options["conventions"], task.name)
            for name in conventions.tasks[task.name].options:
                if not is_given(name):
                    del options[name]
        disparities = options.pop("fairness", ())
        if disparities and not options["slices"]:
            raise click.UsageError("--fairness is between groups; --slice COL defines them")
        evaluation = self.evaluate(options, output)
        if disparities:
            from dataclasses import replace

            from calipers.evaluate.fairness import fairness

            evaluation = replace(evaluation, fairness=fairness(evaluation, measures=disparities))
        self.finish(evaluation, output, show_tables=below, **look)

    def check(self, options: dict[str, Any], output: OutputOptions) -> None:
        """Check the combination of options before any data are read."""
        systems = [*options.get("tables", ())]
        systems += [spec for column in self.task.per_system for spec in options[column.role]]
        if output.kind == "trec" and len(systems) > 1:
            raise click.UsageError(
                "the lines of trec_eval have no place for a system; give one "
                + self.task.per_system[0].role
            )

    def evaluate(self, options: dict[str, Any], output: OutputOptions) -> Evaluation:
        """Evaluate the data with the evaluation function of the task."""
        task, table = self.task, options.pop("table")
        columns = Columns.pop_from(task, options)
        states = StateOptions.pop_from(options) if "states" in task.options else None
        self.parse(options)
        return self.evaluate_rows(table, columns, states, options, output)

    def parse(self, options: dict[str, Any]) -> None:
        """Convert the texts of options to arguments of the evaluation function."""
        for argument in (*self.task.arguments, *OPTIONS.values()):
            text = options.get(argument.name)
            if text is None or argument.parse is None:
                continue
            try:
                options[argument.name] = argument.parse(text)
            except ValueError as error:
                raise click.UsageError(f"{argument.option} {error}") from None
        options["measures"] = options["measures"] or None

    def evaluate_rows(
        self,
        table: str,
        columns: Columns,
        states: StateOptions | None,
        options: dict[str, Any],
        output: OutputOptions,
        memory_options: Mapping[str, Any] = MappingProxyType({}),
        extra_arguments: Callable[[pa.Table], dict[str, Any]] | None = None,
    ) -> Evaluation:
        """Evaluate the rows of a table, in memory or on an engine.

        ``memory_options`` are options that need all rows in memory, and ``extra_arguments`` returns
        additional arguments from these rows.
        """
        task = self.task
        if "curves" in task.options:
            options["curves"] = output.report.is_requested
        verb = _load_object(task, task.verb)
        if len(task.engines) > 1 and is_distributed(task, table, columns, options):
            if columns.tables:
                raise click.UsageError(
                    "--system joins tables by their ids, which requires --engine memory"
                )
            for option in (name for name, value in memory_options.items() if value):
                raise click.UsageError(f"{option} takes all rows in memory: --engine memory")
            rows = pop_engine(table, options)
            self._check_separator(columns, rows.column_names, options)
            arguments = columns.to_arguments(rows.column_names)
            evaluate = verb if states is None else functools.partial(states.evaluate, verb)
            result: Evaluation = evaluate(**{task.table: rows}, **arguments, inputs=(), **options)
            return result
        open_table = functools.partial(self._open_table, columns, options.get("separator"))
        # Errors about joined columns, or about patterns, list all existing columns.
        needs_all_columns = columns.tables or any(memory_options.values()) or not task.per_system
        table_rows = open_table(
            table, None if needs_all_columns else functools.partial(_used_columns, columns)
        )
        self._check_separator(columns, table_rows.column_names, options)
        with columns.add_location(table):
            arguments = columns.to_arguments(table_rows.column_names, open_table)
            arguments |= {} if extra_arguments is None else extra_arguments(table_rows)
            id_argument = {"id": columns.id_column} if "id" in task.options else {}
            origins = columns.origins(table)
            evaluation: Evaluation = verb(
                **{task.table: table_rows}, **arguments, **id_argument, inputs=origins, **options
            )
        return evaluation

    @staticmethod
    def _check_separator(
        columns: Columns, names: Sequence[str], options: Mapping[str, Any]
    ) -> None:
        """Check that a separator is given only if columns are text."""
        if options.get("separator") is not None and not columns.has_text_lists(names):
            raise click.UsageError("--separator applies to columns of text, but none is given")

    def finish(
        self, evaluation: Evaluation, output: OutputOptions, *, show_tables: bool, **look: Any
    ) -> None:
        """Write the result, and the tables below it."""
        try:
            output.finish(evaluation, **look)
        finally:
            if show_tables:
                print_tables(evaluation)

    def _open_table(
        self,
        columns: Columns,
        separator: str | None,
        path: str,
        select_columns: Callable[[Sequence[str]], Sequence[str]] | None = None,
    ) -> pa.Table:
        """Read the table in a file, or the columns that ``select_columns`` selects.

        In label columns of a CSV file, an empty field is a row without labels; in that of labels
        by people, a row to which nobody gave any.
        """
        categories = functools.partial(_categories, columns)
        input_table = read_input_table(path, select_columns, categories)
        if separator is None or not input_table.is_delimited_text:
            return input_table.table
        from calipers.data.multilabel import empty_as_no_labels

        roles = [c.role for c in self.task.columns if c.has_lists and c.role != HUMAN.role]
        label_columns = [
            spec if spec in input_table.table.column_names else spec.rpartition("=")[2]
            for role in roles
            for spec in columns.specs[role]
        ]
        by_people = columns.specs.get(HUMAN.role, ())
        return empty_as_no_labels(input_table.table, label_columns, by_people)


def _used_columns(columns: Columns, names: Sequence[str]) -> Sequence[str]:
    """Return the columns of a table that a command line names."""
    from calipers.data.columns import select_named
    from calipers.data.errors import InputError

    try:
        return select_named((columns.to_arguments(names), columns.id_column), names)
    except (click.UsageError, InputError):
        return names  # reported when the table is evaluated


def _categories(columns: Columns, names: Sequence[str]) -> Mapping[str, Category]:
    """Return the columns of a table that a command line names as categories."""
    from calipers.data.categories import CategoryColumns, candidate_names
    from calipers.data.errors import InputError
    from calipers.data.ratings import rating_categories

    task = columns.task
    try:
        arguments = columns.to_arguments(names)
    except (click.UsageError, InputError):
        return {}  # reported when the table is evaluated
    if task.column("rater") is not None:
        role_by_column = {
            name: role
            for role in (*SHARED_ROLES, "cost")
            for name in candidate_names(arguments.get(role), len(names))
        }
        long = {role: arguments.get(role) for role in ("item", "rater", "rating")}
        return rating_categories(long, role_by_column).select(names)
    return CategoryColumns.from_roles(arguments, task.categories, columns.id_column).select(names)


def _parameter_name(option: str) -> str:
    return option.replace("-", "_")


def evaluation_options(
    name: str, exclude: Collection[str] = ()
) -> tuple[list[click.Parameter], Callable[..., Any]]:
    """Return how ``plan`` and ``compare`` evaluate the task ``name``."""
    return make_task_command(TASKS[name]).evaluation_parameters(exclude)
