"""A sample in memory: its copies with other settings, and on some of its rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import calipers as cal
from calipers.evaluation.rows import InMemorySample

TRUTH = ["a", "b", "b", "a", "b", "a", "a", "b"] * 5
PREDICTED = ["a", "b", "a", "a", "b", "b", "a", "b"] * 5
SITE = ["x", "y", "y", "y"] * 10


def sample(**fields: Any) -> InMemorySample:
    evaluation = cal.classification(
        TRUTH, PREDICTED, measures=["accuracy"], slices={"site": SITE}, positive="b"
    )
    source = evaluation.sources
    assert isinstance(source, InMemorySample)
    return replace(source, **fields)


def test_slices_have_the_new_settings() -> None:
    made = sample()
    changed = made.with_settings(replace(made.settings, level=0.5))
    for one, other in ((made, 0.95), (changed, 0.5)):
        slices = one.slices(None)
        assert slices is not None
        assert slices.level == other  # which comparisons within slices have too
        assert {row.estimate.level for row in slices} == {other}
        assert {row.vs_rest.level for row in slices if row.vs_rest is not None} == {other}


@pytest.mark.parametrize("ids", [(), [f"r{row}" for row in range(40)]])
@pytest.mark.parametrize("as_mask", [True, False])
def test_a_subset_keeps_the_ids_of_its_rows(ids: Any, *, as_mask: bool) -> None:
    chosen = np.array([2, 3, 39])
    mask = np.isin(np.arange(40), chosen)
    made = sample(ids=ids, row_name=lambda row: f"row {row}")
    subset = made.take_rows(mask if as_mask else chosen)
    stored = subset.to_stored_predictions()
    assert stored is not None
    assert list(stored.ids) == [ids[row] if ids else str(row) for row in chosen]
    assert [subset.row_name(row) for row in range(3)] == ["row 2", "row 3", "row 39"]
    assert subset.n_rows == 3
    # Of a subset there are no slices, as their codes are those of all rows.
    assert subset.slices(None) is None
    assert sample(ids=None).take_rows(chosen).ids is None
