"""Systems by measures: who comes first, which are alike, what each layout shows."""

from __future__ import annotations

import csv
import io
import json
import re
import textwrap
from itertools import combinations

import numpy as np
import pytest
from samples import regression, retrieval

import calipers as cal
from calipers.report.verdict import outcome
from calipers.report.wide import AS_BEST, format_runs, shared_letters
from calipers.results import from_json


def errors(systems: int, seed: int = 0, **options: object) -> cal.Evaluation:
    """Systems of which the later err less, given in an order of their own."""
    draw = np.random.default_rng(seed)
    truth = draw.normal(size=60)
    names = draw.permutation(systems)
    said = {f"s{k:02}": truth + draw.normal(0, 2 - 1.6 * k / systems, 60) for k in names}
    return cal.regression(truth, said, measures=["MAE", "R2"], **options)  # type: ignore[arg-type]


MANY = errors(12)


def lines(text: str, names: tuple[str, ...]) -> list[str]:
    """The rows of the first table that begin with a system, or its rank and the system."""
    found = [line for line in text.splitlines() if set(line.split()[:2]) & set(names)]
    return found[: len(names)]


@pytest.mark.slow
def test_many_systems_are_ranked_by_the_primary_measure() -> None:
    by_error = sorted(MANY.systems, key=lambda name: MANY[name, "MAE"].value)
    rows = lines(str(MANY), MANY.systems)
    assert [row.split()[:2] for row in rows] == [[f"{i}", s] for i, s in enumerate(by_error, 1)]
    by_fit = sorted(MANY.systems, key=lambda name: -MANY[name, "R2"].value)
    other = errors(12, primary="R2")
    assert [row.split()[1] for row in lines(str(other), other.systems)] == by_fit


def test_signs_beside_the_ranks_are_the_verdicts() -> None:
    rows = lines(str(MANY), MANY.systems)
    order = [row.split()[1] for row in rows]
    assert MANY.comparison is not None
    verdict = {}
    for d in MANY.comparison:
        if d.measure == "MAE":
            sign = {"better": "+", "worse": "-"}.get(outcome(d).value, "·")
            turned = {"+": "-", "-": "+"}.get(sign, sign)
            verdict[d.system, d.baseline], verdict[d.baseline, d.system] = sign, turned
    for row, name in zip(rows, order, strict=True):
        expected = [verdict.get((name, other), "\\") for other in order]
        assert row.split()[-1] == "".join(expected)


def test_each_layout_says_what_it_has() -> None:
    long, wide = retrieval().to_text(layout="long"), retrieval().to_text(layout="wide")
    assert str(retrieval()) == wide
    for part in ("95% CI", "method", "bootstrap-t", "50 of 51", "no_relevant: 1"):
        assert part in long
    for part in ("nDCG@10 ↑", "bootstrap-t", "50 of 51 topics", "no_relevant: 1", "0.387"):
        assert part in wide
    assert "95% CI   " in long.split("\n\n")[1]
    assert "95% CI   " not in wide.split("\n\n")[1]
    one = cal.regression([1.0, 2.0, 3.0, 5.0], [1.1, 2.3, 2.8, 4.0], measures=["MAE", "RMSE"])
    assert str(one) == one.to_text(layout="long") != one.to_text(layout="wide")
    assert "no skill" in errors(3).to_text()
    with pytest.raises(ValueError, match="layout is 'broad'"):
        one.to_text(layout="broad")


def test_the_best_has_a_star_whichever_way_is_better() -> None:
    ev = errors(3)
    table = lines(str(ev), ev.systems)
    for measure, best in (("MAE", min), ("R2", max)):
        values = {name: ev[name, measure].value for name in ev.systems}
        (row,) = (r for r in table if best(values, key=values.__getitem__) in r.split()[:2])
        number = f"{best(values.values()):.2f}"
        assert f"{number}*" in row or f"{number[:-1]}" in row
    assert sum(row.count("*") for row in table) == 2


@pytest.mark.parametrize("width", [60, 120])
def test_a_table_too_wide_has_measures_in_rows_or_comes_in_parts(
    width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    truth = np.arange(40.0)
    draw = np.random.default_rng(1)
    said = {name: truth + draw.normal(0, 3, 40) for name in ("near", "far")}
    names = ["MAE", "RMSE", "R2", "Pearson", "Spearman", "CCC", "MedAE", "max-error"]
    ev = cal.regression(truth, said, measures=names)
    table = ev.to_text().split("\n\n")[1 if not ev.findings else 2].splitlines()
    assert [line.split()[0] for line in table[2:10]] == names
    monkeypatch.setattr("calipers.report.wide.DEFAULT_WIDTH", width)
    many = MANY.to_text().split("\n\nRanked")[0].partition(" # ")[2].splitlines()
    assert max(map(len, many)) <= width
    assert sum(line.count("system ") for line in many) == (2 if width == 60 else 1)


def test_wide_csv_has_a_row_a_system() -> None:
    rows = list(csv.DictReader(io.StringIO(MANY.to_csv(layout="wide"))))
    assert [int(row["rank"]) for row in rows] == list(range(1, 13))
    for row in rows:
        for measure in MANY.measures:
            e = MANY[row["system"], measure]
            found = [float(row[f"{measure}{end}"]) for end in ("", " low", " high")]
            assert found == [e.value, e.low, e.high]
    assert MANY.to_csv() == MANY.to_csv(layout="long") != MANY.to_csv(layout="wide")
    few = list(csv.DictReader(io.StringIO(errors(3).to_csv(layout="wide"))))
    assert [row["key"] for row in few] == ["a", "b", "c"]


def test_wide_csv_of_a_comparison_has_a_row_a_pair() -> None:
    compared = errors(3).compare()
    rows = list(csv.DictReader(io.StringIO(compared.to_csv(layout="wide"))))
    assert len(rows) == 3
    for row in rows:
        for measure in ("MAE", "R2"):
            d = compared[row["system"], row["baseline"], measure]
            found = [float(row[f"{measure}{end}"]) for end in ("", " low", " high", " p")]
            assert found == [d.value, d.low, d.high, d.p_adjusted]


def test_many_systems_compared_lead_by_their_mean_difference() -> None:
    text = str(MANY.compare())
    rows = lines(text, MANY.systems)
    values = {name: MANY[name, "MAE"].value for name in MANY.systems}
    for row, name in zip(rows, sorted(values, key=values.__getitem__), strict=True):
        rest = [value for other, value in values.items() if other != name]
        assert row.split()[1] == name
        assert float(row.split()[2]) == pytest.approx(values[name] - np.mean(rest), abs=6e-3)
    assert len(text.splitlines()) < len(MANY.compare().to_text(layout="long").splitlines()) / 3


@pytest.mark.slow
def test_thirty_systems_fit_on_a_screen() -> None:
    draw = np.random.default_rng(0)
    truth = draw.normal(size=60)
    said = {f"s{k:02}": truth + draw.normal(0, 0.3 + k / 50, 60) for k in range(30)}
    text = str(cal.regression(truth, said, measures=["MAE", "RMSE", "R2"]))
    head, _, rest = text.partition("\n # ")
    folded = [textwrap.wrap(line, 120) or [""] for line in f" # {rest}".splitlines()]
    assert sum(map(len, folded)) <= 46
    assert max(map(len, rest.split("\n\n")[0].splitlines())) <= 120
    assert head.count("\n- ") <= 6  # what is found of many is said once


@pytest.mark.slow
def test_the_page_has_every_pair_to_choose_from() -> None:
    page = MANY.to_html()
    data = json.loads(re.findall(r'<div class="pairs".*?json">(.*?)</script>', page, re.DOTALL)[0])
    assert MANY.comparison is not None
    assert len(data["pairs"]) * len(data["measures"]) == len(MANY.comparison) == 2 * 66
    for measure, (digits, *columns) in data["measures"].items():
        for (a, b), value, low, high, p, verdict in zip(data["pairs"], *columns, strict=True):
            pair = data["systems"][a], data["systems"][b]
            is_same = pair in {(d.system, d.baseline) for d in MANY.comparison}
            d = MANY.comparison[(*(pair if is_same else pair[::-1]), measure)]
            limits = (d.value, d.low, d.high) if is_same else (-d.value, -d.high, -d.low)
            assert [value, low, high] == pytest.approx([x * 10**digits for x in limits], abs=0.51)
            assert p == pytest.approx(1e4 * d.p_adjusted, abs=0.51)
            opposite = {"better": "worse", "worse": "better"}
            expected = outcome(d).value
            assert data["verdicts"][verdict] == (
                expected if is_same else opposite.get(expected, expected)
            )
    ranked = re.findall(r'<th scope="row"><bdi>(.*?)</bdi>', page.partition('id="ranking"')[2])
    assert ranked[:12] == sorted(MANY.systems, key=lambda name: MANY[name, "MAE"].value)


# --- Letters --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("letters", "written"),
    [("", ""), ("a", "a"), ("ab", "ab"), ("abc", "a–c"), ("abcegh", "a–c,e,gh"), ("ac", "ac")],
)
def test_letters_in_a_row_are_shortened(letters: str, written: str) -> None:
    assert format_runs(tuple(letters)).replace("g,h", "gh") == written


def test_numbers_are_never_run_together() -> None:
    assert format_runs(("1", "2")) == "1,2"
    assert format_runs(("9", "10", "11", "30")) == "9–11,30"


def test_systems_that_do_not_line_up_are_only_held_to_the_best() -> None:
    names = [f"s{i}" for i in range(24)]
    # Pairs of which one is told apart from the other alone: every choice of sides is a set.
    apart = [frozenset(names[i : i + 2]) for i in range(0, 24, 2)]
    assert shared_letters(names, apart) is None
    lined_up = [
        frozenset(p) for p in combinations(names, 2) if abs(int(p[0][1:]) - int(p[1][1:])) > 3
    ]
    found = shared_letters(names, lined_up)
    assert found is not None
    assert len({key for of in found.values() for key in of}) == 21
    assert AS_BEST not in "".join(key for of in found.values() for key in of)


def test_regression_of_one_system_is_long() -> None:
    assert str(regression()) == regression().to_text(layout="long")


def test_a_result_that_was_read_again_has_arrows_and_bold_values() -> None:
    evaluation = errors(3)
    again = from_json(evaluation.to_json())
    assert isinstance(again, cal.Evaluation)
    for text, other in (
        (evaluation.to_markdown(), again.to_markdown()),
        (evaluation.to_latex(), again.to_latex()),
        (str(evaluation), str(again)),
    ):
        assert text == other
    assert "↓" in evaluation.to_markdown()
    assert "**" in evaluation.to_markdown()
