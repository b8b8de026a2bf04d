"""Command ``calipers show``."""

from __future__ import annotations

import base64
import gzip
import io
import re
import sys
import zlib
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.files import DASH, Command, InputFile, is_given
from calipers.cli.output import (
    DATA_FORMATS,
    ReportOptions,
    format_and_file,
    format_options,
    open_in_browser,
    pop_layout,
    write_evaluation,
    write_with_report,
)

if TYPE_CHECKING:
    from calipers.results import Comparison, Definition, Evaluation, MonitorResult, Plan
    from calipers.results.leaderboard import Leaderboard
    from calipers.results.learning import LearningResult

_PAGE_SUFFIXES = (".html", ".htm")


@click.command("show", cls=Command)
@click.argument("file", type=InputFile())
@format_options
def command(file: str, **options: Any) -> None:
    """Display a saved result (JSON or HTML report) in any output format.

    The result is an evaluation, a comparison, plans and so on, saved with -o FILE.json or --report.
    With --open alone, a saved page opens in the browser as it is.

    \b
    Examples:
      calipers show last.json
      calipers show last.json --format latex
      calipers show last.json --report last.html --open
      calipers show last.html --format csv
    """
    if file.lower().endswith(_PAGE_SUFFIXES):
        option_names = [name for name in options if is_given(name)]
        if option_names == ["open_"]:
            open_in_browser(file)
            return
        if _embedded_result(file) is None:
            if option_names:
                raise click.UsageError(
                    f"{file} is a page that holds no result, which is opened as it is, without "
                    "options"
                )
            open_in_browser(file)
            return
    from calipers.results import MonitorResult
    from calipers.results.leaderboard import Leaderboard
    from calipers.results.learning import LearningResult

    kind, path = format_and_file(options, DATA_FORMATS, "this result")
    page, layout = ReportOptions.pop_from(options), pop_layout(options, kind)
    result = read_result(file)
    if isinstance(result, tuple):
        from calipers.cli.plan import write_plans

        if page.is_requested or layout is not None:
            raise click.UsageError("a plan has no page and one layout only")
        write_plans(result, kind, path)
    elif isinstance(result, LearningResult | Leaderboard | MonitorResult):
        if (
            page.charts is not None
            or layout is not None
            or (page.opens_report and page.path is None)
        ):
            nouns = {Leaderboard: "a leaderboard", MonitorResult: "a sequential evaluation"}
            noun = nouns.get(type(result), "a result of learning")
            raise click.UsageError(f"{noun} has one layout, and a page by --report")
        write_with_report(result, kind, path, page.path, opens_report=page.opens_report)
    else:
        write_evaluation(result, kind, path, page, layout)


def read_result(
    file: str,
) -> Evaluation | Comparison | LearningResult | Leaderboard | MonitorResult | tuple[Plan, ...]:
    """Read the result in a JSON file or in an HTML report."""
    from calipers.data.errors import FileError, InputError
    from calipers.results import Comparison, Evaluation, MonitorResult, Plan, from_json
    from calipers.results.leaderboard import Leaderboard
    from calipers.results.learning import LearningResult

    compressed = None
    try:
        compressed = _embedded_result(file) if file.lower().endswith(_PAGE_SUFFIXES) else None
        if compressed is not None:
            result = from_json(_decompress_result(compressed))
        else:
            result = from_json(sys.stdin.buffer.read() if file == DASH else Path(file))
    except InputError as error:
        is_named = file != DASH and compressed is None
        raise FileError(str(error) if is_named else f"{file}: {error}") from None
    plans = (result,) if isinstance(result, Plan) else result
    if isinstance(plans, tuple) and all(isinstance(each, Plan) for each in plans):
        return plans
    if isinstance(result, Evaluation):
        return (
            result
            if result.definitions
            else replace(result, definitions=_known_definitions(result))
        )
    if isinstance(result, Comparison | LearningResult | Leaderboard | MonitorResult):
        return result
    type_name = getattr(type(result), "__name__", "something else")
    raise FileError(f"{file}: holds {type_name}, expected an evaluation, a comparison or a plan")


def _decompress_result(compressed: bytes) -> bytes:
    """Return the JSON of a result in a page, of which no more than a limit is decompressed."""
    from calipers.data.errors import InputError
    from calipers.data.evaluation_logs import MAX_MEMBER_BYTES

    try:
        with gzip.open(io.BytesIO(base64.b64decode(compressed))) as stream:
            content = stream.read(MAX_MEMBER_BYTES + 1)
    except (zlib.error, EOFError, OSError, ValueError) as error:
        raise InputError(f"its result is damaged: {error}") from None
    if len(content) > MAX_MEMBER_BYTES:
        raise InputError(
            f"its result is longer than {MAX_MEMBER_BYTES:,} bytes, which is the limit"
        )
    return content


#: The result that a page offers as a file.
_RESULT_ELEMENT = re.compile(
    rb'<script type="application/gzip" data-name="result\.json">([^<]*)</script>'
)


def _embedded_result(file: str) -> bytes | None:
    """Return the compressed result that a page contains, or None."""
    try:
        match = _RESULT_ELEMENT.search(Path(file).read_bytes())
    except OSError:  # which is told where it is read
        return None
    return None if match is None else match[1]


def _known_definitions(evaluation: Evaluation) -> tuple[Definition, ...]:
    """Return the catalogue's definitions of the measures, which a file does not contain.

    They state, for example, which direction is better.
    """
    from calipers.evaluation.shared import glossary
    from calipers.measures import TASKS, UnknownMeasureError, judge, parse, reviews
    from calipers.measures.precision_recall import TASK, point_measures

    if evaluation.task == TASK:
        return glossary(point_measures(evaluation.measures))
    if evaluation.task == reviews.TASK:
        return glossary(reviews.review_measures(has_collection_size=True))
    if evaluation.task == judge.TASK:
        return glossary(judge.judge_measures(evaluation.measures))
    measures = []
    for name in dict.fromkeys(e.measure for e in evaluation.estimates):
        with suppress(UnknownMeasureError):  # one that was registered then, or values by its name
            measures.append(parse(name, TASKS.get(evaluation.task)))
    return glossary(measures)
