"""Data frames whose rows lie in other processes, told without importing what they are of."""

from __future__ import annotations

from typing import Any


def is_spark(given: Any) -> bool:
    """Whether it is a data frame of Spark."""
    return _is_frame(given, "pyspark")


def is_dask(given: Any) -> bool:
    """Whether it is a data frame of Dask."""
    return _is_frame(given, "dask")


def _is_frame(given: Any, package: str) -> bool:
    kind = type(given)
    return kind.__name__ == "DataFrame" and kind.__module__.split(".")[0] == package
