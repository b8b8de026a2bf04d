"""How Hypothesis and linear algebra run, for all tests."""

from __future__ import annotations

import os

# Before NumPy is imported, here and in the commands that tests run: there is a worker for each core,
# and further threads of OpenBLAS and OpenMP would wait beside it without sleeping, a fifth of all
# time on matrices of a few rows. tests/core/test_threads.py takes this away again.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

from hypothesis import HealthCheck, settings

# The same examples in every run: a red build is red for everybody.
settings.register_profile(
    "calipers",
    database=None,
    deadline=None,
    derandomize=True,
    max_examples=32,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("calipers")
