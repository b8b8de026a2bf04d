"""Preference measures against loops over pairs, and against what trec_eval prints."""

from __future__ import annotations

import itertools
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calipers.data.grouped_judgments import judge_groups, read_groups
from calipers.measures import definitions, parse
from calipers.statistics import GroupedRankings, JudgedRankings, grouped_rankings

EXAMPLE = Path(__file__).parents[3] / "shared" / "conformance" / "trec_eval"
needs_example = pytest.mark.skipif(
    not EXAMPLE.is_dir(), reason="trec_eval's example files are not beside the repository"
)

Levels = dict[str, float]
Groups = dict[str, list[Levels]]

#: trec_eval's names, in the order in which it prints them.
NAMES = [
    "prefs_num_prefs_poss",
    "prefs_num_prefs_ful",
    "prefs_num_prefs_ful_ret",
    "prefs_simp",
    "prefs_pair",
    "prefs_avgjg",
    "prefs_avgjg_Rnonrel",
    "prefs_simp_ret",
    "prefs_pair_ret",
    "prefs_avgjg_ret",
    "prefs_avgjg_Rnonrel_ret",
    "prefs_simp_imp",
    "prefs_pair_imp",
    "prefs_avgjg_imp",
]


def ours(rankings: GroupedRankings) -> dict[str, Any]:
    """By trec_eval's names; what is undefined is 0 there."""
    return {n: np.nan_to_num(parse(n, "preferences").apply(rankings)) for n in NAMES}


# ------------------------------------------------------------------------------- by the definition


def by_loops(ranking: list[str], groups: Groups) -> dict[str, float]:
    """All values of one topic, one pair of documents after the other."""
    judged = {d for parts in groups.values() for levels in parts for d in levels}
    order = [d for d in ranking if d in judged]
    retrieved = set(order)
    order += sorted(judged - retrieved)
    kinds = ("both", "one", "none")

    def kind(a: str, b: str) -> str:
        return kinds[2 - len({a, b} & retrieved)]

    def respects(a: str, b: str) -> bool:
        return a in retrieved and order.index(a) < order.index(b)

    possible = {k: dict.fromkeys(kinds, 0) for k in groups}
    met = {k: dict.fromkeys(kinds, 0) for k in groups}
    votes: dict[tuple[str, str], int] = {}
    equal, equal_retrieved = [], []
    for name, parts in groups.items():
        preferred = {
            (a, b) for levels in parts for a in levels for b in levels if levels[a] > levels[b]
        }
        while True:
            more = {(a, d) for a, b in preferred for c, d in preferred if b == c} - preferred
            if not more:
                break
            preferred |= more
        for a, b in preferred:
            possible[name][kind(a, b)] += 1
            met[name][kind(a, b)] += respects(a, b)
            votes[a, b] = votes.get((a, b), 0) + 1
        level = {d: levels[d] for levels in parts for d in levels}
        equal.append(equally_many(level, preferred, order, retrieved, len(parts) > 1, False))
        equal_retrieved.append(
            equally_many(level, preferred, order, retrieved, len(parts) > 1, True)
        )

    def ratio(numerator: float, denominator: float) -> float:
        return numerator / denominator if denominator else 0.0

    out: dict[str, float] = {
        "prefs_num_prefs_poss": sum(sum(c.values()) for c in possible.values()),
        "prefs_num_prefs_ful": sum(sum(c.values()) for c in met.values()),
        "prefs_num_prefs_ful_ret": sum(c["both"] for c in met.values()),
    }
    for ending, counted in (("", kinds), ("_ret", kinds[:1]), ("_imp", kinds[:2])):
        of = {g: sum(possible[g][k] for k in counted) for g in groups}
        got = {g: sum(met[g][k] for k in counted) for g in groups}
        out["prefs_simp" + ending] = ratio(sum(got.values()), sum(of.values()))
        out["prefs_avgjg" + ending] = sum(ratio(got[g], of[g]) for g in groups) / len(groups)
        shares = []
        for a, b in combinations(order, 2):
            down, up = votes.get((a, b), 0), votes.get((b, a), 0)
            if down + up and kind(a, b) in counted:
                shares.append(down / (down + up) * (a in retrieved))
        out["prefs_pair" + ending] = ratio(sum(shares), len(shares))
    for ending, pairs in (("", equal), ("_ret", equal_retrieved)):
        nothing = any(of == 0 for _, of in pairs)
        mean = 0.0 if nothing else sum(m / of for m, of in pairs) / len(pairs)
        out["prefs_avgjg_Rnonrel" + ending] = mean
    return out


def equally_many(
    level: Levels,
    preferred: set[tuple[str, str]],
    order: list[str],
    retrieved: set[str],
    several_parts: bool,
    only_retrieved: bool,
) -> tuple[int, int]:
    """Respected and possible preferences with R irrelevant documents, as trec_eval counts them."""
    own = [d for d in order if d in level]
    counted = [d for d in own if d in retrieved or not only_retrieved]
    relevant = [d for d in own if level[d] > 0]
    r = len([d for d in counted if level[d] > 0])
    n = len([d for d in counted if (level[d] == 0 if several_parts else level[d] <= 0)])

    def respects(a: str, b: str) -> bool:
        return a in retrieved and order.index(a) < order.index(b)

    if r >= n:
        pairs = [(a, b) for a, b in preferred if a in counted and b in counted]
        found = len([d for d in relevant if d in retrieved])
        return (
            sum(respects(a, b) for a, b in pairs) + found * (r - n),
            len(pairs) + len(relevant) * (r - n),
        )
    if several_parts:
        zeros = [d for d in counted if level[d] == 0]
        left_out = set(zeros[len(relevant) :])
        pairs = [(a, b) for a, b in preferred if {a, b} <= set(counted) and not {a, b} & left_out]
        return sum(respects(a, b) for a, b in pairs), len(pairs)
    lowest = min(level.values())
    last = [d for d in counted if level[d] == lowest]
    others = [d for d in counted if level[d] > lowest]
    pairs = [(a, b) for a in others for b in others if level[a] > level[b]]
    pairs += [(a, b) for a in others + last for b in last[:r]]
    return sum(respects(a, b) for a, b in pairs), len(pairs)


def random_topic(generator: np.random.Generator) -> tuple[list[str], Groups]:
    """A ranking, and groups of one or more parts that do not contradict each other."""
    documents = [f"d{i}" for i in range(int(generator.integers(1, 10)))]
    ranking = [d for d in generator.permutation([*documents, "x", "y"]) if generator.random() < 0.7]
    lowest = int(generator.choice([0, 0, -2]))
    groups: Groups = {}
    for g in range(int(generator.integers(1, 4))):
        truth = {d: float(generator.integers(lowest, 4)) for d in documents}
        parts = []
        for _ in range(int(generator.choice([1, 1, 2, 3]))):
            chosen = [d for d in documents if generator.random() < 0.6] or documents[:1]
            # Levels above 0 may differ between parts, as long as their order stays.
            step = float(generator.choice([0.5, 1.0, 2.0]))
            parts.append({d: truth[d] * step if truth[d] > 0 else truth[d] for d in chosen})
        groups[f"g{g}"] = parts
    return ranking, groups


@pytest.mark.parametrize("cells", [1 << 22, 7])
@pytest.mark.parametrize("seed", range(5))
def test_loops_over_pairs_count_the_same(
    seed: int, cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the tables of pairs are cut into blocks of few cells."""
    monkeypatch.setattr(grouped_rankings, "_MAX_CELLS", cells)
    generator = np.random.default_rng(seed)
    topics = [random_topic(generator) for _ in range(60)]
    values = ours(GroupedRankings.from_rankings(*zip(*topics, strict=True)))
    for i, (ranking, groups) in enumerate(topics):
        for name, value in by_loops(ranking, groups).items():
            assert values[name][i] == pytest.approx(value, abs=1e-12), (name, ranking, groups)


def test_a_topic_without_preferences_has_no_value() -> None:
    """And one that a run leaves out, or where no preference is left to count, scores 0."""
    flat, graded = {"g": {"a": 1.0, "b": 1.0}}, {"g": {"a": 1.0, "b": 0.0}}
    rankings = GroupedRankings.from_rankings([["a"], [], ["b"]], [flat, graded, graded])
    for definition in definitions("preferences"):
        if "no_preference" not in definition.undefined or "Rnonrel" in definition.name:
            continue
        measure = definition.example()
        np.testing.assert_array_equal(measure.apply(rankings), [np.nan, 0, 0], str(measure))
        np.testing.assert_array_equal(
            measure.reasons(rankings)["no_preference"], [True, False, False]
        )
    values = parse("prefs-avgjg-Rnonrel").apply(rankings)
    np.testing.assert_array_equal(values, [0.5, 0, 0])  # one relevant document of two is found


def test_the_share_of_preference_pairs() -> None:
    """Three documents, strictly ordered a, b, c, ranked b, a, c: two pairs of three."""
    rankings = GroupedRankings.from_rankings(
        [["b", "a", "c"]], [{"user": {"a": 3.0, "b": 2.0, "c": 1.0}}]
    )
    assert parse("prefs-simp").apply(rankings)[0] == pytest.approx(2 / 3)


# ------------------------------------------------------------------------------ what trec_eval says

#: The documents of trec_eval's example prefs.test by other names: r1 to r9 as they are retrieved, u1
#: to u7 not retrieved, in the order of their ids.
RANKING = [f"r{i}" for i in range(1, 10)]
LIST = [*RANKING[1:8], "u4", "u5", "u6", "u7"]
FOUR = ["r2", "r3", "r4", "u6"]


def of(documents: str | list[str], *levels: float) -> Levels:
    names = documents.split() if isinstance(documents, str) else documents
    return dict(zip(names, levels, strict=False))


SMALL = [
    of("r1 r9", 1, 0),
    of("r1 u2", 1, 0),
    of("u2 r1", 1, 0),
    of("u2 u3", 0, 1),
    of("r1 r9", 1, 1),
    of("r1 r9", 0, 0),
    of("r9", 1),
]
LISTS = [
    (of(LIST, 1, 0, 0, 1, 0, 1, 1, 1, 0, 1, 0), of("r2 r3", 1, 0)),
    (of(LIST, 4, 0, 0, 2, 0, 1, 1, 4, 0, 1, 0), of("r2 r3", 1, 0)),
    (of(LIST, 9, 8, 7, 6, 5, 5.5, 6.5, 8, 7, 6, 3), of("r2 r3", 9, 8)),
]
USERS = [of(FOUR, 0, 1, 0, 5), of(FOUR, 4, 6, 6, 5), of(FOUR, 9, 8, 7, 5)]
MIXED = [(0, 1), (4, 6), (9, 8)]
TRANSITIVE = [of("r2 r3 r4 r5 u1 u2", 5, 9, 4, 3, 6, 0), of("r4 r6 u3", 7, 6, 1)]

#: Judgments, and what trec_eval prints for them: NumPrefsPoss, NumPrefsFul, NumPrefsFulRet, and the
#: shares of all, retrieved and implied preferences in the order simp, pair, avgjg (and Rnonrel).
PRINTED: list[tuple[Groups, str]] = [
    *(
        ({"0": [levels] * parts}, values)
        for parts in (1, 2)
        for levels, values in zip(
            SMALL,
            (
                "1 1 1 1 1 1 1 1 1 1 1 1 1 1",
                "1 1 0 1 1 1 1 0 0 0 1 1 1 1",
                "1 0 0 0 0 0 0 0 0 0 0 0 0 0",
                "1 0 0 0 0 0 0 0 0 0 0 0 0 0",
                "0 0 0 0 0 0 1 0 0 0 1 0 0 0",
                "0 0 0 0 0 0 0 0 0 0 0 0 0 0",
                "0 0 0 0 0 0 1 0 0 0 1 0 0 0",
            ),
            strict=True,
        )
    ),
    *(
        ({"0": list(levels)[:parts]}, values)
        for parts in (1, 2)
        for levels, values in zip(
            LISTS,
            (
                "30 12 4 .4 .4 .4 .4444 .3333 .3333 .3333 .4444 .4615 .4615 .4615",
                "41 19 9 .4634 .4634 .4634 .4894 .5294 .5294 .5294 .5652 .5278 .5278 .5278",
                "52 31 17 .5962 .5962 .5962 .6243 .8095 .8095 .8095 .6735 .6739 .6739 .6739",
            ),
            strict=True,
        )
    ),
    (
        {f"{i}": [levels] for i, levels in enumerate(USERS)},
        "16 9 4 .5625 .5833 .5333 .5616 .5714 .6111 .5 .4810 .5625 .5833 .5333",
    ),
    *(
        (
            {
                f"{i}": [levels, of(FOUR[:2], *MIXED[i])] if i < several else [levels]
                for i, levels in enumerate(USERS)
            },
            "16 9 4 .5625 .5833 .5333 .5616 .5714 .6111 .5 .6476 .5625 .5833 .5333",
        )
        for several in (3, 1)
    ),
    (
        {"0": TRANSITIVE},
        "24 17 8 .7083 .7083 .7083 .7121 .8889 .8889 .8889 .75 .7727 .7727 .7727",
    ),
]


def test_what_trec_eval_prints_for_its_example_of_preferences() -> None:
    values = ours(
        GroupedRankings.from_rankings([RANKING] * len(PRINTED), [groups for groups, _ in PRINTED])
    )
    for i, (groups, printed) in enumerate(PRINTED):
        for name, value in zip(NAMES, printed.split(), strict=True):
            assert values[name][i] == pytest.approx(float(value), abs=0.5001e-4), (name, groups)


@needs_example
def test_what_trec_eval_prints_for_qrels_as_preferences() -> None:
    judgments: dict[str, dict[str, dict[str, int]]] = {}
    for line in (EXAMPLE / "qrels.test").read_text().splitlines():
        topic, group, document, level = line.split()
        judgments.setdefault(topic, {}).setdefault(group, {})[document] = int(level)
    run = judge_groups("run", EXAMPLE / "results.test", read_groups(judgments), ascending=True)
    rankings = GroupedRankings(**run.arrays)
    values = ours(rankings)
    compared = 0
    for line in (EXAMPLE / "out.test.qrels_prefs").read_text().splitlines():
        name, topic, printed = (field.strip() for field in line.split("\t"))
        if name not in NAMES:
            continue
        column = values[name]
        total = parse(name, "preferences").definition.summary == "sum"
        if topic != "all":
            value = column[rankings.topics.index(topic)]
        else:
            value = column.sum() if total else column.mean()
        assert value == pytest.approx(float(printed), abs=0.5001e-4), (name, topic)
        compared += 1
    assert compared == 56


def test_compatibility_of_levels_is_that_of_grades() -> None:
    random = np.random.default_rng(5)
    for _ in range(50):
        documents = [f"d{i}" for i in range(8)]
        levels = {d: float(random.integers(0, 4)) for d in documents}
        ranking = list(random.permutation(documents)[: random.integers(1, 9)])
        grouped = GroupedRankings.from_rankings([ranking], [{"a": levels}])
        grades = [[int(levels[d]) for d in ranking]]
        missed = [[int(level) for d, level in levels.items() if d not in ranking]]
        judged = JudgedRankings.from_rankings(grades, missed)
        expected = parse("compatibility").apply(judged)
        found = parse("prefs-compatibility").apply(grouped)
        assert found == pytest.approx(expected, abs=1e-12, nan_ok=True)


def test_compatibility_of_pairs_is_that_of_the_most_similar_ranking() -> None:
    """The best of all rankings that respect them, where their chains leave no other choice."""

    def overlap(ranking: list[str], ideal: list[str], p: float = 0.95) -> float:
        return sum(p ** (k - 1) * len({*ranking[:k]} & {*ideal[:k]}) / k for k in range(1, 1001))

    # a over b and c, which are over d: b and c may be in either order.
    pairs = [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")]
    blocks = [{better: 2.0, worse: 1.0} for better, worse in pairs]
    for ranking in itertools.permutations("abcdx"):
        ideals = [list("abcd"), list("acbd")]
        best = max(overlap(list(ranking), i) for i in ideals) / overlap(ideals[0], ideals[0])
        grouped = GroupedRankings.from_rankings([list(ranking)], [{"a": blocks}])
        assert parse("prefs-compat").apply(grouped)[0] == pytest.approx(best, abs=1e-12)


def test_compatibility_is_a_mean_of_groups_with_relevant_documents() -> None:
    groups = {"a": {"x": 2.0, "y": 1.0}, "b": {"x": 1.0, "y": 2.0}, "c": {"x": 0.0}}
    single = [
        parse("prefs-compat").apply(GroupedRankings.from_rankings([["x", "y"]], [{name: g}]))[0]
        for name, g in groups.items()
    ]
    together = parse("prefs-compat").apply(GroupedRankings.from_rankings([["x", "y"]], [groups]))
    assert together[0] == pytest.approx((single[0] + single[1]) / 2)
    assert (single[0], np.isnan(single[2])) == (1.0, True)
