from __future__ import annotations

from dataclasses import replace
from itertools import groupby

import pytest
from markdown_it import MarkdownIt
from samples import HOSTILE, hostile, regression, retrieval, undefined

from calipers.results import Definition


def test_markdown_has_verdict_tables_notes_and_provenance() -> None:
    text = retrieval().to_markdown()
    for part in ("## Retrieval", "dense is better than bm25", "| bm25 | 0.387 [", "**Note:**",
                 "| RR | dense - bm25 |", "not significant", "sha256:9f2c1e7a"):  # fmt: skip
        assert part in text
    long = retrieval().to_markdown(layout="long")
    assert "| nDCG@10 ↑ | bm25 | 0.387 |" in long
    assert "undefined" in undefined().to_markdown()
    assert "77.0" in regression().to_markdown()


@pytest.mark.parametrize("name", HOSTILE)
def test_names_stay_text(name: str) -> None:
    text = "\n".join(hostile(name, "plain").to_markdown(layout=of) for of in ("wide", "long"))
    html = MarkdownIt("gfm-like", {"linkify": False}).render(text)
    for tag in ("<script", "<img", "<a ", "<code", "<strong>markup"):
        assert tag not in html
    for layout in ("wide", "long"):
        lines = hostile(name, "plain").to_markdown(layout=layout).splitlines()
        tables = [
            list(rows) for inside, rows in groupby(lines, lambda s: s.startswith("|")) if inside
        ]
        assert len(tables) >= 2
        for rows in tables:
            assert len({line.replace("\\|", "").count("|") for line in rows}) == 1


def test_other_texts_are_not_markup() -> None:
    text = "<img src=x> [link](http://x) `a` <img src=y> `b`"
    evaluation = retrieval()
    assert evaluation.comparison is not None
    comparison = evaluation.comparison
    differences = tuple(replace(d, unit=text) for d in comparison)
    definition = Definition("RR", text, f"It is ``{text} ``.", True, (0, 1))
    for result in (
        replace(comparison, differences=differences),
        replace(evaluation, task=text, definitions=(definition,)),
    ):
        html = MarkdownIt("gfm-like", {"linkify": False}).render(result.to_markdown())
        assert "img" in html
        assert "<img" not in html
        assert "<a " not in html


def test_a_name_cannot_start_a_list_or_mention() -> None:
    for name in ("- x", "1. x", "+ x", "@someone", "# x"):
        text = hostile(name, "plain").to_markdown()
        assert f"| {name} |" not in text
        assert f"\n- {name}\n" not in text
