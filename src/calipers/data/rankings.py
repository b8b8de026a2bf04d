"""Runs laid over one another: which documents they share, and where each run has them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calipers import _core
from calipers.data.arrays import of_arrow
from calipers.data.trec import Origin, TrecSource, read_rows
from calipers.data.trec_tables import buffers, text_of


@dataclass(frozen=True)
class WholeRun:
    """All documents of a run, judged and not.

    The core judges a run by the grades of its documents. To lay one run over another, the other's
    documents are given their row numbers for grades, under which their ranks are kept.
    """

    rows: tuple[Any, Any, Any]
    numbered: _core.Judgments
    topics: tuple[str, ...]
    origin: Origin
    length: Any
    rank: Any
    tied_from: Any
    tied_to: Any

    def shared_with(self, other: WholeRun) -> dict[str, Any]:
        """The arrays of ``SharedRankings``: this run as a, another one as b."""
        found = self.numbered.rank_columns(*other.rows)
        return {
            "topics": self.topics,
            "length_a": self.length,
            "length_b": found.retrieved,
            "offsets": found.offsets,
            "rank_a": self.rank[found.grade],
            "from_a": self.tied_from[found.grade],
            "to_a": self.tied_to[found.grade],
            "rank_b": found.rank,
            "from_b": found.tied_from,
            "to_b": found.tied_to,
        }


def read_whole_run(name: str, source: TrecSource) -> WholeRun:
    """A run from any source; :class:`InputError` says what is wrong with it."""
    table, origin = read_rows(name, source, "run")
    topics, documents = (buffers(table.column(column).chunk(0)) for column in ("topic", "doc"))
    rows = topics, documents, of_arrow(table.column("score"))
    numbered = _core.Judgments.from_columns(topics, documents, np.arange(table.num_rows))
    own = numbered.rank_columns(*rows)
    by_number = np.empty((3, table.num_rows), np.int64)
    by_number[:, own.grade] = own.rank, own.tied_from, own.tied_to
    names = tuple(text_of(topic) for topic in numbered.topics)
    return WholeRun(rows, numbered, names, origin, own.retrieved, *by_number)
