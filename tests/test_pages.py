"""The documentation as a whole: its order, its length, and the words that it is searched for."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = {
    page.relative_to(DOCS).as_posix(): page.read_text(encoding="utf-8")
    for page in sorted(DOCS.rglob("*.md"))
    if "paper-joss" not in page.parts  # a manuscript
}

#: Pages that programs write; they are looked up, and not read.
GENERATED = {
    "benchmarks.md",
    "coverage.md",
    "growth.md",
    "lectures.md",
    "options.md",
    "worst-worlds.md",
}

#: Words of all other pages together, and of a tutorial.
MAX_WORDS, MAX_TUTORIAL = 70_000, 1_000

KINDS = ["Tutorials", "How-to guides", "Reference", "Explanation"]


def pages_by_kind() -> dict[str, list[str]]:
    """The pages of the site, by the uppermost heading of its navigation."""
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    pages: dict[str, list[str]] = {}
    for line in navigation.splitlines():
        heading, _, page = line.strip().removeprefix("- ").partition(": ")
        if line.startswith("  - "):
            kind = heading.removesuffix(":")
        if page:
            pages.setdefault(kind, []).append(page)
    return pages


def n_words(markdown: str) -> int:
    """The number of words that are read as sentences: those outside of code, tables, comments,
    generated passages and the addresses of links."""
    made = r"^<!-- (?:made by|certificate|names).*?^<!-- end.*?-->"
    prose = re.sub(made, "", markdown, flags=re.MULTILINE | re.DOTALL)
    prose = re.sub(r"<!--.*?-->", "", prose, flags=re.DOTALL)
    prose = re.sub(r"^( *)```.*?^\1```$", "", prose, flags=re.MULTILINE | re.DOTALL)
    prose = re.sub(r"^ *\|.*$", "", prose, flags=re.MULTILINE)
    prose = re.sub(r"\]\([^)]*\)", "]", prose)
    return len(re.findall(r"\S*\w\S*", prose))


def test_each_page_is_a_tutorial_a_guide_a_reference_or_an_explanation() -> None:
    first, *kinds = pages_by_kind().items()
    assert first == ("Overview", ["index.md"])
    assert [kind for kind, _ in kinds] == KINDS
    listed = [page for _, pages in kinds for page in pages]
    assert len(set(listed)) == len(listed)
    assert set(PAGES) - {"index.md"} <= set(listed)


@pytest.mark.parametrize("page", pages_by_kind()["Tutorials"])
def test_a_tutorial_is_short(page: str) -> None:
    assert n_words(PAGES[page]) <= MAX_TUTORIAL


def test_words_are_counted_outside_of_code_and_tables() -> None:
    page = "# Two words\n\n<!-- made by x -->\nno\n<!-- end of it -->\n| a | b |\n```\nno\n```\n"
    assert n_words(page + "see [one place](a/b.md#c) – and *that*\n") == 7


def test_the_pages_can_be_read() -> None:
    assert sum(n_words(text) for page, text in PAGES.items() if page not in GENERATED) < MAX_WORDS


@pytest.mark.parametrize(
    ("word", "page"),
    [
        ("A/B test", "monitoring.md"),
        ("bootstrap", "concepts/sure.md"),
        ("calibration", "classification.md"),
        ("confidence interval", "concepts/sure.md"),
        ("leaderboard", "language-models/leaderboard.md"),
        ("LLM", "concepts/judges.md"),
        ("power", "planning.md"),
        ("significance", "concepts/better.md"),
        ("time series", "regression.md"),
    ],
)
def test_words_that_are_searched_for_are_in_headings(word: str, page: str) -> None:
    """The search of the site puts headings first."""
    headings = re.findall(r"^#+ (.+)$", PAGES[page], re.MULTILINE)
    assert any(word.lower() in heading.lower() for heading in headings)
