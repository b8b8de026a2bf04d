"""Which rankings lie in other processes."""

from __future__ import annotations

from typing import Any

from calipers.data.errors import InputError, did_you_mean
from calipers.data.frames import is_dask, is_spark
from calipers.engines.base import Engine

#: The engines that hold what is in one group, or of one topic, together.
ENGINES = ("memory", "spark", "dask")


def elsewhere(engine: str | None, *given: Any) -> str | None:
    """The kind of the engine that has the rows, where it is another process: as is said, or as the
    data frames among those given have it.

    >>> elsewhere("dask", "runs/bm25"), elsewhere(None, "runs/bm25")
    ('dask', None)
    """
    if engine == "stream":
        raise InputError(
            "engine='stream' reads rows in batches, which cut through groups; expected one of "
            f"{', '.join(ENGINES)}"
        )
    if engine is not None and engine not in ENGINES:
        raise InputError(f"engine is {engine!r}; {did_you_mean(engine, ENGINES)}")
    if engine is not None:
        return None if engine == "memory" else engine
    for one in given:
        if is_spark(one):
            return "spark"
        if is_dask(one):
            return "dask"
        if isinstance(one, Engine):
            return one.kind
    return None
