"""Output of results: formats, files and reports."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from io import BytesIO
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.charts import ChartOptions, chart_options
from calipers.cli.files import DASH, OutputFile, check_files
from calipers.cli.options import Command, Option, combine_options, flag_option, text_option
from calipers.cli.process import write_stderr
from calipers.lazy_dataclasses import dataclass
from calipers.report import writers

if TYPE_CHECKING:
    from calipers.report.blocks import Block
    from calipers.results import Comparison, Evaluation

#: Data formats of results, in addition to the documents of :mod:`calipers.report.writers`.
DATA_FORMATS = ("json", "csv")
#: Data formats of values per unit, which only some commands have.
UNIT_DATA_FORMATS = ("json", "csv", "parquet", "trec")
#: Layouts of tables: a row per system, or a row per estimate.
LAYOUTS = ("wide", "long")
#: Suffixes of formats that are not supported, unless by another package.
_UNSUPPORTED_SUFFIXES = frozenset(
    {".pdf", ".xlsx", ".tsv", ".jsonl", ".ndjson", ".feather", ".arrow"}
    | {".gz", ".zst", ".bz2", ".xz", ".zip"}
)


def list_formats(
    data: Sequence[str] = DATA_FORMATS, *, include_plugins: bool = True
) -> tuple[str, ...]:
    """Return the names of the formats of a result, including its data formats.

    Formats of other packages are excluded unless ``include_plugins``.
    """
    first, *others = writers.list_formats() if include_plugins else writers.known_formats()
    return (first, *data, *others)


class Format(click.Choice):  # type: ignore[type-arg]
    """Parameter type of a format.

    Other packages are loaded if the format is not built in, or when formats are listed.
    """

    def __init__(self, data: Sequence[str]) -> None:
        self.data = tuple(data)
        super().__init__(list_formats(data, include_plugins=False))

    def _load_plugin_formats(self) -> None:
        self.choices = list_formats(self.data)

    def convert(self, value: Any, *args: Any) -> Any:
        """Return the format."""
        if value not in self.choices:
            self._load_plugin_formats()
        return super().convert(value, *args)

    def get_metavar(self, *args: Any, **kwargs: Any) -> str | None:
        """Return the list of formats for the help."""
        self._load_plugin_formats()
        return super().get_metavar(*args, **kwargs)

    def shell_complete(self, *args: Any) -> Any:
        """Return the completions."""
        self._load_plugin_formats()
        return super().shell_complete(*args)


def format_options(
    command: Command, data: Sequence[str] = DATA_FORMATS, *, report: bool = True
) -> Command:
    """Add the options of the format and file of a result."""
    kind = Format(data)
    layout: Option = click.option(
        "--layout",
        type=click.Choice(LAYOUTS),
        help="Table layout. wide: one row per system and one column per measure, each value "
        "with its interval and marks of significance. long: one row per estimate, "
        "with its method and remarks. Tables and Markdown are wide for several systems "
        "and measures, and for comparisons of more than eight systems; csv is long by default.",
    )
    page = text_option(
        "--report", "FILE.html", "Write an HTML report as well.", type=OutputFile(is_page=True)
    )
    open_option = flag_option(
        "--open open_", "Open the report in a browser; without --report in a temporary file."
    )
    return combine_options(
        click.option(
            "--format",
            "format_",
            type=kind,
            help="Format of the result (default: by the suffix of -o, else table).",
        ),
        text_option(
            "-o --output",
            "FILE",
            "Write the result to this file instead of stdout.",
            type=OutputFile(),
        ),
        *([layout, page, open_option, chart_options] if report else []),
    )(command)


#: Options of what the terminal shows.
display_options = combine_options(
    flag_option(
        "--all show_all",
        "Show all measures and differences on the standard output. By default more than eight "
        "measures are cut to the first seven, unless -m names them; files have all.",
    ),
    flag_option(
        "--plain",
        "Print text without colors, rules and line breaks for the terminal, as for a pipe.",
    ),
)


@dataclass(frozen=True)
class ReportOptions:
    """Options of the report: its file, whether to open it, and the options of charts."""

    path: str | None
    opens_report: bool
    charts: ChartOptions | None

    @classmethod
    def pop_from(cls, options: dict[str, Any]) -> ReportOptions:
        """Pop these options from the options of a command."""
        return cls(options.pop("report"), options.pop("open_"), ChartOptions.pop_from(options))

    @property
    def is_requested(self) -> bool:
        """Whether a report or charts are requested."""
        return self.path is not None or self.opens_report or self.charts is not None

    def write(self, result: Evaluation | Comparison, **look: Any) -> None:
        """Write the requested report and charts of a result; ``look`` applies to both."""
        path = self.path
        if self.charts is not None:
            self.charts.write(result, **look)
        if path is None and not self.opens_report:
            return
        if path is None:
            import tempfile

            path = os.path.join(tempfile.mkdtemp(prefix="calipers-"), "report.html")  # noqa: PTH118
        write_output(result.to_html(**look), path)
        if self.opens_report:
            open_in_browser(path)


def open_in_browser(path: str) -> None:
    """Open a page in the default browser."""
    import webbrowser
    from pathlib import Path

    if not webbrowser.open(Path(path).resolve().as_uri()):
        write_stderr(f"calipers: no browser could be started; the page is {path}")


def format_and_file(
    options: dict[str, Any], data: Sequence[str], label: str
) -> tuple[str, str | None]:
    """Pop the format and the file of a result (None for stdout) from the options.

    ``label`` is the name of the result in messages.
    """
    kind, path = options.pop("format_"), options.pop("output")
    path = None if path == DASH else path
    if kind is None:
        suffix = "" if path is None else os.path.splitext(path)[1].lower()  # noqa: PTH122
        data_format = suffix[1:] if suffix[1:] in UNIT_DATA_FORMATS else None
        fallback = suffix[1:] if suffix in _UNSUPPORTED_SUFFIXES else "table"
        kind = data_format or writers.format_for_suffix(suffix) or fallback
    check_format(kind, data, label)
    if kind == "parquet" and path is None:
        raise click.UsageError("Parquet needs a file to be written to: -o FILE.parquet")
    return kind, path


def check_format(kind: str, data: Sequence[str], label: str) -> None:
    """Raise an error for a format in which a result called ``label`` cannot be written.

    A result is never written in another format than the requested one.
    """
    if kind not in list_formats(data, include_plugins=False) and kind not in list_formats(data):
        choice = ", ".join(list_formats(data))
        raise click.UsageError(f"{label} cannot be written as {kind}; use {choice}")


def pop_layout(options: dict[str, Any], kind: str, *, units: bool = False) -> str | None:
    """Pop the requested layout from the options."""
    layout: str | None = options.pop("layout", None)
    if layout is not None and (units or not _has_layouts(kind)):
        subject = "the values per unit have" if units else f"{kind} has"
        laid_out = ", ".join(filter(_has_layouts, list_formats()))
        raise click.UsageError(f"--layout is for {laid_out}; {subject} one layout only")
    return layout


def _has_layouts(kind: str) -> bool:
    return kind == "csv" or (kind not in UNIT_DATA_FORMATS and not is_for_papers(kind))


def is_for_papers(kind: str) -> bool:
    """Return whether a document format has tables only, with self-contained captions."""
    from calipers.report.blocks import Medium

    return writers.get_writer(kind).medium is Medium.PAPER


def is_page(kind: str) -> bool:
    """Return whether a format has sections, unlike a terminal."""
    return kind not in UNIT_DATA_FORMATS and writers.get_writer(kind).medium.has_sections


def write_evaluation(
    result: Evaluation | Comparison,
    kind: str,
    output: str | None,
    report: ReportOptions,
    layout: str | None = None,
    screen: Mapping[str, Any] = MappingProxyType({}),
    **style: Any,
) -> None:
    """Write the result in one format, and the requested report and charts.

    ``style`` applies to reports and other pages, ``screen`` to text on the standard output. The
    report comes last, as its charts need more memory than anything else.
    """
    thresholds = getattr(result, "thresholds", None)
    if thresholds is not None and (
        kind == "csv" or (kind not in DATA_FORMATS and is_for_papers(kind))
    ):
        write_result(thresholds, kind, output)  # which stands alone
    elif kind == "csv" and layout is not None:
        write_output(result.to_csv(layout=layout), output)
    else:
        on_screen = screen if kind == "table" and output is None else {}
        write_result(result, kind, output, layout=layout, **style, **on_screen)
    report.write(result, **style)


def write_result(
    result: Any, kind: str, output: str | None, *, is_plain: bool = False, **look: Any
) -> None:
    """Write a result as data, or as a document, to a file or to stdout."""
    if kind in DATA_FORMATS:
        write_output(getattr(result, f"to_{kind}")(), output)
        return
    from calipers.report.documents import DisplayOptions, document

    medium = writers.get_writer(kind).medium
    blocks = document(result, DisplayOptions(medium, **look))
    write_document(blocks, kind, output, is_plain=is_plain)


def write_with_report(
    result: Any, kind: str, path: str | None, report: str | None, *, opens_report: bool
) -> None:
    """Write the result in one format, and as an HTML report if requested."""
    write_result(result, kind, path)
    if report is not None:
        write_output(result.to_html(), report)
        if opens_report:
            open_in_browser(report)


def write_document(
    blocks: Iterable[Block], kind: str, output: str | None, *, is_plain: bool = False
) -> None:
    """Write a document in one format, to a file or to stdout."""
    from calipers.report.writers.text import Text

    writer = writers.get_writer(kind)
    if output is None and isinstance(writer, Text):
        writer.print(blocks, sys.stdout, is_plain=is_plain)
    else:
        write_output(writer.write(blocks), output)


def write_units(
    evaluation: Evaluation, kind: str, output: str | None, report: ReportOptions
) -> None:
    """Write the value of every unit in one format, and the requested report."""
    from calipers.report.per_topic import trec_lines, unit_blocks

    values = evaluation.per_unit
    assert values is not None
    if kind == "parquet":
        from pyarrow import parquet

        buffer = BytesIO()  # a pipe cannot say how much has been written to it
        parquet.write_table(values.to_arrow(), buffer)
        write_output(buffer.getvalue(), output)
    elif kind == "trec":
        write_output(trec_lines(evaluation, values, *evaluation.systems), output)
    elif kind in DATA_FORMATS:
        write_result(values, kind, output)
    else:
        write_document(unit_blocks(evaluation, values), kind, output)
    report.write(evaluation)


def write_trec_files(evaluation: Evaluation, folder: str, inputs: Sequence[str]) -> None:
    """Write the output of trec_eval -q of each system to a file that is not an input."""
    from calipers.report.per_topic import trec_files

    assert evaluation.per_unit is not None
    os.makedirs(folder, exist_ok=True)  # noqa: PTH103
    lines_by_path = {
        os.path.join(folder, name): lines  # noqa: PTH118
        for name, lines in trec_files(evaluation, evaluation.per_unit).items()
    }
    check_files(
        [("the input", file) for file in inputs], [("--per-topic-dir", to) for to in lines_by_path]
    )
    for path, lines in lines_by_path.items():
        write_output(lines, path)


def print_tables(evaluation: Evaluation) -> None:
    """Print the tables of labels or clusters below the result."""
    from calipers.report.class_tables import label_text, label_titles
    from calipers.report.text_columns import terminal_width

    tables = evaluation.label_tables
    for table, title in zip(tables, label_titles(tables), strict=True):
        print_below(title, label_text(table, terminal_width(sys.stdout)))


def check_table_output(option: str, kind: str, path: str | None) -> None:
    """Raise an error if tables are to be printed below a result that is not a text table."""
    if kind != "table" or path:
        raise click.UsageError(
            f"{option} goes with a table on the standard output; --report has it, and the JSON of "
            "to_json(details=True)"
        )


def print_below(name: str, table: str) -> None:
    """Print a table of one system below the result."""
    from calipers.report.safe_names import shorten_name

    click.echo(f"\n{shorten_name(name)}\n\n{table}")


def write_output(content: str | bytes, output: str | None) -> None:
    """Write text (terminated by a newline) or bytes to a file or to stdout."""
    if isinstance(content, str) and not content.endswith("\n"):
        content += "\n"
    if output is None:
        assert isinstance(content, str)
        sys.stdout.write(content)
        return
    from calipers.report.output_files import atomic_writer

    # Whoever reads a pipe may have read enough.
    with suppress(BrokenPipeError), atomic_writer(output) as stream:
        stream.write(content.encode() if isinstance(content, str) else content)
