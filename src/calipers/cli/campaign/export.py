"""Command ``calipers campaign export``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.campaign.shared import rule_option
from calipers.cli.files import DASH, Command, InputFile, OutputFile, OutputFolder, check_late_files
from calipers.cli.options import flag_option, text_option
from calipers.cli.process import write_stderr

if TYPE_CHECKING:
    from calipers.campaign.export import ExportFile
    from calipers.campaign.store import Campaign


@click.command("export", cls=Command)
@click.argument("file", metavar="FILE.campaign", type=InputFile())
@text_option(
    "--qrels",
    "FILE",
    "Judgments: TREC text, or by the extension JSON or a table.",
    type=OutputFile(),
)
@text_option(
    "--sampled",
    "FILE",
    "Judgments of a sampled pool: the five fields of sample_eval, with strata; as a table also "
    "with probabilities.",
    type=OutputFile(),
)
@text_option(
    "--prefs",
    "FILE",
    "Preferences: TREC text, or by the extension a table.",
    type=OutputFile(),
)
@text_option(
    "--judgments",
    "FILE",
    "Table of all judgments with assessor, time and duration.",
    type=OutputFile(),
)
@text_option(
    "--topics",
    "FILE",
    "Topics: .xml, .tsv, .csv, .json, .jsonl, .parquet, or TREC's text (.txt, .trec or none).",
    type=OutputFile(),
)
@click.option(
    "--topics-format",
    type=click.Choice(["inex", "trec", "xml", "tsv", "csv", "json", "jsonl", "parquet"]),
    help="Format of the topics.  [default: by the extension; .xml is INEX if all are CO or CAS]",
)
@text_option("--runs", "FOLDER", "Folder for the runs, each as a TREC file.", type=OutputFolder())
@text_option("--tables", "FOLDER", "Folder for all data as tidy tables.", type=OutputFolder())
@click.option(
    "--tables-format",
    type=click.Choice(["parquet", "csv", "tsv", "jsonl", "feather"]),
    default="parquet",
    show_default=True,
    help="Format of the tables. The content of documents is in Parquet and Feather only.",
)
@text_option("--assessor", "NAME", "Export only the grades and preferences of this assessor.")
@rule_option
@flag_option("--force", "Overwrite existing files.")
def command(file: str, *, force: bool, **options: Any) -> None:
    """Export judgments, topics, runs and tables for other tools.

    --qrels has a grade for each judged document: the adjudicator's, else that of the persons who
    judged it. Pooled documents that were not judged, or not sampled from their stratum, have −1.
    Repeated judgments for intra-assessor agreement are excluded, and so are programs unless
    --assessor names one. In CSV and TSV, text that a spreadsheet would run as a formula is prefixed
    with an apostrophe (except in --qrels, --sampled and --prefs, which other tools read).

    The extension determines the format: .json, .csv, .tsv, .jsonl, .parquet or .feather; .txt,
    .trec, .qrels or none for TREC text; text formats may be followed by .gz or .zst. Other
    extensions are an error. Files are written atomically.

    \b
    Examples:
      calipers campaign export web.campaign --qrels web.qrels --topics topics.xml
      calipers campaign export web.campaign --sampled web.sample
      calipers campaign export web.campaign --tables everything/
    """
    from calipers.campaign.status import format_chain
    from calipers.campaign.store import Campaign

    with Campaign.open(file, readonly=True) as campaign:
        chain = format_chain(campaign)
        exports_by_path = {**_export_files(campaign, options), **_export_folders(campaign, options)}
    if not exports_by_path:
        raise click.UsageError("give one or more of --qrels, --sampled, --prefs, --judgments, "
                               "--topics, --runs or --tables")  # fmt: skip
    _write_exports(exports_by_path, force=force)
    write_stderr(f"{file}: {chain}")


def _export_files(
    campaign: Campaign, options: Mapping[str, Any]
) -> dict[str, tuple[str, ExportFile]]:
    """Return the content of single files by path, each with its option."""
    from calipers.campaign import export, tidy_tables
    from calipers.campaign.topic_files import detect_format, format_topics

    assessor, rule = options["assessor"], options["rule"]

    def topics(path: str) -> ExportFile:
        all_topics = campaign.topics()
        content, omitted = format_topics(
            all_topics, options["topics_format"] or detect_format(path, all_topics)
        )
        notes = [f"cannot store {', '.join(omitted)}, which is omitted"] if omitted else []
        return export.ExportFile(content, tuple(notes))

    exporters: dict[str, Callable[[str], ExportFile]] = {
        "qrels": lambda path: export.export_qrels(campaign, path, assessor=assessor, rule=rule),
        "sampled": lambda path: export.export_sampled_judgments(
            campaign, path, assessor=assessor, rule=rule
        ),
        "prefs": lambda path: export.export_preferences(campaign, path, assessor=assessor),
        "judgments": lambda path: export.ExportFile(
            tidy_tables.format_table(export.export_judgments(campaign, assessor), path)
        ),
        "topics": topics,
    }
    return {
        options[name]: (f"--{name}", export.compress_file(options[name], make))
        for name, make in exporters.items()
        if options[name] is not None
    }


def _export_folders(
    campaign: Campaign, options: Mapping[str, Any]
) -> dict[str, tuple[str, ExportFile]]:
    """Return the content of files in folders by path, each with its option."""
    from calipers.campaign import export

    exports_by_path = {}
    if (folder := options["runs"]) is not None:
        for name, exported in export.export_runs(campaign).items():
            exports_by_path[str(Path(folder) / name)] = "--runs", exported
    if (folder := options["tables"]) is not None:
        for name, exported in export.export_tables(campaign, options["tables_format"]).items():
            exports_by_path[str(Path(folder) / name)] = "--tables", exported
    return exports_by_path


def _write_exports(exports_by_path: Mapping[str, tuple[str, ExportFile]], *, force: bool) -> None:
    """Write all files, after checking that each of them may be written."""
    from calipers.report.output_files import atomic_writer

    for path in exports_by_path:
        if path != DASH and Path(path).is_file() and not force:
            raise click.UsageError(f"{path} exists; --force overwrites it")
    targets = [(option, path) for path, (option, _) in exports_by_path.items() if path != DASH]
    for option, path in targets:
        if option in ("--runs", "--tables"):
            Path(path).parent.mkdir(parents=True, exist_ok=True)
    check_late_files(
        "the export", [path for option, path in targets if option in ("--runs", "--tables")]
    )
    # No file gets its name before all are on the disk, which may be full.
    with ExitStack() as stack:
        for path, (_, exported) in exports_by_path.items():
            if path != DASH:
                stream = stack.enter_context(atomic_writer(path))
                stream.write(exported.content)
                stream.flush()
    for path, (_, exported) in exports_by_path.items():
        if path == DASH:
            sys.stdout.buffer.write(exported.content)
        for note in exported.notes:
            write_stderr(f"{path}: {note}")
