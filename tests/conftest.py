"""How Hypothesis runs, for all tests."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# The same examples in every run: a red build is red for everybody.
settings.register_profile(
    "calipers",
    database=None,
    deadline=None,
    derandomize=True,
    max_examples=45,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("calipers")
