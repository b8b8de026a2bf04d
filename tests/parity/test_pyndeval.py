"""pyndeval (ndeval, the program of TREC's Web tracks) on random data."""

from __future__ import annotations

import numpy as np
import pytest
from certificate import Certificate

from calipers.data.grouped_judgments import judge_groups, read_groups
from calipers.measures import parse
from calipers.statistics import GroupedRankings

pyndeval = pytest.importorskip("pyndeval", reason="pyndeval is not installed")

#: Their names and ours.
NAMES = {
    "ERR-IA": "ERR_IA",
    "nERR-IA": "nERR_IA",
    "alpha-DCG": "alpha_DCG",
    "alpha-nDCG": "alpha_nDCG",
    "P-IA": "P_IA",
    "strec": "StRecall",
}
WHOLE = {"NRBP": "NRBP", "nNRBP": "nNRBP", "MAP-IA": "AP_IA"}

Judgments = dict[str, dict[str, dict[str, int]]]


def random_data(seed: int, topics: int = 12) -> tuple[Judgments, dict[str, dict[str, float]]]:
    """Graded judgments of some subtopics, some without a relevant document; distinct scores, since
    ndeval orders by rank and pyndeval breaks ties its own way."""
    generator = np.random.default_rng(seed)
    judgments: Judgments = {}
    run: dict[str, dict[str, float]] = {}
    for t in range(topics):
        pool = [f"d{i}" for i in generator.permutation(60)[: generator.integers(3, 40)]]
        share = generator.choice([0.1, 0.3, 0.7])
        judgments[f"t{t}"] = {
            f"{s}": {
                d: int(generator.integers(1, 4)) if generator.random() < share else 0
                for d in pool
                if generator.random() < 0.8
            }
            or {"d0": 1}
            for s in range(1, int(generator.integers(2, 8)))
        }
        retrieved = generator.permutation(80)[: generator.integers(1, 60)]
        scores = generator.permutation(len(retrieved)).astype(float)
        run[f"t{t}"] = {f"d{i}": s for i, s in zip(retrieved, scores, strict=True)}
    return judgments, run


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(
    ("alpha", "patience", "rel"), [(0.5, 0.5, 1), (0.25, 0.75, 2), (1.0, 0.5, 1), (0.0, 0.5, 1)]
)
def test_what_ndeval_computes(
    seed: int, alpha: float, patience: float, rel: int, certificate: Certificate
) -> None:
    judgments, run = random_data(seed)
    rows = [
        (topic, subtopic, document, grade)
        for topic, groups in judgments.items()
        for subtopic, grades in groups.items()
        for document, grade in grades.items()
    ]
    # At rank 1 ndeval leaves out the division by S (its loop starts at the second rank).
    cutoffs = dict.fromkeys(NAMES, (2, 5, 10, 20)) | dict.fromkeys(
        ("P-IA", "strec", "nERR-IA", "alpha-nDCG"), (1, 2, 5, 10, 20)
    )
    asked = {f"{name}@{k}": (ours, k) for name, ours in NAMES.items() for k in cutoffs[name]}
    asked |= {name: (ours, None) for name, ours in WHOLE.items()}
    evaluator = pyndeval.RelevanceEvaluator(
        rows, list(asked), relevance_level=rel, alpha=alpha, beta=patience
    )
    theirs = evaluator.evaluate([(t, d, s) for t, scored in run.items() for d, s in scored.items()])
    groups = read_groups(judgments)
    rankings = GroupedRankings(**judge_groups("run", run, groups).arrays)
    any_relevant = np.array(
        [
            any(g >= rel for grades in judgments[topic].values() for g in grades.values())
            for topic in rankings.topics
        ]
    )
    for name, (ours, cutoff) in asked.items():
        settings = {"rel": rel, "alpha": alpha, "patience": patience, "cutoff": cutoff}
        definition = parse(ours if cutoff is None else f"{ours}@{cutoff}", "diversity").definition
        measure = definition.bind({k: v for k, v in settings.items() if k in definition.parameters})
        values = measure.apply(rankings)
        np.testing.assert_array_equal(np.isnan(values), ~any_relevant)
        expected = np.array([theirs[topic][name] for topic in rankings.topics])
        assert not (expected[~any_relevant] > 0).any()  # 0 or 0/0
        certificate.compare(
            "pyndeval", name, values, expected, rtol=0.0, atol=1e-9,
            because={"no_relevant": ~any_relevant}, where=rankings.topics.__getitem__,
        )  # fmt: skip
