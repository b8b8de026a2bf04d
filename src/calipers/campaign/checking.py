"""All that says whether the collection of a campaign is good enough."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from calipers.campaign import reliability, steps
from calipers.campaign.rankings import Depth, down_to
from calipers.campaign.reliability import LeftOut, Separation, Sparse, Topic
from calipers.campaign.store import Campaign
from calipers.data.errors import InputError, several
from calipers.report.numbers import count


@dataclass(frozen=True)
class Checked:
    """What is judged, what missing judgments would do, what topics tell; and what to be wary of."""

    topics: int
    judged: int
    relevant: int
    left_out: tuple[LeftOut, ...]
    sparse: tuple[Sparse, ...]
    separation: tuple[Separation, ...]
    told: tuple[Topic, ...]
    warnings: tuple[str, ...]


def checked_campaign(
    campaign: Campaign,
    *,
    measures: Sequence[str] = (),
    depth: Depth | None = None,
    rule: str = "majority",
    level: float = 0.95,
    draws: int = 20,
    seed: int = 0,
) -> Checked:
    """Check the collection as it stands, by the final grades of people.

    ``measures`` are those of the campaign unless given
    (:func:`~calipers.campaign.steps.ordering_measures`), ``depth`` is that of the pools.
    """
    final = steps.final_of(campaign, rule)
    if not final:
        raise InputError(f"{campaign.path}: nothing is judged by people so far")
    rankings, groups = steps.rankings_of(campaign)
    if len(rankings) < 2:
        raise InputError(f"{campaign.path}: there is one run only; an order needs two")
    usual = steps.ordering_measures(campaign)
    own = tuple(measures) or usual.names
    deep = steps.pooled_depth(campaign) if depth is None else down_to(depth)
    left_out = (
        reliability.leave_one_group_out(
            final, rankings, groups, depth=deep, measures=own, level=level
        )
        if len(set(groups.values())) > 1
        else []
    )
    return Checked(
        len(final),
        sum(map(len, final.values())),
        sum(grade >= 1 for of in final.values() for grade in of.values()),
        tuple(left_out),
        tuple(
            reliability.sparse(final, rankings, measures=own, draws=draws, seed=seed, level=level)
        ),
        tuple(reliability.separation(final, rankings, measures=own, seed=seed, level=level)),
        tuple(reliability.topics_told(final, rankings, own[0])),
        (*warnings(campaign, rule), *(() if measures else usual.left_out)),
    )


def warnings(campaign: Campaign, rule: str = "majority") -> list[str]:
    """What makes numbers of the campaign less than they seem."""
    made, pool = [], campaign.pool()
    final = steps.final_of(campaign, rule)
    todo = [p for p in pool if p.sampled and p.document not in final.get(p.topic, {})]
    if todo:
        made.append(
            f"Not judged so far: {count(len(todo), 'documents')} of the pool, which count as not "
            "relevant."
        )
    barren = [t for t, of in final.items() if max(of.values(), default=0) < 1]
    if barren:
        made.append(f"No relevant document is known for topics {several(barren)}.")
    unpooled = {t.topic for t in campaign.topics()} - {p.topic for p in pool}
    if pool and unpooled:
        made.append(f"Topics without a pool: {several(sorted(unpooled))}.")
    if any(p.stratum is not None for p in pool):
        made.append(
            "The pool is a sample: measures that take the rest for not relevant are too low; "
            "xinfAP, HT-AP and infNDCG estimate what judging all would give."
        )
    if any(of.get("order") for of in steps.settings_of(campaign)):
        made.append(
            "Documents were judged in an order that judgments made, which is no random sample: "
            "infAP and its like must not be used."
        )
    of_runs = set(steps.rankings_of(campaign)[1].values()) if campaign.runs() else set[str]()
    if len(of_runs) == 1:
        made.append("All runs are of one participant, so that nothing can be left out.")
    if len(steps.grades_of(campaign)) == 1:
        made.append("One person has judged everything, so that agreement is unknown.")
    return made
