"""Evaluation of ranked retrieval: runs against judgments."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calipers.data.errors import InputError
from calipers.data.trec import (
    Qrels,
    Run,
    TrecSource,
    holds_columns,
    read_qrels,
    read_run,
    run_name,
)
from calipers.evaluate.compare import comparison_if_several
from calipers.evaluate.shared import (
    MeasureNames,
    choose_measures,
    glossary,
    make_settings,
    per_unit_counts,
    provenance,
)
from calipers.inference import paired
from calipers.inference.estimate import Settings, mean_interval, unit_intervals
from calipers.measures import Measure
from calipers.results import Difference, Estimate, Evaluation, PerUnit
from calipers.statistics import FloatArray, JudgedRankings

DEFAULT_MEASURES = (
    "NumQ",
    "NumRet",
    "NumRel",
    "NumRelRet",
    "AP",
    "nDCG@10",
    "nDCG",
    "RR",
    "P@5",
    "P@10",
    "R@100",
    "R@1000",
    "Rprec",
)


def retrieval(
    qrels: TrecSource,
    runs: Mapping[str, TrecSource] | Sequence[str | os.PathLike[str]] | TrecSource,
    *,
    measures: MeasureNames | None = None,
    rel: int = 1,
    collection: int | None = None,
    topics: str = "qrels",
    undefined: str = "nan",
    float32: bool = False,
    baseline: str | None = None,
    interval: str = "auto",
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Evaluation:
    """How well runs retrieve what the judgments call relevant.

    Parameters
    ----------
    qrels
        A TREC qrels file (plain, .gz, .zst), a dict ``{topic: {document: grade}}``, or a data frame
        or a dict of columns ``topic``, ``doc`` and ``grade``.
    runs
        One run, a list of run files (named by their file names), or a dict from names to runs. A
        run is a TREC run file, a dict ``{topic: {document: score}}``, or a data frame or a dict of
        columns ``topic``, ``doc`` and ``score``.
    measures
        Names such as ``"nDCG@10"``; ``calipers measures`` lists them.
    rel
        The lowest grade that counts as relevant, for measures that do not state their own.
    collection
        Number of documents in the collection, for fall-out.
    topics
        ``"qrels"``: every judged topic, one that a run leaves out scoring 0. ``"both"``: the topics
        that the judgments and every run share.
    undefined
        ``"nan"``: a topic without a value (no relevant document, say) is left out of the mean and
        counted. ``"zero"``: it scores 0, as trec_eval averages.
    float32
        Round scores to 32 bits first, as trec_eval up to 9 does.
    baseline, interval, level, resamples, seed
        See :func:`calipers.compare` and the documentation on inference.

    Documents are ordered by descending score, equal scores by descending id, bytewise.

    Raises
    ------
    InputError
        For anything wrong with the input, saying where and what was expected.

    Examples
    --------
    >>> import calipers as cal
    >>> qrels = {"1": {"a": 1, "b": 0, "c": 1}, "2": {"a": 1}}
    >>> run = {"1": {"a": 3.0, "b": 2.0, "c": 1.0}, "2": {"b": 2.0, "a": 1.0}}
    >>> ev = cal.retrieval(qrels, run, measures=["AP", "RR"])
    >>> round(ev["AP"].value, 4), ev["RR"].value
    (0.6667, 0.75)
    """
    if topics not in ("qrels", "both"):
        raise InputError(f"topics is {topics!r}, expected 'qrels' or 'both'")
    if undefined not in ("nan", "zero"):
        raise InputError(f"undefined is {undefined!r}, expected 'nan' or 'zero'")
    settings = make_settings(interval, level, resamples, seed)
    parameters = {"rel": rel} | ({} if collection is None else {"collection": collection})
    chosen = choose_measures(measures, DEFAULT_MEASURES, "retrieval", parameters)
    judged = read_qrels(qrels)
    read = {
        name: read_run(name, run, judged, float32=float32) for name, run in _named(runs).items()
    }
    rankings = {name: JudgedRankings(**run.arrays) for name, run in read.items()}
    _check_common_topics(judged, read, rankings)
    if topics == "both":
        rankings = _shared_topics(rankings)
    source = TopicScores.of(rankings, chosen, settings, zero=undefined == "zero")
    conventions = {
        "order": "score descending, ties by document id descending",
        "scores": "float32" if float32 else "float64",
        "topics": topics,
        "undefined": undefined,
        **parameters,
    }
    return Evaluation(
        task="retrieval",
        level=level,
        estimates=source.estimates(),
        comparison=comparison_if_several(source, baseline, settings),
        definitions=glossary(chosen),
        per_unit=source.per_unit(),
        notes=tuple(_notes(read, rankings)),
        provenance=provenance(
            "retrieval", settings, conventions, [judged.origin, *(r.origin for r in read.values())]
        ),
        sources=source,
    )


@dataclass(frozen=True, eq=False)
class TopicScores:
    """The value of every measure on every topic, for each system; topics are the same for all."""

    topics: tuple[str, ...]
    measures: list[Measure]
    values: dict[str, FloatArray]
    reasons: dict[str, list[dict[str, int]]]
    settings: Settings

    @classmethod
    def of(
        cls,
        rankings: Mapping[str, JudgedRankings],
        measures: list[Measure],
        settings: Settings,
        *,
        zero: bool,
    ) -> TopicScores:
        """Measure the rankings; ``zero`` puts 0 where a value is undefined."""
        values, reasons = {}, {}
        for name, ranking in rankings.items():
            table = np.column_stack([measure.apply(ranking) for measure in measures])
            values[name] = np.where(np.isnan(table), 0.0, table) if zero else table
            reasons[name] = [
                {
                    reason: int(np.count_nonzero(where))
                    for reason, where in measure.reasons(ranking).items()
                    if np.any(where)
                }
                for measure in measures
            ]
        topics = next(iter(rankings.values())).topics
        return cls(topics, measures, values, reasons, settings)

    @property
    def systems(self) -> tuple[str, ...]:
        """Names of the systems."""
        return tuple(self.values)

    def estimates(self) -> tuple[Estimate, ...]:
        """The mean (or sum) over topics of each measure, with its interval."""
        out = []
        for system, values in self.values.items():
            intervals = unit_intervals(self.measures, values, self.settings)  # type: ignore[arg-type]
            for j, measure in enumerate(self.measures):
                column = values[~np.isnan(values[:, j]), j]
                total = measure.definition.summary == "sum"
                value = float(column.sum() if total else column.mean()) if len(column) else np.nan
                out.append(
                    Estimate(
                        measure=str(measure),
                        value=value,
                        low=intervals[j].low,
                        high=intervals[j].high,
                        level=self.settings.level,
                        method=intervals[j].method,
                        n=len(column),
                        of=len(values),
                        unit="topics",
                        undefined=self.reasons[system][j],
                        no_interval=intervals[j].reason,
                        system=system,
                    )
                )
        return tuple(out)

    def per_unit(self) -> PerUnit:
        """The values themselves."""
        return PerUnit(
            "topics",
            self.topics,
            {
                system: {str(m): values[:, j] for j, m in enumerate(self.measures)}
                for system, values in self.values.items()
            },
        )

    def differences(self, system: str, baseline: str, settings: Settings) -> list[Difference]:
        """Paired over topics, for the measures that have a direction."""
        from calipers import _core

        judged = [
            j for j, m in enumerate(self.measures) if m.definition.higher_is_better is not None
        ]
        if not judged:
            return []
        table = (self.values[system] - self.values[baseline])[:, judged]
        means, errors = _core.bootstrap_means(table, settings.seed, settings.resamples)
        tests = self._tests(table, settings)
        out = []
        for place, j in enumerate(judged):
            measure = self.measures[j]
            d = table[:, place]
            d = d[~np.isnan(d)]
            made = mean_interval(d, means[:, place], errors[:, place], settings)
            scale = len(d) if measure.definition.summary == "sum" else 1
            better = bool(measure.definition.higher_is_better)
            out.append(
                Difference(
                    measure=str(measure),
                    system=system,
                    baseline=baseline,
                    value=float(d.mean()) * scale if len(d) else np.nan,
                    low=made.low * scale,
                    high=made.high * scale,
                    level=settings.level,
                    method=made.method,
                    p=tests[place].p,
                    test=tests[place].name,
                    effect=paired.hedges_g(d),
                    **per_unit_counts(d, higher_is_better=better),
                    n=len(d),
                    unit="topics",
                    undefined=self.reasons[system][j],
                    no_interval=made.reason,
                    higher_is_better=better,
                )
            )
        return out

    @staticmethod
    def _tests(table: FloatArray, settings: Settings) -> list[paired.Test]:
        """A randomisation test of each column; columns undefined on the same topics go together,
        so that they see the same signs."""
        resamples = max(settings.resamples, 10_000)
        defined = ~np.isnan(table)
        out: list[paired.Test] = [paired.Test(np.nan, "none")] * table.shape[1]
        for pattern in np.unique(defined, axis=1).T:
            columns = np.flatnonzero((defined == pattern[:, None]).all(axis=0))
            part = np.ascontiguousarray(table[pattern][:, columns])
            tests = paired.randomisation(part, resamples, settings.seed)
            for column, test in zip(columns, tests, strict=True):
                out[column] = test
        return out


def _named(runs: Any) -> dict[str, Any]:
    """Runs by name."""
    if isinstance(runs, str | os.PathLike):
        return {run_name(runs): runs}
    if isinstance(runs, Mapping):
        if not runs:
            raise InputError("runs: an empty dict, expected at least one run")
        first = next(iter(runs.values()))
        one = isinstance(first, Mapping) and not (_nested_twice(first) or holds_columns(first))
        if one or holds_columns(runs):
            return {"run": runs}  # not runs by name, but one run itself
        return {str(name): run for name, run in runs.items()}
    if isinstance(runs, list | tuple):
        if not all(isinstance(run, str | os.PathLike) for run in runs):
            raise InputError("runs: a list of runs has to hold file names; name others in a dict")
        return _distinct([os.fspath(run) for run in runs])
    return {"run": runs}


def _nested_twice(documents: Mapping[Any, Any]) -> bool:
    return any(isinstance(value, Mapping) for value in documents.values())


def _distinct(paths: list[str]) -> dict[str, str]:
    """Names for run files: file names, or whole paths where those are the same."""
    if not paths:
        raise InputError("runs: an empty list, expected at least one run")
    names = [run_name(path) for path in paths]
    if len(set(names)) < len(names):
        names = paths
    repeated = {name for name in names if names.count(name) > 1}
    if repeated:
        raise InputError(f"runs: {min(repeated)!r} is given more than once")
    return dict(zip(names, paths, strict=True))


def _check_common_topics(
    qrels: Qrels, runs: Mapping[str, Run], rankings: Mapping[str, JudgedRankings]
) -> None:
    for name, run in runs.items():
        if not rankings[name].retrieved.any():
            judged = ", ".join(repr(t) for t in qrels.topics[:3])
            retrieved = ", ".join(repr(t) for t in run.unjudged_topic_names[:3])
            raise InputError(
                f"{name}: no topic in common with the qrels; "
                f"the qrels have {judged}{', …' if len(qrels.topics) > 3 else ''}, "
                f"the run has {retrieved}{', …' if run.unjudged_topics > 3 else ''}"
            )


def _shared_topics(rankings: dict[str, JudgedRankings]) -> dict[str, JudgedRankings]:
    """Only the topics that every run retrieves something for."""
    common = np.logical_and.reduce([r.retrieved > 0 for r in rankings.values()])
    if not common.any():
        raise InputError("the runs have no judged topic in common")
    return {name: ranking.take(np.flatnonzero(common)) for name, ranking in rankings.items()}


def _notes(runs: Mapping[str, Run], rankings: Mapping[str, JudgedRankings]) -> list[str]:
    """What a reader has to know before the numbers."""
    out = []
    for name, run in runs.items():
        missing = int((rankings[name].retrieved == 0).sum())
        if missing:
            out.append(
                f"{name} retrieves nothing for {missing} of {len(rankings[name])} judged topics; "
                "these score 0."
            )
        if run.unjudged_topics:
            named = ", ".join(run.unjudged_topic_names[:3])
            more = ", …" if run.unjudged_topics > 3 else ""
            out.append(
                f"{name} has {run.unjudged_topics} topics without judgments ({named}{more}); "
                "they are left out."
            )
    return out
