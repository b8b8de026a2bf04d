"""Detection of distributed data frames without importing their packages."""

from __future__ import annotations

from typing import Any


def is_spark(given: Any) -> bool:
    """Return whether the argument is a Spark data frame."""
    return _is_frame(given, "pyspark")


def is_dask(given: Any) -> bool:
    """Return whether the argument is a Dask data frame."""
    return _is_frame(given, "dask")


def _is_frame(given: Any, package: str) -> bool:
    kind = type(given)
    return kind.__name__ == "DataFrame" and kind.__module__.split(".")[0] == package
