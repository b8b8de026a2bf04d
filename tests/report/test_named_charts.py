"""Charts by name: shown in a notebook, saved as files; and single results in HTML."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import calipers as cal
from calipers.cli.group import cli
from calipers.report.charts import FORMATS, chart_files, figures


def rows(n: int = 120) -> tuple[Any, Any]:
    random = np.random.default_rng(3)
    truth = random.integers(0, 2, n)
    return truth, np.clip(0.3 * truth + 0.7 * random.random(n), 0, 1)


def binary(**more: Any) -> Any:
    truth, p = rows()
    options = {"measures": ["AUC", "accuracy"], "n_resamples": 200, **more}
    return cal.classification(truth, probability={"forest": p, "linear": 1 - p}, **options)


@pytest.fixture(scope="module")
def two() -> Any:
    return binary()


REGRESSION = cal.regression([1.0, 2.0, 3.0, 4.0] * 6, [1.5, 2.0, 2.5, 4.5] * 6)


def of_each_task() -> dict[str, Any]:
    points = np.random.default_rng(1).normal(size=(60, 2)) + np.repeat([0, 5], 30)[:, None]
    run = {str(t): {"a": 2.0, "b": 1.0} for t in range(8)}
    qrels = {str(t): {"a": t % 2, "b": 1} for t in range(8)}
    return {
        "binary": binary(),
        "classes": cal.classification(list("abcabc") * 5, list("abbabc") * 5),
        "numbers": REGRESSION,
        "clusters": cal.clustering(points, np.repeat([0, 1], 30), measures=["silhouette"]),
        "retrieval": cal.retrieval(qrels, {"x": run, "y": run}, measures=["AP"]),
    }


@pytest.mark.parametrize("task", list(of_each_task()))
def test_every_figure_of_the_page_has_a_name(task: str) -> None:
    ev = of_each_task()[task]
    made = figures(ev)
    assert made
    assert {figure.kind for figure in made} == set(ev.charts)
    for name in ev.charts:
        of_page = [(f.title, f.spec, f.caption) for f in made if f.kind == name]
        assert [(f.title, f.spec, f.caption) for f in ev.chart(name).figures] == of_page


def test_names_in_any_case_and_unknown_ones(two: Any) -> None:
    assert two.chart("roc").spec == two.chart("ROC").spec
    with pytest.raises(
        cal.InputError, match=r"no chart 'rok'.* There are .*ROC, PR, DET, threshold"
    ):
        two.chart("rok")
    with pytest.raises(cal.InputError, match="linear"):
        two.chart("confusion", "tree")
    with pytest.raises(cal.InputError, match="nothing to draw"):
        cal.regression([1.0], [2.0], curves=False).chart("ROC")


def test_both_systems_are_in_one_spec(two: Any) -> None:
    spec = two.chart("confusion").spec
    titles = [part["title"]["text"] for part in spec["concat"]]
    assert titles == ["Confusion matrix: forest", "Confusion matrix: linear"]
    assert set(spec["datasets"]) == {"cells-0", "cells-1"}
    assert "concat" not in two.chart("confusion", "linear").spec
    threshold = two.chart("threshold").spec
    named = [layer["params"][0]["name"] for part in threshold["concat"]
             for layer in part["layer"] if "params" in layer]  # fmt: skip
    assert named == ["near-0", "near-1"]


def test_a_chart_is_saved_by_its_suffix(two: Any, tmp_path: Path) -> None:
    chart = two.chart("ROC")
    heads = {"svg": b"<svg", "png": b"\x89PNG", "pdf": b"%PDF", "json": b'{"$schema"'}
    assert set(heads) == set(FORMATS)
    for kind, head in heads.items():
        chart.save(tmp_path / f"roc.{kind}")
        assert (tmp_path / f"roc.{kind}").read_bytes().startswith(head)
    assert json.loads((tmp_path / "roc.json").read_text()) == chart.spec
    with pytest.raises(cal.InputError, match=r"ends in \.svg, \.png, \.pdf, \.json"):
        chart.save(tmp_path / "roc.gif")
    assert len(list(tmp_path.iterdir())) == 4


def test_a_chart_shows_itself(two: Any) -> None:
    made = two.chart("ROC")._repr_mimebundle_()
    assert made["text/html"].count("<svg") == 1
    assert made["application/vnd.vegalite.v6+json"]["$schema"].endswith("v6.json")
    assert made["text/plain"] == repr(two.chart("ROC"))
    assert set(two.chart("ROC")._repr_mimebundle_(include=["text/html"])) == {"text/html"}
    again = two.chart("confusion")._repr_html_()
    assert again == two.chart("confusion")._repr_html_()


def test_every_chart_as_a_file_with_a_safe_name() -> None:
    names = {f"../../{i}": p for i, p in enumerate(np.random.default_rng(0).random((3, 30)))}
    ev = cal.classification([0, 1] * 15, probability=names, measures=["AUC"], interval="none")
    made = dict(chart_files(ev, ["json"]))
    assert {"ROC.json", "confusion-0.json", "confusion-2.json"} <= set(made)
    assert not any("/" in name or name.startswith(".") for name in made)


def test_each_of_many_has_a_name_of_its_own() -> None:
    random = np.random.default_rng(0)
    qrels = {str(t): {f"d{i}": i % 2 for i in range(6)} for t in range(8)}
    runs = {
        name: {t: {d: float(random.random()) for d in of} for t, of in qrels.items()}
        for name in "abc"
    }
    compared = cal.retrieval(qrels, runs, measures=["AP", "nDCG"]).compare()
    titles = [figure.title for figure in compared.chart("units").figures]
    assert len(set(titles)) == len(titles) == 6
    for title in titles:
        assert compared.chart("units", title).title == title
    assert compared.chart("pairs", "AP").title == "Every pair: AP"
    files = [name for name, _ in chart_files(compared, ["json"])]
    assert "units-nDCG-by-topic-b-minus-a.json" in files
    # The curves of runs are one figure, too.
    curves = cal.averaged_curves(cal.retrieval(qrels, runs, measures=["AP"]))
    assert isinstance(curves, tuple)
    assert len(curves.chart().figures) == 1
    assert "currentColor" in curves._repr_html_()


def test_charts_of_battles_of_live_traffic_and_of_plans() -> None:
    battles = {"model_a": list("ABA"), "model_b": list("BAB"), "winner": list("aab")}
    board = cal.pairs({name: column * 20 for name, column in battles.items()})
    assert [row[0] for row in board.chart().figures[0].rows] == ["B", "A"]
    result = cal.monitor([1, 0, 1, 1] * 20, target=0.5, every=10)
    requests = [row[0] for row in result.chart().figures[0].rows]
    assert requests == ["10", "20", "30", "33"]  # every look, and the request of the decision
    unrated = cal.pairs({"model_a": ["A", "A"], "model_b": ["B", "B"], "winner": ["a", "tie"]})
    with pytest.raises(ValueError, match="leaderboard: there is nothing to draw"):
        unrated.chart()
    plan = cal.plan("nDCG@10", sd=0.1, difference=0.02)
    [power] = plan.chart().figures
    assert [row[0] for row in power.rows] == [f"{row.n:,}" for row in plan]
    assert "power" in power.title
    precision = cal.plan("recall", value=0.9, half_width=0.05)
    assert "half-width" in precision.chart().figures[0].title


@pytest.mark.slow
def test_charts_on_the_command_line(tmp_path: Path) -> None:
    truth, p = rows(40)
    table = tmp_path / "t.csv"
    table.write_text("y,p\n" + "".join(f"{t},{s}\n" for t, s in zip(truth, p, strict=True)))
    folder = tmp_path / "charts"
    arguments = ["classification", str(table), "--truth", "y", "--probability", "p", "-m", "AUC"]
    options = ["--charts", str(folder), "--chart-format", "json", "--chart-format", "svg"]
    ran = CliRunner().invoke(cli, [*arguments, "--n-resamples", "200", *options])
    assert ran.exit_code == 0, ran.output
    found = {path.name for path in folder.iterdir()}
    assert {"ROC.json", "ROC.svg", "calibration.svg", "confusion.json"} <= found
    assert len(found) % 2 == 0
    ran = CliRunner().invoke(cli, [*arguments, "--chart-format", "svg"])
    assert (ran.exit_code, "--charts DIR" in ran.output) == (2, True)


# --- Single results -------------------------------------------------------------------------------


class Offline(HTMLParser):
    """Asserts that nothing is fetched or run."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag not in ("script", "link", "img", "iframe"), tag
        assert not any(name in ("src", "onload") for name, _ in attrs)


def test_every_result_is_shown_as_printed_and_in_html(two: Any) -> None:
    results = [
        two["forest", "AUC"],
        two.comparison["AUC"],
        two.confusion,
        two.confusion["forest"],
        cal.curve(two, "ROC"),
        cal.curve(two, "ROC", "forest"),
        cal.curve(two, "density", "forest", series="1"),
        cal.curve(two, "probabilities"),
        cal.curve(two, "calibration by bins", "linear"),
        cal.curve(REGRESSION, "prediction given truth"),
        *two.findings[:1],
    ]
    for result in results:
        assert repr(result) == str(result)
        text = result._repr_html_()
        Offline().feed(text)
        assert len(text) < 60_000
        assert "currentColor" in text


def test_names_are_escaped() -> None:
    ev = cal.classification([0, 1] * 5, {"<b>": [0, 1] * 5, "c": [1] * 10}, measures=["accuracy"])
    for result in (ev["<b>", "accuracy"], ev.comparison["accuracy"], ev.confusion):  # type: ignore[index]
        assert "<b>" not in result._repr_html_()


def test_operating_points_of_both_systems(two: Any) -> None:
    point = cal.operating_point(two, rule="accuracy", measures=["accuracy"])
    assert point.systems == ("forest", "linear")
    for name in point.systems:
        alone = cal.operating_point(two, rule="accuracy", system=name, measures=["accuracy"])
        assert alone["accuracy"].value == point[name, "accuracy"].value
