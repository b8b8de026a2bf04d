"""Order of the documents of a run: by their scores, or by the ranks that are stated with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.data.arrays import from_arrow
from calipers.data.errors import InputError, did_you_mean, format_value
from calipers.data.trec_tables import decode_id

if TYPE_CHECKING:
    import pyarrow as pa

#: Accepted values of ``order``; the first one is the default, as in trec_eval.
ORDERS = ("score", "rank")

#: Name of the column of ranks.
RANK = "rank"

#: Function from the index of a row to its location in messages.
Locate = Callable[[int], str]


def check_order(order: str) -> None:
    """Raise :class:`InputError` if the order is unknown."""
    if order not in ORDERS:
        raise InputError(f"order is {format_value(order)}; {did_you_mean(order, ORDERS)}")


def rank_array(column: pa.ChunkedArray) -> Any:
    """Return ranks as whole numbers, -1 where a value is not one; they may be text."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind, is_type = column.type, pa.types
    if is_type.is_floating(kind) or is_type.is_integer(kind) or is_type.is_decimal(kind):
        values = column.cast(pa.float64()).fill_null(-1).to_numpy()
        is_whole = (values >= 0) & (values == np.trunc(values)) & (values < 2.0**53)
        return np.where(is_whole, values, -1).astype(np.int64)
    if is_type.is_string(kind) or is_type.is_large_string(kind) or is_type.is_string_view(kind):
        column = column.cast(pa.large_binary())
    elif not (is_type.is_binary(kind) or is_type.is_large_binary(kind)):
        return np.full(len(column), -1)
    # As many digits as 64 bits always hold; none is missing where the pattern matches.
    is_number = pc.match_substring_regex(column, r"^\d{1,18}$")
    digits = pc.if_else(is_number, column, pa.scalar(b"-1", column.type))
    return digits.cast(pa.large_string()).cast(pa.int64()).fill_null(-1).to_numpy()


def parse_ranks(column: pa.ChunkedArray, locate: Locate) -> Any:
    """Return ranks as whole numbers; raise :class:`InputError` if one is not."""
    ranks = rank_array(column)
    if (ranks < 0).any():
        row = int(np.argmax(ranks < 0))
        value = column[row].as_py()
        value = decode_id(value) if isinstance(value, bytes) else value
        raise InputError(
            f"{locate(row)}: rank {format_value(value)} is not a whole number, which order='rank' "
            "requires"
        )
    return ranks


def scores_from_ranks(name: str, topics: Any, column: pa.ChunkedArray, locate: Locate) -> Any:
    """Derive scores from ranks, which are whole numbers that differ within a topic.

    Parameters
    ----------
    name : str
        Name of the run in notes.
    topics : pyarrow.LargeBinaryArray
        Topic of each row.
    column : pyarrow.ChunkedArray
        Rank of each row.
    locate : callable
        Location of a row in messages.

    Returns
    -------
    scores : array of float
        Score of each row.
    notes : list of str
        Note on gaps between the ranks, if there are any.

    Raises
    ------
    InputError
        If a rank is not a whole number, or occurs twice in a topic.
    """
    ranks = parse_ranks(column, locate)
    codes = from_arrow(topics.dictionary_encode().indices)
    order = np.lexsort((ranks, codes))
    codes, sorted_ranks = codes[order], ranks[order]
    is_first = np.ones(len(order), bool)
    is_first[1:] = codes[1:] != codes[:-1]
    before = np.roll(sorted_ranks, 1)
    is_repeated = ~is_first & (sorted_ranks == before)
    if is_repeated.any():
        # Equal ranks are in the order of their rows.
        indices = np.flatnonzero(is_repeated)
        index = indices[np.argmin(order[indices])]
        row, first_row = int(order[index]), int(order[index - 1])
        other_text = f"; so do {len(indices) - 1} more" if len(indices) > 1 else ""
        raise InputError(
            f"{locate(row)}: rank {ranks[row]} of topic {_topic(topics, row)} occurs twice, first "
            f"at {locate(first_row)}{other_text}; order='rank' requires different ranks"
        )
    # Ranks begin at 1, or at 0.
    is_gap = np.where(is_first, sorted_ranks > 1, sorted_ranks > before + 1)
    if not is_gap.any():
        return 0.0 - ranks, []
    indices = np.flatnonzero(is_gap)
    index = indices[np.argmin(order[indices])]
    row = int(order[index])
    problem = "is the first" if is_first[index] else f"follows rank {before[index]}"
    gaps = "a gap" if len(indices) == 1 else f"{len(indices):,} gaps"
    note = (
        f"{name}: the ranks have {gaps}, the first at {locate(row)}, where rank {ranks[row]} of "
        f"topic {_topic(topics, row)} {problem}. Documents are ranked without gaps."
    )
    return 0.0 - ranks, [note]


def _topic(topics: Any, row: int) -> str:
    return format_value(decode_id(topics[row].as_py()))


def find_contradictions(
    topics: Any, column: pa.ChunkedArray, scores: Any
) -> tuple[int, int, int, int] | None:
    """Find consecutive rows of a topic of which that with the larger rank has the higher score.

    Returns
    -------
    tuple of int or None
        Index of the first such row, its rank and that of the row before, the larger one first, and
        the number of such rows; None if there are none. The core finds the same in TREC text.
    """
    ranks = rank_array(column)
    rows = np.flatnonzero(ranks >= 0)
    codes = from_arrow(topics.dictionary_encode().indices)[rows]
    rank_steps, score_steps = np.diff(ranks[rows]), np.diff(scores[rows])
    is_contradiction = (codes[1:] == codes[:-1]) & (
        ((rank_steps > 0) & (score_steps > 0)) | ((rank_steps < 0) & (score_steps < 0))
    )
    if not is_contradiction.any():
        return None
    index = int(np.argmax(is_contradiction))
    pair = sorted(ranks[rows[index : index + 2]].tolist())
    return int(rows[index + 1]), pair[1], pair[0], int(np.count_nonzero(is_contradiction))


def contradiction_note(
    name: str, order: str, contradictions: tuple[int, int, int, int] | None, locate: Locate
) -> list[str]:
    """Return a note on ranks that contradict scores, as :func:`find_contradictions` finds them."""
    if contradictions is None:
        return []
    row, rank, other_rank, n_contradictions = contradictions
    count = "once" if n_contradictions == 1 else f"{n_contradictions:,} times"
    note = (
        f"{name}: documents are ordered by {order}; ranks and scores contradict each other "
        f"{count}, first at {locate(row)}: rank {rank} has a higher score than rank "
        f"{other_rank}."
    )
    if order == "score":
        note += " If lower scores are better, as of distances, order='rank' ranks as stated."
    return [note]
