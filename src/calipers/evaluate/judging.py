"""Runs against judgments, wherever these lie."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from calipers.data.trec import Origin, Run, TrecSource, read_qrels, read_runs
from calipers.evaluate.elsewhere import elsewhere
from calipers.measures import Measure
from calipers.statistics import JudgedRankings

if TYPE_CHECKING:
    from calipers.evaluate.shared import Statistics


def judged_runs(
    qrels: TrecSource,
    runs: Mapping[str, Any],
    measures: Sequence[Measure],
    engine: str | None,
    *,
    float32: bool,
) -> tuple[dict[str, Run], dict[str, Statistics], Origin]:
    """The runs as the judgments see them, in the statistics that the measures read."""
    wanted = {measure.definition.on for measure in measures}
    where = elsewhere(engine, qrels, *runs.values())
    if where is not None:
        from calipers.engines.judged_runs import judged

        return judged(where, qrels, runs, wanted, float32=float32, paths=engine is not None)
    systems: dict[str, Any] = {name: {} for name in runs}
    read: dict[str, Run] = {}
    for kind in sorted(wanted - {JudgedRankings}, key=lambda kind: kind.__name__):
        from calipers.data.grouped_judgments import judge_groups, read_groups
        from calipers.data.sampled_judgments import read_sampled
        from calipers.statistics import SampledRankings

        if kind is SampledRankings:
            groups, qrels = read_sampled(qrels)  # the others see the same judgments without strata
        else:
            groups = read_groups(qrels)
        origin = groups.origin
        for name, run in runs.items():
            read[name] = judge_groups(name, run, groups, float32=float32)
            systems[name][kind] = kind(**read[name].arrays)
    if JudgedRankings in wanted:
        own = read_qrels(qrels)
        if len(wanted) == 1:
            origin = own.origin
        read = read_runs(runs, own, float32=float32)
        for name, of in read.items():
            systems[name][JudgedRankings] = JudgedRankings(**of.arrays)
    return read, dict(systems), origin
