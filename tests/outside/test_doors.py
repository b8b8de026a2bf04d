"""What packages add beside charts: measures, findings, rows of the policy, formats of tables; each
registered by a module that an entry point names, loaded when something of its kind is needed."""

from __future__ import annotations

import importlib
import os
import pickle
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from plugin import install

import calipers as cal
from calipers.cli.group import cli
from calipers.data import tables
from calipers.findings import rule
from calipers.inference.method_selection import MethodRule, register_policy
from calipers.plugins import ENTRY_POINT_GROUPS, NameTakenError, PluginError

RANDOM = np.random.default_rng(11)
TRUE = RANDOM.random(120) < 0.4
SAID = {"a": TRUE ^ (RANDOM.random(120) < 0.1), "b": TRUE ^ (RANDOM.random(120) < 0.3)}
LOSS = RANDOM.gamma(2.0, size=60)

Plug = Callable[[str, str], None]


@pytest.fixture
def plug(books: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Plug]:
    """Installs a package whose one module, of this text, enters something of a kind."""

    def enter(group: str, text: str) -> None:
        install(monkeypatch, tmp_path, f"calipers.{group}", "plugged", plugged=text)

    yield enter
    sys.modules.pop("plugged", None)


MEASURE = '''
from calipers.measures import measure
from calipers.measures.counts import recall, specificity
from calipers.statistics import ConfusionMatrix

@measure("both-right", family="counts", statistic=ConfusionMatrix, range=(0, 1), higher_is_better=True)
def both_right(c):
    """The smaller of both rates of right answers."""
    import numpy as np
    return np.minimum(recall(c), specificity(c))
'''


def smaller(said: np.ndarray) -> float:
    return float(min(said[TRUE].mean(), (~said[~TRUE]).mean()))


def test_a_measure(plug: Plug) -> None:
    plug("measures", MEASURE)
    assert str(cal.measure("F1")) == "F1"
    assert "plugged" not in sys.modules  # a name of Calipers needs no look at others
    ev = cal.classification(TRUE, SAID, measures=["both-right"])
    assert ev["a", "both-right"].value == pytest.approx(smaller(SAID["a"]))
    assert ev["a", "both-right"].low < smaller(SAID["a"]) < ev["a", "both-right"].high
    assert "The smaller of both rates" in ev.to_html()


def test_a_measure_on_the_command_line_and_in_another_process(plug: Plug) -> None:
    plug("measures", MEASURE)
    listed = CliRunner().invoke(cli, ["measures"]).output
    assert "\n  both-right " in listed
    assert pickle.loads(pickle.dumps(cal.measure("both-right"))) == cal.measure("both-right")


FINDING = '''
from calipers.findings import FindingDraft, rule
from calipers.findings.regression import NumericPredictions

LARGE = 3

@rule("a-large-error", "information", NumericPredictions, cost="rows", counts=True)
def large(s, of):
    """A residual is {LARGE} or more away from 0."""
    most = float(abs(of.predicted - of.truth).max())
    if most >= LARGE:
        yield FindingDraft(f"{s.title} is once {most:g} wrong.", {"most": most})
'''


@pytest.mark.slow
def test_a_finding(plug: Plug) -> None:
    plug("findings", FINDING)
    truth = np.arange(30.0)
    ev = cal.regression(truth, {"x": np.where(truth == 7, 12.0, truth), "y": truth + 0.5})
    [found] = [f for f in ev.findings if f.kind == "a-large-error"]
    assert (found.systems, found.values["most"]) == (("x",), 5.0)
    assert found.criterion == "A residual is 3 or more away from 0."
    assert found.message in " ".join(
        ev.to_html().replace("<bdi>", "").replace("</bdi>", "").split()
    )
    with pytest.raises(NameTakenError, match="findings of the kind 'a-large-error' already"):
        rule("a-large-error", "warning", cost="rows")(lambda s: iter(()))


POLICY = """
from calipers.inference.intervals import Interval
from calipers.inference.method_selection import MethodRule, register_policy

def widest(reading, level):
    return Interval(0.0, 9.0, "no better than nothing")

register_policy(
    "mean of a value per row", MethodRule("nothing", lambda reading: reading.n < 50, make=widest)
)
"""


def test_a_row_of_the_policy(plug: Plug) -> None:
    of = LOSS[:40], LOSS
    before = [cal.regression(x, np.zeros(len(x)), measures=["MAE"])["MAE"] for x in of]
    plug("policies", POLICY)
    few, many = (cal.regression(x, np.zeros(len(x)), measures=["MAE"])["MAE"] for x in of)
    assert (few.low, few.high, few.method) == (0.0, 9.0, "no better than nothing")
    assert few.value == before[0].value
    assert many == before[1]
    with pytest.raises(NameTakenError, match="method 'wilson' for the kind 'proportion of rows'"):
        register_policy(
            "proportion of rows", MethodRule("wilson", make=lambda reading, level: None)
        )
    with pytest.raises(TypeError, match="AUC: 'wilson' is not a rule of the policy"):
        register_policy("AUC", "wilson")  # type: ignore[arg-type]


def test_a_row_for_differences(plug: Plug) -> None:
    plug(
        "policies",
        """
from calipers.inference.intervals import Interval
from calipers.inference.method_selection import MethodRule, register_policy
from calipers.inference.procedures import LimitsProcedure

def by_half(reading):
    limits = lambda level: Interval(reading.value - level, reading.value + level, "half")
    return LimitsProcedure(value=reading.value, method="half", name="test of halves", limits=limits)

register_policy("mean of a value per row", MethodRule("half", make=by_half), differences=True)
""",
    )
    ev = cal.regression(LOSS, {"x": LOSS * 0, "y": LOSS * 0.5}, measures=["MAE"], level=0.9)
    [d] = ev.comparison or ()
    assert (d.high - d.value, d.value - d.low) == pytest.approx((0.9, 0.9))
    assert (d.method, d.test) == ("half", "test of halves")


FORMAT = '''
from calipers.data.tables import register_format

def read(source, text):
    """Columns that stand one below the other: a name, and the values behind it."""
    columns = {}
    with source.text() as stream:
        for _, line in stream.lines():
            name, *values = line.decode().split("|")
            columns[name] = [value if name in text else float(value) for value in values]
    return columns

register_format(".cols", read=read, is_text=True)
'''


def test_a_format_of_tables(plug: Plug, tmp_path: Path) -> None:
    plug("formats", FORMAT)
    path = tmp_path / "rows.cols"
    path.write_text("y|1|2|3|4|5\np|1|2|3|4|7\n", "utf-8")
    assert cal.regression("y", "p", data=str(path), measures=["MAE"])["MAE"].value == 0.4
    streamed = cal.regression("y", "p", data=str(path), measures=["MAE"], engine="stream")
    assert streamed["MAE"].value == 0.4
    line = ["regression", str(path), "--truth", "y", "--predicted", "p", "-m", "MAE"]
    done = CliRunner().invoke(cli, [*line, "--format", "json"])
    assert done.exit_code == 0, done.output
    assert cal.from_json(done.output)["MAE"].value == 0.4
    (tmp_path / "rows.odd").write_text("y", "utf-8")
    with pytest.raises(cal.InputError, match=r"unknown kind of table; expected .*\.zst\), \.cols"):
        tables.read_table(tmp_path / "rows.odd")
    with pytest.raises(NameTakenError, match=r"the format of tables '\.csv' is taken by Calipers"):
        tables.register_format(".csv", read=lambda source, text: {})
    with pytest.raises(
        ValueError, match=r"'xyz' is not an extension of a format; expected one like"
    ):
        tables.register_format("xyz", read=lambda source, text: {})


def test_judgments_and_runs_in_such_a_format(plug: Plug, tmp_path: Path) -> None:
    plug("formats", FORMAT)
    (tmp_path / "qrels.cols").write_text("query_id|1|1\ndoc_id|a|b\nrelevance|1|0\n", "utf-8")
    ev = cal.retrieval(str(tmp_path / "qrels.cols"), {"1": {"a": 1.0, "b": 2.0}}, measures=["RR"])
    assert ev["RR"].value == 0.5


@pytest.mark.parametrize("group", ["charts", "findings", "policies", "measures", "formats"])
def test_a_plugin_that_cannot_be_loaded_is_named(group: str, plug: Plug) -> None:
    plug(group, "import not_there\n")
    truth = np.arange(30.0)
    asked = {
        "charts": lambda: cal.regression(truth, truth + 1).charts,
        "findings": lambda: cal.regression(truth, truth + 1).findings,
        "policies": lambda: cal.regression(truth, truth + 1)["RMSE"].low,
        "measures": lambda: cal.measure("no such measure"),
        "formats": lambda: cal.regression("y", "p", data=__file__),
    }
    named = (
        rf"the plug-in 'mine' \(calipers.{group}\) of calipers-more 1.2 cannot be loaded: Module"
    )
    with pytest.raises(PluginError, match=named):
        asked[group]()


def command(folder: Path, *line: str) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own, where the package in a folder is installed."""
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, "-m", "calipers", *line], capture_output=True, text=True, timeout=120,
        env={**os.environ, "PYTHONPATH": path}, check=False,
    )  # fmt: skip


@pytest.mark.slow
def test_the_command_reads_with_pandas_what_a_plugin_reads_so(plug: Plug, tmp_path: Path) -> None:
    plug(
        "formats",
        """
import pandas as pd
from calipers.data.tables import register_format
register_format(".semi", read=lambda source, text: pd.read_csv(source.name, sep=";"))
""",
    )
    (tmp_path / "rows.semi").write_text("y;p\n1;1\n2;3\n", "utf-8")
    line = ["regression", str(tmp_path / "rows.semi"), "--truth", "y", "--predicted", "p"]
    done = command(tmp_path, *line, "-m", "MAE", "--format", "csv")
    assert (done.returncode, done.stderr) == (0, "")
    assert "MAE" in done.stdout


def test_the_command_ends_where_a_plugin_cannot_be_loaded(plug: Plug, tmp_path: Path) -> None:
    plug("measures", "1 / 0\n")
    assert command(tmp_path, "measures", "--help").returncode == 0  # nothing is asked of it
    done = command(tmp_path, "measures")
    assert done.returncode == 3
    assert done.stderr == (
        "calipers: the plug-in 'mine' (calipers.measures) of calipers-more 1.2 cannot be loaded: "
        "ZeroDivisionError: division by zero\n"
    )


def test_the_page_of_plugins_is_about_what_there_is(plug: Plug) -> None:
    """Its groups are looked for, its functions are there, and its examples can be entered."""
    page = (Path(__file__).parents[2] / "docs" / "plugins.md").read_text("utf-8")
    groups = re.findall(r"^\| `(calipers\.\w+)` \|.*?\| `([\w.]+)`.*$", page, re.MULTILINE)
    assert len(groups) >= 5
    for group, function in groups:
        assert group in ENTRY_POINT_GROUPS
        module, _, name = function.rpartition(".")
        assert callable(getattr(importlib.import_module(module), name))
    blocks = re.findall(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    assert len(blocks) == 3
    for block in blocks:
        exec(compile(block, "plugins.md", "exec"), {"__name__": "a_page"})
    few = cal.classification([0, 1, 1], [0, 1, 1], measures=["accuracy"])["accuracy"]
    assert (few.low, few.high, few.method) == (0.0, 1.0, "range of the measure")
    assert ".cols" in tables.TABLE_FORMATS


@pytest.mark.slow
def test_a_task_has_its_command_where_its_package_is_installed(plug: Plug, tmp_path: Path) -> None:
    """It is imported when commands are listed, or another is run."""
    plug("tasks", Path(__file__).with_name("lifetimes.py").read_text("utf-8"))
    table = tmp_path / "rows.csv"
    table.write_text("time,event,risk\n3,1,.9\n5,1,.7\n8,0,.2\n9,1,.4\n", "utf-8")
    listed, own, other = (
        command(tmp_path, *line)
        for line in (["--help"], ["lifetimes", "--help"], ["measures", "--help"])
    )
    assert "  lifetimes " in listed.stdout
    assert "calipers lifetimes [OPTIONS] TABLE" in own.stdout
    assert (own.returncode, other.returncode) == (0, 0)
    wrong = command(tmp_path, "surviva")
    assert wrong.returncode == 2
    assert "No such command 'surviva'" in wrong.stderr
