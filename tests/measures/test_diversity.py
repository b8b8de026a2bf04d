"""Diversity measures, and measures by several assessors, against their definitions."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calipers.data.grouped_judgments import judge_groups, read_groups
from calipers.measures import definitions, parse
from calipers.statistics import GroupedRankings, JudgedRankings

EXAMPLE = Path(__file__).parents[3] / "shared" / "conformance" / "trec_eval"

Levels = dict[str, float]


def values(name: str, *topics: tuple[list[str], dict[str, Levels]]) -> Any:
    rankings, judgments = zip(*topics, strict=True)
    return parse(name, ("diversity", "groups")).apply(
        GroupedRankings.from_rankings(rankings, judgments)
    )


def worth(
    ranking: list[str], groups: dict[str, Levels], alpha: float, discount: Callable[[int], float]
) -> float:
    """Σ (1 − α)^j · discount(rank)."""
    met = dict.fromkeys(groups, 0)
    total = 0.0
    for rank, document in enumerate(ranking, 1):
        for group, levels in groups.items():
            if levels.get(document, 0) >= 1:
                total += (1 - alpha) ** met[group] * discount(rank)
                met[group] += 1
    return total


DISCOUNTS: dict[str, Callable[[int], float]] = {
    "alpha-DCG": lambda rank: 1 / math.log2(rank + 1),
    "ERR-IA": lambda rank: 1 / rank,
}

RANKING = ["a", "x", "b", "c", "y", "d"]
GROUPS: dict[str, Levels] = {
    "1": {"a": 1, "b": 2, "c": 0},
    "2": {"b": 1, "d": 3, "z": 1},
    "3": {"z": 1},
    "empty": {"a": 0},
}


@pytest.mark.parametrize("alpha", [0.0, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("cutoff", [1, 2, 3, 4, 6, 10])
@pytest.mark.parametrize("name", DISCOUNTS)
def test_over_the_most_that_any_documents_could_get(name: str, cutoff: int, alpha: float) -> None:
    most = sum(3 * (1 - alpha) ** (k - 1) * DISCOUNTS[name](k) for k in range(1, cutoff + 1))
    got = worth(RANKING[:cutoff], GROUPS, alpha, DISCOUNTS[name])
    value = values(f"{name}(alpha={alpha})@{cutoff}", (RANKING, GROUPS))
    assert value[0] == pytest.approx(got / most, abs=1e-12)


def test_by_hand() -> None:
    """a covers 1, b both 1 and 2, d 2; z, which is missed, covers 2 and 3. S is 3."""
    topic = (RANKING, GROUPS)
    assert values("P-IA@3", topic)[0] == pytest.approx((2 / 3 + 1 / 3 + 0) / 3)
    assert values("AP-IA", topic)[0] == pytest.approx(((1 + 2 / 3) / 2 + (1 / 3 + 2 / 6) / 3) / 3)
    assert values("AP-IA@3", topic)[0] == pytest.approx(((1 + 2 / 3) / 2 + (1 / 3) / 3) / 3)
    np.testing.assert_allclose(
        [values(f"StRecall@{k}", topic)[0] for k in (1, 2, 3, 6)], [1 / 3, 1 / 3, 2 / 3, 2 / 3]
    )
    assert values("StRecall", topic)[0] == pytest.approx(2 / 3)
    # Gains 1 at rank 1; ½ and 1 at rank 3; ½ at rank 6.
    total = 1 + 1.5 / 4 + 0.5 / 32
    assert values("NRBP", topic)[0] == pytest.approx(0.75 * total / 3)
    # The ideal list: of a b z, worth 1, 2 and 2, z has the last id; then b, worth 1 + ½; then a, ½,
    # before d, ¼.
    best = 2 + 1.5 / 2 + 0.5 / 4 + 0.25 / 8
    assert values("nNRBP", topic)[0] == pytest.approx(total / best)
    assert values("nERR-IA", topic)[0] == pytest.approx(
        (1 + 1.5 / 3 + 0.5 / 6) / (2 + 1.5 / 2 + 0.5 / 3 + 0.25 / 4)
    )
    dcg = 1 + 1.5 / 2
    assert values("alpha-nDCG@3", topic)[0] == pytest.approx(
        dcg / (2 + 1.5 / math.log2(3) + 0.5 / 2)
    )


def test_only_relevant_grades_count() -> None:
    topic = (["a", "b"], {"1": {"a": 1, "b": 2}, "2": {"a": 1}})
    assert values("StRecall(rel=2)@1", topic)[0] == 0
    assert values("StRecall(rel=2)@2", topic)[0] == 1  # subtopic 2 has no document of grade 2
    assert values("P-IA(rel=2)@2", topic)[0] == 0.5


def test_a_topic_without_relevant_documents_has_no_value() -> None:
    nothing = (["a"], {"1": {"a": 0}, "2": {"b": 0}})
    left_out = ([], {"1": {"a": 1}, "2": {"b": 0}})
    for family in ("diversity", "groups"):
        for definition in definitions(family):
            found = values(str(definition.example()), nothing, left_out)
            undefined = 0 if definition.name == "P-jg" else np.nan
            np.testing.assert_array_equal(found, [undefined, 0], definition.name)


def test_the_ideal_list_does_not_depend_on_the_run() -> None:
    """Greedy ties go by id, not by where a run has the documents."""
    groups = {"1": {"x": 1, "y": 1}, "2": {"x": 1, "z": 1}, "3": {"y": 1}, "4": {"z": 1}}
    # All three cover two subtopics; from z on the best is y, which shares none with it.
    best = worth(["z", "y", "x"], groups, 0.5, DISCOUNTS["alpha-DCG"])
    for ranking in permutations("xyz"):
        value = values("alpha-nDCG", (list(ranking), groups))[0]
        got = worth(list(ranking), groups, 0.5, DISCOUNTS["alpha-DCG"])
        assert value == pytest.approx(got / best, abs=1e-12)


@pytest.mark.slow
def test_the_greedy_list_is_never_far_from_the_best() -> None:
    """And sometimes not the best, so that a run can beat it."""
    beaten = 0
    for seed in range(60):
        generator = np.random.default_rng(seed)
        groups: dict[str, Levels] = {
            f"{s}": {d: 1.0 for d in "abcdef" if generator.random() < 0.45} for s in range(6)
        }
        if not any(groups.values()):
            continue
        orders = [list(p) for p in permutations("abcdef", 3)]
        for name in ("alpha-nDCG(alpha=0.9)@3", "nERR-IA(alpha=0.9)@3"):
            best = values(name, *((order, groups) for order in orders)).max()
            assert 1 - 1e-12 <= best <= 1 / (1 - 1 / math.e)
            beaten += best > 1 + 1e-9
    assert beaten


@pytest.mark.slow
def test_moving_up_a_document_past_an_irrelevant_one_is_never_worse() -> None:
    generator = np.random.default_rng(7)
    for _ in range(200):
        ranking = [f"d{i}" for i in range(8)]
        groups: dict[str, Levels] = {
            g: {d: float(generator.integers(0, 3)) for d in ranking if generator.random() < 0.4}
            for g in "abc"
        }
        place = int(generator.integers(0, 7))
        if any(levels.get(ranking[place], 0) >= 1 for levels in groups.values()):
            continue
        up = [*ranking]
        up[place : place + 2] = up[place + 1], up[place]
        for family in ("diversity", "groups"):
            for definition in definitions(family):
                before, after = values(str(definition.example()), (ranking, groups), (up, groups))
                assert np.isnan(before) or after >= before - 1e-12, definition.name


def test_the_names_of_ir_measures() -> None:
    for theirs, name in {
        "ERR_IA@10": "ERR-IA@10",
        "nERR_IA@10": "nERR-IA@10",
        "alpha_DCG@10": "alpha-DCG@10",
        "alpha_nDCG@10": "alpha-nDCG@10",
        "alpha_nDCG(alpha=0.1)@5": "alpha-nDCG(alpha=0.1)@5",
        "α_nDCG@10": "alpha-nDCG@10",
        "NRBP": "NRBP",
        "nNRBP": "nNRBP",
        "AP_IA": "AP-IA",
        "MAP_IA": "AP-IA",
        "P_IA@5": "P-IA@5",
        "StRecall@10": "StRecall@10",
    }.items():
        assert str(parse(theirs)) == name


# ------------------------------------------------------------------------------ several assessors


@pytest.mark.parametrize(
    ("ours", "single"),
    [
        ("AP-jg", "AP"),
        ("AP-jg(rel=2)", "AP(rel=2)"),
        ("P-jg@3", "P@3"),
        ("Rprec-jg", "Rprec"),
        ("Rprec-jg(multiple=1.4)", "Rprec(multiple=1.4)"),
    ],
)
def test_the_mean_of_what_each_assessor_would_say(ours: str, single: str) -> None:
    generator = np.random.default_rng(3)
    for _ in range(50):
        documents = [f"d{i}" for i in range(10)]
        ranking = [d for d in generator.permutation(documents) if generator.random() < 0.7]
        groups: dict[str, Levels] = {
            g: {d: float(generator.integers(-1, 4)) for d in documents if generator.random() < 0.6}
            or {"d0": 1.0}
            for g in "abc"[: generator.integers(1, 4)]
        }
        alone = []
        for levels in groups.values():
            judged = JudgedRankings.from_rankings(
                [[int(levels.get(d, 0)) for d in ranking]],
                [[int(level) for d, level in levels.items() if d not in ranking]],
            )
            alone.append(parse(single, "retrieval").apply(judged)[0])
        value = values(ours, (ranking, groups))[0]
        if np.isnan(alone).all():
            assert np.isnan(value)
        else:
            assert value == pytest.approx(np.nan_to_num(alone).mean(), abs=1e-12)


@pytest.mark.skipif(
    not EXAMPLE.is_dir(), reason="trec_eval's example files are not beside the repository"
)
def test_what_trec_eval_prints_for_several_assessors() -> None:
    judgments: dict[str, dict[str, dict[str, int]]] = {}
    for line in (EXAMPLE / "qrels.123").read_text().splitlines():
        topic, group, document, level = line.split()
        judgments.setdefault(topic, {}).setdefault(group, {})[document] = int(level)
    run = judge_groups("run", EXAMPLE / "results.test", read_groups(judgments))
    rankings = GroupedRankings(**run.arrays)
    compared = 0
    for line in (EXAMPLE / "out.test.qrels_jg").read_text().splitlines():
        name, topic, printed = (field.strip() for field in line.split("\t"))
        if name in ("runid", "num_q"):
            continue
        base, _, multiple = name.rpartition("_")
        mean = base == "Rprec_mult_avgjg"
        measure = parse(f"{base}(multiple={float(multiple)})" if mean else name, "groups")
        column = np.nan_to_num(measure.apply(rankings))
        value = column.mean() if topic == "all" else column[rankings.topics.index(topic)]
        assert value == pytest.approx(float(printed), abs=0.5001e-4), (name, topic)
        compared += 1
    assert compared == 80
