"""The frozen results. Other versions of SciPy invert Student's t to eight digits or so."""

from __future__ import annotations

import json
from typing import Any

import pytest
from cases import cases, frozen
from frozen import differences, written

#: What the oldest SciPy may make of a quantile; with the same libraries nothing differs at all.
TOLERANCE = 1e-7

#: Every so many-th case is among the tests that are not slow.
STEP = 8

CASES = dict(cases())
PARAMETERS = [
    pytest.param(name, marks=[] if index % STEP == 0 else [pytest.mark.slow])
    for index, name in enumerate(CASES)
]


@pytest.fixture(scope="module")
def before() -> dict[str, Any]:
    return written()


def test_all_cases_are_frozen(before: dict[str, Any]) -> None:
    assert list(before) == list(CASES)


@pytest.mark.parametrize("name", PARAMETERS)
def test_results_are_as_they_were(name: str, before: dict[str, Any]) -> None:
    found = json.loads(json.dumps(frozen(CASES[name])))
    assert not list(differences(before[name], found, TOLERANCE))[:5]
