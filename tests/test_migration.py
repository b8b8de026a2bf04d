"""docs/migration.md: its names are what it says, and none is missing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from calipers.cli.trec_eval.table import TABLE
from calipers.measures import TASKS, UnknownMeasureError, parse

PAGE = Path(__file__).resolve().parents[1] / "docs" / "migration.md"

RANX = (
    *("hits", "hit_rate", "precision", "recall", "f1", "r-precision", "mrr", "map", "bpref", "rbp"),
    *("dcg", "dcg_burges", "ndcg", "ndcg_burges"),
)


def rows(tool: str) -> list[tuple[list[str], bool, str | None]]:
    """Of each row: their names, whether they are read as what they mean, and our name."""
    section = PAGE.read_text(encoding="utf-8").split(f"\n| {tool} | Calipers |")[1].split("\n\n")[0]
    out = []
    for line in section.splitlines()[2:]:
        theirs, ours = re.split(r"(?<!\\)\|", line)[1:3]
        found = re.findall(r"`([^`]+)`", ours)
        assert len(found) == 1 or ours.strip() == "—", line
        out.append(
            (re.findall(r"`([^`]+)`", theirs), "†" not in theirs, found[0] if found else None)
        )
    return out


NAMES = [
    (name, read, ours)
    for tool in ("trec_eval", "ir_measures", "ranx")
    for names, read, ours in rows(tool)
    for name in names
]


@pytest.mark.parametrize(("theirs", "read", "ours"), NAMES, ids=[name for name, *_ in NAMES])
def test_a_name_means_what_the_page_says(theirs: str, read: bool, ours: str | None) -> None:
    families = TASKS["retrieval"]
    if ours is not None:
        assert str(parse(ours, families)) == ours
    if read:
        assert str(parse(theirs, families)) == ours
    elif ours is not None:
        assert str(parse(theirs, families)) != ours
    else:
        with pytest.raises(UnknownMeasureError):
            parse(theirs, families)


def missing(tool: str, wanted: set[str], separator: str) -> set[str]:
    """Those of these names that the table lacks."""
    found = {name for names, *_ in rows(tool) for name in names}
    return {
        name
        for name in wanted
        if not any(re.fullmatch(rf"{re.escape(name)}({separator}.*)?", f) for f in found)
    }


def test_every_measure_of_trec_eval_is_there() -> None:
    assert len(TABLE) == 57
    assert missing("trec_eval", set(TABLE), r"_[\dp]") == set()


def test_every_measure_of_ir_measures_is_there() -> None:
    ir_measures = pytest.importorskip("ir_measures", reason="ir_measures is not installed")
    assert missing("ir_measures", set(ir_measures.measures.registry), r"[(@]") == set()


def test_every_measure_of_ranx_is_there() -> None:
    assert missing("ranx", set(RANX), r"[@.]") == set()
