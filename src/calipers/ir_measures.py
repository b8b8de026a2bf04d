"""Provider for ir_measures, and for PyTerrier through it, that computes measures with Calipers.

``provider`` computes the measures of ir_measures that Calipers knows, for qrels and runs of every
kind that ir_measures accepts; :func:`register` puts it before the other providers of ir_measures.
Conversely, :func:`measure` converts any measure of Calipers to one of ir_measures, without
registration.

>>> import ir_measures
>>> from ir_measures import AP, nDCG
>>> from calipers.ir_measures import measure, provider
>>> qrels = {"q1": {"a": 1, "b": 0, "c": 2}}
>>> run = {"q1": {"a": 0.5, "b": 0.5, "c": 0.1}}
>>> provider.calc_aggregate([AP], qrels, run)
{AP: 0.5833333333333333}
>>> ir_measures.calc_aggregate([measure("AP(ties='average')")], qrels, run)
{measure("AP(ties='average')"): 0.7083333333333333}

Values equal those of the default providers of ir_measures, except for the differences that the
documentation on moving to Calipers lists: scores have 64 bits, tied documents are ordered by
descending id for every measure, and every judged topic counts. An undefined value of a topic
counts as 0, as everywhere in ir_measures.
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
from calipers.statistics import GroupedRankings, JudgedRankings, RankingSeries, SampledRankings


class CalipersMeasure(irm.Measure):
    """Measure of Calipers as a measure of ir_measures, made by :func:`measure`.

    Parameters
    ----------
    calipers : Measure
        Measure with all of its parameters.
    """

    def __init__(self, calipers: Measure) -> None:
        super().__init__()
        self.calipers = calipers
        # No other provider knows a measure of this name.
        self.NAME: str = f"calipers:{calipers}"
        self.AT_PARAM = calipers.definition.suffix_parameter

    def __call__(self, **parameters: Any) -> CalipersMeasure:
        """Return the measure with other parameters."""
        bound = {**self.calipers.parameters, **parameters}
        return CalipersMeasure(self.calipers.definition.bind(bound))

    def __repr__(self) -> str:
        return repr(self.calipers)

    def __str__(self) -> str:
        return str(self.calipers)

    def aggregator(self) -> irm.measures.base.Agg:
        """Return the aggregator of the values of topics, as ir_measures requires.

        Returns
        -------
        ir_measures.Aggregator
            Aggregator that computes the summary of the measure, such as the mean.
        """
        return _SummaryAggregator(self.calipers.definition.summary)

    def runtime_impl(self, qrels: Any, run: Any) -> Iterator[irm.Metric]:
        """Compute the measure in ir_measures if the provider was not registered.

        Parameters
        ----------
        qrels : object
            Relevance judgments in a form of ir_measures.
        run : object
            Run in a form of ir_measures.

        Returns
        -------
        iterator of ir_measures.Metric
            Value of the measure on each topic.
        """
        return provider.iter_calc([self], qrels, run)


class _SummaryAggregator(irm.measures.base.Agg):
    """Aggregator of the values of topics, by a summary of Calipers."""

    def __init__(self, summary: str) -> None:
        self.summary = Summary(summary)
        self.values: list[float] = []

    def add(self, value: float) -> None:
        """Add the value of a topic."""
        self.values.append(value)

    def result(self) -> float:
        """Return the summary of the values."""
        return self.summary.value(np.array(self.values, np.float64))


class CalipersProvider(irm.providers.Provider):
    """Provider that computes measures of ir_measures with Calipers."""

    NAME: str = "calipers"

    def supports(self, measure: irm.Measure) -> bool:
        """Return whether Calipers has the measure with these parameters.

        Parameters
        ----------
        measure : ir_measures.Measure
            Measure with its parameters.

        Returns
        -------
        bool
            True if Calipers can compute the measure.
        """
        measure.validate_params()
        return _to_calipers(measure) is not None

    def _evaluator(self, measures: Iterable[irm.Measure], qrels: Any) -> CalipersEvaluator:
        calipers_measures = {measure: _to_calipers(measure) for measure in measures}
        for requested, equivalent in calipers_measures.items():
            if equivalent is None:
                raise ValueError(f"unsupported measure {requested}")
        return CalipersEvaluator(
            {m: equivalent for m, equivalent in calipers_measures.items() if equivalent}, qrels
        )


class CalipersEvaluator(irm.providers.Evaluator):
    """Evaluator of runs against the same judgments, which are read once."""

    def __init__(self, measures: Mapping[irm.Measure, Measure], qrels: Any) -> None:
        self.calipers_measures = measures
        rows = _to_reader_input(qrels, ("query_id", "doc_id", "relevance"))
        statistic_types = {
            calipers_measure.definition.statistic for calipers_measure in measures.values()
        }
        if _is_empty(rows):  # without topics, of which ir_measures then has no value
            statistic_types = set()
        self.qrels = read_qrels(rows) if JudgedRankings in statistic_types else None
        self.groups: dict[type, GroupedJudgments] = {}
        if GroupedRankings in statistic_types:
            self.groups[GroupedRankings] = read_groups(_add_iterations(qrels, rows))
        if SampledRankings in statistic_types:
            self.groups[SampledRankings] = read_sampled_judgments(rows)[0]
        judgments = self.qrels or next(iter(self.groups.values()), None)
        super().__init__(list(measures), () if judgments is None else judgments.topics)

    def _iter_calc(self, run: Any) -> Iterator[irm.Metric]:
        if not self.qrel_qids:
            return
        rows = _to_reader_input(run, ("query_id", "doc_id", "score"))
        if _is_empty(rows):
            rows = {"": {"": 0.0}}  # a run has at least one document
        statistics: dict[type, Any] = {}
        if self.qrels is not None:
            arrays = read_run("run", rows, self.qrels).arrays
            statistics[JudgedRankings] = JudgedRankings(**arrays)
        for kind, groups in self.groups.items():
            statistics[kind] = kind(**judge_groups("run", rows, groups).arrays)
        for requested, equivalent in self.calipers_measures.items():
            statistic = statistics[equivalent.definition.statistic]
            values = np.nan_to_num(equivalent.apply(statistic)).tolist()
            for topic, value in zip(statistic.topics, values, strict=True):
                yield irm.Metric(query_id=topic, measure=requested, value=value)


def _is_empty(rows: Any) -> bool:
    """Return whether judgments or a run have no documents."""
    return len(rows) == 0 or (isinstance(rows, Mapping) and not any(rows.values()))


def _to_calipers(measure: irm.Measure) -> Measure | None:
    """Return the measure of Calipers equivalent to one of ir_measures, or None."""
    if isinstance(measure, CalipersMeasure):
        return measure.calipers
    registered = irm.measures.registry.get(measure.NAME)
    if registered is None or type(measure) is not type(registered):
        return None  # a user-defined measure
    if measure.NAME in ("Accuracy", "Compat"):
        return None  # Accuracy is over pairs of documents; the depth of Compat is unknown
    if measure.NAME == "RBP" and "rel" not in measure.params:
        return None  # graded RBP, on an unknown scale
    try:
        equivalent = parse(repr(measure), TASKS["retrieval"])
    except UnknownMeasureError:
        return None
    if measure.NAME == "IPrec":  # the recall points of trec_eval 9
        return equivalent.definition.bind({**equivalent.parameters, "rule": "nine-tenths"})
    if measure.NAME == "SetF":  # its beta is β²
        return equivalent.definition.bind({**equivalent.parameters, "beta": measure["beta"] ** 0.5})
    return equivalent


def _to_reader_input(data: Any, columns: tuple[str, ...]) -> Any:
    """Convert input of ir_measures to input of the readers of Calipers."""
    if isinstance(data, Mapping):
        return data
    return data[list(columns)] if hasattr(data, "itertuples") else list(data)


def _add_iterations(qrels: Any, rows: Any) -> Any:
    """Return judgments with their groups, which ir_measures calls iterations."""
    if isinstance(rows, Mapping):
        return {topic: {"0": judged} for topic, judged in rows.items()}
    if not hasattr(qrels, "itertuples"):
        return rows
    return rows.assign(iteration=qrels.get("iteration", "0"))


def measure(name: str | Measure) -> CalipersMeasure:
    """Return a measure of Calipers as a measure of :mod:`ir_measures`.

    It may be a measure of rankings, or of documents judged in groups (by subtopic, for example),
    which ir_measures calls iterations. Values of topics are summarized as in Calipers: a geometric
    mean remains one.

    Parameters
    ----------
    name : str or Measure
        Name of the measure, or the measure.

    Returns
    -------
    CalipersMeasure
        The measure for ir_measures.

    Raises
    ------
    ValueError
        If the measure is pooled over topics, since it has no value per topic, or is of several
        rankings of a topic, of which ir_measures has one.

    Examples
    --------
    >>> from calipers.ir_measures import measure
    >>> print(measure("gm-AP"), measure("nERR") @ 20)
    gm-AP nERR@20
    """
    parsed = parse(name, TASKS["retrieval"]) if isinstance(name, str) else name
    if parsed.definition.summary == "pooled":
        raise ValueError(f"{parsed} is pooled over topics; ir_measures sums up values of topics")
    if parsed.definition.statistic is RankingSeries:
        raise ValueError(f"{parsed} is of several rankings of a topic; ir_measures has one of each")
    return CalipersMeasure(parsed)


provider: CalipersProvider = CalipersProvider()
irm.providers.register(provider)


def register(*, first: bool = True) -> None:
    """Register Calipers as a provider of ir_measures.

    ``ir_measures.calc_aggregate`` and similar functions, and experiments of PyTerrier, then
    compute with Calipers the measures that it has.

    Parameters
    ----------
    first : bool, default=True
        Whether Calipers precedes the other providers. Otherwise it computes only measures that no
        other installed provider has.

    See Also
    --------
    unregister : Undo the registration.
    """
    unregister()
    providers = irm.DefaultPipeline.providers
    providers.insert(0 if first else len(providers), provider)


def unregister() -> None:
    """Undo :func:`register`."""
    if provider in irm.DefaultPipeline.providers:
        irm.DefaultPipeline.providers.remove(provider)


__all__ = ["CalipersMeasure", "CalipersProvider", "measure", "provider", "register", "unregister"]
