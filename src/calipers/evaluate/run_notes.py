"""What a reader has to know of runs before their numbers, each thing said once for all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from calipers.data.trec import Run
from calipers.measures import Measure
from calipers.report.headlines import listed
from calipers.report.names import short
from calipers.statistics import JudgedRankings


def run_notes(
    runs: Mapping[str, Run],
    systems: Mapping[str, Any],
    rankings: Mapping[str, JudgedRankings],
    measures: Sequence[Measure],
) -> list[str]:
    """What topics, ties and judgments make of the numbers."""
    return [
        *_topic_notes(runs, systems),
        *_tie_notes(rankings, measures),
        *_pool_notes(rankings, measures),
    ]


def _topic_notes(runs: Mapping[str, Run], systems: Mapping[str, Any]) -> list[str]:
    """Topics that runs leave out, and topics that nobody judged."""
    retrieved = {name: next(iter(systems[name].values())).retrieved for name in runs}
    missing = {name: int((of == 0).sum()) for name, of in retrieved.items()}
    unjudged = {name: run.unjudged_topics for name, run in runs.items()}
    topics = max(map(len, retrieved.values()))

    def named(name: str) -> str:
        first, most = runs[name].unjudged_topic_names[:3], unjudged[name]
        return f"{', '.join(first)}{', …' if most > 3 else ''}"

    def without(name: str) -> str:
        return f"{unjudged[name]}: {named(name)}"

    return [
        *_once(
            missing,
            lambda name: (
                f"{name} retrieves nothing for {missing[name]} of {topics} judged topics; "
                "these score 0."
            ),
            f"retrieve nothing for some of {topics} judged topics, which score 0",
        ),
        *_once(
            unjudged,
            lambda name: (
                f"{name} has {unjudged[name]} topics without judgments ({named(name)}); "
                "they are left out."
            ),
            "have topics without judgments, which are left out",
            without,
        ),
    ]


def _once(
    count: Mapping[str, int],
    alone: Callable[[str], str],
    together: str,
    said: Callable[[str], str] | None = None,
) -> list[str]:
    """A note about the runs that have a count: of one, or of several with the most first."""
    having = sorted((name for name, n in count.items() if n), key=lambda name: -count[name])
    if len(having) < 2:
        return [alone(name) for name in having]
    told = [f"{short(name)} ({count[name] if said is None else said(name)})" for name in having]
    return [f"{len(having)} runs {together}: {listed(told)}."]


def _pool_notes(rankings: Mapping[str, JudgedRankings], measures: Sequence[Measure]) -> list[str]:
    """That a measure that estimates from a sample was given no pool to estimate from."""
    asked = [str(m) for m in measures if m.definition.needs_pool]
    pooled = any((of.judged_grade < 0).any() for of in rankings.values())
    judged = [name for name, of in rankings.items() if of.retrieved.sum() == len(of.rank)]
    if not asked or pooled or len(judged) == len(rankings):
        return []
    note = (
        f"{asked[0]}: the judgments list no pooled document that was not judged (grade -1), so "
        "that unjudged documents count as not relevant, as they do in AP."
    )
    return [note]


def _tie_notes(rankings: Mapping[str, JudgedRankings], measures: Sequence[Measure]) -> list[str]:
    """At how many topics the order of tied documents decides what a cutoff lets in."""
    cutoffs = sorted(
        {
            m.parameters["cutoff"]
            for m in measures
            if m.definition.on is JudgedRankings
            and m.parameters.get("ties") == "id"
            and m.parameters.get("cutoff") is not None
        }
    )
    across, most = {}, {}
    for name, ranking in rankings.items():
        counts = {
            cutoff: int(np.count_nonzero(ranking.sum(ranking.ties_across(cutoff))))
            for cutoff in cutoffs
        }
        across[name] = ", ".join(f"{n} at {cutoff}" for cutoff, n in counts.items() if n)
        most[name] = sum(counts.values())
    notes = _once(
        most,
        lambda name: (
            f"{name} has topics whose tied documents stand across a cutoff: {across[name]}."
        ),
        "have topics whose tied documents stand across a cutoff",
        across.__getitem__,
    )
    return [
        f"{note} There the ids decide; ties='average' takes the mean over all orders."
        for note in notes
    ]
