"""Ratings from battles as a user makes them: outcomes in all forms, errors with their lines, and
what weights, counts, clusters, styles and references change."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import calipers as cal

#: A leaderboard from 536 votes of 120 users (job 4 of the specification).
VOTES = Path(__file__).parents[3] / "shared/research/judges_prototype/job4.csv"


def votes(wins: int = 40, losses: int = 25, ties: int = 35, **others: Any) -> dict[str, Any]:
    n = wins + losses + ties
    return {
        "model_a": ["new"] * n,
        "model_b": ["old"] * n,
        "winner": ["model_a"] * wins + ["model_b"] * losses + ["tie"] * ties,
        **others,
    }


def arena(seed: int = 0, n: int = 600, k: int = 5, users: int = 40) -> dict[str, Any]:
    """Battles of k systems, the first the best; longer answers win more often."""
    generator = np.random.default_rng(seed)
    strengths = np.linspace(1.2, 0, k)
    a = generator.integers(0, k, n)
    b = (a + generator.integers(1, k, n)) % k
    lengths = generator.poisson(20 + 20 * strengths[[a, b]])
    d = strengths[a] - strengths[b] + 2 * (lengths[0] - lengths[1]) / lengths.sum(axis=0)
    odds = np.array([np.exp(-d / 2), np.full(n, 0.7), np.exp(d / 2)])
    code = (generator.random(n) > (np.cumsum(odds, axis=0) / odds.sum(axis=0))[:2]).sum(axis=0)
    names = np.array([f"s{i}" for i in range(k)])
    return {
        "model_a": names[a],
        "model_b": names[b],
        "winner": np.array(["model_b", "tie", "model_a"])[code],
        "length_a": lengths[0],
        "length_b": lengths[1],
        "user": generator.integers(0, users, n),
    }


def numbers(board: cal.Leaderboard) -> dict[str, tuple[float, float, float]]:
    return {row.system: (row.rating.value, row.rating.low, row.rating.high) for row in board}


def same(one: cal.Leaderboard, two: cal.Leaderboard, tolerance: float = 1e-6) -> None:
    first, second = numbers(one), numbers(two)
    assert first.keys() == second.keys()
    for name, values in first.items():
        assert values == pytest.approx(second[name], abs=tolerance, nan_ok=True), name


# ---------------------------------------------------------------------------------- known values


@pytest.mark.skipif(not VOTES.exists(), reason="the votes are not part of the package")
def test_a_leaderboard_of_votes() -> None:
    board = cal.pairs(VOTES, cluster="user")
    found = [
        (
            row.system,
            *(round(x) for x in (row.rating.value, row.rating.low, row.rating.high)),
            row.rank_low,
            row.rank_high,
        )
        for row in board.rated
    ]
    assert found == [
        ("alpha", 1064, 1019, 1109, 1, 3),
        ("beta", 1040, 996, 1084, 1, 4),
        ("gamma", 992, 946, 1038, 1, 5),
        ("eps", 952, 914, 990, 3, 5),
        ("delta", 952, 905, 999, 2, 5),
    ]
    new = board["new"]
    assert new.rating.undefined == {"won_all": 2}
    assert math.isnan(new.rating.value)
    assert new.rating.high == math.inf
    assert new.rank_low is None
    assert (board.battles, board.n_rated, board.n_clusters) == (536, 534, 120)
    assert board.candidates == ("alpha", "beta", "gamma")
    text = str(board)
    for line in (
        "alpha    1064 [1019, 1109]   1–3",
        "no rating: it has won all of its 2 battles",
        "No system is significantly better than all others: alpha, beta and gamma may be first.",
        "1000 is the mean of the 5 rated systems",
        "536 battles; errors are clustered (120 clusters by user).",
    ):
        assert line in text


@pytest.mark.parametrize(
    ("ties", "elo", "se", "model"),
    [
        ("davidson", 81.65, 44.51, "Davidson"),
        ("rao-kupper", 60.21, 32.60, "Rao-Kupper"),
        ("half", 52.51, 28.30, "Bradley-Terry"),
    ],
)
def test_two_systems(ties: str, elo: float, se: float, model: str) -> None:
    board = cal.pairs(votes(), ties=ties, reference="old")
    new, old = board["new"], board["old"]
    assert board.model == model
    assert new.rating.value - 1000 == pytest.approx(elo, abs=0.005)
    assert new.rating.standard_error == pytest.approx(se, abs=0.006)
    assert new.rating.high - new.rating.value == pytest.approx(1.959964 * new.rating.standard_error)
    assert (old.rating.value, old.rating.interval_reason) == (1000, "known_constant")
    assert (new.battles, new.wins, new.ties, new.losses) == (100, 40, 35, 25)
    # The expected score of two systems is the observed one, as the models have a parameter for
    # each of its parts.
    assert new.expected_score.value == pytest.approx(0.575)
    centered = cal.pairs(votes(), ties=ties)
    assert centered["new"].rating.value == pytest.approx(1000 + elo / 2, abs=0.003)
    if ties == "davidson":
        assert board.tie_parameter is not None
        assert board.tie_parameter.value == pytest.approx(1.106797, abs=5e-7)


# --------------------------------------------------------------------------------------- outcomes


@pytest.mark.parametrize(
    "values",
    [
        ("model_a", "model_b", "tie"),
        ("a", "b", "draw"),
        ("A", "B", " Tie "),
        ("new", "old", "tie (bothbad)"),
        ("new", "old", "both_bad"),
        ("1", "0", "0.5"),
        (1, 0, 0.5),
        (1.0, 0.0, 0.5),
    ],
)
def test_outcomes_in_all_forms(values: tuple[Any, Any, Any], tmp_path: Path) -> None:
    table = votes()
    forms = dict(zip(("model_a", "model_b", "tie"), values, strict=True))
    table["winner"] = [forms[value] for value in table["winner"]]
    same(cal.pairs(table), cal.pairs(votes()))
    pd.DataFrame(table).to_csv(tmp_path / "t.csv", index=False)
    same(cal.pairs(tmp_path / "t.csv"), cal.pairs(votes()))


def test_columns_have_any_names_and_tables_any_form(tmp_path: Path) -> None:
    table = votes()
    renamed = dict(zip(("left", "right", "best"), table.values(), strict=True))
    renamed["best"] = [
        v.replace("model_a", "left").replace("model_b", "right") for v in renamed["best"]
    ]
    names = {"first": "left", "second": "right", "outcome": "best"}
    expected = cal.pairs(table)
    same(cal.pairs(renamed, **names), expected)
    same(cal.pairs(pd.DataFrame(table)), expected)
    same(cal.pairs(pa.table(table)), expected)
    path = tmp_path / "t.jsonl"
    lines = (json.dumps(row) for row in pd.DataFrame(table).to_dict("records"))
    path.write_text("\n".join(lines), encoding="utf-8")
    same(cal.pairs(path), expected)


def test_a_system_may_have_the_name_of_a_side() -> None:
    table = {"model_a": ["a", "b"] * 6, "model_b": ["b", "a"] * 6, "winner": ["a", "b"] * 6}
    with pytest.raises(
        cal.InputError, match=r"row 1: winner is 'b', which is the name of a system but"
    ):
        cal.pairs(table)
    fine = {"model_a": ["a"] * 6, "model_b": ["b"] * 6, "winner": ["a", "b"] * 3}
    assert cal.pairs(fine)["a"].wins == 3


def test_an_unknown_outcome_is_an_error_with_its_line(tmp_path: Path) -> None:
    table = pd.DataFrame(votes())
    table.loc[17, "winner"] = "model_c"
    expected = "winner is 'model_c', expected model_a, model_b, tie"
    table.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(cal.InputError, match=rf"t\.csv:19: {expected}"):
        cal.pairs(tmp_path / "t.csv")
    table.to_json(tmp_path / "t.jsonl", orient="records", lines=True)
    with pytest.raises(cal.InputError, match=rf"t\.jsonl:18: {expected}"):
        cal.pairs(tmp_path / "t.jsonl")
    table.to_parquet(tmp_path / "t.parquet")
    for source in (tmp_path / "t.parquet", table):
        with pytest.raises(cal.InputError, match=rf"(t\.parquet|battles): row 17: {expected}"):
            cal.pairs(source)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"winner": 2}, "row 3: winner is 2, expected model_a"),
        ({"model_b": "new"}, "row 3: the battle is of 'new' with itself; expected two systems"),
        ({"winner": None}, "row 3: winner is missing; missing='drop' omits such battles"),
        ({"model_a": None}, "row 3: model_a is missing"),
        ({"length_a": -1.0}, "row 3: length_a is -1, expected a number of 0 or more"),
        ({"user": None}, "row 3: user is missing"),
    ],
)
def test_a_battle_that_is_not_valid(change: dict[str, Any], message: str) -> None:
    n = 100
    table = votes(length_a=[1.0] * n, length_b=[2.0] * n, user=list(range(n)))
    table = {name: list(values) for name, values in table.items()}
    for name, value in change.items():
        table[name][3] = value
    if change == {"winner": 2}:
        table["winner"] = [1] * n
        table["winner"][3] = 2
    with pytest.raises(cal.InputError, match=message):
        cal.pairs(table, style=["length"], cluster="user")


def test_a_column_of_any_name_may_have_missing_values() -> None:
    """A column that is called as an argument of other verbs is no exception."""
    rows = {"model_a": ["a", "b"] * 9, "model_b": ["b", "c"] * 9, "winner": ["model_a"] * 18}
    table = {**rows, "slices": ["u", None, *"vw" * 8]}
    with pytest.raises(cal.InputError, match="row 1: slices is missing"):
        cal.pairs(table, cluster="slices")
    board = cal.pairs(table, cluster="slices", missing="drop")
    assert board.notes[0] == "1 of 18 rows are left out because values are missing: 1 in slices."


def test_missing_outcomes_are_counted(tmp_path: Path) -> None:
    table = pd.DataFrame(votes())
    table.loc[[3, 99], "winner"] = None
    board = cal.pairs(table, missing="drop")
    assert board.battles == 98
    assert board.notes[0] == "2 of 100 rows are left out because values are missing: 2 in winner."
    # The line of another error is still that of the file.
    table.loc[50, "winner"] = "?"
    table.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(cal.InputError, match=r"t\.csv:52: winner is '\?'"):
        cal.pairs(tmp_path / "t.csv", missing="drop")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"first": "modela"}, "first: there is no column 'modela'; did you mean 'model_a'"),
        ({"cluster": "usr"}, "cluster: there is no column 'usr'"),
        ({"ties": "davids"}, "ties is 'davids', expected one of davidson, rao-kupper, half"),
        ({"reference": "nw"}, "reference: there is no system 'nw'; did you mean 'new'"),
        ({"style": ["size"]}, "style: there are no columns 'size_a' and 'size_b'"),
        ({"style": {"size": ("x", "y")}}, "style: there is no column 'x'"),
        ({"style": {"size": "x"}}, "style: 'size' is 'x', expected the names of two columns"),
        ({"style": 3}, "style is 3, expected a list of names"),
        ({"level": 2}, "level is 2"),
        ({"missing": "keep"}, "missing is 'keep'"),
    ],
)
def test_arguments_that_are_not_valid(options: dict[str, Any], message: str) -> None:
    with pytest.raises(cal.InputError, match=message):
        cal.pairs(votes(), **options)


# ---------------------------------------------------------------------- weights, counts, clusters


def test_a_count_is_the_row_that_number_of_times() -> None:
    table = arena()
    generator = np.random.default_rng(1)
    count = generator.integers(0, 4, 600)
    repeated = {name: np.repeat(values, count) for name, values in table.items()}
    for options in (
        {},
        {"cluster": "user"},
        {"style": ["length"]},
        {"style": ["length"], "cluster": "user", "position": True},
    ):
        given: dict[str, Any] = {**table, "n": count}
        one, two = cal.pairs(given, count="n", **options), cal.pairs(repeated, **options)
        same(one, two)
        assert one.battles == two.battles == count.sum()


def test_weights_are_relative_and_those_of_equal_rows_add_up() -> None:
    table = arena()
    weight = np.random.default_rng(2).random(600) + 0.1
    given: dict[str, Any] = {**table, "w": weight, "w10": 10 * weight}
    for options in ({}, {"cluster": "user"}, {"style": ["length"]}):
        same(cal.pairs(given, weight="w", **options), cal.pairs(given, weight="w10", **options))
    assert numbers(cal.pairs(given, weight="w")) != numbers(cal.pairs(table))
    # A battle of weight 0 is none.
    weight = np.where(np.arange(600) < 300, 1.0, 0.0)
    half = {name: values[:300] for name, values in table.items()}
    same(
        cal.pairs({**table, "w": weight}, weight="w", cluster="user"),
        cal.pairs(half, cluster="user"),
    )


def test_errors_of_clusters() -> None:
    table = arena()
    plain = cal.pairs(table)
    # Every battle ten times in a cluster has the error of one, by Student's t.
    tenfold: dict[str, Any] = {name: np.repeat(values, 10) for name, values in table.items()}
    tenfold["battle"] = np.repeat(np.arange(600), 10)
    board = cal.pairs(tenfold, cluster="battle")
    for row in board:
        assert row.rating.value == pytest.approx(plain[row.system].rating.value)
        assert row.rating.standard_error == pytest.approx(plain[row.system].rating.standard_error)
        assert row.rating.method == "sandwich, Student t, 600 clusters"
    # Each battle its own cluster: they are independent.
    alone = cal.pairs({**table, "battle": np.arange(600)}, cluster="battle")
    same(alone, plain)
    assert alone.cluster == ""


def test_one_cluster_has_no_intervals() -> None:
    board = cal.pairs({**arena(), "one": [1] * 600}, cluster="one")
    assert {row.rating.interval_reason for row in board} == {"too_few_clusters"}
    assert {(row.rank_low, row.rank_high) for row in board} == {(1, 5)}
    assert "covered" not in str(board)


# --------------------------------------------------------------------------- effects, references


def test_effects_of_style_and_position() -> None:
    table = arena(3, 3000)
    board = cal.pairs(table, style=["length"], position=True, cluster="user")
    position, length = board.effects
    assert (position.measure, length.measure) == ("position", "length")
    assert length.low > 0 > position.low
    assert position.high > 0
    # The longer systems are the better ones, so that they lose without it.
    best = board["s0"]
    assert best.unadjusted is not None
    assert best.unadjusted.value > best.rating.value
    plain = cal.pairs(table, cluster="user")
    assert best.unadjusted.value == pytest.approx(plain["s0"].rating.value)
    assert "Effect of length, removed from the ratings: " in str(board)
    named = cal.pairs(
        table, style={"length": ("length_a", "length_b")}, position=True, cluster="user"
    )
    same(named, board)


def test_one_order_of_each_pair_is_noted() -> None:
    """Whoever is shown first may have an advantage, which nothing shows then."""
    note = "No two systems met in both orders"
    assert note in str(cal.pairs(votes()))
    assert note not in str(cal.pairs(arena()))
    table = votes()
    table["model_a"][0], table["model_b"][0] = "old", "new"
    assert note not in str(cal.pairs(table))


@pytest.mark.parametrize("options", [{"position": True}, {"style": ["length"]}])
def test_effects_need_systems_that_can_be_rated(options: dict[str, Any]) -> None:
    table = votes(3, 0, 0, length_a=[1, 2, 3], length_b=[2, 1, 4])
    with pytest.raises(cal.InputError, match="cannot be estimated: no two systems can be rated"):
        cal.pairs(table, **options)


def test_the_effect_that_cannot_be_estimated_is_named() -> None:
    """Systems of one side never stand on the other one, so that only the position is confounded."""
    random = np.random.default_rng(0)
    n = 90
    table = {
        "model_a": random.choice(["s", "t"], n),
        "model_b": random.choice(["u", "v"], n),
        "winner": random.choice(["model_a", "model_b", "tie"], n),
        **{
            f"{name}_{side}": random.integers(1, 9, n)
            for name in ("length", "lists")
            for side in "ab"
        },
    }
    assert len(cal.pairs(table, style=["length", "lists"]).effects) == 2
    for style in ([], ["length"], ["length", "lists"]):
        with pytest.raises(cal.InputError, match="the effect of position cannot be estimated"):
            cal.pairs(table, style=style, position=True)
    table |= {f"words_{side}": 3 * table[f"length_{side}"] for side in "ab"}
    with pytest.raises(
        cal.InputError, match="the effect of length and of words cannot be estimated"
    ):
        cal.pairs(table, style=["length", "lists", "words"])


def test_without_an_opponent_there_is_no_expected_score() -> None:
    board = cal.pairs({"model_a": ["A"], "model_b": ["B"], "winner": ["model_a"]})
    for row in board:
        assert math.isnan(row.expected_score.value)
    assert board["A"].expected_score.undefined == {"no_opponent": 1}
    again = cal.from_json(board.to_json())
    assert math.isnan(again["A"].expected_score.value)
    assert "0.0000" not in str(board)


def test_a_style_that_never_differs_is_refused() -> None:
    table = {**arena(), "length_b": arena()["length_a"]}
    with pytest.raises(cal.InputError, match="length is the same for both systems of every battle"):
        cal.pairs(table, style="length")


def test_the_reference_moves_all_ratings() -> None:
    centered, fixed = cal.pairs(arena()), cal.pairs(arena(), reference="s2")
    shift = centered["s2"].rating.value - 1000
    for row in fixed:
        assert row.rating.value == pytest.approx(centered[row.system].rating.value - shift)
        assert row.expected_score == centered[row.system].expected_score
        assert (row.rank_low, row.rank_high) == (
            centered[row.system].rank_low,
            centered[row.system].rank_high,
        )
    mean = np.mean([row.rating.value for row in centered])
    assert mean == pytest.approx(1000)


# ----------------------------------------------------------------------------------- no ratings


def extended(*battles: tuple[str, str, str]) -> dict[str, Any]:
    """Battles of five systems, and some more."""
    table = {name: list(arena()[name]) for name in ("model_a", "model_b", "winner")}
    for row in battles:
        for values, value in zip(table.values(), row, strict=True):
            values.append(value)
    return table


def test_systems_without_ratings_are_told_why() -> None:
    table = extended(
        ("best", "s0", "a"), ("best", "s4", "a"), ("s0", "worst", "a"), ("alone", "other", "tie"),
        ("best", "alone", "b"),
    )  # fmt: skip
    board = cal.pairs(table)
    plain = cal.pairs(extended())
    for row in plain:  # which know nothing of them
        assert board[row.system].rating.value == pytest.approx(row.rating.value)
    assert board.systems[-4:] == ("best", "alone", "other", "worst")
    reasons = {row.system: next(iter(row.rating.undefined)) for row in board if not row.is_rated}
    assert reasons == {
        "best": "won_all",
        "worst": "lost_all",
        "alone": "not_connected",
        "other": "not_connected",
    }
    assert board["best"].rating.low < math.inf == board["best"].rating.high
    assert board["worst"].rating.low == -math.inf
    text = str(board)
    for line in (
        "no rating: it has won all of its battles with rated systems",
        "no rating: it has no battle with a rated system",
        "Ratings are estimated from the 600 battles of rated systems.",
    ):
        assert line in text
    # More wins are a higher limit; relative to another system it moves with it.
    more = cal.pairs(extended(*[("best", "s0", "a")] * 9))
    assert more["best"].rating.low > board["best"].rating.low
    fixed = cal.pairs(table, reference="s0")
    assert fixed["best"].rating.low != board["best"].rating.low


@pytest.mark.parametrize(("wins", "limit"), [(1, -636.4), (5, -15.2), (20, 277.4)])
def test_a_system_that_always_wins(wins: int, limit: float) -> None:
    board = cal.pairs(votes(wins, 0, 0), reference="old")
    assert board["new"].rating.low - 1000 == pytest.approx(limit, abs=0.5)
    assert "Only old has a rating, to which limits are relative." in str(board)
    assert cal.pairs(votes(wins, 0, 0)).reference in ("new", "old")


def test_wins_and_ties_alone_have_no_ratings_by_models_of_ties() -> None:
    board = cal.pairs(votes(3, 0, 2))
    assert {next(iter(row.rating.undefined)) for row in board} == {"ties_undetermined"}
    assert "No system has a rating." in str(board)
    assert "the model 'half' does" in str(board)
    half = cal.pairs(votes(3, 0, 2), ties="half")
    assert half["new"].rating.value > half["old"].rating.value
    ties = cal.pairs(votes(0, 0, 8), ties="half")
    assert ties["new"].rating.value == ties["old"].rating.value == 1000
    # No score of eight ties varies; by the model each has the information 1/4 on the difference.
    half_width = 1.959964 * 400 / math.log(10) * math.sqrt(1 / (8 / 4)) / 2
    rating = ties["new"].rating
    assert (rating.low, rating.high) == pytest.approx((1000 - half_width, 1000 + half_width))
    assert rating.method == "sandwich or model (larger), normal"


def crowded(n_users: int, n_battles: int, generator: np.random.Generator) -> dict[str, Any]:
    """Battles of four systems by 60 users, and of a new one by a few of these."""
    tastes = generator.normal(size=(60, 5))
    pairs = [(u, *generator.choice(4, 2, replace=False)) for u in range(60) for _ in range(8)]
    pairs += [(m % n_users, 4, generator.integers(4)) for m in range(n_battles)]
    outcomes = []
    for user, first, second in pairs:
        d = tastes[user, first] - tastes[user, second]
        odds = np.array([math.exp(d / 2), 0.6, math.exp(-d / 2)])
        outcomes.append(generator.choice(["model_a", "tie", "model_b"], p=odds / odds.sum()))
    names = ["a", "b", "c", "d", "new"]
    return {
        "user": [user for user, _, _ in pairs],
        "model_a": [names[first] for _, first, _ in pairs],
        "model_b": [names[second] for _, _, second in pairs],
        "winner": outcomes,
    }


def test_a_system_with_battles_of_few_clusters() -> None:
    """Its errors have the degrees of freedom of its own clusters."""
    boards = [
        cal.pairs(crowded(2, 40, np.random.default_rng(s)), cluster="user") for s in range(40)
    ]
    ratings = [board["new"].rating for board in boards if board["new"].is_rated]
    assert ratings[0].method == "sandwich or model (larger), Student t, 2 clusters"
    # The truth is 1000; with the degrees of freedom of all 60 clusters 72 of 100 covered it.
    assert sum(rating.low <= 1000 <= rating.high for rating in ratings) >= 0.93 * len(ratings)
    assert boards[0]["a"].rating.method == "sandwich, Student t, 60 clusters"
    remark = next(line for line in str(boards[0]).splitlines() if line.startswith("new "))
    assert remark.rstrip().endswith("sandwich or model (larger), Student's t, 2 clusters")
    alone = cal.pairs(crowded(1, 40, np.random.default_rng(3)), cluster="user")
    assert alone["new"].rating.interval_reason == "too_few_clusters"
    assert (alone["new"].rank_low, alone["new"].rank_high) == (1, 5)
    assert "no interval: fewer than two clusters" in str(alone)


def test_the_reference_does_not_change_ranks() -> None:
    table = crowded(9, 60, np.random.default_rng(1))
    ranks = {
        tuple((row.rank_low, row.rank_high) for row in sorted(board, key=lambda row: row.system))
        for reference in (None, "a", "b", "new")
        for board in [cal.pairs(table, cluster="user", reference=reference)]
    }
    assert len(ranks) == 1


@pytest.mark.parametrize("options", [{}, {"cluster": "user"}, {"weight": "user"}, {"ties": "half"}])
def test_one_battle(options: dict[str, Any]) -> None:
    board = cal.pairs(votes(1, 0, 0, user=[3]), **options)
    assert len(board) == 2
    assert len(board.rated) == 1
    assert "to which limits are relative" in board.to_html()


# ------------------------------------------------------------------------------------ the document


def test_the_document_in_all_formats(tmp_path: Path) -> None:
    board = cal.pairs(extended(("best", "s0", "a")), position=True)
    again = cal.from_json(board.to_json())
    assert again == board or again.to_json() == board.to_json()
    assert isinstance(again, cal.Leaderboard)
    for text in (
        board.to_text(),
        board.to_markdown(),
        board.to_latex(),
        board.to_html(),
        str(again),
    ):
        for word in ("s0", "best", "expected score", "position"):
            assert word in text
    assert r"$\nu$" in board.to_latex()
    assert "≥" in board.to_text()
    board.to_html(tmp_path / "page.html")
    assert "<svg" in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "s0" in board._repr_html_()
    assert json.loads(board.to_json())["rows"][-1]["rating"]["high"] == "inf"
    assert [row["system"] for row in board.rows()] == list(board.systems)
    assert board[0] is board["s0"] is board["S0"]
    with pytest.raises(KeyError, match="there is no system 'x'"):
        board["x"]
    with pytest.raises(cal.InputError, match="reference: there is no system 'x'"):
        cal.from_json(json.dumps({**board.to_dict(), "reference": "x"}))


def test_the_provenance_says_what_was_read(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    pd.DataFrame(arena()).to_csv(path, index=False)
    board = cal.pairs(path, cluster="user", seed=3)
    (origin,) = board.provenance["inputs"]
    assert origin["path"] == str(path)
    assert len(origin["sha256"]) == 64
    assert board.provenance["seed"] == 3
    assert board.provenance["conventions"]["cluster"] == "user"


def test_the_sentence_is_the_finding_and_notes_explain_the_scale() -> None:
    board = cal.pairs({"model_a": ["a", "b"] * 20, "model_b": ["b", "a"] * 20,
                       "winner": ["model_a", "model_b", "model_b", "tie"] * 10})  # fmt: skip
    assert (
        board.sentence == "No system is significantly better than all others: a and b may be first."
    )
    page = board.to_html()
    for note in ("400 points more are odds of 10 to 1.", "All ranks are covered together"):
        assert note in str(board)
        assert page.index('id="notes"') < page.index(note)


@pytest.mark.parametrize("battles", [None, 3])
def test_what_is_no_table_is_refused(battles: Any) -> None:
    with pytest.raises(cal.InputError, match=r"battles: .* is not a table; expected a path"):
        cal.pairs(battles)
