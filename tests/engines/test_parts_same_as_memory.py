"""What an evaluation has beside numbers is the same of rows in batches as of rows in memory: curves,
confusion matrices, tables of classes, labels and raters, and findings; what is not is listed here,
with the reason."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable
from dataclasses import fields
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import calipers as cal

sys.path.insert(0, str(Path(__file__).parent))

from test_same_as_memory import CALLS, DESIGNS, rows

__all__ = ["rows"]

#: The fields of an evaluation that tests beside this one compare, or that are not of details.
ELSEWHERE = {
    *("task", "estimates", "level", "comparison", "definitions", "notes", "slices", "cutoffs"),
    *(
        "findings",  # which are compared as sentences
        "provenance",
        "predictions",
        "requested_names",
        "costs",
        "pareto_fronts",
        "tuned_thresholds",
        "sources",
    ),
}

#: What memory has and a stream has not, by task, design and field.
LACKING = {
    ("clusters", "*", "curves"): "silhouettes and points are drawn one by one",
}

#: Findings that a stream does not have, and why.
WITHOUT = {
    "clusters": "points are dealt anew in another order, and distances take all points",
}
#: Of whose default measures nothing is wrong with these rows.
FAULTLESS = ("several classes", "quantiles")

BANDS = "rows that weigh differently, and whole clusters, are drawn anew, which a stream does not"
#: Limits that differ, by task, design, field and number.
LIMITS = {
    ("*", "weighted*", "curves", "*"): BANDS,
    ("*", "clustered", "curves", "*"): BANDS,
}
#: Numbers of tables that a stream has not.
COLUMNS = {
    ("clusters", "*", "label_tables", "values.simplified-silhouette."): (
        "distances to centroids are added up over all points, not by cluster"
    ),
}

#: Measures that both take, where a stream takes others unless told.
MEASURES = {"clusters": ["ARI", "V-measure", "purity", "simplified-silhouette"]}

NEAR = {"rtol": 1e-9, "atol": 1e-12}


def parts(of: Any) -> dict[str, Any]:
    """The numbers and the names of a part of an evaluation."""
    if isinstance(of, dict):
        return {f"{key}.{k}": x for key, own in of.items() for k, x in parts(own).items()}
    if of is None or isinstance(of, str | int | float | np.ndarray):
        return {"": of}
    if isinstance(of, tuple | list):
        return parts(dict(enumerate(of)))
    return parts({f.name: getattr(of, f.name) for f in fields(of)})


def is_limit(name: str) -> bool:
    return any(of in name for of in ("low", "high", "band", "method", "empty", "tolerance"))


def apart(one: Any, other: Any) -> list[str]:
    """The numbers in which two parts differ."""
    first, second = parts(one), parts(other)
    both = first.keys() & second.keys()
    lacking = [name for name in sorted(first.keys() ^ second.keys()) if not is_limit(name)]
    return lacking + [name for name in sorted(both) if not alike(first[name], second[name])]


def alike(one: Any, other: Any) -> bool:
    if isinstance(one, str) or one is None:
        return bool(one == other)
    a, b = np.asarray(one), np.asarray(other)
    if a.dtype.kind not in "fiu":
        return bool(np.array_equal(a, b))
    return a.shape == b.shape and np.allclose(b, a, equal_nan=True, **NEAR)


def listed(where: tuple[str, ...], known: Iterable[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Which of what is known covers a place."""
    return [of for of in known if all(map(fnmatchcase, where, of))]


@pytest.mark.slow
def test_a_stream_has_what_memory_has(rows: pa.Table) -> None:
    seen: set[tuple[str, ...]] = set()
    wrong: list[str] = []
    for task, (verb, given) in CALLS.items():
        findings = 0
        for design in DESIGNS if task != "clusters" else ("plain", "counted"):
            asked = {**given, **DESIGNS[design], "n_resamples": 100, "measures": MEASURES.get(task)}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)
                memory, stream = (
                    getattr(cal, verb)(data=rows, engine=e, **asked) for e in ("memory", "stream")
                )
                found_by = [
                    [(f.kind, f.systems, str(f)) for f in of.findings] for of in (memory, stream)
                ]
            findings += len(found_by[0])
            if (found_by[0] == found_by[1]) is (task in WITHOUT):
                wrong.append(f"{task}, {design}, findings: {found_by[0]} and {found_by[1]}")
            for field in (f.name for f in fields(memory) if f.name not in ELSEWHERE):
                where = (task, design, field)
                ours, theirs = (getattr(of, field) or () for of in (memory, stream))
                if len(ours) != len(theirs):
                    found = () if theirs else listed(where, LACKING)
                    seen.update(found)
                    wrong += [] if found else [f"{where}: {len(ours)} and {len(theirs)}"]
                    continue
                for place, (one, other) in enumerate(zip(ours, theirs, strict=True)):
                    for name in apart(one, other):
                        found = listed((*where, name), LIMITS if is_limit(name) else COLUMNS)
                        seen.update(found)
                        wrong += [] if found else [f"{where}: {place}, {name}"]
        assert (findings == 0) is (task in FAULTLESS), task
    assert not wrong, "\n".join(wrong)
    assert seen == {*LACKING, *LIMITS, *COLUMNS}, "what is listed and does not differ any more"
