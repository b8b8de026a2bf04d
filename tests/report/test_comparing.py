"""Charts of several systems compared: what is drawn is what was given."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest
import vl_convert
from hypothesis import given
from hypothesis import strategies as st
from samples import HOSTILE

from calipers.report.figures.differences import margins_chart
from calipers.report.figures.pairs import pairs_chart
from calipers.report.figures.per_unit import unit_chart
from calipers.report.figures.ranks import critical_difference_chart, homogeneous_runs
from calipers.report.figures.vega import Spec
from calipers.results import Difference

#: Demšar (2006), table 2 and figure 1: mean ranks of four variants of C4.5 over 14 data sets, for
#: which Nemenyi's critical difference at 0.05 is 1.25 and at 0.10 is 1.06.
DEMSAR = {"C4.5": 3.143, "C4.5+m": 2.0, "C4.5+cf": 2.893, "C4.5+m+cf": 1.964}


def drawn(spec: Spec) -> str:
    text = json.dumps(spec, allow_nan=False)
    picture = vl_convert.vegalite_to_svg(text)
    assert "NaN" not in picture
    return str(picture)


def rows(spec: Spec, *keys: str) -> list[Any]:
    """The data of the first layer that has ``keys``."""
    for layer in [spec, *spec.get("layer", ())]:
        values = layer.get("data", {}).get("values", ())
        if values and set(keys) <= set(values[0]):
            return list(values)
    return []


# --- Mean ranks -----------------------------------------------------------------------------------


def test_the_published_diagram() -> None:
    """At 0.10 the variants with m are told from plain C4.5, and all else hangs together."""
    assert homogeneous_runs(DEMSAR, 1.25) == [("C4.5+m+cf", "C4.5+m", "C4.5+cf", "C4.5")]
    assert homogeneous_runs(DEMSAR, 1.06) == [
        ("C4.5+m+cf", "C4.5+m", "C4.5+cf"),
        ("C4.5+cf", "C4.5"),
    ]
    picture = drawn(critical_difference_chart(DEMSAR, 1.06))
    for name in DEMSAR:
        assert f">{name}" in picture
    assert "critical difference 1.06" in picture


@given(
    ranks=st.lists(st.floats(1, 9), min_size=1, max_size=9),
    critical=st.floats(0.01, 9),
)
def test_every_pair_that_is_not_told_apart_shares_a_bar(
    ranks: list[float], critical: float
) -> None:
    by_name = {f"s{i}": rank for i, rank in enumerate(ranks)}
    bars = homogeneous_runs(by_name, critical)
    for a, b in combinations(by_name, 2):
        apart = abs(by_name[a] - by_name[b]) >= critical
        assert any({a, b} <= set(bar) for bar in bars) is not apart
    for one, other in combinations(bars, 2):
        assert not set(one) <= set(other)
        assert not set(other) <= set(one)


@pytest.mark.parametrize("critical", [0.5, 20.0, float("nan"), float("inf")])
@pytest.mark.parametrize("systems", [1, 2, 7])
def test_a_diagram_of_any_size(systems: int, critical: float) -> None:
    ranks = {f"system {i}": 1.0 + i * 0.9 for i in range(systems)}
    spec = critical_difference_chart(ranks, critical)
    picture = drawn(spec)
    assert all(name in picture for name in ranks)
    assert ("critical difference" in picture) is (critical in (0.5, 20.0))
    assert {row["x"] for row in rows(spec, "rank")} >= {round(r, 6) for r in ranks.values()}


# --- Every pair -----------------------------------------------------------------------------------

PAIRS = [
    Difference("AP", "b", "a", 0.021, p_adjusted=0.0004),
    Difference("AP", "c", "a", -0.01, p_adjusted=0.03),
    Difference("AP", "c", "b", -0.031, p_adjusted=0.4),
]


@pytest.mark.parametrize(("higher", "colour"), [(True, "#0072B2"), (False, "#D55E00")])
def test_pairs_are_there_both_ways(higher: bool, colour: str) -> None:
    spec = pairs_chart([replace(d, higher_is_better=higher) for d in PAIRS])
    cells = {(row["system"], row["baseline"]): row for row in rows(spec, "sign")}
    assert len(cells) == 6
    assert float(cells["b", "a"]["difference"]) == 0.021
    assert float(cells["a", "b"]["difference"]) == -0.021
    assert (cells["b", "a"]["sign"], cells["a", "b"]["sign"]) == ("higher", "lower")
    assert {cells[pair]["sign"] for pair in (("c", "b"), ("b", "c"))} == {"not significant"}
    strength = [cells[pair]["strength"] for pair in (("b", "a"), ("c", "a"), ("c", "b"))]
    assert strength == sorted(strength, reverse=True)
    assert len(set(strength)) == 3
    assert cells["b", "a"]["p"] == "p <0.001"
    assert spec["layer"][0]["encoding"]["color"]["scale"]["range"][0] == colour
    drawn(spec)


def test_a_pair_without_a_value_is_told_from_nothing() -> None:
    spec = pairs_chart([Difference("AP", "b", "a", float("nan"))])
    assert {row["sign"] for row in rows(spec, "sign")} == {"undefined"}
    scale = spec["layer"][0]["encoding"]["color"]["scale"]
    color_by_sign = dict(zip(scale["domain"], scale["range"], strict=True))
    for sign in ("not significant", "not tested", "undefined"):
        assert color_by_sign[sign] == "currentColor"
    drawn(spec)


# --- Units ----------------------------------------------------------------------------------------


def test_bars_of_units_have_a_line_at_what_is_reported() -> None:
    spec = unit_chart([("t1", 0.9, 0.4), ("t2", 0.5, 0.5), ("t3", 0.2, 0.3)], 0.25, True)
    bars = rows(spec, "unit")
    assert [row["unit"] for row in bars] == ["t1", "t2", "t3"]
    assert [row["difference"] for row in bars] == [0.5, 0.0, -0.1]
    [line] = rows(spec, "overall")
    assert line["overall"] == 0.25
    drawn(spec)
    drawn(unit_chart([], float("nan")))


# --- Margins --------------------------------------------------------------------------------------


def difference(value: float, half: float, margin: float = 0.02) -> Difference:
    return Difference(
        "AP", "a", "b", value, value - half, value + half, margin=margin, higher_is_better=True
    )


@pytest.mark.parametrize(
    ("margin", "inside"), [(0.02, [True, False, False]), (0.051, [True, True, False])]
)
def test_a_full_dot_lies_within_the_margins(margin: float, inside: list[bool]) -> None:
    of = {"a": (0.0, 0.01), "b": (-0.03, 0.02), "c": (0.05, 0.01)}
    spec = margins_chart({name: difference(*d, margin) for name, d in of.items()})
    assert [row["inside"] for row in rows(spec, "inside")] == inside
    assert [row["at"] for row in rows(spec, "at")] == [-margin, margin]
    [region] = rows(spec, "from")
    domain = next(
        layer["encoding"]["x"]["scale"]["domain"]
        for layer in spec["layer"]
        if "scale" in layer["encoding"]["x"]
    )
    assert domain[0] <= region["from"] < region["to"] <= domain[1]
    assert domain[0] < -0.05
    assert domain[1] > 0.06
    assert "worse · better" in drawn(spec)


def test_undefined_and_one_sided_differences_are_drawn() -> None:
    undefined = difference(float("nan"), 0.1)
    spec = margins_chart(
        {"a": undefined, "b": replace(undefined, value=0.01, low=-0.02, high=float("inf"))}
    )
    assert [row["system"] for row in rows(spec, "inside")] == ["b"]
    drawn(spec)
    drawn(margins_chart({"a": undefined}))
    drawn(margins_chart({"b": difference(0.01, float("inf"))}))


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_shown_safely(name: str) -> None:
    drawn(critical_difference_chart({name: 1.2, "b": 1.8}, 0.5))
    drawn(pairs_chart([Difference("AP", name, "b", 1.0, p_adjusted=0.01)]))
    drawn(margins_chart({name: difference(0.0, 0.1)}))
    drawn(unit_chart([(name, 1.0, 0.0)], 1.0))
