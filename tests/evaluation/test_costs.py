"""What systems cost beside what they are worth, and the Pareto front of both."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import stats

import calipers as cal
from calipers.cli import cli
from calipers.inference.proportions import quantile_ranks

RANDOM = np.random.default_rng(11)
ROWS = 200
TRUTH = RANDOM.integers(0, 2, ROWS)
SAID = {
    name: np.where(RANDOM.random(ROWS) < right, TRUTH, 1 - TRUTH)
    for name, right in (("small", 0.7), ("large", 0.95), ("old", 0.6))
}
LATENCY = {
    name: np.round(RANDOM.lognormal(middle, 0.5, ROWS), 3)
    for name, middle in (("small", 1.0), ("large", 3.0), ("old", 2.0))
}
PRICE = {"small": 1.0, "large": 4.0, "old": 4.0}
FEW: dict[str, Any] = {"n_resamples": 200, "curves": False, "measures": ["accuracy"]}


def evaluated(**more: Any) -> cal.Evaluation:
    return cal.classification(TRUTH, SAID, cost={"ms": LATENCY, "price": PRICE}, **FEW | more)


def test_values_are_those_of_numpy() -> None:
    costs = evaluated().costs
    assert costs is not None
    for name, column in LATENCY.items():
        assert costs[name, "mean-cost[ms]"].value == pytest.approx(column.mean())
        for measure, at in (("median-cost[ms]", 50), ("p95-cost[ms]", 95)):
            expected = np.percentile(column, at, method="averaged_inverted_cdf")
            assert costs[name, measure].value == pytest.approx(expected)
        assert costs[name, "total-cost[price]"].value == PRICE[name]
        total = cal.measure("total_cost")
        assert str(total) == "total-cost"


def test_limits_of_quantiles_are_order_statistics() -> None:
    costs = evaluated().costs
    assert costs is not None
    for measure, share in (("median-cost[ms]", 0.5), ("p95-cost[ms]", 0.95)):
        low, high = (  # by the tables of SciPy: the ends of the binomial's tails
            int(stats.binom.ppf(0.025, ROWS, share)),
            int(stats.binom.ppf(0.975, ROWS, share)) + 1,
        )
        in_order = np.sort(LATENCY["small"])
        estimate = costs["small", measure]
        assert (estimate.low, estimate.high) == (in_order[low - 1], in_order[high - 1])
        assert estimate.method == "order statistics, binomial"


@pytest.mark.parametrize(
    ("share", "n", "level"), list(product((0.1, 0.5, 0.95), (6, 73, 500), (0.9, 0.95)))
)
def test_ranks_hold_the_quantile_as_often_as_they_say(share: float, n: int, level: float) -> None:
    found, below = quantile_ranks(share, n, level), stats.binom(n, share)
    tail = (1 - level) / 2
    if found is None:
        assert below.cdf(0) > tail or below.sf(n - 1) > tail
        return
    low, high = found
    assert below.cdf(low - 1) <= tail < below.cdf(low)  # the narrowest on either side
    assert below.sf(high - 1) <= tail < below.sf(high - 2)


def test_quantiles_of_few_rows_say_why_they_have_no_interval() -> None:
    few = {name: column[:40] for name, column in LATENCY.items()}
    said = {name: column[:40] for name, column in SAID.items()}
    ev = cal.classification(TRUTH[:40], said, cost={"ms": few}, **FEW)
    assert ev.costs is not None
    assert ev.costs["old", "p95-cost[ms]"].interval_reason == "too_few_for_quantile"
    assert ev.costs["old", "median-cost[ms]"].interval_reason is None
    of = ev.costs.comparison
    assert of is not None
    assert np.isnan(of["old", "small", "p95-cost[ms]"].p)
    assert of["old", "small", "median-cost[ms]"].p < 0.05


def test_means_are_compared_by_a_paired_t() -> None:
    of = evaluated().costs
    assert of is not None
    comparison = of.compare(adjust="none")
    d = comparison["large", "small", "mean-cost[ms]"]
    expected = stats.ttest_rel(LATENCY["large"], LATENCY["small"])
    assert d.p == pytest.approx(expected.pvalue, rel=1e-6)
    assert d.value == pytest.approx((LATENCY["large"] - LATENCY["small"]).mean())


def test_quality_does_not_see_costs() -> None:
    plain = cal.classification(TRUTH, SAID, **FEW)
    ev = evaluated()
    assert ev.estimates == plain.estimates
    assert ev.comparison is not None
    assert ev.comparison.to_json() == plain.comparison.to_json()  # type: ignore[union-attr]
    assert ev.measures == ("accuracy",)


def test_order_and_names_of_rows_change_nothing() -> None:
    turned = RANDOM.permutation(ROWS)
    data = {"id": np.arange(ROWS).astype(str), "y": TRUTH, **SAID}
    data |= {f"ms {name}": column for name, column in LATENCY.items()}
    named = {name: f"ms {name}" for name in SAID}
    for rows in (np.arange(ROWS), turned):
        table = {name: np.asarray(column)[rows] for name, column in data.items()}
        ev = cal.classification("y", list(SAID), data=table, cost={"ms": named}, **FEW)
        assert ev.costs is not None
        assert ev.costs["old", "p95-cost[ms]"] == evaluated().costs["old", "p95-cost[ms]"]  # type: ignore[index]


def test_a_weight_of_two_is_the_row_twice() -> None:
    weight = RANDOM.integers(1, 3, ROWS)
    weighted, counted = evaluated(weight=weight).costs, evaluated(count=weight).costs
    assert weighted is not None
    assert counted is not None
    for a, b in zip(weighted, counted, strict=True):
        assert a.value == pytest.approx(b.value), a.measure
    assert "Woodruff" in weighted["old", "median-cost[ms]"].method


def test_clusters_widen_limits() -> None:
    user = np.arange(ROWS) // 5
    column = np.exp(RANDOM.normal(0, 1, 40))[user]  # all rows of a user cost the same
    one = {"cost": {"ms": column}, **FEW}
    clustered = cal.classification(TRUTH, SAID["old"], cluster=user, **one).costs
    plain = cal.classification(TRUTH, SAID["old"], **one).costs
    assert clustered is not None
    assert plain is not None
    for name in ("mean-cost[ms]", "median-cost[ms]"):
        wide, narrow = clustered[name], plain[name]
        assert wide.high - wide.low > 1.5 * (narrow.high - narrow.low)


def test_slices_are_those_of_the_evaluation() -> None:
    site = np.where(np.arange(ROWS) % 3, "a", "b")
    costs = evaluated(slices={"site": site}).costs
    assert costs is not None
    assert costs.slices is not None
    found = costs.slices["site", "b", "old", "mean-cost[ms]"].estimate.value
    assert found == pytest.approx(LATENCY["old"][site == "b"].mean())


# --- Fronts ---------------------------------------------------------------------------------------


def brute(points: dict[str, tuple[float, float]]) -> set[str]:
    """Those that no other beats, (quality, cost)."""
    return {
        a
        for a, (q, c) in points.items()
        if not any(
            (q2 >= q and c2 <= c and (q2 > q or c2 < c)) for b, (q2, c2) in points.items() if b != a
        )
    }


@pytest.mark.parametrize("seed", range(20))
def test_the_front_is_that_of_brute_force(seed: int) -> None:
    random = np.random.default_rng(seed)
    values = {f"s{i}": random.integers(0, 4, 3) / 4 for i in range(8)}  # with ties
    price = {name: float(random.integers(1, 5)) for name in values}
    lower = seed % 2 == 1
    ev = cal.from_values(
        values, measure="m", lower_is_better=["m"] if lower else (), cost={"price": price},
        n_resamples=100,
    )  # fmt: skip
    [front] = ev.pareto_fronts
    sign = -1 if lower else 1
    points = {n: (sign * float(np.mean(v)), price[n]) for n, v in values.items()}
    assert set(front.systems) == brute(points)
    costs = [front[name].cost for name in front.systems]
    assert costs == sorted(costs)
    for row in front:
        assert row.on_front == (not row.dominated_by)
        for other in row.dominated_by:
            assert front[other].on_front
            assert points[other][0] >= points[row.system][0]
            assert points[other][1] <= points[row.system][1]


def test_surely_asks_for_both() -> None:
    by_cost = {front.cost_measure: front for front in evaluated().pareto_fronts}
    ms, price = by_cost["mean-cost[ms]"], by_cost["total-cost[price]"]
    assert ms.systems == ("small", "large")
    assert ms["old"].dominated_by == ("small",)
    # Better by both: the p-values of both comparisons are below 5%, or not.
    ev = evaluated()
    p = ev.comparison["old", "small", "accuracy"].p_adjusted  # type: ignore[index]
    assert (ms["old"].significantly_dominated_by == ("small",)) == (p <= 0.05)
    assert price["old"].significantly_dominated_by[-1:] == (
        "large",
    )  # of equal price, and surely more often right
    assert ms["large"].significantly_dominated_by == ms["small"].significantly_dominated_by == ()


# --- Input ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cost", "message"),
    [
        (3, "cost is 3, expected a dict"),
        ({}, "cost is {}, expected a dict"),
        ({"": PRICE}, "a name is empty"),
        ({"x": {}}, "cost 'x': an empty dict"),
        ({"x": 1.0}, "there are 3 systems, small, large, old"),
        ({"x": {"small": 1, "large": 2}}, "cost 'x': has no cost of 'old'"),
        ({"x": {**PRICE, "odl": 1}}, "'odl' is not a system; did you mean 'old'"),
        ({"x": {**PRICE, "old": -1}}, "cost 'x' of 'old': is -1, expected a number from 0"),
        ({"x": {**PRICE, "old": np.nan}}, "is nan, expected a number from 0"),
        ({"x": {**PRICE, "old": np.inf}}, "is inf, expected a number from 0"),
        ({"x": {**LATENCY, "old": 4}}, "'old' has one number, 'small' one for each row"),
        ({"x": {**LATENCY, "old": [1.0]}}, "cost 'x' of 'old': has 1 rows, there are 200"),
        ({"x": {**LATENCY, "old": -LATENCY["old"]}}, "in row 0 (and 199 more rows), expected 0 or"),
        ({"x": {**LATENCY, "old": ["a"] * ROWS}}, "holds 'a' in row 0, expected numbers"),
        ({"x": {**LATENCY, "old": None}}, "cost 'x' of 'old': None is not a column"),
    ],
)
def test_what_is_no_cost(cost: Any, message: str) -> None:
    with pytest.raises(cal.InputError) as caught:
        cal.classification(TRUTH, SAID, cost=cost, **FEW)
    assert message in str(caught.value)


def test_rows_without_a_cost_are_dropped_or_refused() -> None:
    gap = {**LATENCY, "old": np.where(np.arange(ROWS) == 7, np.nan, LATENCY["old"])}
    with pytest.raises(cal.InputError, match="is NaN in row 7"):
        cal.classification(TRUTH, SAID, cost={"ms": gap}, **FEW)
    ev = cal.classification(TRUTH, SAID, cost={"ms": gap}, missing="drop", **FEW)
    assert ev["old", "accuracy"].n == ROWS - 1
    assert ev["old", "mean-cost[ms]"].value == pytest.approx(np.nanmean(gap["old"]))
    assert "1 in cost 'ms' of 'old'" in ev.notes[0]


QRELS = {f"q{i}": {"a": 1, "b": 0, "c": i % 2} for i in range(12)}
RUNS = {
    name: {topic: dict(zip("abc", RANDOM.random(3), strict=True)) for topic in QRELS}
    for name in ("one", "two")
}


def test_topics_by_dicts_files_and_tables_are_one(tmp_path: Path) -> None:
    ms = {name: {topic: float(RANDOM.integers(1, 99)) for topic in QRELS} for name in RUNS}
    for name, of in ms.items():
        lines = [f"{topic}\t{value}\n" for topic, value in reversed(of.items())]
        (tmp_path / f"{name}.ms").write_text("".join(lines))
    rows = [f"{topic},{ms['one'][topic]},{ms['two'][topic]}\n" for topic in QRELS]
    (tmp_path / "both.csv").write_text("topic,one,two\n" + "".join(rows))
    table = {"topic": list(QRELS)} | {f"ms {name}": list(of.values()) for name, of in ms.items()}
    expected = None
    for cost, more in (
        (ms, {}),
        ({name: str(tmp_path / f"{name}.ms") for name in RUNS}, {}),
        (tmp_path / "both.csv", {}),
        ({name: list(of.values()) for name, of in ms.items()}, {}),
        ({name: f"ms {name}" for name in RUNS}, {"topic_table": table}),
    ):
        ev = cal.retrieval(QRELS, RUNS, measures=["AP"], cost={"ms": cost}, n_resamples=100, **more)
        assert ev.costs is not None
        # (The last digit of a sum hangs on where its numbers lie in memory.)
        numbers = ((e, pytest.approx((e.value, e.low), rel=1e-12, nan_ok=True)) for e in ev.costs)
        found = [(e.system, e.measure, both, e.n, e.unit) for e, both in numbers]
        expected = expected or [
            (e.system, e.measure, (e.value, e.low), e.n, e.unit) for e in ev.costs
        ]
        assert expected == found
    assert expected is not None
    assert expected[0][-2:] == (12, "topics")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("q0 1\nq1 x\n", "{}:2: is 'q1 x', expected a topic and its cost, a number of 0 or more"),
        ("q0 1\nq1 -2\n", "{}:2: is 'q1 -2'"),
        ("q0 1\nq1 nan\n", "{}:2: is 'q1 nan'"),
        ("q0 1\n\nq0 2\n", "{}:3: topic 'q0' already appears in line 1"),
        ("q0 1 2\n", "{}:1: is 'q0 1 2'"),
        ("q0 1\n", "{}: topic 'q1' has no cost (nor have 10 more), expected one for every topic"),
    ],
)
def test_wrong_lines_say_where_they_are(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "wrong.ms"
    path.write_text(text)
    with pytest.raises(cal.InputError) as caught:
        cal.retrieval(QRELS, RUNS["one"], measures=["AP"], cost={"ms": str(path)})
    assert str(caught.value).startswith(message.format(path))


def test_groups_have_one_cost_each() -> None:
    group, grade = np.repeat(np.arange(10), 4), np.tile([0, 1, 2, 0], 10)
    ms = np.repeat(RANDOM.random(10), 4)
    score = RANDOM.random(40)
    ev = cal.ranking(group, grade, score, cost={"ms": ms}, measures=["P@1"], n_resamples=100)
    assert ev.costs is not None
    assert ev.costs["mean-cost[ms]"].value == pytest.approx(ms.mean())
    assert (ev.costs["mean-cost[ms]"].n, ev.costs["mean-cost[ms]"].unit) == (10, "groups")
    with pytest.raises(cal.InputError, match="expected one value for each group"):
        cal.ranking(group, grade, score, cost={"ms": np.arange(40.0)})


def test_other_verbs_take_costs_too() -> None:
    number = RANDOM.normal(size=ROWS)
    several = {"a": number, "b": number + 1}
    ms = {"a": LATENCY["small"], "b": LATENCY["old"]}
    made = [
        cal.regression(number, several, cost={"ms": ms}, n_resamples=100),
        cal.clustering(
            None, {"a": TRUTH, "b": SAID["old"]}, TRUTH, cost={"ms": ms}, n_resamples=100
        ),
        cal.multilabel(
            [{"x"} if y else set() for y in TRUTH],
            {n: [{"x"} if y else set() for y in SAID["old"]] for n in "ab"},
            cost={"ms": ms},
            n_resamples=100,
        ),
    ]
    for ev in made:
        assert ev.costs is not None
        assert ev.costs["a", "mean-cost[ms]"].value == pytest.approx(LATENCY["small"].mean())


# --- Shown ----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_front_is_in_every_form(tmp_path: Path) -> None:
    ev = evaluated()
    assert "dominated by small" in str(ev)
    assert "old is dominated by small" in ev.to_markdown()
    assert "Pareto" in ev.charts
    spec = json.dumps(ev.chart("Pareto", "mean-cost[ms]").spec)
    assert "step-after" in spec
    page = ev.to_html()
    assert 'id="costs"' in page
    again = cal.from_json(ev.to_json())
    assert again.to_json() == ev.to_json()
    assert [row["measure"] for row in ev.rows()].count("p95-cost[ms]") == 3
    assert (
        ev.pareto_fronts[0]
        .to_csv()
        .splitlines()[0]
        .startswith("system,measure,cost_measure,quality")
    )


def test_a_wide_range_of_costs_is_drawn_by_its_logarithm() -> None:
    for most, log in ((99.0, False), (1000.0, True)):
        price = {"small": 1.0, "large": most, "old": 2.0}
        ev = cal.classification(TRUTH, SAID, cost={"price": price}, **FEW)
        assert ('"log"' in json.dumps(ev.chart("Pareto").spec)) == log


def test_the_command(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    names = ["y", *SAID, *(f"ms_{name}" for name in LATENCY)]
    columns = [TRUTH, *SAID.values(), *LATENCY.values()]
    lines = [",".join(map(str, row)) for row in zip(*columns, strict=True)]
    path.write_text("\n".join([",".join(names), *lines, ""]))
    asked = ["classification", str(path), "--truth", "y", "--positive", "1", "-m", "accuracy"]
    for name in SAID:
        asked += ["--predicted", name]
    of = ",".join(f"{name}:ms_{name}" for name in SAID)
    price = ",".join(f"{name}:{price}" for name, price in PRICE.items())
    options = ["--cost", f"ms={of}", "--cost", f"price={price}", "--format", "json"]
    done = CliRunner().invoke(cli, [*asked, *options, "--n-resamples", "200"])
    assert done.exit_code == 0, done.output
    made = cal.from_json(done.stdout)
    assert made.pareto_fronts[0].systems == ("small", "large")
    assert made.costs["old", "mean-cost[ms]"].value == pytest.approx(LATENCY["old"].mean())
    for spec, said in (
        ("ms", "expected a name and the cost of each system"),
        ("ms=small:ms_small,old", "'old' is not the cost of a system"),
        ("ms=small:1,small:2", "'small' is given twice"),
    ):
        done = CliRunner().invoke(cli, [*asked, "--cost", spec])
        assert done.exit_code == 2
        assert said in done.output
