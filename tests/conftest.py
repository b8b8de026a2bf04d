"""What all tests share: how Hypothesis runs, and the worked examples."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# The same examples in every run: a red build is red for everybody.
settings.register_profile(
    "calipers",
    derandomize=True,
    deadline=None,
    max_examples=60,
    print_blob=False,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("calipers")


@pytest.fixture(scope="session")
def seed_examples() -> dict[str, dict[str, Any]]:
    """The worked examples of lecture notes, manuals and papers, by id."""
    text = (Path(__file__).parent / "seed_examples.json").read_text(encoding="utf-8")
    return {example["id"]: example for example in json.loads(text)}
