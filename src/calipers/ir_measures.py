"""ir_measures, and PyTerrier through it, computing with Calipers.

``provider`` computes what ir_measures calls by a name that Calipers knows, for qrels and runs of
every kind that ir_measures takes; :func:`register` puts it before ir_measures' own providers.
:func:`measure` is the way the other way round: any measure of Calipers as one of ir_measures, which
needs no registering.

>>> import ir_measures
>>> from ir_measures import AP, nDCG
>>> from calipers.ir_measures import measure, provider
>>> qrels = {"q1": {"a": 1, "b": 0, "c": 2}}
>>> run = {"q1": {"a": 0.5, "b": 0.5, "c": 0.1}}
>>> provider.calc_aggregate([AP], qrels, run)
{AP: 0.5833333333333333}
>>> ir_measures.calc_aggregate([measure("AP(ties='average')")], qrels, run)
{measure("AP(ties='average')"): 0.7083333333333333}

Values are those of ir_measures' usual providers, up to what the documentation on moving to Calipers
lists: scores have 64 bits, documents of equal score stand in descending order of their ids for
every measure, and every judged topic counts. A topic without a value counts 0, as it does
everywhere in ir_measures.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import ir_measures as irm
import numpy as np

from calipers.data.grouped_judgments import GroupedJudgments, judge_groups, read_groups
from calipers.data.sampled_judgments import read_sampled_judgments
from calipers.data.trec import read_qrels, read_run
from calipers.inference.summaries import Summary
from calipers.measures import TASKS, Measure, UnknownMeasureError, parse
from calipers.statistics import GroupedRankings, JudgedRankings, SampledRankings


class CalipersMeasure(irm.Measure):
    """A measure of Calipers as one of ir_measures; :func:`measure` makes it."""

    def __init__(self, calipers: Measure) -> None:
        super().__init__()
        self.calipers = calipers
        # No other provider knows a measure of this name.
        self.NAME = f"calipers:{calipers}"
        self.AT_PARAM = calipers.definition.suffix_parameter

    def __call__(self, **parameters: Any) -> CalipersMeasure:
        """The measure with other parameters."""
        bound = {**self.calipers.parameters, **parameters}
        return CalipersMeasure(self.calipers.definition.bind(bound))

    def __repr__(self) -> str:
        return repr(self.calipers)

    def __str__(self) -> str:
        return str(self.calipers)

    def aggregator(self) -> _SummaryAggregator:
        """What sums up the values of topics."""
        return _SummaryAggregator(self.calipers.definition.summary)

    def runtime_impl(self, qrels: Any, run: Any) -> Iterator[irm.Metric]:
        """How ir_measures computes it where the provider was not registered."""
        return provider.iter_calc([self], qrels, run)


class _SummaryAggregator(irm.measures.base.Agg):
    """Values of topics as one number, as Calipers sums them up."""

    def __init__(self, summary: str) -> None:
        self.summary = Summary(summary)
        self.values: list[float] = []

    def add(self, value: float) -> None:
        """Take another value."""
        self.values.append(value)

    def result(self) -> float:
        """The number."""
        return self.summary.value(np.array(self.values, np.float64))


class CalipersProvider(irm.providers.Provider):
    """Computes measures of ir_measures with Calipers."""

    NAME = "calipers"

    def supports(self, measure: irm.Measure) -> bool:
        """Whether Calipers has the measure, with these parameters."""
        measure.validate_params()
        return _to_calipers(measure) is not None

    def _evaluator(self, measures: Iterable[irm.Measure], qrels: Any) -> CalipersEvaluator:
        ours = {measure: _to_calipers(measure) for measure in measures}
        for asked, found in ours.items():
            if found is None:
                raise ValueError(f"unsupported measure {asked}")
        return CalipersEvaluator({m: found for m, found in ours.items() if found}, qrels)


class CalipersEvaluator(irm.providers.Evaluator):
    """Measures runs against the same judgments, which are read once."""

    def __init__(self, measures: Mapping[irm.Measure, Measure], qrels: Any) -> None:
        self.ours = measures
        rows = _rows(qrels, ("query_id", "doc_id", "relevance"))
        kinds = {found.definition.statistic for found in measures.values()}
        self.qrels = read_qrels(rows) if JudgedRankings in kinds else None
        self.groups: dict[type, GroupedJudgments] = {}
        if GroupedRankings in kinds:
            self.groups[GroupedRankings] = read_groups(_add_iterations(qrels, rows))
        if SampledRankings in kinds:
            self.groups[SampledRankings] = read_sampled_judgments(rows)[0]
        read = self.qrels or next(iter(self.groups.values()), None)
        super().__init__(list(measures), () if read is None else read.topics)

    def _iter_calc(self, run: Any) -> Iterator[irm.Metric]:
        rows = _rows(run, ("query_id", "doc_id", "score"))
        if len(rows) == 0 or (isinstance(rows, Mapping) and not any(rows.values())):
            rows = {"": {"": 0.0}}  # a run has to hold something
        statistics: dict[type, Any] = {}
        if self.qrels is not None:
            arrays = read_run("run", rows, self.qrels).arrays
            statistics[JudgedRankings] = JudgedRankings(**arrays)
        for kind, groups in self.groups.items():
            statistics[kind] = kind(**judge_groups("run", rows, groups).arrays)
        for asked, found in self.ours.items():
            statistic = statistics[found.definition.statistic]
            values = np.nan_to_num(found.apply(statistic)).tolist()
            for topic, value in zip(statistic.topics, values, strict=True):
                yield irm.Metric(query_id=topic, measure=asked, value=value)


def _to_calipers(measure: irm.Measure) -> Measure | None:
    """The measure of Calipers that gives what ir_measures means, None where there is none."""
    if isinstance(measure, CalipersMeasure):
        return measure.calipers
    known = irm.measures.registry.get(measure.NAME)
    if known is None or type(measure) is not type(known):
        return None  # somebody's own, of whatever name
    if measure.NAME in ("Accuracy", "Compat"):
        return None  # of pairs of documents; and to a depth that is not said
    if measure.NAME == "RBP" and "rel" not in measure.params:
        return None  # of grades, on a scale that is not said
    try:
        found = parse(repr(measure), TASKS["retrieval"])
    except UnknownMeasureError:
        return None
    if measure.NAME == "IPrec":  # the recall points of trec_eval 9
        return found.definition.bind({**found.parameters, "rule": "nine-tenths"})
    if measure.NAME == "SetF":  # its beta is β²
        return found.definition.bind({**found.parameters, "beta": measure["beta"] ** 0.5})
    return found


def _rows(data: Any, columns: tuple[str, ...]) -> Any:
    """What ir_measures takes, as the readers of Calipers do."""
    if isinstance(data, Mapping):
        return data
    return data[list(columns)] if hasattr(data, "itertuples") else list(data)


def _add_iterations(qrels: Any, rows: Any) -> Any:
    """Judgments with their groups, which ir_measures calls iterations."""
    if isinstance(rows, Mapping):
        return {topic: {"0": judged} for topic, judged in rows.items()}
    if not hasattr(qrels, "itertuples"):
        return rows
    return rows.assign(iteration=qrels.get("iteration", "0"))


def measure(name: str | Measure) -> CalipersMeasure:
    """A measure of Calipers for :mod:`ir_measures`: of rankings, or of documents judged in
    groups (by subtopic, say), which ir_measures calls iterations.

    Topics are summed up as Calipers does it: a geometric mean stays one. What is pooled over
    topics has no value of a topic, and is refused.

    >>> from calipers.ir_measures import measure
    >>> print(measure("gm-AP"), measure("nERR") @ 20)
    gm-AP nERR@20
    """
    found = parse(name, TASKS["retrieval"]) if isinstance(name, str) else name
    if found.definition.summary == "pooled":
        raise ValueError(f"{found} is pooled over topics; ir_measures sums up values of topics")
    return CalipersMeasure(found)


provider = CalipersProvider()
irm.providers.register(provider)


def register(*, first: bool = True) -> None:
    """Let ``ir_measures.calc_aggregate`` and the like, and PyTerrier's experiments, compute with
    Calipers what it has.

    Otherwise than ``first``, only what no other provider has that is installed.
    """
    unregister()
    providers = irm.DefaultPipeline.providers
    providers.insert(0 if first else len(providers), provider)


def unregister() -> None:
    """Undo :func:`register`."""
    if provider in irm.DefaultPipeline.providers:
        irm.DefaultPipeline.providers.remove(provider)


__all__ = ["CalipersMeasure", "CalipersProvider", "measure", "provider", "register", "unregister"]
