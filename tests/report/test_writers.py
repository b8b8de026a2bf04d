"""Documents in every format: what they have, and that names in them stay text."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from html import unescape
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from samples import HOSTILE, binary, hostile, retrieval

import calipers as cal
from calipers.report import writers
from calipers.report.blocks import (
    Fold,
    Heading,
    Lines,
    Medium,
    Notes,
    Table,
    Verdict,
    mark_literal,
    mark_name,
    render_text,
)
from calipers.report.documents import DisplayOptions, document
from calipers.report.safe_names import shorten_name
from calipers.report.tables import KEY, NUMBER, Column
from calipers.report.writers.base import Writer

#: What means something in one of the formats, at the start or inside.
NAMES = (
    *HOSTILE, "- x", "1. x", "+ x", "= x", "* x", "/ x: y", "#+TITLE: x", "#let x = 1", "#x(", "${x}", "$x^2$",
    "*b*", "_u_", "a_b^c", "a*b*c", "`c`", "@ref", "<label>", "<r>", "http://a.b/c", "// c", "/* c */",
    "--- x", "...", "\\", "\\alpha", "x\\", "[[link]]", "[fn:1]", "[x]", "]", "{{{m}}}", "@@html:<b>@@",
    ":tag:", "| a |", "a|b", "~x~", "=v=", "/i/", "+s+", "'q' \"q\"", "#", "*", "  - x", "100%", "a & b",
)  # fmt: skip


def own_cells(text: str) -> Iterator[str]:
    """The cells of a table of Typst, each in its brackets."""
    for line in re.findall(r"^  (?:table\.header\()?(\[.*\])\)?,$", text, re.MULTILINE):
        depth, cell = 0, ""
        for token in re.findall(r"\\.|.", line):
            depth -= token == "]"
            cell += token if depth else ""
            depth += token == "["
            assert depth >= 0, line
            if token == "]" and not depth:
                yield cell
                cell = ""
        assert not depth, line


def of_typst(text: str) -> list[str]:
    """The cells as Typst reads them; nothing in them but escapes and minus signs is markup."""
    found = []
    for cell in own_cells(text):
        bare = re.sub(r"#(strong|super)\[((?:\\.|[^\]\\])*)\]", r"\2", cell)
        if bare.startswith("#raw("):
            continue
        plain = re.sub(r"\\.", "", bare)
        assert not re.search(r"[#$*_`@<>\[\]~\"']|//|/\*|--|\.\.|https?:/", plain), cell
        assert not re.match(r"\s*([-+/]|=+|\d+\.)(\s|$)", bare), cell
        found.append(re.sub(r"\\(.)", r"\1", bare))
    return found


def of_org(text: str) -> list[str]:
    """The cells as Org reads them, in which none of its signs means anything."""
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    assert len({line.count("|") for line in lines[:2]}) == 1
    found = []
    for cell in (cell[1:-1] for line in lines for cell in line[1:-1].split("|")):
        bare = cell.replace("=\\=", "\\")
        read = bare.replace("\\vert{}", "|").replace("\\dollar{}", "$").replace("\u200b", "")
        if not re.fullmatch(r"\*?[-+–<]?[\d.]*(\^\{.*\})?\*?( ?\[[-\d., ]*\])?|~.*~", cell):
            signs = re.sub(r"=\\=|\\(vert|dollar)\{\}", "", cell)
            assert "\\" not in signs
            # Emphasis, links, footnotes, macros, time stamps, sub- and superscripts, dashes.
            assert not re.search(r"(^|[\s('\"{-])([*/_=~+])[^\s\u200b]", signs), cell
            assert not re.search(r"\[[\[\w@]|\[fn|\{\{|<[\w<\d]|\w[_^][\w{]|--|\.\.|@@|\$", signs)
        found.append(read)
    return found


READ: dict[str, Callable[[str], list[str]]] = {"typst": of_typst, "org": of_org}


@pytest.mark.parametrize("form", READ)
@pytest.mark.parametrize("system", NAMES)
def test_names_stay_text(system: str, form: str) -> None:
    ev = hostile(system, "plain")
    for made in (ev.to_format(form, layout="wide"), ev.to_format(form, layout="long")):
        keyed = {f"{key}{shorten_name(system)}" for key in ("", "a ", "b ")}
        assert keyed & set(READ[form](made))
        starts = [line for line in made.splitlines() if re.match(r"[=*]+ ", line)]
        wanted = {"=": r"=+ [A-Z]", "*": r"\*+ [A-Z]"}
        assert all(re.match(wanted[line[0]], line) for line in starts)
    assert READ[form](ev.comparison.to_format(form))


@pytest.mark.parametrize("system", NAMES)
def test_no_row_of_latex_begins_with_a_length(system: str) -> None:
    lines = hostile(system, "plain").to_latex().splitlines()
    for before, line in pairwise(lines):
        assert not (before.endswith("\\\\") and line.startswith(("[", "*"))), line


def test_typst_reads_it() -> None:
    typst = pytest.importorskip("typst")
    for system in NAMES:
        typst.compile(hostile(system, "plain").to_format("typst").encode())


def test_marks_and_the_best_in_every_format() -> None:
    ev = retrieval()
    cells = {
        "markdown": "**0.4437**<sup>†</sup>", "typst": "#strong[0.4437]#super[†]",
        "org": "*0.4437^{†}*", "latex": r"\textbf{0.4437}$^{\dagger}$",
    }  # fmt: skip
    value = f"{ev['dense', 'nDCG@10'].value:.3f}"
    for form, cell in cells.items():
        made = ev.to_format(form)
        assert re.search(re.escape(cell).replace("0\\.4437", rf"{value[:4]}\d*"), made), made


def test_pages_of_all_formats_have_the_same_sections() -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 60)
    ev = cal.classification(
        truth, probability={"a": rng.random(60), "b": rng.random(60)}, threshold=0.5,
        slices={"site": rng.integers(0, 2, 60)}, n_resamples=200,
    )  # fmt: skip
    titles = {
        "markdown": re.findall(r"^#{3} (.*)$", ev.to_markdown(), re.MULTILINE),
        "typst": re.findall(r"^== (.*)$", ev.to_format("typst"), re.MULTILINE),
        "org": re.findall(r"^\*\* (.*)$", ev.to_format("org"), re.MULTILINE),
    }
    assert {"Findings", "Confusion matrix of a", "Slices by site"} <= set(titles["markdown"])
    # What Markdown folds is a section elsewhere.
    folded = re.findall(r"<summary>(.*)</summary>", ev.to_markdown())
    for form in ("typst", "org"):
        assert set(titles[form]) == {*titles["markdown"], *folded}


class Least(Writer):
    """What a format has to say at least."""

    name = "least"

    def escape(self, text: str) -> str:
        return text.replace("!", "!!")

    def heading(self, text: str, level: int) -> Iterator[str]:
        yield f"{level}:{text}"

    def lines(self, items: object, listed: bool) -> Iterator[str]:
        yield from (f"{'-' * listed}{item}" for item in items)  # type: ignore[attr-defined]

    def table(self, head: object, rows: object, right: object) -> Iterator[str]:
        yield from (f"{head} {right}", f"{rows}")


def test_four_methods_make_a_format() -> None:
    table = Table([Column("a!", KEY, ["x!"]), Column("n", NUMBER, ["1"])], caption=["So."])
    blocks = [Heading("T", 1), Lines([mark_name("a!")]), Lines(["b", "c"]), Notes([]), table,
              Fold("More", [Lines(["in"])])]  # fmt: skip
    assert Least().write(blocks).splitlines() == [
        "1:T", "", "a!!", "", "-b", "-c", "", "['a!!', 'n'] [False, True]", "[['x!!', '1']]", "",
        "So.", "", "2:More", "", "in",
    ]  # fmt: skip
    made = retrieval().to_markdown()
    least = Least().write(document(retrieval(), DisplayOptions()))
    assert "nDCG@10" in made
    assert "nDCG@10" in least


def test_marked_names_cannot_be_faked_by_data() -> None:
    assert render_text(mark_literal("\x02a\x03"), lambda text: f"<{text}>") == "<\\x02a\\x03>"
    assert render_text(f"is {mark_name('b')}.", str.upper) == "is B."


def test_a_registered_format_is_there_at_once_and_none_of_ours_is_replaced() -> None:
    writers.register(Least())
    try:
        assert retrieval().to_format("least").startswith("1:Retrieval")
        assert "least" in writers.list_formats()
    finally:
        del writers.REGISTRY["least"]
    with pytest.raises(cal.InputError, match=r"no format 'least'; .* table, markdown"):
        retrieval().to_format("least")


def test_a_document_is_the_same_printed_and_written() -> None:
    text = writers.get_writer("table")
    out = io.StringIO()
    text.print(document(retrieval(), DisplayOptions(Medium.SCREEN)), out)  # type: ignore[attr-defined]
    assert out.getvalue().strip("\n") == retrieval().to_format("table") == str(retrieval())


# --- Pages ----------------------------------------------------------------------------------------

ROWS = np.arange(90)
DOCUMENTS: dict[str, Callable[[], Any]] = {
    "binary": binary,
    "retrieval": retrieval,
    "compared": lambda: retrieval().comparison,
    "slices": lambda: cal.classification(
        ROWS % 3 == 0, ROWS % 4 < 2, slices={"site": ROWS % 2}, n_resamples=100
    ),
    "plan": lambda: cal.plan("AP", sd=0.1, difference=0.02),
    "best": lambda: cal.best_system(
        cal.regression(ROWS * 1.0, {"a": ROWS * 1.1, "b": ROWS[::-1] * 1.0}, n_resamples=100),
        measure="MAE",
    ),
}


@pytest.mark.parametrize("which", DOCUMENTS)
def test_a_page_says_what_other_formats_say(which: str) -> None:
    """Every sentence, every number of the verdict, and what is in tables, is on the page."""
    result = DOCUMENTS[which]()
    page = unescape(re.sub(r"<[^>]*>", " ", result.to_format("html")))
    page = re.sub(r"\s+", " ", page).replace("\xa0", " ")
    cells = 0
    for block in document(result, DisplayOptions(layout="long")):
        match block:
            case Heading(level=1):
                assert block.text in page
            case Lines():
                assert all(render_text(item) in page for item in block.items)
            case Verdict():
                for number in re.findall(r"-?[\d.,]*\d", " ".join(map(render_text, block.items))):
                    assert number in page
            case Table() if not block.is_plain or which in ("plan", "best"):  # else it is drawn
                for cell in (cell for row in block.rows for cell in row):
                    cells += 1
                    assert cell in page, cell
    assert cells > 5
