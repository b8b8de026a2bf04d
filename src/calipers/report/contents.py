"""What a page says of itself: its contents, a link to each part, and its result as files."""

from __future__ import annotations

import base64
import gzip
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from calipers.report.figures.figure import Figure
from calipers.results import Comparison, Evaluation

#: The parts of a page in their order: what it has to have, the id of the section, its heading.
_PARTS = (
    ("findings", "findings", "Findings"),
    ("ranking", "ranking", "Ranking"),
    ("groups", "estimates", "Estimates"),
    ("notes", "notes", "Notes"),
    ("comparison", "comparison", "Comparison"),
    ("costs", "costs", "Costs"),
    ("label_tables", "labels", ""),
    ("cutoffs", "cutoffs", "Cut-offs"),
    ("threshold", "threshold", "Move the threshold"),
    ("slices", "slices", "Slices"),
    ("places", "charts", "Charts"),
    ("definitions", "definitions", "Definitions"),
    ("methods", "methods", "Tests and methods"),
    ("provenance", "provenance", "Provenance"),
)
#: A result that takes more characters than these, packed, is not in its page.
MOST_PACKED = 1_000_000
_LONGEST = 60


class Reported(Protocol):
    """A result that has a page."""

    def to_json(self, *, details: bool = False) -> str:
        """As JSON."""

    def to_csv(self) -> str:
        """As CSV."""


def contents(parts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The sections of a page that has these parts."""
    tables: Sequence[Mapping[str, Any]] = parts.get("label_tables") or ()
    return [
        (place, heading or tables[0]["heading"])
        for name, place, heading in _PARTS
        if parts.get(name)
    ]


def places(names: Iterable[str], kind: str) -> list[str]:
    """An id for each of some names, the same for the same names; none is given twice."""
    seen: dict[str, int] = {}
    out = []
    for name in names:
        word = re.sub(r"[^\w.]+", "-", name.lower()).strip("-")[:_LONGEST] or "unnamed"
        seen[word] = seen.get(word, 0) + 1
        number = f"-{seen[word]}" if seen[word] > 1 else ""
        out.append(f"{kind}-{word}{number}")
    return out


def places_of(drawn: Sequence[Figure]) -> dict[str, str]:
    """The id of each figure, by what its ids begin with."""
    titles = [f"{figure.title} {figure.choice}" for figure in drawn]
    return dict(zip((figure.name for figure in drawn), places(titles, "chart"), strict=True))


def files(result: Reported) -> list[dict[str, str]]:
    """The result in full precision, as a table and for a paper: packed texts by their names."""
    made = {"result.json": result.to_json(), "result.csv": result.to_csv()}
    if isinstance(result, Evaluation | Comparison):
        made["result.tex"] = result.to_latex()
    packed = {
        name: base64.b64encode(gzip.compress(_bytes(text), mtime=0)).decode()
        for name, text in made.items()
    }
    return [{"name": n, "packed": text} for n, text in packed.items() if len(text) <= MOST_PACKED]


def _bytes(text: str) -> bytes:
    """UTF-8; half a character, which a name may hold, is spelled out."""
    return text.encode("utf-8", "backslashreplace")
