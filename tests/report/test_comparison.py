"""The pages of a comparison: what they say, that they stand alone, and how large they are."""

from __future__ import annotations

import html.parser
import math
import re
from dataclasses import replace
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from samples import HOSTILE, difference, values

import calipers as cal
from calipers.report import numbers
from calipers.report.blocks import Lines
from calipers.report.charts import comparison_figures
from calipers.report.documents import _comparison_charts
from calipers.report.figures.per_unit import all_unit_figures
from calipers.report.glossary import glossary
from calipers.report.headlines import comparison_headlines
from calipers.report.page_data import all_pairs_data
from calipers.report.safe_names import method_text
from calipers.report.table_rows import comparison_heading as heading
from calipers.report.verdict import (
    adjustment_text,
    difference_sentence,
    format_detectable,
    homogeneous_groups_text,
    omnibus_sentence,
    outcome,
    p_heading,
)
from calipers.results import Comparison, OmnibusTest, PerUnit

page, markdown = Comparison.to_html, Comparison.to_markdown
MOST_BYTES = 1_500_000


def compared(given: dict[str, Any] | None = None, **options: Any) -> Comparison:
    of = values() if given is None else given
    return cal.from_values(of, unit="units", n_resamples=200).compare(**options)


@pytest.fixture(scope="module")
def four() -> Comparison:
    return compared()


def text_of(source: str) -> str:
    """What a reader sees: no script, style or tag."""

    class Reader(html.parser.HTMLParser):
        def __init__(self) -> None:
            super().__init__()
            self.out: list[str] = []
            self.hidden = 0

        def handle_starttag(self, tag: str, _: list[tuple[str, str | None]]) -> None:
            self.hidden += tag in ("script", "style")

        def handle_endtag(self, tag: str) -> None:
            self.hidden -= tag in ("script", "style")

        def handle_data(self, data: str) -> None:
            if not self.hidden:
                self.out.append(data)

    reader = Reader()
    reader.feed(source)
    assert reader.hidden == 0
    return " ".join(" ".join(reader.out).split())


# --- The page -------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_page_stands_alone_and_is_the_same_twice(four: Comparison) -> None:
    text = page(four)
    assert text == page(four)
    assert "default-src &#39;none&#39;" in text
    outside = re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL)  # the bundle names no host
    assert not re.search(r'(?:src|href|action)="(?!#)', outside)
    assert not re.search(r"@import|url\((?!#|&quot;#)", outside)


@pytest.mark.slow
def test_the_page_shows_every_difference_as_it_is(four: Comparison) -> None:
    seen = text_of(page(four))
    for d in four:
        digits = numbers.rounding([(d.value, d.low, d.high)], keep_sign=True)
        cells = f"{digits(d.value)} {digits.format_interval(d.low, d.high)} {numbers.format_p_digits(d.p_adjusted)}"
        assert f"{d.measure} {d.system} - {d.baseline} {cells} {outcome(d).value}" in seen
    for o in four.omnibus:
        assert f"{o.friedman_f:.2f}" in seen
        assert f"{o.omega_squared:.3f}" in seen


@pytest.mark.slow
def test_every_number_of_the_tables_is_one_of_the_data(four: Comparison) -> None:
    table = page(four).split('<table class="differences beside">')[1].split("</table>")[0]
    table = re.sub('<span class="narrow">([^<]*)</span>', r" \1", table)
    shown = {
        float(x)
        for cell in re.findall(r'<td class="number[^"]*">([^<]*)</td>', table)
        for x in re.findall(r"-?\d+\.\d+|-?\d+", cell)
    }
    names = ("value", "low", "high", "p_adjusted", "effect_size", "min_detectable")
    data = [float(getattr(d, name)) for d in four for name in names]
    data += [float(n) for d in four for n in (d.wins or 0, d.ties or 0, d.losses or 0)]
    known = [x for x in data if not math.isnan(x)]
    # Detectable differences are rounded up; "<0.001" is a bound.
    assert all(min(abs(x - y) for y in [*known, 0.001]) <= 0.0051 for x in shown)


@pytest.mark.slow
def test_charts_of_three_systems_or_more(four: Comparison) -> None:
    text = page(four)
    for title in ("Differences <a", "Every pair: m1 <a", "Mean ranks: m2 <a",
                  "m1 by unit: ", "m2 by unit: "):  # fmt: skip
        assert f"<h3>{title}" in text
    assert 'data-by="Pair"' in text
    two = page(compared(values(systems=2)))
    assert "Every pair" not in two
    assert "Mean ranks" not in two
    assert "Omnibus tests" not in two


@pytest.mark.slow
def test_against_a_baseline_there_is_no_matrix() -> None:
    made = compared(baseline="run1")
    text = page(made)
    assert heading(made) == "Comparison: 4 systems, 2 measures, against run1"
    assert "Every pair" not in text
    assert "Mean ranks: m1" in text


@pytest.mark.slow
def test_margins_are_drawn_and_told() -> None:
    made = compared(baseline="run1", margin={"m1": 0.2})
    text = page(made)
    assert "<h3>Differences: m1 <a" in text
    assert "Shaded: the margins, ±0.2" in text
    assert "p (non-inferiority)" in text
    assert "Schuirmann 1987" in text
    assert "p (non-inferiority)" not in page(compared(baseline="run1"))


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_text(name: str) -> None:
    of = values(systems=2, measures=1, units=12)
    one = of["value"][:12]
    per_unit = PerUnit(
        "topics", (name, *map(str, range(11))), {s: {name: one} for s in ("a", name)}
    )
    made = Comparison(
        (difference(system=name, baseline="a", measure=name, test=name),),
        notes=(name,),
        per_unit=per_unit,
        omnibus=(OmnibusTest(name, ("a", name, "c"), (0.1, 0.2, 0.3), (3.0, 2.0, 1.0), 12, "topics",
                         0.95, 1.0, 0.3, 2.0, (("a", name, "c"),)),),
        provenance={name: name},
    )  # fmt: skip
    text = page(made)
    assert "<img src=x" not in text
    assert "alert(1)</script>" not in text
    assert "\x1b" not in text + markdown(made) + str(made)
    assert "<script" not in markdown(made)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("systems", "measures", "units"), [(10, 5, 250), (2, 30, 250), (3, 1, 30_000), (20, 2, 40)]
)
def test_size(systems: int, measures: int, units: int) -> None:
    made = cal.from_values(values(systems, measures, units), n_resamples=100, interval="none")
    text = page(made.compare(interval="analytic", test="t"))
    assert len(text.encode()) < MOST_BYTES


@pytest.mark.slow
def test_what_is_not_drawn_is_said(four: Comparison) -> None:
    made, missing = all_unit_figures(four)
    assert (len(made), missing) == (12, 0)
    assert "not drawn" not in page(four)
    many = compared(values(systems=8), test="t", interval="analytic")
    made, missing = all_unit_figures(many)
    assert len(made) + missing == len(many) == 56
    assert f"{missing} of 56 differences are not drawn unit by unit" in page(many)


@pytest.mark.parametrize(
    ("systems", "measures", "undrawn"), [(8, 3, 0), (8, 4, 28), (12, 1, 66), (12, 2, 132)]
)
def test_differences_without_a_chart_are_counted(systems: int, measures: int, undrawn: int) -> None:
    pairs = combinations(map(str, range(systems)), 2)
    made = Comparison(
        tuple(
            difference(measure=f"m{index}", system=b, baseline=a)
            for (a, b), index in product(pairs, range(measures))
        )
    )
    figures = [f for f in comparison_figures(made) if f.kind == "differences"]
    drawn = sum(d.display_name in f.title for d in made for f in figures)
    assert drawn == len(made) - undrawn
    notes = [
        text
        for block in _comparison_charts(made)
        if isinstance(block, Lines)
        for text in block.items
    ]
    note = f"{undrawn} of {len(made)} differences have no chart of intervals; the table has all."
    assert notes == [note.replace("all.", "all of them.")] * (undrawn > 0)


def test_right_to_left_names_in_titles_are_isolated() -> None:
    given = values(measures=1)
    made = compared(given | {"measure": ["דיוק"] * len(given["value"])})
    titles = re.findall("<h3>(.*?) <a", page(made))
    for title in ("Every pair", "Mean ranks"):
        assert f"{title}: \u2068דיוק\u2069" in titles
    figures = [*comparison_figures(made), *all_unit_figures(made)[0]]
    selected = [f for f in figures if f.choice]
    assert selected
    assert all(f.title.startswith(f"{f.chosen_from}: ") for f in selected)


def test_pairs_of_a_measure_without_direction_are_higher_or_lower() -> None:
    for higher_is_better, word in ((True, "better"), (None, "higher")):
        made = Comparison(
            tuple(
                difference(system=b, baseline=a, higher_is_better=higher_is_better)
                for a, b in combinations("abc", 2)
            )
        )
        [figure] = [f for f in comparison_figures(made) if f.kind == "pairs"]
        assert f"blue if the row is {word};" in figure.caption


def test_sentences_of_a_comparison_on_one_measure_have_no_blank_line() -> None:
    made = Comparison(tuple(difference(system=b, baseline=a) for a, b in combinations("abcdef", 2)))
    text = made.to_text(layout="long")
    assert text.index("p-values are adjusted") < text.index("is better than")
    assert "topics).\nf is better" in text
    assert "\n\n\n" not in text


def test_an_infinite_margin_is_drawn() -> None:
    made = Comparison((difference(margin=math.inf, p_noninferiority=0.0, p_equivalence=0.0),))
    assert [f.title for f in comparison_figures(made)] == ["Differences: nDCG@10"]
    assert '"inf"' in all_pairs_data(made)


def test_nothing_to_compare() -> None:
    assert "Comparison: 0 systems" in page(Comparison(()))
    assert markdown(Comparison(())).startswith("## Comparison")


def test_undefined_differences() -> None:
    nan = float("nan")
    made = Comparison((difference(value=nan, low=nan, high=nan, p_adjusted=nan),))
    assert "is undefined" in text_of(page(made))


def test_splits_have_their_differences() -> None:
    old, new = [0.81, 0.79, 0.84, 0.80, 0.82], [0.83, 0.83, 0.85, 0.83, 0.87]
    made = cal.compare_splits({"old": old, "new": new}, design="k-fold", measure="AUC")
    assert heading(made).endswith("over test splits")
    assert "<h3>AUC by split: new minus old <a" in page(made)
    text = markdown(made)
    assert "### Differences by split" in text
    assert "Nadeau and Bengio" in text
    for place, (a, b) in enumerate(zip(new, old, strict=True), 1):
        assert f"| {place} | {a - b:.4f} |" in text


@pytest.mark.slow
def test_every_test_is_explained() -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 200)
    score = {s: np.clip(truth * 0.3 + rng.random(200) * 0.7, 0, 1) for s in ("a", "b", "c")}
    rows = cal.classification(truth, probability=score, n_resamples=200)
    made = [
        rows.compare(test=test, margin=0.1) for test in ("auto", "bootstrap", "normal", "mid-p")
    ]
    two = {s: score[s] for s in "ab"}
    sites = cal.classification(
        truth, score=two, n_resamples=200, measures="AUC", cluster=truth * 5 + np.arange(200) % 5
    )
    same = cal.classification(truth, dict.fromkeys("ab", truth), n_resamples=200, measures="F1")
    made += [sites.compare(), same.compare()]
    units = cal.from_values(values(), unit="units", n_resamples=200)
    made += [units.compare(test=t, margin=0.1) for t in ("t", "wilcoxon", "sign", "randomization")]
    made += [units.compare(adjust=a) for a in ("tukey", "bonferroni", "benjamini-hochberg")]
    made += [
        cal.compare_splits({"a": x, "b": x[::-1] * 1.1}, design=design)
        for design in ("k-fold", "5x2-f", "5x2-t", "independent")
        for x in (np.arange(1.0, 11.0) ** 1.5,)
    ]
    for comparison in made:
        explained = {name for name, _, _ in glossary(comparison)}
        for d in comparison:
            assert d.test == "none" or f"{method_text(d.test)} (test)" in explained
            assert not d.has_interval or f"{method_text(d.method)} (interval)" in explained
            none = d.margin_test in (None, "none")
            assert none or f"{method_text(d.margin_test)} (test of the margin)" in explained
        assert (
            f"{comparison.adjustment} (adjustment)" in explained
            or len(comparison) < 3
            or ("Tukey" in comparison.adjustment)
        )


def test_each_bootstrap_has_its_own_source() -> None:
    score = np.linspace(0.05, 0.95, 40)
    said = {"a": score, "b": score**2}
    of_rows = cal.classification([0, 1] * 20, probability=said, measures="ECE", n_resamples=200)
    of_units = cal.from_values(said, measure="AP")
    sources = {
        name.split(" [B]")[0].split(" (")[0]: source
        for made in (of_rows, of_units)
        for name, _, source in glossary(made.compare())
        if name.endswith("(interval)")
    }
    assert sources == {
        "basic paired bootstrap": "Efron and Tibshirani 1993, chapter 13",
        "t and Bayesian bootstrap": "Student 1908; Rubin 1981",
    }


# --- What is said ---------------------------------------------------------------------------------


def test_false_discovery_rate_is_called_so(four: Comparison) -> None:
    made = compared(adjust="benjamini-hochberg")
    assert p_heading(made) == "p (Benjamini-Hochberg, FDR)"
    assert "false discovery rate adjusted p" in str(compared(
        values(measures=1), adjust="benjamini-hochberg"))  # fmt: skip
    assert "controls the false discovery rate" in adjustment_text(made)
    assert "controls the family-wise error rate" in adjustment_text(four)
    assert (
        "adjusted jointly for the 6 pairs on m1, the primary measure, and separately"
        in adjustment_text(four)
    )


def test_one_sided_p_is_called_so() -> None:
    assert p_heading(compared(alternative="better")) == "one-sided p (max-t)"


def test_a_one_sided_test_decides_its_own_side_only() -> None:
    d = difference(alternative="less", low=float("-inf"), p_adjusted=0.001)
    assert outcome(d).value == "not significant"


def test_unadjusted_p_values_are_called_so() -> None:
    assert "not adjusted for the number of differences (12)" in adjustment_text(
        compared(adjust="none")
    )
    assert adjustment_text(compared(values(systems=2, measures=1))) == ""


@pytest.mark.parametrize(
    ("size", "text"),
    [(0.0203, "0.021"), (0.02, "0.020"), (0.06, "0.060"), (12.3, "13"), (0.1, "0.10"), (99.5, "100"), (161.0, "170")],
)  # fmt: skip
def test_detectable_is_never_rounded_down(size: float, text: str) -> None:
    assert format_detectable(size) == text


def test_a_margin_without_a_better_side() -> None:
    d = difference(higher_is_better=None, margin=0.05, p_noninferiority=0.2, p_equivalence=0.3)
    assert "A difference of -0.05 or less is not excluded (" in difference_sentence(d)


@pytest.mark.slow
def test_many_pairs_are_summed_up() -> None:
    made = compared(values(systems=10, measures=5), test="t", interval="analytic")
    said = comparison_headlines(made)
    assert len(said) == 1
    assert " ranks first of 10 systems on m1" in said[0]
    assert str(made).count("\n") < 225 + 20


def test_all_systems_together() -> None:
    overall = OmnibusTest("AP", ("a", "b", "c"), (0.1, 0.2, 0.3), (2.9, 1.9, 1.2), 50, "topics", 0.95,
                      4.0, 0.2, 0.47, (("c", "b"),))  # fmt: skip
    assert omnibus_sentence(overall) == (
        "On AP, the 3 systems do not differ significantly (Friedman, p = 0.20, 50 topics)."
    )
    told = replace(overall, friedman_p=0.0004, homogeneous_groups=())
    assert omnibus_sentence(told) == (
        "On AP, the 3 systems differ significantly (Friedman, p < 0.001, 50 topics)."
    )
    assert (homogeneous_groups_text(overall), homogeneous_groups_text(told)) == (
        "c, b",
        "all pairs differ significantly",
    )
    assert homogeneous_groups_text(replace(overall, critical_difference=float("nan"))) == ""
