"""Sentences, notes and table of a leaderboard."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from calipers.report import numbers
from calipers.report.safe_names import (
    escape_unprintable,
    join_words,
    method_text,
    shorten_name,
    unique_labels,
)
from calipers.report.tables import (
    KEY,
    NUMBER,
    NUMBERS,
    WORDS,
    Column,
    drop_empty_columns,
)
from calipers.results import Estimate, Leaderboard, LeaderboardRow
from calipers.results.estimate import INTERVAL_REASONS

#: Separators of thousands, which Elo ratings are written without.
_THOUSANDS = re.compile(r"(?<=\d),(?=\d)")
#: The largest number of systems that a sentence names.
MOST_NAMED = 6


def heading(board: Leaderboard) -> str:
    """Return the heading."""
    return f"Leaderboard: {numbers.format_count(len(board), 'systems')}, {board.model} model"


def sentences(board: Leaderboard) -> list[str]:
    """Return the main sentence: which systems may be first."""
    return [_first_sentence(board)]


def _first_sentence(board: Leaderboard) -> str:
    rated, candidates = board.rated, board.candidates
    if not rated:
        return "No system has a rating."
    if len(rated) == 1:
        return f"Only {shorten_name(rated[0].system)} has a rating, to which limits are relative."
    if len(candidates) == 1:
        return (
            f"{shorten_name(candidates[0])} is significantly better than all other rated systems."
        )
    opening = "No system is significantly better than all others"
    if len(candidates) > MOST_NAMED:
        return f"{opening}: {len(candidates)} of {len(rated)} may be first."
    return f"{opening}: {join_words(list(map(shorten_name, candidates)))} may be first."


def _scale_sentences(board: Leaderboard) -> Iterator[str]:
    rated = board.rated
    if not rated:
        return
    center = (
        f"{shorten_name(board.reference)} is fixed at 1000"
        if board.reference
        else f"1000 is the mean of the {len(rated)} rated systems"
    )
    yield f"{center}; 400 points more are odds of 10 to 1."
    if len(rated) > 1 and any(row.rating.has_interval for row in rated):
        level = numbers.format_percent(board.level)
        yield f"All ranks are covered together with at least {level} probability."


def notes(board: Leaderboard) -> list[str]:
    """Return notes on the scale, the battles, the methods, the effects and the input."""
    battles = numbers.format_count(board.battles, "battles")
    if board.cluster:
        name = shorten_name(board.cluster)
        battles = f"{battles}; errors are clustered ({board.n_clusters:,} clusters by {name})"
    else:
        battles = f"{battles}; errors are those of independent battles"
    lines = [*_scale_sentences(board), f"{battles}."]
    if board.n_rated < board.battles:
        lines.append(f"Ratings are estimated from the {board.n_rated:,} battles of rated systems.")
    method = _main_method(board)
    if method:
        level = numbers.format_percent(board.level)
        lines.append(f"{level} CIs: {method_text(method)}.")
    if board.tie_parameter is not None:
        ties = board.tie_parameter
        lines.append(f"Ties: {board.model}, {shorten_name(ties.measure)} = {_triple(ties)}.")
    elif any(row.ties for row in board.rated):
        lines.append("Ties count as half a win and half a loss.")
    lines += [
        f"Effect of {shorten_name(effect.measure)}, removed from the ratings: {_triple(effect)} "
        "points."
        for effect in board.effects
    ]
    if any(_limit(row) for row in board):
        lines.append(
            "Limits of systems without a rating are those of the profile likelihood, which takes "
            "battles as independent."
        )
    return [*lines, *map(escape_unprintable, board.notes)]


def _main_method(board: Leaderboard) -> str:
    """Return the method of the intervals of most ratings; those of others are in the remarks."""
    methods = Counter(row.rating.method for row in board.rated if row.rating.has_interval)
    return max(methods, key=lambda name: methods[name], default="")


def _triple(estimate: Estimate) -> str:
    triple = estimate.value, estimate.low, estimate.high
    return numbers.common_rounding(*triple).value_with_interval(*triple)


def columns(board: Leaderboard) -> list[Column]:
    """Return the columns of a table with a row per system."""
    rows, method = list(board), _main_method(board)
    labels = unique_labels(board.systems)
    return drop_empty_columns(
        [
            Column("system", KEY, [labels[row.system] for row in rows]),
            Column("Elo", NUMBERS, _rating_cells(rows)),
            Column("rank", WORDS, list(map(_rank, rows))),
            Column("expected score", NUMBERS, _cells([row.expected_score for row in rows])),
            Column("unadjusted", NUMBERS, _unadjusted_cells(rows)),
            Column("battles", NUMBER, [f"{row.battles:,}" for row in rows]),
            Column(
                "wins/ties/losses",
                NUMBERS,
                [f"{row.wins:,}/{row.ties:,}/{row.losses:,}" for row in rows],
            ),
            Column("remarks", WORDS, [_remark(row, method) for row in rows]),
        ]
    )


def _rating_cells(rows: Sequence[LeaderboardRow]) -> list[str]:
    digits = _digits([row.rating for row in rows])
    return [_limit(row, digits) or format_rating(row.rating, digits) for row in rows]


def format_rating(rating: Estimate, digits: numbers.Rounding) -> str:
    """Format a rating with its interval, without separators of thousands."""
    return _THOUSANDS.sub("", digits.value_with_interval(rating.value, rating.low, rating.high))


def _limit(row: LeaderboardRow, digits: numbers.Rounding | None = None) -> str:
    """Return the limit of a system without a rating, ``≥ 894``; empty if there is none."""
    rating = row.rating
    if row.is_rated or not rating.has_interval:
        return ""
    sign, limit = ("≥", rating.low) if math.isinf(rating.high) else ("≤", rating.high)
    return _THOUSANDS.sub("", f"{sign} {(digits or numbers.Rounding(0))(limit)}")


def _digits(estimates: Sequence[Estimate]) -> numbers.Rounding:
    return numbers.rounding((e.value, e.low, e.high) for e in estimates if math.isfinite(e.value))


def _cells(estimates: Sequence[Estimate]) -> list[str]:
    digits = _digits(estimates)
    return [
        "" if math.isnan(e.value) else digits.value_with_interval(e.value, e.low, e.high)
        for e in estimates
    ]


def _unadjusted_cells(rows: Sequence[LeaderboardRow]) -> list[str]:
    estimates = [row.unadjusted for row in rows if row.unadjusted is not None]
    digits = _digits(estimates)
    return ["" if row.unadjusted is None else format_rating(row.unadjusted, digits) for row in rows]


def _rank(row: LeaderboardRow) -> str:
    if row.rank_low is None or row.rank_high is None:
        return ""
    return f"{row.rank_low}" if row.rank_low == row.rank_high else f"{row.rank_low}–{row.rank_high}"


def _remark(row: LeaderboardRow, method: str) -> str:
    """Return why a system has no rating, its rating no interval, or another one than ``method``."""
    for reason in row.rating.undefined:
        if reason in _OUTCOMES:
            name, number = _OUTCOMES[reason]
            n = row.wins if reason == "won_all" else row.losses
            is_all = n == row.battles
            battles = "its only battle" if n == 1 else f"all of its {n:,} battles"
            return f"no rating: it has {name} {battles if is_all else number}"
        return f"no rating: {_REASONS.get(reason, shorten_name(reason))}"
    if row.rating.interval_reason == "known_constant":
        return "reference"
    if row.rating.interval_reason is not None:
        return f"no interval: {INTERVAL_REASONS[row.rating.interval_reason]}"
    return "" if row.rating.method == method else method_text(row.rating.method)


#: Outcomes of all battles of a system: the verb, and the battles if there are others.
_OUTCOMES = {
    "won_all": ("won", "all of its battles with rated systems"),
    "lost_all": ("lost", "all of its battles with rated systems"),
}
_REASONS = {
    "not_connected": "it has no battle with a rated system",
    "ties_undetermined": "wins and ties alone give no finite ratings; the model 'half' does",
}
