"""A format of documents, added by another package in one file, works in every command."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import calipers as cal
from calipers.cli import cli
from calipers.plugins import PluginError
from calipers.report import writers

HERE = Path(__file__).parent
TABLE = "y,a,b,site\n" + "".join(
    f"{i % 2},{(i * 7 % 11 + 5 * (i % 2)) / 16},{i * 5 % 13 / 13},{'xz'[i % 3 > 0]}\n"
    for i in range(66)
)
QRELS = "".join(f"{t} 0 d{d} {(t + d) % 3}\n" for t in range(8) for d in range(6))
RUN = "".join(f"{t} Q0 d{d} 1 {(d * 7 + t * t) % 5} x\n" for t in range(8) for d in range(6))
OTHER = RUN.replace("d1 1 ", "d1 1 9")


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """What an installed package leaves behind: its module, and metadata with an entry point."""
    monkeypatch.chdir(tmp_path)
    info = tmp_path / "site" / "calipers_rst-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: calipers-rst\nVersion: 1.0\n")
    points = "[calipers.writers]\nrst = restructured:ReStructuredText\n"
    (info / "entry_points.txt").write_text(points)
    (tmp_path / "site" / "restructured.py").write_text((HERE / "restructured.py").read_text())
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    kept = dict(writers.REGISTRY)
    yield tmp_path
    writers.REGISTRY.clear()
    writers.REGISTRY.update(kept)
    sys.modules.pop("restructured", None)


@pytest.fixture
def results(package: Path) -> Path:
    """Inputs of commands, and results that were written before."""
    for name, text in {"t.csv": TABLE, "q": QRELS, "m|n.run": RUN, "*b*.run": OTHER}.items():
        (package / name).write_text(text)
    ran("classification t.csv --truth y --score a --n-resamples 200 -o old.json")
    ran("classification t.csv --truth y --score b --n-resamples 200 -o new.json")
    for kind in ("old", "new"):  # as two versions of one model
        held = json.loads(Path(f"{kind}.json").read_text().replace('"b"', '"a"'))
        Path(f"{kind}.json").write_text(json.dumps(held))
    ran("plan AP --sd 0.1 --difference 0.02 -o plan.json")
    return package


def ran(line: str, code: int = 0) -> Result:
    done = CliRunner().invoke(cli, line.split())
    assert done.exit_code == code, f"{done.output} {done.exception}"
    return done


COMMANDS = {
    "retrieval q m|n.run *b*.run --n-resamples 200": "Retrieval: 2 systems",
    "retrieval q m|n.run *b*.run --n-resamples 200 --per-topic -m AP": "Retrieval: 2 systems",
    "classification t.csv --truth y --score a --score b --threshold 0.5 --slice site "
    "--n-resamples 200": "Confusion matrix of a",
    "compare retrieval q m|n.run *b*.run -m AP --n-resamples 200": "Comparison: 2 systems",
    "plan nDCG@10 --sd 0.1 --difference 0.02": "With 199 topics",
    "show old.json": "Classification: ",
    "show plan.json": "With 199 topics",
    "diff old.json new.json": "AUC",
}


@pytest.mark.usefixtures("results")
@pytest.mark.parametrize("line", COMMANDS)
def test_every_command_writes_it(line: str) -> None:
    made = ran(f"{line} --format rst").stdout
    assert ".. list-table::" in made
    assert COMMANDS[line] in made
    assert not re.search(r"(?<![\\\w])(m\|n|\*b\*)", made)  # nothing that is a markup there
    ran(f"{line} -o out.rst")
    assert Path("out.rst").read_text("utf-8") == made


@pytest.mark.usefixtures("package")
def test_python_writes_it_and_messages_and_help_name_it() -> None:
    ev = cal.regression([1.0, 2.0, 4.0], [1.0, 2.0, 3.0], measures=["MAE"])
    assert ev.to_format("rst", "ev.rst") == Path("ev.rst").read_text("utf-8")
    assert ev.to_format("rst").startswith("Regression: system, 1 measure\n=====")
    with pytest.raises(cal.InputError, match=r"no format 'rts'; .* table, .*org, html, rst"):
        ev.to_format("rts")
    assert "|rst]" in re.sub(r"\s", "", ran("show --help").stdout)
    assert "'rst'" in ran("show x.json --format rts", 2).output


def test_other_packages_are_asked_for_nothing_but_what_is_not_ours(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (package / "site" / "restructured.py").write_text("raise RuntimeError('it was imported')")
    ev = cal.regression([1.0, 2.0, 4.0], [1.0, 2.0, 3.0], measures=["MAE"])
    Path("ev.json").write_text(ev.to_json())
    assert "rst" in ran("show --help").stdout  # whose name is read, and nothing else
    with monkeypatch.context() as patch:
        patch.setattr("importlib.metadata.entry_points", lambda **_: pytest.fail("looked up"))
        for form in ("table", "json", "csv", "markdown", "latex", "typst", "org"):
            ran(f"show ev.json --format {form}")
            if form not in ("json", "csv"):
                ev.to_format(form)
        ran("show ev.json -o ev.md")
        ran("show ev.json")
    with pytest.raises(RuntimeError, match="it was imported"):
        ev.to_format("rst")


@pytest.mark.slow
@pytest.mark.usefixtures("package")
def test_on_the_medium_of_a_browser_it_has_what_the_page_has() -> None:
    """What it cannot show, as a slider, is left out; charts are their captions and numbers."""
    from calipers.report.blocks import Medium

    class Whole(type(writers.get_writer("rst"))):  # type: ignore[misc]
        name, medium = "whole", Medium.BROWSER

    writers.register(Whole())
    truth, score = [0, 1, 0, 1, 1, 0] * 5, {"a": [0.1, 0.6, 0.3, 0.4, 0.9, 0.2] * 5}
    ev = cal.classification(truth, score=score, measures=["AUC"], n_resamples=100)
    text, page = ev.to_format("whole"), ev.to_html()
    headings = re.findall(r"<h2[^>]*>([^<]*) <", page)
    assert {"Estimates", "Charts", "Definitions", "Provenance"} < set(headings)
    assert all(f"\n{title}\n--" in text or f"\n{title}\n==" in text for title in headings)
    for figure in (figure for name in ev.charts for figure in ev.chart(name).figures):
        assert f"\n{figure.title}\n~~" in text
        assert figure.rows[0][-1] in text
    description = ev.definitions[0].description.split("``")[0]
    assert " ".join(description.split()) in text
    assert "result.json" not in text
    assert "<" not in text.replace("<0.001", "")


@pytest.mark.usefixtures("results")
@pytest.mark.parametrize("line", COMMANDS)
def test_every_command_writes_a_page(line: str) -> None:
    made = ran(f"{line} --format html").stdout
    assert made.startswith("<!doctype html>")
    assert re.search("<table", made)
    ran(f"{line} -o out.html")
    assert Path("out.html").read_text("utf-8").rstrip() == made.rstrip()


def test_what_is_no_writer_is_told(package: Path) -> None:
    (package / "site" / "restructured.py").write_text("ReStructuredText = dict")
    with pytest.raises(
        PluginError, match=r"format 'rst' .*restructured:.* is not a Writer of that"
    ):
        writers.get_writer("rst")


def test_a_module_that_cannot_be_imported_is_an_error_of_its_package(package: Path) -> None:
    (package / "site" / "restructured.py").write_text("import no_such_module")
    with pytest.raises(PluginError, match=r"plug-in 'rst' .*No module named 'no_such_module'"):
        writers.get_writer("rst")


def test_a_format_of_the_package_is_not_replaced() -> None:
    sys.path.insert(0, str(HERE))
    try:
        from restructured import ReStructuredText
    finally:
        sys.path.remove(str(HERE))
        sys.modules.pop("restructured")

    class Mine(ReStructuredText):
        name = "markdown"

    with pytest.raises(ValueError, match="'markdown' already"):
        writers.register(Mine())
