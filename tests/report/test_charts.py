from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest
import vl_convert
from samples import HOSTILE, OF_JAVASCRIPT, binary, hostile, regression, retrieval, undefined

import calipers as cal
from calipers.report.charts import figures
from calipers.report.figures import per_unit, vega
from calipers.report.figures.curve_chart import curve_chart
from calipers.report.figures.differences import differences_chart
from calipers.report.figures.figure import group_selectable
from calipers.report.figures.pareto_fronts import front_figures
from calipers.report.figures.vega import Spec
from calipers.results import Comparison


def specs(evaluation: object) -> list[Spec]:
    e = evaluation
    out = []
    if e.comparison is not None:  # type: ignore[attr-defined]
        out.append(differences_chart(e.comparison, e.definitions))  # type: ignore[attr-defined]
    if e.curves:  # type: ignore[attr-defined]
        out.append(curve_chart(e.curves[:2]))  # type: ignore[attr-defined]
    return out


@pytest.mark.parametrize("make", [retrieval, binary, regression, undefined, hostile])
def test_specs_are_plain_valid_and_the_same(make: object) -> None:
    first, second = specs(make()), specs(make())  # type: ignore[operator]
    for a, b in zip(first, second, strict=True):
        assert json.dumps(a, allow_nan=False) == json.dumps(b, allow_nan=False)
        svg = vl_convert.vegalite_to_svg(vega.static_spec(a))
        assert svg == vl_convert.vegalite_to_svg(vega.static_spec(b))
        assert "NaN" not in svg


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_escaped_in_pictures(name: str) -> None:
    for spec in specs(hostile(name, "b")):
        svg = vl_convert.vegalite_to_svg(vega.static_spec(spec))
        for tag in ("<script", "<img", "<!--", "</script"):
            assert tag not in svg


def test_measures_of_one_range_share_a_scale() -> None:
    known = np.arange(30.0)
    said = {"a": known + 1 - 2 * (known % 2), "b": known * 1.1}
    unbounded = cal.regression(known, said, measures=["RMSE", "MAE", "MSE"])
    for evaluation, panels in ((retrieval(), 1), (unbounded, 3)):
        assert evaluation.comparison is not None
        spec = differences_chart(evaluation.comparison, evaluation.definitions)
        assert len(spec["vconcat"]) == panels


def test_an_empty_difference_keeps_its_row() -> None:
    comparison = retrieval().comparison
    assert comparison is not None
    spec = differences_chart(Comparison(comparison.differences[:1]))
    (row,) = spec["vconcat"][0]["data"]["values"]
    assert row["row"] == "nDCG@10"
    assert row["verdict"] == "better"


def test_curves_keep_the_colour_of_their_system() -> None:
    evaluation = binary()
    only = curve_chart(evaluation.curves[1:2], evaluation.systems)
    scale = only["layer"][2]["encoding"]["color"]["scale"]
    assert dict(zip(scale["domain"], scale["range"], strict=True))["logistic"] == vega.PALETTE[1]


@pytest.mark.slow
@pytest.mark.parametrize("systems", [1, 2])
@pytest.mark.parametrize("threshold", [0.5, 2.0])
def test_every_kind_of_curve_is_drawn(systems: int, threshold: float) -> None:
    generator = np.random.default_rng(0)
    truth = generator.random(150) < 0.4
    columns = {name: generator.random(150) for name in "ab"[:systems]}
    ev = cal.classification(
        truth, probability=columns, threshold=threshold, measures=["AUC"], n_resamples=100
    )
    drawn = [figure for figure in figures(ev) if not figure.title.startswith("Confusion")]
    titles = {figure.title.split(":")[0] for figure in drawn}
    assert {
        "ROC curve",
        "Detection error tradeoff",
        "Net benefit",
        "Scores of the classes",
    } <= titles
    for figure in drawn:
        svg = figure.svg
        assert svg == figure.svg
        assert "NaN" not in svg
        assert "clip-path" not in svg
        assert unpacked(json.loads(figure.json)) == figure.spec
        assert all(len(row) == len(figure.header) for row in figure.rows)


def unpacked(spec: Any) -> Any:
    """A spec with its data by row, in their places, without nulls as the page's script has them."""
    own = spec.pop("datasets", {})
    rows = {name: by_row(columns) for name, columns in own.items()}

    def filled(part: Any) -> Any:
        if isinstance(part, list):
            return [filled(item) for item in part]
        if not isinstance(part, dict):
            return part
        if set(part) == {"name"} and part["name"].startswith("data"):
            return {"values": rows[part["name"]]}
        return {key: filled(value) for key, value in part.items()}

    out = filled(spec)
    named = {name: columns for name, columns in rows.items() if not name.startswith("data")}
    return {**out, "datasets": named} if named else out


def by_row(columns: dict[str, Any]) -> list[dict[str, Any]]:
    lists = {
        name: [v for v, times in column["runs"] for _ in range(times)]
        if isinstance(column, dict)
        else column
        for name, column in columns.items()
    }
    return [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)]


def test_the_line_of_units_is_at_the_difference_that_is_reported() -> None:
    """Not at the mean of the bars, where units weigh differently."""
    values = {"a": [0.1, 0.2, 0.9, 0.8], "b": [0.2, 0.4, 0.5, 0.3]}
    evaluation = cal.from_values(values, measure="nDCG@10", weight=[1, 1, 20, 20])
    (figure,) = per_unit.unit_figures(evaluation)
    (line,) = (of for of in figure.spec["layer"] if "data" in of)
    ((drawn,),) = (list(row.values()) for row in line["data"]["values"])
    assert abs(drawn) == pytest.approx((-0.1 - 0.2 + 20 * 0.4 + 20 * 0.5) / 42, rel=1e-4)


def test_units_are_sorted_and_thinned() -> None:
    evaluation = retrieval(topics=1000)
    assert evaluation.per_unit is not None
    rows = per_unit.unit_differences(evaluation.per_unit, "nDCG@10", "dense", "bm25")
    spec = per_unit.unit_chart(rows, 0.1, True)
    values = [row["difference"] for row in spec["data"]["values"]]
    assert len(values) == per_unit.MAX_BARS
    assert values == sorted(values, reverse=True)
    assert vega.sample_evenly(list(range(7)), 3) == [0, 3, 6]
    assert per_unit.select_extremes(list(range(7)), 4) == [0, 1, 5, 6]


@pytest.mark.parametrize("task", OF_JAVASCRIPT)
def test_no_name_in_a_chart_is_one_that_every_object_of_javascript_has(task: str) -> None:
    def texts(part: Any) -> Iterator[str]:
        if isinstance(part, str):
            yield part
        elif isinstance(part, Mapping):
            yield from (text for item in part.items() for text in texts(item))
        elif isinstance(part, list | tuple):
            yield from (text for item in part for text in texts(item))

    drawn = [text for figure in figures(OF_JAVASCRIPT[task]()) for text in texts(figure.spec)]
    assert not vega.JAVASCRIPT_PROPERTIES & set(drawn)
    assert f"constructor{vega.INVISIBLE_SUFFIX}" in drawn


def test_three_costs_are_selected_from() -> None:
    random = np.random.default_rng(0)
    truth = np.arange(60) % 2
    score = {name: truth + random.normal(size=60) for name in "ab"}
    cost = {
        unit: {name: random.gamma(2, 5, 60) for name in score} for unit in ("ms", "GB", "dollars")
    }
    ev = cal.classification(truth, score=score, measures="AUC", cost=cost)
    (selector,) = group_selectable(list(front_figures(ev)))
    assert len(selector.figures) == len(ev.pareto_fronts) >= 3


@pytest.mark.slow
def test_bands_are_computed_of_drawn_systems_only() -> None:
    rng = np.random.default_rng(4)
    truth = rng.integers(0, 2, 80)
    scores = {f"s{i}": np.clip(truth * 0.04 * i + rng.random(80) / 2, 0, 1) for i in range(15)}
    evaluation = cal.classification(
        truth, probability=scores, positive=1, measures=["AUC"], n_resamples=100
    )
    drawn: Any = evaluation.curves
    text = evaluation.to_html()
    assert "The best 12 of 15 systems by AUC. " in text
    banded = {(c.kind, c.system) for c in drawn.computed if len(c.low)}
    assert {kind for kind, _ in banded} >= {"ROC", "PR", "lift", "calibration"}
    ranked = sorted((e for e in evaluation if e.measure == "AUC"), key=lambda e: -e.value)
    assert {system for _, system in banded} == {e.system for e in ranked[:12]}
    # The threshold explorer has all systems, with the points of the curves that have bands.
    explorer = json.loads(text.split('<div class="explorer">')[1].split(">", 1)[1].split("<")[0])
    assert [s["name"] for s in explorer["systems"]] == [e.system for e in ranked]
    for curve in drawn.computed:
        if curve.kind == "ROC":
            entry = next(s for s in explorer["systems"] if s["name"] == curve.system)
            assert set(entry["at"]) == {0.5, *filter(np.isfinite, curve.threshold.tolist())}
