"""What has nothing to divide by has no value, and its reason; 0 is what was measured."""

from __future__ import annotations

import math

import pytest

from calipers.measures import parse
from calipers.statistics import JudgedRankings

#: Of 1: a relevant document below another. 2: none that is relevant. 3: nothing. 4: no relevant
#: document anywhere.
TOPICS = JudgedRankings.from_rankings([[0, 2], [0, 0], [], [0]], [[1], [1, 1], [1], []])
NAN = math.nan
UNFOUND = {"no_relevant_retrieved": [2, 3], "no_relevant": [4]}


@pytest.mark.parametrize(
    ("name", "values", "reasons"),
    [
        ("AP(denominator='found')", [1 / 2, NAN, NAN, NAN], UNFOUND),
        ("AP(denominator='found')@1", [NAN] * 4, {"no_relevant_retrieved": [1, 2, 3], "no_relevant": [4]}),
        ("AP", [1 / 4, 0, 0, NAN], {"no_relevant": [4]}),
        ("nDCG(ideal='retrieved')", [1 / math.log2(3), NAN, NAN, NAN],
         {"no_relevant_retrieved": [2, 3], "no_gain": [4]}),
        # Cut above the only gain, whose ideal place is the first.
        ("nDCG(ideal='retrieved')@1", [0, NAN, NAN, NAN],
         {"no_relevant_retrieved": [2, 3], "no_gain": [4]}),
        ("Judged@1", [1, 1, NAN, 1], {"nothing_retrieved": [3]}),
        ("P@recall=0.5", [1 / 2, NAN, NAN, NAN],
         {"recall_not_reached": [2, 3], "no_relevant": [4]}),
        ("P@recall=0.6", [NAN] * 4, {"recall_not_reached": [1, 2, 3], "no_relevant": [4]}),
        ("P@recall=0", [0, 0, 0, NAN], {"no_relevant": [4]}),
        ("IPrec@0.6", [0, 0, 0, NAN], {"no_relevant": [4]}),
    ],
)  # fmt: skip
def test_values_and_reasons(name: str, values: list[float], reasons: dict[str, list[int]]) -> None:
    measure = parse(name, "retrieval")
    assert measure.apply(TOPICS).tolist() == pytest.approx(values, nan_ok=True)
    found = {why: (of.nonzero()[0] + 1).tolist() for why, of in measure.reasons(TOPICS).items()}
    assert {why: of for why, of in found.items() if of} == reasons
