from __future__ import annotations

import json

import pytest
import vl_convert
from samples import HOSTILE, binary, hostile, regression, retrieval, undefined

from calipers.report import charts
from calipers.report.charts import Spec
from calipers.results import Comparison


def specs(evaluation: object) -> list[Spec]:
    e = evaluation
    out = [charts.estimates_chart(e)]  # type: ignore[arg-type]
    if e.comparison is not None:  # type: ignore[attr-defined]
        out.append(charts.differences_chart(e.comparison, e.definitions))  # type: ignore[attr-defined]
    if e.curves:  # type: ignore[attr-defined]
        out.append(charts.curve_chart(e.curves[:2]))  # type: ignore[attr-defined]
    return out


@pytest.mark.parametrize("make", [retrieval, binary, regression, undefined, hostile])
def test_specs_are_plain_valid_and_the_same(make: object) -> None:
    first, second = specs(make()), specs(make())  # type: ignore[operator]
    for a, b in zip(first, second, strict=True):
        assert json.dumps(a, allow_nan=False) == json.dumps(b, allow_nan=False)
        svg = vl_convert.vegalite_to_svg(charts.still(a))
        assert svg == vl_convert.vegalite_to_svg(charts.still(b))
        assert "NaN" not in svg


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_escaped_in_pictures(name: str) -> None:
    for spec in specs(hostile(name, "b")):
        svg = vl_convert.vegalite_to_svg(charts.still(spec))
        for tag in ("<script", "<img", "<!--", "</script"):
            assert tag not in svg


def test_measures_of_one_range_share_a_scale() -> None:
    assert len(charts.estimates_chart(retrieval())["vconcat"]) == 1
    assert len(charts.estimates_chart(regression())["vconcat"]) == 3


def test_an_empty_difference_keeps_its_row() -> None:
    comparison = retrieval().comparison
    assert comparison is not None
    spec = charts.differences_chart(Comparison(comparison.differences[:1]))
    (row,) = spec["vconcat"][0]["data"]["values"]
    assert row["row"] == "nDCG@10"
    assert row["verdict"] == "better"


def test_curves_keep_the_colour_of_their_system() -> None:
    evaluation = binary()
    only = charts.curve_chart(evaluation.curves[1:2], evaluation.systems)
    scale = only["layer"][2]["encoding"]["color"]["scale"]
    assert dict(zip(scale["domain"], scale["range"], strict=True))["logistic"] == charts.PALETTE[1]


def test_units_are_sorted_and_thinned() -> None:
    evaluation = retrieval(topics=1000)
    assert evaluation.per_unit is not None
    spec = charts.per_unit_chart(evaluation.per_unit, "nDCG@10", "dense", "bm25", True)
    values = [row["difference"] for row in spec["data"]["values"]]
    assert len(values) == charts.MOST_BARS
    assert values == sorted(values, reverse=True)
    assert charts.thinned(list(range(7)), 3) == [0, 3, 6]
    assert charts.extremes(list(range(7)), 4) == [0, 1, 5, 6]
