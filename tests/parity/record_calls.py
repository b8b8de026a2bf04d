"""A plugin of pytest that records every call of a function of ``sklearn.metrics`` in a run of tests.

``pytest -p record_calls`` writes to the file that RECORDED_CALLS names, each call once: the name of the
function, its arguments by name, with defaults, and what it returned. Every run records the same calls
where PYTHONHASHSEED is set, as some tests go through sets.
"""

from __future__ import annotations

import functools
import inspect
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import sklearn.metrics
import sklearn.metrics.cluster

CALLS: dict[bytes, None] = {}


def recording(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, whose calls are recorded where they return."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        try:
            bound = signature.bind(*arguments, **options)
            bound.apply_defaults()
            pickled = pickle.dumps(dict(bound.arguments))  # before the call, which may change them
        except Exception:  # a call that fails, or whatever a class of a test says of itself
            return function(*arguments, **options)
        result = function(*arguments, **options)
        CALLS[pickle.dumps((name, pickled, result))] = None
        return result

    return call


#: The first parameter of what compares a prediction or clusters with a truth, and that of points.
FIRST = {("y_true",), ("labels_true",), ("y1",), ("X", "labels")}

RECORDING: dict[Any, Callable[..., Any]] = {}
for name in sklearn.metrics.__all__:
    function = getattr(sklearn.metrics, name)
    if inspect.isfunction(function):
        first = tuple(inspect.signature(function).parameters)
        if {first[:1], first[:2]} & FIRST:
            RECORDING[function] = recording(name, function)


def replace(module: Any) -> None:
    """Put the recording functions in the place of those that a module has."""
    for name, value in list(vars(module).items()):
        if inspect.isfunction(value) and value in RECORDING:
            setattr(module, name, RECORDING[value])


replace(sklearn.metrics)
replace(sklearn.metrics.cluster)


def pytest_collection_modifyitems(items: list[Any]) -> None:
    """Replace what tests import from elsewhere."""
    for module in {item.module for item in items}:
        replace(module)


def pytest_runtest_setup() -> None:
    """Start each test from the same state: some draw their data from the generator of NumPy, unseeded."""
    np.random.seed(0)


def pytest_sessionfinish() -> None:
    """Write the calls."""
    Path(os.environ["RECORDED_CALLS"]).write_bytes(pickle.dumps(list(CALLS)))
