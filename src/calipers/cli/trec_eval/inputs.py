"""Judgments and results, by judged topic."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

from calipers.cli.trec_eval.c_parsing import ProgramExit
from calipers.cli.trec_eval.options import Options
from calipers.data.byte_sources import STDIN
from calipers.data.errors import InputError
from calipers.data.trec import read_qrels, read_run
from calipers.lazy_dataclasses import dataclass
from calipers.statistics import JudgedRankings

if TYPE_CHECKING:
    from calipers.data.grouped_judgments import LineKind
    from calipers.statistics import GroupedRankings

#: Formats of judgments with groups, and the columns of their lines.
LINES_BY_FORMAT: dict[str, LineKind] = {
    "qrels_jg": "qrels",
    "prefs": "prefs",
    "qrels_prefs": "groups",
}
FORMATS = ("qrels", *LINES_BY_FORMAT)


@dataclass(frozen=True)
class JudgedResults:
    """Results with their judgments, for all judged topics in bytewise order.

    ``topic_problems`` has the reason why a topic cannot be evaluated, by index of the topic.
    """

    topics: list[bytes]
    rankings: JudgedRankings | GroupedRankings
    tag: bytes | None
    topic_problems: Mapping[int, str] = field(default_factory=dict)


def read_inputs(options: Options) -> JudgedResults:
    """Read judgments and results; raise :class:`ProgramExit` on failure."""
    judgments, results = options.files
    # Both names are the user's, but "-" means stdin for the results only.
    judgments = f"./{judgments}" if judgments == STDIN else judgments
    results = STDIN if results.startswith("-") else results
    if options.judgments_format not in FORMATS:
        raise ProgramExit(
            2, f"{options.judgments_format!r} is not a format of judgments: {FORMATS}"
        )
    if options.results_format != "trec_results":
        raise ProgramExit(2, f"{options.results_format!r} is not a format of results: trec_results")
    run_options = {
        "float32": options.conventions < 10,
        "order": options.order,
        "depth": options.depth,
        "lenient": True,
    }
    run = _NO_RESULTS if _holds_no_results(results) else results
    try:
        if options.judgments_format == "qrels":
            judged = _read_qrels(judgments, run, run_options)
        else:
            judged = _read_groups(
                judgments, run, run_options, LINES_BY_FORMAT[options.judgments_format]
            )
    except InputError as error:
        raise ProgramExit(2, str(error)) from None
    if run is _NO_RESULTS:
        judged = replace(judged, tag=b"")
    if judged.tag is None:
        raise ProgramExit(2, f"{results}: no results")
    return judged


#: Run of a topic without judgments.
_NO_RESULTS: Mapping[str, Mapping[str, float]] = {"\0": {"\0": 0.0}}


def _holds_no_results(path: str) -> bool:
    """Return whether a file has only blank lines and comments.

    trec_eval treats such a file as a run without results; an empty file is not a run.
    """
    if path == STDIN:
        return False
    try:
        with open(path, "rb") as stream:  # noqa: PTH123
            lines = 0
            for line in stream:
                text = line.strip()
                if text and not text.startswith(b"#"):
                    return False
                lines += 1
    except OSError:  # which is told where it is read
        return False
    return lines > 0


def _name(results: Any) -> str:
    return results if isinstance(results, str) else "results"


def _read_qrels(judgments: str, results: Any, run_options: Mapping[str, Any]) -> JudgedResults:
    qrels = read_qrels(judgments, lenient=True)
    run = read_run(_name(results), results, qrels, **run_options)
    rankings = JudgedRankings(**run.arrays)
    return JudgedResults(
        qrels.judgments.topics, rankings, run.raw_tag, {**qrels.topic_errors, **run.topic_errors}
    )


def _read_groups(
    judgments: str, results: Any, run_options: Mapping[str, Any], lines: LineKind
) -> JudgedResults:
    from calipers.data.grouped_judgments import judge_groups, read_groups
    from calipers.statistics import GroupedRankings

    groups = read_groups(judgments, lines=lines, lenient=True)
    if groups.topic_errors and lines == "qrels":
        # The original stops reading at these.
        raise next(iter(groups.topic_errors.values()))
    run = judge_groups(_name(results), results, groups, ascending=lines != "qrels", **run_options)
    return JudgedResults(
        groups.documents.judgments.topics,
        GroupedRankings(**run.arrays),
        run.raw_tag,
        {topic: str(error) for topic, error in groups.topic_errors.items()}
        | dict(run.topic_errors),
    )
