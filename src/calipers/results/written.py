"""How results are written down as plain data, and read again."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

SCHEMA = 1
NAN = float("nan")

POSSIBLE = ("possible_low", "possible_high", "possible")
OF_THRESHOLDS = ("threshold", "out_of_bag")


def clean(value: Any) -> Any:
    """``value`` as JSON knows it: no NaN, no infinity, no arrays; in a column, infinity by name."""
    if isinstance(value, np.ndarray):
        return [str(v) if v in (math.inf, -math.inf) else clean(v) for v in value.tolist()]
    if isinstance(value, np.generic):
        return clean(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {str(k): clean(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [clean(v) for v in value]
    return value


def plain(record: Any) -> dict[str, Any]:
    """A dataclass as JSON-ready data, without what could become of values unless it is known."""
    data = {f.name: clean(getattr(record, f.name)) for f in fields(record)}
    data = data if getattr(record, "possible", None) else without(data, *POSSIBLE)
    if "out_of_bag" in data:  # an estimate
        data = without(data, *(n for n in OF_THRESHOLDS if math.isnan(getattr(record, n))))
    return data


def without(data: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """The data but for these keys."""
    return {k: v for k, v in data.items() if k not in names}


def floats(values: Any) -> FloatArray:
    """An array of a list of JSON."""
    return np.array([NAN if v is None else v for v in values], dtype=np.float64)


def revive(cls: Any, row: Mapping[str, Any]) -> Any:
    """The dataclass that :func:`plain` took apart."""
    out: dict[str, Any] = {}
    for f in fields(cls):
        if f.name not in row:
            continue
        value = row[f.name]
        if f.type == "FloatArray":
            value = floats(value)
        elif f.type == "float" and value is None:
            value = NAN
        elif isinstance(value, list):
            value = tuple(tuple(v) if isinstance(v, list) else v for v in value)
        out[f.name] = value
    return cls(**out)
