"""Values that trec_eval prints.

These are the measures of Calipers by topic, with the values of trec_eval where they are undefined,
their summaries over topics, z-scores, and the lines of output.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.caching import cached_property
from calipers.cli.trec_eval.c_parsing import ProgramExit, parse_float
from calipers.cli.trec_eval.inputs import JudgedResults
from calipers.cli.trec_eval.measure_table import MEASURES, TrecMeasure
from calipers.cli.trec_eval.options import Options
from calipers.data.byte_sources import STDIN
from calipers.data.errors import InputError
from calipers.data.trec import read_zscores
from calipers.lazy_dataclasses import dataclass
from calipers.measures.errors import UnknownMeasureError
from calipers.statistics import GEOMETRIC_FLOOR, FloatArray, IntArray, JudgedRankings
from calipers.statistics.rankings import segment_offsets, segment_sum

if TYPE_CHECKING:
    from calipers.statistics import GroupedRankings

#: 0/0 with the sign that it has in C on most machines, where it prints as -nan.
NEGATIVE_NAN = np.copysign(np.nan, -1.0)


@dataclass(frozen=True)
class OutputLine:
    """Line of output for each topic and for the summary: values, or texts."""

    name: str
    measure: TrecMeasure
    values: FloatArray
    strings: Sequence[bytes] | None = None
    summary: float | bytes | None = None


@dataclass(frozen=True)
class TrecEvalResult:
    """Lines of output; ``stop`` is the reason if the program ends before the summary."""

    topics: list[bytes]
    lines: list[OutputLine]
    stop: ProgramExit | None


def evaluate(options: Options, judged: JudgedResults, scores: ZScores | None) -> TrecEvalResult:
    """Compute the values of all requested measures."""
    lines = [
        (name, printed, parameters)
        for name in options.requested_measures
        for printed, parameters in MEASURES[name].read_parameters(name, options.measures.get(name))
    ]
    evaluated, stop = _evaluated_topics(options, judged, lines)
    if stop is not None and not (evaluated and options.per_topic):
        return TrecEvalResult([], [], stop)
    topics = [judged.topics[i] for i in evaluated]
    evaluated_rankings = judged.rankings.take_topics(np.array(evaluated, np.int64))
    missing = evaluated_rankings.retrieved == 0
    view = RankingView.from_rankings(options, evaluated_rankings)
    output_lines = []
    for name, printed, parameters in lines:
        line = OutputLine(printed, MEASURES[name], view.values(name, parameters or {}))
        if name == "relstring":
            # Only judgments in the format qrels come so far.
            assert isinstance(view.rankings, JudgedRankings)
            strings = view.rankings.relevance_strings((parameters or {})["length"])
            line = replace(line, strings=strings)
        line = _blank_line(line, missing)
        if scores is not None:
            line = replace(line, values=scores.standardize(printed, topics, line.values))
        output_lines.append(replace(line, summary=_summary(options, judged, name, line)))
    return TrecEvalResult(topics, output_lines, stop)


def _evaluated_topics(
    options: Options,
    judged: JudgedResults,
    lines: Sequence[tuple[str, str, Mapping[str, Any] | None]],
) -> tuple[list[int], ProgramExit | None]:
    """Return the indices of the topics that are evaluated, and the reason for an early end."""
    problem = _problem(options, lines)
    needs_judgments = any(MEASURES[name].judgments for name, _, _ in lines)
    highest = _highest_grades(judged.rankings)
    requested_topic = None if options.topic is None else os.fsencode(options.topic)
    retrieved_mask = (judged.rankings.retrieved > 0).tolist()
    evaluated: list[int] = []
    for i, topic in enumerate(judged.topics):
        if requested_topic not in (None, topic) or (
            options.conventions < 10 and not retrieved_mask[i]
        ):
            continue
        reason = problem
        if not retrieved_mask[i] and not options.is_complete:
            reason = "not in the results; -c evaluates it nevertheless"
        elif needs_judgments and reason is None:
            reason = judged.topic_problems.get(i)
            # The original fails if the first topic has no judgments, and for any topic whose
            # highest judgment is below -1.
            if highest is not None and highest[i] < (-1 if evaluated else 0):
                reason = "all its judgments are negative"
        if reason is not None:
            return evaluated, ProgramExit(4, f"topic {topic.decode(errors='replace')}: {reason}")
        evaluated.append(i)
    return evaluated, None if evaluated else ProgramExit(
        7, "no topic has both results and judgments"
    )


def _problem(
    options: Options, lines: Sequence[tuple[str, str, Mapping[str, Any] | None]]
) -> str | None:
    """Return why a measure cannot be computed for any topic, or None."""
    judgments_format = (
        "prefs" if options.judgments_format == "qrels_prefs" else options.judgments_format
    )
    for name, printed, parameters in lines:
        if MEASURES[name].judgments not in ("", judgments_format):
            return f"{name} is not for judgments in the format {options.judgments_format}"
        if parameters is None:
            return f"{printed}: these parameters cannot be used"
    return None


def _highest_grades(rankings: JudgedRankings | GroupedRankings) -> list[int] | None:
    """Return the highest grade of each topic."""
    if not isinstance(rankings, JudgedRankings):
        return None
    highest: list[int] = rankings.max_grade.tolist()
    return highest


def _blank_line(line: OutputLine, missing: Any) -> OutputLine:
    """Blank the values that trec_eval resets for topics missing from the results."""
    if line.name == "relstring" and line.strings is not None:
        strings = [
            b"" if is_missing else text
            for text, is_missing in zip(line.strings, missing, strict=True)
        ]
        return replace(line, strings=strings)
    if line.name in ("num_ret", "utility", "rbp_resid") or line.name.startswith("unj"):
        return replace(line, values=np.where(missing, 0.0, line.values))
    return line


def _summary(
    options: Options, judged: JudgedResults, name: str, line: OutputLine
) -> float | bytes | None:
    """Return the value over all topics."""
    count = len(judged.topics) if options.is_complete else len(line.values)
    if name == "runid":
        return judged.tag
    if name == "relstring":
        return None
    if name == "num_q":
        return count
    if name == "num_rel" and options.is_complete and isinstance(judged.rankings, JudgedRankings):
        # Of all topics, whatever the level.
        return float(judged.rankings.n_relevant().sum())
    # One after the other, as the original adds up; from 0, which no negative zero outlives.
    total = float(np.cumsum(np.append(0.0, line.values))[-1])
    if line.measure.is_count:
        return total
    if name.startswith("gm_"):
        return float(np.exp((total + (count - len(line.values)) * np.log(GEOMETRIC_FLOOR)) / count))
    return total / count


@dataclass(frozen=True)
class RankingView:
    """Rankings, as transformed by the options.

    With judgments by assessor, each assessor's ranking is treated as a topic, and ``groups`` are
    the offsets of the topics.
    """

    options: Options
    rankings: JudgedRankings | GroupedRankings
    groups: IntArray | None = None

    @classmethod
    def from_rankings(
        cls, options: Options, rankings: JudgedRankings | GroupedRankings
    ) -> RankingView:
        """Create the view of the evaluated topics.

        If nothing was retrieved for a topic, one unjudged document is assumed.
        """
        rankings = replace(rankings, retrieved=np.maximum(rankings.retrieved, 1))
        if options.judgments_format == "qrels_jg":
            assert not isinstance(rankings, JudgedRankings)
            return cls(
                options, _prepare_rankings(options, rankings.group_rankings), rankings.groups
            )
        if not isinstance(rankings, JudgedRankings):
            return cls(options, rankings.truncate(options.depth))
        return cls(options, _prepare_rankings(options, rankings))

    def values(self, name: str, parameters: Mapping[str, Any]) -> FloatArray:
        """Return the value of a measure for each topic."""
        row = MEASURES[name]
        if not row.judgments or not row.measure:
            topics = len(self.rankings) if self.groups is None else len(self.groups) - 1
            return np.ones(topics)
        value = self._ranking_values(name, row, parameters)
        if self.groups is None:
            return value
        return segment_sum(value, self.groups) / np.diff(self.groups)

    def _ranking_values(
        self, name: str, row: TrecMeasure, parameters: Mapping[str, Any]
    ) -> FloatArray:
        if row.measure == "IPrec":
            return self._interpolated(parameters["recall"])
        if name == "set_F":
            return self._f_measure(parameters["x"])
        if row.measure == "11pt-avg":
            return self._eleven_points(parameters["recalls"])
        if parameters.get("multiple", 1) <= 0:
            return np.zeros(len(self.rankings))
        value = self._apply(row, parameters)
        if name.startswith("gm_"):
            return np.log(np.maximum(_or_zero(value), GEOMETRIC_FLOOR))
        if name == "ndcg_rel":
            # Gains of documents without a judgment may be more than there are to miss.
            return np.maximum(_or_zero(value), 0.0)
        if name == "G":
            # Where the ranking gains more than the ideal list there is no logarithm.
            ideal_gain_mask = _or_zero(self._apply(MEASURES["ideal_dcg"], parameters)) > 0
            return np.where(np.isnan(value) & ideal_gain_mask, NEGATIVE_NAN, _or_zero(value))
        if name in ("Rndcg", "yaap"):
            # Without a gain the original divides by no levels at all; with a level below 0 there
            # may be more relevant documents than R.
            value = np.where(np.isnan(value), NEGATIVE_NAN, value)
            return np.where(self._relevant == 0, 0.0, value) if name == "Rndcg" else value
        return _or_zero(value)

    def _apply(self, row: TrecMeasure, parameters: Mapping[str, Any]) -> FloatArray:
        definition = row.definition
        replacement_by_grade = parameters.get("taken", {})
        parameters = {key: value for key, value in parameters.items() if key != "taken"}
        level = self._level
        general = {
            "rel": max(level, 0) if row.relevance_rule == "judged" else level,
            "rule": "nearest" if self.options.conventions >= 10 else "nine-tenths",
            "collection_size": self.options.collection_size,
        }
        general_parameters = {
            key: value for key, value in general.items() if key in definition.parameters
        }
        try:
            measure = definition.bind({**general_parameters, **row.fixed_parameters, **parameters})
        except UnknownMeasureError as error:
            raise ProgramExit(2, str(error)) from None
        rankings = self._rankings_by_relevance[row.relevance_rule]
        for grade, replacement in replacement_by_grade.items():
            assert isinstance(rankings, JudgedRankings)
            rankings = replace(
                rankings, grade=np.where(rankings.grade == grade, replacement, rankings.grade)
            )
        gains = tuple(parameters.get("gains", {}).items())
        if any(not gain.is_integer() for _, gain in gains):
            from calipers.cli.trec_eval.ideal_rankings import UnstableIdealRanking

            assert isinstance(rankings, JudgedRankings)
            rankings = UnstableIdealRanking.with_gains(rankings, gains)
        return np.asarray(measure.apply(rankings))

    @property
    def _level(self) -> int:
        """Lowest relevant grade, at least -3 (no grade is below -2)."""
        return max(self.options.level, -3)

    @cached_property
    def _rankings_by_relevance(self) -> Mapping[str, JudgedRankings | GroupedRankings]:
        """Rankings by ``TrecMeasure.relevant``, with the documents that it includes."""
        level, rankings = self._level, self.rankings
        if level >= 0 or not isinstance(rankings, JudgedRankings):
            return dict.fromkeys(("judged", "all", "last"), rankings)
        everything = rankings.with_unjudged()
        n_extra = everything.n_relevant_retrieved(level) - rankings.n_relevant_retrieved(0)
        early_mask = everything.cumulative_hits(level) <= n_extra[everything.topic_index]
        last = replace(everything, grade=np.where(early_mask, level - 1, everything.grade))
        return {"judged": rankings, "all": everything, "last": last}

    @cached_property
    def _relevant(self) -> FloatArray:
        """R, the number of relevant documents of each ranking."""
        assert isinstance(self.rankings, JudgedRankings)
        return self.rankings.n_relevant(max(self._level, 0))

    def _n_required(self, recall: float) -> FloatArray:
        """Return the number of relevant documents at a recall."""
        exact = recall * self._relevant
        if self.options.conventions < 10:
            return np.trunc(exact + 0.9)
        return np.trunc(exact + np.copysign(0.5, exact))

    def _interpolated(self, recall: float) -> FloatArray:
        value = _or_zero(
            self._apply(MEASURES["iprec_at_recall"], {"recall": min(max(recall, 0.0), 1.0)})
        )
        n_required = self._n_required(recall)
        value = np.where(n_required > self._relevant, 0.0, value)
        # Where nothing was retrieved, the precision at recall 0 is 0/0.
        empty = np.where(n_required <= 0, NEGATIVE_NAN, 0.0)
        return np.where(self.rankings.retrieved == 0, empty, value)

    def _f_measure(self, x: float) -> FloatArray:
        """Compute SetF in the order of operations of trec_eval, for equal rounding; x is β²."""
        p, r = (_or_zero(self._apply(MEASURES[name], {})) for name in ("set_P", "set_recall"))
        with np.errstate(divide="ignore", invalid="ignore"):
            value = (x + 1.0) * p * r / (x * p + r)
        return np.where(p > 0, np.where(np.isnan(value), NEGATIVE_NAN, value), 0.0)

    def _eleven_points(self, recalls: Sequence[float]) -> FloatArray:
        """Compute the mean of interpolated precisions as trec_eval does, if recalls ascend.

        trec_eval goes from the last recall to the first and from the end of the ranking to its top:
        a recall that it has already passed counts as recall 0, with all documents before it.
        """
        passed_mask = np.zeros(len(self.rankings), bool)
        begun_mask = np.zeros(len(self.rankings), bool)
        assert isinstance(self.rankings, JudgedRankings)
        n_relevant = self.rankings.n_relevant_retrieved(max(self._level, 0))
        total = np.zeros(len(self.rankings))
        zero_recall_precision = self._interpolated(0.0)
        for recall in reversed(recalls):
            n_required = self._n_required(recall)
            begun_mask |= n_required <= n_relevant
            passed_mask |= begun_mask & ((n_required > n_relevant) | (n_required <= 0))
            n_relevant = np.where(begun_mask & ~passed_mask, n_required, n_relevant)
            total += np.where(
                begun_mask,
                np.where(passed_mask, zero_recall_precision, self._interpolated(recall)),
                0.0,
            )
        return total / len(recalls)


def _prepare_rankings(options: Options, rankings: JudgedRankings) -> JudgedRankings:
    """Return the rankings as transformed by the options.

    Documents with negative judgments are removed from the judged ones.
    """
    nonnegative_mask = rankings.judged_grade >= 0
    rankings = replace(
        rankings,
        judged_offsets=segment_offsets(segment_sum(nonnegative_mask, rankings.judged_offsets)),
        judged_grade=rankings.judged_grade[nonnegative_mask],
        judged_count=rankings.judged_count[nonnegative_mask],
    )
    cut = (
        rankings if options.depth >= rankings.retrieved.max() else rankings.truncate(options.depth)
    )
    return cut.condense() if options.judged_only else cut


def _or_zero(values: FloatArray) -> FloatArray:
    return np.where(np.isnan(values), 0.0, values)


#: z-score of a topic without a mean, or with a deviation of 0 and a value other than the mean.
NO_MEAN = -1000000.0


class ZScores:
    """Means and standard deviations by topic and measure.

    They are read from a file of lines ``topic measure mean deviation``.
    """

    def __init__(self, path: str) -> None:
        self.moments: dict[tuple[bytes, bytes], tuple[float, float]] = {}
        # "-" is the name of a file here.
        path = f"./{path}" if path == STDIN else path
        try:
            rows = read_zscores(path)
        except InputError as error:
            raise ProgramExit(255, str(error)) from None
        for topic, measure, *numbers in rows:
            mean, deviation = (parse_float(number.decode("latin-1")) for number in numbers)
            self.moments.setdefault((topic, measure), (mean, deviation))

    def standardize(self, name: str, topics: Sequence[bytes], values: FloatArray) -> FloatArray:
        """Return the z-score of the value of each topic."""
        key = name.encode("utf-8", "surrogateescape")
        moments = np.array([self.moments.get((topic, key), (np.nan, 0.0)) for topic in topics])
        mean, deviation = moments.reshape(-1, 2).T
        zero_deviation_scores = np.where(values == mean, 0.0, NO_MEAN)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(deviation == 0, zero_deviation_scores, (values - mean) / deviation)


#: Placeholder of the topic in templates of lines; no argument contains NUL.
TOPIC_PLACEHOLDER = b"\0"

#: Measures whose topics are not printed.
SUMMARY_ONLY = ("runid", "num_q", "gm_map", "gm_bpref")


def format_output(options: Options, outcome: TrecEvalResult) -> Iterator[bytes]:
    """Yield the output to stdout in pieces."""
    is_standardized = options.zscores is not None
    if options.per_topic:
        lines = [line for line in outcome.lines if line.name not in SUMMARY_ONLY]
        if lines:
            yield from _format_topics(lines, outcome.topics, is_standardized=is_standardized)
    if options.summary and outcome.stop is None:
        for line in outcome.lines:
            if isinstance(line.summary, bytes):
                yield _pad_name(line.name) % () + b"\tall\t" + line.summary + b"\n"
            elif line.summary is not None:
                template = _line_template(line, is_standardized=is_standardized)
                yield _fill_line(template, line.summary).replace(TOPIC_PLACEHOLDER, b"all")


def _format_topics(
    lines: list[OutputLine], topics: list[bytes], *, is_standardized: bool
) -> Iterator[bytes]:
    templates = [_line_template(line, is_standardized=is_standardized) for line in lines]
    template = b"".join(templates)
    columns = [line.values.tolist() if line.strings is None else line.strings for line in lines]
    for topic, row in zip(topics, zip(*columns, strict=True), strict=True):
        if any(value != value for value in row):
            text = b"".join(map(_fill_line, templates, row))
        else:
            text = template % row
        yield text.replace(TOPIC_PLACEHOLDER, topic)


def _line_template(line: OutputLine, *, is_standardized: bool) -> bytes:
    """Return a line with placeholders for topic and value."""
    if line.strings is not None:
        return _pad_name(line.name) + b"\t\0\t'%s'\n"
    if is_standardized:
        return b"Z" + _pad_name(line.name) + b"\t\0\t%6.4f\n"
    return _pad_name(line.name) + (b"\t\0\t%d\n" if line.measure.is_count else b"\t\0\t%6.4f\n")


def _pad_name(name: str) -> bytes:
    return os.fsencode(name).ljust(22).replace(b"%", b"%%")


def _fill_line(template: bytes, value: float | bytes) -> bytes:
    """Fill the template with a value; NaN keeps its sign, as in C."""
    if isinstance(value, bytes) or value == value:
        return template % value
    return template.replace(b"%6.4f", b"  -nan" if np.signbit(value) else b"   nan") % ()
