"""Which rankings lie in other processes."""

from __future__ import annotations

from typing import Any

from calipers.data.distributed_frames import is_dask, is_spark
from calipers.data.errors import InputError, did_you_mean
from calipers.engines.base import Engine

#: The engines that hold what is in one group, or of one topic, together.
ENGINES = ("memory", "spark", "dask")


def elsewhere(engine: str | None, *given: Any, batches: bool = False) -> str | None:
    """The kind of the engine that has the rows, where it is another process, or reads them in
    ``batches`` where these may be cut between groups: as is said, or as the data frames among those
    given have it.

    >>> elsewhere("dask", "runs/bm25"), elsewhere(None, "runs/bm25")
    ('dask', None)
    """
    if engine == "stream" and not batches:
        raise InputError(
            "engine='stream' reads rows in batches, which would cut through the documents of a "
            f"topic; expected one of {', '.join(ENGINES)}"
        )
    frames = [kind for one in given if (kind := _kind(one)) in ("spark", "dask")]
    if engine == "stream" and frames:
        raise InputError(
            f"engine='stream' has batches in this process; leave it out, or {frames[0]!r}"
        )
    known = (*ENGINES, "stream") if batches else ENGINES
    if engine is not None and engine not in known:
        raise InputError(f"engine is {engine!r}; {did_you_mean(engine, known)}")
    if engine is not None:
        return None if engine == "memory" else engine
    return next((kind for one in given if (kind := _kind(one)) is not None), None)


def _kind(given: Any) -> str | None:
    """The kind of the engine that has a data frame."""
    if is_spark(given):
        return "spark"
    if is_dask(given):
        return "dask"
    return given.kind if isinstance(given, Engine) else None
