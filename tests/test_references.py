"""docs/references.md: whatever is named as "Demšar 2006" stands there, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "references.md").read_text(encoding="utf-8")
ENTRIES = set(re.findall(r"^- ([^(]+) \((\d{4})\)\. \S", PAGE, re.MULTILINE))

#: Where works are named: code, and pages but this one, and the paper, which has a bibliography of its own.
NAMING = [
    path
    for folder, kind in (("src", "py"), ("core/src", "rs"), ("docs", "md"), ("benchmarks", "py"))
    for path in (ROOT / folder).rglob(f"*.{kind}")
    if path.name != "references.md" and path.parent.name != "paper-joss"
]

NAME = r"(?:[Vv]an (?:der )?)?[^\W\d_a-z][^\W\d_]+(?:-[^\W\d_]+)*"
NAMED = re.compile(
    rf"((?:{NAME}, )*(?:{NAME} (?:and|&) )?{NAME})( et al\.| and others)?(?:'s)? "
    r"\(?((?:18|19|20)\d\d)(?![-\d])"
)


def test_every_work_that_is_named_is_listed() -> None:
    assert len(ENTRIES) == PAGE.count("\n- ")
    named: dict[tuple[str, str], str] = {}
    for path in NAMING:
        lines = re.sub(r"\s*\n\s*(?:#:?|//[/!]?)?\s*", " ", path.read_text(encoding="utf-8"))
        for names, others, year in NAMED.findall(lines):
            first = [entry for entry in ENTRIES if entry == (names.replace("&", "and"), year)]
            if others:
                first = [x for x in ENTRIES if x[0].startswith(f"{names}, ") and x[1] == year]
            assert len(first) == 1, f"{path.relative_to(ROOT)}: {names}{others} {year}: {first}"
            named[first[0]] = path.name
    assert sorted(ENTRIES - set(named)) == []
