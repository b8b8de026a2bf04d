"""The majority value of rows in batches is that of all rows."""

from __future__ import annotations

import numpy as np

from calipers.statistics import MajorityValue


def test_the_tolerance_is_that_of_all_rows() -> None:
    """A batch of tiny values had a tolerance of its own, by which few of them were equal."""
    random = np.random.default_rng(0)
    batches = [
        np.append(np.zeros(60), random.random(60) * 1e-10),
        np.append(np.zeros(50), 1 + random.random(30)),
    ]
    first = sum(map(MajorityValue.from_values, batches[1:]), MajorityValue.from_values(batches[0]))
    assert not first.is_certain
    counted = [MajorityValue.from_values(values, first) for values in batches]
    second = counted[0] + counted[1]
    assert (second.is_certain, second.n_others) == (True, 30)


def test_no_further_pass_if_no_value_is_near() -> None:
    first = MajorityValue.from_values(np.array([0.0, 0.0, 1e-3]))
    second = MajorityValue.from_values(np.array([0.0, 0.0, 0.0, 5.0]))
    assert ((first + second).is_certain, (first + second).n_others) == (True, 2)
