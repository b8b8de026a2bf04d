"""Measures of technology-assisted review, against their definitions."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from calipers.measures import UnknownMeasureError, parse
from calipers.statistics import JudgedRankings


def value(name: str, ranking: list[int], missed: list[int] | None = None) -> float:
    r = JudgedRankings.from_rankings([ranking], [missed or []])
    return float(parse(name, "retrieval").apply(r)[0])


@pytest.mark.parametrize("tenths", range(11))
def test_work_saved_by_counts(tenths: int) -> None:
    """(TN + FN)/N − (1 − recall), at the first rank with that recall; nothing is read for recall 0."""
    for n in range(1, 6):
        for ranking in product((0, 1), repeat=n):
            relevant = sum(ranking)
            if not relevant:
                assert np.isnan(value(f"WSS@{tenths / 10}", [*ranking]))
                continue
            read = next(
                k
                for k in range(n + 1)
                if Fraction(sum(ranking[:k]), relevant) >= Fraction(tenths, 10)
            )
            not_read = ranking[read:]
            tn, fn = not_read.count(0), not_read.count(1)
            for size, name in ((n, "WSS"), (n + 5, f"WSS(collection_size={n + 5})")):
                expected = (tn + fn + size - n) / size - (1 - tenths / 10)
                found = value(f"{name}@{tenths / 10}", [*ranking])
                assert found == pytest.approx(expected, abs=1e-12), ranking


def test_the_last_relevant_document() -> None:
    assert value("last-rel", [0, 1, 0, 2, 0]) == 4
    assert value("last_rel(rel=2)", [2, 1, 1]) == 1
    for name in ("last-rel", "WSS@1"):
        r = JudgedRankings.from_rankings([[1, 0], [0], [1, 0]], [[1], [], []])
        measure = parse(name, "retrieval")
        np.testing.assert_array_equal(np.isnan(measure.apply(r)), [True, True, False])
        reasons = {reason: where.tolist() for reason, where in measure.reasons(r).items()}
        assert reasons["recall_not_reached"] == [True, False, False]
        assert reasons["no_relevant"] == [False, True, False]


def test_names_of_tar_eval() -> None:
    assert str(parse("wss_95", "retrieval")) == "WSS@0.95"
    assert str(parse("WSS", "retrieval")) == "WSS@0.95"
    assert str(parse("wss_100", "retrieval")) == "WSS@1"
    with pytest.raises(UnknownMeasureError, match="between 0 and 1"):
        parse("WSS@95", "retrieval")
    r = JudgedRankings.from_rankings([[1, 0, 0]])
    small = parse("WSS(collection_size=2)@1", "retrieval")
    assert small.reasons(r)["collection_too_small"].tolist() == [True]
