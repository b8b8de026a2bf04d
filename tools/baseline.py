"""Compare what a check finds with a baseline in which counts only fall.

Without options the tool that uses it lists all hits. With ``--check`` it fails where something
occurs more often than the baseline allows; with ``--update`` it writes the baseline, unless a count
would rise. Once nothing is found, the baseline is ``{}`` and any hit fails.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol

#: Number of hits by kind and word.
Counts = dict[str, dict[str, int]]


class Hit(Protocol):
    """What a check finds; as text, it has the location and what to do."""

    @property
    def kind(self) -> str:
        """Rule, or kind of rule, that is broken."""

    @property
    def word(self) -> str:
        """What breaks it."""


def count(hits: Iterable[Hit]) -> Counts:
    """Return the number of hits by kind and word, both in alphabetical order."""
    counts: Counts = {}
    for (kind, word), n in sorted(Counter((hit.kind, hit.word) for hit in hits).items()):
        counts.setdefault(kind, {})[word] = n
    return counts


def risen(counts: Counts, allowed: Counts) -> list[tuple[str, str]]:
    """Return the kinds and words that occur more often than is allowed."""
    return [
        (kind, word)
        for kind, by_word in counts.items()
        for word, n in by_word.items()
        if n > allowed.get(kind, {}).get(word, 0)
    ]


def run(arguments: Sequence[str], hits: Sequence[Hit], root: Path, path: Path) -> int:
    """List the hits, check their counts, or write them; return the exit status.

    The baseline is at ``path`` below ``root``. The first ``--update`` writes whatever is found.
    """
    counts, file = count(hits), root / path
    if not {"--check", "--update"} & set(arguments):
        sums = (f"{kind}: {sum(by_word.values())}" for kind, by_word in counts.items())
        print(*hits, ", ".join(sums) or "nothing found", sep="\n")
        return 0
    is_first = "--update" in arguments and not file.exists()
    allowed: Counts = counts if is_first else json.loads(file.read_text(encoding="utf-8"))
    excess = risen(counts, allowed)
    for hit in hits:
        if (hit.kind, hit.word) in excess:
            print(hit)
    for kind, word in excess:
        n, limit = counts[kind][word], allowed.get(kind, {}).get(word, 0)
        print(f"{kind} '{word}': {n}, and {path.as_posix()} allows {limit}")
    if excess:
        return 1
    if "--update" in arguments:
        # Kinds keep their order in the file, so that a comparison of versions shows what fell.
        counts = {
            kind: counts[kind] for kind in dict.fromkeys([*allowed, *counts]) if kind in counts
        }
        file.write_text(f"{json.dumps(counts, indent=1)}\n", encoding="utf-8", newline="\n")
    return 0
