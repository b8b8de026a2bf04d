"""Some of the frozen results. Other versions of SciPy invert Student's t to eight digits or so."""

from __future__ import annotations

import json
from typing import Any

import pytest
from cases import cases, frozen
from frozen import differences, written

#: What the oldest SciPy may make of a quantile; with the same libraries nothing differs at all.
TOLERANCE = 1e-7

#: Every so many-th case is tested; ``frozen.py`` compares all of them, digit for digit.
STEP = 8

CASES = dict(cases())


@pytest.fixture(scope="module")
def before() -> dict[str, Any]:
    return written()


def test_all_cases_are_frozen(before: dict[str, Any]) -> None:
    assert list(before) == list(CASES)


@pytest.mark.parametrize("name", list(CASES)[::STEP])
def test_results_are_as_they_were(name: str, before: dict[str, Any]) -> None:
    found = json.loads(json.dumps(frozen(CASES[name])))
    assert not list(differences(before[name], found, TOLERANCE))[:5]
