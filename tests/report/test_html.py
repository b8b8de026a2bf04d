from __future__ import annotations

import base64
import gzip
import hashlib
import html.parser
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from samples import HOSTILE, binary, difference, hostile, regression, retrieval, undefined

import calipers as cal
from calipers.report.charts import figures
from calipers.report.figures import rendering
from calipers.report.figures.figure import (
    MAX_IMAGES,
    N_FIRST_IMAGES,
    Figure,
    lazy_figures,
)
from calipers.report.figures.rendering import start_background_renderer
from calipers.report.output_files import write_text
from calipers.results import Comparison, Evaluation

page, fragment = Evaluation.to_html, Evaluation._repr_html_

ALL = [retrieval, binary, regression, undefined, hostile]
CHECKED = {"script", "img", "iframe", "link", "object", "embed", "base", "form", "style", "meta"}


class Outline(html.parser.HTMLParser):
    """The elements of a page, its attributes that matter, and its visible text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str | None]] = []
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def policy(text: str) -> str:
    found = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert found
    return found[1].replace("&#39;", "'")


def scripts(text: str) -> list[str]:
    return re.findall(r"<script>(.*?)</script>", text, re.DOTALL)


@pytest.mark.parametrize("make", ALL)
def test_the_page_forbids_every_request(make: object) -> None:
    text = page(make())  # type: ignore[operator]
    rules = dict(rule.split(" ", 1) for rule in policy(text).split("; "))
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert "unsafe" not in rules["script-src"]
    hashes = {
        f"'sha256-{base64.b64encode(hashlib.sha256(s.encode()).digest()).decode()}'"
        for s in scripts(text)
    }
    assert hashes == (set(rules["script-src"].split()) - {"'none'"})


@pytest.mark.parametrize("make", ALL)
def test_the_page_is_the_same_every_time_and_small(make: object) -> None:
    text = page(make())  # type: ignore[operator]
    assert text == page(make())  # type: ignore[operator]
    assert len(text.encode()) < 1_500_000
    assert text.startswith("<!doctype html>")
    outline = Outline(text)
    assert not {"img", "iframe", "link", "object", "embed", "base", "form"} & set(outline.tags)
    ids = [value for _, name, value in outline.attributes if name == "id"]
    assert len(ids) == len(set(ids))


def test_many_topics_do_not_make_the_page_large() -> None:
    text = page(retrieval(topics=20_000))
    assert len(text.encode()) < 1_200_000
    assert "400 of them are plotted, evenly spaced." in text


def test_many_systems_are_left_to_the_table() -> None:
    found = tuple(difference(system=f"s{i}") for i in range(200))
    text = page(Evaluation("retrieval", retrieval().estimates, comparison=Comparison(found)))
    assert "<figure" not in text
    assert " ranks first of " in text


def test_without_charts_there_is_one_small_script() -> None:
    for text in (page(regression()), page(undefined())):
        assert len(scripts(text)) == 1
        assert len(text) < 45_000


def test_the_result_travels_in_its_page() -> None:
    made = retrieval()
    for name, text in (
        ("result.json", json.dumps(made.to_dict(), ensure_ascii=False)),
        ("result.csv", made.to_csv()),
        ("result.tex", made.to_latex()),
    ):
        packed = re.search(rf'data-name="{name}">([^<]*)<', page(made))
        assert packed
        assert gzip.decompress(base64.b64decode(packed[1])).decode() == text


def test_the_contents_lead_to_every_section() -> None:
    text = page(binary())
    nav = re.search(r"<nav.*?</nav>", text, re.DOTALL)
    assert nav
    assert re.findall(r'href="#([a-z]+)"', nav[0]) == re.findall(r'<h2 id="([a-z]+)"', text)
    for target in re.findall(r'href="#([^"]+)"', text):
        assert f'id="{target}"' in text


def test_many_rows_are_folded() -> None:
    estimate = regression().estimates[0]
    few, many = (
        page(Evaluation("regression", tuple(replace(estimate, measure=f"m{i}") for i in range(n))))
        for n in (67, 68)
    )
    assert "<summary>61 rows: every measure of every system</summary>" in many
    assert "60 rows" not in few
    assert "<summary>60 other measures</summary>" in few


def test_the_parts_come_in_order() -> None:
    text = page(retrieval())
    parts = ["dense is significantly better than bm25: nDCG@10 0.423 against 0.387.", "Difference 0.0",
             'class="estimation"', "<nav", '<h2 id="notes"', '<h2 id="estimates"',
             '<h2 id="comparison"', "The 2 differences in words", "dense is better than bm25",
             '<h2 id="charts"', '<h2 id="definitions"', '<h2 id="provenance"']  # fmt: skip
    places = [text.index(part) for part in parts]
    assert places == sorted(places)


def test_every_chart_has_a_sentence_a_picture_a_spec_and_numbers() -> None:
    text = page(binary())
    figures = re.findall(r"<figure.*?</figure>", text, re.DOTALL)
    assert len(figures) == 3
    for figure in figures:
        assert re.search(r'role="img" aria-label="[^"]{20,}"', figure)
        assert "<svg" in figure
        assert "<details>" in figure
        spec = re.search(r'<script type="application/json">(.*?)</script>', figure, re.DOTALL)
        assert spec
        assert json.loads(spec[1])["$schema"].endswith("v6.json")


def test_the_table_draws_intervals_and_marks_defaults() -> None:
    text = page(regression())
    assert text.count('class="whisker"') == 2  # MAE has neither an interval nor a range
    assert text.count('class="default"') == 2
    assert "no interval: fewer than 2 replicates" in text
    assert 'aria-label="lower is better"' in text


# --- Names ----------------------------------------------------------------------------------------


def skeleton(text: str) -> list[str]:
    """The tags of a page but for those whose number follows the length of a label."""
    return [tag for tag in Outline(text).tags if tag in CHECKED or tag.startswith("h")]


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_adds_no_markup(name: str) -> None:
    for build in (page, fragment):
        assert skeleton(build(hostile(name, "b"))) == skeleton(build(hostile("a", "b")))
    outline = Outline(page(hostile(name, "b")))
    assert not [a for a in outline.attributes if a[1].startswith("on") or a[1] == "src"]
    assert all(value[0] == "#" for _, attribute, value in outline.attributes if attribute == "href")


@pytest.mark.parametrize("name", HOSTILE)
def test_a_page_holds_no_control_characters(name: str) -> None:
    text = page(hostile(name, "b")).replace(rendering.vega_script(), "")
    text.encode("utf-8")
    allowed = "\n\u2068\u2069\xa0"
    # The zero-width joiners of the names themselves aside, everything can be seen.
    assert {c for c in text if not c.isprintable()} <= set(allowed)


def test_names_are_shown_as_they_are() -> None:
    text = "".join(Outline(page(hostile())).texts)
    assert HOSTILE[0] in text
    assert HOSTILE[1] in text


@pytest.mark.slow
def test_names_from_right_to_left_leave_what_is_beside_them_alone() -> None:
    """In headings, sentences, remarks and cells: none stands in the open."""
    random, n = np.random.default_rng(0), 120
    truth, hebrew, arabic = np.arange(n) % 2, "\u05de\u05d5\u05d3\u05dc", "\u0646\u0645\u0648"
    scores = {name: truth + random.normal(size=n) for name in (hebrew, arabic)}
    slices = {"\u05e9\u05e4\u05d4": np.where(np.arange(n) % 3, "\u05e2\u05d1", "en")}
    found = cal.classification(truth, score=scores, slices=slices)
    for made in (found.to_html(), found.compare().to_html(), found._repr_html_()):
        # (What is in attributes is spoken, and pictures place each name by itself.)
        text = re.sub(r"<(script|style|svg)\b.*?</\1>", "", made, flags=re.DOTALL)
        open_text = re.sub(r"<bdi\b.*?</bdi>|\u2068[^\u2069]*\u2069|<[^>]*>", "", text)
        assert re.search(f"{hebrew}|{arabic}", text)
        assert not re.findall(r".*[\u0590-\u06ff].*", open_text)


def test_pictures_carry_no_ids() -> None:
    for svg in re.findall(r"<svg.*?</svg>", page(binary()), re.DOTALL):
        assert not re.search(r'\sid="|url\(', svg)


# --- Fragments ------------------------------------------------------------------------------------


def test_a_fragment_is_small_and_still() -> None:
    for evaluation in (retrieval(), regression(), undefined()):
        text = evaluation._repr_html_()
        assert "<script" not in text
        assert len(text) < 20_000
        assert text == fragment(evaluation)
    css = re.search(r"<style>(.*?)</style>", fragment(retrieval()), re.DOTALL)
    assert css
    selectors = re.findall(r"^([^\s@}/][^{]*)\{", css[1], re.MULTILINE)
    assert selectors
    parts = [part for s in selectors for part in re.split(r",(?![^(]*\))", s)]
    assert all(
        part.strip().startswith(".calipers ") for part in parts if part.strip() != ".calipers"
    )


def test_a_comparison_has_a_fragment_of_its_own() -> None:
    comparison = binary().comparison
    assert comparison is not None
    text = comparison._repr_html_()
    assert "logistic is significantly better than forest on AUC" in text
    assert "DeLong, 569 rows" in text


# --- Files ----------------------------------------------------------------------------------------


def test_the_page_is_written_whole(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")
    assert regression().to_html(path) == path.read_bytes().decode()
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")
    with pytest.raises(UnicodeEncodeError):
        write_text(path, "\ud800")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_in_the_way_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "report.html").mkdir()
    with pytest.raises(OSError):
        write_text(tmp_path / "report.html", "new")
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]


def test_a_missing_folder_is_said_clearly(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="the folder does not exist"):
        write_text(tmp_path / "none" / "report.html", "x")


@pytest.fixture
def anew() -> Iterator[None]:
    """The bundle as a new process finds it."""
    rendering.vega_script.cache_clear()
    yield
    rendering.vega_script.cache_clear()


@pytest.mark.slow
@pytest.mark.usefixtures("anew")
def test_the_bundle_is_cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rendering, "cache_folder", lambda: tmp_path / "calipers")
    made = rendering.vega_script()
    (file,) = (tmp_path / "calipers").iterdir()
    assert file.read_bytes().decode().startswith(made)
    assert "</script" not in made
    assert made.startswith("/*\nSoftware in this script")
    assert "Redistributions in binary form must reproduce" in made[: made.index("*/")]
    assert "<!--" not in made
    rendering.vega_script.cache_clear()
    monkeypatch.setattr(rendering, "_make_script", lambda: pytest.fail("made again"))
    assert rendering.vega_script() == made


@pytest.mark.usefixtures("anew")
@pytest.mark.parametrize(
    "harm", [lambda b: b[:-100], lambda b: b"x" + b, lambda _: b"", bytes.upper]
)
def test_a_copy_that_is_not_whole_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, harm: Callable[[bytes], bytes]
) -> None:
    monkeypatch.setattr(rendering, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(rendering, "_make_script", lambda: "let script = 'ß';\n" * 20)
    made = rendering.vega_script()
    (file,) = tmp_path.iterdir()
    whole = file.read_bytes()
    file.write_bytes(harm(whole))
    rendering.vega_script.cache_clear()
    assert rendering.vega_script() == made
    assert file.read_bytes() == whole


@pytest.mark.usefixtures("anew")
def test_an_unwritable_cache_only_costs_time_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setattr(rendering, "cache_folder", lambda: tmp_path / "file" / "calipers")
    monkeypatch.setattr(rendering, "_make_script", lambda: made.append(1) or "script")
    assert rendering.vega_script() == rendering.vega_script() == "script"
    assert len(made) == 1


FORKED = """
import os, signal, sys
import calipers as cal
def page():
    score = [0.1, 0.7, 0.4, 0.2, 0.9, 0.6] * 10
    return cal.classification([0, 1, 1, 0, 1, 0] * 10, score=score, n_resamples=100).to_html()
first = page()
for _ in range(2):
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        os._exit(0 if page() == first else 3)
    assert os.waitpid(child, 0)[1] == 0
assert page() == first
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here")
def test_a_page_in_a_forked_process() -> None:
    """vl-convert's thread is not there; waiting for it would take for ever."""
    command = [sys.executable, "-W", "ignore", "-c", FORKED]
    subprocess.run(command, check=True, timeout=200)


@pytest.mark.slow
def test_pictures_begun_beside_are_those_drawn_at_once() -> None:
    drawn = figures(binary())
    with start_background_renderer() as begin:
        begun = figures(binary(), begin)
        assert [f.svg for f in begun] == [f.svg for f in drawn]
    assert [f.title for f in begun] == [f.title for f in drawn]


def test_a_curve_with_undefined_values_can_be_drawn() -> None:
    evaluation = binary()
    curve = evaluation.curves[0]
    curve.y[3] = np.nan
    curve.low[5] = np.nan
    text = page(evaluation)
    for script in scripts(text):
        text = text.replace(script, "")
    assert "NaN" not in text


def test_of_many_charts_to_choose_from_only_the_first_have_pictures_and_numbers() -> None:
    one = Figure("t", "l", "c", {}, ("x",), (("1",),), choice="q", chosen_from="topics")
    plain = replace(one, choice="", chosen_from="")
    for number, full in ((MAX_IMAGES, MAX_IMAGES), (MAX_IMAGES + 1, N_FIRST_IMAGES)):
        made = list(lazy_figures([plain, *[one] * number, plain]))
        assert [f.later for f in made] == [False] * (1 + full) + [True] * (number - full) + [False]
        assert all(bool(f.rows) != f.later for f in made)
    assert "script" in made[-2].svg
