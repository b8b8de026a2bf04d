"""INEX's procedure on the example, from topics to final scores, with each step found by other code.

Topics come from participants, who hand in runs; the union of their first documents is judged, each
topic by participants whose own systems did not find most of it, and some by two; they agree more
or less, somebody decides where they differ, and what comes out ranks the systems.
"""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest

import calipers as cal
from calipers.campaign import assessor_agreement, export, operations
from calipers.campaign.documents import add_documents
from calipers.campaign.judgment_import import import_judgments
from calipers.campaign.pooling import depth_pool
from calipers.campaign.records import Assessor
from calipers.campaign.runs import add_runs
from calipers.campaign.topics import add_topics

DEPTH, OVERLAP = 10, 6
JUDGES = {"ann": "workshop", "ben": "library", "cleo": "school"}
SOURCE = Path(cal.__file__).parent / "data" / "demo" / "campaign"
RUNS = sorted((SOURCE / "runs").iterdir())


# --- The same by hand -----------------------------------------------------------------------------


def scores(run: Path) -> dict[str, dict[str, float]]:
    made: dict[str, dict[str, float]] = defaultdict(dict)
    for line in run.read_text(encoding="utf-8").splitlines():
        topic, _, document, _, score, _ = line.split()
        made[topic][document] = float(score)
    return made


def finders() -> dict[str, dict[str, set[str]]]:
    """By topic the documents of the pool, each with the groups that found it."""
    made: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for run in RUNS:
        for topic, of in scores(run).items():
            for document in sorted(of, key=lambda d: (of[d], d), reverse=True)[:DEPTH]:
                made[topic][document].add(run.stem.partition("-")[0])
    return made


def rows(path: Path) -> Iterator[tuple[str, str, int]]:
    with path.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            yield row["topic"], row["document"], int(row["grade"])


def least(
    pool: Mapping[str, Mapping[str, set[str]]], authors: Mapping[str, str], twice: list[str]
) -> float:
    """What the best of all assignments costs: the largest load, with the documents that somebody
    judges and alone has found, less 5 for each topic that is judged by its author."""
    topics, groups = sorted(pool), list(JUDGES.values())
    choices = [list(combinations(range(3), 1 + (topic in twice))) for topic in topics]
    sizes = np.array([len(pool[t]) for t in topics])
    own = np.array([[sum(f == {g} for f in pool[t].values()) for t in topics] for g in groups])
    wrote = np.array([[authors[t] == g for t in topics] for g in groups])
    picks = np.array(list(product(range(3), repeat=len(topics))), np.int8)
    loads, costs = np.zeros((len(picks), 3)), np.zeros(len(picks))
    for place in range(len(topics)):
        for choice, judges in enumerate(choices[place]):
            chosen = picks[:, place] == choice
            for judge in judges:
                loads[chosen, judge] += sizes[place]
                costs[chosen] += own[judge, place] - 5 * wrote[judge, place]
                if own[judge, place] >= sizes[place] / 2:
                    costs[chosen] = np.inf
    costs += loads.max(axis=1)
    return float(costs.min())


def alpha(units: list[list[int]]) -> float:
    """Krippendorff's alpha of ordinal grades, by its definition."""
    values = sorted({grade for unit in units for grade in unit})
    counts = {v: sum(unit.count(v) for unit in units) for v in values}

    def apart(a: int, b: int) -> float:
        low, high = sorted((a, b))
        between = sum(counts[v] for v in values if low <= v <= high)
        return float((between - (counts[low] + counts[high]) / 2) ** 2)

    n = sum(counts.values())
    seen = sum(apart(a, b) / (len(u) - 1) for u in units for a, b in combinations(u, 2)) * 2 / n
    by_chance = sum(counts[a] * counts[b] * apart(a, b) for a in values for b in values)
    return 1 - seen * n * (n - 1) / by_chance


# --- The campaign ---------------------------------------------------------------------------------


def begun(path: Path) -> cal.Campaign:
    """Topics, runs and assessors are there."""
    campaign = cal.Campaign.create(path, goal="top-10")
    add_topics(campaign, [SOURCE / "topics.xml"])
    for name, group in JUDGES.items():
        add_runs(campaign, [run for run in RUNS if run.stem.startswith(group)], group)
        campaign.add_assessor(Assessor(name, group))
    campaign.add_assessor(Assessor("dora", role="adjudicator"))
    return campaign


@pytest.mark.slow
def test_from_topics_to_final_scores(tmp_path: Path) -> None:
    pytrec_eval = pytest.importorskip("pytrec_eval")
    with begun(tmp_path / "town.campaign") as campaign:
        # The pool is the union of the first documents of all runs.
        pool = finders()
        rankings, groups = operations.read_rankings(campaign)
        assert groups == {run.stem: run.stem.partition("-")[0] for run in RUNS}
        operations.add_pool(
            campaign, depth_pool(rankings, DEPTH), {"method": "depth", "depth": DEPTH}
        )
        pairs = {(topic, document) for topic, of in pool.items() for document in of}
        assert {(one.topic, one.document) for one in campaign.pool()} == pairs
        add_documents(campaign, [SOURCE / "notes.jsonl", SOURCE / "pictures.tsv"])
        assert set(campaign.documents()) == {document for _, document in pairs}
        for line in (SOURCE / "notes.jsonl").read_text(encoding="utf-8").splitlines():
            note = json.loads(line)
            if (found := campaign.document(note["document"])) is not None:
                assert (found.title, found.text) == (note["title"], note["text"])

        # No other assignment is better, and the topics judged twice are so by two groups.
        authors = {topic.topic: topic.author or "" for topic in campaign.topics()}
        twice = operations.spread_topics(sorted(pool), OVERLAP)
        made = operations.assign_topics(campaign, extra_judged=twice)
        assert made.objective == pytest.approx(least(pool, authors, twice))
        assert {t: len(judges) for t, judges in made.topics.items()} == {
            topic: 1 + (topic in twice) for topic in pool
        }
        own = campaign.assignments()

        # Each judges what is assigned, and nothing else of the files is taken.
        said: dict[tuple[str, str], dict[str, int]] = defaultdict(dict)
        for name in JUDGES:
            file = SOURCE / "judgments" / f"{name}.csv"
            import_judgments(campaign, file, assessor=name, only_missing=True)
            for topic, document, grade in rows(file):
                if topic in own[name] and (topic, document) in pairs:
                    said[topic, document][name] = grade
        assert {(j.topic, j.document, j.assessor, j.grade) for j in campaign.judgments()} == {
            (*pair, name, grade) for pair, of in said.items() for name, grade in of.items()
        }
        assert said.keys() == pairs

        # How far they agree, where two judged.
        units = [list(of.values()) for of in said.values() if len(of) > 1]
        assert len(units) == sum(len(pool[topic]) for topic in twice)
        told = assessor_agreement.agreement(
            operations.read_grades(campaign), measures=["Krippendorff-alpha", "percent-agreement"],
            scale="ordinal",
        )  # fmt: skip
        assert [one.value for one in told] == pytest.approx(
            [alpha(units), sum(len(set(unit)) == 1 for unit in units) / len(units)]
        )

        # Where they differ somebody decides; what nobody decided is taken at the lower grade.
        disputed = {pair for pair, of in said.items() if len(set(of.values())) > 1}
        listed = assessor_agreement.disagreements(
            operations.read_grades(campaign), operations.adjudicated_decisions(campaign)
        )
        assert {(one.topic, one.document) for one in listed} == disputed
        decisions = list(rows(SOURCE / "decided.csv"))
        assert {(topic, document) for topic, document, _ in decisions} == disputed
        left = decisions.pop()
        operations.record_decisions(campaign, [(*one, None) for one in decisions], "dora")
        final: dict[str, dict[str, int]] = defaultdict(dict)
        for (topic, document), of in said.items():
            final[topic][document] = min(of.values())
        for topic, document, grade in decisions:
            final[topic][document] = grade
        qrels = tmp_path / "town.qrels"
        qrels.write_bytes(export.export_qrels(campaign, str(qrels), rule="majority-lowest").content)

    lines = [line.split() for line in qrels.read_text(encoding="utf-8").splitlines()]
    assert {(topic, document): int(grade) for topic, _, document, grade in lines} == {
        (topic, document): grade for topic, of in final.items() for document, grade in of.items()
    }
    assert left[2] != final[left[0]][left[1]]

    # The scores of the systems, and their order.
    measures = {"nDCG@10": "ndcg_cut_10", "AP": "map", "P@10": "P_10", "RR": "recip_rank"}
    evaluation = cal.retrieval(qrels, RUNS, measures=list(measures), interval="none")
    evaluator = pytrec_eval.RelevanceEvaluator(dict(final), {"ndcg_cut", "map", "P", "recip_rank"})
    for run in RUNS:
        values = evaluator.evaluate({topic: dict(of) for topic, of in scores(run).items()})
        for measure, name in measures.items():
            mean = sum(value[name] for value in values.values()) / len(pool)
            assert evaluation[run.stem, measure].value == pytest.approx(mean), (run.stem, measure)
