"""Names of runs, in any form of input."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from calipers.data.errors import InputError
from calipers.data.plain_text import first_line, is_header
from calipers.data.trec import run_name
from calipers.data.trec_tables import has_columns, is_id_collection

#: Fields of a line of TREC text: topic, Q0, document, rank, score, tag.
N_RUN_FIELDS = 6


def named_runs(runs: Any) -> dict[str, Any]:
    """Return runs by name, from any form of input."""
    if isinstance(runs, str | os.PathLike):
        return {run_name(runs): runs}
    if isinstance(runs, Mapping):
        if not runs:
            raise InputError("runs: an empty dict, expected at least one run")
        first = next(iter(runs.values()))
        is_single_run = isinstance(first, Mapping) and not (
            _holds_runs(first) or has_columns(first)
        )
        if is_single_run or has_columns(runs) or is_id_collection(first):
            return {"run": runs}  # not runs by name, but one run itself
        return {str(name): run for name, run in runs.items()}
    if isinstance(runs, list | tuple) and not hasattr(next(iter(runs), None), "query_id"):
        if not all(isinstance(run, str | os.PathLike) for run in runs):
            raise InputError("runs: a list of runs has to hold file names; name others in a dict")
        return _distinct_names([os.fspath(run) for run in runs])
    return {"run": runs}


def _holds_runs(documents: Mapping[Any, Any]) -> bool:
    return any(
        isinstance(value, Mapping) or is_id_collection(value) for value in documents.values()
    )


def _distinct_names(paths: list[str]) -> dict[str, str]:
    """Return run files by name: the first of these whose names differ.

    They are the file names, the tags of the runs (files of TREC are called ``input.TAG.gz``), and
    the paths.
    """
    if not paths:
        raise InputError("runs: an empty list, expected at least one run")
    names = [run_name(path) for path in paths]
    if len(set(names)) < len(names):
        tags = [_read_tag(path) for path in paths]
        names = [tag or "" for tag in tags] if len({*tags} - {None}) == len(paths) else paths
    repeated = {name for name in names if names.count(name) > 1}
    if repeated:
        raise InputError(f"runs: {min(repeated)!r} is given more than once")
    return dict(zip(names, paths, strict=True))


def _read_tag(path: str) -> str | None:
    """Return the tag in the first line of a file of TREC text; None if it is another."""
    fields = first_line(path) if os.path.isfile(path) else []  # a pipe can be read once
    if len(fields) < N_RUN_FIELDS or is_header(fields):
        return None
    try:
        float(fields[N_RUN_FIELDS - 2])
    except ValueError:
        return None
    return fields[N_RUN_FIELDS - 1]
