"""Command ``calipers campaign report``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from calipers.cli.campaign.shared import measure_option, rule_option
from calipers.cli.files import NON_PAGE_SUFFIXES, Command, InputFile, OutputFile
from calipers.cli.options import PROPORTION, flag_option, option_with_default
from calipers.cli.output import Format, open_in_browser, write_document
from calipers.cli.process import write_stderr
from calipers.report import writers


@click.command("report", cls=Command)
@click.argument("file", metavar="FILE.campaign", type=InputFile())
@click.argument("page", metavar="FILE.html", type=OutputFile(allow_dash=False))
@measure_option
@option_with_default("--level", 0.95, "Confidence level of intervals and tests.", type=PROPORTION)
@option_with_default(
    "--draws", 20, "Number of samples of sparse judgments.", type=click.IntRange(1, 10_000)
)
@option_with_default("--seed", 0, "Seed of the samples.", type=click.IntRange(0, 2**31 - 1))
@rule_option
@click.option(
    "--format",
    "format_",
    type=Format(()),
    help="Format of the document (default: by the suffix of the file, else an HTML page).",
)
@flag_option("--open opens", "Open the page in the browser.")
def command(
    file: str,
    page: str,
    measures: tuple[str, ...],
    level: float,
    draws: int,
    seed: int,
    rule: str,
    format_: str | None,
    opens: bool,
) -> None:
    """Write the report of a campaign as HTML or a document.

    The report is a self-contained HTML page; or a document, such as Markdown or Typst, with the
    numbers of the charts. It has the scores of participants and their systems with recall-precision
    graphs, the topics, the growth of the pool and the contributions to it, the progress of judging,
    inter-assessor agreement, and the quality of the collection.

    \b
    Examples:
      calipers campaign report digits.campaign digits.html
      calipers campaign report inex.campaign inex.html -m AP -m P@10
      calipers campaign report inex.campaign inex.md
    """
    suffix = Path(page).suffix.lower()
    document_format = format_ or writers.format_for_suffix(suffix)
    if document_format is None and page.lower().endswith(NON_PAGE_SUFFIXES):
        raise click.UsageError(f"{page!r} is not the name of an HTML page or a document")
    kind = document_format or "html"
    if opens and kind != "html":
        raise click.UsageError("--open goes with an HTML page")
    from calipers.campaign import report
    from calipers.campaign.store import Campaign

    options: dict[str, Any] = {
        "measures": measures, "level": level, "draws": draws, "seed": seed, "rule": rule
    }  # fmt: skip
    with Campaign.open(file, readonly=True) as campaign:
        write_document(report.document(campaign, **options), kind, page)
    write_stderr(f"wrote {page}")
    if opens:
        open_in_browser(page)
