"""Options that the evaluating sub-commands share, and what they do with a result."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.completion import measure_names
from calipers.cli.files import Earlier
from calipers.cli.gates import Gate, gate_options
from calipers.cli.options import SHARE, Command, choice, preset, stacked, text, texts
from calipers.cli.output import (
    DATA,
    UNIT_DATA,
    Page,
    format_and_file,
    format_options,
    layout_of,
    write,
    write_units,
)

if TYPE_CHECKING:
    from calipers.results import Evaluation

interval_options = stacked(
    preset("--level", 0.95, "Level of the intervals.", type=SHARE),
    preset(
        "--interval",
        "auto",
        "How intervals are made: auto, bootstrap, analytic, none, or methods such as bca or "
        "jeffreys,hanley, each used where it applies.",
        metavar="NAMES",
    ),
)

inference_options = stacked(
    interval_options,
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
        shell_complete=measure_names,
    ),
    text(
        "--baseline",
        "NAME|FILE.json",
        "Compare with this system, not every pair; or with one of an earlier evaluation, "
        "which -o FILE.json --keep wrote (FILE.json:NAME of several).",
        type=Earlier(),
    ),
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
    ["nan", "zero", "one", "omit"],
    "What stands where a measure of labels has no value, such as precision where nothing is "
    "predicted positive; averages over classes take it too, as zero_division of scikit-learn, or "
    "omit such classes.",
)


def output_options(command: Command, data: Sequence[str] = DATA) -> Command:
    """Options of what becomes of the result."""
    keep = click.option(
        "--keep",
        is_flag=True,
        help="With -o FILE.json: also what each system said of each row (or its confusion matrix), "
        "so that --baseline FILE.json compares later systems with these. What is ranked is kept "
        "unasked.",
    )
    return format_options(keep(gate_options(command)), data)


@dataclass(frozen=True)
class Output:
    """What a user wants done with the result; ``units`` for the value on every unit instead.

    ``then`` takes the result over, where another command asked for the evaluation.
    """

    kind: str
    path: str | None
    page: Page
    gate: Gate
    units: bool = False
    layout: str | None = None
    keep: bool = False
    then: Callable[[Evaluation], None] | None = None

    @classmethod
    def take(cls, options: dict[str, Any], *, units: bool = False) -> Output:
        """Take the output options out of a command's, checked before any data are read."""
        what = "the values per topic" if units else "this result"
        kind, path = format_and_file(options, UNIT_DATA if units else DATA, what)
        layout = layout_of(options, kind, units=units)
        then, keep = options.pop("then", None), options.pop("keep")
        if keep and (kind != "json" or units):
            raise click.UsageError("--keep goes with -o FILE.json or --format json")
        gate = Gate.take(options)
        return cls(kind, path, Page.take(options), gate, units, layout, keep, then)

    def finish(self, evaluation: Evaluation, **look: Any) -> None:
        """Write the result, and exit with 1 when a requirement is not met; ``look`` is for the
        report and other pages."""
        if self.then is not None:
            self.then(evaluation)
            return
        rulings = self.gate.rulings(evaluation)
        if self.units:
            write_units(evaluation, self.kind, self.path, self.page)
        else:
            if self.kind == "json":
                from calipers.evaluate.kept import keep, worth_keeping

                to_file = self.path is not None and worth_keeping(evaluation)
                evaluation = keep(evaluation) if self.keep or to_file else evaluation
            write(evaluation, self.kind, self.path, self.page, self.layout, **look)
        self.gate.close(evaluation, rulings)


#: Options that say what becomes of an evaluation, or what it shows besides the numbers themselves.
_OF_OUTPUT = frozenset(
    {"format_", "output", "layout", "report", "open_", "requirements", "junit", "summary", "keep"}
    | {"charts", "chart_formats", "per_topic", "per_topic_dir", "per_group"}
    | {"topic_curves"}
    | {"per_point", "by_label", "by_class", "by_cluster"}
    | {
        "no_compare",
        "confusion",
        "cutoffs",
        "orientation",
        "slices",
        "slice_bins",
        "cost",
        "incomplete",
        "unfound",
        "max_grade",
        "save_state",
        "merge",
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
