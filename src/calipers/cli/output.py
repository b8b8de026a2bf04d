"""How results are written: the formats, and where to."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.charts import Charts, chart_options
from calipers.cli.files import DASH, OutFile, check_files
from calipers.cli.options import Command, Option, stacked, switch, text
from calipers.cli.process import say

if TYPE_CHECKING:
    from calipers.results import Comparison, Evaluation

FORMATS = ("table", "json", "csv", "markdown", "latex")
#: Those that show a row a system, or a row a number.
LAYOUTS = ("wide", "long")
LAID_OUT = ("table", "csv", "markdown")
#: Those in which a table of cut-offs, where there is one, stands alone.
ALONE = ("csv", "latex")
#: Those of the values per unit, which only some commands have.
UNIT_FORMATS = ("table", "json", "csv", "parquet", "trec")
#: The formats of suffixes, and suffixes of which nothing here is written.
SUFFIXES = {
    ".json": "json",
    ".csv": "csv",
    ".md": "markdown",
    ".tex": "latex",
    ".txt": "table",
    ".parquet": "parquet",
    ".trec": "trec",
}
_OTHERS = frozenset(
    {".html", ".htm", ".pdf", ".xlsx", ".tsv", ".jsonl", ".ndjson", ".feather", ".arrow"}
    | {".gz", ".zst", ".bz2", ".xz", ".zip"}
)


def format_options(
    command: Command, formats: Sequence[str] = FORMATS, *, report: bool = True
) -> Command:
    """Options of how a result is written and where to."""
    kind = click.Choice(formats)
    layout: Option = click.option(
        "--layout",
        type=click.Choice(LAYOUTS),
        help="wide: a row a system, a column a measure, each value with its interval and marks of "
        "what differs; long: a row a number, with its method and remarks. Tables and Markdown are "
        "wide where several systems meet several measures, and comparisons of more than eight "
        "systems; csv is long unless asked.",
    )
    page = text("--report", "FILE.html", "Write an HTML report as well.", type=OutFile(page=True))
    shown = switch(
        "--open open_", "Show the report in a browser; without --report it is a temporary file."
    )
    return stacked(
        click.option(
            "--format",
            "format_",
            type=kind,
            help="Format of the result; by the suffix of -o, else table.",
        ),
        text("-o --output", "FILE", "Write there, not to stdout.", type=OutFile()),
        *([layout, page, shown, chart_options] if report else []),
    )(command)


@dataclass(frozen=True)
class Page:
    """What shows charts: an HTML report, its file, if that was named, and whether to show it; and
    a folder of charts."""

    path: str | None
    shown: bool
    charts: Charts | None

    @classmethod
    def take(cls, options: dict[str, Any]) -> Page:
        """Take it out of a command's options."""
        return cls(options.pop("report"), options.pop("open_"), Charts.take(options))

    @property
    def wanted(self) -> bool:
        """Whether there is to be a page, or charts."""
        return self.path is not None or self.shown or self.charts is not None

    def write(self, result: Evaluation | Comparison, **look: Any) -> None:
        """Write the page and the charts of a result, where asked; ``look`` is for both."""
        path = self.path
        if self.charts is not None:
            self.charts.write(result, **look)
        if path is None and not self.shown:
            return
        if path is None:
            import tempfile

            path = os.path.join(tempfile.mkdtemp(prefix="calipers-"), "report.html")  # noqa: PTH118
        write_out(result.to_html(**look), path)
        if self.shown:
            show_page(path)


def show_page(path: str) -> None:
    """A page in the browser that the user has set, or that is found."""
    import webbrowser
    from pathlib import Path

    if not webbrowser.open(Path(path).resolve().as_uri()):
        say(f"calipers: no browser could be started; the page is {path}")


def format_and_file(
    options: dict[str, Any], formats: Sequence[str], what: str
) -> tuple[str, str | None]:
    """The format and the file (None for stdout) of a result called ``what``, taken out of the
    options."""
    kind, path = options.pop("format_"), options.pop("output")
    path = None if path == DASH else path
    if kind is None:
        suffix = "" if path is None else os.path.splitext(path)[1].lower()  # noqa: PTH122
        kind = SUFFIXES.get(suffix, suffix[1:] if suffix in _OTHERS else "table")
    check_format(kind, formats, what, page="report" in options)
    if kind == "parquet" and path is None:
        raise click.UsageError("Parquet needs a file to be written to: -o FILE.parquet")
    return kind, path


def check_format(kind: str, formats: Sequence[str], what: str, *, page: bool = False) -> None:
    """Refuse a format in which a result called ``what`` is not written: it is never written in
    another one. ``page`` says whether the command takes --report."""
    if kind not in formats:
        choice = ", ".join(formats)
        if kind in ("html", "htm") and page:
            choice += "; --report writes a page"
        raise click.UsageError(f"{what} cannot be written as {kind}; use {choice}")


def layout_of(options: dict[str, Any], kind: str, *, units: bool = False) -> str | None:
    """The layout asked for, taken out of the options."""
    layout: str | None = options.pop("layout", None)
    if layout is not None and (units or kind not in LAID_OUT):
        what = "the values per unit have" if units else f"{kind} has"
        raise click.UsageError(f"--layout is for {', '.join(LAID_OUT)}; {what} one layout only")
    return layout


def write(
    result: Evaluation | Comparison,
    kind: str,
    output: str | None,
    page: Page,
    layout: str | None = None,
    **look: Any,
) -> None:
    """The result in one format, to a file or to stdout, and as a page if that was asked; ``look``
    is for the page and Markdown."""
    laid_out: dict[str, Any] = {} if layout is None else {"layout": layout}
    page.write(result, **look)
    cutoffs = getattr(result, "cutoffs", None)
    if kind in ALONE and cutoffs is not None:
        write_out(getattr(cutoffs, f"to_{kind}")(), output)
    elif kind == "table" and output is None:
        from calipers.report.text import print_result

        print_result(result, sys.stdout, layout=layout)
    elif kind == "table":
        write_out(result.to_text(layout=layout), output)
    else:
        own = (look if kind == "markdown" else {}) | laid_out
        write_out(getattr(result, f"to_{kind}")(**own), output)


def write_units(evaluation: Evaluation, kind: str, output: str | None, page: Page) -> None:
    """The value on every unit in one format, to a file or to stdout, and the page if asked."""
    from calipers.report.per_topic import print_units, trec_lines
    from calipers.report.text import printed

    values = evaluation.per_unit
    assert values is not None
    page.write(evaluation)
    if kind == "parquet":
        from pyarrow import parquet

        made = BytesIO()  # a pipe cannot say how much has been written to it
        parquet.write_table(values.to_arrow(), made)
        write_out(made.getvalue(), output)
    elif kind == "table" and output is None:
        print_units(evaluation, values, sys.stdout)
    else:
        texts: dict[str, Callable[[], str]] = {
            "table": lambda: printed(print_units, evaluation, values),
            "json": values.to_json,
            "csv": values.to_csv,
            "trec": lambda: trec_lines(evaluation, values, *evaluation.systems),
        }
        write_out(texts[kind](), output)


def write_trec_files(evaluation: Evaluation, folder: str, inputs: Sequence[str]) -> None:
    """What trec_eval -q prints of each system, in a file of its own, which is no input."""
    from calipers.report.per_topic import trec_files

    assert evaluation.per_unit is not None
    os.makedirs(folder, exist_ok=True)  # noqa: PTH103
    made = {
        os.path.join(folder, name): lines  # noqa: PTH118
        for name, lines in trec_files(evaluation, evaluation.per_unit).items()
    }
    check_files([("the input", file) for file in inputs], [("--per-topic-dir", to) for to in made])
    for path, lines in made.items():
        write_out(lines, path)


def print_tables(evaluation: Evaluation) -> None:
    """The tables of labels or clusters, below the result."""
    from calipers.report.columns import width_of
    from calipers.report.labels import label_sections, text_table

    tables = evaluation.label_tables
    for table, said in zip(tables, label_sections(tables), strict=True):
        heading = " ".join(filter(None, (said["kind"], said["system"])))
        print_below(heading, text_table(table, width_of(sys.stdout)))


def no_tables_below(option: str, kind: str, path: str | None) -> None:
    """That tables below the result go with a result that is a table itself."""
    if kind != "table" or path:
        raise click.UsageError(
            f"{option} goes with a table on the standard output; --report has it, and the JSON of "
            "to_json(details=True)"
        )


def print_below(name: str, table: str) -> None:
    """A table of one system, below the result."""
    from calipers.report.names import short

    click.echo(f"\n{short(name)}\n\n{table}")


def write_out(made: str | bytes, output: str | None) -> None:
    """Text, its last line ended, or bytes, to a file or to stdout."""
    if isinstance(made, str) and not made.endswith("\n"):
        made += "\n"
    if output is None:
        assert isinstance(made, str)
        sys.stdout.write(made)
        return
    from calipers.report.files import replacing

    # Whoever reads a pipe may have read enough.
    with suppress(BrokenPipeError), replacing(output) as stream:
        stream.write(made.encode() if isinstance(made, str) else made)
