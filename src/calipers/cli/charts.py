"""Options that write every chart of a result to a file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.files import OutputFolder, check_late_files
from calipers.cli.options import combine_options, text_option
from calipers.cli.process import write_stderr
from calipers.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from calipers.results import Comparison, Evaluation

FORMATS = ("svg", "png", "pdf", "json")

chart_options = combine_options(
    text_option(
        "--charts",
        "DIR",
        "Write every chart to a file in this folder.",
        type=OutputFolder(),
    ),
    click.option(
        "--chart-format",
        "chart_formats",
        multiple=True,
        type=click.Choice(FORMATS),
        help="Format of --charts (default: svg); json is the Vega-Lite specification. Repeatable.",
    ),
)


@dataclass(frozen=True)
class ChartOptions:
    """Folder and formats of charts."""

    folder: str
    formats: tuple[str, ...]

    @classmethod
    def pop_from(cls, options: dict[str, Any]) -> ChartOptions | None:
        """Pop the options of charts from the options of a command."""
        folder, formats = options.pop("charts"), options.pop("chart_formats")
        if folder is None and formats:
            raise click.UsageError("--chart-format goes with --charts DIR")
        unique_formats = tuple(dict.fromkeys(formats)) or FORMATS[:1]
        return None if folder is None else cls(os.fspath(folder), unique_formats)

    def write(self, result: Evaluation | Comparison, **style: Any) -> None:
        """Draw all charts, then write them."""
        from calipers.report.charts import chart_files
        from calipers.report.output_files import atomic_writer

        content_by_path = {
            os.path.join(self.folder, name): content  # noqa: PTH118
            for name, content in chart_files(result, self.formats, **style)
        }
        if not content_by_path:
            write_stderr(f"calipers: there is nothing to draw; {self.folder} was not changed")
            return
        os.makedirs(self.folder, exist_ok=True)  # noqa: PTH103
        check_late_files("--charts", content_by_path)
        for path, content in content_by_path.items():
            with atomic_writer(path) as stream:
                stream.write(content)
