"""Command ``calipers campaign check``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.campaign.shared import (
    DATA_FORMATS,
    Depth,
    format_table,
    measure_option,
    result_options,
    rule_option,
    write_result,
)
from calipers.cli.files import Command, InputFile
from calipers.cli.options import PROPORTION, option_with_default, text_option
from calipers.cli.output import format_and_file

if TYPE_CHECKING:
    from calipers.report.blocks import Table


@click.command("check", cls=Command)
@click.argument("file", metavar="FILE.campaign", type=InputFile())
@measure_option
@text_option(
    "--depth",
    "K",
    "Rank down to which runs were pooled, or 'all'.  [default: as the pools were made]",
    type=Depth(),
)
@rule_option
@option_with_default("--level", 0.95, "Confidence level of the pairwise tests.", type=PROPORTION)
@option_with_default(
    "--draws", 20, "Number of samples of sparse judgments.", type=click.IntRange(1, 10_000)
)
@option_with_default("--seed", 0, "Seed of the samples.", type=click.IntRange(0, 2**31 - 1))
@result_options
def command(file: str, **options: Any) -> None:
    """Assess the reliability and power of the test collection.

    Leave-one-group-out: the change of a system's value and rank if the documents that only its
    participant found are not judged. Sparse judgments: the effect of 1, 2 and 5 known relevant
    documents per topic on the ranking of systems, by measure. Discriminative power: the difference
    and the number of topics needed to separate systems, how often pairs of systems are in another
    order on the other half of the topics, and the topics that do not separate any. JSON has the
    p-values of all pairs, from which curves of achieved significance levels are drawn.

    Pairs of systems are tested by the randomized Tukey HSD: "lost" pairs are no longer significant,
    "reversed" ones are significant in the other direction.

    \b
    Example:
      calipers campaign check digits.campaign -m nDCG@10 -m AP
    """
    kind, path = format_and_file(options, DATA_FORMATS, "the check")
    from calipers.campaign.quality import assess_quality
    from calipers.campaign.status import format_chain
    from calipers.campaign.store import Campaign

    with Campaign.open(file, readonly=True) as campaign:
        report = assess_quality(campaign, **options)
        chain = format_chain(campaign)
    write_result(asdict(report), [*_format_report(report), "", chain], kind, path)


def _format_report(report: Any) -> Iterator[str | Table]:
    yield f"{report.judged} judged documents of {report.topics} topics, {report.relevant} relevant"
    yield from report.warnings
    yield from ("", "Without the documents that only one participant found:", "")
    yield format_table(
        ("participant", "measure", "documents", "relevant", "value", "value without", "rank",
         "rank without", "tau", "tau_AP", "no longer significant", "reversed"),
        [
            (result.group, change.measure, result.documents, result.relevant, *best.values,
             *(f"{rank:g}" for rank in best.ranks), change.tau, change.tau_ap,
             len(change.no_longer_significant), len(change.reversed))
            for result in report.leave_one_group_out
            for change in result.changes
            for best in (_best_run(change, result.runs),)
        ],
    )  # fmt: skip
    yield "(Values and ranks are those of the best run of the participant.)"
    yield ""
    yield format_table(
        ("participant", "measure", "tau", "low", "high", "largest drop", "low", "high"),
        [
            (result.group, effect.measure, effect.tau, *effect.tau_interval,
             f"{effect.max_drop:g}", *(f"{limit:g}" for limit in effect.max_drop_interval))
            for result in report.leave_one_group_out
            for effect in result.effects
        ],
    )  # fmt: skip
    yield "(Ranks that a run of the participant loses at most. The limits are over topics.)"
    yield from ("", "With few relevant documents of each topic known:", "")
    yield format_table(
        ("measure", "known", "tau", "tau_AP", "pairs", "no longer significant", "reversed", "mean",
         "with all"),
        [
            (s.measure, s.relevant, s.tau, s.tau_ap, s.pairs,
             f"{s.no_longer_significant:.1f}", f"{s.reversed:.1f}", s.value[1], s.value[0])
            for s in sorted(report.sparse, key=lambda s: s.measure)
        ],
    )  # fmt: skip
    yield from ("", "Discriminative power:", "")
    yield format_table(
        (
            "measure",
            "topics",
            "pairs",
            "significant",
            "difference needed",
            "MDD (80% power)",
            "topics (1/2 of pairs)",
            "topics (4/5 of pairs)",
        ),
        [
            (
                s.measure,
                s.topics,
                s.pairs,
                s.separated,
                s.difference_needed,
                s.detectable,
                *s.needed,
            )
            for s in report.separation
        ],
    )
    swaps = [(s.measure, s.swaps) for s in report.separation if s.swaps is not None]
    if swaps:
        yield from ("", "Pairs of systems in another order on the other half of the topics:", "")
        yield format_table(
            ("measure", "topics of each half", "swap rate", "difference needed (5%)",
             "pairs that differ so"),
            [(m, s.topics, s.rate, s.difference_needed, s.sensitivity) for m, s in swaps],
        )  # fmt: skip
    not_separating = [result for result in report.topic_separations if result.kind != "separates"]
    if not_separating:
        yield ""
        yield format_table(
            ("topic", "does not separate", "mean"),
            [(o.topic, o.kind, o.mean) for o in not_separating],
        )


class _BestRun:
    """Best run of a participant."""

    def __init__(self, change: Any, runs: tuple[str, ...]) -> None:
        run = min(runs, key=lambda name: (change.ranks[name][0], name))
        self.values, self.ranks = change.values[run], change.ranks[run]


def _best_run(change: Any, runs: tuple[str, ...]) -> _BestRun:
    return _BestRun(change, runs)
