"""Frequencies of sets of labels, of which not too many are counted."""

from __future__ import annotations

import numpy as np
import pytest

from calipers.statistics import label_sets
from calipers.statistics.label_sets import LabelSets


def test_one_batch_counts_no_more_sets_than_several(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(label_sets, "MAX_SETS", 4)
    truth = np.eye(6, dtype=bool)
    batches = [LabelSets.from_rows(rows) for rows in (truth[:3], truth[3:])]
    for found in (LabelSets.from_rows(truth), batches[0] + batches[1]):
        assert found.sets is None
        assert np.isnan(found.max_proportion)
        assert found.sizes.tolist() == [1] * 6 + [6]
    few = LabelSets.from_rows(truth[[0, 1, 1, 2, 3]])
    assert few.sets is not None
    assert few.max_proportion == 0.4
