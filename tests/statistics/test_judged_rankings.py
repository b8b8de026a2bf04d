"""Rankings as the judgments see them."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

from calipers.data.trec import read_qrels, read_run
from calipers.statistics import JudgedRankings

Nested = dict[str, dict[str, float]]


def judged(qrels: dict[str, dict[str, int]], run: Nested) -> JudgedRankings:
    return JudgedRankings(**read_run("run", run, read_qrels(qrels)).arrays)


def equal(a: JudgedRankings, b: JudgedRankings) -> bool:
    return all(np.array_equal(getattr(a, f.name), getattr(b, f.name)) for f in fields(a))


def random_topics(seed: int, topics: int) -> tuple[dict[str, dict[str, int]], Nested]:
    generator = np.random.default_rng(seed)
    qrels, run = {}, {}
    for t in generator.permutation(topics):
        documents = [f"d{i}" for i in range(int(generator.integers(1, 15)))]
        qrels[f"{t}"] = {d: int(generator.integers(-1, 4)) for d in documents}
        if generator.random() < 0.8:
            run[f"{t}"] = {
                d: float(generator.integers(0, 5))
                for d in [*documents, "unjudged", "other"]
                if generator.random() < 0.7
            } or {"unjudged": 1.0}
    return qrels, run


def test_ranks_ties_and_what_was_missed() -> None:
    ranking = judged(
        {"t": {"a": 1, "b": 0, "c": 2, "d": -1, "e": 1}},
        {"t": {"a": 2.0, "b": 3.0, "c": 2.0, "x": 2.0, "d": 1.0}},
    )
    # b; then x, c, a, tied and by descending id; then d. e was missed, x is unjudged.
    np.testing.assert_array_equal(ranking.rank, [1, 3, 4, 5])
    np.testing.assert_array_equal(ranking.grade, [0, 2, 1, -1])
    np.testing.assert_array_equal(ranking.tied_from, [1, 2, 2, 5])
    np.testing.assert_array_equal(ranking.tied_to, [1, 4, 4, 5])
    np.testing.assert_array_equal(ranking.retrieved, [5])
    np.testing.assert_array_equal(ranking.judged_grade, [2, 1, 0, -1])
    np.testing.assert_array_equal(ranking.judged_count, [1, 2, 1, 1])
    np.testing.assert_array_equal(ranking.n_relevant(), [3])
    np.testing.assert_array_equal(ranking.n_relevant(2), [1])
    np.testing.assert_array_equal(ranking.n_relevant_retrieved(1, 3), [1])


def test_topics_stand_in_bytewise_order() -> None:
    qrels = {topic: {"d": 1} for topic in ("b", "10", "ä", "9", "Z")}
    ranking = judged(qrels, {"9": {"d": 1.0}})
    assert ranking.topics == ("10", "9", "Z", "b", "ä")
    np.testing.assert_array_equal(ranking.retrieved, [0, 1, 0, 0, 0])


def test_from_rankings_is_what_a_run_gives() -> None:
    rankings, missed = [[2, 0, 1], [], [0, 0]], [[1], [2, 2], []]
    direct = JudgedRankings.from_rankings(rankings, missed)
    qrels, run = {}, {}
    for t, (got, rest) in enumerate(zip(rankings, missed, strict=True)):
        topic = str(t + 1)
        qrels[topic] = {f"d{i}": g for i, g in enumerate([*got, *rest])}
        run[topic] = {f"d{i}": -float(i) for i in range(len(got))}
    assert equal(direct, judged(qrels, {t: r for t, r in run.items() if r}))


@pytest.mark.parametrize("seed", range(5))
def test_parts_add_up_to_the_whole_whichever_way(seed: int) -> None:
    qrels, run = random_topics(seed, 30)
    whole = judged(qrels, run)
    names = list(np.random.default_rng(seed).permutation(sorted(qrels)))
    parts = [
        judged(
            {t: qrels[t] for t in piece},
            {t: run[t] for t in piece if t in run} | {"elsewhere": {"d": 1.0}},
        )
        for piece in (names[:4], names[4:5], names[5:])
    ]
    assert equal(parts[0] + parts[1] + parts[2], whole)
    assert equal(parts[2] + (parts[1] + parts[0]), whole)


def test_a_topic_stands_in_one_part_only() -> None:
    one = JudgedRankings.from_rankings([[1]])
    with pytest.raises(ValueError, match="topic '1' occurs in both statistics"):
        one + one


def test_take_picks_topics_in_the_order_asked_for() -> None:
    qrels, run = random_topics(9, 20)
    whole = judged(qrels, run)
    picked = [7, 0, 19, 3]
    some = whole.take_topics(np.array(picked))
    assert some.topics == tuple(whole.topics[i] for i in picked)
    for place, i in enumerate(picked):
        for name, offsets in (
            ("rank", "offsets"),
            ("grade", "offsets"),
            ("tied_from", "offsets"),
            ("tied_to", "offsets"),
            ("judged_grade", "judged_offsets"),
            ("judged_count", "judged_offsets"),
        ):
            of_some, of_whole = getattr(some, offsets), getattr(whole, offsets)
            np.testing.assert_array_equal(
                getattr(some, name)[of_some[place] : of_some[place + 1]],
                getattr(whole, name)[of_whole[i] : of_whole[i + 1]],
            )
        assert some.retrieved[place] == whole.retrieved[i]
    everything = whole.take_topics(np.arange(len(whole)))
    assert equal(everything, whole)
    assert len(whole.take_topics(np.zeros(0, int))) == 0
    boolean = np.zeros(len(whole), bool)
    boolean[[2, 5]] = True
    assert whole.take_topics(boolean).topics == (whole.topics[2], whole.topics[5])


def test_sums_and_maxima_per_topic_with_empty_ones_between() -> None:
    ranking = JudgedRankings.from_rankings([[], [1, 2], [], [3], []])
    np.testing.assert_array_equal(ranking.sum_by_topic(np.array([1.0, 2.0, 4.0])), [0, 3, 0, 4, 0])
    np.testing.assert_array_equal(ranking.max_by_topic(np.array([1.0, 2.0, 4.0])), [0, 2, 0, 4, 0])
    np.testing.assert_array_equal(ranking.topic_index, [1, 1, 3])
    np.testing.assert_array_equal(ranking.cumulative_hits(2), [0, 1, 1])


def test_the_set_against_the_relevant_documents() -> None:
    ranking = JudgedRankings.from_rankings([[1, 0, 2], [0]], [[1], [3]])
    matrix = ranking.confusion(rel=1, collection_size=100)
    np.testing.assert_array_equal(matrix.tp, [2, 0])
    np.testing.assert_array_equal(matrix.fp, [1, 1])
    np.testing.assert_array_equal(matrix.fn, [1, 1])
    np.testing.assert_array_equal(matrix.tn, [96, 98])
    assert np.isnan(ranking.confusion().tn).all()
    np.testing.assert_array_equal(ranking.confusion(rel=2, cutoff=2).fp, [2, 1])


def test_the_ideal_list_holds_all_judged_documents_with_a_gain() -> None:
    ranking = JudgedRankings.from_rankings([[0, 2], [1]], [[3, 2], []])
    best = ranking.ideal_rankings(ranking.judged_grade.astype(float))
    np.testing.assert_array_equal(best.offsets, [0, 3, 4])
    np.testing.assert_array_equal(best.gain, [3, 2, 2, 1])
    np.testing.assert_array_equal(best.rank, [1, 2, 3, 1])
    np.testing.assert_array_equal(best.sum_by_topic(best.gain), [7, 1])
    deep = best.sum_to_rank(best.gain, np.array([0, 0, 0, 1]), np.array([0, 2, 9, 1]))
    np.testing.assert_array_equal(deep, [0, 5, 7, 1])


def test_tied_counts_look_at_scores_not_ids() -> None:
    """Two topics: scores 5 5 4 and 3 3, the unjudged document among the first tied."""
    qrels = {"1": {"a": 1, "c": 0}, "2": {"x": 0, "y": 1}}
    run = {"1": {"a": 5.0, "b": 5.0, "c": 4.0}, "2": {"x": 3.0, "y": 3.0}}
    ranking = JudgedRankings(**read_run("run", run, read_qrels(qrels)).arrays)
    above, tied = ranking.count_ties(ranking.hit_mask(1))
    np.testing.assert_array_equal(ranking.grade, [1, 0, 1, 0])
    np.testing.assert_array_equal(above, [0, 1, 0, 0])
    np.testing.assert_array_equal(tied, [1, 0, 1, 1])
    np.testing.assert_array_equal(ranking.tied_across_mask(1), [True, False, True, True])
    full = ranking.with_unjudged()
    np.testing.assert_array_equal(full.grade, [-1, 1, 0, 1, 0])
    np.testing.assert_array_equal(full.rank, [1, 2, 3, 1, 2])
    np.testing.assert_array_equal(ranking.reorder_ties(best_first=True).rank, [1, 3, 1, 2])
    np.testing.assert_array_equal(ranking.reorder_ties(best_first=False).grade, [1, 0, 0, 1])


def in_order(found: dict[str, float]) -> list[str]:
    return sorted(found, key=lambda d: (found[d], d), reverse=True)


@pytest.mark.parametrize("depth", [1, 2, 5, 50])
def test_cut_is_a_run_that_ends_there(depth: int) -> None:
    """40 topics with ties through which the cut goes."""
    qrels, run = random_topics(depth, 40)
    short = {t: {d: run[t][d] for d in in_order(run[t])[:depth]} for t in run}
    expected = judged(qrels, {t: found for t, found in short.items() if found})
    assert equal(judged(qrels, run).truncate(depth), expected)
    assert not judged(qrels, run).truncate(0).retrieved.any()


@pytest.mark.parametrize("seed", range(3))
def test_condensed_is_a_run_without_unjudged_documents(seed: int) -> None:
    """40 topics; negative grades are no judgments."""
    qrels, run = random_topics(seed, 40)
    known = {t: {d: s for d, s in run[t].items() if qrels[t].get(d, -1) >= 0} for t in run}
    expected = judged(qrels, {t: found for t, found in known.items() if found})
    assert equal(judged(qrels, run).condense(), expected)
    assert equal(judged(qrels, run).condense().condense(), expected)


@pytest.mark.parametrize("seed", range(3))
def test_unjudged_documents_share_ranks_as_judged_ones_do(seed: int) -> None:
    """40 topics, against the same run when all its documents are judged: ties among unjudged
    documents alone are not known."""
    qrels, run = random_topics(seed, 40)
    everything = {
        t: dict.fromkeys(run.get(t, ()), -1) | {d: -2 if g < 0 else g for d, g in own.items()}
        for t, own in qrels.items()
    }
    expected = judged(everything, run)
    full = judged(qrels, run).with_unjudged()
    for name in ("offsets", "rank", "grade", "retrieved"):
        np.testing.assert_array_equal(getattr(full, name), getattr(expected, name))
    ends = np.stack([expected.tied_from, expected.tied_to])
    block = np.cumsum(np.diff(expected.topic_index * 1000 + expected.tied_from, prepend=-1) != 0)
    unknown = np.bincount(block, expected.grade != -1)[block] == 0
    np.testing.assert_array_equal(
        np.stack([full.tied_from, full.tied_to]), np.where(unknown, full.rank, ends)
    )


def test_relevance_strings() -> None:
    ranking = judged(
        {"1": {"a": 1, "b": -3, "c": 10, "d": 9, "e": 0}, "2": {"a": 1}},
        {"1": {"a": 9.0, "x": 8.0, "b": 7.0, "c": 6.0, "d": 5.0, "y": 4.0, "e": 3.0}},
    )
    assert ranking.relevance_strings(100) == [b"1-.>9-0", b""]
    assert ranking.relevance_strings(3) == [b"1-.", b""]
    assert ranking.relevance_strings(0) == ranking.relevance_strings(-1) == [b"", b""]
