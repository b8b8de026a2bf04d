"""Command ``calipers campaign agreement``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from calipers.cli.campaign.shared import format_cell, format_table, render_table
from calipers.cli.files import Command, InputFile
from calipers.cli.options import choice_option, flag_option, repeatable_option
from calipers.cli.output import no_tables_below, print_below, print_tables
from calipers.cli.shared_options import OutputOptions, measure_options, output_options

if TYPE_CHECKING:
    from calipers.campaign.assessor_agreement import Grades
    from calipers.campaign.store import Campaign
    from calipers.report.blocks import Table


@click.command("agreement", cls=Command)
@click.argument("file", metavar="FILE.campaign", type=InputFile())
@repeatable_option(
    "--assessor assessors", "NAME", "Assessor to compare; repeatable (default: all persons)."
)
@flag_option("--programs", "Also compare programs.")
@choice_option(
    "--scale",
    ("ordinal", "nominal", "interval"),
    "Scale of the grades, which defines the distance between them.",
)
@flag_option("--by-assessor", "Also show the tables of assessors and of pairs, with Cohen's kappa.")
@flag_option(
    "--orders",
    "Show too what it does to the order of systems, and how alike assessors judge what they judged "
    "twice.",
)
@measure_options
@output_options
def command(
    file: str,
    assessors: tuple[str, ...],
    programs: bool,
    by_assessor: bool,
    orders: bool,
    **options: Any,
) -> None:
    """Measure inter-assessor agreement on documents with two or more judgments.

    Intervals generalise to other documents. An additional interval generalises to other topics; it
    is wider if assessors interpret narratives differently. Agreement is undefined without documents
    that two assessors judged.

    \b
    Example:
      calipers campaign agreement digits.campaign --by-assessor --orders
    """
    output = OutputOptions.take(options)
    for asked, flag in ((by_assessor, "--by-assessor"), (orders, "--orders")):
        if asked:
            no_tables_below(flag, output.kind, output.path)
    from calipers.campaign import assessor_agreement, operations
    from calipers.campaign.store import Campaign
    from calipers.data.errors import InputError, did_you_mean

    with Campaign.open(file, readonly=True) as campaign:
        grades = operations.read_grades(campaign, programs=programs or bool(assessors))
        for name in assessors:
            if name not in grades:
                raise InputError(
                    f"{file}: {name!r} has judged nothing; {did_you_mean(name, grades)}"
                )
        grades = {name: of for name, of in grades.items() if name in assessors or not assessors}
        if len(grades) < 2:
            raise InputError(f"{file}: judgments are of {len(grades)} assessors; two or more agree")
        measures = options.pop("measures")
        found = assessor_agreement.agreement(
            grades, **({"measures": measures} if measures else {}), **options
        )
        try:
            output.finish(found)
        finally:
            if output.kind == "table" and output.path is None:
                _print(campaign, grades, options, by_assessor and found, orders=orders)


def _print(
    campaign: Campaign, grades: Grades, options: dict[str, Any], found: Any, *, orders: bool
) -> None:
    from calipers.campaign.assessor_agreement import topic_level_agreement

    own = f"Krippendorff-alpha(scale={options['scale']!r})"
    over = topic_level_agreement(grades, own, level=options["level"])
    click.echo(
        f"\nFor topics like these ({over.topics} have a document that two judged): Krippendorff's "
        f"alpha {format_cell(over.value)} [{format_cell(over.low)}, {format_cell(over.high)}]"
        + (f" ({over.caution})" if over.caution else "")
    )
    if found:
        print_tables(found)
    if orders:
        _print_orders(campaign, grades, options["level"])


def _print_orders(campaign: Campaign, grades: Grades, level: float) -> None:
    from calipers.campaign import assessor_agreement, operations

    again = assessor_agreement.self_agreement(
        grades, operations.read_grades(campaign, programs=True, again=True)
    )
    if again:
        _print_section(
            "Documents that assessors judged twice",
            format_table(
                ("assessor", "graded alike", "low", "high", "documents"),
                [(name, *of) for name, of in again.items()],
            ),
        )
    rankings, _ = operations.read_rankings(campaign)
    final, measures = (
        operations.final_grades(campaign),
        operations.ordering_measures(campaign).names,
    )
    each = assessor_agreement.swap_assessors(
        grades, final, rankings, measures=measures, level=level
    )
    _print_section(
        "Order of systems by each assessor",
        format_table(
            ("assessor", "topics", "measure", "tau", "tau_AP", "pairs lost", "reversed"),
            [
                (o.assessor, o.topics, c.measure, c.tau, c.tau_ap, len(c.lost), len(c.reversed))
                for o in each
                for c in o.changes
            ],
        ),
    )
    swapped = assessor_agreement.swapped_orders(
        grades, final, rankings, measures=measures, level=level
    )
    _print_section(
        "Order with assessors drawn by topic",
        format_table(
            ("measure", "tau", "low", "high", "tau_AP", "orders", "pairs turned"),
            [
                (o.measure, o.tau, o.tau_low, o.tau_high, o.tau_ap, o.distinct,
                 f"{len(o.reversed)}/{o.pairs}")
                for o in swapped
            ],
        ),
    )  # fmt: skip


def _print_section(name: str, of: Table) -> None:
    """Print a table below the result."""
    print_below(name, render_table(of))
