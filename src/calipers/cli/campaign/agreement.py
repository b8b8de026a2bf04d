"""Command ``calipers campaign agreement``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from calipers.cli.campaign.shared import format_cell, format_table, render_table, rule_option
from calipers.cli.files import Command, InputFile
from calipers.cli.options import choice_option, flag_option, repeatable_option
from calipers.cli.output import check_table_output, print_below, print_tables
from calipers.cli.shared_options import OutputOptions, measure_options, output_options

if TYPE_CHECKING:
    from calipers.campaign.assessor_agreement import Grades
    from calipers.campaign.store import Campaign
    from calipers.report.blocks import Table
    from calipers.results import Evaluation


@click.command("agreement", cls=Command)
@click.argument("file", metavar="FILE.campaign", type=InputFile())
@repeatable_option(
    "--assessor assessors",
    "NAME",
    "Assessor to compare; repeatable (default: all human assessors).",
)
@flag_option("--programs", "Also compare programs.")
@flag_option(
    "--preferences",
    "Compare preferences between two documents rather than grades; an item is a pair.",
)
@choice_option(
    "--scale",
    ("ordinal", "nominal", "interval", "ratio"),
    "Scale of the grades, which defines the distance between them.",
)
@flag_option(
    "--by-assessor",
    "Also show the tables of assessors and of pairs, with Cohen's kappa, and the intra-assessor "
    "agreement.",
)
@flag_option(
    "--rankings", "Also show the effect of the choice of assessors on the ranking of systems."
)
@rule_option
@measure_options
@output_options
def command(
    file: str,
    assessors: tuple[str, ...],
    rule: str,
    programs: bool,
    preferences: bool,
    by_assessor: bool,
    rankings: bool,
    **options: Any,
) -> None:
    """Measure inter-assessor agreement and its effect on system rankings.

    Agreement is measured on the documents with two or more judgments, or with --preferences on such
    pairs of documents; without any it is undefined.
    Intervals generalize to other documents. An additional interval generalizes to other topics; it
    is wider if assessors interpret narratives differently.

    \b
    Example:
      calipers campaign agreement digits.campaign --by-assessor --rankings
    """
    output = OutputOptions.pop_from(options)
    for is_requested, flag in ((by_assessor, "--by-assessor"), (rankings, "--rankings")):
        if is_requested:
            check_table_output(flag, output.kind, output.path)
    if preferences and (rankings or options["scale"] == "ratio"):
        raise click.UsageError("--preferences does not go with --rankings or --scale ratio")
    from calipers.campaign import assessor_agreement, operations
    from calipers.campaign.store import Campaign
    from calipers.data.errors import InputError, did_you_mean
    from calipers.report.numbers import format_count

    with Campaign.open(file, readonly=True) as campaign:
        grades = operations.read_grades(
            campaign, include_programs=programs or bool(assessors), preferences=preferences
        )
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
                f"{file}: has judgments by {format_count(len(grades), 'assessors')}; "
                "expected two or more"
            )
        measures = options.pop("measures")
        evaluation = assessor_agreement.agreement(
            grades, **({"measures": measures} if measures else {}), **options
        )
        try:
            output.finish(evaluation)
        finally:
            if output.kind == "table" and output.path is None:
                _print_details(
                    campaign,
                    grades,
                    options,
                    assessor_tables=evaluation if by_assessor else None,
                    preferences=preferences,
                    ranking_rule=rule if rankings else None,
                )


def _print_details(
    campaign: Campaign,
    grades: Grades,
    options: dict[str, Any],
    *,
    assessor_tables: Evaluation | None,
    preferences: bool,
    ranking_rule: str | None,
) -> None:
    """Print the interval over topics and the requested tables, below the agreement."""
    from calipers.campaign import operations
    from calipers.campaign.assessor_agreement import topic_level_agreement
    from calipers.report.numbers import format_count, format_percent

    level = options["level"]
    measure = f"Krippendorff-alpha(scale={options['scale']!r})"
    topic_level = topic_level_agreement(grades, measure, level=level)
    have = "has" if topic_level.n_topics == 1 else "have"
    click.echo(
        f"\n{format_percent(level)} interval over topics "
        f"({format_count(topic_level.n_topics, 'topics')} {have} a "
        f"{'pair' if preferences else 'document'} with two judgments): "
        "Krippendorff's alpha "
        f"{format_cell(topic_level.value)} [{format_cell(topic_level.low)}, "
        f"{format_cell(topic_level.high)}]"
        + (f" ({topic_level.caution})" if topic_level.caution else "")
    )
    if assessor_tables is not None:
        print_tables(assessor_tables)
        _print_intra_assessor_agreement(
            grades,
            operations.read_grades(
                campaign, include_programs=True, only_repeats=True, preferences=preferences
            ),
            "pairs" if preferences else "documents",
        )
    if ranking_rule is not None:
        _print_ranking_effects(campaign, grades, level, ranking_rule)


def _print_intra_assessor_agreement(grades: Grades, repeats: Grades, items: str) -> None:
    from calipers.campaign import assessor_agreement

    repeat_agreement = assessor_agreement.intra_assessor_agreement(grades, repeats)
    if repeat_agreement:
        _print_section(
            "Intra-assessor agreement",
            format_table(
                ("assessor", "identical grades", "low", "high", items),
                [(name, *values) for name, values in repeat_agreement.items()],
            ),
        )


def _print_ranking_effects(campaign: Campaign, grades: Grades, level: float, rule: str) -> None:
    """Print how the choice of assessors changes the ranking of systems."""
    from calipers.campaign import assessor_agreement, operations

    rankings, _ = operations.read_rankings(campaign)
    final, measures = (
        operations.final_grades(campaign, rule),
        operations.ordering_measures(campaign).names,
    )
    swaps = assessor_agreement.swap_assessors(
        grades, final, rankings, measures=measures, level=level
    )
    _print_section(
        "Ranking of systems under each assessor's judgments",
        format_table(
            ("assessor", "topics", "measure", "tau", "tau_AP", "no longer significant", "reversed"),
            [
                (
                    swap.assessor,
                    swap.n_topics,
                    change.measure,
                    change.tau,
                    change.tau_ap,
                    len(change.no_longer_significant),
                    len(change.reversed),
                )
                for swap in swaps
                for change in swap.changes
            ],
        ),
    )
    stabilities = assessor_agreement.ranking_stability(
        grades, final, rankings, measures=measures, level=level
    )
    _print_section(
        "Ranking of systems with an assessor drawn at random for each topic",
        format_table(
            ("measure", "tau", "low", "high", "tau_AP", "rankings", "pairs reversed"),
            [
                (stability.measure, stability.tau, stability.tau_low, stability.tau_high,
                 stability.tau_ap, stability.n_rankings,
                 f"{len(stability.reversed_pairs)}/{stability.n_significant_pairs}")
                for stability in stabilities
            ],
        ),
    )  # fmt: skip


def _print_section(name: str, table: Table) -> None:
    """Print a table below the result."""
    print_below(name, render_table(table))
