"""How data come in: files, batches, ids, frequencies, earlier systems, states, many rows."""

from __future__ import annotations

import contextlib
import gzip
import os
import tempfile
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv, parquet

import calipers as cal

FEW: dict[str, Any] = {"n_resamples": 200, "seed": 7}


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    """An empty folder to work in, so that paths in results are names of files."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield Path(folder)
        finally:
            os.chdir(before)


def within(make: Callable[[], Any]) -> Any:
    """What is made in a folder of its own."""
    with _folder():
        return make()


def spread(n: int, factor: int, size: int) -> np.ndarray[Any, Any]:
    """Whole numbers below ``size`` in an order that looks like chance, alike everywhere."""
    return np.arange(n) * factor % 104_729 % size


@cache
def table(n: int = 400) -> dict[str, Any]:
    """Columns of every row task, with ties."""
    truth = (spread(n, 7919, 100) < 40).astype(int)
    kind = spread(n, 6151, 3)
    amount = spread(n, 4297, 50) / 2
    columns: dict[str, Any] = {
        "id": np.arange(n) + 1000,
        "truth": truth,
        "kind": np.array(["ant", "bee", "cat"])[kind],
        "amount": amount,
        "weight": spread(n, 1543, 4) / 2 + 0.5,
        "times": spread(n, 1229, 3) + 1,
        "site": np.array(["north", "south", "west"])[spread(n, 2749, 3)],
        "person": spread(n, 3253, 40),
    }
    for name, factor, pull in (("old", 5323, 25), ("new", 8761, 45)):
        columns[name] = np.clip(spread(n, factor, 60) + pull * truth, 1, 99) / 100
        columns[f"{name}_label"] = (columns[name] >= 0.5).astype(int)
        columns[f"{name}_kind"] = np.array(["ant", "bee", "cat"])[
            np.where(spread(n, factor + 2, 100) < pull + 40, kind, (kind + 1) % 3)
        ]
        columns[f"{name}_amount"] = amount + (spread(n, factor + 4, 41) - 20) * 12 / pull
        shares = np.stack([spread(n, factor + 6 + 2 * k, 5) + 1 for k in range(3)], axis=1)
        shares[np.arange(n), kind] += pull // 10
        for k, animal in enumerate(("ant", "bee", "cat")):
            columns[f"{name}_{animal}"] = shares[:, k] / shares.sum(axis=1)
    return columns


#: Tasks whose units are rows: the verb, and its columns by name.
TASKS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "labels": (
        cal.classification,
        {"truth": "truth", "predicted": {"old": "old_label", "new": "new_label"}},
    ),
    "scores": (
        cal.classification,
        {"truth": "truth", "score": {"old": "old", "new": "new"}, "measures": ["AUC", "AP", "KS"]},
    ),
    "probabilities": (
        cal.classification,
        {"truth": "truth", "probability": {"old": "old", "new": "new"}},
    ),
    "classes": (
        cal.classification,
        {"truth": "kind", "predicted": {"old": "old_kind", "new": "new_kind"}},
    ),
    "class probabilities": (
        cal.classification,
        {
            "truth": "kind",
            "probability": {
                name: {animal: f"{name}_{animal}" for animal in ("ant", "bee", "cat")}
                for name in ("old", "new")
            },
        },
    ),
    "numbers": (
        cal.regression,
        {"truth": "amount", "predicted": {"old": "old_amount", "new": "new_amount"}},
    ),
}

#: What stands beside the columns.
BESIDE: dict[str, dict[str, Any]] = {
    "plain": {},
    "weighted": {"weight": "weight"},
    "counted": {"count": "times"},
    "clustered": {"cluster": "person"},
    "sliced": {"slices": ["site"]},
    "weighted and sliced": {"weight": "weight", "slices": ["site"]},
}


def _write_csv(path: str, columns: dict[str, Any]) -> None:
    csv.write_csv(pa.table(columns), path)


def of_table(task: str, beside: str, **options: Any) -> Any:
    """Columns in memory by their names."""
    verb, columns = TASKS[task]
    return verb(**columns, **BESIDE[beside], **FEW, **options, data=table())


def of_file(task: str, beside: str, **options: Any) -> Any:
    """The same columns in a file, read in batches."""
    verb, columns = TASKS[task]
    _write_csv("rows.csv", table())
    return verb(**columns, **BESIDE[beside], **FEW, **options, data="rows.csv", engine="stream")


def of_ids(task: str) -> Any:
    """With ids, and rows in which something is missing."""
    holes = {
        name: [None if (i + len(name)) % 37 == 0 else value for i, value in enumerate(column)]
        if name in {"truth", "kind", "amount", "old", "old_label", "old_kind", "new_amount"}
        else column
        for name, column in ((name, np.asarray(c).tolist()) for name, c in table().items())
    }
    verb, columns = TASKS[task]
    return verb(**columns, **FEW, data=holes, id="id", missing="drop")


def of_earlier(task: str) -> Any:
    """One system beside another that was kept, written and read."""
    verb, columns = TASKS[task]
    role = (
        "predicted" if "predicted" in columns else "score" if "score" in columns else "probability"
    )
    old = {**columns, role: {"old": columns[role]["old"]}}
    new = {**columns, role: {"new": columns[role]["new"]}}
    kept = cal.keep_predictions(verb(**old, **FEW, data=table(), id="id"))
    return verb(**new, **FEW, data=table(), id="id", baseline=cal.from_json(kept.to_json()))


def of_states(task: str, beside: str) -> Any:
    """Three parts, each added up by itself, and their states together."""
    verb, columns = TASKS[task]
    states = []
    for part in range(3):
        here = {name: column[part::3] for name, column in table().items()}
        _write_csv(f"part{part}.csv", here)
        evaluation = verb(
            **columns, **BESIDE[beside], **FEW, data=f"part{part}.csv", engine="stream"
        )
        cal.save_state(evaluation, f"part{part}.state")
        states.append(f"part{part}.state")
    return cal.merge_states(states, n_resamples=2000, seed=0)


# ------------------------------------------------------------------------------------- topics


@cache
def judged() -> tuple[dict[str, dict[str, int]], dict[str, dict[str, dict[str, float]]]]:
    """Judgments of 24 topics, and two runs."""
    grades = spread(24 * 12, 3571, 3).reshape(24, 12)
    qrels = {f"t{t}": {f"d{d}": int(grades[t, d]) for d in range(12)} for t in range(len(grades))}
    runs = {
        name: {
            f"t{t}": {
                f"d{d}": float(g * pull + noise)
                for d, (g, noise) in enumerate(
                    zip(grades[t], spread(12, factor + 2 * t, 7), strict=True)
                )
            }
            for t in range(len(grades))
        }
        for name, factor, pull in (("old", 5323, 1), ("new", 8761, 3))
    }
    return qrels, runs


def _topic_table() -> dict[str, Any]:
    """What is known of each topic."""
    n = len(judged()[0])
    return {
        "topic": [f"t{t}" for t in range(n)],
        "importance": (spread(n, 1543, 4) + 1).tolist(),
        "length": np.array(["short", "long"])[spread(n, 2749, 2)].tolist(),
    }


def of_topics(**options: Any) -> Any:
    """Runs against judgments."""
    qrels, runs = judged()
    return cal.retrieval(qrels, runs, measures=["AP", "nDCG@5", "P@5"], **FEW, **options)


def _write_trec() -> list[str]:
    qrels, runs = judged()
    Path("qrels.txt").write_text(
        "".join(f"{t} 0 {d} {g}\n" for t, row in qrels.items() for d, g in row.items())
    )
    names = []
    for name, run in runs.items():
        text = "".join(
            f"{t} Q0 {d} {rank} {score:.3f} {name}\n"
            for t, scores in run.items()
            for rank, (d, score) in enumerate(sorted(scores.items(), key=lambda x: -x[1]), 1)
        )
        path = f"{name}.run" if name == "old" else f"{name}.run.gz"
        if name == "old":
            Path(path).write_text(text)
        else:
            compressed = bytearray(gzip.compress(text.encode(), mtime=0))
            compressed[9] = 3  # the system, on which versions of Python do not agree
            Path(path).write_bytes(compressed)
        names.append(path)
    return names


def of_run_files(**options: Any) -> Any:
    """Judgments and runs as files of TREC."""
    runs = _write_trec()
    return cal.retrieval("qrels.txt", runs, measures=["AP", "nDCG@5"], **FEW, **options)


def of_run_tables() -> Any:
    """The same as Parquet."""
    qrels, runs = judged()
    rows = [(t, d, g) for t, row in qrels.items() for d, g in row.items()]
    parquet.write_table(
        pa.table(
            dict(zip(("query_id", "doc_id", "relevance"), zip(*rows, strict=True), strict=True))
        ),
        "qrels.parquet",
    )
    for name, run in runs.items():
        entries = [(t, d, s) for t, scores in run.items() for d, s in scores.items()]
        parquet.write_table(
            pa.table(
                dict(zip(("query_id", "doc_id", "score"), zip(*entries, strict=True), strict=True))
            ),
            f"{name}.parquet",
        )
    return cal.retrieval(
        "qrels.parquet", ["old.parquet", "new.parquet"], measures=["AP", "nDCG@5"], **FEW
    )


def of_earlier_run() -> Any:
    """A run beside one that was kept."""
    qrels, runs = judged()
    kept = cal.keep_predictions(cal.retrieval(qrels, {"old": runs["old"]}, measures=["AP"], **FEW))
    return cal.retrieval(
        qrels, {"new": runs["new"]}, measures=["AP"], baseline=cal.from_json(kept.to_json()), **FEW
    )


def of_groups(**options: Any) -> Any:
    """Judged documents as rows in groups, by names of columns."""
    qrels, runs = judged()
    rows = [(t, d, g) for t, row in qrels.items() for d, g in row.items()]
    columns = {
        "query": [t for t, _, _ in rows],
        "document": [f"{t}-{d}" for t, d, _ in rows],
        "grade": [g if i % 41 else None for i, (_, _, g) in enumerate(rows)],
        "weight": [1.0 + len(t) for t, _, _ in rows],
        **{name: [run[t][d] for t, d, _ in rows] for name, run in runs.items()},
    }
    return cal.ranking(
        "query", "grade", ["old", "new"], data=columns, id="document", missing="drop", **FEW,
        **options,
    )  # fmt: skip


# ------------------------------------------------------------------------------------- many rows


def of_many(task: str) -> Any:
    """More than 100,000 rows whose columns have few distinct values."""
    columns = dict(table(120_000))
    if task == "numbers":  # ratings
        columns["amount"] = np.round(columns["amount"] / 5)
        for name in ("old", "new"):
            columns[f"{name}_amount"] = np.round(columns[f"{name}_amount"] / 5)
    if task == "class probabilities":
        for name in ("old", "new"):
            for animal in ("ant", "bee"):
                columns[f"{name}_{animal}"] = np.round(columns[f"{name}_{animal}"], 2)
            columns[f"{name}_cat"] = 1 - columns[f"{name}_ant"] - columns[f"{name}_bee"]
    verb, names = TASKS[task]
    return verb(**names, data=columns, curves=False, **FEW)


def cases() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Names, and what makes the result of each."""
    for task in TASKS:
        for beside in ("weighted and sliced", "counted"):
            yield f"columns by name, {task}, {beside}", partial(of_table, task, beside)
        for beside in ("plain", "counted", "clustered", "weighted and sliced"):
            yield f"stream, {task}, {beside}", partial(within, partial(of_file, task, beside))
        yield f"ids and missing values, {task}", partial(of_ids, task)
        yield f"earlier system, {task}", partial(of_earlier, task)
        yield f"states, {task}", partial(within, partial(of_states, task, "weighted"))
    for task in ("scores", "class probabilities", "numbers"):
        yield f"many rows, {task}", partial(of_many, task)
    by_topic = {"topic_table": _topic_table()}
    yield "topics, weights", partial(of_topics, **by_topic, weight="importance")
    yield "topics, slices", partial(of_topics, **by_topic, slices=["length"])
    yield (
        "topics, weights and slices",
        partial(of_topics, **by_topic, weight="importance", slices=["length"]),
    )
    yield (
        "topics, costs",
        partial(
            of_topics,
            cost={
                "ms": {
                    name: dict.fromkeys(judged()[0], ms) for name, ms in (("old", 2), ("new", 5))
                }
            },
        ),
    )
    yield "files of runs", partial(within, of_run_files)
    yield "files of runs, topic curves", partial(within, partial(of_run_files, topic_curves=["t1"]))
    yield "tables of runs", partial(within, of_run_tables)
    yield "earlier system, topics", of_earlier_run
    yield "ids and missing values, groups", of_groups
