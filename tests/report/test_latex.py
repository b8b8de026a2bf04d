"""Tables for papers: one cell a system and measure, with what is best and what is told apart."""

from __future__ import annotations

import re
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import HOSTILE, hostile, regression, retrieval, undefined

import calipers as cal
from calipers.report.verdict import Outcome, outcome
from calipers.report.wide import shared_letters
from calipers.report.writers.latex import LaTeX


def cells(text: str) -> list[list[str]]:
    """The rows of a table, without its rules."""
    inside = text[text.index(r"\toprule") : text.index(r"\bottomrule")]
    lines = [line for line in inside.splitlines() if line.endswith(r"\\")]
    return [re.split(r"(?<!\\) & ", line.removesuffix(r" \\")) for line in lines]


def topics(systems: int, seed: int = 0) -> cal.Evaluation:
    """Systems of which the later are the better ones, on a measure each way."""
    draw = np.random.default_rng(seed)
    truth = draw.normal(size=60)
    said = {f"s{k}": truth + draw.normal(0, 2 - 1.6 * k / systems, 60) for k in range(systems)}
    return cal.regression(truth, said, measures=["MAE", "R2"])


def test_the_best_is_bold_whichever_way_is_better() -> None:
    ev = topics(3)
    _, *rows = cells(ev.to_latex(intervals=False))
    for column, best in ((1, min), (2, max)):
        values = [ev[system, ev.measures[column - 1]].value for system in ev.systems]
        bold = [r"\textbf" in row[column] for row in rows]
        assert bold == [value == best(values) for value in values]


def test_letters_name_the_systems_that_are_worse() -> None:
    ev = topics(4)
    assert ev.comparison is not None
    _, *rows = cells(ev.to_latex())
    assert [row[0] for row in rows] == ["a s0", "b s1", "c s2", "d s3"]
    for measure, column in zip(ev.measures, (1, 2), strict=True):
        worse = {name: set[str]() for name in ev.systems}
        for d in ev.comparison:
            if d.measure == measure and outcome(d).is_significant:
                better = outcome(d) is Outcome.BETTER
                one, other = (d.system, d.baseline) if better else (d.baseline, d.system)
                worse[one].add("abcd"[int(other[1])])
        assert any(worse.values())
        for row, name in zip(rows, ev.systems, strict=True):
            found = re.search(r"\$\^\{(\w+)\}\$", row[column])
            assert set(found[1] if found else "") == worse[name]


def test_daggers_stand_beside_a_baseline() -> None:
    ev = topics(3)
    text = ev.compare(baseline="s0").to_latex()
    _, *rows = cells(text)
    comparison = ev.compare(baseline="s0")
    for row, name in zip(rows, ("s1", "s2"), strict=True):
        assert row[0] == f"{name} - s0"
        for measure, cell in zip(ev.measures, row[1:], strict=True):
            found = outcome(comparison[name, "s0", measure])
            assert (r"^{\dagger}" in cell) == (found is Outcome.BETTER)
            assert (r"^{\ddagger}" in cell) == (found is Outcome.WORSE)
    assert r"$\dagger$: the first system is significantly better" in text


def test_the_caption_names_tests_level_and_adjustment() -> None:
    text = topics(3).to_latex()
    caption = text[text.index(r"\caption") : text.index(r"\begin{tabular}")]
    for part in (
        "60 rows",
        r"95\% CIs",
        r"at the 5\% level by",
        "3 pairs",
        "family-wise error rate",
    ):
        assert part in caption
    assert "intervals." not in topics(3).to_latex(intervals=False).split("The best")[0]


def test_the_caption_says_how_many_topics_have_no_value() -> None:
    qrels = {f"q{k}": {"a": int(k > 1), "b": 0} for k in range(9)}
    run = {topic: {"a": 1.0, "b": 2.0} for topic in qrels}
    text = cal.retrieval(qrels, run, measures=["AP", "P@2"]).to_latex()
    caption = text[text.index(r"\caption") : text.index(r"\begin{tabular}")]
    assert r"AP: over 7 of 9 topics; no\_relevant: 2." in caption
    assert "P@2: over 9 topics." in caption


SYSTEMS = "abcdefg"
APART = st.lists(st.sampled_from([frozenset(p) for p in combinations(SYSTEMS, 2)]), unique=True)


@given(APART)
def test_systems_share_a_letter_exactly_where_they_are_not_told_apart(
    apart: list[frozenset[str]],
) -> None:
    letters = shared_letters(SYSTEMS, apart)
    if letters is None:  # more sets than are worth showing
        return
    assert all(letters.values())
    for one, other in combinations(SYSTEMS, 2):
        shared = set(letters[one]) & set(letters[other])
        assert bool(shared) == (frozenset((one, other)) not in apart)
    # None that could be left out: each holds systems that are together nowhere else.
    sets = {key: {s for s in SYSTEMS if key in letters[s]} for of in letters.values() for key in of}
    assert not any(one < other for one in sets.values() for other in sets.values())


@pytest.mark.slow
def test_of_many_systems_letters_are_shared() -> None:
    ev = topics(12)
    text = ev.to_latex()
    assert "Systems that share a letter do not differ" in text
    first = max(ev.systems, key=lambda name: -ev[name, "MAE"].value)
    assert cells(text)[1][0] == first


@pytest.mark.parametrize("make", [retrieval, regression, undefined])
def test_every_row_has_every_column(make: object) -> None:
    made = make()  # type: ignore[operator]
    rows = cells(made.to_latex())
    assert {len(row) for row in rows} == {1 + len(made.measures)}
    assert len(rows) == 1 + len(made.systems)


@pytest.mark.parametrize("name", HOSTILE)
def test_names_stay_text(name: str) -> None:
    text = hostile(name, "plain").to_latex()
    assert len({len(row) for row in cells(text)}) == 1
    bare = re.sub(r"\\[\\{}%&#_$]", "", text)
    depth = np.cumsum([(c == "{") - (c == "}") for c in bare])
    assert depth.min() >= 0
    assert depth[-1] == 0
    assert bare.count("$") % 2 == 0
    for line in bare.splitlines()[1:]:
        assert "%" not in line
        assert "#" not in line


def test_every_level_of_heading_has_a_command() -> None:
    commands = ["section", "subsection", "subsubsection", "paragraph"]
    for level, command in enumerate(commands, 1):
        assert list(LaTeX().heading("text", level)) == [rf"\{command}*{{text}}"]


def test_costs_have_a_table_of_their_own_in_a_paper_and_in_a_notebook() -> None:
    random = np.random.default_rng(0)
    truth = np.arange(60) % 2
    score = {"a": truth + random.normal(size=60), "b": truth + random.normal(size=60) / 4}
    cost = {"ms": {"a": random.gamma(2, 5, 60), "b": random.gamma(2, 50, 60)}}
    ev = cal.classification(truth, score=score, measures="AUC", cost=cost)
    tables = ev.to_latex().split("% needs")
    assert len(tables) == 3
    assert "mean-cost[ms]" in tables[2]
    assert "AUC against mean-cost[ms]: a and b are on the Pareto front." in tables[2]
    assert "mean-cost" not in tables[1]
    assert re.search("median-cost.*a and b are on the Pareto front", ev._repr_html_(), re.DOTALL)
