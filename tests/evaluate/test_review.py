"""Recall of reviews: against SciPy's distributions, loops over documents, and simulated samples."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import calipers as cal
from calipers.cli.group import cli
from calipers.inference.proportions import hypergeometric_limits, upper_quantile_rank
from calipers.results import Evaluation, from_json


def drawn(
    seed: int,
    size: int = 3000,
    relevant: int = 200,
    n_sampled: int = 600,
    end: int = 2000,
    batch: int = 1,
) -> tuple[dict[str, Any], np.ndarray]:
    """A review of ``end`` documents with a control set, and the relevance of the whole order."""
    random = np.random.default_rng(seed)
    truth = np.zeros(size, int)
    truth[:relevant] = 1
    truth = truth[np.argsort(-(random.normal(size=size) + 3 * truth))]
    sampled = np.isin(np.arange(size), random.choice(size, n_sampled, replace=False)).astype(int)
    rank = np.where(np.arange(size) < end, np.arange(size) // batch + 1.0, np.nan)
    judged = (sampled == 1) | (rank > 0)
    order = random.permutation(int(judged.sum()))  # rows may come in any order
    columns = {"relevant": truth, "sampled": sampled, "rank": rank}
    return {name: column[judged][order] for name, column in columns.items()}, truth


def test_limits_of_a_finite_population() -> None:
    population, level, tail = 60, 0.93, 0.035
    for n in (1, 7, 30, 60):
        for hits in {0, 1, n // 2, n - 1, n}:
            kept = [
                total
                for total in range(hits, population - (n - hits) + 1)
                if stats.hypergeom.sf(hits - 1, population, total, n) > tail
                and stats.hypergeom.cdf(hits, population, total, n) > tail
            ]
            limits = hypergeometric_limits(hits, n, population, level)
            assert limits == (kept[0], kept[-1]), (n, hits)
    assert hypergeometric_limits(0, 0, 50, 0.95) == (0, 50)


def test_the_rank_of_qbcb() -> None:
    """Table 1 of Lewis, Yang and Frieder: 14 positives are the least for recall 0.8."""
    for goal, n in ((0.8, 14), (0.9, 29), (0.5, 5)):
        assert upper_quantile_rank(goal, n, 0.95) == n
        assert upper_quantile_rank(goal, n - 1, 0.95) is None
    for n in (20, 57, 200):
        rank = upper_quantile_rank(0.8, n, 0.95)
        assert rank is not None
        assert stats.binom.cdf(rank - 1, n, 0.8) >= 0.95 > stats.binom.cdf(rank - 2, n, 0.8)


def test_an_elusion_sample() -> None:
    ev = cal.review(
        [1, 0, 1, 0],
        [0, 0, 1, 1],
        [1, 1, None, None],
        count=[180, 820, 2, 398],
        collection_size=5000,
    )
    recall, elusion = ev["review", "recall"], ev["review", "elusion"]
    low, high = hypergeometric_limits(2, 400, 4000, 0.95)
    assert recall.value == pytest.approx(180 / (180 + 4000 * 2 / 400))
    assert (recall.low, recall.high) == pytest.approx((180 / (180 + high), 180 / (180 + low)))
    assert (elusion.value, elusion.low, elusion.high) == pytest.approx(
        (2 / 400, low / 4000, high / 4000)
    )
    assert ev["review", "reviewed"].value == 1000
    assert ev["review", "relevant-reviewed"].value == 180
    assert recall.unit == "sampled documents"
    assert recall.n == 400
    assert recall.method == "exact (hypergeometric)"


def test_counts_are_copies_of_rows() -> None:
    table = {"relevant": [2, 0, 1, 0, 0], "sampled": [0, 1, 0, 1, 1], "rank": [3, 1, 1, None, None]}
    counts = [3, 2, 5, 4, 1]
    copies = {
        name: [x for x, n in zip(column, counts, strict=True) for _ in range(n)]
        for name, column in table.items()
    }
    short = cal.review(**table, count=counts, collection_size=40, rules="all")
    long = cal.review(**copies, collection_size=40, rules="all")
    assert short.estimates == long.estimates
    graded = cal.review(**table, count=counts, rel=2, collection_size=40)
    assert graded["review", "relevant-reviewed"].value == 3


@pytest.mark.parametrize("batch", [1, 70])
def test_rules_that_look_at_the_sample(batch: int) -> None:
    columns, truth = drawn(1, batch=batch)
    ev = cal.review(**columns, collection_size=3000, rules=["QBCB", "target"], recall=0.7)
    order = np.argsort(columns["rank"], kind="stable")
    hits = (columns["relevant"] * columns["sampled"])[order]
    n = int(hits.sum())
    for rule, required in (("QBCB", upper_quantile_rank(0.7, n, 0.95)), ("target", n)):
        assert required is not None
        position = int(np.flatnonzero(hits.cumsum() == required)[0])
        end = (position // batch + 1) * batch
        reached = int(hits[:end].sum())
        found = ev[rule, "relevant-reviewed"]
        assert ev[rule, "reviewed"].value == end
        assert found.value == truth[:end].sum()
        recall = ev[rule, "recall"]
        assert recall.value == pytest.approx(reached / (n + 1))
        assert recall.low == pytest.approx(stats.beta.ppf(0.025, required, n - required + 1))
        high = 1.0 if reached == n else stats.beta.ppf(0.975, reached + 1, n - reached)
        assert recall.high == pytest.approx(high)
        elusion = ev[rule, "elusion"]
        total = found.value / recall.value
        assert elusion.value == pytest.approx((total - found.value) / (3000 - end))


def slope_ratio(found: list[int]) -> float:
    """Of the gain curve to here, at the point farthest from its chord."""
    n, last = len(found), found[-1]
    _, knee = max(((found[i - 1] * n - i * last, -i) for i in range(1, n)), default=(0, -1))
    return (
        (found[-knee - 1] / -knee) / ((last - found[-knee - 1] + 1) / (n + knee)) if n > 1 else 0.0
    )


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_rules_of_the_gain_curve(seed: int) -> None:
    columns, truth = drawn(seed, relevant=40 + 80 * seed)
    ev = cal.review(**columns, collection_size=3000, rules=["knee", "budget"])
    found = truth[:2000].cumsum().tolist()
    checks, n, size = [], 1, 1
    while n <= 2000:
        checks.append(n)
        size += math.ceil(size / 10)
        n += size
    knee = [
        n for n in checks if n >= 1000 and slope_ratio(found[:n]) >= 156 - min(found[n - 1], 150)
    ]
    budget = [
        n
        for n in checks
        if n >= 0.75 * 3000
        or (found[n - 1] and slope_ratio(found[:n]) >= 6 and n >= 10 * 3000 / found[n - 1])
    ]
    for rule, stops in (("knee", knee), ("budget", budget)):
        estimate = ev[rule, "reviewed"]
        if stops:
            assert estimate.value == stops[0]
            # All relevant documents of the review count, not only those up to the stop.
            ratio = ev[rule, "recall"].value / ev["review", "recall"].value
            assert ratio == pytest.approx(found[stops[0] - 1] / found[-1])
        else:
            assert math.isnan(estimate.value)
            assert set(estimate.undefined) == {"rule_not_reached"}
    assert budget
    assert knee or seed == 0


def test_without_the_size_of_the_collection() -> None:
    columns, _ = drawn(4)
    ev = cal.review(**columns, rules=["knee", "QBCB"])
    sampled = columns["sampled"] == 1
    n = int(columns["relevant"][sampled].sum())
    hits = int(columns["relevant"][sampled & (columns["rank"] > 0)].sum())
    recall = ev["review", "recall"]
    low, high = stats.beta.ppf([0.025, 0.975], [hits, hits + 1], [n - hits + 1, n - hits])
    assert (recall.value, recall.low, recall.high) == pytest.approx(
        (hits / n, low, high if hits < n else 1.0)
    )
    assert recall.method == "Clopper-Pearson"
    assert "elusion" not in ev.measures
    sized = cal.review(**columns, rules=["QBCB"], collection_size=3000)
    assert sized["QBCB", "recall"].value == ev["QBCB", "recall"].value


def test_nothing_relevant_and_nothing_left() -> None:
    def only(relevant: list[int], sampled: list[int], rank: list[Any], **size: Any) -> Any:
        return cal.review(relevant, sampled, rank, **size)["review", "recall"]

    none = only([0, 0, 0], [0, 0, 1], [1, 2, None], collection_size=9)
    assert set(none.undefined) == {"no_relevant"}
    assert set(only([1, 0], [0, 1], [1, 2]).undefined) == {"no_relevant"}
    missed = only([0, 1, 1], [1, 1, 1], [1, None, None])  # nothing relevant was reviewed
    assert missed.value == 0
    assert missed.interval_reason == "known_constant"
    all_reviewed = cal.review([1, 0], [1, 0], [1, 2], collection_size=2)
    assert all_reviewed["review", "recall"].value == 1
    assert all_reviewed["review", "recall"].interval_reason == "known_constant"
    assert set(all_reviewed["review", "elusion"].undefined) == {"everything_retrieved"}
    unknown = only([1, 0], [1, 0], [1, 2], collection_size=3)
    assert set(unknown.undefined) == {"nothing_sampled"}
    few = cal.review([1, 1, 0], [1, 0, 1], [1, 2, None], rules=["QBCB"])
    assert set(few["QBCB", "recall"].undefined) == {"too_few_relevant_in_sample"}


def test_a_review_that_ends_where_a_rule_stops() -> None:
    columns, _ = drawn(7)
    rule = cal.review(**columns, rules="QBCB")
    reviewed = columns["rank"] <= rule["QBCB", "reviewed"].value
    rank = np.where(reviewed, columns["rank"], np.nan)
    kept = reviewed | (columns["sampled"] == 1)
    ended = cal.review(
        columns["relevant"][kept],
        columns["sampled"][kept],
        rank[kept],
        rules="QBCB",
        collection_size=3000,
    )
    assert "The review ends where QBCB stops." in " ".join(ended.notes)
    assert ended["QBCB", "recall"] == rule["QBCB", "recall"]


@pytest.mark.slow
def test_intervals_hold_and_qbcb_reaches_its_recall() -> None:
    """Of 200 samples of one review: 95% less three standard errors of the count."""
    _, truth = drawn(0)
    rank = np.where(np.arange(3000) < 1200, np.arange(3000) + 1.0, np.nan)
    held, reached, n = dict.fromkeys(("review", "QBCB", "target"), 0), 0, 200
    stopped = dict.fromkeys(held, 0)
    for seed in range(n):
        random = np.random.default_rng([5, seed])
        sampled = np.isin(np.arange(3000), random.choice(3000, 400, replace=False)).astype(int)
        kept = (sampled == 1) | (rank > 0)
        ev = cal.review(
            truth[kept], sampled[kept], rank[kept], collection_size=3000, rules=["QBCB", "target"]
        )
        estimates = {(e.system, e.measure): e for e in ev.estimates}
        for rule in held:
            estimate = estimates[rule, "recall"]
            if math.isnan(estimate.value):
                continue
            recall = truth[: int(estimates[rule, "reviewed"].value)].sum() / 200
            held[rule] += estimate.low - 1e-9 <= recall <= estimate.high + 1e-9
            stopped[rule] += 1
            reached += rule == "QBCB" and recall >= 0.8
    for rule, count in held.items():
        assert stopped[rule] > 0.9 * n
        assert count / stopped[rule] >= 0.95 - 3 * math.sqrt(0.95 * 0.05 / n), rule
    assert reached / stopped["QBCB"] >= 0.95 - 3 * math.sqrt(0.95 * 0.05 / n)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "judged.csv"
    table.write_text(
        "batch,drawn,grade\n1,no,2\n1,yes,0\n2,no,1\n,yes,0\n,yes,1\n".replace("no", "0").replace(
            "yes", "1"
        )
    )
    arguments = [
        str(table), "--rank", "batch", "--sampled", "drawn", "--relevant", "grade", "--rule", "target",
        "--collection-size", "50", "--format", "json",
    ]  # fmt: skip
    cli(["review", *arguments], standalone_mode=False)
    printed = from_json(capsys.readouterr().out)
    assert isinstance(printed, Evaluation)
    made = cal.review("grade", "drawn", "batch", data=table, rules=["target"], collection_size=50)
    assert [e.value for e in printed.estimates] == pytest.approx(
        [e.value for e in made.estimates], nan_ok=True
    )
    assert printed.provenance["inputs"][0]["path"] == str(table)


def test_errors() -> None:
    def fails(message: str, *columns: Any, **options: Any) -> None:
        with pytest.raises(cal.InputError, match=message):
            cal.review(*columns, **options)

    fails(r"sampled: is 2 in row 1, expected 0 or 1", [1, 0], [1, 2], [1, 2])
    fails(r"rank: is missing in row 1, which is not in the sample", [1, 0], [1, 0], [1, None])
    fails(r"rank: no document was reviewed", [1, 0], [1, 1], [None, None])
    fails(r"sampled: no document is in the sample", [1, 0], [0, 0], [1, 2])
    fails(r"sampled: has 1 rows, relevant has 2", [1, 0], [0], [1, 2])
    fails(r"collection_size: is not given, but no sampled document was", [1, 0], [0, 1], [1, None])
    fails(
        r"collection_size is 2, but 3 documents",
        [1, 0, 0],
        [0, 1, 1],
        [1, None, None],
        collection_size=2,
    )
    fails(r"recall is 1, expected a number between 0 and 1", [1, 0], [1, 0], [1, 2], recall=1)
    fails(r"rules: 'knees' is not a rule; did you mean 'knee'", [1], [1], [1], rules="knees")
    fails(r"rules: budget needs collection_size=", [1], [1], [1], rules=["budget"])
    fails(
        r"rules: QBCB needs a sample of the coll",
        [1, 0],
        [0, 1],
        [1, None],
        rules="QBCB",
        collection_size=9,
    )
    ev = cal.review([1, 0], [1, 0], [1, 2])
    with pytest.raises(cal.InputError, match="the rules of a review stop the same review"):
        ev.compare("review")
