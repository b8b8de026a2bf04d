"""Scores of cases without a truth, beside values computed by hand, statsmodels and SciPy."""

from __future__ import annotations

import json
import math
import re
import warnings
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from pyarrow import csv, parquet
from scipy import stats
from scipy.optimize import minimize
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

import calipers as cal
from calipers.cli.group import cli
from calipers.data import streams
from calipers.data.frequency_weights import RowRepeats
from calipers.data.request_log import parse_score
from calipers.estimation.case_scores import VarianceComponents
from calipers.evaluation.shared import to_clusters
from calipers.measures import parse
from calipers.results import from_json
from calipers.statistics import LengthRows

ROWS, NO = 240, math.nan
RANDOM = np.random.default_rng(4)
EASE = RANDOM.normal(size=ROWS)
#: Verdicts of two systems, all given.
VERDICTS = {
    name: (EASE + RANDOM.normal(size=ROWS) > threshold).astype(int)
    for name, threshold in (("old", 0.2), ("new", -0.2))
}
#: Grades from 1 to 5, some of which the judge did not give.
GRADES = {
    name: np.clip(np.round(3.4 + shift + EASE + RANDOM.normal(0, 0.8, ROWS)), 1, 5)
    for name, shift in (("old", 0.0), ("new", 0.4))
}
STATUS = {name: RANDOM.choice(["", "error", "refused", "ok"], ROWS, p=[0.03, 0.02, 0.05, 0.9])
          for name in GRADES}  # fmt: skip
SCORES = {
    name: [str(int(x)) if s == "ok" else s for x, s in zip(GRADES[name], STATUS[name], strict=True)]
    for name in GRADES
}
ALL = ["mean-score", "median-score", "pass-rate@4", "win-rate"]


def given(name: str) -> np.ndarray:
    return np.asarray(GRADES[name][STATUS[name] == "ok"])


# --- Values and their intervals -------------------------------------------------------------------


def test_pass_rates_are_proportions_of_cases() -> None:
    ev = cal.scores(VERDICTS, baseline="old")
    for name, verdicts in VERDICTS.items():
        e = ev[name, "pass-rate"]
        limits = proportion_confint(verdicts.sum(), ROWS, method="wilson")
        assert (e.value, e.n, e.unit) == (verdicts.mean(), ROWS, "cases")
        assert (e.low, e.high) == pytest.approx(limits, abs=1e-12)


def test_a_difference_of_pass_rates_has_the_test_of_mcnemar() -> None:
    ev = cal.scores(VERDICTS, baseline="old")
    [d] = ev.compare(baseline="old", test="mcnemar")
    table = [[((VERDICTS["new"] == i) & (VERDICTS["old"] == k)).sum() for k in (0, 1)]
             for i in (0, 1)]  # fmt: skip
    assert d.p == pytest.approx(mcnemar(table, exact=True).pvalue, rel=1e-12)
    assert d.value == pytest.approx(VERDICTS["new"].mean() - VERDICTS["old"].mean())
    assert (d.wins, d.losses) == (table[1][0], table[0][1])


def test_it_is_the_accuracy_of_predictions_that_should_all_be_positive() -> None:
    """What such a table was given as, before there was a task for it."""
    ours = cal.scores(VERDICTS, baseline="old")
    theirs = cal.classification([1] * ROWS, VERDICTS, positive=1, measures=["accuracy"],
                                baseline="old")  # fmt: skip
    for name in VERDICTS:
        a, b = ours[name, "pass-rate"], theirs[name, "accuracy"]
        assert (a.value, a.low, a.high) == pytest.approx((b.value, b.low, b.high), abs=1e-12)
    assert ours.comparison is not None
    assert theirs.comparison is not None
    [c], [d] = ours.comparison, theirs.comparison
    assert (c.value, c.low, c.high, c.p) == pytest.approx((d.value, d.low, d.high, d.p), abs=1e-9)


def test_values_are_those_of_the_cases_with_a_score() -> None:
    ev = cal.scores(SCORES, measures=ALL, baseline="old", score_range=(1, 5))
    for name in GRADES:
        numbers = given(name)
        assert ev[name, "mean-score"].value == pytest.approx(numbers.mean())
        assert ev[name, "median-score"].value == np.median(numbers)
        assert ev[name, "pass-rate@4"].value == pytest.approx((numbers >= 4).mean())
        for measure in ALL[:3]:
            e = ev[name, measure]
            assert (e.n, e.n_total) == (len(numbers), ROWS)
            assert e.undefined == {"no_score": ROWS - len(numbers)}
    both = (STATUS["old"] == "ok") & (STATUS["new"] == "ok")
    sign = np.sign(GRADES["new"] - GRADES["old"])[both]
    e = ev["new", "win-rate"]
    assert e.value == pytest.approx((sign > 0).mean() + (sign == 0).mean() / 2)
    assert e.n == both.sum()
    own = ev["old", "win-rate"]
    assert (own.value, own.interval_reason) == (0.5, "known_constant")


@pytest.mark.parametrize("measure", ALL[:3])
def test_bounds_are_the_values_if_all_had_the_worst_score_or_the_best(measure: str) -> None:
    ev = cal.scores(SCORES, measures=ALL, score_range=(1, 5), baseline="old")
    for name, scores in SCORES.items():
        bounds = []
        for end in ("1", "5"):
            filled = [score if score.isdigit() else end for score in scores]
            bounds.append(cal.scores(filled, measures=[measure], score_range=(1, 5))[measure].value)
        e = ev[name, measure]
        assert (e.lower_bound, e.upper_bound) == pytest.approx(tuple(bounds))
        assert e.bounds_kind == "sharp"
        assert e.lower_bound <= e.value <= e.upper_bound


def test_bounds_of_a_win_rate_hold_whatever_the_scores_were() -> None:
    ev = cal.scores(SCORES, measures=["win-rate"], baseline="old")
    e = ev["new", "win-rate"]
    for end, other in (("1", "5"), ("5", "1")):
        filled = {
            name: [score if score.isdigit() else value for score in SCORES[name]]
            for name, value in (("new", end), ("old", other))
        }
        value = cal.scores(filled, measures=["win-rate"], baseline="old")["new", "win-rate"].value
        assert e.lower_bound <= value <= e.upper_bound
    assert e.bounds_kind == "outer"


def test_a_score_that_was_not_given_is_not_a_failure() -> None:
    ev = cal.scores(["pass"] * 9 + ["refused"])
    e = ev["pass-rate"]
    assert (e.value, e.lower_bound, e.upper_bound) == (1.0, 0.9, 1.0)
    assert ev.notes[0] == "1 of 10 cases have no score (1 refused)."
    assert "if all had a score: [0.9" in str(e)


def test_free_scores_have_no_bounds_until_somebody_states_their_range() -> None:
    scores = [3.0, None, 4.0, 2.5]
    ev = cal.scores(scores)
    assert math.isnan(ev["mean-score"].lower_bound)
    assert "score_range=(1, 5)" in ev.notes[-1]
    ev = cal.scores(scores, score_range=(0, 10))
    e = ev["mean-score"]
    assert (e.lower_bound, e.upper_bound) == (9.5 / 4, 19.5 / 4)


def test_no_score_at_all() -> None:
    ev = cal.scores({"a": ["error"] * 4, "b": ["pass", "fail", "pass", "pass"]})
    assert math.isnan(ev["a", "pass-rate"].value)
    assert ev["a", "pass-rate"].undefined == {"no_score": 4}
    assert (ev["a", "pass-rate"].lower_bound, ev["a", "pass-rate"].upper_bound) == (0, 1)
    assert ev.comparison is not None
    [d] = ev.comparison
    assert math.isnan(d.value)


def test_a_pass_rate_of_grades_needs_the_grade_that_passes() -> None:
    ev = cal.scores(GRADES, measures=["pass-rate", "pass-rate@3"])
    e = ev["old", "pass-rate"]
    assert math.isnan(e.value)
    assert e.undefined == {"neither_pass_nor_fail": ROWS}
    assert ev["old", "pass-rate@3"].value == (GRADES["old"] >= 3).mean()


def test_default_measures_follow_the_scores() -> None:
    assert cal.scores([0, 1, 1]).measures == ("pass-rate",)
    assert cal.scores(["fail", "PASS", "True"]).measures == ("pass-rate",)
    assert cal.scores([0.25, 1, 1]).measures == ("mean-score",)
    assert cal.scores([1, 2, 3]).measures == ("mean-score",)


def test_a_mean_of_scores_between_0_and_1_has_that_range() -> None:
    ev = cal.scores([0.9, 0.95, 1.0, 0.99])
    assert ev["mean-score"].high <= 1
    assert "taken as their range" in ev.notes[-1]
    assert ev.provenance["conventions"]["score_range"] == [0, 1]


def test_the_mean_has_the_interval_of_a_mean() -> None:
    numbers = RANDOM.normal(20, 3, 400)
    e = cal.scores(numbers)["mean-score"]
    low, high = stats.t.interval(0.95, 399, numbers.mean(), stats.sem(numbers))
    assert (e.low, e.high) == pytest.approx((low, high), abs=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("shares", [(0.1, 0.2, 0.3, 0.3, 0.1), (0.3, 0.2, 0.0, 0.2, 0.3),
                                    (0.02, 0.03, 0.15, 0.45, 0.35)])  # fmt: skip
@pytest.mark.parametrize("rows", [20, 100])
def test_intervals_of_a_median_of_grades_hold_it(shares: tuple[float, ...], rows: int) -> None:
    """Between grades nothing is interpolated: with that they held it 60 to 90 times of 100."""
    random = np.random.default_rng(rows)
    running = np.cumsum(shares)
    median = float(np.argmax(running >= 0.5 - 1e-9)) + 1
    if abs(running[int(median) - 1] - 0.5) < 1e-9:  # any number up to the next grade
        median += 0.5
    held = 0
    for _ in range(200):
        grades = random.choice(5, rows, p=shares) + 1
        e = cal.scores(grades, measures=["median-score"], compare=False)["median-score"]
        held += e.low <= median <= e.high
    assert held >= 182


# --- The table ------------------------------------------------------------------------------------


def long_table() -> pa.Table:
    rows: list[dict[str, Any]] = [
        {
            "id": f"c{row}", "model": name, "grade": SCORES[name][row] or None,
            "topic": "xy"[row % 2], "w": 1 + row % 3, "user": row // 4,
            "ms": float(row % 7) + (name == "new"),
        }
        for row in range(ROWS)
        for name in ("old", "new")
    ]  # fmt: skip
    order = np.random.default_rng(1).permutation(len(rows))
    return pa.Table.from_pylist([rows[k] for k in order])


def wide_table() -> pa.Table:
    return pa.table(
        {
            "id": [f"c{row}" for row in range(ROWS)],
            **{name: [score or None for score in SCORES[name]] for name in SCORES},
            "topic": ["xy"[row % 2] for row in range(ROWS)],
            "w": [1 + row % 3 for row in range(ROWS)],
            "user": [row // 4 for row in range(ROWS)],
            "ms_old": [float(row % 7) for row in range(ROWS)],
            "ms_new": [float(row % 7) + 1 for row in range(ROWS)],
        }
    )


BESIDES: dict[str, dict[str, Any]] = {
    "alone": {},
    "slices": {"slices": ["topic"]},
    "weights": {"weight": "w"},
    "counts": {"count": "w"},
    "clusters": {"cluster": "user"},
}


def numbers(ev: cal.Evaluation) -> dict[Any, tuple[float, ...]]:
    found: dict[Any, tuple[float, ...]] = {
        (e.system, e.measure): (
            e.value,
            e.low,
            e.high,
            e.n,
            e.n_total,
            e.lower_bound,
            e.upper_bound,
        )
        for e in ev
    }
    assert ev.comparison is not None
    found |= {(d.system, d.baseline, d.measure): (d.value, d.low, d.high) for d in ev.comparison}
    for s in ev.slices or ():
        e = s.estimate
        found[s.slice, e.system, e.measure] = (e.value, e.low, e.high, e.n)
    return found


def alike(a: cal.Evaluation, b: cal.Evaluation, rel: float = 1e-9) -> None:
    first, second = numbers(a), numbers(b)
    assert first.keys() == second.keys()
    for key, values in first.items():
        assert values == pytest.approx(second[key], rel=rel, abs=1e-9, nan_ok=True), key


@pytest.mark.parametrize("beside", BESIDES)
def test_a_row_for_each_score_is_a_row_for_each_case(beside: str) -> None:
    how = {"measures": ALL[:2] + ALL[3:], "baseline": "old", "score_range": (1, 5), "n_resamples": 300,
           **BESIDES[beside]}  # fmt: skip
    wide = cal.scores(["old", "new"], data=wide_table(), case="id", **how)
    long = cal.scores("grade", case="id", system="model", data=long_table(), **how)
    first = {e.system: e.value for e in wide if e.measure == "mean-score"}
    assert {e.system: e.value for e in long if e.measure == "mean-score"} == pytest.approx(first)
    if beside != "counts":
        # Cases are in the order of their first rows, which draws depend on.
        for key, values in numbers(long).items():
            assert values[0] == pytest.approx(numbers(wide)[key][0], nan_ok=True)


def test_the_order_of_the_rows_does_not_matter() -> None:
    table = long_table()
    how: dict[str, Any] = {"case": "id", "system": "model", "score_range": (1, 5),
                           "measures": ["mean-score", "pass-rate@4"], "baseline": "old"}  # fmt: skip
    sorted_rows = table.sort_by([("id", "ascending"), ("model", "descending")])
    alike(cal.scores("grade", data=table, **how), cal.scores("grade", data=sorted_rows, **how))


def test_costs_of_a_table_with_a_row_for_each_score_are_those_of_its_rows() -> None:
    how: dict[str, Any] = {"measures": ["mean-score"], "n_resamples": 200}
    wide = cal.scores(
        ["old", "new"], data=wide_table(), cost={"ms": {"old": "ms_old", "new": "ms_new"}}, **how
    )
    long = cal.scores(
        "grade", case="id", system="model", data=long_table(), cost={"ms": "ms"}, **how
    )
    assert long.costs is not None
    assert wide.costs is not None
    ours, theirs = (
        {(c.system, c.measure): c.value for c in costs} for costs in (long.costs, wide.costs)
    )
    assert ours == pytest.approx(theirs)
    assert long.pareto_fronts is not None


def test_a_system_without_a_row_for_a_case_has_no_score_of_it() -> None:
    table = long_table()
    kept = table.filter(pa.array([k != 5 for k in range(len(table))]))
    dropped = table.slice(5, 1).to_pylist()[0]
    ev = cal.scores("grade", case="id", system="model", data=kept, score_range=(1, 5))
    name = dropped["model"]
    n_missing = SCORES[name].count("") + (dropped["grade"] is not None)
    assert any(f"{n_missing} missing" in note for note in ev.notes if note.startswith(f"{name}: "))


@pytest.mark.parametrize(
    ("rows", "more", "expected"),
    [
        ([("a", 1, 1), ("a", 1, 0)], {}, r"row 1: 'a' has a second score of 1"),
        ([("a", 1, 1), ("a", None, 0)], {}, "case: is missing in row 1"),
        ([(None, 1, 1), ("a", 1, 0)], {}, "system: is missing in row 0"),
        ([("a", 1, 1), ("b", 1, 0)], {"score": "points"}, "score: there is no column 'points'"),
        ([("a", 1, 1), ("b", 1, 0)], {"system": "modelx"}, "did you mean 'model'"),
        ([("a", 1, 1), ("b", 1, 0)], {"case": None}, "expected the name of the column of the cases"),
        ([("a", 1, 1), ("b", 1, 0)], {"cluster": "score"}, "cluster: 'score' of 1 is '0' in row 1"),
        ([("a", 1, 1), ("b", 1, "good")], {}, "score 'score': holds 'good' in row 1, expected a number"),
        ([("a", 1, 1), ("b", 1, 7)], {"score_range": (1, 5)}, "is 7 in row 0, expected scores from 1"),
        ([("a", 1, 1), ("b", 1, 2)], {"score_range": (5, 1)}, r"expected the lowest and the highest"),
        ([("a", 1, 1), ("b", 1, 2)], {"reference_system": "c"}, "there is no system 'c'"),
        ([("a", 1, 1), ("b", 1, 2)], {"measures": ["win-rate"]}, "win-rate needs a reference"),
        ([("a", 1, 1), ("b", 1, 2)], {"cost": {"price": "zz"}}, "cost 'price': there is no column 'zz'"),
        ([("a", 1, 1), ("b", 1, 2)], {"cost": ["zz"]}, "cost 'zz': there is no column 'zz'; there are"),
        ([("a", 1, 1), ("b", 1, 2)], {"cost": {"p": {"a": "id", "b": "x"}}},
         "cost 'p' of 'b': there is no column 'x'"),
        ([("a", 1, 1), ("b", 1, 2)], {"cost": {"p": {"a": "id", "b": "id", "c": "id"}}},
         "cost 'p': 'c' is not a system"),
        ([("a", 1, 1), ("b", 1, 2)], {"cost": {"p": [1, 2]}},
         "cost 'p': is \\[1, 2\\], expected the name of a column"),
        ([("a", 1, 1), ("b", 1, 2)], {"engine": "stream"}, "takes all rows in memory"),
    ],
)  # fmt: skip
def test_what_a_table_may_not_hold(rows: list[Any], more: dict[str, Any], expected: str) -> None:
    table = {
        "model": [row[0] for row in rows],
        "id": [row[1] for row in rows],
        "score": [str(row[2]) for row in rows],
    }
    how: dict[str, Any] = {"score": "score", "case": "id", "system": "model", **more}
    with pytest.raises(cal.InputError, match=expected):
        cal.scores(data=pa.table(table), **how)


def test_numbers_and_words_in_one_column() -> None:
    pandas = pytest.importorskip("pandas")
    mixed = {"a": [1, "error", 0, 1.0, None, "pass"], "b": [True, False, True, None, "refused", 1]}
    expected = {"a": (0.75, 4), "b": (0.75, 4)}
    for table in (mixed, pandas.DataFrame(mixed)):
        for ev in (
            cal.scores(["a", "b"], data=table),
            cal.scores(mixed if table is mixed else table),
        ):
            assert {e.system: (e.value, e.n) for e in ev} == expected


@pytest.mark.parametrize("engine", ["memory", "stream"])
def test_columns_of_polars_categories_and_of_large_integers(engine: str) -> None:
    """Indices of polars are unsigned, and integers above 2^53 are not exact as numbers."""
    polars = pytest.importorskip("polars")
    words = ["pass", "fail", "pass", None]
    frame = polars.DataFrame({"a": words}).cast({"a": polars.Categorical})
    found = cal.scores(["a"], data=frame, engine=engine)
    expected = cal.scores(words)
    assert (found[0].value, found[0].n) == (expected[0].value, expected[0].n) == (2 / 3, 3)
    large = pa.table({"a": [2**53 + 1, 1], "b": pa.array([2**64 - 1, 1], pa.uint64())})
    means = cal.scores(["a", "b"], data=large, engine=engine)
    assert [e.value for e in means] == [(2.0**53 + 1) / 2, (2.0**64 + 1) / 2]


def test_a_long_table_of_polars_categories() -> None:
    polars = pytest.importorskip("polars")
    columns = {
        "id": ["1", "2", "1", "2"],
        "model": ["x", "x", "y", "y"],
        "score": ["pass", None, "fail", "pass"],
        "site": ["s", None, "s", None],
    }
    how: dict[str, Any] = {"score": "score", "case": "id", "system": "model", "slices": ["site"]}
    frame = polars.DataFrame(columns).cast(polars.Categorical)
    found, expected = (cal.scores(data=data, **how) for data in (frame, columns))
    assert [(e.value, e.n) for e in found] == [(e.value, e.n) for e in expected]


def test_cases_are_named_once() -> None:
    with pytest.raises(cal.InputError, match="'a' is in row 0 and again in row 2"):
        cal.scores([1, 0, 1], case=["a", "b", "a"])
    with pytest.raises(cal.InputError, match="case: is missing in row 1"):
        cal.scores([1, 0, 1], case=["a", None, "b"])
    with pytest.raises(cal.InputError, match="score 'b': has 2 rows, score 'a' has 3"):
        cal.scores({"a": [1, 0, 1], "b": [1, 0]})


def test_a_later_system_is_compared_with_a_stored_one(tmp_path: Path) -> None:
    table, path = wide_table(), tmp_path / "old.json"
    how: dict[str, Any] = {"case": "id", "score_range": (1, 5), "measures": ["mean-score"]}
    stored = cal.keep_predictions(cal.scores({"old": "old"}, data=table, **how))
    path.write_text(stored.to_json())
    turned = table.take(np.arange(ROWS)[::-1])
    later = cal.scores({"new": "new"}, data=turned, baseline=str(path), **how)
    both = cal.scores(["old", "new"], data=turned, baseline="old", **how)
    assert later.comparison is not None
    assert both.comparison is not None
    [a], [b] = later.comparison, both.comparison
    assert (a.value, a.low, a.high, a.p) == pytest.approx((b.value, b.low, b.high, b.p))


# --- Samples --------------------------------------------------------------------------------------

K = 5
PASSED = {name: RANDOM.binomial(K, 1 / (1 + np.exp(-EASE - shift)))
          for name, shift in (("A", 0.2), ("B", 0.6))}  # fmt: skip


def sampled() -> pa.Table:
    return pa.table(
        {
            "problem": np.repeat(np.arange(ROWS), K),
            **{name: (np.arange(K) < c[:, None]).astype(int).ravel() for name, c in PASSED.items()},
            "user": np.repeat(np.arange(ROWS) // 3, K),
        }
    )


OF_SAMPLES = ["pass@1", "pass@3", "pass@5", "pass^3", "pass-rate"]


def probability(name: str, measure: str) -> np.ndarray:
    """By all ways to draw the samples of a case."""
    _, _, number = measure.replace("^", "@").partition("@")
    k = int(number or 1)
    drawn = list(combinations(range(K), k))
    passes = np.arange(K) < PASSED[name][:, None]
    each = np.array([[passes[row, list(of)].sum() for of in drawn] for row in range(ROWS)])
    return np.asarray(((each == k) if "^" in measure else (each > 0)).mean(axis=1))


def test_pass_at_k_by_all_ways_to_draw() -> None:
    ev = cal.scores(["A", "B"], case="problem", samples=K, data=sampled(), measures=OF_SAMPLES,
                    baseline="A")  # fmt: skip
    for name in PASSED:
        for measure in OF_SAMPLES:
            e = ev[name, measure]
            assert e.value == pytest.approx(probability(name, measure).mean()), measure
            assert (e.n, e.unit) == (ROWS, "cases")
            assert e.method == "Bayesian bootstrap"
    assert ev.comparison is not None
    d = ev.comparison["pass@3"]
    differences = probability("B", "pass@3") - probability("A", "pass@3")
    assert d.value == pytest.approx(differences.mean())
    assert d.standard_error == pytest.approx(stats.sem(differences), rel=0.03)
    assert "Intervals and tests are over 240 cases, not 1,200 samples of them." in ev.notes


def test_win_rates_of_samples_are_over_pairs_of_them() -> None:
    ev = cal.scores(["A", "B"], case="problem", samples=K, data=sampled(), measures=["win-rate"],
                    baseline="A")  # fmt: skip
    a, b = PASSED["A"] / K, PASSED["B"] / K
    expected = b * (1 - a) + (a * b + (1 - a) * (1 - b)) / 2
    assert ev["B", "win-rate"].value == pytest.approx(expected.mean())


def test_samples_of_a_table_with_a_row_for_each_score() -> None:
    table = sampled()
    long = pa.concat_tables(
        pa.table({"problem": table["problem"], "model": [name] * len(table), "passed": table[name],
                  "user": table["user"]})
        for name in PASSED
    )  # fmt: skip
    how: dict[str, Any] = {"case": "problem", "samples": K, "measures": OF_SAMPLES,
                           "baseline": "A", "cluster": "user"}  # fmt: skip
    wide = cal.scores(["A", "B"], data=table, **how)
    alike(wide, cal.scores("passed", system="model", data=long, **how))


def test_a_sample_that_was_not_given_is_not_a_failure() -> None:
    rows = {"case": [1, 1, 1, 2, 2, 2], "a": ["pass", "fail", "error", "pass", "pass", "pass"]}
    ev = cal.scores(["a"], case="case", samples=3, data=rows,
                    measures=["pass-rate", "pass@2", "pass@3", "mean-score"])  # fmt: skip
    assert ev["pass-rate"].value == 0.75
    assert (ev["pass-rate"].lower_bound, ev["pass-rate"].upper_bound) == pytest.approx(
        (2 / 3, 5 / 6)
    )
    assert ev["pass@2"].value == 1
    assert (ev["pass@3"].value, ev["pass@3"].n) == (1, 1)
    assert ev["pass@3"].undefined == {"too_few_samples": 1}
    assert ev.notes[0] == "a: 1 of 6 samples have no score (1 error)."


def test_what_samples_need() -> None:
    table = sampled()
    for how, expected in (
        ({"case": "problem", "samples": 4}, "it has more than 4 scores of 0"),
        ({"samples": K}, "expected the name of the column of the cases"),
        ({"case": "problem", "samples": 0}, "samples is 0, expected 1 or more"),
        ({"case": "problem", "samples": K, "engine": "stream"}, "takes all rows in memory"),
        ({"measures": ["pass@2"]}, "pass@2 needs several samples of each case"),
        ({"case": "problem"}, "is in row 0 and again in row 1"),
    ):
        with pytest.raises(cal.InputError, match=expected):
            cal.scores(["A", "B"], data=table, **how)
    with pytest.raises(cal.InputError, match="samples is about the rows of data="):
        cal.scores([1, 0], case="case", samples=2)


def test_components_of_the_variance() -> None:
    components = VarianceComponents.from_samples(np.array([[1.0, 1, 0, 1], [0, 0, 1, 0], [1] * 4]))
    assert components is not None
    told = components.case, components.sample, components.mean
    assert told == pytest.approx((0.1041667, 0.1666667, 0.0486111), abs=5e-8)
    assert components.case / (components.case + components.sample) == pytest.approx(0.3846154)
    assert VarianceComponents.from_samples(np.ones((5, 3))) is None
    assert VarianceComponents.from_samples(np.ones((5, 1))) is None


def test_components_count_cases_with_one_sample() -> None:
    """Of pass rates that are uniform: 1/6 within a case, over the number of samples, 1/12 between."""
    random = np.random.default_rng(2)
    values = (random.random((6000, 7)) < random.random((6000, 1))).astype(float)
    values[::2, 1:] = np.nan
    components = VarianceComponents.from_samples(values)
    assert components is not None
    noise = (1 + 1 / 7) / 2 / 6
    assert components.sampling == pytest.approx(noise / (noise + 1 / 12), abs=0.02)
    assert components.case == pytest.approx(1 / 12, abs=0.006)


def spread_of_means(n: int, k: int, systems: int, rng: np.random.Generator) -> float:
    """Variance of the mean score of n cases by k samples, or of the difference of two systems, over
    many draws of cases and samples."""
    means = np.zeros(20_000)
    ease = rng.beta(1.5, 1, (len(means), n))
    for sign in (1, -1)[:systems]:
        chance = ease if sign == 1 else 1 - ease
        means += sign * (rng.binomial(k, chance) / k).mean(axis=1)
    return float(means.var())


@pytest.mark.slow
@pytest.mark.parametrize("systems", [1, 2])
def test_what_more_samples_and_more_cases_bring(systems: int) -> None:
    """By brute force: the variance of means of other numbers of cases and samples."""
    rng = np.random.default_rng(5)
    n, k = 40, 3
    found = []
    for _ in range(1_000):
        ease = rng.beta(1.5, 1, n)[:, None]
        first, second = (rng.random((n, k)) < ease), (rng.random((n, k)) > ease)
        components = VarianceComponents.from_samples(
            first.astype(float), second.astype(float) if systems == 2 else None
        )
        assert components is not None
        found.append((components.mean, components.mean - components.case / n))
    variance, sampling = np.mean(found, axis=0)
    share = sampling / variance
    now = spread_of_means(n, k, systems, rng)
    assert variance == pytest.approx(now, rel=0.03)
    assert spread_of_means(2 * n, k, systems, rng) / now == pytest.approx(0.5, rel=0.04)
    assert spread_of_means(n, 2 * k, systems, rng) / now == pytest.approx(1 - share / 2, rel=0.04)
    assert spread_of_means(n, 5_000, systems, rng) / now == pytest.approx(1 - share, rel=0.04)


def test_components_of_weighted_and_clustered_cases() -> None:
    """Clusters of one case are cases, and a weight of two a case twice, but for n/(n − 1)."""
    rng = np.random.default_rng(6)
    values = (rng.random((300, 3)) < rng.beta(1, 1, 300)[:, None]).astype(float)
    alone = VarianceComponents.from_samples(values)
    each = VarianceComponents.from_samples(
        values, clusters=to_clusters(np.arange(300), None, RowRepeats(300))
    )
    assert alone is not None
    assert each is not None
    assert vars(each) == pytest.approx(vars(alone))
    # Cases of a cluster that are copies of each other: its mean is that of one of them.
    copies = np.repeat(values, 2, axis=0)
    pairs = VarianceComponents.from_samples(
        copies, clusters=to_clusters(np.arange(600) // 2, None, RowRepeats(600))
    )
    assert pairs is not None
    assert pairs.mean == pytest.approx(alone.mean)
    assert pairs.sampling == pytest.approx(alone.sampling / 2)  # the samples are taken as others
    weight = rng.integers(1, 4, 300).astype(float)
    weighted = VarianceComponents.from_samples(values, weight=weight)
    assert weighted is not None
    means = values.mean(axis=1)
    deviations = weight * (means - np.average(means, weights=weight))
    assert weighted.mean == pytest.approx((deviations @ deviations) / weight.sum() ** 2 * 300 / 299)
    noise = weight**2 @ values.var(axis=1, ddof=1) / 3 / weight.sum() ** 2
    assert weighted.sampling == pytest.approx(noise / weighted.mean)


def test_the_note_on_samples_is_about_the_interval_that_is_reported() -> None:
    rng = np.random.default_rng(7)
    n, k = 80, 4
    ease = np.repeat(rng.beta(1, 1, n // 4), 4)[:, None]
    table = {
        "case": np.repeat(np.arange(n), k),
        "document": np.repeat(np.arange(n) // 4, k),
        **{name: (rng.random((n, k)) < ease).astype(int).ravel() for name in "AB"},
    }
    ev = cal.scores(["A", "B"], data=table, case="case", samples=k)
    assert sum("is from sampling" in note for note in ev.notes) == 3
    [note] = [note for note in ev.notes if "mean difference" in note]
    assert note.startswith("B - A: ")
    assert float(note.removeprefix("B - A: ").partition("%")[0]) > 75  # they are equally good
    clustered = cal.scores(["A"], data=table, case="case", samples=k, cluster="document")
    [note] = [note for note in clustered.notes if "is from sampling" in note]
    assert "twice as many clusters by 29%" in note
    shares = [float(n.partition(": ")[2].partition("%")[0]) for n in (*ev.notes[1:2], note)]
    assert shares[1] < shares[0]


def test_reference_values_of_pass_at_k() -> None:
    """Ten samples, three of which pass, five drawn; and eight, five of which pass, three drawn."""
    assert parse("pass@5").losses(np.array([10.0]), np.array([3.0])) == pytest.approx(11 / 12)
    assert parse("pass^3").losses(np.array([8.0]), np.array([5.0])) == pytest.approx(10 / 56)


# --- Win rates at equal length --------------------------------------------------------------------

#: Outcomes and differences in length of the specification.
WON = np.array([1.0, 1, 0, 1, 0, 0, 1, 0, 1, 1])
LONGER = np.array([300.0, 250, -100, 120, 40, -220, 90, 60, -30, 400])


def at_equal_length(won: np.ndarray, longer: np.ndarray, **options: Any) -> cal.Evaluation:
    """A system against a reference whose outputs are 1000 long."""
    return cal.scores(
        {"new": won, "old": 1 - won},
        reference_system="old",
        cost={"length": {"new": 1000 + longer, "old": np.full(len(won), 1000.0)}},
        measures=["LC-win-rate"],
        **options,
    )


def penalized(won: np.ndarray, longer: np.ndarray, *, firth: bool) -> np.ndarray:
    """Coefficients of the logistic regression by a general optimizer."""
    term = np.tanh(longer / longer.std(ddof=1))
    x = np.column_stack([np.ones(len(won)), term])

    def loss(coefficients: np.ndarray) -> float:
        logit = x @ coefficients
        p = 1 / (1 + np.exp(-logit))
        information = (x * (p * (1 - p))[:, None]).T @ x
        penalty = np.linalg.slogdet(information)[1] / 2 if firth else 0.0
        return float(np.logaddexp(0, logit).sum() - won @ logit - penalty)

    return np.asarray(minimize(loss, np.zeros(2), method="BFGS", tol=1e-12).x)


def test_reference_value_of_the_win_rate_at_equal_length() -> None:
    estimate = at_equal_length(WON, LONGER)["new", "LC-win-rate"]
    assert estimate.value == pytest.approx(0.3782371, abs=5e-8)
    assert estimate.standard_error == pytest.approx(0.3037194, abs=5e-8)
    fit = LengthRows.from_rows(LONGER, WON).fit
    assert (fit.slope, fit.intercept) == pytest.approx((3.6018208, -0.4970377), abs=5e-8)


def test_the_influence_is_the_derivative_by_the_weights() -> None:
    """With the scale of the lengths held, as it is in the error."""
    rows = LengthRows.from_rows(LONGER, WON)
    influence = rows.fit.influence(LONGER, WON)
    assert influence.sum() == pytest.approx(0, abs=1e-9)
    step = 1e-6
    for k in range(len(WON)):
        weight = np.ones(len(WON))
        weight[k] += step
        changed = rows.with_weights(weight)
        changed.__dict__["_scale"] = rows._scale
        change = (changed.fit.rate - rows.fit.rate) / step
        assert change * len(WON) == pytest.approx(influence[k], rel=1e-3, abs=1e-5)


@pytest.mark.parametrize("ties", [False, True])
def test_the_fit_is_that_of_an_optimizer(ties: bool) -> None:
    rng = np.random.default_rng(3)
    for _ in range(10):
        longer = rng.normal(50, 100, 40)
        won = (rng.random(40) < 0.6).astype(float)
        won[: 8 * ties] = 0.5
        rows = LengthRows.from_rows(longer, won)
        assert not rows.is_separated
        found = [float(rows.fit.intercept), float(rows.fit.slope)]
        assert found == pytest.approx(penalized(won, longer, firth=False), abs=1e-5)


@pytest.mark.parametrize("won", [np.ones(10), np.zeros(10), (LONGER > 50).astype(float)])
def test_separated_outcomes_have_the_likelihood_of_firth(won: np.ndarray) -> None:
    rows = LengthRows.from_rows(LONGER, won)
    assert rows.is_separated
    found = [float(rows.fit.intercept), float(rows.fit.slope)]
    assert found == pytest.approx(penalized(won, LONGER, firth=True), abs=1e-4)
    ev = at_equal_length(won, LONGER)
    estimate = ev["new", "LC-win-rate"]
    assert estimate.low < estimate.value < estimate.high
    assert estimate.high - estimate.low > 0.25
    assert any("new: the length determines who wins" in note for note in ev.notes)


def test_outputs_of_the_length_of_the_reference_have_the_win_rate() -> None:
    ev = at_equal_length(WON, np.zeros(10))
    assert ev["new", "LC-win-rate"].value == pytest.approx(WON.mean())
    assert ev["old", "LC-win-rate"].value == 0.5


@pytest.mark.parametrize("last", [800.0, 801.0, 850.0])
def test_there_is_no_value_at_equal_length_if_outputs_are_longer_by_the_same(last: float) -> None:
    """All terms tanh(Δ/s) are 1 up to rounding, so that θ and ψ have the same effect."""
    won, longer = np.repeat([1.0, 0.0], [16, 4]), np.append(np.full(19, 800.0), last)
    assert last == 800 or np.ptp(np.tanh(longer / longer.std(ddof=1))) < 1e-12
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ev = at_equal_length(won, longer)
        low = at_equal_length(np.append(won, [1, 0, 1, 1]), np.append(longer, [0, 10, 20, 5]),
                              slices={"s": ["u"] * 20 + ["v"] * 4})  # fmt: skip
    estimate = ev["new", "LC-win-rate"]
    assert np.isnan(estimate.value)
    assert estimate.undefined == {"same_length_difference": 20}
    assert not any("determines who wins" in note for note in ev.notes)
    assert low.slices is not None
    parts = {s.slice: s.estimate for s in low.slices if s.estimate.system == "new"}
    assert np.isnan(parts["u"].value)
    assert 0 < parts["v"].low < parts["v"].value


@pytest.mark.parametrize("won", [[1.0, 0.5], [1, 1], [0.5, 0.5], [0, 1]])
def test_two_cases_have_no_error_at_equal_length(won: list[float]) -> None:
    """As many coefficients as cases leave no residuals."""
    longer = np.array([-10.0, 10.0])
    estimate = at_equal_length(np.array(won), longer)["new", "LC-win-rate"]
    firth = bool(LengthRows.from_rows(longer, np.array(won)).is_separated)
    rate = 1 / (1 + np.exp(-penalized(np.array(won), longer, firth=firth)[0]))
    assert estimate.value == pytest.approx(rate, abs=1e-6)
    assert np.isnan(estimate.low)


def test_few_separated_cases_have_the_likelihood_of_firth() -> None:
    """Their leverages are near 1, where whole steps of Newton turn about the maximum."""
    rng = np.random.default_rng(2)
    for n in (3, 4, 5, 6) * 3:
        longer, won = rng.normal(5, 20, n), np.ones(n)
        rate = 1 / (1 + np.exp(-penalized(won, longer, firth=True)[0]))
        assert LengthRows.from_rows(longer, won).fit.rate == pytest.approx(rate, abs=1e-5)


def test_ties_alone_have_the_error_of_the_information_at_equal_length() -> None:
    longer, ties = np.tile([-30.0, 0, 30], 8), np.full(24, 0.5)
    estimate = at_equal_length(ties, longer)["new", "LC-win-rate"]
    # ½ in every case, and a term whose mean is 0: the information on θ is n/4.
    assert estimate.standard_error == pytest.approx(0.25 / np.sqrt(24 / 4))
    assert estimate.low < 0.5 < estimate.high


def test_a_case_without_a_score_does_not_change_the_win_rate_at_equal_length() -> None:
    won, longer = np.append(WON, np.nan), np.append(LONGER, 12345.0)
    estimate = at_equal_length(won, longer)["new", "LC-win-rate"]
    assert estimate.value == pytest.approx(0.3782371, abs=5e-8)
    assert (estimate.n, estimate.n_total) == (10, 11)
    # In the error every case counts, also one that could have had a score.
    assert estimate.standard_error == pytest.approx(0.3037194, rel=0.01)


def test_what_the_win_rate_at_equal_length_needs() -> None:
    both = {"length": {"a": [1, 2], "b": [3, 4]}}
    lengths, reference = "the lengths of outputs: cost={'length': …}", "a reference: baseline= or"
    cases: list[tuple[dict[str, Any], str]] = [
        ({"reference_system": "a"}, f"needs {lengths}"),
        ({"cost": both}, f"needs {reference}"),
        ({}, f"needs {lengths}, and {reference}"),
        ({"baseline": "a", "cost": {"Length": both["length"]}}, f"{lengths}, not 'Length'"),
        ({"baseline": "a", "cost": {"length": {"a": 1, "b": 2}}},
         f"{lengths} with a length for each case, not one number"),
    ]  # fmt: skip
    for given, message in cases:
        with pytest.raises(cal.InputError, match=re.escape(message)):
            cal.scores({"a": [1, 0], "b": [0, 1]}, measures=["LC-win-rate"], **given)
    with pytest.raises(cal.InputError, match="in memory, but engine='stream' has them in batches"):
        cal.scores(["a", "b"], data={"a": [1, 0], "b": [0, 1]}, measures=["LC-win-rate"],
                   reference_system="a", engine="stream")  # fmt: skip
    with pytest.raises(cal.InputError, match="has no cost of 'b', expected all systems"):
        cal.scores({"a": [1, 0], "b": [0, 1]}, reference_system="a", measures=["LC-win-rate"],
                   cost={"length": {"a": [1, 2]}})  # fmt: skip


def test_the_win_rate_at_equal_length_is_no_value_of_scores_alone() -> None:
    with pytest.raises(cal.InputError, match="takes scores and lengths of two systems"):
        cal.measure("LC-win-rate")([1, 0, 1], [0, 1, 1])


def test_lengths_of_a_table_with_a_row_for_each_sample() -> None:
    rng = np.random.default_rng(1)
    n, k = 30, 3
    score, length = rng.integers(0, 2, (2, n, k)), rng.integers(50, 100, (2, n, k))
    table = {
        "case": np.tile(np.repeat(np.arange(n), k), 2),
        "model": np.repeat(["old", "new"], n * k),
        "pass": score.ravel(),
        "tokens": length.ravel(),
    }
    ev = cal.scores("pass", case="case", system="model", samples=k, data=table,
                    cost={"length": "tokens"}, baseline="old", measures=["LC-win-rate"])  # fmt: skip
    wins = (np.sign(score[1][:, :, None] - score[0][:, None]) + 1).mean(axis=(1, 2)) / 2
    longer = (length[1] - length[0]).mean(axis=1)
    rate = 1 / (1 + np.exp(-penalized(wins, longer, firth=False)[0]))
    assert ev["new", "LC-win-rate"].value == pytest.approx(rate, abs=1e-6)


JOB_3 = Path(__file__).parents[3] / "shared/research/judges_prototype/job3.csv"


@pytest.mark.skipif(not JOB_3.exists(), reason="a table of the specification")
def test_the_third_job() -> None:
    ev = cal.scores(["A", "B"], case="problem", samples=5, data=JOB_3, baseline="A",
                    measures=["pass@1", "pass@5", "pass^3"])  # fmt: skip
    told = {
        (e.system, e.measure): (round(e.value, 2), round(e.low, 2), round(e.high, 2)) for e in ev
    }
    assert told == {
        ("A", "pass@1"): (0.58, 0.52, 0.63), ("B", "pass@1"): (0.66, 0.61, 0.72),
        ("A", "pass@5"): (0.84, 0.78, 0.89), ("B", "pass@5"): (0.91, 0.86, 0.95),
        ("A", "pass^3"): (0.35, 0.29, 0.42), ("B", "pass^3"): (0.47, 0.40, 0.54),
    }  # fmt: skip
    assert ev.comparison is not None
    d = ev.comparison["pass@1"]
    assert (d.value, d.low, d.high) == pytest.approx((0.085, 0.045, 0.125), abs=5e-4)
    assert any(
        note.startswith("A: 22% of the variance") and "at most 12%" in note and "29%" in note
        for note in ev.notes
    )


def pass_counts(rng: np.random.Generator) -> dict[str, Any]:
    counts = {name: rng.integers(0, 6, 40).astype(float) for name in ("a", "b")}
    counts["b"][3] = np.nan
    return {"case": [f"c{k}" for k in range(40)], **counts, "seconds": rng.random(40)}


def test_numbers_of_passes_are_as_a_row_for_each_sample() -> None:
    table = pass_counts(np.random.default_rng(5))
    long = {"case": np.repeat(table["case"], 5), "seconds": np.repeat(table["seconds"], 5)}
    for name in "ab":
        passed = (np.arange(5) < table[name][:, None]).astype(float)
        long[name] = np.where(np.isnan(table[name])[:, None], np.nan, passed).ravel()
    options: dict[str, Any] = {
        "case": "case", "samples": 5, "baseline": "a", "cost": {"time (s)": "seconds"},
        "measures": ["pass@1", "pass@5", "pass^3", "mean-score"],
    }  # fmt: skip
    counted, separate = (cal.scores(["a", "b"], data=data, **options) for data in (table, long))
    found = [(e.system, e.measure, e.value, e.low, e.high, e.lower_bound) for e in counted]
    assert found == [(e.system, e.measure, e.value, e.low, e.high, e.lower_bound) for e in separate]
    assert counted.costs[0].value == pytest.approx(separate.costs[0].value)
    note = "Scores are taken as the number of the 5 samples of a case that pass."
    assert note in counted.notes
    assert [other for other in counted.notes if other != note] == list(separate.notes)


@pytest.mark.parametrize("values", [[0, 1, 1], [2, 6, 1], [2, 1.5, 1], [-1, 2, 1]])
def test_other_scores_are_no_numbers_of_passes(values: list[float]) -> None:
    ev = cal.scores(["a"], case="case", samples=5, measures=["mean-score"],
                    data={"case": [1, 2, 3], "a": values})  # fmt: skip
    assert ev["a", "mean-score"].value == pytest.approx(np.mean(values))
    assert not any("samples of a case that pass" in note for note in ev.notes)
    assert any("12 of 15 samples have no score" in note for note in ev.notes)


# --- Batches --------------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    found = {"csv": tmp_path / "t.csv", "parquet": tmp_path / "t.parquet"}
    csv.write_csv(wide_table(), found["csv"])
    parquet.write_table(wide_table(), found["parquet"])
    return found


def test_scores_are_written_as_the_same_words_in_tables_and_logs() -> None:
    words = {
        "pass": 1,
        "Passed": 1,
        "true": 1,
        "yes": 1,
        "fail": 0,
        "failed": 0,
        "FALSE": 0,
        "no": 0,
    }
    assert [parse_score(word, "log:1") for word in words] == list(words.values())
    for engine in ("memory", "stream"):
        assert cal.scores("a", data={"a": list(words)}, engine=engine)["pass-rate"].value == 0.5


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("beside", BESIDES)
def test_batches_are_as_in_memory(
    files: dict[str, Path], kind: str, beside: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "BATCH_ROWS", 50)
    how: dict[str, Any] = {
        "score": ["old", "new"], "data": str(files[kind]), "baseline": "old",
        "measures": ["mean-score", "pass-rate@4", "win-rate"], "score_range": (1, 5),
        **BESIDES[beside],
    }  # fmt: skip
    memory, stream = (cal.scores(engine=engine, **how) for engine in ("memory", "stream"))
    alike(memory, stream, rel=1e-6)
    assert set(memory.notes) <= set(stream.notes)


def test_mcnemar_of_batches(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table(VERDICTS), path)
    memory, stream = (
        cal.scores(["old", "new"], data=str(path), engine=engine).compare(test="mcnemar")
        for engine in ("memory", "stream")
    )
    assert [d.p for d in stream] == pytest.approx([d.p for d in memory], rel=1e-12)


@pytest.mark.parametrize("missing", [False, True])
def test_tests_of_all_systems_are_the_same_in_batches(
    missing: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "BATCH_ROWS", 50)
    random = np.random.default_rng(8)
    table = {name: np.clip(np.round(3 + EASE + random.normal(0, 1, ROWS)), 1, 5) for name in "abc"}
    if missing:
        table = {name: np.where(random.random(ROWS) < 0.1, NO, x) for name, x in table.items()}
    memory, stream = (
        cal.scores(list(table), data=pa.table(table), engine=engine).comparison.omnibus  # type: ignore[union-attr]
        for engine in ("memory", "stream")
    )
    values = np.column_stack(list(table.values()))
    values = values[~np.isnan(values).any(axis=1)]
    [found], [expected] = stream, memory
    assert found.n == len(values)
    assert found.means == pytest.approx(values.mean(axis=0))
    assert found.mean_ranks == pytest.approx(stats.rankdata(-values, axis=1).mean(axis=0))
    chi_square = stats.friedmanchisquare(*values.T).statistic
    f = (len(values) - 1) * chi_square / (len(values) * 2 - chi_square)
    assert found.friedman_f == pytest.approx(f)
    for name in ("friedman_p", "anova_f", "anova_p", "omega_squared"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), rel=1e-9)
    assert found.homogeneous_groups == expected.homogeneous_groups


def test_states_of_days_are_merged() -> None:
    table = wide_table()
    how: dict[str, Any] = {"engine": "stream", "score_range": (1, 5),
                           "measures": ["mean-score", "pass-rate@4", "win-rate"],
                           "reference_system": "old"}  # fmt: skip
    days = [cal.scores(["old", "new"], data=part, **how)
            for part in (table.slice(0, 90), table.slice(90))]  # fmt: skip
    both = cal.merge_states(days)
    whole = cal.scores(["old", "new"], data=table, **how)
    for e in whole:
        merged = both[e.system, e.measure]
        assert (merged.value, merged.n, merged.lower_bound) == pytest.approx(
            (e.value, e.n, e.lower_bound), nan_ok=True
        )
    assert set(both.notes) & set(whole.notes)


@pytest.mark.parametrize(
    "parts",
    [
        ([0, 1, 1, NO], [5, 2, 1]),
        ([0.5, 0.2, 1.0], [1, 2, 3]),
        ([0, 1, 1, 0], [0.2, 0.4, NO]),
        ([0.1, 0.9, NO], [0.2, 0.4]),
    ],
)
def test_a_range_that_nobody_stated_is_that_of_all_states(parts: tuple[list[float], ...]) -> None:
    how: dict[str, Any] = {"engine": "stream", "measures": ["mean-score"]}
    states = [cal.scores("x", data={"x": part}, **how) for part in parts]
    whole = cal.scores("x", data={"x": [x for part in parts for x in part]}, **how)
    expected = whole["mean-score"]
    for order in (states, states[::-1]):
        merged = cal.merge_states(order)
        e = merged["mean-score"]
        assert (e.value, e.low, e.high, e.lower_bound, e.upper_bound) == pytest.approx(
            (expected.value, expected.low, expected.high, expected.lower_bound,
             expected.upper_bound), nan_ok=True
        )  # fmt: skip
        assert [n for n in merged.notes if "range" in n] == [n for n in whole.notes if "range" in n]


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ({"score_range": (0, 1)}, {}, "score_range="),
        ({"reference_system": "x"}, {"reference_system": "y"}, "the reference of win rates"),
    ],
)
def test_states_with_other_arguments_are_not_merged(
    one: dict[str, Any], other: dict[str, Any], expected: str
) -> None:
    table = {"x": [0, 1, 1, 0], "y": [1, 1, 0, 0]}
    states = [cal.scores(["x", "y"], data=table, engine="stream", **more) for more in (one, other)]
    with pytest.raises(cal.InputError, match=expected):
        cal.merge_states(states)


# --- Systems that were judged on different cases ---------------------------------------------------


def difference(engine: str = "memory", **how: Any) -> Any:
    return cal.scores(["a", "b"], engine=engine, n_resamples=100, **how).comparison[0]  # type: ignore[index]


def beside_scores(table: dict[str, Any], **columns: Any) -> dict[str, Any]:
    """The arguments of a table with further columns, each for the argument of its name."""
    return {"data": {**table, **columns}, **{name: name for name in columns}}


@pytest.mark.parametrize("engine", ["memory", "stream"])
@pytest.mark.parametrize(("passed", "n"), [(1, 1), (3, 3), (6, 8), (20, 40)])
def test_a_difference_of_other_cases_is_newcombes(engine: str, passed: int, n: int) -> None:
    table = {
        "a": [1] * passed + [0] * (n - passed) + [NO] * 60,
        "b": [NO] * n + [1] * 26 + [0] * 34,
    }
    d = difference(engine, data=table)
    expected = confint_proportions_2indep(26, 60, passed, n, method="newcomb", compare="diff")
    assert (d.value, d.low, d.high) == pytest.approx((26 / 60 - passed / n, *expected))
    at_p = confint_proportions_2indep(
        26, 60, passed, n, method="newcomb", compare="diff", alpha=d.p
    )
    assert min(np.abs(at_p)) == pytest.approx(0.0, abs=1e-8)
    assert d.n == min(n, 60)


def test_cases_in_common_correlate_the_values() -> None:
    b = np.array([1, 1, 1, 0, 0, 1, 0, 1, 1, 0] * 4, float)
    a = np.where(np.arange(40) % 5 == 0, 1 - b, b)
    a[30:] = NO
    d = difference(data={"a": a, "b": b})
    common = ~np.isnan(a)
    p, q = a[common].mean(), b.mean()
    covariance = ((a[common] - p) * (b[common] - q)).sum() / 30 / 40
    r = covariance / math.sqrt(p * (1 - p) / 30 * q * (1 - q) / 40)
    low, high = (proportion_confint(x * n, n, method="wilson") for x, n in ((q, 40), (p, 30)))
    unseen = 1.959963984540054 * r / 30
    downward = q - low[0], high[1] - p
    upward = low[1] - q, p - high[0]
    limits = [
        q - p + sign * math.sqrt(x * x + y * y - 2 * r * x * y + unseen**2)
        for sign, (x, y) in ((-1, downward), (1, upward))
    ]
    # Both variances have n/(n − 1), which the correlation does not.
    assert [d.low, d.high] == pytest.approx(limits, abs=2e-3)


@pytest.mark.parametrize("k", [1, 3, 10])
@pytest.mark.parametrize("beside", ["alone", "cluster", "weight", "grades"])
def test_few_judged_cases_are_no_certainty(k: int, beside: str) -> None:
    random = np.random.default_rng(0)
    b = (random.random(100) < 0.5) * 1.0
    how: dict[str, Any] = {"score_range": (0, 1)}
    columns: dict[str, Any] = {}
    if beside == "cluster":
        columns = {"cluster": np.arange(100) // 2}
    if beside == "weight":
        columns = {"weight": random.integers(1, 4, 100)}
    if beside == "grades":
        b, how = random.integers(1, 6, 100) * 1.0, {"score_range": (1, 5)}
    table = {"a": [b.max()] * k + [NO] * (100 - k), "b": b}
    how |= beside_scores(table, **columns)
    memory, stream = (difference(engine, **how) for engine in ("memory", "stream"))
    numbers = [(x.value, x.low, x.high, x.p, x.n, x.standard_error) for x in (memory, stream)]
    assert numbers[0] == pytest.approx(numbers[1], rel=1e-6, nan_ok=True)
    # The lower limit of all passes of k cases is (α/2)^(1/k) by Clopper and Pearson.
    share = (b.mean() - b.min()) / np.ptp(b)
    if beside in ("alone", "grades") and k < 10:
        assert memory.p > 0.05 or 0.05 ** (1 / k) > share


@pytest.mark.parametrize("engine", ["memory", "stream"])
@pytest.mark.parametrize("beside", ["alone", "cluster", "weight"])
def test_cases_that_nobody_judged_do_not_count(engine: str, beside: str) -> None:
    given = np.arange(ROWS) % 4 > 0
    full = {name: np.where(given, values, NO) for name, values in (
        ("a", VERDICTS["old"]), ("b", VERDICTS["new"]))}  # fmt: skip
    rows = {name: values[given] for name, values in full.items()}
    extra = {"alone": {}, "cluster": {"cluster": np.arange(ROWS) // 3},
             "weight": {"weight": 1 + np.arange(ROWS) % 3}}[beside]  # fmt: skip
    d = difference(engine, **beside_scores(full, **extra))
    e = difference(engine, **beside_scores(rows, **{name: x[given] for name, x in extra.items()}))
    assert (d.p, d.low, d.high, d.standard_error, d.n) == pytest.approx(
        (e.p, e.low, e.high, e.standard_error, e.n), rel=1e-9
    )
    assert (d.test, d.wins, d.ties, d.losses) == (e.test, e.wins, e.ties, e.losses)


def test_the_same_scores_on_few_cases_are_no_certainty_either() -> None:
    d = difference(data={"a": [1] * 3 + [NO] * 97, "b": [1] * 100})
    low, _ = proportion_confint(3, 3, method="wilson")
    assert (d.value, d.high, d.p) == pytest.approx((0.0, 1 - low, 1.0))


@pytest.mark.parametrize("engine", ["memory", "stream"])
@pytest.mark.parametrize(("x", "k", "n"), [(0.3, 150, 200), (0.3, 9, 12), (1 / 3, 77, 90)])
def test_rounding_noise_is_no_difference(engine: str, x: float, k: int, n: int) -> None:
    d = difference(engine, data={"a": [x] * k + [NO] * (n - k), "b": [x] * n})
    assert (d.value, d.p) == (0.0, 1.0)
    assert d.low < -1 / n
    assert d.high > 1 / n


@pytest.mark.parametrize("engine", ["memory", "stream"])
def test_a_difference_of_medians_stays_within_that_of_the_range(engine: str) -> None:
    table = {"a": [1, 5, 2, 3, 1, 4], "b": [2, 4, 5, 1, 3, 3], "c": [5, 1, 1, 2, 4, 4]}
    ev = cal.scores(list(table), data=table, measures=["median-score"], score_range=(1, 5),
                    engine=engine)  # fmt: skip
    for d in ev.comparison or ():
        if engine == "memory":
            assert -4 <= d.low <= d.value <= d.high <= 4
        assert not d.low < -4


@pytest.mark.parametrize("values", [(0.3, 4.0), (0.1, 0.7)])
def test_differences_that_are_all_alike_have_no_error_of_rounding(
    values: tuple[float, float],
) -> None:
    table = {name: [x] * 12 for name, x in zip("ab", values, strict=True)}
    memory, stream = (difference(engine, data=table) for engine in ("memory", "stream"))
    numbers = [(d.low, d.high, d.p, d.standard_error, d.min_detectable) for d in (memory, stream)]
    assert numbers[0] == pytest.approx(numbers[1], rel=1e-6)
    assert memory.standard_error > 1e-3


@pytest.mark.parametrize("engine", ["memory", "stream"])
@pytest.mark.parametrize("beside", ["alone", "missing", "cluster"])
def test_a_difference_from_a_half_is_the_win_rate_less_a_half(engine: str, beside: str) -> None:
    table = {"a": [1, 0, 1, 3, 2, 1, 0, 2, 1, 4] * 3, "b": [2, 2, 1, 2, 3, 2, 1, 2, 3, 5] * 3}
    if beside == "missing":
        table["b"] = [NO] * 12 + table["b"][12:]
    columns = {"cluster": np.arange(30) // 2} if beside == "cluster" else {}
    how = {"baseline": "a", "measures": ["win-rate"], "engine": engine}
    how |= beside_scores(table, **columns)
    ev = cal.scores(["a", "b"], **how)
    own, d = ev["b", "win-rate"], ev.comparison[0]  # type: ignore[index]
    assert (d.value, d.low, d.high) == pytest.approx(
        (own.value - 0.5, own.low - 0.5, own.high - 0.5)
    )
    assert d.method == own.method
    at_p = cal.scores(["a", "b"], level=1 - d.p, **how)["b", "win-rate"]
    assert at_p.low == pytest.approx(0.5, abs=1e-6)


# --- Results --------------------------------------------------------------------------------------


def test_every_format_shows_it(tmp_path: Path) -> None:
    ev = cal.scores(SCORES, measures=ALL, baseline="old", score_range=(1, 5))
    again = from_json(ev.to_json())
    assert isinstance(again, cal.Evaluation)
    assert again.to_json() == ev.to_json()
    page = ev.to_html(tmp_path / "r.html")
    for text in (str(ev), ev.to_markdown(), page):
        assert "if scored" in text.lower()
        assert "have no score" in text
    assert "pass-rate@4" in ev.to_latex()


def test_the_command(tmp_path: Path) -> None:
    from click.testing import CliRunner

    path = tmp_path / "long.csv"
    csv.write_csv(long_table(), path)
    line = f"scores {path} --case id --system model --score grade --score-range 1,5"
    done = CliRunner().invoke(cli, [*line.split(), "--baseline", "old", "--format", "json"])
    assert done.exit_code == 0, done.output
    read = json.loads(done.stdout)
    mean = {s["name"]: s["estimates"][0]["value"] for s in read["systems"]}
    assert mean == pytest.approx({name: given(name).mean() for name in GRADES})
    done = CliRunner().invoke(cli, [*line.split()[:-1], "1-5"])
    assert done.exit_code == 2
    assert "expected two numbers, as in 1,5" in done.output


def test_the_value_of_a_measure_alone() -> None:
    assert cal.measure("pass-rate")(["pass", "fail", "pass", None]) == pytest.approx(2 / 3)
    assert cal.measure("pass-rate@4")([5, 4, 3, 1]) == 0.5
    assert cal.measure("median-score")([5, 4, 3, 1]) == 3.5
    assert cal.measure("win-rate")([1, 2, 3], [2, 2, 1]) == 0.5
    with pytest.raises(cal.InputError, match="one column, the scores"):
        cal.measure("pass-rate")([1, 0], [1, 1])
    with pytest.raises(cal.InputError, match="the scores of the reference and those"):
        cal.measure("win-rate")([1, 0])


def test_how_many_cases_are_needed() -> None:
    plan = cal.plan("pass-rate", value=0.8, half_width=0.05)
    accuracy = cal.plan("accuracy", value=0.8, half_width=0.05)
    assert (plan.n, plan.unit) == (accuracy.n, "cases")


JOB = Path(__file__).parents[3] / "shared/research/judges_prototype/job1.csv"


@pytest.mark.skipif(not JOB.exists(), reason="a table of the specification")
def test_the_first_job_by_the_judge_alone() -> None:
    ev = cal.scores(["old", "new"], data=str(JOB), case="case", baseline="old")
    assert (ev["old", "pass-rate"].value, ev["new", "pass-rate"].value) == (0.69, 0.8)
    [d] = ev.compare(baseline="old", test="mcnemar")
    assert (round(d.value, 3), round(d.p, 4)) == (0.11, 0.0062)


@pytest.mark.parametrize(
    "options", [["--system", "model", "--engine", "stream"], ["--samples", "2", "--engine", "stream"],
                ["--system", "model", "--save-state", "day.state"]],
)  # fmt: skip
def test_the_command_says_why_a_long_table_is_not_streamed(
    options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    csv.write_csv(long_table(), "long.csv")
    found = CliRunner().invoke(
        cli, ["scores", "long.csv", "--score", "grade", "--case", "id", *options]
    )
    with pytest.raises(cal.InputError) as caught:
        cal.scores("grade", case="id", system="model", data="long.csv", engine="stream")
    assert str(caught.value).startswith("case= takes all rows in memory, but engine='stream'")
    assert isinstance(found.exception, cal.InputError)
    # The command has names of options where Python has those of arguments.
    as_options = re.sub(r"(engine)='(\w+)'", r"--\1 \2", str(caught.value)).replace(
        "case=", "--case"
    )
    assert str(found.exception) == as_options


def test_a_long_table_above_the_memory_is_read_by_the_command_as_in_python(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    csv.write_csv(long_table(), path)
    command = ["scores", str(path), "--score", "grade", "--case", "id", "--system", "model"]
    out = tmp_path / "r.json"
    found = CliRunner().invoke(cli, [*command, "--memory", "1KB", "-o", str(out)])
    assert found.exit_code == 0, found.output
    expected = cal.scores("grade", case="id", system="model", data=str(path), memory="1KB")
    assert numbers(from_json(out.read_text())) == numbers(expected)


def test_a_data_frame_of_dask_is_no_long_table() -> None:
    dask = pytest.importorskip("dask.dataframe")
    frame = dask.from_pandas(long_table().to_pandas(), npartitions=2)
    with pytest.raises(cal.InputError, match="case= takes all rows in memory, but engine='dask'"):
        cal.scores("grade", case="id", system="model", data=frame)


@pytest.mark.parametrize("engine", ["memory", "stream"])
@pytest.mark.parametrize(
    ("score", "message"),
    [
        (["g", "g"], "'g' names two systems, expected one"),
        ({"": "g", "h": "h"}, "score: the name of a system is empty"),
        ({1: "g", "1": "h"}, "score: '1' names two systems"),
    ],
)
def test_systems_have_names_of_their_own(score: Any, message: str, engine: str) -> None:
    data = {"g": [1, 0, 1], "h": [0, 0, 1]}
    with pytest.raises(cal.InputError, match=message):
        cal.scores(score, data=data, engine=engine)


def test_the_command_refuses_a_system_that_was_given_already(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("g\n1\n0\n")
    found = CliRunner().invoke(cli, ["scores", str(path), "--score", "g", "--score", "g"])
    assert found.exit_code == 2
    assert "a system 'g' was given already" in " ".join(found.output.split())


def test_columns_without_a_role_are_scores(tmp_path: Path) -> None:
    path, out = tmp_path / "t.csv", tmp_path / "r.json"
    rows = "".join(f"{k},{k % 2},{k % 3 > 0:d},1,{k}\n" for k in range(12))
    path.write_text(f"id,site,g,h,user\n{rows}")
    words = ["scores", str(path), "--slice", "site", "--cluster", "user"]
    found = CliRunner().invoke(cli, [*words, "--case", "id", "-o", str(out)])
    assert found.exit_code == 0, found.output
    assert from_json(out.read_text()).systems == ("g", "h")
    for options in ([], ["--case", "id", "--system", "site"]):  # an id is no score
        found = CliRunner().invoke(cli, [*words[:2], *options])
        assert found.exit_code == 2
        assert "give at least one of --score" in found.output


def test_a_column_of_text_is_no_column_of_scores(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("id,answer,g\n1,Paris,1\n2,Rome,0\n")
    found = CliRunner().invoke(cli, ["scores", str(path), "--case", "id"])
    assert isinstance(found.exception, cal.InputError)
    assert "score 'answer': holds 'Paris' in row 0" in str(found.exception)


def test_a_row_without_the_name_of_its_system_is_refused() -> None:
    data = {"id": [1, 1, 2], "model": ["a", "", "a"], "g": [1, 0, 1]}
    with pytest.raises(cal.InputError, match="system: is missing in row 1"):
        cal.scores("g", case="id", system="model", data=data)
    battles = {"model_a": ["a", ""], "model_b": ["b", "a"], "winner": ["model_a"] * 2}
    with pytest.raises(cal.InputError, match="row 1: the name of a system is empty"):
        cal.pairs(battles)
