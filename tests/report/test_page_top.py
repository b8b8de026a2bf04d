"""The first screen of a page: what its verdict claims, and that its plot is to scale."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from samples import AUC, binary, difference, regression, retrieval, undefined
from test_verdict import several

import calipers as cal
from calipers.report.blocks import EstimationPlot, Findings, Fold, Medium, Table, WideTable
from calipers.report.documents import MAX_CARDS, DisplayOptions, document
from calipers.report.page_top import (
    MAX_PLOT_ROWS,
    comparison_plot,
    comparison_verdict,
    evaluation_plot,
    evaluation_verdict,
)
from calipers.report.verdict import outcome
from calipers.results import Comparison, Estimate, Evaluation, Finding

NAN = float("nan")
PAGE = DisplayOptions(Medium.BROWSER)


def pair(**changes: Any) -> Comparison:
    return Comparison((difference(**changes),), primary="nDCG@10")


# --- The verdict ----------------------------------------------------------------------------------

VALUES = {"dense": "0.412", "bm25": "0.391"}
TESTED = "(p < 0.001, paired randomization, 50 topics)"


@pytest.mark.parametrize(
    ("changes", "sentence", "facts"),
    [
        ({}, "dense is significantly better than bm25: nDCG@10 0.412 against 0.391.",
         f"Difference 0.021 [0.011, 0.032] {TESTED}."),
        # The better one comes first, with its own difference.
        ({"value": -0.021, "low": -0.032, "high": -0.011},
         "bm25 is significantly better than dense: nDCG@10 0.391 against 0.412.",
         f"Difference 0.021 [0.011, 0.032] {TESTED}."),
        ({"higher_is_better": False},
         "bm25 is significantly better than dense: nDCG@10 0.391 against 0.412.",
         f"Difference -0.021 [-0.032, -0.011] {TESTED}."),
        ({"higher_is_better": None},
         "dense is significantly higher than bm25: nDCG@10 0.412 against 0.391.",
         f"Difference 0.021 [0.011, 0.032] {TESTED}."),
        ({"low": -0.010, "p_adjusted": 0.41, "min_detectable": 0.0203},
         "dense and bm25 do not differ significantly: nDCG@10 0.412 against 0.391.",
         "Difference 0.021 [-0.010, 0.032] (p = 0.41, paired randomization, 50 topics); "
         "minimum detectable difference 0.021 (80% power)."),
        ({"p_adjusted": 0.12},
         "dense and bm25 do not differ significantly: nDCG@10 0.412 against 0.391.",
         "Difference 0.021 [0.011, 0.032] (p = 0.12, paired randomization, 50 topics); the interval "
         "excludes 0, but the p-value is not significant."),
        ({"p_adjusted": NAN},
         "The difference between dense and bm25 is not tested: nDCG@10 0.412 against 0.391.",
         "The difference between dense and bm25 on nDCG@10 is not tested: 0.021 [0.011, 0.032]."),
    ],
)  # fmt: skip
def test_a_pair_has_a_sentence_and_its_numbers(
    changes: dict[str, Any], sentence: str, facts: str
) -> None:
    assert comparison_verdict(pair(**changes), values=VALUES) == (sentence, [facts])


def test_what_was_requested_one_way_is_not_turned() -> None:
    worse = {"value": -0.021, "low": -0.032, "high": -0.011}
    against = replace(pair(**worse), baseline="bm25")
    sentence, [facts] = comparison_verdict(against, values=VALUES)
    assert sentence == "dense is significantly worse than bm25: nDCG@10 0.412 against 0.391."
    assert facts.startswith("Difference -0.021")
    margin = {**worse, "margin": 0.05, "p_noninferiority": 0.001, "p_equivalence": 0.01}
    sentence, [facts] = comparison_verdict(pair(**margin), values=VALUES)
    assert "equivalent within a margin of 0.05" in facts
    assert sentence.startswith("dense is significantly worse than bm25")
    one_sided = pair(alternative="greater", p_adjusted=0.2)
    sentence, others = comparison_verdict(one_sided, values=VALUES)
    assert sentence.startswith("dense is not significantly better than bm25 on nDCG@10")
    assert not others


TEN = {f"s{j}": 0.3 + 0.02 * (j * 7 % 10) for j in range(10)}


@pytest.mark.parametrize(
    ("values", "apart", "sentence", "behind"),
    [
        (TEN, 0.05, "s7 ranks first of 10 systems, but s4 and s1 are not significantly worse", 7),
        (TEN, 0.07, "s7 ranks first of 10 systems, but 3 others are not significantly worse", 6),
        (TEN, 0.5, "s7 ranks first of 10 systems, but the others are not significantly worse", 0),
        ({**TEN, "best": 1.0}, 0.4,
         "best ranks first of 11 systems, significantly ahead of all others", 0),
        ({"a": 0.1, "b": 0.2, "c": 0.4}, 0.25,
         "c ranks first of 3 systems, but b is not significantly worse", 1),
    ],
)  # fmt: skip
def test_of_several_the_leader_and_who_is_not_behind(
    values: dict[str, float], apart: float, sentence: str, behind: int
) -> None:
    said, [facts] = comparison_verdict(several(values, apart))
    assert said == f"{sentence} on AP."
    leader, runner_up = sorted(values, key=lambda name: -values[name])[:2]
    gap = values[leader] - values[runner_up]
    assert facts.startswith(f"{leader} minus {runner_up}, the runner-up: {gap:.2g}")
    count = re.search(r"(\d+) systems? (?:is|are) significantly worse than", facts)
    assert (int(count[1]) if count else 0) == behind
    texts = {name: f"{value:.2f}" for name, value in values.items()}
    said, _ = comparison_verdict(several(values, apart), values=texts)
    assert said == f"{sentence}: AP {texts[leader]} against {texts[runner_up]} of {runner_up}."


def test_untested_differences_are_not_claimed() -> None:
    all_tested = several({"a": 0.1, "b": 0.2, "c": 0.4}, 0.05)
    one = tuple(
        replace(d, p_adjusted=NAN) if {d.system, d.baseline} == {"a", "c"} else d
        for d in all_tested
    )
    said, _ = comparison_verdict(replace(all_tested, differences=one))
    assert said == "c ranks first of 3 systems; one difference from it is not tested on AP."
    none = tuple(replace(d, p_adjusted=NAN) for d in all_tested)
    said, _ = comparison_verdict(replace(all_tested, differences=none))
    assert said == "c ranks first of 3 systems; 2 differences from it are not tested on AP."


def test_against_a_baseline_each_outcome_is_counted() -> None:
    said, [facts] = comparison_verdict(several(TEN, 0.05, "s4"))
    assert said == (
        "6 systems are significantly worse than s4 on AP; 3 systems do not differ significantly."
    )
    assert facts.startswith("s7 minus s4: 0.02")
    said, _ = comparison_verdict(several({"a": 0.3, "b": 0.5, "c": 0.31}, 0.1, "a"))
    assert said == "b is significantly better than a on AP; c does not differ significantly."


def test_other_results_have_their_headline() -> None:
    assert evaluation_verdict(regression()) == (
        "RMSE is 56.3 [53.0, 59.9].", ["95% BCa; 442 rows; best constant prediction: 77.0."]
    )  # fmt: skip
    assert evaluation_verdict(undefined()) == ("AUC is undefined (one_class: 1 of 12 rows).", [])
    alone = replace(binary(), comparison=None)
    assert evaluation_verdict(alone) == (
        "logistic has the highest AUC of 2 systems: 0.944; no difference is tested.", []
    )  # fmt: skip
    assert evaluation_verdict(Evaluation("retrieval", ())) == ("No measure was requested.", [])
    assert comparison_verdict(Comparison(())) == ("No difference was requested.", [])
    equal = comparison_verdict(several(dict.fromkeys("abc", 0.3), 0.1))
    assert "ranks first" not in equal[0]


# --- The plot -------------------------------------------------------------------------------------


def systems(values: dict[str, float], apart: float) -> Evaluation:
    """Systems by their AUC, with intervals of ± 0.02."""
    estimates = tuple(
        Estimate("AUC", v, v - 0.02, v + 0.02, method="DeLong", n=90, unit="rows", system=name)
        for name, v in values.items()
    )
    compared = several(values, apart)
    differences = tuple(replace(d, measure="AUC") for d in compared)
    comparison = replace(compared, differences=differences, primary="AUC")
    return Evaluation("classification", estimates, comparison=comparison, definitions=(AUC,))


def percent(position: str) -> float:
    assert position.endswith("%")
    return float(position[:-1])


def linear(pairs: list[tuple[float, float]]) -> None:
    """All positions are the same linear function of the numbers."""
    x, y = map(np.array, zip(*pairs, strict=True))
    slope, start = np.polyfit(x, y, 1)
    np.testing.assert_allclose(slope * x + start, y, atol=0.02)
    assert slope > 0
    assert y.min() >= 0
    assert y.max() <= 100


@pytest.mark.parametrize("apart", [0.01, 0.05, 0.5])
def test_the_plot_is_to_scale_best_first_with_letters_of_the_tests(apart: float) -> None:
    ev = systems(TEN, apart)
    plot = evaluation_plot(ev)
    assert plot is not None
    order = sorted(TEN, key=lambda name: -TEN[name])
    assert [row.name for row in plot.rows] == order
    assert [row.rank for row in plot.rows] == [str(i) for i in range(1, 11)]
    pairs, of_differences = [], [(0.0, percent(plot.zero))]
    for row in plot.rows:
        assert row.bar is not None
        e = ev[row.name, "AUC"]
        pairs += zip(
            (e.value, e.low, e.high),
            map(percent, (row.bar.value, row.bar.low, row.bar.high)),
            strict=True,
        )
        assert row.value == f"{e.value:.3f}"
        if row.name != order[0]:
            assert row.difference_bar is not None
            gap = TEN[order[0]] - TEN[row.name]
            bar = row.difference_bar
            of_differences += [
                (gap, percent(bar.value)), (gap - apart, percent(bar.low)), (gap + apart, percent(bar.high))
            ]  # fmt: skip
            assert float(row.difference) == pytest.approx(gap, abs=1e-3)
            assert row.is_significant is (gap > apart)
    pairs += [(float(tick.label), percent(tick.position)) for tick in plot.ticks]
    of_differences += [(float(t.label), percent(t.position)) for t in plot.difference_ticks]
    linear(pairs)
    linear(of_differences)
    assert plot.shade == plot.rows[0].bar
    significant = {
        frozenset((d.system, d.baseline)) for d in ev.comparison or () if outcome(d).is_significant
    }

    def letters(name: str) -> set[str]:
        text = next(row.letters for row in plot.rows if row.name == name)
        runs = [part.split("–") for part in text.split(",")] if "–" in text else [[c] for c in text]
        return {chr(c) for run in runs for c in range(ord(run[0]), ord(run[-1]) + 1)}

    for a, b in combinations(order, 2):
        assert bool(letters(a) & letters(b)) is (frozenset((a, b)) not in significant)


def test_lower_is_better_ranks_the_lowest_first() -> None:
    lower = replace(AUC, higher_is_better=False)
    ev = replace(systems({"a": 0.3, "b": 0.5, "c": 0.1}, 0.05), definitions=(lower,))
    plot = evaluation_plot(ev)
    assert plot is not None
    assert [row.name for row in plot.rows] == ["c", "a", "b"]
    assert plot.direction == "lower is better"


def test_two_systems_have_one_difference_and_one_system_its_range() -> None:
    plot = evaluation_plot(binary())
    assert plot is not None
    assert plot.difference_heading == "logistic minus forest"
    assert [row.difference for row in plot.rows] == ["0.032", ""]  # against the baseline
    assert plot.shade is None
    assert "outside the axis" in " ".join(plot.caption)
    alone = evaluation_plot(regression())
    assert alone is not None
    assert alone.no_skill
    assert not alone.difference_ticks
    assert evaluation_plot(undefined()) is None
    compared = comparison_plot(pair())
    assert compared is not None
    assert [row.name for row in compared.rows] == ["dense minus bm25"]
    assert comparison_plot(Comparison(())) is None


@pytest.mark.parametrize("size", [1e-300, 1e-9, 1.0, 1e12, 1e300])
def test_axes_of_any_size_have_a_few_ticks(size: float) -> None:
    ev = Evaluation(
        "regression",
        tuple(Estimate("RMSE", v * size, v * size / 2, v * size * 2, method="t", system=f"s{v}")
              for v in (1, 2, 3)),
    )  # fmt: skip
    plot = evaluation_plot(ev)
    assert plot is not None
    assert 2 <= len(plot.ticks) <= 7
    huge = Evaluation(
        "regression", (Estimate("m", 0.0, -1.7e308, 1.7e308, method="t", system="s"),)
    )
    assert evaluation_plot(huge) is None


def test_rows_in_the_middle_of_many_are_folded() -> None:
    for n in (MAX_PLOT_ROWS, MAX_PLOT_ROWS + 1):
        page = systems({f"s{j}": 0.3 + 0.02 * j for j in range(n)}, 0.05).to_html()
        plot = page[page.index('class="estimation"') : page.index("<nav")]
        assert plot.count('role="rowheader"') == n
        assert ("<summary>7 to 10: " in plot) is (n > MAX_PLOT_ROWS)
    for name, values in (("s0", "0.300"), ("s10", "0.500")):
        assert re.search(rf"<bdi>{name}</bdi></th>.*?<b>{values}</b>", plot)


# --- The rest of the page -------------------------------------------------------------------------


def test_at_most_three_cards_the_gravest_first() -> None:
    kinds = {"no-significant-difference": "warning", "a": "warning", "b": "caution"}
    kinds |= dict.fromkeys("cde", "information")
    made = tuple(Finding(k, f"Of {k}.", "criterion", severity=v) for k, v in kinds.items())
    cards, others = (
        b for b in document(replace(regression(), findings=made), PAGE) if isinstance(b, Findings)
    )
    assert cards.are_cards
    assert not others.are_cards
    assert [item.message.strip("\x02\x03") for item in cards.items] == ["Of a.", "Of b.", "Of c."]
    assert len(cards.items) == MAX_CARDS
    # The verdict says this one already.
    assert "no-significant-difference" in others.items[0].message
    page = replace(regression(), findings=made[1:4]).to_html()
    assert 'id="findings"' not in page
    assert page.index('class="findings cards"') < page.index("<nav")


def _measures(blocks: list[Any]) -> list[list[str]]:
    """The measures of each table, of folded ones as well."""
    out = []
    for block in blocks:
        if isinstance(block, Fold):
            out += _measures(list(block.blocks))
        if isinstance(block, WideTable):
            out.append([name.split(" ")[0] for name in block.layout.measures])
        if isinstance(block, Table) and block.columns and block.columns[0].name == "measure":
            out.append(list(dict.fromkeys(cell.split(" ")[0] for cell in block.columns[0].cells)))
    return out


@pytest.mark.parametrize("n_systems", [1, 2, 10])
def test_tables_show_the_primary_measure_and_six_others(n_systems: int) -> None:
    random = np.random.default_rng(1)
    truth = random.random(200) < 0.4
    names = ["precision", "recall", "specificity", "F1", "MCC", "NPV", "Brier", "log-loss", "AUC"]
    scores = {f"s{j}": np.clip(random.random(200) + truth * j / 20, 0, 1) for j in range(n_systems)}
    ev = cal.classification(
        truth, probability=scores, measures=names, primary="AUC" if n_systems > 1 else None,
        n_resamples=100, curves=False,
    )  # fmt: skip
    tables = _measures(list(document(ev, PAGE)))
    if n_systems == 1:
        assert tables[:2] == [names[:7], names[7:]]
    else:
        assert sorted(tables[0]) == sorted([*names[:6], "AUC"])
        assert sorted(tables[1]) == sorted(names[6:8])
    text = [table for table in _measures(list(document(ev, DisplayOptions()))) if table]
    assert all(set(table) == set(names) for table in text[:1])


def test_slices_of_several_systems_are_one_table() -> None:
    random = np.random.default_rng(1)
    truth = random.random(400) < 0.4
    site = random.choice(["x", "y", "z"], 400)
    good = np.where((site == "x") & (random.random(400) < 0.9), random.random(400) < 0.5, truth)
    ev = cal.classification(
        truth, {"a": good, "b": random.random(400) < 0.5}, measures=["accuracy", "recall"],
        slices={"site": site},
    )  # fmt: skip
    assert ev.slices is not None
    table = next(
        b for b in document(ev.slices, DisplayOptions(Medium.SCREEN)) if isinstance(b, Table)
    )
    rows = {(measure, name): cells for measure, name, *cells in table.rows}
    assert [c.name for c in table.columns] == ["measure", "slice", "rows", "a", "b"]
    assert len(rows) == 6
    marks = set()
    for s in ev.slices:
        n, *cells = rows[s.estimate.measure, s.slice]
        cell = cells["ab".index(s.estimate.system)]
        value, low, high = map(float, re.findall(r"[\d.]+", cell))
        assert (value, low, high) == pytest.approx(
            (s.estimate.value, s.estimate.low, s.estimate.high), abs=6e-4
        )
        assert int(n) == s.estimate.n
        mark = {"better": "†", "worse": "‡"}.get(outcome(s.vs_rest).value, "")
        assert cell.endswith(mark or cell[-1])
        assert ("†" in cell, "‡" in cell) == (mark == "†", mark == "‡")
        marks.add(mark)
    assert "‡" in marks
    assert "‡: worse than on all other rows" in str(ev)
    assert "Differences from all other rows" in ev.to_html()


def test_charts_of_many_systems_begin_with_the_leader_and_the_runner_up() -> None:
    random = np.random.default_rng(0)
    truth = random.random(120) < 0.5
    scores = {f"s{j}": truth * j / 6 + random.random(120) for j in (2, 0, 5, 1, 4, 3)}
    ev = cal.classification(truth, score=scores, measures=["AUC"], n_resamples=100)
    order = sorted(ev.systems, key=lambda name: -ev[name, "AUC"].value)
    page = ev.to_html()
    labels = re.findall(r'<figure[^>]*data-choice="([^"]*)" id="chart-roc', page)
    assert labels == [f"{order[0]} and {order[1]}", "all 6", "all 6, with bands"]
    assert page.count('data-choice="all 6, with bands"') == page.count('data-choice="all 6"') > 1
    # By name there is one chart, of all of them.
    (figure,) = ev.chart("ROC").figures
    assert not figure.on_page
    assert {row[0] for row in figure.rows} == set(ev.systems)
    # Only what is first in view has a picture; all have their numbers.
    for name, chart in re.findall(
        r'data-choice="([^"]*)" id="chart-roc.*?>(.*?)</figure>', page, re.DOTALL
    ):
        assert '<div class="plot" role="img"' in chart
        assert "<table" in chart
        assert ("<svg" in chart) is (name == labels[0])


def test_pairs_by_unit_are_those_of_the_leader() -> None:
    random = np.random.default_rng(0)
    judged = {f"t{t}": {f"d{d}": int(d % 3 == 0) for d in range(12)} for t in range(20)}
    runs = {
        f"r{k}": {t: {d: g + random.normal(0, 0.4 + 0.4 * (k % 5)) for d, g in docs.items()}
                  for t, docs in judged.items()}
        for k in (3, 1, 4, 0, 2)
    }  # fmt: skip
    ev = cal.retrieval(judged, runs, measures=["AP"], n_resamples=100)
    order = sorted(ev.systems, key=lambda name: -ev[name, "AP"].value)
    choices = re.findall(r'data-choice="([^"]*)" id="chart-ap-by-topic', ev.to_html())
    assert [set(choice.split(" - ")) for choice in choices] == [
        {order[0], name} for name in order[1:]
    ]


def test_a_page_opens_with_the_plot_and_its_numbers_as_text() -> None:
    page = retrieval().to_html()
    header = page[page.index("<header>") : page.index("</header>")]
    assert "significantly better than" in header
    plots = [b for b in document(retrieval(), PAGE) if isinstance(b, EstimationPlot)]
    for row in plots[0].rows:
        assert f'<b>{row.value}</b> <span class="unit">{row.interval}</span>' in header
    assert header.count("<svg") == header.count('<svg aria-hidden="true"')
