"""Options that the evaluating sub-commands share, and what they do with a result."""

from __future__ import annotations

import functools
import operator
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from calipers.data.trec import Origin
    from calipers.results import Evaluation

FORMATS = ("table", "json", "csv", "markdown")
#: Those of the values per unit, which only some commands have.
UNIT_FORMATS = ("table", "json", "csv", "parquet", "trec")
SUFFIXES = {
    ".json": "json",
    ".csv": "csv",
    ".md": "markdown",
    ".txt": "table",
    ".parquet": "parquet",
    ".trec": "trec",
}

Command = Callable[..., Any]


def measure_options(command: Command) -> Command:
    """Options of what is measured and how sure the numbers are."""
    options = [
        click.option(
            "-m",
            "--measure",
            "measures",
            multiple=True,
            metavar="NAME",
            help="A measure such as nDCG@10; repeatable. `calipers measures` lists them; 'default' "
            "stands for those that are shown if none is named.",
        ),
        click.option(
            "--baseline", metavar="NAME", help="Compare with this system, not every pair."
        ),
    ]
    return _apply(options, inference_options(command))


def join_options(command: Command) -> Command:
    """Options of tables that are joined, and of what is missing in them."""
    options = [
        click.option(
            "--id",
            "by",
            metavar="COL",
            help="Column of ids, by which the tables of --system are joined.",
        ),
        click.option(
            "--system",
            "tables",
            multiple=True,
            metavar="NAME=FILE",
            help="A system in a table of its own, with the column of --id; repeatable.",
        ),
        click.option(
            "--missing",
            type=click.Choice(["error", "drop"]),
            default="error",
            show_default=True,
            help="Refuse missing values and ids, or leave their rows out and say how many.",
        ),
    ]
    return _apply(options, command)


def inference_options(command: Command) -> Command:
    """Options of how sure the numbers are."""
    options = [
        click.option(
            "--level", type=float, default=0.95, show_default=True, help="Level of the intervals."
        ),
        click.option(
            "--interval",
            metavar="NAMES",
            default="auto",
            show_default=True,
            help="How intervals are made: auto, bootstrap, analytic, none, or methods such as bca "
            "or jeffreys,hanley, each used where it applies.",
        ),
        click.option(
            "--resamples",
            type=int,
            default=2000,
            show_default=True,
            help="Bootstrap replicates.",
        ),
        click.option("--seed", type=int, default=0, show_default=True, help="Seed of resampling."),
    ]
    return _apply(options, command)


def output_options(command: Command, formats: Sequence[str] = FORMATS) -> Command:
    """Options of what becomes of the result."""
    options = [
        click.option(
            "--format",
            "format_",
            type=click.Choice(formats),
            help="Format of the result; by the suffix of -o, else table.",
        ),
        click.option(
            "-o", "--output", type=click.Path(dir_okay=False), help="Write there, not to stdout."
        ),
        click.option(
            "--report",
            type=click.Path(dir_okay=False),
            metavar="FILE.html",
            help="Write an HTML report as well.",
        ),
        click.option(
            "--require",
            "requirements",
            multiple=True,
            metavar="'NAME>=VALUE'",
            help="Exit with 1 unless every system's value meets this; repeatable.",
        ),
    ]
    return _apply(options, command)


def _apply(options: Sequence[Callable[[Command], Command]], command: Command) -> Command:
    return functools.reduce(lambda made, option: option(made), reversed(options), command)


@dataclass(frozen=True)
class Output:
    """What a user wants done with the result; ``units`` for the value on every unit instead.

    ``then`` takes the result over, where another command asked for the evaluation.
    """

    kind: str
    path: str | None
    report: str | None
    requirements: tuple[Requirement, ...]
    units: bool = False
    then: Callable[[Evaluation], None] | None = None

    @classmethod
    def take(cls, options: dict[str, Any], *, units: bool = False) -> Output:
        """Take the output options out of a command's, checked before any data are read."""
        kind, path = options.pop("format_"), options.pop("output")
        if kind is None:
            kind = "table" if path is None else SUFFIXES.get(Path(path).suffix, "table")
        formats = UNIT_FORMATS if units else FORMATS
        if kind not in formats:
            what = "the values per topic" if units else "this result"
            raise click.UsageError(f"{what} cannot be written as {kind}; use {', '.join(formats)}")
        if kind == "parquet" and path is None:
            raise click.UsageError("Parquet needs a file to be written to: -o FILE.parquet")
        requirements = tuple(Requirement.parse(text) for text in options.pop("requirements"))
        then = options.pop("then", None)
        return cls(kind, path, options.pop("report"), requirements, units, then)

    def finish(self, evaluation: Evaluation) -> None:
        """Write the result, and exit with 1 when a requirement is not met."""
        if self.then is not None:
            self.then(evaluation)
            return
        unmet = [line for wanted in self.requirements for line in wanted.unmet(evaluation)]
        if self.report is not None:
            evaluation.to_html(self.report)
        (write_units if self.units else write)(evaluation, self.kind, self.path)
        for line in unmet:
            click.echo(line, err=True)
        if unmet:
            raise click.exceptions.Exit(1)


#: Options that say what becomes of an evaluation, not how it is made.
_OF_OUTPUT = frozenset(
    {"format_", "output", "report", "requirements", "per_topic", "by_label"}
    | {"confusion", "orientation"}
)


def evaluating(name: str) -> tuple[list[click.Parameter], Command]:
    """How the command ``name`` evaluates: its parameters but for those of output, and what to call
    with their values and ``then=``, which is given the evaluation."""
    command: click.Command = import_module(f"calipers.cli.{name}").command
    assert command.callback is not None
    of_output = [p for p in command.params if p.name in _OF_OUTPUT]
    not_given = click.Command(name, params=of_output).make_context(name, []).params
    own = [p for p in command.params if p.name not in _OF_OUTPUT]
    return own, functools.partial(command.callback, **not_given)


def write(evaluation: Evaluation, kind: str, output: str | None) -> None:
    """The result in one format, to a file or to stdout."""
    if kind == "table" and output is None:
        from calipers.report.text import print_table

        print_table(evaluation, sys.stdout)
        return
    text = {
        "table": lambda: str(evaluation),
        "json": evaluation.to_json,
        "csv": evaluation.to_csv,
        "markdown": evaluation.to_markdown,
    }[kind]()
    write_out(text, output)


def write_units(evaluation: Evaluation, kind: str, output: str | None) -> None:
    """The value on every unit in one format, to a file or to stdout."""
    from calipers.report import per_topic, replacing

    values = evaluation.per_unit
    assert values is not None
    if kind == "parquet":
        from pyarrow import parquet

        assert output is not None
        with replacing(Path(output)) as stream:
            parquet.write_table(values.to_arrow(), stream)
    elif kind == "table" and output is None:
        per_topic.print_unit_table(evaluation, values, sys.stdout)
    else:
        texts: dict[str, Callable[[], str]] = {
            "table": lambda: per_topic.unit_table(evaluation, values),
            "json": values.to_json,
            "csv": values.to_csv,
            "trec": lambda: per_topic.trec_lines(evaluation, values),
        }
        write_out(texts[kind](), output)


def write_out(text: str, output: str | None) -> None:
    """Text to a file or to stdout, its last line ended."""
    text = text if text.endswith("\n") else text + "\n"
    if output is None:
        sys.stdout.write(text)
    else:
        from calipers.report import write_text

        write_text(Path(output), text)


_REQUIREMENT = re.compile(
    r"\s*(?P<measure>.+?)\s*(?P<relation>>=|<=|>|<)\s*(?P<bound>[-+]?\d*\.?\d+(e[-+]?\d+)?)\s*$"
)
_RELATIONS = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt}


@dataclass(frozen=True)
class Requirement:
    """A bound that every system's value has to keep."""

    text: str
    measure: str
    relation: str
    bound: float

    @classmethod
    def parse(cls, text: str) -> Requirement:
        """From ``nDCG@10>=0.35``."""
        match = _REQUIREMENT.match(text)
        if match is None:
            raise click.UsageError(
                f"--require {text!r}: expected a measure, a relation and a number, "
                "as in 'nDCG@10>=0.35'"
            )
        return cls(text, match["measure"], match["relation"], float(match["bound"]))

    def unmet(self, evaluation: Evaluation) -> list[str]:
        """A sentence for each system that does not meet it; an undefined value does not."""
        try:
            estimates = [evaluation[system, self.measure] for system in evaluation.systems]
        except KeyError:
            raise click.UsageError(
                f"--require: {self.measure!r} is not among the measures: "
                + ", ".join(evaluation.measures)
            ) from None
        meets = _RELATIONS[self.relation]
        return [
            f"required {self.text} is not met: {estimate}"
            for estimate in estimates
            if not meets(estimate.value, self.bound)
        ]


def table_origin(path: str) -> Origin:
    """Where a table's columns came from, for the provenance."""
    from calipers.data.tables import file_digest
    from calipers.data.trec import Origin

    size, digest = file_digest(path)
    return Origin("table", path, bytes=size, sha256=digest)
