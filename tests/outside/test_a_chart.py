"""A chart in one file, separation.py, which CONTRIBUTING shows: found as that of a plug-in, it is
wherever charts are."""

from __future__ import annotations

import json
import pickle
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from plugin import install
from scipy.stats import ks_2samp

import calipers as cal
from calipers.charts import (
    CHARTS,
    ComparisonChart,
    CurveChart,
    EvaluationChart,
    Figure,
    register_chart,
    system_curve,
    vega,
)
from calipers.cli.group import cli
from calipers.plugins import NameTakenError

HERE = Path(__file__).parent
RANDOM = np.random.default_rng(5)
TRUE = RANDOM.random(200) < 0.4
SCORES = {n: np.round(TRUE * a + RANDOM.normal(size=200), 3) for n, a in (("a", 0.7), ("b", 1.4))}


@pytest.fixture
def separation(books: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    text = (HERE / "separation.py").read_text("utf-8")
    install(monkeypatch, tmp_path, "calipers.charts", "separation", separation=text)
    yield
    sys.modules.pop("separation", None)


@pytest.mark.slow
@pytest.mark.usefixtures("separation")
def test_it_is_wherever_charts_are(tmp_path: Path) -> None:
    ev = cal.classification(TRUE, score=SCORES, measures=["AUC"], n_resamples=100)
    assert ev.charts[-1] == "KS"
    curves = cal.curve(ev, "ks")
    for name, score in SCORES.items():
        top = curves[name].y.max()
        assert top == pytest.approx(ks_2samp(score[TRUE], score[~TRUE]).statistic)
    [figure] = ev.chart("KS").figures
    assert figure.title == "Distance of the classes"
    assert figure.caption.startswith("The highest point is the statistic of Kolmogorov and Smirnov")
    assert figure.header == ("system", "Threshold", "TPR − FPR")
    assert "Distance of the classes" in ev.chart("KS")._repr_html_()
    assert curves.chart().to_json() == ev.chart("KS").to_json()
    page = ev.to_html()
    assert page.index("Distance of the classes") > page.index("Scores of the classes")
    kept = cal.from_json(ev.to_json(details=True))
    assert kept.chart("KS").to_json() == ev.chart("KS").to_json()
    with pytest.raises(cal.InputError, match=r"no curve 'KSS'; did you mean 'KS'\?"):
        cal.curve(ev, "KSS")


@pytest.mark.usefixtures("separation")
def test_the_command_writes_it(tmp_path: Path) -> None:
    rows = "".join(f"{int(y)},{a},{b}\n" for y, a, b in zip(TRUE, *SCORES.values(), strict=True))
    (tmp_path / "rows.csv").write_text(f"y,a,b\n{rows}", "utf-8")
    line = ["classification", str(tmp_path / "rows.csv"), "--truth", "y", "--score", "a", "-m", "AUC",
            "--charts", str(tmp_path / "charts"), "--chart-format", "json"]  # fmt: skip
    done = CliRunner().invoke(cli, line)
    assert done.exit_code == 0, done.output
    spec = json.loads((tmp_path / "charts" / "KS.json").read_text("utf-8"))
    y = [row["y"] for row in spec["datasets"]["line"]]
    assert max(y) == pytest.approx(
        ks_2samp(SCORES["a"][TRUE], SCORES["a"][~TRUE]).statistic, abs=0.01
    )


@pytest.mark.slow
@pytest.mark.usefixtures("books")
def test_of_numbers_and_of_what_else_an_evaluation_holds() -> None:
    def sorted_residuals(system: Any) -> Any:
        y = np.sort(system.predicted - system.truth)
        return system_curve(system, "sorted", "Row", "Residual", x=np.arange(len(y)), y=y)

    def bare(title: str, rows: Any) -> Figure:
        spec = vega.assemble_spec(**vega.layer([{"x": 1}], "point", x=vega.quantity("x")))
        return Figure(title, title, "", spec, ("n",), ((str(rows),),))

    register_chart(
        CurveChart(
            name="sorted", title="Sorted residuals", source="numbers", curve=sorted_residuals
        ),
        EvaluationChart(
            name="rows", title="Rows", draw=lambda ev: [bare("Rows", ev.estimates[0].n)]
        ),
        ComparisonChart(name="signs", title="Signs", draw=lambda c, _: [bare("Signs", len(c))]),
    )
    said = {"a": np.arange(40.0) + 1, "b": np.arange(40.0)[::-1]}
    ev = cal.regression(np.arange(40.0), said, measures=["MAE"], n_resamples=100)
    assert {"sorted", "rows", "signs"} < set(ev.charts)
    assert cal.curve(ev, "sorted", "a").y.tolist() == [1.0] * 40
    assert ev.chart("rows").figures[0].rows == (("40",),)
    assert ev.comparison is not None
    assert ev.comparison.chart("signs").figures[0].rows == (("1",),)
    assert all(f"<h3>{title} " in ev.to_html() for title in ("Sorted residuals", "Rows", "Signs"))


@pytest.mark.usefixtures("books")
def test_what_is_refused() -> None:
    with pytest.raises(NameTakenError, match="the chart 'ROC' is taken by Calipers"):
        register_chart(CurveChart(name="ROC", title="Another"), replace=True)
    with pytest.raises(
        ValueError, match="X: source is 'score', expected one of scores, probabilities,"
    ):
        CurveChart(name="X", title="X", source="score")
    with pytest.raises(TypeError, match="'X' is not a chart; expected a ChartDefinition"):
        register_chart("X")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="X: section is 'top', expected one of evaluation, "):
        register_chart(EvaluationChart(name="X", title="X", draw=lambda _: [], section="top"))
    other = CHARTS["lift"]
    assert isinstance(other, CurveChart)
    register_chart(CurveChart(name="X", title="X", source="scores", curve=other.curve))
    ev = cal.classification(TRUE, score=SCORES, measures=["AUC"], interval="none")
    with pytest.raises(ValueError, match="the chart 'X' has a curve of the kind 'lift', expected"):
        cal.curve(ev, "X")


def test_a_chart_of_calipers_is_pickled_by_name() -> None:
    for chart in CHARTS.values():
        assert pickle.loads(pickle.dumps(chart)) is chart


def test_what_curves_are_of_is_said_where_they_are_asked_for() -> None:
    """Charts of Calipers whose curves are computed are in the docstring of `calipers.curve`."""
    said = cal.curve.__doc__ or ""
    of = ("scores", "probabilities", "numbers", "quantiles")
    own = [c.name for c in CHARTS.values() if isinstance(c, CurveChart) and c.source in of]
    assert len(own) > 20
    assert [name for name in own if f'"{name}"' not in said] == []


def test_it_is_what_contributing_shows_and_short() -> None:
    text = (HERE / "separation.py").read_text("utf-8")
    assert text.count("\n") <= 40
    contributing = (HERE.parents[1] / "CONTRIBUTING.md").read_text("utf-8")
    section = contributing.split("\n## A chart in one file\n")[1].split("\n## ")[0]
    [block] = re.findall(r"^```python\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)
    assert re.sub(r"\n+", "\n", block) in re.sub(r"\n+", "\n", text)
