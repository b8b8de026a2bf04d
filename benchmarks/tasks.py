"""Clusterings, rankings of rows and regressions against scikit-learn; prints a Markdown table.

    pip install . scikit-learn
    python benchmarks/tasks.py            # some minutes
    python benchmarks/tasks.py --quick    # a tenth of the rows, to see that it works

Each of the two does its work in a process of its own: data are made, the work is done once on few
rows, and then as often as asked. Figures are the median time of a call, and by how much the first
call on all rows raises the peak of the memory. Both have to come to the same values.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

Data = tuple[Any, ...]


def clouds(rows: int) -> Data:
    """Points of ten clusters that overlap, in sixteen dimensions."""
    random = np.random.default_rng(0)
    labels = np.arange(rows) % 10
    centres = random.normal(size=(10, 16))
    return centres[labels] + random.normal(size=(rows, 16)), labels


def silhouette_here(points: Any, labels: Any) -> list[float]:
    import calipers as cal

    return [cal.measure("silhouette")(points, labels)]


def silhouette_there(points: Any, labels: Any) -> list[float]:
    from sklearn.metrics import silhouette_score

    return [silhouette_score(points, labels)]


def graded(rows: int) -> Data:
    """A hundred rows of each query with grades from 0 to 4, one of them at least above 0, and scores
    of which some are equal."""
    random = np.random.default_rng(1)
    queries = max(rows // 100, 1)
    grade = random.choice(5, (queries, 100), p=[0.6, 0.2, 0.1, 0.06, 0.04])
    grade[:, 0] = 4
    return grade, np.round(0.5 * grade + random.normal(size=grade.shape), 2)


def ndcg_here(grade: Any, score: Any) -> list[float]:
    import calipers as cal

    group = np.repeat(np.arange(len(grade)), grade.shape[1])
    made = cal.ranking(
        group, grade.ravel(), score.ravel(), measures=["nDCG(dcg='log2')@10"], interval="none",
        curves=False,
    )  # fmt: skip
    return [made.estimates[0].value]


def ndcg_there(grade: Any, score: Any) -> list[float]:
    from sklearn.metrics import ndcg_score

    return [ndcg_score(grade, score, k=10)]


def numbers(rows: int) -> Data:
    """What is true and what is predicted."""
    random = np.random.default_rng(2)
    truth = random.normal(size=rows)
    return truth, truth + random.normal(size=rows)


def regression_here(truth: Any, predicted: Any) -> list[float]:
    import calipers as cal

    return [cal.measure(name)(truth, predicted) for name in ("MSE", "MAE", "R2")]


def regression_there(truth: Any, predicted: Any) -> list[float]:
    from sklearn import metrics

    of = (metrics.mean_squared_error, metrics.mean_absolute_error, metrics.r2_score)
    return [each(truth, predicted) for each in of]


def two_clusterings(rows: int) -> Data:
    """Fifty classes, and sixty clusters that keep most of each together."""
    random = np.random.default_rng(3)
    truth = random.integers(0, 50, rows)
    return truth, np.where(random.random(rows) < 0.7, truth, random.integers(0, 60, rows))


def clusterings_here(truth: Any, found: Any) -> list[float]:
    import calipers as cal

    measures = ["ARI", "AMI", "NMI", "V-measure"]
    made = cal.clustering(None, found, truth, measures=measures, interval="none", curves=False)
    return [made[name].value for name in measures]


def clusterings_there(truth: Any, found: Any) -> list[float]:
    from sklearn import metrics

    of = (
        *(metrics.adjusted_rand_score, metrics.adjusted_mutual_info_score),
        *(metrics.normalized_mutual_info_score, metrics.v_measure_score),
    )
    return [each(truth, found) for each in of]


#: What is done with how many rows: data, by Calipers, by scikit-learn.
TASKS: Mapping[str, tuple[str, int, Callable[[int], Data], Callable[..., Any], Callable[..., Any]]]
TASKS = {
    "silhouette": (
        "silhouette of {rows:,} points, 16 dimensions, 10 clusters",
        *(30_000, clouds, silhouette_here, silhouette_there),
    ),
    "ndcg": (
        "nDCG@10 over ties of {rows:,} rows, 100 of each query",
        *(1_000_000, graded, ndcg_here, ndcg_there),
    ),
    "regression": (
        "MSE, MAE and R² of {rows:,} rows",
        *(1_000_000, numbers, regression_here, regression_there),
    ),
    "clusterings": (
        "ARI, AMI, NMI and V-measure of {rows:,} points",
        *(1_000_000, two_clusterings, clusterings_here, clusterings_there),
    ),
}
#: A first call on so many rows imports what is needed.
FEW = 500


def peak() -> float:
    """Of this process, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measured(task: str, rows: int, times: int, *, here: bool) -> dict[str, Any]:
    """What one of the two takes, in this process."""
    _, _, make, ours, theirs = TASKS[task]
    work, data = ours if here else theirs, make(rows)
    work(*make(FEW))
    before = peak()
    value = work(*data)
    memory, taken = peak() - before, []
    for _ in range(times):
        began = time.perf_counter()
        work(*data)
        taken.append(time.perf_counter() - began)
    return {"value": value, "seconds": statistics.median(taken), "memory": memory}


def apart(task: str, rows: int, times: int, *, here: bool) -> dict[str, Any]:
    """The same in a process of its own."""
    given = [task, str(rows), str(times), str(int(here))]
    ran = subprocess.run(
        [sys.executable, os.fspath(__file__), "--one", *given],
        capture_output=True,
        text=True,
        check=False,
    )
    if ran.returncode:
        raise RuntimeError(ran.stderr)
    made: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return made


def row(what: str, ours: float, theirs: float, unit: str) -> str:
    """One line of the table."""

    def shown(value: float) -> str:
        return f"{value:,.0f} {unit}" if value >= 100 else f"{value:.3g} {unit}"

    return f"| {what} | {shown(ours)} | scikit-learn: {shown(theirs)} | {theirs / ours:.3g}× |"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    parser.add_argument("--times", type=int, default=5, help="repetitions (default 5)")
    parser.add_argument("--only", choices=TASKS, help="one of the tasks")
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one is not None:
        task, rows, times, here = given.one
        print(json.dumps(measured(task, int(rows), int(times), here=here == "1")))
        return
    print("| what | Calipers | peer | peer / Calipers |\n|---|---|---|---|", flush=True)
    for task, (what, number, *_) in TASKS.items():
        if given.only not in (None, task):
            continue
        rows = number // (10 if given.quick else 1)
        ours, theirs = (apart(task, rows, given.times, here=here) for here in (True, False))
        if not np.allclose(ours["value"], theirs["value"], rtol=1e-9):
            raise AssertionError(f"{task}: {ours['value']} here, {theirs['value']} there")
        name = what.format(rows=rows)
        print(row(f"{name}, time", ours["seconds"], theirs["seconds"], "s"))
        memory = max(ours["memory"], 0.1), max(theirs["memory"], 0.1)
        print(row(f"{name}, memory", *memory, "MiB"), flush=True)


if __name__ == "__main__":
    main()
