"""Command ``calipers campaign agreement``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from calipers.cli.campaign.shared import format_cell, format_table, render_table
from calipers.cli.files import Command, InputFile
from calipers.cli.options import choice_option, flag_option, repeatable_option
from calipers.cli.output import check_table_output, print_below, print_tables
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
    "Also show the effect on the ranking of systems, and the intra-assessor agreement.",
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
    """Measure inter-assessor agreement and its effect on systems.

    Agreement is measured on the documents with two or more judgments; without any it is undefined.
    Intervals generalize to other documents. An additional interval generalizes to other topics; it
    is wider if assessors interpret narratives differently.

    \b
    Example:
      calipers campaign agreement digits.campaign --by-assessor --orders
    """
    output = OutputOptions.pop_from(options)
    for is_requested, flag in ((by_assessor, "--by-assessor"), (orders, "--orders")):
        if is_requested:
            check_table_output(flag, output.kind, output.path)
    from calipers.campaign import assessor_agreement, operations
    from calipers.campaign.store import Campaign
    from calipers.data.errors import InputError, did_you_mean

    with Campaign.open(file, readonly=True) as campaign:
        grades = operations.read_grades(campaign, include_programs=programs or bool(assessors))
        for name in assessors:
            if name not in grades:
                raise InputError(
                    f"{file}: {name!r} has judged nothing; {did_you_mean(name, grades)}"
                )
        grades = {
            name: judgments
            for name, judgments in grades.items()
            if name in assessors or not assessors
        }
        if len(grades) < 2:
            raise InputError(
                f"{file}: judgments are of {len(grades)} assessors; expected two or more"
            )
        measures = options.pop("measures")
        evaluation = assessor_agreement.agreement(
            grades, **({"measures": measures} if measures else {}), **options
        )
        try:
            output.finish(evaluation)
        finally:
            if output.kind == "table" and output.path is None:
                _print_agreement(
                    campaign, grades, options, by_assessor and evaluation, orders=orders
                )


def _print_agreement(
    campaign: Campaign, grades: Grades, options: dict[str, Any], evaluation: Any, *, orders: bool
) -> None:
    from calipers.campaign.assessor_agreement import topic_level_agreement

    measure = f"Krippendorff-alpha(scale={options['scale']!r})"
    topic_level = topic_level_agreement(grades, measure, level=options["level"])
    click.echo(
        f"\nInterval for other topics ({topic_level.n_topics} have a document that two judged): "
        f"Krippendorff's alpha {format_cell(topic_level.value)} [{format_cell(topic_level.low)}, "
        f"{format_cell(topic_level.high)}]"
        + (f" ({topic_level.caution})" if topic_level.caution else "")
    )
    if evaluation:
        print_tables(evaluation)
    if orders:
        _print_stability(campaign, grades, options["level"])


def _print_stability(campaign: Campaign, grades: Grades, level: float) -> None:
    from calipers.campaign import assessor_agreement, operations

    repeat_agreement = assessor_agreement.self_agreement(
        grades, operations.read_grades(campaign, include_programs=True, only_repeats=True)
    )
    if repeat_agreement:
        _print_section(
            "Intra-assessor agreement",
            format_table(
                ("assessor", "identical grades", "low", "high", "documents"),
                [(name, *values) for name, values in repeat_agreement.items()],
            ),
        )
    rankings, _ = operations.read_rankings(campaign)
    final, measures = (
        operations.final_grades(campaign),
        operations.ordering_measures(campaign).names,
    )
    swaps = assessor_agreement.swap_assessors(
        grades, final, rankings, measures=measures, level=level
    )
    _print_section(
        "Ranking of systems by each assessor",
        format_table(
            ("assessor", "topics", "measure", "tau", "tau_AP", "pairs lost", "reversed"),
            [
                (
                    o.assessor,
                    o.n_topics,
                    c.measure,
                    c.tau,
                    c.tau_ap,
                    len(c.no_longer_significant),
                    len(c.reversed),
                )
                for o in swaps
                for c in o.changes
            ],
        ),
    )
    stabilities = assessor_agreement.ranking_stability(
        grades, final, rankings, measures=measures, level=level
    )
    _print_section(
        "Ranking of systems by random assessors of each topic",
        format_table(
            ("measure", "tau", "low", "high", "tau_AP", "rankings", "pairs reversed"),
            [
                (o.measure, o.tau, o.tau_low, o.tau_high, o.tau_ap, o.n_rankings,
                 f"{len(o.reversed_pairs)}/{o.n_significant_pairs}")
                for o in stabilities
            ],
        ),
    )  # fmt: skip


def _print_section(name: str, table: Table) -> None:
    """Print a table below the result."""
    print_below(name, render_table(table))
