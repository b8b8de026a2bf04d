"""Assertions about models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calipers as cal
from calipers.integrations.pytest import assert_met, assert_not_worse

RANDOM = np.random.default_rng(8)
TRUTH = np.arange(400) % 2
GOOD = TRUTH + RANDOM.normal(size=400)
ALIKE = GOOD + RANDOM.normal(scale=0.05, size=400)
BAD = 0.2 * TRUTH + RANDOM.normal(size=400)


def of(score: Any, **options: Any) -> Any:
    return cal.classification(TRUTH, score=score, measures=["AUC", "AP"], **options)


def test_noise_passes_and_a_loss_fails_with_its_numbers() -> None:
    assert_not_worse(of(ALIKE), of(GOOD), on="AUC")
    assert_not_worse(of(ALIKE), of(GOOD), on="AUC", margin=0.02)
    with pytest.raises(
        AssertionError, match=r"AUC not worse than last by 0\.02: system is worse"
    ) as e:
        assert_not_worse(of(BAD), of(GOOD), on="AUC", margin=0.02)
    together = cal.classification(TRUTH, score={"new": BAD, "old": GOOD}, measures=["AUC"])
    compared = together.compare(baseline="old")["AUC"]
    assert f"difference {compared.value:.3f}" in str(e.value)


def test_a_system_of_the_same_evaluation() -> None:
    both = of({"new": BAD, "old": GOOD})
    assert_not_worse(both, "new", on="AUC")
    with pytest.raises(AssertionError, match="new is worse than old on AP"):
        assert_not_worse(both, "old", on="AP")


def test_a_file_of_another_day(tmp_path: Path) -> None:
    path = tmp_path / "monday.json"
    path.write_text(cal.keep_predictions(of(GOOD)).to_json())
    assert_not_worse(of(ALIKE), path, on="AUC", margin=0.02)
    with pytest.raises(AssertionError, match="than monday"):
        assert_not_worse(of(BAD), str(path), on="AUC")


def test_ids_are_matched() -> None:
    names = np.array([f"row {i}" for i in range(400)])
    order = RANDOM.permutation(400)
    table = {"y": TRUTH, "s": GOOD, "id": names}
    shuffled = {name: column[order] for name, column in table.items()}
    options = {"measures": ["AUC"], "id": "id"}
    new = cal.classification("y", score="s", data=shuffled, **options)
    old = cal.classification("y", score="s", data=table, **options)
    assert_not_worse(new, old, on="AUC", margin=0.05)


def test_what_cannot_be_compared() -> None:
    read = cal.from_json(of(GOOD).to_json())
    with pytest.raises(cal.InputError, match="not read from a"):
        assert_not_worse(read, of(GOOD), on="AUC")  # type: ignore[arg-type]
    with pytest.raises(cal.InputError, match="'F1' is not among the measures: AUC, AP"):
        assert_not_worse(of(BAD), of(GOOD), on="F1")
    with pytest.raises(cal.InputError, match="truth"):
        assert_not_worse(of(BAD), cal.classification(1 - TRUTH, score=GOOD), on="AUC")


def test_requirements() -> None:
    assert_met(of(GOOD), ["AUC >= 0.6", "low(AUC) >= 0.6"])
    with pytest.raises(AssertionError, match=r"low\(AUC\) >= 0.9: system: AUC 0\.\d+ \[") as e:
        assert_met(of(GOOD), ["AUC >= 0.6", "low(AUC) >= 0.9"])
    assert len(str(e.value).splitlines()) == 1
    assert json.dumps(str(e.value))
