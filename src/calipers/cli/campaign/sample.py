"""Command ``calipers campaign sample``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.campaign.shared import (
    DATA_FORMATS,
    backup_before_replacing,
    format_table,
    result_options,
    write_result,
)
from calipers.cli.files import Command, InputFile
from calipers.cli.options import flag_option, option_with_default, repeatable_option, text_option
from calipers.cli.output import format_and_file
from calipers.cli.process import write_stderr

if TYPE_CHECKING:
    from calipers.report.blocks import Table


@click.command("sample", cls=Command)
@click.argument("file", metavar="FILE.campaign", type=InputFile())
@repeatable_option(
    "--stratum strata",
    "DEPTH=DRAW",
    "Stratum of documents with best ranks down to DEPTH, after the previous stratum; DRAW is "
    "'all', the number of documents to sample in each topic (20), or their proportion (0.2, and at "
    "least 2 documents). Repeatable, by ascending depths.",
)
@text_option(
    "--from source",
    "TABLE",
    "Use a sample that was drawn elsewhere: a table (CSV, JSON Lines, Parquet) of all documents of "
    "the pool with the columns topic, document, sampled (0 or 1), and stratum or probability.",
    type=InputFile(),
)
@option_with_default("--seed", 0, "Seed of the sample.", type=click.IntRange(0, 2**31 - 1))
@flag_option(
    "--replace", "Delete the existing pools, which is possible as long as nothing is judged."
)
@flag_option("--dry-run", "Show the numbers of documents without recording the sample.")
@result_options
def command(file: str, strata: tuple[str, ...], source: str | None, **options: Any) -> None:
    """Draw a stratified sample of documents to judge.

    Strata are defined by a document's best rank in the runs; from each stratum the given number of
    documents is sampled at random. Depths, sizes, sampled documents and the seed are stored, and
    exported with the judgments. xinfAP, HT-AP, statAP and infNDCG use them to estimate the value
    for complete judgments. These are ratios of estimates and thus biased; the bias is some
    hundredths for small samples and decreases with their size. xinfAP smooths with 3ε, as NIST's
    sample_eval does.

    \b
    Examples:
      calipers campaign sample digits.campaign --stratum 10=all --stratum 50=0.3 --stratum 100=10
      calipers campaign sample digits.campaign --from drawn.csv
    """
    kind, path = format_and_file(options, DATA_FORMATS, "the sample")
    if bool(strata) == bool(source):
        raise click.UsageError("give --stratum or --from")
    depths, sample_sizes = _parse_strata(strata)
    from calipers.campaign import operations, sampling
    from calipers.campaign.pooling import PoolEntry
    from calipers.campaign.store import Campaign

    with Campaign.open(file, readonly=options["dry_run"]) as campaign:
        settings: dict[str, Any]
        if source is not None:
            sample, notes = sampling.read_sample(source)
            settings = {"method": "sample", "source": Path(source).name}
            operations.check_topics(campaign, sample.strata_by_topic)
        else:
            rankings, _ = operations.read_rankings(campaign, depths[-1])
            strata_by_topic = sampling.strata_by_depth(rankings, depths)
            names = {name for item in strata_by_topic.values() for name in item}
            sample, notes = (
                sampling.draw_sample(
                    strata_by_topic,
                    {n: x for n, x in sample_sizes.items() if n in names},
                    seed=options["seed"],
                ),
                [],
            )
            settings = {
                "method": "sample", "depth": depths[-1], "strata": list(strata),
                "seed": options["seed"],
            }  # fmt: skip
        pool = {
            topic: [
                PoolEntry(document, position)
                for position, document in enumerate(
                    (d for s in item.values() for d in s.documents), 1
                )
            ]
            for topic, item in sample.strata_by_topic.items()
        }
        if options["replace"] and not options["dry_run"]:
            backup_before_replacing(campaign, "pooled")
        added = operations.add_pool(
            campaign, pool, settings, sample=sample, replace=options["replace"],
            write=not options["dry_run"],
        )  # fmt: skip
    rows: list[dict[str, Any]] = [
        {
            "topic": topic,
            "stratum": name,
            "documents": len(item.documents),
            "drawn": len(item.sampled),
            "inclusion": item.inclusion_probability,
        }
        for topic, topic_strata in sample.strata_by_topic.items()
        for name, item in topic_strata.items()
    ]
    head = "topic", "stratum", "documents", "drawn", "inclusion"
    lines: list[str | Table] = [
        format_table(head, [[row[column] for column in head] for row in rows]),
        "",
    ]
    n_pooled, n_sampled = (sum(int(row[item]) for row in rows) for item in ("documents", "drawn"))
    lines.append(f"{n_pooled} documents pooled, {n_sampled} sampled to be judged")
    write_result({"settings": settings, "strata": rows}, lines, kind, path)
    for note in notes:
        write_stderr(f"{source}: {note}")
    if added.empty_topics and source is None:
        write_stderr(f"no run retrieved anything for topic {', '.join(added.empty_topics)}")


def _parse_strata(strata: tuple[str, ...]) -> tuple[list[int], dict[str, int | float]]:
    """Parse the depths of the strata, and the sample sizes of strata that are not complete."""
    depths, sample_sizes = list[int](), dict[str, int | float]()
    for spec in strata:
        depth, equals, amount = spec.partition("=")
        try:
            end = int(depth)
            name = f"{depths[-1] + 1 if depths else 1}-{end}"
            if amount != "all":
                sample_sizes[name] = float(amount) if "." in amount else int(amount)
        except ValueError:
            equals = ""
        if not equals:
            raise click.UsageError(f"--stratum {spec!r}: expected 10=all, 50=0.3 or 100=20")
        if depths and end <= depths[-1]:
            raise click.UsageError(
                f"--stratum {spec!r}: expected a depth greater than {depths[-1]}"
            )
        depths.append(end)
    return depths, sample_sizes
