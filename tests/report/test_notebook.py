"""What a notebook shows is what a script prints: a notebook is executed, in a kernel."""

from __future__ import annotations

import contextlib
import doctest
import html
import inspect
import io
import re
import runpy
import time
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calipers
from calipers.results import TidyResult

SETUP = """
import calipers as cal

truth = [0, 1] * 20
score = [(7 * i) % 40 / 40 for i in range(40)]
said = {"a": score, "b": [s * (0.5 + t) for s, t in zip(score, truth)]}
classes = cal.classification(truth, score=said, baseline="a", slices={"half": [1] * 20 + [2] * 20})
labels = cal.classification(truth, [t * (i % 5 > 0) for i, t in enumerate(truth)])
numbers = cal.regression(score, said["b"])
qrels = {str(q): {"d": 1, "e": q % 2} for q in range(8)}
runs = {"r": {q: {"d": 2.0, "x": 1.0} for q in qrels}, "s": {q: {"e": 1.0} for q in qrels}}
retrieval = cal.retrieval(qrels, runs)
groups = cal.clustering(truth, {"a": truth[::-1], "b": [0, 0, 1, 1] * 10})
"""

#: One of every kind of result that is shown at the end of a cell.
SHOWN = (
    "classes", "classes['b', 'AUC']", "classes.findings[0]", "classes.comparison",
    "classes.comparison['AUC']", "cal.curve(classes, 'ROC')", "cal.plan('RMSE', numbers, half_width=0.02)",
    "labels.confusion", "numbers", "retrieval", "retrieval.comparison", "groups",
)  # fmt: skip


ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def notebooks() -> dict[str, Any]:
    for name in ("ipykernel", "nbclient", "nbformat"):
        pytest.importorskip(name)
    return runpy.run_path(str(ROOT / "tools" / "notebooks.py"), run_name="notebooks")


@pytest.mark.slow
def test_a_notebook_shows_what_a_script_prints(notebooks):
    cells = [SETUP]
    for what in SHOWN:
        cells += [what, f"print({what})", f"str({what})"]
    first, *rest = notebooks["execute"](cells)
    assert first == []

    script: dict[str, object] = {}
    exec(SETUP, script)
    for i, what in enumerate(SHOWN):
        result = eval(what, script)
        text, out = str(result), io.StringIO()
        with contextlib.redirect_stdout(out):
            print(result)
        (shown,), (printed,), (as_text,) = rest[3 * i : 3 * i + 3]
        assert shown.output_type == "execute_result", what
        assert shown.data["text/plain"] == repr(result), what
        assert shown.data["text/html"] == result._repr_html_(), what
        assert (printed.output_type, printed.name) == ("stream", "stdout"), what
        assert printed.text == out.getvalue(), what
        assert eval(as_text.data["text/plain"]) == text, what
    whole = str(script["classes"])
    assert whole.startswith("Classification: 2 systems")
    assert "p-values" in whole


_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_PICTURE = re.compile(r"(<svg\b.*?</svg>)", re.DOTALL)


def compare(before: str, now: str) -> None:
    """Texts are equal; pictures too, but for less than a pixel, or half a percent of a width."""
    pieces = [_PICTURE.split(text) for text in (before, now)]
    for old, new in zip(*pieces, strict=True):
        if not old.startswith("<svg"):
            assert new == old
            continue
        assert _NUMBER.sub("#", new) == _NUMBER.sub("#", old)
        positions = [list(map(float, _NUMBER.findall(svg))) for svg in (new, old)]
        assert positions[0] == pytest.approx(positions[1], abs=0.5)


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted(ROOT.glob("examples/*.ipynb")), ids=lambda path: path.stem)
def test_examples_show_what_they_showed(notebooks, path: Path) -> None:
    kept, executed = notebooks["read"](path), notebooks["read"](path)
    notebooks["run"](executed)
    for old, new in zip(kept.cells, executed.cells, strict=True):
        assert old.source == new.source
        for before, now in zip(old.get("outputs", []), new.get("outputs", []), strict=True):
            assert before.output_type == now.output_type
            assert before.output_type != "error"
            assert before.get("text") == now.get("text")
            for kind in ("text/plain", "text/html"):
                compare(before.get("data", {}).get(kind, ""), now.get("data", {}).get(kind, ""))


def test_what_a_picture_may_differ_by() -> None:
    picture = '<p>0.71</p><svg><line x1="{}%"/></svg>'
    compare(picture.format(10.0), picture.format(10.3))
    with pytest.raises(AssertionError):
        compare(picture.format(10), picture.format(11))
    with pytest.raises(AssertionError):
        compare("<p>0.71</p>", "<p>0.72</p>")


# --- What is shown at the end of a cell -----------------------------------------------------------


def scored(n_systems: int, rows: int = 300) -> calipers.Evaluation:
    random = np.random.default_rng(0)
    truth = np.arange(rows) % 2
    noise = random.normal(size=(n_systems, rows))
    score = {f"system-{i:02}": truth * (1 + i / 40) + z for i, z in enumerate(noise)}
    measures = ["AUC", "AP", "PR-AUC", "F1", "precision", "recall"]
    return calipers.classification(truth, score=score, threshold=0.5, measures=measures)


def bare(text: str) -> str:
    """What is read where styles, scripts and pictures are removed, one space between two words."""
    without = re.sub(r"<(style|script|svg)\b.*?</\1>", "", text, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", without)).split())


@pytest.mark.slow
def test_a_cell_is_small_and_soon_there() -> None:
    for n_systems, most in ((1, 17_000), (2, 17_000), (30, 60_000), (45, 60_000)):
        evaluation = scored(n_systems)
        for result in (evaluation, evaluation.comparison):
            if result is not None:
                assert len(result._repr_html_()) < most
                assert repr(result).count("\n") < 30
    evaluation = scored(2)
    start = time.process_time()
    evaluation._repr_html_()
    assert time.process_time() - start < 0.1


def test_a_cell_has_the_verdict_the_plot_and_the_table_of_the_page() -> None:
    evaluation = scored(3)
    page, cell = evaluation.to_html(), evaluation._repr_html_()

    def rows(text: str) -> list[str]:
        return re.findall(r"<tr role=.*?</tr>", text, re.DOTALL)

    assert len(rows(cell)) == 4
    assert rows(cell) == rows(page)
    headline = re.search('<p class="headline">(.*?)</p>', page)
    assert headline
    assert headline[0] in cell
    text = bare(cell)
    for estimate in evaluation:
        if estimate.measure in evaluation.measures[:5]:
            assert f"{estimate.value:.3f} " in text
    assert 'to_html("page.html")' in text
    assert "Not shown: 1 measure, differences with their tests" in text


def test_a_cell_is_read_without_styles_and_pictures() -> None:
    text = bare(scored(2)._repr_html_())
    table = text.partition("System AUC ↑ AP ↑")[2]
    assert re.search(r"system-00 (\d\.\d+ \[\d\.\d+, \d\.\d+\] ){5}", table)
    long_table = bare(scored(1)._repr_html_()).partition("Measure Value")[2]
    assert re.search(r"AUC ↑ (\d\.\d+) (\[\S+ \S+\]) (?!\2)", long_table)


def test_of_many_systems_the_first_are_shown() -> None:
    evaluation = scored(45)
    text = bare(evaluation._repr_html_())
    assert "15 more rows: print() shows all." in text
    first, last = text.find("system-40"), text.find("45 system-")
    assert -1 not in (first, last)
    assert "37 more rows: print() shows all." in repr(evaluation)
    assert "system-00" in str(evaluation)


def results_of_examples() -> Iterator[object]:
    """The results in the examples of all verbs."""
    for name in calipers.__all__:
        verb = getattr(calipers, name)
        if inspect.isclass(verb) or not callable(verb):
            continue
        for test in doctest.DocTestFinder(recurse=False).find(verb, name, globs={}):
            doctest.DocTestRunner(verbose=False).run(test, clear_globs=False, out=lambda _: None)
            yield from [x for x in test.globs.values() if type(x).__module__.startswith("calipers")]


@pytest.mark.slow
def test_every_kind_of_result_has_both() -> None:
    seen, parts = set(), ("comparison", "per_unit", "slices", "costs")
    random = np.random.default_rng(0)
    truth, score, group = random.integers(0, 2, 90), random.normal(size=90), np.arange(90) % 3
    of_groups = calipers.classification(truth, score > 0, slices={"group": group})
    further = [
        calipers.fairness(of_groups),
        calipers.rule_in_rule_out(calipers.classification(truth, score=score + truth), ppv=0.7),
        calipers.check_split(calipers.split(90), score[:, None], truth),
    ]
    for result in chain(results_of_examples(), further):
        fronts = getattr(result, "pareto_fronts", ())
        for each in (result, *fronts, *(getattr(result, part, None) for part in parts)):
            if hasattr(each, "_repr_html_"):
                seen.add(type(each).__name__)
                text = each._repr_html_()
                assert text.startswith('<div class="calipers')
                assert not re.search(r"<script|\sid=|src=|href=", text)
                assert len(text) < 60_000
                assert repr(each).count("\n") < 45
    expected = {cls.__name__ for cls in TidyResult.__subclasses__()}
    expected |= {"DecisionRegions", "Split", "SplitCheck"}
    assert expected - seen <= {"LearningResult", "ParetoFront"}


@pytest.mark.slow
def test_consoles_are_made_in_one_place():
    # Whoever makes another one has to think of notebooks, colours and pipes again.
    src = Path(calipers.__file__).parent
    makes = re.compile(r"\bConsole\(|\brich\.print|from rich import (?!box)|get_console")
    made = [path.name for path in src.rglob("*.py") if makes.search(path.read_text("utf-8"))]
    assert made == ["text.py"]


def test_styles_of_small_results_are_css_rather_than_text() -> None:
    evaluation = calipers.classification([0, 1] * 10, [0, 1] * 10, measures=["accuracy"])
    style = evaluation["accuracy"]._repr_html_().partition("<style>")[2].partition("</style>")[0]
    assert '"Segoe UI"' in style
    assert "&" not in style
