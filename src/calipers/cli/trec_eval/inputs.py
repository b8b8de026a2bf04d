"""What the files hold: judgments and results by judged topic, and means for z-scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from calipers.cli.trec_eval.options import Options
from calipers.cli.trec_eval.reading import Stop, real
from calipers.data.errors import InputError
from calipers.data.groups import Lines, judge_groups, read_groups
from calipers.data.trec import STDIN, read_qrels, read_run, read_zscores
from calipers.statistics import FloatArray, GroupedRankings, JudgedRankings

#: The formats of judgments that hold groups, and what their lines hold.
GROUPED: dict[str, Lines] = {"qrels_jg": "qrels", "prefs": "prefs", "qrels_prefs": "groups"}
FORMATS = ("qrels", *GROUPED)


@dataclass(frozen=True)
class Judged:
    """The results as the judgments see them, with all judged topics in bytewise order.

    ``unusable`` says of topics by their positions why they cannot be evaluated.
    """

    topics: list[bytes]
    rankings: JudgedRankings | GroupedRankings
    tag: bytes | None
    unusable: Mapping[int, str] = field(default_factory=dict)


def read_inputs(options: Options) -> Judged:
    """Reads judgments and results; :class:`Stop` where that fails."""
    judgments, results = options.files
    # Both names are the user's, but "-" means stdin for the results only.
    judgments = f"./{judgments}" if judgments == STDIN else judgments
    results = STDIN if results.startswith("-") else results
    if options.judgments_format not in FORMATS:
        raise Stop(2, f"{options.judgments_format!r} is no format of judgments: {FORMATS}")
    if options.results_format != "trec_results":
        raise Stop(2, f"{options.results_format!r} is no format of results: trec_results")
    how = {"float32": options.conventions < 10, "depth": options.depth, "lenient": True}
    try:
        if options.judgments_format == "qrels":
            judged = _read_qrels(judgments, results, how)
        else:
            judged = _read_groups(judgments, results, how, GROUPED[options.judgments_format])
    except InputError as error:
        raise Stop(2, str(error)) from None
    if judged.tag is None:
        raise Stop(2, f"{results}: no results")
    return judged


def _read_qrels(judgments: str, results: str, how: Mapping[str, Any]) -> Judged:
    qrels = read_qrels(judgments, lenient=True)
    run = read_run(results, results, qrels, **how)
    rankings = JudgedRankings(**run.arrays)
    return Judged(qrels.judgments.topics, rankings, run.raw_tag, {**qrels.wrong, **run.wrong})


def _read_groups(judgments: str, results: str, how: Mapping[str, Any], lines: Lines) -> Judged:
    groups = read_groups(judgments, lines=lines, lenient=True)
    if groups.wrong and lines == "qrels":
        # Of these the original reads no further.
        raise next(iter(groups.wrong.values()))
    run = judge_groups(results, results, groups, ascending=lines != "qrels", **how)
    return Judged(
        groups.documents.judgments.topics,
        GroupedRankings(**run.arrays),
        run.raw_tag,
        {topic: str(error) for topic, error in groups.wrong.items()} | dict(run.wrong),
    )


#: In place of a value for which there is no mean.
MISSING = -1000000.0


class ZScores:
    """Means and standard deviations by topic and measure, from a file of ``topic measure mean
    deviation``."""

    def __init__(self, path: str) -> None:
        self.moments: dict[tuple[bytes, bytes], tuple[float, float]] = {}
        # "-" is the name of a file here.
        path = f"./{path}" if path == STDIN else path
        try:
            rows = read_zscores(path)
        except InputError as error:
            raise Stop(255, str(error)) from None
        for topic, measure, *numbers in rows:
            mean, deviation = (real(number.decode("latin-1")) for number in numbers)
            self.moments.setdefault((topic, measure), (mean, deviation))

    def of(self, name: str, topics: Sequence[bytes], values: FloatArray) -> FloatArray:
        """How many deviations above the mean each topic's value is."""
        key = name.encode("utf-8", "surrogateescape")
        moments = np.array([self.moments.get((topic, key), (np.nan, 0.0)) for topic in topics])
        mean, deviation = moments.reshape(-1, 2).T
        exact = np.where(values == mean, 0.0, MISSING)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(deviation == 0, exact, (values - mean) / deviation)
