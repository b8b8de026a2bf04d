"""Runs that participants hand in."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

from calipers.campaign.records import StoredRun
from calipers.campaign.store import Campaign
from calipers.data.errors import InputError
from calipers.data.trec import run_name


@dataclass(frozen=True)
class Added:
    """A run that was added: topics of the campaign that it leaves out, topics that the campaign
    does not have, and the name of a run that says the same, if there is one."""

    run: StoredRun
    unanswered: tuple[str, ...]
    unknown: tuple[str, ...]
    same: str | None


def add_runs(
    campaign: Campaign,
    sources: Iterable[str | os.PathLike[str]],
    participant: str,
    *,
    name: str | None = None,
) -> list[Added]:
    """Add the runs of a participant, all or none; each is called as its file, or ``name``.

    :class:`InputError` where a name is taken, and where a run answers none of the topics.
    """
    topics = [topic.topic for topic in campaign.topics()]
    if not topics:
        raise InputError(f"{campaign.path}: has no topics yet; they come before the runs")
    made = []
    with campaign.write():
        before = {run.run: run for run in campaign.runs().values()}
        for source in sources:
            path = os.fspath(source)
            run = campaign.add_run(name or run_name(path), path, participant)
            if not run.scores.keys() & set(topics):
                raise InputError(
                    f"{path}: answers none of the {len(topics)} topics, of which the first is "
                    f"{topics[0]!r}; its own first is {next(iter(run.scores))!r}"
                )
            same = next((of.run for of in before.values() if of.scores == run.scores), None)
            before[run.run] = run
            unanswered = tuple(topic for topic in topics if topic not in run.scores)
            unknown = tuple(topic for topic in run.scores if topic not in set(topics))
            made.append(Added(run, unanswered, unknown, same))
    return made
