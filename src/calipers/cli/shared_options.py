"""Options that evaluating commands share, and the output of results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.options import Command, combine_options, shared_options
from calipers.cli.output import (
    DATA_FORMATS,
    UNIT_DATA_FORMATS,
    ReportOptions,
    display_options,
    format_and_file,
    format_options,
    pop_layout,
    write_evaluation,
    write_units,
)
from calipers.cli.requirements import RequirementOptions, requirement_options
from calipers.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from calipers.report.blocks import Block
    from calipers.results import Evaluation

inference_options = shared_options("level", "interval", "n_resamples", "seed")
#: Options of measures and of the uncertainty of their values.
measure_options = combine_options(
    shared_options("measures", "baseline", "primary"), inference_options
)


def output_options(command: Command, data: Sequence[str] = DATA_FORMATS) -> Command:
    """Add the options of the output of a result."""
    keep = click.option(
        "--keep-predictions",
        is_flag=True,
        help="Include the predictions of every row (or the confusion matrix) in FILE.json of -o, "
        "so that it can serve as --baseline of later evaluations. Rankings are always included.",
    )
    return format_options(keep(requirement_options(display_options(command))), data)


@dataclass(frozen=True)
class OutputOptions:
    """Options of the output of a result.

    With ``is_per_unit``, the value of every unit is written instead. ``callback`` receives the
    evaluation if another command requested it.
    """

    kind: str
    path: str | None
    report: ReportOptions
    requirements: RequirementOptions
    is_per_unit: bool = False
    layout: str | None = None
    keep_predictions: bool = False
    is_brief: bool = False
    is_plain: bool = False
    callback: Callable[[Evaluation], None] | None = None

    @classmethod
    def pop_from(cls, options: dict[str, Any], *, units: bool = False) -> OutputOptions:
        """Pop the output options from the options of a command, and check them."""
        label = "the values per topic" if units else "this result"
        kind, path = format_and_file(options, UNIT_DATA_FORMATS if units else DATA_FORMATS, label)
        layout = pop_layout(options, kind, units=units)
        then, keep = options.pop("then", None), options.pop("keep_predictions")
        if keep and (kind != "json" or units):
            raise click.UsageError("--keep-predictions goes with -o FILE.json or --format json")
        gate, page = RequirementOptions.pop_from(options), ReportOptions.pop_from(options)
        is_brief = not (options.pop("show_all") or options.get("measures"))
        plain = options.pop("plain")
        return cls(kind, path, page, gate, units, layout, keep, is_brief, plain, then)

    def finish(self, evaluation: Evaluation, appendix: Sequence[Block] = (), **look: Any) -> None:
        """Write the result, and exit with 1 if a requirement is not met.

        ``look`` applies to reports and other pages, and text on the standard output has the
        ``appendix`` before its verdict.
        """
        if self.callback is not None:
            self.callback(evaluation)
            return
        rulings = self.requirements.check(evaluation)
        if self.is_per_unit:
            write_units(evaluation, self.kind, self.path, self.report)
        else:
            if self.kind == "json":
                from calipers.evaluation.stored_predictions import (
                    is_stored_by_default,
                    keep_predictions,
                )

                to_file = self.path is not None and is_stored_by_default(evaluation)
                evaluation = (
                    keep_predictions(evaluation) if self.keep_predictions or to_file else evaluation
                )
            screen = {
                "is_brief": self.is_brief and self.layout is None,
                "is_plain": self.is_plain,
                "appendix": appendix,
            }
            write_evaluation(
                evaluation, self.kind, self.path, self.report, self.layout, screen, **look
            )
        self.requirements.write_and_exit(evaluation, rulings)
