"""Command ``calipers campaign pool``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.campaign.shared import (
    DATA_FORMATS,
    Depth,
    backup_before_replacing,
    format_table,
    result_options,
    write_result,
)
from calipers.cli.files import Command, InputFile
from calipers.cli.options import (
    choice_option,
    flag_option,
    number_option,
    option_with_default,
    text_option,
)
from calipers.cli.output import format_and_file
from calipers.cli.process import write_stderr
from calipers.evaluation.task import MAX_INT

if TYPE_CHECKING:
    from calipers.campaign.operations import PoolSummary
    from calipers.campaign.store import Campaign
    from calipers.report.blocks import Table

#: Depths for which the size of the pool is reported.
_DEPTHS = (1, 2, 3, 5, 10, 20, 30, 50, 100, 200)

ORDERS = (
    *("fixed", "move-to-front", "max-mean", "max-mean-non-stationary", "thompson"),
    *("thompson-non-stationary", "hedge", "mtc"),
)


@click.command("pool", cls=Command)
@click.argument("file", metavar="FILE.campaign", type=InputFile())
@text_option(
    "--depth",
    "K",
    "Pool the first K documents of every run, or 'all' documents.  [default: 10 or 100, by the "
    "goal]",
    type=Depth(),
)
@text_option(
    "--take",
    "N",
    "Pool the N documents of each topic with the highest weights (see --by).",
    type=click.IntRange(1, MAX_INT),
)
@choice_option("--by", ("rrf", "rbp"), "Weight of a rank: 1/(60 + rank), or 0.2 · 0.8^(rank − 1).")
@number_option("--parameter", "X", "Value in place of 60 (rrf) or 0.8 (rbp).")
@choice_option(
    "--order",
    ORDERS,
    "Order in which documents are judged: that of the pool, or an adaptive one, in which relevant "
    "documents come early; with mtc, those that distinguish runs by AP. Documents judged in an "
    "adaptive order are not a random sample.",
)
@option_with_default(
    "--burn-in",
    10,
    "With an adaptive --order: number of documents of a topic that come first, in the order of "
    "their best ranks, so that assessors get to know the topic.",
    type=click.IntRange(0, MAX_INT),
)
@text_option(
    "--most",
    "N",
    "With an adaptive --order: maximum number of documents of a topic to judge.",
    type=click.IntRange(1, MAX_INT),
)
@option_with_default(
    "--seed", 0, "Seed of the random draws of --order thompson.", type=click.IntRange(0, 2**31 - 1)
)
@flag_option(
    "--replace", "Delete the existing pools, which is possible as long as nothing is judged."
)
@flag_option("--dry-run", "Show the pool without recording it.")
@result_options
def command(file: str, **options: Any) -> None:
    """Pool the top documents of the runs, to be judged.

    A further pool adds documents to the existing one. The output includes the growth of the pool
    with depth, and the unique contribution of each participant.

    \b
    Examples:
      calipers campaign pool digits.campaign --depth 10
      calipers campaign pool digits.campaign --depth all
      calipers campaign pool digits.campaign --take 100 --by rbp
      calipers campaign pool digits.campaign --depth 50 --order max-mean --most 100
    """
    kind, path = format_and_file(options, DATA_FORMATS, "the pool")
    if options["take"] and options["depth"]:
        raise click.UsageError("--depth and --take exclude each other; give one")
    from calipers.campaign import operations, pooling
    from calipers.campaign.store import Campaign

    is_dry_run, replace = options.pop("dry_run"), options.pop("replace")
    with Campaign.open(file, readonly=is_dry_run) as campaign:
        settings = _pool_settings(campaign, options)
        rankings, _ = operations.read_rankings(campaign)
        if settings["method"] == "depth":
            pool = pooling.depth_pool(rankings, settings["depth"])
        else:
            pool = pooling.select_top_documents(
                rankings, settings["take"], settings["by"], options["parameter"]
            )
        if replace and not is_dry_run:
            backup_before_replacing(campaign, "pooled")
        summary = operations.add_pool(
            campaign, pool, settings, replace=replace, write=not is_dry_run
        )
        data = pool_data(campaign, summary, settings)
    write_result(data, list(pool_tables(data)), kind, path)
    if summary.empty_topics:
        write_stderr(f"no run retrieved anything for topic {', '.join(summary.empty_topics)}")
    if not is_dry_run:
        write_stderr(
            f"next: calipers campaign documents {file} FOLDER (assessors need the content)"
        )


def _pool_settings(campaign: Campaign, options: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of the pool, as stored in the file."""
    from calipers.campaign.operations import default_depth

    settings: dict[str, Any]
    if options["take"]:
        settings = {"method": "take", "take": options["take"], "by": options["by"]}
        if options["parameter"] is not None:
            settings["parameter"] = options["parameter"]
    else:
        settings = {"method": "depth", "depth": options["depth"] or default_depth(campaign)}
    if options["order"] != "fixed":
        settings |= {name: options[name] for name in ("order", "burn_in", "most", "seed")}
    return settings


def pool_data(campaign: Campaign, added: PoolSummary, settings: dict[str, Any]) -> dict[str, Any]:
    """Return the summary of a pool."""
    from calipers.campaign import operations, pooling

    depth = None if settings.get("depth") == "all" else settings.get("depth")
    rankings, groups = operations.read_rankings(campaign)
    longest = max(
        (len(documents) for entry in rankings.values() for documents in entry.values()), default=0
    )
    deepest = longest if settings.get("depth") == "all" else depth or 0
    depths = sorted({d for d in (*_DEPTHS, deepest) if 0 < d <= longest})
    pooled = {t: [entry.document for entry in campaign.pool(t)] for t in added.documents}
    return {
        "settings": settings,
        "topics": [
            {"topic": t, "documents": number, "new": added.new[t], "pooled": len(pooled[t])}
            for t, number in added.documents.items()
        ],
        "growth": [
            {"depth": step.depth, "documents": step.n_documents, "new": step.n_new}
            for step in pooling.pool_growth(rankings, depths)
        ],
        "groups": [
            {"participant": entry.group, "runs": len(entry.runs), "documents": entry.n_documents,
             "unique": entry.n_unique}
            for entry in pooling.contributions(rankings, depth, groups)
        ],
        "without": added.empty_topics,
    }  # fmt: skip


def pool_tables(data: dict[str, Any]) -> Iterator[str | Table]:
    """Yield the summary of a pool as tables."""
    for name, head in (
        ("topics", ("topic", "documents", "new", "pooled")),
        ("growth", ("depth", "documents", "new")),
        ("groups", ("participant", "runs", "documents", "unique")),
    ):
        if name != "topics":
            yield ""
            yield {
                "growth": "Size of the pool by depth, over all topics:",
                "groups": "Documents of each participant, and those that only it found:",
            }[name]
            yield ""
        yield format_table(head, [[row[column] for column in head] for row in data[name]])
