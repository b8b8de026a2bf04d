"""Findings on what systems say row by row: the same twice, too good, or some rows twice."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

import calipers as cal
from calipers.findings import RULES, Subject
from calipers.findings.comparisons import ComparisonResults
from calipers.findings.duplicates import MAX_EXAMINED_ROWS, RowOutputs, _sample_by_value
from calipers.results import Comparison, Evaluation

NAMES = np.array(["a", "b", "c"])
DUPLICATED = RULES["calipers.findings.duplicates.duplicated_rows"]
REVERSED = RULES["calipers.findings.comparisons.simpsons_paradox"]


def kinds(evaluation: Evaluation) -> set[str]:
    """Those that are found."""
    return {f.kind for f in evaluation.findings}


def scored(rng: np.random.Generator, rows: int = 400) -> tuple[Any, Any]:
    """Truth and scores."""
    truth = np.arange(rows) % 2
    return truth, truth + rng.normal(size=rows)


def classified(truth: Any, **options: Any) -> Evaluation:
    """Without curves."""
    return cal.classification(truth, curves=False, n_resamples=200, **options)


def test_identical_systems() -> None:
    rng = np.random.default_rng(0)
    truth, score = scored(rng)
    ev = classified(truth, score={"x": score, "y": score + 1e-9, "z": score.copy()})
    [same] = [f for f in ev.findings if f.kind == "identical-systems"]
    assert same.systems == ("x", "z")
    assert same.severity == "warning"
    number = rng.normal(size=50)
    ev = cal.regression(number, {"x": number + 1, "y": number + 1})
    assert "identical-systems" in kinds(ev)


@pytest.mark.parametrize(("wrong", "there"), [(19, False), (20, True)])
def test_answers_that_are_the_same(wrong: int, there: bool) -> None:
    truth = np.arange(100) % 2
    said = np.where(np.arange(100) < wrong, 1 - truth, truth)
    two = classified(truth, predicted={"x": said, "y": said}, positive=1)
    assert ("identical-systems" in kinds(two)) == there
    several = classified(NAMES[truth], predicted={"x": NAMES[said], "y": NAMES[said]}, labels=NAMES)
    assert ("identical-systems" in kinds(several)) == there
    sets = np.eye(2, dtype=int)[truth], np.eye(2, dtype=int)[said]
    of_sets = cal.multilabel(sets[0], {"x": sets[1], "y": sets[1]}, curves=False, n_resamples=200)
    assert ("identical-systems" in kinds(of_sets)) == there


def test_identical_runs() -> None:
    rng = np.random.default_rng(1)
    qrels = {str(t): {f"d{i}": i % 2 for i in range(8)} for t in range(10)}
    run = {t: {d: float(rng.normal()) for d in of} for t, of in qrels.items()}
    twice = {t: {d: 2 * x for d, x in of.items()} for t, of in run.items()}
    other = {t: {d: float(rng.normal()) for d in of} for t, of in qrels.items()}
    ev = cal.retrieval(qrels, {"x": run, "y": other, "z": twice}, measures=["AP"])
    assert [f.systems for f in ev.findings if f.kind == "identical-systems"] == [("x", "z")]


@pytest.mark.parametrize("rows", [182, 183])
def test_too_good_to_be_true(rows: int) -> None:
    # The exact lower limit of a share of n of n is 0.025^(1/n).
    there = 0.025 ** (1 / rows) > 0.98
    assert there == (rows == 183)
    truth = np.arange(rows) % 2
    assert ("perfect-separation" in kinds(classified(truth, predicted=truth, positive=1))) == there
    score = truth + np.linspace(0, 0.9, rows)
    assert ("perfect-separation" in kinds(classified(truth, score=score))) == there
    three = NAMES[np.arange(rows) % 3]
    assert ("perfect-separation" in kinds(classified(three, predicted=three))) == there
    sets = np.eye(3, dtype=int)[np.arange(rows) % 3]
    of_sets = cal.multilabel(sets, sets, curves=False, n_resamples=200)
    assert ("perfect-separation" in kinds(of_sets)) == there


def test_one_error_is_enough_not_to_be_perfect() -> None:
    truth = np.arange(1000) % 2
    score = truth + np.linspace(0, 0.9, 1000)
    assert "perfect-separation" not in kinds(classified(truth, score=np.append(score[:-1], 0.0)))
    rare = np.arange(1000) < 10
    assert "perfect-separation" not in kinds(classified(rare, score=rare * 1.0, positive=True))


def repeated(rows: int, again: int) -> Any:
    """Places of rows, the first of which stand there twice."""
    return np.random.default_rng(2).permutation(np.append(np.arange(rows), np.arange(again)))


def test_rows_that_are_given_twice() -> None:
    rng, places = np.random.default_rng(3), repeated(400, 40)
    truth, score = scored(rng)
    other = rng.normal(size=400)
    ev = classified(truth[places], score={"x": score[places], "y": other[places]})
    [found] = [f for f in ev.findings if f.kind == "duplicated-rows"]
    assert found.values["proportion"] == pytest.approx(40 / 440)
    number = rng.normal(size=400)
    assert "duplicated-rows" in kinds(cal.regression(number[places], score[places]))
    shares = rng.dirichlet(np.ones(3), 400)
    codes = (rng.random((400, 1)) > shares.cumsum(axis=1)).sum(axis=1)
    made = classified(NAMES[codes[places]], probability=shares[places], labels=NAMES)
    assert "duplicated-rows" in kinds(made)
    sets = rng.random((400, 3)) < 0.4
    of_sets = cal.multilabel(
        sets[places].astype(int), score=(sets + rng.normal(size=(400, 3)))[places], curves=False
    )
    assert "duplicated-rows" in kinds(of_sets)
    # Where a cluster is named, or another system tells them apart, they are no repetition.
    assert "duplicated-rows" not in kinds(
        classified(truth[places], score=score[places], cluster=places)
    )
    apart = {"x": score[places], "y": rng.normal(size=440)}
    assert "duplicated-rows" not in kinds(classified(truth[places], score=apart))


@pytest.mark.parametrize("leaves", [400, 2000])
def test_scores_that_tie_by_chance_are_no_repetition(leaves: int) -> None:
    rng, spoken = np.random.default_rng(4), 0
    for _ in range(200):
        chance = rng.integers(leaves, size=300) / leaves
        of = RowOutputs(rng.random(300) < chance, {"x": [chance]}, {}, False)
        spoken += bool(list(DUPLICATED.findings(Subject(None, 0.95, (of,)))))
    assert spoken <= stats.binom.ppf(0.999, 200, 0.05)


def test_of_very_many_rows_some_are_looked_at() -> None:
    rng, rows = np.random.default_rng(5), 3 * MAX_EXAMINED_ROWS
    truth, score = scored(rng, rows)
    places = np.append(np.arange(rows), np.arange(rows // 20))
    of = RowOutputs(truth[places], {"x": [score[places]]}, {}, False)
    [found] = DUPLICATED.findings(Subject(None, 0.95, (of,)))
    assert found.values["proportion"] == pytest.approx(1 / 21, rel=0.1)
    assert found.values["examined rows"] == pytest.approx(MAX_EXAMINED_ROWS, rel=0.1)


def large_tables(rows: int) -> dict[str, Callable[[], Evaluation]]:
    """Evaluations whose first column has few distinct values."""
    rng = np.random.default_rng(6)
    truth, score = scored(rng, rows)
    stars, guess = rng.integers(1, 6, (2, rows))
    shares = rng.dirichlet(np.ones(3), rows).round(2)
    shares[:, 2] = 1 - shares[:, :2].sum(axis=1)
    names = NAMES[shares.argmax(axis=1)]
    rounded = {"tenths": score.round(1), "digits": score.round(4), "whole": score}
    return {
        "two classes": lambda: classified(truth, score=rounded),
        "three classes": lambda: classified(names, probability=shares, labels=NAMES),
        "ratings": lambda: cal.regression(stars, {"a": guess, "b": guess.astype(float)}),
        "mixed": lambda: cal.regression(score, {"a": score.round(1), "b": score + 1.0}),
        "labels": lambda: cal.multilabel(
            np.eye(3, dtype=int)[shares.argmax(axis=1)], probability=shares, curves=False
        ),
    }


@pytest.mark.parametrize("task", large_tables(1))
def test_of_very_many_rows_columns_may_have_few_values(task: str) -> None:
    # Some of the rows are looked at, and columns of few values are passed over.
    evaluation = large_tables(MAX_EXAMINED_ROWS + 20_000)[task]()
    assert evaluation.estimates
    assert "duplicated-rows" not in kinds(evaluation)


def test_of_very_many_rows_a_column_of_few_values_hides_no_repetition() -> None:
    rng, rows = np.random.default_rng(7), 2 * MAX_EXAMINED_ROWS
    truth, score = scored(rng, rows)
    places = np.append(np.arange(rows), np.arange(rows // 10))
    said = {"tenths": [score[places].round(1)], "score": [score[places]]}
    of = RowOutputs(truth[places], said, {}, False)
    [found] = DUPLICATED.findings(Subject(None, 0.95, (of,)))
    assert found.values["proportion"] == pytest.approx(1 / 11, rel=0.1)


def test_both_zeros_are_in_a_sample_together() -> None:
    key = np.append(np.zeros(MAX_EXAMINED_ROWS), np.arange(2 * MAX_EXAMINED_ROWS, dtype=float))
    key[::2] *= -1
    sample = _sample_by_value(key)
    assert (key[sample] == 0).sum() in (0, MAX_EXAMINED_ROWS + 1)
    assert 0.2 < len(sample) / len(key) < 0.7


def by_site(rng: np.random.Generator, better: float) -> Evaluation:
    """A system that knows the site, and one that knows more of the rows within each."""
    north = rng.integers(0, 2, 1000)
    truth = (rng.random(1000) < np.where(north, 0.9, 0.1)).astype(int)
    noise = rng.normal(size=1000)
    score = {"site": 0.8 * truth + 4 * north + noise, "rows": (0.8 + better) * truth + noise}
    score["rows"] += 0.3 * rng.normal(size=1000)
    return classified(truth, score=score, slices={"north": north}, measures=["AUC"])


def test_a_difference_that_is_reversed_in_every_slice() -> None:
    ev = by_site(np.random.default_rng(6), 0.8)
    [found] = [f for f in ev.findings if f.kind == "simpsons-paradox"]
    assert found.values["difference"] * found.values["mean difference within slices"] < 0
    # By hand: the mean over slices, by their rows.
    at = {(x.slice, x.estimate.system): x.estimate for x in ev.slices}
    rows = {name: at[name, "site"].n for name in ("0", "1")}
    gaps = {name: at[name, "rows"].value - at[name, "site"].value for name in rows}
    mean = sum(rows[name] * gaps[name] for name in rows) / 1000
    assert found.values["mean difference within slices"] == pytest.approx(
        mean if found.systems[0] == "rows" else -mean
    )
    low, high = found.intervals["mean difference within slices"]
    assert low > 0 or high < 0


def test_a_slice_without_an_interval_can_prevent_a_reversal() -> None:
    ev = by_site(np.random.default_rng(6), 0.8)
    assert ev.comparison is not None
    assert ev.slices is not None

    def n_found(better: str) -> int:
        assert ev.slices is not None
        small = [
            replace(
                s,
                slice="small",
                estimate=replace(
                    s.estimate,
                    value=float(s.estimate.system == better),
                    low=math.nan,
                    high=math.nan,
                    n=1,
                ),
            )
            for s in ev.slices
            if s.slice == "0"
        ]
        slices = replace(ev.slices, all=(*ev.slices.all, *small))
        results = ComparisonResults(ev.comparison, slices)
        return len(list(REVERSED.findings(Subject(None, 0.95, (results,)))))

    assert n_found("rows") == 1
    assert n_found("site") == 0


def test_nothing_is_reversed_without_a_comparison() -> None:
    ev = by_site(np.random.default_rng(6), 0.8)
    results = ComparisonResults(Comparison(()), ev.slices)
    assert list(REVERSED.findings(Subject(None, 0.95, (results,)))) == []


@pytest.mark.slow
def test_slices_that_are_alike_within_are_seldom_reversed() -> None:
    spoken = sum(
        "simpsons-paradox" in kinds(by_site(np.random.default_rng([7, i]), 0.0)) for i in range(40)
    )
    assert spoken <= stats.binom.ppf(0.999, 40, 0.05)


def test_neighbouring_rows_that_err_alike() -> None:
    """Where nobody stated an order, of rows that are not sorted; with the count on paper."""
    random = np.random.default_rng(8)
    e = random.normal(size=366)
    for i in range(1, 366):
        e[i] = 0.8 * e[i - 1] + 0.6 * e[i]
    truth = random.normal(size=365)
    said = truth + e[1:]

    def found(**options: Any) -> list[Any]:
        made = cal.regression(truth, said, measures=["mean-error"], **options)
        return [f for f in made.findings if f.kind == "neighbors-alike"]

    [one] = found()
    assert one.values["rows"] == 365
    r = np.corrcoef(e[1:-1], e[2:])[0, 1]
    assert one.values["lag-1 autocorrelation"] == pytest.approx(r, abs=0.01)
    rho = one.values["lag-1 autocorrelation"]
    rho += (1 + 3 * rho) / 365
    assert one.values["effective sample size"] == pytest.approx(365 * (1 - rho) / (1 + rho))
    assert "Pass time= or cluster=." in one.message
    assert not found(time=np.arange(365))
    assert not found(cluster=np.arange(365) // 20)
    assert not found(count=np.full(365, 2))
    order = random.permutation(365)
    truth, said = truth[order], said[order]
    assert not found()
    order = np.argsort(truth)  # all rows of small truth first, and their predictions alike
    truth = truth[order]
    said = truth * 0.5
    assert not found()


@pytest.mark.slow
def test_neighbours_are_no_more_often_alike_than_they_may_be() -> None:
    random, n = np.random.default_rng(9), 0
    for _ in range(150):
        truth = random.normal(size=60)
        ev = cal.regression(truth, truth + random.normal(size=60), measures=["MAE"], curves=False)
        n += any(f.kind == "neighbors-alike" for f in ev.findings)
    assert n <= 6
