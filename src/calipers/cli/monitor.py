"""Command ``calipers monitor``."""

from __future__ import annotations

import sys
from typing import Any

import click

from calipers.cli.files import Command, InputFile, OutputFile
from calipers.cli.options import (
    PROPORTION,
    choice_option,
    flag_option,
    number_option,
    option_with_default,
    repeatable_option,
    shared_options,
    text_option,
)
from calipers.cli.output import (
    DATA_FORMATS,
    format_and_file,
    format_options,
    write_document,
    write_output,
    write_result,
)
from calipers.evaluation.task import MAX_INT


@click.command("monitor", cls=Command)
@click.argument("log", type=InputFile())
@repeatable_option(
    "--score columns",
    "COL",
    "Column of the scores (0 and 1, true and false, pass and fail, numbers), or of the outcomes of "
    "--pairs; a second one is of a second system on the same requests. Not needed for a single "
    "column, nor for one named score or outcome.",
)
@text_option("--system", "COL", "Column of the system of each request, of two on split traffic.")
@text_option(
    "--baseline",
    "NAME",
    "System that the other one is compared with (default: the first --score).",
)
@flag_option(
    "--pairs", "The scores are outcomes of a new system against an old one: won, lost, tied."
)
@text_option(
    "--cluster",
    "COL",
    "Column of clusters, such as users; only the first request of each cluster counts.",
)
@number_option("--target", "X", "Test whether the value, or the difference, is this number.")
@choice_option(
    "--alternative",
    ["two-sided", "greater", "less"],
    "Test whether the value is above (greater) or below (less) the target, or whether the new "
    "system is better or worse, with one limit.",
)
@click.option(
    "--bounds",
    type=float,
    nargs=2,
    default=(0.0, 1.0),
    show_default=True,
    metavar="LOW HIGH",
    help="Smallest and largest possible score.",
)
@flag_option("--unbounded", "Scores have no bounds; interval and test are asymptotic.")
@option_with_default(
    "--allocation",
    0.5,
    "With --system: probability with which a request goes to the system that is not the baseline.",
    type=PROPORTION,
)
@text_option(
    "--every",
    "N",
    "Print a line after every N requests.",
    type=click.IntRange(1, MAX_INT),
)
@flag_option("--no-stop", "Read on after the hypothesis is rejected.")
@flag_option("--drift", "Test whether the value, of scores with bounds, stayed the same.")
@option_with_default(
    "--prior",
    2.0,
    "Parameter g of the Beta(g, g) distribution of bets.",
    type=click.FloatRange(1, 1000),
)
@choice_option(
    "--interval",
    ["auto", "betting", "asymptotic"],
    "Confidence sequence and test by betting (default for scores with bounds) or asymptotic.",
)
@shared_options("level", "missing")
@text_option(
    "--report", "FILE.html", "Write an HTML report as well.", type=OutputFile(is_page=True)
)
@lambda command: format_options(command, report=False)
def command(
    log: str,
    columns: tuple[str, ...],
    system: str | None,
    cluster: str | None,
    *,
    unbounded: bool,
    no_stop: bool,
    report: str | None,
    **options: Any,
) -> None:
    """Evaluate the requests of LOG as they arrive, with results that are valid at every look.

    LOG is CSV, JSON Lines, Parquet, Feather or a value in each line; - is the standard input, which
    is read until the hypothesis is rejected, the input ends or the command is interrupted. The
    confidence sequence and the e-value hold at all requests at once, so that one may stop at any
    time.

    \b
    Examples:
      tail -f verdicts.jsonl | calipers monitor - --pairs --every 50
      calipers monitor log.csv --score passed --target 0.9
      calipers monitor log.csv --score old --score new
      calipers monitor log.csv --score passed --system arm --baseline old
    """
    kind, path = format_and_file(options, DATA_FORMATS, "this result")
    from calipers.data.request_log import read_requests
    from calipers.evaluate.monitor import MonitorSession
    from calipers.report.monitor import look_line

    if unbounded:
        options["bounds"] = None
    roles = {name: x for name, x in (("system", system), ("cluster", cluster)) if x is not None}
    names = (*columns, *roles.values())
    if roles and not columns:
        raise click.UsageError(
            f"--{next(iter(roles))}: name the column of the scores as well: --score COL"
        )
    session = MonitorSession(
        columns=names,
        is_split=system is not None,
        is_clustered=cluster is not None,
        stop=not no_stop,
        **options,
    )
    # Where the result is data or a file, lines go to stderr.
    is_on_screen = kind == "table" and path is None
    lines_to = sys.stdout if is_on_screen else sys.stderr
    interrupted = False
    try:
        for block in read_requests(log, names):
            for look in session.update(block):
                print(look_line(*session.names, look), file=lines_to, flush=True)
            if session.is_stopped:
                break
    except KeyboardInterrupt:
        if not session.n:
            raise
        interrupted = True
    result = session.result()
    if report is not None:
        write_output(result.to_html(), report)
    if is_on_screen and result.looks:
        from calipers.report.documents import monitor_summary

        write_document(monitor_summary(result), kind, path)
    else:
        write_result(result, kind, path)
    if interrupted:
        raise KeyboardInterrupt
