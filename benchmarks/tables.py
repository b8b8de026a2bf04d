"""Files that `suite.py` and `growth.py` read. Those of a folder that is kept are made once."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from measured import process, python

HERE = Path(__file__).parent

#: Writes so many rows of a kind, a million at a time, so that memory is that of a million.
MAKE = """
import sys
import numpy as np, pyarrow as pa
from pyarrow import parquet

path, kind, rows = sys.argv[1], sys.argv[2], int(sys.argv[3])
random = np.random.default_rng(1)
small, whole, real = pa.int8(), pa.int32(), pa.float32()


def right(n):
    '''Two classes whose probabilities are right, others that are not, weights, and clusters.'''
    logit = random.normal(size=n)
    score = 1 / (1 + np.exp(-logit))
    return {
        "truth": (random.random(n) < score, small), "score": (score, real),
        "other": (1 / (1 + np.exp(-logit - random.normal(size=n))), real),
        "weight": (0.5 + random.random(n), real),
        "group": (random.integers(0, max(rows // 200, 1), n), whole),
    }


def classes(n):
    '''One of ten classes, and their probabilities.'''
    truth = random.integers(0, 10, n)
    p = random.random((n, 10), np.float32)
    p[np.arange(n), truth] += 1
    p /= p.sum(axis=1, keepdims=True)
    return {"truth": (truth, small)} | {f"p_{k}": (p[:, k], real) for k in range(10)}


def outputs(n):
    '''Four numbers, and what is predicted of them.'''
    y = random.normal(size=(4, n))
    said = y + random.normal(size=(4, n))
    return {f"y_{k}": (y[k], real) for k in range(4)} | {f"p_{k}": (said[k], real) for k in range(4)}


def labels(n):
    '''Any of ten labels, and their probabilities.'''
    p = random.random((10, n))
    said = {f"p_{k}": (p[k], real) for k in range(10)}
    return {f"t_{k}": (random.random(n) < p[k], small) for k in range(10)} | said


def points(n):
    '''Points of ten clusters that overlap, in sixteen dimensions, and a class that is like them.'''
    cluster = random.integers(0, 10, n)
    x = 1.5 * np.random.default_rng(0).normal(size=(10, 16))[cluster] + random.normal(size=(n, 16))
    known = np.where(random.random(n) < 0.7, cluster, random.integers(0, 10, n))
    return {"cluster": (cluster, small), "known": (known, small)} | {
        f"x_{k:02}": (x[:, k], real) for k in range(16)
    }


def graded(n):
    '''A hundred rows of each query with grades from 0 to 4, and scores of which some are equal.'''
    grade = random.choice(5, n, p=[0.6, 0.2, 0.1, 0.06, 0.04])
    score = np.round(0.5 * grade + random.normal(size=n), 2)
    return {"query": (graded.begin // 100 + np.arange(n) // 100, whole), "grade": (grade, small),
            "score": (score, real)}


make, writer = globals()[kind], None
for begin in range(0, rows, 1_000_000):
    graded.begin = begin
    columns = make(min(rows - begin, 1_000_000))
    table = pa.table({name: pa.array(np.asarray(column)).cast(to, safe=False)
                      for name, (column, to) in columns.items()})
    writer = writer or parquet.ParquetWriter(path, table.schema)
    writer.write_table(table)
writer.close()
"""


@contextmanager
def folder(kept: Path | None) -> Iterator[Path]:
    """The folder where files stay, or one that is gone afterwards."""
    if kept is not None:
        kept.mkdir(parents=True, exist_ok=True)
        yield kept
        return
    with tempfile.TemporaryDirectory() as made:
        yield Path(made)


def table(where: Path, kind: str, rows: int) -> Path:
    """A Parquet file of so many rows. Those of two classes are named by their number alone."""
    path = where / f"{'' if kind == 'right' else f'{kind}-'}{count(rows)}.parquet"
    if not path.exists():
        half = path.with_suffix(".part")
        python(MAKE, str(half), kind, str(rows))
        half.rename(path)
        os.sync()  # so that writing it back does not disturb who comes first
    return path


def run(where: Path, topics: int) -> Path:
    """A folder with a run of 1,000 documents a topic, and its judgments."""
    path = where / f"run-{count(topics)}"
    if not path.exists():
        half = path.with_suffix(".part")
        process([sys.executable, str(HERE / "make_run.py"), "--topics", str(topics), str(half)])
        half.rename(path)
        os.sync()
    return path


def count(number: int) -> str:
    """1e6 is shorter than 1000000."""
    text = str(number)
    return f"1e{len(text) - 1}" if text.strip("0") == "1" else text
