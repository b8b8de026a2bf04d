"""Detection of ids that differ only in spelling."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from calipers.data.byte_sources import STDIN
from calipers.data.trec import read_rows
from calipers.data.trec_tables import decode_id

if TYPE_CHECKING:
    from calipers.data.trec import TrecSource
    from calipers.data.trec_tables import Kind

#: Maximum number of ids that are compared.
MAX_IDS = 200_000


class IdVariant(NamedTuple):
    """One id in the spelling of two sources, and the difference between them."""

    first: str
    second: str
    difference: str


def _strip_padding(name: str) -> str:
    return re.sub(r"\d+", lambda digits: digits[0].lstrip("0") or "0", name)


def _strip_blanks(name: str) -> str:
    return "".join(name.split())


#: Differences that ids may have, and functions that remove them.
_NORMALIZATIONS: Sequence[tuple[str, Callable[[str], str]]] = (
    ("letter case", str.casefold),
    ("white space", _strip_blanks),
    ("leading zeros", _strip_padding),
    (
        "letter case, white space and leading zeros",
        lambda name: _strip_padding(_strip_blanks(name.casefold())),
    ),
)


def find_id_variant(first: Iterable[str], second: Iterable[str]) -> IdVariant | None:
    """Find an id of each side that differ only in spelling.

    The result is None if there is no such pair, or if some ids are identical.
    """
    first_ids, second_ids = (
        list(dict.fromkeys(islice(names, MAX_IDS))) for names in (first, second)
    )
    if not set(first_ids).isdisjoint(second_ids):
        return None
    for differ_by, normalize in _NORMALIZATIONS:
        original_by_id = {normalize(name): name for name in reversed(second_ids)}
        match = next((name for name in first_ids if normalize(name) in original_by_id), None)
        if match is not None:
            return IdVariant(match, original_by_id[normalize(match)], differ_by)
    return _find_affix(first_ids, second_ids) or _swap_sides(_find_affix(second_ids, first_ids))


def _swap_sides(variant: IdVariant | None) -> IdVariant | None:
    return variant and IdVariant(variant.second, variant.first, variant.difference)


def _find_affix(longer: Sequence[str], shorter: Sequence[str]) -> IdVariant | None:
    """Find the most frequent prefix or suffix that makes ids of one side from ids of the other."""
    shorter_ids = set(shorter)
    affix_counts: Counter[tuple[str, str]] = Counter()
    example: dict[tuple[str, str], tuple[str, str]] = {}
    for name in longer:
        for cut in range(1, len(name)):
            head, tail = name[:cut], name[cut:]
            # Numbers are not split: 112 is not 12 with a prefix.
            if head[-1].isdigit() and tail[0].isdigit():
                continue
            for kind, stem, affix in (("prefix", tail, head), ("suffix", head, tail)):
                if stem in shorter_ids:
                    affix_counts[kind, affix] += 1
                    example.setdefault((kind, affix), (name, stem))
    if not affix_counts:
        return None
    (kind, affix), _ = affix_counts.most_common(1)[0]
    return IdVariant(*example[kind, affix], f"the {kind} '{affix}'")


def find_document_id_variant(run: TrecSource, qrels: TrecSource) -> IdVariant | None:
    """Find a document of a run and one of the judgments whose ids differ only in spelling.

    The result is None if there is no such pair, or if a source cannot be read again.
    """
    sources: tuple[tuple[TrecSource, Kind], ...] = ((run, "run"), (qrels, "qrels"))
    if any(source == STDIN or hasattr(source, "__next__") for source, _ in sources):
        return None
    tables = [read_rows(kind, source, kind, allow_sets=True)[0] for source, kind in sources]
    documents = [table.column("doc").slice(0, MAX_IDS).to_pylist() for table in tables]
    return find_id_variant(*(map(decode_id, names) for names in documents))
