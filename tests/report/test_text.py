from __future__ import annotations

import csv
import io
import math
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from samples import HOSTILE, binary, difference, hostile, regression, retrieval, undefined

import calipers as cal
from calipers.report.blocks import Table
from calipers.report.documents import DisplayOptions, document
from calipers.report.safe_names import escape_unprintable, unique_labels
from calipers.report.spreadsheets import csv_text
from calipers.report.tables import KEY, NUMBER, Column
from calipers.report.writers.text import Text
from calipers.results import Definition, Estimate, Finding


def test_an_estimate_as_a_sentence() -> None:
    e = Estimate("nDCG@10", 0.412, 0.385, 0.439, method="bootstrap-t", n=50, unit="topics")
    assert str(e) == "nDCG@10 0.412 [0.385, 0.439] 95% bootstrap-t over 50 topics"
    assert [str(e) for e in undefined()] == [
        "AUC undefined (one_class: 1 of 12 rows)",
        "Accuracy 1.0000 over 12 rows (no interval: only 12 rows)",
    ]


def test_the_table_says_everything() -> None:
    shown = str(retrieval())
    for part in ("50 of 51", "no_relevant: 1", "bootstrap-t", "paired randomization",
                 "dense is better than bm25", "Note: dense.run", "wins/ties/losses"):  # fmt: skip
        assert part in shown
    assert "no skill" in str(regression())
    assert "no skill" not in shown
    assert not any(line != line.rstrip() for line in shown.splitlines())


def test_a_comparison_says_each_verdict() -> None:
    comparison = binary().comparison
    assert comparison is not None
    assert "logistic has a lower (better) LogLoss than forest" in str(comparison)


@pytest.mark.parametrize("name", HOSTILE)
def test_names_cannot_reach_the_terminal(name: str) -> None:
    evaluation = hostile(name, "plain")
    shown = str(evaluation) + str(evaluation.comparison) + "".join(map(str, evaluation))
    assert all(c == "\n" or c.isprintable() for c in shown)
    shown.encode("utf-8")
    assert len(max(shown.splitlines(), key=len)) < 5000 + 20  # a note may be long, a cell may not


def _other_texts(text: str) -> list[Any]:
    """Results with ``text`` where it is not a name: units, methods, assumptions and notes."""
    plan = cal.plan("recall", value=0.9, half_width=0.03, prevalence=0.1)
    plan = replace(plan, unit=text, half_width_of=text, assumed={text: 1.0}, notes=(text,))
    regions = regression()
    estimates = tuple(replace(e, unit=text) for e in regions.estimates)
    compared = retrieval()
    assert compared.comparison is not None
    differences = tuple(replace(d, unit=text, margin=0.1) for d in compared.comparison)
    comparison = replace(compared.comparison, differences=differences)
    definition = Definition("RMSE", text, f"{text} ``{text} `` {text}", True, (0, 1))
    return [
        plan,
        replace(regions, estimates=estimates, definitions=(definition,)),
        replace(compared, comparison=comparison),
        comparison,
    ]


@pytest.mark.parametrize("form", ["table", "markdown", "typst", "org", "latex"])
def test_other_texts_cannot_reach_the_terminal(form: str) -> None:
    for result in _other_texts("\x1b[31mred\x07"):
        shown = result.to_format(form)
        assert all(c in "\n\u200b" or c.isprintable() for c in shown)


def test_results_as_text_have_no_control_characters() -> None:
    text = "\x1b[31mred"
    finding = Finding("kind", text, "criterion")
    confusions = cal.classification([0, 1, 1, 0], {text: [0, 1, 0, 1]}).confusions
    for result in (difference(unit=text), finding, confusions):
        assert "\x1b" not in str(result)


def test_markup_in_names_is_text() -> None:
    assert "[bold red]markup[/]" in str(hostile(HOSTILE[6], "plain"))


class Terminal(io.StringIO):
    """A terminal, as far as rich asks."""

    def isatty(self) -> bool:
        return True


def test_colour_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "100")
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    terminal, pipe = Terminal(), io.StringIO()
    for file in (terminal, pipe):
        Text().print(document(retrieval(), DisplayOptions(Text.medium)), file)
    assert "\x1b[" in terminal.getvalue()
    assert "\x1b[" not in pipe.getvalue()
    assert pipe.getvalue().strip("\n") == str(retrieval())


def test_a_narrow_terminal_keeps_numbers_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("COLUMNS", "80")
    terminal = Terminal()
    Text().print(document(regression(), DisplayOptions(Text.medium)), terminal)
    assert "[53.0, 59.9]" in terminal.getvalue()


@pytest.mark.parametrize("topic", ["q1234", "話題一"])
def test_wrapped_tables_fit_a_terminal(topic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("COLUMNS", "80")
    measures = [Column(f"measure{i}", NUMBER, ["0.123456"]) for i in range(7)]
    terminal = Terminal()
    Text().print([Table([Column("topic", KEY, [topic]), *measures], is_wrapped=True)], terminal)
    rows = [line for line in terminal.getvalue().splitlines() if line.startswith(topic)]
    assert [row.split() for row in rows] == [[topic, *["0.123456"] * 6], [topic, "0.123456"]]


# --- CSV ------------------------------------------------------------------------------------------


def test_csv_has_full_precision_and_empty_undefined_values() -> None:
    rows = [{"name": "a,b", "x": 0.1 + 0.2, "n": 3, "none": None, "inf": math.inf},
            {"name": 'q"uote', "x": float("nan"), "n": -3, "other": np.float64(-0.5)}]  # fmt: skip
    assert csv_text(rows) == (
        'name,x,n,none,inf,other\n"a,b",0.30000000000000004,3,,inf,\n"q""uote",,-3,,,-0.5\n'
    )


def test_csv_of_an_evaluation_reads_back() -> None:
    evaluation = retrieval()
    rows = list(csv.DictReader(io.StringIO(evaluation.to_csv())))
    assert [float(r["value"]) for r in rows] == [e.value for e in evaluation]
    assert rows[0]["undefined"] == "no_relevant: 1"


@pytest.mark.parametrize("name", ["=1+1", "+1", "-a", "@x", "\t=1", "'=1", "''@", " =1", "＝1"])
def test_csv_text_is_never_a_formula(name: str) -> None:
    (cell,) = list(csv.reader(io.StringIO(csv_text([{"x": name}]))))[1]
    assert cell == f"'{name}"


@pytest.mark.parametrize("name", ["plain", "it's", "'quoted'", "a=b", "a\nb", "1e5", ""])
def test_csv_leaves_other_text_alone(name: str) -> None:
    found = csv_text([{"x": name, "y": 1}])
    assert list(csv.reader(io.StringIO(found)))[1] == [name, "1"]


def test_csv_spells_terminal_escapes_out() -> None:
    assert "\x1b" not in csv_text([{"x": "\x1b[31m\x9b"}])


# --- Names ----------------------------------------------------------------------------------------


def test_visible() -> None:
    assert (
        escape_unprintable("a\x1b[0m\n\u202e\ufffe\ud800") == r"a\x1b[0m\n\u{202e}\u{fffe}\u{d800}"
    )
    for plain in ("naïve שלום 中文 👩\u200d🔬", "می\u200cخواهم"):
        assert escape_unprintable(plain) == plain


def test_labels_are_short_and_differ() -> None:
    found = unique_labels(["x" * 100 + "1" + "y" * 50, "x" * 100 + "2" + "y" * 50, "short"])
    assert len(set(found.values())) == 3
    assert all(len(label) < 70 for label in found.values())


def test_a_narrow_terminal_leaves_out_details_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    comparison = retrieval().comparison
    assert comparison is not None
    written: dict[int, str] = {}
    for width in (400, 90):
        monkeypatch.setenv("COLUMNS", str(width))
        terminal = Terminal()
        Text().print(document(comparison, DisplayOptions(Text.medium, "long")), terminal)
        written[width] = re.sub(r"\x1b\[[0-9;]*m", "", terminal.getvalue())
    assert "Columns that do not fit" not in written[400]
    [line] = [t for t in written[90].splitlines() if t.startswith("Columns that do not fit: ")]
    names = line.removeprefix("Columns that do not fit: ").rstrip(".").split(", ")
    assert "test" in names
    [head] = [t for t in written[90].splitlines() if t.startswith("measure ")]
    [whole_head] = [t for t in written[400].splitlines() if t.startswith("measure ")]
    for name in names:
        assert name in whole_head
        assert f" {name}" not in head
    for name in ("systems", "difference", "95% CI", " p"):
        assert name in head


def test_brief_slices_are_those_of_the_primary_measure() -> None:
    rng = np.random.default_rng(2)
    truth = rng.normal(size=120)
    predicted = {name: truth + rng.normal(size=120) for name in "ab"}
    evaluation = cal.regression(
        truth, predicted, slices={"site": rng.choice(list("wxyz"), 120)},
        measures=["RMSE", "MAE", "R2", "MedAE"], interval="analytic",
    )  # fmt: skip
    brief, whole = (
        Text().write(document(evaluation, DisplayOptions(Text.medium, is_brief=is_brief)))
        for is_brief in (True, False)
    )
    rows = {
        t: [x.split()[:2] for x in t.partition("Slices by site")[2].splitlines()]
        for t in (brief, whole)
    }
    assert [r[1] for r in rows[brief] if r and r[0] == "RMSE"][:4] == list("wxyz")
    assert not [r for r in rows[brief] if r and r[0] in ("MAE", "R2", "MedAE")]
    assert {r[0] for r in rows[whole] if r} >= {"RMSE", "MAE", "R2", "MedAE"}
    assert "--all also shows slices by 3 other measures." in brief
    assert brief.splitlines()[-2:] == whole.splitlines()[-2:]  # the verdict
