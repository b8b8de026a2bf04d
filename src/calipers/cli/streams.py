"""Options of tables that are read in batches."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase as fnmatch
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.files import DASH, InputFile, OutputFile, is_given
from calipers.cli.options import (
    Option,
    combine_options,
    repeatable_option,
    shared_options,
    text_option,
)
from calipers.cli.process import allow_pandas
from calipers.evaluation.task import Task
from calipers.evaluation.tasks import engine_argument
from calipers.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from calipers.cli.columns import Columns
    from calipers.engines.base import Engine
    from calipers.results import Evaluation

#: Engines whose rows are in other processes.
_DISTRIBUTED = ("spark", "dask")

_STDIN = (DASH, "/dev/stdin")

memory_option = shared_options("memory")
state_option = text_option(
    "--save-state",
    "FILE",
    "Save the state of the evaluation in a file, for --merge and `calipers merge`.",
    type=OutputFile(allow_dash=False),
)
_merge_option = repeatable_option(
    "--merge",
    "FILE",
    "Merge a state that --save-state wrote; repeatable. Results that need a second pass over rows, "
    "such as paired differences, are omitted.",
    type=InputFile(),
)
_master_option = text_option(
    "--master",
    "URL",
    "With --engine spark, the master: 'local[4]', 'spark://…', 'yarn', or 'sc://…' for Spark "
    "Connect; with --engine dask, the scheduler: 'tcp://…'.  [default: as configured; for Dask "
    "this machine]",
)


def engine_options(task: Task) -> Option:
    """Return the options of the engines of a task."""
    argument = engine_argument(task)
    if argument is None:
        return combine_options()
    engine = click.option("--engine", type=click.Choice(task.engines), help=argument.help)
    memory = [memory_option] if "memory" in task.options else []
    states = [state_option, _merge_option] if "states" in task.options else []
    return combine_options(engine, _master_option, *memory, *states)


@dataclass(frozen=True)
class StateOptions:
    """Options of evaluation states: the file to save it, and files to merge."""

    path: str | None
    merged_paths: tuple[str, ...]

    @classmethod
    def pop_from(cls, options: dict[str, Any]) -> StateOptions:
        """Pop these options from the options of a command; they imply the stream engine."""
        state_options = cls(options.pop("save_state"), options.pop("merge"))
        flag_values = (
            ("--save-state", state_options.path),
            ("--merge", state_options.merged_paths),
        )
        for option in (name for name, value in flag_values if value):
            if options["engine"] == "memory":
                raise click.UsageError(
                    f"{option} applies to rows in batches, not to --engine memory"
                )
            options["engine"] = options["engine"] or "stream"
        if state_options.merged_paths and (options["baseline"] or options["primary"]):
            raise click.UsageError(
                "--merge: paired comparisons need all rows, so --baseline and --primary cannot be "
                "combined with it"
            )
        return state_options

    def evaluate(self, verb: Callable[..., Evaluation], *args: Any, **options: Any) -> Evaluation:
        """Evaluate the rows, merge the other states, and save the state."""
        from calipers.evaluate.merge_states import get_state, merge_states, save_state

        if not self.merged_paths:
            evaluation = verb(*args, **options)
        else:
            # The merged result is checked for errors, not the one of these rows.
            row_evaluation = verb(*args, **{**options, "interval": "none"})
            rows = get_state(row_evaluation, "--merge").without_settings()
            requested = filter(is_given, ("interval", "level", "n_resamples", "seed"))
            evaluation = merge_states(
                [rows, *self.merged_paths],
                memory=options["memory"],
                curves=options.get("curves", True),
                **{name: options[name] for name in requested},
            )
        if self.path is not None:
            save_state(evaluation, self.path)
        return evaluation


def is_distributed(
    task: Task, table: str, columns: Columns | None, options: dict[str, Any]
) -> bool:
    """Return whether the rows are not read into memory.

    If they are, options that only apply to engines are popped.
    """
    engine, master = options["engine"], options["master"]
    if master is not None and engine not in _DISTRIBUTED:
        raise click.UsageError("--master goes with --engine spark and --engine dask")
    if engine in _DISTRIBUTED or _is_streamed(task, table, columns, options):
        return True
    del options["engine"], options["master"]
    options.pop("memory", None)
    return False


def _is_streamed(task: Task, table: str, columns: Columns | None, options: dict[str, Any]) -> bool:
    engine = options["engine"]
    if columns is None or "stream" not in task.engines or (engine is None and table in _STDIN):
        return False  # nobody knows how large a pipe is
    from calipers.data.streams import Stream
    from calipers.evaluation.stream_columns import check_single_file, is_streamed

    if engine is None and "memory" not in task.options:  # of groups that may not be consecutive
        check_single_file(table)
        return False
    # Of ratings all columns may be raters, and rows of single ratings are read at once.
    if engine is None and columns.specs.get("rater"):
        return False
    specs = columns.all_specs if task.per_system else ["*"]
    needed: list[Any] = []
    if engine is None and os.path.isfile(table):  # noqa: PTH113
        names = Stream.from_input(table).names
        needed = [*_existing_columns(names, specs), *columns.slice_and_cost_columns(names)]
    return is_streamed(engine, options.get("memory"), table, needed)


def connect_engine(options: dict[str, Any]) -> None:
    """Connect to the engine that reads files; --master is popped from the options."""
    from calipers.engines import dask
    from calipers.engines.spark import get_session

    master = options.pop("master")
    allow_pandas()
    if options["engine"] == "spark":
        get_session(master)
    else:
        dask.connect(master)


def _existing_columns(names: Sequence[str], specs: Sequence[str]) -> list[str]:
    """Return the columns that are meant; missing ones are reported when the file is read."""
    existing: list[str] = []
    for spec in specs:
        patterns = [spec] if spec in names else spec.rpartition("=")[2].split(",")
        for column in patterns:
            existing += [name for name in names if fnmatch(name, column) or name == column]
    return existing


def pop_engine(table: str, options: dict[str, Any]) -> Engine:
    """Return the engine of a table; its options are popped."""
    from calipers.engines import dask, spark
    from calipers.engines.spark import get_session
    from calipers.evaluation.stream_columns import get_engine

    engine, master = options.pop("engine"), options.pop("master")
    if engine in _DISTRIBUTED and table in _STDIN:
        raise click.UsageError(f"--engine {engine} reads files, not the standard input")
    if engine in _DISTRIBUTED:
        allow_pandas()
    if engine == "spark":
        return spark.SparkEngine.from_source(table, get_session(master))
    if engine == "dask":
        dask.connect(master)
    # A file behind it is read from where it stands, and has no extension.
    return get_engine(DASH if table in _STDIN else table, engine)
