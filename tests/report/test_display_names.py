"""The names under which measures were asked for, wherever people read them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import calipers as cal
from calipers.cli import cli
from calipers.report.display_names import use_display_names

TRUTH = [0, 0, 0, 1, 1, 1, 0, 1, 1, 0] * 6
NEW = [0.1, 0.2, 0.6, 0.9, 0.8, 0.7, 0.3, 0.4, 0.9, 0.2] * 6
OLD = [0.3, 0.7, 0.6, 0.9, 0.2, 0.7, 0.3, 0.4, 0.9, 0.6] * 6


def _evaluation(*names: str, **options: Any) -> cal.Evaluation:
    given = {"new": NEW, "old": OLD}
    return cal.classification(TRUTH, probability=given, measures=names, curves=False, **options)


def test_all_names_of_one_measure_are_shown() -> None:
    ev = _evaluation("PPV", "sensitivity", "TPR", "AUC")
    assert ev.measures == ("precision", "recall", "AUC")
    assert dict(ev.requested_names) == {"precision": "PPV", "recall": "sensitivity/TPR"}
    assert "sensitivity/TPR" in ev.to_text()
    assert ev["new", "TPR"] == ev["new", "sensitivity"] == ev["new", "recall"]
    assert dict(_evaluation("recall", "TPR").requested_names) == {"recall": "recall/TPR"}
    assert dict(_evaluation("recall", "Recall").requested_names) == {}


def test_names_of_measures_of_labels() -> None:
    said = [{"a"}, {"a", "b"}, {"b"}]
    ev = cal.multilabel(said, said, measures=["sensitivity[a]", "TPR[a]"], interval="none")
    assert dict(ev.requested_names) == {"recall[a]": "sensitivity[a]/TPR[a]"}


def test_single_results_have_the_name() -> None:
    ev = _evaluation("PPV", "sensitivity")
    assert str(ev["new", "PPV"]).startswith("new: PPV 0.")
    assert "PPV" in ev["new", "precision"]._repr_html_()
    assert ev["new", "PPV"].measure == "precision"
    assert ev.comparison is not None
    for made in (ev.comparison, ev.compare()):
        one = made["sensitivity"]
        assert "on sensitivity" in str(one)
        assert one == made["recall"] == made["old", "new", "sensitivity"]
        assert one.measure == "recall"


def test_requirements_have_the_name() -> None:
    ev = _evaluation("PPV", "sensitivity")
    value, difference = cal.check_requirements(ev, ["PPV >= .9", "PPV not worse than old"])
    assert re.match(r"new: PPV 0\.\d+ \[", value.message)
    assert " on PPV" in difference.message
    with pytest.raises(cal.InputError, match="did you mean 'PPV'"):
        cal.check_requirements(ev, "PPW > 0")


def test_charts_have_the_name() -> None:
    ev = _evaluation("PPV", "sensitivity")
    for chart in (ev.chart("differences"), ev.compare().chart("differences")):
        assert "PPV" in chart.to_json()
        assert "precision" not in chart.to_json()


def test_pareto_fronts_have_the_name() -> None:
    ev = _evaluation("PPV", cost={"ms": {"new": 2.0, "old": 1.0}}, interval="none")
    shown = use_display_names(ev)
    assert {front.measure for front in shown.pareto_fronts} == {"PPV"}
    for text in (ev.to_text(), ev.to_markdown(), ev.chart("Pareto").to_json()):
        assert "PPV" in text
    assert "precision against" not in ev.to_text() + ev.to_markdown()


def test_cutoffs_as_latex(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("y,s\n" + "".join(f"{y},{s}\n" for y, s in zip(TRUTH, NEW, strict=True)))
    options = ["--truth", "y", "--score", "s", "--threshold-table", "0.35,0.65", "-m", "PPV"]
    invoke = CliRunner().invoke
    made = invoke(cli, ["classification", str(table), *options, "--format", "latex"]).stdout
    assert r"threshold & rows above & PPV \\" in made
    own = cal.threshold_table(TRUTH, NEW, thresholds=[0.35, 0.65], measures=["PPV"])
    assert made == own.to_latex()
    rows = re.findall(r"^(0\.\d+) & (\d+) & (\d\.\d+) ", made, re.MULTILINE)
    assert rows == [("0.65", "24", "1.000"), ("0.35", "36", "0.83")]
    shown = invoke(cli, ["classification", str(table), *options]).stdout
    assert re.findall(r"^(\S+) +0\.\d+ +\[", shown, re.MULTILINE) == ["AUC"]
