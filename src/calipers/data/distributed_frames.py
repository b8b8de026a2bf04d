"""Detection of distributed data frames without importing their packages."""

from __future__ import annotations

from typing import Any


def is_spark(data: Any) -> bool:
    """Return whether the argument is a Spark data frame."""
    return _is_frame(data, "pyspark")


def is_dask(data: Any) -> bool:
    """Return whether the argument is a Dask data frame."""
    return _is_frame(data, "dask")


def _is_frame(data: Any, package: str) -> bool:
    kind = type(data)
    return kind.__name__ == "DataFrame" and kind.__module__.split(".")[0] == package
