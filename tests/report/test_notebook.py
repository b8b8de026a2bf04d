"""What a notebook shows is what a script prints: a notebook is executed, in a kernel."""

from __future__ import annotations

import contextlib
import io
import json
import re
import sys
from pathlib import Path

import pytest

import calipers

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


def executed(cells: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[list]:
    """The outputs of each cell of a notebook, executed in one kernel of this very Python."""
    pytest.importorskip("ipykernel")
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    spec = folder / "kernels" / "this-python"
    spec.mkdir(parents=True)
    argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    described = {"argv": argv, "display_name": "this", "language": "python"}
    (spec / "kernel.json").write_text(json.dumps(described))
    for name in ("JUPYTER_PATH", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(name, str(folder))
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
    # What is printed may be sent in several pieces, which are put together.
    client = nbclient.NotebookClient(
        notebook, timeout=120, kernel_name=spec.name, coalesce_streams=True
    )
    client.execute()
    return [cell.outputs for cell in notebook.cells]


@pytest.mark.slow
def test_a_notebook_shows_what_a_script_prints(tmp_path, monkeypatch):
    cells = [SETUP]
    for what in SHOWN:
        cells += [what, f"print({what})", f"str({what})"]
    first, *rest = executed(cells, tmp_path, monkeypatch)
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
