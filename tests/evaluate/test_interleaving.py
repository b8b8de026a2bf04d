"""Interleaving: against every assignment of documents to rankers, and other forms of a log."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import calipers as cal
from calipers.measures.interleaving import contribution_probabilities
from calipers.statistics.interleaving import ImpressionCredits

DOCUMENTS = ["a", "b", "c", "d"]


def team_log(n: int = 80, seed: int = 0, edge: float = 0.1) -> list[dict[str, Any]]:
    random = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        first = ["new", "old"] if random.random() < 0.5 else ["old", "new"]
        team = first + first[::-1]
        clicks = [
            d for d, t in zip(DOCUMENTS, team, strict=True)
            if random.random() < 0.3 + edge * (t == "new")
        ]  # fmt: skip
        rows.append({"documents": DOCUMENTS, "team": team, "clicks": clicks, "user": i // 4})
    return rows


def outcomes(rows: list[dict[str, Any]]) -> np.ndarray:
    """1, 0 or -1 of each impression, counted one by one."""
    found = []
    for row in rows:
        by_document = dict(zip(row["documents"], row["team"], strict=True))
        new = sum(by_document[d] == "new" for d in row["clicks"])
        found.append(np.sign(new - sum(by_document[d] == "old" for d in row["clicks"])))
    return np.array(found, float)


# -------------------------------------------------------------------------------------- team draft


def test_team_draft_counts_impressions() -> None:
    rows = team_log()
    expected = outcomes(rows)
    ev = cal.interleaving(rows, baseline="old")
    assert ev["new", "preference"].value == pytest.approx((expected + 1).mean() / 2)
    assert ev["old", "preference"].value == pytest.approx((1 - expected).mean() / 2)
    difference = ev.comparison["preference"]
    assert (difference.wins, difference.losses) == ((expected > 0).sum(), (expected < 0).sum())
    # Chapelle et al.: Δ = (wins + ties/2)/all − ½, half of the difference.
    delta = ((expected > 0) + (expected == 0) / 2).mean() - 0.5
    assert difference.value == pytest.approx(2 * delta)
    clicks = sum(len(row["clicks"]) for row in rows) / len(rows)
    assert ev["new", "credit"].value + ev["old", "credit"].value == pytest.approx(clicks)
    assert ev.per_unit.values["new"]["preference"].tolist() == ((expected + 1) / 2).tolist()
    swapped = cal.interleaving(rows, baseline="new").comparison["preference"]
    assert swapped.value == pytest.approx(-difference.value)
    assert swapped.p == pytest.approx(difference.p)


def test_the_sign_test_is_that_of_decided_impressions() -> None:
    from scipy.stats import binomtest

    rows = team_log(edge=0.3)
    expected = outcomes(rows)
    ev = cal.interleaving(rows, baseline="old")
    wins, losses = int((expected > 0).sum()), int((expected < 0).sum())
    p = binomtest(wins, wins + losses).pvalue
    signs = ev.compare(baseline="old", test="sign")
    assert signs["preference"].p == pytest.approx(p)


def test_monitoring_gives_the_same_preference() -> None:
    rows = team_log(400, edge=0.3)
    ev = cal.interleaving(rows, baseline="old")
    preferences = ev.per_unit.values["new"]["preference"]
    result = cal.monitor(preferences, target=0.5, stop=False)
    pairs = cal.monitor(outcomes(rows), pairs=True, stop=False)
    assert result.last.value == pytest.approx(ev["new", "preference"].value)
    assert result.decided_at == pairs.decided_at is not None
    assert 2 * result.last.low - 1 == pytest.approx(pairs.last.low)


def test_a_row_for_each_document_is_the_same(tmp_path: Path) -> None:
    rows = team_log()
    ev = cal.interleaving(rows, cluster="user")
    long = pd.DataFrame(
        [
            {"id": i, "team": t, "clicked": int(d in row["clicks"]), "user": row["user"]}
            for i, row in enumerate(rows)
            for d, t in zip(row["documents"], row["team"], strict=True)
        ]
    )
    long.to_csv(tmp_path / "log.csv", index=False)
    (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, rows)))
    pd.DataFrame(rows).to_parquet(tmp_path / "log.parquet")
    options = {"impression": "id", "clicks": "clicked", "cluster": "user"}
    for again in (
        cal.interleaving(tmp_path / "log.csv", **options),
        cal.interleaving(long, **options),
        cal.interleaving(tmp_path / "log.jsonl", cluster="user"),
        cal.interleaving(tmp_path / "log.parquet", cluster="user"),
    ):
        for one, other in zip(again, ev, strict=True):
            expected = other.value, other.low, other.high
            assert (one.value, one.low, one.high) == pytest.approx(expected)
        assert again.comparison["preference"].p == pytest.approx(ev.comparison["preference"].p)
    independent = cal.interleaving(rows)
    assert independent.comparison["preference"].method != ev.comparison["preference"].method


def test_documents_without_a_ranker_are_credited_to_neither() -> None:
    row = {"documents": ["a", "b", "c"], "team": [None, "x", "y"], "clicks": ["a", "b"]}
    ev = cal.interleaving([row, row, {**row, "clicks": ["a"]}], baseline="x")
    assert ev["x", "credit"].value == pytest.approx(2 / 3)
    assert ev["y", "preference"].value == pytest.approx((0 + 0 + 0.5) / 3)


def test_a_coin_that_is_not_fair_is_noted() -> None:
    row = {"documents": ["a", "b"], "team": ["new", "old"], "clicks": ["a"]}
    ev = cal.interleaving([row] * 20, baseline="old")
    assert any("at the top is from new in 20 and from old in 0" in note for note in ev.notes)
    assert not any("at the top" in note for note in cal.interleaving(team_log()).notes)


# ----------------------------------------------------------------------------------- probabilistic


def assignments(
    shown: list[str], first: list[str], second: list[str], tau: float
) -> dict[tuple[int, ...], float]:
    """The probability of each assignment of documents to rankers, together with the list."""
    found = {}
    for coins in itertools.product((0, 1), repeat=len(shown)):
        chance = 1.0
        for rank, (document, coin) in enumerate(zip(shown, coins, strict=True)):
            ranking = (first, second)[coin]
            weights = {
                d: 1 / (r + 1) ** tau for r, d in enumerate(ranking) if d not in shown[:rank]
            }
            chance *= 0.5 * weights.get(document, 0.0) / sum(weights.values()) if weights else 0
        found[coins] = chance
    return found


@pytest.mark.slow
@pytest.mark.parametrize("tau", [1.0, 3.0])
def test_credit_is_that_of_all_assignments(tau: float) -> None:
    random = np.random.default_rng(2)
    for _ in range(12):
        first, second = (random.permutation(list("abcdef"))[:5].tolist() for _ in range(2))
        pool = list(dict.fromkeys(first + second))
        shown = random.permutation(pool)[:4].tolist()
        weights = assignments(shown, first, second, tau)
        total = sum(weights.values())
        if not total:
            continue
        clicked = [i for i in range(4) if random.random() < 0.6]
        contributed = contribution_probabilities(shown, first, second, tau)
        for i in range(4):
            expected = sum(w for coins, w in weights.items() if coins[i]) / total
            assert contributed[i] == pytest.approx(expected, abs=1e-9)
        win = loss = 0.0
        for coins, w in weights.items():
            margin = sum(2 * coins[i] - 1 for i in clicked)
            win, loss = win + w * (margin > 0), loss + w * (margin < 0)
        row = {"documents": shown, "clicks": [shown[i] for i in clicked], "x": first, "y": second}
        ev = cal.interleaving([row, row], rankings=["x", "y"], tau=tau)
        expected = (win + (total - win - loss) / 2) / total
        assert ev["y", "preference"].value == pytest.approx(expected, abs=1e-9)
        assert ev["x", "preference"].value == pytest.approx(1 - expected, abs=1e-9)
        other = cal.interleaving([row, row], rankings=["x", "y"], tau=tau, baseline="y")
        assert other.comparison["preference"].value == pytest.approx(1 - 2 * expected, abs=1e-9)


@pytest.mark.slow
def test_random_clicks_prefer_neither() -> None:
    """The expectation over all lists and assignments is a half, if every document is clicked."""
    first, second = ["a", "b", "c"], ["c", "a", "b"]
    mean = total = 0.0
    for shown in itertools.permutations("abc", 3):
        chance = sum(assignments(list(shown), first, second, 3.0).values())
        for position in range(3):
            row = {"documents": shown, "clicks": [shown[position]], "x": first, "y": second}
            ev = cal.interleaving([row], rankings=["x", "y"])
            mean += chance / 3 * ev["y", "preference"].value
            total += chance / 3
    assert total == pytest.approx(1)
    assert mean == pytest.approx(0.5)


def test_ties_of_expected_clicks() -> None:
    credits_ = ImpressionCredits.from_probabilities(("1", "2"), [[0.5, 0.5], []])
    assert credits_.win.tolist() == [0.25, 0]
    assert credits_.loss.tolist() == [0.25, 0]
    assert math.isnan(contribution_probabilities(["z"], ["a"], ["b"], 3.0)[0])


def test_a_document_of_one_ranking_has_no_credit_in_the_other() -> None:
    shown = ["a", "x", "b", "y"]
    assert contribution_probabilities(shown, ["a", "b"], ["x", "y"], 3.0) == [0, 1, 0, 1]
    rows = [{"documents": shown, "clicks": ["a", "b"], "p": ["a", "b"], "q": ["x", "y"]}] * 10
    ev = cal.interleaving(rows, rankings=["p", "q"])
    assert (ev["p", "credit"].value, ev["q", "credit"].value) == (2, 0)


# ------------------------------------------------------------------------------------------ errors


ROW = {"documents": ["a", "b"], "team": ["x", "y"], "clicks": ["a"]}


@pytest.mark.parametrize(
    ("row", "options", "message"),
    [
        ({"clicks": ["z"]}, {}, "data: row 1: 'clicks' has 'z', which was not displayed"),
        ({"clicks": "a"}, {}, "data: row 1: 'clicks' is 'a', expected a list"),
        ({"team": ["x"]}, {}, "data: row 1: 'team' has 1 entries, expected one for each of the 2"),
        ({"documents": ["a", "a"]}, {}, "data: row 1: 'documents' has the document 'a' twice"),
        ({"team": ["x", "z"]}, {}, "expected the names of two rankers, found 3: 'x', 'y', 'z'"),
        ({}, {"baseline": "q"}, "baseline 'q' is not a ranker"),
        ({}, {"tau": 0}, "tau is 0, expected a positive number"),
        ({}, {"rankings": ["x"]}, "rankings: expected the names of two columns, found 1"),
        ({}, {"rankings": ["x", "y"], "impression": "id"}, "impression: rows of documents are of"),
        ({}, {"rankings": ["x", "w"]}, "data: row 0: no column 'x'"),
        (
            {"clicks": None},
            {},
            "data: row 1: 'clicks' is missing, expected a list, which is empty if",
        ),
        ({"clicks": math.nan}, {}, "data: row 1: 'clicks' is missing, expected a list"),
        ({"documents": ["a", None]}, {}, "data: row 1: 'documents' has a missing document"),
        (
            {},
            {"tau": 2},
            "tau is 2, but is about probabilistic interleaving: rankings= is not given",
        ),
        ({}, {"clicks": "click"}, "data: row 0: no column 'click'; did you mean 'clicks'?"),
    ],
)
def test_errors_name_the_row(row: dict[str, Any], options: dict[str, Any], message: str) -> None:
    with pytest.raises(cal.InputError) as caught:
        cal.interleaving([ROW, {**ROW, **row}], **options)
    assert message in str(caught.value)


def test_more_errors() -> None:
    with pytest.raises(cal.InputError, match="there are no impressions"):
        cal.interleaving([])
    row = {"documents": ["z"], "clicks": [], "x": ["a"], "y": ["b"]}
    with pytest.raises(cal.InputError, match="document 'z' was displayed, but is in no ranking"):
        cal.interleaving([row], rankings=["x", "y"])
    long = {"id": [1, 1], "team": ["a", "b"], "clicks": [1, -1]}
    with pytest.raises(cal.InputError, match="data: row 1: -1 is not a number of clicks"):
        cal.interleaving(long, impression="id")
    users = {"id": [1, 1], "team": ["a", "b"], "clicks": [1, 0], "user": [1, 2]}
    with pytest.raises(cal.InputError, match="impression '1' is of several clusters: 1, 2"):
        cal.interleaving(users, impression="id", cluster="user")


FLAT = [{"id": k, "documents": d, "team": t, "clicks": int(d == "a")}
        for k in range(2) for d, t in zip("abc", "xyx", strict=True)]  # fmt: skip


@pytest.mark.parametrize(
    ("row", "options", "message"),
    [
        ({"id": None}, {}, "data: row 4: 'id' is missing, expected the impression"),
        ({"id": math.nan}, {}, "data: row 4: 'id' is missing"),
        ({"id": " "}, {}, "data: row 4: 'id' is missing"),
        ({"clicks": 0.5}, {}, "data: row 4: 0.5 is not a number of clicks, expected 0, 1, 2"),
        ({"clicks": math.inf}, {}, "data: row 4: inf is not a number of clicks"),
        ({"clicks": None}, {}, "data: row 4: None is not a number of clicks"),
        ({"documents": "a"}, {}, "data: row 4: 'documents' has the document 'a' of impression '1' again"),
        ({"documents": None}, {}, "data: row 4: 'documents' is missing, expected the document"),
        ({}, {"documents": "doc"}, "no column 'doc'"),
    ],
)  # fmt: skip
def test_errors_name_the_row_of_a_document(
    row: dict[str, Any], options: dict[str, Any], message: str
) -> None:
    rows = [{**r, **(row if k == 4 else {})} for k, r in enumerate(FLAT)]
    with pytest.raises(cal.InputError) as caught:
        cal.interleaving(rows, impression="id", **options)
    assert message in str(caught.value)


def test_an_empty_impression_of_csv_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("id,team,clicks\n1,x,1\n,y,0\n")
    with pytest.raises(cal.InputError, match=r"log.csv:3: 'id' is missing"):
        cal.interleaving(path, impression="id")


def test_an_impression_that_was_logged_twice_is_refused() -> None:
    assert cal.interleaving(FLAT, impression="id")["x", "credit"].n == 2
    with pytest.raises(cal.InputError, match="row 6: 'documents' has the document 'a'"):
        cal.interleaving(FLAT + FLAT, impression="id")
