"""Options of tables that are read in batches."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase as fnmatch
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.files import DASH, InFile, OutFile
from calipers.cli.options import stacked, text, texts
from calipers.cli.process import with_pandas
from calipers.cli.slices import named_slices

if TYPE_CHECKING:
    from calipers.cli.systems import Systems
    from calipers.engines.base import Engine
    from calipers.results import Evaluation

#: How rows may be read.
ENGINES = ("memory", "stream", "spark", "dask")

#: Those whose rows lie in other processes.
_ELSEWHERE = ("spark", "dask")

_STDIN = (DASH, "/dev/stdin")

#: Options that need all rows, by what they are called where they are taken.
_OF_ALL_ROWS = {
    "cost": "--cost",
    "cells": "--cells",
    "cutoffs": "--cutoffs",
    "quantiles": "--quantiles",
}

memory_option = text(
    "--memory", "SIZE", "Memory that may be taken, as in 2GB.  [default: half of what is free]"
)
state_option = text(
    "--save-state",
    "FILE",
    "Keep what was added up of the rows in a file, for --merge and `calipers merge`.",
    type=OutFile(dash=False),
)

master_option = text(
    "--master",
    "URL",
    "With --engine spark, where Spark runs: 'local[4]', 'spark://…', 'yarn', or 'sc://…' for a "
    "server of Spark Connect; with --engine dask, the scheduler: 'tcp://…'.  [default: as it "
    "is configured; for Dask this machine]",
)

#: Of what comes in groups, or by topic, which batches would cut through.
whole_engine_options = stacked(
    click.option(
        "--engine",
        type=click.Choice([of for of in ENGINES if of != "stream"]),
        help="Have all rows in memory, or have Spark or Dask read the files, on as many machines "
        "as they have.  [default: memory]",
    ),
    master_option,
)

batch_options = stacked(
    click.option(
        "--engine",
        type=click.Choice(ENGINES),
        help="Have all rows in memory, or read TABLE in batches: a file of any size, a directory "
        "or a pattern such as 'day-*.parquet'. Or have Spark or Dask read it, on as many machines "
        "as they have.  [default: stream where the columns would not fit]",
    ),
    master_option,
    memory_option,
)

engine_options = stacked(
    batch_options,
    state_option,
    texts(
        "--merge",
        "FILE",
        "Add the rows of an earlier evaluation that --save-state kept; repeatable. What takes a "
        "second look at rows, such as paired differences, is left out.",
        type=InFile(),
    ),
)


@dataclass(frozen=True)
class States:
    """What becomes of the sums over the rows: the file that keeps them, and the files of others
    that are added."""

    path: str | None
    others: tuple[str, ...]

    @classmethod
    def take(cls, options: dict[str, Any]) -> States:
        """Take them out of a command's options, of which they are the reason to stream."""
        made = cls(options.pop("save_state"), options.pop("merge"))
        given = (("--save-state", made.path), ("--merge", made.others))
        for option in (name for name, value in given if value):
            if options["engine"] == "memory":
                raise click.UsageError(f"{option} is about rows in batches, not --engine memory")
            options["engine"] = options["engine"] or "stream"
        if made.others and (options["baseline"] or options["primary"]):
            raise click.UsageError(
                "--merge: systems are compared row by row, which takes all rows; no --baseline and "
                "no --primary"
            )
        return made

    def of(self, verb: Callable[..., Evaluation], *given: Any, **options: Any) -> Evaluation:
        """The evaluation by a verb, with the rows of others, and written to its file."""
        from calipers.evaluate.merged import merge_states, save_state

        if not self.others:
            evaluation = verb(*given, **options)
        else:
            # Errors are looked for when all rows are there.
            own = verb(*given, **{**options, "interval": "none"})
            asked = {key: options[key] for key in ("interval", "level", "memory")}
            asked["curves"] = options.get("curves", True)
            evaluation = merge_states([own, *self.others], **asked)
        if self.path is not None:
            save_state(evaluation, self.path)
        return evaluation


def is_stream(table: str, truth: str, systems: Systems, options: dict[str, Any]) -> bool:
    """Whether the table is to be read in batches."""
    from calipers.evaluate.stream_columns import in_batches

    _check_master(options)
    if options["engine"] is None and table in _STDIN:
        options.pop("master")
        return False  # nobody knows how large it is
    specs = [truth, *(spec for of in systems.columns.values() for spec in of)]
    specs += [options[key] for key in ("weight", "cluster", "time") if options.get(key)]
    columns = _there(table, specs) if options["engine"] is None else []
    if in_batches(options["engine"], options["memory"], table, columns):
        return True
    options.pop("master")
    return False


def _check_master(options: dict[str, Any]) -> None:
    if options["master"] is not None and options["engine"] not in _ELSEWHERE:
        raise click.UsageError("--master goes with --engine spark and --engine dask")


def is_elsewhere(options: dict[str, Any]) -> bool:
    """Whether other processes read what is in groups, or of topics; where they do not, the options
    that say so are taken out."""
    _check_master(options)
    if options["engine"] in _ELSEWHERE:
        return True
    del options["engine"], options["master"]
    return False


def connect(options: dict[str, Any]) -> None:
    """Have the engine there that reads files from now on; --master is taken out of the options."""
    from calipers.engines import dask
    from calipers.engines.spark_session import session_of

    master = options.pop("master")
    with_pandas()
    if options["engine"] == "spark":
        session_of(master)
    else:
        dask.connect(master)


def _there(table: str, specs: Sequence[str]) -> list[str]:
    """The columns of a file that are meant; what is none of its columns is told where it is
    read."""
    from calipers.data.streams import Stream

    if not os.path.isfile(table):  # noqa: PTH113
        return []
    names, found = Stream.of(table).names, []
    for spec in specs:
        several = [spec] if spec in names else spec.rpartition("=")[2].split(",")
        for column in several:
            found += [name for name in names if fnmatch(name, column) or name == column]
    return found


def by_name(
    table: str,
    systems: Systems,
    options: dict[str, Any],
    labels: Sequence[str] | None = None,
    **others: Any,
) -> dict[str, Any]:
    """What a verb takes of a stream: the columns by their names."""
    from calipers.data.columns import system_name

    if systems.tables:
        raise click.UsageError("--system joins tables by their ids, which takes --engine memory")
    for key, option in _OF_ALL_ROWS.items():
        if options.get(key) or others.get(key):
            raise click.UsageError(f"{option} takes all rows in memory: --engine memory")
        options.pop(key, None)
    stream = _rows(table, options["engine"], options.pop("master"))
    options["engine"] = None
    made: dict[str, Any] = {"data": stream, "inputs": (), **named_slices(options)}
    for kind, specs in systems.columns.items():
        found: dict[str, Any] = {}
        for spec in specs:
            name, equals, column = spec.partition("=")
            if not equals or spec in stream.names:
                name, column = system_name(spec), spec
            found[name] = _of_classes(column, labels, stream.names)
        if found:
            made[kind] = found
    return made


def _rows(table: str, engine: str | None, master: str | None) -> Engine:
    """The engine that has the rows of a table."""
    from calipers.engines import dask, spark
    from calipers.engines.spark_session import session_of
    from calipers.evaluate.stream_columns import engine_of

    if engine in _ELSEWHERE and table in _STDIN:
        raise click.UsageError(f"--engine {engine} reads files, not the standard input")
    if engine in _ELSEWHERE:
        with_pandas()
    if engine == "spark":
        return spark.Spark.of(table, session_of(master))
    if engine == "dask":
        dask.connect(master)
    # A file behind it is read from where it stands, and has no extension.
    return engine_of(DASH if table in _STDIN else table, engine)


def _of_classes(columns: str, labels: Sequence[str] | None, names: Sequence[str]) -> Any:
    """One column, or those of the classes in their order."""
    parts = columns.split(",")
    if len(parts) == 1 or columns in names:
        return columns
    if labels is None or len(labels) != len(parts):
        raise click.UsageError(f"{columns}: {len(parts)} columns go with as many --labels")
    return dict(zip(labels, parts, strict=True))
