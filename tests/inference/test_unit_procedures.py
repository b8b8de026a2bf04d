"""Procedures of many pairs as arrays: those of single pairs, at any tail."""

from __future__ import annotations

import math

import numpy as np
import pytest

from calipers import measure
from calipers.estimation.topics import TopicRows, estimate_over_topics
from calipers.inference import method_selection
from calipers.inference.procedures import WaldProcedure
from calipers.inference.settings import Settings
from calipers.inference.unit_procedures import UnitProcedures

N_UNITS = 30


def systems() -> np.ndarray:
    """Values that differ everywhere, on few units to one side, or by much on one of many."""
    random = np.random.default_rng(1)
    first = np.round(random.random(N_UNITS) / 2 + 0.2, 3)
    few = first.copy()
    few[:5] += [0.1, 0.11, 0.12, 0.1, 0.1]
    skewed = first - 0.01
    skewed[4] += 0.312
    return np.stack([first, np.round(random.random(N_UNITS), 3), few, skewed])


@pytest.mark.parametrize("name", ["P@10", "DCG"])
def test_arrays_have_what_procedures_of_single_pairs_have(name: str) -> None:
    table, settings = systems(), Settings()
    readings = [
        estimate_over_topics(
            [TopicRows(measure(name, family="retrieval"), values, None, settings)]
        )[0]
        for values in table
    ]
    pairs = [(a, b) for a in range(len(table)) for b in range(len(table)) if a != b]
    bounds = (readings[0] - readings[1]).bounds
    assert math.isinf(bounds[1]) == (name == "DCG")
    procedures = UnitProcedures.from_table(table, np.array(pairs), bounds, "Student t, paired")
    assert procedures.is_regular(0.95).all()
    singles = [method_selection.procedure(readings[a] - readings[b]) for a, b in pairs]
    tails = 0.2, 0.04, 0.025, 1e-4
    limits = [procedures.limits(tail) for tail in tails]
    has_opposite_side, has_sign_limit = 0, 0
    for index, single in enumerate(singles):
        assert isinstance(single, WaldProcedure)
        error, expected_error = procedures[index].t_error, single.t_error
        assert (error.name, error.df) == (expected_error.name, expected_error.df)
        assert error.se == pytest.approx(expected_error.se, rel=1e-13)
        assert procedures.p[index] == pytest.approx(single.p(), rel=1e-12)
        assert procedures.standard_error[index] == pytest.approx(single.standard_error.se)
        has_opposite_side += single._one_sided_p(0.0, 1 if single.value > 0 else -1) > 0.5
        for tail, (low, high) in zip(tails, limits, strict=True):
            expected = single.limit(tail, 1), single.limit(tail, -1)
            assert (low[index], high[index]) == pytest.approx(expected, rel=1e-11, abs=1e-15)
            has_sign_limit += 0.0 in expected
    assert has_opposite_side
    assert has_sign_limit
