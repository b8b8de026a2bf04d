"""A row of weight 0 is no row: what is found is what is found without it, digit by digit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import calipers as cal

RANDOM = np.random.default_rng(11)
ROWS = 60
TWO, THREE = RANDOM.integers(0, 2, ROWS), RANDOM.integers(0, 3, ROWS)
SETS = RANDOM.random((ROWS, 3)) < 0.4
NUMBER, NOISE = RANDOM.normal(size=(2, ROWS))
TABLE = RANDOM.dirichlet([1, 1, 1], ROWS)
COMMON: dict[str, Any] = {"n_resamples": 100}
VERBS: dict[str, Callable[..., Any]] = {
    "two classes": lambda k, **o: cal.classification(TWO[k], score=(TWO + NOISE)[k], **o),
    "labels": lambda k, **o: cal.classification(THREE[k], THREE[k[::-1]], **o),
    "classes": lambda k, **o: cal.classification(THREE[k], probability=TABLE[k], **o),
    "distributions": lambda k, **o: cal.classification(TABLE[k], probability=TABLE[k[::-1]], **o),
    "sets": lambda k, **o: cal.multilabel(SETS[k], SETS[k[::-1]], **o),
    "numbers": lambda k, **o: cal.regression(
        NUMBER[k], {"a": (NUMBER + NOISE)[k], "b": NOISE[k]}, **o
    ),
    "quantiles": lambda k, **o: cal.regression(
        NUMBER[k], quantiles={0.1: NOISE[k] - 1, 0.9: NOISE[k] + 1}, **o
    ),
    "outputs": lambda k, **o: cal.regression(TABLE[k], TABLE[k[::-1]], **o),
}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("weight", ["of others 1", "of others any"])
def test_is_left_out(verb: str, weight: str) -> None:
    """``k[::-1]`` keeps the places of those left out, as these lie alike from both ends."""
    own = np.ones(ROWS) if weight == "of others 1" else 1.0 + np.arange(ROWS) % 3
    own[[3, 20, 39, 56]] = 0
    every, held = np.arange(ROWS), np.flatnonzero(own)
    slices = {"half": every % 2}
    found = VERBS[verb](every, weight=own, slices=slices, **COMMON)
    there = VERBS[verb](held, weight=own[held], slices={"half": slices["half"][held]}, **COMMON)
    found, there = (made.to_dict() for made in (found, there))
    del found["provenance"], there["provenance"]
    assert repr(found) == repr(there)
    assert found["systems"][0]["estimates"][0]["n"] == held.size


def test_counts_that_leave_no_weight_are_refused() -> None:
    with pytest.raises(cal.InputError, match="count: is 0 wherever weight= is not"):
        cal.classification([0, 1, 1], [0, 1, 0], weight=[0, 0, 1.0], count=[1, 1, 0])
