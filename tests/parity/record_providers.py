"""A plugin of pytest that records what providers of ir_measures compute in a run of its tests.

``pytest -p record_providers`` writes to the file that RECORDED_CALLS names: the provider, the
measures, the judgments, the run, and the values by topic and measure.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import TestCase

import ir_measures as irm

CALLS: list[tuple[str, list[str], Any, Any, list[tuple[str, str, float]]]] = []


def kept(rows: Any) -> Any:
    """The rows, which an iterator would have once."""
    return list(rows) if isinstance(rows, Iterator) else rows


def recording(make_evaluator: Callable[..., Any]) -> Callable[..., Any]:
    """The method of a provider, whose evaluators record what they compute."""

    def evaluator_of(provider: Any, measures: Any, qrels: Any) -> Any:
        measures, qrels = list(measures), kept(qrels)
        evaluator = make_evaluator(provider, measures, qrels)
        compute = evaluator.iter_calc

        def iter_calc(run: Any) -> Iterator[Any]:
            run = kept(run)
            metrics = list(compute(run))
            values = [(m.query_id, repr(m.measure), float(m.value)) for m in metrics]
            CALLS.append((provider.NAME, [repr(m) for m in measures], qrels, run, values))
            return iter(metrics)

        evaluator.iter_calc = iter_calc
        return evaluator

    return evaluator_of


def nothing(*arguments: Any, **options: Any) -> Iterator[Any]:
    """In the place of what cannot be computed."""
    return iter(())


for provider in irm.providers.registry.values():
    if provider.NAME != "runtime":  # of measures that are functions
        type(provider)._evaluator = recording(type(provider)._evaluator)
    if not provider.is_available():
        type(provider).iter_calc = nothing
# An assertion that fails would end a test before its other calls.
for name in ("assertEqual", "assertAlmostEqual", "assertTrue"):
    setattr(TestCase, name, nothing)


def pytest_sessionfinish() -> None:
    """Write the calls."""
    Path(os.environ["RECORDED_CALLS"]).write_bytes(pickle.dumps(CALLS))
