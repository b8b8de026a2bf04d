"""Rankings as groups of judgments see them."""

from __future__ import annotations

import io
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from calipers.data.grouped_judgments import judge_groups, read_groups
from calipers.statistics import GroupedRankings, JudgedRankings

Judgments = dict[str, dict[str, dict[str, float]]]
Run = dict[str, dict[str, float]]


def judged(judgments: Judgments, run: Run, **options: Any) -> GroupedRankings:
    return GroupedRankings(**judge_groups("run", run, read_groups(judgments), **options).arrays)


def equal(a: Any, b: Any) -> bool:
    return all(np.array_equal(getattr(a, f.name), getattr(b, f.name)) for f in fields(a))


def random_topics(seed: int, topics: int) -> tuple[Judgments, Run]:
    generator = np.random.default_rng(seed)
    judgments: Judgments = {}
    run: Run = {}
    for t in generator.permutation(topics):
        pool = [f"d{i}" for i in range(int(generator.integers(1, 12)))]
        judgments[f"{t}"] = {
            f"{g}": {d: float(generator.integers(-1, 4)) for d in pool if generator.random() < 0.6}
            or {"d0": 0.0}
            for g in range(int(generator.integers(1, 5)))
        }
        if generator.random() < 0.8:
            run[f"{t}"] = {
                d: float(generator.integers(0, 5))
                for d in [*pool, "x", "y"]
                if generator.random() < 0.7
            } or {"x": 1.0}
    return judgments, run


def test_documents_groups_and_levels() -> None:
    ranking = judged(
        {"t": {"B": {"c": 2, "a": 1}, "A": {"a": 0, "d": 3}}, "s": {"A": {"z": 1}}},
        {"t": {"a": 2.0, "x": 3.0, "c": 2.0}},
    )
    assert ranking.topics == ("s", "t")
    assert ranking.group_names == ("A", "A", "B")
    np.testing.assert_array_equal(ranking.retrieved, [0, 3])
    np.testing.assert_array_equal(ranking.documents, [0, 1, 4])
    np.testing.assert_array_equal(ranking.rank, [0, 3, 2, 0])  # z; a, c, d
    np.testing.assert_array_equal(ranking.tied_from, [0, 2, 2, 0])
    np.testing.assert_array_equal(ranking.tied_to, [0, 3, 3, 0])
    np.testing.assert_array_equal(ranking.groups, [0, 1, 3])
    np.testing.assert_array_equal(ranking.judgments, [0, 1, 3, 5])
    np.testing.assert_array_equal(ranking.document, [0, 0, 2, 0, 1])
    np.testing.assert_array_equal(ranking.level, [1, 0, 3, 1, 2])
    np.testing.assert_array_equal(ranking.rank_index, [0, 1, 3, 1, 2])
    np.testing.assert_array_equal(ranking.n_relevant_by_group(), [1, 1, 2])
    np.testing.assert_array_equal(ranking.n_groups_with_relevant(2), [0, 2])


def test_ties_in_ascending_order_of_ids() -> None:
    """x is not judged, but has its place among those of equal score."""
    judgments: Judgments = {"t": {"g": dict.fromkeys("abyz", 1.0)}}
    run: Run = {"t": {"a": 1.0, "b": 2.0, "x": 1.0, "y": 1.0, "z": 0.0}}
    np.testing.assert_array_equal(judged(judgments, run).rank, [4, 1, 2, 5])
    np.testing.assert_array_equal(judged(judgments, run, ascending=True).rank, [2, 1, 4, 5])


def test_from_rankings_is_what_a_run_gives() -> None:
    rankings = [["b", "x", "a"], [], ["y"]]
    judgments = [
        {"1": {"a": 1.0, "c": 2.0}, "0": {"b": 0.0}},
        {"0": {"a": 1.0}},
        {"0": {"y": 1.0, "a": -1.0}},
    ]
    direct = GroupedRankings.from_rankings(rankings, judgments)
    run = {
        str(t): {d: -float(i) for i, d in enumerate(ranking)}
        for t, ranking in enumerate(rankings, 1)
        if ranking
    }
    assert equal(direct, judged({str(t): g for t, g in enumerate(judgments, 1)}, run))


@pytest.mark.parametrize("seed", range(5))
def test_parts_add_up_to_the_whole_whichever_way(seed: int) -> None:
    judgments, run = random_topics(seed, 25)
    whole = judged(judgments, run)
    names = list(np.random.default_rng(seed).permutation(sorted(judgments)))
    parts = [
        judged(
            {t: judgments[t] for t in piece},
            {t: run[t] for t in piece if t in run} | {"elsewhere": {"d": 1.0}},
        )
        for piece in (names[:4], names[4:5], names[5:])
    ]
    assert equal(parts[0] + parts[1] + parts[2], whole)
    assert equal(parts[2] + (parts[1] + parts[0]), whole)


def test_a_topic_stands_in_one_part_only() -> None:
    one = GroupedRankings.from_rankings([["a"]], [{"g": {"a": 1.0}}])
    with pytest.raises(ValueError, match="topic '1' occurs in both statistics"):
        one + one


def test_take_picks_topics_in_the_order_asked_for() -> None:
    judgments, run = random_topics(9, 20)
    whole = judged(judgments, run)
    picked = [7, 0, 19, 3]
    some = whole.take_topics(np.array(picked))
    assert some.topics == tuple(whole.topics[i] for i in picked)
    for place, i in enumerate(picked):
        assert equal(some.take_topics(np.array([place])), whole.take_topics(np.array([i])))
    assert equal(whole.take_topics(np.arange(len(whole))), whole)
    assert len(whole.take_topics(np.zeros(0, int))) == 0


@pytest.mark.parametrize("seed", range(5))
def test_each_group_by_itself_is_a_judged_ranking(seed: int) -> None:
    from calipers.data.trec import read_qrels, read_run

    judgments, run = random_topics(seed, 15)
    grouped = judged(judgments, run).group_rankings
    qrels = {f"{t} {g}": d for t, groups in judgments.items() for g, d in groups.items()}
    alone = {name: run[name.split()[0]] for name in qrels if name.split()[0] in run}
    expected = JudgedRankings(
        **read_run(
            "run",
            alone,
            read_qrels({t: {d: int(n) for d, n in g.items()} for t, g in qrels.items()}),
        ).arrays
    )
    order = np.array([grouped.topics.index(topic) for topic in expected.topics])
    assert equal(grouped.take_topics(order), expected)


def test_preferences_are_no_grades() -> None:
    halves = GroupedRankings.from_rankings([["a"]], [{"g": {"a": 0.5}}])
    with pytest.raises(ValueError, match=r"level 0\.5 is not a whole number"):
        halves.group_rankings  # noqa: B018
    parts = GroupedRankings.from_rankings([["a"]], [{"g": [{"a": 1.0}, {"a": 1.0}]}])
    with pytest.raises(ValueError, match="a group has several parts"):
        parts.group_rankings  # noqa: B018


@pytest.mark.parametrize("depth", [1, 2, 5, 50])
def test_cut_is_a_run_that_ends_there(depth: int) -> None:
    """40 topics with ties through which the cut goes."""
    judgments, run = random_topics(depth, 40)
    short = {
        topic: dict(sorted(found.items(), key=lambda e: (e[1], e[0]), reverse=True)[:depth])
        for topic, found in run.items()
    }
    assert equal(judged(judgments, run).truncate(depth), judged(judgments, short))
    assert not judged(judgments, run).truncate(0).retrieved.any()


def test_fields_of_earlier_files_are_read() -> None:
    ranking = judged({"t": {"B": {"c": 2, "a": 1}}}, {"t": {"a": 2.0, "c": 1.0}})
    with np.load(io.BytesIO(ranking.to_bytes())) as arrays:
        earlier = {"part" if name == "block" else name: arrays[name] for name in arrays.files}
    stored = io.BytesIO()
    np.savez(stored, **earlier)
    assert equal(GroupedRankings.from_bytes(stored.getvalue()), ranking)
