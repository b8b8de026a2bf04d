"""Options that the evaluating sub-commands share, and what they do with a result."""

from __future__ import annotations

import functools
import operator
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.options import SHARE, Command, choice, preset, stacked, text, texts
from calipers.cli.output import (
    FORMATS,
    UNIT_FORMATS,
    format_and_file,
    format_options,
    layout_of,
    write,
    write_units,
)
from calipers.cli.process import EXIT_UNMET, say

if TYPE_CHECKING:
    from calipers.results import Evaluation

inference_options = stacked(
    preset("--level", 0.95, "Level of the intervals.", type=SHARE),
    preset(
        "--interval",
        "auto",
        "How intervals are made: auto, bootstrap, analytic, none, or methods such as bca or "
        "jeffreys,hanley, each used where it applies.",
        metavar="NAMES",
    ),
    preset("--resamples", 2000, "Bootstrap replicates.", type=click.IntRange(min=100)),
    preset("--seed", 0, "Seed of resampling.", type=click.IntRange(0, 2**63 - 1)),
)

#: What is measured and how sure the numbers are.
measure_options = stacked(
    texts(
        "-m --measure measures",
        "NAME",
        "A measure such as nDCG@10; repeatable. `calipers measures` lists them; 'default' stands "
        "for those that are shown if none is named.",
    ),
    text("--baseline", "NAME", "Compare with this system, not every pair."),
    text(
        "--primary",
        "MEASURE",
        "The measure that decides between systems, unless it is the first; all others are tested "
        "together.",
    ),
    inference_options,
)


undefined_option = choice(
    "--undefined",
    ["nan", "zero", "one"],
    "What stands where a measure of labels has no value, such as precision where nothing is "
    "predicted positive; averages over classes take it too.",
)


def output_options(command: Command, formats: Sequence[str] = FORMATS) -> Command:
    """Options of what becomes of the result."""
    require = texts(
        "--require requirements",
        "'NAME>=VALUE'",
        "Exit with 1 unless every system's value meets this; repeatable.",
    )
    return format_options(require(command), formats)


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
    layout: str | None = None
    then: Callable[[Evaluation], None] | None = None

    @classmethod
    def take(cls, options: dict[str, Any], *, units: bool = False) -> Output:
        """Take the output options out of a command's, checked before any data are read."""
        what = "the values per topic" if units else "this result"
        kind, path = format_and_file(options, UNIT_FORMATS if units else FORMATS, what)
        layout = layout_of(options, kind, units=units)
        requirements = tuple(Requirement.parse(text) for text in options.pop("requirements"))
        then = options.pop("then", None)
        return cls(kind, path, options.pop("report"), requirements, units, layout, then)

    def finish(self, evaluation: Evaluation, **look: Any) -> None:
        """Write the result, and exit with 1 when a requirement is not met; ``look`` is for the
        report and Markdown."""
        if self.then is not None:
            self.then(evaluation)
            return
        unmet = [line for wanted in self.requirements for line in wanted.unmet(evaluation)]
        if self.units:
            write_units(evaluation, self.kind, self.path, self.report)
        else:
            write(evaluation, self.kind, self.path, self.report, self.layout, **look)
        for line in unmet:
            say(line)
        if unmet:
            raise click.exceptions.Exit(EXIT_UNMET)


#: Options that say what becomes of an evaluation, or what it shows besides the numbers themselves.
_OF_OUTPUT = frozenset(
    {"format_", "output", "layout", "report", "requirements", "per_topic", "per_group"}
    | {"per_point", "by_label", "by_cluster"}
    | {
        "confusion",
        "orientation",
        "slices",
        "slice_bins",
        "incomplete",
        "unfound",
        "max_grade",
    }
)


def evaluating(name: str, without: Collection[str] = ()) -> tuple[list[click.Parameter], Command]:
    """How the command ``name`` evaluates: its parameters but for those of output and those named
    in ``without``, and what to call with their values and ``then=``, which is given the
    evaluation."""
    command: click.Command = import_module(f"calipers.cli.{name}").command
    assert command.callback is not None
    left_out = _OF_OUTPUT.union(without)
    of_output = [p for p in command.params if p.name in left_out]
    not_given = click.Command(name, params=of_output).make_context(name, []).params
    own = [p for p in command.params if p.name not in left_out]
    return own, functools.partial(command.callback, **not_given)


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
